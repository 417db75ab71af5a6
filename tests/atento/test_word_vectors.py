"""Vectores de palabras: cada cuenta contra fuerza bruta, y una lengua cuyos vecinos se saben."""

import math
import random

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from atento import rng, training
from atento import word_vectors as wv

N_CLASSES, PER_CLASS = 4, 4


def language(n, seed, stray=0.2):
    """Frases de cuatro palabras, «x relleno y relleno»: una de x y una de y, casi siempre del tema.

    Hay cuatro temas; las cuatro palabras de una clase («x0a» a «x0d») son intercambiables. Con
    probabilidad ``stray``, la segunda es de un tema cualquiera.
    """
    source = random.Random(seed)
    draw = lambda role, k: f"{role}{k}{'abcd'[source.randrange(PER_CLASS)]}"  # noqa: E731
    fill = lambda: f"r{'abcdef'[source.randrange(6)]}"  # noqa: E731
    other = lambda k: source.randrange(N_CLASSES) if source.random() < stray else k  # noqa: E731
    kinds = [source.randrange(N_CLASSES) for _ in range(n)]
    return [[draw("x", k), fill(), draw("y", other(k)), fill()] for k in kinds]


def purity(vectors, letters=2):
    """De cada palabra con tema, la parte de sus tres vecinas que empiezan por las mismas letras.

    Con dos letras, la clase («x0»); mirando solo la segunda, el tema.
    """
    same = (lambda w: w[:2]) if letters == 2 else (lambda w: w[1])
    words = [w for w in vectors.words if w[0] in "xy"]
    hits = [
        other[0] != "r" and same(other) == same(word)
        for word in words
        for other, _ in vectors.neighbours(word, PER_CLASS - 1)
    ]
    return sum(hits) / len(hits)


@pytest.fixture(scope="module")
def corpus():
    return wv.read(language(3000, 0))


def small_corpus():
    return wv.read(["la red lee la frase", "la frase", "una red no lee una palabra"], min_count=1)


# --- Leer -----------------------------------------------------------------------------------------


def test_split_words():
    text = "¿Qué «año» vio LSTM-2 en 1997? Pingüino, 3.5 y_z a\u0301."
    assert wv.split_words(text) == [*("qué", "año", "vio", "lstm", "en", "pingüino", "y", "z", "á")]
    assert wv.split_words("") == []


def test_read():
    c = wv.read(["El gato. El perro", ["el", "gato", "raro"]], min_count=2)
    assert c.words == ("el", "gato") and c.counts.tolist() == [3, 2] and len(c) == 2
    assert c.ids.tolist() == [0, 1, 0, 0, 1] and c.sentence.tolist() == [0, 0, 0, 1, 1]


def test_ties_are_alphabetical():
    assert wv.read(["z b a", "a b z"], min_count=1).words == ("a", "b", "z")


# --- Vecindad -------------------------------------------------------------------------------------


def brute_pairs(ids, sentence, radius):
    n = range(len(ids))
    near = [(i, j) for i in n for j in n if i != j and sentence[i] == sentence[j]]
    return sorted((ids[i], ids[j]) for i, j in near if abs(i - j) <= radius[i])


@given(data=st.data(), n=st.integers(0, 12))
def test_window_pairs_by_brute_force(data, n):
    sized = {"min_size": n, "max_size": n}
    lists = lambda low, high: data.draw(st.lists(st.integers(low, high), **sized))  # noqa: E731
    ids, radius, sentence = lists(0, 4), lists(0, 4), sorted(lists(0, 3))
    tensors = [torch.tensor(x, dtype=torch.long) for x in (ids, sentence, radius)]
    pairs = wv.window_pairs(*tensors)
    assert sorted(map(tuple, pairs.tolist())) == brute_pairs(ids, sentence, radius)


