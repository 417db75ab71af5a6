"""Las directivas y los roles, en un libro de una página que Sphinx lee sin salir del proceso."""

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

# Las piezas que no necesitan MyST-NB ni el resto del libro.
from libro import demostraciones, didactica, mapa, plegado, tiempos, tipografia
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

PIEZAS = (didactica, plegado, tiempos, mapa, demostraciones, tipografia)
PAGINA = """\
# Un capítulo

:::{objetivos}
:requisitos: saber *leer*
- Contar.
:::

::::{prediccion}
¿Sube?

:::{respuesta}
Sube.
:::
::::

:::{respuesta} Otro título
Baja.
:::

:::{repaso} Con título `propio`
Una.
:::

:::{procedencia}
De una orden.
:::

```{empezar}
Y esto.
```

Lo {en}`key`.

## «Todo baja» {refutacion}`R-002`

No.

```{fuente} atento.masks.causal_mask
:sin-docstring:
```

:::{a-fondo} Por qué `sube`
:label: af-uno
:::

Dentro.

```{fin-a-fondo}
```

:::{a-fondo} Con cuerpo
Cuerpo.
:::

```{figura} fig-nada
El pie.

La leyenda.
```

```{mapa-libro}
```

```{semanas}
4 | Se sabe *todo*.
```

```{prf:proof}
Se *ve*.
```

```{prf:proof}
:class: estrecha

- Por partes.
- Y se acaba.
```

Sube un 33 % (como {math}`x`), y basta en Pre-LN.

Ver {ref}`af-uno` y {ref}`err-R-002`.
"""


@pytest.fixture(scope="module")
def construida(tmp_path_factory) -> tuple[BeautifulSoup, str, dict]:
    """La página, los avisos y lo que la extensión guardó de ella."""
    return construye(tmp_path_factory.mktemp("directivas"), "04-prueba", PAGINA)


def construye(carpeta: Path, nombre: str, texto: str) -> tuple[BeautifulSoup, str, dict]:
    """Construye una página y devuelve lo mismo que :func:`construida`."""
    (carpeta / f"{nombre}.md").write_text(texto, "utf-8")
    (carpeta / "mapa.yml").write_text("- parte: Una\n  capitulos: {4: [Cuatro, Idea]}\n", "utf-8")
    (carpeta / "tiempos.json").write_text('{"04": 3.0}', "utf-8")
    avisos = (carpeta / "avisos.txt").open("w+", encoding="utf-8")
    salida = carpeta / "html"
    with docutils_namespace():  # al salir se olvida: no avisa a quien venga detrás
        aplicacion = Sphinx(
            carpeta,
            None,
            salida,
            carpeta / "doctrees",
            "html",
            confoverrides={
                "extensions": ["myst_parser", "sphinx_proof", *(p.__name__ for p in PIEZAS)],
                "myst_enable_extensions": ["colon_fence"],
                "root_doc": nombre,
                "html_theme": "basic",
                "language": "es",
            },
            status=None,
            warning=avisos,
        )
        aplicacion.build()
    avisos.seek(0)
    pagina = BeautifulSoup((salida / f"{nombre}.html").read_text("utf-8"), "lxml")
    return pagina, avisos.read(), dict(aplicacion.env.libro_tiempos)


@pytest.fixture
def pagina(construida) -> BeautifulSoup:
    return construida[0]


def test_solo_avisa_de_la_figura_que_falta(construida):
    avisos = [x for x in construida[1].splitlines() if "WARNING" in x]
    assert len(avisos) == 1 and "figura «fig-nada»" in avisos[0], avisos


def test_los_recuadros_llevan_su_titulo_y_lo_suyo(pagina):
    titulos = {
        clase: pagina.select_one(f".admonition.{clase} > .admonition-title, div.{clase} > p")
        for clase in ("objetivos", "prediccion", "repaso", "procedencia")
    }
    assert {k: v.get_text() for k, v in titulos.items()} == {
        "objetivos": "Qué aprenderás",
        "prediccion": "Predice antes de seguir",
        "repaso": "Con título propio",
        "procedencia": "De dónde salen estos datos",
    }
    assert titulos["repaso"].code.get_text() == "propio"
    requisitos = pagina.select_one(".objetivos .requisitos")
    assert requisitos.get_text() == "Hace falta: saber leer" and requisitos.em and requisitos.strong
    assert "Ejecutarlo: 3 s" in pagina.select_one(".objetivos .tiempos").get_text()


