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
# # Capítulo 7. Máscaras: soluciones

# %%
import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# %% [markdown]
# ## 7.1 La máscara, a mano
#
# Las exponenciales son 1, 3, 4 y 8: suman 16; con la causal, 8; sin «el», 7. Multiplicar después no
# cambia el peso
# de una casilla permitida, y por eso la fila deja de sumar 1.


# %%
def masked_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""
    raised = [1, 3, 4, 8]  # exponenciales de la fila de «canta»
    seen, words = raised[:3], raised[1:3]
    return {
        "free": 3 / sum(raised),
        "causal": 3 / sum(seen),
        "both": 3 / sum(words),
        "late": 3 / sum(raised) * 1,
    }


# %% [markdown]
# ## 7.2 ¿Cuál tiene una fuga?
#
# La «d» normaliza con el futuro dentro del denominador. La «b» resta un millón: su exponencial es 0
# exacto en
# `float64`. La «c» suma solo lo permitido; con puntuaciones de 1000 desbordaría, y por eso se dice
# que son del orden de 1.


# %%
def leaky_line() -> str:
    """La respuesta, calculada: se cambia el futuro y se mira qué fila se mueve."""
    causal = torch.ones(3, 3).tril().bool()
    lines = {
        "a": lambda scores: scores.masked_fill(~causal, float("-inf")).softmax(-1),
        "b": lambda scores: (scores + (causal.double() - 1) * 1e6).softmax(-1),
        "c": lambda scores: scores.exp() * causal / (scores.exp() * causal).sum(-1, keepdim=True),
        "d": lambda scores: scores.softmax(-1) * causal,
    }
    before, after = torch.zeros(3, 3).double(), torch.zeros(3, 3).double()
    after[0, 2] = 1.0  # el futuro de la primera fila
    return next(
        name for name, line in lines.items() if not torch.equal(line(before)[0], line(after)[0])
    )


# %% [markdown]
# ## 7.3 La softmax con máscara
#
# Las filas sin nadie se quitan **antes** de la softmax (con ceros, que no dan NaN ni hacia atrás) y
# se ponen a 0
# después. Si se tapa sumando −∞ y se ponen a 0 solo al final, el gradiente es NaN: 0 · NaN es NaN.
# (`masked_fill`
# se libra, porque su gradiente vale 0 en lo tapado, venga lo que venga.)


# %%
def masked_softmax(
    scores: Float[Tensor, "*batch query key"], mask: Bool[Tensor, "..."]
) -> Float[Tensor, "*batch query key"]:
    """Pesos con ``True`` donde se puede mirar; una fila tapada entera da ceros."""
    alone = ~mask.any(dim=-1, keepdim=True)  # consultas sin ninguna clave
    hidden = scores.masked_fill(~mask, float("-inf")).masked_fill(alone, 0.0)
    return hidden.softmax(dim=-1).masked_fill(alone, 0.0)


# %% [markdown]
# ## 7.4 Hasta dónde llega
#
# Cada capa retrocede $w - 1 = 4$ posiciones: con 3 capas, $1 + 3 \cdot 4 = 13$. De la 30 a la 1 hay
# 29 pasos y
# $29 / 4$ se redondea hacia arriba. La 4 está dentro del prefijo y lo ve entero; la 30 ve todo lo
# anterior.


# %%
def reach_by_hand() -> dict[str, int]:
    """Las respuestas, calculadas."""
    back = 5 - 1  # cuánto retrocede una capa
    return {
        "three": 1 + 3 * back,
        "layers": math.ceil(29 / back),
        "prefix": max(4, 10),
        "late": max(30, 10),
    }


# %% [markdown]
# ## 7.5 Las tres máscaras de un traductor
#
# La máscara de relleno se construye con la secuencia de las claves. En la atención cruzada las
# claves son de la fuente, aunque pregunte lo escrito.


# %%
def translator_masks(
    source: Int[Tensor, "batch m"], target: Int[Tensor, "batch n"], pad_id: int = 0
) -> tuple[Bool[Tensor, "batch 1 1 m"], Bool[Tensor, "batch 1 n n"], Bool[Tensor, "batch 1 1 m"]]:
    """Máscaras del codificador, del decodificador y cruzada; ``True`` es «puede mirar»."""
    n = target.shape[1]
    causal = torch.ones(n, n, dtype=torch.bool, device=target.device).tril()
    encoder = (source != pad_id)[:, None, None, :]
    decoder = (target != pad_id)[:, None, None, :] & causal
    return encoder, decoder, encoder


