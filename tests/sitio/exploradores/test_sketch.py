"""El dígito que se dibuja, en Chromium."""

from __future__ import annotations

import re

import pytest
import torch
from explorando import contestado, devuelve_los_pesos, leer, quita_los_pesos
from muestras import HOJA, book_sketch

from atento.watching import watching

pytestmark = pytest.mark.navegador


def _corre(pagina, derecha: int = 0, abajo: int = 0) -> None:
    """Pulsa las flechas tantas veces como haga falta."""
    for cuanto, menos, mas in ((derecha, "a la izquierda", "a la derecha"),
                               (abajo, "hacia arriba", "hacia abajo")):  # fmt: skip
        boton = pagina.get_by_role("button", name=f"Correr {mas if cuanto > 0 else menos}")
        for _ in range(abs(cuanto)):
            boton.click()


def _lo_lee_como_pytorch(visto: dict, libro) -> None:
    """Lo de la página es lo del modelo: hasta 1e-4 con 32 bits, hasta 1e-9 con 64."""
    tinta, estado = torch.tensor(visto["state"]["levels"]), visto["state"]
    abajo, derecha = estado["down"], estado["right"]
    antes = tinta.roll((-abajo, -derecha), (0, 1))
    de_64 = libro.compute(antes, down=abajo, right=derecha, follow=estado["follow"])
    for nombre in ("probs", "looks", "patches"):
        obtenido = torch.tensor(visto["values"][nombre], dtype=torch.float64)
        assert obtenido.shape == de_64[nombre].shape
        assert (obtenido - de_64[nombre]).abs().max() <= 1e-9, nombre
    if not estado["follow"]:
        imagen = libro.blank + (libro.full - libro.blank) * tinta.float()[None, None] / 16
        with torch.no_grad(), watching(libro.model) as mapas:
            de_32 = libro.model(imagen)[0].softmax(-1)
        assert (torch.tensor(visto["values"]["probs"]) - de_32).abs().max() <= 1e-4
        for capa, mirado in enumerate(visto["values"]["looks"]):
            suyo = mapas[f"encoder.blocks.{capa}.attention"][0, :, 0]
            assert (torch.tensor(mirado) - suyo).abs().max() <= 1e-4


@pytest.mark.parametrize("explorador", [book_sketch(), HOJA], ids=["libro", "pequeño"])
def test_de_cada_hoja_la_pagina_dice_lo_que_pytorch(sumador, explorador):
    pagina = sumador(explorador)
    for digito, tinta in enumerate(explorador.levels):
        pagina.get_by_role("radio", name=str(digito), exact=True).first.click()
        visto = contestado(pagina)
        assert visto["state"]["levels"] == tinta.tolist()
        _lo_lee_como_pytorch(visto, explorador)
        _corre(pagina, derecha=1 + digito % 3, abajo=-(digito % 4))
        visto = contestado(pagina)
        corrida = tinta.roll((-(digito % 4), 1 + digito % 3), (0, 1))
        assert visto["state"]["levels"] == corrida.tolist()
        _lo_lee_como_pytorch(visto, explorador)
        pagina.get_by_role("checkbox").click()
        _lo_lee_como_pytorch(contestado(pagina), explorador)
        pagina.get_by_role("checkbox").click()


def test_la_pregunta_del_digito_se_contesta_moviendolo(sumador):
    """El 3 se reconoce corrido un píxel y no un parche; con sus posiciones, igual que al abrir."""
    libro = book_sketch()
    pagina = sumador(libro)
    dice = pagina.locator(".reading")
    _corre(pagina, derecha=1)
    contestado(pagina)
    assert re.fullmatch(r"Dice 3, con el 92\s%. Antes, con el 100\s%.", dice.inner_text())
    _corre(pagina, derecha=1)
    assert re.fullmatch(r"Dice 2, con el 99\s%. Antes decía 3, con el 92\s%.", dice.inner_text())
    posiciones = pagina.locator(".sketch-strip b")
    assert posiciones.all_inner_texts() == [str(k) for k in range(1, 17)]
    pagina.get_by_role("checkbox", name="Correr también las posiciones").check()
    assert re.fullmatch(r"Dice 3, con el 100\s%. Antes decía 2, con el 99\s%.", dice.inner_text())
    filas = [[4, 1, 2, 3], [8, 5, 6, 7], [12, 9, 10, 11], [16, 13, 14, 15]]
    assert posiciones.all_inner_texts() == [str(k) for fila in filas for k in fila]
    probs = torch.tensor(contestado(pagina)["values"]["probs"], dtype=torch.float64)
    assert (probs - libro.compute(libro.levels[3])["probs"]).abs().max() < 1e-9
    pagina.get_by_role("button", name="Volver a empezar").click()
    assert leer(pagina, libro)["state"]["levels"] == libro.levels[3].tolist()


