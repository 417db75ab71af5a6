"""Lo que se mira en el Markdown de un cuaderno."""

import re


def prosa(cuaderno):
    """El Markdown del cuaderno, entero y sin sus bloques ni trozos de código."""
    texto = "\n\n".join(celda.source for celda in cuaderno.cells if celda.cell_type == "markdown")
    sin_codigo = re.sub(r"^[ >]*```.*?^[ >]*```$", "", texto, flags=re.DOTALL | re.MULTILINE)
    return texto, re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", sin_codigo)


def sobras(limpio):
    """Restos de MyST en el texto."""
    macros = r"\\(?:Q|K|V|q|k|vv|T|R|E|Var|Attn|softmax)(?![A-Za-z])"
    roles, vallas, dianas = (
        r"\{[a-z][\w:-]*\}`|\{[a-z]+:[a-z]+\}",
        r"^[ >]*:{3,}.*|^[ >]*`{3,}\{.*",
        r"^\([\w-]+\)=$",
    )
    return re.findall("|".join((roles, vallas, dianas, macros)), limpio, re.MULTILINE)
