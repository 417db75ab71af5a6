"""El explorador del sorteo: de unas puntuaciones a la palabra que sale, con sus filtros."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor

from atento import rng
from atento.decoding import draw, keep_min_p, keep_top_k, keep_top_p, with_temperature
from figuras.explorers.base import (
    Explorer,
    Texts,
    check_labels,
    check_table,
    number,
    static_table,
)

__all__ = ["SamplingExplorer", "sampling"]

TEN = 10  # palabras de cada sorteo
_BARS, _THROWS, _MOST = 12, 10, 1500
_STATIC_SETTINGS: tuple[tuple[str, dict[str, float]], ...] = (
    ("sin filtro", {}),
    ("temperatura 0.5", {"temperature": 0.5}),
    ("top-k = 3", {"top_k": 3}),
    ("top-p = 0.9", {"top_p": 0.9}),
    ("min-p = 0.1", {"min_p": 0.1}),
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SamplingExplorer(Explorer):
    """El explorador del sorteo. Se construye con :func:`sampling`.

    ``logits`` ``(context, vocab)`` son las puntuaciones de la palabra que sigue a cada comienzo;
    ``dice``, los números al azar con que se sortea; ``truth`` ``(context, vocab)``, si se conoce,
    la probabilidad verdadera.
    """

    kind: ClassVar[str] = "sampling"
    pieces: ClassVar[tuple[str, ...]] = ("kit", "lots", "ballot")
    logits: Tensor
    words: tuple[str, ...]
    contexts: tuple[str, ...]
    dice: Tensor
    truth: Tensor | None
    title: str = "Qué palabras quedan en el sorteo"
    name: str = "sorteo"

    def filtered(
        self,
        context: int = 0,
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float = 1.0,
        min_p: float = 0.0,
    ) -> Tensor:
        """Las puntuaciones ``(vocab,)`` tras la temperatura y los tres filtros, en ese orden.

        Son los de :mod:`atento.decoding`; con ``top_k=None``, ``top_p=1`` y ``min_p=0`` no filtran.
        """
        logits = with_temperature(self.logits[context], temperature)
        if top_k is not None:
            logits = keep_top_k(logits, top_k)
        logits = keep_top_p(logits, top_p)
        return keep_min_p(logits, min_p) if min_p > 0 else logits

    def compute(self, context: int = 0, **settings: Any) -> dict[str, Tensor]:
        """Lo que muestra la página con esos ajustes, los de :meth:`filtered`.

        ``probs`` ``(vocab,)`` es la probabilidad de cada palabra; ``kept``, cuántas quedan;
        ``mass``, qué probabilidad juntaban antes de filtrar, con la temperatura puesta;
        ``entropy``, la de ``probs``, en nats. Con ``truth``, además, ``wrong``, la probabilidad de
        las palabras imposibles, y ``lost``, la verdadera de las posibles que ya no pueden salir.
        """
        temperature = settings.get("temperature", 1.0)
        logits = self.filtered(context, **settings)
        probs, stays = logits.softmax(dim=-1), logits > -torch.inf
        before = with_temperature(self.logits[context], temperature).softmax(dim=-1)
        found = {"probs": probs, "kept": stays.sum(), "mass": before[stays].sum()}
        found["entropy"] = torch.special.entr(probs).sum()
        if self.truth is not None:
            truth = self.truth[context]
            found["wrong"], found["lost"] = probs[truth == 0].sum(), truth[~stays].sum()
        return found

    def drawn(self, context: int = 0, throw: int = 0, **settings: Any) -> list[str]:
        """Las diez palabras del sorteo número ``throw``, desde 0, con esos ajustes."""
        logits = self.filtered(context, **settings)
        dice = self.dice[throw % _THROWS]  # (10,)
        places = draw(logits.expand(len(dice), -1), dice)
        return [self.words[place] for place in places.tolist()]

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript; de ``truth``, solo lo que no es 0."""
        truth = None if self.truth is None else [_sparse(row) for row in self.truth]
        return super().data() | {"truth": truth, "bars": _BARS}

    def static(self) -> str:
        """De cada comienzo, las palabras que deja cada ajuste, con su masa y su entropía."""
        head = ["ajuste", "quedan", "masa", "entropía", "la más probable"]
        tables = []
        for context, label in enumerate(self.contexts):
            rows = []
            for setting, options in _STATIC_SETTINGS:
                found = self.compute(context, **options)
                best = int(found["probs"].argmax())
                rows.append([
                    setting, str(int(found["kept"])), number(found["mass"], 3),
                    number(found["entropy"], 3),
                    f"{self.words[best]}, {number(found['probs'][best], 3)}",
                ])  # fmt: skip
            tables.append(static_table(f"Tras «{label}»", head, rows))
        return "".join(tables)

    def summary(self) -> str:
        """Una línea para la terminal."""
        return f"Sorteo: {len(self.contexts)} comienzos y {len(self.words)} palabras"


