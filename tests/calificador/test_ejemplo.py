"""El ejemplo de cada ejercicio: pequeño, cierto y repetible en un cuaderno."""

from __future__ import annotations

import ast

import pytest
import torch

from calificador import carga
from calificador.correccion.compara import Contexto, diferencia
from calificador.correccion.ejemplo import ejemplo
from calificador.correccion.examen import en_float64, prepara
from calificador.correccion.muestra import muestra, numero

LIBRO = carga.curso_en("")
EJERCICIOS = list(LIBRO.ejercicios.values())


@pytest.mark.parametrize("ejercicio", EJERCICIOS, ids=lambda e: e.id)
def test_cada_ejercicio_tiene_un_ejemplo_que_se_lee_y_se_repite(ejercicio):
    hecho = ejemplo(LIBRO, ejercicio)
    if ejercicio.literal:
        assert hecho is None
        return
    lineas = hecho.texto.splitlines()
    assert len(lineas) <= 30 and max(map(len, lineas)) <= 90 and "→ " in hecho.texto
    espacio: dict = {}
    with en_float64():
        exec(LIBRO.solucion(ejercicio.capitulo), espacio)
        arbol = ast.parse(hecho.codigo)
        ultima = ast.Expression(arbol.body.pop().value)
        exec(compile(arbol, "ejemplo", "exec"), espacio)
        valor = eval(compile(ultima, "ejemplo", "eval"), espacio)
    esperada = prepara(LIBRO, ejercicio, "ejemplo", casos=[ejercicio.ejemplo()]).esperadas[0].valor
    assert diferencia(valor, esperada, Contexto()) is None
    assert hecho.salida == muestra(esperada, 2)


def test_los_numeros_se_leen():
    for valor, texto in (
        (0.731058, "0.7311"),
        (2.0, "2"),
        (-0.0, "0"),
        (float("-inf"), "-inf"),
        (1e-20, "0"),
        (3, "3"),
    ):
        assert numero(valor) == texto
    assert muestra(torch.tensor([[1.0, -10.0], [100.0, 2.5]])) == "[[  1, -10],\n [100, 2.5]]"
    assert muestra(torch.zeros(30, 30)) == "un tensor de forma (30, 30)"
    assert (
        muestra("<b>\x1b") == '"<b>"'
        and muestra((1,)) == "(1,)"
        and muestra({"a": None}) == '{"a": None}'
    )
