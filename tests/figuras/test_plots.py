"""Las figuras: texto alternativo, letras legibles, colores del libro, salida determinista."""

import base64
import io
import re
import xml.etree.ElementTree as ET

import drawings
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from figuras import plots
from figuras.plots.svg import SVG

ALT = "La fila «negro» reparte el 54 % de su peso en «el» y el resto entre las demás palabras."
WORDS = ["el", "gato", "negro", "duerme"]


def weights(n: int = 4) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.softmax(torch.randn(n, n, generator=generator), dim=-1)


def svg(ax_or_fig, name: str = "fig-prueba") -> ET.Element:
    markup = plots.render(getattr(ax_or_fig, "figure", ax_or_fig), name=name, alt=ALT)
    return ET.fromstring(re.search(r"<svg.*</svg>", markup, re.DOTALL)[0])


def texts(root: ET.Element) -> list[str]:
    return ["".join(node.itertext()) for node in root.iter(f"{SVG}text")]


X = np.arange(6.0)
BANDS = {"a": (X - 1, X + 2)}
TALL = "una barra con un nombre larguísimo de tres líneas"
BARS = {"una barra con nombre largo": 12.5, "b": -3.0, "c": 0.0}


def noted():
    ax = plots.curves(X, {"a": X}, xlabel="x", ylabel="y")
    plots.note(ax, (2, 2), "aquí", (0, 24))
    return ax


