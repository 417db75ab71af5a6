"""Con dirección, el sitio dice cuál es, tiene mapa, página 404 e imagen y avisa de lo nuevo; sin
ella, nada de eso aparece."""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from lxml import etree
from sphinx.errors import ExtensionError
from test_extension import CABECERA, LIBRO, _construir

sys.path.insert(0, str(LIBRO / "_ext"))

from libro import publicacion  # noqa: E402

BASE = "https://ejemplo.org/el-libro"
PAGINA = CABECERA + "# Un capítulo\n\nTexto de prueba para la descripción de la página.\n"
NOVEDADES = """
- {fecha: 2026-01-02, titulo: Vieja, texto: La primera., pagina: intro}
- {fecha: 2026-03-04, titulo: Nueva & <mejor>, texto: La segunda., pagina: 04-prueba}
"""


@pytest.fixture(scope="module")
def publicado(tmp_path_factory) -> Path:
    carpeta = tmp_path_factory.mktemp("publicado")
    (carpeta / "novedades.yml").write_text(NOVEDADES, "utf8")
    estado, dicho, html = _construir(carpeta, {"04-prueba": PAGINA}, LIBRO_DIRECCION=f"{BASE}/")
    assert estado == 0, dicho[-3000:]
    return html


def _leida(html: Path, nombre: str) -> BeautifulSoup:
    return BeautifulSoup((html / nombre).read_text("utf8"), "lxml")


@pytest.mark.construccion
def test_cada_pagina_dice_su_direccion_y_lleva_imagen(publicado):
    pagina = _leida(publicado, "04-prueba.html")
    assert pagina.select_one("link[rel=canonical]")["href"] == f"{BASE}/04-prueba.html"
    assert pagina.select_one("meta[property='og:url']")["content"] == f"{BASE}/04-prueba.html"
    imagen = pagina.select_one("meta[property='og:image']")["content"]
    assert imagen.startswith(f"{BASE}/_images/")
    assert (publicado / imagen.removeprefix(f"{BASE}/")).stat().st_size > 10_000
    assert pagina.select_one("link[type='application/rss+xml']")["href"] == f"{BASE}/novedades.xml"


@pytest.mark.construccion
def test_el_mapa_lleva_las_paginas_y_solo_ellas(publicado):
    mapa = etree.parse(publicado / "sitemap.xml")
    direcciones = {nodo.text for nodo in mapa.iter("{*}loc")}
    assert direcciones == {f"{BASE}/intro.html", f"{BASE}/04-prueba.html"}


@pytest.mark.construccion
def test_la_pagina_que_no_se_encuentra_funciona_a_cualquier_profundidad(publicado):
    pagina = _leida(publicado, "404.html")
    assert pagina.select_one("article h1").get_text() == "No está aquí"
    recursos = [n.get("href") or n.get("src") for n in pagina.select("link[href], script[src]")]
    propios = [r for r in recursos if not r.startswith("https://")]
    assert propios and all(r.startswith("/el-libro/") for r in propios), propios
    assert any(a["href"] == "/el-libro/04-prueba.html" for a in pagina.select("a[href]"))


@pytest.mark.construccion
def test_las_novedades_de_la_ultima_a_la_primera(publicado):
    canal = etree.parse(publicado / "novedades.xml").getroot().find("channel")
    assert canal.findtext("language") == "es"
    assert [x.findtext("title") for x in canal.findall("item")] == ["Nueva & <mejor>", "Vieja"]
    assert canal.find("item").findtext("link") == f"{BASE}/04-prueba.html"
    assert canal.findtext("lastBuildDate").startswith("Wed, 04 Mar 2026")


def test_el_canal_depende_solo_de_las_novedades():
    lista = [{"fecha": date(2026, 1, 2), "titulo": "a", "texto": "b", "pagina": "c"}]
    assert publicacion.canal(lista, BASE, "t") == publicacion.canal(lista, BASE, "t")
    assert b"1970" in publicacion.canal([], BASE, "t")


def test_el_canal_dice_de_quien_es_en_que_idioma_y_a_donde_lleva_cada_novedad():
    lista = [
        {"fecha": date(2026, dia, 2), "titulo": f"T{dia}", "texto": "b", "pagina": f"c{dia}"}
        for dia in (3, 1)
    ]
    canal = etree.fromstring(publicacion.canal(lista, BASE, "El libro")).find("channel")
    dicho = {x: canal.findtext(x) for x in ("title", "language", "generator")}
    assert dicho == {"title": "El libro", "language": "es", "generator": None}
    assert canal.findtext("description") and canal.findtext("link") == f"{BASE}/"
    propio = canal.find("{http://www.w3.org/2005/Atom}link")
    assert propio.attrib == {"href": f"{BASE}/novedades.xml", "rel": "self"}
    assert canal.findtext("lastBuildDate") == "Mon, 02 Mar 2026 12:00:00 +0000"
    assert [
        [x.findtext(y) for y in ("title", "description", "link", "guid", "pubDate")]
        for x in canal.findall("item")
    ] == [
        [
            "T3",
            "b",
            f"{BASE}/c3.html",
            f"{BASE}/c3.html?2026-03-02",
            "Mon, 02 Mar 2026 12:00:00 +0000",
        ],
        [
            "T1",
            "b",
            f"{BASE}/c1.html",
            f"{BASE}/c1.html?2026-01-02",
            "Fri, 02 Jan 2026 12:00:00 +0000",
        ],
    ]
    assert {x.get("isPermaLink") for x in canal.iter("guid")} == {"false"}


@pytest.mark.construccion
def test_sin_direccion_no_hay_nada_de_esto(tmp_path):
    estado, dicho, html = _construir(tmp_path, {"04-prueba": PAGINA}, LIBRO_DIRECCION="")
    assert estado == 0, dicho[-3000:]
    assert not [n for n in ("404.html", "sitemap.xml", "novedades.xml") if (html / n).exists()]
    pagina = _leida(html, "04-prueba.html")
    assert not pagina.select("link[rel=canonical], meta[property='og:image'], link[type*=rss]")


@pytest.mark.parametrize("mala", ["ejemplo.org/libro", "ftp://ejemplo.org", "https://e.org/?a=b"])
def test_una_direccion_mala_se_dice(monkeypatch, mala):
    monkeypatch.setenv("LIBRO_DIRECCION", mala)
    with pytest.raises(ExtensionError, match="LIBRO_DIRECCION: llegó «.*se esperaba"):
        publicacion.direccion()


@pytest.mark.parametrize(
    ("texto", "falta"),
    [("- {titulo: Algo, fecha: 2026-01-01, pagina: intro}", "texto"),
     ("- {titulo: Algo, fecha: ayer, texto: a, pagina: intro}", "una fecha como")],
)  # fmt: skip
def test_una_novedad_mal_escrita_se_dice(tmp_path, texto, falta):
    (tmp_path / "novedades.yml").write_text(texto, "utf8")
    with pytest.raises(ExtensionError, match=f"en «Algo» falta {falta}"):
        publicacion.lee_novedades(tmp_path / "novedades.yml")


def test_las_novedades_del_libro_llevan_a_paginas_que_existen():
    novedades = publicacion.lee_novedades(LIBRO / "novedades.yml")
    assert novedades and all((LIBRO / f"{n['pagina']}.md").exists() for n in novedades)
