"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

# %% 20.1 | escrita
boxes_by_hand = {"shared": 3, "iou": 0.1, "giou": -0.15, "far": -0.4, "farther": -0.5}

# %% 20.1 | con cuentas
boxes_by_hand = {
    "shared": (5 - 2) * (4 - 3), "iou": 3 / 30, "giou": 3 / 30 + 30 / 40 - 1,
    "far": -(10 * 4 - 24) / 40, "farther": 24 / 48 - 1,
}

# %% 20.1 | con fracciones
from fractions import Fraction
boxes_by_hand = {
    "shared": 3, "iou": Fraction(1, 10), "giou": Fraction(1, 10) - Fraction(1, 4),
    "far": -Fraction(2, 5), "farther": Fraction(-1, 2),
}

# %% 20.2 | pareja a pareja
def giou_table(found, truth):
    def one(a, b):
        (cx, cy, w, h), (x0, y0, x1, y1) = a.tolist(), b.tolist()
        l, t, r, d = cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2
        inter = max(0, min(r, x1) - max(l, x0)) * max(0, min(d, y1) - max(t, y0))
        union = w * h + (x1 - x0) * (y1 - y0) - inter
        hull = (max(r, x1) - min(l, x0)) * (max(d, y1) - min(t, y0))
        return (inter / union if union > 0 else 0) - ((hull - union) / hull if hull > 0 else 0)
    return torch.tensor([[[one(a, b) for b in many] for a in some] for some, many in zip(found, truth)], dtype=found.dtype)

# %% 20.2 | con nan_to_num y unbind
def giou_table(found, truth):
    cx, cy, w, h = (x[..., None] for x in found.unbind(-1))
    x0, y0, x1, y1 = (x[:, None, :] for x in truth.unbind(-1))
    def sides(c, s, a, b):
        lo, hi = c - 0.5 * s, c + 0.5 * s
        return torch.relu(torch.minimum(hi, b) - torch.maximum(lo, a)), torch.maximum(hi, b) - torch.minimum(lo, a)
    (iw, hw), (ih, hh) = sides(cx, w, x0, x1), sides(cy, h, y0, y1)
    inter, hull = iw * ih, hw * hh
    union = w * h + (x1 - x0) * (y1 - y0) - inter
    return torch.nan_to_num(inter / union) + torch.nan_to_num(union / hull, nan=1.0) - 1

# %% 20.2 | con un denominador diminuto
def giou_table(found, truth):
    size = found[..., 2:]
    a = torch.cat([found[..., :2] - size / 2, found[..., :2] + size / 2], -1).unsqueeze(2)
    b = truth.unsqueeze(1)
    sides = torch.min(a[..., 2:], b[..., 2:]) - torch.max(a[..., :2], b[..., :2])
    hull = (torch.max(a[..., 2:], b[..., 2:]) - torch.min(a[..., :2], b[..., :2])).prod(-1)
    inter = (sides * (sides > 0)).prod(-1)
    union = size.prod(-1)[..., None] + (b[..., 2:] - b[..., :2]).prod(-1) - inter
    return inter / union.clamp_min(1e-300) - (hull - union) / hull.clamp_min(1e-300)

# %% 20.3 | escrita
without_matching = "las dos, el punto medio"

# %% 20.3 | sin la coma
without_matching = "las dos el punto medio"

# %% 20.3 | con mayúscula, punto final y comillas
without_matching = "«Las dos, el punto medio.»"

# %% 20.4 | con scipy
def assign_queries(logits, boxes, labels, truth, *, weights=(1.0, 5.0, 2.0)):
    from scipy.optimize import linear_sum_assignment
    a, b, c = weights
    p = torch.softmax(logits, 1).index_select(1, labels)
    q = torch.stack([(truth[:, 0] + truth[:, 2]) / 2, (truth[:, 1] + truth[:, 3]) / 2, truth[:, 2] - truth[:, 0], truth[:, 3] - truth[:, 1]], 1)
    l1 = torch.cdist(boxes, q, p=1)
    corners = torch.cat([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], 1)[:, None]
    inter = (torch.minimum(corners[..., 2:], truth[:, 2:]) - torch.maximum(corners[..., :2], truth[:, :2])).clamp(min=0).prod(-1)
    hull = (torch.maximum(corners[..., 2:], truth[:, 2:]) - torch.minimum(corners[..., :2], truth[:, :2])).prod(-1)
    union = boxes[:, 2:].prod(1)[:, None] + q[:, 2:].prod(1) - inter
    cost = -a * p + b * l1 - c * (inter / union - 1 + union / hull)
    rows, columns = linear_sum_assignment(cost.numpy())
    return cost, torch.tensor(rows)[torch.tensor(columns).argsort()]

