"""El Transformer de la página: cómo se elige, cómo se cuenta y qué dice su ficha."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
import torch
from rich.console import Console

from atento import trained
from atento.tasks import addition
from atento.tasks.addition import Sum
from semillas import sumador

CALLADA = Console(quiet=True)


@pytest.fixture(scope="module")
def modelo():
    return trained.adder()


# --- Las gemelas ----------------------------------------------------------------------------------


def test_las_gemelas_de_una_suma_son_la_misma_suma_para_el_modelo(modelo):
    """Solo se le dice el lugar de cada cifra: de qué número es, no puede saberlo."""
    gemelas = sumador.gemelas(Sum(458, 367))
    assert len(gemelas) == 8 and {(458, 367), (367, 458), (468, 357)} <= set(gemelas)
    assert sumador.gemelas(Sum(950, 950)) == [(950, 950)]
    lote = addition.batch([Sum(*pareja) for pareja in gemelas])
    with torch.no_grad():
        logits = modelo(lote.source, lote.inputs)
    torch.testing.assert_close(logits, logits[:1].expand_as(logits), rtol=0, atol=1e-4)


def test_las_clases_reparten_el_millon_de_sumas():
    """Una de cada grupo: los grupos no se pisan (aquí, uno de cada cien) y suman el millón."""
    clases = list(sumador.clases())
    assert len(clases) == 55**3 and Sum(950, 950) in clases
    assert (
        sum(2 ** sum(x != y for x, y in zip(f"{s.a:03}", f"{s.b:03}", strict=True)) for s in clases)
        == 10**6
    )
    grupos = [sumador.gemelas(suma) for suma in clases[::100]]
    assert len({pareja for grupo in grupos for pareja in grupo}) == sum(map(len, grupos))


def test_una_gemela_vista_quita_la_suma_de_las_que_no_la_tienen():
    reservadas = [Sum(458, 367), Sum(950, 950), Sum(123, 123)]
    assert sumador.sin_gemela(reservadas, set()) == 3
    assert sumador.sin_gemela(reservadas, {(468, 357)}) == 2
    assert sumador.sin_gemela(reservadas, {(457, 368), (950, 950), (1, 2)}) == 1


# --- Lo que acierta -------------------------------------------------------------------------------


def test_se_cuentan_las_sumas_enteras(modelo):
    sumas = addition.generate(40, 7)
    assert sumador.aciertos(modelo, sumas) == 40
    assert sumador.aciertos(modelo, [*sumas, Sum(950, 950)]) == 40


def test_las_falladas_se_dicen_con_todas_sus_gemelas(modelo, monkeypatch):
    """La única del millón, en el segundo lote; y con un modelo que calla la cifra, las ocho."""
    pocas = [Sum(1, 2), Sum(458, 367), Sum(950, 950)]
    monkeypatch.setattr(sumador, "clases", lambda: iter(pocas))
    monkeypatch.setattr(sumador, "LOTE", 2)
    assert sumador.falladas(modelo) == [(950, 950)]

    def calla(fuente, entradas):
        logits = modelo(fuente, entradas).clone()
        logits[fuente[:, 0] == addition.ZERO_ID + 4, 2] = 0  # los centenares de 458 + 367
        return logits

    assert sumador.falladas(calla) == [*sumador.gemelas(Sum(458, 367)), (950, 950)]


def test_del_millon_falla_la_de_la_ficha(modelo):
    """Por grupos de gemelas se cuenta el millón; aquí, uno de cada cuatrocientos y la que falla."""
    malas = [Sum(*pareja) for pareja in trained.facts()["every"]["wrong"]]
    assert malas == [Sum(950, 950)] and addition.score(modelo, malas)["exact"] == 0
    cerca = [Sum(905, 995), Sum(940, 950), Sum(950, 951), Sum(951, 950)]
    buenas = [*cerca, *list(sumador.clases())[::400]]
    assert sumador.aciertos(modelo, buenas) == len(buenas)


# --- La elección y la ficha -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bien", "gana"), [((5, 9, 7), 1), ((8, 8, 8), 0), ((3, 8, 8), 1), ((1, 2, 3), 2)]
)
def test_se_elige_la_que_mas_acierta_y_entre_iguales_la_primera(monkeypatch, bien, gana):
    """Se elige en sumas del entrenamiento, con los pesos ya redondeados."""
    modelos = [SimpleNamespace(n=bien[i], redondo=False) for i in range(3)]
    vistas = []

    def redondea(modelo):
        modelo.redondo = True
        return modelo

    def acierta(modelo, sumas):
        assert modelo.redondo
        vistas.append(sumas)
        return modelo.n

    monkeypatch.setattr(sumador, "train_14", lambda receta, semilla: (modelos[semilla], semilla))
    monkeypatch.setattr(sumador.trained, "rounded", redondea)
    monkeypatch.setattr(sumador, "aciertos", acierta)
    monkeypatch.setattr(sumador, "ELIGEN", 50)
    consola = Console(record=True, width=200, file=io.StringIO())
    assert sumador.elegido(consola) == (gana, modelos[gana], gana)
    assert consola.export_text().splitlines() == [
        f"semilla {i}: {bien[i]} de 50 del entrenamiento, {i} s" for i in range(3)
    ]
    assert len(vistas) == 3 and len(vistas[0]) == 50
    assert not any(addition.is_held_out(suma.a, suma.b) for suma in vistas[0])


def test_se_elige_con_sumas_que_no_sortea_ninguna_de_las_que_compiten(monkeypatch):
    semillas = []
    monkeypatch.setattr(
        sumador.addition, "generate", lambda n, semilla: semillas.append((n, semilla)) or [None]
    )
    monkeypatch.setattr(sumador, "train_14", lambda receta, semilla: (semilla, 1.0))
    monkeypatch.setattr(sumador.trained, "rounded", lambda modelo: modelo)
    monkeypatch.setattr(sumador, "aciertos", lambda modelo, sumas: 1)
    sumador.elegido(CALLADA)
    ((cuantas, semilla),) = semillas
    assert cuantas == sumador.ELIGEN == 20_000
    suyas = {sumador.RECIPE_14["data_seed"] + s for s in sumador.SEMILLAS}
    assert len(suyas) == 3 and semilla not in suyas


def test_lo_entrenado_que_dice_la_ficha_es_lo_que_sale_de_la_receta():
    hechos = trained.facts()
    vistas = sumador.entrenadas(hechos["seed"])
    assert len(vistas) == hechos["training"]["distinct"]
    assert not any(addition.is_held_out(*pareja) for pareja in sorted(vistas)[::500])
    sin_ninguna = sumador.sin_gemela(addition.held_out(), vistas)
    assert sin_ninguna == hechos["held_out"]["without_twin"]


def test_la_ficha_guardada_es_la_que_se_escribiria_hoy(modelo, monkeypatch):
    """Sin repetir las cuentas largas, que tienen arriba su prueba: cada dato, en su sitio."""
    hechos = trained.facts()
    monkeypatch.setattr(sumador, "falladas", lambda modelo: hechos["every"]["wrong"])
    monkeypatch.setattr(sumador, "aciertos", lambda modelo, sumas: hechos["held_out"]["right"])
    nueva = sumador.ficha(hechos["seed"], modelo, hechos["training"]["cpu_seconds"] + 0.04)
    for aparte in ("date", "versions"):
        assert nueva.pop(aparte) and hechos.pop(aparte)
    assert nueva == hechos


def test_la_orden_guarda_el_elegido_con_su_ficha(modelo, monkeypatch, tmp_path, capsys):
    destino = tmp_path / "sumador.safetensors"
    hechos = trained.facts()
    monkeypatch.setattr(sumador, "DESTINO", destino)
    monkeypatch.setattr(sumador, "elegido", lambda consola: (0, modelo, 1.0))
    monkeypatch.setattr(sumador, "ficha", lambda *datos: hechos)
    hilos = []
    monkeypatch.setattr(sumador.torch, "set_num_threads", hilos.append)
    sumador.main()
    assert hilos == [1]  # con más, los números serían otros
    assert destino.read_bytes() == trained.stored_bytes()
    quedan, dicho = hechos["held_out"], " ".join(capsys.readouterr().out.split())
    assert f"Guardada la semilla 0: {quedan['right']} de {quedan['sums']} reservadas" in dicho
    assert f"sumador.safetensors, {destino.stat().st_size} bytes" in dicho