@pytest.mark.parametrize("weights", ["harmonic", "linear", "flat"])
@pytest.mark.parametrize("window", [1, 3, 9])
def test_cooccurrence_by_brute_force(weights, window):
    c = small_corpus()
    scale = {"harmonic": lambda d: 1 / d, "flat": lambda d: 1.0}.get(
        weights, lambda d: (window - d + 1) / window
    )
    expected = np.zeros((len(c), len(c)))
    ids, sentence = c.ids.tolist(), c.sentence.tolist()
    for i in range(len(ids)):
        for j in range(len(ids)):
            if i != j and sentence[i] == sentence[j] and abs(i - j) <= window:
                expected[ids[i], ids[j]] += scale(abs(i - j))
    assert np.allclose(wv.cooccurrence(c, window=window, weights=weights), expected, atol=1e-12)


def test_the_dynamic_window_counts_linearly_on_average():
    c, generator = small_corpus(), rng.generator(0)
    total = torch.zeros(len(c), len(c), dtype=torch.float64)
    draws = 2000
    for _ in range(draws):
        pairs = wv._epoch_pairs(c, 3, None, generator)
        total.index_put_(tuple(pairs.T), torch.tensor(1.0).double(), accumulate=True)
    expected = wv.cooccurrence(c, window=3, weights="linear")
    assert (total / draws - expected).abs().max() < 0.12  # σ ≤ 0.025: más de cuatro


def test_subsampling():
    counts = torch.tensor([900, 90, 10])
    assert torch.allclose(
        wv.keep_probability(counts, 0.1), torch.tensor([1 / 3, 1, 1]).double(), atol=1e-12
    )
    c = wv.read([["de"] * 9 + ["mar"]] * 2000)
    pairs = wv._epoch_pairs(c, 1, 0.1, rng.generator(0))
    assert abs(len(pairs) - 12_000) < 600  # quedan 3 «de» de cada 9: de media, 6 parejas por frase
    alone = (2 / 3) ** 9
    assert abs(int((pairs[:, 0] == 1).sum()) - 2000 * (1 - alone)) < 30


def test_noise_is_the_distribution_that_is_drawn():
    """χ² de lo sorteado con 5 grados de libertad, al 0.1 %; y no es el de las frecuencias."""
    counts = torch.tensor([1000, 300, 100, 30, 10, 3])
    expected = wv.noise_distribution(counts)
    by_hand = counts.double() ** 0.75
    assert torch.allclose(expected, by_hand / by_hand.sum())
    assert wv.noise_distribution(counts, 0.0).tolist() == pytest.approx([1 / 6] * 6)
    words = [w for w, n in zip("abcdef", counts.tolist(), strict=True) for _ in range(n)]
    random.Random(0).shuffle(words)
    c = wv.read([words], min_count=1)
    stream = wv.skipgram_batches(c, 2000, rng.generator(0), window=2, threshold=None)
    drawn = torch.cat([next(stream).noise.flatten() for _ in range(5)])
    observed = torch.bincount(drawn, minlength=6).double()
    chi = lambda p: ((observed - len(drawn) * p) ** 2 / (len(drawn) * p)).sum()  # noqa: E731
    assert chi(expected) < 20.5 < chi(counts / counts.sum())


def test_batches_are_reproducible_and_of_their_size(corpus):
    a, b = (wv.skipgram_batches(corpus, 64, rng.generator(3), negatives=2) for _ in range(2))
    for _ in range(3):
        one, other = next(a), next(b)
        assert all(torch.equal(x, y) for x, y in zip(one, other, strict=True))
        assert one.center.shape == one.context.shape == (64,) and one.noise.shape == (64, 2)


