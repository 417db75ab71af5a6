"""Los capítulos como cuadernos corrientes, para descargarlos y abrirlos en Jupyter, VS Code o
Colab.

``python tools cuadernos [--salida CARPETA]``

El texto es el de la página, como Sphinx la resolvió: ``libro.cuadernos`` lo deja al construirla en
Markdown que cualquier programa entiende, con los enlaces al libro publicado. El código es el del
capítulo, detrás de una celda que instala la biblioteca si falta, con las salidas y figuras de la
página; en ``sin-salidas`` están los mismos cuadernos sin ellas. Tras cada ejercicio van una celda
para escribirlo y otra que lo corrige. Solo se escriben los que cambian.
"""

from __future__ import annotations

from procesos import principal

# isort: split
# Lo demás tarda en importarse, y Ctrl+C se atiende ya.
import argparse
import base64
import copy
import hashlib
import json
import re
import sys
from functools import partial
from pathlib import Path
from urllib.parse import urljoin

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from paginas.capitulos import CONSTRUIDO, LIBRO, OBRA, RAIZ, Capitulo, abre_cache, capitulos
from paginas.celdas import celdas_de
from paginas.fallos import a_medias
from paginas.memoria import Memoria, contenido, entorno, ficheros, resumen
from paginas.publicado import Libro
from paginas.trazos import aligera_figura

# isort: split
# capitulos.py ya ha puesto book/_ext en la ruta.
from libro.cuadernos import CARPETA, CuadernoImposible
from libro.plegado import titulo_del_dibujo

INSTALA = """\
# Si falta la biblioteca del libro (por ejemplo, en Colab), se instala; lo que ya está no se toca.
try:
    import atento  # noqa: F401
except ImportError:
    %pip install -q "atento @ git+{repositorio}@{version}"
%load_ext calificador.cuaderno"""
PROCEDENCIA = (
    "---\n\nEste cuaderno es una página de «El Transformer, línea a línea». La página, con las"
    " figuras y las referencias, está en [{0}]({0}). Texto y figuras: CC BY-SA 4.0; código: BSD de"
    " tres cláusulas."
)
SIN_SALIDAS = "sin-salidas"
OCULTAS = {"hide-input", "hide-cell", "remove-input", "comprobacion", "dibujo"}
COMPROBACION = "Comprobación"
DIBUJADO = re.compile(r'<svg [^>]*aria-label="[^"]*"[^>]*max-width.*?</svg>', re.DOTALL)


def ejecutado(capitulo: Capitulo) -> NotebookNode | None:
    """El capítulo con sus salidas: las de la caché, las que dejó si ha fallado o las de la
    referencia; ``None`` si no hay.
    """
    actual = capitulo.cuaderno()
    try:
        return abre_cache(capitulo).merge_match_into_notebook(actual)[1]
    except KeyError:
        if (hecho := a_medias(capitulo)) is not None:
            return hecho
        if not capitulo.referencia.exists():
            return None
        guardado = nbformat.read(capitulo.referencia, as_version=4)
        if _codigo(guardado) != _codigo(actual):
            raise CuadernoImposible(
                "la referencia no es la del capítulo; rehazla con «make referencias»"
            ) from None
        return guardado


def pagina(capitulo: Capitulo, libro: Path) -> dict:
    """Lo que Sphinx dejó de un capítulo: su título, su dirección y sus trozos."""
    leido = libro / OBRA.relative_to(LIBRO) / "_build" / ".doctrees" / CARPETA
    ruta = leido / capitulo.ruta.relative_to(libro).with_suffix(".json")
    dicho = json.loads(ruta.read_text(encoding="utf-8")) if ruta.exists() else {}
    if dicho.get("fuente") != hashlib.sha256(capitulo.ruta.read_bytes()).hexdigest():
        raise CuadernoImposible("su página no está hecha, o es de otro texto: «make libro»")
    if "imposible" in dicho:
        raise CuadernoImposible(dicho["imposible"])
    return dicho


def _codigo(cuaderno: NotebookNode) -> list[str]:
    return [celda.source for celda in cuaderno.cells if celda.cell_type == "code"]


def comprueba_vallas(capitulo: Capitulo, original: NotebookNode) -> None:
    """Todas las celdas escritas se leen: una valla mal cerrada se las traga."""
    escritas = len(re.findall(r"^[ \t]*`{3,}\{code-cell\}", capitulo.texto(), re.MULTILINE))
    if escritas != len(_codigo(original)):
        raise CuadernoImposible(
            f"hay {escritas} celdas escritas y solo se leen {len(_codigo(original))}: algún"
            " recuadro no se cierra donde parece (el de fuera necesita más dos puntos que los de"
            " dentro)"
        )


