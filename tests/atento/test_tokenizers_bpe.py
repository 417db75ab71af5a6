"""BPE: el algoritmo de 2016 tal cual, y la biblioteca ``tokenizers``, unión a unión."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from itertools import pairwise

import pytest
import tokenizers as hf
from _prosa import corpus_pequenos, palabras, prosa, textos
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import models, pre_tokenizers, trainers

from atento.tokenizers import BPE
from atento.tokenizers.bpe import BYTES, apply_merges, learn_merges
from atento.tokenizers.pairs import PairIndex, merged
from atento.tokenizers.text import WORDS, count_words

levels = pytest.mark.parametrize("byte_level", [False, True], ids=["caracteres", "bytes"])
MORE_THAN_THERE_ARE = 30_000


@cache
def library(size: int, byte_level: bool, min_count: int = 2) -> hf.Tokenizer:
    """El BPE de ``tokenizers`` con nuestras palabras, entrenado con la prosa del libro."""
    model = hf.Tokenizer(models.BPE(unk_token="<unk>"))
    steps = [pre_tokenizers.Split(hf.Regex(WORDS.pattern), "isolated")]
    if byte_level:
        steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False))
    model.pre_tokenizer = pre_tokenizers.Sequence(steps)
    alphabet = pre_tokenizers.ByteLevel.alphabet() if byte_level else []
    trainer = trainers.BpeTrainer(
        vocab_size=size, min_frequency=min_count, show_progress=False, special_tokens=["<unk>"],
        initial_alphabet=alphabet,
    )  # fmt: skip
    model.train_from_iterator(prosa(), trainer)
    return model


@cache
def ours(size: int, byte_level: bool, min_count: int = 2) -> BPE:
    return BPE.train(prosa(), size, byte_level=byte_level, min_count=min_count)


# --- Igual que la biblioteca ----------------------------------------------------------------------


@levels
@pytest.mark.parametrize(("size", "min_count"), [(400, 2), (2000, 2), (MORE_THAN_THERE_ARE, 3)])
def test_las_mismas_uniones_y_el_mismo_vocabulario(size, min_count, byte_level):
    theirs = json.loads(library(size, byte_level, min_count).to_str())["model"]
    tokenizer = ours(size, byte_level, min_count)
    assert [tuple(merge) for merge in theirs["merges"]] == list(tokenizer.merges)
    assert sorted(theirs["vocab"], key=theirs["vocab"].get) == list(tokenizer.vocabulary)


@levels
def test_los_mismos_numeros_para_el_libro_entero(byte_level):
    text = "\n".join(prosa())
    assert ours(2000, byte_level).encode(text) == library(2000, byte_level).encode(text).ids


@levels
@given(text=textos)
def test_los_mismos_numeros_para_cualquier_texto(byte_level, text):
    tokenizer = BPE(
        ours(2000, byte_level).vocabulary[1:], ours(2000, byte_level).merges,
        byte_level=byte_level, normalization=None,
    )  # fmt: skip
    assert tokenizer.encode(text) == library(2000, byte_level).encode(text).ids
    assert tokenizer.decode(tokenizer.encode(text)) == text or not byte_level


def test_el_alfabeto_de_bytes_es_el_de_la_biblioteca():
    assert sorted(BYTES.values()) == sorted(pre_tokenizers.ByteLevel.alphabet())
    assert len(BYTES) == 256 and BYTES[ord(" ")] == "Ġ"


@given(
    merges=st.lists(st.tuples(palabras, palabras), max_size=12, unique=True),
    word=st.text("abñ", min_size=1, max_size=14),
)
def test_cualquier_tabla_de_uniones_se_aplica_como_en_la_biblioteca(merges, word):
    pieces = list(dict.fromkeys([*"abñ", *(x for a, b in merges for x in (a, b, a + b))]))
    table = {piece: i for i, piece in enumerate(pieces)}
    theirs = models.BPE(vocab=table, merges=merges)
    mine = BPE(pieces, merges, unk=None).segment(word)
    assert mine == [token.value for token in theirs.tokenize(word)]


# --- Igual que el artículo ------------------------------------------------------------------------


def recounted(cut: dict[str, list[str]], words: Counter[str]) -> Counter[tuple[str, str]]:
    """Las parejas de todo el corpus, contadas desde cero (``get_stats`` en el artículo)."""
    pairs: Counter[tuple[str, str]] = Counter()
    for word, symbols in cut.items():
        for pair in pairwise(symbols):
            pairs[pair] += words[word]
    return pairs


@given(corpus=corpus_pequenos)
def test_cada_union_es_la_pareja_mas_frecuente_recontando_todo(corpus):
    words = count_words(corpus)
    cut = {word: list(word) for word in words}
    ids = {c: i for i, c in enumerate(sorted(set("".join(words))))}
    index = PairIndex({tuple(w): n for w, n in words.items()}, ids)
    while pairs := recounted(cut, words):
        most = max(pairs.values())
        best = min((p for p, n in pairs.items() if n == most), key=lambda p: (ids[p[0]], ids[p[1]]))
        assert index.best() == best and +index.counts == pairs
        ids.setdefault(index.merge(best), len(ids))
        cut = {word: merged(symbols, best, "".join(best)) for word, symbols in cut.items()}
    assert index.best() is None


def test_el_ejemplo_del_articulo():
    words = {"low·": 5, "lower·": 2, "newest·": 6, "widest·": 3}
    index = PairIndex({tuple(w): n for w, n in words.items()}, sorted(set("".join(words))))
    merges = learn_merges(index, len(index.ids) + 5)
    assert merges[0] == ("e", "s")
    assert {"est·", "low"} <= set(map("".join, merges))  # como en su figura 1, salvo los empates


# --- Propiedades ----------------------------------------------------------------------------------


@levels
def test_un_vocabulario_menor_es_el_principio_del_mayor(byte_level):
    small, large = ours(400, byte_level), ours(2000, byte_level)
    assert large.merges[: len(small.merges)] == small.merges
    assert large.vocabulary[: len(small)] == small.vocabulary


@levels
def test_con_mas_uniones_no_salen_mas_piezas(byte_level):
    tokenizer = ours(2000, byte_level)
    for word in count_words(prosa()[0]):
        lengths = []
        for n in (0, 100, 500, len(tokenizer.merges)):
            ranks = {pair: i for i, pair in enumerate(tokenizer.merges[:n])}
            symbols = [BYTES[b] for b in word.encode()] if byte_level else list(word)
            lengths.append(len(symbols) - sum(1 for _ in apply_merges(symbols, ranks)))
        assert lengths == sorted(lengths, reverse=True)


@levels
@given(word=palabras)
def test_los_pasos_cuentan_la_historia_entera(byte_level, word):
    tokenizer = ours(2000, byte_level)
    steps = tokenizer.merges_of(word)
    before = tuple(BYTES[b] for b in word.encode()) if byte_level else tuple(word)
    for step in steps:
        assert tokenizer.merges[step.rank] == step.pair
        i = next(i for i, pair in enumerate(pairwise(before)) if pair == step.pair)
        assert step.pieces == (*before[:i], "".join(step.pair), *before[i + 2 :])
        before = step.pieces
    assert tokenizer.segment(word) == list(before)


def test_los_pasos_de_una_palabra():
    tokenizer = BPE(["a", "b", "c", "ab", "abc"], [("a", "b"), ("ab", "c")])
    assert [(s.rank, s.pieces) for s in tokenizer.merges_of("abcab")] == [
        (0, ("ab", "c", "a", "b")), (0, ("ab", "c", "ab")), (1, ("abc", "ab")),
    ]  # fmt: skip
    assert tokenizer.merges_of("c") == []


def test_una_palabra_larguisima_no_se_atraganta():
    assert len(ours(2000, False).segment("ab" * 3000)) <= 6000


@levels
def test_min_count_deja_fuera_lo_raro(byte_level):
    assert len(BPE.train("ab ab cd", 300, byte_level=byte_level, min_count=2).merges) == 1
    assert len(BPE.train("ab ab cd", 300, byte_level=byte_level, min_count=1).merges) == 4


def test_unos_bytes_que_cortan_un_caracter_dan_el_de_sustitucion():
    tokenizer = ours(400, True)
    ids = [tokenizer.id_of(BYTES[byte]) for byte in "日".encode()]
    assert tokenizer.decode(ids) == "日" and tokenizer.decode(ids[:2]) == "�"


@pytest.mark.parametrize(
    ("merges", "kind", "told"),
    [
        ([("a", "z")], ValueError, r"^merges\[0\]: .*'z' no está"),
        ([("b", "a")], ValueError, r"^merges\[0\]: .*'ba' no está"),
        (["ab"], TypeError, r"^merges\[0\]: se esperaba una pareja"),
        ([("a",)], TypeError, r"^merges\[0\]: se esperaba una pareja"),
        ([3], TypeError, r"^merges\[0\]: se esperaba una pareja"),
        ([("a", 3)], TypeError, r"^merges\[0\]: se esperaba una pareja"),
        ([("a", "b"), ("a", "b")], ValueError, "^merges: .*repetida"),
        (3, TypeError, "^merges: se esperaba una lista; llegó int"),
        ("ab", TypeError, "^merges: se esperaba una lista; llegó str"),
        (iter([("a", "b")]), TypeError, "^merges: se esperaba una lista; llegó list_iterator"),
    ],
)
def test_uniones_que_no_valen(merges, kind, told):
    with pytest.raises(kind, match=told):
        BPE(["a", "b", "ab"], merges)


def test_minimo_que_no_vale():
    with pytest.raises(ValueError, match="^min_count: "):
        BPE.train("la casa", 50, min_count=0)
    with pytest.raises(ValueError, match="^pieces: con byte_level .*falta alguno"):
        BPE(["a"], [], byte_level=True)
    with pytest.raises(ValueError, match="^pieces: con byte_level .*llegó '日'"):
        BPE([*BYTES.values(), "日"], [], byte_level=True)