# --- Las pérdidas ---------------------------------------------------------------------------------


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_skipgram_loss_and_gradients_by_hand():
    model = wv.SkipGram(7, 3).double()
    torch.nn.init.normal_(model.center.weight)
    torch.nn.init.normal_(model.context.weight)
    generator = rng.generator(0)
    center, context = (torch.randint(7, (5,), generator=generator) for _ in range(2))
    noise = torch.randint(7, (5, 4), generator=generator)
    loss = wv.skipgram_loss(model, wv.SkipGramBatch(center, context, noise))
    loss.backward()
    v, u = model.center.weight.detach().numpy(), model.context.weight.detach().numpy()
    value, grad_v, grad_u = 0.0, np.zeros_like(v), np.zeros_like(u)
    for i, j, false in zip(center.tolist(), context.tolist(), noise.tolist(), strict=True):
        value -= math.log(sigmoid(v[i] @ u[j]))
        pull = sigmoid(v[i] @ u[j]) - 1
        grad_v[i] += pull * u[j]
        grad_u[j] += pull * v[i]
        for k in false:
            value -= math.log(sigmoid(-v[i] @ u[k]))
            push = sigmoid(v[i] @ u[k])
            grad_v[i] += push * u[k]
            grad_u[k] += push * v[i]
    assert loss.item() == pytest.approx(value / 5, abs=1e-12)
    assert np.allclose(model.center.weight.grad, grad_v / 5, atol=1e-12)
    assert np.allclose(model.context.weight.grad, grad_u / 5, atol=1e-12)


def test_a_new_skipgram_costs_what_a_coin_does():
    """Con los vectores de vecina a cero, cada decisión cuesta log 2."""
    batch = wv.SkipGramBatch(torch.tensor([0]), torch.tensor([1]), torch.tensor([[2, 3, 1]]))
    assert wv.skipgram_loss(wv.SkipGram(4, 8), batch).item() == pytest.approx(4 * math.log(2))


def test_glove_objective_by_brute_force():
    c = small_corpus()
    counts = wv.cooccurrence(c, window=3)
    model = wv.GloVe(len(c), 4).double()
    for table in model.children():
        torch.nn.init.normal_(table.weight)
    cells = int((counts > 0).sum())
    batch = next(wv.glove_batches(counts, cells, rng.generator(0), x_max=1.5, power=0.6))
    loss = wv.glove_loss(model, wv.GloVeBatch(*batch[:2], *(x.double() for x in batch[2:])))
    w, s = model.center.weight.detach().numpy(), model.context.weight.detach().numpy()
    b, d = (t.weight.detach().numpy()[:, 0] for t in (model.center_bias, model.context_bias))
    total = 0.0
    for i in range(len(c)):
        for j in range(len(c)):
            x = float(counts[i, j])
            if x > 0:
                weight = (x / 1.5) ** 0.6 if x < 1.5 else 1.0
                total += weight * (w[i] @ s[j] + b[i] + d[j] - math.log(x)) ** 2
    assert loss.item() == pytest.approx(total / cells, rel=1e-6)  # el lote viaja en 32 bits
    assert torch.equal(model.vectors, (model.center.weight + model.context.weight).detach())


def test_glove_weight():
    counts = torch.tensor([0.0, 1.0, 50.0, 100.0, 1e6]).double()
    expected = [0, 0.01**0.75, 0.5**0.75, 1, 1]
    assert wv.glove_weight(counts).tolist() == pytest.approx(expected)


def test_glove_visits_every_cell_once():
    counts = wv.cooccurrence(small_corpus(), window=2)
    stream, cells = wv.glove_batches(counts, 4, rng.generator(0)), int((counts > 0).sum())
    seen = []
    while len(seen) < cells:
        batch = next(stream)
        seen += list(zip(batch.row.tolist(), batch.column.tolist(), strict=True))
    assert sorted(seen) == sorted(map(tuple, counts.nonzero().tolist()))


