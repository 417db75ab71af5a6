"""nbval sobre las referencias: qué no se compara y dónde se dejan los cuadernos ya ejecutados.

Con ``ATENTO_EJECUTADOS=CARPETA`` cada capítulo que pasa se guarda ejecutado, para que el libro no
lo repita.

Una celda con la etiqueta ``entrenado`` enseña lo que da un entrenamiento, que cambia de un
procesador a otro: de ella se compara el texto, y de sus números, que se parezcan. Cuánto, lo dice
el dispositivo en que se ejecuta (``ATENTO_DEVICE`` o, sin ella, el mejor que haya): en una GPU se
admite más. Todo lo demás tiene que ser igual.
"""

import copy
import os
import re
import signal
import sys
import time
from pathlib import Path

import nbformat
import pytest
from nbval.plugin import IPyNbFile

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Un núcleo que hereda SIGINT sin atender no se puede interrumpir cuando una celda pasa de su
    # plazo.
    signal.signal(signal.SIGINT, signal.default_int_handler)

ENTRENADO = "entrenado"
# relativa y absoluta, según dónde se entrene
TOLERANCIAS = {"cpu": (0.15, 0.01), "otro": (0.5, 0.05)}
NUMERO = re.compile(r"[-−]?\d+(?:\u202f\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?")
HUELLA = re.compile(r"\[huella [0-9a-f]{4}\]")
SIN_COMPARAR = ("text/html", "image/svg+xml", "application/javascript")


def pytest_sessionstart(session):
    """Antes de ejecutar nada, las referencias tienen todas las celdas del capítulo, y ninguna
    más."""
    herramientas = Path(__file__).resolve().parents[2] / "tools"
    config = session.config
    if (
        hasattr(config, "workerinput")
        or not config.getoption("nbval", False)
        or not herramientas.is_dir()
    ):
        return
    sys.path.insert(0, str(herramientas))
    from capitulos import capitulos
    from referencias import esta_al_dia

    pedidas = [Path(x.partition("::")[0]).resolve() for x in config.args]
    quejas = [
        queja
        for c in capitulos()
        if any(x in (c.referencia, *c.referencia.parents) for x in pedidas)
        and (queja := esta_al_dia(c))
    ]
    if quejas:
        pytest.exit("\n".join(quejas), returncode=1)


def pytest_collectstart(collector):
    """Ni el HTML ni los SVG se comparan: de una figura cuenta su texto alternativo, que va en
    ``text/plain``.
    """
    if isinstance(collector, IPyNbFile):
        collector.skip_compare += SIN_COMPARAR
        collector.hechas, collector.segundos = {}, 0.0


def pytest_itemcollected(item):
    """Las celdas ``entrenado`` se comparan con tolerancia."""
    if isinstance(item.parent, IPyNbFile) and ENTRENADO in item.cell.metadata.get("tags", []):
        compara, tolerancia = (
            item.compare_outputs,
            TOLERANCIAS["cpu" if dispositivo() == "cpu" else "otro"],
        )

        def con_tolerancia(nuevas, guardadas, skip_compare=None):
            return compara(parecidas(nuevas, guardadas, tolerancia), guardadas, skip_compare)

        item.compare_outputs = con_tolerancia


def dispositivo():
    """Dónde entrenan los capítulos: «cpu», «cuda» o «mps»."""
    pedido = os.environ.get("ATENTO_DEVICE", "").strip().lower()
    if pedido:
        return pedido.partition(":")[0]
    from atento import device

    return device.pick().type


def parecidas(nuevas, guardadas, tolerancia):
    """Las salidas nuevas con los números de las guardadas allí donde se parecen; las nuevas no se
    tocan.
    """
    nuevas = copy.deepcopy(nuevas)
    # si sobran o faltan, lo dice la comparación  # noqa: B905
    for nueva, guardada in zip(nuevas, guardadas):
        if "text" in nueva and "text" in guardada:
            nueva["text"] = parecido(nueva["text"], guardada["text"], tolerancia)
        datos, antes = nueva.get("data", {}), guardada.get("data", {})
        for tipo in datos.keys() & antes.keys():
            if isinstance(datos[tipo], str):
                datos[tipo] = parecido(datos[tipo], antes[tipo], tolerancia)
    return nuevas


def parecido(nuevo, guardado, tolerancia):
    """``nuevo`` con los números y las huellas de ``guardado`` que se le parezcan; si no hay tantos,
    como está.
    """
    huellas = iter(HUELLA.findall(guardado))
    nuevo = HUELLA.sub(lambda m: next(huellas, m[0]), nuevo)
    antes = NUMERO.findall(guardado)
    if len(antes) != len(NUMERO.findall(nuevo)):
        return nuevo
    restan = iter(antes)
    return NUMERO.sub(lambda m: elige(m[0], next(restan), *tolerancia), nuevo)


def elige(nuevo, guardado, relativa, absoluta):
    """El guardado si el nuevo se le parece; si no, el nuevo."""
    a, b = (float(x.replace("\u202f", "").replace("−", "-")) for x in (nuevo, guardado))
    return guardado if abs(a - b) <= absoluta + relativa * max(abs(a), abs(b)) else nuevo


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
