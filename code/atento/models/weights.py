"""Piso 6: pasar a los modelos del libro los pesos de otros."""

from collections.abc import Mapping

from jaxtyping import Float
from torch import Tensor

_PARTS = {
    "layers": "blocks",
    "self_attn": "attention",
    "multihead_attn": "cross_attention",
    "out_proj": "project_output",
    "linear1": "feed_forward.expand",
    "linear2": "feed_forward.contract",
    "norm": "final_norm",
    "norm1": "add_attention.norm",
}
_PROJECTIONS = ("project_query", "project_key", "project_value")


def from_pytorch(state: Mapping[str, Float[Tensor, "..."]]) -> dict[str, Float[Tensor, "..."]]:
    """Los pesos de ``nn.Transformer``, o de una de sus capas o pilas, con los nombres del libro.

    ``state`` es su ``state_dict()``: tensores de cualquier forma. PyTorch guarda juntas las
    matrices de consultas, claves y valores; aquí van sueltas. Lo que devuelve lo lee
    ``load_state_dict`` de ``EncoderBlock``, ``DecoderBlock``, ``Encoder`` o ``Decoder`` y, con
    ``strict=False`` (los embeddings son aparte), de ``Seq2Seq``.

    Errores: ``TypeError`` si ``state`` no es un diccionario de tensores; ``ValueError`` si un
    nombre no es de ``nn.Transformer``.
    """
    if not isinstance(state, Mapping):
        raise TypeError(
            f"state: se esperaba el state_dict() de un módulo; llegó {type(state).__name__}."
        )
    ours = {}
    for name, tensor in state.items():
        prefix, _, last = name.rpartition(".")
        if last.startswith("in_proj_"):
            kind = last.removeprefix("in_proj_")  # weight o bias
            for projection, part in zip(_PROJECTIONS, tensor.chunk(3), strict=True):
                ours[f"{_renamed(prefix, state)}.{projection}.{kind}"] = part
        else:
            ours[f"{_renamed(prefix, state)}.{last}"] = tensor
    return ours


def _renamed(prefix: str, state: Mapping[str, Tensor]) -> str:
    """El nombre del libro de un módulo de PyTorch, parte a parte."""
    *path, last = prefix.split(".")
    layer = ".".join([*path, ""])
    if last == "norm2":  # en el decodificador, la segunda subcapa es la atención cruzada
        crossed = any(name.startswith(f"{layer}multihead_attn.") for name in state)
        last = "add_cross_attention.norm" if crossed else "add_feed_forward.norm"
    elif last == "norm3":
        last = "add_feed_forward.norm"
    elif last not in _PARTS:
        raise ValueError(
            f"state: se esperaban los nombres de nn.Transformer; llegó {prefix!r}. Las variantes "
            f"con otras anchuras (kdim, vdim) no se pueden pasar."
        )
    return ".".join([*(_PARTS.get(part, part) for part in path), _PARTS.get(last, last)])
