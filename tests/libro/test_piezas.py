"""Las piezas de la extensión, una a una y sin construir ningún libro."""

import json
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from libro import (
    buscador,
    didactica,
    docstrings,
    ejercicios,
    espanol,
    exploradores,
    iconos,
    mapa,
    numeracion,
    plegado,
    sitio,
    tiempos,
)
from libro.buscador import en_html, entradas_de, glosario_de, otros_nombres, texto_de
from libro.didactica import RecogerFiguras, SacarRefutaciones, refutacion
from libro.docstrings import convertir
from libro.espanol import Catalogo, leer_catalogo, sustituir
from libro.sitio import direccion_publicada, informe_de_error
from libro.tiempos import Medida
from sphinx import addnodes


class Avisos(list):
    """Un «logger» que guarda lo que se avisa."""

    def warning(self, texto, *valores, **_):
        self.append(texto % valores if valores else texto)


@pytest.fixture
def avisos(monkeypatch):
    lista = Avisos()
    for modulo in (buscador, didactica, ejercicios, espanol, iconos, plegado, tiempos):
        monkeypatch.setattr(modulo, "logger", lista)
    return lista


def documento(texto):
    ajustes = {"report_level": 5, "doctitle_xform": False}
    pagina = publish_doctree(texto, settings_overrides=ajustes)
    pagina.settings.env = SimpleNamespace(docname="una")
    return pagina


PAGINA = """
El título
=========

Una  frase ``con código`` y *cursiva*.

::

    x = 1

Primera parte
-------------

Lo de la parte.

.. admonition:: Recuadro

   Dentro del recuadro.

Segunda
-------

Fin.
"""


def test_una_entrada_por_seccion():
    pagina = documento(PAGINA)
    entradas = entradas_de(pagina, "2-mecanismo/04-prueba", "p.html")
    assert entradas == [
        ["p.html", "El título", "", "Una frase con código y cursiva."],
        [
            "p.html#primera-parte",
            "Primera parte",
            "4. El título",
            "Lo de la parte. Dentro del recuadro.",
        ],
        ["p.html#segunda", "Segunda", "4. El título", "Fin."],
    ]
    sin_numero = entradas_de(pagina, "apendices/soluciones/cap04", "s.html")
    assert [x[1:3] for x in sin_numero] == [
        ["Soluciones. El título", ""],
        ["Solución del ejercicio Primera parte", "El título"],
        ["Solución del ejercicio Segunda", "El título"],
    ]
    assert entradas_de(documento("Solo un párrafo."), "x", "x.html") == []


def test_no_se_busca_en_las_salidas_ni_en_secciones_sin_nombre_o_de_un_recuadro():
    seccion = nodes.section("", nodes.title("", "Uno"), ids=["uno"])
    seccion += nodes.container("", nodes.paragraph("", "salida"), nb_element="cell_code_output")
    seccion += nodes.paragraph("", "texto")
    recuadro = nodes.admonition("", nodes.section("", nodes.title("", "Dos"), ids=["dos"]))
    aparte = nodes.container("", nodes.section("", nodes.title("", "Tres"), ids=["tres"]))
    sin_id = nodes.section("", nodes.title("", "Cuatro"))
    sin_titulo = nodes.section("", nodes.paragraph("", "nada"), ids=["cinco"])
    seccion += [recuadro, aparte, sin_id, sin_titulo]
    pagina = documento("")
    pagina += seccion
    assert texto_de(seccion) == "texto"
    assert [e[1] for e in entradas_de(pagina, "x", "x.html")] == ["Uno"]


def test_los_ejercicios_se_buscan_por_su_numero():
    pagina = documento("T\n=\n")
    for etiqueta, tipo, ids in (
        ("ej-4-2", "exercise", ["ej-4-2"]),
        ("ra-4-1", "exercise", ["ra-4-1"]),
        ("ej-4-3", "solution", ["ej-4-3"]),
        ("ej-4-4", "exercise", []),
    ):
        nodo = nodes.admonition("", label=etiqueta, type=tipo, ids=ids)
        nodo += [nodes.title("", r"Ejercicio(La \sqrt{d})"), nodes.paragraph("", "Se pide.")]
        pagina[0] += nodo
    entradas = entradas_de(pagina, "4-x/07-y", "p.html")[1:]
    assert entradas == [["p.html#ej-4-2", "Ejercicio 4.2 La √d", "7. T", "Se pide."]]


def test_el_glosario_en_html():
    ingles = nodes.emphasis("", "key", classes=["language-en"])
    parrafo = nodes.paragraph(
        "", "", nodes.Text("a < b & "), ingles, nodes.emphasis("", "sí"), nodes.literal("", "x<y")
    )
    parrafo += nodes.math("", "a<b")
    assert en_html(parrafo) == (
        'a &lt; b &amp; <em lang="en">key</em><em>sí</em><code>x&lt;y</code>'
        r'<span class="math">\(a&lt;b\)</span>'
    )
    pagina = documento("")
    con = nodes.definition_list_item("", nodes.term("", "clave <k>", ids=["term-clave"]))
    con += nodes.definition("", parrafo)
    sin_parrafo = nodes.definition_list_item("", nodes.term("", "b", ids=["b"]), nodes.definition())
    sin_id = nodes.definition_list_item(
        "", nodes.term("", "c"), nodes.definition("", parrafo.deepcopy())
    )
    pagina += nodes.definition_list("", con, sin_parrafo, sin_id)
    assert glosario_de(pagina) == {"term-clave": ["clave &lt;k&gt;", en_html(parrafo), ["key"]]}


def test_otros_nombres_de_lo_que_se_busca(tmp_path, avisos):
    ruta = tmp_path / "busqueda.yml"
    ruta.write_text(
        "terminos: {clave: [llave], nada: [cero]}\n"
        "secciones: {doc#a: [alfa], doc: [todo], doc#z: [zeta], otro#a: [fuera]}\n"
    )
    glosario = {"t": ["<b>clave</b>", "def", ["key"]]}
    indice = [["doc.html", "D", "", ""], ["doc.html#a", "A", "D", ""]]
    otros_nombres(ruta, glosario, indice, "{}.html".format)
    assert glosario["t"][2] == ["key", "llave"]
    assert [e[4:] for e in indice] == [[["todo"]], [["alfa"]]]
    assert len(avisos) == 2 and "«nada»" in avisos[0] and "«doc#z»" in avisos[1]
    otros_nombres(ruta, {}, indice, "{}.html".format)  # sin glosario no se echan de menos términos
    otros_nombres(tmp_path / "no.yml", glosario, indice, "{}.html".format)
    assert len(avisos) == 3 and "«doc#z»" in avisos[2]