CASES = {
    "map": lambda: plots.attention_map(weights(), WORDS, WORDS, frame_row=2),
    "map-mask": lambda: plots.attention_map(
        weights().tril(), None, WORDS, mask=torch.ones(4, 4).tril(), frame_row=-1, xlabel="x"
    ),
    "map-bare": lambda: plots.attention_map(weights(8), None, None, values=False, ylabel="y"),
    "map-eight": lambda: plots.attention_map(weights(8), None, None),
    "map-nine": lambda: plots.attention_map(weights(9), ["palabra"] * 9, ["palabra"] * 9),
    "map-big": lambda: plots.attention_map(weights(40), None, None, frame_row=20),
    "map-wide": lambda: plots.attention_map(
        weights(12)[:2] / weights(12)[:2].max(),
        ["consulta", "otra"],
        [f"clave {i}" for i in X for _ in "ab"],
    ),
    "curves": lambda: plots.curves(
        X,
        {"a": X, "b": np.stack([X, X**2]), "c": [0, 1, np.nan, 2, 3, np.nan]},
        xlabel="x",
        ylabel="y",
    ),
    "curves-band": lambda: plots.curves(
        X,
        {"a": X, "b": 9 - X},
        xlabel="pasos",
        ylabel="pérdida",
        band=BANDS,
        colors={"a": plots.QUERY},
        ylim=(-2, 12),
        height=2.0,
    ),
    "curves-log": lambda: plots.curves(
        [1, 1e3, 1e7],
        {"una serie de nombre largo": [1e-3, 1, 1e5], "otra": [1e-3, 2, 1.1e5]},
        xlabel="x",
        ylabel="y",
        xscale="log",
        yscale="log",
    ),
    "curves-many": lambda: plots.curves(
        np.arange(20), {c: np.full(20, i / 10) for i, c in enumerate("abc")}, xlabel="x", ylabel="y"
    ),
    "curves-placed": lambda: plots.curves(
        [0, 1, 2], {"a": [0, 1, 1], "b": [0, 0, 1]}, xlabel="x", ylabel="y", places={"b": (1, 0.2)}
    ),
    "dots": lambda: plots.dots(
        {"copiar": [5, 6, 4], "analizar": [30.0, 70.0]},
        {"copiar": 6, "analizar": 25},
        xlabel="aciertos (%)",
        labels=("tapado", "al azar"),
        spec=".0f",
        xlim=(0, 100),
    ),
    "bars": lambda: plots.bars(BARS, xlabel="x"),
    "bars-lit": lambda: plots.bars(BARS, xlabel="x", highlight="b", spec=".1f", height=3.0),
    "bars-up": lambda: plots.bars({"a": 1.0, "b": 20000.0}, xlabel="puntos"),
    "bars-tall": lambda: plots.bars({TALL: 1.0, TALL + " de verdad": 2.0}, xlabel="x"),
    "note": lambda: noted(),
}
CASES = {name: (lambda draw=draw: draw().figure) for name, draw in CASES.items()}
RATES = np.array([0.5, 1.0, 0.75, 0.5, 0.25, 0.0])
PATHS = {"uno": [[-4.0, 1.0], [-3.0, -0.5], [-1.0, 0.1]], "otro": [[-4.0, 1.0], [0.1, 0.0]]}
LIMITS = {"poco": (-2.0, 0.0), "bastante": (0.0, 3.0)}
CASES |= {
    "silhouettes": lambda: plots.silhouettes(
        X, {"una": RATES, "otra": RATES[::-1]}, xlabel="paso", split=1, start="subida"
    ),
    "silhouettes-one": lambda: plots.silhouettes(X, {"una": RATES}, xlabel="paso", spec=".1f"),
    "valley": lambda: plots.valley(
        PATHS, (1, 100), xlabel="suave", ylabel="empinada", end="tras dos pasos"
    ),
    "zones": lambda: plots.zones(
        {"datos": np.linspace(-3, 2, 500), "más": X}, LIMITS, xlabel="x", bad=["poco"]
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_every_plot_is_the_accepted_one(case):
    assert drawings.seen(CASES[case]()) == drawings.stored()[case], (
        "la figura ha cambiado: si es lo que se quería, python tests/figuras/drawings.py"
    )


@pytest.mark.parametrize("case", CASES)
def test_every_plot_has_the_accepted_size_and_limits(case):
    assert drawings.frame(CASES[case]()) == drawings.stored(drawings.FRAMES)[case], (
        "la figura ha cambiado: si es lo que se quería, python tests/figuras/drawings.py"
    )


def test_bars_go_down_in_the_order_given_and_their_names_do_not_touch():
    ax = plots.bars({TALL: 3.0, "b": -1.0, TALL + " más": 2.0, "d": 1.0}, xlabel="x")
    ax.figure.draw_without_rendering()
    heights = [bar.get_window_extent().y0 for bar in ax.patches]
    assert heights == sorted(heights, reverse=True) and len(heights) == 4
    names = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert not any(a.overlaps(b) for i, a in enumerate(names) for b in names[:i])
    assert all(ax.bbox.y0 <= name.y0 and name.y1 <= ax.bbox.y1 for name in names)


def test_accessible_deterministic_and_without_leaks():
    markup = plots.render(
        plots.attention_map(weights(), WORDS, WORDS).figure, name="fig-prueba", alt=ALT
    )
    assert markup == plots.render(
        plots.attention_map(weights(), WORDS, WORDS).figure, name="fig-prueba", alt=ALT
    )
    root = svg(plots.attention_map(weights(), WORDS, WORDS))
    assert root.get("role") == "img" and root.get("aria-label") == ALT
    assert "max-width:480px" in root.get("style") and root.get("viewBox").split()[2] == "360"
    assert "<metadata" not in markup and "xlink" not in markup and "*{" not in markup
    assert {"claves", "consultas", *WORDS, f"{weights()[0, 0]:.2f}"} <= set(texts(root))
    used = set(re.findall(r"url\(#([^)]+)\)|href=\"#([^\"]+)\"", markup))
    assert all("".join(pair).startswith("fig-prueba-") for pair in used)
    outside = re.sub(r"var\(--atento-[a-z-]+, ?#[0-9a-f]{6}\)", "", markup.split("</style>")[1])
    assert not re.search(r"#[0-9a-fA-F]{6}\b", outside), (
        "queda un color fijo que no cambiaría en modo oscuro"
    )


def test_ids_of_two_figures_do_not_collide():
    mask = torch.ones(4, 4).tril().bool()
    both = [
        {
            node.get("id")
            for node in svg(plots.attention_map(weights(), WORDS, WORDS, mask=mask), name).iter()
        }
        - {None}
        for name in ("fig-uno", "fig-dos")
    ]
    assert both[0] and not both[0] & both[1]


@pytest.mark.parametrize(
    ("alt", "message"),
    [
        ("", "alt: falta el texto"),
        ("Curva", "nombre de fichero"),
        ("a.svg de la pérdida", "fichero"),
        ("La curva baja", "40"),
        ("La curva baja " + "x" * 25, "tiene 39 caracteres"),
    ],
)
def test_alt_is_checked(alt, message):
    fig, _ = plots.figure()
    with pytest.raises(ValueError, match=message):
        plots.show(fig, name="fig-prueba", alt=alt)


def test_alt_of_forty_characters_is_enough():
    fig, _ = plots.figure()
    assert "aria-label" in plots.render(fig, name="fig-prueba", alt="La curva baja " + "x" * 26)


def test_name_letters_colours_and_width_are_checked():
    fig, ax = plots.figure()
    with pytest.raises(ValueError, match="se esperaba «fig-»"):
        plots.render(fig, name="Figura 1", alt=ALT)
    fig, ax = plots.figure()
    ax.text(0.5, 0.5, "pequeña", size=8)
    with pytest.raises(ValueError, match="«pequeña» se vería a 8.0 px"):
        plots.render(fig, name="fig-prueba", alt=ALT)
    with pytest.raises(ValueError, match="se vería a"):
        plots.render(plots.figure(width=7)[0], name="fig-prueba", alt=ALT)
    fig, ax = plots.figure()
    ax.plot([0, 1], color="tab:blue")
    with pytest.raises(ValueError, match="#1f77b4 no es del libro"):
        plots.render(fig, name="fig-prueba", alt=ALT)


def test_semantic_colours_become_variables():
    fig, ax = plots.figure()
    for color in (
        plots.INK,
        plots.MUTED,
        plots.QUERY,
        plots.KEY,
        plots.VALUE,
        plots.POSITION,
        plots.PAPER,
        "black",
    ):
        ax.plot([0, 1], color=color)
    markup = plots.render(fig, name="fig-prueba", alt=ALT).split("</style>")[1]
    for name in ("ink", "muted", "query", "key", "value", "position", "paper"):
        assert f"var(--atento-{name}, {plots.TOKENS[name]['light']})" in markup


def test_attention_map_frames_hatches_and_accepts_gradients():
    mask = torch.ones(4, 4).tril().bool()
    masked = torch.softmax(weights().masked_fill(~mask, -torch.inf), dim=-1).requires_grad_()
    ax = plots.attention_map(masked, WORDS, WORDS, mask=mask, frame_row=-1)
    root = svg(ax)
    assert len(list(root.iter(f"{SVG}pattern"))) == 1
    assert sum(bool(re.fullmatch(r"\d\.\d\d", text)) for text in texts(root)) == 10
    assert [label.get_fontweight() for label in ax.get_yticklabels()][-1] == "bold"
    assert "1.00" not in texts(svg(plots.attention_map(masked, WORDS, WORDS, values=False)))


def test_big_maps_are_light_and_their_labels_do_not_overlap():
    ax = plots.attention_map(weights(48), None, None)
    markup = plots.render(ax.figure, name="fig-prueba", alt=ALT)
    assert len(markup) < 120_000 and "crispEdges" in markup
    labels = [label for label in ax.get_yticklabels() if label.get_text()]
    assert len(labels) <= 26


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (torch.full((4, 4), 2.0), "de 0 a 1"),
        (torch.full((4, 4), torch.nan), "NaN"),
        (torch.ones(4), "matriz"),
        (torch.ones(3, 4), "queries: llegaron 4 palabras y weights tiene 3 filas"),
    ],
)
def test_attention_map_rejects_what_is_not_attention(bad, message):
    with pytest.raises(ValueError, match=message):
        plots.attention_map(bad, WORDS, WORDS)


