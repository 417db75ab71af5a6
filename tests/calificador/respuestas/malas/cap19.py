"""Respuestas equivocadas que no salen del registro. Cada celda es una entrega entera."""

# %% 19.1 | con unfold, tal cual
def patchify(images, patch_size):
    return nn.functional.unfold(images, patch_size, stride=patch_size)

# %% 19.1 | de abajo arriba
def patchify(images, patch_size):
    p = patch_size
    b, c, h, w = images.shape
    h, w = h // p * p, w // p * p
    x = images[..., :h, :w].flip(2).reshape(b, c, h // p, p, w // p, p)
    return x.permute(0, 2, 4, 3, 5, 1).reshape(b, -1, p * p * c)

# %% 19.1 | primero el último canal
def patchify(images, patch_size):
    p = patch_size
    b, c, h, w = images.shape
    h, w = h // p * p, w // p * p
    x = images[..., :h, :w].flip(1).reshape(b, c, h // p, p, w // p, p)
    return x.permute(0, 2, 4, 3, 5, 1).reshape(b, -1, p * p * c)

# %% 19.1 | solo la primera imagen
def patchify(images, patch_size):
    p = patch_size
    b, c, h, w = images.shape
    h, w = h // p * p, w // p * p
    x = images[:1, :, :h, :w].reshape(1, c, h // p, p, w // p, p)
    return x.permute(0, 2, 4, 3, 5, 1).reshape(1, -1, p * p * c)

# %% 19.1 | la media de cada parche
def patchify(images, patch_size):
    mean = nn.functional.avg_pool2d(images, patch_size)
    return mean.flatten(2).mT.repeat(1, 1, patch_size**2)

# %% 19.1 | todo en un solo lote
def patchify(images, patch_size):
    p = patch_size
    b, c, h, w = images.shape
    h, w = h // p * p, w // p * p
    x = images[..., :h, :w].reshape(b, c, h // p, p, w // p, p)
    return x.permute(0, 2, 4, 3, 5, 1).reshape(1, -1, p * p * c)

# %% 19.1 | canal por canal, con unfold ⇒ esto va canal por canal
def patchify(images, patch_size):
    return nn.functional.unfold(images, patch_size, stride=patch_size).mT

# %% 19.2 | todo sin la fila que resume
patches_by_hand = {"tokens": 96, "project": 24704, "positions": 12288, "pairs": 147456, "finer": 6272}

# %% 19.2 | el parche, de 8 números
patches_by_hand = {"tokens": 97, "project": 3200, "positions": 12416, "pairs": 148225, "finer": 1664}

# %% 19.2 | parejas por el número de canales
patches_by_hand = {"tokens": 97, "project": 24704, "positions": 12416, "pairs": 444675, "finer": 6272}

# %% 19.2 | cuatro veces las parejas
patches_by_hand = {"tokens": 97, "project": 24704, "positions": 12416, "pairs": 37636, "finer": 6272}

# %% 19.2 | un token por píxel
patches_by_hand = {"tokens": 6145, "project": 512, "positions": 786560, "pairs": 603979776, "finer": 512}

# %% 19.2 | filas por columnas de posiciones
patches_by_hand = {"tokens": 97, "project": 24704, "positions": 2560, "pairs": 148225, "finer": 6272}

# %% 19.2 | sin sesgos ⇒ también la proyección de los parches de 4 × 4
patches_by_hand = {"tokens": 97, "project": 24576, "positions": 12416, "pairs": 148225, "finer": 6144}

# %% 19.3 | ninguno ⇒ son otras filas
moved = "ninguno"

# %% 19.3 | la baraja también ⇒ en otro orden
moved = "el píxel y la baraja"

# %% 19.3 | los tres ⇒ es barajar los parches
moved = "los tres"

# %% 19.3 | fuera de las opciones
moved = "la baraja"

# %% 19.3 | un número
moved = 1

# %% 19.4 | posiciones entre 0 y 1
def grid_sinusoids(rows, columns, d_model, *, added=1, base=10000.0):
    half = d_model // 2
    w = base ** (-torch.arange(0, half, 2).double() / half)

    def code(n):
        angle = torch.arange(n).double()[:, None] / max(n - 1, 1) * w
        return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)

    grid = torch.cat([code(rows)[:, None].expand(-1, columns, -1), code(columns).expand(rows, -1, -1)], -1)
    return torch.cat([torch.zeros(added, d_model).double(), grid.flatten(0, 1)])

# %% 19.4 | fila y columna, alternas
def grid_sinusoids(rows, columns, d_model, *, added=1, base=10000.0):
    half = d_model // 2
    w = base ** (-torch.arange(0, half, 2).double() / half)

    def code(n):
        angle = torch.arange(n).double()[:, None] * w
        return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)

    grid = torch.stack([code(rows)[:, None].expand(-1, columns, -1), code(columns).expand(rows, -1, -1)], -1)
    return torch.cat([torch.zeros(added, d_model).double(), grid.flatten(2).flatten(0, 1)])

# %% 19.4 | frecuencias que crecen
def grid_sinusoids(rows, columns, d_model, *, added=1, base=10000.0):
    half = d_model // 2
    w = base ** (torch.arange(0, half, 2).double() / half)

    def code(n):
        angle = torch.arange(n).double()[:, None] * w
        return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)

    grid = torch.cat([code(rows)[:, None].expand(-1, columns, -1), code(columns).expand(rows, -1, -1)], -1)
    return torch.cat([torch.zeros(added, d_model).double(), grid.flatten(0, 1)])

# %% 19.4 | las añadidas, como la esquina
def grid_sinusoids(rows, columns, d_model, *, added=1, base=10000.0):
    half = d_model // 2
    w = base ** (-torch.arange(0, half, 2).double() / half)

    def code(n):
        angle = torch.arange(n).double()[:, None] * w
        return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)

    grid = torch.cat([code(rows)[:, None].expand(-1, columns, -1), code(columns).expand(rows, -1, -1)], -1).flatten(0, 1)
    return torch.cat([grid[:1].expand(added, -1), grid])

