"""Capítulo 15: diez semillas del que adivina palabras, con sus controles, y MiniLM, medido."""

from __future__ import annotations

import base64
import copy
import re
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from atento import rng, trained
from atento.masks import causal_mask
from atento.models.bert import (
    Bert,
    BertConfig,
    MaskedWords,
    SentenceClassifier,
    TokenClassifier,
    mask_tokens,
)
from atento.models.weights import minilm
from atento.tasks import agreement, prose
from atento.training import fit, warmup_cosine
from atento.watching import watching

CONFIG_15 = BertConfig(
    agreement.VOCAB_SIZE,
    d_model=64,
    n_heads=4,
    d_ff=128,
    n_layers=2,
    max_len=48,
    n_segments=3,
    init_std=0.05,
)
RECIPE_15: dict[str, Any] = {
    "sentences": 8000,
    "steps": 600,
    "batch_size": 64,
    "rate": 3e-3,
    "warmup": 60,
    "test_size": 500,
    "labelled": [8, 16, 32],
    "tune_steps": 100,
    "documents": 1500,
    "document_steps": 300,
}
SEEDS_15 = range(10)
WAYS = {
    "los dos lados": {},
    "solo la izquierda": {"causal": True},
    "sin concordancia": {"agree": False},
}


def optimizer(model: nn.Module, rate: float) -> torch.optim.Optimizer:
    """El AdamW de todo el capítulo."""
    return torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.98), fused=True)


def pretrain(seed: int, *, agree: bool = True, causal: bool = False) -> MaskedWords:
    """Aprende a adivinar palabras tapadas; con ``causal``, cada una ve solo las de su izquierda."""
    r = RECIPE_15
    rng.seed_all(seed)
    model, draws = MaskedWords(Bert(CONFIG_15)), rng.generator(seed)
    data = agreement.batch(agreement.generate(r["sentences"], draws, agree=agree))
    mask = causal_mask(data.shape[1]) if causal else None
    marks = (agreement.CLS_ID, agreement.SEP_ID)

    def lot(step: int) -> tuple[Tensor, Tensor]:
        chosen = torch.randint(len(data), (r["batch_size"],), generator=draws)
        options = {"vocab": agreement.VOCAB_SIZE, "mask_id": agreement.MASK_ID, "special": marks}
        return mask_tokens(data[chosen], draws, **options)

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        logits = model(batch[0], mask=mask)
        return F.cross_entropy(logits.flatten(0, 1), batch[1].flatten(), ignore_index=0)

    fit(
        model,
        lot,
        loss,
        steps=r["steps"],
        optimizer=optimizer(model, r["rate"]),
        schedule=warmup_cosine(r["steps"], warmup=r["warmup"]),
        progress=False,
    )
    return model.eval()


@torch.no_grad()
def examine(model: MaskedWords, seed: int, *, causal: bool = False) -> dict[str, Any]:
    """Las concordancias tapadas y los pares mínimos, en frases con parejas reservadas."""

    def reads(ids: Tensor) -> Tensor:
        return model(ids, mask=causal_mask(ids.shape[1]) if causal else None)

    test = agreement.generate(RECIPE_15["test_size"], rng.generator(1000 + seed), split="test")
    marks = agreement.score(reads, test)
    pairs = agreement.prefers(reads, agreement.minimal_pairs(test, 5 + seed))
    parts = {name: round(value, 3) for name, value in marks["by_part"].items()}
    return {"agree": round(marks["agree"], 4), "pairs": round(pairs, 4), "by_part": parts}


