"""El cuaderno: números en español, valores publicados y comienzo."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch

from atento import notebook
from atento.notebook import format_number

THIN, MINUS = "\u202f", "\u2212"


@pytest.mark.parametrize(
    ("value", "spec", "text"),
    [
        (3, "", "3"),
        (1234, "", "1234"),
        (12345, "", f"12{THIN}345"),
        (1234567.891, ".1f", f"1{THIN}234{THIN}567.9"),
        (0.123456789, ".5f", "0.12346"),
        (0.5, ".2f", "0.50"),
        (0.25, "", "0.25"),
        (-1.5, ".1f", f"{MINUS}1.5"),
        (-0.0001, ".2f", "0.00"),
        (-0.5, ".1f", f"{MINUS}0.5"),
        (-0.05, ".0%", f"{MINUS}5{THIN}%"),
        (0.125, ".1%", f"12.5{THIN}%"),
        (3.2e-7, ".1e", f"3.2{THIN}×{THIN}10⁻⁷"),
        (6.5e10, ".2g", f"6.5{THIN}×{THIN}10¹⁰"),
        (65000000, ",d", f"65{THIN}000{THIN}000"),
        (True, "", "sí"),
        ("causal", "", "causal"),
        ((4, 8), "", "(4, 8)"),
        (torch.Size([2, 3]), "", "(2, 3)"),
        (torch.tensor([0.25, 0.75]), ".2f", "(0.25, 0.75)"),
        (torch.tensor(2.5, requires_grad=True), ".1f", "2.5"),
        (np.float64(0.1) * 3, ".1f", "0.3"),
        (np.int64(10000), "", f"10{THIN}000"),
        (float("inf"), "", "∞"),
    ],
)
def test_format_number(value, spec, text):
    assert format_number(value, spec) == text


def test_format_number_asks_for_a_decision():
    with pytest.raises(ValueError, match="demasiadas cifras"):
        format_number(0.1 + 0.2)
    with pytest.raises(ValueError, match="NaN"):
        format_number(float("nan"), ".2f")
    with pytest.raises(TypeError, match="NoneType"):
        format_number(None)


def test_a_key_has_one_value():
    notebook._glued.clear()
    notebook.glue("c04-pasos", 100)
    notebook.glue("c04-pasos", 100)
    with pytest.raises(ValueError, match="ya vale «100»; llegó «200»"):
        notebook.glue("c04-pasos", 200)
    with pytest.raises(ValueError, match="prefijo del capítulo"):
        notebook.glue("Pasos: total", 1)


def test_start_seeds_checks_shapes_and_forgets_keys():
    from atento import shapes

    notebook._glued.clear()
    notebook.glue("c04-pasos", 100)
    was = shapes.is_enabled()
    try:
        assert notebook.start(seed=3) is None
        first = torch.rand(3)
        notebook.start(seed=3)
        assert torch.equal(first, torch.rand(3)) and shapes.is_enabled()
        notebook.glue("c04-pasos", 200)
    finally:
        shapes.enable() if was else shapes.disable()
        torch.set_printoptions(profile="default")
        np.set_printoptions(edgeitems=3, precision=8, suppress=False, linewidth=75)


@pytest.mark.construccion
@pytest.mark.lento
def test_glue_and_figures_in_a_real_page(tmp_path):
    """Un libro de una página: texto sin comillas, celda que no deja nada y figura que se ve."""
    (tmp_path / "conf.py").write_text(
        'extensions = ["myst_nb"]\nnb_execution_mode = "force"\n'
        "nb_execution_raise_on_error = True\n",
        encoding="utf-8",
    )
    page = textwrap.dedent(
        """\
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
        # Prueba

        ```{code-cell} python
        from atento import notebook, plots
        ```

        ```{code-cell} python
        notebook.glue("c00-medio", 0.5, ".2f")
        notebook.glue("c00-millar", 65432)
        ```

        Vale [{glue:text}`c00-medio`] y [{glue:text}`c00-millar`].

        ```{code-cell} python
        fig, ax = plots.figure()
        ax.plot([0, 1])
        plots.show(fig, name="fig-recta", alt="La recta sube de cero a uno sin curvarse.")
        ```
        """
    )
    (tmp_path / "index.md").write_text(page, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "-q",
        "-b",
        "html",
        str(tmp_path),
        str(tmp_path / "html"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(
        (tmp_path / "html" / "index.html").read_text(encoding="utf-8"), "html.parser"
    )
    assert f"Vale [0.50] y [65{THIN}432]." in soup.get_text()
    cells = soup.select("div.cell")
    assert len(cells) == 3 and [len(cell.select(".cell_output")) for cell in cells] == [0, 0, 1]
    assert soup.select_one("svg[role=img]")["aria-label"].startswith("La recta sube")
