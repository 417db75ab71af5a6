"""Qué páginas ha mirado ya axe tal como están.

Mirarlas todas, en claro y en oscuro, son minutos, y casi todas son las de la última vez. De las que
pasan se guarda una huella (``vistas.json``, con ``--apunta``): lo que hay en la página, salvo las
cifras y los trazos, que cambian de una máquina a otra, y lo que comparte con las demás: estilos,
guiones, navegador, axe y cómo se pregunta. La que tiene la suya no se vuelve a mirar, salvo una de
cada tantas, que con cada confirmación son otras. ``ATENTO_ENTERO=1`` las mira todas.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path

from rotacion import entero, una_de_cada, vuelta

AQUI = Path(__file__).resolve().parent
FICHERO = AQUI / "vistas.json"
CADA = 8  # de las selladas, cuántas por cada una que se mira
COMO = ("accesible.py", "aligerar.js", "podar.js")
CUERPO = re.compile(r"<main\b.*</main>", re.DOTALL)
DIBUJO = re.compile(r' (?:d|points)="[^"]*"|\d+(?:\.\d+)?(?:e-?\d+)?')  # trazos y cifras
DATOS = {"language_data.js", "documentation_options.js", "translations.js"}  # del buscador


def comun(sitio: Path, navegador: str) -> str:
    """La huella de lo que comparten todas las páginas."""
    resumen = hashlib.sha256(f"{navegador}\n{metadata.version('axe-playwright-python')}\n".encode())
    propios = sorted(p for p in (sitio / "_static").rglob("*") if p.suffix in (".css", ".js"))
    for ruta in (*propios, *(AQUI / nombre for nombre in COMO)):
        if ruta.name not in DATOS:
            resumen.update(ruta.name.encode() + b"\0" + ruta.read_bytes())
    return resumen.hexdigest()


def huella(html: str, de_todas: str) -> str:
    """La de una página, sin sus cifras, sus trazos ni lo que la rodea (menús, cabecera)."""
    cuerpo = CUERPO.search(html)
    texto = DIBUJO.sub("0", cuerpo[0] if cuerpo else html)
    return hashlib.sha256(f"{de_todas}\n{texto}".encode()).hexdigest()[:16]


def selladas() -> dict[str, str]:
    """La huella de cada página con la que pasó."""
    return json.loads(FICHERO.read_text("utf-8")) if FICHERO.exists() else {}


def por_mirar(huellas: Mapping[str, str], guardadas: Mapping[str, str]) -> set[str]:
    """Las que no están selladas y, de las demás, las que tocan."""
    if entero():
        return set(huellas)
    conocidas = [p for p, suya in sorted(huellas.items()) if guardadas.get(p) == suya]
    tocan = una_de_cada(CADA, conocidas, lambda _: True, vuelta())
    return set(huellas) - set(conocidas) | set(tocan)


def guarda(
    huellas: Mapping[str, str], pasan: Iterable[str], fallan: Iterable[str], hay: Iterable[str]
) -> None:
    """Sella las que pasan; pierden el sello las que fallan y las que ya no están en el libro."""
    todas = selladas() | {pagina: huellas[pagina] for pagina in pasan}
    quedan = sorted((todas.keys() & set(hay)) - set(fallan))
    lineas = (f'"{p}": "{todas[p]}"' for p in quedan)
    FICHERO.write_text("{\n" + ",\n".join(lineas) + "\n}\n", encoding="utf-8")
