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
# # Capítulo 6. Varias cabezas: soluciones

# %%
import math

import torch
from jaxtyping import Bool, Float
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn

# %% [markdown]
# ## 6.1 Una fila, varias palabras
#
# De un contenido con peso $\alpha$ se lee $\alpha^2$ entre la suma de los cuadrados. Con $3/4$ y
# $1/4$ son $9/10$ y
# $1/10$; con tres tercios, $1/3$ cada uno. Cinco contenidos enteros suman 5, y el techo es el
# número de cabezas.


# %%
def kept_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""

    def kept(row, j):
        return row[j] ** 2 / sum(weight**2 for weight in row)

    pair, thirds = (3 / 4, 1 / 4), (1 / 3, 1 / 3, 1 / 3)
    return {"large": kept(pair, 0), "small": kept(pair, 1), "third": kept(thirds, 0), "heads": 5}


# %% [markdown]
# ## 6.2 La hoja equivocada
#
# Antes de la última fila de la segunda hoja hay 13 filas de dos números: 26. Cada palabra ocupa
# seis, así que son el
# tercero y el cuarto de la palabra de índice 4: «el».


# %%
def mixed_word() -> str:
    """La respuesta, calculada."""
    words = ["las", "niñas", "que", "vio", "el", "perro", "corren"]
    before = (2 * 7 - 1) * 2  # dos hojas de siete filas de dos, menos la última
    return words[before // 6]


# %% [markdown]
# ## 6.3 Contar sin ejecutar
#
# Cuatro matrices $d \times d$ y cuatro sesgos. Las cuatro proyecciones cuestan $4nd^2$; puntuar y
# promediar, $n^2 d$ cada
# uno, entre todas las cabezas. Solo las celdas dependen de $h$.


# %%
def layer_cost(n: int, d_model: int, n_heads: int) -> tuple[int, int, int]:
    """Parámetros, multiplicaciones y celdas de los mapas."""
    d_head = d_model // n_heads
    parameters = 4 * (d_model * d_model + d_model)
    per_head = 2 * n * n * d_head  # puntuar y promediar
    return parameters, 4 * n * d_model * d_model + n_heads * per_head, n_heads * n * n


# %% [markdown]
# ## 6.4 La función central
#
# Proyectar, repartir (partir las columnas y adelantar las cabezas), los pasos de siempre y unir. La
# máscara ``(n, m)`` se
# difunde sobre lote y cabezas.


# %%
def multi_head_attention(
    x: Float[Tensor, "*batch n d"],
    z: Float[Tensor, "*batch m d"],
    w_query: Float[Tensor, "d d"],
    w_key: Float[Tensor, "d d"],
    w_value: Float[Tensor, "d d"],
    w_output: Float[Tensor, "d d"],
    n_heads: int,
    mask: Bool[Tensor, "n m"] | None = None,
) -> Float[Tensor, "*batch n d"]:
    """Atención multicabeza de ``x`` sobre ``z``."""
    query, key, value = (  # proyectar y repartir en cabezas: (…, head, n, d_head)
        (y @ w).unflatten(-1, (n_heads, -1)).transpose(-2, -3)
        for y, w in ((x, w_query), (z, w_key), (z, w_value))
    )
    scores = (
        query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    )  # puntuar y escalar: (…, head, n, m)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))  # enmascarar
    mixed = scores.softmax(dim=-1) @ value  # normalizar y promediar: (…, head, n, d_head)
    return mixed.transpose(-2, -3).flatten(-2) @ w_output  # unir: (…, n, d)


# %% [markdown]
# ## 6.5 Cuánto se lee de cada palabra
#
# Es la diagonal de la proyección sobre el espacio de las filas. Con $A = U\Sigma V^\T$, ese espacio
# lo generan las filas de
# $V^\T$ cuyo valor singular no es cero; contarlas es lo que se olvida cuando una fila se repite.


# %%
def recovered(weights: Float[Tensor, "h m"]) -> Float[Tensor, " m"]:
    """R² de cada contenido."""
    _, sizes, rows = torch.linalg.svd(weights, full_matrices=False)
    basis = rows[sizes > 1e-9 * sizes[0]]  # (rango, m), ortonormales
    return basis.square().sum(dim=0)


# %% [markdown]
# ## 6.6 Cuántas cabezas hacen falta
#
# El techo vale consulta a consulta: cada una necesita tantas cabezas como contenidos pide, y todas
# comparten las cabezas
# de la capa porque cada cabeza tiene una fila por consulta. Hacen falta, y bastan, las de la
# consulta que más pide.


# %%
def heads_needed(targets: list[list[int]]) -> int:
    """El menor número de cabezas con el que todas las consultas leen lo que piden."""
    return max(1, max(len(wanted) for wanted in targets))


# %% [markdown]
# ## 6.7 Una clase averiada
#
# Las tres faltas: la vista que no adelanta las cabezas, la escala con ``d_model`` y la unión sin
# deshacer el reparto.


# %%
class BrokenHeads(nn.Module):
    """Atención multicabeza sin sesgos."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, d_model, bias=False)
        self.key = nn.Linear(d_model, d_model, bias=False)
        self.value = nn.Linear(d_model, d_model, bias=False)
        self.output = nn.Linear(d_model, d_model, bias=False)

    def split(self, y: Float[Tensor, "*batch n d_model"]) -> Float[Tensor, "*batch head n d_head"]:
        """Reparte las columnas entre las cabezas."""
        parts = y.unflatten(-1, (self.n_heads, -1))
        return parts.transpose(-2, -3)

    def forward(self, x: Float[Tensor, "*batch n d_model"]) -> Float[Tensor, "*batch n d_model"]:
        """Autoatención."""
        query, key, value = (
            self.split(self.query(x)),
            self.split(self.key(x)),
            self.split(self.value(x)),
        )
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        mixed = scores.softmax(dim=-1) @ value
        return self.output(mixed.transpose(-2, -3).reshape(x.shape))


# %% [markdown]
# ## 6.8 Podar de verdad
#
# La capa es una suma de cabezas: se quedan las columnas de las tres primeras matrices y las filas
# de la última que les
# tocan, en el mismo orden en las cuatro.


# %%
def prune_heads(
    w_query: Float[Tensor, "d d"],
    w_key: Float[Tensor, "d d"],
    w_value: Float[Tensor, "d d"],
    w_output: Float[Tensor, "d d"],
    n_heads: int,
    keep: list[int],
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Las cuatro matrices con solo las cabezas de ``keep``."""
    d_head = w_query.shape[1] // n_heads
    columns = torch.cat([torch.arange(i * d_head, (i + 1) * d_head) for i in keep])
    return w_query[:, columns], w_key[:, columns], w_value[:, columns], w_output[columns]


# %% [markdown]
# ## 6.9 De muchas claves a pocas
#
# Las columnas se parten en grupo, cabeza del grupo y componente, y se promedia sobre el del medio.


# %%
def group_heads(w: Float[Tensor, "d d"], n_heads: int, n_kv_heads: int) -> Float[Tensor, "d d_kv"]:
    """La media de las cabezas de cada grupo."""
    parts = w.unflatten(1, (n_kv_heads, n_heads // n_kv_heads, -1))  # (d, grupo, cabeza, d_head)
    return parts.mean(dim=2).flatten(1)


# %% [markdown]
# ## 6.10 Emparejar cabezas de dos semillas
#
# Es un problema de asignación: una tabla de costes de todas con todas y el algoritmo húngaro. Tomar
# para cada cabeza su
# mejor pareja puede repetir.


# %%
def match_heads(first: Float[Tensor, "h n m"], second: Float[Tensor, "h n m"]) -> list[int]:
    """La permutación que empareja las cabezas con el menor coste."""
    gaps = torch.cdist(first.flatten(1), second.flatten(1)).square()  # (h, h)
    _, partner = linear_sum_assignment(gaps.numpy())
    return partner.tolist()
