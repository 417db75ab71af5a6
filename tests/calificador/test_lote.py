"""El lote: en paralelo, sin perder nada tras ``kill -9`` y sin repetir lo hecho."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from calificador.uso import clase, lote

BUENA = "def output_shape(a, b, c):\n    return (a, c)\n"
MALAS = {
    "claves": "def output_shape(a, b, c):\n    return (b, c)\n",
    "sale": "import os\nos._exit(0)\n",
    "muere": "def output_shape(a, b, c):\n    import os\n    os._exit(1)\n",
    "sintaxis": "def output_shape(:\n",
    "vacia": "",
    "huida": "import os\nwhile True:\n    os.fork()\n",
}


def prepara_entregas(carpeta: Path, cuantas: int) -> None:
    """Entregas de todo tipo: una de cada diez, mala."""
    carpeta.mkdir()
    nombres = list(MALAS)
    for i in range(cuantas):
        mala = nombres[i // 10 % len(nombres)] if i % 10 == 9 else ""
        texto = MALAS[mala] if mala else BUENA
        (carpeta / f"p{i:03d}_cap91.py").write_text(texto + f"# {i}\n" * bool(texto))


def encargo(salida: Path, nivel: str = "media", semilla: str = "s") -> lote.Encargo:
    return lote.Encargo(str(salida), clase.Clase("prueba", semilla), ("91.3",), nivel, os.environ["ATENTO_CURSO"])


def puntos(salida: Path) -> dict[str, int]:
    return {c.id: c.puntos for c in lote.lee_notas(salida)}


def orden(entregas: Path, salida: Path, trabajos: int = 2) -> list[str]:
    return [sys.executable, "-m", "calificador.uso.ordenes", "lote", str(entregas), "--salida", str(salida),
            "--ejercicio", "91.3",
            "--semilla", "s", "--trabajos", str(trabajos), "--nivel", "media"]  # fmt: skip


@pytest.mark.lento
def test_tres_kill_no_pierden_nada(tmp_path, curso):
    from calificador.jaula import canal

    if canal.prueba_nivel("media"):
        pytest.skip(f"la jaula media no está disponible aquí: {canal.prueba_nivel('media')}")
    entregas, salida = tmp_path / "ENTREGAS", tmp_path / "NOTAS"
    prepara_entregas(entregas, 40)
    resultados = salida / "resultados"
    for vuelta in range(3):
        with subprocess.Popen(orden(entregas, salida), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as proceso:
            meta = len(list(resultados.glob("*.json"))) + 3
            limite = time.monotonic() + 60
            while len(list(resultados.glob("*.json"))) < meta and proceso.poll() is None and time.monotonic() < limite:
                time.sleep(0.01)
            familia = psutil.Process(proceso.pid).children(recursive=True)
            if vuelta == 1 and familia:
                familia[0].kill()  # y una vez, antes, a un trabajador
            os.kill(proceso.pid, signal.SIGKILL)
            _, vivos = psutil.wait_procs(familia, timeout=15)
            assert vivos == []
    hechos = {p: p.stat().st_mtime_ns for p in resultados.glob("p*.json")}
    assert 0 < len(hechos) < 40 and all(json.loads(p.read_text())["formato"] == 1 for p in hechos)
    ultima = subprocess.run(orden(entregas, salida), capture_output=True, text=True, timeout=120)
    assert ultima.returncode == 1, ultima.stderr
    assert {p: p.stat().st_mtime_ns for p in hechos} == hechos, "se volvió a corregir lo que ya estaba"
    assert len(list(resultados.iterdir())) == 40
    assert puntos(salida) == {f"p{i:03d}": 0 if i % 10 == 9 else 1 for i in range(40)}


def test_la_clave_cambia_con_lo_que_decide_la_nota(tmp_path, curso):
    prepara_entregas(tmp_path / "E", 1)
    (entrega,) = lote.lee_entregas(tmp_path / "E", curso)
    base = encargo(tmp_path)
    claves = {lote.clave(entrega, e, curso) for e in (
        base, dataclasses.replace(base, clase=clase.Clase("x", "otra")), dataclasses.replace(base, nivel="fuerte"),
        dataclasses.replace(base, clase=clase.Clase("x", "s", {"91.3": {"a": 1}})),
        dataclasses.replace(base, ejercicios=("91.2",)),
    )}  # fmt: skip
    assert len(claves) == 5
    assert lote.clave(entrega, dataclasses.replace(base, clase=clase.Clase("otro nombre", "s")), curso) in claves


def test_un_json_a_medias_se_repite(tmp_path, curso, corrector_en_serie):
    prepara_entregas(tmp_path / "E", 2)
    leidas = lote.lee_entregas(tmp_path / "E", curso)
    lote.corrige_lote(leidas, encargo(tmp_path / "N"), trabajos=1)
    victima = next((tmp_path / "N" / "resultados").glob("p000*.json"))
    victima.write_text('{"formato": 1, "id"')
    (victima.parent / ".tmp-resto").write_text("x")
    corregidas = lote.corrige_lote(leidas, encargo(tmp_path / "N"), trabajos=1)
    assert [c.puntos for c in corregidas] == [1, 1] and not list(victima.parent.glob(".tmp-*"))
    assert json.loads(victima.read_text())["id"] == "p000"


def test_si_el_cigoto_muere_se_sigue_con_otro(tmp_path, curso, corrector_en_serie):
    prepara_entregas(tmp_path / "E", 1)
    (entrega,) = lote.lee_entregas(tmp_path / "E", curso)
    tarea = encargo(tmp_path / "N")
    destino = str(tmp_path / "N" / "resultados" / "x.json")
    lote.corrige(entrega, tarea, destino, os.getpid())
    psutil.Process(lote._corrector(tarea).pid).kill()
    assert lote.corrige(entrega, tarea, destino, os.getpid()).puntos == 1


def test_los_nombres_hostiles_no_salen_de_la_carpeta(tmp_path, curso, corrector_en_serie):
    (tmp_path / "E").mkdir()
    for nombre in ("=cmd|' C calc'!A0\n.py", "_..py", "-rf.py"):
        (tmp_path / "E" / nombre).write_text(BUENA)
    (tmp_path / "E" / os.fsdecode(b"\xff.py")).write_text(BUENA)
    leidas = lote.lee_entregas(tmp_path / "E", curso)
    for _ in range(2):
        corregidas = lote.corrige_lote(leidas, encargo(tmp_path / "N"), trabajos=1)
        assert [c.puntos for c in corregidas] == [1] * 4
    assert {p.name for p in tmp_path.iterdir()} == {"E", "N"}
    assert len(list((tmp_path / "N" / "resultados").iterdir())) == 4


def test_sin_entregas_se_dice(tmp_path, curso):
    for ruta in (tmp_path / "no", tmp_path):
        with pytest.raises(ValueError, match="no existe|no hay entregas"):
            lote.lee_entregas(ruta, curso)
    with pytest.raises(ValueError, match="corrige antes"):
        lote.lee_notas(tmp_path)


@pytest.fixture
def corrector_en_serie(entorno):
    """Las tareas corren en este proceso; al acabar se cierra su cigoto."""
    from calificador.jaula import canal

    motivo = canal.prueba_nivel("media")
    if motivo:
        pytest.skip(f"la jaula media no está disponible aquí: {motivo}")
    yield
    lote.cierra_todo()
