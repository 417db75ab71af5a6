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
# # Capítulo 22. Varios sentidos: soluciones

# %%
import math
from collections import Counter, defaultdict

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# %% [markdown]
# ## 22.1 Lo que cuestan tres fusiones
#
# La imagen da 3 × 3 = 9 filas. Tras concatenar, cada fila pregunta a las 14. En la cruzada, los
# parches preguntan a las palabras y las palabras a los parches: 9 · 5 y 5 · 9. Con el cuello, cada
# sentido es una secuencia con dos filas más. Un bloque tiene 4 matrices de 10 × 10 y dos de 10 ×
# 40, y la capa cruzada gasta dos bloques.


# %%
def fusions_by_hand() -> dict[str, int]:
    """Las respuestas, calculadas."""
    seen, told, neck, d = (12 // 4) ** 2, 5, 2, 10
    block = 4 * d * d + 2 * d * (4 * d)
    return {
        "rows": seen + told,
        "joined": (seen + told) ** 2,
        "crossed": 2 * seen * told,
        "neck": (seen + neck) ** 2 + (told + neck) ** 2,
        "parameters": 2 * block,
    }


# %% [markdown]
# ## 22.2 Quién ve a quién
#
# Una capa es una rejilla de filas que miran y filas miradas: lo que dice el plan, sin el relleno,
# y la diagonal, que pone la conexión residual. Lo que llega a una fila es lo que ya había llegado
# a las que mira. Eso es un producto de la rejilla por lo que se sabía.


# %%
def who_sees(
    plan: list[tuple[str, str]], a_present: Bool[Tensor, " n_a"], b_present: Bool[Tensor, " n_b"]
) -> Bool[Tensor, "layer row n"]:
    """Qué filas de la entrada han llegado a cada fila tras cada capa de una fusión."""
    present = torch.cat([a_present, b_present])
    in_b = torch.arange(len(present)) >= len(a_present)
    same = in_b[:, None] == in_b  # (row, n)
    whole = torch.ones_like(same)
    looks = {"none": ~whole, "own": same, "other": ~same, "both": whole}
    itself = torch.eye(len(present), dtype=torch.bool)
    reach, heights = itself, []
    for of_a, of_b in plan:
        seen = torch.where(in_b[:, None], looks[of_b], looks[of_a]) & present
        seen = seen | itself
        reach = (seen.double() @ reach.double()) > 0
        heights.append(reach)
    return torch.stack(heights)


# %% [markdown]
# ## 22.3 La última palabra
#
# En una capa cruzada, la última palabra ve la imagen y, por la conexión residual, a sí misma. De
# las otras palabras no le llega nada, y falta la cifra que se dice. Basta otra capa, delante o
# detrás, en que las palabras se miren entre sí.


# %%
def can_answer() -> str:
    """La respuesta: se mueve cada fila de la entrada y se mira si lo nota la última palabra."""
    rng = torch.Generator().manual_seed(0)
    rows = torch.randn(4 + 6, 8, generator=rng, dtype=torch.float64)

    def look(x: Tensor, y: Tensor) -> Tensor:
        return x + (x @ y.T).softmax(dim=-1) @ y

    def joined(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        both = torch.cat([a, b])
        return look(a, both), look(b, both)

    def apart(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        return look(a, a), look(b, b)

    def crossed(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        return look(a, b), look(b, a)

    models = {"A": [crossed], "B": [joined], "C": [apart, crossed], "D": [crossed, apart]}
    enough = []
    for name, layers in models.items():

        def last(x: Tensor, layers: list = layers) -> Tensor:
            a, b = x[:4], x[4:]
            for layer in layers:
                a, b = layer(a, b)
            return b[-1]

        moved = torch.autograd.functional.jacobian(last, rows)  # (d, row, d)
        if bool((moved.abs().amax(dim=(0, 2)) > 0).all()):
            enough.append(name)
    names = {1: "solo B", 2: "B y C", 3: "B, C y D", 4: "las cuatro"}
    return names[len(enough)]


# %% [markdown]
# ## 22.4 La pérdida de CLIP, con repetidos
#
# La diana de una fila se reparte entre las parejas que valen. La entropía cruzada con una diana
# repartida es el logaritmo de la suma de exponenciales menos la media, según la diana, de las
# puntuaciones. La misma diana vale por filas y por columnas, porque es simétrica. La escala se
# recorta en el logaritmo, antes de que la exponencial desborde.


# %%
def contrastive_loss(
    images: Float[Tensor, "n d_embed"],
    texts: Float[Tensor, "n d_embed"],
    log_scale: Float[Tensor, ""],
    ids: Int[Tensor, " n"],
    *,
    max_scale: float = 100.0,
) -> Float[Tensor, ""]:
    """La pérdida contrastiva de un lote en que un mismo texto puede ir con varias imágenes."""
    unit_images = images / images.norm(dim=-1, keepdim=True)
    unit_texts = texts / texts.norm(dim=-1, keepdim=True)
    scale = log_scale.clamp(max=math.log(max_scale)).exp()
    logits = scale * unit_images @ unit_texts.T  # (imagen, texto)
    right = (ids[:, None] == ids).to(logits.dtype)
    share = right / right.sum(dim=-1, keepdim=True)
    by_image = logits.logsumexp(dim=1) - (share * logits).sum(dim=1)
    by_text = logits.logsumexp(dim=0) - (share * logits).sum(dim=0)
    return (by_image.mean() + by_text.mean()) / 2


# %% [markdown]
# ## 22.5 Recuperar entre muchos
#
# Lo que decide es cuántas respuestas malas van delante de la mejor buena. Con un empate se cuenta
# lo peor: la mala va delante. Si hay menos de k, se acierta. Que otras respuestas buenas vayan
# delante no quita nada.


# %%
def recall_at(
    similarity: Float[Tensor, "image text"], owner: Int[Tensor, " text"], ks: list[int]
) -> tuple[list[float], list[float]]:
    """La parte de las búsquedas que aciertan entre los k primeros, de imagen a texto y al revés."""
    own = owner == torch.arange(len(similarity))[:, None]  # (imagen, texto)
    kept = similarity.masked_fill(~own, -math.inf)
    best_text, best_image = kept.amax(dim=1, keepdim=True), kept.amax(dim=0, keepdim=True)
    texts_ahead = ((similarity >= best_text) & ~own).sum(dim=1)  # por imagen
    images_ahead = ((similarity >= best_image) & ~own).sum(dim=0)  # por texto
    of_image = [(texts_ahead < k).double().mean().item() for k in ks]
    of_text = [(images_ahead < k).double().mean().item() for k in ks]
    return of_image, of_text


# %% [markdown]
# ## 22.6 El cuello de botella
#
# Los dos sentidos parten del mismo cuello, el de la capa anterior, y ninguno ve las filas del
# otro. Cada uno devuelve su versión del cuello, y la media de las dos pasa a la capa siguiente.


# %%
def bottleneck(
    a: Float[Tensor, "n_a d_model"],
    b: Float[Tensor, "n_b d_model"],
    neck: Float[Tensor, "k d_model"],
    a_weights: Float[Tensor, "layer 3 d_model d_model"],
    b_weights: Float[Tensor, "layer 3 d_model d_model"],
    *,
    fuse_from: int = 0,
) -> tuple[Float[Tensor, "n_a d_model"], Float[Tensor, "n_b d_model"], Float[Tensor, "k d_model"]]:
    """Dos sentidos que solo se hablan por las filas de un cuello."""

    def attend(x: Tensor, weights: Tensor) -> Tensor:
        query, key, value = x @ weights  # (n, d_model) cada una
        scores = query @ key.T / math.sqrt(x.shape[1])
        return x + scores.softmax(dim=-1) @ value

    for layer, (of_a, of_b) in enumerate(zip(a_weights, b_weights, strict=True)):
        if layer < fuse_from:
            a, b = attend(a, of_a), attend(b, of_b)
            continue
        with_a = attend(torch.cat([a, neck]), of_a)
        with_b = attend(torch.cat([b, neck]), of_b)
        neck = (with_a[len(a) :] + with_b[len(b) :]) / 2
        a, b = with_a[: len(a)], with_b[: len(b)]
    return a, b, neck


# %% [markdown]
# ## 22.7 Medidas y acciones, en tokens
#
# Las medidas se comprimen antes de repartirlas en intervalos, y las acciones no, porque ya van de
# −1 a 1. Lo que se sale cae en el intervalo del extremo. A la vuelta, el centro del intervalo, y
# para las medidas, lo que se comprimió hasta ese centro.


# %%
def gato_tokens(
    values: Float[Tensor, " k"],
    actions: Float[Tensor, " m"],
    vocab: int,
    bins: int,
    *,
    mu: float = 100.0,
    limit: float = 256.0,
) -> tuple[Int[Tensor, " token"], Float[Tensor, " number"]]:
    """Un paso de Gato escrito en tokens, y los números que se recuperan de ellos."""
    top = math.log(mu * limit + 1)
    squeezed = values.sign() * (mu * values.abs() + 1).log() / top
    numbers = torch.cat([squeezed, actions])
    cells = ((numbers + 1) / 2 * bins).floor().long().clamp(0, bins - 1)
    of_values, of_actions = cells[: len(values)], cells[len(values) :]
    separator = torch.tensor([vocab + bins])
    ids = torch.cat([vocab + of_values, separator, vocab + of_actions])
    centres = (2 * cells + 1).to(values.dtype) / bins - 1
    back, acted = centres[: len(values)], centres[len(values) :]
    back = back.sign() * ((back.abs() * top).exp() - 1) / mu
    return ids, torch.cat([back, acted])


# %% [markdown]
# ## 22.8 Lo más que se acierta a ciegas
#
# Quien no ve todo contesta lo mismo a todo lo que no distingue. El techo es la respuesta que más
# veces es verdad en cada grupo **del examen**. Quien ha estudiado contesta la que más veces fue
# verdad en el grupo del **entrenamiento**, y si el grupo es nuevo, la de la pregunta.


# %%
def blind_scores(
    train: Int[Tensor, "row 5"], test: Int[Tensor, "row 5"]
) -> Float[Tensor, "question rule sense"]:
    """El techo de cada sentido en el examen, y lo que acierta quien se aprende el entrenamiento."""

    def groups(table: Tensor, columns: tuple[int, ...]) -> dict[tuple[int, ...], Counter]:
        found: dict[tuple[int, ...], Counter] = defaultdict(Counter)
        for row in table.tolist():
            found[tuple(row[i] for i in columns)][row[3]] += row[4]
        return found

    def usual(group: Counter) -> int:
        return min(group, key=lambda answer: (-group[answer], answer))

    by_question = groups(train, (2,))
    right = torch.zeros(len(by_question), 2, 4)
    for sense, columns in enumerate([(2,), (0, 2), (1, 2), (0, 1, 2)]):
        studied = groups(train, columns)
        for key, group in groups(test, columns).items():
            question = key[-1]
            answer = usual(studied.get(key, by_question[(question,)]))
            right[question, 0, sense] += max(group.values())
            right[question, 1, sense] += group[answer]
    total = torch.zeros(len(by_question)).index_add(0, test[:, 2], test[:, 4].to(right.dtype))
    return right / total[:, None, None]
