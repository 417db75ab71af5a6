"""Los cuadernos para descargar: Markdown corriente, el código del capítulo y nada de MyST."""

import ast
import base64
import json
import os
import re
import subprocess
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import nbformat
import pytest
from libro.etiquetas import Destino
from nbformat.v4 import new_code_cell, new_output

from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig
from calificador.carga import curso
from figuras import explorers, plots
from figuras.plots.svg import picture
from paginas import a_markdown, celdas, cuadernos, indice_de_citas
from paginas.a_markdown import (
    Conversor,
    CuadernoImposible,
    _a_fondo_plegado,
    _con_margen,
    sin_macros,
)

CABECERA = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---
"""

MUESTRA = r"""
(c04-inicio)=
# Una muestra

Prosa normal con el {term}`valor <valor>` y su inglés ({en}`value`). % esto no es un comentario

% esto sí es un comentario

```{objetivos}
:requisitos: {ref}`inicio <c04-inicio>`
- Calcular $\Q\K^\T \in \R^{n\times m}$.
```

(c04-problema)=
## El problema

```{code-cell} python
:tags: [hide-input]

from figuras import notebook, plots
notebook.start(seed=0)
x = 1 + 1
```

Vale {glue:text}`c04-x` y no `{glue:text}` ni `$\Q$`.
Véanse {numref}`fig-recta`, {eq}`eq-suma`, {ref}`c04-problema` y {prf:ref}`thm-uno`.

```{code-cell} python
notebook.glue("c04-x", x)
assert x == 2
```

::::{prediccion}
¿Cuánto es $\q\cdot\k$?

:::{respuesta}
Lo que diga $\softmax(s)$.

- uno
  ```python
  {en}`esto es código`
  ```
:::
::::

```{figura} fig-recta
La recta sube {glue:text}`c04-x` unidades.
```

```{math}
:label: eq-suma
\alpha\Q + \V = \Attn(\Q,\K,\V)
```

$$
\E[x] = 0
$$ (eq-media)

1. Primero:

   $$
   y = \Var(x)
   $$

