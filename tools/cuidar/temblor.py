"""«make temblor»: un capítulo, en procesadores que no se tienen.

``python tools temblor [CAPÍTULO] [--veces 20] [--trabajos 2] [--todo] [--igual]``

Lo ejecuta muchas veces con los parámetros iniciales sacudidos (``cuidar/sacudida.py``), uno y dos
hilos, las instrucciones del procesador hasta donde las haya, las sumas de MKL en otro orden y la
atención fusionada o explícita. Dice, ``assert`` por ``assert`` y número por número, en cuántas ha
fallado, lo peor que ha salido y cuánto faltaba; con algo roto, acaba mal. El resumen se guarda en
``tests/temblor`` con la huella de lo que entrena y comprueba: de él salen las tolerancias de nbval.

Con ``--igual``, para cuando se ha ordenado el código sin cambiar lo que calcula: ejecuta solo la
primera de las veinte y, si da lo mismo hasta el último bit, el resumen que había sigue valiendo.
"""

from __future__ import annotations

from procesos import principal

# isort: split
# Lo demás tarda en importarse, y Ctrl+C se atiende ya.
import argparse
import ast
import asyncio
import atexit
import hashlib
import importlib.util
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from paginas.capitulos import RAIZ, REFERENCIAS, Capitulo, elegidos

# isort: split
# «capitulos» pone la extensión del libro al alcance.
from libro.huella import Fuentes, normalizado

from cuidar.referencias import SANEAR, _saneador, adelgaza, junta
from maquina import procedencia
from paginas.ejecutar import HILOS, Cortado, _cliente, _con_plazo, barra, numero_de_celdas

HERRAMIENTAS = Path(__file__).resolve().parents[1]
RESUMENES = RAIZ / "tests" / "temblor"
VECES = 20  # con menos no se guarda el resumen
PLAZO_DE_OTRA = 1800  # segundos, para la primera ejecución en otra copia
ENTRENADO = "entrenado"
ESCALERA = ["AVX512", "AVX2", "DEFAULT"]
APARTE = ("figuras", "atento.checks", "calificador")
IGNORADAS = {"nbval-ignore-output", "nbval-skip"}
ENTRENA = re.compile(r"\boptim\.|(?<![.\w])fit\(")
IMPORTA = re.compile(r"^(import|from) ", re.MULTILINE)
ANSI = re.compile(r"\x1b\[[\d;]*m")


# --- La huella ------------------------------------------------------------------------------------


