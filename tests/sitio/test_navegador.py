"""El libro construido, visto con un navegador: en ancho y en estrecho, en claro y en oscuro."""

from __future__ import annotations

import pytest
import vistas
from accesible import accesibilidad

# Las visitas se hacen dentro de la primera prueba que las pide.
pytestmark = [pytest.mark.navegador, pytest.mark.timeout(1800)]


def _faltas(visitas, leer) -> str:
    """Una línea por falta, con su página."""
    return "\n".join(f"{v.pagina}: {falta}" for v in visitas for falta in leer(v))


def test_nada_se_pide_a_la_red(visitas):
    assert not (faltas := _faltas(visitas, lambda v: v.pedidos_fuera)), faltas


def test_no_falta_ningun_fichero(visitas):
    assert not (faltas := _faltas(visitas, lambda v: v.fallos)), faltas


def test_la_consola_no_da_errores(visitas):
    assert not (faltas := _faltas(visitas, lambda v: v.consola)), faltas


def test_todas_las_formulas_se_componen(visitas):
    assert sum(v.formulas for v in visitas) > 0, "no hay ninguna fórmula compuesta"
    assert not (faltas := _faltas(visitas, lambda v: v.formulas_mal + v.tex_sin_componer)), faltas


@pytest.mark.parametrize("modo", ["light", "dark"])
def test_accesibilidad(visitas, modo):
    assert any(v.axe for v in visitas), "no se ha mirado ninguna página"
    assert not (faltas := _faltas(visitas, lambda v: v.axe.get(modo, []))), faltas


def test_solo_se_sella_una_pagina_como_esta(tmp_path, monkeypatch):
    """Ni otra página, ni otro estilo, ni una que haya fallado valen por la que pasó."""
    suyas = vistas.Vistas(tmp_path / "vistas.json")
    monkeypatch.setenv("ATENTO_ENTERO", "0")
    (tmp_path / "_static").mkdir()
    estilo = tmp_path / "_static" / "libro.css"
    estilo.write_text("p { color: red }", encoding="utf8")
    de_todas = vistas.comun(tmp_path, "Chromium 1")
    una = "<p>menú</p><main><p>Tarda 12.5 s.</p></main>"
    huellas = {f"{i}.html": vistas.huella(f"{una}{i}", de_todas) for i in range(40)}
    assert suyas.por_mirar(huellas) == set(huellas)
    suyas.guarda(huellas, huellas.keys() - {"7.html"}, {"7.html"}, huellas.keys() - {"8.html"})
    suyas.guarda(huellas, [], ["9.html"], huellas)  # pasó y, vuelta a mirar, falla
    tocan = suyas.por_mirar(huellas)
    assert {"7.html", "8.html", "9.html"} <= tocan and len(tocan) <= 3 + 40 / vistas.CADA

    suya = huellas["0.html"]
    assert vistas.huella(una.replace("12.5", "3").replace("menú", "otro"), de_todas) == suya
    assert vistas.huella(una.replace("<p>T", "<p class='gris'>T"), de_todas) != suya
    assert vistas.huella(una, vistas.comun(tmp_path, "Chromium 2")) != suya
    estilo.write_text("p { color: gray }", encoding="utf8")
    assert vistas.huella(una, vistas.comun(tmp_path, "Chromium 1")) != suya


MUCHOS = """<html lang="es"><head><title>Muchos</title><style>
  body {{ background: #fff; color: #222; }}
  [data-theme=dark] body {{ background: #111; color: #eee; }}
  a {{ text-decoration: none; }}
  {estilo}
</style></head><body><main><h1>Muchos</h1>{antes}{parrafo}{despues}</main></body></html>"""

# Cómo se distingue de los demás el párrafo que se lee mal, y en qué temas se lee mal.
COLORES_MALOS = {
    "su clase": (
        ".raro { color: #888; background: #777; }",
        "<p class='raro'>Mal.</p>",
        "light dark",
    ),
    "su estilo": ("", "<p style='color: #888; background: #777'>Mal.</p>", "light dark"),
    "su lugar": ("p:nth-child(22) { color: #ccc; }", "<p>Mal.</p>", "light"),
    "su lugar y el tema": (
        "[data-theme=dark] p:nth-child(22) { color: #333; }",
        "<p>Mal.</p>",
        "dark",
    ),
    "su atributo y el tema": (
        "[data-theme=dark] [data-raro] { color: #333; }",
        "<p data-raro>Mal.</p>",
        "dark",
    ),
    "un enlace que no se distingue": (
        "a { color: #444; } [data-theme=dark] a { color: #ccc; }",
        "<p>Con <a href='#'>Mal.</a> dentro.</p>",
        "light dark",
    ),
}


