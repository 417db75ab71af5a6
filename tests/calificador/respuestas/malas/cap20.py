"""Respuestas equivocadas que no salen del registro. Cada celda es una entrega entera."""

# %% 20.1 | cuenta las rayas y no los cuadros
boxes_by_hand = {"shared": 8, "iou": 0.1, "giou": -0.15, "far": -0.4, "farther": -0.5}

# %% 20.1 | lo vacío es todo lo que no es común
boxes_by_hand = {"shared": 3, "iou": 0.1, "giou": 0.1 - 37 / 40, "far": -1, "farther": -1}

# %% 20.1 | la caja que envuelve, mal medida
boxes_by_hand = {"shared": 3, "iou": 0.1, "giou": 0.1 - 2 / 32, "far": -0.4, "farther": -0.5}

# %% 20.1 | el IoU, con las áreas al revés
boxes_by_hand = {"shared": 3, "iou": 12 / 21, "giou": -0.15, "far": -0.4, "farther": -0.4}

# %% 20.1 | D, como C
boxes_by_hand = {"shared": 3, "iou": 0.1, "giou": -0.15, "far": -0.4, "farther": -0.4}

# %% 20.1 | el IoU de C, y no su GIoU ⇒ se pide el GIoU
boxes_by_hand = {"shared": 3, "iou": 0.1, "giou": -0.15, "far": 0, "farther": -0.5}

# %% 20.1 | la unión, sin quitar lo común ⇒ está dos veces
boxes_by_hand = {"shared": 3, "iou": 3 / 33, "giou": -0.15, "far": -0.4, "farther": -0.5}

# %% 20.1 | en tanto por ciento ⇒ tanto por ciento
boxes_by_hand = {"shared": 3, "iou": 10, "giou": -15, "far": -40, "farther": -50}

# %% 20.1 | solo el IoU, en tanto por ciento ⇒ tanto por ciento
boxes_by_hand = {"shared": 3, "iou": 10, "giou": -0.15, "far": -0.4, "farther": -0.5}

# %% 20.2 | las dos, como centro y tamaño ⇒ solo se convierte `found`
def giou_table(found, truth):
    (a, b), (c, d) = [(x[..., :2] - x[..., 2:] / 2, x[..., :2] + x[..., 2:] / 2) for x in (found[:, :, None], truth[:, None])]
    inter = (torch.minimum(b, d) - torch.maximum(a, c)).clamp(min=0).prod(-1)
    union = (b - a).prod(-1) + (d - c).prod(-1) - inter
    hull = (torch.maximum(b, d) - torch.minimum(a, c)).prod(-1)
    return torch.nan_to_num(inter / union) - torch.nan_to_num((hull - union) / hull)

# %% 20.2 | sin convertir, y las áreas recortadas ⇒ no la arregla
def giou_table(found, truth):
    a, b = found.unsqueeze(2), truth.unsqueeze(1)
    sides = (torch.minimum(a[..., 2:], b[..., 2:]) - torch.maximum(a[..., :2], b[..., :2])).clamp(min=0)
    inter = sides[..., 0] * sides[..., 1]
    area = lambda x: (x[..., 2] - x[..., 0]).clamp(min=0) * (x[..., 3] - x[..., 1]).clamp(min=0)
    union = area(a) + area(b) - inter
    hull = (torch.maximum(a[..., 2:], b[..., 2:]) - torch.minimum(a[..., :2], b[..., :2])).clamp(min=0).prod(-1)
    return torch.nan_to_num(inter / union) - torch.nan_to_num((hull - union) / hull)

# %% 20.2 | centro más y menos el tamaño entero ⇒ A cada lado del centro va la mitad
def giou_table(found, truth):
    cx, cy, w, h = found.unbind(-1)
    a = torch.stack([cx - w, cy - h, cx + w, cy + h], -1)[:, :, None]
    b = truth[:, None]
    area = lambda x: (x[..., 2] - x[..., 0]) * (x[..., 3] - x[..., 1])
    inter = torch.relu(torch.minimum(a, b)[..., 2:] - torch.maximum(a, b)[..., :2]).prod(-1)
    union = area(a) + area(b) - inter
    hull = (torch.maximum(a, b)[..., 2:] - torch.minimum(a, b)[..., :2]).prod(-1)
    return torch.nan_to_num(inter / union) - torch.nan_to_num((hull - union) / hull)

# %% 20.2 | las que hay, en las filas ⇒ sale traspuesta
def giou_table(found, truth):
    cx, cy, w, h = found.unbind(-1)
    a = torch.stack([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], -1)[:, None]
    b = truth[:, :, None]
    area = lambda x: (x[..., 2] - x[..., 0]) * (x[..., 3] - x[..., 1])
    inter = torch.relu(torch.minimum(a, b)[..., 2:] - torch.maximum(a, b)[..., :2]).prod(-1)
    union = area(a) + area(b) - inter
    hull = (torch.maximum(a, b)[..., 2:] - torch.minimum(a, b)[..., :2]).prod(-1)
    return torch.nan_to_num(inter / union) - torch.nan_to_num((hull - union) / hull)

# %% 20.2 | con un píxel más en cada lado
def giou_table(found, truth):
    a, b = (found[..., :2] - found[..., 2:] / 2)[:, :, None], (found[..., :2] + found[..., 2:] / 2)[:, :, None]
    c, d = truth[:, None, :, :2], truth[:, None, :, 2:]
    inter = (torch.minimum(b, d) - torch.maximum(a, c) + 1).clamp(min=0).prod(-1)
    union = (b - a + 1).prod(-1) + (d - c + 1).prod(-1) - inter
    hull = (torch.maximum(b, d) - torch.minimum(a, c) + 1).prod(-1)
    return inter / union - (hull - union) / hull

