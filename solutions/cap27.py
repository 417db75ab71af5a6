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
# # Capítulo 27. Sociedad: soluciones

# %%
import itertools
import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# %% [markdown]
# ## 27.1 El tamaño de efecto
#
# Con los vectores de longitud 1, todos los cosenos son un producto de matrices. La media por filas
# da la asociación de cada palabra, y la desviación es la de todas juntas.


# %%
def association_effect(
    x: Float[Tensor, "n d_model"],
    y: Float[Tensor, "m d_model"],
    a: Float[Tensor, "p d_model"],
    b: Float[Tensor, "q d_model"],
) -> tuple[Float[Tensor, " words"], Float[Tensor, ""]]:
    """La asociación de cada palabra y el tamaño de efecto."""
    words = torch.cat([x, y])
    words, a, b = (v / v.norm(dim=-1, keepdim=True) for v in (words, a, b))
    s = (words @ a.mT).mean(-1) - (words @ b.mT).mean(-1)  # (n + m,)
    n = len(x)
    return s, (s[:n].mean() - s[n:].mean()) / s.std()


# %% [markdown]
# ## 27.2 Diez veces menos
#
# El numerador y el denominador se dividen entre diez: el cociente es el mismo.


# %%
def shrunk() -> str:
    """La respuesta."""
    return "no cambia"


# %% [markdown]
# ## 27.3 Exposiciones con lápiz
#
# 4096 es 2 elevado a 12. El primero tiene 12 bits, y el 32, 12 − 5. Con exposición 9 el puesto es 2
# elevado a 3. Exposición de 8 o más tienen los 16 primeros puestos, de 4096. Y la energía son horas
# por máquinas por kilovatios. La mayor, además, por 1.2.


# %%
def exposure_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""
    codes = 4096
    bits = math.log2(codes)
    return {
        "first": bits,
        "middle": bits - math.log2(32),
        "rank": 2 ** (bits - 9),
        "luck": 2 ** (bits - 8) / codes,
        "low": 5 * 4 * 200 / 1000,
        "high": 5 * 4 * 300 / 1000 * 1.2,
    }


# %% [markdown]
# ## 27.4 Todos los repartos
#
# Se juntan los dos grupos y se cuentan todas las maneras de elegir el primero. Si los grupos no son
# del mismo tamaño, comparar sumas no es comparar medias.


# %%
def exact_p(first: Float[Tensor, " n"], second: Float[Tensor, " m"]) -> tuple[float, float]:
    """La parte de los repartos que separa tanto, hacia ese lado y hacia cualquiera."""
    whole, n = torch.cat([first, second]), len(first)
    seen = (first.mean() - second.mean()).item()
    one = both = total = 0
    for chosen in itertools.combinations(range(len(whole)), n):
        mine = torch.zeros(len(whole), dtype=torch.bool)
        mine[list(chosen)] = True
        found = (whole[mine].mean() - whole[~mine].mean()).item()
        one += found >= seen - 1e-9
        both += abs(found) >= abs(seen) - 1e-9
        total += 1
    return one / total, both / total


# %% [markdown]
# ## 27.5 Las tasas de cada grupo
#
# Cada tasa tiene su denominador: todos, los que oyeron sí, los que lo merecían y los que no.


# %%
def group_rates(
    deserves: Bool[Tensor, " n"], said: Bool[Tensor, " n"], group: Int[Tensor, " n"]
) -> tuple[Float[Tensor, "group 4"], Float[Tensor, " 4"]]:
    """Elegidos, VPP, FN y FP de cada grupo, y la mayor diferencia de cada tasa; en float64."""
    rows = []
    for g in range(int(group.max()) + 1):
        good, yes = deserves[group == g], said[group == g]
        rows.append(
            [
                yes.double().mean(),
                good[yes].double().mean(),
                (~yes)[good].double().mean(),
                yes[~good].double().mean(),
            ]
        )
    rates = torch.tensor(rows, dtype=torch.float64)
    return rates, rates.amax(0) - rates.amin(0)


# %% [markdown]
# ## 27.6 Quitar la dirección de unas parejas
#
# Una pareja puede venir en un orden o en el otro, y la media de las diferencias se anularía. El
# primer vector singular no mira el signo. Al quitar la dirección las filas se acortan, y después se
# dejan de longitud 1.


# %%
def remove_direction(
    x: Float[Tensor, "n d_model"],
    left: Float[Tensor, "pair d_model"],
    right: Float[Tensor, "pair d_model"],
) -> Float[Tensor, "n d_model"]:
    """Las filas, sin la dirección de las parejas y de longitud 1."""
    unit = torch.linalg.svd(left - right, full_matrices=False).Vh[0]  # (d_model,)
    rest = x - (x @ unit)[:, None] * unit
    return rest / rest.norm(dim=-1, keepdim=True)


# %% [markdown]
# ## 27.7 Casi repetidos
#
# Dos textos se parecen si comparten bastantes n-gramas. Como lo parecido se encadena, se buscan los
# grupos: cada texto apunta al primero de los suyos, y al juntar dos grupos gana el menor.


# %%
def near_duplicates(texts: list[list[int]], n: int, threshold: float) -> list[int]:
    """Los índices que quedan: el primero de cada grupo de casi repetidos."""
    grams = [{tuple(t[i : i + n]) for i in range(max(len(t) - n, 0) + 1)} for t in texts]
    group = list(range(len(texts)))
    for i, j in itertools.combinations(range(len(texts)), 2):
        shared = len(grams[i] & grams[j]) / len(grams[i] | grams[j])
        if shared >= threshold - 1e-9:
            low, high = sorted((group[i], group[j]))
            group = [low if g == high else g for g in group]
    return sorted(set(group))
