"""Ejecuta los capítulos que han cambiado, en paralelo y con un hilo cada uno, y los guarda en la
caché.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path

import nbformat
import psutil
from jupyter_client import KernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from paginas.capitulos import Capitulo, abre_cache, capitulos, en_cache, guarda_en_cache
from paginas.fallos import Fallo, guarda, localiza, olvida

LIMITE_CELDA = 600  # segundos
LIMITE_ARRANQUE = 60
LIMITE_CAPITULO = 1800
LIMITE_SALIDAS = 60  # por lo último que escribió una celda que ya ha respondido
LIMITE_CIERRE = 10
HILOS = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class CapituloRoto(RuntimeError):
    """Una celda ha fallado o no termina; el mensaje dice cuál y por qué.

    ``fallos`` son sus fichas, y ``cuaderno``, lo que se llegó a ejecutar si es de un solo capítulo.
    """

    def __init__(
        self,
        mensaje: str,
        fallos: Sequence[Fallo] = (),
        cuaderno: nbformat.NotebookNode | None = None,
    ) -> None:
        super().__init__(mensaje)
        self.fallos, self.cuaderno = list(fallos), cuaderno


class Cortado(RuntimeError):
    """Se ha pedido dejar de ejecutar."""


def barra(consola: Console) -> Progress:
    """La barra de progreso de las construcciones."""
    columnas = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("celdas"),
        TimeElapsedColumn(),
    )
    return Progress(*columnas, console=consola)


def _cliente(
    capitulo: Capitulo,
    cuaderno: nbformat.NotebookNode,
    avance: Callable[[], None],
    empieza: Callable[[int], None] = lambda indice: None,
) -> NotebookClient:
    return NotebookClient(
        cuaderno,
        timeout=LIMITE_CELDA,
        startup_timeout=LIMITE_ARRANQUE,
        # De serie espera 4 s las salidas y, si no llegan, sigue sin ellas: se guardarían a medias.
        iopub_timeout=LIMITE_SALIDAS,
        raise_on_iopub_timeout=True,
        shutdown_kernel="immediate",
        kernel_name="python3",
        record_timing=False,  # entraría en la huella de la caché
        extra_arguments=["--IPKernelApp.log_level=40"],  # los avisos del núcleo no son del capítulo
        resources={"metadata": {"path": str(capitulo.ruta.parent)}},
        on_cell_execute=lambda cell, cell_index: empieza(cell_index),
        on_cell_executed=lambda **_: avance(),
    )


async def _con_plazo(cliente: NotebookClient, corte: threading.Event) -> None:
    """Ejecuta el cuaderno; deja de esperar si vence el plazo del capítulo o alguien pide el corte.

    Lo que acaba mientras tanto vale: el plazo y el corte son para lo que sigue en marcha.
    """
    tarea = asyncio.ensure_future(cliente.async_execute())
    fin = time.monotonic() + LIMITE_CAPITULO
    while not tarea.done():
        await asyncio.wait([tarea], timeout=0.5)
        if not tarea.done() and (corte.is_set() or time.monotonic() > fin):
            await _abandona(cliente, tarea)
            raise Cortado(
                "interrumpido" if corte.is_set() else f"el capítulo pasa de {LIMITE_CAPITULO} s"
            )
    tarea.result()


async def _abandona(cliente: NotebookClient, tarea: asyncio.Future) -> None:
    """Deja una ejecución a medias y acaba con su núcleo, sin esperar a ninguno de los dos más de
    ``LIMITE_CIERRE``. Lo que falle al cerrar no tapa la razón por la que se cierra.
    """
    tarea.cancel()
    await asyncio.wait([tarea], timeout=LIMITE_CIERRE)
    pendientes = [tarea]
    if cliente.km is not None:
        cierre = asyncio.ensure_future(cliente.km.shutdown_kernel(now=True))
        await asyncio.wait([cierre], timeout=LIMITE_CIERRE)
        pendientes.append(cierre)
    for una in pendientes:
        if una.done() and not una.cancelled():
            una.exception()  # leída: si no, asyncio la enseña con su traza al acabar


def ejecuta(
    capitulo: Capitulo,
    avance: Callable[[], None] = lambda: None,
    corte: threading.Event | None = None,
) -> tuple[nbformat.NotebookNode, float]:
    """Ejecuta un capítulo en un núcleo propio; devuelve ``(cuaderno, segundos)``, de procesador.

    Errores: :class:`CapituloRoto` si una celda falla o pasa de su plazo, o si el núcleo no arranca
    o muere.
    """
    cuaderno, empezadas, gasto = capitulo.cuaderno(), [], [0.0]

    def avanza() -> None:
        gasto.append(gastado(cliente.km))
        avance()

    cliente = _cliente(capitulo, cuaderno, avanza, empezadas.append)
    try:
        asyncio.run(_con_plazo(cliente, corte or threading.Event()))
    except (TimeoutError, RuntimeError, CellExecutionError) as error:
        que, detalle = _que_ha_pasado(error)
        fallo = localiza(capitulo, cuaderno, empezadas[-1] if empezadas else None, que)
        queja = f"{capitulo.ruta.name}: {que}.{detalle}"
        raise CapituloRoto(queja, [fallo], cuaderno) from error
    finally:
        atexit.unregister(cliente._cleanup_kernel)  # ya no hay núcleo que cerrar al salir
    return cuaderno, max(gasto)


def gastado(km: KernelManager | None) -> float:
    """Los segundos de procesador de un núcleo hasta ahora, que no dependen de lo que haga la
    máquina a la vez; 0 si ya no está.
    """
    try:
        return sum(psutil.Process(km.provisioner.pid).cpu_times()[:2])
    except (AttributeError, psutil.Error):
        return 0.0


def _que_ha_pasado(error: Exception) -> tuple[str, str]:
    """Por qué se ha quedado a medias un capítulo, y lo que lo explica debajo."""
    if isinstance(error, Cortado):
        return str(error), ""
    if isinstance(error, CellExecutionError):
        return "ha fallado una celda", f"\n{error}"
    if isinstance(error, DeadKernelError):
        return "el núcleo ha muerto en una celda (¿memoria?)", f"\n{error}"
    if isinstance(error, TimeoutError):
        return _que_vencio(error), f"\n{error}"
    return (
        f"el núcleo de Jupyter no arranca en {LIMITE_ARRANQUE} s o ha muerto al arrancar",
        f"\n{error}\nPrueba «.venv/bin/python -m ipykernel_launcher --help».",
    )


def _que_vencio(error: TimeoutError) -> str:
    """Cuál de los dos plazos de una celda ha vencido: el suyo o el de sus salidas."""
    if "IOPub" in str(error):
        return f"las salidas de una celda no llegan en {LIMITE_SALIDAS} s"
    return f"una celda pasa de {LIMITE_CELDA} s"


def numero_de_celdas(cuaderno: nbformat.NotebookNode) -> int:
    """Celdas de código del cuaderno."""
    return sum(celda.cell_type == "code" for celda in cuaderno.cells)


def ejecuta_pendientes(lista: list[Capitulo], consola: Console) -> list[str]:
    """Ejecuta los capítulos que no están en la caché; devuelve los nombres de los ejecutados.

    Cada capítulo entra en la caché entero y al terminar: una interrupción solo pierde los que
    estaban a medias. Lo que se pudo hacer de los que fallan queda aparte (:mod:`fallos`).

    Errores: :class:`CapituloRoto`, con todos los que han fallado.
    """
    os.environ.update(HILOS)
    olvida(lista)
    pendientes = [c for c in lista if not en_cache(abre_cache(c), c.cuaderno())]
    corte, rotos = threading.Event(), []
    with barra(consola) as progreso, ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as grupo:
        futuros: dict[Future, Capitulo] = {}
        try:  # desde que hay uno en marcha, una interrupción tiene que llegarle
            for capitulo in pendientes:
                celdas = numero_de_celdas(capitulo.cuaderno())
                tarea = progreso.add_task(capitulo.nombre, total=celdas)
                futuro = grupo.submit(ejecuta, capitulo, lambda t=tarea: progreso.advance(t), corte)
                futuros[futuro] = capitulo
            rotos = [roto for f in as_completed(futuros) if (roto := _recoge(f, futuros[f]))]
        except BaseException:
            corte.set()
            grupo.shutdown(cancel_futures=True)
            raise
    if rotos:
        todos = [fallo for roto in rotos for fallo in roto.fallos]
        todos.sort(key=lambda fallo: fallo.pagina)
        raise CapituloRoto("\n\n".join(map(str, rotos)), todos)
    return [c.nombre for c in pendientes]


def _recoge(futuro: Future, capitulo: Capitulo) -> CapituloRoto | None:
    """Guarda un capítulo ejecutado; si no ha salido, lo que se pudo hacer, y devuelve el error."""
    try:
        cuaderno, segundos = futuro.result()
    except CapituloRoto as error:
        guarda(capitulo, error.cuaderno, error.fallos[0], str(error))
        return error
    guarda_en_cache(abre_cache(capitulo), capitulo, cuaderno, segundos)
    return None


def vuelca(carpeta: Path, consola: Console, lista: list[Capitulo] | None = None) -> list[str]:
    """Pasa a la caché los cuadernos que nbval acaba de ejecutar en ``carpeta``; devuelve sus
    nombres.
    """
    volcados = []
    for capitulo in capitulos() if lista is None else lista:
        origen = carpeta / f"{capitulo.nombre}.ipynb"
        if not origen.exists():
            continue
        ejecutado = nbformat.read(origen, as_version=4)
        cuaderno = capitulo.cuaderno()
        codigo = [c for c in cuaderno.cells if c.cell_type == "code"]
        hechas = [c for c in ejecutado.cells if c.cell_type == "code"]
        if [c.source for c in codigo] != [c.source for c in hechas]:
            consola.print(
                f"[yellow]{capitulo.nombre}: la referencia no es la del capítulo; se ejecutará de"
                " nuevo."
            )
            continue
        for destino, hecha in zip(codigo, hechas, strict=True):
            destino.outputs, destino.execution_count = hecha.outputs, hecha.execution_count
        guarda_en_cache(
            abre_cache(capitulo), capitulo, cuaderno, ejecutado.metadata.get("segundos", 0.0)
        )
        volcados.append(capitulo.nombre)
    return volcados
