"""Corrige el curso del libro por encargo: una línea JSON por entrega, otra por resultado. Lo lanza
cada entorno.
"""

import json
import sys

import psutil

from calificador import carga
from calificador.correccion.oraculo import Corrector
from calificador.jaula import canal
from calificador.jaula.encierro import Limites


def main() -> None:
    """``python corrige_real.py NIVEL [pronto]``."""
    limites = Limites(carga=2.0, caso=1.5, total=2.5, cpu=4, memoria=400 << 20)
    zigoto = canal.arranca_pronto(sys.argv[1]) if "pronto" in sys.argv else None
    with Corrector(
        sys.argv[1], "pruebas", limites=limites, con_texto=True, zigoto=zigoto
    ) as corrector:
        curso = corrector.curso
        nombres = {e.id: e.nombre for e in curso.ejercicios.values()}
        bifurcado = "Bifurcado" in type(getattr(zigoto, "_proceso", None)).__name__
        print(
            json.dumps({"ejercicios": nombres, "paquete": carga.__file__, "bifurcado": bifurcado}),
            flush=True,
        )
        for linea in sys.stdin:
            pedido = json.loads(linea)
            ejercicio = curso.ejercicios[pedido["id"]]
            fuente = pedido["fuente"] or curso.solucion(ejercicio.capitulo)
            corrector.limites = (
                limites if pedido["fuente"] else Limites()
            )  # poca espera, solo con los ataques
            hecho = corrector.califica(ejercicio, fuente).como_json()
            hijos = (
                len(psutil.Process(corrector.pid).children(recursive=True)) if corrector.pid else 0
            )
            print(json.dumps(hecho | {"hijos": hijos}), flush=True)


if __name__ == "__main__":
    main()
