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
# # Capítulo 24. Por qué funciona (y qué no se sabe): soluciones

# %%
import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

# %% [markdown]
# ## 24.1 Una media con núcleo
#
# Una clave vista tres veces son tres claves iguales: su núcleo se cuenta tres veces. El núcleo
# desborda con puntuaciones de mil, así que se resta la mayor, que se va al dividir. Ha de ser la
# mayor de las que cuentan: si fuese otra mucho más grande, todas las demás se quedarían en cero.


# %%
def kernel_average(
    query: Float[Tensor, " d_k"],
    keys: Float[Tensor, "key d_k"],
    values: Float[Tensor, "key d_v"],
    counts: Float[Tensor, " key"],
    *,
    beta: float = 1.0,
) -> Float[Tensor, " d_v"]:
    """La media de Nadaraya–Watson de los valores, con el núcleo exponencial y claves repetidas."""
    scores = beta * (keys @ query)
    top = scores[counts > 0].max()
    kernel = counts * (scores - top).clamp(max=0).exp()
    return kernel @ values / kernel.sum()


# %% [markdown]
# ## 24.2 La entropía y la temperatura
#
# Con temperatura 1 los pesos son 4, 2, 1 y 1 octavos: −log₂ da 1, 2, 3 y 3 bits, y su media pesada
# es la entropía. Con temperatura ½ las puntuaciones se doblan: 16, 4, 1 y 1. Hacia cero solo quedan
# las que empatan en lo más alto, a partes iguales; hacia infinito, todas.


# %%
def entropy_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""

    def weights(sizes: list[int], temperature: float = 1.0) -> list[float]:
        powers = [size ** (1 / temperature) for size in sizes]
        return [p / sum(powers) for p in powers]

    def bits(weights: list[float]) -> float:
        return -sum(w * math.log2(w) for w in weights)

    sizes = [4, 2, 1, 1]
    return {
        "bits": bits(weights(sizes)),
        "choices": 2 ** bits(weights(sizes)),
        "cold": weights(sizes, 0.5)[0],
        "frozen": math.log2([4, 4, 4, 1].count(4)),
        "hot": math.log2(len(sizes)),
    }


# %% [markdown]
# ## 24.3 Teorema, medida o analogía
#
# La primera es un teorema. Si la salida de la capa es la media pesada de los estados, sin más
# matrices, no sale de lo que abarcan, y por eso no hay dos medias más separadas que los dos estados
# más separados. Doscientas pruebas no lo desmienten. La segunda quita esa hipótesis y es falsa: con
# una matriz de valores sorteada aparece enseguida un contraejemplo. La tercera es una medida: dice
# lo que se ha visto en veinte frases, con una matriz. A la cuarta no se le puede buscar ni siquiera
# un contraejemplo.


# %%
def kinds_of_claim() -> str:
    """La respuesta: se busca un contraejemplo de lo que se puede contar."""
    rng = torch.Generator().manual_seed(0)

    def farthest(x: Tensor) -> float:
        return torch.cdist(x, x).max().item()

    grows = {"valores iguales": False, "otros valores": False}
    for _ in range(200):
        weights = (2 * torch.randn(5, 5, generator=rng)).softmax(dim=-1)
        x, matrix = torch.randn(5, 3, generator=rng), torch.randn(3, 3, generator=rng)
        for name, values in (("valores iguales", x), ("otros valores", x @ matrix)):
            grows[name] |= farthest(weights @ values) > farthest(x) * (1 + 1e-5)
    said = ["falsa" if broken else "teorema" for broken in grows.values()]
    seen = "medida"  # veinte frases y una matriz: se ha visto, y de las demás no se sabe
    return ", ".join([*said, seen, "analogía"])  # de la cuarta no hay nada que contar


# %% [markdown]
# ## 24.4 La energía de Hopfield y su gradiente
#
# El logaritmo de la suma de exponenciales se calcula sin desbordar, y su gradiente es la media de
# los patrones con los pesos de la softmax. Lo que se resta en el gradiente es una atención: el
# estado menos el gradiente es la actualización. Los dos últimos términos no dependen del estado, y
# hacen que la energía nunca sea negativa.


# %%
def hopfield_energy(
    states: Float[Tensor, "n d"], patterns: Float[Tensor, "m d"], *, beta: float
) -> tuple[Float[Tensor, " n"], Float[Tensor, "n d"]]:
    """La energía de cada estado y su gradiente respecto al estado."""
    scores = beta * (states @ patterns.T)  # (n, m)
    attraction = scores.logsumexp(dim=-1) / beta
    largest = patterns.square().sum(dim=-1).max()
    floor = math.log(len(patterns)) / beta
    energy = states.square().sum(dim=-1) / 2 - attraction + floor + largest / 2
    return energy, states - scores.softmax(dim=-1) @ patterns