def tune(
    head: nn.Module, x: Tensor, y: Tensor, steps: int, segments: Tensor | None = None
) -> nn.Module:
    """Ajusta el modelo entero con unas etiquetas; −100 donde no hay."""
    draws = rng.generator(9)

    def lot(step: int) -> tuple[Tensor, Tensor, Tensor | None]:
        i = torch.randint(len(x), (min(32, len(x)),), generator=draws)
        return x[i], y[i], None if segments is None else segments[i]

    def loss(head: nn.Module, batch: tuple[Tensor, Tensor, Tensor | None]) -> Tensor:
        logits = head(batch[0], batch[2])
        return F.cross_entropy(logits.flatten(0, -2), batch[1].flatten(), ignore_index=-100)

    schedule = warmup_cosine(steps, warmup=20)
    fit(
        head.train(),
        lot,
        loss,
        steps=steps,
        optimizer=optimizer(head, 1e-3),
        schedule=schedule,
        progress=False,
    )
    return head.eval()


@torch.no_grad()
def accuracy(head: nn.Module, x: Tensor, y: Tensor, segments: Tensor | None = None) -> float:
    """La parte de las etiquetas que acierta."""
    right = head(x, segments).argmax(-1) == y
    return round(right[y != -100].float().mean().item(), 3)


def nouns(labels: Tensor) -> Tensor:
    """Las etiquetas de los dos nombres, que son las que hay que pensar."""
    return labels.masked_fill(labels == 0, -100)


def tagging(
    bert: Bert, seed: int, names: tuple[str, ...] = ("preentrenado", "desde cero")
) -> dict[str, dict[str, float]]:
    """Quién actúa y quién recibe, con pocas frases etiquetadas, desde lo aprendido y desde cero."""
    test = agreement.generate(RECIPE_15["test_size"], rng.generator(2000 + seed), split="test")
    found: dict[str, dict[str, float]] = {}
    for n in RECIPE_15["labelled"]:
        train = agreement.generate(n, rng.generator(3000 + seed))
        found[str(n)] = {}
        for name in names:
            rng.seed_all(seed)
            start = Bert(CONFIG_15) if name == "desde cero" else copy.deepcopy(bert)
            head = TokenClassifier(start, len(agreement.ROLES))
            tune(head, agreement.batch(train), agreement.labels(train), RECIPE_15["tune_steps"])
            wanted = nouns(agreement.labels(test))
            found[str(n)][name] = accuracy(head, agreement.batch(test), wanted)
    return found


def documents(n: int, seed: int, split: str) -> tuple[Tensor, Tensor, Tensor]:
    """Expedientes de tres secciones en cualquier orden: números, secciones y si el fallo es bueno.

    Cada sección es una frase sin «no»; la última clase de sección, 2, es la del fallo.
    """
    draws = rng.generator(seed)
    pool = [s for s in agreement.generate(8 * n, draws, split=split) if "no" not in s.words]
    rows, sections, good = [], [], []
    for i in range(n):
        part, row, kinds = pool[3 * i : 3 * i + 3], [agreement.CLS_ID], [0]
        for kind in torch.randperm(3, generator=draws).tolist():
            words = [*agreement.encode(part[kind].words), agreement.SEP_ID]
            row, kinds = [*row, *words], [*kinds, *[kind] * len(words)]
        rows, sections, good = [*rows, row], [*sections, kinds], [*good, int(part[2].positive)]
    width = max(map(len, rows))
    padded = ([x + [0] * (width - len(x)) for x in table] for table in (rows, sections))
    ids, segments = (torch.tensor(table) for table in padded)
    return ids, segments, torch.tensor(good)


def reading_documents(bert: Bert, seed: int) -> dict[str, float]:
    """Si el fallo es bueno, sabiendo en qué sección está cada palabra y sin saberlo."""
    x, sections, y = documents(RECIPE_15["documents"], 4000 + seed, "train")
    test, test_sections, wanted = documents(RECIPE_15["test_size"], 5000 + seed, "test")
    found = {}
    for name, given in (("con secciones", True), ("sin secciones", False)):
        rng.seed_all(seed)
        head = SentenceClassifier(copy.deepcopy(bert), 2, pooling="mean")
        tune(head, x, y, RECIPE_15["document_steps"], sections if given else None)
        found[name] = accuracy(head, test, wanted, test_sections if given else None)
    return found


