"""Las cabezas, en Chromium."""

from __future__ import annotations

import pytest
from explorando import igual, leer
from muestras import CABEZAS

pytestmark = pytest.mark.navegador


def test_las_cabezas_miran_lo_que_en_python(abrir):
    pagina = abrir(CABEZAS)
    for frase, capa, cabeza, sin_marcas in [(0, 0, 0, False), (0, 1, 2, True), (2, 2, 1, False)]:
        pagina.evaluate(
            """([id, valores, sinMarcas]) => {
              const raiz = document.getElementById(id);
              raiz.querySelectorAll("[type=range]").forEach((mando, i) => {
                mando.value = valores[i] + 1;
                mando.dispatchEvent(new Event("input"));
              });
              const casilla = raiz.querySelector("[type=checkbox]");
              if (casilla.checked !== sinMarcas) casilla.click();
            }""", [CABEZAS.element_id, [frase, capa, cabeza], sin_marcas],
        )  # fmt: skip
        pagina.wait_for_function(
            "([id, frase]) => document.getElementById(id).atento.state.sentence === frase",
            arg=[CABEZAS.element_id, frase],
        )
        visto = leer(pagina, CABEZAS)
        assert visto["state"] == {
            "sentence": frase, "layer": capa, "head": cabeza, "word": -1, "bare": sin_marcas,
        }  # fmt: skip
        igual(visto["values"]["weights"], CABEZAS.look(frase, capa, cabeza, bare=sin_marcas))
        habitos = CABEZAS.habits(frase, capa, cabeza, bare=sin_marcas)
        assert visto["values"]["habits"] == pytest.approx([*habitos.values()], abs=1e-9)


def test_en_el_mapa_se_toca_una_cabeza_y_se_ven_las_lineas_de_una_palabra(abrir):
    pagina = abrir(CABEZAS)
    mapa = pagina.locator(".heads-map")
    caja = mapa.bounding_box()
    mapa.click(position={"x": caja["width"] * 0.5, "y": caja["height"] * 0.5})
    assert leer(pagina, CABEZAS)["state"]["head"] == 1
    assert pagina.get_by_role("slider").nth(1).input_value() == "2"
    pagina.get_by_role("radio", name="río").click()
    fila = CABEZAS.look(0, 1, 1)[4]
    lineas = int((fila >= 0.04).sum())
    assert pagina.locator(".heads-lines line").count() == lineas < 7
    escrito = pagina.locator(".heads-lines text").all_text_contents()[7:]
    palabras = CABEZAS.words[0]
    assert [t.split() for t in escrito] == [
        [palabra, str(int(100 * peso + 0.5)), "%"]
        for palabra, peso in zip(palabras, fila.tolist(), strict=True)
    ]
    dicho = pagina.locator(".reading").inner_text()
    assert f"«río» mira sobre todo a «{palabras[int(fila.argmax())]}»" in dicho


def test_si_las_demas_frases_no_llegan_se_dice_y_sigue_la_que_habia(abrir):
    pagina = abrir(CABEZAS)
    pagina.evaluate(
        """() => { for (const uno of document.querySelectorAll("[data-atento-file]")) {
          uno.textContent = ""; uno.dataset.url = "data:text/javascript,"; } }"""
    )
    mando = pagina.get_by_role("slider").first
    mando.focus()
    pagina.keyboard.press("End")
    pagina.get_by_text("Comprueba la red").first.wait_for()
    assert leer(pagina, CABEZAS)["state"]["sentence"] == 0 and mando.input_value() == "1"
