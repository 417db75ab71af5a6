"""El código de la biblioteca, a un clic de cada nombre de la API.

Cada entrada de la API lleva detrás un enlace «código» que va a la página de su módulo, en
``codigo/``, al lugar donde se escribe. Esas páginas no se buscan ni están en el índice, y una solo
se escribe cuando cambia lo que hay en ella.
"""

from __future__ import annotations

import ast
import hashlib
import html
import importlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

CARPETA = "codigo"
VOLVER = ' <a class="volver" href="{}">API</a>'


@cache
def definiciones(codigo: str) -> dict[str, tuple[int, int]]:
    """Dónde empieza y dónde acaba cada nombre de un módulo, con los de sus clases.

    >>> definiciones("A = 1\\n\\n@x\\nclass B:\\n    c: int = 2\\n")
    {'A': (1, 1), 'B': (3, 5), 'B.c': (5, 5)}
    """
    return dict(_de_cuerpo(ast.parse(codigo).body, ""))


def _de_cuerpo(cuerpo: list[ast.stmt], antes: str) -> Iterator[tuple[str, tuple[int, int]]]:
    for nodo in cuerpo:
        con_cuerpo = isinstance(nodo, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        principio = min([nodo.lineno, *(d.lineno for d in getattr(nodo, "decorator_list", ()))])
        for nombre in [nodo.name] if con_cuerpo else _asignados(nodo):
            yield antes + nombre, (principio, nodo.end_lineno)
        if isinstance(nodo, ast.ClassDef):
            yield from _de_cuerpo(nodo.body, f"{antes}{nodo.name}.")


def _asignados(nodo: ast.stmt) -> list[str]:
    destinos = nodo.targets if isinstance(nodo, ast.Assign) else [getattr(nodo, "target", None)]
    return [x.id for x in destinos if isinstance(x, ast.Name)]


def fichero_de(modulo: str) -> Path | None:
    """El fichero de un módulo ya importado."""
    ruta = getattr(importlib.import_module(modulo), "__file__", None)
    return Path(ruta) if ruta else None


@cache
def lugar_de(modulo: str, nombre: str) -> tuple[str, str] | None:
    """Dónde se escribe un nombre que se ofrece desde ``modulo``: el módulo y su nombre en él.

    De lo que una clase hereda, dónde se escribe la clase; ``None`` si no está en este paquete.
    """
    paquete = modulo.partition(".")[0]
    ofrecido = getattr(importlib.import_module(modulo), nombre.partition(".")[0], None)
    for candidato in (getattr(ofrecido, "__module__", None), modulo, *_importa(modulo, nombre)):
        if isinstance(candidato, str) and candidato.partition(".")[0] == paquete:
            fichero = fichero_de(candidato)
            if fichero and nombre in definiciones(fichero.read_text(encoding="utf-8")):
                return candidato, nombre
    clase = nombre.rpartition(".")[0]
    return lugar_de(modulo, clase) if clase else None


def _importa(modulo: str, nombre: str) -> list[str]:
    """De dónde importa un módulo un nombre: lo que no es función ni clase no dice de dónde es."""
    arbol = ast.parse(fichero_de(modulo).read_text(encoding="utf-8"))
    return [
        nodo.module
        for nodo in arbol.body
        if isinstance(nodo, ast.ImportFrom) and nodo.module and not nodo.level
        for alias in nodo.names
        if (alias.asname or alias.name) == nombre.partition(".")[0]
    ]


def pagina_de(modulo: str) -> str:
    """La página de un módulo."""
    return f"{CARPETA}/{modulo.replace('.', '/')}"


def _firmas(documento: nodes.document) -> Iterator[addnodes.desc_signature]:
    return (f for f in documento.findall(addnodes.desc_signature) if f.get("module") and f["ids"])


def _apuntar(app, documento: nodes.document) -> None:
    """Al leer una página, apunta lo que documenta: módulo → nombre en él → ancla en la página."""
    suyos: dict[str, dict[str, str]] = {}
    for firma in _firmas(documento):
        if lugar := lugar_de(firma["module"], firma["fullname"]):
            suyos.setdefault(lugar[0], {}).setdefault(lugar[1], firma["ids"][0])
            app.env.note_dependency(str(fichero_de(lugar[0])))
    if suyos:
        app.env.libro_codigo[app.env.docname] = suyos


def _enlazar(app, documento: nodes.document, docname: str) -> None:
    """Pone el enlace detrás de cada firma al escribir la página: en la guardada no está, y así
    tampoco se busca.
    """
    for firma in _firmas(documento):
        if lugar := lugar_de(firma["module"], firma["fullname"]):
            destino = app.builder.get_relative_uri(docname, pagina_de(lugar[0]))
            firma += nodes.Text(" ")
            firma += nodes.reference(
                "",
                "código",
                internal=True,
                refuri=f"{destino}#{lugar[1]}",
                reftitle=f"El código de {firma['fullname']}",
                classes=["al-codigo"],
            )


def con_anclas(lineas: list[str], codigo: str, enlaces: dict[str, str]) -> list[str]:
    """Las líneas del código, con un ancla alrededor de cada nombre documentado y un enlace a su
    entrada.
    """
    salida = list(lineas)
    lugares = {n: lugar for n, lugar in definiciones(codigo).items() if n in enlaces}
    # De fuera adentro: la de una clase se abre antes que las de sus métodos y se cierra después.
    for nombre, (principio, fin) in sorted(lugares.items(), key=lambda x: x[1][0], reverse=True):
        volver = VOLVER.format(html.escape(enlaces[nombre]))
        salida[principio - 1] = (
            f'<span class="escrito-aqui" id="{nombre}">{salida[principio - 1]}{volver}'
        )
        salida[fin - 1] += "</span>"
    return salida


def _cuerpo(app, modulo: str, codigo: str, enlaces: dict[str, str], pagina_api: str) -> str:
    marcado = app.builder.highlighter.highlight_block(codigo, "python")
    antes, resto = marcado.split("<pre>", 1)
    dentro, despues = resto.rsplit("</pre>", 1)
    vacio = "<span></span>" if dentro.startswith("<span></span>") else ""
    lineas = con_anclas(dentro.removeprefix(vacio).split("\n"), codigo, enlaces)
    dentro = vacio + "\n".join(lineas)
    titulo = modulo.replace(".", ".<wbr>")  # en un teléfono se parte por los puntos
    return (
        f'<h1><code><span class="pre">{titulo}</span></code></h1>'
        f'<p>El código del módulo, entero. Lo que ofrece, en la <a class="reference internal"'
        f' href="{pagina_api}">API</a>.</p>'
        f"{antes}<pre>{dentro}</pre>{despues}"
    )


def _paginas(app) -> Iterator[tuple[str, dict, str]]:
    """Las páginas del código que han cambiado desde la última vez."""
    if app.builder.format != "html" or not hasattr(app.env, "libro_codigo"):
        return
    sello = Path(app.outdir).parent / "libro_codigo.json"
    hechas = json.loads(sello.read_text("utf8")) if sello.exists() else {}
    comun = f"{app.builder.build_info.config_hash} {app.builder.templates.newest_template_mtime()}"
    nuevas = {}
    for modulo, entradas in sorted(_por_modulo(app.env).items()):
        pagina, codigo = pagina_de(modulo), fichero_de(modulo).read_text(encoding="utf-8")
        relativa = {d: app.builder.get_relative_uri(pagina, d) for d, _ in entradas.values()}
        enlaces = {n: f"{relativa[d]}#{ancla}" for n, (d, ancla) in entradas.items()}
        suma = hashlib.sha256(json.dumps([comun, codigo, enlaces]).encode()).hexdigest()
        nuevas[pagina] = suma
        if hechas.get(pagina) != suma or not Path(app.builder.get_outfilename(pagina)).exists():
            cuerpo = _cuerpo(app, modulo, codigo, enlaces, next(iter(relativa.values())))
            yield pagina, {"title": modulo, "body": cuerpo}, "page.html"
    for sobra in hechas.keys() - nuevas.keys():
        Path(app.builder.get_outfilename(sobra)).unlink(missing_ok=True)
    sello.write_text(json.dumps(nuevas), "utf8")


def _por_modulo(env) -> dict[str, dict[str, tuple[str, str]]]:
    """Módulo → nombre → (página de la API, ancla)."""
    salida: dict[str, dict[str, tuple[str, str]]] = {}
    for docname, suyos in sorted(env.libro_codigo.items()):
        for modulo, pares in suyos.items():
            for nombre, ancla in pares.items():
                salida.setdefault(modulo, {}).setdefault(nombre, (docname, ancla))
    return salida


def _empezar(app, env, *_) -> None:
    if not hasattr(env, "libro_codigo"):
        env.libro_codigo = {}


def _purgar(app, env, docname: str) -> None:
    getattr(env, "libro_codigo", {}).pop(docname, None)


def _mezclar(app, env, docnames, otro) -> None:
    env.libro_codigo.update({d: v for d, v in otro.libro_codigo.items() if d in docnames})


def setup(app) -> None:
    """Conecta los enlaces y las páginas."""
    app.connect("env-before-read-docs", _empezar)
    app.connect("env-purge-doc", _purgar)
    app.connect("env-merge-info", _mezclar)
    app.connect("doctree-read", _apuntar)
    app.connect("doctree-resolved", _enlazar)
    app.connect("html-collect-pages", _paginas)
