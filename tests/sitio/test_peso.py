"""Lo que pesa leer el libro: la primera visita, el capítulo siguiente y las figuras aligeradas, que
dibujan lo mismo.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image

from figuras import plots
from paginas.trazos import figuras_ligeras

pytestmark = [pytest.mark.navegador, pytest.mark.timeout(600)]

PRIMERA, SIGUIENTE = 1_700_000, 600_000


def _capitulos(paginas: list[str]) -> list[str]:
    escritos = [p for p in paginas if re.match(r"\d-[^/]+/\d\d-", p)]
    assert escritos, "no se ha encontrado ningún capítulo: nada se habría mirado"
    return escritos


def _abre(contexto, url: str) -> Callable[[], dict[str, int | None]]:
    """Abre una página en otra pestaña. Lo que se devuelve dice, al llamarlo, lo que ha pedido hasta
    entonces: dirección → bytes bajados de la red, o ``None`` si ya estaba guardado.
    """
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

    def lee() -> dict[str, int | None]:
        salida: dict[str, int | None] = {}
        for cual, respuesta in pedidos.items():
            if respuesta["url"].startswith("data:"):
                continue
            guardado = cual in guardados or respuesta.get("fromDiskCache")
            salida.setdefault(respuesta["url"], None if guardado else bajado.get(cual, 0))
        return salida

    return lee


def _espera(contexto) -> None:
    """Lo que tardan en llegar las cosas que un guion pide después de cargar la página."""
    contexto.pages[-1].wait_for_timeout(500)


@pytest.fixture(scope="module")
def bajado(navegador, direccion, paginas) -> dict[str, dict[str, int | None]]:
    """De cada capítulo, abiertos uno tras otro, lo que se pide y lo que baja de la red. El servidor
    de las pruebas no comprime: publicado, es la tercera parte.
    """
    contexto = navegador.new_context(viewport={"width": 1280, "height": 900})
    de_la_red = {}
    for pagina in _capitulos(paginas):
        de_la_red[pagina] = _abre(contexto, f"{direccion}/{pagina}")
        if len(de_la_red) == 1:
            _espera(contexto)
    _espera(contexto)
    salida = {pagina: lee() for pagina, lee in de_la_red.items()}
    contexto.close()
    return salida


def _se_pasan(pesos: dict[str, dict[str, int]], topes: list[int]) -> str:
    """Una línea por página vacía o que pasa de su tope."""
    return "\n".join(
        f"{pagina}: {sum(suyos.values())} bytes: {suyos}"
        for tope, (pagina, suyos) in zip(topes, pesos.items(), strict=True)
        if not 0 < sum(suyos.values()) <= tope
    )


def test_la_primera_visita_y_cada_capitulo_siguiente(bajado):
    pesos = {p: {u: n for u, n in suyos.items() if n is not None} for p, suyos in bajado.items()}
    faltas = _se_pasan(pesos, [PRIMERA] + [SIGUIENTE] * (len(pesos) - 1))
    assert not faltas, faltas


def test_cada_capitulo_cabe_en_la_primera_visita(bajado):
    """Con lo que ya estaba guardado, que al abrirlo el primero bajaría: cada cosa pesó lo suyo la
    primera vez.
    """
    de_cada = {u: n for suyos in bajado.values() for u, n in suyos.items() if n is not None}
    pesos = {p: {u: de_cada[u] for u in suyos} for p, suyos in bajado.items()}
    assert any(n is None for suyos in bajado.values() for n in suyos.values()), "nada se guardó"
    faltas = _se_pasan(pesos, [PRIMERA] * len(pesos))
    assert not faltas, faltas


def _figuras() -> dict[str, str]:
    """Celdas, marcas, textos girados, flechas y curvas, tal como salen de ``figuras.plots``."""
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
