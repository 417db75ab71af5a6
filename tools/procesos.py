"""Procesos con un plazo: al acabarse, o al interrumpir con Ctrl+C, se termina con ellos y con sus
hijos.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

# jsonschema la importa si está, y compilar su gramática cuesta a cada proceso casi dos segundos.
sys.modules.setdefault("rfc3987_syntax", None)

PLAZO_VENCIDO = 124
INTERRUMPIDO = 130


LINEA = "\nInterrumpido: lo que ya estaba terminado queda guardado."


def _sin_traza(clase: type[BaseException], error: BaseException, traza: Any) -> None:
    """Ctrl+C fuera de :func:`principal`, por ejemplo mientras se importa, acaba también con una
    línea.
    """
    if issubclass(clase, KeyboardInterrupt):
        print(LINEA, file=sys.stderr)
    else:
        sys.__excepthook__(clase, error, traza)


sys.excepthook = _sin_traza


def atiende_interrupciones() -> None:
    """Vuelve a atender a SIGINT, que una orden lanzada con «&» hereda sin atender.

    Un núcleo que la ignora no se puede interrumpir, y quien espera a que pare espera para siempre.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _despide(numero: int, _: Any) -> None:
    raise SystemExit(128 + numero)


def termina(proceso: subprocess.Popen) -> None:
    """Acaba con un proceso lanzado por :func:`corre` y con todo lo que lanzó."""
    if not hasattr(os, "killpg"):
        _termina_de_uno_en_uno(proceso)
        return
    with contextlib.suppress(ProcessLookupError):
        # El segundo, también para los hijos que no hayan atendido al primero.
        for aviso in (signal.SIGTERM, signal.SIGKILL):
            os.killpg(proceso.pid, aviso)
            with contextlib.suppress(subprocess.TimeoutExpired):
                proceso.wait(5)


def _termina_de_uno_en_uno(proceso: subprocess.Popen) -> None:
    """Sin grupos de procesos, en Windows: los descendientes, si hay con qué verlos, y él."""
    try:
        import psutil

        familia = psutil.Process(proceso.pid).children(recursive=True)
    except ImportError:  # mientras se prepara el entorno
        familia = []
    except psutil.NoSuchProcess:
        familia = []
    proceso.kill()
    for uno in familia:
        with contextlib.suppress(psutil.NoSuchProcess):
            uno.kill()
    proceso.wait(5)


@contextlib.contextmanager
def _avisos_en_espera() -> Iterator[Callable[[], None]]:
    """Guarda Ctrl+C y SIGTERM, si alguien los atiende, hasta que se llama a lo que da.

    Si llegaran después de nacer un proceso y antes de que nadie pueda acabar con él, quedaría
    suelto.
    """
    if threading.current_thread() is not threading.main_thread():  # ahí no llegan
        yield lambda: None
        return
    llegados: list[int] = []
    antes = {
        aviso: quien
        for aviso in (signal.SIGINT, signal.SIGTERM)
        if callable(quien := signal.getsignal(aviso))
    }
    for aviso in antes:
        signal.signal(aviso, lambda numero, _: llegados.append(numero))

    def suelta() -> None:
        while antes:
            signal.signal(*antes.popitem())
        while llegados:
            signal.raise_signal(llegados.pop())

    try:
        yield suelta
    finally:
        suelta()


@contextlib.contextmanager
def en_marcha(
    orden: Sequence[str | Path], plazo: float, **opciones: Any
) -> Iterator[Callable[[], int]]:
    """Lanza una orden y da con qué esperarla, que devuelve su estado.

    El plazo, en segundos, cuenta desde que se lanza: quien espera más corta la orden y recibe
    ``PLAZO_VENCIDO``. Al salir del bloque, también por una interrupción, no queda nadie.
    """
    fin = time.monotonic() + plazo
    orden = list(map(str, orden))
    with (
        _avisos_en_espera() as atiende,
        subprocess.Popen(orden, start_new_session=True, **opciones) as proceso,
    ):

        def espera() -> int:
            try:
                return proceso.wait(max(0, fin - time.monotonic()))
            except subprocess.TimeoutExpired:
                termina(proceso)
                print(
                    f"No ha terminado en {plazo:.0f} s y se ha cortado: {_nombre(orden)}",
                    file=sys.stderr,
                )
                return PLAZO_VENCIDO

        try:
            atiende()
            yield espera
        except BaseException:
            termina(proceso)
            raise
        if proceso.poll() is None:
            termina(proceso)


def _nombre(orden: Sequence[str | Path]) -> str:
    """Cómo se llama lo que se ha lanzado: un fichero, o una orden de ``tools``."""
    quien = Path(orden[1]).name
    return str(orden[2]) if quien in ("tools", "-m") else quien


def corre(orden: Sequence[str | Path], plazo: float, **opciones: Any) -> int:
    """Ejecuta una orden y devuelve su estado; ``PLAZO_VENCIDO`` si no acaba en ``plazo``
    segundos."""
    with en_marcha(orden, plazo, **opciones) as espera:
        return espera()


def principal(main: Callable[[], None]) -> None:
    """Llama a ``main``; Ctrl+C acaba con una línea y el estado 130.

    SIGTERM, como Ctrl+C, acaba antes con lo que se había lanzado.
    """
    atiende_interrupciones()
    signal.signal(signal.SIGTERM, _despide)
    try:
        main()
    except KeyboardInterrupt:
        print(LINEA, file=sys.stderr)
        sys.stdout.flush()
        raise SystemExit(INTERRUMPIDO) from None
