"""Capítulo 3: el texto casa con lo guardado. Los ejercicios se prueban en ``tests/calificador``."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from figuras import stored

RAIZ = Path(__file__).resolve().parents[2]
CAPITULO = RAIZ / "book" / "1-origenes" / "03-traducir-con-redes-recurrentes.md"


def test_las_diez_semillas_guardadas_cumplen_lo_que_el_texto_promete():
    runs = stored.runs("03")["runs"]
    attention = [r for r in runs if r["model"] == "attention"]
    assert sorted(r["seed"] for r in attention) == list(range(10))
    for clauses in "1234":
        assert sum(r["exact"]["unseen"][clauses] for r in attention) / 10 >= 0.98
    assert min(r["exact"]["unseen"]["4"] for r in attention) >= 0.95
    assert min(r["inversions"]["hits"] / r["inversions"]["total"] for r in attention) >= 0.95
    seconds = {
        name: sum(r["cpu_seconds"] for r in runs if r["model"] == name)
        for name in ("attention", "plain")
    }
    assert abs(seconds["plain"] / seconds["attention"] - 1) < 0.15
    sizes = {r["parameters"] for r in runs}
    assert max(sizes) / min(sizes) < 1.02


def test_la_receta_de_la_pagina_es_la_de_lo_guardado():
    ruta = RAIZ / "tools" / "semillas" / "cap03.py"
    especificacion = importlib.util.spec_from_file_location("semillas", ruta)
    semillas = importlib.util.module_from_spec(especificacion)
    especificacion.loader.exec_module(semillas)
    receta, texto = semillas.RECIPE_03, CAPITULO.read_text(encoding="utf-8")
    assert stored.runs("03")["recipe"] == receta
    for clave in ("d_model", "d_hidden", "d_attention"):
        assert f"{clave}={receta[clave]}" in texto
    assert (
        f"warmup={receta['warmup']}" in texto and f"weight_decay={receta['weight_decay']}" in texto
    )
    assert f"clauses={semillas.MIXED}" in texto
    for nombre in ("attention", "plain"):
        assert f"steps={semillas.RUNS_03[nombre]['steps']}" in texto
