"""La página del libro en un solo fichero: se descomprime y se abre ``index.html``, sin servidor ni
conexión.
"""

from __future__ import annotations

import time
import zipfile
from pathlib import Path

# Lo que solo sirve a quien construye o a un servidor.
SOBRA = {".buildinfo", ".nojekyll", "objects.inv", "searchindex.js", "fontawesome.js"}
SOBRA_DE = {"_sources", ".doctrees", "llevar"}


def ficheros(sitio: Path) -> list[Path]:
    """Lo que se lleva, en orden."""
    return sorted(
        p
        for p in sitio.rglob("*")
        if p.is_file()
        and p.name not in SOBRA
        and p.suffix != ".map"
        and not SOBRA_DE & set(p.relative_to(sitio).parts)
    )


def empaqueta(sitio: Path, salida: Path) -> Path:
    """Escribe el ``.zip``, con todo dentro de una carpeta que se llama como él."""
    salida.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(salida, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as destino:
        for ruta in ficheros(sitio):
            nombre = f"{salida.stem}/{ruta.relative_to(sitio).as_posix()}"
            fecha = max(time.gmtime(ruta.stat().st_mtime)[:6], (1980, 1, 1, 0, 0, 0))
            dato = zipfile.ZipInfo(nombre, fecha)
            dato.external_attr = 0o644 << 16
            destino.writestr(dato, ruta.read_bytes(), zipfile.ZIP_DEFLATED, 9)
    return salida
