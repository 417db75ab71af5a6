"""«make rapida» en un repositorio de juguete: se ejecuta lo que un cambio puede haber roto y nada
más, y nada se sella sin haber pasado.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cuidar import apunta, rapida, sellos

RAIZ = Path(__file__).resolve().parents[2]
JUGUETE = {
    "pytest.ini": "[pytest]\ntestpaths = tests\n",
    ".gitignore": ".cache/\n__pycache__/\n.pytest_cache/\nbook/_build/\n",
    "code/atento/__init__.py": "",
    "code/atento/uno.py": "def uno():\n    return 1\n",
    "code/atento/dos.py": "from atento.uno import uno\n\n\ndef dos():\n    return uno() + 1\n",
    "code/atento/lee.py": "import functools\nfrom pathlib import Path\n\n\n"
    "@functools.cache\ndef lee():\n"
    "    return (Path(__file__).parents[2] / 'datos' / 'guardado.txt').read_text()\n",
    "datos/guardado.txt": "hola",
    "datos/suelto.txt": "adiós",
    "varios/a.txt": "",
    "tests/test_uno.py": "from atento.uno import uno\n\n\ndef test():\n    assert uno() == 1\n",
    "tests/test_dos.py": "from atento.dos import dos\n\n\ndef test():\n    assert dos() == 2\n",
    "tests/test_lee_antes.py": "from atento import lee\n\n\ndef test():\n    assert lee.lee()\n",
    "tests/test_lee_despues.py": "from atento import lee\n\n\ndef test():\n    assert lee.lee()\n",
    "tests/comun.py": "VALOR = 1\n",
    "tests/test_comun.py": "from comun import VALOR\n\n\ndef test():\n    assert VALOR\n",
    "tests/test_nada.py": "def test():\n    assert True\n",
    "tests/test_dato.py": "from pathlib import Path\n\n\ndef test():\n"
    "    assert (Path(__file__).parents[1] / 'datos' / 'suelto.txt').read_text()\n",
    "tests/test_carpeta.py": "from pathlib import Path\n\n\ndef test():\n"
    "    assert list((Path(__file__).parents[1] / 'varios').iterdir())\n",
    "tests/test_lanza.py": "import subprocess, sys\n\n\ndef test():\n"
    "    subprocess.run([sys.executable, '-c', ''], check=True)\n",
    "tests/sitio/test_pagina.py": "from pathlib import Path\n\n\ndef test():\n"
    "    assert (Path(__file__).parents[2] / 'book/_build/html/intro.html').read_text()\n",
    "book/_build/html/intro.html": "hola",
}  # fmt: skip
TODAS = {x for x in JUGUETE if Path(x).name.startswith("test_")}


@pytest.fixture(scope="module", autouse=True)
def como_make_prueba():
    """Las variables que cuentan en los sellos, fijas: la orden las pone en todo el proceso."""
    with pytest.MonkeyPatch.context() as parche:
        for variable in sellos.VARIABLES:
            parche.delenv(variable, raising=False)
        parche.setenv("ATENTO_ESTRICTO", "1")
        yield


@pytest.fixture(scope="module")
def sellado(tmp_path_factory):
    """El repositorio, con las pruebas ya selladas."""
    raiz = tmp_path_factory.mktemp("juguete")
    for nombre, texto in JUGUETE.items():
        escribe(raiz, nombre, texto)
    shutil.copy(RAIZ / "tests" / "conftest.py", raiz / "tests")
    subprocess.run(["git", "init", "-q", str(raiz)], check=True, timeout=60)
    assert corren(raiz) == TODAS
    assert prueba(raiz) == 0
    assert corren(raiz) == set()
    return raiz


@pytest.fixture
def juguete(sellado, tmp_path):
    """Uno para estropearlo."""
    return Path(shutil.copytree(sellado, tmp_path / "juguete"))


def escribe(raiz: Path, nombre: str, texto: str) -> None:
    ruta = raiz / nombre
    ruta.parent.mkdir(parents=True, exist_ok=True)
    ruta.write_text(texto, encoding="utf-8")


def prueba(raiz: Path, *que: str) -> int:
    """pytest en el juguete, con las herramientas de verdad."""
    rutas = (raiz / "code", RAIZ / "tools", RAIZ / "book" / "_ext")
    limpio = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    orden = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "xdist.plugin", "--apunta", *que]
    limpio["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # los demás complementos tardan más que todo
    entorno = {**limpio, "PYTHONPATH": os.pathsep.join(map(str, rutas))}
    return subprocess.run(orden, cwd=raiz, env=entorno, capture_output=True, timeout=240).returncode


def decisiones(raiz: Path, barato: float = -1) -> dict[str, rapida.Decision]:
    foto, cuaderno = sellos.Foto(raiz), sellos.Cuaderno.abre(raiz)
    return {d.fichero: d for d in rapida.decide(foto, cuaderno, sellos.duraciones(raiz), barato)}


def corren(raiz: Path, barato: float = -1) -> set[str]:
    return {f for f, d in decisiones(raiz, barato).items() if d.que == rapida.CORRE}


def de(*nombres: str) -> set[str]:
    return {f"tests/test_{nombre}.py" for nombre in nombres}


@pytest.mark.parametrize(
    ("fichero", "texto", "debidas"),
    [
        ("code/atento/uno.py", "def uno():\n    return 2 - 1\n", de("uno", "dos")),
        ("code/atento/uno.py", "def uno():\n    # igual\n    return 1\n", set()),
        ("code/atento/dos.py", "def dos():\n    return 2\n", de("dos")),
        ("code/atento/nuevo.py", "", set()),
        ("tests/test_nada.py", "def test():\n    assert 1\n", de("nada")),
        ("tests/comun.py", "VALOR = 2\n", de("comun")),
        ("tests/conftest.py", "", TODAS),
        ("datos/suelto.txt", "otra cosa", de("dato")),
        # Solo el primero lo lee del disco; el segundo lo encuentra guardado en memoria.
        ("datos/guardado.txt", "otra cosa", de("lee_antes", "lee_despues")),
        ("varios/b.txt", "", de("carpeta")),
        ("README.md", "nada que ver", set()),
        ("book/_build/html/intro.html", "otra", {"tests/sitio/test_pagina.py"}),
    ],
)
def test_se_ejecuta_lo_que_alcanza_el_cambio_y_nada_mas(juguete, fichero, texto, debidas):
    escribe(juguete, fichero, texto)
    assert corren(juguete) == debidas


def test_de_lo_que_lanza_ordenes_se_hace_lo_barato_y_lo_demas_se_dice(juguete):
    assert decisiones(juguete)["tests/test_lanza.py"].que == rapida.SELLADO
    escribe(juguete, "README.md", "otro")
    hoy = decisiones(juguete)["tests/test_lanza.py"]
    assert hoy.que == rapida.NO and "lanza órdenes" in hoy.porque
    dicho = rapida.resumen([hoy])
    assert "no corridos: 1" in dicho and "make prueba" in dicho
    assert corren(juguete, barato=60) == de("lanza")


def test_lo_que_mira_el_libro_lo_dice_si_el_construido_es_de_antes(juguete):
    pagina = "tests/sitio/test_pagina.py"
    escribe(juguete, "code/atento/uno.py", "def uno():\n    return 2 - 1\n")
    hoy = decisiones(juguete)[pagina]
    assert hoy.que == rapida.NO and "no lleva lo que ha cambiado" in hoy.porque
    shutil.rmtree(juguete / "book/_build")
    hoy = decisiones(juguete)[pagina]
    assert hoy.que == rapida.NO and "no está construido" in hoy.porque


def test_lo_rojo_no_se_sella_y_pierde_el_sello_que_tenia(juguete):
    escribe(juguete, "code/atento/uno.py", "def uno():\n    return 3\n")
    assert prueba(juguete) == 1
    assert corren(juguete) == de("uno", "dos")
    escribe(juguete, "code/atento/uno.py", JUGUETE["code/atento/uno.py"])
    assert corren(juguete) == de("uno", "dos")
    assert prueba(juguete) == 0
    assert corren(juguete) == set()


@pytest.mark.parametrize("trozo", [["-k", "una"], ["tests/test_nada.py::test_una"]])
def test_unas_cuantas_pruebas_de_un_fichero_no_lo_sellan(juguete, trozo):
    escribe(juguete, "tests/test_nada.py", "def test_una():\n    pass\ndef test_dos():\n    pass\n")
    assert prueba(juguete, *trozo) == 0
    assert corren(juguete) == de("nada")


def test_lo_que_se_cambia_mientras_se_prueba_no_queda_sellado(juguete):
    cambia = "from pathlib import Path\nfrom atento.uno import uno\n\n\ndef test():\n    uno()\n"
    cambia += "    Path(uno.__code__.co_filename).write_text('def uno(): return 1 + 0')\n"
    escribe(juguete, "tests/test_nada.py", cambia)
    assert prueba(juguete) == 0
    assert corren(juguete) == de("nada", "uno", "dos")


@pytest.mark.parametrize("variable", [None, "ATEN_CPU_CAPABILITY"])
def test_otra_version_u_otra_variable_invalidan_todo(juguete, monkeypatch, variable):
    if variable:
        monkeypatch.setenv(variable, "avx2")
    else:
        nuevo = juguete / ".cache" / "instalado"
        (nuevo / "torch-99.dist-info").mkdir(parents=True)
        monkeypatch.syspath_prepend(str(nuevo))
    assert corren(juguete) == TODAS


def test_con_varios_procesos_se_sella_lo_mismo(juguete):
    uno = json.loads((juguete / sellos.SELLOS).read_text(encoding="utf-8"))
    (juguete / sellos.SELLOS).unlink()
    assert prueba(juguete, "-n", "2", "--dist", "loadfile") == 0
    varios = json.loads((juguete / sellos.SELLOS).read_text(encoding="utf-8"))
    assert varios["sellos"].keys() == uno["sellos"].keys() == TODAS
    assert corren(juguete) == set()


def test_la_orden_ejecuta_lo_decidido_y_acaba_mal_si_falla(juguete, monkeypatch, capsys):
    vistas = []

    def ejecuta(ordenes, consola, *, titulo):
        vistas.append(ordenes)
        return list(ordenes)

    monkeypatch.setattr(rapida, "ejecuta", ejecuta)
    monkeypatch.setattr(sys, "argv", ["rapida.py"])
    with pytest.raises(SystemExit) as fin:
        rapida.main(juguete)
    assert (vistas, fin.value.code) == ([{}], 0)
    escribe(juguete, "code/atento/dos.py", "def dos():\n    return 3\n")
    with pytest.raises(SystemExit) as fin:
        rapida.main(juguete)
    (orden,) = vistas[1].values()
    assert fin.value.code == 1
    assert {x for x in orden if x.endswith(".py")} == de("dos", "lanza")
    assert "--apunta" in orden and "-n" in orden
    dicho = capsys.readouterr().out  # aquí no se ha ejecutado nada: el sello es el de antes
    assert dicho.count("NO HA PASADO") == 2 and "no corridos: 1" in dicho


def test_la_orden_mira_con_las_variables_de_make_prueba(juguete, monkeypatch, capsys):
    """Las pruebas se ejecutan con ``ATENTO_ESTRICTO``: sin ella no valdría ningún sello."""
    monkeypatch.delenv("ATENTO_ESTRICTO")
    monkeypatch.setattr(rapida, "ejecuta", lambda ordenes, *a, **k: list(ordenes))
    monkeypatch.setattr(sys, "argv", ["rapida.py", "--mira"])
    with pytest.raises(SystemExit):
        rapida.main(juguete)
    assert os.environ["ATENTO_ESTRICTO"] == "1"
    assert f"Por correr: 0; sellados: {len(TODAS)}" in capsys.readouterr().out


def test_sin_git_no_se_sabe_que_hay_y_no_se_hace_como_que_no_hay_nada(tmp_path):
    with pytest.raises(subprocess.CalledProcessError):
        sellos.Foto(tmp_path)


def test_un_capitulo_va_con_nbval_y_lo_demas_sin_el():
    hace = rapida.pasos(
        rapida.Decision(f, que, "", None)
        for f, que in (
            ("tests/referencias/06-varias-cabezas.ipynb", rapida.CORRE),
            ("tests/test_a.py", rapida.CORRE),
            ("tests/test_b.py", rapida.SELLADO),
        )
    )
    nbval, demas = hace.values()
    assert "--nbval" in nbval and nbval[-1].endswith("06-varias-cabezas.ipynb")
    assert "--nbval" not in demas and demas[-1] == "tests/test_a.py"


def test_la_huella_de_un_capitulo_cambia_con_lo_que_nbval_mira(tmp_path):
    nombre = "06-varias-cabezas"
    escribe(tmp_path, "code/atento/__init__.py", "")
    escribe(tmp_path, "code/atento/uno.py", "uno = 1\n")
    pagina = "---\njupytext: {text_representation: {format_name: myst}}\n---\n"
    celda = "```{code-cell} ipython3\nfrom atento import uno\n```\n"
    escribe(tmp_path, f"book/2-mecanismo/{nombre}.md", pagina + celda)
    prueba = f"tests/referencias/{nombre}.ipynb"
    escribe(tmp_path, prueba, "{}")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=60)
    vistas = [sellos.Foto(tmp_path).huella(prueba, {})]
    for fichero, texto in (
        ("code/atento/uno.py", "uno = 2\n"),
        (prueba, '{"otra": 1}'),
        (f"tests/temblor/{nombre}.json", "{}"),
        (f"book/2-mecanismo/{nombre}.md", pagina + celda.replace("uno\n", "uno as x\n")),
    ):
        escribe(tmp_path, fichero, texto)
        vistas.append(sellos.Foto(tmp_path).huella(prueba, {}))
    assert len(set(vistas)) == len(vistas)
    escribe(tmp_path, "code/atento/otro.py", "otro = 1\n")
    con_texto = (pagina + celda).replace("uno\n", "uno as x\n") + "Y más texto.\n"
    escribe(tmp_path, f"book/2-mecanismo/{nombre}.md", con_texto)
    assert sellos.Foto(tmp_path).huella(prueba, {}) == vistas[-1]


def test_de_la_extension_cuenta_lo_que_se_importa_con_ella_y_de_lo_demas_no_se_sabe(tmp_path):
    perezosa = "from libro import otra\n\n\ndef dibuja():\n    from atento import uno\n"
    perezosa += "    exec(uno)\n"
    for nombre, texto in {
        "code/atento/__init__.py": "",
        "code/atento/uno.py": "uno = 1\n",
        "book/_ext/libro/__init__.py": perezosa,
        "book/_ext/libro/otra.py": "",
        "tools/usa.py": "import libro\n",
        "tests/test_usa.py": "import usa\n",
        "tests/test_suelto.py": "",
    }.items():
        escribe(tmp_path, nombre, texto)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=60)
    foto = sellos.Foto(tmp_path)
    modulos, _ = foto.lo_que_lee("tests/test_usa.py", {})
    assert modulos == {"usa", "libro", "libro.otra"}
    assert foto.puede_alcanzar_mas("tests/test_usa.py", {})
    assert not foto.puede_alcanzar_mas("tests/test_suelto.py", {})


def test_las_duraciones_solo_cambian_si_cambian_de_verdad(tmp_path):
    antes = {"a": 10, "b": 3, "corto": 0.2}
    vistas = {"a": 12.2, "b": 9.04, "nuevo": 0.333, "corto": 0.9}
    assert sellos.pone_al_dia(antes, vistas) == {"a": 10, "b": 9.0, "corto": 0.2, "nuevo": 0.3}
    escribe(tmp_path, "tests/test_a.py", "")
    sellos.guarda_duraciones({"tests/test_a.py": 2.0, "tests/test_quitado.py": 3.0}, tmp_path)
    assert sellos.duraciones(tmp_path) == {"tests/test_a.py": 2.0}


def test_los_programas_ajenos_no_cuentan_como_ordenes(tmp_path):
    class Config:
        workerinput = None

        def getoption(self, *_):
            return None

    quien = apunta.Apunta(Config(), tmp_path)
    quien.fichero = "tests/test_a.py"
    quien.oye("subprocess.Popen", ("/usr/bin/hunspell", ["hunspell"], None, None))
    assert not quien.lecturas["tests/test_a.py"].lanza
    quien.oye("subprocess.Popen", (None, ["git", "status"], None, None))
    assert quien.lecturas["tests/test_a.py"].lanza
    quien.oye("open", (b"\0", "r", 0))  # lo que no se entiende no rompe nada
    quien.oye("subprocess.Popen", (3, None, None, None))
