"""Todas las pruebas: capítulos con nbval, construcción del libro y pytest. Cada capítulo se ejecuta una vez.

    python tools/prueba.py [argumentos para pytest]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

RAIZ = Path(__file__).resolve().parents[1]
PROCESOS = str(os.cpu_count() or 1)
HILOS = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "JUPYTER_PREFER_ENV_PATH": "1"}


def pytest(*argumentos: str) -> list[str]:
    """La orden de pytest con un proceso por núcleo y cada fichero en uno solo."""
    return [sys.executable, "-m", "pytest", "-q", "-n", PROCESOS, "--dist", "loadfile", *argumentos]


def pasos(carpeta: str, extra: list[str]) -> dict[str, list[str]]:
    """Los pasos, en orden."""
    nbval = ("--nbval", "--nbval-current-env", "--nbval-cell-timeout=600")
    return {
        "referencias al día": [sys.executable, "tools/referencias.py", "--revisa"],
        "capítulos (nbval)": pytest(
            *nbval, "--nbval-sanitize-with=tests/referencias/sanear.cfg", "-p", "no:cacheprovider", "tests/referencias"
        ),
        "libro": [sys.executable, "tools/construir.py", "--ejecutados", carpeta],
        "pruebas (pytest)": pytest(*extra),
    }


def main() -> None:
    """Punto de entrada: hace todos los pasos aunque falle uno, y dice cuáles han fallado."""
    consola = Console()
    resumen = Table("paso", "resultado", "segundos", title="make prueba")
    fallos = 0
    with tempfile.TemporaryDirectory() as carpeta:
        entorno = {**os.environ, **HILOS, "ATENTO_EJECUTADOS": carpeta}
        for nombre, orden in pasos(carpeta, sys.argv[1:]).items():
            consola.rule(nombre)
            inicio = time.perf_counter()
            codigo = subprocess.run(orden, cwd=RAIZ, env=entorno).returncode
            fallos += codigo != 0
            resumen.add_row(nombre, "bien" if codigo == 0 else "FALLA", f"{time.perf_counter() - inicio:.0f}")
    consola.print(resumen)
    sys.exit(1 if fallos else 0)


if __name__ == "__main__":
    main()
