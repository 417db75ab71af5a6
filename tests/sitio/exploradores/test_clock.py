"""El reloj, en Chromium."""

from __future__ import annotations

import pytest
from explorando import igual, leer
from muestras import RELOJ

from figuras import plots

pytestmark = pytest.mark.navegador


def test_el_reloj_calcula_lo_mismo_que_python(abrir):
    pagina = abrir(RELOJ)
    mandos = pagina.get_by_role("slider")
    for aqui, alli in ((0, 39), (39, 0), (7, 7), (20, 31)):
        mandos.nth(0).fill(str(aqui))
        mandos.nth(1).fill(str(alli))
        visto, gemelo = leer(pagina, RELOJ), RELOJ.compute(aqui, alli)
        assert visto["state"] == {"position": aqui, "other": alli}
        for nombre, tabla in gemelo.items():
            igual(visto["values"][nombre], tabla)
        escritas = pagina.locator(".spot-line").nth(0).locator(".entry").all_inner_texts()
        assert escritas == [plots.format_number(float(x), ".2f") for x in gemelo["row"]]
        puntas = pagina.evaluate(
            """id => [...document.querySelectorAll(`#${id} .hand.here line`)]
            .flatMap(e => [e.x2.baseVal.value / 32, -e.y2.baseVal.value / 32])""",
            RELOJ.element_id,
        )
        igual(puntas, gemelo["row"])


def test_adelantar_las_dos_no_cambia_el_producto_y_para_en_los_extremos(abrir):
    pagina = abrir(RELOJ)
    adelante = pagina.get_by_role("button", name="Adelantar las dos")
    atras = pagina.get_by_role("button", name="Atrasar las dos")
    inicio, filas = leer(pagina, RELOJ)["values"]["product"], set()
    for _ in range(31):
        adelante.click()
        visto = leer(pagina, RELOJ)["values"]
        assert abs(visto["product"] - inicio) < 1e-9
        filas.add(tuple(visto["row"]))
    assert len(filas) == 31 and adelante.is_disabled() and atras.is_enabled()
    pagina.get_by_role("slider").nth(1).focus()
    pagina.keyboard.press("Home")
    assert atras.is_disabled()
    assert "a distancia 36" in pagina.locator(".reading").inner_text()
