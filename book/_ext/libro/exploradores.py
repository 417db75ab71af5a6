"""Los exploradores de una página: lo que se repite, una vez; los ficheros grandes, aparte.

Un cuaderno necesita que cada salida se valga sola. Una página no: los guiones y las hojas de estilo
iguales se quedan en la primera salida que los trae, y los ficheros (los pesos de un modelo) van a
``modelos/``, de donde se piden solo si hacen falta.
"""

from __future__ import annotations

from pathlib import Path

CARPETA = "modelos"


def _pagina(app, pagename: str, templatename: str, context: dict, doctree) -> None:
    cuerpo = context.get("body", "")
    if "data-atento-explorer" not in cuerpo:
        return
    from figuras import explorers

    raiz = context["pathto"](f"{CARPETA}/", 1).rstrip("/")
    context["body"], guiones = explorers.detach(explorers.deduplicate(cuerpo), raiz)
    for nombre, guion in guiones.items():
        destino = Path(app.outdir) / CARPETA / nombre
        destino.parent.mkdir(parents=True, exist_ok=True)
        destino.write_text(guion, "utf8")


def setup(app) -> None:
    """Conecta la página."""
    app.connect("html-page-context", _pagina, priority=950)
