"""Los mensajes: en su orden, en español y con el dato que ayuda."""

from __future__ import annotations

import pytest
import torch

from calificador.correccion.compara import (
    Contestacion,
    Contexto,
    diferencia,
    ejes_de,
    explica,
    iguales,
)
from calificador.correccion.resultado import limpia
from calificador.jaula.marcos import Otro

T = torch.tensor
UNO = torch.ones(2, 3, dtype=torch.float64)
NAN = UNO.clone()
NAN[1] = float("nan")
SUELTO = UNO.clone()
SUELTO[0, 1] = float("nan")


@pytest.mark.parametrize(
    ("obtenido", "esperado", "trozo"),
    [
        (None, UNO, "¿falta el return?"),
        ([1.0], UNO, "tipo: llegó una lista de 1 elemento; se esperaba un tensor de forma (2, 3)"),
        (Otro("ndarray"), UNO, "llegó ndarray"),
        (UNO.T, UNO, "forma: llegó (3, 2); se esperaba (2, 3) = (query, key)"),
        (UNO.float(), UNO, "dtype: llegó float32; se esperaba float64"),
        (
            NAN,
            UNO,
            (
                "hay 3 NaN (el primero en [1, 0]): filas enteras de NaN: ¿una fila con todo"
                " enmascarado?"
            ),
        ),
        (SUELTO, UNO, "hay 1 NaN (el primero en [0, 1]): ¿hay un 0·inf"),
        (
            UNO + T([0, 0, 1.0]),
            UNO,
            "en [0, 2] se obtuvo 2 y se esperaba 1; difieren 2 de 6 valores",
        ),
        ((UNO,), (UNO, UNO), "llegó 1 elemento; se esperaban 2"),
        ((UNO, None), (UNO, UNO), "el elemento 2 de la salida: es None"),
        ((UNO, UNO * 2), (UNO, UNO), "el elemento 2 de la salida: en [0, 0]"),
        ({"a": 1}, {"b": 1}, "faltan las claves b; sobran a"),
        ({"a": 1}, {"a": 2}, "clave a: se obtuvo 1 y se esperaba 2"),
        ("x", 3, "tipo: llegó una cadena; se esperaba un número"),
        (1, True, "tipo"),
        (2, 3.5, "se obtuvo 2 y se esperaba 3.5"),
        (T([True]), T([False]), "se obtuvo True y se esperaba False"),
        (3.0, float("inf"), "se obtuvo 3 y se esperaba inf"),
        (1e308, float("inf"), "se esperaba inf"),
        (float("inf"), 3.0, "se obtuvo inf y se esperaba 3"),
        (float("-inf"), float("inf"), "se obtuvo -inf y se esperaba inf"),
        (float("nan"), 1.0, "se obtuvo nan y se esperaba 1"),
        (UNO, UNO * float("inf"), "se obtuvo 1 y se esperaba inf"),
        (T(3), T(4), "se obtuvo 3 y se esperaba 4"),
        ([1, 2], [1], "llegaron 2 elementos; se esperaba 1"),
        (7.4607901, 7.4607904, "se obtuvo 7.4607901 y se esperaba 7.4607904"),
        (UNO + 1e-8, UNO, "se obtuvo 1.00000001 y se esperaba 1"),
    ],
)
def test_la_primera_diferencia(obtenido, esperado, trozo):
    mensaje = diferencia(obtenido, esperado, Contexto(ejes=[["query", "key"]]))
    assert trozo in mensaje and len(mensaje) < 200


@pytest.mark.parametrize(
    ("obtenido", "esperado"),
    [
        (UNO + 1e-12, UNO),
        (2, 2.0),
        ([1, 2], (1, 2)),
        (T(2.0, dtype=torch.float64), 2.0),
        (2.0, T(2.0, dtype=torch.float64)),
        (T([1, 2]), [1, 2]),
        (NAN, NAN),
        (UNO * float("inf"), UNO * float("inf")),
        ("a ", "a"),
        (float("nan"), float("nan")),
        (T([1 + 1j]), T([1 + 1j])),
        ({}, {}),
    ],
)
def test_lo_equivalente_vale(obtenido, esperado):
    assert diferencia(obtenido, esperado, Contexto()) is None


