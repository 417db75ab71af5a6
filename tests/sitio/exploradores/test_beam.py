"""La búsqueda en haz, en Chromium."""

from __future__ import annotations

import itertools

import pytest
import torch
from explorando import igual, leer
from muestras import HAZ, SOLO_UNA

from figuras.explorers import base

pytestmark = pytest.mark.navegador


BUSCAR = """([id, ancho, puntuacion]) => {
  const raiz = document.getElementById(id), elegir = (grupo, i) =>
    raiz.querySelector(`[aria-label="${grupo}"]`)?.children[i].click();
  elegir("Nota", puntuacion); elegir("Anchura", ancho);
  [...raiz.querySelectorAll("button")].find((b) => b.textContent === "Hasta el final").click();
  return raiz.atento;
}"""


@pytest.mark.parametrize("explorador", [HAZ, SOLO_UNA], ids=["haz", "solo-una"])
def test_el_haz_es_el_de_python(abrir, explorador):
    pagina = abrir(explorador)
    for (i, ancho), (j, rotulo) in itertools.product(
        enumerate(explorador.widths), enumerate(explorador.labels)
    ):
        visto = pagina.evaluate(BUSCAR, [explorador.element_id, i, j])
        nodos = explorador.compute(ancho, rotulo)
        assert [(n["parent"], n["step"], n["word"], n["text"], n["fate"])
                for n in visto["values"]["nodes"]] == [
            (n.parent, n.step, n.word, n.text, n.fate) for n in nodos]  # fmt: skip
        igual([n["logProb"] for n in visto["values"]["nodes"]],
               torch.tensor([n.log_prob for n in nodos], dtype=torch.float64))  # fmt: skip
        acabadas = explorador.finished(ancho, rotulo)
        assert [n["text"] for n in visto["values"]["finished"]] == [n.text for n in acabadas]
        igual(
            [n["scores"] for n in visto["values"]["finished"]],
            torch.tensor(
                [[explorador.score(n, r) for r in explorador.labels] for n in acabadas],
                dtype=torch.float64,
            ),
        )
        assert visto["values"]["goal"] == explorador.goal(rotulo)
        assert visto["values"]["reached"] == (ancho == explorador.goal(rotulo))
        escrita = pagina.locator(".top :is(th, td)").all_inner_texts()
        ganadora = explorador.winner(ancho, rotulo)
        assert escrita == [
            f"✓ {ganadora.text}",
            str(ganadora.length),
            *(base.number(explorador.score(ganadora, r), 3) for r in explorador.labels),
        ]


def test_el_haz_se_anda_con_el_teclado_y_contesta(abrir):
    pagina = abrir(HAZ)
    anchura = pagina.get_by_role("radiogroup", name="Anchura")
    anchura.get_by_role("radio").first.focus()
    pagina.keyboard.press("ArrowRight")
    assert leer(pagina, HAZ)["state"] == {"width": 2, "label": "suma", "step": 0}
    assert pagina.get_by_role("button", name="Anterior").is_disabled()
    ultimo = max(n.step for n in HAZ.compute(2))
    for paso in range(ultimo):
        assert "✓" not in pagina.locator(".verdict").inner_text()
        candidatos = [n for n in HAZ.compute(2) if n.step == paso]
        assert pagina.locator(".sheet").first.locator("tbody tr").count() == len(candidatos)
        assert pagina.locator(".leaf").count() == sum(n.step <= paso for n in HAZ.compute(2))
        pagina.get_by_role("button", name="Siguiente").press("Enter")
    assert pagina.get_by_role("button", name="Siguiente").is_disabled()
    veredicto = pagina.locator(".verdict").inner_text()
    assert veredicto == (
        "✓ Conseguido: con anchura 2 gana «nada .», 1.20 veces más probable que con anchura 1."
    )
    pagina.wait_for_function(
        "document.querySelector('[aria-live]').textContent.includes('Conseguido')"
    )
    pagina.locator(".leaf").nth(1).hover()
    assert pagina.locator(".probe").inner_text().startswith("«nada»: log-probabilidad −0.916")


def test_los_candidatos_del_haz_no_se_tapan_y_caben_en_su_marco(abrir):
    pagina = abrir(HAZ, viewport={"width": 390, "height": 844})
    for ancho in range(3):
        pagina.evaluate(BUSCAR, [HAZ.element_id, ancho, 0])
        cajas = pagina.locator(".leaf").evaluate_all(
            "hojas => hojas.map((e) => [e.offsetLeft, e.offsetTop, e.offsetWidth, e.offsetHeight,"
            " e.scrollWidth])"
        )
        for (x, y, ancha, alta, texto), (x2, y2, *_) in itertools.combinations(cajas, 2):
            assert abs(x - x2) >= ancha or abs(y - y2) >= alta
            assert texto <= ancha
