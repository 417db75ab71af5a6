"""El progreso de quien estudia: un fichero local, versionado, que no se rompe si se corta a
medias."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from calificador.correccion.resultado import PENDIENTE, SIN_ENTREGA, Resultado
from calificador.uso import atomico

FORMATO = 1
FICHERO = ".progreso.json"


@dataclass
class Progreso:
    """Por ejercicio: puntos, mejor marca, intentos fallidos seguidos y última fecha."""

    ruta: Path
    ejercicios: dict[str, dict[str, Any]] = field(default_factory=dict)
    aviso: str = ""
    solo_lectura: bool = False

    @classmethod
    def abre(cls, carpeta: Path) -> Progreso:
        """Lee el progreso; si está roto lo aparta, y si es de una versión posterior no lo toca."""
        ruta = carpeta / FICHERO
        if not ruta.exists():
            return cls(ruta)
        datos = atomico.lee_json(ruta)
        if (
            isinstance(datos, dict)
            and isinstance(datos.get("formato"), int)
            and datos["formato"] > FORMATO
        ):
            return cls(
                ruta,
                aviso=f"{ruta} es de una versión posterior: no se toca; actualiza con pip",
                solo_lectura=True,
            )
        if not isinstance(datos, dict) or not isinstance(datos.get("ejercicios"), dict):
            apartado = ruta.with_suffix(".roto.json")
            ruta.replace(apartado)
            return cls(
                ruta,
                aviso=(
                    f"el progreso no se podía leer: se ha apartado en {apartado.name} y se empieza"
                    " otro"
                ),
            )
        validos = {k: v for k, v in datos["ejercicios"].items() if isinstance(v, dict)}
        return cls(ruta, validos)

    def intentos(self, ejercicio: str) -> int:
        """Intentos fallidos seguidos: decide qué pista general toca."""
        return self._entero(ejercicio, "intentos")

    def _entero(self, ejercicio: str, campo: str) -> int:
        """Un número del fichero, que cualquiera puede haber tocado: si no lo es, cero."""
        valor = self.ejercicios.get(ejercicio, {}).get(campo, 0)
        return valor if isinstance(valor, int) and 0 <= valor < 10**6 else 0

    def apunta(self, resultado: Resultado, resumen: str) -> None:
        """Anota un resultado. Repetir el mismo código no cuenta como otro intento."""
        if resultado.estado in (PENDIENTE, SIN_ENTREGA):
            return
        previo = self.ejercicios.get(resultado.id, {})
        intentos = self.intentos(resultado.id)
        if resultado.puntos == resultado.maximo:
            intentos = 0
        elif previo.get("codigo") != resumen:
            intentos += 1
        self.ejercicios[resultado.id] = {
            "puntos": resultado.puntos,
            "maximo": resultado.maximo,
            "intentos": intentos,
            "codigo": resumen,
            "mejor": max(resultado.puntos, self._entero(resultado.id, "mejor")),
            "fecha": time.strftime("%Y-%m-%dT%H:%M:%S"),
        }

    def guarda(self) -> None:
        """Lo escribe de forma atómica."""
        if not self.solo_lectura and self.ruta.parent.is_dir():
            atomico.escribe_json(self.ruta, {"formato": FORMATO, "ejercicios": self.ejercicios})