# %% 19.4 | solo senos
def grid_sinusoids(rows, columns, d_model, *, added=1, base=10000.0):
    half = d_model // 2
    w = base ** (-torch.arange(half).double() / half)

    def code(n):
        return (torch.arange(n).double()[:, None] * w).sin()

    grid = torch.cat([code(rows)[:, None].expand(-1, columns, -1), code(columns).expand(rows, -1, -1)], -1)
    return torch.cat([torch.zeros(added, d_model).double(), grid.flatten(0, 1)])

# %% 19.4 | siempre una añadida
def grid_sinusoids(rows, columns, d_model, *, added=1, base=10000.0):
    half = d_model // 2
    w = base ** (-torch.arange(0, half, 2).double() / half)

    def code(n):
        angle = torch.arange(n).double()[:, None] * w
        return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)

    grid = torch.cat([code(rows)[:, None].expand(-1, columns, -1), code(columns).expand(rows, -1, -1)], -1)
    return torch.cat([torch.zeros(1, d_model).double(), grid.flatten(0, 1)])

# %% 19.4 | al revés, la columna primero ⇒ aquí es la de la columna
def grid_sinusoids(rows, columns, d_model, *, added=1, base=10000.0):
    half = d_model // 2
    w = base ** (-torch.arange(0, half, 2).double() / half)

    def code(n):
        angle = torch.arange(n).double()[:, None] * w
        return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)

    grid = torch.cat([code(columns).expand(rows, -1, -1), code(rows)[:, None].expand(-1, columns, -1)], -1)
    return torch.cat([torch.zeros(added, d_model).double(), grid.flatten(0, 1)])

