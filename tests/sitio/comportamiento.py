"""Los sellos de lo propio de cada explorador (``exploradores/test_<explorador>.py``).

Un fichero que pasó y de cuyas fuentes no ha cambiado nada se aparta, salvo los que tocan
(``vistas.py``). Sus fuentes son él, lo común de las pruebas, la biblioteca sin sus puertas y, de
los exploradores, lo que comparten todos y lo del suyo: sus ficheros, los guiones que pide y lo que
importa. Si una prueba abre algo que no está entre ellas, falla. ``test_comunes.py``, que los abre
todos, no se sella. Lo que se nombra en la orden se ejecuta siempre; con ``--apunta`` quien nombra
es la orden de las pruebas, y manda el sello.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from chromium import version
from libro.huella import normalizado
from rotacion import RAIZ
from vistas import COMPORTAMIENTO, Vistas, de_todo

SUYAS = "tests/sitio/exploradores"
EXPLORERS = "code/figuras/explorers"
DE_PRUEBAS = (
    "tests/muestras.py",
    "tests/sitio/conftest.py",
    "tests/sitio/explorando.py",
    "tests/sitio/exploradores.js",
    f"{SUYAS}/conftest.py",
)
CARPETAS = ("code/atento", "code/figuras/plots", f"{EXPLORERS}/pieces")
PUERTAS = "code/atento/checks"  # solo lanzan: de ellas no sale ningún número
DE_TODOS = ("__init__.py", "base.py", "base.js", "base.css", "live.py")
VERSIONES = ("torch", "numpy", "playwright", "axe-playwright-python", "pypdf")
PARTE = re.compile(r'data-atento-part="([\w/-]+)-\w{8}"')


# --- La huella ------------------------------------------------------------------------------------


def explorador(fichero: str) -> str:
    """De cuál es un fichero de pruebas.

    >>> explorador("tests/sitio/exploradores/test_beam.py")
    'beam'
    """
    return Path(fichero).stem.removeprefix("test_")


def ficheros(raiz: Path = RAIZ) -> list[str]:
    """Los que se sellan: los que llevan el nombre de un explorador."""
    suyos = sorted((raiz / SUYAS).glob("test_*.py"))
    return [f"{SUYAS}/{x.name}" for x in suyos if (raiz / _guion(explorador(x.name))).is_file()]


def _guion(nombre: str, de: str = "js") -> str:
    return f"{EXPLORERS}/{nombre}.{de}"


def comunes(raiz: Path = RAIZ) -> list[Path]:
    """Las fuentes de todos."""
    sueltas = (*DE_PRUEBAS, *(f"{EXPLORERS}/{x}" for x in DE_TODOS))
    dentro = (p for x in CARPETAS for p in sorted((raiz / x).rglob("*")))
    puertas = raiz / PUERTAS
    return [*(raiz / x for x in sueltas), *(p for p in dentro if _cuenta(p, puertas))]


def _cuenta(ruta: Path, puertas: Path) -> bool:
    return ruta.is_file() and ruta.suffix != ".pyc" and puertas not in ruta.parents


def propias(fichero: str, raiz: Path = RAIZ) -> list[Path]:
    """Las de un fichero de pruebas: él, su explorador, los guiones que este pide y lo que de
    ``figuras`` importan uno y otro.
    """
    suyo = explorador(fichero)
    codigo = raiz / _guion(suyo, "py")
    nombres = (suyo, *guiones(codigo.read_text("utf8")))
    partes = (raiz / _guion(x, de) for x in nombres for de in ("js", "css"))
    rutas = {raiz / fichero, codigo, *(p for p in partes if p.is_file())}
    return sorted(rutas | importadas([raiz / fichero, codigo], raiz))


def guiones(codigo: str) -> tuple[str, ...]:
    """Los que un explorador pide además del suyo, por su nombre.

    >>> guiones("class Uno:\\n    scripts: tuple[str, ...] = ('bert', 'otro')")
    ('bert', 'otro')
    """
    for nodo in ast.walk(ast.parse(codigo)):
        if isinstance(nodo, ast.AnnAssign) and ast.unparse(nodo.target) == "scripts":
            return ast.literal_eval(nodo.value)
    return ()


def importadas(rutas: Iterable[Path], raiz: Path) -> set[Path]:
    """Los módulos de ``figuras`` que importan, y los que importan ellos. Lo que es de todos no se
    sigue: el paquete de los exploradores los importa a todos.
    """
    pendientes, de_todos = list(rutas), {*comunes(raiz)}
    suyas: set[Path] = set()
    while pendientes:
        nuevas = {*_importa(pendientes.pop(), raiz)} - suyas - de_todos
        suyas |= nuevas
        pendientes += nuevas
    return suyas


def _importa(ruta: Path, raiz: Path) -> Iterator[Path]:
    for nodo in ast.walk(ast.parse(ruta.read_text("utf8"))):
        if isinstance(nodo, ast.ImportFrom) and nodo.module:
            nombres = [nodo.module, *(f"{nodo.module}.{x.name}" for x in nodo.names)]
        elif isinstance(nodo, ast.Import):
            nombres = [x.name for x in nodo.names]
        else:
            continue
        for nombre in nombres:
            base = raiz / "code" / nombre.replace(".", "/")
            if nombre.startswith("figuras."):
                yield from filter(Path.is_file, (base.with_suffix(".py"), base / "__init__.py"))


@cache
def _normalizado(codigo: str) -> str:
    return normalizado(codigo)


def _dice(ruta: Path, raiz: Path) -> str:
    """Una fuente con su nombre; en el código que se prueba, los comentarios no cuentan."""
    nombre, todo = ruta.relative_to(raiz).as_posix(), ruta.read_bytes()
    if nombre.startswith("code/") and ruta.suffix == ".py":
        todo = _normalizado(todo.decode()).encode()
    return f"{nombre} {hashlib.sha256(todo).hexdigest()}"


def huellas(raiz: Path = RAIZ) -> dict[str, str]:
    """La de cada fichero que se sella."""
    versiones = (version(), *map(metadata.version, VERSIONES))
    de_todas = de_todo((), *versiones, *(_dice(ruta, raiz) for ruta in comunes(raiz)))
    return {
        fichero: de_todo((), de_todas, *(_dice(ruta, raiz) for ruta in propias(fichero, raiz)))[:16]
        for fichero in ficheros(raiz)
    }


@cache
def _alcanza(fichero: str, raiz: Path) -> frozenset[Path]:
    return frozenset({*comunes(raiz), *propias(fichero, raiz)})


def ajeno(fichero: str, html: str, raiz: Path = RAIZ) -> set[str]:
    """Lo que abre una prueba y no cuenta en la huella de su fichero."""
    if fichero not in ficheros(raiz):
        return set()
    suyas = _alcanza(fichero, raiz)
    base = raiz / EXPLORERS
    nombres = {*PARTE.findall(html)}
    partes = ((nombre, base / f"{nombre}.{de}") for nombre in nombres for de in ("js", "css"))
    return {nombre for nombre, ruta in partes if ruta.is_file() and ruta not in suyas}


# --- Al recoger y al acabar -----------------------------------------------------------------------


class Comportamiento:
    """Aparta lo sellado y, con ``--apunta``, sella lo que pasa entero. El que reparte no recoge, y
    ni aparta ni sella: cada proceso sella lo suyo.
    """

    def __init__(self, config: pytest.Config, huellas: dict[str, str], suyas: Vistas) -> None:
        self.config, self.huellas, self.vistas = config, huellas, suyas
        self.recogidas: dict[str, set[str]] = defaultdict(set)
        self.pasadas: dict[str, set[str]] = defaultdict(set)
        self.rotos: set[str] = set()

    def aparta(self, items: list[pytest.Item]) -> None:
        """Quita de lo que se va a ejecutar los ficheros sellados que no tocan."""
        mirar = self.vistas.por_mirar(self.huellas) | self.nombrados()
        apartadas, quedan = [], []
        for item in items:
            fichero = item.nodeid.partition("::")[0]
            self.recogidas[fichero].add(item.nodeid)
            item.sellada = fichero in self.huellas and fichero not in mirar
            (apartadas if item.sellada else quedan).append(item)
        if apartadas:
            self.config.hook.pytest_deselected(items=apartadas)
            items[:] = quedan

    def nombrados(self) -> set[str]:
        """Los que la orden nombra: por su ruta o, con ``-k``, todos."""
        if self.config.getoption("apunta", False):
            return set()
        if self.config.getoption("keyword", ""):
            return set(self.huellas)
        desde = (self.config.invocation_params.dir, self.config.rootpath)
        dichos = {(d / x.partition("::")[0]).resolve() for x in self.config.args for d in desde}
        return {x for x in self.huellas if (self.config.rootpath / x).resolve() in dichos}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """El resultado de una fase de una prueba."""
        fichero = report.nodeid.partition("::")[0]
        if report.failed:
            self.rotos.add(fichero)
        elif report.when == "call" and report.passed:
            self.pasadas[fichero].add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Los que se han ejecutado enteros y han pasado; los que fallan pierden el sello."""
        a_trozos = any("::" in x for x in self.config.args) or self.config.getoption("lf", False)
        if not self.config.getoption("apunta", False):
            return
        enteros = {f for f, todas in self.recogidas.items() if todas <= self.pasadas[f]}
        pasan = set() if a_trozos else enteros & self.huellas.keys()
        self.vistas.guarda(self.huellas, pasan, self.rotos, self.huellas)


def aparta(
    config: pytest.Config,
    items: list[pytest.Item],
    suyas: dict[str, str] | None = None,
    vistas: Vistas = COMPORTAMIENTO,
) -> None:
    """Al recoger; lo demás lo oye."""
    suyo = Comportamiento(config, huellas() if suyas is None else suyas, vistas)
    suyo.aparta(items)
    config.pluginmanager.register(suyo, "comportamiento")
