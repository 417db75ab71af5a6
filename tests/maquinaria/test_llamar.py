"""Las órdenes de mantenimiento se llaman por su nombre: «python tools QUÉ»."""

import subprocess
import sys
from pathlib import Path

import llamar

TOOLS = Path(llamar.__file__).parent


def tools(*argumentos):
    orden = [sys.executable, str(TOOLS), *argumentos]
    return subprocess.run(orden, capture_output=True, text=True, timeout=120)


def test_tools_conoce_sus_ordenes_y_las_dice():
    """Lo que tiene ``main`` en una carpeta se llama con «python tools QUÉ»."""
    sueltas = tools()
    con_main = {
        ".".join(p.relative_to(TOOLS).with_suffix("").parts)
        for p in TOOLS.glob("*/*.py")
        if "    principal(main)" in p.read_text("utf-8") and p.name != "__main__.py"
    }
    assert con_main <= set(llamar.ORDENES.values())
    assert sueltas.returncode == 1 and all(f"\n  {x} " in sueltas.stderr for x in llamar.ORDENES)
    rara = tools("temblar")
    assert rara.returncode == 1 and "No hay ninguna orden «temblar»" in rara.stderr
    ayuda = tools("llevar", "--help")
    assert ayuda.returncode == 0 and ayuda.stdout.startswith("usage: llevar")
