"""Capítulo 1: lo guardado y lo que el texto promete. Los ejercicios se prueban en
``tests/calificador``.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import torch

from atento import rng
from figuras import stored

RAIZ = Path(__file__).resolve().parents[2]
CAPITULO = RAIZ / "book" / "1-origenes" / "01-lo-que-cambio-en-2017.md"


def _semillas():
    ruta = RAIZ / "tools" / "semillas" / "cap01.py"
    especificacion = importlib.util.spec_from_file_location("semillas_cap01", ruta)
    modulo = importlib.util.module_from_spec(especificacion)
    especificacion.loader.exec_module(modulo)
    return modulo


def test_la_receta_guardada_es_la_del_guion_y_la_de_la_pagina():
    receta = stored.runs("01")["recipe"]
    assert receta == _semillas().RECIPE_01
    texto = CAPITULO.read_text(encoding="utf-8")
    assert (
        f"steps={receta['steps']}" in texto
        and f"lr={receta['rate']:g}".replace("0.005", "5e-3") in texto
    )
    assert (
        f"rng.generator({receta['evaluation_seed']})" in texto
        and f"deal({receta['evaluation_rows']}" in texto
    )


def test_la_pagina_reparte_las_mismas_filas_que_el_guion():
    celda = re.search(r"^def deal\(.*?(?=^```)", CAPITULO.read_text(encoding="utf-8"), re.S | re.M)[
        0
    ]
    espacio = {"torch": torch, "F": torch.nn.functional, "N": 16}
    exec(celda, espacio)
    for una, otra in zip(
        espacio["deal"](50, rng.generator(3)), _semillas().deal(50, rng.generator(3)), strict=True
    ):
        iguales = (
            [torch.equal(una, otra)]
            if torch.is_tensor(una)
            else [torch.equal(una[k], otra[k]) for k in otra]
        )
        assert all(iguales)


def test_cada_una_gana_en_su_casa_con_las_diez_semillas():
    aciertos = {}
    for r in stored.runs("01")["runs"]:
        if r["steps"] == 300:
            aciertos.setdefault((r["relation"], r["rows"], r["model"]), {})[r["seed"]] = r[
                "accuracy"
            ]
    casas = {
        "al lado": ("convolución", 32),
        "en orden": ("recurrencia", 256),
        "por contenido": ("atención", 256),
    }
    for relacion, (casa, filas) in casas.items():
        gana = aciertos[relacion, filas, casa]
        assert sorted(gana) == list(range(10)) and min(gana.values()) > 0.95
        for otra in {"convolución", "recurrencia", "atención"} - {casa}:
            assert max(aciertos[relacion, filas, otra].values()) < min(gana.values())
