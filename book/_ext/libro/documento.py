"""Lo que se guarda y se escribe de una página es solo suyo: así no arrastra el libro entero, y de
la que se quita no queda nada.

Lo que se lee con ``eval-rst`` (la API) se analiza en un documento aparte, y sus nodos siguen
apuntando a él aunque pasen a la página. Al guardarla, Sphinx vacía los ajustes del suyo, pero no
los del otro, que llevan dentro todo el entorno: quince MiB en cada página.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx.transforms import SphinxTransform


def anotados(valor: object) -> Iterator[nodes.Node]:
    """Los nodos que hay en las listas y los diccionarios de un documento (``refids`` y los demás),
    que pueden no estar ya en el árbol.
    """
    if isinstance(valor, nodes.Node):
        yield valor
    elif isinstance(valor, dict):
        yield from (nodo for uno in valor.values() for nodo in anotados(uno))
    elif isinstance(valor, list | tuple | set):
        yield from (nodo for uno in valor for nodo in anotados(uno))


def une(documento: nodes.document) -> None:
    """Hace que ``documento`` sea el de todos sus nodos y de los que tiene anotados."""
    sueltos = [nodo for valor in vars(documento).values() for nodo in anotados(valor)]
    for raiz in [documento, *sueltos]:
        for nodo in raiz.findall():
            nodo.document = documento
        if raiz is not documento and raiz.parent is not None:
            raiz.parent.document = documento


class UnSoloDocumento(SphinxTransform):
    """Al terminar de leer una página."""

    default_priority = 999

    def apply(self, **kwargs) -> None:
        """Une los nodos."""
        une(self.document)


def _quita_lo_que_ya_no_es(app, env, nuevos, cambiados, quitados) -> list[str]:
    """Borra lo escrito de las páginas que ya no están: Sphinx lo deja, y se seguiría enlazando."""
    if app.builder.format == "html":
        for docname in quitados:
            Path(app.builder.get_outfilename(docname)).unlink(missing_ok=True)
    return []


def setup(app) -> None:
    """Conecta la transformación."""
    app.add_transform(UnSoloDocumento)
    app.connect("env-get-outdated", _quita_lo_que_ya_no_es)
