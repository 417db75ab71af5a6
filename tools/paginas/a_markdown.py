"""De MyST a Markdown corriente: sin directivas ni roles, con lo que cualquier programa entiende."""

from __future__ import annotations

import inspect
import posixpath
import re
import textwrap
from dataclasses import dataclass

from markdown_it.token import Token

from paginas.celdas import ejemplo_de, registrado_de
from paginas.indice_de_citas import Libro, autores, direccion

# isort: split
# capitulos.py, que indice_de_citas importa, ya ha puesto book/_ext en la ruta.
from libro.didactica import _buscar, _sin_docstring
from libro.ejercicios import DIFICULTAD, TIPO
from libro.etiquetas import ENUNCIADOS, Destino, ancla
from libro.formulas import MACROS
from libro.lector import MD, Directiva
from libro.numeracion import capitulo

RECUADROS = {
    "note": "Nota",
    "tip": "Consejo",
    "hint": "Pista",
    "important": "Importante",
    "warning": "Aviso",
    "caution": "Precaución",
    "attention": "Atención",
    "danger": "Peligro",
    "error": "Error",
    "seealso": "Véase también",
    "admonition": "",
    "margin": "",
    "sidebar": "",
    "topic": "",
    "epigraph": "",
    "tab-item": "",
    "objetivos": "Qué aprenderás",
    "prediccion": "Predice antes de seguir",
    "repaso": "Repaso",
    "procedencia": "De dónde salen estos datos",
}
PLEGADOS = {
    "respuesta": "Ver la respuesta",
    "dropdown": "Ver más",
    "toggle": "Ver más",
    "solution": "Solución",
}
MARCA = "<!-- celdas del ejercicio"
ENVOLTORIOS = ("div", "container", "tab-set", "grid", "grid-item", "only")


class CuadernoImposible(ValueError):
    """Algo del capítulo no se puede decir en un cuaderno corriente; el mensaje dice qué."""


_EN_LINEA = re.compile(
    r"\{(?P<rol>[a-z][\w:.-]*)\}(?P<t>`+)(?P<arg>.+?)(?<!`)(?P=t)(?!`)"
    r"|(?P<c>`+)(?!`).+?(?<!`)(?P=c)(?!`)"
    r"|(?<!\\)\$(?P<mates>[^$]+?)(?<!\\)\$"
    r"|\]\((?P<enlace>[^)\s]+)\)",
    re.DOTALL,
)
_A_FONDO = re.compile(r"^---\n\n\*\*(A fondo: .*)\*\*\n\n((?:(?!---$).*\n)+?)\n---$", re.MULTILINE)
_MACRO = re.compile(rf"\\({'|'.join(sorted(MACROS, key=len, reverse=True))})(?![A-Za-z])")


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


