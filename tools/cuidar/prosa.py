"""Saca la prosa del libro y la guarda, con fecha, donde la lee ``atento.tasks.prose``.

``python tools prosa`` guarda la de ahora y repite lo que aprende de ella;
``python tools prosa --solo-texto`` la guarda y solo dice qué capítulos la leen.

De cada página del índice quedan las frases que se pueden leer enteras en voz alta. El código, las
fórmulas, las tablas, los títulos y las directivas que no llevan texto no entran; la frase a la que
le falta por eso un trozo, tampoco. Los términos y los enlaces dejan sus palabras; las citas, sus
autores; y los números que calcula una celda, el valor de la referencia guardada. Con el mismo libro
sale el mismo texto, y la fecha solo cambia si cambia él.
"""

from __future__ import annotations

from procesos import principal

# isort: split
# Lo demás tarda en importarse, y Ctrl+C se atiende ya.
import argparse
import ast
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import nbformat
from markdown_it.token import Token
from mdit_py_plugins.myst_role import myst_role_plugin
from pybtex.database import Entry, parse_file
from rich.console import Console

from atento.tasks.prose import digest, split_sentences
from paginas.capitulos import LIBRO, RAIZ, Capitulo, capitulos, documentos

# isort: split
# capitulos.py ya ha puesto book/_ext en la ruta.
from libro.citas import Y
from libro.huella import Fuentes, celdas_de
from libro.lector import LITERALES, Directiva, analiza, markdown

DESTINO = RAIZ / "code" / "atento" / "datos" / "prosa.json"
ORDEN = "make prosa"
GENERADAS = ("apendices/api", "apendices/soluciones")  # las escribe tools/paginas/apendices.py
FRASES_DE_UNA_PAGINA = 15  # con menos, una página es una lista o un enlace, no prosa
PALABRAS_DE_UNA_FRASE = 3
HUECO = "\ufffc"  # lo que había aquí no se puede leer en voz alta
MD = markdown().use(myst_role_plugin)

_CON_TEXTO = re.compile(r"(?:term|ref|doc|numref|prf:ref|download)$")
_EN_VOZ_ALTA = re.compile(r"[a-zA-Z]|\d+(?:\.\d+)?")
_NO_ES_PROSA = re.compile(rf"[{HUECO}${{}}`<>|\\@#_=^~\[\]]|://|%s")
_ENTERA = re.compile(r"[.!?…][»)”]*$")
_ENTRADA = re.compile(r"^(?:[a-z]\) |\d+\. )")


class Lectora:
    """Lee páginas MyST y deja sus frases; sabe quién firma cada cita y cuánto vale cada número."""

    def __init__(self, referencias: Mapping[str, Entry], numeros: dict[str, str]) -> None:
        self.referencias, self.numeros = referencias, numeros

    def parrafos(self, texto: str) -> list[str]:
        """Los párrafos de una página, con las frases que quedan enteras."""
        crudos = (" ".join(x.split()) for x in self._crudos(texto))
        return [limpio for crudo in crudos if (limpio := _frases_enteras(crudo))]

    def _crudos(self, texto: str) -> Iterator[str]:
        tokens, tabla, titulo = MD.parse(texto), False, False
        for token in tokens:
            tabla = token.nesting > 0 if token.tag == "table" else tabla
            titulo = token.nesting > 0 if token.type.startswith("heading") else titulo
            if token.type in ("fence", "colon_fence"):
                yield from self._de_directiva(Directiva.de(token))
            elif token.type == "inline" and not tabla and not titulo:
                yield self.en_voz_alta(token.children or [])

    def _de_directiva(self, directiva: Directiva | None) -> Iterator[str]:
        if directiva is None or directiva.nombre in LITERALES:
            return
        if directiva.nombre == "glossary":
            yield from self._del_glosario(directiva.cuerpo)
        else:
            yield from self._crudos(directiva.contenido + "\n")

    def _del_glosario(self, lineas: list[str]) -> Iterator[str]:
        """«Acarreo: en una suma, la unidad que…»: el término y lo que significa."""
        termino = ""
        for linea in lineas:
            if linea and not linea[0].isspace():
                termino = linea.strip()
            elif linea.strip() and termino:
                sin_ingles = re.sub(r"^\{en\}`[^`]*`\.\s*", "", linea.strip())
                (cuerpo,) = [t for t in MD.parse(sin_ingles) if t.type == "inline"]
                dicho = self.en_voz_alta(cuerpo.children or [])
                es_sigla = any(letra.isupper() for letra in dicho.split(" ")[0][1:])
                sigue = dicho if es_sigla else dicho[:1].lower() + dicho[1:]
                yield f"{termino[:1].upper()}{termino[1:]}: {sigue}"

    def en_voz_alta(self, trozos: list[Token]) -> str:
        """Lo que se lee de una línea, con ``HUECO`` donde no hay palabras que decir."""
        return "".join(map(self._trozo, trozos))

    def _trozo(self, token: Token) -> str:
        if token.type == "text":
            return token.content
        if token.type in ("softbreak", "hardbreak"):
            return " "
        if token.type == "myst_role":
            return self._papel(token.meta["name"], token.content)
        if token.type.startswith("math_inline"):
            return token.content if _EN_VOZ_ALTA.fullmatch(token.content.strip()) else HUECO
        return HUECO if token.type in ("code_inline", "image") else ""

    def _papel(self, nombre: str, contenido: str) -> str:
        """Lo que dice un rol de MyST."""
        visible = contenido.split(" <")[0].strip()
        if nombre == "en" or nombre == "term":
            return visible
        if _CON_TEXTO.match(nombre) and " <" in contenido:
            return visible
        if nombre.startswith("cite"):
            return self._cita(contenido, entre_parentesis=nombre == "cite")
        if nombre == "glue:text":
            return self.numeros.get(contenido, HUECO)
        return HUECO

    def _cita(self, claves: str, entre_parentesis: bool) -> str:
        """«(Vaswani et al., 2017)» o, si forma parte de la frase, «Vaswani et al. (2017)»."""
        obras = [self.referencias[clave.strip()] for clave in claves.split(",")]
        forma = "{}, {}" if entre_parentesis else "{} ({})"
        citas = [forma.format(autores(x), x.fields.get("year", "")) for x in obras]
        return f"({'; '.join(citas)})" if entre_parentesis else "; ".join(citas)


