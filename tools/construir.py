"""Construye el libro: ejecuta lo que ha cambiado, hace las páginas y los cuadernos para descargar.

    python tools/construir.py [--ejecutados CARPETA]

Con ``--ejecutados`` se aprovechan los cuadernos que nbval acaba de ejecutar. Cualquier aviso de Sphinx es un error.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from rich.console import Console

from capitulos import CONSTRUIDO, LIBRO, RAIZ, capitulos, huella
from ejecutar import CapituloRoto, ejecuta_pendientes, vuelca

HTML = CONSTRUIDO / "html"
EN_CURSO = CONSTRUIDO / ".en-curso"   # existe mientras se construye: si sigue ahí, lo construido no es de fiar
REGISTRO = CONSTRUIDO / "construccion.log"


def limpia_lo_interrumpido(consola: Console) -> None:
    """Borra las páginas de una construcción que no terminó y las cachés de otras versiones."""
    if EN_CURSO.exists():
        consola.print("La última construcción no terminó bien: se rehacen las páginas.")
        for carpeta in (HTML, CONSTRUIDO / ".doctrees"):
            shutil.rmtree(carpeta, ignore_errors=True)
    for vieja in (CONSTRUIDO / ".jupyter_cache").glob("*"):
        if vieja.name != huella():
            shutil.rmtree(vieja, ignore_errors=True)


def comprueba_espacio() -> None:
    """Avisa antes de empezar si en el disco no cabe el libro."""
    libres = shutil.disk_usage(RAIZ).free / 2**20
    if libres < 300:
        raise SystemExit(f"Quedan {libres:.0f} MiB libres y hacen falta 300: libera espacio y vuelve a empezar.")


def paginas(consola: Console) -> None:
    """Llama a Jupyter Book con los avisos como errores; enseña lo que salió mal."""
    programa = "from jupyter_book.cli.main import main; main()"   # el paquete no se puede llamar con -m
    orden = [sys.executable, "-c", programa, "build", str(LIBRO), "-W", "-n", "--keep-going"]
    entorno = {**os.environ, "PYTHONUTF8": "1"}
    with consola.status("Construyendo las páginas…"), REGISTRO.open("w", encoding="utf-8") as registro:
        codigo = subprocess.run(orden, stdout=registro, stderr=subprocess.STDOUT, env=entorno, cwd=RAIZ).returncode
    if codigo or not (HTML / "index.html").exists():
        registro = re.sub(r"\x1b\[[\d;]*m", "", REGISTRO.read_text(encoding="utf-8", errors="replace"))
        lineas = registro.splitlines()
        avisos = [x for x in lineas if re.search(r"WARNING|ERROR|rror:|exception:", x)] or lineas[-30:]
        consola.print("\n".join(avisos), markup=False, highlight=False)
        raise SystemExit(f"El libro no se ha construido: {len(avisos)} líneas de aviso. Todo el registro: {REGISTRO}")


def cuadernos() -> None:
    """Genera los ``.ipynb`` para descargar, dentro del sitio."""
    if subprocess.run([sys.executable, str(RAIZ / "tools" / "cuadernos.py")], cwd=RAIZ).returncode:
        raise SystemExit("El libro no se ha construido: faltan cuadernos por lo que dicen las líneas anteriores.")


def main() -> None:
    """Punto de entrada."""
    opciones = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    opciones.add_argument("--ejecutados", type=Path, help="carpeta con los cuadernos que nbval ha ejecutado")
    elegido = opciones.parse_args()
    consola = Console()
    comprueba_espacio()
    CONSTRUIDO.mkdir(exist_ok=True)
    limpia_lo_interrumpido(consola)
    EN_CURSO.touch()
    if elegido.ejecutados:
        vuelca(elegido.ejecutados, consola)
    try:
        hechos = ejecuta_pendientes(capitulos(), consola)
    except CapituloRoto as error:
        consola.print(str(error), markup=False, highlight=False)
        raise SystemExit("El libro no se ha construido: hay celdas que fallan.") from error
    consola.print(f"Ejecutados: {', '.join(hechos)}." if hechos else "Ningún capítulo ha cambiado: nada que ejecutar.")
    paginas(consola)
    cuadernos()
    EN_CURSO.unlink()
    consola.print(f"\n[bold]El libro está en[/bold] {HTML / 'index.html'}", soft_wrap=True)
    consola.print("Para leerlo: [bold]make ver[/bold] (o abre ese fichero en un navegador).")


if __name__ == "__main__":
    main()
