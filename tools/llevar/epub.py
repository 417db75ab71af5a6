"""El EPUB del libro: un capítulo por página del sitio, con las fórmulas en MathML y las figuras en
SVG.

El XHTML lo escribe el navegador: sale bien formado. Aquí se cambia lo que EPUB no admite, se ponen
los colores (muchos lectores no entienden variables de CSS) y se cierra el paquete.
"""

from __future__ import annotations

import re
import time
import uuid
import zipfile
from html import escape
from itertools import groupby
from mimetypes import guess_type
from pathlib import Path

from lxml import etree
from pygments.formatters import HtmlFormatter

from figuras import plots
from llevar.documento import Pagina, Tomo
from llevar.pdf import abierto
from paginas.descargas import fecha

AQUI = Path(__file__).resolve().parent
XHTML, MATHML, SVG = (
    f"http://www.w3.org/{x}" for x in ("1999/xhtml", "1998/Math/MathML", "2000/svg")
)
EPUB = "http://www.idpf.org/2007/ops"
BLOQUES = {
    f"{{{XHTML}}}{x}" for x in ("p", "div", "ul", "ol", "dl", "table", "figure", "section", "pre")
}
FUERA = ("tabindex", "align", "valign", "border", "theme", "rules", "frame", "open")
CONTENEDOR = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
    '<rootfiles><rootfile full-path="OPS/libro.opf" media-type="application/oebps-package+xml"/>'
    "</rootfiles></container>"
)
ACCESIBLE = (
    ("accessMode", "textual"),
    ("accessMode", "visual"),
    ("accessModeSufficient", "textual"),
    ("accessibilityFeature", "MathML"),
    ("accessibilityFeature", "alternativeText"),
    ("accessibilityFeature", "structuralNavigation"),
    ("accessibilityFeature", "tableOfContents"),
    ("accessibilityHazard", "none"),
    ("accessibilitySummary", "Fórmulas en MathML; todas las figuras tienen texto alternativo."),
)


def colores() -> dict[str, str]:
    """Las variables de color del tema claro."""
    return dict(re.findall(r"(--[\w-]+):([^;}]+)", plots.css().split("}")[0]))


def sin_variables(valor: str, tabla: dict[str, str]) -> str:
    """Un estilo con las variables cambiadas por su valor; las desconocidas, por el que llevan de
    reserva.

    >>> sin_variables("fill:var(--a, #000);stroke:var(--b, none)", {"--a": "#123"})
    'fill:#123;stroke:none'
    """
    patron = re.compile(r"var\(\s*(--[\w-]+)\s*(?:,\s*([^()]*(?:\([^()]*\)[^()]*)*))?\)")
    while patron.search(valor):
        valor = patron.sub(lambda m: tabla.get(m[1]) or (m[2] or "inherit").strip(), valor)
    return valor


class Edicion:
    """Los ficheros del EPUB, a partir del documento ya compuesto."""

    def __init__(self, tomo: Tomo, articulos: dict[str, str]) -> None:
        """``articulos`` son los textos en XHTML, por el prefijo de su página."""
        self.tomo, self.tabla = tomo, colores()
        self.arboles = {p.prefijo: self._adapta(articulos[p.prefijo]) for p in tomo.paginas}

    def _adapta(self, texto: str) -> etree._Element:
        arbol = etree.fromstring(texto.encode())
        for nodo in arbol.iter(etree.Element):
            self._adapta_nodo(nodo)
        return arbol

    def _adapta_nodo(self, nodo: etree._Element) -> None:
        nombre = etree.QName(nodo).localname
        if nombre == "details":
            nodo.tag, nodo.attrib["class"] = (
                f"{{{XHTML}}}div",
                f"plegado {nodo.get('class', '')}".strip(),
            )
        elif nombre == "summary":
            nodo.tag, nodo.attrib["class"] = f"{{{XHTML}}}p", "rotulo-plegado"
        elif nombre in ("span", "p") and any(hijo.tag in BLOQUES for hijo in nodo):
            nodo.tag = f"{{{XHTML}}}div"
        for atributo, valor in list(nodo.attrib.items()):
            if atributo in FUERA or atributo.startswith("data-") or valor == "doc-biblioentry":
                del nodo.attrib[atributo]
            elif "var(" in valor:
                nodo.set(atributo, sin_variables(valor, self.tabla))
        if nombre == "a" and nodo.get("href", "").startswith("#"):
            ancla = nodo.get("href")[1:]
            pagina = ancla.split("--")[0]
            nodo.set("href", f"{pagina}.xhtml" + (f"#{ancla}" if ancla != pagina else ""))

    def pagina(self, pagina: Pagina) -> str:
        """Una página entera."""
        cuerpo = etree.tostring(self.arboles[pagina.prefijo], encoding="unicode", with_tail=False)
        return _xhtml(pagina.titulo, cuerpo)

    def propiedades(self, pagina: Pagina) -> str:
        """Lo que el paquete tiene que decir de una página: si lleva fórmulas o dibujos."""
        arbol = self.arboles[pagina.prefijo]
        return " ".join(
            nombre
            for nombre, espacio, raiz in (("mathml", MATHML, "math"), ("svg", SVG, "svg"))
            if next(arbol.iter(f"{{{espacio}}}{raiz}"), None) is not None
        )

    def imagenes(self) -> list[str]:
        """Las imágenes de fuera del texto que hay que llevar."""
        return sorted(
            {n.get("src") for a in self.arboles.values() for n in a.iter(f"{{{XHTML}}}img")}
        )