def _traza(pagina, *puntos) -> None:
    """Dibuja con el ratón por esos puntos de la hoja, en píxeles de la imagen, de 0 a 8."""
    hoja = pagina.get_by_role("grid")
    hoja.scroll_into_view_if_needed()
    caja = hoja.bounding_box()
    sitios = [
        (caja["x"] + x / 8 * caja["width"], caja["y"] + y / 8 * caja["height"]) for x, y in puntos
    ]
    pagina.mouse.move(*sitios[0])
    pagina.mouse.down()
    for sitio in sitios[1:]:
        pagina.mouse.move(*sitio, steps=10)
    pagina.mouse.up()


def test_se_dibuja_un_siete_y_se_borra(sumador):
    libro = book_sketch()
    pagina = sumador(libro)
    pagina.get_by_role("radio", name="en blanco").click()
    visto = contestado(pagina)
    assert not any(map(any, visto["state"]["levels"]))
    assert re.fullmatch(r"Dice 7, con el 73\s%.", pagina.locator(".reading").inner_text())
    _traza(pagina, (2, 1), (6, 1), (3.5, 7))
    visto = contestado(pagina)
    tinta = torch.tensor(visto["state"]["levels"])
    assert int(tinta.max()) == 16 and 0 < int(tinta[tinta > 0].min()) < 16
    assert (tinta > 0).sum() < 32 and not tinta[4:, 6:].any()
    _lo_lee_como_pytorch(visto, libro)
    assert re.match(
        r"Dice 7, con el 9\d\s%. Antes, con el 73", pagina.locator(".reading").inner_text()
    )
    pagina.get_by_role("radio", name="Goma").click()
    _traza(pagina, (0, 1), (8, 1))
    sin = torch.tensor(contestado(pagina)["state"]["levels"])
    assert sin[0].sum() < tinta[0].sum() / 2 and torch.equal(sin[3:], tinta[3:])
    _lo_lee_como_pytorch(contestado(pagina), libro)


