"""Los marcos: ida y vuelta exactas, y todo lo que no es un marco se rechaza sin daño."""

from __future__ import annotations

import io
import math
import time
from fractions import Fraction

import pytest
import torch

from calificador.jaula import marcos


def ida_y_vuelta(valor):
    tensores = {}
    arbol = marcos.codifica(valor, tensores)
    marco = marcos.empaqueta({"valor": arbol}, tensores)
    flujo = io.BytesIO(marco)
    mensaje, leidos = marcos.desempaqueta_respuesta(flujo.read)
    return marcos.descodifica(mensaje["valor"], leidos)


@pytest.mark.parametrize(
    "valor",
    [
        None,
        True,
        0,
        -(10**40),
        0.1,
        math.inf,
        "añ\n\x00",
        [],
        (1, [2.5, (None,)]),
        {"a": 1, 2: (3,)},
        torch.float32,
    ],
)
def test_los_valores_vuelven_iguales(valor):
    vuelto = ida_y_vuelta(valor)
    assert vuelto == valor and type(vuelto) is type(valor)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.randn(2, 3, dtype=torch.float64),
        torch.zeros(0, 3),
        torch.tensor(1.5),
        torch.arange(6).reshape(2, 3).T,
        torch.tensor([True, False]),
        torch.randn(2, dtype=torch.complex128),
        torch.ones(3).expand(2, 3),
        torch.eye(3).to_sparse(),
        torch.randn(3, requires_grad=True),
        torch.ones(2, dtype=torch.bfloat16),
    ],
    ids=range(10),
)
def test_los_tensores_vuelven_iguales(tensor):
    vuelto = ida_y_vuelta(tensor)
    assert vuelto.dtype == tensor.dtype and vuelto.shape == tensor.shape
    assert torch.equal(
        vuelto, tensor.detach().to_dense() if tensor.layout != torch.strided else tensor.detach()
    )


def test_una_fraccion_viaja_como_el_numero_que_es():
    assert ida_y_vuelta({"x": Fraction(-3, 20)}) == {"x": -0.15}
    assert ida_y_vuelta(Fraction(10**400)) == marcos.Otro("una fracción enorme")


def test_lo_que_no_viaja_solo_dice_su_tipo():
    assert ida_y_vuelta(object()) == marcos.Otro("object")
    assert ida_y_vuelta(torch.empty(2, device="meta")) == marcos.Otro("un tensor float32 sin datos")
    assert math.isnan(ida_y_vuelta(math.nan))


def test_dos_tensores_que_comparten_memoria_viajan_los_dos():
    uno = torch.randn(4)
    a, b = ida_y_vuelta((uno, uno[1:]))
    assert torch.equal(a, uno) and torch.equal(b, uno[1:])


CABEZA = marcos.CABECERA.pack
SAFE = (len(b'{"t":{"dtype":"F64","shape":[9],"data_offsets":[0,8]}}')).to_bytes(8, "little")


@pytest.mark.parametrize(
    "bytes_",
    [
        CABEZA(2**32 - 1, 0), CABEZA(10, 2**32 - 1), CABEZA(3, 0) + b"nop", CABEZA(2, 0) + b"[]",
        CABEZA(4, 0) + b"\xff\xfe\x00\x01",
        CABEZA(200_000, 0) + b"[" * 200_000, CABEZA(2, 8) + b"{}" + b"\xff" * 8,
        CABEZA(2, 62) + b"{}" + SAFE + b'{"t":{"dtype":"F64","shape":[9],"data_offsets":[0,8]}}',
        CABEZA(5000, 0) + b"1" * 5000,
    ],
    ids=range(9),
)  # fmt: skip
def test_un_marco_falso_se_rechaza(bytes_):
    flujo = io.BytesIO(bytes_)
    with pytest.raises(marcos.MarcoInvalido):
        marcos.desempaqueta_respuesta(flujo.read)


@pytest.mark.parametrize(
    "arbol",
    [
        [],
        {},
        3,
        "x",
        {"raro": 1},
        {"int": "x"},
        {"float": "x"},
        {"tensor": "t9"},
        {"tensor": ["t0"]},
        {"list": 3},
        {"dict": [[1]]},
        {"dict": [[{"list": []}]]},
        {"int": None},
        {"float": "0x1p99999"},
        {"tensor": "t0", "dtype": "complex64"},
    ],
    ids=str,
)
def test_un_arbol_falso_se_rechaza(arbol):
    with pytest.raises(marcos.MarcoInvalido):
        marcos.descodifica(arbol, {"t0": torch.ones(3)})


