"""Las referencias de nbval: un cuaderno pequeño por capítulo con su código y sus salidas de texto.

``python tools referencias [CAPÍTULO]`` las rehace ejecutando lo que haya cambiado y muestra la
diferencia; ``python tools referencias --revisa`` solo dice si siguen siendo las del capítulo.

Con un capítulo, las de los demás no se tocan. De una celda que nbval daría por buena se conserva lo
guardado: una referencia solo cambia donde ha cambiado algo.
"""

from __future__ import annotations

from procesos import principal

# isort: split
# Lo demás tarda en importarse, y Ctrl+C se atiende ya.
import argparse
import configparser
import difflib
import json
import os
import re
import tempfile
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook
from rich.console import Console
from rich.syntax import Syntax

from paginas.capitulos import REFERENCIAS, Capitulo, abre_cache, elegidos
from paginas.ejecutar import CapituloRoto, ejecuta_pendientes
from paginas.fallos import incumplidas

TIPOS_QUE_SE_COMPARAN = ("text/plain", "text/latex", "application/papermill.record/text/plain")
SANEAR = REFERENCIAS / "sanear.cfg"
NUCLEO = {"display_name": "Python 3", "language": "python", "name": "python3"}


def adelgaza(salida) -> nbformat.NotebookNode:
    """Deja de una salida solo el texto: ni imágenes ni HTML, que nbval tampoco compara."""
    nueva = nbformat.from_dict(json.loads(json.dumps(salida)))
    if "data" in nueva:
        nueva["data"] = {
            tipo: nueva["data"][tipo] for tipo in TIPOS_QUE_SE_COMPARAN if tipo in nueva["data"]
        }
    if "execution_count" in nueva:
        nueva["execution_count"] = 1
    return nueva


