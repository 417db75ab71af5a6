"""Las órdenes enteras, como las usa una persona: en otro proceso, con su salida y su código."""

from __future__ import annotations

import json
import signal
import zipfile
from pathlib import Path

import psutil
import pytest
import typer
from ayudas import atento, cuaderno, espera, lanza, matando, zip_de


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
    assert (
        otra.returncode == 0
        and "ya existe: no se toca" in otra.stdout
        and mio.read_text() == curso.solucion(91)
    )

    tabla = atento("calificar", en=trabajo)
    assert tabla.returncode == 1, tabla.stderr
    assert (
        "5/5" in tabla.stdout
        and "9/9" in tabla.stdout
        and "0/2" in tabla.stdout
        and "Jaula" not in tabla.stdout  # al alumno solo se le dice si no la hay
    )
    assert "Siguiente: 92.2 ORDER" in tabla.stdout
    guardado = json.loads((trabajo / "mis-ejercicios" / ".progreso.json").read_text())
    assert guardado["ejercicios"]["91.1"]["mejor"] == 4 and "92.1" not in guardado["ejercicios"]

    zip_ = atento("entrega", en=trabajo)
    assert zip_.returncode == 0 and zipfile.ZipFile(trabajo / "entrega.zip").namelist() == [
        "cap91.py",
        "cap92.py",
    ]
    bien = atento("calificar", "91", "--json", en=trabajo)
    datos = json.loads(bien.stdout)
    assert (
        bien.returncode == 0
        and datos["puntos"] == datos["maximo"] == 9
        and datos["jaula"] in ("media", "basica")
    )


def test_el_mensaje_y_la_pista(trabajo, curso):
    mio = trabajo / "mis-ejercicios" / "cap91.py"
    mio.write_text(
        curso.ejercicios["91.2"].mutantes[0].codigo + "\ndef output_shape(a, b, c):\n    (a, c)\n"
    )
    hecho = atento("calificar", "91.2", "91.3", en=trabajo)
    assert hecho.returncode == 1 and "Pista: Falta dividir entre la raíz de d_head." in hecho.stdout
    assert "¿falta el return?" in hecho.stdout and "Traceback" not in hecho.stdout + hecho.stderr
    pistas = []
    for intento in range(3):
        mio.write_text(f"def masked_softmax(s, m):\n    return s * {intento + 7}\n")
        salida = atento("calificar", "91.1", en=trabajo).stdout
        pistas += [
            linea.split("Pista: ")[1]
            for linea in salida.splitlines()
            if linea.strip().startswith("Pista: ")
        ]
    dichas = (
        "¿Qué suma cada fila?",
        "¿Qué pasa si nada se puede atender?",
        "¿Qué pasa si nada se puede atender?",
    )
    assert all(pista.endswith(dicha) for pista, dicha in zip(pistas, dichas, strict=True)), pistas


def test_en_local_se_ve_la_excepcion_y_en_el_lote_no(trabajo):
    texto = (
        "def output_shape(a, b, c):\n    raise RuntimeError(f'entradas {a} {b} {c} \\x1b[31m')\n"
    )
    (trabajo / "mis-ejercicios" / "cap91.py").write_text(texto)
    local = atento("calificar", "91.3", en=trabajo)
    assert (
        "levantó RuntimeError en la línea 2: «entradas" in local.stdout
        and "\x1b[31m" not in local.stdout
    )
    (trabajo / "E").mkdir()
    (trabajo / "E" / "ana_cap91.py").write_text(texto)
    lote = atento(
        "lote", "E", "--salida", "N", "--ejercicio", "91.3", "--acepta-basica", en=trabajo
    )
    assert lote.returncode == 1, lote.stderr
    nota = json.loads(next((trabajo / "N" / "resultados").glob("*.json")).read_text())
    assert nota["resultados"][0]["mensaje"] == "levantó RuntimeError en la línea 2"


