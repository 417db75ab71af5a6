"""Las herramientas que ejecutan capítulos, guardan referencias y construyen."""

import importlib
import sys

import nbformat
import pytest
from jupyter_cache import get_cache

from cuidar.referencias import esta_al_dia, referencia
from paginas.capitulos import LIBRO, Capitulo, capitulos, documentos, en_cache, guarda_en_cache
from paginas.ejecutar import CapituloRoto, ejecuta

CABECERA = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# Prueba

Prosa.

"""


def capitulo(carpeta, *celdas):
    """Un capítulo pequeño con esas celdas."""
    cuerpo = "\n\n".join(f"```{{code-cell}} python\n{c}\n```\n\nMás prosa." for c in celdas)
    ruta = carpeta / "01-prueba.md"
    ruta.write_text(CABECERA + cuerpo + "\n", encoding="utf-8")
    return Capitulo(ruta)


def test_todas_las_paginas_del_indice_existen():
    faltan = [d for d in documentos() if not (LIBRO / f"{d.removesuffix('.md')}.md").exists()]
    assert faltan == []
    assert [c.clave for c in capitulos() if c.clave.isdigit()] == sorted(
        c.clave for c in capitulos() if c.clave.isdigit()
    )


TOOLS = LIBRO.parent / "tools"
ORDENES = sorted(
    ".".join(p.relative_to(TOOLS).with_suffix("").parts)
    for p in TOOLS.rglob("*.py")
    if "description=__doc__" in p.read_text(encoding="utf-8") and p.name != "__main__.py"
)


@pytest.mark.parametrize("orden", ORDENES)
def test_la_ayuda_de_cada_orden_empieza_por_lo_que_hace(orden, monkeypatch, capsys):
    modulo = importlib.import_module(orden)
    monkeypatch.setattr(sys, "argv", [orden, "--help"])
    with pytest.raises(SystemExit) as salida:
        modulo.main()
    ayuda = " ".join(capsys.readouterr().out.split())
    assert salida.value.code == 0 and modulo.__doc__.splitlines()[0] in ayuda


def test_las_referencias_estan_al_dia():
    assert [queja for c in capitulos() if (queja := esta_al_dia(c))] == []


def test_ejecuta_y_cuenta_las_celdas(tmp_path):
    vistas = []
    cuaderno, segundos = ejecuta(
        capitulo(tmp_path, "x = 2", "print(x + 1)"), lambda: vistas.append(1)
    )
    codigo = [c for c in cuaderno.cells if c.cell_type == "code"]
    assert codigo[1].outputs[0].text == "3\n"
    assert len(vistas) == 2 and segundos > 0


def test_una_celda_que_falla_se_nombra(tmp_path):
    with pytest.raises(CapituloRoto, match="01-prueba.md.*\n(.*\n)*.*plantada"):
        ejecuta(capitulo(tmp_path, "raise ValueError('plantada')"))


def test_la_cache_no_se_fia_de_lo_que_quedo_a_medias(tmp_path):
    cache = get_cache(str(tmp_path / "cache"))
    cap = capitulo(tmp_path, "print('hola')")
    assert not en_cache(cache, cap.cuaderno())
    cuaderno, segundos = ejecuta(cap)
    guarda_en_cache(cache, cap, cuaderno, segundos)
    assert en_cache(cache, cap.cuaderno())
    for guardado in (tmp_path / "cache").rglob("*.ipynb"):
        guardado.write_text("{ a medias")
    assert not en_cache(cache, cap.cuaderno())


def test_cambiar_una_celda_deja_de_estar_en_la_cache(tmp_path):
    cache = get_cache(str(tmp_path / "cache"))
    cap = capitulo(tmp_path, "print('hola')")
    cuaderno, segundos = ejecuta(cap)
    guarda_en_cache(cache, cap, cuaderno, segundos)
    assert not en_cache(cache, capitulo(tmp_path, "print('adiós')").cuaderno())


@pytest.fixture
def con_referencia(tmp_path, monkeypatch):
    """Un capítulo ejecutado y su referencia, en una carpeta temporal."""
    monkeypatch.setattr("paginas.capitulos.REFERENCIAS", tmp_path)
    cap = capitulo(tmp_path, "from IPython.display import HTML\nHTML('<b>figura</b>')", "print(1)")
    cuaderno, _ = ejecuta(cap)
    cap.referencia.write_text(referencia(cuaderno), encoding="utf-8")
    return cap


def test_la_referencia_guarda_el_texto_y_no_el_html(con_referencia):
    guardada = nbformat.read(con_referencia.referencia, as_version=4)
    assert set(guardada.cells[0].outputs[0].data) == {"text/plain"}
    assert guardada.cells[1].outputs[0].text == "1\n"
    assert all(c.execution_count == 1 for c in guardada.cells)
    assert esta_al_dia(con_referencia) is None


def test_una_referencia_vieja_se_detecta(con_referencia, tmp_path):
    assert "ha cambiado" in esta_al_dia(capitulo(tmp_path, "print(2)"))
    con_referencia.referencia.unlink()
    assert "no tiene referencia" in esta_al_dia(con_referencia)


def test_una_referencia_sin_ejecutar_se_detecta(con_referencia):
    guardada = nbformat.read(con_referencia.referencia, as_version=4)
    guardada.cells[1].execution_count = None
    nbformat.write(guardada, con_referencia.referencia)
    assert "sin ejecutar" in esta_al_dia(con_referencia)


def test_documentos_del_indice_con_sus_comodines(tmp_path):
    (tmp_path / "a").mkdir()
    for nombre in ("a/dos.md", "a/uno.md", "b.md"):
        (tmp_path / nombre).write_text("# X\n")
    (tmp_path / "_toc.yml").write_text(
        "root: intro\nparts:\n- chapters:\n  - file: b\n    sections:\n    - glob: a/*\n  -"
        " file: c\n"
    )
    assert documentos(tmp_path) == ["intro", "b", "a/dos", "a/uno", "c"]
