"""Lo que pesa leer el libro: la primera visita, el capítulo siguiente y las figuras aligeradas, que
dibujan lo mismo.
"""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from PIL import Image

from atento import plots
from figuras import figuras_ligeras

pytestmark = [pytest.mark.navegador, pytest.mark.timeout(600)]

PRIMERA, SIGUIENTE = 1_700_000, 600_000


def _capitulos(paginas: list[str]) -> list[str]:
    return [p for p in paginas if re.match(r"\d-[^/]+/\d\d-", p)]


def _de_la_red(contexto, url: str) -> dict[str, int]:
    """Lo que baja de la red al abrir una página: nombre → bytes, sin lo que ya estaba guardado."""
    pestana = contexto.new_page()
    cdp = contexto.new_cdp_session(pestana)
    cdp.send("Network.enable")
    pedidos, guardados, bajado = {}, set(), {}
    cdp.on("Network.requestServedFromCache", lambda e: guardados.add(e["requestId"]))
    cdp.on("Network.responseReceived", lambda e: pedidos.update({e["requestId"]: e["response"]}))
    cdp.on(
        "Network.loadingFinished",
        lambda e: bajado.update({e["requestId"]: e["encodedDataLength"]}),
    )
    pestana.goto(url, wait_until="load")
    pestana.wait_for_timeout(500)  # lo que un guion pida después
    pestana.close()
    return {
        respuesta["url"].rpartition("/")[2]: bajado.get(cual, 0)
        for cual, respuesta in pedidos.items()
        if cual not in guardados
        and not respuesta.get("fromDiskCache")
        and not respuesta["url"].startswith("data:")
    }


def test_la_primera_visita_y_cada_capitulo_siguiente(navegador, direccion, paginas):
    """El servidor de las pruebas no comprime: publicado, es la tercera parte."""
    faltas = []
    contexto = navegador.new_context(viewport={"width": 1280, "height": 900})
    for vez, pagina in enumerate(_capitulos(paginas)):
        bajado = _de_la_red(contexto, f"{direccion}/{pagina}")
        if sum(bajado.values()) > (SIGUIENTE if vez else PRIMERA):
            faltas.append(f"{pagina}: {sum(bajado.values())} bytes: {bajado}")
    contexto.close()
    assert not faltas, "\n".join(faltas)


def test_cada_capitulo_cabe_en_la_primera_visita(navegador, direccion, paginas):
    faltas = []
    for pagina in _capitulos(paginas):
        contexto = navegador.new_context(viewport={"width": 390, "height": 800})
        bajado = _de_la_red(contexto, f"{direccion}/{pagina}")
        contexto.close()
        if not 0 < sum(bajado.values()) <= PRIMERA:
            faltas.append(f"{pagina}: {sum(bajado.values())} bytes: {bajado}")
    assert not faltas, "\n".join(faltas)


def _figuras() -> dict[str, str]:
    """Celdas, marcas, textos girados, flechas y curvas, tal como salen de ``atento.plots``."""
    pesos = np.full((6, 6), 1 / 6)
    mapa = plots.attention_map(pesos, list("abcdef"), list("abcdef"))
    fig, ax = plots.figure()
    ax.plot(np.linspace(1, 10, 50), 4 / np.linspace(1, 4, 50) ** 2, color=plots.KEY, ls="--")
    ax.plot([2, 4, 6], [3, 2, 1], "o", color=plots.VALUE)
    ax.annotate("aquí", (4, 2), (6, 3), arrowprops={"arrowstyle": "->", "color": plots.INK})
    ax.fill_between([2, 8], [1, 2], [2, 3], color=plots.QUERY, alpha=0.3, linewidth=0)
    ax.set_xlabel("un rótulo")
    alternativo = "Una figura de prueba con todo lo que las del libro llevan dentro."
    return {
        nombre: plots.render(dibujo, name=f"fig-{nombre}", alt=alternativo)
        for nombre, dibujo in {"mapa": mapa.figure, "curva": fig}.items()
    }


@pytest.mark.parametrize("nombre", ["mapa", "curva"])
def test_la_figura_aligerada_dibuja_lo_mismo(pestana, nombre):
    antes = _figuras()[nombre]
    despues = figuras_ligeras(antes)
    assert len(despues) < 0.75 * len(antes)
    imagenes = []
    for figura in (antes, despues):
        pestana.set_content(f"<style>{plots.css()}</style>{figura}")
        foto = pestana.locator(".atento-figura").screenshot()
        imagenes.append(np.asarray(Image.open(io.BytesIO(foto)).convert("RGB"), dtype=int))
    uno, otro = imagenes
    assert uno.shape == otro.shape and uno.min() < 100 < 200 < uno.max()
    assert np.abs(uno - otro).max() <= 24, "solo cambia, si acaso, el suavizado de algún borde"
