"""Cómo se ejecutan los capítulos: caché por huella y un hilo por proceso."""

from __future__ import annotations

import os
from pathlib import Path

from libro.huella import ruta_cache


def _preparar(app, config) -> None:
    config.nb_execution_cache_path = str(ruta_cache(Path(app.srcdir)))
    # Los dígitos cambian con el número de hilos: uno, también si se construye sin los guiones.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("ATENTO_DEVICE", "cpu")
    os.environ.setdefault("PYTHONHASHSEED", "0")


def setup(app) -> None:
    """Conecta la preparación."""
    app.connect("config-inited", _preparar)
