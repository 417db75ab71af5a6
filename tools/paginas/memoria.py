"""Lo que ya se calculó, guardado por su contenido: una construcción solo repite lo que ha cambiado.

No mira fechas. Cada valor se guarda con una clave que sale de todo lo que decide su resultado, y al
terminar solo quedan los que se han pedido esta vez.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any


def resumen(*partes: str | bytes) -> str:
    """La huella de unos textos.

    >>> resumen("a", "b") == resumen(b"a", "b"), resumen("ab") == resumen("a", "b")
    (True, False)
    """
    suma = hashlib.sha256()
    for parte in partes:
        datos = parte.encode() if isinstance(parte, str) else parte
        suma.update(b"%d " % len(datos) + datos)
    return suma.hexdigest()


def ficheros(*lugares: Path) -> list[Path]:
    """Los ficheros de unas carpetas, o ellos mismos, sin lo que se construye ni lo compilado."""
    sobra = {"_build", "__pycache__", ".ipynb_checkpoints"}
    salida = []
    for lugar in lugares:
        hay = [lugar] if lugar.is_file() else sorted(lugar.rglob("*"))
        salida += [p for p in hay if p.is_file() and not sobra & set(p.relative_to(lugar).parts)]
    return salida


def contenido(rutas: Iterable[Path], raiz: Path) -> str:
    """La huella de lo que hay en unos ficheros, con sus nombres."""
    return resumen(*(x for p in rutas for x in (p.relative_to(raiz).as_posix(), p.read_bytes())))


def entorno() -> str:
    """Qué Python es y qué hay instalado."""
    hay = (p.name for x in sys.path for p in Path(x or ".").glob("*.dist-info"))
    return f"{sys.version} {sorted(hay)}"


class Memoria:
    """Valores guardados en un fichero; uno que no se puede leer se tira y se empieza otro."""

    def __init__(self, ruta: Path | None) -> None:
        """``ruta`` es el fichero; con ``None`` no se guarda nada."""
        self.ruta, self.usado = ruta, {}
        try:
            self.viejo = pickle.loads(ruta.read_bytes()) if ruta and ruta.exists() else {}
        except Exception:
            self.viejo = {}

    def da(self, clave: str, hace: Callable[[], Any]) -> Any:
        """El valor de una clave; si no está, se hace."""
        if clave not in self.usado:
            self.usado[clave] = self.viejo[clave] if clave in self.viejo else hace()
        return self.usado[clave]

    def guarda(self) -> None:
        """Escribe lo que se ha pedido, si no es lo mismo que había."""
        if self.ruta is not None and self.usado.keys() != self.viejo.keys():
            a_medias = self.ruta.with_suffix(f".{os.getpid()}")
            a_medias.write_bytes(pickle.dumps(self.usado))
            a_medias.replace(self.ruta)