# %% 20.2 | con un épsilon ⇒ la precisión
def giou_table(found, truth):
    a, b = (found[..., :2] - found[..., 2:] / 2)[:, :, None], (found[..., :2] + found[..., 2:] / 2)[:, :, None]
    c, d = truth[:, None, :, :2], truth[:, None, :, 2:]
    inter = (torch.minimum(b, d) - torch.maximum(a, c)).clamp(min=0).prod(-1)
    union = (b - a).prod(-1) + (d - c).prod(-1) - inter
    hull = (torch.maximum(b, d) - torch.minimum(a, c)).prod(-1)
    return inter / (union + 1e-7) - (hull - union) / (hull + 1e-7)

# %% 20.2 | el centro en la pérdida de distancias (DIoU)
def giou_table(found, truth):
    a, b = (found[..., :2] - found[..., 2:] / 2)[:, :, None], (found[..., :2] + found[..., 2:] / 2)[:, :, None]
    c, d = truth[:, None, :, :2], truth[:, None, :, 2:]
    inter = (torch.minimum(b, d) - torch.maximum(a, c)).clamp(min=0).prod(-1)
    union = (b - a).prod(-1) + (d - c).prod(-1) - inter
    far = ((a + b - c - d) / 2).square().sum(-1)
    diagonal = (torch.maximum(b, d) - torch.minimum(a, c)).square().sum(-1)
    return torch.nan_to_num(inter / union) - torch.nan_to_num(far / diagonal)

# %% 20.2 | solo la primera imagen
def giou_table(found, truth):
    a, b = found[:1, :, None, :2] - found[:1, :, None, 2:] / 2, found[:1, :, None, :2] + found[:1, :, None, 2:] / 2
    c, d = truth[:1, None, :, :2], truth[:1, None, :, 2:]
    inter = (torch.minimum(b, d) - torch.maximum(a, c)).clamp(min=0).prod(-1)
    union = (b - a).prod(-1) + (d - c).prod(-1) - inter
    hull = (torch.maximum(b, d) - torch.minimum(a, c)).prod(-1)
    return (torch.nan_to_num(inter / union) - torch.nan_to_num((hull - union) / hull)).repeat(len(found), 1, 1)

# %% 20.2 | menos uno donde no se tocan
def giou_table(found, truth):
    a, b = (found[..., :2] - found[..., 2:] / 2)[:, :, None], (found[..., :2] + found[..., 2:] / 2)[:, :, None]
    c, d = truth[:, None, :, :2], truth[:, None, :, 2:]
    inter = (torch.minimum(b, d) - torch.maximum(a, c)).clamp(min=0).prod(-1)
    union = (b - a).prod(-1) + (d - c).prod(-1) - inter
    hull = (torch.maximum(b, d) - torch.minimum(a, c)).prod(-1)
    return torch.where(inter > 0, inter / union - (hull - union) / hull, -1.0)

# %% 20.3 | se especializan ⇒ lo hace el emparejamiento
without_matching = "cada una, su dígito"

# %% 20.3 | el mismo ⇒ cuesta mucho
without_matching = "las dos, el mismo dígito"

# %% 20.3 | una calla ⇒ ninguna se compara
without_matching = "una, un dígito, y la otra, nada"

# %% 20.3 | se especializan, sin la coma ⇒ lo hace el emparejamiento
without_matching = "Cada una su dígito."

# %% 20.3 | fuera de las opciones
without_matching = "el punto medio"

# %% 20.3 | un número
without_matching = 3

# %% 20.4 | sin el GIoU
def assign_queries(logits, boxes, labels, truth, *, weights=(1.0, 5.0, 2.0)):
    from scipy.optimize import linear_sum_assignment
    goal = torch.cat([(truth[:, :2] + truth[:, 2:]) / 2, truth[:, 2:] - truth[:, :2]], 1)
    cost = weights[1] * torch.cdist(boxes, goal, p=1) - weights[0] * logits.softmax(-1)[:, labels]
    return cost, torch.tensor(linear_sum_assignment(cost.T.numpy())[1])

# %% 20.4 | con el IoU, y no el GIoU
def assign_queries(logits, boxes, labels, truth, *, weights=(1.0, 5.0, 2.0)):
    from scipy.optimize import linear_sum_assignment
    a, b, c = weights
    lo, hi = (boxes[:, :2] - boxes[:, 2:] / 2)[:, None], (boxes[:, :2] + boxes[:, 2:] / 2)[:, None]
    u, v = truth[:, :2], truth[:, 2:]
    goal = torch.cat([(u + v) / 2, v - u], 1)
    inter = (torch.minimum(hi, v) - torch.maximum(lo, u)).clamp(min=0).prod(-1)
    union = (hi - lo).prod(-1) + (v - u).prod(-1) - inter
    hull = (torch.maximum(hi, v) - torch.minimum(lo, u)).prod(-1)
    giou = inter / union - (hull - union) / hull
    p, apart = logits.softmax(1)[:, labels], torch.cdist(boxes, goal, p=1)
    cost = b * apart - c * inter / union - a * p
    return cost, torch.tensor(linear_sum_assignment(cost.T.numpy())[1])

# %% 20.4 | solo la clase
def assign_queries(logits, boxes, labels, truth, *, weights=(1.0, 5.0, 2.0)):
    from scipy.optimize import linear_sum_assignment
    cost = -weights[0] * logits.softmax(-1)[:, labels]
    return cost, torch.tensor(linear_sum_assignment(cost.T.numpy())[1])

# %% 20.4 | la entropía cruzada, y la distancia entre esquinas
def assign_queries(logits, boxes, labels, truth, *, weights=(1.0, 5.0, 2.0)):
    from scipy.optimize import linear_sum_assignment
    corners = torch.cat([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], 1)
    cost = weights[1] * torch.cdist(corners, truth, p=1) - weights[0] * logits.log_softmax(-1)[:, labels]
    return cost, torch.tensor(linear_sum_assignment(cost.T.numpy())[1])

