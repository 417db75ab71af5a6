"""Lo que se ve en el terminal. Ningún texto ajeno se interpreta: ni como marcas de ``rich`` ni como
emojis.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext

from rich.console import Console
from rich.table import Table
from rich.text import Text

from calificador.correccion.resultado import (
    FALLADO,
    PARCIAL,
    PENDIENTE,
    SIN_ENTREGA,
    SUPERADO,
    Resultado,
)  # fmt: skip
from calificador.uso.identidad import visible

MARCAS = {
    SUPERADO: ("✓", "green"), PARCIAL: ("◐", "yellow"), FALLADO: ("✗", "red"), PENDIENTE: ("·", ""),
    SIN_ENTREGA: ("·", ""),
}  # fmt: skip
LINEAS_DICHAS = 20
Trozo = str | tuple[str, str]

consola = Console(markup=False, emoji=False, highlight=False)
errores = Console(stderr=True, markup=False, emoji=False, highlight=False)


def espera(texto: str) -> AbstractContextManager:
    """Lo que se ve mientras se trabaja, solo en un terminal.

    Un cuaderno pide color sin serlo, y en él quedaría escrita cada vuelta.
    """
    return consola.status(texto) if sys.stdout.isatty() else nullcontext()


def linea(*trozos: Trozo) -> None:
    """Una línea que no se parte: así se puede leer también desde un fichero."""
    consola.print(Text.assemble(*trozos), soft_wrap=True)


def aviso(texto: str) -> None:
    """Algo que conviene saber y no impide seguir."""
    linea(("Aviso:", "yellow"), " ", visible(texto, 600))


def detalle(resultados: list[Resultado]) -> None:
    """Cada ejercicio con sus propiedades, su pista y lo que su código escribió."""
    for r in resultados:
        linea(
            MARCAS[r.estado],
            " ",
            (r.id, "bold"),
            f" {r.nombre}: {r.puntos}/{r.maximo} puntos ({r.estado})",
        )
        comun = r.mensaje and all(p.mensaje == r.mensaje for p in r.propiedades)
        if r.estado in (PENDIENTE, SIN_ENTREGA) or comun:
            linea(f"    {r.mensaje}")
        else:
            for p in r.propiedades:
                marca = MARCAS[SUPERADO if p.superada else FALLADO]
                linea(
                    "    ",
                    marca,
                    f" {p.nombre} {p.puntos}/{p.maximo}",
                    f": {p.mensaje}" if p.mensaje else "",
                )
        if r.pista:
            linea("    ", ("Pista:", "cyan"), f" {r.pista}")
        _bloque("El caso más pequeño que falla:", r.caso)
        _bloque("Tu código escribió:", r.dicho)


def _bloque(rotulo: str, texto: str) -> None:
    """Varias líneas ajenas bajo un rótulo; nada si no las hay."""
    if not texto.strip():
        return
    lineas = texto[:20_000].splitlines()
    linea("    ", (rotulo, "cyan"))
    for una in lineas[:LINEAS_DICHAS]:
        linea(f"      {visible(una, 200)}")
    if len(lineas) > LINEAS_DICHAS:
        linea(f"      … y {len(lineas) - LINEAS_DICHAS} líneas más")


def tabla(resultados: list[Resultado]) -> None:
    """El progreso, capítulo a capítulo."""
    if not resultados:
        linea("Todavía no hay nada que corregir: ejecuta «atento empezar N».")
        return
    cuadro = Table(title="Progreso")
    for columna in ("Capítulo", "Superados", "Puntos", ""):
        cuadro.add_column(columna, justify="left" if not columna else "right")
    for capitulo in dict.fromkeys(r.id.split(".")[0] for r in resultados):
        suyos = [r for r in resultados if r.id.split(".")[0] == capitulo]
        superados = sum(r.estado == SUPERADO for r in suyos)
        marcas = Text(" ").join(Text(*MARCAS[r.estado]) for r in suyos)
        puntos = f"{sum(r.puntos for r in suyos)}/{sum(r.maximo for r in suyos)}"
        cuadro.add_row(capitulo, f"{superados}/{len(suyos)}", puntos, marcas)
    consola.print(cuadro)


def siguiente(resultados: list[Resultado]) -> None:
    """Qué viene ahora: primero lo empezado, luego lo pendiente."""
    for estados in ((PARCIAL, FALLADO), (PENDIENTE, SIN_ENTREGA)):
        for r in resultados:
            if r.estado in estados:
                capitulo = r.id.split(".")[0]
                orden = (
                    f"atento empezar {capitulo}"
                    if r.estado == SIN_ENTREGA
                    else f"atento calificar {r.id}"
                )
                pista = f" Pista: {r.pista}" if r.pista and len(resultados) > 1 else ""
                linea(f"Siguiente: {r.id} {r.nombre} («{orden}»).{pista}")
                return
    if resultados:
        linea(("Todo superado.", "green"))
