"""Piso 1: resultados guardados de las ejecuciones largas, las que no caben en una página.

Cada ``figuras/datos/semillas-NN.json`` lleva la orden que lo repite, la fecha, la máquina y las
versiones; viaja dentro del paquete, así que se lee igual desde el repositorio, desde una
instalación o desde Colab.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

_PREFIX, _SUFFIX = "semillas-", ".json"


def chapters() -> list[str]:
    """Capítulos con resultados guardados, como ``["03"]``."""
    folder = files("figuras") / "datos"
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    return sorted(
        name.removeprefix(_PREFIX).removesuffix(_SUFFIX)
        for name in names
        if name.startswith(_PREFIX) and name.endswith(_SUFFIX)
    )


def runs(chapter: str) -> dict[str, Any]:
    """Devuelve lo guardado para un capítulo (``"03"``).

    Son ``command``, ``date``, ``machine``, ``versions``, ``runs``…

    Cada llamada da una copia nueva.

    Errores: ``ValueError`` si ese capítulo no tiene nada guardado.
    """
    if chapter not in chapters():
        options = ", ".join(chapters()) or "ninguno"
        raise ValueError(
            f"chapter: se esperaba un capítulo con resultados guardados ({options}); llegó "
            f"{chapter!r}."
        )
    path = files("figuras") / "datos" / f"{_PREFIX}{chapter}{_SUFFIX}"
    return json.loads(path.read_text(encoding="utf-8"))
