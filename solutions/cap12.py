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
# # Capítulo 12. Entrenarlo: soluciones

# %%
import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

# %% [markdown]
# ## 12.1 Entradas y etiquetas
#
# Las dos filas llevan las mismas palabras. Una empieza antes, con ``bos``; la otra acaba después,
# con ``eos``. En cada posición, la etiqueta es la entrada de la posición siguiente.


# %%
def forced_pairs(
    sentences: list[list[int]], bos: int, eos: int, pad: int
) -> tuple[Int[Tensor, "batch m"], Int[Tensor, "batch m"]]:
    """Lo que entra en el decodificador y lo que debe predecir, corridos un sitio."""
    longest = max(map(len, sentences))
    empty = [[pad] * (longest - len(words)) for words in sentences]
    inputs = [[bos, *words, *rest] for words, rest in zip(sentences, empty, strict=True)]
    labels = [[*words, eos, *rest] for words, rest in zip(sentences, empty, strict=True)]
    return torch.tensor(inputs), torch.tensor(labels)


# %% [markdown]
# ## 12.2 Cuatro números para un lote
#
# En unidades de $\ln 2$, la primera frase suma $1 + 2 = 3$ y la segunda, $2+3+3+4+2+4 = 18$. Por
# palabra, $21/8$; la media de las medias, $(1.5 + 3)/2$: la frase corta pesa tres veces más de lo
# que le toca. El lote tiene $2 \times 6$ casillas y da $21/12$. La perplejidad es $2^{21/8}$.


# %%
def loss_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""
    short, long = (2, 4), (4, 8, 8, 16, 4, 16)  # uno entre la probabilidad de cada palabra
    losses = [[math.log(inverse) for inverse in sentence] for sentence in (short, long)]
    total, count = sum(map(sum, losses)), sum(map(len, losses))
    return {
        "words": total / count,
        "sentences": sum(sum(sentence) / len(sentence) for sentence in losses) / len(losses),
        "slots": total / (len(losses) * max(map(len, losses))),
        "perplexity": math.exp(total / count),
    }


# %% [markdown]
# ## 12.3 El doble de calentamiento
#
# Pasado el máximo, Noam vale $d^{-1/2} s^{-1/2}$: el calentamiento ya no aparece. Lo que cambia
# con $w$ es cuándo se llega al máximo y lo alto que es. En el paso 20 000 las dos van igual.


# %%
def later_rate() -> str:
    """La respuesta, calculada."""

    def noam(step, warmup):
        return min(step**-0.5, step * warmup**-1.5)

    names = {0: "lo mismo", 2: "el doble", -2: "la mitad", -1: "√2 veces menos", 1: "√2 veces más"}
    return names[round(2 * math.log2(noam(20_000, 8000) / noam(20_000, 4000)))]


# %% [markdown]
# ## 12.4 Un paso entero
#
# Se cuentan antes las palabras de **todos** los lotes, y cada lote suma sus pérdidas divididas
# entre ese total: así los gradientes que se acumulan son los del lote que los junta. Se recorta una
# vez, al final, porque la norma de una suma no es la suma de las normas.


# %%
def train_step(
    weight: Float[Tensor, "vocab vocab"],
    lots: list[Int[Tensor, "batch m"]],
    rate: float,
    clip: float,
    pad: int = 0,
) -> tuple[Float[Tensor, ""], Float[Tensor, "vocab vocab"]]:
    """La pérdida de todos los lotes juntos y los pesos tras un paso."""
    total = sum(int((lot[:, 1:] != pad).sum()) for lot in lots)
    gradient, loss = torch.zeros_like(weight), torch.zeros(())
    for lot in lots:
        table = weight.detach().clone().requires_grad_()
        inputs, labels = lot[:, :-1], lot[:, 1:]
        log_p = table[inputs].log_softmax(dim=-1)  # (batch, m - 1, vocab)
        right = log_p.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
        part = -(right * (labels != pad)).sum() / total
        gradient = gradient + torch.autograd.grad(part, table)[0]
        loss = loss + part.detach()
    gradient = gradient * min(1.0, clip / float(gradient.norm()))
    return loss, weight - rate * gradient


