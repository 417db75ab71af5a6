"""Los marcos que cruzan la jaula: una cabecera, un JSON y un bloque de safetensors. Nunca pickle.

Un marco es ``longitud del JSON · longitud de los tensores · JSON · tensores``. Quien lo recibe comprueba las dos
longitudes antes de reservar memoria, la profundidad del JSON y el número de tensores. Los valores de Python
viajan como un árbol etiquetado; lo que no sea un número, una cadena, una colección o un tensor solo viaja como el
nombre de su tipo, para poder decir «llegó un ndarray».
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

CABECERA = struct.Struct(">II")
MAXIMO_JSON = 1 << 20
MAXIMO_TENSORES = 48 << 20
MAXIMO_CUANTOS = 4096
MAXIMO_PROFUNDIDAD = 24
MAXIMO_TEXTO = 20_000
MAXIMO_ELEMENTOS = 50_000


class MarcoInvalido(Exception):
    """Llegó algo que no es un marco: se trata como una entrega que rompió el canal."""


@dataclass(frozen=True)
class Otro:
    """Un valor que no puede viajar; solo se conoce el nombre de su tipo."""

    tipo: str


# --- Valores de Python <-> árbol etiquetado --------------------------------------------------------------------


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
        return {"int": str(int(valor))} if abs(int(valor)) < 10**300 else {"otro": "un entero enorme"}
    if isinstance(valor, float):
        return {"float": float(valor).hex()}
    if isinstance(valor, str):
        return {"str": valor[:MAXIMO_TEXTO].encode("utf-8", "replace").decode()}
    if isinstance(valor, (list, tuple)):
        clave = "tuple" if isinstance(valor, tuple) else "list"
        return {clave: [codifica(v, tensores, profundidad + 1) for v in list(valor)[:MAXIMO_ELEMENTOS]]}
    if isinstance(valor, Mapping):
        pares = list(valor.items())[:MAXIMO_ELEMENTOS]
        return {"dict": [[codifica(x, tensores, profundidad + 1) for x in par] for par in pares]}
    if isinstance(valor, (set, frozenset)):
        return {"otro": "set"}
    if isinstance(valor, torch.dtype):
        return {"dtype": str(valor).removeprefix("torch.")}
    return _codifica_escalar_numpy(valor)


def _codifica_escalar_numpy(valor: Any) -> Any:
    """Un escalar de numpy viaja como el número que es; lo demás, como el nombre de su tipo."""
    import numpy as np

    if isinstance(valor, np.bool_):
        return bool(valor)
    if isinstance(valor, np.integer):
        return {"int": str(int(valor))}
    if isinstance(valor, np.floating):
        return {"float": float(valor).hex()}
    return {"otro": type(valor).__name__[:80]}


def _codifica_tensor(valor: Any, tensores: dict[str, Any]) -> Any:
    import torch

    dtype = str(valor.dtype).removeprefix("torch.")
    try:
        plano = valor.detach().to("cpu")
        if plano.layout != torch.strided:
            plano = plano.to_dense()
        if plano.is_complex():
            plano = torch.view_as_real(plano.resolve_conj())
        nombre = f"t{len(tensores)}"
        tensores[nombre] = plano.as_subclass(torch.Tensor).contiguous().clone()
    except (RuntimeError, NotImplementedError, TypeError):
        return {"otro": f"un tensor {dtype} sin datos"}
    return {"tensor": nombre, "dtype": dtype}


def descodifica(arbol: Any, tensores: Mapping[str, Any], profundidad: int = 0) -> Any:
    """La inversa de :func:`codifica`, con desconfianza: todo lo que no encaja es ``MarcoInvalido``."""
    if profundidad > MAXIMO_PROFUNDIDAD:
        raise MarcoInvalido("JSON demasiado profundo")
    if arbol is None or isinstance(arbol, bool):
        return arbol
    if not isinstance(arbol, dict) or not arbol:
        raise MarcoInvalido("un valor sin etiqueta")
    if "tensor" in arbol:
        return _descodifica_tensor(arbol, tensores)
    etiqueta, contenido = next(iter(arbol.items()))
    try:
        return _LECTORES[etiqueta](contenido, lambda hijo: descodifica(hijo, tensores, profundidad + 1))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise MarcoInvalido("un valor que no se entiende") from error


def _diccionario(pares: list, baja: Callable) -> dict:
    hojas = {}
    for clave, valor in pares:
        leida = baja(clave)
        hojas[leida if isinstance(leida, (str, int, float, bool, tuple, type(None))) else str(leida)] = baja(valor)
    return hojas


def _dtype(nombre: str, _: Callable) -> Any:
    import torch

    dtype = getattr(torch, str(nombre), None)
    return dtype if isinstance(dtype, torch.dtype) else Otro("dtype")


_LECTORES: dict[str, Callable[[Any, Callable], Any]] = {
    "int": lambda texto, _: int(texto[:302]),
    "float": lambda texto, _: float.fromhex(texto),
    "str": lambda texto, _: str(texto),
    "list": lambda hijos, baja: [baja(h) for h in hijos],
    "tuple": lambda hijos, baja: tuple(baja(h) for h in hijos),
    "dict": _diccionario,
    "dtype": _dtype,
    "otro": lambda nombre, _: Otro(str(nombre)[:80]),
}


def _descodifica_tensor(arbol: dict, tensores: Mapping[str, Any]) -> Any:
    import torch

    tensor = tensores.get(arbol["tensor"]) if isinstance(arbol["tensor"], str) else None
    if tensor is None:
        raise MarcoInvalido("se nombra un tensor que no viaja")
    if str(arbol.get("dtype", "")).startswith("complex"):
        if tensor.dim() == 0 or tensor.shape[-1] != 2 or not tensor.is_floating_point():
            raise MarcoInvalido("un complejo mal formado")
        return torch.view_as_complex(tensor)
    return tensor


# --- Marcos ------------------------------------------------------------------------------------------------------


def empaqueta(mensaje: Mapping[str, Any], tensores: Mapping[str, Any] | None = None) -> bytes:
    """Un marco listo para escribir en la tubería."""
    import safetensors.torch

    texto = json.dumps(mensaje, ensure_ascii=True, allow_nan=False).encode()
    bloque = safetensors.torch.save(dict(tensores)) if tensores else b""
    if len(texto) > MAXIMO_JSON or len(bloque) > MAXIMO_TENSORES:
        raise MarcoInvalido("la respuesta es demasiado grande")
    return CABECERA.pack(len(texto), len(bloque)) + texto + bloque


def desempaqueta(lee: Callable[[int], bytes]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Lee un marco con ``lee(n)``, que devuelve exactamente n bytes o levanta una excepción."""
    largo, tensores = CABECERA.unpack(lee(CABECERA.size))
    if largo > MAXIMO_JSON or tensores > MAXIMO_TENSORES:
        raise MarcoInvalido("se anuncia un marco demasiado grande")
    texto = lee(largo)
    bloque = lee(tensores)
    return _lee_json(texto), _lee_tensores(bloque)


def _lee_json(texto: bytes) -> dict[str, Any]:
    try:
        mensaje = json.loads(texto)
    except (ValueError, RecursionError) as error:
        raise MarcoInvalido("un JSON que no se entiende") from error
    if not isinstance(mensaje, dict):
        raise MarcoInvalido("un mensaje que no es un objeto")
    return mensaje


def _lee_tensores(bloque: bytes) -> dict[str, Any]:
    import safetensors
    import safetensors.torch

    if not bloque:
        return {}
    try:
        tensores = safetensors.torch.load(bloque)
    except (safetensors.SafetensorError, KeyError, ValueError, RuntimeError, TypeError, MemoryError) as error:
        raise MarcoInvalido("unos tensores que no se entienden") from error
    if len(tensores) > MAXIMO_CUANTOS:
        raise MarcoInvalido("demasiados tensores")
    return tensores
