"""Parchear a mano el sumador vivo: lo de una suma, casilla a casilla, en otra."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor

from atento import trained
from atento.interpret import Site, patching, recording
from atento.models.seq2seq import Seq2Seq
from atento.tasks import addition
from atento.tasks.addition import Sum
from figuras.explorers.adder import SIGNS, STEPS, complaint, read_sum, stored_file
from figuras.explorers.base import Explorer, Texts, number, static_table

__all__ = ["READS", "WRITES", "Place", "PatchesExplorer", "patches", "returned"]


@dataclass(frozen=True)
class Place:
    """Una fila del mapa: cómo se llama, qué sitio es y cómo lo nombra la página."""

    name: str
    site: Site
    called: str


def _rows(block: str, after: str, parts: Mapping[str, str]) -> tuple[Place, ...]:
    """Del flujo al entrar en un bloque al flujo al salir, con lo que añade cada parte."""
    stack = block.split(".")[0]
    embed = {"encoder": "embed_source", "decoder": "embed_target"}[stack]
    last = {"feed_forward": "contract"}  # lo que da una parte es lo que da su última proyección
    entry = Place("al entrar", Site(block, before=True), embed)
    middle = []
    for part, title in parts.items():
        name = f"{block}.{part}"
        heads = 0 if part == "feed_forward" else 4
        middle += [Place(f"{title} {k + 1}", Site(name, k), name) for k in range(heads)]
        middle.append(Place(title, Site(name), f"{name}.{last.get(part, 'project_output')}"))
    return (entry, *middle, Place(after, Site(block), f"{stack}.final_norm"))


READS = _rows(
    "encoder.blocks.0", "tras leer", {"attention": "atención", "feed_forward": "red densa"}
)
"""Los sitios del codificador, en el orden en que se calculan."""

WRITES = _rows(
    "decoder.blocks.0",
    "al salir",
    {"attention": "repasa", "cross_attention": "cruza", "feed_forward": "red densa"},
)
"""Los del decodificador."""

_COLUMNS = {"cent.": (0, 4), "dec.": (1, 5), "unid.": (2, 6), "«+»": (3,), "fin": (7,)}
_TIMES = {"unid.": (0,), "dec.": (1,), "cent.": (2,), "mill.": (3,), "fin": (4,)}
_STACKS = {
    "read": ("Al leer, por columna", READS, _COLUMNS),
    "write": ("Al escribir, por paso", WRITES, _TIMES),
}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PatchesExplorer(Explorer):
    """Los parches del sumador. Se construye con :func:`patches`.

    ``pairs`` son las parejas de sumas que se ofrecen, limpia y corrompida, por su nombre.
    """

    kind: ClassVar[str] = "patches"
    pieces: ClassVar[tuple[str, ...]] = ("kit", "cells", "table", "ask", "file", "sums")
    scripts: ClassVar[tuple[str, ...]] = ("transformer",)
    pairs: Mapping[str, tuple[Sum, Sum]]
    title: str = "Parchea el sumador"
    question: str | None = "¿Qué casilla devuelve la cifra entera, y cuál no hace nada?"
    name: str = "parches"

    def compute(self, clean: Sum | None = None, corrupted: Sum | None = None) -> dict[str, Tensor]:
        """Lo que puntúa el sumador con cada parche; sin argumentos, en la primera pareja.

        ``clean`` y ``corrupted``, (step, vocab), sin parche; ``read``, (site, column, step, vocab),
        con lo de la limpia en un sitio de :data:`READS` y una columna, y ``write``, (site, step,
        step, vocab), en uno de :data:`WRITES` y un paso. Lo ya escrito es lo correcto de su suma.

        Errores: ``TypeError`` si llega una suma sin la otra, y los de
        :func:`atento.tasks.addition.batch`.
        """
        if (clean is None) != (corrupted is None):
            raise TypeError("corrupted: se esperaban las dos sumas o ninguna; llegó una.")
        if clean is None or corrupted is None:
            clean, corrupted = self._first
        return _patched(clean, corrupted)

    @property
    def _first(self) -> tuple[Sum, Sum]:
        return next(iter(self.pairs.values()))

    def files(self) -> dict[str, str]:
        """El fichero de los pesos, en base 64, por su nombre: el mismo del sumador vivo."""
        return stored_file()

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript; las dos respuestas del principio van ya hechas."""
        found = self.compute()
        return {
            "file": next(iter(self.files())),
            "signs": SIGNS,
            "pairs": {name: [list(one[:2]) for one in pair] for name, pair in self.pairs.items()},
            "first": [found[key].round(decimals=4).tolist() for key in ("clean", "corrupted")],
            "stacks": [
                {
                    "title": title,
                    "rows": [[row.name, row.called, row.site.head] for row in rows],
                    "columns": list(columns),
                    "groups": list(columns.values()),
                }
                for title, rows, columns in _STACKS.values()
            ],
        }

    def static(self) -> str:
        """Lo que vuelve en la primera pareja, sin las cabezas una a una."""
        found, (clean, corrupted) = self.compute(), self._first
        step = _differing(found)[-1]
        tables = []
        for key, back in zip(_STACKS, returned(found, step), strict=True):
            title, rows, columns = _STACKS[key]
            lines = [
                [row.name, *map(number, line.tolist())]
                for row, line in zip(rows, back, strict=True)
                if row.site.head is None
            ]
            tables.append(static_table(title, ["", *columns], lines))
        article = "los" if STEPS[step] == "millares" else "las"
        about = (
            f"Limpia, {clean.a} + {clean.b}; corrompida, {corrupted.a} + {corrupted.b}. Qué parte"
            f" vuelve con cada parche al escribir {article} {STEPS[step]}: 0, nada, y 1, toda."
        )
        return f"<p>{about}</p>" + "".join(tables)

    def summary(self) -> str:
        """Una línea para la terminal."""
        clean, corrupted = (f"{one.a} + {one.b}" for one in self._first)
        return f"Parches del sumador vivo: de {clean} a {corrupted}"