def test_los_datos_del_buscador_se_escriben_solo_en_html(tmp_path):
    (tmp_path / "libro_static").mkdir()
    constructor = SimpleNamespace(format="latex", get_target_uri=lambda d: f"{d}.html")
    env = SimpleNamespace(docname="b")
    app = SimpleNamespace(builder=constructor, outdir=tmp_path / "html", srcdir=tmp_path, env=env)
    buscador._empezar(app, env)
    buscador._apuntar(app, documento(PAGINA))
    buscador._escribir(app, env)
    assert not env.libro_busqueda
    assert not list((tmp_path / "libro_static").iterdir())
    app.builder.format = "html"
    for env.docname in ("b", "genindex", "a"):
        buscador._apuntar(app, documento(PAGINA))
    buscador._escribir(app, env)
    indice = (tmp_path / "libro_static/indice.js").read_text()
    datos, _ = json.JSONDecoder().raw_decode(indice.removeprefix("window.INDICE="))
    assert [e[0] for e in datos][::3] == ["a.html", "b.html"]
    assert indice.endswith(';window.GLOSARIO_EN="apendices/glosario.html";\n')
    assert (tmp_path / "libro_static/glosario.js").read_text().startswith("window.GLOSARIO={};")


def test_el_buscador_se_conecta_con_quien_escribe_sus_datos(monkeypatch):
    conexiones, guiones, escritos = {}, [], []
    monkeypatch.setattr(buscador, "_escribir", lambda app, env: escritos.append(env))
    app = SimpleNamespace(
        connect=lambda suceso, que, **_: conexiones.update({suceso: que}),
        add_js_file=lambda nombre, **_: guiones.append(nombre),
    )
    buscador.setup(app)
    assert conexiones["doctree-read"] is buscador._apuntar
    assert conexiones["builder-inited"] is buscador._conectar and guiones == ["glosario.js"]
    conexiones["env-updated"](app, "entorno")
    assert escritos == ["entorno"]


GUIONES = (
    '<p>a</p>\n<script src="_static/searchtools.js?v=1"></script><script src="otro.js"></script>'
)


@pytest.mark.parametrize(("formato", "quedan"), [("html", 1), ("latex", 2)])
def test_los_guiones_de_sphinx_se_quitan_de_cada_pagina(formato, quedan):
    plantillas = SimpleNamespace(render=lambda plantilla, contexto: GUIONES)
    app = SimpleNamespace(builder=SimpleNamespace(format=formato, templates=plantillas))
    buscador._conectar(app)
    assert app.builder.templates.render("x", {}).count("<script") == quedan


# --- Docstrings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("antes", "despues"),
    [
        (["Una.", "", "Dos."], ["Una.", "", "Dos."]),
        (["Fuente: a", "y b.", "", "Texto."], [":Fuente: a", "    y b.", "", "Texto."]),
        (["", "Errores: a", "Fuente: b"], ["", ":Errores: a", ":Fuente: b"]),
        (
            ["Atributos", "---------", "x (int): uno", "    sigue", "y, z: dos", "", "Fin."],
            [
                "",
                "**Atributos**",
                "",
                "``x``",
                "    uno",
                "    sigue",
                "``y, z``",
                "    dos",
                "",
                "Fin.",
            ],
        ),
        (
            ["Args:", "    x: a", "    suelta", "", "    y: b", "", "Fin."],
            ["", ":param x: a", "    suelta", "", ":param y: b", "", "Fin."],
        ),
        (
            ["Returns:", "    un tensor: real", "      más"],
            ["", ":Devuelve: un tensor: real", "    más"],
        ),
        (["Devuelve:", "    uno"], ["", ":Devuelve: uno"]),
        (["Raises:", "    ValueError: si", "Fin."], ["", ":Errores: ValueError: si", "Fin."]),
        (["Texto.", "    sangrado"], ["Texto.", "    sangrado"]),
        (["Errores: a", "", "sigue."], [":Errores: a", "", "sigue."]),
        (
            ["Atributos", "---------", "x: uno", "", "y: dos"],
            ["", "**Atributos**", "", "``x``", "    uno", "", "y: dos"],
        ),
        (["Errores: a", "", "      cita"], [":Errores: a", "", "      cita"]),
        (["Args:", "    x: a", "Fin.", "    y: b"], ["", ":param x: a", "Fin.", "    y: b"]),
    ],
)
def test_de_la_docstring_a_los_campos(antes, despues):
    assert convertir(antes) == despues
    lineas = list(antes)
    docstrings._procesar(None, "function", "f", None, None, lineas)
    assert lineas == despues


def test_la_firma_que_sphinx_no_sabe_leer():
    arregla = docstrings._arreglar_firma
    assert arregla(None, "", "", None, None, "(f: Callable[[...], int])", None) == (
        "(f: Callable[..., int])",
        None,
    )


# --- Interfaz en español --------------------------------------------------------------------------


def test_los_atributos_se_traducen_y_los_nombres_largos_se_parten():
    mensajes = {"Search & go": "Busca y va", "Menu": "Menú"}
    pagina = sustituir(
        '<a title="Search &amp; go" aria-label=\'Menu\' alt="Otro" data-title="Menu"></a>'
        '<a title="Link to this heading">#</a><div role="list" class="citation-list"></div>'
        '<summary><span class="toctree-toggle"></span></summary>'
        '<span class="pre">atento.masks.causal_mask</span><span class="pre">corto.x</span>',
        mensajes,
    )
    assert 'title="Busca y va"' in pagina and "aria-label='Menú'" in pagina
    assert 'alt="Otro"' in pagina and 'data-title="Menu"' in pagina
    assert 'title="Enlace a este lugar"' in pagina and '<div class="citation-list">' in pagina
    assert f'<summary aria-label="{espanol.ABRIR_PARTE}"><span' in pagina
    assert "atento.<wbr>masks.<wbr>causal_<wbr>mask" in pagina and "corto.x" in pagina


def catalogo(carpeta: Path) -> Path:
    (carpeta / "locale").mkdir(exist_ok=True)
    ruta = carpeta / "locale/es.po"
    ruta.write_text('msgid "One"\nmsgstr "Uno"\n\nmsgid "Two"\nmsgstr ""\n', "utf8")
    return ruta


def test_el_catalogo_propio_va_delante(tmp_path):
    assert leer_catalogo(catalogo(tmp_path)) == {"One": "Uno"}
    detras = Catalogo({"Two": "Dos", "One": "1"}, None)
    delante = Catalogo({"One": "Uno"}, detras)
    assert [delante.gettext(x) for x in ("One", "Two", "Three")] == ["Uno", "Dos", "Three"]


