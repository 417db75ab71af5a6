"""Una celda que falla y un entrenamiento que no llega: lo que ve quien construye y quien lee.

Se construye un libro de tres páginas, con una falta de cada clase plantada en su página.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from bs4 import BeautifulSoup
from libro import fallos as pieza
from libro.huella import FICHA, ruta_fallo
from rich.console import Console
from test_herramientas import CABECERA, capitulo

import construir
from figuras import notebook
from paginas import capitulos, cuadernos, ejecutar, fallos
from paginas.capitulos import Capitulo
from paginas.ejecutar import CapituloRoto, ejecuta
from paginas.fallos import Fallo, cuenta_fallos, localiza

REAL = Path(__file__).resolve().parents[2] / "book"
IMPORTA = "```{code-cell} python\nfrom figuras import notebook\n\nnotebook.start()\n```\n"
BIEN = f"{CABECERA}## Nada que decir\n\n```{{code-cell}} python\n6 * 7\n```\n"
EXACTO = f"""{CABECERA}{IMPORTA}
Antes vale {{glue:text}}`c02-antes` y después {{glue:text}}`c02-despues`.

```{{code-cell}} python
:tags: [comprobacion]
:comprueba: "La suma de antes"
notebook.glue("c02-antes", 3)
assert 1 + 2 == 3
```

```{{code-cell}} python
:tags: [comprobacion]
:comprueba: "La suma que falla"
print("hasta aquí")
total = 2 + 2
assert total == 5, "sale 4"
notebook.glue("c02-despues", total)
```

```{{code-cell}} python
print("no se llega")
```

```{{code-cell}} python
:tags: [comprobacion]
:comprueba: "La suma de después"
assert 1 == 1
```

```{{figura}} fig-perdida
Una recta, en la {{numref}}`fig-perdida`.
```
"""
ENTRENADO = f"""{CABECERA}{IMPORTA}
```{{code-cell}} python
:tags: [entrenado, comprobacion]
:comprueba: "Acierta casi todo"
exact = 0.5
with notebook.on_this_machine():
    assert exact > 0.99
notebook.glue("c03-exacto", exact)
```