@pytest.mark.parametrize("cual", COLORES_MALOS)
def test_al_podar_no_se_pierde_un_color_malo(pestana, cual):
    estilo, parrafo, temas = COLORES_MALOS[cual]
    iguales = "<p>Un párrafo como los demás.</p>" * 20
    pestana.set_content(
        MUCHOS.format(estilo=estilo, antes=iguales, parrafo=parrafo, despues=iguales)
    )
    hallado = accesibilidad(pestana)
    assert pestana.locator("p:visible").count() <= 3
    assert [tema for tema, faltas in hallado.items() if "Mal." in str(faltas)] == temas.split()


@pytest.mark.parametrize("ancho", [390, 360])
def test_en_el_telefono_no_se_corta_nada(visitas, ancho):
    assert not (faltas := _faltas(visitas, lambda v: v.cortado[ancho])), faltas


@pytest.mark.parametrize("ancho", [390, 360, 320])
def test_sin_desplazamiento_horizontal(visitas, ancho):
    faltas = _faltas(
        visitas,
        lambda v: [f"mide {v.ancho[ancho]}: {v.se_salen}"] if v.ancho[ancho] > ancho else [],
    )
    assert not faltas, faltas


RAYAS = """() => [...document.querySelectorAll('menclose')].map((m) => {
  const estilo = getComputedStyle(m);
  return [m.getAttribute('notation'), parseFloat(estilo.borderTopWidth), estilo.borderTopStyle];
})"""


def test_la_raya_de_una_media_se_ve(pestana, direccion, paginas):
    rayas = []
    for pagina in [p for p in paginas if "/09-" in p or "/12-" in p]:
        pestana.goto(f"{direccion}/{pagina}", wait_until="load")
        rayas += pestana.evaluate(RAYAS)
    assert len(rayas) > 3
    assert all(que == "top" and ancho >= 1 and raya == "solid" for que, ancho, raya in rayas), rayas


# El hueco, en emes, entre lo que hay dentro de cada raíz y lo que la sigue en su fila.
HUECOS = """() => [...document.querySelectorAll('msqrt')]
  .filter((r) => r.nextElementSibling).map((r) => {
  const dentro = Math.max(...[...r.children].map((hijo) => hijo.getBoundingClientRect().right));
  const sigue = r.nextElementSibling.getBoundingClientRect().left;
  return (sigue - dentro) / parseFloat(getComputedStyle(r).fontSize);
})"""


def test_tras_una_raiz_no_queda_hueco(pestana, direccion, paginas):
    huecos = []
    for pagina in [p for p in paginas if "/04-" in p or "/12-" in p]:
        pestana.goto(f"{direccion}/{pagina}", wait_until="load")
        pestana.evaluate("() => document.fonts.ready.then(() => true)")
        pestana.evaluate(
            "() => document.querySelectorAll('details').forEach((d) => (d.open = true))"
        )
        pestana.wait_for_timeout(300)
        huecos += pestana.evaluate(HUECOS)
    assert len(huecos) > 3 and all(0 <= hueco < 0.35 for hueco in huecos), huecos


# Las salidas que se deslizan, y lo que haría falta encoger la letra del libro para que cupieran.
SALIDAS = """() => [...document.querySelectorAll('.cell_output pre')]
  .filter((s) => s.scrollWidth > 0).map((s) => {
  const medidas = () => [parseFloat(getComputedStyle(s).fontSize), s.clientWidth, s.scrollWidth];
  const [letra, hueco, ancho] = medidas();
  const propia = s.style.getPropertyValue('--letra-que-cabe');
  s.style.setProperty('--letra-que-cabe', '11.52px');
  const cabria = s.scrollWidth <= s.clientWidth;
  s.style.setProperty('--letra-que-cabe', propia);
  return {letra, desliza: ancho > hueco + 1, cabria, que: s.textContent.slice(0, 40)};
})"""


def test_en_el_telefono_la_salida_que_puede_caber_cabe(navegador, direccion, paginas):
    contexto = navegador.new_context(viewport={"width": 390, "height": 800})
    pestana = contexto.new_page()
    letras = []
    for pagina in [p for p in paginas if "/01-" in p or "/05-" in p]:
        pestana.goto(f"{direccion}/{pagina}", wait_until="load")
        pestana.evaluate("() => document.fonts.ready.then(() => true)")
        pestana.evaluate(
            "() => document.querySelectorAll('details').forEach((d) => (d.open = true))"
        )
        pestana.wait_for_timeout(300)
        for salida in pestana.evaluate(SALIDAS):
            assert not (salida["desliza"] and salida["cabria"]), salida
            assert 0.72 * 16 <= salida["letra"] <= 13.5, salida
            letras.append(salida["letra"])
            if salida["desliza"]:
                assert salida["letra"] == 13.5, f"encoge sin llegar a caber: {salida}"
    contexto.close()
    assert min(letras) < 13 and letras.count(13.5) > len(letras) / 3