def test_los_gradientes_se_nombran():
    bien = Contestacion("valor", UNO, [UNO], {"peso": UNO})
    sin = Contestacion("valor", UNO, [None], {"peso": UNO})
    mal = Contestacion("valor", UNO, [UNO], {"peso": UNO * 2})
    assert explica(bien, bien, Contexto()) is None
    assert "el gradiente de la entrada 1 no llega" in explica(sin, bien, Contexto())
    assert "el gradiente de peso: en [0, 0]" in explica(mal, bien, Contexto())
    nulo = Contestacion("valor", UNO, [UNO * 0], {"peso": UNO})
    assert explica(sin, nulo, Contexto()) is None and explica(nulo, sin, Contexto()) is None


def test_los_parametros_que_no_encajan_se_nombran():
    esperada = Contestacion("valor", UNO, tiene=(("a.weight", (2, 3)),))
    for tiene, trozo in (
        ((("b.weight", (2, 3)),), "falta el parámetro a.weight (2, 3); hay b.weight"),
        ((("a.weight", (3, 2)),), "el parámetro a.weight tiene forma (3, 2); se esperaba (2, 3)"),
        ((("a.weight", (2, 3)), ("b", (1,))), "sobra el parámetro b"),
    ):
        assert explica(Contestacion("estado", tiene=tiene), esperada, Contexto()) == trozo


def test_las_excepciones_previstas_cuentan():
    esperada = Contestacion("excepcion", tipo="ValueError")
    assert (
        explica(Contestacion("excepcion", tipo="ValueError", texto="otro"), esperada, Contexto())
        is None
    )
    assert "se esperaba que levantara ValueError" in explica(
        Contestacion("valor", 3), esperada, Contexto()
    )
    assert "TypeError en la línea 4" in explica(
        Contestacion("excepcion", tipo="TypeError", linea=4), esperada, Contexto()
    )
    assert iguales(esperada, esperada, Contexto(0)) and not iguales(
        esperada, Contestacion("valor", 3), Contexto(0)
    )


def test_una_constante_no_dice_la_respuesta():
    assert diferencia(3, 12345, Contexto(secreta=True)) == "3 no es la respuesta"


@pytest.mark.parametrize("relativa", [True, False])
def test_una_tolerancia_relativa_no_admite_error_absoluto(relativa):
    contexto = Contexto(1e-6, relativa=relativa)
    for obtenido, esperado in ((1.1e-8, 1e-8), (T([1.1e-8]), T([1e-8]))):
        assert (diferencia(obtenido, esperado, contexto) is None) != relativa
    assert diferencia(1e-8 * (1 + 1e-7), 1e-8, contexto) is None


def test_lo_que_no_se_puede_comparar_no_se_parece_a_nada():
    raro = Contestacion("valor", torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8))
    assert not iguales(raro, Contestacion("valor", UNO), Contexto())


def test_los_ejes_salen_de_la_anotacion():
    fuente = (
        "def f(x) -> tuple[Float[Tensor, 'query d'], Bool[Tensor, 'query key']]:\n    pass\n"
        "class M:\n    def forward(self) -> Float[Tensor, 'batch d']:\n        pass\n"
    )
    assert ejes_de(fuente, "f") == [["query", "d"], ["query", "key"]]
    assert ejes_de(fuente, "M") == [["batch", "d"]]
    assert ejes_de(fuente, "otra") == [] == ejes_de("def", "f")


def test_el_texto_ajeno_llega_limpio():
    assert limpia("a\x1b[31mb\u202ec\nd\x00") == "a [31mb c d"
    assert len(limpia("x" * 1000)) == 400