@pytest.mark.parametrize(
    ("orden", "trozo"),
    [
        (("calificar",), "empieza con «atento empezar 91»"),
        (
            ("calificar", "7"),
            "no hay ejercicio ni capítulo «7»; hay: capítulo 91 (5), capítulo 92 (2)",
        ),
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
    for orden in (
        (),
        ("calificar",),
        ("lote",),
        ("exporta",),
        ("clase", "nueva"),
        ("empezar",),
        ("entrega",),
    ):
        hecho = atento(*orden, "--help", en=tmp_path)
        assert (
            hecho.returncode == 0
            and "Opciones" in hecho.stdout
            and "Muestra esta ayuda." in hecho.stdout
        )
        assert not {"Options", "Usage:", "Show this", "default:"} & {
            p for p in ("Options", "Usage:") if p in hecho.stdout
        }


def test_de_la_clase_a_moodle(tmp_path, curso):
    """Crear la clase, corregir con su semilla y sus variantes, y exportar a todos los formatos."""
    assert atento("clase", "nueva", "Grupo A", en=tmp_path).returncode == 0
    repetida = atento("clase", "nueva", "Grupo A", en=tmp_path)
    assert repetida.returncode == 2 and "la semilla no se pisa" in repetida.stderr
    power = json.loads((tmp_path / "clase" / "clase.json").read_text())["variantes"]["91.4"][
        "power"
    ]
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
        lote.returncode == 1
        and "3: 3.zip: el zip está roto" in lote.stdout
        and "1 con todos los puntos" in lote.stdout
    )
    (tmp_path / "lista.csv").write_text("idnumber\n1\n2\n3\n4\n")
    for formato in ("moodle", "gradescope", "junit", "nbgrader", "csv", "html"):
        hecho = atento(
            "exporta",
            "N",
            "--formato",
            formato,
            "--lista",
            "lista.csv",
            "--salida",
            "S",
            en=tmp_path,
        )
        assert hecho.returncode == 0, hecho.stderr
    filas = (tmp_path / "S" / "moodle.csv").read_text().splitlines()
    assert [f.split(",")[:2] for f in filas[1:]] == [["1", "0"], ["2", "1"], ["3", "0"], ["4", ""]]
    assert "versión pública" in filas[1]


@pytest.mark.parametrize(
    ("senal", "ignorada"), [(signal.SIGINT, False), (signal.SIGINT, True), (signal.SIGTERM, False)]
)
def test_vigila_vuelve_a_calificar_hasta_que_se_interrumpe(trabajo, curso, senal, ignorada):
    """También en segundo plano, donde SIGINT llega ignorada."""
    mio = trabajo / "mis-ejercicios" / "cap92.py"
    proceso = lanza("calificar", "92.2", "--vigila", "--json", en=trabajo, ignora_sigint=ignorada)
    with matando(proceso):
        lineas = iter(proceso.stdout.readline, "")
        assert any('"puntos": 0' in linea for linea in lineas)
        mio.write_text(curso.solucion(92))
        assert any('"estado": "superado"' in linea for linea in lineas)
        hijos = psutil.Process(proceso.pid).children(recursive=True)
        proceso.send_signal(senal)
        _, errores = proceso.communicate(timeout=30)
        assert proceso.returncode == 128 + senal and "Traceback" not in errores
        assert errores.splitlines()[-1] == "Interrumpido. Lo que ya estaba hecho está guardado."
        assert psutil.wait_procs(hijos, timeout=15)[1] == []


def test_interrumpir_mientras_corrige(trabajo):
    """Ni espera a la entrega que se cuelga ni deja su proceso."""
    (trabajo / "mis-ejercicios" / "cap91.py").write_text("while True:\n    pass\n")
    proceso = lanza("calificar", "91.3", en=trabajo)
    with matando(proceso):
        espera(lambda: len(psutil.Process(proceso.pid).children(recursive=True)) >= 2)
        hijos = psutil.Process(proceso.pid).children(recursive=True)
        proceso.terminate()
        _, errores = proceso.communicate(timeout=20)
        assert proceso.returncode == 143 and len(errores.strip().splitlines()) == 1, errores
        assert psutil.wait_procs(hijos, timeout=15)[1] == []


def test_los_textos_ajenos_no_se_interpretan(trabajo, curso):
    """Ni como marcas de rich ni como emojis: nombres de carpeta, de fichero y de persona."""
    (trabajo / "E").mkdir()
    (trabajo / "E" / "[red]ana :skull:.py").write_text(
        "def output_shape(a, b, c):\n    return (a, c)\n"
    )
    (trabajo / "E" / "[bold]_7_assignsubmission_file_x.zip").write_bytes(b"roto")
    lote = atento(
        "lote", "E", "--salida", "[/x]", "--ejercicio", "91.3", "--acepta-basica", en=trabajo
    )
    assert lote.returncode == 1, lote.stderr
    assert (
        "2 entregas en [/x]; 1 con todos los puntos." in lote.stdout
        and "[bold] (7): x.zip: el zip" in lote.stdout
    )
    hecho = atento("exporta", "[/x]", "--formato", "csv", "--salida", "[/y]", en=trabajo)
    assert hecho.returncode == 0 and "1 fichero(s) en [/y]." in hecho.stdout
    assert "[red]ana :skull:" in (trabajo / "[/y]" / "notas.csv").read_text()
    for orden in (
        ("empezar", 91, "--carpeta", "[/z]"),
        ("entrega", "--carpeta", "[/z]", "--salida", "[/w].zip"),
        ("clase", "nueva", "[/x]", "--carpeta", "[/v]"),
    ):
        hecho = atento(*orden, en=trabajo)
        assert hecho.returncode == 0 and "[/" in hecho.stdout, hecho.stderr
    assert "no existe [/no]" in atento("lote", "[/no]", "--salida", "N", en=trabajo).stderr


def test_sin_clase_se_dice_que_la_semilla_es_publica(trabajo, curso):
    (trabajo / "E").mkdir()
    (trabajo / "E" / "ana_cap92.py").write_text(curso.solucion(92))
    orden = ("lote", "E", "--salida", "N", "--ejercicio", "92.2", "--acepta-basica")
    hecho = atento(*orden, en=trabajo)
    assert (
        hecho.returncode == 0
        and "sin --clase los casos salen de la semilla pública" in hecho.stdout
    )
    assert json.loads((trabajo / "N" / "resumen.json").read_text())["semilla_publica"] is True


def test_que_semilla_es_publica(tmp_path, curso):
    """La del libro y la de una clase sin su semilla; no la secreta ni la que se da a mano."""
    from calificador.uso import clase, ordenes

    docente, estudiantes = clase.guarda(clase.nueva("A", curso), tmp_path)
    casos = (
        (None, None),
        (estudiantes, None),
        (docente, None),
        (None, "mía"),
        (estudiantes, "mía"),
    )
    assert [ordenes._clase(*caso).publica for caso in casos] == [True, True, False, False, False]


def test_lo_que_imprime_el_codigo_se_ve_en_casa_y_no_en_el_lote(trabajo):
    texto = (
        "def output_shape(a, b, c):\n    print('[/x] paso por aquí \\x1b[31m')\n    return (b, c)\n"
    )
    (trabajo / "mis-ejercicios" / "cap91.py").write_text(texto)
    hecho = atento("calificar", "91.3", en=trabajo)
    assert "Tu código escribió:" in hecho.stdout and "[/x] paso por aquí" in hecho.stdout
    assert "\x1b[31m" not in hecho.stdout
    (trabajo / "E").mkdir()
    (trabajo / "E" / "ana_cap91.py").write_text(texto)
    atento("lote", "E", "--salida", "N", "--ejercicio", "91.3", "--acepta-basica", en=trabajo)
    assert "paso por aquí" not in next((trabajo / "N" / "resultados").glob("*.json")).read_text()


def test_un_fallo_del_calificador_con_un_ejercicio_no_impide_los_demas(
    trabajo, curso, monkeypatch, capsys
):
    from calificador.correccion.oraculo import Corrector
    from calificador.uso import ordenes

    original = Corrector.califica

    def falla(self, ejercicio, fuente, **opciones):
        if ejercicio.id == "91.2":
            raise OverflowError("inesperado")
        return original(self, ejercicio, fuente, **opciones)

    monkeypatch.setattr(Corrector, "califica", falla)
    monkeypatch.chdir(trabajo)
    (trabajo / "mis-ejercicios" / "cap91.py").write_text(curso.solucion(91))
    with pytest.raises(typer.Exit):
        ordenes.calificar(["91.2", "91.3"], carpeta=Path("mis-ejercicios"), semilla=None)
    dicho = capsys.readouterr().out
    assert (
        "no se ha podido corregir: OverflowError: inesperado" in dicho
        and "91.3 output_shape: 1/1" in dicho
    )


def test_el_catalogo_compilado_es_el_que_se_lee():
    """El ``.mo`` que usa gettext sale del ``.po`` que se edita."""
    from babel.messages import mofile, pofile

    import calificador.uso

    textos = Path(calificador.uso.__file__).parent / "textos" / "es" / "LC_MESSAGES"
    with (textos / "atento.po").open("rb") as po, (textos / "atento.mo").open("rb") as mo:
        escrito, compilado = pofile.read_po(po), mofile.read_mo(mo)
    assert {m.id: m.string for m in escrito if m.id} == {m.id: m.string for m in compilado if m.id}


def test_el_paquete_instalado_lleva_sus_datos():
    """Lo que se declara en pyproject es lo que busca ``carga`` cuando no hay repositorio."""
    import tomllib

    from calificador import carga

    proyecto = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text())
    destino = proyecto["tool"]["hatch"]["build"]["targets"]["wheel"]["sources"]
    assert destino["exercises"] == "calificador/datos/exercises"
    assert destino["solutions"] == "calificador/datos/solutions"
    assert proyecto["project"]["scripts"]["atento"] == "calificador.uso.ordenes:main"
    assert carga.curso_en("").capitulos()


