"""El temario: todas las filas, cada una con su sección, y cada sección en su capítulo y en el libro
construido.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml
from docutils.nodes import make_id
from myst import LIBRO, etiquetas_de, informe, publicados

FICHERO = LIBRO / "temario.yml"
FILAS = {
    "HIS": 26,
    "ATE": 36,
    "QKV": 13,
    "MUL": 17,
    "ENM": 16,
    "POS": 46,
    "ARQ": 42,
    "ENT": 28,
    "DEC": 12,
    "TOK": 18,
    "COD": 12,
    "DES": 9,
    "S2S": 8,
    "VIS": 30,
    "AUD": 9,
    "MMO": 14,
    "EFI": 9,
    "TEO": 14,
    "APL": 14,
    "ETI": 3,
    "EJE": 12,
}
TIPOS = set("CEAKXTFMPJ")
CAMPOS = {"tema", "tipo", "texto", "capitulo", "etiqueta"}
CONSTRUIDO = LIBRO / "_build" / "html"


def etiquetas(fila: dict) -> list[str]:
    """Etiquetas de una fila; ninguna si está pendiente."""
    valor = fila["etiqueta"]
    return [] if valor == "pendiente" else [valor] if isinstance(valor, str) else list(valor)


def faltas_de_filas(texto: str, cuantas: dict[str, int]) -> list[str]:
    """Cada fila está una vez, con sus campos, y no falta ninguna."""
    claves = re.findall(r"^([A-Z0-9]{3}-\d\d):", texto, re.M)
    faltas = [f"{k}: está {n} veces" for k, n in Counter(claves).items() if n > 1]
    esperadas = [f"{tema}-{i:02d}" for tema, n in cuantas.items() for i in range(1, n + 1)]
    faltas += [f"{k}: falta" for k in esperadas if k not in claves]
    faltas += [f"{k}: no es del temario" for k in claves if k not in esperadas]
    for clave, fila in yaml.safe_load(texto).items():
        if set(fila) != CAMPOS:
            faltas.append(f"{clave}: campos {sorted(fila)}; se esperaban {sorted(CAMPOS)}")
        elif (
            fila["tema"] != clave[:3]
            or fila["tipo"] not in TIPOS
            or not 0 <= fila["capitulo"] <= 27
            or len(fila["texto"]) < 6
            or not fila["etiqueta"]
        ):
            faltas.append(f"{clave}: algún campo no vale: {fila}")
    return faltas


def faltas_de_etiquetas(filas: dict[str, dict], fuentes: dict[int, str]) -> list[str]:
    """Las etiquetas existen en su capítulo y ningún capítulo publicado tiene filas pendientes.

    ``fuentes``: número de capítulo publicado → su texto (los preliminares, juntos, son el 0).
    """
    hay = {n: etiquetas_de(texto) for n, texto in fuentes.items()}
    faltas = []
    for clave, fila in filas.items():
        numero, suyas = fila["capitulo"], etiquetas(fila)
        if numero in hay and not suyas:
            faltas.append(f"{clave}: pendiente, y el capítulo {numero} ya está publicado")
        if numero not in hay and suyas:
            faltas.append(f"{clave}: tiene etiqueta y el capítulo {numero} no está publicado")
        if numero in hay:
            faltas += [
                f"{clave}: «{e}» no está en el capítulo {numero}"
                for e in suyas
                if e not in hay[numero]
            ]
    return faltas


def faltas_de_anclas(filas: dict[str, dict], paginas: dict[int, str]) -> list[str]:
    """Las etiquetas son anclas de las páginas construidas. ``paginas``: número de capítulo → su
    HTML.
    """
    anclas = {n: set(re.findall(r'\bid="([^"]+)"', html)) for n, html in paginas.items()}
    return [
        f"{clave}: «{e}» no es un ancla de la página del capítulo {fila['capitulo']}"
        for clave, fila in filas.items()
        for e in etiquetas(fila)
        if fila["capitulo"] in anclas and not {e, make_id(e)} & anclas[fila["capitulo"]]
    ]


def _filas() -> dict[str, dict]:
    return yaml.safe_load(FICHERO.read_text(encoding="utf-8"))


def _html(rutas: list[Path]) -> str:
    paginas = [CONSTRUIDO / r.relative_to(LIBRO).with_suffix(".html") for r in rutas]
    return "".join(p.read_text(encoding="utf-8") for p in paginas if p.is_file())


def test_filas() -> None:
    faltas = faltas_de_filas(FICHERO.read_text(encoding="utf-8"), FILAS)
    assert not faltas, informe(faltas)
    assert sum(FILAS.values()) == 388


def test_etiquetas() -> None:
    fuentes = {
        n: "\n".join(r.read_text(encoding="utf-8") for r in rutas)
        for n, rutas in publicados().items()
    }
    faltas = faltas_de_etiquetas(_filas(), fuentes)
    assert not faltas, informe(faltas)


def test_anclas_del_libro_construido() -> None:
    if not CONSTRUIDO.is_dir():
        pytest.skip("el libro no está construido: make libro")
    faltas = faltas_de_anclas(_filas(), {n: _html(rutas) for n, rutas in publicados().items()})
    assert not faltas, informe(faltas)


def test_refutaciones_del_libro_construido() -> None:
    pagina = CONSTRUIDO / "apendices" / "erratas.html"
    if not pagina.is_file():
        pytest.skip("el libro no está construido: make libro")
    faltas = []
    for destino, ancla in re.findall(
        r'href="([^"#]+)#(err-R-\d{3})"', pagina.read_text(encoding="utf-8")
    ):
        otra = (pagina.parent / destino).resolve()
        if not otra.is_file() or f'id="{ancla}"' not in otra.read_text(encoding="utf-8"):
            faltas.append(f"{ancla}: no es un ancla de {destino}")
    assert not faltas, informe(faltas)


def test_caza_temario() -> None:
    una = (
        'ATE-01: {tema: ATE, tipo: C, texto: "El producto escalar", capitulo: 4, etiqueta:'
        " pendiente}\n"
    )
    assert not faltas_de_filas(una, {"ATE": 1})
    assert faltas_de_filas(una + una, {"ATE": 1}) and faltas_de_filas(una, {"ATE": 2})
    assert faltas_de_filas(una, {"QKV": 1}) and faltas_de_filas(
        una.replace("tipo: C", "tipo: Z"), {"ATE": 1}
    )
    assert faltas_de_filas(una.replace(", capitulo: 4", ""), {"ATE": 1})
    fila = yaml.safe_load(una)
    assert not faltas_de_etiquetas(fila, {5: ""}) and faltas_de_etiquetas(fila, {4: "(c04-a)=\n"})
    fila["ATE-01"]["etiqueta"] = ["c04-a", "fig-b"]
    capitulo = "(c04-a)=\n## A\n\n```{figura} fig-b\nPie.\n```\n"
    assert not faltas_de_etiquetas(fila, {4: capitulo})
    assert faltas_de_etiquetas(fila, {4: capitulo.replace("c04-a", "c04-z")})
    assert faltas_de_etiquetas(fila, {5: capitulo}) and faltas_de_etiquetas(fila, {4: ""})
    assert not faltas_de_anclas(fila, {4: '<i id="c04-a"><i id="fig-b">'})
    assert faltas_de_anclas(fila, {4: '<i id="c04-a">'})
