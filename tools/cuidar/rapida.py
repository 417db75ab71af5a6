"""``make rapida``: lo que el cambio puede haber roto, y nada más.

``python tools rapida [--mira]``

Cada fichero de pruebas y cada capítulo llevan un sello de la última vez que pasaron
(:mod:`sellos`). Se ejecuta lo que no lo tiene o ha visto cambiar algo de lo que alcanza; lo demás
no se repite. De lo que lanza órdenes o hace páginas no se sabe todo lo que alcanza: si ha cambiado
otra cosa, se ejecuta si es barato, y si no se dice que no se ha ejecutado. Lo mismo con lo que mira
el libro construido, que aquí no se construye. Al final, una tabla. Los sellos los pone también
«make prueba», que lo ejecuta todo. Con ``--mira`` solo se dice lo que se haría.
"""

from __future__ import annotations

from procesos import principal

# isort: split
# Lo demás tarda en importarse, y Ctrl+C se atiende ya.
import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from cuidar.sellos import RAIZ, Cuaderno, Foto, duraciones
from prueba import APUNTA, EXIGE, LARGOS_ANTES, ejecuta, nbval, pytest

BARATO = 5.0  # segundos: lo que no se puede decidir se ejecuta si tarda menos
SELLADO, CORRE, NO = "sellado", "corre", "no corrido"


@dataclass(frozen=True)
class Decision:
    """Qué se hace con un fichero de pruebas y por qué."""

    fichero: str
    que: str
    porque: str
    segundos: float | None


def decide(
    foto: Foto, cuaderno: Cuaderno, tardan: dict[str, float], barato: float = BARATO
) -> list[Decision]:
    """Qué se hace con cada fichero, los largos primero."""
    todos = foto.pruebas()
    todos.sort(key=lambda fichero: (-tardan.get(fichero, float("inf")), fichero))
    return [_decide(fichero, foto, cuaderno, tardan.get(fichero), barato) for fichero in todos]


def _decide(
    fichero: str, foto: Foto, cuaderno: Cuaderno, segundos: float | None, barato: float
) -> Decision:
    sello = cuaderno.sellos.get(fichero)
    libro = foto.mira_el_libro(fichero, cuaderno.lecturas)
    if libro and not foto.construido:
        return Decision(fichero, NO, "mira el libro, y no está construido (make libro)", segundos)
    if sello is None:
        return Decision(fichero, CORRE, "no tiene sello: no ha pasado aquí", segundos)
    if sello.huella != foto.huella(fichero, cuaderno.lecturas):
        return Decision(fichero, CORRE, "ha cambiado algo de lo que alcanza", segundos)
    if libro and sello.fuentes != foto.fuentes_del_libro:
        porque = "mira el libro, y el construido no lleva lo que ha cambiado (make libro)"
        return Decision(fichero, NO, porque, segundos)
    if sello.entera == foto.entera or not foto.puede_alcanzar_mas(fichero, cuaderno.lecturas):
        return Decision(fichero, SELLADO, "", segundos)
    if segundos is not None and segundos <= barato:
        return Decision(fichero, CORRE, "quizá lo alcance el cambio, y es barato", segundos)
    porque = "lanza órdenes o hace páginas; lo que se sabe que alcanza no ha cambiado"
    return Decision(fichero, NO, porque, segundos)


def pasos(decisiones: Iterable[Decision]) -> dict[str, list[str]]:
    """Las órdenes que ejecutan lo decidido."""
    corren = [d.fichero for d in decisiones if d.que == CORRE]
    capitulos = [x for x in corren if x.endswith(".ipynb")]
    demas = [x for x in corren if not x.endswith(".ipynb")]
    salida = {}
    if capitulos:
        salida["capítulos (nbval)"] = nbval(*LARGOS_ANTES, *APUNTA, *capitulos)
    if demas:
        salida["pruebas (pytest)"] = pytest(*LARGOS_ANTES, *APUNTA, *demas)
    return salida


def tabla(decisiones: list[Decision], foto: Foto, cuaderno: Cuaderno) -> Table:
    """Lo que se ha ejecutado, con cómo ha ido, y lo que no, con su razón. Solo ha ido bien lo que
    lleva un sello de ahora: no, lo que no llegó a ejecutarse y conserva el de antes.
    """
    salida = Table("fichero", "qué", "por qué", title="make rapida")
    for d in decisiones:
        if d.que != SELLADO:
            sello = cuaderno.sellos.get(d.fichero)
            bien = sello is not None and sello.entera == foto.entera
            que = ("corrido: bien" if bien else "NO HA PASADO") if d.que == CORRE else d.que
            salida.add_row(d.fichero, que, d.porque)
    return salida


def resumen(decisiones: list[Decision], mira: bool = False) -> str:
    """Cuántos de cada, en una línea, y lo que falta por probar."""
    cuantos = Counter(d.que for d in decisiones)
    faltan = sum(d.segundos or 0 for d in decisiones if d.que == NO)
    hechos = "Por correr" if mira else "Corridos"
    dicho = f"{hechos}: {cuantos[CORRE]}; sellados: {cuantos[SELLADO]}; no corridos: {cuantos[NO]}"
    if cuantos[NO]:
        dicho += f" (unos {faltan:.0f} s de un núcleo: los hace «make prueba»)"
    return f"{dicho}."


def main(raiz: Path = RAIZ) -> None:
    """Punto de entrada."""
    opciones = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    opciones.add_argument("--mira", action="store_true", help="dice lo que haría y no hace nada")
    opciones.add_argument("--barato", type=float, default=BARATO, help="segundos")
    pedido = opciones.parse_args()
    consola = Console()
    for variable, valor in EXIGE.items():  # cuentan en los sellos
        os.environ.setdefault(variable, valor)
    foto = Foto(raiz)
    decisiones = decide(foto, Cuaderno.abre(raiz), duraciones(raiz), pedido.barato)
    fallos = []
    if pedido.mira:
        for d in decisiones:
            consola.print(f"{d.que:10} {d.fichero}  {d.porque}", highlight=False, soft_wrap=True)
    else:
        fallos = ejecuta(pasos(decisiones), consola, titulo="make rapida")
        consola.print(tabla(decisiones, foto, Cuaderno.abre(raiz)))
    consola.print(resumen(decisiones, pedido.mira))
    sys.exit(1 if fallos else 0)


if __name__ == "__main__":
    principal(main)
