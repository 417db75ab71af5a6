"""La vista de una página suelta: lo que cita del resto del libro se lee, aunque no se enlace.

Cada construcción entera deja dicho cómo se llama lo que se puede citar; sin ninguna, se lee la
etiqueta.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from docutils import nodes

from libro.numeracion import rotulo

SUELTA = "LIBRO_PAGINA_SUELTA"  # la pone tools/construir.py al construir una sola página
CITABLE = Path("_build", ".citable.json")


def citable(env) -> dict[str, list[str]]:
    """De cada etiqueta, el título de lo que nombra y, si va numerado, «Figura 4.1» o «(4.2)»."""
    salida = {e: [str(titulo)] * 2 for e, (*_, titulo) in env.get_domain("std").labels.items()}
    for documento, tipos in env.toc_fignumbers.items():
        for tipo, marca in ((tipo, marca) for tipo, hay in tipos.items() for marca in hay):
            dicho, etiqueta = rotulo(env, documento, tipo, marca), marca.removeprefix("equation-")
            dicho = f"({dicho})" if tipo == "displaymath" else dicho
            titulo = salida.get(etiqueta, [dicho])[0] if tipo in ("figure", "table") else dicho
            salida[etiqueta] = [titulo, dicho]
    return salida


def _apuntar(app, fallo: Exception | None) -> None:
    if fallo is None and app.builder.format == "html" and not os.environ.get(SUELTA):
        ruta = Path(app.srcdir) / CITABLE
        ruta.parent.mkdir(exist_ok=True)
        ruta.write_text(json.dumps(citable(app.env), ensure_ascii=False), encoding="utf-8")


def _preparar(app, config) -> None:
    if os.environ.get(SUELTA):
        config.libro_exigir_tiempos = False


def _leer_lo_del_resto(app, env, nodo, contenido) -> nodes.inline | None:
    """Lo que una página suelta cita del resto del libro: su título o su número, sin la página."""
    if not os.environ.get(SUELTA):
        return None
    if nodo.get("refdomain") == "py" or nodo.get("reftype") == "doc" or nodo.get("refexplicit"):
        return nodes.inline("", "", contenido)
    ruta, etiqueta = Path(app.srcdir) / CITABLE, nodo.get("reftarget", "")
    if not ruta.exists():
        return nodes.inline("", etiqueta)
    dichos = json.loads(ruta.read_text(encoding="utf-8")).get(etiqueta)
    return dichos and nodes.inline("", dichos[nodo["reftype"] != "ref"])


def setup(app) -> None:
    """Deja lo que se puede citar y, en una página suelta, lo lee."""
    app.connect("config-inited", _preparar)
    app.connect("missing-reference", _leer_lo_del_resto)
    app.connect("build-finished", _apuntar)
