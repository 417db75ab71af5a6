"""Los dígitos que se mueven, en Chromium."""

from __future__ import annotations

import re

import pytest
import torch
from explorando import devuelve_los_pesos, leer, quita_los_pesos
from muestras import REPARTO, book_claims

from atento.models.detr import assign, matching_cost
from figuras.explorers import base

pytestmark = pytest.mark.navegador


def _reparto(pagina) -> dict:
    """Lo que deja el explorador, cuando el modelo vivo ya ha contestado."""
    pagina.wait_for_function("() => document.querySelector('.atento-exp').atento.values?.live")
    return pagina.evaluate("document.querySelector('.atento-exp').atento")


def _reparte_como_pytorch(visto: dict, libro) -> None:
    """Lo que contesta, cuesta y reparte la página es lo del modelo y lo de la biblioteca: hasta
    1e-4 con 32 bits, hasta 1e-9 con 64.
    """
    objetos, valores = visto["state"]["objects"], visto["values"]
    de_64 = libro.compute(objetos)
    for nombre in ("probs", "boxes", "costs", "parts"):
        obtenido = torch.tensor(valores[nombre], dtype=torch.float64)
        assert obtenido.shape == de_64[nombre].shape
        assert (obtenido - de_64[nombre]).abs().max() <= 1e-9, nombre
    imagen, clases, cajas = libro.draw(objetos)
    with torch.no_grad():
        de_32 = libro.model(imagen.float()[None, None])
    assert (torch.tensor(valores["probs"]) - de_32.logits[0].softmax(-1)).abs().max() <= 1e-4
    assert (torch.tensor(valores["boxes"]) - de_32.boxes[0]).abs().max() <= 1e-4
    cuesta = matching_cost(de_32, clases, cajas.float(), libro.model.config)[0]
    assert (torch.tensor(valores["costs"]) - cuesta).abs().max() <= 1e-4
    (pareja,) = assign(de_32, [(clases, cajas.float())], libro.model.config)
    de_quien = dict(zip(pareja.columns.tolist(), pareja.rows.tolist(), strict=True))
    assert valores["owners"] == [de_quien[i] for i in range(len(objetos))]


def _empuja(pagina, cual: int, *teclas: str) -> None:
    pagina.locator(".grip").nth(cual).focus()
    for tecla in teclas:
        pagina.keyboard.press(tecla)


@pytest.mark.parametrize("explorador", [book_claims(), REPARTO], ids=["libro", "pequeño"])
def test_de_cada_escena_la_pagina_contesta_cuesta_y_reparte_como_pytorch(sumador, explorador):
    pagina = sumador(explorador)
    vistos = set()
    for cual, teclas, clase in (
        (1, ["ArrowRight"], None),
        (1, ["Shift+ArrowRight"], None),
        (0, ["Shift+ArrowDown"] * 3, None),
        (2, ["Shift+ArrowDown", "ArrowLeft"], 1),
        (1, ["Shift+ArrowLeft"] * 8, None),
        (0, ["Shift+ArrowLeft"] * 5, -1),
    ):
        _empuja(pagina, cual, *teclas)
        if clase is not None:
            pagina.get_by_role("radiogroup").get_by_role("radio").nth(clase).click()
        visto = _reparto(pagina)
        _reparte_como_pytorch(visto, explorador)
        vistos.add(str(visto["state"]["objects"]))
    pagina.get_by_role("button", name="Añadir uno").click()
    visto = _reparto(pagina)
    assert len(visto["state"]["objects"]) == 4
    _reparte_como_pytorch(visto, explorador)
    for quedan in (3, 2, 1):
        pagina.get_by_role("button", name="Quitar el elegido").click()
        visto = _reparto(pagina)
        assert len(visto["state"]["objects"]) == quedan
        _reparte_como_pytorch(visto, explorador)
    assert len(vistos) == 6 and pagina.get_by_role("button", name="Quitar").is_disabled()
    pagina.get_by_role("button", name="Volver a empezar").click()
    assert _reparto(pagina)["state"]["objects"] == [list(uno) for uno in explorador.start]
    _reparte_como_pytorch(_reparto(pagina), explorador)


def _en_el_lienzo(pagina, x: float, y: float) -> tuple[float, float]:
    """Dónde está en la página un punto del lienzo, en píxeles de la imagen."""
    lienzo = pagina.locator(".cla-plane")
    lienzo.scroll_into_view_if_needed()
    caja = lienzo.bounding_box()
    return caja["x"] + x / 40 * caja["width"], caja["y"] + y / 40 * caja["height"]


