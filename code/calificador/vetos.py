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
    ),
)
DERIVADAS = Veto(
    "la diferenciación automática",
    (
        *_de("torch.autograd", "grad backward forward_ad.make_dual"),
        "torch.Tensor.backward",
        *_de("torch.func", "grad grad_and_value vjp jvp jacrev jacfwd hessian linearize"),
    ),
)
ENTROPIA = Veto(
    "`F.cross_entropy`, `nn.CrossEntropyLoss`, `F.nll_loss` ni `nn.NLLLoss`",
    (
        *_de("torch.nn.functional", "cross_entropy nll_loss"),
        *_de("torch._C._nn", "cross_entropy_loss nll_loss nll_loss2d nll_loss_nd"),
        *_de("torch.nn", "CrossEntropyLoss NLLLoss"),
    ),
)
DIVERGENCIA = Veto(
    "`F.cross_entropy`, `F.kl_div` ni sus clases",
    (
        *_de("torch.nn.functional", "cross_entropy kl_div"),
        "torch._C._nn.cross_entropy_loss",
        "torch.kl_div",
        *_de("torch.nn", "CrossEntropyLoss KLDivLoss"),
    ),
)
NORMA_DE_CAPA = Veto(
    "`F.layer_norm` ni `nn.LayerNorm`",
    (
        "torch.nn.functional.layer_norm",
        *_de("torch", "layer_norm native_layer_norm"),
        "torch.nn.LayerNorm",
    ),
)
RMS = Veto(
    "`F.rms_norm` ni `nn.RMSNorm`",
    ("torch.nn.functional.rms_norm", "torch.rms_norm", "torch.nn.RMSNorm"),
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