# %% 20.4 | la clase que más se parece
def assign_queries(logits, boxes, labels, truth, *, weights=(1.0, 5.0, 2.0)):
    cost = (logits.argmax(-1)[:, None] != labels).double()
    return cost, cost.argmin(0)

# %% 20.4 | el objeto de cada consulta ⇒ el objeto de cada consulta elegida
def assign_queries(logits, boxes, labels, truth, *, weights=(1.0, 5.0, 2.0)):
    from scipy.optimize import linear_sum_assignment
    lo, hi = (boxes[:, :2] - boxes[:, 2:] / 2)[:, None], (boxes[:, :2] + boxes[:, 2:] / 2)[:, None]
    c, d = truth[:, :2], truth[:, 2:]
    inter = (torch.minimum(hi, d) - torch.maximum(lo, c)).clamp(min=0).prod(-1)
    union = (hi - lo).prod(-1) + (d - c).prod(-1) - inter
    hull = (torch.maximum(hi, d) - torch.minimum(lo, c)).prod(-1)
    apart = torch.cdist(boxes, torch.cat([(c + d) / 2, d - c], 1), p=1)
    cost = weights[1] * apart - weights[2] * (inter / union - (hull - union) / hull) - weights[0] * logits.softmax(1)[:, labels]
    return cost, torch.tensor(linear_sum_assignment(cost.numpy())[1])

# %% 20.4 | uno menos el GIoU ⇒ sin sumarle 1
def assign_queries(logits, boxes, labels, truth, *, weights=(1.0, 5.0, 2.0)):
    from scipy.optimize import linear_sum_assignment
    a, b, c = weights
    lo, hi = (boxes[:, :2] - boxes[:, 2:] / 2)[:, None], (boxes[:, :2] + boxes[:, 2:] / 2)[:, None]
    u, v = truth[:, :2], truth[:, 2:]
    goal = torch.cat([(u + v) / 2, v - u], 1)
    inter = (torch.minimum(hi, v) - torch.maximum(lo, u)).clamp(min=0).prod(-1)
    union = (hi - lo).prod(-1) + (v - u).prod(-1) - inter
    hull = (torch.maximum(hi, v) - torch.minimum(lo, u)).prod(-1)
    giou = inter / union - (hull - union) / hull
    p, apart = logits.softmax(1)[:, labels], torch.cdist(boxes, goal, p=1)
    cost = b * apart + c * (1 - giou) - a * p
    return cost, torch.tensor(linear_sum_assignment(cost.T.numpy())[1])

# %% 20.4 | uno menos la probabilidad ⇒ es la probabilidad con signo menos
def assign_queries(logits, boxes, labels, truth, *, weights=(1.0, 5.0, 2.0)):
    from scipy.optimize import linear_sum_assignment
    a, b, c = weights
    lo, hi = (boxes[:, :2] - boxes[:, 2:] / 2)[:, None], (boxes[:, :2] + boxes[:, 2:] / 2)[:, None]
    u, v = truth[:, :2], truth[:, 2:]
    goal = torch.cat([(u + v) / 2, v - u], 1)
    inter = (torch.minimum(hi, v) - torch.maximum(lo, u)).clamp(min=0).prod(-1)
    union = (hi - lo).prod(-1) + (v - u).prod(-1) - inter
    hull = (torch.maximum(hi, v) - torch.minimum(lo, u)).prod(-1)
    giou = inter / union - (hull - union) / hull
    p, apart = logits.softmax(1)[:, labels], torch.cdist(boxes, goal, p=1)
    cost = b * apart - c * giou + a * (1 - p)
    return cost, torch.tensor(linear_sum_assignment(cost.T.numpy())[1])

# %% 20.4 | uno menos cada cosa ⇒ se les suma 1
def assign_queries(logits, boxes, labels, truth, *, weights=(1.0, 5.0, 2.0)):
    from scipy.optimize import linear_sum_assignment
    a, b, c = weights
    lo, hi = (boxes[:, :2] - boxes[:, 2:] / 2)[:, None], (boxes[:, :2] + boxes[:, 2:] / 2)[:, None]
    u, v = truth[:, :2], truth[:, 2:]
    goal = torch.cat([(u + v) / 2, v - u], 1)
    inter = (torch.minimum(hi, v) - torch.maximum(lo, u)).clamp(min=0).prod(-1)
    union = (hi - lo).prod(-1) + (v - u).prod(-1) - inter
    hull = (torch.maximum(hi, v) - torch.minimum(lo, u)).prod(-1)
    giou = inter / union - (hull - union) / hull
    p, apart = logits.softmax(1)[:, labels], torch.cdist(boxes, goal, p=1)
    cost = b * apart + c * (1 - giou) + a * (1 - p)
    return cost, torch.tensor(linear_sum_assignment(cost.T.numpy())[1])

# %% 20.4 | la distancia, por las esquinas ⇒ no por sus esquinas
def assign_queries(logits, boxes, labels, truth, *, weights=(1.0, 5.0, 2.0)):
    from scipy.optimize import linear_sum_assignment
    a, b, c = weights
    lo, hi = (boxes[:, :2] - boxes[:, 2:] / 2)[:, None], (boxes[:, :2] + boxes[:, 2:] / 2)[:, None]
    u, v = truth[:, :2], truth[:, 2:]
    goal = torch.cat([(u + v) / 2, v - u], 1)
    inter = (torch.minimum(hi, v) - torch.maximum(lo, u)).clamp(min=0).prod(-1)
    union = (hi - lo).prod(-1) + (v - u).prod(-1) - inter
    hull = (torch.maximum(hi, v) - torch.minimum(lo, u)).prod(-1)
    giou = inter / union - (hull - union) / hull
    p, apart = logits.softmax(1)[:, labels], torch.cdist(torch.cat([lo, hi], -1)[:, 0], truth, p=1)
    cost = b * apart - c * giou - a * p
    return cost, torch.tensor(linear_sum_assignment(cost.T.numpy())[1])