def sampling(
    logits: Tensor,
    words: Sequence[str],
    contexts: Sequence[str],
    *,
    truth: Tensor | None = None,
    seed: int = 0,
    **texts: Unpack[Texts],
) -> SamplingExplorer:
    """Devuelve el explorador del sorteo de la palabra siguiente, tras uno o varios comienzos.

    ``logits`` ``(context, vocab)`` son las puntuaciones de un modelo (hasta 1500 números entre
    todas); ``words``, las palabras; ``contexts``, los comienzos. ``truth`` ``(context, vocab)``,
    probabilidades, permite decir cuántas palabras imposibles quedan y cuánto se pierde. Los cien
    números al azar salen de un generador con ``seed``, y con los mismos ajustes sale lo mismo.

    La pregunta, si no se da otra, es cuántas palabras deja top-p = 0.9 tras cada comienzo y si un
    mismo k las deja en todos; la respuesta se calcula aquí.

    Errores: ``ValueError`` si las formas o los rótulos no casan, si hay números no finitos o
    demasiados, o si ``truth`` no son probabilidades.
    """
    table = check_table(logits, "logits", "(context, vocab)", (2,))
    if table.numel() > _MOST or table.shape[1] < 2:
        raise ValueError(
            f"logits: llegó la forma {tuple(table.shape)}; caben {_MOST} números, dos o más por"
            " comienzo"
        )
    words = check_labels(words, "words", table.shape[1], "columna de logits")
    contexts = check_labels(contexts, "contexts", len(table), "fila de logits")
    dice = torch.rand(_THROWS, TEN, generator=rng.generator(seed), dtype=torch.float64)
    explorer = SamplingExplorer(
        logits=table,
        words=words,
        contexts=contexts,
        dice=dice.mul(1e6).floor().div(1e6),
        truth=_true(truth, table),
        **texts,
    )
    return explorer if explorer.question else _asking(explorer)


def _sparse(row: Tensor) -> list[tuple[int, float]]:
    """Las probabilidades que no son 0, con su sitio."""
    return [(place, p) for place, p in enumerate(row.tolist()) if p]


def _true(truth: Tensor | None, table: Tensor) -> Tensor | None:
    if truth is None:
        return None
    found = check_table(truth, "truth", "(context, vocab)", (2,))
    if found.shape != table.shape or bool((found < 0).any()):
        raise ValueError(
            f"truth: llegó la forma {tuple(found.shape)}; se esperaban probabilidades de la forma"
            f" {tuple(table.shape)}"
        )
    if bool(((found.sum(dim=1) - 1).abs() > 1e-3).any()):
        raise ValueError("truth: hay una fila que no suma 1")
    return found


def _asking(explorer: SamplingExplorer) -> SamplingExplorer:
    """El mismo, con la pregunta de costumbre y su respuesta."""
    question = (
        "Con temperatura 1, ¿cuántas palabras deja top-p = 0.9 tras cada comienzo? ¿Hay un k que"
        " deje en todos las mismas que él?"
    )
    counts = [int(explorer.compute(c, top_p=0.9)["kept"]) for c in range(len(explorer.contexts))]
    told = "; ".join(
        f"tras «{label}», {count}" for label, count in zip(explorer.contexts, counts, strict=True)
    )
    if len(set(counts)) > 1:
        tail = (
            " No hay un k que sirva para todos: el núcleo se ensancha donde el modelo duda y se"
            " estrecha donde está seguro."
        )
    else:
        tail = f" Aquí top-k = {counts[0]} deja las mismas."
    answer = explorer.answer or f"{told[0].upper()}{told[1:]}.{tail}"
    return replace(explorer, question=question, answer=answer)