# %% [markdown]
# ## 12.5 Repartir sin regalar
#
# A cada una de las $V - 2$ palabras que no son la correcta ni el relleno le toca
# $\epsilon / (V - 2)$. La entropía cruzada con ese reparto $q$, menos la entropía de $q$, es la
# divergencia $\mathrm{KL}(q \,\|\, p)$. ``xlogy`` da 0 donde $q$ es 0.


# %%
def smoothed_loss(
    logits: Float[Tensor, "batch m vocab"],
    labels: Int[Tensor, "batch m"],
    smoothing: float,
    pad: int = 0,
) -> Float[Tensor, ""]:
    """Entropía cruzada suavizada sin dar nada al relleno, menos lo inevitable."""
    log_p = logits.log_softmax(dim=-1)
    q = torch.full_like(log_p, smoothing / (logits.shape[-1] - 2))
    q[..., pad] = 0.0
    q = q.scatter(-1, labels.unsqueeze(-1), 1 - smoothing)
    each = (torch.xlogy(q, q) - q * log_p).sum(dim=-1)  # (batch, m)
    valid = labels != pad
    return (each * valid).sum() / valid.sum()


# %% [markdown]
# ## 12.6 Un paso de AdamW
#
# El encogimiento multiplica el parámetro por $1 - \eta\lambda$ y no pasa por los momentos: por eso
# encoge lo mismo a todos, tengan el gradiente que tengan. La $\varepsilon$ va fuera de la raíz.


# %%
def adamw_step(
    weight: Float[Tensor, "*shape"],
    grad: Float[Tensor, "*shape"],
    mean: Float[Tensor, "*shape"],
    square: Float[Tensor, "*shape"],
    step: int,
    *,
    rate: float,
    betas: tuple[float, float] = (0.9, 0.98),
    eps: float = 1e-9,
    decay: float = 0.01,
) -> tuple[Float[Tensor, "*shape"], Float[Tensor, "*shape"], Float[Tensor, "*shape"]]:
    """El parámetro y sus dos momentos tras el paso ``step``, contado desde 1."""
    slow, slower = betas
    mean = slow * mean + (1 - slow) * grad
    square = slower * square + (1 - slower) * grad**2
    direction = mean / (1 - slow**step)
    size = (square / (1 - slower**step)).sqrt() + eps
    shrunk = weight * (1 - rate * decay)
    return shrunk - rate * direction / size, mean, square


# %% [markdown]
# ## 12.7 Un calendario por su curva
#
# El máximo y el primer paso que llega a él dan la altura y el calentamiento. Con ellos se dibujan
# los cuatro candidatos, y se queda el más cercano.


# %%
def read_schedule(rates: Float[Tensor, " S"]) -> tuple[str, int, float]:
    """El nombre del calendario, el paso en que llega al máximo y cuánto vale."""
    steps, peak = len(rates), float(rates.max())
    warmup = int((rates == peak).nonzero()[0, 0]) + 1
    s = torch.arange(1, steps + 1, dtype=rates.dtype)
    turned = math.pi * (s - 1 - warmup) / (steps - warmup)
    shapes = {
        "constant": torch.ones_like(s),
        "noam": (warmup / s).sqrt(),
        "cosine": (1 + torch.cos(turned)) / 2,
        "stable": ((steps - s) / round(0.2 * steps)).clamp(max=1.0),
    }
    after = slice(warmup, None)

    def gap(name):
        return float((peak * shapes[name][after] - rates[after]).abs().max())

    return min(shapes, key=gap), warmup, peak


# %% [markdown]
# ## 12.8 Un lote que hace trampa
#
# 1. Los destinos salen de ``pairs``, sin ordenar: cada frase queda con la traducción de otra.
# 2. Las etiquetas son las entradas sin desplazar: cada posición tiene delante lo que debe decir.
# 3. Los destinos se rellenan con ``eos``: nada es relleno, y en las frases cortas se pide escribir
#    el fin una y otra vez.


