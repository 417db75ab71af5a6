"""Los enlaces de la portada a lo que se descarga, cuando está hecho en esta máquina."""

from __future__ import annotations

import os
import re
from pathlib import Path

NOMBRE = "el-transformer-linea-a-linea"
ENLACE = re.compile(rf'href="([^"]*/){NOMBRE}\.(pdf|epub|zip)"')
RENGLON = re.compile(
    rf'<li><p><a [^>]*href="[^"]*/{NOMBRE}\.(?P<que>pdf|epub|zip)"[^>]*>(?P<nombre>[^<]*)</a>'
    r"(?P<para>[^<]*)</p></li>\n?"
)


def apunta(sitio: Path, carpeta: Path | None, publicado: str) -> None:
    """Enlaza la portada de ``sitio`` con lo que hay en ``carpeta``.

    Lo que no está, o todo si no hay carpeta, se enlaza con la dirección donde se publica. Al
    publicar (``LIBRO_DIRECCION``) no se toca nada: las páginas y «llevar» cambian de lugar.
    """
    portada = sitio / "intro.html"
    if os.environ.get("LIBRO_DIRECCION") or not portada.exists():
        return

    def destino(encaje: re.Match[str]) -> str:
        fichero = f"{NOMBRE}.{encaje[2]}"
        if carpeta is not None and (carpeta / fichero).exists():
            return f'href="{Path(os.path.relpath(carpeta / fichero, sitio)).as_posix()}"'
        de_fuera = encaje[1].startswith("http")
        return encaje[0] if de_fuera else f'href="{publicado.rstrip("/")}/llevar/{fichero}"'

    texto = portada.read_text(encoding="utf-8")
    nuevo = ENLACE.sub(destino, texto)
    if nuevo != texto:
        portada.write_text(nuevo, encoding="utf-8")


def recientes(sitio: Path, carpeta: Path) -> list[Path]:
    """El PDF y el EPUB de ``carpeta`` que no son anteriores a ninguna página.

    La portada no cuenta: :func:`apunta` la escribe después de hacerlos.
    """
    paginas = [p for p in sitio.rglob("*.html") if p != sitio / "intro.html"]
    ultima = max((p.stat().st_mtime for p in paginas), default=0.0)
    hechos = [carpeta / f"{NOMBRE}.{extension}" for extension in ("pdf", "epub")]
    return [p for p in hechos if p.exists() and p.stat().st_mtime >= ultima]


def de_viaje(texto: str, llevados: list[Path]) -> str:
    """La portada que va dentro del zip: enlaza lo que va con ella y dice que la página es esta.

    Lo que no va se quita, salvo que se publique (``LIBRO_DIRECCION``): entonces está en la red.
    """
    dentro = {ruta.suffix[1:] for ruta in llevados}

    def escribe(encaje: re.Match[str]) -> str:
        que, nombre = encaje["que"], encaje["nombre"]
        if que == "zip":
            return f"<li><p>{nombre}: es esta.</p></li>\n"
        if que in dentro:
            enlace = f'<a class="reference external" href="llevar/{NOMBRE}.{que}">{nombre}</a>'
            return f"<li><p>{enlace}{encaje['para']}</p></li>\n"
        return encaje[0] if os.environ.get("LIBRO_DIRECCION") else ""

    return RENGLON.sub(escribe, texto)
