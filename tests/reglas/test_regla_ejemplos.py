"""Los ejemplos de las docstrings dan lo que dicen."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest
from myst import RAIZ

RAICES = ("code", "tools", "book/_ext", "tests/sitio")
CON_EJEMPLO = [
    (fichero, raiz)
    for raiz in RAICES
    for fichero in sorted((RAIZ / raiz).rglob("*.py"))
    if "    >>> " in fichero.read_text(encoding="utf-8")
]


@pytest.mark.parametrize(("fichero", "raiz"), CON_EJEMPLO, ids=lambda x: getattr(x, "name", ""))
def test_los_ejemplos_dan_lo_que_dicen(fichero: Path, raiz: str, monkeypatch) -> None:
    monkeypatch.syspath_prepend(RAIZ / raiz)
    nombre = ".".join(fichero.relative_to(RAIZ / raiz).with_suffix("").parts)
    hecho = doctest.testmod(importlib.import_module(nombre.removesuffix(".__init__")))
    assert hecho.attempted and not hecho.failed, f"{nombre}: {hecho.failed} ejemplos no salen"