@pytest.mark.parametrize("shift, power", [(1.0, 1.0), (5.0, 1.0), (2.0, 0.75)])
def test_ppmi_by_hand(shift, power):
    counts = wv.cooccurrence(small_corpus(), window=3).numpy()
    n, total = len(counts), counts.sum()
    smoothed = np.array([counts[:, j].sum() ** power for j in range(n)])
    for i in range(n):
        for j in range(n):
            joint, alone = counts[i, j] / total, counts[i].sum() / total
            expected = 0.0
            if joint:
                expected = max(
                    0.0, math.log(joint / alone / (smoothed[j] / smoothed.sum()) / shift)
                )
            got = wv.ppmi(torch.from_numpy(counts), shift=shift, power=power)[i, j]
            assert float(got) == pytest.approx(expected, abs=1e-12)


def test_svd_vectors_rebuild_the_matrix():
    matrix = wv.ppmi(wv.cooccurrence(small_corpus(), window=3))
    n = len(matrix)
    full = wv.svd_vectors(matrix, n, power=1.0)
    assert torch.allclose(full @ full.T, matrix @ matrix.T, atol=1e-9)
    assert torch.equal(wv.svd_vectors(matrix, 3), wv.svd_vectors(matrix, 3))
    best = torch.linalg.svd(matrix).S[:3]
    assert torch.allclose(wv.svd_vectors(matrix, 3, power=1.0).norm(dim=0), best, atol=1e-9)


# --- Lo que aprenden ------------------------------------------------------------------------------


def train_skipgram(corpus, d_model, steps, **options):
    rng.seed_all(1)
    model = wv.SkipGram(len(corpus), d_model)
    batches = wv.skipgram_batches(corpus, 256, rng.generator(1), threshold=None, **options)
    adam = lambda p: torch.optim.Adam(p, lr=1e-2)  # noqa: E731
    settings = {"optimizer": adam, "schedule": training.warmup_cosine(steps, warmup=0)}
    history = training.fit(
        model, batches, wv.skipgram_loss, steps=steps, clip=None, progress=False, **settings
    )
    return model, history


def test_skipgram_finds_the_classes(corpus):
    model, history = train_skipgram(corpus, 16, 400, window=3)
    assert np.mean(history.loss[-50:]) < np.mean(history.loss[:5]) - 0.5
    assert purity(wv.WordVectors(corpus.words, model.center.weight)) == 1.0
    new = wv.SkipGram(len(corpus), 16)
    assert purity(wv.WordVectors(corpus.words, new.center.weight)) < 0.3  # el control: sin aprender


def test_glove_finds_the_classes(corpus):
    rng.seed_all(1)
    model = wv.GloVe(len(corpus), 16)
    batches = wv.glove_batches(wv.cooccurrence(corpus, window=3), 256, rng.generator(1))
    adagrad = lambda p: torch.optim.Adagrad(p, lr=0.05)  # noqa: E731
    history = training.fit(
        model, batches, wv.glove_loss, steps=500, optimizer=adagrad, clip=None, progress=False
    )
    assert history.loss[-1] < 0.1 * history.loss[0]
    new = wv.GloVe(len(corpus), 16)
    assert purity(wv.WordVectors(corpus.words, new.vectors), letters=1) < 0.5
    assert purity(wv.WordVectors(corpus.words, model.vectors), letters=1) > 0.95


def test_the_matrix_finds_the_classes_without_training(corpus):
    matrix = wv.ppmi(wv.cooccurrence(corpus, window=3))
    assert purity(wv.WordVectors(corpus.words, wv.svd_vectors(matrix, 8))) == 1.0


