"""Quien instala la biblioteca tiene todo lo que importan ella, el calificador, los ejercicios y los
cuadernos, y no instala lo que nadie importa.
"""

from __future__ import annotations

import ast
import functools
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from paginas.capitulos import RAIZ, capitulos

PROPIOS = {"atento", "figuras", "calificador"}
# Quien importa lo de un extra dice cómo se instala a quien no lo tiene.
DE_UN_EXTRA = {"code/calificador/uso/conjunto.py": "conjunto"}


def importados(codigo: str) -> set[str]:
    """Los paquetes que un código importa en cualquier lugar."""
    nombres: set[str] = set()
    for nodo in ast.walk(ast.parse(codigo)):
        if isinstance(nodo, ast.Import):
            nombres |= {alias.name for alias in nodo.names}
        elif isinstance(nodo, ast.ImportFrom) and not nodo.level:
            nombres.add(nodo.module)
    return {nombre.partition(".")[0] for nombre in nombres}


quien_trae = functools.cache(packages_distributions)


def de_fuera(codigo: str) -> set[str]:
    """Las distribuciones que hay que instalar para importar lo que un código importa."""
    traen = quien_trae()
    paquetes = importados(codigo) - PROPIOS - set(sys.stdlib_module_names)
    return {canonicalize_name(d) for p in paquetes for d in traen.get(p, [p])}


def declaradas(extra: str | None = None) -> set[str]:
    """Lo que el wheel pide al instalarse o, si se da uno, lo que pide un extra."""
    proyecto = tomllib.loads((RAIZ / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pide = proyecto["optional-dependencies"][extra] if extra else proyecto["dependencies"]
    return {canonicalize_name(Requirement(r).name) for r in pide}


@pytest.fixture(scope="module")
def usadas() -> dict[str, list[str]]:
    """Cada distribución de fuera, con los sitios donde se importa."""
    codigos: dict[Path, str] = {
        ruta: ruta.read_text(encoding="utf-8")
        for carpeta in ("code", "exercises", "solutions")
        for ruta in (RAIZ / carpeta).rglob("*.py")
    }
    for capitulo in capitulos():
        celdas = [c.source for c in capitulo.cuaderno().cells if c.cell_type == "code"]
        lineas = "\n".join(celdas).splitlines()
        codigos[capitulo.ruta] = "\n".join(x for x in lineas if not x.startswith(("%", "!")))
    donde: dict[str, list[str]] = {}
    for ruta, codigo in codigos.items():
        for paquete in de_fuera(codigo):
            donde.setdefault(paquete, []).append(ruta.relative_to(RAIZ).as_posix())
    return donde


def test_todo_lo_que_se_importa_se_instala(usadas):
    de_extra = {(x, f) for f, extra in DE_UN_EXTRA.items() for x in declaradas(extra)}
    faltan = {
        x: sueltos[:3]
        for x, sitios in usadas.items()
        if x not in declaradas() and (sueltos := [s for s in sitios if (x, s) not in de_extra])
    }
    assert len(usadas) > 10 and not faltan, f"no están en «dependencies»: {faltan}"
    assert not [(x, f) for x, f in de_extra if f not in usadas.get(x, [])], "un extra sin uso"


def test_todo_lo_que_se_instala_se_importa(usadas):
    sobran = declaradas() - usadas.keys()
    assert not sobran, f"están en «dependencies» y nadie las importa: {sobran}"


def test_se_ve_tambien_lo_que_se_importa_tarde():
    codigo = "def f():\n    from sklearn.utils import x\n    import os, paquete_nuevo.y\n"
    assert de_fuera(codigo) == {"scikit-learn", "paquete-nuevo"}
    assert de_fuera("from . import z\nimport atento") == set()
