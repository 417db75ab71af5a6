"""Los dibujos: en claro y en oscuro, sin textos que se pisen, se salgan, se crucen con una línea o
no se lean.
"""

import functools
import itertools
import re

import drawings
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from figuras import diagrams, plots
from figuras.diagrams import Intervention, Matrix, Person, Sublayer, scenes, transformer

ALT = "Un dibujo de prueba que enseña el mismo dato de siempre, con cuarenta caracteres o más."
WORDS = ["la", "gata", "negra", "que", "vi", "duerme"]


def _chain_of_sums(n):
    return "1" if n == 0 else ("+", _chain_of_sums(n - 1), "2")


def weights(rows: int, cols: int | None = None, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.softmax(1.5 * torch.randn(rows, cols or rows, generator=generator), dim=-1)


def labels(fig) -> list[tuple[Text, Bbox]]:
    """Cada texto visible con su caja, un poco encogida: los puntos en blanco de la letra no
    cuentan.
    """
    fig.draw_without_rendering()
    found = [text for text in fig.findobj(Text) if text.get_text().strip() and text.get_visible()]
    return [(text, text.get_window_extent().padded(-0.6)) for text in found]


def faults(fig, crossings: bool = True) -> list[str]:
    """Todo lo que se ve mal en un dibujo, en palabras."""
    found = labels(fig)
    width, height = fig.bbox.width, fig.bbox.height
    bad = [
        f"«{text.get_text()}» se sale"
        for text, box in found
        if box.x0 < -0.5 or box.x1 > width + 0.5 or box.y0 < -0.5 or box.y1 > height + 0.5
    ]
    for (one, a), (other, b) in itertools.combinations(found, 2):
        if one._atento_label != other._atento_label and a.overlaps(b) and not one.get_rotation():
            bad.append(f"«{one.get_text()}» pisa «{other.get_text()}»")
    return bad + (crossed(fig, found) if crossings else [])


def crossed(fig, found: list[tuple[Text, Bbox]]) -> list[str]:
    """Textos por los que pasa una línea."""
    bad = []
    for patch in fig.findobj(PathPatch):
        if patch.get_linewidth() == 0 or patch.get_edgecolor()[3] == 0:
            continue
        path = patch.get_transform().transform_path(patch.get_path())
        lines = [Path(line) for line in path.to_polygons(closed_only=False)]
        bad += [
            f"una línea cruza «{text.get_text()}»"
            for text, box in found
            if not text.get_rotation()
            and any(line.intersects_bbox(box.padded(-0.5), filled=False) for line in lines)
        ]
    return bad


def rotated_apart(fig) -> bool:
    """Los rótulos girados, en paralelo, distan más que el alto de la letra."""
    turned = [text for text in fig.findobj(Text) if text.get_rotation()]
    places = [text.get_transform().transform(text.get_position()) * 72 / fig.dpi for text in turned]
    angles = [np.deg2rad(text.get_rotation()) for text in turned]
    gaps = [
        abs((b - a) @ np.array([np.sin(t), -np.cos(t)]))
        for (a, t), (b, _) in itertools.combinations(zip(places, angles, strict=True), 2)
        if abs(a[1] - b[1]) < 5
    ]
    return all(
        gap > 0.75 * text.get_size()
        for gap, text in zip(gaps, itertools.cycle(turned), strict=False)
    )


PEOPLE = [
    Person("piedra", "tijera", "piedra", "rojo"),
    Person("tijera", "papel", "tijera", "azul"),
    Person("papel", "piedra", "papel", "verde"),
]
CYCLE = [(0, 1), (1, 2), (2, 0)]
SCORES = np.array([[0, 5, 4], [5, 0, 3], [4, 3, 0]])
DISTANCES = np.arange(4) - np.arange(4)[:, None]
RNG = np.random.default_rng(0)


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


ATTENTION_GRID = [
    ["salida", "salida", "salida"],
    ["promediar", "promediar", "promediar"],
    ["normalizar", "normalizar", None],
    ["puntuar", "puntuar", None],
    ["Q", "K", "V"],
]
ATTENTION_ARROWS = [
    ("Q", "puntuar", "n × d_k"),
    ("K", "puntuar", "m × d_k"),
    ("puntuar", "normalizar", "n × m"),
    ("normalizar", "promediar", "n × m"),
    ("V", "promediar", "m × d_v"),
    ("promediar", "salida"),
]
SENTENCES = [
    (-1, "la", -0.51, "sigue"),
    (-1, "nada", -0.92, "sigue"),
    (0, "casa", -1.2, "sigue"),
    (0, "calle", -1.71, "cae"),
    (0, "mesa", -2.12, "cae"),
    (2, ".", -1.2, "acaba"),
    (1, ".", -1.02, "acaba"),
]

CASES = {
    "tensor": lambda: diagrams.tensor(
        (3, 5, 8), ("batch", "n", "d_model"), name="X", row=2, bar="d_model"
    ),
    "tensor-4": lambda: diagrams.tensor(
        (2, 3, 4, 4), ("batch", "head", "n", "m"), name="A", role="weight"
    ),
    "tensor-numbers": lambda: diagrams.tensor(
        weights(4),
        ("n", "m"),
        name="A",
        role="weight",
        rows=WORDS[:4],
        columns=WORDS[:4],
        spec=".2f",
        row=1,
    ),
    "tensor-shaded": lambda: diagrams.tensor(
        [[0.5, -1.0], [1.0, 0.0]], ("n", "d"), name="P", role="position", shade=True
    ),
    "product": lambda: diagrams.product(
        Matrix("Q", (4, 3), ("n", "d_k"), "query"),
        Matrix("K^T", (3, 5), ("d_k", "m"), "key"),
        result=Matrix("S", (4, 5), ("n", "m")),
        cell=(1, 2),
        note="Cada celda, una fila por una columna.",
    ),
    "product-chain": lambda: diagrams.product(
        Matrix("A", (4, 5), ("n", "m"), "weight"),
        Matrix("V", (5, 3), ("m", "d_v"), "value"),
        result=Matrix("salida", (4, 3), ("n", "d_v"), "value"),
    ),
    "vectors": lambda: diagrams.vectors(
        {"q": (2, 1), "k": (0.8, 2)},
        roles={"q": "query", "k": "key"},
        project=("q", "k"),
        xlabel="transporte",
        ylabel="época",
    ),
    "vectors-mixture": lambda: diagrams.vectors(
        {"tren": (2, 0.3), "invierno": (0.2, 2), "estación": (1.3, 1.5)},
        roles={"tren": "value"},
        weights={"tren": 0.7, "invierno": 0.2, "estación": 0.1},
        hull=True,
    ),
    "mixture": lambda: diagrams.mixture(
        ["manzana", "albaricoque", "naranja"],
        [0, 0.4, 0.6],
        [6, 4, 3],
        spec=".1f",
        result="narancoque",
        headers=("peso", "precio"),
        unit="€",
    ),
    "mixture-rows": lambda: diagrams.mixture(
        WORDS[:3], weights(1, 3)[0], torch.tensor(normal(3, 4)), result="salida"
    ),
    "arcs": lambda: diagrams.arcs(WORDS, weights(6), threshold=0.12),
    "arcs-row": lambda: diagrams.arcs(WORDS, weights(6), row=2),
    "arcs-long": lambda: diagrams.arcs(
        "La estación a la que llegamos ayer en tren estaba cerrada".split(),
        [1, 5, 1, 1, 1, 8, 5, 8, 5, 10, 1],
    ),
    "arcs-onto": lambda: diagrams.arcs(
        ["the", "black", "cat"],
        weights(3),
        onto=["la", "gata", "negra"],
        labels=("traducción", "original"),
    ),
    "reach": lambda: diagrams.reach(WORDS, 1, 5),
    "reach-long": lambda: diagrams.reach(
        "La llave que dejó el vecino en el cajón está oxidada".split(), 1, 10, kernel=4
    ),
    "shuffle": lambda: diagrams.shuffle(WORDS[:4], [2, 0, 3, 1]),
    "triangle": lambda: diagrams.triangle(
        ["piedra", "tijera", "papel"],
        {"simétricas": SCORES, "con dirección": np.roll(2 * np.eye(3), 1, axis=1)},
    ),
    "pieces": lambda: diagrams.pieces(
        {"letras": list("comen"), "unión 1": ["c", "om", "e", "n"]}, ids=[7, 2, 10, 4]
    ),
    "pieces-vectors": lambda: diagrams.pieces(
        {"texto": ["La niña"], "tokens": ["La", " ni", "ña"]}, vectors=weights(3, 4)
    ),
    "syntax": lambda: diagrams.syntax(("*", ("+", "3", "x"), ("-", "2", ("/", "y", "4")))),
    "forms": lambda: diagrams.forms({"(3+x)*2\nuna forma": ("*", ("+", "3", "x"), "2"), "x": "x"}),
    "staircase": lambda: diagrams.staircase(
        list("((1+y)*3)-z"), [1, 2, 2, 2, 2, 1, 1, 1, 0, 0, 0], mark=9, note="la operación"
    ),
    "staircase-plain": lambda: diagrams.staircase(["a", "b"], [0, 3]),
    "heads": lambda: diagrams.heads(
        torch.stack([weights(3, 8), weights(3, 8, seed=1), weights(3, 8, seed=2)]),
        ["unidades", "decenas", "fin"],
        [*"458+342", "fin"],
        titles=["su columna", "el «+»", "las dos"],
    ),
    "relays": lambda: diagrams.relays(
        ["4 3", "5 4", "+"],
        {"por el codificador": (1, 0, "8 de 10"), "por el «+» o el fin": (1, 2, "1 de 10")},
        out="8",
        floors=("escribe", "codificador", "entrada", "semillas"),
    ),
    "relays-bare": lambda: diagrams.relays(["a", "b"], {"directo": (1, 1, "tres")}, out="c"),
    "interventions": lambda: diagrams.interventions(
        [
            Intervention("tapar", "un sitio", "pan", "p?n", [0, None, 2], "falla", hidden=[1]),
            Intervention("mover", "las posiciones", "pan", "?pa", [None, 0, 1], "sale corrido"),
            Intervention("mentir", "", "pan", "pan", range(3), "no cambia", told="sol"),
        ]
    ),
    "syntax-plain": lambda: diagrams.syntax(("+", "3", "x"), numbers=False),
    "lattice": lambda: diagrams.lattice(
        "año", [(0, 1, -3.0), (1, 3, -4.5), (0, 3, -6.25), (1, 2, -2.0), (2, 3, -2.5)], [(0, 3)]
    ),
    "shifted": lambda: diagrams.shifted("they do not clean".split()),
    "shifted-padded": lambda: diagrams.shifted(["they", "clean"], pad=2),
    "blocks": lambda: diagrams.blocks(
        ATTENTION_GRID,
        ATTENTION_ARROWS,
        lit=["normalizar"],
        plain=["salida"],
        roles={"Q": "query", "K": "key", "V": "value"},
        dashed=["puntuar"],
    ),
    "blocks-skip": lambda: diagrams.blocks(
        [["+"], ["red densa"], ["atención"], ["x"]],
        [("x", "atención"), ("atención", "red densa"), ("red densa", "+"), ("x", "+")],
        plain=["x"],
        frames={"× 6": ["+", "atención"]},
    ),
    "phases": lambda: diagrams.phases(["puntuar", "escalar"], done=["proyectar"]),
    "encoder-decoder": lambda: diagrams.encoder_decoder(
        WORDS[:4], ["the", "black", "cat"], weights=weights(3, 4), step=1
    ),
    "rnn": lambda: diagrams.recurrent_cell("rnn"),
    "lstm": lambda: diagrams.recurrent_cell("lstm"),
    "gru": lambda: diagrams.recurrent_cell("gru"),
    "timeline": lambda: diagrams.timeline(
        {
            "en serie": [(w, i, i + 1) for i, w in enumerate(WORDS)],
            "a la vez": [(w, 0, 1) for w in WORDS],
        }
    ),
    "history": lambda: diagrams.history(
        [
            (1986, "Redes recurrentes"),
            (2014, "Secuencia a secuencia"),
            (2014, "Atención"),
            (2017, "Un texto largo que tiene que partirse en dos o tres líneas " * 2),
        ],
        lit=[2017],
    ),
    "clocks": lambda: diagrams.clocks(
        [1, 0.1, 0.01],
        [0, 1, 2, 100],
        rows=["0", "1", "2", "100"],
        columns=["rápida", "media", "lenta"],
    ),
    "clocks-shift": lambda: diagrams.clocks(
        [1, 0.1], [5, 105], rows=["de 5 a 8", "de 105 a 108"], columns=["a", "b"], shift=3.0
    ),
    "roles": lambda: diagrams.roles(normal(6), *normal(3, 6, 3, seed=1), name="tijera", spec=".1f"),
    "room": lambda: diagrams.room([PEOPLE], CYCLE),
    "room-tables": lambda: diagrams.room([PEOPLE] * 4, CYCLE, badges=False, wrong=[(3, 5)]),
    "tensor-signs": lambda: diagrams.tensor(normal(3, 4), ("n", "d"), bar="n", role="value"),
    "tensor-vector": lambda: diagrams.tensor((5,), ("n",), name="b", columns=list("abcde")),
    "tensor-narrow": lambda: diagrams.tensor(
        (12, 2), ("n", "d"), rows=[f"palabra {i}" for i in range(12)], columns=["x", "larguísima"]
    ),
    "product-numbers": lambda: diagrams.product(
        Matrix("Q", (2, 3), ("n", "d_k"), "query", normal(2, 3)),
        Matrix("K^T", (3, 2), ("d_k", "m"), "key", normal(3, 2)),
        result=Matrix("S", (2, 2), ("n", "m"), None, normal(2, 3) @ normal(3, 2)),
        spec=".1f",
        note="Con números.",
    ),
    "vectors-links": lambda: diagrams.vectors(
        {"niño": (2.0, 0.6), "niña": (1.7, 1.9), "médico": (3.6, 0.8), "médica": (3.3, 2.1)},
        links=[("niño", "niña"), ("médico", "médica")],
        height=220,
    ),
    "vectors-negative": lambda: diagrams.vectors(
        {"v_1": (2, -0.5), "v_2": (-1.5, 1), "v_3": (1, 2), "q": (-1, -1)},
        roles={"v_1": "value", "v_2": "value", "v_3": "value", "q": "query"},
        project=("v_1", "q"),
        height=180.0,
    ),
    "mixture-weights": lambda: diagrams.mixture(
        ["a", "b"], [0.25, 0.75], [100.0, 20.0], result="c", role="key", weight_spec=".0%"
    ),
    "arcs-bare": lambda: diagrams.arcs(WORDS[:3], weights(3), numbers=False, row=0),
    "arcs-plain": lambda: diagrams.arcs(
        list("+1y"), [1, 0, 2], onto=list("1+y"), labels=("escribe", "lee"), plain=[1, -1]
    ),
    "arcs-turned": lambda: diagrams.arcs(
        ["extraordinariamente", "desafortunadamente"] * 5,
        weights(10),
        onto=["incomprensiblemente"] * 10,
        row=3,
        threshold=0.2,
    ),
    "triangle-plain": lambda: diagrams.triangle(
        ["a", "b", "c"], {"": SCORES + np.triu(np.ones((3, 3)))}, winners=False
    ),
    "blocks-captions": lambda: diagrams.blocks(
        [["mezcla", "mezcla"], ["A", "V"]],
        [("A", "mezcla", "n × m"), ("V", "mezcla")],
        captions={"mezcla": "promedio"},
        roles={"A": "weight", "V": "value"},
    ),
    "blocks-edge": lambda: diagrams.blocks(
        [["a", "bbbb", "c"], ["d", "e" * 24, "f"]],
        [("c", "f", "muchas filas × d_k")],
    ),
    "blocks-sideways": lambda: diagrams.blocks(
        [["a", "b", "c"], ["d", "d", "e"], ["f", "f", "g"]],
        [("a", "b", "n × d"), ("c", "b"), ("f", "a", "+1"), ("g", "e")],
    ),
    "product-names": lambda: diagrams.product(
        Matrix("A", (2, 1), ("posiciones de salida", "1")),
        Matrix("B", (1, 16), ("1", "m")),
        result=Matrix("C", (2, 16), ("n", "m")),
    ),
    "tensor-missing": lambda: diagrams.tensor(
        np.array([[1.0, np.nan], [np.nan, 4.0]]), ("n", "d"), spec=".1f"
    ),
    "product-wide": lambda: diagrams.product(
        Matrix("A", (2, 12), ("n", "m")),
        Matrix("B", (12, 8), ("m", "d")),
        result=Matrix("C", (2, 8), ("n", "d")),
    ),
    "tensor-long-name": lambda: diagrams.tensor(
        (2, 2, 3), ("lote de frases", "n", "d"), name="entradas"
    ),
    "tensor-thin": lambda: diagrams.tensor((1, 2, 1, 1), ("batch", "head", "n", "m")),
    "arcs-turned-row": lambda: diagrams.arcs(
        "La llave que dejó el vecino en el cajón está oxidada".split(),
        np.vstack(
            [np.eye(11)[:10], 0.1 * np.eye(11)[8] + 0.6 * np.eye(11)[1] + 0.3 * np.eye(11)[10]]
        ),
        row=10,
    ),
    "phases-none": lambda: diagrams.phases(),
    "encoder-decoder-attention": lambda: diagrams.encoder_decoder(
        WORDS, WORDS[::-1], weights=weights(6), one_vector=False, step=4
    ),
    "timeline-lit": lambda: diagrams.timeline(
        {"una": [("a", 0, 2), ("b", 2, 3)], "otra": [("c", 0, 1), ("d", 0.5, 3)]},
        xlabel="segundos",
        lit=["b"],
        dependencies=False,
    ),
    "history-tall": lambda: diagrams.history([(1990, "uno"), (2020, "dos")], gap=12.0, height=200),
    "roles-plain": lambda: diagrams.roles(
        normal(3), *normal(3, 3, 2), captions=("uno", "dos", "tres")
    ),
    "room-sizes": lambda: diagrams.room(
        [PEOPLE[:2], [*PEOPLE, PEOPLE[0]]], [(2, 5), (1, 0)], chips=False, wrong=[(0, 1)]
    ),
    "room-bare": lambda: diagrams.room([PEOPLE], badges=False),
    "distances": lambda: diagrams.distances({"distancia": DISTANCES}, words=WORDS[:4]),
    "distances-several": lambda: diagrams.distances(
        {name: factor * abs(DISTANCES) for name, factor in (("a", -0.5), ("b", 1), ("c", 2))},
        words=["duerme", "y", "sí", "no"],
        spec=".3g",
    ),
    "rotations": lambda: diagrams.rotations(
        (1, 0), (-0.5, 1.5), [(1, 0), (3, 2), (5, 4)], speed=np.pi / 4
    ),
    "rotations-close": lambda: diagrams.rotations((1, 0), (1, 0.1), [(0, 0), (2, 9)], speed=1.0),
    "dials": lambda: diagrams.dials(
        {"sin tocar": [1.0, 0.1, 0.01], "interpolar": [0.25, 0.025, 0.0025]},
        seen=[16.0, 1.6, 0.16],
        places=64,
        columns=["una", "dos", "tres"],
    ),
    "histograms-scores": lambda: diagrams.histograms(
        {"a": normal(50), "b": 30 * normal(50)},
        {"a": [0.0, 1.0, 2.0], "b": [3.0, 1.0, 3.0]},
        bins=9,
        xlabel="nats",
    ),
    "histograms-alone": lambda: diagrams.histograms(
        {"a": np.linspace(-1, 1, 20)}, limit=2.0, softmax=False, bins=5
    ),
    "stream": lambda: diagrams.stream(
        {
            "Post-LN": [Sublayer("atención", "post"), Sublayer("red densa", "post", lit=True)],
            "Pre-LN": [Sublayer("atención"), Sublayer("red densa"), "LN final"],
        }
    ),
    "stream-replaced": lambda: diagrams.stream(
        {"sustituir": [Sublayer("atención", None, adds=False)]}, entry="X", end="Y", norm="RMS"
    ),
    "architecture": lambda: diagrams.architecture(),
    "architecture-post": lambda: diagrams.architecture(
        source="la niña",
        target="⟨inicio⟩ the girl who sleeps under the old apple tree",
        norm="post",
        tied=True,
        lit=["memory", "decoder.cross_attention", "decoder.attention.sum", "output"],
    ),
    "additions": lambda: diagrams.additions(
        ["nombre", "verbo", "número", "sujeto", "bien", "mal"],
        [0, 1, 1, 0, 0, 0],
        {"atención": [0, 0, 0, 1, 0, 0], "red densa": [0, 0, 0, 0, 1, 0]},
    ),
    "additions-decimals": lambda: diagrams.additions(
        ["a", "b"], [0.25, -1.5], {"f": [1.25, 0]}, labels=("x", "y"), spec=".2f"
    ),
    "position-wise": lambda: diagrams.position_wise(WORDS[:4]),
    "position-wise-alone": lambda: diagrams.position_wise(WORDS[:3], (6, 4), mix=False),
    "normalization": lambda: diagrams.normalization({"a": (3, 1), "b": (1, 1.5), "c": (0.3, 2.5)}),
    "normalization-sphere": lambda: diagrams.normalization(
        {"a": (3, 1, 0), "b": (1, 2, 2.5), "c": (0.3, 2.5, -1), "2a": (6, 2, 0)}
    ),
    "pools": lambda: diagrams.pools(
        [WORDS[:4], WORDS[:2]], 5, {"por capa": ["d"], "por lotes": ["batch", "n"]}, cell=(0, 1, 2)
    ),
    "pools-one": lambda: diagrams.pools([["a"]], 1, {"nada": []}),
    "histograms": lambda: diagrams.histograms(
        {f"d = {d}": normal(500, seed=d) * d**0.5 for d in (4, 64, 1024)}
    ),
    "tree": lambda: diagrams.tree(SENTENCES, start="no\nlimpian", marks={"voraz": 5, "mejor": 6}),
    "tree-beam": lambda: diagrams.tree(
        [SENTENCES[0], *[(-1, "ni", -2.0, "cae")], (0, "casa", -1.0, "sigue")], totals=True
    ),
    "tree-one": lambda: diagrams.tree([(-1, "sí", -0.25, "acaba")], spec=".3f"),
    "growth": lambda: diagrams.growth(
        ["they", "do", "not", "clean", "the", "white", "house", ".", "⟨eos⟩"], [0.5] * 8 + [1]
    ),
    "growth-short": lambda: diagrams.growth(["sí", "."], [0.25, 1], start="⟨sep⟩"),
    "filters": lambda: diagrams.filters(
        ["es", "no", "blanca"],
        {"sin filtro": [0.7, 0.25, 0.05], "τ = 2": [0.5, 0.3, 0.2], "núcleo 0.5": [1, 0, 0]},
        tail="un adjetivo",
    ),
    "filters-tail": lambda: diagrams.filters(
        [f"palabra{i}" for i in range(21)], {"sin filtro": [0.6, *[0.02] * 20]}, tail="la cola"
    ),
    "filters-one": lambda: diagrams.filters(["a", "b"], {"p": [1, 0]}, spec=".1f"),
    "caching": lambda: diagrams.caching(["⟨bos⟩", *WORDS]),
    "caching-one": lambda: diagrams.caching(["a"], titles=("antes", "ahora")),
}


@pytest.mark.parametrize("case", CASES)
def test_every_drawing_is_the_accepted_one(case):
    assert drawings.seen(CASES[case]()) == drawings.stored()[case], (
        "el dibujo ha cambiado: si es lo que se quería, python tests/figuras/drawings.py"
    )


@pytest.mark.parametrize("case", CASES)
def test_every_drawing_reads_in_both_modes(case):
    assert faults(CASES[case]()) == []
    markup = plots.render(
        CASES[case](), name="fig-prueba", alt=ALT
    )  # letras de 11 px o más y colores del libro
    outside = re.sub(r"var\(--atento-[a-z-]+, ?#[0-9a-f]{6}\)", "", markup.split("</style>")[1])
    assert not re.search(r"#[0-9a-fA-F]{6}\b", outside), (
        "queda un color fijo que no cambiaría en modo oscuro"
    )
    assert len(markup) < 120_000 and 'viewBox="0 ' in markup


def test_every_public_function_is_tried():
    functions = {name for name in diagrams.__all__ if name[0].islower()}
    tried = {
        function
        for function in functions
        for case in CASES.values()
        if function in case.__code__.co_names
    }
    assert functions == tried
    assert all(
        "Errores:" in getattr(diagrams, name).__doc__
        and "Ejemplo:" in getattr(diagrams, name).__doc__
        for name in functions
    )


def test_pools_count_what_enters_in_each_mean():
    panels = {"por capa": ["d"], "por lotes": ["batch", "n"], "todo": ["batch", "n", "d"]}
    found = diagrams.pools([["a", "b", "c"], ["d"]], 4, panels, cell=(1, 0, 2))
    told = [text.get_text() for text in found.findobj(Text) if "entran" in text.get_text()]
    assert told == ["entran 4 números", "entran 6 números", "entran 24 números"]


@pytest.mark.parametrize("case", ["tensor", "arcs", "vectors-mixture", "lstm", "histograms"])
def test_the_same_drawing_gives_the_same_text(case):
    if case == "histograms":
        fixed = np.linspace(-3, 3, 100)
        one, other = (
            plots.render(diagrams.histograms({"a": fixed}), name="fig-prueba", alt=ALT)
            for _ in range(2)
        )
    else:
        one, other = (plots.render(CASES[case](), name="fig-prueba", alt=ALT) for _ in range(2))
    assert one == other


# --- Con tamaños y rótulos cualesquiera -----------------------------------------------------------

SPANISH = "aábcdeéfghiíjlmnñoópqrstuúvyz"
word = st.text(SPANISH, min_size=1, max_size=12)
drawn = settings(max_examples=10, deadline=None)


def tidy(draw, crossings: bool = True, fits: bool = False) -> list[str]:
    """Lo que se ve mal de un dibujo, en palabras; nada, si dice que no cabe y podía no caber."""
    try:
        fig = draw()
    except ValueError as error:
        allowed = re.search(r"no caben?|no hay sitio", str(error)) and not fits
        return [] if allowed else [str(error)]
    plots.render(fig, name="fig-prueba", alt=ALT)
    return faults(fig, crossings) + ([] if rotated_apart(fig) else ["hay rótulos girados juntos"])


def test_what_should_fit_and_does_not_is_seen():
    def refuses():
        raise ValueError("words: no caben; conviene acortarlas")

    assert tidy(refuses) == [] and tidy(refuses, fits=True) != []


@drawn
@given(st.lists(st.integers(1, 16), min_size=1, max_size=4), st.data())
def test_tensors_of_any_size(sizes, data):
    axes = data.draw(st.lists(st.sampled_from(["n", "m", "d_k", "d_model", "cabezas", "lote"]),
                              min_size=len(sizes), max_size=len(sizes), unique=True))  # fmt: skip
    rows = (
        data.draw(st.none() | st.lists(word, min_size=sizes[-2], max_size=sizes[-2]))
        if len(sizes) > 1
        else None
    )
    columns = data.draw(st.none() | st.lists(word, min_size=sizes[-1], max_size=sizes[-1]))
    name = data.draw(st.sampled_from(["", "X"]))
    if len(sizes) == 4:
        sizes[1], rows, columns = min(sizes[1], 4), None, None
    assert (
        tidy(
            lambda: diagrams.tensor(
                tuple(sizes), axes, name=name, rows=rows, columns=columns, bar=axes[-1]
            ),
            fits=rows is None and columns is None and max(sizes) <= 6,
        )
        == []
    )


@drawn
@given(
    st.integers(1, 8),
    st.integers(1, 8),
    st.integers(1, 8),
    st.booleans(),
    st.sampled_from([None, ".1f"]),
)
def test_products_of_any_size(n, d, m, cell, spec):
    values = [RNG.normal(size=shape) for shape in ((n, d), (d, m), (n, m))]
    q, k, s = (
        Matrix(name, value.shape, axes, role, value)
        for name, value, axes, role in zip(
            ("Q", "K^T", "S"),
            values,
            (("n", "d_k"), ("d_k", "m"), ("n", "m")),
            ("query", "key", None),
            strict=True,
        )
    )
    assert (
        tidy(
            lambda: diagrams.product(q, k, result=s, cell=(n - 1, 0) if cell else None, spec=spec),
            fits=spec is None,
        )
        == []
    )


@drawn
@given(st.lists(word, min_size=1, max_size=12), st.integers(0, 99), st.booleans())
def test_arcs_between_any_words(words, seed, onto):
    table = weights(len(words), seed=seed)
    below = [item[::-1] for item in words] if onto else None
    assert (
        tidy(
            lambda: diagrams.arcs(
                words, table, onto=below, row=seed % len(words), labels=("arriba", "abajo")
            ),
            fits=len(words) <= 3,
        )
        == []
    )


@drawn
@given(st.dictionaries(word, st.tuples(st.floats(-3, 3), st.floats(-3, 3)), min_size=1, max_size=5))
def test_labels_of_any_vectors_keep_apart(arrows):
    assert (
        tidy(
            lambda: diagrams.vectors(
                arrows, weights={name: 1 / len(arrows) for name in arrows}, hull=True
            ),
            crossings=False,
            fits=len(arrows) == 1,
        )
        == []
    )


@drawn
@given(st.lists(word, min_size=1, max_size=6), st.integers(0, 99), st.booleans())
def test_mixtures_of_anything(labels, seed, rows):
    values = np.random.default_rng(seed).uniform(
        0, 900, size=(len(labels), 4) if rows else len(labels)
    )
    assert (
        tidy(
            lambda: diagrams.mixture(
                labels, weights(1, len(labels), seed=seed)[0], values, result="mezcla", spec=".0f"
            ),
            fits=max(map(len, labels)) <= 9,
        )
        == []
    )


@drawn
@given(
    st.lists(
        st.tuples(st.integers(1940, 2025), st.lists(word, min_size=1, max_size=14)),
        min_size=1,
        max_size=14,
    )
)
def test_any_history(events):
    assert (
        tidy(
            lambda: diagrams.history(
                [(year, " ".join(words)) for year, words in events], lit=[events[0][0]]
            ),
            fits=True,
        )
        == []
    )


@drawn
@given(st.lists(st.lists(word, min_size=1, max_size=4, unique=True), min_size=2, max_size=4))
def test_blocks_with_any_names(grid):
    grid = [[f"{name}#{r}" for name in row] for r, row in enumerate(grid)]
    arrows = [
        (a, b, "n × d_k")
        for low, high in itertools.pairwise(grid)
        for a, b in zip(low, high, strict=False)
    ]
    assert (
        tidy(lambda: diagrams.blocks(grid, arrows), crossings=False, fits=max(map(len, grid)) == 1)
        == []
    )


@drawn
@given(st.lists(word, min_size=1, max_size=7), st.lists(word, min_size=1, max_size=7))
def test_any_translation(source, target):
    assert (
        tidy(
            lambda: diagrams.encoder_decoder(
                source, target, weights=weights(len(target), len(source))
            ),
            crossings=False,
            fits=max(len(source), len(target)) <= 3,
        )
        == []
    )


@drawn
@given(st.lists(st.lists(word, min_size=2, max_size=4), min_size=1, max_size=5), st.booleans())
def test_any_room(tables, badges):
    people = [[Person(name, name[:8], name[::-1][:8], name) for name in table] for table in tables]
    assert (
        tidy(
            lambda: diagrams.room(people, [(0, 1)], badges=badges), crossings=False, fits=not badges
        )
        == []
    )


GROWING = {
    "growth": (lambda n: diagrams.growth(["a" * n, "b", "c"], [0.5, 0.5, 0.5]), 33),
    "caching": (lambda n: diagrams.caching(["a"] * n), 20),
    "arcs": (lambda n: diagrams.arcs(["aaaa"] * n, np.eye(n)), 22),
    "mixture": (lambda n: diagrams.mixture(["a" * n, "b"], [0.5, 0.5], [1, 2], result="c"), 24),
    "mixture-rows": (
        lambda n: diagrams.mixture(["a" * n, "b"], [0.5, 0.5], np.ones((2, 3)), result="c"), 33
    ),
    "blocks": (lambda n: diagrams.blocks([["a" * n, "b", "c"]], []), 32),
    "product": (
        lambda n: diagrams.product(
            Matrix("A", (1, 1), ("a" * n, "b")), Matrix("B", (1, 1), ("b", "c")),
            result=Matrix("C", (1, 1), ("a" * n, "c")),
        ), 15,
    ),
    "tensor-spec": (
        lambda n: diagrams.tensor(10.0**n * np.ones((1, 4)), ("n", "d"), spec=".1f"), 3
    ),
    "tensor-rows": (lambda n: diagrams.tensor((1, 12), ("n", "d"), rows=["a" * n]), 26),
    "tensor-columns": (
        lambda n: diagrams.tensor((1, n), ("n", "d"), rows=["a" * 30], columns=["aa"] * n), 2
    ),
    "room": (lambda n: diagrams.room([[Person("a" * n, "", "", "x")] * 3], badges=False), 12),
    "room-badges": (lambda n: diagrams.room([[Person("a", "a" * n, "b", "x")] * 3]), 11),
    "shuffle": (lambda n: diagrams.shuffle(["a" * n, "b"], [1, 0]), 6),
    "distances": (
        lambda n: diagrams.distances({"x": np.eye(2)}, words=["a" * n, "b"], spec=".2f"), 40
    ),
    "stream": (lambda n: diagrams.stream({"a": [Sublayer("a" * n)]}), 34),
    "additions": (lambda n: diagrams.additions(["a" * n] * 2, [0, 0], {"f": [0, 0]}), 20),
    "position_wise": (lambda n: diagrams.position_wise(["a" * n] * 4), 9),
    "tree": (
        lambda n: diagrams.tree([(-1, "a" * n, -1.0, "sigue"), (0, "a", -2.0, "acaba")]), 25
    ),
    "shifted": (lambda n: diagrams.shifted(["a" * n, "b"]), 14),
    "encoder_decoder": (
        lambda n: diagrams.encoder_decoder(["a" * n, "b"], ["c"], weights=[[0.5, 0.5]]), 23
    ),
    "pieces": (lambda n: diagrams.pieces({"a": ["a" * n]}), 41),
    "architecture": (lambda n: diagrams.architecture(source=" ".join(["aaaa"] * n)), 15),
}  # fmt: skip


@pytest.mark.parametrize("name", GROWING)
def test_what_no_longer_fits_is_said_and_not_before(name):
    draw, last = GROWING[name]
    assert [fault for fault in faults(draw(last), crossings=False) if "se sale" in fault] == []
    with pytest.raises(ValueError, match="cabe"):
        draw(last + 1)


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_a_mixture_of_rows_stays_on_the_page(size):
    for n in (4, 16, 24, 28, 32, 40):
        values = np.ones((2, size))
        mixture = functools.partial(
            diagrams.mixture, ["a" * n, "b"], [0.5, 0.5], values, result="c"
        )
        assert tidy(mixture, fits=n < 28) == []


# --- Lo que se pide mal ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: diagrams.tensor((2, 3), ("n",)), "llegaron 1 nombres y 2 tamaños"),
        (lambda: diagrams.tensor((2, 30), ("n", "d")), "hasta 16"),
        (lambda: diagrams.tensor((2, 3), ("n", "d"), spec=".1f"), "data solo da tamaños"),
        (lambda: diagrams.tensor((2, 3), ("n", "d"), bar="m"), "se esperaba uno de los ejes"),
        (
            lambda: diagrams.tensor((2, 3), ("n", "d"), role="consulta"),
            "se esperaba uno de query, key",
        ),
        (lambda: diagrams.tensor((2, 3), ("n", "d"), row=2), "índice de 0 a 1"),
        (lambda: Matrix("Q", (2, 3), ("n", "d"), values=np.zeros((3, 2))), "values tiene forma"),
        (
            lambda: diagrams.product(
                Matrix("A", (2, 3), ("n", "d")),
                Matrix("B", (2, 3), ("n", "d")),
                result=Matrix("C", (2, 3), ("n", "d")),
            ),
            "no encadenan",
        ),
        (
            lambda: diagrams.product(
                Matrix("A", (2, 3), ("n", "d")),
                Matrix("B", (3, 3), ("d", "m")),
                result=Matrix("C", (3, 2), ("n", "m")),
            ),
            "el producto da",
        ),
        (
            lambda: diagrams.clocks([[1.0]], [0], rows=["0"], columns=["una"]),
            "lista de números finitos",
        ),
        (lambda: diagrams.clocks([1.0], [0, 1], rows=["0"], columns=["una"]), "rows"),
        (lambda: diagrams.tensor((2, 2), ("n", "d"), shade=True), "shade"),
        (lambda: diagrams.vectors({"q": (1, 2, 3)}), "dos números finitos"),
        (
            lambda: diagrams.vectors({"q": (1, 2)}, project=("q", "k")),
            "«k» no es uno de los vectores",
        ),
        (lambda: diagrams.vectors({"q": (1, 2)}, weights={"q": 0.5}), "sumen 1"),
        (lambda: diagrams.vectors({"q": (1, 2)}, links=[("q", "k")]), "no es uno de los vectores"),
        (lambda: diagrams.vectors({"q": (1, 2), "k": (0, 0)}, project=("q", "k")), "vector nulo"),
        (lambda: diagrams.mixture(["a", "b"], [0.5, 0.6], [1, 2], result="c"), "sumen 1"),
        (lambda: diagrams.mixture(["a", "b"], [0.5, 0.5], [1, -2], result="c"), "no negativos"),
        (
            lambda: diagrams.mixture(["a", "b"], [0.5, 0.5], np.zeros((3, 2)), result="c"),
            "se esperaba",
        ),
        (lambda: diagrams.arcs("frase", np.eye(5)), "lista de textos"),
        (lambda: diagrams.arcs(WORDS, 2 * np.eye(6)), "pesos de 0 a 1"),
        (lambda: diagrams.arcs(WORDS, np.eye(5)), r"se esperaba \(6, 6\)"),
        (lambda: diagrams.arcs(WORDS, [0, 1, 2, 3, 4, 6]), "índices de 0 a 5"),
        (lambda: diagrams.reach(WORDS, 3, 3), "start < end"),
        (lambda: diagrams.reach(WORDS, 0, 3, kernel=1), "mayor o igual que 2"),
        (lambda: diagrams.shuffle(["a", "b"], [0, 0]), "permutación"),
        (lambda: diagrams.shuffle(["m" * 5, "b"], [1, 0]), "no caben; conviene acortarlos"),
        (lambda: diagrams.distances({}, words=["a"]), "ninguna tabla"),
        (lambda: diagrams.distances({"x": np.eye(2)}, words=["a"]), r"se esperaba \(1, 1\)"),
        (
            lambda: diagrams.distances({"x": -DISTANCES / 7}, words=["mm" * 9] * 4, spec=".2f"),
            "no caben; conviene acortar",
        ),
        (lambda: diagrams.rotations((0, 0), (1, 0), [(0, 0)], speed=1), "no los dos nulos"),
        (lambda: diagrams.rotations((1, 0), (1, 0, 0), [(0, 0)], speed=1), "dos números finitos"),
        (lambda: diagrams.rotations((1, 0), (1, 0), [], speed=1), "ningún sitio"),
        (lambda: diagrams.dials({}, seen=[1], places=2, columns=["a"]), "ninguna fila"),
        (
            lambda: diagrams.dials({"x": [1, 2]}, seen=[1], places=2, columns=["a"]),
            r"es de \(2,\); se esperaba \(1,\)",
        ),
        (lambda: diagrams.triangle(["a", "b"], {"x": SCORES}), "se esperaban 3"),
        (lambda: diagrams.triangle(["a", "b", "c"], {"x": np.eye(2)}), r"se esperaba \(3, 3\)"),
        (
            lambda: diagrams.blocks(
                [["a", "c", "aa", "b"], ["d", "e" * 12, "f", "g"]],
                [
                    (x, y, "n × d_k")
                    for x, y in zip(["a", "c", "aa", "b"], ["d", "e" * 12, "f", "g"], strict=True)
                ],
            ),
            "no cabe junto a su flecha",
        ),
        (lambda: diagrams.blocks([["a"]], [("a", "b")]), "«b» no está en grid"),
        (lambda: diagrams.blocks([["a", "b"]], [("a",)]), r"se esperaba \(de, a\)"),
        (lambda: diagrams.blocks([["a", "b"]], [("a", "b", "c", "d")]), r"se esperaba \(de, a\)"),
        (lambda: diagrams.blocks([["mm" * 20] * 1 + ["nn" * 20]], []), "las 2 columnas no caben"),
        (lambda: diagrams.blocks([[None]], []), "no hay ninguna caja"),
        (lambda: diagrams.tensor((2, 3), ("n", "d"), columns=["a", " ", "c"]), "un texto vacío"),
        (lambda: diagrams.arcs(WORDS, np.eye(6), threshold=1), "menor que 1"),
        (lambda: diagrams.arcs(WORDS, np.eye(6), threshold=-0.1), "menor que 1"),
        (lambda: diagrams.arcs(["desafortunadamente"] * 45, np.eye(45)), "45 palabras no caben"),
        (lambda: diagrams.triangle(["a", "b", "c"], {}), "llegaron 0; se esperaban uno o dos"),
        (
            lambda: diagrams.triangle(["a", "b", "c"], {str(i): SCORES for i in range(3)}),
            "llegaron 3; se esperaban uno o dos",
        ),
        (
            lambda: diagrams.mixture(["palabra " * 9, "b"], [0.5, 0.5], [1, 2], result="c"),
            "los nombres y los números no caben",
        ),
        (
            lambda: diagrams.mixture(["palabra " * 9, "b"], [0.5, 0.5], np.eye(2), result="c"),
            "los nombres y las filas no caben",
        ),
        (lambda: diagrams.roles(np.zeros(17), *np.zeros((3, 17, 2))), "se esperaban d ≤ 16"),
        (lambda: diagrams.roles(np.zeros(2), *np.zeros((3, 2, 17))), "se esperaban d ≤ 16"),
        (
            lambda: diagrams.roles(np.ones(2), *np.ones((3, 2, 2)), captions=("a", "b")),
            "2 rótulos; se esperaban d ≤ 16 y tres",
        ),
        (
            lambda: diagrams.room([[Person("m" * 30, "", "", "x")] * 3], badges=False),
            "no cabe junto a la mesa",
        ),
        (
            lambda: diagrams.room([[Person("a", "m" * 30, "b", "x")] * 3]),
            "la tarjeta de «a» no cabe",
        ),
        (lambda: diagrams.histograms({}), "llegaron 0 distribuciones"),
        (lambda: diagrams.histograms(dict.fromkeys("abcde", [1.0])), "llegaron 5 distribuciones"),
        (lambda: Matrix("Q", (2, 3, 4), ("n", "d")), "se esperaban dos tamaños de 1 a"),
        (lambda: Matrix("Q", (0, 3), ("n", "d")), "se esperaban dos tamaños de 1 a"),
        (lambda: Matrix("Q", (2, 3), ("n",)), "llegaron 1 ejes"),
        (
            lambda: diagrams.tensor(1e6 * np.ones((2, 16)), ("n", "d"), spec=".1f"),
            "16 columnas con números no caben",
        ),
        (
            lambda: diagrams.product(
                Matrix("A", (2, 3), ("n", "d")), result=Matrix("C", (2, 3), ("n", "d"))
            ),
            "llegó 1 factor",
        ),
        (
            lambda: diagrams.product(
                *[Matrix("A", (2, 2), ("n", "n"))] * 3,
                result=Matrix("C", (2, 2), ("n", "n")),
                cell=(0, 0),
            ),
            "se explica con dos factores",
        ),
        (
            lambda: diagrams.product(
                *[Matrix("A", (2, 2), ("n" * 20, "n" * 20))] * 3,
                result=Matrix("C", (2, 2), ("n" * 20, "n" * 20)),
            ),
            "los nombres y las formas no caben a lo ancho",
        ),
        (lambda: diagrams.vectors({}), "no llegó ningún vector"),
        (
            lambda: diagrams.vectors({f"v{'_' * 30}{i}": (1, 1) for i in range(40)}),
            "no hay sitio para el rótulo",
        ),
        (
            lambda: diagrams.normalization({"m" * 70: (3, 1), "b": (1, 1.5)}),
            "no hay sitio para el rótulo",
        ),
        (lambda: diagrams.architecture(norm="dentro"), "se esperaba 'pre' o 'post'"),
        (lambda: diagrams.architecture(lit=["decoder.norma"]), "«decoder.norma» no es una parte"),
        (lambda: diagrams.architecture(source=" "), "se esperaba una frase"),
        (lambda: diagrams.architecture(output="palabra " * 12), "no cabe en tres líneas"),
        (lambda: diagrams.stream({}), "al menos una columna"),
        (lambda: diagrams.stream({"a": []}), "un paso en cada una"),
        (lambda: diagrams.stream({"a": [Sublayer("atención " * 9)]}), "«a» no cabe"),
        (lambda: diagrams.syntax(("+", "3")), "operación, izquierda, derecha"),
        (lambda: diagrams.syntax(("+", 3, "x")), "operación, izquierda, derecha"),
        (lambda: diagrams.syntax(_chain_of_sums(8)), "no caben"),
        (lambda: diagrams.arcs(["a"], [0], onto=["b"], plain=[1]), "un índice de 0 a 0"),
        (lambda: diagrams.forms({}), "ningún árbol"),
        (lambda: diagrams.forms({"x": ("+", "3")}), "operación, izquierda, derecha"),
        (lambda: diagrams.forms({"m" * 12 + str(i): "x" for i in range(4)}), "no caben"),
        (lambda: diagrams.staircase(["a", "b"], [0]), "se esperaban 2 enteros"),
        (lambda: diagrams.staircase(["a"], [-1]), "enteros desde 0"),
        (lambda: diagrams.staircase(["a"] * 40, [0] * 40), "no caben"),
        (lambda: diagrams.staircase(["a"], [0], mark=1), "un índice de 0 a 0"),
        (
            lambda: diagrams.heads(weights(2)[None], ["a", "b"], ["c", "d"], titles=["x", "y"]),
            "se esperaban 1",
        ),
        (lambda: diagrams.heads(weights(2)[None], ["a"], ["c", "d"], titles=["x"]), r"\(1, 2\)"),
        (
            lambda: diagrams.heads(weights(1, 9)[None], ["a"], ["palabra"] * 9, titles=["x"]),
            "no caben",
        ),
        (lambda: diagrams.relays(["a"], {}, out="c"), "llegó vacío"),
        (lambda: diagrams.relays(["a"], {"x": (0, 1, "")}, out="c"), "columnas desde 0"),
        (
            lambda: diagrams.relays(["palabra"] * 4, {"x": (0, 1, ""), "y": (0, 1, "")}, out="c"),
            "no caben",
        ),
        (lambda: diagrams.interventions([]), "ninguna viñeta"),
        (
            lambda: diagrams.interventions([Intervention("a", "", "pan", "pan", [0, 3, 1], "")]),
            "un sitio de 0 a 2",
        ),
        (
            lambda: diagrams.interventions([Intervention("a", "", "p" * 20, "p", [0], "")]),
            "no caben",
        ),
        (lambda: diagrams.additions(["a"], [1, 2], {}), r"se esperaba \(\?, 1\)"),
        (lambda: diagrams.additions(["característica"] * 6, [0] * 6, {"f": [0] * 6}), "no caben"),
        (lambda: diagrams.position_wise(["a"], (0, 4)), "dos anchos positivos"),
        (lambda: diagrams.position_wise(["paralelepípedo"] * 7), "no caben"),
        (lambda: diagrams.normalization({}), "se esperaba uno, 2 o 3"),
        (
            lambda: diagrams.normalization({"a": (1, 2), "b": (1, 2, 3)}),
            r"llegaron tamaños \[2, 3\]",
        ),
        (lambda: diagrams.normalization({"a": (1,)}), "se esperaban 2 o 3 números"),
        (lambda: diagrams.normalization({"a": (2, 2)}), "no se normaliza"),
        (lambda: diagrams.blocks([["a", "b", "a"]], []), "no forman un rectángulo"),
        (lambda: diagrams.blocks(["abc"], []), "lista de nombres"),
        (lambda: diagrams.phases(["sumar"]), "no es un paso"),
        (lambda: diagrams.encoder_decoder(WORDS, WORDS, weights=np.eye(5)), "se esperaba"),
        (lambda: diagrams.encoder_decoder(WORDS, WORDS, one_vector=False), "ningún panel"),
        (lambda: diagrams.recurrent_cell("mlp"), "se esperaba uno de rnn"),
        (lambda: diagrams.timeline({"a": []}), "sin pasos"),
        (lambda: diagrams.pools([["a"]], 3, {"x": ["m"]}), "«m» no es un eje"),
        (lambda: diagrams.pools([["a"]], 3, {"x": ["d"]}, cell=(0, 1, 0)), "cell: llegó"),
        (lambda: diagrams.pools([["a"]], 40, {"x": ["d"]}), "no caben"),
        (lambda: diagrams.growth(["a", "b"], [1]), "se esperaban 2 números"),
        (lambda: diagrams.growth(["a"], [1.5]), "números de 0 a 1"),
        (lambda: diagrams.growth(["característica"] * 6, [1] * 6), "no cabe en una línea"),
        (lambda: diagrams.filters(["a", "b"], {"p": [1]}), "tiras de 2 números"),
        (lambda: diagrams.filters(["a", "b"], {"p": [-1, 2]}), "números de 0 a 1"),
        (lambda: diagrams.filters(["a"], {"p": [0.5]}), "que suman 1"),
        (lambda: diagrams.filters(["a"], {str(i): [1] for i in range(7)}), "de una a seis"),
        (lambda: diagrams.filters(["a"], {"título " * 8: [1]}), "la tira no cabe"),
        (lambda: diagrams.caching(["palabra"] * 20), "20 palabras no caben"),
        (lambda: diagrams.tree([]), "nodes: llegaron 0 textos"),
        (lambda: diagrams.tree([(0, "la", -1, "sigue")]), "se esperaba uno anterior"),
        (lambda: diagrams.tree([(-1, "la", -1, "muere")]), "se esperaba sigue, acaba, cae"),
        (lambda: diagrams.tree([(-1, "la", -1, "cae")], marks={"a": 1}), "un índice de 0 a 0"),
        (lambda: diagrams.tree([(i - 1, "palabra", -i, "cae") for i in range(8)]), "no cabe"),
        (lambda: diagrams.timeline({"a": [("x", 2, 1)]}), "inicio < fin"),
        (lambda: diagrams.history([]), "sucesos"),
        (lambda: diagrams.roles(np.zeros(4), *np.zeros((3, 5, 2))), "w_q"),
        (lambda: diagrams.room([PEOPLE[:1]]), "de 2 a 4"),
        (lambda: diagrams.room([PEOPLE], [(0, 3)]), "personas de 0 a 2"),
        (lambda: diagrams.histograms({"a": [1.0, np.nan]}), "no son finitos"),
        (lambda: diagrams.histograms({"a": [1.0]}, {"b": [1.0]}), "se esperaban a"),
    ],
)
def test_what_is_asked_wrong_is_said_in_words(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_links_may_come_as_indices_or_as_weights():
    indices, table = [2, 0, 1], np.eye(3)[[2, 0, 1]]
    assert drawings.seen(diagrams.arcs(WORDS[:3], indices)) == drawings.seen(
        diagrams.arcs(WORDS[:3], table)
    )
    for wrong in ([0, 1], [0, 1, 3], [0, 1, -1]):
        with pytest.raises(ValueError, match="se esperaban 3 índices de 0 a 2"):
            diagrams.arcs(WORDS[:3], wrong)


def written(figure) -> set[str]:
    """Lo que se lee en un dibujo."""
    return {text.get_text() for text, _ in labels(figure)}


def test_a_room_without_badges_tells_who_and_what_they_say():
    bare, told = (written(diagrams.room([PEOPLE], badges=badges)) for badges in (False, True))
    assert bare == {person.name for person in PEOPLE} | {"R", "A", "V"}
    quiet = written(diagrams.room([PEOPLE], badges=False, chips=False))
    assert quiet == {person.name for person in PEOPLE}
    assert told > bare and any("busca" in text for text in told)


def test_writing_and_caching_tell_every_word_and_count():
    grown = diagrams.growth(["sí", "."], [0.25, 1], start="⟨sep⟩")
    texts = [text.get_text() for text, _ in labels(grown)]
    assert sorted(texts) == sorted(["⟨sep⟩", "sí", "0.25", "⟨sep⟩", "sí", ".", "1.00"])
    assert written(diagrams.caching(["a", "b", "c"])) == {
        "a", "b", "c", "sin caché", "con caché", "6 filas calculadas", "3 filas calculadas",
    }  # fmt: skip
    one = written(diagrams.caching(["a"], titles=("antes", "ahora")))
    assert one == {"a", "antes", "ahora", "1 fila calculada"}


def test_a_stream_tells_its_ends_and_its_parts():
    parts = [Sublayer("atención"), Sublayer("red densa"), "LN final"]
    texts = written(diagrams.stream({"Pre-LN": parts}, entry="X", end="Y", norm="RMS"))
    assert {"Pre-LN", "atención", "red densa", "LN final", "X", "Y", "RMS"} <= texts


def test_the_weight_of_a_long_arc_is_on_it():
    assert {"0.60", "0.10"} <= written(CASES["arcs-turned-row"]())


def test_the_map_tells_where_each_part_is():
    figure, boxes = transformer.places()
    assert faults(figure) == []
    assert list(dict.fromkeys(name.split(".")[0] for name in boxes)) == [
        "source", "encoder", "memory", "target", "decoder", "project", "softmax", "output",
    ]  # fmt: skip
    assert all(w > 0 and h > 0 for _, _, w, h in boxes.values())
    written = {"source": "la casa", "target": "⟨inicio⟩ the", "output": "the house"}
    other, _ = transformer.places(written, norm="post", tied=True)
    texts = {text.get_text() for text, _ in labels(other)}
    assert {"la casa", "the house"} <= texts and "…" in {t.get_text() for t, _ in labels(figure)}


def test_only_the_words_that_fit_are_written():
    assert transformer.fitting(["la", "casa"]) == "la casa" and transformer.fitting([]) == "…"
    long = ["palabra"] * 40
    told = transformer.fitting(long)
    kept = told.count("palabra")
    assert told == " ".join(["palabra"] * kept + ["…"]) and 3 < kept < 40
    diagrams.architecture(source=told)
    more = " ".join(["palabra"] * (kept + 1) + ["…"])
    with pytest.raises(ValueError, match="no cabe en tres líneas"):
        diagrams.architecture(source=more)
    assert transformer.fitting(long[:kept]) == " ".join(long[:kept])


def test_las_piezas_se_leen_y_cada_letra_tiene_su_columna():
    rows = {"letras": list("comen"), "unión 1": ["c", "om", "e", "n"], "unión 2": ["com", "e", "n"]}
    fig = diagrams.pieces(rows, ids=[7, 2, 10], vectors=torch.randn(3, 4))
    assert not faults(fig, crossings=False)
    words = [text.get_text() for text in fig.findobj(Text)]
    assert {"com", "om", "7", "10", "números", "vectores"} <= set(words)


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        ({"a": ["ab"], "b": ["ac"]}, {}, "rows"),
        ({"a": ["a" * 90]}, {}, "no cabe"),
        ({"a": ["a", "b"]}, {"ids": [1]}, "ids"),
        ({"a": ["a", "b"]}, {"vectors": torch.ones(3, 2)}, "vectors"),
    ],
)
def test_las_piezas_rechazan_lo_que_no_casa(rows, options, said):
    with pytest.raises(ValueError, match=said):
        diagrams.pieces(rows, **options)