@pytest.mark.parametrize("formato", ["html", "latex"])
def test_el_catalogo_se_antepone_a_los_cargados(tmp_path, monkeypatch, formato):
    catalogo(tmp_path)
    clave = ("general", "sphinx")
    puestos = {clave: Catalogo({"x": "y"}, None), ("otro", "x"): None}
    ya = puestos[clave]
    monkeypatch.setattr(espanol.locale, "translators", puestos)
    puestas = []
    plantillas = SimpleNamespace(
        environment=SimpleNamespace(install_gettext_translations=puestas.append),
        render=lambda plantilla, contexto: '<a title="One"></a>',
    )
    constructor = SimpleNamespace(format=formato, templates=plantillas)
    espanol._poner_catalogo(SimpleNamespace(srcdir=tmp_path, builder=constructor))
    assert puestos[clave] is ya and puestos["otro", "x"].gettext("One") == "Uno"
    assert puestas == ([ya] if formato == "html" else [])
    traducido = 'title="Uno"' if formato == "html" else 'title="One"'
    assert traducido in plantillas.render("p", {})


def guiones(tmp_path: Path, monkeypatch, texto: str, formato: str = "html", fallo=None) -> Path:
    catalogo(tmp_path)
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static/a.js").write_text(texto, "utf8")
    (tmp_path / "_static/translations.js").write_text('{"One": "One", "Two": ["Two"]}', "utf8")
    monkeypatch.setattr(espanol, "GUIONES", {"a.js": {"Toggle": "Mostrar", "Hide": "Ocultar"}})
    app = SimpleNamespace(builder=SimpleNamespace(format=formato), srcdir=tmp_path, outdir=tmp_path)
    espanol._traducir_guiones(app, fallo)
    return tmp_path / "_static"


def test_los_guiones_se_traducen(tmp_path, monkeypatch, avisos):
    estaticos = guiones(tmp_path, monkeypatch, "x('Toggle'); y('Ocultar')")
    assert (estaticos / "a.js").read_text("utf8") == "x('Mostrar'); y('Ocultar')"
    assert json.loads((estaticos / "translations.js").read_text("utf8")) == {
        "One": "Uno",
        "Two": ["Two"],
    }
    assert avisos == []


def test_un_guion_que_ha_cambiado_avisa(tmp_path, monkeypatch, avisos):
    guiones(tmp_path, monkeypatch, "x('Toggle'); y()")
    assert len(avisos) == 1 and "«Hide»" in avisos[0]


@pytest.mark.parametrize(("formato", "fallo"), [("latex", None), ("html", ValueError("x"))])
def test_los_guiones_no_se_tocan_si_no_es_una_pagina_o_ha_fallado(
    tmp_path, monkeypatch, formato, fallo
):
    estaticos = guiones(tmp_path, monkeypatch, "Toggle", formato, fallo)
    assert (estaticos / "a.js").read_text("utf8") == "Toggle"


# --- Lo que lleva cada página ---------------------------------------------------------------------


def pagina_de(nombre: str, metadatos: dict) -> dict:
    config = SimpleNamespace(
        html_theme_options={"repository_url": "https://github.com/alguien/libro"},
        libro_rama_cuadernos="cuadernos",
    )
    app = SimpleNamespace(config=config, env=SimpleNamespace(metadata={nombre: metadatos}))
    contexto = {"pathto": lambda ruta, recurso: f"../{ruta}?{recurso}", "header_buttons": [1]}
    sitio._pagina(app, nombre, "page.html", contexto, None)
    return contexto


def test_los_enlaces_al_cuaderno_van_en_los_capitulos_con_celdas():
    contexto = pagina_de("2-mecanismo/04-prueba", {"kernelspec": {}})
    assert contexto["libro_cuaderno"] == {
        "colab": (
            "https://colab.research.google.com/github/alguien/libro/blob/cuadernos/04-prueba.ipynb"
        ),
        "ipynb": "../cuadernos/04-prueba.ipynb?1",
        "nombre": "04-prueba.ipynb",
    }
    assert contexto["header_buttons"] == [] and contexto["libro_version"]
    assert contexto["libro_repositorio"] == "https://github.com/alguien/libro"
    assert contexto["libro_error"].endswith(
        "/issues/new?title=Error+en+%C2%AB2-mecanismo%2F04-prueba%C2%BB"
    )
    for nombre, metadatos in (("2-mecanismo/04-prueba", {}), ("intro", {"kernelspec": {}})):
        assert pagina_de(nombre, metadatos)["libro_cuaderno"] is None
    assert informe_de_error("r", "p") == "r/issues/new?title=Error+en+%C2%ABp%C2%BB"


def test_donde_se_publican_las_paginas():
    opciones = {"repository_url": "https://github.com/alguien/libro"}
    propia = SimpleNamespace(html_baseurl="https://x.org/b/", html_theme_options=opciones)
    assert direccion_publicada(propia) == "https://x.org/b"
    github = SimpleNamespace(html_baseurl="", html_theme_options=opciones)
    assert direccion_publicada(github) == "https://alguien.github.io/libro"
    github.env = SimpleNamespace(config=github)
    directiva = object.__new__(sitio.ParaLlevar)
    directiva.state = SimpleNamespace(
        document=SimpleNamespace(settings=SimpleNamespace(env=github.env))
    )
    (lista,) = directiva.run()
    enlaces = [n["refuri"] for n in lista.findall(nodes.reference)]
    base = "https://alguien.github.io/libro/llevar/el-transformer-linea-a-linea"
    assert enlaces == [f"{base}.{x}" for x in ("pdf", "epub", "zip")]
    assert not any(n["internal"] for n in lista.findall(nodes.reference))
    assert lista.astext().startswith("PDF: para imprimir") and lista["classes"] == ["para-llevar"]


def test_los_colores_van_a_todas_las_paginas(tmp_path):
    hechos = []
    app = SimpleNamespace(
        outdir=tmp_path / "html",
        srcdir=tmp_path,
        add_css_file=lambda *a, **k: hechos.append((a, k)),
        add_js_file=lambda *a, **k: hechos.append((a, k)),
    )
    config = SimpleNamespace(html_static_path=[])
    sitio._configurar(app, config)
    sitio._configurar(app, config)  # la segunda vez, con la carpeta ya hecha
    assert config.html_static_path == [str(tmp_path / "libro_static")] * 2
    assert config.libro_estaticos == sitio.estaticos(tmp_path)
    assert "--atento-ink" in (tmp_path / "libro_static/atento.css").read_text("utf8")
    assert hechos[:3] == [
        (("atento.css",), {"priority": 700}),
        ((None,), {"body": sitio.TEMA, "priority": 100}),
        (("../guiones/libro.js",), {"priority": 300, "defer": "defer"}),
    ]


# --- Tiempos --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("segundos", "dicho"),
    [
        (0.2, "1 s"),
        (89, "89 s"),
        (90, "2 min"),
        (3540, "59 min"),
        (3600, "1 h"),
        (3661, "1 h 2 min"),
    ],
)
def test_una_duracion_se_lee(segundos, dicho):
    assert tiempos.duracion(segundos) == dicho


