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
# # Capítulo 14. Tres laboratorios: soluciones

# %%
import math
from itertools import zip_longest

import torch
from jaxtyping import Float, Int
from torch import Tensor

# %% [markdown]
# ## 14.1 Cuatro notas de un mismo lote
#
# Las probabilidades son potencias de ½: la pérdida, contada en ln 2, es la suma de los exponentes,
# 1 + 2 + 1 + 0 y 1 + 0, entre los 6 símbolos pedidos: 5/6 de ln 2. El relleno no se cuenta. Acierta
# 5 de 6 símbolos y una copia de dos. Para que la primera salga entera hay que sortear bien sus
# cuatro símbolos: se multiplica, 1/16.


# %%
def score_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""
    rows = [(0.5, 0.25, 0.5, 1.0), (0.5, 1.0)]
    right = [[p != 0.25 for p in row] for row in rows]
    n = sum(map(len, rows))
    return {
        "loss": -sum(math.log(p) for row in rows for p in row) / n,
        "token": sum(map(sum, right)) / n,
        "exact": sum(map(all, right)) / len(rows),
        "sampled": math.prod(rows[0]),
    }


# %% [markdown]
# ## 14.2 Puntuar lo escrito
#
# Un sitio cuenta si lo pedido aún no ha acabado, y acierta si además lo escrito tampoco y los dos
# símbolos son el mismo. Quien acierta todos los sitios, el del fin incluido, ha escrito lo pedido:
# no hace falta comparar nada más.


# %%
def exact_and_token(
    written: Int[Tensor, "batch w"], wanted: Int[Tensor, "batch m"], eos_id: int = 2
) -> tuple[float, float]:
    """La proporción de filas idénticas y la de sitios acertados, hasta el fin."""

    def alive(ids: Tensor) -> Tensor:  # hasta el primer fin, incluido
        ended = (ids == eos_id).long()
        return ended.cumsum(dim=1) - ended == 0

    width = min(written.shape[1], wanted.shape[1])
    counts = alive(wanted).sum(dim=1)
    same = written[:, :width] == wanted[:, :width]
    hits = (same & alive(written)[:, :width] & alive(wanted)[:, :width]).sum(dim=1)
    exact = (hits == counts).double().mean()
    return float(exact), hits.sum().item() / counts.sum().item()


# %% [markdown]
# ## 14.3 Un sumador miope
#
# Solo engaña un lugar que suma 9 y al que **sí** le llega una llevada: pasa en las decenas de
# 275 + 528, así que en las centenas escribe 7 en lugar de 8. En 354 + 645 todo suma 9, pero no
# llega ninguna llevada; en las otras dos, cada lugar que lleva lo hace por sí solo.


