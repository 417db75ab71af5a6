"""Capítulo 4: el explorador de la softmax. Los ejercicios se prueban en ``tests/calificador``."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
import torch

from atento.explorers import softmax_explorer

CLAVES = ["time", "flies", "like", "an", "arrow"]


def _explorador(filas: int = 3):
    scores = 8 * torch.randn(filas, 5, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    return softmax_explorer(scores, CLAVES, queries=CLAVES[:filas], d_k=64, name="prueba")


def test_el_explorador_es_pequeno_repetible_y_sin_red():
    marcado = _explorador()._repr_mimebundle_()
    assert marcado == _explorador()._repr_mimebundle_()
    assert len(marcado["text/html"].encode()) < 9000
    assert not re.search(r"https?://|src=|@import|url\(", marcado["text/html"])
    assert "@" not in re.sub(r"@media", "", marcado["text/html"])
    assert marcado["text/plain"].startswith("Explorador de la softmax: 3 consultas y 5 claves")
    assert 'aria-live="polite"' in marcado["text/html"] and "prefers-reduced-motion" in marcado["text/html"]


def test_el_explorador_sin_javascript_dice_los_pesos():
    explorador = _explorador()
    for temperatura, escalada in ((1.0, True), (1.0, False), (4.0, True)):
        for peso in explorador.weights(0, temperatura, escalada).tolist():
            assert f"<td>{peso:.3f}</td>" in explorador._repr_html_()


def test_el_explorador_escapa_los_rotulos():
    marcado = softmax_explorer(torch.tensor([1.0, 2.0]), ["</script><b>", "y"], d_k=4)._repr_html_()
    assert "<b>" not in marcado and marcado.count("</script>") == 1


@pytest.mark.parametrize(
    ("cambios", "nombra"),
    [
        ({"scores": torch.zeros(2, 2, 2)}, "scores"),
        ({"scores": torch.tensor([1.0, float("inf")])}, "scores"),
        ({"keys": ["una"]}, "keys"),
        ({"queries": ["a", "b"]}, "queries"),
        ({"d_k": 0}, "d_k"),
        ({"name": "con espacios"}, "name"),
    ],
)
def test_el_explorador_rechaza_lo_que_no_casa(cambios, nombra):
    argumentos = {"scores": torch.tensor([1.0, 2.0]), "keys": ["x", "y"], "d_k": 4} | cambios
    with pytest.raises(ValueError, match=f"^{nombra}"):
        softmax_explorer(**argumentos)


@pytest.fixture(scope="module")
def navegador():
    api = pytest.importorskip("playwright.sync_api")
    chromium = Path("/usr/bin/chromium")
    with api.sync_playwright() as playwright:
        opciones = {"executable_path": str(chromium)} if chromium.exists() else {}
        programa = playwright.chromium.launch(args=["--no-sandbox"], **opciones)
        yield programa
        programa.close()


def _pagina(navegador, **contexto):
    pagina = navegador.new_context(offline=True, **contexto).new_page()
    errores: list[str] = []
    pagina.on("pageerror", lambda error: errores.append(str(error)))
    pagina.on("console", lambda mensaje: errores.append(mensaje.text) if mensaje.type == "error" else None)
    pagina.set_content(f"<!doctype html><html lang=es><body>{_explorador()._repr_html_()}</body></html>")
    return pagina, errores


def _pesos(pagina) -> torch.Tensor:
    filas = pagina.locator("table:not(.fijo) tbody tr")
    return torch.tensor([float(fila.get_attribute("data-peso")) for fila in filas.all()], dtype=torch.float64)


@pytest.mark.navegador
def test_mover_el_explorador_da_los_pesos_de_torch(navegador):
    pagina, errores = _pagina(navegador, viewport={"width": 1000, "height": 800})
    explorador = _explorador()
    mando, casilla = pagina.get_by_role("slider"), pagina.get_by_label("dividir entre")
    lista = pagina.get_by_label("Consulta", exact=True)
    vistos = []
    for fila, valor, escala in itertools.product(range(3), (-1.0, -0.37, 0.0, 0.8), (True, False)):
        lista.select_option(index=fila)
        casilla.set_checked(escala)
        mando.fill(str(valor))
        esperados = explorador.weights(fila, 10**valor, escala)
        assert (_pesos(pagina) - esperados).abs().max() <= 1e-6
        entropia = float(pagina.locator("[data-entropia]").get_attribute("data-entropia"))
        assert abs(entropia - float(torch.special.entr(esperados).sum())) <= 1e-6
        vistos.append(tuple(_pesos(pagina).tolist()))
    assert len(set(vistos)) == len(vistos)
    pagina.wait_for_timeout(300)
    lectura = pagina.locator("[aria-live]").inner_text()
    assert f"Peso máximo: {float(esperados.max()):.3f}, en «{CLAVES[int(esperados.argmax())]}»" in lectura
    assert not errores


@pytest.mark.navegador
def test_el_explorador_se_maneja_con_el_teclado(navegador):
    pagina, errores = _pagina(navegador)
    antes = _pesos(pagina)
    pagina.get_by_role("slider", name="Temperatura").focus()
    for _ in range(30):
        pagina.keyboard.press("ArrowRight")
    assert pagina.get_by_role("slider").get_attribute("aria-valuetext") == f"temperatura {10**0.3:.2f}"
    assert (_pesos(pagina) - _explorador().weights(0, 10**0.3)).abs().max() <= 1e-6
    assert not torch.allclose(antes, _pesos(pagina))
    pagina.keyboard.press("Tab")
    pagina.keyboard.press("Space")
    assert (_pesos(pagina) - _explorador().weights(0, 10**0.3, scaled=False)).abs().max() <= 1e-6
    assert not errores


@pytest.mark.navegador
def test_el_explorador_cabe_en_320_px_y_sin_javascript_es_una_tabla(navegador):
    pagina, _ = _pagina(navegador, viewport={"width": 320, "height": 640}, has_touch=True, reduced_motion="reduce")
    assert pagina.evaluate("document.documentElement.scrollWidth") <= 320
    assert pagina.locator(".fijo").is_hidden() and pagina.locator(".mandos").is_visible()
    assert pagina.locator(".lleno").first.evaluate("e => getComputedStyle(e).transitionDuration") == "0s"
    quieta, _ = _pagina(navegador, viewport={"width": 320, "height": 640}, java_script_enabled=False)
    assert quieta.locator(".fijo").is_visible() and quieta.locator(".mandos").is_hidden()
