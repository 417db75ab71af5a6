"""El lado de la entrega: lee peticiones, ejecuta el código del estudiante y contesta. Nunca pone
nota.

Es el único módulo que corre junto al código ajeno. Se usa igual dentro de la jaula (lo llama el
cigoto) y, para código de confianza (referencias y mutantes), en el propio proceso. No importa el
registro ni las soluciones.
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import importlib
import io
import linecache
import sys
import types
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from calificador.jaula import marcos
from calificador.jaula.vedado import Falta, NoPermitido, Vetos

SEMILLA_DE_LLAMADA = 20170612
_ANOTACIONES = __future__.annotations.compiler_flag
_PEREZOSOS = frozenset("func functorch vmap compile export distributions checkpoint".split())
Respuesta = tuple[dict[str, Any], dict[str, Any]]


def nombre_de_celda(indice: int) -> str:
    """Nombre de fichero con el que se compila cada celda: sirve para situar los errores."""
    return f"<entrega {indice}>"


# --- Análisis: antes de ejecutar nada -------------------------------------------------------------


def solo_definiciones(arbol: ast.Module) -> ast.Module:
    """Deja de una celda de cuaderno las definiciones, las importaciones y las constantes."""
    conservadas = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    cuerpo: list[ast.stmt] = []
    for nodo in arbol.body:
        if isinstance(nodo, conservadas):
            cuerpo.append(nodo)
        elif _constante(nodo):
            cuerpo.append(nodo if _literal(nodo) else _si_puede(nodo))
    return ast.Module(body=cuerpo, type_ignores=[])


FUNCIONES_DE_CONSTANTE = frozenset(
    "abs bool complex dict divmod enumerate float frozenset int len list max min pow range reversed"
    " round set sorted str sum tuple zip".split()
)
MODULOS_DE_CONSTANTE = frozenset(("math", "cmath", "torch", "np", "numpy"))


def _constante(nodo: ast.stmt) -> bool:
    """¿Es ``NOMBRE = expresión`` sin más llamadas que a conversiones, ``math``, ``torch`` o
    ``numpy``?
    """
    if not isinstance(nodo, (ast.Assign, ast.AnnAssign)) or nodo.value is None:
        return False
    prohibidos = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)
    return not any(
        isinstance(n, prohibidos) or (isinstance(n, ast.Call) and not _de_confianza(n.func))
        for n in ast.walk(nodo.value)
    )


def _de_confianza(funcion: ast.expr) -> bool:
    if isinstance(funcion, ast.Name):
        return funcion.id in FUNCIONES_DE_CONSTANTE
    while isinstance(funcion, ast.Attribute):
        funcion = funcion.value
    return isinstance(funcion, ast.Name) and funcion.id in MODULOS_DE_CONSTANTE


def _literal(nodo: ast.stmt) -> bool:
    calculan = (ast.Call, ast.Attribute, ast.Subscript, ast.comprehension)
    return not any(isinstance(n, calculan) for n in ast.walk(nodo.value))


def _si_puede(nodo: ast.stmt) -> ast.stmt:
    """La misma asignación, sin que su fallo impida cargar el resto: usa algo de una celda que no se
    ejecuta.
    """
    olvida = ast.ExceptHandler(type=ast.Name("Exception", ast.Load()), name=None, body=[ast.Pass()])
    intento = ast.Try(body=[nodo], handlers=[olvida], orelse=[], finalbody=[])
    return ast.fix_missing_locations(ast.copy_location(intento, nodo))


def sin_magias(texto: str) -> str:
    """Cambia las órdenes de IPython (``%``, ``!``, ``?``) por líneas vacías: los números de línea
    no se mueven.
    """
    lineas = texto.splitlines()
    if lineas and lineas[0].lstrip().startswith("%%"):
        return ""
    return "\n".join("pass" if linea.startswith(("%", "!", "?")) else linea for linea in lineas)


def _definidos(arbol: ast.Module) -> set[str]:
    """Los nombres que una sentencia define o importa; «*» si los importa todos."""
    nodos = list(ast.walk(arbol))
    alias = {n.asname or n.name for n in nodos if isinstance(n, ast.alias)}
    con_nombre = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    puestos = {n.id for n in nodos if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return alias | puestos | {n.name for n in nodos if isinstance(n, con_nombre)}


@lru_cache(maxsize=8)
def _arbol(texto: str, donde: str) -> ast.Module:
    """El árbol de una celda; la misma entrega vuelve con cada ejercicio."""
    return ast.parse(texto, donde)


# --- El alumno: una entrega y sus peticiones ------------------------------------------------------


def _despierta(arbol: ast.Module) -> bool:
    """Si una entrega nombra algo de torch que importa tarde medio torch, como ``torch.func``."""
    dichos: set[str] = set()
    for nodo in ast.walk(arbol):
        if isinstance(nodo, ast.Attribute):
            dichos.add(nodo.attr)
        elif isinstance(nodo, ast.ImportFrom):
            dichos |= {*(nodo.module or "").split("."), *(x.name for x in nodo.names)}
        elif isinstance(nodo, ast.Import):
            dichos |= {parte for x in nodo.names for parte in x.name.split(".")}
    return not dichos.isdisjoint(_PEREZOSOS)


class Alumno:
    """Atiende las peticiones de un ejercicio sobre una entrega: ``analiza``, ``carga`` y
    ``llama``."""

    def __init__(self, modulo: str = "entrega") -> None:
        self.modulo = types.ModuleType(modulo)
        self.arboles: list[tuple[str, ast.Module]] = []
        self.nombre = ""
        self.con_texto = False
        self.vetos = Vetos(())
        self.perdidos: dict[str, Falta] = {}

    def atiende(self, mensaje: Mapping[str, Any], tensores: Mapping[str, Any]) -> Respuesta:
        """Contesta a una petición. Todo fallo de la entrega vuelve como un mensaje, nunca como
        excepción.
        """
        ordenes = {"analiza": self._analiza, "carga": self._carga, "llama": self._llama}
        try:
            with self.vetos:
                return ordenes[mensaje["orden"]](mensaje, tensores)
        except BaseException as error:  # noqa: BLE001 - una entrega puede levantar cualquier cosa
            return self._error(error), {}

    def _analiza(self, mensaje: Mapping[str, Any], _: Any) -> Respuesta:
        # La misma entrega puede venir otra vez, por otro ejercicio: se empieza de nuevo.
        self.__init__(self.modulo.__name__)
        self.nombre = mensaje["nombre"]
        self.con_texto = bool(mensaje.get("con_texto"))
        for indice, (texto, entera) in enumerate(mensaje["celdas"]):
            donde = nombre_de_celda(indice)
            texto = texto if entera else sin_magias(texto)
            linecache.cache[donde] = (len(texto), None, texto.splitlines(keepends=True), donde)
            try:
                arbol = _arbol(texto, donde)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                if not entera and self.nombre not in texto:
                    continue
                return {
                    "error": "sintaxis",
                    "celda": indice,
                    "linea": getattr(error, "lineno", None) or 0,
                }, {}
            self.arboles.append((donde, arbol if entera else solo_definiciones(arbol)))
        self.vetos = Vetos(mensaje["prohibido"])
        if self.vetos and any(_despierta(arbol) for _, arbol in self.arboles):
            # Lo que torch importa tarde recorre lo vedado; con el veto en vigor parecería uso suyo.
            with contextlib.suppress(Exception):
                importlib.import_module("torch._dynamo")
        return {}, {}

    def _carga(self, _: Any, __: Any) -> Respuesta:
        import torch

        sys.modules[self.modulo.__name__] = self.modulo
        torch.set_default_dtype(torch.float64)
        siembra()
        for donde, arbol in self.arboles:
            self._ejecuta(donde, arbol)
        if self.nombre not in self.modulo.__dict__:
            return {"definido": False, **_de_veto(self._perdido(self.nombre))}, {}
        return {"definido": True}, {}

    def _ejecuta(self, donde: str, arbol: ast.Module) -> None:
        """Con vetos, sentencia a sentencia: la que no los respeta se salta, por si es de otro
        ejercicio, y se apunta qué nombres se quedan sin definir.
        """
        trozos = [ast.Module([n], []) for n in arbol.body] if self.vetos else [arbol]
        banderas = 0
        for trozo in trozos:
            codigo = compile(trozo, donde, "exec", flags=banderas, dont_inherit=True)
            banderas |= codigo.co_flags & _ANOTACIONES
            with contextlib.suppress(NoPermitido):
                exec(codigo, self.modulo.__dict__)
            if self.vetos.falta is not None:
                self.perdidos |= dict.fromkeys(_definidos(trozo), self.vetos.falta)
                self.vetos.falta = None

    def _llama(self, mensaje: Mapping[str, Any], tensores: Mapping[str, Any]) -> Respuesta:
        import torch

        torch.set_default_dtype(torch.float64)
        objeto = self.modulo.__dict__[self.nombre]
        args = marcos.descodifica(mensaje["args"], tensores)
        kwargs = marcos.descodifica(mensaje["kwargs"], tensores)
        hojas: list[Any] = []
        if mensaje["gradiente"]:
            args, kwargs = hojas_con_gradiente(args, hojas), hojas_con_gradiente(kwargs, hojas)
        parametros: dict[str, Any] = {}
        if mensaje["init"] is not None:
            objeto = self._construye(objeto, mensaje, tensores)
            if isinstance(objeto, dict):
                return objeto, {}
            parametros = dict(objeto.named_parameters())
        siembra()
        valor = objeto(*args, **kwargs) if callable(objeto) else objeto
        return respuesta_de(valor, mensaje, tensores, hojas, parametros)

    def _construye(
        self, clase: Any, mensaje: Mapping[str, Any], tensores: Mapping[str, Any]
    ) -> Any:
        """El módulo con los pesos de la referencia o, si no encajan, un mensaje con los que
        tiene."""
        import torch

        siembra()
        modulo = clase(**marcos.descodifica(mensaje["init"], tensores))
        estado = marcos.descodifica(mensaje["estado"], tensores)
        propios = {k: tuple(v.shape) for k, v in modulo.named_parameters()}
        if propios != {k: tuple(estado[k].shape) for k in mensaje["parametros"]}:
            tiene = [[marcos.recorta(k, 120), list(v)] for k, v in list(propios.items())[:100]]
            return {"error": "estado", "tiene": tiene}
        actual = modulo.state_dict()
        comunes = {k: v for k, v in estado.items() if k in actual and actual[k].shape == v.shape}
        modulo.load_state_dict(comunes, strict=False)
        return modulo.to(torch.float64).eval()

    def _perdido(self, nombre: str | None) -> Falta | None:
        """Por qué no hay tal nombre, si fue por un veto al cargar («*»: no se sabe cuáles)."""
        return self.perdidos.get(nombre or "", self.perdidos.get("*"))

    def _error(self, error: BaseException) -> dict[str, Any]:
        celda, linea = -1, 0
        rastro = error.__traceback__
        while rastro is not None:
            fichero = rastro.tb_frame.f_code.co_filename
            if fichero.startswith("<entrega "):
                celda, linea = int(fichero[9:-1]), rastro.tb_lineno
            rastro = rastro.tb_next
        tipo = marcos.recorta(type(error).__name__, 80)
        respuesta = {"error": "excepcion", "tipo": tipo, "celda": celda, "linea": linea}
        if isinstance(error, NoPermitido):
            respuesta |= _de_veto(self.vetos.falta)
        elif isinstance(error, NameError):
            respuesta |= _de_veto(self._perdido(error.name))
        if self.con_texto:
            respuesta["texto"] = marcos.recorta(error, 400)
        return respuesta


def _de_veto(falta: Falta | None) -> dict[str, int]:
    return dict(zip(("veto", "celda", "linea"), falta, strict=True)) if falta else {}


def siembra() -> None:
    """Lo que se sortee desde aquí es siempre lo mismo.

    ``torch.manual_seed`` apunta además, en cada llamada, la pila entera para cuando haya una GPU:
    cuesta más que muchas entregas.
    """
    import torch

    torch.default_generator.manual_seed(SEMILLA_DE_LLAMADA)


def hojas_con_gradiente(valor: Any, hojas: list[Any]) -> Any:
    """Copia el árbol de argumentos y deja en ``hojas`` los tensores reales, con gradiente.

    La entrega recibe un clon de cada hoja: así también puede escribir encima sin romper la
    derivada.
    """
    import torch

    if isinstance(valor, torch.Tensor) and valor.is_floating_point():
        hojas.append(valor.detach().clone().requires_grad_())
        return hojas[-1].clone()
    if isinstance(valor, (list, tuple)):
        return type(valor)(hojas_con_gradiente(v, hojas) for v in valor)
    if isinstance(valor, dict):
        return {k: hojas_con_gradiente(v, hojas) for k, v in valor.items()}
    return valor


def tensores_reales(valor: Any) -> list[Any]:
    """Los tensores de coma flotante de una salida, en orden."""
    import torch

    if isinstance(valor, torch.Tensor):
        return [valor] if valor.is_floating_point() else []
    if isinstance(valor, dict):
        valor = list(valor.values())
    if isinstance(valor, (list, tuple)):
        return [t for v in valor for t in tensores_reales(v)]
    return []


def respuesta_de(
    valor: Any, mensaje: Mapping, tensores: Mapping, hojas: list, parametros: dict
) -> Respuesta:
    """Codifica la salida y, si se piden, los gradientes de las entradas y de los parámetros."""
    salida: dict[str, Any] = {}
    respuesta: dict[str, Any] = {"valor": marcos.codifica(valor, salida)}
    if mensaje["gradiente"] and mensaje["cotangentes"] is not None:
        cotangentes = marcos.descodifica(mensaje["cotangentes"], tensores)
        gradientes = _gradientes(valor, cotangentes, hojas + list(parametros.values()))
        if gradientes is not None:
            respuesta["grad_entradas"] = marcos.codifica(gradientes[: len(hojas)], salida)
            respuesta["grad_parametros"] = marcos.codifica(
                dict(zip(parametros, gradientes[len(hojas) :], strict=True)), salida
            )
    return respuesta, salida


def _gradientes(valor: Any, cotangentes: list[Any], respecto: list[Any]) -> list[Any] | None:
    import torch

    salidas = tensores_reales(valor)
    if len(salidas) != len(cotangentes) or any(
        s.shape != c.shape for s, c in zip(salidas, cotangentes, strict=True)
    ):
        return None
    pares = [(s, c) for s, c in zip(salidas, cotangentes, strict=True) if s.requires_grad]
    if not pares or not respecto:
        return [None] * len(respecto)
    utiles = [r for r in respecto if r.requires_grad]
    # La suma tiene por gradiente las cotangentes; pasarlas como ``grad_outputs`` haría importar
    # sympy: 0.4 s.
    total = sum((s * c.to(s.dtype)).sum() for s, c in pares)
    hallados = torch.autograd.grad(total, utiles, allow_unused=True)
    por_tensor = {id(u): g for u, g in zip(utiles, hallados, strict=True)}
    return [por_tensor.get(id(r)) for r in respecto]


class Dicho(io.TextIOBase):
    """Lo que imprime una entrega: se guarda el principio y el resto se olvida."""

    def __init__(self) -> None:
        self._partes: list[str] = []
        self._quedan = marcos.MAXIMO_DICHO

    def writable(self) -> bool:
        return True

    def write(self, texto: str) -> int:
        if self._quedan > 0:
            parte = marcos.recorta(texto, self._quedan)
            self._quedan -= len(parte)
            self._partes.append(parte)
        return len(texto)

    def toma(self) -> str:
        """Lo impreso desde la última vez."""
        partes, self._partes, self._quedan = self._partes, [], marcos.MAXIMO_DICHO
        return "".join(partes)


def bucle(lee: Callable[[int], bytes], escribe: Callable[[bytes], None]) -> None:
    """Atiende marcos hasta que se cierre la tubería. Lo que imprime el código viaja con su
    respuesta, si se pidió.
    """
    alumno, dicho = Alumno(), Dicho()
    while True:
        try:
            mensaje, tensores = marcos.desempaqueta_peticion(lee)
        except EOFError:
            return
        if mensaje.get("con_texto"):
            sys.stdout = sys.stderr = dicho
        respuesta, salida = alumno.atiende(mensaje, tensores)
        if alumno.con_texto:
            respuesta["dicho"] = dicho.toma()
        escribe(_marco(respuesta, salida))


def _marco(respuesta: dict[str, Any], salida: dict[str, Any]) -> bytes:
    try:
        return marcos.empaqueta(respuesta, salida)
    except marcos.MarcoInvalido:
        return marcos.empaqueta({"error": "grande"})
