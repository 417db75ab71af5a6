"""La puerta de :mod:`atento.models.language`: la configuración, los números y el estado."""

from typing import Any

from torch import Tensor, nn

from atento.amounts import require_divisible, require_probability, require_size
from atento.checks.layers import require_ids, require_option
from atento.checks.seq2seq import OPTIONS, PROBABILITIES, require_trailing
from atento.checks.training import config_of
from atento.shapes import require_integer

SIZES = ("vocab", "d_model", "n_heads", "d_ff", "n_layers", "max_len")
FLAGS = ("causal", "norm_first", "final_norm", "attention_bias", "tying")


def fields(config: Any) -> None:
    """Lanza si un campo de ``LanguageConfig`` no es lo que su nombre dice."""
    for name in SIZES:
        require_size(getattr(config, name), name=name)
    require_divisible(config.d_model, config.n_heads, name="d_model", divisor_name="n_heads")
    for name in PROBABILITIES:
        require_probability(getattr(config, name), name=name)
    for name in FLAGS:
        if not isinstance(getattr(config, name), bool):
            raise TypeError(f"{name}: se esperaba True o False; llegó {getattr(config, name)!r}.")
    for name in ("activation", "normalization", "positions"):
        require_option(getattr(config, name), OPTIONS[name], name=name)
    if config.pad_id is not None:
        require_size(config.pad_id, name="pad_id", least=0)
        if config.pad_id >= config.vocab:
            raise ValueError(
                f"pad_id: se esperaba menor que vocab = {config.vocab}; llegó {config.pad_id}."
            )


def model(self: Any, config: Any) -> None:
    """Lanza ``TypeError`` si no llega una ``LanguageConfig``."""
    if not hasattr(config, "causal") or not hasattr(config, "positions"):
        raise TypeError(f"config: se esperaba una LanguageConfig; llegó {type(config).__name__}.")


def forward(self: Any, ids: Tensor, mask: Tensor | None = None) -> None:
    """Lanza si ``ids`` no es ``(batch, n)`` con el relleno al final; la atención mira ``mask``."""
    require_ids(ids, self.config.vocab, name="ids")
    if self.config.pad_id is not None:
        require_trailing(ids, self.config.pad_id, name="ids")


def step(self: Any, ids: Tensor, state: Any | None = None) -> None:
    """Lanza si el modelo no es causal o ``ids`` no trae columnas nuevas."""
    _require_causal(self.config)
    require_ids(ids, self.config.vocab, name="ids")
    seen = 0 if state is None else len(state[0])
    if ids.shape[1] <= seen:
        raise ValueError(
            f"ids: se esperaba todo lo escrito y alguna columna nueva, más de {seen} columnas; "
            f"llegó {tuple(ids.shape)}."
        )


def _require_causal(config: Any) -> None:
    if not config.causal:
        raise ValueError(
            "causal: se esperaba un modelo con causal=True para generar; llegó uno que ve también "
            "lo que falta por escribir."
        )


def generate(self: Any, start: Tensor) -> None:
    """Lanza si un comienzo no tiene palabras o lleva relleno en medio."""
    _require_causal(self.config)
    require_ids(start, self.config.vocab, name="start")
    if not start.shape[1]:
        raise ValueError(
            f"start: se esperaba alguna palabra en cada comienzo; llegó {tuple(start.shape)}."
        )
    if self.config.pad_id is None:
        return
    real = start != self.config.pad_id  # (batch, start)
    for row in (~real.any(dim=1)).nonzero().flatten().tolist():
        raise ValueError(
            f"start: se esperaba alguna palabra en cada comienzo; la fila {row} es toda relleno "
            f"(pad_id = {self.config.pad_id})."
        )
    if ((real[:, 1:] != real[:, :-1]).sum(dim=1) > 1).any():
        raise ValueError(
            f"start: se esperaba el relleno (pad_id = {self.config.pad_id}) a un lado de cada "
            "comienzo; llegó con relleno entre las palabras."
        )


def loss(model: nn.Module, ids: Tensor, *, smoothing: float = 0.0) -> None:
    """Lanza si ``ids`` no tiene al menos dos columnas o el modelo vería lo que ha de predecir."""
    require_ids(ids, config_of(model).vocab, name="ids")
    if not config_of(model).causal:
        raise ValueError(
            "model: se esperaba uno con causal=True; sin ella ve la palabra que debe predecir."
        )
    if ids.shape[1] < 2:
        raise ValueError(f"ids: se esperaban al menos dos columnas; llegó {tuple(ids.shape)}.")


def text(ids: Tensor, window: int, stride: int | None, batch_size: int) -> None:
    """Lanza si ``ids`` no es un texto, ``(n,)``, o la ventana y su avance no casan."""
    require_integer(ids, name="ids")
    if ids.ndim != 1 or len(ids) < 2:
        raise ValueError(
            f"ids: se esperaba un texto de dos tokens o más, (n,); llegó {tuple(ids.shape)}."
        )
    require_size(window, name="window")
    require_size(batch_size, name="batch_size")
    if stride is not None:
        require_size(stride, name="stride")
        if stride > window:
            raise ValueError(
                f"stride: se esperaba como mucho window = {window}; llegó {stride}, y se quedarían "
                "tokens sin contar."
            )
