"""Los cuadernos construidos: cada uno dice lo de su capítulo en Markdown corriente."""

from __future__ import annotations

import re

import nbformat
import pytest
from corriente import prosa, sobras

from paginas import celdas
from paginas.capitulos import capitulos

CAPITULOS = pytest.mark.parametrize("capitulo", capitulos(), ids=lambda c: c.nombre)


@pytest.fixture
def cuaderno(sitio, capitulo):
    return nbformat.read(sitio / "cuadernos" / f"{capitulo.nombre}.ipynb", as_version=4)


@CAPITULOS
def test_every_chapter_converts(capitulo, cuaderno):
    texto, limpio = prosa(cuaderno)
    assert not sobras(limpio)
    assert not re.findall(r"\\[ux][0-9a-f]{2,4}|\\N\{", texto)
    original = [c.source for c in capitulo.cuaderno().cells if c.cell_type == "code"]
    codigo = [c for c in cuaderno.cells if c.cell_type == "code" and "atento" not in c.metadata]
    assert [re.sub(r"^# @title .*\n", "", c.source) for c in codigo][1:] == original
    nbformat.validate(cuaderno)


@CAPITULOS
def test_every_exercise_brings_its_two_cells(capitulo, cuaderno):
    suyas = [
        (c.metadata.atento.ejercicio, c.source) for c in cuaderno.cells if "atento" in c.metadata
    ]
    enunciados = re.findall(r"^:label: ej-(\d+)-(\d+)", capitulo.texto(), re.MULTILINE)
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


@CAPITULOS
def test_no_output_depends_on_the_page(cuaderno):
    """Los enlaces de las salidas son enteros, y sus dibujos, imágenes."""
    salidas = (s for c in cuaderno.cells for s in c.get("outputs", []))
    for codigo in (s.get("data", {}).get("text/html", "") for s in salidas):
        visible = re.sub(r"<script.*?</script>", "", codigo, flags=re.DOTALL)
        assert "<svg" not in visible
        assert all(e.startswith("https://") for e in re.findall(r'href="([^"]*)"', visible))


@CAPITULOS
def test_no_equation_of_a_box_takes_more_than_a_line(cuaderno):
    """JupyterLab mete los «>» de la cita en la fórmula (jupyterlab, 16755), y con una línea impar
    se pierde.
    """
    for linea in prosa(cuaderno)[0].split("\n"):
        if linea.lstrip().startswith(">"):
            limpia = re.sub(r"(`+).*?\1|\\\$", "", linea)
            assert limpia.count("$") % 2 == 0 and not re.fullmatch(r"[>\s]*\$\$", limpia), linea