def test_la_profundidad_tiene_tope():
    arbol = None
    for _ in range(500):
        arbol = {"list": [arbol]}
    with pytest.raises(marcos.MarcoInvalido):
        marcos.descodifica(arbol, {})
    profundo = []
    for _ in range(500):
        profundo = [profundo]
    assert ida_y_vuelta(profundo)


def test_lo_demasiado_grande_no_se_manda():
    with pytest.raises(marcos.MarcoInvalido):
        marcos.empaqueta({"x": "a" * (marcos.MAXIMO_JSON + 1)})


def _safetensors(cabecera: bytes, datos: bytes = b"") -> bytes:
    return len(cabecera).to_bytes(8, "little") + cabecera + datos


UN_MILLON = (
    b"{"
    + b",".join(b'"%x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}' % i for i in range(700_000))
    + b"}"
)
CINCO_MIL = (
    b"{"
    + b",".join(b'"%x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}' % i for i in range(5000))
    + b"}"
)


@pytest.mark.parametrize(
    ("texto", "bloque"),
    [
        (b'{"error":"estado","tiene":[["a",[1e999]]]}', b""),
        (b'{"error":"estado","tiene":[["a",[Infinity]]]}', b""),
        (b'{"error":"estado","tiene":[["a",[-1]]]}', b""),
        (b'{"error":"otra cosa"}', b""),
        (b'{"valor":null,"puntos":4}', b""),
        (b'{"definido":"si"}', b""),
        (b'{"linea":99999999999}', b""),
        (b'{"valor":null}', _safetensors(UN_MILLON)),
        (b'{"valor":null}', _safetensors(CINCO_MIL)),
        (
            b'{"valor":null}',
            _safetensors(b'{"t0":{"dtype":"F64","shape":[-1],"data_offsets":[0,8]}}', bytes(8)),
        ),
        (
            b'{"valor":null}',
            _safetensors(b'{"t0":{"dtype":"F99","shape":[1],"data_offsets":[0,8]}}', bytes(8)),
        ),
        (b'{"valor":null}', b"\x00"),
    ],
    ids=range(12),
)
def test_una_respuesta_imprevista_se_rechaza_antes_de_cargarla(texto, bloque, sin_lastre):
    antes = time.process_time()
    with pytest.raises(marcos.MarcoInvalido):
        marcos.desempaqueta_respuesta(
            io.BytesIO(CABEZA(len(texto), len(bloque)) + texto + bloque).read
        )
    assert time.process_time() - antes < 1


@pytest.mark.parametrize(
    "arbol",
    [
        {"tensor": "b", "dtype": "complex64"},
        {"dict": [[{"int": str(i * (2**61 - 1))}, None] for i in range(20_000)]},
        {"list": [None] * 200_000},
        {"list": [{"dict": [[{"int": str(i)}, None] for i in range(1000)]} for _ in range(30)]},
        {"int": ["1"]}, {"dtype": {}}, {"tensor": {}},
    ],
    ids=["BF16", "claves que chocan", "ancho", "muchas claves", "int", "dtype", "tensor"],
)  # fmt: skip
def test_un_arbol_imprevisto_se_rechaza_pronto(arbol, sin_lastre):
    antes = time.process_time()
    try:
        valor = marcos.descodifica(arbol, {"b": torch.ones(2, dtype=torch.bfloat16)})
    except marcos.MarcoInvalido:
        valor = None
    assert valor is None or valor == marcos.Otro("dtype")
    assert time.process_time() - antes < 1


@pytest.mark.parametrize(
    ("hace", "dice"),
    [
        (
            lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8),
            "un tensor cuantizado (quint8)",
        ),
        (lambda: torch.ones(2).to(torch.float8_e5m2), "un tensor float8_e5m2"),
        (lambda: torch.ones(2, dtype=torch.complex32), "un tensor complex32"),
        (
            lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
            "un tensor anidado (float32)",
        ),
        (lambda: type("\u00f1" * 300, (), {})(), "\u00f1" * 80),
    ],
    ids=["cuantizado", "float8", "complex32", "anidado", "nombre largo"],
)
@pytest.mark.filterwarnings("ignore")
def test_lo_raro_dice_su_tipo(hace, dice):
    assert ida_y_vuelta(hace()) == marcos.Otro(dice)
