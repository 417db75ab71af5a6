"""Los ficheros del libro que leen las reglas de la casa; los lee ``libro.lector``, como todo lo
demás.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

RAIZ = Path(__file__).resolve().parents[2]
LIBRO = RAIZ / "book"
sys.path.insert(0, str(LIBRO / "_ext"))

from libro.lector import Celda, Directiva, Documento, Linea, analiza, limpia  # noqa: E402

__all__ = [
    "LIBRO",
    "RAIZ",
    "Celda",
    "Directiva",
    "Documento",
    "Linea",
    "analiza",
    "capitulos",
    "es_capitulo",
    "etiquetas_de",
    "informe",
    "lee",
    "limpia",
    "numero_de",
    "paginas",
    "publicados",
    "relativa",
]


def lee(ruta: Path) -> Documento:
    """Lee un fichero MyST del disco."""
    return analiza(ruta.read_text(encoding="utf-8"))


def paginas() -> list[Path]:
    """Todos los ficheros MyST del libro."""
    fuera = {"_build", "_ext", "_static", "_templates", "locale", "extra", "datos"}
    return sorted(p for p in LIBRO.rglob("*.md") if not fuera & set(p.relative_to(LIBRO).parts))


def es_capitulo(ruta: Path) -> bool:
    """Dice si un fichero es un capítulo numerado."""
    return bool(re.match(r"\d\d-", ruta.name)) and bool(re.match(r"[1-9]-", ruta.parent.name))


def numero_de(ruta: Path) -> int:
    """Número del capítulo; 0 si es un preliminar."""
    return int(ruta.name[:2]) if es_capitulo(ruta) else 0


def capitulos() -> list[Path]:
    """Los capítulos numerados que hay en el árbol."""
    return [p for p in paginas() if es_capitulo(p)]


def publicados() -> dict[int, list[Path]]:
    """Capítulos que están en el índice del libro y tienen fichero; el 0 son los preliminares."""
    indice = (
        (LIBRO / "_toc.yml").read_text(encoding="utf-8") if (LIBRO / "_toc.yml").is_file() else ""
    )
    salida: dict[int, list[Path]] = {}
    for nombre in re.findall(r"file:\s*(\S+)", indice):
        ruta = LIBRO / f"{nombre}.md"
        if ruta.is_file() and (es_capitulo(ruta) or ruta.parent.name.startswith("0-")):
            salida.setdefault(numero_de(ruta), []).append(ruta)
    return salida


def relativa(ruta: Path) -> str:
    """Ruta desde la raíz del repositorio, para los mensajes."""
    try:
        return str(ruta.relative_to(RAIZ))
    except ValueError:
        return ruta.name


def informe(faltas: list[str]) -> str:
    """Las faltas, una por línea, para el mensaje de un ``assert``."""
    return f"{len(faltas)} falta(s):\n" + "\n".join(faltas)


def etiquetas_de(texto: str) -> set[str]:
    """Etiquetas que define un fichero: anclas, opciones ``label``/``name`` y figuras."""
    doc = analiza(texto)
    anclas = set(re.findall(r"^\s*\(([^()\s]+)\)=\s*$", texto, re.M))
    opciones = {
        d.opciones[k] for d in doc.directivas for k in ("label", "name") if d.opciones.get(k)
    }
    figuras = {d.argumento for d in doc.llamadas("figura") if d.argumento}
    return anclas | opciones | figuras
