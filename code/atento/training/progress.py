"""La barra de progreso: solo cuando hay una persona que la mire."""

import os
import sys
from typing import Any


def interactive() -> bool:
    """Hay una persona mirando: un terminal, o un cuaderno abierto.

    Al publicar, nadie puede responder a ``input``: así se distingue.
    """
    if os.environ.get("ATENTO_PROGRESS") in ("0", "1"):
        return os.environ["ATENTO_PROGRESS"] == "1"
    if "IPython" in sys.modules:
        shell = sys.modules["IPython"].get_ipython()
        if shell is not None and hasattr(shell, "kernel"):
            return bool(getattr(shell.kernel, "_allow_stdin", False))
    return sys.stderr is not None and sys.stderr.isatty()


def progress_bar(first: int, steps: int, progress: bool | None) -> Any:
    """La barra de ``steps`` pasos; sin ``progress``, solo si hay quien la mire."""
    from tqdm import tqdm

    shown = interactive() if progress is None else progress
    options = {"desc": "Entrenando", "unit": " pasos", "leave": False}
    return tqdm(total=steps, initial=first, disable=not shown, **options)
