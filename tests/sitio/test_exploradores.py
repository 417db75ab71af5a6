"""Lo propio de cada explorador, en Chromium: las mismas cuentas que en Python y lo que dice.

El contrato que cumplen todos está en ``test_contrato_exploradores.py``.
"""

from __future__ import annotations

import io
import itertools
import math
import re
from pathlib import Path

import pydata_sphinx_theme
import pytest
import torch
from explorando import axe, contrato, leer
from muestras import (
    CABEZAS,
    CALENDARIO,
    CAMINOS,
    CONTINUACION,
    EMPATES,
    ENVOLVENTE,
    FLUJO,
    FLUJO_ANCHO,
    GIRO,
    HAZ,
    HOJA,
    HUECO,
    MAPA,
    MAPA_ANCHO,
    MUESTRAS,
    OIDO,
    PARCHES,
    PASOS,
    PINTADA,
    PLANO,
    PROYECTADO,
    RANGO,
    RELOJ,
    REPARTO,
    SIN_SUBIDA,
    SOFTMAX,
    SOLO_UNA,
    SORTEO,
    SUMADOR,
    TALLA,
    TERRENO,
    TRES_PAREJAS,
    TROZOS,
    UNIDO,
    UNIONES_BPE,
    WORDS,
    book_claims,
    book_cloze,
    book_completion,
    book_hearing,
    book_sketch,
)
from pypdf import PdfReader

from atento import trained
from atento.efficient import online_attention
from atento.interpret import patch_effects
from atento.masks import causal_mask
from atento.models.detr import assign, matching_cost
from atento.tasks import addition, agreement, vowels
from atento.tasks.addition import Sum
from atento.tokenizers import visible
from atento.watching import watching
from figuras import explorers, plots
from figuras.explorers import base
from figuras.explorers.adder import adder, complaint
from figuras.explorers.completion import LONGEST
from figuras.explorers.completion import complaint as no_empieza
from figuras.explorers.hearing import Saying
from figuras.explorers.online import ORDERS
from figuras.explorers.patches import READS, WRITES

pytestmark = pytest.mark.navegador

TOLERANCIA = 1e-6


def _igual(obtenido, esperado: torch.Tensor) -> None:
    obtenido = torch.tensor(obtenido, dtype=torch.float64)
    finitos = torch.isfinite(esperado)
    assert torch.equal(torch.isfinite(obtenido), finitos)
    assert (
        (obtenido - esperado)[finitos].abs().max().item() <= TOLERANCIA if finitos.any() else True
    )


# --- Las mismas cuentas ---------------------------------------------------------------------------

PONER = """([id, [fila, cabeza, mascara, escala, calor]]) => {
  const raiz = document.getElementById(id);
  const elegir = (grupo, i) => raiz.querySelector(`[aria-label="${grupo}"]`)?.children[i].click();
  elegir("Palabra que consulta", fila); elegir("Cabeza", cabeza); elegir("Máscara", mascara);
  const casilla = raiz.querySelector("[type=checkbox]");
  if (casilla.checked !== escala) casilla.click();
  const mando = raiz.querySelector("[type=range]");
  mando.value = calor; mando.dispatchEvent(new Event("input"));
  return raiz.atento;
}"""


@pytest.mark.parametrize(
    "explorador", [PASOS, PROYECTADO, UNIDO], ids=["pasos", "proyectado", "unido"]
)
def test_el_paso_a_paso_calcula_lo_mismo_que_python(abrir, explorador):
    pagina, vistos = abrir(explorador), set()
    temperaturas, mascaras = (-1.0, -0.37, 0.0, 0.8), range(len(explorador.masks()))
    ajustes = itertools.product(range(5), range(2), mascaras, (True, False), temperaturas)
    for ajuste in ajustes:
        visto = pagina.evaluate(PONER, [explorador.element_id, list(ajuste)])
        fila, cabeza, mascara, escala, calor = ajuste
        assert (visto["state"]["row"], visto["state"]["head"]) == (fila, cabeza)
        nombre = explorador.masks()[mascara]
        gemelo = explorador.compute(head=cabeza, scaled=escala, mask=nombre, temperature=10**calor)
        for paso, tabla in gemelo.items():
            _igual(visto["values"][paso], tabla)
        vistos.add(str(visto["values"]["weights"]))
    assert len(vistos) == 2 * len(explorador.masks()) * 8


def test_las_cabezas_se_ven_juntas_y_se_unen(abrir):
    pagina = abrir(UNIDO)
    botones = pagina.get_by_role("radiogroup", name="Cabeza").get_by_role("radio")
    assert [botones.nth(k).locator(".mini i").count() for k in range(2)] == [25, 25]
    for k in range(2):
        pesos = UNIDO.compute(head=k)["weights"]
        color = botones.nth(k).locator(".mini i").nth(7).get_attribute("style")
        assert f"{100 * pesos[1, 2]:.1f}%" in color
    pagina.get_by_role("radio", name="unir").click()
    suma = UNIDO.compute()["united"][UNIDO.initial["row"], 0].item()
    assert base.number(suma) in pagina.locator(".sums").inner_text()
    assert base.number(suma) in pagina.locator(".total").inner_text()


def test_lo_escrito_es_lo_calculado(abrir):
    pagina = abrir(PASOS)
    pagina.evaluate(PONER, [PASOS.element_id, [3, 1, 1, True, 0.3]])
    gemelo = PASOS.compute(head=1, mask="causal", temperature=10**0.3)
    for paso, nombre in (("puntuar", "scores"), ("escalar", "scaled"), ("enmascarar", "masked"),
                         ("normalizar", "weights")):  # fmt: skip
        pagina.get_by_role("radio", name=paso).click()
        escritos = pagina.locator(".key-row .tail").all_inner_texts()
        assert escritos == [plots.format_number(float(x), ".2f") for x in gemelo[nombre][3]]
    pagina.get_by_role("radio", name="promediar").click()
    assert pagina.locator(".total .entry").all_inner_texts() == [
        plots.format_number(float(x), ".2f") for x in gemelo["output"][3]
    ]


def test_la_cuenta_de_una_celda_se_lee(abrir):
    sencillo = explorers.stepper(
        ["sí", "no"],
        [[1.2, -0.3], [0.0, 1.0]],
        [[0.5, 2.0], [1.0, 1.0]],
        [[1.0], [0.0]],
        name="cuenta",
    )
    pagina = abrir(sencillo)
    pagina.get_by_role("radiogroup", name="Clave de la que se ve la cuenta").get_by_role(
        "radio"
    ).first.click()
    assert "1.20·0.50 + (−0.30)·2.00 = 0.00" in pagina.locator(".sums").inner_text().replace(
        "\n", " "
    )
    assert leer(pagina, sencillo)["state"]["column"] == 0


def test_el_plano_calcula_lo_mismo_que_python(abrir):
    pagina = abrir(PLANO)
    for i, tecla in enumerate(
        ["ArrowRight", "ArrowUp", "Shift+ArrowLeft", "ArrowDown", "End", "Home"] * 3
    ):
        pagina.locator(".grip").nth(i % 3).focus()
        pagina.keyboard.press(tecla)
        if i == 9:
            pagina.get_by_role("button", name="tren", exact=True).click()
        if i == 12:
            pagina.locator("[type=range]").fill("-0.4")
        visto = leer(pagina, PLANO)
        estado = visto["state"]
        query, key = (torch.tensor(estado[n], dtype=torch.float64) for n in ("query", "key"))
        assert torch.equal(key[0], query), "la estación es consulta y clave"
        gemelo = PLANO.compute(
            query=query, key=key, present=estado["present"], temperature=estado["temperature"]
        )
        for nombre, tabla in gemelo.items():
            _igual(visto["values"][nombre], tabla)
    assert estado["present"] == [True, False, True] and estado["temperature"] == pytest.approx(
        10**-0.4
    )
    pagina.get_by_role("button", name="Volver al principio").click()
    _igual(leer(pagina, PLANO)["values"]["output"], PLANO.compute()["output"])


def _centro(pagina, sitio) -> tuple[float, float]:
    caja = sitio.bounding_box()
    return caja["x"] + caja["width"] / 2, caja["y"] + caja["height"] / 2


def test_la_salida_no_sale_de_la_envolvente(abrir):
    pagina = abrir(ENVOLVENTE)
    pagina.mouse.move(*_centro(pagina, pagina.locator(".grip.query .hit")))
    pagina.mouse.down()
    marco, vistos = pagina.locator(".plane").bounding_box(), []
    for x, y in itertools.product((0.02, 0.3, 0.55, 0.98), (0.03, 0.4, 0.97)):
        pagina.mouse.move(marco["x"] + x * marco["width"], marco["y"] + y * marco["height"])
        visto = leer(pagina, ENVOLVENTE)
        query = torch.tensor(visto["state"]["query"], dtype=torch.float64)
        _igual(visto["values"]["output"], ENVOLVENTE.compute(query=query)["output"])
        assert pagina.evaluate(
            """id => { const raiz = document.getElementById(id);
              const verde = raiz.querySelector(".area polygon");
            const punta = raiz.querySelector(".strings line");
            return verde.isPointInFill(
              new DOMPoint(punta.x1.baseVal.value, punta.y1.baseVal.value)); }""",
            ENVOLVENTE.element_id,
        )
        vistos.append(tuple(visto["state"]["query"]))
    pagina.mouse.up()
    assert len(set(vistos)) == 12
    assert pagina.locator(".area polygon").evaluate("p => p.points.numberOfItems") == 3, (
        "(0.0, 0.8) queda dentro"
    )


def test_la_softmax_calcula_lo_mismo_que_python(abrir):
    pagina = abrir(SOFTMAX)
    mando, casilla = pagina.get_by_role("slider"), pagina.get_by_role("checkbox")
    for fila, calor, escala in itertools.product(range(3), (-1.0, -0.37, 0.0, 0.8), (True, False)):
        pagina.get_by_role("radio").nth(fila).click()
        casilla.set_checked(escala)
        mando.fill(str(calor))
        esperados = SOFTMAX.weights(fila, 10 ** float(mando.input_value()), escala)
        visto = leer(pagina, SOFTMAX)["values"]
        _igual(visto["weights"], esperados)
        assert abs(visto["entropy"] - float(torch.special.entr(esperados).sum())) <= TOLERANCIA
        assert pagina.locator("td.strong").all_inner_texts() == [
            f"{w:.3f}" for w in esperados.tolist()
        ]


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


@pytest.mark.parametrize("escala", [True, False])
@pytest.mark.parametrize("fila", range(3))
def test_la_pregunta_de_la_softmax_se_contesta_en_todas_las_filas(abrir, fila, escala):
    pagina = abrir(SOFTMAX)
    pagina.get_by_role("radio").nth(fila).click()
    pagina.get_by_role("checkbox").set_checked(escala)
    paso = 0.005
    low, _ = SOFTMAX.range
    cerca = low + round((math.log10(SOFTMAX.solution(fila, escala)) - low) / paso) * paso
    pagina.get_by_role("slider").fill(f"{cerca + 10 * paso:.3f}")
    assert not leer(pagina, SOFTMAX)["values"]["reached"]
    pagina.get_by_role("slider").focus()
    for _ in range(10):
        pagina.keyboard.press("ArrowLeft")
    assert leer(pagina, SOFTMAX)["values"]["reached"]
    assert "Conseguido" in pagina.locator(".verdict").inner_text()


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
            _igual(visto["values"][nombre], tabla)
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


def test_el_reloj_calcula_lo_mismo_que_python(abrir):
    pagina = abrir(RELOJ)
    mandos = pagina.get_by_role("slider")
    for aqui, alli in ((0, 39), (39, 0), (7, 7), (20, 31)):
        mandos.nth(0).fill(str(aqui))
        mandos.nth(1).fill(str(alli))
        visto, gemelo = leer(pagina, RELOJ), RELOJ.compute(aqui, alli)
        assert visto["state"] == {"position": aqui, "other": alli}
        for nombre, tabla in gemelo.items():
            _igual(visto["values"][nombre], tabla)
        escritas = pagina.locator(".spot-line").nth(0).locator(".entry").all_inner_texts()
        assert escritas == [plots.format_number(float(x), ".2f") for x in gemelo["row"]]
        puntas = pagina.evaluate(
            """id => [...document.querySelectorAll(`#${id} .hand.here line`)]
            .flatMap(e => [e.x2.baseVal.value / 32, -e.y2.baseVal.value / 32])""",
            RELOJ.element_id,
        )
        _igual(puntas, gemelo["row"])


def test_adelantar_las_dos_no_cambia_el_producto_y_para_en_los_extremos(abrir):
    pagina = abrir(RELOJ)
    adelante = pagina.get_by_role("button", name="Adelantar las dos")
    atras = pagina.get_by_role("button", name="Atrasar las dos")
    inicio, filas = leer(pagina, RELOJ)["values"]["product"], set()
    for _ in range(31):
        adelante.click()
        visto = leer(pagina, RELOJ)["values"]
        assert abs(visto["product"] - inicio) < 1e-9
        filas.add(tuple(visto["row"]))
    assert len(filas) == 31 and adelante.is_disabled() and atras.is_enabled()
    pagina.get_by_role("slider").nth(1).focus()
    pagina.keyboard.press("Home")
    assert atras.is_disabled()
    assert "a distancia 36" in pagina.locator(".reading").inner_text()


# --- Manejo ---------------------------------------------------------------------------------------


def test_los_mandos_del_paso_a_paso_van_en_su_orden(abrir):
    pagina = abrir(PASOS)
    pagina.get_by_role("radio", name="1, puntuar").focus()
    pagina.keyboard.press("Shift+Tab")  # las cabezas se eligen antes que el paso
    orden = []
    for _ in range(9):
        orden.append(
            pagina.evaluate(
                "(document.activeElement.closest('[role=radiogroup]') ??"
                " document.activeElement).getAttribute('aria-label') ?? document.activeElement.type"
                " ?? document.activeElement.localName"
            )
        )
        pagina.keyboard.press("Tab")
    assert orden[:2] + orden[3:] == [
        "Cabeza",
        "Paso",
        "Palabra que consulta",
        "Clave de la que se ve la cuenta",
        "Máscara",
        "checkbox",
        "Temperatura",
        "summary",
    ]
    pagina.get_by_role("button", name="Siguiente").click()
    assert leer(pagina, PASOS)["state"]["step"] == "escalar"


def test_el_dedo_mueve_los_puntos_del_plano(abrir):
    pagina = abrir(PLANO, viewport={"width": 390, "height": 500}, has_touch=True, is_mobile=True)
    asa = pagina.locator(".grip.key").first
    asa.scroll_into_view_if_needed()
    x, y = _centro(pagina, asa.locator(".hit"))
    antes = pagina.evaluate("scrollY")
    sesion = pagina.context.new_cdp_session(pagina)
    for tipo, paso in (("touchStart", 0), *(("touchMove", k) for k in range(1, 9))):
        punto = {"x": x - 5 * paso, "y": y - 5 * paso}
        sesion.send("Input.dispatchTouchEvent", {"type": tipo, "touchPoints": [punto]})
    sesion.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    movida = leer(pagina, PLANO)["state"]["key"][1]
    assert movida[0] < 2.2 and movida[1] > 0.4
    x_final, y_final = _centro(pagina, asa.locator(".hit"))  # debajo del dedo, hasta el final
    assert abs(x_final - (x - 40)) < 3 and abs(y_final - (y - 40)) < 3
    assert pagina.evaluate("scrollY") == antes


def test_la_barra_dice_lo_que_hay_bajo_el_dedo(abrir):
    pagina = abrir(PASOS)
    celda = pagina.locator(".matrix tbody td").nth(3)
    celda.hover()
    esperado = plots.format_number(float(PASOS.compute()["scores"][0, 3]), ".3f")
    assert pagina.locator(".probe").inner_text() == f"«el» mira a «río»: puntuación {esperado}"
    celda.click()
    assert (leer(pagina, PASOS)["state"]["row"], leer(pagina, PASOS)["state"]["column"]) == (0, 3)


def test_la_barra_sigue_al_punto_que_se_mueve(abrir):
    pagina = abrir(PLANO)
    pagina.locator(".grip.query").focus()
    pagina.keyboard.press("ArrowUp")
    x, y = leer(pagina, PLANO)["state"]["query"]
    assert (
        pagina.locator(".probe")
        .inner_text()
        .startswith(f"consulta de «estación»: ({x:.2f}, {y:.2f})")
        and y > 1
    )


def test_lo_tapado_se_raya(abrir):
    pagina = abrir(PASOS)
    pagina.get_by_role("radio", name="causal").click()
    pagina.get_by_role("radio", name="normalizar").click()
    leer = "celdas => celdas.map((celda) => getComputedStyle(celda).backgroundImage)"
    fondos = pagina.locator(".matrix tbody td").evaluate_all(leer)
    assert [fondo != "none" for fondo in fondos] == (~causal_mask(5)).flatten().tolist()


def _clases(texto: str) -> set[str]:
    return set(re.findall(r"\.([a-zA-Z][\w-]*)", texto))


def test_ninguna_clase_es_del_tema_del_sitio():
    """Bootstrap también llama «row», «lead» o «label» a lo suyo: una clase común se vería distinta
    en el libro.
    """
    tema = Path(pydata_sphinx_theme.__file__).parent
    ajenas = set().union(*(_clases(hoja.read_text("utf8")) for hoja in tema.rglob("*.css")))
    ajenas |= _clases(
        (Path(__file__).resolve().parents[2] / "book" / "_static" / "libro.css").read_text("utf8")
    )
    carpeta = Path(base.__file__).parent
    propias = set().union(*(_clases(base._read(hoja.name)) for hoja in carpeta.glob("*.css")))
    assert "row" in ajenas and "probe" in propias
    assert not propias & ajenas


