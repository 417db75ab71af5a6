"""La gramática: una sola respuesta, partes reservadas, vocabulario cerrado y puntuación."""

import dataclasses
import hashlib
import random
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from atento import rng
from atento.tasks import translation as tr
from atento.tasks.translation import clauses as grammar
from atento.tasks.translation import lexicon
from atento.tasks.translation.clauses import description
from atento.tasks.translation.phrases import Draft
from figuras import stored

FORMS = {form: (noun, plural) for noun in tr.NOUNS for plural, form in enumerate(noun.source)}
ADJECTIVE_FORMS = {form for adjective in tr.ADJECTIVES for form in adjective.forms}
VERB_FORMS = {form for verb in tr.VERBS for form in verb.forms} | {
    *lexicon.SER,
    *lexicon.ESTAR,
    *lexicon.TENER,
}
HOMOGRAPHS = VERB_FORMS & (
    set(FORMS) | ADJECTIVE_FORMS
)  # «cocina», «limpia»: verbo o no según la frase


@pytest.fixture(scope="module")
def many():
    return tr.generate(4000, 0)


def example(source):
    """La frase generada cuya versión española es ``source``, entre muchas de una oración."""
    found = [e for e in tr.generate(30000, 3, clauses=1) if " ".join(e.source) == source]
    assert found, f"la gramática no genera {source!r}"
    return found[0]


def test_reproducible_and_advances():
    a, b = rng.generator(4), rng.generator(4)
    first = tr.generate(50, a)
    assert first == tr.generate(50, b) == tr.generate(50, rng.generator(4))
    assert tr.generate(50, a) != first
    assert tr.generate(30, 7) == tr.generate(30, 7) != tr.generate(30, 8)


def test_one_right_answer():
    """Una misma frase española nunca lleva dos traducciones: la coincidencia exacta es justa."""
    answers = {}
    for e in tr.generate(20000, 1, clauses=(1, 1, 2)) + tr.generate(5000, 2, pairs="unseen"):
        assert answers.setdefault(e.source, e.target) == e.target, e
    assert len(answers) > 10000


def test_closed_vocabulary(many):
    source, target = tr.vocabularies()
    for e in many + tr.generate(1000, 5, pairs="unseen"):
        assert source.decode(source.encode(e.source)) == list(e.source)
        assert target.decode(target.encode(e.target)) == list(e.target)
    assert source.words[:3] == target.words[:3] == ("<pad>", "<bos>", "<eos>")
    with pytest.raises(ValueError, match="words: .* no están en él: 'gorila'"):
        source.encode("el gorila")


def test_training_data_covers_every_word():
    """Reservar parejas no reserva palabras: todas salen al entrenar (salvo plurales de lo que no se
    cuenta).
    """
    seen = tr.generate(8000, 0, clauses=3)
    uncounted = {n.source[1] for n in tr.NOUNS if n.mass}
    places = {n.source[1] for n in tr.NOUNS if n.determiners == ("the",)}
    words = Counter(w for e in seen for w in e.source)
    nouns = {form for form in FORMS if form not in uncounted | places}
    assert not {w for w in nouns if words[w] < 10}
    english = Counter(w for e in seen for w in e.target)
    assert all(english[a.target] >= 10 for a in tr.ADJECTIVES)


def test_held_out_pairs():
    reserved = tr.held_out_pairs()
    assert reserved < set(tr.pairs()) and 0.1 < len(reserved) / len(tr.pairs()) < 0.25
    seen, unseen = tr.generate(6000, 0), tr.generate(3000, 0, pairs="unseen")
    assert not any(tr.is_held_out(*pair) for e in seen for pair in e.pairs)
    assert all(any(tr.is_held_out(*pair) for pair in e.pairs) for e in unseen)
    used = {pair for e in unseen for pair in e.pairs}
    assert len(used & reserved) > 0.8 * len(reserved)
    trained = {pair for e in seen for pair in e.pairs}
    for position, names in enumerate(zip(*reserved, strict=True)):
        assert set(names) <= {
            pair[position] for pair in trained
        }  # cada palabra reservada se ve en otras parejas


