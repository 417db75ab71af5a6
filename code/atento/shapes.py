"""Piso 1: las formas forman parte de la firma.

Las funciones públicas de :mod:`atento` anotan sus tensores con jaxtyping
(``Float[Tensor, "*batch query d_head"]``) y validan sus argumentos siempre. Además, con el
interruptor encendido (:func:`enable`, :func:`checked`), el decorador :func:`typed` comprueba en
cada llamada que todos los ejes con el mismo nombre miden lo mismo, también en el resultado.

Todos los mensajes tienen la misma hechura: el argumento, lo que se esperaba y lo que llegó.
"""

import functools
import inspect
import math
import re
import types as _types
import typing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from beartype import beartype
from jaxtyping import AbstractArray, TypeCheckError, jaxtyped
from torch import Tensor
from torch._C import _functorch
from torch._subclasses.fake_tensor import FakeTensor

AXES = {
    "batch": "ejes de lote (muestras independientes)",
    "query": "posiciones que preguntan (consultas)",
    "key": "posiciones consultadas (claves y valores)",
    "head": "cabezas de atención",
    "d_model": "anchura del modelo",
    "d_head": "anchura de una cabeza",
    "d_ff": "anchura interna de la red densa por posición",
    "vocab": "tamaño del vocabulario",
}
"""El alfabeto de ejes del libro: nombre y significado."""


FOREIGN = {
    "attn_mask": "mask (booleana; True permite atender)",
    "key_padding_mask": "mask=masks.padding_mask(ids) (booleana; True permite atender)",
    "is_causal": "causal=True en fused_attention, y mask=masks.causal_mask(n) en las demás",
    "dropout_p": "dropout",
    "enable_gqa": "n_kv_heads en MultiHeadAttention",
    "average_attn_weights": "need_weights=True y después weights.mean(dim=-3)",
    "embed_dim": "d_model",
    "num_heads": "n_heads",
    "num_kv_heads": "n_kv_heads",
    "batch_first": "nada: el lote va siempre delante",
    "kdim": "nada: las claves miden d_model",
    "vdim": "nada: los valores miden d_model",
    "input_size": "d_input",
    "hidden_size": "d_hidden",
    "hx": "state",
}
"""Los nombres de PyTorch, y cómo se llama aquí lo mismo."""


# --- El interruptor -------------------------------------------------------------------------------

_enabled = False


def enable() -> None:
    """Enciende la comprobación de formas para las llamadas que vengan después."""
    global _enabled
    _enabled = True


def disable() -> None:
    """Apaga la comprobación de formas (las validaciones de la entrada siguen activas)."""
    global _enabled
    _enabled = False


def is_enabled() -> bool:
    """Dice si la comprobación de formas está encendida."""
    return _enabled


@contextmanager
def checked(active: bool = True) -> Iterator[None]:
    """Enciende (o apaga, con ``active=False``) la comprobación dentro de un ``with``."""
    global _enabled
    previous, _enabled = _enabled, active
    try:
        yield
    finally:
        _enabled = previous


_trusting = False


@contextmanager
def trusted(active: bool = True) -> Iterator[None]:
    """Abre, dentro de un ``with``, las puertas de las piezas de un modelo que ya las ha pasado.

    Al generar, un paso llama a las mismas piezas con las mismas formas miles de veces: basta mirar
    el primero. Con la comprobación de formas encendida no se abre nada.
    """
    global _trusting
    previous, _trusting = _trusting, active
    try:
        yield
    finally:
        _trusting = previous