# %% [markdown]
# ## 7.6 Buscar la fuga
#
# Se multiplican las máscaras con la identidad sumada, la de la última capa delante. Lo que quede
# por encima de la
# diagonal es futuro del que se puede saber.


# %%
def leaks(layer_masks: Bool[Tensor, "layer n n"]) -> list[tuple[int, int]]:
    """Parejas (i, j), j > i, en las que la salida de ``i`` puede saber de la entrada ``j``."""
    still = torch.eye(layer_masks.shape[-1], dtype=torch.bool)
    known = still.double()
    for mask in layer_masks:
        known = ((mask | still).double() @ known > 0).double()
    return [tuple(pair) for pair in known.triu(1).nonzero().tolist()]


# %% [markdown]
# ## 7.7 La pérdida de un lote con relleno
#
# Se suma sobre las palabras de verdad y se divide entre cuántas son, en todo el lote: no es la
# media de las medias.


# %%
def padded_loss(
    scores: Float[Tensor, "batch n vocab"], target: Int[Tensor, "batch n"], pad_id: int = 0
) -> Float[Tensor, ""]:
    """Entropía cruzada media por palabra de verdad; 0 si no hay ninguna."""
    words = target != pad_id
    kept = target.masked_fill(~words, 0)[..., None]
    surprise = -scores.log_softmax(dim=-1).gather(-1, kept)[..., 0]  # (batch, n)
    return surprise.masked_fill(~words, 0.0).sum() / words.sum().clamp(min=1)


# %% [markdown]
# ## 7.8 Traducir una máscara
#
# Cuatro convenciones y una sola pregunta en cada una: ¿qué valor deja pasar?


# %%
def translate_mask(mask: Bool[Tensor, "..."], target: str) -> Tensor:
    """La máscara ``True`` = «puede mirar», como la quiere ``target``."""
    if target == "nn":
        return ~mask
    if target == "additive":
        return torch.zeros(mask.shape, dtype=torch.float64).masked_fill(~mask, float("-inf"))
    if target == "int":
        return mask.long()
    return mask.clone()


# %% [markdown]
# ## 7.9 Una atención con fugas
#
# Las tres faltas: escalaba con la raíz de $n$; tapaba las **consultas** de relleno en lugar de las
# claves; y
# multiplicaba los pesos después de la softmax, con el futuro en el denominador.


# %%
def broken_masked_attention(query, key, value, valid):
    n = query.shape[-2]
    scores = query @ key.transpose(-2, -1) / math.sqrt(n)
    allowed = torch.ones(n, n).tril().bool() & valid[:, None, :, None]
    weights = scores.softmax(dim=-1) * allowed
    return weights @ value


# %%
def masked_attention(
    query: Float[Tensor, "batch head n d"],
    key: Float[Tensor, "batch head n d"],
    value: Float[Tensor, "batch head n d"],
    valid: Bool[Tensor, "batch n"],
) -> Float[Tensor, "batch head n d"]:
    """Autoatención causal con relleno; ``valid`` es ``True`` en las palabras."""
    n = query.shape[-2]
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (batch, head, n, n)
    allowed = torch.ones(n, n).tril().bool() & valid[:, None, None, :]
    weights = scores.masked_fill(~allowed, float("-inf")).softmax(dim=-1)
    return weights @ value


# %% [markdown]
# ## 7.10 Varias frases en una fila
#
# Dos posiciones son de la misma frase si llevan el mismo número. El relleno lleva −1, y hay que
# quitarlo aparte:
# −1 es igual a −1.


# %%
def packed_mask(document: Int[Tensor, "batch n"]) -> Bool[Tensor, "batch 1 n n"]:
    """Máscara causal dentro de cada frase; el relleno (−1) ni mira ni es mirado."""
    n = document.shape[1]
    same = document[:, :, None] == document[:, None, :]
    causal = torch.ones(n, n, dtype=torch.bool, device=document.device).tril()
    words = document[:, :, None] >= 0
    return (same & causal & words)[:, None]
