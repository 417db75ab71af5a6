"""El calificador: ejecuta entregas, da puntos y pistas. No sabe nada de los capítulos."""

from calificador.registro import Caso, Ejercicio, Mutante

__all__ = ["Caso", "Ejercicio", "Mutante"]
