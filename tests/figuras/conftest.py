"""Semilla, dispositivos y comprobación de formas: lo común, para las pruebas de esta carpeta."""

from de_biblioteca import *  # noqa: F403
from de_biblioteca import _seeded  # noqa: F401  (lo que empieza por «_» no viene con el asterisco)
