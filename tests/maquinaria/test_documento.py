"""El libro en un solo documento: enlaces, identificadores y lo que no se lleva."""

from __future__ import annotations

import io
import os
import re
import sys
import zipfile
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from lxml import etree, html
from pypdf import PdfReader, PdfWriter

from figuras import sounds
from llevar import documento as el_documento
from llevar import ediciones, epub, pdf
from llevar.documento import Pagina, Tomo, documento
from llevar.epub import SVG, XHTML, Edicion, sin_variables
from llevar.paquete import empaqueta
from llevar.pdf import con_datos, numeros
from paginas import descargas

INDICE = (
    '<nav class="bd-docs-nav"><p>Parte</p><ul><li class="toctree-l1"><a'
    ' href="a/uno.html">Uno</a><ul><li class="toctree-l2"><a'
    ' href="dos.html">Dos</a></li></ul></li></ul></nav>'
)
UNO = (
    '<h1>Uno<a class="headerlink" href="#uno">#</a></h1><p id="aqui">Ver <a'
    ' href="../dos.html#alli">dos</a>, <a href="#aqui">aquí</a>, <a'
    ' href="https://ejemplo.org/">fuera</a>, <a'
    ' href="../cuadernos/x.ipynb">cuaderno</a>.</p><details'
    ' class="dibujo"><summary>Código</summary>x</details><details'
    ' class="a-fondo"><summary>S</summary>y</details><details'
    ' class="comprobacion"><summary>Bien</summary><div>z</div></details><details'
    ' class="hide above-input"><summary>Show</summary><i>w</i></details><b'
    ' aria-labelledby="aqui otro"></b><img src="../_i/f.png"'
    ' alt="f"><svg><defs><clipPath id="c"></clipPath></defs><g'
    ' clip-path="url(#c)"></g></svg><script>alert(1)</script>'
)


@pytest.fixture
def sitio(tmp_path: Path) -> Path:
    paginas = {
        "intro.html": "<h1>Portada</h1>",
        "a/uno.html": UNO,
        "dos.html": '<h1>Dos</h1><p id="alli">Aquí.</p>',
    }
    for nombre, cuerpo in paginas.items():
        (tmp_path / nombre).parent.mkdir(exist_ok=True)
        (tmp_path / nombre).write_text(
            f"<html><body>{INDICE}<article>{cuerpo}</article></body></html>", "utf-8"
        )
    return tmp_path


@pytest.fixture
def tomo(sitio: Path) -> Tomo:
    return Tomo(sitio, "https://publicado.org/")


def test_las_paginas_van_en_el_orden_del_indice(tomo):
    assert [(p.titulo, p.parte, p.nivel) for p in tomo.paginas] == [
        ("Portada", "", 0),
        ("Uno", "Parte", 1),
        ("Dos", "Parte", 2),
    ]


def test_los_enlaces_se_quedan_dentro_y_lo_que_no_entra_va_a_lo_publicado(tomo):
    uno = tomo.articulos[1][1]
    assert [a.get("href") for a in uno.iter("a")] == [
        "#p-dos--alli",
        "#p-a-uno--aqui",
        "https://ejemplo.org/",
        "https://publicado.org/cuadernos/x.ipynb",
    ]
    assert uno.find(".//g").get("clip-path") == "url(#p-a-uno--c)"
    assert uno.find(".//b").get("aria-labelledby") == "p-a-uno--aqui p-a-uno--otro"
    assert uno.find(".//img").get("src") == "_i/f.png"
    assert tomo.rotos() == []


def test_tambien_llegan_un_correo_y_el_enlace_a_una_pagina_entera(sitio):
    pagina = sitio / "dos.html"
    enlaces = '<a href="a/uno.html">1</a><a href="mailto:a@e.org">2</a><a href="//e.org/x">3</a>'
    texto = pagina.read_text("utf-8").replace("Aquí.", f"Aquí.<!-- nota -->{enlaces}")
    pagina.write_text(texto, "utf-8")
    tomo = Tomo(sitio, "https://publicado.org/")
    dos = tomo.articulos[2][1]
    assert [a.get("href") for a in dos.iter("a")] == ["#p-a-uno", "mailto:a@e.org", "//e.org/x"]
    assert tomo.rotos() == [] and (dos.get("id"), dos.get("class")) == ("p-dos", "bd-article")


def test_de_unas_paginas_solas_los_enlaces_a_las_otras_van_a_lo_publicado(sitio):
    tomo = Tomo(sitio, "https://publicado.org/", ["a/uno.html"])
    assert [p.titulo for p in tomo.paginas] == ["Portada", "Uno"] and tomo.rotos() == []
    assert [a.get("href") for a in tomo.articulos[1][1].iter("a")][:2] == [
        "https://publicado.org/dos.html#alli",
        "#p-a-uno--aqui",
    ]


