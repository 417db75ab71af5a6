"""nbval sobre las referencias: qué no se compara y dónde se dejan los cuadernos ya ejecutados.

Con ``ATENTO_EJECUTADOS=CARPETA`` cada capítulo que pasa se guarda ejecutado, para que el libro no
lo repita.

Una celda con la etiqueta ``entrenado`` enseña lo que da un entrenamiento, que cambia de un
procesador a otro: de ella se compara el texto, y de sus números, que se parezcan. Cuánto, lo dicen
las ejecuciones sacudidas de «make temblor» (``tests/temblor``): un número vale si está entre lo que
allí ha salido, contada la referencia, o se aparta de eso menos que su anchura y la última cifra
escrita. Sin ellas, una tolerancia para todos. En una GPU (``ATENTO_DEVICE`` o, sin ella, el mejor
dispositivo que haya) se admite más. Todo lo demás tiene que ser igual.
"""

import contextlib
import copy
import hashlib
import json
import os
import re
import signal
import sys
from pathlib import Path

import nbformat
import psutil
import pytest
from nbval.plugin import IPyNbFile

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Un núcleo que hereda SIGINT sin atender no se puede interrumpir cuando una celda pasa de su
    # plazo.
    signal.signal(signal.SIGINT, signal.default_int_handler)

ENTRENADO = "entrenado"
RESUMENES = Path(__file__).resolve().parents[1] / "temblor"
# Donde no hay ejecuciones sacudidas: relativa y absoluta, según dónde se entrene
TOLERANCIAS = {"cpu": (0.15, 0.01), "otro": (0.5, 0.05)}
NUMERO = re.compile(r"[-−]?\d+(?:\u202f\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?")
HUELLA = re.compile(r"\[huella [0-9a-f]{4}\]")
PIEZA = re.compile(f"(?P<huella>{HUELLA.pattern})|{NUMERO.pattern}")
SIN_COMPARAR = ("text/html", "image/svg+xml", "application/javascript")
INCUMPLIDO = "application/vnd.atento.incumplido+json"  # el de figuras.notebook.UNMET


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
    from paginas.capitulos import capitulos
    from cuidar.referencias import esta_al_dia

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
        compara, admite = item.compare_outputs, lo_que_admite(item)

        def con_tolerancia(nuevas, guardadas, skip_compare=None):
            return compara(parecidas(nuevas, guardadas, admite), guardadas, skip_compare)

        item.compare_outputs = con_tolerancia


def lo_que_admite(item):
    """``admite(i, nuevo, guardado)``: si el número ``i`` de una celda se parece al guardado."""
    donde = "cpu" if dispositivo() == "cpu" else "otro"
    sacudidos = intervalos(item.parent.path.stem, item.cell)
    if sacudidos is None:
        return lambda i, nuevo, guardado: se_parece(nuevo, guardado, *TOLERANCIAS[donde])
    veces = 1 if donde == "cpu" else 2
    return lambda i, nuevo, guardado: cabe(nuevo, guardado, *sacudidos[i], veces)


def intervalos(nombre, celda):
    """El menor y el mayor de cada número de una celda en las ejecuciones sacudidas, o ``None`` si
    no las hay de ese código.
    """
    fichero = RESUMENES / f"{nombre}.json"
    resumen = json.loads(fichero.read_text(encoding="utf-8")) if fichero.exists() else {}
    for una in resumen.get("cells", ()):
        iguales = una["code"] == marca(celda.source)
        if iguales and len(una["numbers"]) == len(numeros(celda.outputs)):
            return una["numbers"]
    return None


def marca(codigo):
    """Por la que se reconoce el código de una celda."""
    return hashlib.sha256(codigo.encode()).hexdigest()[:12]


def dispositivo():
    """Dónde entrenan los capítulos: «cpu», «cuda» o «mps»."""
    pedido = os.environ.get("ATENTO_DEVICE", "").strip().lower()
    if pedido:
        return pedido.partition(":")[0]
    from atento import device

    return device.pick().type


def textos(salidas):
    """Los textos de las salidas de una celda que se comparan, en orden."""
    return [
        salida[sitio][tipo] if sitio else salida[tipo] for salida, sitio, tipo in _sitios(salidas)
    ]


