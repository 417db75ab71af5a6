"""Tapar fragmentos: el ejercicio con que T5 aprende de un texto sin etiquetas.

De una frase se quitan unos fragmentos, y en su lugar queda un centinela distinto cada vez. Lo que
se pide es lo quitado, con los mismos centinelas delante de cada fragmento y uno más al final:

    lee      gracias ⟨0⟩ a tu fiesta ⟨1⟩ semana
    escribe  ⟨0⟩ por invitarme ⟨1⟩ la pasada ⟨2⟩

Entre lo leído y lo escrito está la frase entera: :func:`restore` la rehace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import torch

from atento.amounts import require_kind, require_positive, require_probability, require_size
from atento.tasks import writing

_Token = TypeVar("_Token")


def spans_of(n: int, *, density: float = 0.15, mean_length: float = 3.0) -> tuple[int, int]:
    """Cuántas palabras se tapan de una frase de ``n``, y en cuántos fragmentos.

    Se tapa al menos una y se deja al menos una. Lo que se lee mide entonces
    ``n - hidden + spans``, y lo que se escribe, ``hidden + spans + 1``.

    Errores: ``TypeError`` o ``ValueError`` si ``n`` no es un entero ≥ 2, ``density`` no está en
    [0, 1) o ``mean_length`` no es positivo.
    Fuente: Raffel et al. (2020), § 3.3.4, y el código publicado.
    """
    require_size(n, name="n", least=2)
    require_probability(density, name="density")
    require_positive(mean_length, name="mean_length")
    hidden = min(max(round(n * density), 1), n - 1)
    spans = max(round(hidden / mean_length), 1)
    return hidden, min(spans, hidden, n - hidden)


def hidden_spans(
    n: int,
    rng: torch.Generator | int,
    *,
    density: float = 0.15,
    mean_length: float = 3.0,
) -> list[tuple[int, int]]:
    """Sortea qué se tapa: los fragmentos, ``(principio, final)`` sin incluir el final, en orden.

    Lo tapado y lo visto se reparten por separado en trozos no vacíos, al azar entre todos los
    repartos, y se alternan empezando por lo visto: dos fragmentos nunca se tocan.

    Errores: los de :func:`spans_of`, y ``TypeError`` si ``rng`` no es un generador ni un entero.
    Fuente: Raffel et al. (2020), código publicado (``random_spans_noise_mask``).
    """
    hidden, spans = spans_of(n, density=density, mean_length=mean_length)
    source = writing.require_rng(rng)
    seen = _parts(n - hidden, spans, source)
    taken = _parts(hidden, spans, source)
    found, place = [], 0
    for before, length in zip(seen, taken, strict=True):
        found.append((place + before, place + before + length))
        place += before + length
    return found


def _parts(total: int, parts: int, source: torch.Generator) -> list[int]:
    """``total`` en ``parts`` trozos no vacíos, con todos los repartos igual de probables."""
    cuts = torch.randperm(total - 1, generator=source, device=source.device)[: parts - 1]
    edges = [0, *sorted((cuts + 1).tolist()), total]
    return [b - a for a, b in zip(edges, edges[1:], strict=False)]


def corrupt(
    words: Sequence[_Token], spans: Sequence[tuple[int, int]], sentinels: Sequence[_Token]
) -> tuple[list[_Token], list[_Token]]:
    """Lo que se lee y lo que se escribe al tapar ``spans`` en ``words``, que son números o textos.

    Los fragmentos van en orden y no se tocan; hace falta un centinela más que fragmentos, y
    ninguno puede estar en la frase.

    Errores: ``TypeError`` si no son secuencias; ``ValueError`` si los fragmentos no caben, se
    tocan o van desordenados, si faltan centinelas o si alguno está repetido o en la frase.
    Fuente: Raffel et al. (2020), § 3.1.4 y figura 2.
    """
    _require_sentinels(words, sentinels, len(spans) + 1 if isinstance(spans, Sequence) else 1)
    _require_spans(spans, len(words))
    source: list[_Token] = []
    target: list[_Token] = []
    place = 0
    for (start, end), sentinel in zip(spans, sentinels, strict=False):
        source += [*words[place:start], sentinel]
        target += [sentinel, *words[start:end]]
        place = end
    return [*source, *words[place:]], [*target, sentinels[len(spans)]]


def restore(
    source: Sequence[_Token], target: Sequence[_Token], sentinels: Sequence[_Token]
) -> list[_Token]:
    """La frase entera, con cada fragmento de ``target`` en el sitio de su centinela.

    Un centinela del que ``target`` no diga nada se queda sin fragmento, como al leer lo que ha
    escrito un modelo.

    Errores: ``TypeError`` si no son secuencias; ``ValueError`` si ``sentinels`` se repiten.
    """
    require_kind(target, Sequence, name="target", wanted="una secuencia de palabras")
    _require_sentinels(source, sentinels, 0, absent=False)
    spans: dict[_Token, list[_Token]] = {}
    current: list[_Token] = []
    for word in target:
        if word in sentinels:
            current = spans.setdefault(word, [])
        else:
            current.append(word)
    known = set(sentinels)
    return [w for word in source for w in (spans.get(word, []) if word in known else [word])]


# --- Las puertas ----------------------------------------------------------------------------------


def _require_sentinels(
    words: Sequence[_Token], sentinels: Sequence[_Token], least: int, *, absent: bool = True
) -> None:
    for name, value in (("words", words), ("sentinels", sentinels)):
        require_kind(value, Sequence, name=name, wanted="una secuencia")
    if len(set(sentinels)) < max(len(sentinels), least):
        raise ValueError(
            f"sentinels: se esperaban {least} o más, todos distintos; llegaron {len(sentinels)}, "
            f"{len(set(sentinels))} distintos."
        )
    inside = set(words) & set(sentinels) if absent else set()
    if inside:
        raise ValueError(
            "sentinels: se esperaba que no estuvieran en la frase; está "
            f"{', '.join(map(repr, sorted(inside, key=str)))}."
        )


def _require_spans(spans: Sequence[tuple[int, int]], n: int) -> None:
    require_kind(spans, Sequence, name="spans", wanted="una secuencia de fragmentos")
    previous = -1
    for start, end in spans:
        if not previous < start < end <= n:
            raise ValueError(
                f"spans: se esperaban fragmentos en orden, sin tocarse y de 0 a {n}; llegó "
                f"{list(spans)}."
            )
        previous = end
