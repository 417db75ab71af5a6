"""La extensión del libro: lo que el fichero de configuración no puede decir.

Cada módulo hace una cosa y tiene su ``setup``:

- :mod:`libro.huella`, :mod:`libro.ejecucion`  la caché de ejecución
- :mod:`libro.fallos`      la página de un capítulo que ha fallado
- :mod:`libro.lector`      el lector de MyST de la extensión, las órdenes y las reglas
- :mod:`libro.cuadernos`   cada capítulo resuelto, en Markdown corriente para su cuaderno
- :mod:`libro.suelta`      la vista de una sola página
- :mod:`libro.numeracion`  los números salen del nombre del fichero
- :mod:`libro.demostraciones`  arreglos de sphinx-proof
- :mod:`libro.plegado`     «A fondo», respuestas, comprobaciones y código de las figuras
- :mod:`libro.didactica`   objetivos, predicciones, repasos, figuras, fuentes
- :mod:`libro.tiempos`     minutos de cada página y tabla del curso
- :mod:`libro.lotes`      las cuentas de la guía docente
- :mod:`libro.tipografia`  puntuación pegada a las fórmulas
- :mod:`libro.ejercicios`  lo que el registro sabe de cada ejercicio
- :mod:`libro.iconos`     los iconos del tema, dibujados
- :mod:`libro.espanol`     catálogo propio y palabras inglesas sueltas
- :mod:`libro.docstrings`  de las docstrings en español a autodoc
- :mod:`libro.codigo`   el código de la biblioteca, enlazado desde la API
- :mod:`libro.documento`  cada nodo, de su página: lo guardado no arrastra el libro entero
- :mod:`libro.citas`       bibliografía y citas en español
- :mod:`libro.buscador`   índice de la búsqueda y definiciones del glosario
- :mod:`libro.mapa`       el mapa del libro
- :mod:`libro.temario`, :mod:`libro.soluciones`  los apéndices que se escriben solos
- :mod:`libro.publicacion`  canónica, mapa del sitio, 404 y novedades, si hay dirección
- :mod:`libro.formulas`    de TeX a MathML
- :mod:`libro.exploradores`  de las figuras interactivas, una copia de lo que se repite
- :mod:`libro.sitio`       colores, botones de cada página

Importar ``libro`` no importa Sphinx: los guiones usan :func:`huella` y :func:`ruta_cache`.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from libro.huella import huella, ruta_cache

__all__ = ["huella", "ruta_cache", "setup"]


def version_de_la_extension() -> int:
    """Un número que cambia con su código: con otro, Sphinx lee otra vez todas las páginas."""
    textos = (ruta.read_bytes() for ruta in sorted(Path(__file__).parent.glob("*.py")))
    return int(hashlib.sha256(b"".join(textos)).hexdigest()[:12], 16)


def setup(app) -> dict:
    """Conecta todas las partes."""
    from libro import (
        buscador,
        citas,
        codigo,
        cuadernos,
        demostraciones,
        didactica,
        docstrings,
        documento,
        ejecucion,
        ejercicios,
        espanol,
        exploradores,
        fallos,
        formulas,
        iconos,
        lotes,
        mapa,
        numeracion,
        plegado,
        publicacion,
        sitio,
        soluciones,
        suelta,
        temario,
        tiempos,
        tipografia,
    )

    partes = (
        ejecucion,
        fallos,
        numeracion,
        suelta,
        demostraciones,
        plegado,
        tiempos,
        didactica,
        ejercicios,
        espanol,
        citas,
        docstrings,
        documento,
        codigo,
        formulas,
        sitio,
        exploradores,
        publicacion,
        tipografia,
        mapa,
        buscador,
        iconos,
        temario,
        lotes,
        soluciones,
        cuadernos,
    )
    for parte in partes:
        parte.setup(app)
    return {
        "version": "1",
        "env_version": version_de_la_extension(),
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
