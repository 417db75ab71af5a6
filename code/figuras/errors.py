"""Una línea en español bajo los errores de llamada de un cuaderno: qué falta, sobra o se repite."""

from __future__ import annotations

import re

_LINES = {
    r"(\S+)\(\) missing 1 required (?:positional|keyword-only) argument: (.+)": (
        "a {0} le falta {1}"
    ),
    r"(\S+)\(\) missing \d+ required (?:positional|keyword-only) arguments: (.+)": (
        "a {0} le faltan {1}"
    ),
    r"(\S+)\(\) got an unexpected keyword argument ('\w+')": "{0} no tiene ningún argumento {1}",
    r"(\S+)\(\) got multiple values for (?:keyword )?argument ('\w+')": (
        "{1} llega dos veces a {0}: por su sitio y por su nombre"
    ),
    r"(\S+)\(\) takes (?:from \d+ to )?(\d+) positional arguments? but (\d+) .*": (
        "{0} admite {1} sin nombre, contando self si es un método, y llegan {2}"
    ),
}


def in_spanish(message: str) -> str | None:
    """Lo que dice Python de una llamada que no casa con la firma; ``None`` si dice otra cosa."""
    for pattern, line in _LINES.items():
        found = re.match(pattern, message)
        if found:
            name, *rest = found.groups()
            title = name.removesuffix(".__init__")
            rest = [re.sub(",? and ", ", ", part).replace("'", "`") for part in rest]
            return f"En español: {line.format(f'`{title}`', *rest)}."
    return None


def install() -> None:
    """Pone esa línea en el cuaderno que se ejecuta; fuera de un cuaderno no hace nada."""
    from IPython import get_ipython

    shell = get_ipython()
    if shell is not None:
        shell.set_custom_exc((TypeError,), _show)


def _show(shell, kind, error, trace, tb_offset=None) -> None:
    line = in_spanish(str(error))
    if line is not None and line not in getattr(error, "__notes__", ()):
        error.add_note(line)
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