def test_lo_plegado(pagina):
    respuestas = pagina.select("details.respuesta")
    assert [r.summary.get_text() for r in respuestas] == ["Ver la respuesta", "Otro título"]
    assert [r.div.get_text(strip=True) for r in respuestas] == ["Sube.", "Baja."]
    marcas, cuerpo = pagina.select("details.a-fondo")
    assert marcas["id"] == "af-uno" and marcas.div.get_text(strip=True) == "Dentro."
    assert marcas.summary.get_text() == "A fondo Por qué sube" and marcas.summary.code
    assert cuerpo.get_text(" ", strip=True) == "A fondo Con cuerpo Cuerpo."
    enlaces = pagina.find_all("p")[-1].find_all("a") or pagina.select("p a.internal")[-2:]
    assert [a["href"] for a in enlaces[-2:]] == ["#af-uno", "#err-R-002"]


def test_lo_demas_que_se_escribe(pagina):
    empezar = pagina.select_one(".entrega.empezar")
    assert empezar.pre.get_text(strip=True) == "atento empezar 4"
    assert empezar.p.get_text() == "Para copiar los esqueletos de este capítulo a mis-ejercicios/:"
    assert empezar.find_all("p")[-1].get_text() == "Y esto."
    assert pagina.select_one("em[lang=en]").get_text() == "key"
    assert pagina.select_one("#err-R-002").get_text() == "Error frecuente"
    assert pagina.select_one("section section > h2").get_text(strip=True).startswith("«Todo baja»")
    codigo = pagina.select_one(".fuente")
    assert "def " in codigo.get_text()
    assert re.search(
        r"Código de atento\.masks\.causal_mask", pagina.select_one(".pie-fuente").get_text()
    )
    figura = pagina.select_one("figure#fig-nada")
    assert figura.select_one(".caption-text").get_text() == "El pie."
    assert figura.select_one(".legend").get_text(strip=True) == "La leyenda."
    assert pagina.select_one(".mapa-libro .escrito").get_text(" ", strip=True) == "4. Cuatro Idea"
    prueba = pagina.select_one(".demostracion")
    assert prueba.p.get_text() == "Demostración. Se ve." and prueba.strong


def test_la_tabla_del_curso_lleva_los_tiempos_de_la_pagina(construida):
    pagina, _, guardados = construida
    celdas = [c.get_text().strip() for c in pagina.select("table.semanas tbody td")]
    assert celdas[:3] == ["1", "4", "Se sabe todo."] and celdas[3].endswith("h")
    assert pagina.select_one("table.semanas tbody em")
    assert list(guardados) == ["04-prueba"] and guardados["04-prueba"].ejecutar == 3.0


def test_una_demostracion_lo_dice_al_empezar_aunque_no_empiece_por_un_parrafo(pagina):
    de_parrafo, de_lista = pagina.select(".demostracion")
    assert [p.get_text() for p in de_parrafo.find_all("p")] == ["Demostración. Se ve."]
    assert de_parrafo.p.strong.get_text() == "Demostración. "
    assert [x.name for x in de_lista.find_all(recursive=False)] == ["p", "ul"]
    assert de_lista.p.get_text() == "Demostración. " and de_lista.p.strong
    assert [x.get_text(strip=True) for x in de_lista.select("li")] == ["Por partes.", "Y se acaba."]
    assert "estrecha" in de_lista["class"] and "estrecha" not in de_parrafo["class"]


def test_ni_el_porcentaje_ni_los_signos_de_una_formula_se_separan(pagina):
    tramo, nombre = pagina.select(".sin-corte")
    assert tramo.get_text() == r"\(x\))," and nombre.get_text() == "Pre-LN"
    assert "y basta en Pre-LN." in nombre.parent.get_text()
    assert "un 33\N{NO-BREAK SPACE}% (como" in tramo.parent.get_text()


@pytest.mark.parametrize(
    ("texto", "aviso"),
    [
        ("```{empezar}\n```", "empezar: esta página no es un capítulo numerado"),
        ("```{figura} fig-x\n- Una lista.\n```", "«fig-x»: el pie debe empezar por un párrafo"),
        ("```{figura} fig-x\n```", "«fig-x»: el pie debe empezar por un párrafo"),
        ("```{fuente} atento.nada\n```", "no se encuentra «atento.nada» en el paquete"),
        ("Algo {refutacion}`R-2`.", "refutacion: llegó «R-2»; se esperaba «R-002»"),
        (":::{repaso}\n:::{respuesta}\nSí.\n:::\n:::", "{respuesta} está dentro de otra con"),
        ("```{prf:proof}\n```", "Content block expected"),
    ],
)
def test_lo_que_se_escribe_mal_se_dice(tmp_path, texto, aviso):
    assert aviso in construye(tmp_path, "suelta", f"# Una página\n\n{texto}\n")[1]
