"""Piso 1: las llamadas que no salen bien, contadas en español.

Python rechaza en inglés la llamada a la que le falta un argumento o le sobra, y PyTorch, muy
adentro, la que trae otra cosa de la esperada. Cada módulo termina con ``calls.explain(__name__)``:
sus funciones, constructores y métodos públicos quedan con la misma firma y el mismo código, y solo
si fallan se mira por qué. Mientras todo va bien no se comprueba nada; lo que cuesta es una llamada
más de Python.

Solo se culpa a un argumento si la firma lo rechaza o si no es, ni de lejos, lo que dice su
anotación; cualquier otro error pasa tal cual.
"""

import abc
import contextlib
import functools
import inspect
import numbers
import re
import sys
import types
import typing
import weakref
from collections.abc import Callable, Iterator

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

DOORS = ("require_", "is_enabled", "is_readable", "is_plain")
"""Las puertas: la propia biblioteca las llama en cada paso, y no se paga por explicarlas."""

_SPOKEN = re.compile(r"[\w.\[\]]+(?: \(nuevo\))?: |falta `|`\S+` ")  # así empieza lo ya explicado
_DONE: weakref.WeakSet[type] = weakref.WeakSet()


# --- Ponerse delante ------------------------------------------------------------------------------


def explain(module_name: str) -> None:
    """Pone en español los rechazos de todo lo público que define un módulo; es su última línea.

    Cada función queda en ``__wrapped__`` de la que la sustituye: la firma, el código fuente y el
    nombre son los suyos. Lo decorado con :func:`atento.shapes.typed` ya se explica y no se toca;
    tampoco las :data:`DOORS`.

    Errores: ``ValueError`` si no hay ningún módulo cargado que se llame así.
    """
    if module_name not in sys.modules:
        raise ValueError(f"module_name: se esperaba un módulo cargado; llegó {module_name!r}.")
    module, made = sys.modules[module_name], {}
    for name, thing in list(vars(module).items()):
        if name.startswith(("_", *DOORS)) or getattr(thing, "__module__", None) != module_name:
            continue
        if isinstance(thing, type):
            for kind in thing.__mro__:  # una clase pública puede heredar de otra privada
                if _package(kind.__module__) == _package(module_name):
                    _explain_class(kind)
        elif _is_function(thing):
            made[thing] = guarded(thing)
            setattr(module, name, made[thing])
    for table in vars(module).values():  # las listas por nombre, como SCORES, guardan la misma
        if type(table) is dict and not table.keys() & {"__name__"}:
            changed = {k: made[v] for k, v in table.items() if _is_function(v) and v in made}
            table.update(changed)


def guarded(function: Callable) -> Callable:
    """Devuelve otra función igual que, si falla, dice qué argumento falta, sobra o no es lo suyo.

    Errores: los de ``function``, y ``TypeError`` en español si la llamada no casa con la firma o
    ha fallado y un argumento es de otro tipo; entonces el error primero queda en ``__cause__``.
    """
    if hasattr(function, "unchecked") or hasattr(function, "_explained"):
        return function

    @functools.wraps(function)
    def call(*args, **kwargs):
        __tracebackhide__ = True  # IPython y pytest no enseñan este paso
        try:
            return function(*args, **kwargs)
        except Exception as error:
            better = explanation(function, args, kwargs, error)
            if better is None:
                raise
            raise better from better.__cause__

    call._explained = True
    for name in ("cache_clear", "cache_info", "cache_parameters"):  # lo que añade functools.cache
        if hasattr(function, name):
            setattr(call, name, getattr(function, name))
    return call


def _package(module_name: str) -> str:
    return module_name.partition(".")[0]


def _is_function(thing: object) -> bool:
    return isinstance(thing, types.FunctionType) or hasattr(thing, "cache_clear")


def _explain_class(kind: type) -> None:
    """Se pone delante del constructor y de los métodos públicos de una clase."""
    if kind in _DONE or type(kind) not in (type, abc.ABCMeta):
        return  # otra metaclase construye a su manera
    _DONE.add(kind)
    for name, member in list(vars(kind).items()):
        if name.startswith("_") and name not in ("__init__", "__new__", "__call__"):
            continue
        if isinstance(member, classmethod | staticmethod):
            if not hasattr(member.__func__, "_explained"):
                setattr(kind, name, type(member)(guarded(member.__func__)))
        elif _is_function(member):
            made = guarded(member)
            setattr(kind, name, staticmethod(made) if name == "__new__" else made)
    _explain_inherited(kind)
    if getattr(kind, "__abstractmethods__", None) and "__new__" not in vars(kind):
        _explain_abstract(kind)


