"""El terreno de una memoria, en Chromium."""

from __future__ import annotations

import math

import pytest
from explorando import igual, leer
from muestras import TERRENO

pytestmark = pytest.mark.navegador


def test_en_el_terreno_se_baja_como_en_pytorch(abrir):
    pagina = abrir(TERRENO)
    for beta in TERRENO.betas:
        pagina.get_by_role("slider").fill(str(math.log2(beta)))
        for sitio in ([2.0, 1.0], [-0.4, -0.2], [-1.4, 1.2]):
            punto = [f"{x:.2f}" for x in sitio]
            _lleva(pagina, *sitio)
            visto, gemelo = leer(pagina, TERRENO), TERRENO.compute(sitio, beta)
            assert [f"{x:.2f}" for x in visto["state"]["state"]] == punto
            for nombre in ("path", "energies", "weights"):
                igual(visto["values"][nombre], gemelo[nombre])
            assert visto["values"]["settled"] == gemelo["settled"]


def _lleva(pagina, x: float, y: float) -> None:
    """Arrastra el estado hasta un sitio del plano."""
    caja = pagina.locator(".plane").bounding_box()
    izquierda, derecha, abajo, arriba = TERRENO.limits
    unidad = (caja["width"] * 372 / 400) / (derecha - izquierda)
    orilla = caja["width"] * 14 / 400
    agarre = pagina.locator(".grip").bounding_box()
    pagina.mouse.move(agarre["x"] + agarre["width"] / 2, agarre["y"] + agarre["height"] / 2)
    pagina.mouse.down()
    pagina.mouse.move(
        caja["x"] + orilla + unidad * (x - izquierda), caja["y"] + orilla + unidad * (arriba - y)
    )
    pagina.mouse.up()


def test_lo_que_se_dice_del_terreno_es_lo_calculado(abrir):
    pagina = abrir(TERRENO)
    mando = pagina.get_by_role("slider")
    mando.fill(str(math.log2(0.7)))
    assert pagina.locator(".reading").inner_text().endswith("es una mezcla, no un recuerdo.")
    mando.fill("2")  # beta = 4
    fin = TERRENO.compute(beta=4.0)
    sitio = ", ".join(f"{x:.2f}" for x in fin["path"][-1].tolist())
    assert pagina.locator(".reading").inner_text() == (
        f"Con β = 4.00, se para tras {len(fin['path']) - 1} pasos, en ({sitio}): recuerda «mar»."
    )
    _lleva(pagina, -1.4, 0.3)
    assert pagina.locator(".reading").inner_text().endswith("recuerda «pan».")
    pagina.get_by_role("button", name="Volver al principio").click()
    assert leer(pagina, TERRENO)["state"] == {"state": [2, 1], "beta": 0.7}


def test_dando_pasos_se_llega_donde_dice_el_camino(abrir):
    pagina = abrir(TERRENO)
    camino = TERRENO.compute()["path"]
    boton = pagina.get_by_role("button", name="Dar un paso")
    for paso in camino[1:4]:
        boton.click()
        igual(leer(pagina, TERRENO)["state"]["state"], paso)
    pagina.get_by_role("slider").fill("4")
    for _ in range(20):
        if not boton.is_enabled():
            break
        boton.click()
    assert not boton.is_enabled(), "en el fondo no hay paso que dar"
