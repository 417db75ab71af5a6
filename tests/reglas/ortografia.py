"""Ortografía: qué palabras se leen en el proyecto, dónde, y cuáles no conoce nadie.

``python tests/reglas/ortografia.py`` lista las palabras desconocidas con su lugar;
con ``--sobrantes``, las de ``palabras.txt`` que ya no hacen falta.
"""

from __future__ import annotations

import ast
import io
import re
import shutil
import subprocess
import sys
import tokenize
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path

from myst import LIBRO, RAIZ, analiza, limpia, paginas, relativa

LISTA = Path(__file__).with_name("palabras.txt")
CURA = "falta hunspell con es_ES: make sistema"
CON_COMENTARIOS = ("exercises", "solutions")  # también se leen sus comentarios
CAMPOS_DEL_REGISTRO = {"aprende", "pista", "pistas", "nombre_legible"}
_PALABRA = re.compile(r"(?:(?![²³ªº])[^\W\d_])+")
_CON_CIFRAS = re.compile(r"\S*[\d_ᵀ]\S*")
_MARCAS_DE_CODIGO = re.compile(
    r"``.*?``|`[^`]*`|:[\w:]+:`[^`]*`|\$[^$]*\$|https?://\S+|[\w.]*\w\([^()\s]*\)|\w+(?:\.\w+){1,}"
    r"|\S*[=<>/\\@{}\[\]]\S*"
)
_ENCLITICOS = re.compile(r"(?:me|te|se|nos|lo|la|los|las|le|les){1,2}$")

Aparicion = tuple[str, int, str]  # fichero, línea, texto ya limpio


def _de_markdown(texto: str, nombre: str) -> Iterator[Aparicion]:
    """Prosa de un fichero MyST o Markdown; lo que va en ``<div lang="en">`` no es español."""
    en_ingles = False
    for linea in analiza(texto).prosa():
        if re.match(r"\s*<div lang=.en.", linea.texto):
            en_ingles = True
        if not en_ingles:
            yield nombre, linea.numero, limpia(linea.texto)
        if "</div>" in linea.texto:
            en_ingles = False


def _sin_codigo(linea: str) -> str:
    """Quita de una línea de docstring o comentario lo que es código."""
    return _MARCAS_DE_CODIGO.sub(" ", linea)


