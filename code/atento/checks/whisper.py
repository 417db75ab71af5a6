"""La puerta de :mod:`atento.models.whisper`: la configuración, lo que se oye y lo que se manda."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from atento.amounts import (
    require_divisible,
    require_kind,
    require_positive,
    require_probability,
    require_size,
)
from atento.checks.layers import require_ids, require_option
from atento.checks.seq2seq import require_trailing
from atento.shapes import require_floating, require_same_kind

SIZES = ("vocab", "n_mels", "d_model", "n_heads", "d_ff", "n_layers", "audio_len", "max_len")
IDS = ("pad_id", "bos_id", "eos_id")


def fields(config: Any) -> None:
    """Lanza si un campo de ``WhisperConfig`` no es lo que su nombre dice."""
    for name in SIZES:
        require_size(getattr(config, name), name=name)
    require_divisible(config.d_model, config.n_heads, name="d_model", divisor_name="n_heads")
    _require_width(config.d_model)
    for name in ("dropout", "attention_dropout"):
        require_probability(getattr(config, name), name=name)
    require_positive(config.init_std, name="init_std")
    for name in IDS:
        value = getattr(config, name)
        require_size(value, name=name, least=0)
        if value >= config.vocab:
            raise ValueError(
                f"{name}: se esperaba menor que vocab = {config.vocab}; llegó {value}."
            )
    if config.pad_id == config.eos_id:
        raise ValueError(
            f"eos_id: se esperaba distinto de pad_id = {config.pad_id}: el relleno no cuenta, y "
            f"el modelo no aprendería a acabar; llegó {config.eos_id}."
        )


def _require_width(d_model: int) -> None:
    require_size(d_model, name="d_model", least=4)
    if d_model % 2:
        raise ValueError(f"d_model: se esperaba un número par; llegó {d_model}.")


def require_languages(languages: int, known: Sequence[str]) -> None:
    """Lanza si ``languages`` no es cuántas lenguas hay."""
    require_size(languages, name="languages")
    if languages > len(known):
        raise ValueError(f"languages: se esperaban {len(known)} como mucho; llegó {languages}.")


def prompt(
    language: str, known: Sequence[str], task: str, tasks: Sequence[str], times: bool
) -> None:
    """Lanza si la lengua o la tarea no son de las suyas."""
    require_option(language, known, name="language")
    require_option(task, tasks, name="task")
    require_kind(times, bool, name="times", wanted="True o False")


def halved_sinusoids(n: int, d_model: int) -> None:
    """Lanza si no son enteros positivos o ``d_model`` no es par y mayor que 2."""
    require_size(n, name="n")
    _require_width(d_model)


def attention(self: nn.Module, d_model: int, n_heads: int, *, dropout: float = 0.0) -> None:
    """No mira nada: lo hace ``MultiHeadAttention``."""


def model(self: nn.Module, config: Any) -> None:
    """Lanza ``TypeError`` si no llega una ``WhisperConfig``."""
    if not hasattr(config, "audio_len"):
        raise TypeError(f"config: se esperaba una WhisperConfig; llegó {type(config).__name__}.")


def features(self: Any, features: Tensor) -> None:
    """Lanza si ``features`` no es (batch, frame, n_mels), o no cabe en ``audio_len``."""
    c = self.config
    require_floating(features, name="features")
    if features.ndim != 3 or features.shape[-1] != c.n_mels or 0 in features.shape:
        raise ValueError(
            f"features: se esperaba la forma (batch, frame, {c.n_mels}), sin ejes vacíos; llegó "
            f"{tuple(features.shape)}."
        )
    if features.shape[1] > 2 * c.audio_len:
        raise ValueError(
            f"features: se esperaban {2 * c.audio_len} filas como mucho, dos por posición; "
            f"llegaron {features.shape[1]}."
        )
    weight = next(self.parameters())
    require_same_kind(features, weight, name="features", reference_name="los pesos")


def forward(self: Any, features: Tensor, target: Tensor) -> None:
    """Lanza si ``target`` lleva relleno en medio; lo demás lo miran ``encode`` y ``decode``."""
    require_floating(features, name="features")
    require_ids(target, self.config.vocab, name="target")
    if target.shape[0] != features.shape[0]:
        raise ValueError(
            f"target: el eje «batch» mide {target.shape[0]}, pero hay {features.shape[0]} sonidos "
            "en features."
        )
    require_trailing(target, self.config.pad_id, name="target")


def require_start(start: Sequence[int], vocab: int) -> list[int]:
    """Las palabras por las que se empieza; lanza si no son números del vocabulario."""
    require_kind(start, (list, tuple), name="start", wanted="una lista de números")
    for value in start:
        require_size(value, name="start", least=0)
    if not start or max(start) >= vocab:
        raise ValueError(
            f"start: se esperaban números menores que vocab = {vocab}; llegó {start!r}."
        )
    return list(start)