@pytest.mark.parametrize(
    ("minutos", "dicho"),
    [
        (0.2, "1 min"),
        (1.2, "2 min"),
        (9.4, "10 min"),
        (10, "10 min"),
        (12.6, "15 min"),
        (62, "1 h"),
    ],
)
def test_los_minutos_se_redondean_a_lo_que_se_puede_prometer(minutos, dicho):
    assert tiempos._redondo(minutos) == dicho


@pytest.mark.parametrize(
    ("minutos", "dicho"),
    [
        (1, "0.5\u202fh"),
        (30, "0.5\u202fh"),
        (60, "1\u202fh"),
        (95, "1.5\u202fh"),
        (180, "3\u202fh"),
    ],
)
def test_las_horas_van_de_media_en_media(minutos, dicho):
    assert tiempos.horas(minutos) == dicho


def test_cada_cosa_cuenta_en_su_sitio():
    pagina = documento("")
    pagina += nodes.paragraph("", "tres palabras justas")
    pagina += nodes.math_block("", "x")
    pagina += nodes.literal_block("", "a = 1\n\nb = 2")
    pagina += nodes.raw("", "<b>no se lee</b>", format="html")
    pagina += nodes.container("", nodes.paragraph("", "nada"), classes=["dibujo"])
    pagina += nodes.container("", nodes.paragraph("", "nada"), nb_element="cell_code_output")
    pagina += nodes.container(
        "", nodes.paragraph("", "dos más"), nodes.math_block("", "y"), classes=["a-fondo"]
    )
    cuenta = Counter()
    tiempos.contar(pagina, cuenta)
    assert cuenta == {
        "palabras": 3,
        "ecuaciones": 1,
        "lineas": 2,
        "fondo-palabras": 2,
        "fondo-ecuaciones": 1,
    }
    medida = tiempos.medir(pagina, 4.0)
    assert medida.leer == pytest.approx(3 / 200 + 20 / 60) and medida.ejecutar == 4.0
    assert medida.codigo == pytest.approx(2 * 5 / 60)
    assert medida.a_fondo == pytest.approx(2 / 200 + 20 / 60)
    assert (medida.ejercicios, medida.basicos) == (0, 0)


def test_lo_que_se_ensena_de_una_medida():
    medida = Medida(leer=0.1, codigo=0.5, a_fondo=0.4, ejercicios=20, basicos=5, ejecutar=8)
    assert tiempos.renglones(medida) == [
        ("Leer", "1 min"),
        ("Seguir el código", "1 min"),
        ("Ejercicios", "20 min"),
        ("Ejecutarlo", "8 s de procesador"),
    ]
    assert medida.via_principal == pytest.approx(5.6) and medida.todo == pytest.approx(21.0)
    assert len(tiempos.renglones(Medida(1, 1, 1, 1, 1))) == 4


class exercise_node(nodes.Admonition, nodes.Element):  # noqa: N801
    """Como el de sphinx-exercise."""


def test_los_minutos_de_los_ejercicios_salen_del_registro():
    from calificador.ejercicios.cap04 import EJERCICIOS

    pagina = documento("")
    for etiqueta in ("ej-99-1", "ej-4-1", "ej-4-2", "ra-4-1"):
        pagina += exercise_node(label=etiqueta)
    pagina += nodes.admonition(label="ej-4-3")
    suyos = [e for e in EJERCICIOS if e.id in ("4.1", "4.2")]
    todos, basicos = tiempos._ejercicios(pagina)
    assert todos == sum(e.minutos for e in suyos) > 0
    assert basicos == sum(e.minutos for e in suyos if e.dificultad == 1)


def aplicacion(tmp_path: Path, docname: str, exigir: bool = True) -> SimpleNamespace:
    env = SimpleNamespace(docname=docname, libro_tiempos={}, note_dependency=lambda _: None)
    config = SimpleNamespace(libro_exigir_tiempos=exigir)
    return SimpleNamespace(srcdir=tmp_path, env=env, config=config)


def con_lugar() -> nodes.document:
    pagina = documento("")
    pagina += nodes.container("", nb_element="cell_code")
    pagina += tiempos.tiempos()
    return pagina


def test_los_tiempos_se_ponen_y_se_guardan(tmp_path, avisos):
    (tmp_path / "tiempos.json").write_text('{"04": 7.0, "00": 3.0}')
    app, pagina = aplicacion(tmp_path, "2-mecanismo/04-x"), con_lugar()
    tiempos._poner_tiempos(app, pagina)
    (parrafo,) = pagina.findall(nodes.paragraph)
    assert parrafo["classes"] == ["tiempos"] and parrafo.astext().endswith(
        "Ejecutarlo: 7 s de procesador "
    )
    assert app.env.libro_tiempos["2-mecanismo/04-x"].ejecutar == 7.0 and avisos == []
    for docname, guarda in (("0-preliminares/notacion", True), ("intro", False)):
        app = aplicacion(tmp_path, docname)
        tiempos._poner_tiempos(app, con_lugar())
        assert bool(app.env.libro_tiempos) == guarda


def test_un_tiempo_que_falta_avisa_solo_si_se_exige_y_hay_celdas(tmp_path, avisos):
    tiempos._poner_tiempos(aplicacion(tmp_path, "2-x/06-y", exigir=False), con_lugar())
    sin_celdas = documento("")
    sin_celdas += tiempos.tiempos()
    tiempos._poner_tiempos(aplicacion(tmp_path, "2-x/06-y"), sin_celdas)
    assert avisos == []
    tiempos._poner_tiempos(aplicacion(tmp_path, "2-x/06-y"), con_lugar())
    assert len(avisos) == 1 and "capítulo 06" in avisos[0]


def test_la_tabla_del_curso():
    seis = Medida(leer=30, codigo=15, a_fondo=15, ejercicios=60, basicos=15)
    cero = Medida(leer=30, codigo=0, a_fondo=0, ejercicios=0, basicos=0)
    env = SimpleNamespace(libro_tiempos={"2-x/06-y": seis, "0-p/notacion": cero})
    pagina = documento("")
    filas = [("preliminares", [nodes.Text("a")]), ("6", []), ("6, 7", []), ("8", [])]
    pagina += tiempos.semanas(filas=filas)
    tiempos._poner_semanas(SimpleNamespace(env=env), pagina, "intro")
    (tabla,) = pagina.findall(nodes.table)
    filas = [
        [celda.astext() for celda in fila.findall(nodes.entry)] for fila in tabla.findall(nodes.row)
    ]
    h = "\u202fh"
    assert filas == [
        ["semana", "capítulos", "al terminar se sabe", "vía principal", "con todo"],
        ["1", "preliminares", "a", f"0.5{h}", f"0.5{h}"],
        ["2", "6", "", f"1{h}", f"2{h}"],
        ["3", "6, 7", "", f"≈\u202f2{h}", f"≈\u202f4{h}"],
        ["4", "8", "", f"≈\u202f1{h}", f"≈\u202f2{h}"],
    ]
    assert [c["colwidth"] for c in tabla.findall(nodes.colspec)] == [8, 14, 48, 15, 15]
    vacia = tiempos._tabla_del_curso([("8", [])], {}, [])
    assert [c.astext() for c in vacia.findall(nodes.entry)][-2:] == ["—", "—"]


