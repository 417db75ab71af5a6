"""Lo que un cuaderno puede citar: direcciones, bibliografía y todo lo que tiene etiqueta en el
libro.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import yaml
from pybtex.database import Entry, parse_file

from paginas.capitulos import LIBRO, documentos

# isort: split
# capitulos.py ya ha puesto book/_ext en la ruta.
from libro.citas import Y
from libro.etiquetas import Destino, Indice


@dataclass
class Libro:
    """El libro entero."""

    ruta: Path = LIBRO
    indice: Indice = field(init=False)

    def __post_init__(self) -> None:
        self.indice = Indice.de(self.ruta, documentos(self.ruta))

    @property
    def destinos(self) -> dict[str, Destino]:
        """Todo lo que tiene etiqueta."""
        return self.indice.destinos

    @property
    def titulos(self) -> dict[str, str]:
        """El título de cada página."""
        return self.indice.titulos

    @cached_property
    def configuracion(self) -> dict:
        """Lo que dice ``_config.yml``."""
        return yaml.safe_load((self.ruta / "_config.yml").read_text(encoding="utf-8"))

    @property
    def repositorio(self) -> str:
        """Dirección del repositorio."""
        return self.configuracion["repository"]["url"].rstrip("/")

    @cached_property
    def version(self) -> str:
        """Lo que se instala: el commit publicado o, si este aún no lo está, la rama."""
        return commit_publicado(self.ruta) or self.rama

    @property
    def rama(self) -> str:
        """Rama principal del repositorio."""
        return self.configuracion["repository"].get("branch", "main")

    @property
    def sitio(self) -> str:
        """Dirección de las páginas: ``html_baseurl`` o, si está vacía, la de GitHub Pages del
        repositorio.
        """
        elegido = self.configuracion.get("sphinx", {}).get("config", {}).get("html_baseurl")
        cuenta, proyecto = self.repositorio.split("/")[-2:]
        return (elegido or f"https://{cuenta}.github.io/{proyecto}").rstrip("/")

    def url(self, documento: str, ancla: str = "") -> str:
        """Dirección publicada de una página."""
        return f"{self.sitio}/{documento}.html" + (f"#{ancla}" if ancla else "")

    @cached_property
    def referencias(self) -> dict[str, Entry]:
        """Las entradas de la bibliografía."""
        return dict(parse_file(str(self.ruta / "references.bib"), bib_format="bibtex").entries)


def commit_publicado(carpeta: Path) -> str:
    """El commit de ``carpeta`` si otros lo tienen: el que da GitHub o el de una rama remota; si no,
    nada.
    """
    if os.environ.get("GITHUB_SHA"):
        return os.environ["GITHUB_SHA"]
    return (
        _git(carpeta, "rev-parse", "HEAD")
        if _git(carpeta, "branch", "-r", "--contains", "HEAD")
        else ""
    )


def _git(carpeta: Path, *orden: str) -> str:
    try:
        hecho = subprocess.run(
            ["git", "-C", carpeta, *orden], capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return hecho.stdout.strip() if hecho.returncode == 0 else ""


def autores(obra: Entry) -> str:
    """«Vaswani et al.», «Bahdanau y Cho»; sin autores, el título."""
    personas = obra.persons.get("author") or obra.persons.get("editor") or []
    nombres = [
        " ".join([*p.prelast_names, *p.last_names]).replace("{", "").replace("}", "")
        for p in personas
    ]
    if not nombres:
        return obra.fields["title"].replace("{", "").replace("}", "")
    return f"{nombres[0]} et al." if len(nombres) > 2 else Y.join(nombres)


def direccion(obra: Entry) -> str:
    """Dónde se lee una obra, o cadena vacía."""
    return (
        f"https://doi.org/{obra.fields['doi']}"
        if "doi" in obra.fields
        else obra.fields.get("url", "")
    )
