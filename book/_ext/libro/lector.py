"""El único lector de MyST del libro: qué línea es prosa, qué es código y qué directiva la contiene.

Lee con markdown-it y las mismas extensiones que MyST-Parser; encima solo pone números de línea. Lo
usan la extensión, las órdenes y las reglas de la casa. No importa Sphinx.

``analiza`` da las líneas, las directivas y las celdas de una página.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.front_matter import front_matter_plugin
from mdit_py_plugins.myst_blocks import myst_block_plugin

LITERALES = {
    "code-cell",
    "code",
    "code-block",
    "sourcecode",
    "math",
    "fuente",
    "bibliography",
    "toctree",
    "raw",
    "mapa-temario",
    "mapa-refutaciones",
    "soluciones",
    "eval-rst",
    "literalinclude",
    "autofunction",
    "autoclass",
    "automodule",
    "currentmodule",
    "tableofcontents",
    "mermaid",
    "glue",
    "image",
    "csv-table",
    "include",
    "mapa-libro",
    "semanas",
}
ARGUMENTO_CON_TEXTO = {"exercise", "admonition", "dropdown", "respuesta", "solution", "a-fondo"}
OPCIONES_CON_TEXTO = {"requisitos", "alt", "caption", "comprueba"}
OCULTAS = {"comprobacion", "dibujo", "hide-input", "hide-cell", "remove-input", "remove-cell"}
MARCADA = "a-fondo"


def markdown() -> MarkdownIt:
    """Un analizador con las extensiones de MyST que usa el libro."""
    return (
        MarkdownIt("commonmark")
        .enable("table")
        .use(front_matter_plugin)
        .use(colon_fence_plugin)
        .use(myst_block_plugin)
        .use(dollarmath_plugin, allow_labels=True)
        .use(amsmath_plugin)
    )


MD = markdown()
_OPCION = re.compile(r":([\w-]+):(?:\s+(.*))?$")
_INFO = re.compile(r"\{([^}\s]+)\}\s*(.*)")


@dataclass(eq=False)
class Directiva:
    """Una valla: su nombre, lo que lleva en la primera línea, sus opciones y su cuerpo.

    ``linea`` y ``fin`` son sus líneas primera y última (``fin`` es 0 si no se cierra); ``desde``,
    la primera del cuerpo.
    """

    nombre: str
    argumento: str
    linea: int
    marca: str
    padre: Directiva | None = None
    opciones: dict[str, str] = field(default_factory=dict)
    cuerpo: list[str] = field(default_factory=list)
    desde: int = 0
    fin: int = 0
    a_fondo: bool = False

    @classmethod
    def de(cls, token: Token, linea: int = 1, padre: Directiva | None = None) -> Directiva | None:
        """La directiva de una valla, o ``None`` si es un bloque de código corriente."""
        encaje = _INFO.fullmatch(token.info.strip())
        if token.type not in ("fence", "colon_fence") or not encaje:
            return None
        nueva = cls(encaje[1], encaje[2].strip(), linea, token.markup, padre)
        nueva.opciones, nueva.cuerpo = _opciones(token.content.split("\n")[:-1])
        nueva.desde = linea + token.content.count("\n") - len(nueva.cuerpo) + 1
        return nueva

    @property
    def contenido(self) -> str:
        """El cuerpo, sin las líneas en blanco de los extremos."""
        return "\n".join(self.cuerpo).strip("\n")

    @property
    def etiqueta(self) -> str:
        """La etiqueta con la que se cita, o cadena vacía."""
        if self.nombre == "figura":
            return self.argumento
        return self.opciones.get("label") or self.opciones.get("name", "")

    def dentro_de(self, *nombres: str) -> bool:
        """Dice si esta directiva o alguna que la contiene se llama así."""
        return self.nombre in nombres or (self.padre is not None and self.padre.dentro_de(*nombres))


def _opciones(lineas: list[str]) -> tuple[dict[str, str], list[str]]:
    """Las opciones con que empieza una directiva y las líneas que quedan."""
    opciones: dict[str, str] = {}
    if lineas and lineas[0].strip() == "---":
        fin = next((i for i, x in enumerate(lineas[1:], 1) if x.strip() == "---"), len(lineas))
        leidas = yaml.safe_load("\n".join(lineas[1:fin])) or {}
        opciones = {clave: "" if valor is None else str(valor) for clave, valor in leidas.items()}
        lineas = lineas[fin + 1 :]
    while lineas and (opcion := _OPCION.match(lineas[0].strip())):
        opciones[opcion[1]] = (opcion[2] or "").strip()
        lineas = lineas[1:]
    return opciones, lineas


@dataclass
class Linea:
    """Una línea con su papel en ``clase``: prosa, título, código, fórmula, opción, etiqueta, valla
    o nada.
    """

    numero: int
    texto: str
    clase: str
    directiva: Directiva | None = None
    a_fondo: bool = False


@dataclass
class Celda:
    """Una celda de código."""

    linea: int
    codigo: list[str]
    etiquetas: list[str]
    opciones: dict[str, str] = field(default_factory=dict)
    a_fondo: bool = False

    @property
    def visible(self) -> bool:
        """Si se ve su código donde está, sin desplegar la celda («A fondo» se mira aparte)."""
        return not OCULTAS & set(self.etiquetas)

    @property
    def comprueba(self) -> str:
        """La línea que dice qué se ha comprobado, o cadena vacía."""
        return self.opciones.get("comprueba", "").strip("\"'")


@dataclass
class Documento:
    """Una página MyST leída línea a línea."""

    lineas: list[Linea]
    directivas: list[Directiva] = field(default_factory=list)
    vallas_sueltas: list[int] = field(default_factory=list)
    celdas: list[Celda] = field(default_factory=list)

    def prosa(self, *, titulos: bool = True, opciones: bool = True) -> list[Linea]:
        """Líneas que se leen como texto."""
        clases = (
            {"prosa"} | ({"titulo"} if titulos else set()) | ({"opcion"} if opciones else set())
        )
        return [linea for linea in self.lineas if linea.clase in clases]

    def palabras(self, *, a_fondo: bool = False) -> int:
        """Palabras de la línea principal o, si se pide, de lo que va plegado en «A fondo»."""
        lineas = (x for x in self.prosa() if x.a_fondo == a_fondo)
        return sum(len(re.findall(r"\w+", limpia(x.texto))) for x in lineas)

    def llamadas(self, nombre: str) -> list[Directiva]:
        """Directivas con ese nombre."""
        return [d for d in self.directivas if d.nombre == nombre]

    def secciones(self) -> list[tuple[int, str, int]]:
        """Títulos fuera de directivas: (nivel, texto, línea)."""
        return [
            (len(x.texto) - len(x.texto.lstrip("#")), x.texto.lstrip("# ").strip(), x.numero)
            for x in self.lineas
            if x.clase == "titulo" and x.directiva is None and x.texto.startswith("#")
        ]

    def tramos_a_fondo(self) -> list[tuple[int, int]]:
        """Primera y última línea de cada tramo seguido de «A fondo»."""
        numeros = [x.numero for x in self.lineas if x.a_fondo]
        cortes = [n for n in numeros if n - 1 not in set(numeros)]
        return [
            (c, next(n for n in numeros if n >= c and n + 1 not in set(numeros))) for c in cortes
        ]

    def tramo(self, titulo: str, nivel: int = 2) -> tuple[int, int]:
        """Primera y última línea de la sección cuyo título empieza así; (0, 0) si no está."""
        inicio = 0
        for n, texto, linea in self.secciones():
            if inicio and n <= nivel:
                return inicio, linea - 1
            if not inicio and n == nivel and texto.startswith(titulo):
                inicio = linea
        return (inicio, len(self.lineas)) if inicio else (0, 0)


# --- De los bloques a las líneas ------------------------------------------------------------------


def _clase_fuera(texto: str) -> str:
    """Papel de una línea que no está en código, en una fórmula ni en una valla."""
    pelada = texto.strip()
    if not pelada or pelada.startswith("%") or pelada == "+++" or pelada.startswith("+++ {"):
        return "vacia"
    if re.fullmatch(r"\([^()\s]+\)=", pelada):
        return "etiqueta"
    return "titulo" if re.match(r"#{1,6} ", texto) else "prosa"


class _Lectura:
    """Recorre los bloques de una página y reparte papeles a sus líneas."""

    def __init__(self, texto: str) -> None:
        renglones = texto.split("\n")
        self.doc = Documento([Linea(i, x, _clase_fuera(x)) for i, x in enumerate(renglones, 1)])

    def recorre(self, texto: str, antes: int = 0, padre: Directiva | None = None) -> None:
        """Trata los bloques de ``texto``, que empieza tras la línea ``antes`` de la página."""
        for token in MD.parse(texto):
            if token.map is None:
                continue
            primera, ultima = antes + token.map[0] + 1, antes + token.map[1]
            if token.type in ("fence", "colon_fence"):
                self._valla(token, primera, ultima, padre)
            elif token.type in ("math_block", "math_block_label", "amsmath"):
                self._pinta(primera, ultima, "mates", padre)
            elif token.type == "code_block":
                self._pinta(primera, ultima, "codigo", padre)
            elif token.type == "front_matter":
                self._pinta(primera, ultima, "vacia", padre)

    def _pinta(self, primera: int, ultima: int, clase: str, directiva: Directiva | None) -> None:
        for linea in self.doc.lineas[primera - 1 : ultima]:
            linea.clase, linea.directiva = clase, directiva

    def _valla(self, token: Token, primera: int, ultima: int, padre: Directiva | None) -> None:
        directiva = Directiva.de(token, primera, padre)
        if directiva is None:
            directiva = Directiva("code", token.info.strip(), primera, token.markup, padre)
            directiva.cuerpo, directiva.desde = token.content.split("\n")[:-1], primera + 1
            if token.type == "colon_fence" and not token.info.strip():
                self.doc.vallas_sueltas.append(primera)
        cerrada = ultima - primera == token.content.count("\n") + 1
        directiva.fin = ultima if cerrada else 0
        self.doc.directivas.append(directiva)
        fin_del_cuerpo = directiva.desde + len(directiva.cuerpo) - 1
        self._pinta(primera, ultima, "valla", directiva)
        if ultima > fin_del_cuerpo:
            self._pinta(ultima, ultima, "valla", padre)
        self._cabecera(directiva)
        if directiva.nombre in LITERALES:
            clase = "mates" if directiva.nombre == "math" else "codigo"
            self._pinta(directiva.desde, fin_del_cuerpo, clase, directiva)
            return
        for linea in self.doc.lineas[directiva.desde - 1 : fin_del_cuerpo]:
            linea.clase, linea.directiva = _clase_fuera(linea.texto), directiva
        self.recorre("\n".join(directiva.cuerpo) + "\n", directiva.desde - 1, directiva)

    def _cabecera(self, directiva: Directiva) -> None:
        """El título de una directiva y las opciones que se leen."""
        apertura = self.doc.lineas[directiva.linea - 1]
        apertura.clase, apertura.directiva = "valla", directiva
        if directiva.nombre in ARGUMENTO_CON_TEXTO or directiva.nombre.startswith("prf:"):
            apertura.clase, apertura.texto = "titulo", directiva.argumento
        for linea in self.doc.lineas[directiva.linea : directiva.desde - 1]:
            opcion = _OPCION.match(linea.texto.strip())
            if opcion:
                linea.texto = (opcion[2] or "").strip("\"'")
                linea.clase = "opcion" if opcion[1] in OPCIONES_CON_TEXTO else "valla"

    def marca_a_fondo(self) -> None:
        """Señala lo que queda plegado: el cuerpo de ``a-fondo`` o lo que va de una marca a la
        otra."""
        tramos, abierta = [], 0
        for d in self.doc.directivas:
            if d.nombre == MARCADA and d.contenido:
                tramos.append((d.linea, d.fin))
            elif d.nombre == MARCADA:
                abierta = d.linea
            elif d.nombre == f"fin-{MARCADA}" and abierta:
                tramos.append((abierta, d.fin))
                abierta = 0
        for primera, ultima in tramos:
            for linea in self.doc.lineas[primera - 1 : ultima]:
                linea.a_fondo = True
        for directiva in self.doc.directivas:
            directiva.a_fondo = self.doc.lineas[directiva.linea - 1].a_fondo


@lru_cache(maxsize=256)
def analiza(texto: str) -> Documento:
    """Lee una página MyST entera."""
    lectura = _Lectura(texto)
    lectura.recorre(texto)
    lectura.marca_a_fondo()
    doc = lectura.doc
    for d in doc.llamadas("code-cell"):
        etiquetas = re.findall(r"[\w-]+", d.opciones.get("tags", ""))
        codigo = [x for x in d.cuerpo if x.strip()]
        doc.celdas.append(Celda(d.linea, codigo, etiquetas, d.opciones, d.a_fondo))
    return doc


# --- Vallas y texto -------------------------------------------------------------------------------


def vallas_mal_anidadas(texto: str) -> list[tuple[int, str]]:
    """Líneas donde una directiva ``:::`` se abre dentro de otra que no tiene más dos puntos que
    ella.

    MyST cerraría la de fuera con el primer ``:::`` y el resto del capítulo quedaría dentro de un
    recuadro. Aquí no vale leer como MyST: se busca lo que quiso decir quien escribe.

    >>> vallas_mal_anidadas(":::{repaso}\\n:::{respuesta}\\nSí.\\n:::\\n:::")
    [(2, 'respuesta')]
    """
    abiertas: list[int] = []
    faltas, codigo = [], ""
    for numero, linea in enumerate(texto.splitlines(), 1):
        valla = re.match(r"\s*(`{3,}|~{3,})", linea)
        if valla and not codigo:
            codigo = valla[1]
        elif codigo:
            if re.fullmatch(rf"\s*{codigo[0]}{{{len(codigo)},}}\s*", linea):
                codigo = ""
            continue
        puntos = re.match(r"\s*(:{3,})\s*(?:\{([\w:-]+)\})?", linea)
        if not puntos:
            continue
        largo = len(puntos[1])
        if puntos[2]:
            if abiertas and largo >= abiertas[-1]:
                faltas.append((numero, puntos[2]))
            abiertas.append(largo)
        elif abiertas:
            abiertas.pop()
    return faltas


_SUSTITUCIONES: list[tuple[re.Pattern[str], str]] = [
    (re.compile(r"<!--.*?-->"), " "),
    (re.compile(r"\{(?:term|ref|doc|numref|download|prf:ref)\}`([^`<]*?)\s*<[^`>]*>`"), r"\1"),
    (re.compile(r"\{term\}`([^`]*)`"), r"\1"),
    (re.compile(r"\{[\w:.+-]+\}`[^`]*`"), " "),
    (re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)"), " "),
    (re.compile(r"(?<!\\)\$\$?[^$]*\$\$?"), " "),
    (re.compile(r"!?\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"\[\^?[\w-]+\]:?"), " "),
    (re.compile(r"https?://\S+|\b[\w.-]+@[\w.-]+\.\w+"), " "),
    (re.compile(r"</?[a-zA-Z][^>]*>"), " "),
    (re.compile(r"\{[.#][^}]*\}"), " "),
]


def limpia(texto: str) -> str:
    """Quita de una línea código, fórmulas, roles, enlaces y marcas; deja solo lo que se lee."""
    for patron, cambio in _SUSTITUCIONES:
        texto = patron.sub(cambio, texto)
    return re.sub(r"[*_#|\\]+", " ", texto)
