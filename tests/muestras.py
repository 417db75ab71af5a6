"""Una muestra de cada explorador, y las que hacen falta para que cada uno se vea en sus extremos.

``MAKERS`` da, por la clase de explorador, la función ``make_…`` de este fichero que construye uno
pequeño; ``MUESTRAS``, lo que se abre en el navegador. Las clases se descubren: un explorador nuevo
necesita aquí su ``make_…`` y ya pasa por todas las pruebas comunes, con y sin navegador.
"""

from __future__ import annotations

import itertools
import pkgutil
from functools import cache, partial
from importlib import import_module

import torch
from torch import nn

from atento import attention, rng, trained
from atento.blocks import Encoder, EncoderBlock
from atento.decoding import beam_search, by_length, by_total, by_wu
from atento.layers import FeedForward
from atento.models.bert import Bert, BertConfig, MaskedWords
from atento.models.detr import Detr, DetrConfig
from atento.models.language import LanguageConfig, LanguageModel
from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig
from atento.models.vit import Vit, VitConfig
from atento.models.whisper import Whisper, WhisperConfig
from atento.tasks import agreement, digits, prose, scenes
from atento.tokenizers import BPE, Unigram
from figuras import explorers
from figuras.explorers import base, live
from figuras.explorers.adder import adder
from figuras.explorers.claims import claims
from figuras.explorers.cloze import cloze
from figuras.explorers.completion import completion
from figuras.explorers.hearing import hearing
from figuras.explorers.patches import patches
from figuras.explorers.sketch import sketch

for _modulo in pkgutil.iter_modules(explorers.__path__):
    import_module(f"{explorers.__name__}.{_modulo.name}")

CLASES = {
    clase.kind: clase
    for madre in (base.Explorer, live.LiveExplorer)
    for clase in madre.__subclasses__()
    if clase is not live.LiveExplorer
}
"""Los exploradores que hay, por su clase."""


WORDS = ["el", "banco", "del", "río", "crece"]


def normal(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def make_stepper(**changes):
    tables = {
        "query": normal(2, 5, 3),
        "key": normal(2, 5, 3, seed=1),
        "value": normal(2, 5, 2, seed=2),
    }
    return explorers.stepper(**({"words": WORDS, "name": "prueba"} | tables | changes))


def make_plane(**changes):
    given = {
        "words": ["tren", "invierno"],
        "query": [1.0, 1.0],
        "key": [[2.0, 0.5], [0.5, 2.0]],
        "name": "prueba",
    }
    return explorers.plane(**(given | changes))


def make_softmax(**changes):
    given = {
        "scores": 8 * normal(3, 5, seed=7),
        "keys": WORDS,
        "queries": WORDS[:3],
        "d_k": 64,
        "name": "prueba",
    }
    return explorers.softmax(**(given | changes))


def make_clock(**changes):
    return explorers.clock(**({"d_model": 8, "name": "prueba"} | changes))


def make_rotation(**changes):
    given = {"query": normal(4, seed=3), "key": normal(4, seed=4), "name": "prueba"}
    return explorers.rotation(**(given | changes))


def make_mask(**changes):
    given = {"words": WORDS, "scores": normal(5, 5, seed=9), "name": "prueba"}
    return explorers.mask(**(given | changes))


def make_stack(norm="pre", *, blocks=2, normalization="layer", dropout=0.0, d=4):
    torch.manual_seed(3)
    options = {"norm": norm, "normalization": normalization, "dropout": dropout}
    parts = [
        EncoderBlock(attention.MultiHeadAttention(d, 2), FeedForward(d, 6), **options)
        for _ in range(blocks)
    ]
    with torch.no_grad():
        for parameter in nn.ModuleList(parts).parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape))
    return Encoder(parts)


def make_stream(**changes):
    stacks = {"Pre-LN": make_stack(), "Post-LN": make_stack("post")}
    given = {"words": WORDS, "x": normal(5, 4, seed=2), "stacks": stacks, "name": "prueba"}
    return explorers.stream(**(given | changes))


SENTENCE = ["no", "limpian", "la", "casa"], ["⟨inicio⟩", "they", "do", "not", "clean"]
NAMES = ["⟨relleno⟩", "⟨inicio⟩", "⟨fin⟩", "they", "do", "not", "clean", "the", "house"]


def make_machine(**changes):
    torch.manual_seed(4)
    given = {"d_model": 8, "n_heads": 2, "d_ff": 12, "n_decoder_layers": 3} | changes
    machine = Seq2Seq(Seq2SeqConfig(8, len(NAMES), **given))
    with torch.no_grad():
        for parameter in machine.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape))
    return machine


