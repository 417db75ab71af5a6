"""Los apéndices que se escriben solos: temario, refutaciones, soluciones y biblioteca."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from bs4 import BeautifulSoup
from libro import soluciones, temario
from test_extension import CABECERA, _construir

from paginas import apendices

SOLUCION = """# %% [markdown]
# # Capítulo 4. La atención: soluciones

# %%
import math

# %% [markdown]
# ## 4.1 Predecir
#
# Se piensa.

# %%
def f():
    return 1

# %% [markdown]
# ## 4.2 Escribir
#
# Se escribe.

# %%
x = 2
"""


def test_las_soluciones_van_plegadas_con_su_etiqueta_y_su_enunciado(tmp_path):
    (tmp_path / "cap04.py").write_text(SOLUCION, "utf8")
    assert soluciones.soluciones_de(tmp_path / "cap04.py").splitlines() == [
        "",
        "",
        "```python",
        "import math",
        "```",
        "",
        "(sol-4-1)=",
        "## 4.1 Predecir",
        "",
        "{ref}`Enunciado <ej-4-1>`",
        "",
        "::::{respuesta} Ver la solución",
        "",
        "Se piensa.",
        "",
        "```python",
        "def f():",
        "    return 1",
        "```",
        "",
        "::::",
        "",
        "(sol-4-2)=",
        "## 4.2 Escribir",
        "",
        "{ref}`Enunciado <ej-4-2>`",
        "",
        "::::{respuesta} Ver la solución",
        "",
        "Se escribe.",
        "",
        "```python",
        "x = 2",
        "```",
        "",
        "::::",
    ]


def test_un_titulo_sin_numero_se_dice(tmp_path):
    (tmp_path / "cap04.py").write_text("# %% [markdown]\n# ## Sin número\n", "utf8")
    with pytest.raises(ValueError, match="Sin número.*no empieza por"):
        soluciones.soluciones_de(tmp_path / "cap04.py")


def _lee(documento, texto, tmp_path, monkeypatch):
    """Lo que queda de una página al leerla, y de qué ficheros depende."""
    monkeypatch.setattr(soluciones, "SOLUCIONES", tmp_path)
    dependencias, trozos = [], [texto]
    soluciones._al_leer(
        SimpleNamespace(env=SimpleNamespace(note_dependency=dependencias.append)), documento, trozos
    )
    return trozos[0], dependencias


def test_cada_capitulo_recibe_sus_soluciones_y_depende_de_ellas(tmp_path, monkeypatch):
    (tmp_path / "cap04.py").write_text(SOLUCION, "utf8")
    texto, dependencias = _lee(
        "apendices/soluciones/cap04", "# T\n\n%SOLUCIONES%\n", tmp_path, monkeypatch
    )
    assert texto.startswith("# T\n\n") and "(sol-4-2)=" in texto and "%SOLUCIONES%" not in texto
    assert dependencias == [str(tmp_path / "cap04.py")]
    for documento, original in (
        ("apendices/otra", "%SOLUCIONES%"),
        ("apendices/soluciones/cap04", "sin marca"),
    ):
        assert _lee(documento, original, tmp_path, monkeypatch) == (original, [])
    avisos = []
    monkeypatch.setattr(soluciones.logger, "warning", lambda *a, **k: avisos.append(a))
    assert _lee("apendices/soluciones/cap05", "%SOLUCIONES%", tmp_path, monkeypatch) == (
        "%SOLUCIONES%",
        [],
    )
    assert len(avisos) == 1


# --- El mapa del temario y el de las refutaciones -------------------------------------------------

CAPITULO = """(c04-inicio)=
# La atención

(c04-parrafo)=
Un párrafo.

(c04-segunda)=
## La $Q$ segunda

### «Todo baja» {refutacion}`R-002`

No.

### «Nada sube» {refutacion}`R-001`

Tampoco.

