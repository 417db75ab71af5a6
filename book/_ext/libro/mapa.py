"""«Mapa del libro»: las partes y los capítulos de ``mapa.yml``, con lo escrito enlazado y lo que
queda por escribir.
"""

from __future__ import annotations

from pathlib import Path

import yaml
from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

from libro.numeracion import capitulo, depende_del_indice


class MapaDelLibro(SphinxDirective):
    """Una tarjeta por parte, con sus capítulos."""

    def run(self) -> list[nodes.Node]:
        fichero = Path(self.env.srcdir) / "mapa.yml"
        self.env.note_dependency(str(fichero))
        depende_del_indice(self.env)
        escritos = {capitulo(d): d for d in self.env.found_docs if capitulo(d) is not None}
        caja = nodes.container(classes=["mapa-libro"])
        for parte in yaml.safe_load(fichero.read_text("utf8")) if fichero.exists() else []:
            tarjeta = nodes.container(
                "", nodes.paragraph("", parte["parte"], classes=["parte"]), classes=["tarjeta"]
            )
            tarjeta += nodes.bullet_list(
                "",
                *[
                    self._capitulo(numero, titulo, idea, escritos.get(numero))
                    for numero, (titulo, idea) in parte["capitulos"].items()
                ],
            )
            caja += tarjeta
        return [caja]

    def _capitulo(
        self, numero: int, titulo: str, idea: str, documento: str | None
    ) -> nodes.list_item:
        nombre = nodes.inline("", f"{numero}. {titulo}")
        if documento is None:
            estado = nodes.inline("", "por escribir", classes=["estado"])
            parrafo = nodes.paragraph("", "", nombre, nodes.Text(" "), estado)
            return nodes.list_item(
                "", parrafo, nodes.paragraph("", idea, classes=["idea"]), classes=["por-escribir"]
            )
        enlace = addnodes.pending_xref(
            "",
            nombre,
            refdomain="std",
            reftype="doc",
            reftarget="/" + documento,
            refexplicit=True,
            refdoc=self.env.docname,
            refwarn=True,
        )
        parrafo = nodes.paragraph("", "", enlace)
        return nodes.list_item(
            "", parrafo, nodes.paragraph("", idea, classes=["idea"]), classes=["escrito"]
        )


def setup(app) -> None:
    """Registra la directiva."""
    app.add_directive("mapa-libro", MapaDelLibro)
