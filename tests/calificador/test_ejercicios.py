"""Cada corrector se corrige: la referencia dice la verdad y saca todo; el esqueleto y lo trivial,
nada; y cada error conocido cae con su pista. Las respuestas ajenas al registro, buenas y malas,
están en ``respuestas/``. Lo que se barre con muchas semillas está sellado (``barridos.py``)."""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import permutations
from pathlib import Path

import pytest
import torch
from banco import _arbol, pistas_debidas, respuestas, triviales
from barridos import Barridos
from verdades import VERDADES

from calificador import carga
from calificador.correccion import pistas
from calificador.correccion.compara import Contestacion, ejes_de
from calificador.correccion.examen import prepara, sesion_cargada
from calificador.correccion.oraculo import Corrector, Interrogatorio, problemas_de, puntua, verifica
from calificador.correccion.pistas import SEMILLAS_MENUDAS, examenes_menudos
from calificador.correccion.semillas import VACIA, faltas
from calificador.generadores import menudo
from calificador.recorte import arbol_de
from calificador.registro import Caso, Mutante, cambia, cuerpo

SEMILLAS = range(25)
POCAS = range(3)
LIBRO = carga.curso_en("")
AQUI = Path(__file__).resolve().parent
RAIZ = AQUI.parents[1]
DE_PRUEBA = carga.curso_en(str(AQUI / "curso"))
DEL_LIBRO = list(LIBRO.ejercicios.values())
TODOS = [(c, e) for c in (DE_PRUEBA, LIBRO) for e in c.ejercicios.values()]
IDS = [f"{e.id}-{e.nombre}" for _, e in TODOS]
BUENAS, MALAS = respuestas("buenas"), respuestas("malas")
PISTAS = pistas_debidas()
RESPUESTAS = {  # de cada ejercicio, los casos de su barrido
    e.id: {f"{que} {resto}" for que, ternas in
           (("buena", BUENAS), ("mala", MALAS), ("pista", PISTAS))
           for id_, *resto in ternas if id_ == e.id} | {"bancos"}
    for e in DEL_LIBRO
}  # fmt: skip


@cache
def examen_de(ejercicio_id, semilla):
    return prepara(LIBRO, LIBRO.ejercicios[ejercicio_id], semilla)


@cache
def en_la_practica(ejercicio_id, codigo):
    ejercicio = LIBRO.ejercicios[ejercicio_id]
    return verifica(ejercicio, codigo, "practica", examen=examen_de(ejercicio_id, "practica"))


@cache
def corregida(ejercicio_id, codigo, semilla):
    """Lo que recibe una respuesta: varias pruebas miran la misma."""
    if semilla == "practica":
        return en_la_practica(ejercicio_id, codigo)
    examen = examen_de(ejercicio_id, semilla)
    return verifica(LIBRO.ejercicios[ejercicio_id], codigo, semilla, examen=examen)


def de_respuestas(barridos, ejercicio_id):
    """Las semillas con que se prueban las respuestas de un ejercicio."""
    ejercicio, todas = LIBRO.ejercicios[ejercicio_id], ("practica", *POCAS)
    return barridos.semillas(LIBRO, ejercicio, "respuestas", todas)


def _nombre(terna):
    return f"{terna[0]}-{terna[1]}"


@pytest.fixture(scope="module")
def barridos(request):
    """Qué barridos están sellados; con ``--apunta``, se sellan los que pasan enteros."""
    abiertos = Barridos(del_libro={id_: sorted(casos) for id_, casos in RESPUESTAS.items()})
    yield abiertos
    if request.config.getoption("apunta", False):
        abiertos.guarda({(id_, "respuestas"): casos for id_, casos in RESPUESTAS.items()})


@pytest.mark.parametrize(("del_curso", "ejercicio"), TODOS, ids=IDS)
def test_los_casos_separan_la_referencia_y_cada_error_conocido(del_curso, ejercicio, barridos):
    """Con 25 semillas o, si está sellado, con una; ``python -m
    calificador.correccion.semillas --semillas 200`` prueba doscientas.
    """
    assert len({m.pista for m in ejercicio.mutantes}) == len(ejercicio.mutantes), (
        "dos mutantes con la misma pista"
    )
    semillas = barridos.semillas(del_curso, ejercicio, "errores", SEMILLAS)
    assert not faltas(del_curso, ejercicio, semillas)
    barridos.pasa(del_curso, ejercicio, "errores")


