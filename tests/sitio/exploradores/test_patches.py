"""Los parches del sumador, en Chromium."""

from __future__ import annotations

import re

import pytest
import torch
from muestras import PARCHES

from atento import trained
from atento.interpret import patch_effects
from atento.tasks import addition
from atento.tasks.addition import Sum
from figuras.explorers import base
from figuras.explorers.patches import READS, WRITES

pytestmark = pytest.mark.navegador


def _parches(pagina) -> dict:
    pagina.wait_for_function("() => document.querySelector('.atento-exp').atento.values?.live")
    return pagina.evaluate("document.querySelector('.atento-exp').atento")


def _pon_sumas(pagina, limpia: Sum, corrompida: Sum) -> None:
    for nombre, suma in (("limpia", limpia), ("corrompida", corrompida)):
        for cual, numero in zip(("primer", "segundo"), suma[:2], strict=True):
            pagina.get_by_label(f"Suma {nombre}, {cual} número").fill(str(numero))


def _parchea_como_pytorch(visto: dict) -> None:
    """Cada parche, con 64 bits, hasta 1e-9; lo que vuelve, por `patch_effects` con el modelo de 32
    bits del capítulo, hasta 1e-4.
    """
    limpia, corrompida = (Sum(*suma) for suma in visto["state"]["pair"])
    valores, paso = visto["values"], visto["state"]["digit"]
    de_64 = PARCHES.compute(limpia, corrompida)
    for nombre in ("clean", "corrupted"):
        assert (torch.tensor(valores[nombre]) - de_64[nombre]).abs().max() <= 1e-4  # o redondeado
    assert valores["found"]
    for casilla, logits in valores["found"].items():
        s, i, j = map(int, casilla.split(","))
        obtenido = torch.tensor(logits, dtype=torch.float64)
        assert (obtenido - de_64[("read", "write")[s]][i, j]).abs().max() <= 1e-9, casilla
    modelo, uno, otro = trained.adder(), addition.batch([limpia]), addition.batch([corrompida])
    bueno, malo = (modelo(x.source, x.inputs)[0, paso].argmax() for x in (uno, otro))
    columnas = [[0, 4], [1, 5], [2, 6], [3], [7]], [[k] for k in range(5)]
    for s, sitios in enumerate((READS, WRITES)):
        vuelve = patch_effects(
            modelo, (uno.source, uno.inputs), (otro.source, otro.inputs),
            [sitio.site for sitio in sitios],
            lambda logits: (logits[0, paso, bueno] - logits[0, paso, malo]).item(),
            positions=columnas[s],
        ).restored  # fmt: skip
        for casilla, cuanto in valores["returned"].items():
            t, i, j = map(int, casilla.split(","))
            assert t != s or abs(vuelve[i, j].item() - cuanto) <= 1e-4, casilla


PAREJAS = [
    (Sum(458, 367), Sum(408, 317)), (Sum(458, 342), Sum(450, 340)), (Sum(459, 542), Sum(458, 541)),
    (Sum(312, 204), Sum(512, 204)), (Sum(458, 327), Sum(451, 324)), (Sum(7, 0), Sum(999, 999)),
]  # fmt: skip


def test_cada_parche_de_la_pagina_es_el_de_pytorch_con_ganchos(sumador):
    pagina = sumador(PARCHES)
    for pareja in PAREJAS:
        _pon_sumas(pagina, *pareja)
        _parches(pagina)
        pagina.get_by_role("button", name="Llenar el mapa").click()
        for cabezas, casillas in ((False, 45), (True, 105)):
            pagina.get_by_label("Cabeza a cabeza").set_checked(cabezas)
            visto = _parches(pagina)
            assert [tuple(x) for x in visto["state"]["pair"]] == [x[:2] for x in pareja]
            assert len(visto["values"]["found"]) == casillas
        _parchea_como_pytorch(visto)
        cifras = pagina.get_by_role("radiogroup", name="Cifra que se mide").get_by_role("radio")
        for k in range(cifras.count()):
            cifras.nth(k).click()
            _parchea_como_pytorch(_parches(pagina))
        pagina.get_by_label("Cabeza a cabeza").set_checked(False)
    pagina.get_by_role("button", name="Otra pareja").click()
    visto = _parches(pagina)
    assert visto["state"]["digit"] is not None and visto["values"]["found"] == {}
    pagina.get_by_role("button", name="Llenar el mapa").click()
    _parchea_como_pytorch(_parches(pagina))


