"""Cómo se ejecutan los capítulos: una caché por capítulo y huella, y un hilo por proceso."""

from __future__ import annotations

import os
from pathlib import Path

from libro.huella import huella, ruta_cache
from libro.lector import analiza


def _preparar(app, config) -> None:
    # Los dígitos cambian con el número de hilos: uno, también si se construye sin los guiones.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("ATENTO_DEVICE", "cpu")
    os.environ.setdefault("PYTHONHASHSEED", "0")


def _huella_de(app, docname: str) -> str | None:
    """La huella de una página con celdas; ``None`` si no las tiene."""
    ruta = Path(app.env.doc2path(docname))
    if ruta.suffix != ".md" or not ruta.exists():
        return None
    texto = ruta.read_text(encoding="utf-8")
    return huella(texto, ruta.stem) if analiza(texto).celdas else None


def _elegir_cache(app, docname: str, texto: list[str]) -> None:
    """Antes de leer una página, MyST-NB mira en la caché de esa página."""
    marca = _huella_de(app, docname)
    app.env.libro_huellas = {**getattr(app.env, "libro_huellas", {}), docname: marca}
    if marca is not None:
        ruta = ruta_cache(Path(app.srcdir), Path(docname).name, marca)
        app.env.mystnb_config = app.env.mystnb_config.copy(execution_cache_path=str(ruta))


def _con_otra_huella(app, env, nuevos, cambiados, quitados) -> list[str]:
    """Las páginas que hay que leer otra vez porque ha cambiado lo que importan."""
    anteriores = getattr(env, "libro_huellas", {})
    conocidas = set(env.found_docs) - set(nuevos)
    return [d for d in conocidas if d in anteriores and anteriores[d] != _huella_de(app, d)]


def setup(app) -> None:
    """Conecta la preparación."""
    app.connect("config-inited", _preparar)
    app.connect("env-get-outdated", _con_otra_huella)
    app.connect("source-read", _elegir_cache)