def _de_codigo(celda: NotebookNode) -> NotebookNode:
    """Una celda de código; la que va plegada en la página lo va también en Jupyter y en Colab, con
    su título.
    """
    etiquetas = list(celda.metadata.get("tags", []))
    metadatos: dict = {"tags": etiquetas} if etiquetas else {}
    fuente, titulo = celda.source, ""
    if OCULTAS & set(etiquetas):
        metadatos["jupyter"] = {"source_hidden": True}
    if "dibujo" in etiquetas:
        titulo = titulo_del_dibujo(fuente)
    elif "comprobacion" in etiquetas:
        titulo = celda.metadata.get("comprueba", COMPROBACION)
    if titulo and not fuente.startswith("%%"):
        metadatos["cellView"] = "form"
        fuente = f"# @title {titulo}\n{fuente}"
    return new_code_cell(fuente, metadata=metadatos)


def salidas_de(celda: NotebookNode, pagina: str = "") -> list[NotebookNode]:
    """Las salidas que se ven: sin los valores publicados con ``glue``, que no enseñan nada, y con
    los enlaces de ``pagina``, la dirección del capítulo, enteros.
    """
    vistas = []
    for salida in celda.get("outputs", []):
        if "scrapbook" in salida.get("metadata", {}):
            continue
        copia = copy.deepcopy(salida)
        if codigo := copia.get("data", {}).get("text/html"):
            copia.data["text/html"] = _con_enlaces(_quieto(codigo), pagina)
        if "execution_count" in copia:
            copia.execution_count = None
        vistas.append(copia)
    return vistas


def _quieto(codigo: str) -> str:
    """Una figura, como imagen, y el dibujo de un explorador también: de un SVG escrito en el HTML,
    un cuaderno en el que no se confía solo deja las letras.
    """
    visible, guion, resto = codigo.partition("<script")
    if visible.startswith('<div class="atento-figura"'):
        return _imagen(DIBUJADO.search(visible)[0])
    return DIBUJADO.sub(lambda dibujo: _imagen(dibujo[0]), visible) + guion + resto


def _imagen(dibujo: str) -> str:
    """Un dibujo de ``figuras.plots`` como imagen, con sus colores claros sobre fondo blanco."""
    dibujo = re.sub(r"var\(--[\w-]+, ?((?:[^()]|\([^()]*\))*)\)", r"\1", dibujo)
    alternativo = re.search(r'aria-label="([^"]*)"', dibujo)[1]
    ancho = re.search(r"max-width:(\d+)px", dibujo)[1]
    dibujo = aligera_figura(dibujo.replace("overflow:visible", "background:#fff", 1))
    codigo = base64.b64encode(dibujo.encode()).decode()
    return (
        f'<img alt="{alternativo}" width="{ancho}" style="width:100%;max-width:{ancho}px;'
        f'height:auto" src="data:image/svg+xml;base64,{codigo}">'
    )


def _con_enlaces(codigo: str, pagina: str) -> str:
    """Los enlaces de una salida, que son de la página, enteros; también los que repiten sus
    datos.
    """
    for enlace in set(re.findall(r'href="([^"]*)"', codigo)):
        codigo = codigo.replace(f'"{enlace}"', f'"{urljoin(pagina, enlace)}"')
    return codigo


def cuaderno(
    capitulo: Capitulo, libro: Libro, dicho: dict, hecho: NotebookNode | None = None
) -> NotebookNode:
    """El cuaderno corriente de un capítulo, que en su página es ``dicho``; con las salidas de
    ``hecho`` si se da.
    """
    original = capitulo.cuaderno()
    comprueba_vallas(capitulo, original)
    escritas = [i for i, c in enumerate(original.cells) if c.cell_type == "code"]
    vistas = [x["celda"] for x in dicho["trozos"] if isinstance(x, dict) and "celda" in x]
    if vistas != escritas:
        raise CuadernoImposible("su página no lleva sus celdas, todas y en orden")
    con_salidas = iter(
        [c for c in hecho.cells if c.cell_type == "code"] if hecho is not None else []
    )
    celdas = [new_code_cell(INSTALA.format(repositorio=libro.repositorio, version=libro.version))]
    for trozo in dicho["trozos"]:
        match trozo:
            case {"celda": indice}:
                nueva = _de_codigo(original.cells[indice])
                nueva.outputs = salidas_de(next(con_salidas, {}), dicho["url"])
                celdas.append(nueva)
            case {"ejercicio": numero}:
                celdas += celdas_de(numero)
            case _:
                celdas.append(new_markdown_cell(trozo))
    celdas.append(new_markdown_cell(PROCEDENCIA.format(dicho["url"])))
    for orden, celda in enumerate(celdas):
        celda["id"] = f"celda-{orden:03d}"
    nuevo = new_notebook(cells=celdas, metadata=_metadatos(capitulo, dicho["titulo"]))
    nbformat.validate(nuevo)
    return nuevo


