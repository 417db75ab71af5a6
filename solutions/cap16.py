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
# # Capítulo 16. Decodificadores: GPT: soluciones

# %%
import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

# %% [markdown]
# ## 16.1 Un texto, dos tokenizadores
#
# Las cuatro probabilidades son potencias de un medio, que cuestan 1, 2, 3 y 2 bits: 8 en total, 2
# por token y $8/12$ por carácter. La perplejidad es $2^2$. El otro modelo paga $\log_2 2.83 = 1.5$
# bits por token, menos que 2, pero son seis tokens: 9 bits por el mismo texto, un modelo peor.


# %%
def bits_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""
    probs, characters = (1 / 2, 1 / 4, 1 / 8, 1 / 4), 12
    bits = -sum(math.log2(p) for p in probs)
    return {
        "bits": bits,
        "nats": bits * math.log(2) / len(probs),
        "perplexity": 2 ** (bits / len(probs)),
        "bpc": bits / characters,
        "other": 6 * math.log2(2.83) / characters,
    }


# %% [markdown]
# ## 16.2 La pérdida de un modelo de lenguaje
#
# En el sitio $t$ se puntúa el token $t + 1$: la última columna de puntuaciones y el primer token no
# tienen pareja. Lo que decide si un sitio cuenta es su **etiqueta**. El último token de verdad de
# una frase corta tiene relleno por etiqueta, y no cuenta.


# %%
def next_token_loss(
    logits: Float[Tensor, "batch n vocab"], ids: Int[Tensor, "batch n"], pad_id: int | None = None
) -> Float[Tensor, ""]:
    """Los nats por token de predecir cada token con lo anterior, sin contar el relleno."""
    log_p = logits[:, :-1].log_softmax(dim=-1)
    labels = ids[:, 1:]
    right = log_p.gather(-1, labels[..., None])[..., 0]  # (batch, n − 1)
    if pad_id is None:
        return -right.mean()
    counted = labels != pad_id
    return -right[counted].mean()


# %% [markdown]
# ## 16.3 Sin máscara
#
# Sin máscara, cada posición ve la de su derecha, que es justo lo que se le pide: basta copiarla. La
# pérdida de entrenar baja casi a cero sin aprender nada de la lengua. Al escribir, a la derecha de
# la última no hay nada que copiar. Aquí se cuenta con un modelo que copia y, donde no puede, dice
# cualquier cosa, contra otro que sabe la regla de la lengua, que da dos seguidores a cada token.


# %%
def without_mask() -> str:
    """La respuesta, comparando lo que paga quien copia con lo que paga quien sabe la lengua."""
    n, vocab = 128, 1000
    copies, knows = math.log(vocab) / n, math.log(2)  # solo la última posición no puede copiar
    writes_copying, writes_knowing = 2 / vocab, 1.0  # con qué probabilidad escribe algo que vale
    if copies >= knows:
        return "no cambia" if copies == knows else "sube"
    better = writes_copying > writes_knowing
    return "baja y escribe mejor" if better else "baja y escribe peor"


# %% [markdown]
# ## 16.4 Kneser-Ney de dos en dos
#
# Lo que se quita a una fila es el descuento por cuántas continuaciones distintas tiene, y con eso
# se reparte lo que falta para 1. El reparto no mira cuántas veces sale un símbolo, mira detrás de
# cuántos. Hay un motivo: así, la media de las filas, pesada por lo que sale cada una, devuelve la
# frecuencia de cada símbolo en el texto. Con las frecuencias en el reparto no pasa.


# %%
def kneser_ney_bigram(
    ids: Int[Tensor, " n"], vocab: int, discount: float = 0.75
) -> Float[Tensor, "vocab vocab"]:
    """La probabilidad de que a cada símbolo, en su fila, le siga cada uno."""
    counts = torch.zeros(vocab, vocab, dtype=torch.float64)
    for a, b in zip(ids[:-1].tolist(), ids[1:].tolist(), strict=True):
        counts[a, b] += 1
    kinds = (counts > 0).double()  # 1 en cada pareja que sale
    continuation = kinds.sum(dim=0) / kinds.sum()
    times = counts.sum(dim=1, keepdim=True)
    kept = (counts - discount).clamp(min=0) / times
    freed = discount * kinds.sum(dim=1, keepdim=True) / times
    return torch.where(times > 0, kept + freed * continuation, continuation)