Acierta {{glue:text}}`c03-exacto`.
"""
PAGINAS = {"01-bien": BIEN, "02-exacto": EXACTO, "03-entrenado": ENTRENADO}


@pytest.fixture(scope="module")
def libro(tmp_path_factory):
    """El libro construido: su carpeta, cómo acabó la orden y lo que dijo."""
    raiz = tmp_path_factory.mktemp("libro")
    for nombre in ("_config.yml", "_ext", "_static", "_templates", "locale"):
        (raiz / nombre).symlink_to(REAL / nombre)
    (raiz / "extra").mkdir()
    (raiz / "references.bib").write_text("", "utf8")
    (raiz / "tiempos.json").write_text('{"01": 1.0, "02": 1.0, "03": 1.0}', "utf8")
    (raiz / "intro.md").write_text("# Portada\n\nHola.\n", "utf8")
    for nombre, texto in PAGINAS.items():
        (raiz / f"{nombre}.md").write_text(texto, "utf8")
    indice = "".join(f"  - file: {nombre}\n" for nombre in PAGINAS)
    (raiz / "_toc.yml").write_text(f"format: jb-book\nroot: intro\nchapters:\n{indice}", "utf8")
    consola = Console(record=True, width=100, file=open("/dev/null", "w"))  # noqa: SIM115
    with pytest.MonkeyPatch.context() as parche:
        for modulo in (capitulos, construir, fallos):
            parche.setattr(modulo, "LIBRO", raiz)
        hecho = raiz / "_build"
        hecho.mkdir()
        rutas = {"CONSTRUIDO": hecho, "HTML": hecho / "html", "OBRA": hecho / ".obra"}
        for nombre, ruta in {**rutas, "ESTADO": hecho / ".estado"}.items():
            parche.setattr(construir, nombre, ruta)
        parche.setattr(
            construir, "capitulos", lambda: [Capitulo(raiz / f"{n}.md") for n in PAGINAS]
        )
        parche.setattr(construir, "escribe_apendices", lambda: [])
        parche.setattr(construir, "tira_caches_viejas", lambda: [])
        parche.setattr(construir, "cuadernos", lambda salida: None)
        parche.setattr(construir, "apunta", lambda *a: None)
        parche.setenv("ATENTO_ESTRICTO", "0")
        with pytest.raises(SystemExit) as fin:
            construir.libro_entero(None, consola)
        yield raiz, fin.value.code, consola.export_text()


def pagina(libro, nombre):
    """Una página publicada."""
    return BeautifulSoup((libro[0] / "_build/html" / f"{nombre}.html").read_text("utf8"), "lxml")


def comprobaciones(sopa):
    """Lo que dice el renglón de cada comprobación."""
    return [x.get_text(" ", strip=True) for x in sopa.select("details.comprobacion > summary")]


@pytest.mark.construccion
@pytest.mark.lento
def test_la_orden_acaba_mal_y_dice_donde_en_una_pantalla(libro):
    _, codigo, dicho = libro
    assert codigo == "Hay 1 páginas con una celda que falla."  # con un texto, el estado es 1
    linea = 1 + EXACTO.splitlines().index('assert total == 5, "sale 4"')
    final = dicho[dicho.index("Para leerlo") :]
    assert f"02-exacto.md:{linea} (celda 3)\n" in final
    assert '    assert total == 5, "sale 4"\n    AssertionError: sale 4\n' in final
    assert "03-entrenado: Acierta casi todo\n" in final and len(final.splitlines()) <= 24


@pytest.mark.construccion
@pytest.mark.lento
def test_la_pagina_que_falla_lo_dice_arriba_y_en_la_celda(libro):
    sopa = pagina(libro, "02-exacto")
    arriba, en_la_celda = sopa.select(".admonition.fallo")
    assert arriba.find_previous(["p", "pre"]) is None or arriba.find_previous_sibling().name == "h1"
    assert "Una celda de esta página ha fallado en esta máquina" in arriba.get_text()
    assert (
        arriba.select_one("a[href='#celda-que-falla']") and en_la_celda["id"] == "celda-que-falla"
    )
    for caja in (arriba, en_la_celda):
        assert caja.select_one("pre").get_text().strip() == 'assert total == 5, "sale 4"'
        assert "AssertionError: sale 4" in caja.get_text()
    celda = en_la_celda.find_previous("div", class_="cell")
    assert "hasta aquí" in celda.get_text() and "Traceback" not in sopa.get_text()


@pytest.mark.construccion
@pytest.mark.lento
def test_no_dice_comprobado_lo_que_no_se_ha_comprobado(libro):
    sopa = pagina(libro, "02-exacto")
    assert comprobaciones(sopa) == [
        "Comprobado: La suma de antes",
        "Ha fallado en esta máquina: La suma que falla",
        "Sin comprobar: La suma de después",
    ]
    assert "Antes vale 3 y después (sin calcular)." in sopa.get_text()
    perdida = next(x for x in sopa.select("div.cell") if "no se llega" in x.get_text())
    assert not perdida.select(".cell_output")
    assert sopa.select_one("figure#fig-perdida figcaption")


@pytest.mark.construccion
@pytest.mark.lento
def test_las_demas_paginas_salen(libro):
    sopa = pagina(libro, "01-bien")
    assert sopa.select_one(".cell_output").get_text(strip=True) == "42"
    assert not sopa.select(".fallo, .incumplido") and pagina(libro, "intro").select("article")


@pytest.mark.construccion
@pytest.mark.lento
def test_lo_entrenado_que_no_se_cumple_lo_dice_en_su_renglon(libro):
    sopa = pagina(libro, "03-entrenado")
    assert comprobaciones(sopa) == ["En esta máquina no se ha cumplido: Acierta casi todo"]
    assert "exact > 0.99" in sopa.select_one("details.incumplida .incumplido").get_text()
    assert "Acierta 0.5." in sopa.get_text() and not sopa.select(".fallo")


@pytest.mark.construccion
@pytest.mark.lento
def test_el_cuaderno_de_la_que_falla_lleva_lo_que_se_hizo(libro):
    uno = Capitulo(libro[0] / "02-exacto.md")
    dicho = cuadernos.pagina(uno, libro[0])
    hecho = cuadernos.cuaderno(uno, cuadernos.Libro(REAL), dicho, cuadernos.ejecutado(uno))
    assert any(f"Antes vale 3 y después {fallos.SIN_VALOR}." in c.source for c in hecho.cells)
    assert not any("ha fallado" in c.source for c in hecho.cells)
    assert [s.text for c in hecho.cells for s in c.get("outputs", []) if "text" in s] == [
        "hasta aquí\n"
    ]


def test_la_pagina_se_lee_otra_vez_si_deja_de_fallar_o_falla_de_otra_manera(tmp_path):
    """Sus celdas y su huella son las mismas: si no, seguiría el recuadro."""
    entorno = SimpleNamespace(
        found_docs={"p/01-x", "p/02-y"},
        libro_huellas={"p/01-x": "abc", "p/02-y": None},
        mystnb_config=SimpleNamespace(copy=lambda **x: x),
    )
    app = SimpleNamespace(srcdir=str(tmp_path), env=entorno)

    def cambian():
        return pieza._que_cambian(app, entorno, [], [], [])

    assert cambian() == []
    ficha = ruta_fallo(tmp_path, "01-x", "abc") / FICHA
    ficha.parent.mkdir(parents=True)
    for celda in (1, 2):
        ficha.write_text(f'{{"celda": {celda}}}')
        assert cambian() == ["p/01-x"]
        pieza._elegir(app, "p/01-x", [""])
        assert cambian() == [] and pieza.fallo_de(entorno, "p/01-x") == {"celda": celda}
        assert entorno.mystnb_config == {"execution_cache_path": str(ficha.parent)}
        entorno.mystnb_config = SimpleNamespace(copy=lambda **x: x)
    ficha.unlink()
    assert cambian() == ["p/01-x"]
    pieza._elegir(app, "p/01-x", [""])
    assert cambian() == [] and pieza.fallo_de(entorno, "p/01-x") is None


# --- Dónde ha sido --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("codigo", "linea", "dicha", "error"),
    [
        ("x = 1\n\nassert x == 2", 3, "assert x == 2", "AssertionError"),
        ("def f():\n    raise ValueError('no\\nvale')\n\nf()", 4, "f()", "ValueError: no"),
        ("import json\njson.loads('{')", 2, "json.loads('{')", "JSONDecodeError: Expecting"),
        ("x = (", 1, "x = (", "SyntaxError"),
        ("import os\nos._exit(9)", 1, "import os", "el núcleo ha muerto en una celda"),
    ],
)
def test_cada_fallo_dice_su_celda_su_linea_y_su_codigo(tmp_path, codigo, linea, dicha, error):
    uno = capitulo(tmp_path, "y = 0", f":tags: [dibujo]\n{codigo}", "print('después')")
    with pytest.raises(CapituloRoto) as roto:
        ejecuta(uno)
    (fallo,) = roto.value.fallos
    lineas = uno.texto().splitlines()
    primera = lineas.index(":tags: [dibujo]") + 2
    assert (fallo.pagina, fallo.celda, fallo.linea) == ("01-prueba.md", 2, primera + linea - 1)
    assert fallo.codigo == dicha == lineas[fallo.linea - 1].strip()
    assert fallo.error.startswith(error)
    hechas = [c for c in roto.value.cuaderno.cells if c.cell_type == "code"]
    assert roto.value.cuaderno.cells[fallo.indice] is hechas[1] and not hechas[2].outputs


def test_una_celda_que_no_termina_deja_lo_de_antes(tmp_path, monkeypatch):
    monkeypatch.setattr(ejecutar, "LIMITE_CELDA", 1)
    with pytest.raises(CapituloRoto) as roto:
        ejecuta(capitulo(tmp_path, "print('bien')", "import time; time.sleep(60)"))
    (fallo,) = roto.value.fallos
    assert (fallo.celda, fallo.error) == (2, "una celda pasa de 1 s")
    primera = next(c for c in roto.value.cuaderno.cells if c.cell_type == "code")
    assert primera.outputs[0].text == "bien\n"


def test_si_no_empezo_ninguna_es_la_primera(tmp_path):
    uno = capitulo(tmp_path, "a = 1", "b = 2")
    fallo = localiza(uno, uno.cuaderno(), None, "el núcleo no arranca\ny más")
    assert (fallo.celda, fallo.codigo, fallo.error) == (1, "a = 1", "el núcleo no arranca")


@pytest.mark.parametrize("cuantos", [1, 5, 6, 40])
def test_por_muchos_que_fallen_cabe_en_una_pantalla(cuantos):
    """También en una terminal estrecha y con líneas largas."""
    lista = [Fallo(f"{i:02}-{'x' * 90}.md", 1, 2, 3, "y" * 300, "z" * 300) for i in range(cuantos)]
    consola = Console(record=True, width=80, file=open("/dev/null", "w"))  # noqa: SIM115
    cuenta_fallos(lista, consola)
    dicho = consola.export_text()
    assert len(dicho.splitlines()) <= 23 and (f"Y otras {cuantos - 5}." in dicho) == (cuantos > 5)
    assert all(f"{i:02}-x" in dicho for i in range(min(cuantos, 5)))


# --- Lo que no se cumple --------------------------------------------------------------------------


def test_el_tipo_es_el_que_pone_el_cuaderno():
    assert fallos.INCUMPLIDO == notebook.UNMET


def test_se_dice_la_frase_y_si_no_la_hay_la_comparacion():
    salida = nbformat.v4.new_output(
        "display_data", data={fallos.INCUMPLIDO: {"comparacion": "x > 1", "mensaje": ""}}
    )
    con = nbformat.v4.new_code_cell(outputs=[salida], metadata={"comprueba": "Acierta"})
    sin = nbformat.v4.new_code_cell(outputs=[salida])
    bien = nbformat.v4.new_code_cell(outputs=[nbformat.v4.new_output("stream", text="x")])
    cuaderno = nbformat.v4.new_notebook(cells=[bien, con, sin, nbformat.v4.new_markdown_cell("x")])
    assert fallos.incumplidas(cuaderno) == ["Acierta", "x > 1"]


def test_se_olvida_lo_que_fallo_y_lo_que_no_fallo_no_molesta(tmp_path, monkeypatch):
    monkeypatch.setattr(fallos, "LIBRO", tmp_path)
    uno, otro = (SimpleNamespace(nombre=nombre) for nombre in ("01-x", "02-y"))
    carpeta = ruta_fallo(tmp_path, uno.nombre)
    (carpeta / "abc").mkdir(parents=True)
    fallos.olvida([uno, otro])
    assert not carpeta.exists()
