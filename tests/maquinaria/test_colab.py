"""Instalar la biblioteca en Colab no cambia lo que Colab trae: si cambia IPython, el núcleo no
vuelve a arrancar.
"""

import tomllib

from packaging.requirements import Requirement

from capitulos import RAIZ

# Según la lista pública de paquetes de Colab, agosto de 2026.
COLAB = {"ipython": "7.34.0", "numpy": "2.1.3", "torch": "2.11.0"}
PYTHON = "3.13"


def _requisitos():
    proyecto = tomllib.loads((RAIZ / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return proyecto, {r.name: r for r in map(Requirement, proyecto["dependencies"])}


def test_nada_de_lo_que_trae_colab_se_cambia():
    proyecto, requisitos = _requisitos()
    chocan = [
        str(r) for n, r in requisitos.items() if n in COLAB and not r.specifier.contains(COLAB[n])
    ]
    assert not chocan and set(COLAB) <= set(requisitos)
    assert Requirement(f"python{proyecto['requires-python']}").specifier.contains(PYTHON)


def test_se_veria_si_se_cambiara():
    assert not Requirement("ipython>=8").specifier.contains(COLAB["ipython"])