def run(seed: int) -> dict[str, Any]:
    """Todo lo de una semilla."""
    models = {name: pretrain(seed, **way) for name, way in WAYS.items()}
    marks = {
        name: examine(model, seed, causal=WAYS[name].get("causal", False))
        for name, model in models.items()
    }
    bert = models["los dos lados"].bert
    return {
        "seed": seed,
        "marks": marks,
        "tagging": tagging(bert, seed),
        "documents": reading_documents(bert, seed),
    }


def scrambled() -> dict[str, Any]:
    """El mismo etiquetado desde quien se preentrenó con formas sorteadas: el control."""
    name = "formas sorteadas"
    berts = (pretrain(seed, agree=False).bert for seed in SEEDS_15)
    return {"tagging": [tagging(bert, seed, (name,)) for seed, bert in enumerate(berts)]}


def stored_agreement() -> tuple[MaskedWords, dict[str, Any]]:
    """El modelo que se mira por dentro."""
    model = trained.rounded(pretrain(0))
    return model, {"recipe": RECIPE_15, "seed": 0, "marks": examine(model, 0)}


# --- MiniLM ---------------------------------------------------------------------------------------

# Escritas antes de mirar nada: en español y en inglés, con su respuesta y el capítulo en que está.
QUESTIONS = [
    (
        "¿Por qué se divide entre la raíz de la anchura de la clave?",
        "Why are the scores divided by the square root of the key width?",
        "Para que las puntuaciones no crezcan con la anchura y la softmax no se sature.",
        "So that the scores do not grow with the width and the softmax does not saturate.",
        "04",
    ),
    (
        "¿Qué pasa si se entrena sin la máscara que tapa el futuro?",
        "What happens if you train without the mask that hides the future?",
        "La pérdida baja casi a cero y el modelo no sabe generar, porque ha visto las respuestas.",
        "The loss drops almost to zero and the model cannot generate: it has seen the answers.",
        "07",
    ),
    (
        "¿Para qué sirve tener varias cabezas?",
        "What are several heads good for?",
        "Cada cabeza reparte sus pesos de otra manera, y así se atienden dos relaciones a la vez.",
        "Each head spreads its weights in its own way, so two relations are attended at once.",
        "06",
    ),
    (
        "¿Cómo sabe el modelo en qué orden van las palabras?",
        "How does the model know the order of the words?",
        "Se suma a cada palabra un vector que depende de su lugar en la frase.",
        "A vector that depends on its place in the sentence is added to each word.",
        "08",
    ),
    (
        "¿Qué es girar las consultas y las claves según su posición?",
        "What does it mean to rotate queries and keys by their position?",
        "Una codificación en que el producto solo depende de la distancia entre las dos palabras.",
        "An encoding in which the product depends only on the distance between the two words.",
        "09",
    ),
    (
        "¿Qué cambia si la normalización va antes o después de la subcapa?",
        "What changes if normalization goes before or after the sublayer?",
        "Delante, el gradiente llega entero a las primeras capas y no hace falta calentamiento.",
        "In front, the gradient reaches the first layers whole and no warm-up is needed.",
        "10",
    ),
    (
        "¿Cuántos parámetros tiene el modelo de 2017?",
        "How many parameters does the 2017 model have?",
        "Unos sesenta y tres millones, contando una sola vez la matriz compartida.",
        "About sixty-three million, counting the shared matrix only once.",
        "11",
    ),
    (
        "¿Cómo se elige la tasa de aprendizaje?",
        "How do you choose the learning rate?",
        "Se prueban varias durante pocos pasos y se toma la mayor que no diverge.",
        "Try several for a few steps and take the largest one that does not diverge.",
        "12",
    ),
    (
        "¿Qué es la enseñanza forzada?",
        "What is teacher forcing?",
        "Al entrenar, el decodificador recibe las palabras correctas y no las que él escribió.",
        "During training the decoder receives the right words instead of the ones it wrote.",
        "12",
    ),
    (
        "¿Por qué un modelo voraz se repite sin parar?",
        "Why does a greedy model repeat itself forever?",
        "Lo que ya ha escrito hace más probable volver a escribirlo, y cae en un bucle.",
        "What it has already written makes writing it again more likely, and it falls into a loop.",
        "13",
    ),
    (
        "¿Cómo aprende un Transformer a sumar con llevadas?",
        "How does a Transformer learn to add with carries?",
        "Mira las dos cifras de la columna y las que deciden si la anterior pasa de diez.",
        "It looks at both digits of the column and at those that decide the carry into it.",
        "14",
    ),
    (
        "¿Cómo se parte una palabra en trozos más pequeños?",
        "How is a word split into smaller pieces?",
        "Uniendo una y otra vez la pareja de símbolos más frecuente.",
        "By merging the most frequent pair of symbols again and again.",
        "02",
    ),
    (
        "¿Por qué una red recurrente falla con las frases largas?",
        "Why does a recurrent network fail on long sentences?",
        "Toda la frase tiene que caber en un solo vector de tamaño fijo.",
        "The whole sentence has to fit into a single vector of fixed size.",
        "03",
    ),
    (
        "¿Qué era nuevo en el artículo de 2017?",
        "What was new in the 2017 paper?",
        "Quitar la recurrencia y dejar solo la atención.",
        "Removing the recurrence and keeping only attention.",
        "01",
    ),
    (
        "¿Por qué la consulta y la clave salen de matrices distintas?",
        "Why do query and key come from different matrices?",
        "Con una sola, la puntuación es simétrica y no expresa relaciones que van en un sentido.",
        "With only one, the score is symmetric and cannot express one-way relations.",
        "05",
    ),
    (
        "¿Qué mide la entropía de una distribución?",
        "What does the entropy of a distribution measure?",
        "Cuánta incertidumbre queda antes de saber el resultado.",
        "How much uncertainty is left before knowing the outcome.",
        "00",
    ),
    (
        "¿Cómo se guardan las claves y los valores ya calculados al generar?",
        "How are the computed keys and values kept while generating?",
        "En una memoria que crece una fila por cada palabra escrita.",
        "In a cache that grows by one row for each written word.",
        "13",
    ),
    (
        "¿Qué hago si la pérdida deja de ser un número?",
        "What should I do if the loss is no longer a number?",
        "Buscar una división entre cero o una tasa demasiado alta, y recortar el gradiente.",
        "Look for a division by zero or too high a rate, and clip the gradient.",
        "12",
    ),
    (
        "¿Cómo se evita que una frase mire al relleno?",
        "How do you keep a sentence from looking at the padding?",
        "Con una máscara que pone menos infinito en esas puntuaciones.",
        "With a mask that sets those scores to minus infinity.",
        "07",
    ),
    (
        "¿Qué es una conexión residual?",
        "What is a residual connection?",
        "Sumar a la entrada de la subcapa lo que esta calcula.",
        "Adding what the sublayer computes to its own input.",
        "10",
    ),
    (
        "¿Se pueden hacer analogías restando vectores de palabras?",
        "Can you make analogies by subtracting word vectors?",
        "A veces, pero muchas veces basta el vecino más cercano sin restar nada.",
        "Sometimes, but often the nearest neighbour is enough without subtracting anything.",
        "02",
    ),
    (
        "¿Qué hace la búsqueda en haz?",
        "What does beam search do?",
        "Mantiene las mejores frases a medias y las alarga todas a la vez.",
        "It keeps the best partial sentences and extends them all at once.",
        "13",
    ),
    (
        "¿Por qué falla un modelo con frases más largas que las que vio?",
        "Why does a model fail on sentences longer than those it saw?",
        "Hay posiciones o distancias que nunca aparecieron al entrenar.",
        "There are positions or distances that never appeared in training.",
        "09",
    ),
    (
        "¿Qué es la atención cruzada?",
        "What is cross-attention?",
        "La que pregunta desde lo escrito y responde desde la entrada.",
        "The one that asks from the output and answers from the input.",
        "11",
    ),
]
SENTENCES = [
    "La gata negra duerme en la silla porque está cansada.",
    "El médico llamó a la pintora cuando llegó a su casa.",
    "The black cat sleeps on the chair because she is tired.",
    "The doctor called the painter when he arrived home.",
]
EXPLORED = [
    "La llave de los armarios está oxidada.",
    "El gato duerme y el perro vigila.",
    "La niña que llamó a su abuela llegó tarde.",
    "No limpian la casa blanca.",
    "Los niños leen un libro en casa.",
    "El banco cerró porque no tenía dinero.",
    "The key to the cabinets is rusty.",
    "The cat sleeps and the dog keeps watch.",
    "The girl who called her grandmother arrived late.",
    "They do not clean the white house.",
    "The children read a book at home.",
    "The bank closed because it had no money.",
]
ALIKE = [
    ("El gato duerme.", "Un felino está dormido.", "El banco sube los tipos."),
    ("Hoy llueve mucho.", "Cae una fuerte lluvia.", "Mañana juega el equipo."),
    ("The cat sleeps.", "A feline is asleep.", "The bank raises the rates."),
    ("It rains a lot today.", "Heavy rain is falling.", "The team plays tomorrow."),
]