# --- Los ejercicios que se entregan escritos a mano -----------------------------------------------

A_MANO = {
    "registro": (
        """
from calificador.registro import Ejercicio, cambia, cuerpo, numeros

EJERCICIOS = [
    Ejercicio(
        id="94.1", nombre="ej_94_1", tipo="lapiz", dificultad=1, minutos=5,
        aprende="repartir",
        propiedades={"score": (1, "Es un producto escalar."), "weight": (2,
        "Suma las exponenciales.")},
        tolerancias={"score": 5e-3, "weight": 5e-3}, pistas=("Puntúa, escala y normaliza.",),
        mutantes=(
            cambia("sin escala", "Falta dividir entre la raíz de 2.", " / math.sqrt(2)", ""),
            numeros("el otro peso", "Ese es el peso de la otra clave.", "ej_94_1", score=0.7071,
                    weight=0.3302),
        ),
    ),
]
"""
    ),
    "solutions": (
        """
import math


def ej_94_1() -> dict[str, float]:
    score = 1.0 / math.sqrt(2)
    return {"score": score, "weight": math.exp(score) / (math.exp(score) + 1)}
"""
    ),
    "exercises": '# %%\nej_94_1 = {"score": None, "weight": None}  # Ejercicio 94.1\n',
}
BIEN_A_MANO = 'ej_94_1 = {"score": 0.707, "weight": 0.670}\n'


