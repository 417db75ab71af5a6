"""Guardar una ejecución y reanudarla en el mismo sitio, con el mismo azar y los mismos lotes."""

import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from atento import rng
from atento.amounts import require_size
from atento.training.batches import Batches
from atento.training.history import Callback, History, State
from atento.training.precision import Precision
from atento.training.team import Team

_FORMAT = "atento.training 3"
_OWN = {"format", "step", "team", "rng", "batches", "generators"}
_SHARED = {"accumulate", "model", "optimizer", "precision", "history"}


def checkpoint(path: str | Path, *, every: int) -> Callback:
    """Un aviso que cada ``every`` pasos, y en el último, guarda en ``path`` lo que pide ``resume``.

    Con varios procesos, lo común lo guarda el primero, y lo suyo (su azar y sus lotes) cada uno de
    los demás, en ``path`` y su número.

    Errores: ``TypeError`` o ``ValueError`` si ``every`` no es un entero positivo.
    """
    require_size(every, name="every")

    def callback(state: State) -> None:
        if state.step % every == 0 or state.step == state.steps:
            state.save(Path(path))

    last: Any = callback
    last.runs_last = True  # guarda también lo que anoten los demás avisos en ese paso
    return last


@dataclass
class Run:
    """Todo lo que decide el paso siguiente de una ejecución."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    batches: Batches
    precision: Precision
    team: Team
    generators: tuple[torch.Generator, ...] = ()
    history: History = field(default_factory=History)

    def save(self, path: Path) -> None:
        """Guarda en ``path`` lo común y, si hay más procesos, lo de cada uno al lado."""
        content = {
            "format": _FORMAT,
            "step": self.history.steps,
            "team": self.team.size,
            "rng": rng.snapshot(),
            "batches": self.batches.state(),
            "generators": [generator.get_state() for generator in self.generators],
        }
        if self.team.rank == 0:
            content |= {
                "accumulate": self.batches.each,
                "model": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "precision": self.precision.state(),
                "history": asdict(self.history),
            }
        _write(_mine(path, self.team.rank), content)

    def load(self, path: Path) -> None:
        """Se pone como estaba al guardar ``path``.

        Errores: ``FileNotFoundError`` si no existe; ``ValueError`` si está dañado o es de otro
        modelo, otro optimizador, otros procesos u otra manera de acumular.
        """
        shared = own = _read(path, _OWN | _SHARED)
        if self.team.rank:
            own = _read(_mine(path, self.team.rank), _OWN)
        self._require_same(path, shared, own)
        try:
            self.optimizer.load_state_dict(shared["optimizer"])
        except (KeyError, ValueError) as error:
            raise ValueError(
                f"optimizer: se esperaba el mismo que guardó {path}; este tiene otros grupos de "
                f"parámetros ({error})."
            ) from None
        self.model.load_state_dict(shared["model"])
        self.precision.resume(shared["precision"])
        self.batches.resume(own["batches"])
        for generator, state in zip(self.generators, own["generators"], strict=True):
            generator.set_state(state)
        rng.restore(own["rng"])
        self.history = _history(shared["history"])

    def _require_same(self, path: Path, shared: dict[str, Any], own: dict[str, Any]) -> None:
        _require_same_model(path, shared["model"], self.model.state_dict())
        pairs = [
            ("accumulate", shared["accumulate"], self.batches.each),
            ("model (procesos)", shared["team"], self.team.size),
            ("generators (cuántos)", len(own["generators"]), len(self.generators)),
            ("resume (paso)", shared["step"], own["step"]),
        ]
        for name, saved, mine in pairs:
            if saved != mine:
                raise ValueError(
                    f"{name}: se esperaba {saved}, como al guardar {path}; llegó {mine}."
                )


def _history(content: dict[str, Any]) -> History:
    history = History(**content)
    history.metrics = {name: [(a, b) for a, b in pairs] for name, pairs in history.metrics.items()}
    return history


def _mine(path: Path, rank: int) -> Path:
    return path if rank == 0 else path.with_name(f"{path.name}.{rank}")


def _write(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".parcial")
    torch.save(content, partial)
    os.replace(partial, path)  # nunca queda un fichero a medias


def _read(path: Path, keys: set[str]) -> dict[str, Any]:
    if not path.is_file():
        raise FileNotFoundError(
            f"resume: no existe el fichero {path}; entrena antes con "
            f"callbacks=[checkpoint({str(path)!r}, every=…)]."
        )
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # según dónde esté el daño, torch.load lanza casi cualquier cosa
        raise ValueError(
            f"resume: {path} no se puede leer: está incompleto o dañado, o no lo guardó checkpoint."
        ) from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT or keys - set(content):
        raise ValueError(
            f"resume: se esperaba un fichero guardado por checkpoint; {path} no lo es."
        )
    return content


def _require_same_model(path: Path, saved: dict[str, Tensor], mine: dict[str, Tensor]) -> None:
    def few(names: Iterable[str]) -> str:
        names = sorted(names)
        return ", ".join(names[:3]) + ("…" if len(names) > 3 else "")

    shaped = [n for n in saved.keys() & mine.keys() if saved[n].shape != mine[n].shape]
    faults = {
        "no tiene": saved.keys() - mine.keys(),
        "tiene de más": mine.keys() - saved.keys(),
        "mide distinto": shaped,
    }
    told = "; ".join(f"{what} {few(names)}" for what, names in faults.items() if names)
    if told:
        raise ValueError(f"model: se esperaba el modelo que guardó {path}; el que llegó {told}.")
