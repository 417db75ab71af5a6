"""El cigoto: un proceso que importa torch una vez, no calcula nada y da a luz hijos enjaulados.

Tiene un solo hilo (un proceso que ha calculado con dos cuelga a sus hijos) y un solo hijo vivo a la
vez. Habla con el padre por un socket: ``abre`` trae dos tuberías y contesta con un hijo nuevo;
``cierra`` mata lo que quede de él. Si el padre muere, el socket se cierra y el cigoto muere tras
matar a su hijo.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from calificador.jaula import alumno, encierro, lectura

NECESARIOS = (
    "torch",
    "safetensors.torch",
    "numpy",
    "calificador.jaula.marcos",
    "resource",
    "fcntl",
    "jaxtyping",
)
# Lo que torch importa tarde. Si la referencia lo necesitó, se importa aquí una vez, y no en cada
# hijo y con su reloj.
TARDIOS = ("torch.fx.experimental.symbolic_shapes", "torch._dynamo", "torch.distributions")
# Con muchas entregas por delante compensa importar todo lo que alguna podría usar.
PEREZOSOS = (
    *TARDIOS,
    "einops",
    "beartype",
    "atento.shapes",
    "atento.masks",
    "atento.similarity",
    "atento.attention",
    "figuras.notebook",
    "matplotlib.pyplot",
)


def importa(modulos: tuple[str, ...]) -> None:
    """Importa lo que se pueda de una lista."""
    for modulo in modulos:
        with contextlib.suppress(Exception):
            importlib.import_module(modulo)


def lee_exacto(descriptor: int, cuantos: int) -> bytes:
    """Lee justo ``cuantos`` bytes; si la tubería se cierra, ``EOFError``."""
    trozos = bytearray()
    while len(trozos) < cuantos:
        trozo = os.read(descriptor, min(cuantos - len(trozos), 1 << 20))
        if not trozo:
            raise EOFError
        trozos += trozo
    return bytes(trozos)


def escribe_todo(descriptor: int, datos: bytes) -> None:
    """Escribe todos los bytes."""
    vista = memoryview(datos)
    while vista:
        vista = vista[os.write(descriptor, vista) :]


def atiende(lectura: int, escritura: int) -> None:
    """El bucle del hijo: del primer marco al cierre de la tubería."""
    import torch

    torch.set_num_threads(1)
    alumno.bucle(lambda n: lee_exacto(lectura, n), lambda datos: escribe_todo(escritura, datos))


def _hijo(jaula: encierro.Jaula, orden: dict[str, Any], tuberias: tuple[int, int]) -> None:
    try:
        for nombre in (
            "HOME",
            "TMPDIR",
            "MPLCONFIGDIR",
            "XDG_CACHE_HOME",
            "TORCHINDUCTOR_CACHE_DIR",
        ):
            os.environ[nombre] = orden["carpeta"]
        tempfile.tempdir = orden[
            "carpeta"
        ]  # buscarla borra un fichero de prueba, y en media no se puede borrar
        atiende(*jaula.encierra(orden["carpeta"], orden["limites"], tuberias))
    except BrokenPipeError:
        pass
    except OSError as error:
        # Falló la jaula o el canal: se dice por la tubería si aún se puede; sin jaula no se ejecuta
        # nada.
        with contextlib.suppress(OSError):
            os.write(tuberias[1], b"JAULA " + str(error).encode()[:400])
    finally:
        os._exit(0)


def _hijos() -> list[int]:
    """Procesos cuyo padre es este."""
    propio, hijos = str(os.getpid()), []
    for carpeta in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (carpeta / "stat").read_text().rpartition(")")[2].split()[1] == propio:
                hijos.append(int(carpeta.name))
    return hijos


def mata(pid: int) -> dict[str, Any]:
    """Mata al hijo y a todo lo que dejó; vuelve cuando no queda nada vivo. Dice cómo acabó."""
    for objetivo in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            objetivo(pid, signal.SIGKILL)
    _, estado, uso = os.wait4(pid, 0)
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                for huerfano in _hijos():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(huerfano, signal.SIGKILL)
                select.select([], [], [], 0.002)
        except ChildProcessError:
            break
    return {
        "codigo": os.waitstatus_to_exitcode(estado),
        "cpu": uso.ru_utime + uso.ru_stime,
        "memoria": uso.ru_maxrss,
    }


class Servicio:
    """El bucle que atiende al padre."""

    def __init__(self, control: socket.socket, nivel: str) -> None:
        self.control = control
        self.jaula = encierro.Jaula(nivel)
        self.hijo: int | None = None

    def vive(self) -> None:
        """Atiende órdenes hasta que el padre cierre el socket."""
        gc.collect()
        gc.freeze()
        self._contesta({"listo": True})
        while True:
            datos, descriptores, _, _ = socket.recv_fds(self.control, 65536, 2)
            if not datos:
                break
            orden = json.loads(datos)
            self._contesta(
                self._abre(orden, descriptores) if orden["orden"] == "abre" else self._cierra()
            )
        self._cierra()

    def _abre(self, orden: dict[str, Any], tuberias: list[int]) -> dict[str, Any]:
        self._cierra()
        importa(tuple(m for m in TARDIOS if m in orden["usados"] and m not in sys.modules))
        pid = os.fork()
        if pid == 0:
            _hijo(self.jaula, orden, (tuberias[0], tuberias[1]))
        for descriptor in tuberias:
            os.close(descriptor)
        self.hijo = pid
        return {"pid": pid}

    def _cierra(self) -> dict[str, Any]:
        if self.hijo is None:
            return {}
        pid, self.hijo = self.hijo, None
        return mata(pid)

    def _contesta(self, mensaje: dict[str, Any]) -> None:
        self.control.sendall(json.dumps(mensaje).encode() + b"\n")


def _cerrado(control: socket.socket) -> bool:
    """¿Ya no hay nadie al otro lado?"""
    return bool(select.select([control], [], [], 0)[0]) and not control.recv(1, socket.MSG_PEEK)


def _sirve(control: socket.socket, nivel: str, *, completo: bool) -> None:
    """Prepara la jaula y atiende al padre hasta que cierre el socket."""
    # Mientras importa no mira el socket: si entre tanto muere el padre, que muera con él. Después,
    # no: ha de acabar antes con lo que haya dejado la entrega.
    encierro.muere_con_el_padre()
    if _cerrado(control):
        return
    encierro.adopta_huerfanos()
    importa(NECESARIOS + (PEREZOSOS if completo else ()))
    try:
        servicio = Servicio(control, nivel)
    except (OSError, ValueError) as error:
        control.sendall(json.dumps({"fallo": str(error)}).encode() + b"\n")
        return
    encierro.no_muere_con_el_padre()
    with contextlib.suppress(ConnectionError, BrokenPipeError):
        servicio.vive()


def nace(
    control: socket.socket, nivel: str, entorno: dict[str, str], *, completo: bool
) -> NoReturn:
    """El cigoto como bifurcación de quien corrige: comparte torch ya importado y olvida lo demás.
    No vuelve.

    Solo vale antes de leer el registro o una solución: el hijo hereda la memoria. También hereda,
    fuera de ``os.environ``, las variables de quien lo lanzó: es para corregirse uno mismo, no para
    entregas ajenas.
    """
    try:
        nulo = os.open(os.devnull, os.O_RDWR)
        for destino in (0, 1, 2):
            os.dup2(nulo, destino)
        os.closerange(3, control.fileno())
        os.closerange(control.fileno() + 1, 65536)
        os.environ.clear()
        os.environ.update(entorno)
        raices = {str(lectura.PAQUETE.parent), *entorno["PYTHONPATH"].split(os.pathsep)}
        sys.path[:] = [r for r in sys.path if r in raices or r.startswith(sys.base_prefix)]
        os.chdir(tempfile.gettempdir())
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        encierro.inspeccionable()
        _sirve(control, nivel, completo=completo)
    finally:
        os._exit(0)


def main() -> None:
    """``python -m calificador.jaula.cigoto NIVEL DESCRIPTOR [completo]``, o ``frio`` para una sola
    entrega por stdin.

    ``completo`` importa también lo que los ejercicios suelen importar tarde: compensa si se van a
    corregir muchos.
    """
    if sys.argv[1] == "frio":
        lee, escribe = os.dup(0), os.dup(1)
        nulo = os.open(os.devnull, os.O_RDWR)
        for destino in (0, 1, 2):
            os.dup2(nulo, destino)
        importa(("torch",))  # antes del límite: el de CUDA no cabe en él
        with contextlib.suppress(ImportError):
            encierro.limita(encierro.Limites().como_json(), encierro.memoria_virtual())
        atiende(lee, escribe)
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _sirve(socket.socket(fileno=int(sys.argv[2])), sys.argv[1], completo="completo" in sys.argv[3:])
    os._exit(0)  # no hay nada que guardar, y desmontar torch con orden tarda


if __name__ == "__main__":
    main()
