"""El complemento de pytest de ``--apunta``: mira qué lee y qué lanza cada fichero de pruebas, sella
los que pasan enteros (:mod:`sellos`) y guarda lo que tarda cada uno.

Lo que se lee se oye con un gancho de auditoría de Python, en cada uno de los procesos que prueban;
los sellos los pone el que reparte. La foto del repositorio se hace al empezar: lo que se cambie
mientras tanto no queda sellado.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from cuidar.sellos import Cuaderno, Foto, Lecturas, guarda_duraciones

# Programas que no leen el repositorio: lo que hacen depende de lo que se les da.
AJENOS = {"node", "chromium", "chromium-browser", "google-chrome", "hunspell", "java", "uname"}
LANZAN = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn")
FUERA = (".venv", ".git", ".cache", ".pytest_cache", ".hypothesis", ".ruff_cache")
ESCRIBE = os.O_WRONLY | os.O_RDWR


class Apunta:
    """Oye en los procesos que prueban; en el que reparte, junta y sella."""

    def __init__(self, config: pytest.Config, raiz: Path) -> None:
        self.config, self.raiz = config, f"{raiz}{os.sep}"
        self.prueba = not config.getoption("numprocesses", None)  # sin xdist, hace las dos cosas
        self.trabajador = hasattr(config, "workerinput")
        self.fichero: str | None = None
        self.lecturas: dict[str, Lecturas] = defaultdict(Lecturas)
        self.recogidas: dict[str, set[str]] = defaultdict(set)
        self.pasadas: dict[str, set[str]] = defaultdict(set)
        self.rotos: set[str] = set()
        self.selladas = False
        self.segundos: dict[str, float] = defaultdict(float)
        self.foto = None if self.trabajador else Foto(raiz)

    # --- Oír --------------------------------------------------------------------------------------

    def escucha(self) -> None:
        """Pone el gancho en los procesos que prueban; no se puede quitar."""
        if self.trabajador or self.prueba:
            sys.addaudithook(self.oye)

    def oye(self, suceso: str, datos: tuple[Any, ...]) -> None:
        """El gancho de auditoría: lo que fallara aquí rompería lo que se prueba."""
        with contextlib.suppress(OSError, ValueError, TypeError):
            self._oye(suceso, datos)

    def _oye(self, suceso: str, datos: tuple[Any, ...]) -> None:
        if suceso == "open":
            ruta, modo, opciones = (*datos, None, None)[:3]
            if isinstance(modo, str) and set(modo) & set("wax+"):
                return
            if modo is None and isinstance(opciones, int) and opciones & ESCRIBE:
                return
            self._apunta(ruta, "ficheros")
        elif suceso in ("os.listdir", "os.scandir"):
            self._apunta(datos[0] if datos and datos[0] is not None else ".", "carpetas")
        elif suceso in LANZAN:
            programa = datos[0] if datos and datos[0] is not None else (*datos, "", "")[1]
            programa = programa[0] if isinstance(programa, list | tuple) and programa else programa
            if Path(os.fsdecode(programa) if programa else "").name not in AJENOS:
                for quien in self._quienes(sys._getframe(2)):
                    self.lecturas[quien].lanza = True

    def _apunta(self, ruta: object, clase: str) -> None:
        if not isinstance(ruta, str | bytes | os.PathLike):
            return
        marco = sys._getframe(3)
        if marco.f_code.co_filename.startswith("<frozen importlib"):
            return  # lo que se importa lo dice el grafo
        entera = os.path.abspath(os.fsdecode(ruta))
        if not f"{entera}{os.sep}".startswith(self.raiz):
            return
        suya = entera[len(self.raiz) :].replace(os.sep, "/") or "."
        if suya.partition("/")[0] not in FUERA and "__pycache__" not in suya:
            for quien in self._quienes(marco):
                getattr(self.lecturas[quien], clase).add(suya)

    def _quienes(self, marco: Any) -> set[str]:
        """El fichero de pruebas en marcha y los módulos del repositorio que llevan hasta aquí; si
        es pytest quien lee las pruebas para recogerlas, nadie.
        """
        quienes = {self.fichero} if self.fichero else set()
        while marco is not None:
            nombre = marco.f_code.co_filename
            if nombre.endswith(f"_pytest{os.sep}assertion{os.sep}rewrite.py"):
                return set()
            if nombre.startswith(self.raiz):
                suyo = nombre[len(self.raiz) :].replace(os.sep, "/")
                if suyo.partition("/")[0] not in FUERA and suyo != "tools/cuidar/apunta.py":
                    quienes.add(suyo)
            marco = marco.f_back
        return quienes

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Any:
        """Lo que un fichero lee al importarse es suyo."""
        antes = self.fichero
        if isinstance(collector, pytest.Module):
            self.fichero = de_nodo(collector.nodeid)
        try:
            return (yield)
        finally:
            self.fichero = antes

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """Lo que se lee mientras dura una prueba, también lo que la prepara, es de su fichero."""
        self.fichero = de_nodo(item.nodeid)
        try:
            return (yield)
        finally:
            self.fichero = None

    # --- Juntar y sellar --------------------------------------------------------------------------

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Todas las pruebas de un fichero, también las que luego no se eligen."""
        self.recogidas[de_nodo(item.nodeid)].add(item.nodeid)

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Lo que se aparta porque pasó tal como está (tests/sitio/comportamiento.py) no falta."""
        for item in items:
            if getattr(item, "sellada", False):
                self.recogidas[de_nodo(item.nodeid)].discard(item.nodeid)
                self.selladas = True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """El resultado de cada fase de cada prueba, venga del proceso que venga."""
        fichero = de_nodo(report.nodeid)
        self.segundos[fichero] += report.duration
        if report.failed:
            self.rotos.add(fichero)
        elif report.when == "teardown":
            self.pasadas[fichero].add(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Un fichero que no se puede recoger no ha pasado."""
        if report.failed:
            self.rotos.add(de_nodo(report.nodeid))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Lo que ha visto otro proceso."""
        dicho = getattr(node, "workeroutput", {}).get("apunta")
        if dicho:
            self.recibe(dicho)

    def recibe(self, dicho: dict[str, Any]) -> None:
        """Junta lo que ha visto otro proceso."""
        for fichero, suyas in dicho["recogidas"].items():
            self.recogidas[fichero] |= set(suyas)
        for quien, suyas in dicho["lecturas"].items():
            self.lecturas[quien].suma(Lecturas.de_json(suyas))
        self.selladas |= dicho["selladas"]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """En un proceso que solo prueba, cuenta lo visto. Que todo esté sellado no es un fallo."""
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.selladas:
            session.exitstatus = pytest.ExitCode.OK
        if self.trabajador:
            self.config.workeroutput["apunta"] = {
                "recogidas": {k: sorted(v) for k, v in self.recogidas.items()},
                "lecturas": {k: v.como_json() for k, v in self.lecturas.items()},
                "selladas": self.selladas,
            }

    def verdes(self) -> list[str]:
        """Los ficheros cuyas pruebas se han hecho todas y han pasado."""
        enteros = (f for f, suyas in self.recogidas.items() if suyas <= self.pasadas[f])
        trozo = any("::" in x for x in self.config.args)  # de un fichero, unas cuantas pruebas
        return [] if trozo else sorted(set(enteros) - self.rotos)

    def pytest_unconfigure(self) -> None:
        """Cuando ya no queda ningún proceso, sella."""
        if self.foto is None:
            return
        cuaderno = Cuaderno.abre(self.foto.raiz)
        for quien, suyas in self.lecturas.items():
            cuaderno.lecturas.setdefault(quien, Lecturas()).suma(suyas)
        verdes = [f for f in self.verdes() if f in self.foto.sumas]
        for fichero in self.rotos:
            cuaderno.sellos.pop(fichero, None)
        for fichero in verdes:
            cuaderno.sellos[fichero] = self.foto.sello(fichero, cuaderno.lecturas)
        cuaderno.guarda()
        if not os.environ.get("ATENTO_ENTERO"):  # lo entero tarda más de lo que tarda siempre
            hechos = {f: self.segundos[f] for f in verdes if self.pasadas[f]}
            guarda_duraciones(hechos, self.foto.raiz)


def pytest_configure(config: pytest.Config) -> None:
    """Empieza a mirar."""
    quien = Apunta(config, config.rootpath)
    config.pluginmanager.register(quien, "quien-apunta")
    quien.escucha()


def de_nodo(nodo: str) -> str:
    """El fichero de una prueba.

    >>> de_nodo("tests/x/test_y.py::test_z[1]")
    'tests/x/test_y.py'
    """
    return nodo.partition("::")[0]
