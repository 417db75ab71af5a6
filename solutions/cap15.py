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
# # Capítulo 15. Codificadores: BERT: soluciones

# %%
import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# %% [markdown]
# ## 15.1 Mil palabras a examen
#
# De mil palabras se eligen 150: se tapan 120, se cambian 15 y se dejan 15. De las 15 cambiadas, una
# de cada diez recibe la que ya estaba: parecen cambiadas $120 + 13.5$ e intactas, $15 + 1.5$. A la
# vista quedan 880, y se pregunta por 30 de ellas. Sin saber nada, el modelo da 1/10 a cada palabra.


# %%
def masking_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""
    words, vocab = 1000, 10
    chosen = 0.15 * words
    hidden, swapped, left = 0.8 * chosen, 0.1 * chosen, 0.1 * chosen
    same = swapped / vocab  # la que le toca es la que ya estaba
    return {
        "altered": hidden + swapped - same,
        "intact": left + same,
        "asked": 100 * (chosen - hidden) / (words - hidden),
        "loss": math.log(vocab),
    }


# %% [markdown]
# ## 15.2 Sin tapar nada
#
# Cada posición ve su propia palabra: la pérdida baja a cero con solo copiarla, y el modelo no
# aprende nada de las demás.


# %%
def uncovered_loss() -> str:
    """La respuesta: lo que tarda en no fallar quien copia lo que ve."""
    return "baja casi a cero"


# %% [markdown]
# ## 15.3 Tapar con los sorteos dados
#
# Una tabla de verdadero y falso dice cuáles se eligen; el otro sorteo parte las elegidas en tres.
# Las que se dejan no cambian lo que se ve, pero sí se pregunta por ellas.


# %%
def mask_tokens(
    ids: Int[Tensor, "batch n"],
    chance: Float[Tensor, "batch n"],
    fate: Float[Tensor, "batch n"],
    other: Int[Tensor, "batch n"],
    *,
    mask_id: int,
    special: list[int],
    fraction: float = 0.15,
) -> tuple[Int[Tensor, "batch n"], Int[Tensor, "batch n"]]:
    """Lo que ve el modelo y lo que se le pregunta, con los sorteos ya hechos."""
    chosen = (chance < fraction) & ~torch.isin(ids, torch.tensor(special))
    seen = torch.where(chosen & (fate < 0.8), mask_id, ids)
    seen = torch.where(chosen & (fate >= 0.8) & (fate < 0.9), other, seen)
    labels = torch.where(chosen, ids, 0)
    return seen, labels


# %% [markdown]
# ## 15.4 Pagar solo por lo preguntado
#
# Se quedan las filas por las que se pregunta, y solo esas se comparan con la tabla: de cada siete
# se ahorran seis. La media es de todas juntas, vengan de la frase que vengan.


# %%
def masked_loss(
    states: Float[Tensor, "batch n d_model"],
    labels: Int[Tensor, "batch n"],
    matrix: Float[Tensor, "vocab d_model"],
    bias: Float[Tensor, " vocab"],
    pad_id: int = 0,
) -> Float[Tensor, ""]:
    """La entropía cruzada media de las posiciones por las que se pregunta; 0 si no hay ninguna."""
    asked = labels != pad_id
    if not asked.any():
        return states.new_zeros(())
    scores = states[asked] @ matrix.T + bias  # (preguntadas, vocab)
    wanted = scores.gather(1, labels[asked].unsqueeze(1)).squeeze(1)
    return (scores.logsumexp(dim=1) - wanted).mean()


# %% [markdown]
# ## 15.5 El parecido de dos frases
#
# El relleno se pone a cero antes de sumar y no cuenta al dividir. Para el coseno se reparte cada
# vector entre su longitud; el de una frase vacía es cero y se queda en cero.


# %%
def compare_sentences(
    states: Float[Tensor, "batch n d_model"], real: Bool[Tensor, "batch n"]
) -> tuple[Float[Tensor, "batch d_model"], Float[Tensor, "batch batch"]]:
    """El vector medio de cada frase y el coseno de cada dos."""
    total = states.masked_fill(~real.unsqueeze(-1), 0.0).sum(dim=1)
    vectors = total / real.sum(dim=1, keepdim=True).clamp(min=1)
    length = vectors.norm(dim=1, keepdim=True)
    units = vectors / torch.where(length > 0, length, 1.0)
    return vectors, units @ units.T