def test_los_tiempos_se_purgan_y_se_mezclan():
    env = SimpleNamespace()
    tiempos._purgar(None, env, "a")
    tiempos._empezar(None, env)
    env.libro_tiempos["a"] = 1
    tiempos._empezar(None, env)
    otro = SimpleNamespace(libro_tiempos={"b": 2, "c": 3}, libro_con_semanas={"b": {}})
    tiempos._mezclar(None, env, {"b"}, otro)
    assert env.libro_tiempos == {"a": 1, "b": 2} and env.libro_con_semanas == {"b": {}}
    tiempos._purgar(None, env, "a")
    assert env.libro_tiempos == {"b": 2}
    assert tiempos._con_otros_tiempos(None, env) == ["b"]  # la tabla se hizo con otros
    assert tiempos._con_otros_tiempos(None, env) == []


# --- Didáctica ------------------------------------------------------------------------------------


def test_se_encuentra_el_objeto_y_se_quita_su_docstring():
    from atento import masks
    from atento.models.cells import LSTMCell

    assert didactica._buscar("atento.masks") is masks
    assert didactica._buscar("atento.models.cells.LSTMCell.forward").__name__ == "forward"
    assert didactica._buscar("atento.models.cells.LSTMCell") is LSTMCell
    with pytest.raises(ImportError, match="ningún módulo en «nada.x»"):
        didactica._buscar("nada.x")
    sin = didactica._sin_docstring
    assert sin('def f():\n    """Una.\n\n    Dos."""\n    return 1\n') == "def f():\n    return 1"
    solo = 'def f():\n    """Una."""\n'
    assert sin(solo) == solo and sin("def f():\n    return 1\n") == "def f():\n    return 1\n"


def celda_con(nombre: str, *mas: nodes.Node, clases: tuple = ("tag_dibujo",)) -> nodes.container:
    paquete = nodes.container(
        "",
        nodes.raw("", f'<div data-figura="{nombre}"></div>', format="html"),
        nb_element="mime_bundle",
    )
    salidas = nodes.container("", paquete, *mas, nb_element="cell_code_output")
    return nodes.container("", salidas, nb_element="cell_code", classes=["cell", *clases])


def recoge(*hijos: nodes.Node) -> nodes.document:
    pagina = documento("")
    pagina += list(hijos)
    RecogerFiguras(pagina).apply()
    return pagina


def figura(nombre: str) -> nodes.figure:
    return nodes.figure("", nodes.caption("", "Un pie."), **{"libro-figura": nombre})


def test_la_figura_recoge_la_ultima_salida_que_la_dibuja(avisos):
    primera, segunda, despues = (celda_con("fig-a") for _ in range(3))
    otra = celda_con("fig-ab")
    lugar = figura("fig-a")
    esperada = segunda[0][0]
    pagina = recoge(nodes.figure(), primera, segunda, otra, lugar, despues)
    assert lugar[0] is esperada and avisos == []
    assert not segunda.children and len(primera[0]) == len(otra[0]) == len(despues[0]) == 1
    assert pagina.children.index(segunda) == 2  # sin «dibujo», la celda queda donde estaba


def test_el_codigo_de_una_figura_va_detras_de_ella_una_sola_vez(avisos):
    celda, sigue = celda_con("fig-a"), nodes.paragraph("", "Sigue.")
    codigo = nodes.container("", nodes.literal_block("", "x"), classes=["dibujo"])
    celda.insert(0, codigo)
    lugar = figura("fig-a")
    pagina = recoge(celda, nodes.paragraph("", "Antes."), lugar, sigue)
    assert [type(x) for x in pagina.children] == [
        nodes.paragraph, nodes.figure, nodes.container, nodes.paragraph,
    ]  # fmt: skip
    assert pagina[2] is celda and celda.children == [codigo] and len(lugar) == 2


def test_la_celda_que_tiene_otra_salida_la_conserva(avisos):
    celda = celda_con("fig-a", nodes.paragraph("", "queda"))
    lugar = figura("fig-a")
    recoge(celda, lugar)
    assert celda.astext() == "queda" and len(lugar) == 2


def test_una_figura_que_nadie_dibuja_avisa_y_las_demas_siguen(avisos):
    huerfana, lugar = figura("fig-z"), figura("fig-a")
    recoge(huerfana, celda_con("fig-a"), lugar)
    assert len(avisos) == 1 and "«fig-z»" in avisos[0]
    assert len(huerfana) == 1 and len(lugar) == 2


def test_las_refutaciones_salen_del_titulo():
    pagina = documento("")
    titulo = nodes.title("", "", nodes.Text("Más es mejor "))
    titulo += refutacion("", "R-002", clave="R-002")
    seccion = nodes.section("", titulo, nodes.paragraph("", "No."))
    pagina += seccion
    anotados = []
    dominio = SimpleNamespace(note_hyperlink_target=lambda *a: anotados.append(a))
    env = SimpleNamespace(docname="d", get_domain=lambda _: dominio)
    pagina.settings.env = env
    SacarRefutaciones(pagina).apply()
    assert titulo.astext() == "Más es mejor"
    rotulo = seccion[1]
    assert rotulo.astext() == "Error frecuente" and rotulo["ids"] == ["err-R-002"]
    assert anotados == [("err-r-002", "d", "err-R-002", "Más es mejor")]


# --- Plegado --------------------------------------------------------------------------------------


def cierra(*hijos: nodes.Node) -> nodes.document:
    pagina = documento("")
    pagina += list(hijos)
    plegado.CerrarAFondo(pagina).apply()
    return pagina


def abre() -> plegado.desplegable:
    return plegado.desplegable("", abierto=True)


def test_a_fondo_recoge_lo_que_hay_hasta_su_cierre(avisos):
    antes, uno, dos, despues = (nodes.paragraph("", x) for x in ("antes", "1", "2", "después"))
    marca, otra = abre(), plegado.desplegable()
    pagina = cierra(antes, marca, uno, dos, plegado.fin_a_fondo(), otra, despues)
    assert pagina.children == [antes, marca, otra, despues] and marca.children == [uno, dos]
    assert avisos == [] and "abierto" not in marca and not otra.children


