"""El explorador del flujo residual: qué encuentra, qué lee y qué añade cada subcapa."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor, nn

from atento.layers import LayerNorm, Residual, RMSNorm
from figuras.explorers.base import (
    Explorer,
    Texts,
    check_count,
    check_labels,
    check_table,
    number,
    static_table,
)

__all__ = ["StreamExplorer", "stream"]

_NAMES = {
    "add_attention": "atención",
    "add_cross_attention": "atención cruzada",
    "add_feed_forward": "red densa",
}
_NORMS = {LayerNorm: "LayerNorm", RMSNorm: "RMSNorm", nn.Identity: ""}


@dataclass(frozen=True, eq=False)
class _Sublayer:
    """Una subcapa ya calculada: de cada palabra, lo que añade, ``added`` ``(n, d)``, y lo que sale
    de su norma, ``normed`` ``(n, d)``, que va antes de leer (``is_pre``) o después de sumar.
    """

    block: int
    name: str
    is_pre: bool
    norm: str
    added: Tensor
    normed: Tensor

    @property
    def label(self) -> str:
        """«bloque 1, atención»."""
        return f"bloque {self.block}, {self.name}"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StreamExplorer(Explorer):
    """El explorador del flujo residual. Se construye con :func:`stream`.

    ``x`` ``(n, d)`` es lo que entra; ``stacks``, las subcapas de cada pila, por su rótulo, y
    ``word``, la palabra del principio.
    """

    kind: ClassVar[str] = "stream"
    pieces: ClassVar[tuple[str, ...]] = ("kit", "sides")
    words: tuple[str, ...]
    features: tuple[str, ...]
    x: Tensor
    stacks: dict[str, tuple[_Sublayer, ...]]
    word: int
    title: str = "El flujo residual, subcapa a subcapa"
    name: str = "flujo"

    def compute(self, label: str | None = None, word: int | None = None) -> list[dict[str, Tensor]]:
        """De cada subcapa, cinco vectores ``(d,)`` de la palabra ``word`` en la pila ``label``.

        ``before`` es lo que había en el flujo; ``read``, lo que lee la subcapa; ``added``, lo que
        añade; ``total``, la suma; ``after``, lo que queda en el flujo. Sin argumentos, la primera
        pila y la palabra del principio.
        """
        label = next(iter(self.stacks)) if label is None else label
        word = self.word if word is None else word
        stream, rows = self.x[word], []
        for sublayer in self.stacks[label]:
            added, normed = sublayer.added[word], sublayer.normed[word]
            row = {"before": stream, "added": added, "total": stream + added}
            row["read"] = normed if sublayer.is_pre else stream
            stream = row["after"] = row["total"] if sublayer.is_pre else normed
            rows.append(row)
        return rows

    def shares(self, label: str | None = None, word: int | None = None) -> list[float]:
        """La norma de lo que añade cada subcapa, en proporción a la de lo que había."""
        return [_share(row) for row in self.compute(label, word)]

    def static(self) -> str:
        """De cada pila, las normas por profundidad; de la primera subcapa, sus vectores."""
        tables = [self._vectors()]
        head = ["subcapa", "había", "añade", "proporción", "queda"]
        for label, sublayers in self.stacks.items():
            rows = [
                [
                    sublayer.label,
                    *(number(row[key].norm()) for key in ("before", "added")),
                    _percent(_share(row)),
                    number(row["after"].norm()),
                ]
                for sublayer, row in zip(sublayers, self.compute(label), strict=True)
            ]
            caption = f"Norma del flujo de «{self.words[self.word]}», {label}"
            tables.append(static_table(caption, head, rows))
        return "".join(tables)

    def _vectors(self) -> str:
        label, sublayers = next(iter(self.stacks.items()))
        first = self.compute(label)[0]
        names = {"before": "había", "read": "lee", "added": "añade", "total": "suma"}
        rows = [[name, *map(number, first[key].tolist())] for key, name in names.items()]
        columns = self.features or [str(i + 1) for i in range(self.x.shape[1])]
        caption = f"«{self.words[self.word]}», {label}, {sublayers[0].label}"
        return static_table(caption, ["", *columns], rows)

    def summary(self) -> str:
        """Una línea para la terminal."""
        depth = len(next(iter(self.stacks.values())))
        names = ", ".join(self.stacks)
        return f"Flujo residual: {len(self.words)} palabras, {depth} subcapas ({names})"


def _share(row: Mapping[str, Tensor]) -> float:
    added, before = float(row["added"].norm()), float(row["before"].norm())
    if added == 0:
        return 0.0
    return added / before if before else math.inf


def _percent(share: float) -> str:
    return f"{100 * share:.0f}\u00a0%" if math.isfinite(share) else "∞"


def stream(
    words: Sequence[str],
    x: Tensor,
    stacks: Mapping[str, nn.Module | Sequence[nn.Module]],
    *,
    features: Sequence[str] = (),
    word: int = 0,
    **texts: Unpack[Texts],
) -> StreamExplorer:
    """Devuelve el explorador del flujo residual de una o varias pilas sobre la misma frase.

    ``x`` ``(n, d)`` es lo que entra en la pila, una fila por palabra: seis como mucho, con ``d`` de
    2 a 8. ``stacks`` da a cada rótulo una pila de :mod:`atento.blocks` (o sus bloques, en orden):
    las mismas subcapas en todas, hasta 8 en una y 12 entre todas. Sus cuentas se hacen aquí, en
    float64 y sin descarte. La norma de una subcapa puede ser ``nn.Identity``. ``features`` nombra
    las componentes, y ``word`` es la palabra del principio.

    Errores: ``ValueError`` si las formas o los rótulos no casan, si hay números no finitos, o si
    una pila no está hecha de conexiones residuales de la biblioteca.
    """
    x = check_table(x, "x", "(n, d)", (2,))
    if len(x) > 6 or not 2 <= x.shape[1] <= 8:
        raise ValueError(
            f"x: llegó la forma {tuple(x.shape)}; se esperaba (n, d), con n de 1 a 6 y d de 2 a 8"
        )
    words = check_labels(words, "words", len(x), "fila de x")
    if features:
        features = check_labels(features, "features", x.shape[1], "componente")
    check_count(word, "word", 0, len(words) - 1)
    return StreamExplorer(
        words=words,
        features=tuple(features),
        x=x,
        stacks=_recorded(stacks, x),
        word=word,
        **texts,
    )


# --- Lo que hace cada subcapa ---------------------------------------------------------------------


def _recorded(
    stacks: Mapping[str, nn.Module | Sequence[nn.Module]], x: Tensor
) -> dict[str, tuple[_Sublayer, ...]]:
    if not isinstance(stacks, Mapping) or not 1 <= len(stacks) <= 3:
        raise ValueError("stacks: se esperaba un diccionario de una a tres pilas, por su rótulo")
    check_labels(list(stacks), "stacks", len(stacks), "pila")
    found = {label: _record(label, stack, x) for label, stack in stacks.items()}
    kinds = {tuple(sublayer.label for sublayer in sublayers) for sublayers in found.values()}
    if len(kinds) > 1:
        raise ValueError("stacks: las pilas no tienen las mismas subcapas, en el mismo orden")
    total = sum(map(len, found.values()))
    if total > 12:
        raise ValueError(f"stacks: hay {total} subcapas entre todas; caben 12")
    return found


def _record(label: str, stack: nn.Module | Sequence[nn.Module], x: Tensor) -> tuple[_Sublayer, ...]:
    """Pasa ``x`` por una copia de la pila, en float64, y apunta lo que añade cada subcapa."""
    blocks = _copied(label, getattr(stack, "blocks", stack))
    adders = [
        (position, name, child)
        for position, block in enumerate(blocks, start=1)
        for name, child in block.named_children()
        if isinstance(child, Residual)
    ]
    if not 1 <= len(adders) <= 8 or any(type(r.norm) not in _NORMS for *_, r in adders):
        raise ValueError(
            f"stacks: en «{label}» hay {len(adders)} subcapas; se esperaban de 1 a 8 conexiones"
            " residuales, con una norma de la biblioteca o nn.Identity"
        )
    # De cada descarte, lo que se suma; de cada conexión, lo que sale de su norma.
    heard: dict[nn.Module, Tensor] = {}

    def hear(part: nn.Module, given: tuple[Tensor, ...], output: Tensor) -> None:
        if isinstance(part, Residual) and part.is_pre:
            output = part.norm(given[0])
        heard[part] = check_table(output, "stacks", "(n, d)", (2,))

    for *_, residual in adders:
        residual.register_forward_hook(hear)
        residual.dropout.register_forward_hook(hear)
    with torch.no_grad():
        for block in blocks:
            x = block(x)
    return tuple(
        _Sublayer(
            block=position,
            name=_NAMES.get(name, name),
            is_pre=residual.is_pre,
            norm=_NORMS[type(residual.norm)],
            added=heard[residual.dropout],
            normed=heard[residual],
        )
        for position, name, residual in adders
    )


def _copied(label: str, blocks: Any) -> nn.ModuleList:
    if not isinstance(blocks, (Sequence, nn.ModuleList)) or not all(
        isinstance(block, nn.Module) for block in blocks
    ):
        raise ValueError(
            f"stacks: en «{label}» llegó {type(blocks).__name__}; se esperaba una pila o una lista"
            " de bloques"
        )
    return nn.ModuleList(copy.deepcopy(list(blocks))).double().eval()
