"""Lo que un enunciado no permite: cómo se dice y qué falta, por eso, donde se ejecuta la entrega.

Una sola declaración para las dos cosas. El enunciado lleva la frase de :func:`frase`, tal cual (una
prueba lo mira), y la jaula quita los ``nombres`` (``calificador.jaula.vedado``). No se leen los
nombres del código: una variable puede llamarse ``grad``, y lo que la entrega define es suyo.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Veto:
    """Algo que no se permite.

    ``dicho``: como lo nombra el enunciado. ``nombres``: las rutas con puntos de lo que falta: un
    módulo de ``atento`` con todo lo que cuelga de él, una clase (que no se puede construir) o una
    función. ``torch.Tensor`` quiere decir cualquier cuenta con tensores.
    """

    dicho: str
    nombres: tuple[str, ...]
    verbo: str = "usar"


def frase(vetos: Sequence[Veto]) -> str:
    """«No se puede usar la atención de PyTorch ni `atento`.», o la cadena vacía si no hay vetos."""
    if not vetos:
        return ""
    dichos = " ni ".join(veto.dicho for veto in vetos)
    pueden = "pueden" if dichos.startswith("`") and " ni " in dichos else "puede"
    return f"No se {pueden} {vetos[0].verbo} {dichos}."


def _de(modulo: str, nombres: str) -> tuple[str, ...]:
    return tuple(f"{modulo}.{nombre}" for nombre in nombres.split())


def _por_debajo(operaciones: str) -> tuple[str, ...]:
    """Las operaciones a las que llaman esas funciones, y que también se pueden llamar."""
    return _de("torch.ops.aten", operaciones)


def de_atento(modulo: str = "atento") -> Veto:
    """La biblioteca del libro, o uno de sus módulos."""
    return Veto(f"`{modulo}`", (modulo,))


ATENTO = de_atento()
ATENCION = Veto(
    "la atención de PyTorch",
    (
        *_de("torch.nn.functional", "scaled_dot_product_attention multi_head_attention_forward"),
        "torch._C._nn.scaled_dot_product_attention",
        "torch.nn.MultiheadAttention",
        *_de("torch", "_scaled_dot_product_attention_math _native_multi_head_attention"),
        *_de("torch", "_scaled_dot_product_flash_attention_for_cpu _transformer_encoder_layer_fwd"),
        *_por_debajo("scaled_dot_product_attention _scaled_dot_product_attention_math"),
        *_por_debajo("_scaled_dot_product_flash_attention_for_cpu _native_multi_head_attention"),
        *_por_debajo("_transformer_encoder_layer_fwd"),
    ),
)
DERIVADAS = Veto(
    "la diferenciación automática",
    (
        *_de("torch.autograd", "grad backward forward_ad.make_dual"),
        "torch.Tensor.backward",
        *_de("torch.func", "grad grad_and_value vjp jvp jacrev jacfwd hessian linearize"),
        *_de("torch", "_make_dual _softmax_backward_data _log_softmax_backward_data"),
        "torch._VF._make_dual",
        *_por_debajo("_make_dual _softmax_backward_data _log_softmax_backward_data"),
        *_por_debajo("embedding_backward embedding_dense_backward native_layer_norm_backward"),
    ),
)
ENTROPIA = Veto(
    "`F.cross_entropy`, `nn.CrossEntropyLoss`, `F.nll_loss` ni `nn.NLLLoss`",
    (
        *_de("torch.nn.functional", "cross_entropy nll_loss"),
        *_de("torch._C._nn", "cross_entropy_loss nll_loss nll_loss2d nll_loss_nd"),
        *_de("torch.nn", "CrossEntropyLoss NLLLoss"),
        *_por_debajo("cross_entropy_loss nll_loss nll_loss2d nll_loss_nd nll_loss_forward"),
        *_por_debajo("nll_loss2d_forward"),
    ),
)
DIVERGENCIA = Veto(
    "`F.cross_entropy`, `F.kl_div` ni sus clases",
    (
        *_de("torch.nn.functional", "cross_entropy kl_div"),
        "torch._C._nn.cross_entropy_loss",
        "torch.kl_div",
        *_de("torch.nn", "CrossEntropyLoss KLDivLoss"),
        *_por_debajo("cross_entropy_loss kl_div"),
    ),
)
NORMA_DE_CAPA = Veto(
    "`F.layer_norm` ni `nn.LayerNorm`",
    (
        "torch.nn.functional.layer_norm",
        *_de("torch", "layer_norm native_layer_norm"),
        "torch.nn.LayerNorm",
        *_por_debajo("layer_norm native_layer_norm"),
    ),
)
RMS = Veto(
    "`F.rms_norm` ni `nn.RMSNorm`",
    (
        *_de("torch", "nn.functional.rms_norm nn.RMSNorm rms_norm _fused_rms_norm"),
        *_por_debajo("rms_norm _fused_rms_norm"),
    ),
)
BLOQUES = Veto(
    "`nn.TransformerEncoderLayer` ni `nn.TransformerEncoder`",
    _de("torch.nn", "TransformerEncoderLayer TransformerEncoder"),
)
OPTIMIZADORES = Veto(
    "`torch.optim`",
    (
        "torch.optim.Optimizer",
        *_de("torch.optim", "sgd.sgd adam.adam adamw.adamw"),
        *_de("torch", "_fused_sgd_ _fused_adam_ _fused_adamw_"),
        *_por_debajo("_fused_sgd_ _fused_adam_ _fused_adamw_"),
    ),
)
RECORTE = Veto(
    "`clip_grad_norm_`",
    _de("torch.nn.utils", "clip_grad_norm_ clip_grad_norm clip_grad.clip_grad_norm_"),
)
PRECISION_MIXTA = Veto("`torch.amp`", _de("torch.amp", "GradScaler autocast"))
CODIGO = Veto(
    "`ast`, `eval`, `exec` ni `compile`",
    ("ast.parse", *_de("builtins", "eval exec compile")),
)
TENSORES = Veto("ningún tensor", ("torch.Tensor",), "crear")
CAPAS = Veto("ninguna capa", ("torch.nn.Module",), "construir")
