"""La softmax, en Chromium."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from explorando import TOLERANCIA, igual, leer
from muestras import SOFTMAX

pytestmark = pytest.mark.navegador


def test_la_softmax_calcula_lo_mismo_que_python(abrir):
    pagina = abrir(SOFTMAX)
    mando, casilla = pagina.get_by_role("slider"), pagina.get_by_role("checkbox")
    for fila, calor, escala in itertools.product(range(3), (-1.0, -0.37, 0.0, 0.8), (True, False)):
        pagina.get_by_role("radio").nth(fila).click()
        casilla.set_checked(escala)
        mando.fill(str(calor))
        esperados = SOFTMAX.weights(fila, 10 ** float(mando.input_value()), escala)
        visto = leer(pagina, SOFTMAX)["values"]
        igual(visto["weights"], esperados)
        assert abs(visto["entropy"] - float(torch.special.entr(esperados).sum())) <= TOLERANCIA
        assert pagina.locator("td.strong").all_inner_texts() == [
            f"{w:.3f}" for w in esperados.tolist()
        ]


@pytest.mark.parametrize("escala", [True, False])
@pytest.mark.parametrize("fila", range(3))
def test_la_pregunta_de_la_softmax_se_contesta_en_todas_las_filas(abrir, fila, escala):
    pagina = abrir(SOFTMAX)
    pagina.get_by_role("radio").nth(fila).click()
    pagina.get_by_role("checkbox").set_checked(escala)
    paso = 0.005
    low, _ = SOFTMAX.range
    cerca = low + round((math.log10(SOFTMAX.solution(fila, escala)) - low) / paso) * paso
    pagina.get_by_role("slider").fill(f"{cerca + 10 * paso:.3f}")
    assert not leer(pagina, SOFTMAX)["values"]["reached"]
    pagina.get_by_role("slider").focus()
    for _ in range(10):
        pagina.keyboard.press("ArrowLeft")
    assert leer(pagina, SOFTMAX)["values"]["reached"]
    assert "Conseguido" in pagina.locator(".verdict").inner_text()