def _explain_inherited(kind: type) -> None:
    """Lo que una clase hereda de fuera del paquete: el constructor, y el ``forward`` de PyTorch."""
    for name in ("__init__", "forward"):
        owner = next((base for base in kind.__mro__ if name in vars(base)), kind)
        if _package(owner.__module__) == _package(kind.__module__):
            continue
        inherited = vars(owner)[name]
        empty = owner is object and kind.__new__ is object.__new__
        if empty or getattr(inherited, "__qualname__", "") == "Module.__init__":
            inherited = _no_arguments(kind)
        if isinstance(inherited, types.FunctionType) and inherited.__name__ == name:
            made = guarded(inherited)
            made.__qualname__ = f"{kind.__qualname__}.{name}"
            setattr(kind, name, made)


def _no_arguments(kind: type) -> Callable:
    """El constructor de una clase que no tiene el suyo."""

    def __init__(self) -> None:
        super(kind, self).__init__()

    __init__.__module__, __init__.__qualname__ = kind.__module__, f"{kind.__qualname__}.__init__"
    return __init__


def _explain_abstract(kind: type) -> None:
    """Una clase abstracta no se construye; lo dice nombrando las que sí."""
    inherited = kind.__new__

    def __new__(cls, *args, **kwargs):
        if cls.__abstractmethods__:
            raise TypeError(_abstract(cls))
        return inherited(cls) if inherited is object.__new__ else inherited(cls, *args, **kwargs)

    __new__.__signature__ = inspect.signature(kind.__init__)
    kind.__new__ = staticmethod(__new__)


def _abstract(kind: type) -> str:
    """El mensaje de una clase a la que le faltan métodos."""
    missing = ", ".join(sorted(kind.__abstractmethods__))
    ready = [sub.__name__ for sub in _below(kind) if not sub.__abstractmethods__]
    instead = f"; se esperaba una de las suyas: {', '.join(ready)}" if ready else ""
    return f"{kind.__name__}: es una clase abstracta, le falta {missing}{instead}."


def _below(kind: type) -> Iterator[type]:
    for sub in kind.__subclasses__():
        yield sub
        yield from _below(sub)


# --- Qué ha fallado -------------------------------------------------------------------------------


def explanation(
    function: Callable, args: tuple, kwargs: dict, error: Exception
) -> TypeError | None:
    """El error que merece una llamada que ha dado ``error``, o ``None`` si el que dio está bien.

    Lo que la firma rechaza no tiene causa; lo que es de otro tipo lleva ``error`` como causa.
    """
    if isinstance(error, TypeError) and not _fits(function, args, kwargs):
        return unbound(function, args, kwargs)
    if _SPOKEN.match(str(error)) and not hasattr(error, "_guessed"):
        return None
    try:
        violation = _wrong_kind(function, args, kwargs)
    except Exception:  # explicar un error no puede dar otro
        return None
    if violation is not None:
        violation.__cause__ = error.__cause__ if hasattr(error, "_guessed") else error
        violation._guessed = True  # quien llamó puede saber de quién vino
    return violation


def _fits(function: Callable, args: tuple, kwargs: dict) -> bool:
    """Dice si la llamada casa con la firma: si no casa, no se llegó a entrar en la función."""
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def unbound(function: Callable, args: tuple, kwargs: dict) -> TypeError:
    """El error de una llamada que no casa con la firma: qué falta, qué sobra o qué llega doble."""
    title, parameters = _title(function, args), _own(function)
    named = [p for p in parameters.values() if p.kind is not p.POSITIONAL_ONLY]
    strange = next((name for name in kwargs if name not in {p.name for p in named}), None)
    if strange in FOREIGN:
        return TypeError(f"{strange}: así se llama en PyTorch; en {title}, {FOREIGN[strange]}.")
    theirs = f"los suyos son {_list(parameters)}" if parameters else "no admite ninguno"
    if strange is not None:
        return TypeError(f"`{title}` no tiene el argumento `{strange}`; {theirs}.")
    places = [p.name for p in parameters.values() if p.kind.name.startswith("POSITIONAL")]
    given = args[1:] if _is_method(function) else args
    twice = next((name for name in places[: len(given)] if name in kwargs), None)
    if twice is not None:
        return TypeError(f"`{twice}` llega dos veces a `{title}`: por su sitio y por su nombre.")
    if len(given) > len(places) and not any(p.kind is p.VAR_POSITIONAL for p in named):
        return TypeError(_too_many(title, parameters, places, len(given)))
    taken = {*places[: len(given)], *kwargs}
    required = [p for p in parameters.values() if p.default is p.empty and p.name not in taken]
    missing = next(p.name for p in required if not p.kind.name.startswith("VAR"))
    what = _described(_hints(function).get(missing))
    return TypeError(
        f"falta `{missing}`{what and ': ' + what}. `{title}` espera {_list(parameters)}."
    )


