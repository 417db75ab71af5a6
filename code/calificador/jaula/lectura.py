"""Qué puede leer una entrega: una lista de lo permitido, la misma en un clon (``pip install -e``) y
desde un wheel.

Se permiten la biblioteca estándar, las bibliotecas del sistema que carga Python y, una a una y por
su distribución, las que usa el libro. De ``site-packages`` no se abre la carpeta: solo lo que cada
distribución dice que es suyo. Del calificador, las soluciones, los esqueletos y las pruebas no se
permite nada, estén donde estén.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import sysconfig
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

PAQUETE = Path(__file__).resolve().parents[1]

# Lo que importan ``atento`` y los ejercicios; sus dependencias se añaden solas.
BIBLIOTECAS = (
    "torch",
    "numpy",
    "scipy",
    "charset-normalizer",  # lo importa numpy.f2py si está, y con él scipy.optimize
    "safetensors",
    "einops",
    "jaxtyping",
    "beartype",
    "matplotlib",
    "ipython",
    "tqdm",
    "regex",
    "msgspec",
    "scikit-learn",
)
AJENAS = ("site-packages", "dist-packages")
_DEL_SISTEMA = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
_SUELTOS = ("/usr/share/zoneinfo", "/etc/ld.so.cache", "/etc/localtime")
_BIBLIOTECA = re.compile(r"/[^ ]*/(?=[^/ ]+\.so(\.|$))")
_NOMBRE = re.compile(r"[A-Za-z0-9._-]+")


def carpetas_vedadas() -> list[Path]:
    """Lo que en ``fuerte`` se tapa además con un montaje vacío: el calificador y, en un clon, lo
    que tiene al lado.
    """
    clon = PAQUETE.parents[1]
    vedadas = [PAQUETE, *(clon / n for n in ("exercises", "solutions", "tests")), clon / ".git"]
    es_clon = (clon / "pyproject.toml").is_file()
    return [v for v in (vedadas if es_clon else [PAQUETE]) if v.is_dir()]


def legibles() -> dict[Path, bool]:
    """Ruta permitida → si se pueden leer sus ficheros (si no, solo se listan sus nombres)."""
    permitidas: dict[Path, bool] = dict.fromkeys(_raices_de_importacion(), False)
    rutas = [*_estandar(), *_sistema(), *de_distribuciones(BIBLIOTECAS), *_atento()]
    enteras = {r.resolve() for r in rutas if r.exists()}
    permitidas |= {r: True for r in enteras if not any(p in enteras for p in r.parents)}
    for ruta in enteras:
        if any(ruta == v or ruta in v.parents or v in ruta.parents for v in carpetas_vedadas()):
            raise OSError(
                f"la instalación mezcla el calificador con {ruta}: instala el paquete en un entorno"
                " propio"
            )
    return permitidas


def _raices_de_importacion() -> Iterator[Path]:
    """Las carpetas de ``sys.path``: Python las lista para encontrar un módulo, pero no hace falta
    leerlas enteras.
    """
    for raiz in map(Path, filter(None, sys.path)):
        if raiz.is_dir():
            yield raiz.resolve()


def _estandar() -> Iterator[Path]:
    """La biblioteca estándar, sin los paquetes instalados que el Python de base guarda dentro."""
    for nombre in ("stdlib", "platstdlib"):
        raiz = Path(sysconfig.get_path(nombre))
        if raiz.is_dir():
            yield from (h for h in raiz.iterdir() if h.name not in AJENAS)
    yield from (Path(r) for r in sys.path if r.endswith(".zip"))


def _sistema() -> Iterator[Path]:
    """Las carpetas de bibliotecas compartidas del sistema y las de las que ya están cargadas."""
    for raiz in map(Path, _DEL_SISTEMA):
        if raiz.is_dir():
            yield from (h for h in raiz.iterdir() if _es_de_bibliotecas(h))
    yield from map(Path, _SUELTOS)
    for ruta in _cargadas():
        if not any(parte in AJENAS for parte in ruta.parts):
            yield ruta


def _es_de_bibliotecas(hijo: Path) -> bool:
    """Un ``.so`` suelto o una carpeta de arquitectura (``x86_64-linux-gnu``): nada de
    ``/usr/lib/python3``.
    """
    return (
        ".so" in hijo.name
        if not hijo.is_dir()
        else bool(re.search(r"-linux-|^(?:gconv|locale)$", hijo.name))
    )


def _cargadas() -> set[Path]:
    """Los ficheros ``.so`` que este proceso tiene cargados."""
    try:
        lineas = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return set()
    rutas = {linea.split(maxsplit=5)[5] for linea in lineas if len(linea.split(maxsplit=5)) == 6}
    return {Path(r) for r in rutas if _BIBLIOTECA.match(r)}


def _atento() -> Iterator[Path]:
    """La biblioteca del libro y sus dibujos: sin respuestas, se pueden leer enteros."""
    for paquete in ("atento", "figuras"):
        hallado = importlib.util.find_spec(paquete)
        yield from map(Path, (hallado.submodule_search_locations or []) if hallado else [])


# --- Por distribución -----------------------------------------------------------------------------


def de_distribuciones(nombres: tuple[str, ...]) -> Iterator[Path]:
    """Lo que instalaron unas distribuciones y, en cadena, aquellas de las que dependen."""
    vistas: set[str] = set()
    pendientes = list(nombres)
    while pendientes:
        nombre = re.sub(r"[-_.]+", "-", pendientes.pop()).lower()
        if nombre in vistas or nombre == "atento":
            continue
        vistas.add(nombre)
        try:
            distribucion = metadata.distribution(nombre)
        except metadata.PackageNotFoundError:
            continue
        pendientes += [
            _NOMBRE.match(r)[0] for r in distribucion.requires or () if "extra ==" not in r
        ]
        yield from _entradas(distribucion)


def _entradas(distribucion: metadata.Distribution) -> Iterator[Path]:
    """Las carpetas y los ficheros de primer nivel de una distribución, según su ``RECORD``."""
    raiz = Path(str(distribucion.locate_file("")))
    registro = distribucion.read_text("RECORD")
    if registro is None:  # paquetes del sistema: sin RECORD, con la lista de sus módulos
        modulos = (distribucion.read_text("top_level.txt") or distribucion.metadata["Name"]).split()
        yield from (raiz / n for m in modulos for n in (m, f"{m}.py"))
        return
    for primero in {
        linea.split(",", 1)[0]
        for linea in registro.splitlines()
        if linea.startswith("__pycache__/")
    }:
        yield raiz / primero
    for primero in {re.split(r"[/,]", linea, maxsplit=1)[0] for linea in registro.splitlines()}:
        if primero.strip('"') not in ("", "..", "__pycache__", "calificador"):
            yield raiz / primero.strip('"')