# %% [markdown]
# ## 15.6 La cuenta de la familia
#
# Entrada: una fila por palabra, posición y segmento, y una norma, todo de la anchura de la entrada.
# Si esa es menor que la del modelo hace falta una capa que las iguale. Cada bloque: cuatro matrices
# cuadradas con su sesgo, la red densa y dos normas. Compartidos, los bloques son uno.


# %%
def family_parameters(
    vocab: int,
    d_model: int,
    d_ff: int,
    n_layers: int,
    max_len: int,
    n_segments: int = 2,
    *,
    factor: int | None = None,
    shared: bool = False,
) -> tuple[int, int]:
    """Los parámetros de la entrada y los de la pila de bloques."""
    width = d_model if factor is None else factor
    entry = (vocab + max_len + n_segments) * width + 2 * width
    if factor is not None:
        entry += (factor + 1) * d_model
    attention = 4 * (d_model + 1) * d_model
    dense = (d_model + 1) * d_ff + (d_ff + 1) * d_model
    block = attention + dense + 4 * d_model
    return entry, block if shared else n_layers * block


# %% [markdown]
# ## 15.7 Señalar la respuesta, o que no la hay
#
# Una tabla de todas las parejas, con menos infinito en las que no valen. Leída por filas, el primer
# máximo es el que empieza antes y, a igualdad, el que acaba antes. La primera posición hace de «no
# hay respuesta» y se compara al final.


# %%
def answer_span(
    start: Float[Tensor, "batch n"],
    end: Float[Tensor, "batch n"],
    allowed: Bool[Tensor, "batch n"],
    max_length: int,
    margin: float = 0.0,
) -> Int[Tensor, "batch 2"]:
    """La primera y la última posición de cada respuesta; (0, 0) si no la hay."""
    n = start.shape[1]
    ordered = torch.ones(n, n, dtype=torch.bool).triu().tril(max_length - 1)
    usable = ordered & allowed[:, :, None] & allowed[:, None, :]
    scores = start[:, :, None] + end[:, None, :]  # (batch, n, n): de i a j
    scores = scores.masked_fill(~usable, -torch.inf).flatten(1)
    place = scores.argmax(dim=1)
    answered = scores.amax(dim=1) > start[:, 0] + end[:, 0] + margin
    return torch.stack([place // n, place % n], dim=1) * answered.unsqueeze(1)


# %% [markdown]
# ## 15.8 De piezas a entidades
#
# Primero se quedan las piezas que empiezan palabra. Después se busca, palabra a palabra, la mejor
# manera de llegar a cada etiqueta desde una que pueda ir delante, y se deshace el camino. Al leerla
# ya no hay nada que remendar: lo que sigue dentro sigue a los suyos.


# %%
def read_entities(
    pieces: list[str], scores: Float[Tensor, "n tags"], kinds: list[str]
) -> list[tuple[str, str]]:
    """Las entidades de una frase, con su clase, según la mejor secuencia de etiquetas que vale."""
    heads = [p not in ("[CLS]", "[SEP]", "[PAD]") and not p.startswith("##") for p in pieces]
    tag = torch.arange(scores.shape[1])
    inside = (tag > 0) & (tag % 2 == 0)
    follows = ~inside | (tag[:, None] == tag) | (tag[:, None] == tag - 1)  # (anterior, siguiente)

    best = torch.zeros(len(tag)).masked_fill(tag > 0, -torch.inf)  # antes de empezar, fuera
    came_from = []
    for row in scores[torch.tensor(heads)]:
        best, came = best[:, None].masked_fill(~follows, -torch.inf).max(dim=0)
        best = best + row
        came_from.append(came.tolist())
    path = [int(best.argmax())]
    for came in reversed(came_from):
        path.append(came[path[-1]])
    tags = iter(path[-2::-1])  # del principio al final

    entities: list[tuple[str, str]] = []
    now = 0  # la etiqueta de la palabra que se lee
    for piece, head in zip(pieces, heads, strict=True):
        now = next(tags) if head else now if piece.startswith("##") else 0
        if not now:
            continue
        if head and now % 2:
            entities.append((kinds[(now - 1) // 2], piece))
        else:
            kind, text = entities[-1]
            entities[-1] = (kind, f"{text} {piece}" if head else text + piece[2:])
    return entities