def typed(function: Callable | None = None, *, validate: Callable | None = None) -> Callable:
    """Decora una función con jaxtyping y beartype, con un interruptor que se mira en cada llamada.

    Apagada, la función se llama tal cual. ``validate``, si se da, recibe los mismos argumentos y se
    ejecuta siempre y antes, encendida o no. La función sin puerta queda en ``.unchecked``, para
    quien ya ha validado lo que pasa.

    Errores, en español y nombrando el argumento, lo que llegó y lo que se esperaba: ``TypeError``
    si lleva su nombre de PyTorch; con la comprobación encendida, también si llega algo que no es un
    tensor o es de otro tipo, y ``ValueError`` si falla un eje. Del que falta, sobra o llega doble
    habla Python.
    """
    if function is None:
        return functools.partial(typed, validate=validate)
    _resolve_annotations(function)
    strict = jaxtyped(typechecker=beartype)(function)

    @functools.wraps(function)
    def guarded(*args, **kwargs):
        if _trusting and not _enabled:
            return function(*args, **kwargs)
        try:
            if validate is not None:
                validate(*args, **kwargs)
            if not _enabled or torch.compiler.is_compiling():  # al compilar no hay formas que mirar
                return function(*args, **kwargs)
            return strict(*args, **kwargs)
        except TypeCheckError as error:
            violation = _in_spanish(function, args, kwargs, str(error))
        except TypeError:
            violation = _unbound(function, args, kwargs)
            if violation is None:
                raise
        raise violation from None

    call: Any = guarded
    call.unchecked = function
    return call


def _resolve_annotations(function: Callable) -> None:
    """Convierte en tipos las anotaciones que ``from __future__ import annotations`` dejó."""
    if any(isinstance(hint, str) for hint in function.__annotations__.values()):
        function.__annotations__ = typing.get_type_hints(function, include_extras=True)


