"""Ejecuta los capítulos que han cambiado, en paralelo y con un hilo cada uno, y los guarda en la caché."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from capitulos import Capitulo, abre_cache, en_cache, guarda_en_cache

LIMITE_CELDA = 600   # segundos
HILOS = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class CapituloRoto(RuntimeError):
    """Una celda ha fallado; el mensaje dice cuál y por qué."""


def barra(consola: Console) -> Progress:
    """La barra de progreso de las construcciones."""
    columnas = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("celdas"), TimeElapsedColumn()
    )
    return Progress(*columnas, console=consola)


def ejecuta(capitulo: Capitulo, avance=lambda: None):
    """Ejecuta un capítulo en un núcleo propio; devuelve ``(cuaderno, segundos)``."""
    cuaderno = capitulo.cuaderno()
    cliente = NotebookClient(
        cuaderno,
        timeout=LIMITE_CELDA,
        kernel_name="python3",
        record_timing=False,                           # entraría en la huella de la caché
        extra_arguments=["--IPKernelApp.log_level=40"],  # los avisos del núcleo no son del capítulo
        resources={"metadata": {"path": str(capitulo.ruta.parent)}},
        on_cell_executed=lambda **_: avance(),
    )
    inicio = time.perf_counter()
    try:
        cliente.execute()
    except CellExecutionError as error:
        raise CapituloRoto(f"{capitulo.ruta.name}: ha fallado una celda.\n{error}") from error
    except TimeoutError as error:
        raise CapituloRoto(f"{capitulo.ruta.name}: una celda pasa de {LIMITE_CELDA} s.\n{error}") from error
    return cuaderno, time.perf_counter() - inicio


def numero_de_celdas(cuaderno: nbformat.NotebookNode) -> int:
    """Celdas de código del cuaderno."""
    return sum(celda.cell_type == "code" for celda in cuaderno.cells)


def ejecuta_pendientes(lista: list[Capitulo], consola: Console) -> list[str]:
    """Ejecuta los capítulos que no están en la caché; devuelve los nombres de los ejecutados.

    Cada capítulo entra en la caché entero y al terminar: una interrupción solo pierde los que estaban a medias.
    """
    os.environ.update(HILOS)
    cache = abre_cache()
    pendientes = [c for c in lista if not en_cache(cache, c.cuaderno())]
    fallos: list[str] = []
    with barra(consola) as progreso, ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as grupo:
        futuros = {}
        for capitulo in pendientes:
            tarea = progreso.add_task(capitulo.nombre, total=numero_de_celdas(capitulo.cuaderno()))
            futuro = grupo.submit(ejecuta, capitulo, lambda t=tarea: progreso.advance(t))
            futuros[futuro] = capitulo
        for futuro in as_completed(futuros):
            try:
                cuaderno, segundos = futuro.result()
            except CapituloRoto as error:
                fallos.append(str(error))
            else:
                guarda_en_cache(cache, futuros[futuro], cuaderno, segundos)
    if fallos:
        raise CapituloRoto("\n\n".join(fallos))
    return [c.nombre for c in pendientes]


def vuelca(carpeta: Path, consola: Console) -> list[str]:
    """Pasa a la caché los cuadernos que nbval acaba de ejecutar en ``carpeta``; devuelve sus nombres."""
    from capitulos import capitulos

    cache, volcados = abre_cache(), []
    for capitulo in capitulos():
        origen = carpeta / f"{capitulo.nombre}.ipynb"
        if not origen.exists():
            continue
        ejecutado = nbformat.read(origen, as_version=4)
        cuaderno = capitulo.cuaderno()
        codigo = [c for c in cuaderno.cells if c.cell_type == "code"]
        hechas = [c for c in ejecutado.cells if c.cell_type == "code"]
        if [c.source for c in codigo] != [c.source for c in hechas]:
            consola.print(f"[yellow]{capitulo.nombre}: la referencia no es la del capítulo; se ejecutará de nuevo.")
            continue
        for destino, hecha in zip(codigo, hechas, strict=True):
            destino.outputs, destino.execution_count = hecha.outputs, hecha.execution_count
        guarda_en_cache(cache, capitulo, cuaderno, ejecutado.metadata.get("segundos", 0.0))
        volcados.append(capitulo.nombre)
    return volcados
