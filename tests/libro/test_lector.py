"""El lector de MyST y la numeración: cada línea en su papel, cada etiqueta en su sitio."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from docutils import nodes
from libro import etiquetas
from libro.etiquetas import Destino, Indice, discrepancias, documentos, numeros_de_sphinx
from libro.lector import analiza, limpia, sucesos, vallas_mal_anidadas

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


# --- Numeración -----------------------------------------------------------------------------------

CAPITULO = """(c04-inicio)=
# La atención

(c04-parrafo)=
Un párrafo con etiqueta.

## Primera

(c04-otro)=
Otro párrafo.

- (no-es)=etiqueta

(c04-segunda)=
## Segunda

```{math}
:label: eq-a
x
```

$$
y
$$ (eq-b)

```{figura} fig-a
Pie con {eq}`eq-a`.
```

::::{prf:theorem} De la suma
:label: th-a
$$
z
$$ (eq-c)
::::

### «Todo baja» {refutacion}`R-002`

```{exercise} Uno
:label: ej-4-1
```

```{table} De pesos
:label: tab-a
|a|
|-|
```

:::{a-fondo} Más
:label: af-a
:::

:::{a-fondo} Sin etiqueta
Algo.
:::

(c04-codigo)=
```{code-cell} python
1
```
(c04-cola)=
## Tercera
"""


@pytest.fixture
def indice():
    todo = Indice()
    todo.apunta("2-m/04-atencion", CAPITULO)
    todo.apunta("apendices/x", "(ap)=\n# X\n\n## Sin número\n\n$$\nx\n$$ (eq-ap)\n")
    return todo


@pytest.mark.parametrize(
    ("etiqueta", "clase", "numero", "titulo"),
    [
        ("c04-inicio", "Capítulo", "4", "La atención"),
        ("c04-segunda", "Sección", "4.2", "Segunda"),
        ("c04-cola", "Sección", "4.3", "Tercera"),
        ("eq-a", "Ecuación", "4.1", ""),
        ("eq-b", "Ecuación", "4.2", ""),
        ("eq-c", "Ecuación", "4.3", ""),
        ("fig-a", "Figura", "4.1", ""),
        ("th-a", "Teorema", "4.1", "De la suma"),
        ("ej-4-1", "Ejercicio", "4.1", "Ejercicio 4.1"),
        ("tab-a", "Tabla", "4.1", "De pesos"),
        ("af-a", "A fondo", "", "Más"),
        ("eq-ap", "Ecuación", "1", ""),
        ("ap", "Capítulo", "", "X"),
    ],
)
def test_cada_etiqueta_con_su_numero(indice, etiqueta, clase, numero, titulo):
    destino = indice.destinos[etiqueta]
    assert (destino.clase, destino.numero, destino.titulo) == (clase, numero, titulo)


@pytest.mark.parametrize(
    ("etiqueta", "seccion"),
    [
        ("c04-parrafo", "La atención"),
        ("c04-otro", "Primera"),
        ("c04-codigo", "«Todo baja»"),
    ],
)
def test_la_etiqueta_de_un_parrafo_no_se_va_al_titulo_siguiente(indice, etiqueta, seccion):
    assert indice.destinos[etiqueta] == Destino("2-m/04-atencion", etiqueta, seccion)


def test_refutaciones_y_rotulos(indice):
    assert indice.refutaciones == [("R-002", "2-m/04-atencion", "«Todo baja»")]
    assert indice.destinos["err-r-002"].ancla == "err-R-002"
    assert (
        indice.destinos["eq-b"].rotulo == "(4.2)"
        and indice.destinos["eq-b"].ancla == "equation-eq-b"
    )
    assert indice.destinos["th-a"].rotulo == "Teorema 4.1"
    assert indice.titulos == {"2-m/04-atencion": "La atención", "apendices/x": "X"}


def test_sucesos_no_entra_en_el_codigo():
    tipos = [
        x.tipo for x in sucesos("```{code-cell} python\n# (a)=\n```\n\n```python\n# Hola\n```\n")
    ]
    assert tipos == ["directiva", "parrafo"]


def test_si_sphinx_numera_de_otro_modo_se_dice(indice):
    assert discrepancias(indice, {"c04-segunda": "4.2", "fig-a": "4.1"}) == []
    quejas = discrepancias(indice, {"c04-segunda": "4.1", "eq-b": "4.3"})
    assert (
        len(quejas) == 2 and "«c04-segunda»: 4.2" in quejas[0] and "4.3 en la página" in quejas[1]
    )


def test_documentos_del_indice_con_sus_comodines(tmp_path):
    (tmp_path / "a").mkdir()
    for nombre in ("a/dos.md", "a/uno.md", "b.md"):
        (tmp_path / nombre).write_text("# X\n")
    (tmp_path / "_toc.yml").write_text(
        "root: intro\nparts:\n- chapters:\n  - file: b\n    sections:\n    - glob: a/*\n  -"
        " file: c\n"
    )
    assert documentos(tmp_path) == ["intro", "b", "a/dos", "a/uno", "c"]


# --- Lo que ve Sphinx -----------------------------------------------------------------------------


def test_los_numeros_de_sphinx_se_leen_de_su_entorno():
    std = SimpleNamespace(labels={"c04-a": ("04-x", "a", "A"), "suelta": ("04-x", "z", "Z")})
    env = SimpleNamespace(
        get_domain=lambda nombre: std,
        toc_secnumbers={"04-x": {"#a": (4, 2), "#b": None}},
        toc_fignumbers={
            "04-x": {"figure": {"fig-a": (4, 1)}, "displaymath": {"equation-eq-a": (4, 3)}}
        },
    )
    assert numeros_de_sphinx(env) == {"c04-a": "4.2", "fig-a": "4.1", "eq-a": "4.3"}


def test_una_numeracion_distinta_es_un_aviso(tmp_path, monkeypatch):
    (tmp_path / "_toc.yml").write_text("root: 04-x\nchapters:\n- file: 05-fuera\n")
    for nombre in ("04-x", "05-fuera"):
        (tmp_path / f"{nombre}.md").write_text(f"# T\n\n(c{nombre[:2]}-a)=\n## A\n")
    avisos = []
    monkeypatch.setattr(etiquetas.logger, "warning", lambda texto, queja, **k: avisos.append(queja))
    env = SimpleNamespace(found_docs={"04-x"})
    for numeros, cuantos in (({"c04-a": "4.1", "c05-a": "9.9"}, 0), ({"c04-a": "4.2"}, 1)):
        monkeypatch.setattr(etiquetas, "numeros_de_sphinx", lambda env, n=numeros: n)
        etiquetas._comprobar(SimpleNamespace(srcdir=str(tmp_path)), env)
        assert len(avisos) == cuantos


@pytest.mark.parametrize(
    ("atributos", "sale"),
    [
        ({"reftarget": "c04-a", "reftype": "ref"}, "A"),
        ({"reftarget": "c04-a", "reftype": "numref"}, "Sección 4.1"),
        ({"reftarget": "c04-a", "reftype": "ref", "refexplicit": True}, "texto"),
        ({"reftarget": "x", "reftype": "doc"}, "texto"),
        ({"reftarget": "x", "reftype": "obj", "refdomain": "py"}, "texto"),
        ({"reftarget": "nada", "reftype": "ref"}, None),
    ],
)
def test_una_pagina_suelta_cita_el_resto_sin_enlazarlo(tmp_path, monkeypatch, atributos, sale):
    (tmp_path / "_toc.yml").write_text("root: 04-x\n")
    (tmp_path / "04-x.md").write_text("# T\n\n(c04-a)=\n## A\n")
    app, contenido = SimpleNamespace(srcdir=str(tmp_path)), nodes.Text("texto")
    assert etiquetas._enlazar_con_el_resto(app, None, atributos, contenido) is None
    monkeypatch.setenv(etiquetas.SUELTA, "1")
    nodo = etiquetas._enlazar_con_el_resto(app, None, atributos, contenido)
    assert (nodo and nodo.astext()) == sale
    config = SimpleNamespace(libro_exigir_tiempos=True)
    etiquetas._preparar_suelta(None, config)
    assert config.libro_exigir_tiempos is False
    monkeypatch.delenv(etiquetas.SUELTA)
    config.libro_exigir_tiempos = True
    etiquetas._preparar_suelta(None, config)
    assert config.libro_exigir_tiempos is True


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


def test_lo_que_no_lleva_etiqueta_no_es_destino(indice):
    assert "" not in indice.destinos


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


def test_sin_etiqueta_una_ecuacion_o_una_figura_no_cuenta_y_un_teorema_si():
    """Como en Sphinx y en sphinx-proof, que son quienes los numeran en la página."""
    todo = Indice()
    mates, figura = "```{math}\n{}x\n```\n", "```{figure} a.png\n{}Pie.\n```\n"
    teorema = "```{prf:theorem}\n{}Todo.\n```\n"
    texto = "# T\n\n" + "\n".join(
        cosa.replace("{}", rotulo)
        for cosa, opcion, clave in (
            (mates, "label", "e"),
            (figura, "name", "f"),
            (teorema, "label", "t"),
        )
        for rotulo in ("", f":{opcion}: {clave}\n\n")
    )
    todo.apunta("2-m/04-atencion", texto)
    assert {x: todo.destinos[x].numero for x in "eft"} == {"e": "4.1", "f": "4.1", "t": "4.2"}