# %% [markdown]
# ## 16.5 Un texto más largo que el contexto
#
# De cada ventana se cuenta desde donde se quedó la anterior, siempre con el contexto que empieza en
# la suya. La primera se cuenta entera: sus tokens no tienen otra que les dé más contexto.


# %%
def windowed_bpc(
    log_probs: Float[Tensor, "n n"], characters: int, *, window: int, stride: int
) -> float:
    """Los bits por carácter de un texto leído con una ventana que avanza."""
    last = len(log_probs) - 1
    nats, done, start = 0.0, 0, 0
    while done < last:
        start = min(start, max(0, last - window))  # la última acaba donde el texto
        end = min(start + window, last)
        nats -= float(log_probs[start, done + 1 : end + 1].sum())
        done, start = end, start + stride
    return nats / math.log(2) / characters


# %% [markdown]
# ## 16.6 El GPT más profundo que cabe
#
# En un bloque hay cuatro matrices $d \times d$ con su sesgo, $4d^2 + 4d$, una red densa,
# $8d^2 + 5d$, y dos normas, $4d$. Lo demás no depende de las capas: basta una división entera.


# %%
def deepest_gpt(
    budget: int, *, vocab: int, context: int, d_model: int, tied: bool = True
) -> tuple[int, int]:
    """Las capas del GPT más profundo que cabe en ``budget`` parámetros, y cuántos tiene."""
    block = 12 * d_model**2 + 13 * d_model
    fixed = (vocab + context) * d_model + 2 * d_model
    if not tied:
        fixed += vocab * d_model
    layers = (budget - fixed) // block
    return layers, fixed + layers * block


# %% [markdown]
# ## 16.7 Buscar cabezas de inducción
#
# Un diccionario recuerda dónde salió cada token por última vez. La cabeza de inducción mira al
# sitio **siguiente**, donde está lo que entonces vino detrás y que ahora puede copiar.


# %%
def induction_scores(
    weights: Float[Tensor, "heads n n"], ids: Int[Tensor, " n"]
) -> Float[Tensor, " heads"]:
    """El peso medio que cada cabeza pone en lo que siguió a su token la vez anterior."""
    last: dict[int, int] = {}
    looks = []
    for i, token in enumerate(ids.tolist()):
        if token in last:
            looks.append(weights[:, i, last[token] + 1])
        last[token] = i
    return torch.stack(looks).mean(dim=0)


# %% [markdown]
# ## 16.8 Predecir un modelo que no existe
#
# En logaritmos la ley es una recta: $\ln L = \ln a - b \ln N$. La incertidumbre de una medida nueva
# suma tres cosas: su propio ruido, el de la altura de la recta ($1/n$) y el de la pendiente, que
# crece con la distancia al centro de lo medido. Por eso extrapolar diez veces cuesta tan caro.


# %%
def extrapolate(
    sizes: Float[Tensor, " n"], losses: Float[Tensor, " n"], size: float, t: float = 2.0
) -> tuple[float, float, float, float]:
    """La ley de potencias a·N^(−b) de unas pérdidas y el intervalo que predice para otro tamaño."""
    x, y = sizes.log(), losses.log()
    n, centred = len(x), x - x.mean()
    spread = (centred**2).sum()
    slope = (centred * y).sum() / spread
    misses = y - y.mean() - slope * centred
    noise = (misses**2).sum() / (n - 2)
    far = math.log(size) - x.mean()
    middle = y.mean() + slope * far
    half = t * (noise * (1 + 1 / n + far**2 / spread)).sqrt()
    a = (y.mean() - slope * x.mean()).exp()
    low, high = (middle - half).exp(), (middle + half).exp()
    return float(a), float(-slope), float(low), float(high)
