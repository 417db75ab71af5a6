"""Landlock con llamadas al sistema directas: una lista de lo único que un proceso puede abrir.

Véase Documentation/userspace-api/landlock.rst del núcleo de Linux. Los números de las tres llamadas
son los mismos en todas las arquitecturas. Con ctypes: lo que hay en PyPI (``py-landlock`` 0.1) está
en fase alfa y también lo usa.
"""

from __future__ import annotations

import ctypes
import os
import stat
from pathlib import Path

_CREA, _ANADE, _RESTRINGE = 444, 445, 446
_SOLO_VERSION, _BAJO_RUTA = 1, 1

EJECUTAR, ESCRIBIR, LEER, LISTAR, QUITAR_DIR, QUITAR = (1 << i for i in range(6))
CREAR_FICHERO, TRUNCAR = 1 << 8, 1 << 14
_SOBRE_FICHEROS = EJECUTAR | ESCRIBIR | LEER | TRUNCAR | (1 << 15)
_BITS_POR_VERSION = {1: 13, 2: 14, 3: 15, 4: 15}

_libc = ctypes.CDLL(None, use_errno=True)


class _Reglas(ctypes.Structure):
    _fields_ = [
        ("ficheros", ctypes.c_uint64),
        ("red", ctypes.c_uint64),
        ("ambitos", ctypes.c_uint64),
    ]


class _BajoRuta(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("permisos", ctypes.c_uint64), ("descriptor", ctypes.c_int32)]


def version() -> int:
    """Versión de Landlock del núcleo, o 0 si no lo hay."""
    return max(0, _libc.syscall(_CREA, None, ctypes.c_size_t(0), ctypes.c_uint32(_SOLO_VERSION)))


def _comprueba(resultado: int, que: str) -> int:
    if resultado < 0:
        numero = ctypes.get_errno()
        raise OSError(numero, f"Landlock: {que}: {os.strerror(numero)}")
    return resultado


def todos_los_permisos() -> int:
    """Máscara de todo lo que esta versión sabe vigilar."""
    return (1 << _BITS_POR_VERSION.get(version(), 16)) - 1


def crea() -> int:
    """Un conjunto de reglas que lo prohíbe todo: ficheros, TCP y señales a procesos de fuera."""
    actual = version()
    reglas = _Reglas(todos_los_permisos(), 0b11 if actual >= 4 else 0, 0b11 if actual >= 6 else 0)
    tamano = 8 if actual < 4 else 16 if actual < 6 else 24
    return _comprueba(
        _libc.syscall(_CREA, ctypes.byref(reglas), ctypes.c_size_t(tamano), ctypes.c_uint32(0)),
        "crear",
    )


def permite(reglas: int, descriptor: int, permisos: int) -> None:
    """Añade una excepción: ``permisos`` bajo el fichero o la carpeta abiertos en ``descriptor``."""
    if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
        permisos &= _SOBRE_FICHEROS
    bajo = _BajoRuta(permisos & todos_los_permisos(), descriptor)
    _comprueba(
        _libc.syscall(_ANADE, reglas, _BAJO_RUTA, ctypes.byref(bajo), ctypes.c_uint32(0)), "añadir"
    )


def encierra(reglas: int) -> None:
    """Aplica las reglas a este proceso y a los que nazcan de él, sin vuelta atrás (antes,
    ``no_new_privs``).
    """
    _comprueba(_libc.syscall(_RESTRINGE, reglas, ctypes.c_uint32(0)), "aplicar")


def abre(ruta: Path) -> int | None:
    """Descriptor que solo nombra la ruta (O_PATH), o ``None`` si no existe o no es para este
    usuario.

    Errores: ``OSError`` con cualquier otra causa, como demasiados descriptores abiertos.
    """
    try:
        return os.open(ruta, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
