"""El contrato de los exploradores, en Chromium: teclado, dedo, lector de pantalla, 360 px, papel,
menos movimiento y sin JavaScript.

Lo cumplen todas las muestras de ``muestras.py``; un explorador nuevo entra con la suya. Lo que
cambia se mira siempre; de lo que pasó tal como está, una parte (``vistas.py``).
"""

from __future__ import annotations

import re
from collections import defaultdict
from importlib import metadata
from pathlib import Path

import pytest
from accesible import pon_tema
from chromium import version
from explorando import CONTRATO, axe, contrato, leer
from muestras import CLASES, MUESTRAS
from vistas import EXPLORADORES, de_todo, huella

from figuras import plots
from figuras.explorers import base

pytestmark = pytest.mark.navegador

PARTES = 4
COMO = (Path(__file__), CONTRATO, Path(__file__).with_name("explorando.py"))


def _huella(html: str, compartido: str) -> str:
    """La de un explorador. En sus estilos y sus guiones las cifras cuentan: cada trozo lleva en su
    nombre la huella de lo que dice.
    """
    trozos = re.findall(r'data-atento-part="([^"]+)"', html)
    return huella(html, "\n".join((compartido, *trozos)))


def _huellas() -> dict[str, str]:
    """La de cada muestra, con el navegador y cómo se pregunta."""
    compartido = de_todo(COMO, version(), metadata.version("axe-playwright-python"))
    return {nombre: _huella(uno._repr_html_(), compartido) for nombre, uno in MUESTRAS.items()}


HUELLAS = _huellas()
TOCAN = sorted(EXPLORADORES.por_mirar(HUELLAS))
cada_uno = pytest.mark.parametrize("explorador", [MUESTRAS[x] for x in TOCAN], ids=TOCAN)


@pytest.fixture(scope="module")
def cumplidas(request):
    """Qué partes del contrato cumple cada explorador; con ``--apunta``, se sellan los que cumplen
    todas.
    """
    partes: dict[str, set[str]] = defaultdict(set)
    yield partes
    if request.config.getoption("apunta", False):
        pasan = {nombre for nombre in TOCAN if len(partes[nombre]) == PARTES}
        EXPLORADORES.guarda(HUELLAS, pasan, set(TOCAN) - pasan, MUESTRAS)


@pytest.fixture
def cumple(request, cumplidas):
    """Anota que el explorador ha llegado al final de una de las partes."""
    return lambda explorador: cumplidas[explorador.name].add(request.function.__name__)


def _usar(pagina, explorador) -> None:
    """Deja el explorador usado: los que ejecutan un modelo, con su cuenta hecha; los demás, con
    todo movido."""
    if explorador.kind == "adder":
        pagina.get_by_role("button", name="Sumar").first.click()
        pagina.wait_for_function("() => document.querySelector('.atento-exp').atento.run")
    if explorador.kind == "completion":
        pagina.get_by_role("button", name="Siguiente").first.click()
        pagina.wait_for_function("() => document.querySelector('.atento-exp').atento.values")
    if explorador.kind == "cloze":
        pagina.get_by_role("radio", name="(tapada)").first.click()
        pagina.wait_for_function("() => document.querySelector('.atento-exp').atento.values")
    if explorador.kind == "claims":
        pagina.get_by_role("button", name="Añadir").click()
        pagina.wait_for_function("() => document.querySelector('.atento-exp').atento.values?.live")
    if explorador.kind == "patches":
        pagina.get_by_role("gridcell").last.click()
        pagina.wait_for_function("() => document.querySelector('.atento-exp').atento.values?.live")
    if explorador.kind == "hearing":
        pagina.get_by_role("button", name="Poner una i").first.click()
        pagina.wait_for_function("() => document.querySelector('.atento-exp').atento.values")
    if explorador.kind == "sketch":
        pagina.get_by_role("button", name="Correr a la derecha").first.click()
        pagina.wait_for_function("() => document.querySelector('.atento-exp').atento.values")
    contrato(pagina, "mueve")


def test_un_explorador_no_es_el_mismo_si_cambia_una_medida_de_su_estilo(monkeypatch):
    """Y lo es si solo cambian los números que enseña, que dependen del procesador."""
    uno = next(iter(MUESTRAS.values()))
    antes = _huella(uno._repr_html_(), "")
    lee = base._read
    with monkeypatch.context() as cambio:
        cambio.setattr(base, "_read", lambda fichero: lee(fichero).replace("44px", "24px"))
        assert _huella(uno._repr_html_(), "") != antes
    assert _huella(uno._repr_html_().replace("<td>0.", "<td>7."), "") == antes
    assert _huella(uno._repr_html_(), "otro navegador") != antes