def test_la_pregunta_del_dueno_se_contesta_arrastrando(sumador):
    """El 7 es de la 10; seis píxeles a la derecha, de la 5; al fondo, de la 12."""
    libro = book_claims()
    pagina = sumador(libro)
    dice = pagina.locator(".reading")
    camino = pagina.locator(".cla-path").nth(1)
    assert camino.inner_text() == "10"
    pagina.mouse.move(*_en_el_lienzo(pagina, 15, 33))
    pagina.mouse.down()
    pagina.mouse.move(*_en_el_lienzo(pagina, 17, 33))
    assert _reparto(pagina)["state"]["objects"][1] == [1, 13, 27]
    assert re.fullmatch(
        r"El 7 \(B\) es de la consulta 10, que dice 7 con el 100\s%\.", dice.inner_text()
    )
    pagina.mouse.move(*_en_el_lienzo(pagina, 20, 33))
    assert re.fullmatch(
        r"El 7 \(B\) cambia de dueño: era de la 10 y es de la consulta 5, que dice 7 con el 93\s%\."
        r" Sobra la 10\.", dice.inner_text()
    )  # fmt: skip
    pagina.mouse.move(*_en_el_lienzo(pagina, 60, 33), steps=8)  # fuera: se queda en el borde
    pagina.mouse.up()
    visto = _reparto(pagina)
    assert visto["state"]["objects"][1] == [1, 32, 27] and camino.inner_text() == "10 → 5 → 12"
    _reparte_como_pytorch(visto, libro)
    pagina.mouse.move(*_en_el_lienzo(pagina, 5, 5))  # ya está suelto
    assert _reparto(pagina)["state"] == visto["state"]


def test_con_el_dedo_se_arrastra_un_digito_y_la_pagina_no_se_mueve(sumador):
    pagina = sumador(
        REPARTO, viewport={"width": 390, "height": 500}, has_touch=True, is_mobile=True
    )
    asidero = pagina.locator(".grip").first
    assert asidero.evaluate("e => getComputedStyle(e).touchAction") == "none"
    (_, x, y), *_ = REPARTO.start
    alto, ancho = REPARTO.stamps[0].ink.shape
    sitio = _en_el_lienzo(pagina, x + ancho / 2, y + alto / 2)
    antes = pagina.evaluate("scrollY")
    lado = pagina.locator(".cla-plane").bounding_box()["width"] / 40
    dedo = pagina.context.new_cdp_session(pagina)
    hacia = 1 if y < 14 else -1
    for tipo, paso in (("touchStart", 0), *(("touchMove", k) for k in range(1, 6))):
        punto = {"x": sitio[0], "y": sitio[1] + hacia * paso * lado}
        dedo.send("Input.dispatchTouchEvent", {"type": tipo, "touchPoints": [punto]})
    dedo.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    visto = _reparto(pagina)
    assert visto["state"]["objects"][0] == [0, x, y + 5 * hacia]
    assert pagina.evaluate("scrollY") == antes
    _reparte_como_pytorch(visto, REPARTO)


def test_el_lienzo_y_la_tabla_del_reparto_ensenan_lo_que_dicen(sumador):
    libro = book_claims()
    pagina = sumador(libro)
    for teclas in ([], ["ArrowRight"] * 5):  # al abrirse, y cuando contestan dos a la vez
        _empuja(pagina, 1, *teclas)
        if teclas:
            _reparto(pagina)
        objetos = pagina.evaluate("document.querySelector('.atento-exp').atento.state.objects")
        hallado = libro.compute(objetos)
        notas, clases = hallado["probs"][:, :-1].max(dim=1)
        dicen = (notas > 0.5).nonzero().flatten().tolist()
        rotulos = [f"{q + 1}: {clases[q]}, {100 * notas[q]:.0f}\u00a0%" for q in dicen]
        assert pagina.locator(".cla-answers text").all_text_contents() == rotulos
        sobran = len(set(dicen) - set(hallado["owners"].tolist()))
        assert pagina.locator(".cla-spare").count() == sobran == bool(teclas)
        llenos = [str(q + 1) for q in sorted(hallado["owners"].tolist())]
        assert pagina.locator(".cla-owner text").all_text_contents() == llenos
        filas = pagina.locator(".cla-costs tbody tr")
        consultas = [int(x) - 1 for x in filas.locator("th").all_inner_texts()]
        assert consultas == libro.relevant(hallado)
        escritos = pagina.get_by_role("gridcell").all_inner_texts()
        assert escritos == [base.number(x) for q in consultas for x in hallado["costs"][q].tolist()]
        mias = pagina.get_by_role("gridcell").evaluate_all(
            "celdas => celdas.map((c) => c.classList.contains('cla-mine'))"
        )
        assert mias == [q == dueno for q in consultas for dueno in hallado["owners"].tolist()]