# %% 20.4 | la softmax, por la otra dimensión ⇒ no por las consultas
def assign_queries(logits, boxes, labels, truth, *, weights=(1.0, 5.0, 2.0)):
    from scipy.optimize import linear_sum_assignment
    a, b, c = weights
    lo, hi = (boxes[:, :2] - boxes[:, 2:] / 2)[:, None], (boxes[:, :2] + boxes[:, 2:] / 2)[:, None]
    u, v = truth[:, :2], truth[:, 2:]
    goal = torch.cat([(u + v) / 2, v - u], 1)
    inter = (torch.minimum(hi, v) - torch.maximum(lo, u)).clamp(min=0).prod(-1)
    union = (hi - lo).prod(-1) + (v - u).prod(-1) - inter
    hull = (torch.maximum(hi, v) - torch.minimum(lo, u)).prod(-1)
    giou = inter / union - (hull - union) / hull
    p, apart = torch.softmax(logits, 0)[:, labels], torch.cdist(boxes, goal, p=1)
    cost = b * apart - c * giou - a * p
    return cost, torch.tensor(linear_sum_assignment(cost.T.numpy())[1])

# %% 20.4 | las puntuaciones, tal cual ⇒ falta la softmax
def assign_queries(logits, boxes, labels, truth, *, weights=(1.0, 5.0, 2.0)):
    from scipy.optimize import linear_sum_assignment
    a, b, c = weights
    lo, hi = (boxes[:, :2] - boxes[:, 2:] / 2)[:, None], (boxes[:, :2] + boxes[:, 2:] / 2)[:, None]
    u, v = truth[:, :2], truth[:, 2:]
    goal = torch.cat([(u + v) / 2, v - u], 1)
    inter = (torch.minimum(hi, v) - torch.maximum(lo, u)).clamp(min=0).prod(-1)
    union = (hi - lo).prod(-1) + (v - u).prod(-1) - inter
    hull = (torch.maximum(hi, v) - torch.minimum(lo, u)).prod(-1)
    giou = inter / union - (hull - union) / hull
    p, apart = logits[:, labels], torch.cdist(boxes, goal, p=1)
    cost = b * apart - c * giou - a * p
    return cost, torch.tensor(linear_sum_assignment(cost.T.numpy())[1])

# %% 20.4 | las filas de scipy, tal cual ⇒ las consultas que se quedan con algo
def assign_queries(logits, boxes, labels, truth, *, weights=(1.0, 5.0, 2.0)):
    from scipy.optimize import linear_sum_assignment
    a, b, c = weights
    lo, hi = (boxes[:, :2] - boxes[:, 2:] / 2)[:, None], (boxes[:, :2] + boxes[:, 2:] / 2)[:, None]
    u, v = truth[:, :2], truth[:, 2:]
    goal = torch.cat([(u + v) / 2, v - u], 1)
    inter = (torch.minimum(hi, v) - torch.maximum(lo, u)).clamp(min=0).prod(-1)
    union = (hi - lo).prod(-1) + (v - u).prod(-1) - inter
    hull = (torch.maximum(hi, v) - torch.minimum(lo, u)).prod(-1)
    giou = inter / union - (hull - union) / hull
    p, apart = logits.softmax(1)[:, labels], torch.cdist(boxes, goal, p=1)
    cost = b * apart - c * giou - a * p
    return cost, torch.tensor(linear_sum_assignment(cost.numpy())[0])

# %% 20.4 | la pareja más barata, y a otra ⇒ la más barata de las que quedan
def assign_queries(logits, boxes, labels, truth, *, weights=(1.0, 5.0, 2.0)):
    from scipy.optimize import linear_sum_assignment
    import numpy as np
    a, b, c = weights
    lo, hi = (boxes[:, :2] - boxes[:, 2:] / 2)[:, None], (boxes[:, :2] + boxes[:, 2:] / 2)[:, None]
    u, v = truth[:, :2], truth[:, 2:]
    goal = torch.cat([(u + v) / 2, v - u], 1)
    inter = (torch.minimum(hi, v) - torch.maximum(lo, u)).clamp(min=0).prod(-1)
    union = (hi - lo).prod(-1) + (v - u).prod(-1) - inter
    hull = (torch.maximum(hi, v) - torch.minimum(lo, u)).prod(-1)
    giou = inter / union - (hull - union) / hull
    p, apart = logits.softmax(1)[:, labels], torch.cdist(boxes, goal, p=1)
    cost = b * apart - c * giou - a * p
    left, out = cost.clone(), [0] * len(labels)
    while torch.isfinite(left).any():
        q, o = np.unravel_index(int(left.argmin()), left.shape)
        out[o] = int(q)
        left[q, :], left[:, o] = math.inf, math.inf
    return cost, torch.tensor(out)

# %% 20.4 | siempre los pesos de DETR ⇒ no siempre los de DETR
def assign_queries(logits, boxes, labels, truth, *, weights=(1.0, 5.0, 2.0)):
    from scipy.optimize import linear_sum_assignment
    a, b, c = 1, 5, 2
    lo, hi = (boxes[:, :2] - boxes[:, 2:] / 2)[:, None], (boxes[:, :2] + boxes[:, 2:] / 2)[:, None]
    u, v = truth[:, :2], truth[:, 2:]
    goal = torch.cat([(u + v) / 2, v - u], 1)
    inter = (torch.minimum(hi, v) - torch.maximum(lo, u)).clamp(min=0).prod(-1)
    union = (hi - lo).prod(-1) + (v - u).prod(-1) - inter
    hull = (torch.maximum(hi, v) - torch.minimum(lo, u)).prod(-1)
    giou = inter / union - (hull - union) / hull
    p, apart = logits.softmax(1)[:, labels], torch.cdist(boxes, goal, p=1)
    cost = b * apart - c * giou - a * p
    return cost, torch.tensor(linear_sum_assignment(cost.T.numpy())[1])

