"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

# %% 19.1 | parche a parche
def patchify(images, patch_size):
    b, c, h, w = images.shape
    p = patch_size
    rows = []
    for i in range(h // p):
        for j in range(w // p):
            cell = images[:, :, i * p : (i + 1) * p, j * p : (j + 1) * p]
            rows.append(cell.permute(0, 2, 3, 1).reshape(b, -1))
    return torch.stack(rows, dim=1)

# %% 19.1 | con unfold de PyTorch
def patchify(images, patch_size):
    channels = images.shape[1]
    columns = nn.functional.unfold(images, patch_size, stride=patch_size)
    return columns.mT.unflatten(-1, (channels, patch_size**2)).mT.flatten(-2)

# %% 19.1 | con seis ejes
def patchify(images, patch_size):
    b, c, h, w = images.shape
    h, w = h - h % patch_size, w - w % patch_size
    x = images[..., :h, :w].reshape(b, c, h // patch_size, patch_size, w // patch_size, patch_size)
    x = torch.einsum("bcipjq->bijpqc", x)
    return x.reshape(b, (h * w) // patch_size**2, patch_size * patch_size * c)

# %% 19.1 | con los índices
def patchify(images, patch_size):
    p = patch_size
    rows, columns = images.shape[2] // p, images.shape[3] // p
    patch, pixel = torch.arange(rows * columns)[:, None], torch.arange(p * p)[None]
    r = patch // columns * p + pixel // p
    c = patch % columns * p + pixel % p
    return images[:, :, r, c].movedim(1, -1).flatten(2)

# %% 19.2 | escrita
patches_by_hand = {"tokens": 97, "project": 24704, "positions": 12416, "pairs": 148225, "finer": 6272}

# %% 19.2 | con cuentas
patches_by_hand = {
    "tokens": 12 * 8 + 1,
    "project": 8 * 8 * 3 * 128 + 128,
    "positions": 97 * 128,
    "pairs": 385.0**2,
    "finer": 128 * (48 + 1),
}

# %% 19.3 | escrita
moved = "solo el píxel"

# %% 19.4 | sitio a sitio
def grid_sinusoids(rows, columns, d_model, *, added=1, base=10000.0):
    half = d_model // 2

    def code(p):
        out = []
        for i in range(half // 2):
            w = base ** (-2 * i / half)
            out += [math.sin(w * p), math.cos(w * p)]
        return out

    table = [[0.0] * d_model] * added
    for r in range(rows):
        for c in range(columns):
            table.append(code(r) + code(c))
    return torch.tensor(table, dtype=torch.float64)

# %% 19.4 | con meshgrid y huecos pares e impares
def grid_sinusoids(rows, columns, d_model, *, added=1, base=10000.0):
    quarter = d_model // 4
    w = torch.exp(-math.log(base) * torch.arange(quarter).double() / quarter)
    r, c = torch.meshgrid(torch.arange(rows).double(), torch.arange(columns).double(), indexing="ij")
    out = torch.zeros(added + rows * columns, d_model, dtype=torch.float64)
    for start, where in ((0, r), (d_model // 2, c)):
        angle = where.reshape(-1, 1) * w
        out[added:, start : start + d_model // 2 : 2] = angle.sin()
        out[added:, start + 1 : start + d_model // 2 : 2] = angle.cos()
    return out

# %% 19.4 | con números complejos, y difundiendo
def grid_sinusoids(rows, columns, d_model, *, added=1, base=10000.0):
    h = d_model // 2

    def line(n):
        a = torch.outer(torch.arange(n).double(), 1 / base ** (torch.arange(0, h, 2).double() / h))
        z = torch.polar(torch.ones_like(a), a)
        return torch.stack([z.imag, z.real], -1).reshape(n, h)

    grid = torch.cat([
        line(rows)[:, None].expand(rows, columns, h),
        line(columns)[None].expand(rows, columns, h),
    ], dim=-1)
    return nn.functional.pad(grid.reshape(-1, d_model), (0, 0, added, 0))

# %% 19.5 | con la interpolación de PyTorch
def resize_positions(table, old, new, *, added=1):
    grid = table[added:].unflatten(0, old).permute(2, 0, 1).unsqueeze(0)
    grid = nn.functional.interpolate(grid, size=tuple(new), mode="bilinear", align_corners=False)
    return torch.cat([table[:added], grid.squeeze(0).flatten(1).T])

# %% 19.5 | sitio a sitio, con cuatro vecinos
def resize_positions(table, old, new, *, added=1):
    (h, w), (H, W) = old, new
    grid = table[added:].reshape(h, w, -1)
    out = [table[i] for i in range(added)]
    for i in range(H):
        s = min(max((i + 0.5) * h / H - 0.5, 0), h - 1)
        a, f = int(s), s - int(s)
        b = min(a + 1, h - 1)
        for j in range(W):
            t = min(max((j + 0.5) * w / W - 0.5, 0), w - 1)
            c, g = int(t), t - int(t)
            d = min(c + 1, w - 1)
            top = (1 - g) * grid[a, c] + g * grid[a, d]
            bottom = (1 - g) * grid[b, c] + g * grid[b, d]
            out.append((1 - f) * top + f * bottom)
    return torch.stack(out)

# %% 19.5 | con pesos en forma de tienda
def resize_positions(table, old, new, *, added=1):
    def tent(n, m):
        s = ((torch.arange(m, dtype=table.dtype) + 0.5) * n / m - 0.5).clamp(0, n - 1)
        return (1 - (s[:, None] - torch.arange(n, dtype=table.dtype)).abs()).clamp(min=0)

    both = torch.kron(tent(old[0], new[0]), tent(old[1], new[1]))
    return torch.cat((table[:added], both @ table[added:]), dim=0)

# %% 19.5 | un eje detrás del otro
def resize_positions(table, old, new, *, added=1):
    def stretch(x, m):
        n = x.shape[0]
        s = torch.clamp((torch.arange(m).double() + 0.5) / m * n - 0.5, min=0.0, max=float(n - 1))
        low = s.floor().long()
        high = (low + 1).clamp(max=n - 1)
        f = (s - low)[:, None, None]
        return torch.lerp(x[low], x[high], f)

    grid = stretch(table[added:].view(old[0], old[1], -1), new[0])
    grid = stretch(grid.transpose(0, 1), new[1]).transpose(0, 1)
    return torch.cat([table[:added], grid.reshape(new[0] * new[1], -1)])

# %% 19.6 | con las regiones de Swin
def shifted_windows(x, window, shift):
    h, w, d = x.shape
    label, count = torch.zeros(h, w), 0
    cuts = [slice(0, -window), slice(-window, -shift), slice(-shift, None)] if shift else [slice(None)]
    for a in cuts:
        for b in cuts:
            label[a, b] = count
            count += 1

    def split(y):
        y = y.reshape(h // window, window, w // window, window, -1)
        return y.transpose(1, 2).reshape(-1, window * window, y.shape[-1])

    windows = split(torch.roll(x, shifts=(-shift, -shift), dims=(0, 1)))
    groups = split(label.unsqueeze(-1)).squeeze(-1)
    return windows, groups.unsqueeze(1) - groups.unsqueeze(2) == 0

# %% 19.6 | ventana a ventana, con sitios
def shifted_windows(x, window, shift):
    h, w, _ = x.shape
    windows, masks = [], []
    for top in range(shift, h + shift, window):
        for left in range(shift, w + shift, window):
            cells = [(r, c) for r in range(top, top + window) for c in range(left, left + window)]
            windows.append(torch.stack([x[r % h, c % w] for r, c in cells]))
            turned = [(r >= h, c >= w) for r, c in cells]
            masks.append([[a == b for b in turned] for a in turned])
    return torch.stack(windows), torch.tensor(masks)

# %% 19.6 | con unfold, y la imagen quieta
def shifted_windows(x, window, shift):
    h, w, d = x.shape
    rows = (torch.arange(h) + shift) % h
    columns = (torch.arange(w) + shift) % w
    moved = x[rows][:, columns]
    windows = moved.unfold(0, window, window).unfold(1, window, window).permute(0, 1, 3, 4, 2).reshape(-1, window**2, d)
    r = torch.div(rows - shift, window, rounding_mode="floor")
    c = torch.div(columns - shift, window, rounding_mode="floor")
    name = (r[:, None] * 1000 + c).unfold(0, window, window).unfold(1, window, window).reshape(-1, window**2)
    return [windows, name[:, None, :] == name[:, :, None]]

# %% 19.7 | con las pérdidas de PyTorch
def deit_loss(classes, imitates, teacher, labels, *, weight=0.5, temperature=None):
    F = nn.functional
    teacher = teacher.detach()
    base = F.cross_entropy(classes, labels)
    if temperature is None:
        other = F.cross_entropy(imitates, teacher.argmax(1))
    else:
        t = temperature
        other = F.kl_div(F.log_softmax(imitates / t, 1), F.log_softmax(teacher / t, 1), reduction="batchmean", log_target=True) * t * t
    return base * (1 - weight) + other * weight

# %% 19.7 | con logsumexp
def deit_loss(classes, imitates, teacher, labels, *, weight=0.5, temperature=None):
    rows = torch.arange(len(labels))
    with torch.no_grad():
        best = teacher.max(dim=1)[1]
    main = (classes.logsumexp(1) - classes[rows, labels]).mean()
    if temperature is None:
        side = (imitates.logsumexp(1) - imitates[rows, best]).mean()
    else:
        s, t = imitates / temperature, teacher.data / temperature
        p = t.softmax(1)
        each = (p * (t - s)).sum(1) - t.logsumexp(1) + s.logsumexp(1)
        side = temperature**2 * each.mean()
    return torch.lerp(main, side, float(weight))

# %% 19.7 | cruzada menos entropía
def deit_loss(classes, imitates, teacher, labels, *, weight=0.5, temperature=None):
    hot = nn.functional.one_hot(labels, classes.shape[1])
    hard = -(hot * torch.log_softmax(classes, 1)).sum() / len(labels)
    if not temperature:
        hot = nn.functional.one_hot(teacher.argmax(1), classes.shape[1]).double()
        imitation = -(hot * torch.log_softmax(imitates, 1)).sum() / len(labels)
    else:
        with torch.no_grad():
            p = (teacher / temperature).softmax(1)
            own = torch.special.entr(p).sum() / len(labels)
        cross = -(p * torch.log_softmax(imitates / temperature, 1)).sum() / len(labels)
        imitation = (cross - own) * temperature * temperature
    return hard - weight * hard + weight * imitation

# %% 19.8 | con conjuntos por eje
def seen_patches(rows, columns, window, layers, at):
    def axis(n, place):
        sizes = [n]
        for layer in layers:
            sizes.append(sizes[-1] // 2 if layer == "merge" else sizes[-1])
        seen = {place}
        for layer, size in zip(layers[::-1], sizes[-2::-1]):
            if layer == "merge":
                seen = {2 * x + k for x in seen for k in (0, 1)}
            elif size <= window:
                seen = set(range(size))
            else:
                s = window // 2 if layer == "shifted" else 0
                groups = {(x - s) // window for x in seen}
                seen = {x for x in range(size) if (x - s) // window in groups}
        return torch.tensor([x in seen for x in range(n)])

    return torch.outer(axis(rows, at[0]), axis(columns, at[1]))

# %% 19.8 | con una matriz por eje
def seen_patches(rows, columns, window, layers, at):
    def matrix(n):
        total = torch.eye(n)
        for layer in layers:
            if layer == "merge":
                n //= 2
                step = torch.eye(n).repeat_interleave(2, dim=1)
            else:
                shift = window // 2 if layer == "shifted" and n > window else 0
                if n <= window:
                    step = torch.ones(n, n)
                else:
                    group = torch.div(torch.arange(n) - shift, window, rounding_mode="floor")
                    step = (group[:, None] == group).to(total.dtype)
            total = (step @ total > 0).to(total.dtype)
        return total

    return (matrix(rows)[at[0]][:, None] * matrix(columns)[at[1]]) > 0

# %% 19.8 | hacia delante, con los tramos de todos
def seen_patches(rows, columns, window, layers, at):
    def axis(n, place):
        spans = [(i, i) for i in range(n)]
        for layer in layers:
            size = len(spans)
            if layer == "merge":
                spans = [(spans[i][0], spans[i + 1][1]) for i in range(0, size, 2)]
                continue
            starts = [0, *range(window // 2 if layer == "shifted" else window, size, window)]
            if size <= window:
                starts = [0]
            starts = sorted(set(starts))
            out = []
            for a, b in zip(starts, [*starts[1:], size]):
                lo = min(spans[i][0] for i in range(a, b))
                hi = max(spans[i][1] for i in range(a, b))
                out += [(lo, hi)] * (b - a)
            spans = out
        return slice(spans[place][0], spans[place][1] + 1)

    out = torch.zeros(rows, columns, dtype=torch.bool)
    out[axis(rows, at[0]), axis(columns, at[1])] = True
    return out

# %% 19.8 | recursiva
def seen_patches(rows, columns, window, layers, at):
    def back(k, size, lo, hi):
        if k == 0:
            return lo, hi
        if layers[k - 1] == "merge":
            return back(k - 1, size * 2, lo * 2, hi * 2 + 1)
        if size <= window:
            return back(k - 1, size, 0, size - 1)
        s = (layers[k - 1] == "shifted") * (window // 2)
        lo = lo - (lo - s) % window
        hi = hi + window - 1 - (hi - s) % window
        return back(k - 1, size, max(lo, 0), min(hi, size - 1))

    final = 2 ** sum(layer == "merge" for layer in layers)
    (a, b), (c, d) = (back(len(layers), n // final, p, p) for n, p in ((rows, at[0]), (columns, at[1])))
    out = torch.zeros(rows, columns).bool()
    out[a : b + 1, c : d + 1] = True
    return out
