"""El ejemplo de un ejercicio: un caso pequeño y fijo, con lo que da la referencia, listo para la
página y el cuaderno.

La salida se calcula al pedirla, con la solución de referencia: nunca está escrita en ningún sitio.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calificador.carga import Curso
from calificador.correccion.examen import prepara
from calificador.correccion.muestra import entradas, linea, muestra, nombres_de_argumentos, tamano
from calificador.registro import Ejercicio


@dataclass(frozen=True)
class Ejemplo:
    """Entrada y salida, para leer (``entrada``, ``llamada``, ``salida``) y para ejecutar
    (``codigo``).
    """

    entrada: str
    llamada: str
    salida: str
    forma: str
    codigo: str

    @property
    def texto(self) -> str:
        """Todo seguido, en varias líneas de texto sencillo."""
        forma = f"  {self.forma}" if self.forma else ""
        return f"{self.entrada}\n\n{self.llamada}\n→ {self.salida}{forma}"


def ejemplo(curso: Curso, ejercicio: Ejercicio) -> Ejemplo | None:
    """El ejemplo de un ejercicio; ``None`` si no lo tiene o si enseñarlo sería dar la respuesta."""
    if ejercicio.ejemplo is None or ejercicio.literal:
        return None
    examen = prepara(curso, ejercicio, "ejemplo", casos=[ejercicio.ejemplo()])
    caso, valor = examen.casos[0], examen.esperadas[0].valor
    nombres = nombres_de_argumentos(examen.solucion, ejercicio.nombre)
    init, pesos = dict(caso.init or {}), dict(caso.pesos)
    dadas = entradas(caso, nombres)[len(init) :]
    argumentos = [n for n, _ in dadas[: len(caso.args)]] + [
        f"{n}={muestra(v)}" for n, v in caso.kwargs.items()
    ]
    llamada = f"{_constructor(ejercicio, init)}({', '.join(argumentos)})"
    lineas = [linea(n, v) for n, v in [*pesos.items(), *dadas[: len(caso.args)]]]
    return Ejemplo(
        "\n".join(lineas), llamada, muestra(valor, 2), tamano(valor),
        _codigo(ejercicio, init, pesos, dadas[: len(caso.args)], dict(caso.kwargs)),
    )  # fmt: skip


def _constructor(ejercicio: Ejercicio, init: Mapping[str, Any]) -> str:
    if not init:
        return ejercicio.nombre
    return f"{ejercicio.nombre}({', '.join(f'{n}={v!r}' for n, v in init.items())})"


def _codigo(
    ejercicio: Ejercicio,
    init: Mapping[str, Any],
    pesos: Mapping[str, Any],
    dadas: list[tuple[str, Any]],
    kwargs: Mapping[str, Any],
) -> str:
    """Código que repite el ejemplo en una celda donde ``torch`` y el ejercicio estén definidos."""
    argumentos = [_python(v) for _, v in dadas] + [f"{n}={_python(v)}" for n, v in kwargs.items()]
    llamada = f"({', '.join(argumentos)})"
    if not init:
        return ejercicio.nombre + llamada
    cargar = ", ".join(f"{n!r}: {_python(v)}" for n, v in pesos.items())
    return "\n".join(
        [
            f"modulo = {_constructor(ejercicio, init)}.double()",
            f"modulo.load_state_dict({{{cargar}}}, strict=False)",
            f"modulo{llamada}",
        ]
    )


def _python(valor: Any) -> str:
    if hasattr(valor, "tolist") and hasattr(valor, "dtype"):
        tipo = f", dtype={valor.dtype}" if valor.is_floating_point() else ""
        return f"torch.tensor({valor.tolist()!r}{tipo})"
    if isinstance(valor, (list, tuple)):
        dentro = ", ".join(map(_python, valor)) + (
            "," if isinstance(valor, tuple) and len(valor) == 1 else ""
        )
        return f"({dentro})" if isinstance(valor, tuple) else f"[{dentro}]"
    return repr(valor)