# %% 20.4 | sin los pesos ⇒ Falta multiplicar
def assign_queries(logits, boxes, labels, truth, *, weights=(1.0, 5.0, 2.0)):
    from scipy.optimize import linear_sum_assignment
    a = b = c = 1
    lo, hi = (boxes[:, :2] - boxes[:, 2:] / 2)[:, None], (boxes[:, :2] + boxes[:, 2:] / 2)[:, None]
    u, v = truth[:, :2], truth[:, 2:]
    goal = torch.cat([(u + v) / 2, v - u], 1)
    inter = (torch.minimum(hi, v) - torch.maximum(lo, u)).clamp(min=0).prod(-1)
    union = (hi - lo).prod(-1) + (v - u).prod(-1) - inter
    hull = (torch.maximum(hi, v) - torch.minimum(lo, u)).prod(-1)
    giou = inter / union - (hull - union) / hull
    p, apart = logits.softmax(1)[:, labels], torch.cdist(boxes, goal, p=1)
    cost = b * apart - c * giou - a * p
    return cost, torch.tensor(linear_sum_assignment(cost.T.numpy())[1])

# %% 20.5 | acierta lo que toca algo
def average_precision(scores, images, boxes, truth_images, truth, *, threshold=0.5):
    side = torch.minimum(boxes[:, None, 2:], truth[:, 2:]) - torch.maximum(boxes[:, None, :2], truth[:, :2])
    right = ((side > 0).all(-1) & (images[:, None] == truth_images)).any(1)
    good = right[scores.argsort(descending=True, stable=True)]
    p = [(good[: k + 1].sum() / (k + 1)).item() for k in range(len(good))]
    return right, sum(max(p[k:]) for k in range(len(p)) if good[k]) / len(truth)

# %% 20.5 | nada acierta
def average_precision(scores, images, boxes, truth_images, truth, *, threshold=0.5):
    return torch.zeros(len(scores), dtype=torch.bool), 0.0

# %% 20.5 | la precisión al final
def average_precision(scores, images, boxes, truth_images, truth, *, threshold=0.5):
    right, free = torch.zeros(len(scores), dtype=torch.bool), torch.ones(len(truth), dtype=torch.bool)
    inter = (torch.minimum(boxes[:, None, 2:], truth[:, 2:]) - torch.maximum(boxes[:, None, :2], truth[:, :2])).clamp(min=0).prod(-1)
    iou = inter / ((boxes[:, 2:] - boxes[:, :2]).prod(-1)[:, None] + (truth[:, 2:] - truth[:, :2]).prod(-1) - inter)
    for i in scores.argsort(descending=True, stable=True):
        row = torch.where(free & (truth_images == images[i]), iou[i], -1.0)
        if row.max() >= threshold:
            right[i], free[row.argmax()] = True, False
    return right, float(right.sum()) / max(1, len(right))

# %% 20.5 | la media de once puntos
def average_precision(scores, images, boxes, truth_images, truth, *, threshold=0.5):
    right, free = torch.zeros(len(scores), dtype=torch.bool), torch.ones(len(truth), dtype=torch.bool)
    inter = (torch.minimum(boxes[:, None, 2:], truth[:, 2:]) - torch.maximum(boxes[:, None, :2], truth[:, :2])).clamp(min=0).prod(-1)
    iou = inter / ((boxes[:, 2:] - boxes[:, :2]).prod(-1)[:, None] + (truth[:, 2:] - truth[:, :2]).prod(-1) - inter)
    order = scores.argsort(descending=True, stable=True)
    for i in order:
        row = torch.where(free & (truth_images == images[i]), iou[i], -1.0)
        if row.max() >= threshold:
            right[i], free[row.argmax()] = True, False
    hits = right[order].cumsum(0)
    p, r = (hits / torch.arange(1, len(hits) + 1)).tolist(), (hits / len(truth)).tolist()
    return right, sum(max((a for a, b in zip(p, r) if b >= t / 10), default=0) for t in range(11)) / 11

# %% 20.5 | lo que comparten, entre el área del objeto
def average_precision(scores, images, boxes, truth_images, truth, *, threshold=0.5):
    right, free = torch.zeros(len(scores), dtype=torch.bool), torch.ones(len(truth), dtype=torch.bool)
    inter = (torch.minimum(boxes[:, None, 2:], truth[:, 2:]) - torch.maximum(boxes[:, None, :2], truth[:, :2])).clamp(min=0).prod(-1)
    iou = inter / (truth[:, 2:] - truth[:, :2]).prod(-1)
    order = scores.argsort(descending=True, stable=True)
    for i in order:
        row = torch.where(free & (truth_images == images[i]), iou[i], -1.0)
        if row.max() >= threshold:
            right[i], free[row.argmax()] = True, False
    good = right[order]
    p = [(good[: k + 1].sum() / (k + 1)).item() for k in range(len(good))]
    return right, sum(max(p[k:]) for k in range(len(p)) if good[k]) / len(truth)

