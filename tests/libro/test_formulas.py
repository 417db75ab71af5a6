"""Las fórmulas: TeX que se convierte, espacios como los de TeX y lugares por donde se parten."""

import re
from types import SimpleNamespace

import pytest
from docutils import nodes
from libro import formulas
from libro.formulas import MACROS, TeXError, mathml
from lxml import etree


def _signos(tex, en_bloque=False):
    """Cada signo con sus espacios, si se le han puesto."""
    raiz = etree.fromstring(mathml(tex, en_bloque))
    return [(x.text, x.get("lspace"), x.get("rspace")) for x in raiz.iter("mo") if x.get("lspace")]


def _trozos(tex):
    raiz = etree.fromstring(mathml(tex, True))
    return ["".join(x.itertext()) for x in raiz] if raiz.get("class") == "partible" else None


def test_una_fraccion_y_una_raiz():
    raiz = etree.fromstring(mathml(r"\frac{\Q\K^\T}{\sqrt{d_k}}"))
    assert raiz.tag == "math" and raiz.get("display") is None and raiz.get("style") is None
    fraccion = next(raiz.iter("mfrac"))
    assert fraccion[1].tag == "msqrt" and "".join(fraccion[1].itertext()) == "dk"
    assert [x.get("class") for x in raiz.iter("mi") if x.get("class")] == ["q", "k"] or [
        x.get("class") for x in raiz.iter() if x.get("class")
    ] == ["q", "k"]


def test_en_bloque():
    assert etree.fromstring(mathml("x", True)).get("display") == "block"


@pytest.mark.parametrize("nombre", sorted(MACROS))
def test_las_abreviaturas_del_libro(nombre):
    assert "<m" in mathml(f"\\{nombre}") and "\\" not in mathml(f"\\{nombre}")


def test_la_coma_separa_numeros():
    raiz = etree.fromstring(mathml("(1,2.5,3)"))
    assert [x.text for x in raiz.iter("mn")] == ["1", "2.5", "3"]
    assert [x.text for x in raiz.iter("mo") if x.get("separator")] == [",", ","]
    assert mathml("x_{1,2}").count("<mn>") == 2
    (fila,) = {x.getparent() for x in raiz.iter("mo") if x.get("separator")}
    assert "".join(fila.itertext()) == "(1,2.5,3)", "lo separado no va en una fila suya"
    (indice,) = etree.fromstring(mathml("x_{1,2}")).iter("msub")
    assert len(indice) == 2 and "".join(indice[1].itertext()) == "1,2"


def test_alrededor_de_una_suma():
    assert _signos(r"c=\sum_j x_j") == [("∑", "0em", "0.1667em")]
    assert _signos(r"a\sum_j x_j") == [("∑", "0.1667em", "0.1667em")]
    assert _signos(r"\prod_j (x_j)") == [("∏", "0em", "0em")]


def test_delante_de_una_funcion():
    def espacios(tex):
        return mathml(tex).count("<mspace")

    assert espacios(r"p\log p") == espacios(r"=\log p") + 1 == 2
    assert espacios(r"(p)\log p") == 2 and espacios(r"\log p") == 1


def test_puntos_suspensivos():
    assert _signos(r"k_1,\dots,k_m") == [("…", "0em", "0.1667em")]
    assert _signos(r"k_1,\dots") == [("…", "0em", "0em")]


def test_en_los_indices_los_signos_van_juntos():
    assert _signos("h_{t-1}") == [("−", "0em", "0em")] and _signos("h-1") == []
    assert (",", "0em", "0em") in _signos("a_{i,j}")


def test_por_donde_se_parte():
    assert _trozos("a+b=c") == ["a", "+b", "=c"]
    assert _trozos("a+b=") == ["a", "+b="]  # un signo sin nada detrás no va solo
    assert _trozos("a=b=c") == ["a=b", "=c"] and _trozos("a=b") is None
    assert _trozos(r"a=1,\qquad b=2") == ["a=1,", "b=2"]
    assert _trozos(r"-a") is None and _trozos(r"\frac{a=b}{c+d}") is None
    assert _trozos(r"\begin{aligned}a&=b\\c&=d\end{aligned}") is None
    celdas = etree.fromstring(mathml(r"\begin{aligned}a&=b+c\\&=d\end{aligned}", True)).iter("mtd")
    assert [["".join(x.itertext()) for x in celda] for celda in celdas][1] == ["=b", "+c"]
    raiz = etree.fromstring(mathml("a=-b=c", True))
    assert [x.get("form") for x in raiz.iter("mo")] == [None, "prefix", "infix"]


