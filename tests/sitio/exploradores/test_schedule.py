"""Los calendarios, en Chromium."""

from __future__ import annotations

import itertools

import pytest
from explorando import igual, leer
from muestras import CALENDARIO, SIN_SUBIDA

pytestmark = pytest.mark.navegador


def _elegir_calendario(pagina, explorador, sitios) -> dict:
    for rotulo, sitio in zip(ROTULOS, sitios, strict=True):
        grupo = pagina.get_by_role("radiogroup", name=rotulo)
        if grupo.count():
            grupo.get_by_role("radio").nth(sitio).click()
    return leer(pagina, explorador)


ROTULOS = ("Calendario", "Normalización", "Tasa máxima")


@pytest.mark.parametrize("explorador", [CALENDARIO, SIN_SUBIDA], ids=["calendario", "sin-subida"])
def test_el_calendario_calcula_lo_mismo_que_python(abrir, explorador):
    pagina = abrir(explorador)
    for sitios in itertools.product(*(range(len(valores)) for valores in explorador.axes.values())):
        pares = zip(explorador.axes.items(), sitios, strict=True)
        eleccion = {eje: valores[sitio] for (eje, valores), sitio in pares}
        visto = _elegir_calendario(pagina, explorador, sitios)
        assert {eje: visto["state"][eje] for eje in eleccion} == eleccion
        gemelo = explorador.compute(**eleccion)
        for clave in ("rate", "band", "scores"):
            igual(visto["values"][clave], gemelo[clave])
        acierto = f"{100 * gemelo['scores'].mean():.0f}\u00a0%"
        assert pagina.locator(".final b").inner_text() == acierto


def test_el_calendario_recuerda_lo_probado(abrir):
    pagina = abrir(CALENDARIO)  # empieza en la primera combinación
    assert [x for x in pagina.locator(".board tbody td").all_inner_texts() if x != "·"] == [
        pagina.locator(".final b").inner_text()
    ]
    _elegir_calendario(pagina, CALENDARIO, (1, 0, 1))
    quinta = pagina.locator(".final b").inner_text()
    sabidas = [x for x in pagina.locator(".board tbody td").all_inner_texts() if x != "·"]
    assert len(sabidas) == 3 and sabidas[2] == quinta  # de camino pasa por otra
    assert pagina.locator(".board td.here").inner_text() == quinta
    _elegir_calendario(pagina, CALENDARIO, (1, 1, 1))  # con otra norma, la tabla es otra
    assert "Post-LN" in pagina.locator(".board caption").inner_text()
    sabidas = [x for x in pagina.locator(".board tbody td").all_inner_texts() if x != "·"]
    assert sabidas == [pagina.locator(".final b").inner_text()]


def test_lo_que_diverge_se_dice_y_se_deja_de_dibujar(abrir):
    pagina = abrir(CALENDARIO)
    perdida = pagina.locator(".sides > :nth-child(2) .line")
    _elegir_calendario(pagina, CALENDARIO, (2, 0, 0))
    assert len(perdida.get_attribute("points").split()) == 5
    _elegir_calendario(pagina, CALENDARIO, (1, 0, 1))
    assert perdida.get_attribute("points") == ""
    assert "deja de ser finita enseguida" in pagina.locator(".reading").inner_text()
    assert "NaN" not in pagina.locator(".atento-exp").inner_text()
