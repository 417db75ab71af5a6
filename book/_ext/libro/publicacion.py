"""Lo que solo tiene sentido cuando el libro se publica en una dirección que se conoce.

La dirección llega en la variable ``LIBRO_DIRECCION`` (el flujo de publicación la pone). Con ella
cada página dice cuál es la suya y lleva una imagen para cuando se comparte, y el sitio tiene mapa,
página para lo que no se encuentra y un canal de novedades. Sin ella nada de esto se hace.
"""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, time
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from sphinx.errors import ExtensionError

VARIABLE = "LIBRO_DIRECCION"
CANAL = "novedades.xml"
FUERA_DEL_MAPA = ["search.html", "404.html", "genindex.html"]
NO_ESTA = {
    "title": "No está aquí",
    "body": "<h1>No está aquí</h1><p>Esta página no existe o ha cambiado de sitio. El índice y el"
    " buscador llevan a todas las que hay.</p>",
}


def direccion() -> str:
    """La dirección de publicación, sin barra final, o «» si no se ha dicho.

    Errores: ``ExtensionError`` si lo que llega no es una dirección web.
    """
    dicha = os.environ.get(VARIABLE, "").strip().rstrip("/")
    partes = urlsplit(dicha)
    if dicha and (partes.scheme not in ("http", "https") or not partes.netloc or partes.query):
        raise ExtensionError(
            f"{VARIABLE}: llegó «{dicha}»; se esperaba una dirección como https://ejemplo.org/libro"
        )
    return dicha


def lee_novedades(fichero: Path) -> list[dict]:
    """Las novedades, de la más nueva a la más vieja: fecha, título, texto y página.

    Errores: ``ExtensionError`` si a alguna le falta algo.
    """
    lista = yaml.safe_load(fichero.read_text(encoding="utf-8")) if fichero.exists() else []
    for novedad in lista:
        faltan = {"fecha", "titulo", "texto", "pagina"} - novedad.keys()
        if faltan or not isinstance(novedad["fecha"], date):
            que = ", ".join(sorted(faltan)) or "una fecha como 2026-11-22"
            raise ExtensionError(f"{fichero.name}: en «{novedad.get('titulo', '?')}» falta {que}")
    return sorted(lista, key=lambda novedad: novedad["fecha"], reverse=True)


def canal(novedades: list[dict], base: str, titulo: str) -> bytes:
    """Las novedades en RSS 2.0; depende solo de lo que recibe."""
    from feedgen.feed import FeedGenerator

    hecho = FeedGenerator()
    hecho.title(titulo)
    hecho.link(href=f"{base}/{CANAL}", rel="self")
    hecho.link(href=f"{base}/", rel="alternate")
    hecho.description("Capítulos nuevos y correcciones del libro")
    hecho.language("es")
    hecho.generator("")
    for novedad in novedades:
        entrada = hecho.add_entry(order="append")
        entrada.title(novedad["titulo"])
        entrada.description(novedad["texto"])
        pagina = f"{base}/{novedad['pagina']}.html"
        entrada.link(href=pagina)
        entrada.guid(f"{pagina}?{novedad['fecha']}", permalink=False)
        entrada.published(_instante(novedad["fecha"]))
    hecho.lastBuildDate(_instante(novedades[0]["fecha"]) if novedades else "1970-01-01T00:00Z")
    return hecho.rss_str(pretty=True)


def _instante(dia: date) -> datetime:
    return datetime.combine(dia, time(12), UTC)


def _configurar(app, config) -> None:
    base = direccion()
    config.html_baseurl = config.ogp_site_url = config.ogp_canonical_url = f"{base}/"
    mini = Path(app.srcdir) / "_static" / "icono.png"
    config.ogp_social_cards = {"enable": True, "line_color": "#5e4fa2", "image_mini": str(mini)}
    config.sitemap_url_scheme, config.sitemap_excludes = "{link}", FUERA_DEL_MAPA
    config.notfound_context = NO_ESTA
    config.notfound_urls_prefix = f"{urlsplit(base).path}/"


def _pagina(app, pagename: str, templatename: str, context: dict, doctree) -> None:
    context["libro_canal"] = canal_ = f"{direccion()}/{CANAL}"
    context["metatags"] = context.get("metatags", "") + (
        f'<link rel="alternate" type="application/rss+xml" title="Novedades" href="{canal_}">\n'
    )


def _escribe_canal(app, error) -> None:
    if error or app.builder.name != "html":
        return
    novedades = lee_novedades(Path(app.srcdir) / "novedades.yml")
    for novedad in novedades:
        if novedad["pagina"] not in app.env.found_docs:
            raise ExtensionError(
                f"novedades.yml: «{novedad['titulo']}» lleva a {novedad['pagina']}, que no existe"
            )
    (Path(app.outdir) / CANAL).write_bytes(canal(novedades, direccion(), app.config.project))


def setup(app) -> None:
    """Conecta lo que necesita una dirección, si la hay."""
    app.add_config_value("libro_direccion", direccion(), "html", [str])
    if not direccion():
        return
    for extension in ("notfound.extension", "sphinx_sitemap"):
        app.setup_extension(extension)
    app.connect("config-inited", _configurar, priority=850)
    app.connect("html-page-context", _pagina, priority=900)
    app.connect("build-finished", _escribe_canal)
