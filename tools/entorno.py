"""Prepara ``.venv`` con las versiones de ``constraints.txt``. Solo usa la biblioteca estándar.

    python3 tools/entorno.py

Si ya está preparado con estas mismas versiones, no hace nada.
"""

import hashlib
import os
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
MIB_NECESARIOS = 2500
PLAZO = 3600  # segundos de cada instalación


def huella_de_dependencias() -> str:
    """Lo que identifica un entorno: versiones, extras, intérprete y carpeta."""
    texto = "".join(
        (RAIZ / f).read_text(encoding="utf-8") for f in ("pyproject.toml", "constraints.txt")
    )
    return hashlib.sha256(f"{texto}{sys.version}{RAIZ}".encode()).hexdigest()


def comprueba() -> None:
    """Versión de Python y espacio, con el remedio en una línea."""
    if sys.version_info < (3, 11):
        version = ".".join(map(str, sys.version_info[:3]))
        sys.exit(
            f"Hace falta Python 3.11 o posterior y este es {version}: prueba «make"
            " PYTHON=python3.12 libro»."
        )
    libres = shutil.disk_usage(RAIZ).free // 2**20
    if libres < MIB_NECESARIOS:
        sys.exit(
            f"Quedan {libres} MiB libres y el entorno ocupa {MIB_NECESARIOS}: libera espacio y"
            " vuelve a empezar."
        )


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
    comprueba()
    if SELLO.exists() and SELLO.read_text() == huella_de_dependencias():
        return
    print("Preparando el entorno en .venv (solo la primera vez: uno o dos minutos)…", flush=True)
    SELLO.unlink(missing_ok=True)
    if not entorno_util():
        venv.create(ENTORNO, with_pip=True, clear=ENTORNO.exists())
    instala("torch")
    print("torch ya está; ahora, lo demás…", flush=True)
    instala("-e", ".[libro,pruebas]")
    SELLO.write_text(huella_de_dependencias())


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nInterrumpido: el entorno está a medias; la próxima vez se sigue donde iba.")
