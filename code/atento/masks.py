"""Piso 2: las máscaras, o quién puede atender a quién.

Una máscara es un tensor booleano que se difunde hasta la forma de las puntuaciones: ``True`` quiere
decir «esta consulta puede atender a esta clave». Es la polaridad de
``F.scaled_dot_product_attention`` y la contraria de ``nn.MultiheadAttention`` (donde tapa).
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from atento.amounts import require_size
from atento.device import require_device
from atento.shapes import require_boolean, require_integer, typed


def causal_mask(n: int, *, device: torch.device | str | None = None) -> Bool[Tensor, "query key"]:
    """Devuelve la máscara causal ``(n, n)``: cada posición atiende a sí misma y a las anteriores.

    Vale para cualquier número de ejes delante, porque solo fija los dos últimos. Al generar con
    caché, las consultas son las últimas posiciones: ``causal_mask(n)[-nuevas:]``.

    Errores: ``TypeError`` o ``ValueError`` si ``n`` no es un entero mayor o igual que 0, o si no
    existe ``device``.
    Fuente: Vaswani et al. (2017), § 3.2.3.
    """
    require_size(n, name="n", least=0)
    if device is not None:
        device = require_device(device)
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()


def new_rows(
    n: int, seen: int, *, device: torch.device | str | None = None
) -> Bool[Tensor, "new key"] | None:
    """Devuelve las filas de :func:`causal_mask` que faltan por calcular, las de ``seen`` a ``n``.

    ``None`` si es una sola: la última posición atiende a todas, y no hay nada que tapar.

    Errores: los de :func:`causal_mask`.
    """
    require_size(n, name="n", least=0)
    require_size(seen, name="seen", least=0)
    return None if seen == n - 1 else causal_mask(n, device=device)[seen:]


def _require_ids(ids: Tensor, pad_id: int = 0) -> None:
    require_integer(ids, name="ids")
    require_size(pad_id, name="pad_id", least=None)
    if ids.ndim != 2:
        raise ValueError(f"ids: se esperaba la forma (batch, key); llegó {tuple(ids.shape)}.")


@typed(validate=_require_ids)
def padding_mask(ids: Int[Tensor, "batch key"], pad_id: int = 0) -> Bool[Tensor, "batch 1 1 key"]:
    """Devuelve la máscara ``(batch, 1, 1, key)`` que tapa el relleno (``ids == pad_id``).

    Los dos ejes de tamaño 1 se difunden sobre ``head`` y ``query``: sin ellos, una máscara
    ``(batch, 1, key)`` se leería como ``(1, batch, 1, key)`` y taparía cabezas en lugar de
    muestras. Con puntuaciones de tres ejes, ``(batch, query, key)``, se usa
    ``padding_mask(ids)[:, 0]``.

    Errores: ``TypeError`` si ``ids`` no es un tensor de enteros o ``pad_id`` no es un entero;
    ``ValueError`` si ``ids`` no tiene los ejes ``(batch, key)``.
    """
    return (ids != pad_id)[:, None, None, :]  # (batch, 1, 1, key)


def combine(*masks: Bool[Tensor, "..."] | None) -> Bool[Tensor, "..."] | None:
    """Devuelve la conjunción de las máscaras: se puede atender donde todas lo permiten.

    Los ``None`` (ninguna restricción) se saltan; si no queda ninguna máscara, devuelve ``None``.
    Las formas se difunden: ``(batch, 1, 1, key)`` con ``(query, key)`` da
    ``(batch, 1, query, key)``.

    Errores: ``TypeError`` si alguna no es booleana; ``ValueError`` si sus formas no se difunden.
    """
    combined = None
    for position, mask in enumerate(masks):
        if mask is not None:
            require_boolean(mask, name=f"masks[{position}]")
            combined = mask if combined is None else _both(combined, mask, position)
    return combined


def _both(combined: Tensor, mask: Tensor, position: int) -> Tensor:
    try:
        return combined & mask
    except RuntimeError:
        raise ValueError(
            f"masks[{position}]: su forma {tuple(mask.shape)} no se difunde con la de las "
            f"anteriores, {tuple(combined.shape)}; de derecha a izquierda, cada eje debe "
            "coincidir o valer 1."
        ) from None