@pytest.mark.parametrize("ejercicio", [e for e in DEL_LIBRO if e.casos], ids=lambda e: e.id)
def test_cada_ejercicio_declara_sus_bordes(ejercicio):
    """Los extremos que trae todo examen, o por qué no los hay. Que salen lo mira ``faltas``."""
    assert ejercicio.bordes
    assert not isinstance(ejercicio.bordes, str) or len(ejercicio.bordes.split()) > 5


def test_un_borde_al_que_ningun_caso_llega_se_dice():
    rara = replace(LIBRO.ejercicios["4.5"], bordes=("mask is None", "len(query) == 77"))
    assert [f for f in faltas(LIBRO, rara, [0]) if "ningún caso llega a «len(query) == 77»" in f]
    assert len(faltas(LIBRO, rara, [0])) == 1


@pytest.mark.parametrize(
    ("id_", "cambio", "dicho"),
    [
        ("4.7", {"id": "4"}, "se esperaba «capítulo.orden»"),
        ("4.7", {"id": "4.07"}, "se esperaba «capítulo.orden»"),
        ("4.7", {"tipo": "copiar"}, "tipo 'copiar'; se esperaba uno de escribir"),
        ("4.7", {"dificultad": 4}, "dificultad 4; se esperaba 1, 2 o 3"),
        ("4.7", {"propiedades": {"una": 0}}, "«una» vale 0; se esperaba un entero positivo"),
        ("4.7", {"propiedades": {"una": True}}, "«una» vale True; se esperaba un entero"),
        ("4.7", {"mutantes": ()}, "0 mutantes; se esperaban al menos 4"),
        ("12.2", {"mutantes": ()}, "0 mutantes; se esperaban al menos 2"),
        ("4.7", {"casos": None}, "un ejercicio de escribir pide casos"),
        ("12.2", {"casos": lambda rng: []}, "casos: un ejercicio de lápiz no los tiene"),
    ],
)
def test_un_registro_que_no_puede_ser_se_dice(id_, cambio, dicho):
    bueno = LIBRO.ejercicios[id_]
    with pytest.raises(ValueError, match=f"^{re.escape(cambio.get('id', id_))}: {dicho}"):
        replace(bueno, **cambio)
    assert bueno.puntos == sum(bueno.propiedades.values()) > 0


# lo que sale tiene ejes, y ninguno de ellos puede medir 1
SIN_EJES_DE_UNO = "2.5 5.6 6.8 6.9 8.6 8.9 10.11 11.5 11.7 11.8 12.4 14.4 14.12 17.8 27.1".split()


@pytest.mark.parametrize(
    "ejercicio",
    [e for e in DEL_LIBRO if e.casos and e.id not in SIN_EJES_DE_UNO],
    ids=lambda e: e.id,
)
def test_quien_pierde_los_ejes_de_tamano_uno_pierde_puntos(ejercicio):
    for semilla in POCAS:
        examen = examen_de(ejercicio.id, semilla)
        dadas = [replace(e, valor=_arbol(e.valor, torch.squeeze)) for e in examen.esperadas]
        puntos = puntua(examen, Interrogatorio(dadas), VACIA, "confianza").puntos
        con_ejes = [t for e in examen.esperadas for t in _tensores(e.valor) if t.dim()]
        assert puntos < ejercicio.puntos or not con_ejes, f"semilla {semilla}"


def _tensores(valor):
    if isinstance(valor, (list, tuple)):
        return [t for v in valor for t in _tensores(v)]
    return [valor] if isinstance(valor, torch.Tensor) else []


