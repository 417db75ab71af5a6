"""Sirve el libro construido y recorre todas sus páginas una vez, en un solo navegador.

Cada página se abre una vez y se apunta lo que hace falta; las pruebas leen esos apuntes. ``SITIO``
permite probar otra construcción: ``SITIO=/ruta/a/html pytest tests/sitio``.
"""

from __future__ import annotations

import functools
import http.server
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import vistas
from accesible import accesibilidad
from chromium import ejecutable
from rotacion import una_de_cada, vuelta

from figuras import plots

RAIZ = Path(__file__).resolve().parents[2]
SITIO = Path(os.environ.get("SITIO", RAIZ / "book" / "_build" / "html"))


@dataclass
class Visita:
    """Lo que se vio en una página."""

    pagina: str
    pedidos_fuera: list[str] = field(default_factory=list)
    fallos: list[str] = field(default_factory=list)
    consola: list[str] = field(default_factory=list)
    formulas: int = 0
    formulas_mal: list[str] = field(default_factory=list)
    tex_sin_componer: list[str] = field(default_factory=list)
    axe: dict[str, list[str]] = field(default_factory=dict)
    ancho: dict[int, int] = field(default_factory=dict)
    se_salen: list[str] = field(default_factory=list)
    cortado: dict[int, list[str]] = field(default_factory=dict)
    ingles: list[str] = field(default_factory=list)
    botones_de_copia: int = 0
    bloques_de_codigo: int = 0


@pytest.fixture(scope="session")
def sitio() -> Path:
    """La carpeta del libro construido."""
    if not (SITIO / "intro.html").exists():
        pytest.fail(f"el libro no está construido en {SITIO}: make libro", pytrace=False)
    return SITIO


@pytest.fixture(scope="session")
def paginas(sitio: Path) -> list[str]:
    """Direcciones relativas de todas las páginas, sin las redirecciones ni lo que no es del
    libro."""
    return sorted(
        ruta.relative_to(sitio).as_posix()
        for ruta in sitio.rglob("*.html")
        if ruta.name != "404.html"  # sus enlaces solo valen en la dirección publicada
        and not any(parte.startswith("_") for parte in ruta.relative_to(sitio).parts)
        and 'http-equiv="refresh"' not in ruta.read_text("utf8")[:400].lower()
    )


class _Callado(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args) -> None:
        pass


@pytest.fixture(scope="session")
def direccion(sitio: Path):
    """El libro servido en localhost."""
    servidor = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(_Callado, directory=str(sitio))
    )
    threading.Thread(target=servidor.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{servidor.server_port}"
    servidor.shutdown()
    servidor.server_close()


@pytest.fixture(scope="module")
def navegador():
    """Un Chromium por fichero: mientras está abierto, Playwright ocupa el bucle de asyncio de todo
    el proceso.
    """
    if (suyo := ejecutable()) is None:
        pytest.fail("no hay Chromium: make sistema", pytrace=False)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=suyo)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def pestana(navegador):
    """Una pestaña compartida: cada prueba va a la página que quiere."""
    contexto = navegador.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    pagina = contexto.new_page()
    pagina.set_default_timeout(15_000)
    yield pagina
    contexto.close()


@pytest.fixture(scope="module")
def contexto_con(navegador):
    """Un contexto del navegador por cada manera de abrir: hacer uno cuesta casi lo que abrir."""
    hechos = {}

    def _contexto(**opciones):
        cual = repr(sorted(opciones.items()))
        if cual not in hechos:
            hechos[cual] = navegador.new_context(
                **({"viewport": {"width": 900, "height": 900}} | opciones)
            )
        return hechos[cual]

    yield _contexto
    for contexto in hechos.values():
        contexto.close()


@pytest.fixture
def abrir(contexto_con, tmp_path: Path):
    """Abre desde el disco una página con los exploradores dados, en una pestaña nueva; al final
    comprueba la consola y la red.
    """
    abiertas, quejas = [], []

    def _abrir(*lista, tema="light", cuerpo=None, **opciones):
        pagina = contexto_con(**opciones).new_page()
        abiertas.append(pagina)
        pagina.set_default_timeout(5000)
        pagina.on("pageerror", lambda error: quejas.append(str(error)))
        pagina.on("console", lambda m: m.type == "error" and quejas.append(m.text))
        pagina.on("request", lambda p: p.url.startswith("file:") or quejas.append(p.url))
        cuerpo = "".join(e._repr_html_() for e in lista) if cuerpo is None else cuerpo
        ruta = tmp_path / f"{len(abiertas)}.html"
        ruta.write_text(
            f"<!doctype html><html lang=es data-theme={tema}><meta charset=utf-8><title>x</title>"
            f"<meta name=viewport content='width=device-width'><style>{plots.css()}"
            " body{margin:8px;"
            f"color:var(--atento-ink);background:var(--atento-paper)}}</style><body><main><h1>Prueba</h1>{cuerpo}"
            "</main></html>",
            "utf8",
        )
        pagina.goto(ruta.as_uri())
        return pagina

    yield _abrir
    for pagina in abiertas:
        pagina.close()
    assert not quejas, quejas


