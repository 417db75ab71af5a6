"""De cada capítulo resuelto, su texto en Markdown corriente y sus celdas: de ahí sale su cuaderno.

Cuando Sphinx ha puesto números, enlaces, citas y valores, aquí se escribe la página con lo que
entienden Jupyter, VS Code y Colab, y se deja en trozos (texto, celda o ejercicio) junto a lo leído;
``tools/paginas/cuadernos.py`` los junta con el código y sus salidas. La página que Sphinx no vuelve
a escribir conserva los suyos.
"""

from __future__ import annotations

import html
import json
import re
import textwrap
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from urllib.parse import urljoin

from docutils import nodes
from sphinx.locale import admonitionlabels
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_node
from sphinx_proof.nodes import NODE_TYPES

from libro.ejercicios import enlace_solucion
from libro.formulas import MACROS
from libro.numeracion import capitulo, rotulo
from libro.plegado import codigo_del_dibujo, desplegable, resumen
from libro.sitio import direccion_publicada, tiene_celdas

CARPETA = "cuadernos"  # dentro de la de lo leído
SOLO_EN_LA_PAGINA = {"tiempos", "solucion", "fallo", "toctree-wrapper", "ficha", "entrega"}
LISTAS = (nodes.bullet_list, nodes.enumerated_list)
SIN_TEXTO = (nodes.Invisible, nodes.raw, enlace_solucion, resumen)
EMPEZAR = (
    "Cada ejercicio lleva debajo una celda para escribirlo y otra, `%atento`, que lo corrige, con"
    " su nota y sus pistas. Vale también aquí lo que hayas definido en otras celdas. Para"
    " resolverlos en un fichero, la orden `%atento empezar {}` copia los esqueletos a"
    " `mis-ejercicios/`."
)
ENTREGA = (
    "Escríbelo en la celda que sigue y ejecútala; la de después lo corrige. (En una consola,"
    " `atento empezar {}` y `atento calificar {}`.)"
)
_MACRO = re.compile(rf"\\({'|'.join(sorted(MACROS, key=len, reverse=True))})(?![A-Za-z])")
_MARCAS = re.compile(
    r"\\(?=[!-/:-@\[-`{-~])|[`*$~]|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|&(?=#?\w+;)|\](?=\()"
)
_AL_EMPEZAR = re.compile(r"^(?:#{1,6}(?=\s)|[-+](?=\s)|>|(?<=\d)[.)](?=\s)|[=-]+$)")

Trozo = str | dict[str, int | str]  # texto, {"celda": 3} o {"ejercicio": "4.2"}


class CuadernoImposible(ValueError):
    """Algo del capítulo no se puede decir en un cuaderno corriente; el mensaje dice qué."""


def sin_macros(formula: str) -> str:
    """LaTeX corriente: las macros del libro, desarrolladas y sin clases de color.

    >>> sin_macros(r"\\Q \\K^\\T")
    'Q K^{\\\\mathsf T}'
    """

    def desarrollada(macro: re.Match[str]) -> str:
        letra = re.fullmatch(r"\\class\{\w\}\{(\w)\}", MACROS[macro[1]])
        if not letra:
            return MACROS[macro[1]]
        return (
            f"{{{letra[1]}}}" if formula[macro.start() - 1 : macro.start()].isalpha() else letra[1]
        )

    return _MACRO.sub(desarrollada, formula)


def en_una_linea(formula: str) -> str:
    """Una fórmula corriente, sin comentarios ni saltos de línea."""
    return " ".join(re.sub(r"(?<!\\)%.*", "", sin_macros(formula)).split())


def sin_marcas(texto: str) -> str:
    """Un texto en el que nada se lee como Markdown.

    >>> sin_marcas("2*3 [MASK] _a_ a_b 5 $")
    '2\\\\*3 [MASK] \\\\_a\\\\_ a_b 5 \\\\$'
    """
    return _MARCAS.sub(r"\\\g<0>", re.sub(r"\s*\n\s*", " ", texto))


def _codigo(texto: str) -> str:
    marca = "`" * (1 + max(map(len, re.findall("`+", texto)), default=0))
    aire = " " if "`" in (texto[:1], texto[-1:]) else ""
    return f"{marca}{aire}{texto}{aire}{marca}"


def _rodea(marca: str, texto: str) -> str:
    """Pone unas marcas a un texto; los espacios de los extremos quedan fuera."""
    dentro = texto.strip()
    return texto.replace(dentro, f"{marca}{dentro}{marca}", 1) if dentro else texto


