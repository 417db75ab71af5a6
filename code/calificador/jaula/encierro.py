"""La jaula: lo que se quita a un proceso antes de dejarle ejecutar código ajeno.

Tres niveles. ``basica``: proceso aparte y límites de recursos (sirve para corregirse uno mismo).
``media``: además Landlock y seccomp, sin ser administrador. ``fuerte``: además espacios de nombres
propios (usuarios, red, procesos, IPC, montajes) y un disco en memoria pequeño. Linux fuera de aquí
es ``basica``.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from calificador.jaula import lectura

NIVELES = ("basica", "media", "fuerte")
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS, _PR_SET_CHILD_SUBREAPER = 1, 4, 38, 36
_NS_MONTAJES, _NS_NOMBRES, _NS_IPC, _NS_USUARIOS, _NS_PROCESOS, _NS_RED = (
    0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
_MS_SOLO_LECTURA, _MS_CAUTO, _MS_PRIVADO = 1, 2 | 4 | 8, 16384 | (1 << 18)
EN_LINUX = sys.platform == "linux"
_libc = ctypes.CDLL(None, use_errno=True) if EN_LINUX else None


@dataclass(frozen=True)
class Limites:
    """Topes de un ejercicio. Los tiempos van en segundos; las memorias, en bytes."""

    carga: float = 5.0
    caso: float = 4.0
    total: float = 8.0
    cpu: int = 10
    memoria: int = 1 << 30
    fichero: int = 4 << 20
    disco: int = 16 << 20
    ficheros: int = 64
    descriptores: int = 48

    def como_json(self) -> dict[str, Any]:
        """Los límites, listos para viajar al cigoto."""
        return asdict(self)


def _llama(funcion: str, *args: Any) -> None:
    if getattr(_libc, funcion)(*args) != 0:
        numero = ctypes.get_errno()
        raise OSError(numero, f"{funcion}: {os.strerror(numero)}")


def prctl(opcion: int, valor: int) -> None:
    """``prctl(2)`` con un argumento; fuera de Linux no hace nada."""
    if EN_LINUX:
        _llama("prctl", opcion, ctypes.c_ulong(valor), 0, 0, 0)


def no_inspeccionable() -> None:
    """Impide que otro proceso del mismo usuario lea la memoria de este."""
    prctl(_PR_SET_DUMPABLE, 0)


def inspeccionable() -> None:
    """Deshace lo anterior en un proceso recién bifurcado: si no, ni él mismo puede escribir en su
    ``/proc/self``.
    """
    prctl(_PR_SET_DUMPABLE, 1)


def adopta_huerfanos() -> None:
    """Los nietos que se queden sin padre pasan a ser hijos de este proceso."""
    prctl(_PR_SET_CHILD_SUBREAPER, 1)


def muere_con_el_padre() -> None:
    """El núcleo mata este proceso si muere el que lo creó."""
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def no_muere_con_el_padre() -> None:
    """Deshace lo anterior."""
    prctl(_PR_SET_PDEATHSIG, 0)


# --- La jaula -------------------------------------------------------------------------------------


class Jaula:
    """Se prepara una vez en el cigoto y se cierra en cada hijo con :meth:`encierra`."""

    def __init__(self, nivel: str) -> None:
        if nivel not in NIVELES:
            raise ValueError(f"nivel: llegó {nivel!r}; se esperaba {', '.join(NIVELES)}")
        if nivel != "basica" and not EN_LINUX:
            raise OSError(f"la jaula {nivel} solo existe en Linux")
        self.nivel = nivel
        self._abiertas: list[tuple[int, int]] = []
        self._vedadas = lectura.carpetas_vedadas()
        if nivel != "basica":
            from calificador.jaula.seccomp import Filtro

            self._filtro = Filtro()
            self._abre_rutas()

    def _abre_rutas(self) -> None:
        from calificador.jaula import landlock

        if landlock.version() < 1:
            raise OSError(
                "el núcleo no tiene Landlock (hace falta Linux 5.13 o posterior, con lsm=landlock)"
            )
        permisos = {
            r: landlock.LISTAR | (landlock.LEER if entera else 0)
            for r, entera in lectura.legibles().items()
        }
        permisos |= {
            Path("/dev/null"): landlock.LEER | landlock.ESCRIBIR,
            Path("/dev/urandom"): landlock.LEER,
        }
        _admite_descriptores(len(permisos) + 64)
        for ruta, que in permisos.items():
            descriptor = landlock.abre(ruta)
            if descriptor is not None:
                self._abiertas.append((descriptor, que))

    def encierra(
        self, carpeta: str, limites: Mapping[str, Any], tuberias: tuple[int, int]
    ) -> tuple[int, int]:
        """Se llama en el hijo recién nacido. Devuelve los descriptores de lectura y escritura que
        quedan.

        Con ``fuerte`` vuelve en un nieto, primer proceso de su espacio; el hijo se queda fuera
        esperándolo.
        """
        os.setsid()
        muere_con_el_padre()
        ya_ocupa = memoria_virtual()
        if self.nivel == "fuerte":
            _aisla(carpeta, limites, self._vedadas)
        os.chdir(carpeta)
        if self.nivel != "basica":
            _sin_privilegios()
            self._cierra_ficheros(carpeta)
        finales = _solo_estas(tuberias)
        limita(
            limites, ya_ocupa
        )  # después de cerrar: el tope de descriptores no cuenta los del cigoto
        no_inspeccionable()
        if self.nivel != "basica":
            self._filtro.carga()
        return finales

    def _cierra_ficheros(self, carpeta: str) -> None:
        from calificador.jaula import landlock

        reglas = landlock.crea()
        for descriptor, que in self._abiertas:
            landlock.permite(reglas, descriptor, que)
        propia = landlock.abre(Path(carpeta))
        if propia is None:
            raise OSError(f"la carpeta de trabajo {carpeta} ya no existe")
        en_disco = (
            landlock.LEER
            | landlock.LISTAR
            | landlock.ESCRIBIR
            | landlock.TRUNCAR
            | landlock.CREAR_FICHERO
        )
        # En media no se puede borrar: así el padre ve, y mide, todo lo que la entrega ocupa.
        landlock.permite(
            reglas, propia, en_disco if self.nivel == "media" else landlock.todos_los_permisos()
        )
        landlock.encierra(reglas)


def _admite_descriptores(cuantos: int) -> None:
    """Sube el tope propio de descriptores abiertos si no llega: hay uno por ruta permitida."""
    import resource

    blando, duro = resource.getrlimit(resource.RLIMIT_NOFILE)
    if blando < cuantos:
        nuevo = cuantos if duro == resource.RLIM_INFINITY else min(cuantos, duro)
        resource.setrlimit(resource.RLIMIT_NOFILE, (nuevo, duro))


def limita(limites: Mapping[str, Any], ya_ocupa: int) -> None:
    """Límites de recursos del proceso; los que el sistema no conoce se saltan.

    ``ya_ocupa``: memoria virtual antes de empezar (torch reserva mucha que no usa); el límite se
    cuenta desde ahí.
    """
    import resource

    topes = {
        "RLIMIT_CPU": limites["cpu"],
        "RLIMIT_AS": ya_ocupa + limites["memoria"],
        "RLIMIT_FSIZE": limites["fichero"],
        "RLIMIT_NOFILE": limites["descriptores"],
        "RLIMIT_CORE": 0,
        "RLIMIT_MSGQUEUE": 0,
    }
    for nombre, tope in topes.items():
        try:
            resource.setrlimit(getattr(resource, nombre), (tope, tope))
        except (AttributeError, ValueError, OSError):
            continue


def memoria_virtual() -> int:
    """Memoria virtual de este proceso, en bytes; donde no se puede saber, una cota generosa."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 6 << 30


