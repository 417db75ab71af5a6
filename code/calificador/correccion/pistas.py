"""De lo que falló a lo que se dice: el error reconocido, la pista que toca y el caso más pequeño
que falla.
"""

from __future__ import annotations

from calificador.carga import Curso, CursoRoto
from calificador.correccion.compara import Contestacion, Contexto, cerca, iguales
from calificador.correccion.examen import Examen, prepara
from calificador.correccion.muestra import entradas, linea, nombres_de_argumentos
from calificador.generadores import menudo
from calificador.registro import Caso, Ejercicio, Mutante

DESCONOCIDO = "no reconozco este error"
SEMILLAS_MENUDAS = 3
MAXIMO_CASO = 4000


def reconoce(
    examen: Examen, dadas: list[Contestacion], problemas: list[str | None]
) -> Mutante | None:
    """El error conocido que da **todo** lo que se devolvió, o ``None``.

    En un ejercicio de lápiz, si ninguno lo da todo, el que da todos los números que fallan.
    """
    parecidos = [
        _mismas_respuestas,
        *([_mismos_numeros] if examen.ejercicio.tipo == "lapiz" else []),
    ]
    for parecido in parecidos:
        for mutante in examen.ejercicio.mutantes:
            suyas = examen.de_mutante(mutante)
            if not isinstance(suyas, str) and parecido(examen, dadas, suyas, problemas):
                return mutante
    return None


def contexto_de(ejercicio: Ejercicio, caso: Caso) -> Contexto:
    """La tolerancia de un caso."""
    return Contexto(ejercicio.tolerancia_de(caso.propiedad), ejercicio.relativa)


def _mismas_respuestas(examen: Examen, dadas: list, suyas: list, problemas: list) -> bool:
    ejercicio = examen.ejercicio
    return all(
        iguales(dada, suya, contexto_de(ejercicio, caso), ejercicio.invariante)
        for caso, dada, suya in zip(examen.casos, dadas, suyas, strict=True)
    )


def _mismos_numeros(examen: Examen, dadas: list, suyas: list, problemas: list) -> bool:
    """En un ejercicio de lápiz: todos los números que fallan son los del error conocido."""
    fallados = [
        caso.propiedad for caso, problema in zip(examen.casos, problemas, strict=True) if problema
    ]
    for clave in fallados:
        dado, suyo = (_numero(c[0].valor, clave) for c in (dadas, suyas))
        tolerancia = examen.ejercicio.tolerancia_de(clave)
        if dado is None or suyo is None or not cerca(dado, suyo, tolerancia):
            return False
    return bool(fallados)


def _numero(valor: object, clave: str) -> float | None:
    hallado = valor.get(clave) if isinstance(valor, dict) else None
    return (
        float(hallado)
        if isinstance(hallado, (int, float)) and not isinstance(hallado, bool)
        else None
    )


def general(ejercicio: Ejercicio, propiedad: str, intentos: int) -> str:
    """Lo que se dice de un error que no se reconoce: qué propiedad falla y la pista que toca por
    intentos.
    """
    propia = ejercicio.pistas_de.get(propiedad)
    escalera = [*([propia] if propia else []), *ejercicio.pistas]
    pista = f" {escalera[min(intentos, len(escalera) - 1)]}" if escalera else ""
    return f"{DESCONOCIDO}. Falla «{propiedad}».{pista}"


# --- El caso más pequeño que falla ----------------------------------------------------------------


def examenes_menudos(curso: Curso, ejercicio: Ejercicio, variante: dict | None) -> list[Examen]:
    """El ejemplo del enunciado y unos cuantos exámenes con los tamaños menores, para buscar dónde
    falla. Un caso en el que falla la propia referencia se descarta: buscar un ejemplo pequeño no
    puede impedir dar la nota.
    """
    parametros = {**ejercicio.variante, **(variante or {})}
    tandas = [[ejercicio.ejemplo()]] if ejercicio.ejemplo is not None else []
    tandas += [
        ejercicio.genera(menudo(semilla), **parametros) for semilla in range(SEMILLAS_MENUDAS)
    ]
    examenes = (
        _los_que_valen(curso, ejercicio, f"menudo {i}", variante, casos)
        for i, casos in enumerate(tandas)
    )
    return [examen for examen in examenes if examen is not None]


def _los_que_valen(
    curso: Curso, ejercicio: Ejercicio, semilla: str, variante: dict | None, casos: list[Caso]
) -> Examen | None:
    """Un examen con los casos que la referencia contesta; ``None`` si no contesta ninguno."""

    def sirve(caso: Caso) -> bool:
        try:
            prepara(curso, ejercicio, semilla, variante, casos=[caso])
        except CursoRoto:
            return False
        return True

    try:
        return prepara(curso, ejercicio, semilla, variante, casos=casos)
    except CursoRoto:
        buenos = [caso for caso in casos if sirve(caso)]
        return prepara(curso, ejercicio, semilla, variante, casos=buenos) if buenos else None


def tamano(caso: Caso) -> int:
    """Cuántos números entran en un caso."""
    return sum(
        _cuantos(v) for v in (*caso.args, *caso.kwargs.values(), *(caso.init or {}).values())
    )


def _cuantos(valor: object) -> int:
    if isinstance(valor, (list, tuple)):
        return sum(map(_cuantos, valor))
    return valor.numel() if hasattr(valor, "numel") else 1


def describe(examen: Examen, indice: int, dada: Contestacion, problema: str) -> str:
    """El caso, lo que llegó y lo que se esperaba, en pocas líneas."""
    caso, ejercicio, esperada = examen.casos[indice], examen.ejercicio, examen.esperadas[indice]
    nombres = nombres_de_argumentos(examen.solucion, ejercicio.nombre)
    lineas = [linea(nombre, valor) for nombre, valor in entradas(caso, nombres, caso.pesos)]
    if dada.clase == "valor":
        lineas.append(linea("llegó", dada.valor))
    if esperada.clase == "valor":
        lineas.append(linea("se esperaba", esperada.valor))
    texto = "\n".join([*lineas, f"qué falla: {problema}"])
    return texto if len(texto) <= MAXIMO_CASO else texto[:MAXIMO_CASO] + "…"
