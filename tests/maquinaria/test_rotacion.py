"""Lo que rota: a cada confirmación le toca una parte, y entre unas cuantas se ve todo."""

from __future__ import annotations

import itertools

import pytest
import rotacion
from rotacion import combinaciones, nuevas, reparto, una_de_cada


def test_las_semillas_nuevas_dicen_como_se_repiten(monkeypatch):
    rotacion.origen.cache_clear()
    monkeypatch.setenv("ATENTO_BARRIDO", "abc")
    una, otra = nuevas(2)
    assert una.startswith("ATENTO_BARRIDO=abc") and una != otra
    rotacion.origen.cache_clear()
    monkeypatch.setenv("ATENTO_BARRIDO", "otra")
    assert not {una, otra} & set(nuevas(2))
    rotacion.origen.cache_clear()
    monkeypatch.delenv("ATENTO_BARRIDO")
    assert rotacion.origen() == rotacion.origen() != ""
    rotacion.origen.cache_clear()


@pytest.mark.parametrize("niveles", [["media", "fuerte"], ["media"], ["fuerte"]])
@pytest.mark.parametrize("desde", range(4))
def test_entre_todas_las_combinaciones_se_ve_cada_cosa_una_vez(niveles, desde, monkeypatch):
    monkeypatch.delenv("ATENTO_ENTERO", raising=False)
    cosas, todas = [str(i) for i in range(100)], combinaciones(["clon", "wheel"], niveles)
    tocan = [reparto(cosas, una, todas, desde) for una in todas]
    assert sorted(itertools.chain(*tocan)) == sorted(cosas)
    monkeypatch.setenv("ATENTO_ENTERO", "1")
    assert all(reparto(cosas, una, todas, desde, 10) == cosas for una in todas)


def test_con_tope_tocan_pocas_y_al_girar_todas(monkeypatch):
    monkeypatch.delenv("ATENTO_ENTERO", raising=False)
    cosas, todas = [str(i) for i in range(100)], combinaciones(["clon", "wheel"], ["media"])
    for una in todas:
        girando = [reparto(cosas, una, todas, desde, 12) for desde in range(9)]
        assert all(11 <= len(suyas) <= 12 for suyas in girando)
        assert set(itertools.chain(*girando)) == set(cosas)


def test_una_combinacion_sola_lo_ve_todo(monkeypatch):
    monkeypatch.delenv("ATENTO_ENTERO", raising=False)
    assert reparto(["a", "b"], "media", ["media"], 5) == ["a", "b"]


def test_de_lo_que_sale_de_un_molde_toca_una_parte_y_de_lo_demas_todo(monkeypatch):
    monkeypatch.delenv("ATENTO_ENTERO", raising=False)
    cosas = [*"abc", *map(str, range(10))]
    tocan = [una_de_cada(4, cosas, str.isdigit, desde) for desde in range(4)]
    assert all(x[:3] == list("abc") and 2 <= len(x) - 3 <= 3 for x in tocan)
    assert set(itertools.chain(*tocan)) == set(cosas)
    monkeypatch.setenv("ATENTO_ENTERO", "1")
    assert una_de_cada(4, cosas, str.isdigit, 0) == cosas
