"""El Chromium de las pruebas."""

from __future__ import annotations

import shutil
import subprocess

NOMBRES = ("chromium", "chromium-browser", "google-chrome")


def ejecutable() -> str | None:
    """Su ruta, si lo hay."""
    return next(filter(None, map(shutil.which, NOMBRES)), None)


def version() -> str:
    """Lo que dice de su versión; nada, si no lo hay, que ya lo dirá quien lo abra."""
    if (suyo := ejecutable()) is None:
        return ""
    orden = [suyo, "--version"]
    return subprocess.run(orden, capture_output=True, text=True, timeout=60).stdout.strip()
