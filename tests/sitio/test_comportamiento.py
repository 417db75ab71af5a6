"""Los sellos de lo propio de cada explorador: qué abre cada uno y qué se ejecuta, sin navegador."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import comportamiento
import pytest
import rotacion
from comportamiento import EXPLORERS, RAIZ, SUYAS, Comportamiento
from muestras import CLASES, MUESTRAS
from vistas import CADA, Vistas

TODOS = {"adder", "architecture", "beam", "patches", "stepper"}  # los que se copian
COPIA = (
    *comportamiento.DE_PRUEBAS,
    *(f"{SUYAS}/test_{uno}.py" for uno in TODOS),
    *(f"{SUYAS}/test_comunes.py", "tests/sitio/test_peso.py", "README.md"),
    *("code/atento/attention.py", "code/atento/checks/attention.py"),
    "code/atento/datos/prosa.json",
    *("code/figuras/plots", "code/figuras/diagrams", EXPLORERS),
)


def suyo(explorador: str) -> str:
    return f"{SUYAS}/test_{explorador}.py"


# --- La huella ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def copia(tmp_path_factory) -> Path:
    raiz = tmp_path_factory.mktemp("copia")
    for nombre in COPIA:
        (raiz / nombre).parent.mkdir(parents=True, exist_ok=True)
        copiar = shutil.copytree if (RAIZ / nombre).is_dir() else shutil.copy
        copiar(RAIZ / nombre, raiz / nombre)
    return raiz


@pytest.fixture(scope="module")
def antes(copia) -> dict[str, str]:
    return comportamiento.huellas(copia)


def abiertos(antes: dict[str, str], ahora: dict[str, str]) -> set[str]:
    return {comportamiento.explorador(x) for x in ahora if antes.get(x) != ahora[x]}


@pytest.mark.parametrize(
    ("fichero", "deben"),
    [
        (f"{EXPLORERS}/beam.js", {"beam"}),
        (f"{EXPLORERS}/beam.css", {"beam"}),
        (f"{EXPLORERS}/beam.py", {"beam"}),
        (f"{EXPLORERS}/adder.js", {"adder"}),
        (f"{EXPLORERS}/adder.py", {"adder", "patches"}),  # los parches lo importan
        (f"{EXPLORERS}/transformer.js", {"adder", "patches"}),
        (f"{EXPLORERS}/bert.js", set()),
        ("code/figuras/diagrams/transformer.py", {"architecture"}),
        ("code/figuras/diagrams/canvas.py", {"architecture"}),
        (f"{EXPLORERS}/base.py", TODOS),
        (f"{EXPLORERS}/base.js", TODOS),
        (f"{EXPLORERS}/base.css", TODOS),
        (f"{EXPLORERS}/live.py", TODOS),
        (f"{EXPLORERS}/pieces/kit.js", TODOS),
        (f"{EXPLORERS}/pieces/nueva.css", TODOS),
        ("code/figuras/plots/style.py", TODOS),
        ("code/atento/attention.py", TODOS),
        ("code/atento/nuevo.py", TODOS),
        ("code/atento/checks/attention.py", set()),  # una puerta no da números
        ("code/atento/datos/prosa.json", TODOS),
        ("tests/muestras.py", TODOS),
        ("tests/sitio/conftest.py", TODOS),
        ("tests/sitio/explorando.py", TODOS),
        ("tests/sitio/exploradores.js", TODOS),
        (f"{SUYAS}/conftest.py", TODOS),
        (suyo("stepper"), {"stepper"}),
        (suyo("comunes"), set()),
        ("tests/sitio/test_peso.py", set()),
        ("README.md", set()),
    ],
)
def test_se_abre_el_sello_de_lo_que_el_cambio_alcanza_y_ninguno_mas(copia, antes, fichero, deben):
    ruta = copia / fichero
    viejo = ruta.read_bytes() if ruta.exists() else None
    ruta.write_bytes((viejo or b"") + (b"\nnuevo = 1\n" if ruta.suffix == ".py" else b"\n/* */\n"))
    try:
        assert abiertos(antes, comportamiento.huellas(copia)) == deben
    finally:
        ruta.write_bytes(viejo) if viejo is not None else ruta.unlink()


def test_un_comentario_de_la_biblioteca_no_abre_nada_y_otro_navegador_todo(
    copia, antes, monkeypatch
):
    assert antes.keys() == {suyo(uno) for uno in TODOS}, "lo común se mira siempre"
    ruta = copia / "code/atento/attention.py"
    codigo = ruta.read_text("utf8")
    ruta.write_text(f"# igual\n{codigo}", "utf8")
    assert comportamiento.huellas(copia) == antes
    ruta.write_text(codigo, "utf8")
    monkeypatch.setattr(comportamiento, "version", lambda: "Chromium 1")
    assert abiertos(antes, comportamiento.huellas(copia)) == TODOS


@pytest.mark.parametrize("distribucion", comportamiento.VERSIONES)
def test_otra_version_lo_abre_todo(copia, antes, monkeypatch, distribucion):
    de_verdad = comportamiento.metadata.version
    versiones = {distribucion: "99"}
    monkeypatch.setattr(
        comportamiento.metadata, "version", lambda x: versiones.get(x) or de_verdad(x)
    )
    assert abiertos(antes, comportamiento.huellas(copia)) == TODOS


def test_cada_explorador_tiene_su_fichero_y_sus_guiones_cuentan():
    assert {*map(comportamiento.explorador, comportamiento.ficheros())} == set(CLASES)
    for nombre, clase in CLASES.items():
        codigo = (RAIZ / EXPLORERS / f"{nombre}.py").read_text("utf8")
        assert comportamiento.guiones(codigo) == clase.scripts


@pytest.mark.parametrize("uno", MUESTRAS.values(), ids=MUESTRAS)
def test_lo_que_abre_un_explorador_cuenta_en_su_huella_y_no_en_la_de_otro(uno):
    html = uno._repr_html_()
    assert not comportamiento.ajeno(suyo(uno.kind), html)
    otro = "beam" if uno.kind != "beam" else "adder"
    assert uno.kind in comportamiento.ajeno(suyo(otro), html)
    assert not comportamiento.ajeno(suyo("comunes"), html), "no se sella"


def test_los_guiones_de_mas_se_ven_aunque_no_se_abra_su_explorador():
    ajeno = '<script data-atento-part="bert-0123abcd">1</script>'
    assert comportamiento.ajeno(suyo("beam"), ajeno) == {"bert"}
    assert comportamiento.ajeno(suyo("cloze"), ajeno) == set()
    comun = ajeno.replace("bert", "pieces/table")
    assert comportamiento.ajeno(suyo("beam"), comun) == set()


# --- Qué se ejecuta y qué se sella ----------------------------------------------------------------

FICHEROS = [f"tests/en/test_{letra}.py" for letra in "abcdef"]


def barrido(desde: int) -> str:
    """Una confirmación en la que, de los sellados, toca el que está en ese sitio."""
    for i in range(1000):
        vuelta = int.from_bytes(hashlib.sha256(str(i).encode()).digest()[:4], "big")
        if (vuelta + desde) % CADA == 0:
            return str(i)
    raise AssertionError


NINGUNO = barrido(len(FICHEROS))


@pytest.fixture
def confirmacion(monkeypatch):
    """Pone la confirmación; si no se dice otra, una en la que no toca ninguno."""

    def _confirmacion(cual: str) -> None:
        monkeypatch.setenv("ATENTO_BARRIDO", cual)
        rotacion.origen.cache_clear()

    monkeypatch.delenv("ATENTO_ENTERO", raising=False)
    _confirmacion(NINGUNO)
    yield _confirmacion
    rotacion.origen.cache_clear()


class Config:
    """Lo que se usa de la de pytest."""

    def __init__(self, raiz: Path, *args: str, **opciones: object) -> None:
        self.rootpath, self.args, self.opciones = raiz, list(args), opciones
        self.invocation_params = SimpleNamespace(dir=raiz)
        self.apartadas: list[str] = []
        self.hook = SimpleNamespace(pytest_deselected=self._apartadas)

    def _apartadas(self, items) -> None:
        self.apartadas += [item.nodeid for item in items]

    def getoption(self, nombre: str, si_no: object = None) -> object:
        return self.opciones.get(nombre, si_no)


def recoge(suyas: Vistas, config: Config, ficheros=FICHEROS) -> tuple[Comportamiento, set[str]]:
    """Recoge dos pruebas de cada fichero y otra de fuera; con qué ficheros se queda."""
    uno = Comportamiento(config, dict.fromkeys(FICHEROS, "h"), suyas)
    nodos = [*(f"{f}::test_{n}" for f in ficheros for n in (1, 2)), "tests/test_fuera.py::test"]
    items = [SimpleNamespace(nodeid=nodo) for nodo in nodos]
    uno.aparta(items)
    quedan = [item.nodeid for item in items]
    assert sorted(quedan + config.apartadas) == sorted(nodos)
    return uno, {nodo.partition("::")[0] for nodo in quedan} - {"tests/test_fuera.py"}


def informe(nodo: str, que: str = "passed", when: str = "call"):
    return SimpleNamespace(nodeid=nodo, when=when, failed=que == "failed", passed=que == "passed")


@pytest.fixture
def selladas(tmp_path) -> Vistas:
    suyas = Vistas(tmp_path / "sellos.json")
    suyas.guarda(dict.fromkeys(FICHEROS, "h"), FICHEROS, [], FICHEROS)
    return suyas


def test_lo_sellado_se_aparta_salvo_lo_que_toca_y_lo_que_ha_cambiado(
    tmp_path, selladas, confirmacion, monkeypatch
):
    def quedan() -> set[str]:
        return recoge(selladas, Config(tmp_path))[1]

    assert quedan() == set()
    tocan = []
    for desde in range(CADA):
        confirmacion(barrido(desde))
        tocan += quedan()
    assert sorted(tocan) == FICHEROS, "en ocho confirmaciones, cada uno una vez"
    confirmacion(NINGUNO)
    selladas.guarda({FICHEROS[1]: "otra"}, [FICHEROS[1]], [FICHEROS[2]], FICHEROS)
    assert quedan() == {FICHEROS[1], FICHEROS[2]}
    monkeypatch.setenv("ATENTO_ENTERO", "1")
    assert quedan() == set(FICHEROS)


@pytest.mark.parametrize(
    ("args", "opciones", "quedan"),
    [
        (["tests/en"], {}, set()),
        (["tests/en/test_b.py"], {}, {FICHEROS[1]}),
        (["tests/en/test_b.py::test_1", "tests/en/test_d.py"], {}, {FICHEROS[1], FICHEROS[3]}),
        (["tests"], {"keyword": "1"}, set(FICHEROS)),
        (["tests/en/test_b.py"], {"apunta": True}, set()),  # la nombra «make rapida»
    ],
)
def test_lo_que_se_nombra_se_ejecuta_siempre(
    tmp_path, selladas, confirmacion, args, opciones, quedan
):
    assert recoge(selladas, Config(tmp_path, *args, **opciones))[1] == quedan


def test_lo_que_se_nombra_desde_su_carpeta_tambien(tmp_path, selladas, confirmacion):
    config = Config(tmp_path, "test_b.py")
    config.invocation_params.dir = tmp_path / "tests/en"
    assert recoge(selladas, config)[1] == {FICHEROS[1]}


@pytest.mark.parametrize(
    ("pasa", "sellado"),
    [
        ([informe("::test_1"), informe("::test_2")], True),
        ([informe("::test_1")], False),  # la otra no se ha ejecutado
        ([informe("::test_1"), informe("::test_2", "failed")], False),
        ([informe("::test_1"), informe("::test_2", "skipped")], False),
        ([informe("::test_1"), informe("::test_2", "passed", "setup")], False),
        (
            [informe("::test_1"), informe("::test_2"), informe("::test_2", "failed", "teardown")],
            False,
        ),
    ],
)
@pytest.mark.parametrize("apunta", [True, False])
def test_se_sella_lo_que_se_ejecuta_entero_y_pasa(tmp_path, confirmacion, apunta, pasa, sellado):
    suyas = Vistas(tmp_path / "sellos.json")
    uno, quedan = recoge(suyas, Config(tmp_path, "tests", apunta=apunta))
    assert quedan == set(FICHEROS)
    for dicho in pasa:
        dicho = SimpleNamespace(**vars(dicho) | {"nodeid": FICHEROS[0] + dicho.nodeid})
        uno.pytest_runtest_logreport(dicho)
    uno.pytest_sessionfinish()
    assert suyas.selladas() == ({FICHEROS[0]: "h"} if apunta and sellado else {})


@pytest.mark.parametrize(
    ("args", "opciones"), [([f"{FICHEROS[0]}::test_1"], {}), (["tests"], {"lf": True})]
)
def test_un_trozo_de_un_fichero_no_lo_sella_y_lo_que_falla_pierde_el_sello(
    tmp_path, selladas, confirmacion, args, opciones
):
    selladas.guarda({}, [], [FICHEROS[0]], FICHEROS)
    config = Config(tmp_path, *args, apunta=True, **opciones)
    uno, quedan = recoge(selladas, config, FICHEROS[:1])
    assert quedan == {FICHEROS[0]}
    for n in (1, 2):
        uno.pytest_runtest_logreport(informe(f"{FICHEROS[0]}::test_{n}"))
    uno.pytest_runtest_logreport(informe(f"{FICHEROS[3]}::test_1", "failed", "setup"))
    uno.pytest_sessionfinish()
    assert selladas.selladas().keys() == {*FICHEROS} - {FICHEROS[0], FICHEROS[3]}


def test_varios_procesos_que_acaban_a_la_vez_no_se_pisan(tmp_path):
    """Cada uno sella lo suyo muchas veces, y al final está todo."""
    codigo = (
        "import sys; from pathlib import Path; from vistas import Vistas\n"
        "suyas = Vistas(Path('sellos.json'))\n"
        "todas = {f'{quien}{i}': 'h' for quien in 'abc' for i in range(60)}\n"
        "for i in range(60): suyas.guarda(todas, [f'{sys.argv[1]}{i}'], [], todas)\n"
    )
    entorno = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, CON_QUE))}
    procesos = [
        subprocess.Popen([sys.executable, "-c", codigo, quien], cwd=tmp_path, env=entorno)
        for quien in "abc"
    ]
    assert [proceso.wait(timeout=120) for proceso in procesos] == [0, 0, 0]
    assert len(json.loads((tmp_path / "sellos.json").read_text("utf8"))) == 180


# --- Con pytest de verdad -------------------------------------------------------------------------

CON_QUE = [RAIZ / x for x in ("tests", "tests/sitio", "tools", "book/_ext", "code")]
CONFTEST = """
import hashlib
from pathlib import Path

