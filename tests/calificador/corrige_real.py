"""Corrige el curso del libro por encargo: una línea JSON por entrega, otra por resultado. Lo lanza
cada entorno.
"""

import json
import sys
from unittest import mock

import psutil

from calificador import carga
from calificador.correccion import pistas
from calificador.correccion.oraculo import Corrector
from calificador.jaula import canal
from calificador.jaula.encierro import Limites

# Poca espera, solo con los ataques; quien busca por todas partes lleva la que le haga falta.
LIMITES = {
    "ataque": Limites(carga=2.0, caso=1.5, total=2.5, cpu=4, memoria=400 << 20),
    "a fondo": Limites(carga=90.0, caso=1.5, total=2.5, cpu=90, memoria=400 << 20),
    "honrada": Limites(),
}


class SinPista(Corrector):
    """El corrector de siempre, que puede no buscar la pista: ni qué error conocido es ni el caso
    más pequeño que falla, que abriría la entrega cinco veces. Los puntos son los mismos.
    """

    con_pista = True

    def califica(self, ejercicio, fuente):
        if self.con_pista:
            return super().califica(ejercicio, fuente)
        with mock.patch.object(pistas, "reconoce", return_value=None):
            return super().califica(ejercicio, fuente)

    def _menudos(self, ejercicio):
        return super()._menudos(ejercicio) if self.con_pista else []


def main() -> None:
    """``python corrige_real.py NIVEL [pronto]``."""
    cigoto = canal.arranca_pronto(sys.argv[1]) if "pronto" in sys.argv else None
    with SinPista(sys.argv[1], "pruebas", con_texto=True, cigoto=cigoto) as corrector:
        curso = corrector.curso
        nombres = {e.id: e.nombre for e in curso.ejercicios.values()}
        bifurcado = "Bifurcado" in type(getattr(cigoto, "_proceso", None)).__name__
        print(
            json.dumps({"ejercicios": nombres, "paquete": carga.__file__, "bifurcado": bifurcado}),
            flush=True,
        )
        for linea in sys.stdin:
            pedido = json.loads(linea)
            ejercicio = curso.ejercicios[pedido["id"]]
            propias = {"solución": curso.solucion, "esqueleto": curso.esqueleto}
            propia = propias.get(pedido["fuente"])
            fuente = propia(ejercicio.capitulo) if propia else pedido["fuente"]
            corrector.limites = LIMITES["honrada" if propia else pedido["limites"]]
            corrector.con_pista = pedido["con_pista"]
            hecho = corrector.califica(ejercicio, fuente).como_json()
            hijos = (
                len(psutil.Process(corrector.pid).children(recursive=True)) if corrector.pid else 0
            )
            print(json.dumps(hecho | {"hijos": hijos}), flush=True)


if __name__ == "__main__":
    main()