@pytest.mark.parametrize(
    ("hijos", "aviso", "quedan"),
    [
        (lambda: [abre(), plegado.fin_a_fondo()], "vacío", 1),
        (lambda: [abre(), nodes.paragraph()], "sin fin-a-fondo", 2),
        (lambda: [plegado.fin_a_fondo(), nodes.paragraph()], "no cierra nada", 1),
    ],
)
def test_a_fondo_mal_cerrado_avisa(avisos, hijos, aviso, quedan):
    pagina = cierra(*hijos())
    assert len(avisos) == 1 and aviso in avisos[0] and len(pagina) == quedan


def test_un_a_fondo_dentro_de_otro_avisa(avisos):
    cierra(abre(), abre(), nodes.paragraph(), plegado.fin_a_fondo(), plegado.fin_a_fondo())
    assert any("otro a-fondo abierto dentro" in aviso for aviso in avisos)


def celda(*etiquetas: str, **datos) -> nodes.container:
    codigo = nodes.container("", nodes.literal_block("", "x = 1"), nb_element="cell_code_source")
    salida = nodes.container("", nodes.paragraph("", "salida"), nb_element="cell_code_output")
    metadatos = {"tags": list(etiquetas), **datos}
    return nodes.container("", codigo, salida, nb_element="cell_code", cell_metadata=metadatos)


def test_las_celdas_se_pliegan_segun_su_etiqueta(avisos):
    suma, dibujo, normal = celda("comprobacion", comprueba="Suma bien."), celda("dibujo"), celda()
    sin_codigo = nodes.container("", nb_element="cell_code", cell_metadata={"tags": ["dibujo"]})
    texto = nodes.container("", nodes.paragraph("", "t"), cell_metadata={"tags": ["dibujo"]})
    pagina = documento("")
    pagina += [suma, dibujo, normal, sin_codigo, texto]
    plegado.PlegarCeldas(pagina).apply()
    (caja,) = suma.children
    assert caja["classes"] == ["comprobacion"] and caja[0].astext() == "Suma bien"
    assert caja[0]["rotulo"] == "Comprobado:" and len(caja) == 3
    caja, salida = dibujo.children
    assert caja["classes"] == ["dibujo"] and caja["titulo"] == "Código de preparación"
    for codigo in (
        "plots.show(fig)",
        "a = 1\nmapa",
        "HTML('<svg/>')",
        "if a:\n    plots.show(fig)",
    ):
        assert plegado.titulo_del_dibujo(codigo) == "Código de la figura"
    for codigo in (
        "# nada",
        "a = mapa()",
        "notebook.glue('c04-dato', 1)",
        "def f():\n    return 1",
    ):
        assert plegado.titulo_del_dibujo(codigo) == "Código de preparación"
    assert caja.astext() == "x = 1" and salida.astext() == "salida"
    assert len(normal) == 2 and not sin_codigo.children and isinstance(texto[0], nodes.paragraph)
    assert avisos == [] and not plegado.codigo_del_dibujo(dibujo)
    dibujo.remove(salida)
    assert plegado.codigo_del_dibujo(dibujo) and not plegado.codigo_del_dibujo(suma)


def test_una_comprobacion_sin_su_frase_avisa(avisos):
    pagina = documento("")
    pagina += celda("comprobacion")
    plegado.PlegarCeldas(pagina).apply()
    assert len(avisos) == 1 and ":comprueba:" in avisos[0]


def test_el_html_de_lo_plegado():
    escritor = SimpleNamespace(body=[], starttag=lambda nodo, nombre: f"<{nombre}>\n")
    con_titulo, sin_titulo = plegado.nuevo_desplegable("a < b", "c", "d"), plegado.desplegable()
    assert con_titulo["classes"] == ["c", "d"]
    plegado._abrir_desplegable(escritor, con_titulo)
    plegado._cerrar_desplegable(escritor, con_titulo)
    plegado._abrir_desplegable(escritor, sin_titulo)
    rotulado = plegado.resumen(rotulo="A & B")
    plegado._abrir_resumen(escritor, rotulado)
    plegado._cerrar_resumen(escritor, rotulado)
    assert "".join(escritor.body).split("\n") == [
        "<details>",
        "<summary>a &lt; b</summary>",
        "<div class='desplegado'>",
        "</div></details>",
        "<details>",
        '<summary><span class="rotulo">A &amp; B</span> <span class="asunto"></span></summary>',
        "<div class='desplegado'>",
        "",
    ]


# --- Ejercicios, números, iconos y mapa -----------------------------------------------------------


def test_el_ejercicio_se_busca_en_su_capitulo():
    ejercicio, fichero = ejercicios._buscar("4.1")
    assert ejercicio.id == "4.1" and fichero.endswith("cap04.py")
    assert ejercicios._buscar("4.99")[0] is None
    with pytest.raises(ModuleNotFoundError):
        ejercicios._buscar("99.1")


def test_la_ficha_de_un_ejercicio():
    ficha = ejercicios.Ejercicio._ficha
    uno = SimpleNamespace(dificultad=1, tipo="lapiz", puntos=1, minutos=5)
    tres = SimpleNamespace(dificultad=3, tipo="escribir", puntos=4, minutos=40)
    assert ficha(None, uno).astext().split("  ") == ["★ básico lápiz y papel 1 punto unos 5 min "]
    assert ficha(None, tres).astext() == "★★★ avanzado escribir código 4 puntos unos 40 min "
    assert ficha(None, uno)["classes"] == ["ficha"]


@pytest.fixture
def directiva_de_ejercicio(monkeypatch):
    """La directiva del 4.1, con un registro de juguete; lee cada línea como un párrafo."""
    dependencias = []
    tema = {"repository_url": "https://e.org/r", "repository_branch": "rama"}
    env = SimpleNamespace(
        note_dependency=dependencias.append, config=SimpleNamespace(html_theme_options=tema)
    )

    def lee(lineas, _, destino):
        destino += [nodes.paragraph("", linea) for linea in lineas]

    directiva = object.__new__(ejercicios.Ejercicio)
    directiva.content_offset = 0
    directiva.state = SimpleNamespace(
        nested_parse=lee, document=SimpleNamespace(settings=SimpleNamespace(env=env))
    )
    directiva.get_location = lambda: "aquí"
    uno = SimpleNamespace(
        id="4.1", nombre="suma", capitulo=4, puntos=2, dificultad=1, minutos=9, tipo="medir",
        aprende="a sumar.", pistas=("Mira.", "Suma."),
    )  # fmt: skip
    registro = {"4.1": (uno, "cap04.py"), "4.9": (None, "cap04.py")}

    def busca(identificador):
        if identificador not in registro:
            raise ModuleNotFoundError(identificador)
        return registro[identificador]

    muestras = [SimpleNamespace(texto="suma(1) → 2")]
    monkeypatch.setattr(ejercicios, "curso_en", lambda _: None)
    monkeypatch.setattr(ejercicios, "ejemplo", lambda *_: muestras[0])
    monkeypatch.setattr(ejercicios, "_buscar", busca)
    return directiva, dependencias, muestras


