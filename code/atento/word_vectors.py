"""Piso 5: un vector por palabra, aprendido de las palabras que tiene cerca.

Tres maneras de hacerlo y una manera de mirarlo:

- skip-gram con muestreo negativo (word2vec): distinguir los vecinos de verdad de los sorteados;
- GloVe: mínimos cuadrados ponderados sobre el logaritmo de los recuentos de vecindad;
- la información mutua de los mismos recuentos y su descomposición en valores singulares, sin
  entrenar nada: el control, porque skip-gram factoriza esa misma matriz;
- :class:`WordVectors`: vecinos, analogías y su tasa de acierto, con las trampas a la vista.

Los dos primeros se entrenan con :func:`atento.training.fit`, como cualquier otro modelo.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from atento.checks import word_vectors as checks
from atento.shapes import typed

# --- De un texto a sus palabras -------------------------------------------------------------------


def split_words(text: str) -> list[str]:
    """Las palabras de un texto, en minúsculas: letras seguidas, con tildes; sin cifras ni signos.

    Errores: ``TypeError`` si ``text`` no es un texto.
    """
    checks.require_text(text, name="text")
    return re.findall(r"[^\W\d_]+", unicodedata.normalize("NFC", text).lower())


@dataclass(frozen=True, eq=False)
class Corpus:
    """Un texto hecho números: las frases, seguidas, sin las palabras raras.

    ``words``: el vocabulario, de la más frecuente a la menos. ``counts`` (vocab,): cuántas veces
    sale cada una. ``ids`` (n,): el texto. ``sentence`` (n,): a qué frase pertenece cada sitio.
    """

    words: tuple[str, ...]
    counts: Tensor
    ids: Tensor
    sentence: Tensor

    def __len__(self) -> int:
        return len(self.words)


def read(sentences: Iterable[str | Sequence[str]], *, min_count: int = 5) -> Corpus:
    """Lee unas frases: textos, que parte :func:`split_words`, o listas de palabras ya partidas.

    Las palabras que salen menos de ``min_count`` veces se quitan antes de mirar quién está cerca de
    quién, como hace word2vec.

    Errores: ``TypeError`` si ``sentences`` es un solo texto o no son frases; ``ValueError`` si no
    queda ninguna palabra o ``min_count`` no es un entero positivo.
    """
    checks.sentences(sentences, min_count)
    rows = [split_words(row) if isinstance(row, str) else list(row) for row in sentences]
    counted = Counter(word for row in rows for word in row)
    words = sorted((w for w in counted if counted[w] >= min_count), key=lambda w: (-counted[w], w))
    checks.require_words(words, min_count)
    number = {word: i for i, word in enumerate(words)}
    kept = [(number[word], k) for k, row in enumerate(rows) for word in row if word in number]
    ids, sentence = torch.tensor(kept).unbind(1)
    return Corpus(tuple(words), torch.tensor([counted[w] for w in words]), ids, sentence)


# --- Quién está cerca de quién --------------------------------------------------------------------


@typed(validate=checks.radius_pairs)
def window_pairs(
    ids: Int[Tensor, " n"], sentence: Int[Tensor, " n"], radius: Int[Tensor, " n"]
) -> Int[Tensor, "pairs 2"]:
    """Las parejas (centro, vecino) de un texto: en la misma frase, a ``radius`` sitios o menos.

    ``ids``, ``sentence`` y ``radius`` miden (n,): palabra, frase y alcance de cada sitio cuando
    hace de centro. Devuelve los números de las palabras, (pairs, 2).

    Errores: ``TypeError`` si no son enteros; ``ValueError`` si no miden lo mismo.
    """
    place, found = torch.arange(len(ids), device=ids.device), [ids.new_empty(0, 2)]
    for distance in range(1, int(radius.max()) + 1 if len(ids) else 1):
        left, right = place[:-distance], place[distance:]
        together = sentence[left] == sentence[right]
        for center, context in ((left, right), (right, left)):
            near = together & (radius[center] >= distance)
            found.append(torch.stack([ids[center[near]], ids[context[near]]], dim=1))
    return torch.cat(found)


@typed(validate=checks.keep)
def keep_probability(
    counts: Int[Tensor, " vocab"], threshold: float = 1e-3
) -> Float[Tensor, " vocab"]:
    """Con qué probabilidad se conserva cada aparición de una palabra: mín(1, √(umbral/frecuencia)).

    ``counts`` mide (vocab,). Quita sobre todo palabras como «de», que están al lado de todas.

    Errores: ``TypeError`` o ``ValueError`` si los recuentos no son enteros positivos o
    ``threshold`` no lo es.
    Fuente: Mikolov et al. (2013), ec. 5.
    """
    frequency = counts.double() / counts.sum()
    return (threshold / frequency).sqrt().clamp(max=1.0)


@typed(validate=checks.noise)
def noise_distribution(
    counts: Int[Tensor, " vocab"], power: float = 0.75
) -> Float[Tensor, " vocab"]:
    """Con qué probabilidad sale cada palabra como vecino falso: frecuencia elevada a ``power``.

    ``counts`` mide (vocab,), y el resultado suma 1.

    Errores: ``TypeError`` o ``ValueError`` si los recuentos no son enteros positivos o ``power`` es
    negativo.
    Fuente: Mikolov et al. (2013), § 2.2.
    """
    raised = counts.double() ** power
    return raised / raised.sum()


@typed(validate=checks.cooccurrence)
def cooccurrence(
    corpus: Corpus, *, window: int = 5, weights: str = "harmonic"
) -> Float[Tensor, "vocab vocab"]:
    """Cuenta, (vocab, vocab), cuántas veces está cada palabra cerca de cada otra; es simétrica.

    Un vecino a distancia d suma 1/d con ``weights="harmonic"`` (GloVe); 1 − (d − 1)/``window`` con
    ``"linear"``, lo que da de media la ventana sorteada de skip-gram; y 1 con ``"flat"``. Ocupa
    8·vocab² bytes.

    Errores: ``TypeError`` si ``corpus`` no lo es; ``ValueError`` si ``window`` no es un entero
    positivo o no existe ``weights``.
    Fuente: Pennington et al. (2014), § 3.
    """
    n, scale = len(corpus), _SCALES[weights]
    total = torch.zeros(n * n, dtype=torch.float64)
    for distance in range(1, window + 1):
        left, right = corpus.ids[:-distance], corpus.ids[distance:]
        together = corpus.sentence[:-distance] == corpus.sentence[distance:]
        cells = (left * n + right)[together]
        total += scale(distance, window) * torch.bincount(cells, minlength=n * n)
    matrix = total.reshape(n, n)
    return matrix + matrix.T


_SCALES = {
    "harmonic": lambda distance, window: 1 / distance,
    "linear": lambda distance, window: 1 - (distance - 1) / window,
    "flat": lambda distance, window: 1.0,
}


# --- Skip-gram con muestreo negativo --------------------------------------------------------------


class SkipGramBatch(NamedTuple):
    """Unas parejas y sus vecinos falsos.

    ``center`` (batch,), ``context`` (batch,) y ``noise`` (batch, negatives).
    """

    center: Tensor
    context: Tensor
    noise: Tensor


class SkipGram(nn.Module):
    """Dos vectores por palabra: el que lleva de centro y el que lleva de vecina.

    ``forward(center, context)`` devuelve los productos escalares: (batch,) con ``context`` de forma
    (batch,), y (batch, negatives) con (batch, negatives).

    Errores: ``TypeError`` o ``ValueError`` si los tamaños no son enteros positivos.
    Fuente: Mikolov et al. (2013).
    """

    @typed(validate=checks.module)
    def __init__(self, vocab: int, d_model: int) -> None:
        super().__init__()
        self.center, self.context = nn.Embedding(vocab, d_model), nn.Embedding(vocab, d_model)
        nn.init.uniform_(self.center.weight, -0.5 / d_model, 0.5 / d_model)
        nn.init.zeros_(self.context.weight)

    @typed(validate=checks.skipgram)
    def forward(
        self, center: Int[Tensor, " batch"], context: Int[Tensor, "batch ..."]
    ) -> Float[Tensor, "batch ..."]:
        """Puntúa cada vecina, (batch,) o (batch, negatives), de cada centro, (batch,).

        Errores: ``TypeError`` si no son enteros; ``ValueError`` si no casan o no están en el
        vocabulario.
        """
        return torch.einsum("bd,b...d->b...", self.center(center), self.context(context))


def skipgram_loss(model: nn.Module, batch: SkipGramBatch) -> Float[Tensor, ""]:
    """Lo que cuesta no distinguir a la vecina de verdad de las falsas, en nats por pareja.

    −log σ(v·u) − Σ log σ(−v·u′), de media en el lote: ``center`` (batch,), ``context`` (batch,) y
    ``noise`` (batch, negatives).

    Errores: los de :meth:`SkipGram.forward`.
    Fuente: Mikolov et al. (2013), ec. 4.
    """
    real, false = model(batch.center, batch.context), model(batch.center, batch.noise)
    return -(F.logsigmoid(real) + F.logsigmoid(-false).sum(dim=-1)).mean()


def skipgram_batches(
    corpus: Corpus,
    size: int,
    rng: torch.Generator,
    *,
    window: int = 5,
    negatives: int = 5,
    threshold: float | None = 1e-3,
) -> Iterator[SkipGramBatch]:
    """Lotes de ``size`` parejas con sus ``negatives`` vecinas falsas, sin fin.

    En cada vuelta al texto se sortea otra vez qué apariciones de las palabras frecuentes se quitan
    (:func:`keep_probability`; con ``threshold=None``, ninguna), hasta dónde llega la ventana de
    cada sitio (de 1 a ``window``), el orden de las parejas y las falsas
    (:func:`noise_distribution`). Una falsa puede coincidir por azar con la verdadera.

    Errores: ``TypeError`` o ``ValueError`` si ``corpus`` o ``rng`` no lo son, si los tamaños o el
    umbral no son positivos, o si el umbral no deja en pie ninguna pareja.
    """
    checks.skipgram_batches(corpus, size, rng, window, negatives, threshold)
    return _skipgram_batches(corpus, size, rng, window, negatives, threshold)


def _skipgram_batches(corpus, size, rng, window, negatives, threshold) -> Iterator[SkipGramBatch]:
    noise = noise_distribution(corpus.counts)
    while True:
        pairs = _epoch_pairs(corpus, window, threshold, rng)
        checks.require_some(pairs, threshold)
        pairs = pairs[torch.randperm(len(pairs), generator=rng)]
        for rows in pairs.split(size):
            false = torch.multinomial(noise, len(rows) * negatives, True, generator=rng)
            yield SkipGramBatch(rows[:, 0], rows[:, 1], false.reshape(len(rows), negatives))


def _epoch_pairs(
    corpus: Corpus, window: int, threshold: float | None, rng: torch.Generator
) -> Int[Tensor, "pairs 2"]:
    """Las parejas de una vuelta al texto: se aclara y se sortea el alcance de cada sitio."""
    kept = torch.ones_like(corpus.ids, dtype=torch.bool)
    if threshold is not None:
        keep = keep_probability(corpus.counts, threshold)[corpus.ids]
        kept = torch.rand(len(keep), generator=rng, dtype=torch.float64) < keep
    ids, sentence = corpus.ids[kept], corpus.sentence[kept]
    radius = torch.randint(1, window + 1, (len(ids),), generator=rng)
    return window_pairs.unchecked(ids, sentence, radius)


# --- GloVe ----------------------------------------------------------------------------------------


class GloVeBatch(NamedTuple):
    """Unas casillas de la matriz de recuentos.

    ``row`` (batch,), ``column`` (batch,), ``log_count`` (batch,) y ``weight`` (batch,).
    """

    row: Tensor
    column: Tensor
    log_count: Tensor
    weight: Tensor


class GloVe(nn.Module):
    """Dos vectores y dos sesgos por palabra, que suman el logaritmo de un recuento.

    No es una red: es una factorización. ``forward(row, column)`` devuelve la predicción, (batch,).

    Errores: ``TypeError`` o ``ValueError`` si los tamaños no son enteros positivos.
    Fuente: Pennington et al. (2014), ec. 7.
    """

    @typed(validate=checks.module)
    def __init__(self, vocab: int, d_model: int) -> None:
        super().__init__()
        self.center, self.context = nn.Embedding(vocab, d_model), nn.Embedding(vocab, d_model)
        self.center_bias, self.context_bias = nn.Embedding(vocab, 1), nn.Embedding(vocab, 1)
        for table in (self.center, self.context):
            nn.init.uniform_(table.weight, -0.5 / d_model, 0.5 / d_model)
        for table in (self.center_bias, self.context_bias):
            nn.init.zeros_(table.weight)

    @typed(validate=checks.glove)
    def forward(
        self, row: Int[Tensor, " batch"], column: Int[Tensor, " batch"]
    ) -> Float[Tensor, " batch"]:
        """Predice el logaritmo del recuento de cada casilla, (batch,).

        Errores: los de :meth:`SkipGram.forward`.
        """
        product = (self.center(row) * self.context(column)).sum(dim=-1)
        return product + self.center_bias(row)[:, 0] + self.context_bias(column)[:, 0]

    @property
    def vectors(self) -> Float[Tensor, "vocab d_model"]:
        """El vector de cada palabra, (vocab, d_model): la suma de los dos que tiene."""
        return (self.center.weight + self.context.weight).detach()


@typed(validate=checks.glove_weight)
def glove_weight(
    counts: Float[Tensor, "*any"], *, x_max: float = 100.0, power: float = 0.75
) -> Float[Tensor, "*any"]:
    """Cuánto importa una casilla: (recuento/``x_max``) elevado a ``power``, y 1 desde ``x_max``.

    ``counts`` tiene cualquier forma (…), y el resultado, la misma.

    Errores: ``TypeError`` si no es de coma flotante; ``ValueError`` si ``x_max`` o ``power`` no son
    positivos.
    Fuente: Pennington et al. (2014), ec. 9.
    """
    return (counts / x_max).clamp(max=1.0) ** power


def glove_loss(model: nn.Module, batch: GloVeBatch) -> Float[Tensor, ""]:
    """Error cuadrático del logaritmo, ponderado y de media en el lote de casillas (batch,).

    Errores: los de :meth:`GloVe.forward`.
    Fuente: Pennington et al. (2014), ec. 8.
    """
    error = model(batch.row, batch.column) - batch.log_count
    return (batch.weight * error**2).mean()


def glove_batches(
    counts: Float[Tensor, "vocab vocab"],
    size: int,
    rng: torch.Generator,
    *,
    x_max: float = 100.0,
    power: float = 0.75,
) -> Iterator[GloVeBatch]:
    """Lotes de ``size`` casillas no nulas de ``counts``, (vocab, vocab), barajadas, sin fin.

    Errores: ``TypeError`` o ``ValueError`` si ``counts`` no es una matriz cuadrada de recuentos con
    alguno positivo, ``rng`` no es un generador o los números no son positivos.
    """
    checks.glove_batches(counts, size, rng, x_max, power)
    return _glove_batches(counts, size, rng, x_max, power)


def _glove_batches(counts, size, rng, x_max, power) -> Iterator[GloVeBatch]:
    row, column = counts.nonzero(as_tuple=True)
    found = counts[row, column]
    logs, weight = found.log().float(), glove_weight(found, x_max=x_max, power=power).float()
    while True:
        for chosen in torch.randperm(len(row), generator=rng).split(size):
            yield GloVeBatch(row[chosen], column[chosen], logs[chosen], weight[chosen])


# --- El control: la matriz, sin entrenar ----------------------------------------------------------


@typed(validate=checks.ppmi)
def ppmi(
    counts: Float[Tensor, "vocab vocab"], *, shift: float = 1.0, power: float = 1.0
) -> Float[Tensor, "vocab vocab"]:
    """La información mutua puntual positiva, máx(0, log p(a, b)/(p(a)·p(b)) − log ``shift``).

    ``counts`` y el resultado miden (vocab, vocab). Con ``shift`` igual al número de vecinas falsas
    y ``power`` (de p(b)) igual al del sorteo, 0.75, es la matriz que skip-gram factoriza en el
    óptimo, recortada en 0.

    Errores: ``TypeError`` o ``ValueError`` si ``counts`` no es una matriz cuadrada de recuentos o
    ``shift`` y ``power`` no son positivos.
    Fuente: Levy y Goldberg (2014), ec. 7, 11 y 12.
    """
    rows, columns = counts.sum(dim=1), counts.sum(dim=0) ** power
    independent = rows[:, None] * (columns / columns.sum())
    ratio = torch.where(counts > 0, counts / independent, 0.0)
    return (ratio.log() - math.log(shift)).clamp(min=0.0)


@typed(validate=checks.svd_vectors)
def svd_vectors(
    matrix: Float[Tensor, "vocab vocab"], d_model: int, *, power: float = 0.5
) -> Float[Tensor, "vocab d_model"]:
    """Los ``d_model`` primeros vectores singulares de ``matrix`` (vocab, vocab), por σ^``power``.

    Devuelve (vocab, d_model). Es un método con azar y semilla fija: dos llamadas dan lo mismo.

    Errores: ``TypeError`` o ``ValueError`` si ``matrix`` no es cuadrada, ``d_model`` no cabe en
    ella o ``power`` es negativo.
    Fuente: Levy y Goldberg (2014), § 3.3; el método, Halko et al. (2011).
    """
    from sklearn.utils.extmath import randomized_svd

    left, values, _ = randomized_svd(matrix.numpy(), d_model, n_iter=7, random_state=0)
    return torch.from_numpy(left * values**power)


# --- Mirarlos -------------------------------------------------------------------------------------


class WordVectors:
    """Palabras con su vector: se comparan por el coseno.

    ``words``: las palabras. ``vectors``: (vocab, d_model), en el mismo orden.

    Errores: ``TypeError`` o ``ValueError`` si ``vectors`` no es de coma flotante, no hay uno por
    palabra, alguno es nulo o no es finito, o una palabra se repite.
    """

    def __init__(self, words: Sequence[str], vectors: Float[Tensor, "vocab d_model"]) -> None:
        checks.vectors(words, vectors)
        self.words, self.vectors = tuple(words), vectors.detach()
        self.units = F.normalize(self.vectors, dim=-1)
        self._ids = {word: i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self._ids

    def __getitem__(self, word: str) -> Float[Tensor, " d_model"]:
        return self.vectors[checks.require_known(word, self._ids, name="word")]

    def similarity(self, a: str, b: str) -> float:
        """El coseno de los vectores de dos palabras.

        Errores: ``ValueError`` si alguna no está.
        """
        i, j = (checks.require_known(w, self._ids, name=n) for w, n in ((a, "a"), (b, "b")))
        return float(self.units[i] @ self.units[j])

    def neighbours(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """Las ``k`` palabras de mayor coseno con ``word``, sin ella, de mayor a menor.

        Errores: ``ValueError`` si ``word`` no está o ``k`` no es un entero positivo.
        """
        i = checks.require_known(word, self._ids, name="word")
        return self._best(self.units[i], k, {i})

    def analogy(
        self, a: str, b: str, c: str, k: int = 5, *, exclude_inputs: bool = True
    ) -> list[tuple[str, float]]:
        """«a es a b como c es a…»: las ``k`` palabras más cercanas a b − a + c.

        Los tres vectores se toman de norma 1. Con ``exclude_inputs=False`` las tres palabras dadas
        pueden ser la respuesta, y suelen serlo.

        Errores: ``ValueError`` si alguna palabra no está o ``k`` no es un entero positivo.
        Fuente: Mikolov, Yih y Zweig (2013); sobre quitar las dadas, Linzen (2016).
        """
        given = {"a": a, "b": b, "c": c}
        i, j, m = (checks.require_known(word, self._ids, name=n) for n, word in given.items())
        target = F.normalize(self.units[j] - self.units[i] + self.units[m], dim=-1)
        return self._best(target, k, {i, j, m} if exclude_inputs else set())

    def analogy_rates(self, questions: Iterable[Sequence[str]]) -> dict[str, float]:
        """Qué parte de las analogías (a, b, c, d) se acierta, y cuánto debe a las reglas del juego.

        - ``excluding``: aciertos si las tres palabras dadas no pueden ser la respuesta;
        - ``including``: si pueden;
        - ``returns_input``: veces en que, pudiendo, la respuesta es una de las tres;
        - ``neighbour``: el control; aciertos de quien contesta la vecina más cercana de c, sin
          mirar a ni b (y sin poder decirlas);
        - ``n`` y ``unknown``: preguntas hechas, y las que no porque falta alguna palabra.

        Errores: ``TypeError`` o ``ValueError`` si las preguntas no son de cuatro palabras o no se
        puede hacer ninguna.
        Fuente: Linzen (2016) y Nissim et al. (2020).
        """
        asked = checks.require_questions(questions)
        known = [[self._ids[w] for w in row] for row in asked if all(w in self for w in row)]
        checks.require_known_questions(known, asked)
        given, answer = torch.tensor(known).split([3, 1], dim=1)
        a, b, c = self.units[given].unbind(1)
        free = (b - a + c) @ self.units.T
        barred = _bar(free, given).argmax(-1, keepdim=True)
        near = _bar(c @ self.units.T, given).argmax(-1, keepdim=True)
        first = free.argmax(-1, keepdim=True)
        return {
            "excluding": _rate(barred == answer),
            "including": _rate(first == answer),
            "returns_input": _rate((first == given).any(-1)),
            "neighbour": _rate(near == answer),
            "n": len(known),
            "unknown": len(asked) - len(known),
        }

    def _best(self, target: Tensor, k: int, barred: set[int]) -> list[tuple[str, float]]:
        checks.require_size(k, name="k")
        cosines = self.units @ target
        order = cosines.argsort(descending=True, stable=True).tolist()
        chosen = [i for i in order if i not in barred][:k]
        return [(self.words[i], float(cosines[i])) for i in chosen]


def questions_from(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str, str, str]]:
    """Todas las analogías (a, b, c, d) entre parejas distintas que guardan la misma relación.

    Errores: ``TypeError`` si no son parejas de palabras.
    """
    rows = checks.require_pairs(pairs)
    return [(*first, *second) for first in rows for second in rows if first != second]


def _bar(scores: Tensor, given: Tensor) -> Float[Tensor, "questions vocab"]:
    """Las puntuaciones, con −∞ en las palabras dadas."""
    return scores.scatter(1, given, float("-inf"))


def _rate(hits: Bool[Tensor, "*any"]) -> float:
    return float(hits.double().mean())