def _sitios(salidas):
    """Dónde está cada texto: en qué salida y, dentro de ella, en qué sitio y con qué tipo."""
    for salida in salidas:
        if "text" in salida:
            yield salida, "", "text"
        for tipo in sorted(salida.get("data", {})):
            if tipo not in SIN_COMPARAR and isinstance(salida["data"][tipo], str):
                yield salida, "data", tipo


def numeros(salidas):
    """Los números que se leen en las salidas de una celda, como están escritos."""
    return [x for texto in textos(salidas) for x in _numeros(texto)]


def _numeros(texto):
    return [m[0] for m in PIEZA.finditer(texto) if not m["huella"]]


def molde(texto):
    """El texto sin sus números ni sus huellas: lo que no puede cambiar."""
    return PIEZA.sub(lambda m: "[huella]" if m["huella"] else "#", texto)


def parecidas(nuevas, guardadas, admite):
    """Las salidas nuevas con los números de las guardadas allí donde se parecen, y sin el aviso de
    lo que no se cumple en esta máquina, que aquí solo llega si no se exige; las nuevas no se tocan.
    """
    nuevas = copy.deepcopy([x for x in nuevas if INCUMPLIDO not in x.get("data", {})])
    desde = 0
    # si sobran o faltan, lo dice la comparación  # noqa: B905
    for nueva, guardada in zip(nuevas, guardadas):
        for _, sitio, tipo in _sitios([guardada]):
            antes = guardada[sitio][tipo] if sitio else guardada[tipo]
            ahora = nueva.get(sitio, {}) if sitio else nueva
            if isinstance(ahora.get(tipo), str):
                ahora[tipo] = parecido(ahora[tipo], antes, admite, desde)
            desde += len(_numeros(antes))
    return nuevas


def parecido(nuevo, guardado, admite, desde=0):
    """``nuevo`` con los números y las huellas de ``guardado`` que se le parezcan; si no hay tantos,
    como está. El primero es el número ``desde`` de la celda.
    """
    huellas = iter(HUELLA.findall(guardado))
    nuevo = HUELLA.sub(lambda m: next(huellas, m[0]), nuevo)
    antes = _numeros(guardado)
    if len(antes) != len(_numeros(nuevo)):
        return nuevo
    restan = enumerate(antes, desde)

    def elige(m):
        if m["huella"]:
            return m[0]
        i, viejo = next(restan)
        return viejo if admite(i, m[0], viejo) else m[0]

    return PIEZA.sub(elige, nuevo)


def valor(escrito):
    """El número que se lee."""
    return float(escrito.replace("\u202f", "").replace("−", "-"))


def ultima_cifra(escrito):
    """Lo que vale una unidad de la última cifra de un número: 0.01 en «0.36»."""
    cifras, _, exponente = escrito.partition("e")
    return 10.0 ** (int(exponente or 0) - len(cifras.partition(".")[2]))


def se_parece(nuevo, guardado, relativa, absoluta):
    """Si se apartan poco para lo que valen."""
    a, b = valor(nuevo), valor(guardado)
    return abs(a - b) <= absoluta + relativa * max(abs(a), abs(b))


def cabe(nuevo, guardado, menor, mayor, veces=1):
    """Si ``nuevo`` está entre lo que ha salido, contado ``guardado``, o se aparta menos de
    ``veces`` su anchura y la última cifra escrita.
    """
    menor, mayor = min(menor, valor(guardado)), max(mayor, valor(guardado))
    holgura = veces * (mayor - menor) + max(map(ultima_cifra, (nuevo, guardado)))
    return menor - holgura <= valor(nuevo) <= mayor + holgura


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    """Guarda las salidas de cada celda que pasa y, tras la última, el cuaderno entero."""
    resultado = yield
    fichero = item.parent
    if not isinstance(fichero, IPyNbFile) or resultado.excinfo is not None:
        return
    with contextlib.suppress(AttributeError, psutil.Error):  # los de procesador de su núcleo
        nucleo = psutil.Process(fichero.kernel.km.provisioner.pid)
        fichero.segundos = sum(nucleo.cpu_times()[:2])
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
