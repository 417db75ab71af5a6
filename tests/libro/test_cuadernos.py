"""Los cuadernos para descargar: Markdown corriente, el código del capítulo y nada de MyST.

Salen de un libro pequeño que se construye una vez; los de verdad se miran en ``tests/sitio``.
"""

import ast
import base64
import json
import os
import re
import subprocess
import xml.etree.ElementTree as ET

import nbformat
import pytest
from corriente import prosa, sobras
from docutils import nodes
from docutils.utils import new_document
from libro.cuadernos import CuadernoImposible, Escritor, sin_macros, sin_marcas
from nbformat.v4 import new_code_cell, new_output
from test_extension import CABECERA, _construir

from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig
from calificador.carga import curso
from figuras import explorers, plots
from figuras.plots.svg import picture
from paginas import celdas, cuadernos, publicado

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

```{code-cell} python
:tags: [dibujo]
fig, ax = plots.figure()
ax.plot([0, 1], [0, 1])
plots.show(fig, name="fig-recta", alt="La recta «y = x» sube de cero a uno, sin más puntos.")
```

::::{prediccion}
¿Cuánto es $\q\cdot\k$?

:::{respuesta}
Lo que diga $\softmax(s)$.

- uno
  ```text
  {en}`esto es código`
  ```
:::
::::

```{figura} fig-recta
La recta sube {glue:text}`c04-x` unidades.

Y no baja.
```

```{table} De *pesos*
:name: tab-a

| uno |
| --- |
| 1 |
```

```{math}
:label: eq-suma
\alpha\Q + \V = \Attn(\Q,\K,\V)
```

$$
\E[x] = 0
$$ (eq-media)

---

- Uno de *dos* y 2\*3,
  - que sigue con `` `a` `` y \_\_.

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

```{fuente} figuras.notebook._current_cell
:sin-docstring:
```

```{note}
Una nota.
```

::::{a-fondo} Con $\Q$ y `a<b`
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
| --- | --: |
| $\Q$ | {en}`query` y `a\|b` |

> 1\. Una cita de 5 \$ y un **final**.

