"""El flujo residual, en Chromium."""

from __future__ import annotations

import itertools

import pytest
import torch
from explorando import igual
from muestras import FLUJO, FLUJO_ANCHO

from figuras.explorers import base

pytestmark = pytest.mark.navegador


ELEGIR = """([id, palabra, pila, subcapa]) => {
  const raiz = document.getElementById(id), elegir = (grupo, i) =>
    raiz.querySelector(`[aria-label="${grupo}"]`)?.children[i].click();
  elegir("Palabra", palabra); elegir("Pila", pila); elegir("Subcapa", subcapa);
  return raiz.atento;
}"""


@pytest.mark.parametrize("explorador", [FLUJO, FLUJO_ANCHO], ids=["flujo", "ancho"])
def test_el_flujo_calcula_lo_mismo_que_python(abrir, explorador):
    pagina = abrir(explorador)
    for pila_, (rotulo, subcapas) in enumerate(explorador.stacks.items()):
        for palabra, subcapa in itertools.product(
            range(len(explorador.words)), range(len(subcapas))
        ):
            visto = pagina.evaluate(ELEGIR, [explorador.element_id, palabra, pila_, subcapa])
            assert visto["state"]["label"] == rotulo and visto["state"]["sublayer"] == subcapa
            filas = explorador.compute(rotulo, palabra)
            for hecha, gemela in zip(visto["values"]["rows"], filas, strict=True):
                for clave, vector in gemela.items():
                    igual(hecha[clave], vector)


def _escrito(pagina, selector: str) -> list[str]:
    return pagina.locator(selector).all_inner_texts()


@pytest.mark.parametrize(
    ("pila_", "tiras"),
    [(0, ["before", "read", "added", "total"]), (1, ["before", "added", "total", "after"])],
)
def test_lo_escrito_en_el_flujo_es_lo_calculado(abrir, pila_, tiras):
    pagina, rotulo = abrir(FLUJO), list(FLUJO.stacks)[pila_]
    for palabra, subcapa in ((0, 0), (3, 2), (1, 3)):
        pagina.evaluate(ELEGIR, [FLUJO.element_id, palabra, pila_, subcapa])
        filas = FLUJO.compute(rotulo, palabra)
        vectores = [filas[subcapa][clave].tolist() for clave in tiras]
        numeros = _escrito(pagina, ".strips .rods > span")
        assert numeros == [base.number(v) for vector in vectores for v in vector]
        normas = [base.number(filas[subcapa][clave].norm()) for clave in tiras]
        assert _escrito(pagina, ".strip-name .tail") == normas
        quedan = [FLUJO.x[palabra], *(fila["after"] for fila in filas)]
        assert _escrito(pagina, ".depths .tail") == [base.number(v.norm()) for v in quedan]
        dichas = pagina.locator(".strips [role=img]").evaluate_all(
            "tiras => tiras.map((t) => t.getAttribute('aria-label'))"
        )
        assert [d.split(": ")[1] for d in dichas] == [
            ", ".join(f"{n} {base.number(v)}" for n, v in zip(FLUJO.features, vector, strict=True))
            for vector in vectores
        ]
        dicha = pagina.get_by_role("radiogroup", name="Subcapa").get_by_role("radio").nth(2)
        assert dicha.get_attribute("aria-label").endswith(base.number(filas[2]["after"].norm()))
        proporcion = f"{100 * FLUJO.shares(rotulo, palabra)[subcapa]:.0f}\u00a0%"
        assert proporcion in pagina.locator(".adds").inner_text()


def test_las_columnas_miden_lo_que_dicen(abrir):
    pagina = abrir(FLUJO)
    pagina.evaluate(ELEGIR, [FLUJO.element_id, 3, 0, 1])
    fila = FLUJO.compute("Pre-LN", 3)[1]
    mayor = max(float(v.abs().max()) for v in fila.values())
    cajas = pagina.locator(".strips .stem").evaluate_all(
        "tallos => tallos.map((t) => [t.offsetHeight, t.parentNode.offsetHeight, t.offsetTop])"
    )
    valores = torch.cat([fila[k] for k in ("before", "read", "added", "total")]).tolist()
    for (alto, hueco, arriba), valor in zip(cajas, valores, strict=True):
        assert abs(alto - max(1, hueco / 2 * abs(valor) / mayor)) <= 1.01
        assert abs(arriba - (hueco / 2 - (alto if valor > 0 else 0))) <= 1.01


def test_el_flujo_se_recorre(abrir):
    pagina, subcapas = abrir(FLUJO), FLUJO.stacks["Pre-LN"]
    assert pagina.get_by_role("button", name="Anterior").is_disabled()
    for subcapa in subcapas[1:]:
        pagina.get_by_role("button", name="Siguiente").click()
        assert pagina.locator(".detail-move b").inner_text() == subcapa.label
        assert f"la {subcapa.name}, el " in pagina.locator(".adds").inner_text()
    assert pagina.get_by_role("button", name="Siguiente").is_disabled()
    ultima = FLUJO.compute("Post-LN")[-1]["after"].norm()
    pagina.get_by_role("radio", name="Post-LN").click()
    assert pagina.locator(".reading").inner_text().endswith(f"queda {base.number(ultima)}.")


def test_una_palabra_sin_nada_en_el_flujo_se_dice(abrir):
    pagina = abrir(FLUJO_ANCHO)
    assert "donde no había nada" in pagina.locator(".adds").inner_text()
    assert "∞" not in pagina.locator(".stage").inner_text()
    assert "NaN" not in pagina.locator(".stage").inner_html()


def test_la_barra_dice_la_cuenta_de_una_componente(abrir):
    pagina, fila = abrir(FLUJO), FLUJO.compute()[0]
    pagina.locator(".strips .strip").last.locator(".rods > span").nth(2).hover()
    antes, suma = (base.number(fila[k][2]) for k in ("before", "total"))
    dicho = pagina.locator(".probe").inner_text()
    assert dicho.startswith(f"número: {antes} + ") and dicho.endswith(f"= {suma}")