def _unbound(function: Callable, args: tuple, kwargs: dict) -> TypeError | None:
    """El error de una llamada que no casa con la firma; ``None`` si casa y falló otra cosa."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        strange = [name for name in kwargs if name in FOREIGN and name not in signature.parameters]
        if strange:
            title = function.__qualname__.split("<locals>.")[-1].removesuffix(".__init__")
            name = strange[0]
            return TypeError(f"{name}: así se llama en PyTorch; en {title}, {FOREIGN[name]}.")
        try:
            function(*args, **kwargs)  # la rechaza Python, con el nombre de la función
        except TypeError as error:
            return error
    return None


# --- La violación, en español ---------------------------------------------------------------------


def _in_spanish(function: Callable, args: tuple, kwargs: dict, report: str) -> Exception:
    arguments = inspect.signature(function).bind(*args, **kwargs).arguments
    sizes: dict[str, tuple[object, str]] = {}
    for name, value in arguments.items():
        error = _argument_error(name, value, function.__annotations__.get(name), sizes)
        if error is not None:
            return type(error)(f"{function.__name__}: {error}")
    return _unexplained(function, report)


def _argument_error(name: str, value: object, hint: object, sizes: dict) -> Exception | None:
    """Devuelve el error de un argumento, o ``None``; anota en ``sizes`` lo que mide cada eje."""
    options = typing.get_args(hint) if _is_union(hint) else (hint,)
    arrays = [option for option in options if _is_array(option)]
    if len(arrays) != 1 or (value is None and type(None) in options):
        return None
    (array,) = arrays
    expected = f"{array.dtype.__name__}[{array.dim_str}]"
    if not isinstance(value, Tensor):
        return TypeError(f"{name}: se esperaba un tensor {expected}; llegó {type(value).__name__}.")
    if not _has_dtype(value, array):
        return TypeError(f"{name}: se esperaba el tipo {expected}; llegó {_dtype(value)}.")
    return _shape_error(name, value, array.dim_str, sizes)


def _shape_error(name: str, value: Tensor, dim_str: str, sizes: dict) -> ValueError | None:
    axes = dim_str.split()
    shape: tuple[Any, ...] = tuple(value.shape)
    variadic = next((i for i, axis in enumerate(axes) if axis[0] in "*." or axis[:2] == "#*"), None)
    fixed = len(axes) - (variadic is not None)
    if len(shape) < fixed or (variadic is None and len(shape) != fixed):
        return ValueError(f"{name}: se esperaban los ejes ({', '.join(axes)}); llegó {shape}.")
    if variadic is not None:
        extra = len(shape) - fixed
        middle = shape[variadic : variadic + extra]
        shape = (*shape[:variadic], middle, *shape[variadic + extra :])
    for axis, size in zip(axes, shape, strict=True):
        error = _axis_error(name, axis, size, tuple(value.shape), sizes)
        if error is not None:
            return error
    return None


def _axis_error(name: str, axis: str, size: object, shape: tuple, sizes: dict) -> ValueError | None:
    label = axis.split("=")[-1].lstrip("*")
    if label.startswith(("#", "_", ".")):
        return None  # ejes que se difunden o no se comprueban
    if label.isdecimal():
        known, origin = int(label), "la firma"
    else:
        known, origin = sizes.setdefault(label, (size, name))
    if known == size:
        return None
    meaning = f" ({AXES[label]})" if label in AXES else ""
    return ValueError(
        f"{name}: el eje «{label}»{meaning} mide {size}, pero según {origin} debe medir {known}; "
        f"llegó la forma {shape}."
    )


def _unexplained(function: Callable, report: str) -> Exception:
    """El error de lo que no es un tensor de un solo tipo: el resultado, un número, una tupla…"""
    result = re.search(r"return value", report) is not None
    parameter = re.search(r"parameter '(\w+)'", report)
    actual = re.search(r"Actual value: (.*)", report)
    expected = re.search(r"Expected type: (.*)", report)
    subject = parameter.group(1) if parameter else "el resultado"
    wanted = expected.group(1).rstrip(".") if expected else "otro tipo"
    wanted = re.sub(r"<class '(.*)'>", r"\1", wanted)
    came = actual.group(1) if actual else "algo que no lo cumple"
    kind = ValueError if result else TypeError
    return kind(f"{function.__name__}: {subject}: se esperaba {wanted}; llegó {came}.")


def _is_union(hint: object) -> bool:
    return typing.get_origin(hint) in (typing.Union, _types.UnionType)


def _is_array(hint: object) -> bool:
    return isinstance(hint, type) and issubclass(hint, AbstractArray)


def _has_dtype(value: Tensor, array: Any) -> bool:
    return not isinstance(array.dtypes, (list, tuple)) or _dtype(value) in array.dtypes


# --- Validadores comunes --------------------------------------------------------------------------


def _dtype(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def require_tensor(value: Tensor, *, name: str) -> None:
    """Lanza ``TypeError`` si ``value`` no es un tensor de PyTorch."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{name}: se esperaba un tensor de PyTorch; llegó {type(value).__name__}. "
            f"Conviértelo con torch.as_tensor({name})."
        )


def require_floating(value: Tensor, *, name: str) -> None:
    """Lanza ``TypeError`` si ``value`` no es un tensor de coma flotante (sin complejos)."""
    require_tensor(value, name=name)
    if not value.is_floating_point():
        raise TypeError(
            f"{name}: se esperaba un tensor de coma flotante; llegó {_dtype(value)}. "
            f"Conviértelo con {name}.float()."
        )


def require_integer(value: Tensor, *, name: str) -> None:
    """Lanza ``TypeError`` si ``value`` no es un tensor de enteros."""
    require_tensor(value, name=name)
    if value.is_floating_point() or value.is_complex() or value.dtype == torch.bool:
        raise TypeError(
            f"{name}: se esperaba un tensor de enteros; llegó {_dtype(value)}. "
            f"Conviértelo con {name}.long()."
        )


def require_boolean(value: Tensor, *, name: str) -> None:
    """Lanza ``TypeError`` si ``value`` no es una máscara booleana, y recuerda la polaridad."""
    require_tensor(value, name=name)
    if value.dtype != torch.bool:
        raise TypeError(
            f"{name}: se esperaba una máscara booleana, con True donde se puede atender; llegó "
            f"{_dtype(value)}. Si es de unos (atender) y ceros (tapar), usa {name}.bool(); si es "
            f"aditiva, de ceros y -inf, usa {name} == 0."
        )


