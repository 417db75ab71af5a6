"""Estropea el código de una en una y mira si las pruebas lo ven.

``python tools mutantes [CARPETA …] [--cuantos 20] [--semilla 0] [--minimo 90] [--rapidas]``

Sin carpetas, reparte la muestra entre ``code/atento``, ``code/figuras``, ``book/_ext`` y ``tools``.
Cada falta (una comparación al revés, una constante que cambia, una instrucción o un ``raise`` que
desaparece, un ``not`` de más o de menos) se planta en una copia del proyecto y se ejecutan las
pruebas de ese fichero que pasan por esa línea, las más rápidas primero; por dónde pasa cada una se
mira antes, con el código sano (:mod:`pruebas_por_linea`). Las que lanzan procesos se ejecutan
siempre, al final, y si no la ve ninguna, también las demás de los mismos ficheros. Lo que sobrevive
pide una prueba o, si de verdad no cambia nada que importe, una línea con su razón en
``tools/cuidar/equivalentes.yml``: esas faltas no se plantan. Es propio porque las herramientas
conocidas estropean el paquete instalado, y aquí la mitad del código son guiones y una extensión de
Sphinx.
"""

from __future__ import annotations

from procesos import PLAZO_VENCIDO, corre, principal

# isort: split
# Lo demás tarda en importarse, y Ctrl+C se atiende ya.
import argparse
import ast
import functools
import hashlib
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from cuidar.pruebas_por_linea import TODAS

RAIZ = Path(__file__).resolve().parents[2]
CARPETAS = ("code/atento", "code/figuras", "book/_ext", "tools")
NO_SE_TOCAN = {"mutantes.py", "pruebas_por_linea.py"}  # son los que miden
# Las ejecuciones largas, de minutos u horas: las pruebas miran lo que dejaron guardado, no cómo se
# hizo. La orden que las lanza sí se estropea.
LARGAS = Path("tools/semillas")
LLAMA = Path("tools/__main__.py")  # dos líneas
# Con «--rapidas», sin construir libros ni abrir navegadores: se ven como mucho las mismas faltas.
RAPIDAS = "not construccion and not navegador and not lento"
GUARDADOS = RAIZ / "book/_build/.pruebas_por_linea"
EQUIVALENTES = RAIZ / "tools/cuidar/equivalentes.yml"
PLAZO = 600
MUESTRA_MINIMA = 50  # con menos faltas, una más o menos cambia mucho la parte que se ve
PLAZO_MIRAR = 3 * PLAZO  # todas las pruebas, y anotando por dónde pasan
ANSI = {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
AL_REVES = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
}


@dataclass(frozen=True)
class Mutante:
    """Una falta: dónde está, qué había y qué se pone."""

    fichero: Path
    linea: int
    antes: str
    despues: str
    desde: int
    fuente: str = field(repr=False)

    @property
    def instruccion(self) -> range:
        """Las líneas de la instrucción más corta que contiene la falta."""
        todas = (x for x in ast.walk(ast.parse(self.fuente)) if isinstance(x, ast.stmt))
        suyas = [range(x.lineno, x.end_lineno + 1) for x in todas]
        return min((x for x in suyas if self.linea in x), key=len)

    @property
    def seña(self) -> tuple[str, str, str, str]:
        """Cómo se reconoce aunque el fichero cambie: fichero, línea de código, antes y después."""
        linea = self.fuente.splitlines()[self.linea - 1].strip()
        return (
            self.fichero.as_posix(),
            linea,
            *(" ".join(x.split()) for x in (self.antes, self.despues)),
        )

    @property
    def codigo(self) -> str:
        """El fichero con la falta."""
        bruto = self.fuente.encode()
        return (
            bruto[: self.desde]
            + self.despues.encode()
            + bruto[self.desde + len(self.antes.encode()) :]
        ).decode()

    def __str__(self) -> str:
        corta = (
            "«"
            + " ".join(self.antes.split())[:60]
            + "» → «"
            + " ".join(self.despues.split())[:60]
            + "»"
        )
        return f"{self.fichero}:{self.linea}: {corta}"


