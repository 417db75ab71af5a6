"""El filtro de llamadas al sistema: lo que no está en la lista devuelve «operación no permitida».

Se compila una vez en el cigoto con libseccomp y cada proceso enjaulado lo carga. La lista deja
calcular, leer ficheros ya permitidos por Landlock y crear hilos; no deja crear procesos, abrir
redes, mandar señales, cambiar permisos ni tocar a otros procesos. Con ctypes: pyseccomp, lo que hay
en PyPI, también lo usa y no se toca desde 2021.
"""

from __future__ import annotations

import ctypes
import errno

PERMITE = 0x7FFF0000
_IGUAL, _CON_MASCARA = 4, 7

LIBRES = """
read write readv writev pread64 pwrite64 preadv pwritev close close_range lseek
stat fstat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat getdents64 getcwd chdir fchdir
statfs fstatfs fadvise64 ftruncate fallocate fsync fdatasync flock unlink unlinkat rename renameat renameat2
mkdir mkdirat rmdir umask
mmap mprotect munmap mremap madvise brk msync mincore membarrier rseq
futex futex_waitv set_robust_list get_robust_list set_tid_address
rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack pause restart_syscall
nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time times getrusage alarm setitimer getitimer
getpid gettid getppid getpgrp getpgid getsid getuid geteuid getgid getegid getgroups getresuid getresgid
uname sysinfo getrandom sched_yield sched_getaffinity sched_getparam sched_getscheduler sched_get_priority_max
sched_get_priority_min getcpu poll ppoll select pselect6 epoll_create1 epoll_ctl epoll_wait epoll_pwait eventfd2
pipe pipe2 dup dup2 dup3 getrlimit arch_prctl exit exit_group
""".split()

HILO = 0x00010000
SIN_NOMBRE = 0o20000000
FCNTL = (0, 1, 2, 3, 4, 5, 6, 7, 1030, 1032)
IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
PRCTL = (15, 16, 0x53564D41)


class _Condicion(ctypes.Structure):
    _fields_ = [
        ("argumento", ctypes.c_uint),
        ("operador", ctypes.c_int),
        ("a", ctypes.c_uint64),
        ("b", ctypes.c_uint64),
    ]


def biblioteca() -> ctypes.CDLL | None:
    """libseccomp, o ``None`` si no está instalada."""
    try:
        lib = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    except OSError:
        return None
    lib.seccomp_init.restype = ctypes.c_void_p
    lib.seccomp_init.argtypes = [ctypes.c_uint32]
    lib.seccomp_load.argtypes = [ctypes.c_void_p]
    lib.seccomp_syscall_resolve_name.argtypes = [ctypes.c_char_p]
    lib.seccomp_attr_set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32]
    lib.seccomp_rule_add_array.argtypes = [
        ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(_Condicion)
    ]  # fmt: skip
    return lib


class Filtro:
    """Un filtro compilado, listo para cargarse en un proceso hijo."""

    def __init__(self) -> None:
        lib = biblioteca()
        if lib is None:
            raise OSError(
                errno.ENOENT, "falta libseccomp: instala el paquete libseccomp2 de tu sistema"
            )
        self._lib = lib
        self._contexto = lib.seccomp_init(_error(errno.EPERM))
        lib.seccomp_attr_set(self._contexto, 8, 2)
        for nombre in LIBRES:
            self._regla(nombre)
        self._con_argumentos()

    def _con_argumentos(self) -> None:
        self._regla("clone", (0, _CON_MASCARA, HILO, HILO))
        self._regla("clone3", accion=_error(errno.ENOSYS))
        self._regla("openat2", accion=_error(errno.ENOSYS))
        self._regla("open", (1, _CON_MASCARA, SIN_NOMBRE, 0))
        self._regla("openat", (2, _CON_MASCARA, SIN_NOMBRE, 0))
        self._regla("prlimit64", (0, _IGUAL, 0, 0))
        for nombre, posicion, valores in (
            ("fcntl", 1, FCNTL),
            ("ioctl", 1, IOCTL),
            ("prctl", 0, PRCTL),
        ):
            for valor in valores:
                self._regla(nombre, (posicion, _IGUAL, valor, 0))

    def _regla(
        self, nombre: str, *condiciones: tuple[int, int, int, int], accion: int = PERMITE
    ) -> None:
        numero = self._lib.seccomp_syscall_resolve_name(nombre.encode())
        if numero < 0:
            return
        matriz = (_Condicion * max(1, len(condiciones)))(*(_Condicion(*c) for c in condiciones))
        if (
            self._lib.seccomp_rule_add_array(
                self._contexto, accion, numero, len(condiciones), matriz
            )
            != 0
        ):
            raise OSError(errno.EINVAL, f"seccomp: no se puede añadir la regla de {nombre}")

    def carga(self) -> None:
        """Aplica el filtro a este proceso, sin vuelta atrás."""
        resultado = self._lib.seccomp_load(self._contexto)
        if resultado != 0:
            raise OSError(-resultado, "seccomp: el núcleo no acepta el filtro")


def _error(numero: int) -> int:
    return 0x00050000 | numero
