"""Los cuadernos exportados, abiertos en JupyterLab: todo dibujado, y nada a medio componer. Los que
pasaron tal como están no se vuelven a abrir, salvo uno de cada tantos (``vistas.py``).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from vistas import CUADERNOS, de_todo, huella

pytestmark = [pytest.mark.navegador, pytest.mark.lento, pytest.mark.timeout(600)]

COMO = (Path(__file__), Path(__file__).with_name("jupyterlab.js"))
MIRA = COMO[1].read_text("utf8")
# Para mirar no hace falta ejecutar, y arrancar un núcleo tarda.
SIN_NUCLEO = """async () => {
  await window.jupyterapp.restored;
  window.jupyterapp.serviceManager.sessions.startNew = () => new Promise(() => {});
}"""
CIERRA = "() => window.jupyterapp.commands.execute('application:close-all')"
AJUSTES = {
    "notebook-extension/tracker": {"windowingMode": "none"},  # todas las celdas, no las que se ven
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}
FALTAS = {
    "fórmula sin componer": (
        "- Uno:\n\n  $$\n  a = b\n\n  c = d\n  $$\n",
        '<div class="caja">\n$$\na = \\frac{1}{2}\n$$ y $b</div>\n',
        "Vale $3 y nada más.\n",
    ),
    "LaTeX a la vista": ("Hay 3\\u202f000 palabras.\n", "La \\frac{1}{2} de antes.\n"),
    "MyST a la vista": (
        "Como dice {ref}`cap-uno`.\n",
        ":::{note}\nHola.\n:::\n",
        "Vale {glue:text}`clave`.\n",
        "\\`\\`\\`{figura} nombre\n",
    ),
    "letra perdida": ("Un espa\ufffdol.\n",),
    "fórmula con error": ("Así: $\\frac{1}$.\n", "Así: $\\noexiste{1}$.\n"),
    "imagen rota": ("![nada](no-esta.png)\n", "![nada](attachment:no-esta.png)\n"),
}


def _puerto() -> int:
    with socket.socket() as enchufe:
        enchufe.bind(("127.0.0.1", 0))
        return enchufe.getsockname()[1]


def _acaba(proceso: subprocess.Popen) -> None:
    """Con el servidor y con lo que haya lanzado, aunque no atienda a SIGINT."""
    with contextlib.suppress(psutil.NoSuchProcess):
        for hijo in psutil.Process(proceso.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                hijo.kill()
    proceso.kill()
    proceso.wait(10)


def _espera(direccion: str, proceso: subprocess.Popen, registro: Path) -> None:
    fin = time.monotonic() + 120
    while time.monotonic() < fin and proceso.poll() is None:
        with contextlib.suppress(OSError, urllib.error.URLError):
            urllib.request.urlopen(f"{direccion}/api", timeout=5).close()
            return
        time.sleep(0.1)
    pytest.fail("JupyterLab no arranca:\n" + registro.read_text("utf8")[-2000:], pytrace=False)


@pytest.fixture(scope="module")
def carpeta(sitio: Path, tmp_path_factory) -> Path:
    """Copias de los cuadernos exportados."""
    destino = tmp_path_factory.mktemp("jupyterlab")
    shutil.copytree(sitio / "cuadernos", destino / "cuadernos")
    return destino


@pytest.fixture(scope="module")
def servidor(carpeta: Path):
    """Un JupyterLab con sus carpetas propias."""
    casa, puerto = carpeta / "casa", _puerto()
    for nombre, valores in AJUSTES.items():
        fichero = casa / "ajustes" / "@jupyterlab" / f"{nombre}.jupyterlab-settings"
        fichero.parent.mkdir(parents=True, exist_ok=True)
        fichero.write_text(json.dumps(valores), "utf8")
    entorno = os.environ | {
        "JUPYTER_CONFIG_DIR": str(casa / "configuracion"),
        "JUPYTER_DATA_DIR": str(casa / "datos"),
        "JUPYTER_RUNTIME_DIR": str(casa / "marcha"),
        "JUPYTERLAB_SETTINGS_DIR": str(casa / "ajustes"),
        "JUPYTERLAB_WORKSPACES_DIR": str(casa / "espacios"),
    }
    orden = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    orden += ["--expose-app-in-browser", "--ServerApp.ip=127.0.0.1", "--ServerApp.port_retries=0"]
    orden += [f"--ServerApp.port={puerto}", f"--ServerApp.root_dir={carpeta / 'cuadernos'}"]
    orden += ["--IdentityProvider.token="]
    registro = carpeta / "registro.txt"
    with registro.open("w") as salida:
        proceso = subprocess.Popen(
            orden, env=entorno, stdout=salida, stderr=salida, start_new_session=True
        )
        try:
            direccion = f"http://127.0.0.1:{puerto}"
            _espera(direccion, proceso, registro)
            yield direccion
        finally:
            _acaba(proceso)


@pytest.fixture(scope="module")
def laboratorio(servidor: str, navegador):
    """JupyterLab abierto: un solo arranque para todos los cuadernos."""
    contexto = navegador.new_context(viewport={"width": 1280, "height": 900})
    pagina = contexto.new_page()
    pagina.set_default_timeout(120_000)
    pagina.goto(f"{servidor}/lab?reset")
    pagina.wait_for_function("() => window.jupyterapp?.restored")
    pagina.evaluate(SIN_NUCLEO)
    yield pagina
    contexto.close()


def _mira(laboratorio, ruta: str, plazo: int) -> dict:
    """Lo que se ve mal en un cuaderno, tras esperar como mucho ``plazo`` milisegundos."""
    try:
        return laboratorio.evaluate(MIRA, {"ruta": ruta, "plazo": plazo})
    finally:
        laboratorio.evaluate(CIERRA)


def _textos(cosa: Any) -> Iterator[str]:
    """Los textos de un cuaderno, en su orden."""
    if isinstance(cosa, str):
        yield cosa
    elif isinstance(cosa, dict | list):
        for dentro in cosa.values() if isinstance(cosa, dict) else cosa:
            yield from _textos(dentro)


def _huella(celdas: Any, *versiones: str) -> str:
    return huella("\n".join(_textos(celdas)), de_todo(COMO, *versiones))


def test_los_cuadernos_se_ven_enteros(request, laboratorio, navegador, sitio):
    """Con sus fórmulas, también las de los recuadros; con sus imágenes y sin restos de MyST."""
    rutas = sorted((sitio / "cuadernos").glob("*.ipynb"))
    assert len(rutas) > 14
    celdas = {ruta.name: nbformat.read(ruta, as_version=4).cells for ruta in rutas}
    versiones = navegador.version, metadata.version("jupyterlab")
    huellas = {nombre: _huella(suyas, *versiones) for nombre, suyas in celdas.items()}
    mal: dict[str, list[str]] = {}
    tocan = CUADERNOS.por_mirar(huellas)
    for nombre in sorted(tocan):
        visto = _mira(laboratorio, nombre, 20_000)
        faltas = list(visto["faltas"])
        if visto["celdas"] != len(celdas[nombre]):
            faltas.append(f"se ven {visto['celdas']} celdas de {len(celdas[nombre])}")
        if not visto["formulas"] and any("$$" in celda.source for celda in celdas[nombre]):
            faltas.append("no hay ninguna fórmula compuesta")
        if faltas:
            mal[nombre] = faltas
    if request.config.getoption("apunta", False):
        CUADERNOS.guarda(huellas, tocan - mal.keys(), mal, huellas)
    assert tocan, "no se ha mirado ningún cuaderno"
    assert not mal, "\n".join(f"{nombre}: {x}" for nombre, faltas in mal.items() for x in faltas)


@pytest.mark.parametrize(("cambio", "vale"), [("Vale 2.5.", True), ("Valen 1.5.", False)])
def test_un_cuaderno_es_el_mismo_si_solo_cambian_sus_cifras(cambio, vale):
    antes = _huella([new_markdown_cell("Vale 1.5.", id="a")], "1")
    assert (_huella([new_markdown_cell(cambio, id="a")], "1") == antes) == vale
    assert _huella([new_markdown_cell("Vale 1.5.", id="a")], "2") != antes


def test_ve_lo_que_se_ve_mal(laboratorio, carpeta):
    """Cada falta, en su celda; y lo que está bien, sin faltas."""
    casos = [(que, fuente) for que, fuentes in FALTAS.items() for fuente in fuentes]
    bien = [
        new_markdown_cell("> **Nota**\n>\n> $$a = \\frac{1}{2}$$\n>\n> y `$x`, $x$, {a}.\n"),
        new_code_cell("print('$')"),
    ]
    celdas = [*bien, *(new_markdown_cell(fuente) for _, fuente in casos)]
    nbformat.write(new_notebook(cells=celdas), carpeta / "cuadernos" / "faltas.ipynb")
    vistas = _mira(laboratorio, "faltas.ipynb", 3000)["faltas"]
    no_vistas = [
        f"{que}: {fuente!r}"
        for orden, (que, fuente) in enumerate(casos, len(bien))
        if not any(vista.startswith(f"celda {orden}: {que}") for vista in vistas)
    ]
    assert not no_vistas, "\n".join([*no_vistas, "y se ve:", *vistas])
    assert not [v for v in vistas if v.startswith(("celda 0:", "celda 1:"))], vistas
