"""Lectura de los capítulos en MyST: qué línea es prosa, qué es código y qué directiva la contiene.

No sustituye a MyST-Parser: sirve para poner reglas al texto con su número de línea. Una línea de cierre cierra aquí la
valla más interior a la que le valga, como espera quien escribe; MyST cierra la más exterior, y por eso hay una regla
aparte que pide menos marcas dentro que fuera.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

RAIZ = Path(__file__).resolve().parents[2]
LIBRO = RAIZ / "book"

LITERALES = {"code-cell", "code", "code-block", "math", "fuente", "bibliography", "toctree", "raw", "mapa-temario",
             "mapa-refutaciones", "eval-rst", "literalinclude", "autofunction", "autoclass", "automodule",
             "currentmodule", "tableofcontents", "mermaid", "glue", "image", "csv-table", "include", "mapa-libro",
             "semanas"}
ARGUMENTO_CON_TEXTO = {"exercise", "admonition", "dropdown", "respuesta", "solution", "a-fondo"}
OPCIONES_CON_TEXTO = {"requisitos", "alt", "caption", "comprueba"}

_VALLA = re.compile(r"^\s*(`{3,}|:{3,}|~{3,})\s*(?:\{([^}]+)\}\s*(.*?)|([\w.+-]*))\s*$")
_OPCION = re.compile(r"^\s*:([\w-]+):\s*(.*)$")


@dataclass
class Directiva:
    """Una valla: su nombre, lo que lleva en la primera línea, sus opciones y su cuerpo."""

    nombre: str
    argumento: str
    linea: int
    marca: str
    padre: Directiva | None = None
    opciones: dict[str, str] = field(default_factory=dict)
    cuerpo: list[str] = field(default_factory=list)
    fin: int = 0

    def dentro_de(self, *nombres: str) -> bool:
        """Dice si esta directiva o alguna que la contiene se llama así."""
        return self.nombre in nombres or (self.padre is not None and self.padre.dentro_de(*nombres))


@dataclass
class Linea:
    """Una línea del fichero con su papel: prosa, titulo, codigo, mates, opcion, etiqueta, valla o vacia."""

    numero: int
    texto: str
    clase: str
    directiva: Directiva | None = None


@dataclass
class Celda:
    """Una celda de código."""

    linea: int
    codigo: list[str]
    etiquetas: list[str]
    comprueba: str = ""

    @property
    def visible(self) -> bool:
        """Dice si su código se ve sin abrir nada."""
        return not {"comprobacion", "dibujo", "hide-input", "hide-cell", "remove-input"} & set(self.etiquetas)


@dataclass
class Documento:
    """Un fichero MyST leído línea a línea."""

    lineas: list[Linea]
    directivas: list[Directiva]
    vallas_sueltas: list[int]
    celdas: list[Celda] = field(default_factory=list)

    def prosa(self, *, titulos: bool = True, opciones: bool = True) -> list[Linea]:
        """Líneas que se leen como texto."""
        clases = {"prosa"} | ({"titulo"} if titulos else set()) | ({"opcion"} if opciones else set())
        return [linea for linea in self.lineas if linea.clase in clases]

    def llamadas(self, nombre: str) -> list[Directiva]:
        """Directivas con ese nombre."""
        return [d for d in self.directivas if d.nombre == nombre]

    def secciones(self) -> list[tuple[int, str, int]]:
        """Títulos fuera de directivas: (nivel, texto, línea)."""
        return [(len(x.texto) - len(x.texto.lstrip("#")), x.texto.lstrip("# ").strip(), x.numero)
                for x in self.lineas if x.clase == "titulo" and x.directiva is None and x.texto.startswith("#")]

    def a_fondo(self) -> list[tuple[int, int]]:
        """Primera y última línea de cada parte plegada, con cuerpo o entre marcas; sin cierre, hasta el final."""
        tramos, abierta = [], 0
        for d in self.directivas:
            if d.nombre == "a-fondo" and any(x.strip() for x in d.cuerpo):
                tramos.append((d.linea, d.fin))
            elif d.nombre == "a-fondo":
                abierta = abierta or d.linea
            elif d.nombre == "fin-a-fondo" and abierta:
                tramos.append((abierta, d.linea))
                abierta = 0
        return tramos + ([(abierta, len(self.lineas))] if abierta else [])

    def tramo(self, titulo: str, nivel: int = 2) -> tuple[int, int]:
        """Primera y última línea de la sección cuyo título empieza así; (0, 0) si no está."""
        inicio = 0
        for n, texto, linea in self.secciones():
            if inicio and n <= nivel:
                return inicio, linea - 1
            if not inicio and n == nivel and texto.startswith(titulo):
                inicio = linea
        return (inicio, len(self.lineas)) if inicio else (0, 0)


def _clase_fuera(texto: str) -> str:
    """Papel de una línea que no está en código ni en fórmula."""
    pelada = texto.strip()
    if not pelada:
        return "vacia"
    if re.fullmatch(r"\([^()\s]+\)=", pelada):
        return "etiqueta"
    if pelada.startswith("%") or pelada == "+++" or pelada.startswith("+++ {"):
        return "vacia"
    if re.match(r"^#{1,6} ", texto):
        return "titulo"
    return "prosa"


@dataclass
class _Estado:
    """Lo que se sabe mientras se recorre el fichero."""

    doc: Documento
    pila: list[Directiva] = field(default_factory=list)
    formula: bool = False
    opciones: bool = False


def _cierra(estado: _Estado, marca: str, numero: int) -> bool:
    """Cierra la valla más interior que admita esta marca; dice si había alguna."""
    for i in reversed(range(len(estado.pila))):
        abierta = estado.pila[i]
        if abierta.marca[0] == marca[0] and len(marca) >= len(abierta.marca):
            for d in estado.pila[i:]:
                d.fin = numero
            del estado.pila[i:]
            return True
    return False


def _abre(estado: _Estado, valla: re.Match[str], numero: int) -> None:
    """Abre una directiva y la anota."""
    marca, nombre, argumento, lenguaje = valla.groups()
    padre = estado.pila[-1] if estado.pila else None
    nueva = Directiva((nombre or "code").strip(), (argumento or lenguaje or "").strip(), numero, marca, padre)
    estado.pila.append(nueva)
    estado.doc.directivas.append(nueva)
    estado.opciones = True


def _es_literal(estado: _Estado) -> bool:
    return bool(estado.pila) and estado.pila[-1].nombre in LITERALES


def _trata(estado: _Estado, numero: int, texto: str) -> Linea:
    """Clasifica una línea y actualiza el estado."""
    valla = _VALLA.match(texto)
    if valla and not valla[2] and not valla[4] and _cierra(estado, valla[1], numero):
        estado.opciones = False
        return Linea(numero, texto, "valla", estado.pila[-1] if estado.pila else None)
    if valla and not _es_literal(estado):
        if not valla[2] and not valla[4] and valla[1][0] == ":":
            estado.doc.vallas_sueltas.append(numero)
        _abre(estado, valla, numero)
        actual = estado.pila[-1]
        con_texto = actual.nombre in ARGUMENTO_CON_TEXTO or actual.nombre.startswith("prf:")
        return Linea(numero, actual.argumento if con_texto else texto, "titulo" if con_texto else "valla", actual)
    actual = estado.pila[-1] if estado.pila else None
    if actual is not None and estado.opciones:
        opcion = _OPCION.match(texto)
        if opcion:
            actual.opciones[opcion[1]] = opcion[2]
            clase = "opcion" if opcion[1] in OPCIONES_CON_TEXTO else "valla"
            return Linea(numero, opcion[2].strip("\"'") if clase == "opcion" else opcion[2], clase, actual)
        estado.opciones = False
    for d in estado.pila:
        d.cuerpo.append(texto)
    if _es_literal(estado):
        return Linea(numero, texto, "mates" if actual.nombre == "math" else "codigo", actual)
    if texto.strip().startswith("$$") or (estado.formula and texto.strip().endswith("$$")):
        if texto.count("$$") == 1:
            estado.formula = not estado.formula
        return Linea(numero, texto, "mates", actual)
    return Linea(numero, texto, "mates" if estado.formula else _clase_fuera(texto), actual)


@lru_cache(maxsize=256)
def analiza(texto: str) -> Documento:
    """Lee un fichero MyST entero."""
    estado = _Estado(Documento([], [], []))
    cabecera = 0
    renglones = texto.split("\n")
    if renglones and renglones[0].strip() == "---":
        cabecera = next((i for i, r in enumerate(renglones[1:], 1) if r.strip() == "---"), 0)
    for i, renglon in enumerate(renglones):
        if cabecera and i <= cabecera:
            estado.doc.lineas.append(Linea(i + 1, renglon, "vacia"))
        else:
            estado.doc.lineas.append(_trata(estado, i + 1, renglon))
    for d in estado.doc.llamadas("code-cell"):
        etiquetas = re.findall(r"[\w-]+", d.opciones.get("tags", ""))
        comprueba = d.opciones.get("comprueba", "").strip("\"'")
        estado.doc.celdas.append(Celda(d.linea, [x for x in d.cuerpo if x.strip()], etiquetas, comprueba))
    return estado.doc


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


def lee(ruta: Path) -> Documento:
    """Lee un fichero MyST del disco."""
    return analiza(ruta.read_text(encoding="utf-8"))


def paginas() -> list[Path]:
    """Todos los ficheros MyST del libro."""
    fuera = {"_build", "_ext", "_static", "_templates", "locale", "extra", "datos"}
    return sorted(p for p in LIBRO.rglob("*.md") if not fuera & set(p.relative_to(LIBRO).parts))


def es_capitulo(ruta: Path) -> bool:
    """Dice si un fichero es un capítulo numerado."""
    return bool(re.match(r"\d\d-", ruta.name)) and bool(re.match(r"[1-9]-", ruta.parent.name))


def numero_de(ruta: Path) -> int:
    """Número del capítulo; 0 si es un preliminar."""
    return int(ruta.name[:2]) if es_capitulo(ruta) else 0


def capitulos() -> list[Path]:
    """Los capítulos numerados que hay en el árbol."""
    return [p for p in paginas() if es_capitulo(p)]


def publicados() -> dict[int, list[Path]]:
    """Capítulos que están en el índice del libro y tienen fichero; el 0 son los preliminares."""
    indice = (LIBRO / "_toc.yml").read_text(encoding="utf-8") if (LIBRO / "_toc.yml").is_file() else ""
    salida: dict[int, list[Path]] = {}
    for nombre in re.findall(r"file:\s*(\S+)", indice):
        ruta = LIBRO / f"{nombre}.md"
        if ruta.is_file() and (es_capitulo(ruta) or ruta.parent.name.startswith("0-")):
            salida.setdefault(numero_de(ruta), []).append(ruta)
    return salida


def relativa(ruta: Path) -> str:
    """Ruta desde la raíz del repositorio, para los mensajes."""
    try:
        return str(ruta.relative_to(RAIZ))
    except ValueError:
        return ruta.name


def informe(faltas: list[str]) -> str:
    """Las faltas, una por línea, para el mensaje de un ``assert``."""
    return f"{len(faltas)} falta(s):\n" + "\n".join(faltas)


def etiquetas_de(texto: str) -> set[str]:
    """Etiquetas que define un fichero: anclas, opciones ``label``/``name`` y figuras."""
    doc = analiza(texto)
    anclas = set(re.findall(r"^\s*\(([^()\s]+)\)=\s*$", texto, re.M))
    opciones = {d.opciones[k] for d in doc.directivas for k in ("label", "name") if d.opciones.get(k)}
    figuras = {d.argumento for d in doc.llamadas("figura") if d.argumento}
    return anclas | opciones | figuras
