"""El presupuesto, en Chromium."""

from __future__ import annotations

import pytest
from explorando import leer
from muestras import TALLA

pytestmark = pytest.mark.navegador


def _elige(pagina, **pedido) -> None:
    """Lleva cada mando del presupuesto a un valor."""
    nombres = {
        "width": "Anchura",
        "layers": "Capas",
        "context": "Tokens por texto",
        "texts": "Textos por GPU",
        "processes": "GPU",
        "tokens": "Tokens en total",
        "use": "MFU",
    }
    for clave, valor in pedido.items():
        if clave == "stage":
            pagina.get_by_role("radio").nth(valor).click()
        elif clave in ("fused", "again"):
            pagina.get_by_role("checkbox").nth(int(clave == "again")).set_checked(valor)
        else:
            mando = pagina.get_by_role("slider", name=nombres[clave], exact=True)
            mando.fill(str(TALLA.data()["scales"][clave].index(valor)))


@pytest.mark.parametrize("pedido", [
    {},
    {"width": 64, "layers": 1, "context": 64, "texts": 512, "fused": False},
    {"width": 1600, "layers": 48, "again": True, "stage": 1, "processes": 512, "use": 10},
    {"width": 12288, "layers": 96, "context": 2048, "texts": 1, "stage": 3, "again": True,
     "processes": 64, "tokens": 3 * 10**11, "fused": True},
])  # fmt: skip
def test_el_presupuesto_de_la_pagina_es_el_de_python(abrir, pedido):
    pagina = abrir(TALLA)
    _elige(pagina, **pedido)
    visto, gemelo = leer(pagina, TALLA), TALLA.compute(**pedido)
    assert visto["state"] == TALLA.start | pedido
    for nombre, valor in gemelo.items():
        assert visto["values"][nombre] == pytest.approx(valor, rel=1e-12), nombre


def test_lo_que_se_dice_del_presupuesto_es_lo_calculado(abrir):
    pagina = abrir(TALLA)
    frase, fallo = pagina.locator(".reading"), pagina.locator(".verdict")
    total = sum(TALLA.compute()["memory"]) / 1e9
    assert frase.inner_text() == (
        f"124 millones de parámetros. En cada GPU, {total:.2f} GB de 80 GB: cabe."
        " Leer 10 mil millones de tokens llevaría 45 minutos."
    )
    assert TALLA.compute()["seconds"] == pytest.approx(45 * 60, rel=0.01) and fallo.is_hidden()
    pagina.get_by_role("button", name="GPT-3").click()
    assert fallo.inner_text() == "GPT-3 todavía no cabe."
    _elige(pagina, stage=3, again=True, processes=64)
    assert fallo.inner_text() == "✓ GPT-3 cabe, con 64 GPU."
    _elige(pagina, processes=32)
    assert fallo.inner_text() == "GPT-3 todavía no cabe."