def make_architecture(**changes):
    given = {
        "model": make_machine(), "source": SENTENCE[0], "target": SENTENCE[1],
        "source_ids": [3, 4, 5, 6], "target_ids": [1, 3, 4, 5, 6], "vocabulary": NAMES,
        "links": {"self": ("el capítulo 6", "../seis.html")}, "name": "prueba",
    }  # fmt: skip
    return explorers.architecture(**(given | changes))


def make_adder(**changes):
    return adder(**({"name": "prueba"} | changes))


SMALL_BPE = BPE.train(
    "la casa blanca, la casa negra y la niña " * 9, 280, byte_level=True, unk=None
)


def small_language_model(vocab=None, **changes):
    """Un modelo diminuto, con los pesos de una semilla, que la página sabe ejecutar."""
    rng.seed_all(16)
    sizes = {"d_model": 16, "n_heads": 2, "d_ff": 32, "n_layers": 1}
    given = {**sizes, "positions": "rotary", "pad_id": None} | changes
    return trained.rounded(LanguageModel(LanguageConfig(vocab or len(SMALL_BPE), **given))).eval()


def make_completion(**changes):
    given = {"model": small_language_model(), "tokenizer": SMALL_BPE, "name": "prueba"}
    return completion(**(given | {"start": "la casa"} | changes))


@cache
def book_completion():
    """El modelo del capítulo 16, con su tokenizador."""
    known, _ = prose.load().split(["08", "13"])
    tokenizer = BPE.train(known.text(), 1024, byte_level=True, unk=None)
    sizes = {"d_model": 80, "d_ff": 320, "n_layers": 2}
    config = LanguageConfig(1024, **sizes, positions="rotary", pad_id=None)
    model = trained.fill(LanguageModel(config), "prosa-16")
    return completion(model, tokenizer, name="libro")


def small_bert(**changes):
    """Un codificador diminuto, con los pesos de una semilla, que la página sabe ejecutar."""
    rng.seed_all(15)
    sizes = {"d_model": 16, "n_heads": 2, "d_ff": 24, "n_layers": 2, "max_len": 16}
    given = {**sizes, "n_segments": 2, "init_std": 0.5} | changes
    config = BertConfig(given.pop("vocab", agreement.VOCAB_SIZE), **given)
    return trained.rounded(MaskedWords(Bert(config))).eval()


def make_cloze(**changes):
    given = {"model": small_bert(), "sentences": agreement.generate(3, 4), "name": "prueba"}
    return cloze(**(given | changes))


@cache
def book_cloze():
    """El del capítulo 15: su modelo y sus frases."""
    sizes = {"d_model": 64, "n_heads": 4, "d_ff": 128, "n_layers": 2, "max_len": 48}
    config = BertConfig(agreement.VOCAB_SIZE, **sizes, n_segments=3)
    model = trained.fill(MaskedWords(Bert(config)), "concordancia-15")
    drawn = agreement.generate(300, 1, split="test")
    first = next(s for s in drawn if len(s.words) == 11 and (s.subject, s.other) == ("fp", "mp"))
    others = ("ms", "fp"), ("fs", "mp"), ("mp", "fs"), ("fs", "ms"), ("ms", "mp")
    rest = (next(s for s in drawn if (s.subject, s.other) == pair) for pair in others)
    return cloze(model, [first, *rest], name="libro")


def small_vit(**changes):
    """Un ViT diminuto, con los pesos de una semilla, que la página sabe ejecutar."""
    rng.seed_all(19)
    sizes = {"d_model": 16, "n_heads": 2, "d_ff": 24, "n_layers": 2, "patch_size": 2}
    given = {**sizes, "image_size": 8, "init_std": 0.5, "position_std": 0.5} | changes
    return trained.rounded(Vit(VitConfig(**given))).eval()


def make_sketch(**changes):
    given = {"model": small_vit(), "digits": digits.load().chosen(torch.arange(3)), "full": 1.0}
    return sketch(**(given | {"name": "prueba"} | changes))