def _plegado(titulo: str, cuerpo: str) -> str:
    return f"<details>\n<summary>{titulo}</summary>\n\n{cuerpo}\n\n</details>"


def _en_html(titulo: nodes.Element) -> str:
    """El título de un desplegable, que no se lee como Markdown."""
    partes = []
    for texto in titulo.findall(nodes.Text):
        if isinstance(texto.parent, nodes.math):
            partes.append(f"${en_una_linea(texto.astext())}$")
        else:
            dicho = html.escape(texto.astext(), quote=False)
            literal = isinstance(texto.parent, nodes.literal)
            partes.append(f"<code>{dicho}</code>" if literal else dicho)
    return "".join(partes)


def _une(trozos: Iterable[Trozo]) -> list[Trozo]:
    """Los trozos, con los textos seguidos juntos y sin dos rayas seguidas."""
    juntos: list[Trozo] = []
    for trozo in trozos:
        if trozo and isinstance(trozo, str) and juntos and isinstance(juntos[-1], str):
            raya = trozo.startswith("---\n") and re.search(r"(^|\n)---$", juntos[-1])
            juntos[-1] += trozo.removeprefix("---") if raya else f"\n\n{trozo}"
        elif trozo:
            juntos.append(trozo)
    return juntos


class Escritor:
    """Escribe una página resuelta."""

    def __init__(self, env, documento: str, sitio: str) -> None:
        self.documento, self.url = documento, f"{sitio}/{documento}.html"
        self.env = env
        self.obras = {c.citation_id: c.entry for c in env.get_domain("cite").citations}
        self.citas = 0  # recuadros abiertos: en ellos, cada ecuación va en una línea
        self.puestas: set[int] = set()  # celdas que ya están en su sitio

    def pagina(self, documento: nodes.document) -> list[Trozo]:
        """Los trozos de una página."""
        return _une(self.bloques(documento))

    # Bloques

    def bloques(self, padre: nodes.Element, desde: int = 0) -> Iterator[Trozo]:
        """Los trozos de lo que lleva un nodo."""
        for hijo in padre.children[desde:]:
            clases = set(hijo["classes"]) if isinstance(hijo, nodes.Element) else set()
            if "empezar" in clases:  # primero dice cómo se copian los esqueletos en una consola
                yield EMPEZAR.format(capitulo(self.documento))
                yield from self.bloques(hijo, 2)
            elif not SOLO_EN_LA_PAGINA & clases:
                yield from self._bloque(hijo)

    def _bloque(self, nodo: nodes.Node) -> Iterator[Trozo]:
        match nodo:
            case nodes.container() if nodo.get("nb_element") == "cell_code":
                yield from self._celda(nodo)
            case exercise_enumerable_node() | exercise_node():
                yield from self._ejercicio(nodo)
            case desplegable():
                yield from self._desplegable(nodo)
            case nodes.figure() if "libro-figura" in nodo:
                yield from self._figura(nodo)
            case nodes.section() | nodes.container():
                yield from self.bloques(nodo)
            case _ if not isinstance(nodo, SIN_TEXTO):
                yield self._escrito(nodo)

    def texto(self, padre: nodes.Element) -> str:
        """Lo que lleva un nodo, si todo es texto."""
        trozos = _une(self.bloques(padre))
        if any(not isinstance(trozo, str) for trozo in trozos):
            raise self.imposible(padre, "lleva dentro una celda o un ejercicio con nota")
        return trozos[0] if trozos else ""

    def imposible(self, nodo: nodes.Node, por_que: str) -> CuadernoImposible:
        """El error que dice qué nodo no se puede escribir, y de qué página."""
        que = f"«{type(nodo).__name__}» («{' '.join(nodo.astext().split())[:40]}»)"
        return CuadernoImposible(f"{self.documento}: {que} {por_que}")

    def _celda(self, nodo: nodes.container) -> Iterator[Trozo]:
        if nodo["cell_index"] not in self.puestas:
            self.puestas.add(nodo["cell_index"])
            yield {"celda": nodo["cell_index"]}

    def _figura(self, nodo: nodes.figure) -> Iterator[Trozo]:
        """El pie, detrás de la celda que la dibuja: en la página, su código puede ir después."""
        sigue = nodo.next_node(descend=False, siblings=True)
        if isinstance(sigue, nodes.container) and codigo_del_dibujo(sigue):
            yield from self._celda(sigue)
        pie = self.en_linea(next(nodo.findall(nodes.caption)))
        yield f"**{self._numero('figure', nodo)}.** {pie}"
        for leyenda in nodo.findall(nodes.legend):
            yield from self.bloques(leyenda)

    def _ejercicio(self, nodo: nodes.Element) -> Iterator[Trozo]:
        """Su enunciado y, si lleva nota, dónde van sus dos celdas."""
        con_nota = isinstance(nodo, exercise_enumerable_node)
        numero = self._numero("exercise", nodo) if con_nota else ""
        yield f"#### {numero}{self.en_linea(nodo[0])}"
        fichas = [x for x in nodo.findall(nodes.paragraph) if "ficha" in x["classes"]]
        for ficha in fichas:
            yield f"*{' · '.join(x.astext() for x in ficha.findall(nodes.inline))}*"
        yield from self.bloques(nodo)
        if fichas:
            cual = numero.rpartition(" ")[2]
            yield ENTREGA.format(cual.partition(".")[0], cual)
            yield {"ejercicio": cual}

    def _desplegable(self, nodo: desplegable) -> Iterator[Trozo]:
        """Un ``<details>``; si lleva celdas, que no caben dentro, va entre rayas."""
        if "titulo" in nodo:
            yield _plegado(html.escape(nodo["titulo"], quote=False), self.texto(nodo))
            return
        dentro, delante = _une(self.bloques(nodo)), nodo[0]["rotulo"]
        if all(isinstance(trozo, str) for trozo in dentro):
            yield _plegado(f"{delante}: {_en_html(nodo[0])}", "".join(map(str, dentro)))
        else:
            yield f"---\n\n**{delante}: {self.en_linea(nodo[0])}**"
            yield from [*dentro, "---"]

    def _escrito(self, nodo: nodes.Node) -> str:
        match nodo:
            case nodes.title() | nodes.paragraph():
                return self._parrafo(nodo)
            case nodes.math_block():
                return self._ecuacion(nodo)
            case nodes.literal_block():
                return self._bloque_de_codigo(nodo)
            case _ if isinstance(nodo, LISTAS):
                return self._lista(nodo)
            case nodes.table():
                return self._tabla(nodo)
            case nodes.Admonition() | nodes.block_quote():
                return self._recuadro(nodo)
            case nodes.transition():
                return "---"
        raise self.imposible(nodo, "no se sabe escribir en un cuaderno corriente")

    def _parrafo(self, nodo: nodes.Element) -> str:
        texto = self.en_linea(nodo).strip()
        if isinstance(nodo, nodes.title):
            if not isinstance(nodo.parent, nodes.section):
                return ""  # lo pone quien lo lleva
            hondo, padre = 0, nodo.parent
            while padre is not None:
                hondo, padre = hondo + isinstance(padre, nodes.section), padre.parent
            return f"{'#' * hondo} {texto}"
        if "refutacion" in nodo["classes"]:
            return _rodea("*", texto)
        return _AL_EMPEZAR.sub(r"\\\g<0>", re.sub(r"^(\d+)([.)] )", r"\1\\\2", texto))

    def _ecuacion(self, nodo: nodes.math_block) -> str:
        numero = self._numero("displaymath", nodo) if nodo["ids"] else ""
        formula = textwrap.dedent(nodo.astext().strip("\n")).strip()
        cuerpo = sin_macros(formula) + (f"\n\\tag{{{numero}}}" if numero else "")
        return f"$${en_una_linea(cuerpo)}$$" if self.citas else f"$$\n{cuerpo}\n$$"

    def _bloque_de_codigo(self, nodo: nodes.literal_block) -> str:
        lengua = nodo.get("language", "").replace("default", "").replace("none", "")
        valla = "`" * max(3, 1 + max(map(len, re.findall("`+", nodo.astext())), default=0))
        return f"{valla}{lengua}\n{nodo.astext().rstrip()}\n{valla}"

    def _lista(self, nodo: nodes.Element) -> str:
        puntos, desde = [], nodo.get("start", 1)
        for orden, punto in enumerate(nodo.children, desde):
            vineta = f"{orden}. " if isinstance(nodo, nodes.enumerated_list) else "- "
            dentro = self.texto(punto)
            if all(isinstance(x, LISTAS) for x in punto.children[1:]):
                dentro = dentro.replace("\n\n", "\n", 1)
            puntos.append(vineta + textwrap.indent(dentro, " " * len(vineta))[len(vineta) :])
        return ("\n\n" if any("\n\n" in punto for punto in puntos) else "\n").join(puntos)

    def _tabla(self, nodo: nodes.table) -> str:
        filas = [
            [self._casilla(casilla) for casilla in fila.children]
            for fila in nodo.findall(nodes.row)
        ]
        primera = next(nodo.findall(nodes.row))
        lados = {"text-left": ":--", "text-center": ":-:", "text-right": "--:"}
        clases = ("".join(casilla["classes"]) for casilla in primera.children)
        filas.insert(1, [lados.get(clase, "---") for clase in clases])
        texto = "\n".join(f"| {' | '.join(fila)} |" for fila in filas)
        titulos = [self.en_linea(x) for x in nodo.children if isinstance(x, nodes.title)]
        numero = f"{self._numero('table', nodo)}. " if nodo["ids"] else ""
        return f"**{numero}{titulos[0]}**\n\n{texto}" if titulos else texto

    def _casilla(self, nodo: nodes.entry) -> str:
        if any(not isinstance(hijo, nodes.paragraph) for hijo in nodo.children):
            raise self.imposible(nodo, "no cabe en una casilla de tabla")
        return " ".join(map(self.en_linea, nodo.children)).replace("|", "\\|")

    def _recuadro(self, nodo: nodes.Element) -> str:
        self.citas += 1
        titulo = ""
        if type(nodo) in NODE_TYPES.values():
            titulo = self._numero(nodo["countertype"], nodo)
        elif type(nodo).__name__ in admonitionlabels:
            titulo = str(admonitionlabels[type(nodo).__name__])
        titulo += "".join(self.en_linea(x) for x in nodo.children if isinstance(x, nodes.title))
        cuerpo = self.texto(nodo) + (" ∎" if "demostracion" in nodo["classes"] else "")
        self.citas -= 1
        texto = f"**{titulo}**\n\n{cuerpo}" if titulo else cuerpo
        return "\n".join(f"> {linea}".rstrip() for linea in texto.split("\n"))

    def _numero(self, tipo: str, nodo: nodes.Element) -> str:
        return rotulo(self.env, self.documento, tipo, nodo["ids"][0])

    # Dentro de una línea

    def en_linea(self, padre: nodes.Element) -> str:
        """Lo que lleva un párrafo o un título."""
        return "".join(map(self._pieza, padre.children))

    def _pieza(self, nodo: nodes.Node) -> str:
        match nodo:
            case nodes.Text():
                return sin_marcas(nodo.astext())
            case nodes.literal():
                return _codigo(nodo.astext())
            case nodes.math():
                return f"${en_una_linea(nodo.astext())}$"
            case nodes.reference() if "refuri" in nodo or "refid" in nodo:
                return f"[{self.en_linea(nodo)}]({self._destino(nodo)})"
            case nodes.emphasis() if "language-en" in nodo["classes"]:
                return f'<em lang="en">{html.escape(nodo.astext(), quote=False)}</em>'
            case nodes.emphasis():
                return _rodea("*", self.en_linea(nodo))
            case nodes.strong():
                return _rodea("**", self.en_linea(nodo))
            case nodes.inline():
                return self.en_linea(nodo)
            case _ if isinstance(nodo, SIN_TEXTO):
                return ""
        raise self.imposible(nodo, "no se sabe escribir en un cuaderno corriente")

    def _destino(self, nodo: nodes.reference) -> str:
        """A dónde lleva un enlace, entero; el de una cita, a la obra."""
        donde = nodo.get("refuri") or f"#{nodo['refid']}"
        obra = self.obras.get(donde.partition("#")[2])
        if obra and "bibtex-citation" in nodo.parent.get("classes", ()):
            doi, suya = obra.fields.get("doi"), obra.fields.get("url")
            donde = f"https://doi.org/{doi}" if doi else suya or donde
        return urljoin(self.url, donde)


def _al_resolver(app, documento: nodes.document, docname: str) -> None:
    """Deja los trozos de un capítulo, o por qué no se pueden escribir."""
    if app.builder.format != "html" or not tiene_celdas(app, docname):
        return
    fuente = Path(app.env.doc2path(docname)).read_bytes()
    escritor = Escritor(app.env, docname, direccion_publicada(app.config))
    dicho: dict = {"fuente": sha256(fuente).hexdigest(), "url": escritor.url}
    dicho["titulo"] = app.env.titles[docname].astext()
    try:
        dicho["trozos"] = escritor.pagina(documento)
    except CuadernoImposible as fallo:
        dicho["imposible"] = str(fallo)
    ruta = Path(app.doctreedir) / CARPETA / f"{docname}.json"
    ruta.parent.mkdir(parents=True, exist_ok=True)
    ruta.write_text(json.dumps(dicho, ensure_ascii=False), encoding="utf-8")


def setup(app) -> None:
    """Escribe cada página cuando ya está todo resuelto."""
    app.connect("doctree-resolved", _al_resolver, priority=950)
