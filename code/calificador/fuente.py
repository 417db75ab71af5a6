"""El texto de una entrega: una o varias celdas, y cómo se nombra un punto de él al lector."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Celda:
    """Un trozo de código. ``entera``: se ejecuta todo; si no, solo sus definiciones."""

    texto: str
    entera: bool = True
    numero: int = 0


@dataclass(frozen=True)
class Fuente:
    """El código de un capítulo tal como lo entregó una persona. No se ha ejecutado nada de él."""

    celdas: tuple[Celda, ...]
    origen: str = ""

    @classmethod
    def de_texto(cls, texto: str, origen: str = "") -> Fuente:
        """Un fichero ``.py`` entero."""
        return cls((Celda(texto),), origen)

    @property
    def texto(self) -> str:
        """Todo el código, para resumirlo o buscar nombres en él."""
        return "\n".join(c.texto for c in self.celdas)

    def donde(self, celda: int, linea: int) -> str:
        """«línea 12» o «celda 3, línea 5»."""
        if 0 <= celda < len(self.celdas) and self.celdas[celda].numero:
            return f"celda {self.celdas[celda].numero}, línea {linea}"
        return f"línea {linea}"

    def linea(self, celda: int, linea: int) -> str:
        """El texto de una línea, o la cadena vacía si no existe."""
        if not 0 <= celda < len(self.celdas):
            return ""
        lineas = self.celdas[celda].texto.splitlines()
        return lineas[linea - 1].strip() if 1 <= linea <= len(lineas) else ""