@pytest.mark.parametrize(("del_curso", "ejercicio"), TODOS, ids=IDS)
def test_el_esqueleto_no_tiene_puntos(del_curso, ejercicio):
    for semilla in POCAS:
        esqueleto = verifica(
            ejercicio, del_curso.esqueleto(ejercicio.capitulo), semilla, del_curso=del_curso
        )
        assert esqueleto.puntos == 0, f"semilla {semilla}: el esqueleto tiene puntos: {esqueleto}"
        completa = verifica(
            ejercicio, del_curso.solucion(ejercicio.capitulo), semilla, del_curso=del_curso
        )
        assert ejercicio.literal or completa.estado == "superado", completa


@pytest.mark.parametrize("ejercicio", DEL_LIBRO, ids=lambda e: e.id)
def test_la_referencia_dice_la_verdad(ejercicio):
    """Cada solución se comprueba con su verdad, que se calcula por otro camino; sin ella, falla."""
    assert ejercicio.id in VERDADES, (
        f"{ejercicio.id} no tiene su verdad en tests/calificador/verdades/"
    )
    sesion, _ = sesion_cargada(LIBRO.solucion(ejercicio.capitulo), ejercicio.nombre, ())
    funcion = sesion.alumno.modulo.__dict__[ejercicio.nombre]
    ejemplos = [ejercicio.ejemplo()] if ejercicio.ejemplo else []
    for semilla in POCAS:
        for examen in (
            examen_de(ejercicio.id, semilla),
            prepara(LIBRO, ejercicio, semilla, casos=ejemplos),
        ):
            for caso, esperada in zip(examen.casos, examen.esperadas, strict=True):
                cierto = VERDADES[ejercicio.id](caso, esperada.valor, funcion)
                assert cierto, (
                    f"{ejercicio.id}, semilla {semilla}, «{caso.propiedad}»: la referencia se"
                    " equivoca"
                )


@pytest.mark.parametrize("ejercicio", DEL_LIBRO, ids=lambda e: e.id)
def test_lo_trivial_no_da_ningun_punto(ejercicio):
    for semilla in POCAS:
        examen = examen_de(ejercicio.id, semilla)
        por_caso = [
            dict(triviales(c, e.valor)) for c, e in zip(examen.casos, examen.esperadas, strict=True)
        ]
        for nombre in por_caso[0]:
            dadas = [Contestacion("valor", t[nombre]) for t in por_caso]
            resultado = puntua(examen, Interrogatorio(dadas), VACIA, "confianza")
            assert resultado.puntos == 0, (
                f"semilla {semilla}: con {nombre} se ganan puntos: {resultado.propiedades}"
            )


@pytest.mark.parametrize("ejercicio", [e for e in DEL_LIBRO if not e.literal], ids=lambda e: e.id)
def test_ninguna_propiedad_se_cumple_con_lo_que_valia_en_otra_semilla(ejercicio):
    memoria = examen_de(ejercicio.id, "practica")
    for caso, guardada in zip(memoria.casos, memoria.esperadas, strict=True):
        for semilla in POCAS:
            examen = examen_de(ejercicio.id, semilla)
            hecho = Interrogatorio([guardada] * len(examen.casos))
            problemas = problemas_de(examen, hecho, VACIA)
            propios = [
                p
                for c, p in zip(examen.casos, problemas, strict=True)
                if c.propiedad == caso.propiedad
            ]
            assert any(propios), f"«{caso.propiedad}» se cumple con la constante {guardada.valor}"


@pytest.mark.parametrize("ejercicio", [e for e in DEL_LIBRO if not e.literal], ids=lambda e: e.id)
def test_recordar_en_orden_lo_de_otra_semilla_no_da_puntos(ejercicio):
    """Quien cuenta las llamadas y repite lo que valía la vez anterior; alguna vez se acierta."""
    examenes = [examen_de(ejercicio.id, semilla) for semilla in POCAS]
    ganadas: Counter[str] = Counter()
    for uno, otro in permutations(examenes, 2):
        problemas = problemas_de(otro, Interrogatorio(uno.esperadas), VACIA)
        falladas = {c.propiedad for c, p in zip(otro.casos, problemas, strict=True) if p}
        ganadas.update(set(ejercicio.propiedades) - falladas)
    assert not {n: v for n, v in ganadas.items() if v > len(POCAS) * (len(POCAS) - 1) / 2}