def test_no_queda_interfaz_en_ingles(visitas):
    assert not (faltas := _faltas(visitas, lambda v: sorted(set(v.ingles)))), faltas


def test_cada_bloque_de_codigo_se_puede_copiar(visitas):
    faltas = [v.pagina for v in visitas if v.bloques_de_codigo and not v.botones_de_copia]
    assert not faltas, faltas


def _resultados(pestana, direccion: str, consulta: str) -> list[tuple[str, str]]:
    """Lo que da la búsqueda: de dónde es cada resultado y su dirección, en orden."""
    pestana.goto(f"{direccion}/search.html?q={consulta}", wait_until="load")
    pestana.wait_for_function("() => document.querySelector('#buscar-resumen')?.textContent")
    return [
        tuple(par)
        for par in pestana.evaluate(
            "() => [...document.querySelectorAll('#buscar-resultados li')].map((li) =>"
            " [li.querySelector('.donde').textContent, li.querySelector('a').getAttribute('href')])"
        )
    ]


# Consulta y el primer resultado que se espera: (de dónde, trozo de su dirección).
CONSULTAS = {
    "mascara": ("Glosario", "#term-mascara"),
    "que es una máscara": ("Glosario", "#term-mascara"),
    "atencion": ("Glosario", "#term-atencion"),
    "atención": ("Glosario", "#term-atencion"),
    "softmax": ("Glosario", "#term-softmax"),
    "embeddings": ("Glosario", "#term-embedding"),
    "autoatención": ("Glosario", "#term-autoatencion"),
    "curso de 14 semanas": ("Cómo usar este libro", "#tres-maneras"),
}


@pytest.mark.parametrize("consulta", CONSULTAS)
def test_la_busqueda_pone_primero_lo_que_se_busca(pestana, direccion, consulta):
    donde, trozo = CONSULTAS[consulta]
    hallados = _resultados(pestana, direccion, consulta)
    assert hallados and hallados[0][0] == donde and trozo in hallados[0][1], hallados[:4]


def test_la_busqueda_da_secciones_y_no_mira_los_acentos(pestana, direccion):
    con, sin = (
        _resultados(pestana, direccion, "atención"),
        _resultados(pestana, direccion, "atencion"),
    )
    assert con == sin
    assert sum("#" in url and donde != "Glosario" for donde, url in con) >= 5, con
    assert _resultados(pestana, direccion, "palabrainexistente") == []
    assert "Nada con esas palabras" in pestana.locator("#buscar-resumen").inner_text()


def test_la_busqueda_funciona_sin_servidor(pestana, sitio):
    pestana.goto((sitio / "search.html").as_uri() + "?q=softmax")
    assert pestana.locator("#buscar-resultados li").count() > 3


def test_el_termino_ensena_su_definicion(pestana, direccion, visitas):
    capitulo = next(v.pagina for v in visitas if "/04-" in v.pagina)
    pestana.goto(f"{direccion}/{capitulo}", wait_until="load")
    termino = pestana.locator("article a.reference[href*='#term-']:visible").first
    nota = pestana.locator("#definicion-emergente")
    assert not nota.is_visible()
    termino.hover()
    assert nota.is_visible() and len(nota.inner_text()) > 40
    pestana.keyboard.press("Escape")
    assert not nota.is_visible()
    termino.focus()
    assert nota.is_visible() and termino.get_attribute("aria-describedby") == "definicion-emergente"


@pytest.mark.parametrize(
    ("selector", "dentro"),
    [
        ("a[href*='04-'][href*='#equation-']", "math"),
        ("a[href^='#equation-']", "math"),
        ("a[href^='#teo-']", ".admonition-title"),
        ("a[href*='referencias.html#']", "p"),
    ],
    ids=["ecuación de otra página", "ecuación", "teorema", "cita"],
)
def test_lo_que_se_cita_se_ensena_sin_irse(pestana, direccion, visitas, selector, dentro):
    capitulo = next(v.pagina for v in visitas if "/05-" in v.pagina)
    pestana.goto(f"{direccion}/{capitulo}", wait_until="load")
    enlace = pestana.locator(f"article {selector}:visible").first
    enlace.focus()
    nota = pestana.locator("#definicion-emergente")
    nota.locator(dentro).first.wait_for()
    assert nota.is_visible() and len(nota.inner_text()) > 5
    assert not enlace.get_attribute("title"), "el aviso del navegador taparía la nota"
    assert nota.evaluate("e => e.scrollWidth <= e.clientWidth"), "la nota no cabe en su recuadro"
    assert not nota.locator("[id], a[href]").count()


