"""Lo que se sabe de una entrega después de corregirla: puntos por propiedad, mensajes y pista."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

SUPERADO, PARCIAL, FALLADO, PENDIENTE, SIN_ENTREGA = (
    "superado",
    "parcial",
    "fallado",
    "pendiente",
    "sin entrega",
)
ESTADOS = (SUPERADO, PARCIAL, FALLADO, PENDIENTE, SIN_ENTREGA)


def limpia(texto: str, maximo: int = 400) -> str:
    """Quita de un texto ajeno los caracteres de control (también los que cambian el sentido de la
    escritura).
    """
    visible = "".join(
        c if c == " " or not unicodedata.category(c).startswith(("C", "Zl", "Zp")) else " "
        for c in texto[: 8 * maximo]
    )
    visible = " ".join(visible.split())
    return visible if len(visible) <= maximo else visible[: maximo - 1] + "…"


@dataclass(frozen=True)
class Propiedad:
    """Una propiedad del ejercicio: vale sus puntos si pasan todos sus casos."""

    nombre: str
    puntos: int
    maximo: int
    mensaje: str = ""

    @property
    def superada(self) -> bool:
        """¿Tiene todos sus puntos?"""
        return self.puntos == self.maximo


@dataclass(frozen=True)
class Resultado:
    """El resultado de un ejercicio.

    ``mutante``: el error reconocido, si lo hay. ``caso``: el caso más pequeño que falla, en varias
    líneas; solo al corregir en local.
    ``dicho``: lo que imprimió el código, en varias líneas y sin caracteres de control. Solo al
    corregirse uno mismo (``con_texto``): en un lote está vacío, porque podría llevar las entradas
    de los casos ocultos.
    """

    id: str
    nombre: str
    estado: str
    puntos: int
    maximo: int
    propiedades: tuple[Propiedad, ...] = ()
    mensaje: str = ""
    pista: str = ""
    mutante: str = ""
    caso: str = ""
    nivel: str = ""
    segundos: float = field(default=0.0, compare=False)
    dicho: str = field(default="", compare=False)

    def como_json(self) -> dict[str, Any]:
        """Diccionario que cabe en JSON."""
        return asdict(self) | {"propiedades": [asdict(p) for p in self.propiedades]}

    @classmethod
    def desde_json(cls, datos: Mapping[str, Any]) -> Resultado:
        """La inversa de :meth:`como_json`."""
        propiedades = tuple(Propiedad(**p) for p in datos["propiedades"])
        return cls(**{**datos, "propiedades": propiedades})


def sin_entrega(ejercicio: Any) -> Resultado:
    """Cero puntos porque no llegó nada que corregir."""
    propiedades = tuple(Propiedad(n, 0, p, "sin entrega") for n, p in ejercicio.propiedades.items())
    return Resultado(
        ejercicio.id, ejercicio.nombre, SIN_ENTREGA, 0, ejercicio.puntos, propiedades,
        mensaje=f"no se encontró nada del capítulo {ejercicio.capitulo}",
    )  # fmt: skip
