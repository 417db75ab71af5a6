"""El libro en un solo documento, hecho con las páginas construidas: de él salen el PDF y el EPUB.

Las páginas van en el orden del índice. Cada identificador lleva delante el de su página, y así los
enlaces de una a otra son enlaces dentro del documento. Lo que en la página es un botón o se mueve,
aquí no está: de los exploradores queda su versión quieta, de los sonidos, qué se oye y dónde, y lo
plegado se lee desplegado (del código de las figuras y de las comprobaciones, su línea).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lxml import html
from lxml.html import HtmlElement

PORTADA, FICHAS = "intro.html", "apendices/api/"
SOBRA = (
    ".//script",
    ".//style",
    ".//noscript",
    ".//button",
    ".//*[contains(@class, 'headerlink')]",
    ".//*[contains(@class, 'sd-d-none')]",
    ".//details[contains(@class, 'dibujo')]",
    ".//details[contains(@class, 'comprobacion')]/*[not(self::summary)]",
)
REFERENCIAS = ("aria-labelledby", "aria-describedby", "for")
_URL = re.compile(r"url\(\s*['\"]?#([^'\")]+)['\"]?\s*\)")


@dataclass
class Pagina:
    """Una página del índice, con la parte del libro a la que pertenece y a qué hondura."""

    ruta: str
    parte: str
    nivel: int
    sitio: Path

    @property
    def prefijo(self) -> str:
        """Lo que llevan delante sus identificadores, y el identificador de ella misma."""
        return "p-" + re.sub(r"[^a-z0-9]+", "-", self.ruta.removesuffix(".html").lower())

    @cached_property
    def articulo(self) -> HtmlElement:
        """El texto de la página, tal como está en ella."""
        arbol = html.fromstring(
            (self.sitio / self.ruta).read_bytes(), parser=html.HTMLParser(encoding="utf-8")
        )
        return arbol.find(".//article")

    @cached_property
    def titulo(self) -> str:
        """El título, sin el enlace que lleva detrás."""
        copia = html.fromstring(html.tostring(self.articulo.find(".//h1"), encoding="unicode"))
        _quita(copia, SOBRA)
        return " ".join(copia.text_content().split())


def paginas(sitio: Path) -> list[Pagina]:
    """Las páginas en el orden del índice, con la portada delante. Las fichas de la biblioteca no
    entran: se consultan en el sitio, y sus enlaces van allí.
    """
    arbol = html.fromstring(
        (sitio / PORTADA).read_bytes(), parser=html.HTMLParser(encoding="utf-8")
    )
    salida, parte = [Pagina(PORTADA, "", 0, sitio)], ""
    for nodo in arbol.xpath("//nav[contains(@class, 'bd-docs-nav')]//*[self::p or self::a]"):
        if nodo.tag == "p":
            parte = nodo.text_content().strip()
        elif re.search(r"toctree-l(\d)", nodo.getparent().get("class", "")):
            nivel = int(re.search(r"toctree-l(\d)", nodo.getparent().get("class"))[1])
            if not nodo.get("href").startswith(FICHAS):
                salida.append(Pagina(nodo.get("href"), parte, nivel, sitio))
    if len(salida) < 2:
        raise SystemExit(
            f"En {sitio / PORTADA} no está el índice del libro: constrúyelo entero con «make"
            " libro»."
        )
    return salida


def _quita(arbol: HtmlElement, caminos: tuple[str, ...]) -> None:
    """Quita lo que hay en esos caminos; el texto que lo sigue se queda."""
    for camino in caminos:
        for nodo in arbol.xpath(camino):
            nodo.drop_tree()


class Tomo:
    """Las páginas limpias y con los enlaces cambiados."""

    def __init__(
        self, sitio: Path, publicado: str, elegidas: Collection[str] | None = None
    ) -> None:
        """``sitio`` es la carpeta construida; ``publicado``, la dirección de lo que no entra (los
        cuadernos y las fichas de la biblioteca); ``elegidas``, las rutas de las páginas que entran,
        con la portada, cuando no son todas: los enlaces a las otras van a lo publicado.
        """
        self.sitio, self.publicado = sitio, publicado.rstrip("/")
        self.paginas = paginas(sitio)
        if elegidas is not None:
            self.paginas = [p for p in self.paginas if p.ruta in {PORTADA, *elegidas}]
        self.prefijos = {p.ruta: p.prefijo for p in self.paginas}

    @cached_property
    def articulos(self) -> list[tuple[Pagina, HtmlElement]]:
        """Cada página con su texto preparado."""
        return [(p, self._preparado(p)) for p in self.paginas]

    def _preparado(self, pagina: Pagina) -> HtmlElement:
        articulo = html.fromstring(html.tostring(pagina.articulo, encoding="unicode"))
        _quita(articulo, SOBRA)
        for caja in list(articulo.iter("details")):
            caja.set("open", "")
            if (
                "hide" in caja.get("class", "").split()
            ):  # código que la página esconde: aquí se lee sin más
                caja.tag = "div"
                _quita(caja, ("./summary",))
        for sonidos in articulo.xpath(".//div[contains(@class, 'atento-sonidos')]"):
            sonidos.getparent().replace(sonidos, self._contado(sonidos, pagina))
        for nodo in articulo.iter():
            if isinstance(nodo.tag, str):
                self._nombrar(nodo, pagina)
        articulo.set("id", pagina.prefijo)
        articulo.set("class", "bd-article")
        return articulo

    def _contado(self, sonidos: HtmlElement, pagina: Pagina) -> HtmlElement:
        """Lo que hay donde se oía algo: qué era, y el enlace a la página en que suena. Ni el papel
        ni todos los lectores de libros pueden con el WAV.
        """
        nodo = html.Element("p", {"class": "sonidos"})
        nodo.text = f"{sonidos.get('aria-label')} "
        enlace = html.Element("a", {"href": f"{self.publicado}/{pagina.ruta}"})
        enlace.text, nodo.tail = "Se oye en la página.", sonidos.tail
        nodo.append(enlace)
        return nodo

    def _nombrar(self, nodo: HtmlElement, pagina: Pagina) -> None:
        """Cambia el identificador de un nodo y todo lo que apunta a otros."""
        prefijo = f"{pagina.prefijo}--"
        if nodo.get("id"):
            nodo.set("id", prefijo + nodo.get("id"))
        for nombre in REFERENCIAS:
            if nodo.get(nombre):
                nodo.set(nombre, " ".join(prefijo + x for x in nodo.get(nombre).split()))
        for nombre, valor in nodo.attrib.items():
            if "url(" in valor:
                nodo.set(nombre, _URL.sub(rf"url(#{prefijo}\1)", valor))
        for nombre in ("href", "xlink:href", "src"):
            if nodo.get(nombre):
                nodo.set(nombre, self.direccion(nodo.get(nombre), pagina, nombre))

    def direccion(self, antes: str, pagina: Pagina, atributo: str = "href") -> str:
        """La dirección de un enlace o de una imagen dentro del documento."""
        partes = urlsplit(antes)
        if partes.scheme or partes.netloc:
            return antes
        destino = pagina.ruta
        if partes.path:
            destino = posixpath.normpath(
                posixpath.join(posixpath.dirname(pagina.ruta), unquote(partes.path))
            )
        if atributo == "src":
            return destino
        if destino not in self.prefijos:
            return f"{self.publicado}/{destino}" + (
                f"#{partes.fragment}" if partes.fragment else ""
            )
        return f"#{self.prefijos[destino]}" + (
            f"--{unquote(partes.fragment)}" if partes.fragment else ""
        )

    def rotos(self) -> list[str]:
        """Los enlaces de dentro que no llegan a ningún sitio."""
        anclas = {
            n.get("id")
            for _, a in self.articulos
            for n in a.iter()
            if isinstance(n.tag, str) and n.get("id")
        }
        return sorted(
            {
                f"{p.ruta} → {n.get('href')}"
                for p, a in self.articulos
                for n in a.iter("a")
                if n.get("href", "").startswith("#") and n.get("href")[1:] not in anclas
            }
        )

    def estilos_de_los_exploradores(self) -> str:
        """Los estilos que los exploradores llevan consigo, una vez cada uno."""
        partes = {
            n.get("data-atento-part"): n.text or ""
            for p in self.paginas
            for n in p.articulo.xpath(".//style[@data-atento-part]")
        }
        return "\n".join(partes.values())


def indice(paginas_: list[Pagina]) -> Iterator[str]:
    """El índice general, línea a línea: partes y páginas, con un hueco para el número."""
    yield '<nav class="indice-general" id="indice-general"><h1>Índice</h1>'
    parte = ""
    for pagina in paginas_[1:]:
        if pagina.parte != parte:
            parte = pagina.parte
            yield f'<p class="parte">{escape(parte)}</p>'
        yield (
            f'<p class="nivel-{pagina.nivel}"><a href="#{pagina.prefijo}">'
            f"<span>{escape(pagina.titulo)}</span>"
            f'<span class="numero" data-destino="{pagina.prefijo}"></span></a></p>'
        )
    yield "</nav>"


def _cabeceras(paginas_: list[Pagina]) -> str:
    """Una regla de página por cada una: su título, arriba."""
    reglas = []
    for pagina in paginas_:
        titulo = pagina.titulo.replace("\\", "").replace('"', "”") if pagina.nivel else ""
        reglas.append(f'@page {pagina.prefijo} {{ @top-right {{ content: "{titulo}" }} }}')
        reglas.append(f"#{pagina.prefijo} {{ page: {pagina.prefijo} }}")
    return "\n".join(reglas)


def documento(tomo: Tomo, estilo: str) -> str:
    """El documento entero, con los estilos del sitio y sin ningún guion."""
    portada = html.fromstring(
        (tomo.sitio / PORTADA).read_bytes(), parser=html.HTMLParser(encoding="utf-8")
    )
    hojas = [n.get("href") for n in portada.xpath("//link[@rel='stylesheet']")]
    cabeza = [f'<link rel="stylesheet" href="{escape(h)}">' for h in hojas]
    cabeza.append(
        f"<style>{tomo.estilos_de_los_exploradores()}\n{estilo}\n{_cabeceras(tomo.paginas)}</style>"
    )
    cuerpo = [html.tostring(a, encoding="unicode") for _, a in tomo.articulos]
    cuerpo.insert(1, "\n".join(indice(tomo.paginas)))
    return (
        '<!DOCTYPE html>\n<html lang="es" data-theme="light" data-mode="light">'
        '<head><meta charset="utf-8">'
        f"<title>{escape(tomo.paginas[0].titulo)}</title>{''.join(cabeza)}</head>"
        f'<body class="tomo"><main class="bd-content">{"".join(cuerpo)}</main></body></html>'
    )
