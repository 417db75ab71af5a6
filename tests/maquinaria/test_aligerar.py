"""Las hojas de estilo aligeradas: se va lo que nadie usa y se queda todo lo demás."""

import pytest

from aligerar import aligera, aligerada


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
        ('@font-face{src:url("f.woff2")}', '@font-face{src:url("f.woff2")}'),
    ],
)
def test_que_reglas_se_quedan(antes, despues):
    assert aligerada(antes, {"a"}) == despues


def test_se_mira_en_paginas_y_guiones(tmp_path):
    (tmp_path / "_static").mkdir()
    (tmp_path / "p.html").write_text('<p class="a">', "utf-8")
    (tmp_path / "_static" / "g.js").write_text('x.classList.add("b")', "utf-8")
    hoja = tmp_path / "_static" / "h.css"
    hoja.write_text(".a{x:1}.b{x:2}.c{x:3}", "utf-8")
    assert aligera(tmp_path) == len(".c{x:3}")
    assert hoja.read_text("utf-8") == ".a{x:1}.b{x:2}"