# %% [markdown]
# ## 24.5 Hasta que no se mueve
#
# Se da un paso con los que siguen andando, se apunta, y se paran los que se han movido menos que la
# tolerancia. El paso pequeño también se da y también cuenta.


# %%
def settle(
    states: Float[Tensor, "n d"],
    patterns: Float[Tensor, "m d"],
    *,
    beta: float,
    tolerance: float = 1e-3,
    most: int = 100,
) -> tuple[Float[Tensor, "n d"], Int[Tensor, " n"]]:
    """Dónde se para cada estado y cuántos pasos ha dado."""
    states = states.clone()
    steps = torch.zeros(len(states), dtype=torch.long)
    moving = torch.ones(len(states), dtype=torch.bool)
    for _ in range(most):
        weights = (beta * (states @ patterns.T)).softmax(dim=-1)
        target = weights @ patterns
        moved = (target - states).abs().amax(dim=-1)
        states[moving] = target[moving]
        steps[moving] += 1
        moving = moving & (moved >= tolerance)
        if not moving.any():
            break
    return states, steps


# %% [markdown]
# ## 24.6 Lo que queda fuera de la media
#
# La parte común a todas las filas es la media de las filas, repetida. Lo demás es lo que distingue
# unas posiciones de otras. Se divide entre el tamaño que tienen los estados **a esa altura**: si
# no, una matriz que lo multiplica todo por diez escondería el colapso.


# %%
def outside_mean(
    x: Float[Tensor, "n d_model"],
    maps: Float[Tensor, "layer n n"],
    weights: Float[Tensor, "layer d_model d_model"],
    *,
    skip: bool = False,
) -> Float[Tensor, " depth"]:
    """Qué parte del tamaño de los estados queda fuera de su media, a cada altura."""
    states = [x]
    for mix, weight in zip(maps, weights, strict=True):
        new = mix @ states[-1] @ weight
        states.append(states[-1] + new if skip else new)
    stack = torch.stack(states)  # (depth, n, d_model)
    rest = stack - stack.mean(dim=1, keepdim=True)
    return rest.norm(dim=(1, 2)) / stack.norm(dim=(1, 2))


# %% [markdown]
# ## 24.7 Lo que deja pasar un mapa
#
# La transformada de Fourier de una fila del mapa da, de una vez, lo que esa consulta recibe del
# coseno (parte real) y del seno (parte imaginaria) de cada frecuencia. Los cuadrados se suman sobre
# las consultas y se dividen entre n, que es lo que suman los de la onda. La ganancia de dos pasos
# no es el cuadrado de la de uno: el primero convierte la onda en una mezcla de ondas.


# %%
def frequency_gains(
    maps: Float[Tensor, "head n n"], *, times: int = 1
) -> Float[Tensor, "head frequency"]:
    """Qué parte de cada onda queda tras aplicar el mapa ``times`` veces."""
    power = torch.linalg.matrix_power(maps, times)
    seen = torch.fft.rfft(power, dim=-1)  # (head, query, frequency)
    return (seen.abs().square().sum(dim=1) / maps.shape[-1]).sqrt()


# %% [markdown]
# ## 24.8 A la larga, ¿dónde?
#
# Un reparto que no cambia es un autovector izquierdo de valor 1, y la función que no cambia al dar
# un paso, uno derecho. Hay tantos de unos como de otros: uno por cada grupo de posiciones del que
# no se sale. Los derechos dicen con qué probabilidad se acaba en cada grupo, y los izquierdos, cómo
# se reparte el tiempo dentro. Los da la SVD de A − I, que los devuelve en cualquier base; el
# producto de en medio los empareja. Una potencia grande no sirve: si se va por turnos, no se para.
# La media de los repartos sí se para, pero muy despacio: su error se divide entre diez cuando se
# dan diez veces más pasos, y se piden ocho cifras decimales.


# %%
def long_run(
    weights: Float[Tensor, "n n"], start: Float[Tensor, " n"]
) -> tuple[Float[Tensor, " n"], int]:
    """Qué parte del tiempo pasa el camino en cada posición, y cuántos repartos no cambian."""
    step = weights - torch.eye(len(weights), dtype=weights.dtype)
    left, sizes, right = torch.linalg.svd(step)
    still = sizes < 1e-9
    left, right = left[:, still], right[still].T  # (n, k)
    paired = torch.linalg.solve(left.T @ right, left.T)  # (k, n)
    return start @ right @ paired, int(still.sum())