# %% 20.5 | una vez cogido, ya no se mira otro ⇒ está cogido
def average_precision(scores, images, boxes, truth_images, truth, *, threshold=0.5):
    right, free = torch.zeros(len(scores), dtype=torch.bool), torch.ones(len(truth), dtype=torch.bool)
    inter = (torch.minimum(boxes[:, None, 2:], truth[:, 2:]) - torch.maximum(boxes[:, None, :2], truth[:, :2])).clamp(min=0).prod(-1)
    iou = inter / ((boxes[:, 2:] - boxes[:, :2]).prod(-1)[:, None] + (truth[:, 2:] - truth[:, :2]).prod(-1) - inter)
    order = scores.argsort(descending=True, stable=True)
    for i in order:
        row = torch.where(truth_images == images[i], iou[i], -1.0)
        j = row.argmax()
        if row[j] >= threshold and free[j]:
            right[i], free[j] = True, False
    good = right[order]
    p = [(good[: k + 1].sum() / (k + 1)).item() for k in range(len(good))]
    return right, sum(max(p[k:]) for k in range(len(p)) if good[k]) / len(truth)

# %% 20.6 | centro y tamaño
def words_and_back(labels, boxes, *, bins, most):
    keep = (boxes[:, 2:] - boxes[:, :2]).prod(1).argsort(descending=True)[:most]
    lo, hi = boxes[keep, :2], boxes[keep, 2:]
    q = (torch.cat([((lo + hi) / 2).flip(1), (hi - lo).flip(1)], 1) * bins).long().clamp(max=bins - 1)
    rows = torch.cat([q + 3, labels[keep, None] + 3 + bins], 1)
    c = (q + 0.5) / bins
    back = torch.cat([c[:, :2] - c[:, 2:] / 2, c[:, :2] + c[:, 2:] / 2], 1)[:, [1, 0, 3, 2]]
    return torch.cat([rows.flatten(), torch.tensor([2])]), back

# %% 20.6 | la clase delante
def words_and_back(labels, boxes, *, bins, most):
    keep = (boxes[:, 2:] - boxes[:, :2]).prod(1).argsort(descending=True)[:most]
    q = (boxes[keep] * bins).long().clamp(max=bins - 1)
    rows = torch.cat([labels[keep, None] + 3 + bins, q[:, [1, 0, 3, 2]] + 3], 1)
    return torch.cat([rows.flatten(), torch.tensor([2])]), (q + 0.5) / bins

# %% 20.6 | con comienzo
def words_and_back(labels, boxes, *, bins, most):
    keep = (boxes[:, 2:] - boxes[:, :2]).prod(1).argsort(descending=True)[:most]
    q = (boxes[keep] * bins).long().clamp(max=bins - 1)
    rows = torch.cat([q[:, [1, 0, 3, 2]] + 3, labels[keep, None] + 3 + bins], 1)
    return torch.cat([torch.tensor([1]), rows.flatten(), torch.tensor([2])]), (q + 0.5) / bins

# %% 20.6 | las cajas, en su orden de llegada
def words_and_back(labels, boxes, *, bins, most):
    keep = (boxes[:, 2:] - boxes[:, :2]).prod(1).argsort(descending=True)[:most]
    q = (boxes * bins).long().clamp(max=bins - 1)
    rows = torch.cat([q[keep][:, [1, 0, 3, 2]] + 3, labels[keep, None] + 3 + bins], 1)
    return torch.cat([rows.flatten(), torch.tensor([2])]), (q[keep.sort().values] + 0.5) / bins

# %% 20.6 | se quedan los primeros, y después se ordenan
def words_and_back(labels, boxes, *, bins, most):
    labels, boxes = labels[:most], boxes[:most]
    keep = (boxes[:, 2:] - boxes[:, :2]).prod(1).argsort()
    q = (boxes[keep] * bins).long().clamp(max=bins - 1)
    rows = torch.cat([q[:, [1, 0, 3, 2]] + 3, labels[keep, None] + 3 + bins], 1)
    return torch.cat([rows.flatten(), torch.tensor([2])]), (q + 0.5) / bins

# %% 20.6 | el cajón, redondeado ⇒ sin redondear
def words_and_back(labels, boxes, *, bins, most):
    keep = (boxes[:, 2:] - boxes[:, :2]).prod(1).argsort(descending=True)[:most]
    q = torch.round(boxes[keep] * (bins - 1)).long()
    rows = torch.cat([q[:, [1, 0, 3, 2]] + 3, labels[keep, None] + 3 + bins], 1)
    return torch.cat([rows.flatten(), torch.tensor([2])]), (q + 0.5) / bins

# %% 20.7 | una sola Dice para todas
def mask_losses(logits, masks, *, gamma=2.0, alpha=0.25):
    y, p = masks.double(), logits.sigmoid()
    dice = 1 - (2 * (p * y).sum() + 1) / (p.sum() + y.sum() + 1)
    ce = nn.functional.binary_cross_entropy_with_logits(logits, y, reduction="none")
    return dice.expand(len(y)), ((alpha * y + (1 - alpha) * (1 - y)) * (p - y).abs() ** gamma * ce).mean(1)

# %% 20.7 | cero si está vacía
def mask_losses(logits, masks, *, gamma=2.0, alpha=0.25):
    y, p = masks.double(), logits.sigmoid()
    dice = 1 - (2 * (p * y).sum(1) + 1) / (p.sum(1) + y.sum(1) + 1)
    ce = nn.functional.binary_cross_entropy_with_logits(logits, y, reduction="none")
    focal = ((alpha * y + (1 - alpha) * (1 - y)) * (p - y).abs() ** gamma * ce).mean(1)
    return torch.where(masks.any(1), dice, 0.0), focal

