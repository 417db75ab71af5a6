"""El libro construido, leído sin navegador: enlaces, textos alternativos, idioma y cuadernos."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from bs4 import BeautifulSoup

RAIZ = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def arboles(sitio: Path, paginas: list[str]) -> dict[str, BeautifulSoup]:
    return {pagina: BeautifulSoup((sitio / pagina).read_text("utf8"), "lxml") for pagina in paginas}


def _capitulos(paginas) -> list[str]:
    escritos = [p for p in paginas if re.match(r"[1-9]-[^/]+/\d\d-", p)]
    assert escritos, "no se ha encontrado ningún capítulo: nada se habría mirado"
    return escritos


def test_idioma(arboles):
    assert {arbol.html.get("lang") for arbol in arboles.values()} == {"es"}


def test_cada_pagina_tiene_titulo_y_un_solo_encabezado_principal(arboles):
    faltas = [
        pagina
        for pagina, arbol in arboles.items()
        if not arbol.title.get_text(strip=True)
        or len(arbol.select("article h1, .bd-search-container h1")) != 1
    ]
    assert not faltas, faltas


def test_la_descripcion_de_cada_capitulo_no_lleva_tex(arboles):
    faltas = []
    for pagina in _capitulos(arboles):
        meta = arboles[pagina].find("meta", attrs={"name": "description"})
        if meta is None or re.search(r"[\\$]", meta["content"]) or len(meta["content"]) < 40:
            faltas.append(f"{pagina}: {meta and meta['content']!r}")
    assert not faltas, "\n".join(faltas)


def test_los_identificadores_no_se_repiten(arboles):
    faltas = []
    for pagina, arbol in arboles.items():
        vistos: set[str] = set()
        for nodo in arbol.find_all(id=True):
            if nodo["id"] in vistos:
                faltas.append(f"{pagina}: #{nodo['id']}")
            vistos.add(nodo["id"])
    assert not faltas, "\n".join(faltas)


def test_los_enlaces_internos_llegan(sitio, arboles):
    anclas = {
        pagina: {nodo["id"] for nodo in arbol.find_all(id=True)}
        for pagina, arbol in arboles.items()
    }
    faltas = []
    for pagina, arbol in arboles.items():
        for enlace in arbol.select("a[href]"):
            partes = urlsplit(enlace["href"])
            if partes.scheme or partes.netloc:
                continue
            destino = (
                (sitio / pagina).parent / unquote(partes.path) if partes.path else sitio / pagina
            )
            relativo = destino.resolve().relative_to(sitio.resolve()).as_posix()
            if not destino.exists():
                faltas.append(f"{pagina} → {enlace['href']}: no existe")
            elif (
                partes.fragment
                and relativo in anclas
                and unquote(partes.fragment) not in anclas[relativo]
            ):
                faltas.append(f"{pagina} → {enlace['href']}: no existe el ancla")
    assert not faltas, "\n".join(sorted(set(faltas)))


def test_las_imagenes_tienen_alternativa_que_se_entiende(arboles):
    faltas = []
    for pagina, arbol in arboles.items():
        for imagen in arbol.select("article img"):
            alternativa = imagen.get("alt", "").strip()
            if not alternativa or re.search(r"\.(png|svg|jpe?g|gif|webp)$|^[\w/.-]+$", alternativa):
                faltas.append(f"{pagina}: img alt={alternativa!r}")
        for figura in arbol.select("article [data-figura] svg"):
            nombrada = (
                figura if figura.get("role") == "img" else figura.find_parent(attrs={"role": "img"})
            )
            alternativa = (nombrada or {}).get("aria-label", "")
            if len(alternativa) < 40:
                faltas.append(f"{pagina}: svg aria-label={alternativa!r}")
    assert not faltas, "\n".join(faltas)


def test_cada_figura_tiene_numero_y_pie(arboles):
    faltas = []
    for pagina in _capitulos(arboles):
        numero = int(pagina.rsplit("/", 1)[-1][:2])
        for orden, figura in enumerate(arboles[pagina].select("figure.figura"), 1):
            rotulo = figura.select_one("figcaption .caption-number")
            if rotulo is None or rotulo.get_text(strip=True) != f"Figura {numero}.{orden}":
                faltas.append(
                    f"{pagina}: {figura.get('id')}: {rotulo and rotulo.get_text(strip=True)}"
                )
        for suelta in arboles[pagina].select("[data-figura]"):
            if suelta.find_parent("figure") is None:
                faltas.append(
                    f"{pagina}: «{suelta['data-figura']}» se dibuja sin pie (falta la directiva"
                    " figura)"
                )
    assert not faltas, "\n".join(faltas)


def test_los_enlaces_al_cuaderno(sitio, arboles):
    configuracion = yaml.safe_load((RAIZ / "book" / "_config.yml").read_text("utf8"))
    repositorio = configuracion["repository"]["url"].removeprefix("https://github.com/")
    rama = configuracion["sphinx"]["config"]["libro_rama_cuadernos"]
    for pagina in _capitulos(arboles):
        nombre = Path(pagina).stem + ".ipynb"
        direcciones = {
            a.get_text(strip=True): a["href"] for a in arboles[pagina].select("a.boton-cuaderno")
        }
        assert (
            direcciones["Abrir enColab"]
            == f"https://colab.research.google.com/github/{repositorio}/blob/{rama}/{nombre}"
        )
        destino = ((sitio / pagina).parent / direcciones["Descargar.ipynb"]).resolve()
        assert destino == (sitio / "cuadernos" / nombre).resolve()


def test_la_portada_y_los_apendices_no_ofrecen_cuaderno(arboles):
    capitulos = set(_capitulos(arboles))
    capitulos |= {
        p for p in arboles if p.startswith("0-preliminares/")
    }  # los que se ejecutan también lo ofrecen
    sobran = [
        p for p, arbol in arboles.items() if p not in capitulos and arbol.select("a.boton-cuaderno")
    ]
    assert not sobran


def test_ninguna_pagina_carga_nada_de_fuera(arboles):
    faltas = [
        f"{pagina}: {direccion}"
        for pagina, arbol in arboles.items()
        for nodo in arbol.select(
            "script[src], link[rel=stylesheet], link[rel=preload], img[src], iframe[src]"
        )
        for direccion in [nodo.get("src") or nodo.get("href", "")]
        if re.match(r"(https?:)?//", direccion)
    ]
    assert not faltas, "\n".join(faltas)


def test_las_fuentes_pesan_lo_prometido(sitio):
    peso = sum(fuente.stat().st_size for fuente in (sitio / "fuentes").glob("*.woff2"))
    assert 0 < peso <= 310_000
    assert len(list((sitio / "fuentes").glob("LICENCIA-*.txt"))) == 4


def test_el_lector_no_ve_los_identificadores_del_temario(arboles):
    faltas = []
    for pagina, arbol in arboles.items():
        texto = (
            arbol.article.get_text() if arbol.article and pagina != "apendices/temario.html" else ""
        )
        faltas += [f"{pagina}: {m}" for m in re.findall(r"\bR-\d{3}\b", texto)]
    assert not faltas, "\n".join(faltas)


def test_ninguna_formula_deja_su_puntuacion_suelta(arboles):
    faltas = [
        f"{pagina}: {formula.get_text()[:40]}{despues[:10]!r}"
        for pagina, arbol in arboles.items()
        for formula in arbol.select("article span.math")
        for despues in [formula.next_sibling if isinstance(formula.next_sibling, str) else ""]
        if despues[:1] in tuple(".,;:)») ".strip())
        and "sin-corte" not in (formula.parent.get("class") or [])
    ]
    assert not faltas, "\n".join(faltas[:20])


def test_los_tiempos_van_por_separado(arboles):
    for pagina in _capitulos(arboles):
        texto = " ".join(arboles[pagina].select_one(".objetivos .tiempos").get_text(" ").split())
        assert re.search(r"Leer: .+ Seguir el código: .+ Ejercicios: .+ Ejecutarlo: ", texto), (
            f"{pagina}: {texto}"
        )


def test_el_mapa_enlaza_lo_escrito(arboles):
    enlaces = {a["href"] for a in arboles["intro.html"].select(".mapa-libro .escrito a")}
    assert enlaces == set(_capitulos(arboles))
    assert len(arboles["intro.html"].select(".mapa-libro li")) == 27


def test_no_se_carga_la_biblioteca_de_iconos(arboles):
    con_ella = [
        p
        for p, arbol in arboles.items()
        if arbol.select("script[src*=fontawesome]") or arbol.select("i.fa-solid")
    ]
    assert not con_ella and all(
        len(arbol.select("svg.icono path")) >= 4 for arbol in arboles.values()
    )
