"""Lo que no se prueba entero en cada confirmación, y a quién le toca en esta.

Lo que sale de un molde (páginas, robos) rota: con otra confirmación tocan otros.
``ATENTO_ENTERO=1`` lo prueba todo, con semillas de ese día, y ``ATENTO_BARRIDO=x`` repite lo que
tocó en la confirmación o en el día ``x``.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import subprocess
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import cache
from pathlib import Path

RAIZ = Path(__file__).resolve().parents[1]


def entero() -> bool:
    """Si se ha pedido probarlo todo."""
    return os.environ.get("ATENTO_ENTERO", "") not in ("", "0")


@cache
def origen() -> str:
    """De dónde sale lo que toca: del árbol confirmado, para que unir sin cambiar nada no lo cambie.
    Si se prueba todo, o sin git, de la fecha: cada semana se buscan semillas que nadie ha visto.
    """
    orden = ["git", "-C", str(RAIZ), "rev-parse", "--short=12", "HEAD^{tree}"]
    if pedido := os.environ.get("ATENTO_BARRIDO"):
        return pedido
    if entero():
        return date.today().isoformat()
    try:
        dicho = subprocess.run(orden, capture_output=True, text=True, timeout=30)
    except OSError:
        return date.today().isoformat()
    return dicho.stdout.strip() or date.today().isoformat()


def nuevas(cuantas: int) -> list[str]:
    """Unas semillas que no son las de siempre; quien falla las dice, y así se repiten."""
    return [f"ATENTO_BARRIDO={origen()} n.º {i}" for i in range(cuantas)]


def vuelta() -> int:
    """Un número que cambia de una confirmación a otra."""
    return int.from_bytes(hashlib.sha256(origen().encode()).digest()[:4], "big")


def reparto(
    cosas: Sequence[str],
    combinacion: object,
    todas: Sequence[object],
    desde: int,
    tope: int | None = None,
) -> list[str]:
    """Las cosas que le tocan a una combinación: a cada cosa, una sola; entre todas, todas. Con
    ``tope``, como mucho tantas. Al cambiar ``desde`` le tocan otras.
    """
    cada = max(len(todas), math.ceil(len(cosas) / tope) if tope else 1)
    puesto = list(todas).index(combinacion)
    return [x for i, x in enumerate(cosas) if entero() or (i + puesto + desde) % cada == 0]


def combinaciones(instalaciones: Iterable[str], niveles: Iterable[str]) -> list[tuple[str, str]]:
    """Cada instalación con cada jaula."""
    return list(itertools.product(instalaciones, niveles))


def una_de_cada(
    cada: int, cosas: Sequence[str], es_de_molde: Callable[[str], bool], desde: int
) -> list[str]:
    """De las cosas que salen de un molde, una de cada tantas; las demás, todas."""
    puestos = itertools.count(desde)
    return [x for x in cosas if entero() or not es_de_molde(x) or next(puestos) % cada == 0]
