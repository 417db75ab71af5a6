"""Los capítulos como cuadernos: cuáles hay, qué celdas tienen y dónde se guarda lo que ya se ejecutó."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat
import yaml
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.cache.main import JupyterCacheBase
from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig

RAIZ = Path(__file__).resolve().parents[1]
LIBRO = RAIZ / "book"
CONSTRUIDO = LIBRO / "_build"
REFERENCIAS = RAIZ / "tests" / "referencias"

sys.path.insert(0, str(LIBRO / "_ext"))

from libro.huella import huella  # noqa: E402  (necesita la línea anterior)


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

    def cuaderno(self) -> nbformat.NotebookNode:
        """El capítulo leído como lo lee MyST-NB, con todas sus celdas y sin salidas."""
        return read_myst_markdown_notebook(
            self.ruta.read_text(encoding="utf-8"),
            config=MdParserConfig(enable_extensions={"colon_fence", "dollarmath"}),
            add_source_map=True,
            path=str(self.ruta),
        )


def documentos(libro: Path = LIBRO) -> list[str]:
    """Nombres de documento del índice, en orden, sin extensión."""
    indice = yaml.safe_load((libro / "_toc.yml").read_text(encoding="utf-8"))

    def recorre(nodo):
        if isinstance(nodo, dict):
            if "file" in nodo:
                yield str(nodo["file"])
            for valor in nodo.values():
                yield from recorre(valor)
        elif isinstance(nodo, list):
            for valor in nodo:
                yield from recorre(valor)

    return [indice["root"], *recorre({k: v for k, v in indice.items() if k != "root"})]


def capitulos(libro: Path = LIBRO) -> list[Capitulo]:
    """Las páginas del índice que tienen celdas, en el orden del libro."""
    paginas = [libro / f"{nombre.removesuffix('.md')}.md" for nombre in documentos(libro)]
    return [
        Capitulo(p) for p in paginas if p.exists() and is_myst_markdown_notebook(p.read_text(encoding="utf-8"))
    ]


def abre_cache() -> JupyterCacheBase:
    """La caché de esta versión de la biblioteca; con otra huella, otra carpeta."""
    ruta = CONSTRUIDO / ".jupyter_cache" / huella()
    ruta.mkdir(parents=True, exist_ok=True)
    return get_cache(str(ruta))


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