# %% 20.4 | en orden de llegada, con vuelta atrás y su propia tabla
def giou_table(a, b):
    a = torch.cat([a[..., :2] - a[..., 2:] / 2, a[..., :2] + a[..., 2:] / 2], -1)[:, :, None]
    b = b[:, None]
    inter = (torch.minimum(a, b)[..., 2:] - torch.maximum(a, b)[..., :2]).clamp(min=0).prod(-1)
    hull = (torch.maximum(a, b)[..., 2:] - torch.minimum(a, b)[..., :2]).prod(-1)
    union = (a[..., 2:] - a[..., :2]).prod(-1) + (b[..., 2:] - b[..., :2]).prod(-1) - inter
    return inter / union + union / hull - 1
def assign_queries(logits, boxes, labels, truth, *, weights=(1.0, 5.0, 2.0)):
    cost = -weights[2] * giou_table(boxes.unsqueeze(0), truth.unsqueeze(0)).squeeze(0)
    for o, (label, (x0, y0, x1, y1)) in enumerate(zip(labels, truth)):
        goal = torch.stack([(x0 + x1) / 2, (y0 + y1) / 2, x1 - x0, y1 - y0])
        cost[:, o] += weights[1] * (boxes - goal).abs().sum(1) - weights[0] * (logits[:, label] - logits.logsumexp(1)).exp()
    def search(o, used):
        if o == len(labels):
            return 0.0, []
        return min((float(cost[q, o]) + r, [q] + w) for q in range(len(cost)) if q not in used for r, w in [search(o + 1, used | {q})])
    return cost, torch.tensor(search(0, frozenset())[1], dtype=torch.int32)

# %% 20.4 | en dos partes, y con una función aparte
import itertools
def _cost(logits, boxes, labels, truth, weights):
    half = boxes[:, 2:] / 2
    lo, hi = boxes[:, :2] - half, boxes[:, :2] + half
    sides = [(torch.minimum(hi[:, None, k], truth[:, 2 + k]) - torch.maximum(lo[:, None, k], truth[:, k])).clamp(0) for k in (0, 1)]
    outer = [torch.maximum(hi[:, None, k], truth[:, 2 + k]) - torch.minimum(lo[:, None, k], truth[:, k]) for k in (0, 1)]
    inter, hull = sides[0] * sides[1], outer[0] * outer[1]
    size = truth[:, 2:] - truth[:, :2]
    union = (hi - lo).prod(1, keepdim=True) + size.prod(1) - inter
    l1 = (boxes[:, None, :2] - truth[:, :2] - size / 2).abs().sum(-1) + (boxes[:, None, 2:] - size).abs().sum(-1)
    terms = torch.stack([-logits.log_softmax(-1).exp()[:, labels], l1, (hull - union) / hull - inter / union])
    return torch.tensordot(torch.tensor(weights, dtype=logits.dtype), terms, 1)
def assign_queries(logits, boxes, labels, truth, *, weights=(1.0, 5.0, 2.0)):
    cost = _cost(logits, boxes, labels, truth, weights)
    best = min(itertools.permutations(range(len(logits)), len(labels)), key=lambda w: sum(cost[q, o].item() for o, q in enumerate(w)))
    return cost, torch.tensor(best)

