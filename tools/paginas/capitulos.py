"""Los capítulos como cuadernos: cuáles hay, qué celdas tienen y dónde se guarda lo que ya se
ejecutó.
"""

from __future__ import annotations

import copy
import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import nbformat
import yaml
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.cache.main import JupyterCacheBase
from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig

RAIZ = Path(__file__).resolve().parents[2]
LIBRO = RAIZ / "book"
CONSTRUIDO = LIBRO / "_build"
OBRA = CONSTRUIDO / ".obra"  # donde construye tools/construir.py
REFERENCIAS = RAIZ / "tests" / "referencias"

sys.path.insert(0, str(LIBRO / "_ext"))

from libro.huella import huella, ruta_cache  # noqa: E402  (necesita la línea anterior)

GUARDADAS = 4  # cachés que se conservan de cada capítulo: deshacer un cambio no ejecuta nada


@dataclass(frozen=True)
class Capitulo:
    """Una página del libro que se ejecuta."""

    ruta: Path

    @property
    def nombre(self) -> str:
        """Nombre sin extensión, ``04-la-atencion-derivada``."""
        return self.ruta.stem

    @property
    def clave(self) -> str:
        """Número del capítulo, «04», o el nombre entero si la página no lleva número."""
        numero = re.match(r"(\d\d)-", self.nombre)
        return numero[1] if numero else self.nombre

    @property
    def referencia(self) -> Path:
        """Cuaderno de referencia con el que nbval compara."""
        return REFERENCIAS / f"{self.nombre}.ipynb"

    def texto(self) -> str:
        """El fichero del capítulo."""
        return self.ruta.read_text(encoding="utf-8")

    @property
    def carpeta_de_cache(self) -> Path:
        """La caché de este capítulo con la biblioteca de ahora."""
        return ruta_cache(LIBRO, self.nombre, huella(self.texto(), self.nombre))

    def cuaderno(self) -> nbformat.NotebookNode:
        """El capítulo leído como lo lee MyST-NB, con todas sus celdas y sin salidas."""
        return copy.deepcopy(_leido(self.texto(), str(self.ruta)))


@cache
def _leido(texto: str, ruta: str) -> nbformat.NotebookNode:
    """Leer uno cuesta un segundo, y una misma orden lee cada capítulo varias veces."""
    return read_myst_markdown_notebook(
        texto,
        config=MdParserConfig(enable_extensions={"colon_fence", "dollarmath"}),
        add_source_map=True,
        path=ruta,
    )


def documentos(libro: Path = LIBRO) -> list[str]:
    """Nombres de documento del índice, en orden, sin extensión."""
    indice = yaml.safe_load((libro / "_toc.yml").read_text(encoding="utf-8"))

    def recorre(nodo: object) -> Iterator[str]:
        if isinstance(nodo, dict):
            if "file" in nodo:
                yield str(nodo["file"]).removesuffix(".md")
            if "glob" in nodo:
                hay = sorted(libro.glob(f"{nodo['glob']}.md"))
                yield from (p.relative_to(libro).with_suffix("").as_posix() for p in hay)
            nodo = list(nodo.values())
        for valor in nodo if isinstance(nodo, list) else []:
            yield from recorre(valor)

    resto = {k: v for k, v in indice.items() if k != "root"}
    return [indice["root"].removesuffix(".md"), *recorre(resto)]


def capitulos(libro: Path = LIBRO) -> list[Capitulo]:
    """Las páginas del índice que tienen celdas, en el orden del libro."""
    paginas = [libro / f"{nombre}.md" for nombre in documentos(libro)]
    return [
        Capitulo(p)
        for p in paginas
        if p.exists() and is_myst_markdown_notebook(p.read_text(encoding="utf-8"))
    ]


def elegidos(cual: str | None, libro: Path = LIBRO) -> list[Capitulo]:
    """Los capítulos de una orden con ``CAPITULO=``: «6», «06» o el nombre de la página; sin nada,
    todos.

    Vale también un borrador que aún no está en el índice.
    """
    if not cual:
        return capitulos(libro)
    clave = f"{int(cual):02d}" if cual.isdigit() else cual.removesuffix(".md")
    apendices = [
        p
        for p in libro.glob("apendices/*.md")
        if is_myst_markdown_notebook(p.read_text(encoding="utf-8"))
    ]
    paginas = sorted([*libro.glob("[0-9]-*/*.md"), *apendices])
    hallados = [p for p in paginas if p.stem == clave or p.stem.startswith(f"{clave}-")]
    if len(hallados) != 1:
        hay = ", ".join(Capitulo(p).clave for p in paginas)
        raise SystemExit(
            f"CAPITULO={cual}: hay {len(hallados)} páginas que se llamen así; las hay de {hay}."
        )
    return [Capitulo(hallados[0])]


def abre_cache(capitulo: Capitulo) -> JupyterCacheBase:
    """La caché de un capítulo con esta versión de lo que importa; con otra huella, otra carpeta."""
    ruta = capitulo.carpeta_de_cache
    ruta.mkdir(parents=True, exist_ok=True)
    os.utime(ruta)
    return get_cache(str(ruta))


def tira_caches_viejas(raiz: Path | None = None) -> list[Path]:
    """Deja de cada capítulo las ``GUARDADAS`` cachés usadas más tarde; devuelve las que quita."""
    quitadas = []
    for carpeta in (raiz or CONSTRUIDO / ".jupyter_cache").glob("*/"):
        caches = sorted(
            (p for p in carpeta.iterdir() if p.is_dir()), key=lambda p: p.stat().st_mtime
        )
        quitadas += caches[:-GUARDADAS]
    for vieja in quitadas:
        shutil.rmtree(vieja, ignore_errors=True)
    return quitadas


def en_cache(cache: JupyterCacheBase, cuaderno: nbformat.NotebookNode) -> bool:
    """Si el cuaderno está ejecutado en la caché y se puede leer; lo que quedó a medias se borra."""
    try:
        registro = cache.match_cache_notebook(cuaderno)
    except KeyError:
        return False
    try:
        cache.get_cache_bundle(registro.pk)
    except Exception:
        cache.remove_cache(registro.pk)
        return False
    return True


def guarda_en_cache(
    cache: JupyterCacheBase, capitulo: Capitulo, cuaderno: nbformat.NotebookNode, segundos: float
) -> None:
    """Guarda un cuaderno ejecutado, con lo que tardó."""
    cache.cache_notebook_bundle(
        CacheBundleIn(cuaderno, str(capitulo.ruta), data={"execution_seconds": segundos}),
        check_validity=False,
        overwrite=True,
    )