class FuentesQueEntrenan(Fuentes):
    """El grafo de importaciones sin lo que dibuja, lo que corrige ni lo que valida argumentos."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for modulo in list(self.modulos):
            if _aparte(modulo):
                del self.modulos[modulo]


def _aparte(modulo: str) -> bool:
    return any(modulo == x or modulo.startswith(f"{x}.") for x in APARTE)


def _modulo_de(dato: Path, raiz: Path) -> str:
    """La carpeta de un fichero de datos, como módulo."""
    return ".".join(dato.parent.relative_to(raiz / "code").parts)


def huella_del_temblor(capitulo: Capitulo, raiz: Path = RAIZ) -> str:
    """De qué depende lo que un capítulo entrena y comprueba.

    Cuentan sus celdas, salvo las que solo dibujan, lo que importan, los datos que leen y la versión
    de PyTorch; no, los comentarios, las docstrings ni los resultados guardados de otras semillas.
    """
    todas = _celdas(capitulo)
    codigo = "\n".join(_sin_ordenes(c.source) for c in todas)
    celdas = [c.source for c in todas if "dibujo" not in _etiquetas(c) or IMPORTA.search(c.source)]
    fuentes = FuentesQueEntrenan(raiz)
    modulos, _ = fuentes.alcance(codigo)
    numero = capitulo.clave if capitulo.clave.isdigit() else ""
    resumen = hashlib.sha256(f"torch {metadata.version('torch')}\n".encode())
    leidos = (normalizado(fuentes.textos[m]) for m in sorted(modulos))
    for texto in (*map(_lo_que_hace, celdas), *leidos):
        resumen.update(texto.encode() + b"\0")
    for dato in fuentes.datos_de(modulos, codigo, numero):
        if not dato.name.startswith("semillas-") and not _aparte(_modulo_de(dato, raiz)):
            resumen.update(dato.name.encode() + b"\0" + dato.read_bytes())
    return resumen.hexdigest()[:16]


def _sin_ordenes(codigo: str) -> str:
    return "\n".join(x for x in codigo.splitlines() if not x.lstrip().startswith(("%", "!")))


def _lo_que_hace(codigo: str) -> str:
    """El código sin comentarios ni importaciones de arriba, que entran con lo que importan; el que
    no se puede leer, como está.
    """
    try:
        arbol = ast.parse(_sin_ordenes(codigo))
    except SyntaxError:
        return codigo
    arbol.body = [x for x in arbol.body if not isinstance(x, ast.Import | ast.ImportFrom)]
    return normalizado(ast.unparse(arbol))


def _celdas(capitulo: Capitulo) -> list[nbformat.NotebookNode]:
    """Las celdas de código que se ejecutan, en orden."""
    return [c for c in capitulo.cuaderno().cells if c.cell_type == "code" and c.source.strip()]


def _etiquetas(celda: nbformat.NotebookNode) -> set[str]:
    return set(celda.metadata.get("tags", []))


def entrena(capitulo: Capitulo) -> bool:
    """Si alguna celda entrena, o enseña lo que da un entrenamiento."""
    return any(ENTRENADO in _etiquetas(c) or ENTRENA.search(c.source) for c in _celdas(capitulo))


def fichero_de(capitulo: Capitulo) -> Path:
    """Dónde se guarda el resumen de un capítulo."""
    return RESUMENES / f"{capitulo.nombre}.json"


def queja(capitulo: Capitulo) -> str | None:
    """Qué le falta al resumen guardado de un capítulo que entrena, o ``None``."""
    if not entrena(capitulo):
        return None
    orden = f"make temblor CAPITULO={capitulo.clave}"
    fichero = fichero_de(capitulo)
    if not fichero.exists():
        return f"{capitulo.nombre}: entrena y no se ha sacudido: {orden}"
    guardado = json.loads(fichero.read_text(encoding="utf-8"))
    if guardado["fingerprint"] != huella_del_temblor(capitulo):
        return f"{capitulo.nombre}: ha cambiado desde que se sacudió: {orden}"
    if guardado["runs"] < VECES:
        return f"{capitulo.nombre}: se ha sacudido {guardado['runs']} veces y no {VECES}: {orden}"
    if guardado["broken"]:
        return f"{capitulo.nombre}: se rompe en {guardado['broken']} de {guardado['runs']}: {orden}"
    return None


# --- Ejecutar -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Modo:
    """Un procesador de mentira."""

    hilos: int
    instrucciones: str
    compatible: bool
    explicita: bool

    def entorno(self) -> dict[str, str]:
        """Las variables que lo hacen."""
        cuales = {"ATEN_CPU_CAPABILITY": self.instrucciones.lower()}
        mkl = {"MKL_CBWR": "COMPATIBLE"} if self.compatible else {}
        hilos = {variable: str(self.hilos) for variable in HILOS}
        hilos["OMP_WAIT_POLICY"] = "passive"  # con más hilos que núcleos, esperar no gasta el suyo
        return hilos | mkl | (cuales if self.instrucciones in ESCALERA else {})

    def __str__(self) -> str:
        partes = [f"{self.hilos} {'hilo' if self.hilos == 1 else 'hilos'}", self.instrucciones]
        partes += ["MKL compatible"] if self.compatible else []
        return ", ".join([*partes, "explícita" if self.explicita else "fusionada"])


def instrucciones() -> list[str]:
    """Las que tiene este procesador, como las llama PyTorch, de más a menos."""
    import torch

    mejor = torch.backends.cpu.get_cpu_capability()
    return ESCALERA[ESCALERA.index(mejor) :] if mejor in ESCALERA else [mejor]


def modos(veces: int, disponibles: list[str]) -> list[Modo]:
    """Una rotación fija; la primera es la de esta máquina y, al dar la vuelta, han salido todas las
    combinaciones.
    """
    todos = [
        Modo(hilos, disponibles[(i + hilos - 1) % len(disponibles)], bool(mkl), bool(explicita))
        for i in range(len(disponibles))
        for mkl, explicita in ((0, 0), (1, 1), (0, 1), (1, 0))
        for hilos in (1, 2)
    ]
    return [todos[i % len(todos)] for i in range(veces)]


@dataclass
class Vez:
    """Lo que ha pasado en una ejecución."""

    modo: Modo
    asertos: list[dict[str, Any]] = field(default_factory=list)
    salidas: list[list[nbformat.NotebookNode]] = field(default_factory=list)
    fallo: tuple[int, int, str] | None = None  # celda, línea y qué


def ejecuta_una(
    capitulo: Capitulo,
    modo: Modo,
    semilla: int,
    avance: Callable[[], None] = lambda: None,
    corte: threading.Event | None = None,
) -> Vez:
    """Ejecuta un capítulo sacudido, hasta el final aunque falle alguna celda.

    Errores: ``RuntimeError`` si el núcleo no llega a calcular como se le pide.
    """
    cuaderno, celdas = capitulo.cuaderno(), _celdas(capitulo)
    deben_fallar = [i for i, c in enumerate(celdas) if "raises-exception" in _etiquetas(c)]
    with tempfile.TemporaryDirectory() as carpeta:
        destino = Path(carpeta) / "asertos.json"
        opciones = {
            "entorno": modo.entorno(),
            "semilla": semilla,
            "explicita": modo.explicita,
            "intactas": deben_fallar,
            "destino": str(destino),
        }
        cuaderno.cells.insert(0, new_code_cell(_preparacion(opciones)))
        cliente = _cliente(capitulo, cuaderno, avance)
        cliente.allow_errors = True
        fallo = None
        try:
            asyncio.run(_con_plazo(cliente, corte or threading.Event()))
        except Cortado:
            raise
        except (RuntimeError, TimeoutError) as error:  # el núcleo ha muerto, o no acaba
            fallo = (max(cliente.code_cells_executed - 2, 0), 1, str(error).strip()[:300])
        finally:
            atexit.unregister(cliente._cleanup_kernel)
        hechas = [c for c in cuaderno.cells if c.cell_type == "code" and c.source.strip()]
        _comprueba(hechas[0], destino, modo)
        apuntado = json.loads(destino.read_text(encoding="utf-8"))
    salidas = [junta([adelgaza(s) for s in c.get("outputs", [])]) for c in hechas[1:]]
    return Vez(modo, apuntado["asertos"], salidas, fallo or _primer_fallo(hechas[1:]))


def _preparacion(opciones: dict[str, Any]) -> str:
    """La celda que se ejecuta antes de la primera."""
    return (
        f"import sys\nsys.path.insert(0, {str(HERRAMIENTAS)!r})\n"
        "from cuidar import sacudida\nsys.path.pop(0)\n"
        f"sacudida.empieza(**{opciones!r})\ndel sacudida, sys"
    )


def _comprueba(preparacion: nbformat.NotebookNode, destino: Path, modo: Modo) -> None:
    """Que el núcleo se ha preparado y ha calculado con los hilos y las instrucciones pedidas."""
    errores = [s for s in preparacion.get("outputs", []) if s.output_type == "error"]
    if errores or not destino.exists():
        dicho = f"{errores[0].ename}: {errores[0].evalue}" if errores else "no ha escrito nada"
        raise RuntimeError(f"El núcleo no se ha podido preparar ({modo}). {dicho}")
    visto = json.loads(destino.read_text(encoding="utf-8"))["procesador"]
    if visto != {"hilos": modo.hilos, "instrucciones": modo.instrucciones}:
        raise RuntimeError(f"Se pedía {modo}, y el núcleo ha calculado con {visto}.")


def _primer_fallo(celdas: list[nbformat.NotebookNode]) -> tuple[int, int, str] | None:
    """La primera celda con un error que no se esperaba; los de detrás suelen venir de él."""
    for i, celda in enumerate(celdas):
        errores = [s for s in celda.outputs if s.output_type == "error"]
        if errores and "raises-exception" not in _etiquetas(celda):
            traza = ANSI.sub("", "\n".join(errores[0].traceback))
            lineas = re.findall(r"^-+> +(\d+)", traza, re.M)
            return i, int(lineas[0]) if lineas else 1, f"{errores[0].ename}: {errores[0].evalue}"
    return None


def sacude(
    capitulo: Capitulo, veces: int, trabajos: int, consola: Console, disponibles: list[str]
) -> list[Vez]:
    """Ejecuta un capítulo tantas veces, de ``trabajos`` en ``trabajos``."""
    os.environ.update(HILOS)
    corte, hechas = threading.Event(), {}
    total = veces * (numero_de_celdas(capitulo.cuaderno()) + 1)
    with barra(consola) as progreso, ThreadPoolExecutor(max_workers=trabajos) as grupo:
        tarea = progreso.add_task(capitulo.nombre, total=total)
        try:
            futuros = {
                grupo.submit(
                    ejecuta_una, capitulo, modo, i, lambda: progreso.advance(tarea), corte
                ): i
                for i, modo in enumerate(modos(veces, disponibles))
            }
            for futuro in as_completed(futuros):
                hechas[futuros[futuro]] = futuro.result()
        except BaseException:
            corte.set()
            grupo.shutdown(cancel_futures=True)
            raise
    return [hechas[i] for i in range(veces)]


# --- Resumir --------------------------------------------------------------------------------------


@cache
def _de_nbval() -> ModuleType:
    """Cómo lee nbval los números de una salida."""
    lugar = importlib.util.spec_from_file_location("nbval_del_libro", REFERENCIAS / "conftest.py")
    modulo = importlib.util.module_from_spec(lugar)
    lugar.loader.exec_module(modulo)
    return modulo


def resume(capitulo: Capitulo, veces: list[Vez]) -> dict[str, Any]:
    """Lo que dicen todas las ejecuciones: asertos, números, salidas que no se repiten y fallos."""
    celdas, donde = _celdas(capitulo), _lineas(capitulo)
    rotas: set[int] = {i for i, v in enumerate(veces) if v.fallo}
    fallos = Counter(v.fallo for v in veces if v.fallo)
    asertos = _asertos(veces, donde, rotas)
    entrenadas, cambian = [], []
    for i, celda in enumerate(celdas):
        etiquetas = _etiquetas(celda)
        salidas = {r: v.salidas[i] for r, v in enumerate(veces) if not v.fallo or v.fallo[0] > i}
        if not salidas or etiquetas & IGNORADAS:
            continue
        que = _moldes if ENTRENADO in etiquetas else _saneadas
        distintas = _minoria({r: que(s) for r, s in salidas.items()})
        rotas |= distintas
        if distintas:
            cambian.append({"line": donde[i], "cell": i, "broken": len(distintas),
                            "trained": ENTRENADO in etiquetas})  # fmt: skip
        if ENTRENADO in etiquetas:
            buenas = [s for r, s in salidas.items() if r not in distintas]
            entrenadas.append(_numeros(i, celda, donde[i], buenas))
    return {
        "runs": len(veces),
        "broken": len(rotas),
        "modes": [f"{n} × {modo}" for modo, n in Counter(str(v.modo) for v in veces).items()],
        "failures": [
            {"cell": i, "line": donde[i] + linea - 1, "what": que, "broken": n}
            for (i, linea, que), n in fallos.items()
        ],
        "changing": cambian,
        "asserts": asertos,
        "cells": entrenadas,
    }


def rastro(capitulo: Capitulo, vez: Vez) -> str:
    """La huella de todo lo que ha dado una ejecución, hasta el último bit: lo que se compara en
    cada ``assert`` y lo que dicen las celdas, salvo los tiempos.
    """
    asertos = [(a["texto"], a["veces"], a["falla"], a["hojas"]) for a in vez.asertos]
    celdas = zip(_celdas(capitulo), vez.salidas, strict=True)
    dicho = [_saneadas(salidas) for c, salidas in celdas if not _etiquetas(c) & IGNORADAS]
    todo = json.dumps([asertos, dicho, vez.fallo], ensure_ascii=False)
    return hashlib.sha256(todo.encode()).hexdigest()[:16]


def _lineas(capitulo: Capitulo) -> list[int]:
    """La línea del fichero en que empieza el código de cada celda."""
    cuaderno, lineas = capitulo.cuaderno(), capitulo.texto().splitlines()
    halladas = []
    for celda, desde in zip(cuaderno.cells, cuaderno.metadata["source_map"], strict=True):
        if celda.cell_type == "code" and celda.source.strip():
            primera = celda.source.splitlines()[0]
            halladas.append(next(i for i in range(desde, len(lineas)) if lineas[i] == primera) + 1)
    return halladas


def _asertos(veces: list[Vez], donde: list[int], rotas: set[int]) -> list[dict[str, Any]]:
    """Cada ``assert`` con sus ejecuciones rotas, que añade a ``rotas``, y lo peor que ha salido."""
    reunidos: dict[tuple, dict[int, dict]] = {}
    for r, vez in enumerate(veces):
        for a in vez.asertos:
            clave = (a["celda"], a["linea"], a["columna"], a["texto"])
            reunidos.setdefault(clave, {})[r] = a
    salida = []
    for (celda, linea, _, texto), en in sorted(reunidos.items()):
        malas = {r for r, a in en.items() if a["falla"]}
        rotas |= malas
        salida.append(
            {
                "line": donde[celda] + linea - 1,
                "assert": " ".join(texto.split()),
                "reached": sum(a["veces"] > 0 for a in en.values()),
                "broken": len(malas),
                **_peor_hoja([a["hojas"] for a in en.values()]),
            }
        )
    return salida


def _peor_hoja(por_vez: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """De las comparaciones de un ``assert``, la de menos margen para lo que cambia de una ejecución
    a otra.
    """
    hojas = []
    for una in zip(*por_vez, strict=True):
        medidas = [h for h in una if h["margen"] is not None]
        if medidas:
            peor = min(medidas, key=lambda h: h["margen"])
            margenes = [h["margen"] for h in medidas]
            hojas.append(
                {
                    "comparison": " ".join(peor["texto"].split()),
                    "worst": [peor["izquierda"], peor["derecha"]],
                    "margin": peor["margen"],
                    "spread": max(margenes) - min(margenes),
                }
            )
    return min(hojas, key=_holgura, default={})


def _holgura(hoja: dict[str, Any]) -> float:
    """Cuántas veces cabe en el margen lo que cambia de una ejecución a otra."""
    if hoja["spread"]:
        return hoja["margin"] / hoja["spread"]
    return math.inf if hoja["margin"] >= 0 else -math.inf


def es_fragil(aserto: dict[str, Any]) -> bool:
    """Si ha fallado alguna vez, o si el margen es menor que lo que cambia."""
    return aserto["broken"] > 0 or ("margin" in aserto and _holgura(aserto) < 1)


def _moldes(salidas: list[nbformat.NotebookNode]) -> str:
    """Las palabras de una salida, sin sus números ni las huellas de sus figuras."""
    return "\0".join(_de_nbval().molde(t) for t in _de_nbval().textos(salidas))


@cache
def _sanea() -> Callable[[str], str]:
    return _saneador(SANEAR)


def _saneadas(salidas: list[nbformat.NotebookNode]) -> str:
    """Una salida que tiene que ser igual siempre, sin tiempos ni direcciones."""
    return _sanea()("\0".join(_de_nbval().textos(salidas)))


def _minoria(de: dict[int, str]) -> set[int]:
    """Las ejecuciones que no dan lo que da la mayoría."""
    comun = Counter(de.values()).most_common(1)[0][0]
    return {r for r, cual in de.items() if cual != comun}


def _numeros(
    i: int, celda: nbformat.NotebookNode, linea: int, salidas: list[list[nbformat.NotebookNode]]
) -> dict[str, Any]:
    """Entre qué valores ha estado cada número de una celda que entrena."""
    nbval = _de_nbval()
    columnas = zip(*([*map(nbval.valor, nbval.numeros(s))] for s in salidas), strict=True)
    return {
        "cell": i,
        "line": linea,
        "code": nbval.marca(celda.source),
        "numbers": [[min(c), max(c)] for c in columnas],
    }


def ficha(capitulo: Capitulo, veces: int) -> dict[str, Any]:
    """De dónde sale un resumen, con la huella de lo que se ha sacudido."""
    orden = f"make temblor CAPITULO={capitulo.clave} VECES={veces}"
    hecha = procedencia(orden, "torch", "numpy")
    return hecha | {"fingerprint": huella_del_temblor(capitulo)}


def guarda(capitulo: Capitulo, resumen: dict[str, Any]) -> Path:
    """Escribe el resumen, con cada elemento de sus listas en una línea."""
    RESUMENES.mkdir(parents=True, exist_ok=True)
    partes = []
    for clave, valor in resumen.items():
        texto = json.dumps(valor, ensure_ascii=False)
        if isinstance(valor, list) and valor:
            texto = (
                "[\n  " + ",\n  ".join(json.dumps(x, ensure_ascii=False) for x in valor) + "\n ]"
            )
        partes.append(f" {json.dumps(clave)}: {texto}")
    destino = fichero_de(capitulo)
    destino.write_text("{\n" + ",\n".join(partes) + "\n}\n", encoding="utf-8")
    return destino


def primera(capitulo: Capitulo, consola: Console, disponibles: list[str]) -> dict[str, str]:
    """La huella de lo que se sacude y el rastro que deja aquí la primera de las veinte."""
    (vez,) = sacude(capitulo, 1, 1, consola, disponibles)
    return {"fingerprint": huella_del_temblor(capitulo), "trace": rastro(capitulo, vez)}


def primera_en(copia: Path, capitulo: Capitulo) -> dict[str, str]:
    """Lo mismo, en otra copia del libro y en esta máquina.

    Errores: ``SystemExit`` si la copia no es una copia o no llega a decirlo.
    """
    if not (copia / "tools" / "cuidar" / "temblor.py").is_file():
        raise SystemExit(
            f"--contra: se esperaba la carpeta de otra copia del libro; llegó {copia}."
        )
    rutas = os.pathsep.join(str(copia / nombre) for nombre in ("code", "tools"))
    hecho = subprocess.run(
        [sys.executable, "tools", "temblor", capitulo.clave, "--rastro"],
        cwd=copia,
        env=os.environ | {"PYTHONPATH": rutas},
        capture_output=True,
        text=True,
        timeout=PLAZO_DE_OTRA,
    )
    if hecho.returncode:
        dicho = (hecho.stderr.strip() or hecho.stdout.strip())[-400:]
        raise SystemExit(f"{copia}: no ha dado el rastro de {capitulo.nombre}. {dicho}")
    return json.loads(hecho.stdout.splitlines()[-1])


def sigue_igual(
    capitulo: Capitulo, consola: Console, disponibles: list[str], contra: Path | None = None
) -> bool:
    """Pone al día la huella de un resumen si la primera ejecución da lo mismo que dio.

    Lo que dio está en el resumen y solo vale en la máquina que lo hizo. Con ``contra``, la carpeta
    de una copia del libro con el código que se sacudió, se ejecuta allí y aquí, y vale en todas.
    """
    fichero, orden = fichero_de(capitulo), f"make temblor CAPITULO={capitulo.clave}"
    resumen = json.loads(fichero.read_text(encoding="utf-8")) if fichero.exists() else {}
    if not resumen.get("trace"):
        consola.print(f"{capitulo.nombre}: no hay con qué comparar: {orden}")
        return False
    antes = primera_en(contra, capitulo) if contra else resumen
    if contra and antes["fingerprint"] != resumen["fingerprint"]:
        consola.print(f"[red]{capitulo.nombre}[/]: lo de {contra} no es lo que se sacudió: {orden}")
        return False
    ahora = primera(capitulo, consola, disponibles)
    if ahora["trace"] != antes["trace"]:
        consola.print(f"[red]{capitulo.nombre}[/]: no da lo mismo que dio: {orden}")
        return False
    guarda(capitulo, resumen | {"fingerprint": ahora["fingerprint"]})
    consola.print(f"{capitulo.nombre}: da lo mismo, y su resumen sigue valiendo.")
    return True


# --- Decirlo --------------------------------------------------------------------------------------


def informa(capitulo: Capitulo, resumen: dict[str, Any], consola: Console, todo: bool) -> None:
    """Lo roto y lo justo o, con ``todo``, todo; al final, una línea."""
    for fallo in resumen["failures"]:
        consola.print(
            f"[red]{capitulo.ruta.name}:{fallo['line']}[/]: una excepción en {fallo['broken']} de"
            f" {resumen['runs']}: {escape(fallo['what'])}"
        )
    for una in resumen["changing"]:
        que = "otras palabras" if una["trained"] else "otra salida, sin la etiqueta «entrenado»"
        consola.print(
            f"[red]{capitulo.ruta.name}:{una['line']}[/]: {que} en {una['broken']} de"
            f" {resumen['runs']}"
        )
    _tabla_de_asertos(resumen, consola, todo)
    _tabla_de_numeros(capitulo, resumen, consola, todo)
    asertos = resumen["asserts"]
    numeros = sum(len(c["numbers"]) for c in resumen["cells"])
    consola.print(
        f"{capitulo.nombre}: {resumen['runs']} ejecuciones, {resumen['broken']} rotas;"
        f" {len(asertos)} assert, {sum(a['broken'] > 0 for a in asertos)} rotos y"
        f" {sum(es_fragil(a) and not a['broken'] for a in asertos)} con menos margen que"
        f" dispersión; {numeros} números entrenados."
    )


def _tabla_de_asertos(resumen: dict[str, Any], consola: Console, todo: bool) -> None:
    elegidos = [a for a in resumen["asserts"] if todo or es_fragil(a)]
    if not elegidos:
        return
    tabla = Table("línea", "assert", "rotas", "lo peor", "margen", "dispersión")
    for a in sorted(elegidos, key=lambda a: (-a["broken"], a["line"])):
        medido = (
            [f"{a['worst'][0]:.4g} frente a {a['worst'][1]:.4g}", f"{a['margin']:.3g}",
             f"{a['spread']:.3g}"]
            if "margin" in a
            else ["—"] * 3
        )  # fmt: skip
        color = "[red]" if a["broken"] else ""
        que = a["assert"] if a["broken"] else a.get("comparison", a["assert"])
        if not a["reached"]:
            que = f"(no se ha ejecutado) {que}"
        tabla.add_row(
            str(a["line"]), escape(que), f"{color}{a['broken']}/{resumen['runs']}", *medido
        )
    consola.print(tabla)


def _tabla_de_numeros(
    capitulo: Capitulo, resumen: dict[str, Any], consola: Console, todo: bool
) -> None:
    """Los números que se apartan más de lo que nbval admitía sin resumen, o cuya referencia no es
    una de tantas.
    """
    tabla = Table("línea", "número", "referencia", "de", "a", "")
    for celda, dichos in _con_referencia(capitulo, resumen):
        for i, ((menor, mayor), dicho) in enumerate(zip(celda["numbers"], dichos, strict=True), 1):
            nota = _nota(menor, mayor, dicho)
            if todo or nota:
                tabla.add_row(
                    str(celda["line"]), str(i), dicho or "—", f"{menor:g}", f"{mayor:g}", nota
                )
    if tabla.row_count:
        consola.print(tabla)


def _con_referencia(
    capitulo: Capitulo, resumen: dict[str, Any]
) -> Iterable[tuple[dict[str, Any], list[str | None]]]:
    """Cada celda que entrena, con los números que dice su referencia si es la de ese código."""
    nbval, guardadas = _de_nbval(), {}
    if capitulo.referencia.exists():
        referencia = nbformat.read(capitulo.referencia, as_version=4)
        guardadas = {nbval.marca(c.source): nbval.numeros(c.outputs) for c in referencia.cells}
    for celda in resumen["cells"]:
        dichos = guardadas.get(celda["code"], [])
        sirven = len(dichos) == len(celda["numbers"])
        yield celda, dichos if sirven else [None] * len(celda["numbers"])


def _nota(menor: float, mayor: float, dicho: str | None) -> str:
    nbval = _de_nbval()
    relativa, absoluta = nbval.TOLERANCIAS["cpu"]
    if dicho is not None:
        holgura = mayor - menor + nbval.ultima_cifra(dicho)
        if not menor - holgura <= nbval.valor(dicho) <= mayor + holgura:
            return "la referencia queda fuera"
    lejos = mayor - menor > absoluta + relativa * max(abs(menor), abs(mayor))
    return "cambia mucho" if lejos else ""


def main() -> None:
    """Punto de entrada."""
    opciones = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    opciones.add_argument("capitulo", nargs="?", help="número o nombre; sin él, los que entrenan")
    opciones.add_argument("--veces", type=int, default=VECES, help=f"ejecuciones ({VECES})")
    opciones.add_argument(
        "--trabajos", type=int, default=os.cpu_count() or 1, help="a la vez; de serie, los núcleos"
    )
    opciones.add_argument("--todo", action="store_true", help="muestra también lo que va bien")
    opciones.add_argument(
        "--igual", action="store_true", help="una vez: si nada cambia, el resumen sigue valiendo"
    )
    opciones.add_argument(
        "--contra", type=Path, help="con --igual, otra copia del libro, la que se sacudió"
    )
    opciones.add_argument(
        "--rastro", action="store_true", help="una vez: dice en JSON la huella y el rastro"
    )
    pedido, consola = opciones.parse_args(), Console()
    if min(pedido.veces, pedido.trabajos) < 1:
        opciones.error("--veces y --trabajos son al menos 1")
    if pedido.contra and not pedido.igual:
        opciones.error("--contra va con --igual")
    lista = elegidos(pedido.capitulo)
    roto, disponibles = False, instrucciones()
    lista = lista if pedido.capitulo else list(filter(entrena, lista))
    if pedido.igual:
        contra = pedido.contra.resolve() if pedido.contra else None
        sys.exit(not all([sigue_igual(x, consola, disponibles, contra) for x in lista]))
    if pedido.rastro:
        for capitulo in lista:
            print(json.dumps(primera(capitulo, consola, disponibles)))
        sys.exit(0)
    for capitulo in lista:
        veces = sacude(capitulo, pedido.veces, pedido.trabajos, consola, disponibles)
        resumen = ficha(capitulo, pedido.veces) | {"trace": rastro(capitulo, veces[0])}
        resumen |= resume(capitulo, veces)
        informa(capitulo, resumen, consola, pedido.todo)
        if pedido.veces >= VECES:
            consola.print(f"Guardado en {guarda(capitulo, resumen).relative_to(RAIZ)}.")
        else:
            consola.print(f"Con menos de {VECES} veces no se guarda.")
        roto = roto or resumen["broken"] > 0
    sys.exit(1 if roto else 0)


if __name__ == "__main__":
    principal(main)
