"""La página del libro en un solo fichero: se descomprime y se abre ``index.html``, sin servidor ni
conexión.
"""

from __future__ import annotations

import shutil
import time
import zipfile
from pathlib import Path

from paginas.descargas import CARPETA, de_viaje, fecha, recientes

# Lo que solo sirve a quien construye o a un servidor.
SOBRA = {".buildinfo", ".nojekyll", "objects.inv", "searchindex.js", "fontawesome.js"}
SOBRA |= {"webpack-macros.html", "sbt-webpack-macros.html"}  # plantillas del tema, sin rellenar
SOBRA_DE = {"_sources", ".doctrees", CARPETA}


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
    """Escribe el ``.zip``, con todo dentro de una carpeta que se llama como él.

    Si junto a él están el PDF y el EPUB de estas mismas páginas, van dentro, y la portada lleva a
    ellos. Todo con la misma fecha: de las mismas páginas sale el mismo fichero.
    """
    llevados, cuando = recientes(sitio, salida.parent), fecha()
    salida.parent.mkdir(parents=True, exist_ok=True)
    a_medias = salida.with_suffix(".zip.parcial")
    try:
        with zipfile.ZipFile(a_medias, "w") as destino:
            for ruta in ficheros(sitio):
                nombre, contenido = ruta.relative_to(sitio).as_posix(), ruta.read_bytes()
                if nombre == "intro.html":
                    contenido = de_viaje(contenido.decode(), llevados).encode()
                dato = _dato(f"{salida.stem}/{nombre}", cuando)
                destino.writestr(dato, contenido, zipfile.ZIP_DEFLATED, 9)
            for ruta in llevados:
                dato = _dato(f"{salida.stem}/{CARPETA}/{ruta.name}", cuando)
                with ruta.open("rb") as origen, destino.open(dato, "w") as dentro:
                    shutil.copyfileobj(origen, dentro)  # a trozos; comprimido ya lo está
        a_medias.replace(salida)
    finally:
        a_medias.unlink(missing_ok=True)
    return salida


def _dato(nombre: str, cuando: float) -> zipfile.ZipInfo:
    dato = zipfile.ZipInfo(nombre, max(time.gmtime(cuando)[:6], (1980, 1, 1, 0, 0, 0)))
    dato.external_attr = 0o644 << 16
    return dato
