"""Lo que comparten las pruebas de las órdenes: lanzar procesos con reloj y hacer zips como los de
Moodle.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

ENTORNO = {"COLUMNS": "100", "PYTHONUTF8": "1", "OMP_NUM_THREADS": "1"}
PLAZO = 120


def atento(
    *args: object, en: Path, ejecutable: tuple[str, ...] = (), **entorno: str
) -> subprocess.CompletedProcess:
    """La orden entera, en otro proceso; si se pasa de plazo, muere ella y lo que lanzó."""
    proceso = lanza(*args, en=en, ejecutable=ejecutable, **entorno)
    with matando(proceso):
        salida, errores = proceso.communicate(timeout=PLAZO)
    return subprocess.CompletedProcess(proceso.args, proceso.returncode, salida, errores)


def lanza(*args: object, en: Path, ejecutable: tuple[str, ...] = (), ignora_sigint: bool = False,
          **entorno: str) -> subprocess.Popen:  # fmt: skip
    """Empieza la orden en su propia sesión, para poder matarla entera."""
    orden = [*(ejecutable or (sys.executable, "-m", "calificador.uso.ordenes")), *map(str, args)]
    previa = signal.signal(signal.SIGINT, signal.SIG_IGN) if ignora_sigint else None
    try:
        return subprocess.Popen(
            orden,
            cwd=en,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, **ENTORNO, **entorno},
        )
    finally:
        if previa is not None:
            signal.signal(signal.SIGINT, previa)


@contextlib.contextmanager
def matando(proceso: subprocess.Popen) -> Iterator[list[psutil.Process]]:
    """Al salir no queda nada vivo, pase lo que pase. Da la lista de descendientes, que se llena al
    salir.
    """
    familia: list[psutil.Process] = []
    try:
        yield familia
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            familia += psutil.Process(proceso.pid).children(recursive=True)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(proceso.pid, signal.SIGKILL)
        for hijo in familia:
            with contextlib.suppress(psutil.NoSuchProcess):
                hijo.kill()
        proceso.wait(timeout=20)
        for tuberia in (proceso.stdout, proceso.stderr):
            if tuberia is not None and not tuberia.closed:
                tuberia.close()


def espera(condicion: Callable[[], bool], segundos: float = 60) -> None:
    """Espera a que se cumpla, o falla."""
    limite = time.monotonic() + segundos
    while not condicion():
        assert time.monotonic() < limite, "no llegó"
        time.sleep(0.05)


def zip_de(entradas: dict[str, bytes | str], metodo: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Un zip en memoria."""
    memoria = io.BytesIO()
    with zipfile.ZipFile(memoria, "w", metodo) as archivo:
        for nombre, datos in entradas.items():
            archivo.writestr(nombre, datos)
    return memoria.getvalue()


def cuaderno(*celdas: tuple[str, object, tuple[str, ...]]) -> str:
    """Un ``.ipynb`` con celdas (tipo, código, etiquetas)."""
    return json.dumps(
        {
            "nbformat": 4,
            "metadata": {},
            "cells": [
                {"cell_type": t, "source": s, "metadata": {"tags": list(e)}} for t, s, e in celdas
            ],
        }
    )
