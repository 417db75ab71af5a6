"""El PDF del libro: Chromium imprime el documento entero, con marcadores, etiquetas y enlaces de
dentro.

Se imprime dos veces: la primera dice en qué página cae cada cosa y la segunda lleva ya los números
en el índice.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from mimetypes import guess_type
from pathlib import Path
from urllib.parse import unquote, urlsplit

from playwright.sync_api import Page, Route, sync_playwright
from pypdf import PdfReader, PdfWriter
from pypdf.generic import DictionaryObject, NameObject, TextStringObject

from llevar.documento import Tomo, documento

AQUI = Path(__file__).resolve().parent
ANCHO = 506  # píxeles de 134 mm
PLAZO = 600_000  # milisegundos
ORIGEN = "http://tomo.invalid/"
PON_NUMEROS = """(numeros) => {
  for (const hueco of document.querySelectorAll('[data-destino]'))
    hueco.textContent = numeros[hueco.dataset.destino] ?? '';
}"""

# Los títulos, por su texto sin espacios.
TITULOS = """() => Object.fromEntries([...document.querySelectorAll('h1, h2, h3, h4, h5, h6')]
  .map((t) => t.textContent.trim().replace(/\\s+/g, ' ')).map((t) => [t.replace(/\\s/g, ''), t]))"""


def chromium() -> str:
    """La ruta de Chromium."""
    ruta = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if ruta is None:
        raise SystemExit("Falta Chromium: «make sistema» lo instala.")
    return ruta


@contextmanager
def abierto(tomo: Tomo, estilo: str) -> Iterator[Page]:
    """El documento en una pestaña, con las fórmulas compuestas. Nada se pide fuera de la carpeta
    del sitio.
    """
    texto = documento(tomo, estilo)

    def responde(ruta: Route) -> None:
        camino = unquote(urlsplit(ruta.request.url).path).lstrip("/")
        fichero = (tomo.sitio / camino).resolve()
        if not camino:
            ruta.fulfill(body=texto, content_type="text/html; charset=utf-8")
        elif (
            ruta.request.url.startswith(ORIGEN)
            and fichero.is_file()
            and fichero.is_relative_to(tomo.sitio.resolve())
        ):
            ruta.fulfill(
                body=fichero.read_bytes(), content_type=guess_type(fichero.name)[0] or "font/woff2"
            )
        else:
            ruta.abort()

    with sync_playwright() as playwright:
        navegador = playwright.chromium.launch(executable_path=chromium())
        try:
            pestana = navegador.new_page(
                viewport={"width": ANCHO, "height": 900}, color_scheme="light"
            )
            pestana.set_default_timeout(PLAZO)
            pestana.emulate_media(media="print")
            pestana.route("**/*", responde)
            pestana.goto(ORIGEN, wait_until="load")
            pestana.evaluate("() => document.fonts.ready.then(() => true)")
            yield pestana
        finally:
            navegador.close()


def imprime(pestana: Page) -> bytes:
    """El documento impreso, con marcadores y etiquetas."""
    return pestana.pdf(prefer_css_page_size=True, print_background=True, tagged=True, outline=True)


def numeros(pdf: bytes) -> dict[str, int]:
    """En qué página cae cada destino con nombre."""
    lector = PdfReader(io.BytesIO(pdf))
    paginas = {p.indirect_reference.idnum: i for i, p in enumerate(lector.pages, 1)}
    return {
        nombre.lstrip("/"): paginas[destino.page.idnum]
        for nombre, destino in lector.named_destinations.items()
    }


def arregla_marcadores(rama: DictionaryObject, titulos: dict[str, str]) -> None:
    """Devuelve a los marcadores el espacio que Chromium pierde donde el título cambia de línea."""
    hijo = rama.get("/First")
    while hijo is not None:
        hijo = hijo.get_object()
        pegado = "".join(hijo["/Title"].split())
        hijo[NameObject("/Title")] = TextStringObject(titulos.get(pegado, hijo["/Title"]))
        arregla_marcadores(hijo, titulos)
        hijo = hijo.get("/Next")


def con_datos(pdf: bytes, titulo: str, titulos: dict[str, str]) -> bytes:
    """El PDF con título e idioma, y con los marcadores a la vista al abrirlo."""
    escritor = PdfWriter(clone_from=io.BytesIO(pdf))
    arregla_marcadores(escritor.root_object["/Outlines"].get_object(), titulos)
    escritor.add_metadata({"/Title": titulo, "/Producer": "Chromium y pypdf"})
    escritor.root_object[NameObject("/Lang")] = TextStringObject("es")
    escritor.page_mode = "/UseOutlines"
    salida = io.BytesIO()
    escritor.write(salida)
    return salida.getvalue()


def escribe(tomo: Tomo, salida: Path) -> Path:
    """Escribe el PDF y devuelve su ruta."""
    with abierto(tomo, (AQUI / "documento.css").read_text(encoding="utf-8")) as pestana:
        pestana.evaluate(PON_NUMEROS, numeros(imprime(pestana)))
        pdf = imprime(pestana)
        titulos = pestana.evaluate(TITULOS)
    salida.parent.mkdir(parents=True, exist_ok=True)
    salida.write_bytes(con_datos(pdf, tomo.paginas[0].titulo, titulos))
    return salida
