"""Las órdenes enteras, como las usa una persona: en otro proceso, con su salida y su código."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

ENTORNO = {"COLUMNS": "100", "PYTHONUTF8": "1", "OMP_NUM_THREADS": "1"}


def atento(*args, en: Path, **entorno):
    return subprocess.run(
        [sys.executable, "-m", "calificador.uso.ordenes", *map(str, args)],
        cwd=en, capture_output=True, text=True, timeout=120, env={**os.environ, **ENTORNO, **entorno},
    )  # fmt: skip


@pytest.fixture
def trabajo(tmp_path):
    """Una carpeta con los dos capítulos empezados."""
    hecho = atento("empezar", 91, 92, en=tmp_path)
    assert hecho.returncode == 0, hecho.stderr
    return tmp_path


def test_el_camino_de_quien_estudia(trabajo, curso):
    mio = trabajo / "mis-ejercicios" / "cap91.py"
    assert mio.read_text() == curso.esqueleto(91)
    mio.write_text(curso.solucion(91))
    otra = atento("empezar", 91, en=trabajo)
    assert otra.returncode == 0 and "ya existe: no se toca" in otra.stdout and mio.read_text() == curso.solucion(91)

    tabla = atento("calificar", en=trabajo)
    assert tabla.returncode == 1, tabla.stderr
    assert "5/5" in tabla.stdout and "9/9" in tabla.stdout and "0/2" in tabla.stdout and "Jaula:" in tabla.stdout
    assert "Siguiente: 92.2 ORDER" in tabla.stdout
    guardado = json.loads((trabajo / "mis-ejercicios" / ".progreso.json").read_text())
    assert guardado["ejercicios"]["91.1"]["mejor"] == 4 and "92.1" not in guardado["ejercicios"]

    zip_ = atento("entrega", en=trabajo)
    assert zip_.returncode == 0 and zipfile.ZipFile(trabajo / "entrega.zip").namelist() == ["cap91.py", "cap92.py"]
    bien = atento("calificar", "91", "--json", en=trabajo)
    datos = json.loads(bien.stdout)
    assert bien.returncode == 0 and datos["puntos"] == datos["maximo"] == 9 and datos["jaula"] in ("media", "basica")


def test_el_mensaje_y_la_pista(trabajo, curso):
    mio = trabajo / "mis-ejercicios" / "cap91.py"
    mio.write_text(curso.ejercicios["91.2"].mutantes[0].codigo + "\ndef output_shape(a, b, c):\n    (a, c)\n")
    hecho = atento("calificar", "91.2", "91.3", en=trabajo)
    assert hecho.returncode == 1 and "Pista: Falta dividir entre la raíz de d_head." in hecho.stdout
    assert "¿falta el return?" in hecho.stdout and "Traceback" not in hecho.stdout + hecho.stderr
    pistas = []
    for intento in range(3):
        mio.write_text(f"def masked_softmax(s, m):\n    return s * {intento + 7}\n")
        salida = atento("calificar", "91.1", en=trabajo).stdout
        pistas += [linea.split("Pista: ")[1] for linea in salida.splitlines() if linea.strip().startswith("Pista: ")]
        assert "El caso más pequeño que falla:" in salida and "se esperaba = [[" in salida
    nada = "¿Qué pasa si nada se puede atender?"
    assert pistas == [f"no reconozco este error. Falla «pesos». {p}" for p in ("¿Qué suma cada fila?", nada, nada)]


def test_en_local_se_ve_la_excepcion_y_en_el_lote_no(trabajo):
    texto = "def output_shape(a, b, c):\n    raise RuntimeError(f'entradas {a} {b} {c} \\x1b[31m')\n"
    (trabajo / "mis-ejercicios" / "cap91.py").write_text(texto)
    local = atento("calificar", "91.3", en=trabajo)
    assert "levantó RuntimeError en la línea 2: «entradas" in local.stdout and "\x1b[31m" not in local.stdout
    (trabajo / "E").mkdir()
    (trabajo / "E" / "ana_cap91.py").write_text(texto)
    lote = atento("lote", "E", "--salida", "N", "--ejercicio", "91.3", "--acepta-basica", en=trabajo)
    assert lote.returncode == 1, lote.stderr
    nota = json.loads(next((trabajo / "N" / "resultados").glob("*.json")).read_text())
    assert nota["resultados"][0]["mensaje"] == "levantó RuntimeError en la línea 2"


@pytest.mark.parametrize(
    ("orden", "trozo"),
    [
        (("calificar",), "empieza con «atento empezar 91»"),
        (("calificar", "7"), "no hay ejercicio ni capítulo «7»; hay: capítulo 91 (5), capítulo 92 (2)"),
        (("empezar", "3"), "el capítulo 3 no tiene ejercicios"),
        (("entrega",), "no hay ejercicios en mis-ejercicios"),
        (("calificar", "--nivel", "total"), "se esperaba basica, media, fuerte"),
        (("lote", "nada", "--salida", "N"), "no existe nada"),
        (("lote", ".", "--salida", "N", "--nivel", "basica"), "la jaula básica no protege"),
        (("exporta", "nada", "--formato", "csv"), "corrige antes"),
        (("exporta", "nada", "--formato", "pdf"), "se esperaba moodle, gradescope"),
        (("empezar", "x"), "no vale; véase «atento empezar --help»"),
        (("baila",), "no existe esa orden"),
        (("calificar", "--rapido"), "no existe la opción --rapido"),
        (("lote",), "falta ENTREGAS"),
        (("calificar", "--clase", "no.json"), "no es el fichero de una clase"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, tuple) else "",
)
def test_los_fallos_de_uso_dan_dos_y_una_linea(orden, trozo, tmp_path):
    if orden[0] == "calificar" and len(orden) > 1:
        (tmp_path / "mis-ejercicios").mkdir()
    hecho = atento(*orden, en=tmp_path)
    assert hecho.returncode == 2 and trozo in hecho.stderr, hecho.stderr
    assert len(hecho.stderr.strip().splitlines()) == 1 and hecho.stderr.startswith("Error: ")


def test_un_curso_roto_se_dice(tmp_path):
    (tmp_path / "registro").mkdir()
    (tmp_path / "registro" / "cap91.py").write_text("import no_existe_este_modulo")
    hecho = atento("empezar", 91, en=tmp_path, ATENTO_CURSO=str(tmp_path))
    assert hecho.returncode == 2 and "el registro cap91.py no se puede leer" in hecho.stderr


def test_la_ayuda_esta_en_espanol(tmp_path):
    for orden in ((), ("calificar",), ("lote",), ("exporta",), ("clase", "nueva"), ("empezar",), ("entrega",)):
        hecho = atento(*orden, "--help", en=tmp_path)
        assert hecho.returncode == 0 and "Opciones" in hecho.stdout and "Enseña esta ayuda." in hecho.stdout
        assert not {"Options", "Usage:", "Show this", "default:"} & {
            p for p in ("Options", "Usage:") if p in hecho.stdout
        }


def test_de_la_clase_a_moodle(tmp_path, curso):
    """Crear la clase, corregir con su semilla y sus variantes, y exportar a todos los formatos."""
    assert atento("clase", "nueva", "Grupo A", en=tmp_path).returncode == 0
    repetida = atento("clase", "nueva", "Grupo A", en=tmp_path)
    assert repetida.returncode == 2 and "la semilla no se pisa" in repetida.stderr
    power = json.loads((tmp_path / "clase" / "clase.json").read_text())["variantes"]["91.4"]["power"]
    (tmp_path / "E").mkdir()
    (tmp_path / "E" / "1_cap91.py").write_text(curso.solucion(91))
    (tmp_path / "E" / "2_cap91.py").write_text(
        curso.solucion(91).replace("power: float = 0.5", f"power: float = {power}")
    )
    (tmp_path / "E" / "3.zip").write_bytes(b"roto")
    lote = atento(
        "lote",
        "E",
        "--salida",
        "N",
        "--clase",
        "clase/clase.json",
        "--ejercicio",
        "91.4",
        "--acepta-basica",
        en=tmp_path,
    )
    assert (
        lote.returncode == 1 and "3: 3.zip: el zip está roto" in lote.stdout and "1 con todos los puntos" in lote.stdout
    )
    (tmp_path / "lista.csv").write_text("idnumber\n1\n2\n3\n4\n")
    for formato in ("moodle", "gradescope", "junit", "nbgrader", "csv", "html"):
        hecho = atento("exporta", "N", "--formato", formato, "--lista", "lista.csv", "--salida", "S", en=tmp_path)
        assert hecho.returncode == 0, hecho.stderr
    filas = (tmp_path / "S" / "moodle.csv").read_text().splitlines()
    assert [f.split(",")[:2] for f in filas[1:]] == [["1", "0"], ["2", "1"], ["3", "0"], ["4", ""]]
    assert "versión pública" in filas[1]


def test_vigila_vuelve_a_calificar(trabajo, curso):
    mio = trabajo / "mis-ejercicios" / "cap92.py"
    orden = [sys.executable, "-m", "calificador.uso.ordenes", "calificar", "92.2", "--vigila", "--json"]
    entorno = {**os.environ, **ENTORNO}
    salida = trabajo / "salida.txt"
    with salida.open("w") as fichero, subprocess.Popen(orden, cwd=trabajo, stdout=fichero, env=entorno) as proceso:
        espera(lambda: '"puntos": 0' in salida.read_text())
        mio.write_text(curso.solucion(92))
        espera(lambda: '"estado": "superado"' in salida.read_text())
        proceso.send_signal(signal.SIGINT)
        assert proceso.wait(timeout=20) == 0


def espera(condicion, segundos=60):
    limite = time.monotonic() + segundos
    while not condicion():
        assert time.monotonic() < limite, "no llegó"
        time.sleep(0.05)


def test_el_paquete_instalado_lleva_sus_datos():
    """Lo que se declara en pyproject es lo que busca ``carga`` cuando no hay repositorio."""
    import tomllib

    from calificador import carga

    proyecto = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text())
    incluido = proyecto["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert incluido == {"exercises": "calificador/datos/exercises", "solutions": "calificador/datos/solutions"}
    assert proyecto["project"]["scripts"]["atento"] == "calificador.uso.ordenes:main"
    assert carga.curso_en("").capitulos()
