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
# # Capítulo 10. El bloque: soluciones

# %%
import itertools
import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

# %% [markdown]
# ## 10.1 El gradiente, camino a camino
#
# Sin residuales las derivadas se multiplican: $0.5 \cdot (-0.4) \cdot 0.2 = -0.04$. Con ellas, cada
# factor es $1 + w$ y salen $1.5 \cdot 0.6 \cdot 1.2 = 1.08$. Al deshacer ese producto aparece un
# sumando por camino: 1 por el directo, $0.3$ por los que atraviesan una subcapa, $-0.18$ por los
# de dos y $-0.04$ por el de las tres.


# %%
def gradient_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""
    slopes = (0.5, -0.4, 0.2)

    def crossing(k):
        return sum(math.prod(chosen) for chosen in itertools.combinations(slopes, k))

    return {
        "plain": math.prod(slopes),
        "stream": math.prod(1 + slope for slope in slopes),
        "one": crossing(1),
        "two": crossing(2),
    }


# %% [markdown]
# ## 10.2 Normalizar a mano
#
# La media es 4 y las diferencias son $(-5, 1, 1, 3)$: la varianza es $36/4 = 9$. De ahí, $-5/3$.
# Con $\varepsilon = 16$ se divide entre $\sqrt{9 + 16} = 5$ y la última da $3/5$. La media de los
# cuadrados es $100/4 = 25$, y RMSNorm da $-1/5$. Si se resta la media antes, RMSNorm y la
# normalización de capa hacen lo mismo: otra vez $-5/3$.


# %%
def norm_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""
    x = (-1.0, 5.0, 5.0, 7.0)
    mean = sum(x) / len(x)
    variance = sum((value - mean) ** 2 for value in x) / len(x)
    mean_square = sum(value**2 for value in x) / len(x)
    return {
        "layer": (x[0] - mean) / math.sqrt(variance),
        "eps": (x[-1] - mean) / math.sqrt(variance + 16),
        "rms": x[0] / math.sqrt(mean_square),
        "shifted": (x[0] - 4) / math.sqrt(mean_square - 16),
    }


# %% [markdown]
# ## 10.3 Diez veces más fuerte
#
# Si $g(x) = f(\mathrm{LN}(x))$ cumple $g(10x) = g(x)$ para todo $x$, al derivar los dos lados sale
# $10 \, J_g(10x) = J_g(x)$. Cuanto más fuerte va el flujo, menos cambia una subcapa cuando el flujo
# cambia un poco.


# %%
def scaled_gradient() -> str:
    """La respuesta, medida con una capa lineal."""
    x = torch.tensor([0.3, -1.2, 0.5, 2.0], dtype=torch.float64)
    w = torch.linspace(-1, 1, 16, dtype=torch.float64).reshape(4, 4)

    def added(y):
        return F.layer_norm(y, (4,), eps=0.0) @ w

    sizes = [torch.autograd.functional.jacobian(added, scale * x).norm() for scale in (1, 10)]
    names = {0: "lo mismo", 1: "diez veces más", -1: "diez veces menos", -2: "cien veces menos"}
    return names[round(math.log10(sizes[1] / sizes[0]))]


# %% [markdown]
# ## 10.4 El bloque, entero
#
# Con `pre` se normaliza lo que lee cada subcapa y se suma al flujo sin tocar; con `inside`, lo que
# añade; con `post`, la suma. La segunda subcapa parte de lo que dejó la primera. En
# ``nn.MultiheadAttention``, ``True`` tapa: la máscara se da la vuelta.


