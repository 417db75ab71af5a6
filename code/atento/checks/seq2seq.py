"""La puerta de :mod:`atento.models.seq2seq`: la configuración, las frases y el estado."""

from typing import Any

from torch import Tensor, nn

from atento.amounts import require_divisible, require_probability, require_size
from atento.checks.layers import require_ids, require_option
from atento.checks.training import config_of
from atento.shapes import is_readable

SIZES = ("source_vocab", "target_vocab", "d_model", "n_heads", "d_ff", "max_len")
LAYERS = ("n_encoder_layers", "n_decoder_layers")
PROBABILITIES = ("dropout", "attention_dropout", "activation_dropout")
FLAGS = ("norm_first", "final_norm", "attention_bias")
RELATIVE = ("rotary", "t5", "alibi", "shaw")
OPTIONS = {
    "activation": ("relu", "gelu", "swiglu"),
    "normalization": ("layer", "rms"),
    "tying": ("none", "output", "all"),
    "positions": ("none", "sinusoidal", "learned", *RELATIVE),
    "cross_positions": ("none", *RELATIVE),
}


def fields(config: Any) -> None:
    """Lanza si un campo de ``Seq2SeqConfig`` no es lo que su nombre dice."""
    for name in (*SIZES, *LAYERS):
        require_size(getattr(config, name), name=name)
    require_divisible(config.d_model, config.n_heads, name="d_model", divisor_name="n_heads")
    for name in PROBABILITIES:
        require_probability(getattr(config, name), name=name)
    for name in FLAGS:
        if not isinstance(getattr(config, name), bool):
            raise TypeError(f"{name}: se esperaba True o False; llegó {getattr(config, name)!r}.")
    for name, options in OPTIONS.items():
        require_option(getattr(config, name), options, name=name)
    _require_special(config)
    if config.tying == "all" and config.source_vocab != config.target_vocab:
        raise ValueError(
            f"tying: «all» comparte una sola matriz y pide vocabularios iguales; llegaron "
            f"source_vocab = {config.source_vocab} y target_vocab = {config.target_vocab}."
        )


def _require_special(config: Any) -> None:
    for name in ("pad_id", "bos_id", "eos_id"):
        value = getattr(config, name)
        require_size(value, name=name, least=0)
        if value >= config.target_vocab:
            raise ValueError(
                f"{name}: se esperaba menor que target_vocab = {config.target_vocab}; llegó "
                f"{value}."
            )
    if config.pad_id == config.eos_id:
        raise ValueError(
            f"eos_id: se esperaba distinto de pad_id = {config.pad_id}: el relleno no cuenta, y "
            f"el modelo no aprendería a acabar; llegó {config.eos_id}."
        )


def require_config(config: Any) -> None:
    """Lanza ``TypeError`` si no llega una ``Seq2SeqConfig``."""
    if not hasattr(config, "n_encoder_layers"):
        raise TypeError(f"config: se esperaba una Seq2SeqConfig; llegó {type(config).__name__}.")


def model(self: Any, config: Any, *, positions: Any | None = None) -> None:
    """Lanza ``TypeError`` si no llegan una ``Seq2SeqConfig`` y, si se dan, unas ``Positions``."""
    require_config(config)
    if positions is not None and not hasattr(positions, "places"):
        raise TypeError(
            f"positions: se esperaba Positions, o None para las de la configuración; llegó "
            f"{type(positions).__name__}."
        )


def encode(self: Any, source: Tensor) -> None:
    """Lanza si ``source`` no es ``(batch, source)`` con el relleno al final."""
    require_ids(source, self.config.source_vocab, name="source")
    require_trailing(source, self.config.pad_id, name="source")


def require_trailing(ids: Tensor, pad_id: int, *, name: str) -> None:
    """Lanza si hay relleno en medio: movería las posiciones de lo que va detrás."""
    if not is_readable(ids) or ids.shape[1] < 2:
        return
    valid = ids != pad_id
    if (valid[:, 1:] & ~valid[:, :-1]).any():
        raise ValueError(
            f"{name}: se esperaba el relleno (pad_id = {pad_id}) al final de cada frase; llegó con "
            f"relleno antes de otras palabras."
        )


def decode(self: Any, target: Tensor, encoded: Any) -> None:
    """Lanza si ``target`` no es ``(batch, target)`` o ``encoded`` es de otras frases."""
    require_ids(target, self.config.target_vocab, name="target")
    if target.shape[1] == 0:
        raise ValueError(f"target: se esperaba al menos el comienzo; llegó {tuple(target.shape)}.")
    start(self, encoded)
    _require_pairs(target, encoded.states.shape[0], name="target")


def forward(self: Any, source: Tensor, target: Tensor) -> None:
    """Lanza si ``target`` lleva relleno en medio; lo demás lo miran ``encode`` y ``decode``."""
    require_ids(target, self.config.target_vocab, name="target")
    skip = int(self.config.bos_id == self.config.pad_id)  # T5 y Marian empiezan con el relleno
    require_trailing(target[:, skip:], self.config.pad_id, name="target")


def start(self: Any, encoded: Any) -> None:
    """Lanza si ``encoded`` no es lo que devuelve ``encode``."""
    if not hasattr(encoded, "states"):
        raise TypeError(
            f"encoded: se esperaba lo que devuelve encode; llegó {type(encoded).__name__}."
        )


def step(self: Any, ids: Tensor, state: Any) -> None:
    """Lanza si ``ids`` no trae columnas nuevas o ``state`` es de otras frases."""
    require_ids(ids, self.config.target_vocab, name="ids")
    if not hasattr(state, "caches"):
        raise TypeError(
            f"state: se esperaba el estado que devuelve start; llegó {type(state).__name__}."
        )
    _require_pairs(ids, state.encoded.states.shape[0], name="ids")
    if ids.shape[1] <= len(state):
        raise ValueError(
            f"ids: se esperaba todo lo escrito y alguna columna nueva, más de {len(state)} "
            f"columnas; llegó {tuple(ids.shape)}."
        )


def loss(model: nn.Module, batch: tuple[Tensor, Tensor], *, smoothing: float = 0.0) -> None:
    """Lanza si el lote no es la pareja ``(source, target)`` o ``target`` no da para predecir."""
    if not isinstance(batch, (tuple, list)) or len(batch) != 2:
        raise TypeError(
            f"batch: se esperaba la pareja (source, target); llegó {type(batch).__name__}."
        )
    require_ids(batch[1], config_of(model).target_vocab, name="target")
    if batch[1].shape[1] < 2:
        raise ValueError(
            f"target: se esperaban al menos dos columnas, comienzo y una palabra; llegó "
            f"{tuple(batch[1].shape)}."
        )


def _require_pairs(ids: Tensor, n_sentences: int, *, name: str) -> None:
    if ids.shape[0] != n_sentences:
        raise ValueError(
            f"{name}: el eje «batch» mide {ids.shape[0]}, pero hay {n_sentences} frases en source."
        )