def _too_many(title: str, parameters: dict, places: list[str], came: int) -> str:
    if not parameters:
        return f"`{title}` no admite argumentos y ha llegado {_count(came)}."
    by_name = [name for name in parameters if name not in places]
    rest = f"; por su nombre, {_list(by_name)}" if by_name else ""
    most = f"{_count(len(places))} sin nombre ({_list(places)})" if places else "ninguno sin nombre"
    return f"`{title}` admite {most} y {'ha' if came == 1 else 'han'} llegado {came}{rest}."


def _count(number: int) -> str:
    return "un argumento" if number == 1 else f"{number} argumentos"


def _list(names: typing.Iterable[str]) -> str:
    """«query, key y value», sin comas de más."""
    *first, last = names
    joint = "e" if re.match(r"h?i(?!e)|y$", last) else "y"
    return f"{', '.join(first)} {joint} {last}" if first else last


def _is_method(function: Callable) -> bool:
    """Dice si el primer argumento lo pone Python: ``self`` o ``cls``."""
    first = next(iter(inspect.signature(function).parameters), "")
    return first in ("self", "cls", "_cls")


def _own(function: Callable) -> dict[str, inspect.Parameter]:
    """Los argumentos que da quien llama."""
    parameters = dict(inspect.signature(function).parameters)
    if _is_method(function):
        del parameters[next(iter(parameters))]
    return parameters


def _title(function: Callable, args: tuple) -> str:
    """Cómo se llama lo llamado; un constructor, como la clase que se construye."""
    owner, _, name = function.__qualname__.split("<locals>.")[-1].rpartition(".")
    if not owner:
        return name
    first = args[0] if args else None
    kind = first if isinstance(first, type) else type(first)
    if owner in {base.__qualname__.split("<locals>.")[-1] for base in kind.__mro__}:
        owner = kind.__name__  # heredado: se dice el de quien llama
    return owner if name in ("__init__", "__new__", "__call__") else f"{owner}.{name}"


def _hints(function: Callable) -> dict[str, object]:
    """Las anotaciones, convertidas en tipos las que sean textos; las que no se pueda, sin ellas."""
    inner, hints = inspect.unwrap(function), {}
    for name, hint in getattr(inner, "__annotations__", {}).items():
        alone = types.SimpleNamespace(__annotations__={name: hint})
        with contextlib.suppress(Exception):  # de una en una: alguna solo existe para el editor
            found = typing.get_type_hints(alone, getattr(inner, "__globals__", {}), None, True)
            hints |= found
    return hints


# --- Lo que no es del tipo que se dice ------------------------------------------------------------


def _wrong_kind(function: Callable, args: tuple, kwargs: dict) -> TypeError | None:
    """El error del primer argumento que no es lo que dice su anotación, si lo hay."""
    hints, title = _hints(function), _title(function, args)
    bound = inspect.signature(function).bind(*args, **kwargs).arguments
    for name, parameter in _own(function).items():
        if name not in bound or name not in hints:
            continue
        value, hint = bound[name], hints[name]
        values = [value]
        if parameter.kind is parameter.VAR_POSITIONAL:
            values = value
        elif parameter.kind is parameter.VAR_KEYWORD:
            values = value.values()
        for one in values:
            if not accepts(hint, one):
                wanted = _described(hint) or "otra cosa"
                return TypeError(f"{title}: {name}: se esperaba {wanted}; llegó {_came(one)}.")
    return None


def accepts(hint: object, value: object) -> bool:
    """Dice si un valor puede ser lo que anuncia una anotación; en la duda, que sí."""
    if hint is None or hint is type(None):
        return value is None
    options = _options(hint)
    if len(options) > 1:
        return any(accepts(option, value) for option in options)
    if hasattr(hint, "dim_str"):  # de jaxtyping
        return _accepts_array(hint, value)
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        return type(value) in {type(choice) for choice in typing.get_args(hint)}
    if origin is type:
        return isinstance(value, type)
    if isinstance(origin, type):
        return _accepts_group(hint, origin, value)
    return _accepts_plain(hint, value)


