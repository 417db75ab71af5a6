"""El oráculo: pregunta a la entrega, compara en el padre y pone la nota. La entrega nunca dice si
está bien.

:class:`Corrector` corrige entregas ajenas en la jaula. :func:`verifica` corrige código de confianza
en el propio proceso, con la misma comparación: sirve para comprobar referencias, esqueletos y
mutantes en un instante.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from calificador.carga import Curso, curso
from calificador.correccion import pistas
from calificador.correccion.compara import (
    Contestacion,
    Contexto,
    bytes_de,
    diferencia,
    explica,
    iguales,
)
from calificador.correccion.examen import (
    Examen,
    SesionLocal,
    contestacion,
    lee,
    peticion_de_analisis,
    prepara,
)
from calificador.correccion.resultado import (
    FALLADO,
    PARCIAL,
    PENDIENTE,
    SUPERADO,
    Propiedad,
    Resultado,
    limpia,
)
from calificador.fuente import Fuente
from calificador.jaula import canal, marcos
from calificador.jaula.encierro import Limites
from calificador.registro import Caso, Ejercicio, Mutante
from calificador.vetos import frase

SEMILLA_PUBLICA = "practica"
OMITIDO = Contestacion("omitido")
SIN_CONTESTAR = "sin contestar"
# Bytes de más, sobre lo que ocupa la respuesta correcta, que se guardan de una entrega.
MAXIMO_GUARDADO = 64 << 20


@dataclass
class Interrogatorio:
    """Lo que contestó una entrega: ``fallo`` si ni siquiera se pudo cargar, o una contestación por
    caso.
    """

    contestaciones: list[Contestacion] = field(default_factory=list)
    fallo: str = ""
    mensaje: str = ""
    pendiente: bool = False
    dicho: str = ""


# --- Preguntar ------------------------------------------------------------------------------------


def _carga(
    sesion: Any, examen: Examen, fuente: Fuente, limites: Limites, con_texto: bool
) -> Interrogatorio | None:
    """Analiza y carga la entrega. ``None`` si todo fue bien; lo que no se espera es un fichero que
    no se carga.
    """
    try:
        dada = lee(
            sesion.pide(
                peticion_de_analisis(examen.ejercicio, fuente, con_texto), {}, limites.carga + 5
            )[0]
        )
        if dada.error is None:
            dada = lee(sesion.pide({"orden": "carga"}, {}, limites.carga)[0])
        if dada.veto >= 0:
            return _no_permitido(dada, examen.ejercicio, fuente)
        return _fallo_al_cargar(dada, examen.ejercicio.nombre, fuente)
    except canal.Agotado as error:
        return Interrogatorio(
            fallo="agotado", mensaje=f"el fichero no terminó de cargarse: {error}"
        )
    except (canal.Roto, marcos.MarcoInvalido) as error:
        return Interrogatorio(fallo="roto", mensaje=f"el fichero no se pudo cargar: {error}")
    except Exception:  # noqa: BLE001
        # la frontera: nada de lo que conteste una entrega tira la corrección
        return Interrogatorio(
            fallo="roto", mensaje="el fichero no se pudo cargar: una respuesta que no se entiende"
        )


def _fallo_al_cargar(dada: Any, nombre: str, fuente: Fuente) -> Interrogatorio | None:
    if dada.error == "sintaxis":
        return Interrogatorio(fallo="sintaxis", mensaje=_mensaje_de_sintaxis(dada, fuente))
    if dada.error is not None:
        en = f" en la {fuente.donde(dada.celda, dada.linea)}" if dada.linea else ""
        dicho = f": «{limpia(dada.texto, 200)}»" if dada.texto else ""
        mensaje = f"el fichero no se pudo cargar: {limpia(dada.tipo, 60)}{en}{dicho}"
        return Interrogatorio(fallo="excepcion", mensaje=mensaje)
    if not dada.definido:
        mensaje = f"no se encontró «{nombre}»: ¿se borró o se cambió de nombre?"
        return Interrogatorio(fallo="ausente", mensaje=mensaje)
    return None


def _no_permitido(dada: Any, ejercicio: Ejercicio, fuente: Fuente) -> Interrogatorio:
    """Una entrega que llamó a algo vedado: dónde, y la frase del enunciado que lo dice."""
    veto = ejercicio.prohibido[dada.veto : dada.veto + 1] or ejercicio.prohibido
    en = f" ({fuente.donde(dada.celda, dada.linea)})" if dada.linea else ""
    mensaje = f"el enunciado no lo permite{en}: «{frase(veto)}»"
    return Interrogatorio(fallo="prohibido", mensaje=mensaje)


def _mensaje_de_sintaxis(dada: Any, fuente: Fuente) -> str:
    if not dada.linea:
        return "el fichero no es Python: no se puede leer"
    texto = limpia(fuente.linea(dada.celda, dada.linea), 80)
    return f"error de sintaxis en la {fuente.donde(dada.celda, dada.linea)}" + (
        f": «{texto}»" if texto else ""
    )


def interroga(
    examen: Examen, fuente: Fuente, abre: Callable[[], canal.Sesion], cierra: Callable[[Any], None],
    limites: Limites, con_texto: bool, deja: Callable[[Any], None] | None = None,
) -> Interrogatorio:  # fmt: skip
    """Hace todas las preguntas y, con ``con_texto``, recoge lo que imprimió el código.

    ``deja``: qué se hace con una sesión que contestó a todo; si no se dice, se cierra.
    """
    abiertas: list[canal.Sesion] = []

    def abre_y_apunta() -> canal.Sesion:
        abiertas.append(abre())
        return abiertas[-1]

    hecho = _interroga(examen, fuente, abre_y_apunta, cierra, limites, con_texto, deja or cierra)
    return replace(hecho, dicho="".join(s.dicho for s in abiertas)) if con_texto else hecho


def _interroga(
    examen: Examen, fuente: Fuente, abre: Callable[[], Any], cierra: Callable[[Any], None],
    limites: Limites, con_texto: bool, deja: Callable[[Any], None],
) -> Interrogatorio:  # fmt: skip
    """Hace todas las preguntas. Si la entrega muere en un caso, se reabre para las demás
    propiedades.
    """
    queda = limites.total  # desde que la entrega está cargada: preparar el cigoto no cuenta
    dadas: list[Contestacion] = []
    caidas: set[str] = set()
    ocupan, caben = 0, bytes_de(*(e.valor for e in examen.esperadas)) + MAXIMO_GUARDADO
    sesion = None
    try:
        for caso, peticion in zip(examen.casos, examen.peticiones, strict=True):
            if caso.propiedad in caidas or queda <= 0:
                dadas.append(OMITIDO)
                continue
            if sesion is None:
                sesion = abre()
                inicial = _carga(sesion, examen, fuente, limites, con_texto)
                if inicial is not None:
                    return inicial if not dadas else _completa(dadas, examen)
                queda -= sesion.gastado if dadas else 0
            antes = sesion.gastado
            dada = _pregunta(sesion, peticion, min(limites.caso, max(0.1, queda)))
            queda -= sesion.gastado - antes
            if dada.tipo == "NotImplementedError" and not dadas:
                return Interrogatorio(fallo="pendiente", mensaje="aún sin resolver", pendiente=True)
            if dada.clase == "prohibido":
                return _no_permitido(dada, examen.ejercicio, fuente)
            ocupan += bytes_de(dada.valor, dada.grad_entradas, dada.grad_parametros)
            dadas.append(dada if ocupan <= caben else Contestacion("grande"))
            if dada.clase in ("agotado", "roto"):
                caidas.add(caso.propiedad)
                cierra(sesion)
                sesion = None
        if sesion is not None:
            sesion, contesta = None, sesion
            deja(contesta)
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
    except Exception:  # noqa: BLE001
        # la frontera: una respuesta que no se entiende es una entrega que se rompió
        return Contestacion("roto")


# --- Comparar y puntuar ---------------------------------------------------------------------------


def problema_de(examen: Examen, indice: int, dada: Contestacion, contexto: Contexto) -> str | None:
    """``None`` si el caso pasa; si no, qué falla. Un valor que no se puede comparar no pasa."""
    caso, ejercicio = examen.casos[indice], examen.ejercicio
    contexto = replace(
        contexto,
        tolerancia=ejercicio.tolerancia_de(caso.propiedad),
        relativa=ejercicio.relativa,
        secreta=caso.secreto,
    )
    try:
        if ejercicio.literal and dada.clase == "valor":
            return _literal(ejercicio, caso, dada.valor, examen.esperadas[indice].valor, contexto)
        return _compara(ejercicio, caso, dada, examen.esperadas[indice], contexto)
    except Exception:  # noqa: BLE001
        # la frontera: un valor ajeno puede fallar al compararse de mil maneras
        return "la respuesta no tiene el tipo pedido"


def _compara(
    ejercicio: Ejercicio, caso: Caso, dada: Contestacion, esperada: Contestacion, contexto: Contexto
) -> str | None:
    sin_valor = dada.clase != "valor" or esperada.clase != "valor" or dada.valor is None
    if ejercicio.comprueba is None or sin_valor:
        return explica(dada, esperada, contexto)
    try:
        return ejercicio.comprueba(caso, dada.valor, esperada.valor)
    except Exception:  # noqa: BLE001 - la comprobación recibió algo de otro tipo
        return explica(dada, esperada, contexto) or "la respuesta no tiene el tipo pedido"


def _literal(
    ejercicio: Ejercicio, caso: Caso, dado: Any, esperado: Any, contexto: Contexto
) -> str | None:
    """Un valor escrito a mano: un número por propiedad (lápiz), o un número o una opción
    (predecir).
    """
    if ejercicio.tipo == "lapiz":
        if not isinstance(dado, dict):
            return (
                "se esperaba un diccionario con"
                f" {', '.join(f'«{c}»' for c in ejercicio.propiedades)}"
            )
        dado, esperado = dado.get(caso.propiedad), esperado[caso.propiedad]
    if dado is None:
        return SIN_CONTESTAR
    dado = _opcion(dado, ejercicio.opciones)
    if ejercicio.opciones and dado not in ejercicio.opciones:
        opciones = "; ".join(f"«{opcion}»" for opcion in ejercicio.opciones)
        return f"«{limpia(str(dado), 40)}» no es una de las opciones: {opciones}"
    return diferencia(dado, esperado, contexto)


def _opcion(dado: Any, opciones: Sequence[str]) -> Any:
    """La opción que dice ``dado``, sin mirar mayúsculas, comillas, comas, el punto final ni los
    espacios de más; si no es ninguna, ``dado``.
    """
    if not isinstance(dado, str):
        return dado
    return next((opcion for opcion in opciones if _palabras(opcion) == _palabras(dado)), dado)


def _palabras(texto: str) -> list[str]:
    """Las palabras de una opción, en minúsculas y sin los signos que no la distinguen."""
    return texto.casefold().strip(" «»\"'.").replace(",", " ").split()


def _pendiente(ejercicio: Ejercicio, hecho: Interrogatorio) -> bool:
    """¿Se entregó el esqueleto tal cual? En un valor escrito a mano, todo sigue siendo ``None``."""
    if not ejercicio.literal or hecho.fallo:
        return hecho.pendiente
    valores = [d.valor for d in hecho.contestaciones if d.clase == "valor"]
    return bool(valores) and all(
        v is None or (isinstance(v, dict) and all(x is None for x in v.values())) for v in valores
    )


def puntua(
    examen: Examen, hecho: Interrogatorio, fuente: Fuente, nivel: str, intentos: int = 0
) -> Resultado:
    """Convierte lo contestado en puntos, mensajes y pista."""
    ejercicio = examen.ejercicio
    if _pendiente(ejercicio, hecho):
        return _sin_nota(
            examen, replace(hecho, fallo="pendiente", mensaje="aún sin resolver"), PENDIENTE, nivel
        )
    if hecho.fallo:
        return _sin_nota(examen, hecho, FALLADO, nivel)
    if ejercicio.opciones:
        dadas = [
            replace(d, valor=_opcion(d.valor, ejercicio.opciones)) for d in hecho.contestaciones
        ]
        hecho = replace(hecho, contestaciones=dadas)
    problemas = problemas_de(examen, hecho, fuente)
    propiedades = tuple(
        _propiedad(examen, n, p, problemas) for n, p in ejercicio.propiedades.items()
    )
    puntos = sum(p.puntos for p in propiedades)
    pista, mutante = "", ""
    if puntos != ejercicio.puntos:
        fallada = next(p.nombre for p in propiedades if not p.superada)
        pista, mutante = _pista(examen, hecho.contestaciones, problemas, fallada, intentos)
    return Resultado(
        ejercicio.id,
        ejercicio.nombre,
        SUPERADO if puntos == ejercicio.puntos else PARCIAL if puntos else FALLADO,
        puntos,
        ejercicio.puntos,
        propiedades,
        next((p.mensaje for p in propiedades if p.mensaje), ""),
        pista,
        mutante,
        nivel=nivel,
        dicho=hecho.dicho,
    )


def _sin_nota(examen: Examen, hecho: Interrogatorio, estado: str, nivel: str) -> Resultado:
    ejercicio = examen.ejercicio
    mutante = _mutante_con_fallo(examen, hecho.fallo)
    return Resultado(
        ejercicio.id,
        ejercicio.nombre,
        estado,
        0,
        ejercicio.puntos,
        tuple(Propiedad(n, 0, p, hecho.mensaje) for n, p in ejercicio.propiedades.items()),
        hecho.mensaje,
        mutante.pista if mutante else "",
        mutante.nombre if mutante else "",
        nivel=nivel,
        dicho=hecho.dicho,
    )


def problemas_de(examen: Examen, hecho: Interrogatorio, fuente: Fuente) -> list[str | None]:
    """Qué falla en cada caso."""
    contexto = Contexto(ejes=examen.ejes, donde=fuente.donde)
    return [problema_de(examen, i, dada, contexto) for i, dada in enumerate(hecho.contestaciones)]


def _propiedad(examen: Examen, nombre: str, puntos: int, problemas: list[str | None]) -> Propiedad:
    propios = [
        p for caso, p in zip(examen.casos, problemas, strict=True) if caso.propiedad == nombre
    ]
    mensaje = next((p for p in propios if p), "")
    return Propiedad(nombre, 0 if mensaje else puntos, puntos, limpia(mensaje))


def _mutante_con_fallo(examen: Examen, fallo: str) -> Mutante | None:
    if fallo not in ("prohibido", "ausente"):
        return None
    return next((m for m in examen.ejercicio.mutantes if examen.de_mutante(m) == fallo), None)


def _pista(
    examen: Examen,
    dadas: list[Contestacion],
    problemas: list[str | None],
    fallada: str,
    intentos: int,
) -> tuple[str, str]:
    """La pista del error conocido que da todo lo mismo; si no hay ninguno, se dice, con la general
    que toca.
    """
    pares = zip(examen.casos, dadas, examen.publica or [], strict=False)
    if examen.publica and all(
        iguales(d, p, pistas.contexto_de(examen.ejercicio, c)) for c, d, p in pares
    ):
        return (
            (
                "el resultado es el de la versión pública: en esta clase el ejercicio lleva otros"
                " parámetros"
            ),
            "publica",
        )
    mutante = pistas.reconoce(examen, dadas)
    if mutante is not None:
        return mutante.pista, mutante.nombre
    if all(p in (None, SIN_CONTESTAR) for p in problemas):
        return "", ""
    if examen.ejercicio.tipo == "lapiz":
        hallado = pistas.campo_a_campo(examen, dadas, problemas)
        if hallado:
            return hallado
    if pistas.es_precision(examen, dadas, problemas):
        return pistas.PRECISION, ""
    return pistas.general(examen.ejercicio, fallada, intentos), ""


def caso_minimo(
    examenes: list[Examen], pregunta: Callable[[Examen], Interrogatorio], fuente: Fuente
) -> str:
    """El caso más pequeño que falla, descrito; la cadena vacía si la entrega acierta todos los
    pequeños.
    """
    fallados = []
    for examen in examenes:
        hecho = pregunta(examen)
        problemas = [] if hecho.fallo else problemas_de(examen, hecho, fuente)
        for i, problema in enumerate(problemas):
            if problema and not examen.casos[i].secreto:
                fallados.append((examen, i, hecho.contestaciones[i], problema))
    if not fallados:
        return ""
    try:
        return pistas.describe(*min(fallados, key=lambda f: pistas.tamano(f[0].casos[f[1]])))
    except Exception:  # noqa: BLE001
        # la frontera: un valor ajeno que no se puede enseñar no impide dar la nota
        return ""


# --- Dos maneras de corregir ----------------------------------------------------------------------


def verifica(
    ejercicio: Ejercicio, fuente: Fuente | str, semilla: object, *, del_curso: Curso | None = None,
    examen: Examen | None = None, con_caso: bool = False,
) -> Resultado:  # fmt: skip
    """Corrige código de confianza en este proceso, sin jaula ni reloj."""
    fuente = Fuente.de_texto(fuente) if isinstance(fuente, str) else fuente
    del_curso = del_curso or curso()
    examen = examen or prepara(del_curso, ejercicio, semilla)

    def pregunta(de: Examen) -> Interrogatorio:
        return interroga(
            de, fuente, SesionLocal, lambda s: s.acaba(), Limites(total=3600), con_texto=True
        )

    resultado = puntua(examen, pregunta(examen), fuente, "confianza")
    if con_caso and _pide_caso(resultado):
        menudos = pistas.examenes_menudos(del_curso, ejercicio, None)
        resultado = replace(resultado, caso=caso_minimo(menudos, pregunta, fuente))
    return resultado


def _pide_caso(resultado: Resultado) -> bool:
    return resultado.pista.startswith(pistas.DESCONOCIDO)


def vedados(ejercicio: Ejercicio) -> frozenset[str]:
    """Los nombres que un ejercicio no deja usar."""
    return frozenset(ejercicio.prohibido)


def en_orden(ejercicios: Sequence[Ejercicio]) -> list[Ejercicio]:
    """Los mismos, por capítulos y en el orden en que más comparten un proceso: los que más vedan,
    antes.
    """
    return sorted(ejercicios, key=lambda e: (e.capitulo, -len(vedados(e))))


class Corrector:
    """Corrige entregas ajenas, una detrás de otra, en un mismo cigoto. Se usa con ``with``."""

    def __init__(
        self,
        nivel: str,
        semilla: object = SEMILLA_PUBLICA,
        *,
        del_curso: Curso | None = None,
        variantes: Mapping[str, Mapping[str, Any]] | None = None,
        limites: Limites | None = None,
        con_texto: bool = False,
        completo: bool = False,
        cigoto: canal.Cigoto | canal.ArranqueFrio | None = None,
    ) -> None:
        self.curso = del_curso or curso()
        self.nivel, self.semilla, self.variantes = nivel, semilla, variantes or {}
        self.limites, self.con_texto = limites or Limites(), con_texto
        self._examenes: dict[str, Examen] = {}
        self._pequenos: dict[str, list[Examen]] = {}
        self._abierta: tuple[Fuente, frozenset[str], canal.Sesion] | None = None
        self._colgada: tuple[Fuente, Interrogatorio] | None = None
        canal.barre()
        self._cigoto = cigoto or canal.arranca(nivel, completo=completo)

    def __enter__(self) -> Corrector:
        return self

    def __exit__(self, *_: object) -> None:
        self.cierra()

    @property
    def pid(self) -> int:
        """Proceso del cigoto."""
        return self._cigoto.pid

    def examen(self, ejercicio: Ejercicio) -> Examen:
        """El examen del ejercicio; se prepara una vez."""
        if ejercicio.id not in self._examenes:
            self._examenes[ejercicio.id] = prepara(
                self.curso, ejercicio, self.semilla, self.variantes.get(ejercicio.id)
            )
        return self._examenes[ejercicio.id]

    def califica(
        self, ejercicio: Ejercicio, fuente: Fuente | str, *, intentos: int = 0, sigue: bool = False
    ) -> Resultado:
        """La nota de una entrega en un ejercicio.

        ``sigue``: vienen más ejercicios de la misma entrega, que comparten proceso mientras los
        supera; lo que no se supera se repite en uno nuevo, por si otro ejercicio lo estropeó. Al
        acabar, :meth:`suelta`.
        """
        comienzo = time.monotonic()
        fuente = Fuente.de_texto(fuente) if isinstance(fuente, str) else fuente
        examen = self.examen(ejercicio)
        compartida = self._sirve(ejercicio, fuente)
        hecho = self._pregunta(examen, fuente, propio=False)
        resultado = puntua(examen, hecho, fuente, self.nivel, intentos)
        if compartida and resultado.estado not in (SUPERADO, PENDIENTE):
            self.suelta()
            hecho = self._pregunta(examen, fuente, propio=False)
            resultado = puntua(examen, hecho, fuente, self.nivel, intentos)
        if self.con_texto and _pide_caso(resultado):
            menudos = self._menudos(ejercicio)
            resultado = replace(
                resultado,
                caso=caso_minimo(
                    menudos, lambda de: self._pregunta(de, fuente, propio=True), fuente
                ),
            )
        if not sigue:
            self.suelta()
        return replace(resultado, segundos=round(time.monotonic() - comienzo, 4))

    def _sirve(self, ejercicio: Ejercicio, fuente: Fuente) -> bool:
        """¿Sirve el proceso abierto? Es de esta entrega, y este ejercicio no veda nada que el
        anterior dejara usar; si no, se cierra.
        """
        sirve = (
            self._abierta is not None
            and self._abierta[0] == fuente
            and vedados(ejercicio) <= self._abierta[1]
        )
        if not sirve:
            self.suelta()
        return sirve

    def _pregunta(self, examen: Examen, fuente: Fuente, *, propio: bool) -> Interrogatorio:
        """Interroga a la entrega, en un proceso ``propio`` o en el que esté abierto, que así se
        queda.

        Un fichero que no acaba de cargarse no vuelve a intentarlo con cada ejercicio.
        """
        if self._colgada is not None and self._colgada[0] == fuente:
            return self._colgada[1]

        def abre() -> canal.Sesion:
            if propio or self._abierta is None:
                self.suelta()
                return self._cigoto.abre(self.limites)
            sesion, self._abierta = self._abierta[2], None
            sesion.dicho = ""
            return sesion

        def deja(sesion: canal.Sesion) -> None:
            if propio:
                self._cigoto.acaba(sesion)
            else:
                self._abierta = (fuente, vedados(examen.ejercicio), sesion)

        hecho = interroga(
            examen, fuente, abre, self._cigoto.acaba, self.limites, self.con_texto, deja
        )
        if hecho.fallo == "agotado":
            self._colgada = (fuente, hecho)
        return hecho

    def suelta(self) -> None:
        """Cierra el proceso de la entrega que se estaba corrigiendo, si queda alguno."""
        if self._abierta is not None:
            sesion, self._abierta = self._abierta[2], None
            self._cigoto.acaba(sesion)

    def _menudos(self, ejercicio: Ejercicio) -> list[Examen]:
        if ejercicio.id not in self._pequenos:
            variante = self.variantes.get(ejercicio.id)
            self._pequenos[ejercicio.id] = pistas.examenes_menudos(self.curso, ejercicio, variante)
        return self._pequenos[ejercicio.id]

    def cierra(self) -> None:
        """Termina el cigoto."""
        try:
            self.suelta()
        except canal.FalloDeEntorno:
            pass  # ya no había cigoto
        finally:
            self._cigoto.cierra()
