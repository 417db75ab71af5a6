"""El explorador del mapa: qué entra y qué sale de cada parte de un Transformer, con números."""

from __future__ import annotations

import copy
import html
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor, nn

from atento.layers import Residual
from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig
from atento.watching import watching
from figuras import plots
from figuras.diagrams.transformer import Box, fitting, places
from figuras.explorers.base import Explorer, Texts, check_labels, check_table, static_table

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
    formulas: tuple[str, str]  # las dos cuentas, en letras

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
        return {
            way: [self.tables[name.format(b=block)] for _, name in getattr(found, way)]
            for way in ("reads", "gives")
        }

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript."""
        return {
            "words": self.words,
            "ids": self.ids,
            "parts": [
                asdict(part)
                | {"stack": part.stack, "base": _grouped(part.base)}
                | {"link": self.links.get(part.topic), "spot": self._drawn[1][part.key]}
                for part in self.parts
            ],
            "tables": _once(self.tables),
            "best": self.best,
            "shapes": self.shapes,
            "layers": self.layers,
        }

    @cached_property
    def _drawn(self) -> tuple[str, dict[str, tuple[float, ...]]]:
        """El dibujo y, de cada parte, su sitio en tantos por ciento: izquierda, arriba, ancho,
        alto.
        """
        sentences = {side: fitting(words) for side, words in self.words.items()}
        figure, boxes = places(sentences, norm=self.norm, tied=self.tied)
        alt = (
            f"El Transformer entero: el codificador lee {len(self.words['source'])} palabras y deja"
            " la memoria; el decodificador la mira y escribe tras"
            f" {len(self.words['target'])}."
        )
        markup = plots.render(figure, name=f"fig-{self.name}", alt=alt)
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

    def static(self) -> str:
        """El dibujo y una tabla con cada parte, su forma, sus parámetros y dónde se enseña."""
        head = ("parte", "sale", "parámetros", "en «base»", "se enseña en")
        rows = []
        for part in self.parts:
            shapes = [self.shapes[name] for _, name in part.gives]
            gives = " y ".join(f"{axes} = {' × '.join(map(str, sizes))}" for axes, sizes in shapes)
            counts = _grouped(part.small), _grouped(part.base)
            rows.append([part.title, gives, *counts, part.topic])
        table = static_table("Las partes, de la entrada a la salida", head, rows)

        def taught(topic: re.Match[str]) -> str:
            text, url = map(html.escape, self.links.get(topic[1], ("aquí", "")))
            return f'<td><a href="{url}">{text}</a></td></tr>' if url else f"<td>{text}</td></tr>"

        table = re.sub(r"<td>(\w+)</td></tr>", taught, table)
        return f'<div class="machine">{self._drawn[0]}</div>{table}'

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
    **texts: Unpack[Texts],
) -> ArchitectureExplorer:
    """Devuelve el explorador del mapa: el dibujo de :func:`figuras.diagrams.architecture` y, de
    cada parte de ``model``, lo que entra y lo que sale al leer ``source`` y escribir tras
    ``target``.

    ``source`` son m palabras y ``target``, n, con el comienzo delante: nueve como mucho;
    ``source_ids`` y ``target_ids``, sus números, y ``vocabulary``, las palabras del destino por su
    número. ``model`` mide como mucho 8 de ancho, 4 cabezas y 3 bloques en cada pila; las cuentas se
    hacen aquí, en float64 y sin descarte. Sus parámetros se comparan con los del «base» de 2017.
    ``links`` da, por asunto (:data:`TOPICS`), el texto y la dirección de donde se enseña.

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
    return ArchitectureExplorer(
        words=words, ids=ids, parts=_Parts(model).listed(), tables=tables, best=best,
        links=dict(links or {}), shapes=_shapes(tables, model.config, words),
        layers={stack: len(getattr(model, stack).blocks) for stack in _STACKS},
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


def _best(logits: Tensor, vocabulary: tuple[str, ...]) -> tuple:
    top = logits.softmax(-1).topk(min(3, logits.shape[-1]), dim=-1)
    return tuple(
        tuple((vocabulary[i], round(p, 3)) for p, i in zip(chances, found, strict=True))
        for chances, found in zip(top.values.tolist(), top.indices.tolist(), strict=True)
    )


# --- Lo que pasa por los cables -------------------------------------------------------------------


def _recorded(
    model: Seq2Seq, source_ids: Sequence[int], target_ids: Sequence[int]
) -> tuple[dict[str, Tensor], Tensor]:
    """Escucha una copia del modelo mientras lee y escribe."""
    twin, heard = copy.deepcopy(model).double().eval(), {}

    def listen(module: nn.Module, name: str, *, given: bool = False) -> None:
        """Apunta lo que da un módulo o, si se pide, lo que recibe (``given``)."""
        module.register_forward_hook(
            lambda _, args, output: heard.update({name: args[0] if given else output})
        )

    for side in ("source", "target"):
        listen(getattr(twin, f"embed_{side}"), f"{side}.entry")
    for path, residual in list(twin.named_modules()):
        if isinstance(residual, Residual):
            name = path.replace("blocks.", "").replace("add_", "")
            listen(residual, f"{name}.in", given=True)
            listen(residual, f"{name}.out")
            listen(residual.dropout, f"{name}.added")
            listen(twin.get_submodule(path.replace("add_", "")), f"{name}.read", given=True)
    listen(twin.project, "decoder.end", given=True)
    ids = {"source": torch.tensor([source_ids]), "target": torch.tensor([target_ids])}
    with torch.no_grad(), watching(twin) as maps:
        encoded = twin.encode(ids["source"])
        logits = twin.decode(ids["target"], encoded)
    heard |= {f"{path.replace('blocks.', '')}.weights": table for path, table in maps.items()}
    heard["memory"] = encoded.states
    for side, numbers in ids.items():
        rows = getattr(twin, f"embed_{side}").tokens(numbers) * model.config.d_model**0.5
        heard[f"{side}.embedding"], heard[f"{side}.positions"] = rows, heard[f"{side}.entry"] - rows
    for name in [name for name in heard if name.endswith(".added")]:
        heard[name.replace("added", "total")] = heard[name.replace("added", "in")] + heard[name]
    tables = {
        name: check_table(table[0], "model", "(filas, columnas)", (2, 3))
        for name, table in heard.items()
    }
    return tables, check_table(logits[0], "model", "(n, vocab)", (2,))


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
    """Las partes de un modelo, con sus parámetros y los del «base» de 2017."""

    def __init__(self, model: Seq2Seq) -> None:
        with torch.device("meta"):
            self.models = (model, Seq2Seq(Seq2SeqConfig.base()))
        self.counted: set[Tensor] = set()  # los que comparten dos partes son de la primera

    def listed(self) -> tuple[_Part, ...]:
        """De la entrada a la salida."""
        memory = self._part(
            "memory", "Memoria Z", "Lo que deja el codificador: una fila por palabra"
            " del origen. La leen todos los bloques del decodificador, como claves y valores.",
            "memory", (), (("lo que deja la pila", "memory"),),
        )  # fmt: skip
        return (
            *self._entry("source"), *self._stack("encoder"), memory,
            *self._entry("target"), *self._stack("decoder"), *self._exit(),
        )  # fmt: skip

    def _part(
        self, key: str, title: str, says: str, topic: str, reads: tuple, gives: tuple,
        module: str | None = None,
    ) -> _Part:  # fmt: skip
        """Una parte; ``module`` es el camino de lo que tiene sus parámetros."""
        small, base = (0, 0) if module is None else (self._count(m, module) for m in self.models)
        formulas = tuple(
            _formula(topic, model.config) if count else ""
            for model, count in zip(self.models, (small, base), strict=True)
        )
        told = _SHARED.get((topic, small == 0, base == 0), "") if module else ""
        return _Part(key, title, says + told, topic, reads, gives, small, base, formulas)

    def _count(self, model: Seq2Seq, path: str) -> int:
        """Los parámetros de un módulo, si lo hay, que no son de una parte anterior."""
        module = operator.attrgetter(path)(model) or nn.Identity()
        new = set(module.parameters()) - self.counted
        self.counted |= new
        return sum(p.numel() for p in new)

    def _entry(self, side: str) -> list[_Part]:
        name = {"source": "origen", "target": "destino"}[side]
        one, other, both = (f"{side}.{kind}" for kind in ("embedding", "positions", "entry"))
        ids = (("los números de las palabras", side),)
        return [
            self._part(side, f"Frase de {name}", f"Las palabras del {name}, por su número.",
                       "embedding", (), ids),
            self._part(one, f"Embedding del {name}",
                       f"Busca la fila de cada palabra en la tabla del {name} y la multiplica"
                       " por √d.",
                       "embedding", ids, (("√d · E[ids]", one),), f"embed_{side}.tokens"),
            self._part(other, f"Posiciones del {name}",
                       "Una fila por posición, sea cual sea la palabra.", "positions", (),
                       (("p", other),), f"embed_{side}"),
            self._part(f"{side}.sum", f"Suma: lo que entra con el {name}",
                       "Embedding y posición, sumados: lo que entra en la pila.", "positions",
                       (("embedding", one), ("posición", other)), (("entrada", both),)),
        ]  # fmt: skip

    def _stack(self, stack: str) -> list[_Part]:
        blocks, made = getattr(self.models[0], stack).blocks, []
        for sublayer in _SUBLAYERS:
            if hasattr(blocks[0], sublayer):
                made += self._sublayer(stack, sublayer)
        if self.models[0].config.norm_first:
            last = f"{stack}.{len(blocks) - 1}.feed_forward.out"
            after = "memory" if stack == "encoder" else "decoder.end"
            says = "Una vez, tras el último bloque: en Pre-LN nada más normaliza la salida."
            made.append(
                self._part(f"{stack}.norm", f"Norma final del {_STACKS[stack]}", says, "norm",
                           (("queda tras el último bloque", last),), (("normalizado", after),),
                           f"{stack}.final_norm")
            )  # fmt: skip
        return made

    def _sublayer(self, stack: str, sublayer: str) -> list[_Part]:
        """La norma, la subcapa y la suma."""
        title, topic = _SUBLAYERS[sublayer]
        if stack == "decoder" and sublayer == "attention":
            title, topic = f"{title} causal", "causal"
        where = f"del {_STACKS[stack]}" if sublayer != "cross_attention" else ""
        table, key = f"{stack}.{{b}}.{sublayer}", f"{stack}.{sublayer}"
        pre = self.models[0].config.norm_first
        before, added, total, after = (f"{table}.{x}" for x in ("in", "added", "total", "out"))
        read = f"{table}.read"
        reads = {
            "attention": (("de aquí salen Q, K y V", read),),
            "cross_attention": (("de aquí sale Q", read), ("de aquí salen K y V: Z", "memory")),
            "feed_forward": (("cada fila, por su cuenta", read),),
        }[sublayer]
        gives = (("pesos, una matriz por cabeza", f"{table}.weights"), ("lo que añade", added))
        norm = self._part(
            f"{key}.norm", f"Norma de la {title}",
            "Normaliza, fila a fila, lo que la subcapa va a leer." if pre
            else "Normaliza, fila a fila, la suma.",
            "norm", (("flujo", before if pre else total),),
            (("normalizado", read if pre else after),), f"{stack}.blocks.0.add_{sublayer}",
        )  # fmt: skip
        body = self._part(
            key, f"{title} {where}".strip().capitalize(), _SAYS[topic], topic, reads,
            gives[sublayer == "feed_forward" :], f"{stack}.blocks.0.{sublayer}",
        )  # fmt: skip
        plus = self._part(
            f"{key}.sum", f"Suma: lo que había y lo que añade la {title}",
            "La conexión residual: al flujo solo se le suma.", "sum",
            (("había", before), ("se añade", added)), (("queda", total),),
        )  # fmt: skip
        return [norm, body, plus] if pre else [body, plus, norm]

    def _exit(self) -> list[_Part]:
        scores, words = (("puntuaciones", "scores"),), (("la más probable de cada fila", "output"),)
        chances = (("probabilidades; aquí, las tres mayores", "logits"),)
        return [
            self._part("project", "Generador", "Una puntuación por palabra del vocabulario y por"
                       " fila.", "project", (("lo que queda", "decoder.end"),), scores, "project"),
            self._part("softmax", "Softmax", "De puntuaciones a probabilidades, fila a fila.",
                       "softmax", scores, chances),
            self._part("output", "Palabra siguiente", "Cada fila propone la palabra que sigue a la"
                       " suya. Al generar solo se usa la última.", "softmax", chances, words),
        ]  # fmt: skip


_SAYS = {
    "self": "Cada palabra del origen mira a todas las del origen.",
    "causal": "Cada posición del destino mira a las anteriores y a sí misma.",
    "cross": "Cada posición del destino pregunta; la memoria del origen responde.",
    "feed_forward": "Transforma cada fila por su cuenta, con las mismas matrices para todas.",
}
_SHARED = {
    ("embedding", True, True): " Es la misma del origen: no se cuenta otra vez.",
    ("embedding", False, True): " En «base» es la misma del origen: allí no se cuenta otra vez.",
    ("project", True, True): " La matriz es la de los embeddings: no se cuenta otra vez.",
}
"""Qué se dice de una matriz compartida, por su asunto y por si ya se contó, aquí y en «base»."""


def _formula(topic: str, config: Seq2SeqConfig) -> str:
    """La cuenta de los parámetros de una parte, en letras."""
    attention = "4 · d² + 4 · d" if config.attention_bias else "4 · d²"
    found = dict.fromkeys(("self", "causal", "cross"), attention)
    found |= {"embedding": "V · d", "project": "V · d", "norm": "2 · d"}
    return (found | {"feed_forward": "2 · d · d_ff + d_ff + d"}).get(topic, "")
