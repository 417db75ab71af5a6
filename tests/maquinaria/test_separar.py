"""Las mezclas y los controles con que se mide el SepFormer del capítulo 21."""

from __future__ import annotations

import importlib
import math
import sys

import pytest
import torch

from paginas.capitulos import RAIZ


@pytest.fixture
def separar(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(RAIZ / "tools" / "semillas"), *sys.path])
    modulo = importlib.import_module("separar")
    monkeypatch.setattr(modulo, "EXAM", modulo.EXAM | {"mixtures": 12})
    modulo.exam.cache_clear()
    yield modulo
    modulo.exam.cache_clear()


def armonicos(tonos: list[float], n: int = 4800) -> torch.Tensor:
    """Una suma de múltiplos de cada tono, (voz, n), con pesos que bajan."""
    instantes = torch.arange(n) / 8000
    ondas = [
        sum(torch.sin(2 * math.pi * k * tono * instantes + k) / k for k in range(1, 15))
        for tono in tonos
    ]
    return torch.stack(ondas)[None]


def test_el_examen_dice_parejas_que_al_entrenar_no_salen(separar):
    reservadas = ("ai", "eo", "iu", "oa", "ue")
    oidas = separar.vowels.generate(40, 0, lengths=[3, 4, 5], noise=None)
    assert len(separar.exam(0)) == 12
    for dos in separar.exam(0):
        assert all(any(pareja in voz.vowels for pareja in reservadas) for voz in dos)
        grave, aguda = sorted(voz.pitch for voz in dos)
        assert aguda >= separar.RECIPE["apart"] * grave
    assert not any(pareja in voz.vowels for voz in oidas for pareja in reservadas)


def test_la_mezcla_tal_cual_no_mejora_y_las_voces_en_otro_orden_si(separar):
    voces = separar.cut(separar.exam(1))
    mezcla = voces.sum(1, keepdim=True).expand_as(voces)
    assert separar.improvement(mezcla, voces).abs().max() < 1e-4
    assert separar.improvement(voces.flip(1), voces).min() > 40


def test_lo_que_se_distingue_es_solo_lo_que_se_dice(separar):
    for uno, otro in separar.retuned(2, 1.44, same=True):
        assert otro.pitch == pytest.approx(1.44 * uno.pitch)
        assert otro._replace(pitch=uno.pitch) == uno
    for palabras, tiempos in ((True, False), (False, True)):
        for uno, otro in separar.alike(2, words=palabras, times=tiempos):
            assert uno.tract == otro.tract and len(uno.vowels) == len(otro.vowels)
            assert (uno.lengths, uno.gaps) == (otro.lengths, otro.gaps) or tiempos
            assert uno.vowels == otro.vowels or palabras


def test_el_peine_separa_dos_sonidos_periodicos_y_encuentra_sus_tonos(separar):
    voces, tonos = armonicos([110.0, 173.0]), torch.tensor([[110.0, 173.0]])
    hallados = separar.two_pitches(voces.sum(1)).sort(1).values
    assert (hallados - tonos).abs().max() < 1.5
    assert separar.improvement(separar.comb(voces.sum(1), tonos), voces).item() > 10
    cambiados = separar.comb(voces.sum(1), tonos.flip(1))  # el orden da igual
    assert separar.improvement(cambiados, voces).item() > 10
    assert separar.improvement(separar.comb(voces.sum(1), tonos + 25), voces).item() < 3


def test_lo_mas_cerca_de_un_multiplo_no_cuenta_el_cero(separar):
    lejos = separar.away(torch.tensor([0.0, 100.0, 240.0]), torch.tensor([100.0]))
    assert lejos.flatten().tolist() == pytest.approx([100.0, 0.0, 40.0])


def test_partir_en_graves_y_agudos_separa_lo_que_no_se_pisa(separar):
    instantes = torch.arange(4800) / 8000
    voces = torch.stack([torch.sin(2 * math.pi * f * instantes) for f in (300.0, 1500.0)])[None]
    assert separar.best_cut(voces.sum(1), voces) > 30


def test_en_los_lotes_los_tonos_se_llevan_lo_que_pide_cada_clase(separar, monkeypatch):
    receta = {"voices": 40, "steps": 3, "batch": 4}
    monkeypatch.setattr(separar, "RECIPE", separar.RECIPE | receta)
    separar.bank.cache_clear()
    ondas, tonos = separar.bank(5)
    for clase, cabe in (("pit", (1.25, 9)), ("close", (1, 1.03)), ("pitch", (1.25, 9))):
        for lote in separar.batches(5, clase):
            assert lote.voices.shape == (4, 2, separar.RECIPE["samples"])
            torch.testing.assert_close(lote.heard, lote.voices.sum(1))
            for dos in lote.voices:
                suyas = [tonos[next(i for i, o in enumerate(ondas) if esta(voz, o))] for voz in dos]
                razon = max(suyas) / min(suyas)
                assert cabe[0] <= razon < cabe[1] + 1e-6
                assert clase != "pitch" or suyas[0] < suyas[1]
    separar.bank.cache_clear()


def esta(trozo: torch.Tensor, onda: torch.Tensor) -> bool:
    """Si lo que más suena de ``trozo`` está tal cual en ``onda``."""
    en = min(int(trozo.abs().argmax()), len(trozo) - 32)
    return bool((onda.unfold(0, 32, 1) == trozo[en : en + 32]).all(1).any())