2. Después, según {cite}`vaswani2017,bahdanau2015` y {cite:t}`luong2015`;
   también [aquí](#c04-problema) y {doc}`../intro`.

```{prf:theorem} De la suma
:label: thm-uno
Todo suma:

$$
a = b  % sin más
$$ (eq-todo)

y $c
= d$.
```

```{prf:proof}
Es claro.
```

### «Siempre suma» {refutacion}`R-002`

No siempre: {ref}`err-R-002`.

```{procedencia}
Medido el martes.
```

```{empezar}
Con calma.
```

```{exercise} Sumar
:label: ra-4-1
Suma {eq}`eq-media`.
```

```{fuente} figuras.notebook.glue
:sin-docstring:
```

```{dropdown} Más
Dentro.
```

```{note}
Una nota.
```

::::{a-fondo} Con $\Q$
Plegado.
::::

```{a-fondo} Con celdas
```

```{code-cell} python
:tags: [comprobacion]
:comprueba: "Dos vías coinciden"
assert x == 2
```

```{code-cell} python
:tags: [dibujo]
x
```

```{fin-a-fondo}
```

```{math}
y
```

| a | b |
| --- | --- |
| $\Q$ | {en}`query` |
"""

BIBLIOGRAFIA = """\
@article{vaswani2017, author = {Vaswani, A. and Shazeer, N. and Parmar, N.},
  year = {2017}, url = {https://e.org/v}}
@article{bahdanau2015, author = {Bahdanau, D. and Cho, K.}, year = {2015}, doi = {10.1/b}}
@article{luong2015, author = {Luong, M. and Manning, C.}, year = {2015}}
"""


@pytest.fixture
def libro(tmp_path):
    """Un libro de dos páginas: la portada y una muestra de todo lo que se convierte."""
    (tmp_path / "_toc.yml").write_text(
        "format: jb-book\nroot: intro\nchapters: [{file: 2-m/04-muestra}]\n", "utf-8"
    )
    (tmp_path / "_config.yml").write_text(
        "repository: {url: 'https://github.com/cuenta/libro', branch: main}\nsphinx: {config:"
        " {html_baseurl: ''}}\n",
        "utf-8",
    )
    (tmp_path / "references.bib").write_text(BIBLIOGRAFIA, "utf-8")
    (tmp_path / "intro.md").write_text("# Portada\n\nHola.\n", "utf-8")
    (tmp_path / "2-m").mkdir()
    (tmp_path / "2-m" / "04-muestra.md").write_text(CABECERA + MUESTRA, "utf-8")
    return cuadernos.Libro(tmp_path)


def capitulo(libro):
    (unico,) = cuadernos.capitulos(libro.ruta)
    return unico


def prosa(cuaderno):
    """El Markdown del cuaderno, entero y sin sus bloques ni trozos de código."""
    texto = "\n\n".join(celda.source for celda in cuaderno.cells if celda.cell_type == "markdown")
    sin_codigo = re.sub(r"^[ >]*```.*?^[ >]*```$", "", texto, flags=re.DOTALL | re.MULTILINE)
    return texto, re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", sin_codigo)


def sobras(limpio):
    """Restos de MyST en el texto."""
    macros = r"\\(?:Q|K|V|q|k|vv|T|R|E|Var|Attn|softmax)(?![A-Za-z])"
    roles, vallas, dianas = (
        r"\{[a-z][\w:-]*\}`|\{[a-z]+:[a-z]+\}",
        r"^[ >]*:{3,}.*|^[ >]*`{3,}\{.*",
        r"^\([\w-]+\)=$",
    )
    return re.findall("|".join((roles, vallas, dianas, macros)), limpio, re.MULTILINE)


def test_sample_becomes_plain_markdown(libro):
    cuaderno = cuadernos.cuaderno(capitulo(libro), libro, {"c04-x": "2"})
    texto, limpio = prosa(cuaderno)
    assert not sobras(limpio)
    base = "https://cuenta.github.io/libro"
    pagina = f"{base}/2-m/04-muestra.html"
    for trozo in (
        f"[valor]({base}/apendices/glosario.html#term-valor)",
        'su inglés (<em lang="en">value</em>)',
        "> **Qué aprenderás**\n>\n> - Calcular $Q{K}^{\\mathsf T} \\in \\mathbb{R}^{n\\times m}$.",
        f"> **Hace falta:** [inicio]({pagina}#c04-inicio)",
        "Vale 2 y no `{glue:text}` ni `$\\Q$`",
        (
            f"[Figura 4.1]({pagina}#fig-recta), [(4.1)]({pagina}#equation-eq-suma), [El"
            f" problema]({pagina}#c04-problema)"
        ),
        f"[Teorema 4.1]({pagina}#thm-uno)",
        "> <details>\n> <summary>Ver la respuesta</summary>",
        ">   ```python\n>   {en}`esto es código`\n>   ```",
        "**Figura 4.1.** La recta sube 2 unidades.",
        "$$\n\\alpha{Q} + V = \\operatorname{Attn}(Q,K,V)\n\\tag{4.1}\n$$",
        "$$\n\\operatorname{E}[x] = 0\n\\tag{4.2}\n$$",
        "1. Primero:\n\n   $$\n   y = \\operatorname{Var}(x)\n   $$\n\n2. Después",
        "([Vaswani et al., 2017](https://e.org/v); [Bahdanau y Cho, 2015](https://doi.org/10.1/b))",
        "Luong y Manning (2015)",
        f"[aquí]({pagina}#c04-problema) y [Portada]({base}/intro.html)",
        (
            "> **Teorema 4.1 (De la suma)**\n>\n> Todo suma:\n>\n> $$a = b \\tag{4.3}$$\n>\n> y $c"
            " = d$."
        ),
        "> **Demostración**\n>\n> Es claro. ∎",
        "### «Siempre suma» (R-002)",
        f"[«Siempre suma»]({pagina}#err-R-002)",
        f"#### Razonamiento 4.1. Sumar\n\nSuma [(4.2)]({pagina}#equation-eq-media).",
        "> **De dónde salen estos datos**\n>\n> Medido el martes.",
        "`%atento empezar 4` copia los esqueletos a `mis-ejercicios/`.\n\nCon calma.",
        "Código de `figuras.notebook.glue`:\n\n```python\ndef glue(",
        "<details>\n<summary>Más</summary>\n\nDentro.\n\n</details>",
        "> **Nota**\n>\n> Una nota.",
        '| $Q$ | <em lang="en">query</em> |',
        "<details>\n<summary>A fondo: Con $Q$</summary>\n\nPlegado.\n\n</details>",
        "---\n\n**A fondo: Con celdas**",
        "---\n\n$$\ny\n$$",
    ):
        assert trozo in texto, f"{trozo}\n\n--- no está en ---\n\n{texto}"
    assert "esto sí es un comentario" not in texto and "Publica ``value``" not in texto


def test_code_tags_and_metadata(libro):
    uno, otro = (cuadernos.cuaderno(capitulo(libro), libro, {"c04-x": "2"}) for _ in range(2))
    assert nbformat.writes(uno) == nbformat.writes(otro)
    nbformat.validate(uno)
    codigo = [celda for celda in uno.cells if celda.cell_type == "code"]
    assert codigo[0].source.endswith("\n%load_ext calificador.cuaderno")
    assert (
        codigo[0] is uno.cells[0] and "git+https://github.com/cuenta/libro@main" in codigo[0].source
    )
    assert codigo[1].source.endswith("x = 1 + 1") and codigo[1].metadata.tags == ["hide-input"]
    assert codigo[1].metadata.jupyter.source_hidden and not any(celda.outputs for celda in codigo)
    assert len({celda.id for celda in uno.cells}) == len(uno.cells)
    assert uno.metadata.kernelspec.name == "python3" and uno.metadata.title == "Una muestra"
    assert (
        codigo[3].source == "# @title Dos vías coinciden\nassert x == 2"
        and codigo[3].metadata.cellView == "form"
    )
    assert (
        codigo[4].source == "# @title Código de la figura\nx"
        and codigo[4].metadata.jupyter.source_hidden
    )
    assert "cellView" not in codigo[1].metadata and "jupyter" not in codigo[2].metadata
    assert [c.id for c in uno.cells[:2]] == ["celda-000", "celda-001"]


def test_outputs_and_plain_copies(libro, tmp_path):
    """Con salidas, menos los valores publicados; sin salidas, las mismas celdas; y lo que no cambia
    conserva su fecha.
    """
    hecho = capitulo(libro).cuaderno()
    codigo = [c for c in hecho.cells if c.cell_type == "code"]
    glue = new_output(
        "display_data", data={"text/html": ""}, metadata={"scrapbook": {"name": "c04-x"}}
    )
    visto = new_output("execute_result", data={"text/plain": "2"}, execution_count=9)
    codigo[1].outputs, codigo[3].outputs = [glue], [visto]
    con = cuadernos.cuaderno(capitulo(libro), libro, {"c04-x": "2"}, hecho)
    salidas = [c.outputs for c in con.cells if c.cell_type == "code"]
    assert [len(s) for s in salidas] == [0, 0, 0, 0, 1] and salidas[4][0].execution_count is None
    assert visto.execution_count == 9
    ruta = tmp_path / "c" / "a.ipynb"
    assert cuadernos.escribe(ruta, "una")
    os.utime(ruta, (1000, 1000))
    assert not cuadernos.escribe(ruta, "una") and ruta.stat().st_mtime == 1000
    assert cuadernos.escribe(ruta, "otra") and ruta.stat().st_mtime > 1000


def test_figures_survive_a_notebook_that_is_not_trusted(libro):
    """El SVG va como imagen, con su texto alternativo y sus colores, y al lado un PNG; lo
    interactivo queda igual.
    """
    fig, ax = plots.figure()
    ax.plot([0, 1], [0, 1])
    alt = "La recta «y = x» sube de cero a uno, y no tiene ningún punto más alto."
    datos = {
        "text/html": plots.render(fig, name="fig-recta", alt=alt),
        "image/png": picture(fig),
        "text/plain": "x",
    }
    otra = new_output("display_data", data={"text/html": "<p>tabla</p>", "text/plain": "y"})
    celda = new_code_cell("x", outputs=[new_output("display_data", data=dict(datos)), otra])
    figura, quieta = cuadernos.salidas_de(celda)
    imagen = re.fullmatch(
        r'<img alt="([^"]*)" width="480" style="width:100%;max-width:480px;height:auto"'
        r' src="data:image/svg\+xml;base64,(.*)">',
        figura.data["text/html"],
    )
    assert imagen[1] == alt and figura.data["image/png"] == datos["image/png"] and quieta == otra
    dibujo = base64.b64decode(imagen[2]).decode()
    assert ET.fromstring(dibujo) is not None and "var(" not in dibujo and plots.INK in dibujo
    assert (
        base64.b64decode(datos["image/png"]).startswith(b"\x89PNG")
        and celda.outputs[0].data == datos
    )


def test_the_drawing_and_the_links_of_an_explorer_survive_too(libro):
    """El mapa del capítulo 11: sin guiones, una imagen y enlaces que llegan; con ellos, los mismos
    enlaces en sus datos.
    """
    model = Seq2Seq(Seq2SeqConfig(source_vocab=5, target_vocab=5, d_model=4, n_heads=2, d_ff=8))
    links = {"embedding": ("La entrada", "#c11-x"), "causal": ("Máscaras", "../2-m/07-m.html#x")}
    mapa = explorers.architecture(
        model, ["uno", "dos"], ["one"], source_ids=[3, 4], target_ids=[3],
        vocabulary=list("abcde"), links=links, name="mapa",
    )  # fmt: skip
    celda = new_code_cell(
        "x", outputs=[new_output("display_data", data={"text/html": mapa._repr_html_()})]
    )
    (salida,) = cuadernos.salidas_de(celda, libro.url("3-a/11-x"))
    visible, _, resto = salida.data["text/html"].partition("<script")
    assert "<svg" not in visible and "<text" not in visible and "register(" in resto
    dibujo = re.search(r'<div class="machine"><img alt="[^"]{40,}" .*base64,(.*?)">', visible)[1]
    assert ET.fromstring(base64.b64decode(dibujo)) is not None
    enlaces = set(re.findall(r'href="([^"]*)"', visible))
    assert enlaces == {libro.url("3-a/11-x", "c11-x"), libro.url("2-m/07-m", "x")}
    datos = json.loads(resto[resto.index(">") + 1 : resto.index("</script>")])
    assert {parte["link"][1] for parte in datos["parts"] if parte["link"]} == enlaces


def test_export_writes_both_and_removes_what_is_left_over(libro, tmp_path, monkeypatch):
    monkeypatch.setattr(cuadernos, "ejecutado", lambda capitulo: None)
    monkeypatch.setattr(cuadernos, "publicados", lambda hecho: {"c04-x": "2"})
    (tmp_path / "99-sobra.ipynb").write_text("{}")
    assert cuadernos.exporta([capitulo(libro)], libro, tmp_path) == (1, [])
    assert sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*.ipynb")) == [
        "04-muestra.ipynb",
        "sin-salidas/04-muestra.ipynb",
    ]
    assert cuadernos.exporta([capitulo(libro)], libro, tmp_path) == (0, [])
    monkeypatch.setattr(cuadernos, "publicados", lambda hecho: {})
    cambiados, fallos = cuadernos.exporta([capitulo(libro)], libro, tmp_path)
    assert cambiados == 0 and len(fallos) == 1 and "04-muestra: no hay valor" in fallos[0]


@pytest.mark.parametrize(
    ("texto", "valor"),
    [
        ("'12\\u202f345.7'", "12\u202f345.7"),
        ("'0.50'", "0.50"),
        ('"l\'x"', "l'x"),
        ("3", "3"),
        ("'a\\\\b'", "a\\b"),
    ],
)
def test_glued_values_are_read_as_python_reads_them(texto, valor):
    salida = new_output(
        "display_data",
        data={"application/papermill.record/text/plain": texto},
        metadata={"scrapbook": {"name": "c04-x", "mime_prefix": "application/papermill.record/"}},
    )
    hecho = nbformat.v4.new_notebook(cells=[new_code_cell("x", outputs=[salida])])
    assert cuadernos.publicados(hecho) == {"c04-x": valor} and cuadernos.publicados(None) == {}


def _git(carpeta, *orden):
    subprocess.run(
        ["git", "-C", carpeta, "-c", "user.name=a", "-c", "user.email=a@b", *orden],
        check=True,
        timeout=30,
        capture_output=True,
    )


def test_the_install_cell_pins_the_published_commit(tmp_path, monkeypatch):
    monkeypatch.delenv("GITHUB_SHA", raising=False)
    assert indice_de_citas.commit_publicado(tmp_path / "no-existe") == ""
    for orden in (["init"], ["commit", "--allow-empty", "-m", "a"]):
        _git(tmp_path, *orden)
    assert indice_de_citas.commit_publicado(tmp_path) == "", "nadie más tiene este commit"
    _git(tmp_path, "update-ref", "refs/remotes/origin/main", "HEAD")
    assert re.fullmatch(r"[0-9a-f]{40}", indice_de_citas.commit_publicado(tmp_path))
    monkeypatch.setenv("GITHUB_SHA", "abc123")
    assert indice_de_citas.commit_publicado(tmp_path) == "abc123"


def test_macros_keep_letters_apart():
    assert sin_macros(r"\alpha\Q + \V\K") == r"\alpha{Q} + V{K}" and sin_macros(r"\Qx") == r"\Qx"


@pytest.mark.parametrize(
    ("texto", "mensaje"),
    [
        ("{glue:text}`c04-otra`", "clave «c04-otra»"),
        ("{ref}`no-existe`", "etiqueta «no-existe»"),
        ("{cite}`nadie1900`", "cita «nadie1900»"),
        ("{inventado}`x`", "rol «inventado»"),
        ("```{inventada}\nx\n```", "directiva «inventada»"),
        ("[datos](../datos/x.json)", "enlace «../datos/x.json»"),
        (":::{prediccion}\n¿?\n\n:::{respuesta}\nSí.\n:::\n:::\n\nFin", "más dos puntos"),
        (
            ":::{prediccion}\n¿?\n\n:::{respuesta}\nSí.\n:::\n:::\n\n```{code-cell} python\n1\n```",
            "celdas escritas",
        ),
    ],
)
def test_what_cannot_be_said_fails_loudly(libro, texto, mensaje):
    capitulo(libro).ruta.write_text(f"{CABECERA}\n# Título\n\n{texto}\n", "utf-8")
    with pytest.raises(CuadernoImposible, match=re.escape(mensaje)):
        cuadernos.cuaderno(capitulo(libro), cuadernos.Libro(libro.ruta), {})


@pytest.mark.lento
def test_sample_runs_as_an_ordinary_notebook(libro, tmp_path):
    """Se ejecuta sin las herramientas del libro, y los valores que publica son los que el
    exportador lee.
    """
    from nbclient import NotebookClient

    ejecutado = cuadernos.cuaderno(capitulo(libro), libro, {"c04-x": "2"})
    carpeta = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(ejecutado, timeout=120, kernel_name="python3", resources=carpeta).execute()
    assert not any(
        salida.output_type == "error"
        for celda in ejecutado.cells
        for salida in celda.get("outputs", [])
    )
    assert dict(cuadernos._valores(ejecutado)) == {"c04-x": "2"}


CAPITULOS = [c for c in cuadernos.capitulos() if c.ruta.exists()]


@pytest.fixture(scope="module")
def libro_real():
    return cuadernos.Libro()


@pytest.mark.parametrize("real", CAPITULOS, ids=lambda c: c.nombre)
def test_every_chapter_converts(real, libro_real):
    claves = re.findall(r"\{glue:text\}`([^`:]+)", real.ruta.read_text("utf-8"))
    cuaderno = cuadernos.cuaderno(real, libro_real, dict.fromkeys(claves, "0"))
    assert not sobras(prosa(cuaderno)[1])
    original = [celda.source for celda in real.cuaderno().cells if celda.cell_type == "code"]
    codigo = [c for c in cuaderno.cells if c.cell_type == "code" and "atento" not in c.metadata]
    sin_titulo = [re.sub(r"^# @title .*\n", "", c.source) for c in codigo]
    assert sin_titulo[1:] == original
    nbformat.validate(cuaderno)


@pytest.mark.parametrize("real", CAPITULOS, ids=lambda c: c.nombre)
def test_every_exercise_brings_its_two_cells(real, libro_real):
    claves = re.findall(r"\{glue:text\}`([^`:]+)", real.ruta.read_text("utf-8"))
    cuaderno = cuadernos.cuaderno(real, libro_real, dict.fromkeys(claves, "0"))
    suyas = [
        (c.metadata.atento.ejercicio, c.source) for c in cuaderno.cells if "atento" in c.metadata
    ]
    enunciados = re.findall(r"^:label: ej-(\d+)-(\d+)", real.texto(), re.MULTILINE)
    numeros = [n for n in (f"{a}.{b}" for a, b in enunciados) if celdas.registrado_de(n)]
    assert [n for n, _ in suyas[::2]] == numeros == [n for n, _ in suyas[1::2]]
    assert [fuente for _, fuente in suyas[1::2]] == [f"%atento {n}" for n in numeros]
    for numero, fuente in suyas[::2]:
        ejercicio, espacio = celdas.registrado_de(numero), {}
        exec(compile(fuente, numero, "exec"), espacio)
        assert ejercicio.nombre in espacio, f"{numero} no se define en su celda"
        assert "# noqa" not in fuente
        _, prueba, comentado = fuente.partition("# Para probar el ejemplo, quita las almohadillas:")
        assert bool(prueba) == bool(celdas.ejemplo_de(numero))
        assert all(renglon.startswith("# ") for renglon in comentado.splitlines() if renglon)


@pytest.mark.parametrize("ejercicio", sorted(curso().ejercicios))
def test_the_example_fits_in_its_cell(ejercicio, monkeypatch):
    """Un ejemplo se lee sin desplazarse, y partido dice lo mismo."""
    monkeypatch.delenv("ATENTO_CURSO", raising=False)  # lo ponen, al ir antes, las del calificador
    ejemplo = celdas.ejemplo_de(ejercicio)
    for linea in ejemplo.codigo.splitlines() if ejemplo else []:
        renglones = celdas.en_renglones(linea)
        assert max(map(len, renglones)) <= celdas.ANCHO, renglones
        assert ast.dump(ast.parse("\n".join(renglones))) == ast.dump(ast.parse(linea))


@pytest.mark.parametrize(
    "real", [c for c in CAPITULOS if c.referencia.exists()], ids=lambda c: c.nombre
)
def test_no_output_depends_on_the_page(real, libro_real):
    """Los enlaces de las salidas son enteros, y sus dibujos, imágenes."""
    cuaderno = cuadernos.cuaderno(
        real, libro_real, cuadernos.publicados(hecho := cuadernos.ejecutado(real)), hecho
    )
    salidas = (s for c in cuaderno.cells for s in c.get("outputs", []))
    for codigo in (s.get("data", {}).get("text/html", "") for s in salidas):
        visible = re.sub(r"<script.*?</script>", "", codigo, flags=re.DOTALL)
        assert "<svg" not in visible
        assert all(e.startswith("https://") for e in re.findall(r'href="([^"]*)"', visible))


@pytest.mark.parametrize("real", CAPITULOS, ids=lambda c: c.nombre)
def test_no_equation_of_a_box_takes_more_than_a_line(real, libro_real):
    """JupyterLab mete los «>» de la cita en la fórmula (jupyterlab, 16755), y con una línea impar
    se pierde.
    """
    claves = re.findall(r"\{glue:text\}`([^`:]+)", real.ruta.read_text("utf-8"))
    cuaderno = cuadernos.cuaderno(real, libro_real, dict.fromkeys(claves, "0"))
    for linea in "\n".join(c.source for c in cuaderno.cells if c.cell_type == "markdown").split(
        "\n"
    ):
        if linea.lstrip().startswith(">"):
            limpia = re.sub(r"(`+).*?\1|\\\$", "", linea)
            assert limpia.count("$") % 2 == 0 and not re.fullmatch(r"[>\s]*\$\$", limpia), linea


@pytest.mark.parametrize(
    "real", [c for c in CAPITULOS if c.referencia.exists()], ids=lambda c: c.nombre
)
def test_every_number_in_the_prose_has_its_value(real):
    usadas = set(re.findall(r"\{glue:text\}`([^`:]+)", real.ruta.read_text("utf-8")))
    valores = cuadernos.publicados(cuadernos.ejecutado(real))
    assert usadas <= set(valores) and all(valores.values())


@pytest.mark.parametrize(
    "real", [c for c in CAPITULOS if c.referencia.exists()], ids=lambda c: c.nombre
)
def test_no_escape_is_left_in_the_prose(real, libro_real):
    cuaderno = cuadernos.cuaderno(real, libro_real, cuadernos.publicados(cuadernos.ejecutado(real)))
    texto = prosa(cuaderno)[0]
    assert not re.findall(r"\\[ux][0-9a-f]{2,4}|\\N\{", texto)


# --- Lo que la muestra no trae --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("antes", "despues"),
    [
        ("$$\n\\Q\n$$", "$$\nQ\n$$"),
        ("Antes.\n\n    x = 1\n\nDespués.", "Antes.\n\n    x = 1\n\nDespués."),
        ("```python\nx = 1\n```", "```python\nx = 1\n```"),
        ("```{code-block} bash\nls\n```", "```bash\nls\n```"),
        ("```{table} Una *tabla*\n| a |\n| - |\n```", "**Una *tabla***\n\n| a |\n| - |"),
        (
            "```{glossary}\nclave\n  Lo que\n  ofrece.\n\nvalor\n  Lo que da.\n```",
            "- **clave**: Lo que ofrece.\n- **valor**: Lo que da.",
        ),
        (
            "```{bibliography}\n```",
            "[Referencias del libro](https://cuenta.github.io/libro/apendices/referencias.html)",
        ),
        ("```{raw} html\n<b>x</b>\n```", ""),
        (":::{div} ancho\nUno con *$\\Q$*.\n\n$$\n\\Q\n$$\n:::", "Uno con *$Q$*.\n\n$$\nQ\n$$"),
        ("```{fin-a-fondo}\n```", "---"),
        ("```{a-fondo} Más\n```\n\nDos.\n\n| a |\n|---|\n| b |\n\n```{fin-a-fondo}\n```\n\nFuera.",
         "<details>\n<summary>A fondo: Más</summary>\n\nDos.\n\n| a |\n|---|\n| b |\n\n"
         "</details>\n\nFuera."),
        ("```{fin-a-fondo}\n```\n\n```{a-fondo} Más\n```\n\nDos.",
         "---\n\n**A fondo: Más**\n\nDos."),
        ("{numref}`la %s <fig-recta>`, {numref}`n.º {number}, {name} <c04-problema>` y "
         "{eq}`otra <eq-suma>`",
         "[la 4.1](URL#fig-recta), [n.º 4.1, El problema](URL#c04-problema) y "
         "[otra](URL#equation-eq-suma)"),
        ("Pulsa {kbd}`Ctrl`, x{sub}`2`, {abbr}`RAE` y {math}`\\Q`.",
         "Pulsa <kbd>Ctrl</kbd>, x<sub>2</sub>, RAE y $Q$."),
        ("{py:obj}`~atento.masks.combine`, {py:mod}`atento.masks` y {py:obj}`esta <atento.rng>`",
         "`combine`, `atento.masks` y `esta`"),
    ],
)  # fmt: skip
def test_each_piece_becomes_plain_markdown(libro, antes, despues):
    hecho = Conversor(libro, "2-m/04-muestra", {}).texto(antes)
    assert hecho == despues.replace("URL", libro.url("2-m/04-muestra"))


@pytest.mark.parametrize(("puntos", "dichos"), [(1, "1 punto"), (3, "3 puntos")])
def test_an_exercise_says_what_it_is(libro, monkeypatch, puntos, dichos):
    registrado = SimpleNamespace(
        id="4.1", capitulo=4, puntos=puntos, dificultad=2, minutos=10, tipo="depurar",
        aprende="Que *suma*.", pistas=("Mira.", "Suma."),
    )  # fmt: skip
    monkeypatch.setattr(a_markdown, "registrado_de", {"4.1": registrado}.get)
    monkeypatch.setattr(a_markdown, "_ejemplo", lambda numero: [f"Ejemplo del {numero}."])
    destino = Destino("2-m/04-muestra", clase="Ejercicio", numero="4.1")
    monkeypatch.setitem(libro.destinos, "ej-4-1", destino)
    texto = Conversor(libro, "2-m/04-muestra", {}).texto(
        "```{exercise} La $\\Q$\n:label: ej-4-1\nSúmala.\n```"
    )
    assert texto.split("\n\n")[:5] == [
        "#### Ejercicio 4.1. La $Q$",
        f"*★★ aplicado · depurar · {dichos} · unos 10 min*",
        "Súmala.",
        "**Qué se aprende.** Que *suma*.",
        "Ejemplo del 4.1.",
    ]
    assert texto.index("Pista 1 de 2") < texto.index("Mira.") < texto.index("Pista 2 de 2")
    assert "`atento calificar 4.1`" in texto and texto.endswith(
        a_markdown.marca_de_ejercicio("4.1")
    )


@pytest.mark.parametrize("trozo", ["<!-- celdas del ejercicio 4.2 -->", "```yaml\n---\n```"])
def test_what_cannot_be_folded_is_left(trozo):
    """Ni las celdas de un ejercicio ni una raya que está dentro de un bloque de código."""
    texto = f"---\n\n**A fondo: Más**\n\nUno.\n\n{trozo}\n\nDos.\n\n---"
    assert _a_fondo_plegado(texto) == texto
    assert _a_fondo_plegado(texto.replace(trozo, "")).startswith("<details>")


def test_what_has_no_chapter_cannot_start_exercises(libro):
    with pytest.raises(CuadernoImposible, match="no es un capítulo numerado"):
        Conversor(libro, "intro", {}).texto("```{empezar}\n```")


def test_a_work_without_authors_is_called_by_its_title():
    from pybtex.database import Entry, Person

    def obra(*nombres, papel="author"):
        return Entry("misc", {"title": "{El} libro"}, {papel: [Person(n) for n in nombres]})

    assert indice_de_citas.autores(obra()) == "El libro"
    assert indice_de_citas.autores(obra("van Dyk, Ana")) == "van Dyk"
    assert indice_de_citas.autores(obra("Pérez, A", "{Gil}, B", papel="editor")) == "Pérez y Gil"
    assert indice_de_citas.autores(obra("Pérez, A", "Gil, B", "Ruiz, C")) == "Pérez et al."


def test_a_stale_reference_is_not_exported(libro, tmp_path, monkeypatch):
    uno = capitulo(libro)
    referencia = tmp_path / "r.ipynb"
    monkeypatch.setattr(type(uno), "referencia", referencia)

    def sin_cache(_):
        raise KeyError

    monkeypatch.setattr(cuadernos, "abre_cache", lambda c: type("C", (), {
        "merge_match_into_notebook": staticmethod(sin_cache)}))  # fmt: skip
    assert cuadernos.ejecutado(uno) is None
    nbformat.write(uno.cuaderno(), referencia)
    assert cuadernos.ejecutado(uno).cells == nbformat.read(referencia, as_version=4).cells
    otro = uno.cuaderno()
    otro.cells.append(new_code_cell("otra = 1"))
    nbformat.write(otro, referencia)
    with pytest.raises(CuadernoImposible, match="make referencias"):
        cuadernos.ejecutado(uno)


@pytest.mark.parametrize("fallos", [[], ["04: no"]])
def test_the_command_says_what_changed_and_what_failed(monkeypatch, tmp_path, capsys, fallos):
    pedido = []
    monkeypatch.setattr(cuadernos, "capitulos", lambda: ["uno", "dos"])
    monkeypatch.setattr(cuadernos, "Libro", lambda: "libro")
    monkeypatch.setattr(cuadernos, "exporta", lambda *a: pedido.append(a) or (1, fallos))
    monkeypatch.setattr("sys.argv", ["cuadernos.py"])
    if fallos:
        with pytest.raises(SystemExit, match="04: no"):
            cuadernos.main()
    else:
        cuadernos.main()
        assert capsys.readouterr().out == "2 cuadernos; han cambiado 1.\n"
    salida = cuadernos.CONSTRUIDO / "html" / "cuadernos"
    assert [llamada[:3] for llamada in pedido] == [(["uno", "dos"], "libro", salida)]
    monkeypatch.setattr("sys.argv", ["cuadernos.py", "--salida", str(tmp_path)])
    if not fallos:
        cuadernos.main()
        assert pedido[-1][2] == tmp_path


@pytest.mark.parametrize(
    ("linea", "renglones"),
    [
        (f"f({'1' * 74})", 1),  # 77: con la almohadilla y su espacio, una línea de 79
        (f"f({'1' * 75})", 3),
        (f"suma({'1' * 40}, {'2' * 31})", 3),  # los dos juntos, con su sangría, llegan a 77
        (f"suma({'1' * 40}, {'2' * 32})", 4),
        (f"f({'1' * 40}, g({'2' * 20}), {'3' * 20})", 4),
        ("x = 1" + "1" * 90, 1),  # sin paréntesis no hay por dónde
    ],
)
def test_a_line_of_an_example_is_broken_only_where_it_does_not_fit(linea, renglones):
    hechos = celdas.en_renglones(linea)
    assert len(hechos) == renglones, hechos
    assert ast.dump(ast.parse("\n".join(hechos))) == ast.dump(ast.parse(linea))


def test_what_is_broken_goes_on_its_own_lines():
    """Se parte el paréntesis más largo de fuera; lo que no cabe se parte otra vez, y nada se pega a
    ello.
    """
    uno, dos = "1" * 70, "2" * 20
    assert celdas.en_renglones(f"a[0] + f(b, g({uno}, {dos}), c, d)") == [
        "a[0] + f(",
        "    b,",
        "    g(",
        f"        {uno},",
        f"        {dos}",
        "    ),",
        "    c, d",
        ")",
    ]


def test_the_comments_above_the_first_definition_do_not_wrap_around():
    """Delante de la primera línea no hay ninguna: la última no es la de encima."""
    lineas = ["def f():", "    pass", "# Del final."]
    (nodo,) = ast.parse("\n".join(lineas)).body
    assert celdas._trozo(lineas, nodo) == "def f():\n    pass"
    (asigna, desempaqueta) = ast.parse("x = y.z = 1\na, b = c = 1, 2").body
    assert celdas._define(asigna) == {"x"} and celdas._define(desempaqueta) == {"c"}
    assert celdas._define(nodo) == {"f"}


def test_the_comments_above_a_definition_go_with_it():
    texto = "# %% uno\n# Nota.\n# Otra.\n@deco\ndef f():\n    pass  # noqa: X\n"
    import ast

    (nodo,) = ast.parse(texto).body
    assert celdas._trozo(texto.splitlines(), nodo) == (
        "# Nota.\n# Otra.\n@deco\ndef f():\n    pass"
    )


def test_la_vineta_de_un_punto_dentro_de_una_cita_va_solo_en_su_primera_linea():
    assert _con_margen("> a\n>\n> b", "> - x", ["> - x"]) == ["> - > a", ">   >", ">   > b"]
    assert _con_margen("a\nb", "> 1. x", ["> 1. x"]) == ["> 1. a", ">    b"]