def test_al_tocar_una_casilla_se_ve_de_que_se_compone(sumador):
    libro = book_claims()
    pagina = sumador(libro)
    hallado = libro.compute(libro.start)
    suma, consultas = pagina.locator(".cla-sum"), libro.relevant(hallado)
    for q, i in ((9, 1), (11, 0), (6, 1)):
        celda = pagina.get_by_role("gridcell").nth(3 * consultas.index(q) + i)
        celda.click()
        assert celda.get_attribute("aria-selected") == "true"
        assert suma.locator("b").all_inner_texts() == [
            base.number(x) for x in hallado["parts"][q, i].tolist()
        ]
        assert (
            f"Consulta {q + 1} y {'ABC'[i]}: {base.number(float(hallado['costs'][q, i]))}"
            in suma.inner_text()
        )
        assert base.number(float(hallado["parts"][q, i, 2])) in celda.get_attribute("aria-label")
    assert pagina.locator(".cla-quiet").count() == 1  # la 7 no dice nada: se ve su caja, a puntos
    celda.click()
    assert (
        celda.get_attribute("aria-selected") == "false" and not pagina.locator(".cla-quiet").count()
    )
    assert not pagina.evaluate("window.atentoFiles"), "mirar lo ya contestado no pide el modelo"


def test_el_foco_no_se_pierde_si_se_va_la_fila_de_la_casilla(sumador):
    """La 7 solo se ve porque está elegida: al soltarla, su fila se va."""
    libro = book_claims()
    pagina = sumador(libro)
    filas = pagina.locator(".cla-costs tbody th")
    pagina.get_by_role("gridcell", name="Consulta 7 y B").click()
    _empuja(pagina, 1, "Shift+ArrowRight", "Shift+ArrowRight")
    visto = _reparto(pagina)
    hallado = libro.compute(visto["state"]["objects"])
    assert 6 not in libro.relevant(hallado) and "7" in filas.all_inner_texts()
    celda = pagina.get_by_role("gridcell", name="Consulta 7 y B")
    assert celda.inner_text() == base.number(float(hallado["costs"][6, 1]))
    celda.focus()
    pagina.keyboard.press("Enter")
    assert "7" not in filas.all_inner_texts()
    assert pagina.evaluate("document.activeElement.getAttribute('role')") == "gridcell"


def test_si_cambia_de_dueno_otro_se_dice(sumador):
    """Al subir el 7 junto al 3 de arriba, es el 3 el que cambia."""
    libro = book_claims()
    pagina = sumador(libro)
    _empuja(pagina, 1, *["Shift+ArrowUp"] * 2, *["ArrowUp"] * 3)  # de la fila 27 a la 14
    _reparto(pagina)
    assert pagina.locator(".cla-path").all_inner_texts() == ["8", "10 → 6", "2"]
    _empuja(pagina, 1, "ArrowUp", "ArrowUp")
    dice = pagina.locator(".reading").inner_text()
    assert pagina.locator(".cla-path").all_inner_texts() == ["8", "10 → 6", "2 → 9"]
    assert dice.startswith("El 7 (B) es de la consulta 6, que dice 7 con el ")
    assert dice.endswith("Se tocan: al entrenar no los vio así.") and len(dice) < 160


def test_los_pesos_del_reparto_se_piden_al_mover_y_una_vez(sumador):
    libro = book_claims()
    pagina = sumador(libro)
    pedidos = []
    pagina.on("request", lambda peticion: pedidos.append(peticion.url))
    pagina.locator(".grip").nth(2).focus()
    pagina.wait_for_timeout(300)
    assert not pedidos and pagina.evaluate("window.atentoFiles") is None
    visto = pagina.evaluate("document.querySelector('.atento-exp').atento.values")
    primero = libro.compute(libro.start)
    assert (torch.tensor(visto["costs"]) - primero["costs"]).abs().max() < 2e-4
    assert visto["owners"] == primero["owners"].tolist() and not visto["live"]
    _empuja(pagina, 2, "ArrowDown", "ArrowDown")
    _reparto(pagina)
    assert len(pedidos) == 1 and "modelos/libro-" in pedidos[0]


def test_si_los_pesos_del_reparto_no_llegan_se_dice_y_se_puede_repetir(abrir):
    pagina = abrir(REPARTO)
    guardado = quita_los_pesos(pagina)
    _empuja(pagina, 0, "ArrowRight")
    pagina.get_by_text("Comprueba la red").first.wait_for()
    assert not leer(pagina, REPARTO).get("values") and not pagina.locator(".cla-costs").is_visible()
    devuelve_los_pesos(pagina, guardado)
    _empuja(pagina, 0, "ArrowRight")
    assert _reparto(pagina)["state"]["objects"][0][1] == min(40, REPARTO.start[0].x + 2)
