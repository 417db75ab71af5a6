"""Unigrama: el retículo contra todos los cortes, EM, y la biblioteca ``tokenizers``."""

from __future__ import annotations

import json
import math
from collections import Counter
from functools import cache
from itertools import groupby

import numpy as np
import pytest
import tokenizers as hf
from _prosa import palabras, prosa, textos
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import models, pre_tokenizers, trainers

from atento import rng
from atento.tokenizers import Unigram, lattice, normalize
from atento.tokenizers.text import WORDS, count_words
from atento.tokenizers.unigram import (
    UNKNOWN_PENALTY,
    Corpus,
    learn_scores,
    maximize,
    prune,
    seed_pieces,
)

SIZE = 1500
PIECES = ["a", "b", "ñ", "ab", "ba", "abñ", "añ", "bb"]
SCORES = [-1.5, -2.0, -3.0, -1.9, -3.5, -2.5, -4.0, -5.0]


@cache
def ours() -> Unigram:
    return Unigram.train(prosa(), SIZE)


def library_model(pieces, scores) -> hf.Tokenizer:
    """Un unigrama de ``tokenizers`` con nuestras palabras y nuestras piezas."""
    tokenizer = hf.Tokenizer(models.Unigram([("<unk>", 0.0), *zip(pieces, scores, strict=True)], 0))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(hf.Regex(WORDS.pattern), "isolated")
    return tokenizer


@cache
def library() -> hf.Tokenizer:
    """El nuestro, en ``tokenizers``."""
    return library_model(ours().vocabulary[1:], ours().scores)


def every_cut(word: str):
    """Todos los cortes de una palabra, sin más."""
    if not word:
        yield ()
    for end in range(1, len(word) + 1):
        for rest in every_cut(word[end:]):
            yield (word[:end], *rest)


def scored_cuts(tokenizer: Unigram, word: str) -> dict[tuple[str, ...], float]:
    """Los cortes posibles y su log-probabilidad, sumando piezas."""
    table = dict(zip(tokenizer.vocabulary[tokenizer.n_first :], tokenizer.scores, strict=True))
    unknown = min(tokenizer.scores) - UNKNOWN_PENALTY
    cuts = {}
    for pieces in every_cut(word):
        values = [table.get(p, unknown if len(p) == 1 else None) for p in pieces]
        if None not in values:
            cuts[pieces] = sum(values)
    return cuts


def small() -> Unigram:
    return Unigram(PIECES, SCORES)


# --- La biblioteca --------------------------------------------------------------------------------


def test_el_mismo_corte_del_libro_entero():
    text = normalize("\n".join(prosa()))
    assert ours().encode(text) == library().encode(text).ids


@given(text=textos)
def test_el_mismo_corte_de_cualquier_texto_salvo_las_tiras_desconocidas(text):
    tokenizer = Unigram(ours().vocabulary[1:], ours().scores, normalization=None)
    for word in tokenizer.words(text):
        mine = [
            tokenizer.id_of(p) if p in tokenizer.vocabulary else 0 for p in tokenizer.segment(word)
        ]
        fused = [i for key, run in groupby(mine) for i in ([0] if key == 0 else run)]
        assert fused == library().encode(word).ids


def test_la_verosimilitud_no_es_peor_que_la_de_la_biblioteca():
    theirs = hf.Tokenizer(models.Unigram())
    theirs.pre_tokenizer = pre_tokenizers.Split(hf.Regex(WORDS.pattern), "isolated")
    trainer = trainers.UnigramTrainer(
        vocab_size=SIZE, show_progress=False, special_tokens=["<unk>"], unk_token="<unk>"
    )
    theirs.train_from_iterator(prosa(), trainer)
    learned = dict(json.loads(theirs.to_str())["model"]["vocab"][1:])
    words = count_words(prosa(), None)
    scores = np.array(list(learned.values()))
    their_scores = scores - np.log(np.exp(scores).sum())  # las suyas no llegan a sumar 1
    our_total = Corpus(words, ours().vocabulary[1:]).expected_counts(np.array(ours().scores))[1]
    their_total = Corpus(words, learned).expected_counts(their_scores)[1]
    assert our_total > 1.01 * their_total  # las dos son negativas: como mucho, un 1 % más baja


# --- El retículo ----------------------------------------------------------------------------------


@given(word=st.text("abñx", min_size=1, max_size=8))
def test_el_mejor_corte_es_el_mejor_de_todos(word):
    cuts = scored_cuts(small(), word)
    best = small().segmentations(word, 1)[0]
    assert tuple(small().segment(word)) in cuts
    assert cuts[tuple(small().segment(word))] == pytest.approx(max(cuts.values()), abs=1e-12)
    assert best.score == pytest.approx(max(cuts.values()), abs=1e-12)


