"""El lote en varias máquinas: Dask reparte, cada trabajador corrige en su jaula y aquí se escribe.

El curso, la clase y las entregas viajan por valor. Un trabajador con otra versión, o sin la jaula
que se pide, se rechaza por su nombre y los demás siguen; si uno muere, Dask da a otro lo que
llevaba. Lo que se pierda (un conjunto entero que cae) lo repite quien reparte.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import distributed
from joblib import Parallel, delayed
from joblib._dask import DaskDistributedBackend

from calificador import carga
from calificador.correccion.resultado import limpia
from calificador.jaula import canal, encierro
from calificador.jaula.canal import FalloDeEntorno
from calificador.uso import lote
from calificador.uso.entregas import Entrega

SALUDO = 10.0  # segundos para que conteste el planificador
PACIENCIA = 60.0  # y para que haya algún trabajador, o para que los que haya digan si sirven
LATIDO = 1.0


@dataclass(frozen=True)
class Envio:
    """Lo que viaja a cada trabajador, una vez: el encargo, el curso y qué programa lo pide."""

    encargo: lote.Encargo
    curso: dict[str, str]
    programa: str


@dataclass(frozen=True)
class Rechazo:
    """Un trabajador que no sirve, y por qué."""

    quien: str
    motivo: str


class Perdida:
    """El sitio de una tarea que Dask no pudo acabar."""


# --- En el trabajador ---------------------------------------------------------------------------

_turno = threading.Lock()  # un trabajador puede tener varios hilos, y el cigoto atiende a uno
_cursos: dict[str, str] = {}


@lru_cache(maxsize=1)
def programa() -> str:
    """Qué programa corrige aquí: ha de ser el mismo que allí."""
    resumen = hashlib.sha256()
    for raiz in (carga.PAQUETE, carga.PAQUETE.parent / "atento"):
        for fichero in sorted(raiz.rglob("*.py")):
            if not fichero.is_relative_to(carga.PAQUETE / "ejercicios"):  # viajan con el curso
                resumen.update(fichero.read_bytes())
    python = ".".join(map(str, sys.version_info[:2]))
    return (
        f"atento {carga.version()} ({resumen.hexdigest()[:8]}), Python {python},"
        f" torch {metadata.version('torch')}"
    )


def reparo(pedido: str, nivel: str) -> str:
    """Por qué este trabajador no sirve, o la cadena vacía."""
    if programa() != pedido:
        return f"lleva {programa()}, y aquí hay {pedido}"
    with _turno:
        motivo = canal.prueba_nivel(nivel)
    return f"no tiene la jaula {nivel}: {motivo}" if motivo else ""


def corrige_fuera(entrega: Entrega, envio: Envio) -> lote.Corregida | Rechazo:
    """Corrige una entrega en el trabajador. Es la tarea que se reparte."""
    motivo = reparo(envio.programa, envio.encargo.nivel)
    if not motivo:
        try:
            with _turno:
                encierro.no_inspeccionable()
                encargo = replace(envio.encargo, curso=_curso_aqui(envio.curso))
                return lote.corrige(entrega, encargo)
        except FalloDeEntorno as error:
            motivo = str(error)
    return Rechazo(str(distributed.get_worker().name), motivo)


def _curso_aqui(ficheros: dict[str, str]) -> str:
    """La carpeta de este proceso con el curso que llegó."""
    resumen = hashlib.sha256(repr(sorted(ficheros.items())).encode()).hexdigest()
    if resumen not in _cursos:
        base = Path(canal.carpeta_nueva())
        for nombre, texto in ficheros.items():
            (base / nombre).parent.mkdir(exist_ok=True)
            (base / nombre).write_text(texto, encoding="utf-8")
        _cursos[resumen] = str(base)
    return _cursos[resumen]


def acaba() -> None:
    """Cierra los cigotos de este trabajador, si no está corrigiendo para otro."""
    if _turno.acquire(blocking=False):
        try:
            lote.cierra_todo()
        finally:
            _turno.release()


# --- Donde se pide ------------------------------------------------------------------------------


def curso_por_valor(curso: carga.Curso, ejercicios: tuple[str, ...]) -> dict[str, str]:
    """Los ficheros de los capítulos que se corrigen, como los espera ``carga.curso_en``."""
    capitulos = {curso.ejercicios[e].capitulo for e in ejercicios}
    carpetas = {
        "registro": curso.registro,
        "exercises": curso.esqueletos,
        "solutions": curso.soluciones,
    }
    return {
        f"{nombre}/{fichero}": (ruta / fichero).read_text(encoding="utf-8")
        for nombre, ruta in carpetas.items()
        for fichero in map(carga.nombre_de_fichero, sorted(capitulos))
    }


class Reparto(DaskDistributedBackend):
    """El reparto de ``joblib``, que a una tarea que Dask da por perdida no la espera siempre."""

    async def _collect(self) -> None:
        while self._continue:
            async for futuro, dado in self.waiting_futures:
                promesa, avisa = self._results.pop(futuro), self._callbacks.pop(futuro)
                dado = dado if futuro.status == "finished" else [Perdida()]
                promesa.set_result(dado)
                avisa(dado)
            await asyncio.sleep(0.01)

    def effective_n_jobs(self, n_jobs: int) -> int:
        """Los hilos que hay. Con uno, ``joblib`` no repartiría: corregiría la máquina que pide."""
        hilos = super().effective_n_jobs(n_jobs)
        return 2 if hilos == 1 else hilos

    def da_por_perdido(self) -> None:
        """Lo que queda no lo va a hacer nadie."""
        self.client.cancel(list(self._results), force=True)


class Conjunto:
    """Los trabajadores de un planificador, para un encargo. Se usa con ``with``."""

    def __init__(self, direccion: str, encargo: lote.Encargo, avisa: Callable[[str], None]) -> None:
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        curso = carga.curso_en(encargo.curso)
        self.direccion, self._avisa = direccion, avisa
        self._envio = Envio(encargo, curso_por_valor(curso, encargo.ejercicios), programa())
        self._vetados: dict[str, str] = {}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._cliente = distributed.Client(direccion, timeout=SALUDO)
        except (OSError, ValueError, TypeError) as error:
            raise FalloDeEntorno(
                f"no contesta ningún planificador de Dask en {direccion}: arráncalo con «dask"
                f" scheduler» ({limpia(str(error), 120)})"
            ) from None

    def __enter__(self) -> Conjunto:
        return self

    def __exit__(self, *_: object) -> None:
        self.cierra()

    def tanda(self, faltan: list[Entrega], *_: Any) -> Iterator[lote.Corregida]:
        """Corrige lo que pueda de ``faltan``. Errores: ``FalloDeEntorno`` si no hay con quién."""
        aceptados = self._revisa()
        donde = {"workers": aceptados} if self._vetados else {}
        reparto = Reparto(client=self._cliente, scatter=[self._envio], **donde)
        tareas = (delayed(corrige_fuera)(e, self._envio) for e in faltan)
        with self._vigila(reparto, aceptados if donde else None):
            hechas = Parallel(
                backend=reparto, n_jobs=-1, return_as="generator_unordered", batch_size=1
            )(tareas)
            with closing(hechas):
                for hecha in hechas:
                    if isinstance(hecha, Rechazo):
                        self._rechaza(hecha)
                    elif isinstance(hecha, lote.Corregida):
                        yield hecha

    def _trabajadores(self) -> dict[str, str]:
        """Dirección → nombre de los que hay ahora."""
        vivos = self._cliente.scheduler_info(n_workers=-1)["workers"]
        return {d: str(datos["name"]) for d, datos in vivos.items()}

    def _sirven(self) -> list[str]:
        return [d for d, quien in self._trabajadores().items() if quien not in self._vetados]

    def _revisa(self) -> list[str]:
        """Las direcciones de los que sirven; a los demás los rechaza."""
        limite = time.monotonic() + PACIENCIA
        while not self._sirven() and not self._vetados and time.monotonic() < limite:
            time.sleep(LATIDO)
        dudas = {d: q for d, q in self._trabajadores().items() if q not in self._vetados}
        pedido = (self._envio.programa, self._envio.encargo.nivel)
        futuros = {d: self._cliente.submit(reparo, *pedido, workers=[d], pure=False) for d in dudas}
        with suppress(TimeoutError):
            distributed.wait(list(futuros.values()), timeout=PACIENCIA)
        for d, futuro in futuros.items():
            if futuro.done() and (motivo := _motivo(futuro)):  # si no ha contestado, está ocupado
                self._rechaza(Rechazo(dudas[d], motivo))
        sirven = self._sirven()
        if not sirven:
            raise FalloDeEntorno(self._nadie())
        return sirven

    def _nadie(self) -> str:
        if self._vetados:
            cuales = "; ".join(f"{q} {motivo}" for q, motivo in self._vetados.items())
            return f"no sirve ningún trabajador de {self.direccion}: {cuales}"
        return (
            f"no hay ningún trabajador en {self.direccion}: arranca alguno con «dask worker"
            f" {self.direccion} --nthreads 1»; lo que ya estaba hecho está guardado"
        )

    def _rechaza(self, rechazo: Rechazo) -> None:
        if rechazo.quien not in self._vetados:
            self._vetados[rechazo.quien] = rechazo.motivo
            self._avisa(f"se rechaza al trabajador {rechazo.quien}: {rechazo.motivo}")

    @contextmanager
    def _vigila(self, reparto: Reparto, solo: list[str] | None) -> Iterator[None]:
        """Si se quedan sin trabajadores (sin ninguno de ``solo``) un rato, no se espera más."""
        acabado = threading.Event()

        def mira() -> None:
            limite = time.monotonic() + PACIENCIA
            while not acabado.wait(LATIDO):
                with suppress(Exception):  # si cae el planificador, lo dice el cliente
                    vivos = self._trabajadores()
                    if any(d in vivos for d in solo) if solo else vivos:
                        limite = time.monotonic() + PACIENCIA
                if time.monotonic() > limite:
                    reparto.da_por_perdido()
                    return

        vigia = threading.Thread(target=mira, daemon=True)
        vigia.start()
        try:
            yield
        finally:
            acabado.set()
            vigia.join()

    def cierra(self) -> None:
        """Deja a los trabajadores como estaban y se despide; lo pendiente se anula."""
        with suppress(Exception):
            self._cliente.run(acaba, on_error="ignore", wait=False)
        self._cliente.close(timeout=SALUDO)


def _motivo(futuro: Any) -> str:
    if futuro.status == "finished":
        return futuro.result()
    error = futuro.exception() if futuro.status == "error" else futuro.status
    return f"no puede con el encargo: {limpia(f'{type(error).__name__}: {error}', 160)}"