# %%
def short_sighted() -> str:
    """La respuesta, sumando como el miope."""

    def blind(a: int, b: int) -> int:
        total = 0
        for k in range(4):
            here, below = ((a // 10**i % 10 + b // 10**i % 10) if i >= 0 else 0 for i in (k, k - 1))
            total += (here + (below >= 10)) % 10 * 10**k
        return total

    options = ("458+367", "275+528", "199+099", "354+645")
    pairs = {text: tuple(map(int, text.split("+"))) for text in options}
    (wrong,) = [text for text, pair in pairs.items() if blind(*pair) != sum(pair)]
    return wrong


# %% [markdown]
# ## 14.4 Dónde se pierde la llevada
#
# Se suma como en papel, de las unidades hacia arriba. La cadena que le llega al lugar siguiente
# crece en uno si este lleva y vuelve a 0 si no.


# %%
def errors_by_chain(
    pairs: Int[Tensor, "batch 2"], written: Int[Tensor, " batch"], digits: int
) -> Int[Tensor, "digits+1 2"]:
    """Cuántos lugares tienen cada cadena de llevadas, y cuántos de ellos están mal."""
    table = torch.zeros(digits + 1, 2, dtype=torch.long)
    for (a, b), result in zip(pairs.tolist(), written.tolist(), strict=True):
        chain = 0
        for k in range(digits + 1):
            place = a // 10**k % 10 + b // 10**k % 10 + (chain > 0)
            table[chain, 0] += 1
            table[chain, 1] += result // 10**k % 10 != place % 10
            chain = chain + 1 if place >= 10 else 0
    return table


# %% [markdown]
# ## 14.5 Buscar la fuga
#
# Cada suma se lleva a una forma canónica, las dos cifras de cada columna ordenadas y sin ceros
# delante, y se mira si está en el conjunto de las de entrenar. Como conjunto, cada consulta cuesta
# lo mismo sea cual sea su tamaño.


# %%
def leaked(train: list[str], test: list[str]) -> list[int]:
    """Los índices de las sumas de ``test`` que, columna a columna, ya estaban en ``train``."""

    def canonical(text: str) -> tuple[str, ...]:
        first, second = (number.lstrip("0")[::-1] for number in text.split("+"))
        columns = zip_longest(first, second, fillvalue="0")
        return tuple("".join(sorted(pair)) for pair in columns)

    seen = {canonical(text) for text in train}
    return [i for i, text in enumerate(test) if canonical(text) in seen]


# %% [markdown]
# ## 14.6 De la pizarra al prefijo
#
# Dos pilas: la de los operandos ya escritos en prefijo y la de las operaciones que esperan. Antes
# de apilar una operación se cierran las que esperan y van antes que ella: las de rango mayor y,
# como se asocia por la izquierda, las del mismo. Un paréntesis que cierra acaba con todas hasta el
# suyo.


# %%
def to_prefix(text: str) -> str:
    """El orden prefijo de una expresión con prioridades y con los paréntesis que hagan falta."""
    rank = {"(": 0, "+": 1, "-": 1, "*": 2, "/": 2}
    operands: list[str] = []
    waiting: list[str] = []

    def close(least: int) -> None:
        while waiting and rank[waiting[-1]] >= least:
            right, left = operands.pop(), operands.pop()
            operands.append(waiting.pop() + left + right)

    for sign in text:
        if sign == "(":
            waiting.append(sign)
        elif sign == ")":
            close(1)
            waiting.pop()
        elif sign in rank:
            close(rank[sign])
            waiting.append(sign)
        else:
            operands.append(sign)
    close(1)
    return operands[0]


# %% [markdown]
# ## 14.7 Los paréntesis justos
#
# Del final al principio, una hoja se apila y una operación saca sus dos lados: primero el
# izquierdo, que se leyó el último. De cada trozo se guarda el rango de su operación principal. El
# lado izquierdo pide paréntesis si su rango es menor; el derecho, también si es el mismo.


# %%
def to_infix(text: str) -> str:
    """La expresión de un orden prefijo, con los paréntesis imprescindibles."""
    rank = {"+": 1, "-": 1, "*": 2, "/": 2}
    stack: list[tuple[str, int]] = []

    def wrap(part: tuple[str, int], least: int) -> str:
        return part[0] if part[1] >= least else f"({part[0]})"

    for sign in reversed(text):
        if sign in rank:
            left, right = stack.pop(), stack.pop()
            whole = wrap(left, rank[sign]) + sign + wrap(right, rank[sign] + 1)
            stack.append((whole, rank[sign]))
        else:
            stack.append((sign, 3))  # una hoja no los pide nunca
    return stack[0][0]


# %% [markdown]
# ## 14.8 ¿Mira al suyo o a cualquiera?
#
# Con una pila se empareja cada paréntesis. De la fila del que abre interesan solo las columnas de
# los que cierran: la del suyo y, de control, la media de las demás.


# %%
def bracket_excess(weights: Float[Tensor, "heads n n"], text: str) -> Float[Tensor, " heads"]:
    """El peso en el paréntesis que cierra, menos la media de los puestos en los demás."""
    opened: list[int] = []
    partner: dict[int, int] = {}
    for i, sign in enumerate(text):
        if sign == "(":
            opened.append(i)
        elif sign == ")":
            partner[opened.pop()] = i
    closings = set(partner.values())
    differences = []
    for i, j in partner.items():
        others = weights[:, i, sorted(closings - {j})]  # una columna por cada otra pareja
        differences.append(weights[:, i, j] - others.mean(dim=1))
    return torch.stack(differences).mean(dim=0)


# %% [markdown]
# ## 14.9 Lo que dicen mil aciertos
#
# Elevada al cuadrado, la igualdad es una ecuación de segundo grado en $p$:
# $(1 + z^2/n)\,p^2 - (2\hat p + z^2/n)\,p + \hat p^2 = 0$. Es el intervalo de Wilson. Con 1000 de
# 1000, el extremo de abajo es $n/(n + z^2)$: la tasa podría ser del 99.6 %.


# %%
def rate_interval(hits: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """El intervalo de las tasas compatibles con ``hits`` aciertos de ``n``."""
    rate, extra = hits / n, z**2 / n
    middle = rate + extra / 2
    half = z * math.sqrt(rate * (1 - rate) / n + extra / (4 * n))
    return (middle - half) / (1 + extra), (middle + half) / (1 + extra)


# %% [markdown]
# ## 14.10 Las llevadas, por capas
#
# Tras la ronda $r$, quien duda suma 9 en los $2^r$ lugares que ha mirado; por eso salta al que está
# a $2^r$. Cada ronda dobla el alcance: una cadena de $c$ nueves se resuelve en unas $\log_2 c$
# rondas. En cada una, un lugar mira a otro, a una distancia fija: lo hace una cabeza con posiciones
# relativas. Bastan esas; una que buscara el primer lugar que no suma 9 acabaría en una.


# %%
def carry_rounds(sums: Int[Tensor, " n"]) -> Int[Tensor, "rounds+1 n"]:
    """Si cada lugar lleva (1), no lleva (0) o duda (−1), al empezar y tras cada ronda."""
    state = (sums >= 10).long() - (sums == 9).long()
    rounds, step = [state], 1
    while (state == -1).any():
        below = torch.cat([torch.zeros_like(state[:step]), state[:-step]])
        state = torch.where(state == -1, below, state)
        rounds.append(state)
        step *= 2
    return torch.stack(rounds)


# %% [markdown]
# ## 14.11 Hasta dónde hay que mirar
#
# Se equivoca en un lugar si le llega una llevada y los ``reach`` lugares que ve suman 9. Basta
# recordar, de las unidades hacia arriba, si hay llevada y cuántos nueves seguidos la han pasado. De
# las 100 parejas de cifras, 45 suman 10 o más, 10 suman 9 y 45 suman 8 o menos.


# %%
def exact_rate(digits: int, reach: int) -> float:
    """La proporción de sumas que escribe bien quien ve ``reach`` lugares a la derecha."""
    without, chains = 1.0, [0.0] * reach  # chains[t]: con llevada que ha pasado por t nueves
    for _ in range(digits):
        total = without + sum(chains)
        passed = [0.10 * chain for chain in chains[:-1]]
        without = 0.45 * total + 0.10 * without
        chains = ([0.45 * total] + passed)[:reach]
    return without + sum(chains)


# %% [markdown]
# ## 14.12 Tapar, dejar solo
#
# Las tres vistas salen de una tabla: de cada paso, cuál es su sitio. Taparlo es darle una
# puntuación de menos infinito; dejarlo solo, dársela a todos los demás. El relleno ya la traía. Los
# pasos sin sitio se quedan sin nada a la vista en la tercera, y por eso no se cuentan.


# %%
def hits_by_view(
    scores: Float[Tensor, "batch steps source"],
    values: Float[Tensor, "batch source vocab"],
    labels: Int[Tensor, "batch steps"],
    place: Int[Tensor, "batch steps"],
) -> Float[Tensor, " 3"]:
    """Los aciertos viéndolo todo, sin su sitio y con su sitio y nada más."""
    own = torch.arange(scores.shape[-1]) == place[..., None]
    nothing = torch.zeros_like(own)

    def hits(hidden: Tensor) -> Tensor:
        weights = scores.masked_fill(hidden, -torch.inf).softmax(dim=-1)
        written = (weights @ values).argmax(dim=-1)
        right = written == labels
        return right[place >= 0].double().mean()

    return torch.stack([hits(hidden) for hidden in (nothing, own, ~own)])
