"""Los marcos que cruzan la jaula: una cabecera, un JSON y un bloque de safetensors. Nunca pickle.

Un marco es ``longitud del JSON · longitud de los tensores · JSON · tensores``. Quien lo recibe
comprueba las dos longitudes antes de reservar memoria y valida con msgspec el JSON y la cabecera de
los tensores, antes de cargarlos. Los valores de Python viajan como un árbol etiquetado; lo que no
sea un número, una cadena, una colección o un tensor solo viaja como el nombre de su tipo, para
poder decir «llegó un ndarray».
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

CABECERA = struct.Struct(">II")
MAXIMO_JSON = 1 << 20
MAXIMO_TENSORES = 48 << 20
MAXIMO_CABECERA = 1 << 19
MAXIMO_CUANTOS = 4096
MAXIMO_PROFUNDIDAD = 24
MAXIMO_TEXTO = 20_000
MAXIMO_ELEMENTOS = 50_000
MAXIMO_CLAVES = 1024
MAXIMO_DICHO = 4000


class MarcoInvalido(Exception):
    """Llegó algo que no es un marco: se trata como una entrega que rompió el canal."""


@dataclass(frozen=True)
class Otro:
    """Un valor que no puede viajar; solo se conoce el nombre de su tipo."""

    tipo: str


# --- Lo que puede decir una entrega ---------------------------------------------------------------

Corto = Annotated[str, Meta(max_length=120)]
Indice = Annotated[int, Meta(ge=-1, lt=10**6)]
Medida = Annotated[int, Meta(ge=0, lt=1 << 40)]
Forma = Annotated[list[Medida], Meta(max_length=64)]


class Respuesta(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """Todo lo que cabe en una respuesta. Los árboles (``valor`` y los gradientes) los lee
    :func:`descodifica`.

    ``dicho``: lo que el código imprimió mientras se atendía la petición, solo si se pidió con
    ``con_texto``.
    """

    error: Literal["", "sintaxis", "excepcion", "estado", "grande"] = ""
    veto: Annotated[int, Meta(ge=-1, lt=64)] = -1
    definido: bool | None = None
    valor: Any = msgspec.UNSET
    grad_entradas: Any = msgspec.UNSET
    grad_parametros: Any = msgspec.UNSET
    tipo: Corto = ""
    celda: Indice = -1
    linea: Indice = 0
    texto: Annotated[str, Meta(max_length=400)] = ""
    tiene: Annotated[list[tuple[Corto, Forma]], Meta(max_length=100)] = []
    dicho: Annotated[str, Meta(max_length=MAXIMO_DICHO)] = ""


DTYPES = (
    "BOOL", "U8", "I8", "I16", "U16", "I32", "U32", "I64", "U64", "F16", "BF16", "F32", "F64",
)  # fmt: skip


class _Tensor(msgspec.Struct, forbid_unknown_fields=True):
    dtype: Literal[DTYPES]
    shape: Forma
    data_offsets: tuple[Medida, Medida]


_Cabecera = Annotated[dict[Corto, _Tensor], Meta(max_length=MAXIMO_CUANTOS)]
_lee_respuesta = msgspec.json.Decoder(Respuesta)
_lee_cabecera = msgspec.json.Decoder(_Cabecera)
_lee_peticion = msgspec.json.Decoder(dict[str, Any])


# --- Valores de Python <-> árbol etiquetado -------------------------------------------------------


def codifica(valor: Any, tensores: dict[str, Any], profundidad: int = 0) -> Any:
    """Convierte un valor en un árbol que cabe en JSON y deja los tensores en ``tensores``."""
    import torch

    if profundidad > MAXIMO_PROFUNDIDAD - 4:
        return {"otro": "una estructura demasiado profunda"}
    if valor is None or isinstance(valor, bool):
        return valor
    if isinstance(valor, torch.Tensor):
        return _codifica_tensor(valor, tensores)
    if isinstance(valor, int):
        return (
            {"int": str(int(valor))} if abs(int(valor)) < 10**300 else {"otro": "un entero enorme"}
        )
    if isinstance(valor, float):
        return {"float": float(valor).hex()}
    if isinstance(valor, Fraction):
        return _codifica_fraccion(valor)
    if isinstance(valor, str):
        return {"str": recorta(valor, MAXIMO_TEXTO)}
    if isinstance(valor, (list, tuple)):
        clave = "tuple" if isinstance(valor, tuple) else "list"
        return {
            clave: [codifica(v, tensores, profundidad + 1) for v in list(valor)[:MAXIMO_ELEMENTOS]]
        }
    if isinstance(valor, Mapping):
        pares = list(valor.items())[:MAXIMO_ELEMENTOS]
        return {"dict": [[codifica(x, tensores, profundidad + 1) for x in par] for par in pares]}
    if isinstance(valor, (set, frozenset)):
        return {"otro": "set"}
    if isinstance(valor, torch.dtype):
        return {"dtype": str(valor).removeprefix("torch.")}
    return _codifica_escalar_numpy(valor)


def _codifica_fraccion(valor: Fraction) -> Any:
    """Una fracción viaja como el número que es, si cabe."""
    try:
        return {"float": float(valor).hex()}
    except OverflowError:
        return {"otro": "una fracción enorme"}


def _codifica_escalar_numpy(valor: Any) -> Any:
    """Un escalar de numpy viaja como el número que es; lo demás, como el nombre de su tipo."""
    import numpy as np

    if isinstance(valor, np.bool_):
        return bool(valor)
    if isinstance(valor, np.integer):
        return {"int": str(int(valor))}
    if isinstance(valor, np.floating):
        return {"float": float(valor).hex()}
    return {"otro": recorta(type(valor).__name__, 80)}


def recorta(texto: Any, maximo: int) -> str:
    """Los primeros caracteres de un texto, sin los que UTF-8 no admite."""
    return str(texto)[:maximo].encode("utf-8", "replace").decode()


def _codifica_tensor(valor: Any, tensores: dict[str, Any]) -> Any:
    """Un tensor con datos viaja; uno sin datos, cuantizado o de un dtype sin igual en safetensors,
    dice qué es.
    """
    import torch

    dtype = str(valor.dtype).removeprefix("torch.")
    if len(tensores) >= MAXIMO_CUANTOS:
        return {"otro": "demasiados tensores"}
    if valor.is_quantized or valor.is_nested:
        return {"otro": f"un tensor {'cuantizado' if valor.is_quantized else 'anidado'} ({dtype})"}
    try:
        plano = valor.detach().to("cpu")
        if plano.layout != torch.strided:
            plano = plano.to_dense()
        if plano.dtype in (torch.complex64, torch.complex128):
            plano = torch.view_as_real(plano.resolve_conj())
        plano = plano.as_subclass(torch.Tensor).resolve_neg().contiguous().clone()
    except (RuntimeError, NotImplementedError, TypeError):
        propio = type(valor) in (torch.Tensor, torch.nn.Parameter)
        return {
            "otro": f"un tensor {dtype} sin datos" if propio else recorta(type(valor).__name__, 80)
        }
    if str(plano.dtype).removeprefix("torch.") not in _VIAJAN:
        return {"otro": f"un tensor {dtype}"}
    nombre = f"t{len(tensores)}"
    tensores[nombre] = plano
    return {"tensor": nombre, "dtype": dtype}


_VIAJAN = {
    "bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "float16", "bfloat16", "float32", "float64",
}  # fmt: skip


def descodifica(arbol: Any, tensores: Mapping[str, Any]) -> Any:
    """La inversa de :func:`codifica`, con desconfianza: todo lo que no encaja es
    ``MarcoInvalido``."""
    try:
        return _Lector(tensores).baja(arbol)
    except MarcoInvalido:
        raise
    except Exception as error:  # noqa: BLE001
        # frontera: nada de lo que mande una entrega rompe a quien corrige
        raise MarcoInvalido("un valor que no se entiende") from error


class _Lector:
    """Lee un árbol con un presupuesto de profundidad, de nodos y de claves (unas elegidas para
    chocar costarían).
    """

    def __init__(self, tensores: Mapping[str, Any]) -> None:
        self.tensores = tensores
        self.nodos = self.claves = 0

    def baja(self, arbol: Any, profundidad: int = 0) -> Any:
        self.nodos += 1
        if profundidad > MAXIMO_PROFUNDIDAD or self.nodos > 2 * MAXIMO_ELEMENTOS:
            raise MarcoInvalido("un valor demasiado profundo o con demasiadas partes")
        if arbol is None or isinstance(arbol, bool):
            return arbol
        if not isinstance(arbol, dict) or not arbol:
            raise MarcoInvalido("un valor sin etiqueta")
        if "tensor" in arbol:
            return _descodifica_tensor(arbol, self.tensores)
        etiqueta, contenido = next(iter(arbol.items()))
        if etiqueta in ("list", "tuple"):
            hijos = [self.baja(h, profundidad + 1) for h in contenido]
            return hijos if etiqueta == "list" else tuple(hijos)
        if etiqueta == "dict":
            return self._diccionario(contenido, profundidad + 1)
        return _HOJAS[etiqueta](contenido)

    def _diccionario(self, pares: list, profundidad: int) -> dict:
        self.claves += len(pares)
        if self.claves > MAXIMO_CLAVES:
            raise MarcoInvalido("un diccionario con demasiadas claves")
        hojas = {}
        for clave, valor in pares:
            leida = self.baja(clave, profundidad)
            admitida = isinstance(leida, (str, int, float, bool, tuple, type(None)))
            hojas[leida if admitida else str(leida)[:80]] = self.baja(valor, profundidad)
        return hojas


def _dtype(nombre: str) -> Any:
    import torch

    dtype = getattr(torch, str(nombre), None)
    return dtype if isinstance(dtype, torch.dtype) else Otro("dtype")


_HOJAS: dict[str, Callable[[Any], Any]] = {
    "int": lambda texto: int(texto[:302]),
    "float": lambda texto: float.fromhex(texto[:40]),
    "str": lambda texto: str(texto),
    "dtype": _dtype,
    "otro": lambda nombre: Otro(str(nombre)[:80]),
}


def _descodifica_tensor(arbol: dict, tensores: Mapping[str, Any]) -> Any:
    import torch

    tensor = tensores.get(arbol["tensor"]) if isinstance(arbol["tensor"], str) else None
    if tensor is None:
        raise MarcoInvalido("se nombra un tensor que no viaja")
    if str(arbol.get("dtype", "")).startswith("complex"):
        if (
            tensor.dim() == 0
            or tensor.shape[-1] != 2
            or tensor.dtype not in (torch.float32, torch.float64)
        ):
            raise MarcoInvalido("un complejo mal formado")
        return torch.view_as_complex(tensor)
    return tensor


# --- Marcos ---------------------------------------------------------------------------------------


def empaqueta(mensaje: Mapping[str, Any], tensores: Mapping[str, Any] | None = None) -> bytes:
    """Un marco listo para escribir en la tubería. ``MarcoInvalido`` si no cabe o si algo de él no
    puede viajar.
    """
    try:
        texto = msgspec.json.encode(mensaje)
        bloque = _empaqueta_tensores(tensores) if tensores else b""
    except MarcoInvalido:
        raise
    except Exception as error:  # noqa: BLE001 - frontera: lo devuelto puede ser de cualquier tipo
        raise MarcoInvalido(f"algo que no puede viajar ({type(error).__name__})") from error
    if len(texto) > MAXIMO_JSON or len(bloque) > MAXIMO_TENSORES:
        raise MarcoInvalido("un marco demasiado grande")
    return CABECERA.pack(len(texto), len(bloque)) + texto + bloque


def _empaqueta_tensores(tensores: Mapping[str, Any]) -> bytes:
    import safetensors.torch

    if len(tensores) > MAXIMO_CUANTOS or sum(t.nbytes for t in tensores.values()) > MAXIMO_TENSORES:
        raise MarcoInvalido("un marco demasiado grande")
    return safetensors.torch.save(dict(tensores))


def lee_bloques(lee: Callable[[int], bytes]) -> tuple[bytes, bytes]:
    """Los dos bloques de un marco, sin interpretar; ``lee(n)`` devuelve exactamente n bytes o
    levanta algo.
    """
    largo, tensores = CABECERA.unpack(lee(CABECERA.size))
    if largo > MAXIMO_JSON or tensores > MAXIMO_TENSORES:
        raise MarcoInvalido("se anuncia un marco demasiado grande")
    return lee(largo), lee(tensores)


def desempaqueta_respuesta(lee: Callable[[int], bytes]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Lo que contesta una entrega, validado antes de usar nada. Lo inesperado es
    ``MarcoInvalido``."""
    texto, bloque = lee_bloques(lee)
    try:
        return msgspec.to_builtins(_lee_respuesta.decode(texto)), _lee_tensores(bloque)
    except MarcoInvalido:
        raise
    except Exception as error:  # noqa: BLE001 - frontera: ver descodifica
        raise MarcoInvalido("una respuesta que no se entiende") from error


def desempaqueta_peticion(lee: Callable[[int], bytes]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Lo que pregunta el padre, de quien la entrega se fía."""
    texto, bloque = lee_bloques(lee)
    return _lee_peticion.decode(texto), _lee_tensores(bloque)


def _lee_tensores(bloque: bytes) -> dict[str, Any]:
    """Carga un bloque de safetensors después de comprobar su cabecera: cuántos, de qué dtype y de
    qué tamaño.
    """
    if not bloque:
        return {}
    import safetensors.torch

    largo = int.from_bytes(bloque[:8], "little")
    if len(bloque) < 8 or largo > min(MAXIMO_CABECERA, len(bloque) - 8):
        raise MarcoInvalido("unos tensores con una cabecera demasiado grande")
    _lee_cabecera.decode(bloque[8 : 8 + largo])
    return safetensors.torch.load(bloque)