def test_skipgram_factorises_the_shifted_information(corpus):
    """Con dimensiones de sobra, v·u se acerca a la información mutua menos log k (Levy, 2014)."""
    model, _ = train_skipgram(corpus, len(corpus), 1200, window=3, negatives=2)
    product = (model.center.weight @ model.context.weight.T).detach().double()
    counts = wv.cooccurrence(corpus, window=3, weights="linear")
    noise = wv.noise_distribution(corpus.counts)
    optimum = (counts / (2 * counts.sum(1, keepdim=True) * noise)).log()
    seen = counts > 20
    assert torch.corrcoef(torch.stack([product[seen], optimum[seen]]))[0, 1] > 0.95
    assert (product[seen] - optimum[seen]).abs().mean() < 0.2
    assert product[counts == 0].mean() < -2  # lo que nunca está cerca, lejos: la información es −∞
    columns = (
        counts.sum(0) ** 0.75
    )  # y es la matriz del control, salvo por los bordes de las frases
    edges = (noise / (columns / columns.sum())).log()
    positive = wv.ppmi(counts, shift=2.0, power=0.75)
    assert torch.allclose(positive, (optimum + edges).clamp(min=0), atol=1e-9)
    assert edges.abs().max() < 0.2


# --- Mirarlos -------------------------------------------------------------------------------------


@pytest.fixture
def toy():
    """Dos ejes: persona (macho, hembra) y rango; «gato» se parece a «hombre» más que nadie."""
    words = ("hombre", "mujer", "rey", "reina", "gato")
    rows = [[1, 0, 0.2], [0, 1, 0.2], [1, 0, 1], [0, 1, 1], [1, 0.1, 0.2]]
    return wv.WordVectors(words, torch.tensor(rows, dtype=torch.float64))


def test_neighbours_and_similarity(toy):
    assert [w for w, _ in toy.neighbours("hombre", 2)] == ["gato", "rey"]
    a, b = np.array([1, 0, 0.2]), np.array([1, 0, 1])
    cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    assert toy.similarity("hombre", "rey") == pytest.approx(cosine, abs=1e-12)
    assert dict(toy.neighbours("hombre"))["rey"] == pytest.approx(cosine, abs=1e-12)
    assert len(toy.neighbours("rey")) == 4 and "rey" in toy and "papa" not in toy and len(toy) == 5
    assert toy["rey"].tolist() == [1, 0, 1]


def test_analogy_with_and_without_the_inputs(toy):
    assert toy.analogy("hombre", "rey", "mujer", 1)[0][0] == "reina"
    unit = toy.units
    target = unit[2] - unit[0] + unit[1]
    cosine = float(target @ unit[3] / target.norm())
    assert toy.analogy("hombre", "rey", "mujer", 1)[0][1] == pytest.approx(cosine, abs=1e-12)
    free = toy.analogy("hombre", "gato", "mujer", exclude_inputs=False)
    assert free[0][0] == "mujer" and len(free) == 5  # «gato − hombre» casi no mueve a «mujer»
    assert not {"hombre", "gato", "mujer"} & {
        word for word, _ in toy.analogy("hombre", "gato", "mujer")
    }


def test_analogy_rates_by_hand(toy):
    questions = [
        ("hombre", "rey", "mujer", "reina"),
        ("hombre", "gato", "mujer", "reina"),
        ("hombre", "rey", "gato", "reina"),
        ("hombre", "rey", "papa", "reina"),
    ]
    rates = toy.analogy_rates(questions)
    by_hand = {
        "excluding": [toy.analogy(*q[:3], 1)[0][0] == q[3] for q in questions[:3]],
        "including": [
            toy.analogy(*q[:3], 1, exclude_inputs=False)[0][0] == q[3] for q in questions[:3]
        ],
        "returns_input": [
            toy.analogy(*q[:3], 1, exclude_inputs=False)[0][0] in q[:3] for q in questions[:3]
        ],
        "neighbour": [
            next(w for w, _ in toy.neighbours(q[2]) if w not in q[:3]) == q[3]
            for q in questions[:3]
        ],
    }
    for name, hits in by_hand.items():
        assert rates[name] == pytest.approx(sum(hits) / 3), name
    assert rates["n"] == 3 and rates["unknown"] == 1
    assert 0 < rates["returns_input"] < 1 and rates["excluding"] > rates["including"]


