"""Capítulo 3: los ejercicios pasan por el calificador y el texto casa con ellos y con lo guardado."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
import torch

from atento import stored
from calificador.correccion.oraculo import verifica
from calificador.ejercicios.cap03 import EJERCICIOS

RAIZ = Path(__file__).resolve().parents[2]
CAPITULO = RAIZ / "book" / "1-origenes" / "03-traducir-con-redes-recurrentes.md"
SOLUCIONES = (RAIZ / "solutions" / "cap03.py").read_text(encoding="utf-8")
ESQUELETO = (RAIZ / "exercises" / "cap03.py").read_text(encoding="utf-8")
SEMILLAS = ("practica", 1, 2, 3, 4)
POR_ID = {ejercicio.id: ejercicio for ejercicio in EJERCICIOS}


@pytest.mark.parametrize("ejercicio", EJERCICIOS, ids=lambda e: e.id)
def test_la_referencia_pasa_el_esqueleto_no_y_cada_mutante_da_con_su_pista(ejercicio):
    assert len({m.pista for m in ejercicio.mutantes}) == len(ejercicio.mutantes)
    for semilla in SEMILLAS:
        assert verifica(ejercicio, SOLUCIONES, semilla).puntos == ejercicio.puntos
        assert verifica(ejercicio, ESQUELETO, semilla).puntos == 0
        for mutante in ejercicio.mutantes:
            resultado = verifica(ejercicio, mutante.codigo, semilla)
            assert resultado.puntos < ejercicio.puntos, f"{mutante.nombre} pasa con la semilla {semilla}"
            assert mutante.pista in str(resultado), f"{mutante.nombre}: su pista no sale con la semilla {semilla}"


@pytest.mark.parametrize("ejercicio", EJERCICIOS, ids=lambda e: e.id)
def test_los_casos_cambian_con_la_semilla_y_cubren_las_propiedades(ejercicio):
    formas = set()
    for semilla in range(5):
        casos = ejercicio.casos(torch.Generator().manual_seed(semilla), **ejercicio.variante)
        assert {caso.propiedad for caso in casos} == set(ejercicio.propiedades)
        formas.add(str([getattr(arg, "shape", arg) for caso in casos for arg in caso.args]))
    assert len(formas) > 1


def test_otras_maneras_honradas_tambien_pasan():
    otras = {
        "3.1": """
def additive_attention(query, keys, w_q, w_k, v, valid):
    rows = []
    for q, k, ok in zip(query, keys, valid):
        k = k[ok]
        rows.append(torch.softmax(torch.tanh(q @ w_q + k @ w_k) @ v, 0) @ k)
    return torch.stack(rows)
""",
        "3.2": """
def decoder_step(x, h, states, weights, cell):
    c = torch.einsum("bs,bsd->bd", weights, states)
    return torch.tanh(torch.cat([x, c, h], -1) @ torch.cat(cell[:3]) + cell[3])
""",
        "3.3": """
def mean_state(states, lengths):
    return torch.stack([row[:n].mean(0) for row, n in zip(states, lengths.tolist())])
""",
        "3.6": """
def gradient_norms(inputs, w_x, w_h, direction):
    inputs = inputs.clone().requires_grad_()
    h = torch.zeros(len(w_h), dtype=inputs.dtype)
    for x in inputs:
        h = torch.tanh(x @ w_x + h @ w_h)
    return torch.autograd.grad(h @ direction, inputs)[0].norm(dim=-1).flip(0)
""",
    }
    for numero, codigo in otras.items():
        for semilla in SEMILLAS:
            resultado = verifica(POR_ID[numero], "import torch\n" + codigo, semilla)
            assert resultado.puntos == POR_ID[numero].puntos, (numero, str(resultado))


def test_enunciados_esqueletos_y_soluciones_casan():
    texto = CAPITULO.read_text(encoding="utf-8")
    assert re.findall(r":label: (ej-3-\d+)", texto) == [ejercicio.etiqueta for ejercicio in EJERCICIOS]
    for ejercicio in EJERCICIOS:
        assert f"`{ejercicio.nombre}(" in texto
    assert "atento" not in ESQUELETO.split("import torch", 1)[1]


def test_las_tres_semillas_guardadas_cumplen_lo_que_el_texto_promete():
    runs = stored.runs("03")["runs"]
    attention = [r for r in runs if r["model"] == "attention"]
    for clauses in "1234":
        assert sum(r["exact"]["unseen"][clauses] for r in attention) / 3 >= 0.98
    assert min(r["exact"]["unseen"]["4"] for r in attention) >= 0.95
    assert min(r["inversions"]["hits"] / r["inversions"]["total"] for r in attention) >= 0.95
    seconds = {name: sum(r["cpu_seconds"] for r in runs if r["model"] == name) for name in ("attention", "plain")}
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
    assert f"warmup={receta['warmup']}" in texto and f"weight_decay={receta['weight_decay']}" in texto
    assert f"clauses={semillas.MIXED}" in texto
    for nombre in ("attention", "plain"):
        assert f"steps={semillas.RUNS_03[nombre]['steps']}" in texto