@cache
def book_sketch():
    """El del capítulo 19: su ViT y, de su examen, el primero de cada dígito."""
    sizes = {"d_model": 48, "n_heads": 4, "d_ff": 96, "n_layers": 2, "patch_size": 2}
    model = trained.fill(Vit(VitConfig(image_size=8, **sizes)), "vit-19")
    train, _, exam = digits.split(trained.card("vit-19")["seed"], test=0.2)
    firsts = torch.stack([(exam.labels == digit).nonzero()[0, 0] for digit in range(10)])
    full = train.images.max().item()
    return sketch(model, exam.chosen(firsts), full=full, start=3, name="libro")


def small_detr(**changes):
    """Un DETR diminuto, con los pesos de una semilla, que la página sabe ejecutar."""
    rng.seed_all(20)
    sizes = {"image_size": 40, "widths": (4, 12), "d_model": 16, "n_heads": 2, "d_ff": 24}
    depths = {"n_encoder_layers": 1, "n_decoder_layers": 2, "queries": 6}
    options = {"norm": "pre", "reference_points": True, "refine": True}
    model = Detr(DetrConfig(**(sizes | depths | options | changes)))
    with torch.no_grad():
        for weight in model.parameters():  # lo que empieza en 0 no diría nada
            weight += 0.1 * torch.randn(weight.shape)
    return trained.rounded(model).eval()


def make_claims(**changes):
    scene, *others = scenes.generate(3, 5, split="test", counts=3)
    given = {"model": small_detr(), "scene": scene, "others": others}
    return claims(**(given | {"name": "prueba"} | changes))


@cache
def book_claims():
    """El del capítulo 20: su DETR, su escena y, de otras de examen, los dígitos que no tiene."""
    sizes = trained.card("cajas-20")["recipe"]["model"]
    model = trained.fill(Detr(DetrConfig(40, **sizes)), "cajas-20")
    scene = scenes.generate(1, 18, split="test", counts=3)[0]
    return claims(model, scene, scenes.generate(40, 20, split="test", counts=1), name="libro")


def make_patches(**changes):
    return patches(**({"name": "prueba"} | changes))


def small_whisper(**changes):
    """Un Whisper diminuto, con los pesos de una semilla, que la página sabe ejecutar."""
    rng.seed_all(21)
    sizes = {"n_mels": 40, "d_model": 16, "n_heads": 2, "d_ff": 24, "n_layers": 1}
    model = Whisper(
        WhisperConfig(**({"vocab": 8, "audio_len": 80, "max_len": 12} | sizes | changes))
    )
    with torch.no_grad():
        for weight in model.parameters():  # lo que empieza en 0 no diría nada
            weight += 0.1 * torch.randn(weight.shape)
    return trained.rounded(model).eval()


def make_hearing(**changes):
    return hearing(**({"model": small_whisper(), "word": "oea", "name": "prueba"} | changes))


@cache
def book_hearing():
    """El del capítulo 21: su Whisper y «oea», con la «e» que se mueve."""
    names = ("d_model", "n_heads", "d_ff", "n_layers", "audio_len", "max_len")
    recipe = trained.card("oir-21")["recipe"]
    config = WhisperConfig(8, n_mels=40, **{name: recipe[name] for name in names})
    model = trained.fill(Whisper(config), "oir-21")
    return hearing(model, "oea", moves=1, name="libro")


def make_lowrank(**changes):
    given = {"change": normal(6, 5) * 0.1, "most": 4, "start": 2, "name": "prueba"}
    return explorers.lowrank(**(given | changes))


def make_landscape(**changes):
    given = {
        "words": ["mar", "sol", "pan"],
        "patterns": [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]],
        "start": [2.0, 1.0],
        "name": "prueba",
    }
    return explorers.landscape(**(given | changes))


def make_online(**changes):
    given = {"scores": [1, 3, 2, 5, 0], "values": [4, 0, 2, 1, 3], "sizes": (1, 2, 3, 5), "size": 3}
    return explorers.online(**(given | {"name": "prueba"} | changes))


def make_budget(**changes):
    return explorers.budget(**({"name": "prueba"} | changes))


LETTERS = ["<fin>", "la", "casa"]
ENDING = torch.tensor([[0.05, 0.6, 0.35], [0.3, 0.4, 0.3], [0.9, 0.05, 0.05]])


def table_step(ids, state):
    return ENDING.log()[ids[:, -1]], state


def make_beam(**changes):
    given = {
        "search": partial(beam_search, table_step, torch.tensor([[1]]), eos_id=0),
        "words": LETTERS,
        "eos_id": 0,
        "widths": (1, 2, 3),
        "max_length": 5,
        "name": "prueba",
    }
    return explorers.beam(**(given | changes))