```{exercise} Con $\Q$
:label: ej-4-1
Súmala.
```
"""
IMPOSIBLES = {
    "un desplegable de otros": ("```{dropdown} Más\nDentro.\n```", "«dropdown_main» («Más"),
    "una imagen": ("![Un icono](_static/icono.svg)", "«image»"),
    "un fichero": ("[datos](_static/icono.svg)", "«download_reference» («datos»)"),
    "un ejercicio en un recuadro": (
        ":::{note}\n```{exercise} A\n:label: ej-9-1\nE.\n```\n:::",
        "«note» («(A) ★",
    ),
}

BIBLIOGRAFIA = """\
@misc{vaswani2017, author = {Vaswani, A. and Shazeer, N. and Parmar, N.}, title = {A},
  year = {2017}, url = {https://e.org/v}}
@misc{bahdanau2015, author = {Bahdanau, D. and Cho, K.}, title = {B}, year = {2015}, doi = {10.1/b}}
@misc{luong2015, author = {Luong, M. and Manning, C.}, title = {C}, year = {2015}}
"""
BASE = "https://libro-atento.github.io/transformer-linea-a-linea"
PAGINA = f"{BASE}/2-m/04-muestra.html"


@pytest.fixture(scope="module")
def libro(tmp_path_factory):
    """Un libro con una muestra de todo lo que se convierte y lo que no se puede convertir."""
    carpeta = tmp_path_factory.mktemp("cuadernos")
    (carpeta / "references.bib").write_text(BIBLIOGRAFIA, "utf-8")
    for parte in ("2-m", "apendices"):
        (carpeta / parte).mkdir()
    estado, dicho, html = _construir(carpeta, {
        "2-m/04-muestra": CABECERA + MUESTRA,
        "apendices/glosario": "# G\n\n```{glossary}\nvalor\n  Lo que da.\n```\n",
        "apendices/referencias": "# R\n\n```{bibliography}\n```\n",
        **{f"{i:02d}-no": f"{CABECERA}\n# T\n\n{t}\n" for i, (t, _) in _imposibles().items()},
    })  # fmt: skip
    assert estado == 0, dicho[-3000:]
    (carpeta / "_build" / ".obra").mkdir()
    (carpeta / "_build" / ".obra" / "_build").symlink_to(html.parent)
    return cuadernos.Libro(carpeta)


def _imposibles():
    return dict(enumerate(IMPOSIBLES.values(), 6))


def capitulo(libro, nombre="04-muestra"):
    return next(c for c in cuadernos.capitulos(libro.ruta) if c.nombre == nombre)


def exportado(libro, hecho=None):
    muestra = capitulo(libro)
    return cuadernos.cuaderno(muestra, libro, cuadernos.pagina(muestra, libro.ruta), hecho)


@pytest.mark.construccion
def test_sample_becomes_plain_markdown(libro):
    texto, limpio = prosa(exportado(libro))
    assert not sobras(limpio)
    for trozo in (
        f"[valor]({BASE}/apendices/glosario.html#term-valor)",
        'su inglés (<em lang="en">value</em>)',
        "> **Qué aprenderás**\n>\n> - Calcular $Q{K}^{\\mathsf T} \\in \\mathbb{R}^{n\\times m}$.",
        f"> **Hace falta:** [inicio]({PAGINA}#c04-inicio)\n\n## El problema",
        "Vale 2 y no `{glue:text}` ni `$\\Q$`",
        (
            f"[Figura 4.1]({PAGINA}#fig-recta), [(4.1)]({PAGINA}#equation-eq-suma), [El"
            f" problema]({PAGINA}#c04-problema)"
        ),
        f"[Teorema 4.1]({PAGINA}#thm-uno)",
        "> <details>\n> <summary>Ver la respuesta</summary>",
        ">   ```text\n>   {en}`esto es código`\n>   ```",
        "**Figura 4.1.** La recta sube 2 unidades.\n\nY no baja.",
        "**Tabla 4.1. De *pesos***\n\n| uno |\n| --- |\n| 1 |",
        "$$\n\\alpha{Q} + V = \\operatorname{Attn}(Q,K,V)\n\\tag{4.1}\n$$",
        "$$\n\\operatorname{E}[x] = 0\n\\tag{4.2}\n$$",
        "---\n\n- Uno de *dos* y 2\\*3,\n  - que sigue con `` `a` `` y \\_\\_.",
        "1. Primero:\n\n   $$\n   y = \\operatorname{Var}(x)\n   $$\n\n2. Después",
        "([Bahdanau y Cho, 2015](https://doi.org/10.1/b); [Vaswani et al., 2017](https://e.org/v))",
        f"Luong y Manning ([2015]({BASE}/apendices/referencias.html#id",
        f"[aquí]({PAGINA}#c04-problema) y [Portada]({BASE}/intro.html)",
        (
            "> **Teorema 4.1 (De la suma)**\n>\n> Todo suma:\n>\n> $$a = b \\tag{4.3}$$\n>\n> y $c"
            " = d$."
        ),
        "> **Demostración.** Es claro. ∎",
        "### «Siempre suma»\n\n*Error frecuente*\n\n",
        f"[«Siempre suma»]({PAGINA}#err-R-002)",
        f"#### Razonamiento 4.1 (Sumar)\n\nSuma [(4.2)]({PAGINA}#equation-eq-media).",
        "> **De dónde salen estos datos**\n>\n> Medido el martes.",
        "`%atento empezar 4` copia los esqueletos a `mis-ejercicios/`.\n\nCon calma.",
        "Código de `figuras.notebook._current_cell`\n\n```python\ndef _current_cell(",
        "> **Nota**\n>\n> Una nota.",
        '| a | b |\n| --- | --: |\n| $Q$ | <em lang="en">query</em> y `a\\|b` |',
        "> 1\\. Una cita de 5 \\$ y un **final**.",
        (
            "<details>\n<summary>A fondo: Con $Q$ y <code>a&lt;b</code></summary>\n\nPlegado.\n\n"
            "</details>"
        ),
        "---\n\n**A fondo: Con celdas**",
        "---\n\n$$\ny\n$$",
    ):
        assert trozo in texto, f"{trozo}\n\n--- no está en ---\n\n{texto}"
    assert "esto sí es un comentario" not in texto
    assert "Leer:" not in texto, "los minutos son de la página"


@pytest.mark.construccion
def test_an_exercise_says_what_it_is_and_brings_its_two_cells(libro):
    registrado, celdas_ = celdas.registrado_de("4.1"), exportado(libro).cells
    puntos = f"{registrado.puntos} puntos · unos {registrado.minutos} min*"
    texto = next(c.source for c in celdas_ if "#### Ejercicio" in c.source)
    texto = texto[texto.index("#### Ejercicio") :]
    assert texto.startswith("#### Ejercicio 4.1 (Con $Q$)\n\n*★") and puntos in texto
    partes = ("Súmala.", "**Ejemplo.**\n\n```text\n", "**Qué se aprende.** ", "Pista 1 de")
    assert sorted(partes, key=texto.index) == list(partes) and "solución" not in texto.lower()
    assert texto.endswith("`atento empezar 4` y `atento calificar 4.1`.)")
    assert [c.source for c in celdas_[-3:-1]] == [c.source for c in celdas.celdas_de("4.1")]


@pytest.mark.construccion
def test_code_tags_and_metadata(libro):
    uno, otro = exportado(libro), exportado(libro)
    assert nbformat.writes(uno) == nbformat.writes(otro)
    nbformat.validate(uno)
    codigo = [celda for celda in uno.cells if celda.cell_type == "code"]
    assert codigo[0].source.endswith("\n%load_ext calificador.cuaderno")
    instala = f"git+https://github.com/libro-atento/transformer-linea-a-linea@{libro.version}"
    assert codigo[0] is uno.cells[0] and instala in codigo[0].source
    assert codigo[1].source.endswith("x = 1 + 1") and codigo[1].metadata.tags == ["hide-input"]
    assert codigo[1].metadata.jupyter.source_hidden and not any(celda.outputs for celda in codigo)
    assert len({celda.id for celda in uno.cells}) == len(uno.cells)
    assert uno.metadata.kernelspec.name == "python3" and uno.metadata.title == "Una muestra"
    assert (
        codigo[4].source == "# @title Dos vías coinciden\nassert x == 2"
        and codigo[4].metadata.cellView == "form"
    )
    assert (
        codigo[5].source == "# @title Código de la figura\nx"
        and codigo[5].metadata.jupyter.source_hidden
    )
    assert "cellView" not in codigo[1].metadata and "jupyter" not in codigo[2].metadata
    assert [c.id for c in uno.cells[:2]] == ["celda-000", "celda-001"]


@pytest.mark.construccion
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
    con = exportado(libro, hecho)
    salidas = [c.outputs for c in con.cells if c.cell_type == "code"]
    assert [len(s) for s in salidas] == [0, 0, 0, 0, 1, 0, 0, 0] and salidas[4][
        0
    ].execution_count is None
    assert visto.execution_count == 9
    ruta = tmp_path / "c" / "a.ipynb"
    assert cuadernos.escribe(ruta, "una")
    os.utime(ruta, (1000, 1000))
    assert not cuadernos.escribe(ruta, "una") and ruta.stat().st_mtime == 1000
    assert cuadernos.escribe(ruta, "otra") and ruta.stat().st_mtime > 1000


def test_figures_survive_a_notebook_that_is_not_trusted():
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


def test_the_drawing_and_the_links_of_an_explorer_survive_too():
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
    (salida,) = cuadernos.salidas_de(celda, f"{BASE}/3-a/11-x.html")
    visible, _, resto = salida.data["text/html"].partition("<script")
    assert "<svg" not in visible and "<text" not in visible and "register(" in resto
    dibujo = re.search(r'<div class="machine"><img alt="[^"]{40,}" .*base64,(.*?)">', visible)[1]
    assert ET.fromstring(base64.b64decode(dibujo)) is not None
    enlaces = set(re.findall(r'href="([^"]*)"', visible))
    assert enlaces == {f"{BASE}/3-a/11-x.html#c11-x", f"{BASE}/2-m/07-m.html#x"}
    datos = json.loads(resto[resto.index(">") + 1 : resto.index("</script>")])
    assert {parte["link"][1] for parte in datos["parts"] if parte["link"]} == enlaces


@pytest.mark.construccion
def test_export_writes_both_and_removes_what_is_left_over(libro, tmp_path, monkeypatch):
    monkeypatch.setattr(cuadernos, "ejecutado", lambda capitulo: None)
    (tmp_path / "99-sobra.ipynb").write_text("{}")
    muestra = capitulo(libro)
    assert cuadernos.exporta([muestra], libro, tmp_path) == (1, [])
    assert sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*.ipynb")) == [
        "04-muestra.ipynb",
        "sin-salidas/04-muestra.ipynb",
    ]
    assert cuadernos.exporta([muestra], libro, tmp_path) == (0, [])


@pytest.mark.construccion
@pytest.mark.parametrize("caso", IMPOSIBLES)
def test_what_cannot_be_said_fails_loudly(libro, tmp_path, caso):
    """Se dicen la página y el nodo, y las demás se exportan."""
    lugar = list(IMPOSIBLES).index(caso)
    nombre, mensaje = f"{lugar + 6:02d}-no", IMPOSIBLES[caso][1]
    cambiados, (fallo,) = cuadernos.exporta([capitulo(libro, nombre)], libro, tmp_path)
    assert cambiados == 0 and fallo.startswith(f"{nombre}: {nombre}: {mensaje}"), fallo


@pytest.mark.construccion
def test_a_page_of_another_text_is_not_exported(libro, tmp_path):
    """Ni la de un texto cambiado, ni con otras celdas, ni con una valla que se las traga."""
    muestra = capitulo(libro)
    dicho = cuadernos.pagina(muestra, libro.ruta)
    dicho["trozos"].remove({"celda": 1})
    with pytest.raises(CuadernoImposible, match="no lleva sus celdas"):
        cuadernos.cuaderno(muestra, libro, dicho)
    otro = type(muestra)(tmp_path / "2-m" / "04-muestra.md")
    otro.ruta.parent.mkdir()
    otro.ruta.write_text(f"{CABECERA}\n# T\n\n:::{{note}}\n```{{code-cell}} python\n1\n```\n:::\n")
    with pytest.raises(CuadernoImposible, match="make libro"):
        cuadernos.pagina(otro, tmp_path)
    with pytest.raises(CuadernoImposible, match="celdas escritas"):
        cuadernos.cuaderno(otro, libro, dicho)


def _git(carpeta, *orden):
    subprocess.run(
        ["git", "-C", carpeta, "-c", "user.name=a", "-c", "user.email=a@b", *orden],
        check=True,
        timeout=30,
        capture_output=True,
    )


def test_the_install_cell_pins_the_published_commit(tmp_path, monkeypatch):
    monkeypatch.delenv("GITHUB_SHA", raising=False)
    assert publicado.commit_publicado(tmp_path / "no-existe") == ""
    for orden in (["init"], ["commit", "--allow-empty", "-m", "a"]):
        _git(tmp_path, *orden)
    assert publicado.commit_publicado(tmp_path) == "", "nadie más tiene este commit"
    _git(tmp_path, "update-ref", "refs/remotes/origin/main", "HEAD")
    assert re.fullmatch(r"[0-9a-f]{40}", publicado.commit_publicado(tmp_path))
    monkeypatch.setenv("GITHUB_SHA", "abc123")
    assert publicado.commit_publicado(tmp_path) == "abc123"


def test_macros_keep_letters_apart():
    assert sin_macros(r"\alpha\Q + \V\K") == r"\alpha{Q} + V{K}" and sin_macros(r"\Qx") == r"\Qx"


@pytest.mark.construccion
@pytest.mark.lento
def test_sample_runs_as_an_ordinary_notebook(libro, tmp_path):
    """Se ejecuta sin las herramientas del libro."""
    from nbclient import NotebookClient

    ejecutado = exportado(libro)
    carpeta = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(ejecutado, timeout=120, kernel_name="python3", resources=carpeta).execute()
    assert not any(
        salida.output_type == "error"
        for celda in ejecutado.cells
        for salida in celda.get("outputs", [])
    )


@pytest.mark.parametrize("ejercicio", sorted(curso().ejercicios))
def test_the_example_fits_in_its_cell(ejercicio, monkeypatch):
    """Un ejemplo se lee sin desplazarse, y partido dice lo mismo."""
    monkeypatch.delenv("ATENTO_CURSO", raising=False)  # lo ponen, al ir antes, las del calificador
    ejemplo = celdas.ejemplo_de(ejercicio)
    for linea in ejemplo.codigo.splitlines() if ejemplo else []:
        renglones = celdas.en_renglones(linea)
        assert max(map(len, renglones)) <= celdas.ANCHO, renglones
        assert ast.dump(ast.parse("\n".join(renglones))) == ast.dump(ast.parse(linea))


# --- Lo que la muestra no trae --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texto", "escrito"),
    [
        ("a*b a_b _c_ __ ~d~ 5 $", r"a\*b a_b \_c\_ \_\_ \~d\~ 5 \$"),
        ("`x` <b> a < b &amp; A & B", r"\`x\` \<b> a < b \&amp; A & B"),
        ("[MASK](x) [a] \\* \\n y\n  más", r"[MASK\](x) [a] \\\* \n y más"),
    ],
)
def test_nothing_in_a_text_is_read_as_markdown(texto, escrito):
    assert sin_marcas(texto) == escrito


@pytest.mark.parametrize(
    ("parrafo", "escrito"),
    [
        ("# no", r"\# no"),
        ("- no", r"\- no"),
        ("12. no", r"12\. no"),
        ("> no", r"\> no"),
        ("---", r"\---"),
        ("-1 sí, 1.5 y #sí", "-1 sí, 1.5 y #sí"),
    ],
)
def test_a_paragraph_does_not_start_anything_else(parrafo, escrito):
    escritor, documento = object.__new__(Escritor), new_document("x")
    documento += nodes.paragraph("", parrafo)
    assert escritor.pagina(documento) == [escrito]


def test_a_stale_reference_is_not_exported(tmp_path, monkeypatch):
    uno = cuadernos.Capitulo(tmp_path / "04-muestra.md")
    uno.ruta.write_text(f"{CABECERA}\n# T\n\n```{{code-cell}} python\n1\n```\n")
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