def junta(salidas: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Une los trozos seguidos de una misma corriente: dónde se parten depende de la prisa de la
    máquina.
    """
    juntas: list[nbformat.NotebookNode] = []
    for salida in salidas:
        ultima = juntas[-1] if juntas else {}
        if salida.output_type == "stream" and ultima.get("name") == salida.name:
            ultima.text += salida.text
        else:
            juntas.append(salida)
    return juntas


def _saneador(fichero: Path):
    """La función que quita de un texto lo que ``sanear.cfg`` dice que puede variar."""
    reglas = configparser.RawConfigParser()
    reglas.read(fichero, encoding="utf-8")
    cambios = [(re.compile(reglas[x]["regex"]), reglas[x]["replace"]) for x in reglas.sections()]

    def sanea(texto: str) -> str:
        for patron, cambio in cambios:
            texto = patron.sub(cambio, texto)
        return texto

    return sanea


def conserva(nuevo: nbformat.NotebookNode, viejo: nbformat.NotebookNode, sanea) -> None:
    """Deja en ``nuevo`` las salidas guardadas de las celdas en las que nbval no vería
    diferencia."""
    guardadas = {celda.source: celda for celda in viejo.cells}
    for celda in nuevo.cells:
        vieja = guardadas.get(celda.source)
        if vieja is None:
            continue
        ignora = {"nbval-ignore-output", "nbval-skip"} & set(celda.metadata.get("tags", []))
        ahora, antes = (
            sanea(json.dumps(c.outputs, sort_keys=True, ensure_ascii=False)) for c in (celda, vieja)
        )
        if ahora == antes or ignora and bool(celda.outputs) == bool(vieja.outputs):
            celda.outputs = vieja.outputs


def referencia(cuaderno: nbformat.NotebookNode, viejo: nbformat.NotebookNode | None = None) -> str:
    """El texto de la referencia de un cuaderno ejecutado; lo que no cambia queda como en la vieja.

    Toda celda lleva ``execution_count``: nbval da por buena, sin mirarla, la que no lo tiene.
    """
    celdas = []
    for numero, celda in enumerate(c for c in cuaderno.cells if c.cell_type == "code"):
        etiquetas = celda.metadata.get("tags", [])
        celdas.append(
            new_code_cell(
                source=celda.source,
                outputs=junta([adelgaza(salida) for salida in celda.outputs]),
                metadata={"tags": list(etiquetas)} if etiquetas else {},
                execution_count=1,
                id=f"celda-{numero:02d}",
            )
        )
    nuevo = new_notebook(cells=celdas, metadata={"kernelspec": NUCLEO})
    if viejo is not None:
        conserva(nuevo, viejo, _saneador(SANEAR))
    return nbformat.writes(nuevo) + "\n"


def esta_al_dia(capitulo: Capitulo) -> str | None:
    """``None`` si la referencia tiene el código y las etiquetas del capítulo; si no, qué falta."""
    if not capitulo.referencia.exists():
        return f"{capitulo.nombre}: no tiene referencia; hazla con «make referencias»."
    guardada = nbformat.read(capitulo.referencia, as_version=4)
    actuales = [
        (c.source, list(c.metadata.get("tags", [])))
        for c in capitulo.cuaderno().cells
        if c.cell_type == "code"
    ]
    if actuales != [(c.source, list(c.metadata.get("tags", []))) for c in guardada.cells]:
        return (
            f"{capitulo.nombre}: el código ha cambiado y la referencia no; rehazla con «make"
            " referencias»."
        )
    if any(c.execution_count is None for c in guardada.cells):
        return (
            f"{capitulo.nombre}: hay celdas sin ejecutar en la referencia; rehazla con «make"
            " referencias»."
        )
    return None


def escribe(ruta: Path, texto: str) -> None:
    """Escribe de golpe, para que una interrupción no deje media referencia."""
    with tempfile.NamedTemporaryFile(
        "w", dir=ruta.parent, delete=False, encoding="utf-8"
    ) as temporal:
        temporal.write(texto)
    os.chmod(temporal.name, 0o644)
    os.replace(temporal.name, ruta)


def rehace(lista: list[Capitulo], consola: Console) -> int:
    """Rehace las referencias de esos capítulos y enseña qué cambia; devuelve cuántas han
    cambiado."""
    ejecuta_pendientes(lista, consola)
    REFERENCIAS.mkdir(parents=True, exist_ok=True)
    return sum(_rehace_una(capitulo, consola) for capitulo in lista)


def _rehace_una(capitulo: Capitulo, consola: Console) -> bool:
    _, ejecutado = abre_cache(capitulo).merge_match_into_notebook(capitulo.cuaderno())
    if frases := incumplidas(ejecutado):
        raise CapituloRoto(f"{capitulo.nombre}: aquí no se cumple: {'; '.join(frases)}")
    hay = capitulo.referencia.exists()
    vieja = capitulo.referencia.read_text(encoding="utf-8") if hay else ""
    nueva = referencia(ejecutado, nbformat.reads(vieja, as_version=4) if hay else None)
    if nueva == vieja:
        return False
    diferencia = difflib.unified_diff(
        vieja.splitlines(), nueva.splitlines(), "antes", "ahora", lineterm="", n=2
    )
    if vieja:
        consola.print(Syntax("\n".join(diferencia), "diff"))
    escribe(capitulo.referencia, nueva)
    consola.print(f"{capitulo.nombre}: referencia {'rehecha' if vieja else 'nueva'}.")
    return True


def main() -> None:
    """Punto de entrada."""
    opciones = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    opciones.add_argument("capitulo", nargs="?", help="número o nombre de la página; sin él, todas")
    opciones.add_argument(
        "--revisa", action="store_true", help="no ejecuta: solo dice si están al día"
    )
    elegido, consola = opciones.parse_args(), Console()
    lista = elegidos(elegido.capitulo)
    if elegido.revisa:
        quejas = [queja for c in lista if (queja := esta_al_dia(c))]
        consola.print("\n".join(quejas) or "Las referencias están al día.")
        raise SystemExit(1 if quejas else 0)
    try:
        cambiadas = rehace(lista, consola)
    except CapituloRoto as error:
        raise SystemExit(str(error)) from error
    consola.print(
        f"Han cambiado {cambiadas} referencias. Revisa la diferencia antes de darlas por buenas."
    )


if __name__ == "__main__":
    principal(main)
