"""La ortografía de todo lo que se lee: hunspell y la lista propia."""

from __future__ import annotations

import pytest
from myst import informe
from ortografia import (
    CURA,
    desconocidas,
    hay_hunspell,
    lista_propia,
    orden,
    palabras,
    sobrantes,
    textos,
)

pytestmark = pytest.mark.ortografia


@pytest.fixture(scope="module")
def escritas() -> dict[str, tuple[str, int]]:
    """Palabras del proyecto con su primer lugar."""
    if not hay_hunspell():
        pytest.fail(CURA, pytrace=False)
    return palabras(textos())


def test_ortografia(escritas: dict[str, tuple[str, int]]) -> None:
    malas = sorted(desconocidas(escritas, set(lista_propia())), key=lambda p: (escritas[p], p))
    faltas = [f"{escritas[p][0]}:{escritas[p][1]}: «{p}»" for p in malas]
    assert not faltas, informe(faltas)


def test_lista_ordenada() -> None:
    lista = lista_propia()
    assert lista == sorted(set(lista), key=orden), (
        "palabras.txt: una por línea, sin repetir y por orden alfabético"
    )


def test_lista_sin_sobrantes(escritas: dict[str, tuple[str, int]]) -> None:
    faltas = sobrantes(lista_propia(), escritas)
    assert not faltas, f"palabras.txt tiene palabras que ya no hacen falta: {', '.join(faltas)}"


def test_caza_ortografia() -> None:
    if not hay_hunspell():
        pytest.fail(CURA, pytrace=False)
    hay = palabras(
        [("a.md", 3, "La atenciónn pondera; pruébalo y vuélvelas a mirar. BPE y cap04.")]
    )
    assert desconocidas(hay, set()) == {"atenciónn"}
    assert hay["atenciónn"] == ("a.md", 3)
    assert not desconocidas(hay, {"atenciónn"})
    ingles = palabras([("a.md", 1, "Ya está, with every feature working.")])
    assert {"with", "every", "feature", "working"} <= desconocidas(ingles, set(lista_propia()))
    assert sobrantes(["atenciónn", "casa", "zzzz"], hay) == ["casa", "zzzz"]


def test_caza_en_cada_sitio(tmp_path) -> None:
    from ortografia import _de_markdown, _de_python

    codigo = (
        '"""Módulo malescrito."""\ndef f():\n    raise ValueError(f"llegó {1}; malmensaje")\n'
        'x = dict(pista="malapista", otra="noseve")\n# malcomentario\n'
    )
    vistas = palabras(_de_python(codigo, "x.py", comentarios=True))
    assert {"malescrito", "malmensaje", "malapista", "malcomentario"} <= set(
        vistas
    ) and "noseve" not in vistas
    assert vistas["malmensaje"] == ("x.py", 3)
    propio = 'def f(query):\n    """La query y la otherwise."""\n'
    assert set(palabras(_de_python(propio, "x.py", comentarios=True))) == {"La", "la", "otherwise"}
    cabecera = "# ---\n# jupytext: yes\n# ---\n\n# malcomentario\n"
    assert set(palabras(_de_python(cabecera, "x.py", comentarios=True))) == {"malcomentario"}
    assert set(
        palabras(_de_markdown('Uno.\n\n<div lang="en">\n\nwith\n\n</div>\n\nDos.\n', "x.md"))
    ) == {"Uno", "Dos"}
    libro = (
        "# Titulomalo\n\nTexto `codigo` $formula$ {en}`english` [enlace](http://x.org).\n\n"
        "```{code-cell} python\nnada\n```\n"
    )
    assert set(palabras(_de_markdown(libro, "x.md"))) == {"Titulomalo", "Texto", "enlace"}
