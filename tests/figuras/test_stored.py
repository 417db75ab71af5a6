"""Los resultados guardados: se leen, dicen de dónde salen y cumplen lo que el capítulo afirma con
ellos.
"""

from __future__ import annotations

import pytest

from figuras import stored


def test_lo_guardado_dice_de_donde_sale():
    saved = stored.runs("03")
    assert saved["command"] == "python tools/semillas 03"
    assert {"processor", "architecture", "cores", "threads", "system"} <= set(saved["machine"])
    assert {"python", "torch", "numpy", "sacrebleu"} <= set(saved["versions"])
    assert len(saved["date"]) == 10
    assert "03" in stored.chapters()


def test_diez_semillas_de_los_dos_modelos_y_tres_de_las_otras_ejecuciones():
    seeds: dict[str, set[int]] = {}
    for run in stored.runs("03")["runs"]:
        seeds.setdefault(run["model"], set()).add(run["seed"])
    assert set(seeds) == {"attention", "plain", "plain-longer", "attention-up-to-three"}
    assert all(
        len(found) == (10 if name in ("attention", "plain") else 3) for name, found in seeds.items()
    )


def test_cada_llamada_da_una_copia():
    stored.runs("03")["runs"].clear()
    assert stored.runs("03")["runs"]


@pytest.mark.parametrize("chapter", ["99", "", "../03", 3])
def test_un_capitulo_sin_nada_guardado_dice_cuales_hay(chapter):
    with pytest.raises(ValueError, match="^chapter: se esperaba un capítulo con resultados.*03"):
        stored.runs(chapter)