def test_de_un_sonido_queda_que_se_oye_y_donde(sitio):
    """Un WAV dentro del libro no es de los sonidos que un EPUB admite, y en papel no suena."""
    pagina = sitio / "a/uno.html"
    pitido = sounds.render({"agudo": [0, 1, 0, -1]}, 8000, alt="Un pitido agudo." + " Corto." * 5)
    texto = pagina.read_text("utf-8").replace("</article>", f"<p>Oye: {pitido}y ya.</p></article>")
    pagina.write_text(texto, "utf-8")
    tomo = Tomo(sitio, "https://publicado.org/")
    uno = tomo.articulos[1][1]
    assert not [*uno.iter("audio")] and "data:audio" not in documento(tomo, "")
    (dicho,) = uno.xpath(".//p[@class='sonidos']")
    assert dicho.text_content().startswith("Un pitido agudo. Corto.") and dicho.tail == "y ya."
    assert dicho.find("a").get("href") == "https://publicado.org/a/uno.html"


def test_los_estilos_de_un_explorador_van_una_vez(sitio):
    """Se quitan de las páginas, que los llevan todas, y van en la cabeza del documento."""
    for nombre in ("a/uno.html", "dos.html"):
        texto = (sitio / nombre).read_text("utf-8")
        estilo = '<style data-atento-part="base">.x{y:1}</style><style>.z{y:2}</style>'
        (sitio / nombre).write_text(texto.replace("</article>", f"{estilo}</article>"), "utf-8")
    tomo = Tomo(sitio, "")
    assert tomo.estilos_de_los_exploradores() == ".x{y:1}"
    texto = documento(tomo, "p{}")
    assert texto.count(".x{y:1}") == 1 and ".z{" not in texto
    assert "<style>.x{y:1}\np{}\n@page" in texto


def test_el_indice_va_tras_la_portada_y_cada_parte_se_dice_una_vez(tmp_path):
    def pagina(nombre, parte, nivel):
        una = Pagina(f"{nombre}.html", parte, nivel, tmp_path)
        una.titulo = f"{nombre.upper()} & co"
        return una

    def linea(nombre, nivel):
        return (
            f'<p class="nivel-{nivel}"><a href="#p-{nombre}"><span>{nombre.upper()} &amp; co</span>'
            f'<span class="numero" data-destino="p-{nombre}"></span></a></p>'
        )

    partes = [("intro", "", 0), ("a", "I", 1), ("b", "I", 2), ("c", "II", 1)]
    assert list(el_documento.indice([pagina(*x) for x in partes])) == [
        '<nav class="indice-general" id="indice-general"><h1>Índice</h1>',
        *('<p class="parte">I</p>', linea("a", 1), linea("b", 2)),
        *('<p class="parte">II</p>', linea("c", 1)),
        "</nav>",
    ]


def test_un_enlace_que_no_llega_se_dice(sitio):
    pagina = sitio / "dos.html"
    pagina.write_text(pagina.read_text("utf-8").replace("alli", "otro"), "utf-8")
    assert Tomo(sitio, "").rotos() == ["a/uno.html → #p-dos--alli"]


def test_no_se_llevan_guiones_ni_codigo_plegado_y_lo_demas_va_desplegado(tomo):
    uno = tomo.articulos[1][1]
    assert not uno.xpath(
        ".//script | .//*[contains(@class, 'headerlink')] | .//details[@class='dibujo']"
    )
    assert [d.get("class") for d in uno.xpath(".//details[@open]")] == ["a-fondo", "comprobacion"]
    assert "z" not in uno.text_content()
    escondido = uno.xpath(".//div[@open]")
    assert [(x.get("class"), x.text_content()) for x in escondido] == [("hide above-input", "w")]


def test_el_documento_lleva_indice_y_todas_las_paginas(tomo):
    arbol = html.fromstring(documento(tomo, ""))
    assert [n.get("data-destino") for n in arbol.xpath("//*[@data-destino]")] == [
        "p-a-uno",
        "p-dos",
    ]
    assert [n.get("id") for n in arbol.xpath("//main/*")] == [
        *("p-intro", "indice-general", "p-a-uno", "p-dos")
    ]


def test_con_una_pagina_ademas_de_la_portada_ya_hay_libro(tmp_path):
    indice = (
        '<nav class="bd-docs-nav"><ul><li class="toctree-l1"><a href="a.html">A</a></li></ul></nav>'
    )
    for nombre in ("intro", "a"):
        (tmp_path / f"{nombre}.html").write_text(
            f"<html><body>{indice}<article><h1>{nombre}</h1></article></body></html>", "utf-8"
        )
    assert [p.titulo for p in Tomo(tmp_path, "").paginas] == ["intro", "a"]


def test_sin_indice_se_dice_que_hacer(tmp_path):
    (tmp_path / "intro.html").write_text("<html><body><article></article></body></html>", "utf-8")
    with pytest.raises(SystemExit, match="make libro"):
        Tomo(tmp_path, "")