@pytest.mark.parametrize(("id_", "que", "codigo"), MALAS, ids=map(_nombre, MALAS))
def test_una_respuesta_equivocada_no_tiene_todo(id_, que, codigo, barridos):
    ejercicio = LIBRO.ejercicios[id_]
    for semilla in de_respuestas(barridos, id_):
        resultado = corregida(id_, codigo, semilla)
        assert resultado.puntos < ejercicio.puntos, f"semilla {semilla}: pasa"
        assert resultado.pista or "el enunciado no lo permite" in resultado.mensaje, resultado
    barridos.pasa(LIBRO, ejercicio, "respuestas", f"mala {[que, codigo]}")


@pytest.mark.parametrize(("id_", "que", "trozo", "codigo"), PISTAS, ids=map(_nombre, PISTAS))
def test_una_respuesta_equivocada_recibe_la_pista_de_su_error(id_, que, trozo, codigo, barridos):
    for semilla in de_respuestas(barridos, id_):
        dado = corregida(id_, codigo, semilla)
        assert trozo in dado.pista, (semilla, dado)
    barridos.pasa(LIBRO, LIBRO.ejercicios[id_], "respuestas", f"pista {[que, trozo, codigo]}")


@pytest.mark.parametrize(("id_", "que", "codigo"), BUENAS, ids=map(_nombre, BUENAS))
def test_una_respuesta_buena_escrita_de_otra_manera_lo_tiene_todo(id_, que, codigo, barridos):
    for semilla in de_respuestas(barridos, id_):
        resultado = corregida(id_, codigo, semilla)
        assert resultado.estado == "superado", (semilla, resultado)
    barridos.pasa(LIBRO, LIBRO.ejercicios[id_], "respuestas", f"buena {[que, codigo]}")


def buenas_exigidas(ejercicio):
    """Tres; de lo que se entrega escrito a mano, dos si son números y una si se elige entre
    opciones: no hay otra manera de escribirlo.
    """
    if not ejercicio.literal:
        return 3
    return 1 if ejercicio.opciones else 2


def _es_del_registro(ejercicio, codigo) -> bool:
    """Si da en todos los casos lo mismo que un error del registro. En un ejercicio de lápiz, la
    pista puede nombrar además el error de un número suelto.
    """
    if ejercicio.tipo != "lapiz":
        return bool(en_la_practica(ejercicio.id, codigo).mutante)
    examen = examen_de(ejercicio.id, "practica")
    dadas = examen.de_codigo(codigo)
    return not isinstance(dadas, str) and pistas.reconoce(examen, dadas) is not None


@pytest.mark.parametrize("ejercicio", DEL_LIBRO, ids=lambda e: e.id)
def test_hay_bastantes_respuestas_de_fuera_del_registro(ejercicio, barridos):
    """Cinco malas y tres buenas de cada ejercicio, escritas sin mirar el registro.

    De las tres buenas se libran los ejercicios en que se entrega un valor y no una función (los
    de ``lapiz`` y los ``predecir`` sin casos): de los números se piden dos, los redondeados como
    dice el enunciado y los calculados, y de las opciones, la que vale.

    Las cinco malas se piden de todos, y ninguna de las cinco puede dar en todos los casos lo mismo
    que un error del registro; donde se elige entre opciones sí, porque el registro las tiene todas.
    """
    buenas = [c for id_, _, c in BUENAS if id_ == ejercicio.id]
    malas = [c for id_, _, c in MALAS if id_ == ejercicio.id]
    assert len(set(buenas)) == len(buenas) >= buenas_exigidas(ejercicio)
    assert len(set(malas)) == len(malas) >= 5
    if not barridos.sellado(LIBRO, ejercicio, "respuestas"):
        nuevas = [c for c in malas if not _es_del_registro(ejercicio, c)]
        assert len(nuevas) >= 5 or ejercicio.opciones, f"{len(nuevas)} malas de fuera del registro"
        barridos.pasa(LIBRO, ejercicio, "respuestas", "bancos")


# --- Pistas ---------------------------------------------------------------------------------------


