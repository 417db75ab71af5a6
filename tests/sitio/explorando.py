"""Lo que se le pregunta a un explorador abierto en el navegador."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

CONTRATO = Path(__file__).with_name("exploradores.js")
ATENTO = "nombre => document.getElementById(nombre).atento"
TOLERANCIA = 1e-6


def leer(pagina, explorador) -> dict:
    """Lo que el explorador dice de sí: su estado y lo que ha calculado."""
    return pagina.evaluate(ATENTO, explorador.element_id)


def contrato(pagina, que: str) -> Any:
    """Pregunta al primer explorador de la página una de las cosas de ``exploradores.js``."""
    if not pagina.evaluate("'contrato' in window"):
        pagina.evaluate(f"() => {{ {CONTRATO.read_text('utf8')} }}")
    return pagina.evaluate(f"contrato(document.querySelector('.atento-exp')).{que}()")


def axe(pagina, **opciones) -> list[str]:
    """Las faltas de accesibilidad que encuentra axe, con el trozo de página de cada una."""
    from axe_playwright_python.sync_playwright import Axe

    return [
        f"{v['id']}: {nodo['html'][:140]}"
        for v in Axe().run(pagina, options={"preload": False, **opciones}).response["violations"]
        for nodo in v["nodes"]
    ]


def contestado(pagina) -> dict:
    """Lo que deja el explorador, cuando el modelo ya ha contestado."""
    pagina.wait_for_function("() => document.querySelector('.atento-exp').atento.values")
    return pagina.evaluate("document.querySelector('.atento-exp').atento")


def centro(pagina, sitio) -> tuple[float, float]:
    """Dónde está en la página el centro de un elemento."""
    caja = sitio.bounding_box()
    return caja["x"] + caja["width"] / 2, caja["y"] + caja["height"] / 2


def igual(obtenido, esperado: torch.Tensor) -> None:
    """Los mismos números, con los infinitos en los mismos sitios."""
    obtenido = torch.tensor(obtenido, dtype=torch.float64)
    finitos = torch.isfinite(esperado)
    assert torch.equal(torch.isfinite(obtenido), finitos)
    assert (
        (obtenido - esperado)[finitos].abs().max().item() <= TOLERANCIA if finitos.any() else True
    )


def quita_los_pesos(pagina) -> str:
    """Deja la página como si su primer fichero de pesos no llegara; devuelve lo que traía."""
    return pagina.evaluate(
        """() => {
          const uno = document.querySelector("[data-atento-file]"), texto = uno.textContent;
          uno.textContent = ""; uno.dataset.url = "data:text/javascript,"; return texto; }"""
    )


def devuelve_los_pesos(pagina, guardado: str) -> None:
    """Deshace lo anterior: al volver a pedirlos, llegan."""
    pagina.evaluate(
        "texto => (document.querySelector('[data-atento-file]').textContent = texto)", guardado
    )
