"""Los capítulos y la biblioteca, como si el procesador fuera otro: lo exacto, exacto; lo entrenado,
parecido.

``python tools procesadores [--solo NOMBRE]``

Con ``--solo este``, en el que haya, sin fingir nada.

Con otras instrucciones, o con las sumas en otro orden, cambian las últimas cifras de casi todo, y
un entrenamiento las amplía. Lo que depende de ellas no se puede exigir igual, y aquí se ve.
"""

from __future__ import annotations

from procesos import principal

# isort: split
# Lo demás tarda en importarse, y Ctrl+C se atiende ya.
import argparse
import sys

from rich.console import Console

from prueba import ejecuta, nbval, pytest

PROCESADORES = {
    "avx2": {"ATEN_CPU_CAPABILITY": "avx2"},
    "compatible": {"MKL_CBWR": "COMPATIBLE"},
}
ESTE = "este"
BIBLIOTECA = (
    "tests/atento",
    "tests/figuras",
    "tests/capitulos",
    "tests/calificador/test_ejercicios.py",
)


def pasos_de(nombre: str) -> dict[str, list[str]]:
    """Lo que se ejecuta con un procesador: los capítulos con nbval, la biblioteca y los
    ejercicios."""
    return {
        f"{nombre}: capítulos (nbval)": nbval("tests/referencias"),
        f"{nombre}: biblioteca y ejercicios": pytest("-p", "no:cacheprovider", *BIBLIOTECA),
    }


def main() -> None:
    """Punto de entrada."""
    opciones = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    opciones.add_argument(
        "--solo", choices=[*PROCESADORES, ESTE], help="uno de ellos; sin esta opción, los fingidos"
    )
    solo = opciones.parse_args().solo
    fallos = []
    for nombre in [solo] if solo else PROCESADORES:
        fallos += ejecuta(
            pasos_de(nombre), Console(), titulo="make procesadores", **PROCESADORES.get(nombre, {})
        )
    sys.exit(1 if fallos else 0)


if __name__ == "__main__":
    principal(main)