import comportamiento
import pytest
from vistas import Vistas

AQUI = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    rutas = sorted(AQUI.glob("test_*.py"))
    suyas = {f"tests/en/{x.name}": hashlib.sha256(x.read_bytes()).hexdigest() for x in rutas}
    comportamiento.aparta(config, items, suyas, Vistas(AQUI / "sellos.json"))
"""
BIEN = "def test_una(): pass\ndef test_dos(): pass\n"
MAL = "def test_una(): pass\ndef test_dos(): assert 0\n"


@pytest.fixture
def juguete(tmp_path) -> Path:
    """Seis ficheros de dos pruebas, y en el cuarto falla una."""
    (tmp_path / "tests/en").mkdir(parents=True)
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n")
    (tmp_path / ".gitignore").write_text(".cache/\n__pycache__/\n")
    shutil.copy(RAIZ / "tests/conftest.py", tmp_path / "tests")
    (tmp_path / "tests/en/conftest.py").write_text(CONFTEST)
    for fichero in FICHEROS:
        (tmp_path / fichero).write_text(MAL if fichero == FICHEROS[3] else BIEN)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=60)
    return tmp_path


def corre(raiz: Path, *que: str, **entorno: str) -> tuple[int, dict[str, int]]:
    """El estado de pytest, con dos procesos, y cuántas dice que pasan, fallan o se apartan."""
    limpio = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "ATENTO_"))}
    limpio |= {"PYTHONPATH": os.pathsep.join(map(str, CON_QUE)), "ATENTO_BARRIDO": NINGUNO}
    orden = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "xdist.plugin", "-n", "2"]
    hecho = subprocess.run(
        [*orden, "--dist", "loadfile", "-p", "no:cacheprovider", *que],
        cwd=raiz, env=limpio | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | entorno,
        capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    dicho = hecho.stdout.strip().splitlines()[-1]
    return hecho.returncode, {que: int(n) for n, que in re.findall(r"(\d+) (\w+)", dicho)}


def test_en_varios_procesos_se_sella_y_se_aparta_lo_mismo(juguete):
    sellos = Vistas(juguete / "tests/en/sellos.json")
    estado, cuantas = corre(juguete, "--apunta")
    assert (estado, cuantas["passed"], cuantas["failed"]) == (1, 11, 1)
    buenos = {*FICHEROS} - {FICHEROS[3]}
    assert sellos.selladas().keys() == buenos, "los han sellado dos procesos"

    assert corre(juguete)[1] == {"failed": 1, "passed": 1}
    (juguete / FICHEROS[3]).write_text(BIEN)
    (juguete / FICHEROS[0]).write_text(MAL)
    estado, cuantas = corre(juguete, "--apunta")
    assert (estado, cuantas["passed"], cuantas["failed"]) == (1, 3, 1)
    assert sellos.selladas().keys() == {*FICHEROS} - {FICHEROS[0]}

    (juguete / FICHEROS[0]).write_text(BIEN)
    assert corre(juguete, "--apunta", *FICHEROS)[1]["passed"] == 2, "la orden nombra; hay sello"
    tardan = dict.fromkeys(FICHEROS, 40.0)
    (juguete / "tests/duraciones.json").write_text(json.dumps(tardan))
    (juguete / ".cache/sellos.json").unlink()
    estado, cuantas = corre(juguete, "--apunta", *FICHEROS)
    assert estado == 0 and "passed" not in cuantas, "que no quede nada que ejecutar no es fallar"
    sellados = json.loads((juguete / ".cache/sellos.json").read_text("utf8"))["sellos"]
    assert sellados.keys() == {*FICHEROS}, "make rapida no vuelve a ellos"
    assert json.loads((juguete / "tests/duraciones.json").read_text("utf8")) == tardan

    assert corre(juguete, FICHEROS[1])[1]["passed"] == 2
    assert corre(juguete, f"{FICHEROS[1]}::test_una")[1]["passed"] == 1
    assert corre(juguete, ATENTO_ENTERO="1")[1]["passed"] == 12