_NUMBERS = {int: numbers.Integral, float: numbers.Real, complex: numbers.Complex}


def _accepts_plain(hint: object, value: object) -> bool:
    if hint is bool:
        return isinstance(value, (bool, numbers.Integral)) or type(value).__name__ in (
            "bool",
            "bool_",
        )
    try:
        kind = _NUMBERS.get(hint, hint)
        return not isinstance(kind, type) or isinstance(value, kind)
    except TypeError:  # un protocolo, o algo por lo que no se puede preguntar
        return True


def _accepts_array(hint: object, value: object) -> bool:
    """Un tensor o un ndarray del tipo de números que se pide; la forma no se mira."""
    if not isinstance(value, hint.array_type):
        return False
    kind = str(getattr(value, "dtype", "")).removeprefix("torch.")
    return not isinstance(hint.dtypes, (list, tuple)) or kind in hint.dtypes


def _accepts_group(hint: object, origin: type, value: object) -> bool:
    """Listas, tuplas, diccionarios, funciones…, y si son pocos, también sus elementos."""
    if origin is Callable:
        return callable(value)
    if not isinstance(value, origin):
        return False
    inner = [x for x in typing.get_args(hint) if x is not Ellipsis]
    if isinstance(value, str):
        return not inner or inner[0] in (str, object, typing.Any)
    if not isinstance(value, (list, tuple)) or len(value) > 1000 or not inner:
        return True
    if len(inner) == len(value) and issubclass(origin, tuple):
        return all(map(accepts, inner, value))
    return len(inner) > 1 or all(accepts(inner[0], element) for element in value)


def _options(hint: object) -> tuple:
    """Las alternativas de una unión; si no lo es, ella sola."""
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return typing.get_args(hint) if union else (hint,)


# --- Cómo se dice un tipo -------------------------------------------------------------------------

_WORDS = {
    int: "un entero",
    float: "un número",
    complex: "un número complejo",
    bool: "True o False",
    str: "un texto",
    bytes: "bytes",
    type(None): "None",
}
_GROUPS = {
    "list": "una lista",
    "tuple": "una tupla",
    "dict": "un diccionario",
    "set": "un conjunto",
    "frozenset": "un conjunto",
    "Sequence": "una lista",
    "Collection": "una lista",
    "Iterable": "una lista, o algo que se recorra",
    "Iterator": "un iterador",
    "Mapping": "un diccionario",
    "Callable": "una función",
    "type": "una clase",
    "Tensor": "un tensor",
    "ndarray": "un array de NumPy",
    "Generator": "un generador",
    "Module": "un módulo de PyTorch",
    "device": "un dispositivo",
    "Path": "una ruta",
}
_KINDS = {
    "Float": " de coma flotante",
    "Int": " de enteros",
    "Integer": " de enteros",
    "Bool": " de booleanos",
    "Real": " de números",
    "Num": " de números",
}


def _described(hint: object) -> str:
    """Un tipo en español, o nada si no dice nada."""
    options = _options(hint)
    if len(options) > 1:
        said = [text for text in map(_described, options) if text]
        return " o ".join(dict.fromkeys(said)) if len(said) == len(options) else ""
    if hint in (None, object, typing.Any, inspect.Parameter.empty):
        return ""
    if hasattr(hint, "dim_str"):
        axes = re.sub(r"\*\w+|\.\.\.", "…", hint.dim_str.replace("#", "")).split()
        body = _GROUPS.get(hint.array_type.__name__, "un tensor") + _KINDS.get(
            hint.dtype.__name__, ""
        )
        return body if axes in ([], ["…"]) else f"{body} ({', '.join(axes)})"
    if typing.get_origin(hint) is typing.Literal:
        return " o ".join(repr(choice) for choice in typing.get_args(hint))
    name = getattr(typing.get_origin(hint) or hint, "__name__", "")
    return _WORDS.get(hint) or _GROUPS.get(name) or (f"un {name}" if name else "")


def _came(value: object) -> str:
    """Lo que llegó: su tipo, y él mismo si es corto."""
    kind = type(value).__name__
    if value is None:
        return "None"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{kind} de {str(value.dtype).removeprefix('torch.')}, {tuple(value.shape)}"
    text = repr(value) if isinstance(value, (str, int, float, list, tuple, dict)) else ""
    return f"{kind} ({text})" if 0 < len(text) <= 40 else kind


explain(__name__)
