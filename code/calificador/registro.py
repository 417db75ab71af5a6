"""El registro: qué es un ejercicio, sin saber cómo se ejecuta ni qué capítulo lo enuncia.

Un fichero por capítulo, ``calificador/ejercicios/capNN.py``, exporta ``EJERCICIOS``, una lista de
:class:`Ejercicio`. El enunciado vive en el capítulo (directiva ``exercise`` con etiqueta ``ej-N-M``), el
esqueleto en ``exercises/capNN.py`` y la solución de referencia en ``solutions/capNN.py``, con el mismo nombre.

Este módulo no importa torch: lo leen también la extensión del libro y las órdenes que solo listan.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

TIPOS = ("escribir", "completar", "depurar", "predecir", "ordenar", "medir")


@dataclass(frozen=True)
class Caso:
    """Una llamada que se hará a la entrega y a la referencia.

    ``propiedad`` es el nombre de la propiedad que este caso comprueba: de ella dependen los puntos. Los
    argumentos son números, cadenas, listas, tuplas, ``None`` o tensores de torch.

    Si ``init`` no es ``None``, el ejercicio es un módulo (``nn.Module``): se construye con ``init``, se le
    copian los pesos de la referencia y se comparan la salida de ``forward`` y los gradientes de las entradas y
    de los parámetros. ``gradiente=True`` pide lo mismo (gradientes de las entradas) para una función.
    """

    propiedad: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    init: Mapping[str, Any] | None = None
    gradiente: bool = False


@dataclass(frozen=True)
class Mutante:
    """Una solución equivocada de las que se ven de verdad, y la pista que la nombra.

    ``codigo`` es el texto completo de una entrega que define el nombre del ejercicio.
    """

    nombre: str
    codigo: str
    pista: str


@dataclass(frozen=True)
class Ejercicio:
    """Un ejercicio con nota.

    Atributos
    ---------
    id: «capítulo.orden», por ejemplo ``"4.2"``.
    nombre: la función o clase que se pide.
    tipo: uno de :data:`TIPOS`.
    puntos: entero; se reparte entre las ``propiedades``.
    dificultad: 1 (★), 2 (★★) o 3 (★★★).
    minutos: tiempo orientativo.
    aprende: una frase: qué se sabe hacer al terminar.
    casos: ``casos(rng, **variante)`` da la lista de :class:`Caso` a partir de un ``torch.Generator`` sembrado;
        los tamaños y los datos varían con la semilla.
    propiedades: nombre → puntos, en el orden en que se informan. Suman ``puntos``.
    pistas: pistas escalonadas, de menos a más; la última no da la solución.
    mutantes: al menos cuatro.
    tolerancia: error absoluto y relativo admitidos, en float64.
    comprueba: para respuestas que no son únicas: ``comprueba(caso, obtenido, esperado)`` devuelve ``None`` si vale
        o una frase que dice qué falla. ``None``: se compara con la referencia.
    prohibido: nombres que la entrega no puede usar (por ejemplo ``"scaled_dot_product_attention"``): son una ayuda
        para el lector honrado, no una defensa; se dicen en el enunciado.
    variante: parámetros de clase que cambian la función pedida, con su valor por defecto; vacío si no los hay.
        Son valores por defecto de argumentos con nombre (de la función o de ``__init__``). La referencia los recibe
        a través de los casos; si un caso lleva justo el valor de la clase, a la entrega no se le pasa: lo tiene
        escrito por defecto, y por eso la solución pública no vale en una clase con otros parámetros.
    alternativas: para cada parámetro de ``variante``, los valores entre los que elige una clase; sin ellos, un
        número cercano al público.
    """

    id: str
    nombre: str
    tipo: str
    puntos: int
    dificultad: int
    minutos: int
    aprende: str
    casos: Callable[..., list[Caso]]
    propiedades: Mapping[str, int]
    pistas: tuple[str, ...]
    mutantes: tuple[Mutante, ...]
    tolerancia: float = 1e-9
    comprueba: Callable[[Caso, Any, Any], str | None] | None = None
    prohibido: tuple[str, ...] = ()
    variante: Mapping[str, Any] = field(default_factory=dict)
    alternativas: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[1-9]\d?\.[1-9]\d?", self.id):
            raise ValueError(f"id: llegó {self.id!r}; se esperaba «capítulo.orden», como «4.2»")
        if self.tipo not in TIPOS:
            raise ValueError(f"{self.id}: tipo {self.tipo!r}; se esperaba uno de {', '.join(TIPOS)}")
        if self.dificultad not in (1, 2, 3):
            raise ValueError(f"{self.id}: dificultad {self.dificultad!r}; se esperaba 1, 2 o 3")
        if sum(self.propiedades.values()) != self.puntos:
            raise ValueError(
                f"{self.id}: las propiedades suman {sum(self.propiedades.values())} puntos; se esperaban {self.puntos}"
            )
        if len(self.mutantes) < 4:
            raise ValueError(f"{self.id}: {len(self.mutantes)} mutantes; se esperaban al menos 4")

    @property
    def capitulo(self) -> int:
        """Número del capítulo."""
        return int(self.id.split(".")[0])

    @property
    def etiqueta(self) -> str:
        """Etiqueta del enunciado en el libro: ``ej-4-2``."""
        return "ej-" + self.id.replace(".", "-")