def _xhtml(titulo: str, cuerpo: str) -> str:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE html>\n'
        f'<html xmlns="{XHTML}" xmlns:epub="{EPUB}" lang="es" xml:lang="es">'
        f'<head><meta charset="utf-8"/><title>{escape(titulo)}</title>'
        '<link rel="stylesheet" type="text/css" href="libro.css"/></head>'
        f"<body>{cuerpo}</body></html>\n"
    )


def _lista(paginas: list[Pagina]) -> str:
    """Las páginas como lista anidada por su nivel."""
    salida = []
    for i, pagina in enumerate(paginas):
        salida.append(f'<li><a href="{pagina.prefijo}.xhtml">{escape(pagina.titulo)}</a>')
        baja = (paginas[i + 1].nivel if i + 1 < len(paginas) else paginas[0].nivel) - pagina.nivel
        salida.append("<ol>" if baja > 0 else "</li>" + "</ol></li>" * -baja)
    return "".join(salida)


def navegacion(paginas: list[Pagina]) -> str:
    """El índice del EPUB, por partes."""
    partes = "".join(
        f"<li><span>{escape(parte)}</span><ol>{_lista(list(suyas))}</ol></li>"
        for parte, suyas in groupby(paginas[1:], key=lambda p: p.parte)
    )
    portada = f'<li><a href="{paginas[0].prefijo}.xhtml">{escape(paginas[0].titulo)}</a></li>'
    return _xhtml(
        "Índice", f'<nav epub:type="toc" id="toc"><h1>Índice</h1><ol>{portada}{partes}</ol></nav>'
    )


def paquete(edicion: Edicion, publicado: str, fecha: str) -> str:
    """El fichero OPF: datos, lo que hay y en qué orden."""
    paginas = edicion.tomo.paginas
    hay = [
        f'<item id="{p.prefijo}" href="{p.prefijo}.xhtml" media-type="application/xhtml+xml"'
        + (f' properties="{v}"' if (v := edicion.propiedades(p)) else "")
        + "/>"
        for p in paginas
    ]
    hay += [
        f'<item id="imagen-{i}" href="{escape(r)}" media-type="{guess_type(r)[0]}"/>'
        for i, r in enumerate(edicion.imagenes())
    ]
    datos = "".join(f'<meta property="schema:{clave}">{valor}</meta>' for clave, valor in ACCESIBLE)
    lomo = "".join(f'<itemref idref="{p.prefijo}"/>' for p in paginas[1:])
    urn = uuid.uuid5(uuid.NAMESPACE_URL, publicado)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id" '
        'xml:lang="es"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f'<dc:identifier id="id">urn:uuid:{urn}</dc:identifier>'
        f"<dc:title>{escape(paginas[0].titulo)}</dc:title>"
        f"<dc:language>es</dc:language><dc:source>{escape(publicado)}</dc:source>"
        "<dc:rights>CC BY-SA 4.0</dc:rights>"
        f'<meta property="dcterms:modified">{fecha}</meta>{datos}</metadata>'
        "<manifest>"
        '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
        '<item id="css" href="libro.css" media-type="text/css"/>'
        f"{''.join(hay)}</manifest>"
        f'<spine><itemref idref="{paginas[0].prefijo}"/><itemref idref="nav"/>{lomo}</spine>'
        "</package>\n"
    )


def estilos() -> str:
    """La hoja de estilo, con los colores del código."""
    codigo = HtmlFormatter(style="a11y-high-contrast-light", nobackground=True).get_style_defs(
        ".highlight"
    )
    propio = (AQUI / "epub.css").read_text(encoding="utf-8")
    return propio + "\n".join(x for x in codigo.splitlines() if x.startswith(".highlight"))


def escribe(tomo: Tomo, salida: Path) -> Path:
    """Escribe el EPUB, con la fecha de :func:`descargas.fecha`, y devuelve su ruta."""
    with abierto(tomo, "") as pestana:
        edicion = Edicion(
            tomo, pestana.evaluate((AQUI / "documento.js").read_text(encoding="utf-8"))
        )
    cuando = time.gmtime(fecha())
    salida.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(salida, "w", zipfile.ZIP_DEFLATED) as paquete_zip:
        paquete_zip.writestr(_dato("mimetype", cuando), "application/epub+zip", zipfile.ZIP_STORED)
        textos = {
            "META-INF/container.xml": CONTENEDOR,
            "OPS/libro.opf": paquete(
                edicion, tomo.publicado, time.strftime("%Y-%m-%dT%H:%M:%SZ", cuando)
            ),
            "OPS/nav.xhtml": navegacion(tomo.paginas),
            "OPS/libro.css": estilos(),
        }
        textos |= {f"OPS/{p.prefijo}.xhtml": edicion.pagina(p) for p in tomo.paginas}
        for nombre, texto in textos.items():
            paquete_zip.writestr(_dato(nombre, cuando), texto, zipfile.ZIP_DEFLATED)
        for ruta in edicion.imagenes():
            dato = _dato(f"OPS/{ruta}", cuando)
            paquete_zip.writestr(dato, (tomo.sitio / ruta).read_bytes(), zipfile.ZIP_DEFLATED)
    return salida


def _dato(nombre: str, cuando: time.struct_time) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(nombre, max(cuando[:6], (1980, 1, 1, 0, 0, 0)))
