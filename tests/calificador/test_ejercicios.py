"""Cada corrector se corrige: la referencia saca todo, el esqueleto nada, y cada error conocido cae con su pista."""

from __future__ import annotations

import ast

import pytest

from calificador import carga
from calificador.correccion.examen import prepara
from calificador.correccion.oraculo import Corrector, verifica

SEMILLAS = range(5)
LIBRO = carga.curso_en("")
DE_PRUEBA = carga.curso_en(str(carga.Path(__file__).resolve().parent / "curso"))
TODOS = [(c, e) for c in (DE_PRUEBA, LIBRO) for e in c.ejercicios.values()]
IDS = [f"{e.id}-{e.nombre}" for _, e in TODOS]


@pytest.mark.parametrize(("del_curso", "ejercicio"), TODOS, ids=IDS)
def test_referencia_esqueleto_y_mutantes(del_curso, ejercicio):
    for semilla in SEMILLAS:
        examen = prepara(del_curso, ejercicio, semilla)
        referencia = verifica(ejercicio, del_curso.solucion(ejercicio.capitulo), semilla, examen=examen)
        assert referencia.estado == "superado", f"semilla {semilla}: la referencia falla: {referencia}"
        esqueleto = verifica(ejercicio, del_curso.esqueleto(ejercicio.capitulo), semilla, examen=examen)
        assert esqueleto.puntos == 0, f"semilla {semilla}: el esqueleto tiene puntos: {esqueleto}"
        for mutante in ejercicio.mutantes:
            resultado = verifica(ejercicio, mutante.codigo, semilla, examen=examen)
            assert resultado.puntos < ejercicio.puntos, f"semilla {semilla}: pasa el mutante «{mutante.nombre}»"
            assert resultado.pista == mutante.pista, f"semilla {semilla}, «{mutante.nombre}»: sale {resultado}"


@pytest.mark.parametrize(("del_curso", "ejercicio"), TODOS, ids=IDS)
def test_los_casos_cambian_con_la_semilla(del_curso, ejercicio):
    if all(not c.args and not c.kwargs and c.init is None for c in prepara(del_curso, ejercicio, 0).casos):
        assert ejercicio.tipo in ("predecir", "ordenar"), "solo predecir u ordenar puede no tener entradas que varíen"
        return
    peticiones = {
        str([(m, {k: v.tolist() for k, v in t.items()}) for m, t in prepara(del_curso, ejercicio, s).peticiones])
        for s in SEMILLAS
    }
    assert len(peticiones) == len(SEMILLAS)


def test_todo_el_libro_pasa_dentro_de_la_jaula(nivel):
    """Las referencias no usan nada que la jaula quite; los esqueletos quedan pendientes o sin puntos."""
    with Corrector(nivel, "jaula", del_curso=LIBRO) as corrector:
        for ejercicio in LIBRO.ejercicios.values():
            resultado = corrector.califica(ejercicio, LIBRO.solucion(ejercicio.capitulo))
            assert resultado.estado == "superado", resultado
            assert corrector.califica(ejercicio, LIBRO.esqueleto(ejercicio.capitulo)).puntos == 0


def test_una_variante_hace_fallar_la_solucion_publica():
    ejercicio = DE_PRUEBA.ejercicios["91.4"]
    examen = prepara(DE_PRUEBA, ejercicio, "clase", {"power": 0.75})
    publica = verifica(ejercicio, DE_PRUEBA.solucion(91), "clase", examen=examen)
    assert publica.puntos == 0 and "versión pública" in publica.pista
    propia = DE_PRUEBA.solucion(91).replace("power: float = 0.5", "power: float = 0.75")
    assert verifica(ejercicio, propia, "clase", examen=examen).estado == "superado"
    mutante = ejercicio.mutantes[1]
    assert verifica(ejercicio, mutante.codigo, "clase", examen=examen).puntos == 0


def con_otros_defectos(fuente, nombre, parametros):
    """La solución con los valores por defecto de la clase, como la escribiría quien ha leído el enunciado."""
    arbol = ast.parse(fuente)
    cosa = next(n for n in arbol.body if getattr(n, "name", None) == nombre)
    if isinstance(cosa, ast.ClassDef):
        cosa = next(n for n in cosa.body if getattr(n, "name", None) == "__init__")
    posicionales = cosa.args.posonlyargs + cosa.args.args
    for nombres, valores in (
        (posicionales[len(posicionales) - len(cosa.args.defaults) :], cosa.args.defaults),
        (cosa.args.kwonlyargs, cosa.args.kw_defaults),
    ):
        for i, argumento in enumerate(nombres):
            if argumento.arg in parametros:
                valores[i] = ast.Constant(parametros[argumento.arg])
    return ast.unparse(ast.fix_missing_locations(arbol))


VARIANTES = [e for e in LIBRO.ejercicios.values() if e.variante]


@pytest.mark.parametrize("ejercicio", VARIANTES, ids=lambda e: e.id)
def test_las_variantes_del_libro_tambien(ejercicio):
    """Con los parámetros de una clase, la solución pública pierde puntos y la que los lleva escritos los tiene todos."""
    from calificador.uso import clase

    solucion = LIBRO.solucion(ejercicio.capitulo)
    parametros = clase.nueva("prueba", LIBRO).variantes[ejercicio.id]
    assert parametros.keys() == ejercicio.variante.keys() and parametros != dict(ejercicio.variante)
    propia = con_otros_defectos(solucion, ejercicio.nombre, parametros)
    publicas = []
    for semilla in SEMILLAS:
        examen = prepara(LIBRO, ejercicio, semilla, parametros)
        publicas.append(verifica(ejercicio, solucion, semilla, examen=examen).puntos)
        assert verifica(ejercicio, propia, semilla, examen=examen).estado == "superado", (semilla, parametros)
    assert max(publicas) < ejercicio.puntos, (parametros, publicas)
