"""Lo que no sale al ejecutar un capítulo: dónde ha sido, cómo se enseña en su página y en la orden.

Una celda que falla no deja sin libro: lo ejecutado de su página se guarda aparte de la caché, con
la ficha de :class:`Fallo`, y la extensión (:mod:`libro.fallos`) la hace con eso y con un recuadro.
Lo que un entrenamiento no cumple en esta máquina (``notebook.on_this_machine``) no es un fallo:
la página lo dice donde diría ✓, y aquí se cuenta al final.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path

import nbformat
from jupyter_cache import get_cache
from libro.huella import FICHA, huella, ruta_fallo
from libro.lector import analiza
from myst_nb.ext.glue import extract_glue_data_cell
from nbformat import NotebookNode
from rich.console import Console
from rich.text import Text

from paginas.capitulos import LIBRO, Capitulo, abre_cache, guarda_en_cache

TRAZA = "traza.txt"
INCUMPLIDO = "application/vnd.atento.incumplido+json"  # el de figuras.notebook.UNMET
SIN_VALOR = "(sin calcular)"
CABEN = 5  # fallos que se enseñan enteros: con ellos el resumen cabe en una pantalla
REGISTRO = "application/papermill.record/"
PUBLICADA = re.compile(r"\{glue:text\}`([^`:]+)")
COLORES = re.compile(r"\x1b\[[\d;]*m")
EN_CELDA = re.compile(r"Cell In\s?\[\d+\], line (\d+)")


@dataclass(frozen=True)
class Fallo:
    """Una celda que no ha salido. ``indice`` la busca entre todas las del cuaderno."""

    pagina: str
    celda: int
    indice: int
    linea: int
    codigo: str
    error: str


def localiza(capitulo: Capitulo, cuaderno: NotebookNode, indice: int | None, que: str) -> Fallo:
    """El fallo de la celda ``indice``, o de la primera si no llegó a empezar ninguna.

    ``que`` es lo que ha pasado; si la celda ha dado un error, se dice el error y su línea.
    """
    codigo = [i for i, celda in enumerate(cuaderno.cells) if celda.cell_type == "code"]
    indice = codigo[0] if indice is None else indice
    celda, lineas = cuaderno.cells[indice], cuaderno.cells[indice].source.splitlines()
    errores = [x for x in celda.get("outputs", []) if x.output_type == "error"]
    dentro = 1
    if errores:
        que = ": ".join(x for x in (errores[0].ename, errores[0].evalue.strip()) if x)
        traza = COLORES.sub("", "\n".join(errores[0].traceback))
        dentro = int(encaje[1]) if (encaje := EN_CELDA.search(traza)) else 1
    primera = analiza(capitulo.texto()).llamadas("code-cell")[codigo.index(indice)].desde
    return Fallo(
        pagina=capitulo.ruta.name,
        celda=codigo.index(indice) + 1,
        indice=indice,
        linea=primera + dentro - 1,
        codigo=lineas[min(dentro, len(lineas)) - 1].strip() if lineas else "",
        error=que.splitlines()[0][:300] if que else "",
    )


def carpeta_de(capitulo: Capitulo) -> Path:
    """Donde queda lo ejecutado de una página que ha fallado; no es la caché de las buenas."""
    return ruta_fallo(LIBRO, capitulo.nombre, huella(capitulo.texto(), capitulo.nombre))


def a_medias(capitulo: Capitulo) -> NotebookNode | None:
    """Lo que se pudo ejecutar de una página que ha fallado; ``None`` si no ha fallado."""
    carpeta = carpeta_de(capitulo)
    if not (carpeta / FICHA).exists():
        return None
    return get_cache(str(carpeta)).merge_match_into_notebook(capitulo.cuaderno())[1]


def guarda(capitulo: Capitulo, cuaderno: NotebookNode, fallo: Fallo, traza: str) -> None:
    """Guarda una página a medias, con lo que necesita para hacerse: la celda que ha fallado, sin su
    traza, y los números que ya no se publicarán, dichos como que faltan.
    """
    celda = cuaderno.cells[fallo.indice]
    celda.outputs = [
        x
        for x in celda.get("outputs", [])
        if x.output_type != "error" and x.get("name") != "stderr"
    ]
    copia = deepcopy(cuaderno)  # extraerlos los quita de su celda
    hay = {k for c in copia.cells if c.cell_type == "code" for k, _ in extract_glue_data_cell(c)}
    faltan = sorted(set(PUBLICADA.findall(capitulo.texto())) - hay)
    celda.outputs += [_publica(clave, SIN_VALOR) for clave in faltan]
    carpeta = carpeta_de(capitulo)
    carpeta.mkdir(parents=True, exist_ok=True)
    guarda_en_cache(get_cache(str(carpeta)), capitulo, cuaderno, 0.0)
    ficha = json.dumps(asdict(fallo), ensure_ascii=False)
    (carpeta / FICHA).write_text(ficha, encoding="utf-8")
    (carpeta / TRAZA).write_text(COLORES.sub("", traza), encoding="utf-8")


def _publica(clave: str, texto: str) -> NotebookNode:
    """La salida que deja ``notebook.glue``."""
    return nbformat.v4.new_output(
        "display_data",
        data={f"{REGISTRO}text/plain": repr(texto), "text/html": ""},
        metadata={"scrapbook": {"name": clave, "mime_prefix": REGISTRO}},
    )


def olvida(lista: Iterable[Capitulo]) -> None:
    """Quita lo que quedó de las veces que han fallado: se van a intentar otra vez."""
    for capitulo in lista:
        shutil.rmtree(ruta_fallo(LIBRO, capitulo.nombre), ignore_errors=True)


def incumplidas(cuaderno: NotebookNode) -> list[str]:
    """Lo que un cuaderno ejecutado dice que no se cumple en esta máquina, con la frase del texto si
    la hay.
    """
    return [
        celda.metadata.get("comprueba") or salida.data[INCUMPLIDO]["comparacion"]
        for celda in cuaderno.cells
        if celda.cell_type == "code"
        for salida in celda.get("outputs", [])
        if INCUMPLIDO in salida.get("data", {})
    ]


def incumplidas_de(lista: Iterable[Capitulo]) -> dict[str, list[str]]:
    """Lo que no se cumple en cada página, leído de lo ejecutado; las que lo cumplen todo no
    están.
    """
    dichas = {}
    for capitulo in lista:
        cuaderno = capitulo.cuaderno()
        try:
            ejecutado = abre_cache(capitulo).merge_match_into_notebook(cuaderno)[1]
        except KeyError:
            continue
        if frases := incumplidas(ejecutado):
            dichas[capitulo.nombre] = frases
    return dichas


def cuenta_incumplidas(dichas: dict[str, list[str]], consola: Console) -> None:
    """Dice, página a página, lo que no se ha cumplido en esta máquina."""
    if not dichas:
        return
    consola.print("\nEn esta máquina no se ha cumplido (las páginas lo dicen donde dirían ✓):")
    for pagina, frases in dichas.items():
        for frase in frases:
            consola.print(Text(f"  {pagina}: {frase}"), soft_wrap=True)


def cuenta_fallos(fallos: list[Fallo], consola: Console) -> None:
    """Dice en una pantalla qué celdas han fallado: página, línea, celda y error."""
    consola.print("\nHan fallado estas celdas. Sus páginas lo dicen; las demás están hechas.\n")
    for fallo in fallos[:CABEN]:
        for texto in (
            f"{fallo.pagina}:{fallo.linea} (celda {fallo.celda})",
            f"    {fallo.codigo}",
            f"    {fallo.error}",
        ):
            consola.print(Text(texto), no_wrap=True, overflow="ellipsis", crop=True)
    if len(fallos) > CABEN:
        consola.print(f"Y otras {len(fallos) - CABEN}.")
    consola.print(f"Las trazas enteras: {ruta_fallo(LIBRO)}/*/*/{TRAZA}", soft_wrap=True)
