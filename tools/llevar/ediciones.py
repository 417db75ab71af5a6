"""El libro para llevar: en EPUB, en PDF o como página que se lee sin conexión.

    python tools llevar QUE      (``epub``, ``pdf`` o ``paquete``)

Sale del libro construido (``make libro``) y queda en ``book/_build/llevar``.
"""

from __future__ import annotations

from procesos import principal

# isort: split
# Lo demás tarda en importarse, y Ctrl+C se atiende ya.
import argparse
from pathlib import Path

from llevar import epub, pdf
from llevar.documento import Tomo
from llevar.paquete import empaqueta
from paginas.capitulos import CONSTRUIDO
from paginas.descargas import NOMBRE, al_dia, apunta, sella
from paginas.publicado import Libro


def tomo_de(sitio: Path, publicado: str) -> Tomo:
    """El libro en un solo documento; acaba con un aviso si algún enlace de dentro no llega."""
    tomo = Tomo(sitio, publicado)
    if rotos := tomo.rotos():
        raise SystemExit("Hay enlaces que no llegan:\n" + "\n".join(rotos))
    return tomo


def haz(que: str, sitio: Path, carpeta: Path, publicado: str) -> Path:
    """Hace una de las tres cosas y devuelve dónde está."""
    if que == "paquete":
        return empaqueta(sitio, carpeta / f"{NOMBRE}.zip")
    return {"epub": epub, "pdf": pdf}[que].escribe(
        tomo_de(sitio, publicado), carpeta / f"{NOMBRE}.{que}"
    )


def pon_al_dia(que: str, sitio: Path, carpeta: Path, publicado: str) -> list[Path]:
    """Hace lo que se pide si no está hecho con estas páginas, y otra vez el zip si lo había: lleva
    dentro los otros dos, y así los tres son los mismos en cualquier orden.
    """
    salida = [carpeta / f"{NOMBRE}.{'zip' if que == 'paquete' else que}"]
    if que != "paquete" and (carpeta / f"{NOMBRE}.zip").exists():
        salida.append(carpeta / f"{NOMBRE}.zip")
    for fichero in salida:
        extension = fichero.suffix[1:]
        if not al_dia(extension, sitio, carpeta):
            haz("paquete" if extension == "zip" else extension, sitio, carpeta, publicado)
            sella(extension, sitio, carpeta)
    return salida


def main() -> None:
    """Punto de entrada."""
    opciones = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    opciones.add_argument("que", choices=("epub", "pdf", "paquete"))
    opciones.add_argument(
        "--sitio", type=Path, default=CONSTRUIDO / "html", help="el libro construido"
    )
    opciones.add_argument(
        "--salida", type=Path, default=CONSTRUIDO / "llevar", help="carpeta de destino"
    )
    elegido = opciones.parse_args()
    if not (elegido.sitio / "intro.html").exists():
        raise SystemExit(f"No hay ningún libro en {elegido.sitio}: constrúyelo con «make libro».")
    publicado = Libro().sitio
    apunta(elegido.sitio, None, publicado)  # dentro de un PDF o del zip no hay «llevar» al lado
    hechos = pon_al_dia(elegido.que, elegido.sitio, elegido.salida, publicado)
    apunta(elegido.sitio, elegido.salida, publicado)
    for hecho in hechos:
        print(f"{hecho} ({hecho.stat().st_size / 2**20:.1f} MiB)")


if __name__ == "__main__":
    principal(main)
