"""Los caminos, en Chromium."""

from __future__ import annotations

import pytest
from explorando import leer
from muestras import CAMINOS, WORDS

from figuras import explorers

pytestmark = pytest.mark.navegador


def test_los_caminos_son_los_de_python_con_todas_las_palabras(abrir):
    pagina = abrir(CAMINOS)
    for inicio, fin, filtro in [(0, 4, 2), (1, 4, 3), (0, 1, 5), (2, 4, 2), (0, 3, 4)]:
        visto = pagina.evaluate(
            """([id, inicio, fin, filtro]) => {
              const raiz = document.getElementById(id), grupo = (nombre, i) =>
                raiz.querySelector(`[aria-label="${nombre}"]`).children[i].click();
              grupo("Desde", inicio); grupo("Hasta", fin - 1); grupo("Desde", inicio);
              const mando = raiz.querySelector("[type=range]");
              mando.value = filtro; mando.dispatchEvent(new Event("input"));
              return raiz.atento;
            }""", [CAMINOS.element_id, inicio, fin, filtro],
        )  # fmt: skip
        assert visto["state"] == {"start": inicio, "end": fin, "kernel": filtro}
        caminos = CAMINOS.route(inicio, fin, filtro)
        assert {nombre: visto["values"][nombre] for nombre in caminos} == caminos
        assert visto["values"]["reached"] == CAMINOS.reached(inicio, fin, filtro)


def test_la_pregunta_de_los_caminos_se_contesta_con_el_teclado(abrir):
    pagina = abrir(CAMINOS)
    mando = pagina.get_by_role("slider")
    mando.focus()
    assert "✓" not in pagina.locator(".verdict").inner_text()
    mando.press("ArrowRight")
    assert (
        leer(pagina, CAMINOS)["values"]["reached"]
        and "✓" in pagina.locator(".verdict").inner_text()
    )
    pagina.get_by_role("radiogroup", name="Hasta").get_by_role(
        "radio"
    ).first.click()  # no se cruzan
    estado = leer(pagina, CAMINOS)["state"]
    assert (estado["start"], estado["end"]) == (0, 1)
    assert "✓" not in pagina.locator(".verdict").inner_text()  # no son las palabras de la pregunta
    assert "La pregunta es de" in pagina.locator(".verdict").inner_text()


def _veredictos(pagina, maximo: int) -> list[str]:
    mando, dichos = pagina.get_by_role("slider"), []
    mando.focus()
    for _ in range(maximo - 1):
        dichos.append(pagina.locator(".verdict").inner_text())
        mando.press("ArrowRight")
    return dichos


def test_el_veredicto_de_los_caminos_concuerda_y_dice_si_hay_un_filtro_menor(abrir):
    una = explorers.paths(WORDS, kernel=2, goal=1, name="una")
    pagina = abrir(una)
    dichos = _veredictos(pagina, 5)
    assert "basta 1 capa" in dichos[-1] and "Se pide 1" in dichos[0]
    dos = explorers.paths(WORDS, start=0, end=1, kernel=2, goal=1, name="dos")
    pagina = abrir(dos)
    dichos = _veredictos(pagina, 3)
    assert dichos[0].endswith("basta 1 capa.") and "uno menor" not in dichos[0]
    assert "hay un filtro menor" in dichos[1] and "✓" not in dichos[1]


def test_los_caminos_nombran_sus_puntas_y_dicen_si_se_empuja_la_otra(abrir):
    pagina = abrir(explorers.paths(WORDS, start=2, kernel=2, name="puntas"))
    assert pagina.locator(".ends").first.locator("text").all_text_contents() == [
        WORDS[2], WORDS[4]
    ]  # fmt: skip
    assert pagina.locator("path.head").count() == 2 + 2 + 1
    pagina.get_by_role("radiogroup", name="Hasta").get_by_role("radio").first.click()
    assert "«Desde» pasa a" in pagina.locator("main").inner_text()
