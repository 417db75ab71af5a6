"""Apunta en ``book/tiempos.json`` los segundos que tardó cada capítulo, para que el libro los diga.

    python tools/tiempos.py

Toma los de la última ejecución guardada en la caché. Se usa con la máquina sin más trabajo y en dos núcleos.
"""

import json

from capitulos import LIBRO, abre_cache, capitulos, en_cache


def main() -> None:
    """Punto de entrada."""
    cache = abre_cache()
    tiempos = {}
    for capitulo in capitulos():
        cuaderno = capitulo.cuaderno()
        if not en_cache(cache, cuaderno):
            raise SystemExit(f"{capitulo.nombre} no está ejecutado: construye antes el libro con «make libro».")
        tiempos[capitulo.clave] = round(cache.match_cache_notebook(cuaderno).data["execution_seconds"], 1)
    texto = json.dumps(tiempos, indent=2, ensure_ascii=False)
    (LIBRO / "tiempos.json").write_text(texto + "\n", encoding="utf-8")
    print(texto)


if __name__ == "__main__":
    main()