def test_numbers_on_cells_have_contrast_in_both_modes():
    def luminance(color: str, over: str | None = None, alpha: float = 1.0) -> float:
        channels = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        if over:
            base = np.array([int(over[i : i + 2], 16) for i in (1, 3, 5)]) / 255
            channels = alpha * channels + (1 - alpha) * base
        linear = np.where(
            channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4
        )
        return float(linear @ [0.2126, 0.7152, 0.0722])

    by_light = {token["light"]: token for token in plots.TOKENS.values()}
    for mode in ("light", "dark"):
        for weight in np.linspace(0, 1, 201):
            cell = luminance(plots.TOKENS["weight"][mode], plots.TOKENS["paper"][mode], weight)
            ink = luminance(by_light[plots.on_cell(weight)][mode])
            assert (max(cell, ink) + 0.05) / (min(cell, ink) + 0.05) >= 4.5, (mode, weight)


def test_semantic_colours_have_contrast():
    def luminance(color: str) -> float:
        channels = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        linear = np.where(
            channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4
        )
        return float(linear @ [0.2126, 0.7152, 0.0722])

    for name in ("query", "key", "value", "position", "weight", "muted", "ink"):
        for mode in ("light", "dark"):
            one, other = luminance(plots.TOKENS[name][mode]), luminance(plots.TOKENS["paper"][mode])
            assert (max(one, other) + 0.05) / (min(one, other) + 0.05) >= 4.5, (name, mode)