def test_hay_muestra_de_cada_explorador():
    assert {uno.kind for uno in MUESTRAS.values()} == set(CLASES)


@cada_uno
def test_contrato_con_el_teclado(abrir, explorador, cumple):
    """El tabulador llega a todo y sale; cada mando obedece a sus teclas, y el foco no se pierde."""
    pagina = abrir(explorador, explorador)
    raiz, otro = pagina.locator(".atento-exp").first, "document.querySelectorAll('.atento-exp')[1]"
    antes_del_otro = pagina.evaluate(f"JSON.stringify({otro}.atento)")
    _tabula(pagina)
    cuantos = contrato(pagina, "cuantos")
    assert sum(cuantos.values()) > 0
    for i in range(cuantos["grupos"]):
        _flechas_de_grupo(pagina, raiz.get_by_role("radiogroup").nth(i))
    for mando in raiz.get_by_role("slider").filter(visible=True).all():
        if mando.evaluate("e => e.type !== 'range'"):
            continue
        vistos = []
        for tecla in ("Home", "End", "ArrowLeft"):
            mando.press(tecla)
            vistos.append(mando.evaluate("e => [Number(e.value), e.ariaValueText]"))
        (menor, _), (mayor, _), (menos, _) = vistos
        assert menor < menos < mayor and all(texto for _, texto in vistos)
        assert vistos[0][1] != vistos[1][1], "lo que se oye no cambia"
    for casilla in raiz.get_by_role("checkbox").all():
        antes = casilla.is_checked()
        casilla.press("Space")
        assert casilla.is_checked() != antes
    for rejilla in raiz.get_by_role("grid").all():
        _flechas_de_rejilla(pagina, rejilla)
    for punto in raiz.locator(".grip").all():
        punto.focus()
        antes = contrato(pagina, "huella")
        pagina.keyboard.press("ArrowRight")
        assert contrato(pagina, "huella") != antes
    _pulsa_los_botones(pagina, raiz)
    assert pagina.evaluate(f"JSON.stringify({otro}.atento)") == antes_del_otro, "se mueven los dos"
    cumple(explorador)


def _tabula(pagina) -> None:
    mandos = contrato(pagina, "tabulador")
    assert mandos
    pagina.evaluate("document.activeElement.blur()")
    for orden, mando in enumerate(mandos):
        pagina.keyboard.press("Tab")
        visto, marca = pagina.evaluate(
            "() => { const e = document.activeElement, s = getComputedStyle(e);"
            " return [e.dataset.orden, s.outlineStyle !== 'none' || e.closest('svg') !== null]; }"
        )
        assert visto == str(orden), f"se esperaba {mando}"
        assert marca, f"no se ve dónde está el foco: {mando}"
    pagina.keyboard.press("Tab")
    assert pagina.evaluate(
        "!document.querySelector('.atento-exp').contains(document.activeElement)"
    ), "el tabulador no sale"


FOCO = """grupo => { const r = [...grupo.querySelectorAll('[role=radio]')]
  .filter((e) => e.getClientRects().length);
  return [r.length, r.indexOf(document.activeElement),
    r.map((e) => e.ariaChecked === 'true'), r.filter((e) => e.tabIndex === 0).length]; }"""


def _flechas_de_grupo(pagina, grupo) -> None:
    nombre = grupo.get_attribute("aria-label")
    grupo.locator("[role=radio][tabindex='0']").focus()
    opciones = grupo.evaluate(FOCO)[0]
    sitio = None
    for tecla in ("End", "ArrowLeft", "ArrowRight", "Home", "ArrowDown", "ArrowUp"):
        pagina.keyboard.press(tecla)
        ultimo = opciones - 1
        sitio = {"End": ultimo, "Home": 0}.get(
            tecla,
            min(ultimo, (sitio or 0) + 1)
            if tecla in ("ArrowRight", "ArrowDown")
            else max(0, (sitio or 0) - 1),
        )
        cuantos, foco, marcados, de_paso = grupo.evaluate(FOCO)
        assert (cuantos, foco, de_paso) == (opciones, sitio, 1), (nombre, tecla)
        assert [i for i, marcado in enumerate(marcados) if marcado] == [sitio], (nombre, tecla)


