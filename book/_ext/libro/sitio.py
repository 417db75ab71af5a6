"""Lo que cada página lleva además del texto: colores, botones y enlaces al cuaderno."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlencode

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from libro.numeracion import capitulo

COLAB = "https://colab.research.google.com/github"
PARA_LLEVAR = (
    ("pdf", "PDF", "para imprimir o leer en una tableta, con marcadores e índice"),
    ("epub", "EPUB", "para un lector de libros, con la letra que cada cual elija"),
    (
        "zip",
        "Página sin conexión",
        "se descomprime y se abre index.html; con búsqueda y figuras que se mueven",
    ),
)

# El tema lo decide después de dibujar la página, y habría que dibujarla otra vez.
TEMA = (
    "{const raiz = document.documentElement.dataset;"
    ' if (raiz.theme === "auto") raiz.theme ='
    ' matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";}'
)


def _configurar(app, config) -> None:
    colores = Path(app.outdir).parent / "libro_static"
    colores.mkdir(parents=True, exist_ok=True)
    (colores / "atento.css").write_text(_colores(), "utf8")
    config.html_static_path.append(str(colores))
    config.libro_estaticos = estaticos(Path(app.srcdir))
    app.add_css_file("atento.css", priority=700)
    app.add_js_file(None, body=TEMA, priority=100)
    app.add_js_file("../guiones/libro.js", priority=300, defer="defer")


def estaticos(libro: Path) -> str:
    """La huella de las hojas, los guiones y las letras: con otra, todas las páginas se escriben de
    nuevo, que llevan dentro la de cada hoja.
    """
    suma = hashlib.sha256(_colores().encode())
    for carpeta in ("_static", "extra"):
        for fichero in sorted(p for p in (libro / carpeta).rglob("*") if p.is_file()):
            suma.update(fichero.relative_to(libro).as_posix().encode() + fichero.read_bytes())
    return suma.hexdigest()


def _colores() -> str:
    """Las variables de color, las mismas que las de las figuras: hay un solo lugar,
    ``figuras.plots``.
    """
    from figuras import plots

    return plots.css()


def _pagina(app, pagename: str, templatename: str, context: dict, doctree) -> None:
    opciones = app.config.html_theme_options
    context["libro_repositorio"] = opciones.get("repository_url", "")
    context["libro_version"] = version("atento")
    context["libro_error"] = informe_de_error(context["libro_repositorio"], pagename)
    context["libro_cuaderno"] = None
    context["header_buttons"] = []
    if capitulo(pagename) is None or not tiene_celdas(app, pagename):
        return
    cuaderno = pagename.rsplit("/", 1)[-1] + ".ipynb"
    ruta = opciones["repository_url"].removeprefix("https://github.com/")
    context["libro_cuaderno"] = {
        "colab": f"{COLAB}/{ruta}/blob/{app.config.libro_rama_cuadernos}/{cuaderno}",
        "ipynb": context["pathto"](f"cuadernos/{cuaderno}", 1),
        "nombre": cuaderno,
    }


def informe_de_error(repositorio: str, pagina: str) -> str:
    """Dirección que abre un aviso nuevo con la página ya escrita."""
    return f"{repositorio}/issues/new?" + urlencode({"title": f"Error en «{pagina}»"})


def tiene_celdas(app, pagename: str) -> bool:
    """Los cuadernos son los documentos cuya cabecera dice con qué núcleo se ejecutan."""
    return "kernelspec" in app.env.metadata.get(pagename, {})


def direccion_publicada(config) -> str:
    """Dónde se publican las páginas: ``html_baseurl`` o, si está vacía, GitHub Pages del
    repositorio.
    """
    if config.html_baseurl:
        return config.html_baseurl.rstrip("/")
    cuenta, _, proyecto = (
        config.html_theme_options.get("repository_url", "")
        .rpartition("github.com/")[2]
        .partition("/")
    )
    return f"https://{cuenta}.github.io/{proyecto}"


class ParaLlevar(SphinxDirective):
    """Los enlaces a lo que se descarga: el libro en EPUB, en PDF y como página sin conexión."""

    def run(self) -> list[nodes.Node]:
        base = f"{direccion_publicada(self.config)}/llevar/el-transformer-linea-a-linea"
        lista = nodes.bullet_list("", classes=["para-llevar"])
        for extension, nombre, para in PARA_LLEVAR:
            enlace = nodes.reference("", nombre, refuri=f"{base}.{extension}", internal=False)
            lista += nodes.list_item("", nodes.paragraph("", "", enlace, nodes.Text(f": {para}.")))
        return [lista]


def setup(app) -> None:
    """Conecta la página."""
    app.add_directive("para-llevar", ParaLlevar)
    # jupyter-book pasa siempre esta opción de sphinx-comments, que aquí no se carga.
    app.add_config_value("comments_config", {}, "html", [dict])
    app.add_config_value("libro_estaticos", "", "html", [str])
    app.add_config_value("libro_rama_cuadernos", "cuadernos", "html", [str])
    app.connect("config-inited", _configurar, priority=800)
    app.connect("html-page-context", _pagina, priority=900)
