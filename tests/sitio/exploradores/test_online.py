"""La softmax por trozos, en Chromium."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from explorando import igual, leer
from muestras import TROZOS

from atento.efficient import online_attention
from figuras.explorers import base
from figuras.explorers.online import ORDERS

pytestmark = pytest.mark.navegador


ESTADO_A_TROZOS = """([id, [tamano, orden, reescala, puntuaciones]]) => {
  const raiz = document.getElementById(id);
  const poner = (nombre) => raiz.querySelector(`[aria-label="${nombre}"]`);
  poner("Bloques de").children[tamano].click();
  poner("Orden").children[orden].click();
  const casilla = raiz.querySelector("[type=checkbox]");
  if (casilla.checked !== reescala) casilla.click();
  const mando = raiz.querySelector("[type=range]");
  const {levels} = JSON.parse(raiz.querySelector("[type='application/json']").textContent);
  puntuaciones.forEach((e, j) => {
    poner("Clave").children[j].click();
    mando.value = levels.indexOf(e);
    mando.dispatchEvent(new Event("input"));
  });
  return raiz.atento;
}"""


PUNTUACIONES = ([1, 3, 2, 5, 0], [1, 3, 2, 100, 0], [-20, -20, -5, -20, -10],
                [1000, 50, 1000, -5, 20], [4, 4, 4, 4, 4])  # fmt: skip


def test_a_trozos_sale_lo_de_python_y_lo_de_la_biblioteca(abrir):
    pagina, vistos = abrir(TROZOS), set()
    ajustes = itertools.product(range(4), range(4), (True, False), PUNTUACIONES)
    for tamano, orden, reescala, e in ajustes:
        visto = pagina.evaluate(
            ESTADO_A_TROZOS, [TROZOS.element_id, [tamano, orden, reescala, list(e)]]
        )
        size, como = TROZOS.sizes[tamano], ORDERS[orden]
        estado, valores = visto["state"], visto["values"]
        assert [estado[x] for x in ("size", "order", "rescale", "scores")] == [
            size, como, reescala, e,
        ]  # fmt: skip
        gemelo = TROZOS.compute(size, como, scores=e, rescale=reescala)
        igual(valores["trace"], gemelo["trace"])
        igual(
            [valores["output"], valores["whole"]], torch.tensor([gemelo["output"], gemelo["whole"]])
        )
        assert (valores["blocks"], valores["rescaled"]) == (gemelo["blocks"], gemelo["rescaled"])
        if reescala:
            entran = [j for bloque in valores["blocks"] for j in bloque]
            claves = torch.tensor(e, dtype=torch.float64)[entran, None]
            salida, _ = online_attention(
                torch.ones(1, 1, dtype=torch.float64), claves, TROZOS.values[entran, None],
                scale=1.0, block=size,
            )  # fmt: skip
            assert abs(valores["output"] - float(salida)) <= 1e-4
        vistos.add(round(valores["output"], 6))
    assert len(vistos) > 8, "sin reescalar sale otra cosa, y cambia con los bloques"


def test_a_trozos_cada_paso_dice_lo_que_cambia(abrir):
    pagina = abrir(TROZOS)
    siguiente, dicho = pagina.get_by_role("button", name="Siguiente"), pagina.locator(".reading")
    esperado = [
        ("Entra el bloque 1: 1, 3 y 2. El mayor es 3.", "e* = máx(1; 3; 2) = 3"),
        ("Antes no había nada. No hay qué reescalar.", ""),
        (
            "Se suma el bloque. Sus puntuaciones ya no hacen falta.",
            "ℓ = 0.0000 + 1.5032 = 1.5032 õ = 0.0000 + 1.2771 = 1.2771",
        ),
        ("Entra el bloque 2: 5 y 0. El mayor sube de 3 a 5.", "e* = máx(3; 5; 0) = 5"),
        (
            "Lo de antes se multiplica por exp(3 − 5) = 0.1353.",
            "ℓ = 0.1353 · 1.5032 = 0.2034 õ = 0.1353 · 1.2771 = 0.1728",
        ),
        (
            "Se suma el bloque. Sus puntuaciones ya no hacen falta.",
            "ℓ = 0.2034 + 1.0067 = 1.2102 õ = 0.1728 + 1.0202 = 1.1931",
        ),
        (
            "✓ A trozos, reescalando una vez, sale 0.9858. De una vez, 0.9858: lo mismo.",
            "õ / ℓ = 1.1931 / 1.2102 = 0.9858",
        ),
    ]
    sumas, barras = [], []
    for paso, (frase, cuenta) in enumerate(esperado):
        assert dicho.inner_text() == frase
        assert " ".join(pagina.locator(".onl-sum").all_inner_texts()) == cuenta
        valores = leer(pagina, TROZOS)["values"]
        sumas.append(sum(valores["shares"]))
        barras.append(valores["shares"])
        llenas = pagina.locator(".onl-grid .here").count()
        assert llenas == (0 if paso == 6 else len(valores["blocks"][paso // 3]))
        if paso < 6:
            siguiente.click()
    assert not siguiente.is_enabled()
    traza = TROZOS.compute(3)["trace"]
    assert sumas[2] == pytest.approx(float(traza[0, 2]))
    assert sumas[6] == pytest.approx(float(traza[1, 2]))
    assert barras[4][:3] == pytest.approx([math.exp(x - 5) for x in (1, 3, 2)]), "se encogen juntas"


def test_a_trozos_al_final_otro_orden_no_mueve_la_salida_y_no_reescalar_si(abrir):
    pagina = abrir(TROZOS)
    pagina.get_by_role("button", name="Final").click()
    dicho = pagina.locator(".reading")
    for tamano, orden, veces in (
        ("1", "en orden", "reescalando 2 veces"),
        ("1", "mayor delante", "sin tener que reescalar"),
        ("1", "al revés", "reescalando una vez"),
        ("5", "al revés", "sin tener que reescalar"),
    ):
        for grupo, cual in (("Bloques de", tamano), ("Orden", orden)):
            mando = pagina.get_by_role("radiogroup", name=grupo)
            mando.get_by_role("radio", name=cual, exact=True).click()
        assert dicho.inner_text() == (
            f"✓ A trozos, {veces}, sale 0.9858. De una vez, 0.9858: lo mismo."
        )
    pagina.get_by_role("radio", name="2", exact=True).first.click()
    pagina.get_by_role("radio", name="en orden").click()
    pagina.get_by_role("checkbox").click()
    mal = base.number(TROZOS.compute(2, rescale=False)["output"], 4)
    assert mal != "0.9858" and dicho.inner_text() == (
        f"A trozos, sin reescalar, sale {mal}. De una vez, 0.9858: no es lo mismo."
    )
    pagina.get_by_role("button", name="Volver a empezar").click()
    assert leer(pagina, TROZOS)["state"] == {
        "size": 3, "order": "given", "scores": [1, 3, 2, 5, 0], "chosen": 3, "rescale": True,
        "step": 0,
    }  # fmt: skip


def test_a_trozos_se_reproduce_sola(abrir):
    pagina = abrir(TROZOS)
    pagina.clock.install()
    paso = "() => document.querySelector('.atento-exp').atento.state.step"
    assert pagina.evaluate(paso) == 0
    pagina.get_by_role("button", name="Reproducir").click()
    pagina.clock.run_for(3100)
    assert pagina.evaluate(paso) == 2
    pagina.get_by_role("button", name="Pausa").click()
    pagina.clock.run_for(5000)
    assert pagina.evaluate(paso) == 2
    pagina.get_by_role("button", name="Reproducir").click()
    pagina.clock.run_for(9000)
    assert pagina.evaluate(paso) == 6
    assert pagina.get_by_role("button", name="Reproducir").is_visible()