def test_every_pair_written_is_declared(many):
    """Las parejas se buscan en el texto: ningún nombre lleva al lado un adjetivo sin anotar."""
    lemmas = {form: a.key for a in tr.ADJECTIVES if a.key != "gran" for form in a.forms}
    for e in many + tr.generate(1000, 6, pairs="unseen"):
        for left, right in zip(e.source, e.source[1:], strict=False):
            if left in FORMS and right in lemmas and not {left, right} & HOMOGRAPHS:
                assert (FORMS[left][0].key, lemmas[right]) in e.pairs, e


@pytest.mark.parametrize("clauses", [1, 2, 3, 4])
def test_clauses_are_conjugated_verbs(clauses):
    for e in tr.generate(400, 1, clauses=clauses):
        if not HOMOGRAPHS & set(e.source):
            assert e.clauses == clauses == sum(word in VERB_FORMS for word in e.source), e


def test_homographs_depend_on_the_sentence():
    """«Cocina» y «limpia» se traducen según el papel que hacen."""
    assert {"cocina", "limpia"} <= HOMOGRAPHS
    for word, options in (("cocina", {"cooks", "kitchen"}), ("limpia", {"cleans", "clean"})):
        found = {
            e.target[t]
            for e in tr.generate(6000, 0, clauses=1)
            for t, k in enumerate(e.alignment)
            if k >= 0 and e.source[k] == word
        }
        assert options <= found, (word, found)


def test_agreement(many):
    """El adjetivo que sigue al nombre concuerda con él, y el determinante de delante también."""
    gender = {
        "el": 0,
        "un": 0,
        "este": 0,
        "la": 1,
        "una": 1,
        "esta": 1,
        "los": 0,
        "unos": 0,
        "estos": 0,
        "las": 1,
        "unas": 1,
        "estas": 1,
        "nuestro": 0,
        "nuestra": 1,
        "nuestros": 0,
        "nuestras": 1,
        "al": 0,
    }
    plural = {"los", "unos", "estos", "las", "unas", "estas", "nuestros", "nuestras", "mis"}
    for e in many:
        for i, word in enumerate(e.source):
            if word not in FORMS or word in HOMOGRAPHS or e.source[i - 1] in HOMOGRAPHS:
                continue
            noun, number = FORMS[word]
            before = e.source[i - 1]
            if before in gender and word != "agua":
                assert gender[before] == noun.feminine and (before in plural) == number, e
            after = e.source[i + 1]
            if after in ADJECTIVE_FORMS - HOMOGRAPHS:
                forms = [a.forms for a in tr.ADJECTIVES if after in a.forms]
                assert any(f[noun.feminine + 2 * number] == after for f in forms), e


def test_phenomena(many):
    """Cada fenómeno de la gramática sale con su traducción."""
    texts = [(" ".join(e.source), " ".join(e.target)) for e in many]
    for spanish, english in (
        ("al ", "the "),
        ("porque", "because"),
        ("mientras", "while"),
        (", pero", ", but"),
        ("el agua", " water"),
        ("tienen prisa", "in a hurry"),
        ("niños", "children"),
        ("en la playa", "on the "),
        ("gran ", "great "),
        ("unas", "some"),
    ):
        hits = [pair for pair in texts if spanish in pair[0]]
        assert hits and all(english in target for _, target in hits), spanish
    assert any(" do not " in t for _, t in texts) and any(" does not " in t for _, t in texts)
    dropped = [e for e in many if e.source[0].endswith("mos") and e.target[0] == "we"]
    assert dropped and all(-1 in e.alignment for e in dropped)


def test_articles_before_vowels(many):
    for e in many:
        for left, right in zip(e.target, e.target[1:], strict=False):
            if left in ("a", "an"):
                assert (left == "an") == (right[0] in "aeiou"), e


def test_alignment_of_inverted_pairs(many):
    nouns = {form for noun in tr.NOUNS for form in noun.target}
    inverted = 0
    for e in many:
        assert len(e.alignment) == len(e.target) and all(
            -1 <= k < len(e.source) for k in e.alignment
        )
        for adjective, noun in e.inversions:
            inverted += 1
            assert noun == adjective + 1 and e.alignment[noun] == e.alignment[adjective] - 1
            assert e.target[noun] in nouns and e.source[e.alignment[noun]] in FORMS
            assert e.source[e.alignment[adjective]] in ADJECTIVE_FORMS
    assert inverted > 2000


