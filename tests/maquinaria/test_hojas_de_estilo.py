"""Las hojas de estilo aligeradas: se va lo que nadie usa y se queda todo lo demás."""

import os
import re
from pathlib import Path

import pytest
import tinycss2

from paginas.hojas_de_estilo import SIN_COLOR, aligera, aligerada, sin_marcas


@pytest.mark.parametrize(
    ("antes", "despues"),
    [
        (".a{x:1} .b{x:2}", ".a{x:1}"),
        (".b,.a p{y:2}", ".a p{y:2}"),
        ("p{z:3}", "p{z:3}"),
        ("@media print{.b{z:3}}", ""),
        ("@media print{.a{z:3}}", "@media print{.a{z:3}}"),
        (".a:is(.b, .c){x:1}", ".a:is(.b, .c){x:1}"),
        (".a:not(.b){x:1}", ".a:not(.b){x:1}"),
        (".bs-tooltip-top{x:1}", ".bs-tooltip-top{x:1}"),
        (".b .a{x:1}", ""),
        ("#b{x:1}", ""),
        ("#a{x:1}", "#a{x:1}"),
        ('@import "f.css";', '@import "f.css";'),
        ("@layer x,y;", "@layer x,y;"),
        ("@MEDIA print{.a{z:3}}", "@MEDIA print{.a{z:3}}"),
        ("@media print{@supports (x:y){.a{z:3}.b{z:4}}}", "@media print{@supports (x:y){.a{z:3}}}"),
        ("@keyframes b{from{x:1}}", "@keyframes b{from{x:1}}"),
        ('@font-face{src:url("f.woff2")}', '@font-face{src:url("f.woff2")}'),
    ],
)
def test_que_reglas_se_quedan(antes, despues):
    assert aligerada(antes, {"a"}) == despues


def test_se_mira_en_paginas_y_guiones(tmp_path):
    (tmp_path / "_static").mkdir()
    (tmp_path / "p.html").write_text('<p class="a">', "utf-8")
    (tmp_path / "_static" / "g.js").write_text('x.classList.add("b")', "utf-8")
    (tmp_path / "guiones").mkdir()
    (tmp_path / "guiones" / "libro.js").write_text('"d"', "utf-8")
    (tmp_path / "_static" / "hondo").mkdir()
    (tmp_path / "_static" / "hondo" / "fontawesome.js").write_text('"c"', "utf-8")
    hoja, igual = (tmp_path / "_static" / x for x in ("h.css", "hondo/igual.css"))
    hoja.write_text(".a{x:1}.b{x:2}.c{x:'ñ'}.d{x:4}", "utf-8")
    igual.write_text(".a{x:1}", "utf-8")
    os.utime(igual, (0, 0))
    assert aligera(tmp_path) == len(".c{x:'ñ'}") + 1
    assert hoja.read_text("utf-8") == ".a{x:1}.b{x:2}.d{x:4}"
    assert igual.stat().st_mtime == 0  # lo que no cambia no se escribe


def test_el_codigo_solo_se_marca_donde_cambia():
    codigo = (
        '<div class="highlight"><pre><span class="n">x</span><span class="s1">&#39;a&#39;</span>'
    )
    assert sin_marcas(f"{codigo}</pre></div>") == (
        '<div class="highlight"><pre>x<span class="s1">&#39;a&#39;</span></pre></div>'
    )
    fuera = '<p><span class="n">x</span></p>'
    assert sin_marcas(fuera) == fuera


def test_la_hoja_del_libro_no_da_color_a_lo_que_se_desmarca():
    hoja = (Path(__file__).parents[2] / "book/_static/libro.css").read_text("utf8")
    con_color = set()
    for regla in tinycss2.parse_stylesheet(hoja, skip_comments=True, skip_whitespace=True):
        selector = tinycss2.serialize(regla.prelude)
        if ".highlight :is(" not in selector:
            continue
        clases = set(re.findall(r"\.(\w+)", selector.split(":is")[1]))
        if "color: inherit" not in tinycss2.serialize(regla.content):
            con_color |= clases
    quitadas = set(re.search(r"\?:([\w|]+)", SIN_COLOR.pattern)[1].split("|"))
    assert len(con_color) > 10 and not con_color & quitadas
