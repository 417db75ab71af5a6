"""El oráculo: pregunta a la entrega, compara en el padre y pone la nota. La entrega nunca dice si está bien.

:class:`Corrector` corrige entregas ajenas en la jaula. :func:`verifica` corrige código de confianza en el propio
proceso, con la misma comparación: sirve para comprobar referencias, esqueletos y mutantes en un instante.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from calificador.carga import Curso, curso
from calificador.correccion.compara import Contestacion, Contexto, explica, iguales
from calificador.correccion.examen import Examen, SesionLocal, contestacion, peticion_de_analisis, prepara
from calificador.correccion.resultado import FALLADO, PARCIAL, PENDIENTE, SUPERADO, Propiedad, Resultado, limpia
from calificador.fuente import Fuente
from calificador.jaula import canal, marcos
from calificador.jaula.encierro import Limites
from calificador.registro import Ejercicio, Mutante

SEMILLA_PUBLICA = "practica"
OMITIDO = Contestacion("omitido")


@dataclass
class Interrogatorio:
    """Lo que contestó una entrega: ``fallo`` si ni siquiera se pudo cargar, o una contestación por caso."""

    contestaciones: list[Contestacion] = field(default_factory=list)
    fallo: str = ""
    mensaje: str = ""
    pendiente: bool = False
    dicho: str = ""


# --- Preguntar ------------------------------------------------------------------------------------------------------


def _carga(sesion: Any, examen: Examen, fuente: Fuente, limites: Limites, con_texto: bool) -> Interrogatorio | None:
    """Analiza y carga la entrega. ``None`` si todo fue bien."""
    nombre = examen.ejercicio.nombre
    peticion = peticion_de_analisis(examen.ejercicio, fuente, con_texto)
    try:
        mensaje, _ = sesion.pide(peticion, {}, limites.carga + 5)
        if mensaje.get("usa"):
            return Interrogatorio(
                fallo="prohibido", mensaje=f"usa {', '.join(mensaje['usa'])}, que el enunciado no permite"
            )
        if "error" not in mensaje:
            mensaje, _ = sesion.pide({"orden": "carga"}, {}, limites.carga)
        if mensaje.get("error") == "sintaxis":
            return Interrogatorio(fallo="sintaxis", mensaje=_mensaje_de_sintaxis(mensaje, fuente))
        if "error" in mensaje:
            dada = contestacion(mensaje, {})
            en = f" en la {fuente.donde(dada.celda, dada.linea)}" if dada.linea else ""
            dicho = f": «{limpia(dada.texto, 200)}»" if dada.texto else ""
            return Interrogatorio(
                fallo="excepcion", mensaje=f"el fichero no se pudo cargar: {limpia(dada.tipo, 60)}{en}{dicho}"
            )
        if mensaje.get("definido") is not True:
            return Interrogatorio(
                fallo="ausente", mensaje=f"no se encontró «{nombre}»: ¿se borró o se cambió de nombre?"
            )
    except canal.Agotado as error:
        return Interrogatorio(fallo="agotado", mensaje=f"el fichero no terminó de cargarse: {error}")
    except (canal.Roto, marcos.MarcoInvalido, TypeError, ValueError) as error:
        return Interrogatorio(fallo="roto", mensaje=f"el fichero no se pudo cargar: {_motivo(error)}")
    return None


def _motivo(error: Exception) -> str:
    return str(error) if isinstance(error, (canal.Roto, marcos.MarcoInvalido)) else "una respuesta que no se entiende"


def _mensaje_de_sintaxis(mensaje: Mapping[str, Any], fuente: Fuente) -> str:
    celda, linea = mensaje.get("celda"), mensaje.get("linea")
    if not isinstance(celda, int) or not isinstance(linea, int) or not linea:
        return "el fichero no es Python: no se puede leer"
    texto = limpia(fuente.linea(celda, linea), 80)
    return f"error de sintaxis en la {fuente.donde(celda, linea)}" + (f": «{texto}»" if texto else "")


def interroga(
    examen: Examen, fuente: Fuente, abre: Callable[[], canal.Sesion], cierra: Callable[[Any], None],
    limites: Limites, con_texto: bool,
) -> Interrogatorio:  # fmt: skip
    """Hace todas las preguntas y, con ``con_texto``, recoge lo que imprimió el código."""
    abiertas: list[canal.Sesion] = []

    def abre_y_apunta() -> canal.Sesion:
        abiertas.append(abre())
        return abiertas[-1]

    hecho = _interroga(examen, fuente, abre_y_apunta, cierra, limites, con_texto)
    return replace(hecho, dicho="".join(s.dicho for s in abiertas)) if con_texto else hecho


def _interroga(
    examen: Examen, fuente: Fuente, abre: Callable[[], Any], cierra: Callable[[Any], None],
    limites: Limites, con_texto: bool,
) -> Interrogatorio:  # fmt: skip
    """Hace todas las preguntas. Si la entrega muere en un caso, se reabre para las demás propiedades."""
    fin = float("inf")  # el reloj empieza con la entrega ya cargada: preparar el cigoto no cuenta
    dadas: list[Contestacion] = []
    caidas: set[str] = set()
    sesion = None
    try:
        for caso, peticion in zip(examen.casos, examen.peticiones, strict=True):
            if caso.propiedad in caidas or time.monotonic() > fin:
                dadas.append(OMITIDO)
                continue
            if sesion is None:
                sesion = abre()
                inicial = _carga(sesion, examen, fuente, limites, con_texto)
                if inicial is not None:
                    return inicial if not dadas else _completa(dadas, examen)
                fin = min(fin, time.monotonic() + limites.total)
            dada = _pregunta(sesion, peticion, min(limites.caso, max(0.1, fin - time.monotonic())))
            if dada.tipo == "NotImplementedError" and not dadas:
                return Interrogatorio(fallo="pendiente", mensaje="aún sin resolver", pendiente=True)
            dadas.append(dada)
            if dada.clase in ("agotado", "roto"):
                caidas.add(caso.propiedad)
                cierra(sesion)
                sesion = None
    finally:
        if sesion is not None:
            cierra(sesion)
    return Interrogatorio(dadas)


def _completa(dadas: list[Contestacion], examen: Examen) -> Interrogatorio:
    return Interrogatorio(dadas + [OMITIDO] * (len(examen.casos) - len(dadas)))


def _pregunta(sesion: Any, peticion: tuple[dict, dict], segundos: float) -> Contestacion:
    try:
        return contestacion(*sesion.pide(*peticion, segundos))
    except canal.Agotado:
        return Contestacion("agotado")
    except (canal.Roto, marcos.MarcoInvalido):
        return Contestacion("roto")


# --- Comparar y puntuar -----------------------------------------------------------------------------------------------


def problema_de(examen: Examen, indice: int, dada: Contestacion, contexto: Contexto) -> str | None:
    """``None`` si el caso pasa; si no, qué falla."""
    ejercicio, esperada, caso = examen.ejercicio, examen.esperadas[indice], examen.casos[indice]
    if not caso.args and not caso.kwargs and caso.init is None:
        contexto = replace(contexto, secreta=True)  # una constante: decir el valor esperado sería dar la respuesta
    if ejercicio.comprueba is None or dada.clase != "valor" or esperada.clase != "valor":
        return explica(dada, esperada, contexto)
    if dada.valor is None and esperada.valor is not None:
        return explica(dada, esperada, contexto)
    try:
        return ejercicio.comprueba(caso, dada.valor, esperada.valor)
    except Exception:  # noqa: BLE001 - la comprobación recibió algo de otro tipo
        return explica(dada, esperada, contexto) or "la respuesta no tiene el tipo pedido"


def puntua(examen: Examen, hecho: Interrogatorio, fuente: Fuente, nivel: str, intentos: int = 0) -> Resultado:
    """Convierte lo contestado en puntos, mensajes y pista."""
    ejercicio = examen.ejercicio
    comun = {
        "id": ejercicio.id, "nombre": ejercicio.nombre, "maximo": ejercicio.puntos, "nivel": nivel,
        "dicho": hecho.dicho,
    }  # fmt: skip
    if hecho.fallo:
        propiedades = tuple(Propiedad(n, 0, p, hecho.mensaje) for n, p in ejercicio.propiedades.items())
        estado = PENDIENTE if hecho.pendiente else FALLADO
        mutante = _mutante_con_fallo(examen, hecho.fallo)
        return Resultado(
            **comun, estado=estado, puntos=0, propiedades=propiedades, mensaje=hecho.mensaje,
            pista=mutante.pista if mutante else "", mutante=mutante.nombre if mutante else "",
        )  # fmt: skip
    contexto = Contexto(ejercicio.tolerancia, examen.ejes, fuente.donde)
    problemas = [problema_de(examen, i, dada, contexto) for i, dada in enumerate(hecho.contestaciones)]
    propiedades = tuple(_propiedad(examen, n, p, problemas) for n, p in ejercicio.propiedades.items())
    puntos = sum(p.puntos for p in propiedades)
    mensaje = next((p.mensaje for p in propiedades if p.mensaje), "")
    pista, nombre = (
        ("", "") if puntos == ejercicio.puntos else _pista(examen, hecho.contestaciones, problemas, intentos)
    )
    estado = SUPERADO if puntos == ejercicio.puntos else PARCIAL if puntos else FALLADO
    return Resultado(
        **comun, estado=estado, puntos=puntos, propiedades=propiedades, mensaje=mensaje, pista=pista, mutante=nombre
    )


def _propiedad(examen: Examen, nombre: str, puntos: int, problemas: list[str | None]) -> Propiedad:
    propios = [p for caso, p in zip(examen.casos, problemas, strict=True) if caso.propiedad == nombre]
    mensaje = next((p for p in propios if p), "")
    return Propiedad(nombre, 0 if mensaje else puntos, puntos, limpia(mensaje))


def _mutante_con_fallo(examen: Examen, fallo: str) -> Mutante | None:
    if fallo not in ("prohibido", "ausente"):
        return None
    return next((m for m in examen.ejercicio.mutantes if examen.de_mutante(m) == fallo), None)


def _pista(examen: Examen, dadas: list[Contestacion], problemas: list[str | None], intentos: int) -> tuple[str, str]:
    """La pista del error conocido que da lo mismo; si no hay ninguno, la general que toca por intentos."""
    ejercicio = examen.ejercicio
    fallados = [i for i, p in enumerate(problemas) if p]
    if examen.publica and all(iguales(dadas[i], examen.publica[i], ejercicio.tolerancia) for i in fallados):
        return "el resultado es el de la versión pública: en esta clase el ejercicio lleva otros parámetros", "publica"
    mejor: tuple[int, int, Mutante | None] = (0, 0, None)
    for mutante in ejercicio.mutantes:
        suyas = examen.de_mutante(mutante)
        if isinstance(suyas, str):
            continue
        coincide = [iguales(d, s, ejercicio.tolerancia) for d, s in zip(dadas, suyas, strict=True)]
        clave = (sum(coincide[i] for i in fallados), sum(coincide))
        if clave[0] and clave > mejor[:2]:
            mejor = (*clave, mutante)
    if mejor[2] is not None:
        return mejor[2].pista, mejor[2].nombre
    pistas = ejercicio.pistas
    return (pistas[min(intentos, len(pistas) - 1)] if pistas else ""), ""


# --- Dos maneras de corregir ------------------------------------------------------------------------------------------


def verifica(ejercicio: Ejercicio, fuente: Fuente | str, semilla: object, *, del_curso: Curso | None = None,
             examen: Examen | None = None) -> Resultado:  # fmt: skip
    """Corrige código de confianza en este proceso, sin jaula ni reloj."""
    fuente = Fuente.de_texto(fuente) if isinstance(fuente, str) else fuente
    examen = examen or prepara(del_curso or curso(), ejercicio, semilla)
    hecho = interroga(examen, fuente, SesionLocal, lambda s: s.acaba(), Limites(total=3600), con_texto=True)
    return puntua(examen, hecho, fuente, "confianza")


class Corrector:
    """Corrige entregas ajenas, una detrás de otra, en un mismo cigoto. Se usa con ``with``."""

    def __init__(
        self, nivel: str, semilla: object = SEMILLA_PUBLICA, *, del_curso: Curso | None = None,
        variantes: Mapping[str, Mapping[str, Any]] | None = None, limites: Limites | None = None,
        con_texto: bool = False, completo: bool = False, zigoto: canal.Zigoto | canal.ArranqueFrio | None = None,
    ) -> None:  # fmt: skip
        self.curso = del_curso or curso()
        self.nivel, self.semilla, self.variantes = nivel, semilla, variantes or {}
        self.limites, self.con_texto = limites or Limites(), con_texto
        self._examenes: dict[str, Examen] = {}
        canal.barre()
        self._zigoto = zigoto or canal.arranca(nivel, completo=completo)

    def __enter__(self) -> Corrector:
        return self

    def __exit__(self, *_: object) -> None:
        self.cierra()

    @property
    def pid(self) -> int:
        """Proceso del cigoto."""
        return self._zigoto.pid

    def examen(self, ejercicio: Ejercicio) -> Examen:
        """El examen del ejercicio; se prepara una vez."""
        if ejercicio.id not in self._examenes:
            self._examenes[ejercicio.id] = prepara(
                self.curso, ejercicio, self.semilla, self.variantes.get(ejercicio.id)
            )
        return self._examenes[ejercicio.id]

    def califica(self, ejercicio: Ejercicio, fuente: Fuente | str, *, intentos: int = 0) -> Resultado:
        """La nota de una entrega en un ejercicio."""
        comienzo = time.monotonic()
        fuente = Fuente.de_texto(fuente) if isinstance(fuente, str) else fuente
        examen = self.examen(ejercicio)
        hecho = interroga(
            examen, fuente, lambda: self._zigoto.abre(self.limites), self._zigoto.acaba, self.limites, self.con_texto
        )
        resultado = puntua(examen, hecho, fuente, self.nivel, intentos)
        return replace(resultado, segundos=round(time.monotonic() - comienzo, 4))

    def cierra(self) -> None:
        """Termina el cigoto."""
        self._zigoto.cierra()
