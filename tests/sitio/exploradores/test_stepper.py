"""El paso a paso, en Chromium."""

from __future__ import annotations

import itertools

import pytest
from explorando import igual, leer
from muestras import PASOS, PROYECTADO, UNIDO

from atento.masks import causal_mask
from figuras import explorers, plots
from figuras.explorers import base

pytestmark = pytest.mark.navegador


PONER = """([id, [fila, cabeza, mascara, escala, calor]]) => {
  const raiz = document.getElementById(id);
  const elegir = (grupo, i) => raiz.querySelector(`[aria-label="${grupo}"]`)?.children[i].click();
  elegir("Palabra que consulta", fila); elegir("Cabeza", cabeza); elegir("Máscara", mascara);
  const casilla = raiz.querySelector("[type=checkbox]");
  if (casilla.checked !== escala) casilla.click();
  const mando = raiz.querySelector("[type=range]");
  mando.value = calor; mando.dispatchEvent(new Event("input"));
  return raiz.atento;
}"""


@pytest.mark.parametrize(
    "explorador", [PASOS, PROYECTADO, UNIDO], ids=["pasos", "proyectado", "unido"]
)
def test_el_paso_a_paso_calcula_lo_mismo_que_python(abrir, explorador):
    pagina, vistos = abrir(explorador), set()
    temperaturas, mascaras = (-1.0, -0.37, 0.0, 0.8), range(len(explorador.masks()))
    ajustes = itertools.product(range(5), range(2), mascaras, (True, False), temperaturas)
    for ajuste in ajustes:
        visto = pagina.evaluate(PONER, [explorador.element_id, list(ajuste)])
        fila, cabeza, mascara, escala, calor = ajuste
        assert (visto["state"]["row"], visto["state"]["head"]) == (fila, cabeza)
        nombre = explorador.masks()[mascara]
        gemelo = explorador.compute(head=cabeza, scaled=escala, mask=nombre, temperature=10**calor)
        for paso, tabla in gemelo.items():
            igual(visto["values"][paso], tabla)
        vistos.add(str(visto["values"]["weights"]))
    assert len(vistos) == 2 * len(explorador.masks()) * 8


def test_las_cabezas_se_ven_juntas_y_se_unen(abrir):
    pagina = abrir(UNIDO)
    botones = pagina.get_by_role("radiogroup", name="Cabeza").get_by_role("radio")
    assert [botones.nth(k).locator(".mini i").count() for k in range(2)] == [25, 25]
    for k in range(2):
        pesos = UNIDO.compute(head=k)["weights"]
        color = botones.nth(k).locator(".mini i").nth(7).get_attribute("style")
        assert f"{100 * pesos[1, 2]:.1f}%" in color
    pagina.get_by_role("radio", name="unir").click()
    suma = UNIDO.compute()["united"][UNIDO.initial["row"], 0].item()
    assert base.number(suma) in pagina.locator(".sums").inner_text()
    assert base.number(suma) in pagina.locator(".total").inner_text()


def test_lo_escrito_es_lo_calculado(abrir):
    pagina = abrir(PASOS)
    pagina.evaluate(PONER, [PASOS.element_id, [3, 1, 1, True, 0.3]])
    gemelo = PASOS.compute(head=1, mask="causal", temperature=10**0.3)
    for paso, nombre in (("puntuar", "scores"), ("escalar", "scaled"), ("enmascarar", "masked"),
                         ("normalizar", "weights")):  # fmt: skip
        pagina.get_by_role("radio", name=paso).click()
        escritos = pagina.locator(".key-row .tail").all_inner_texts()
        assert escritos == [plots.format_number(float(x), ".2f") for x in gemelo[nombre][3]]
    pagina.get_by_role("radio", name="promediar").click()
    assert pagina.locator(".total .entry").all_inner_texts() == [
        plots.format_number(float(x), ".2f") for x in gemelo["output"][3]
    ]


def test_la_cuenta_de_una_celda_se_lee(abrir):
    sencillo = explorers.stepper(
        ["sí", "no"],
        [[1.2, -0.3], [0.0, 1.0]],
        [[0.5, 2.0], [1.0, 1.0]],
        [[1.0], [0.0]],
        name="cuenta",
    )
    pagina = abrir(sencillo)
    pagina.get_by_role("radiogroup", name="Clave de la que se ve la cuenta").get_by_role(
        "radio"
    ).first.click()
    assert "1.20·0.50 + (−0.30)·2.00 = 0.00" in pagina.locator(".sums").inner_text().replace(
        "\n", " "
    )
    assert leer(pagina, sencillo)["state"]["column"] == 0


def test_los_mandos_del_paso_a_paso_van_en_su_orden(abrir):
    pagina = abrir(PASOS)
    pagina.get_by_role("radio", name="1, puntuar").focus()
    pagina.keyboard.press("Shift+Tab")  # las cabezas se eligen antes que el paso
    orden = []
    for _ in range(9):
        orden.append(
            pagina.evaluate(
                "(document.activeElement.closest('[role=radiogroup]') ??"
                " document.activeElement).getAttribute('aria-label') ?? document.activeElement.type"
                " ?? document.activeElement.localName"
            )
        )
        pagina.keyboard.press("Tab")
    assert orden[:2] + orden[3:] == [
        "Cabeza",
        "Paso",
        "Palabra que consulta",
        "Clave de la que se ve la cuenta",
        "Máscara",
        "checkbox",
        "Temperatura",
        "summary",
    ]
    pagina.get_by_role("button", name="Siguiente").click()
    assert leer(pagina, PASOS)["state"]["step"] == "escalar"


def test_la_barra_dice_lo_que_hay_bajo_el_dedo(abrir):
    pagina = abrir(PASOS)
    celda = pagina.locator(".matrix tbody td").nth(3)
    celda.hover()
    esperado = plots.format_number(float(PASOS.compute()["scores"][0, 3]), ".3f")
    assert pagina.locator(".probe").inner_text() == f"«el» mira a «río»: puntuación {esperado}"
    celda.click()
    assert (leer(pagina, PASOS)["state"]["row"], leer(pagina, PASOS)["state"]["column"]) == (0, 3)


def test_lo_tapado_se_raya(abrir):
    pagina = abrir(PASOS)
    pagina.get_by_role("radio", name="causal").click()
    pagina.get_by_role("radio", name="normalizar").click()
    leer = "celdas => celdas.map((celda) => getComputedStyle(celda).backgroundImage)"
    fondos = pagina.locator(".matrix tbody td").evaluate_all(leer)
    assert [fondo != "none" for fondo in fondos] == (~causal_mask(5)).flatten().tolist()
