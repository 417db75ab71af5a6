"""Dónde se publica el libro y qué versión de él se instala."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import yaml

from paginas.capitulos import LIBRO


@dataclass
class Libro:
    """El libro entero."""

    ruta: Path = LIBRO

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