def test_questions_from():
    pairs = [("niño", "niños"), ("mesa", "mesas"), ("rey", "reyes")]
    questions = wv.questions_from(pairs)
    assert len(questions) == len(set(questions)) == 6
    assert ("niño", "niños", "mesa", "mesas") in questions


# --- Errores --------------------------------------------------------------------------------------


def test_reading_errors():
    with pytest.raises(TypeError, match="^text: se esperaba un texto; llegó int"):
        wv.split_words(3)
    with pytest.raises(TypeError, match="^sentences: se esperaba una lista de frases; llegó str"):
        wv.read("una frase")
    with pytest.raises(TypeError, match=r"^sentences: .* llegó \[1\]"):
        wv.read([[1]])
    with pytest.raises(ValueError, match="^sentences: .* 5 veces o más"):
        wv.read(["una frase"])
    with pytest.raises(ValueError, match="^min_count: "):
        wv.read(["una"], min_count=0)


def test_counting_errors(corpus):
    ids = torch.tensor([1, 2])
    with pytest.raises(ValueError, match=r"^radius: .*como ids \(2,\); llegó \(1,\)"):
        wv.window_pairs(ids, ids, ids[:1])
    with pytest.raises(TypeError, match="^sentence: se esperaba un tensor de enteros"):
        wv.window_pairs(ids, ids.float(), ids)
    with pytest.raises(ValueError, match="^counts: .*con mínimo 0"):
        wv.noise_distribution(torch.tensor([1, 0]))
    with pytest.raises(ValueError, match="^power: .*llegó -1"):
        wv.noise_distribution(torch.tensor([1]), -1)
    with pytest.raises(ValueError, match="^threshold: "):
        wv.keep_probability(torch.tensor([1]), 0.0)
    with pytest.raises(ValueError, match="^weights: se esperaba una de harmonic.*llegó 'plana'"):
        wv.cooccurrence(corpus, weights="plana")
    with pytest.raises(ValueError, match="^window: "):
        wv.cooccurrence(corpus, window=0)
    with pytest.raises(TypeError, match="^corpus: se esperaba un Corpus.*llegó list"):
        wv.cooccurrence(["una frase"])
    with pytest.raises(ValueError, match=r"^counts: .*\(vocab, vocab\); llegó \(2, 3\)"):
        wv.ppmi(torch.ones(2, 3))
    with pytest.raises(ValueError, match="^counts: se esperaban recuentos, ninguno negativo"):
        wv.ppmi(-torch.eye(2))
    with pytest.raises(ValueError, match="^shift: "):
        wv.ppmi(torch.eye(2), shift=0.0)
    with pytest.raises(ValueError, match="^d_model: .*de 1 a vocab = 2; llegó 3"):
        wv.svd_vectors(torch.eye(2), 3)
    with pytest.raises(ValueError, match="^matrix: .*NaN"):
        wv.svd_vectors(torch.full((2, 2), float("nan")), 1)


def test_training_errors(corpus):
    generator = rng.generator(0)
    with pytest.raises(TypeError, match="^rng: se esperaba un torch.Generator; llegó int"):
        wv.skipgram_batches(corpus, 8, 0)
    with pytest.raises(ValueError, match="^negatives: "):
        wv.skipgram_batches(corpus, 8, generator, negatives=0)
    with pytest.raises(ValueError, match="^corpus: se esperaba alguna frase con dos palabras"):
        wv.skipgram_batches(wv.read([["a"], ["a"]], min_count=1), 8, generator)
    with pytest.raises(ValueError, match="^threshold: .*con 1e-12 no queda ninguna"):
        next(wv.skipgram_batches(small_corpus(), 8, generator, threshold=1e-12))
    with pytest.raises(ValueError, match="^size: "):
        wv.glove_batches(torch.eye(2), 0, generator)
    with pytest.raises(ValueError, match="^x_max: "):
        wv.glove_batches(torch.eye(2), 1, generator, x_max=0.0)
    with pytest.raises(ValueError, match="^vocab: "):
        wv.SkipGram(0, 4)
    model, ids = wv.SkipGram(3, 4), torch.tensor([0, 1])
    with pytest.raises(ValueError, match="^context: se esperaban números de 0 a 2; llegaron de 1"):
        model(ids, torch.tensor([1, 3]))
    with pytest.raises(ValueError, match=r"^context: .*como center \(2,\); llegó \(3,\)"):
        model(ids, torch.tensor([1, 1, 1]))
    with pytest.raises(TypeError, match="^column: se esperaba un tensor de enteros"):
        wv.GloVe(3, 4)(ids, ids.float())