# %%
def make_batch(
    pairs: list[tuple[list[int], list[int]]], bos: int, eos: int, pad: int
) -> tuple[
    Int[Tensor, "batch n"],
    Int[Tensor, "batch m"],
    Int[Tensor, "batch m"],
    Bool[Tensor, "batch m"],
]:
    """El origen, las entradas, las etiquetas y cuáles cuentan."""
    ordered = sorted(pairs, key=lambda pair: len(pair[0]))  # poco relleno en el origen
    sources = [torch.tensor([*source, eos]) for source, _ in ordered]
    targets = [torch.tensor([bos, *target, eos]) for _, target in ordered]
    source = nn.utils.rnn.pad_sequence(sources, batch_first=True, padding_value=pad)
    target = nn.utils.rnn.pad_sequence(targets, batch_first=True, padding_value=pad)
    inputs, labels = target[:, :-1], target[:, 1:]
    return source, inputs, labels, labels != pad


# %% [markdown]
# ## 12.9 Juntar perplejidades
#
# Lo que se puede sumar son los nats. Se suman los de todos los lotes y se reparten entre las piezas
# o entre las palabras; la exponencial se toma al final. El total de nats no depende de cómo se
# corte, y por eso la perplejidad por palabra sí se compara.


# %%
def corpus_perplexity(
    losses: Float[Tensor, " lots"], tokens: Int[Tensor, " lots"], words: Int[Tensor, " lots"]
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """La perplejidad por pieza y por palabra de todos los lotes."""
    nats = (losses * tokens).sum()
    return torch.exp(nats / tokens.sum()), torch.exp(nats / words.sum())


# %% [markdown]
# ## 12.10 El factor que sube y baja
#
# El factor se aplica **antes** de pasar a 16 bits, que es donde se perdería el gradiente, y se
# quita **después**. La cuenta de pasos buenos vuelve a cero siempre que el factor cambia.


# %%
def scaled_training(
    weight: Float[Tensor, " d"],
    gradients: Float[Tensor, "S d"],
    scale: float,
    rate: float,
    interval: int,
) -> tuple[Float[Tensor, " d"], float, int]:
    """Los pesos y el factor al final, y cuántos pasos se han saltado."""
    good = skipped = 0
    for gradient in gradients:
        stored = (gradient * scale).to(torch.float16).to(weight.dtype)
        if not torch.isfinite(stored).all():
            scale, good, skipped = scale / 2, 0, skipped + 1
            continue
        weight = weight - rate * stored / scale
        good += 1
        if good == interval:
            scale, good = scale * 2, 0
    return weight, scale, skipped


# %% [markdown]
# ## 12.11 Seguir donde se cortó
#
# Los pasos siguen con su número: de él dependen el lote, la tasa y la corrección de las medias. Y
# el azar sigue donde estaba: los sorteos de los pasos que ya se dieron se repiten y se tiran.


# %%
def resume_run(
    weight: Float[Tensor, " d"],
    mean: Float[Tensor, " d"],
    square: Float[Tensor, " d"],
    step: int,
    inputs: Float[Tensor, "S n d"],
    targets: Float[Tensor, "S n"],
    *,
    rate: float,
    warmup: int,
    drop: float,
    seed: int,
) -> tuple[Float[Tensor, " rest"], Float[Tensor, " d"]]:
    """Las pérdidas de los pasos que faltan y los pesos del final."""
    source, losses = torch.Generator().manual_seed(seed), []
    for _ in range(step):
        torch.rand(len(weight), generator=source, dtype=torch.float64)
    for s in range(step + 1, len(inputs) + 1):
        kept = torch.rand(len(weight), generator=source, dtype=torch.float64) >= drop
        x = inputs[s - 1] * kept
        gap = x @ weight - targets[s - 1]
        losses.append((gap**2).mean())
        grad = 2 * x.mT @ gap / len(gap)
        mean = 0.9 * mean + 0.1 * grad
        square = 0.98 * square + 0.02 * grad**2
        move = mean / (1 - 0.9**s) / ((square / (1 - 0.98**s)).sqrt() + 1e-9)
        weight = weight - rate * min(1, s / warmup) * move
    return torch.stack(losses), weight
