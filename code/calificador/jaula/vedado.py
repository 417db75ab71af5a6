"""Lo que el enunciado no permite, donde se ejecuta la entrega: no está.

Se puede importar y nombrar; llamarlo levanta :class:`NoPermitido`, venga de donde venga el nombre
(un alias, ``getattr``, ``importlib``). De quien se ejecuta junto a la entrega, este módulo es el
único que sabe de vetos, y no sabe de enunciados: recibe listas de rutas con puntos.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import importlib.machinery
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

BIBLIOTECA = "atento"
ENTREGA = "<entrega "
Falta = tuple[int, int, int]


class NoPermitido(ImportError):
    """La entrega llamó a algo que el enunciado no permite."""


class Ausente(types.ModuleType):
    """Lo que queda en el sitio de un módulo o de una función: todo lo suyo es otro ausente, y
    llamarlo es la falta.

    Se puede heredar de él, anotar con él y decorar con él sin llamarlo: el mismo fichero puede
    usarlo en otro ejercicio.
    """

    def __init__(self, nombre: str, falta: Any) -> None:
        super().__init__(nombre)
        self.__dict__["_falta"] = falta

    def __getattr__(self, nombre: str) -> Any:
        if nombre == "__all__":  # de «import *» no se sabría qué nombres dar
            self._falta()
        if nombre.startswith("__"):
            raise AttributeError(nombre)
        return Ausente(f"{self.__name__}.{nombre}", self._falta)

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        self._falta()

    def __mro_entries__(self, _: tuple) -> tuple[type]:
        return (type(self.__name__, (), {"__new__": self}),)

    def __getitem__(self, _: Any) -> Ausente:
        return self

    __or__ = __ror__ = __getitem__


class Vetos:
    """Los vetos de un ejercicio. Rigen mientras dura ``with vetos:``; después queda todo como
    estaba.

    ``falta``: el primer veto que la entrega no respetó desde que se entró (su número, la celda y la
    línea), aunque callase el error.
    """

    def __init__(self, grupos: Sequence[Sequence[str]]) -> None:
        self.grupos = [tuple(grupo) for grupo in grupos]
        self.falta: Falta | None = None
        self._deshace = contextlib.ExitStack()

    def __bool__(self) -> bool:
        return bool(self.grupos)

    def __enter__(self) -> None:
        self.falta = None
        if self.grupos:
            self._deshace.enter_context(self._en_vigor())

    def __exit__(self, *_: object) -> None:
        self._deshace.close()

    @contextlib.contextmanager
    def _en_vigor(self) -> Iterator[None]:
        with contextlib.ExitStack() as pila:
            modulos = {}
            for indice, grupo in enumerate(self.grupos):
                for ruta in grupo:
                    if ruta.split(".")[0] == BIBLIOTECA:
                        modulos[ruta] = indice
                    elif ruta == "torch.Tensor":
                        pila.enter_context(_sin_tensores(lambda i=indice: self._anota(i)))
                    else:
                        pila.enter_context(self._sin(ruta, indice))
            if modulos:
                pila.enter_context(self._sin_modulos(modulos))
            yield

    def _anota(self, indice: int) -> NoReturn:
        """La falta, con la línea de la entrega que la comete."""
        if self.falta is None:
            self.falta = (indice, *_donde(sys._getframe(1)))
        raise NoPermitido(f"{self.grupos[indice][0]}: el enunciado no lo permite")

    @contextlib.contextmanager
    def _sin(self, ruta: str, indice: int) -> Iterator[None]:
        """Sin una clase (no se puede construir) o sin una función."""
        dueno, nombre = _dueno(ruta)
        antes = getattr(dueno, nombre, None)
        if antes is None:
            yield  # esta versión de la biblioteca no lo tiene
        elif isinstance(antes, type):
            with _puesto(antes, "__init__", lambda *_, **__: self._anota(indice)):
                yield
        else:
            falta = lambda: self._anota(indice)  # noqa: E731
            propio = dueno is builtins
            nuevo = _solo_la_entrega(antes, falta) if propio else Ausente(nombre, falta)
            with _puesto(dueno, nombre, nuevo):
                yield

    @contextlib.contextmanager
    def _sin_modulos(self, vedados: dict[str, int]) -> Iterator[None]:
        """Sin unos módulos del libro: los demás se importan de nuevo, y ven que faltan."""
        antes = {n: sys.modules[n] for n in _del_libro()}
        for nombre in antes:
            del sys.modules[nombre]
        buscador = _Buscador(vedados, self._anota)
        sys.meta_path.insert(0, buscador)
        try:
            yield
        finally:
            sys.meta_path.remove(buscador)
            for nombre in _del_libro():
                del sys.modules[nombre]
            sys.modules.update(antes)


class _Buscador:
    """Da un ausente a quien importe un módulo vedado o algo de dentro de él."""

    def __init__(self, vedados: dict[str, int], anota: Any) -> None:
        self.vedados, self.anota = vedados, anota

    def _indice(self, nombre: str) -> int | None:
        dentro = (i for v, i in self.vedados.items() if nombre == v or nombre.startswith(f"{v}."))
        return next(dentro, None)

    def find_spec(self, nombre: str, *_: Any) -> Any:
        if self._indice(nombre) is None:
            return None
        return importlib.machinery.ModuleSpec(nombre, self, is_package=True)

    def create_module(self, spec: Any) -> Ausente:
        indice = self._indice(spec.name)
        return Ausente(spec.name, lambda: self.anota(indice))

    def exec_module(self, modulo: Any) -> None:
        """No hay nada que ejecutar."""


def _del_libro() -> list[str]:
    """Los módulos de la biblioteca del libro que ya se han importado.

    Se baja por ellos: recorrer ``sys.modules`` entero copia, en un hijo, todas sus páginas (8 ms).
    """
    nombres = [BIBLIOTECA] if BIBLIOTECA in sys.modules else []
    for nombre in nombres:
        modulo = sys.modules[nombre]
        if "__path__" in vars(modulo):
            hijos = (f"{nombre}.{hijo}" for hijo in vars(modulo))
            nombres += [hijo for hijo in hijos if hijo in sys.modules]
    return nombres


def _dueno(ruta: str) -> tuple[Any, str]:
    """El módulo o la clase que tiene un nombre, y el nombre."""
    partes = ruta.split(".")
    dueno = importlib.import_module(partes[0])
    for parte in partes[1:-1]:
        dueno = sys.modules.get(f"{getattr(dueno, '__name__', '')}.{parte}") or getattr(
            dueno, parte, None
        )
    return dueno, partes[-1]


@contextlib.contextmanager
def _puesto(dueno: Any, nombre: str, valor: Any) -> Iterator[None]:
    """Otro valor en un atributo, mientras dure; si el dueño lo heredaba, después vuelve a
    heredarlo."""
    propio = nombre in vars(dueno)
    antes = vars(dueno).get(nombre)
    setattr(dueno, nombre, valor)
    try:
        yield
    finally:
        setattr(dueno, nombre, antes) if propio else delattr(dueno, nombre)


def _solo_la_entrega(antes: Any, falta: Any) -> Any:
    """Una función de Python que falta solo a la entrega: la biblioteca estándar la necesita."""

    def llamada(*args: Any, **kwargs: Any) -> Any:
        if sys._getframe(1).f_code.co_filename.startswith(ENTREGA):
            falta()
        return antes(*args, **kwargs)

    return llamada


@contextlib.contextmanager
def _sin_tensores(falta: Any) -> Iterator[None]:
    from torch.overrides import TorchFunctionMode  # el de más abajo importaría torch._dynamo: 1.5 s

    class SinTensores(TorchFunctionMode):
        def __torch_function__(self, *_: Any, **__: Any) -> NoReturn:
            falta()

    with SinTensores():
        yield


def _donde(marco: Any) -> tuple[int, int]:
    """Celda y línea de la entrega más cercanas en la pila; ``(-1, 0)`` si no hay."""
    while marco is not None:
        fichero = marco.f_code.co_filename
        if fichero.startswith(ENTREGA):
            return int(fichero[len(ENTREGA) : -1]), marco.f_lineno
        marco = marco.f_back
    return -1, 0