@given(word=st.text("abñx", min_size=1, max_size=8), n=st.integers(1, 200))
def test_los_n_mejores_son_los_n_mejores(word, n):
    cuts = scored_cuts(small(), word)
    found = small().segmentations(word, n)
    assert len(found) == min(n, len(cuts)) and len({x.pieces for x in found}) == len(found)
    assert [x.score for x in found] == pytest.approx(sorted(cuts.values(), reverse=True)[:n])
    assert all(cuts[x.pieces] == pytest.approx(x.score) for x in found)


@given(word=st.text("abñx", min_size=1, max_size=8))
def test_las_probabilidades_de_las_aristas_son_las_de_todos_los_cortes(word):
    cuts = scored_cuts(small(), word)
    total = math.fsum(map(math.exp, cuts.values()))
    used: Counter[tuple[int, int]] = Counter()
    for pieces, score in cuts.items():
        start = 0
        for piece in pieces:
            used[start, start + len(piece)] += math.exp(score) / total
            start += len(piece)
    edges = small().lattice(word)
    assert {(e.start, e.end) for e in edges} >= set(used)
    for edge in edges:
        assert edge.piece == word[edge.start : edge.end]
        assert edge.posterior == pytest.approx(used[edge.start, edge.end], abs=1e-9)


@given(word=st.text("abñ", min_size=1, max_size=12))
def test_cada_caracter_esta_cubierto_con_probabilidad_1(word):
    covered = np.zeros(len(word))
    for edge in small().lattice(word):
        covered[edge.start : edge.end] += edge.posterior
    assert covered == pytest.approx(np.ones(len(word)))


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 3.0])
def test_al_azar_cada_corte_sale_segun_su_probabilidad(power):
    cuts = scored_cuts(small(), "abñb")
    weights = {pieces: math.exp(power * score) for pieces, score in cuts.items()}
    draw, times = rng.generator(1), 1500
    found = Counter(tuple(small().sample("abñb", draw, power)) for _ in range(times))
    assert set(found) <= set(cuts)
    for pieces, weight in weights.items():
        chance = weight / sum(weights.values())
        slack = 5 * math.sqrt(chance * (1 - chance) / times)
        assert found[pieces] / times == pytest.approx(chance, abs=slack + 1e-9)


@given(word=st.text("abñx", min_size=1, max_size=8), seed=st.integers(0, 9))
def test_el_azar_se_repite_con_la_misma_semilla(word, seed):
    one, other = (small().sample(word, rng.generator(seed)) for _ in range(2))
    assert one == other and tuple(one) in scored_cuts(small(), word)


def grid(seed: int, n_words: int, n: int, longest: int) -> np.ndarray:
    values = np.random.default_rng(seed).normal(-3, 1, (n_words, n, longest))
    ends = np.arange(n)[:, None] + np.arange(1, longest + 1)
    return np.where(ends <= n, values, -np.inf)


@given(seed=st.integers(0, 99), n=st.integers(1, 9), longest=st.integers(1, 6))
def test_adelante_y_atras_cuentan_lo_mismo(seed, n, longest):
    edges = grid(seed, 3, n, min(longest, n))
    alpha, beta = lattice.forward(edges), lattice.backward(edges)
    np.testing.assert_allclose(alpha[:, -1], beta[:, 0], atol=1e-10)
    assert (lattice.viterbi(edges) <= alpha[:, -1] + 1e-12).all()
    used, total = lattice.posteriors(edges)
    np.testing.assert_allclose(total, alpha[:, -1])
    np.testing.assert_allclose((used * np.arange(1, edges.shape[2] + 1)).sum((1, 2)), n)


def test_una_palabra_muy_larga_no_se_desborda():
    word = "abñ" * 700
    assert "".join(small().segment(word)) == word
    assert sum(e.posterior * (e.end - e.start) for e in small().lattice(word)) == pytest.approx(
        2100
    )


def test_logsumexp_de_nada_es_menos_infinito():
    x = np.array([[-np.inf, -np.inf], [0.0, 0.0], [-1e4, -1e4]])
    np.testing.assert_allclose(lattice.logsumexp(x), [-np.inf, math.log(2), -1e4 + math.log(2)])


# --- Entrenar -------------------------------------------------------------------------------------


def test_em_nunca_baja_la_verosimilitud():
    words = count_words(prosa()[0])
    seed = seed_pieces(words, 3000, 8)
    corpus, totals = Corpus(words, seed), []
    scores = maximize(np.array(list(seed.values()), float), np.zeros(len(seed)))
    for _ in range(8):
        expected, total = corpus.expected_counts(scores)
        totals.append(total)
        with np.errstate(divide="ignore"):
            scores = np.log(expected / expected.sum())  # sin el mínimo de maximize
    assert np.diff(totals).min() > -1e-6 * abs(totals[0]) and totals[-1] > totals[0]


