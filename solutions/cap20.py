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
# # Capítulo 20. Detectar y segmentar: soluciones

# %%
from itertools import permutations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# %% [markdown]
# ## 20.1 IoU y GIoU, a mano
#
# A y B comparten 3 × 1, y la unión es 12 + 21 − 3. La caja que envuelve a las dos mide 8 × 5 = 40,
# de los que 10 no son de ninguna: el IoU es 0.1 y el GIoU, 0.25 menos. Con C y con D no hay nada en
# común, el IoU es 0 las dos veces, y solo el GIoU dice que D está más lejos.


# %%
def boxes_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""
    a, b, c, d = (1, 1, 5, 4), (2, 3, 9, 6), (7, 2, 11, 5), (9, 2, 13, 5)

    def shared(p: tuple[int, ...], q: tuple[int, ...]) -> int:
        width = min(p[2], q[2]) - max(p[0], q[0])
        height = min(p[3], q[3]) - max(p[1], q[1])
        return max(width, 0) * max(height, 0)

    def union(p: tuple[int, ...], q: tuple[int, ...]) -> int:
        return shared(p, p) + shared(q, q) - shared(p, q)

    def giou(p: tuple[int, ...], q: tuple[int, ...]) -> float:
        width = max(p[2], q[2]) - min(p[0], q[0])
        hull = width * (max(p[3], q[3]) - min(p[1], q[1]))
        return shared(p, q) / union(p, q) - (hull - union(p, q)) / hull

    return {
        "shared": shared(a, b),
        "iou": shared(a, b) / union(a, b),
        "giou": giou(a, b),
        "far": giou(a, c),
        "farther": giou(a, d),
    }


# %% [markdown]
# ## 20.2 Una tabla de GIoU
#
# Primero, todo a esquinas. Con un eje para unas cajas y otro para las otras, `maximum` y `minimum`
# hacen todas las parejas a la vez. El ancho y el alto de lo común se recortan en 0 **antes** de
# multiplicar: dos negativos darían un área. Donde no hay de qué dividir, la fracción es 0.


# %%
def giou_table(
    found: Float[Tensor, "batch n 4"], truth: Float[Tensor, "batch m 4"]
) -> Float[Tensor, "batch n m"]:
    """El GIoU de cada caja que se da con cada una de las que hay, imagen a imagen."""
    center, size = found.split(2, dim=-1)
    low, high = (center - size / 2)[:, :, None], (center + size / 2)[:, :, None]
    start, end = truth[:, None, :, :2], truth[:, None, :, 2:]
    common = torch.minimum(high, end) - torch.maximum(low, start)  # (batch, n, m, 2)
    shared = common.clamp(min=0).prod(dim=-1)
    union = (high - low).prod(dim=-1) + (end - start).prod(dim=-1) - shared
    hull = (torch.maximum(high, end) - torch.minimum(low, start)).prod(dim=-1)

    def ratio(part: Tensor, whole: Tensor) -> Tensor:
        return torch.where(whole > 0, part / whole, 0.0)

    return ratio(shared, union) - ratio(hull - union, hull)


# %% [markdown]
# ## 20.3 Sin emparejar
#
# Sin emparejar, a cada consulta le toca la mitad de las veces cada dígito, y lo que menos cuesta es
# quedarse en medio: el punto que está a igual distancia, y media probabilidad para cada clase. Con
# el emparejamiento, en cuanto una se inclina por un lado, siempre le toca ese.


# %%
def without_matching() -> str:
    """La respuesta, entrenando dos consultas con los objetos en un orden al azar."""
    rng = torch.Generator().manual_seed(0)
    places = torch.tensor([[0.2, 0.5], [0.8, 0.5]])
    found = torch.rand(2, 2, generator=rng).requires_grad_()
    logits = torch.randn(2, 3, generator=rng).requires_grad_()  # 3, 7 y nada
    for step in range(600):
        order = torch.randperm(2, generator=rng)
        loss = (found - places[order]).square().sum()
        loss = loss + torch.nn.functional.cross_entropy(logits, order, reduction="sum")
        rate = 10 / (100 + step)
        for part, slope in zip(
            (found, logits), torch.autograd.grad(loss, (found, logits)), strict=True
        ):
            part.data -= rate * slope
    chance = logits.detach().softmax(dim=-1)
    near = (found.detach() - places.mean(dim=0)).norm(dim=-1) < 0.1
    if near.all() and ((chance[:, :2] - 0.5).abs() < 0.1).all():
        return "las dos, el punto medio"
    said = chance.argmax(dim=-1).tolist()
    if 2 in said:
        return "una, un dígito, y la otra, nada"
    return "las dos, el mismo dígito" if said[0] == said[1] else "cada una, su dígito"


