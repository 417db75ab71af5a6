# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Capítulo 3. Traducir con redes recurrentes: soluciones

# %%
import math

import torch
from torch import Tensor

# %% [markdown]
# ## 3.1 Cinco palabras a mano
#
# Los exponentes 4, 3, 2, 1 y 0 suman 10. Con cuatro palabras suman 6; con cinco la probabilidad ya
# baja de un medio.


# %%
def chance_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""

    def chance(n: int) -> float:
        return 0.9 ** (n * (n - 1) / 2)

    n = 1
    while chance(n) >= 0.5:
        n += 1
    return {"five_words": chance(5), "longest": n - 1}


# %% [markdown]
# ## 3.2 Predecir qué frase falla primero
#
# La probabilidad es un producto de potencias: los exponentes se suman. `sorted` es estable y deja
# los empates por índice.


# %%
def first_failures(lengths: list[int], fidelity: float = 0.99, threshold: float = 0.5) -> list[int]:
    """Índices de las frases que salen bien con probabilidad menor que ``threshold``, de menos a más
    probable.
    """
    # Los exponentes 0, 1, …, n − 1 suman n(n − 1)/2.
    chance = [fidelity ** (n * (n - 1) / 2) for n in lengths]
    order = sorted(range(len(lengths)), key=lambda i: chance[i])
    return [i for i in order if chance[i] < threshold]


# %% [markdown]
# ## 3.3 Un paso de LSTM
#
# Las cuatro puertas salen de una sola suma, que se parte en cuatro. La memoria se multiplica por lo
# que se conserva y se le suma lo que entra; lo que se muestra es la memoria nueva, no la de antes.


# %%
def lstm_step(
    x: Tensor, h: Tensor, c: Tensor, w_x: Tensor, w_h: Tensor, b: Tensor
) -> tuple[Tensor, Tensor]:
    """Estado y memoria nuevos, ``(h, c)``, cada uno ``(batch, d_h)``.

    x ``(batch, d)``, h y c ``(batch, d_h)``; las cuatro puertas juntas, en el orden i, f, g, o: w_x
    ``(d, 4 * d_h)``, w_h ``(d_h, 4 * d_h)``, b ``(4 * d_h,)``.
    """
    i, f, g, o = (x @ w_x + h @ w_h + b).chunk(4, dim=-1)  # cada una, (batch, d_h)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


# %% [markdown]
# ## 3.4 Los pesos de una duda
#
# «La» suma (2, 2); «casa», (2, 1), y «blanca», (1, 2): las dos últimas puntúan igual y la consulta
# no las separa.


# %%
def weights_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""
    query, states = (1.0, 1.0), {"la": (1.0, 1.0), "casa": (1.0, 0.0), "blanca": (0.0, 1.0)}
    scores = {}
    for word, state in states.items():
        added = [q + k for q, k in zip(query, state, strict=True)]
        scores[word] = sum(-4.0 * math.tanh(a) for a in added)
    total = sum(math.exp(score) for score in scores.values())
    weights = {word: math.exp(score) / total for word, score in scores.items()}
    context = sum(weights[word] * states[word][0] for word in states)
    return {"la": weights["la"], "casa": weights["casa"], "context": context}


# %% [markdown]
# ## 3.5 Un paso del decodificador
#
# El contexto es la suma de los estados por sus pesos. Después, una celda simple con una entrada
# más.


# %%
def decoder_step(
    x: Tensor,
    h: Tensor,
    states: Tensor,
    weights: Tensor,
    cell: tuple[Tensor, Tensor, Tensor, Tensor],
) -> Tensor:
    """Estado nuevo, ``(batch, d_h)``, de un decodificador con atención y celda simple.

    x ``(batch, d)``, h ``(batch, d_h)``, states ``(batch, source, d_h)``, weights ``(batch,
    source)``, cell ``(w_x, w_c, w_h, b)``.
    """
    w_x, w_c, w_h, b = cell
    context = (weights[:, :, None] * states).sum(dim=1)  # (batch, d_h)
    return torch.tanh(x @ w_x + context @ w_c + h @ w_h + b)


# %% [markdown]
# ## 3.6 Atención aditiva con máscara
#
# La consulta necesita un eje de claves para sumarse a todas. La máscara va antes de la softmax: así
# lo tapado pesa 0 y lo demás suma 1.


# %%
def additive_attention(
    query: Tensor, keys: Tensor, w_q: Tensor, w_k: Tensor, v: Tensor, valid: Tensor
) -> Tensor:
    """Contexto de la atención aditiva: ``(batch, d_h)``, la media de ``keys`` con los pesos de cada
    fila.

    query ``(batch, d_q)``, keys ``(batch, key, d_h)``, w_q ``(d_q, d_a)``, w_k ``(d_h, d_a)``, v
    ``(d_a,)``, valid ``(batch, key)`` booleana.
    """
    hidden = torch.tanh((query @ w_q)[:, None] + keys @ w_k)  # (batch, key, d_a)
    scores = (hidden @ v).masked_fill(~valid, -math.inf)  # (batch, key)
    weights = scores.softmax(dim=-1)
    return (weights[:, None] @ keys)[:, 0]  # (batch, 1, key)(batch, key, d_h)


# %% [markdown]
# ## 3.7 Un error de relleno
#
# Las dos faltas: con `<=` entraba la primera posición de relleno, y se dividía entre la longitud
# del lote y no entre la de cada frase.


# %%
def mean_state(states: Tensor, lengths: Tensor) -> Tensor:
    """Media de los estados de las palabras, sin relleno: ``(batch, time, d)`` y ``(batch,)`` →
    ``(batch, d)``.
    """
    word = torch.arange(states.shape[1]) < lengths[:, None]  # (batch, time)
    total = (states * word[:, :, None]).sum(dim=1)
    return total / lengths[:, None]


# %% [markdown]
# ## 3.8 Leer un alineamiento
#
# Una columna no válida se tapa con un número menor que cualquier peso, antes de buscar el mayor de
# cada fila.


# %%
def inverted_pairs(weights: Tensor, valid: Tensor) -> list[int]:
    """Posiciones ``t`` en que ``t`` y ``t + 1`` miran a ``j + 1`` y ``j``: ``(target, source)``,
    ``(source,)`` → lista.
    """
    best = weights.masked_fill(~valid, -1.0).argmax(dim=-1).tolist()
    return [t for t in range(len(best) - 1) if best[t] == best[t + 1] + 1]


# %% [markdown]
# ## 3.9 Medir el gradiente a distancia
#
# La regla de la cadena, de atrás adelante: cada paso multiplica por la derivada de la tangente y
# por la matriz de estado.


# %%
def gradient_norms(inputs: Tensor, w_x: Tensor, w_h: Tensor, direction: Tensor) -> Tensor:
    """Norma del gradiente de ``h_T · direction`` respecto de cada entrada, de la última a la
    primera: ``(time,)``.

    inputs ``(time, d)``, w_x ``(d, d_h)``, w_h ``(d_h, d_h)``, direction ``(d_h,)``.
    """
    states = [inputs.new_zeros(w_h.shape[0])]
    for x in inputs:
        states.append(torch.tanh(x @ w_x + states[-1] @ w_h))
    norms, signal = [], direction  # signal: gradiente respecto del estado
    for h in reversed(states[1:]):
        before = signal * (1 - h.square())  # respecto de lo que entra en la tangente
        norms.append((w_x @ before).norm())
        signal = w_h @ before
    return torch.stack(norms)