def _flechas_de_rejilla(pagina, rejilla) -> None:
    celdas, filas = rejilla.get_by_role("gridcell"), rejilla.locator("tbody tr").count()
    ancho = celdas.count() // filas
    assert rejilla.locator("[role=gridcell][tabindex='0']").count() == 1
    celdas.first.focus()
    for tecla, sitio in (("ArrowRight", 1), ("ArrowDown", ancho + 1), ("End", 2 * ancho - 1),
                         ("Home", ancho), ("ArrowUp", 0), ("ArrowLeft", 0)):  # fmt: skip
        pagina.keyboard.press(tecla)
        assert celdas.nth(sitio).evaluate("e => e === document.activeElement"), tecla
    for tecla in ("Space", "Enter"):
        antes = celdas.first.get_attribute("aria-selected")
        pagina.keyboard.press(tecla)
        assert celdas.first.get_attribute("aria-selected") != antes


def _pulsa_los_botones(pagina, raiz) -> None:
    """Con Intro, hasta que se apaga: alguna vez hace algo, y el foco sigue dentro."""
    mudos = []
    for boton in raiz.locator(".stage button:not([role])").all():
        nombre, hizo = boton.evaluate("e => e.ariaLabel ?? e.textContent"), False
        for _ in range(3):
            if not boton.is_visible() or not boton.is_enabled():
                hizo = True
                break
            antes = contrato(pagina, "huella")
            boton.press("Enter")
            if nombre in ("Sumar", "Al azar"):
                pagina.wait_for_function("() => document.querySelector('.atento-exp').atento.run")
            dentro = "document.querySelector('.atento-exp').contains(document.activeElement)"
            pagina.evaluate("() => new Promise(requestAnimationFrame)")
            assert pagina.evaluate(dentro), f"«{nombre}» pierde el foco"
            hizo |= contrato(pagina, "huella") != antes
        if not hizo:
            mudos.append(nombre)
    assert not mudos, mudos