def test_al_enunciado_le_siguen_el_ejemplo_las_pistas_y_la_solucion(directiva_de_ejercicio):
    directiva, dependencias, muestras = directiva_de_ejercicio

    def cuerpo():
        seccion = nodes.section("", nodes.paragraph("", "Suma."))
        directiva._decorar(nodes.container("", nodes.title("", "T"), seccion), "4.1")
        return seccion

    hecho = cuerpo()
    ficha, enunciado, ejemplo, aprende, entrega, *pistas, solucion = hecho
    assert [x["classes"] for x in (ficha, ejemplo, aprende, entrega)] == [
        *(["ficha"], ["ejemplo"], ["aprende"], ["entrega"])
    ]
    assert enunciado.astext() == "Suma." and ejemplo[-1].astext() == "suma(1) → 2"
    assert ejemplo[0]["classes"] == ["titulo-ejemplo"] and entrega[0]["classes"] == ["entrega"]
    assert aprende.astext() == "**Qué se aprende.** A sumar."
    assert "(https://e.org/r/blob/rama/exercises/cap04.py)" in entrega.astext()
    assert entrega[-1].astext() == "atento calificar 4.1"
    assert [(x["titulo"], x["classes"], x.astext()) for x in pistas] == [
        ("Pista 1 de 2", ["pista"], "Mira."),
        ("Pista 2 de 2", ["pista"], "Suma."),
    ]
    assert solucion["etiqueta"] == "sol-4-1" and dependencias == ["cap04.py"]
    muestras[0] = None  # enseñar la salida sería dar la respuesta
    assert [x for x in cuerpo() if "ejemplo" in x.get("classes", [])] == []


@pytest.mark.parametrize(
    ("etiqueta", "titulo", "opciones", "decorado"),
    [
        ("ej-4-1", "Ejercicio", {"class": ["propia"]}, ["4.1"]),
        ("ra-4-2", "Razonamiento 4.2", {"class": ["propia", "razonamiento"], "nonumber": None}, []),
        ("otra", "Ejercicio", {"class": ["propia"]}, []),
    ],
)
def test_la_etiqueta_dice_si_es_ejercicio_o_razonamiento(
    directiva_de_ejercicio, monkeypatch, etiqueta, titulo, opciones, decorado
):
    directiva, decorados = directiva_de_ejercicio[0], []
    nodo, registrado = (
        nodes.container("", nodes.title("", "Ejercicio"), label=etiqueta) for _ in range(2)
    )
    directiva.env.sphinx_exercise_registry = {etiqueta: {"node": registrado}}
    directiva.options = {"label": etiqueta, "class": ["propia"]}
    monkeypatch.setattr(ejercicios.ExerciseDirective, "run", lambda _: [nodo])
    monkeypatch.setattr(directiva, "_decorar", lambda _, numero: decorados.append(numero))
    assert directiva.run() == [nodo] and directiva.options == {"label": etiqueta, **opciones}
    assert nodo[0].astext() == registrado[0].astext() == titulo and decorados == decorado
    if not decorado and titulo != "Ejercicio":
        assert nodo["title"] == registrado["title"] == titulo
    monkeypatch.setattr(ejercicios.ExerciseDirective, "run", lambda _: [])  # estaba repetida
    assert directiva.run() == []


@pytest.mark.parametrize(("numero", "de_quien_depende"), [("4.9", ["cap04.py"]), ("99.1", [])])
def test_un_ejercicio_que_no_esta_en_el_registro_avisa(
    directiva_de_ejercicio, avisos, numero, de_quien_depende
):
    directiva, dependencias, _ = directiva_de_ejercicio
    nodo = nodes.container("", nodes.section("", nodes.paragraph("", "Suma.")))
    directiva._decorar(nodo, numero)
    assert nodo.astext() == "Suma." and dependencias == de_quien_depende
    assert len(avisos) == 1 and numero in str(avisos) and "no está en el registro" in str(avisos)


def test_un_ejercicio_con_otro_numero_avisa(avisos):
    def datos(docname, tipo="exercise"):
        return {"docname": docname, "type": tipo}

    registro = {
        "ej-4-1": datos("4-x/04-a"),
        "ej-4-2": datos("4-x/04-a"),
        "ej-4-3": datos("4-x/04-a"),
        "ra-4-1": datos("4-x/04-a"),
        "ra-5-1": datos("4-x/04-a"),
        "ej-4-9": datos("4-x/04-a", "solution"),
        "suelto": datos("4-x/04-a"),
    }
    numeros = {"4-x/04-a": {"exercise": {"ej-4-1": (4, 1), "ej-4-2": (4, 3)}}}
    env = SimpleNamespace(sphinx_exercise_registry=registro, toc_fignumbers=numeros)
    ejercicios._comprobar_numeros(None, env)
    assert avisos == [
        "el ejercicio con etiqueta «ej-4-2» lleva el número 4.3; se esperaba 4.2",
        "el ejercicio con etiqueta «ej-4-3» lleva el número ninguno; se esperaba 4.3",
        "el ejercicio con etiqueta «ra-5-1» lleva el número 4.1; se esperaba 5.1",
    ]
    ejercicios._comprobar_numeros(None, SimpleNamespace())
    assert len(avisos) == 3


def test_los_contenidos_de_ejercicios_llevan_su_nombre():
    pagina = documento("")
    for clase, padre in (
        ("exercise-content", {"label": "ej-4-1"}),
        ("proof-content", {}),
        ("otro", {}),
    ):
        pagina += nodes.admonition("", nodes.section("", ids=[clase]), **padre)
    pagina += nodes.section()
    ejercicios.IdentificadoresUnicos(pagina).run()
    assert [s["ids"] for s in pagina.findall(nodes.section)] == [
        ["ej-4-1-contenido"],
        ["sin-etiqueta-contenido"],
        ["otro"],
        [],
    ]


def test_el_enlace_a_la_solucion_esta_si_la_hay():
    pagina = documento("")
    pagina += [ejercicios.enlace_solucion(etiqueta=f"sol-4-{n}") for n in (1, 2)]
    dominio = SimpleNamespace(anonlabels={"sol-4-2": ("sol", "ancla")})
    constructor = SimpleNamespace(get_relative_uri=lambda de, a: f"{de}→{a}")
    app = SimpleNamespace(builder=constructor)
    pagina.settings.env = SimpleNamespace(docname="d", get_domain=lambda _: dominio, app=app)
    ejercicios.ResolverSoluciones(pagina).run()
    (parrafo,) = pagina.children
    assert parrafo["classes"] == ["solucion"] and parrafo.astext().startswith("Solución")
    assert next(iter(parrafo.findall(nodes.reference)))["refuri"] == "d→sol#ancla"


