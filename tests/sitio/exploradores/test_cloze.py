"""La palabra tapada, en Chromium."""

from __future__ import annotations

import pytest
import torch
from explorando import devuelve_los_pesos, leer, quita_los_pesos
from muestras import HUECO, book_cloze

from atento.tasks import agreement

pytestmark = pytest.mark.navegador


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
    guardado = quita_los_pesos(pagina)
    _pon(pagina, 0, "▢")
    pagina.get_by_text("Comprueba la red").first.wait_for()
    assert not leer(pagina, HUECO)["values"] and leer(pagina, HUECO)["state"]["hidden"][0]
    devuelve_los_pesos(pagina, guardado)
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
