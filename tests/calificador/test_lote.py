"""El lote: en paralelo, sin perder nada tras ``kill -9`` y sin repetir lo hecho."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
from pathlib import Path

import psutil
import pytest
from ayudas import atento, espera, lanza, matando

from calificador import carga
from calificador.jaula.canal import FalloDeEntorno
from calificador.uso import clase, exporta, lote
from calificador.uso.senales import Interrumpido

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
    return lote.Encargo(
        str(salida), clase.Clase("prueba", semilla), ("91.3",), nivel, os.environ["ATENTO_CURSO"]
    )


def puntos(salida: Path) -> dict[str, int]:
    return {c.id: c.puntos for c in lote.lee_notas(salida)}


def orden(entregas: Path, salida: Path, trabajos: int = 2) -> list[object]:
    return [
        "lote",
        entregas,
        "--salida",
        salida,
        "--ejercicio",
        "91.3",
        "--semilla",
        "s",
        "--trabajos",
        trabajos,
        "--nivel",
        "media",
    ]


@pytest.mark.lento
@pytest.mark.timeout(300)
def test_tres_kill_no_pierden_nada(tmp_path, media):
    entregas, salida = tmp_path / "ENTREGAS", tmp_path / "NOTAS"
    prepara_entregas(entregas, 40)
    resultados = salida / "resultados"

    def hechas():
        return len(list(resultados.glob("p*.json")))

    for vuelta in range(3):
        proceso = lanza(*orden(entregas, salida), en=tmp_path)
        with matando(proceso):
            meta = hechas() + 3
            espera(
                lambda meta=meta, proceso=proceso: hechas() >= meta or proceso.poll() is not None
            )
            familia = psutil.Process(proceso.pid).children(recursive=True)
            if vuelta == 1 and familia:
                familia[0].kill()  # y una vez, antes, a un trabajador
            os.kill(proceso.pid, signal.SIGKILL)
            _, vivos = psutil.wait_procs(familia, timeout=15)
            assert vivos == []
    hechos = {p: p.stat().st_mtime_ns for p in resultados.glob("p*.json")}
    assert 0 < len(hechos) < 40 and all(json.loads(p.read_text())["formato"] == 1 for p in hechos)
    ultima = atento(*orden(entregas, salida), en=tmp_path)
    assert ultima.returncode == 1, ultima.stderr
    assert {p: p.stat().st_mtime_ns for p in hechos} == hechos, (
        "se volvió a corregir lo que ya estaba"
    )
    assert len(list(resultados.iterdir())) == 40
    assert puntos(salida) == {f"p{i:03d}": 0 if i % 10 == 9 else 1 for i in range(40)}


def test_la_clave_cambia_con_lo_que_decide_la_nota(tmp_path, curso):
    prepara_entregas(tmp_path / "E", 1)
    (entrega,) = lote.lee_entregas(tmp_path / "E", curso)
    base = encargo(tmp_path)
    claves = {
        lote.clave(entrega, e, curso)
        for e in (
            base,
            dataclasses.replace(base, clase=clase.Clase("x", "otra")),
            dataclasses.replace(base, nivel="fuerte"),
            dataclasses.replace(base, clase=clase.Clase("x", "s", {"91.3": {"a": 1}})),
            dataclasses.replace(base, ejercicios=("91.2",)),
        )
    }
    assert len(claves) == 5
    assert (
        lote.clave(entrega, dataclasses.replace(base, clase=clase.Clase("otro nombre", "s")), curso)
        in claves
    )


@pytest.mark.parametrize(
    ("fichero", "cambia"),
    [("registro/cap91.py", True), ("solutions/cap91.py", True), ("registro/cap92.py", False),
     ("exercises/cap91.py", False)],
)  # fmt: skip
def test_la_clave_cambia_si_se_corrige_el_ejercicio(tmp_path, curso, fichero, cambia):
    """Con otro registro u otra solución, las notas de antes no valen."""
    prepara_entregas(tmp_path / "E", 1)
    (entrega,) = lote.lee_entregas(tmp_path / "E", curso)
    propio = shutil.copytree(os.environ["ATENTO_CURSO"], tmp_path / "curso")
    tarea = dataclasses.replace(encargo(tmp_path), curso=str(propio))
    claves = set()
    for coletilla in ("", "\n# Corregido.\n"):
        ruta = propio / fichero
        ruta.write_text(ruta.read_text("utf-8") + coletilla, encoding="utf-8")
        carga.curso_en.cache_clear()
        claves.add(lote.clave(entrega, tarea, carga.curso_en(str(propio))))
    carga.curso_en.cache_clear()
    assert len(claves) == 1 + cambia


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
    lote.corrige(entrega, tarea)
    psutil.Process(lote._corrector(tarea).pid).kill()
    assert lote.corrige(entrega, tarea).puntos == 1


def test_quien_corrige_no_escribe(tmp_path, curso, corrector_en_serie):
    """A los trabajadores los matan a mitad de lo que estén haciendo: solo escribe quien reparte."""
    prepara_entregas(tmp_path / "E", 1)
    leidas = lote.lee_entregas(tmp_path / "E", curso)
    assert lote.corrige(leidas[0], encargo(tmp_path / "N")).puntos == 1
    assert not (tmp_path / "N").exists()
    lote.corrige_lote(leidas, encargo(tmp_path / "N"), trabajos=1)
    assert puntos(tmp_path / "N") == {"p000": 1}


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


# --- La frontera de cada entrega ------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [ValueError("raro [/x] \x1b[31m"), MemoryError(), RecursionError("r"), KeyError(3)]
)
def test_un_fallo_al_corregir_a_una_persona_es_una_linea_suya(
    tmp_path, curso, corrector_en_serie, monkeypatch, error
):
    from calificador.correccion.oraculo import Corrector

    original = Corrector.califica

    def falla(self, ejercicio, fuente, **opciones):
        if "# 1\n" in fuente.texto:
            raise error
        return original(self, ejercicio, fuente, **opciones)

    prepara_entregas(tmp_path / "E", 3)
    leidas = lote.lee_entregas(tmp_path / "E", curso)
    monkeypatch.setattr(Corrector, "califica", falla)
    hechas = lote.corrige_lote(leidas, encargo(tmp_path / "N"), trabajos=1)
    assert [c.puntos for c in hechas] == [1, 0, 1] and [c.repetir for c in hechas] == [
        False,
        True,
        False,
    ]
    assert "no se ha podido corregir: " + type(error).__name__ in hechas[1].incidencias[0]
    assert not any(c in hechas[1].incidencias[0] for c in "\n\x1b")
    exporta.plano(lote.lee_notas(tmp_path / "N"), tmp_path / "N")
    # y cuando el calificador se arregla, la misma orden lo corrige
    monkeypatch.setattr(Corrector, "califica", original)
    assert [c.puntos for c in lote.corrige_lote(leidas, encargo(tmp_path / "N"), trabajos=1)] == [
        1,
        1,
        1,
    ]


def test_quien_acaba_con_el_cigoto_no_detiene_a_los_demas(
    tmp_path, curso, corrector_en_serie, monkeypatch
):
    from calificador.correccion.oraculo import Corrector

    original = Corrector.califica

    def falla(self, ejercicio, fuente, **opciones):
        if "# 0\n" in fuente.texto:
            raise FalloDeEntorno("el proceso que prepara las entregas ha muerto")
        return original(self, ejercicio, fuente, **opciones)

    monkeypatch.setattr(Corrector, "califica", falla)
    prepara_entregas(tmp_path / "E", 2)
    leidas = lote.lee_entregas(tmp_path / "E", curso)
    hechas = lote.corrige_lote(leidas, encargo(tmp_path / "N"), trabajos=1)
    assert [c.puntos for c in hechas] == [0, 1] and "acaba con el proceso" in hechas[0].incidencias[
        0
    ]
    monkeypatch.setattr(lote.canal, "prueba_nivel", Rota())
    with pytest.raises(
        FalloDeEntorno
    ):  # si la jaula no funciona, no es culpa de nadie: el lote se para
        lote.corrige_lote(leidas, encargo(tmp_path / "N"), trabajos=1)


class Rota:
    def __call__(self, nivel):
        return "no hay jaula"

    def cache_clear(self):
        pass


def test_un_trabajador_que_muere_siempre_deja_dicho_de_quien_era(tmp_path, curso, monkeypatch):
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    def muere(*_):
        raise TerminatedWorkerError("muerto")
        yield

    monkeypatch.setattr(lote, "_una_tanda", muere)
    prepara_entregas(tmp_path / "E", 2)
    hechas = lote.corrige_lote(lote.lee_entregas(tmp_path / "E", curso), encargo(tmp_path / "N"))
    assert [c.repetir for c in hechas] == [
        True,
        True,
    ] and "el proceso que corregía murió" in hechas[0].incidencias[0]
    assert len(lote.lee_notas(tmp_path / "N")) == 2


def test_las_notas_dentro_de_las_entregas_no_son_una_persona(tmp_path, curso, corrector_en_serie):
    prepara_entregas(tmp_path / "E", 2)
    for notas in ("NOTAS", "OTRAS"):
        salida = tmp_path / "E" / notas
        leidas = lote.lee_entregas(tmp_path / "E", curso, salida=salida)
        assert [e.id for e in leidas] == ["p000", "p001"]
        lote.corrige_lote(leidas, encargo(salida), trabajos=1)
    (tmp_path / "E" / "resumen.json").mkdir()  # una persona no desaparece por llamarse parecido
    assert len(lote.lee_entregas(tmp_path / "E", curso)) == 3
    with pytest.raises(ValueError, match="es la carpeta de las entregas"):
        lote.lee_entregas(tmp_path / "E", curso, salida=tmp_path / "E")


# --- Interrumpir ----------------------------------------------------------------------------------


@pytest.mark.lento
@pytest.mark.timeout(200)
@pytest.mark.parametrize(
    ("senal", "ignorada", "al_grupo"),
    [(signal.SIGINT, False, True), (signal.SIGINT, True, False), (signal.SIGTERM, False, False)],
    ids=["ctrl-c", "segundo plano", "sigterm"],
)
def test_interrumpir_un_lote_no_deja_nada(tmp_path, media, senal, ignorada, al_grupo):
    entregas, salida = tmp_path / "E", tmp_path / "N"
    prepara_entregas(entregas, 60)
    proceso = lanza(*orden(entregas, salida), en=tmp_path, ignora_sigint=ignorada)
    with matando(proceso):
        espera(
            lambda: (
                len(list((salida / "resultados").glob("p*.json"))) >= 2
                or proceso.poll() is not None
            )
        )
        familia = psutil.Process(proceso.pid).children(recursive=True)
        (os.killpg if al_grupo else os.kill)(proceso.pid, senal)
        dicho, errores = proceso.communicate(timeout=40)
        assert proceso.returncode == 128 + senal and dicho == ""
        lineas = [x for x in errores.splitlines() if x.strip()]
        assert lineas == ["Interrumpido. Lo que ya estaba hecho está guardado."], errores
        _, vivos = psutil.wait_procs(familia, timeout=15)
        assert vivos == [] and not list((salida / "resultados").glob(".tmp-*"))


@pytest.mark.lento
def test_interrumpir_a_quien_escribe_acaba_con_los_trabajadores(
    tmp_path, curso, media, monkeypatch, recwarn
):
    """En ese momento ``joblib`` no espera a nadie: hay que cerrarlo, y sin avisos."""

    def interrumpe(*_):
        raise Interrumpido(signal.SIGINT)

    prepara_entregas(tmp_path / "E", 8)
    leidas = lote.lee_entregas(tmp_path / "E", curso)
    monkeypatch.setattr(lote.atomico, "escribe_json", interrumpe)
    with pytest.raises(Interrumpido):
        lote.corrige_lote(leidas, encargo(tmp_path / "N"), trabajos=2)
    familia = psutil.Process().children(recursive=True)
    assert [p for p in familia if "popen_loky_posix" in " ".join(p.cmdline())] == []
    assert list(recwarn) == [] and list((tmp_path / "N" / "resultados").iterdir()) == []


@pytest.fixture
def corrector_en_serie(media, monkeypatch):
    """Las tareas corren en este proceso; al acabar se cierra su cigoto."""

    def aqui(faltan, encargo):
        return (lote.corrige(entrega, encargo) for entrega in faltan)

    monkeypatch.setattr(lote, "_de_una_en_una", aqui)
    yield
    lote.cierra_todo()
