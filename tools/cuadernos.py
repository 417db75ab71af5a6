"""Los capítulos como cuadernos corrientes, para descargarlos y abrirlos en Jupyter, VS Code o Colab.

    python tools/cuadernos.py [--salida CARPETA]

El texto sale en Markdown sin directivas ni roles de MyST: recuadros, ecuaciones, citas y referencias se escriben con
lo que cualquier programa entiende, y los enlaces llevan al libro publicado. El código es el del capítulo, sin salidas,
detrás de una celda que instala la biblioteca si falta.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import posixpath
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import nbformat
import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.front_matter import front_matter_plugin
from mdit_py_plugins.myst_blocks import myst_block_plugin
from myst_nb.ext.glue import extract_glue_data_cell
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from pybtex.database import Entry, parse_file
from sphinx.util.nodes import _make_id as ancla

from capitulos import CONSTRUIDO, LIBRO, Capitulo, abre_cache, capitulos, documentos

# isort: split
# capitulos.py ya ha puesto book/_ext en la ruta.
from libro.citas import Y
from libro.didactica import _buscar, _sin_docstring
from libro.ejercicios import DIFICULTAD, TIPO
from libro.numeracion import capitulo as numero_de_capitulo
from libro.sitio import MACROS

RECUADROS = {
    "note": "Nota", "tip": "Consejo", "hint": "Pista", "important": "Importante", "warning": "Aviso",
    "caution": "Precaución", "attention": "Atención", "danger": "Peligro", "error": "Error", "seealso": "Véase también",
    "admonition": "", "margin": "", "sidebar": "", "topic": "", "epigraph": "", "tab-item": "",
    "objetivos": "Qué aprenderás", "prediccion": "Predice antes de seguir", "repaso": "Repaso",
}  # fmt: skip
PLEGADOS = {"respuesta": "Ver la respuesta", "dropdown": "Ver más", "toggle": "Ver más", "solution": "Solución"}
ENUNCIADOS = {
    "theorem": "Teorema", "lemma": "Lema", "corollary": "Corolario", "proposition": "Proposición",
    "definition": "Definición", "algorithm": "Algoritmo", "remark": "Observación", "example": "Ejemplo",
    "property": "Propiedad", "assumption": "Supuesto", "conjecture": "Conjetura", "axiom": "Axioma",
    "criterion": "Criterio", "observation": "Observación",
}  # fmt: skip
ENVOLTORIOS = ("div", "container", "tab-set", "grid", "grid-item", "only")
LITERALES = ("code", "code-block", "sourcecode", "fuente", "math", "raw")
INSTALA = '''\
# Si falta la biblioteca del libro (por ejemplo, en Colab), se instala; lo que ya está no se toca.
try:
    import atento  # noqa: F401
except ImportError:
    %pip install -q "atento @ git+{repositorio}@{rama}"'''


class CuadernoImposible(ValueError):
    """Algo del capítulo no se puede decir en un cuaderno corriente; el mensaje dice qué."""


# --- Leer MyST -------------------------------------------------------------------------------------------------------

_MD = (
    MarkdownIt("commonmark")
    .enable("table")
    .use(front_matter_plugin)
    .use(colon_fence_plugin)
    .use(myst_block_plugin)
    .use(dollarmath_plugin, allow_labels=True)
    .use(amsmath_plugin)
)
_EN_LINEA = re.compile(
    r"\{(?P<rol>[a-z][\w:.-]*)\}(?P<t>`+)(?P<arg>.+?)(?<!`)(?P=t)(?!`)"
    r"|(?P<c>`+)(?!`).+?(?<!`)(?P=c)(?!`)"
    r"|(?<!\\)\$(?P<mates>[^$]+?)(?<!\\)\$"
    r"|\]\((?P<enlace>[^)\s]+)\)",
    re.DOTALL,
)
_MACRO = re.compile(rf"\\({'|'.join(sorted(MACROS, key=len, reverse=True))})(?![A-Za-z])")


@dataclass(frozen=True)
class Directiva:
    """Una directiva: nombre, lo que lleva en su línea, sus opciones y su contenido."""

    nombre: str
    argumento: str
    opciones: dict[str, str]
    contenido: str

    @classmethod
    def de(cls, token: Token) -> Directiva | None:
        """La directiva de una valla, o ``None`` si es un bloque de código corriente."""
        encaje = re.fullmatch(r"\{([^}\s]+)\}\s*(.*)", token.info.strip())
        if token.type not in ("fence", "colon_fence") or not encaje:
            return None
        opciones, lineas = {}, token.content.split("\n")
        if lineas[0].strip() == "---":
            fin = next(i for i, linea in enumerate(lineas[1:], 1) if linea.strip() == "---")
            leidas = yaml.safe_load("\n".join(lineas[1:fin])) or {}
            opciones = {clave: "" if valor is None else str(valor) for clave, valor in leidas.items()}
            lineas = lineas[fin + 1 :]
        while lineas and (opcion := re.match(r":([\w-]+):(?:\s+(.*))?$", lineas[0])):
            opciones[opcion[1]] = (opcion[2] or "").strip()
            lineas.pop(0)
        return cls(encaje[1], encaje[2].strip(), opciones, "\n".join(lineas).strip("\n"))

    @property
    def etiqueta(self) -> str:
        """La etiqueta con la que se cita, o cadena vacía."""
        if self.nombre == "figura":
            return self.argumento
        return self.opciones.get("label") or self.opciones.get("name", "")


def sin_macros(formula: str) -> str:
    """LaTeX corriente: las macros del libro, desarrolladas y sin clases de color.

    >>> sin_macros(r"\\Q \\K^\\T")
    'Q K^{\\\\mathsf T}'
    """

    def desarrollada(macro: re.Match[str]) -> str:
        letra = re.fullmatch(r"\\class\{\w\}\{(\w)\}", MACROS[macro[1]])
        if not letra:
            return MACROS[macro[1]]
        return f"{{{letra[1]}}}" if formula[macro.start() - 1 : macro.start()].isalpha() else letra[1]

    return _MACRO.sub(desarrollada, formula)


# --- Lo que un capítulo puede citar ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Destino:
    """Algo que se puede citar: en qué página está, con qué ancla, cómo se titula y qué número lleva."""

    documento: str
    ancla: str = ""
    titulo: str = ""
    clase: str = ""
    numero: str = ""

    @property
    def rotulo(self) -> str:
        """«Figura 4.1», «(4.2)», «Teorema 4.1»."""
        if self.clase == "Ecuación":
            return f"({self.numero})"
        return f"{self.clase} {self.numero}".strip()


@dataclass
class Libro:
    """El libro entero: direcciones, referencias y todo lo que tiene etiqueta."""

    ruta: Path = LIBRO
    destinos: dict[str, Destino] = field(default_factory=dict)
    titulos: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._cuenta: Counter[tuple[int | None, str]] = Counter()
        for documento in documentos(self.ruta):
            fichero = self.ruta / f"{documento}.md"
            if fichero.exists():
                self._apunta(documento, fichero.read_text(encoding="utf-8"), [])

    @cached_property
    def configuracion(self) -> dict:
        """Lo que dice ``_config.yml``."""
        return yaml.safe_load((self.ruta / "_config.yml").read_text(encoding="utf-8"))

    @property
    def repositorio(self) -> str:
        """Dirección del repositorio."""
        return self.configuracion["repository"]["url"].rstrip("/")

    @property
    def rama(self) -> str:
        """Rama de la que se instala."""
        return self.configuracion["repository"].get("branch", "main")

    @property
    def sitio(self) -> str:
        """Dirección de las páginas: ``html_baseurl`` o, si está vacía, la de GitHub Pages del repositorio."""
        elegido = self.configuracion.get("sphinx", {}).get("config", {}).get("html_baseurl")
        cuenta, proyecto = self.repositorio.split("/")[-2:]
        return (elegido or f"https://{cuenta}.github.io/{proyecto}").rstrip("/")

    def url(self, documento: str, ancla: str = "") -> str:
        """Dirección publicada de una página."""
        return f"{self.sitio}/{documento}.html" + (f"#{ancla}" if ancla else "")

    @cached_property
    def referencias(self) -> dict[str, Entry]:
        """Las entradas de la bibliografía."""
        return dict(parse_file(str(self.ruta / "references.bib"), bib_format="bibtex").entries)

    def _apunta(self, documento: str, texto: str, secciones: list[int]) -> None:
        pendientes: list[str] = []
        tokens = _MD.parse(texto)
        for i, token in enumerate(tokens):
            if token.type == "myst_target":
                pendientes.append(token.content)
            elif token.type == "heading_open":
                self._titulo(documento, int(token.tag[1]), tokens[i + 1].content, pendientes, secciones)
                pendientes = []
            elif token.type == "math_block_label":
                self._numera(documento, "Ecuación", token.info, "")
            elif directiva := Directiva.de(token):
                for etiqueta in pendientes:
                    self.destinos[etiqueta] = Destino(documento, ancla(etiqueta))
                pendientes = []
                self._directiva(documento, directiva, secciones)

    def _titulo(self, documento: str, nivel: int, texto: str, etiquetas: list[str], secciones: list[int]) -> None:
        capitulo = numero_de_capitulo(documento)
        titulo = re.sub(r"\s*\{refutacion\}`[^`]*`", "", texto)
        marca = re.search(r"\{refutacion\}`([^`]*)`", texto)
        numero = ""
        if nivel == 1:
            self.titulos.setdefault(documento, titulo)
            numero = str(capitulo or "")
        elif nivel == 2:
            secciones.append(1)
            numero = f"{capitulo}.{len(secciones)}" if capitulo is not None else ""
        for etiqueta in etiquetas:
            clase = "Capítulo" if nivel == 1 else "Sección"
            self.destinos[etiqueta] = Destino(documento, ancla(etiqueta), titulo, clase, numero)
        if marca:
            self.destinos[f"err-{marca[1]}".lower()] = Destino(documento, f"err-{marca[1]}", titulo)

    def _directiva(self, documento: str, directiva: Directiva, secciones: list[int]) -> None:
        nombre = directiva.nombre.removeprefix("prf:")
        if directiva.nombre == "math":
            self._numera(documento, "Ecuación", directiva.etiqueta, "")
        elif directiva.nombre in ("figura", "figure"):
            self._numera(documento, "Figura", directiva.etiqueta, "")
        elif directiva.nombre in ("table", "list-table") and directiva.etiqueta:
            self._numera(documento, "Tabla", directiva.etiqueta, directiva.argumento)
        elif directiva.nombre == "exercise":
            encaje = re.fullmatch(r"(ej|ra)-(\d+)-(\d+)", directiva.etiqueta)
            clase = "Razonamiento" if encaje and encaje[1] == "ra" else "Ejercicio"
            numero = f"{encaje[2]}.{encaje[3]}" if encaje else ""
            self.destinos[directiva.etiqueta] = Destino(
                documento, ancla(directiva.etiqueta), f"{clase} {numero}", clase, numero
            )
        elif nombre in ENUNCIADOS and "nonumber" not in directiva.opciones:
            self._numera(documento, ENUNCIADOS[nombre], directiva.etiqueta, directiva.argumento)
        if directiva.nombre not in (*LITERALES, "code-cell", "figura"):
            self._apunta(documento, directiva.contenido, secciones)

    def _numera(self, documento: str, clase: str, etiqueta: str, titulo: str) -> None:
        """Como Sphinx: solo lleva número lo que tiene etiqueta, y se cuenta por capítulos."""
        if not etiqueta and clase in ("Ecuación", "Figura"):
            return
        capitulo = numero_de_capitulo(documento)
        self._cuenta[capitulo, clase] += 1
        orden = self._cuenta[capitulo, clase]
        numero = f"{capitulo}.{orden}" if capitulo is not None else str(orden)
        marca = ancla(f"equation-{etiqueta}" if clase == "Ecuación" else etiqueta)
        self.destinos[etiqueta] = Destino(documento, marca, titulo, clase, numero)


# --- De MyST a Markdown corriente ------------------------------------------------------------------------------------


@dataclass
class Conversor:
    """Traduce el texto de un documento; ``valores`` son los que publicó con ``notebook.glue``."""

    libro: Libro
    documento: str
    valores: dict[str, str]

    def texto(self, fuente: str) -> str:
        """Un fragmento entero: los bloques uno a uno y el resto palabra por palabra."""
        lineas, salida, hecho = fuente.split("\n"), [], 0
        for token in _MD.parse(fuente):
            nuevo = self._bloque(token)
            if nuevo is None or token.map is None or token.map[0] < hecho:
                continue
            inicio, fin = token.map
            salida += self._prosa(lineas[hecho:inicio])
            salida += _con_margen(nuevo, lineas[inicio], lineas[inicio:fin])
            hecho = fin
        salida += self._prosa(lineas[hecho:])
        return re.sub(r"\n{3,}", "\n\n", "\n".join(salida)).strip("\n")

    def _prosa(self, lineas: list[str]) -> list[str]:
        return [self.en_linea("\n".join(lineas))] if lineas else []

    def _bloque(self, token: Token) -> str | None:
        """Lo que sustituye a un bloque; ``None`` si el bloque es prosa."""
        match token.type:
            case "myst_target" | "myst_line_comment" | "myst_block_break" | "front_matter":
                return ""
            case "math_block" | "math_block_label" | "amsmath":
                return self._formula(token.content, token.info if token.type == "math_block_label" else "")
            case "code_block":
                return textwrap.indent(token.content.rstrip("\n"), "    ")
            case "fence" | "colon_fence":
                directiva = Directiva.de(token)
                if directiva:
                    return self._directiva(directiva)
                if token.type == "colon_fence":
                    raise CuadernoImposible(
                        "hay un «:::» sin nombre: si un recuadro lleva otro dentro, el de fuera necesita más dos "
                        "puntos («::::{prediccion}» y dentro «:::{respuesta}»)"
                    )
                return f"{token.markup}{token.info}\n{token.content}{token.markup}"
        return None

    def _formula(self, formula: str, etiqueta: str = "") -> str:
        numero = self.libro.destinos[etiqueta].numero if etiqueta else ""
        cuerpo = sin_macros(formula.strip())
        if numero:
            cuerpo += f"\n\\tag{{{numero}}}"
        return f"$$\n{cuerpo}\n$$"

    def _directiva(self, d: Directiva) -> str:
        nombre = d.nombre
        if nombre in ENVOLTORIOS:
            return self.texto(d.contenido)
        if nombre in RECUADROS:
            cuerpo = self.texto(d.contenido)
            if d.opciones.get("requisitos"):
                cuerpo += f"\n\n**Hace falta:** {self.en_linea(d.opciones['requisitos'])}"
            plegado = "dropdown" in d.opciones.get("class", "")
            titulo = self.en_linea(d.argumento) or RECUADROS[nombre]
            return _plegado(titulo, cuerpo) if plegado else _recuadro(titulo, cuerpo)
        if nombre in PLEGADOS:
            return _plegado(self.en_linea(d.argumento) or PLEGADOS[nombre], self.texto(d.contenido))
        if nombre == "exercise":
            return self._ejercicio(d)
        if nombre in ("prf:proof", "proof"):
            return _recuadro(self._con_nombre("Demostración", d), self.texto(d.contenido) + " ∎")
        if nombre.startswith("prf:") and nombre.removeprefix("prf:") in ENUNCIADOS:
            destino = self.libro.destinos.get(d.etiqueta)
            titulo = destino.rotulo if destino else ENUNCIADOS[nombre.removeprefix("prf:")]
            return _recuadro(self._con_nombre(titulo, d), self.texto(d.contenido))
        if nombre == "figura":
            return f"**{self._destino(d.etiqueta).rotulo}.** {self.texto(d.contenido)}"
        if nombre == "table":
            rotulo = f"{self._destino(d.etiqueta).rotulo}. " if d.etiqueta else ""
            return f"**{rotulo}{self.en_linea(d.argumento)}**\n\n{self.texto(d.contenido)}"
        if nombre == "math":
            return self._formula("\n".join(filter(None, (d.argumento, d.contenido))), d.etiqueta)
        if nombre == "fuente":
            codigo = textwrap.dedent(inspect.getsource(_buscar(d.argumento)))
            codigo = _sin_docstring(codigo) if "sin-docstring" in d.opciones else codigo
            return f"Código de `{d.argumento}`:\n\n```python\n{codigo.strip()}\n```"
        if nombre in ("code", "code-block", "sourcecode"):
            return f"```{d.argumento}\n{d.contenido}\n```"
        if nombre == "glossary":
            return self._glosario(d.contenido)
        if nombre == "bibliography":
            return f"[Referencias del libro]({self.libro.url('apendices/referencias')})"
        if nombre in ("raw", "tableofcontents", "contents"):
            return ""
        raise CuadernoImposible(f"la directiva «{nombre}» no se sabe escribir en un cuaderno corriente")

    def _con_nombre(self, titulo: str, d: Directiva) -> str:
        return f"{titulo} ({self.en_linea(d.argumento)})" if d.argumento else titulo

    def _glosario(self, contenido: str) -> str:
        entradas = re.split(r"\n\s*\n(?=\S)", contenido.strip())
        partes = (entrada.split("\n", 1) for entrada in entradas)
        return "\n".join(f"- **{termino}**: {self.en_linea(' '.join(resto.split()))}" for termino, resto in partes)

    def _ejercicio(self, d: Directiva) -> str:
        destino = self.libro.destinos.get(d.etiqueta) or Destino(self.documento, clase="Ejercicio")
        cabecera = f"#### {destino.rotulo}" + (f". {self.en_linea(d.argumento)}" if d.argumento else "")
        trozos = [cabecera, self.texto(d.contenido)]
        registrado = _registrado(destino.numero) if destino.clase == "Ejercicio" and destino.numero else None
        if registrado:
            puntos = f"{registrado.puntos} punto{'s' if registrado.puntos != 1 else ''}"
            ficha = (
                f"{'★' * registrado.dificultad} {DIFICULTAD[registrado.dificultad]}", TIPO[registrado.tipo], puntos,
                f"unos {registrado.minutos} min",
            )  # fmt: skip
            esqueleto = f"exercises/cap{registrado.capitulo:02d}.py"
            enlace = f"{self.libro.repositorio}/blob/{self.libro.rama}/{esqueleto}"
            trozos.insert(1, f"*{' · '.join(ficha)}*")
            trozos += [
                f"**Qué se aprende.** {self.en_linea(registrado.aprende)}",
                f"El esqueleto de `{registrado.nombre}` está en [`{esqueleto}`]({enlace}). Para ver la nota y las "
                f"pistas, en una consola: `atento calificar {registrado.id}`",
                *(
                    _plegado(f"Pista {orden} de {len(registrado.pistas)}", self.texto(pista))
                    for orden, pista in enumerate(registrado.pistas, 1)
                ),
            ]
        return "\n\n".join(trozos)

    # Dentro de una línea

    def en_linea(self, texto: str) -> str:
        """Roles, fórmulas y enlaces de un texto corrido; el código entre acentos graves no se toca."""
        return _EN_LINEA.sub(self._pieza, texto)

    def _pieza(self, m: re.Match[str]) -> str:
        if m["rol"]:
            return self._rol(m["rol"], " ".join(m["arg"].split()))
        if m["mates"]:
            return f"${sin_macros(m['mates']).strip()}$"
        if m["enlace"]:
            return f"]({self._enlace(m['enlace'])})"
        return m[0]

    def _rol(self, rol: str, arg: str) -> str:
        explicito = re.fullmatch(r"(.*?)\s*<([^<>]+)>", arg)
        rotulo, blanco = (explicito[1], explicito[2]) if explicito else ("", arg)
        match rol:
            case "en":
                return f'<em lang="en">{arg}</em>'
            case "refutacion":
                return f"({arg})"
            case "glue:text":
                clave = arg.split("::")[-1].split(":")[0]
                if clave not in self.valores:
                    raise CuadernoImposible(f"no hay valor publicado con la clave «{clave}»")
                return self.valores[clave]
            case "term":
                return f"[{rotulo or arg}]({self.libro.url('apendices/glosario', ancla('term-' + blanco))})"
            case "doc":
                documento = self._documento(blanco)
                return f"[{rotulo or self.libro.titulos.get(documento, documento)}]({self.libro.url(documento)})"
            case "ref" | "std:ref":
                destino = self._destino(blanco)
                return self._cita(rotulo or destino.titulo or destino.rotulo or blanco, destino)
            case "numref":
                destino = self._destino(blanco)
                if rotulo:
                    rotulo = rotulo.replace("%s", destino.numero).replace("{number}", destino.numero)
                    rotulo = rotulo.replace("{name}", destino.titulo)
                return self._cita(rotulo or destino.rotulo, destino)
            case "eq" | "math:numref" | "prf:ref":
                destino = self._destino(blanco)
                return self._cita(rotulo or destino.rotulo, destino)
            case "math":
                return f"${sin_macros(arg)}$"
            case "kbd" | "sub" | "sup":
                return f"<{rol}>{arg}</{rol}>"
            case "abbr":
                return arg
        if rol == "cite" or rol.startswith("cite:"):
            return self._citas(rol.removeprefix("cite").removeprefix(":") or "p", arg)
        if rol.startswith("py:"):
            return f"`{rotulo or (arg.rsplit('.', 1)[-1] if arg.startswith('~') else arg)}`"
        raise CuadernoImposible(f"el rol «{rol}» no se sabe escribir en un cuaderno corriente")

    def _cita(self, texto: str, destino: Destino) -> str:
        return f"[{self.en_linea(texto)}]({self.libro.url(destino.documento, destino.ancla)})"

    def _destino(self, etiqueta: str) -> Destino:
        destinos = self.libro.destinos
        try:
            return destinos[etiqueta] if etiqueta in destinos else destinos[etiqueta.lower()]
        except KeyError:
            raise CuadernoImposible(f"nada en el libro lleva la etiqueta «{etiqueta}»") from None

    def _documento(self, ruta: str) -> str:
        """Nombre de documento de una ruta relativa a este, como la escribe Sphinx."""
        ruta = ruta.removesuffix(".md")
        unida = ruta if ruta.startswith("/") else posixpath.join(posixpath.dirname(self.documento), ruta)
        return posixpath.normpath(unida).lstrip("/")

    def _enlace(self, enlace: str) -> str:
        if enlace.startswith("#"):
            destino = self._destino(enlace[1:])
            return self.libro.url(destino.documento, destino.ancla)
        if ":" in enlace:
            return enlace
        ruta, _, marca = enlace.partition("#")
        if ruta.endswith(".md"):
            return self.libro.url(self._documento(ruta), marca)
        raise CuadernoImposible(f"el enlace «{enlace}» no se podría seguir desde un cuaderno suelto")

    def _citas(self, modo: str, claves: str) -> str:
        citas = []
        for clave in (parte.strip() for parte in claves.split(",")):
            if clave not in self.libro.referencias:
                raise CuadernoImposible(f"la cita «{clave}» no está en references.bib")
            obra = self.libro.referencias[clave]
            donde, autores, fecha = _direccion(obra), _autores(obra), obra.fields.get("year", "s. f.")
            partes = {"t": (autores, f"({_enlazado(fecha, donde)})"), "author": (autores,), "year": (fecha,)}
            citas.append(" ".join(partes[modo]) if modo in partes else _enlazado(f"{autores}, {fecha}", donde))
        return "; ".join(citas) if modo in ("t", "author", "year") else f"({'; '.join(citas)})"


def _con_margen(nuevo: str, primera: str, originales: list[str]) -> list[str]:
    """Pone a un bloque el margen (lista, cita) que tenía, y las líneas en blanco que lo separan."""
    if not nuevo:
        return []
    margen = re.match(r"(?:\s*(?:>|[-*+]|\d+[.)])(?=\s))*\s*", primera)[0]
    resto = margen if ">" in margen else " " * len(margen)
    lineas = nuevo.split("\n")
    return [margen + lineas[0], *((resto + linea).rstrip() for linea in lineas[1:])] + (
        [] if originales[-1].strip() else [""]
    )


def _recuadro(titulo: str, cuerpo: str) -> str:
    texto = f"**{titulo}**\n\n{cuerpo}" if titulo else cuerpo
    return "\n".join(f"> {linea}".rstrip() for linea in texto.split("\n"))


def _plegado(titulo: str, cuerpo: str) -> str:
    return f"<details>\n<summary>{titulo}</summary>\n\n{cuerpo}\n\n</details>"


def _enlazado(texto: str, direccion: str) -> str:
    return f"[{texto}]({direccion})" if direccion else texto


def _autores(obra: Entry) -> str:
    personas = obra.persons.get("author") or obra.persons.get("editor") or []
    nombres = [" ".join([*p.prelast_names, *p.last_names]).replace("{", "").replace("}", "") for p in personas]
    if not nombres:
        return obra.fields["title"].replace("{", "").replace("}", "")
    return f"{nombres[0]} et al." if len(nombres) > 2 else Y.join(nombres)


def _direccion(obra: Entry) -> str:
    return f"https://doi.org/{obra.fields['doi']}" if "doi" in obra.fields else obra.fields.get("url", "")


@cache
def _registrado(numero: str):
    """El ejercicio del registro del calificador, o ``None``."""
    try:
        modulo = importlib.import_module(f"calificador.ejercicios.cap{int(numero.split('.')[0]):02d}")
    except ModuleNotFoundError:
        return None
    return next((e for e in modulo.EJERCICIOS if e.id == numero), None)


# --- El cuaderno -----------------------------------------------------------------------------------------------------


def publicados(capitulo: Capitulo) -> dict[str, str]:
    """Los valores que el capítulo publicó al ejecutarse: los de la caché o, si no está, los de la referencia."""
    actual = capitulo.cuaderno()
    try:
        _, ejecutado = abre_cache(capitulo).merge_match_into_notebook(actual)
    except KeyError:
        if not capitulo.referencia.exists():
            return {}
        ejecutado = nbformat.read(capitulo.referencia, as_version=4)
        if _codigo(ejecutado) != _codigo(actual):
            raise CuadernoImposible("la referencia no es la del capítulo; rehazla con «make referencias»") from None
    return dict(_valores(ejecutado))


def _valores(ejecutado: nbformat.NotebookNode) -> Iterator[tuple[str, str]]:
    for celda in ejecutado.cells:
        if celda.cell_type == "code":
            for clave, salida in extract_glue_data_cell(celda):
                texto = salida["data"]["text/plain"]
                yield clave, texto[1:-1] if texto[:1] in "'\"" else texto


def _codigo(cuaderno: nbformat.NotebookNode) -> list[str]:
    return [celda.source for celda in cuaderno.cells if celda.cell_type == "code"]


def cuaderno(capitulo: Capitulo, libro: Libro, valores: dict[str, str]) -> nbformat.NotebookNode:
    """El cuaderno corriente de un capítulo."""
    documento = capitulo.ruta.relative_to(libro.ruta).with_suffix("").as_posix()
    original = capitulo.cuaderno()
    escritas = len(re.findall(r"^[ \t]*`{3,}\{code-cell\}", capitulo.ruta.read_text(encoding="utf-8"), re.MULTILINE))
    if escritas != len(_codigo(original)):
        raise CuadernoImposible(
            f"hay {escritas} celdas escritas y solo se leen {len(_codigo(original))}: algún recuadro no se cierra "
            "donde parece (el de fuera necesita más dos puntos que los de dentro)"
        )
    conversor = Conversor(libro, documento, valores)
    celdas = [new_code_cell(INSTALA.format(repositorio=libro.repositorio, rama=libro.rama))]
    for celda in original.cells:
        if celda.cell_type == "code":
            etiquetas = list(celda.metadata.get("tags", []))
            metadatos = {"tags": etiquetas} if etiquetas else {}
            if {"hide-input", "hide-cell", "remove-input"} & set(etiquetas):
                metadatos["jupyter"] = {"source_hidden": True}
            celdas.append(new_code_cell(celda.source, metadata=metadatos))
        elif texto := conversor.texto(celda.source):
            celdas.append(new_markdown_cell(texto))
    titulo = libro.titulos.get(documento, capitulo.nombre)
    celdas.append(new_markdown_cell(_procedencia(libro, documento)))
    for orden, celda in enumerate(celdas):
        celda["id"] = f"celda-{orden:03d}"
    metadatos = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "title": titulo,
        "lang": "es",
        "colab": {"name": f"{capitulo.nombre}.ipynb", "provenance": []},
    }
    nuevo = new_notebook(cells=celdas, metadata=metadatos)
    nbformat.validate(nuevo)
    return nuevo


def _procedencia(libro: Libro, documento: str) -> str:
    return (
        f"---\n\nEste cuaderno es una página de «El Transformer, línea a línea». La página, con las figuras y las "
        f"referencias, está en [{libro.url(documento)}]({libro.url(documento)}). Texto y figuras: CC BY-SA 4.0; "
        "código: BSD de tres cláusulas."
    )


def main() -> None:
    """Punto de entrada."""
    opciones = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    opciones.add_argument("--salida", type=Path, default=CONSTRUIDO / "html" / "cuadernos", help="carpeta de destino")
    salida = opciones.parse_args().salida
    salida.mkdir(parents=True, exist_ok=True)
    libro, fallos, hechos = Libro(), [], 0
    for capitulo in capitulos():
        try:
            nuevo = cuaderno(capitulo, libro, publicados(capitulo))
        except CuadernoImposible as fallo:
            fallos.append(f"{capitulo.nombre}: {fallo}")
        else:
            (salida / f"{capitulo.nombre}.ipynb").write_text(nbformat.writes(nuevo) + "\n", encoding="utf-8")
            hechos += 1
    if fallos:
        sys.exit("No se han podido exportar todos los cuadernos:\n" + "\n".join(fallos))
    print(f"{hechos} cuadernos en {salida}")


if __name__ == "__main__":
    main()
