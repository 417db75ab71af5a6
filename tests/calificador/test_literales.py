"""Los ejercicios que se entregan escritos a mano: lápiz (un diccionario de números) y predecir (un
número o una opción).
"""

from __future__ import annotations

import pytest

from calificador import carga
from calificador.correccion import oraculo
from calificador.correccion.ejemplo import ejemplo
from calificador.correccion.oraculo import Corrector, verifica
from calificador.correccion.semillas import faltas

REGISTRO = """
from calificador.registro import Ejercicio, cambia, cuerpo, numeros

EJERCICIOS = [
    Ejercicio(
        id="94.1", nombre="two_weights", tipo="lapiz", dificultad=1, minutos=5,
        aprende="repartir",
        propiedades={"score": (1, "Es un producto escalar."), "weight": (2,
        "Suma las exponenciales.")},
        tolerancias={"score": 1e-6, "weight": 5e-3}, pistas=("Puntúa, escala y normaliza.",),
        mutantes=(
            cambia("sin escala", "Falta dividir entre la raíz de 2.", " / math.sqrt(2)", ""),
            numeros("el otro peso", "Ese es el peso de la otra clave.", "two_weights",
                    score=0.7071, weight=0.3302),
        ),
    ),
    Ejercicio(
        id="94.2", nombre="what_grows", tipo="predecir", dificultad=1, minutos=2,
        aprende="predecir",
        propiedades={"respuesta": 2}, opciones=("sube", "baja", "no cambia"),
        pistas=("¿Qué pasa con el máximo?",),
        mutantes=(
            cuerpo("al revés", "Al dividir entre menos, los pesos se concentran.", "return 'baja'"),
            cuerpo("igual", "La escala sí cambia los pesos.", "return 'no cambia'"),
        ),
    ),
    Ejercicio(
        id="94.3", nombre="how_many", tipo="predecir", dificultad=1, minutos=2,
        aprende="contar",
        propiedades={"respuesta": 1}, pistas=("Cuenta filas por columnas.",),
        mutantes=(
            cuerpo("una matriz", "Son dos matrices.", "return 12"),
            cuerpo("suma", "Se multiplican.", "return 14"),
        ),
    ),
]
"""
SOLUCION = """
import math


def two_weights() -> dict[str, float]:
    score = 1.0 / math.sqrt(2)
    return {"score": score, "weight": math.exp(score) / (math.exp(score) + 1)}


def what_grows() -> str:
    return "sube"


def how_many() -> int:
    return 2 * 3 * 4
"""
ESQUELETO = """# %%
two_weights = {"score": None, "weight": None}  # Ejercicio 94.1
what_grows = None  # Ejercicio 94.2
how_many = None  # Ejercicio 94.3
"""


@pytest.fixture(scope="module")
def manual(tmp_path_factory):
    base = tmp_path_factory.mktemp("manual")
    for carpeta, texto in (
        ("registro", REGISTRO),
        ("solutions", SOLUCION),
        ("exercises", ESQUELETO),
    ):
        (base / carpeta).mkdir()
        (base / carpeta / "cap94.py").write_text(texto, encoding="utf-8")
    return carga.curso_en(str(base))


def nota(manual, id_, codigo):
    return verifica(manual.ejercicios[id_], codigo, 0, del_curso=manual)


def test_la_referencia_y_los_errores_conocidos_se_separan(manual):
    for ejercicio in manual.ejercicios.values():
        assert ejercicio.literal and not faltas(manual, ejercicio, range(2))
        assert verifica(ejercicio, ESQUELETO, 0, del_curso=manual).estado == "pendiente"
        assert ejemplo(manual, ejercicio) is None