# %%
class Block(nn.Module):
    """Bloque del codificador, con la norma antes, después o en lo que se añade."""

    def __init__(self, d_model: int, n_heads: int, d_ff: int, norm: str = "pre") -> None:
        super().__init__()
        self.place = norm
        self.attention = nn.MultiheadAttention(d_model, n_heads, batch_first=True)
        self.norm_attention = nn.LayerNorm(d_model)
        self.norm_feed_forward = nn.LayerNorm(d_model)
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)

    def _attend(self, x: Tensor, mask: Tensor | None) -> Tensor:
        hidden = None if mask is None else ~mask
        return self.attention(x, x, x, attn_mask=hidden, need_weights=False)[0]

    def _transform(self, x: Tensor) -> Tensor:
        return self.contract(F.relu(self.expand(x)))

    def _add(self, x: Tensor, norm: nn.Module, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.place == "pre":
            return x + sublayer(norm(x))
        if self.place == "inside":
            return x + norm(sublayer(x))
        return norm(x + sublayer(x))

    def forward(
        self, x: Float[Tensor, "batch n d_model"], mask: Bool[Tensor, "n n"] | None = None
    ) -> Float[Tensor, "batch n d_model"]:
        """Autoatención y red densa, cada una con su suma."""
        x = self._add(x, self.norm_attention, lambda y: self._attend(y, mask))
        return self._add(x, self.norm_feed_forward, self._transform)


# %% [markdown]
# ## 10.5 Contar un bloque
#
# La atención tiene dos matrices $d \times d$ (consulta y salida) y dos $d \times d_{kv}$ (clave y
# valor), donde $d_{kv}$ es el ancho de las cabezas que quedan. La red densa tiene dos matrices
# $d \times d_{\mathrm{ff}}$, o tres con puerta. Y hay dos normas: cada una con $d$ escalas y, si no
# es RMSNorm, $d$ desplazamientos.


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
    """Parámetros de la atención, de la red densa y de las normas."""
    d_kv = d_model if n_kv_heads is None else d_model // n_heads * n_kv_heads
    inner = 2 if gated else 1  # matrices que llevan a d_ff
    attention = 2 * d_model * d_model + 2 * d_model * d_kv
    feed_forward = (inner + 1) * d_model * d_ff
    if bias:
        attention += 2 * d_model + 2 * d_kv
        feed_forward += inner * d_ff + d_model
    return attention, feed_forward, 2 * d_model * (1 if rms else 2)


# %% [markdown]
# ## 10.6 RMSNorm con una parte
#
# La media cuadrática sale de las ``k`` primeras componentes; se dividen todas. ``eps`` va dentro de
# la raíz.


# %%
def partial_rms_norm(
    x: Float[Tensor, "*batch d"], weight: Float[Tensor, " d"], k: int, eps: float = 1e-6
) -> Float[Tensor, "*batch d"]:
    """RMSNorm con la media cuadrática de las ``k`` primeras componentes."""
    mean_square = x[..., :k].square().mean(dim=-1, keepdim=True)  # (…, 1)
    return weight * x / torch.sqrt(mean_square + eps)


# %% [markdown]
# ## 10.7 El gradiente de la normalización de capa
#
# Con $s = \sqrt{\sigma^2 + \varepsilon}$, $\hat x = (x - \mu)/s$ y $h = \gamma \odot g$, derivar da
# $(h - \bar h - \hat x \, \overline{h \odot \hat x}) / s$: se le quita a $h$ su media, porque mover
# todas las componentes a la vez no cambia nada, y su parte en la dirección de $\hat x$, porque
# alargar el vector tampoco (salvo por $\varepsilon$). La fórmula es exacta también con
# $\varepsilon$.


# %%
def layer_norm_backward(
    x: Float[Tensor, "*batch d"],
    weight: Float[Tensor, " d"],
    grad_output: Float[Tensor, "*batch d"],
    eps: float = 1e-5,
) -> tuple[Float[Tensor, "*batch d"], Float[Tensor, " d"], Float[Tensor, " d"]]:
    """Los gradientes respecto a la entrada, la escala y el desplazamiento."""
    deviation = x - x.mean(dim=-1, keepdim=True)
    std = torch.sqrt(deviation.square().mean(dim=-1, keepdim=True) + eps)  # (…, 1)
    normed = deviation / std
    inner = grad_output * weight
    radial = normed * (inner * normed).mean(dim=-1, keepdim=True)
    grad_x = (inner - inner.mean(dim=-1, keepdim=True) - radial) / std
    rows = (-1, x.shape[-1])  # todas las posiciones del lote, una detrás de otra
    grad_weight = (grad_output * normed).reshape(rows).sum(dim=0)
    return grad_x, grad_weight, grad_output.reshape(rows).sum(dim=0)


# %% [markdown]
# ## 10.8 Una red densa con puerta
#
# El ancho es el menor múltiplo que llega a $2d_{\mathrm{ff}}/3$: tres matrices de dos tercios
# cuestan lo mismo que dos enteras. Se calcula con enteros para que no haya redondeos. SiLU va en
# ``expand``; la puerta entra tal cual.


# %%
class GatedFeedForward(nn.Module):
    """Red densa SwiGLU sin sesgos, del mismo coste que una sin puerta de ancho ``d_ff``."""

    def __init__(self, d_model: int, d_ff: int, multiple_of: int = 4) -> None:
        super().__init__()
        hidden = multiple_of * -(-2 * d_ff // (3 * multiple_of))
        self.expand = nn.Linear(d_model, hidden, bias=False)
        self.gate = nn.Linear(d_model, hidden, bias=False)
        self.contract = nn.Linear(hidden, d_model, bias=False)

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """Transforma cada posición."""
        return self.contract(F.silu(self.expand(x)) * self.gate(x))


# %% [markdown]
# ## 10.9 Un bloque averiado
#
# Las tres faltas: la varianza dividía entre $d - 1$; la primera suma partía del vector normalizado
# y no del flujo; y el segundo dropout caía sobre la suma, con lo que borraba también lo que ya
# estaba en el flujo.


# %%
class BrokenBlock(nn.Module):
    """Bloque Pre-LN con el dropout a la vista."""

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
        deviation = x - x.mean(dim=-1, keepdim=True)
        variance = x.var(dim=-1, keepdim=True, correction=0)
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
        y = self.normalize(x, 0)
        x = x + self.drop(self.mix(y.cumsum(dim=1) / count), kept[0])
        y = self.normalize(x, 1)
        hidden = F.relu(self.expand(y))
        return x + self.drop(self.contract(hidden), kept[1])


# %% [markdown]
# ## 10.10 Fundir la norma
#
# $\gamma$ multiplica las columnas de la matriz y $\beta$ pasa por ella hasta el sesgo. Restar la
# media es multiplicar por $I - \mathbf 1 \mathbf 1^\T / d$: a cada fila de la matriz, ya escalada,
# se le resta su media.


# %%
def fold_norm(
    gamma: Float[Tensor, " d"],
    beta: Float[Tensor, " d"],
    weight: Float[Tensor, "m d"],
    bias: Float[Tensor, " m"],
) -> tuple[Float[Tensor, "m d"], Float[Tensor, " m"]]:
    """La matriz y el sesgo que leen el flujo dividido entre su desviación típica."""
    scaled = weight * gamma  # (m, d)
    folded = scaled - scaled.mean(dim=1, keepdim=True)
    return folded, bias + weight @ beta


# %% [markdown]
# ## 10.11 Cuánto llega por los caminos de cada longitud
#
# Hay $2^N$ caminos, pero basta con guardar una suma por longitud. Al bajar por una subcapa, lo que
# llega por $k$ subcapas es lo que ya venía por $k$ más lo que venía por $k - 1$ y la atraviesa. Se
# recorre de la última a la primera, con el gradiente a la izquierda de cada jacobiana.


# %%
def gradient_by_length(
    jacobians: Float[Tensor, "N d d"], gradient: Float[Tensor, " d"]
) -> Float[Tensor, "N+1 d"]:
    """El gradiente de la entrada, repartido por cuántas subcapas atraviesa cada camino."""
    depth = len(jacobians)
    parts = gradient.new_zeros(depth + 1, len(gradient))
    parts[0] = gradient
    for jacobian in jacobians.flip(0):
        crossed = parts[:-1] @ jacobian  # cada camino, con una subcapa más
        parts = torch.cat([parts[:1], parts[1:] + crossed])
    return parts