# %% 19.5 | el más cercano
def resize_positions(table, old, new, *, added=1):
    grid = table[added:].unflatten(0, old).permute(2, 0, 1)[None]
    grid = nn.functional.interpolate(grid, size=new, mode="nearest")
    return torch.cat([table[:added], grid[0].flatten(1).T])

# %% 19.5 | con suavizado
def resize_positions(table, old, new, *, added=1):
    grid = table[added:].unflatten(0, old).permute(2, 0, 1)[None]
    grid = nn.functional.interpolate(grid, size=new, mode="bilinear", antialias=True)
    return torch.cat([table[:added], grid[0].flatten(1).T])

# %% 19.5 | por zonas
def resize_positions(table, old, new, *, added=1):
    grid = table[added:].unflatten(0, old).permute(2, 0, 1)[None]
    grid = nn.functional.interpolate(grid, size=new, mode="area")
    return torch.cat([table[:added], grid[0].flatten(1).T])

# %% 19.5 | con la añadida dentro de la rejilla
def resize_positions(table, old, new, *, added=1):
    whole = nn.functional.interpolate(table.T[None], size=added + new[0] * new[1], mode="linear")
    return whole[0].T

# %% 19.5 | mezcla los canales
def resize_positions(table, old, new, *, added=1):
    grid = table[added:].reshape(1, -1, *old)
    grid = nn.functional.interpolate(grid, size=new, mode="bilinear")
    return torch.cat([table[:added], grid[0].flatten(1).T])

# %% 19.5 | rellena con ceros
def resize_positions(table, old, new, *, added=1):
    grid = table[added:].reshape(*old, -1)
    out = torch.zeros(*new, table.shape[1], dtype=table.dtype)
    h, w = min(old[0], new[0]), min(old[1], new[1])
    out[:h, :w] = grid[:h, :w]
    return torch.cat([table[:added], out.flatten(0, 1)])

# %% 19.5 | la añadida se promedia con la rejilla
def resize_positions(table, old, new, *, added=1):
    grid = table[added:].unflatten(0, old).permute(2, 0, 1)[None]
    grid = nn.functional.interpolate(grid, size=new, mode="bilinear")
    return torch.cat([table[:added] + table.mean(0), grid[0].flatten(1).T])

# %% 19.5 | esquinas que coinciden ⇒ se cuentan por el centro
def resize_positions(table, old, new, *, added=1):
    grid = table[added:].unflatten(0, old).permute(2, 0, 1)[None]
    grid = nn.functional.interpolate(grid, size=new, mode="bilinear", align_corners=True)
    return torch.cat([table[:added], grid[0].flatten(1).T])

# %% 19.6 | la ventana, con solapes
def shifted_windows(x, window, shift):
    cells = x.unfold(0, window, max(shift, 1)).unfold(1, window, max(shift, 1))
    groups = cells.permute(0, 1, 3, 4, 2).reshape(-1, window**2, x.shape[-1])
    return groups, torch.ones(len(groups), window**2, window**2, dtype=torch.bool)

