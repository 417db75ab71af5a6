"""La comparación, en el padre: qué falla primero, dicho en español y con el dato que ayuda a
encontrarlo.

El orden es siempre el mismo: no devuelve nada → tipo → forma → dtype → NaN → primer valor distinto
→ gradientes.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from calificador.correccion.resultado import limpia
from calificador.jaula.marcos import Otro
from calificador.recorte import arbol_de


@dataclass(frozen=True)
class Contestacion:
    """Lo que pasó en un caso: un valor (con sus gradientes) o la clase de fallo.

    ``clase``: ``valor``, ``excepcion``, ``estado`` (los parámetros no encajan), ``agotado``,
    ``roto``, ``grande``, ``prohibido`` (llamó a algo que el enunciado no permite: ``veto`` es su
    número) u ``omitido`` (no se llegó a preguntar).
    """

    clase: str
    valor: Any = None
    grad_entradas: Sequence[Any] | None = None
    grad_parametros: Mapping[str, Any] | None = None
    tipo: str = ""
    celda: int = -1
    linea: int = 0
    texto: str = ""
    tiene: tuple[tuple[str, tuple[int, ...]], ...] = ()
    veto: int = -1


@dataclass(frozen=True)
class Contexto:
    """Lo que hace falta para explicar una diferencia.

    ``secreta``: no se dice el valor esperado. ``relativa``: la tolerancia no admite error absoluto.
    """

    tolerancia: float = 1e-9
    relativa: bool = False
    ejes: Sequence[Sequence[str]] = ()
    donde: Any = field(default=lambda celda, linea: f"línea {linea}")
    secreta: bool = False

    def desajuste(self, obtenido: str, esperado: str) -> str:
        """«se obtuvo … y se esperaba …», o solo lo primero si la respuesta es secreta."""
        return (
            f"{obtenido} no es la respuesta"
            if self.secreta
            else f"se obtuvo {obtenido} y se esperaba {esperado}"
        )


# --- Nombres de los ejes --------------------------------------------------------------------------


def ejes_de(fuente: str, nombre: str) -> list[list[str]]:
    """Nombres de los ejes de cada tensor que devuelve ``nombre``, tomados de la anotación de la
    referencia.
    """
    try:
        arbol = arbol_de(fuente)
    except SyntaxError:
        return []
    for nodo in arbol.body:
        if getattr(nodo, "name", None) == nombre:
            if isinstance(nodo, ast.ClassDef):
                nodo = next((n for n in nodo.body if getattr(n, "name", None) == "forward"), None)
            retorno = getattr(nodo, "returns", None)
            textos = (
                [n for n in ast.walk(retorno) if isinstance(n, ast.Constant)]
                if retorno is not None
                else []
            )
            return [t.value.split() for t in textos if isinstance(t.value, str)]
    return []


# --- Tipos ----------------------------------------------------------------------------------------


def _es_tensor(valor: Any) -> bool:
    return hasattr(valor, "dtype") and hasattr(valor, "shape") and hasattr(valor, "dim")


def _es_numero(valor: Any) -> bool:
    return isinstance(valor, (int, float)) and not isinstance(valor, bool)


def describe(valor: Any) -> str:
    """El tipo de un valor, en español."""
    if valor is None:
        return "None"
    if _es_tensor(valor):
        return f"un tensor de forma {forma(valor.shape)}"
    if isinstance(valor, Otro):
        return limpia(valor.tipo, 60)
    if isinstance(valor, (list, tuple)):
        return f"una {'tupla' if isinstance(valor, tuple) else 'lista'} de {_elementos(len(valor))}"
    nombres = {
        bool: "un booleano",
        int: "un número",
        float: "un número",
        str: "una cadena",
        dict: "un diccionario",
    }
    return nombres.get(type(valor), type(valor).__name__)


def _elementos(cuantos: int) -> str:
    return f"{cuantos} elemento{'s' * (cuantos != 1)}"


def forma(tamano: Sequence[int]) -> str:
    """``(2, 5)``."""
    return "(" + ", ".join(str(int(n)) for n in tamano) + ("," if len(tamano) == 1 else "") + ")"


def numero(valor: Any, cifras: int = 6) -> str:
    """Un número o booleano en pocas cifras."""
    if isinstance(valor, float):
        return f"{valor:.{cifras}g}"
    if isinstance(valor, complex):
        return f"{valor.real:.{cifras}g}{valor.imag:+.{cifras}g}j"
    return str(valor)


def _distintos(uno: Any, otro: Any) -> tuple[str, str]:
    """Dos números distintos, con las cifras que hagan falta para que se vea que lo son."""
    textos = ((numero(uno, cifras), numero(otro, cifras)) for cifras in (6, 9, 12, 17))
    return next((par for par in textos if par[0] != par[1]), (repr(uno), repr(otro)))


# --- Valores --------------------------------------------------------------------------------------


def diferencia(obtenido: Any, esperado: Any, contexto: Contexto, donde: str = "") -> str | None:
    """``None`` si coinciden; si no, la primera diferencia. ``donde`` sitúa el valor («el elemento
    2»).
    """
    return _diferencia(obtenido, esperado, contexto, donde, [0])


def _diferencia(
    obtenido: Any, esperado: Any, contexto: Contexto, donde: str, orden: list[int]
) -> str | None:
    en = f"{donde}: " if donde else ""
    if obtenido is None and esperado is not None:
        return f"{en}devolvió None: ¿falta el return?" if not donde else f"{en}es None"
    obtenido, esperado = _acerca(obtenido, esperado)
    if _es_tensor(esperado):
        ejes = contexto.ejes[orden[0]] if orden[0] < len(contexto.ejes) else ()
        orden[0] += 1
        if not _es_tensor(obtenido):
            return f"{en}tipo: llegó {describe(obtenido)}; se esperaba {describe(esperado)}"
        return _entre_tensores(obtenido, esperado, contexto, ejes, en)
    if isinstance(esperado, (list, tuple)):
        return _entre_secuencias(obtenido, esperado, contexto, donde, orden)
    if isinstance(esperado, dict):
        return _entre_diccionarios(obtenido, esperado, contexto, donde, orden)
    if _es_numero(esperado):
        if not _es_numero(obtenido):
            return f"{en}tipo: llegó {describe(obtenido)}; se esperaba un número"
        iguales = cerca(float(obtenido), float(esperado), contexto.tolerancia, contexto.relativa)
        return None if iguales else en + contexto.desajuste(*_distintos(obtenido, esperado))
    if type(obtenido) is not type(esperado):
        return f"{en}tipo: llegó {describe(obtenido)}; se esperaba {describe(esperado)}"
    if isinstance(esperado, str):
        iguales = obtenido.strip() == esperado.strip()
    else:
        iguales = obtenido == esperado
    return (
        None
        if iguales
        else en + contexto.desajuste(limpia(str(obtenido), 60), limpia(str(esperado), 60))
    )


def _acerca(obtenido: Any, esperado: Any) -> tuple[Any, Any]:
    """Iguala formas equivalentes de dar lo mismo: un número y un tensor de cero ejes, una lista y
    un tensor.
    """
    if _es_tensor(obtenido) and not _es_tensor(esperado):
        if isinstance(esperado, (bool, int, float)) and obtenido.dim() == 0:
            return obtenido.item(), esperado
        planos = isinstance(esperado, (list, tuple)) and not any(_es_tensor(e) for e in esperado)
        if planos and esperado and obtenido.dim() >= 1 and obtenido.numel() <= 100_000:
            return obtenido.tolist(), esperado
    if _es_tensor(esperado) and esperado.dim() == 0 and isinstance(obtenido, (bool, int, float)):
        return obtenido, esperado.item()
    return obtenido, esperado


def cerca(a: float, b: float, tolerancia: float, relativa: bool = False) -> bool:
    """¿Valen lo mismo, con la tolerancia? Los infinitos y los NaN solo se parecen a sí mismos."""
    if math.isfinite(a) and math.isfinite(b):
        return abs(a - b) <= tolerancia * (abs(b) + (not relativa))
    return a == b or (a != a and b != b)


def _entre_secuencias(
    obtenido: Any, esperado: Any, contexto: Contexto, donde: str, orden: list[int]
) -> str | None:
    en = f"{donde}: " if donde else ""
    if not isinstance(obtenido, (list, tuple)):
        return f"{en}tipo: llegó {describe(obtenido)}; se esperaba {describe(esperado)}"
    if len(obtenido) != len(esperado):
        return (
            f"{en}{'llegó' if len(obtenido) == 1 else 'llegaron'} {_elementos(len(obtenido))};"
            f" se {'esperaba' if len(esperado) == 1 else 'esperaban'} {len(esperado)}"
        )
    for indice, (uno, otro) in enumerate(zip(obtenido, esperado, strict=True), start=1):
        aqui = f"{donde}, elemento {indice}" if donde else f"el elemento {indice} de la salida"
        problema = _diferencia(uno, otro, contexto, aqui, orden)
        if problema:
            return problema
    return None


def _entre_diccionarios(
    obtenido: Any, esperado: dict, contexto: Contexto, donde: str, orden: list[int]
) -> str | None:
    en = f"{donde}: " if donde else ""
    if not isinstance(obtenido, dict):
        return f"{en}tipo: llegó {describe(obtenido)}; se esperaba un diccionario"
    if obtenido.keys() != esperado.keys():
        faltan = ", ".join(str(k) for k in esperado if k not in obtenido)
        sobran = ", ".join(limpia(str(k), 40) for k in obtenido if k not in esperado)
        return en + "; ".join(
            x
            for x in (
                f"faltan las claves {faltan}" * bool(faltan),
                f"sobran {sobran}" * bool(sobran),
            )
            if x
        )
    for clave, otro in esperado.items():
        problema = _diferencia(
            obtenido[clave],
            otro,
            contexto,
            f"{donde}, clave {clave}" if donde else f"clave {clave}",
            orden,
        )
        if problema:
            return problema
    return None


def _entre_tensores(
    obtenido: Any, esperado: Any, contexto: Contexto, ejes: Sequence[str], en: str
) -> str | None:
    import torch

    if obtenido.shape != esperado.shape:
        nombres = f" = ({', '.join(ejes)})" if len(ejes) == esperado.dim() and ejes else ""
        return (
            f"{en}forma: llegó {forma(obtenido.shape)}; se esperaba"
            f" {forma(esperado.shape)}{nombres}"
        )
    if _entero(obtenido) and _entero(esperado):
        obtenido = obtenido.to(esperado.dtype)
    if obtenido.dtype != esperado.dtype:
        return (
            f"{en}dtype: llegó {_dtype(obtenido)}; se esperaba"
            f" {_dtype(esperado)}{_cura_dtype(obtenido, esperado)}"
        )
    if obtenido.is_floating_point():
        nuevos = obtenido.isnan() & ~esperado.isnan()
        if nuevos.any():
            return en + _explica_nan(nuevos)
    if obtenido.is_floating_point() or obtenido.is_complex():
        margen = contexto.tolerancia
        absoluto = 0.0 if contexto.relativa else margen
        bien = torch.isclose(obtenido, esperado, rtol=margen, atol=absoluto, equal_nan=True)
    else:
        bien = obtenido == esperado
    if bien.all():
        return None
    primero = tuple(int(i) for i in (~bien).nonzero()[0])
    cuantos = int((~bien).sum())
    lugar = f"en [{', '.join(map(str, primero))}] " if primero else ""
    valores = contexto.desajuste(*_distintos(obtenido[primero].item(), esperado[primero].item()))
    return f"{en}{lugar}{valores}; difieren {cuantos} de {bien.numel()} valores"


def _dtype(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _entero(tensor: Any) -> bool:
    """Si guarda enteros, de los bits que sean: unos valen por otros."""
    return not (tensor.is_floating_point() or tensor.is_complex() or _dtype(tensor) == "bool")


def _cura_dtype(obtenido: Any, esperado: Any) -> str:
    if obtenido.is_floating_point() and esperado.is_floating_point():
        return ": ¿hay un .float() o un dtype escrito a mano? usa el de la entrada"
    return ""


def _explica_nan(nuevos: Any) -> str:
    cuantos = int(nuevos.sum())
    primero = ", ".join(str(int(i)) for i in nuevos.nonzero()[0])
    if nuevos.dim() and nuevos.shape[-1] > 1 and bool((nuevos.all(-1) == nuevos.any(-1)).all()):
        causa = (
            "filas enteras de NaN: ¿una fila con todo enmascarado? El softmax de una fila de −inf"
            " es 0/0"
        )
    else:
        causa = "¿hay un 0·inf, un inf − inf o un 0/0?"
    return f"hay {cuantos} NaN (el primero en [{primero}]): {causa}"


# --- Casos enteros --------------------------------------------------------------------------------


def explica(obtenida: Contestacion, esperada: Contestacion, contexto: Contexto) -> str | None:
    """``None`` si el caso pasa; si no, una línea que dice qué falla."""
    if obtenida.clase != "valor":
        if obtenida.clase == esperada.clase == "excepcion" and obtenida.tipo == esperada.tipo:
            return None
        return _explica_fallo(obtenida, esperada, contexto)
    if esperada.clase == "excepcion":
        return f"devolvió {describe(obtenida.valor)}; se esperaba que levantara {esperada.tipo}"
    return diferencia(obtenida.valor, esperada.valor, contexto) or _gradientes(
        obtenida, esperada, contexto.tolerancia
    )


def _explica_fallo(obtenida: Contestacion, esperada: Contestacion, contexto: Contexto) -> str:
    if obtenida.clase == "excepcion":
        en = f" en la {contexto.donde(obtenida.celda, obtenida.linea)}" if obtenida.linea else ""
        dicho = f": «{limpia(obtenida.texto, 200)}»" if obtenida.texto else ""
        return f"levantó {limpia(obtenida.tipo, 60)}{en}{dicho}"
    if obtenida.clase == "estado":
        return _explica_estado(obtenida, esperada)
    mensajes = {
        "agotado": "no terminó a tiempo o llenó su carpeta: ¿hay un bucle que no acaba?",
        "roto": "terminó el proceso en lugar de devolver un valor (¿exit(), memoria agotada?)",
        "grande": "devolvió un valor demasiado grande",
        "omitido": "no se llegó a comprobar: un caso anterior no terminó",
    }
    return mensajes[obtenida.clase]


def _explica_estado(obtenida: Contestacion, esperada: Contestacion) -> str:
    tiene = dict(obtenida.tiene)
    pide = {k: tuple(v) for k, v in esperada.tiene}
    for nombre, tamano in pide.items():
        if nombre not in tiene:
            sobran = [limpia(k, 60) for k in tiene if k not in pide]
            return f"falta el parámetro {nombre} {forma(tamano)}" + (
                f"; hay {', '.join(sobran[:4])}" if sobran else ""
            )
        if tuple(tiene[nombre]) != tamano:
            return (
                f"el parámetro {nombre} tiene forma {forma(tiene[nombre])}; se esperaba"
                f" {forma(tamano)}"
            )
    sobran = [limpia(k, 60) for k in tiene if k not in pide]
    return (
        f"sobra el parámetro {sobran[0]}"
        if sobran
        else "los parámetros no encajan con los de la referencia"
    )


def _gradientes(obtenida: Contestacion, esperada: Contestacion, tolerancia: float) -> str | None:
    if esperada.grad_entradas is None:
        return None
    if not isinstance(obtenida.grad_entradas, list) or len(obtenida.grad_entradas) != len(
        esperada.grad_entradas
    ):
        return "la salida es correcta, pero no se pueden calcular sus gradientes"
    pares = [
        (f"el gradiente de la entrada {i}", uno, otro)
        for i, (uno, otro) in enumerate(
            zip(obtenida.grad_entradas, esperada.grad_entradas, strict=True), start=1
        )
    ]
    hallados = obtenida.grad_parametros or {}
    pares += [
        (f"el gradiente de {k}", hallados.get(k), v)
        for k, v in (esperada.grad_parametros or {}).items()
    ]
    for nombre, uno, otro in pares:
        if otro is None:
            if _es_tensor(uno) and not bool((uno.abs() <= max(tolerancia, 1e-9) * 10).all()):
                return f"{nombre} debe ser cero, y le llega: ¿falta un detach()?"
            continue
        if uno is None:
            if bool((otro == 0).all()):
                continue
            return f"{nombre} no llega: ¿hay un detach(), un .data o un .item()?"
        problema = diferencia(uno, otro, Contexto(max(tolerancia, 1e-9) * 10), nombre)
        if problema:
            return problema
    return None


def mismas_formas(uno: Any, otro: Any) -> bool:
    """¿Son del mismo tamaño, tensor a tensor y lista a lista?"""
    if _es_tensor(uno) or _es_tensor(otro):
        return _es_tensor(uno) and _es_tensor(otro) and uno.shape == otro.shape
    if isinstance(uno, (list, tuple)) and isinstance(otro, (list, tuple)):
        return len(uno) == len(otro) and all(map(mismas_formas, uno, otro))
    return not isinstance(uno, (list, tuple, dict, str))


def bytes_de(*valores: Any) -> int:
    """Los bytes de los tensores de un árbol de valores."""
    hijos = [list(v.values()) if isinstance(v, Mapping) else v for v in valores]
    return sum(
        v.nbytes if _es_tensor(v) else bytes_de(*v) if isinstance(v, (list, tuple)) else 0
        for v in hijos
    )


def iguales(
    una: Contestacion, otra: Contestacion, contexto: Contexto, invariante: Any = None
) -> bool:
    """¿Dieron lo mismo dos entregas en un caso? Sirve para reconocer un error conocido."""
    if una.clase != otra.clase:
        return False
    if una.clase == "excepcion":
        return una.tipo == otra.tipo
    if una.clase == "estado":
        return dict(una.tiene) == dict(otra.tiene)
    if una.clase != "valor":
        return False
    try:
        if invariante is not None:
            # De un valor con otras formas no se calcula nada: su coste lo elegiría la entrega.
            return mismas_formas(una.valor, otra.valor) and not diferencia(
                invariante(una.valor), invariante(otra.valor), contexto
            )
        return explica(una, otra, contexto) is None
    except Exception:  # noqa: BLE001
        # un valor ajeno que no se puede comparar no se parece a ninguno
        return False
