"""Instalar la biblioteca en Colab no cambia lo que Colab trae: si cambia IPython, el núcleo no
vuelve a arrancar.
"""

import tomllib
from importlib.metadata import PackageNotFoundError, requires

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from paginas.capitulos import RAIZ

COLAB = yaml.safe_load((RAIZ / "tests/maquinaria/colab.yml").read_text(encoding="utf-8"))


def proyecto() -> dict:
    """La tabla «project» de pyproject.toml."""
    return tomllib.loads((RAIZ / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def directos() -> list[tuple[str, Requirement]]:
    """Lo que pide la biblioteca al instalarla, con quién lo pide."""
    return [("atento", Requirement(r)) for r in proyecto()["dependencies"]]


def cierre() -> list[tuple[str, Requirement]]:
    """Lo que pide la biblioteca y, detrás, lo que pide cada paquete que llega con ella."""
    pedidos, vistos = directos(), set()
    for _, pedido in pedidos:  # crece mientras se recorre
        nombre = canonicalize_name(pedido.name)
        if nombre in vistos or nombre in COLAB["paquetes"]:  # lo que Colab trae no se instala
            continue
        vistos.add(nombre)
        try:
            suyos = [Requirement(r) for r in requires(nombre) or []]
        except PackageNotFoundError:  # de otro sistema
            continue
        entorno = {"extra": "", "python_version": COLAB["python"]}
        pedidos += [(nombre, r) for r in suyos if r.marker is None or r.marker.evaluate(entorno)]
    return pedidos


def chocan(pedidos: list[tuple[str, Requirement]]) -> list[str]:
    """Los que no se conforman con lo que trae Colab."""
    return [
        f"{quien} pide {r}; Colab trae {COLAB['paquetes'][canonicalize_name(r.name)]}"
        for quien, r in pedidos
        if canonicalize_name(r.name) in COLAB["paquetes"]
        and not r.specifier.contains(COLAB["paquetes"][canonicalize_name(r.name)])
    ]


def test_nada_de_lo_que_trae_colab_se_cambia():
    pedidos = cierre()
    assert {"torch", "numpy", "ipython"} <= {r.name for _, r in pedidos}
    assert {"matplotlib", "scipy", "scikit-learn"} <= {quien for quien, _ in pedidos}
    assert not chocan(pedidos)


def test_la_version_de_python_de_colab_sirve():
    assert Requirement(f"python{proyecto()['requires-python']}").specifier.contains(COLAB["python"])


@pytest.mark.parametrize("pedido", ["ipython>=8", "ipykernel>=6.20", "numpy>=2.2", "torch==2.13.0"])
def test_se_veria_si_se_cambiara(pedido):
    assert chocan([("alguien", Requirement(pedido))])
    assert not chocan([("alguien", Requirement(pedido.split(">")[0].split("=")[0]))])
