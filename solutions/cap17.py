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
# # Capítulo 17. De secuencia a secuencia: T5: soluciones

# %%
import math
from collections import Counter
from itertools import combinations

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor

# %% [markdown]
# ## 17.1 Tapar tramos
#
# Un centinela se pone al **entrar** en un tramo, en los dos lados a la vez. El que queda libre al
# acabar es el que cierra lo escrito.


# %%
def corrupt_spans(ids: list[int], hidden: list[bool], vocab: int) -> tuple[list[int], list[int]]:
    """Lo que se lee y lo que se escribe al tapar los tramos que dice ``hidden``."""
    read: list[int] = []
    written: list[int] = []
    sentinel, inside = vocab - 1, False
    for token, taken in zip(ids, hidden, strict=True):
        if taken and not inside:
            read.append(sentinel)
            written.append(sentinel)
            sentinel -= 1
        (written if taken else read).append(token)
        inside = taken
    return read, [*written, sentinel]


# %% [markdown]
# ## 17.2 Dos maneras de barajar
#
# La atención cruzada de T5 suma sobre las filas sin mirar en qué sitio están: barajadas, la suma es
# la misma. El orden de la frase no se pierde, porque ya está **dentro** de cada fila, donde lo puso
# el codificador con su sesgo. Aquí se cuenta con una capa de cada.


# %%
def shuffled() -> str:
    """La respuesta, comparando lo que ve una consulta en los tres casos."""
    rng = torch.Generator().manual_seed(0)
    words, query, bias = (torch.randn(6, 6, generator=rng) for _ in range(3))
    order = torch.tensor([3, 0, 5, 1, 4, 2])

    def encode(x: Tensor) -> Tensor:
        return (x @ x.T + bias).softmax(dim=-1) @ x

    def look(rows: Tensor) -> Tensor:
        return (query @ rows.T).softmax(dim=-1) @ rows

    right = look(encode(words))
    by_words = not torch.allclose(look(encode(words[order])), right, atol=1e-5)
    by_rows = not torch.allclose(look(encode(words)[order]), right, atol=1e-5)
    if by_words:
        return "los dos" if by_rows else "solo las palabras"
    return "solo las filas" if by_rows else "ninguno"


# %% [markdown]
# ## 17.3 Tramos y subsecuencias
#
# Se tapan 30 tokens en 10 tramos. Se leen los 170 que quedan y 10 centinelas; se escriben los 30,
# sus 10 centinelas y uno más. Las seis palabras escritas están en la referencia, que tiene siete:
# la F de ROUGE-1 es $2 \cdot 6/13$. En el mismo orden hay cuatro, «robo en el museo», y la de
# ROUGE-L es $2 \cdot 4/13$.


# %%
def spans_by_hand() -> dict[str, float]:
    """Las respuestas, calculadas."""
    n, hidden, spans = 200, 30, 10
    reference = "robo en el museo por el descuido".split()
    written = "robo por descuido en el museo".split()
    same = (Counter(reference) & Counter(written)).total()
    sizes = range(len(written) + 1)
    kept = {r: {*combinations(reference, r)} & {*combinations(written, r)} for r in sizes}
    lcs = max(r for r in sizes if kept[r])
    both = len(written) + len(reference)
    return {
        "read": n - hidden + spans,
        "written": hidden + spans + 1,
        "unigram_f": 2 * same / both,
        "lcs": lcs,
        "lcs_f": 2 * lcs / both,
    }


# %% [markdown]
# ## 17.4 Rehacer la frase
#
# Primero se trocea lo escrito, con un diccionario de centinela a tramo. Lo que no abre un tramo
# nuevo, como lo que sigue a un centinela repetido, va a una lista que nadie lee.


# %%
def restore_spans(
    source: list[int], written: list[int], vocab: int, n_sentinels: int = 100
) -> list[int]:
    """La frase entera, con cada tramo de ``written`` en el sitio de su centinela."""
    first = vocab - n_sentinels
    spans: dict[int, list[int]] = {}
    current: list[int] = []
    for token in written:
        if token >= first:
            current = []
            spans.setdefault(token, current)
        else:
            current.append(token)
    whole: list[int] = []
    for token in source:
        whole += [token] if token < first else spans.get(token, [])
    return whole


# %% [markdown]
# ## 17.5 Cuánto texto cabe
#
# Lo que se lee nunca baja cuando el texto crece: basta subir $n$ hasta el último que cabe. Con 512
# tokens de entrada, como en T5, salen 568.