def _metadatos(capitulo: Capitulo, titulo: str) -> dict:
    return {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "title": titulo,
        "lang": "es",
        "colab": {"name": f"{capitulo.nombre}.ipynb", "provenance": []},
    }


def escribe(ruta: Path, texto: str) -> bool:
    """Escribe un cuaderno solo si cambia, para que los demás conserven su fecha; dice si ha
    cambiado.
    """
    if ruta.exists() and ruta.read_text(encoding="utf-8") == texto:
        return False
    ruta.parent.mkdir(parents=True, exist_ok=True)
    ruta.write_text(texto, encoding="utf-8")
    return True


def textos(capitulo: Capitulo, libro: Libro, dicho: dict) -> tuple[str, str]:
    """Los dos cuadernos de un capítulo, con las salidas y sin ellas."""
    hecho = ejecutado(capitulo)
    dos = cuaderno(capitulo, libro, dicho, hecho), cuaderno(capitulo, libro, dicho)
    return tuple(nbformat.writes(uno) + "\n" for uno in dos)


def de_todos(libro: Libro) -> str:
    """La huella de lo que decide los cuadernos y no es de un capítulo: los ejercicios, la
    biblioteca y las herramientas.
    """
    lugares = [RAIZ / x for x in ("code", "exercises", "solutions", "tools", "book/_ext")]
    lugares += [*libro.ruta.glob("_*.yml"), RAIZ / "constraints.txt"]
    return resumen(contenido(ficheros(*lugares), RAIZ), libro.version, entorno())


def clave(capitulo: Capitulo, dicho: dict, comun: str) -> str:
    """La huella de un cuaderno: lo de todos, su texto y lo que dio al ejecutarse."""
    ejecucion = [*capitulo.carpeta_de_cache.rglob("executed/*/*.ipynb"), capitulo.referencia]
    hechos = [p.read_bytes() for p in sorted(ejecucion) if p.exists()]
    return resumen(comun, json.dumps(dicho), *hechos)


def exporta(
    lista: list[Capitulo], libro: Libro, salida: Path, memoria: Memoria | None = None
) -> tuple[int, list[str]]:
    """Deja en ``salida`` los cuadernos de esos capítulos; devuelve cuántos han cambiado y lo que no
    se ha podido. Los que la memoria recuerda no se hacen otra vez.
    """
    fallos, cambiados, comun = [], 0, de_todos(libro) if memoria else ""
    for capitulo in lista:
        try:
            dicho = pagina(capitulo, libro.ruta)
            hace = partial(textos, capitulo, libro, dicho)
            recuerda = memoria and a_medias(capitulo) is None
            con, sin = memoria.da(clave(capitulo, dicho, comun), hace) if recuerda else hace()
            cambiados += escribe(salida / f"{capitulo.nombre}.ipynb", con)
            escribe(salida / SIN_SALIDAS / f"{capitulo.nombre}.ipynb", sin)
        except CuadernoImposible as fallo:
            fallos.append(f"{capitulo.nombre}: {fallo}")
    vigentes = {c.nombre for c in lista}
    for sobra in [p for p in salida.rglob("*.ipynb") if p.stem not in vigentes]:
        sobra.unlink()
    return cambiados, fallos


def main() -> None:
    """Punto de entrada."""
    opciones = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    opciones.add_argument(
        "--salida", type=Path, default=CONSTRUIDO / "html" / "cuadernos", help="carpeta de destino"
    )
    lista, memoria = capitulos(), Memoria(CONSTRUIDO / ".cuadernos.pickle")
    cambiados, fallos = exporta(lista, Libro(), opciones.parse_args().salida, memoria)
    memoria.guarda()
    if fallos:
        sys.exit("No se han podido exportar todos los cuadernos:\n" + "\n".join(fallos))
    print(f"{len(lista)} cuadernos; han cambiado {cambiados}.")


if __name__ == "__main__":
    principal(main)
