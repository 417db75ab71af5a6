"""El lector de MyST: cada línea en su papel."""

from __future__ import annotations

import pytest
from libro.lector import analiza, limpia, vallas_mal_anidadas

PAGINA = """---
kernelspec: {name: python3}
---
(c04-inicio)=
# Título

Prosa con `código`.

::::{prediccion} ¿Sube?
:class: x

Dentro.

:::{respuesta}
Sí.
:::
::::

```{code-cell} python
:tags: [comprobacion]
:comprueba: "Coinciden"

assert True
x = 1
```

$$
y = 1
$$ (eq-uno)

% comentario

```{a-fondo} Más despacio
:label: af-uno
```

Tres palabras plegadas.

```{code-cell} python
z = 1
```

```{fin-a-fondo}
```

::::{a-fondo} Otro
Dos más.
::::

Fin.
"""


def linea(doc, texto):
    """La única línea con ese texto."""
    (unica,) = [x for x in doc.lineas if x.texto == texto]
    return unica


@pytest.mark.parametrize(
    ("texto", "clase"),
    [
        ("kernelspec: {name: python3}", "vacia"),
        ("(c04-inicio)=", "etiqueta"),
        ("# Título", "titulo"),
        ("Prosa con `código`.", "prosa"),
        ("Dentro.", "prosa"),
        ("Sí.", "prosa"),
        ("assert True", "codigo"),
        ("y = 1", "mates"),
        ("% comentario", "vacia"),
        ("Más despacio", "titulo"),
        ("Coinciden", "opcion"),
        ("[comprobacion]", "valla"),
        ("x", "valla"),
        ("::::{prediccion} ¿Sube?", "valla"),
        ("Fin.", "prosa"),
    ],
)
def test_el_papel_de_cada_linea(texto, clase):
    assert linea(analiza(PAGINA), texto).clase == clase


def test_cada_linea_sabe_su_numero_y_su_directiva():
    doc = analiza(PAGINA)
    assert [x.numero for x in doc.lineas] == list(range(1, len(PAGINA.split("\n")) + 1))
    si = linea(doc, "Sí.").directiva
    assert (
        si.nombre == "respuesta" and si.padre.nombre == "prediccion" and si.dentro_de("prediccion")
    )
    assert not si.dentro_de("repaso") and linea(doc, "Fin.").directiva is None
    assert (si.linea, si.desde, si.fin) == (14, 15, 16)
    assert si.padre.opciones == {"class": "x"} and si.padre.contenido.startswith("Dentro.")
    assert (
        linea(doc, "::::{prediccion} ¿Sube?").directiva is si.padre
        and doc.lineas[15].directiva is si.padre
    )


def test_las_celdas_y_lo_que_se_ve_de_ellas():
    una, otra = analiza(PAGINA).celdas
    assert una.codigo == ["assert True", "x = 1"] and una.etiquetas == ["comprobacion"]
    assert una.opciones["comprueba"] == '"Coinciden"' and not una.visible and not una.a_fondo
    assert otra.a_fondo and otra.visible and otra.etiquetas == []
    assert analiza("```{code-cell} python\n1\n```\n").celdas[0].visible


def test_lo_plegado_se_cuenta_aparte():
    doc = analiza(PAGINA)
    assert [x.texto for x in doc.prosa() if x.a_fondo] == [
        "Más despacio",
        "Tres palabras plegadas.",
        "Otro",
        "Dos más.",
    ]
    assert doc.palabras(a_fondo=True) == 8
    assert doc.palabras() == len("Título Prosa con Dentro Sí Coinciden Fin".split())
    assert not linea(doc, "Fin.").a_fondo


def test_secciones_y_tramos():
    doc = analiza("# A\n\n## B\n\nx\n\n### C\n\n```{note}\n## No\n```\n\n## D\n\ny\n")
    assert [(n, t) for n, t, _ in doc.secciones()] == [(1, "A"), (2, "B"), (3, "C"), (2, "D")]
    assert doc.tramo("B") == (3, 12) and doc.tramo("D") == (13, 16) and doc.tramo("Z") == (0, 0)


def test_lo_que_no_se_cierra_y_los_cierres_de_mas():
    assert analiza("```{note}\nx\n").directivas[0].fin == 0
    assert analiza("```{note}\nx\n```\n").directivas[0].fin == 3
    assert (
        analiza("x\n\n:::\n").vallas_sueltas == [3]
        and analiza("```\nx\n```\n").vallas_sueltas == []
    )