def test_un_error_desconocido_se_dice_con_la_propiedad_y_el_caso_mas_pequeno():
    codigo = next(c for id_, que, c in MALAS if id_ == "4.7" and "se acota" in que)
    resultado = verifica(
        LIBRO.ejercicios["4.7"], codigo, "practica", del_curso=LIBRO, con_caso=True
    )
    assert resultado.mutante == "" and resultado.pista.startswith(
        "no reconozco este error. Falla «ancho pequeño»"
    )
    assert "query = [[" in resultado.caso and "bandwidth = 0.0" in resultado.caso
    assert "llegó = " in resultado.caso and "se esperaba = " in resultado.caso
    assert len(resultado.caso.splitlines()) < 30


@pytest.mark.parametrize("ejercicio", DEL_LIBRO, ids=lambda e: e.id)
def test_la_referencia_contesta_todos_los_casos_menudos(ejercicio):
    """Con los tamaños menores y los números redondeados los casos siguen siendo válidos."""
    if ejercicio.casos is None:
        return
    tandas = [[ejercicio.ejemplo()]] if ejercicio.ejemplo else []
    tandas += [
        ejercicio.genera(menudo(semilla), **ejercicio.variante)
        for semilla in range(SEMILLAS_MENUDAS)
    ]
    for casos in tandas:
        prepara(LIBRO, ejercicio, "menudo", casos=casos)
    assert len(examenes_menudos(LIBRO, ejercicio, None)) == len(tandas)


def test_un_caso_menudo_en_el_que_falla_la_referencia_se_descarta_y_hay_nota():
    ejercicio = LIBRO.ejercicios["1.4"]
    rota = Caso("de tres", (torch.ones(1, 2).long(), torch.tensor([[0, 2]])), {"reach": 3})

    def con_rota(rng, **opciones):
        menudos = [rota] if getattr(rng, "menudo", False) else []
        return menudos + ejercicio.casos(rng, **opciones)

    mezclado = replace(ejercicio, casos=con_rota)
    codigo = next(c for id_, que, c in MALAS if id_ == "1.4" and "alguna" in que)
    with pytest.raises(carga.CursoRoto, match="falla"):
        prepara(LIBRO, mezclado, "menudo", casos=[rota])
    examenes = examenes_menudos(LIBRO, mezclado, None)
    assert not any(caso is rota for examen in examenes for caso in examen.casos)
    assert len(examenes) == 1 + SEMILLAS_MENUDAS
    resultado = verifica(mezclado, codigo, "practica", del_curso=LIBRO, con_caso=True)
    assert resultado.puntos < ejercicio.puntos
    assert "lit = " in resultado.caso
    solo_rotos = replace(ejercicio, ejemplo=None, casos=lambda rng, **opciones: [rota])
    assert examenes_menudos(LIBRO, solo_rotos, None) == []


def test_las_pistas_van_de_la_vaga_a_la_explicita():
    ejercicio = LIBRO.ejercicios["4.7"]
    examen = prepara(LIBRO, ejercicio, 0)
    hecho = Interrogatorio([Contestacion("valor", 3.0)] * len(examen.casos))
    dichas = [puntua(examen, hecho, VACIA, "", intentos=i).pista for i in range(5)]
    assert ejercicio.pistas_de["sin tapar"] in dichas[0]
    assert [
        any(p in d for p in ejercicio.pistas[i : i + 1]) for i, d in enumerate(dichas[1:4])
    ] == [True] * 3
    assert dichas[3] == dichas[4]


def test_un_mutante_solo_se_nombra_si_reproduce_todo():
    """Igual que un error conocido en un caso y distinto en los demás: no es ese error."""
    ejercicio = LIBRO.ejercicios["3.7"]
    examen = prepara(LIBRO, ejercicio, 0)
    suyas = examen.de_mutante(next(m for m in ejercicio.mutantes if m.nombre == "una-de-mas"))
    mezcla = [*suyas[:-1], Contestacion("valor", suyas[-1].valor + 1)]
    assert puntua(examen, Interrogatorio(list(suyas)), VACIA, "").mutante == "una-de-mas"
    assert puntua(examen, Interrogatorio(mezcla), VACIA, "").pista.startswith(
        "no reconozco este error"
    )