# --- En cualquier sitio ---------------------------------------------------------------------------


def test_varios_en_una_pagina_son_independientes(abrir):
    cuerpo = explorers.deduplicate("".join(e._repr_html_() for e in (*MUESTRAS.values(), PASOS)))
    pagina = abrir(cuerpo=cuerpo)
    assert pagina.locator(".stage").count() == len(MUESTRAS) + 1
    identificadores = pagina.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(set(identificadores)) == len(identificadores)
    pagina.get_by_role("button", name="Siguiente").first.click()
    assert leer(pagina, PASOS)["state"]["step"] == "escalar"
    assert (
        pagina.evaluate("[...document.querySelectorAll('.atento-exp')].at(-1).atento.state.step")
        == "puntuar"
    )


@pytest.mark.parametrize(
    "marca",
    ['<body data-jp-theme-light="false">', '<body class="vscode-dark">', '<body theme="dark">'],
)
def test_el_modo_oscuro_de_los_cuadernos(navegador, marca):
    contexto = navegador.new_context()
    pagina = contexto.new_page()
    pagina.set_content(f"<!doctype html><html lang=es>{marca}{SOFTMAX._repr_html_()}</html>")
    colores = pagina.locator(".atento-exp").evaluate(
        "e => [getComputedStyle(e).backgroundColor, getComputedStyle(e).color]"
    )
    contexto.close()
    esperado = [
        tuple(int(plots.TOKENS[n]["dark"][i : i + 2], 16) for i in (1, 3, 5))
        for n in ("paper", "ink")
    ]
    assert colores == [f"rgb{tono}" for tono in esperado]


# --- Las cabezas ----------------------------------------------------------------------------------


def test_las_cabezas_miran_lo_que_en_python(abrir):
    pagina = abrir(CABEZAS)
    for frase, capa, cabeza, sin_marcas in [(0, 0, 0, False), (0, 1, 2, True), (2, 2, 1, False)]:
        pagina.evaluate(
            """([id, valores, sinMarcas]) => {
              const raiz = document.getElementById(id);
              raiz.querySelectorAll("[type=range]").forEach((mando, i) => {
                mando.value = valores[i] + 1;
                mando.dispatchEvent(new Event("input"));
              });
              const casilla = raiz.querySelector("[type=checkbox]");
              if (casilla.checked !== sinMarcas) casilla.click();
            }""", [CABEZAS.element_id, [frase, capa, cabeza], sin_marcas],
        )  # fmt: skip
        pagina.wait_for_function(
            "([id, frase]) => document.getElementById(id).atento.state.sentence === frase",
            arg=[CABEZAS.element_id, frase],
        )
        visto = leer(pagina, CABEZAS)
        assert visto["state"] == {
            "sentence": frase, "layer": capa, "head": cabeza, "word": -1, "bare": sin_marcas,
        }  # fmt: skip
        _igual(visto["values"]["weights"], CABEZAS.look(frase, capa, cabeza, bare=sin_marcas))
        habitos = CABEZAS.habits(frase, capa, cabeza, bare=sin_marcas)
        assert visto["values"]["habits"] == pytest.approx([*habitos.values()], abs=1e-9)


def test_en_el_mapa_se_toca_una_cabeza_y_se_ven_las_lineas_de_una_palabra(abrir):
    pagina = abrir(CABEZAS)
    mapa = pagina.locator(".heads-map")
    caja = mapa.bounding_box()
    mapa.click(position={"x": caja["width"] * 0.5, "y": caja["height"] * 0.5})
    assert leer(pagina, CABEZAS)["state"]["head"] == 1
    assert pagina.get_by_role("slider").nth(1).input_value() == "2"
    pagina.get_by_role("radio", name="río").click()
    fila = CABEZAS.look(0, 1, 1)[4]
    lineas = int((fila >= 0.04).sum())
    assert pagina.locator(".heads-lines line").count() == lineas < 7
    escrito = pagina.locator(".heads-lines text").all_text_contents()[7:]
    palabras = CABEZAS.words[0]
    assert [t.split() for t in escrito] == [
        [palabra, str(int(100 * peso + 0.5)), "%"]
        for palabra, peso in zip(palabras, fila.tolist(), strict=True)
    ]
    dicho = pagina.locator(".reading").inner_text()
    assert f"«río» mira sobre todo a «{palabras[int(fila.argmax())]}»" in dicho


def test_si_las_demas_frases_no_llegan_se_dice_y_sigue_la_que_habia(abrir):
    pagina = abrir(CABEZAS)
    pagina.evaluate(
        """() => { for (const uno of document.querySelectorAll("[data-atento-file]")) {
          uno.textContent = ""; uno.dataset.url = "data:text/javascript,"; } }"""
    )
    mando = pagina.get_by_role("slider").first
    mando.focus()
    pagina.keyboard.press("End")
    pagina.get_by_text("Comprueba la red").first.wait_for()
    assert leer(pagina, CABEZAS)["state"]["sentence"] == 0 and mando.input_value() == "1"


# --- Los caminos ----------------------------------------------------------------------------------


def test_los_caminos_son_los_de_python_con_todas_las_palabras(abrir):
    pagina = abrir(CAMINOS)
    for inicio, fin, filtro in [(0, 4, 2), (1, 4, 3), (0, 1, 5), (2, 4, 2), (0, 3, 4)]:
        visto = pagina.evaluate(
            """([id, inicio, fin, filtro]) => {
              const raiz = document.getElementById(id), grupo = (nombre, i) =>
                raiz.querySelector(`[aria-label="${nombre}"]`).children[i].click();
              grupo("Desde", inicio); grupo("Hasta", fin - 1); grupo("Desde", inicio);
              const mando = raiz.querySelector("[type=range]");
              mando.value = filtro; mando.dispatchEvent(new Event("input"));
              return raiz.atento;
            }""", [CAMINOS.element_id, inicio, fin, filtro],
        )  # fmt: skip
        assert visto["state"] == {"start": inicio, "end": fin, "kernel": filtro}
        caminos = CAMINOS.route(inicio, fin, filtro)
        assert {nombre: visto["values"][nombre] for nombre in caminos} == caminos
        assert visto["values"]["reached"] == CAMINOS.reached(inicio, fin, filtro)


def test_la_pregunta_de_los_caminos_se_contesta_con_el_teclado(abrir):
    pagina = abrir(CAMINOS)
    mando = pagina.get_by_role("slider")
    mando.focus()
    assert "✓" not in pagina.locator(".verdict").inner_text()
    mando.press("ArrowRight")
    assert (
        leer(pagina, CAMINOS)["values"]["reached"]
        and "✓" in pagina.locator(".verdict").inner_text()
    )
    pagina.get_by_role("radiogroup", name="Hasta").get_by_role(
        "radio"
    ).first.click()  # no se cruzan
    estado = leer(pagina, CAMINOS)["state"]
    assert (estado["start"], estado["end"]) == (0, 1)
    assert "✓" not in pagina.locator(".verdict").inner_text()  # no son las palabras de la pregunta
    assert "La pregunta es de" in pagina.locator(".verdict").inner_text()


def _veredictos(pagina, maximo: int) -> list[str]:
    mando, dichos = pagina.get_by_role("slider"), []
    mando.focus()
    for _ in range(maximo - 1):
        dichos.append(pagina.locator(".verdict").inner_text())
        mando.press("ArrowRight")
    return dichos


def test_el_veredicto_de_los_caminos_concuerda_y_dice_si_hay_un_filtro_menor(abrir):
    una = explorers.paths(WORDS, kernel=2, goal=1, name="una")
    pagina = abrir(una)
    dichos = _veredictos(pagina, 5)
    assert "basta 1 capa" in dichos[-1] and "Se pide 1" in dichos[0]
    dos = explorers.paths(WORDS, start=0, end=1, kernel=2, goal=1, name="dos")
    pagina = abrir(dos)
    dichos = _veredictos(pagina, 3)
    assert dichos[0].endswith("basta 1 capa.") and "uno menor" not in dichos[0]
    assert "hay un filtro menor" in dichos[1] and "✓" not in dichos[1]


def test_los_caminos_nombran_sus_puntas_y_dicen_si_se_empuja_la_otra(abrir):
    pagina = abrir(explorers.paths(WORDS, start=2, kernel=2, name="puntas"))
    assert pagina.locator(".ends").first.locator("text").all_text_contents() == [
        WORDS[2], WORDS[4]
    ]  # fmt: skip
    assert pagina.locator("path.head").count() == 2 + 2 + 1
    pagina.get_by_role("radiogroup", name="Hasta").get_by_role("radio").first.click()
    assert "«Desde» pasa a" in pagina.locator("main").inner_text()


def _igual_pintada(pagina, allowed: torch.Tensor) -> dict:
    """La página tiene esa máscara y ha contado lo mismo que Python."""
    visto = leer(pagina, PINTADA)
    assert visto["state"]["allowed"] == allowed.tolist()
    pasos = PINTADA.steps(allowed)
    _igual(visto["values"]["weights"], PINTADA.weights(allowed))
    assert visto["values"]["steps"] == pasos.tolist()
    assert visto["values"]["reach"] == ((pasos >= 0) & (pasos <= visto["state"]["layers"])).tolist()
    assert visto["values"]["dead"] == PINTADA.dead(allowed)
    assert pagina.locator(".alarm").is_visible() == bool(PINTADA.dead(allowed))
    return visto


def test_la_mascara_pintada_calcula_lo_mismo_que_python(abrir):
    pagina = abrir(PINTADA)
    azar = torch.Generator().manual_seed(1)
    for nombre, partida in PINTADA.presets().items():
        pagina.get_by_role("radio", name=nombre, exact=True).click()
        _igual_pintada(pagina, partida)
        allowed = partida.clone()
        for casilla in torch.randperm(25, generator=azar)[:9].tolist():
            pagina.get_by_role("gridcell").nth(casilla).click()
            allowed.view(-1)[casilla] ^= True
        pagina.get_by_role("slider").fill(str(1 + casilla % 4))
        visto = _igual_pintada(pagina, allowed)
        assert visto["state"]["view"] == "qué sabe"
        pagina.get_by_role("radio", name="los pesos").click()
        escritos = pagina.locator(".paint tbody td").all_inner_texts()
        assert escritos == [f"{w:.2f}" for w in PINTADA.weights(allowed).flatten().tolist()]


