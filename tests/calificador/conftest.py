"""Un curso pequeño y un corrector por nivel de jaula, comunes a las pruebas del calificador."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

AQUI = Path(__file__).resolve().parent
RAIZ = AQUI.parents[1]
CURSO = AQUI / "curso"


@pytest.fixture(scope="session", autouse=True)
def entorno():
    """Las pruebas usan el curso de prueba; los procesos que lancen lo heredan."""
    previo = os.environ.get("ATENTO_CURSO")
    os.environ["ATENTO_CURSO"] = str(CURSO)
    import torch

    torch.set_num_threads(1)
    yield
    if previo is None:
        del os.environ["ATENTO_CURSO"]
    else:
        os.environ["ATENTO_CURSO"] = previo


@pytest.fixture(scope="session")
def curso(entorno):
    from calificador import carga

    return carga.curso_en(str(CURSO))


@pytest.fixture(scope="session", params=["media", "fuerte"])
def nivel(request, entorno):
    """Cada nivel que protege de código ajeno; si no está en esta máquina, se dice y se sigue."""
    from calificador.jaula import canal

    motivo = canal.prueba_nivel(request.param)
    if motivo is not None:
        pytest.skip(f"la jaula {request.param} no está disponible aquí: {motivo}")
    return request.param


@pytest.fixture(scope="session")
def corrector(nivel, curso):
    from calificador.correccion.oraculo import Corrector
    from calificador.jaula.encierro import Limites

    # Un segundo de margen para lo honrado (tarda 0.03 s) y poca espera por cada ataque que se cuelga.
    limites = Limites(carga=2.0, caso=1.5, total=2.5, cpu=4, memoria=400 << 20)
    with Corrector(nivel, "pruebas", del_curso=curso, limites=limites) as abierto:
        yield abierto