:::::{a-fondo} Más
::::{respuesta}
(c04-plegado)=
Sí.
::::
:::::
"""
FILAS = {
    "ATE-01": {
        "tema": "ATE",
        "tipo": "C",
        "texto": "Una",
        "capitulo": 4,
        "etiqueta": "c04-segunda",
    },
    "ATE-02": {
        "tema": "ATE",
        "tipo": "C",
        "texto": "Dos",
        "capitulo": 4,
        "etiqueta": ["c04-parrafo", "c04-inicio"],
    },
    "ATE-03": {
        "tema": "ATE",
        "tipo": "C",
        "texto": "Plegada",
        "capitulo": 4,
        "etiqueta": "c04-plegado",
    },
    "DEC-01": {
        "tema": "DEC",
        "tipo": "C",
        "texto": "Tres",
        "capitulo": 11,
        "etiqueta": "pendiente",
    },
    "EJE-01": {
        "tema": "EJE",
        "tipo": "J",
        "texto": "Cuatro",
        "capitulo": 0,
        "etiqueta": "pendiente",
    },
}


@pytest.fixture(scope="module")
def mapas(tmp_path_factory):
    """Las páginas de los dos mapas, construidas."""
    carpeta = tmp_path_factory.mktemp("mapas")
    (carpeta / "temario.yml").write_text(yaml.safe_dump(FILAS, allow_unicode=True), "utf8")
    (carpeta / "2-m").mkdir()
    estado, salida, html = _construir(carpeta, {
        "2-m/04-atencion": CAPITULO, "temario": "# T\n\n```{mapa-temario}\n```\n",
        "erratas": "# E\n\n```{mapa-refutaciones}\n```\n",
    })  # fmt: skip
    assert estado == 0, salida[-3000:]
    return {
        x: BeautifulSoup((html / f"{x}.html").read_text("utf8"), "lxml")
        for x in ("temario", "erratas")
    }


@pytest.mark.construccion
def test_el_mapa_del_temario_enlaza_cada_fila_con_su_seccion(mapas):
    pagina = mapas["temario"]
    assert "De 5 filas, 3 enlazan ya" in pagina.article.get_text()
    filas = {f.find("td").get_text(strip=True): f for f in pagina.select("#temario-ate tbody tr")}
    assert list(filas) == ["ATE-01", "ATE-02", "ATE-03"]
    (enlace,) = filas["ATE-01"].find_all("a")
    assert enlace["href"] == "2-m/04-atencion.html#c04-segunda" and enlace.get_text().startswith(
        "La "
    )
    assert filas["ATE-01"].find_all("td")[2].get_text().startswith("4. La")
    assert enlace.select_one("math") is not None, "el título, con su fórmula"
    uno, otro = filas["ATE-02"].find_all("a")
    assert uno["href"].endswith("#c04-parrafo") and uno.get_text() == "La atención"
    assert otro["href"].endswith("#c04-inicio") and otro.get_text() == "La atención"
    assert filas["ATE-03"].find("a").get_text() == "Más"
    assert "; " in filas["ATE-02"].find_all("td")[2].get_text()
    assert pagina.select_one("#temario-dec td p.pendiente").get_text() == "pendiente: capítulo 11"
    assert pagina.select_one("#temario-eje td p.pendiente").get_text() == "pendiente: preliminares"
    assert [t.get_text(strip=True) for t in pagina.select("#temario-ate th")] == [
        "Fila",
        "Qué se enseña",
        "Dónde",
    ]
    assert len(pagina.select("section section")) == len(temario.TEMAS)


@pytest.mark.construccion
def test_el_mapa_de_refutaciones_las_ordena_y_las_enlaza(mapas):
    filas = [
        [c.get_text(" ", strip=True) for c in f.find_all("td")]
        for f in mapas["erratas"].select("tbody tr")
    ]
    assert filas == [
        ["«Nada sube»", "Capítulo 4"],
        ["«Todo baja»", "Capítulo 4"],
    ]  # los R-… no se enseñan
    enlaces = [a["href"] for a in mapas["erratas"].select("tbody a")]
    assert enlaces == ["2-m/04-atencion.html#err-R-001", "2-m/04-atencion.html#err-R-002"]


@pytest.mark.construccion
def test_una_etiqueta_que_no_existe_y_un_libro_sin_refutaciones(tmp_path):
    fila = {**FILAS["ATE-01"], "etiqueta": "c04-nada"}
    (tmp_path / "temario.yml").write_text(
        yaml.safe_dump({"ATE-01": fila}, allow_unicode=True), "utf8"
    )
    estado, salida, html = _construir(
        tmp_path,
        {
            "temario": CABECERA + "# T\n\n```{mapa-temario}\n```\n",
            "erratas": "# E\n\n```{mapa-refutaciones}\n```\n",
        },
    )
    assert estado != 0 and "c04-nada" in salida and "no es del libro" in salida
    assert "Todavía no hay capítulos" in (html / "erratas.html").read_text("utf8")


@pytest.mark.parametrize("mapa", [temario.MapaTemario, temario.MapaRefutaciones])
def test_los_mapas_se_leen_otra_vez_cuando_cambia_algo_de_lo_que_dicen(tmp_path, mapa):
    (tmp_path / "temario.yml").write_text(yaml.safe_dump({"ATE-02": FILAS["ATE-02"]}), "utf8")
    (tmp_path / "2-m").mkdir()
    (tmp_path / "2-m/04-atencion.md").write_text(CAPITULO, "utf8")
    dependencias = []
    env = SimpleNamespace(
        config={},
        srcdir=tmp_path,
        found_docs={"2-m/04-atencion", "intro"},
        doc2path=lambda documento: tmp_path / f"{documento}.md",
        note_dependency=dependencias.append,
    )
    directiva = object.__new__(mapa)
    directiva.state = SimpleNamespace(
        document=SimpleNamespace(settings=SimpleNamespace(env=env)),
    )
    assert directiva.run()
    suyos = ["temario.yml"] if mapa is temario.MapaTemario else []
    suyos += ["_toc.yml", "2-m/04-atencion.md"]
    assert dependencias == [str(tmp_path / x) for x in suyos]


# --- Las páginas que escribe «python tools apendices» --------------------------------------------


@pytest.fixture
def raiz(tmp_path):
    """Un repositorio de juguete."""
    for nombre, texto in {
        "code/atento/__init__.py": '"""Nada."""\n',
        "code/atento/a.py": '"""Suma ``x`` con\n:mod:`atento.b`. Más."""\n',
        "code/atento/_privado.py": "",
        "code/atento/checks/a.py": "",
        "code/atento/sub/__init__.py": '"""Sub."""\nfrom atento.sub.x import f\n__all__ = ["f"]\n',
        "code/atento/sub/x.py": "def f(): ...\n",
        "code/atento/sub/interno.py": "",
        "code/calificador/registro.py": '"""Registro."""\n',
        "code/calificador/vetos.py": '"""Vetos."""\n',
        "solutions/cap04.py": SOLUCION,
        "book/apendices/api/vieja.md": "x",
        "book/apendices/soluciones/cap99.md": "x",
    }.items():
        (tmp_path / nombre).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / nombre).write_text(texto, "utf8")
    return tmp_path


def test_una_pagina_por_modulo_y_por_capitulo(raiz):
    suyos = ["calificador.registro", "calificador.vetos"]
    assert apendices.modulos(raiz) == ["atento.a", "atento.sub", *suyos]
    paginas = apendices.paginas(raiz)
    assert (
        paginas["api/atento-a.md"]
        == "(api-atento-a)=\n# `atento.a`\n\n```{eval-rst}\n.. automodule:: atento.a\n```\n"
    )
    assert paginas["soluciones/cap04.md"] == "# Capítulo 4. La atención\n\n%SOLUCIONES%\n"
    assert "- [`atento.a`](api/atento-a.md). Suma `x` con `atento.b`. Más.\n" in paginas["api.md"]
    assert "[`atento.sub`](api/atento-sub.md). Sub." in paginas["api.md"]


def test_se_escribe_lo_que_falta_y_se_quita_lo_que_sobra(raiz):
    escritas = {p.name for p in apendices.escribe(raiz)}
    assert {"api.md", "atento-a.md", "cap04.md", "vieja.md", "cap99.md"} <= escritas
    assert apendices.escribe(raiz) == [] and not (raiz / "book/apendices/api/vieja.md").exists()
    (raiz / "solutions/cap04.py").write_text("x = 1\n")
    with pytest.raises(SystemExit, match="cap04.py: falta el título"):
        apendices.paginas(raiz)


def test_sin_carpetas_se_hacen(raiz):
    shutil.rmtree(raiz / "book")
    escritas = apendices.escribe(raiz)
    assert {p.name for p in escritas} == {Path(x).name for x in apendices.paginas(raiz)}
    assert all(p.is_relative_to(raiz / "book/apendices") and p.is_file() for p in escritas)


def test_los_apendices_del_libro_estan_al_dia():
    cambian, sobran = apendices.pendientes()
    assert not cambian and not sobran, (
        f"python tools apendices: {[p.name for p in [*cambian, *sobran]]}"
    )


@pytest.mark.parametrize("al_dia", [True, False])
def test_la_orden_de_los_apendices(monkeypatch, capsys, al_dia):
    cambia = apendices.LIBRO / "apendices/api.md"
    sobra = apendices.LIBRO / "apendices/api/vieja.md"
    monkeypatch.setattr(
        apendices, "pendientes", lambda: ({}, []) if al_dia else ({cambia: "x"}, [sobra])
    )
    monkeypatch.setattr(apendices, "escribe", lambda: [] if al_dia else [cambia])
    monkeypatch.setattr("sys.argv", ["apendices.py", "--revisa"])
    with pytest.raises(SystemExit) as fin:
        apendices.main()
    assert fin.value.code == (0 if al_dia else 1)
    quejas = "apendices/api.md: no está al día\napendices/api/vieja.md: no está al día\n"
    assert capsys.readouterr().out == ("Los apéndices están al día.\n" if al_dia else quejas)
    monkeypatch.setattr("sys.argv", ["apendices.py"])
    apendices.main()
    assert capsys.readouterr().out == ("" if al_dia else "apendices/api.md: al día\n")