# %% 20.5 | con diccionarios, y la curva por exhaustividades
def average_precision(scores, images, boxes, truth_images, truth, *, threshold=0.5):
    def iou(a, b):
        w = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
        h = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
        return w * h / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - w * h)
    free = {}
    for image, box in zip(truth_images.tolist(), truth.tolist()):
        free.setdefault(image, []).append(box)
    order = sorted(range(len(scores)), key=lambda i: -float(scores[i]))
    right, curve, hits = [False] * len(scores), [], 0
    for k, i in enumerate(order, 1):
        mine = free.get(int(images[i]), [])
        best = max(mine, key=lambda b: iou(boxes[i].tolist(), b), default=None)
        if best is not None and iou(boxes[i].tolist(), best) >= threshold:
            mine.remove(best)
            right[i] = True
            hits += 1
        curve.append((hits, hits / k))
    area = 0.0
    for h in range(1, hits + 1):
        area += max(p for n, p in curve if n >= h) / len(truth)
    return torch.tensor(right, dtype=torch.bool), area

# %% 20.5 | hacia atrás, con numpy
def average_precision(scores, images, boxes, truth_images, truth, *, threshold=0.5):
    import numpy as np
    order = np.argsort(-scores.numpy(), kind="stable")
    b, t = boxes.numpy(), truth.numpy()
    used, right = np.zeros(len(t), bool), np.zeros(len(b), bool)
    for i in order:
        can = np.flatnonzero(~used & (truth_images.numpy() == int(images[i])))
        if len(can) == 0:
            continue
        wh = np.clip(np.minimum(b[i, 2:], t[can, 2:]) - np.maximum(b[i, :2], t[can, :2]), 0, None)
        inter = wh[:, 0] * wh[:, 1]
        union = np.prod(b[i, 2:] - b[i, :2]) + np.prod(t[can, 2:] - t[can, :2], axis=1) - inter
        j = np.argmax(inter / union)
        if (inter / union)[j] >= threshold:
            used[can[j]] = right[i] = True
    total, best = 0.0, 0.0
    for k in range(len(order), 0, -1):
        best = max(best, right[order[:k]].sum() / k)
        if right[order[k - 1]]:
            total += best
    return torch.from_numpy(right), total / len(t)

# %% 20.5 | con una máscara de libres y un tensor de cero ejes
def average_precision(scores, images, boxes, truth_images, truth, *, threshold=0.5):
    a, b = boxes.unsqueeze(1), truth.unsqueeze(0)
    wh = torch.relu(torch.min(a[..., 2:], b[..., 2:]) - torch.max(a[..., :2], b[..., :2]))
    inter = wh[..., 0] * wh[..., 1]
    size = lambda x: (x[..., 2] - x[..., 0]) * (x[..., 3] - x[..., 1])
    iou = inter / (size(a) + size(b) - inter)
    free = torch.ones(len(truth), dtype=torch.bool)
    right = torch.zeros(len(boxes), dtype=torch.bool)
    order = torch.sort(-scores, stable=True).indices
    for i in order:
        row = torch.where(free & (truth_images == images[i]), iou[i], torch.tensor(-1.0, dtype=iou.dtype))
        j = torch.argmax(row)
        if row[j] >= threshold:
            right[i], free[j] = True, False
    hit = right[order].float()
    precision = hit.cumsum(0) / torch.arange(1, len(hit) + 1)
    area = torch.zeros(())
    for k in range(len(hit)):
        area = area + hit[k] * precision[k:].max() / len(truth)
    return right, area

# %% 20.6 | objeto a objeto
def words_and_back(labels, boxes, *, bins, most):
    order = sorted(range(len(labels)), key=lambda i: -float((boxes[i, 2] - boxes[i, 0]) * (boxes[i, 3] - boxes[i, 1])))
    words, back = [], []
    for i in order[:most]:
        x0, y0, x1, y1 = [min(math.floor(v * bins), bins - 1) for v in boxes[i].tolist()]
        words += [y0 + 3, x0 + 3, y1 + 3, x1 + 3, int(labels[i]) + bins + 3]
        back.append([(k + 0.5) / bins for k in (x0, y0, x1, y1)])
    return torch.tensor(words + [2]), torch.tensor(back, dtype=boxes.dtype).reshape(-1, 4)

