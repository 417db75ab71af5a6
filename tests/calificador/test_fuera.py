"""El wheel en un entorno propio, desde otra carpeta: el calificador y un cuaderno exportado.

Los capítulos, los cuadernos y el repositorio no están a la vista: solo lo que el wheel lleva.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from ayudas import atento

RAIZ = Path(__file__).resolve().parents[2]
SOLUCION = (RAIZ / "solutions" / "cap04.py").read_text(encoding="utf-8")
BUENA = "torch.full_like(scores[..., :1], null_score)"
pytestmark = [pytest.mark.lento, pytest.mark.timeout(400)]

EJECUTA = """\
import sys, nbformat
from nbclient import NotebookClient

cuaderno = nbformat.read("cuaderno.ipynb", as_version=4)
NotebookClient(cuaderno, timeout=200, kernel_name="python3").execute()
nbformat.write(cuaderno, "hecho.ipynb")
"""


@pytest.fixture(scope="module")
def exportado() -> nbformat.NotebookNode:
    """El cuaderno del capítulo 4, con sus celdas y las de los ejercicios del libro; el texto, que
    no se ejecuta, no hace falta.
    """
    from calificador.carga import curso
    from paginas import cuadernos

    (capitulo,) = [c for c in cuadernos.capitulos() if c.clave == "04"]
    escritas = enumerate(capitulo.cuaderno().cells)
    trozos: list[dict] = [{"celda": i} for i, c in escritas if c.cell_type == "code"]
    with pytest.MonkeyPatch.context() as entorno:
        entorno.delenv("ATENTO_CURSO")
        trozos += [{"ejercicio": n} for n in curso().ejercicios if n.startswith("4.")]
        dicho = {"titulo": "Capítulo 4", "url": "https://ejemplo.org/4.html", "trozos": trozos}
        return cuadernos.cuaderno(capitulo, cuadernos.Libro(), dicho)


def corre(orden: list[object], carpeta: Path) -> subprocess.CompletedProcess[str]:
    """Una orden en otra carpeta, sin nada del repositorio en el entorno."""
    variables = {k: v for k, v in os.environ.items() if k not in ("ATENTO_CURSO", "PYTHONPATH")}
    variables |= {"OMP_NUM_THREADS": "1", "JUPYTER_PREFER_ENV_PATH": "1"}
    return subprocess.run(
        [str(x) for x in orden],
        cwd=carpeta,
        capture_output=True,
        text=True,
        timeout=300,
        env=variables,
    )


def escrito(cuaderno: nbformat.NotebookNode) -> str:
    """Todo lo que las celdas han dicho."""
    salidas = [s for c in cuaderno.cells if c.cell_type == "code" for s in c.outputs]
    return re.sub(r"\x1b\[\d+m", "", "".join(s.get("text", "") for s in salidas))


def test_corrige_una_respuesta_buena_y_una_mala(python_del_wheel, tmp_path):
    ejecutable = (str(python_del_wheel.parent / "atento"),)

    def orden(*args):
        return atento(*args, en=tmp_path, ejecutable=ejecutable, ATENTO_CURSO="", PYTHONPATH="")

    assert orden("empezar", 4).returncode == 0
    entrega = tmp_path / "mis-ejercicios" / "cap04.py"
    entrega.write_text(SOLUCION, encoding="utf-8")
    buena = orden("calificar", "4.1")
    assert buena.returncode == 0 and "superado" in buena.stdout, buena.stdout + buena.stderr
    assert SOLUCION.count(BUENA) == 1
    mala = SOLUCION.replace(BUENA, BUENA.replace("null_score", "abs(null_score)"))
    entrega.write_text(mala, encoding="utf-8")
    mala = orden("calificar", "4.1")
    assert mala.returncode == 1 and "fallado" in mala.stdout, mala.stdout + mala.stderr


def test_un_cuaderno_exportado_se_ejecuta_entero(python_del_wheel, exportado, tmp_path):
    """Con su celda de instalación, que no instala nada, y con una respuesta escrita en su sitio.

    De las celdas que corrigen se deja la de esa respuesta y la de otra que falta.
    """
    donde = nbformat.v4.new_code_cell("import atento, calificador\nprint(atento.__file__)")
    otras = re.compile(r"%atento 4\.(?!1$|5$)")
    celdas = [donde, *(c for c in exportado.cells if not otras.match(c.source))]
    exportado = nbformat.from_dict({**exportado, "cells": celdas})
    (respuesta,) = [
        c for c in exportado.cells if c.cell_type == "code" and "def softmax_with_null" in c.source
    ]
    respuesta.source = SOLUCION[: SOLUCION.index("# ## 4.2")]
    nbformat.write(exportado, tmp_path / "cuaderno.ipynb")
    dicho = corre([python_del_wheel, "-P", "-c", EJECUTA], tmp_path)
    assert dicho.returncode == 0, dicho.stderr[-3000:]

    hecho = nbformat.read(tmp_path / "hecho.ipynb", as_version=4)
    paquete = Path(escrito(nbformat.v4.new_notebook(cells=hecho.cells[:1])).strip())
    assert paquete.is_relative_to(python_del_wheel.parents[1]) and sys.prefix not in str(paquete)
    codigo = [c for c in hecho.cells if c.cell_type == "code"]
    assert all(c.execution_count for c in codigo)
    notas = [linea for linea in escrito(hecho).splitlines() if re.match(r"\W 4\.\d+ ", linea)]
    assert [nota.split()[:2] for nota in notas] == [["✓", "4.1"], ["·", "4.5"]], notas
    figuras = [s for c in codigo for s in c.outputs if "image/png" in s.get("data", {})]
    assert figuras and not [s for c in codigo for s in c.outputs if s.output_type == "error"]