def test_el_sumador_sin_parche_sigue_igual_tras_parchearlo(sumador):
    """Al quitar el parche no queda nada: la respuesta corrompida es la de antes."""
    pagina = sumador(PARCHES)
    casilla = pagina.get_by_role("grid", name="Al leer").get_by_role("gridcell").first
    escrito = pagina.locator(".pat-now td")
    casilla.click()
    visto = _parches(pagina)
    assert escrito.all_inner_texts() == ["0", "8", "2", "5"]
    assert casilla.inner_text() == base.number(visto["values"]["returned"]["0,7,0"]) == "0.99"
    assert visto["values"]["found"].keys() == {"0,7,0"}
    assert re.fullmatch(
        r"Tras leer, en cent\.: vuelve 0\.99\. En las centenas escribe 8, como la limpia\.",
        pagina.locator(".reading").inner_text(),
    )
    casilla.click()  # se quita, y queda lo que se vio
    assert _parches(pagina)["state"]["spot"] is None and casilla.inner_text() == "0.99"
    assert escrito.all_inner_texts() == ["0", "7", "2", "5"]
    de_64 = PARCHES.compute()["corrupted"]
    assert (torch.tensor(_parches(pagina)["values"]["corrupted"]) - de_64).abs().max() <= 1e-4


def test_la_pregunta_de_los_parches_se_contesta_tocando(sumador):
    pagina = sumador(PARCHES)
    leer, escribir = (pagina.get_by_role("grid", name=x) for x in ("Al leer", "Al escribir"))
    dicho = pagina.locator(".verdict")
    assert not dicho.is_visible()
    leer.get_by_role("gridcell", name="Tras leer, en dec.").click()
    _parches(pagina)
    assert dicho.inner_text() == "Esa no hace nada. Falta una que lo haga todo."
    leer.get_by_role("gridcell", name="Tras leer, en cent.").click()
    assert dicho.inner_text().startswith("Has encontrado una que lo hace todo")
    pagina.get_by_role("radio", name="todo nueves").click()
    assert not dicho.is_visible()
    pagina.get_by_role("button", name="Llenar el mapa").click()
    assert not dicho.is_visible(), "llenar el mapa no es buscar"
    visto = _parches(pagina)
    assert visto["state"]["digit"] == 3
    vuelve = visto["values"]["returned"]
    assert max(x for casilla, x in vuelve.items() if casilla[0] == "0") < 0.05
    assert vuelve["1,0,3"] > 0.95  # la última cifra escrita
    textos = [x.inner_text() for x in leer.get_by_role("gridcell").all()]
    assert len(textos) == 20 and all(abs(float(x.replace("−", "-"))) < 0.05 for x in textos)
    pagina.get_by_role("radio", name="unidades").click()
    pagina.get_by_label("Suma limpia, segundo número").fill("543")  # cambian las mismas cifras
    visto = _parches(pagina)
    assert visto["state"]["digit"] == 3 and visto["values"]["found"] == {}
    assert pagina.get_by_role("radio", name="millares").get_attribute("aria-checked") == "true"
    pagina.get_by_role("radio", name="todo nueves").click()
    pagina.get_by_role("radio", name="unidades").click()
    escribir.get_by_role("gridcell", name="Al entrar, en mill.").click()
    assert re.search("sigue el 9", pagina.locator(".reading").inner_text())
    for campo in ("primer", "segundo"):  # solo cifras, tres como mucho
        pagina.get_by_label(f"Suma corrompida, {campo} número").fill("a4-5.")
    assert _parches(pagina)["state"]["pair"] == [[459, 542], [45, 45]]
    _pon_sumas(pagina, Sum(459, 542), Sum(542, 459))
    assert "dan lo mismo" in pagina.locator(".reading").inner_text()
    assert _parches(pagina)["state"]["digit"] is None


def test_sin_tocarlo_los_parches_se_imprimen_hechos(sumador):
    """En papel, sin usar, la tabla quieta; usado, lo que se ve."""
    pagina = sumador(PARCHES)
    pagina.emulate_media(media="print")
    assert pagina.locator(".quiet").is_visible() and not pagina.locator(".stage").is_visible()
    pagina.emulate_media(media="screen")
    assert not pagina.locator(".quiet").is_visible()
    pagina.get_by_role("gridcell").first.click()
    _parches(pagina)
    pagina.emulate_media(media="print")
    assert not pagina.locator(".quiet").is_visible() and pagina.locator(".stage").is_visible()
