"""La puerta de :mod:`atento.models.bert`: la configuración, las frases, las cabezas y lo tapado."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from atento.amounts import (
    require_divisible,
    require_kind,
    require_number,
    require_positive,
    require_probability,
    require_size,
)
from atento.checks.layers import require_ids, require_option
from atento.checks.seq2seq import require_trailing
from atento.checks.training import config_of
from atento.shapes import (
    require_axis,
    require_boolean,
    require_floating,
    require_integer,
)

SIZES = ("vocab", "d_model", "n_heads", "d_ff", "n_layers", "max_len")

# --- La configuración -----------------------------------------------------------------------------


def fields(config: Any) -> None:
    """Lanza si un campo de ``BertConfig`` no es lo que su nombre dice."""
    for name in SIZES:
        require_size(getattr(config, name), name=name)
    for name in ("n_segments", "first_position"):
        require_size(getattr(config, name), name=name, least=0)
    require_divisible(config.d_model, config.n_heads, name="d_model", divisor_name="n_heads")
    if config.first_position >= config.max_len:
        raise ValueError(
            f"first_position: se esperaba menor que max_len = {config.max_len}; llegó "
            f"{config.first_position}."
        )
    require_kind(config.pooler, bool, name="pooler", wanted="True o False")
    for name in ("dropout", "attention_dropout"):
        require_probability(getattr(config, name), name=name)
    for name in ("norm_eps", "init_std"):
        require_positive(getattr(config, name), name=name)
    if config.pad_id is not None:
        require_size(config.pad_id, name="pad_id", least=0)
        _require_below(config.pad_id, config.vocab, name="pad_id")


def _require_below(value: int, vocab: int, *, name: str) -> None:
    if value >= vocab:
        raise ValueError(f"{name}: se esperaba menor que vocab = {vocab}; llegó {value}.")


def model(self: Any, config: Any) -> None:
    """Lanza ``TypeError`` si no llega una ``BertConfig``."""
    if not hasattr(config, "n_segments"):
        raise TypeError(f"config: se esperaba una BertConfig; llegó {type(config).__name__}.")


# --- Leer -----------------------------------------------------------------------------------------


def ids(self: Any, ids: Tensor) -> None:
    """Lanza si ``ids`` no son números del vocabulario, ``(batch, n)``."""
    require_ids(ids, self.config.vocab, name="ids")


def read(self: Any, ids: Tensor, segments: Tensor | None = None) -> None:
    """Lanza si ``ids`` no son frases que quepan o ``segments`` no es de su forma."""
    config = self.config
    require_ids(ids, config.vocab, name="ids")
    room = config.max_len - config.first_position
    if ids.shape[1] > room:
        raise ValueError(
            f"ids: se esperaban como mucho {room} columnas, que es lo que da la tabla de "
            f"posiciones; llegaron {ids.shape[1]}."
        )
    if segments is not None:
        _require_segments(segments, ids, config.n_segments)


def _require_segments(segments: Tensor, ids: Tensor, n_segments: int) -> None:
    if n_segments == 0:
        raise ValueError("segments: el modelo no los usa (n_segments = 0); no se esperaba ninguno.")
    require_ids(segments, n_segments, name="segments")
    if segments.shape != ids.shape:
        raise ValueError(
            f"segments: se esperaba la forma de ids, {tuple(ids.shape)}; llegó "
            f"{tuple(segments.shape)}."
        )


def forward(
    self: Any, ids: Tensor, segments: Tensor | None = None, mask: Tensor | None = None
) -> None:
    """Lanza si ``ids`` no lleva el relleno al final; lo demás, como :func:`read`."""
    read(self, ids, segments)
    if self.config.pad_id is not None:
        require_trailing(ids, self.config.pad_id, name="ids")


def summary(self: Any, states: Tensor) -> None:
    """Lanza si ``states`` no es ``(batch, n, d_model)`` o el modelo no resume."""
    if self.pooler is None:
        raise ValueError(
            "pooler: se esperaba un Bert hecho con pooler=True; llegó uno sin resumen."
        )
    _require_states(states)
    require_axis(
        states, -1, self.config.d_model, name="states", label="d_model", like="el constructor"
    )


def _require_states(states: Tensor) -> None:
    require_floating(states, name="states")
    if states.ndim != 3 or states.shape[1] == 0:
        raise ValueError(
            "states: se esperaba la forma (batch, n, d_model), con alguna posición; llegó "
            f"{tuple(states.shape)}."
        )


def mean_vector(states: Tensor, real: Tensor) -> None:
    """Lanza si ``real`` no es una máscara ``(batch, n)`` de las filas de ``states``."""
    _require_states(states)
    require_boolean(real, name="real")
    if real.shape != states.shape[:2]:
        raise ValueError(
            f"real: se esperaba la forma (batch, n) = {tuple(states.shape[:2])}, según states; "
            f"llegó {tuple(real.shape)}."
        )


def draw_normal(module: nn.Module, std: float) -> None:
    """Lanza si ``module`` no es un módulo o ``std`` no es positivo."""
    require_kind(module, nn.Module, name="module", wanted="un nn.Module")
    require_positive(std, name="std")


# --- Las cabezas ----------------------------------------------------------------------------------


def head(self: Any, bert: nn.Module) -> None:
    """Lanza ``TypeError`` si ``bert`` no es un ``Bert``."""
    if not hasattr(bert, "embed") or not hasattr(bert, "pooler"):
        raise TypeError(f"bert: se esperaba un Bert; llegó {type(bert).__name__}.")


def summarized(self: Any, bert: nn.Module) -> None:
    """Lanza también ``ValueError`` si no resume la frase."""
    head(self, bert)
    if bert.pooler is None:
        raise ValueError("bert: se esperaba uno hecho con pooler=True; llegó uno sin resumen.")


def sentence_classifier(
    self: Any, bert: nn.Module, n_classes: int, *, pooling: str = "cls"
) -> None:
    """Lanza si ``n_classes`` no es un entero positivo o ``pooling`` no es una de las dos."""
    require_option(pooling, ("cls", "mean"), name="pooling")
    if pooling == "cls":
        summarized(self, bert)
    token_classifier(self, bert, n_classes)


def token_classifier(self: Any, bert: nn.Module, n_classes: int) -> None:
    """Lanza si ``bert`` no es un ``Bert`` o ``n_classes`` no es un entero positivo."""
    head(self, bert)
    require_size(n_classes, name="n_classes")


def best_spans(start: Tensor, end: Tensor, *, max_length: int = 30) -> None:
    """Lanza si no son puntuaciones de la misma forma, ``(batch, n)``."""
    for name, scores in (("start", start), ("end", end)):
        require_floating(scores, name=name)
        if scores.ndim != 2 or scores.shape[1] == 0:
            raise ValueError(
                f"{name}: se esperaba la forma (batch, n), con alguna posición; llegó "
                f"{tuple(scores.shape)}."
            )
    if end.shape != start.shape:
        raise ValueError(
            f"end: se esperaba la forma de start, {tuple(start.shape)}; llegó {tuple(end.shape)}."
        )
    require_size(max_length, name="max_length")


# --- Los datos ------------------------------------------------------------------------------------


def pack(
    first: Sequence[Sequence[int]],
    second: Sequence[Sequence[int]] | None,
    cls_id: int,
    sep_id: int,
    pad_id: int,
) -> None:
    """Lanza si no son listas de frases, o no hay una segunda por cada primera."""
    for name, value in (("cls_id", cls_id), ("sep_id", sep_id), ("pad_id", pad_id)):
        require_size(value, name=name, least=0)
    _require_sentences(first, name="first")
    if not len(first):
        raise ValueError("first: se esperaba al menos una frase; no llegó ninguna.")
    if second is None:
        return
    _require_sentences(second, name="second")
    if len(second) != len(first):
        raise ValueError(
            f"second: se esperaba una frase por cada una de first, {len(first)}; llegaron "
            f"{len(second)}."
        )


def _require_sentences(value: Any, *, name: str) -> None:
    require_kind(value, (list, tuple), name=name, wanted="una lista de frases")
    for i, words in enumerate(value):
        require_kind(words, (list, tuple), name=f"{name}[{i}]", wanted="una lista de números")
        for word in words:
            require_size(word, name=f"{name}[{i}]", least=0)


def mask_tokens(
    ids: Tensor,
    generator: torch.Generator,
    *,
    vocab: int,
    mask_id: int,
    special: Sequence[int] = (),
    pad_id: int = 0,
    fraction: float = 0.15,
    masked: float = 0.8,
    random: float = 0.1,
) -> None:
    """Lanza si un número no cabe en el vocabulario o las proporciones no son de un reparto."""
    require_size(vocab, name="vocab")
    require_ids(ids, vocab, name="ids")
    require_kind(generator, torch.Generator, name="generator", wanted="un torch.Generator")
    require_kind(special, (list, tuple, set, frozenset), name="special", wanted="una lista")
    for name, value in (
        ("mask_id", mask_id),
        ("pad_id", pad_id),
        *(("special", x) for x in special),
    ):
        require_size(value, name=name, least=0)
        _require_below(value, vocab, name=name)
    for name, share in (("fraction", fraction), ("masked", masked), ("random", random)):
        require_number(share, name=name)
        if not 0 <= share <= 1:
            raise ValueError(f"{name}: se esperaba una proporción en [0, 1]; llegó {share}.")
    if masked + random > 1 + 1e-9:
        raise ValueError(
            f"random: se esperaba que masked + random no pasara de 1; llegaron {masked} y {random}."
        )
    if len({*special, mask_id, pad_id}) == vocab:
        raise ValueError("special: se esperaba que quedara alguna palabra; son marcas todas.")


def loss(model: nn.Module, batch: tuple[Tensor, Tensor], *, smoothing: float = 0.0) -> None:
    """Lanza si el lote no son dos tensores de la misma forma y del vocabulario."""
    config = config_of(model)
    if not isinstance(batch, tuple | list) or len(batch) != 2:
        raise TypeError(
            f"batch: se esperaba la pareja (ids, labels); llegó {type(batch).__name__}."
        )
    ids, labels = batch
    require_ids(ids, config.vocab, name="ids")
    require_integer(labels, name="labels")
    if labels.shape != ids.shape:
        raise ValueError(
            f"labels: se esperaba la forma de ids, {tuple(ids.shape)}; llegó {tuple(labels.shape)}."
        )
    if config.pad_id is None:
        raise ValueError(
            "pad_id: se esperaba un relleno en la configuración; es None, y sin él no "
            "se sabe qué palabras cuentan."
        )
