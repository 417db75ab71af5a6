"""Todas las pruebas: capítulos con nbval, construcción del libro y pytest. Cada capítulo se ejecuta
una vez, y el libro, que ocupa un núcleo, se construye mientras se hacen las que no lo necesitan.

python tools/prueba.py [argumentos para pytest]

Con argumentos, pytest se llama una sola vez, con el libro ya construido.
"""

from __future__ import annotations

from procesos import corre, en_marcha, principal

# isort: split
# Lo demás tarda en importarse, y Ctrl+C se atiende ya.
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

RAIZ = Path(__file__).resolve().parents[1]
PROCESOS = str(os.cpu_count() or 1)
PLAZO = 3600  # segundos de cada paso
HILOS = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "JUPYTER_PREFER_ENV_PATH": "1"}
EXIGE = {"ATENTO_ESTRICTO": "1"}  # lo entrenado también se comprueba
AL_LADO = ("libro",)  # a la vez que el paso siguiente
SIN_LIBRO = (
    "tests/atento",
    "tests/figuras",
    "tests/calificador",
)  # carpetas que no miran el libro construido
LARGOS_ANTES = ("--no-loadscope-reorder",)  # los ficheros, como los ordena tests/conftest.py
# Las demás esperan mucho (páginas que se recomponen, procesos que arrancan): uno más que núcleos.
DE_MAS = ("-n", str((os.cpu_count() or 1) + 1))
# Lo que tarda cada uno se guarda, y lo que pasa se sella para ``make rapida`` (cuidar/apunta.py).
APUNTA = ("--apunta",)


def pytest(*argumentos: str) -> list[str]:
    """La orden de pytest con un proceso por núcleo y cada fichero en uno solo."""
    return [sys.executable, "-m", "pytest", "-q", "-n", PROCESOS, "--dist", "loadfile", *argumentos]


def nbval(*argumentos: str) -> list[str]:
    """La orden que ejecuta capítulos con nbval. Manda el plazo de la celda, que dice cuál es."""
    return pytest(
        *("--nbval", "--nbval-current-env", "--nbval-cell-timeout=600", "--timeout=720"),
        "--nbval-sanitize-with=tests/referencias/sanear.cfg",
        "-p",
        "no:cacheprovider",
        *argumentos,
    )


def pasos(carpeta: str, extra: list[str]) -> dict[str, list[str]]:
    """Los pasos, en orden."""
    return {
        "referencias al día": [sys.executable, "tools", "referencias", "--revisa"],
        "capítulos (nbval)": nbval(*LARGOS_ANTES, *([] if extra else APUNTA), "tests/referencias"),
        "libro": [sys.executable, "tools/construir.py", "--ejecutados", carpeta],
        **pruebas(extra),
    }


def pruebas(extra: list[str]) -> dict[str, list[str]]:
    """Los pasos de pytest: con argumentos, uno; si no, el que no necesita el libro y lo demás."""
    comun = (*LARGOS_ANTES, "--durations=15")
    if extra:
        return {"pruebas (pytest)": pytest(*comun, *extra)}
    # Lo demás no se enumera: una carpeta nueva entra sola.
    demas = (f"--ignore={carpeta}" for carpeta in SIN_LIBRO)
    return {
        "biblioteca y ejercicios (pytest)": pytest(*comun, *APUNTA, *SIN_LIBRO),
        "lo demás (pytest)": pytest(*comun, *APUNTA, *DE_MAS, *demas),
    }


def tandas(nombres: Collection[str], al_lado: Collection[str]) -> Iterator[list[str]]:
    """Los pasos que se hacen a la vez: cada uno de ``al_lado``, con el que lo sigue."""
    tanda: list[str] = []
    for nombre in nombres:
        tanda.append(nombre)
        if nombre not in al_lado:
            yield tanda
            tanda = []
    if tanda:
        yield tanda


def _hace(
    ordenes: Mapping[str, Sequence[str]], consola: Console, **opciones: Any
) -> list[tuple[str, int, float]]:
    """Hace los pasos de una tanda; devuelve el nombre, el estado y los segundos de cada uno.

    El último escribe en la consola según va; lo que dicen los otros se enseña entero al acabar.
    """
    *detras, delante = ordenes
    inicio = time.perf_counter()

    def cronometra(espera: Callable[[], int]) -> tuple[int, float]:
        return espera(), time.perf_counter() - inicio

    # Al interrumpir se acaba antes con los procesos que con los hilos que los esperan.
    with ThreadPoolExecutor() as hilos, ExitStack() as pila:
        vistos = {}
        for nombre in detras:
            dicho = pila.enter_context(
                tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
            )
            marcha = en_marcha(
                ordenes[nombre], PLAZO, stdout=dicho, stderr=subprocess.STDOUT, **opciones
            )
            vistos[nombre] = dicho, hilos.submit(cronometra, pila.enter_context(marcha))
            consola.print(f"A la vez, «{nombre}»: lo que diga se enseña cuando acabe.")
        consola.rule(delante)
        hechos = [(delante, *cronometra(lambda: corre(ordenes[delante], PLAZO, **opciones)))]
        for nombre, (dicho, futuro) in vistos.items():
            hechos.append((nombre, *futuro.result()))
            dicho.seek(0)
            consola.rule(nombre)
            consola.print(dicho.read(), markup=False, highlight=False, soft_wrap=True)
    return hechos


def ejecuta(
    ordenes: Mapping[str, Sequence[str]],
    consola: Console,
    *,
    titulo: str = "make prueba",
    al_lado: Collection[str] = (),
    **entorno: str,
) -> list[str]:
    """Hace todos los pasos aunque falle uno, los de ``al_lado`` a la vez que el siguiente, y enseña
    el resumen; devuelve los nombres de los que fallan.
    """
    resumen = Table("paso", "resultado", "segundos", title=titulo)
    fallos = []
    for tanda in tandas(ordenes, al_lado):
        juntas = {nombre: ordenes[nombre] for nombre in tanda}
        completo = {**EXIGE, **os.environ, **HILOS, **entorno}
        for nombre, codigo, segundos in _hace(juntas, consola, cwd=RAIZ, env=completo):
            if codigo:
                fallos.append(nombre)
            resumen.add_row(nombre, "FALLA" if codigo else "bien", f"{segundos:.0f}")
    consola.print(resumen)
    return fallos


def main() -> None:
    """Punto de entrada."""
    with tempfile.TemporaryDirectory() as carpeta:
        extra = sys.argv[1:]
        fallos = ejecuta(
            pasos(carpeta, extra),
            Console(),
            al_lado=() if extra else AL_LADO,
            ATENTO_EJECUTADOS=carpeta,
        )
    sys.exit(1 if fallos else 0)


if __name__ == "__main__":
    principal(main)
