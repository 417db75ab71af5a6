"""Un curso pequeño, un corrector por nivel de jaula y el curso real en sus dos instalaciones."""

from __future__ import annotations

import gc
import json
import os
import select
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

AQUI = Path(__file__).resolve().parent
RAIZ = AQUI.parents[1]
CURSO = AQUI / "curso"
NIVELES_CON_JAULA = ("media", "fuerte")


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


@pytest.fixture
def sin_lastre():
    """Repasar lo que las pruebas tenían ya en memoria no se le cuenta a lo que se mide."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(scope="session")
def curso(entorno):
    from calificador import carga

    return carga.curso_en(str(CURSO))


def exige_nivel(nivel: str) -> str:
    """El nivel, si esta máquina lo tiene; si no, se dice y se sigue."""
    from calificador.jaula import canal

    motivo = canal.prueba_nivel(nivel)
    if motivo is not None:
        pytest.skip(f"la jaula {nivel} no está disponible aquí: {motivo}")
    return nivel


@pytest.fixture(scope="session")
def media(entorno):
    """La jaula de los lotes."""
    return exige_nivel("media")


@pytest.fixture(scope="session", params=NIVELES_CON_JAULA)
def nivel(request, entorno):
    """Cada nivel que protege de código ajeno."""
    return exige_nivel(request.param)


@pytest.fixture(scope="session")
def corrector(nivel, curso):
    from calificador.correccion.oraculo import Corrector
    from calificador.jaula.encierro import Limites

    # Un segundo de margen para lo honrado (tarda 0.03 s) y poca espera por cada ataque que se
    # cuelga.
    limites = Limites(carga=2.0, caso=1.5, total=2.5, cpu=4, memoria=400 << 20)
    with Corrector(nivel, "pruebas", del_curso=curso, limites=limites) as abierto:
        abierto.califica(curso.ejercicios["91.1"], curso.solucion(91))  # arrancar no es de nadie
        yield abierto


# --- El curso real, instalado de las dos maneras --------------------------------------------------


def _ejecuta(*orden: object) -> None:
    hecho = subprocess.run(
        [str(o) for o in orden], capture_output=True, text=True, timeout=240, cwd=RAIZ
    )
    assert hecho.returncode == 0, hecho.stdout + hecho.stderr


@pytest.fixture(scope="session")
def python_del_wheel(tmp_path_factory) -> Path:
    """El intérprete de un entorno propio con ``atento`` instalado desde su wheel, fuera del
    repositorio.

    Las dependencias son enlaces a las del entorno de las pruebas: tarda segundos y no hace falta
    red.
    """
    base = tmp_path_factory.mktemp("wheel")
    instala = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    _ejecuta(*instala, "wheel", RAIZ, "--quiet", "--no-deps", "--no-build-isolation", "-w", base)
    venv.create(base / "venv", symlinks=True, with_pip=False)
    python = base / "venv" / "bin" / "python"
    paquetes = next((base / "venv" / "lib").glob("python*/site-packages"))
    propios = ("atento", "_atento", "_editable", "__pycache__", "calificador")
    for hijo in Path(sysconfig.get_path("purelib")).iterdir():
        if not hijo.name.startswith(propios) and not hijo.name.endswith(".pth"):
            (paquetes / hijo.name).symlink_to(hijo)
    [wheel] = base.glob("*.whl")
    _ejecuta(*instala, "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel)
    # Como si hubiera quedado una copia de una instalación anterior: tampoco se puede leer.
    shutil.copytree(RAIZ / "solutions", paquetes / "calificador_viejo" / "solutions")
    for solucion in (RAIZ / "solutions").glob("cap*.py"):
        shutil.copy(solucion, paquetes)
    return python


class Mesa:
    """Un proceso de uno de los entornos que corrige el curso real en un nivel."""

    def __init__(self, python: Path, nivel: str, carpeta: Path, *opciones: str) -> None:
        entorno = {k: v for k, v in os.environ.items() if k not in ("ATENTO_CURSO", "PYTHONPATH")}
        self._errores = carpeta / "errores.txt"
        self._proceso = subprocess.Popen(
            [python, "-P", AQUI / "corrige_real.py", nivel, *opciones],
            cwd=carpeta,
            env=entorno | {"OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errores.open("w"),
            text=True,
        )
        presenta = self._lee(90)
        self.ejercicios, self.paquete = presenta["ejercicios"], Path(presenta["paquete"])
        self.bifurcado = presenta["bifurcado"]

    def corrige(
        self,
        id_: str,
        fuente: str = "solución",
        *,
        limites: str = "ataque",
        con_pista: bool = True,
    ) -> dict:
        """El resultado de un ejercicio; «solución» y «esqueleto» son los de su capítulo."""
        pedido = {"id": id_, "fuente": fuente, "limites": limites, "con_pista": con_pista}
        self._proceso.stdin.write(json.dumps(pedido) + "\n")
        self._proceso.stdin.flush()
        return self._lee(120)

    def _lee(self, segundos: float) -> dict:
        listo, _, _ = select.select([self._proceso.stdout], [], [], segundos)
        linea = self._proceso.stdout.readline() if listo else ""
        if not linea.startswith("{"):
            self.cierra()
            pytest.fail(f"quien corrige no contestó: {linea}{self._errores.read_text()[-2000:]}")
        return json.loads(linea)

    def cierra(self) -> None:
        """Termina el proceso."""
        self._proceso.kill()
        self._proceso.wait(timeout=10)


@pytest.fixture(scope="session", params=["clon", "wheel"])
def instalacion(request) -> str:
    """Cada manera de tener el curso."""
    return request.param


@pytest.fixture(scope="session")
def python_del_curso(instalacion, request) -> Path:
    """El intérprete de cada instalación."""
    return (
        Path(sys.executable)
        if instalacion == "clon"
        else request.getfixturevalue("python_del_wheel")
    )


@pytest.fixture(scope="session")
def mesa(python_del_curso, nivel, tmp_path_factory):
    """Quien corrige el curso real en esa instalación y ese nivel, desde fuera del repositorio."""
    abierta = Mesa(python_del_curso, nivel, tmp_path_factory.mktemp("fuera"))
    yield abierta
    abierta.cierra()


@pytest.fixture(scope="session")
def mesa_basica(python_del_curso, tmp_path_factory):
    """Lo mismo sin jaula: sirve para saber que un ataque ataca."""
    abierta = Mesa(python_del_curso, "basica", tmp_path_factory.mktemp("fuera"))
    yield abierta
    abierta.cierra()


@pytest.fixture(scope="session")
def mesa_pronta(nivel, tmp_path_factory):
    """Con el cigoto bifurcado que usa ``atento calificar``."""
    abierta = Mesa(Path(sys.executable), nivel, tmp_path_factory.mktemp("fuera"), "pronto")
    yield abierta
    abierta.cierra()