def test_con_el_dedo_se_dibuja_y_la_pagina_no_se_mueve(sumador):
    pagina = sumador(HOJA, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    celda = pagina.get_by_role("gridcell").nth(9)
    assert celda.evaluate("e => getComputedStyle(e).touchAction") == "pinch-zoom"
    antes = int(re.search(r"tinta (\d+)", celda.get_attribute("aria-label"))[1])
    celda.tap()
    visto = contestado(pagina)
    assert visto["state"]["levels"][1][1] > antes and visto["state"]["isDrawn"]
    _lo_lee_como_pytorch(visto, HOJA)


def test_con_el_teclado_se_pone_y_se_quita_un_pixel(sumador):
    pagina = sumador(HOJA)
    tinta = HOJA.levels[1]
    fila, columna = (tinta == 0).nonzero()[3].tolist()
    pagina.locator("[role=gridcell][tabindex='0']").focus()
    for tecla, veces in (("ArrowDown", fila), ("ArrowRight", columna)):
        for _ in range(veces):
            pagina.keyboard.press(tecla)
    leido = pagina.locator(".probe").inner_text()
    assert leido == f"Fila {fila + 1}, columna {columna + 1}: tinta 0 de 16; llega 0.00"
    for lleno in (16, 0):
        pagina.keyboard.press("Enter")
        visto = contestado(pagina)
        assert visto["state"]["levels"][fila][columna] == lleno
        _lo_lee_como_pytorch(visto, HOJA)
    assert visto["state"]["levels"] == tinta.tolist()


def test_encajar_centra_el_dibujo_y_lo_agranda(sumador):
    libro = book_sketch()
    pagina = sumador(libro)
    pagina.get_by_role("radio", name="en blanco").click()
    encajar = pagina.get_by_role("button", name="Encajar")
    assert encajar.is_disabled()
    _traza(pagina, (1, 1), (3, 1), (1.8, 4))  # un siete, arriba a la izquierda
    encajar.click()
    tinta = torch.tensor(contestado(pagina)["state"]["levels"])
    assert tinta[0].any() and tinta[7].any() and (tinta[:, :4].any() and tinta[:, 4:].any())
    assert re.match(r"Dice 7, con", pagina.locator(".reading").inner_text())
    _lo_lee_como_pytorch(contestado(pagina), libro)


def test_las_barras_y_los_mapas_del_digito_miden_lo_que_dicen(sumador):
    libro = book_sketch()
    pagina = sumador(libro)
    _corre(pagina, derecha=2)
    contestado(pagina)
    antes, ahora = (libro.compute(libro.levels[3], right=n) for n in (1, 2))
    barras = pagina.locator(".sketch-bars .lot")
    for i in range(10):
        parte, era = float(ahora["probs"][i]), float(antes["probs"][i])
        raya = barras.nth(i).locator(".bar").evaluate("e => e.style.getPropertyValue('--was')")
        assert abs(float(raya[:-1]) - 100 * era) < 1e-6
        assert barras.nth(i).locator(".tail").inner_text() == f"{int(100 * parte + 0.5)}\u00a0%"
    mapas = pagina.locator(".sketch-map")
    for capa in range(2):
        pagina.get_by_role("radiogroup", name="Capa").get_by_role("radio").nth(capa).click()
        assert mapas.count() == 4
        for cabeza in range(4):
            escritos = mapas.nth(cabeza).locator("span").all_inner_texts()
            pesos = ahora["looks"][capa, cabeza]
            assert escritos == [str(int(100 * p + 0.5)) for p in pesos[1:].tolist()]
            dicho = mapas.nth(cabeza).locator("xpath=..").get_attribute("aria-label")
            assert f"al parche {int(pesos[1:].argmax()) + 1}, el " in dicho


def test_los_pesos_del_digito_se_piden_al_tocar_y_una_vez(sumador):
    pagina = sumador(book_sketch())
    pedidos = []
    pagina.on("request", lambda peticion: pedidos.append(peticion.url))
    pagina.get_by_role("radio", name="Goma").click()
    pagina.wait_for_timeout(300)
    assert not pedidos and pagina.evaluate("window.atentoFiles") is None
    assert not pagina.locator(".sketch-bars").is_visible()
    _corre(pagina, derecha=2, abajo=1)
    contestado(pagina)
    assert len(pedidos) == 1 and "modelos/libro-" in pedidos[0]
    assert pagina.locator(".sketch-bars").is_visible()


def test_si_los_pesos_del_digito_no_llegan_se_dice_y_se_puede_repetir(abrir):
    pagina = abrir(HOJA)
    guardado = quita_los_pesos(pagina)
    _corre(pagina, derecha=1)
    pagina.get_by_text("Comprueba la red").first.wait_for()
    assert not leer(pagina, HOJA)["values"] and leer(pagina, HOJA)["state"]["right"] == 1
    devuelve_los_pesos(pagina, guardado)
    _corre(pagina, derecha=1)
    assert contestado(pagina)["state"]["right"] == 2


def test_en_papel_el_digito_sin_tocar_deja_su_tabla(sumador):
    pagina = sumador(HOJA)
    pagina.emulate_media(media="print")
    assert pagina.locator(".quiet table").is_visible() and not pagina.locator(".stage").is_visible()
    pagina.emulate_media(media="screen")
    _corre(pagina, derecha=1)
    contestado(pagina)
    pagina.emulate_media(media="print")
    assert pagina.locator(".sketch-bars").is_visible()
    assert not pagina.locator(".quiet").is_visible()
