"""Lo común a todas las pruebas: las herramientas y la extensión, al alcance; las interrupciones,
atendidas.
"""

import json
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

RAIZ = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(RAIZ / "tools"), str(RAIZ / "book" / "_ext")]

DURACIONES = RAIZ / "tests" / "duraciones.json"  # las guarda «make prueba»

# De estos, lo de cada instalación va aparte: prepararla es lo que cuesta.
PARTIDOS = ("tests/calificador/test_curso_real.py",)


class PorFicheros(LoadFileScheduling):
    """Reparte ficheros enteros, como ``--dist loadfile``, y los de ``PARTIDOS`` en trozos."""

    def _split_scope(self, nodeid: str) -> str:
        fichero, _, caso = nodeid.partition("::")
        instalacion = re.search(r"[\[-](clon|wheel)\b", caso) if fichero in PARTIDOS else None
        return fichero + (instalacion[1] if instalacion else "")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> PorFicheros | None:
    """El reparto de ``--dist loadfile``; con otro, el de xdist."""
    return PorFicheros(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    """La opción con que «make prueba» y «make rapida» guardan lo que han visto."""
    ayuda = "guarda lo que tarda cada fichero y sella los que pasan (tools/cuidar/apunta.py)"
    parser.addoption("--apunta", action="store_true", help=ayuda)


def pytest_configure(config: pytest.Config) -> None:
    """Con ``--apunta``, quien mira. No se importa, para que las pruebas no dependan de él."""
    if config.getoption("apunta"):
        config.pluginmanager.import_plugin("cuidar.apunta")


def de_mas_a_menos(ficheros: set[str], tardan: dict[str, float]) -> list[str]:
    """Los ficheros según lo que tardaron: primero los que no se sabe, que pueden ser largos, y los
    demás de más a menos, para que al final ningún proceso se quede esperando a otro.
    """
    return sorted(ficheros, key=lambda fichero: (-tardan.get(fichero, float("inf")), fichero))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """En paralelo, lo largo primero; dentro de cada fichero, en su orden."""
    if hasattr(config, "workerinput"):
        tardan = json.loads(DURACIONES.read_text(encoding="utf-8")) if DURACIONES.exists() else {}
        suyos = [item.nodeid.partition("::")[0] for item in items]
        puesto = {fichero: i for i, fichero in enumerate(de_mas_a_menos(set(suyos), tardan))}
        items.sort(key=lambda item: puesto[item.nodeid.partition("::")[0]])


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Lanzadas con «&» heredan SIGINT sin atender: los núcleos no se podrían interrumpir y se
    # esperaría para siempre.
    signal.signal(signal.SIGINT, signal.default_int_handler)