def test_el_reticulo_se_lee_y_exige_un_corte_entero():
    edges = [(0, 1, -3.0), (1, 3, -4.5), (0, 3, -6.25), (1, 2, -2.0), (2, 3, -2.5)]
    fig = diagrams.lattice("año", edges, [(0, 3)])
    assert not faults(fig, crossings=False)
    for bad in ([(0, 1)], [(0, 1), (2, 3)]):
        with pytest.raises(ValueError, match="best"):
            diagrams.lattice("año", edges, bad)
    with pytest.raises(ValueError, match="edges"):
        diagrams.lattice("año", [(0, 4, -1.0)])


def test_lo_que_se_dice_en_una_fila_entra_en_la_siguiente():
    fig = diagrams.shifted(["they", "clean"], pad=2)
    assert not faults(fig, crossings=False)
    texts = sorted(fig.findobj(Text), key=lambda text: (round(text.get_position()[1]), text._x))
    words = [t.get_text() for t in texts if t.get_text() and not t.get_text().isdecimal()]
    assert words[2:8] == ["⟨inicio⟩", "they", "they", "clean", "clean", "⟨fin⟩"]
    assert words[8:] == ["relleno"] * 4
    for bad in ({"target": []}, {"target": ["a" * 60]}, {"target": ["a"], "pad": -1}):
        with pytest.raises(ValueError, match=next(reversed(bad))):
            diagrams.shifted(**bad)


def test_the_lane_of_a_long_arrow_takes_its_room():
    def wide(letters):
        names = [["w" * letters, "v" * letters], ["b", "d"], ["c", "e"]]
        return lambda *arrows: diagrams.blocks(names, arrows, plain=["b"])

    fits = next(n for n in range(60, 1, -1) if not _refused(wide(n)))
    assert _refused(wide(fits), ("w" * fits, "e"))
    assert not _refused(wide(fits - 4), ("w" * (fits - 4), "e"))


def _refused(draw, *arrows):
    try:
        draw(*arrows)
    except ValueError as error:
        assert "no caben" in str(error)
        return True
    return False


@pytest.mark.parametrize(
    ("value", "edge"),
    [
        (0.3, 0.3),
        (1.2, 1.5),
        (1.9, 2),
        (3.4, 4),
        (4.2, 5),
        (5.5, 6),
        (7, 8),
        (0.09, 0.1),
        (81, 100),
    ],
)
def test_the_edge_of_a_histogram_is_round_and_near(value, edge):
    assert scenes._nice(value) == pytest.approx(edge)