def make_sampling(**changes):
    given = {
        "logits": 2 * normal(2, 5, seed=11),
        "words": WORDS,
        "contexts": ["tras uno", "tras otro"],
        "name": "prueba",
    }
    return explorers.sampling(**(given | changes))


def make_runs(schedules=("none", "noam", "cosine", "stable"), norms=("pre", "post"), **changes):
    """Una malla entera de ejecuciones inventadas; a la última se le acaban dos semillas."""
    runs = [
        {
            "schedule": schedule,
            "norm": norm,
            "rate": rate,
            "curves": (normal(3, 4, seed=i) + 3).tolist(),
            "exact": torch.rand(3, generator=torch.Generator().manual_seed(i)).tolist(),
        }
        for i, (norm, rate, schedule) in enumerate(
            itertools.product(norms, (0.003, 0.01), schedules)
        )
    ]
    runs[-1]["curves"] = [[5.0, 6.0, None, None], [4.0] * 4, [3.0, None, None, None]]
    return {"recipe": {"steps": 40, "window": 10, "warmup": 8}, "runs": runs} | changes


def make_schedule(**changes):
    return explorers.schedule(**({"stored": make_runs(), "name": "prueba"} | changes))


TEXT = "La niña come y los niños comen: comían, comerán y comimos. ¿Comes tú? Comen doce niñas."


def make_merges(**changes):
    given = {
        "bpe": BPE.train([TEXT] * 3, 70),
        "unigram": Unigram.train([TEXT] * 3, 60),
        "text": "Los niños comen",
        "name": "prueba",
    }
    return explorers.merges(**(given | changes))


def make_paths(**changes):
    return explorers.paths(**({"words": WORDS, "name": "prueba"} | changes))


def make_heads(**changes):
    """Tres frases de longitudes distintas, en tres capas de tres cabezas."""
    sentences = {
        "una": (["[CLS]", *WORDS, "[SEP]"], normal(3, 3, 7, 7, seed=21).mul(2).softmax(-1)),
        "dos": (["[CLS]", "crece", "[SEP]"], normal(3, 3, 3, 3, seed=22).softmax(-1)),
        "tres": (["[CLS]", *WORDS[:2], "[SEP]"], normal(3, 3, 4, 4, seed=23).softmax(-1)),
    }
    return explorers.heads(**({"sentences": sentences, "name": "prueba"} | changes))


MAKERS = {clase: globals()[f"make_{clase}"] for clase in CLASES}


# --- Lo que se abre en el navegador ---------------------------------------------------------------

MASCARA = torch.tensor([[True] * 5, [False] * 5, *[[True, False, True, False, True]] * 3])
PASOS = explorers.stepper(
    WORDS, normal(2, 5, 3), normal(2, 5, 3, seed=1), normal(2, 5, 2, seed=2), mask=MASCARA,
    mask_label="relleno", row=2, name="pasos", question="¿A quién mira «banco»?", answer="A «río».",
)  # fmt: skip
PROYECTADO = explorers.stepper(
    WORDS,
    *[normal(5, 4)] * 3,
    projections=tuple(normal(2, 4, d, seed=d) for d in (3, 3, 2)),
    name="cabezas",
)
UNIDO = explorers.stepper(
    WORDS, *[normal(5, 4)] * 3, projections=tuple(normal(2, 4, d, seed=d) for d in (3, 3, 2)),
    output=normal(4, 6, seed=9), head_names=["sujeto", "objeto"],
    output_features=list("abcdef"), name="unido",
)  # fmt: skip
ANCHO = explorers.stepper(
    ["La", "desafortunada", "investigadora", "perdió", "todos", "sus", "cuadernos", "ayer"],
    *[normal(8, 8, seed=s) for s in (1, 2, 3)], name="ancho",
)  # fmt: skip
PLANO = explorers.plane(
    ["estación", "tren", "invierno"],
    [1.0, 1.0],
    [[1.0, 1.0], [2.4, 0.2], [0.3, 2.2]],
    self_index=0,
    query_word="estación",
    axes=("transporte", "clima"),
    controls=("words", "temperature"),
    name="estacion",
)
ENVOLVENTE = explorers.plane(
    ["a", "b", "c", "d"],
    [1.0, 0.5],
    [[2.0, 1.6], [-1.0, 2.0], [-2.0, -1.0], [0.0, 0.8]],
    name="envolvente",
)
MERGED = "La niña come y los niños comen: comían, comerán y comimos. ¿Comes tú? Comen 12 niñas."
SOFTMAX = make_softmax(name="softmax")
GIRO = explorers.rotation(
    [1.0, 0.2, 0.8, -0.3], [0.7, 0.9, 0.5, 0.6], base=100.0, places=40, name="giro"
)
TRES_PAREJAS = explorers.rotation(
    normal(6, seed=1), normal(6, seed=2), base=500.0, places=30, name="tres-parejas"
)
RELOJ = make_clock(places=40, position=5, other=8, name="reloj")
UNIONES_BPE = make_merges(
    bpe=BPE.train([MERGED] * 3, 90), unigram=Unigram.train([MERGED] * 3, 80), name="uniones"
)
CAMINOS = make_paths(
    kernel=2, goal=2, name="caminos", question="¿Con qué filtro?", answer="Con tres."
)
CABEZAS = make_heads(name="todas-las-cabezas", question="¿Quién mira a la anterior?")
PINTADA = make_mask(padding=2, window=2, prefix=3, name="pintada")


