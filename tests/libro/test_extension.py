"""La extensión del libro: un capítulo mínimo sale como se espera y cada falta plantada detiene la
construcción.

Se construyen libros de una página con la configuración de verdad; lo único que cambia es el índice.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from docutils import nodes
from docutils.utils import new_document

RAIZ = Path(__file__).resolve().parents[2]
LIBRO = RAIZ / "book"
sys.path.insert(0, str(LIBRO / "_ext"))

from libro.buscador import entradas_de  # noqa: E402
from libro.docstrings import convertir  # noqa: E402
from libro.espanol import sustituir  # noqa: E402
from libro.iconos import dibujar  # noqa: E402
from libro.lector import vallas_mal_anidadas  # noqa: E402
from libro.numeracion import capitulo  # noqa: E402
from libro.tiempos import Medida, contar, duracion, horas, medir, renglones  # noqa: E402
from libro.tipografia import (  # noqa: E402
    PegarExpresiones,
    PegarNombres,
    PegarPorcentajes,
    PegarPuntuacion,
)

CABECERA = """---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {display_name: Python 3, language: python, name: python3}
---
"""
DIBUJO = """
```{code-cell} python
:tags: [dibujo]
from IPython.display import HTML
HTML('<div data-figura="fig-a"><svg role="img" aria-label="Una recta que sube"></svg></div>')
```
"""
COMPLETO = (
    CABECERA
    + """# Un capítulo

Prosa corriente para la descripción de la página, sin fórmulas ni código que la ensucien.

```{objetivos}
:requisitos: saber leer
- Contar hasta tres.
```

::::{prediccion}
¿Sube o baja?

:::{respuesta}
Sube.
:::
::::

## Primera sección

La clave ({en}`key`) vale {glue:text}`c04-dato` y la ecuación es {eq}`eq-uno`.

```{math}
:label: eq-uno
\\Q\\K^\\T
```

```{code-cell} python
from figuras.notebook import glue
glue("c04-dato", 12345.678, ".1f")
```

Ahora, el dibujo.
"""
    + DIBUJO
    + """
```{figura} fig-a
La recta sube, y la {numref}`fig-a` lo dice.
```

### «Todo baja» {refutacion}`R-002`

No.

```{prf:theorem} De la recta
:label: th-recta
Sube.
```

```{prf:proof}
Se ve.
```

```{exercise} El primero
:label: ej-4-1
Enunciado.
```

```{exercise} Pensar
:label: ra-4-1
Enunciado.
```

```{empezar}
```

```{code-cell} python
:tags: [comprobacion]
:comprueba: "La suma coincide con la de siempre"
assert 1 + 1 == 2
print("salida plegada")
```

:::{a-fondo} Por qué `sube`
:label: af-c04-sube
:::

Dentro.

```{math}
:label: eq-dentro
\\Q
```

```{code-cell} python
6 * 7
```

```{fin-a-fondo}
```

::::{a-fondo} Otra cosa
Con cuerpo.
::::

