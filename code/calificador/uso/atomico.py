"""Escritura atómica: un fichero está entero o no está, aunque se corte la luz."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any


def escribe(ruta: Path, datos: bytes) -> None:
    """Escribe en un temporal de la misma carpeta, lo lleva al disco y lo renombra."""
    ruta.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporal = tempfile.mkstemp(prefix=".tmp-", dir=ruta.parent)
    try:
        with os.fdopen(descriptor, "wb") as fichero:
            fichero.write(datos)
            fichero.flush()
            os.fsync(fichero.fileno())
        os.replace(temporal, ruta)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporal)
        raise
    _sincroniza_carpeta(ruta.parent)


def _sincroniza_carpeta(carpeta: Path) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(carpeta, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def escribe_json(ruta: Path, datos: Any) -> None:
    """Como :func:`escribe`, en JSON legible."""
    escribe(ruta, (json.dumps(datos, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode("utf-8", "replace"))


def lee_json(ruta: Path) -> Any:
    """El contenido, o ``None`` si no existe o está roto."""
    try:
        return json.loads(ruta.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def barre_temporales(carpeta: Path) -> None:
    """Borra lo que dejó a medias un proceso que murió escribiendo."""
    for temporal in carpeta.glob(".tmp-*"):
        with contextlib.suppress(OSError):
            temporal.unlink()