def test_vector_errors(toy):
    with pytest.raises(ValueError, match=r"^vectors: .*\(vocab=2, d_model\); llegó \(3, 3\)"):
        wv.WordVectors(["a", "b"], torch.eye(3))
    with pytest.raises(ValueError, match="^words: .*se repite 'a'"):
        wv.WordVectors(["b", "a", "a"], torch.eye(3))
    with pytest.raises(ValueError, match="^vectors: .*el de 'b' es 0"):
        wv.WordVectors(["a", "b"], torch.tensor([[1.0], [0.0]]))
    with pytest.raises(TypeError, match="^words: se esperaba una lista de palabras"):
        wv.WordVectors("ab", torch.eye(2))
    with pytest.raises(ValueError, match="^word: se esperaba una palabra con vector; 'papa' no"):
        toy.neighbours("papa")
    with pytest.raises(ValueError, match="^b: .*'papa'"):
        toy.analogy("rey", "papa", "reina")
    with pytest.raises(ValueError, match="^k: "):
        toy.neighbours("rey", 0)
    with pytest.raises(TypeError, match=r"^questions: se esperaban analogías .* llegó \('rey',\)"):
        toy.analogy_rates([("rey",)])
    with pytest.raises(ValueError, match="^questions: .*de 1 no la hay"):
        toy.analogy_rates([("a", "b", "c", "d")])
    with pytest.raises(TypeError, match="^pairs: se esperaban parejas"):
        wv.questions_from(["rey", "reina"])


