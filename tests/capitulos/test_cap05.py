"""Ejercicios del capítulo 5: la referencia pasa, el esqueleto avisa y cada error típico se distingue.

Comparación sencilla, en el mismo proceso. Lo que hace el calificador enjaulado se prueba con él.
"""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path

import pytest
import torch

from calificador.ejercicios.cap05 import EJERCICIOS

RAIZ = Path(__file__).resolve().parents[2]
SEMILLAS = range(6)
IDS = [e.id for e in EJERCICIOS]


def carga(texto: str) -> dict:
    espacio: dict = {"__name__": "entrega"}
    exec(compile(texto, "entrega", "exec"), espacio)
    return espacio


REFERENCIA = carga((RAIZ / "solutions/cap05.py").read_text(encoding="utf-8"))
ESQUELETO = carga((RAIZ / "exercises/cap05.py").read_text(encoding="utf-8"))


def llama(entrega: dict, ejercicio, caso):
    """Salida (y gradientes) de una entrega en un caso; el nombre del error si lo lanza."""
    objeto = entrega[ejercicio.nombre]
    gradiente = caso.gradiente or caso.init is not None
    args = [a.clone().requires_grad_(gradiente) if torch.is_tensor(a) else a for a in caso.args]
    if caso.init is not None:
        objeto = objeto(**caso.init).double()
        pesos = torch.Generator().manual_seed(1)
        for _, parametro in sorted(objeto.named_parameters()):
            parametro.data = torch.randn(parametro.shape, generator=pesos, dtype=torch.float64)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            salida = objeto(*args, **caso.kwargs)
    except NotImplementedError:
        raise
    except (RuntimeError, ValueError, IndexError) as error:
        return type(error).__name__
    if not gradiente:
        return salida
    cotangente = torch.linspace(-1, 1, salida.numel(), dtype=torch.float64).view_as(salida)
    (salida * cotangente).sum().backward()
    parametros = [p.grad for _, p in sorted(objeto.named_parameters())] if caso.init is not None else []
    return salida.detach(), [a.grad for a in args if torch.is_tensor(a)], parametros


def iguales(una, otra, tolerancia: float) -> bool:
    if torch.is_tensor(una) and torch.is_tensor(otra):
        return una.shape == otra.shape and torch.allclose(una, otra, rtol=tolerancia, atol=tolerancia)
    if isinstance(una, (list, tuple)) and isinstance(otra, (list, tuple)):
        return len(una) == len(otra) and all(iguales(a, b, tolerancia) for a, b in zip(una, otra, strict=True))
    if isinstance(una, float) and isinstance(otra, (int, float)):
        return abs(una - otra) <= tolerancia * (1 + abs(otra))
    return type(una) is type(otra) and una == otra


def pasa(ejercicio, caso, salida, esperada) -> bool:
    if ejercicio.comprueba is not None:
        return ejercicio.comprueba(caso, salida, esperada) is None
    return iguales(salida, esperada, ejercicio.tolerancia)


def casos(ejercicio, semilla: int, **variante):
    return ejercicio.casos(torch.Generator().manual_seed(semilla), **variante)


@pytest.mark.parametrize("ejercicio", EJERCICIOS, ids=IDS)
def test_registro_y_ficheros(ejercicio):
    for espacio in (REFERENCIA, ESQUELETO):
        assert ejercicio.nombre in espacio
    firmas = [inspect.signature(espacio[ejercicio.nombre]) for espacio in (REFERENCIA, ESQUELETO)]
    assert list(firmas[0].parameters) == list(firmas[1].parameters)
    for semilla in SEMILLAS:
        assert {c.propiedad for c in casos(ejercicio, semilla)} == set(ejercicio.propiedades)
    assert len(ejercicio.pistas) >= 3


@pytest.mark.parametrize("ejercicio", EJERCICIOS, ids=IDS)
def test_el_esqueleto_avisa(ejercicio):
    with pytest.raises(NotImplementedError, match=f"Ejercicio {ejercicio.id}"):
        llama(ESQUELETO, ejercicio, casos(ejercicio, 0)[0])


@pytest.mark.parametrize("semilla", SEMILLAS)
@pytest.mark.parametrize("ejercicio", EJERCICIOS, ids=IDS)
def test_la_referencia_pasa(ejercicio, semilla):
    for caso in casos(ejercicio, semilla):
        esperada = llama(REFERENCIA, ejercicio, caso)
        assert not isinstance(esperada, str)
        assert pasa(ejercicio, caso, esperada, esperada)


@pytest.mark.parametrize("semilla", SEMILLAS)
@pytest.mark.parametrize("ejercicio", EJERCICIOS, ids=IDS)
def test_los_errores_tipicos_se_distinguen(ejercicio, semilla):
    lista = casos(ejercicio, semilla)
    esperadas = [llama(REFERENCIA, ejercicio, c) for c in lista]
    salidas = {m.nombre: [llama(carga(m.codigo), ejercicio, c) for c in lista] for m in ejercicio.mutantes}
    for nombre, suyas in salidas.items():
        ternas = zip(lista, suyas, esperadas, strict=True)
        assert not all(pasa(ejercicio, c, s, e) for c, s, e in ternas), f"«{nombre}» pasa"
    nombres = list(salidas)
    for i, uno in enumerate(nombres):
        for otro in nombres[i + 1 :]:
            pares = zip(salidas[uno], salidas[otro], strict=True)
            assert not all(iguales(a, b, ejercicio.tolerancia) for a, b in pares), f"«{uno}» y «{otro}» son iguales"


@pytest.mark.parametrize("ejercicio", [e for e in EJERCICIOS if e.variante], ids=lambda e: e.id)
def test_la_variante_cambia_los_casos(ejercicio):
    otros = {"bonus": 5.0, "order": "vkq"}
    normal = casos(ejercicio, 0, **ejercicio.variante)
    cambiada = casos(ejercicio, 0, **{nombre: otros[nombre] for nombre in ejercicio.variante})
    assert [(c.kwargs, c.init) for c in normal] != [(c.kwargs, c.init) for c in cambiada]
    for caso in cambiada:
        esperada = llama(REFERENCIA, ejercicio, caso)
        assert pasa(ejercicio, caso, esperada, esperada)


def test_comprimir_admite_cualquier_factorizacion_con_el_mismo_producto():
    """Lo que se comprueba es el circuito: cambiar el signo de una columna en los dos lados no importa."""
    ejercicio = next(e for e in EJERCICIOS if e.id == "5.8")
    for caso in casos(ejercicio, 3):
        consulta, clave = llama(REFERENCIA, ejercicio, caso)
        assert ejercicio.comprueba(caso, (-consulta, -clave), (consulta, clave)) is None
        best = torch.linalg.svdvals(caso.args[0] @ caso.args[1].T)[caso.args[2] :].square().sum().sqrt()
        error = torch.linalg.norm(caso.args[0] @ caso.args[1].T - consulta @ clave.T)
        assert torch.isclose(error, best)


def test_cabeza_admite_otra_anchura():
    """W_Q A y W_K A⁻ᵀ valen lo mismo, y sobrar columnas nulas también."""
    ejercicio = next(e for e in EJERCICIOS if e.id == "5.3")
    for caso in casos(ejercicio, 3):
        consulta, clave, valor = llama(REFERENCIA, ejercicio, caso)
        giro = torch.linalg.qr(torch.randn(clave.shape[1], clave.shape[1] + 2, dtype=torch.float64).T)[0].T
        esperada = (consulta, clave, valor)
        assert ejercicio.comprueba(caso, (consulta @ giro, clave @ giro, valor), esperada) is None
