"""La verdad de cada ejercicio, por un camino que no es el de su solución.

Fuerza bruta, simulación, PyTorch o mpmath; un fichero por capítulo. ``VERDADES[id](caso, valor,
funcion)`` dice si ``valor``, lo que da la referencia en ``caso``, es cierto.
"""

import importlib
import pkgutil

from verdades.tabla import VERDADES

for _modulo in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_modulo.name}")

__all__ = ["VERDADES"]
