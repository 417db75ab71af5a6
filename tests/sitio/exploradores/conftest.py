"""Lo común a las pruebas de lo propio de cada explorador; las selladas se apartan."""

from __future__ import annotations

import comportamiento
import pytest
from muestras import SUMADOR

from figuras import explorers


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Antes de que se elija entre lo recogido, que ha de estar entero para sellarlo."""
    comportamiento.aparta(config, items)


@pytest.fixture
def abrir(request, abrir):
    """El de todas, y falla si se abre algo que no cuenta en la huella del fichero."""
    fichero = request.node.nodeid.partition("::")[0]

    def _abrir(*lista, cuerpo=None, **opciones):
        html = "".join(e._repr_html_() for e in lista) if cuerpo is None else cuerpo
        assert not (ajeno := comportamiento.ajeno(fichero, html)), f"no se sella con {ajeno}"
        return abrir(cuerpo=html, **opciones)

    return _abrir


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
