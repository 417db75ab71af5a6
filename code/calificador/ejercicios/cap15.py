"""Capítulo 15: Codificadores: BERT."""

from __future__ import annotations

from typing import Any

from calificador.generadores import Borde, entero, normal
from calificador.registro import Caso, Ejercicio, Mutante


def _casos_primero(rng: Any) -> list[Caso]:
    return [Caso("valores", (normal(rng, entero(rng, 2, 9)),)) for _ in range(3)]


def _mutante(nombre: str, pista: str, cuerpo: str) -> Mutante:
    return Mutante(nombre, f"def first(x):\n    return {cuerpo}\n", pista)


PRIMERO = Ejercicio(
    id="15.1",
    nombre="first",
    tipo="escribir",
    puntos=1,
    dificultad=1,
    minutos=5,
    aprende="PENDIENTE: qué se sabe hacer al terminar.",
    bordes=(Borde("valores", {0: 0}),),
    casos=_casos_primero,
    propiedades={"valores": 1},
    pistas=("PENDIENTE: la primera pista.", "PENDIENTE: la segunda."),
    mutantes=(
        _mutante("sin doblar", "Falta multiplicar por dos.", "x"),
        _mutante("triple", "Se multiplica por dos, no por tres.", "3 * x"),
        _mutante("cuadrado", "El doble no es el cuadrado.", "x * x"),
        _mutante("signo", "El signo se conserva.", "-2 * x"),
    ),
)

EJERCICIOS = [PRIMERO]