Según {ref}`af-c04-sube` y {eq}`eq-dentro`. Ver {ref}`err-R-002`, {prf:ref}`th-recta`,
{ref}`ej-4-1` y {ref}`ra-4-1`.
"""
)


def _construir(carpeta: Path, capitulos: dict[str, str], **variables: str) -> tuple[int, str, Path]:
    """Construye un libro con una portada y esas páginas; devuelve el estado, lo que se escribió y
    la carpeta.
    """
    for nombre in ("_config.yml", "_ext", "_static", "_templates", "locale"):
        (carpeta / nombre).symlink_to(LIBRO / nombre)
    (carpeta / "extra").mkdir()
    (carpeta / "references.bib").touch()
    (carpeta / "tiempos.json").write_text('{"04": 1.0}', "utf8")
    (carpeta / "intro.md").write_text("# Portada\n\nHola.\n", "utf8")
    for nombre, texto in capitulos.items():
        (carpeta / f"{nombre}.md").write_text(texto, "utf8")
    lista = "".join(f"  - file: {nombre}\n" for nombre in capitulos)
    (carpeta / "_toc.yml").write_text(f"format: jb-book\nroot: intro\nchapters:\n{lista}", "utf8")
    jupyter_book = "import sys; from jupyter_book.cli.main import main; sys.exit(main())"
    orden = [sys.executable, "-c", jupyter_book, "build", str(carpeta), "-W", "-n", "--keep-going"]
    entorno = {
        **os.environ,
        "COLUMNS": "400",
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "NO_COLOR": "1",
        **variables,
    }
    hecho = subprocess.run(orden, capture_output=True, text=True, env=entorno, timeout=120)
    return hecho.returncode, hecho.stdout + hecho.stderr, carpeta / "_build" / "html"


@pytest.fixture(scope="module")
def pagina(tmp_path_factory) -> BeautifulSoup:
    estado, salida, carpeta = _construir(
        tmp_path_factory.mktemp("completo"), {"04-prueba": COMPLETO}
    )
    assert estado == 0, salida[-3000:]
    return BeautifulSoup((carpeta / "04-prueba.html").read_text("utf8"), "lxml")


@pytest.mark.construccion
def test_los_numeros_salen_del_nombre_del_fichero(pagina):
    rotulos = [nodo.get_text(strip=True) for nodo in pagina.select("article .section-number")]
    assert rotulos == ["4", "4.1"]
    assert pagina.select_one("figcaption .caption-number").get_text(strip=True) == "Figura 4.1"
    assert pagina.select_one(".eqno").get_text().startswith("(4.1)")
    assert pagina.select_one("#ej-4-1 .caption-number").get_text(strip=True) == "Ejercicio 4.1"
    assert (
        pagina.select_one("#ra-4-1 .admonition-title")
        .get_text(strip=True)
        .startswith("Razonamiento 4.1")
    )
    assert pagina.select_one("#th-recta .caption-number").get_text(strip=True) == "Teorema 4.1"
    referencias = pagina.select("article > section")[0].find_all("p")[-1].get_text(" ", strip=True)
    for rotulo in ("«Todo baja»", "Teorema 4.1", "Ejercicio 4.1", "Razonamiento 4.1"):
        assert rotulo in referencias


@pytest.mark.construccion
def test_lo_que_ponen_las_directivas(pagina):
    assert pagina.html["lang"] == "es"
    assert pagina.select_one("figure#fig-a [data-figura=fig-a] svg") is not None
    assert len(pagina.select("[data-figura=fig-a]")) == 1, (
        "la figura se repite fuera de su recuadro"
    )
    assert pagina.select_one("em[lang=en]").get_text() == "key"
    assert pagina.select_one("span.pasted-text").get_text() == "12\u202f345.7"
    assert pagina.select_one("details.respuesta summary").get_text(strip=True) == "Ver la respuesta"
    assert pagina.select_one("#err-R-002") is not None
    assert "R-002" not in pagina.select_one("nav.page-toc").get_text()
    assert pagina.select_one(".demostracion").get_text(strip=True).startswith("Demostración.")
    tiempos = pagina.select_one(".objetivos .tiempos").get_text(" ", strip=True)
    assert re.search(
        r"Leer: 1 min Ejercicios: \d+ min Ejecutarlo: 1 s de procesador", " ".join(tiempos.split())
    ), tiempos


@pytest.mark.construccion
def test_lo_que_se_pliega(pagina):
    con_celdas, con_cuerpo = pagina.select("details.a-fondo")
    assert con_celdas["id"] == "af-c04-sube" and not pagina.select("details[open]")
    assert con_celdas.summary.get_text(" ", strip=True) == "A fondo Por qué sube"
    assert con_celdas.select_one("#equation-eq-dentro .eqno").get_text().startswith("(4.2)")
    assert con_celdas.select_one(".cell_output").get_text(strip=True) == "42"
    assert con_celdas.find_next_sibling("p").get_text().startswith("Según Por qué sube y (4.2).")
    assert con_cuerpo.select_one(".desplegado").get_text(strip=True) == "Con cuerpo."
    comprobacion = pagina.select_one("div.cell > details.comprobacion")
    assert (
        comprobacion.summary.get_text(" ", strip=True)
        == "Comprobado: La suma coincide con la de siempre"
    )
    assert "assert 1 + 1" in comprobacion.get_text() and "salida plegada" in comprobacion.get_text()
    dibujo = pagina.select_one("figure#fig-a + div.cell > details.dibujo")
    assert dibujo.summary.get_text() == "Código de la figura" and "IPython" in dibujo.get_text()
    assert pagina.select_one(".empezar pre").get_text(strip=True) == "atento empezar 4"


@pytest.mark.construccion
def test_el_ejercicio_trae_lo_que_sabe_el_registro(pagina):
    from calificador.carga import curso_en
    from calificador.correccion.ejemplo import ejemplo

    ejercicio = curso_en("").ejercicios["4.1"]
    recuadro = pagina.select_one("#ej-4-1")
    ficha = recuadro.select_one(".ficha").get_text(" ", strip=True)
    assert "★" * ejercicio.dificultad in ficha and f"{ejercicio.puntos} punto" in ficha
    assert f"unos {ejercicio.minutos} min" in ficha
    assert "atento calificar 4.1" in recuadro.get_text()
    mostrado = ejemplo(curso_en(""), ejercicio).texto
    assert (
        "→" in mostrado
        and recuadro.select_one(".ejemplo pre").get_text().strip() == mostrado.strip()
    )
    assert recuadro.select_one(".entrega a")["href"].endswith("/exercises/cap04.py")
    assert len(recuadro.select("details.pista")) == len(ejercicio.pistas)
    assert not recuadro.select("details[open]")
    assert pagina.select_one("#ra-4-1 .ficha") is None


@pytest.mark.construccion
def test_no_se_carga_nada_de_thebe(pagina):
    assert "thebe" not in str(pagina).lower()


FALTAS = {
    "clave de glue que no existe": (
        CABECERA + "# T\n\nVale {glue:text}`c04-nada`.\n\n```{code-cell} python\n1 + 1\n```\n",
        "c04-nada",
    ),
    "celda que falla": (
        CABECERA + "# T\n\n```{code-cell} python\n1 / 0\n```\n",
        "ZeroDivisionError",
    ),
    "celda que escribe en stderr": (
        CABECERA
        + "# T\n\n```{code-cell} python\nimport sys; print('aviso', file=sys.stderr)\n```\n",
        "stderr",
    ),
    "figura sin celda que la dibuje": (
        CABECERA + "# T\n" + DIBUJO + "\n```{figura} fig-otra\nUn pie.\n```\n",
        "fig-otra",
    ),
    "ejercicio con otro número": (
        "# T\n\n```{exercise} A\n:label: ej-4-2\nE.\n```\n",
        "se esperaba 4.2",
    ),
    "ejercicio de otro capítulo": ("# T\n\n```{exercise} A\n:label: ra-5-1\nE.\n```\n", "ra-5-1"),
    "ejercicio que no está en el registro": (
        "# T\n\n```{exercise} A\n:label: ej-4-99\nE.\n```\n",
        "4.99",
    ),
    "fuente que no existe": ("# T\n\n```{fuente} atento.masks.no_existe\n```\n", "no_existe"),
    "vallas mal anidadas": (
        "# T\n\n:::{repaso}\nUna.\n\n:::{respuesta}\nDos.\n:::\n:::\n\nMás.\n",
        "necesita uno más",
    ),
    "A fondo sin cerrar": ("# T\n\n```{a-fondo} Uno\n```\n\nTexto.\n", "sin fin-a-fondo"),
    "A fondo con un título dentro": (
        "# T\n\n```{a-fondo} Uno\n```\n\n## Dos\n\n```{fin-a-fondo}\n```\n",
        "sin fin-a-fondo",
    ),
    "comprobación que no dice qué": (
        CABECERA + "# T\n\n```{code-cell} python\n:tags: [comprobacion]\nassert 1\n```\n",
        "comprueba",
    ),
    "fórmula que no se entiende": ("# T\n\nVale $\\Rr$.\n", "no se entiende"),
    "referencia que no existe": ("# T\n\nVer {numref}`fig-nada`.\n", "fig-nada"),
}


SE_CORTA = "celda que falla"  # una excepción no deja leer las demás páginas: va en un libro aparte


@pytest.fixture(scope="module")
def con_faltas(tmp_path_factory) -> tuple[int, list[str]]:
    """Un libro con cada falta en su página: el estado y los avisos."""
    paginas = {f"04-falta{i}": FALTAS[x][0] for i, x in enumerate(FALTAS) if x != SE_CORTA}
    estado, salida, _ = _construir(tmp_path_factory.mktemp("faltas"), paginas)
    return estado, salida.splitlines()


@pytest.mark.construccion
@pytest.mark.parametrize("falta", [x for x in FALTAS if x != SE_CORTA])
def test_cada_falta_detiene_la_construccion(con_faltas, falta):
    estado, avisos = con_faltas
    assert estado != 0, "se construyó con las faltas"
    pagina = f"04-falta{list(FALTAS).index(falta)}"
    suyos = [x for x in avisos if pagina in x and re.search("WARNING|ERROR", x)]
    assert any(FALTAS[falta][1] in x for x in suyos), "\n".join(suyos)


@pytest.mark.construccion
def test_una_celda_que_falla_detiene_la_construccion(tmp_path):
    estado, salida, _ = _construir(tmp_path, {"04-prueba": FALTAS[SE_CORTA][0]})
    assert estado != 0, "se construyó con la falta"
    assert FALTAS[SE_CORTA][1] in salida, salida[-3000:]


def test_numero_de_capitulo():
    assert capitulo("2-mecanismo/04-la-atencion-derivada") == 4
    assert capitulo("0-preliminares/notacion") is None
    assert capitulo("apendices/api") is None


def test_duraciones():
    assert [duracion(s) for s in (0.2, 59.4, 90, 100)] == ["1 s", "60 s", "2 min", "2 min"]


def test_tiempos_de_una_pagina():
    prosa = nodes.paragraph("", "uno " * 400)
    codigo = nodes.literal_block("", "x = 1\n\n" * 12)
    plegado = nodes.container("", prosa.deepcopy(), nodes.math_block(), classes=["a-fondo"])
    comprobado = nodes.container("", codigo.deepcopy(), prosa.deepcopy(), classes=["comprobacion"])
    documento = new_document("prueba")
    documento += [
        prosa,
        nodes.math_block(),
        nodes.math_block(),
        nodes.math_block(),
        codigo,
        plegado,
        comprobado,
    ]
    cuenta = Counter()
    contar(documento, cuenta)
    assert cuenta == {
        "palabras": 400,
        "ecuaciones": 3,
        "lineas": 12,
        "fondo-palabras": 400,
        "fondo-ecuaciones": 1,
    }
    medida = medir(documento)
    assert (medida.leer, medida.codigo, medida.ejercicios) == (
        3,
        1,
        0,
    ) and medida.a_fondo == pytest.approx(2 + 1 / 3)
    assert renglones(medida) == [
        ("Leer", "3 min"),
        ("Seguir el código", "1 min"),
        ("Demostraciones y «A fondo»", "3 min"),
    ]
    assert Medida(30, 10, 20, 60, 15).via_principal == 55 and Medida(30, 10, 20, 60, 15).todo == 120
    assert horas(100) == "1.5\u202fh" and horas(130) == "2\u202fh" and duracion(7200) == "2 h"


def test_vallas():
    assert vallas_mal_anidadas("::::{repaso}\n:::{respuesta}\nSí.\n:::\n::::") == []
    assert vallas_mal_anidadas(":::{repaso}\n```{exercise}\n:::\n```\n:::") == []
    assert vallas_mal_anidadas(":::{repaso}\n:::{respuesta}\nSí.\n:::\n:::") == [(2, "respuesta")]


def test_docstrings():
    assert convertir(["Args:", "    x: uno.", "", "Fin."]) == ["", ":param x: uno.", "", "Fin."]
    assert convertir(["Atributos", "---------", "id: uno", "    y más."]) == [
        "",
        "**Atributos**",
        "",
        "``id``",
        "    uno",
        "    y más.",
    ]


def test_sustituciones():
    mensajes = {"Toggle primary sidebar": "Mostrar"}
    assert sustituir('<a title="Toggle primary sidebar">', mensajes) == '<a title="Mostrar">'
    assert (
        sustituir('<a title="Link to this heading">', mensajes) == '<a title="Enlace a este lugar">'
    )
    largo = '<span class="pre">atento.masks.causal_mask()</span>'
    assert (
        sustituir(largo, {}) == '<span class="pre">atento.<wbr>masks.<wbr>causal_<wbr>mask()</span>'
    )
    assert sustituir('<span class="pre">d_model</span>', {}) == '<span class="pre">d_model</span>'


def test_la_puntuacion_va_con_su_formula():
    parrafo = nodes.paragraph(
        "",
        "",
        nodes.Text("Sea ("),
        nodes.math("", "x"),
        nodes.Text("), y "),
        nodes.math("", "y"),
        nodes.Text(" también "),
        nodes.math("", "z"),
        nodes.Text("."),
    )
    documento = new_document("prueba")
    documento += parrafo
    PegarPuntuacion(documento).apply()
    pegados = [n.astext() for n in documento.findall(nodes.inline) if n["classes"] == ["sin-corte"]]
    assert pegados == ["(x),", "z."] and parrafo.astext() == "Sea (x), y y también z."


def test_la_puntuacion_repetida_va_con_la_suya():
    """Los textos iguales son distintos nodos: cada coma es de su fórmula."""
    formulas = [nodes.math("", x) for x in "ifgo"]
    parrafo = nodes.paragraph("", "", formulas[0])
    for formula in formulas[1:]:
        parrafo += [nodes.Text(", "), formula]
    documento = new_document("prueba")
    documento += parrafo
    PegarPuntuacion(documento).apply()
    assert parrafo.astext() == "i, f, g, o"


def test_una_expresion_corta_no_se_parte():
    textos = ["-*+1y3z", "458+342", "d_model - 1", "figuras.plots", "(1+(y*3))-z" * 2]
    parrafo = nodes.paragraph("", "", *[nodes.literal("", x) for x in textos])
    documento = new_document("prueba")
    documento += parrafo
    PegarExpresiones(documento).apply()
    assert [n.astext() for n in parrafo if n["classes"]] == textos[:2]


def test_el_porcentaje_no_se_separa_de_su_numero():
    parrafo = nodes.paragraph("", "", nodes.Text("El 33 % y el 5 % de "))
    parrafo += [nodes.inline("", "12"), nodes.Text(" % o "), nodes.literal("", "7 % 3")]
    documento = new_document("prueba")
    documento += parrafo
    PegarPorcentajes(documento).run()
    assert parrafo.astext() == "El 33\xa0% y el 5\xa0% de 12\xa0% o 7 % 3"


def test_un_nombre_con_guion_no_se_parte_y_se_lee_igual():
    texto = "Pre-LN y «Post-LN», GPT-2, UTF-8 o ResNet-50; Post-LN. GPT-NeoX, T5-XXL y Ctrl-C. "
    resto = "Kullback-Leibler, 8-10, físico-química, cap-04-05, n-1, R-135, encoder-decoder-LN "
    parrafo = nodes.paragraph("", "", nodes.Text(texto + resto), nodes.literal("", "GPT-2"))
    parrafo += nodes.emphasis("", "Pre-LN")
    documento = new_document("prueba")
    documento += parrafo
    PegarNombres(documento).run()
    pegados = [n.astext() for n in documento.findall(nodes.inline) if n["classes"] == ["sin-corte"]]
    esperados = "Pre-LN Post-LN GPT-2 UTF-8 ResNet-50 Post-LN GPT-NeoX T5-XXL Ctrl-C Pre-LN"
    assert pegados == esperados.split()
    assert parrafo.astext() == texto + resto + "GPT-2" + "Pre-LN"


def test_los_iconos_se_dibujan():
    pagina = (
        '<script defer src="_static/scripts/fontawesome.js?digest=1"></script>'
        '<i class="theme-switch fa-solid fa-sun   fa-lg" data-mode="light" title="Claro"></i>'
    )
    dibujada = dibujar(pagina)
    assert "fontawesome" not in dibujada and "<i" not in dibujada
    assert (
        'class="icono theme-switch"' in dibujada
        and 'data-mode="light"' in dibujada
        and "<path" in dibujada
    )


def test_el_indice_de_la_busqueda_va_por_secciones():
    primera = nodes.section(
        "", nodes.title("", "Una"), nodes.paragraph("", "Texto uno."), ids=["una"]
    )
    dentro = nodes.section(
        "",
        nodes.title("", "Dos"),
        nodes.paragraph("", "Texto dos."),
        nodes.literal_block("", "x"),
        ids=["dos"],
    )
    primera += dentro
    documento = new_document("prueba")
    documento += primera
    assert entradas_de(documento, "2-mecanismo/04-a", "a.html") == [
        ["a.html", "Una", "", "Texto uno."],
        ["a.html#dos", "Dos", "4. Una", "Texto dos."],
    ]