# %% 19.6 | los vecinos por distancia
def shifted_windows(x, window, shift):
    h, w, d = x.shape
    def split(y):
        return y.reshape(h // window, window, w // window, window, -1).transpose(1, 2).reshape(-1, window**2, y.shape[-1])
    places = torch.stack(torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij"), -1)
    p = split(places.roll((-shift, -shift), (0, 1)))
    near = (p[:, :, None] - p[:, None]).abs().amax(-1) <= shift
    return split(x.roll((-shift, -shift), (0, 1))), near

# %% 19.6 | corta también en la mitad
def shifted_windows(x, window, shift):
    h, w, d = x.shape
    def split(y):
        return y.reshape(h // window, window, w // window, window, -1).transpose(1, 2).reshape(-1, window**2, y.shape[-1])
    r = torch.arange(h) % window >= window - shift
    c = torch.arange(w) % window >= window - shift
    label = split((r[:, None] * 2 + c)[..., None]).squeeze(-1)
    return split(x.roll((-shift, -shift), (0, 1))), label[:, :, None] == label[:, None]

# %% 19.6 | máscara de números ⇒ La máscara es booleana
def shifted_windows(x, window, shift):
    h, w, d = x.shape
    def split(y):
        return y.reshape(h // window, window, w // window, window, -1).transpose(1, 2).reshape(-1, window**2, y.shape[-1])
    r, c = torch.arange(h) >= h - shift, torch.arange(w) >= w - shift
    label = split((r[:, None] * 2 + c)[..., None]).squeeze(-1)
    same = label[:, :, None] == label[:, None]
    return split(x.roll((-shift, -shift), (0, 1))), torch.where(same, 0.0, -100.0)

# %% 19.6 | parte y después corre
def shifted_windows(x, window, shift):
    h, w, d = x.shape
    def split(y):
        return y.reshape(h // window, window, w // window, window, -1).transpose(1, 2).reshape(-1, window**2, y.shape[-1])
    r, c = torch.arange(h) >= h - shift, torch.arange(w) >= w - shift
    label = split((r[:, None] * 2 + c)[..., None]).squeeze(-1)
    return split(x).roll(-shift, 1), label[:, :, None] == label[:, None]

# %% 19.6 | desplaza la mitad, se pida lo que se pida
def shifted_windows(x, window, shift):
    h, w, d = x.shape
    shift = window // 2
    def split(y):
        return y.reshape(h // window, window, w // window, window, -1).transpose(1, 2).reshape(-1, window**2, y.shape[-1])
    r, c = torch.arange(h) >= h - shift, torch.arange(w) >= w - shift
    label = split((r[:, None] * 2 + c)[..., None]).squeeze(-1)
    return split(x.roll((-shift, -shift), (0, 1))), label[:, :, None] == label[:, None]

# %% 19.6 | suma en lugar de pareja
def shifted_windows(x, window, shift):
    h, w, d = x.shape
    def split(y):
        return y.reshape(h // window, window, w // window, window, -1).transpose(1, 2).reshape(-1, window**2, y.shape[-1])
    r, c = torch.arange(h) >= h - shift, torch.arange(w) >= w - shift
    label = split((r[:, None].long() + c.long())[..., None]).squeeze(-1)
    return split(x.roll((-shift, -shift), (0, 1))), label[:, :, None] == label[:, None]

# %% 19.6 | sin máscara, a mano ⇒ no miran a los del otro
def shifted_windows(x, window, shift):
    h, w, d = x.shape
    moved = x.roll((-shift, -shift), (0, 1))
    groups = moved.reshape(h // window, window, w // window, window, d).transpose(1, 2).reshape(-1, window**2, d)
    return groups, torch.ones(len(groups), window**2, window**2, dtype=torch.bool)

# %% 19.7 | la blanda, con la media de PyTorch
def deit_loss(classes, imitates, teacher, labels, *, weight=0.5, temperature=None):
    F = nn.functional
    base, told = F.cross_entropy(classes, labels), teacher.detach()
    if temperature is None:
        return (1 - weight) * base + weight * F.cross_entropy(imitates, told.argmax(1))
    t = temperature
    return (1 - weight) * base + weight * F.kl_div(F.log_softmax(imitates / t, 0), F.softmax(told / t, 0), reduction="batchmean") * t * t

# %% 19.7 | error cuadrático con la maestra
def deit_loss(classes, imitates, teacher, labels, *, weight=0.5, temperature=None):
    base = nn.functional.cross_entropy(classes, labels)
    return (1 - weight) * base + weight * ((imitates - teacher.detach()) ** 2).mean()

# %% 19.7 | la maestra, de la media de las dos cabezas
def deit_loss(classes, imitates, teacher, labels, *, weight=0.5, temperature=None):
    F = nn.functional
    base, told = F.cross_entropy(classes, labels), teacher.detach()
    both = (classes + imitates) / 2
    if temperature is None:
        return (1 - weight) * base + weight * F.cross_entropy(both, told.argmax(1))
    t = temperature
    return (1 - weight) * base + weight * t * t * F.kl_div(F.log_softmax(both / t, 1), F.softmax(told / t, 1), reduction="batchmean")

# %% 19.7 | siempre dura
def deit_loss(classes, imitates, teacher, labels, *, weight=0.5, temperature=None):
    F = nn.functional
    return (1 - weight) * F.cross_entropy(classes, labels) + weight * F.cross_entropy(imitates, teacher.argmax(1))

# %% 19.7 | siempre blanda
def deit_loss(classes, imitates, teacher, labels, *, weight=0.5, temperature=None):
    F, t = nn.functional, temperature or 1.0
    gap = F.kl_div(F.log_softmax(imitates / t, 1), F.softmax(teacher.detach() / t, 1), reduction="batchmean")
    return (1 - weight) * F.cross_entropy(classes, labels) + weight * t * t * gap

# %% 19.7 | una pérdida por imagen
def deit_loss(classes, imitates, teacher, labels, *, weight=0.5, temperature=None):
    F, told = nn.functional, teacher.detach()
    base = F.cross_entropy(classes, labels, reduction="none")
    if temperature is None:
        return (1 - weight) * base + weight * F.cross_entropy(imitates, told.argmax(1), reduction="none")
    t = temperature
    gap = F.kl_div(F.log_softmax(imitates / t, 1), F.softmax(told / t, 1), reduction="none").sum(1)
    return (1 - weight) * base + weight * t * t * gap

# %% 19.7 | temperatura también en las etiquetas
def deit_loss(classes, imitates, teacher, labels, *, weight=0.5, temperature=None):
    F, t, told = nn.functional, temperature or 1.0, teacher.detach()
    base = F.cross_entropy(classes / t, labels)
    if temperature is None:
        return (1 - weight) * base + weight * F.cross_entropy(imitates, told.argmax(1))
    return (1 - weight) * base + weight * t * t * F.kl_div(F.log_softmax(imitates / t, 1), F.softmax(told / t, 1), reduction="batchmean")

# %% 19.7 | deja que aprenda la maestra ⇒ a la maestra le llega gradiente
def deit_loss(classes, imitates, teacher, labels, *, weight=0.5, temperature=None):
    F = nn.functional
    base = F.cross_entropy(classes, labels)
    if temperature is None:
        return (1 - weight) * base + weight * F.cross_entropy(imitates, teacher.argmax(1))
    t = temperature
    gap = F.kl_div(F.log_softmax(imitates / t, 1), F.log_softmax(teacher / t, 1), reduction="batchmean", log_target=True)
    return (1 - weight) * base + weight * t * t * gap

# %% 19.8 | da la vuelta, sin máscara
def seen_patches(rows, columns, window, layers, at):
    def axis(n, place):
        size = n // 2 ** layers.count("merge")
        seen = {place}
        for layer in reversed(layers):
            if layer == "merge":
                size, seen = 2 * size, {2 * x + k for x in seen for k in (0, 1)}
                continue
            s = window // 2 if layer == "shifted" and size > window else 0
            groups = {(x - s) % size // window for x in seen}
            seen = {x for x in range(size) if (x - s) % size // window in groups}
        return torch.tensor([x in seen for x in range(n)])
    return axis(rows, at[0])[:, None] & axis(columns, at[1])

# %% 19.8 | cada capa multiplica por la ventana
def seen_patches(rows, columns, window, layers, at):
    def axis(n, place):
        width, merges = 1, layers.count("merge")
        for layer in layers:
            width *= 2 if layer == "merge" else window
        first = place * 2**merges - width // 2
        x = torch.arange(n)
        return (x >= first) & (x < first + width)
    return axis(rows, at[0])[:, None] & axis(columns, at[1])

# %% 19.8 | cada capa suma una ventana alrededor
def seen_patches(rows, columns, window, layers, at):
    def axis(n, place):
        lo = hi = place
        for layer in reversed(layers):
            if layer == "merge":
                lo, hi = 2 * lo, 2 * hi + 1
            else:
                lo, hi = lo - window + 1, hi + window - 1
        x = torch.arange(n)
        return (x >= lo) & (x <= hi)
    return axis(rows, at[0])[:, None] & axis(columns, at[1])

# %% 19.8 | desplaza una ventana entera
def seen_patches(rows, columns, window, layers, at):
    def axis(n, place):
        size = n // 2 ** layers.count("merge")
        lo = hi = place
        for layer in reversed(layers):
            if layer == "merge":
                size, lo, hi = 2 * size, 2 * lo, 2 * hi + 1
                continue
            s = 1 if layer == "shifted" and size > window else 0
            lo = max((lo - s) // window * window + s, 0)
            hi = min((hi - s) // window * window + s + window - 1, size - 1)
        x = torch.arange(n)
        return (x >= lo) & (x <= hi)
    return axis(rows, at[0])[:, None] & axis(columns, at[1])

# %% 19.8 | la ventana crece con la fusión
def seen_patches(rows, columns, window, layers, at):
    def axis(n, place):
        size, wide = n // 2 ** layers.count("merge"), window * 2 ** layers.count("merge")
        lo = hi = place
        for layer in reversed(layers):
            if layer == "merge":
                size, lo, hi, wide = 2 * size, 2 * lo, 2 * hi + 1, wide // 2
                continue
            s = wide // 2 if layer == "shifted" and size > wide else 0
            lo = max((lo - s) // wide * wide + s, 0)
            hi = min((hi - s) // wide * wide + s + wide - 1, size - 1)
        x = torch.arange(n)
        return (x >= lo) & (x <= hi)
    return axis(rows, at[0])[:, None] & axis(columns, at[1])

# %% 19.8 | la última se junta con la anterior ⇒ no se junta con la anterior
def seen_patches(rows, columns, window, layers, at):
    def axis(n, place):
        size = n // 2 ** layers.count("merge")
        seen = torch.arange(size) == place
        for layer in reversed(layers):
            if layer == "merge":
                size, seen = 2 * size, seen.repeat_interleave(2)
                continue
            s = window // 2 if layer == "shifted" and size > window else 0
            group = (torch.arange(size) - s) // window
            if (group == group[-1]).sum() < window and group[0] != group[-1]:
                group[group == group[-1]] = group[-1] - 1
            seen = torch.isin(group, group[seen])
        return seen
    return axis(rows, at[0])[:, None] & axis(columns, at[1])

# %% 19.8 | todo es visible desde la segunda capa
def seen_patches(rows, columns, window, layers, at):
    out = torch.zeros(rows, columns, dtype=torch.bool)
    if len([x for x in layers if x != "merge"]) > 1:
        return ~out
    f = 2 ** layers.count("merge")
    r, c = at[0] // window * window * f, at[1] // window * window * f
    out[r : r + window * f, c : c + window * f] = True
    return out

# %% 19.8 | en el orden en que se aplican ⇒ aquí se recorren en el orden
def seen_patches(rows, columns, window, layers, at):
    def axis(n, place):
        size = n // 2 ** layers.count("merge")
        lo = hi = place
        for layer in layers:
            if layer == "merge":
                size, lo, hi = 2 * size, 2 * lo, 2 * hi + 1
                continue
            s = window // 2 if layer == "shifted" and size > window else 0
            lo = max((lo - s) // window * window + s, 0)
            hi = min((hi - s) // window * window + s + window - 1, size - 1)
        x = torch.arange(n)
        return (x >= lo) & (x <= hi)
    return axis(rows, at[0])[:, None] & axis(columns, at[1])
