"""La publicación: cada trabajo con su permiso, las acciones fijadas por su hash y nada que zizmor
señale.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import procesadores

RAIZ = Path(__file__).resolve().parents[2]
FLUJOS = sorted((RAIZ / ".github" / "workflows").glob("*.yml"))


def zizmor(carpeta: Path) -> subprocess.CompletedProcess[str]:
    """Lo que dice zizmor de una carpeta, sin red."""
    programa = shutil.which("zizmor", path=str(Path(sys.executable).parent))
    assert programa, "falta zizmor: make entorno"
    orden = [programa, "--offline", "--persona=pedantic", "--no-progress", str(carpeta)]
    return subprocess.run(orden, capture_output=True, text=True, timeout=120)


def leido(flujo: Path) -> dict:
    return yaml.safe_load(flujo.read_text(encoding="utf-8"))


def test_zizmor_no_senala_nada():
    dicho = zizmor(RAIZ / ".github")
    assert dicho.returncode == 0, dicho.stdout + dicho.stderr


def test_zizmor_ve_una_falta_plantada(tmp_path):
    carpeta = tmp_path / ".github" / "workflows"
    carpeta.mkdir(parents=True)
    texto = (RAIZ / ".github/workflows/libro.yml").read_text(encoding="utf-8")
    (carpeta / "libro.yml").write_text(re.sub(r"@[0-9a-f]{40}", "@v4", texto), encoding="utf-8")
    assert zizmor(tmp_path / ".github").returncode != 0


@pytest.mark.parametrize("flujo", FLUJOS, ids=lambda p: p.stem)
def test_las_acciones_van_por_su_hash(flujo):
    usos = re.findall(r"uses: (\S+)(.*)", flujo.read_text(encoding="utf-8"))
    sueltas = [
        uso
        for uso, nota in usos
        if not re.search(r"@[0-9a-f]{40}$", uso) or not re.search(r"# v\d", nota)
    ]
    assert usos and not sueltas, sueltas


@pytest.mark.parametrize("flujo", FLUJOS, ids=lambda p: p.stem)
def test_cada_trabajo_tiene_permisos_propios_y_plazo(flujo):
    contenido = leido(flujo)
    assert contenido["permissions"] == {}
    faltas = [
        n
        for n, t in contenido["jobs"].items()
        if "timeout-minutes" not in t or not t.get("permissions")
    ]
    assert not faltas, faltas


def test_solo_publica_quien_publica_y_lo_que_prueba_solo_lee():
    trabajos = leido(RAIZ / ".github/workflows/libro.yml")["jobs"]
    assert trabajos["prueba"]["permissions"] == {"contents": "read"}
    assert trabajos["paginas"]["permissions"] == {"pages": "write", "id-token": "write"}
    assert trabajos["cuadernos"]["permissions"] == {"contents": "write"}
    for nombre, antes in (("paginas", "prueba"), ("cuadernos", "paginas")):
        assert trabajos[nombre]["needs"] == antes and "refs/heads/main" in trabajos[nombre]["if"]


def test_en_la_rama_principal_no_se_cancela():
    principal = leido(RAIZ / ".github/workflows/libro.yml")
    assert (
        principal["concurrency"]["cancel-in-progress"] == "${{ github.ref != 'refs/heads/main' }}"
    )


def test_cada_semana_se_prueba_en_limpio_con_otros_python_y_como_en_otros_procesadores():
    """Los procesadores son los de «make procesadores», y los Python, los que se prometen."""
    trabajo = leido(RAIZ / ".github/workflows/semanal.yml")["jobs"]["prueba"]
    casos = trabajo["strategy"]["matrix"]["include"]
    otros = {
        (nombre, "3.11", f"{variable}={valor}")
        for nombre, entorno in procesadores.PROCESADORES.items()
        for variable, valor in entorno.items()
    }
    assert {(c["nombre"], c["python"], c["procesador"]) for c in casos} == otros | {
        ("en limpio", "3.11", ""),
        ("Python 3.12", "3.12", ""),
        ("Python 3.13", "3.13", ""),
    }


@pytest.mark.parametrize("procesador", ["", "MKL_CBWR=COMPATIBLE"])
def test_la_orden_semanal_pone_la_variable_y_ejecuta_las_pruebas(tmp_path, procesador):
    """El guion del flujo, con otro «.ci/run» que dice lo que ve."""
    trabajo = leido(RAIZ / ".github/workflows/semanal.yml")["jobs"]["prueba"]
    paso = next(p for p in trabajo["steps"] if p.get("name") == "Pruebas")
    assert paso["env"] == {"PROCESADOR": "${{ matrix.procesador }}"}
    doble = tmp_path / ".ci" / "run"
    doble.parent.mkdir()
    doble.write_text('#!/bin/bash\necho "pruebas ${MKL_CBWR-sin poner}"\nexit 3\n')
    doble.chmod(0o755)
    entorno = {k: v for k, v in os.environ.items() if k != "MKL_CBWR"}
    hecho = subprocess.run(
        ["bash", "-e", "-c", paso["run"]],
        cwd=tmp_path,
        env={**entorno, "PROCESADOR": procesador},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert hecho.returncode == 3, hecho.stderr
    assert hecho.stdout.strip() == f"pruebas {procesador.partition('=')[2] or 'sin poner'}"
