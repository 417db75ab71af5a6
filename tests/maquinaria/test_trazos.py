"""Las figuras aligeradas: fuera lo que no pinta nada, y lo que repiten varios trazos, una vez.

Que el dibujo es el mismo lo mira un navegador, en ``tests/sitio/test_peso.py``.
"""

import pytest

from paginas.trazos import aligera_figura, figuras_ligeras, relativo

ROJO = 'style="fill:red"'
INVISIBLE = '<path style="fill:none"/>'


def _dentro(svg: str) -> str:
    return aligera_figura(f"<svg>{svg}</svg>").removeprefix("<svg>").removesuffix("</svg>")


@pytest.mark.parametrize(
    ("antes", "despues"),
    [
        (f"<defs> </defs> <g> <g/> <path {ROJO}/> </g>", f"<path {ROJO}/>"),
        (f'{INVISIBLE}<path style="fill:none" id="a"/>', '<path style="fill:none" id="a"/>'),
        (f"<path {ROJO}/><text {ROJO}>a</text>", f"<g {ROJO}><path/><text>a</text></g>"),
        ('<text transform="rotate(-0 1 2)"> a <tspan> b </tspan> c</text>',
         "<text> a <tspan> b </tspan> c</text>"),
        ('<path style="fill:red;stroke-linejoin:round;stroke-linecap:butt"/>', f"<path {ROJO}/>"),
        ('<path style="fill:var(--atento-ink, #1b1f24)"/>',
         '<path style="fill:var(--atento-ink)"/>'),
        (f"<g><path {ROJO}/></g><text>a</text>", f"<path {ROJO}/><text>a</text>"),
        (f'<path d="M 1 2 L 1 4 z" {ROJO}/>', f'<path d="M1 2v2z" {ROJO}/>'),
        (f'<path clip-path="url(#a)" {ROJO}/>' * 2,
         f'<g {ROJO} clip-path="url(#a)"><path/><path/></g>'),
    ],
)  # fmt: skip
def test_lo_que_se_va(antes, despues):
    assert _dentro(antes) == despues


@pytest.mark.parametrize(
    "igual",
    [
        f'<g clip-path="url(#a)"><path {ROJO}/></g>',
        '<g style="stroke:red"><path style="fill:none"/></g>',
        '<path style="opacity:.5"/><path style="opacity:.5"/>',
        f'<path clip-path="url(#a)" transform="scale(2)" {ROJO}/>' * 2,
        f'<path {ROJO}/><path style="fill:blue"/><path {ROJO}/>',
        "<text>los   blancos</text>",
    ],
)
def test_lo_que_se_queda_como_estaba(igual):
    assert _dentro(igual) == igual


@pytest.mark.parametrize(
    ("trazo", "corto"),
    [
        ("M 10 20 L 10 20.5 L 9.5 20.5 z M 1 1 L 2 2", "M10 20v.5h-.5zm-9-19 1 1"),
        ("M 0 0 C 1 1 2 2 3 3 C 4 4 5 5 6 6", "M0 0c1 1 2 2 3 3 1 1 2 2 3 3"),
        ("M 1.25 1 Q 2 2 3 1", "M1.25 1q.75 1 1.75 0"),
        ("M 1 1 L 1 1", "M1 1v0"),
        ("M 0 0 L 1 0.5 L 1.5 1.25", "M0 0l1 .5.5.75"),
        ("M 0.001 1 L 2 2", "M 0.001 1 L 2 2"),
        ("M 0 0 A 1 1 0 0 1 2 2", "M 0 0 A 1 1 0 0 1 2 2"),
        ("L 1 1", "L 1 1"),
    ],
)
def test_el_trazo_es_exacto_o_no_se_toca(trazo, corto):
    assert relativo(trazo) == corto


@pytest.mark.parametrize("trazo", ["M 1", "M 1 2 L 3", "M 1 2 C 1 2 3 4 5"])
def test_un_trazo_al_que_le_falta_un_numero_no_se_da_por_bueno(trazo):
    with pytest.raises(ValueError, match="shorter"):
        relativo(trazo)


def test_solo_cambian_las_figuras_y_pierden_la_hoja_de_los_cuadernos():
    dibujo = f'<svg viewBox="0 0 1 1"> <path {ROJO}/> </svg>'
    figura = f'<div class="atento-figura" data-figura="f"><style>.x{{y:1}}</style>{dibujo}</div>'
    fuera = f"<p>{dibujo}</p><style>.x{{y:1}}</style>"
    assert figuras_ligeras(fuera + figura) == (
        f'{fuera}<div class="atento-figura" data-figura="f">'
        f'<svg viewBox="0 0 1 1"><path {ROJO}/></svg></div>'
    )
