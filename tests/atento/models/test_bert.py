"""BERT: igual al de transformers con cada cabeza, con relleno, y con las medidas publicadas."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from scipy import stats
from torch import nn

from atento import rng
from atento.models.bert import (
    Bert,
    BertConfig,
    MaskedWords,
    Pretraining,
    SentenceClassifier,
    SpanFinder,
    TokenClassifier,
    best_spans,
    draw_normal,
    mask_tokens,
    masked_word_loss,
    mean_vector,
    pack,
)
from atento.models.weights import from_bert
from atento.training import evaluating, fit

VOCAB = 13
SIZES = {"d_model": 16, "n_heads": 4, "d_ff": 24, "n_layers": 2, "max_len": 9}
IDS = torch.tensor([[1, 4, 5, 6, 2, 7, 2], [1, 8, 2, 9, 2, 0, 0], [1, 2, 0, 0, 0, 0, 0]])
SEGMENTS = torch.tensor([[0, 0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0, 0]])
REAL = IDS != 0
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5}


def config(**changes):
    return BertConfig(VOCAB, **{**SIZES, **changes})


def close(ours, theirs, tolerance=1e-9):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def scrambled(module, std=0.3):
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=std)
    return module


# --- Igual a transformers -------------------------------------------------------------------------


def theirs(name, dtype=torch.float64, **changes):
    """Un modelo de transformers con las medidas de estas pruebas y pesos al azar."""
    import transformers

    options = {"hidden_size": 16, "num_attention_heads": 4, "intermediate_size": 24}
    options |= {"num_hidden_layers": 2, "max_position_embeddings": 9, "vocab_size": VOCAB}
    options |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "num_labels": 3}
    kind = transformers.RobertaConfig if "Roberta" in name else transformers.BertConfig
    model = getattr(transformers, name)(kind(**{**options, **changes}))
    return scrambled(model, 0.2).to(dtype).train()


def kept(output):
    """Las salidas, una detrás de otra, sin lo que hay en el relleno."""
    parts = output if isinstance(output, tuple) else (output,)
    chosen = [x[REAL] if x.ndim > 1 and x.shape[:2] == REAL.shape else x for x in parts]
    return torch.cat([x.flatten() for x in chosen])


def expected(name, output):
    if name == "BertModel":
        return kept((output.last_hidden_state, output.pooler_output))
    if name == "BertForPreTraining":
        return kept((output.prediction_logits, output.seq_relationship_logits))
    if name == "BertForQuestionAnswering":
        return kept((output.start_logits, output.end_logits))
    return kept(output.logits)


class Whole(nn.Module):
    """Los estados y el resumen, como los da ``BertModel``."""

    def __init__(self, bert):
        super().__init__()
        self.bert = bert

    def forward(self, ids, segments):
        states = self.bert(ids, segments)
        return states, self.bert.summary(states)

    def load_state_dict(self, state):
        self.bert.load_state_dict(state)

    def named_parameters(self):
        return self.bert.named_parameters()


PAIRS = {
    "BertModel": Whole,
    "BertForMaskedLM": MaskedWords,
    "BertForPreTraining": Pretraining,
    "BertForSequenceClassification": partial(SentenceClassifier, n_classes=3),
    "BertForTokenClassification": partial(TokenClassifier, n_classes=3),
    "BertForQuestionAnswering": SpanFinder,
}
SUMMARIZED = ("BertModel", "BertForPreTraining", "BertForSequenceClassification")


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_equals_transformers_with_gradients(name, dtype, shape_checks):
    changes = {"num_labels": 2} if "Question" in name else {}
    oracle = theirs(name, dtype, **changes)
    ours = PAIRS[name](Bert(config(pooler=name in SUMMARIZED))).to(dtype)
    ours.load_state_dict(from_bert(oracle.state_dict()))
    options = {"attention_mask": REAL.long(), "token_type_ids": SEGMENTS}
    mine, other = kept(ours(IDS, SEGMENTS)), expected(name, oracle(IDS, **options))
    tolerance = TOLERANCE[dtype]
    close(mine, other, tolerance)
    mine.square().mean().backward()
    other.square().mean().backward()
    gradients = {n: p.grad for n, p in oracle.named_parameters() if p.grad is not None}
    renamed = from_bert(gradients)
    own = {n: p.grad for n, p in ours.named_parameters()}
    assert own.keys() <= renamed.keys()
    for key, gradient in own.items():
        close(gradient, renamed[key], tolerance * max(1.0, renamed[key].abs().max().item()))


def test_equals_roberta():
    """Las posiciones empiezan en la fila 2, el relleno es el 1 y solo hay una clase de segmento."""
    changes = {"type_vocab_size": 1, "pad_token_id": 1, "layer_norm_eps": 1e-5}
    oracle = theirs("RobertaForMaskedLM", max_position_embeddings=11, **changes).eval()
    shape = {"max_len": 11, "first_position": 2, "n_segments": 1, "pad_id": 1, "norm_eps": 1e-5}
    ours = MaskedWords(Bert(config(pooler=False, **shape))).double()
    ours.load_state_dict(from_bert(oracle.state_dict()))
    ids = torch.where(REAL, IDS + 1, 1)
    close(ours(ids)[REAL], oracle(ids, attention_mask=REAL.long()).logits[REAL])


def test_the_tied_matrix_may_be_stored_once():
    oracle = theirs("BertForMaskedLM")
    stored = {n: t for n, t in oracle.state_dict().items() if "decoder" not in n}
    ours = MaskedWords(Bert(config(pooler=False))).double()
    ours.load_state_dict(from_bert(stored))
    assert ours.words.project.weight is ours.bert.embed.tokens.weight
    close(ours(IDS)[REAL], oracle(IDS, attention_mask=REAL.long()).logits[REAL])
    old = {n.replace("LayerNorm.weight", "LayerNorm.gamma"): t for n, t in stored.items()}
    assert from_bert(old).keys() == from_bert(stored).keys()


# --- El relleno y las medidas ---------------------------------------------------------------------

HEADS = {
    "estados": lambda bert: bert,
    "palabras": MaskedWords,
    "frase, cls": partial(SentenceClassifier, n_classes=3),
    "frase, media": partial(SentenceClassifier, n_classes=3, pooling="mean"),
    "etiquetas": partial(TokenClassifier, n_classes=3),
    "fragmento": SpanFinder,
}


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("extra", [0, 2])
def test_padding_and_companions_change_nothing(name, extra):
    net = scrambled(HEADS[name](Bert(config()))).double().eval()
    together = net(F.pad(IDS, (0, extra)), F.pad(SEGMENTS, (0, extra)))
    for i, n in enumerate(REAL.sum(dim=1).tolist()):
        alone = net(IDS[i : i + 1, :n], SEGMENTS[i : i + 1, :n])
        parts = zip(*((x,) if torch.is_tensor(x) else x for x in (together, alone)), strict=True)
        for both, one in parts:
            cut = both[i] if "frase" in name else both[i, :n]
            close(cut, one[0], 1e-12)
    nothing = net(torch.zeros(1, 4, dtype=torch.long))
    if "fragmento" not in name:  # ahí no hay nada que señalar
        nothing.sum().backward()
        assert nothing.isfinite().all()
        assert all(p.grad is None or p.grad.isfinite().all() for p in net.parameters())


def test_what_pads_a_span_is_never_chosen():
    net = scrambled(SpanFinder(Bert(config()))).double().eval()
    start, end = net(IDS)
    assert (start[~REAL] == float("-inf")).all() and (end[~REAL] == float("-inf")).all()
    assert REAL.gather(1, best_spans(start, end)).all()


def test_order_segments_and_extra_mask_are_seen():
    net = scrambled(Bert(config()), 1.0).double().eval()
    states = net(IDS, SEGMENTS)
    assert (net(IDS) - states)[0, :, 0].abs().min() > 1e-3  # sin segmentos, todo es del primero
    close(net(IDS), net(IDS, torch.zeros_like(IDS)))
    swapped = IDS[:1, [0, 2, 1, 3, 4, 5, 6]]
    assert (net(swapped)[0, 0] - net(IDS[:1])[0, 0]).abs().max() > 1e-3
    alone = net(IDS[:1], None, torch.eye(7, dtype=torch.bool))
    close(alone[:, 0], net(IDS[:1, :1])[:, 0])
    without = scrambled(Bert(config(n_segments=0))).double().eval()
    assert without.embed.segments is None and without(IDS).isfinite().all()


def parameters(config, head=lambda bert: bert):
    with torch.device("meta"):
        return sum(p.numel() for p in head(Bert(config)).parameters())


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (BertConfig.base(), 109_482_240),
        (BertConfig.base(28_996), 108_310_272),
        (BertConfig.large(), 335_141_888),
        (BertConfig.large(28_996), 333_579_264),
        (BertConfig.roberta(), 124_645_632),
        (BertConfig.distil(), 66_362_880),
        (BertConfig.mini_lm(), 22_713_216),
    ],
)
def test_counts_the_parameters_of_the_published_ones(sizes, expected):
    assert parameters(sizes) == expected


def test_counts_the_parameters_of_the_heads():
    assert parameters(BertConfig.base(), Pretraining) == 110_106_428
    assert parameters(BertConfig.large(), Pretraining) == 336_226_108


def test_counts_like_transformers():
    import transformers

    for kind, name, ours in (
        (transformers.BertConfig, "BertModel", BertConfig.base()),
        (transformers.DistilBertConfig, "DistilBertModel", BertConfig.distil()),
    ):
        with torch.device("meta"):
            model = getattr(transformers, name)(kind())
        assert parameters(ours) == sum(p.numel() for p in model.parameters())


def test_weights_are_drawn_with_the_published_deviation():
    net = Bert(BertConfig(500, init_std=0.05))
    for name, parameter in net.named_parameters():
        if parameter.ndim == 2 and parameter.numel() > 1000:
            assert abs(parameter.std().item() - 0.05) < 0.004, name
        elif name.endswith("bias"):
            assert (parameter == 0).all()


# --- Tapar ----------------------------------------------------------------------------------------

MARKS = {"vocab": 50, "mask_id": 4, "special": (1, 2, 3)}


def many(rows=400, n=64):
    ids = torch.randint(5, 50, (rows, n), generator=rng.generator(1))
    ids[:, 0], ids[:, -1] = 2, 3
    ids[::2, 40:] = 0
    return ids


def test_masks_80_10_10():
    ids = many()
    seen, labels = mask_tokens(ids, rng.generator(2), **MARKS)
    words, chosen = ids >= 5, labels != 0
    n, total = int(words.sum()), int(chosen.sum())
    assert stats.chisquare([total, n - total], [0.15 * n, 0.85 * n]).pvalue > 1e-3
    covered, same = seen[chosen] == 4, seen[chosen] == ids[chosen]
    changed = ~covered & ~same
    found = [int(x.sum()) for x in (covered, changed, same)]
    lucky = 0.1 / 45  # la palabra al azar puede ser la que había
    parts = [0.8, 0.1 - lucky, 0.1 + lucky]
    assert stats.chisquare(found, [p * total for p in parts]).pvalue > 1e-3
    assert stats.chisquare(found, [p * total for p in (0.9, 0.05, 0.05)]).pvalue < 1e-6
    put = seen[chosen][changed].bincount(minlength=50)
    assert put[:5].sum() == 0 and stats.chisquare(put[5:].numpy()).pvalue > 1e-3
    by_column = chosen[1::2, 1:-1].sum(dim=0).numpy()  # ninguna columna se elige más
    assert stats.chisquare(by_column).pvalue > 1e-3


def test_masking_leaves_the_rest_alone():
    ids = many(30)
    seen, labels = mask_tokens(ids, rng.generator(2), **MARKS)
    chosen = labels != 0
    assert torch.equal(seen[~chosen], ids[~chosen]) and torch.equal(labels[chosen], ids[chosen])
    assert not chosen[ids < 5].any()
    again = mask_tokens(ids, rng.generator(2), **MARKS)
    assert torch.equal(again.ids, seen) and torch.equal(again.labels, labels)
    every = mask_tokens(ids, rng.generator(2), **MARKS, fraction=1.0, masked=1.0, random=0.0)
    assert (every.ids[ids >= 5] == 4).all() and torch.equal(every.labels != 0, ids >= 5)
    none = mask_tokens(ids, rng.generator(2), **MARKS, fraction=0.0)
    assert torch.equal(none.ids, ids) and not none.labels.any()
    one = torch.where(ids == 0, 1, ids)  # con otro relleno, ni se elige ni es la etiqueta de nada
    padded = mask_tokens(one, rng.generator(2), vocab=50, mask_id=4, special=(0, 2, 3), pad_id=1)
    assert torch.equal(padded.labels == 1, labels == 0) and (padded.ids[ids == 0] == 1).all()


def test_what_is_masked_is_learned():
    """Tras un 6 va un 9 y tras un 7, un 10: lo tapado se adivina por lo que hay al lado."""
    generator = rng.generator(3)

    def batches(step):
        first = torch.randint(6, 8, (32, 3), generator=generator)
        ids = torch.stack([first, first + 3], dim=2).flatten(1)  # (32, 6)
        return mask_tokens(ids, generator, vocab=VOCAB, mask_id=4, special=(1, 2))

    model = MaskedWords(Bert(config(init_std=0.1)))
    fit(model, batches, masked_word_loss, steps=100, optimizer=partial(torch.optim.Adam, lr=5e-3))
    ids = torch.tensor([[6, 4, 7, 10, 4, 10]])
    with evaluating(model):
        assert model(ids).argmax(-1)[0, [1, 4]].tolist() == [9, 7]


def test_the_loss_counts_only_what_was_chosen():
    model = scrambled(MaskedWords(Bert(config()))).double()
    labels = torch.zeros_like(IDS)
    labels[0, 2], labels[1, 1] = 5, 8
    logits = model(IDS).log_softmax(-1)
    mean = -(logits[0, 2, 5] + logits[1, 1, 8]) / 2
    close(masked_word_loss(model, (IDS, labels)), mean)
    assert masked_word_loss(model, (IDS, torch.zeros_like(IDS))) == 0


# --- Fragmentos, frases y medias ------------------------------------------------------------------


@pytest.mark.parametrize("max_length", [1, 2, 30])
def test_best_spans_by_brute_force(max_length):
    start, end = torch.randn(2, 8, 6, dtype=torch.float64)
    for row, (i, j) in enumerate(best_spans(start, end, max_length=max_length).tolist()):
        every = [
            (float(start[row, a] + end[row, b]), a, b)
            for a in range(6)
            for b in range(a, min(6, a + max_length))
        ]
        assert max(every)[1:] == (i, j)


def test_pack_puts_marks_segments_and_padding():
    marks = {"cls_id": 1, "sep_id": 2}
    ids, segments = pack([[5, 6], [7]], [[8], [9, 9, 9]], **marks)
    assert ids.tolist() == [[1, 5, 6, 2, 8, 2, 0], [1, 7, 2, 9, 9, 9, 2]]
    assert segments.tolist() == [[0, 0, 0, 0, 1, 1, 0], [0, 0, 0, 1, 1, 1, 1]]
    alone, segments = pack([[5, 6], []], **marks, pad_id=3)
    assert alone.tolist() == [[1, 5, 6, 2], [1, 2, 3, 3]] and not segments.any()
    assert Bert(config())(*pack([[5, 6]], **marks)).shape == (1, 4, 16)


def test_mean_vector_by_hand():
    states = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [50.0, 60.0]], [[7.0, 7.0]] * 3])
    real = torch.tensor([[True, True, False], [False, False, False]])
    assert mean_vector(states, real).tolist() == [[2.0, 3.0], [0.0, 0.0]]


# --- Lo que no sirve ------------------------------------------------------------------------------

BERT = Bert(config())
G = rng.generator(0)


def tapped(ids=IDS, **changes):
    return mask_tokens(ids, G, **{"vocab": 13, "mask_id": 4, **changes})


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "config: se esperaba una BertConfig", lambda: Bert(3)),
        (ValueError, "d_model: se esperaba un múltiplo", lambda: config(n_heads=3)),
        (ValueError, "vocab: ", lambda: replace(config(), vocab=0)),
        (ValueError, "n_segments: ", lambda: config(n_segments=-1)),
        (TypeError, "pooler: se esperaba True o False", lambda: config(pooler=1)),
        (ValueError, "first_position: .* max_len = 9", lambda: config(first_position=9)),
        (ValueError, "norm_eps: ", lambda: config(norm_eps=0.0)),
        (ValueError, "dropout: ", lambda: config(dropout=1.0)),
        (ValueError, "pad_id: se esperaba menor que vocab", lambda: config(pad_id=13)),
        (ValueError, "ids: se esperaba el relleno", lambda: BERT(IDS.flip(1))),
        (ValueError, "ids: se esperaba el relleno", lambda: MaskedWords(BERT)(IDS.flip(1))),
        (ValueError, "ids: se esperaban números entre 0 y 12", lambda: BERT(IDS + 9)),
        (ValueError, "ids: .* como mucho 9 columnas", lambda: BERT(torch.ones(1, 10).long())),
        (ValueError, "segments: .* entre 0 y 1", lambda: BERT(IDS, SEGMENTS + 1)),
        (ValueError, "segments: se esperaba la forma de ids", lambda: BERT(IDS, SEGMENTS[:1])),
        (
            ValueError,
            "segments: el modelo no los usa",
            lambda: Bert(config(n_segments=0))(IDS, SEGMENTS),
        ),
        (ValueError, r"masks\[1\]: su forma", lambda: BERT(IDS, None, torch.ones(4, 4).bool())),
        (
            ValueError,
            "pooler: se esperaba",
            lambda: Bert(config(pooler=False)).summary(torch.ones(1, 2, 16)),
        ),
        (ValueError, "states: el eje «d_model»", lambda: BERT.summary(torch.ones(1, 2, 8))),
        (ValueError, "bert: .* pooler=True", lambda: Pretraining(Bert(config(pooler=False)))),
        (TypeError, "bert: se esperaba un Bert", lambda: SpanFinder(nn.Linear(2, 2))),
        (ValueError, "pooling: ", lambda: SentenceClassifier(BERT, 2, pooling="max")),
        (ValueError, "n_classes: ", lambda: TokenClassifier(BERT, 0)),
        (
            ValueError,
            "real: se esperaba la forma",
            lambda: mean_vector(torch.ones(1, 2, 3), torch.ones(1, 3).bool()),
        ),
        (
            ValueError,
            "end: se esperaba la forma de start",
            lambda: best_spans(torch.ones(1, 2), torch.ones(1, 3)),
        ),
        (ValueError, "second: .* una frase por cada", lambda: pack([[1]], [], cls_id=1, sep_id=2)),
        (TypeError, r"first\[0\]: .*números", lambda: pack(["ab"], cls_id=1, sep_id=2)),
        (ValueError, "first: .* al menos una", lambda: pack([], cls_id=1, sep_id=2)),
        (ValueError, "mask_id: .* vocab = 13", lambda: mask_tokens(IDS, G, vocab=13, mask_id=13)),
        (TypeError, "generator: ", lambda: mask_tokens(IDS, 3, vocab=13, mask_id=4)),
        (
            ValueError,
            "random: .* no pasara de 1",
            lambda: mask_tokens(IDS, G, vocab=13, mask_id=4, random=0.3),
        ),
        (
            ValueError,
            "fraction: .* proporción",
            lambda: mask_tokens(IDS, G, vocab=13, mask_id=4, fraction=15),
        ),
        (
            ValueError,
            "special: .* alguna palabra",
            lambda: mask_tokens(IDS, G, vocab=13, mask_id=4, special=[*range(13)]),
        ),
        (TypeError, "batch: se esperaba", lambda: masked_word_loss(MaskedWords(BERT), IDS)),
        (
            ValueError,
            "labels: se esperaba la forma",
            lambda: masked_word_loss(MaskedWords(BERT), (IDS, IDS[:1])),
        ),
        (ValueError, "state: .* BERT", lambda: from_bert({"a.b": torch.ones(1)})),
        (TypeError, "state: se esperaba", lambda: from_bert([1])),
        (ValueError, "pad_id: .*mayor o igual que 0", lambda: config(pad_id=-1)),
        (ValueError, "ids: .* entre 0 y 12", lambda: BERT.real(IDS + 9)),
        (TypeError, "ids: se esperaba un tensor", lambda: BERT([[1, 2]])),
        (TypeError, "states: ", lambda: BERT.summary(torch.ones(1, 2, 16).int())),
        (ValueError, r"states: .*\(batch, n, d_model\)", lambda: BERT.summary(torch.ones(2, 16))),
        (ValueError, "states: .*alguna", lambda: mean_vector(torch.ones(1, 0, 3), REAL[:1, :0])),
        (TypeError, "states: ", lambda: mean_vector(IDS, REAL)),
        (TypeError, "real: ", lambda: mean_vector(torch.ones(1, 2, 3), torch.ones(1, 2))),
        (TypeError, "module: ", lambda: draw_normal(3, 0.1)),
        (ValueError, "std: ", lambda: draw_normal(nn.Linear(2, 2), 0.0)),
        (TypeError, "bert: ", lambda: SpanFinder(SimpleNamespace(embed=1))),
        (TypeError, "bert: ", lambda: Pretraining(SimpleNamespace(pooler=None))),
        (TypeError, "bert: ", lambda: TokenClassifier(nn.Linear(2, 2), 2)),
        (ValueError, "bert: ", lambda: SentenceClassifier(Bert(config(pooler=False)), 2)),
        (ValueError, "n_classes: ", lambda: SentenceClassifier(BERT, 0)),
        (
            ValueError,
            "ids: se esperaban como mucho",
            lambda: Bert(config(first_position=2))(torch.ones(1, SIZES["max_len"] - 1).long()),
        ),
        (TypeError, "start: ", lambda: best_spans(IDS, torch.ones(3, 7))),
        (ValueError, r"start: .*\(batch, n\)", lambda: best_spans(torch.ones(2), torch.ones(2))),
        (ValueError, "end: .*alguna", lambda: best_spans(torch.ones(1, 1), torch.ones(1, 0))),
        (ValueError, "max_length: ", lambda: best_spans(*torch.ones(2, 1, 2), max_length=0)),
        (ValueError, "cls_id: ", lambda: pack([[1]], cls_id=-1, sep_id=2)),
        (TypeError, "first: .*lista de frases", lambda: pack("ab", cls_id=1, sep_id=2)),
        (ValueError, r"first\[0\]: ", lambda: pack([[-1]], cls_id=1, sep_id=2)),
        (TypeError, "second: .*lista de frases", lambda: pack([[1]], "a", cls_id=1, sep_id=2)),
        (ValueError, "vocab: ", lambda: tapped(vocab=0)),
        (ValueError, "ids: ", lambda: tapped(IDS + 9)),
        (TypeError, "special: ", lambda: tapped(special=3)),
        (ValueError, "special: .*mayor o igual que 0", lambda: tapped(special=[-1])),
        (ValueError, "special: .*vocab = 13", lambda: tapped(special=[13])),
        (ValueError, "pad_id: .*vocab = 13", lambda: tapped(pad_id=13)),
        (TypeError, "fraction: se esperaba un número", lambda: tapped(fraction="1")),
        (ValueError, "masked: .*proporción", lambda: tapped(masked=-0.1)),
        (TypeError, "ids: ", lambda: masked_word_loss(MaskedWords(BERT), ([[1]], IDS))),
        (TypeError, "labels: .*un tensor", lambda: masked_word_loss(MaskedWords(BERT), (IDS, [1]))),
        (TypeError, "batch: ", lambda: masked_word_loss(MaskedWords(BERT), (IDS, IDS, IDS))),
        (
            ValueError,
            "pad_id: .*relleno",
            lambda: masked_word_loss(MaskedWords(Bert(config(pad_id=None))), (IDS, IDS)),
        ),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_the_edges_are_allowed():
    config(first_position=8, pad_id=12, n_segments=0)
    shifted = Bert(config(first_position=2))
    assert shifted(torch.ones(1, SIZES["max_len"] - 2).long()).shape[1] == SIZES["max_len"] - 2
    assert Bert(config(pad_id=None))(torch.ones(1, 9).long()).shape == (1, 9, 16)
    assert BERT.summary(torch.ones(1, 1, 16)).shape == (1, 16)
    assert best_spans(*torch.ones(2, 1, 1), max_length=1).tolist() == [[0, 0]]
    seen, labels = tapped(fraction=1.0, masked=1.0, random=0.0, mask_id=3)
    assert torch.equal(labels, IDS) and (seen[REAL] == 3).all()
    assert torch.equal(tapped(fraction=0.0)[0], IDS)
    assert tapped(special=[*range(12)], mask_id=11)[0].shape == IDS.shape
