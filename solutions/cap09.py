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
# # Capítulo 9. Posiciones relativas y longitud: soluciones

# %%
import math

import torch
from jaxtyping import Float, Int, Real
from torch import Tensor

# %% [markdown]
# ## 9.1 ALiBi, con el futuro tapado
#
# Las consultas son los últimos sitios: sin sumar `n_key - n_query` se contarían desde el primero.
# La distancia se multiplica antes de tapar; un cero por infinito daría NaN.


# %%
def alibi_bias(n_query: int, n_key: int, n_heads: int) -> Float[Tensor, "head query key"]:
    """El sesgo de cada cabeza, con −∞ en las claves posteriores."""
    head = torch.arange(1, n_heads + 1)
    slope = 2.0 ** (-8 * head / n_heads)
    query = torch.arange(n_key - n_query, n_key)
    distance = query[:, None] - torch.arange(n_key)  # (query, key)
    bias = -slope[:, None, None] * distance
    return bias.masked_fill(distance < 0, -math.inf)


# %% [markdown]
# ## 9.2 Girar a mano
#
# Con 30 grados por sitio, la consulta gira 90: (2, 1) pasa a (−1, 2). La clave gira 30. Solo cuenta
# la diferencia, 60 grados: al adelantar las dos no cambia nada, y al intercambiar los sitios cambia
# el sentido de ese giro.


# %%
def turned_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""

    def turned(x: float, y: float, place: int) -> tuple[float, float]:
        angle = math.radians(30 * place)
        return x * math.cos(angle) - y * math.sin(angle), x * math.sin(angle) + y * math.cos(angle)

    def score(query_place: int, key_place: int) -> float:
        q, k = turned(2, 1, query_place), turned(1, 2, key_place)
        return q[0] * k[0] + q[1] * k[1]

    return {
        "first": turned(2, 1, 3)[0],
        "score": score(3, 1),
        "shifted": score(10, 8),
        "swapped": score(1, 3),
    }


# %% [markdown]
# ## 9.3 La función central
#
# Las dos disposiciones hacen la misma cuenta; solo cambia qué componentes forman pareja. Si cada
# ejemplo tiene sus sitios, al ángulo le falta el eje de las cabezas.