def indice(*anclas: str, dentro: dict[str, tuple] | None = None) -> nodes.bullet_list:
    lista = nodes.bullet_list()
    for ancla in anclas:
        enlace = nodes.reference("", ancla, anchorname=ancla)
        elemento = nodes.list_item("", addnodes.compact_paragraph("", "", enlace))
        if dentro and ancla in dentro:
            elemento += dentro[ancla]
        lista += elemento
    return lista


def test_los_numeros_salen_del_fichero():
    hondo = indice("#f", "#g")
    secciones = indice("#b", "#c", dentro={"#b": indice("#d", dentro={"#d": hondo})})
    secciones.insert(0, nodes.comment())
    tocs = {
        "4-x/04-a": indice("", dentro={"": secciones}),
        "intro": indice("", dentro={"": indice("#z")}),
        "4-x/05-b": nodes.bullet_list(),
    }
    env = SimpleNamespace(tocs=tocs, titles={"4-x/04-a": {}}, toc_secnumbers={"intro": {}})
    assert numeracion.assign_section_numbers(None, env) == ["4-x/04-a"]
    assert env.toc_secnumbers == {
        "4-x/04-a": {"": (4,), "#b": (4, 1), "#d": None, "#f": None, "#g": None, "#c": (4, 2)},
        "intro": {},
        "4-x/05-b": {},
    }
    assert env.titles["4-x/04-a"] == {"secnumber": [4]}
    assert numeracion.assign_section_numbers(None, env) == []
    assert [n["secnumber"] for n in secciones.findall(nodes.reference)] == [
        [4, 1], None, None, None, [4, 2],
    ]  # fmt: skip


def test_un_icono_sin_dibujo_avisa_y_se_queda(avisos):
    icono = '<i class="fa-solid fa-nada"></i>'
    assert iconos.dibujar(icono) == icono and len(avisos) == 1 and "fa-nada" in avisos[0]
    dibujado = iconos.dibujar('<span class="fa-solid fa-circle-half-stroke fa-lg"></span>')
    assert dibujado.count("<path") == 2 and 'class="icono" viewBox' in dibujado


@pytest.mark.parametrize(("formato", "quedan"), [("html", 0), ("latex", 1)])
def test_los_iconos_se_dibujan_en_cada_pagina(formato, quedan):
    icono = '<i class="fa-solid fa-bars"></i>'
    plantillas = SimpleNamespace(render=lambda plantilla, contexto: icono)
    app = SimpleNamespace(builder=SimpleNamespace(format=formato, templates=plantillas))
    iconos._conectar(app)
    assert plantillas.render("x", {}).count("<i") == quedan


def mapa_con(tmp_path: Path, *escritos: str) -> tuple[nodes.container, list]:
    anotado = []
    env = SimpleNamespace(
        srcdir=tmp_path,
        docname="intro",
        config={},
        found_docs=set(escritos),
        note_reread=lambda: anotado.append("otra vez"),
        note_dependency=anotado.append,
    )
    directiva = object.__new__(mapa.MapaDelLibro)
    directiva.state = SimpleNamespace(document=SimpleNamespace(settings=SimpleNamespace(env=env)))
    (caja,) = directiva.run()
    return caja, anotado


def test_el_mapa_enlaza_lo_escrito(tmp_path):
    assert not mapa_con(tmp_path)[0].children
    (tmp_path / "mapa.yml").write_text(
        "- parte: Una\n  capitulos:\n    4: [Cuatro, Idea cuatro]\n    5: [Cinco, Idea cinco]\n"
    )
    caja, anotado = mapa_con(tmp_path, "2-x/04-cuatro", "intro")
    assert anotado == [str(tmp_path / "mapa.yml"), str(tmp_path / "_toc.yml")]
    (tarjeta,) = caja.children
    assert caja["classes"] == ["mapa-libro"] and tarjeta["classes"] == ["tarjeta"]
    cuatro, cinco = tarjeta.findall(nodes.list_item)
    assert (cuatro["classes"], cinco["classes"]) == (["escrito"], ["por-escribir"])
    (enlace,) = tarjeta.findall(addnodes.pending_xref)
    assert enlace["reftarget"] == "/2-x/04-cuatro" and enlace.astext() == "4. Cuatro"
    assert enlace["refexplicit"] is True and enlace["refwarn"] is True
    assert cinco.astext().split("\n\n") == ["5. Cinco por escribir", "Idea cinco"]


# --- Los exploradores de una página ---------------------------------------------------------------


def test_una_pagina_lleva_una_copia_de_cada_guion_y_los_pesos_aparte(tmp_path):
    from figuras.explorers import softmax
    from figuras.explorers.adder import adder

    hechos = [adder(), adder("1 + 2"), softmax([[1.0, 2.0]], ["a", "b"], queries=["c"], d_k=4)]
    contexto = {
        "body": "<p>Antes.</p>" + "".join(uno._repr_html_() for uno in hechos),
        "pathto": lambda destino, recurso: f"../{destino}",
    }
    app = SimpleNamespace(outdir=str(tmp_path))
    exploradores._pagina(app, "1-a/01", "page.html", contexto, None)
    (guion,) = (tmp_path / exploradores.CARPETA).iterdir()
    pagina = contexto["body"]
    assert pagina.count(" data-atento-explorer=") == 3 and pagina.startswith("<p>Antes.</p>")
    partes = Counter(re.findall(r'data-atento-part="([\w/]+)-\w+"', pagina))
    assert partes == {
        "base": 2, "adder": 2, "transformer": 1, "pieces/tensors": 2, "softmax": 2, "pieces/kit": 2,
        "pieces/table": 2, "pieces/chart": 2, "pieces/group": 1, "pieces/ask": 2, "pieces/file": 2,
        "pieces/sums": 1,
    }  # fmt: skip
    assert f'data-url="../modelos/{guion.name}"></script>' in pagina and len(pagina) < 100_000
    (pesos,) = adder().files().values()
    assert guion.read_text("utf8").endswith(f'"{pesos}"\n')


def test_una_pagina_sin_exploradores_se_queda_igual(tmp_path):
    contexto = {"body": "<p>Nada.</p>", "pathto": None}
    exploradores._pagina(SimpleNamespace(outdir=str(tmp_path)), "a", "page.html", contexto, None)
    assert contexto["body"] == "<p>Nada.</p>" and not list(tmp_path.iterdir())
