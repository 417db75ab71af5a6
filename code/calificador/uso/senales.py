"""Acabar cuando lo piden: ``Ctrl-C`` y SIGTERM terminan la orden con una línea y sin dejar nada a
medias.
"""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType

PLAZO = 15.0


class Interrumpido(BaseException):
    """Pidieron acabar. ``codigo`` es el de salida: 130 (SIGINT) o 143 (SIGTERM)."""

    def __init__(self, senal: int) -> None:
        super().__init__(senal)
        self.codigo = 128 + senal


def atiende() -> None:
    """Desde aquí, SIGINT y SIGTERM levantan :class:`Interrumpido` en el hilo principal.

    También si la orden se lanzó en segundo plano, donde el intérprete de órdenes deja SIGINT
    ignorada.
    """
    for senal in (signal.SIGINT, signal.SIGTERM):
        signal.signal(senal, _interrumpe)


def _interrumpe(senal: int, _: FrameType | None) -> None:
    for otra in (signal.SIGINT, signal.SIGTERM):
        signal.signal(otra, lambda otra, _: os._exit(128 + otra))  # a la segunda, sin esperar
    reloj = threading.Timer(PLAZO, os._exit, (128 + senal,))  # por si algo se traga la excepción
    reloj.daemon = True
    reloj.start()
    raise Interrumpido(senal)
