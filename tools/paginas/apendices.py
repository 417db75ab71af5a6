"""Escribe las páginas de los apéndices que van una por capítulo y una por módulo.

``python tools apendices`` escribe las que falten o hayan cambiado y quita las que sobren;
``python tools apendices --revisa`` solo dice si están al día.
"""

from __future__ import annotations

import argparse
import ast
import re
from pathlib import Path

from paginas.capitulos import LIBRO, RAIZ

INTRODUCCION = """\
(apendice-api)=
# La biblioteca y el registro de ejercicios

Lo que ofrecen `atento` y `figuras`, módulo a módulo, y el registro que describe los ejercicios. \
El texto sale de las docstrings del código.

"""
PAQUETES = ("atento", "figuras")
DE_FUERA = ("calificador.registro", "calificador.vetos")


SIN_PAGINA = {
    "atento.checks"
}  # la puerta de cada función; lo que acepta lo dice la docstring de la función


def modulos(raiz: Path = RAIZ) -> list[str]:
    """Los módulos con página; un paquete con ``__all__`` tiene una sola, con lo que ofrece."""
    codigo = raiz / "code"
    rutas = [ruta for paquete in PAQUETES for ruta in (codigo / paquete).rglob("*.py")]
    juntos = {
        ".".join(ruta.parent.relative_to(codigo).parts)
        for ruta in rutas
        if ruta.name == "__init__.py" and _tiene_all(ruta)
    }
    sueltos = []
    for ruta in rutas:
        nombre = ".".join(ruta.relative_to(codigo).with_suffix("").parts)
        padres = {nombre.rsplit(".", i)[0] for i in range(1, nombre.count(".") + 1)}
        if not ruta.stem.startswith("_") and not padres & (juntos | SIN_PAGINA):
            sueltos.append(nombre)
    return [*sorted([*juntos, *sueltos]), *DE_FUERA]


def _tiene_all(ruta: Path) -> bool:
    """Si un ``__init__`` dice con ``__all__`` lo que ofrece su paquete."""
    cuerpo = ast.parse(ruta.read_text(encoding="utf-8")).body
    asignados = [x.targets[0] for x in cuerpo if isinstance(x, ast.Assign)]
    return any(getattr(x, "id", "") == "__all__" for x in asignados)


def _resumen(modulo: str, raiz: Path) -> str:
    """La primera frase de la docstring, en Markdown."""
    base = raiz / "code" / Path(*modulo.split("."))
    ruta = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(ruta.read_text(encoding="utf-8"))) or ""
    frase = " ".join(docstring.split("\n\n")[0].split())
    return re.sub(r"``([^`]+)``|:\w+:`~?([^`]+)`", lambda m: f"`{m[1] or m[2]}`", frase)


def paginas(raiz: Path = RAIZ) -> dict[str, str]:
    """Cada página que hay que escribir, por su ruta dentro de ``book/apendices``."""
    salida, lista = {}, []
    for modulo in modulos(raiz):
        nombre = modulo.replace(".", "-")
        salida[f"api/{nombre}.md"] = (
            f"(api-{nombre})=\n# `{modulo}`\n\n```{{eval-rst}}\n.. automodule:: {modulo}\n```\n"
        )
        lista.append(f"- [`{modulo}`](api/{nombre}.md). {_resumen(modulo, raiz)}")
    salida["api.md"] = INTRODUCCION + "\n".join(lista) + "\n"
    for fichero in sorted((raiz / "solutions").glob("cap[0-9][0-9].py")):
        titulo = re.search(
            r"^# # (.+?)(?:: soluciones)?$", fichero.read_text(encoding="utf-8"), re.MULTILINE
        )
        if titulo is None:
            raise SystemExit(
                f"solutions/{fichero.name}: falta el título «# # Capítulo N. …: soluciones»."
            )
        salida[f"soluciones/{fichero.stem}.md"] = f"# {titulo[1]}\n\n%SOLUCIONES%\n"
    return salida


def pendientes(raiz: Path = RAIZ) -> tuple[dict[Path, str], list[Path]]:
    """Lo que habría que escribir y lo que habría que quitar."""
    carpeta = raiz / "book" / "apendices"
    deben = {carpeta / nombre: texto for nombre, texto in paginas(raiz).items()}
    cambian = {
        p: t for p, t in deben.items() if not p.exists() or p.read_text(encoding="utf-8") != t
    }
    hay = [*carpeta.glob("api/*.md"), *carpeta.glob("soluciones/*.md")]
    return cambian, [p for p in hay if p not in deben]


def escribe(raiz: Path = RAIZ) -> list[Path]:
    """Deja las páginas al día; devuelve las que han cambiado."""
    cambian, sobran = pendientes(raiz)
    for ruta, texto in cambian.items():
        ruta.parent.mkdir(parents=True, exist_ok=True)
        ruta.write_text(texto, encoding="utf-8")
    for ruta in sobran:
        ruta.unlink()
    return [*cambian, *sobran]


def main() -> None:
    """Punto de entrada."""
    opciones = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    opciones.add_argument(
        "--revisa", action="store_true", help="no escribe: solo dice si están al día"
    )
    if opciones.parse_args().revisa:
        cambian, sobran = pendientes()
        quejas = [f"{p.relative_to(LIBRO)}: no está al día" for p in [*cambian, *sobran]]
        print("\n".join(quejas) or "Los apéndices están al día.")
        raise SystemExit(1 if quejas else 0)
    for ruta in escribe():
        print(f"{ruta.relative_to(LIBRO)}: al día")


if __name__ == "__main__":
    main()
