"""Capítulo 4: ejercicios y promesas que el texto hace y ninguna celda repite."""

from __future__ import annotations

import importlib.util
import itertools
import re
from pathlib import Path
from types import ModuleType

import pytest
import torch

from calificador.ejercicios.cap04 import EJERCICIOS

RAIZ = Path(__file__).resolve().parents[2]
CAPITULO = RAIZ / "book" / "2-mecanismo" / "04-la-atencion-derivada.md"
SEMILLAS = (0, 1, 2, 3, 4)
POR_ID = {ejercicio.id: ejercicio for ejercicio in EJERCICIOS}


def _cargar(ruta: Path) -> ModuleType:
    especificacion = importlib.util.spec_from_file_location(f"{ruta.parent.name}_{ruta.stem}", ruta)
    modulo = importlib.util.module_from_spec(especificacion)
    especificacion.loader.exec_module(modulo)
    return modulo


SOLUCIONES = _cargar(RAIZ / "solutions" / "cap04.py")
ESQUELETOS = _cargar(RAIZ / "exercises" / "cap04.py")


def _mutante(mutante, nombre):
    espacio: dict = {}
    exec(compile(mutante.codigo, mutante.nombre, "exec"), espacio)
    return espacio[nombre]


def _casos(ejercicio, semilla):
    return ejercicio.casos(torch.Generator().manual_seed(semilla), **ejercicio.variante)


def _contesta(funcion, caso):
    """Lo que devuelve y, si el caso lo pide, los gradientes; un error cuenta como respuesta."""
    args = [arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in caso.args]
    if caso.gradiente:
        args = [arg.requires_grad_() if isinstance(arg, torch.Tensor) else arg for arg in args]
    try:
        salida = funcion(*args, **caso.kwargs)
        if not caso.gradiente:
            return [salida]
        entradas = [arg for arg in args if isinstance(arg, torch.Tensor)]
        pesos = torch.linspace(-1, 1, salida.numel(), dtype=salida.dtype).reshape(salida.shape)
        return [salida.detach(), *torch.autograd.grad((salida * pesos).sum(), entradas, allow_unused=True)]
    except Exception as error:
        return [type(error).__name__]


def _iguales(unas, otras, tolerancia) -> bool:
    def par(a, b):
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
            return a.shape == b.shape and torch.allclose(a, b, rtol=tolerancia, atol=tolerancia, equal_nan=True)
        if isinstance(a, float) and isinstance(b, float):
            return abs(a - b) <= tolerancia * (1 + abs(b))
        return type(a) is type(b) and a == b

    return len(unas) == len(otras) and all(itertools.starmap(par, zip(unas, otras, strict=True)))


@pytest.mark.parametrize("ejercicio", EJERCICIOS, ids=lambda e: e.id)
def test_la_referencia_es_finita_y_repetible_y_el_esqueleto_no_contesta(ejercicio):
    referencia = getattr(SOLUCIONES, ejercicio.nombre)
    esqueleto = getattr(ESQUELETOS, ejercicio.nombre)
    for semilla in SEMILLAS:
        casos = _casos(ejercicio, semilla)
        assert {caso.propiedad for caso in casos} == set(ejercicio.propiedades)
        for caso, repetido in zip(casos, _casos(ejercicio, semilla), strict=True):
            respuesta = _contesta(referencia, caso)
            assert _iguales(respuesta, _contesta(referencia, repetido), ejercicio.tolerancia)
            for parte in respuesta:
                assert not isinstance(parte, str), parte
                if isinstance(parte, torch.Tensor):
                    assert bool(torch.isfinite(parte).all())
            with pytest.raises(NotImplementedError, match=f"Ejercicio {re.escape(ejercicio.id)}"):
                esqueleto(*caso.args, **caso.kwargs)


@pytest.mark.parametrize("ejercicio", EJERCICIOS, ids=lambda e: e.id)
def test_los_casos_cambian_con_la_semilla(ejercicio):
    formas = {str([getattr(arg, "shape", arg) for caso in _casos(ejercicio, s) for arg in caso.args]) for s in SEMILLAS}
    assert len(formas) > 1


@pytest.mark.parametrize("ejercicio", EJERCICIOS, ids=lambda e: e.id)
def test_cada_mutante_falla_y_se_distingue_de_los_demas(ejercicio):
    referencia = getattr(SOLUCIONES, ejercicio.nombre)
    funciones = {m.nombre: _mutante(m, ejercicio.nombre) for m in ejercicio.mutantes}
    assert len(funciones) == len(ejercicio.mutantes)
    assert len({m.pista for m in ejercicio.mutantes}) == len(ejercicio.mutantes)
    for semilla in SEMILLAS:
        casos = _casos(ejercicio, semilla)
        buenas = [_contesta(referencia, caso) for caso in casos]
        respuestas = {nombre: [_contesta(f, caso) for caso in casos] for nombre, f in funciones.items()}

        def mismas(unas, otras):
            return all(_iguales(u, o, ejercicio.tolerancia) for u, o in zip(unas, otras, strict=True))

        for nombre, dadas in respuestas.items():
            assert not mismas(dadas, buenas), f"{ejercicio.id} {nombre}: pasa con la semilla {semilla}"
            assert mismas(dadas, [_contesta(funciones[nombre], caso) for caso in casos]), f"{nombre} no es repetible"
        for una, otra in itertools.combinations(respuestas, 2):
            assert not mismas(respuestas[una], respuestas[otra]), f"{ejercicio.id}: {una} y {otra} dan lo mismo"


def test_enunciados_esqueletos_y_soluciones_casan():
    texto = CAPITULO.read_text(encoding="utf-8")
    assert re.findall(r":label: (ej-4-\d+)", texto) == [ejercicio.etiqueta for ejercicio in EJERCICIOS]
    assert len(re.findall(r":label: ra-4-\d+", texto)) >= 2
    for ejercicio in EJERCICIOS:
        assert f"`{ejercicio.nombre}(" in texto


def test_honradas_maneras_distintas_tambien_pasan():
    def columnas(query, key, value):
        return torch.einsum("zx,vz->vx", (torch.einsum("dz,dx->zx", key, query) / len(key) ** 0.5).softmax(0), value)

    def jvp(scores, tangent, beta):
        return torch.func.jvp(lambda s: (beta * s).softmax(-1), (scores,), (tangent,))[1]

    def nula(scores, null_score):
        top = scores.amax(-1, keepdim=True).clamp(min=null_score)
        exps = (scores - top).exp()
        return exps / (exps.sum(-1, keepdim=True) + (null_score - top).exp())

    def gaussiana(query, key, value, bandwidth, mask):
        scores = -torch.cdist(query, key, compute_mode="donot_use_mm_for_euclid_dist") ** 2 / (2 * bandwidth**2)
        return torch.nan_to_num(scores.masked_fill(~mask, float("-inf")).softmax(-1)) @ value

    def trozos(query, keys, values, chunk):
        scores = query @ keys.T / query.shape[1] ** 0.5
        ends = [min(start + chunk, len(keys)) for start in range(0, len(keys), chunk)]
        return torch.stack([scores[:, :end].softmax(-1) @ values[:end] for end in ends])

    otras = {"4.5": columnas, "4.7": jvp, "4.2": nula, "4.4": gaussiana, "4.9": trozos}
    for numero, funcion in otras.items():
        for semilla in SEMILLAS:
            for caso in _casos(POR_ID[numero], semilla):
                buena = _contesta(getattr(SOLUCIONES, POR_ID[numero].nombre), caso)
                assert _iguales(_contesta(funcion, caso), buena, POR_ID[numero].tolerancia), numero