def test_lo_esperado_cuadra_con_los_caracteres_del_corpus():
    words = count_words(prosa()[0])
    seed = seed_pieces(words, 2000, 8)
    expected, _ = Corpus(words, seed).expected_counts(np.full(len(seed), -5.0))
    characters = sum(len(word) * times for word, times in words.items())
    assert expected @ [len(piece) for piece in seed] == pytest.approx(characters)


@given(words=st.lists(palabras, min_size=1, max_size=8).map(Counter))
def test_la_semilla_son_trozos_que_se_repiten_y_todos_los_caracteres(words):
    seed = seed_pieces(words, 50, 4)
    for piece, count in seed.items():
        places = sum(
            n * sum(word.startswith(piece, i) for i in range(len(word)))
            for word, n in words.items()
        )
        assert count == places and (len(piece) == 1 or (count > 1 and len(piece) <= 4))
    assert {c for word in words for c in word} <= set(seed)


def test_la_poda_deja_lo_que_mas_falta_hace_y_todos_los_caracteres():
    scores = np.log([0.3, 0.3, 0.2, 0.2])
    expected = np.array([1.0, 1.0, 9.0, 1.0])
    alternatives = np.array([-np.inf, -np.inf, -5.0, -5.0])
    kept = prune(scores, expected, alternatives, 3)
    assert np.isfinite(kept).tolist() == [True, True, True, False]


def test_lo_que_cuesta_quitar_una_pieza_se_mide_con_el_mejor_corte_sin_ella():
    pieces = dict(zip(PIECES, SCORES, strict=True))
    found = Corpus(Counter(dict.fromkeys(pieces, 1)), pieces).without_themselves(np.array(SCORES))
    for piece, value in zip(pieces, found, strict=True):
        cuts = [s for cut, s in scored_cuts(small(), piece).items() if len(cut) > 1]
        assert value == pytest.approx(max(cuts, default=-math.inf))


def test_las_probabilidades_suman_1_y_los_caracteres_se_conservan():
    assert math.fsum(map(math.exp, ours().scores)) == pytest.approx(1)
    assert {c for text in prosa() for c in normalize(text)} <= set(ours().vocabulary)
    assert list(ours().scores) == sorted(ours().scores, reverse=True)


def test_con_mas_piezas_la_verosimilitud_no_empeora():
    words = count_words(prosa()[0])
    seed = seed_pieces(words, 4000, 12)
    totals = []
    for size in (200, 400, 800):
        learned = learn_scores(words, seed, size)
        assert len(learned) == size
        totals.append(Corpus(words, learned).expected_counts(np.array(list(learned.values())))[1])
    assert totals == sorted(totals)


# --- Entradas malas -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "kind", "told"),
    [
        ([-1.0], ValueError, "^scores: se esperaba un número por pieza, 2; llegaron 1"),
        ([-1.0, 0.5], ValueError, r"^scores\[1\]: .*como mucho 0; llegó 0.5"),
        ([-1.0, -math.inf], ValueError, r"^scores\[1\]: .*finito"),
        ([-1.0, math.nan], ValueError, r"^scores\[1\]: .*finito"),
        ([-1.0, "x"], TypeError, r"^scores\[1\]: se esperaba un número"),
        (3, TypeError, "^scores: se esperaba una lista; llegó int"),
        (iter([-1.0, -1.0]), TypeError, "^scores: se esperaba una lista; llegó list_iterator"),
    ],
)
def test_puntuaciones_que_no_valen(scores, kind, told):
    with pytest.raises(kind, match=told):
        Unigram(["a", "b"], scores)


def test_opciones_que_no_valen():
    with pytest.raises(ValueError, match="^n: "):
        small().segmentations("ab", 0)
    with pytest.raises(ValueError, match="^longest: "):
        Unigram.train("la casa", 50, longest=1)
    with pytest.raises(ValueError, match="^seed_size: "):
        Unigram.train("la casa", 50, seed_size=0)
    with pytest.raises(TypeError, match="^generator: se esperaba un generador"):
        small().sample("ab", 3)
    for power, kind in ((-1.0, ValueError), (math.inf, ValueError), ("1", TypeError)):
        with pytest.raises(kind, match="^power: "):
            small().sample("ab", rng.generator(0), power)
    with pytest.raises(TypeError, match="^word: se esperaba un texto"):
        small().sample(3, rng.generator(0))
    assert Unigram(["a", "b"], [-1.0, 0.0]).scores == (-1.0, 0.0)  # 0 también es un logaritmo
    for method in ("lattice", "segmentations", "segment"):
        with pytest.raises(TypeError, match="^word: se esperaba un texto"):
            getattr(small(), method)(3)