@pytest.mark.parametrize("ejercicio", DEL_LIBRO, ids=lambda e: e.id)
def test_las_pistas_no_dan_el_codigo(ejercicio):
    """Ni líneas de la solución ni llamadas: palabras."""
    solucion = LIBRO.solucion(ejercicio.capitulo)
    nodo = next(n for n in ast.parse(solucion).body if getattr(n, "name", None) == ejercicio.nombre)
    trozos = {
        ast.unparse(n)
        for n in ast.walk(nodo)
        if isinstance(n, (ast.Call, ast.Subscript, ast.Compare))
    }
    trozos |= {
        ast.unparse(n)
        for n in ast.walk(nodo)
        if isinstance(n, ast.BinOp) and len(ast.unparse(n)) > 12
    }
    for pista in (
        *ejercicio.pistas,
        *ejercicio.pistas_de.values(),
        *(m.pista for m in ejercicio.mutantes),
    ):
        assert not re.search(r"\w+\.\w+\(|\w\[\.\.\.|=\s*-1\)", pista), (
            f"código en la pista: {pista}"
        )
        assert not [t for t in trozos if len(t) > 8 and t in pista], (
            f"código de la solución en la pista: {pista}"
        )


def test_hacer_los_mutantes_no_toca_el_arbol_que_comparten():
    for capitulo in sorted({e.capitulo for e in DEL_LIBRO}):
        solucion = LIBRO.solucion(capitulo)
        arbol = arbol_de(solucion)
        antes = ast.dump(arbol, include_attributes=True)
        for ejercicio in (e for e in DEL_LIBRO if e.capitulo == capitulo):
            ejes_de(solucion, ejercicio.nombre)
            for mutante in ejercicio.mutantes:
                mutante.texto(solucion, ejercicio.nombre)
        assert arbol_de(solucion) is arbol, "se analiza otra vez lo mismo"
        assert ast.dump(arbol, include_attributes=True) == antes, f"capítulo {capitulo}"


DOS = """from math import sqrt

RAIZ = sqrt(2)
OTRA = sqrt(3)


def mitad(x):
    return x / 2


@staticmethod
def pedida(x):
    return mitad(x) + RAIZ


def ajena(x):
    return OTRA
"""


BUENA = ["RAIZ = sqrt(2)", "def mitad", "@staticmethod", "def pedida"]


@pytest.mark.parametrize(
    ("mutante", "quedan"),
    [
        (cambia("uno", "", "mitad(x)", "x"), BUENA),
        (cambia("uno", "", "RAIZ", "OTRA"), [*BUENA, "OTRA = sqrt(3)"]),
        (cuerpo("uno", "", "return ajena(x)"), [*BUENA, "OTRA = sqrt(3)", "def ajena"]),
        (Mutante("uno", "def pedida(x):\n    return x"), ["def pedida"]),
    ],
)
def test_un_mutante_se_recorta_a_lo_que_usan_la_buena_y_el(mutante, quedan):
    recortado = mutante.texto(DOS, "pedida")
    todo = [*BUENA, "OTRA = sqrt(3)", "def ajena"]
    assert [x for x in todo if recortado.count(x) == 1] == quedan
    assert recortado.startswith("from math import sqrt\n") and ast.parse(recortado)


def test_un_mutante_que_no_se_puede_leer_se_escribe_igual():
    texto = cambia("uno", "", "mitad(x) +", "mitad(x) + +* ").texto(DOS, "pedida")
    assert "return mitad(x) + +*  RAIZ" in texto and "def mitad" in texto and "ajena" not in texto


def test_el_aviso_de_un_mutante_no_llega_a_quien_estudia(recwarn, capfd):
    ejercicio = LIBRO.ejercicios["5.8"]
    examen = prepara(LIBRO, ejercicio, 0)
    for mutante in ejercicio.mutantes:
        examen.de_mutante(mutante)
    assert not list(recwarn) and capfd.readouterr() == ("", "")


# --- La jaula y las variantes ---------------------------------------------------------------------