def pila(norma, *, d=6, **opciones):
    torch.manual_seed(5)
    partes = nn.ModuleList(
        EncoderBlock(attention.MultiHeadAttention(d, 2), FeedForward(d, 9), norm=norma, **opciones)
        for _ in range(2)
    )
    with torch.no_grad():
        for parametro in partes.parameters():
            parametro.add_(0.3 * torch.randn(parametro.shape))
    return partes


def sin_normas(partes):
    for bloque in partes:
        bloque.add_attention.norm = bloque.add_feed_forward.norm = nn.Identity()
    return partes


FLUJO = explorers.stream(
    WORDS, normal(5, 6, seed=4), {"Pre-LN": pila("pre"), "Post-LN": pila("post")},
    features=["nombre", "verbo", "número", "sujeto", "concuerda", "discuerda"], word=1,
    name="flujo", answer="La última, con Pre-LN.",
)  # fmt: skip
NADA = torch.cat([normal(5, 8), torch.zeros(1, 8, dtype=torch.float64)])
FLUJO_ANCHO = explorers.stream(
    ["la", "desafortunada", "investigadora", "perdió", "cuadernos", "ayer"],
    NADA,
    {
        "sin normalizar": sin_normas(pila("pre", d=8)),
        "RMSNorm": pila("pre", d=8, normalization="rms"),
        "RMSNorm después": pila("post", d=8, normalization="rms"),
    },
    word=5,
    name="flujo-ancho",
)
VOCABULARIO = [
    "⟨relleno⟩",
    "⟨inicio⟩",
    "⟨fin⟩",
    "they",
    "do",
    "not",
    "clean",
    "the",
    "white",
    "house",
]


def maquina(**opciones):
    torch.manual_seed(6)
    return Seq2Seq(Seq2SeqConfig(9, len(VOCABULARIO), d_model=8, n_heads=2, d_ff=16, **opciones))


def mapa(origen, destino, nombre, **opciones):
    numeros = ([3 + i % 6 for i in range(len(lado))] for lado in (origen, destino))
    uno, otro = numeros
    return explorers.architecture(
        maquina(**opciones), origen, destino, source_ids=uno, target_ids=otro,
        vocabulary=VOCABULARIO, links={"cross": ("la sección", "#cruzada")}, name=nombre,
    )  # fmt: skip


