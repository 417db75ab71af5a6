"""El camino entero de quien estudia y de quien enseña, con el libro, desde el clon y desde el
wheel.

Todo ocurre fuera del repositorio, con la orden ``atento`` que instala cada entorno y la jaula
media.
"""

from __future__ import annotations

import csv
import json
import re
import signal
import zipfile
from pathlib import Path

import pytest
from ayudas import atento, cuaderno, espera, lanza, matando, zip_de
from test_coste import FUNCIONES, HOSTILES, N, hostil
from test_tropiezos import disco_de
from test_vetos import CABECERA, LLAMA, PASABAN

from calificador import carga

RAIZ = Path(__file__).resolve().parents[2]
SOLUCION = (RAIZ / "solutions" / "cap05.py").read_text(encoding="utf-8")
VARIANTE = "4.11"
pytestmark = [pytest.mark.lento, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def casa(python_del_curso, tmp_path_factory):
    """Una carpeta vacía fuera del repositorio y una función que ejecuta en ella la orden
    instalada."""
    from calificador.jaula import canal

    if canal.prueba_nivel("media"):
        pytest.skip(f"la jaula media no está disponible aquí: {canal.prueba_nivel('media')}")
    carpeta = tmp_path_factory.mktemp("casa")
    ejecutable = (str(python_del_curso.parent / "atento"),)
    assert Path(ejecutable[0]).exists(), "la instalación no dejó la orden atento"

    def orden(*args, **opciones):
        return atento(
            *args, en=carpeta, ejecutable=ejecutable, ATENTO_CURSO="", PYTHONPATH="", **opciones
        )

    orden.carpeta, orden.ejecutable = carpeta, ejecutable
    return orden


def bien(hecho, codigo=0):
    assert hecho.returncode == codigo, hecho.stdout + hecho.stderr
    assert "Traceback" not in hecho.stdout + hecho.stderr
    return hecho.stdout


def test_quien_estudia(casa):
    mio = casa.carpeta / "mis-ejercicios" / "cap05.py"
    bien(casa("empezar", 5))
    assert mio.read_text(encoding="utf-8") == (RAIZ / "exercises" / "cap05.py").read_text(
        encoding="utf-8"
    )
    assert "pendiente" in bien(casa("calificar", "5"), 1)

    mio.write_text(SOLUCION, encoding="utf-8")
    dicho = bien(casa("calificar", "5"))
    assert "Todo superado." in dicho and "Jaula" not in dicho
    cuantos = len(carga.curso_en("").de_capitulo(5))
    assert f"{cuantos}/{cuantos}" in bien(casa("calificar"))

    bien(casa("entrega"))
    assert zipfile.ZipFile(casa.carpeta / "entrega.zip").namelist() == ["cap05.py"]


def test_en_un_cuaderno_junto_al_esqueleto(casa):
    otra = casa.carpeta / "cuaderno"
    bien(casa("empezar", 5, "--carpeta", otra))
    celdas = [("code", trozo, ()) for trozo in re.split(r"\n\n\n(?=def |class )", SOLUCION)]
    (otra / "cap05.ipynb").write_text(
        cuaderno(("code", "%matplotlib inline\ntrain()", ()), *celdas)
    )
    dicho = bien(casa("calificar", "5", "--carpeta", otra))
    assert (
        "es el esqueleto del capítulo 5; se usa cap05.ipynb" in dicho and "Todo superado." in dicho
    )
    bien(casa("entrega", "--carpeta", otra, "--salida", "cuaderno.zip"))
    assert sorted(zipfile.ZipFile(casa.carpeta / "cuaderno.zip").namelist()) == [
        "cap05.ipynb",
        "cap05.py",
    ]


def test_vigilando(casa):
    otra = casa.carpeta / "vigilada"
    bien(casa("empezar", 5, "--carpeta", otra))
    proceso = lanza(
        "calificar",
        "5.1",
        "--vigila",
        "--carpeta",
        otra,
        en=casa.carpeta,
        ejecutable=casa.ejecutable,
        ATENTO_CURSO="",
        PYTHONPATH="",
    )
    with matando(proceso):
        lineas = iter(proceso.stdout.readline, "")
        assert any("pendiente" in linea for linea in lineas)
        (otra / "cap05.py").write_text(SOLUCION, encoding="utf-8")
        assert any("superado" in linea for linea in lineas)
        proceso.send_signal(signal.SIGTERM)
        _, errores = proceso.communicate(timeout=30)
        assert proceso.returncode == 143 and errores.splitlines()[-1].startswith("Interrumpido.")


def test_quien_ensena(casa):
    """Clase con su variante, la descarga de Moodle con cada ``entrega.zip``, y todos los
    formatos."""
    bien(casa("clase", "nueva", "Grupo A", "--carpeta", "grupo"))
    clase = json.loads((casa.carpeta / "grupo" / "clase.json").read_text())
    publica = (RAIZ / "solutions" / "cap04.py").read_text(encoding="utf-8")
    suya = publica
    for nombre, valor in clase["variantes"][VARIANTE].items():
        suya = re.sub(rf"(\b{nombre}: \w+ = )[^,)\n]+", rf"\g<1>{valor!r}", suya)
    assert suya != publica
    envio = "_assignsubmission_file_"
    (casa.carpeta / "tarea.zip").write_bytes(
        zip_de(
            {
                f"Ana Paz_101{envio}/entrega.zip": zip_de({"cap05.py": SOLUCION, "cap04.py": suya}),
                f"Ana Paz_102{envio}/entrega.zip": zip_de(
                    {"cap05.py": SOLUCION, "cap04.py": publica}
                ),
                f"Eva_103{envio}/entrega.zip": zip_de(
                    {f"Ana Paz_101{envio}/cap05.py": "x = 1", "cap04.py": suya}
                ),
                f"Leo_104{envio}/entrega.zip": b"PK roto",
            }
        )
    )
    lote = casa(
        "lote",
        "tarea.zip",
        "--salida",
        "NOTAS",
        "--clase",
        "grupo/clase.json",
        "--ejercicio",
        "5.1",
        "--ejercicio",
        VARIANTE,
        "--trabajos",
        1,
    )
    dicho = bien(lote, 1)
    assert "4 entregas en NOTAS; 1 con todos los puntos. Jaula: media." in dicho
    assert (
        "Leo (104): entrega.zip: el zip está roto o cifrado" in dicho
        and "semilla pública" not in dicho
    )

    (casa.carpeta / "lista.csv").write_text("idnumber\n101\n102\n103\n104\n105\n")
    (casa.carpeta / "hoja.csv").write_text(
        "Identificador,Nombre completo,Calificación,Calificación máxima,Comentarios de"
        ' retroalimentación\nParticipante 101,"Paz, Ana",,"10,00",\nParticipante 102,"Paz,'
        ' Ana",,"10,00",\n',
        encoding="utf-8",
    )
    for formato in ("moodle", "gradescope", "junit", "nbgrader", "csv", "html"):
        bien(casa("exporta", "NOTAS", "--formato", formato, "--lista", "lista.csv"))
    bien(casa("exporta", "NOTAS", "--formato", "moodle", "--hoja", "hoja.csv"))
    with (casa.carpeta / "NOTAS" / "moodle.csv").open(encoding="utf-8", newline="") as fichero:
        filas = {f[0]: f for f in csv.reader(fichero)}
    assert (
        filas["101"][2] == filas["101"][4] == filas["102"][2] == "superado"
        and filas["105"][2] == "sin entrega"
    )
    assert (
        "versión pública" in filas["102"][4]
        and filas["103"][1] == "0"
        and filas["103"][4] == "superado"
    )
    with (casa.carpeta / "NOTAS" / "moodle-hoja.csv").open(encoding="utf-8", newline="") as fichero:
        notas = [f[2] for f in csv.reader(fichero)][1:]
    assert notas[0] == "10.00" and float(notas[1]) < 10
    assert len(list((casa.carpeta / "NOTAS" / "gradescope").glob("*/results.json"))) == 4


def _notas(carpeta: Path) -> dict[str, dict]:
    leidas = [json.loads(f.read_text("utf-8")) for f in (carpeta / "resultados").glob("*.json")]
    return {n["id"]: n for n in leidas}


def test_una_clase_dificil(casa):
    """Lo que hacía que una entrega pasara con lo vedado, tirase el lote o no se viera."""
    entregas = casa.carpeta / "DIFICIL"
    entregas.mkdir()
    evasiones = list(PASABAN.values())
    for i, como in enumerate(evasiones):
        (entregas / f"veda{i:02d}_cap01.py").write_text(CABECERA + como + LLAMA)
    for i, valor in enumerate(HOSTILES.values()):
        malas = [hostil(valor, f) for e, f in FUNCIONES.items() if e.startswith("5.")]
        (entregas / f"cara{i:02d}_cap05.py").write_text("import torch\n" + "".join(malas))
    for nombre in ("mal_cap05.py.txt", "bien_cap05.py"):
        (entregas / nombre).write_text(SOLUCION)
    elegidos = ("--ejercicio", "1.2", "--ejercicio", "5.6", "--ejercicio", "5.11")
    orden = ("lote", "DIFICIL", "--salida", "ND", "--semilla", "s", "--nivel", "media")
    dicho = bien(casa(*orden, *elegidos, "--trabajos", 1), 1)
    assert "cap05.py.txt: no se lee: quita «.txt»" in dicho
    notas = _notas(casa.carpeta / "ND")
    assert len(notas) == len(evasiones) + len(HOSTILES) + 2 and N > 10_000
    assert not [n["id"] for n in notas.values() if n["repetir"]]
    for id_, nota in notas.items():
        primero, *otros = nota["resultados"]
        if id_.startswith("veda"):
            assert primero["mensaje"].startswith("el enunciado no lo permite"), (id_, primero)
        ganados = sum(r["puntos"] for r in (primero, *otros))
        assert ganados == (sum(r["maximo"] for r in otros) if id_ == "bien" else 0), (id_, nota)


def test_un_disco_lleno_no_pierde_lo_hecho(casa):
    (casa.carpeta / "VARIAS").mkdir()
    for i in range(6):
        (casa.carpeta / "VARIAS" / f"p{i}_cap05.py").write_text(f"{SOLUCION}# {i}\n")
    orden = ("lote", "VARIAS", "--salida", "D/N", "--ejercicio", "5.1", "--trabajos", 1)
    with disco_de(casa.carpeta / "D", 256 << 10):
        estorbo = casa.carpeta / "D" / "estorbo"
        estorbo.write_bytes(bytes((256 << 10) - (16 << 10)))
        lleno = casa(*orden)
        assert lleno.returncode == 2 and "no queda sitio en el disco" in lleno.stderr
        assert 0 < len(_notas(casa.carpeta / "D" / "N")) < 6
        estorbo.unlink()
        assert "6 con todos los puntos" in bien(casa(*orden))


def test_la_clase_llega_a_quien_estudia(casa):
    """Con el fichero de la clase, en casa, la solución pública de un ejercicio con variante no
    vale.
    """
    espera((casa.carpeta / "grupo" / "clase-estudiantes.json").exists, 1)
    otra = casa.carpeta / "variante"
    otra.mkdir()
    (otra / "cap04.py").write_text(
        (RAIZ / "solutions" / "cap04.py").read_text(encoding="utf-8"), encoding="utf-8"
    )
    orden = ("calificar", VARIANTE, "--carpeta", otra)
    assert "superado" in bien(casa(*orden))
    assert "versión pública" in bien(casa(*orden, "--clase", "grupo/clase-estudiantes.json"), 1)