def returned(found: Mapping[str, Tensor], step: int) -> tuple[Tensor, Tensor]:
    """Qué parte vuelve de la cifra de un paso: los mapas de leer y de escribir.

    ``found`` es lo de :meth:`PatchesExplorer.compute`: ``clean`` y ``corrupted``, (step, vocab), y
    ``read`` y ``write``, (site, column, step, vocab). Los mapas son (site, column), en las partes
    de la diferencia de ventaja de la cifra limpia sobre la corrompida.

    Errores: ``ValueError`` si esa cifra es la misma en las dos.
    """
    good, wrong = (int(found[key][step].argmax()) for key in ("clean", "corrupted"))
    if good == wrong:
        raise ValueError(f"step: llegó {step}, y en ese paso las dos sumas escriben lo mismo.")

    def edge(logits: Tensor) -> Tensor:
        return logits[..., step, good] - logits[..., step, wrong]

    worst = edge(found["corrupted"])
    whole = edge(found["clean"]) - worst
    return (edge(found["read"]) - worst) / whole, (edge(found["write"]) - worst) / whole


def patches(
    pairs: Mapping[str, Sequence[str]] | None = None, **texts: Unpack[Texts]
) -> PatchesExplorer:
    """Devuelve el explorador en el que se parchea el sumador: lo de una suma limpia, en otra.

    Se eligen las dos sumas, con sus cifras o entre ``pairs``, que da por su nombre la limpia y la
    corrompida, como «458 + 367». Al tocar una casilla, lo que había en ese sitio y esa columna con
    la limpia se pone en la corrompida, y se ve qué cifras cambian y qué parte vuelve; un botón
    llena el mapa. Los sitios son los de :mod:`atento.interpret`. El modelo es el de
    :func:`atento.trained.adder`, y lo ejecuta un guion propio en la página, sin servidor.

    Errores: ``ValueError`` si no hay parejas, alguna no es de dos sumas de hasta tres cifras o la
    primera pareja se responde igual.
    """
    given = {"la llevada": ("458 + 367", "408 + 317")} if pairs is None else pairs
    if not given:
        raise ValueError("pairs: no llegó ninguna; se esperaba al menos una pareja de sumas")
    made = {}
    for name, pair in given.items():
        if isinstance(pair, str) or len(pair) != 2:
            raise ValueError(f"pairs: en «{name}» llegó {pair!r}; se esperaban dos sumas")
        if problem := next(filter(None, map(complaint, pair)), ""):
            raise ValueError(f"pairs: en «{name}» llegó {pair!r}. {problem}")
        clean, corrupted = map(read_sum, pair)
        made[name] = (clean, corrupted)
    if not _differing(_patched(*next(iter(made.values())))):
        raise ValueError("pairs: las dos sumas de la primera dan lo mismo; no hay qué devolver")
    return PatchesExplorer(pairs=made, **texts)


# --- El gemelo en Python: el modelo de la biblioteca, parcheado -----------------------------------


@cache
def _patched(clean: Sum, corrupted: Sum) -> dict[str, Tensor]:
    model = _model()
    good, bad = (addition.batch([one]) for one in (clean, corrupted))

    def scored(batch: Any) -> Tensor:
        return model(batch.source, batch.inputs)[0]

    with torch.no_grad():
        with recording(model, [row.site for row in (*READS, *WRITES)]) as seen:
            found = {"clean": scored(good)}
        found["corrupted"] = scored(bad)
        for key, (_, rows, columns) in _STACKS.items():
            lines = []
            for row in rows:
                line = []
                for group in columns.values():
                    with patching(model, {row.site: seen[row.site]}, group):
                        line.append(scored(bad))
                lines.append(torch.stack(line))
            found[key] = torch.stack(lines)
    return found


@cache
def _model() -> Seq2Seq:
    return trained.adder().double()


def _differing(found: Mapping[str, Tensor]) -> list[int]:
    """En qué pasos escriben cosas distintas, sin contar el fin."""
    differ = found["clean"][:-1].argmax(-1) != found["corrupted"][:-1].argmax(-1)
    return differ.nonzero().flatten().tolist()
