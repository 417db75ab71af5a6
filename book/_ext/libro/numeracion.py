"""El número de un capítulo es el de su fichero: ``04-la-atencion-derivada.md`` es el capítulo 4.

Así los números no cambian mientras faltan capítulos, y la introducción y los apéndices quedan sin
número. De aquí salen los de secciones, figuras, ecuaciones, teoremas y ejercicios.
"""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import compact_paragraph
from sphinx.environment import BuildEnvironment
from sphinx.environment.collectors.toctree import TocTreeCollector
from sphinx_proof.nodes import NODE_TYPES
from sphinx_proof.nodes import _ as enunciado

PROFUNDIDAD = 2


def capitulo(docname: str) -> int | None:
    """Número de capítulo de un documento, o ``None`` si no lleva.

    >>> capitulo("2-mecanismo/04-la-atencion-derivada"), capitulo("intro")
    (4, None)
    """
    encaje = re.match(r"(\d\d)-", docname.rsplit("/", 1)[-1])
    return int(encaje.group(1)) if encaje else None


def rotulo(env: BuildEnvironment, documento: str, tipo: str, ancla: str) -> str:
    """«Figura 4.1», «Teorema 4.1»; de una ecuación, solo el número."""
    cuenta = env.toc_fignumbers.get(documento, {}).get(tipo, {}).get(ancla, ())
    numero = ".".join(map(str, cuenta))
    if tipo in NODE_TYPES:  # su «numfig_format» no está traducido
        return f"{enunciado(tipo.title())} {numero}".strip()
    return numero and env.config.numfig_format.get(tipo, "%s") % numero


def depende_del_indice(env: BuildEnvironment) -> None:
    """Apunta que la página que se lee depende de qué páginas hay, que es lo que dice el índice."""
    indice = env.config.external_toc_path if "external_toc_path" in env.config else "_toc.yml"
    env.note_dependency(str(Path(env.srcdir) / indice))


def _numerar(
    nodo: nodes.Element, pila: list[int], numeros: dict[str, tuple[int, ...] | None]
) -> None:
    """Recorre el índice de un documento y apunta el número de cada título (hasta ``PROFUNDIDAD``
    niveles).
    """
    orden = 0
    for elemento in nodo.children:
        if not isinstance(elemento, nodes.list_item):
            continue
        orden += 1
        numero = [*pila, orden] if pila else []
        for hijo in elemento.children:
            if isinstance(hijo, compact_paragraph):
                enlace = hijo[0]
                visible = numero if 0 < len(numero) <= PROFUNDIDAD else None
                enlace["secnumber"] = visible
                # Un None explícito: sin él, el escritor pondría a la subsección el número del
                # capítulo.
                numeros[enlace["anchorname"]] = tuple(visible) if visible else None
            elif isinstance(hijo, nodes.bullet_list):
                _numerar(hijo, numero, numeros)


def assign_section_numbers(self: TocTreeCollector, env: BuildEnvironment) -> list[str]:
    """Sustituye a la de Sphinx: numera por el nombre del fichero, no por el lugar en el índice."""
    anteriores, env.toc_secnumbers = env.toc_secnumbers, {}
    cambiados = []
    for docname, indice in env.tocs.items():
        numero = capitulo(docname)
        numeros: dict[str, tuple[int, ...] | None] = {}
        if numero is not None and indice.children:
            raiz = indice.children[0]
            enlace = raiz.children[0][0]
            enlace["secnumber"] = [numero]
            numeros[enlace["anchorname"]] = (numero,)
            env.titles[docname]["secnumber"] = [numero]
            for hijo in raiz.children[1:]:
                if isinstance(hijo, nodes.bullet_list):
                    _numerar(hijo, [numero], numeros)
        env.toc_secnumbers[docname] = numeros
        if numeros != anteriores.get(docname, {}):
            cambiados.append(docname)
    return cambiados


def setup(app) -> None:
    """Pone la numeración propia en lugar de la de Sphinx y de la de sphinx-external-toc, que la
    retoca.
    """
    for clase in (TocTreeCollector, *TocTreeCollector.__subclasses__()):
        clase.assign_section_numbers = assign_section_numbers
