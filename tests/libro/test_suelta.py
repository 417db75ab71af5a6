"""La vista de una página suelta: lo que cita del resto se lee, con lo que dejó el libro entero."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from docutils import nodes
from libro import numeracion, suelta


@pytest.fixture
def libro(tmp_path, monkeypatch):
    """Un libro construido entero, con una sección y algo numerado de cada clase."""
    monkeypatch.setattr(numeracion, "enunciado", {"Theorem": "Teorema"}.get)
    std = SimpleNamespace(
        labels={
            "c04-a": ("04-x", "a", "La sección"),
            "fig-a": ("04-x", "fig-a", "El pie"),
            "ej-4-1": ("04-x", "ej-4-1", "Ejercicio"),
            "ap": ("apendices/x", "ap", "Sin número"),
        }
    )
    env = SimpleNamespace(
        get_domain=lambda nombre: std,
        config=SimpleNamespace(numfig_format={"figure": "Figura %s", "exercise": "Ejercicio %s"}),
        toc_fignumbers={
            "04-x": {
                "figure": {"fig-a": (4, 1)},
                "displaymath": {"equation-eq-a": (4, 3)},
                "exercise": {"ej-4-1": (4, 1)},
                "theorem": {"th-a": (4, 2)},
            }
        },
    )
    builder = SimpleNamespace(format="html")
    app = SimpleNamespace(srcdir=str(tmp_path), env=env, builder=builder)
    suelta._apuntar(app, None)
    return app


@pytest.mark.parametrize(
    ("atributos", "sale"),
    [
        ({"reftarget": "c04-a", "reftype": "ref"}, "La sección"),
        ({"reftarget": "fig-a", "reftype": "ref"}, "El pie"),
        ({"reftarget": "fig-a", "reftype": "numref"}, "Figura 4.1"),
        ({"reftarget": "eq-a", "reftype": "eq"}, "(4.3)"),
        ({"reftarget": "ej-4-1", "reftype": "ref"}, "Ejercicio 4.1"),
        (
            {"reftarget": "th-a", "reftype": "ref", "refdomain": "prf"},
            "Teorema 4.2",
        ),
        ({"reftarget": "ap", "reftype": "numref"}, "Sin número"),
        ({"reftarget": "c04-a", "reftype": "ref", "refexplicit": True}, "texto"),
        ({"reftarget": "x", "reftype": "doc"}, "texto"),
        ({"reftarget": "x", "reftype": "obj", "refdomain": "py"}, "texto"),
        ({"reftarget": "nada", "reftype": "ref"}, None),
    ],
)
def test_una_pagina_suelta_cita_el_resto_sin_enlazarlo(libro, monkeypatch, atributos, sale):
    contenido = nodes.Text("texto")
    assert suelta._leer_lo_del_resto(libro, None, atributos, contenido) is None
    monkeypatch.setenv(suelta.SUELTA, "1")
    nodo = suelta._leer_lo_del_resto(libro, None, atributos, contenido)
    assert (nodo and nodo.astext()) == sale


def test_sin_el_libro_entero_se_lee_la_etiqueta(tmp_path, monkeypatch):
    """Y ni una página suelta ni un libro a medias dejan dicho nada."""
    app = SimpleNamespace(srcdir=str(tmp_path), builder=SimpleNamespace(format="html"))
    suelta._apuntar(app, ValueError())
    monkeypatch.setenv(suelta.SUELTA, "1")
    suelta._apuntar(app, None)
    assert not list(tmp_path.iterdir())
    nodo = suelta._leer_lo_del_resto(app, None, {"reftarget": "c04-a", "reftype": "ref"}, None)
    assert nodo.astext() == "c04-a"


@pytest.mark.parametrize("es_suelta", [True, False])
def test_una_pagina_suelta_no_exige_los_tiempos(monkeypatch, es_suelta):
    if es_suelta:
        monkeypatch.setenv(suelta.SUELTA, "1")
    config = SimpleNamespace(libro_exigir_tiempos=True)
    suelta._preparar(None, config)
    assert config.libro_exigir_tiempos is not es_suelta
