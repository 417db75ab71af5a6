"""La huella del código: de ella depende la caché de ejecución.

jupyter-cache solo mira las celdas. Si cambia la biblioteca, las salidas guardadas dejan de valer aunque las
celdas sean las mismas; por eso la ruta de la caché termina en un resumen de las fuentes y de las versiones que
deciden los números. Este módulo solo usa la biblioteca estándar: lo importan la extensión y los guiones.
"""

from __future__ import annotations

import hashlib
import sys
from importlib import metadata
from pathlib import Path

DISTRIBUCIONES = ("torch", "numpy", "matplotlib")


def huella(raiz: Path | None = None) -> str:
    """Resumen de las fuentes de ``code/atento`` y de las versiones que deciden las salidas de los capítulos.

    ``raiz`` es la raíz del repositorio; por defecto, la que contiene este fichero.
    """
    raiz = Path(raiz) if raiz is not None else Path(__file__).resolve().parents[3]
    resumen = hashlib.sha256()
    resumen.update(f"python {sys.version_info.major}.{sys.version_info.minor}\n".encode())
    for nombre in DISTRIBUCIONES:
        resumen.update(f"{nombre} {_version(nombre)}\n".encode())
    paquete = raiz / "code" / "atento"
    for fuente in sorted(p for p in paquete.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
        resumen.update(fuente.relative_to(paquete).as_posix().encode() + b"\0")
        resumen.update(fuente.read_bytes() + b"\0")
    return resumen.hexdigest()[:16]


def ruta_cache(libro: Path, raiz: Path | None = None) -> Path:
    """Carpeta de jupyter-cache del libro ``libro`` (la carpeta que tiene ``_config.yml``)."""
    return Path(libro).resolve() / "_build" / ".jupyter_cache" / huella(raiz)


def _version(nombre: str) -> str:
    try:
        return metadata.version(nombre)
    except metadata.PackageNotFoundError:
        return "ninguna"
