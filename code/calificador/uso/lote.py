"""Corrección de una carpeta de entregas: en paralelo, sin perder nada y sin repetir lo hecho.

Una entrega es una tarea de ``joblib``; quien la corrige escribe su JSON de forma atómica. Su nombre lleva el resumen de
la versión, la semilla, los ejercicios y el código: si nada cambió, no se vuelve a corregir.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from calificador import carga
from calificador.correccion.oraculo import Corrector
from calificador.correccion.resultado import Resultado, limpia, sin_entrega
from calificador.fuente import Fuente
from calificador.jaula.canal import FalloDeEntorno
from calificador.registro import Ejercicio
from calificador.uso import atomico
from calificador.uso.clase import Clase
from calificador.uso.entregas import Entrega, lee_carpeta

FORMATO = 1
COMPENSA = 50


@dataclass(frozen=True)
class Encargo:
    """Lo que un trabajador necesita saber; viaja por ``joblib``, también a otra máquina."""

    salida: str
    clase: Clase
    ejercicios: tuple[str, ...]
    nivel: str
    curso: str = ""
    completo: bool = False


@dataclass
class Corregida:
    """Una entrega con sus resultados, tal como se guarda."""

    id: str
    nombre: str
    resultados: list[Resultado]
    incidencias: list[str] = field(default_factory=list)
    duplicada: bool = False
    nivel: str = ""

    @property
    def puntos(self) -> int:
        """Suma de puntos."""
        return sum(r.puntos for r in self.resultados)

    @property
    def maximo(self) -> int:
        """Suma de puntos posibles."""
        return sum(r.maximo for r in self.resultados)

    def como_json(self) -> dict[str, Any]:
        """Diccionario que cabe en JSON."""
        return {**vars(self), "formato": FORMATO, "resultados": [r.como_json() for r in self.resultados]}

    @classmethod
    def desde_json(cls, datos: dict[str, Any]) -> Corregida:
        """La inversa de :meth:`como_json`."""
        campos = {k: datos[k] for k in ("id", "nombre", "incidencias", "duplicada", "nivel")}
        return cls(resultados=[Resultado.desde_json(r) for r in datos["resultados"]], **campos)


def clave(entrega: Entrega, encargo: Encargo, curso: carga.Curso) -> str:
    """Resumen de todo lo que decide la nota de esta entrega."""
    partes = [str(FORMATO), encargo.clase.semilla, repr(sorted(encargo.clase.variantes.items())), *encargo.ejercicios]
    partes += [encargo.nivel, entrega.id, *entrega.incidencias]
    for capitulo in sorted({int(e.split(".")[0]) for e in encargo.ejercicios}):
        partes.append(curso.huella(capitulo))
        fuente = entrega.fuentes.get(capitulo)
        partes += [f"{c.entera}{c.texto}" for c in fuente.celdas] if fuente else ["-"]
    resumen = hashlib.sha256()
    for parte in partes:
        codificada = parte.encode("utf-8", "surrogatepass")
        resumen.update(len(codificada).to_bytes(8, "big") + codificada)
    return resumen.hexdigest()


def fichero_de(entrega: Entrega, resumen: str, salida: Path) -> Path:
    """Nombre del JSON de una entrega: lo legible de su identificador y el resumen."""
    visible = re.sub(r"[^A-Za-z0-9._-]+", "_", entrega.id).strip("._")[:40] or "entrega"
    return salida / "resultados" / f"{visible}-{resumen[:24]}.json"


# --- El trabajador ----------------------------------------------------------------------------------------------------

_correctores: dict[tuple, Corrector] = {}


def _corrector(encargo: Encargo) -> Corrector:
    """El corrector de este proceso; sirve para todas las entregas."""
    clave_ = (encargo.nivel, encargo.clase.semilla, repr(encargo.clase.variantes), encargo.curso)
    if clave_ not in _correctores:
        cierra_todo()
        import torch

        torch.set_num_threads(1)
        _correctores[clave_] = Corrector(
            encargo.nivel, encargo.clase.semilla, del_curso=carga.curso_en(encargo.curso),
            variantes=encargo.clase.variantes, completo=encargo.completo,
        )  # fmt: skip
    return _correctores[clave_]


def _califica(encargo: Encargo, ejercicio: Ejercicio, fuente: Fuente) -> Resultado:
    """Corrige; si el cigoto ha muerto (por falta de memoria, por ejemplo), lo intenta una vez con otro."""
    try:
        return _corrector(encargo).califica(ejercicio, fuente)
    except FalloDeEntorno:
        cierra_todo()
        return _corrector(encargo).califica(ejercicio, fuente)


@atexit.register
def cierra_todo() -> None:
    """Cierra los cigotos de este proceso."""
    while _correctores:
        _correctores.popitem()[1].cierra()


def _muere_con(padre: int) -> None:
    """Un hilo que acaba este trabajador si muere quien lo lanzó (por ejemplo, con ``kill -9``)."""

    def vigila() -> None:
        while os.getppid() == padre:
            time.sleep(0.3)
        os._exit(1)

    threading.Thread(target=vigila, daemon=True).start()


_vigilado = False


def corrige(entrega: Entrega, encargo: Encargo, destino: str, padre: int) -> Corregida:
    """Corrige una entrega y la guarda. Es la tarea que reparte ``joblib``."""
    global _vigilado
    if not _vigilado and os.getpid() != padre and os.getppid() == padre:
        _muere_con(padre)
        _vigilado = True
    curso = carga.curso_en(encargo.curso)
    resultados = []
    for ejercicio in curso.elige(list(encargo.ejercicios)):
        fuente = entrega.fuentes.get(ejercicio.capitulo)
        resultados.append(_califica(encargo, ejercicio, fuente) if fuente else sin_entrega(ejercicio))
    hecha = Corregida(
        entrega.id,
        entrega.nombre,
        resultados,
        [limpia(i) for i in entrega.incidencias],
        entrega.duplicada,
        encargo.nivel,
    )
    atomico.escribe_json(Path(destino), hecha.como_json())
    return hecha


# --- El lote ----------------------------------------------------------------------------------------------------------


def corrige_lote(
    entregas: list[Entrega], encargo: Encargo, *, trabajos: int = 2, avisa: Callable[[Corregida], None] | None = None
) -> list[Corregida]:
    """Corrige lo que falte y devuelve todas, en el orden de ``entregas``."""
    salida = Path(encargo.salida)
    curso = carga.curso_en(encargo.curso)
    (salida / "resultados").mkdir(parents=True, exist_ok=True)
    atomico.barre_temporales(salida / "resultados")
    destinos = {e.id: fichero_de(e, clave(e, encargo, curso), salida) for e in entregas}
    hechas: dict[str, Corregida] = {}
    for entrega in entregas:
        guardada = lee_corregida(destinos[entrega.id])
        if guardada is not None:
            hechas[entrega.id] = guardada
    faltan = [e for e in entregas if e.id not in hechas]
    for hecha in hechas.values():
        if avisa:
            avisa(hecha)
    for hecha in _en_paralelo(faltan, encargo, destinos, trabajos):
        hechas[hecha.id] = hecha
        if avisa:
            avisa(hecha)
    corregidas = [hechas[e.id] for e in entregas]
    _escribe_resumen(salida, encargo, corregidas, destinos)
    return corregidas


def _en_paralelo(faltan: list[Entrega], encargo: Encargo, destinos: dict, trabajos: int) -> Iterator[Corregida]:
    from joblib import Parallel, delayed

    trabajos = max(1, min(trabajos, len(faltan)))
    # Importar de antemano lo que algunos ejercicios importan tarde cuesta dos segundos por trabajador.
    encargo = replace(encargo, completo=len(faltan) * len(encargo.ejercicios) >= COMPENSA * trabajos)
    tareas = (delayed(corrige)(e, encargo, str(destinos[e.id]), os.getpid()) for e in faltan)
    try:
        yield from Parallel(n_jobs=trabajos, return_as="generator_unordered", batch_size=1)(tareas)
    finally:
        cierra_todo()


def lee_corregida(ruta: Path) -> Corregida | None:
    """Una entrega ya corregida, o ``None`` si no está o no se entiende."""
    datos = atomico.lee_json(ruta)
    try:
        return Corregida.desde_json(datos) if datos and datos["formato"] == FORMATO else None
    except (KeyError, TypeError):
        return None


def _escribe_resumen(salida: Path, encargo: Encargo, corregidas: list[Corregida], destinos: dict) -> None:
    atomico.escribe_json(
        salida / "resumen.json",
        {
            "formato": FORMATO,
            "version": carga.version(),
            "clase": encargo.clase.nombre,
            "nivel": encargo.nivel,
            "ejercicios": list(encargo.ejercicios),
            "entregas": [{"id": c.id, "fichero": destinos[c.id].name} for c in corregidas],
        },
    )


def lee_notas(salida: Path) -> list[Corregida]:
    """Las entregas del último lote de una carpeta de notas. ``ValueError`` si no hay o falta alguna."""
    resumen = atomico.lee_json(salida / "resumen.json")
    if not resumen:
        raise ValueError(f"no hay notas en {salida}: corrige antes con «atento lote ENTREGAS --salida {salida}»")
    corregidas = [lee_corregida(salida / "resultados" / e["fichero"]) for e in resumen["entregas"]]
    if any(c is None for c in corregidas):
        raise ValueError(f"faltan resultados en {salida}: repite «atento lote», solo hará lo que falte")
    return corregidas


def lee_entregas(ruta: Path, curso: carga.Curso) -> list[Entrega]:
    """Las entregas de una carpeta; ``ValueError`` si no existe o no hay ninguna."""
    if not ruta.exists():
        raise ValueError(f"no existe {ruta}: da la carpeta donde están las entregas")
    entregas = lee_carpeta(ruta, curso)
    if not entregas:
        raise ValueError(
            f"no hay entregas en {ruta}: se esperaban ficheros `.py`, `.ipynb` o `.zip`, o una carpeta por persona"
        )
    return entregas
