"""El retículo de una palabra: todas las maneras de cortarla a la vez, por programación dinámica.

Los nodos son los huecos entre caracteres, de 0 a n, y cada arista es una pieza que va de un hueco a
otro. Cortar la palabra es ir del primero al último; la log-probabilidad de un corte es la suma de
las de sus piezas. Hay hasta 2ⁿ⁻¹ cortes, pero basta una pasada por los huecos.

Se hacen a la vez todas las palabras de la misma longitud: ``edges[w, i, k]`` es la log-probabilidad
de la pieza que empieza en ``i`` y mide ``k + 1`` (−∞ si no hay tal pieza).
"""

import numpy as np
from numpy import ndarray

_NONE = -np.inf


def forward(edges: ndarray) -> ndarray:
    """``alpha[w, j]``: logaritmo de la suma de las probabilidades de los caminos de 0 a ``j``.

    ``edges`` es ``(word, start, length)``; devuelve ``(word, n + 1)``. La última columna es la
    log-verosimilitud de cada palabra.

    Fuente: Rabiner (1989), ec. 18–21, con piezas de varios caracteres.
    """
    n_words, n, longest = edges.shape
    alpha = np.full((n_words, n + 1), _NONE)
    alpha[:, 0] = 0.0
    for j in range(1, n + 1):
        starts = np.arange(max(0, j - longest), j)
        alpha[:, j] = logsumexp(alpha[:, starts] + edges[:, starts, j - starts - 1])
    return alpha


def backward(edges: ndarray) -> ndarray:
    """``beta[w, i]``: logaritmo de la suma de las probabilidades de los caminos de ``i`` al final.

    ``edges`` es ``(word, start, length)``; devuelve ``(word, n + 1)``.

    Fuente: Rabiner (1989), ec. 23–25.
    """
    n_words, n, longest = edges.shape
    beta = np.full((n_words, n + 1), _NONE)
    beta[:, n] = 0.0
    for i in range(n - 1, -1, -1):
        ends = np.arange(i + 1, min(i + longest, n) + 1)
        beta[:, i] = logsumexp(edges[:, i, ends - i - 1] + beta[:, ends])
    return beta


def posteriors(edges: ndarray) -> tuple[ndarray, ndarray]:
    """Probabilidad de que el corte pase por cada arista, y log-verosimilitud de cada palabra.

    ``edges`` es ``(word, start, length)``; devuelve ``(word, start, length)`` y ``(word,)``. Las
    probabilidades de las aristas que cubren un carácter suman 1.

    Fuente: Rabiner (1989), ec. 37.
    """
    n_words, n, longest = edges.shape
    alpha, beta = forward(edges), backward(edges)
    total = alpha[:, -1]
    ends = np.minimum(np.arange(n)[:, None] + np.arange(1, longest + 1), n)
    paths = alpha[:, :n, None] + edges + beta[:, ends]
    return np.exp(paths - total[:, None, None]), total


def viterbi(edges: ndarray) -> ndarray:
    """Log-probabilidad del mejor corte de cada palabra.

    Es :func:`forward` con el máximo en lugar de la suma. ``edges`` es ``(word, start, length)``;
    devuelve ``(word,)``.

    Fuente: Viterbi (1967).
    """
    n_words, n, longest = edges.shape
    best = np.full((n_words, n + 1), _NONE)
    best[:, 0] = 0.0
    for j in range(1, n + 1):
        starts = np.arange(max(0, j - longest), j)
        best[:, j] = (best[:, starts] + edges[:, starts, j - starts - 1]).max(axis=1)
    return best[:, -1]


def logsumexp(x: ndarray) -> ndarray:
    """``log Σ exp`` de cada fila, sin desbordar; −∞ si toda la fila lo es."""
    top = x.max(axis=1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(x - top).sum(axis=1)) + top[:, 0]