# %% [markdown]
# ## 20.4 Lo que cuesta cada pareja
#
# Tres tablas, (query, object), pesadas y sumadas: menos la probabilidad de la clase del objeto, la
# distancia L1 entre las cajas dichas como centro y tamaño, y menos el GIoU. Como hay pocos objetos,
# el reparto se busca probando todas las maneras de dar una consulta distinta a cada uno.


# %%
def assign_queries(
    logits: Float[Tensor, "query class"],
    boxes: Float[Tensor, "query 4"],
    labels: Int[Tensor, " object"],
    truth: Float[Tensor, "object 4"],
    *,
    weights: tuple[float, float, float] = (1.0, 5.0, 2.0),
) -> tuple[Float[Tensor, "query object"], Int[Tensor, " object"]]:
    """Lo que cuesta cada pareja, y la consulta de cada objeto en el reparto que menos cuesta."""
    chance = logits.softmax(dim=-1)[:, labels]  # (query, object)
    low, high = truth.split(2, dim=-1)
    goal = torch.cat([(low + high) / 2, high - low], dim=-1)
    apart = (boxes[:, None] - goal).abs().sum(dim=-1)
    overlap = giou_table(boxes[None], truth[None])[0]
    cost = weights[1] * apart - weights[0] * chance - weights[2] * overlap
    objects = torch.arange(len(labels))
    ways = torch.tensor(list(permutations(range(len(logits)), len(labels))))
    best = cost[ways, objects].sum(dim=-1).argmin()
    return cost, ways[best]


# %% [markdown]
# ## 20.5 Precisión media
#
# Los hallazgos pasan de mayor a menor nota, y `stable` deja los empates en el orden en que llegan.
# Cada uno toma, de los objetos **libres** de su imagen, aquel con que más comparte, si llega al
# umbral. Después, la precisión de cada acierto se cambia por la mayor que se tiene desde él en
# adelante, y se suma: cada acierto avanza lo mismo, uno entre los objetos que hay.


# %%
def average_precision(
    scores: Float[Tensor, " found"],
    images: Int[Tensor, " found"],
    boxes: Float[Tensor, "found 4"],
    truth_images: Int[Tensor, " object"],
    truth: Float[Tensor, "object 4"],
    *,
    threshold: float = 0.5,
) -> tuple[Bool[Tensor, " found"], float]:
    """Qué hallazgos aciertan, y la precisión media de todos."""
    low = torch.maximum(boxes[:, None, :2], truth[:, :2])
    high = torch.minimum(boxes[:, None, 2:], truth[:, 2:])
    shared = (high - low).clamp(min=0).prod(dim=-1)  # (found, object)
    sizes, areas = ((x[:, 2:] - x[:, :2]).prod(dim=-1) for x in (boxes, truth))
    overlap = shared / (sizes[:, None] + areas - shared)
    overlap[images[:, None] != truth_images] = -1.0
    order = scores.argsort(descending=True, stable=True)
    right = torch.zeros(len(scores), dtype=torch.bool)
    for i in order.tolist():
        most, which = overlap[i].max(dim=0)
        if most >= threshold:
            right[i] = True
            overlap[:, which] = -1.0
    good = right[order]
    precision = good.double().cumsum(dim=0) / torch.arange(1, len(good) + 1)
    best = precision.flip(0).cummax(dim=0).values.flip(0)
    return right, float(best[good].sum()) / len(truth)


