"""Las pruebas de los capítulos corrigen con el curso del libro, aunque otras del mismo proceso usen
uno de prueba.
"""

import pytest


@pytest.fixture(autouse=True)
def curso_del_libro(monkeypatch):
    """Quita la variable que cambia de curso."""
    monkeypatch.delenv("ATENTO_CURSO", raising=False)
