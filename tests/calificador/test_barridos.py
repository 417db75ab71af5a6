"""Los sellos de los barridos: los abre lo que cambie del ejercicio, y lo que no ha pasado entero no
se sella.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from barridos import Barridos, huella, lo_suyo
from rotacion import nuevas

from calificador import carga

REGISTRO = """
from calificador.registro import Ejercicio

TOPE = 3


def _casos_uno(rng):
    return TOPE


def _casos_dos(rng):
    return 7


_UNO = Ejercicio(id="1.1", nombre="uno", casos=_casos_uno, pistas=("una pista",))
_DOS = Ejercicio(id="1.2", nombre="dos", casos=_casos_dos)
EJERCICIOS = [_UNO, _DOS]
"""
SOLUCION = """
import torch
from atento.masks import causal_mask


def _ayuda(x):
    return x + 1


def uno(x):
    return _ayuda(x)


def dos(x):
    return x
"""


@pytest.fixture
def de_juguete(tmp_path, monkeypatch):
    """Un curso de dos ejercicios, en su carpeta."""
    monkeypatch.delenv("ATENTO_ENTERO", raising=False)
    (tmp_path / "cap01.py").write_text(REGISTRO)
    (tmp_path / "soluciones").mkdir()
    (tmp_path / "soluciones" / "cap01.py").write_text(SOLUCION)
    uno = next(iter(carga.curso_en("").ejercicios.values()))
    ejercicios = {i: replace(uno, id=i, nombre=n) for i, n in (("1.1", "uno"), ("1.2", "dos"))}
    return carga.Curso(tmp_path, tmp_path, tmp_path / "soluciones", ejercicios)


@pytest.mark.parametrize(
    ("donde", "antes", "despues", "cambian"),
    [
        ("cap01.py", "una pista", "otra pista", {"1.1"}),
        ("cap01.py", "TOPE = 3", "TOPE = 4", {"1.1"}),
        ("cap01.py", "return 7", "return 8", {"1.2"}),
        ("cap01.py", "return 7", "return 7  # siete", set()),
        ("soluciones/cap01.py", "x + 1", "1 + x", {"1.1"}),
        ("soluciones/cap01.py", "return x\n", "return +x\n", {"1.2"}),
        ("soluciones/cap01.py", "causal_mask", "padding_mask", {"1.1", "1.2"}),
        ("soluciones/cap01.py", "atento.masks", "atento.layers", {"1.1", "1.2"}),
    ],
)
def test_cambia_la_huella_de_quien_lo_usa(de_juguete, donde, antes, despues, cambian):
    todos = de_juguete.ejercicios
    viejas = {i: huella(de_juguete, e) for i, e in todos.items()}
    ruta = de_juguete.registro / donde
    texto = ruta.read_text()
    assert antes in texto
    ruta.write_text(texto.replace(antes, despues))
    assert {i for i, e in todos.items() if huella(de_juguete, e) != viejas[i]} == cambian


def test_cambia_con_las_respuestas(de_juguete):
    uno = de_juguete.ejercicios["1.1"]
    vistas = {huella(de_juguete, uno, extras) for extras in ([], ["una"], ["una", "otra"])}
    assert len(vistas) == 3


def test_de_un_modulo_queda_lo_que_usa_y_lo_que_se_ejecuta_al_cargarlo():
    codigo = "import math\nA = 1\nB = 2\ndef f(): return g(A)\ndef g(x): return x\ndef h(): pass\n"
    assert lo_suyo(codigo + "print(B)\n", {"f"}).count("def ") == 2
    assert "B = 2" in lo_suyo(codigo + "print(B)\n", {"f"})
    assert "B = 2" not in lo_suyo(codigo, {"f"}) and "import math" in lo_suyo(codigo, {"f"})


def test_lo_sellado_prueba_una_semilla_y_lo_demas_todas(de_juguete, tmp_path, monkeypatch):
    uno, dos = de_juguete.ejercicios.values()
    fichero = tmp_path / "barridos.json"
    pasan = Barridos(fichero)
    *todas, suya = pasan.semillas(de_juguete, uno, "errores", range(25))
    assert todas == list(range(25)) and suya not in todas
    pasan.pasa(de_juguete, uno, "errores")
    pasan.pasa(de_juguete, uno, "respuestas", "buena 1")
    pasan.guarda({("1.1", "respuestas"): {"buena 1", "mala 1"}})
    assert list(json.loads(fichero.read_text())["1.1"]) == ["errores"]  # falta la mala

    de_nuevo = Barridos(fichero)
    assert de_nuevo.sellado(de_juguete, uno, "errores")
    assert not de_nuevo.sellado(de_juguete, uno, "respuestas")
    assert not de_nuevo.sellado(de_juguete, dos, "errores")
    assert de_nuevo.semillas(de_juguete, uno, "errores", range(25)) == [suya]
    assert de_nuevo.semillas(de_juguete, dos, "errores", range(25))[-1] != suya
    monkeypatch.setenv("ATENTO_ENTERO", "1")
    con_nuevas = [*range(25), suya, *nuevas(2)]
    assert de_nuevo.semillas(de_juguete, uno, "errores", range(25)) == con_nuevas
    todo = Barridos(fichero)
    todo.pasa(de_juguete, dos, "errores")
    todo.guarda({})
    assert {"1.1", "1.2"} == set(json.loads(fichero.read_text()))
    monkeypatch.setenv("ATENTO_ENTERO", "0")
    de_nuevo.pasa(de_juguete, uno, "errores")  # con una semilla no se sella nada
    assert de_nuevo.pasados == {}
