"""El flujo de integración que se da a los estudiantes: se lee, y sus órdenes existen y
funcionan."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
import yaml
from ayudas import atento

RAIZ = Path(__file__).resolve().parents[2]
FLUJO = RAIZ / "plantillas" / ".github" / "workflows" / "calificar.yml"


def pasos():
    return yaml.safe_load(FLUJO.read_text(encoding="utf-8"))["jobs"]["calificar"]["steps"]


def ordenes_de_atento():
    lineas = [linea.strip() for paso in pasos() for linea in paso.get("run", "").splitlines()]
    return [linea for linea in lineas if linea.startswith("atento ")]


def test_tiene_la_forma_de_un_flujo():
    flujo = yaml.safe_load(FLUJO.read_text(encoding="utf-8"))
    assert flujo["permissions"] == {"contents": "read"} and set(flujo[True]) == {
        "push",
        "workflow_dispatch",
    }
    for paso in pasos():
        assert ("uses" in paso) != ("run" in paso)
        assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", paso.get("uses", "a/b@v1"))
    assert len(ordenes_de_atento()) == 3


@pytest.mark.parametrize("orden", ordenes_de_atento())
def test_sus_ordenes_funcionan(orden, tmp_path, curso):
    """Se ejecutan tal como están, en un repositorio con los ejercicios resueltos."""
    (tmp_path / "mis-ejercicios").mkdir()
    (tmp_path / "mis-ejercicios" / "cap92.py").write_text(curso.solucion(92))
    guion = orden.replace("atento", f"{shlex.quote(sys.executable)} -m calificador.uso.ordenes", 1)
    hecho = atento(guion, en=tmp_path, ejecutable=("bash", "-ec"))
    assert hecho.returncode == 0, hecho.stdout + hecho.stderr
