"""El formato del código: cien columnas y las reglas de ruff en todo lo que es Python."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from myst import RAIZ

CARPETAS = ("code", "tests", "tools", "book/_ext", "benchmarks", "exercises", "solutions")


def ruff(*orden: str, en: Path = RAIZ) -> str:
    """Lo que dice ruff con la configuración del proyecto; vacío si no tiene nada que decir."""
    hecho = subprocess.run(
        [sys.executable, "-m", "ruff", *orden, "--no-cache", "--config", RAIZ / "pyproject.toml"],
        cwd=en,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return hecho.stdout + hecho.stderr if hecho.returncode else ""


def test_el_formato_es_el_de_todos() -> None:
    quejas = ruff("format", "--check", *CARPETAS)
    assert not quejas, f"{quejas}\nLo arregla «make formato»."


def test_ruff_no_tiene_quejas() -> None:
    quejas = ruff("check", "--output-format", "concise", *CARPETAS)
    assert not quejas, quejas


def test_el_ancho_es_de_cien_columnas() -> None:
    opciones = tomllib.loads((RAIZ / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]
    assert opciones["line-length"] == opciones["lint"]["pycodestyle"]["max-line-length"] == 100
    makefile = (RAIZ / "Makefile").read_text(encoding="utf-8")
    codigo = re.search(r"^CODIGO = (.*)$", makefile, re.MULTILINE)[1].split()
    assert set(codigo) == set(CARPETAS)


@pytest.mark.parametrize(
    ("orden", "malo"),
    [
        ("format", "x = (1,\n     2)\n"),
        ("format", f"x = {'+'.join(['uno'] * 30)}\n"),
        ("check", "import os\n"),
        ("check", f'x = "{"a" * 100}"\n'),
    ],
)
def test_se_ve_lo_que_no_tiene_el_formato(tmp_path: Path, orden: str, malo: str) -> None:
    (tmp_path / "m.py").write_text(malo, encoding="utf-8")
    opcion = ["--check"] if orden == "format" else []
    assert "m.py" in ruff(orden, *opcion, ".", en=tmp_path)
    (tmp_path / "m.py").write_text("x = 1\n", encoding="utf-8")
    assert not ruff(orden, *opcion, ".", en=tmp_path)