@dataclass
class Conversor:
    """Traduce el texto de un documento; ``valores`` son los que publicó con ``notebook.glue``."""

    libro: Libro
    documento: str
    valores: dict[str, str]

    def texto(self, fuente: str) -> str:
        """Un fragmento entero: los bloques uno a uno y el resto palabra por palabra."""
        lineas, salida, hecho = fuente.split("\n"), [], 0
        for token in MD.parse(fuente):
            nuevo = self._bloque(token)
            if nuevo is None or token.map is None or token.map[0] < hecho:
                continue
            inicio, fin = token.map
            salida += self._prosa(lineas[hecho:inicio])
            salida += _con_margen(nuevo, lineas[inicio], lineas[inicio:fin])
            hecho = fin
        salida += self._prosa(lineas[hecho:])
        return _a_fondo_plegado(re.sub(r"\n{3,}", "\n\n", "\n".join(salida)).strip("\n"))

    def _prosa(self, lineas: list[str]) -> list[str]:
        return [self.en_linea("\n".join(lineas))] if lineas else []

    def _bloque(self, token: Token) -> str | None:
        """Lo que sustituye a un bloque; ``None`` si el bloque es prosa."""
        match token.type:
            case "myst_target" | "myst_line_comment" | "myst_block_break" | "front_matter":
                return ""
            case "math_block" | "math_block_label" | "amsmath":
                return self._formula(
                    token.content, token.info if token.type == "math_block_label" else ""
                )
            case "code_block":
                return token.content.rstrip("\n")  # la sangría la pone su margen
            case "fence" | "colon_fence":
                directiva = Directiva.de(token)
                if directiva:
                    return self._directiva(directiva)
                if token.type == "colon_fence":
                    raise CuadernoImposible(
                        "hay un «:::» sin nombre: si un recuadro lleva otro dentro, el de fuera"
                        " necesita más dos puntos («::::{prediccion}» y dentro «:::{respuesta}»)"
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
        if nombre == "a-fondo":
            return self._a_fondo(d)
        if nombre == "fin-a-fondo":
            return "---"
        if nombre == "empezar":
            return self._empezar(d)
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
        raise CuadernoImposible(
            f"la directiva «{nombre}» no se sabe escribir en un cuaderno corriente"
        )

    def _a_fondo(self, d: Directiva) -> str:
        """Lo plegado; si lleva celdas, que no caben en un plegado, va entre una línea y una
        raya."""
        titulo = f"A fondo: {self.en_linea(d.argumento)}"
        return _plegado(titulo, self.texto(d.contenido)) if d.contenido else f"---\n\n**{titulo}**"

    def _empezar(self, d: Directiva) -> str:
        """Cómo se resuelven aquí los ejercicios, y cómo en una consola."""
        numero = capitulo(self.documento)
        if numero is None:
            raise CuadernoImposible("empezar: esta página no es un capítulo numerado")
        return (
            "Cada ejercicio lleva debajo una celda para escribirlo y otra, `%atento`, que lo"
            " corrige, con su nota y sus pistas. Vale también aquí lo que hayas definido en otras"
            f" celdas. Para resolverlos en un fichero, la orden `%atento empezar {numero}` copia"
            f" los esqueletos a `mis-ejercicios/`.\n\n{self.texto(d.contenido)}"
        )

    def _con_nombre(self, titulo: str, d: Directiva) -> str:
        return f"{titulo} ({self.en_linea(d.argumento)})" if d.argumento else titulo

    def _glosario(self, contenido: str) -> str:
        entradas = re.split(r"\n\s*\n(?=\S)", contenido.strip())
        partes = (entrada.split("\n", 1) for entrada in entradas)
        return "\n".join(
            f"- **{termino}**: {self.en_linea(' '.join(resto.split()))}"
            for termino, resto in partes
        )

    def _ejercicio(self, d: Directiva) -> str:
        destino = self.libro.destinos.get(d.etiqueta) or Destino(self.documento, clase="Ejercicio")
        cabecera = f"#### {destino.rotulo}" + (
            f". {self.en_linea(d.argumento)}" if d.argumento else ""
        )
        trozos = [cabecera, self.texto(d.contenido)]
        registrado = (
            registrado_de(destino.numero)
            if destino.clase == "Ejercicio" and destino.numero
            else None
        )
        if registrado:
            puntos = f"{registrado.puntos} punto{'s' if registrado.puntos != 1 else ''}"
            ficha = (
                f"{'★' * registrado.dificultad} {DIFICULTAD[registrado.dificultad]}",
                TIPO[registrado.tipo],
                puntos,
                f"unos {registrado.minutos} min",
            )
            trozos.insert(1, f"*{' · '.join(ficha)}*")
            trozos += [
                f"**Qué se aprende.** {self.en_linea(registrado.aprende)}",
                *_ejemplo(registrado.id),
                *(
                    _plegado(f"Pista {orden} de {len(registrado.pistas)}", self.texto(pista))
                    for orden, pista in enumerate(registrado.pistas, 1)
                ),
                (
                    "Escríbelo en la celda que sigue y ejecútala; la de después lo corrige. (En"
                    f" una consola, `atento empezar {registrado.capitulo}` y `atento calificar"
                    f" {registrado.id}`.)"
                ),
                marca_de_ejercicio(registrado.id),
            ]
        return "\n\n".join(trozos)

    # Dentro de una línea

    def en_linea(self, texto: str) -> str:
        """Roles, fórmulas y enlaces de un texto corrido; el código entre acentos graves no se
        toca."""
        return _EN_LINEA.sub(self._pieza, texto)

    def _pieza(self, m: re.Match[str]) -> str:
        if m["rol"]:
            return self._rol(m["rol"], " ".join(m["arg"].split()))
        if m["mates"]:
            return f"${_en_una_linea(sin_macros(m['mates']))}$"
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
                entrada = self.libro.url("apendices/glosario", ancla("term-" + blanco))
                return f"[{rotulo or arg}]({entrada})"
            case "doc":
                documento = self._documento(blanco)
                titulo = rotulo or self.libro.titulos.get(documento, documento)
                return f"[{titulo}]({self.libro.url(documento)})"
            case "ref" | "std:ref":
                destino = self._destino(blanco)
                return self._cita(rotulo or destino.titulo or destino.rotulo or blanco, destino)
            case "numref":
                destino = self._destino(blanco)
                if rotulo:
                    rotulo = rotulo.replace("%s", destino.numero).replace(
                        "{number}", destino.numero
                    )
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
        unida = (
            ruta
            if ruta.startswith("/")
            else posixpath.join(posixpath.dirname(self.documento), ruta)
        )
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
        raise CuadernoImposible(
            f"el enlace «{enlace}» no se podría seguir desde un cuaderno suelto"
        )

    def _citas(self, modo: str, claves: str) -> str:
        citas = []
        for clave in (parte.strip() for parte in claves.split(",")):
            if clave not in self.libro.referencias:
                raise CuadernoImposible(f"la cita «{clave}» no está en references.bib")
            obra = self.libro.referencias[clave]
            donde, quienes, fecha = direccion(obra), autores(obra), obra.fields.get("year", "s. f.")
            partes = {
                "t": (quienes, f"({_enlazado(fecha, donde)})"),
                "author": (quienes,),
                "year": (fecha,),
            }
            citas.append(
                " ".join(partes[modo])
                if modo in partes
                else _enlazado(f"{quienes}, {fecha}", donde)
            )
        return "; ".join(citas) if modo in ("t", "author", "year") else f"({'; '.join(citas)})"


def _con_margen(nuevo: str, primera: str, originales: list[str]) -> list[str]:
    """Pone a un bloque el margen (lista, cita) que tenía, y las líneas en blanco que lo separan."""
    if not nuevo:
        return []
    nuevo = _con_formulas_enteras(nuevo) if primera.lstrip().startswith(">") else nuevo
    margen = re.match(r"(?:\s*(?:>|[-*+]|\d+[.)])(?=\s))*\s*", primera)[0]
    resto = re.sub(r"[^>\s]", " ", margen)  # la viñeta o el número solo van en la primera
    lineas = nuevo.split("\n")
    return [margen + lineas[0], *((resto + linea).rstrip() for linea in lineas[1:])] + (
        [] if originales[-1].strip() else [""]
    )


def _recuadro(titulo: str, cuerpo: str) -> str:
    texto = _con_formulas_enteras(f"**{titulo}**\n\n{cuerpo}" if titulo else cuerpo)
    return "\n".join(f"> {linea}".rstrip() for linea in texto.split("\n"))


def _con_formulas_enteras(texto: str) -> str:
    """Cada ecuación en una línea: dentro de una cita, JupyterLab se lleva los «>» a la fórmula."""
    return re.sub(
        r"^([ \t>]*)\$\$\n(.*?)\n[ \t>]*\$\$(?= ∎$|$)",
        lambda m: f"{m[1]}$${_en_una_linea(m[2])}$$",
        texto,
        flags=re.MULTILINE | re.DOTALL,
    )


def _en_una_linea(formula: str) -> str:
    """Una fórmula sin comentarios ni saltos de línea."""
    return " ".join(re.sub(r"(?<!\\)%.*", "", formula).split())


def _plegado(titulo: str, cuerpo: str) -> str:
    return f"<details>\n<summary>{titulo}</summary>\n\n{cuerpo}\n\n</details>"


def _a_fondo_plegado(texto: str) -> str:
    """Pliega lo que va entre una línea «A fondo» y su raya si no queda ninguna celda en medio, y no
    deja dos rayas seguidas.

    >>> _a_fondo_plegado("---\\n\\n**A fondo: Más**\\n\\nTexto.\\n\\n---")
    '<details>\\n<summary>A fondo: Más</summary>\\n\\nTexto.\\n\\n</details>'
    """

    def plegada(m: re.Match[str]) -> str:
        if MARCA in m[2] or m[2].count("```") % 2:
            return m[0]
        return _plegado(m[1], m[2].rstrip("\n"))

    plegado = _A_FONDO.sub(plegada, texto)
    return re.sub(r"^---\n+(?=---$)", "", plegado, flags=re.MULTILINE)


def _enlazado(texto: str, direccion: str) -> str:
    return f"[{texto}]({direccion})" if direccion else texto


def marca_de_ejercicio(numero: str) -> str:
    """La línea que dice dónde van las celdas de un ejercicio; :mod:`cuadernos` la cambia por
    ellas."""
    return f"{MARCA} {numero} -->"


def _ejemplo(numero: str) -> list[str]:
    """El ejemplo del enunciado, calculado con la solución; nada si no lo tiene."""
    hallado = ejemplo_de(numero)
    return [f"**Ejemplo.**\n\n```text\n{hallado.texto}\n```"] if hallado else []
