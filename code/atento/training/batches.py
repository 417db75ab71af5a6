"""De dónde salen los lotes, y cómo se vuelve al sitio exacto donde se dejaron."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from atento import rng


class Batches:
    """Los lotes, ``each`` por paso: de una función del número de lote, una lista o un iterable.

    Una función y una lista (que se repite) se consultan por el número de lote. Un iterable se
    recorre y, al acabarse, se vuelve a recorrer. Si se baraja, como un ``DataLoader``, su orden
    depende del azar que había al empezar la vuelta y, si reparte entre procesos, del número de
    vuelta (``set_epoch``): por eso se guardan, para reanudar en el mismo sitio de la misma vuelta.

    Errores: ``TypeError`` si ``batches`` no es nada de eso.
    """

    def __init__(self, batches: Any, each: int = 1) -> None:
        self.source, self.each, self.seen, self.turn = batches, each, 0, 0
        self.start: dict[str, Any] | None = None
        self.by_number = callable(batches) and not isinstance(batches, Iterable)
        if not (self.by_number or isinstance(batches, Iterable)):
            raise TypeError(
                "batches: se esperaba una lista, un iterable o una función del paso; llegó "
                f"{type(batches).__name__}."
            )
        self.rows = self._walk()

    def get(self, step: int, steps: int) -> list[Any]:
        """Los lotes del paso ``step``, contando desde 0.

        Errores: ``ValueError`` si no hay bastantes.
        """
        numbers = range(step * self.each, (step + 1) * self.each)
        try:
            return [self._one(number) for number in numbers]
        except StopIteration:
            raise ValueError(_exhausted(step, steps)) from None

    def state(self) -> dict[str, Any] | None:
        """El azar al empezar esta vuelta y cuántos lotes suyos se han visto."""
        return self.start and {**self.start, "seen": self.seen}

    def resume(self, state: dict[str, Any] | None) -> None:
        """Vuelve al sitio donde se guardó; un iterador de un solo uso se salta lo ya visto.

        Errores: ``ValueError`` si ahora no hay tantos lotes.
        """
        if state is None or self.by_number or isinstance(self.source, Sequence):
            return
        rng.restore(state["rng"])
        self.turn = state["turn"]
        for generator, saved in zip(self._generators(), state["generators"], strict=True):
            generator.set_state(saved)
        for done in range(state["seen"]):
            if next(self.rows, self) is self:
                raise ValueError(
                    f"batches: se esperaban los mismos lotes que al guardar; había más de {done}."
                )
            self.seen = done + 1

    def _one(self, number: int) -> Any:
        if self.by_number:
            return self.source(number)
        if isinstance(self.source, Sequence) and len(self.source):
            return self.source[number % len(self.source)]
        batch = next(self.rows)
        self.seen += 1
        return batch

    def _walk(self) -> Iterator[Any]:
        while True:
            self.seen = 0
            self._announce(self.turn)
            states = [generator.get_state() for generator in self._generators()]
            self.start = {"rng": rng.snapshot(), "generators": states, "turn": self.turn}
            empty = True
            for batch in self.source:
                empty = False
                yield batch
            if empty or iter(self.source) is self.source:
                return
            self.turn += 1

    def _announce(self, turn: int) -> None:
        """Dice el número de vuelta a quien baraja igual en todos los procesos."""
        for owner in self._owners():
            if callable(getattr(owner, "set_epoch", None)):
                owner.set_epoch(turn)

    def _owners(self) -> list[Any]:
        names = ("sampler", "batch_sampler", "dataset")
        owners = [self.source, *(getattr(self.source, name, None) for name in names)]
        return [owner for owner in owners if owner is not None]

    def _generators(self) -> list[torch.Generator]:
        """Los generadores propios de un ``DataLoader`` y de sus muestreadores, sin repetir."""
        found = [getattr(owner, "generator", None) for owner in self._owners()]
        return list({id(x): x for x in found if isinstance(x, torch.Generator)}.values())


def _exhausted(step: int, steps: int) -> str:
    if step == 0:
        return "batches: está vacío; se esperaba al menos un lote para entrenar."
    return (
        f"batches: se acabó en el paso {step + 1} de {steps}; da más lotes, una lista (se repite) "
        "o menos pasos."
    )
