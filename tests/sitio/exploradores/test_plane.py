"""El plano, en Chromium."""

from __future__ import annotations

import itertools

import pytest
import torch
from explorando import centro, igual, leer
from muestras import ENVOLVENTE, PLANO

pytestmark = pytest.mark.navegador


def test_el_plano_calcula_lo_mismo_que_python(abrir):
    pagina = abrir(PLANO)
    for i, tecla in enumerate(
        ["ArrowRight", "ArrowUp", "Shift+ArrowLeft", "ArrowDown", "End", "Home"] * 3
    ):
        pagina.locator(".grip").nth(i % 3).focus()
        pagina.keyboard.press(tecla)
        if i == 9:
            pagina.get_by_role("button", name="tren", exact=True).click()
        if i == 12:
            pagina.locator("[type=range]").fill("-0.4")
        visto = leer(pagina, PLANO)
        estado = visto["state"]
        query, key = (torch.tensor(estado[n], dtype=torch.float64) for n in ("query", "key"))
        assert torch.equal(key[0], query), "la estación es consulta y clave"
        gemelo = PLANO.compute(
            query=query, key=key, present=estado["present"], temperature=estado["temperature"]
        )
        for nombre, tabla in gemelo.items():
            igual(visto["values"][nombre], tabla)
    assert estado["present"] == [True, False, True] and estado["temperature"] == pytest.approx(
        10**-0.4
    )
    pagina.get_by_role("button", name="Volver al principio").click()
    igual(leer(pagina, PLANO)["values"]["output"], PLANO.compute()["output"])


def test_la_salida_no_sale_de_la_envolvente(abrir):
    pagina = abrir(ENVOLVENTE)
    pagina.mouse.move(*centro(pagina, pagina.locator(".grip.query .hit")))
    pagina.mouse.down()
    marco, vistos = pagina.locator(".plane").bounding_box(), []
    for x, y in itertools.product((0.02, 0.3, 0.55, 0.98), (0.03, 0.4, 0.97)):
        pagina.mouse.move(marco["x"] + x * marco["width"], marco["y"] + y * marco["height"])
        visto = leer(pagina, ENVOLVENTE)
        query = torch.tensor(visto["state"]["query"], dtype=torch.float64)
        igual(visto["values"]["output"], ENVOLVENTE.compute(query=query)["output"])
        assert pagina.evaluate(
            """id => { const raiz = document.getElementById(id);
              const verde = raiz.querySelector(".area polygon");
            const punta = raiz.querySelector(".strings line");
            return verde.isPointInFill(
              new DOMPoint(punta.x1.baseVal.value, punta.y1.baseVal.value)); }""",
            ENVOLVENTE.element_id,
        )
        vistos.append(tuple(visto["state"]["query"]))
    pagina.mouse.up()
    assert len(set(vistos)) == 12
    assert pagina.locator(".area polygon").evaluate("p => p.points.numberOfItems") == 3, (
        "(0.0, 0.8) queda dentro"
    )


def test_el_dedo_mueve_los_puntos_del_plano(abrir):
    pagina = abrir(PLANO, viewport={"width": 390, "height": 500}, has_touch=True, is_mobile=True)
    asa = pagina.locator(".grip.key").first
    asa.scroll_into_view_if_needed()
    x, y = centro(pagina, asa.locator(".hit"))
    antes = pagina.evaluate("scrollY")
    sesion = pagina.context.new_cdp_session(pagina)
    for tipo, paso in (("touchStart", 0), *(("touchMove", k) for k in range(1, 9))):
        punto = {"x": x - 5 * paso, "y": y - 5 * paso}
        sesion.send("Input.dispatchTouchEvent", {"type": tipo, "touchPoints": [punto]})
    sesion.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    movida = leer(pagina, PLANO)["state"]["key"][1]
    assert movida[0] < 2.2 and movida[1] > 0.4
    x_final, y_final = centro(pagina, asa.locator(".hit"))  # debajo del dedo, hasta el final
    assert abs(x_final - (x - 40)) < 3 and abs(y_final - (y - 40)) < 3
    assert pagina.evaluate("scrollY") == antes


def test_la_barra_sigue_al_punto_que_se_mueve(abrir):
    pagina = abrir(PLANO)
    pagina.locator(".grip.query").focus()
    pagina.keyboard.press("ArrowUp")
    x, y = leer(pagina, PLANO)["state"]["query"]
    assert (
        pagina.locator(".probe")
        .inner_text()
        .startswith(f"consulta de «estación»: ({x:.2f}, {y:.2f})")
        and y > 1
    )