def _cambios(nodo: ast.AST) -> Iterator[ast.AST]:
    """Lo que se puede poner en lugar de un nodo."""
    match nodo:
        case ast.Compare(ops=[op]) if type(op) in AL_REVES:
            yield ast.Compare(nodo.left, [AL_REVES[type(op)]()], nodo.comparators)
        case ast.BoolOp() | ast.BinOp() if type(nodo.op) in AL_REVES:
            campos = {**dict(ast.iter_fields(nodo)), "op": AL_REVES[type(nodo.op)]()}
            yield type(nodo)(**campos)
        case ast.UnaryOp(op=ast.Not()):
            yield nodo.operand
        case ast.Constant(value=bool()):
            yield ast.Constant(not nodo.value)
        case ast.Constant(value=int()):
            yield ast.Constant(nodo.value + 1)
        case ast.Return(value=ast.expr() as valor) if not isinstance(valor, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.Raise() | ast.AugAssign() | ast.Continue() | ast.Break():
            yield ast.Pass()
        case ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.If(test=prueba) if not isinstance(prueba, ast.Compare | ast.UnaryOp):
            yield ast.UnaryOp(ast.Not(), prueba)


def _visitables(nodo: ast.AST) -> Iterator[ast.AST]:
    """Los nodos que se pueden estropear: ni docstrings, ni anotaciones, ni textos, ni la llamada
    final a ``main``.
    """
    if isinstance(nodo, ast.JoinedStr | ast.Assert | ast.Import | ast.ImportFrom):
        return
    if isinstance(nodo, ast.If) and "__name__" in ast.unparse(nodo.test):
        return
    if isinstance(nodo, ast.Raise):
        yield nodo
        return
    yield nodo
    for campo, valor in ast.iter_fields(nodo):
        if campo in ("annotation", "returns", "decorator_list", "keywords") and not isinstance(
            nodo, ast.Call
        ):
            continue
        for hijo in valor if isinstance(valor, list) else [valor]:
            if isinstance(hijo, ast.AST):
                yield from _visitables(hijo)


def mutantes_de(fuente: str, fichero: Path) -> list[Mutante]:
    """Todas las faltas que se pueden plantar en un fichero."""
    bruto = fuente.encode()
    inicios = [0, *(m.end() for m in re.finditer(b"\n", bruto))]
    salida = []
    for nodo in _visitables(ast.parse(fuente)):
        for nuevo in _cambios(nodo):
            sitio = nodo.test if isinstance(nodo, ast.If) else nodo
            desde = inicios[sitio.lineno - 1] + sitio.col_offset
            antes = bruto[desde : inicios[sitio.end_lineno - 1] + sitio.end_col_offset].decode()
            texto = ast.unparse(ast.fix_missing_locations(nuevo))
            suelto = isinstance(nuevo, ast.expr) and not isinstance(nuevo, ast.Constant)
            salida.append(
                Mutante(
                    fichero, sitio.lineno, antes, f"({texto})" if suelto else texto, desde, fuente
                )
            )
    return salida


def pruebas_de(fichero: Path, raiz: Path = RAIZ) -> list[str]:
    """Los ficheros de pruebas que miran un fichero: los que llevan su nombre o, si no los hay, los
    que lo importan.

    Lo que solo se ve en las páginas de la extensión se mira construyendo los libros pequeños.
    """
    nombre, partes = fichero.stem, fichero.with_suffix("").parts
    carpetas = (
        ("tests/atento", "tests/figuras")
        if partes[0] == "code"
        else ("tests/maquinaria", "tests/libro")  # las de «sitio» necesitan el libro construido
    )
    hay = [p for c in carpetas for p in sorted((raiz / c).rglob("test_*.py"))]
    de_nombre = [
        p
        for p in hay
        if {p.stem, "_".join(p.stem.split("_")[:2])} & {f"test_{parte}" for parte in partes}
    ]
    nombres = {nombre}
    if nombre == "__main__" and (raiz / fichero).exists():  # lo mira quien mira a lo que llama
        nombres = set(_importados((raiz / fichero).read_text(encoding="utf-8"))) - {"main"}
    suyas = de_nombre or [p for p in hay if nombres & _importados(p.read_text(encoding="utf-8"))]
    construye = raiz / "tests/libro/test_extension.py"
    if partes[0] == "book" and construye not in suyas and _se_conecta(raiz / fichero, suyas):
        suyas = [*suyas, construye]
    return [p.relative_to(raiz).as_posix() for p in suyas]


@functools.cache
def _importados(texto: str) -> frozenset[str]:
    """Los nombres, parte a parte, de todo lo que un fichero importa."""
    nombres: set[str] = set()
    for nodo in ast.walk(ast.parse(texto)):
        if isinstance(nodo, ast.ImportFrom):
            nombres |= {*(nodo.module or "").split("."), *(alias.name for alias in nodo.names)}
        elif isinstance(nodo, ast.Import):
            nombres |= {parte for alias in nodo.names for parte in alias.name.split(".")}
    return frozenset(nombres)


def _se_conecta(ruta: Path, suyas: list[Path]) -> bool:
    """Si un módulo de la extensión cambia las páginas: lo suyo se mira también construyendo."""
    return not suyas or (ruta.exists() and "\ndef setup(app" in ruta.read_text(encoding="utf-8"))


def copia(destino: Path) -> None:
    """Copia lo que está en git y lo que aún no se ha confirmado, sin lo construido."""
    orden = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    nombres = (
        subprocess.run(orden, cwd=RAIZ, capture_output=True, check=True, timeout=60)
        .stdout.decode()
        .split("\0")
    )
    for nombre in filter(None, nombres):
        if (RAIZ / nombre).is_file():
            (destino / nombre).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(RAIZ / nombre, destino / nombre)


def pytest(copiado: Path, ficheros: list[str], plazo: float = PLAZO, **entorno: str) -> int:
    """Ejecuta unas pruebas en la copia y devuelve su estado."""
    carpetas = (copiado / "code", copiado / "tools", copiado / "book/_ext", RAIZ / "tools")
    orden = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p"]
    orden += ["cuidar.pruebas_por_linea"]
    rutas = os.pathsep.join(map(str, carpetas))
    todo = {**os.environ, **ANSI, "PYTHONPATH": rutas, **entorno}
    nada = subprocess.DEVNULL
    orden += [
        "--timeout",
        "120",
        *(["-m", RAPIDAS] if "MUTANTES_RAPIDAS" in todo else []),
        *ficheros,
    ]
    return corre(orden, plazo, cwd=copiado, env=todo, stdout=nada, stderr=nada)


def mira(copiado: Path, ficheros: list[Path], pruebas: list[str]) -> dict[str, Any]:
    """Ejecuta las pruebas con el código sano y devuelve por dónde pasa cada una.

    Con el mismo código y las mismas pruebas no se repite.
    """
    guardado = GUARDADOS / f"{_huella(copiado, ficheros, pruebas)}.json"
    if not guardado.exists():
        guardado.parent.mkdir(parents=True, exist_ok=True)
        mirados = "\n".join(str(copiado / x) for x in ficheros)
        opciones = {"TESTIGOS_MIRA": mirados, "TESTIGOS_SALIDA": str(copiado / "testigos.json")}
        if pytest(copiado, pruebas, PLAZO_MIRAR, **opciones):
            raise SystemExit(f"Sin ninguna falta ya fallan: {' '.join(pruebas)}")
        texto = (copiado / "testigos.json").read_text(encoding="utf-8")
        guardado.write_text(texto.replace(f"{copiado}/", ""), encoding="utf-8")
    return json.loads(guardado.read_text(encoding="utf-8"))


def _huella(copiado: Path, ficheros: list[Path], pruebas: list[str]) -> str:
    """Las letras que cambian si cambian las pruebas, lo mirado o cualquier código que usen."""
    codigo = [p for carpeta in CARPETAS for p in (copiado / carpeta).rglob("*.py")]
    comunes = list((copiado / "tests").rglob("conftest.py"))
    letras = hashlib.sha256(
        repr((sorted(map(str, ficheros)), pruebas, "MUTANTES_RAPIDAS" in os.environ)).encode()
    )
    for ruta in sorted({*codigo, *comunes, *(copiado / p for p in pruebas)}):
        letras.update(ruta.relative_to(copiado).as_posix().encode() + ruta.read_bytes())
    return letras.hexdigest()[:16]


def pasan_por(mutante: Mutante, visto: dict[str, Any]) -> list[str]:
    """Las pruebas que pasan por la falta, de la más rápida a la más lenta, y las que lanzan
    procesos, que no se sabe por dónde pasan.
    """
    lineas = visto["lineas"].get(mutante.fichero.as_posix(), {})
    aqui = set(mutante.instruccion)
    pasan = {quien for quien, suyas in lineas.items() if aqui & set(suyas)}
    lanzan = set(visto["lanzan"])
    todas = visto["segundos"]
    if TODAS in pasan | lanzan:
        pasan |= set(todas)
    elegidas = (pasan | lanzan) & set(todas)
    return sorted(elegidas, key=lambda quien: (quien not in pasan, quien in lanzan, todas[quien]))


def los_demas(testigos: list[str], visto: dict[str, Any]) -> list[str]:
    """Las otras pruebas de los mismos ficheros: sin pasar por la línea, alguna mira lo que otra
    dejó guardado en memoria.
    """
    ficheros, todas = {t.partition("::")[0] for t in testigos}, visto["segundos"]
    otras = (x for x in todas if x.partition("::")[0] in ficheros and x not in testigos)
    return sorted(otras, key=todas.__getitem__)


def lo_ven(mutante: Mutante, copiado: Path, pruebas: list[str], testigos: list[str]) -> bool:
    """Si alguna de las pruebas que pasan por la falta la ve; el fichero queda después como
    estaba.
    """
    ruta, lista = copiado / mutante.fichero, copiado / "solo.txt"
    original = ruta.read_bytes()
    lista.write_text("\n".join(testigos), encoding="utf-8")
    ficheros = [p for p in pruebas if any(t.startswith(f"{p}::") for t in testigos)]
    try:
        ruta.write_text(mutante.codigo, encoding="utf-8")
        estado = pytest(copiado, ficheros, TESTIGOS_SOLO=str(lista))
        return estado in (1, 2, 3, PLAZO_VENCIDO)
    finally:
        ruta.write_bytes(original)


def equivalentes() -> dict[tuple[str, str, str, str], str]:
    """Las faltas revisadas que no cambian nada que importe, con la razón de cada una."""
    filas = yaml.safe_load(EQUIVALENTES.read_text(encoding="utf-8")) or []
    señas = ("fichero", "linea", "antes", "despues")
    return {tuple(str(fila[x]) for x in señas): fila["porque"] for fila in filas}


def todos(carpeta: str) -> list[Mutante]:
    """Todas las faltas que se pueden plantar en una carpeta o en un fichero."""
    base = RAIZ / carpeta
    rutas = [base] if base.is_file() else sorted(base.rglob("*.py"))
    nombres = [p.relative_to(RAIZ) for p in rutas if p.name not in NO_SE_TOCAN]
    return [
        mutante
        for nombre in nombres
        if nombre != LLAMA
        if base.is_file() or nombre.parent != LARGAS or not nombre.name.startswith("cap")
        for mutante in mutantes_de((RAIZ / nombre).read_text(encoding="utf-8"), nombre)
    ]


def muestra(carpetas: list[str], cuantos: int, semilla: int) -> list[Mutante]:
    """Unas cuantas faltas de cada carpeta, las mismas con la misma semilla."""
    salida, sabidas = [], equivalentes()
    for carpeta in carpetas:
        faltas = [m for m in todos(carpeta) if m.seña not in sabidas]
        salida += random.Random(semilla).sample(faltas, min(cuantos, len(faltas)))
    return salida


def hermanos(fichero: Path, pruebas: Sequence[str], copiado: Path) -> list[Path]:
    """Los ficheros de la misma carpeta que miran las mismas pruebas."""
    raiz = next((x for x in CARPETAS if fichero.is_relative_to(x)), fichero.parent.as_posix())
    todas = [p.relative_to(copiado) for p in sorted((copiado / raiz).rglob("*.py"))]
    return [p for p in todas if sorted(pruebas_de(p, copiado)) == list(pruebas)]


def mide(faltas: list[Mutante], copiado: Path) -> list[Mutante]:
    """Planta las faltas de una en una; devuelve las que nadie ve. Sin faltas, las pruebas tienen
    que pasar.
    """
    grupos: dict[tuple[str, ...], list[Mutante]] = {}
    for falta in faltas:
        grupos.setdefault(tuple(sorted(pruebas_de(falta.fichero, copiado))), []).append(falta)
    vivos, hechas = [], 0
    for pruebas, suyas in grupos.items():
        ficheros = hermanos(suyas[0].fichero, pruebas, copiado)
        visto = mira(copiado, ficheros, list(pruebas)) if pruebas else {}
        for falta in suyas:
            testigos = pasan_por(falta, visto) if pruebas else []
            tandas = (testigos, los_demas(testigos, visto)) if testigos else ()
            vista = any(lo_ven(falta, copiado, list(pruebas), tanda) for tanda in tandas if tanda)
            hechas, dicho = hechas + 1, "vista" if vista else "VIVA " if testigos else "NADIE"
            print(f"{hechas:3d}/{len(faltas)} {dicho} {falta}", flush=True)
            vivos += [] if vista else [falta]
    return vivos


def exige(minimo: float, vistas: int, plantadas: int) -> None:
    """Acaba mal si se ha visto menos del ``minimo`` por ciento de una muestra que diga algo."""
    if plantadas < MUESTRA_MINIMA:
        if minimo:
            print(f"Con menos de {MUESTRA_MINIMA} faltas no se exige ninguna parte.")
    elif 100 * vistas < minimo * plantadas:
        sys.exit(f"Se ven {vistas} de {plantadas}, y se pide al menos el {minimo:g} %.")


def main() -> None:
    """Punto de entrada."""
    opciones = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    opciones.add_argument("carpetas", nargs="*", default=list(CARPETAS))
    opciones.add_argument("--cuantos", type=int, default=20, help="faltas de cada carpeta")
    opciones.add_argument("--semilla", type=int, default=0)
    opciones.add_argument(
        "--minimo", type=float, default=0, help="acaba mal si se ve una parte menor, en tanto %%"
    )
    opciones.add_argument("--rapidas", action="store_true", help="sin construir ni navegador")
    elegido = opciones.parse_args()
    if elegido.rapidas:
        os.environ["MUTANTES_RAPIDAS"] = "1"
    faltas = muestra(elegido.carpetas or list(CARPETAS), elegido.cuantos, elegido.semilla)
    with tempfile.TemporaryDirectory() as carpeta:
        copia(Path(carpeta))
        vivos = mide(faltas, Path(carpeta))
    for nombre in elegido.carpetas or CARPETAS:
        suyas = [f for f in faltas if f.fichero.is_relative_to(nombre)]
        quedan = sum(f.fichero.is_relative_to(nombre) for f in vivos)
        print(f"{nombre}: {len(suyas) - quedan} de {len(suyas)} vistas")
    uso = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"Semilla {elegido.semilla}; {uso.ru_utime + uso.ru_stime:.0f} s de procesador")
    exige(elegido.minimo, len(faltas) - len(vivos), len(faltas))


if __name__ == "__main__":
    principal(main)
