"""El rango, en Chromium."""

from __future__ import annotations

import pytest
import torch
from explorando import leer
from muestras import RANGO

pytestmark = pytest.mark.navegador


def test_en_cada_rango_la_pagina_aproxima_como_pytorch(abrir):
    pagina = abrir(RANGO)
    mando = pagina.get_by_role("slider")
    for rango in range(RANGO.most + 1):
        mando.fill(str(rango))
        visto, gemelo = leer(pagina, RANGO), RANGO.compute(rango)
        assert visto["state"]["rank"] == rango and visto["values"]["cost"] == gemelo["cost"]
        for nombre in ("approx", "shares"):
            obtenido = torch.tensor(visto["values"][nombre], dtype=torch.float64)
            assert (obtenido - gemelo[nombre]).abs().max() <= 1e-9, (rango, nombre)


def test_lo_que_se_dice_del_rango_es_lo_calculado(abrir):
    pagina = abrir(RANGO)
    pagina.get_by_role("slider").fill("4")
    recoge = int(100 * float(RANGO.compute(4)["shares"][4]) + 0.5)
    dicho = pagina.locator(".reading").inner_text().replace("\u00a0", " ")
    assert dicho == (
        f"Rango 4: 176 números de 480, el 37 %. Recoge el {recoge} %. Así acierta el 94 %."
    )
    assert recoge > 95  # son cuatro direcciones y algo de ruido
    nombres = pagina.locator(".chart .names span").all_inner_texts()
    assert sorted(nombres) == ["W", "al azar", "barajado", "el mejor", "ΔW"]


def test_tocar_el_grafico_elige_el_rango(abrir):
    pagina = abrir(RANGO)
    for k, sitio in ((0, 9), (1, 3)):
        grafico = pagina.locator(".plot").nth(k)
        caja = grafico.bounding_box()
        grafico.click(position={"x": caja["width"] * sitio / RANGO.most, "y": caja["height"] / 2})
        assert leer(pagina, RANGO)["state"]["rank"] == sitio
        assert pagina.get_by_role("slider").input_value() == str(sitio)
