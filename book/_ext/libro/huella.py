"""La huella de un capítulo: de ella depende su caché de ejecución.

jupyter-cache solo mira las celdas. Si cambia la biblioteca, las salidas guardadas dejan de valer
aunque las celdas sean las mismas; por eso la ruta de la caché de cada capítulo termina en un
resumen de las fuentes que importa, directa o indirectamente, de sus datos y de las versiones que
deciden los números. Los comentarios y las docstrings no cuentan, salvo que el capítulo o algo que
importa mire el código fuente. No importa Sphinx: lo usan la extensión y los guiones.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path

from libro.lector import analiza

DISTRIBUCIONES = ("torch", "numpy", "matplotlib")
PAQUETES = ("atento", "figuras", "calificador")
FICHA = "fallo.json"  # qué celda de una página ha fallado
MIRA_LAS_FUENTES = re.compile(
    r"getsource|getdoc|getcomments|__doc__|linecache|format_exc|print_exc"
    r"|(?<![.\w])help\(|^[ \t]*[\w.]+\?{1,2}[ \t]*$",
    re.MULTILINE,
)
IMPORTA_AL_VUELO = re.compile(
    r"import_module|__import__|def __getattr__|runpy|(?<![.\w])(?:exec|eval)\("
)


@dataclass
class Fuentes:
    """El grafo de importaciones de los paquetes del libro, sin importarlos."""

    raiz: Path
    modulos: dict[str, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for paquete in PAQUETES:
            for ruta in sorted((self.raiz / "code" / paquete).rglob("*.py")):
                partes = ruta.relative_to(self.raiz / "code").with_suffix("").parts
                nombre = ".".join(partes[:-1] if partes[-1] == "__init__" else partes)
                self.modulos[nombre] = ruta

    def importados(self, codigo: str, desde: str = "") -> tuple[set[str], set[str]]:
        """Módulos del libro y paquetes de fuera que un código importa en cualquier lugar.

        ``desde`` es el paquete respecto del que se leen las importaciones relativas. Un código que
        no se puede leer, o que importa al vuelo, los usa todos.
        """
        nombres = _importa(codigo, desde)
        if nombres is None:
            return set(self.modulos), set()
        propios = {m for nombre in nombres for m in self._con_padres(nombre)}
        if IMPORTA_AL_VUELO.search(codigo):
            paquete = desde.partition(".")[0]
            propios |= {m for m in self.modulos if m.partition(".")[0] == paquete or not paquete}
        fuera = {nombre.partition(".")[0] for nombre in nombres} - set(PAQUETES)
        return propios, fuera

    def _con_padres(self, nombre: str) -> set[str]:
        """El módulo y los paquetes que lo contienen, que también se ejecutan al importarlo."""
        partes = nombre.split(".")
        return {x for i in range(1, len(partes) + 1) if (x := ".".join(partes[:i])) in self.modulos}

    def alcance(self, codigo: str) -> tuple[set[str], set[str]]:
        """Lo que un código importa, y lo que eso importa, y así hasta el final."""
        pendientes, fuera = self.importados(codigo)
        vistos: set[str] = set()
        while pendientes:
            modulo = pendientes.pop()
            vistos.add(modulo)
            ruta = self.modulos[modulo]
            paquete = modulo if ruta.name == "__init__.py" else modulo.rpartition(".")[0]
            propios, otros = self.importados(self.textos[modulo], paquete)
            fuera |= otros
            pendientes |= propios - vistos
        return vistos, fuera

    @cached_property
    def textos(self) -> dict[str, str]:
        """El código de cada módulo, leído una vez."""
        return {m: ruta.read_text(encoding="utf-8") for m, ruta in self.modulos.items()}

    @cached_property
    def datos(self) -> list[Path]:
        """Los ficheros de los paquetes que no son código."""
        rutas = (p for paquete in PAQUETES for p in (self.raiz / "code" / paquete).rglob("*"))
        return sorted(
            p
            for p in rutas
            if p.is_file() and p.suffix not in (".py", ".pyc") and "__pycache__" not in p.parts
        )

    def datos_de(self, modulos: set[str], codigo: str, numero: str) -> list[Path]:
        """Los datos que un capítulo puede leer.

        Los que llevan un número en el nombre (``semillas-03.json``) son del capítulo que lo lleva o
        los nombra («03»; de ``pesos-copia-14``, «copia-14»); los que algún módulo nombra, de
        quienes lo importan; del resto, los de sus paquetes.
        """
        return [p for p in self.datos if self._puede_leer(p, modulos, codigo, numero)]

    def _puede_leer(self, dato: Path, modulos: set[str], codigo: str, numero: str) -> bool:
        paquete = dato.relative_to(self.raiz / "code").parts[0]
        if paquete not in modulos:
            return False
        suyo = re.search(r"-(\d\d)$", dato.stem)
        if suyo:
            clave = dato.stem.partition("-")[2]  # «03» de «semillas-03», «copia-14» de los pesos
            return suyo[1] == numero or re.search(rf"['\"]{clave}['\"]", codigo) is not None
        nombran = {m for m, texto in self.textos.items() if dato.name in texto}
        return not nombran or bool(nombran & modulos)


@cache
def _importa(codigo: str, desde: str) -> frozenset[str] | None:
    """Los nombres que importa un código, o ``None`` si no se puede leer.

    Se guarda por el texto: varias páginas de una construcción importan los mismos módulos.
    """
    try:
        arbol = ast.parse(codigo)
    except SyntaxError:
        return None
    return frozenset(x for nodo in ast.walk(arbol) for x in _nombres(nodo, desde))


def _nombres(nodo: ast.AST, desde: str) -> Iterable[str]:
    """Los nombres que importa un nodo, con los de ``from x import y`` también como ``x.y``."""
    if isinstance(nodo, ast.Import):
        return [alias.name for alias in nodo.names]
    if not isinstance(nodo, ast.ImportFrom):
        return []
    base = nodo.module or ""
    if nodo.level:
        arriba = desde.split(".")[: len(desde.split(".")) - nodo.level + 1]
        base = ".".join([*arriba, base] if base else arriba)
    return [base, *(f"{base}.{alias.name}" for alias in nodo.names)]


@cache
def normalizado(codigo: str) -> str:
    """El código sin comentarios, docstrings ni espacios: lo que decide qué hace.

    >>> con_notas = "def f():\\n    '''Hola.'''\\n    return 1  # uno"
    >>> normalizado(con_notas) == normalizado("def f(): return 1")
    True
    """
    arbol = ast.parse(codigo)
    for nodo in ast.walk(arbol):
        con_docstring = isinstance(
            nodo, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        )
        if con_docstring and ast.get_docstring(nodo, clean=False) is not None:
            nodo.body = nodo.body[1:] or [ast.Pass()]
    return ast.dump(arbol)


def celdas_de(texto: str) -> str:
    """El código de las celdas de un capítulo; las órdenes de IPython, quitadas."""
    lineas = (x for celda in analiza(texto).celdas for x in celda.codigo)
    return "\n".join(x for x in lineas if not x.lstrip().startswith(("%", "!")))


def huella(texto: str, nombre: str = "", raiz: Path | None = None) -> str:
    """La huella de la página ``nombre`` (sin extensión), cuyo texto es ``texto``.

    ``raiz`` es la raíz del repositorio; por defecto, la que contiene este fichero. La última de
    cada página se guarda con todo lo que puede decidirla: si nada ha cambiado, no se calcula.
    """
    base = Path(raiz) if raiz is not None else Path(__file__).resolve().parents[3]
    guardadas = base / "book" / "_build" / ".huellas.json"
    if not guardadas.parent.is_dir():
        return calcula(texto, nombre, base)
    clave = hashlib.sha256(f"{_todo_lo_demas(base)}\0{nombre}\0{texto}".encode()).hexdigest()
    memoria = _lee(guardadas)
    if memoria.get(nombre, ("", ""))[0] != clave:
        memoria[nombre] = (clave, calcula(texto, nombre, base))
        a_medias = guardadas.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        a_medias.write_text(json.dumps(memoria), encoding="utf-8")
        a_medias.replace(guardadas)
    return memoria[nombre][1]


def _lee(guardadas: Path) -> dict[str, list[str]]:
    try:
        return json.loads(guardadas.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _todo_lo_demas(base: Path) -> str:
    """Una huella de todo lo que no es la página: los paquetes enteros, lo instalado y esto."""
    rutas = [p for x in PAQUETES for p in (base / "code" / x).rglob("*") if p.is_file()]
    rutas += Path(__file__).parent.glob("*.py")
    fichas = ((p, p.stat()) for p in sorted(rutas) if p.suffix != ".pyc")
    return _de_contenido(tuple((p, f.st_mtime_ns, f.st_size) for p, f in fichas), tuple(sys.path))


@cache
def _de_contenido(fichas: tuple[tuple[Path, int, int], ...], donde: tuple[str, ...]) -> str:
    instalado = sorted(p.name for x in donde for p in Path(x or ".").glob("*.dist-info"))
    suma = hashlib.sha256(f"{sys.version} {instalado}".encode())
    for ruta, *_ in fichas:
        suma.update(f"\0{ruta}\0".encode() + ruta.read_bytes())
    return suma.hexdigest()


def calcula(texto: str, nombre: str, raiz: Path) -> str:
    """La huella, hecha de nuevo."""
    fuentes = Fuentes(raiz)
    codigo = celdas_de(texto)
    modulos, fuera = fuentes.alcance(codigo)
    leidos = {m: fuentes.textos[m] for m in sorted(modulos)}
    al_pie_de_la_letra = _ensena_errores(texto) or any(
        map(MIRA_LAS_FUENTES.search, (codigo, *leidos.values()))
    )
    resumen = hashlib.sha256(f"python {sys.version_info.major}.{sys.version_info.minor}\n".encode())
    for distribucion in sorted({*DISTRIBUCIONES, *_distribuciones(fuera)}):
        resumen.update(f"{distribucion} {_version(distribucion)}\n".encode())
    for modulo, fuente in leidos.items():
        resumen.update(
            f"{modulo}\0{fuente if al_pie_de_la_letra else normalizado(fuente)}\0".encode()
        )
    numero = nombre[:2] if re.match(r"\d\d-", nombre) else ""
    for dato in fuentes.datos_de(modulos, codigo, numero):
        resumen.update(
            dato.relative_to(fuentes.raiz).as_posix().encode() + b"\0" + dato.read_bytes()
        )
    return resumen.hexdigest()[:16]


def _ensena_errores(texto: str) -> bool:
    """Si alguna celda enseña un error: la traza lleva líneas de la biblioteca, con sus
    comentarios."""
    return any("raises-exception" in celda.etiquetas for celda in analiza(texto).celdas)


def _distribuciones(paquetes: set[str]) -> set[str]:
    """Las distribuciones instaladas que traen esos paquetes."""
    de_cada_uno = _quien_trae()
    return {d for p in paquetes - set(sys.stdlib_module_names) for d in de_cada_uno.get(p, ())}


_INSTALADOS: dict[str, list[str]] = {}


def _quien_trae() -> dict[str, list[str]]:
    if not _INSTALADOS:
        _INSTALADOS.update(metadata.packages_distributions())
    return _INSTALADOS


def _version(nombre: str) -> str:
    try:
        return metadata.version(nombre)
    except metadata.PackageNotFoundError:
        return "no instalado"


def ruta_cache(libro: Path, nombre: str, marca: str) -> Path:
    """Carpeta de jupyter-cache de una página con esa huella (``libro`` contiene
    ``_config.yml``)."""
    return Path(libro).resolve() / "_build" / ".jupyter_cache" / nombre / marca


def ruta_fallo(libro: Path, nombre: str = "", marca: str = "") -> Path:
    """Donde queda lo que se pudo ejecutar de una página con esa huella que ha fallado."""
    return Path(libro).resolve() / "_build" / ".fallos" / nombre / marca
