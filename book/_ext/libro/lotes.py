"""Las cuentas de un lote grande, en la guía docente: con los segundos medidos y no con otros.

``{cuentas-de-lote}`` lee ``conjunto.json``, que escribe ``benchmarks/conjunto.py``, y dice cuánto
tardan tantas personas por tantos capítulos según los núcleos que corrijan.
"""

from __future__ import annotations

import json
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from libro.temario import _tabla

NUCLEOS = (1, 8, 64, 256)


def en_palabras(segundos: float) -> str:
    """Segundos, minutos, horas o días, con dos cifras."""
    for cuantos, unidad in ((86_400, "días"), (3600, "horas"), (60, "minutos"), (1, "segundos")):
        if segundos >= 2 * cuantos or unidad == "segundos":
            valor = segundos / cuantos
            return f"{valor:.2g} {unidad}" if valor < 10 else f"{valor:.0f} {unidad}"
    raise ValueError(segundos)


def miles(numero: int) -> str:
    """Un entero con espacios finos entre los millares."""
    return f"{numero:_}".replace("_", "\u202f")


def cuentas(medido: dict, personas: int, capitulos: int) -> list[tuple[str, str]]:
    """Núcleos → cuánto se tarda, si todos corrigen a la vez y arrancan una vez."""
    total = personas * capitulos * medido["por_capitulo"]
    return [(str(n), en_palabras(total / n + medido["arranque"])) for n in NUCLEOS]


class CuentasDeLote(SphinxDirective):
    """La frase con lo medido y la tabla con la cuenta."""

    option_spec = {
        "personas": directives.positive_int,
        "capitulos": directives.positive_int,
    }

    def run(self) -> list[nodes.Node]:
        fichero = Path(self.env.app.srcdir) / "conjunto.json"
        self.env.note_dependency(str(fichero))
        medido = json.loads(fichero.read_text("utf8"))
        personas, capitulos = self.options["personas"], self.options["capitulos"]
        milesimas = 1000 * medido["por_capitulo"]
        uno, dos = (medido["trabajadores"][n]["pared"] for n in ("1", "2"))
        frase = (
            f"El capítulo de una persona cuesta, de media, {milesimas:.0f}\u00a0ms de procesador"
            f" (medido con {medido['capitulos_medidos']} capítulos), y cada"
            f" trabajador, {medido['arranque']:.0f}\u00a0s al empezar. Un mismo lote tardó"
            f" {uno:.0f}\u00a0s con un trabajador y {dos:.0f} con dos; la cuenta supone que con más"
            f" sigue así. {miles(personas)} personas por {capitulos} capítulos son"
            f" {miles(personas * capitulos)} correcciones:"
        )
        filas = [
            [nodes.paragraph("", texto) for texto in fila]
            for fila in cuentas(medido, personas, capitulos)
        ]
        cabecera = ["núcleos que corrigen", "tiempo"]
        return [nodes.paragraph("", frase), _tabla(cabecera, filas, "cuentas-de-lote")]


def setup(app) -> None:
    """Conecta la directiva."""
    app.add_directive("cuentas-de-lote", CuentasDeLote)