# %% 20.6 | leyendo las palabras
def words_and_back(labels, boxes, *, bins, most):
    w, h = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    keep = torch.sort(w * h, descending=True).indices[:most]
    y0x0, y1x1 = boxes[keep, :2].flip(-1), boxes[keep, 2:].flip(-1)
    q = torch.clamp(torch.floor(torch.cat([y0x0, y1x1], 1) * bins), 0, bins - 1).to(torch.int32)
    out = torch.empty(5 * len(keep) + 1, dtype=torch.int64)
    out[-1] = 2
    rows = out[:-1].view(-1, 5)
    rows[:, :4], rows[:, 4] = q + 3, labels[keep] + (3 + bins)
    read = rows[:, :4].to(boxes.dtype) - 3
    centers = (2 * read + 1) / (2 * bins)
    return out, torch.stack([centers[:, 1], centers[:, 0], centers[:, 3], centers[:, 2]], 1)

# %% 20.6 | con los bordes de los cajones
def words_and_back(labels, boxes, *, bins, most):
    edges = torch.arange(1, bins, dtype=boxes.dtype) / bins
    area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    keep = area.topk(min(most, len(area))).indices
    q = torch.bucketize(boxes[keep].contiguous(), edges, right=True)
    rows = torch.cat([q[:, [1, 0]], q[:, [3, 2]], labels[keep][:, None] + bins], 1) + 3
    return torch.nn.functional.pad(rows.flatten(), (0, 1), value=2), (q + 0.5) / bins

# %% 20.7 | con la entropía cruzada de PyTorch
def mask_losses(logits, masks, *, gamma=2.0, alpha=0.25):
    y = masks.to(logits.dtype)
    p = torch.sigmoid(logits)
    dice = 1 - (2 * (p * y).sum(1) + 1) / (p.sum(1) + y.sum(1) + 1)
    ce = nn.functional.binary_cross_entropy_with_logits(logits, y, reduction="none")
    p_t = p * y + (1 - p) * (1 - y)
    a_t = alpha * y + (1 - alpha) * (1 - y)
    return dice, (a_t * (1 - p_t) ** gamma * ce).mean(1)

# %% 20.7 | máscara a máscara
def mask_losses(logits, masks, *, gamma=2.0, alpha=0.25):
    softplus = nn.functional.softplus
    dice, focal = [], []
    for x, m in zip(logits, masks):
        p = x.sigmoid()
        dice.append((p.sum() + m.sum() - 2 * p[m].sum()) / (p.sum() + m.sum() + 1))
        inside = alpha * (-x[m]).sigmoid().pow(gamma) * softplus(-x[m])
        outside = (1 - alpha) * p[~m].pow(gamma) * softplus(x[~m])
        focal.append((inside.sum() + outside.sum()) / len(x))
    return torch.stack(dice), torch.stack(focal)

# %% 20.7 | con la escala logarítmica
def mask_losses(logits, masks, *, gamma=2.0, alpha=0.25):
    zero = torch.zeros_like(logits)
    yes, no = -torch.logaddexp(zero, -logits), -torch.logaddexp(zero, logits)
    p = yes.exp()
    up = 2 * torch.where(masks, p, zero).sum(-1) + 1
    down = p.sum(-1) + masks.sum(-1) + 1
    inside = -alpha * torch.exp(gamma * no) * yes
    outside = -(1 - alpha) * torch.exp(gamma * yes) * no
    return 1 - up / down, torch.where(masks, inside, outside).mean(-1)

# %% 20.8 | con diccionarios, píxel a píxel
def fuse(logits, masks, *, things, least=0.7, overlap=0.8):
    p = logits.softmax(-1)
    none, alive = logits.shape[1] - 1, []
    for q in range(len(p)):
        k = int(p[q].argmax())
        if k != none and p[q, k] > least:
            alive.append((q, k, float(p[q, k])))
    m = masks.sigmoid().tolist()
    rows, columns = masks.shape[1:]
    mine = {q: [] for q, _, _ in alive}
    for y in range(rows):
        for x in range(columns):
            if alive:
                q, _, s = max(alive, key=lambda a: a[2] * m[a[0]][y][x])
                if m[q][y][x] >= 0.5:
                    mine[q].append((y, x))
    ids, classes, number = torch.zeros(rows, columns, dtype=torch.int64), [], {}
    for q, k, _ in alive:
        whole = sum(v >= 0.5 for row in m[q] for v in row)
        if not mine[q] or len(mine[q]) / whole < overlap:
            continue
        if k >= things and k in number:
            part = number[k]
        else:
            classes.append(k)
            part = number[k] = len(classes)
        for y, x in mine[q]:
            ids[y, x] = part
    return ids, torch.tensor(classes, dtype=torch.int64)

