"""Corrección de una carpeta de entregas: en paralelo, sin perder nada y sin repetir lo hecho.

Una entrega es una tarea de ``joblib``; quien reparte escribe cada JSON de forma atómica según
llega, y así un trabajador al que se mata no deja nada a medias. Su nombre lleva el resumen de la
versión, la semilla, los ejercicios y el código: si nada cambió, no se vuelve a corregir. Cada
entrega es una frontera: lo que falle al corregirla es una línea con su nombre, y las demás siguen.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import re
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calificador import carga
from calificador.correccion.oraculo import Corrector, en_orden
from calificador.correccion.resultado import FALLADO, Propiedad, Resultado, limpia, sin_entrega
from calificador.fuente import Fuente
from calificador.jaula import canal, encierro
from calificador.jaula.canal import FalloDeEntorno
from calificador.registro import Ejercicio
from calificador.uso import atomico
from calificador.uso.clase import Clase
from calificador.uso.entregas import Entrega, lee_carpeta

if TYPE_CHECKING:
    from calificador.uso.conjunto import Conjunto

FORMATO = 1
COMPENSA = 50
VUELTAS = 3


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
    """Una entrega con sus resultados, tal como se guarda.

    ``repetir``: el calificador falló con ella; la nota sirve para el informe, y otra vuelta lo
    intenta de nuevo.
    """

    id: str
    nombre: str
    resultados: list[Resultado]
    incidencias: list[str] = field(default_factory=list)
    duplicada: bool = False
    nivel: str = ""
    repetir: bool = False

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
        return {
            **vars(self),
            "formato": FORMATO,
            "resultados": [r.como_json() for r in self.resultados],
        }

    @classmethod
    def desde_json(cls, datos: dict[str, Any]) -> Corregida:
        """La inversa de :meth:`como_json`."""
        campos = {k: datos[k] for k in ("id", "nombre", "incidencias", "duplicada", "nivel")}
        campos["repetir"] = bool(datos.get("repetir"))
        return cls(resultados=[Resultado.desde_json(r) for r in datos["resultados"]], **campos)


def clave(entrega: Entrega, encargo: Encargo, curso: carga.Curso) -> str:
    """Resumen de todo lo que decide la nota de esta entrega."""
    partes = [
        str(FORMATO),
        encargo.clase.semilla,
        repr(sorted(encargo.clase.variantes.items())),
        *encargo.ejercicios,
    ]
    partes += [
        encargo.nivel,
        entrega.id,
        entrega.nombre,
        str(entrega.duplicada),
        *entrega.incidencias,
    ]
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


# --- El trabajador ------------------------------------------------------------------------------

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
    """Corrige; si el cigoto ha muerto (por falta de memoria, por ejemplo), lo intenta una vez con
    otro.
    """
    try:
        return _corrector(encargo).califica(ejercicio, fuente, sigue=True)
    except FalloDeEntorno:
        cierra_todo()
    try:
        return _corrector(encargo).califica(ejercicio, fuente, sigue=True)
    except FalloDeEntorno:
        cierra_todo()
        canal.prueba_nivel.cache_clear()
        if canal.prueba_nivel(encargo.nivel) is not None:
            raise  # la jaula no funciona en esta máquina: no es cosa de esta entrega
        raise RuntimeError("acaba con el proceso que prepara las entregas") from None


def _suelta() -> None:
    """La entrega ya está corregida: que no quede nada suyo en marcha."""
    for corrector in _correctores.values():
        with contextlib.suppress(FalloDeEntorno):  # el cigoto ha muerto, y con él sus hijos
            corrector.suelta()


@atexit.register
def cierra_todo() -> None:
    """Cierra los cigotos de este proceso."""
    while _correctores:
        _correctores.popitem()[1].cierra()


def sin_corregir(ejercicio: Ejercicio, error: BaseException) -> Resultado:
    """Cero puntos porque el calificador no pudo: lo dice, para que alguien lo mire."""
    motivo = limpia(f"{type(error).__name__}: {str(error)[:800]}", 160)
    mensaje = f"no se ha podido corregir: {motivo}"
    propiedades = tuple(Propiedad(n, 0, p, mensaje) for n, p in ejercicio.propiedades.items())
    return Resultado(
        ejercicio.id, ejercicio.nombre, FALLADO, 0, ejercicio.puntos, propiedades, mensaje
    )


def _resultado(
    entrega: Entrega, encargo: Encargo, ejercicio: Ejercicio, avisos: list[str]
) -> Resultado:
    """La frontera de una entrega en un ejercicio."""
    try:
        fuente = entrega.fuentes.get(ejercicio.capitulo)
        return _califica(encargo, ejercicio, fuente) if fuente else sin_entrega(ejercicio)
    except (FalloDeEntorno, carga.CursoRoto):
        raise
    except Exception as error:  # noqa: BLE001 - frontera: una entrega no detiene el lote
        hecho = sin_corregir(ejercicio, error)
        avisos.append(f"ejercicio {ejercicio.id}: {hecho.mensaje}; mírala a mano")
        return hecho


def nace(padre: int) -> None:
    """Lo primero de cada trabajador de esta máquina: muere con quien lanzó el lote, que es quien se
    ocupa de ``Ctrl-C``.
    """
    encierro.muere_con_el_padre()
    if os.getppid() != padre:
        os._exit(1)  # ya había muerto
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def corrige(entrega: Entrega, encargo: Encargo) -> Corregida:
    """Corrige una entrega, sin escribir nada. Es la tarea que reparte ``joblib``."""
    avisos: list[str] = []
    curso = carga.curso_en(encargo.curso)
    try:
        ejercicios = curso.elige(list(encargo.ejercicios))
        hechos = {e.id: _resultado(entrega, encargo, e, avisos) for e in en_orden(ejercicios)}
    finally:
        _suelta()
    return _corregida(entrega, encargo, [hechos[e.id] for e in ejercicios], avisos)


def _corregida(
    entrega: Entrega, encargo: Encargo, resultados: list[Resultado], avisos: list[str]
) -> Corregida:
    incidencias = [limpia(i[:2000]) for i in [*entrega.incidencias, *avisos]]
    return Corregida(
        entrega.id,
        entrega.nombre,
        resultados,
        incidencias,
        entrega.duplicada,
        encargo.nivel,
        bool(avisos),
    )


# --- El lote ------------------------------------------------------------------------------------


def corrige_lote(
    entregas: list[Entrega],
    encargo: Encargo,
    *,
    trabajos: int = 2,
    avisa: Callable[[Corregida], None] | None = None,
    conjunto: Conjunto | None = None,
) -> list[Corregida]:
    """Corrige lo que falte y devuelve todas, en el orden de ``entregas``; con ``conjunto``, en sus
    máquinas.
    """
    salida = Path(encargo.salida)
    curso = carga.curso_en(encargo.curso)
    (salida / "resultados").mkdir(parents=True, exist_ok=True)
    atomico.barre_temporales(salida / "resultados")
    destinos = {e.id: fichero_de(e, clave(e, encargo, curso), salida) for e in entregas}
    hechas = _ya_hechas(entregas, destinos)
    faltan = [e for e in entregas if e.id not in hechas]
    # Antes de empezar: lo que corte el lote no deja sin resumen lo ya corregido.
    _escribe_resumen(salida, encargo, [e.id for e in entregas], destinos)
    avisa = avisa or (lambda _: None)
    for hecha in hechas.values():
        avisa(hecha)
    with closing(_en_paralelo(faltan, encargo, destinos, trabajos, conjunto)) as nuevas:
        for hecha in nuevas:
            hechas[hecha.id] = hecha
            avisa(hecha)
    return [hechas[e.id] for e in entregas]


def _ya_hechas(entregas: list[Entrega], destinos: dict[str, Path]) -> dict[str, Corregida]:
    leidas = {e.id: lee_corregida(destinos[e.id]) for e in entregas}
    return {id_: hecha for id_, hecha in leidas.items() if hecha is not None and not hecha.repetir}


def _en_paralelo(
    faltan: list[Entrega],
    encargo: Encargo,
    destinos: dict,
    trabajos: int,
    conjunto: Conjunto | None = None,
) -> Iterator[Corregida]:
    """Reparte las tareas y guarda cada una. Si un trabajador muere, se repite lo que falte; si
    insiste, queda dicho de quién es.
    """
    from joblib.externals.loky.process_executor import BrokenProcessPool

    reparte = conjunto.tanda if conjunto else _una_tanda
    pendientes = {e.id: e for e in faltan}
    try:
        for _ in range(VUELTAS):
            if not pendientes:
                return
            try:
                with closing(reparte(list(pendientes.values()), encargo, trabajos)) as tanda:
                    for hecha in tanda:
                        atomico.escribe_json(destinos[hecha.id], hecha.como_json())
                        del pendientes[hecha.id]
                        yield hecha
            except BrokenProcessPool:
                continue
        de_una = _abandonada if conjunto else _a_solas
        for entrega in pendientes.values():
            yield de_una(entrega, encargo, destinos[entrega.id])
    finally:
        cierra_todo()


def _una_tanda(faltan: list[Entrega], encargo: Encargo, trabajos: int) -> Iterator[Corregida]:
    from joblib import Parallel, delayed

    trabajos = max(1, min(trabajos, len(faltan)))
    if trabajos == 1:
        yield from _de_una_en_una(faltan, encargo)
        return
    # Importar de antemano lo que algunos ejercicios importan tarde cuesta dos segundos por
    # trabajador.
    encargo = replace(
        encargo, completo=len(faltan) * len(encargo.ejercicios) >= COMPENSA * trabajos
    )
    tareas = (delayed(corrige)(e, encargo) for e in faltan)
    reparto = Parallel(
        n_jobs=trabajos, return_as="generator_unordered", batch_size=1,
        initializer=nace, initargs=(os.getpid(),),
    )  # fmt: skip
    with warnings.catch_warnings():
        # Si se interrumpe, joblib avisa de que anula las que quedaban: es lo que se le pide.
        warnings.filterwarnings("ignore", r"\d+ tasks (have|which)", UserWarning)
        yield from reparto(tareas)


def _de_una_en_una(faltan: list[Entrega], encargo: Encargo) -> Iterator[Corregida]:
    """En otro proceso, aunque sea uno solo: la entrega que acabe con él no se lleva el lote."""
    from joblib.externals.loky.process_executor import ProcessPoolExecutor

    ejecutor = ProcessPoolExecutor(max_workers=1, initializer=nace, initargs=(os.getpid(),))
    try:
        for entrega in faltan:
            yield ejecutor.submit(corrige, entrega, encargo).result()
    finally:
        ejecutor.shutdown(kill_workers=True)


def _a_solas(entrega: Entrega, encargo: Encargo, destino: Path) -> Corregida:
    """Corrige una entrega en su propio proceso: si muere otra vez, se sabe de quién es la culpa."""
    from joblib.externals.loky.process_executor import BrokenProcessPool

    try:
        with closing(_una_tanda([entrega], encargo, 1)) as tanda:
            [hecha] = tanda
    except BrokenProcessPool:
        return _abandonada(entrega, encargo, destino)
    atomico.escribe_json(destino, hecha.como_json())
    return hecha


def _abandonada(entrega: Entrega, encargo: Encargo, destino: Path) -> Corregida:
    """Una entrega que quedó sin corregir porque el proceso que la llevaba murió una y otra vez."""
    error = RuntimeError("el proceso que corregía murió (¿falta memoria?)")
    ejercicios = carga.curso_en(encargo.curso).elige(list(encargo.ejercicios))
    resultados = [sin_corregir(e, error) for e in ejercicios]
    hecha = _corregida(entrega, encargo, resultados, [resultados[0].mensaje])
    atomico.escribe_json(destino, hecha.como_json())
    return hecha


def lee_corregida(ruta: Path) -> Corregida | None:
    """Una entrega ya corregida, o ``None`` si no está o no se entiende."""
    datos = atomico.lee_json(ruta)
    try:
        return Corregida.desde_json(datos) if datos and datos["formato"] == FORMATO else None
    except (KeyError, TypeError):
        return None


def _escribe_resumen(
    salida: Path, encargo: Encargo, ids: list[str], destinos: dict[str, Path]
) -> None:
    atomico.escribe_json(
        salida / "resumen.json",
        {
            "formato": FORMATO,
            "version": carga.version(),
            "clase": encargo.clase.nombre,
            "semilla_publica": encargo.clase.publica,
            "nivel": encargo.nivel,
            "ejercicios": list(encargo.ejercicios),
            "entregas": [{"id": id_, "fichero": destinos[id_].name} for id_ in ids],
        },
    )


def lee_notas(salida: Path) -> list[Corregida]:
    """Las entregas del último lote de una carpeta de notas. ``ValueError`` si no hay o falta
    alguna.
    """
    resumen = atomico.lee_json(salida / "resumen.json")
    if not resumen:
        raise ValueError(
            f"no hay notas en {salida}: corrige antes con «atento lote ENTREGAS --salida {salida}»"
        )
    corregidas = [lee_corregida(salida / "resultados" / e["fichero"]) for e in resumen["entregas"]]
    if any(c is None for c in corregidas):
        raise ValueError(
            f"faltan resultados en {salida}: repite «atento lote», solo hará lo que falte"
        )
    return corregidas


def lee_entregas(ruta: Path, curso: carga.Curso, *, salida: Path | None = None) -> list[Entrega]:
    """Las entregas de una carpeta o del zip de Moodle, sin contar la carpeta de las notas
    (``salida``).

    Errores: ``ValueError`` si no existe, si no hay ninguna o si las notas irían en la misma
    carpeta.
    """
    if not ruta.exists():
        raise ValueError(f"no existe {ruta}: da la carpeta donde están las entregas")
    if salida is not None and ruta.resolve() == salida.resolve():
        raise ValueError(
            f"{salida} es la carpeta de las entregas: da otra para las notas con --salida"
        )
    entregas = lee_carpeta(ruta, curso, salvo=salida)
    if not entregas:
        raise ValueError(
            f"no hay entregas en {ruta}: se esperaban ficheros `.py`, `.ipynb` o `.zip`, o una"
            " carpeta por persona"
        )
    return entregas
