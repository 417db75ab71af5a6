"""El libro construido, visto con un navegador: en ancho y en estrecho, en claro y en oscuro."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.navegador


def _faltas(visitas, leer) -> str:
    """Una línea por falta, con su página."""
    return "\n".join(f"{v.pagina}: {falta}" for v in visitas for falta in leer(v))


def test_nada_se_pide_a_la_red(visitas):
    assert not (faltas := _faltas(visitas, lambda v: v.pedidos_fuera)), faltas


def test_no_falta_ningun_fichero(visitas):
    assert not (faltas := _faltas(visitas, lambda v: v.fallos)), faltas


def test_la_consola_no_da_errores(visitas):
    assert not (faltas := _faltas(visitas, lambda v: v.consola)), faltas


def test_todas_las_formulas_se_componen(visitas):
    assert sum(v.formulas for v in visitas) > 0, "no hay ninguna fórmula compuesta: MathJax no se ha cargado"
    assert not (faltas := _faltas(visitas, lambda v: v.formulas_mal + v.tex_sin_componer)), faltas


@pytest.mark.parametrize("modo", ["light", "dark"])
def test_accesibilidad(visitas, modo):
    assert not (faltas := _faltas(visitas, lambda v: v.axe[modo])), faltas


@pytest.mark.parametrize("ancho", [390, 320])
def test_sin_desplazamiento_horizontal(visitas, ancho):
    faltas = _faltas(visitas, lambda v: [f"mide {v.ancho[ancho]}: {v.se_salen}"] if v.ancho[ancho] > ancho else [])
    assert not faltas, faltas


def test_no_queda_interfaz_en_ingles(visitas):
    assert not (faltas := _faltas(visitas, lambda v: sorted(set(v.ingles)))), faltas


def test_cada_bloque_de_codigo_se_puede_copiar(visitas):
    faltas = [v.pagina for v in visitas if v.bloques_de_codigo and not v.botones_de_copia]
    assert not faltas, faltas


def _resultados(pestana, direccion: str, consulta: str) -> set[str]:
    """Direcciones que da la búsqueda cuando ha terminado."""
    pestana.goto(f"{direccion}/search.html?q={consulta}")
    pestana.wait_for_function(
        "() => /\\d/.test(document.querySelector('#search-results .search-summary')?.textContent ?? '')", timeout=8000
    )
    pestana.wait_for_timeout(300)
    enlaces = pestana.locator("#search-results ul.search li a").all()
    return {re.split(r"[?#]", enlace.get_attribute("href"))[0] for enlace in enlaces}


def test_la_busqueda_encuentra_con_y_sin_acentos(pestana, direccion):
    con, sin = _resultados(pestana, direccion, "atención"), _resultados(pestana, direccion, "atencion")
    assert con, "«atención» no da ningún resultado"
    assert con == sin


def test_la_pagina_de_busqueda_habla_espanol(pestana, direccion):
    _resultados(pestana, direccion, "atención")
    texto = pestana.locator(".bd-article-container").inner_text()
    assert "Páginas encontradas" in texto
    assert "Abrir en Colab" not in texto, "los extractos empiezan por los botones de la página"
    assert not re.search(r"\b(Search|found|matching|page)\b", texto), texto


def test_el_modo_oscuro_se_pone_y_se_quita(pestana, direccion):
    pestana.goto(f"{direccion}/intro.html")
    fondo = "() => getComputedStyle(document.body).backgroundColor"
    vistos = {}
    for _ in range(3):
        pestana.locator("button.theme-switch-button:visible").first.click()
        vistos[pestana.evaluate("() => document.documentElement.dataset.mode")] = pestana.evaluate(fondo)
    assert set(vistos) == {"auto", "light", "dark"}
    assert vistos["light"] != vistos["dark"]


def test_las_formulas_se_leen_en_voz_alta(pestana, direccion, visitas):
    pagina = max(visitas, key=lambda v: v.formulas).pagina
    pestana.goto(f"{direccion}/{pagina}")
    pestana.evaluate("() => window.MathJax.startup.promise")
    formulas = pestana.locator("mjx-container").count()
    assert pestana.locator("mjx-container:has(mjx-assistive-mml math)").count() == formulas > 0
