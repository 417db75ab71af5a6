"""``typer`` en español por sus propios medios: su catálogo de gettext y clases de orden y de
grupo."""

from __future__ import annotations

import gettext
import os
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup

OPCIONES, ORDENES = "[OPCIONES]", "ORDEN [ARGUMENTOS]…"


def prepara() -> None:
    """Elige el catálogo español. Se llama antes de que ``typer`` enseñe nada."""
    os.environ["LANGUAGE"] = "es"
    gettext.bindtextdomain("atento", str(Path(__file__).parent / "textos"))
    gettext.textdomain("atento")


class _EnEspanol:
    """La línea de uso y la opción ``--help``, que no están en el catálogo."""

    def get_usage(self, ctx: Any) -> str:
        """«Uso: …»."""
        return super().get_usage(ctx).replace("Usage: ", "Uso: ", 1)

    def get_help_option(self, ctx: Any) -> Any:
        """La opción de siempre, con su ayuda en español."""
        opcion = super().get_help_option(ctx)
        if opcion is not None:
            opcion.help = "Muestra esta ayuda."
        return opcion


class Orden(_EnEspanol, TyperCommand):
    """Una orden."""

    def __init__(self, *args: Any, **opciones: Any) -> None:
        super().__init__(*args, **{**opciones, "options_metavar": OPCIONES})


class Grupo(_EnEspanol, TyperGroup):
    """Un grupo de órdenes."""

    def __init__(self, *args: Any, **opciones: Any) -> None:
        opciones |= {"options_metavar": OPCIONES, "subcommand_metavar": ORDENES}
        super().__init__(*args, **opciones)


def error_de_uso(error: Exception) -> str:
    """Una línea en español para un error de uso de ``typer``, por lo que trae y no por su texto."""
    contexto, parametro = getattr(error, "ctx", None), getattr(error, "param", None)
    ayuda = f"; véase «{contexto.command_path} --help»" if contexto is not None else ""
    opcion = getattr(error, "option_name", None)
    if opcion is not None:
        desconocida = hasattr(error, "possibilities")
        return (
            f"no existe la opción {opcion}" if desconocida else f"a {opcion} le falta su valor"
        ) + ayuda
    if parametro is not None:
        opcion = parametro.opts[0]
        nombre = opcion if opcion.startswith("-") else parametro.metavar or opcion
        falta = "MissingParameter" in (c.__name__ for c in type(error).__mro__)
        return f"falta {nombre}{ayuda}" if falta else f"el valor de {nombre} no vale{ayuda}"
    mensaje = str(getattr(error, "message", ""))
    return (
        mensaje.partition(". Did")[0] if "orden" in mensaje else "la orden no se entiende"
    ) + ayuda
