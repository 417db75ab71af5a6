"""La máscara que se pinta, en Chromium."""

from __future__ import annotations

import pytest
import torch
from explorando import centro, igual, leer
from muestras import PINTADA

pytestmark = pytest.mark.navegador


def _igual_pintada(pagina, allowed: torch.Tensor) -> dict:
    """La página tiene esa máscara y ha contado lo mismo que Python."""
    visto = leer(pagina, PINTADA)
    assert visto["state"]["allowed"] == allowed.tolist()
    pasos = PINTADA.steps(allowed)
    igual(visto["values"]["weights"], PINTADA.weights(allowed))
    assert visto["values"]["steps"] == pasos.tolist()
    assert visto["values"]["reach"] == ((pasos >= 0) & (pasos <= visto["state"]["layers"])).tolist()
    assert visto["values"]["dead"] == PINTADA.dead(allowed)
    assert pagina.locator(".alarm").is_visible() == bool(PINTADA.dead(allowed))
    return visto


def test_la_mascara_pintada_calcula_lo_mismo_que_python(abrir):
    pagina = abrir(PINTADA)
    azar = torch.Generator().manual_seed(1)
    for nombre, partida in PINTADA.presets().items():
        pagina.get_by_role("radio", name=nombre, exact=True).click()
        _igual_pintada(pagina, partida)
        allowed = partida.clone()
        for casilla in torch.randperm(25, generator=azar)[:9].tolist():
            pagina.get_by_role("gridcell").nth(casilla).click()
            allowed.view(-1)[casilla] ^= True
        pagina.get_by_role("slider").fill(str(1 + casilla % 4))
        visto = _igual_pintada(pagina, allowed)
        assert visto["state"]["view"] == "qué sabe"
        pagina.get_by_role("radio", name="los pesos").click()
        escritos = pagina.locator(".paint tbody td").all_inner_texts()
        assert escritos == [f"{w:.2f}" for w in PINTADA.weights(allowed).flatten().tolist()]


def test_la_mascara_se_pinta_con_raton_y_con_el_dedo(abrir):
    pagina, allowed = abrir(PINTADA), PINTADA.presets()["causal"].clone()
    pagina.mouse.move(*centro(pagina, pagina.get_by_role("gridcell").nth(5)))
    pagina.mouse.down()
    for casilla in (6, 7, 8):
        pagina.mouse.move(*centro(pagina, pagina.get_by_role("gridcell").nth(casilla)), steps=4)
    pagina.mouse.up()
    pagina.mouse.move(*centro(pagina, pagina.get_by_role("gridcell").nth(9)))
    allowed[1, :4] = False  # la primera estaba pintada: se borra todo lo que se recorre
    _igual_pintada(pagina, allowed)
    assert "«banco»" in pagina.locator(".alarm").inner_text()
    movil = abrir(PINTADA, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    causal = PINTADA.presets()["causal"].clone()
    movil.get_by_role("gridcell").nth(4).tap()
    causal[0, 4] = True
    _igual_pintada(movil, causal)
