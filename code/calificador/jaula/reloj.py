"""El reloj de una entrega: cuenta el procesador que gasta y lo que duerme, no lo que espera turno.

Con la máquina cargada, un segundo de trabajo puede tardar diez en pasar: con un reloj de pared, una
respuesta correcta perdería puntos por lo que hacen otros. Dormir sí se cuenta, porque saldría
gratis. Donde el sistema no deja mirar otro proceso, cuenta el reloj de pared.
"""

from __future__ import annotations

import time
from pathlib import Path

HOLGURA = 10  # el reloj de pared, red de seguridad: tantas veces el límite
_DORMIDO = ("S", "T", "t")


class Reloj:
    """Cuánto lleva gastado el proceso ``pid`` o, si va ``dentro`` (nivel fuerte), su hijo."""

    def __init__(self, pid: int, *, dentro: bool = False) -> None:
        self.gastado = 0.0
        self._pid, self._busca = pid, dentro
        self._visto, self._cpu = time.monotonic(), self._procesador()

    def empieza(self) -> None:
        """Desde aquí cuenta; lo de antes, no."""
        self._visto, self._cpu = time.monotonic(), self._procesador()

    def sin_mirar(self) -> float:
        """Segundos de pared desde la última vez que se miró."""
        return time.monotonic() - self._visto

    def mira(self, *, contesta: bool = False) -> float:
        """Suma lo gastado desde la última vez. ``contesta``: ya no trabaja, y puede dormir."""
        ahora, cpu = time.monotonic(), self._procesador()
        pasado = ahora - self._visto
        if cpu is None or self._cpu is None:
            gasto = pasado
        else:
            gasto = max(0.0, cpu - self._cpu)
            if not contesta and self._duerme():
                gasto = max(gasto, pasado)
        self.gastado += gasto
        self._visto, self._cpu = ahora, cpu
        if self._busca:
            self._entra()
        return self.gastado

    def _procesador(self) -> float | None:
        """Segundos de procesador, con el reloj que Linux da a cada proceso."""
        try:
            return time.clock_gettime((~self._pid << 3) | 2)
        except (OSError, AttributeError, OverflowError):
            return None

    def _duerme(self) -> bool:
        """¿Está dormido porque quiere? Si no se puede saber, sí."""
        try:
            return _estado(self._pid)[0] in _DORMIDO
        except (OSError, IndexError):
            return True

    def _entra(self) -> None:
        """En el nivel fuerte, quien trabaja es el hijo del proceso que se ve desde fuera."""
        for carpeta in Path("/proc").glob("[0-9]*"):
            try:
                if _estado(int(carpeta.name))[1] == str(self._pid):
                    self._pid, self._busca = int(carpeta.name), False
                    self.empieza()
                    return
            except (OSError, IndexError):
                continue


def _estado(pid: int) -> list[str]:
    """Estado, padre… de un proceso, según ``/proc``."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