@pytest.mark.parametrize(
    ("codigo", "puntos", "mutante"),
    [
        ("two_weights = {'score': 2 ** -0.5, 'weight': 0.67}", 3, ""),
        ("two_weights = {'score': 0.70710678, 'weight': 0.6698}", 3, ""),
        ("two_weights = {'score': 0.70710678, 'weight': 0.33}", 1, "el otro peso"),
        ("two_weights = {'score': 0.70710678, 'weight': 0.7311}", 1, "sin escala"),
        ("two_weights = {'score': 1, 'weight': 0.7311}", 0, "sin escala"),
        ("two_weights = {'score': 1, 'weight': 0.67}", 2, "sin escala"),
        ("two_weights = {'score': 1, 'weight': 0.33}", 0, "sin escala y el otro peso"),
        ("two_weights = {'score': 1, 'weight': 67}", 0, "sin escala y por ciento"),
        ("two_weights = {'score': -0.7071068, 'weight': 0.66976}", 2, "signo"),
        ("two_weights = {'score': 1.4142136, 'weight': 0.12}", 0, "inverso"),
        ("two_weights = {'score': 1.0201394, 'weight': 0.66976}", 2, "bits"),
        ("two_weights = {'score': 0.6698, 'weight': 0.7071}", 0, "cambiados"),
        ("two_weights = {'score': 1}", 0, "sin escala"),
        ("two_weights = {'score': 0.70710678}", 1, ""),
        ("two_weights = {'score': 'a', 'weight': [1]}", 0, ""),
        ("two_weights = [0.7071, 0.67]", 0, ""),
        ("what_grows = 'sube'", 2, ""),
        ("what_grows = '«Sube.»'", 2, ""),
        ("what_grows = ' No  cambia'", 0, "igual"),
        ("what_grows = 'baja'", 0, "al revés"),
        ("how_many = 24", 1, ""),
        ("how_many = 12", 0, "una matriz"),
        ("how_many = 23", 0, ""),
    ],
)
def test_cada_numero_con_su_tolerancia_y_su_pista(manual, codigo, puntos, mutante):
    ejercicio = next(e for e in manual.ejercicios.values() if codigo.startswith(e.nombre))
    resultado = nota(manual, ejercicio.id, codigo)
    assert (resultado.puntos, resultado.mutante) == (puntos, mutante), resultado
    assert (
        resultado.puntos == ejercicio.puntos
        or resultado.pista
        or "sin contestar" in resultado.mensaje
    )


def test_nunca_se_dice_la_respuesta(manual):
    for codigo in (
        "two_weights = {'score': 3, 'weight': 4}",
        "how_many = 23",
        "what_grows = 'baja'",
    ):
        ejercicio = next(e for e in manual.ejercicios.values() if codigo.startswith(e.nombre))
        dicho = str(nota(manual, ejercicio.id, codigo))
        assert not any(x in dicho for x in ("0.7071", "0.669", "0.67", "24", "sube"))
    assert (
        "no es una de las opciones: «sube»; «baja»; «no cambia»"
        in nota(manual, "94.2", "what_grows = 'crece'").mensaje
    )


def test_las_opciones_se_distinguen_sin_comas_ni_mayusculas():
    for ejercicio in carga.curso_en("").ejercicios.values():
        dichas = {
            oraculo._opcion(opcion.replace(",", "").upper() + ".", ejercicio.opciones)
            for opcion in ejercicio.opciones
        }
        assert dichas == set(ejercicio.opciones), ejercicio.id


def test_pasan_por_la_misma_jaula(manual, nivel):
    with Corrector(nivel, 0, del_curso=manual, con_texto=True) as corrector:
        for id_, codigo, estado in (
            ("94.1", "two_weights = {'score': 2 ** -0.5, 'weight': 0.67}", "superado"),
            ("94.1", ESQUELETO, "pendiente"), ("94.2", "what_grows = 'baja'", "fallado"),
            ("94.3", "import os\nos._exit(0)", "fallado"),
        ):  # fmt: skip
            assert corrector.califica(manual.ejercicios[id_], codigo).estado == estado
