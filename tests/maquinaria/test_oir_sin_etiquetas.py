"""El wav2vec 2.0 pequeño del capítulo 21: qué se tapa, qué cuenta como acierto y sus controles."""

from __future__ import annotations

import importlib
import sys

import pytest
import torch

from paginas.capitulos import RAIZ


@pytest.fixture
def oir(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(RAIZ / "tools" / "semillas"), *sys.path])
    modulo = importlib.import_module("oir_sin_etiquetas")
    monkeypatch.setattr(modulo, "RECIPE", modulo.RECIPE | {"sounds": 60, "exam": 30})
    modulo.heard.cache_clear()
    modulo.exam.cache_clear()
    yield modulo
    modulo.heard.cache_clear()
    modulo.exam.cache_clear()


def test_el_examen_es_de_palabras_y_voces_que_no_se_han_oido(oir):
    oidas, examen = oir.heard(3), oir.exam(3)
    assert not {e.vowels for e in oidas} & {e.vowels for e in examen}
    assert not {(e.pitch, e.seed) for e in oidas} & {(e.pitch, e.seed) for e in examen}
    assert {len(e.vowels) for e in oidas + examen} == {oir.RECIPE["length"]}


def test_solo_se_tapa_y_se_compara_donde_suena(oir):
    ondas = oir.raw(oir.heard(3))
    suena = oir.sounding(ondas)
    tapado, negativos = oir.hide(suena, torch.Generator().manual_seed(0))
    assert suena.shape == (60, oir.ROWS) and 0.3 < suena.float().mean() < 0.7
    assert tapado.any(1).all() and not (tapado & ~suena).any()
    cuales = tapado.nonzero()[:, 0]
    assert tapado[cuales[:, None], negativos[tapado]].all()
    voz = oir.labels(oir.heard(3)) >= 0
    assert (suena & voz).sum() > 0.95 * suena.sum()  # lo que suena son las vocales


def test_una_fila_de_la_onda_es_la_de_sus_etiquetas(oir):
    """Hay las filas que se dicen, y una onda callada desde el centro de una fila la cambia."""
    modelo = oir.Wav2Vec2(oir.config()).eval()
    ondas = oir.raw(oir.heard(3)[:1])
    assert modelo.listen.frames(ondas.shape[1]) == oir.ROWS
    otra = ondas.clone()
    otra[:, 40 * oir.STEP : 41 * oir.STEP] += 1
    for capa in modelo.listen.layers:
        capa.norm = torch.nn.Identity()  # la de grupo mezcla toda la grabación
    with torch.no_grad():
        cambia = (modelo.listen(ondas) - modelo.listen(otra)).abs().amax((0, 2)) > 1e-6
    assert cambia[40] and cambia.nonzero().flatten().tolist() in ([39, 40], [38, 39, 40])


def test_se_gana_a_los_negativos_que_no_son_iguales(oir):
    objetivos = torch.eye(4)[None].clone()
    objetivos[0, 3] = objetivos[0, 0]  # el mismo código en otro sitio
    tapado = torch.tensor([[True, True, False, True]])
    negativos = torch.tensor([[[1, 3], [0, 3], [0, 0], [0, 1]]])
    contexto = torch.tensor([[[1.0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0]]])
    gana, iguales, azar = oir.picks(contexto, objetivos, masked=tapado, negatives=negativos)
    assert gana.tolist() == [[True, True], [False, False], [True, False]]
    assert iguales.tolist() == [[False, True], [False, False], [True, False]]
    assert azar.tolist() == pytest.approx([1 / 2, 1 / 3, 1 / 2])


def test_quien_copia_responde_con_la_fila_vista_mas_cercana(oir):
    objetivos = torch.arange(6.0)[None, :, None]
    tapado = torch.tensor([[False, True, True, True, False, True]])
    assert oir.nearest(objetivos, tapado).flatten().tolist() == [0, 0, 0, 4, 4, 4]


def test_se_acierta_por_vocal_y_no_por_fila(oir):
    ejemplos = oir.exam(3)[:4]
    verdad = oir.labels(ejemplos)
    puntos = torch.zeros(4, oir.ROWS, 5)
    puntos.scatter_(2, verdad.clamp(min=0)[..., None], 1.0)
    assert oir.right(puntos, ejemplos) == 1
    primera, ultima = oir.places(ejemplos[0])[0]
    puntos[0, primera:ultima] = puntos[0, primera:ultima].roll(1, -1)
    assert oir.right(puntos, ejemplos) == pytest.approx(11 / 12)


def test_la_sonda_separa_lo_que_se_separa_con_una_recta(oir):
    dado = torch.Generator().manual_seed(0)
    verdad = oir.labels(oir.heard(3)[:10])
    filas = torch.randn(10, oir.ROWS, 8, generator=dado)
    filas[..., :5] += 9 * torch.nn.functional.one_hot(verdad.clamp(min=0), 5)
    dicho = oir.probe(filas, verdad, filas)
    assert oir.right(dicho, oir.heard(3)[:10]) == 1
    al_azar = oir.probe(torch.randn(10, oir.ROWS, 8, generator=dado), verdad, filas)
    assert oir.right(al_azar, oir.heard(3)[:10]) < 0.6