def _docstrings(arbol: ast.AST) -> Iterator[tuple[int, str]]:
    for nodo in ast.walk(arbol):
        if isinstance(nodo, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(nodo, clean=False) is not None:
                yield nodo.body[0].lineno, nodo.body[0].value.value


def _cadenas(nodo: ast.AST) -> Iterator[tuple[int, str]]:
    """Cadenas literales de una expresión, también las de las cadenas con formato."""
    for x in ast.walk(nodo):
        if isinstance(x, ast.Constant) and isinstance(x.value, str):
            yield x.lineno, x.value


def _mensajes(arbol: ast.AST) -> Iterator[tuple[int, str]]:
    """Mensajes de error y textos del registro que lee el alumno."""
    for nodo in ast.walk(arbol):
        if isinstance(nodo, ast.Raise) and isinstance(nodo.exc, ast.Call):
            for argumento in nodo.exc.args:
                yield from _cadenas(argumento)
        elif isinstance(nodo, ast.keyword) and nodo.arg in CAMPOS_DEL_REGISTRO:
            yield from _cadenas(nodo.value)


def _comentarios(texto: str) -> Iterator[tuple[int, str]]:
    texto = re.sub(
        r"\A# ---\n(?:#.*\n)*?# ---\n", lambda m: "\n" * m[0].count("\n"), texto
    )  # cabecera de jupytext
    for pieza in tokenize.generate_tokens(io.StringIO(texto).readline):
        if pieza.type == tokenize.COMMENT and not pieza.string.startswith(("#!", "# %%", "# noqa")):
            yield pieza.start[0], pieza.string.lstrip("# ")


@cache
def _nombres(texto: str) -> frozenset[str]:
    """Los nombres que un módulo usa."""
    nombres: set[str] = set()
    for x in ast.walk(ast.parse(texto)):
        if isinstance(x, ast.arg | ast.keyword) and x.arg:
            nombres.add(x.arg)
        elif isinstance(x, ast.Name):
            nombres.add(x.id)
        elif isinstance(x, ast.Attribute):
            nombres.add(x.attr)
    return frozenset(nombres)


def _identificadores(texto: str) -> set[str]:
    """Los nombres ingleses que el módulo usa: en sus docstrings y mensajes son código, no prosa."""
    return {n for n in _desconocidas(_nombres(texto)) if len(n) > 2}


def _de_python(texto: str, nombre: str, *, comentarios: bool) -> Iterator[Aparicion]:
    """Docstrings y mensajes de un módulo y, si se pide, sus comentarios."""
    arbol = ast.parse(texto)
    propios = re.compile(
        rf"\b(?:{'|'.join(map(re.escape, sorted(_identificadores(texto)))) or '(?!)'})\b"
    )
    trozos = [*_docstrings(arbol), *_mensajes(arbol)]
    if comentarios:
        trozos += _comentarios(texto)
    for primera, trozo in trozos:
        sin_bloques = re.sub(r"(?:^|\n)\s*>>>.*", "\n", trozo)
        for i, linea in enumerate(sin_bloques.split("\n")):
            yield nombre, primera + i, propios.sub(" ", _sin_codigo(linea))


def textos() -> Iterator[Aparicion]:
    """Todo lo que una persona lee en el proyecto, línea a línea."""
    for ruta in [*paginas(), *sorted(RAIZ.glob("*.md"))]:
        yield from _de_markdown(ruta.read_text(encoding="utf-8"), relativa(ruta))
    temario = LIBRO / "temario.yml"
    for i, linea in enumerate(temario.read_text(encoding="utf-8").splitlines(), 1):
        for texto in re.findall(r'texto: "(.*?)", capitulo', linea):
            yield relativa(temario), i, limpia(texto)
    modulos = {
        ruta: ruta.read_text(encoding="utf-8")
        for carpeta in ("code", *CON_COMENTARIOS, "book/_ext", "tools")
        for ruta in sorted((RAIZ / carpeta).rglob("*.py"))
    }
    _desconocidas(chain.from_iterable(map(_nombres, modulos.values())))  # todos de una vez
    for ruta, texto in modulos.items():
        con = ruta.relative_to(RAIZ).parts[0] in CON_COMENTARIOS
        yield from _de_python(texto, relativa(ruta), comentarios=con)


def palabras(apariciones: Iterable[Aparicion]) -> dict[str, tuple[str, int]]:
    """Cada palabra distinta con el primer lugar en que aparece; sin siglas ni letras sueltas."""
    salida: dict[str, tuple[str, int]] = {}
    for fichero, numero, texto in apariciones:
        for palabra in _PALABRA.findall(_CON_CIFRAS.sub(" ", texto)):
            if len(palabra) > 1 and not palabra.isupper():
                salida.setdefault(palabra, (fichero, numero))
    return salida


def hay_hunspell() -> bool:
    """Dice si está hunspell con el diccionario español."""
    if shutil.which("hunspell") is None:
        return False
    prueba = subprocess.run(
        ["hunspell", "-d", "es_ES", "-i", "utf-8", "-l"],
        input="hola\n",
        text=True,
        capture_output=True,
        check=False,
        timeout=60,
    )
    return prueba.returncode == 0 and not prueba.stderr.strip()


_JUZGADAS: dict[str, bool] = {}  # palabra → si hunspell no la admite: leer el diccionario cuesta


def _desconocidas(lista: Iterable[str]) -> frozenset[str]:
    """Las palabras que hunspell no admite en español: las inglesas van en la lista o con el rol
    ``en``.
    """
    todas = set(lista)
    if nuevas := sorted(todas - _JUZGADAS.keys()):
        hecho = subprocess.run(
            ["hunspell", "-d", "es_ES", "-i", "utf-8", "-l"],
            input="\n".join(nuevas) + "\n",
            text=True,
            capture_output=True,
            check=True,
            timeout=120,
        )
        malas = set(hecho.stdout.split("\n"))
        _JUZGADAS.update((palabra, palabra in malas) for palabra in nuevas)
    return frozenset(palabra for palabra in todas if _JUZGADAS[palabra])


def _sin_tildes(palabra: str) -> str:
    sueltas = "".join(c for c in unicodedata.normalize("NFD", palabra) if c not in "\u0301")
    return unicodedata.normalize("NFC", sueltas)


def desconocidas(todas: Iterable[str], propias: set[str]) -> set[str]:
    """Palabras que no están en el diccionario ni en la lista, tras probar a quitar los pronombres
    enclíticos.
    """
    quedan = {p for p in _desconocidas(todas) if p not in propias and p.lower() not in propias}
    raices = {p: _ENCLITICOS.sub("", p) for p in quedan if _ENCLITICOS.search(p)}
    candidatas = {x for r in raices.values() if len(r) > 3 for x in (r, _sin_tildes(r))}
    malas = _desconocidas(candidatas)
    buenas = {p for p, r in raices.items() if len(r) > 3 and ({r, _sin_tildes(r)} - malas)}
    return quedan - buenas


def lista_propia() -> list[str]:
    """Las palabras de ``palabras.txt``."""
    return LISTA.read_text(encoding="utf-8").split() if LISTA.is_file() else []


def sobrantes(lista: list[str], todas: Iterable[str]) -> list[str]:
    """Palabras de la lista que nadie escribe o que el diccionario ya conoce."""
    escritas = set(todas)
    necesarias = desconocidas(escritas, set())
    necesarias |= {p.lower() for p in necesarias}
    return [p for p in lista if p not in necesarias]


def orden(palabra: str) -> tuple[str, str]:
    """Clave de orden: sin tildes ni mayúsculas, con la eñe tras la ene."""
    llana = palabra.lower().replace("ñ", "n\uffff")
    return (
        "".join(c for c in unicodedata.normalize("NFD", llana) if not unicodedata.combining(c)),
        palabra,
    )


def principal(argumentos: list[str]) -> int:
    """Escribe las palabras desconocidas, o las sobrantes de la lista."""
    if not hay_hunspell():
        print(CURA)
        return 2
    donde = palabras(textos())
    if "--sobrantes" in argumentos:
        print("\n".join(sobrantes(lista_propia(), donde)))
        return 0
    nuevas = sorted(desconocidas(donde, set(lista_propia())), key=orden)
    for palabra in nuevas:
        print(f"{donde[palabra][0]}:{donde[palabra][1]}: {palabra}")
    return 1 if nuevas else 0


if __name__ == "__main__":
    raise SystemExit(principal(sys.argv[1:]))
