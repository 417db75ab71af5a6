"""Lo que se descarga, en el sitio: los ficheros en su carpeta ``llevar``, los enlaces de la portada
y si siguen siendo los de estas páginas.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

NOMBRE = "el-transformer-linea-a-linea"
QUE = ("pdf", "epub", "zip")
CARPETA = "llevar"
ENLACE = re.compile(rf'href="([^"]*/){NOMBRE}\.(pdf|epub|zip)"')
RENGLON = re.compile(
    rf'<li><p><a [^>]*href="[^"]*/{NOMBRE}\.(?P<que>pdf|epub|zip)"[^>]*>(?P<nombre>[^<]*)</a>'
    r"(?P<para>[^<]*)</p></li>\n?"
)
AQUI = Path(__file__).resolve()
HACEN = AQUI.parents[1] / "llevar"  # lo que hace los tres ficheros


def coloca(sitio: Path, carpeta: Path) -> set[str]:
    """Pone en el sitio, en ``llevar``, lo que hay hecho en ``carpeta``; dice qué hay."""
    hechos = {que for que in QUE if (carpeta / f"{NOMBRE}.{que}").exists()}
    for que in QUE:
        origen, destino = carpeta / f"{NOMBRE}.{que}", sitio / CARPETA / f"{NOMBRE}.{que}"
        if que not in hechos or destino.exists() and destino.samefile(origen):
            continue
        destino.parent.mkdir(exist_ok=True)
        destino.unlink(missing_ok=True)
        try:
            os.link(origen, destino)
        except OSError:  # otro disco, o uno sin enlaces
            shutil.copy2(origen, destino)
    return hechos


def apunta(sitio: Path, carpeta: Path | None, publicado: str) -> None:
    """Coloca en ``sitio`` lo que hay en ``carpeta`` y lo enlaza desde la portada.

    Lo que no está, o todo si no hay carpeta, se enlaza con la dirección donde se publica. Al
    publicar (``LIBRO_DIRECCION``) los enlaces no se tocan: ya son los de la dirección.
    """
    portada = sitio / "intro.html"
    if not portada.exists():
        return
    hechos = coloca(sitio, carpeta) if carpeta is not None else set()
    if os.environ.get("LIBRO_DIRECCION"):
        return

    def destino(encaje: re.Match[str]) -> str:
        fichero = f"{CARPETA}/{NOMBRE}.{encaje[2]}"
        if encaje[2] in hechos:
            return f'href="{fichero}"'
        de_fuera = encaje[1].startswith("http")
        return encaje[0] if de_fuera else f'href="{publicado.rstrip("/")}/{fichero}"'

    texto = portada.read_text(encoding="utf-8")
    nuevo = ENLACE.sub(destino, texto)
    if nuevo != texto:
        portada.write_text(nuevo, encoding="utf-8")


# --- ¿Sigue siendo de estas páginas? --------------------------------------------------------------


def huella(sitio: Path) -> str:
    """La huella de un sitio y de lo que hace con él los tres ficheros.

    De la portada no cuenta adónde lleva a ellos, que cambia al hacerlos.
    """
    suma = hashlib.sha256()
    for ruta in (AQUI, *sorted(x for x in HACEN.iterdir() if x.is_file())):
        suma.update(ruta.read_bytes())
    for ruta in sorted(p for p in sitio.rglob("*") if p.is_file()):
        relativa, contenido = ruta.relative_to(sitio), ruta.read_bytes()
        if relativa.parts[0] == CARPETA:
            continue
        if relativa.as_posix() == "intro.html":
            contenido = ENLACE.sub(r"\2", contenido.decode()).encode()
        suma.update(f"{relativa.as_posix()}\0{len(contenido)}\0".encode() + contenido)
    return suma.hexdigest()


def sella(que: str, sitio: Path, carpeta: Path) -> None:
    """Apunta que lo que se acaba de hacer es de estas páginas."""
    ruta, sello = carpeta / ".sellos.json", _sello(que, huella(sitio), carpeta)
    ruta.write_text(json.dumps(_sellos(carpeta) | {que: sello}), encoding="utf-8")


def al_dia(que: str, sitio: Path, carpeta: Path) -> bool:
    """Si lo que hay en ``carpeta`` se hizo con estas páginas; el zip, además, con estos otros."""
    fichero = carpeta / f"{NOMBRE}.{que}"
    return fichero.exists() and _sellos(carpeta).get(que) == _sello(que, huella(sitio), carpeta)


def _sellos(carpeta: Path) -> dict[str, str]:
    ruta = carpeta / ".sellos.json"
    return json.loads(ruta.read_text(encoding="utf-8")) if ruta.exists() else {}


def _sello(que: str, marca: str, carpeta: Path) -> str:
    dentro = _recientes(marca, carpeta) if que == "zip" else []
    return " ".join([marca, *(hashlib.sha256(p.read_bytes()).hexdigest() for p in dentro)])


def recientes(sitio: Path, carpeta: Path) -> list[Path]:
    """El PDF y el EPUB de ``carpeta`` que se hicieron con estas páginas."""
    return _recientes(huella(sitio), carpeta)


def _recientes(marca: str, carpeta: Path) -> list[Path]:
    hechos = [carpeta / f"{NOMBRE}.{que}" for que in ("pdf", "epub")]
    return [p for p in hechos if p.exists() and _sellos(carpeta).get(p.suffix[1:]) == marca]


def fecha() -> float:
    """La que llevan dentro los ficheros: la dicha en ``SOURCE_DATE_EPOCH``, la del último commit o,
    sin ninguno, la de ahora.
    """
    if os.environ.get("SOURCE_DATE_EPOCH"):
        return float(os.environ["SOURCE_DATE_EPOCH"])
    orden = ["git", "-C", str(HACEN), "log", "-1", "--format=%ct"]
    try:
        return float(subprocess.run(orden, capture_output=True, text=True, timeout=20).stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return time.time()


# --- La portada que viaja -------------------------------------------------------------------------


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
            enlace = f'<a class="reference external" href="{CARPETA}/{NOMBRE}.{que}">{nombre}</a>'
            return f"<li><p>{enlace}{encaje['para']}</p></li>\n"
        return encaje[0] if os.environ.get("LIBRO_DIRECCION") else ""

    return RENGLON.sub(escribe, texto)
