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
# # Capítulo 10. El bloque
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 10` (o `atento calificar
# 10.2`).

# %%
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

# %% [markdown]
# ## 10.1 El gradiente, camino a camino (★)
#
# Ejercicio 10.1: cambia cada `None` por tu número, con dos decimales.

# %%
gradient_by_hand = {
    "plain": None,  # derivada sin conexiones residuales
    "stream": None,  # derivada con ellas
    "one": None,  # lo que aportan los caminos que atraviesan una sola subcapa
    "two": None,  # lo que aportan los que atraviesan exactamente dos
}

# %% [markdown]
# ## 10.2 Normalizar a mano (★)
#
# Ejercicio 10.2: cambia cada `None` por tu número, con dos decimales.

# %%
norm_by_hand = {
    "layer": None,  # primera componente, normalización de capa
    "eps": None,  # última componente, normalización de capa con ε = 16
    "rms": None,  # primera componente, RMSNorm
    "shifted": None,  # primera componente, RMSNorm de x − 4
}

# %% [markdown]
# ## 10.3 Diez veces más fuerte (★)
#
# Ejercicio 10.3: «lo mismo», «diez veces más», «diez veces menos» o «cien veces menos».

# %%
scaled_gradient = None

# %% [markdown]
# ## 10.4 El bloque, entero (★)


# %%
class Block(nn.Module):
    """Bloque del codificador, con la norma antes, después o en lo que se añade.

    Enunciado: ejercicio 10.4 del capítulo.
    """

    def __init__(self, d_model: int, n_heads: int, d_ff: int, norm: str = "pre") -> None:
        super().__init__()
        raise NotImplementedError("Ejercicio 10.4")

    def forward(
        self, x: Float[Tensor, "batch n d_model"], mask: Bool[Tensor, "n n"] | None = None
    ) -> Float[Tensor, "batch n d_model"]:
        """Autoatención y red densa, cada una con su suma."""
        raise NotImplementedError("Ejercicio 10.4")


# %% [markdown]
# ## 10.5 Contar un bloque


# %%
def block_parameters(
    d_model: int,
    n_heads: int,
    d_ff: int,
    *,
    n_kv_heads: int | None = None,
    gated: bool = False,
    bias: bool = True,
    rms: bool = False,
) -> tuple[int, int, int]:
    """Parámetros de la atención, de la red densa y de las normas.

    Enunciado: ejercicio 10.5 del capítulo.
    """
    raise NotImplementedError("Ejercicio 10.5")


# %% [markdown]
# ## 10.6 RMSNorm con una parte


# %%
def partial_rms_norm(
    x: Float[Tensor, "*batch d"], weight: Float[Tensor, " d"], k: int, eps: float = 1e-6
) -> Float[Tensor, "*batch d"]:
    """RMSNorm con la media cuadrática de las ``k`` primeras componentes.

    Enunciado: ejercicio 10.6 del capítulo.
    """
    raise NotImplementedError("Ejercicio 10.6")


# %% [markdown]
# ## 10.7 El gradiente de la normalización de capa


# %%
def layer_norm_backward(
    x: Float[Tensor, "*batch d"],
    weight: Float[Tensor, " d"],
    grad_output: Float[Tensor, "*batch d"],
    eps: float = 1e-5,
) -> tuple[Float[Tensor, "*batch d"], Float[Tensor, " d"], Float[Tensor, " d"]]:
    """Los gradientes respecto a la entrada, la escala y el desplazamiento.

    Enunciado: ejercicio 10.7 del capítulo.
    """
    raise NotImplementedError("Ejercicio 10.7")


# %% [markdown]
# ## 10.8 Una red densa con puerta


# %%
class GatedFeedForward(nn.Module):
    """Red densa SwiGLU sin sesgos, con las capas ``expand``, ``gate`` y ``contract``.

    Enunciado: ejercicio 10.8 del capítulo.
    """

    def __init__(self, d_model: int, d_ff: int, multiple_of: int = 4) -> None:
        super().__init__()
        raise NotImplementedError("Ejercicio 10.8")

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Transforma cada posición."""
        raise NotImplementedError("Ejercicio 10.8")


# %% [markdown]
# ## 10.9 Un bloque averiado
#
# Al borrar el `raise`, el código de abajo se ejecuta sin avisos, y tiene tres faltas.


# %%
class BrokenBlock(nn.Module):
    """Bloque Pre-LN con el dropout a la vista.

    Enunciado: ejercicio 10.9 del capítulo.
    """

    def __init__(self, d_model: int, d_ff: int, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.scale = nn.Parameter(torch.ones(2, d_model))
        self.shift = nn.Parameter(torch.zeros(2, d_model))
        self.mix = nn.Linear(d_model, d_model, bias=False)
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)

    def normalize(self, x: Float[Tensor, "batch n d"], which: int) -> Float[Tensor, "batch n d"]:
        """Normalización de capa con la escala y el desplazamiento ``which``."""
        raise NotImplementedError(
            "Ejercicio 10.9: borra esta línea y arregla las tres faltas de la clase"
        )
        deviation = x - x.mean(dim=-1, keepdim=True)
        variance = x.var(dim=-1, keepdim=True)
        return self.scale[which] * deviation / torch.sqrt(variance + 1e-5) + self.shift[which]

    def drop(
        self, x: Float[Tensor, "batch n d"], kept: Bool[Tensor, "batch n d"]
    ) -> Float[Tensor, "batch n d"]:
        """Dropout: pone a 0 lo que ``kept`` no guarda, y lo demás lo agranda para compensar."""
        return x * kept / (1 - self.rate)

    def forward(
        self, x: Float[Tensor, "batch n d"], kept: Bool[Tensor, "2 batch n d"]
    ) -> Float[Tensor, "batch n d"]:
        """Media causal y red densa."""
        count = torch.arange(1, x.shape[1] + 1)[:, None]  # cuántas posiciones se promedian
        x = self.normalize(x, 0)
        x = x + self.drop(self.mix(x.cumsum(dim=1) / count), kept[0])
        y = self.normalize(x, 1)
        hidden = F.relu(self.expand(y))
        return self.drop(x + self.contract(hidden), kept[1])


# %% [markdown]
# ## 10.10 Fundir la norma


# %%
def fold_norm(
    gamma: Float[Tensor, " d"],
    beta: Float[Tensor, " d"],
    weight: Float[Tensor, "m d"],
    bias: Float[Tensor, " m"],
) -> tuple[Float[Tensor, "m d"], Float[Tensor, " m"]]:
    """La matriz y el sesgo que leen el flujo dividido entre su desviación típica.

    Enunciado: ejercicio 10.10 del capítulo.
    """
    raise NotImplementedError("Ejercicio 10.10")


# %% [markdown]
# ## 10.11 Cuánto llega por los caminos de cada longitud


# %%
def gradient_by_length(
    jacobians: Float[Tensor, "N d d"], gradient: Float[Tensor, " d"]
) -> Float[Tensor, "N+1 d"]:
    """El gradiente de la entrada, repartido por cuántas subcapas atraviesa cada camino.

    Enunciado: ejercicio 10.11 del capítulo.
    """
    raise NotImplementedError("Ejercicio 10.11")