def test_la_mascara_se_pinta_con_raton_y_con_el_dedo(abrir):
    pagina, allowed = abrir(PINTADA), PINTADA.presets()["causal"].clone()
    pagina.mouse.move(*_centro(pagina, pagina.get_by_role("gridcell").nth(5)))
    pagina.mouse.down()
    for casilla in (6, 7, 8):
        pagina.mouse.move(*_centro(pagina, pagina.get_by_role("gridcell").nth(casilla)), steps=4)
    pagina.mouse.up()
    pagina.mouse.move(*_centro(pagina, pagina.get_by_role("gridcell").nth(9)))
    allowed[1, :4] = False  # la primera estaba pintada: se borra todo lo que se recorre
    _igual_pintada(pagina, allowed)
    assert "«banco»" in pagina.locator(".alarm").inner_text()
    movil = abrir(PINTADA, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    causal = PINTADA.presets()["causal"].clone()
    movil.get_by_role("gridcell").nth(4).tap()
    causal[0, 4] = True
    _igual_pintada(movil, causal)


# --- El flujo residual ----------------------------------------------------------------------------

ELEGIR = """([id, palabra, pila, subcapa]) => {
  const raiz = document.getElementById(id), elegir = (grupo, i) =>
    raiz.querySelector(`[aria-label="${grupo}"]`)?.children[i].click();
  elegir("Palabra", palabra); elegir("Pila", pila); elegir("Subcapa", subcapa);
  return raiz.atento;
}"""


@pytest.mark.parametrize("explorador", [FLUJO, FLUJO_ANCHO], ids=["flujo", "ancho"])
def test_el_flujo_calcula_lo_mismo_que_python(abrir, explorador):
    pagina = abrir(explorador)
    for pila_, (rotulo, subcapas) in enumerate(explorador.stacks.items()):
        for palabra, subcapa in itertools.product(
            range(len(explorador.words)), range(len(subcapas))
        ):
            visto = pagina.evaluate(ELEGIR, [explorador.element_id, palabra, pila_, subcapa])
            assert visto["state"]["label"] == rotulo and visto["state"]["sublayer"] == subcapa
            filas = explorador.compute(rotulo, palabra)
            for hecha, gemela in zip(visto["values"]["rows"], filas, strict=True):
                for clave, vector in gemela.items():
                    _igual(hecha[clave], vector)


def _escrito(pagina, selector: str) -> list[str]:
    return pagina.locator(selector).all_inner_texts()


@pytest.mark.parametrize(
    ("pila_", "tiras"),
    [(0, ["before", "read", "added", "total"]), (1, ["before", "added", "total", "after"])],
)
def test_lo_escrito_en_el_flujo_es_lo_calculado(abrir, pila_, tiras):
    pagina, rotulo = abrir(FLUJO), list(FLUJO.stacks)[pila_]
    for palabra, subcapa in ((0, 0), (3, 2), (1, 3)):
        pagina.evaluate(ELEGIR, [FLUJO.element_id, palabra, pila_, subcapa])
        filas = FLUJO.compute(rotulo, palabra)
        vectores = [filas[subcapa][clave].tolist() for clave in tiras]
        numeros = _escrito(pagina, ".strips .rods > span")
        assert numeros == [base.number(v) for vector in vectores for v in vector]
        normas = [base.number(filas[subcapa][clave].norm()) for clave in tiras]
        assert _escrito(pagina, ".strip-name .tail") == normas
        quedan = [FLUJO.x[palabra], *(fila["after"] for fila in filas)]
        assert _escrito(pagina, ".depths .tail") == [base.number(v.norm()) for v in quedan]
        dichas = pagina.locator(".strips [role=img]").evaluate_all(
            "tiras => tiras.map((t) => t.getAttribute('aria-label'))"
        )
        assert [d.split(": ")[1] for d in dichas] == [
            ", ".join(f"{n} {base.number(v)}" for n, v in zip(FLUJO.features, vector, strict=True))
            for vector in vectores
        ]
        dicha = pagina.get_by_role("radiogroup", name="Subcapa").get_by_role("radio").nth(2)
        assert dicha.get_attribute("aria-label").endswith(base.number(filas[2]["after"].norm()))
        proporcion = f"{100 * FLUJO.shares(rotulo, palabra)[subcapa]:.0f}\u00a0%"
        assert proporcion in pagina.locator(".adds").inner_text()


def test_las_columnas_miden_lo_que_dicen(abrir):
    pagina = abrir(FLUJO)
    pagina.evaluate(ELEGIR, [FLUJO.element_id, 3, 0, 1])
    fila = FLUJO.compute("Pre-LN", 3)[1]
    mayor = max(float(v.abs().max()) for v in fila.values())
    cajas = pagina.locator(".strips .stem").evaluate_all(
        "tallos => tallos.map((t) => [t.offsetHeight, t.parentNode.offsetHeight, t.offsetTop])"
    )
    valores = torch.cat([fila[k] for k in ("before", "read", "added", "total")]).tolist()
    for (alto, hueco, arriba), valor in zip(cajas, valores, strict=True):
        assert abs(alto - max(1, hueco / 2 * abs(valor) / mayor)) <= 1.01
        assert abs(arriba - (hueco / 2 - (alto if valor > 0 else 0))) <= 1.01


def test_el_flujo_se_recorre(abrir):
    pagina, subcapas = abrir(FLUJO), FLUJO.stacks["Pre-LN"]
    assert pagina.get_by_role("button", name="Anterior").is_disabled()
    for subcapa in subcapas[1:]:
        pagina.get_by_role("button", name="Siguiente").click()
        assert pagina.locator(".detail-move b").inner_text() == subcapa.label
        assert f"la {subcapa.name}, el " in pagina.locator(".adds").inner_text()
    assert pagina.get_by_role("button", name="Siguiente").is_disabled()
    ultima = FLUJO.compute("Post-LN")[-1]["after"].norm()
    pagina.get_by_role("radio", name="Post-LN").click()
    assert pagina.locator(".reading").inner_text().endswith(f"queda {base.number(ultima)}.")


def test_una_palabra_sin_nada_en_el_flujo_se_dice(abrir):
    pagina = abrir(FLUJO_ANCHO)
    assert "donde no había nada" in pagina.locator(".adds").inner_text()
    assert "∞" not in pagina.locator(".stage").inner_text()
    assert "NaN" not in pagina.locator(".stage").inner_html()


def test_la_barra_dice_la_cuenta_de_una_componente(abrir):
    pagina, fila = abrir(FLUJO), FLUJO.compute()[0]
    pagina.locator(".strips .strip").last.locator(".rods > span").nth(2).hover()
    antes, suma = (base.number(fila[k][2]) for k in ("before", "total"))
    dicho = pagina.locator(".probe").inner_text()
    assert dicho.startswith(f"número: {antes} + ") and dicho.endswith(f"= {suma}")


# --- El mapa --------------------------------------------------------------------------------------

TOCAR = """([id, parte, bloque]) => {
  const raiz = document.getElementById(id);
  raiz.querySelector('[aria-label="Parte del mapa"]').children[parte].click();
  const bloques = raiz.querySelector('[aria-label="Bloque"]');
  if (bloques && !bloques.children[bloque].hidden) bloques.children[bloque].click();
  return raiz.atento;
}"""


@pytest.mark.parametrize("explorador", [MAPA, MAPA_ANCHO], ids=["mapa", "mapa-ancho"])
def test_cada_parte_del_mapa_dice_lo_que_entra_y_lo_que_sale(abrir, explorador):
    pagina = abrir(explorador)
    for i, parte in enumerate(explorador.parts):
        for bloque in range(explorador.layers[parte.stack] if parte.stack else 1):
            visto = pagina.evaluate(TOCAR, [explorador.element_id, i, bloque])
            assert (visto["state"]["key"], visto["state"]["block"]) == (parte.key, bloque)
            for sentido, parejas in (("reads", parte.reads), ("gives", parte.gives)):
                for (_, nombre), tabla in zip(parejas, visto["values"][sentido], strict=True):
                    cierta = explorador.tables.get(nombre.format(b=bloque))
                    assert (tabla is None) == (cierta is None), nombre
                    if cierta is not None:
                        dada = torch.tensor(tabla, dtype=torch.float64)
                        assert (dada - cierta).abs().max() <= 5.1e-4, nombre
        ficha = pagina.locator(".part-card").inner_text()
        assert parte.says in ficha and "NaN" not in ficha and "undefined" not in ficha
        if parte.base:
            miles = f"{parte.base:,}".replace(",", "\u202f" if parte.base >= 10_000 else "")
            assert miles in ficha


def test_cada_boton_del_mapa_cae_sobre_su_parte(abrir):
    for ancho in (900, 390):
        pagina = abrir(MAPA, viewport={"width": ancho, "height": 900})
        lienzo = pagina.locator(".machine svg").bounding_box()
        botones = pagina.get_by_role("radiogroup", name="Parte del mapa").get_by_role("radio")
        for nombre, texto in (("Autoatención del codificador", "autoatención"),
                              ("Atención cruzada", "atención cruzada"),
                              ("Generador", "generador"), ("Memoria Z", "memoria Z")):  # fmt: skip
            caja = pagina.get_by_role("radio", name=nombre, exact=True).bounding_box()
            letras = pagina.locator(".machine svg text").filter(has_text=re.compile(f"^{texto}$"))
            dentro = [
                c for c in (letra.bounding_box() for letra in letras.all())
                if caja["x"] <= c["x"] + c["width"] / 2 <= caja["x"] + caja["width"]
                and caja["y"] <= c["y"] + c["height"] / 2 <= caja["y"] + caja["height"]
            ]  # fmt: skip
            assert len(dentro) == 1, (nombre, ancho)
        for boton in botones.all():
            caja = boton.bounding_box()
            assert min(caja["width"], caja["height"]) >= 24
            assert caja["x"] >= lienzo["x"] - 8


ROTULOS_DEL_MAPA = {
    ("embedding", 0): "Embedding del origen", ("embedding", 1): "Embedding del destino",
    ("autoatención", 0): "Autoatención del codificador",
    ("autoatención", 1): "Autoatención causal del decodificador",
    ("red densa", 0): "Red densa del codificador", ("red densa", 1): "Red densa del decodificador",
    ("posición p", 0): "Posiciones del origen", ("posición p", 1): "Posiciones del destino",
    ("atención cruzada", 1): "Atención cruzada", ("memoria Z", 0): "Memoria Z",
    ("generador", 1): "Generador", ("softmax", 1): "Softmax",
}  # fmt: skip


@pytest.mark.parametrize("ancho", [1280, 768, 700, 650, 600, 390])
def test_pulsar_en_un_rotulo_del_mapa_abre_su_parte(abrir, ancho):
    pagina = abrir(MAPA, viewport={"width": ancho, "height": 1400})
    lienzo = pagina.locator(".machine svg").bounding_box()
    for (texto, lado), titulo in ROTULOS_DEL_MAPA.items():
        letras = pagina.locator(".machine svg text").filter(has_text=re.compile(f"^{texto}$"))
        cajas = [letra.bounding_box() for letra in letras.all()]
        centros = [(c["x"] + c["width"] / 2, c["y"] + c["height"] / 2) for c in cajas]
        medio = lienzo["x"] + lienzo["width"] / 2
        (sitio,) = [(x, y) for x, y in centros if (x > medio) == bool(lado)]
        pagina.mouse.click(*sitio)
        assert pagina.locator(".part-name").inner_text() == titulo, (texto, lado)


def test_el_mapa_se_recorre_y_se_dice(abrir):
    pagina = abrir(MAPA)
    assert pagina.get_by_role("button", name="Anterior").is_disabled()
    pagina.get_by_role("button", name="Siguiente").click()
    assert leer(pagina, MAPA)["state"]["part"] == 1
    pagina.get_by_role("radio", name="Atención cruzada", exact=True).click()
    pagina.wait_for_function(
        "document.querySelector('[aria-live]').textContent.includes('h × n × m = 2 × 6 × 5')"
    )
    assert pagina.locator(".part-card a").get_attribute("href") == "#cruzada"
    pagina.get_by_role("radio", name="cabeza 2").click()
    peso = MAPA.compute("decoder.cross_attention")["gives"][0][1, 2, 3]
    pagina.locator(".part-card .cells").first.locator(".number").nth(2 * 5 + 3).hover()
    assert pagina.locator(".probe").inner_text() == (
        f"«do» pone en «casa» un peso de {base.number(peso)}"
    )


# --- El modelo que continúa -----------------------------------------------------------------------

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


# --- La palabra tapada ----------------------------------------------------------------------------


def _toca_palabra(pagina, sitio: int) -> None:
    pagina.get_by_role("radiogroup", name="Frase").get_by_role("radio").nth(sitio).click()


def _pon(pagina, sitio: int, forma: str) -> None:
    """Toca una palabra y pone ahí esa forma; «▢», la tapa."""
    _toca_palabra(pagina, sitio)
    opciones = pagina.get_by_role("radiogroup", name="Aquí pone")
    nombre = "▢ (tapada)" if forma == "▢" else forma
    opciones.get_by_role("radio", name=nombre, exact=True).click()


def _dicho(pagina, huecos: list[int]) -> dict:
    """Lo que dice el modelo, cuando ya lo dice de esos huecos."""
    pagina.wait_for_function(
        "huecos => String(Object.keys(document.querySelector('.atento-exp').atento.values?.probs"
        " ?? {})) === String(huecos)",
        arg=huecos,
    )
    return pagina.evaluate("document.querySelector('.atento-exp').atento")


def _como_en_pytorch(visto: dict, libro) -> None:
    """Lo de la página es lo del modelo: hasta 1e-4 con 32 bits, hasta 1e-9 con 64."""
    palabras, huecos = visto["state"]["words"], [int(i) for i in visto["values"]["probs"]]
    ids = torch.tensor([[agreement.CLS_ID, *agreement.encode(palabras), agreement.SEP_ID]])
    ids[0, [i + 1 for i in huecos]] = agreement.MASK_ID
    with torch.no_grad():
        de_32 = libro.model(ids)[0, [i + 1 for i in huecos]].softmax(-1)
    de_64 = libro.compute(palabras, huecos)
    probs = torch.tensor(list(visto["values"]["probs"].values()), dtype=torch.float64)
    assert (probs - de_32).abs().max() <= 1e-4 and (probs - de_64["probs"]).abs().max() <= 1e-9
    rasgos = torch.tensor(visto["values"]["traits"], dtype=torch.float64)
    fila = huecos.index(visto["state"]["gap"])
    assert (rasgos - de_64["traits"][fila]).abs().max() <= 1e-9


@pytest.mark.parametrize("explorador", [book_cloze(), HUECO], ids=["libro", "pequeño"])
def test_en_cada_hueco_la_pagina_dice_lo_que_pytorch(sumador, explorador):
    pagina = sumador(explorador)
    for frase in explorador.sentences:
        ultima, vistas = len(frase.words) - 1, set()
        for sitio in (ultima, 0, frase.agreeing[3], 5):
            _pon(pagina, sitio, "▢")
            vistas.add(sitio)
            visto = _dicho(pagina, sorted(vistas))
            assert visto["state"]["gap"] == sitio
            _como_en_pytorch(visto, explorador)
        otra = agreement.others(frase.words[2])[0]
        _pon(pagina, 2, otra)
        visto = _dicho(pagina, sorted(vistas))
        assert visto["state"]["words"][2] == otra and visto["state"]["gap"] == 5
        _como_en_pytorch(visto, explorador)
        pagina.get_by_role("button", name="Otra frase").click()


def test_la_pregunta_de_la_palabra_tapada_se_contesta_moviendola(sumador):
    """Con la última tapada, de las demás palabras solo el determinante cambia su género."""
    libro = book_cloze()
    frase = libro.sentences[0]
    pagina = sumador(libro)
    otro = next(i for i, papel in enumerate(frase.roles) if papel and i != 1)
    ultima = len(frase.words) - 1
    _pon(pagina, ultima, "▢")
    _dicho(pagina, [ultima])
    assert "es femenino plural" in pagina.locator(".reading").inner_text()
    cambian = []
    for sitio in (0, 1, 2, otro):
        formas = agreement.others(frase.words[sitio], include=True)
        _pon(pagina, sitio, formas[formas.index(frase.words[sitio]) ^ 1])
        dice = pagina.locator(".reading").inner_text()
        visto = _dicho(pagina, [ultima])["values"]["traits"]
        if "Ha cambiado: antes, femenino plural; ahora, masculino plural" in dice:
            cambian.append(sitio)
            assert visto[2] > visto[3]
        else:
            assert "es femenino plural; antes, el" in dice and visto[3] > 0.7
        _pon(pagina, sitio, frase.words[sitio])
    assert cambian == [0]


def test_las_barras_del_hueco_miden_ahora_y_antes(sumador):
    libro = book_cloze()
    palabras = list(libro.sentences[0].words)
    ultima = len(palabras) - 1
    pagina = sumador(libro)
    _pon(pagina, ultima, "▢")
    _dicho(pagina, [ultima])
    antes = libro.compute(palabras, [ultima])
    palabras[0] = "los"
    _pon(pagina, 0, "los")
    ahora = libro.compute(palabras, [ultima])
    barras = pagina.locator(".cloze-traits .lot")
    for i in range(5):
        parte, era = (float(x["traits"][0, i]) for x in (ahora, antes))
        ancho, hueco, raya = (
            barras.nth(i)
            .locator(".fill")
            .evaluate(
                "e => [e.getBoundingClientRect().width, e.parentNode.clientWidth,"
                " e.parentNode.style.getPropertyValue('--was')]"
            )
        )
        assert abs(ancho - hueco * parte) < 1 and abs(float(raya[:-1]) - 100 * era) < 1e-6
        assert barras.nth(i).locator(".tail").inner_text() == f"{int(100 * parte + 0.5)}\u00a0%"
    orden = ahora["probs"][0].argsort(descending=True)[:6].tolist()
    nombres = pagina.locator(".lots:not(.cloze-traits) .lot-name").all_inner_texts()
    assert nombres == [agreement.WORDS[i] for i in orden]
    elegida = pagina.get_by_role("radiogroup", name="Frase").get_by_role("radio").nth(ultima)
    assert agreement.WORDS[orden[0]] in elegida.inner_text()


def test_una_palabra_se_cambia_por_otra_y_se_vuelve_a_empezar(sumador):
    pagina = sumador(HUECO)
    frase = HUECO.sentences[0]
    volver = pagina.get_by_role("button", name="Volver a empezar")
    assert volver.is_disabled()
    _toca_palabra(pagina, 1)
    lista = pagina.get_by_label("Otra palabra")
    opciones = lista.locator("option").all_inner_texts()
    sitio = agreement.others(frase.words[1], include=True).index(frase.words[1])
    assert opciones == [fila.split()[sitio] for fila in agreement.NOUNS]
    otra = next(x for x in opciones if x != frase.words[1])
    lista.focus()
    lista.select_option(otra)
    assert lista.evaluate("e => e === document.activeElement")
    assert pagina.get_by_role("radio", name=otra, exact=True).count() == 2  # en la frase y debajo
    assert pagina.locator(".cloze-changed").all_inner_texts() == [otra]
    volver.click()
    assert leer(pagina, HUECO)["state"]["words"] == list(frase.words)
    assert not pagina.locator(".cloze-changed").count()
    _toca_palabra(pagina, 1)
    assert lista.input_value() == frase.words[1]
    que = frase.words.index("que")
    _toca_palabra(pagina, que)  # «que» no tiene otras formas ni se cambia por otra
    opciones = pagina.get_by_role("radiogroup", name="Aquí pone").get_by_role("radio")
    assert opciones.all_inner_texts() == ["que", "▢ (tapada)"] and not lista.is_visible()


def test_destapar_la_que_se_miraba_deja_otro_hueco_a_la_vista(sumador):
    pagina = sumador(HUECO)
    palabras = HUECO.sentences[0].words
    _pon(pagina, 0, "▢")
    _pon(pagina, 2, "▢")
    assert _dicho(pagina, [0, 2])["state"]["gap"] == 2
    _toca_palabra(pagina, 0)
    assert _dicho(pagina, [0, 2])["state"]["gap"] == 0
    _pon(pagina, 0, palabras[0])
    assert _dicho(pagina, [2])["state"]["gap"] == 2
    assert palabras[2] in pagina.locator(".cloze-title").inner_text()
    _pon(pagina, 2, palabras[2])
    assert leer(pagina, HUECO)["state"]["gap"] == -1 and not leer(pagina, HUECO)["values"]
    assert not pagina.locator(".cloze-traits").is_visible()


def test_los_pesos_se_piden_al_tapar_y_una_vez(sumador):
    pagina = sumador(book_cloze())
    pedidos = []
    pagina.on("request", lambda peticion: pedidos.append(peticion.url))
    _pon(pagina, 0, "los")
    pagina.wait_for_timeout(300)
    assert not pedidos and pagina.evaluate("window.atentoFiles") is None
    for sitio in (1, 2):
        _pon(pagina, sitio, "▢")
    _dicho(pagina, [1, 2])
    assert len(pedidos) == 1 and "modelos/libro-" in pedidos[0]


def test_si_los_pesos_no_llegan_se_dice_y_se_puede_repetir(abrir):
    pagina = abrir(HUECO)
    guardado = pagina.evaluate(
        """() => {
          const uno = document.querySelector("[data-atento-file]"), texto = uno.textContent;
          uno.textContent = ""; uno.dataset.url = "data:text/javascript,"; return texto; }"""
    )
    _pon(pagina, 0, "▢")
    pagina.get_by_text("Comprueba la red").first.wait_for()
    assert not leer(pagina, HUECO)["values"] and leer(pagina, HUECO)["state"]["hidden"][0]
    pagina.evaluate(
        "texto => (document.querySelector('[data-atento-file]').textContent = texto)", guardado
    )
    _pon(pagina, 0, "▢")
    _dicho(pagina, [0])


def test_en_papel_la_palabra_tapada_sin_usar_deja_su_tabla(sumador):
    pagina = sumador(HUECO)
    pagina.emulate_media(media="print")
    assert pagina.locator(".quiet table").is_visible() and not pagina.locator(".stage").is_visible()
    pagina.emulate_media(media="screen")
    _pon(pagina, 0, "▢")
    _dicho(pagina, [0])
    pagina.emulate_media(media="print")
    assert pagina.locator(".cloze-traits").is_visible()
    assert not pagina.locator(".quiet").is_visible()


# --- El rango -------------------------------------------------------------------------------------


def test_en_cada_rango_la_pagina_aproxima_como_pytorch(abrir):
    pagina = abrir(RANGO)
    mando = pagina.get_by_role("slider")
    for rango in range(RANGO.most + 1):
        mando.fill(str(rango))
        visto, gemelo = leer(pagina, RANGO), RANGO.compute(rango)
        assert visto["state"]["rank"] == rango and visto["values"]["cost"] == gemelo["cost"]
        for nombre in ("approx", "shares"):
            obtenido = torch.tensor(visto["values"][nombre], dtype=torch.float64)
            assert (obtenido - gemelo[nombre]).abs().max() <= 1e-9, (rango, nombre)


def test_lo_que_se_dice_del_rango_es_lo_calculado(abrir):
    pagina = abrir(RANGO)
    pagina.get_by_role("slider").fill("4")
    recoge = int(100 * float(RANGO.compute(4)["shares"][4]) + 0.5)
    dicho = pagina.locator(".reading").inner_text().replace("\u00a0", " ")
    assert dicho == (
        f"Rango 4: 176 números de 480, el 37 %. Recoge el {recoge} %. Así acierta el 94 %."
    )
    assert recoge > 95  # son cuatro direcciones y algo de ruido
    nombres = pagina.locator(".chart .names span").all_inner_texts()
    assert sorted(nombres) == ["W", "al azar", "barajado", "el mejor", "ΔW"]


def test_tocar_el_grafico_elige_el_rango(abrir):
    pagina = abrir(RANGO)
    for k, sitio in ((0, 9), (1, 3)):
        grafico = pagina.locator(".plot").nth(k)
        caja = grafico.bounding_box()
        grafico.click(position={"x": caja["width"] * sitio / RANGO.most, "y": caja["height"] / 2})
        assert leer(pagina, RANGO)["state"]["rank"] == sitio
        assert pagina.get_by_role("slider").input_value() == str(sitio)


# --- El terreno de una memoria --------------------------------------------------------------------


def test_en_el_terreno_se_baja_como_en_pytorch(abrir):
    pagina = abrir(TERRENO)
    for beta in TERRENO.betas:
        pagina.get_by_role("slider").fill(str(math.log2(beta)))
        for sitio in ([2.0, 1.0], [-0.4, -0.2], [-1.4, 1.2]):
            punto = [f"{x:.2f}" for x in sitio]
            _lleva(pagina, *sitio)
            visto, gemelo = leer(pagina, TERRENO), TERRENO.compute(sitio, beta)
            assert [f"{x:.2f}" for x in visto["state"]["state"]] == punto
            for nombre in ("path", "energies", "weights"):
                _igual(visto["values"][nombre], gemelo[nombre])
            assert visto["values"]["settled"] == gemelo["settled"]


def _lleva(pagina, x: float, y: float) -> None:
    """Arrastra el estado hasta un sitio del plano."""
    caja = pagina.locator(".plane").bounding_box()
    izquierda, derecha, abajo, arriba = TERRENO.limits
    unidad = (caja["width"] * 372 / 400) / (derecha - izquierda)
    orilla = caja["width"] * 14 / 400
    agarre = pagina.locator(".grip").bounding_box()
    pagina.mouse.move(agarre["x"] + agarre["width"] / 2, agarre["y"] + agarre["height"] / 2)
    pagina.mouse.down()
    pagina.mouse.move(
        caja["x"] + orilla + unidad * (x - izquierda), caja["y"] + orilla + unidad * (arriba - y)
    )
    pagina.mouse.up()


def test_lo_que_se_dice_del_terreno_es_lo_calculado(abrir):
    pagina = abrir(TERRENO)
    mando = pagina.get_by_role("slider")
    mando.fill(str(math.log2(0.7)))
    assert pagina.locator(".reading").inner_text().endswith("es una mezcla, no un recuerdo.")
    mando.fill("2")  # beta = 4
    fin = TERRENO.compute(beta=4.0)
    sitio = ", ".join(f"{x:.2f}" for x in fin["path"][-1].tolist())
    assert pagina.locator(".reading").inner_text() == (
        f"Con β = 4.00, se para tras {len(fin['path']) - 1} pasos, en ({sitio}): recuerda «mar»."
    )
    _lleva(pagina, -1.4, 0.3)
    assert pagina.locator(".reading").inner_text().endswith("recuerda «pan».")
    pagina.get_by_role("button", name="Volver al principio").click()
    assert leer(pagina, TERRENO)["state"] == {"state": [2, 1], "beta": 0.7}


def test_dando_pasos_se_llega_donde_dice_el_camino(abrir):
    pagina = abrir(TERRENO)
    camino = TERRENO.compute()["path"]
    boton = pagina.get_by_role("button", name="Dar un paso")
    for paso in camino[1:4]:
        boton.click()
        _igual(leer(pagina, TERRENO)["state"]["state"], paso)
    pagina.get_by_role("slider").fill("4")
    for _ in range(20):
        if not boton.is_enabled():
            break
        boton.click()
    assert not boton.is_enabled(), "en el fondo no hay paso que dar"


# --- La softmax por trozos ------------------------------------------------------------------------

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
        _igual(valores["trace"], gemelo["trace"])
        _igual(
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


@pytest.mark.parametrize(
    "explorador", [PASOS, HAZ, UNIONES_BPE, TROZOS], ids=["pasos", "haz", "uniones", "trozos"]
)
def test_en_papel_sale_el_ultimo_paso_y_al_volver_el_de_antes(abrir, explorador):
    pagina = abrir(explorador)
    siguiente = pagina.get_by_role("button", name=re.compile("Siguiente|Unir"))
    siguiente.click()
    paso = leer(pagina, explorador)["state"]["step"]
    impreso = PdfReader(io.BytesIO(pagina.pdf())).pages
    en_papel = "".join("".join(p.extract_text().split()) for p in impreso)
    assert leer(pagina, explorador)["state"]["step"] == paso
    while siguiente.is_enabled():
        siguiente.click()
    assert leer(pagina, explorador)["state"]["step"] != paso
    assert "".join(pagina.locator(".reading").text_content().split()) in en_papel


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


# --- El presupuesto -------------------------------------------------------------------------------


def _elige(pagina, **pedido) -> None:
    """Lleva cada mando del presupuesto a un valor."""
    nombres = {
        "width": "Anchura",
        "layers": "Capas",
        "context": "Tokens por texto",
        "texts": "Textos por GPU",
        "processes": "GPU",
        "tokens": "Tokens en total",
        "use": "MFU",
    }
    for clave, valor in pedido.items():
        if clave == "stage":
            pagina.get_by_role("radio").nth(valor).click()
        elif clave in ("fused", "again"):
            pagina.get_by_role("checkbox").nth(int(clave == "again")).set_checked(valor)
        else:
            mando = pagina.get_by_role("slider", name=nombres[clave], exact=True)
            mando.fill(str(TALLA.data()["scales"][clave].index(valor)))


@pytest.mark.parametrize("pedido", [
    {},
    {"width": 64, "layers": 1, "context": 64, "texts": 512, "fused": False},
    {"width": 1600, "layers": 48, "again": True, "stage": 1, "processes": 512, "use": 10},
    {"width": 12288, "layers": 96, "context": 2048, "texts": 1, "stage": 3, "again": True,
     "processes": 64, "tokens": 3 * 10**11, "fused": True},
])  # fmt: skip
def test_el_presupuesto_de_la_pagina_es_el_de_python(abrir, pedido):
    pagina = abrir(TALLA)
    _elige(pagina, **pedido)
    visto, gemelo = leer(pagina, TALLA), TALLA.compute(**pedido)
    assert visto["state"] == TALLA.start | pedido
    for nombre, valor in gemelo.items():
        assert visto["values"][nombre] == pytest.approx(valor, rel=1e-12), nombre


def test_lo_que_se_dice_del_presupuesto_es_lo_calculado(abrir):
    pagina = abrir(TALLA)
    frase, fallo = pagina.locator(".reading"), pagina.locator(".verdict")
    total = sum(TALLA.compute()["memory"]) / 1e9
    assert frase.inner_text() == (
        f"124 millones de parámetros. En cada GPU, {total:.2f} GB de 80 GB: cabe."
        " Leer 10 mil millones de tokens llevaría 45 minutos."
    )
    assert TALLA.compute()["seconds"] == pytest.approx(45 * 60, rel=0.01) and fallo.is_hidden()
    pagina.get_by_role("button", name="GPT-3").click()
    assert fallo.inner_text() == "GPT-3 todavía no cabe."
    _elige(pagina, stage=3, again=True, processes=64)
    assert fallo.inner_text() == "✓ GPT-3 cabe, con 64 GPU."
    _elige(pagina, processes=32)
    assert fallo.inner_text() == "GPT-3 todavía no cabe."


# --- El dígito que se dibuja ----------------------------------------------------------------------


def _corre(pagina, derecha: int = 0, abajo: int = 0) -> None:
    """Pulsa las flechas tantas veces como haga falta."""
    for cuanto, menos, mas in ((derecha, "a la izquierda", "a la derecha"),
                               (abajo, "hacia arriba", "hacia abajo")):  # fmt: skip
        boton = pagina.get_by_role("button", name=f"Correr {mas if cuanto > 0 else menos}")
        for _ in range(abs(cuanto)):
            boton.click()


def _contestado(pagina) -> dict:
    """Lo que deja el explorador, cuando el modelo ya ha contestado."""
    pagina.wait_for_function("() => document.querySelector('.atento-exp').atento.values")
    return pagina.evaluate("document.querySelector('.atento-exp').atento")


def _lo_lee_como_pytorch(visto: dict, libro) -> None:
    """Lo de la página es lo del modelo: hasta 1e-4 con 32 bits, hasta 1e-9 con 64."""
    tinta, estado = torch.tensor(visto["state"]["levels"]), visto["state"]
    abajo, derecha = estado["down"], estado["right"]
    antes = tinta.roll((-abajo, -derecha), (0, 1))
    de_64 = libro.compute(antes, down=abajo, right=derecha, follow=estado["follow"])
    for nombre in ("probs", "looks", "patches"):
        obtenido = torch.tensor(visto["values"][nombre], dtype=torch.float64)
        assert obtenido.shape == de_64[nombre].shape
        assert (obtenido - de_64[nombre]).abs().max() <= 1e-9, nombre
    if not estado["follow"]:
        imagen = libro.blank + (libro.full - libro.blank) * tinta.float()[None, None] / 16
        with torch.no_grad(), watching(libro.model) as mapas:
            de_32 = libro.model(imagen)[0].softmax(-1)
        assert (torch.tensor(visto["values"]["probs"]) - de_32).abs().max() <= 1e-4
        for capa, mirado in enumerate(visto["values"]["looks"]):
            suyo = mapas[f"encoder.blocks.{capa}.attention"][0, :, 0]
            assert (torch.tensor(mirado) - suyo).abs().max() <= 1e-4


@pytest.mark.parametrize("explorador", [book_sketch(), HOJA], ids=["libro", "pequeño"])
def test_de_cada_hoja_la_pagina_dice_lo_que_pytorch(sumador, explorador):
    pagina = sumador(explorador)
    for digito, tinta in enumerate(explorador.levels):
        pagina.get_by_role("radio", name=str(digito), exact=True).first.click()
        visto = _contestado(pagina)
        assert visto["state"]["levels"] == tinta.tolist()
        _lo_lee_como_pytorch(visto, explorador)
        _corre(pagina, derecha=1 + digito % 3, abajo=-(digito % 4))
        visto = _contestado(pagina)
        corrida = tinta.roll((-(digito % 4), 1 + digito % 3), (0, 1))
        assert visto["state"]["levels"] == corrida.tolist()
        _lo_lee_como_pytorch(visto, explorador)
        pagina.get_by_role("checkbox").click()
        _lo_lee_como_pytorch(_contestado(pagina), explorador)
        pagina.get_by_role("checkbox").click()


def test_la_pregunta_del_digito_se_contesta_moviendolo(sumador):
    """El 3 se reconoce corrido un píxel y no un parche; con sus posiciones, igual que al abrir."""
    libro = book_sketch()
    pagina = sumador(libro)
    dice = pagina.locator(".reading")
    _corre(pagina, derecha=1)
    _contestado(pagina)
    assert re.fullmatch(r"Dice 3, con el 92\s%. Antes, con el 100\s%.", dice.inner_text())
    _corre(pagina, derecha=1)
    assert re.fullmatch(r"Dice 2, con el 99\s%. Antes decía 3, con el 92\s%.", dice.inner_text())
    posiciones = pagina.locator(".sketch-strip b")
    assert posiciones.all_inner_texts() == [str(k) for k in range(1, 17)]
    pagina.get_by_role("checkbox", name="Correr también las posiciones").check()
    assert re.fullmatch(r"Dice 3, con el 100\s%. Antes decía 2, con el 99\s%.", dice.inner_text())
    filas = [[4, 1, 2, 3], [8, 5, 6, 7], [12, 9, 10, 11], [16, 13, 14, 15]]
    assert posiciones.all_inner_texts() == [str(k) for fila in filas for k in fila]
    probs = torch.tensor(_contestado(pagina)["values"]["probs"], dtype=torch.float64)
    assert (probs - libro.compute(libro.levels[3])["probs"]).abs().max() < 1e-9
    pagina.get_by_role("button", name="Volver a empezar").click()
    assert leer(pagina, libro)["state"]["levels"] == libro.levels[3].tolist()


def _traza(pagina, *puntos) -> None:
    """Dibuja con el ratón por esos puntos de la hoja, en píxeles de la imagen, de 0 a 8."""
    hoja = pagina.get_by_role("grid")
    hoja.scroll_into_view_if_needed()
    caja = hoja.bounding_box()
    sitios = [
        (caja["x"] + x / 8 * caja["width"], caja["y"] + y / 8 * caja["height"]) for x, y in puntos
    ]
    pagina.mouse.move(*sitios[0])
    pagina.mouse.down()
    for sitio in sitios[1:]:
        pagina.mouse.move(*sitio, steps=10)
    pagina.mouse.up()


def test_se_dibuja_un_siete_y_se_borra(sumador):
    libro = book_sketch()
    pagina = sumador(libro)
    pagina.get_by_role("radio", name="en blanco").click()
    visto = _contestado(pagina)
    assert not any(map(any, visto["state"]["levels"]))
    assert re.fullmatch(r"Dice 7, con el 73\s%.", pagina.locator(".reading").inner_text())
    _traza(pagina, (2, 1), (6, 1), (3.5, 7))
    visto = _contestado(pagina)
    tinta = torch.tensor(visto["state"]["levels"])
    assert int(tinta.max()) == 16 and 0 < int(tinta[tinta > 0].min()) < 16
    assert (tinta > 0).sum() < 32 and not tinta[4:, 6:].any()
    _lo_lee_como_pytorch(visto, libro)
    assert re.match(
        r"Dice 7, con el 9\d\s%. Antes, con el 73", pagina.locator(".reading").inner_text()
    )
    pagina.get_by_role("radio", name="Goma").click()
    _traza(pagina, (0, 1), (8, 1))
    sin = torch.tensor(_contestado(pagina)["state"]["levels"])
    assert sin[0].sum() < tinta[0].sum() / 2 and torch.equal(sin[3:], tinta[3:])
    _lo_lee_como_pytorch(_contestado(pagina), libro)


def test_con_el_dedo_se_dibuja_y_la_pagina_no_se_mueve(sumador):
    pagina = sumador(HOJA, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    celda = pagina.get_by_role("gridcell").nth(9)
    assert celda.evaluate("e => getComputedStyle(e).touchAction") == "pinch-zoom"
    antes = int(re.search(r"tinta (\d+)", celda.get_attribute("aria-label"))[1])
    celda.tap()
    visto = _contestado(pagina)
    assert visto["state"]["levels"][1][1] > antes and visto["state"]["isDrawn"]
    _lo_lee_como_pytorch(visto, HOJA)


def test_con_el_teclado_se_pone_y_se_quita_un_pixel(sumador):
    pagina = sumador(HOJA)
    tinta = HOJA.levels[1]
    fila, columna = (tinta == 0).nonzero()[3].tolist()
    pagina.locator("[role=gridcell][tabindex='0']").focus()
    for tecla, veces in (("ArrowDown", fila), ("ArrowRight", columna)):
        for _ in range(veces):
            pagina.keyboard.press(tecla)
    leido = pagina.locator(".probe").inner_text()
    assert leido == f"Fila {fila + 1}, columna {columna + 1}: tinta 0 de 16; llega 0.00"
    for lleno in (16, 0):
        pagina.keyboard.press("Enter")
        visto = _contestado(pagina)
        assert visto["state"]["levels"][fila][columna] == lleno
        _lo_lee_como_pytorch(visto, HOJA)
    assert visto["state"]["levels"] == tinta.tolist()


def test_encajar_centra_el_dibujo_y_lo_agranda(sumador):
    libro = book_sketch()
    pagina = sumador(libro)
    pagina.get_by_role("radio", name="en blanco").click()
    encajar = pagina.get_by_role("button", name="Encajar")
    assert encajar.is_disabled()
    _traza(pagina, (1, 1), (3, 1), (1.8, 4))  # un siete, arriba a la izquierda
    encajar.click()
    tinta = torch.tensor(_contestado(pagina)["state"]["levels"])
    assert tinta[0].any() and tinta[7].any() and (tinta[:, :4].any() and tinta[:, 4:].any())
    assert re.match(r"Dice 7, con", pagina.locator(".reading").inner_text())
    _lo_lee_como_pytorch(_contestado(pagina), libro)


def test_las_barras_y_los_mapas_del_digito_miden_lo_que_dicen(sumador):
    libro = book_sketch()
    pagina = sumador(libro)
    _corre(pagina, derecha=2)
    _contestado(pagina)
    antes, ahora = (libro.compute(libro.levels[3], right=n) for n in (1, 2))
    barras = pagina.locator(".sketch-bars .lot")
    for i in range(10):
        parte, era = float(ahora["probs"][i]), float(antes["probs"][i])
        raya = barras.nth(i).locator(".bar").evaluate("e => e.style.getPropertyValue('--was')")
        assert abs(float(raya[:-1]) - 100 * era) < 1e-6
        assert barras.nth(i).locator(".tail").inner_text() == f"{int(100 * parte + 0.5)}\u00a0%"
    mapas = pagina.locator(".sketch-map")
    for capa in range(2):
        pagina.get_by_role("radiogroup", name="Capa").get_by_role("radio").nth(capa).click()
        assert mapas.count() == 4
        for cabeza in range(4):
            escritos = mapas.nth(cabeza).locator("span").all_inner_texts()
            pesos = ahora["looks"][capa, cabeza]
            assert escritos == [str(int(100 * p + 0.5)) for p in pesos[1:].tolist()]
            dicho = mapas.nth(cabeza).locator("xpath=..").get_attribute("aria-label")
            assert f"al parche {int(pesos[1:].argmax()) + 1}, el " in dicho


def test_los_pesos_del_digito_se_piden_al_tocar_y_una_vez(sumador):
    pagina = sumador(book_sketch())
    pedidos = []
    pagina.on("request", lambda peticion: pedidos.append(peticion.url))
    pagina.get_by_role("radio", name="Goma").click()
    pagina.wait_for_timeout(300)
    assert not pedidos and pagina.evaluate("window.atentoFiles") is None
    assert not pagina.locator(".sketch-bars").is_visible()
    _corre(pagina, derecha=2, abajo=1)
    _contestado(pagina)
    assert len(pedidos) == 1 and "modelos/libro-" in pedidos[0]
    assert pagina.locator(".sketch-bars").is_visible()


def test_si_los_pesos_del_digito_no_llegan_se_dice_y_se_puede_repetir(abrir):
    pagina = abrir(HOJA)
    guardado = pagina.evaluate(
        """() => {
          const uno = document.querySelector("[data-atento-file]"), texto = uno.textContent;
          uno.textContent = ""; uno.dataset.url = "data:text/javascript,"; return texto; }"""
    )
    _corre(pagina, derecha=1)
    pagina.get_by_text("Comprueba la red").first.wait_for()
    assert not leer(pagina, HOJA)["values"] and leer(pagina, HOJA)["state"]["right"] == 1
    pagina.evaluate(
        "texto => (document.querySelector('[data-atento-file]').textContent = texto)", guardado
    )
    _corre(pagina, derecha=1)
    assert _contestado(pagina)["state"]["right"] == 2


def test_en_papel_el_digito_sin_tocar_deja_su_tabla(sumador):
    pagina = sumador(HOJA)
    pagina.emulate_media(media="print")
    assert pagina.locator(".quiet table").is_visible() and not pagina.locator(".stage").is_visible()
    pagina.emulate_media(media="screen")
    _corre(pagina, derecha=1)
    _contestado(pagina)
    pagina.emulate_media(media="print")
    assert pagina.locator(".sketch-bars").is_visible()
    assert not pagina.locator(".quiet").is_visible()


# --- Los parches del sumador ---------------------------------------------------------------------


def _parches(pagina) -> dict:
    pagina.wait_for_function("() => document.querySelector('.atento-exp').atento.values?.live")
    return pagina.evaluate("document.querySelector('.atento-exp').atento")


def _pon_sumas(pagina, limpia: Sum, corrompida: Sum) -> None:
    for nombre, suma in (("limpia", limpia), ("corrompida", corrompida)):
        for cual, numero in zip(("primer", "segundo"), suma[:2], strict=True):
            pagina.get_by_label(f"Suma {nombre}, {cual} número").fill(str(numero))


def _parchea_como_pytorch(visto: dict) -> None:
    """Cada parche, con 64 bits, hasta 1e-9; lo que vuelve, por `patch_effects` con el modelo de 32
    bits del capítulo, hasta 1e-4.
    """
    limpia, corrompida = (Sum(*suma) for suma in visto["state"]["pair"])
    valores, paso = visto["values"], visto["state"]["digit"]
    de_64 = PARCHES.compute(limpia, corrompida)
    for nombre in ("clean", "corrupted"):
        assert (torch.tensor(valores[nombre]) - de_64[nombre]).abs().max() <= 1e-4  # o redondeado
    assert valores["found"]
    for casilla, logits in valores["found"].items():
        s, i, j = map(int, casilla.split(","))
        obtenido = torch.tensor(logits, dtype=torch.float64)
        assert (obtenido - de_64[("read", "write")[s]][i, j]).abs().max() <= 1e-9, casilla
    modelo, uno, otro = trained.adder(), addition.batch([limpia]), addition.batch([corrompida])
    bueno, malo = (modelo(x.source, x.inputs)[0, paso].argmax() for x in (uno, otro))
    columnas = [[0, 4], [1, 5], [2, 6], [3], [7]], [[k] for k in range(5)]
    for s, sitios in enumerate((READS, WRITES)):
        vuelve = patch_effects(
            modelo, (uno.source, uno.inputs), (otro.source, otro.inputs),
            [sitio.site for sitio in sitios],
            lambda logits: (logits[0, paso, bueno] - logits[0, paso, malo]).item(),
            positions=columnas[s],
        ).restored  # fmt: skip
        for casilla, cuanto in valores["returned"].items():
            t, i, j = map(int, casilla.split(","))
            assert t != s or abs(vuelve[i, j].item() - cuanto) <= 1e-4, casilla


PAREJAS = [
    (Sum(458, 367), Sum(408, 317)), (Sum(458, 342), Sum(450, 340)), (Sum(459, 542), Sum(458, 541)),
    (Sum(312, 204), Sum(512, 204)), (Sum(458, 327), Sum(451, 324)), (Sum(7, 0), Sum(999, 999)),
]  # fmt: skip


def test_cada_parche_de_la_pagina_es_el_de_pytorch_con_ganchos(sumador):
    pagina = sumador(PARCHES)
    for pareja in PAREJAS:
        _pon_sumas(pagina, *pareja)
        _parches(pagina)
        pagina.get_by_role("button", name="Llenar el mapa").click()
        for cabezas, casillas in ((False, 45), (True, 105)):
            pagina.get_by_label("Cabeza a cabeza").set_checked(cabezas)
            visto = _parches(pagina)
            assert [tuple(x) for x in visto["state"]["pair"]] == [x[:2] for x in pareja]
            assert len(visto["values"]["found"]) == casillas
        _parchea_como_pytorch(visto)
        cifras = pagina.get_by_role("radiogroup", name="Cifra que se mide").get_by_role("radio")
        for k in range(cifras.count()):
            cifras.nth(k).click()
            _parchea_como_pytorch(_parches(pagina))
        pagina.get_by_label("Cabeza a cabeza").set_checked(False)
    pagina.get_by_role("button", name="Otra pareja").click()
    visto = _parches(pagina)
    assert visto["state"]["digit"] is not None and visto["values"]["found"] == {}
    pagina.get_by_role("button", name="Llenar el mapa").click()
    _parchea_como_pytorch(_parches(pagina))


def test_el_sumador_sin_parche_sigue_igual_tras_parchearlo(sumador):
    """Al quitar el parche no queda nada: la respuesta corrompida es la de antes."""
    pagina = sumador(PARCHES)
    casilla = pagina.get_by_role("grid", name="Al leer").get_by_role("gridcell").first
    escrito = pagina.locator(".pat-now td")
    casilla.click()
    visto = _parches(pagina)
    assert escrito.all_inner_texts() == ["0", "8", "2", "5"]
    assert casilla.inner_text() == base.number(visto["values"]["returned"]["0,7,0"]) == "0.99"
    assert visto["values"]["found"].keys() == {"0,7,0"}
    assert re.fullmatch(
        r"Tras leer, en cent\.: vuelve 0\.99\. En las centenas escribe 8, como la limpia\.",
        pagina.locator(".reading").inner_text(),
    )
    casilla.click()  # se quita, y queda lo que se vio
    assert _parches(pagina)["state"]["spot"] is None and casilla.inner_text() == "0.99"
    assert escrito.all_inner_texts() == ["0", "7", "2", "5"]
    de_64 = PARCHES.compute()["corrupted"]
    assert (torch.tensor(_parches(pagina)["values"]["corrupted"]) - de_64).abs().max() <= 1e-4


def test_la_pregunta_de_los_parches_se_contesta_tocando(sumador):
    pagina = sumador(PARCHES)
    leer, escribir = (pagina.get_by_role("grid", name=x) for x in ("Al leer", "Al escribir"))
    dicho = pagina.locator(".verdict")
    assert not dicho.is_visible()
    leer.get_by_role("gridcell", name="Tras leer, en dec.").click()
    _parches(pagina)
    assert dicho.inner_text() == "Esa no hace nada. Falta una que lo haga todo."
    leer.get_by_role("gridcell", name="Tras leer, en cent.").click()
    assert dicho.inner_text().startswith("Has encontrado una que lo hace todo")
    pagina.get_by_role("radio", name="todo nueves").click()
    assert not dicho.is_visible()
    pagina.get_by_role("button", name="Llenar el mapa").click()
    assert not dicho.is_visible(), "llenar el mapa no es buscar"
    visto = _parches(pagina)
    assert visto["state"]["digit"] == 3
    vuelve = visto["values"]["returned"]
    assert max(x for casilla, x in vuelve.items() if casilla[0] == "0") < 0.05
    assert vuelve["1,0,3"] > 0.95  # la última cifra escrita
    textos = [x.inner_text() for x in leer.get_by_role("gridcell").all()]
    assert len(textos) == 20 and all(abs(float(x.replace("−", "-"))) < 0.05 for x in textos)
    pagina.get_by_role("radio", name="unidades").click()
    pagina.get_by_label("Suma limpia, segundo número").fill("543")  # cambian las mismas cifras
    visto = _parches(pagina)
    assert visto["state"]["digit"] == 3 and visto["values"]["found"] == {}
    assert pagina.get_by_role("radio", name="millares").get_attribute("aria-checked") == "true"
    pagina.get_by_role("radio", name="todo nueves").click()
    pagina.get_by_role("radio", name="unidades").click()
    escribir.get_by_role("gridcell", name="Al entrar, en mill.").click()
    assert re.search("sigue el 9", pagina.locator(".reading").inner_text())
    for campo in ("primer", "segundo"):  # solo cifras, tres como mucho
        pagina.get_by_label(f"Suma corrompida, {campo} número").fill("a4-5.")
    assert _parches(pagina)["state"]["pair"] == [[459, 542], [45, 45]]
    _pon_sumas(pagina, Sum(459, 542), Sum(542, 459))
    assert "dan lo mismo" in pagina.locator(".reading").inner_text()
    assert _parches(pagina)["state"]["digit"] is None


def test_sin_tocarlo_los_parches_se_imprimen_hechos(sumador):
    """En papel, sin usar, la tabla quieta; usado, lo que se ve."""
    pagina = sumador(PARCHES)
    pagina.emulate_media(media="print")
    assert pagina.locator(".quiet").is_visible() and not pagina.locator(".stage").is_visible()
    pagina.emulate_media(media="screen")
    assert not pagina.locator(".quiet").is_visible()
    pagina.get_by_role("gridcell").first.click()
    _parches(pagina)
    pagina.emulate_media(media="print")
    assert not pagina.locator(".quiet").is_visible() and pagina.locator(".stage").is_visible()


# --- Las vocales que se mueven --------------------------------------------------------------------


def _mando(pagina, nombre: str, valor: float) -> None:
    pagina.get_by_role("slider", name=nombre, exact=True).fill(str(valor))


def _flechas(pagina, tecla: str, veces: int) -> None:
    pagina.locator(".grip").focus()
    for _ in range(veces):
        pagina.keyboard.press(tecla)


def _lo_oye_como_pytorch(visto: dict, libro) -> str:
    """Lo de la página es lo del modelo: hasta 1e-4 con 32 bits, hasta 1e-6 con 64. Devuelve lo que
    escribe.
    """
    s = visto["state"]
    dicho = Saying(
        tuple((1000 * y, 1000 * x) for x, y in s["spots"]),
        *(s[nombre] for nombre in ("pitch", "seconds", "noise", "seed")),
    )
    de_64 = libro.compute(dicho)
    assert visto["values"]["written"] == de_64["written"]
    for nombre in ("features", "probs", "looks"):
        obtenido = torch.tensor(visto["values"][nombre], dtype=torch.float64)
        assert obtenido.shape == de_64[nombre].shape
        assert (obtenido - de_64[nombre]).abs().max() <= 1e-6, nombre
    log_mel = vowels.features(libro.sound(dicho).float())
    assert (torch.tensor(visto["values"]["features"]) - log_mel).abs().max() <= 1e-4
    with torch.no_grad(), watching(libro.model) as mapas:
        anteriores = torch.tensor([[1, *de_64["written"][:-1]]])
        de_32 = libro.model(log_mel[None], anteriores)[0].softmax(-1)
    assert (torch.tensor(visto["values"]["probs"]) - de_32).abs().max() <= 1e-4
    for capa, mirado in enumerate(visto["values"]["looks"]):
        suyo = mapas[f"decoder.blocks.{capa}.cross_attention"][0]
        assert (torch.tensor(mirado) - suyo).abs().max() <= 1e-4
    return de_64["word"]


@pytest.mark.parametrize("explorador", [book_hearing(), OIDO], ids=["libro", "pequeño"])
def test_de_cada_voz_la_pagina_oye_lo_que_pytorch(sumador, explorador):
    pagina, vistos = sumador(explorador), set()
    for tono, dura, ruido, flecha in (
        (120, 0.2, 21, "ArrowUp"),
        (250, 0.14, 0, "Shift+ArrowRight"),
        (95, 0.1, 34, "Shift+ArrowDown"),
        (400, 0.2, 41, "Shift+ArrowLeft"),
    ):
        for nombre, valor in (("Tono", tono), ("Cada vocal dura", dura), ("Ruido", ruido)):
            _mando(pagina, nombre, valor)
        _flechas(pagina, flecha, 2)
        visto = _contestado(pagina)
        estado = visto["state"]
        assert (estado["pitch"], estado["seconds"]) == (tono, dura)
        assert estado["noise"] == (31 - ruido if ruido else None)
        vistos.add(_lo_oye_como_pytorch(visto, explorador))
        if ruido:
            pagina.get_by_role("button", name="Otro ruido").click()
            assert _contestado(pagina)["state"]["seed"] == estado["seed"] + 1
            _lo_oye_como_pytorch(_contestado(pagina), explorador)
    for _ in range(2):
        pagina.get_by_role("button", name="Añadir").click()
    pagina.get_by_role("button", name="Poner una u").click()
    visto = _contestado(pagina)
    assert len(visto["state"]["spots"]) == 5 and visto["state"]["spots"][4] == [0.992, 0.322]
    _lo_oye_como_pytorch(visto, explorador)
    for cuantas in (4, 3, 2):
        pagina.get_by_role("button", name="Quitar").click()
        visto = _contestado(pagina)
        assert len(visto["state"]["spots"]) == cuantas > visto["state"]["at"]
        _lo_oye_como_pytorch(visto, explorador)
    assert pagina.get_by_role("button", name="Quitar").is_disabled()
    pagina.get_by_role("button", name="Volver a empezar").click()
    visto = _contestado(pagina)
    dicho = [[y / 1000, x / 1000] for x, y in explorador.start.spots]
    assert visto["state"]["spots"] == dicho and visto["state"]["seed"] == 1
    assert pagina.get_by_role("slider", name="Tono").input_value() == "120"


def test_la_pregunta_de_las_vocales_se_contesta_moviendolas(sumador):
    """Con ruido, de la «e» a la «i» cambia lo escrito al bajar F1, y no al subir F2; sin él, con
    cualquiera de los dos.
    """
    libro = book_hearing()
    pagina = sumador(libro)

    def escrito() -> str:
        return _lo_oye_como_pytorch(_contestado(pagina), libro)

    rastro = pagina.locator(".hear-trail text")
    _flechas(pagina, "ArrowUp", 17)  # F1, de 458 a 290
    assert escrito() == "oia"
    letras = rastro.all_text_contents()
    assert letras[0] == "e" and letras[-1] == "i" and letras == sorted(letras), "la frontera"
    frase = pagina.locator(".reading").inner_text()
    assert re.fullmatch(r"Escribe «oia»\. La 2\.ª la oye «i», con el 9\d\s%\.", frase)
    pagina.get_by_role("button", name="Poner una e").click()
    _flechas(pagina, "ArrowLeft", 11)  # F2, de 1814 a más de 2147
    assert escrito() == "oea"
    _mando(pagina, "Ruido", 0)
    assert escrito() == "oia" and rastro.all_text_contents() == ["i"], "el rastro es de otra voz"
    pagina.get_by_role("button", name="Volver a empezar").click()
    for tono in (80, 180, 250):
        _mando(pagina, "Tono", tono)
        assert escrito() == "oea"


def test_se_arrastra_la_vocal_y_se_dice_cuando_se_equivoca(sumador):
    libro = book_hearing()
    pagina = sumador(libro)
    plano = pagina.locator(".plane")
    plano.scroll_into_view_if_needed()
    asa, caja = pagina.locator(".grip .ring").bounding_box(), plano.bounding_box()
    pagina.mouse.move(asa["x"] + asa["width"] / 2, asa["y"] + asa["height"] / 2)
    pagina.mouse.down()
    # hasta la «a»: F2 1353 y F1 638, con los ejes al revés
    x = (14 + 372 * (2.4 - 1.353) / 1.6) / 400
    y = (14 + 372 * (0.638 - 0.23) / 0.49) / 400
    pagina.mouse.move(caja["x"] + x * caja["width"], caja["y"] + y * caja["height"], steps=4)
    pagina.mouse.up()
    visto = _contestado(pagina)
    assert visto["state"]["spots"][1] == [
        pytest.approx(1.353, abs=0.02),
        pytest.approx(0.638, abs=0.02),
    ]
    assert _lo_oye_como_pytorch(visto, libro) == "oaa"
    pagina.get_by_role("button", name="Poner una i").click()
    _mando(pagina, "Ruido", 41)  # 10 dB más fuerte que la voz
    escrito = _lo_oye_como_pytorch(_contestado(pagina), libro)
    frase = pagina.locator(".reading").inner_text()
    assert set(escrito) == {"a"} and frase.startswith(
        f"Dices «oia» y escribe «{escrito}»: se equivoca."
    )
    assert ("Son 3 vocales" in frase) == (len(escrito) != 3)


def test_lo_escrito_las_barras_y_lo_que_mira_miden_lo_que_dicen(sumador):
    libro = book_hearing()
    pagina = sumador(libro)
    _mando(pagina, "Ruido", 24)
    _lo_oye_como_pytorch(_contestado(pagina), libro)
    antes = libro.compute(libro.start._replace(noise=7.0))
    _mando(pagina, "Ruido", 28)
    visto = _contestado(pagina)
    _lo_oye_como_pytorch(visto, libro)
    ahora = {k: torch.tensor(visto["values"][k]) for k in ("probs", "looks")}
    letras = libro.data()["letters"]

    def entero(parte: float) -> str:
        return f"{int(100 * parte + 0.5)}\u00a0%"

    for k, numero in enumerate(visto["values"]["written"]):
        simbolo = (
            pagina.get_by_role("radiogroup", name="Lo que escribe").get_by_role("radio").nth(k)
        )
        assert (
            simbolo.inner_text() == f"{letras[numero]} {entero(float(ahora['probs'][k, numero]))}"
        )
        simbolo.click()
        barras = pagina.locator(".lots .lot")
        assert barras.count() == 6
        for i in range(6):
            nombre, parte = barras.nth(i).locator(".lot-name").inner_text(), barras.nth(i)
            de = letras.index(nombre)
            assert parte.locator(".tail").inner_text() == entero(float(ahora["probs"][k, de]))
        for capa in range(2):
            pagina.get_by_role("radiogroup", name="Capa").get_by_role("radio").nth(capa).click()
            for cabeza in (0, 3):
                cabezas = pagina.get_by_role("radiogroup", name="Cabeza").get_by_role("radio")
                cabezas.nth(cabeza).click()
                pesos = ahora["looks"][capa, :, k]
                pesos = pesos[cabeza - 1] if cabeza else pesos.mean(0)
                tinta = pagina.locator(".sight rect").evaluate_all(
                    "todos => todos.map((uno) => Number(uno.getAttribute('fill-opacity')))"
                )
                assert len(tinta) == 80
                assert (torch.tensor(tinta) - (2 * pesos).clamp(max=1)).abs().max() < 0.006
                sitios = 0.02 * torch.arange(80, dtype=torch.float64)
                for n in range(3):
                    centro = 0.06 + 0.26 * n + 0.1
                    suya = float(pesos[(sitios - centro).abs() <= 0.1 + 1e-9].sum())
                    dicho = re.search(
                        rf"a la {n + 1}\.ª, (\d+)",
                        pagina.locator(".hush").filter(has_text="Al escribir").inner_text(),
                    )
                    assert abs(int(dicho[1]) - 100 * suya) < 1
    pagina.get_by_role("radio", name="Vocal 1, o").click()
    era = float(antes["probs"][0, letras.index("o")])
    raya = pagina.locator(".lots .lot").filter(has_text="o").first.locator(".bar")
    raya = raya.evaluate("e => e.style.getPropertyValue('--was')")
    assert abs(float(raya[:-1]) - 100 * era) < 1e-3


def test_nada_suena_solo_y_al_pulsar_suena_lo_que_se_ve(sumador):
    """Se cambia la salida de sonido por una que apunta lo que le llega."""
    libro = book_hearing()
    pagina = sumador(libro)
    pagina.evaluate("""() => {
      window.sonado = [];
      window.AudioContext = class {
        resume() {}
        createBuffer(canales, n, rate) {
          const datos = new Float32Array(n);
          return {canales, rate, datos, getChannelData: () => datos};
        }
        createBufferSource() {
          return {connect() {}, start() { sonado.push(this); }, stop() { this.onended(); }};
        }
      };
    }""")
    _mando(pagina, "Tono", 200)
    _flechas(pagina, "ArrowUp", 3)
    visto = _contestado(pagina)
    assert pagina.evaluate("sonado.length") == 0
    boton = pagina.get_by_role("button", name="Oír")
    boton.click()
    assert boton.count() == 0 and pagina.get_by_role("button", name="Parar").is_visible()
    canales, rate, datos = pagina.evaluate(
        "[sonado[0].buffer.canales, sonado[0].buffer.rate, [...sonado[0].buffer.datos]]"
    )
    spots = tuple((1000 * y, 1000 * x) for x, y in visto["state"]["spots"])
    onda = libro.sound(libro.start._replace(spots=spots, pitch=200.0))
    assert (canales, rate) == (1, 8000)
    assert (torch.tensor(datos) - 0.7 * onda / onda.abs().max()).abs().max() < 1e-6
    pagina.get_by_role("button", name="Parar").click()
    assert boton.is_visible() and pagina.evaluate("sonado.length") == 1


def test_los_pesos_de_las_vocales_se_piden_al_tocar_y_una_vez(sumador):
    pagina = sumador(book_hearing())
    pedidos = []
    pagina.on("request", lambda peticion: pedidos.append(peticion.url))
    pagina.get_by_role("button", name="Oír").click()
    pagina.wait_for_timeout(300)
    assert not pedidos and pagina.evaluate("window.atentoFiles") is None
    symbols = pagina.get_by_role("radiogroup", name="Lo que escribe")
    assert not symbols.count() or not symbols.is_visible()
    assert pagina.locator(".spectrum .sound path").first.get_attribute("d"), "ya se ve"
    _flechas(pagina, "ArrowUp", 3)
    _contestado(pagina)
    assert len(pedidos) == 1 and "modelos/libro-" in pedidos[0]
    assert symbols.is_visible()


def test_si_los_pesos_de_las_vocales_no_llegan_se_dice_y_se_puede_repetir(abrir):
    pagina = abrir(OIDO)
    guardado = pagina.evaluate(
        """() => {
          const uno = document.querySelector("[data-atento-file]"), texto = uno.textContent;
          uno.textContent = ""; uno.dataset.url = "data:text/javascript,"; return texto; }"""
    )
    _flechas(pagina, "ArrowUp", 1)
    pagina.get_by_text("Comprueba la red").first.wait_for()
    assert not leer(pagina, OIDO)["values"]
    pagina.evaluate(
        "texto => (document.querySelector('[data-atento-file]').textContent = texto)", guardado
    )
    _flechas(pagina, "ArrowUp", 1)
    assert _contestado(pagina)["state"]["spots"][1][1] == 0.44


def test_en_papel_las_vocales_sin_tocar_dejan_su_tabla(sumador):
    pagina = sumador(OIDO)
    pagina.emulate_media(media="print")
    assert pagina.locator(".quiet table").is_visible() and not pagina.locator(".stage").is_visible()
    pagina.emulate_media(media="screen")
    _flechas(pagina, "ArrowUp", 1)
    _contestado(pagina)
    pagina.emulate_media(media="print")
    assert pagina.locator(".lots").is_visible() and not pagina.locator(".quiet").is_visible()


# --- Los dígitos que se mueven --------------------------------------------------------------------


def _reparto(pagina) -> dict:
    """Lo que deja el explorador, cuando el modelo vivo ya ha contestado."""
    pagina.wait_for_function("() => document.querySelector('.atento-exp').atento.values?.live")
    return pagina.evaluate("document.querySelector('.atento-exp').atento")


def _reparte_como_pytorch(visto: dict, libro) -> None:
    """Lo que contesta, cuesta y reparte la página es lo del modelo y lo de la biblioteca: hasta
    1e-4 con 32 bits, hasta 1e-9 con 64.
    """
    objetos, valores = visto["state"]["objects"], visto["values"]
    de_64 = libro.compute(objetos)
    for nombre in ("probs", "boxes", "costs", "parts"):
        obtenido = torch.tensor(valores[nombre], dtype=torch.float64)
        assert obtenido.shape == de_64[nombre].shape
        assert (obtenido - de_64[nombre]).abs().max() <= 1e-9, nombre
    imagen, clases, cajas = libro.draw(objetos)
    with torch.no_grad():
        de_32 = libro.model(imagen.float()[None, None])
    assert (torch.tensor(valores["probs"]) - de_32.logits[0].softmax(-1)).abs().max() <= 1e-4
    assert (torch.tensor(valores["boxes"]) - de_32.boxes[0]).abs().max() <= 1e-4
    cuesta = matching_cost(de_32, clases, cajas.float(), libro.model.config)[0]
    assert (torch.tensor(valores["costs"]) - cuesta).abs().max() <= 1e-4
    (pareja,) = assign(de_32, [(clases, cajas.float())], libro.model.config)
    de_quien = dict(zip(pareja.columns.tolist(), pareja.rows.tolist(), strict=True))
    assert valores["owners"] == [de_quien[i] for i in range(len(objetos))]


def _empuja(pagina, cual: int, *teclas: str) -> None:
    pagina.locator(".grip").nth(cual).focus()
    for tecla in teclas:
        pagina.keyboard.press(tecla)


@pytest.mark.parametrize("explorador", [book_claims(), REPARTO], ids=["libro", "pequeño"])
def test_de_cada_escena_la_pagina_contesta_cuesta_y_reparte_como_pytorch(sumador, explorador):
    pagina = sumador(explorador)
    vistos = set()
    for cual, teclas, clase in (
        (1, ["ArrowRight"], None),
        (1, ["Shift+ArrowRight"], None),
        (0, ["Shift+ArrowDown"] * 3, None),
        (2, ["Shift+ArrowDown", "ArrowLeft"], 1),
        (1, ["Shift+ArrowLeft"] * 8, None),
        (0, ["Shift+ArrowLeft"] * 5, -1),
    ):
        _empuja(pagina, cual, *teclas)
        if clase is not None:
            pagina.get_by_role("radiogroup").get_by_role("radio").nth(clase).click()
        visto = _reparto(pagina)
        _reparte_como_pytorch(visto, explorador)
        vistos.add(str(visto["state"]["objects"]))
    pagina.get_by_role("button", name="Añadir uno").click()
    visto = _reparto(pagina)
    assert len(visto["state"]["objects"]) == 4
    _reparte_como_pytorch(visto, explorador)
    for quedan in (3, 2, 1):
        pagina.get_by_role("button", name="Quitar el elegido").click()
        visto = _reparto(pagina)
        assert len(visto["state"]["objects"]) == quedan
        _reparte_como_pytorch(visto, explorador)
    assert len(vistos) == 6 and pagina.get_by_role("button", name="Quitar").is_disabled()
    pagina.get_by_role("button", name="Volver a empezar").click()
    assert _reparto(pagina)["state"]["objects"] == [list(uno) for uno in explorador.start]
    _reparte_como_pytorch(_reparto(pagina), explorador)


def _en_el_lienzo(pagina, x: float, y: float) -> tuple[float, float]:
    """Dónde está en la página un punto del lienzo, en píxeles de la imagen."""
    lienzo = pagina.locator(".cla-plane")
    lienzo.scroll_into_view_if_needed()
    caja = lienzo.bounding_box()
    return caja["x"] + x / 40 * caja["width"], caja["y"] + y / 40 * caja["height"]


def test_la_pregunta_del_dueno_se_contesta_arrastrando(sumador):
    """El 7 es de la 10; seis píxeles a la derecha, de la 5; al fondo, de la 12."""
    libro = book_claims()
    pagina = sumador(libro)
    dice = pagina.locator(".reading")
    camino = pagina.locator(".cla-path").nth(1)
    assert camino.inner_text() == "10"
    pagina.mouse.move(*_en_el_lienzo(pagina, 15, 33))
    pagina.mouse.down()
    pagina.mouse.move(*_en_el_lienzo(pagina, 17, 33))
    assert _reparto(pagina)["state"]["objects"][1] == [1, 13, 27]
    assert re.fullmatch(
        r"El 7 \(B\) es de la consulta 10, que dice 7 con el 100\s%\.", dice.inner_text()
    )
    pagina.mouse.move(*_en_el_lienzo(pagina, 20, 33))
    assert re.fullmatch(
        r"El 7 \(B\) cambia de dueño: era de la 10 y es de la consulta 5, que dice 7 con el 93\s%\."
        r" Sobra la 10\.", dice.inner_text()
    )  # fmt: skip
    pagina.mouse.move(*_en_el_lienzo(pagina, 60, 33), steps=8)  # fuera: se queda en el borde
    pagina.mouse.up()
    visto = _reparto(pagina)
    assert visto["state"]["objects"][1] == [1, 32, 27] and camino.inner_text() == "10 → 5 → 12"
    _reparte_como_pytorch(visto, libro)
    pagina.mouse.move(*_en_el_lienzo(pagina, 5, 5))  # ya está suelto
    assert _reparto(pagina)["state"] == visto["state"]


def test_con_el_dedo_se_arrastra_un_digito_y_la_pagina_no_se_mueve(sumador):
    pagina = sumador(
        REPARTO, viewport={"width": 390, "height": 500}, has_touch=True, is_mobile=True
    )
    asidero = pagina.locator(".grip").first
    assert asidero.evaluate("e => getComputedStyle(e).touchAction") == "none"
    (_, x, y), *_ = REPARTO.start
    alto, ancho = REPARTO.stamps[0].ink.shape
    sitio = _en_el_lienzo(pagina, x + ancho / 2, y + alto / 2)
    antes = pagina.evaluate("scrollY")
    lado = pagina.locator(".cla-plane").bounding_box()["width"] / 40
    dedo = pagina.context.new_cdp_session(pagina)
    hacia = 1 if y < 14 else -1
    for tipo, paso in (("touchStart", 0), *(("touchMove", k) for k in range(1, 6))):
        punto = {"x": sitio[0], "y": sitio[1] + hacia * paso * lado}
        dedo.send("Input.dispatchTouchEvent", {"type": tipo, "touchPoints": [punto]})
    dedo.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    visto = _reparto(pagina)
    assert visto["state"]["objects"][0] == [0, x, y + 5 * hacia]
    assert pagina.evaluate("scrollY") == antes
    _reparte_como_pytorch(visto, REPARTO)


def test_el_lienzo_y_la_tabla_del_reparto_ensenan_lo_que_dicen(sumador):
    libro = book_claims()
    pagina = sumador(libro)
    for teclas in ([], ["ArrowRight"] * 5):  # al abrirse, y cuando contestan dos a la vez
        _empuja(pagina, 1, *teclas)
        if teclas:
            _reparto(pagina)
        objetos = pagina.evaluate("document.querySelector('.atento-exp').atento.state.objects")
        hallado = libro.compute(objetos)
        notas, clases = hallado["probs"][:, :-1].max(dim=1)
        dicen = (notas > 0.5).nonzero().flatten().tolist()
        rotulos = [f"{q + 1}: {clases[q]}, {100 * notas[q]:.0f}\u00a0%" for q in dicen]
        assert pagina.locator(".cla-answers text").all_text_contents() == rotulos
        sobran = len(set(dicen) - set(hallado["owners"].tolist()))
        assert pagina.locator(".cla-spare").count() == sobran == bool(teclas)
        llenos = [str(q + 1) for q in sorted(hallado["owners"].tolist())]
        assert pagina.locator(".cla-owner text").all_text_contents() == llenos
        filas = pagina.locator(".cla-costs tbody tr")
        consultas = [int(x) - 1 for x in filas.locator("th").all_inner_texts()]
        assert consultas == libro.relevant(hallado)
        escritos = pagina.get_by_role("gridcell").all_inner_texts()
        assert escritos == [base.number(x) for q in consultas for x in hallado["costs"][q].tolist()]
        mias = pagina.get_by_role("gridcell").evaluate_all(
            "celdas => celdas.map((c) => c.classList.contains('cla-mine'))"
        )
        assert mias == [q == dueno for q in consultas for dueno in hallado["owners"].tolist()]


def test_al_tocar_una_casilla_se_ve_de_que_se_compone(sumador):
    libro = book_claims()
    pagina = sumador(libro)
    hallado = libro.compute(libro.start)
    suma, consultas = pagina.locator(".cla-sum"), libro.relevant(hallado)
    for q, i in ((9, 1), (11, 0), (6, 1)):
        celda = pagina.get_by_role("gridcell").nth(3 * consultas.index(q) + i)
        celda.click()
        assert celda.get_attribute("aria-selected") == "true"
        assert suma.locator("b").all_inner_texts() == [
            base.number(x) for x in hallado["parts"][q, i].tolist()
        ]
        assert (
            f"Consulta {q + 1} y {'ABC'[i]}: {base.number(float(hallado['costs'][q, i]))}"
            in suma.inner_text()
        )
        assert base.number(float(hallado["parts"][q, i, 2])) in celda.get_attribute("aria-label")
    assert pagina.locator(".cla-quiet").count() == 1  # la 7 no dice nada: se ve su caja, a puntos
    celda.click()
    assert (
        celda.get_attribute("aria-selected") == "false" and not pagina.locator(".cla-quiet").count()
    )
    assert not pagina.evaluate("window.atentoFiles"), "mirar lo ya contestado no pide el modelo"


def test_el_foco_no_se_pierde_si_se_va_la_fila_de_la_casilla(sumador):
    """La 7 solo se ve porque está elegida: al soltarla, su fila se va."""
    libro = book_claims()
    pagina = sumador(libro)
    filas = pagina.locator(".cla-costs tbody th")
    pagina.get_by_role("gridcell", name="Consulta 7 y B").click()
    _empuja(pagina, 1, "Shift+ArrowRight", "Shift+ArrowRight")
    visto = _reparto(pagina)
    hallado = libro.compute(visto["state"]["objects"])
    assert 6 not in libro.relevant(hallado) and "7" in filas.all_inner_texts()
    celda = pagina.get_by_role("gridcell", name="Consulta 7 y B")
    assert celda.inner_text() == base.number(float(hallado["costs"][6, 1]))
    celda.focus()
    pagina.keyboard.press("Enter")
    assert "7" not in filas.all_inner_texts()
    assert pagina.evaluate("document.activeElement.getAttribute('role')") == "gridcell"


def test_si_cambia_de_dueno_otro_se_dice(sumador):
    """Al subir el 7 junto al 3 de arriba, es el 3 el que cambia."""
    libro = book_claims()
    pagina = sumador(libro)
    _empuja(pagina, 1, *["Shift+ArrowUp"] * 2, *["ArrowUp"] * 3)  # de la fila 27 a la 14
    _reparto(pagina)
    assert pagina.locator(".cla-path").all_inner_texts() == ["8", "10 → 6", "2"]
    _empuja(pagina, 1, "ArrowUp", "ArrowUp")
    dice = pagina.locator(".reading").inner_text()
    assert pagina.locator(".cla-path").all_inner_texts() == ["8", "10 → 6", "2 → 9"]
    assert dice.startswith("El 7 (B) es de la consulta 6, que dice 7 con el ")
    assert dice.endswith("Se tocan: al entrenar no los vio así.") and len(dice) < 160


def test_los_pesos_del_reparto_se_piden_al_mover_y_una_vez(sumador):
    libro = book_claims()
    pagina = sumador(libro)
    pedidos = []
    pagina.on("request", lambda peticion: pedidos.append(peticion.url))
    pagina.locator(".grip").nth(2).focus()
    pagina.wait_for_timeout(300)
    assert not pedidos and pagina.evaluate("window.atentoFiles") is None
    visto = pagina.evaluate("document.querySelector('.atento-exp').atento.values")
    primero = libro.compute(libro.start)
    assert (torch.tensor(visto["costs"]) - primero["costs"]).abs().max() < 2e-4
    assert visto["owners"] == primero["owners"].tolist() and not visto["live"]
    _empuja(pagina, 2, "ArrowDown", "ArrowDown")
    _reparto(pagina)
    assert len(pedidos) == 1 and "modelos/libro-" in pedidos[0]


def test_si_los_pesos_del_reparto_no_llegan_se_dice_y_se_puede_repetir(abrir):
    pagina = abrir(REPARTO)
    guardado = pagina.evaluate(
        """() => {
          const uno = document.querySelector("[data-atento-file]"), texto = uno.textContent;
          uno.textContent = ""; uno.dataset.url = "data:text/javascript,"; return texto; }"""
    )
    _empuja(pagina, 0, "ArrowRight")
    pagina.get_by_text("Comprueba la red").first.wait_for()
    assert not leer(pagina, REPARTO).get("values") and not pagina.locator(".cla-costs").is_visible()
    pagina.evaluate(
        "texto => (document.querySelector('[data-atento-file]').textContent = texto)", guardado
    )
    _empuja(pagina, 0, "ArrowRight")
    assert _reparto(pagina)["state"]["objects"][0][1] == min(40, REPARTO.start[0].x + 2)


# --- El sumador -----------------------------------------------------------------------------------

SUMAS = [(758, 469), (999, 1), (5, 7), (0, 0), (310, 98)]


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


def _suma(pagina, texto: str) -> None:
    pagina.get_by_label("Suma", exact=True).fill(texto)
    pagina.get_by_role("button", name="Sumar").click()
    pagina.wait_for_function("() => document.querySelector('.atento-exp').atento.run")


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_cada_tensor_del_sumador_es_el_de_pytorch(sumador, precision):
    """Todos los tensores, con sus nombres, hasta 1e-4; con 64 bits, hasta 1e-9."""
    pagina = sumador()
    for a, b in SUMAS:
        _suma(pagina, f"{a} + {b}")
        visto = pagina.evaluate("document.querySelector('.atento-exp').atento.run")
        esperado = SUMADOR.compute(a, b)
        enteros = {"ids": "source", "places": "places", "inputs": "inputs", "written": "written"}
        for suyo, nombre in enteros.items():
            assert visto[suyo] == esperado.pop(nombre).tolist()
        assert set(visto["tensors"]) == set(esperado) and len(esperado) == 41
        if precision == "float32":
            esperado = _en_32_bits(a, b)
        for nombre, tensor in esperado.items():
            obtenido = torch.tensor(visto["tensors"][nombre], dtype=torch.float64)
            assert obtenido.shape == tensor.shape, nombre
            error = (obtenido - tensor).abs().max().item()
            assert error <= (1e-4 if precision == "float32" else 1e-9), (nombre, error)


def _en_32_bits(a: int, b: int) -> dict[str, torch.Tensor]:
    """Lo que da el modelo tal como se usa, en ``float32``: memoria, pesos, logits y salida."""
    modelo, lote = trained.adder(), addition.batch([addition.Sum(a, b)])
    with torch.no_grad():
        leido = modelo.encode(lote.source)
        logits = modelo.decode(lote.inputs, leido)[0]
        with watching(modelo) as mapas:
            modelo(lote.source, lote.inputs)
    pesos = {f"{n}.weights": m[0] for n, m in mapas.items()}
    return pesos | {
        "memory": leido.states[0],
        "logits": logits,
        "probabilities": logits.softmax(-1),
    }


@pytest.mark.lento
def test_mil_sumas_reservadas_dan_las_mismas_cifras_que_pytorch(sumador):
    pagina = sumador()
    _suma(pagina, "1 + 1")
    sumas = addition.generate(1000, 31, split="test")
    escrito = pagina.evaluate(
        "sumas => sumas.map(([a, b]) => document.querySelector('.atento-exp').atento.add(a, b))",
        [list(suma[:2]) for suma in sumas],
    )
    assert escrito == addition.answers(trained.adder(), sumas)


def test_los_pesos_se_piden_al_sumar_y_una_vez(sumador):
    pagina = sumador()
    pedidos = []
    pagina.on("request", lambda peticion: pedidos.append(peticion.url))
    pagina.wait_for_timeout(300)
    assert not pedidos and pagina.evaluate("window.atentoFiles") is None
    for texto in ("758 + 469", "1 + 2"):
        _suma(pagina, texto)
    assert len(pedidos) == 1 and pedidos[0].startswith("file:") and "modelos/sumador-" in pedidos[0]
    assert pagina.locator(".add-answer").inner_text() == "1 + 2 = ?"


def test_en_un_cuaderno_los_pesos_van_dentro(abrir):
    pagina = abrir(SUMADOR, reduced_motion="reduce")
    _suma(pagina, "45 + 55")
    assert addition.decode(leer(pagina, SUMADOR)["run"]["written"]) == "0010"


def test_sin_el_fichero_de_los_pesos_se_dice(navegador, tmp_path):
    cuerpo, _ = explorers.detach(SUMADOR._repr_html_(), "no-esta")
    (tmp_path / "x.html").write_text(f"<!doctype html><html lang=es>{cuerpo}", "utf8")
    contexto = navegador.new_context()
    pagina = contexto.new_page()
    pagina.goto((tmp_path / "x.html").as_uri())
    pagina.get_by_role("button", name="Sumar").click()
    aviso = pagina.get_by_role("alert")
    aviso.wait_for()
    assert aviso.inner_text().startswith("No se han podido leer los números del modelo")
    contexto.close()


def test_lo_que_no_es_una_suma_se_dice_como_en_python(sumador):
    pagina = sumador()
    textos = ["", "hola", "45 +", "123456 + 1", "1 + 0001000", "-3 + 5", "5 + −3", "5 - 3",
              "1.5 + 2", "1 + 2 + 3", "99999 + 88888888", "２ + 3", "7"]  # fmt: skip
    for texto in textos:
        pagina.get_by_label("Suma", exact=True).fill(texto)
        pagina.keyboard.press("Enter")
        assert pagina.get_by_role("alert").inner_text() == complaint(texto) != ""
        assert pagina.get_by_label("Suma", exact=True).get_attribute("aria-invalid") == "true"
        assert "run" not in leer(pagina, SUMADOR)
    pagina.get_by_label("Suma", exact=True).fill("007+ 12 ")
    assert pagina.get_by_role("alert").count() == 0
    pagina.keyboard.press("Enter")
    pagina.wait_for_function("() => document.querySelector('.atento-exp').atento.run")
    assert leer(pagina, SUMADOR)["run"]["a"] == 7


def test_el_sumador_se_maneja_con_el_teclado(sumador):
    pagina = sumador()
    pagina.get_by_label("Suma", exact=True).focus()
    pagina.keyboard.press("Enter")
    pagina.wait_for_function("() => document.querySelector('.atento-exp').atento.run")
    orden = []
    for _ in range(11):
        pagina.keyboard.press("Tab")
        orden.append(
            pagina.evaluate(
                "(document.activeElement.closest('[role=radiogroup]') ?? document.activeElement)"
                ".getAttribute('aria-label') ?? document.activeElement.textContent"
            )
        )
    mandos = ["Sumar", "Al azar", "Paso", "Reproducir", "Siguiente →", "Tapar y mentir"]
    assert orden == [*mandos, "Por dentro", "Cabeza", "Pila", "Etapa", "Tensor"]
    pagina.get_by_role("radio", name="1, unidades").focus()
    for tecla, paso in (("ArrowRight", 1), ("End", 4), ("ArrowLeft", 3), ("Home", 0)):
        pagina.keyboard.press(tecla)
        assert leer(pagina, SUMADOR)["state"]["step"] == paso
    pagina.get_by_role("radio", name="media de las cabezas").focus()
    pagina.keyboard.press("Home")
    assert leer(pagina, SUMADOR)["state"]["head"] == 0


def _tocado(a: int, b: int, tapados: list[int], mentiras: dict[int, int]) -> dict:
    """Lo que da PyTorch con esos sitios tapados y esas cifras en lo ya escrito."""
    modelo, lote = trained.adder(), addition.batch([addition.Sum(a, b)])
    leido = modelo.encode(lote.source)
    vistos = torch.ones(lote.source.shape[1], dtype=torch.bool)
    vistos[tapados] = False
    recibe = lote.inputs.clone()
    for lugar, cifra in mentiras.items():
        recibe[0, lugar + 1] = addition.ZERO_ID + cifra
    with torch.no_grad(), watching(modelo) as mapas:
        logits = modelo.decode(recibe, leido._replace(mask=leido.mask & vistos))[0]
    pesos = {f"{n}.weights": m[0] for n, m in mapas.items()}
    return pesos | {"logits": logits, "probabilities": logits.softmax(-1)}


@pytest.mark.parametrize(
    ("paso", "tapados", "mentiras", "escribe"),
    [
        (2, [], {1: 9}, "7"),  # tras un 9 que no era, no se lleva
        (2, [3], {}, None),
        (3, [0, 4, 7], {0: 5, 2: 1}, None),
        (0, [2, 6], {}, None),
        (1, [0, 1, 2, 3, 4, 5, 6, 7], {}, None),  # no queda nada que mirar
    ],
)
def test_tapar_y_mentir_da_lo_mismo_que_en_pytorch(sumador, paso, tapados, mentiras, escribe):
    pagina = sumador()
    _suma(pagina, "458 + 342")
    pagina.locator(".add-steps button").nth(paso).click()
    pagina.get_by_text("Tapar y mentir", exact=True).click()
    for i in tapados:
        pagina.locator(".add-hides button").nth(i).click()
    for lugar, cifra in mentiras.items():
        pagina.locator("select").nth(lugar).select_option(str(cifra))
    visto, esperado = (
        leer(pagina, SUMADOR)["seen"]["tensors"],
        _tocado(458, 342, tapados, mentiras),
    )
    for nombre, tensor in esperado.items():
        obtenido = torch.tensor(visto[nombre], dtype=torch.float64)
        assert obtenido.shape == tensor.shape, nombre
        assert (obtenido - tensor).abs().max() <= 1e-4, nombre
    cruzada = torch.tensor(visto["decoder.blocks.0.cross_attention.weights"])
    assert not cruzada[:, :, tapados].any()
    nuevo = esperado["logits"][paso].argmax().item()
    letra = {addition.EOS_ID: "fin"}.get(nuevo, str(nuevo - addition.ZERO_ID))
    assert letra == (escribe or letra)
    antes = addition.decode(addition.answers(trained.adder(), [addition.Sum(458, 342)])[0])[paso]
    assert (
        pagina.locator(".add-answer").inner_text() == f"Escribe {letra}; sin tocar nada, {antes}."
    )
    assert pagina.locator(".add-shown.add-new .add-sign").inner_text() == letra
    assert pagina.locator(".add-chosen b").inner_text() == letra
    assert pagina.locator(".add-asked.hatched").count() == len(tapados)
    pagina.get_by_role("button", name="Deshacer").click()
    assert leer(pagina, SUMADOR)["seen"] == leer(pagina, SUMADOR)["run"]
    assert not pagina.locator(".hatched, .add-lie").filter(visible=True).count()


def test_se_tapa_y_se_miente_con_el_teclado(sumador):
    pagina = sumador()
    _suma(pagina, "458 + 342")
    pagina.get_by_role("radio", name="3, centenas").click()
    pagina.get_by_text("Tapar y mentir", exact=True).focus()
    pagina.keyboard.press("Enter")
    pagina.keyboard.press("Tab")
    mas = pagina.get_by_role("button", name="Tapar 4, centenas del primer número")
    pagina.keyboard.press("Space")
    assert mas.get_attribute("aria-pressed") == "true"
    pagina.keyboard.press("Space")
    assert mas.get_attribute("aria-pressed") == "false"
    for _ in range(8):
        pagina.keyboard.press("Tab")
    pagina.keyboard.press("Tab")
    assert pagina.evaluate("document.activeElement.ariaLabel") == "Mentir en las decenas"
    pagina.keyboard.press("9")
    pagina.wait_for_timeout(500)
    esperado = "Paso 3: escribe 7 en las centenas; sin tocar nada, 8. "
    assert pagina.locator("[aria-live]").text_content().startswith(esperado)
    assert pagina.locator("select").count() == 4
    assert pagina.locator("select").filter(visible=True).count() == 2  # lo aún no escrito, no


def test_otra_suma_empieza_sin_tapar_ni_mentir(sumador):
    pagina = sumador()
    _suma(pagina, "458 + 342")
    pagina.get_by_text("Tapar y mentir", exact=True).click()
    pagina.get_by_role("button", name="Tapar «+»").click()
    pagina.get_by_label("Suma", exact=True).fill("1 + 2")
    assert not pagina.locator(".add-asked.hatched").count()
    pagina.keyboard.press("Enter")
    pagina.wait_for_function("() => document.querySelector('.atento-exp').atento.run?.a === 1")
    assert leer(pagina, SUMADOR)["seen"] == leer(pagina, SUMADOR)["run"]


def test_lo_escrito_en_el_sumador_es_lo_calculado(sumador):
    pagina = sumador()
    _suma(pagina, "758 + 469")
    valores = SUMADOR.compute()
    for paso, sitio in enumerate(("unidades", "decenas", "centenas", "millares", "fin")):
        pagina.get_by_role("radio", name=f"{paso + 1}, {sitio}").click()
        for cabeza in (None, 0, 2):
            nombre = "media de las cabezas" if cabeza is None else f"cabeza {cabeza + 1}"
            pagina.get_by_role("radio", name=nombre, exact=True).click()
            mapa = valores["decoder.blocks.0.cross_attention.weights"][:, paso]
            pesos = mapa.mean(0) if cabeza is None else mapa[cabeza]
            esperado = [plots.format_number(float(p), ".2f") if p >= 0.005 else "" for p in pesos]
            assert pagina.locator(".add-asked .add-weight").all_inner_texts() == esperado
            escrito = pagina.locator(".add-shown .add-weight").all_inner_texts()
            assert not any(escrito)  # es de otra atención, y sus cabezas son otras
        elegida = pagina.locator(".add-chosen")
        chance = valores["probabilities"][paso].max().item()
        escribe = "fin" if sitio == "fin" else addition.decode(valores["written"][paso : paso + 1])
        assert elegida.locator("b").inner_text() == escribe
        assert elegida.locator(".add-amount").inner_text() == f"{chance:.2f}"
        assert f"Paso {paso + 1}: escribe" in pagina.locator(".reading").inner_text()
        texto = pagina.locator("[aria-live]").text_content
        pagina.wait_for_timeout(450)
        assert f"Paso {paso + 1}" in texto() and len(texto()) < 160
    assert pagina.locator(".add-answer").inner_text() == "758 + 469 = 1227"


def test_por_dentro_estan_todos_los_tensores(sumador):
    """Etapa por etapa y tensor por tensor, cada nombre sale una vez y con su forma de ese paso."""
    pagina = sumador()
    _suma(pagina, "758 + 469")
    pagina.get_by_role("radio", name="3, centenas").click()
    valores, formas = SUMADOR.compute(), {}
    for pila in ("codificador", "decodificador"):
        pagina.get_by_role("radio", name=re.compile(f"^{pila}")).click()
        for etapa in range(pagina.locator(".add-stages button").count()):
            pagina.locator(".add-stages button").nth(etapa).click()
            for parte in range(max(1, pagina.locator(".add-parts button").count())):
                if pagina.locator(".add-parts button").count():
                    pagina.locator(".add-parts button").nth(parte).click()
                nombre = pagina.locator(".add-name code").inner_text()
                assert nombre not in formas
                formas[nombre] = pagina.locator(".add-size").inner_text()
    sin_forma = {"source", "places", "inputs", "written"}
    assert set(formas) == set(valores) - sin_forma | {"encoder.tokens", "decoder.tokens"}
    assert formas["decoder.blocks.0.cross_attention.weights"] == "(4, 3, 8)"
    assert formas["decoder.blocks.0.attention.scores"] == "(4, 3, 3)"
    assert formas["decoder.blocks.0.cross_attention.key"] == "(4, 8, 16)"
    assert formas["encoder.blocks.0.feed_forward.hidden"] == "(8, 256)"
    assert formas["logits"] == "(14)"


def test_las_celdas_y_los_numeros_de_dentro_son_los_del_tensor(sumador):
    pagina = sumador()
    _suma(pagina, "758 + 469")
    pagina.get_by_role("radio", name="2, decenas").click()
    pesos = SUMADOR.compute()["decoder.blocks.0.cross_attention.weights"][:, :2]
    celdas = pagina.locator(".add-map tbody td").all_inner_texts()
    assert celdas == [plots.format_number(float(p), ".2f") for p in pesos.flatten()]
    pagina.get_by_role("radio", name="añade").click()
    fila = SUMADOR.compute()["decoder.blocks.0.cross_attention.added"][1]
    numeros = pagina.locator(".add-numbers").inner_text().split()
    assert numeros == [plots.format_number(float(n), ".2f") for n in fila]
    pagina.get_by_role("radio", name="autoatención causal").click()
    assert pagina.locator(".add-map td.hatched").count() == 4  # el futuro, en las cuatro cabezas


def test_el_sumador_escribe_solo_y_se_detiene(sumador):
    pagina = sumador(reduced_motion="no-preference")
    _suma(pagina, "758 + 469")
    pagina.wait_for_function("document.querySelector('.atento-exp').atento.state.step === 1")
    pagina.get_by_role("button", name="Pausa").click()
    paso = leer(pagina, SUMADOR)["state"]["step"]
    pagina.wait_for_timeout(1600)
    assert leer(pagina, SUMADOR)["state"]["step"] == paso
    pagina.get_by_role("button", name="Siguiente").click()
    assert leer(pagina, SUMADOR)["state"]["step"] == paso + 1
    assert pagina.get_by_role("button", name="Reproducir").is_visible()
    pagina.get_by_role("radio", name="5, fin").click()
    pagina.get_by_role("button", name="Ver otra vez").click()
    assert leer(pagina, SUMADOR)["state"]["step"] == 0


def test_tabular_por_lo_cerrado_no_detiene_y_por_lo_abierto_si(sumador):
    pagina = sumador(adder("758 + 469", name="sumador"), reduced_motion="no-preference")
    _suma(pagina, "758 + 469")
    pagina.get_by_text("Por dentro", exact=True).focus()
    assert pagina.get_by_role("button", name="Pausa").is_visible()
    pagina.keyboard.press("Enter")
    pagina.get_by_role("radio", name="media de las cabezas").focus()
    assert pagina.get_by_role("button", name="Reproducir").is_visible()


@pytest.mark.parametrize(("texto", "queda"), [("12 + 9", "12 + 9 = ?"), ("123456", "")])
def test_escribir_otra_suma_borra_la_resuelta(sumador, texto, queda):
    pagina = sumador()
    _suma(pagina, "758 + 469")
    pagina.get_by_label("Suma", exact=True).fill(texto)
    assert pagina.locator(".add-answer").inner_text() == queda
    assert not "".join(pagina.locator(".add-shown .add-sign").all_inner_texts())
    assert not pagina.get_by_role("button", name="Siguiente").is_visible()
    assert pagina.locator(".reading").inner_text().startswith("Pulsa «Sumar»")
    assert "run" not in leer(pagina, SUMADOR)


@pytest.mark.parametrize("tema", ["light", "dark"])
def test_resuelto_cabe_en_el_telefono_y_axe_no_encuentra_nada(sumador, tema):
    pagina = sumador(tema=tema, viewport={"width": 390, "height": 844}, has_touch=True,
                     is_mobile=True, reduced_motion="reduce")  # fmt: skip
    _suma(pagina, "758 + 469")
    pagina.get_by_role("radio", name="4, millares").click()
    pagina.get_by_text("Tapar y mentir", exact=True).click()
    pagina.get_by_role("button", name="Tapar «+»").click()
    pagina.get_by_label("Mentir en las decenas").select_option("3")
    for boton in ("pesos", "consultas", "probabilidades", "tokens", "red densa por posición"):
        pagina.get_by_role("radio", name=boton, exact=True).click()
        for ancho in (390, 360, 320):
            pagina.set_viewport_size({"width": ancho, "height": 844})
            assert pagina.evaluate("document.documentElement.scrollWidth") <= ancho
        pagina.set_viewport_size({"width": 390, "height": 844})
        assert not contrato(pagina, "pequenos") and not contrato(pagina, "letras")
        assert not (faltas := axe(pagina)), "\n".join(faltas)


def test_en_papel_el_sumador_sin_usar_deja_su_tabla(sumador):
    pagina = sumador()
    pagina.emulate_media(media="print")
    assert pagina.locator(".quiet table").is_visible() and not pagina.locator(".stage").is_visible()
    pagina.emulate_media(media="screen")
    _suma(pagina, "1 + 2")
    pagina.emulate_media(media="print")
    assert pagina.locator(".add-board").is_visible()
    assert not pagina.locator(".quiet").is_visible()


# --- La búsqueda en haz ---------------------------------------------------------------------------

BUSCAR = """([id, ancho, puntuacion]) => {
  const raiz = document.getElementById(id), elegir = (grupo, i) =>
    raiz.querySelector(`[aria-label="${grupo}"]`)?.children[i].click();
  elegir("Nota", puntuacion); elegir("Anchura", ancho);
  [...raiz.querySelectorAll("button")].find((b) => b.textContent === "Hasta el final").click();
  return raiz.atento;
}"""


@pytest.mark.parametrize("explorador", [HAZ, SOLO_UNA], ids=["haz", "solo-una"])
def test_el_haz_es_el_de_python(abrir, explorador):
    pagina = abrir(explorador)
    for (i, ancho), (j, rotulo) in itertools.product(
        enumerate(explorador.widths), enumerate(explorador.labels)
    ):
        visto = pagina.evaluate(BUSCAR, [explorador.element_id, i, j])
        nodos = explorador.compute(ancho, rotulo)
        assert [(n["parent"], n["step"], n["word"], n["text"], n["fate"])
                for n in visto["values"]["nodes"]] == [
            (n.parent, n.step, n.word, n.text, n.fate) for n in nodos]  # fmt: skip
        _igual([n["logProb"] for n in visto["values"]["nodes"]],
               torch.tensor([n.log_prob for n in nodos], dtype=torch.float64))  # fmt: skip
        acabadas = explorador.finished(ancho, rotulo)
        assert [n["text"] for n in visto["values"]["finished"]] == [n.text for n in acabadas]
        _igual(
            [n["scores"] for n in visto["values"]["finished"]],
            torch.tensor(
                [[explorador.score(n, r) for r in explorador.labels] for n in acabadas],
                dtype=torch.float64,
            ),
        )
        assert visto["values"]["goal"] == explorador.goal(rotulo)
        assert visto["values"]["reached"] == (ancho == explorador.goal(rotulo))
        escrita = pagina.locator(".top :is(th, td)").all_inner_texts()
        ganadora = explorador.winner(ancho, rotulo)
        assert escrita == [
            f"✓ {ganadora.text}",
            str(ganadora.length),
            *(base.number(explorador.score(ganadora, r), 3) for r in explorador.labels),
        ]


def test_el_haz_se_anda_con_el_teclado_y_contesta(abrir):
    pagina = abrir(HAZ)
    anchura = pagina.get_by_role("radiogroup", name="Anchura")
    anchura.get_by_role("radio").first.focus()
    pagina.keyboard.press("ArrowRight")
    assert leer(pagina, HAZ)["state"] == {"width": 2, "label": "suma", "step": 0}
    assert pagina.get_by_role("button", name="Anterior").is_disabled()
    ultimo = max(n.step for n in HAZ.compute(2))
    for paso in range(ultimo):
        assert "✓" not in pagina.locator(".verdict").inner_text()
        candidatos = [n for n in HAZ.compute(2) if n.step == paso]
        assert pagina.locator(".sheet").first.locator("tbody tr").count() == len(candidatos)
        assert pagina.locator(".leaf").count() == sum(n.step <= paso for n in HAZ.compute(2))
        pagina.get_by_role("button", name="Siguiente").press("Enter")
    assert pagina.get_by_role("button", name="Siguiente").is_disabled()
    veredicto = pagina.locator(".verdict").inner_text()
    assert veredicto == (
        "✓ Conseguido: con anchura 2 gana «nada .», 1.20 veces más probable que con anchura 1."
    )
    pagina.wait_for_function(
        "document.querySelector('[aria-live]').textContent.includes('Conseguido')"
    )
    pagina.locator(".leaf").nth(1).hover()
    assert pagina.locator(".probe").inner_text().startswith("«nada»: log-probabilidad −0.916")


def test_los_candidatos_del_haz_no_se_tapan_y_caben_en_su_marco(abrir):
    pagina = abrir(HAZ, viewport={"width": 390, "height": 844})
    for ancho in range(3):
        pagina.evaluate(BUSCAR, [HAZ.element_id, ancho, 0])
        cajas = pagina.locator(".leaf").evaluate_all(
            "hojas => hojas.map((e) => [e.offsetLeft, e.offsetTop, e.offsetWidth, e.offsetHeight,"
            " e.scrollWidth])"
        )
        for (x, y, ancha, alta, texto), (x2, y2, *_) in itertools.combinations(cajas, 2):
            assert abs(x - x2) >= ancha or abs(y - y2) >= alta
            assert texto <= ancha


# --- El sorteo ------------------------------------------------------------------------------------

MANDAR = """([id, comienzo, mandos]) => {
  const raiz = document.getElementById(id);
  raiz.querySelector('[aria-label="Comienzo"]')?.children[comienzo].click();
  for (const [nombre, valor] of Object.entries(mandos)) {
    const mando = raiz.querySelector(`[type=range][aria-label="${nombre}"]`);
    mando.value = valor; mando.dispatchEvent(new Event("input"));
  }
  [...raiz.querySelectorAll("button")].find((b) => b.textContent.startsWith("Sortear")).click();
  return raiz.atento;
}"""
AJUSTES = [
    {},
    {"temperature": -0.5},
    {"temperature": 0.7},
    {"top_k": 1},
    {"top_k": 4},
    {"top_p": 0.05},
    {"top_p": 0.5},
    {"top_p": 0.95},
    {"min_p": 0.01},
    {"min_p": 0.5},
    {"temperature": 0.3, "top_k": 6, "top_p": 0.8, "min_p": 0.05},
]


@pytest.mark.parametrize("explorador", [SORTEO, EMPATES], ids=["sorteo", "empates"])
def test_el_sorteo_filtra_como_la_biblioteca(abrir, explorador):
    pagina, quedan = abrir(explorador), set()
    tope = min(50, len(explorador.words))
    for comienzo, ajuste in itertools.product(range(len(explorador.contexts)), AJUSTES):
        mandos = {
            "Temperatura": ajuste.get("temperature", 0), "top-k": ajuste.get("top_k", tope),
            "top-p": ajuste.get("top_p", 1), "min-p": ajuste.get("min_p", 0),
        }  # fmt: skip
        visto = pagina.evaluate(MANDAR, [explorador.element_id, comienzo, mandos])["values"]
        opciones = ajuste | {"temperature": 10 ** ajuste.get("temperature", 0)}
        gemelo = explorador.compute(comienzo, **opciones)
        for clave, valor in gemelo.items():
            _igual(visto[clave], valor.double())
        assert visto["drawn"] == explorador.drawn(comienzo, **opciones)
        quedan.add(visto["kept"])
        escritos = pagina.locator(".facts dd").all_inner_texts()
        assert escritos[0] == f"{visto['kept']} de {len(explorador.words)} palabras"
        assert escritos[1] == f"{base.number(100 * float(gemelo['mass']), 1)}\u00a0%"
    assert len(quedan) >= 4


def test_las_barras_del_sorteo_miden_lo_que_dicen(abrir):
    pagina = abrir(SORTEO)
    pagina.get_by_role("slider", name="top-p").fill("0.5")
    gemelo = SORTEO.compute(0, top_p=0.5)
    orden = SORTEO.logits[0].argsort(descending=True)[:12].tolist()
    for fila, palabra in enumerate(orden):
        barra = pagina.locator(".lot").nth(fila)
        assert barra.locator(".lot-name").inner_text().split()[0] == SORTEO.words[palabra]
        ancho, hueco = barra.locator(".fill").evaluate(
            "e => [e.getBoundingClientRect().width, e.parentNode.clientWidth]"
        )
        assert abs(ancho - hueco * float(gemelo["probs"][palabra])) < 1
        fuera = float(gemelo["probs"][palabra]) == 0
        assert ("gone" in barra.get_attribute("class").split()) == fuera


def test_se_sortean_diez_y_diez_mas_con_el_teclado(abrir):
    pagina = abrir(SORTEO)
    boton = pagina.get_by_role("button", name="Sortear diez palabras")
    boton.focus()
    for tirada in range(3):
        pagina.keyboard.press("Enter")
        assert leer(pagina, SORTEO)["values"]["drawn"] == SORTEO.drawn(throw=tirada)
    veces = [int(t[1:]) for t in pagina.locator(".times").all_inner_texts() if t]
    assert sum(veces) == 30
    mando = pagina.get_by_role("slider", name="Temperatura")
    mando.focus()
    pagina.keyboard.press("ArrowLeft")
    assert not any(pagina.locator(".times").all_inner_texts()), "otro ajuste, otra cuenta"
    pagina.get_by_role("button", name="Quitar los filtros").click()
    boton.click()
    assert leer(pagina, SORTEO)["values"]["drawn"] == SORTEO.drawn()
    pagina.wait_for_function("document.querySelector('[aria-live]').textContent.includes('Salen')")


def test_la_pregunta_del_sorteo_se_contesta_mirando(abrir):
    pagina = abrir(SORTEO)
    pagina.get_by_role("slider", name="top-p").fill("0.9")
    for rotulo in SORTEO.contexts:
        pagina.get_by_role("radio", name=rotulo).click()
        quedan = pagina.locator(".facts dd").first.inner_text().split()[0]
        assert f"ras «{rotulo}», {quedan}" in SORTEO.answer


# --- Los calendarios ------------------------------------------------------------------------------


def _elegir_calendario(pagina, explorador, sitios) -> dict:
    for rotulo, sitio in zip(ROTULOS, sitios, strict=True):
        grupo = pagina.get_by_role("radiogroup", name=rotulo)
        if grupo.count():
            grupo.get_by_role("radio").nth(sitio).click()
    return leer(pagina, explorador)


ROTULOS = ("Calendario", "Normalización", "Tasa máxima")


@pytest.mark.parametrize("explorador", [CALENDARIO, SIN_SUBIDA], ids=["calendario", "sin-subida"])
def test_el_calendario_calcula_lo_mismo_que_python(abrir, explorador):
    pagina = abrir(explorador)
    for sitios in itertools.product(*(range(len(valores)) for valores in explorador.axes.values())):
        pares = zip(explorador.axes.items(), sitios, strict=True)
        eleccion = {eje: valores[sitio] for (eje, valores), sitio in pares}
        visto = _elegir_calendario(pagina, explorador, sitios)
        assert {eje: visto["state"][eje] for eje in eleccion} == eleccion
        gemelo = explorador.compute(**eleccion)
        for clave in ("rate", "band", "scores"):
            _igual(visto["values"][clave], gemelo[clave])
        acierto = f"{100 * gemelo['scores'].mean():.0f}\u00a0%"
        assert pagina.locator(".final b").inner_text() == acierto


def test_el_calendario_recuerda_lo_probado(abrir):
    pagina = abrir(CALENDARIO)  # empieza en la primera combinación
    assert [x for x in pagina.locator(".board tbody td").all_inner_texts() if x != "·"] == [
        pagina.locator(".final b").inner_text()
    ]
    _elegir_calendario(pagina, CALENDARIO, (1, 0, 1))
    quinta = pagina.locator(".final b").inner_text()
    sabidas = [x for x in pagina.locator(".board tbody td").all_inner_texts() if x != "·"]
    assert len(sabidas) == 3 and sabidas[2] == quinta  # de camino pasa por otra
    assert pagina.locator(".board td.here").inner_text() == quinta
    _elegir_calendario(pagina, CALENDARIO, (1, 1, 1))  # con otra norma, la tabla es otra
    assert "Post-LN" in pagina.locator(".board caption").inner_text()
    sabidas = [x for x in pagina.locator(".board tbody td").all_inner_texts() if x != "·"]
    assert sabidas == [pagina.locator(".final b").inner_text()]


def test_lo_que_diverge_se_dice_y_se_deja_de_dibujar(abrir):
    pagina = abrir(CALENDARIO)
    perdida = pagina.locator(".sides > :nth-child(2) .line")
    _elegir_calendario(pagina, CALENDARIO, (2, 0, 0))
    assert len(perdida.get_attribute("points").split()) == 5
    _elegir_calendario(pagina, CALENDARIO, (1, 0, 1))
    assert perdida.get_attribute("points") == ""
    assert "deja de ser finita enseguida" in pagina.locator(".reading").inner_text()
    assert "NaN" not in pagina.locator(".atento-exp").inner_text()
