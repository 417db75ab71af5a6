"""El cuaderno: números en español, valores publicados y comienzo."""

import linecache
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from atento import shapes
from figuras import notebook
from figuras.notebook import format_number

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


def test_start_prints_tensors_as_the_book_does():
    """Cuatro decimales y sin potencias de diez, también con números muy distintos."""
    try:
        torch.set_printoptions(profile="default")
        assert "e-05" in str(torch.tensor([1e-5, 1e3]))
        notebook.start(threads=1)
        assert str(torch.tensor([1e-5, 1e3])) == "tensor([   0.0000, 1000.0000])"
        assert str(np.array([1e-5, 1e3])) == "[   0. 1000.]"
        assert max(map(len, str(torch.arange(40.0)).splitlines())) > 80
    finally:
        torch.set_printoptions(profile="default")
        np.set_printoptions(edgeitems=3, precision=8, suppress=False, linewidth=75)


@pytest.mark.parametrize(
    ("asked", "variable", "left"),
    [(None, None, 1), (3, None, 3), (None, "2", 5), (4, "2", 4)],
    ids=["de serie", "pedidos", "los del entorno", "pedidos, y del entorno"],
)
def test_start_fixes_the_threads(monkeypatch, asked, variable, left):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if variable:
        monkeypatch.setenv("OMP_NUM_THREADS", variable)
    before, was = torch.get_num_threads(), shapes.is_enabled()
    torch.set_num_threads(5)
    try:
        notebook.start(threads=asked)
        assert torch.get_num_threads() == left
    finally:
        torch.set_num_threads(before)
        shapes.enable() if was else shapes.disable()
        torch.set_printoptions(profile="default")
        np.set_printoptions(edgeitems=3, precision=8, suppress=False, linewidth=75)


# --- Lo que no se cumple en esta máquina ----------------------------------------------------------


def _runs(body: str, name: str = "<celda de prueba>", **values) -> dict:
    """Ejecuta una celda con ``body`` dentro del bloque; devuelve sus variables."""
    cell = f"with on_this_machine():\n{textwrap.indent(textwrap.dedent(body), '    ')}\nafter = 1\n"
    linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
    space = {"on_this_machine": notebook.on_this_machine, **values}
    exec(compile(cell, name, "exec"), space)
    return space


@pytest.fixture
def reader(monkeypatch):
    """La máquina de un lector."""
    monkeypatch.delenv("ATENTO_ESTRICTO", raising=False)


def test_what_holds_says_nothing(reader, capsys):
    assert _runs("assert exact > 0.99\nseen = exact", exact=1.0)["seen"] == 1.0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("assert exact > 0.99", "exact > 0.99"),
        ("assert (\n    exact\n    > 0.99\n)", "exact > 0.99"),
        ("assert exact > 0.99, 'acierta poco'", "exact > 0.99 (acierta poco)"),
        ("for k in (1,):\n    assert 0 < exact\n    assert exact > k", "exact > k"),
        ("check()", "check()"),
    ],
)
def test_what_does_not_hold_is_said_and_the_cell_goes_on(reader, capsys, body, said):
    def check():
        raise AssertionError

    assert _runs(body, exact=0.5, check=check)["after"] == 1
    assert capsys.readouterr().out == f"En esta máquina no se ha cumplido: {said}\n"


def test_without_the_source_the_message_is_said(reader, capsys):
    space = {"on_this_machine": notebook.on_this_machine}
    exec("with on_this_machine():\n    assert False, 'acierta poco'", space)
    assert "no se ha cumplido: acierta poco" in capsys.readouterr().out
    name = "<con órdenes>"
    cell = "%matplotlib inline\nwith on_this_machine():\n    assert exact > 0.99\n"
    linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
    exec(compile(cell.replace("%", "#"), name, "exec"), space | {"exact": 0})
    assert "no se ha cumplido: assert exact > 0.99" in capsys.readouterr().out


@pytest.mark.parametrize(("strict", "passes"), [("1", True), ("0", False), ("", False)])
def test_only_a_strict_machine_stops(monkeypatch, strict, passes):
    monkeypatch.setenv("ATENTO_ESTRICTO", strict)
    if passes:
        with pytest.raises(AssertionError):
            _runs("assert exact > 0.99", exact=0.5)
    else:
        _runs("assert exact > 0.99", exact=0.5)


@pytest.mark.parametrize("error", [ValueError, ZeroDivisionError, KeyboardInterrupt])
def test_any_other_error_passes(reader, error):
    with pytest.raises(error), notebook.on_this_machine():
        raise error


def test_in_a_notebook_it_is_shown_with_its_own_type(reader, monkeypatch, capsys):
    import IPython

    shown = []
    monkeypatch.setattr(IPython, "get_ipython", lambda: SimpleNamespace())
    monkeypatch.setattr("IPython.display.display", lambda *a, **k: shown.append((a, k)))
    _runs("assert 0 < exact > 0.99", exact=0.5)
    (((data,), options),) = shown
    assert options == {"raw": True} and capsys.readouterr().out == ""
    assert data[notebook.UNMET] == {"comparacion": "0 < exact > 0.99", "mensaje": ""}
    assert data["text/plain"] == "En esta máquina no se ha cumplido: 0 < exact > 0.99"
    assert 'class="incumplido"' in data["text/html"] and "0 &lt; exact" in data["text/html"]


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
        from figuras import notebook, plots
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