def test_los_de_lapiz_siguen_el_mismo_camino(tmp_path):
    """Empezar, calificar, cuaderno, entrega, lote y exporta."""
    for carpeta, texto in A_MANO.items():
        (tmp_path / "curso" / carpeta).mkdir(parents=True)
        (tmp_path / "curso" / carpeta / "cap94.py").write_text(texto)

    def orden(*args):
        return atento(*args, en=tmp_path, ATENTO_CURSO=str(tmp_path / "curso"))

    assert orden("empezar", 94).returncode == 0
    assert "pendiente" in orden("calificar", "94").stdout
    mio = tmp_path / "mis-ejercicios"
    (mio / "cap94.ipynb").write_text(
        cuaderno(
            ("code", "import math\nscore = 1 / math.sqrt(2)", ()),
            ("code", 'ej_94_1 = {"score": score, "weight": 0.67}', ()),
        )
    )
    hecho = orden("calificar", "94")
    assert hecho.returncode == 0 and "se usa cap94.ipynb" in hecho.stdout, hecho.stdout
    (mio / "cap94.ipynb").unlink()
    (mio / "cap94.py").write_text(BIEN_A_MANO)
    assert orden("entrega").returncode == 0
    envio = "_assignsubmission_file_"
    (tmp_path / "tarea.zip").write_bytes(zip_de({
        f"Ana_1{envio}/entrega.zip": (tmp_path / "entrega.zip").read_bytes(),
        f"Eva_2{envio}/capitulo.py": BIEN_A_MANO.replace("0.670", "0.33"),
    }))  # fmt: skip
    assert (
        orden("lote", "tarea.zip", "--salida", "N", "--trabajos", 1, "--acepta-basica").returncode
        == 1
    )
    assert orden("exporta", "N", "--formato", "csv").returncode == 0
    filas = (tmp_path / "N" / "notas.csv").read_text().splitlines()
    assert [f.split(",")[2] for f in filas[1:]] == ["3", "1"]
