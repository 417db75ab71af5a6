"""Todo lo público de la biblioteca rechaza en español la llamada que no casa con su firma.

Se recorren todos los módulos: uno nuevo que olvide ``calls.explain(__name__)`` falla aquí.
"""

import inspect
import re

import pytest
from _public import modules, public

PUBLIC = dict(public())
# Lo que no se construye así: la forma del fichero la hace msgspec, y la clase abstracta, sus hijas.
NOT_BUILT = {"tokenizers.base.Settings", "tokenizers.base.Tokenizer"}


def parameters(path):
    return list(inspect.signature(PUBLIC[path]).parameters.values())


def required(path):
    """El primer argumento que hay que dar, si hay alguno."""
    named = [p for p in parameters(path) if not p.kind.name.startswith("VAR")]
    return next((p.name for p in named if p.default is p.empty), None)


def takes_any_name(path):
    return any(p.kind is p.VAR_KEYWORD for p in parameters(path))


CALLED = sorted(set(PUBLIC) - NOT_BUILT)
WITH_REQUIRED = [path for path in CALLED if required(path) is not None]
WITH_NAMES = [path for path in CALLED if not takes_any_name(path)]
IN_PLACES = [path for path in WITH_NAMES if all("VAR" not in p.kind.name for p in parameters(path))]


def title(path):
    """El nombre que dice el error: el de la función, la clase, o la clase y el método."""
    return re.escape(path.rpartition(".")[2].replace("__call__", ""))


@pytest.mark.parametrize("path", WITH_REQUIRED)
def test_a_missing_argument(path):
    first = re.escape(required(path))
    with pytest.raises(TypeError, match=rf"^falta `{first}`.* `.*{title(path)}` espera .") as error:
        PUBLIC[path]()
    assert error.value.__cause__ is None


@pytest.mark.parametrize("path", WITH_NAMES)
def test_an_unknown_name(path):
    told = rf"^`.*{title(path)}` no tiene el argumento `inventado`; (los suyos son|no admite)"
    with pytest.raises(TypeError, match=told):
        PUBLIC[path](inventado=1)


@pytest.mark.parametrize("path", IN_PLACES)
def test_too_many_without_a_name(path):
    with pytest.raises(TypeError, match=rf"`.*{title(path)}`.* (ha|han) llegado"):
        PUBLIC[path](*[None] * (len(parameters(path)) + 1))


SPOKEN = re.compile(r"[\w.\[\]]+(\['.*'\])?(?: \(nuevo\))?: |falta `|`\S+` ")
WITHOUT_OBJECT = [p for p in WITH_REQUIRED if PUBLIC[p].__name__ != "call"]


@pytest.mark.parametrize("path", WITHOUT_OBJECT)
@pytest.mark.parametrize(
    "value", [None, "texto", [], 3.5, object()], ids=lambda x: type(x).__name__
)
def test_what_is_of_no_use(path, value, tmp_path, monkeypatch):
    """Con algo que no sirve en todo lo que pide: o lo acepta, o lo dice en español."""
    monkeypatch.chdir(tmp_path)  # lo que acepte un texto puede escribir un fichero
    asked = [p for p in parameters(path) if not p.kind.name.startswith("VAR")]
    try:
        PUBLIC[path](**{p.name: value for p in asked if p.default is p.empty})
    except OSError:
        pass  # el fichero no está, y lo dice el sistema
    except Exception as error:
        assert SPOKEN.match(str(error)), error


def test_everything_is_walked():
    """Si el recorrido se quedara corto, lo de arriba no probaría nada."""
    assert len(modules()) > 100 and len(WITH_REQUIRED) > 500 and len(WITH_NAMES) > 600
    assert {"attention.attend", "attention.MultiHeadAttention.forward"} <= set(WITH_REQUIRED)
    assert {"cache.Memory", "tokenizers.base.Tokenizer.load", "layers.Dropout"} <= set(CALLED)
