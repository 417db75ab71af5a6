"""Los tipos de la biblioteca, con mypy; lo que mira y lo que no está en ``pyproject.toml``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from myst import RAIZ

PLAZO = 600  # segundos; la primera vez lee PyTorch entero


def mypy(memoria: Path, *pedido: str) -> subprocess.CompletedProcess[str]:
    """Lo que dice mypy, con la configuración del proyecto."""
    orden = [sys.executable, "-m", "mypy", "--no-error-summary", f"--cache-dir={memoria}", *pedido]
    return subprocess.run(orden, capture_output=True, text=True, timeout=PLAZO, cwd=RAIZ)


@pytest.mark.lento
@pytest.mark.timeout(2 * PLAZO)
def test_los_tipos_casan(tmp_path: Path) -> None:
    memoria, pagina = tmp_path / "memoria", tmp_path / "pagina.py"
    hecho = mypy(memoria)
    assert hecho.returncode == 0, f"\n{hecho.stdout}{hecho.stderr}"
    pagina.write_text("from atento.cache import places\n\nplaces(3)\n")
    malo = mypy(memoria, str(pagina))
    assert malo.returncode == 1 and "[arg-type]" in malo.stdout, malo.stdout + malo.stderr