def test_known_sentences():
    yellow = example("una niña lleva una camisa amarilla .")
    assert yellow.target == ("a", "girl", "wears", "a", "yellow", "shirt", ".")
    assert yellow.alignment == (0, 1, 2, 3, 5, 4, 6) and yellow.inversions == ((4, 5),)
    assert str(yellow) == "Una niña lleva una camisa amarilla. → A girl wears a yellow shirt."
    negative = example("no trabajamos .")
    assert negative.target == ("we", "do", "not", "work", ".") and negative.alignment == (
        -1,
        0,
        0,
        1,
        2,
    )


def test_no_word_is_repeated_without_reason(many):
    for e in many:
        nouns = [FORMS[w][0].key for w in e.source if w in FORMS and w not in HOMOGRAPHS]
        assert len(nouns) == len(set(nouns)), e


def test_batch():
    examples = tr.generate(6, 0)
    lot = tr.batch(examples)
    source, target = tr.vocabularies()
    for e, s, t in zip(examples, lot.source.tolist(), lot.target.tolist(), strict=True):
        n, m = len(e.source), len(e.target)
        assert (
            s[n] == tr.EOS_ID
            and set(s[n + 1 :]) <= {tr.PAD_ID}
            and source.decode(s) == list(e.source)
        )
        assert t[0] == tr.BOS_ID and t[m + 1] == tr.EOS_ID and target.decode(t) == list(e.target)
    assert torch.equal(lot.inputs[:, 1:], lot.labels[:, :-1]) and lot.to("cpu").source is lot.source
    with pytest.raises(ValueError, match="^examples: se esperaba al menos un ejemplo para el lote"):
        tr.batch([])


def test_batches_of_one_length():
    lots = tr.batches(6, 4, 0, clauses=(1, 3))
    again = tr.batches(6, 4, 0, clauses=(1, 3))
    assert all(torch.equal(a.target, b.target) for a, b in zip(lots, again, strict=True))
    source = tr.vocabularies()[0]
    for lot, clauses in zip(lots, (1, 3) * 3, strict=True):
        sentences = [source.decode(row) for row in lot.source.tolist()]
        plain = [words for words in sentences if not HOMOGRAPHS & set(words)]
        assert len(sentences) == 4 and all(
            sum(w in VERB_FORMS for w in words) == clauses for words in plain
        )


def perfect(examples):
    """Un modelo que lo sabe todo de memoria."""
    source, target = tr.vocabularies()
    memory = {e.source: e.target for e in examples}

    def model(ids):
        rows = [
            [*target.encode(memory[tuple(source.decode(row))]), tr.EOS_ID, 7]
            for row in ids.tolist()
        ]
        return torch.tensor([row + [0] * (max(map(len, rows)) - len(row)) for row in rows])

    return model


def test_score_perfect_and_wrong():
    examples = tr.generate(40, 0)
    model = perfect(examples)
    best = tr.score(model, examples, batch_size=7)
    assert best["exact"] == 1.0 and best["bleu"] == pytest.approx(100.0) and best["n"] == 40

    class Wrapped:
        def translate(self, source):
            ids = model(source)
            ids[:, 0] = tr.vocabularies()[1].encode("because")[0]
            return ids

    worse = tr.score(Wrapped(), examples)
    assert worse["exact"] == 0.0 and 0 < worse["bleu"] < 99
    with pytest.raises(ValueError, match="^examples: se esperaba al menos un ejemplo que puntuar"):
        tr.score(model, [])


def test_translate_keeps_the_order():
    examples = tr.generate(30, 2)
    assert [tuple(words) for words in tr.translate(perfect(examples), examples, batch_size=4)] == [
        e.target for e in examples
    ]


def test_inversion_hits():
    examples = [e for e in tr.generate(60, 0, clauses=2) if e.inversions][:8]
    width = max(len(e.source) for e in examples) + 1
    weights = torch.zeros(len(examples), max(len(e.target) for e in examples) + 1, width)
    for i, e in enumerate(examples):
        for t, k in enumerate(e.alignment):
            weights[i, t, max(k, 0)] = 1.0
    total = sum(len(e.inversions) for e in examples)
    assert tr.inversion_hits(weights, examples) == (total, total)
    adjective, _ = examples[0].inversions[0]
    weights[0, adjective] = weights[0, adjective].roll(1)
    assert tr.inversion_hits(weights, examples) == (total - 1, total)