def _solo_estas(tuberias: tuple[int, int]) -> tuple[int, int]:
    """Entrada y salidas a /dev/null, las dos tuberías en 3 y 4, y todo lo demás cerrado."""
    nulo = os.open(os.devnull, os.O_RDWR)
    lectura, escritura = (_sube(t) for t in tuberias)
    for destino in (0, 1, 2):
        os.dup2(nulo, destino)
    os.dup2(lectura, 3)
    os.dup2(escritura, 4)
    os.closerange(5, 65536)
    return 3, 4


def _sube(descriptor: int) -> int:
    import fcntl

    return fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10)


def _sin_privilegios() -> None:
    """Ni ganar privilegios ni conservar los que hubiera (también si se ejecuta como
    administrador)."""
    prctl(_PR_SET_NO_NEW_PRIVS, 1)
    cabecera = (ctypes.c_uint32 * 2)(0x20080522, 0)
    _llama("capset", cabecera, (ctypes.c_uint32 * 6)())


def _aisla(carpeta: str, limites: Mapping[str, Any], vedadas: list[Path]) -> None:
    """Espacios de nombres propios; sigue el nieto, que es el proceso 1 de su espacio."""
    usuario, grupo = os.geteuid(), os.getegid()
    _llama("unshare", _NS_USUARIOS | _NS_MONTAJES | _NS_RED | _NS_PROCESOS | _NS_IPC | _NS_NOMBRES)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"1000 {usuario} 1")
    Path("/proc/self/gid_map").write_text(f"1000 {grupo} 1")
    nieto = os.fork()
    if nieto:
        _espera_y_sal(nieto)
    muere_con_el_padre()
    _monta("none", "/", None, _MS_PRIVADO, None)
    _monta(
        "tmpfs",
        carpeta,
        "tmpfs",
        _MS_CAUTO,
        f"size={limites['disco']},nr_inodes={limites['ficheros']},mode=700",
    )
    for ruta in [*vedadas, Path("/proc")]:
        _monta(
            "tmpfs",
            str(ruta),
            "tmpfs",
            _MS_CAUTO | _MS_SOLO_LECTURA,
            "size=4k,nr_inodes=2,mode=000",
        )


def _monta(origen: str, destino: str, tipo: str | None, opciones: int, datos: str | None) -> None:
    codificados = [x.encode() if x is not None else None for x in (origen, destino, tipo, datos)]
    _llama("mount", *codificados[:3], ctypes.c_ulong(opciones), codificados[3])


def _espera_y_sal(nieto: int) -> None:
    os.closerange(3, 65536)
    _, estado = os.waitpid(nieto, 0)
    codigo = os.waitstatus_to_exitcode(estado)
    os._exit(128 - codigo if codigo < 0 else codigo)
