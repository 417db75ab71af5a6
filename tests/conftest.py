"""Lo común a todas las pruebas: las herramientas y la extensión, al alcance; las interrupciones,
atendidas.
"""

import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

RAIZ = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(RAIZ / "tools"), str(RAIZ / "book" / "_ext")]

# Los ficheros que más tardan, de más a menos. Se reparten los primeros, para que al final ningún
# proceso se quede esperando a otro.
LARGOS = (
    "tests/calificador/test_ejercicios.py",
    "tests/calificador/test_curso_real.py",
    "tests/sitio/test_exploradores.py",
    "tests/sitio/test_navegador.py",
    "tests/calificador/test_ataques.py",
    "tests/sitio/test_llevar.py",
    "tests/sitio/test_jupyterlab.py",
    "tests/calificador/test_lote.py",
    "tests/libro/test_extension.py",
)

# De estos, además, lo de cada instalación va aparte: prepararla es lo que cuesta.
PARTIDOS = ("tests/calificador/test_curso_real.py",)


class PorFicheros(LoadFileScheduling):
    """Reparte ficheros enteros, como ``--dist loadfile``, y los de ``PARTIDOS`` en trozos."""

    def _split_scope(self, nodeid: str) -> str:
        fichero, _, caso = nodeid.partition("::")
        instalacion = re.search(r"\[(clon|wheel)\b", caso) if fichero in PARTIDOS else None
        return fichero + (instalacion[0] if instalacion else "")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> PorFicheros | None:
    """El reparto de ``--dist loadfile``; con otro, el de xdist."""
    return PorFicheros(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """En paralelo, lo largo primero; los demás ficheros, en su orden."""
    if hasattr(config, "workerinput"):
        puesto = {fichero: i for i, fichero in enumerate(LARGOS)}
        items.sort(key=lambda item: puesto.get(item.nodeid.partition("::")[0], len(LARGOS)))


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Lanzadas con «&» heredan SIGINT sin atender: los núcleos no se podrían interrumpir y se
    # esperaría para siempre.
    signal.signal(signal.SIGINT, signal.default_int_handler)