@cada_uno
def test_contrato_con_el_dedo_y_a_360_px(abrir, explorador, cumple):
    """Nada se sale a 390, 360 ni 320 px; a 390, se acierta y se lee. Al abrirse y usado; y tocar
    hace lo mismo que pulsar.
    """
    pagina = abrir(
        explorador, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    raiz = pagina.locator(".atento-exp")
    for usado in (False, True):
        if usado:
            _toca(raiz)
            _usar(pagina, explorador)
        for ancho in (390, 360, 320):
            pagina.set_viewport_size({"width": ancho, "height": 844})
            assert pagina.evaluate("document.documentElement.scrollWidth") <= ancho, usado
            if ancho > 320:
                for falta in ("asoman", "letras", "pequenos")[: 3 if ancho == 390 else 1]:
                    assert not (hallado := contrato(pagina, falta)), (falta, ancho, usado, hallado)
        pagina.set_viewport_size({"width": 390, "height": 844})
    cumple(explorador)


def _toca(raiz) -> None:
    for grupo in raiz.get_by_role("radiogroup").filter(visible=True).all():
        opciones = grupo.get_by_role("radio", checked=False).filter(visible=True)
        if opciones.count():
            opcion = opciones.last.element_handle()
            opcion.tap()
            assert opcion.get_attribute("aria-checked") == "true"
    for mando in raiz.locator("[type=range]").filter(visible=True).all():
        caja, antes = mando.bounding_box(), mando.input_value()
        for parte in (0.2, 0.8):
            mando.tap(position={"x": parte * caja["width"], "y": caja["height"] / 2})
        assert mando.input_value() != antes or antes == mando.get_attribute("max")
    for casilla in raiz.locator("[type=checkbox]").filter(visible=True).all():
        antes = casilla.is_checked()
        casilla.tap()
        assert casilla.is_checked() != antes


@cada_uno
def test_contrato_del_lector_del_papel_y_del_movimiento(abrir, explorador, cumple):
    """Se oye lo que cambia, poco y cuando se para; axe no halla nada, en claro y en oscuro; se
    imprime en blanco y sin mandos, y con menos movimiento nada se mueve.
    """
    pagina = abrir(explorador, reduced_motion="reduce")
    raiz = pagina.locator(".atento-exp")
    assert raiz.get_attribute("role") == "group"
    assert raiz.get_attribute("aria-label") == explorador.title
    vivas = raiz.locator("[aria-live]")
    assert vivas.count() == 1 and vivas.get_attribute("aria-live") == "polite"
    pagina.wait_for_function("document.querySelector('[aria-live]').textContent.length > 10")
    dicho = vivas.text_content()
    assert len(dicho) < 160
    faltas = axe(pagina)
    siguiente = pagina.get_by_role("button", name="Siguiente")
    for _ in range(4):  # los que van por pasos no enseñan lo mismo en cada uno
        if siguiente.count() and siguiente.is_visible() and siguiente.is_enabled():
            siguiente.click()
            faltas += axe(pagina)
            pon_tema(pagina, "dark")
            faltas += axe(pagina, runOnly=["color-contrast"])
            pon_tema(pagina, "light")
    pagina.wait_for_timeout(450)  # lo último ya está dicho
    dicho = vivas.text_content()
    antes = contrato(pagina, "huella")
    _usar(pagina, explorador)
    if explorador.kind != "adder":
        assert vivas.text_content() == dicho, "habla antes de que el movimiento se pare"
    assert contrato(pagina, "huella") != antes
    pagina.wait_for_function(
        "() => { const [visto, dicho] = ['.reading', '[aria-live]'].map("
        "(que) => document.querySelector(que).textContent);"
        " return visto === dicho && dicho.length > 10; }"
    )
    assert vivas.text_content() != dicho and len(vivas.text_content()) < 160
    assert raiz.locator(".reading").get_attribute("aria-hidden") == "true"
    faltas += axe(pagina)
    pon_tema(pagina, "dark")
    faltas += axe(pagina, runOnly=["color-contrast"])
    assert not faltas, "\n".join(faltas)
    assert not (mueven := contrato(pagina, "movimiento")), mueven
    pagina.emulate_media(media="print", reduced_motion="reduce")
    assert not (impresos := contrato(pagina, "mandosImpresos")), impresos
    assert len(raiz.locator(".stage").inner_text()) > 40
    colores = raiz.evaluate("e => [getComputedStyle(e).backgroundColor, getComputedStyle(e).color]")
    assert colores == [_rgb("paper", "light"), _rgb("ink", "light")]
    cumple(explorador)


def _rgb(nombre: str, tema: str) -> str:
    return f"rgb{tuple(int(plots.TOKENS[nombre][tema][i : i + 2], 16) for i in (1, 3, 5))}"


@cada_uno
def test_contrato_sin_javascript_y_en_un_cuaderno(abrir, explorador, cumple):
    """Sin JavaScript se lee el estado inicial, y la respuesta se despliega; en JupyterLab y Colab,
    que ponen el HTML con innerHTML y vuelven a crear los guiones, se puede ejecutar dos veces.
    """
    quieta = abrir(explorador, java_script_enabled=False, viewport={"width": 360, "height": 844})
    raiz = quieta.locator(".atento-exp")
    assert raiz.locator(".quiet table").first.is_visible() and not raiz.locator(".stage").count()
    texto = raiz.inner_text()
    assert explorador.title in texto and (explorador.question or "") in texto
    assert raiz.locator("summary").count() == bool(explorador.answer)
    if explorador.answer:
        respuesta = raiz.locator("details p")
        assert not respuesta.is_visible()
        raiz.locator("summary").click()
        assert respuesta.is_visible() and respuesta.inner_text() == explorador.answer
    viva = abrir(cuerpo="<div id=salida></div>", viewport={"width": 360, "height": 844})
    for _ in range(2):
        viva.evaluate("""html => {
          const salida = document.getElementById("salida");
          salida.innerHTML = html;
          for (const viejo of salida.querySelectorAll("script")) {
            const nuevo = document.createElement("script");
            for (const {name, value} of viejo.attributes) nuevo.setAttribute(name, value);
            nuevo.textContent = viejo.textContent;
            viejo.replaceWith(nuevo);
          }
        }""", explorador._repr_html_())  # fmt: skip
        assert viva.locator(".stage").count() == 1 and viva.locator(".stage").is_visible()
        assert viva.locator(".quiet").is_hidden()
        assert leer(viva, explorador)["state"] is not None
        if explorador.answer:
            assert not viva.locator("details p").is_visible()
    ancho = "document.documentElement.scrollWidth"
    assert viva.evaluate(ancho) <= 360
    with_quiet = "document.querySelector('.stage').remove(),"
    with_quiet += "document.querySelector('.quiet').hidden = false," + ancho
    assert viva.evaluate(with_quiet) <= 360, "la tabla quieta se sale"
    assert not (letras := contrato(viva, "letras")), letras
    cumple(explorador)
