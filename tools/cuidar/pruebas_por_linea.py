"""Extensión de pytest para :mod:`mutantes`: qué pruebas pasan por cada línea, y ejecutar solo unas.

Con ``TESTIGOS_MIRA`` (ficheros, uno por línea) apunta en ``TESTIGOS_SALIDA`` las líneas de cada
fichero por las que pasa cada prueba, lo que tarda y si lanza procesos. Con ``TESTIGOS_SOLO`` (un
fichero con identificadores, uno por línea) ejecuta solo esas pruebas, en ese orden.
"""

from __future__ import annotations

import inspect
import json
import os
import resource
import sys
import threading
from collections import Counter, defaultdict
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

TODAS = ""  # lo que se ejecuta al importar o al preparar sirve a todas las pruebas
VECES = 20  # de cada prueba se miran las primeras llamadas a cada función: mirar tarda
MEMORIA = 8 << 30  # bytes: una falta puede pedirla sin fin
PROCESOS = {"subprocess.Popen", "os.posix_spawn", "os.fork", "os.exec"}


class Testigos:
    """Apunta por dónde pasa cada prueba."""

    def __init__(self, mirados: list[str]) -> None:
        self.mirados = {os.path.realpath(nombre): nombre for nombre in mirados}
        self.lineas: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        self.segundos: dict[str, float] = {}
        self.lanzan: set[str] = set()
        self.ahora = TODAS
        self.llamadas: Counter[tuple[str, CodeType]] = Counter()
        self.conocidos: dict[CodeType, str | None] = {}

    def empieza(self) -> None:
        """Mira desde ahora: también lo que se ejecuta al importar."""
        sys.addaudithook(self._procesos)
        threading.settrace(self._entra)
        sys.settrace(self._entra)

    def _procesos(self, suceso: str, _: tuple[Any, ...]) -> None:
        if suceso in PROCESOS:
            self.lanzan.add(self.ahora)

    def _entra(self, marco: FrameType, suceso: str, _: Any) -> Any:
        codigo = marco.f_code
        if codigo not in self.conocidos:
            self.conocidos[codigo] = self.mirados.get(os.path.realpath(codigo.co_filename))
        nombre = self.conocidos[codigo]
        if nombre is None:
            return None
        quien = self.ahora if codigo.co_flags & inspect.CO_OPTIMIZED else TODAS
        suyas = self.lineas[nombre][quien]
        suyas.add(marco.f_lineno)
        self.llamadas[quien, codigo] += 1
        if self.llamadas[quien, codigo] > VECES:
            return None

        def linea(marco: FrameType, suceso: str, _: Any) -> Any:
            suyas.add(marco.f_lineno)
            return linea

        return linea

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Any:
        """Mientras dura una prueba, lo que se ejecuta es suyo."""
        self.ahora = item.nodeid
        if sys.gettrace() is None:
            sys.settrace(self._entra)
        yield
        self.ahora = TODAS

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Lo que tarda cada prueba."""
        self.segundos[report.nodeid] = self.segundos.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        """Guarda lo apuntado."""
        sys.settrace(None)
        datos = {
            "segundos": self.segundos,
            "lanzan": sorted(self.lanzan),
            "lineas": {
                fichero: {quien: sorted(lineas) for quien, lineas in suyas.items()}
                for fichero, suyas in self.lineas.items()
            },
        }
        Path(os.environ["TESTIGOS_SALIDA"]).write_text(json.dumps(datos), encoding="utf-8")


class Solo:
    """Ejecuta unas pruebas y no las demás, en el orden dado."""

    def __init__(self, pedidas: list[str]) -> None:
        self.orden = {nombre: puesto for puesto, nombre in enumerate(pedidas)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Deja en la lista lo pedido."""
        items[:] = sorted(
            (item for item in items if item.nodeid in self.orden),
            key=lambda item: self.orden[item.nodeid],
        )


def pytest_configure(config: pytest.Config) -> None:
    """Lo que se pida por el entorno."""
    if mirados := os.environ.get("TESTIGOS_MIRA"):
        testigos = Testigos(mirados.splitlines())
        config.pluginmanager.register(testigos)
        testigos.empieza()
    if pedidas := os.environ.get("TESTIGOS_SOLO"):
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORIA, MEMORIA))
        config.pluginmanager.register(Solo(Path(pedidas).read_text(encoding="utf-8").splitlines()))
