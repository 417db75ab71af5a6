"""Los cuadernos exportados, abiertos en JupyterLab: todo dibujado, y nada a medio componer."""

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
from pathlib import Path

import nbformat
import psutil
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

pytestmark = [pytest.mark.navegador, pytest.mark.lento, pytest.mark.timeout(600)]

MIRA = (Path(__file__).parent / "jupyterlab.js").read_text("utf8")
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


def test_los_cuadernos_se_ven_enteros(laboratorio, sitio):
    """Con sus fórmulas, también las de los recuadros; con sus imágenes y sin restos de MyST."""
    rutas = sorted((sitio / "cuadernos").glob("*.ipynb"))
    assert len(rutas) > 14
    faltas, formulas = [], 0
    for ruta in rutas:
        visto = _mira(laboratorio, ruta.name, 20_000)
        faltas += [f"{ruta.name}: {falta}" for falta in visto["faltas"]]
        formulas += visto["formulas"]
        en_fichero = len(nbformat.read(ruta, as_version=4).cells)
        if visto["celdas"] != en_fichero:
            faltas.append(f"{ruta.name}: se ven {visto['celdas']} celdas de {en_fichero}")
    assert not faltas, "\n".join(faltas)
    assert formulas > 1000, "faltan fórmulas compuestas"


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
