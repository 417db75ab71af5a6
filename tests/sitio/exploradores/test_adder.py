"""El sumador, en Chromium."""

from __future__ import annotations

import re

import pytest
import torch
from explorando import axe, contrato, leer
from muestras import SUMADOR

from atento import trained
from atento.tasks import addition
from atento.watching import watching
from figuras import explorers, plots
from figuras.explorers.adder import adder, complaint

pytestmark = pytest.mark.navegador


SUMAS = [(758, 469), (999, 1), (5, 7), (0, 0), (310, 98)]


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