IDS, EYE = torch.tensor([1, 2]), torch.eye(2)
BAD = [
    (TypeError, "sentences: .* llegó int", lambda: wv.read(3)),
    (TypeError, "sentences: se esperaban textos o .* llegó 3", lambda: wv.read([3])),
    (ValueError, r"ids: .* llegó \(1, 2\)", lambda: wv.window_pairs(*[IDS[None]] * 3)),
    (TypeError, "counts: .* enteros", lambda: wv.noise_distribution(torch.ones(2))),
    (ValueError, r"counts: .* la forma \(1, 2\)", lambda: wv.noise_distribution(IDS[None])),
    (ValueError, r"counts: .* \(0,\), con mínimo —", lambda: wv.noise_distribution(IDS[:0])),
    (TypeError, "power: ", lambda: wv.noise_distribution(IDS, "1")),
    (ValueError, "counts: .* con mínimo 0", lambda: wv.keep_probability(IDS - 1)),
    (ValueError, "counts: .* alguno mayor que 0", lambda: wv.ppmi(0 * EYE)),
    (ValueError, "power: ", lambda: wv.ppmi(EYE, power=0.0)),
    (TypeError, "matrix: .* coma flotante", lambda: wv.svd_vectors(EYE.long(), 1)),
    (ValueError, r"matrix: .* llegó \(2,\)", lambda: wv.svd_vectors(EYE[0], 1)),
    (ValueError, r"matrix: .* llegó \(1, 2\)", lambda: wv.svd_vectors(EYE[:1], 1)),
    (ValueError, r"matrix: .* llegó \(0, 0\)", lambda: wv.svd_vectors(EYE[:0, :0], 1)),
    (ValueError, "d_model: .* mayor o igual que 1", lambda: wv.svd_vectors(EYE, 0)),
    (ValueError, "power: .* llegó -1", lambda: wv.svd_vectors(EYE, 1, power=-1)),
    (TypeError, "counts: .* coma flotante", lambda: wv.glove_weight(IDS)),
    (ValueError, "x_max: ", lambda: wv.glove_weight(EYE, x_max=0.0)),
    (ValueError, "power: ", lambda: wv.glove_weight(EYE, power=0.0)),
    (ValueError, r"counts: .* llegó \(1, 2\)", lambda: wv.glove_batches(EYE[:1], 1, RNG)),
    (TypeError, "rng: ", lambda: wv.glove_batches(EYE, 1, 0)),
    (ValueError, "power: ", lambda: wv.glove_batches(EYE, 1, RNG, power=0.0)),
    (TypeError, "corpus: ", lambda: wv.skipgram_batches(["una frase"], 8, RNG)),
    (ValueError, "size: ", lambda: wv.skipgram_batches(small_corpus(), 0, RNG)),
    (ValueError, "window: ", lambda: wv.skipgram_batches(small_corpus(), 8, RNG, window=0)),
    (
        ValueError,
        "threshold: .* mayor que 0",
        lambda: wv.skipgram_batches(small_corpus(), 8, RNG, threshold=0.0),
    ),
    (ValueError, "d_model: ", lambda: wv.SkipGram(3, 0)),
    (ValueError, "vocab: ", lambda: wv.GloVe(0, 4)),
    (TypeError, "center: .* enteros", lambda: wv.SkipGram(3, 4)(EYE[0], IDS)),
    (ValueError, "center: .* llegaron de -1 a 0", lambda: wv.SkipGram(3, 4)(IDS - 2, IDS)),
    (ValueError, r"center: .* llegó \(1, 2\)", lambda: wv.SkipGram(3, 4)(IDS[None], IDS[:1])),
    (
        ValueError,
        r"context: .* llegó \(2, 1, 1\)",
        lambda: wv.SkipGram(3, 4)(IDS, IDS[:, None, None]),
    ),
    (ValueError, "row: .* de 0 a 2; llegaron de 2 a 3", lambda: wv.GloVe(3, 4)(IDS + 1, IDS)),
    (TypeError, r"words: .* llegó \[\]", lambda: wv.WordVectors([], EYE)),
    (TypeError, "words: .* llegó 3", lambda: wv.WordVectors(3, EYE)),
    (ValueError, "vectors: .* NaN", lambda: wv.WordVectors(["a", "b"], EYE / 0)),
    (TypeError, "pairs: .* llegó 3", lambda: wv.questions_from(3)),
    (TypeError, "pairs: .* llegó 'ab'", lambda: wv.questions_from("ab")),
    (TypeError, r"pairs: .* llegó \(1, 2\)", lambda: wv.questions_from([(1, 2)])),
]
RNG = rng.generator(0)


def test_as_many_axes_as_words():
    assert wv.svd_vectors(EYE, 2).shape == (2, 2)


@pytest.mark.parametrize(("error", "message", "call"), BAD)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_everything_holds_with_shape_checks(shape_checks, corpus):
    batch = next(wv.skipgram_batches(corpus, 8, rng.generator(0)))
    assert wv.skipgram_loss(wv.SkipGram(len(corpus), 4), batch).isfinite()
    counts = wv.cooccurrence(corpus)
    cells = next(wv.glove_batches(counts, 8, rng.generator(0)))
    assert wv.glove_loss(wv.GloVe(len(corpus), 4), cells).isfinite()
    vectors = wv.WordVectors(corpus.words, wv.svd_vectors(wv.ppmi(counts), 4))
    assert vectors.analogy("x0a", "x0b", "x1a", 1) and vectors.neighbours("x0a", 1)
