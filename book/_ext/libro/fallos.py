"""La página de un capítulo que ha fallado al ejecutarse: con lo que se pudo y un recuadro que lo
dice.

Los guiones dejan en ``_build/.fallos`` lo ejecutado y una ficha (``tools/paginas/fallos.py``);
mientras está, la página se hace con eso y no con la caché. Lo que sigue a la celda que falla no
tiene salidas.
"""

from __future__ import annotations

import json
from pathlib import Path

from docutils import nodes
from sphinx.transforms import SphinxTransform

from libro.huella import FICHA, ruta_fallo

AVISO = 'class="incumplido"'  # lo pone figuras.notebook.on_this_machine


def fallo_de(env, docname: str | None = None) -> dict | None:
    """La ficha de la celda que ha fallado en una página, o ``None``."""
    return getattr(env, "libro_fallos", {}).get(docname or env.docname)


def _leido(app, docname: str) -> tuple[Path, dict] | None:
    """La carpeta y la ficha de una página que acaba de fallar."""
    marca = getattr(app.env, "libro_huellas", {}).get(docname)
    carpeta = ruta_fallo(Path(app.srcdir), Path(docname).name, marca or "sin-celdas")
    if not (carpeta / FICHA).exists():
        return None
    return carpeta, json.loads((carpeta / FICHA).read_text(encoding="utf-8"))


def _elegir(app, docname: str, texto: list[str]) -> None:
    """Si la página ha fallado, MyST-NB lee lo que se pudo ejecutar; si no, lo de siempre."""
    leido = _leido(app, docname)
    fallos = {k: v for k, v in getattr(app.env, "libro_fallos", {}).items() if k != docname}
    if leido:
        carpeta, fallos[docname] = leido
        app.env.mystnb_config = app.env.mystnb_config.copy(execution_cache_path=str(carpeta))
    app.env.libro_fallos = fallos


def _que_cambian(app, env, nuevos, cambiados, quitados) -> list[str]:
    """Las páginas que fallaban y ya no, o al revés, o de otra manera."""
    antes = getattr(env, "libro_fallos", {})
    ahora = {d: leido[1] for d in env.found_docs if (leido := _leido(app, d))}
    distintas = {d for d in antes.keys() | ahora.keys() if antes.get(d) != ahora.get(d)}
    return sorted(distintas & set(env.found_docs) - set(nuevos))


class Recuadros(SphinxTransform):
    """Pone un recuadro al principio de la página y otro detrás de la celda que ha fallado."""

    default_priority = 299

    def apply(self, **kwargs) -> None:
        fallo = fallo_de(self.env)
        if not fallo:
            return
        for celda in list(self.document.findall(nodes.container)):
            if celda.get("cell_index") == fallo["indice"]:
                caja = recuadro("Esta celda ha fallado en esta máquina", fallo)
                caja["ids"].append("celda-que-falla")
                celda.parent.insert(celda.parent.index(celda) + 1, caja)
                break
        seccion = next(iter(self.document.findall(nodes.section)), self.document)
        arriba = recuadro("Una celda de esta página ha fallado en esta máquina", fallo)
        sigue = "Lo que va detrás de ella no se ha ejecutado: no tiene salidas, ni sus números."
        arriba += nodes.paragraph(
            "",
            f"{sigue} ",
            nodes.reference("", "Ir a la celda", refid="celda-que-falla", internal=True),
        )
        titulo = isinstance(seccion.children[0] if seccion.children else None, nodes.title)
        seccion.insert(1 if titulo else 0, arriba)


def recuadro(titulo: str, fallo: dict) -> nodes.admonition:
    """Un recuadro con la línea que ha fallado y su error."""
    caja = nodes.admonition("", nodes.title("", titulo), classes=["error", "fallo"])
    parrafo = nodes.paragraph("", f"Celda {fallo['celda']}, línea {fallo['linea']} de ")
    parrafo += [nodes.literal("", fallo["pagina"]), nodes.Text(":")]
    linea = nodes.literal_block(fallo["codigo"], fallo["codigo"], language="python")
    caja += [parrafo, linea, nodes.paragraph("", fallo["error"])]
    return caja


def rotulo(celda: nodes.container, env) -> tuple[str, str]:
    """Lo que dice una comprobación delante de su frase, y su clase."""
    fallo, indice = fallo_de(env), celda.get("cell_index", -1)
    if fallo and indice == fallo["indice"]:
        return "Ha fallado en esta máquina:", "fallida"
    if fallo and indice > fallo["indice"]:
        return "Sin comprobar:", "fallida"
    if any(AVISO in crudo.astext() for crudo in celda.findall(nodes.raw)):
        return "En esta máquina no se ha cumplido:", "incumplida"
    return "Comprobado:", ""


def setup(app) -> None:
    """Conecta la elección de lo ejecutado y los recuadros; va detrás de :mod:`libro.ejecucion`."""
    app.connect("env-get-outdated", _que_cambian)
    app.connect("source-read", _elegir)
    app.add_transform(Recuadros)
