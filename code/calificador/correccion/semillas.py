"""¿Separan los casos de un ejercicio a cada error conocido, salga la semilla que salga?

``python -m calificador.correccion.semillas 4.3 5 --semillas 200`` lo comprueba en este proceso, sin
jaula.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from calificador.carga import Curso, curso
from calificador.correccion.examen import prepara
from calificador.correccion.muestra import nombres_de_argumentos
from calificador.correccion.oraculo import Interrogatorio, puntua
from calificador.fuente import Fuente
from calificador.generadores import llega
from calificador.registro import Ejercicio

VACIA = Fuente.de_texto("")


def faltas(del_curso: Curso, ejercicio: Ejercicio, semillas: Iterable[object]) -> list[str]:
    """Lo que no se cumple: la referencia no saca todo, un mutante pasa, se le da la pista de otro o
    ningún caso llega a un borde.
    """
    halladas = []
    nombres = nombres_de_argumentos(del_curso.solucion(ejercicio.capitulo), ejercicio.nombre)
    condiciones = [b for b in ejercicio.bordes if isinstance(ejercicio.bordes, tuple)]
    for semilla in semillas:
        examen = prepara(del_curso, ejercicio, semilla)
        if (
            puntua(examen, Interrogatorio(list(examen.esperadas)), VACIA, "confianza").puntos
            != ejercicio.puntos
        ):
            halladas.append(
                f"{ejercicio.id}, semilla {semilla}: la referencia no tiene todos los puntos"
            )
        todos = dict.fromkeys([*nombres, *(n for c in examen.casos for n in c.kwargs)])
        argumentos = [
            {**todos, **dict(zip(nombres, c.args, strict=False)), **c.kwargs, **(c.init or {})}
            for c in examen.casos
        ]
        halladas += [
            f"{ejercicio.id}, semilla {semilla}: ningún caso llega a «{borde}»"
            for borde in condiciones
            if isinstance(borde, str) and not any(llega(borde, a) for a in argumentos)
        ]
        for mutante in ejercicio.mutantes:
            suyas = examen.de_mutante(mutante)
            hecho = (
                Interrogatorio(fallo=suyas)
                if isinstance(suyas, str)
                else Interrogatorio(list(suyas))
            )
            dado = puntua(examen, hecho, VACIA, "confianza")
            if dado.puntos == ejercicio.puntos:
                halladas.append(f"{ejercicio.id}, semilla {semilla}: pasa «{mutante.nombre}»")
            elif dado.pista != mutante.pista:
                halladas.append(
                    f"{ejercicio.id}, semilla {semilla}: «{mutante.nombre}» recibe «{dado.pista}»"
                )
    return halladas


def main() -> int:
    """La orden: 0 si todo se separa, 1 si no."""
    orden = argparse.ArgumentParser(
        description="Comprueba que los casos separan cada error conocido."
    )
    orden.add_argument(
        "que", nargs="*", metavar="N|N.M", help="capítulo o ejercicio; por defecto, todos"
    )
    orden.add_argument("--semillas", type=int, default=200, help="cuántas semillas se prueban")
    pedido = orden.parse_args()
    import torch

    torch.set_num_threads(1)
    del_curso, malas = curso(), 0
    for ejercicio in del_curso.elige(pedido.que):
        halladas = faltas(del_curso, ejercicio, range(pedido.semillas))
        malas += bool(halladas)
        print(
            f"{ejercicio.id} {ejercicio.nombre}: {pedido.semillas} semillas, {len(halladas)}"
            " faltas",
            flush=True,
        )
        for falta in halladas[:10]:
            print("   ", falta)
    return 1 if malas else 0


if __name__ == "__main__":
    sys.exit(main())