# %%
def apply_rope(
    x: Float[Tensor, "batch head n d_head"],
    positions: Real[Tensor, "... n"],
    base: float = 10000.0,
    layout: str = "interleaved",
) -> Float[Tensor, "batch head n d_head"]:
    """Gira cada pareja de componentes un ángulo proporcional a su sitio."""
    d = x.shape[-1]
    speed = base ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    angle = positions[..., None] * speed  # (…, n, d/2)
    if angle.ndim == 3:
        angle = angle[:, None]  # (batch, 1, n, d/2)
    cos, sin = angle.cos(), angle.sin()
    if layout == "half":
        a, b = x[..., : d // 2], x[..., d // 2 :]
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


# %% [markdown]
# ## 9.4 ¿Y si giran también los valores?
#
# Los pesos salen de las puntuaciones, que solo ven distancias. Pero la salida es una media de
# valores girados, y al adelantar los sitios gira con ellos.


# %%
def values_turned_too() -> str:
    """La respuesta, calculada con cinco palabras al azar."""
    query, key, value = torch.randn(3, 1, 1, 5, 4, generator=torch.Generator().manual_seed(0))

    def head(places: Tensor) -> tuple[Tensor, Tensor]:
        q, k, v = (apply_rope(x, places) for x in (query, key, value))
        weights = (q @ k.mT / 2).softmax(dim=-1)
        return weights, weights @ v

    before, after = head(torch.arange(5)), head(torch.arange(5) + 7)
    changed = [not torch.allclose(a, b, atol=1e-4) for a, b in zip(before, after, strict=True)]
    names = {(False, False): "nada", (True, False): "los pesos", (False, True): "las salidas"}
    return names.get(tuple(changed), "los pesos y las salidas")


# %% [markdown]
# ## 9.5 Los cubos de T5
#
# El logaritmo de 0 no hace falta: donde la distancia es corta se elige la otra rama, y basta con
# que lo que se calcula en balde no sea NaN.


# %%
def t5_bucket(
    relative: Int[Tensor, "..."], n_buckets: int = 32, max_distance: int = 128
) -> Int[Tensor, "..."]:
    """El cubo de cada distancia clave − consulta, con la mitad para las claves posteriores."""
    side = n_buckets // 2
    exact = side // 2  # estas distancias tienen cubo propio
    distance = relative.abs()
    far = distance.clamp(min=exact).double() / exact
    coarse = exact + (far.log() / math.log(max_distance / exact) * (side - exact)).long()
    bucket = torch.where(distance < exact, distance, coarse.clamp(max=side - 1))
    return bucket + side * (relative > 0)


# %% [markdown]
# ## 9.6 Shaw, con sus dos tablas
#
# Cada pareja de palabras tiene su fila en las dos tablas, la misma. Los pesos que mezclan los
# valores mezclan también sus vectores de distancia.


# %%
def shaw_attention(
    query: Float[Tensor, "... n d"],
    key: Float[Tensor, "... n d"],
    value: Float[Tensor, "... n d_v"],
    key_table: Float[Tensor, "rows d"],
    value_table: Float[Tensor, "rows d_v"],
) -> Float[Tensor, "... n d_v"]:
    """La atención con un vector por distancia sumado a cada clave y otro a cada valor."""
    n, reach = query.shape[-2], key_table.shape[0] // 2
    place = torch.arange(n)
    row = (place - place[:, None]).clamp(-reach, reach) + reach  # (n, n): clave − consulta
    by_content = query @ key.mT
    by_distance = torch.einsum("...id,ijd->...ij", query, key_table[row])
    weights = ((by_content + by_distance) / math.sqrt(query.shape[-1])).softmax(dim=-1)
    return weights @ value + torch.einsum("...ij,ijv->...iv", weights, value_table[row])


# %% [markdown]
# ## 9.7 Alargar solo si hace falta
#
# Al interpolar, el último sitio cae antes de `trained`. Con la base mayor, la última pareja se
# frena lo mismo y la primera no se entera. Si la frase cabe, no se toca nada.


# %%
def stretched_angles(
    n: int, d_head: int, trained: int, method: str, base: float = 10000.0
) -> Float[Tensor, "n pair"]:
    """Los ángulos de los sitios 0, …, n − 1, alargados si n pasa de ``trained``."""
    factor = max(1.0, n / trained)
    places = torch.arange(n, dtype=torch.float64)
    if method == "interpolation":
        places = places / factor
    else:
        base = base * factor ** (d_head / (d_head - 2))
    speed = base ** (-torch.arange(0, d_head, 2, dtype=torch.float64) / d_head)
    return places[:, None] * speed


# %% [markdown]
# ## 9.8 Un RoPE averiado
#
# Las tres faltas: la consulta se giraba como si estuviera al principio de la frase; las claves
# guardadas, que ya estaban giradas, se giraban otra vez; y a las claves se les reordenaban las
# componentes, de mitades a parejas, cuando ya venían en parejas como las de la consulta.


# %%
def decode_scores(
    query: Float[Tensor, "batch head n d"],
    key: Float[Tensor, "batch head n d"],
    cached_key: Float[Tensor, "batch head past d"],
    base: float = 10000.0,
) -> Float[Tensor, "batch head n keys"]:
    """Las puntuaciones de las palabras nuevas con las guardadas y con ellas mismas."""
    past, n, d = cached_key.shape[-2], key.shape[-2], key.shape[-1]
    speed = base ** (-torch.arange(0, d, 2, dtype=key.dtype) / d)
    angle = torch.arange(past + n, dtype=key.dtype)[:, None] * speed  # (past + n, d / 2)
    query = _turn(query, angle[past:])
    key = _turn(key, angle[past:])
    keys = torch.cat([cached_key, key], dim=-2)
    return query @ keys.mT / math.sqrt(d)


def _turn(x: Tensor, angle: Tensor) -> Tensor:
    """Gira las parejas contiguas: cada una es un número complejo."""
    numbers = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(numbers * torch.polar(torch.ones_like(angle), angle)).flatten(-2)


# %% [markdown]
# ## 9.9 Mudar una caché
#
# Dos giros seguidos suman sus ángulos, así que girar otra vez cada clave según `offset` la deja
# donde habría quedado. No hace falta saber dónde estaba.


# %%
def move_cache(
    key: Float[Tensor, "batch head n d_head"],
    offset: Real[Tensor, " batch"],
    base: float = 10000.0,
    rotary_dim: int | None = None,
) -> Float[Tensor, "batch head n d_head"]:
    """Las claves ya giradas, como si todos sus sitios fueran ``offset`` más."""
    width = key.shape[-1] if rotary_dim is None else rotary_dim
    speed = base ** (-torch.arange(0, width, 2, dtype=key.dtype) / width)
    angle = (offset[:, None] * speed)[:, None, None]  # (batch, 1, 1, d/2)
    cos, sin = angle.cos(), angle.sin()
    a, b = key[..., 0:width:2], key[..., 1:width:2]
    moved = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
    return torch.cat([moved, key[..., width:]], dim=-1)