@given(
    n=st.integers(0, 5),
    clauses=st.integers(1, 4),
    seed=st.integers(0, 10**6),
    pairs=st.sampled_from(["seen", "unseen"]),
)
def test_any_request_is_served(n, clauses, seed, pairs):
    examples = tr.generate(n, seed, clauses=clauses, pairs=pairs)
    assert len(examples) == n
    assert all(e.source[-1] == e.target[-1] == "." and e.clauses == clauses for e in examples)


def test_request_errors():
    with pytest.raises(ValueError, match="^n: se esperaba un entero"):
        tr.generate(-1, 0)
    with pytest.raises(ValueError, match="^clauses: se esperaban enteros de 1 a 4; llegó 5"):
        tr.generate(1, 0, clauses=5)
    with pytest.raises(ValueError, match="clauses"):
        tr.generate(1, 0, clauses=())
    with pytest.raises(ValueError, match="^pairs: se esperaba «seen» o «unseen»"):
        tr.generate(1, 0, pairs="all")
    with pytest.raises(TypeError, match="^rng: se esperaba un torch.Generator"):
        tr.generate(1, 0.5)
    with pytest.raises(ValueError, match="size"):
        tr.batches(1, 0, 0)


def test_stored_seeds_meet_the_bars():
    """Los resultados guardados cumplen lo que el capítulo promete, con las tres semillas."""
    saved = stored.runs("03")
    assert saved["command"] and saved["date"] and saved["machine"] and saved["versions"]["torch"]
    runs = {(r["model"], r["seed"]): r for r in saved["runs"]}
    for seed in (0, 1, 2):
        attention, plain, longer = (runs[m, seed] for m in ("attention", "plain", "plain-longer"))
        exact = attention["exact"]["unseen"]
        assert sum(exact.values()) / 4 >= 0.98 and exact["4"] >= 0.95
        assert attention["inversions"]["hits"] >= 0.95 * attention["inversions"]["total"]
        assert abs(plain["parameters"] / attention["parameters"] - 1) < 0.01
        assert plain["exact"]["seen"]["4"] < 0.2 < plain["exact"]["seen"]["1"]
        assert longer["bleu"]["seen"]["4"] > plain["bleu"]["seen"]["4"]


def test_other_errors():
    examples = tr.generate(2, 0)
    for call in (
        lambda: tr.score(perfect(examples), examples, device="gpu"),
        lambda: tr.batch(examples).to("gpu"),
    ):
        with pytest.raises(ValueError, match="^device: .*llegó «gpu»"):
            call()
    with pytest.raises(TypeError, match="^model: se esperaba un modelo con translate"):
        tr.translate(3, examples)
    with pytest.raises(ValueError, match="^batch_size: "):
        tr.translate(perfect(examples), examples, batch_size=0)
    with pytest.raises(ValueError, match="^clauses: "):
        tr.generate(1, 0, clauses=1.5)
    with pytest.raises(TypeError, match="^n: se esperaba un entero"):
        tr.generate(1.0, 0)


def test_the_data_is_the_one_the_stored_runs_saw():
    """Cambiar la gramática o su orden invalida lo entrenado: el resumen avisa."""
    text = repr([(e.source, e.target, e.alignment, e.pairs) for e in tr.generate(300, 0)])
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "538293c81c8c773b"


def test_vocabulary_errors():
    words = tr.vocabularies()[1]
    assert words.decode(torch.tensor([1, 5, 2, 9])) == words.decode([1, 5]) == [words.words[5]]
    for bad in ([0.5], [[1, 2]], torch.tensor([0.5]), torch.tensor([[1]]), 3, None, "the", [True]):
        with pytest.raises(TypeError, match="^ids: se esperaba una fila de enteros; llegó"):
            words.decode(bad)
    for bad in ([len(words)], [-1], torch.tensor([999])):
        with pytest.raises(ValueError, match="^ids: se esperaban números de 0 a .*; llegó"):
            words.decode(bad)
    with pytest.raises(TypeError, match="^words: se esperaba un texto o una lista"):
        words.encode(3)


