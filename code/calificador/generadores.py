"""Lo que casi todos los ejercicios sortean para sus casos. Cada función recibe un
``torch.Generator`` ya sembrado.

Con un generador :func:`menudo`, las mismas funciones dan los tamaños menores que cada ejercicio
admite y números de una cifra decimal: de ahí sale el caso más pequeño que se enseña cuando una
respuesta falla.

torch se importa al llamar: los ficheros del registro se leen también donde solo se listan los
ejercicios.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@lru_cache(maxsize=1)
def _menudo() -> type[torch.Generator]:
    import torch

    class Menudo(torch.Generator):
        menudo = True

    return Menudo


def menudo(semilla: int) -> torch.Generator:
    """Un generador con el que los casos salen lo más pequeños que se puede."""
    return _menudo()().manual_seed(semilla)


def _corto(rng: torch.Generator) -> bool:
    return getattr(rng, "menudo", False)


def _legible(rng: torch.Generator, tensor: torch.Tensor) -> torch.Tensor:
    return tensor.mul(10).round().div(10) if _corto(rng) else tensor


def tensor(valores: Any) -> torch.Tensor:
    """Un tensor float64 con estos valores (booleano o entero, si lo son)."""
    import torch

    dado = torch.tensor(valores)
    return torch.tensor(valores, dtype=torch.float64) if dado.is_floating_point() else dado


def entero(rng: torch.Generator, minimo: int, maximo: int) -> int:
    """Un entero entre ``minimo`` y ``maximo``, los dos incluidos."""
    import torch

    return minimo if _corto(rng) else int(torch.randint(minimo, maximo + 1, (), generator=rng))


def distintos(rng: torch.Generator, minimo: int, maximo: int, cuantos: int) -> list[int]:
    """``cuantos`` enteros distintos entre ``minimo`` y ``maximo``, los dos incluidos."""
    if _corto(rng):
        maximo = minimo + cuantos - 1
    return [minimo + i for i in permutacion(rng, maximo - minimo + 1)[:cuantos]]


def permutacion(rng: torch.Generator, n: int) -> list[int]:
    """Los enteros de 0 a n − 1, barajados."""
    import torch

    return torch.randperm(n, generator=rng).tolist()


def elige(rng: torch.Generator, opciones: Sequence[Any]) -> Any:
    """Una de las opciones."""
    return opciones[entero(rng, 0, len(opciones) - 1)]


def normal(rng: torch.Generator, *forma: int) -> torch.Tensor:
    """Un tensor float64 de normales independientes, de media 0 y varianza 1."""
    import torch

    return _legible(rng, torch.randn(forma, generator=rng, dtype=torch.float64))


def uniforme(rng: torch.Generator, minimo: float, maximo: float, *forma: int) -> torch.Tensor:
    """Un tensor float64 de uniformes entre ``minimo`` y ``maximo``."""
    import torch

    return _legible(
        rng, minimo + (maximo - minimo) * torch.rand(forma, generator=rng, dtype=torch.float64)
    )


def real(rng: torch.Generator, minimo: float, maximo: float) -> float:
    """Un número uniforme entre ``minimo`` y ``maximo``."""
    return float(uniforme(rng, minimo, maximo))


def relleno(rng: torch.Generator, filas: int, claves: int, minimo: int = 2) -> torch.Tensor:
    """Máscara ``(filas, claves)`` de relleno al final: cada fila tapa al menos una clave y deja al
    menos ``minimo``.
    """
    import torch

    return torch.arange(claves) < torch.randint(minimo, claves, (filas, 1), generator=rng)


def mascara(rng: torch.Generator, filas: int, claves: int, densidad: float) -> torch.Tensor:
    """Máscara al azar ``(filas, claves)`` con al menos una clave visible y, si se tapa algo, una
    tapada por fila.
    """
    import torch

    vale = torch.rand(filas, claves, generator=rng) < densidad
    orden = torch.rand(filas, claves, generator=rng).argsort(-1)
    if densidad < 1:
        vale[torch.arange(filas), orden[:, 1]] = False
    vale[torch.arange(filas), orden[:, 0]] = True
    return vale


def dispersa(rng: torch.Generator, largo: int, tapadas: int) -> torch.Tensor:
    """Máscara ``(largo,)`` con ``tapadas`` posiciones falsas en cualquier lugar."""
    import torch

    vale = torch.ones(largo, dtype=torch.bool)
    vale[torch.randperm(largo, generator=rng)[:tapadas]] = False
    return vale


def ortonormal(rng: torch.Generator, n: int, r: int) -> torch.Tensor:
    """Una matriz ``(n, r)`` de columnas ortonormales al azar."""
    import torch

    return torch.linalg.qr(torch.randn(n, r, generator=rng, dtype=torch.float64))[0]


# --- Bordes ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Borde:
    """Un caso en el extremo: el primero de una propiedad, con ejes cortados a 1 u otros valores.

    ``cortes`` y ``valores`` van por la posición del argumento, o por su nombre si se pasa así.
    """

    propiedad: str
    cortes: Mapping[int | str, int | tuple[int, ...]] = field(default_factory=dict)
    valores: Mapping[int | str, Any] = field(default_factory=dict)

    def de(self, casos: Sequence[Any]) -> Any:
        """El caso del borde, sacado de los demás."""
        caso = next(c for c in casos if c.propiedad == self.propiedad)
        args = tuple(self._cambia(i, valor) for i, valor in enumerate(caso.args))
        kwargs = {n: self._cambia(n, valor) for n, valor in caso.kwargs.items()}
        return replace(caso, args=args, kwargs=kwargs)

    def _cambia(self, cual: int | str, valor: Any) -> Any:
        ejes = self.cortes.get(cual, ())
        for eje in ejes if isinstance(ejes, tuple) else (ejes,):
            valor = valor.narrow(eje, 0, 1).clone()
        return self.valores.get(cual, valor)


def empate(valores: Any) -> bool:
    """¿Hay dos iguales, en alguna fila si es un tensor?"""
    filas = (
        valores.reshape(-1, valores.shape[-1]).tolist() if hasattr(valores, "dim") else [valores]
    )
    return any(len(set(fila)) < len(fila) for fila in filas)


def tapada(mascara: torch.Tensor) -> bool:
    """¿Tiene alguna fila tapada entera?"""
    return bool((~mascara).all(-1).any())


def enorme(x: torch.Tensor) -> bool:
    """¿Hay números de los que desbordan la exponencial?"""
    return bool((x[x.isfinite()].abs() > 500).any())


def diminuto(x: torch.Tensor) -> bool:
    """¿Son todos menores que lo que distingue un número de 16 bits?"""
    return bool((x.abs() < 1e-5).all())


def infinito(x: torch.Tensor) -> bool:
    """¿Hay algún infinito?"""
    return bool(x.isinf().any())


def llega(borde: str, argumentos: Mapping[str, Any]) -> bool:
    """¿Cumplen estos argumentos la condición de un borde? La que no tiene sentido, no se cumple."""
    funciones = {f.__name__: f for f in (empate, tapada, enorme, diminuto, infinito)}
    try:
        return bool(eval(borde, {**funciones, **argumentos}))  # noqa: S307 - texto del registro
    except (AttributeError, TypeError, IndexError):
        return False
