"""El glosario y la bibliografía."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from myst import LIBRO, analiza, informe, limpia, paginas, relativa

GLOSARIO = LIBRO / "apendices" / "glosario.md"
BIBLIOGRAFIA = LIBRO / "references.bib"
CAMPOS = {
    "article": {"author", "title", "journal", "year", "volume"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "book": {"author", "title", "publisher", "year"},
    "incollection": {"author", "title", "booktitle", "publisher", "year"},
    "techreport": {"author", "title", "institution", "year"},
    "phdthesis": {"author", "title", "school", "year"},
    "misc": {"author", "title", "year", "url"},
    "online": {"author", "title", "year", "url"},
}


def orden(termino: str) -> str:
    """Clave del orden alfabético español: sin tildes ni mayúsculas, con la eñe tras la ene."""
    llano = termino.lower().replace("ñ", "n\uffff")
    return "".join(c for c in unicodedata.normalize("NFD", llano) if not unicodedata.combining(c))


def entradas(texto: str) -> list[tuple[str, str]]:
    """Pares (término, definición) de la directiva ``glossary``."""
    salida: list[tuple[str, str]] = []
    for directiva in analiza(texto).llamadas("glossary"):
        for linea in directiva.cuerpo:
            if linea and not linea[0].isspace():
                salida.append((linea.strip(), ""))
            elif linea.strip() and salida:
                salida[-1] = (salida[-1][0], f"{salida[-1][1]} {linea.strip()}".strip())
    return salida


def faltas_de_glosario(texto: str, minimo: int = 150) -> list[str]:
    """Términos en orden y sin repetir, con su inglés y una definición corta."""
    hay = entradas(texto)
    terminos = [t for t, _ in hay]
    faltas = (
        [] if len(hay) >= minimo else [f"hay {len(hay)} términos; se esperaban al menos {minimo}"]
    )
    faltas += [
        f"{b}: va antes que {a}, o está repetido"
        for a, b in zip(terminos, terminos[1:], strict=False)
        if orden(a) >= orden(b)
    ]
    for termino, definicion in hay:
        if not re.match(r"\{en\}`[^`]+`\. ", definicion):
            faltas.append(f"{termino}: la definición empieza por su inglés: {{en}}`…`.")
        palabras = limpia(definicion).split()
        if not 5 <= len(palabras) <= 60 or not definicion.endswith((".", ".)")):
            faltas.append(
                f"{termino}: la definición tiene {len(palabras)} palabras; de 5 a 60, y acaba en"
                " punto"
            )
    return faltas


def obras(texto: str) -> list[tuple[str, str, dict[str, str]]]:
    """Obras de un fichero BibTeX: tipo, clave y campos. Un campo por línea, con el valor entre
    llaves.
    """
    salida = []
    for tipo, clave, cuerpo in re.findall(r"@(\w+)\{([^,\s]+),\n(.*?)\n\}", texto, re.S):
        campos = dict(re.findall(r"^\s*(\w+)\s*=\s*\{(.*)\},?\s*$", cuerpo, re.M))
        salida.append((tipo.lower(), clave, campos))
    return salida


def faltas_de_bibliografia(texto: str) -> list[str]:
    """Claves apellidoAÑO sin repetir y campos completos."""
    faltas, vistas = [], set()
    hay = obras(texto)
    if len(hay) != len(re.findall(r"^@", texto, re.M)):
        faltas.append(
            "alguna entrada no se lee: @tipo{clave, un campo por línea entre llaves, y } al final"
        )
    for tipo, clave, campos in hay:
        if clave in vistas:
            faltas.append(f"{clave}: repetida")
        vistas.add(clave)
        hallado = re.fullmatch(r"[a-z]+(\d{4})[a-z]?", clave)
        if not hallado or hallado[1] != campos.get("year"):
            faltas.append(
                f"{clave}: la clave es apellidoAÑO, con el año de la obra ({campos.get('year')})"
            )
        faltan = CAMPOS.get(tipo, {"?"}) - set(campos)
        if faltan:
            faltas.append(f"{clave}: a @{tipo} le falta {', '.join(sorted(faltan))}")
        if re.search(r"\d\s*[-–]\s*\d", campos.get("pages", "").replace("--", "")):
            faltas.append(f"{clave}: las páginas van con dos guiones")
        if re.search(r"\\['\"`~^c]", " ".join(campos.values())):
            faltas.append(f"{clave}: los acentos van en UTF-8")
    return faltas


def citas(texto: str) -> list[tuple[int, str]]:
    """Claves citadas en un fichero MyST, con su línea."""
    return [
        (linea.numero, clave.strip())
        for linea in analiza(texto).lineas
        if linea.clase not in {"codigo", "mates"}
        for grupo in re.findall(r"\{cite(?::\w+)?\}`([^`]*)`", linea.texto)
        for clave in grupo.split(",")
    ]


def faltas_de_citas(ficheros: dict[str, str], claves: set[str]) -> list[str]:
    """Citas de obras que no están en la bibliografía."""
    return [
        f"{nombre}:{n}: {clave} no está en references.bib"
        for nombre, texto in ficheros.items()
        for n, clave in citas(texto)
        if clave not in claves
    ]


def _paginas() -> dict[str, str]:
    return {relativa(p): p.read_text(encoding="utf-8") for p in paginas()}


def test_glosario() -> None:
    faltas = faltas_de_glosario(GLOSARIO.read_text(encoding="utf-8"))
    assert not faltas, informe(faltas)


def test_bibliografia() -> None:
    faltas = faltas_de_bibliografia(BIBLIOGRAFIA.read_text(encoding="utf-8"))
    assert not faltas, informe(faltas)


def test_citas() -> None:
    claves = {clave for _, clave, _ in obras(BIBLIOGRAFIA.read_text(encoding="utf-8"))}
    faltas = faltas_de_citas(_paginas(), claves)
    assert not faltas, informe(faltas)


def test_una_sola_lista_de_referencias() -> None:
    con_lista = [p for p, texto in _paginas().items() if analiza(texto).llamadas("bibliography")]
    assert [Path(p).name for p in con_lista] == ["referencias.md"], con_lista


def test_caza_glosario() -> None:
    def caza(cuerpo: str) -> list[str]:
        return faltas_de_glosario("```{glossary}\n" + cuerpo + "```\n", minimo=2)

    uno = "capa\n  {en}`layer`. Función con parámetros de un tensor en otro.\n\n"
    dos = "época\n  {en}`epoch`. Pasada completa por los datos que se aprenden.\n\n"
    assert not caza(uno + dos)
    assert caza(dos + uno) and caza(uno) and caza(uno + uno + dos)
    assert caza(uno + dos.replace("{en}`epoch`. ", "")) and caza(
        uno + dos.replace("aprenden.", "aprenden")
    )
    assert caza(uno + "época\n  {en}`epoch`. Pasada.\n")


def test_caza_bibliografia() -> None:
    bien = (
        "@article{elman1990,\n  author = {Elman, Jeffrey L.},\n  title = {Finding {Structure} in"
        " Time},\n  journal = {Cognitive Science},\n  volume = {14},\n  pages = {179--211},\n  year"
        " = {1990},\n}\n"
    )
    assert not faltas_de_bibliografia(bien)
    assert faltas_de_bibliografia(bien + bien)
    assert faltas_de_bibliografia(bien.replace("elman1990", "elman1991"))
    assert faltas_de_bibliografia(bien.replace("  volume = {14},\n", ""))
    assert faltas_de_bibliografia(bien.replace("179--211", "179-211"))
    assert faltas_de_bibliografia(bien.replace("Elman,", "Elm\\'an,"))
    assert faltas_de_bibliografia(bien.replace("@article", "@libro"))
    assert faltas_de_bibliografia("@article{roto, author={A}}\n")
    assert faltas_de_citas({"a.md": "Según {cite}`elman1990, otro2000`.\n"}, {"elman1990"}) == [
        "a.md:1: otro2000 no está en references.bib"
    ]
