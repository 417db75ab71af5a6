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
# # Capítulo 5. Consulta, clave y valor: soluciones

# %%
import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

# %% [markdown]
# ## 5.1 Sin espejo
#
# La diagonal se tapa con −∞ **antes** de la softmax, para que el resto de la fila vuelva a sumar 1.
# Ponerla a cero después deja filas que suman menos, y ponerla a cero antes no tapa nada: $e^0 = 1$.


# %%
def no_mirror_attention(
    x: Float[Tensor, "*batch n d_model"],
    w_similarity: Float[Tensor, "d_model d_similarity"],
    w_content: Float[Tensor, "d_model d_content"],
) -> Float[Tensor, "*batch n d_content"]:
    """Autoatención con dos proyecciones en la que nadie se mira a sí mismo."""
    similar = x @ w_similarity  # proyectar: (…, n, d_similarity)
    content = x @ w_content  # proyectar: (…, n, d_content)
    scores = (
        similar @ similar.transpose(-2, -1) / math.sqrt(w_similarity.shape[-1])
    )  # puntuar y escalar: (…, n, n)
    mirror = torch.eye(x.shape[-2], dtype=torch.bool, device=x.device)
    weights = scores.masked_fill(mirror, float("-inf")).softmax(dim=-1)  # enmascarar y normalizar
    return weights @ content  # promediar: (…, n, d_content)


# %% [markdown]
# ## 5.2 El sujeto, a mano
#
# «corre» es verbo, (1, 0), y singular, −(0, 2): su consulta es (1, −2). La de «perro», que no es
# verbo, es (0, −2).


# %%
def subject_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""

    def dot(q, k):
        return q[0] * k[0] + q[1] * k[1]

    verb = (1, -2)  # consulta de «corre»
    dog = (1, -1)  # claves
    girls = (1, 1)
    subject, the = dot(verb, dog), dot(verb, (0, -1))
    return {
        "subject": subject,
        "other": dot(verb, girls),
        "back": dot((0, -2), (0, -1)),
        "times": math.exp(subject - the),
    }


# %% [markdown]
# ## 5.3 Formas sin ejecutar
#
# Las consultas tienen tantas filas como `x`; las claves y los valores, tantas como la otra
# secuencia. `d_k` es la anchura que comparten consulta y clave, y desaparece al puntuar; `d_v` es
# la de la salida.


# %%
def attention_shapes(
    n_query: int, n_key: int, d_model: int, d_k: int, d_v: int
) -> tuple[tuple[int, int], ...]:
    """Formas de W_Q, W_K, W_V, Q, K, V, las puntuaciones y la salida, en ese orden."""
    projections = (d_model, d_k), (d_model, d_k), (d_model, d_v)
    projected = (n_query, d_k), (n_key, d_k), (n_key, d_v)
    return *projections, *projected, (n_query, n_key), (n_query, d_v)


# %% [markdown]
# ## 5.4 Una cabeza entera
#
# La única diferencia entre autoatención y atención cruzada es de dónde salen las claves y los
# valores.


# %%
class AttentionHead(nn.Module):
    """Una cabeza con tres capas lineales, ``query``, ``key`` y ``value``, con sesgo si se pide."""

    def __init__(self, d_model: int, d_k: int, d_v: int, bias: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=bias)
        self.key = nn.Linear(d_model, d_k, bias=bias)
        self.value = nn.Linear(d_model, d_v, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "*batch n d_model"],
        context: Float[Tensor, "*batch m d_model"] | None = None,
    ) -> Float[Tensor, "*batch n d_v"]:
        """Atención de ``x`` a ``context``, o a sí misma si no se da."""
        asked = x if context is None else context
        scores = (
            self.query(x) @ self.key(asked).transpose(-2, -1) / math.sqrt(self.key.out_features)
        )  # (…, n, m)
        return scores.softmax(dim=-1) @ self.value(asked)


# %% [markdown]
# ## 5.5 El sentido contrario
#
# La fila nueva de «niñas» es su columna de antes, en la que puntuaba 6 con «corren». El sujeto
# busca ahora a su verbo.


# %%
def swapped_look() -> str:
    """La respuesta, calculada con la frase."""
    words = ["las", "niñas", "que", "vio", "el", "perro", "corren"]
    noun, verb = torch.tensor([0, 1, 0, 0, 0, 1, 0]), torch.tensor([0, 0, 0, 1, 0, 0, 1])
    number = torch.tensor([1, 1, 0, -1, -1, -1, 1])
    query = torch.stack([4 * verb, 2 * number], dim=1)
    key = torch.stack([noun, number], dim=1)
    return words[int((key @ query.T)[1].argmax())]


# %% [markdown]
# ## 5.6 Una cabeza escrita a mano
#
# La consulta copia la mesa y traduce la jugada a la que gana: la fila `p` lleva `bonus` en la
# columna `beats[p]`.
# La clave copia mesa y jugada tal cual. Poner la traducción en la clave en lugar de en la consulta
# invierte el juego.


# %%
def program_head(
    bits: int, beats: list[int], colours: int, bonus: float = 2.0
) -> tuple[
    Float[Tensor, "d_model d_k"], Float[Tensor, "d_model d_k"], Float[Tensor, "d_model colours"]
]:
    """W_Q, W_K y W_V (float64) que resuelven el juego en el que la jugada p gana a ``beats[p]``."""
    plays = len(beats)
    width, d_model = bits + plays, bits + plays + colours
    w_key = torch.eye(d_model, dtype=torch.float64)[:, :width]  # copia mesa y jugada
    w_query = w_key.clone()
    w_query[bits:width, bits:] = 0.0
    for play, beaten in enumerate(beats):
        w_query[bits + play, bits + beaten] = bonus  # busca a quien gana
    w_value = torch.eye(d_model, dtype=torch.float64)[:, width:]  # copia el color
    return w_query, w_key, w_value