@pytest.mark.parametrize(
    ("antes", "despues"),
    [
        ("var(--a, #000)", "#123"),
        ("x:var(--b, none)", "x:none"),
        ("var(--b, var(--a))", "#123"),
        ("var(--b, rgb(1, 2, 3))", "rgb(1, 2, 3)"),
        ("var(--c)", "inherit"),
        ("rojo", "rojo"),
    ],
)
def test_las_variables_de_color_se_cambian_por_su_valor(antes, despues):
    assert sin_variables(antes, {"--a": "#123"}) == despues


def test_el_pdf_recupera_los_espacios_de_los_marcadores():
    escritor = PdfWriter()
    for _ in range(2):
        escritor.add_blank_page(100, 100)
    padre = escritor.add_outline_item("Dospalabras", 1)
    escritor.add_outline_item("Dedentro", 1, parent=padre)
    escritor.add_named_destination("p-x", 1)
    crudo = io.BytesIO()
    escritor.write(crudo)
    assert numeros(crudo.getvalue()) == {"p-x": 2}
    titulos = {"Dospalabras": "Dos palabras", "Dedentro": "De dentro"}
    hecho = PdfReader(io.BytesIO(con_datos(crudo.getvalue(), "Libro", titulos)))
    marcador, (de_dentro,) = hecho.outline
    assert [marcador.title, de_dentro.title] == ["Dos palabras", "De dentro"]
    assert hecho.metadata.title == "Libro" and hecho.root_object["/Lang"] == "es"


