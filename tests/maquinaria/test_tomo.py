"""El libro en un solo documento: enlaces, identificadores y lo que no se lleva."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from lxml import html

from paquete import empaqueta
from tomo import Tomo, documento
from tomo_epub import sin_variables
from tomo_pdf import con_datos, numeros

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
    ' class="comprobacion"><summary>Bien</summary><div>z</div></details><img src="../_i/f.png"'
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
    assert uno.find(".//img").get("src") == "_i/f.png"
    assert tomo.rotos() == []


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


def test_el_documento_lleva_indice_y_todas_las_paginas(tomo):
    arbol = html.fromstring(documento(tomo, ""))
    assert [n.get("data-destino") for n in arbol.xpath("//*[@data-destino]")] == [
        "p-a-uno",
        "p-dos",
    ]
    assert len(arbol.xpath("//main/article")) == 3


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
    import io

    from pypdf import PdfReader, PdfWriter

    escritor = PdfWriter()
    for _ in range(2):
        escritor.add_blank_page(100, 100)
    escritor.add_outline_item("Dospalabras", 1)
    escritor.add_named_destination("p-x", 1)
    crudo = io.BytesIO()
    escritor.write(crudo)
    assert numeros(crudo.getvalue()) == {"p-x": 2}
    hecho = PdfReader(
        io.BytesIO(con_datos(crudo.getvalue(), "Libro", {"Dospalabras": "Dos palabras"}))
    )
    assert [m.title for m in hecho.outline] == ["Dos palabras"]
    assert hecho.metadata.title == "Libro" and hecho.root_object["/Lang"] == "es"


def test_el_paquete_deja_fuera_lo_que_no_se_usa(sitio, tmp_path_factory):
    for sobra in ("objects.inv", "a/x.css.map", "llevar/libro.pdf"):
        (sitio / sobra).parent.mkdir(exist_ok=True)
        (sitio / sobra).write_text("x", "utf-8")
    with zipfile.ZipFile(
        empaqueta(sitio, tmp_path_factory.mktemp("fuera") / "libro.zip")
    ) as paquete:
        assert sorted(paquete.namelist()) == [
            "libro/a/uno.html",
            "libro/dos.html",
            "libro/intro.html",
        ]
