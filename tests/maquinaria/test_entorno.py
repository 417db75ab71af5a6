"""El entorno: qué PyTorch se instala y de dónde, y qué se dice cuando no se puede.

Las órdenes de pip se apuntan sin ejecutarlas, salvo donde se mira lo que pip elegiría; el índice
es entonces una carpeta.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import entorno

RAIZ = Path(__file__).resolve().parents[2]
VERSION = re.search(r"^torch==(.+)$", (RAIZ / "constraints.txt").read_text("utf-8"), re.M)[1]
INDICE = entorno.DE_PROCESADOR


class Falso:
    """Un ``.venv`` en una carpeta, y las órdenes que se habrían ejecutado."""

    def __init__(self, carpeta: Path) -> None:
        self.carpeta, self.ordenes, self.da = carpeta, [], ""
        self.paquetes = carpeta / "lib" / "python3.11" / "site-packages"
        self.paquetes.mkdir(parents=True)

    def pon(self, version: str) -> None:
        for viejo in self.paquetes.glob("torch-*.dist-info"):
            viejo.rmdir()
        (self.paquetes / f"torch-{version}.dist-info").mkdir()

    def corre(self, orden, plazo, **opciones):
        """Como :func:`procesos.corre`; «instalar» torch deja lo que daría cada índice."""
        argumentos = [str(x) for x in orden[3:]]
        self.ordenes.append(argumentos)
        if argumentos[0] == "install" and argumentos[-1] == "torch":
            del_indice = INDICE[0] in argumentos
            self.pon(self.da or (f"{VERSION}+cpu" if del_indice else VERSION))
        return 0

    def de_torch(self) -> list[str]:
        return [" ".join(o) for o in self.ordenes if o[-1] == "torch"]


@pytest.fixture
def falso(tmp_path, monkeypatch):
    """Un entorno que ya arranca, en Linux, sin nada configurado en pip."""
    uno = Falso(tmp_path / "venv")
    monkeypatch.setattr(entorno, "ENTORNO", uno.carpeta)
    monkeypatch.setattr(entorno, "SELLO", uno.carpeta / "sello")
    monkeypatch.setattr(entorno, "corre", uno.corre)
    monkeypatch.setattr(entorno, "entorno_util", lambda: True)
    monkeypatch.setattr(entorno, "pip_configurado", lambda: False)
    monkeypatch.setattr(entorno.sys, "platform", "linux")
    return uno


@pytest.fixture
def prepara(monkeypatch):
    def hace(*argumentos: str) -> None:
        monkeypatch.setattr("sys.argv", ["entorno.py", *argumentos])
        entorno.main()

    return hace


def test_en_linux_se_instala_el_de_procesador_de_su_indice(falso, prepara):
    prepara()
    assert len(falso.ordenes) == 2 and falso.ordenes[1][-2:] == ["-e", ".[libro,pruebas]"]
    (orden,) = falso.de_torch()
    assert orden.endswith(f"{' '.join(INDICE)} --no-deps torch") and "-c constraints.txt" in orden
    prepara()
    assert len(falso.ordenes) == 2, "la segunda vez no hay nada que hacer"


@pytest.mark.parametrize(("sistema", "configurado"), [("linux", True), ("darwin", False)])
def test_donde_ya_se_sabe_de_donde_viene_no_se_cambia(
    falso, prepara, monkeypatch, sistema, configurado
):
    monkeypatch.setattr(entorno.sys, "platform", sistema)
    monkeypatch.setattr(entorno, "pip_configurado", lambda: configurado)
    prepara()
    assert INDICE[0] not in falso.de_torch()[0]


def test_el_de_cuda_se_pide_se_queda_y_se_devuelve(falso, prepara):
    prepara()
    prepara("--torch", "cuda")
    quita, pone = falso.de_torch()[1:]
    assert quita.startswith("uninstall") and INDICE[0] not in pone
    assert entorno.torch_instalado() == "cuda"
    hechas = len(falso.ordenes)
    prepara()
    prepara("--torch", "cuda")
    assert len(falso.ordenes) == hechas
    entorno.SELLO.unlink()  # con otras versiones, sigue siendo el de CUDA
    prepara()
    assert INDICE[0] not in falso.de_torch()[-1]
    prepara("--torch", "cpu")
    assert entorno.torch_instalado() == "cpu"


def test_si_pip_no_da_el_pedido_se_dice_y_no_se_sella(falso, prepara):
    falso.da = f"{VERSION}+cpu"
    with pytest.raises(SystemExit, match="no está el PyTorch de «cuda»"):
        prepara("--torch", "cuda")
    assert not entorno.SELLO.exists()


@pytest.mark.parametrize(
    ("codigo", "dicho"),
    [(entorno.PLAZO_VENCIDO, f"no ha terminado en {entorno.PLAZO} s"), (1, "no ha podido")],
)
def test_si_pip_no_instala_se_dice_y_el_sello_de_antes_no_queda(
    falso, prepara, monkeypatch, codigo, dicho
):
    """Con el sello, la orden siguiente daría por bueno un entorno a medias."""
    entorno.SELLO.write_text("otras versiones")
    monkeypatch.setattr(entorno, "corre", lambda *a, **k: codigo)
    with pytest.raises(SystemExit, match=dicho):
        prepara()
    assert not entorno.SELLO.exists()


@pytest.mark.parametrize("habia", [True, False])
def test_un_entorno_que_no_sirve_se_hace_de_nuevo(falso, prepara, monkeypatch, capsys, habia):
    """Y si había algo, se vacía antes: serían paquetes de otro Python."""
    hechos = []
    if not habia:
        monkeypatch.setattr(entorno, "ENTORNO", falso.carpeta / "nuevo")
    monkeypatch.setattr(entorno, "instala_torch", lambda *a: hechos.append(a))
    monkeypatch.setattr(entorno.venv, "create", lambda donde, **k: hechos.append((donde, k)))
    prepara()
    assert hechos == [("cpu", None)], "el que sirve se queda"
    monkeypatch.setattr(entorno, "entorno_util", lambda: False)
    entorno.SELLO.unlink()
    prepara()
    assert hechos[1:] == [(entorno.ENTORNO, {"with_pip": True, "clear": habia}), ("cpu", None)]
    assert "Preparando el entorno" in (dicho := capsys.readouterr().out) and "lo demás…" in dicho


@pytest.mark.parametrize("variante", ["cpu", "cuda"])
def test_lo_justo_en_el_disco_basta(monkeypatch, variante):
    monkeypatch.setattr(entorno.sys, "platform", "linux")
    for sobra in (0, -1):
        libre = (entorno.MIB_NECESARIOS[variante] + sobra) << 20
        monkeypatch.setattr(
            entorno.shutil, "disk_usage", lambda _, n=libre: type("U", (), {"free": n})()
        )
        if sobra < 0:
            with pytest.raises(SystemExit, match="libera espacio"):
                entorno.comprueba_sitio(variante)
        else:
            entorno.comprueba_sitio(variante)


def test_lo_que_no_puede_ser_se_dice_antes_de_empezar(falso, prepara, monkeypatch):
    with monkeypatch.context() as m:
        m.setattr(entorno.sys, "platform", "darwin")
        with pytest.raises(SystemExit, match="solo para Linux"):
            prepara("--torch", "cuda")
    with monkeypatch.context() as m:
        libre = type("U", (), {"free": 3000 << 20})()
        m.setattr(entorno.shutil, "disk_usage", lambda _: libre)
        with pytest.raises(SystemExit, match="Quedan 3000 MiB libres y el entorno necesita 7000"):
            prepara("--torch", "cuda")
        prepara()
    monkeypatch.setattr(entorno, "MINIMO", (99, 0))
    este = ".".join(map(str, sys.version_info[:3]))
    with pytest.raises(SystemExit, match=rf"este es {este}: .*PYTHON=python3\.12"):
        prepara()


@pytest.mark.parametrize(
    ("dice", "estado", "util"),
    [
        (sys.version, 0, True),
        (f"\n{sys.version}\n", 0, True),
        ("3.10.2 (otra)", 0, False),
        (sys.version, 1, False),  # sin pip, por ejemplo
        (None, 0, False),
    ],
    ids=["este", "con-avisos", "otro", "sin-pip", "no-está"],
)
def test_un_entorno_sirve_si_arranca_con_este_mismo_python(
    tmp_path, monkeypatch, dice, estado, util
):
    python = tmp_path / "python"
    monkeypatch.setattr(entorno, "PYTHON", python)
    if dice is not None:
        python.write_text(f"#!/bin/sh\ncat <<'FIN'\n{dice}\nFIN\nexit {estado}\n")
        python.chmod(0o755)
    assert entorno.entorno_util() is util


@pytest.mark.parametrize("mal", [OSError(), subprocess.TimeoutExpired("python", 60)])
def test_un_entorno_que_no_arranca_se_hace_otra_vez(tmp_path, monkeypatch, mal):
    def falla(orden, **opciones):
        assert opciones["timeout"] > 0
        raise mal

    monkeypatch.setattr(entorno, "PYTHON", tmp_path)
    monkeypatch.setattr(entorno.subprocess, "run", falla)
    assert entorno.entorno_util() is False


@pytest.mark.parametrize(
    ("variables", "esperado"),
    [
        ({}, False),
        ({"PIP_DEFAULT_TIMEOUT": "9"}, False),
        ({"PIP_FIND_LINKS": "carpeta"}, True),
        ({"PIP_EXTRA_" + "INDEX_URL": "https://e.org"}, True),
    ],
)
def test_se_ve_lo_que_pip_tiene_configurado(monkeypatch, variables, esperado):
    for nombre in [n for n in os.environ if n.startswith("PIP_")]:
        monkeypatch.delenv(nombre)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for nombre, valor in variables.items():
        monkeypatch.setenv(nombre, valor)
    monkeypatch.setattr(entorno, "PYTHON", sys.executable)
    assert entorno.pip_configurado() is esperado


def rueda(carpeta: Path, version: str) -> None:
    """Un ``torch`` vacío con esa versión, en un índice hecho de carpetas."""
    destino = carpeta / "torch"
    destino.mkdir(parents=True, exist_ok=True)
    datos = f"torch-{version}.dist-info"
    nombre = f"torch-{version}-py3-none-any.whl"
    with zipfile.ZipFile(destino / nombre, "w") as archivo:
        archivo.writestr(
            f"{datos}/METADATA", f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n"
        )
        archivo.writestr(
            f"{datos}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archivo.writestr(f"{datos}/RECORD", "")
    enlaces = "".join(f'<a href="{p.name}">{p.name}</a>' for p in sorted(destino.glob("*.whl")))
    (destino / "index.html").write_text(enlaces, encoding="utf-8")


def test_la_version_fijada_admite_la_de_procesador(tmp_path, monkeypatch):
    """Lo que elige pip de verdad, de un índice con dos versiones, con ``constraints.txt``."""
    for version in (f"{VERSION}+cpu", "99.0+cpu"):
        rueda(tmp_path, version)
    for nombre in [n for n in os.environ if n.startswith("PIP_")]:
        monkeypatch.delenv(nombre)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    orden = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--no-deps"]
    orden += ["-c", str(RAIZ / "constraints.txt"), INDICE[0], tmp_path.as_uri(), "torch"]
    dicho = subprocess.run(orden, capture_output=True, text=True, timeout=120)
    assert f"Would install torch-{VERSION}+cpu" in dicho.stdout, dicho.stdout + dicho.stderr


def test_make_dice_la_variante():
    orden = ["make", "-n", "entorno"]
    dicho = [
        subprocess.run([*orden, *mas], cwd=RAIZ, capture_output=True, text=True, timeout=60).stdout
        for mas in ([], ["TORCH=cuda"])
    ]
    assert "--torch" not in dicho[0] and '--torch "cuda"' in dicho[1]


def test_el_readme_dice_el_mismo_indice():
    for pagina in ("README.md", "book/0-preliminares/como-usar.md"):
        assert " ".join(INDICE) in (RAIZ / pagina).read_text(encoding="utf-8"), pagina
