"""Lo que necesita un capítulo: empezar siempre igual y llevar números al texto.

Solo hace falta IPython: los capítulos funcionan igual en Jupyter, VS Code y Colab, sin las
herramientas del libro.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import torch

from atento import calls, rng, shapes
from atento.plots import format_number, use_style

__all__ = ["format_number", "glue", "start"]

_RECORD = "application/papermill.record/"
_glued: dict[str, tuple[str, str | None]] = {}


def start(seed: int = 0) -> None:
    """Prepara el cuaderno: siembra, comprueba formas en cada llamada y fija el estilo.

    El estilo es el de las figuras y el de los números que se imprimen. Deja a mano ``%atento``, que
    corrige ejercicios en el cuaderno. Se llama una vez, en la primera celda. Volver a llamarla
    olvida los valores publicados con :func:`glue`.

    Errores: los de :func:`atento.rng.seed_all`.
    """
    _glued.clear()
    rng.seed_all(seed)
    shapes.enable()
    use_style()
    torch.set_printoptions(precision=4, sci_mode=False, linewidth=100)
    np.set_printoptions(precision=4, suppress=True, linewidth=100)
    _load_grader()


def glue(key: str, value: Any, spec: str = "") -> None:
    """Publica ``value`` para que el texto lo diga con ``{glue:text}`` y esa clave.

    ``key`` es una clave con el prefijo del capítulo, ``"c04-…"``; ``value`` y ``spec``, lo que
    acepta :func:`format_number`. No deja nada a la vista en el cuaderno.

    Errores: ``ValueError`` si la clave no sirve o si otra celda ya publicó un valor distinto con
    ella.
    """
    if not isinstance(key, str) or not re.fullmatch(r"[a-z]+\d*(-[a-z0-9]+)+", key):
        raise ValueError(
            "key: se esperaba el prefijo del capítulo y minúsculas, como «c04-error-maximo»; "
            f"llegó {key!r}."
        )
    text = format_number(value, spec)
    cell = _current_cell()
    before, before_cell = _glued.get(key, (text, cell))
    if before != text and (cell is None or cell != before_cell):
        raise ValueError(
            f"key: se esperaba un valor por clave, y «{key}» ya vale «{before}»; llegó «{text}». "
            "Si se está cambiando la celda a mano, basta ejecutar antes notebook.start()."
        )
    _glued[key] = (text, cell)

    from IPython import get_ipython
    from IPython.display import display

    if get_ipython() is not None:
        # Entre comillas, para que «0.50» no pierda el cero; el HTML vacío calla a los programas
        # que avisan de los tipos que no conocen.
        display(
            {f"{_RECORD}text/plain": repr(text), "text/html": ""},
            raw=True,
            metadata={"scrapbook": {"name": key, "mime_prefix": _RECORD}},
        )


def _load_grader() -> None:
    """Deja a mano la orden ``%atento``; fuera de un cuaderno no hace nada."""
    from IPython import get_ipython

    if get_ipython() is not None:
        get_ipython().extension_manager.load_extension("calificador.cuaderno")


def _current_cell() -> str | None:
    """Identificador de la celda que se ejecuta, si el programa lo dice."""
    from IPython import get_ipython

    try:
        return get_ipython().kernel.get_parent("shell")["metadata"].get("cellId")
    except (AttributeError, KeyError, TypeError):
        return None


calls.explain(__name__)
