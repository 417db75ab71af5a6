"""Lo que se va a preguntar en un ejercicio: casos, respuestas de la referencia y errores conocidos.

Todo se calcula aquí, en el proceso de confianza: la entrega solo recibe las entradas (y, en los
módulos, los pesos).
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

from calificador.carga import Curso, CursoRoto
from calificador.correccion.compara import Contestacion, ejes_de
from calificador.fuente import Fuente
from calificador.jaula import alumno, marcos
from calificador.registro import Caso, Ejercicio, Mutante
from calificador.vetos import Veto

EXCEPCIONES_PREVISTAS = ("ValueError", "TypeError", "IndexError", "KeyError")
Peticion = tuple[dict[str, Any], dict[str, Any]]
_numeros = itertools.count()


@contextlib.contextmanager
def en_float64() -> Iterator[None]:
    """Durante el bloque, los tensores nuevos son float64; después, lo que hubiera."""
    import torch

    antes, azar = torch.get_default_dtype(), torch.get_rng_state()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(antes)
        torch.set_rng_state(azar)


def generador(semilla: object, *partes: object) -> Any:
    """Un generador de torch sembrado con la semilla de la clase y lo que distingue este uso."""
    import torch

    resumen = hashlib.sha256(":".join(map(str, (semilla, *partes))).encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(resumen[:7], "big"))


class SesionLocal:
    """Una sesión en el propio proceso, para código de confianza: mismas peticiones y mismos marcos
    que la jaula.
    """

    dicho, gastado = "", 0.0

    def __init__(self) -> None:
        self.alumno = alumno.Alumno(f"_local_{next(_numeros)}")

    def pide(
        self, mensaje: Mapping[str, Any], tensores: Mapping[str, Any], segundos: float = 0
    ) -> Peticion:
        """Atiende la petición aquí mismo."""
        import torch

        with en_float64(), torch.enable_grad(), warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # los avisos de una referencia o un mutante no son para quien estudia
            return self.alumno.atiende(mensaje, {k: v.clone() for k, v in tensores.items()})

    def acaba(self) -> None:
        """Olvida el módulo."""
        sys.modules.pop(self.alumno.modulo.__name__, None)


def peticion_de_analisis(ejercicio: Ejercicio, fuente: Fuente, con_texto: bool) -> dict[str, Any]:
    """La primera petición: leer el código sin ejecutarlo."""
    return {
        "orden": "analiza",
        "celdas": [[c.texto, c.entera] for c in fuente.celdas],
        "nombre": ejercicio.nombre,
        "prohibido": [list(veto.nombres) for veto in ejercicio.prohibido],
        "con_texto": con_texto,
    }


class Respuesta(msgspec.Struct):
    """Lo que puede contestar el lado de la entrega. Lo valida msgspec: nada de fuera se usa sin
    pasar por aquí.
    """

    error: Literal["sintaxis", "excepcion", "estado", "grande"] | None = None
    tipo: Annotated[str, msgspec.Meta(max_length=80)] = ""
    celda: Annotated[int, msgspec.Meta(ge=-1, lt=10**6)] = -1
    linea: Annotated[int, msgspec.Meta(ge=0, lt=10**6)] = 0
    texto: Annotated[str, msgspec.Meta(max_length=400)] = ""
    tiene: tuple[tuple[Annotated[str, msgspec.Meta(max_length=120)], tuple[int, ...]], ...] = ()
    veto: Annotated[int, msgspec.Meta(ge=-1, lt=64)] = -1
    definido: bool = False
    valor: Any = msgspec.UNSET
    grad_entradas: Any = None
    grad_parametros: Any = None


def lee(mensaje: Mapping[str, Any]) -> Respuesta:
    """La respuesta validada. Errores: ``MarcoInvalido`` si no se entiende."""
    try:
        return msgspec.convert(mensaje, Respuesta)
    except msgspec.ValidationError as error:
        raise marcos.MarcoInvalido("una respuesta que no se entiende") from error


def contestacion(mensaje: Mapping[str, Any], tensores: Mapping[str, Any]) -> Contestacion:
    """Lee la respuesta a una llamada, sin fiarse de ella."""
    dada = lee(mensaje)
    if dada.valor is not msgspec.UNSET:
        valor, entradas, parametros = (
            marcos.descodifica(x, tensores)
            for x in (dada.valor, dada.grad_entradas, dada.grad_parametros)
        )
        return Contestacion(
            "valor", valor, entradas, parametros if isinstance(parametros, dict) else None
        )
    if dada.error in ("estado", "grande"):
        return Contestacion(dada.error, tiene=dada.tiene)
    if dada.error == "excepcion":
        clase = "excepcion" if dada.veto < 0 else "prohibido"
        return Contestacion(
            clase, None, None, None, dada.tipo, dada.celda, dada.linea, dada.texto, veto=dada.veto
        )
    raise marcos.MarcoInvalido("una respuesta que no se entiende")


@dataclass
class Examen:
    """Un ejercicio con sus casos, sus peticiones y lo que contesta la referencia."""

    ejercicio: Ejercicio
    casos: list[Caso]
    peticiones: list[Peticion]
    esperadas: list[Contestacion]
    ejes: list[list[str]]
    solucion: str
    _completas: list[Peticion]
    _mutantes: dict[str, Any] = field(default_factory=dict)
    publica: list[Contestacion] | None = None

    def de_mutante(self, mutante: Mutante) -> Any:
        """Lo que contesta un error conocido: una lista de contestaciones, o la clase de fallo al
        cargar.
        """
        if mutante.nombre not in self._mutantes:
            self._mutantes[mutante.nombre] = self.de_codigo(self.codigo(mutante))
        return self._mutantes[mutante.nombre]

    def codigo(self, mutante: Mutante) -> str:
        """El texto de la entrega equivocada."""
        return mutante.texto(self.solucion, self.ejercicio.nombre)

    def de_codigo(self, codigo: str) -> Any:
        """Lo que contesta un código de confianza, ejecutado aquí."""
        sesion, fallo = sesion_cargada(codigo, self.ejercicio.nombre, self.ejercicio.prohibido)
        if fallo:
            return fallo
        dadas = [self._contesta(sesion, i) for i in range(len(self.casos))]
        return "prohibido" if any(d.clase == "prohibido" for d in dadas) else dadas

    def _contesta(self, sesion: SesionLocal, indice: int) -> Contestacion:
        """Un mutante puede aceptar los parámetros de la clase o, como una entrega, llevarlos
        escritos.
        """
        dada = contestacion(*sesion.pide(*self._completas[indice]))
        if dada.tipo == "TypeError" and self._completas[indice] is not self.peticiones[indice]:
            return contestacion(*sesion.pide(*self.peticiones[indice]))
        return dada


@lru_cache(maxsize=4096)
def sesion_cargada(
    codigo: str, nombre: str, prohibido: tuple[Veto, ...]
) -> tuple[SesionLocal, str]:
    """Código de confianza, analizado y cargado una vez, y la clase de fallo o la cadena vacía."""
    sesion = SesionLocal()
    celdas = [[c.texto, c.entera] for c in Fuente.de_texto(codigo).celdas]
    pedido = {
        "orden": "analiza",
        "celdas": celdas,
        "nombre": nombre,
        "prohibido": [list(veto.nombres) for veto in prohibido],
        "con_texto": True,
    }
    dada = lee(sesion.pide(pedido, {})[0])
    if dada.error is None:
        dada = lee(sesion.pide({"orden": "carga"}, {})[0])
    if dada.veto >= 0:
        return sesion, "prohibido"
    return sesion, dada.error or ("" if dada.definido else "ausente")


def prepara(
    curso: Curso, ejercicio: Ejercicio, semilla: object, variante: Mapping[str, Any] | None = None,
    *, casos: list[Caso] | None = None,
) -> Examen:  # fmt: skip
    """Genera los casos (o toma los dados), ejecuta la referencia y deja listas las peticiones."""
    parametros = {**ejercicio.variante, **(variante or {})}
    solucion = curso.solucion(ejercicio.capitulo)
    sesion, fallo = sesion_cargada(solucion, ejercicio.nombre, ())
    if fallo:
        raise CursoRoto(f"la solución de {ejercicio.id} no define {ejercicio.nombre} ({fallo})")
    with en_float64():
        if casos is None:
            casos = ejercicio.genera(generador(semilla, ejercicio.id), **parametros)
            _comprueba_casos(ejercicio, casos)
        dadas = [
            _pregunta_a_la_referencia(
                sesion, ejercicio, caso, generador(semilla, ejercicio.id, "pesos", indice)
            )
            for indice, caso in enumerate(casos)
        ]
    completas, esperadas = [p for p, _ in dadas], [e for _, e in dadas]
    peticiones = [_sin_variante(p, c, parametros) for p, c in zip(completas, casos, strict=True)]
    ejes = ejes_de(solucion, ejercicio.nombre)
    examen = Examen(ejercicio, casos, peticiones, esperadas, ejes, solucion, completas)
    if variante and parametros != dict(ejercicio.variante):
        examen.publica = [contestacion(*sesion.pide(*p)) for p in peticiones]
    return examen


def _comprueba_casos(ejercicio: Ejercicio, casos: list[Caso]) -> None:
    nombradas = {c.propiedad for c in casos}
    if nombradas != set(ejercicio.propiedades):
        raise CursoRoto(
            f"{ejercicio.id}: los casos nombran {sorted(nombradas)}; se esperaba"
            f" {list(ejercicio.propiedades)}"
        )


def _pregunta_a_la_referencia(
    sesion: SesionLocal, ejercicio: Ejercicio, caso: Caso, azar: Any
) -> tuple[Peticion, Contestacion]:
    import torch

    tensores: dict[str, Any] = {}
    con_gradiente = caso.gradiente or caso.init is not None
    mensaje: dict[str, Any] = {
        "orden": "llama",
        "gradiente": con_gradiente,
        "cotangentes": None,
        "init": None,
        "args": marcos.codifica(tuple(caso.args), tensores),
        "kwargs": marcos.codifica(dict(caso.kwargs), tensores),
    }
    parametros: tuple = ()
    if caso.init is not None:
        estado, nombres = _pesos(sesion, ejercicio, caso, azar)
        parametros = tuple((n, tuple(estado[n].shape)) for n in nombres)
        mensaje |= {"init": marcos.codifica(dict(caso.init), tensores), "parametros": nombres}
        mensaje["estado"] = marcos.codifica(estado, tensores)
    esperada = _esperada(sesion, ejercicio, mensaje, tensores)
    if con_gradiente and esperada.clase == "valor":
        salidas = alumno.tensores_reales(esperada.valor)
        cotangentes = [torch.randn(s.shape, generator=azar, dtype=torch.float64) for s in salidas]
        mensaje["cotangentes"] = marcos.codifica(cotangentes, tensores)
        esperada = _esperada(sesion, ejercicio, mensaje, tensores)
    return (mensaje, tensores), replace(esperada, tiene=parametros)


def _esperada(
    sesion: SesionLocal, ejercicio: Ejercicio, mensaje: dict, tensores: dict
) -> Contestacion:
    respuesta = contestacion(*sesion.pide(mensaje, tensores))
    if respuesta.clase == "valor" or respuesta.tipo in EXCEPCIONES_PREVISTAS:
        return respuesta
    raise CursoRoto(f"la referencia de {ejercicio.id} falla: {respuesta.tipo} {respuesta.texto}")


def _pesos(
    sesion: SesionLocal, ejercicio: Ejercicio, caso: Caso, azar: Any
) -> tuple[dict[str, Any], list[str]]:
    """Los pesos de la referencia, movidos al azar: unos iniciales a cero o a uno esconderían
    errores.
    """
    import torch

    alumno.siembra()
    modulo = sesion.alumno.modulo.__dict__[ejercicio.nombre](**caso.init)
    nombres = [n for n, _ in modulo.named_parameters()]
    with torch.no_grad():
        for parametro in modulo.parameters():
            if parametro.is_floating_point() and not caso.pesos:
                parametro.add_(
                    0.2 * torch.randn(parametro.shape, generator=azar, dtype=parametro.dtype)
                )
    return dict(modulo.state_dict()) | dict(caso.pesos), nombres


def _sin_variante(peticion: Peticion, caso: Caso, parametros: Mapping[str, Any]) -> Peticion:
    """Quita los argumentos que llevan justo el valor de la clase: la entrega los tiene escritos por
    defecto.
    """
    mensaje, tensores = peticion
    nuevo = dict(mensaje)
    for clave, dados in (("kwargs", caso.kwargs), ("init", caso.init or {})):
        sobran = {
            n
            for n, v in dados.items()
            if n in parametros and type(v) is type(parametros[n]) and v == parametros[n]
        }
        if sobran:
            nuevo[clave] = {
                "dict": [par for par in mensaje[clave]["dict"] if par[0].get("str") not in sobran]
            }
    return (nuevo, tensores) if nuevo != mensaje else peticion
