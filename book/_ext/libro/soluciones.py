"""El apéndice «Soluciones comentadas», hecho con los ficheros de ``solutions/``, que son los que se
ejecutan.

Cada capítulo tiene su página, ``apendices/soluciones/capNN``, con una línea ``%SOLUCIONES%`` que al
leerla se cambia por las suyas. Cada una tiene la etiqueta ``sol-N-M`` y va plegada, con un enlace a
su enunciado.
"""

from __future__ import annotations

import re
from pathlib import Path

import jupytext
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

MARCA = "%SOLUCIONES%"
SOLUCIONES = Path(__file__).resolve().parents[3] / "solutions"


def setup(app: Sphinx) -> None:
    """Conecta la sustitución."""
    app.connect("source-read", _al_leer)


def _al_leer(app: Sphinx, docname: str, texto: list[str]) -> None:
    """Pone las soluciones de un capítulo en su página, que depende del fichero."""
    pagina = re.fullmatch(r"apendices/soluciones/(cap\d\d)", docname)
    if not pagina or MARCA not in texto[0]:
        return
    fichero = SOLUCIONES / f"{pagina[1]}.py"
    if not fichero.exists():
        logger.warning(
            "no hay solutions/%s",
            fichero.name,
            location=docname,
            type="libro",
            subtype="soluciones",
        )
        return
    app.env.note_dependency(str(fichero))
    texto[0] = texto[0].replace(MARCA, soluciones_de(fichero))


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
        lineas += _apertura(titulo) if plegado else []
        lineas += [comentario.strip(), ""]
    return "\n".join([*lineas, "::::" if plegado else ""])


def _apertura(titulo: str) -> list[str]:
    """Etiqueta, título, enlace al enunciado y comienzo de la parte plegada de un ejercicio."""
    numero = re.match(r"## (\d+)\.(\d+) ", titulo)
    if numero is None:
        raise ValueError(f"solutions: el título {titulo!r} no empieza por «## capítulo.orden »")
    ejercicio = f"{numero[1]}-{numero[2]}"
    return [
        f"(sol-{ejercicio})=",
        titulo,
        "",
        f"{{ref}}`Enunciado <ej-{ejercicio}>`",
        "",
        "::::{respuesta} Ver la solución",
        "",
    ]
