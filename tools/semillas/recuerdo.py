"""Lo que ya se ha ejecutado, guardado con su receta: si la orden se corta, sigue donde iba.

Cada ejecución es un JSON en ``.cache/semillas-NN``; para repetirlo todo se borra esa carpeta.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

CACHE = Path(__file__).resolve().parents[2] / ".cache"


def rounded(found: Any, figures: str = ".4f") -> Any:
    """Lo mismo, con los números de coma flotante como los escribe ``figures``: cuatro decimales."""
    if isinstance(found, dict):
        return {key: rounded(value, figures) for key, value in found.items()}
    if isinstance(found, list):
        return [rounded(value, figures) for value in found]
    return float(format(found, figures)) if isinstance(found, float) else found


class Memory:
    """Las ejecuciones recordadas de un capítulo."""

    def __init__(self, chapter: int) -> None:
        self.folder = CACHE / f"semillas-{chapter:02d}"

    def once(self, name: str, made: Any, work: Callable[[], Any]) -> Any:
        """Lo que da ``work``, hecho ahora o, con la misma receta, en una llamada anterior.

        ``made`` es la receta, y tiene que caber en un JSON. Si ``work`` da una pareja (modelo,
        resultado), los pesos quedan al lado, en :meth:`weights`.
        """
        path = self.folder / f"{name}.json"
        made = json.loads(json.dumps({"torch": str(torch.__version__)} | made))
        if path.exists():
            found = json.loads(path.read_text(encoding="utf-8"))
            if found["made"] == made:
                return found["run"]
        run = work()
        self.folder.mkdir(parents=True, exist_ok=True)
        if isinstance(run, tuple):
            model, run = run
            torch.save(model.state_dict(), self.weights(name))
        told = json.dumps({"made": made, "run": run}, ensure_ascii=False)
        path.write_text(told, encoding="utf-8")
        return json.loads(told)["run"]

    def weights(self, name: str) -> Path:
        """Dónde están los pesos de una ejecución."""
        return self.folder / f"{name}.pt"

    def fill(self, model: nn.Module, name: str) -> nn.Module:
        """El modelo, con los pesos de una ejecución recordada."""
        model.load_state_dict(torch.load(self.weights(name), weights_only=True))
        return model
