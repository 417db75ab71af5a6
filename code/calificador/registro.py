"""El registro: qué es un ejercicio, sin saber cómo se ejecuta ni qué capítulo lo enuncia.

Un fichero por capítulo, ``calificador/ejercicios/capNN.py``, exporta ``EJERCICIOS``, una lista de
:class:`Ejercicio`. El enunciado vive en el capítulo (directiva ``exercise`` con etiqueta
``ej-N-M``), el esqueleto en ``exercises/capNN.py`` y la solución de referencia en
``solutions/capNN.py``, con el mismo nombre.

Este módulo no importa torch: lo leen también la extensión del libro y las órdenes que solo listan.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from textwrap import dedent, indent
from typing import Any

from calificador.recorte import arbol_de, lo_suyo, nombra
from calificador.vetos import Veto

TIPOS = ("escribir", "completar", "depurar", "predecir", "lapiz", "ordenar", "medir")


@dataclass(frozen=True)
class Caso:
    """Una llamada que se hará a la entrega y a la referencia.

    ``propiedad`` es el nombre de la propiedad que este caso comprueba: de ella dependen los puntos.
    Los argumentos son números, cadenas, listas, tuplas, ``None`` o tensores de torch.

    Si ``init`` no es ``None``, el ejercicio es un módulo (``nn.Module``): se construye con
    ``init``, se le copian los pesos de la referencia (movidos al azar, o los de ``pesos``) y se
    comparan la salida de ``forward`` y los gradientes de las entradas y de los parámetros.
    ``gradiente=True`` pide lo mismo (gradientes de las entradas) para una función.
    """

    propiedad: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    init: Mapping[str, Any] | None = None
    gradiente: bool = False
    pesos: Mapping[str, Any] = field(default_factory=dict)

    @property
    def secreto(self) -> bool:
        """Sin entradas, la respuesta es una constante: no se dice cuál se esperaba."""
        return not self.args and not self.kwargs and self.init is None


class MutanteRoto(ValueError):
    """Un mutante que no se puede hacer a partir de la solución."""


@dataclass(frozen=True)
class Mutante:
    """Una solución equivocada de las que se ven de verdad, y la pista que la nombra.

    Se escribe de una de tres maneras: ``cambios`` de la solución de referencia (cada texto está una
    sola vez en ella; véase :func:`cambia`), otro ``cuerpo`` para la misma firma (:func:`cuerpo`) o
    el ``codigo`` entero. Las importaciones de la solución se añaden solas.
    """

    nombre: str
    codigo: str = ""
    pista: str = ""
    cambios: tuple[tuple[str, str], ...] = ()
    cuerpo: str = ""

    def texto(self, solucion: str, nombre: str) -> str:
        """La entrega equivocada, con lo que de la solución, que es la del capítulo entero, usan
        ella o la buena: sin lo demás se lee y se carga antes. Errores: ``MutanteRoto`` si un cambio
        no está justo una vez.
        """
        if self.codigo:
            return self._con_importaciones(solucion)
        nodo, lineas, trozos = self._funcion(solucion, nombre), solucion.splitlines(), []
        nuevo = self._nueva(lineas, nodo)
        for otro in lo_suyo(solucion, {nombre, *_nombra(nuevo)}):
            desde = min([otro.lineno, *(x.lineno for x in getattr(otro, "decorator_list", ()))])
            hasta = nodo.lineno - 1 if otro is nodo else otro.end_lineno
            trozos += lineas[desde - 1 : hasta] + [nuevo] * (otro is nodo)
        return "\n".join(trozos) + "\n"

    def _con_importaciones(self, solucion: str) -> str:
        importa = (n for n in arbol_de(solucion).body if isinstance(n, ast.Import | ast.ImportFrom))
        cabecera = "\n".join(map(ast.unparse, importa))
        return f"{cabecera}\n\n\n" + dedent(self.codigo).strip("\n") + "\n"

    def _funcion(self, solucion: str, nombre: str) -> Any:
        """El nodo de lo que se cambia."""
        for nodo in arbol_de(solucion).body:
            if getattr(nodo, "name", None) == nombre:
                return nodo
        raise MutanteRoto(f"{self.nombre}: la solución no define {nombre}")

    def _nueva(self, lineas: list[str], nodo: Any) -> str:
        """Su texto, sin lo que la decora, ya equivocado."""
        if not self.cuerpo:
            return self._cambiada("\n".join(lineas[nodo.lineno - 1 : nodo.end_lineno]))
        firma = lineas[nodo.lineno - 1 : nodo.body[0].lineno - 1]
        return "\n".join([*firma, indent(dedent(self.cuerpo).strip("\n"), "    ")])

    def _cambiada(self, texto: str) -> str:
        for antes, despues in self.cambios:
            if texto.count(antes) != 1:
                raise MutanteRoto(
                    f"{self.nombre}: «{antes}» está {texto.count(antes)} veces en la solución; debe"
                    " estar una"
                )
            texto = texto.replace(antes, despues)
        return texto


def _nombra(codigo: str) -> set[str]:
    """Los nombres de un código; de uno que no se puede leer, ninguno."""
    try:
        return nombra(ast.parse(codigo))
    except SyntaxError:
        return set()


def cambia(nombre: str, pista: str, antes: str, despues: str, *mas: str) -> Mutante:
    """Un mutante que es la solución con ``antes`` cambiado por ``despues`` (y, si hacen falta, más
    parejas).
    """
    parejas = ((antes, despues), *zip(mas[::2], mas[1::2], strict=True))
    return Mutante(nombre, pista=pista, cambios=parejas)


def cuerpo(nombre: str, pista: str, texto: str) -> Mutante:
    """Un mutante con la firma de la solución y otro cuerpo."""
    return Mutante(nombre, pista=pista, cuerpo=texto)


def numeros(nombre: str, pista: str, ejercicio: str, **valores: Any) -> Mutante:
    """Un mutante de un ejercicio de lápiz: números equivocados escritos a mano, sin pasar por la
    solución.
    """
    return Mutante(nombre, f"{ejercicio} = {valores!r}\n", pista)


@dataclass(frozen=True)
class Ejercicio:
    """Un ejercicio con nota.

    Qué es
    ------
    id: «capítulo.orden», por ejemplo ``"4.2"``.
    nombre: la función, la clase o la variable que se pide.
    tipo: uno de :data:`TIPOS`. En ``lapiz`` y en los ``predecir`` sin ``casos`` se entrega un valor
        escrito a mano, y en la solución hay una función sin argumentos que lo calcula.
    dificultad: 1 (★), 2 (★★) o 3 (★★★).
    minutos: tiempo orientativo.
    aprende: una frase: qué se sabe hacer al terminar.

    Qué vale y qué se dice
    ----------------------
    propiedades: nombre → puntos, o nombre → (puntos, pista general), en el orden en que se
        informan. Los puntos son enteros positivos, y el ejercicio vale su suma. Ninguna se cumple
        con una respuesta constante. En ``lapiz``, los nombres son las claves del diccionario que se
        entrega.
    pistas: pistas escalonadas, de la más vaga a la más explícita; ninguna da el código.
    mutantes: al menos cuatro; dos si se entrega un valor.

    Qué se prueba
    -------------
    casos: ``casos(rng, **variante)`` da la lista de :class:`Caso` a partir de un
        ``torch.Generator`` sembrado; los tamaños y los datos varían con la semilla y salen de
        ``calificador.generadores``.
    ejemplo: da un caso pequeño y fijo, que se muestra con su salida en la página y en el cuaderno.
    bordes: los extremos que trae todo examen, sea cual sea la semilla (0, 1, todos, empates…). Cada
        uno es una condición sobre los argumentos, por su nombre, que cumple algún caso, o un
        ``calificador.generadores.Borde``, que añade el suyo. Si no hay, una frase que dice por qué.

    Cómo se compara
    ---------------
    tolerancia: error absoluto y relativo admitidos, en float64.
    tolerancias: otra para una propiedad.
    relativa: si es cierto, la tolerancia es solo relativa.
    comprueba: para respuestas que no son únicas: ``comprueba(caso, obtenido, esperado)`` devuelve
        ``None`` si vale o una frase que dice qué falla. ``None``: se compara con la referencia.
    invariante: con ``comprueba``, lo que no cambia entre respuestas igual de buenas:
        ``invariante(valor)`` es lo que se compara para reconocer un error.
    opciones: en ``predecir``, las respuestas entre las que se elige.
    prohibido: lo que la entrega no puede usar (:mod:`calificador.vetos`). El enunciado lo dice con
        las mismas palabras, y al ejecutarla no está.

    Qué cambia en una clase
    -----------------------
    variante: parámetros de clase que cambian la función pedida, con su valor por defecto; vacío si
        no los hay. Son valores por defecto de argumentos con nombre (de la función o de
        ``__init__``). La referencia los recibe a través de los casos; si un caso lleva justo el
        valor de la clase, a la entrega no se le pasa: lo tiene escrito por defecto, y por eso la
        solución pública no vale en una clase con otros parámetros.
    alternativas: para cada parámetro de ``variante``, los valores entre los que elige una clase;
        sin ellos, un número cercano al público.
    """

    id: str
    nombre: str
    tipo: str
    dificultad: int
    minutos: int
    aprende: str
    propiedades: Mapping[str, Any]
    pistas: tuple[str, ...]
    mutantes: tuple[Mutante, ...]
    casos: Callable[..., list[Caso]] | None = None
    ejemplo: Callable[[], Caso] | None = None
    tolerancia: float = 1e-9
    tolerancias: Mapping[str, float] = field(default_factory=dict)
    relativa: bool = False
    comprueba: Callable[[Caso, Any, Any], str | None] | None = None
    invariante: Callable[[Any], Any] | None = None
    opciones: tuple[str, ...] = ()
    prohibido: tuple[Veto, ...] = ()
    variante: Mapping[str, Any] = field(default_factory=dict)
    alternativas: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    bordes: tuple[Any, ...] | str = ()
    pistas_de: Mapping[str, str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        pares = {n: v if isinstance(v, tuple) else (v, "") for n, v in self.propiedades.items()}
        object.__setattr__(self, "propiedades", {n: puntos for n, (puntos, _) in pares.items()})
        object.__setattr__(
            self, "pistas_de", {n: pista for n, (_, pista) in pares.items() if pista}
        )
        if falta := next(self._faltas(), None):
            raise ValueError(f"{self.id}: {falta}")

    def _faltas(self) -> Iterator[str]:
        """Lo que no puede ser, una frase por falta."""
        minimo = 2 if self.literal else 4
        if not re.fullmatch(r"(0|[1-9]\d?)\.[1-9]\d?", self.id):
            yield "se esperaba «capítulo.orden», como «4.2»"
        if self.tipo not in TIPOS:
            yield f"tipo {self.tipo!r}; se esperaba uno de {', '.join(TIPOS)}"
        if self.dificultad not in (1, 2, 3):
            yield f"dificultad {self.dificultad!r}; se esperaba 1, 2 o 3"
        for nombre, puntos in self.propiedades.items():
            if type(puntos) is not int or puntos < 1:
                yield f"«{nombre}» vale {puntos!r}; se esperaba un entero positivo de puntos"
        if len(self.mutantes) < minimo:
            yield f"{len(self.mutantes)} mutantes; se esperaban al menos {minimo}"
        if self.literal and self.tipo not in ("lapiz", "predecir"):
            yield f"un ejercicio de {self.tipo} pide casos"
        if self.tipo == "lapiz" and self.casos:
            yield "casos: un ejercicio de lápiz no los tiene"

    @property
    def puntos(self) -> int:
        """Lo que vale: lo que suman sus propiedades."""
        return sum(self.propiedades.values())

    @property
    def literal(self) -> bool:
        """¿Se entrega un valor escrito a mano, y no una función?"""
        return self.casos is None

    @property
    def capitulo(self) -> int:
        """Número del capítulo."""
        return int(self.id.split(".")[0])

    @property
    def etiqueta(self) -> str:
        """Etiqueta del enunciado en el libro: ``ej-4-2``."""
        return "ej-" + self.id.replace(".", "-")

    def genera(self, rng: Any, **variante: Any) -> list[Caso]:
        """Los casos de una semilla; si se entrega un valor, uno por propiedad, sin entradas."""
        if self.casos is None:
            return [Caso(nombre) for nombre in self.propiedades]
        casos = list(self.casos(rng, **variante))
        return casos + [b.de(casos) for b in self.bordes if not isinstance(b, str)]

    def tolerancia_de(self, propiedad: str) -> float:
        """La tolerancia de una propiedad."""
        return self.tolerancias.get(propiedad, self.tolerancia)
