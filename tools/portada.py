"""Los enlaces de la portada a lo que se descarga, cuando está hecho en esta máquina."""

from __future__ import annotations

import os
import re
from pathlib import Path

NOMBRE = "el-transformer-linea-a-linea"
ENLACE = re.compile(rf'href="([^"]*/){NOMBRE}\.(pdf|epub|zip)"')


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
