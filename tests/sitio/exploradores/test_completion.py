"""El modelo que continúa, en Chromium."""

from __future__ import annotations

import pytest
import torch
from explorando import leer
from muestras import CONTINUACION, book_completion

from figuras.explorers.completion import LONGEST
from figuras.explorers.completion import complaint as no_empieza

pytestmark = pytest.mark.navegador


COMIENZOS = [
    "La atención",
    "¿Y la ñ, «así»?",
    "  dos  espacios\ny 1234,5 €",
    "un emoji 🙂 y é",
    "x",
]


def _continuado(pagina, boton: str, cuantos: int) -> dict:
    """Pulsa un botón y espera a que haya tantos tokens escritos."""
    pagina.get_by_role("button", name=boton).click()
    pagina.wait_for_function(
        "n => document.querySelector('.atento-exp').atento.values?.written.length === n",
        arg=cuantos,
    )
    return pagina.evaluate("document.querySelector('.atento-exp').atento.values")


def test_el_modelo_del_libro_puntua_y_escribe_en_la_pagina_como_en_pytorch(sumador):
    """Los tokens, iguales; las puntuaciones y las probabilidades, hasta 1e-4, con 32 y 64 bits."""
    libro = book_completion()
    pagina = sumador(libro)
    for comienzo in COMIENZOS:
        pagina.get_by_label("Comienzo", exact=True).fill(comienzo)
        visto = _continuado(pagina, "Siguiente", 1)
        assert visto["prompt"] == libro.tokenizer.encode(comienzo), comienzo
        assert visto["written"] == libro.written(1, comienzo)
        ids = torch.tensor([visto["prompt"] + visto["written"]])
        with torch.no_grad():
            de_32 = libro.model(ids)[0, -1]
        de_64 = libro.compute(libro.tokenizer.decode(ids[0].tolist()))["logits"]
        logits, probs = (torch.tensor(visto[x], dtype=torch.float64) for x in ("logits", "probs"))
        assert (logits - de_32).abs().max() <= 1e-4 and (logits - de_64).abs().max() <= 1e-9
        assert (probs - de_32.double().softmax(-1)).abs().max() <= 1e-4
    visto = _continuado(pagina, "Continuar", 41)
    assert visto["written"] == libro.written(41, COMIENZOS[-1])


def test_los_mandos_del_modelo_que_continua_son_los_de_la_biblioteca(sumador):
    libro = book_completion()
    pagina = sumador(libro)
    for nombre, valor in (("Temperatura", "0.7"), ("top-k", "12"), ("top-p", "0.9")):
        pagina.get_by_label(nombre, exact=True).fill(valor)
    pagina.get_by_label("Semilla", exact=True).fill("5")
    visto = _continuado(pagina, "Continuar", 40)
    mandos = {"temperature": 0.7, "top_k": 12, "top_p": 0.9}
    assert visto["written"] == libro.written(40, seed=5, **mandos)
    probs = libro.compute(libro.start + libro.tokenizer.decode(visto["written"]), **mandos)["probs"]
    assert (torch.tensor(visto["probs"], dtype=torch.float64) - probs).abs().max() <= 1e-9
    pagina.get_by_role("button", name="Volver al comienzo").click()
    assert _continuado(pagina, "Continuar", 40)["written"] == visto["written"]


def test_un_comienzo_que_no_sirve_se_dice_como_en_python(sumador):
    pagina = sumador(CONTINUACION)
    campo = pagina.get_by_label("Comienzo", exact=True)
    for texto in ("", "x" * (LONGEST + 1)):
        campo.fill(texto)
        pagina.get_by_role("button", name="Siguiente").click()
        assert pagina.get_by_role("alert").inner_text() == no_empieza(texto) != ""
        assert campo.get_attribute("aria-invalid") == "true"
        assert leer(pagina, CONTINUACION)["values"] is None
    campo.fill("<img src=x onerror=alert(1)>")
    _continuado(pagina, "Siguiente", 1)
    assert pagina.locator(".com-text img").count() == 0


def test_una_semilla_que_no_sirve_se_dice_de_ella_y_no_del_comienzo(sumador):
    pagina = sumador(CONTINUACION)
    campos = [pagina.get_by_label(x, exact=True) for x in ("Comienzo", "Semilla")]
    for semilla, sirve in (
        ("-1", False),
        ("1.5", False),
        ("", False),
        (str(2**32), False),
        ("7", True),
    ):
        campos[1].fill(semilla)
        marcas = [campo.get_attribute("aria-invalid") or "false" for campo in campos]
        assert marcas == ["false", "false" if sirve else "true"], semilla
        assert pagina.get_by_text("La semilla es un entero de 0 a").is_visible() != sirve
    assert leer(pagina, CONTINUACION)["state"]["seed"] == 7


def test_al_escribir_otro_comienzo_se_para_la_tirada(sumador):
    pagina = sumador(CONTINUACION, reduced_motion="no-preference")
    pagina.get_by_role("button", name="Continuar").click()
    escritos = "document.querySelector('.atento-exp').atento.values?.written.length"
    pagina.wait_for_function(f"() => {escritos} > 2")
    pagina.get_by_label("Comienzo", exact=True).fill("la niña")
    assert pagina.evaluate(escritos) == 0
    pagina.wait_for_timeout(300)  # cinco tokens, si la tirada siguiese
    assert pagina.evaluate(escritos) == 0
    assert pagina.get_by_role("button", name="Continuar").is_visible()
