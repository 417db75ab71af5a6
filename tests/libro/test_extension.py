"""La extensión del libro: un capítulo mínimo sale como se espera y cada falta plantada detiene la construcción.

Se construyen libros de una página con la configuración de verdad; lo único que cambia es el índice.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

RAIZ = Path(__file__).resolve().parents[2]
LIBRO = RAIZ / "book"
sys.path.insert(0, str(LIBRO / "_ext"))

from libro import huella, ruta_cache  # noqa: E402
from libro.didactica import duracion, vallas_mal_anidadas  # noqa: E402
from libro.docstrings import convertir  # noqa: E402
from libro.espanol import sustituir  # noqa: E402
from libro.numeracion import capitulo  # noqa: E402

CABECERA = """---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {display_name: Python 3, language: python, name: python3}
---
"""
DIBUJO = """
```{code-cell} python
from IPython.display import HTML
HTML('<div data-figura="fig-a"><svg role="img" aria-label="Una recta que sube"></svg></div>')
```
"""
COMPLETO = CABECERA + """# Un capítulo

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
from atento.notebook import glue
glue("c04-dato", 12345.678, ".1f")
```

Ahora, el dibujo.
""" + DIBUJO + """
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

Ver {ref}`err-R-002`, {prf:ref}`th-recta`, {ref}`ej-4-1` y {ref}`ra-4-1`.
"""


def _construir(carpeta: Path, capitulo: str) -> tuple[int, str, Path]:
    """Construye un libro con una portada y un capítulo; devuelve el estado, lo que se escribió y la página."""
    for nombre in ("_config.yml", "_ext", "_static", "_templates", "locale"):
        (carpeta / nombre).symlink_to(LIBRO / nombre)
    (carpeta / "extra").mkdir()
    (carpeta / "references.bib").write_text("", "utf8")
    (carpeta / "tiempos.json").write_text('{"04": 1.0}', "utf8")
    (carpeta / "intro.md").write_text("# Portada\n\nHola.\n", "utf8")
    (carpeta / "04-prueba.md").write_text(capitulo, "utf8")
    (carpeta / "_toc.yml").write_text("format: jb-book\nroot: intro\nchapters:\n  - file: 04-prueba\n", "utf8")
    jupyter_book = "import sys; from jupyter_book.cli.main import main; sys.exit(main())"
    orden = [sys.executable, "-c", jupyter_book, "build", str(carpeta), "-W", "-n", "--keep-going"]
    entorno = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
    hecho = subprocess.run(orden, capture_output=True, text=True, env=entorno, timeout=120)
    return hecho.returncode, hecho.stdout + hecho.stderr, carpeta / "_build" / "html" / "04-prueba.html"


@pytest.fixture(scope="module")
def pagina(tmp_path_factory) -> BeautifulSoup:
    estado, salida, fichero = _construir(tmp_path_factory.mktemp("completo"), COMPLETO)
    assert estado == 0, salida[-3000:]
    return BeautifulSoup(fichero.read_text("utf8"), "lxml")


@pytest.mark.construccion
def test_los_numeros_salen_del_nombre_del_fichero(pagina):
    rotulos = [nodo.get_text(strip=True) for nodo in pagina.select("article .section-number")]
    assert rotulos == ["4", "4.1"]
    assert pagina.select_one("figcaption .caption-number").get_text(strip=True) == "Figura 4.1"
    assert pagina.select_one(".eqno").get_text().startswith("(4.1)")
    assert pagina.select_one("#ej-4-1 .caption-number").get_text(strip=True) == "Ejercicio 4.1"
    assert pagina.select_one("#ra-4-1 .admonition-title").get_text(strip=True).startswith("Razonamiento 4.1")
    assert pagina.select_one("#th-recta .caption-number").get_text(strip=True) == "Teorema 4.1"
    referencias = pagina.select("article > section")[0].find_all("p")[-1].get_text(" ", strip=True)
    for rotulo in ("«Todo baja»", "Teorema 4.1", "Ejercicio 4.1", "Razonamiento 4.1"):
        assert rotulo in referencias


@pytest.mark.construccion
def test_lo_que_ponen_las_directivas(pagina):
    assert pagina.html["lang"] == "es"
    assert pagina.select_one("figure#fig-a [data-figura=fig-a] svg") is not None
    assert len(pagina.select("[data-figura=fig-a]")) == 1, "la figura se repite fuera de su recuadro"
    assert pagina.select_one("em[lang=en]").get_text() == "key"
    assert pagina.select_one("span.pasted-text").get_text() == "12\u202f345.7"
    assert pagina.select_one("details.respuesta summary").get_text(strip=True) == "Ver la respuesta"
    assert pagina.select_one("#err-R-002") is not None
    assert "R-002" not in pagina.select_one("nav.page-toc").get_text()
    assert pagina.select_one(".demostracion").get_text(strip=True).startswith("Demostración.")
    tiempos = pagina.select_one(".objetivos .tiempos").get_text(" ", strip=True)
    assert "Lectura: 1 min" in " ".join(tiempos.split())


@pytest.mark.construccion
def test_el_ejercicio_trae_lo_que_sabe_el_registro(pagina):
    from calificador.ejercicios.cap04 import EJERCICIOS

    ejercicio = next(e for e in EJERCICIOS if e.id == "4.1")
    recuadro = pagina.select_one("#ej-4-1")
    ficha = recuadro.select_one(".ficha").get_text(" ", strip=True)
    assert "★" * ejercicio.dificultad in ficha and f"{ejercicio.puntos} punto" in ficha
    assert f"unos {ejercicio.minutos} min" in ficha
    assert "atento calificar 4.1" in recuadro.get_text()
    ejemplo = recuadro.select_one(".ejemplo pre").get_text()
    assert "query_shape = [2, 3]" in ejemplo and "→ [[2, 4], [2, 4], [2, 5]]" in ejemplo
    assert recuadro.select_one(".entrega a")["href"].endswith("/exercises/cap04.py")
    assert len(recuadro.select("details.pista")) == len(ejercicio.pistas)
    assert not recuadro.select("details[open]")
    assert pagina.select_one("#ra-4-1 .ficha") is None


@pytest.mark.construccion
def test_no_se_carga_nada_de_thebe(pagina):
    assert "thebe" not in str(pagina).lower()


FALTAS = {
    "clave de glue que no existe": (
        CABECERA + "# T\n\nVale {glue:text}`c04-nada`.\n\n```{code-cell} python\n1 + 1\n```\n", "c04-nada"
    ),
    "celda que falla": (CABECERA + "# T\n\n```{code-cell} python\n1 / 0\n```\n", "ZeroDivisionError"),
    "celda que escribe en stderr": (
        CABECERA + "# T\n\n```{code-cell} python\nimport sys; print('aviso', file=sys.stderr)\n```\n", "stderr"
    ),
    "figura sin celda que la dibuje": (
        CABECERA + "# T\n" + DIBUJO + "\n```{figura} fig-otra\nUn pie.\n```\n", "fig-otra"
    ),
    "ejercicio con otro número": ("# T\n\n```{exercise} A\n:label: ej-4-2\nE.\n```\n", "se esperaba 4.2"),
    "ejercicio de otro capítulo": ("# T\n\n```{exercise} A\n:label: ra-5-1\nE.\n```\n", "ra-5-1"),
    "ejercicio que no está en el registro": ("# T\n\n```{exercise} A\n:label: ej-4-99\nE.\n```\n", "4.99"),
    "fuente que no existe": ("# T\n\n```{fuente} atento.masks.no_existe\n```\n", "no_existe"),
    "vallas mal anidadas": ("# T\n\n:::{repaso}\nUna.\n\n:::{respuesta}\nDos.\n:::\n:::\n\nMás.\n", "necesita uno más"),
    "referencia que no existe": ("# T\n\nVer {numref}`fig-nada`.\n", "fig-nada"),
}


@pytest.mark.construccion
@pytest.mark.parametrize("falta", FALTAS)
def test_cada_falta_detiene_la_construccion(tmp_path, falta):
    capitulo, esperado = FALTAS[falta]
    estado, salida, _ = _construir(tmp_path, capitulo)
    assert estado != 0, "se construyó con la falta"
    assert esperado in salida, salida[-3000:]


def test_la_huella_cambia_con_las_fuentes(tmp_path):
    paquete = tmp_path / "code" / "atento"
    paquete.mkdir(parents=True)
    (paquete / "a.py").write_text("x = 1\n")
    antes = huella(tmp_path)
    assert huella(tmp_path) == antes
    (paquete / "__pycache__").mkdir()
    (paquete / "__pycache__" / "a.pyc").write_text("ruido")
    assert huella(tmp_path) == antes
    (paquete / "a.py").write_text("x = 2\n")
    assert huella(tmp_path) != antes
    assert ruta_cache(LIBRO).parent == LIBRO / "_build" / ".jupyter_cache"


def test_importar_libro_no_importa_sphinx():
    orden = "import sys; import libro; libro.huella(); sys.exit('sphinx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", orden], cwd=LIBRO / "_ext").returncode == 0


def test_numero_de_capitulo():
    assert capitulo("2-mecanismo/04-la-atencion-derivada") == 4
    assert capitulo("0-preliminares/notacion") is None
    assert capitulo("apendices/api") is None


def test_duraciones():
    assert [duracion(s) for s in (0.2, 59.4, 90, 100)] == ["1 s", "60 s", "2 min", "2 min"]


def test_vallas():
    assert vallas_mal_anidadas("::::{repaso}\n:::{respuesta}\nSí.\n:::\n::::") == []
    assert vallas_mal_anidadas(":::{repaso}\n```{exercise}\n:::\n```\n:::") == []
    assert vallas_mal_anidadas(":::{repaso}\n:::{respuesta}\nSí.\n:::\n:::") == [(2, "respuesta")]


def test_docstrings():
    assert convertir(["Args:", "    x: uno.", "", "Fin."]) == ["", ":param x: uno.", "", "Fin."]
    assert convertir(["Atributos", "---------", "id: uno", "    y más."]) == [
        "", "**Atributos**", "", "``id``", "    uno", "    y más."
    ]


def test_sustituciones():
    mensajes = {"Toggle primary sidebar": "Mostrar"}
    assert sustituir('<a title="Toggle primary sidebar">', mensajes) == '<a title="Mostrar">'
    assert sustituir('<a title="Link to this heading">', mensajes) == '<a title="Enlace a este lugar">'


def test_la_pagina_de_la_biblioteca_nombra_todos_los_modulos():
    paquete = RAIZ / "code" / "atento"
    texto = (LIBRO / "apendices" / "api.md").read_text("utf8")
    faltan = [
        nombre
        for fuente in sorted(paquete.rglob("*.py"))
        if not fuente.name.startswith("_")
        for nombre in [".".join(["atento", *fuente.relative_to(paquete).with_suffix("").parts])]
        if f".. automodule:: {nombre}\n" not in texto
    ]
    assert not faltan, f"faltan en book/apendices/api.md: {', '.join(faltan)}"
