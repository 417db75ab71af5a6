"""Arreglos de sphinx-proof: «Demostración.» en español y lectura en paralelo."""

from __future__ import annotations

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective
from sphinx_proof.domain import ProofDomain


class Demostracion(SphinxDirective):
    """Una demostración: «Demostración.» al empezar y un cuadrado al terminar."""

    has_content = True
    option_spec = {"class": lambda texto: (texto or "").split()}

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        caja = nodes.admonition(
            "", classes=["proof", "demostracion", *self.options.get("class", [])]
        )
        self.set_source_info(caja)
        contenido = StringList(self.content, self.content.source(0))
        self.state.nested_parse(contenido, self.content_offset, caja)
        inicio = nodes.strong("", "Demostración. ")
        if isinstance(caja[0], nodes.paragraph):
            caja[0].insert(0, inicio)
        else:
            caja.insert(0, nodes.paragraph("", "", inicio))
        return [caja]


def setup(app) -> None:
    """Sustituye la directiva ``prf:proof`` y da al dominio la mezcla que le falta."""
    ProofDomain.directives["proof"] = Demostracion
    # Sus datos viven en env.proof_list, que ya se mezcla en env-merge-info: aquí no queda nada que
    # unir.
    ProofDomain.merge_domaindata = lambda self, docnames, otherdata: None