# %% 20.7 | la focal, entre los píxeles de dentro
def mask_losses(logits, masks, *, gamma=2.0, alpha=0.25):
    y, p = masks.double(), logits.sigmoid()
    dice = 1 - (2 * (p * y).sum(1) + 1) / (p.sum(1) + y.sum(1) + 1)
    ce = nn.functional.binary_cross_entropy_with_logits(logits, y, reduction="none")
    focal = ((alpha * y + (1 - alpha) * (1 - y)) * (p - y).abs() ** gamma * ce).sum(1)
    return dice, focal / y.sum(1).clamp(min=1)

# %% 20.7 | Dice con la máscara ya decidida
def mask_losses(logits, masks, *, gamma=2.0, alpha=0.25):
    y, p = masks.double(), logits.sigmoid()
    hard = (p > 0.5).double()
    dice = 1 - (2 * (hard * y).sum(1) + 1) / (hard.sum(1) + y.sum(1) + 1)
    ce = nn.functional.binary_cross_entropy_with_logits(logits, y, reduction="none")
    return dice, ((alpha * y + (1 - alpha) * (1 - y)) * (p - y).abs() ** gamma * ce).mean(1)

# %% 20.7 | la entropía cruzada de las probabilidades
def mask_losses(logits, masks, *, gamma=2.0, alpha=0.25):
    y, p = masks.double(), logits.sigmoid()
    dice = 1 - (2 * (p * y).sum(1) + 1) / (p.sum(1) + y.sum(1) + 1)
    ce = nn.functional.binary_cross_entropy(p, y, reduction="none")
    return dice, ((alpha * y + (1 - alpha) * (1 - y)) * (p - y).abs() ** gamma * ce).mean(1)

# %% 20.8 | en el mapa, la clase
def fuse(logits, masks, *, things, least=0.7, overlap=0.8):
    score, kind = logits.softmax(-1).max(-1)
    keep = (score > least) & (kind < logits.shape[-1] - 1)
    p, ids, classes = masks.sigmoid(), torch.zeros(masks.shape[1:], dtype=torch.long), []
    owner = torch.where(keep[:, None, None], score[:, None, None] * p, -1.0).argmax(0)
    for q in keep.nonzero()[:, 0].tolist():
        whole = p[q] >= 0.5
        mine, k = (owner == q) & whole, int(kind[q])
        if mine.any() and mine.sum() >= overlap * whole.sum():
            if k < things or k not in classes:
                classes.append(k)
            ids[mine] = k
    return ids, torch.tensor(classes, dtype=torch.long)

# %% 20.8 | las de más nota, primero
def fuse(logits, masks, *, things, least=0.7, overlap=0.8):
    score, kind = logits.softmax(-1).max(-1)
    keep = (score > least) & (kind < logits.shape[-1] - 1)
    p, ids, classes = masks.sigmoid(), torch.zeros(masks.shape[1:], dtype=torch.long), []
    for q in score.argsort(descending=True).tolist():
        whole = p[q] >= 0.5
        mine, k = (ids == 0) & whole, int(kind[q])
        if keep[q] and mine.any() and mine.sum() >= overlap * whole.sum():
            if k < things or k not in classes:
                classes.append(k)
                ids[mine] = len(classes)
            else:
                ids[mine] = classes.index(k) + 1
    return ids, torch.tensor(classes, dtype=torch.long)

# %% 20.8 | una clase por píxel
def fuse(logits, masks, *, things, least=0.7, overlap=0.8):
    chance = logits.softmax(-1)[:, :-1]
    best, kind = torch.einsum("qc,qyx->cyx", chance, masks.sigmoid()).max(0)
    classes = kind[best > 0.5].unique()
    return ((kind[..., None] == classes) * torch.arange(1, len(classes) + 1)).sum(-1) * (best > 0.5), classes

# %% 20.8 | todo para la primera
def fuse(logits, masks, *, things, least=0.7, overlap=0.8):
    score, kind = logits.softmax(-1).max(-1)
    good = (score > least) & (kind < logits.shape[-1] - 1)
    return (masks[good] >= 0).any(0).long(), kind[good][:1]

# %% 20.8 | compiten todas, también las que se quitan
def fuse(logits, masks, *, things, least=0.7, overlap=0.8):
    score, kind = logits.softmax(-1).max(-1)
    p, ids, classes = masks.sigmoid(), torch.zeros(masks.shape[1:], dtype=torch.long), []
    owner = (score[:, None, None] * p).argmax(0)
    for q in range(len(p)):
        whole = p[q] >= 0.5
        mine, k = (owner == q) & whole, int(kind[q])
        good = score[q] > least and k < logits.shape[-1] - 1
        if good and mine.any() and mine.sum() >= overlap * whole.sum():
            if k < things or k not in classes:
                classes.append(k)
                ids[mine] = len(classes)
            else:
                ids[mine] = classes.index(k) + 1
    return ids, torch.tensor(classes, dtype=torch.long)

# %% 20.8 | reparte otra vez los píxeles de las que se van ⇒ no se reparten entre las demás
def fuse(logits, masks, *, things, least=0.7, overlap=0.8):
    score, kind = logits.softmax(-1).max(-1)
    keep = (score > least) & (kind < logits.shape[-1] - 1)
    p, ids = masks[keep].sigmoid(), torch.zeros(masks.shape[1:], dtype=torch.long)
    score, kind, classes, number = score[keep], kind[keep].tolist(), [], {}
    value = score[:, None, None] * p
    owner = value.argmax(0) if len(kind) else ids
    for q in range(len(kind)):
        whole, mine = p[q] >= 0.5, (owner == q) & (p[q] >= 0.5)
        if mine.sum() < overlap * whole.sum():
            value[q], p[q] = 0, 0
    owner = value.argmax(0) if len(kind) else ids
    for q, k in enumerate(kind):
        whole = p[q] >= 0.5
        mine = (owner == q) & whole
        if not mine.any() or mine.sum() < overlap * whole.sum():
            continue
        if k < things or k not in number:
            classes.append(k)
            number[k] = len(classes)
        ids[mine] = number[k]
    return ids, torch.tensor(classes, dtype=torch.long)

