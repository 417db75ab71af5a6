"""Lo común a las pruebas de lo propio de cada explorador."""

from __future__ import annotations

import pytest
from muestras import SUMADOR

from figuras import explorers


@pytest.fixture
def sumador(abrir, tmp_path):
    """Abre el sumador como en el sitio: los pesos, en un guion aparte que se pide si hace falta."""

    def _sumador(explorador=SUMADOR, **opciones):
        cuerpo, guiones = explorers.detach(explorador._repr_html_(), "modelos")
        (tmp_path / "modelos").mkdir(exist_ok=True)
        for nombre, guion in guiones.items():
            (tmp_path / "modelos" / nombre).write_text(guion, "utf8")
        opciones = {"reduced_motion": "reduce"} | opciones
        return abrir(cuerpo=cuerpo, **opciones)

    return _sumador