def test_curves_write_labels_at_the_ends_without_overlap():
    x = np.arange(0, 20_001, 1000)
    seeds = np.stack([np.exp(-x / 5000) + shift for shift in (0.0, 0.05, 0.1)])
    series = {"atención": seeds, "media": seeds[1] + 0.02, "azar": np.ones(len(x))}
    ax = plots.curves(x, series, xlabel="pasos", ylabel="pérdida (nats)")
    root = svg(ax)
    assert {"atención", "media", "azar", "pasos", "pérdida (nats)", "10\u202f000"} <= set(
        texts(root)
    )
    assert ax.get_legend() is None and len(ax.collections) == 1
    boxes = [text.get_window_extent() for text in ax.texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert len({(line.get_color(), line.get_linestyle()) for line in ax.lines}) == 3


@pytest.mark.parametrize("last", [1.0, 0.999])
def test_labels_of_lines_that_end_together_follow_the_order_they_came_in(last):
    series = {"arriba": [1.0, 1.0, last], "abajo": [0.2, 1.0, 1.0], "al final": [0.9, 0.1, 0.95]}
    for order in (series, dict(reversed(series.items()))):
        ax = plots.curves([0, 1, 2], order, xlabel="x", ylabel="y")
        told = sorted(ax.texts, key=lambda text: -text.get_window_extent().y0)
        assert [text.get_text() for text in told] == ["arriba", "abajo", "al final"]
    ax = plots.curves([2, 1, 0], {"a": [0, 0, 1], "b": [0, 1, 0]}, xlabel="x", ylabel="y")
    heights = {text.get_text(): text.get_window_extent().y0 for text in ax.texts}
    assert heights["b"] > heights["a"]


LONG = ["al lado, vistas", "por contenido, vistas", "una barra con nombre largo", "convolución"]


@pytest.mark.parametrize("values", [LONG, LONG[1:], [f"{a} {b}" for a in LONG for b in LONG]])
def test_bar_labels_end_at_the_axis_line_by_line_without_overlap(values):
    ax = plots.bars(dict.fromkeys(values, 1.0), xlabel="x")
    ax.figure.draw_without_rendering()
    labels, whole = ax.get_yticklabels(), ax.figure.bbox
    assert [" ".join(label.get_text().split()) for label in labels] == values
    boxes = [label.get_window_extent() for label in labels]
    assert np.ptp([box.x1 for box in boxes]) < 0.5 and boxes[0].x1 < ax.bbox.x0
    assert all(above.y0 > below.y1 for above, below in zip(boxes, boxes[1:], strict=False))
    assert all(box.x0 >= 0 and box.y0 >= 0 and box.y1 <= whole.y1 for box in boxes)
    # En la página cada línea va por su cuenta, con otra letra: todas ancladas donde las demás.
    words = {line for label in labels for line in label.get_text().split("\n")}
    spots = [where(node) for node in svg(ax).iter(f"{SVG}text") if node.text in words]
    assert len(spots) == sum(label.get_text().count("\n") + 1 for label in labels)
    assert np.ptp([x for x, _ in spots]) < 0.02 and {anchor for _, anchor in spots} == {"end"}


def where(node: ET.Element) -> tuple[float, str]:
    """Dónde se ancla un texto del SVG y por qué lado."""
    found = re.match(r"(?:translate\(|rotate\(\S+ )(\S+) ", node.get("transform"))
    anchor = re.search(r"text-anchor:(\w+)", node.get("style"))
    return float(found[1]), anchor[1] if anchor else "start"


def test_values_of_negative_bars_do_not_touch_the_labels():
    ax = plots.bars({"una barra": 12.5, "b": -3.0, "c": -12345.0}, xlabel="x", spec=".1f")
    ax.figure.draw_without_rendering()
    labels = [label.get_window_extent() for label in ax.get_yticklabels()]
    values = [text.get_window_extent() for text in ax.texts]
    assert not any(label.overlaps(value) for label in labels for value in values)
    left = min(value.x0 for value in values)
    assert ax.bbox.x0 < left < ax.bbox.x0 + 15


def test_bar_labels_break_evenly():
    ax = plots.bars(dict.fromkeys([*LONG, "x" * 30 + " y"], 1.0), xlabel="x")
    told = [label.get_text() for label in ax.get_yticklabels()]
    assert told[:3] == ["al lado, vistas", "por contenido,\nvistas", "una barra con\nnombre largo"]
    assert told[3:] == ["convolución", "x" * 30 + "\ny"]


@pytest.mark.parametrize("placed", [False, True])
def test_end_labels_break_evenly_and_never_at_a_hyphen(placed):
    told = {
        "Ana con la base mayor y": "Ana con la\nbase mayor y",
        "a medias Post-LN": "a medias Post-LN",
        "calentando Post-LN con rampa": "calentando\nPost-LN\ncon rampa",
        "tabla de 37\u202f000 palabras": "tabla de\n37\u202f000 palabras",
        "aaaaaaaaaaaaaa bb cc dd ee ff gg": "aaaaaaaaaaaaaa\nbb cc dd\nee ff gg",
    }
    series = {label: [1.0, 1.0 + n] for n, label in enumerate(told)}
    places = {label: (0.5, 1.0 + n) for n, label in enumerate(told)} if placed else {}
    ax = plots.curves([0, 1], series, xlabel="x", ylabel="y", places=places)
    assert [text.get_text() for text in ax.texts] == list(told.values())


def test_the_picture_of_a_figure_keeps_what_is_drawn():
    """Recortada por arriba y por abajo, lleva todo lo dibujado y apenas nada más."""
    ax = plots.bars(BARS, xlabel="x", spec=".1f")
    pixels = plt.imread(io.BytesIO(base64.b64decode(plots.svg.picture(ax.figure))))[..., :3]
    inked = (pixels < 0.9).any(-1)
    rows = np.flatnonzero(inked.any(1))
    assert rows[0] < 40 and rows[-1] > len(pixels) - 40 and inked.mean() > 0.01


def test_lines_of_a_note_are_centred_or_at_their_side():
    fig, ax = plots.figure()
    for shift in (0, 40, -40):
        plots.note(ax, (0.5, 0.5), f"nota {shift}\ncon su segunda línea", (shift, 30))
    notes = [where(node) for node in svg(fig).iter(f"{SVG}text") if "a" in node.text]
    assert [anchor for _, anchor in notes] == ["middle"] * 2 + ["start"] * 2 + ["end"] * 2
    assert all(one[0] == other[0] for one, other in zip(notes[::2], notes[1::2], strict=True))


def test_labels_go_to_the_right_even_if_x_goes_down_and_ticks_share_decimals():
    ax = plots.curves([4.0, 2.0, 1.0], {"a": [0.0, 0.5, 1.0]}, xlabel="x", ylabel="y")
    assert ax.texts[0].xy == (4.0, 0.0)
    assert {"0.0", "0.5", "1.0", "1", "4"} <= set(texts(svg(ax)))
    ax = plots.curves(
        [1, 1e7], {"a": [0.001, 1000]}, xlabel="x", ylabel="y", xscale="log", yscale="log"
    )
    assert {"10⁶", "0.01", "100"} & set(texts(svg(ax)))


def test_curves_and_bars_say_what_is_wrong():
    with pytest.raises(TypeError):
        plots.curves([0, 1], {"a": [0, 1]})
    with pytest.raises(ValueError, match="nombre en español"):
        plots.curves([0, 1], {"a": [0, 1]}, xlabel="", ylabel="y")
    with pytest.raises(ValueError, match="«a» tiene 3 puntos y x tiene 2"):
        plots.curves([0, 1], {"a": [0, 1, 2]}, xlabel="x", ylabel="y")
    with pytest.raises(ValueError, match="no es una de las series"):
        plots.curves([0, 1], {"a": [0, 1]}, xlabel="x", ylabel="y", colors={"b": plots.KEY})
    with pytest.raises(ValueError, match="no es una de las series"):
        plots.curves([0, 1], {"a": [0, 1]}, xlabel="x", ylabel="y", places={"b": (0, 0)})
    for values in ({}, {"a": []}, {"b": [1]}):
        with pytest.raises(ValueError, match="se esperaban las filas de values"):
            plots.dots(values, {"a": 1}, xlabel="x", labels=("hay", "se espera"))
    with pytest.raises(ValueError, match="no es una de las barras"):
        plots.bars({"a": 1.0}, xlabel="x", highlight="b")
    assert {"a", "b", "12.5", "\u22121.0"} <= set(
        texts(svg(plots.bars({"a": 12.5, "b": -1}, xlabel="x", spec=".1f")))
    )


def test_a_silhouette_is_as_high_as_its_values_and_says_where_it_ends():
    fig = plots.silhouettes(X, {"una": RATES, "otra": RATES[::-1]}, xlabel="paso", split=1)
    for ax, values in zip(fig.axes, (RATES, RATES[::-1]), strict=True):
        line = ax.lines[0].get_xydata()
        assert np.allclose(line, np.column_stack([X, values])) and ax.get_ylim() == (0, 1)
        assert f"{values[-1]:.2f}" in [text.get_text() for text in ax.texts]
    dark = fig.axes[0].collections[1].get_paths()[0].vertices
    assert dark[:, 0].max() == 1 and dark[:, 1].max() == 1


def test_every_path_is_in_its_valley_with_the_minimum_at_zero():
    fig = plots.valley(PATHS, (1, 100), xlabel="suave", ylabel="empinada")
    for ax, path in zip(fig.axes, PATHS.values(), strict=True):
        rings = [line.get_xydata() for line in ax.lines if len(line.get_xdata()) > 50]
        for ring in rings:  # cada curva de nivel, de un solo valor
            level = ring[:, 0] ** 2 + 100 * ring[:, 1] ** 2
            assert np.allclose(level, level[0])
        drawn = [line.get_xydata().tolist() for line in ax.lines]
        assert path in drawn and [[0.0, 0.0]] in drawn
        assert ax.get_xlim()[0] < -4 and ax.get_xlim()[1] > 0.1


def test_no_ring_strikes_the_words_of_a_valley():
    fig = plots.valley(PATHS, (1, 100), xlabel="suave", ylabel="empinada", end="tras dos pasos")
    notes = fig.axes[0].texts
    assert [text.get_text() for text in notes] == ["inicio", "mínimo", "tras dos pasos"]
    fig.draw_without_rendering()
    for text in notes:
        assert to_hex(text.get_bbox_patch().get_facecolor()) == plots.PAPER
        assert text.get_zorder() > max(line.get_zorder() for line in fig.axes[0].lines)
        box, words = text.get_bbox_patch().get_window_extent(), Text.get_window_extent(text)
        assert words.x0 - 3 < box.x0 < words.x0 < words.x1 < box.x1 < words.x1 + 3


def test_zones_count_every_datum_once():
    fig = plots.zones({"datos": [-9, -1, 0, 1, 2, 2, 3, 9]}, LIMITS, xlabel="x", bad=["poco"])
    told = [text.get_text() for text in fig.axes[0].texts]
    assert {"25 %", "75 %", "poco", "bastante"} == set(told)
    first, second = (patch.get_data() for patch in fig.axes[0].patches)
    areas = [(piece.values * np.diff(piece.edges)).sum() for piece in (first, second)]
    assert np.allclose(areas, [2, 6])


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plots.silhouettes(X, {"a": RATES[:2]}, xlabel="x"), "«a» no tiene 6 valores"),
        (lambda: plots.silhouettes(X, {"a": -RATES}, xlabel="x"), "de 0 en adelante"),
        (lambda: plots.silhouettes(X, {}, xlabel="x"), "llegó vacío"),
        (lambda: plots.silhouettes(X, {"a": RATES}, xlabel=" "), "xlabel"),
        (lambda: plots.valley({"a": X}, (1, 1), xlabel="x", ylabel="y"), "(pasos, 2)"),
        (lambda: plots.valley({}, (1, 1), xlabel="x", ylabel="y"), "(pasos, 2)"),
        (lambda: plots.valley(PATHS, (1, 0), xlabel="x", ylabel="y"), "curvatures: llegó (1, 0)"),
        (lambda: plots.zones({}, LIMITS, xlabel="x"), "zonas seguidas"),
        (lambda: plots.zones({"a": X}, {"u": (0, 1), "v": (2, 3)}, xlabel="x"), "zonas seguidas"),
        (lambda: plots.zones({"a": X}, LIMITS, xlabel="x", bad=["otra"]), "«otra» no es una"),
    ],
)
def test_areas_say_what_is_wrong(draw, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        draw()


def test_stylesheet_has_every_variable_in_both_modes():
    sheet = plots.css()
    for name, token in plots.TOKENS.items():
        assert sheet.count(f"--atento-{name}:{token['light']};") >= 1
        assert sheet.count(f"--atento-{name}:{token['dark']};") >= 1
    assert 'html[data-theme="dark"]' in sheet


def test_show_is_quiet_outside_a_notebook_and_closes_the_figure(capsys):
    import matplotlib.pyplot as plt

    fig = plt.figure()
    plots.show(fig, name="fig-prueba", alt=ALT)
    assert not plt.get_fignums() and capsys.readouterr().out == ""


# --- La huella y la imagen ------------------------------------------------------------------------


def _figure(points, color=plots.INK, label="recta"):
    fig, ax = plots.figure()
    ax.plot(*np.asarray(points, dtype=float).T, color=color)
    ax.set_xlabel(label)
    return fig


LINE = np.stack([np.linspace(0, 1, 201), np.linspace(0, 1, 201) ** 2], axis=1)


def test_fingerprint_does_not_see_the_last_digits():
    """Lo que otro procesador cambia: la última cifra, el cero que no lo es y los datos justo a
    medio camino.
    """
    expected = plots.fingerprint(_figure(LINE))
    noise = np.random.default_rng(0).normal(size=LINE.shape)
    assert plots.fingerprint(_figure(LINE * (1 + 1e-9 * noise))) == expected
    assert plots.fingerprint(_figure(LINE + 1e-12 * noise)) == expected
    assert re.fullmatch(r"[0-9a-f]{4}", expected)


@pytest.mark.parametrize(
    "change",
    [
        {"points": LINE * 1.05},
        {"points": LINE[:-1]},
        {"points": LINE[:, ::-1]},
        {"color": plots.QUERY},
        {"label": "otra"},
        {"points": np.where(LINE > 0.9, np.nan, LINE)},
    ],
)
def test_fingerprint_sees_what_is_drawn(change):
    assert plots.fingerprint(_figure(**{"points": LINE, **change})) != plots.fingerprint(
        _figure(LINE)
    )


def _map(weights):
    return plots.attention_map(weights, WORDS, WORDS).figure


@pytest.mark.parametrize(
    "draw",
    [
        _map,
        lambda w: plots.bars(dict(zip(WORDS, w[0], strict=True)), xlabel="peso", spec=".2f").figure,
        lambda w: _with(lambda ax: ax.scatter(w[0], w[1])),
        lambda w: _with(lambda ax: ax.fill_between(range(4), w[0])),
        lambda w: _with(lambda ax: ax.imshow(w)),
        lambda w: _with(
            lambda ax: ax.annotate("a", (0, 0), (w[0, 0], 1), arrowprops={"arrowstyle": "->"})
        ),
        lambda w: _with(lambda ax: ax.add_patch(Rectangle((0, 0), w[0, 0], 1))),
        lambda w: _with(lambda ax: ax.text(0, 0, f"{w[0, 0]:.2f}")),
    ],
    ids=["mapa", "barras", "puntos", "área", "imagen", "flecha", "rectángulo", "texto"],
)
def test_every_kind_of_mark_counts(draw):
    one = weights().numpy()
    before = plots.fingerprint(draw(one))
    assert before == plots.fingerprint(draw(one)) == plots.fingerprint(draw(one * (1 + 1e-10)))
    assert before != plots.fingerprint(draw(one[::-1].copy()))


def _with(draw):
    fig, ax = plots.figure()
    draw(ax)
    return fig


def test_show_gives_the_svg_an_image_and_a_text(monkeypatch):
    import base64

    import IPython
    import IPython.display

    shown = []
    monkeypatch.setattr(IPython, "get_ipython", lambda: True)
    monkeypatch.setattr(IPython.display, "display", lambda data, raw: shown.append(data))
    for _ in range(2):
        plots.show(_figure(LINE), name="fig-prueba", alt=ALT)
    assert shown[0] == shown[1], "el mismo dibujo da siempre lo mismo"
    assert re.fullmatch(
        rf"Figura: {re.escape(ALT)} \[huella [0-9a-f]{{4}}\]", shown[0]["text/plain"]
    )
    image = base64.b64decode(shown[0]["image/png"])
    assert image.startswith(b"\x89PNG") and int.from_bytes(image[16:20]) == 750, (
        "5 pulgadas a 150 puntos"
    )


def test_el_eje_no_tacha_una_etiqueta_que_acaba_en_cero():
    ax = plots.curves(
        [0, 1, 2], {"sin nada": [1.0, 0.5, 0.0]}, xlabel="pasos", ylabel="pérdida", ylim=(0, 1)
    )
    ax.figure.draw_without_rendering()
    etiqueta = next(t for t in ax.texts if t.get_text() == "sin nada")
    assert etiqueta.get_window_extent().y0 >= ax.bbox.y0 - 1
