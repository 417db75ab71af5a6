"""El mapa, en Chromium."""

from __future__ import annotations

import re

import pytest
import torch
from explorando import leer
from muestras import MAPA, MAPA_ANCHO

from figuras.explorers import base

pytestmark = pytest.mark.navegador


TOCAR = """([id, parte, bloque]) => {
  const raiz = document.getElementById(id);
  raiz.querySelector('[aria-label="Parte del mapa"]').children[parte].click();
  const bloques = raiz.querySelector('[aria-label="Bloque"]');
  if (bloques && !bloques.children[bloque].hidden) bloques.children[bloque].click();
  return raiz.atento;
}"""


@pytest.mark.parametrize("explorador", [MAPA, MAPA_ANCHO], ids=["mapa", "mapa-ancho"])
def test_cada_parte_del_mapa_dice_lo_que_entra_y_lo_que_sale(abrir, explorador):
    pagina = abrir(explorador)
    for i, parte in enumerate(explorador.parts):
        for bloque in range(explorador.layers[parte.stack] if parte.stack else 1):
            visto = pagina.evaluate(TOCAR, [explorador.element_id, i, bloque])
            assert (visto["state"]["key"], visto["state"]["block"]) == (parte.key, bloque)
            for sentido, parejas in (("reads", parte.reads), ("gives", parte.gives)):
                for (_, nombre), tabla in zip(parejas, visto["values"][sentido], strict=True):
                    cierta = explorador.tables.get(nombre.format(b=bloque))
                    assert (tabla is None) == (cierta is None), nombre
                    if cierta is not None:
                        dada = torch.tensor(tabla, dtype=torch.float64)
                        assert (dada - cierta).abs().max() <= 5.1e-4, nombre
        ficha = pagina.locator(".part-card").inner_text()
        assert parte.says in ficha and "NaN" not in ficha and "undefined" not in ficha
        if parte.base:
            miles = f"{parte.base:,}".replace(",", "\u202f" if parte.base >= 10_000 else "")
            assert miles in ficha


def test_cada_boton_del_mapa_cae_sobre_su_parte(abrir):
    for ancho in (900, 390):
        pagina = abrir(MAPA, viewport={"width": ancho, "height": 900})
        lienzo = pagina.locator(".machine svg").bounding_box()
        botones = pagina.get_by_role("radiogroup", name="Parte del mapa").get_by_role("radio")
        for nombre, texto in (("Autoatención del codificador", "autoatención"),
                              ("Atención cruzada", "atención cruzada"),
                              ("Generador", "generador"), ("Memoria Z", "memoria Z")):  # fmt: skip
            caja = pagina.get_by_role("radio", name=nombre, exact=True).bounding_box()
            letras = pagina.locator(".machine svg text").filter(has_text=re.compile(f"^{texto}$"))
            dentro = [
                c for c in (letra.bounding_box() for letra in letras.all())
                if caja["x"] <= c["x"] + c["width"] / 2 <= caja["x"] + caja["width"]
                and caja["y"] <= c["y"] + c["height"] / 2 <= caja["y"] + caja["height"]
            ]  # fmt: skip
            assert len(dentro) == 1, (nombre, ancho)
        for boton in botones.all():
            caja = boton.bounding_box()
            assert min(caja["width"], caja["height"]) >= 24
            assert caja["x"] >= lienzo["x"] - 8


ROTULOS_DEL_MAPA = {
    ("embedding", 0): "Embedding del origen", ("embedding", 1): "Embedding del destino",
    ("autoatención", 0): "Autoatención del codificador",
    ("autoatención", 1): "Autoatención causal del decodificador",
    ("red densa", 0): "Red densa del codificador", ("red densa", 1): "Red densa del decodificador",
    ("posición p", 0): "Posiciones del origen", ("posición p", 1): "Posiciones del destino",
    ("atención cruzada", 1): "Atención cruzada", ("memoria Z", 0): "Memoria Z",
    ("generador", 1): "Generador", ("softmax", 1): "Softmax",
}  # fmt: skip


@pytest.mark.parametrize("ancho", [1280, 768, 700, 650, 600, 390])
def test_pulsar_en_un_rotulo_del_mapa_abre_su_parte(abrir, ancho):
    pagina = abrir(MAPA, viewport={"width": ancho, "height": 1400})
    lienzo = pagina.locator(".machine svg").bounding_box()
    for (texto, lado), titulo in ROTULOS_DEL_MAPA.items():
        letras = pagina.locator(".machine svg text").filter(has_text=re.compile(f"^{texto}$"))
        cajas = [letra.bounding_box() for letra in letras.all()]
        centros = [(c["x"] + c["width"] / 2, c["y"] + c["height"] / 2) for c in cajas]
        medio = lienzo["x"] + lienzo["width"] / 2
        (sitio,) = [(x, y) for x, y in centros if (x > medio) == bool(lado)]
        pagina.mouse.click(*sitio)
        assert pagina.locator(".part-name").inner_text() == titulo, (texto, lado)


def test_el_mapa_se_recorre_y_se_dice(abrir):
    pagina = abrir(MAPA)
    assert pagina.get_by_role("button", name="Anterior").is_disabled()
    pagina.get_by_role("button", name="Siguiente").click()
    assert leer(pagina, MAPA)["state"]["part"] == 1
    pagina.get_by_role("radio", name="Atención cruzada", exact=True).click()
    pagina.wait_for_function(
        "document.querySelector('[aria-live]').textContent.includes('h × n × m = 2 × 6 × 5')"
    )
    assert pagina.locator(".part-card a").get_attribute("href") == "#cruzada"
    pagina.get_by_role("radio", name="cabeza 2").click()
    peso = MAPA.compute("decoder.cross_attention")["gives"][0][1, 2, 3]
    pagina.locator(".part-card .cells").first.locator(".number").nth(2 * 5 + 3).hover()
    assert pagina.locator(".probe").inner_text() == (
        f"«do» pone en «casa» un peso de {base.number(peso)}"
    )
