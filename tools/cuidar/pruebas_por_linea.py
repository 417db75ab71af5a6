"""Extensión de pytest para :mod:`mutantes`: qué pruebas pasan por cada línea, y ejecutar solo unas.

Con ``TESTIGOS_MIRA`` (ficheros, uno por línea) apunta en ``TESTIGOS_SALIDA`` las líneas de cada
fichero por las que pasa cada prueba, lo que tarda y si lanza procesos. Con ``TESTIGOS_SOLO`` (un
fichero con identificadores, uno por línea) ejecuta solo esas pruebas, en ese orden.

Las líneas las sigue ``coverage``, con un contexto por prueba. Se guía a mano, y no con
``pytest-cov``, porque lo que se ejecuta al importar, sea cual sea la prueba que importa, sirve a
todas.
"""

from __future__ import annotations

import ast
import json
import os
import resource
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage

TODAS = ""  # lo que se ejecuta al importar o al preparar sirve a todas las pruebas
MEMORIA = 8 << 30  # bytes: una falta puede pedirla sin fin
PROCESOS = {"subprocess.Popen", "os.posix_spawn", "os.fork", "os.exec"}


class Testigos:
    """Apunta por dónde pasa cada prueba."""

    def __init__(self, mirados: list[str]) -> None:
        self.mirados = mirados
        reales = [os.path.realpath(nombre) for nombre in mirados]
        self.cobertura = Coverage(data_file=None, config_file=False, include=reales)
        self.segundos: dict[str, float] = {}
        self.lanzan: set[str] = set()
        self.ahora = TODAS

    def empieza(self) -> None:
        """Mira desde ahora: también lo que se ejecuta al importar."""
        sys.addaudithook(self._procesos)
        self.cobertura.start()

    def _procesos(self, suceso: str, _: tuple[Any, ...]) -> None:
        if suceso in PROCESOS:
            self.lanzan.add(self.ahora)

    def _desde_ahora(self, quien: str) -> None:
        self.ahora = quien
        if sys.gettrace() is None:  # una prueba que sigue líneas por su cuenta
            self.cobertura.stop()
            self.cobertura.start()
        self.cobertura.switch_context(quien)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Any:
        """Mientras dura una prueba, lo que se ejecuta es suyo."""
        self._desde_ahora(item.nodeid)
        yield
        self._desde_ahora(TODAS)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Lo que tarda cada prueba."""
        self.segundos[report.nodeid] = self.segundos.get(report.nodeid, 0.0) + report.duration

    def lineas(self, fichero: str) -> dict[str, list[int]]:
        """Las de un fichero por las que pasa cada prueba; las que no son de ninguna función se
        ejecutan al importar.
        """
        arbol, suyas = ast.parse(Path(fichero).read_bytes()), defaultdict(list)
        de_funciones = {
            linea
            for nodo in ast.walk(arbol)
            if isinstance(nodo, ast.FunctionDef | ast.AsyncFunctionDef)
            for linea in range(nodo.body[0].lineno, nodo.end_lineno + 1)
        }
        vistas = self.cobertura.get_data().contexts_by_lineno(os.path.realpath(fichero))
        for linea, quienes in sorted(vistas.items()):
            for quien in quienes if linea in de_funciones else (TODAS,):
                suyas[quien].append(linea)
        return suyas

    def pytest_sessionfinish(self) -> None:
        """Guarda lo apuntado."""
        self.cobertura.stop()
        datos = {
            "segundos": self.segundos,
            "lanzan": sorted(self.lanzan),
            "lineas": {fichero: self.lineas(fichero) for fichero in self.mirados},
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
