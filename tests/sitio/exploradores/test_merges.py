"""Las uniones, en Chromium."""

from __future__ import annotations

import pytest
from explorando import TOLERANCIA, leer
from muestras import UNIONES_BPE

from atento.tokenizers import visible

pytestmark = pytest.mark.navegador


FRASES = ("Los niños comen", "¿Comió la niña 3 kiwis?", "  dos  espacios ", "", "comían\u0303")


@pytest.mark.parametrize("frase", FRASES)
def test_las_uniones_son_las_de_python(abrir, frase):
    pagina = abrir(UNIONES_BPE)
    pagina.get_by_role("textbox", name="Frase").fill(frase)
    visto = leer(pagina, UNIONES_BPE)["values"]
    pasos = [
        {"rank": p.rank, "pair": list(p.pair), "words": [list(w) for w in p.words]}
        for p in UNIONES_BPE.steps(frase)
    ]
    assert visto["steps"] == pasos
    cortes = UNIONES_BPE.cut(frase)
    assert [c["pieces"] for c in visto["cuts"]] == [list(piezas) for piezas, _ in cortes]
    assert all(
        abs(c["score"] - p) <= TOLERANCIA for c, (_, p) in zip(visto["cuts"], cortes, strict=True)
    )


def test_las_uniones_se_andan_de_una_en_una(abrir):
    from playwright.sync_api import expect

    pagina = abrir(UNIONES_BPE)
    total = len(UNIONES_BPE.steps())
    assert total > 3 and pagina.get_by_role("button", name="Atrás").is_disabled()
    pagina.get_by_role("button", name="Unir").click()
    assert leer(pagina, UNIONES_BPE)["state"]["step"] == 1
    assert pagina.locator(".chip.fresh").count() == 1
    pagina.get_by_role("button", name="Hasta el final").click()
    assert leer(pagina, UNIONES_BPE)["state"]["step"] == total
    letreros = pagina.locator(".chip").all_inner_texts()
    assert letreros == [visible(pieza) for pieza in UNIONES_BPE.bpe.pieces("Los niños comen")]
    corte = " ".join("|".join(map(visible, palabra)) for palabra in UNIONES_BPE.steps()[-1].words)
    expect(pagina.get_by_role("status")).to_contain_text(f"{len(letreros)} piezas: {corte}; fin.")