# %%
def raw_length(budget: int, *, density: float = 0.15, mean_length: float = 3.0) -> tuple[int, int]:
    """Los tokens que, una vez tapados, caben en lo que se lee, y los que se escriben entonces."""

    def sizes(n: int) -> tuple[int, int]:
        hidden = min(max(round(n * density), 1), n - 1)
        spans = min(max(round(hidden / mean_length), 1), hidden, n - hidden)
        return n - hidden + spans + 1, hidden + spans + 2

    n = 2
    while sizes(n + 1)[0] <= budget:
        n += 1
    return n, sizes(n)[1]


# %% [markdown]
# ## 17.6 La atención de T5
#
# Es la multicabeza de siempre con dos cambios: no se divide entre $\sqrt{d_k}$, y a las
# puntuaciones se les suma lo que la tabla dice del cubo de cada pareja, distinto en cada cabeza.


# %%
def t5_attention(
    x: Float[Tensor, "batch n d_model"],
    w_query: Float[Tensor, "wide d_model"],
    w_key: Float[Tensor, "wide d_model"],
    w_value: Float[Tensor, "wide d_model"],
    w_output: Float[Tensor, "d_model wide"],
    table: Float[Tensor, "bucket head"],
    bucket: Int[Tensor, "n n"],
    mask: Bool[Tensor, "batch n"] | None = None,
) -> Float[Tensor, "batch n d_model"]:
    """La autoatención de T5: sin dividir y con un sesgo por cabeza y cubo."""

    def project(weight: Tensor) -> Tensor:
        return rearrange(x @ weight.mT, "b n (h d) -> b h n d", h=table.shape[1])

    query, key, value = project(w_query), project(w_key), project(w_value)
    bias = table[bucket].movedim(-1, 0)  # (head, n, n)
    scores = query @ key.mT + bias
    if mask is not None:
        scores = scores.masked_fill(~mask[:, None, None, :], -torch.inf)
    mixed = scores.softmax(dim=-1) @ value
    return rearrange(mixed, "b h n d -> b n (h d)") @ w_output.mT


# %% [markdown]
# ## 17.7 ROUGE-L
#
# Una fila de la tabla por palabra escrita: en cada sitio está la longitud de lo común entre lo
# escrito hasta ahí y la referencia hasta ahí. Si las dos palabras son iguales, una más que en la
# diagonal; si no, lo mejor de saltarse una o la otra.


# %%
def rouge_l(written: list[str], reference: list[str]) -> tuple[float, float, float]:
    """La precisión, la cobertura y la F de la subsecuencia común más larga."""
    row = [0] * (len(reference) + 1)
    for word in written:
        above, row = row, [0]
        for j, other in enumerate(reference):
            row.append(above[j] + 1 if word == other else max(above[j + 1], row[j]))
    common = row[-1]
    if common == 0:
        return 0.0, 0.0, 0.0
    precision, recall = common / len(written), common / len(reference)
    return precision, recall, 2 * precision * recall / (precision + recall)


# %% [markdown]
# ## 17.8 ¿Quién se queda a la vista?
#
# Un reparto de $m$ en $r$ trozos no vacíos es elegir $r - 1$ cortes entre $m - 1$ sitios. La
# posición $t$ está en el tramo $k$ si delante hay justo $k + 1$ trozos a la vista, enteros, y si
# entre los tapados de delante caen justo $k$ cortes. La primera posición no se tapa nunca, y la
# última, siempre. Ese modelo no aprende a escribir un comienzo.


# %%
def hidden_chances(n: int, hidden: int, spans: int) -> Float[Tensor, " n"]:
    """La probabilidad de que se tape cada posición."""
    seen = n - hidden

    def ways(total: int, parts: int) -> int:
        return math.comb(total - 1, parts - 1) if total and parts else int(total == parts)

    def inside(t: int, k: int, before: int) -> int:
        """Los repartos con ``before`` a la vista delante de t, que está en el tramo k."""
        taken = t - before
        if not 0 <= taken < hidden:
            return 0
        cuts = math.comb(taken, k) * math.comb(hidden - 1 - taken, spans - 1 - k)
        return ways(before, k + 1) * ways(seen - before, spans - 1 - k) * cuts

    places = [(k, before) for k in range(spans) for before in range(1, seen + 1)]
    total = ways(seen, spans) * ways(hidden, spans)
    chances = [sum(inside(t, *place) for place in places) / total for t in range(n)]
    return torch.tensor(chances, dtype=torch.float64)
