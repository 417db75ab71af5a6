"""Todas las pruebas: capítulos con nbval, construcción del libro y pytest. Cada capítulo se ejecuta
una vez.

python tools/prueba.py [argumentos para pytest]
"""

from __future__ import annotations

from procesos import corre, principal

# isort: split
# Lo demás tarda en importarse, y Ctrl+C se atiende ya.
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

RAIZ = Path(__file__).resolve().parents[1]
PROCESOS = str(os.cpu_count() or 1)
PLAZO = 3600  # segundos de cada paso
HILOS = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "JUPYTER_PREFER_ENV_PATH": "1"}


def pytest(*argumentos: str) -> list[str]:
    """La orden de pytest con un proceso por núcleo y cada fichero en uno solo."""
    return [sys.executable, "-m", "pytest", "-q", "-n", PROCESOS, "--dist", "loadfile", *argumentos]


def pasos(carpeta: str, extra: list[str]) -> dict[str, list[str]]:
    """Los pasos, en orden. En nbval manda el plazo de la celda, que dice cuál es."""
    nbval = ("--nbval", "--nbval-current-env", "--nbval-cell-timeout=600", "--timeout=720")
    return {
        "referencias al día": [sys.executable, "tools/referencias.py", "--revisa"],
        "capítulos (nbval)": pytest(
            *nbval,
            "--nbval-sanitize-with=tests/referencias/sanear.cfg",
            "-p",
            "no:cacheprovider",
            "tests/referencias",
        ),
        "libro": [sys.executable, "tools/construir.py", "--ejecutados", carpeta],
        # Los ficheros se reparten como se recogen: los largos, primero (tests/conftest.py).
        "pruebas (pytest)": pytest("--no-loadscope-reorder", *extra),
    }


def ejecuta(
    ordenes: Mapping[str, Sequence[str]],
    consola: Console,
    *,
    titulo: str = "make prueba",
    **entorno: str,
) -> list[str]:
    """Hace todos los pasos aunque falle uno y enseña el resumen; devuelve los nombres de los que
    fallan.
    """
    resumen = Table("paso", "resultado", "segundos", title=titulo)
    fallos = []
    for nombre, orden in ordenes.items():
        consola.rule(nombre)
        inicio = time.perf_counter()
        codigo = corre(orden, PLAZO, cwd=RAIZ, env={**os.environ, **HILOS, **entorno})
        if codigo:
            fallos.append(nombre)
        resumen.add_row(
            nombre, "FALLA" if codigo else "bien", f"{time.perf_counter() - inicio:.0f}"
        )
    consola.print(resumen)
    return fallos


def main() -> None:
    """Punto de entrada."""
    with tempfile.TemporaryDirectory() as carpeta:
        fallos = ejecuta(pasos(carpeta, sys.argv[1:]), Console(), ATENTO_EJECUTADOS=carpeta)
    sys.exit(1 if fallos else 0)


if __name__ == "__main__":
    principal(main)
