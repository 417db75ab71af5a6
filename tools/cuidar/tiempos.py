"""Apunta en ``book/tiempos.json`` los segundos de cada capítulo, para que el libro los diga.

``python tools tiempos [CAPÍTULO]``

Son de procesador, con un hilo, y de la última ejecución guardada en la caché; con un capítulo, los
de los demás quedan como están. Otro trabajo en los mismos núcleos también los alarga: se usa con la
máquina sin nada más que hacer.
"""

from __future__ import annotations

from procesos import principal

# isort: split
# Lo demás tarda en importarse, y Ctrl+C se atiende ya.
import argparse
import json
from pathlib import Path

from paginas.capitulos import LIBRO, Capitulo, abre_cache, capitulos, elegidos, en_cache

TIEMPOS = LIBRO / "tiempos.json"


def medido(capitulo: Capitulo) -> float:
    """Los segundos de la última ejecución de un capítulo."""
    cache, cuaderno = abre_cache(capitulo), capitulo.cuaderno()
    if not en_cache(cache, cuaderno):
        raise SystemExit(
            f"{capitulo.nombre} no está ejecutado: construye antes el libro con «make libro»."
        )
    return round(cache.match_cache_notebook(cuaderno).data["execution_seconds"], 1)


def apunta(lista: list[Capitulo], vigentes: list[str], fichero: Path = TIEMPOS) -> str:
    """Cambia los tiempos de ``lista`` y quita los de las páginas que ya no están entre las
    vigentes.
    """
    antes = json.loads(fichero.read_text(encoding="utf-8")) if fichero.exists() else {}
    nuevos = {capitulo.clave: medido(capitulo) for capitulo in lista}
    juntos = {**antes, **nuevos}
    todos = {
        clave: juntos[clave] for clave in dict.fromkeys([*vigentes, *nuevos]) if clave in juntos
    }
    texto = json.dumps(todos, indent=2) + "\n"
    fichero.write_text(texto, encoding="utf-8")
    return texto


def main() -> None:
    """Punto de entrada."""
    opciones = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    opciones.add_argument("capitulo", nargs="?", help="número o nombre de la página; sin él, todas")
    elegido = opciones.parse_args().capitulo
    print(apunta(elegidos(elegido), [c.clave for c in capitulos()]), end="")


if __name__ == "__main__":
    principal(main)
