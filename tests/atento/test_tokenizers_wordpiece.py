"""WordPiece: la verosimilitud recontada, y la biblioteca ``tokenizers``, salvo empates."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from itertools import pairwise

import pytest
import tokenizers as hf
from _prosa import corpus_pequenos, prosa, textos
from hypothesis import given
from tokenizers import models, pre_tokenizers, trainers

from atento.tokenizers import WordPiece
from atento.tokenizers.pairs import merged
from atento.tokenizers.text import BARE_WORDS, count_words, split_bare_words
from atento.tokenizers.wordpiece import SCORES, ScoredPairs

SIZE = 1500


def library_model(model: models.WordPiece) -> hf.Tokenizer:
    """Un WordPiece de ``tokenizers`` con nuestras palabras."""
    tokenizer = hf.Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(
        hf.Regex(BARE_WORDS.pattern), "removed", invert=True
    )
    return tokenizer


@cache
def library() -> tuple[str, ...]:
    """El vocabulario que aprende ``tokenizers`` de la prosa del libro, por orden."""
    tokenizer = library_model(models.WordPiece(unk_token="<unk>"))
    trainer = trainers.WordPieceTrainer(
        vocab_size=SIZE, min_frequency=2, show_progress=False, special_tokens=["<unk>"]
    )
    tokenizer.train_from_iterator(prosa(), trainer)
    table = tokenizer.get_vocab()
    return tuple(sorted(table, key=table.get))


def scored(corpus, score: str, least: int = 1) -> ScoredPairs:
    """Las parejas de un corpus, con el alfabeto por orden."""
    counts = count_words(corpus, split=split_bare_words)
    words = {(w[0], *("##" + c for c in w[1:])): n for w, n in counts.items()}
    return ScoredPairs(words, sorted({s for word in words for s in word}), least, score)


@cache
def ours(score: str) -> WordPiece:
    return WordPiece.train(prosa(), SIZE, score=score)


# --- La biblioteca --------------------------------------------------------------------------------


def test_el_vocabulario_de_la_biblioteca_es_bpe_con_almohadillas():
    """Cada pieza que añade es una de las parejas más frecuentes en ese momento.

    El orden de sus símbolos con «##», y con él sus empates, cambia de una ejecución a otra: por eso
    no se compara el orden, se comprueba que cada elección suya era un máximo.
    """
    index = scored(prosa(), "count", least=2)
    known = set(index.ids)
    for piece in [x for x in library()[1:] if x not in known and len(x.removeprefix("##")) > 1]:
        while True:
            best = index.counts[index.best()]
            tied = [pair for pair, n in index.counts.items() if n == best]
            repeated = next((p for p in tied if index.join(*p) in index.ids), None)
            chosen = repeated or next((p for p in tied if index.join(*p) == piece), None)
            assert chosen is not None, (piece, best, tied)
            index.merge(chosen)
            if not repeated:
                break


def test_las_mismas_piezas_que_la_biblioteca_salvo_los_ultimos_empates():
    mine, theirs = set(ours("count").vocabulary), set(library())
    assert len(mine) == len(theirs) == SIZE
    assert len(mine ^ theirs) <= 0.02 * SIZE


def test_el_mismo_corte_del_libro_con_el_mismo_vocabulario():
    text = "\n".join(prosa())
    for score in SCORES:
        mine = ours(score)
        table = {piece: i for i, piece in enumerate(mine.vocabulary)}
        theirs = library_model(
            models.WordPiece(table, unk_token="<unk>", max_input_chars_per_word=10**9)
        )
        assert mine.encode(text) == theirs.encode(text).ids


@given(text=textos)
def test_el_mismo_corte_de_cualquier_texto(text):
    mine = WordPiece(library()[1:], normalization=None)
    table = {piece: i for i, piece in enumerate(library())}
    theirs = library_model(
        models.WordPiece(table, unk_token="<unk>", max_input_chars_per_word=10**9)
    )
    assert mine.encode(text) == theirs.encode(text).ids


# --- El criterio ----------------------------------------------------------------------------------


def log_likelihood(words: dict[tuple[str, ...], int]) -> float:
    """La de un corpus ya cortado, con la probabilidad de cada símbolo según sus veces."""
    counts: Counter[str] = Counter()
    for word, times in words.items():
        for symbol in word:
            counts[symbol] += times
    total = counts.total()
    return sum(n * math.log(n / total) for n in counts.values())


def cut(index: ScoredPairs) -> dict[tuple[str, ...], int]:
    """Las palabras tal como están cortadas."""
    words: Counter[tuple[str, ...]] = Counter()
    for symbols, times in zip(index.words, index.times, strict=True):
        words[tuple(symbols)] += times
    return words


@given(corpus=corpus_pequenos)
def test_likelihood_es_lo_que_sube_la_verosimilitud_al_unir(corpus):
    index = scored(corpus, "likelihood")
    before = cut(index)
    for pair in list(index.counts):
        if index.counts[pair] == 0 or _overlaps(before, pair):
            continue
        after: Counter[tuple[str, ...]] = Counter()
        for word, times in before.items():
            after[tuple(merged(list(word), pair, "nuevo"))] += times
        gain = log_likelihood(after) - log_likelihood(before)
        assert index.score(pair) == pytest.approx(gain, abs=1e-9)


def _overlaps(words, pair) -> bool:
    return pair[0] == pair[1] and any(
        a == b == c == pair[0] for w in words for a, b, c in zip(w, w[1:], w[2:], strict=False)
    )


@pytest.mark.parametrize("score", SCORES)
@given(corpus=corpus_pequenos)
def test_la_mejor_es_la_mejor_recontando_todo(score, corpus):
    index = scored(corpus, score)
    for _ in range(25):
        fresh = ScoredPairs(cut(index), index.ids, 1, score)
        assert +fresh.counts == +index.counts and +fresh.symbols == +index.symbols
        assert fresh.total == index.total
        pair = index.best()
        values = {other: fresh.score(other) for other in fresh.counts}
        if pair is None:
            assert all(value <= 0 for value in values.values())
            break
        assert values[pair] == max(values.values())
        index.merge(pair)


def test_con_likelihood_la_verosimilitud_sube_en_cada_union():
    index = scored(prosa()[0], "likelihood", least=2)
    for _ in range(30):
        before, pair = log_likelihood(cut(index)), index.best()
        expected = index.score(pair)
        index.merge(pair)
        after = log_likelihood(cut(index))
        assert after > before
        assert after - before == pytest.approx(expected, rel=1e-9) or pair[0] == pair[1]


def test_los_tres_criterios_no_eligen_lo_mismo():
    corpus = "de de de de de de zq zq en el"
    first = {score: scored(corpus, score, least=2).best() for score in SCORES}
    assert first["count"] == ("d", "##e") and first["ratio"] == ("z", "##q")
    assert first["likelihood"] == ("d", "##e")


def test_ratio_prefiere_lo_raro_y_corta_mas():
    text = "\n".join(prosa())
    lengths = {score: len(ours(score).encode(text)) for score in SCORES}
    assert lengths["ratio"] > 1.2 * max(lengths["count"], lengths["likelihood"])


# --- Cortar ---------------------------------------------------------------------------------------


def test_la_pieza_mas_larga_que_encaja_y_sus_pasos():
    tokenizer = WordPiece(["a", "ab", "##b", "##c", "##cd", "##bc"])
    steps = tokenizer.matches_of("abcd")
    assert [step.piece for step in steps] == tokenizer.segment("abcd") == ["ab", "##cd"]
    assert steps[0].tried == ("abcd", "abc", "ab") and steps[1].start == 2
    lost = tokenizer.matches_of("abx")
    assert lost[-1].piece is None and lost[-1].tried == ("##x",)
    assert tokenizer.segment("abx") == ["abx"] and tokenizer.pieces("abx") == ["<unk>"]


@given(text=textos)
def test_las_piezas_de_una_palabra_son_la_palabra(text):
    tokenizer = ours("likelihood")
    for word in tokenizer.words(text):
        pieces = tokenizer.segment(word)
        assert pieces[0] + "".join(piece[2:] for piece in pieces[1:]) == word


def test_las_almohadillas_del_texto_no_se_confunden():
    tokenizer = WordPiece.train("a ## b #a # ##", 20)
    assert tokenizer.decode(tokenizer.encode("a ##b #a")) == "a # # b # a"


def test_el_alfabeto_va_sin_y_con_almohadillas():
    tokenizer = WordPiece.train("ab", 50, min_count=2)
    assert tokenizer.vocabulary == ("<unk>", "a", "b", "##b")


def test_un_criterio_que_no_existe():
    with pytest.raises(ValueError, match="^score: se esperaba una de likelihood, ratio, count"):
        WordPiece.train("la casa", 50, score="pmi")


def test_solo_cuentan_las_parejas_dentro_de_las_palabras():
    index = scored("ab ab", "count")
    assert dict(index.counts) == {("a", "##b"): 2}
    assert all(pair in index.counts for word in index.words for pair in pairwise(word))
