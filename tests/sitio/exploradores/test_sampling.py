"""El sorteo, en Chromium."""

from __future__ import annotations

import itertools

import pytest
from explorando import igual, leer
from muestras import EMPATES, SORTEO

from figuras.explorers import base

pytestmark = pytest.mark.navegador


MANDAR = """([id, comienzo, mandos]) => {
  const raiz = document.getElementById(id);
  raiz.querySelector('[aria-label="Comienzo"]')?.children[comienzo].click();
  for (const [nombre, valor] of Object.entries(mandos)) {
    const mando = raiz.querySelector(`[type=range][aria-label="${nombre}"]`);
    mando.value = valor; mando.dispatchEvent(new Event("input"));
  }
  [...raiz.querySelectorAll("button")].find((b) => b.textContent.startsWith("Sortear")).click();
  return raiz.atento;
}"""


AJUSTES = [
    {},
    {"temperature": -0.5},
    {"temperature": 0.7},
    {"top_k": 1},
    {"top_k": 4},
    {"top_p": 0.05},
    {"top_p": 0.5},
    {"top_p": 0.95},
    {"min_p": 0.01},
    {"min_p": 0.5},
    {"temperature": 0.3, "top_k": 6, "top_p": 0.8, "min_p": 0.05},
]


@pytest.mark.parametrize("explorador", [SORTEO, EMPATES], ids=["sorteo", "empates"])
def test_el_sorteo_filtra_como_la_biblioteca(abrir, explorador):
    pagina, quedan = abrir(explorador), set()
    tope = min(50, len(explorador.words))
    for comienzo, ajuste in itertools.product(range(len(explorador.contexts)), AJUSTES):
        mandos = {
            "Temperatura": ajuste.get("temperature", 0), "top-k": ajuste.get("top_k", tope),
            "top-p": ajuste.get("top_p", 1), "min-p": ajuste.get("min_p", 0),
        }  # fmt: skip
        visto = pagina.evaluate(MANDAR, [explorador.element_id, comienzo, mandos])["values"]
        opciones = ajuste | {"temperature": 10 ** ajuste.get("temperature", 0)}
        gemelo = explorador.compute(comienzo, **opciones)
        for clave, valor in gemelo.items():
            igual(visto[clave], valor.double())
        assert visto["drawn"] == explorador.drawn(comienzo, **opciones)
        quedan.add(visto["kept"])
        escritos = pagina.locator(".facts dd").all_inner_texts()
        assert escritos[0] == f"{visto['kept']} de {len(explorador.words)} palabras"
        assert escritos[1] == f"{base.number(100 * float(gemelo['mass']), 1)}\u00a0%"
    assert len(quedan) >= 4


def test_las_barras_del_sorteo_miden_lo_que_dicen(abrir):
    pagina = abrir(SORTEO)
    pagina.get_by_role("slider", name="top-p").fill("0.5")
    gemelo = SORTEO.compute(0, top_p=0.5)
    orden = SORTEO.logits[0].argsort(descending=True)[:12].tolist()
    for fila, palabra in enumerate(orden):
        barra = pagina.locator(".lot").nth(fila)
        assert barra.locator(".lot-name").inner_text().split()[0] == SORTEO.words[palabra]
        ancho, hueco = barra.locator(".fill").evaluate(
            "e => [e.getBoundingClientRect().width, e.parentNode.clientWidth]"
        )
        assert abs(ancho - hueco * float(gemelo["probs"][palabra])) < 1
        fuera = float(gemelo["probs"][palabra]) == 0
        assert ("gone" in barra.get_attribute("class").split()) == fuera


def test_se_sortean_diez_y_diez_mas_con_el_teclado(abrir):
    pagina = abrir(SORTEO)
    boton = pagina.get_by_role("button", name="Sortear diez palabras")
    boton.focus()
    for tirada in range(3):
        pagina.keyboard.press("Enter")
        assert leer(pagina, SORTEO)["values"]["drawn"] == SORTEO.drawn(throw=tirada)
    veces = [int(t[1:]) for t in pagina.locator(".times").all_inner_texts() if t]
    assert sum(veces) == 30
    mando = pagina.get_by_role("slider", name="Temperatura")
    mando.focus()
    pagina.keyboard.press("ArrowLeft")
    assert not any(pagina.locator(".times").all_inner_texts()), "otro ajuste, otra cuenta"
    pagina.get_by_role("button", name="Quitar los filtros").click()
    boton.click()
    assert leer(pagina, SORTEO)["values"]["drawn"] == SORTEO.drawn()
    pagina.wait_for_function("document.querySelector('[aria-live]').textContent.includes('Salen')")


def test_la_pregunta_del_sorteo_se_contesta_mirando(abrir):
    pagina = abrir(SORTEO)
    pagina.get_by_role("slider", name="top-p").fill("0.9")
    for rotulo in SORTEO.contexts:
        pagina.get_by_role("radio", name=rotulo).click()
        quedan = pagina.locator(".facts dd").first.inner_text().split()[0]
        assert f"ras «{rotulo}», {quedan}" in SORTEO.answer


# Como en el libro: lo que es suyo y lo que trae el tema.
LISTAS = """.bd-article dl:not(.glossary) dd { margin-left: 1.4rem; }
dl[class]:not(.option-list, .field-list, .footnote, .glossary, .simple) { margin-bottom: 3rem; }"""


def test_en_la_pagina_cada_numero_va_bajo_su_nombre(abrir):
    """El libro sangra y separa las listas de definiciones: la de los números no cambia."""
    pagina, donde = abrir(SORTEO), []
    caja = "e => { const {x, y, height} = e.getBoundingClientRect(); return [x, y, height] }"
    for _ in range(2):
        sitios = [*pagina.locator(".facts, .facts dt, .facts dd, .facts ~ .hush").all()]
        donde.append([sitio.evaluate(caja) for sitio in sitios])
        pagina.add_style_tag(content=LISTAS)
        pagina.evaluate("document.querySelector('main').className = 'bd-article'")
    assert donde[0] == donde[1] and len(donde[0]) > 10
