"""Lo de varios exploradores a la vez, en Chromium."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pydata_sphinx_theme
import pytest
from explorando import leer
from muestras import HAZ, MUESTRAS, PASOS, SOFTMAX, TROZOS, UNIONES_BPE
from pypdf import PdfReader

from figuras import explorers, plots
from figuras.explorers import base

pytestmark = pytest.mark.navegador


def _clases(texto: str) -> set[str]:
    return set(re.findall(r"\.([a-zA-Z][\w-]*)", texto))


def test_ninguna_clase_es_del_tema_del_sitio():
    """Bootstrap también llama «row», «lead» o «label» a lo suyo: una clase común se vería distinta
    en el libro.
    """
    tema = Path(pydata_sphinx_theme.__file__).parent
    ajenas = set().union(*(_clases(hoja.read_text("utf8")) for hoja in tema.rglob("*.css")))
    ajenas |= _clases(
        (Path(__file__).resolve().parents[3] / "book" / "_static" / "libro.css").read_text("utf8")
    )
    carpeta = Path(base.__file__).parent
    propias = set().union(*(_clases(base._read(hoja.name)) for hoja in carpeta.glob("*.css")))
    assert "row" in ajenas and "probe" in propias
    assert not propias & ajenas


def test_varios_en_una_pagina_son_independientes(abrir):
    cuerpo = explorers.deduplicate("".join(e._repr_html_() for e in (*MUESTRAS.values(), PASOS)))
    pagina = abrir(cuerpo=cuerpo)
    assert pagina.locator(".stage").count() == len(MUESTRAS) + 1
    identificadores = pagina.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(set(identificadores)) == len(identificadores)
    pagina.get_by_role("button", name="Siguiente").first.click()
    assert leer(pagina, PASOS)["state"]["step"] == "escalar"
    assert (
        pagina.evaluate("[...document.querySelectorAll('.atento-exp')].at(-1).atento.state.step")
        == "puntuar"
    )


@pytest.mark.parametrize(
    "marca",
    ['<body data-jp-theme-light="false">', '<body class="vscode-dark">', '<body theme="dark">'],
)
def test_el_modo_oscuro_de_los_cuadernos(navegador, marca):
    contexto = navegador.new_context()
    pagina = contexto.new_page()
    pagina.set_content(f"<!doctype html><html lang=es>{marca}{SOFTMAX._repr_html_()}</html>")
    colores = pagina.locator(".atento-exp").evaluate(
        "e => [getComputedStyle(e).backgroundColor, getComputedStyle(e).color]"
    )
    contexto.close()
    esperado = [
        tuple(int(plots.TOKENS[n]["dark"][i : i + 2], 16) for i in (1, 3, 5))
        for n in ("paper", "ink")
    ]
    assert colores == [f"rgb{tono}" for tono in esperado]


@pytest.mark.parametrize(
    "explorador", [PASOS, HAZ, UNIONES_BPE, TROZOS], ids=["pasos", "haz", "uniones", "trozos"]
)
def test_en_papel_sale_el_ultimo_paso_y_al_volver_el_de_antes(abrir, explorador):
    pagina = abrir(explorador)
    siguiente = pagina.get_by_role("button", name=re.compile("Siguiente|Unir"))
    siguiente.click()
    paso = leer(pagina, explorador)["state"]["step"]
    impreso = PdfReader(io.BytesIO(pagina.pdf())).pages
    en_papel = "".join("".join(p.extract_text().split()) for p in impreso)
    assert leer(pagina, explorador)["state"]["step"] == paso
    while siguiente.is_enabled():
        siguiente.click()
    assert leer(pagina, explorador)["state"]["step"] != paso
    assert "".join(pagina.locator(".reading").text_content().split()) in en_papel
