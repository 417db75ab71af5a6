"""Las cuentas de la guía docente salen de lo medido."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from libro import lotes

MEDIDO = Path(__file__).resolve().parents[2] / "book" / "conjunto.json"


@pytest.mark.parametrize(
    ("segundos", "dicho"),
    [(0.5, "0.5 segundos"), (90, "90 segundos"), (121, "2 minutos"), (7200, "2 horas"),
     (5400, "90 minutos"), (36_000, "10 horas"), (200_000, "2.3 días")],
)  # fmt: skip
def test_el_tiempo_en_palabras(segundos, dicho):
    assert lotes.en_palabras(segundos) == dicho


def test_con_el_doble_de_nucleos_la_mitad_y_el_arranque():
    medido = {"por_capitulo": 0.1, "arranque": 0.0}
    assert lotes.cuentas(medido, 1000, 72) == [
        ("1", "2 horas"), ("8", "15 minutos"), ("64", "112 segundos"), ("256", "28 segundos"),
    ]  # fmt: skip
    assert lotes.miles(270_000) == "270\u202f000"


def test_lo_medido_es_de_dos_trabajadores_de_verdad():
    medido = json.loads(MEDIDO.read_text("utf8"))
    assert 0 < medido["por_capitulo"] < 5 and 0 < medido["arranque"] < 60
    uno, dos = (medido["trabajadores"][n] for n in ("1", "2"))
    assert uno["personas"] == dos["personas"] >= 2 and dos["pared"] < uno["pared"]
    assert 2 / 3 < uno["cpu"] / dos["cpu"] < 3 / 2, "no han corregido los trabajadores"
