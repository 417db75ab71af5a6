"""Las órdenes de mantenimiento: ``python tools QUÉ …``; sin nada, dice cuáles hay.

Las de cada día son ficheros de esta carpeta (``construir.py``, ``prueba.py``, ``entorno.py``); las
semillas tienen la suya (``python tools/semillas``).
"""

from __future__ import annotations

import runpy
import sys
from importlib.util import find_spec
from pathlib import Path

AQUI = Path(__file__).resolve().parent
ORDENES = {
    "apendices": "paginas.apendices",
    "cuadernos": "paginas.cuadernos",
    "llevar": "llevar.ediciones",
    "mutantes": "cuidar.mutantes",
    "nuevo": "cuidar.nuevo",
    "procesadores": "cuidar.procesadores",
    "prosa": "cuidar.prosa",
    "rapida": "cuidar.rapida",
    "referencias": "cuidar.referencias",
    "sumador": "semillas.sumador",
    "temblor": "cuidar.temblor",
    "tiempos": "cuidar.tiempos",
}


def hace(orden: str) -> str:
    """La primera línea de lo que dice de sí una orden."""
    fichero = find_spec(ORDENES[orden]).origin
    return Path(fichero).read_text(encoding="utf-8").partition('"""')[2].splitlines()[0]


def main() -> None:
    """Punto de entrada."""
    if sys.argv[1:2] and sys.argv[1] in ORDENES:
        sys.argv = sys.argv[1:]
        runpy.run_module(ORDENES[sys.argv[0]], run_name="__main__")
        return
    lista = "\n".join(f"  {orden:13} {hace(orden)}" for orden in ORDENES)
    pedida = f"No hay ninguna orden «{sys.argv[1]}». " if sys.argv[1:] else ""
    raise SystemExit(f"{pedida}python tools QUÉ …, donde QUÉ es:\n{lista}")
