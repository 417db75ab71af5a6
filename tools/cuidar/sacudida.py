"""Lo que «make temblor» mete en el núcleo antes de la primera celda de un capítulo.

- Los parámetros iniciales se multiplican por 1 + 8 ε · ruido al construir el primer optimizador que
  los lleva: lo que les haría el redondeo de otro procesador. El ruido es una función del **valor**
  de cada elemento y de la semilla de la ejecución: no gasta azar de nadie, y dos copias del mismo
  peso (en otro modelo, partidas, traspuestas) reciben el mismo, así que «la copia aprende lo mismo
  que el original» sigue siendo cierto. Lo que ya se entrenó, o viene de un fichero, no se sacude.
- La atención fusionada se cambia, si se pide, por la explícita.
- Las figuras no se pintan: de ellas cuentan el texto y la huella, y pintarlas es la quinta parte.
- Cada ``assert`` del capítulo apunta si se cumple y por cuánto, y no detiene nada.

En los capítulos no hay nada de esto: se puede quitar sin que cambien.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import json
import math
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import wraps
from typing import Any

NOMBRE = "__temblor__"  # con el que las celdas reescritas llaman al apunte
AMPLITUD = 8  # en épsilones de la máquina
CERCA = {"allclose", "isclose"}
ELIGE = {"": min, "all": min, "any": max}  # dentro de qué se compara, y qué margen cuenta


def empieza(
    *, entorno: dict[str, str], semilla: int, explicita: bool, intactas: list[int], destino: str
) -> None:
    """Prepara el núcleo: procesador, ruido, atención y apuntes, que van a ``destino``.

    ``intactas`` son las celdas (contadas desde 0, sin esta) que deben fallar: ahí no se toca nada.

    Errores: ``RuntimeError`` si PyTorch ya estaba cargado, porque el entorno llegaría tarde.
    """
    if "torch" in sys.modules:
        raise RuntimeError("PyTorch ya está cargado: el procesador pedido llegaría tarde.")
    os.environ.update(entorno)
    from IPython import get_ipython

    sacude_optimizadores(semilla)
    no_pinta()
    if explicita:
        pon_atencion_explicita()
    apunte = Apunte(destino, set(intactas))
    setattr(builtins, NOMBRE, apunte)
    consola = get_ipython()
    consola.ast_transformers.append(Reescribe(apunte))
    consola.events.register("pre_run_cell", lambda info: apunte.otra_celda(info.raw_cell))
    consola.events.register("post_run_cell", lambda _: apunte.guarda())


# --- El ruido -------------------------------------------------------------------------------------


def ruido(valores: Any, semilla: int) -> Any:
    """Un número entre −√3 y √3, de varianza 1, por cada elemento: el mismo si valen lo mismo.

    ``valores`` son de NumPy y de ``float64``; los bits de cada uno pasan por SplitMix64.
    """
    import numpy as np

    sal = int.from_bytes(hashlib.blake2b(f"{semilla}".encode(), digest_size=8).digest(), "big")
    with np.errstate(over="ignore"):
        z = (valores + 0.0).view(np.uint64) + np.uint64(sal)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return ((z >> np.uint64(11)) * 2.0**-52 - 1) * math.sqrt(3)


def _en_float64(tensor: Any) -> Any:
    """Los valores de un tensor, seguidos y en ``float64``; los complejos, sus dos partes."""
    import torch

    plano = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    return plano.detach().cpu().double().contiguous().flatten().numpy()


def _marca(tensor: Any) -> bytes:
    """La huella de los valores de un tensor, la misma en otra precisión en que quepan."""
    return hashlib.blake2b(_en_float64(tensor).tobytes(), digest_size=16).digest()


def sacude(parametro: Any, semilla: int) -> None:
    """Multiplica un parámetro por 1 + 8 ε · ruido, sin que lo note la derivación automática."""
    import torch

    valores = _en_float64(parametro)
    fino = min(torch.finfo(parametro.dtype).eps, torch.finfo(torch.float32).eps)
    nuevos = torch.from_numpy(valores * (1 + AMPLITUD * fino * ruido(valores, semilla)))
    datos = torch.view_as_real(parametro.data) if parametro.is_complex() else parametro.data
    datos.copy_(nuevos.view(datos.shape))


def sacude_optimizadores(semilla: int) -> None:
    """Sacude cada parámetro, una vez, al entrar en su primer optimizador.

    No lo que ya se había entrenado o leído de un fichero, aunque llegue a otro modelo con
    ``load_state_dict`` o ``deepcopy``; unos pesos iniciales copiados así sí, e igual que el
    original.
    """
    import torch
    from torch.utils.weak import WeakIdKeyDictionary

    hechos = WeakIdKeyDictionary()  # parámetros que ya entraron en un optimizador
    firmes: set[bytes] = set()  # valores que no son de un modelo por entrenar

    def entra(optimizador: Any, grupo: dict[str, Any]) -> None:
        anade(optimizador, grupo)
        for parametro in optimizador.param_groups[-1]["params"]:
            if parametro in hechos or not parametro.is_leaf or not parametro.requires_grad:
                continue
            hechos[parametro] = True
            if _marca(parametro) not in firmes:
                sacude(parametro, semilla)

    def da_estado(modulo: Any, *args: Any, **opciones: Any) -> Any:
        """Lo que se saca de un modelo entrenado ya no es de un modelo por entrenar."""
        if "destination" not in opciones:  # los submódulos van dentro de la misma llamada
            firmes.update(_marca(p) for p in modulo.parameters() if p in hechos)
        return da(modulo, *args, **opciones)

    def recibe_estado(modulo: Any, *args: Any, **opciones: Any) -> Any:
        """Lo que se recibe se mira otra vez: puede ser el comienzo, o unos pesos leídos."""
        resultado = recibe(modulo, *args, **opciones)
        for parametro in modulo.parameters():
            hechos.pop(parametro, None)
        return resultado

    def copia(parametro: Any, memoria: dict[int, Any]) -> Any:
        nuevo = copia_de_antes(parametro, memoria)
        if parametro in hechos:
            hechos[nuevo] = True
        return nuevo

    modulo, parametro = torch.nn.Module, torch.nn.Parameter
    anade, da, recibe = (
        torch.optim.Optimizer.add_param_group,
        modulo.state_dict,
        modulo.load_state_dict,
    )
    copia_de_antes = parametro.__deepcopy__
    torch.optim.Optimizer.add_param_group = wraps(anade)(entra)
    modulo.state_dict, modulo.load_state_dict = wraps(da)(da_estado), wraps(recibe)(recibe_estado)
    parametro.__deepcopy__ = wraps(copia_de_antes)(copia)
    _vigila_lecturas(firmes)


def _vigila_lecturas(firmes: set[bytes]) -> None:
    """Apunta los tensores que se leen de un fichero, de PyTorch o de safetensors."""
    import safetensors.torch
    import torch

    def vigila(lee: Any) -> Any:
        @wraps(lee)
        def envuelto(*args: Any, **opciones: Any) -> Any:
            leido = lee(*args, **opciones)
            firmes.update(_marca(t) for t in _tensores(leido))
            return leido

        return envuelto

    torch.load = vigila(torch.load)
    safetensors.torch.load = vigila(safetensors.torch.load)
    safetensors.torch.load_file = vigila(safetensors.torch.load_file)


def _tensores(cosa: Any) -> Iterator[Any]:
    """Los tensores de números reales o complejos que hay en algo leído."""
    import torch

    if isinstance(cosa, torch.Tensor):
        if cosa.is_floating_point() or cosa.is_complex():
            yield cosa
    elif isinstance(cosa, torch.nn.Module):
        yield from cosa.parameters()
    elif isinstance(cosa, dict | list | tuple):
        for una in cosa.values() if isinstance(cosa, dict) else cosa:
            yield from _tensores(una)


def no_pinta() -> None:
    """Deja sin hacer el SVG y el PNG de cada figura; su texto y su huella, sí."""
    from figuras.plots import svg

    svg.render, svg.picture = lambda fig, **_: "", lambda fig: b""


# --- La atención ----------------------------------------------------------------------------------


def pon_atencion_explicita() -> None:
    """Cambia el núcleo fusionado de ``atento.attention`` por los pasos escritos.

    Errores: ``AttributeError`` si la biblioteca ya no lo llama así.
    """
    from atento import attention

    if not callable(attention._fused):
        raise AttributeError("atento.attention._fused")
    attention._fused = _explicita


def _explicita(
    query: Any,
    key: Any,
    value: Any,
    allowed: Any,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    dropout_p: float = 0.0,
    enable_gqa: bool = False,
) -> Any:
    """Los argumentos de ``atento.attention._fused``, paso a paso."""
    import torch

    from atento import attention

    if enable_gqa:
        grupo = query.shape[-3] // key.shape[-3]
        key, value = (x.repeat_interleave(grupo, dim=-3) for x in (key, value))
    scores = (query * (query.shape[-1] ** -0.5 if scale is None else scale)) @ key.mT
    if is_causal:
        allowed = torch.ones(scores.shape[-2:], dtype=torch.bool, device=query.device).tril()
    if allowed is not None and allowed.dtype != torch.bool:
        scores, allowed = scores + allowed, None
    return attention.attend.unchecked(scores, value, allowed, dropout=dropout_p)[0]


# --- Los «assert» ---------------------------------------------------------------------------------


class Apunte:
    """Lo que va pasando en los ``assert``; las celdas reescritas lo llaman por ``NOMBRE``."""

    def __init__(self, destino: str, intactas: set[int]) -> None:
        self.destino, self.intactas = destino, intactas
        self.celda, self.codigo = -1, ""
        self.asertos: list[dict[str, Any]] = []

    def otra_celda(self, codigo: str) -> None:
        """Empieza otra celda."""
        self.celda, self.codigo = self.celda + 1, codigo

    def escrito(self, nodo: ast.expr) -> str:
        """Lo que pone en la celda."""
        return ast.get_source_segment(self.codigo, nodo) or ast.unparse(nodo)

    def nuevo(self, nodo: ast.Assert) -> dict[str, Any]:
        """Abre el apunte de un ``assert``, que aún no se ha ejecutado."""
        aserto = {
            "celda": self.celda,
            "linea": nodo.lineno,
            "columna": nodo.col_offset,
            "texto": self.escrito(nodo.test),
            "veces": 0,
            "falla": 0,
            "hojas": [],
        }
        self.asertos.append(aserto)
        return aserto

    def juzga(self, numero: int, vale: Any) -> None:
        """Lo que habría hecho el ``assert``, sin detener la celda."""
        aserto = self.asertos[numero]
        aserto["veces"] += 1
        aserto["falla"] += not vale
        for hoja in aserto["hojas"]:  # de varias veces que se ejecuta, la peor
            ahora = hoja.pop("ahora", None)
            hoja.pop("antes", None)
            if ahora and (hoja["margen"] is None or ahora[0] < hoja["margen"]):
                hoja["margen"], hoja["izquierda"], hoja["derecha"] = ahora

    def mide(self, numero: int, hoja: int, eslabon: int, valor: Any) -> Any:
        """Apunta un término de una comparación encadenada y lo devuelve."""
        una = self.asertos[numero]["hojas"][hoja]
        if eslabon:
            with suppress(Exception):  # medir no estropea lo que se mide
                self._hoja(una, una["antes"], valor, una["signos"][eslabon - 1])
        una["antes"] = valor
        return valor

    def cerca(self, numero: int, hoja: int, compara: Any, *args: Any, **opciones: Any) -> Any:
        """Llama a ``allclose`` o ``isclose`` y apunta la mayor distancia y lo que se admitía."""
        with suppress(Exception):  # medir no estropea lo que se mide
            distancia, admite = _distancias(compara, *args, **opciones)
            self._hoja(self.asertos[numero]["hojas"][hoja], distancia, admite, "<=")
        return compara(*args, **opciones)

    @staticmethod
    def _hoja(una: dict[str, Any], izquierda: Any, derecha: Any, signo: str) -> None:
        """Se queda con el margen peor o, dentro de un ``any``, con el mejor."""
        elige = ELIGE[una["dentro"]]
        hallados = [_margen(izquierda, derecha, signo, elige), una.get("ahora")]
        una["ahora"] = elige(filter(None, hallados), key=lambda h: h[0], default=None)

    def guarda(self) -> None:
        """Deja escrito lo apuntado hasta ahora: un núcleo que muere no se lo lleva."""
        for hoja in (hoja for aserto in self.asertos for hoja in aserto["hojas"]):
            hoja.pop("antes", None)  # lo que quede de una celda que ha fallado a medias
            hoja.pop("ahora", None)
        with open(self.destino, "w", encoding="utf-8") as fichero:
            json.dump({"asertos": self.asertos, "procesador": _procesador()}, fichero)


def _procesador() -> dict[str, Any]:
    """Con cuántos hilos y con qué instrucciones ha calculado PyTorch de verdad."""
    import torch

    return {
        "hilos": torch.get_num_threads(),
        "instrucciones": torch.backends.cpu.get_cpu_capability(),
    }


def _array(valor: Any) -> Any:
    """Un número, un tensor o unos valores de NumPy, en ``float64``; lo demás, ``None``."""
    import numpy as np
    import torch

    if isinstance(valor, torch.Tensor):
        valor = valor.detach().cpu().resolve_conj().numpy()
    if isinstance(valor, bool | str | bytes | set) or valor is None:
        return None
    salida = np.asarray(valor)
    return salida.astype(np.float64) if salida.dtype.kind in "iuf" and salida.size else None


def _margen(izquierda: Any, derecha: Any, signo: str, elige: Any) -> tuple | None:
    """``(margen, izquierda, derecha)`` del elemento que decide; el margen es negativo si falla."""
    import numpy as np

    a, b = _array(izquierda), _array(derecha)
    if a is None or b is None or signo not in {"<", "<=", ">", ">="}:
        return None
    a, b = np.broadcast_arrays(a, b)
    resta = b - a if signo in {"<", "<="} else a - b
    resta = np.where(np.isnan(resta), -np.inf, resta)
    donde = int(resta.argmin() if elige is min else resta.argmax())
    hallado = (float(resta.flat[donde]), float(a.flat[donde]), float(b.flat[donde]))
    return hallado if all(map(math.isfinite, hallado)) else None


def _distancias(compara: Any, a: Any, b: Any, *args: Any, **opciones: Any) -> tuple[Any, Any]:
    """Lo que se apartan dos valores y lo que admite ``allclose`` o ``isclose``."""
    import numpy as np

    x, y = _array(a), _array(b)
    if getattr(compara, "__module__", "") == "math":
        relativa, absoluta = opciones.get("rel_tol", 1e-9), opciones.get("abs_tol", 0.0)
        return abs(x - y), np.maximum(relativa * np.maximum(abs(x), abs(y)), absoluta)
    de_serie = dict(zip(("rtol", "atol"), (1e-5, 1e-8), strict=True))
    tol = {**de_serie, **dict(zip(de_serie, args, strict=False)), **opciones}
    return abs(x - y), tol["atol"] + tol["rtol"] * abs(y)


SIGNOS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


class Reescribe(ast.NodeTransformer):
    """Cambia cada ``assert`` por una llamada que lo apunta, con los términos que compara.

    La expresión se queda en su sitio y se evalúa una vez, con sus cortocircuitos: solo se envuelven
    términos. Se entra en ``and``, ``&``, ``all``, ``.all()`` y, si dentro hay una sola comparación,
    en ``any``; lo demás solo dice si se cumple.
    """

    def __init__(self, apunte: Apunte) -> None:
        self.apunte = apunte

    def visit_Module(self, nodo: ast.Module) -> ast.Module:
        """Una celda, si no es de las que deben fallar."""
        if self.apunte.celda in self.apunte.intactas:
            return nodo
        return self.generic_visit(nodo)

    def visit_Assert(self, nodo: ast.Assert) -> ast.stmt:
        """``assert a < b`` → ``apunte.juzga(n, apunte.mide(…, a) < apunte.mide(…, b))``."""
        self.aserto = self.apunte.nuevo(nodo)
        self.numero = len(self.apunte.asertos) - 1
        llamada = self._llama("juzga", [], self._mira(nodo.test, ""))
        return ast.fix_missing_locations(ast.copy_location(ast.Expr(llamada), nodo))

    def _llama(self, metodo: str, datos: list[int], *valores: ast.expr) -> ast.Call:
        funcion = ast.Attribute(ast.Name(NOMBRE, ast.Load()), metodo, ast.Load())
        constantes = [ast.Constant(x) for x in (self.numero, *datos)]
        return ast.Call(funcion, [*constantes, *valores], [])

    def _hoja(self, dentro: str, texto: ast.expr, signos: list[str]) -> int:
        hoja = {
            "texto": self.apunte.escrito(texto),
            "dentro": dentro,
            "signos": signos,
            "margen": None,
            "izquierda": None,
            "derecha": None,
        }
        self.aserto["hojas"].append(hoja)
        return len(self.aserto["hojas"]) - 1

    def _mira(self, nodo: ast.expr, dentro: str) -> ast.expr:
        if isinstance(nodo, ast.BoolOp) and isinstance(nodo.op, ast.And) and dentro != "any":
            nodo.values = [self._mira(x, dentro) for x in nodo.values]
        elif isinstance(nodo, ast.BinOp) and isinstance(nodo.op, ast.BitAnd) and dentro != "any":
            nodo.left, nodo.right = self._mira(nodo.left, dentro), self._mira(nodo.right, dentro)
        elif isinstance(nodo, ast.Compare):
            self._comparacion(nodo, dentro)
        elif isinstance(nodo, ast.Call):
            return self._llamada(nodo, dentro)
        return nodo

    def _comparacion(self, nodo: ast.Compare, dentro: str) -> None:
        signos = [SIGNOS.get(type(s), "") for s in nodo.ops]
        if not any(signos) or (dentro == "any" and len(signos) > 1):
            return
        hoja = self._hoja(dentro, nodo, signos)
        nodo.left = self._llama("mide", [hoja, 0], nodo.left)
        nodo.comparators = [
            self._llama("mide", [hoja, i], x) for i, x in enumerate(nodo.comparators, 1)
        ]

    def _llamada(self, nodo: ast.Call, dentro: str) -> ast.expr:
        funcion = nodo.func
        nombre = funcion.attr if isinstance(funcion, ast.Attribute) else getattr(funcion, "id", "")
        if (
            nombre in CERCA
            and dentro != "any"
            and not any(isinstance(x, ast.Starred) for x in nodo.args)
        ):
            hoja = self._hoja(dentro, nodo, [])
            nueva = self._llama("cerca", [hoja], funcion, *nodo.args)
            nueva.keywords = nodo.keywords
            return nueva
        if nombre == "all" and dentro != "any" or nombre == "any" and not dentro:
            self._dentro(nodo, nombre)
        elif nombre == "bool" and len(nodo.args) == 1:
            nodo.args = [self._mira(nodo.args[0], dentro)]
        return nodo

    def _dentro(self, nodo: ast.Call, nombre: str) -> None:
        """``(a < b).all()``, ``torch.all(a < b)`` o ``all(a < b for …)``.

        Un ``any`` dentro de un ``all`` que recorre algo no se mide: lo mejor de lo peor no es ni lo
        uno ni lo otro.
        """
        if isinstance(nodo.func, ast.Attribute) and not nodo.args:
            nodo.func.value = self._mira(nodo.func.value, nombre)
        elif len(nodo.args) == 1:
            if isinstance(nodo.args[0], ast.GeneratorExp | ast.ListComp):
                nodo.args[0].elt = self._mira(nodo.args[0].elt, nombre)
            else:
                nodo.args = [self._mira(nodo.args[0], nombre)]
