"""La publicación: cada trabajo con su permiso, las acciones fijadas por su hash, nada que zizmor
señale y los ficheros como GitHub los espera.
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

from cuidar import procesadores

RAIZ = Path(__file__).resolve().parents[2]
FLUJOS = sorted((RAIZ / ".github" / "workflows").glob("*.yml"))
DEPENDABOT = RAIZ / ".github" / "dependabot.yml"


def corre(nombre: str, *argumentos: str | Path) -> subprocess.CompletedProcess[str]:
    """Un programa del entorno."""
    programa = shutil.which(nombre, path=str(Path(sys.executable).parent))
    assert programa, f"falta {nombre}: make entorno"
    orden = [programa, *map(str, argumentos)]
    return subprocess.run(orden, capture_output=True, text=True, timeout=120)


def zizmor(carpeta: Path) -> subprocess.CompletedProcess[str]:
    """Lo que dice zizmor de una carpeta, sin red."""
    return corre("zizmor", "--offline", "--persona=pedantic", "--no-progress", carpeta)


def esquema(cual: str, *ficheros: Path) -> subprocess.CompletedProcess[str]:
    """Lo que dice de unos ficheros uno de los esquemas de GitHub, que van con check-jsonschema."""
    return corre("check-jsonschema", "--builtin-schema", f"vendor.{cual}", *ficheros)


def leido(flujo: Path) -> dict:
    return yaml.safe_load(flujo.read_text(encoding="utf-8"))


def cuando(flujo: str) -> dict:
    """Con qué empieza un flujo: YAML lee «on» como verdadero."""
    return leido(RAIZ / f".github/workflows/{flujo}.yml")[True]


def pasos(trabajo: str) -> list[dict]:
    """Los pasos de un trabajo del flujo del libro."""
    return leido(RAIZ / ".github/workflows/libro.yml")["jobs"][trabajo]["steps"]


def test_zizmor_no_senala_nada():
    dicho = zizmor(RAIZ / ".github")
    assert dicho.returncode == 0, dicho.stdout + dicho.stderr


def test_zizmor_ve_una_falta_plantada(tmp_path):
    carpeta = tmp_path / ".github" / "workflows"
    carpeta.mkdir(parents=True)
    texto = (RAIZ / ".github/workflows/libro.yml").read_text(encoding="utf-8")
    (carpeta / "libro.yml").write_text(re.sub(r"@[0-9a-f]{40}", "@v4", texto), encoding="utf-8")
    assert zizmor(tmp_path / ".github").returncode != 0


def test_los_flujos_y_dependabot_son_como_github_los_espera():
    for cual, ficheros in (("github-workflows", FLUJOS), ("dependabot", [DEPENDABOT])):
        dicho = esquema(cual, *ficheros)
        assert ficheros and dicho.returncode == 0, dicho.stdout + dicho.stderr


@pytest.mark.parametrize(
    ("cual", "fichero", "antes", "despues"),
    [
        ("github-workflows", FLUJOS[0], "runs-on:", "runs-onn:"),
        ("github-workflows", FLUJOS[0], "timeout-minutes:", "timeout-minute:"),
        ("github-workflows", FLUJOS[-1], "cron:", "crom:"),
        ("dependabot", DEPENDABOT, "interval: weekly", "interval: weakly"),
        ("dependabot", DEPENDABOT, "package-ecosystem: pip", "package-ecosystem: pipp"),
    ],
)
def test_se_ve_una_clave_mal_escrita(tmp_path, cual, fichero, antes, despues):
    texto = fichero.read_text(encoding="utf-8")
    assert antes in texto
    mal = tmp_path / fichero.name
    mal.write_text(texto.replace(antes, despues), encoding="utf-8")
    dicho = esquema(cual, mal)
    assert dicho.returncode == 1 and "Schema validation errors" in dicho.stdout, dicho.stderr


def test_la_integracion_revisa_los_flujos_con_un_actionlint_fijado():
    (paso,) = [p for p in pasos("prueba") if "actionlint" in p.get("name", "")]
    assert re.search(r"/v\d+\.\d+\.\d+/actionlint_", paso["run"])
    assert re.search(r'"[0-9a-f]{64}  actionlint\.tar\.gz" \| sha256sum --check\n', paso["run"])
    assert paso["run"].rstrip().endswith('./actionlint "$GITHUB_WORKSPACE"/.github/workflows/*.yml')


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


def test_en_cada_cambio_se_ejecutan_todas_las_pruebas():
    assert cuando("libro") == {"push": {"branches": ["main"]}, "pull_request": None}
    (paso,) = [p for p in pasos("prueba") if p.get("run") == ".ci/run"]
    assert not {"if", "continue-on-error"} & paso.keys()
    assert (RAIZ / ".ci/run").read_text(encoding="utf-8").endswith("\nexec make prueba\n")
    assert os.access(RAIZ / ".ci/run", os.X_OK)


def test_cada_semana_se_empieza_sin_que_nadie_lo_pida():
    (hora,) = cuando("semanal")["schedule"]
    minuto, dia_y_hora = hora["cron"].split(maxsplit=1)
    assert minuto.isdigit() and re.fullmatch(r"\d+ \* \* [0-6]", dia_y_hora)


def test_quien_propone_un_cambio_puede_verlo_y_lo_que_se_publica_sale_de_main():
    subidas = {
        p["with"].get("name", "páginas"): p["if"]
        for p in pasos("prueba")
        if "/upload-" in p.get("uses", "")
    }
    assert subidas == {
        "vista-previa": "github.event_name == 'pull_request'",
        "páginas": "github.ref == 'refs/heads/main'",
        "cuadernos": "github.ref == 'refs/heads/main'",
    }


def test_se_proponen_versiones_nuevas_de_las_acciones_y_de_los_paquetes():
    propuestas = leido(DEPENDABOT)["updates"]
    assert {p["package-ecosystem"] for p in propuestas} == {"github-actions", "pip"}
    assert all(p["directory"] == "/" and "interval" in p["schedule"] for p in propuestas)


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


def test_cada_semana_se_prueba_en_linux_con_arm_y_en_macos():
    """La primera orden del README, y después los capítulos y la biblioteca con ese procesador."""
    trabajo = leido(RAIZ / ".github/workflows/semanal.yml")["jobs"]["maquina"]
    assert trabajo["runs-on"] == "${{ matrix.maquina }}" and not trabajo["strategy"]["fail-fast"]
    maquinas = [c["maquina"] for c in trabajo["strategy"]["matrix"]["include"]]
    assert maquinas == ["ubuntu-24.04-arm", "macos-15"]
    hace = [p for p in trabajo["steps"] if "run" in p]
    assert [p["run"] for p in hace] == ["make libro", "make procesadores SOLO=este"]
    assert not any({"if", "continue-on-error"} & p.keys() for p in hace)
    assert procesadores.ESTE == "este" and procesadores.ESTE not in procesadores.PROCESADORES


@pytest.mark.parametrize("procesador", ["", "MKL_CBWR=COMPATIBLE"])
def test_la_orden_semanal_pone_la_variable_y_ejecuta_las_pruebas(tmp_path, procesador):
    """El guion del flujo, con otro «.ci/run» que dice lo que ve."""
    trabajo = leido(RAIZ / ".github/workflows/semanal.yml")["jobs"]["prueba"]
    paso = next(p for p in trabajo["steps"] if p.get("name") == "Pruebas")
    assert paso["env"] == {"PROCESADOR": "${{ matrix.procesador }}", "ATENTO_ENTERO": "1"}
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
