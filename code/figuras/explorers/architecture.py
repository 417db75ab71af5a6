"""El explorador del mapa: qué entra y qué sale de cada parte de un Transformer, con números."""

from __future__ import annotations

import copy
import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor, nn

from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig
from figuras import plots
from figuras.diagrams.transformer import Box, fitting, places
from figuras.explorers.base import Explorer, Texts, check_labels, check_table

__all__ = ["ArchitectureExplorer", "architecture"]

_TARGET = 45.2  # puntos que mide, como poco, lo que se toca: 44 px en un teléfono
_STACKS = {"encoder": "codificador", "decoder": "decodificador"}
_SUBLAYERS = {
    "attention": ("autoatención", "self"),
    "cross_attention": ("atención cruzada", "cross"),
    "feed_forward": ("red densa", "feed_forward"),
}
TOPICS = (
    "embedding", "positions", "norm", "sum", "self", "causal", "cross", "feed_forward", "memory",
    "project", "softmax",
)  # fmt: skip
"""De qué puede haber un enlace: los asuntos de las partes."""


@dataclass(frozen=True)
class _Part:
    """Una parte del mapa: qué hace, qué lee, qué da y cuántos parámetros tiene.

    ``reads`` y ``gives`` son parejas (rótulo, tabla); «{b}», en una tabla, es el bloque.
    """

    key: str
    title: str
    says: str
    topic: str
    reads: tuple[tuple[str, str], ...]
    gives: tuple[tuple[str, str], ...]
    small: int
    base: int
    formulas: tuple[str, str] = ("", "")  # las dos cuentas, en letras

    @property
    def stack(self) -> str | None:
        """La pila en cuyos bloques se repite, si se repite."""
        stack, *rest = self.key.split(".")
        return stack if stack in _STACKS and rest != ["norm"] else None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ArchitectureExplorer(Explorer):
    """El explorador del mapa. Se construye con :func:`architecture`.

    ``tables`` guarda lo que pasa por cada cable: ``(m, d)`` o ``(n, d)`` y, en las atenciones,
    ``(h, consultas, claves)``; ``best``, las tres palabras más probables en cada posición.
    """

    kind: ClassVar[str] = "architecture"
    pieces: ClassVar[tuple[str, ...]] = ()
    words: dict[str, tuple[str, ...]]
    ids: dict[str, tuple[int, ...]]
    parts: tuple[_Part, ...]
    tables: dict[str, Tensor]
    best: tuple[tuple[tuple[str, float], ...], ...]
    shapes: dict[str, tuple[str, tuple[int, ...]]]
    layers: dict[str, int]
    norm: str
    tied: bool
    links: dict[str, tuple[str, str]]
    title: str = "El mapa, parte a parte"
    question: str | None = "¿Qué caja recibe filas de las dos frases? ¿Cuáles no tienen parámetros?"
    name: str = "mapa"

    def compute(self, part: str, block: int = 0) -> dict[str, list[Tensor]]:
        """Las tablas que entran en ``part`` y las que salen, en su bloque ``block``: ``(m, d)`` o
        ``(n, d)``, y los pesos ``(h, consultas, claves)``.
        """
        found = next(one for one in self.parts if one.key == part)
        names = {"reads": found.reads, "gives": found.gives}
        return {
            way: [self.tables[name.format(b=block)] for _, name in pairs if name]
            for way, pairs in names.items()
        }

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript."""
        return {
            "words": self.words,
            "ids": self.ids,
            "parts": [self._part(part) for part in self.parts],
            "tables": _once(self.tables),
            "best": self.best,
            "shapes": self.shapes,
            "layers": self.layers,
        }

    def _part(self, part: _Part) -> dict[str, Any]:
        return {
            "key": part.key,
            "title": part.title,
            "says": part.says,
            "stack": part.stack,
            "reads": part.reads,
            "gives": part.gives,
            "small": part.small,
            "base": _grouped(part.base),
            "formulas": part.formulas,
            "link": self.links.get(part.topic),
            "spot": self._drawn[1][part.key],
        }

    @cached_property
    def _drawn(self) -> tuple[str, dict[str, tuple[float, ...]]]:
        """El dibujo y, de cada parte, su sitio en tantos por ciento: izquierda, arriba, ancho,
        alto.
        """
        sentences = {side: fitting(words) for side, words in self.words.items()}
        figure, boxes = places(sentences, norm=self.norm, tied=self.tied)
        markup = plots.render(figure, name=f"fig-{self.name}", alt=self._alt())
        svg = markup[markup.index("<svg") : markup.index("</svg>") + 6]
        frame = re.search(r'viewBox="([\d. -]+)"', svg)[1]
        left, top, width, height = (float(number) for number in frame.split())
        return svg, {
            key: (
                round(100 * min(max(x - left, 0), width - w) / width, 2),  # sin salirse del dibujo
                round(100 * (y - top) / height, 2),
                round(100 * w / width, 2),
                round(100 * h / height, 2),
            )
            for key, (x, y, w, h) in _touchable(boxes, self.norm).items()
        }

    def _alt(self) -> str:
        return (
            "El Transformer entero: el codificador lee "
            f"{len(self.words['source'])} palabras y deja la memoria; el decodificador la mira y"
            f" escribe tras {len(self.words['target'])}."
        )

    def static(self) -> str:
        """El dibujo y una tabla con cada parte, su forma, sus parámetros y dónde se enseña."""
        head = ("parte", "sale", "parámetros", "en «base»", "se enseña en")
        columns = "".join(f'<th scope="col">{text}</th>' for text in head)
        rows = "".join(self._row(part) for part in self.parts)
        return (
            f'<div class="machine">{self._drawn[0]}</div>'
            f"<table><caption>Las partes, de la entrada a la salida</caption>"
            f"<thead><tr>{columns}</tr></thead><tbody>{rows}</tbody></table>"
        )

    def _row(self, part: _Part) -> str:
        gives = " y ".join(self._shape(name) for _, name in part.gives)
        link = self.links.get(part.topic)
        taught = f'<a href="{html.escape(link[1])}">{html.escape(link[0])}</a>' if link else "aquí"
        cells = (gives, _grouped(part.small), _grouped(part.base))
        return (
            f'<tr><th scope="row">{html.escape(part.title)}</th>'
            + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
            + f"<td>{taught}</td></tr>"
        )

    def _shape(self, name: str) -> str:
        symbols, sizes = self.shapes[name]
        return f"{symbols} = {' × '.join(map(str, sizes))}"

    def summary(self) -> str:
        """Una línea para la terminal."""
        return (
            f"El mapa del Transformer: {len(self.parts)} partes, {len(self.words['source'])}"
            f" palabras de origen y {len(self.words['target'])} de destino"
        )


def _touchable(boxes: Mapping[str, Box], norm: str) -> dict[str, Box]:
    """Las cajas, ensanchadas si son menudas: las frases de abajo crecen hacia abajo; en Post-LN, la
    suma crece hacia abajo y su norma, hacia arriba. Por el borde pueden pisar a una vecina; el
    centro de cada una es solo suyo.
    """
    found = {}
    for key, (x, y, w, h) in boxes.items():
        wide, tall = max(w, _TARGET), max(h, _TARGET)
        top = y - (tall - h) / 2
        if key in ("source", "target"):
            top = y - 4
        elif norm == "post" and key.endswith((".sum", ".norm")) and key.count(".") == 2:
            top = y - 3 if key.endswith(".sum") else y + h + 3 - tall
        found[key] = (x - (wide - w) / 2, top, wide, tall)
    return found


def _once(tables: Mapping[str, Tensor]) -> dict[str, Any]:
    """Las tablas, a tres decimales; la que repite otra es solo el nombre de esa."""
    found: dict[str, Any] = {}
    for name, table in tables.items():
        short = table.mul(1e3).round().div(1e3).tolist()
        found[name] = next((other for other, given in found.items() if given == short), short)
    return found


def _grouped(count: int) -> str:
    """Un número con espacio fino entre los miles desde cinco cifras."""
    return f"{count:,}".replace(",", "\u202f") if count >= 10_000 else str(count)


def architecture(
    model: Seq2Seq,
    source: Sequence[str],
    target: Sequence[str],
    *,
    source_ids: Sequence[int],
    target_ids: Sequence[int],
    vocabulary: Sequence[str],
    links: Mapping[str, tuple[str, str]] | None = None,
    base: Seq2SeqConfig | None = None,
    **texts: Unpack[Texts],
) -> ArchitectureExplorer:
    """Devuelve el explorador del mapa: el dibujo de :func:`figuras.diagrams.architecture` y, de
    cada parte de ``model``, lo que entra y lo que sale al leer ``source`` y escribir tras
    ``target``.

    ``source`` son m palabras y ``target``, n, con el comienzo delante: nueve como mucho;
    ``source_ids`` y ``target_ids``, sus números, y ``vocabulary``, las palabras del destino por su
    número. ``model`` mide como mucho 8 de ancho, 4 cabezas y 3 bloques en cada pila; las cuentas se
    hacen aquí, en float64 y sin descarte. ``base`` es el modelo con el que se comparan los
    parámetros: sin él, el «base» de 2017. ``links`` da, por asunto (:data:`TOPICS`), el texto y la
    dirección de donde se enseña. Sin ``answer``, se escribe la de la pregunta de siempre.

    Errores: ``ValueError`` si ``model`` no es un :class:`~atento.models.seq2seq.Seq2Seq` de ese
    tamaño, si las palabras y los números no casan o si un asunto no existe.
    """
    if not isinstance(model, Seq2Seq):
        raise ValueError(f"model: llegó {type(model).__name__}; se esperaba un Seq2Seq")
    _check_sizes(model.config)
    words = {
        "source": _check_words(source, source_ids, model.config.source_vocab, "source"),
        "target": _check_words(target, target_ids, model.config.target_vocab, "target"),
    }
    vocabulary = check_labels(vocabulary, "vocabulary", model.config.target_vocab, "número")
    unknown = sorted(set(links or {}) - set(TOPICS))
    if unknown:
        raise ValueError(f"links: «{unknown[0]}» no es un asunto; son {', '.join(TOPICS)}")
    tables, logits = _recorded(model, source_ids, target_ids)
    best = _best(logits, vocabulary)
    words["output"] = tuple(row[0][0] for row in best)
    ids = {"source": tuple(source_ids), "target": tuple(target_ids)}
    ids["output"] = tuple(logits.argmax(-1).tolist())
    parts = _Parts(model, base or Seq2SeqConfig.base()).listed()
    if texts.get("question", True):
        texts.setdefault("answer", _answer(parts))
    return ArchitectureExplorer(
        words=words, ids=ids, parts=parts, tables=tables, best=best, links=dict(links or {}),
        shapes=_shapes(tables, model.config, words), layers=_layers(model),
        norm="pre" if model.config.norm_first else "post", tied=model.config.tying != "none",
        **texts,
    )  # fmt: skip


def _check_sizes(config: Seq2SeqConfig) -> None:
    limits = {"d_model": 8, "n_heads": 4, "n_encoder_layers": 3, "n_decoder_layers": 3}
    for field, most in limits.items():
        if getattr(config, field) > most:
            raise ValueError(f"model: {field} es {getattr(config, field)}; caben {most} como mucho")
    if config.final_norm and not config.norm_first:
        raise ValueError("model: en el mapa no hay sitio para una norma final si va detrás")


def _check_words(
    words: Sequence[str], ids: Sequence[int], vocab: int, name: str
) -> tuple[str, ...]:
    found = check_labels(words, name, len(ids), "número")
    if not 1 <= len(found) <= 9:
        raise ValueError(f"{name}: llegaron {len(found)} palabras; caben de 1 a 9")
    if not all(isinstance(i, int) and 0 <= i < vocab for i in ids):
        raise ValueError(f"{name}_ids: llegó {list(ids)}; se esperaban enteros de 0 a {vocab - 1}")
    return found


def _layers(model: Seq2Seq) -> dict[str, int]:
    return {"encoder": len(model.encoder.blocks), "decoder": len(model.decoder.blocks)}


def _best(logits: Tensor, vocabulary: tuple[str, ...]) -> tuple:
    top = logits.softmax(-1).topk(min(3, logits.shape[-1]), dim=-1)
    return tuple(
        tuple((vocabulary[i], round(p, 3)) for p, i in zip(chances, found, strict=True))
        for chances, found in zip(top.values.tolist(), top.indices.tolist(), strict=True)
    )


def _answer(parts: Sequence[_Part]) -> str:
    free = dict.fromkeys(part.title.split(":")[0] for part in parts if not part.small)
    return (
        "La atención cruzada: las consultas son filas del decodificador, y las claves y los valores"
        " salen de la memoria, que tiene las del codificador. Sin parámetros propios: "
        + ", ".join(name[0].lower() + name[1:] for name in free)
        + "."
    )


# --- Lo que pasa por los cables -------------------------------------------------------------------


def _recorded(
    model: Seq2Seq, source_ids: Sequence[int], target_ids: Sequence[int]
) -> tuple[dict[str, Tensor], Tensor]:
    """Escucha una copia del modelo mientras lee y escribe."""
    twin, heard = copy.deepcopy(model).double().eval(), {}
    for side, embedding in (("source", twin.embed_source), ("target", twin.embed_target)):
        _listen_entry(heard, side, embedding)
    for stack in _STACKS:
        for b, block in enumerate(getattr(twin, stack).blocks):
            for sublayer in _SUBLAYERS:
                if hasattr(block, sublayer):
                    _listen(heard, f"{stack}.{b}.{sublayer}", block, sublayer)
    with torch.no_grad():
        encoded = twin.encode(torch.tensor([list(source_ids)]))
        heard["memory"] = encoded.states
        twin.project.register_forward_hook(
            lambda module, args, output: heard.__setitem__("decoder.end", args[0])
        )
        logits = twin.decode(torch.tensor([list(target_ids)]), encoded)
    tables = {
        name: check_table(table[0], "model", "(filas, columnas)", (2, 3))
        for name, table in heard.items()
    }
    return tables, check_table(logits[0], "model", "(n, vocab)", (2,))


def _listen_entry(heard: dict[str, Tensor], side: str, embedding: nn.Module) -> None:
    def tokens(module: nn.Module, args: Any, output: Tensor) -> None:
        heard[f"{side}.embedding"] = output * embedding.d_model**0.5

    def entry(module: nn.Module, args: Any, output: Tensor) -> None:
        heard[f"{side}.entry"] = output
        heard[f"{side}.positions"] = output - heard[f"{side}.embedding"]

    embedding.tokens.register_forward_hook(tokens)
    embedding.register_forward_hook(entry)


def _listen(heard: dict[str, Tensor], name: str, block: nn.Module, sublayer: str) -> None:
    """Lo que encuentra, lee, añade y deja una subcapa; y, si es una atención, sus pesos."""
    adder, module = getattr(block, f"add_{sublayer}"), getattr(block, sublayer)

    def around(residual: nn.Module, args: Any, output: Tensor) -> None:
        heard[f"{name}.in"], heard[f"{name}.out"] = args[0], output
        heard[f"{name}.total"] = args[0] + heard[f"{name}.added"]

    def update(dropout: nn.Module, args: Any, output: Tensor) -> None:
        heard[f"{name}.added"] = output

    def inside(module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        heard[f"{name}.read"] = args[0]
        if isinstance(output, tuple) and not kwargs.get("need_weights"):
            given = {**kwargs, "cache": None, "need_weights": True}
            heard[f"{name}.weights"] = module(*args, **given)[1]

    adder.register_forward_hook(around)
    adder.dropout.register_forward_hook(update)
    module.register_forward_hook(inside, with_kwargs=True)


def _shapes(
    tables: Mapping[str, Tensor], config: Seq2SeqConfig, words: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, tuple[int, ...]]]:
    """De cada tabla, su forma en letras y en números; los bloques miden todos lo mismo."""
    found: dict[str, tuple[str, tuple[int, ...]]] = {}
    for name, table in tables.items():
        general = re.sub(r"\.\d+\.", ".{b}.", name)
        rows = "m" if name.startswith(("source", "encoder", "memory")) else "n"
        symbols = f"{rows} × d"
        if name.endswith(".weights"):
            symbols = f"h × {rows} × {'m' if 'cross' in name or rows == 'm' else 'n'}"
        found[general] = (symbols, tuple(table.shape))
    n = len(words["target"])
    found["source"], found["target"] = ("m", (len(words["source"]),)), ("n", (n,))
    found["logits"] = found["scores"] = ("n × V", (n, config.target_vocab))
    found["output"] = ("n", (n,))
    return found


# --- Las partes -----------------------------------------------------------------------------------


class _Parts:
    """Las partes de un modelo, con sus parámetros: los suyos, contados, y los de «base», por la
    fórmula.
    """

    def __init__(self, model: Seq2Seq, base: Seq2SeqConfig) -> None:
        self.model, self.config, self.base = model, model.config, base

    def listed(self) -> tuple[_Part, ...]:
        """De la entrada a la salida."""
        made = [*self._entry("source"), *self._stack("encoder")]
        memory = (("lo que deja la pila", "memory"),)
        made.append(
            _Part(
                "memory", "Memoria Z", "Lo que deja el codificador: una fila por palabra"
                " del origen. La leen todos los bloques del decodificador, como claves y valores.",
                "memory", (), memory, 0, 0,
            )
        )  # fmt: skip
        return (*made, *self._entry("target"), *self._stack("decoder"), *self._exit())

    def _count(self, formula: Callable[[Seq2SeqConfig], int], module: nn.Module) -> dict[str, int]:
        """Los del modelo se cuentan; los de «base» salen de la fórmula."""
        counted = sum(p.numel() for p in module.parameters())
        return {"small": counted, "base": formula(self.base)}

    def _entry(self, side: str) -> list[_Part]:
        name = {"source": "origen", "target": "destino"}[side]
        module = getattr(self.model, f"embed_{side}")
        one, other, both = (f"{side}.{kind}" for kind in ("embedding", "positions", "entry"))
        shared = side == "target" and self.config.tying == "all"
        sizes = self._count(lambda c: c.d_model * getattr(c, f"{side}_vocab"), module.tokens)
        sizes["base"] *= not (side == "target" and self.base.tying == "all")
        sizes["small"] *= not shared
        learned = sum(p.numel() for p in module.parameters()) - module.tokens.weight.numel()
        ids = (("los números de las palabras", side),)
        return [
            _Part(side, f"Frase de {name}", f"Las palabras del {name}, por su número.", "embedding",
                  (), ids, 0, 0),
            _Part(f"{side}.embedding", f"Embedding del {name}",
                  f"Busca la fila de cada palabra en la tabla del {name} y la multiplica por √d."
                  + _shared(shared, sizes["base"] == 0),
                  "embedding", ids, (("√d · E[ids]", one),), **sizes, **self._told("V · d", sizes)),
            _Part(f"{side}.positions", f"Posiciones del {name}",
                  "Una fila por posición, sea cual sea la palabra.", "positions", (),
                  (("p", other),), learned, 0),
            _Part(f"{side}.sum", f"Suma: lo que entra con el {name}",
                  "Embedding y posición, sumados: lo que entra en la pila.", "positions",
                  (("embedding", one), ("posición", other)), (("entrada", both),), 0, 0),
        ]  # fmt: skip

    def _stack(self, stack: str) -> list[_Part]:
        blocks, made = getattr(self.model, stack).blocks, []
        for sublayer in _SUBLAYERS:
            if hasattr(blocks[0], sublayer):
                made += self._sublayer(stack, sublayer, blocks[0])
        final = getattr(self.model, stack).final_norm
        if self.config.norm_first:
            last = f"{stack}.{len(blocks) - 1}.feed_forward.out"
            after = "memory" if stack == "encoder" else "decoder.end"
            says = "Una vez, tras el último bloque: en Pre-LN nada más normaliza la salida."
            count = {"small": 0, "base": 0}
            if final is not None:
                formula = lambda c: 2 * c.d_model if c.final_norm else 0  # noqa: E731
                count = self._count(formula, final)
            made.append(
                _Part(f"{stack}.norm", f"Norma final del {_STACKS[stack]}", says, "norm",
                      (("queda tras el último bloque", last),), (("normalizado", after),), **count,
                      **self._told("2 · d", count))
            )  # fmt: skip
        return made

    def _sublayer(self, stack: str, sublayer: str, block: nn.Module) -> list[_Part]:
        """La norma, la subcapa y la suma."""
        title, topic = _SUBLAYERS[sublayer]
        causal = stack == "decoder" and sublayer == "attention"
        title += " causal" if causal else ""
        where = f"del {_STACKS[stack]}" if sublayer != "cross_attention" else ""
        table, key = f"{stack}.{{b}}.{sublayer}", f"{stack}.{sublayer}"
        adder, module = getattr(block, f"add_{sublayer}"), getattr(block, sublayer)
        before, after = f"{table}.in", f"{table}.out"
        pre = self.config.norm_first
        norm = _Part(
            f"{key}.norm", f"Norma de la {title}",
            "Normaliza, fila a fila, lo que la subcapa va a leer." if pre
            else "Normaliza, fila a fila, la suma.",
            "norm", (("flujo", before if pre else f"{table}.total"),),
            (("normalizado", f"{table}.read" if pre else after),),
            **self._count(lambda c: 2 * c.d_model, adder.norm), formulas=("2 · d", "2 · d"),
        )  # fmt: skip
        body = _Part(
            key, f"{title} {where}".strip().capitalize(), _SAYS["causal" if causal else topic],
            "causal" if causal else topic, self._reads(sublayer, table),
            self._gives(sublayer, table),
            **self._count(_densely if sublayer == "feed_forward" else _attending, module),
            formulas=(self._formula(sublayer, self.config), self._formula(sublayer, self.base)),
        )  # fmt: skip
        total = _Part(
            f"{key}.sum", f"Suma: lo que había y lo que añade la {title}",
            "La conexión residual: al flujo solo se le suma.", "sum",
            (("había", before), ("se añade", f"{table}.added")), (("queda", f"{table}.total"),),
            0, 0,
        )  # fmt: skip
        return [norm, body, total] if pre else [body, total, norm]

    @staticmethod
    def _reads(sublayer: str, table: str) -> tuple[tuple[str, str], ...]:
        if sublayer == "feed_forward":
            return (("cada fila, por su cuenta", f"{table}.read"),)
        if sublayer == "attention":
            return (("de aquí salen Q, K y V", f"{table}.read"),)
        return (("de aquí sale Q", f"{table}.read"), ("de aquí salen K y V: Z", "memory"))

    @staticmethod
    def _gives(sublayer: str, table: str) -> tuple[tuple[str, str], ...]:
        added = ("lo que añade", f"{table}.added")
        if sublayer == "feed_forward":
            return (added,)
        return (("pesos, una matriz por cabeza", f"{table}.weights"), added)

    @staticmethod
    def _formula(sublayer: str, config: Seq2SeqConfig) -> str:
        if sublayer == "feed_forward":
            return "2 · d · d_ff + d_ff + d"
        return "4 · d² + 4 · d" if config.attention_bias else "4 · d²"

    @staticmethod
    def _told(formula: str, counts: Mapping[str, int]) -> dict[str, tuple[str, str]]:
        """La fórmula, donde la cuenta no es cero."""
        return {"formulas": tuple(formula if counts[way] else "" for way in ("small", "base"))}

    def _exit(self) -> list[_Part]:
        tied = self.config.tying != "none"
        sizes = self._count(
            lambda c: c.d_model * c.target_vocab * (c.tying == "none"), self.model.project
        )
        sizes["small"] *= not tied
        scores, words = (("puntuaciones", "scores"),), (("la más probable de cada fila", "output"),)
        chances = (("probabilidades; aquí, las tres mayores", "logits"),)
        said = "Una puntuación por palabra del vocabulario y por fila."
        said += " La matriz es la de los embeddings: no se cuenta otra vez." if tied else ""
        return [
            _Part("project", "Generador", said, "project", (("lo que queda", "decoder.end"),),
                  scores, **sizes, **self._told("V · d", sizes)),
            _Part("softmax", "Softmax", "De puntuaciones a probabilidades, fila a fila.", "softmax",
                  scores, chances, 0, 0),
            _Part("output", "Palabra siguiente", "Cada fila propone la palabra que sigue a la suya."
                  " Al generar solo se usa la última.", "softmax", chances, words, 0, 0),
        ]  # fmt: skip


def _shared(here: bool, base: bool) -> str:
    """Dónde se comparte la tabla con la del origen."""
    if here:
        return " Es la misma del origen: no se cuenta otra vez."
    return " En «base» es la misma del origen: allí no se cuenta otra vez." if base else ""


_SAYS = {
    "self": "Cada palabra del origen mira a todas las del origen.",
    "causal": "Cada posición del destino mira a las anteriores y a sí misma.",
    "cross": "Cada posición del destino pregunta; la memoria del origen responde.",
    "feed_forward": "Transforma cada fila por su cuenta, con las mismas matrices para todas.",
}


def _attending(config: Seq2SeqConfig) -> int:
    return 4 * config.d_model**2 + (4 * config.d_model if config.attention_bias else 0)


def _densely(config: Seq2SeqConfig) -> int:
    return 2 * config.d_model * config.d_ff + config.d_ff + config.d_model