@pytest.mark.parametrize("tex", ["a+b=c", r"\sum_{i=1}^n p_i\log p_i", r"(1,2)\to\R^{n\times d}"])
def test_nada_se_pierde(tex):
    sin_cortes = formulas._temml()(tex, {**formulas.OPCIONES, "displayMode": True})

    def letras(xml):
        return re.sub(r"\s", "", "".join(etree.fromstring(xml).itertext()))

    assert letras(mathml(tex, True)) == letras(sin_cortes) != ""


@pytest.mark.parametrize(
    "tex", ["e^{x_i}", "e^{x^{y}}", "e^{x_{i+1}}", r"\tfrac12", r"e^{-\frac{a}{b}}"]
)
def test_el_tamano_solo_va_en_mstyle(tex):
    """EPUB solo lo admite ahí."""
    con_tamano = [x.tag for x in etree.fromstring(mathml(tex)).iterfind(".//*[@scriptlevel]")]
    assert set(con_tamano) <= {"mstyle"}


def test_hay_formulas_con_el_tamano_cambiado():
    assert "scriptlevel" in formulas._temml()("e^{x_{i_j}}", formulas.OPCIONES)
    assert etree.fromstring(mathml("e^{x_{i_j}}")).find(".//mstyle[@scriptlevel]") is not None


def test_sin_etiquetas_que_se_cierran_solas():
    assert "/>" not in mathml(r"p\log p\qquad x")


def test_un_tex_que_no_se_entiende():
    with pytest.raises(TeXError, match="Rr"):
        mathml(r"\Rr")


class _Traductor:
    def __init__(self):
        self.body = []

    def starttag(self, nodo, etiqueta, fin="\n", **atributos):
        return f'<{etiqueta} class="{atributos["CLASS"]}">{fin}'

    def encode(self, texto):
        return texto.replace("<", "&lt;")


def test_en_la_pagina(caplog):
    traductor = _Traductor()
    with pytest.raises(nodes.SkipNode):
        formulas.visita_en_linea(traductor, nodes.math("", "x"))
    assert traductor.body == [
        '<span class="math notranslate nohighlight"><math><mi>x</mi></math></span>'
    ]
    bloque = nodes.math_block("", "a=b", nowrap=False, number=None)
    traductor = _Traductor()
    with pytest.raises(nodes.SkipNode):
        formulas.visita_en_bloque(traductor, bloque)
    assert '<div class="formula"><math display="block"' in "".join(traductor.body)


def test_un_tex_que_no_se_entiende_se_avisa_en_su_sitio(monkeypatch):
    """Con aviso, que detiene la construcción; la página enseña el TeX."""
    from sphinx.util import logging

    avisos = []

    class Registro:
        def warning(self, mensaje, *datos, location):
            avisos.append((mensaje % datos, location))

    monkeypatch.setattr(logging, "getLogger", lambda nombre: Registro())
    traductor, nodo = _Traductor(), nodes.math("", r"a<\Rr")
    with pytest.raises(nodes.SkipNode):
        formulas.visita_en_linea(traductor, nodo)
    ((dicho, donde),) = avisos
    assert r"la fórmula «a<\Rr» no se entiende: " in dicho and "Rr" in dicho and donde is nodo
    assert r"<code>a&lt;\Rr</code>" in traductor.body[0]


def test_varias_lineas_se_alinean():
    def bloque(tex, nowrap=False):
        return formulas._entera(nodes.math_block("", tex, nowrap=nowrap, number=None))

    assert bloque("a") == "a"
    assert bloque(r"a&=b\\c&=d") == r"\begin{split}a&=b\\c&=d\end{split}"
    assert bloque("a\n\nb") == r"\begin{aligned}a\\b\end{aligned}"
    assert bloque(r"\begin{align}a\end{align}", True) == r"\begin{align*}a\end{align*}"
    for tex in ("a", r"a&=b\\c&=d", "a\n\nb"):
        assert mathml(bloque(tex), True).startswith("<math")


def test_se_registra_con_su_nombre():
    dado = {}
    formulas.setup(SimpleNamespace(add_html_math_renderer=lambda *a: dado.update({a[0]: a[1:]})))
    assert dado == {"libro": ((formulas.visita_en_linea, None), (formulas.visita_en_bloque, None))}