def test_descriptions_are_all_the_ones_that_are_drawn_and_as_often():
    examples, probabilities = tr.descriptions()
    assert probabilities.sum().item() == pytest.approx(1.0)
    assert (probabilities > 0).all() and (probabilities.diff() <= 0).all()
    exact = dict(zip((e.source for e in examples), probabilities.tolist(), strict=True))
    assert len(exact) == len(examples)
    drawn, source = Counter(), random.Random(3)
    while drawn.total() < 30_000:
        unit = description(Draft(source, False))
        if unit is not None:
            drawn[(*unit.phrase.source, ".")] += 1
    assert set(drawn) <= set(exact)
    for place in (0, 1, -2):  # por palabra en ese sitio, la frecuencia es la probabilidad
        expected, seen = Counter(), Counter()
        for words, p in exact.items():
            expected[words[place]] += p
        for words, n in drawn.items():
            seen[words[place]] += n / drawn.total()
        for word, p in expected.items():
            assert abs(seen[word] - p) < 5 * (p / 30_000) ** 0.5 + 1e-4


def test_descriptions_with_reserved_pairs_are_the_others():
    seen = {e.source for e in tr.descriptions().examples}
    everything = {e.source for e in tr.descriptions("all").examples}
    assert seen < everything
    found, source = Counter(), random.Random(4)
    while found.total() < 3000:
        draft = Draft(source, None)
        unit = description(draft)
        if unit is not None:
            words = (*unit.phrase.source, ".")
            assert words in everything
            if not any(tr.is_held_out(*pair) for pair in draft.pairs):
                assert words in seen
            found[words in seen] += 1
    assert found[False] > 300
    with pytest.raises(ValueError, match="pairs"):
        tr.descriptions("unseen")


def test_descriptions_are_translated_like_the_drawn_ones():
    exact = {e.source: e for e in tr.descriptions().examples}
    same = [e for e in tr.generate(5000, 4, clauses=1) if e.source in exact]
    assert len(same) > 500
    for drawn in same:
        mine = exact[drawn.source]
        assert (mine.target, mine.alignment, mine.inversions) == (
            drawn.target,
            drawn.alignment,
            drawn.inversions,
        )


def test_opposed_adjectives_may_be_held_out_only_when_they_are_asked_for():
    """«Es largo, pero no es caro»: al entrenar, con parejas no reservadas; al probar, con todas."""
    found = {False: set(), True: set()}
    keys = {key for pair in grammar.OPPOSED_ADJECTIVES for key in pair}
    for unseen, pairs in found.items():
        for seed in range(300):
            draft = grammar.Draft(random.Random(seed), unseen)
            subject = grammar.noun_subject(draft, grammar.DESCRIBABLE, "", grammar.DEFINITE)
            if subject is not None and not subject.groups:
                noun = subject.noun.key
                fit = {key for key in keys if grammar._fits(draft, subject, key)}
                said = grammar.adjectives_of(subject.kind, noun, "copula", None)
                assert fit <= {adjective.key for adjective in said}
                pairs |= {(noun, key) for key in fit}
    assert found[False] and not any(tr.is_held_out(*pair) for pair in found[False])
    assert {tr.is_held_out(*pair) for pair in found[True]} == {True, False}


def test_opposed_adjectives_declare_both_of_their_pairs():
    """Lo que dice «es largo, pero no es caro» cuenta como visto: las dos parejas quedan anotadas,
    con el nombre y con los adjetivos que se leen.
    """
    forms = {form: a.key for a in tr.ADJECTIVES if a.key != "gran" for form in a.forms}
    said = 0
    for seed in range(400):
        draft = grammar.Draft(random.Random(seed), None)
        found = grammar._opposed_adjectives(draft)
        if found is not None:
            subject, first, second = found
            written = [[forms[w] for w in p.source if w in forms] for p in (first, second)]
            assert [len(words) for words in written] == [1, 1]
            assert draft.pairs[-2:] == [(subject.noun.key, words[0]) for words in written]
            said += 1
    assert said > 50


def _plain(value):
    """Lo mismo, sin el desorden de los conjuntos."""
    if isinstance(value, (set, frozenset)):
        return sorted(map(_plain, value))
    if isinstance(value, dict):
        return [(_plain(key), _plain(value[key])) for key in value]
    if dataclasses.is_dataclass(value):
        return _plain(vars(value))
    return [_plain(part) for part in value] if isinstance(value, (list, tuple)) else repr(value)


def test_the_words_are_the_ones_the_stored_runs_saw():
    """También las raras, que en trescientas frases no salen."""
    tables = {name: _plain(table) for name, table in vars(lexicon).items() if name.isupper()}
    assert {"NOUNS", "ADJECTIVES", "VERBS", "CAUSES"} <= set(tables)
    text = repr(sorted(tables.items()))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "692d506fb698e322"