def test_el_termino_se_toca(navegador, direccion, visitas):
    capitulo = next(v.pagina for v in visitas if "/04-" in v.pagina)
    contexto = navegador.new_context(viewport={"width": 390, "height": 800}, has_touch=True)
    pestana = contexto.new_page()
    pestana.goto(f"{direccion}/{capitulo}", wait_until="load")
    antes = pestana.url
    pestana.locator("article a.reference[href*='#term-']:visible").first.tap()
    nota = pestana.locator("#definicion-emergente")
    caja = nota.bounding_box()
    visible, despues = nota.is_visible(), pestana.url
    contexto.close()
    assert visible and despues == antes, (
        "el primer toque enseña la definición sin irse de la página"
    )
    assert caja["x"] >= 0 and caja["x"] + caja["width"] <= 390


def test_el_indice_de_la_pagina_acompana(pestana, direccion, visitas):
    capitulo = next(v.pagina for v in visitas if "/04-" in v.pagina)
    pestana.set_viewport_size({"width": 1280, "height": 600})
    pestana.goto(f"{direccion}/{capitulo}", wait_until="load")
    ultima = pestana.locator("article section[id] > h2").last
    ultima.evaluate("(titulo) => titulo.scrollIntoView({ behavior: 'instant' })")
    pestana.wait_for_function(
        "() => document.querySelectorAll('nav.page-toc a.leyendo').length === 1"
    )
    pestana.wait_for_timeout(100)
    entrada = pestana.locator("nav.page-toc a.leyendo")
    assert entrada.get_attribute("href").lstrip("#") == ultima.evaluate("(t) => t.parentElement.id")
    caja = entrada.bounding_box()
    assert 0 <= caja["y"] and caja["y"] + caja["height"] <= 600, (
        "la entrada activa queda fuera de la vista"
    )
    pestana.set_viewport_size({"width": 1280, "height": 900})


def test_lo_plegado_se_abre_al_enlazarlo_al_imprimir_y_con_el_teclado(pestana, direccion):
    pestana.goto(f"{direccion}/0-preliminares/como-usar.html", wait_until="load")
    plegado = pestana.locator("details.a-fondo").first
    assert not plegado.evaluate("(d) => d.open")
    plegado.locator("summary").focus()
    pestana.keyboard.press("Enter")
    assert plegado.evaluate("(d) => d.open")
    pestana.keyboard.press("Enter")
    pestana.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    assert plegado.evaluate("(d) => d.open")
    pestana.evaluate("() => dispatchEvent(new Event('afterprint'))")
    assert not plegado.evaluate("(d) => d.open")
    plegado.locator("p").first.evaluate("(p) => { p.id = 'dentro'; location.hash = 'dentro'; }")
    pestana.wait_for_function("() => document.querySelector('details.a-fondo').open")


def test_el_pie_dice_version_licencia_y_adonde_escribir(pestana, direccion):
    pestana.goto(f"{direccion}/intro.html")
    pie = pestana.locator(".pie-libro")
    assert "Versión" in pie.inner_text() and "CC BY-SA" in pie.inner_text()
    assert "/issues/new?" in pie.get_by_text("Informar de un error").get_attribute("href")


def test_el_modo_oscuro_se_pone_y_se_quita(pestana, direccion):
    pestana.goto(f"{direccion}/intro.html")
    fondo = "() => getComputedStyle(document.body).backgroundColor"
    vistos = {}
    for _ in range(3):
        pestana.locator("button.theme-switch-button:visible").first.click()
        vistos[pestana.evaluate("() => document.documentElement.dataset.mode")] = pestana.evaluate(
            fondo
        )
    assert set(vistos) == {"auto", "light", "dark"}
    assert vistos["light"] != vistos["dark"]


def test_las_formulas_se_leen_en_voz_alta(pestana, direccion, visitas):
    pagina = max(visitas, key=lambda v: v.formulas).pagina
    pestana.goto(f"{direccion}/{pagina}")
    voz = pestana.locator("article").aria_snapshot()
    assert pestana.locator("math").count() > 0 and "math" in voz
