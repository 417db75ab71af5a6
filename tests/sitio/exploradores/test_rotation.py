"""El giro, en Chromium."""

from __future__ import annotations

import itertools
import math

import pytest
from explorando import igual, leer
from muestras import GIRO, TRES_PAREJAS

from figuras.explorers import base

pytestmark = pytest.mark.navegador


def test_el_giro_calcula_lo_mismo_que_python(abrir):
    pagina = abrir(TRES_PAREJAS)
    mandos = pagina.get_by_role("slider")
    parejas = pagina.get_by_role("radiogroup", name="Pareja").get_by_role("radio")
    sitios = ((0, 0), (3, 9), (29, 2), (11, 11))
    for (aqui, alli), pareja in itertools.product(sitios, (0, 2)):
        mandos.nth(0).fill(str(aqui))
        mandos.nth(1).fill(str(alli))
        parejas.nth(pareja).click()
        visto = leer(pagina, TRES_PAREJAS)
        assert visto["state"] == {"query_place": aqui, "key_place": alli, "pair": pareja}
        gemelo = TRES_PAREJAS.compute(aqui, alli)
        for nombre, tabla in gemelo.items():
            igual(visto["values"][nombre], tabla)
        escritos = pagina.locator(".spot-line .entry").all_inner_texts()
        girados = [*gemelo["query"][2 * pareja :][:2], *gemelo["key"][2 * pareja :][:2]]
        assert escritos == [base.number(x) for x in girados]
        assert f"es {base.number(gemelo['score'])}." in pagina.locator(".reading").inner_text()


def test_las_flechas_y_el_punto_estan_donde_dicen_los_numeros(abrir):
    """La punta de cada flecha, respecto del centro, y el punto de la curva, en pantalla."""
    pagina = abrir(GIRO, reduced_motion="reduce")
    for aqui, alli in ((3, 7), (0, 39), (20, 1)):
        pagina.get_by_role("slider").nth(0).fill(str(aqui))
        pagina.get_by_role("slider").nth(1).fill(str(alli))
        gemelo = GIRO.compute(aqui, alli)
        angulos, (izquierda, arriba) = pagina.evaluate("""() => {
          const disco = document.querySelector(".disc").getBoundingClientRect();
          const centro = [disco.x + disco.width / 2, disco.y + disco.height / 2];
          const angulos = [".spoke circle", ".spoke rect"].map((punta) => {
            const r = document.querySelector(punta).getBoundingClientRect();
            return Math.atan2(centro[1] - r.y - r.height / 2, r.x + r.width / 2 - centro[0]);
          });
          const punto = document.querySelector(".spot").getBoundingClientRect();
          const marco = document.querySelector(".plot svg").getBoundingClientRect();
          return [angulos, [(punto.x + punto.width / 2 - marco.x) / marco.width,
                            (punto.y + punto.height / 2 - marco.y) / marco.height]];
        }""")
        for angulo, nombre in zip(angulos, ("query", "key"), strict=True):
            x, y = gemelo[nombre][:2].tolist()
            assert abs(math.remainder(angulo - math.atan2(y, x), 2 * math.pi)) < 0.02
        assert abs(izquierda - (alli - aqui + 39) / 78) < 0.01
        largos = [v.view(2, 2).norm(dim=1) for v in (GIRO.query, GIRO.key)]
        techo = float((largos[0] * largos[1]).sum())
        assert abs(arriba - (techo - float(gemelo["score"])) / (2 * techo)) < 0.01


def test_la_pregunta_del_giro_se_contesta_con_los_botones(abrir):
    pagina = abrir(GIRO)
    adelante = pagina.get_by_role("button", name="Adelantar las dos")
    atras = pagina.get_by_role("button", name="Atrasar las dos")
    inicio, vectores = leer(pagina, GIRO)["values"]["score"], set()
    for _ in range(32):
        adelante.click()
        visto = leer(pagina, GIRO)["values"]
        assert abs(visto["score"] - inicio) < 1e-9
        vectores.add(tuple(visto["query"]))
    assert len(vectores) == 32 and adelante.is_disabled() and atras.is_enabled()
    pagina.get_by_role("slider").first.focus()
    pagina.keyboard.press("ArrowLeft")
    movida = leer(pagina, GIRO)
    assert movida["state"]["query_place"] == 34
    assert abs(movida["values"]["score"] - inicio) > 0.01
    pagina.keyboard.press("Home")
    assert atras.is_disabled() and "a distancia 39" in pagina.locator(".reading").inner_text()