MAPA = mapa(
    ["no", "limpian", "la", "casa", "blanca"],
    ["⟨inicio⟩", "they", "do", "not", "clean", "the"],
    "mapa",
    n_decoder_layers=3,
)
MAPA_ANCHO = mapa(
    ["no", "comprenden", "las", "explicaciones", "de", "la", "profesora", ".", "⟨fin⟩"],
    ["⟨inicio⟩", *VOCABULARIO[2:]],
    "mapa-ancho",
    norm_first=False,
    final_norm=False,
)
SUMADOR = adder("758 + 469", name="sumador", inside=True)
CONTINUACION = make_completion(
    name="continuacion",
    context=6,
    question="¿Qué pasa si baja la temperatura?",
    answer="Que se repite.",
)
HUECO = make_cloze(name="hueco", question="¿Cuál hace cambiar el género?", answer="El artículo.")
RANGO = explorers.lowrank(
    normal(20, 4, seed=3) @ normal(4, 24, seed=4) + 0.1 * normal(20, 24, seed=5),
    others={"barajado": normal(20, 24, seed=6), "W": normal(9, 30, seed=7)},
    scores={"el mejor": [1 - 0.5**r for r in range(13)], "al azar": [r / 24 for r in range(13)]},
    scored="Cuánto acierta", said="Así acierta", most=12, start=1, name="rango",
    question="¿Qué rango recoge casi todo?", answer="El 4.",
)  # fmt: skip
TERRENO = make_landscape(name="terreno", beta=0.7, answer="Desde 3.")
TALLA = make_budget(name="talla", answer="Con 64.")
TROZOS = make_online(name="trozos", answer="Con el mayor delante.")
HOJA = make_sketch(name="hoja", start=1, question="¿Qué dice si se corre?", answer="Otra cosa.")
PARCHES = patches(
    {"la llevada": ("458 + 367", "408 + 317"), "todo nueves": ("459 + 542", "458 + 541")},
    name="parches", question="¿Qué columna la devuelve?", answer="Las centenas.",
)  # fmt: skip
REPARTO = make_claims(name="reparto", answer="Al acercarse a otra.")
OIDO = make_hearing(name="oido", moves=1, answer="Con mucho.")
FRASES_DEL_HAZ = {
    "no": {"limpian": 1.0},
    "limpian": {"la": 0.6, "nada": 0.4},
    "la": {"casa": 0.5, "calle": 0.3, "mesa": 0.2},
    "nada": {".": 0.9, "más": 0.1},
} | dict.fromkeys(("casa", "calle", "mesa", "más"), {".": 1.0})
DEL_HAZ = ["<fin>", "no", "limpian", "la", "nada", "casa", "calle", "mesa", "más", "."]


def paso_de_tabla(ids, estado):
    filas = [FRASES_DEL_HAZ.get(DEL_HAZ[i], {"<fin>": 1.0}) for i in ids[:, -1].tolist()]
    return torch.tensor([[f.get(p, 1e-6) for p in DEL_HAZ] for f in filas]).log(), estado


HAZ = explorers.beam(
    partial(beam_search, paso_de_tabla, torch.tensor([[1, 2]]), eos_id=0), DEL_HAZ, eos_id=0,
    widths=(1, 2, 4), penalties={"suma": by_total, "media": by_length(1), "Wu": by_wu(0.6)},
    name="haz",
)  # fmt: skip
SOLO_UNA = explorers.beam(
    partial(beam_search, paso_de_tabla, torch.tensor([[1, 2, 4]]), eos_id=0), DEL_HAZ, eos_id=0,
    widths=(1, 3), penalties={"suma": by_total}, max_length=2, name="solo-una",
    question="¿Cambia algo con anchura 3?", answer="No.",
)  # fmt: skip
VERDAD = torch.softmax(normal(3, 30, seed=8), -1) * (normal(3, 30, seed=9) > -0.5)
SORTEO = explorers.sampling(
    2 * normal(3, 30, seed=6) * torch.tensor([[2.0], [0.3], [1.0]]),
    [f"palabra{i}" for i in range(30)], ["la casa es", "no", "los perros de la vecina están"],
    truth=VERDAD / VERDAD.sum(-1, keepdim=True), name="sorteo",
)  # fmt: skip
EMPATES = explorers.sampling(
    [[1.0, 2.0, 2.0, 0.0, 2.0, 1.0]], list("abcdef"), ["tras"], name="empates"
)


def ejecuciones(calienta):
    """Una malla de ejecuciones inventadas; de una se pierden dos semillas, y de otra, todas."""
    calendarios = ("constant", "noam", "cosine", "stable", "none")
    malla = itertools.product(("pre", "post"), (0.0003, 0.01), calendarios)
    hechas = [
        {
            "schedule": calendario, "norm": norma, "rate": tasa,
            "curves": (normal(3, 5, seed=i) + 3).tolist(),
            "exact": (normal(3, seed=i) / 9 + 0.5).tolist(),
        }
        for i, (norma, tasa, calendario) in enumerate(malla)
    ]  # fmt: skip
    hechas[2]["curves"] = [[5.0, None, None, None, None], [4.0] * 5, [3.0, 3.5, None, None, None]]
    hechas[6]["curves"] = [[None] * 5] * 3
    return {"recipe": {"steps": 50, "window": 10, "warmup": calienta}, "runs": hechas}


CALENDARIO = explorers.schedule(ejecuciones(12), name="calendario", answer="El coseno.")
SIN_SUBIDA = explorers.schedule(ejecuciones(0), start={"norm": "post"}, name="sin-subida")
MUESTRAS = {uno.name: uno for uno in list(globals().values()) if isinstance(uno, base.Explorer)}
