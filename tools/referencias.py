"""Las referencias de nbval: un cuaderno pequeño por capítulo con su código y sus salidas de texto.

    python tools/referencias.py            las rehace ejecutando lo que haya cambiado y enseña la diferencia
    python tools/referencias.py --revisa   solo dice si siguen siendo las del capítulo
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import tempfile
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook
from rich.console import Console
from rich.syntax import Syntax

from capitulos import REFERENCIAS, Capitulo, abre_cache, capitulos
from ejecutar import ejecuta_pendientes

TIPOS_QUE_SE_COMPARAN = ("text/plain", "text/latex", "application/papermill.record/text/plain")
NUCLEO = {"display_name": "Python 3", "language": "python", "name": "python3"}


def adelgaza(salida) -> nbformat.NotebookNode:
    """Deja de una salida solo el texto: ni imágenes ni HTML, que nbval tampoco compara."""
    nueva = nbformat.from_dict(json.loads(json.dumps(salida)))
    if "data" in nueva:
        nueva["data"] = {tipo: nueva["data"][tipo] for tipo in TIPOS_QUE_SE_COMPARAN if tipo in nueva["data"]}
    if "execution_count" in nueva:
        nueva["execution_count"] = 1
    return nueva


def referencia(cuaderno: nbformat.NotebookNode) -> str:
    """El texto de la referencia de un cuaderno ejecutado.

    Toda celda lleva ``execution_count``: nbval da por buena, sin mirarla, la que no lo tiene.
    """
    celdas = []
    for numero, celda in enumerate(c for c in cuaderno.cells if c.cell_type == "code"):
        etiquetas = celda.metadata.get("tags", [])
        celdas.append(
            new_code_cell(
                source=celda.source,
                outputs=[adelgaza(salida) for salida in celda.outputs],
                metadata={"tags": list(etiquetas)} if etiquetas else {},
                execution_count=1,
                id=f"celda-{numero:02d}",
            )
        )
    return nbformat.writes(new_notebook(cells=celdas, metadata={"kernelspec": NUCLEO})) + "\n"


def esta_al_dia(capitulo: Capitulo) -> str | None:
    """``None`` si la referencia tiene el código y las etiquetas del capítulo; si no, qué falta."""
    if not capitulo.referencia.exists():
        return f"{capitulo.nombre}: no tiene referencia; hazla con «make referencias»."
    guardada = nbformat.read(capitulo.referencia, as_version=4)
    actuales = [(c.source, list(c.metadata.get("tags", []))) for c in capitulo.cuaderno().cells if c.cell_type == "code"]
    if actuales != [(c.source, list(c.metadata.get("tags", []))) for c in guardada.cells]:
        return f"{capitulo.nombre}: el código ha cambiado y la referencia no; rehazla con «make referencias»."
    if any(c.execution_count is None for c in guardada.cells):
        return f"{capitulo.nombre}: hay celdas sin ejecutar en la referencia; rehazla con «make referencias»."
    return None


def escribe(ruta: Path, texto: str) -> None:
    """Escribe de golpe, para que una interrupción no deje media referencia."""
    with tempfile.NamedTemporaryFile("w", dir=ruta.parent, delete=False, encoding="utf-8") as temporal:
        temporal.write(texto)
    os.chmod(temporal.name, 0o644)
    os.replace(temporal.name, ruta)


def rehace(consola: Console) -> int:
    """Rehace las referencias y enseña qué cambia; devuelve cuántas han cambiado."""
    lista = capitulos()
    ejecuta_pendientes(lista, consola)
    cache, cambios = abre_cache(), 0
    REFERENCIAS.mkdir(parents=True, exist_ok=True)
    for capitulo in lista:
        _, ejecutado = cache.merge_match_into_notebook(capitulo.cuaderno())
        nueva = referencia(ejecutado)
        vieja = capitulo.referencia.read_text(encoding="utf-8") if capitulo.referencia.exists() else ""
        if nueva == vieja:
            continue
        cambios += 1
        diferencia = difflib.unified_diff(vieja.splitlines(), nueva.splitlines(), "antes", "ahora", lineterm="", n=2)
        if vieja:
            consola.print(Syntax("\n".join(diferencia), "diff"))
        escribe(capitulo.referencia, nueva)
        consola.print(f"{capitulo.nombre}: referencia {'rehecha' if vieja else 'nueva'}.")
    return cambios


def main() -> None:
    """Punto de entrada."""
    opciones = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    opciones.add_argument("--revisa", action="store_true", help="no ejecuta: solo dice si están al día")
    consola = Console()
    if opciones.parse_args().revisa:
        quejas = [queja for c in capitulos() if (queja := esta_al_dia(c))]
        consola.print("\n".join(quejas) or "Las referencias están al día.")
        raise SystemExit(1 if quejas else 0)
    consola.print(f"{rehace(consola)} referencias han cambiado. Revisa la diferencia antes de darlas por buenas.")


if __name__ == "__main__":
    main()
