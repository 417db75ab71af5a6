"""Todo capítulo que entrena se ha sacudido veinte veces, como está ahora, y no se ha roto nada."""

from __future__ import annotations

import pytest

from cuidar import temblor
from paginas.capitulos import Capitulo, capitulos


def _que_entrenan() -> dict[str, Capitulo]:
    return {c.clave: c for c in capitulos() if temblor.entrena(c)}


@pytest.mark.parametrize("clave", sorted(_que_entrenan()))
def test_el_resumen_de_sus_ejecuciones_sacudidas_es_el_de_ahora(clave: str) -> None:
    dicho = temblor.queja(_que_entrenan()[clave])
    assert dicho is None, dicho


def test_no_sobra_ningun_resumen() -> None:
    hay = {p.name for p in temblor.RESUMENES.glob("*.json")}
    assert hay <= {temblor.fichero_de(c).name for c in _que_entrenan().values()}
