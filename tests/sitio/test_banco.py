"""El banco de las páginas ve la que bloquea y deja pasar la que no."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BANCO = Path(__file__).resolve().parents[2] / "benchmarks" / "paginas.py"
OCUPA = (
    "<script>setTimeout(() => {{ const fin = performance.now() + {};"
    " while (performance.now() < fin); }}, 200)</script>"
)


def _banco(sitio: Path) -> subprocess.CompletedProcess[str]:
    orden = [sys.executable, str(BANCO), "--sitio", str(sitio), "--visitas", "1"]
    return subprocess.run(orden, capture_output=True, text=True, timeout=120)


@pytest.mark.navegador
@pytest.mark.parametrize(("ocupa", "estado"), [(0, 0), (2000, 1)])
def test_el_banco_ve_la_pagina_que_bloquea(tmp_path, ocupa, estado):
    pagina = tmp_path / "1-x" / "01-a.html"
    pagina.parent.mkdir()
    pagina.write_text(f"<!doctype html><title>a</title><p>Hola.{OCUPA.format(ocupa)}", "utf-8")
    hecho = _banco(tmp_path)
    assert hecho.returncode == estado, hecho.stderr
    assert "01-a.html" in hecho.stdout and ("← pasa" in hecho.stdout) == bool(estado)


def test_sin_libro_lo_dice(tmp_path):
    hecho = _banco(tmp_path)
    assert hecho.returncode == 1 and "make libro" in hecho.stderr
