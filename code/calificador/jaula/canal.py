"""El lado del padre: abre un hijo enjaulado, le manda marcos y lee los suyos con reloj, peso y
disco vigilados.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from calificador.jaula import marcos
from calificador.jaula.encierro import EN_LINUX, Limites
from calificador.jaula.reloj import HOLGURA, Reloj

PREFIJO = "calificador-"
LATIDO = 0.02
HILOS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
# La memoria del cigoto, en páginas grandes: bifurcarlo y desmontar a cada hijo cuesta la mitad.
PAGINAS = {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
# segundos que se espera al cigoto: importar torch desde un disco frío puede tardar un minuto
PACIENCIA = 120.0


class Sesion(Protocol):
    """Una entrega abierta, en la jaula (:class:`Canal`), en frío (:class:`CanalFrio`) o en el
    propio proceso.

    ``dicho``: lo que imprimió el código hasta ahora, sin caracteres de control y recortado; vacío
    si no se pidió. ``gastado``: los segundos que se le han contado.
    """

    dicho: str
    gastado: float

    def pide(
        self, mensaje: Mapping[str, Any], tensores: Mapping[str, Any], segundos: float
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Una pregunta y su respuesta ya validada (los campos de :class:`marcos.Respuesta`) con sus
        tensores.

        Errores: :class:`Agotado` si no llega a tiempo; :class:`Roto` si llega otra cosa.
        """
        ...


class Agotado(Exception):
    """La entrega no contestó a tiempo, o llenó su carpeta."""


class Roto(Exception):
    """La entrega terminó su proceso o escribió algo que no es un marco."""


class FalloDeEntorno(Exception):
    """El calificador no puede trabajar aquí; el mensaje dice qué hacer."""


# --- Carpetas de trabajo --------------------------------------------------------------------------


def carpeta_nueva() -> str:
    """Carpeta propia de una entrega; el nombre lleva el proceso que la creó, para poder barrerla si
    muere.
    """
    try:
        return tempfile.mkdtemp(prefix=f"{PREFIJO}{os.getpid()}-")
    except OSError as error:
        lleno = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise FalloDeEntorno(
            f"{error.filename or tempfile.tempdir}: "
            + ("no queda sitio" if lleno else f"no se puede escribir ({error.strerror})")
            + "; libera espacio o elige otra carpeta con la variable TMPDIR"
        ) from error


def barre() -> int:
    """Borra las carpetas que dejaron calificadores muertos. Devuelve cuántas."""
    barridas = 0
    for carpeta in Path(tempfile.gettempdir()).glob(f"{PREFIJO}*-*"):
        numero = carpeta.name.removeprefix(PREFIJO).split("-")[0]
        if (
            numero.isdigit()
            and not _vivo(int(numero))
            and carpeta.is_dir()
            and not carpeta.is_symlink()
        ):
            shutil.rmtree(carpeta, ignore_errors=True)
            barridas += 1
    return barridas


