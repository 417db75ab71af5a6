"""Lo que se le cuenta a una entrega, y cuántas veces: su procesador y no el reloj, una carga que no
acaba una vez por capítulo, un proceso para sus ejercicios."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time

import psutil
import pytest

from calificador.correccion import oraculo
from calificador.correccion.resultado import FALLADO, SUPERADO
from calificador.jaula.encierro import Limites

TRABAJA = (
    "\nimport time as _t\n_antes = output_shape\ndef output_shape(*a):\n"
    "    fin = _t.process_time() + 0.6\n    while _t.process_time() < fin:\n        pass\n"
    "    return _antes(*a)\n"
)
DUERME = "\nimport time as _t\n_antes = output_shape\ndef output_shape(*a):\n    _t.sleep(60)\n"


@contextlib.contextmanager
def maquina_cargada(pid: int, cuantos: int = 6):
    """``cuantos`` bucles en el mismo núcleo que ``pid``, que solo puede usar ese.

    Cada uno va en su sesión: Linux puede repartir el núcleo entre sesiones y no entre procesos.
    """
    nucleo = sorted(os.sched_getaffinity(0))[:1]
    psutil.Process(pid).cpu_affinity(nucleo)
    bucle = f"import os\nos.sched_setaffinity(0, {nucleo})\nwhile True:\n    pass\n"
    orden = [sys.executable, "-c", bucle]
    bucles = [subprocess.Popen(orden, start_new_session=True) for _ in range(cuantos)]
    try:
        time.sleep(0.5)
        yield
    finally:
        for uno in bucles:
            uno.kill()
            uno.wait(timeout=20)


@pytest.fixture
def propio(nivel, curso):
    """Un corrector con poco tiempo por caso, solo para una prueba."""
    limites = Limites(carga=2.0, caso=2.0, total=60.0, cpu=60)
    with oraculo.Corrector(nivel, "reloj", del_curso=curso, limites=limites) as abierto:
        assert abierto.califica(curso.ejercicios["91.1"], curso.solucion(91)).estado == SUPERADO
        yield abierto


@pytest.mark.lento
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="hace falta elegir el núcleo")
def test_con_la_maquina_cargada_no_se_pierden_puntos(propio, curso):
    """Cada caso pide 0.6 s de procesador, que aquí tardan más de los 2 s de su límite."""
    ejercicio = curso.ejercicios["91.3"]
    with maquina_cargada(propio.pid):
        comienzo = time.monotonic()
        resultado = propio.califica(ejercicio, curso.solucion(91) + TRABAJA)
        tardanza = time.monotonic() - comienzo
    casos = len(propio.examen(ejercicio).casos)
    assert resultado.estado == SUPERADO, resultado
    assert tardanza > 2.0 * casos, "la máquina no estaba tan cargada: la prueba no prueba nada"


def test_dormir_no_sale_gratis(propio, curso):
    comienzo = time.monotonic()
    resultado = propio.califica(curso.ejercicios["91.3"], curso.solucion(91) + DUERME)
    assert resultado.estado == FALLADO and "no terminó a tiempo" in resultado.mensaje
    casos = len(propio.examen(curso.ejercicios["91.3"]).casos)
    assert time.monotonic() - comienzo < 2.0 * casos * 5  # y no diez veces más


# --- Un proceso para los ejercicios de una entrega ------------------------------------------------


@pytest.fixture
def abiertas(propio, monkeypatch):
    """Cuántos procesos se abren."""
    veces = []
    original = propio._cigoto.abre

    def abre(limites):
        veces.append(1)
        return original(limites)

    monkeypatch.setattr(propio._cigoto, "abre", abre)
    return veces


def corrige_todo(corrector, curso, fuente):
    ejercicios = oraculo.en_orden(curso.de_capitulo(91))
    hechos = [corrector.califica(e, fuente, sigue=True) for e in ejercicios]
    corrector.suelta()
    return hechos


def test_lo_que_se_supera_comparte_proceso_y_no_queda_abierto(propio, curso, abiertas):
    hechos = corrige_todo(propio, curso, curso.solucion(91))
    assert all(r.estado == SUPERADO for r in hechos) and len(hechos) > 1
    assert 1 <= sum(abiertas) < len(hechos)
    assert psutil.Process(propio.pid).children() == []


def test_lo_que_un_ejercicio_estropea_no_lo_paga_otro(propio, curso):
    """Cambia torch para los demás al acabar bien: cada uno se repite en un proceso nuevo."""
    primero = oraculo.en_orden(curso.de_capitulo(91))[0].nombre
    estropea = (
        f"\n_buena = {primero}\ndef {primero}(*a, **k):\n    dado = _buena(*a, **k)\n"
        "    torch.softmax = torch.where = torch.exp = torch.zeros = lambda *a, **k: 1 / 0\n"
        "    torch.Tensor.softmax = torch.Tensor.exp = lambda *a, **k: 1 / 0\n"
        "    return dado\n"
    )
    fuente = curso.solucion(91) + estropea
    juntos = corrige_todo(propio, curso, fuente)
    sueltos = [propio.califica(e, fuente) for e in oraculo.en_orden(curso.de_capitulo(91))]
    assert juntos == sueltos


def test_una_carga_que_no_acaba_se_espera_una_vez(propio, curso, abiertas):
    comienzo = time.monotonic()
    hechos = corrige_todo(propio, curso, "while True:\n    pass\n")
    assert len(hechos) > 2 and sum(abiertas) == 1
    assert {r.mensaje for r in hechos} == {
        "el fichero no terminó de cargarse: no contestó a tiempo"
    }
    assert time.monotonic() - comienzo < 2.0 * 10 + 5
    assert propio.califica(curso.ejercicios["91.1"], curso.solucion(91)).estado == SUPERADO


def test_no_se_comparte_lo_que_el_siguiente_veda(propio, curso, abiertas, monkeypatch):
    """Un ejercicio sin vetos no prepara el proceso del que los tiene."""
    monkeypatch.setattr(oraculo, "vedados", lambda e: frozenset(e.id if e.id == "91.3" else ""))
    uno, otro = curso.ejercicios["91.1"], curso.ejercicios["91.3"]
    for orden, cuantos in (((uno, otro), 2), ((otro, uno), 1)):
        abiertas.clear()
        for ejercicio in orden:
            propio.califica(ejercicio, curso.solucion(91), sigue=True)
        propio.suelta()
        assert sum(abiertas) == cuantos
