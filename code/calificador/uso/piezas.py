"""Del disco o de un zip a ficheros sueltos, en memoria y con topes: nada se extrae ni se ejecuta.

Lo que escribió quien entrega se lee con un :class:`Presupuesto` de bytes, ficheros y segundos; lo
raro de un fichero es una incidencia de una línea y la lectura sigue con los demás.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from calificador.uso.identidad import sobra, visible

MAXIMO_FICHERO = 1 << 20
MAXIMO_CUADERNO = 8 << 20
MAXIMO_ZIP = 32 << 20
MAXIMO_ENTRADAS = 300
MAXIMO_NOMBRE = 400
MAXIMO_COMPRESION = 200
INDICE_DE_ALUMNO = 256 << 10
INDICE_DE_CLASE = 16 << 20
SEGUNDOS = 30.0
TOPES = {".py": MAXIMO_FICHERO, ".ipynb": MAXIMO_CUADERNO, ".zip": MAXIMO_ZIP}
IGNORADOS = ("__MACOSX", "__pycache__", ".ipynb_checkpoints")


class Exceso(Exception):
    """Una entrega se pasa de bytes, de ficheros o de tiempo: se deja de leer."""


@dataclass
class Presupuesto:
    """Lo que se está dispuesto a leer de una persona. ``zips``: si se abren los que traiga."""

    octetos: int = 2 * MAXIMO_ZIP
    ficheros: int = MAXIMO_ENTRADAS
    zips: bool = True
    fin: float = field(default_factory=lambda: time.monotonic() + SEGUNDOS)

    def gasta(self, octetos: int = 0, ficheros: int = 0) -> None:
        """Descuenta lo leído; :class:`Exceso` si ya no queda."""
        self.octetos -= octetos
        self.ficheros -= ficheros
        if self.ficheros < 0:
            raise Exceso(f"más de {MAXIMO_ENTRADAS} ficheros: se dejan de leer")
        if self.octetos < 0:
            raise Exceso(f"ocupa más de {2 * MAXIMO_ZIP >> 20} MiB en total: se deja de leer")
        if time.monotonic() > self.fin:
            raise Exceso(f"se tarda más de {SEGUNDOS:.0f} s en leerla: se deja de leer")


@dataclass(frozen=True)
class Pieza:
    """Un fichero suelto: cómo se llama y qué contiene, o por qué no se pudo leer."""

    fichero: str
    datos: bytes = b""
    incidencia: str = ""


def _mala(fichero: str, motivo: object) -> Pieza:
    return Pieza(fichero[:MAXIMO_NOMBRE], incidencia=f"{visible(fichero)}: {motivo}")


def de_servicio(ruta: PurePosixPath) -> bool:
    """¿Lo puso un programa, no una persona? Cachés y ficheros ocultos de macOS."""
    return any(p in IGNORADOS for p in ruta.parts) or ruta.name.startswith("._")


def interesa(ruta: PurePosixPath) -> bool:
    """¿Puede llevar código?"""
    lleva = ruta.suffix.lower() in TOPES or bool(sobra(ruta.name))
    return lleva and not de_servicio(ruta)


def mal_llamado(nombre: str) -> str:
    """Qué se le dice a quien entregó ``cap06.py.txt``; si se llama bien, la cadena vacía."""
    de_mas = sobra(nombre)
    return f"no se lee: quita «{de_mas}» del final de su nombre" if de_mas else ""


# --- Del disco ----------------------------------------------------------------------------------


def lee_fichero(ruta: Path, tope: int) -> bytes:
    """Lee un fichero normal sin seguir enlaces; ``ValueError`` con el motivo si no se puede."""
    try:
        descriptor = os.open(
            ruta, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        )
    except OSError as error:
        if error.errno == errno.ELOOP or ruta.is_symlink():
            raise ValueError("es un enlace simbólico: no se sigue") from None
        raise ValueError(f"no se puede leer ({error.strerror})") from None
    with os.fdopen(descriptor, "rb") as fichero:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("no es un fichero normal")
        datos = fichero.read(tope + 1)
    if len(datos) > tope:
        raise ValueError(f"ocupa más de {tope >> 20} MiB")
    return datos


def de_fichero(ruta: Path, nombre: str, presupuesto: Presupuesto) -> Iterator[Pieza]:
    """Lo que trae un fichero: él mismo o, si es un zip, lo que lleva dentro."""
    sufijo = ruta.suffix.lower()
    if motivo := mal_llamado(nombre):
        yield _mala(nombre, motivo)
        return
    if sufijo not in TOPES or (sufijo == ".zip" and not presupuesto.zips):
        return
    try:
        datos = lee_fichero(ruta, TOPES[sufijo])
    except ValueError as error:
        yield _mala(nombre, error)
        return
    presupuesto.gasta(len(datos), 1)
    if sufijo == ".zip":
        yield from de_zip(datos, nombre, presupuesto)
    else:
        yield Pieza(nombre, datos)


def de_carpeta(carpeta: Path, presupuesto: Presupuesto) -> Iterator[Pieza]:
    """Todo lo que hay en una carpeta, sin seguir enlaces."""
    for donde, carpetas, ficheros in os.walk(carpeta, followlinks=False):
        enlazadas = [c for c in carpetas if (Path(donde) / c).is_symlink()]
        carpetas[:] = sorted(c for c in carpetas if c not in IGNORADOS and c not in enlazadas)
        for nombre in sorted(ficheros + enlazadas):
            presupuesto.gasta(ficheros=1)
            ruta = Path(donde) / nombre
            relativa = ruta.relative_to(carpeta).as_posix()
            if nombre in enlazadas:
                yield _mala(relativa, "es un enlace simbólico: no se sigue")
            elif interesa(PurePosixPath(relativa)):
                presupuesto.gasta(ficheros=-1)
                yield from de_fichero(ruta, relativa, presupuesto)


# --- De un zip ----------------------------------------------------------------------------------


class _Acotado:
    """Un fichero que, mientras se abre el zip, no deja leer un índice enorme: ``zipfile`` lo lee de
    una vez.
    """

    def __init__(self, fichero: Any, tope: int) -> None:
        self._fichero, self.tope = fichero, tope

    def read(self, cuantos: int = -1) -> bytes:
        if self.tope and cuantos > self.tope:
            raise Exceso(f"más de {MAXIMO_ENTRADAS} ficheros; no se abre")
        return self._fichero.read(cuantos)

    def __getattr__(self, nombre: str) -> Any:
        return getattr(self._fichero, nombre)


def abre_zip(fichero: Any, indice: int) -> zipfile.ZipFile:
    """Abre un zip cuyo índice ocupa, como mucho, ``indice`` bytes."""
    acotado = _Acotado(fichero, indice)
    archivo = zipfile.ZipFile(acotado)
    acotado.tope = 0
    return archivo


def de_zip(datos: bytes, nombre: str, presupuesto: Presupuesto) -> Iterator[Pieza]:
    """Los ``.py`` y ``.ipynb`` del zip de una persona. Un zip dentro de él no se abre, y se
    dice."""
    try:
        with abre_zip(io.BytesIO(datos), INDICE_DE_ALUMNO) as archivo:
            entradas = archivo.infolist()
            if len(entradas) > MAXIMO_ENTRADAS:
                raise Exceso(f"más de {MAXIMO_ENTRADAS} ficheros; no se abre")
            for entrada in entradas:
                yield from de_entrada(
                    archivo, entrada, ruta_de(entrada), visible(nombre), presupuesto, anidado=True
                )
    except Exceso as exceso:
        yield _mala(nombre, exceso)
    except Exception:  # noqa: BLE001
        # frontera: un zip ajeno puede romper zipfile de muchas maneras
        yield _mala(nombre, "el zip está roto o cifrado")


def ruta_de(entrada: zipfile.ZipInfo) -> PurePosixPath:
    """La ruta de una entrada, también si se hizo en Windows."""
    return PurePosixPath(entrada.filename[: MAXIMO_NOMBRE + 1].replace("\\", "/"))


def de_entrada(
    archivo: zipfile.ZipFile,
    entrada: zipfile.ZipInfo,
    ruta: PurePosixPath,
    zip_: str,
    presupuesto: Presupuesto,
    *,
    anidado: bool,
) -> Iterator[Pieza]:
    """Lo que trae una entrada. Si no es de un zip ``anidado`` y es otro zip, lo que lleva
    dentro."""
    if entrada.is_dir() or de_servicio(ruta):
        return
    motivo = _rechazo(entrada, ruta) or mal_llamado(ruta.name)
    if not motivo and not interesa(ruta):
        return
    presupuesto.gasta(ficheros=1)
    sufijo = ruta.suffix.lower()
    nombre = f"{zip_}: {ruta}"
    if not motivo and sufijo == ".zip" and anidado:
        motivo = "es un zip dentro de otro: no se abre"
    if motivo:
        yield _mala(nombre, motivo)
        return
    try:
        with archivo.open(entrada) as fichero:
            datos = fichero.read(TOPES[sufijo] + 1)
    except Exception:  # noqa: BLE001 - frontera: datos comprimidos ajenos
        yield _mala(nombre, "el zip está roto o cifrado")
        return
    presupuesto.gasta(len(datos))
    if len(datos) > TOPES[sufijo]:
        yield _mala(nombre, "ocupa demasiado al descomprimirse; se descarta")
    elif sufijo == ".zip":
        yield from de_zip(datos, str(ruta), presupuesto)
    else:
        yield Pieza(str(ruta), datos)


def _rechazo(entrada: zipfile.ZipInfo, ruta: PurePosixPath) -> str:
    """Por qué no se lee una entrada, o la cadena vacía."""
    if len(entrada.filename) > MAXIMO_NOMBRE:
        return "tiene un nombre demasiado largo"
    if ruta.is_absolute() or ".." in ruta.parts or re.match(r"^[A-Za-z]:", entrada.filename):
        return "quiere salir de su carpeta; se descarta"
    if stat.S_ISLNK(entrada.external_attr >> 16):
        return "es un enlace simbólico: no se sigue"
    if ruta.suffix.lower() not in TOPES or de_servicio(ruta):
        return ""
    if entrada.flag_bits & 1:
        return "está cifrado"
    bomba = entrada.file_size > 1 << 16 and entrada.file_size > MAXIMO_COMPRESION * max(
        1, entrada.compress_size
    )
    if bomba or entrada.file_size > TOPES[ruta.suffix.lower()]:
        return "ocupa demasiado al descomprimirse; se descarta"
    return ""
