"""Lo que necesita un capítulo: empezar siempre igual y llevar números al texto.

Solo hace falta IPython: los capítulos funcionan igual en Jupyter, VS Code y Colab, sin las
herramientas del libro.
"""

from __future__ import annotations

import ast
import html
import linecache
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import numpy as np
import torch

from atento import rng, shapes
from figuras import errors
from figuras.plots import format_number, use_style

__all__ = ["UNMET", "format_number", "glue", "on_this_machine", "start"]

UNMET = "application/vnd.atento.incumplido+json"
"""El tipo de la salida con que :func:`on_this_machine` dice lo que no se ha cumplido."""

_RECORD = "application/papermill.record/"
_glued: dict[str, tuple[str, str | None]] = {}


def start(seed: int = 0, *, threads: int | None = None) -> None:
    """Prepara el cuaderno: siembra, comprueba formas en cada llamada y fija hilos y estilo.

    ``threads`` son los hilos de PyTorch. Sin decirlo se usa uno, como al construir el libro, salvo
    que la variable de entorno ``OMP_NUM_THREADS`` diga otra cosa. Con los de serie, uno por núcleo,
    dos cuadernos abiertos a la vez en dos núcleos se estorban tanto que hacían la quinta parte del
    trabajo; además, con otros hilos se suma en otro orden y cambian las últimas cifras.

    El estilo es el de las figuras y el de los números que se imprimen. Deja a mano ``%atento``, que
    corrige ejercicios en el cuaderno, y añade una línea en español a lo que dice Python de una
    llamada con un argumento de más o de menos. Se llama una vez, en la primera celda. Volver a
    llamarla olvida los valores publicados con :func:`glue`.

    Errores: los de :func:`atento.rng.seed_all`.
    """
    _glued.clear()
    if threads is not None or "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(1 if threads is None else threads)
    rng.seed_all(seed)
    shapes.enable()
    use_style()
    torch.set_printoptions(precision=4, sci_mode=False, linewidth=100)
    np.set_printoptions(precision=4, suppress=True, linewidth=100)
    errors.install()
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


@contextmanager
def on_this_machine() -> Iterator[None]:
    """Lo que se comprueba de un modelo entrenado aquí, y que otra máquina podría no cumplir.

    Dentro van los ``assert``. Si uno falla, se dice cuál con un aviso y el cuaderno sigue por
    detrás del bloque; los demás errores pasan. Con la variable de entorno ``ATENTO_ESTRICTO=1``,
    que pone ``make prueba``, falla como cualquier otro.

    >>> with on_this_machine():
    ...     assert 1 + 1 == 2
    """
    try:
        yield
    except AssertionError as error:
        if os.environ.get("ATENTO_ESTRICTO") == "1":
            raise
        _warn(_comparison(error.__traceback__.tb_next), str(error))


def _comparison(where: TracebackType | None) -> str:
    """El código de lo que no se ha cumplido, en una línea; vacío si no se puede leer."""
    if where is None:
        return ""
    path, line = where.tb_frame.f_code.co_filename, where.tb_lineno
    source = "".join(linecache.getlines(path, where.tb_frame.f_globals))
    try:
        nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    except SyntaxError:  # una celda con órdenes de IPython
        return linecache.getline(path, line).strip()
    inside = [node for node in nodes if node.lineno <= line <= node.end_lineno]
    if not inside:
        return ""
    last = max(inside, key=lambda node: node.lineno)
    return ast.unparse(last.test if isinstance(last, ast.Assert) else last)


def _warn(what: str, message: str) -> None:
    """Dice lo que no se ha cumplido: un aviso en un cuaderno y una línea fuera de él."""
    from IPython import get_ipython
    from IPython.display import display

    said = " ".join(f"En esta máquina no se ha cumplido: {what or message}".split())
    if what and message:
        said += f" ({message})"
    if get_ipython() is None:
        print(said)
        return
    style = "border-left: 4px solid #b45309; padding: 0.3em 0.8em"
    text = f'<div class="incumplido" style="{style}">{html.escape(said)}</div>'
    unmet = {"comparacion": what, "mensaje": message}
    display({UNMET: unmet, "text/plain": said, "text/html": text}, raw=True)


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