# %% 20.8 | en dos vueltas: primero quién sigue, después los números
def fuse(logits, masks, *, things, least=0.7, overlap=0.8):
    rows = [(q, int(p.argmax()), float(p.max())) for q, p in enumerate(logits.softmax(-1))]
    alive = [(q, k, s) for q, k, s in rows if k != logits.shape[-1] - 1 and not s <= least]
    owner = torch.full(masks.shape[1:], -1)
    most = torch.zeros(masks.shape[1:], dtype=masks.dtype)
    for q, _, s in alive:
        better = s * masks[q].sigmoid() > most
        owner[better], most[better] = q, s * masks[q].sigmoid()[better]
    for q, _, _ in alive:
        owner[(owner == q) & (masks[q] < 0)] = -1
    stay = []
    for q, k, _ in alive:
        left, whole = int((owner == q).sum()), int((masks[q] >= 0).sum())
        if left and left >= overlap * whole:
            stay.append((q, k))
    parts, classes = {}, []
    for q, k in stay:
        name = q if k < things else f"class {k}"
        if name not in parts:
            parts[name] = len(parts) + 1
            classes.append(k)
        owner[owner == q] = -1 - parts[name] - len(masks)
    return torch.where(owner < -1, -1 - owner - len(masks), 0), torch.tensor(classes, dtype=torch.long)

# %% 20.8 | con infinitos en las que no cuentan
def fuse(logits, masks, *, things, least=0.7, overlap=0.8):
    score, kind = torch.softmax(logits, 1).max(1)
    bad = (kind == logits.shape[1] - 1) | (score <= least)
    product = score[:, None, None] * masks.sigmoid()
    product[bad] = -1
    best, owner = product.max(0)
    on = masks >= 0
    ids = torch.full(best.shape, 0)
    classes = []
    for q in (~bad).nonzero().flatten().tolist():
        take = (owner == q) & on[q]
        if take.sum() == 0 or take.sum().item() < overlap * on[q].sum().item():
            continue
        k = kind[q].item()
        at = [i for i, c in enumerate(classes) if c == k and k >= things]
        if not at:
            classes.append(k)
            at = [len(classes) - 1]
        ids = torch.where(take, at[0] + 1, ids)
    return ids, torch.tensor(classes).long()

# %% 20.8 | numerando al final
def fuse(logits, masks, *, things, least=0.7, overlap=0.8):
    chance = logits.exp() / logits.exp().sum(1, keepdim=True)
    kind = chance.argmax(1)
    score = chance.gather(1, kind[:, None])[:, 0]
    keep = [q for q in range(len(kind)) if kind[q] + 1 < logits.shape[1] and score[q] > least]
    empty = torch.zeros(masks.shape[1:], dtype=torch.int32), torch.zeros(0, dtype=torch.int32)
    if not keep:
        return empty
    p = 1 / (1 + torch.exp(-masks[keep]))
    owner = (p * score[keep].view(-1, 1, 1)).argmax(0)
    won = (torch.arange(len(keep)).view(-1, 1, 1) == owner) & (p >= 0.5)
    area, left = (p >= 0.5).sum((1, 2)), won.sum((1, 2))
    good = [i for i in range(len(keep)) if left[i] > 0 and left[i] >= overlap * area[i]]
    keys = []
    for i in good:
        k = int(kind[keep[i]])
        keys.append((k, i if k < things else None))
    parts = list(dict.fromkeys(keys))
    for i, key in zip(good, keys):
        empty[0][won[i]] = parts.index(key) + 1
    return empty[0], torch.tensor([k for k, _ in parts], dtype=torch.int32)