def vectors(model: Any, texts: list[str]) -> Tensor:
    """Un vector por texto, de treinta y dos en treinta y dos."""
    return torch.cat([model.vectors(texts[i : i + 32]) for i in range(0, len(texts), 32)])


def counted(corpus: list[str], asked: list[str]) -> Tensor:
    """El parecido por palabras contadas, TF-IDF, de cada pregunta con cada texto."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    counter = TfidfVectorizer(strip_accents="unicode", sublinear_tf=True)
    table = counter.fit_transform(corpus)
    return torch.tensor((counter.transform(asked) @ table.T).toarray())


def passages() -> list[tuple[str, str]]:
    """Los párrafos de los capítulos numerados, de doce palabras o más, con su capítulo."""
    book = prose.load()
    numbered = (key for key in book.chapters if re.fullmatch(r"\d\d", key))
    lines = ((key, line) for key in numbered for line in book.chapters[key].split("\n"))
    return [(key, line) for key, line in lines if len(line.split()) >= 12]


def searching(model: Any) -> dict[str, Any]:
    """Los cinco párrafos del libro más parecidos a cada pregunta en español, de las dos maneras."""
    texts = passages()
    corpus, asked = [line for _, line in texts], [q[0] for q in QUESTIONS]
    scores = {
        "MiniLM": vectors(model, asked) @ vectors(model, corpus).T,
        "palabras": counted(corpus, asked),
    }
    top = {name: table.topk(5).indices.tolist() for name, table in scores.items()}
    return {
        "passages": len(texts),
        "words": round(sum(len(line.split()) for line in corpus) / len(corpus), 1),
        "chapters": {
            name: [[texts[j][0] for j in row] for row in rows] for name, rows in top.items()
        },
        "first": {name: [corpus[row[0]][:160] for row in rows] for name, rows in top.items()},
    }


def answering(model: Any) -> dict[str, dict[str, list[int]]]:
    """El puesto de la respuesta de cada pregunta entre las veinticuatro, en cada idioma."""
    places: dict[str, dict[str, list[int]]] = {}
    for name, ask, answer in (("español", 0, 2), ("inglés", 1, 3)):
        asked, answers = ([q[i] for q in QUESTIONS] for i in (ask, answer))
        scores = {
            "MiniLM": vectors(model, asked) @ vectors(model, answers).T,
            "palabras": counted(answers, asked),
        }
        places[name] = {
            way: [int((row > row[i]).sum()) + 1 for i, row in enumerate(table)]
            for way, table in scores.items()
        }
    crossed = (
        vectors(model, [q[0] for q in QUESTIONS]) @ vectors(model, [q[1] for q in QUESTIONS]).T
    )
    places["del español al inglés"] = {
        "MiniLM": [int((row > row[i]).sum()) + 1 for i, row in enumerate(crossed)]
    }
    return places


@torch.no_grad()
def looking(model: Any) -> list[dict[str, Any]]:
    """El peso que cada una de las 72 cabezas pone en las marcas, en tantos por ciento.

    Es la media sobre las demás piezas de la frase: (capa, cabeza).
    """
    seen = []
    for sentence in SENTENCES:
        with watching(model.model) as maps:
            model.model(model.batch([sentence]))
        weights = torch.stack([w[0] for w in maps.values()])  # (layer, head, n, n)
        on_marks = weights[:, :, 1:-1, [0, -1]].sum(-1).mean(-1)  # (layer, head)
        percent = (100 * on_marks).round().int().tolist()
        seen.append({"pieces": model.pieces(sentence), "on_marks": percent})
    return seen


def alike(model: Any) -> list[dict[str, Any]]:
    """El coseno de una frase con otra que dice lo mismo y con otra que no tiene que ver."""
    found = []
    for one, same, other in ALIKE:
        a, b, c = model.vectors([one, same, other])
        cosines = {"same": round((a @ b).item(), 3), "other": round((a @ c).item(), 3)}
        found.append({"sentences": [one, same, other], **cosines})
    return found


@torch.no_grad()
def maps() -> dict[str, Any]:
    """Los pesos de las 72 cabezas en unas frases, de palabra a palabra y de 0 a 255.

    De una palabra cortada en piezas se promedia lo que miran sus piezas y se suma lo que se las
    mira.
    """
    model = minilm()
    sentences = []
    for text in EXPLORED:
        with watching(model.model) as seen:
            model.model(model.batch([text]))
        weights = torch.stack([w[0] for w in seen.values()]).double()  # (layer, head, n, n)
        words, places = [], []
        for piece in model.pieces(text):
            if piece.startswith("##"):
                words[-1] += piece[2:]
            else:
                words.append(piece)
            places.append(len(words) - 1)
        joins = torch.eye(len(words), dtype=torch.double)[places]  # (n, words)
        whole = (joins / joins.sum(0)).mT @ weights @ joins  # (layer, head, words, words)
        content = bytes((255 * whole).round().to(torch.uint8).flatten().tolist())
        shape = list(whole.shape[:2])
        packed = base64.b64encode(content).decode()
        sentences.append({"text": text, "words": words, "shape": shape, "weights": packed})
    return {"sentences": sentences}


def with_minilm() -> dict[str, Any]:
    """Lo que se mide con los pesos de MiniLM, que pueden no estar donde se construye el libro."""
    model = minilm()
    fields = ("question", "english", "answer", "answer_english", "chapter")
    return {
        "questions": [dict(zip(fields, row, strict=True)) for row in QUESTIONS],
        "search": searching(model),
        "answers": answering(model),
        "heads": looking(model),
        "alike": alike(model),
    }


def chapter() -> dict[str, Any]:
    """Diez semillas con sus controles, y MiniLM."""
    runs = [run(seed) for seed in SEEDS_15]
    return {
        "recipe": RECIPE_15,
        "runs": runs,
        "scrambled": scrambled(),
        "minilm": with_minilm(),
        "maps": maps(),
    }


PESOS = {"concordancia": stored_agreement}
PARTES = {"minilm": with_minilm, "scrambled": scrambled, "maps": maps}
