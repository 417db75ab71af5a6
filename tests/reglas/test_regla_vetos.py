"""Un enunciado prohíbe justo lo que su registro quita: con una sola frase, y siempre la misma."""

from __future__ import annotations

import re

from myst import informe, lee, paginas

from calificador.carga import curso_en
from calificador.vetos import ATENCION, ATENTO, CAPAS, Veto, frase

DICHAS = re.compile(r"No se pueden? (?:usar|crear|construir)\s.*?\.(?=\s|$)", re.S)
# Otras maneras de prohibir, que nadie haría cumplir.
SUELTAS = re.compile(
    r"[Nn]o se pueden? (?:usar|crear|construir|llamar|importar)|[Nn]o uses"
    r"|[Ss]in (?:usar|crear|construir)\b"
    r"|prohibido usar|; no, `|(?:está|están) permitid|no est[áa]n? permitid|[Nn]o vale usar"
)


def faltas_de_veto(enunciado: str, vetos: tuple[Veto, ...]) -> list[str]:
    """Lo que dice el enunciado y lo que dice el registro, si no es lo mismo."""
    dichas, debida = [" ".join(d.split()) for d in DICHAS.findall(enunciado)], frase(vetos)
    faltas = [] if dichas == [debida] * bool(debida) else [f"dice {dichas}; se esperaba «{debida}»"]
    faltas += [
        f"prohíbe sin que nadie lo mire: «{m[0]}»"
        for m in SUELTAS.finditer(DICHAS.sub("", enunciado))
    ]
    return faltas


def test_vetos() -> None:
    enunciados = {
        d.opciones.get("label"): "\n".join(d.cuerpo)
        for ruta in paginas()
        for d in lee(ruta).llamadas("exercise")
    }
    pedidos = [e for e in curso_en("").ejercicios.values() if not e.literal]
    assert any(e.prohibido for e in pedidos) and not all(e.prohibido for e in pedidos)
    faltas = [
        f"{e.id}: {falta}"
        for e in pedidos
        for falta in faltas_de_veto(enunciados[e.etiqueta], e.prohibido)
    ]
    assert not faltas, informe(faltas)


def alrededor(texto: str) -> str:
    """Lo que dice la sección «Ejercicios» de un capítulo fuera de los enunciados y respuestas."""
    seccion = re.search(r"^## Ejercicios\n(.*?)(?=^## |\Z)", texto, re.M | re.S)
    sin = re.compile(r"```\{exercise\}.*?\n```|:::\{respuesta\}.*?\n:::", re.S)
    return sin.sub("", seccion[1]) if seccion else ""


def test_nada_se_prohibe_fuera_de_los_enunciados() -> None:
    faltas = [
        f"{ruta.name}: «{m[0]}»"
        for ruta in paginas()
        for m in SUELTAS.finditer(alrededor(ruta.read_text(encoding="utf-8")))
    ]
    assert not faltas, informe(faltas)


def test_caza_lo_que_se_prohibe_alrededor() -> None:
    enunciado = "```{exercise} A\nNo uses B.\n```\n"
    texto = f"## Ejercicios\n\nNo se puede usar `atento`.\n\n{enunciado}## Otra\nNo uses C."
    assert [m[0] for m in SUELTAS.finditer(alrededor(texto))] == ["No se puede usar"]
    assert alrededor("Sin sección de ejercicios. No uses nada.") == ""


def test_caza_vetos() -> None:
    dicha = "Sale `(n, d)`. No se puede usar la atención de PyTorch ni `atento`. Sin NaN."
    assert not faltas_de_veto(dicha, (ATENCION, ATENTO))
    assert not faltas_de_veto("Sin NaN ni bucles.", ())
    assert not faltas_de_veto("Da tres enteros. No se puede construir\nninguna capa.", (CAPAS,))
    assert faltas_de_veto(dicha, (ATENCION,)) and faltas_de_veto(dicha, ())
    assert faltas_de_veto("Sale `(n, d)`.", (ATENTO,))
    assert faltas_de_veto(dicha + " " + dicha, (ATENCION, ATENTO))
    for suelta in (
        "Sin crear ningún tensor.",
        "Las clases no están permitidas.",
        "No uses `eval`.",
    ):
        assert faltas_de_veto(suelta, ()), suelta
