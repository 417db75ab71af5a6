"""La huella de cada capítulo: cambia con lo que puede cambiar sus salidas y con nada más."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from libro import ejecucion, huella, ruta_cache
from libro.huella import Fuentes, normalizado

MODULO = sys.modules["libro.huella"]  # el nombre «huella» del paquete es la función
LIBRO = Path(__file__).resolve().parents[2] / "book"
CABECERA = "---\nkernelspec: {name: python3}\n---\n# T\n\n"


def pagina(codigo, etiquetas=""):
    """Una página con una celda."""
    return f"{CABECERA}```{{code-cell}} python\n{etiquetas}{codigo}\n```\n"


@pytest.fixture
def raiz(tmp_path):
    """Una biblioteca de juguete: a importa b (dentro de una función), c no la importa nadie,
    datos."""
    ficheros = {
        "atento/__init__.py": "",
        "atento/a.py": "def f():\n    from .b import x\n    return x\n",
        "atento/b.py": '"""Be."""\nx = 1\n',
        "atento/c.py": "from importlib import resources\nN = 'c.html'\n",
        "atento/sub/__init__.py": "",
        "atento/sub/d.py": "from .. import a\nfrom . import e\n",
        "atento/sub/e.py": "y = 1\n",
        "atento/c.html": "<p>",
        "atento/datos/semillas-03.json": "{}",
        "atento/datos/pesos-copia-14.safetensors": "",
        "atento/lo-de-todos.txt": "hola",
        "calificador/__init__.py": "",
        "calificador/registro.py": "",
    }
    for nombre, texto in ficheros.items():
        ruta = tmp_path / "code" / nombre
        ruta.parent.mkdir(parents=True, exist_ok=True)
        ruta.write_text(texto)
    return tmp_path


def cambia(raiz, nombre, texto, celda, numero="04-x", etiquetas=""):
    """Si la huella de una página cambia al cambiar un fichero."""
    ruta, antes = raiz / "code" / nombre, huella(pagina(celda, etiquetas), numero, raiz)
    original = ruta.read_text()
    assert huella(pagina(celda, etiquetas), numero, raiz) == antes
    ruta.write_text(texto)
    despues = huella(pagina(celda, etiquetas), numero, raiz)
    ruta.write_text(original)
    return antes != despues


@pytest.mark.parametrize(
    ("fichero", "celda"),
    [
        ("atento/a.py", "from atento import a"),
        ("atento/b.py", "from atento import a"),
        ("atento/b.py", "import atento.sub.d"),
        ("atento/sub/e.py", "from atento.sub import d"),
        ("atento/__init__.py", "from atento.b import x"),
        ("atento/sub/__init__.py", "def g():\n    import atento.sub.e"),
        ("atento/c.py", "import importlib\nimportlib.import_module('atento.c')"),
        ("atento/c.py", "x = ("),
    ],
)
def test_cambia_con_lo_que_el_capitulo_importa(raiz, fichero, celda):
    assert cambia(raiz, fichero, "z = 2\n", celda)


@pytest.mark.parametrize(
    ("fichero", "celda"),
    [
        ("atento/c.py", "from atento import a"),
        ("atento/a.py", "from atento.b import x"),
        ("calificador/registro.py", "import atento.sub.d"),
        ("atento/b.py", "print('from atento import b')"),
        ("atento/c.py", "modelo.eval()\nfrom atento import b"),
    ],
)
def test_no_cambia_con_lo_demas(raiz, fichero, celda):
    assert not cambia(raiz, fichero, "z = 2\nN = 'c.html'\n", celda)


COMENTADO = '"""Otra cosa."""\n\n# Un comentario.\nx = 1  # uno\n'


def test_los_comentarios_no_cuentan_salvo_que_se_mire_el_codigo(raiz):
    assert not cambia(raiz, "atento/b.py", COMENTADO, "from atento import b")
    assert cambia(
        raiz, "atento/b.py", COMENTADO, "from atento import b\nimport inspect\ninspect.getsource(b)"
    )
    assert cambia(raiz, "atento/b.py", COMENTADO, "from atento import b\nhelp(b)")
    assert cambia(
        raiz,
        "atento/b.py",
        COMENTADO,
        "from atento import b\n1 / 0",
        etiquetas=":tags: [raises-exception]\n",
    )
    assert cambia(raiz, "atento/b.py", "x = 2  # uno\n", "from atento import b")
    (raiz / "code" / "atento" / "a.py").write_text(
        "from . import b\nimport inspect\ninspect.getsource(b)\n"
    )
    assert cambia(raiz, "atento/b.py", COMENTADO, "from atento import a")


@pytest.mark.parametrize(
    ("linea", "mira"), [("x = 1  # ¿vale?", False), ("b.x?", True), ("  b??  ", True)]
)
def test_una_pregunta_en_un_comentario_no_mira_el_codigo(raiz, linea, mira):
    celda = f"from atento import b\n{linea}"
    assert bool(MODULO.MIRA_LAS_FUENTES.search(celda)) == mira
    if not mira:
        assert not cambia(raiz, "atento/b.py", COMENTADO, celda)


def test_cada_modulo_se_analiza_una_vez(raiz, monkeypatch):
    """Dos páginas que importan lo mismo no lo leen dos veces."""
    analizados, de_verdad = [], MODULO.ast.parse
    monkeypatch.setattr(MODULO.ast, "parse", lambda x: analizados.append(x) or de_verdad(x))
    (raiz / "code/atento/b.py").write_text("solo_de_esta_prueba = 1\n")
    for numero in ("04-x", "05-x"):
        huella(pagina(f"from atento import b\nx = {numero[:2]!r}"), numero, raiz)
    assert analizados.count("solo_de_esta_prueba = 1\n") == 2  # lo que importa y lo que hace


def test_normalizado_conserva_el_codigo():
    assert normalizado("def f():\n    '''D.'''\n") == normalizado("def f():\n    pass\n")
    assert normalizado("x = 'a'") != normalizado("x = 'b'")
    assert normalizado("class C:\n    '''D.'''\n    x = 1") == normalizado(
        "class C:\n    x = 1  # uno"
    )


@pytest.mark.parametrize(
    ("dato", "celda", "numero", "cuenta"),
    [
        ("atento/datos/semillas-03.json", "from atento import a", "03-x", True),
        ("atento/datos/semillas-03.json", "from atento import a", "04-x", False),
        ("atento/datos/semillas-03.json", "from atento import a\na.lee('03')", "04-x", True),
        ("atento/datos/pesos-copia-14.safetensors", "from atento import a", "14-x", True),
        ("atento/datos/pesos-copia-14.safetensors", "from atento import a", "04-x", False),
        ("atento/datos/pesos-copia-14.safetensors", "import atento\nf('copia-14')", "04-x", True),
        ("atento/datos/pesos-copia-14.safetensors", "import atento\nf('suma-14')", "04-x", False),
        ("atento/c.html", "from atento import c", "04-x", True),
        ("atento/c.html", "from atento import a", "04-x", False),
        ("atento/lo-de-todos.txt", "from atento import b", "04-x", True),
        ("atento/lo-de-todos.txt", "1", "04-x", False),
    ],
)
def test_los_datos_cuentan_para_quien_los_lee(raiz, dato, celda, numero, cuenta):
    assert cambia(raiz, dato, "otros", celda, numero) is cuenta


def test_cuentan_las_versiones_de_lo_que_se_importa(raiz, monkeypatch):
    antes = [huella(pagina(c), "04-x", raiz) for c in ("import yaml", "import math")]
    monkeypatch.setattr(MODULO, "_version", lambda nombre: "9" if nombre == "PyYAML" else "1")
    con, sin = (huella(pagina(c), "04-x", raiz) for c in ("import yaml", "import math"))
    monkeypatch.setattr(MODULO, "_version", lambda nombre: "1")
    assert (
        huella(pagina("import yaml"), "04-x", raiz) != con
        and huella(pagina("import math"), "04-x", raiz) == sin
    )
    assert antes[0] != con and antes[1] != sin, "torch, numpy y matplotlib cuentan siempre"


def test_cuenta_la_version_de_python(raiz, monkeypatch):
    """La de dos cifras: con otra, las salidas pueden ser otras."""
    huellas = set()
    for menor in (11, 12):
        version = SimpleNamespace(major=3, minor=menor)
        doble = SimpleNamespace(version_info=version, stdlib_module_names=sys.stdlib_module_names)
        monkeypatch.setattr(MODULO, "sys", doble)
        huellas.add(huella(pagina("import math"), "04-x", raiz))
    assert len(huellas) == 2


def test_la_prosa_y_las_celdas_no_cuentan_en_la_huella(raiz):
    assert huella(pagina("from atento import a") + "\nMás.\n", "04-x", raiz) == huella(
        pagina("from atento import a\nx = 1"), "04-x", raiz
    )


def test_el_alcance_no_olvida_los_paquetes_de_fuera(raiz):
    propios, fuera = Fuentes(raiz).alcance("import torch\nfrom atento import c")
    assert propios == {"atento", "atento.c"} and {"torch", "importlib"} <= fuera


def test_importar_libro_no_importa_sphinx():
    orden = "import sys; import libro; libro.huella(''); sys.exit('sphinx' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", orden], cwd=LIBRO / "_ext", timeout=60).returncode
        == 0
    )


def _app(carpeta):
    entorno = SimpleNamespace(
        doc2path=lambda d: str(carpeta / f"{d}.md"),
        mystnb_config=SimpleNamespace(copy=lambda **x: x),
        found_docs={"04-x", "intro"},
    )
    return SimpleNamespace(env=entorno, srcdir=str(carpeta))


def test_sphinx_mira_en_la_cache_de_cada_pagina_y_lee_las_que_cambian(tmp_path, monkeypatch):
    (tmp_path / "04-x.md").write_text(pagina("from atento import masks"))
    (tmp_path / "intro.md").write_text("# Hola\n")
    app = _app(tmp_path)
    for documento in ("04-x", "intro"):
        ejecucion._elegir_cache(app, documento, [""])
    esperada = ruta_cache(tmp_path, "04-x", huella(pagina("from atento import masks"), "04-x"))
    assert app.env.mystnb_config == {"execution_cache_path": str(esperada)}
    assert esperada.parent == tmp_path / "_build" / ".jupyter_cache" / "04-x"
    assert ejecucion._con_otra_huella(app, app.env, set(), set(), set()) == []
    monkeypatch.setattr(ejecucion, "huella", lambda texto, nombre: "otra")
    assert ejecucion._con_otra_huella(app, app.env, set(), set(), set()) == ["04-x"]
    assert ejecucion._con_otra_huella(app, app.env, {"04-x"}, set(), set()) == []


def test_un_hilo_tambien_sin_los_guiones(monkeypatch):
    for variable in ("OMP_NUM_THREADS", "ATENTO_DEVICE", "PYTHONHASHSEED"):
        monkeypatch.delenv(variable, raising=False)
    ejecucion._preparar(None, None)
    assert (
        os.environ["OMP_NUM_THREADS"],
        os.environ["ATENTO_DEVICE"],
        os.environ["PYTHONHASHSEED"],
    ) == ("1", "cpu", "0")


def test_quien_importa_al_vuelo_usa_todo_su_paquete_y_ninguno_mas(raiz):
    fuentes = Fuentes(raiz)
    codigo = "import importlib\nimportlib.import_module(nombre)\n"
    suyos, _ = fuentes.importados(codigo, "atento.sub")
    assert suyos == {m for m in fuentes.modulos if m.partition(".")[0] == "atento"}
    assert suyos < set(fuentes.modulos) == fuentes.importados(codigo)[0]


def test_la_huella_guardada_es_la_calculada_y_no_se_calcula_otra_vez(raiz, monkeypatch):
    (raiz / "book" / "_build").mkdir(parents=True)
    paginas = {"04-x": pagina("from atento import a"), "05-y": pagina("import atento.c")}
    debidas = {n: MODULO.calcula(texto, n, raiz) for n, texto in paginas.items()}
    assert {n: huella(texto, n, raiz) for n, texto in paginas.items()} == debidas

    def no_hace_falta(*_):
        pytest.fail("está guardada")

    monkeypatch.setattr(MODULO, "calcula", no_hace_falta)
    assert {n: huella(texto, n, raiz) for n, texto in paginas.items()} == debidas
    monkeypatch.setattr(MODULO, "calcula", lambda *_: "otra")
    assert huella(paginas["04-x"] + "x", "04-x", raiz) == "otra"
    assert huella(paginas["05-y"], "05-y", raiz) == debidas["05-y"]


def test_sin_raiz_es_la_del_repositorio():
    raiz = Path(__file__).resolve().parents[2]
    texto = (raiz / "book" / "1-origenes" / "02-tokens-y-vectores.md").read_text(encoding="utf-8")
    debida = MODULO.calcula(texto, "02-tokens-y-vectores", raiz)
    assert MODULO.huella(texto, "02-tokens-y-vectores") == debida
