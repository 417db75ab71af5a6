"""De lo que falló a lo que se dice: el error reconocido, la pista que toca y el caso más pequeño
que falla.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from calificador.carga import Curso, CursoRoto
from calificador.correccion.compara import Contestacion, Contexto, cerca, explica, iguales
from calificador.correccion.examen import Examen, prepara
from calificador.correccion.muestra import entradas, linea, nombres_de_argumentos
from calificador.generadores import menudo
from calificador.registro import Caso, Ejercicio, Mutante

DESCONOCIDO = "no reconozco este error"
PRECISION = (
    "Sale casi lo mismo: lo que falla es la precisión. ¿Hay un `float32`, un épsilon que no se"
    " pide, un número escrito con pocas cifras o uno muy grande en vez de infinito?"
)
CASI = 1e-4  # por debajo, en relación con lo mayor que se espera, una diferencia es de precisión
RELACIONES = (  # entre el número que se da y el que se pide
    ("signo", "tiene el signo contrario.", lambda pedido: -pedido),
    ("bits", "está en bits: se piden nats, con logaritmos naturales.", lambda x: x / math.log(2)),
    # antes que el inverso: si se pide 1/10, 10 puede ser las dos cosas
    ("por ciento", "está en tanto por ciento: se pide en tanto por uno.", lambda x: 100 * x),
    ("inverso", "es el inverso del que se pide.", lambda pedido: 1 / pedido),
)
SEMILLAS_MENUDAS = 3
MAXIMO_CASO = 4000
# Compararlos cuesta milisegundos; la primera vez, además, hay que ejecutar los errores conocidos.
CPU_DE_PISTA = 30.0


def reconoce(examen: Examen, dadas: list[Contestacion]) -> Mutante | None:
    """El error conocido que da **todo** lo que se devolvió, o ``None``."""
    fin = time.process_time() + CPU_DE_PISTA
    for mutante in examen.ejercicio.mutantes:
        if time.process_time() > fin:
            return None
        suyas = examen.de_mutante(mutante)
        if not isinstance(suyas, str) and _mismas_respuestas(examen, dadas, suyas):
            return mutante
    return None


def contexto_de(ejercicio: Ejercicio, caso: Caso) -> Contexto:
    """La tolerancia de un caso."""
    return Contexto(ejercicio.tolerancia_de(caso.propiedad), ejercicio.relativa)


def _mismas_respuestas(examen: Examen, dadas: list, suyas: list) -> bool:
    ejercicio = examen.ejercicio
    return all(
        iguales(dada, suya, contexto_de(ejercicio, caso), ejercicio.invariante)
        for caso, dada, suya in zip(examen.casos, dadas, suyas, strict=True)
    )


def campo_a_campo(
    examen: Examen, dadas: list[Contestacion], problemas: list[str | None]
) -> tuple[str, str] | None:
    """En un ejercicio de lápiz, lo que se sabe de cada número que falla, y los nombres de sus
    errores; ``None`` si no se reconoce ninguno. Se prefieren los errores que explican más números.
    """
    ejercicio = examen.ejercicio
    dados, pedidos = _numeros(dadas), _numeros(examen.esperadas)
    faltan = [c.propiedad for c, p in zip(examen.casos, problemas, strict=True) if p]
    faltan = [campo for campo in faltan if campo in dados]
    dichos: list[tuple[list[str], str, str]] = []

    def apunta(campos: list[str], nombre: str, pista: str) -> None:
        dichos.append((campos, nombre, pista))
        faltan[:] = [campo for campo in faltan if campo not in campos]

    def los_de(numeros: dict[str, float]) -> list[str]:
        return [
            campo for campo in faltan
            if campo in numeros
            and cerca(dados[campo], numeros[campo], ejercicio.tolerancia_de(campo))
        ]  # fmt: skip

    conocidos = [(m, _numeros(examen.de_mutante(m))) for m in ejercicio.mutantes]
    while faltan and conocidos:
        mutante, suyos = max(conocidos, key=lambda par: len(los_de(par[1])))
        if not los_de(suyos):
            break
        apunta(los_de(suyos), mutante.nombre, mutante.pista)
    for nombre, pista, suyos in _relaciones(pedidos, dados, faltan):
        if los_de(suyos):
            apunta(los_de(suyos), nombre, pista)
    if not dichos:
        return None
    nombres = " y ".join(nombre for _, nombre, _ in dichos)
    if len(dichos) == 1 and not faltan and dichos[0][2][0].isupper():
        return dichos[0][2], nombres
    dichos += [([c], "", ejercicio.pistas_de.get(c, "no reconozco este error.")) for c in faltan]
    return " ".join(f"{_entre_comillas(c)}: {_seguida(p)}" for c, _, p in dichos), nombres


def _seguida(pista: str) -> str:
    """Una pista detrás de dos puntos: en minúscula, salvo que empiece por una sigla.

    >>> _seguida("Es la media."), _seguida("RMSNorm no la resta.")
    ('es la media.', 'RMSNorm no la resta.')
    """
    primera = pista.partition(" ")[0][1:]
    return pista if primera != primera.lower() else pista[0].lower() + pista[1:]


def _relaciones(
    pedidos: dict[str, float], dados: dict[str, float], faltan: list[str]
) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Lo que se sabe del número que se da sin que lo diga el registro."""
    for uno in faltan:
        for otro in faltan:
            cruzados = {uno: pedidos[otro], otro: pedidos[uno]}
            if uno < otro and all(cerca(dados[c], x, 10 * CASI) for c, x in cruzados.items()):
                yield "cambiados", "están cambiados el uno por el otro.", cruzados
    for nombre, pista, cambio in RELACIONES:
        yield nombre, pista, {c: cambio(x) for c, x in pedidos.items() if x}


def _entre_comillas(campos: list[str]) -> str:
    return " y ".join(f"«{campo}»" for campo in campos)


def _numeros(contestaciones: list[Contestacion] | str) -> dict[str, float]:
    """Los números de un ejercicio de lápiz, por su nombre."""
    dado = None if isinstance(contestaciones, str) else contestaciones[0].valor
    return {
        campo: float(x)
        for campo, x in (dado.items() if isinstance(dado, dict) else ())
        if isinstance(x, (int, float)) and not isinstance(x, bool)
    }


def es_precision(examen: Examen, dadas: list[Contestacion], problemas: list[str | None]) -> bool:
    """¿Se quedan todos los casos que fallan a menos de una diezmilésima de lo que se espera?"""
    if examen.ejercicio.comprueba or examen.ejercicio.literal:
        return False
    fallados = [i for i, problema in enumerate(problemas) if problema]
    for i in fallados:
        esperada, dada = examen.esperadas[i], dadas[i]
        margen = CASI * min(1.0, _mayor(esperada.valor))
        if "dtype: llegó float" in problemas[i]:
            continue
        if dada.clase != "valor" or explica(dada, esperada, Contexto(margen)) is not None:
            return False
    return bool(fallados)


def _mayor(valor: object) -> float:
    """El mayor valor absoluto de los números reales que se esperan; 0 si no hay ninguno."""
    if isinstance(valor, (list, tuple)):
        return max(map(_mayor, valor), default=0.0)
    if isinstance(valor, float) or hasattr(valor, "dtype") and valor.is_floating_point():
        import torch

        absolutos = torch.as_tensor(valor).abs()
        return float(absolutos[absolutos.isfinite()].max()) if absolutos.isfinite().any() else 0.0
    return 0.0


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