def autores(obra: Entry) -> str:
    """«Vaswani et al.», «Bahdanau y Cho»; sin autores, el título."""
    personas = obra.persons.get("author") or obra.persons.get("editor") or []
    nombres = [
        " ".join([*p.prelast_names, *p.last_names]).replace("{", "").replace("}", "")
        for p in personas
    ]
    if not nombres:
        return obra.fields["title"].replace("{", "").replace("}", "")
    return f"{nombres[0]} et al." if len(nombres) > 2 else Y.join(nombres)


def _frases_enteras(crudo: str) -> str:
    """Las frases de un párrafo que se leen enteras, o cadena vacía."""
    frases = (_ENTRADA.sub("", frase) for frase in split_sentences(crudo))
    return " ".join(frase for frase in frases if _es_prosa(frase))


def _es_prosa(frase: str) -> bool:
    """Si acaba en punto, no le falta nada, cierra lo que abre y tiene palabras."""
    if _NO_ES_PROSA.search(frase) or not _ENTERA.search(frase):
        return False
    if any(
        frase.count(abre) != frase.count(cierra) for abre, cierra in ("«»", "()", "“”", "¿?", "¡!")
    ):
        return False
    return len(re.findall(r"[^\W\d_]+", frase)) >= PALABRAS_DE_UNA_FRASE


def numeros_de(capitulo: Capitulo) -> dict[str, str]:
    """Los números que publican las celdas de un capítulo, según su referencia guardada."""
    if not capitulo.referencia.exists():
        return {}
    hay = {}
    for celda in nbformat.read(capitulo.referencia, as_version=4).cells:
        for salida in celda.get("outputs", []):
            clave = salida.get("metadata", {}).get("scrapbook", {}).get("name")
            valor = salida.get("data", {}).get("application/papermill.record/text/plain")
            if clave and valor:
                hay[clave] = str(ast.literal_eval(valor))
    return hay


def paginas(libro: Path = LIBRO) -> dict[str, dict]:
    """Título y párrafos de cada página con prosa, por su clave y en el orden del libro."""
    salida = {}
    obras = parse_file(str(libro / "references.bib"), bib_format="bibtex").entries
    for documento in documentos(libro):
        pagina = Capitulo(libro / f"{documento}.md")
        if documento.startswith(GENERADAS) or not pagina.ruta.exists():
            continue
        parrafos = Lectora(obras, numeros_de(pagina)).parrafos(pagina.texto())
        if sum(len(split_sentences(p)) for p in parrafos) >= FRASES_DE_UNA_PAGINA:
            titulo = analiza(pagina.texto()).secciones()[0][1]
            salida[pagina.clave] = {"title": titulo, "paragraphs": parrafos}
    return salida


def instantanea(hay: dict[str, dict], fecha: str) -> dict:
    """Lo que se escribe en el fichero."""
    textos = {clave: "\n".join(x["paragraphs"]) for clave, x in hay.items()}
    return {"command": ORDEN, "date": fecha, "digest": digest(textos), "chapters": hay}


def escribe(nuevo: dict, destino: Path = DESTINO) -> bool:
    """Guarda la prosa si su texto ha cambiado, y dice si lo ha hecho; si no, conserva la fecha."""
    viejo = json.loads(destino.read_text(encoding="utf-8")) if destino.exists() else {}
    if {**viejo, "date": ""} == {**nuevo, "date": ""}:
        return False
    destino.write_text(json.dumps(nuevo, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return True


def lectores(lista: list[Capitulo]) -> list[Capitulo]:
    """Los capítulos que leen la prosa, directamente o por lo que importan."""
    fuentes = Fuentes(RAIZ)
    return [c for c in lista if "atento.tasks.prose" in fuentes.alcance(celdas_de(c.texto()))[0]]


def main() -> None:
    """Punto de entrada."""
    opciones = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    opciones.add_argument(
        "--solo-texto", action="store_true", help="no repite los capítulos que la leen"
    )
    solo_texto, consola = opciones.parse_args().solo_texto, Console()
    nuevo = instantanea(paginas(), datetime.now(UTC).strftime("%Y-%m-%d"))
    if not escribe(nuevo):
        consola.print("La prosa guardada es la del libro de ahora.")
        return
    palabras = sum(len(p.split()) for x in nuevo["chapters"].values() for p in x["paragraphs"])
    consola.print(
        f"Guardadas {palabras} palabras de {len(nuevo['chapters'])} páginas en"
        f" {DESTINO.relative_to(RAIZ)}."
    )
    leen = lectores(capitulos())
    if not leen:
        return
    consola.print(
        f"La leen los capítulos {', '.join(c.clave for c in leen)}; si guardan semillas, hay que"
        " repetirlas."
    )
    if not solo_texto:
        from cuidar.referencias import rehace

        rehace(leen, consola)


if __name__ == "__main__":
    principal(main)