def test_opciones_entre_rayas():
    directiva = analiza("```{figure} a.png\n---\nname: fig-a\nalt:\n---\nPie.\n```\n").directivas[0]
    assert directiva.opciones == {"name": "fig-a", "alt": ""} and directiva.etiqueta == "fig-a"
    assert directiva.contenido == "Pie." and directiva.desde == 6
    sin_cerrar = analiza("```{figure} a.png\n---\nname: fig-a\n```\n").directivas[0]
    assert sin_cerrar.opciones == {"name": "fig-a"} and sin_cerrar.contenido == ""
    # La última opción de la que no se cierra es suya, no de quien la contiene.
    hoja = analiza("```{figure} a.png\n:name: fig-a\n:alt: Una recta.\n")
    assert [x.directiva for x in hoja.lineas[:3]] == [hoja.directivas[0]] * 3


def test_vallas():
    assert vallas_mal_anidadas("::::{repaso}\n:::{respuesta}\nSí.\n:::\n::::") == []
    assert vallas_mal_anidadas(":::{repaso}\n```{exercise}\n:::\n```\n:::") == []
    assert vallas_mal_anidadas(":::{repaso}\n:::{respuesta}\nSí.\n:::\n:::") == [(2, "respuesta")]
    assert vallas_mal_anidadas(":::{a}\n:::\n:::{b}\n:::") == []


@pytest.mark.parametrize(
    ("abre", "dentro", "cierra"),
    [("````", "```", "````"), ("~~~", "```", "~~~"), ("```", "``` no", "`````")],
)
def test_las_vallas_que_se_ensenan_en_un_codigo_no_cuentan(abre, dentro, cierra):
    """El código acaba donde dice MyST: con el mismo signo, al menos tan largo y solo."""
    mal = ":::{a}\n:::{b}"
    codigo = f"{abre}\n{dentro}\n{mal}\n{cierra}"
    assert vallas_mal_anidadas(codigo) == []
    assert vallas_mal_anidadas(f"{codigo}\n{mal}") == [(7, "b")]


def test_limpia_deja_lo_que_se_lee():
    sucio = "Un {term}`valor <v>`, `x`, $y$, {en}`key` y [aquí](http://a.b)."
    assert limpia(sucio).split() == ["Un", "valor,", ",", ",", "y", "aquí."]


def test_a_fondo_es_lo_que_hay_hasta_su_marca_o_en_su_cuerpo():
    doc = analiza(
        "antes\n\n:::{a-fondo} Uno\n:::\n\ndentro\n\n```{fin-a-fondo}\n```\n\nentre\n\n"
        ":::{a-fondo} Dos\ncuerpo\n:::\n\ndespués\n\n```{fin-a-fondo}\n```\nfin\n"
    )
    plegadas = [linea.texto for linea in doc.lineas if linea.a_fondo and linea.texto]
    assert "dentro" in plegadas and "cuerpo" in plegadas
    assert not {"antes", "entre", "después", "fin"} & set(plegadas)
    assert [d.a_fondo for d in doc.directivas] == [True, True, True, False]


def test_cada_linea_de_un_cuerpo_sabe_de_quien_es():
    doc = analiza(":::{repaso} Tres\n:class: x\nuna\ndos\n:::\nfuera\n")
    repaso = doc.directivas[0]
    dentro = [linea.texto for linea in doc.lineas if linea.directiva is repaso]
    assert {"una", "dos"} <= set(dentro) and "fuera" not in dentro


@pytest.mark.parametrize("nombre", ["exercise", "admonition", "prf:theorem", "prf:lemma"])
def test_el_titulo_de_una_directiva_es_un_titulo(nombre):
    doc = analiza(f"# T\n\n```{{{nombre}}} De la suma\nAlgo.\n```\n")
    assert linea(doc, "De la suma").clase == "titulo"


def test_el_codigo_sangrado_no_es_prosa():
    doc = analiza("# T\n\nProsa.\n\n    x = 1\n\nMás.\n")
    assert linea(doc, "    x = 1").clase == "codigo"
    assert [x.texto for x in doc.prosa(titulos=False)] == ["Prosa.", "Más."]


def test_de_donde_a_donde_va_lo_plegado():
    uno, otro = ":::{a-fondo} A\nDos.\nTres.\n:::", ":::{a-fondo} B\nCinco.\n:::"
    doc = analiza(f"# T\n\nUno.\n\n{uno}\n\nCuatro.\n\n{otro}\n")
    plegadas = [x.numero for x in doc.lineas if x.a_fondo]
    tramos = doc.tramos_a_fondo()
    assert len(tramos) == 2 and [n for a, b in tramos for n in range(a, b + 1)] == plegadas
    assert analiza("# T\n\nUno.\n").tramos_a_fondo() == []


def test_una_celda_dice_lo_que_comprueba():
    (con, sin) = analiza(PAGINA).celdas
    assert (con.comprueba, sin.comprueba) == ("Coinciden", "")