def test_el_paquete_deja_fuera_lo_que_no_se_usa(sitio, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")  # de antes de 1980, que un .zip no sabe decir
    for sobra in ("objects.inv", "a/x.css.map", "llevar/libro.pdf", "a/webpack-macros.html"):
        (sitio / sobra).parent.mkdir(exist_ok=True)
        (sitio / sobra).write_text("x", "utf-8")
    salida = tmp_path_factory.mktemp("fuera") / "nueva/honda/libro.zip"
    assert empaqueta(sitio, salida) == salida
    with zipfile.ZipFile(empaqueta(sitio, salida)) as paquete:
        assert sorted(paquete.namelist()) == [
            "libro/a/uno.html",
            "libro/dos.html",
            "libro/intro.html",
        ]
        datos = {dato.filename: dato for dato in paquete.infolist()}
        assert {dato.date_time for dato in datos.values()} == {(1980, 1, 1, 0, 0, 0)}
        assert {dato.external_attr >> 16 for dato in datos.values()} == {0o644}
        assert {dato.compress_type for dato in datos.values()} == {zipfile.ZIP_DEFLATED}
        assert paquete.read("libro/dos.html") == (sitio / "dos.html").read_bytes()
    antes = salida.read_bytes()
    os.utime(sitio / "dos.html", (1_700_000_000, 1_700_000_000))
    assert empaqueta(sitio, salida).read_bytes() == antes  # de lo mismo sale lo mismo
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    with zipfile.ZipFile(empaqueta(sitio, salida)) as paquete:
        assert {d.date_time for d in paquete.infolist()} == {(2023, 11, 14, 22, 13, 20)}


# --- El EPUB --------------------------------------------------------------------------------------

MATH = "http://www.w3.org/1998/Math/MathML"


def articulo(cuerpo: str, prefijo: str) -> str:
    return f'<article xmlns="{XHTML}" id="{prefijo}">{cuerpo}</article>'


@pytest.fixture
def edicion(tomo) -> Edicion:
    cuerpos = {
        "p-intro": "<h1>Portada</h1>",
        "p-a-uno": (
            '<details class="a-fondo" open=""><summary>S</summary><p>y</p></details>'
            "<details><p>z</p></details><span><p>dentro</p></span><p>suelto</p>"
            '<a href="#p-dos--alli" data-x="1" tabindex="0">dos</a><a href="#p-dos">dos</a>'
            '<a href="https://x.org/#p">fuera</a><li role="doc-biblioentry">b</li>'
            f'<math xmlns="{MATH}"><mi>x</mi></math>'
            '<p style="color:var(--atento-ink, red)">c</p><img src="_i/f.png" alt="f"/>'
        ),
        "p-dos": f'<svg xmlns="{SVG}"></svg><img src="_i/a.svg" alt="a"/><img src="_i/f.png"/>',
    }
    return Edicion(tomo, {p: articulo(c, p) for p, c in cuerpos.items()})


def test_cada_pagina_se_adapta_a_lo_que_admite_epub(edicion):
    uno = edicion.arboles["p-a-uno"]
    assert [n.get("class") for n in uno.findall(f"{{{XHTML}}}div")] == [
        "plegado a-fondo",
        "plegado",
        None,
    ]
    assert uno[0][0].tag == f"{{{XHTML}}}p" and uno[0][0].get("class") == "rotulo-plegado"
    assert uno[3].tag == f"{{{XHTML}}}p" and uno[0].get("open") is None
    enlaces = [dict(a.attrib) for a in uno.iter(f"{{{XHTML}}}a")]
    assert enlaces == [
        {"href": "p-dos.xhtml#p-dos--alli"},
        {"href": "p-dos.xhtml"},
        {"href": "https://x.org/#p"},
    ]
    assert uno.find(f"{{{XHTML}}}li").get("role") is None
    ink = epub.colores()["--atento-ink"]
    assert f"color:{ink}" in etree.tostring(uno, encoding="unicode") and ink.startswith("#")


def test_el_paquete_dice_lo_que_hay_y_en_que_orden(edicion, tomo):
    assert [edicion.propiedades(p) for p in tomo.paginas] == ["", "mathml", "svg"]
    assert edicion.imagenes() == ["_i/a.svg", "_i/f.png"]
    opf = etree.fromstring(epub.paquete(edicion, "https://p.org/", "2026-01-02").encode())
    opf_ns = "{http://www.idpf.org/2007/opf}"
    cosas = [dict(n.attrib) for n in opf.iter(f"{opf_ns}item")]
    assert [(c["id"], c.get("properties")) for c in cosas] == [
        ("nav", "nav"),
        ("css", None),
        ("p-intro", None),
        ("p-a-uno", "mathml"),
        ("p-dos", "svg"),
        ("imagen-0", None),
        ("imagen-1", None),
    ]
    assert [c["media-type"] for c in cosas][-2:] == ["image/svg+xml", "image/png"]
    lomo = [n.get("idref") for n in opf.iter(f"{opf_ns}itemref")]
    assert lomo == ["p-intro", "nav", "p-a-uno", "p-dos"]
    textos = [n.text for n in opf.find(f"{opf_ns}metadata")]
    assert "Portada" in textos and "2026-01-02" in textos and "https://p.org/" in textos
    assert "urn:uuid:4f7ad5b7" not in textos[0] and textos[0].startswith("urn:uuid:")
    assert textos.count("MathML") == 1 and textos.count("textual") == 2


def test_el_indice_del_epub_va_por_partes_y_niveles(tmp_path):
    def pagina(nombre, parte, nivel):
        una = Pagina(f"{nombre}.html", parte, nivel, tmp_path)
        una.titulo = nombre.upper()
        return una

    niveles = [("a", "I", 1), ("b", "I", 2), ("c", "I", 3), ("d", "I", 1), ("e", "II", 1)]
    paginas = [pagina("intro", "", 0), *(pagina(*x) for x in niveles)]
    nav = epub.navegacion(paginas)
    lista = nav[nav.index("<ol>") : nav.rindex("</nav>")]

    def li(nombre, dentro=""):
        return f'<li><a href="p-{nombre}.xhtml">{nombre.upper()}</a>{dentro}</li>'

    c = f"<ol>{li('c')}</ol>"
    b = f"<ol>{li('b', c)}</ol>"
    assert lista == (
        f"<ol>{li('intro')}<li><span>I</span><ol>{li('a', b)}{li('d')}</ol></li>"
        f"<li><span>II</span><ol>{li('e')}</ol></li></ol>"
    )
    assert nav.startswith("<?xml") and '<link rel="stylesheet"' in nav


def test_el_epub_se_escribe_entero(edicion, tomo, tmp_path, monkeypatch):
    cuerpos = {p: etree.tostring(a, encoding="unicode") for p, a in edicion.arboles.items()}
    (tomo.sitio / "_i").mkdir()
    for nombre in ("a.svg", "f.png"):
        (tomo.sitio / "_i" / nombre).write_text(nombre)

    @contextmanager
    def pestana(tomo, estilo):
        yield SimpleNamespace(evaluate=lambda guion: cuerpos)

    monkeypatch.setattr(epub, "abierto", pestana)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    salida = epub.escribe(tomo, tmp_path / "nueva/honda/libro.epub")
    assert epub.escribe(tomo, salida) == salida
    with zipfile.ZipFile(salida) as paquete:
        nombres = paquete.namelist()
        assert nombres[0] == "mimetype" and paquete.infolist()[0].compress_type == 0
        assert paquete.infolist()[1].compress_type == zipfile.ZIP_DEFLATED
        assert paquete.read("mimetype") == b"application/epub+zip"
        assert b"1970-01-01T00:00:00Z" in paquete.read("OPS/libro.opf")
        assert paquete.read("OPS/_i/a.svg") == b"a.svg"
        assert b"<title>Uno</title>" in paquete.read("OPS/p-a-uno.xhtml")
        hoja = paquete.read("OPS/libro.css").decode()
        assert ".highlight .k" in hoja and "td.linenos" not in hoja
        assert not re.search(r"\.highlight \{[^}]*background", hoja)  # el fondo lo pone el lector
    assert set(nombres) == {
        "mimetype",
        "META-INF/container.xml",
        *(f"OPS/{x}" for x in ("libro.opf", "nav.xhtml", "libro.css", "_i/a.svg", "_i/f.png")),
        *(f"OPS/{p.prefijo}.xhtml" for p in tomo.paginas),
    }


# --- El PDF y la orden ----------------------------------------------------------------------------


def test_sin_chromium_se_dice_como_se_instala(monkeypatch):
    monkeypatch.setattr(pdf.shutil, "which", lambda nombre: None)
    with pytest.raises(SystemExit, match="make sistema"):
        pdf.chromium()
    monkeypatch.setattr(
        pdf.shutil, "which", lambda nombre: "/x/chromium" if "browser" in nombre else None
    )
    assert pdf.chromium() == "/x/chromium"


def test_el_pdf_lleva_el_titulo_del_libro_y_los_numeros_de_pagina(tomo, tmp_path, monkeypatch):
    """Con una pestaña que no es de verdad: se imprime, se ponen los números y se imprime otra
    vez."""
    escritor, crudo, pedido = PdfWriter(), io.BytesIO(), []
    for _ in range(2):
        escritor.add_blank_page(100, 100)
    escritor.add_outline_item("Dospalabras", 1)
    escritor.add_named_destination("p-dos", 1)
    escritor.write(crudo)

    class Pestana:
        def evaluate(self, guion, *valores):
            pedido.append((guion, *valores))
            return {"Dospalabras": "Dos palabras"} if guion == pdf.TITULOS else None

        def pdf(self, **_):
            pedido.append("imprime")
            return crudo.getvalue()

    @contextmanager
    def abierto(que, estilo):
        assert que is tomo and "@page" in estilo
        yield Pestana()

    monkeypatch.setattr(pdf, "abierto", abierto)
    salida = tmp_path / "nueva" / "honda" / "libro.pdf"
    for _ in range(2):  # la segunda, con la carpeta ya hecha
        assert pdf.escribe(tomo, salida) == salida
    esperado = ["imprime", (pdf.PON_NUMEROS, {"p-dos": 2}), "imprime", (pdf.TITULOS,)]
    assert pedido == esperado * 2
    hecho = PdfReader(salida)
    assert hecho.metadata.title == tomo.paginas[0].titulo == "Portada"
    assert [m.title for m in hecho.outline] == ["Dos palabras"]


PIDE = """async direcciones => Promise.all(direcciones.map(async una => {
    try {
        const r = await fetch(una);
        return [r.headers.get("content-type"), await r.text()];
    } catch (error) { return null; }
}))"""


@pytest.mark.navegador
def test_la_pestana_del_pdf_solo_ve_la_carpeta_del_sitio(tmp_path):
    raiz = tmp_path / "sitio"
    raiz.mkdir()
    (raiz / "intro.html").write_text(
        f"<html><body>{INDICE}<article><h1>Portada</h1></article></body></html>", "utf-8"
    )
    for nombre in ("a/uno.html", "dos.html"):
        (raiz / nombre).parent.mkdir(exist_ok=True)
        (raiz / nombre).write_text(
            "<html><body><article><h1>Otra</h1></article></body></html>", "utf-8"
        )
    for nombre, texto in {"con ñ.svg": "<svg/>", "letra.rara": "letra"}.items():
        (raiz / nombre).write_text(texto, "utf-8")
    (tmp_path / "fuera.txt").write_text("fuera", "utf-8")
    pedidos = ["con%20%C3%B1.svg", "letra.rara", "no-esta.css", "..%2Ffuera.txt"]
    with pdf.abierto(Tomo(raiz, ""), "h1 { color: red }") as pestana:
        dado = pestana.evaluate(PIDE, [f"{pdf.ORIGEN}{x}" for x in pedidos])
        de_fuera = pestana.evaluate(PIDE, ["https://ejemplo.org/dos.html"])
        impreso = pestana.evaluate("() => [innerWidth, matchMedia('print').matches]")
        assert pestana.locator("h1").all_inner_texts() == ["Portada", "Índice", "Otra", "Otra"]
    assert dado == [["image/svg+xml", "<svg/>"], ["font/woff2", "letra"], None, None]
    assert de_fuera == [None] and impreso == [pdf.ANCHO, True]


def test_cada_cosa_la_hace_quien_sabe(sitio, tmp_path, monkeypatch):
    hechas = []
    for quien in (epub, pdf):
        monkeypatch.setattr(
            quien,
            "escribe",
            lambda tomo, salida: hechas.append((tomo.publicado, salida)) or salida,
        )
    nombre = tmp_path / "el-transformer-linea-a-linea"
    for que in ("epub", "pdf"):
        assert ediciones.haz(que, sitio, tmp_path, "https://p.org/") == nombre.with_suffix(
            f".{que}"
        )
    assert hechas == [("https://p.org", nombre.with_suffix(f".{x}")) for x in ("epub", "pdf")]
    assert ediciones.haz("paquete", sitio, tmp_path / "z", "").name == f"{nombre.name}.zip"


def test_un_libro_con_enlaces_rotos_no_se_lleva(sitio):
    assert ediciones.tomo_de(sitio, "").rotos() == []
    pagina = sitio / "dos.html"
    pagina.write_text(pagina.read_text("utf-8").replace("alli", "otro"), "utf-8")
    with pytest.raises(SystemExit, match="a/uno.html → #p-dos--alli"):
        ediciones.tomo_de(sitio, "")


def test_la_orden_dice_donde_queda_y_cuanto_ocupa(sitio, tmp_path, monkeypatch, capsys):
    salida = tmp_path / "fuera"
    orden = ["llevar.py", "paquete", "--sitio", str(sitio), "--salida", str(salida)]
    monkeypatch.setattr(ediciones, "Libro", lambda: SimpleNamespace(sitio="https://p.org"))
    monkeypatch.setattr(sys, "argv", orden)
    (sitio / "gordo.bin").write_bytes(bytes(range(256)) * 1024)
    with zipfile.ZipFile(sitio / "x.zip", "w") as paquete:
        paquete.write(sitio / "gordo.bin")
    ediciones.main()
    assert capsys.readouterr().out.strip().endswith("linea-a-linea.zip (0.0 MiB)")
    monkeypatch.setattr(sys, "argv", [*orden[:3], str(tmp_path / "nada")])
    with pytest.raises(SystemExit, match="make libro"):
        ediciones.main()


def test_lo_que_ocupa_se_dice_en_mebibytes(sitio, tmp_path, monkeypatch, capsys):
    hecho = tmp_path / "fuera" / f"{descargas.NOMBRE}.pdf"
    hecho.parent.mkdir()
    hecho.write_bytes(bytes(5 * 2**19))
    monkeypatch.setattr(ediciones, "Libro", lambda: SimpleNamespace(sitio="https://p.org"))
    monkeypatch.setattr(ediciones, "haz", lambda *a: hecho)
    salida = str(tmp_path / "fuera")
    monkeypatch.setattr(
        sys, "argv", ["llevar.py", "pdf", "--sitio", str(sitio), "--salida", salida]
    )
    ediciones.main()
    assert capsys.readouterr().out == f"{hecho} (2.5 MiB)\n"


def test_la_portada_lleva_a_lo_que_esta_al_lado(tmp_path, monkeypatch):
    """Con un PDF hecho aquí, el enlace es a él; sin él, o al publicar, a la dirección publicada."""
    monkeypatch.delenv("LIBRO_DIRECCION", raising=False)
    sitio, carpeta = tmp_path / "html", tmp_path / "llevar"
    for ruta in (sitio, carpeta):
        ruta.mkdir()
    fuera = f"https://p.org/llevar/{descargas.NOMBRE}"
    original = f'<a href="{fuera}.pdf">PDF</a> <a href="{fuera}.epub">EPUB</a> <a href="x.pdf">'
    (sitio / "intro.html").write_text(original, "utf-8")
    (carpeta / f"{descargas.NOMBRE}.pdf").write_bytes(b"%PDF")
    monkeypatch.setenv("LIBRO_DIRECCION", "https://p.org")
    descargas.apunta(sitio, carpeta, "https://p.org")
    assert (sitio / "intro.html").read_text("utf-8") == original
    # Lo que se publica lleva dentro aquello a lo que enlaza.
    colocado = sitio / "llevar" / f"{descargas.NOMBRE}.pdf"
    assert colocado.read_bytes() == b"%PDF" and len(list(colocado.parent.iterdir())) == 1
    colocado.unlink()
    monkeypatch.delenv("LIBRO_DIRECCION")
    for _ in range(2):
        descargas.apunta(sitio, carpeta, "https://p.org")
        con = (sitio / "intro.html").read_text("utf-8")
        assert con == original.replace(f"{fuera}.pdf", f"llevar/{descargas.NOMBRE}.pdf")
        assert colocado.read_bytes() == b"%PDF"
    (carpeta / f"{descargas.NOMBRE}.pdf").unlink()
    (carpeta / f"{descargas.NOMBRE}.pdf").write_bytes(b"%PDF otra vez")
    descargas.apunta(sitio, carpeta, "https://p.org")
    assert colocado.read_bytes() == b"%PDF otra vez"
    descargas.apunta(sitio, None, "https://p.org/")
    assert (sitio / "intro.html").read_text("utf-8") == original


def test_donde_no_se_enlazan_ficheros_se_copian(tmp_path, monkeypatch):
    def no_sabe(*_):
        raise OSError("otro disco")

    monkeypatch.setattr(descargas.os, "link", no_sabe)
    sitio, carpeta = tmp_path / "html", tmp_path / "llevar"
    for ruta in (sitio, carpeta):
        ruta.mkdir()
    (carpeta / f"{descargas.NOMBRE}.zip").write_bytes(b"zip")
    assert descargas.coloca(sitio, carpeta) == {"zip"}
    assert (sitio / "llevar" / f"{descargas.NOMBRE}.zip").read_bytes() == b"zip"


@pytest.mark.parametrize(
    "orden", [("epub", "pdf", "paquete"), ("paquete", "pdf", "epub"), ("pdf", "paquete", "epub")]
)
def test_en_cualquier_orden_salen_los_mismos_tres_y_una_sola_vez(
    sitio, tmp_path, monkeypatch, orden
):
    """Y los enlaces de la portada llegan, dentro del sitio."""
    monkeypatch.delenv("LIBRO_DIRECCION", raising=False)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    monkeypatch.setattr(ediciones, "Libro", lambda: SimpleNamespace(sitio="https://p.org"))
    hechos = []
    for que, quien in (("epub", epub), ("pdf", pdf)):

        def escribe(tomo, salida, que=que):
            hechos.append(que)
            salida.parent.mkdir(parents=True, exist_ok=True)
            salida.write_text(f"{que} de {[p.titulo for p in tomo.paginas]}")
            return salida

        monkeypatch.setattr(quien, "escribe", escribe)
    texto = (sitio / "intro.html").read_text("utf-8")
    todos = "".join(renglon(que) for que in ("pdf", "epub", "zip"))
    (sitio / "intro.html").write_text(texto.replace("</article>", f"{todos}</article>"), "utf-8")

    def todo() -> dict[str, bytes]:
        for que in orden:
            argumentos = [que, "--sitio", str(sitio), "--salida", str(tmp_path / "llevar")]
            monkeypatch.setattr(sys, "argv", ["llevar.py", *argumentos])
            ediciones.main()
        return {p.suffix: p.read_bytes() for p in (tmp_path / "llevar").glob("el-*")}

    uno = todo()
    dentro_del_zip = dentro(tmp_path / "llevar")
    assert set(uno) == {".pdf", ".epub", ".zip"} and sorted(hechos) == ["epub", "pdf"]
    assert all(f'href="llevar/{descargas.NOMBRE}.{x}"' in dentro_del_zip for x in ("pdf", "epub"))
    assert todo() == uno and sorted(hechos) == ["epub", "pdf"]  # nada que hacer
    enlaces = re.findall(r'href="(llevar/[^"]*)"', (sitio / "intro.html").read_text("utf-8"))
    assert len(enlaces) == 3 and all((sitio / x).is_file() for x in enlaces)
    (sitio / "dos.html").write_text(
        (sitio / "dos.html").read_text("utf-8").replace("Dos", "Tres"), "utf-8"
    )
    otro = todo()
    assert all(otro[x] != uno[x] for x in uno) and len(hechos) == 4


def test_la_orden_enlaza_la_portada_y_el_paquete_no_lleva_el_enlace_de_aqui(
    sitio, tmp_path, monkeypatch
):
    monkeypatch.delenv("LIBRO_DIRECCION", raising=False)
    monkeypatch.setattr(ediciones, "Libro", lambda: SimpleNamespace(sitio="https://p.org"))
    orden = ["llevar.py", "paquete", "--sitio", str(sitio), "--salida", str(tmp_path / "llevar")]
    monkeypatch.setattr(sys, "argv", orden)
    texto = (sitio / "intro.html").read_text("utf-8")
    enlace = f'<li><p><a href="https://p.org/llevar/{descargas.NOMBRE}.zip">Página</a>: x.</p></li>'
    (sitio / "intro.html").write_text(texto + enlace, "utf-8")
    for _ in range(2):
        ediciones.main()
        assert f"llevar/{descargas.NOMBRE}.zip" in (sitio / "intro.html").read_text("utf-8")
        assert "https://p.org/llevar" not in (sitio / "intro.html").read_text("utf-8")
        assert dentro(tmp_path / "llevar") == texto + "<li><p>Página: es esta.</p></li>\n"


def dentro(carpeta, fichero="intro.html"):
    """Lo que lleva el zip de una carpeta."""
    with zipfile.ZipFile(carpeta / f"{descargas.NOMBRE}.zip") as paquete:
        return paquete.read(f"{descargas.NOMBRE}/{fichero}").decode()


def renglon(que, direccion="https://p.org/llevar"):
    """Una línea de «Para llevar», como la escribe el libro."""
    enlace = f'<a class="reference external" href="{direccion}/{descargas.NOMBRE}.{que}">{que}</a>'
    return f"<li><p>{enlace}: para algo.</p></li>\n"


@pytest.mark.parametrize("publicada", ["", "https://p.org"])
def test_el_zip_lleva_el_pdf_y_el_epub_que_son_de_estas_paginas(
    sitio, tmp_path, monkeypatch, publicada
):
    """Y la portada de dentro lleva a ellos; a los demás, solo si están publicados."""
    carpeta = tmp_path / "llevar"
    carpeta.mkdir()
    monkeypatch.setenv("LIBRO_DIRECCION", publicada)
    todos = {que: renglon(que) for que in ("pdf", "epub", "zip")}
    (sitio / "intro.html").write_text("<ul>" + "".join(todos.values()) + "</ul>", "utf-8")
    for que in ("epub", "pdf"):
        (carpeta / f"{descargas.NOMBRE}.{que}").write_text(f"el {que}", "utf-8")
        descargas.sella(que, sitio, carpeta)
        if que == "epub":  # lo que se hizo antes de cambiar una página ya no es de estas
            pagina = sitio / "dos.html"
            pagina.write_text(pagina.read_text("utf-8") + "<!-- otra -->", "utf-8")
            os.utime(pagina, (0, 0))  # la fecha no cuenta
    empaqueta(sitio, carpeta / f"{descargas.NOMBRE}.zip")
    epub = todos["epub"] if publicada else ""
    esta = "<li><p>zip: es esta.</p></li>\n"
    assert dentro(carpeta) == f"<ul>{renglon('pdf', 'llevar')}{epub}{esta}</ul>"
    assert dentro(carpeta, f"llevar/{descargas.NOMBRE}.pdf") == "el pdf"
    with zipfile.ZipFile(carpeta / f"{descargas.NOMBRE}.zip") as paquete:
        assert not [nombre for nombre in paquete.namelist() if nombre.endswith(".epub")]


def test_un_zip_que_no_se_acaba_no_se_lleva_por_delante_el_anterior(sitio, tmp_path, monkeypatch):
    salida = tmp_path / "llevar" / f"{descargas.NOMBRE}.zip"
    salida.parent.mkdir()
    salida.write_bytes(b"el de antes")

    def falla(*_):
        raise OSError("no queda sitio")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", falla)
    with pytest.raises(OSError, match="no queda sitio"):
        empaqueta(sitio, salida)
    assert list(salida.parent.iterdir()) == [salida]
    assert salida.read_bytes() == b"el de antes"


@pytest.mark.navegador
def test_el_pdf_de_un_sitio_de_juguete(sitio, tmp_path):
    """Con números en el índice, enlaces de dentro y nada pedido fuera de la carpeta."""
    from pypdf import PdfReader

    uno = sitio / "dos.html"
    uno.write_text(
        uno.read_text("utf-8").replace("Aquí.", 'Aquí.<img src="https://ejemplo.org/x.png">'),
        "utf-8",
    )
    tomo = Tomo(sitio, "https://publicado.org/")
    hecho = pdf.escribe(tomo, tmp_path / "nueva/honda/libro.pdf")
    assert hecho == tmp_path / "nueva/honda/libro.pdf"
    lector = PdfReader(pdf.escribe(tomo, hecho))
    assert lector.metadata.title == "Portada"
    assert [m.title for m in lector.outline if not isinstance(m, list)][:1] == ["Portada"]
    texto = "\n".join(p.extract_text() for p in lector.pages)
    assert "Portada" in texto and "Dos" in texto
    paginas = numeros(hecho.read_bytes())
    assert 1 < paginas["p-a-uno"] <= paginas["p-dos"] <= len(lector.pages)
    indice = next(p.extract_text() for p in lector.pages if "Parte" in p.extract_text())
    for titulo, prefijo in (("Uno", "p-a-uno"), ("Dos", "p-dos")):
        assert re.search(rf"{titulo}\W*{paginas[prefijo]}\b", indice), indice
    assert lector.root_object["/MarkInfo"]["/Marked"]
    with pdf.abierto(tomo, "p { color: red }") as pestana:
        assert pestana.evaluate("innerWidth") == pdf.ANCHO
        assert pestana.evaluate("matchMedia('print').matches")
        assert (
            pestana.evaluate("getComputedStyle(document.querySelector('p')).color")
            == "rgb(255, 0, 0)"
        )
        pedidos = "async (u) => (await fetch(u).then((r) => r.status, () => 'no'))"
        assert pestana.evaluate(pedidos, "/dos.html") == 200
        assert pestana.evaluate(pedidos, "/..%2f..%2fetc%2fhostname") == "no"
        assert pestana.evaluate(pedidos, "https://ejemplo.org/dos.html") == "no"


def test_cada_pagina_lleva_su_titulo_arriba(tomo):
    assert "@page p-a-uno" in documento(tomo, "")
    reglas = el_documento._cabeceras(tomo.paginas).split("\n")
    assert reglas == [
        '@page p-intro { @top-right { content: "" } }',
        "#p-intro { page: p-intro }",
        '@page p-a-uno { @top-right { content: "Uno" } }',
        "#p-a-uno { page: p-a-uno }",
        '@page p-dos { @top-right { content: "Dos" } }',
        "#p-dos { page: p-dos }",
    ]
