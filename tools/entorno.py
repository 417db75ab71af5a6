"""Prepara ``.venv`` con las versiones de ``constraints.txt``. Solo usa la biblioteca estándar.

No es ``uv`` porque habría que instalarlo antes; ``constraints.txt`` fija lo mismo que su cerrojo
y lo leen los dos (``uv pip install -c constraints.txt``), con red o desde una carpeta.

    python3 tools/entorno.py [--torch cpu|cuda]

Si ya está preparado con estas mismas versiones, no hace nada. En Linux, el PyTorch de PyPI es el de
CUDA: sin ``--torch`` se instala el de procesador, del índice de PyTorch, salvo que pip tenga ya
configurado de dónde baja los paquetes o que en ``.venv`` esté el de CUDA, que se respeta.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from procesos import PLAZO_VENCIDO, corre

RAIZ = Path(__file__).resolve().parents[1]
ENTORNO = RAIZ / ".venv"
SELLO = ENTORNO / ".sello-atento"
PYTHON = ENTORNO / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
MIB_NECESARIOS = {"cpu": 2750, "cuda": 7000}  # ocupan 2.2 GB en disco y cerca de 6
MINIMO = (3, 11)
DE_PROCESADOR = "--index-url https://download.pytorch.org/whl/cpu".split()
CONFIGURADO = re.compile(r"^[^=]*\.((extra-)?index-url|find-links|no-index)=", re.MULTILINE)
PLAZO = 3600  # segundos de cada instalación


def huella_de_dependencias() -> str:
    """Lo que identifica un entorno: versiones, extras, intérprete y carpeta."""
    texto = "".join(
        (RAIZ / f).read_text(encoding="utf-8") for f in ("pyproject.toml", "constraints.txt")
    )
    return hashlib.sha256(f"{texto}{sys.version}{RAIZ}".encode()).hexdigest()


def comprueba_version() -> None:
    """Que este Python sirva; si no, con qué orden."""
    if sys.version_info < MINIMO:
        version = ".".join(map(str, sys.version_info[:3]))
        sys.exit(
            f"Hace falta Python 3.11 o posterior y este es {version}: prueba «make"
            " PYTHON=python3.12 libro»."
        )


def comprueba_sitio(variante: str) -> None:
    """Que esa variante de PyTorch exista en este sistema y quepa."""
    if variante == "cuda" and sys.platform != "linux":
        sys.exit("--torch cuda es solo para Linux: en otros sistemas, véase https://pytorch.org.")
    libres, necesarios = shutil.disk_usage(RAIZ).free // 2**20, MIB_NECESARIOS[variante]
    if libres < necesarios:
        sys.exit(
            f"Quedan {libres} MiB libres y el entorno necesita {necesarios}: libera espacio y"
            " vuelve a empezar."
        )


def torch_instalado() -> str | None:
    """``cpu`` o ``cuda``, según el PyTorch que haya en el entorno; ``None`` si no hay ninguno.

    Fuera de Linux no hay dónde elegir y todos se llaman ``cpu``.
    """
    paquetes = "Lib/site-packages" if os.name == "nt" else "lib/python*/site-packages"
    hallados = sorted(ENTORNO.glob(f"{paquetes}/torch-*.dist-info"))
    if not hallados:
        return None
    de_cpu = sys.platform != "linux" or hallados[-1].name.endswith("+cpu.dist-info")
    return "cpu" if de_cpu else "cuda"


def pip_configurado() -> bool:
    """Si pip tiene ya dicho de dónde baja los paquetes: un índice propio o una carpeta."""
    orden = [str(PYTHON), "-m", "pip", "config", "list"]
    dicho = subprocess.run(orden, capture_output=True, text=True, timeout=60)
    return bool(CONFIGURADO.search(dicho.stdout))


def instala_torch(variante: str, pedida: str | None) -> None:
    """Instala esa variante en el lugar de la otra, si estaba.

    Del índice de procesador no se toman las dependencias: vienen después, con lo demás.
    """
    if torch_instalado() not in (None, variante):
        corre([PYTHON, "-m", "pip", "uninstall", "--quiet", "--yes", "torch"], PLAZO, cwd=RAIZ)
    del_indice = variante == "cpu" and sys.platform == "linux"
    if del_indice and (pedida or not pip_configurado()):
        instala(*DE_PROCESADOR, "--no-deps", "torch")
    else:
        instala("torch")
    if pedida and torch_instalado() != pedida:
        sys.exit(f"Donde pip busca no está el PyTorch de «{pedida}»: revisa «pip config list».")


def instala(*paquetes: str) -> None:
    """Instala en el entorno, con las versiones fijadas (la ruta es relativa: la carpeta puede tener
    espacios).
    """
    orden = [
        str(PYTHON),
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--quiet",
        "-c",
        "constraints.txt",
    ]
    codigo = corre(
        [*orden, *paquetes], PLAZO, cwd=RAIZ
    )  # aparte: a Ctrl+C, pip contestaría con una traza
    if codigo == PLAZO_VENCIDO:
        sys.exit(
            f"pip no ha terminado en {PLAZO} s: comprueba la conexión de red y repite la orden."
        )
    if codigo:
        sys.exit(
            "pip no ha podido instalar lo anterior: comprueba la conexión de red y repite la orden."
        )


def entorno_util() -> bool:
    """Si ya hay un intérprete que arranca, de esta misma versión de Python."""
    if not PYTHON.exists():
        return False
    orden = [str(PYTHON), "-c", "import sys, pip; print(sys.version)"]
    try:
        version = subprocess.run(orden, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return version.returncode == 0 and version.stdout.strip() == sys.version.strip()


def main() -> None:
    """Punto de entrada."""
    opciones = argparse.ArgumentParser(description="Prepara .venv con las versiones fijadas.")
    opciones.add_argument("--torch", choices=list(MIB_NECESARIOS), help="sin ella, el que haya")
    pedida, instalada = opciones.parse_args().torch, torch_instalado()
    comprueba_version()
    al_dia = SELLO.exists() and SELLO.read_text() == huella_de_dependencias()
    if al_dia and pedida in (None, instalada):
        return
    variante = pedida or instalada or "cpu"
    comprueba_sitio(variante)
    print("Preparando el entorno en .venv (solo la primera vez)…", flush=True)
    SELLO.unlink(missing_ok=True)
    if not entorno_util():
        venv.create(ENTORNO, with_pip=True, clear=ENTORNO.exists())
    instala_torch(variante, pedida)
    print("torch ya está; ahora, lo demás…", flush=True)
    instala("-e", ".[libro,pruebas]")
    SELLO.write_text(huella_de_dependencias())


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nInterrumpido: el entorno está a medias; la próxima vez se sigue donde iba.")
