"""«%atento» en un cuaderno: qué toma de lo ejecutado y qué dice."""

from __future__ import annotations

import json
import re

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from calificador import cuaderno
from calificador.cuaderno import necesarias

BUENA = (
    "def masked_softmax(scores, mask):\n"
    "    return torch.nan_to_num(scores.masked_fill(~mask, -math.inf).softmax(-1))\n"
)


@pytest.fixture
def escribe(tmp_path, monkeypatch, capfd):
    """Ejecuta la orden sobre unas celdas, en una carpeta vacía; devuelve lo que dice."""
    monkeypatch.chdir(tmp_path)

    def ejecuta(linea, *celdas):
        cuaderno.atento(linea, ["", *celdas])
        return capfd.readouterr().out

    return ejecuta


def test_se_toma_solo_lo_que_hace_falta_y_en_su_linea():
    historia = [
        "",
        (
            "%matplotlib inline\nimport math, torch\nfrom atento import"
            " plots\nplots.use_style()\nK = 3"
        ),
        "def ayuda(x):\n    return x + K",
        "def f(x):\n    return vieja(x)",
        "esto no es Python",
        "!ls\nprint('no')\n@cache\ndef f(x):\n    return math.sqrt(ayuda(x))\nf(2)",
    ]
    assert necesarias(historia, "f") == {
        1: "\nimport math, torch\n\n\nK = 3",
        2: historia[2],
        5: "\n\n@cache\ndef f(x):\n    return math.sqrt(ayuda(x))\n",
    }
    assert necesarias(historia, "g") == {} == necesarias([], "f")


def test_vale_la_ultima_definicion_de_cada_nombre():
    historia = ["def h():\n    return 1", "def f():\n    return h()", "def h():\n    return 2"]
    assert sorted(necesarias(historia, "f")) == [1, 2]


def test_corrige_lo_escrito_con_sus_puntos_y_apunta_los_intentos(escribe, tmp_path):
    dicho = escribe("91.1", "import math, torch", BUENA)
    assert "✓ 91.1 masked_softmax: 4/4 puntos (superado)" in dicho and "Jaula" not in dicho
    progreso = json.loads((tmp_path / "mis-ejercicios" / ".progreso.json").read_text())
    assert progreso["ejercicios"]["91.1"]["puntos"] == 4
    mala = BUENA.replace("softmax(-1)", "softmaxi(-1)")
    dicho = escribe("91.1", "import math, torch", "x = 1", mala)
    assert "en la celda 3, línea 2: «'Tensor' object has no attribute 'softmaxi'»" in dicho


def test_las_pistas_avanzan_con_los_intentos(escribe):
    dichos = [escribe("91.1", f"def masked_softmax(s, m):\n    return s * {n}") for n in (7, 8)]
    assert (
        "¿Qué suma cada fila?" in dichos[0] and "¿Qué pasa si nada se puede atender?" in dichos[1]
    )


def test_lo_que_no_esta_y_lo_que_no_se_ha_tocado_no_se_corrige(escribe, curso, monkeypatch):
    monkeypatch.setattr(cuaderno.subprocess, "run", None)
    assert escribe("91.1") == "· 91.1: ejecuta antes la celda donde escribes «masked_softmax».\n"
    esqueleto = curso.esqueleto(91)
    assert (
        escribe("91.1", esqueleto + "\n# nada nuevo") == "· 91.1 masked_softmax: aún sin resolver\n"
    )
    assert escribe("91", esqueleto).count("aún sin resolver") == len(curso.de_capitulo(91))
    assert "no hay ejercicio ni capítulo «91.77»" in escribe("91.77")
    assert "%atento 4.2" in escribe("")


def test_un_capitulo_corrige_lo_escrito(escribe):
    forma = "def output_shape(a, b, c):\n    return (a, c)\n"
    dicho = escribe("91", "import math, torch\n" + BUENA + forma)
    assert (
        "91.1 masked_softmax: 4/4" in dicho and "91.3 output_shape" in dicho and "91.2" not in dicho
    )


def test_las_demas_ordenes_llegan_a_la_consola(escribe, tmp_path):
    assert "listo" in escribe("empezar 91") and (tmp_path / "mis-ejercicios" / "cap91.py").exists()
    assert "Error: " in escribe("inventada") and "Traceback" not in escribe(
        "calificar --nivel otro"
    )


def test_en_un_cuaderno_hay_color_y_no_animacion(escribe, monkeypatch):
    """El núcleo de Jupyter pone ``FORCE_COLOR``, y la espera dejaría una línea por vuelta."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    dicho = escribe("91.1", "import math, torch", BUENA)
    assert "\x1b[32m✓" in dicho and "superado" in dicho
    assert "Corrigiendo" not in dicho and not re.search(r"\x1b\[\??\d*[A-Za-ln-z]", dicho)


def test_sin_jaula_mejor_se_dice(escribe):
    dicho = escribe("91.1 --nivel basica", "import math, torch\n" + BUENA)
    assert "4/4" in dicho and "Jaula: basica. Aquí no la hay mejor" in dicho


def test_interrumpir_acaba_con_una_linea(escribe, monkeypatch):
    def interrumpida(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(cuaderno.subprocess, "run", interrumpida)
    assert escribe("91.1", "import math, torch\n" + BUENA) == "Interrumpido.\n"


def test_en_un_nucleo_de_verdad(tmp_path):
    """La carga notebook.start(), y cargarla otra vez no estorba; un error de la entrega no detiene
    el cuaderno.
    """
    celdas = [
        "from figuras import notebook\nnotebook.start()\nnotebook.start()",
        "import math, torch",
        BUENA,
        "%atento 91.1",
        "%load_ext calificador.cuaderno",
        "def masked_softmax(s, m): return s.no_existe",
        "%atento 91.1",
    ]
    ejecutado = new_notebook(cells=[new_code_cell(c) for c in celdas])
    NotebookClient(
        ejecutado,
        timeout=120,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()
    nbformat.validate(ejecutado)
    dicho = ["".join(s.get("text", "") for s in c.outputs) for c in ejecutado.cells]
    assert dicho[0] == "" and "4/4 puntos" in dicho[3] and "celda 6, línea 1" in dicho[6]
