"""Escritura atómica: un fichero está entero o no está, aunque se corte la luz."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MOTIVOS = {
    errno.ENOSPC: "no queda sitio en el disco",
    errno.EDQUOT: "se acabó el sitio que tienes en ese disco",
    errno.EROFS: "el disco es de solo lectura",
    errno.EACCES: "no hay permiso",
}
LLENO = (errno.ENOSPC, errno.EDQUOT)


def motivo(error: OSError) -> str:
    """Por qué falló el sistema y, si falta sitio, qué hacer."""
    dicho = MOTIVOS.get(error.errno or 0, error.strerror or str(error))
    if error.errno in LLENO:
        dicho += (
            ": libera espacio o usa otra carpeta, y repite la misma orden; lo que ya estaba hecho"
            " está guardado"
        )
    return dicho


def escribe(ruta: Path, datos: bytes, *, nuevo: bool = False, comun: bool = False) -> None:
    """Escribe en un temporal de la misma carpeta, lo lleva al disco y lo renombra.

    Solo lo puede leer quien lo escribe (son notas), salvo que sea ``comun``. Con ``nuevo``, no pisa
    lo que hubiera. El nombre del temporal se sabe antes de crearlo: si una señal interrumpe en
    cualquier punto, se borra. Errores: ``FileExistsError``.
    """
    with _de(ruta):
        _escribe(ruta, datos, nuevo=nuevo, comun=comun)


@contextlib.contextmanager
def _de(ruta: Path) -> Iterator[None]:
    """Un fallo al escribir dice en qué fichero: el sistema, a veces, no."""
    try:
        yield
    except OSError as error:
        if error.errno in LLENO:
            error.filename = str(ruta)
        raise


def _escribe(ruta: Path, datos: bytes, *, nuevo: bool, comun: bool) -> None:
    ruta.parent.mkdir(parents=True, exist_ok=True)
    temporal = str(ruta.parent / f".tmp-{secrets.token_hex(8)}")
    try:
        with open(temporal, "xb", opener=_privado) as fichero:
            fichero.write(datos)
            fichero.flush()
            os.fsync(fichero.fileno())
        if comun:
            os.chmod(temporal, 0o666 & ~_mascara())
        _estrena(temporal, ruta) if nuevo else os.replace(temporal, ruta)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporal)
        raise
    _sincroniza_carpeta(ruta.parent)


def _privado(ruta: str, banderas: int) -> int:
    return os.open(ruta, banderas, 0o600)


def _mascara() -> int:
    mascara = os.umask(0o077)
    os.umask(mascara)
    return mascara


def _estrena(temporal: str, ruta: Path) -> None:
    """Pone el temporal en su sitio solo si está libre, también donde no hay enlaces duros."""
    try:
        os.link(temporal, ruta)
    except FileExistsError:
        raise
    except OSError:
        if ruta.exists():
            raise FileExistsError(str(ruta)) from None
        os.replace(temporal, ruta)
        return
    os.unlink(temporal)


def _sincroniza_carpeta(carpeta: Path) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(carpeta, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def escribe_json(ruta: Path, datos: Any, *, nuevo: bool = False) -> None:
    """Como :func:`escribe`, en JSON legible."""
    texto = json.dumps(datos, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    escribe(ruta, texto.encode("utf-8", "replace"), nuevo=nuevo)


def lee_json(ruta: Path) -> Any:
    """El contenido, o ``None`` si no existe o está roto."""
    try:
        return json.loads(ruta.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def barre_temporales(carpeta: Path) -> None:
    """Borra lo que dejó a medias un proceso que murió escribiendo."""
    for temporal in carpeta.glob(".tmp-*"):
        with contextlib.suppress(OSError):
            temporal.unlink()