# %% 20.8 | lo que se queda, con los píxeles que no llegan ⇒ no son de nadie, aunque
def fuse(logits, masks, *, things, least=0.7, overlap=0.8):
    score, kind = logits.softmax(-1).max(-1)
    keep = (score > least) & (kind < logits.shape[-1] - 1)
    p, ids = masks[keep].sigmoid(), torch.zeros(masks.shape[1:], dtype=torch.long)
    score, kind, classes, number = score[keep], kind[keep].tolist(), [], {}
    value = score[:, None, None] * p
    owner = value.argmax(0) if len(kind) else ids
    for q, k in enumerate(kind):
        whole = p[q] >= 0.5
        mine = (owner == q) & whole
        if not mine.any() or (owner == q).sum() < overlap * whole.sum():
            continue
        if k < things or k not in number:
            classes.append(k)
            number[k] = len(classes)
        ids[mine] = number[k]
    return ids, torch.tensor(classes, dtype=torch.long)

# %% 20.8 | la nota igual al umbral ⇒ tiene que ser mayor
def fuse(logits, masks, *, things, least=0.7, overlap=0.8):
    score, kind = logits.softmax(-1).max(-1)
    keep = (score >= least) & (kind < logits.shape[-1] - 1)
    p, ids = masks[keep].sigmoid(), torch.zeros(masks.shape[1:], dtype=torch.long)
    score, kind, classes, number = score[keep], kind[keep].tolist(), [], {}
    value = score[:, None, None] * p
    owner = value.argmax(0) if len(kind) else ids
    for q, k in enumerate(kind):
        whole = p[q] >= 0.5
        mine = (owner == q) & whole
        if not mine.any() or mine.sum() < overlap * whole.sum():
            continue
        if k < things or k not in number:
            classes.append(k)
            number[k] = len(classes)
        ids[mine] = number[k]
    return ids, torch.tensor(classes, dtype=torch.long)

# %% 20.8 | la parte justa, fuera ⇒ no se quita
def fuse(logits, masks, *, things, least=0.7, overlap=0.8):
    score, kind = logits.softmax(-1).max(-1)
    keep = (score > least) & (kind < logits.shape[-1] - 1)
    p, ids = masks[keep].sigmoid(), torch.zeros(masks.shape[1:], dtype=torch.long)
    score, kind, classes, number = score[keep], kind[keep].tolist(), [], {}
    value = score[:, None, None] * p
    owner = value.argmax(0) if len(kind) else ids
    for q, k in enumerate(kind):
        whole = p[q] >= 0.5
        mine = (owner == q) & whole
        if not mine.any() or mine.sum() <= overlap * whole.sum():
            continue
        if k < things or k not in number:
            classes.append(k)
            number[k] = len(classes)
        ids[mine] = number[k]
    return ids, torch.tensor(classes, dtype=torch.long)

# %% 20.8 | más de la mitad ⇒ 1/2 justo también llega
def fuse(logits, masks, *, things, least=0.7, overlap=0.8):
    score, kind = logits.softmax(-1).max(-1)
    keep = (score > least) & (kind < logits.shape[-1] - 1)
    p, ids = masks[keep].sigmoid(), torch.zeros(masks.shape[1:], dtype=torch.long)
    score, kind, classes, number = score[keep], kind[keep].tolist(), [], {}
    value = score[:, None, None] * p
    owner = value.argmax(0) if len(kind) else ids
    for q, k in enumerate(kind):
        whole = p[q] > 0.5
        mine = (owner == q) & whole
        if not mine.any() or mine.sum() < overlap * whole.sum():
            continue
        if k < things or k not in number:
            classes.append(k)
            number[k] = len(classes)
        ids[mine] = number[k]
    return ids, torch.tensor(classes, dtype=torch.long)

# %% 20.8 | el número de la consulta, entre las que quedaban ⇒ tampoco gastan número
def fuse(logits, masks, *, things, least=0.7, overlap=0.8):
    score, kind = logits.softmax(-1).max(-1)
    keep = (score > least) & (kind < logits.shape[-1] - 1)
    p, ids = masks[keep].sigmoid(), torch.zeros(masks.shape[1:], dtype=torch.long)
    score, kind, classes, number = score[keep], kind[keep].tolist(), [], {}
    value = score[:, None, None] * p
    owner = value.argmax(0) if len(kind) else ids
    for q, k in enumerate(kind):
        whole = p[q] >= 0.5
        mine = (owner == q) & whole
        if not mine.any() or mine.sum() < overlap * whole.sum():
            continue
        if k < things or k not in number:
            classes.append(k)
            number[k] = q + 1
        ids[mine] = number[k]
    return ids, torch.tensor(classes, dtype=torch.long)

# %% 20.8 | el número de la consulta ⇒ sin contar las consultas que se han ido
def fuse(logits, masks, *, things, least=0.7, overlap=0.8):
    score, kind = logits.softmax(-1).max(-1)
    keep = (score > least) & (kind < logits.shape[-1] - 1)
    p, ids = masks[keep].sigmoid(), torch.zeros(masks.shape[1:], dtype=torch.long)
    score, kind, classes, number = score[keep], kind[keep].tolist(), [], {}
    value = score[:, None, None] * p
    owner = value.argmax(0) if len(kind) else ids
    for q, k in enumerate(kind):
        whole = p[q] >= 0.5
        mine = (owner == q) & whole
        if not mine.any() or mine.sum() < overlap * whole.sum():
            continue
        if k < things or k not in number:
            classes.append(k)
            number[k] = int(keep.nonzero()[q]) + 1
        ids[mine] = number[k]
    return ids, torch.tensor(classes, dtype=torch.long)