def _vivo(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def ocupa(carpeta: str) -> tuple[int, int]:
    """Bytes y ficheros de una carpeta, sin seguir enlaces."""
    total = cuantos = 0
    with contextlib.suppress(OSError), os.scandir(carpeta) as entradas:
        for entrada in entradas:
            cuantos += 1
            with contextlib.suppress(OSError):
                total += entrada.stat(follow_symlinks=False).st_blocks * 512
            if cuantos > 10_000:
                break
    return total, cuantos


def entorno_limpio() -> dict[str, str]:
    """Las variables que ve una entrega: ninguna del usuario, salvo las que hacen falta para
    arrancar Python.
    """
    heredadas = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT")
    raices = [str(Path(__file__).resolve().parents[2])]
    raices += [
        r for r in sys.path if Path(r).name in ("site-packages", "dist-packages")
    ]  # nunca la carpeta actual
    return {n: os.environ[n] for n in heredadas if n in os.environ} | {
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(raices)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "LANG": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "ATENTO_DEVICE": "cpu",
        **dict.fromkeys(HILOS, "1"),
    }


def visible(texto: str) -> str:
    """El texto sin los caracteres que mandan en el terminal o cambian el sentido de la escritura;
    quedan los saltos.
    """
    return "".join(
        c if c in "\n\t" or not unicodedata.category(c).startswith(("C", "Zl", "Zp")) else "�"
        for c in texto
    )


def _anade(dicho: str, mensaje: Mapping[str, Any]) -> str:
    return (dicho + visible(mensaje.get("dicho", "")))[: marcos.MAXIMO_DICHO]


@contextlib.contextmanager
def _frontera() -> Iterator[None]:
    """Nada de lo que mande una entrega sale de aquí como una excepción imprevista."""
    try:
        yield
    except (Agotado, Roto, FalloDeEntorno):
        raise
    except marcos.MarcoInvalido as error:
        raise Roto(str(error)) from error
    except (EOFError, ConnectionError) as error:
        raise Roto("terminó su proceso") from error
    except Exception as error:  # noqa: BLE001 - frontera con código ajeno
        raise Roto("una respuesta que no se entiende") from error


# --- El canal -------------------------------------------------------------------------------------


class Canal:
    """Una entrega abierta. ``pide`` manda una petición y devuelve la respuesta o levanta Agotado o
    Roto.
    """

    def __init__(
        self, lectura: int, escritura: int, carpeta: str, limites: Limites, reloj: Reloj
    ) -> None:
        self.lectura, self.escritura, self.carpeta, self.limites = (
            lectura,
            escritura,
            carpeta,
            limites,
        )
        self._reloj = reloj
        self._virgen = True
        self.dicho = ""
        for descriptor in (lectura, escritura):
            os.set_blocking(descriptor, False)

    def pide(
        self, mensaje: Mapping[str, Any], tensores: Mapping[str, Any], segundos: float
    ) -> tuple[dict, dict]:
        """Una pregunta y su respuesta, en ``segundos`` de su reloj como mucho."""
        self._reloj.empieza()
        self._limite = self._reloj.gastado + segundos
        self._fin = time.monotonic() + HOLGURA * segundos
        with _frontera():
            self._escribe(marcos.empaqueta(mensaje, tensores))
            respuesta = marcos.desempaqueta_respuesta(self._lee)
        self._reloj.mira(contesta=True)
        self._virgen = False
        self.dicho = _anade(self.dicho, respuesta[0])
        return respuesta

    @property
    def gastado(self) -> float:
        """Los segundos que se le han contado."""
        return self._reloj.gastado

    def _escribe(self, datos: bytes) -> None:
        vista = memoryview(datos)
        while vista:
            self._espera(self.escritura, select.POLLOUT)
            with contextlib.suppress(BlockingIOError):
                vista = vista[os.write(self.escritura, vista) :]

    def _lee(self, cuantos: int) -> bytes:
        datos = bytearray()
        while len(datos) < cuantos:
            self._espera(self.lectura, select.POLLIN)
            with contextlib.suppress(BlockingIOError):
                trozo = os.read(self.lectura, min(cuantos - len(datos), 1 << 20))
                if not trozo:
                    raise EOFError
                datos += trozo
            if self._virgen and bytes(datos[:6]) == b"JAULA ":
                # Solo antes de la primera respuesta: después ya ha corrido código ajeno.
                with contextlib.suppress(BlockingIOError):
                    datos += os.read(self.lectura, 400)
                raise FalloDeEntorno(
                    "no se puede cerrar la jaula: " + datos[6:].decode("utf-8", "replace")
                )
        return bytes(datos)

    def _espera(self, descriptor: int, que: int) -> None:
        sondeo = select.poll()
        sondeo.register(descriptor, que)
        while True:
            if self._reloj.sin_mirar() >= LATIDO and self._vencido():
                raise Agotado("no contestó a tiempo")
            if sondeo.poll(LATIDO * 1000):
                return
            self._vigila_disco()

    def _vencido(self) -> bool:
        return self._reloj.mira() >= self._limite or time.monotonic() > self._fin

    def _vigila_disco(self) -> None:
        bytes_, ficheros = ocupa(self.carpeta)
        if bytes_ > self.limites.disco or ficheros > self.limites.ficheros:
            raise Agotado("llenó su carpeta de trabajo")

    def cierra(self) -> None:
        """Cierra las tuberías; el hijo ve el final y muere."""
        for descriptor in (self.lectura, self.escritura):
            with contextlib.suppress(OSError):
                os.close(descriptor)


# --- Dos maneras de arrancar el cigoto ------------------------------------------------------------


def _lanza(nivel: str, control: socket.socket, completo: bool) -> subprocess.Popen:
    """Un intérprete nuevo: importa torch otra vez y no hereda nada. Es lo que se usa con entregas
    ajenas.
    """
    orden = [sys.executable, "-P", "-m", "calificador.jaula.cigoto", nivel, str(control.fileno())]
    return subprocess.Popen(
        orden + (["completo"] if completo else []),
        pass_fds=[control.fileno()], env=entorno_limpio() | PAGINAS, cwd=tempfile.gettempdir(),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


class _Bifurcado:
    """Un cigoto bifurcado de este proceso, con lo poco de ``Popen`` que hace falta."""

    def __init__(self, nivel: str, control: socket.socket, completo: bool) -> None:
        from calificador.jaula import cigoto

        entorno = entorno_limpio()
        self.pid = os.fork()
        if self.pid == 0:
            cigoto.nace(control, nivel, entorno, completo=completo)

    def wait(self, timeout: float | None = None) -> None:
        """Espera a que acabe, como mucho ``timeout`` segundos."""
        fin = time.monotonic() + (timeout if timeout is not None else 3600)
        while os.waitpid(self.pid, os.WNOHANG)[0] == 0:
            if time.monotonic() > fin:
                raise subprocess.TimeoutExpired("cigoto", timeout or 0)
            time.sleep(0.002)

    def kill(self) -> None:
        """Lo mata."""
        os.kill(self.pid, signal.SIGKILL)


def arranca_pronto(nivel: str, *, completo: bool = False) -> Cigoto | ArranqueFrio:
    """El cigoto para corregirse uno mismo: importa aquí torch, una sola vez, y se bifurca.

    Hay que llamarla lo primero, antes de leer el registro: lo que haya en la memoria lo hereda la
    entrega. Si este proceso ya tiene hilos, o no es Linux, arranca un intérprete aparte como
    :func:`arranca`.
    """
    from calificador import carga

    if not EN_LINUX or carga.curso_en.cache_info().currsize:
        return arranca(nivel, completo=completo)
    from calificador.jaula import cigoto

    for nombre in HILOS:
        os.environ.setdefault(nombre, "1")
    cigoto.importa(cigoto.NECESARIOS)
    un_hilo = len(os.listdir("/proc/self/task")) == 1
    return (
        Cigoto(nivel, completo=completo, bifurca=True)
        if un_hilo
        else arranca(nivel, completo=completo)
    )


# --- El cigoto visto desde el padre ---------------------------------------------------------------


def recoge(matado: subprocess.Popen) -> None:
    """Espera a quien se ha matado; si tarda en morir, no es cosa de la entrega."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        matado.wait(timeout=5)


class Cigoto:
    """Arranca un cigoto y abre en él una entrega cada vez. Se usa con ``with`` o se cierra con
    ``cierra``.
    """

    def __init__(self, nivel: str, *, completo: bool = False, bifurca: bool = False) -> None:
        propio, ajeno = socket.socketpair()
        self._proceso = (_Bifurcado if bifurca else _lanza)(nivel, ajeno, completo)
        ajeno.close()
        propio.settimeout(PACIENCIA)
        self._control, self._nivel = propio, nivel
        self._listo = False
        self.pid = self._proceso.pid

    def abre(self, limites: Limites) -> Canal:
        """Un hijo enjaulado con su carpeta recién creada."""
        from calificador.jaula import cigoto

        self._espera_listo()
        carpeta = carpeta_nueva()
        hijo_lee, padre_escribe = os.pipe()
        padre_lee, hijo_escribe = os.pipe()
        usados = [
            m for m in cigoto.TARDIOS if m in sys.modules
        ]  # los que importó aquí la referencia
        orden = {
            "orden": "abre",
            "carpeta": carpeta,
            "limites": limites.como_json(),
            "usados": usados,
        }
        try:
            self._manda(orden, [hijo_lee, hijo_escribe])
            reloj = Reloj(self._recibe()["pid"], dentro=self._nivel == "fuerte")
        except FalloDeEntorno:
            os.close(padre_lee)
            os.close(padre_escribe)
            shutil.rmtree(carpeta, ignore_errors=True)
            raise
        finally:
            os.close(hijo_lee)
            os.close(hijo_escribe)
        return Canal(padre_lee, padre_escribe, carpeta, limites, reloj)

    def acaba(self, canal: Canal) -> dict[str, Any]:
        """Mata al hijo y a lo que dejó, borra su carpeta y dice cómo acabó."""
        canal.cierra()
        try:
            self._manda({"orden": "cierra"}, [])
            return self._recibe()
        finally:
            shutil.rmtree(canal.carpeta, ignore_errors=True)

    def _manda(self, orden: dict[str, Any], descriptores: list[int]) -> None:
        try:
            socket.send_fds(self._control, [json.dumps(orden).encode()], descriptores)
        except OSError as error:
            raise FalloDeEntorno(
                "el proceso que prepara las entregas ha muerto; vuelve a lanzar la orden"
            ) from error

    def _espera_listo(self) -> None:
        if not self._listo:
            mensaje = self._recibe()
            if "fallo" in mensaje:
                raise FalloDeEntorno(mensaje["fallo"])
            self._listo = True

    def _recibe(self) -> dict[str, Any]:
        datos = b""
        while not datos.endswith(b"\n"):
            try:
                trozo = self._control.recv(65536)
            except OSError:  # también TimeoutError: no contesta
                trozo = b""
            if not trozo:
                raise FalloDeEntorno(
                    "el proceso que prepara las entregas ha muerto; vuelve a lanzar la orden"
                )
            datos += trozo
        return json.loads(datos)

    def cierra(self) -> None:
        """Termina el cigoto y, con él, cualquier entrega abierta."""
        self._control.close()
        try:
            self._proceso.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._proceso.kill()
            recoge(self._proceso)


class ArranqueFrio:
    """Sin ``fork`` (Windows): un intérprete nuevo por entrega. Lento y solo nivel básico.

    Las tuberías de Windows no se pueden sondear: un reloj mata el proceso y la lectura acaba sola.
    """

    pid = 0

    def abre(self, limites: Limites) -> CanalFrio:
        """Un intérprete nuevo."""
        return CanalFrio(carpeta_nueva(), limites)

    def acaba(self, canal: CanalFrio) -> dict[str, Any]:
        """Lo mata y borra su carpeta."""
        canal.cierra()
        shutil.rmtree(canal.carpeta, ignore_errors=True)
        return {"codigo": canal.proceso.returncode or 0}

    def cierra(self) -> None:
        """No hay nada que cerrar."""


class CanalFrio:
    """Como :class:`Canal`, con lecturas que bloquean y un reloj que mata el proceso."""

    def __init__(self, carpeta: str, limites: Limites) -> None:
        self.carpeta, self.limites = carpeta, limites
        self._vencido = False
        self._primera = True
        self.dicho, self.gastado = "", 0.0
        entorno = entorno_limpio() | {
            n: carpeta for n in ("HOME", "TMPDIR", "TEMP", "TMP", "MPLCONFIGDIR")
        }
        self.proceso = subprocess.Popen(
            [sys.executable, "-P", "-m", "calificador.jaula.cigoto", "frio"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=entorno, cwd=carpeta, start_new_session=True,
        )  # fmt: skip

    def pide(
        self, mensaje: Mapping[str, Any], tensores: Mapping[str, Any], segundos: float
    ) -> tuple[dict, dict]:
        """Una pregunta y su respuesta; la primera incluye el arranque de Python y torch."""
        reloj = threading.Timer(segundos + (30 if self._primera else 0), self._vence)
        comienzo = time.monotonic()
        reloj.start()
        self._primera = False
        try:
            with _frontera():
                self.proceso.stdin.write(marcos.empaqueta(mensaje, tensores))
                self.proceso.stdin.flush()
                respuesta = marcos.desempaqueta_respuesta(self._lee)
            self.dicho = _anade(self.dicho, respuesta[0])
            return respuesta
        except Roto:
            if self._vencido:
                raise Agotado("no contestó a tiempo") from None
            raise
        finally:
            reloj.cancel()
            self.gastado += time.monotonic() - comienzo

    def _lee(self, cuantos: int) -> bytes:
        datos = self.proceso.stdout.read(cuantos)
        if len(datos) < cuantos:
            raise EOFError
        return datos

    def _vence(self) -> None:
        self._vencido = True
        self.proceso.kill()

    def cierra(self) -> None:
        """Mata el proceso."""
        self.proceso.kill()
        for tuberia in (self.proceso.stdin, self.proceso.stdout):
            with contextlib.suppress(OSError):
                tuberia.close()
        recoge(self.proceso)


# --- Qué nivel hay aquí ---------------------------------------------------------------------------


@lru_cache(maxsize=3)
def prueba_nivel(nivel: str) -> str | None:
    """``None`` si el nivel funciona en esta máquina; si no, por qué."""
    if not hasattr(os, "fork"):
        return None if nivel == "basica" else "este sistema no tiene fork: solo hay nivel básico"
    cigoto = Cigoto(nivel)
    try:
        canal = cigoto.abre(Limites())
        try:
            canal.pide({"orden": "analiza", "celdas": [], "nombre": "x", "prohibido": []}, {}, 20)
        finally:
            cigoto.acaba(canal)
    except (FalloDeEntorno, Roto, Agotado) as error:
        return str(error) or type(error).__name__
    finally:
        cigoto.cierra()
    return None


def mejor_nivel() -> str:
    """El nivel por defecto aquí, sin arrancar nada: ``media`` si el núcleo y libseccomp lo
    permiten.
    """
    if not EN_LINUX:
        return "basica"
    from calificador.jaula import landlock, seccomp

    return "media" if landlock.version() >= 1 and seccomp.biblioteca() is not None else "basica"


def arranca(nivel: str, *, completo: bool = False) -> Cigoto | ArranqueFrio:
    """El cigoto del nivel pedido, o el arranque en frío si el sistema no tiene ``fork``."""
    if not hasattr(os, "fork"):
        if nivel != "basica":
            raise FalloDeEntorno(
                f"la jaula {nivel} solo existe en Linux: no des --nivel para corregirte en casa"
            )
        return ArranqueFrio()
    return Cigoto(nivel, completo=completo)