# Rótulos de la interfaz que no deben quedar en inglés. Los de una palabra se buscan enteros.
ROTULOS = (
    "Toggle",
    "Search",
    "Show",
    "Hide",
    "Click",
    "Copy",
    "Copied",
    "Link to",
    "Permalink",
    "Previous",
    "Next",
    "Contents",
    "Download",
    "Launch",
    "Open",
    "Print",
    "Fullscreen",
    "Table of",
    "Copyright",
    "Last updated",
    "Skip to",
    "Navigation",
    "Color mode",
    "System",
    "Light",
    "Dark",
    "Home",
    "Breadcrumb",
    "Main",
    "Page",
    "Exercise",
    "Solution",
    "Proof",
    "Theorem",
    "Definition",
    "Lemma",
    "Corollary",
    "Remark",
    "Algorithm",
    "Figure",
    "Equation",
    "Section",
    "Parameters",
    "Returns",
    "Return type",
    "Raises",
    "Yields",
    "Type",
    "Bases",
    "Note",
    "Warning",
    "Hint",
    "Important",
    "See also",
    "Source",
    "Back to top",
    "By the",
    "Please",
    "Loading",
    "Button",
)

EXAMINAR, SE_SALEN, ESTRECHO = (
    (Path(__file__).parent / f"{guion}.js").read_text("utf8")
    for guion in ("examinar", "se_salen", "estrecho")
)

ABRIR = "() => { for (const caja of document.querySelectorAll('details')) caja.open = true; }"


# Páginas salidas de un molde (de docstrings, de ejercicios que se prueban en otros sitios, del
# código que enlaza cada ficha): de cuántas se ve una en cada confirmación.
DE_MOLDE = {"apendices/api/": 4, "apendices/soluciones/": 4, "codigo/": 16}


@pytest.fixture(scope="module")
def visitas(request, direccion: str, sitio: Path, paginas: list[str], navegador) -> list[Visita]:
    """Las páginas que tocan (de las de molde, una de cada tantas), en ancho y en estrecho; en claro
    y en oscuro, las que axe no ha visto como están.
    """
    contexto = navegador.new_context(color_scheme="light", reduced_motion="reduce")
    pestana = contexto.new_page()
    pestana.set_default_timeout(30_000)
    resultado: list[Visita] = []

    def pedido(peticion) -> None:
        if urlsplit(peticion.url).hostname not in ("127.0.0.1", None):
            resultado[-1].pedidos_fuera.append(peticion.url)

    pestana.on("request", pedido)
    pestana.on("requestfailed", lambda p: resultado[-1].fallos.append(p.url))
    pestana.on(
        "response", lambda r: r.status >= 400 and resultado[-1].fallos.append(f"{r.status} {r.url}")
    )
    pestana.on("console", lambda m: m.type == "error" and resultado[-1].consola.append(m.text))
    pestana.on("pageerror", lambda e: resultado[-1].consola.append(str(e)))

    todas, de_todas = paginas, vistas.comun(sitio, navegador.version)
    for carpeta, cada in DE_MOLDE.items():
        paginas = una_de_cada(cada, paginas, lambda p, molde=carpeta: p.startswith(molde), vuelta())
    huellas = {p: vistas.huella((sitio / p).read_text("utf8"), de_todas) for p in paginas}
    mirar = vistas.PAGINAS.por_mirar(huellas)
    for pagina in paginas:
        visita = Visita(pagina)
        resultado.append(visita)
        pestana.set_viewport_size({"width": 1280, "height": 900})
        pestana.goto(f"{direccion}/{pagina}", wait_until="load")
        pestana.evaluate("() => document.fonts.ready.then(() => true)")
        if pestana.locator("div.highlight pre").count():
            pestana.wait_for_selector("button.copybtn", state="attached", timeout=3000)
        for nombre, valor in pestana.evaluate(EXAMINAR, list(ROTULOS)).items():
            setattr(visita, nombre, valor)
        pestana.evaluate(ABRIR)
        for ancho in (390, 360, 320):
            pestana.set_viewport_size({"width": ancho, "height": 800})
            pestana.wait_for_timeout(200)  # las fórmulas y las tablas se recomponen 120 ms después
            visita.ancho[ancho] = pestana.evaluate("() => document.documentElement.scrollWidth")
            if ancho > 320:
                visita.cortado[ancho] = pestana.evaluate(ESTRECHO)
        if visita.ancho[320] > 320:
            visita.se_salen = pestana.evaluate(SE_SALEN)
        pestana.set_viewport_size({"width": 1280, "height": 900})
        if pagina in mirar:
            visita.axe = accesibilidad(pestana)
    contexto.close()
    if request.config.getoption("apunta", False):
        mal = {v.pagina for v in resultado if any(v.axe.values())}
        vistas.PAGINAS.guarda(huellas, mirar - mal, mal, todas)
    return resultado
