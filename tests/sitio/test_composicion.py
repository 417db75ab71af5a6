"""El navegador compone la página unas pocas veces, y lo plegado, cuando se abre."""

from __future__ import annotations

import re

import pytest

pytestmark = [pytest.mark.navegador, pytest.mark.timeout(300)]

# Cada vez que el atributo cambia: su valor y si ya hay algo que dibujar.
TEMAS = """
window.temas = [];
new MutationObserver(() => {
  window.temas.push([document.documentElement.dataset.theme, !!document.body]);
}).observe(document, {subtree: true, attributes: true, attributeFilter: ["data-theme"]});
"""
# Lo plegado que, abierto, se desliza.
SE_DESLIZA = """() => [...document.querySelectorAll('.bd-article details[open] .formula,' +
  '.bd-article details[open] .highlight pre, .bd-article details[open] .cell_output pre')]
  .filter((caja) => caja.scrollWidth > caja.clientWidth + 1)
  .map((caja) => [caja.getAttribute('tabindex'), caja.classList.contains('sigue-derecha')])"""
TOCADOS = """() => document.querySelectorAll('.bd-article details:not([open]) > :not(summary)' +
  ' :is(.estrecha, .larga, .apilada, .sigue-derecha, [tabindex="0"]:is(pre, .formula))').length"""


@pytest.fixture
def telefono(navegador):
    contexto = navegador.new_context(viewport={"width": 390, "height": 800})
    yield contexto.new_page()
    contexto.close()


def _abre(pestana, url: str) -> None:
    pestana.goto(url, wait_until="load")
    pestana.evaluate("() => document.fonts.ready.then(() => true)")
    pestana.wait_for_timeout(300)


@pytest.fixture(scope="session")
def capitulos(paginas):
    return [p for p in paginas if re.match(r"\d-[^/]+/\d\d-", p)]


def test_la_pagina_no_se_compone_una_vez_por_formula(telefono, direccion, capitulos):
    medidor = telefono.context.new_cdp_session(telefono)
    medidor.send("Performance.enable")
    formulas, veces = 0, {}
    for pagina in [p for p in capitulos if re.search("/(03|04|11)-", p)]:
        _abre(telefono, f"{direccion}/{pagina}")
        medidas = {m["name"]: m["value"] for m in medidor.send("Performance.getMetrics")["metrics"]}
        veces[pagina] = medidas["LayoutCount"], medidas["RecalcStyleCount"]
        formulas += telefono.locator("math").count()
    assert len(veces) == 3 and formulas > 300
    assert all(0 < componer < 40 and estilos < 60 for componer, estilos in veces.values()), veces


@pytest.mark.parametrize(("del_sistema", "tema"), [("light", "light"), ("dark", "dark")])
def test_el_tema_se_decide_antes_de_dibujar(navegador, direccion, del_sistema, tema):
    contexto = navegador.new_context(color_scheme=del_sistema)
    pestana = contexto.new_page()
    pestana.add_init_script(TEMAS)
    pestana.goto(f"{direccion}/intro.html", wait_until="load")
    vistos = pestana.evaluate("window.temas")
    contexto.close()
    antes = [valor for valor, hay_pagina in vistos if not hay_pagina]
    assert antes and antes[-1] == tema, vistos
    assert {valor for valor, hay_pagina in vistos if hay_pagina} <= {tema}, vistos


def test_lo_plegado_se_arregla_al_abrirlo(telefono, direccion, capitulos):
    abiertos = 0
    for pagina in [p for p in capitulos if re.search("/(04|07)-", p)]:
        _abre(telefono, f"{direccion}/{pagina}")
        assert telefono.evaluate(TOCADOS) == 0, f"{pagina}: compone lo que no se ve"
        plegados = telefono.locator(".bd-article details:not([open])")
        plegados.evaluate_all("(todos) => todos.forEach((d) => (d.open = true))")
        telefono.wait_for_timeout(300)
        deslizables = telefono.evaluate(SE_DESLIZA)
        assert all(caja == ["0", True] for caja in deslizables), (pagina, deslizables)
        abiertos += len(deslizables)
    assert abiertos > 5


def test_al_imprimir_lo_plegado_se_arregla(telefono, direccion, capitulos):
    _abre(telefono, f"{direccion}/{next(p for p in capitulos if '/04-' in p)}")
    telefono.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    deslizables = telefono.evaluate(SE_DESLIZA)
    assert deslizables and all(caja == ["0", True] for caja in deslizables), deslizables