# %% [markdown]
# ## 5.7 Las tres proyecciones en una
#
# `split` corta por tamaños, que siguen el orden pedido. Con `context`, la misma capa se aplica a
# las dos secuencias y de cada una se aprovecha una parte.


# %%
class FusedSelfAttention(nn.Module):
    """Una cabeza con una sola capa lineal, ``project``, que da consulta, clave y valor pegados."""

    def __init__(self, d_model: int, d_k: int, d_v: int, order: str = "qkv") -> None:
        super().__init__()
        self.order = order
        self.widths = {"q": d_k, "k": d_k, "v": d_v}
        self.project = nn.Linear(d_model, 2 * d_k + d_v, bias=False)

    def _parts(self, x: Tensor) -> dict[str, Tensor]:
        pieces = self.project(x).split([self.widths[name] for name in self.order], dim=-1)
        return dict(zip(self.order, pieces, strict=True))

    def forward(
        self,
        x: Float[Tensor, "*batch n d_model"],
        context: Float[Tensor, "*batch m d_model"] | None = None,
    ) -> Float[Tensor, "*batch n d_v"]:
        """Atención de ``x`` a ``context``, o a sí misma si no se da."""
        asked = self._parts(x if context is None else context)
        query = self._parts(x)["q"]
        scores = query @ asked["k"].transpose(-2, -1) / math.sqrt(self.widths["k"])
        return scores.softmax(dim=-1) @ asked["v"]


# %% [markdown]
# ## 5.8 Una atención cruzada averiada
#
# Los tres errores: escalaba con `d_model` en lugar de con `d_k`; la softmax recorría las consultas,
# porque las puntuaciones estaban traspuestas, y las columnas de claves no sumaban 1; y `.T` solo
# vale para matrices sin lote.


# %%
def broken_cross_attention(x, z, w_query, w_key, w_value):
    query = x @ w_query
    key = z @ w_key
    value = z @ w_value
    scores = key @ query.T / math.sqrt(x.shape[-1])
    weights = scores.softmax(dim=-1)
    return weights.T @ value


# %%
def cross_attention(
    x: Float[Tensor, "*batch n d_model"],
    z: Float[Tensor, "*batch m d_model"],
    w_query: Float[Tensor, "d_model d_k"],
    w_key: Float[Tensor, "d_model d_k"],
    w_value: Float[Tensor, "d_model d_v"],
) -> Float[Tensor, "*batch n d_v"]:
    """Atención cruzada: consultas de ``x``; claves y valores de ``z``."""
    query, key, value = x @ w_query, z @ w_key, z @ w_value
    scores = query @ key.transpose(-2, -1) / math.sqrt(w_key.shape[-1])  # (…, n, m)
    return scores.softmax(dim=-1) @ value


# %% [markdown]
# ## 5.9 Detector de dirección
#
# Los denominadores de la softmax se cancelan al cerrar el ciclo, así que el flujo depende solo de
# la parte antisimétrica de las puntuaciones. Sin cerrarlo, no.


# %%
def cycle_flow(weights: Float[Tensor, "n n"], cycle: list[int]) -> float:
    """Suma de ln a(i_t, i_{t+1}) menos suma de ln a(i_{t+1}, i_t) a lo largo del ciclo cerrado."""
    here = torch.tensor(cycle)
    after = here.roll(-1)
    return (weights[here, after].log() - weights[after, here].log()).sum().item()


# %% [markdown]
# ## 5.10 La anchura necesaria
#
# Por el teorema de Eckart y Young, el error de la mejor aproximación de rango r es la raíz de la
# suma de los cuadrados de los valores singulares que quedan fuera.


# %%
def smallest_width(scores: Float[Tensor, "n m"], tolerance: float) -> int:
    """Menor d_k con el que Q Kᵀ se acerca a ``scores`` hasta un error relativo ``tolerance``."""
    energy = torch.linalg.svdvals(scores) ** 2
    left_out = energy.flip(0).cumsum(0).flip(0)  # left_out[r]: lo que falta con rango r
    return int((left_out > tolerance**2 * energy.sum()).sum())


# %% [markdown]
# ## 5.11 Comprimir una cabeza
#
# $W^Q (W^K)^\mathsf{T} = Q_1 (R_1 R_2^\mathsf{T}) Q_2^\mathsf{T}$, y basta la SVD de la matriz
# pequeña
# $R_1 R_2^\mathsf{T} = U \Sigma V^\mathsf{T}$. Repartir $\sqrt\Sigma$ a cada lado las equilibra.


# %%
def compress_head(
    w_query: Float[Tensor, "d_model d_k"], w_key: Float[Tensor, "d_model d_k"], width: int
) -> tuple[Float[Tensor, "d_model width"], Float[Tensor, "d_model width"]]:
    """Dos proyecciones de ``width`` columnas, equilibradas, con el circuito QK más parecido
    posible.
    """
    basis_q, small_q = torch.linalg.qr(w_query)
    basis_k, small_k = torch.linalg.qr(w_key)
    left, sizes, right = torch.linalg.svd(small_q @ small_k.T)
    root = sizes[:width].sqrt()
    return basis_q @ left[:, :width] * root, basis_k @ right[:width].T * root