def require_finite(value: Tensor, *, name: str) -> None:
    """Lanza ``ValueError`` si ``value`` contiene NaN o infinitos.

    Cuesta una suma: si la suma es finita, todos los elementos lo son; solo si no lo es se miran uno
    a uno (una suma de números finitos puede desbordar). Dentro de ``vmap``, de ``torch.compile`` o
    con tensores sin datos no se puede mirar el contenido, y no se mira.
    """
    if not is_readable(value) or math.isfinite(value.detach().sum().item()):
        return
    nans, infinities = int(value.isnan().sum()), int(value.isinf().sum())
    if nans or infinities:
        raise ValueError(
            f"{name}: se esperaban números finitos; llegaron {nans} NaN y {infinities} infinitos "
            f"entre {value.numel()} elementos. Busca el paso anterior que los produjo."
        )


def is_readable(value: Tensor) -> bool:
    """Dice si se puede mirar el contenido: no dentro de ``vmap`` ni de ``torch.compile``."""
    if torch.compiler.is_compiling() or value.is_meta or isinstance(value, FakeTensor):
        return False
    while _functorch.is_functorch_wrapped_tensor(value):  # vmap(grad(f)) envuelve dos veces
        if _functorch.is_batchedtensor(value):
            return False
        value = _functorch.get_unwrapped(value)
    return True


def is_plain(value: Tensor) -> bool:
    """Dice si es un tensor corriente: se puede mirar, y ``torch.func`` no lo ha envuelto.

    Lo guardado de uno envuelto no serviría fuera de la transformación. Se pregunta lo último,
    porque al compilar no se puede.
    """
    return is_readable(value) and not _functorch.is_functorch_wrapped_tensor(value)


def require_same_kind(value: Tensor, reference: Tensor, *, name: str, reference_name: str) -> None:
    """Lanza ``TypeError`` si difiere el tipo de datos y ``ValueError`` si el dispositivo.

    Con ``torch.autocast`` el tipo lo pone PyTorch, y no se mira.
    """
    if value.dtype != reference.dtype and not _autocast(value):
        raise TypeError(
            f"{name}: se esperaba {_dtype(reference)}, como {reference_name}; llegó "
            f"{_dtype(value)}."
        )
    if value.device != reference.device:
        raise ValueError(
            f"{name}: se esperaba en {reference.device}, como {reference_name}; está en "
            f"{value.device}. Muévelo con {name}.to({reference_name}.device)."
        )


def _autocast(value: Tensor) -> bool:
    kind = value.device.type
    return torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)


def require_broadcastable(value: Tensor, shape: Sequence[int], *, name: str, axes: str) -> None:
    """Lanza ``ValueError`` si ``value`` no se difunde hasta ``shape``, de ejes ``axes``."""
    came, goal = tuple(value.shape), tuple(shape)
    tail = goal[len(goal) - len(came) :]
    if len(came) > len(goal) or any(c not in (1, g) for c, g in zip(came, tail, strict=True)):
        raise ValueError(
            f"{name}: se esperaba una forma que se difunda hasta {axes} = {goal}; llegó {came}. "
            "De derecha a izquierda, cada eje debe coincidir o valer 1."
        )


def require_axis(value: Tensor, axis: int, size: int, *, name: str, label: str, like: str) -> None:
    """Lanza ``ValueError`` si el eje ``axis`` de ``value``, llamado ``label``, no mide ``size``."""
    if value.ndim == 0:
        raise ValueError(
            f"{name}: se esperaba el eje «{label}», de {size}; llegó un número suelto."
        )
    if value.shape[axis] != size:
        raise ValueError(
            f"{name}: el eje «{label}» mide {value.shape[axis]}, pero según {like} debe "
            f"medir {size}; llegó la forma {tuple(value.shape)}."
        )