@pytest.mark.parametrize(("del_curso", "ejercicio"), TODOS, ids=IDS)
def test_los_casos_cambian_con_la_semilla(del_curso, ejercicio):
    if all(c.secreto for c in prepara(del_curso, ejercicio, 0).casos):
        assert ejercicio.tipo in (
            "predecir",
            "ordenar",
            "lapiz",
        ), "los demás tienen entradas que varían"
        return
    vistas = {str([(m, {k: v.flatten()[:50].tolist() for k, v in t.items()}) for m, t in
                   prepara(del_curso, ejercicio, s).peticiones]) for s in POCAS}  # fmt: skip
    assert len(vistas) == len(POCAS)


def test_lo_que_el_enunciado_prohibe_por_su_coste_no_cabe_en_la_jaula(nivel):
    caras = [
        (i, q, c)
        for i, q, c in MALAS
        if q in ("la matriz entera de productos", "construye la matriz")
    ]
    assert {i for i, _, _ in caras} == {"4.9", "4.10"}
    with Corrector(nivel, "caro", del_curso=LIBRO) as corrector:
        for id_, _, codigo in caras:
            resultado = corrector.califica(LIBRO.ejercicios[id_], codigo)
            assert resultado.estado == "parcial" and "memoria" in resultado.pista, resultado


def test_en_local_se_ve_el_caso_mas_pequeno_y_en_un_lote_no(nivel):
    codigo = next(c for id_, que, c in MALAS if id_ == "4.7" and "se acota" in que)
    for con_texto in (True, False):
        with Corrector(nivel, "caso", del_curso=LIBRO, con_texto=con_texto) as corrector:
            resultado = corrector.califica(LIBRO.ejercicios["4.7"], codigo)
            assert bool(resultado.caso) == con_texto and resultado.pista.startswith("no reconozco")


def test_una_variante_hace_fallar_la_solucion_publica():
    ejercicio = DE_PRUEBA.ejercicios["91.4"]
    examen = prepara(DE_PRUEBA, ejercicio, "clase", {"power": 0.75})
    publica = verifica(ejercicio, DE_PRUEBA.solucion(91), "clase", examen=examen)
    assert publica.puntos == 0 and "versión pública" in publica.pista
    propia = DE_PRUEBA.solucion(91).replace("power: float = 0.5", "power: float = 0.75")
    assert verifica(ejercicio, propia, "clase", examen=examen).estado == "superado"
    assert (
        verifica(ejercicio, examen.codigo(ejercicio.mutantes[1]), "clase", examen=examen).puntos
        == 0
    )


def con_otros_defectos(fuente, nombre, parametros):
    """La solución con los valores por defecto de la clase, como la escribiría quien ha leído el
    enunciado.
    """
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


@pytest.mark.parametrize("capitulo", sorted({e.capitulo for e in DEL_LIBRO if e.variante}))
def test_que_en_una_clase_hay_otros_valores_se_dice_una_vez_por_capitulo(capitulo):
    [pagina] = (RAIZ / "book").glob(f"*/{capitulo:02d}-*.md")
    assert pagina.read_text("utf-8").lower().count("en una clase, ") == 1


@pytest.mark.parametrize("ejercicio", [e for e in DEL_LIBRO if e.variante], ids=lambda e: e.id)
def test_las_variantes_del_libro_tambien(ejercicio):
    """Con los parámetros de una clase, la solución pública pierde puntos y la que los lleva
    escritos los tiene todos.
    """
    from calificador.uso import clase

    solucion = LIBRO.solucion(ejercicio.capitulo)
    parametros = clase.nueva("prueba", LIBRO).variantes[ejercicio.id]
    assert parametros.keys() == ejercicio.variante.keys() and parametros != dict(ejercicio.variante)
    propia = con_otros_defectos(solucion, ejercicio.nombre, parametros)
    for semilla in range(5):
        examen = prepara(LIBRO, ejercicio, semilla, parametros)
        publica = verifica(ejercicio, solucion, semilla, examen=examen).puntos
        assert publica < ejercicio.puntos, (semilla, parametros)
        assert verifica(ejercicio, propia, semilla, examen=examen).estado == "superado", (
            semilla,
            parametros,
        )
