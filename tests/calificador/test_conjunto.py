"""El lote en varias máquinas: un planificador de verdad y trabajadores de verdad, en 127.0.0.1."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from ayudas import ENTORNO, atento, espera, lanza, matando

pytestmark = [pytest.mark.lento, pytest.mark.timeout(300)]
BUENA = "def output_shape(a, b, c):\n    return (a, c)\n"
MALA = "def output_shape(a, b, c):\n    return (b, c)\n"
LENTA = "import time\ntime.sleep(1)\n"
PYTHON_SIN_DASK = (
    sys.executable,
    "-c",
    "import sys; sys.modules['distributed'] = None; from calificador.uso.ordenes import main;"
    " main()",
)


class Maquinas:
    """Un planificador y sus trabajadores; al salir no queda ninguno."""

    def __init__(self, carpeta: Path) -> None:
        self.carpeta = carpeta
        self.procesos: dict[str, subprocess.Popen] = {}
        with socket.create_server(("127.0.0.1", 0)) as libre:
            puerto = libre.getsockname()[1]
        self.direccion = f"tcp://127.0.0.1:{puerto}"
        self._empieza("planificador", "scheduler", "--host", "127.0.0.1", "--port", str(puerto))

    def trabajador(self, nombre: str, *opciones: str, **entorno: str) -> subprocess.Popen:
        """Otro trabajador, sin niñera: si muere, no lo reemplaza nadie."""
        return self._empieza(
            nombre, "worker", self.direccion, "--nthreads", "1", "--no-nanny", "--name", nombre,
            *opciones, **entorno,
        )  # fmt: skip

    def _empieza(self, nombre: str, *orden: str, **entorno: str) -> subprocess.Popen:
        # El curso viaja: que no lo encuentren por el entorno.
        propio = {k: v for k, v in os.environ.items() if k != "ATENTO_CURSO"}
        registro = (self.carpeta / f"{nombre}.txt").open("w")
        proceso = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_" + orden[0], *orden[1:],
             "--no-dashboard"],
            cwd=self.carpeta, stdout=registro, stderr=subprocess.STDOUT,
            env={**propio, **ENTORNO, **entorno}, start_new_session=True,
        )  # fmt: skip
        registro.close()
        self.procesos[nombre] = proceso
        return proceso

    def cuenta(self, nombre: str) -> str:
        """Lo que lleva dicho."""
        return (self.carpeta / f"{nombre}.txt").read_text()


@contextmanager
def maquinas(carpeta: Path) -> Iterator[Maquinas]:
    carpeta.mkdir()
    abiertas = Maquinas(carpeta)
    try:
        yield abiertas
    finally:
        familia = []
        for proceso in abiertas.procesos.values():
            if proceso.poll() is None:
                familia += psutil.Process(proceso.pid).children(recursive=True)
                proceso.kill()
            proceso.wait(timeout=20)
        # Ni los cigotos de los trabajadores: mueren con ellos.
        _, vivos = psutil.wait_procs(familia, timeout=5)
        for vivo in vivos:
            vivo.kill()
    assert vivos == []


def entregas(carpeta: Path, cuantas: int, texto: str = BUENA) -> Path:
    carpeta.mkdir()
    for i in range(cuantas):
        cuerpo = MALA if i % 4 == 3 else texto
        (carpeta / f"p{i:03d}_cap91.py").write_text(f"{cuerpo}\n# {i}\n")
    return carpeta


def orden(entregas: Path, salida: Path, *mas: object) -> list[object]:
    return [
        "lote", entregas, "--salida", salida, "--ejercicio", "91.3", "--semilla", "s",
        "--nivel", "media", *mas,
    ]  # fmt: skip


def notas(salida: Path) -> dict[str, tuple]:
    """Lo que decide una nota: ni el tiempo ni dónde se corrigió."""
    leidas = [json.loads(f.read_text()) for f in (salida / "resultados").glob("p*.json")]
    return {
        d["id"]: (
            d["nombre"],
            d["incidencias"],
            d["nivel"],
            [{k: v for k, v in r.items() if k != "segundos"} for r in d["resultados"]],
        )
        for d in leidas
    }


def test_dos_trabajadores_dan_las_mismas_notas_que_uno_solo(tmp_path, media):
    """Y se matan: lo que llevaba el muerto lo hace el otro, y la orden no pierde nada."""
    carpeta = entregas(tmp_path / "E", 16, LENTA + BUENA)
    with maquinas(tmp_path / "M") as todas:
        uno = todas.trabajador("uno")
        todas.trabajador("dos")
        proceso = lanza(
            *orden(carpeta, tmp_path / "N", "--en", todas.direccion, "--trabajos", 7), en=tmp_path
        )
        with matando(proceso):
            espera(
                lambda: len(notas_hechas(tmp_path / "N")) >= 3 or proceso.poll() is not None, 120
            )
            uno.kill()
            salida, errores = proceso.communicate(timeout=200)
        assert proceso.returncode == 1, salida + errores + todas.cuenta("dos")
        assert "Aviso: --trabajos no cuenta con --en" in salida
        assert "16 entregas" in salida and "12 con todos los puntos" in salida
    aqui = atento(*orden(carpeta, tmp_path / "A", "--trabajos", 1), en=tmp_path)
    assert aqui.returncode == 1, aqui.stderr
    assert notas(tmp_path / "N") == notas(tmp_path / "A") and len(notas(tmp_path / "N")) == 16


def notas_hechas(salida: Path) -> list[Path]:
    return list((salida / "resultados").glob("p*.json"))


def test_con_un_solo_trabajador_tambien_corrige_el(tmp_path, media):
    """Y no la máquina de quien lo pide, que es lo que hace ``joblib`` con un reparto de uno."""
    previo = tmp_path / "previo.py"
    previo.write_text(
        "from calificador.uso import lote\n"
        "lote.suya = getattr(lote, 'suya', lote.corrige)\n"  # Dask lo lee dos veces
        "lote.corrige = lambda *pedido: print('corrige una', flush=True) or lote.suya(*pedido)\n"
    )
    carpeta = entregas(tmp_path / "E", 4)
    with maquinas(tmp_path / "M") as todas:
        todas.trabajador("sola", "--preload", str(previo))
        hecho = atento(*orden(carpeta, tmp_path / "N", "--en", todas.direccion), en=tmp_path)
        assert hecho.returncode == 1, hecho.stdout + hecho.stderr
        assert "3 con todos los puntos" in hecho.stdout
        assert todas.cuenta("sola").count("corrige una") == 4


def test_un_trabajador_de_otra_version_se_rechaza_por_su_nombre(tmp_path, media):
    raiz = Path(__file__).resolve().parents[2] / "code"
    otra = tmp_path / "otra"
    for paquete in ("calificador", "atento"):
        shutil.copytree(raiz / paquete, otra / paquete, ignore=shutil.ignore_patterns("*.pyc"))
    with (otra / "calificador" / "fuente.py").open("a") as fichero:
        fichero.write("\n# otra versión\n")
    carpeta = entregas(tmp_path / "E", 4)
    with maquinas(tmp_path / "M") as todas:
        todas.trabajador("vieja", PYTHONPATH=str(otra))
        espera(lambda: "Registered to" in todas.cuenta("vieja"), 90)
        sola = atento(*orden(carpeta, tmp_path / "N", "--en", todas.direccion), en=tmp_path)
        assert sola.returncode == 2 and not notas(tmp_path / "N"), sola.stdout
        assert "no sirve ningún trabajador" in sola.stderr and "vieja lleva atento" in sola.stderr
        todas.trabajador("buena")
        espera(lambda: "Registered to" in todas.cuenta("buena"), 90)
        con_otra = atento(*orden(carpeta, tmp_path / "N", "--en", todas.direccion), en=tmp_path)
    assert con_otra.returncode == 1, con_otra.stderr
    assert "se rechaza al trabajador vieja: lleva atento" in con_otra.stdout
    assert "3 con todos los puntos" in con_otra.stdout


def test_un_trabajador_sin_la_jaula_se_rechaza(tmp_path, media):
    """La máquina es esta, con la comprobación de otra que no la tuviera."""
    previo = tmp_path / "previo.py"
    previo.write_text(
        "from calificador.jaula import canal\n"
        "canal.prueba_nivel = lambda nivel: 'el núcleo no tiene Landlock'\n"
    )
    with maquinas(tmp_path / "M") as todas:
        todas.trabajador("suelta", "--preload", str(previo))
        hecho = atento(
            *orden(entregas(tmp_path / "E", 1), tmp_path / "N", "--en", todas.direccion),
            en=tmp_path,
        )
    assert hecho.returncode == 2, hecho.stdout
    assert "suelta no tiene la jaula media: el núcleo no tiene Landlock" in hecho.stderr


def test_sin_planificador_o_sin_dask_se_dice_en_una_linea(tmp_path):
    carpeta = entregas(tmp_path / "E", 1)
    with socket.create_server(("127.0.0.1", 0)) as libre:
        puerto = libre.getsockname()[1]
    comienzo = time.monotonic()
    nadie = atento(
        *orden(carpeta, tmp_path / "N", "--en", f"tcp://127.0.0.1:{puerto}"), en=tmp_path
    )
    assert nadie.returncode == 2 and time.monotonic() - comienzo < 90
    assert "no contesta ningún planificador de Dask" in nadie.stderr
    assert "«dask scheduler»" in nadie.stderr and len(nadie.stderr.splitlines()) == 1
    sin = atento(
        *orden(carpeta, tmp_path / "N", "--en", "tcp://127.0.0.1:1"),
        en=tmp_path,
        ejecutable=PYTHON_SIN_DASK,
    )
    assert sin.returncode == 2 and "«pip install distributed»" in sin.stderr
    assert len(sin.stderr.splitlines()) == 1