# %% [markdown]
# ## 20.6 De cajas a palabras, y vuelta
#
# Los objetos van de mayor a menor área. El cajón es la parte entera, y el borde de la derecha, el
# 1, se queda en el último. A la vuelta se lee el centro del cajón, así que ninguna coordenada se
# mueve más de medio cajón.


# %%
def words_and_back(
    labels: Int[Tensor, " object"], boxes: Float[Tensor, "object 4"], *, bins: int, most: int
) -> tuple[Int[Tensor, " word"], Float[Tensor, "kept 4"]]:
    """Las palabras que dicen unos objetos, y las cajas que se leen en ellas."""
    area = (boxes[:, 2:] - boxes[:, :2]).prod(dim=-1)
    order = area.argsort(descending=True)[:most]
    upright = boxes[order][:, [1, 0, 3, 2]]  # y0, x0, y1, x1
    drawers = (upright * bins).long().clamp(max=bins - 1)  # (kept, 4)
    rows = torch.cat([drawers + 3, labels[order, None] + 3 + bins], dim=1)  # (kept, 5)
    words = torch.cat([rows.flatten(), torch.tensor([2])])
    back = (drawers[:, [1, 0, 3, 2]] + 0.5).to(boxes) / bins
    return words, back


# %% [markdown]
# ## 20.7 Dice y focal
#
# Las dos salen de la probabilidad de cada píxel. Con una máscara vacía, Dice no divide por cero
# porque suma 1 arriba y abajo. En la focal, el logaritmo de la sigmoide se pide a PyTorch:
# calculado aparte daría infinito con puntuaciones grandes, y 0 por infinito no es un número.


# %%
def mask_losses(
    logits: Float[Tensor, "mask pixel"],
    masks: Bool[Tensor, "mask pixel"],
    *,
    gamma: float = 2.0,
    alpha: float = 0.25,
) -> tuple[Float[Tensor, " mask"], Float[Tensor, " mask"]]:
    """La pérdida de Dice y la focal de cada máscara."""
    chance, inside = logits.sigmoid(), masks.to(logits.dtype)
    shared = (chance * inside).sum(dim=-1)
    total = chance.sum(dim=-1) + inside.sum(dim=-1)
    dice = 1 - (2 * shared + 1) / (total + 1)
    signed = torch.where(masks, logits, -logits)  # cuánto se inclina por lo cierto
    weight = torch.where(masks, alpha, 1 - alpha)
    missed = (-signed).sigmoid() ** gamma
    focal = -(weight * missed * torch.nn.functional.logsigmoid(signed)).mean(dim=-1)
    return dice, focal


# %% [markdown]
# ## 20.8 Un mapa sin solapes
#
# De las consultas que quedan, cada píxel se lo lleva una sola, la de mayor producto. Lo que le
# queda a una consulta se compara con su máscara entera, y si es poco, se va. Los objetos se
# numeran; lo que no son objetos comparte número con lo de su clase.


# %%
def fuse(
    logits: Float[Tensor, "query class"],
    masks: Float[Tensor, "query row column"],
    *,
    things: int,
    least: float = 0.7,
    overlap: float = 0.8,
) -> tuple[Int[Tensor, "row column"], Int[Tensor, " part"]]:
    """De qué trozo es cada píxel, y la clase de cada trozo."""
    score, label = logits.softmax(dim=-1).max(dim=-1)  # (query,)
    kept = (score > least) & (label < logits.shape[-1] - 1)
    score, label, chance = score[kept], label[kept], masks[kept].sigmoid()
    ids, classes = torch.zeros(masks.shape[1:], dtype=torch.long), []
    if len(label):
        owner = (score[:, None, None] * chance).argmax(dim=0)  # (row, column)
    for k, kind in enumerate(label.tolist()):
        whole = chance[k] >= 0.5
        mine = whole & (owner == k)
        if not mine.any() or mine.sum() < overlap * whole.sum():
            continue
        if kind < things or kind not in classes:
            classes.append(kind)
            ids[mine] = len(classes)
        else:
            ids[mine] = classes.index(kind) + 1
    return ids, torch.tensor(classes, dtype=torch.long)
