"""Las vocales que se mueven, en Chromium."""

from __future__ import annotations

import re

import pytest
import torch
from explorando import contestado, devuelve_los_pesos, leer, quita_los_pesos
from muestras import OIDO, book_hearing

from atento.tasks import vowels
from atento.watching import watching
from figuras.explorers.hearing import Saying

pytestmark = pytest.mark.navegador


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
        visto = contestado(pagina)
        estado = visto["state"]
        assert (estado["pitch"], estado["seconds"]) == (tono, dura)
        assert estado["noise"] == (31 - ruido if ruido else None)
        vistos.add(_lo_oye_como_pytorch(visto, explorador))
        if ruido:
            pagina.get_by_role("button", name="Otro ruido").click()
            assert contestado(pagina)["state"]["seed"] == estado["seed"] + 1
            _lo_oye_como_pytorch(contestado(pagina), explorador)
    for _ in range(2):
        pagina.get_by_role("button", name="Añadir").click()
    pagina.get_by_role("button", name="Poner una u").click()
    visto = contestado(pagina)
    assert len(visto["state"]["spots"]) == 5 and visto["state"]["spots"][4] == [0.992, 0.322]
    _lo_oye_como_pytorch(visto, explorador)
    for cuantas in (4, 3, 2):
        pagina.get_by_role("button", name="Quitar").click()
        visto = contestado(pagina)
        assert len(visto["state"]["spots"]) == cuantas > visto["state"]["at"]
        _lo_oye_como_pytorch(visto, explorador)
    assert pagina.get_by_role("button", name="Quitar").is_disabled()
    pagina.get_by_role("button", name="Volver a empezar").click()
    visto = contestado(pagina)
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
        return _lo_oye_como_pytorch(contestado(pagina), libro)

    rastro = pagina.locator(".hear-trail text")
    _flechas(pagina, "ArrowUp", 1)
    contestado(pagina)  # hasta que llega el modelo, ningún sitio deja su letra
    _flechas(pagina, "ArrowUp", 16)  # F1, de 458 a 290
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
    visto = contestado(pagina)
    assert visto["state"]["spots"][1] == [
        pytest.approx(1.353, abs=0.02),
        pytest.approx(0.638, abs=0.02),
    ]
    assert _lo_oye_como_pytorch(visto, libro) == "oaa"
    pagina.get_by_role("button", name="Poner una i").click()
    _mando(pagina, "Ruido", 41)  # 10 dB más fuerte que la voz
    escrito = _lo_oye_como_pytorch(contestado(pagina), libro)
    frase = pagina.locator(".reading").inner_text()
    assert set(escrito) == {"a"} and frase.startswith(
        f"Dices «oia» y escribe «{escrito}»: se equivoca."
    )
    assert ("Son 3 vocales" in frase) == (len(escrito) != 3)


def test_lo_escrito_las_barras_y_lo_que_mira_miden_lo_que_dicen(sumador):
    libro = book_hearing()
    pagina = sumador(libro)
    _mando(pagina, "Ruido", 24)
    _lo_oye_como_pytorch(contestado(pagina), libro)
    antes = libro.compute(libro.start._replace(noise=7.0))
    _mando(pagina, "Ruido", 28)
    visto = contestado(pagina)
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
    visto = contestado(pagina)
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
    contestado(pagina)
    assert len(pedidos) == 1 and "modelos/libro-" in pedidos[0]
    assert symbols.is_visible()


def test_si_los_pesos_de_las_vocales_no_llegan_se_dice_y_se_puede_repetir(abrir):
    pagina = abrir(OIDO)
    guardado = quita_los_pesos(pagina)
    _flechas(pagina, "ArrowUp", 1)
    pagina.get_by_text("Comprueba la red").first.wait_for()
    assert not leer(pagina, OIDO)["values"]
    devuelve_los_pesos(pagina, guardado)
    _flechas(pagina, "ArrowUp", 1)
    assert contestado(pagina)["state"]["spots"][1][1] == 0.44


def test_en_papel_las_vocales_sin_tocar_dejan_su_tabla(sumador):
    pagina = sumador(OIDO)
    pagina.emulate_media(media="print")
    assert pagina.locator(".quiet table").is_visible() and not pagina.locator(".stage").is_visible()
    pagina.emulate_media(media="screen")
    _flechas(pagina, "ArrowUp", 1)
    contestado(pagina)
    pagina.emulate_media(media="print")
    assert pagina.locator(".lots").is_visible() and not pagina.locator(".quiet").is_visible()
