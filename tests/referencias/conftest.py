"""nbval sobre las referencias: qué no se compara y dónde se dejan los cuadernos ya ejecutados.

Con ``ATENTO_EJECUTADOS=CARPETA`` cada capítulo que pasa se guarda ejecutado, para que el libro no lo repita.
"""

import os
import signal
import time
from pathlib import Path

import nbformat
import pytest
from nbval.plugin import IPyNbFile

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Un núcleo que hereda SIGINT sin atender no se puede interrumpir cuando una celda pasa de su plazo.
    signal.signal(signal.SIGINT, signal.default_int_handler)

SIN_COMPARAR = ("text/html", "image/svg+xml", "application/javascript")


def pytest_collectstart(collector):
    """Ni el HTML ni los SVG se comparan: de una figura cuenta su texto alternativo, que va en ``text/plain``."""
    if isinstance(collector, IPyNbFile):
        collector.skip_compare += SIN_COMPARAR
        collector.hechas, collector.segundos = {}, 0.0


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    """Guarda las salidas de cada celda que pasa y, tras la última, el cuaderno entero."""
    inicio = time.perf_counter()
    resultado = yield
    fichero = item.parent
    if not isinstance(fichero, IPyNbFile) or resultado.excinfo is not None:
        return
    fichero.segundos += time.perf_counter() - inicio
    fichero.hechas[item.cell_num] = item.test_outputs
    codigo = [c for c in fichero.nb.cells if c.cell_type == "code"]
    if len(fichero.hechas) == len(codigo):
        guarda(fichero)


def guarda(fichero):
    """Escribe el cuaderno ejecutado en la carpeta que pide ``ATENTO_EJECUTADOS``."""
    carpeta = os.environ.get("ATENTO_EJECUTADOS")
    if not carpeta:
        return
    cuaderno = nbformat.from_dict(fichero.nb.copy())
    for numero, celda in enumerate(c for c in cuaderno.cells if c.cell_type == "code"):
        celda.outputs = [nbformat.from_dict(dict(salida)) for salida in fichero.hechas[numero]]
        celda.execution_count = numero + 1
    cuaderno.metadata["segundos"] = round(fichero.segundos, 3)
    destino = Path(carpeta) / fichero.path.name
    temporal = destino.with_suffix(".parte")
    nbformat.write(cuaderno, temporal)
    temporal.replace(destino)
