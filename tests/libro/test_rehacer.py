"""Construir otra vez: lo guardado es solo de su página, no se rehace lo que no ha cambiado y la API
enlaza con el código.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

RAIZ = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(RAIZ / "book" / "_ext"))

from libro import buscador, codigo, documento, tiempos  # noqa: E402
from libro.buscador import entradas_de  # noqa: E402
from libro.codigo import con_anclas, definiciones, lugar_de  # noqa: E402

API = "# `atento.device`\n\n```{eval-rst}\n.. automodule:: atento.device\n   :members:\n```\n"
INTRO = "# Portada\n\nHola.\n\n```{mapa-libro}\n```\n\n```{semanas}\n4 | Saber.\n```\n\n"
PAGINAS = {
    "intro": INTRO + "```{toctree}\n04-uno\napi\n```\n",
    "04-uno": "# Uno\n\n{ref}`No está <nada>` y más.\n\n## Dos\n\nTexto.\n",
    "api": API,
}
PARTES = ("mapa", "tiempos", "buscador", "codigo", "documento")


class Taller:
    """Un libro de tres páginas que se construye las veces que haga falta."""

    def __init__(self, carpeta: Path, sin: str = "") -> None:
        self.carpeta, self.leidas, self.escritas = carpeta, [], []
        self.partes = [f"libro.{p}" for p in PARTES if p != sin]
        for nombre, texto in PAGINAS.items():
            (carpeta / f"{nombre}.md").write_text(texto, "utf-8")
        (carpeta / "mapa.yml").write_text("- parte: Una\n  capitulos: {4: [Cuatro, Idea]}\n")
        (carpeta / "_toc.yml").write_text("")
        (carpeta / "tiempos.json").write_text('{"04": 3.0}')

    @docutils_namespace()
    def construye(self) -> Sphinx:
        """Construye; apunta qué páginas se leen y cuáles se escriben."""
        self.leidas, self.escritas = [], []
        (self.carpeta / "libro_static").mkdir(exist_ok=True)
        app = Sphinx(
            self.carpeta,
            None,
            self.carpeta / "html",
            self.carpeta / "doctrees",
            "html",
            confoverrides={
                "extensions": ["myst_parser", "sphinx.ext.autodoc", *self.partes],
                "myst_enable_extensions": ["colon_fence"],
                "root_doc": "intro",
                "html_theme": "basic",
                "language": "es",
                "suppress_warnings": ["myst.xref_missing"],
            },
            status=None,
            warning=None,
        )
        app.connect("env-before-read-docs", lambda app, env, d: self.leidas.extend(d))
        app.connect("doctree-resolved", lambda app, d, nombre: self.escritas.append(nombre))
        app.build()
        return app

    def arbol(self, pagina: str) -> BeautifulSoup:
        """Una página construida."""
        return BeautifulSoup((self.carpeta / "html" / f"{pagina}.html").read_text("utf-8"), "lxml")


@pytest.fixture
def taller(tmp_path):
    return Taller(tmp_path)


def guardada(taller: Taller, pagina: str) -> bytes:
    return (taller.carpeta / "doctrees" / f"{pagina}.doctree").read_bytes()


def test_la_pagina_guardada_no_arrastra_el_entorno(taller, tmp_path_factory):
    """Sin la pieza que une los nodos, sí: por eso está."""
    taller.construye()
    dentro = guardada(taller, "api")
    arbol = pickle.loads(dentro)
    assert b"BuildEnvironment" not in dentro
    assert all(nodo.document is arbol for nodo in arbol.findall())
    sueltos = [n for v in vars(arbol).values() for n in documento.anotados(v)]
    assert sueltos and all(nodo.document is arbol for nodo in sueltos)
    otro = Taller(tmp_path_factory.mktemp("sin"), sin="documento")
    otro.construye()
    assert b"BuildEnvironment" in guardada(otro, "api")


def test_sin_cambios_no_se_lee_ni_se_escribe_nada(taller):
    taller.construye()
    assert taller.leidas == ["04-uno", "api", "intro"] == sorted(taller.escritas)
    fichas = {p: p.stat().st_mtime_ns for p in taller.carpeta.rglob("*.js")}
    fichas |= {p: p.stat().st_mtime_ns for p in taller.carpeta.glob("html/**/*.html")}
    taller.construye()
    assert taller.leidas == taller.escritas == []
    assert {p: p.stat().st_mtime_ns for p in fichas} == fichas


def test_se_rehace_lo_que_depende_de_lo_que_cambia(taller):
    taller.construye()
    uno = taller.carpeta / "04-uno.md"
    uno.write_text(uno.read_text("utf-8") + "\n" + "Palabra. " * 2000, "utf-8")
    taller.construye()
    # La portada no se lee otra vez, pero su tabla dice las horas de las demás.
    assert taller.leidas == ["04-uno"] and sorted(taller.escritas) == ["04-uno", "intro"]
    (taller.carpeta / "mapa.yml").write_text("- parte: Otra\n  capitulos: {4: [Cuatro, Idea]}\n")
    taller.construye()
    assert taller.leidas == ["intro"] and "Otra" in taller.arbol("intro").get_text()
    (taller.carpeta / "_toc.yml").write_text("# otras páginas\n")
    taller.construye()
    assert taller.leidas == ["intro"]


def test_lo_que_se_busca_es_lo_de_las_paginas_guardadas(taller):
    app = taller.construye()
    for pagina in PAGINAS:
        esperado = entradas_de(
            app.env.get_doctree(pagina), pagina, app.builder.get_target_uri(pagina)
        )
        assert esperado and app.env.libro_busqueda[pagina] == esperado
    indice = (taller.carpeta / "libro_static" / "indice.js").read_text("utf-8")
    assert "Dos" in indice and "código" not in indice and "def pick" not in indice


def test_cada_nombre_de_la_api_lleva_a_su_codigo_y_vuelve(taller):
    taller.construye()
    firmas = taller.arbol("api").select(".sig-object")
    assert len(firmas) > 2
    fuente = taller.arbol("codigo/atento/device")
    for firma in firmas:
        enlace = firma.select_one("a.al-codigo")
        assert {"internal", "al-codigo"} <= set(enlace["class"])
        pagina, _, ancla = enlace["href"].partition("#")
        assert pagina == "codigo/atento/device.html" and enlace.get_text() == "código"
        donde = fuente.select_one(f".escrito-aqui[id='{ancla}']")
        assert f"def {ancla}" in donde.get_text() or ancla in donde.get_text()
        assert donde.select_one("a.volver")["href"] == f"../../api.html#{firma['id']}"
    for sobra in fuente.select("a.volver"):
        sobra.decompose()
    escrito = Path(codigo.fichero_de("atento.device")).read_text("utf-8")
    texto = fuente.select_one(".highlight pre").get_text()
    assert [x.rstrip() for x in texto.split("\n")] == [x.rstrip() for x in escrito.split("\n")]


def test_una_pagina_de_codigo_que_ya_no_hace_falta_se_va(taller):
    taller.construye()
    (taller.carpeta / "api.md").write_text("# `atento.device`\n\nNada.\n", "utf-8")
    taller.construye()
    assert not (taller.carpeta / "html/codigo/atento/device.html").exists()


def test_donde_se_escribe_cada_nombre():
    assert lugar_de("atento.tokenizers", "BPE.encode")[0].startswith("atento.tokenizers.")
    assert lugar_de("atento.tokenizers", "BPE.no_se_escribe") == lugar_de(
        "atento.tokenizers", "BPE"
    )
    assert lugar_de("atento.device", "nada") is None
    assert lugar_de("atento.layers", "torch") is None


def test_las_anclas_se_anidan_bien():
    fuente = "class A:\n    def f(self):\n        return 1\n\n\nB = 2"
    hecho = con_anclas(fuente.split("\n"), fuente, {"A": "x#A", "A.f": "x#A.f", "B": "x#B"})
    arbol = BeautifulSoup("\n".join(hecho), "lxml")
    assert [n["id"] for n in arbol.select(".escrito-aqui")] == ["A", "A.f", "B"]
    assert arbol.select_one("[id='A'] [id='A.f']") is not None
    assert arbol.select_one("[id='A'] [id='B']") is None
    assert set(definiciones(fuente)) == {"A", "A.f", "B"}


def test_cambiar_una_hoja_o_una_letra_cambia_la_huella(tmp_path):
    from libro.sitio import estaticos

    vistas = set()
    for nombre in ("_static/a.css", "extra/guiones/b.js", "_static/a.css"):
        (tmp_path / nombre).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / nombre).write_text(f"x{len(vistas)}")
        vistas.add(estaticos(tmp_path))
    assert len(vistas) == 3 and estaticos(tmp_path) in vistas


def test_de_una_pagina_que_se_quita_no_queda_nada(taller):
    taller.construye()
    escrita = taller.carpeta / "html" / "api.html"
    assert escrita.exists()
    (taller.carpeta / "api.md").unlink()
    portada = taller.carpeta / "intro.md"
    portada.write_text(portada.read_text("utf-8").replace("api\n", ""), "utf-8")
    taller.construye()
    assert not escrita.exists() and (taller.carpeta / "html" / "04-uno.html").exists()


def test_las_piezas_olvidan_lo_que_se_quita():
    class Entorno:
        pass

    for pieza, nombres in (
        (buscador, ("libro_busqueda",)),
        (codigo, ("libro_codigo",)),
        (tiempos, ("libro_tiempos", "libro_con_semanas")),
    ):
        env = Entorno()
        pieza._empezar(None, env)
        for nombre in nombres:
            getattr(env, nombre)["a"] = getattr(env, nombre)["b"] = 1
        pieza._purgar(None, env, "a")
        assert all(getattr(env, nombre) == {"b": 1} for nombre in nombres)


def test_lo_escrito_de_una_pagina_que_ya_no_esta_se_borra(tmp_path):
    """También si no llegó a escribirse; de otro formato no se toca nada."""
    escrita = tmp_path / "vieja.html"
    for formato, queda in (("epub", True), ("html", False)):
        escrita.touch()
        builder = SimpleNamespace(
            format=formato, get_outfilename=lambda nombre: tmp_path / f"{nombre}.html"
        )
        app = SimpleNamespace(builder=builder)
        assert documento._quita_lo_que_ya_no_es(app, None, {}, {}, ["nunca", "vieja"]) == []
        assert escrita.exists() is queda
