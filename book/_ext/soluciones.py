"""El apéndice «Soluciones comentadas», hecho con los ficheros de ``solutions/``, que son los que se ejecutan.

La página lleva una línea ``%SOLUCIONES%``; al leerla se cambia por las soluciones de todos los capítulos del índice.
Cada una tiene la etiqueta ``sol-N-M`` y va plegada, con un enlace a su enunciado.
"""

from __future__ import annotations

import re
from pathlib import Path

import jupytext
from sphinx.application import Sphinx

PAGINA = "apendices/soluciones"
MARCA = "%SOLUCIONES%"
SOLUCIONES = Path(__file__).resolve().parents[2] / "solutions"


def setup(app: Sphinx) -> dict[str, bool]:
    """Conecta la extensión."""
    app.connect("source-read", _al_leer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _al_leer(app: Sphinx, docname: str, texto: list[str]) -> None:
    """Pone las soluciones en su página, que depende de cada fichero."""
    if docname != PAGINA:
        return
    capitulos = sorted(
        numero[1] for doc in app.env.found_docs if (numero := re.search(r"(?:^|/)(\d\d)-[^/]*$", doc))
    )
    partes = []
    for capitulo in capitulos:
        fichero = SOLUCIONES / f"cap{capitulo}.py"
        if fichero.exists():
            app.env.note_dependency(str(fichero))
            partes.append(soluciones_de(fichero))
    texto[0] = texto[0].replace(MARCA, "\n\n".join(partes))


def soluciones_de(fichero: Path) -> str:
    """El texto MyST de las soluciones de un capítulo, escritas en formato percent."""
    lineas, plegado = [], False
    for celda in jupytext.read(fichero).cells:
        if celda.cell_type == "code":
            lineas += ["```python", celda.source.strip(), "```", ""]
            continue
        titulo, _, comentario = celda.source.strip().partition("\n")
        if plegado:
            lineas += ["::::", ""]
        plegado = titulo.startswith("## ")
        lineas += _apertura(titulo) if plegado else [f"#{titulo.removesuffix(': soluciones')}", ""]
        lineas += [comentario.strip(), ""]
    return "\n".join([*lineas, "::::" if plegado else ""])


def _apertura(titulo: str) -> list[str]:
    """Etiqueta, título, enlace al enunciado y comienzo de la parte plegada de un ejercicio."""
    numero = re.match(r"## (\d+)\.(\d+) ", titulo)
    if numero is None:
        raise ValueError(f"solutions: el título {titulo!r} no empieza por «## capítulo.orden »")
    ejercicio = f"{numero[1]}-{numero[2]}"
    return [f"(sol-{ejercicio})=", f"#{titulo}", "", f"{{ref}}`Enunciado <ej-{ejercicio}>`", "",
            "::::{respuesta} Ver la solución", ""]
