"""Las cabezas de un codificador, una a una: quién mira a quién en unas frases guardadas."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor

from figuras.explorers.base import (
    Explorer,
    Texts,
    check_count,
    check_labels,
    check_table,
    number,
    static_table,
)
from figuras.explorers.live import weights_file

__all__ = ["HABITS", "HeadsExplorer", "heads"]

HABITS = ("las marcas", "la anterior", "la siguiente", "sí misma", "las demás")
"""A qué mira una palabra, en el orden de la página."""

_LONGEST, _MOST = 16, 24


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class HeadsExplorer(Explorer):
    """Las cabezas de un modelo sobre unas frases. Se construye con :func:`heads`.

    ``words`` son las palabras de cada frase, con una marca delante y otra detrás; ``weights``, los
    pesos de cada una, ``(layer, head, n, n)`` de 0 a 255, como viajan.
    """

    kind: ClassVar[str] = "heads"
    pieces: ClassVar[tuple[str, ...]] = ("kit", "file", "group")
    words: tuple[tuple[str, ...], ...]
    weights: tuple[Tensor, ...]
    title: str = "Todas las cabezas, frase a frase"
    name: str = "cabezas"

    def look(self, sentence: int, layer: int, head: int, *, bare: bool = False) -> Tensor:
        """Los pesos de una cabeza, ``(n, n)`` en 64 bits: quien mira, en la fila.

        Con ``bare`` no se cuentan las marcas: lo que queda de cada fila se reparte hasta sumar 1, y
        una fila a la que no le queda nada es toda ceros. Las filas de las marcas son ceros.
        """
        weights = self.weights[sentence][layer, head].double() / 255
        if not bare:
            return weights
        weights[:, [0, -1]] = 0
        weights[[0, -1]] = 0
        whole = weights.sum(-1, keepdim=True)
        return weights / whole.where(whole > 0, 1.0)

    def habits(
        self, sentence: int, layer: int, head: int, *, bare: bool = False
    ) -> dict[str, float]:
        """Qué parte de su mirada da cada palabra, de media, a cada cosa de :data:`HABITS`.

        Se promedia en las palabras y no en las marcas. La primera palabra no tiene anterior, ni la
        última siguiente: lo que hay a ese lado es una marca.
        """
        weights = self.look(sentence, layer, head, bare=bare)[1:-1]  # (palabras, n)
        marks = weights[:, [0, -1]].sum(-1).mean()
        own = weights.diagonal(1)
        before, after = weights.diagonal(0)[1:], weights.diagonal(2)[:-1]
        count = len(weights)
        known = (marks, before.sum() / count, after.sum() / count, own.mean())
        rest = weights.sum(-1).mean() - sum(known)
        return dict(zip(HABITS, map(float, (*known, rest)), strict=True))

    def files(self) -> dict[str, str]:
        """Los pesos de las frases que no son la primera, en base 64, por el nombre del fichero."""
        return weights_file(self.name, _packed(self.weights[1:])) if self.weights[1:] else {}

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript: la primera frase va dentro; las demás, en su fichero."""
        layers, n_heads = self.weights[0].shape[:2]
        return {
            "words": self.words,
            "layers": layers,
            "heads": n_heads,
            "first": base64.b64encode(_packed(self.weights[:1])).decode(),
            "file": next(iter(self.files()), None),
        }

    def static(self) -> str:
        """De la primera frase, cuánto da cada capa a cada cosa, de media en sus cabezas."""
        layers, n_heads = self.weights[0].shape[:2]
        rows = []
        for layer in range(layers):
            found = [list(self.habits(0, layer, head).values()) for head in range(n_heads)]
            mean = torch.tensor(found, dtype=torch.float64).mean(0)
            rows.append([f"capa {layer + 1}", *(number(value) for value in mean)])
        caption = f"A qué miran las palabras de «{' '.join(self.words[0][1:-1])}»"
        return static_table(caption, ["", *HABITS], rows)

    def summary(self) -> str:
        """Una línea para la terminal."""
        layers, n_heads = self.weights[0].shape[:2]
        return f"Cabezas: {layers} capas de {n_heads}, sobre {len(self.words)} frases"


def _packed(weights: Sequence[Tensor]) -> bytes:
    return b"".join(bytes(one.flatten().tolist()) for one in weights)


def heads(
    sentences: Mapping[str, tuple[Sequence[str], Any]], **texts: Unpack[Texts]
) -> HeadsExplorer:
    """Devuelve el explorador de todas las cabezas de un codificador sobre unas frases.

    De cada frase, por su nombre, llegan sus palabras, con una marca delante y otra detrás, y los
    pesos de atención ``(layer, head, n, n)``, de 0 a 1, con quien mira en la fila. En la página
    viajan como enteros de 0 a 255. Se elige frase, capa, cabeza y palabra; un mapa pequeño enseña
    todas las cabezas a la vez, y unas barras dicen a qué mira la elegida.

    Errores: ``ValueError`` si no hay de 1 a 24 frases de 3 a 16 palabras, si los pesos de una no
    son de su tamaño, no son todos del mismo número de capas y cabezas o alguna fila no suma 1.
    """
    check_count(len(sentences), "sentences", 1, _MOST)
    words, weights = [], []
    for name, (labels, given) in sentences.items():
        where, n = f"sentences[{name!r}]", len(labels)
        check_count(n, f"{where}, palabras", 3, _LONGEST)
        words.append(check_labels(labels, where, n, "palabra"))
        table = check_table(given, where, f"(layer, head, {n}, {n})", (4,))
        wanted = (*(weights[0] if weights else table).shape[:2], n, n)
        if table.shape != wanted:
            raise ValueError(f"{where}: llegó la forma {tuple(table.shape)}; se esperaba {wanted}")
        if not 0 <= table.min() <= table.max() <= 1 or (table.sum(-1) - 1).abs().max() > 0.05:
            raise ValueError(f"{where}: se esperaban pesos de 0 a 1 que sumen 1 en cada fila")
        weights.append((255 * table).round().to(torch.uint8))
    return HeadsExplorer(words=tuple(words), weights=tuple(weights), **texts)
