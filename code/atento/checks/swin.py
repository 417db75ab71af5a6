"""La puerta de :mod:`atento.models.swin`: la configuración, las rejillas y las ventanas."""

from typing import Any

from torch import Tensor

from atento.amounts import (
    require_divisible,
    require_kind,
    require_positive,
    require_probability,
    require_size,
)
from atento.checks.vit import images as images
from atento.shapes import require_axis, require_floating, require_tensor

SIZES = ("image_size", "patch_size", "channels", "classes", "d_model", "window_size", "ff_ratio")


def fields(config: Any) -> None:
    """Lanza si un campo de ``SwinConfig`` no es lo que su nombre dice o las etapas no encajan."""
    for name in SIZES:
        require_size(getattr(config, name), name=name)
    for name in ("depths", "heads"):
        numbers = getattr(config, name)
        require_kind(numbers, tuple, name=name, wanted="una tupla, con un número por etapa")
        for stage, number in enumerate(numbers):
            require_size(number, name=f"{name}[{stage}]")
    if not config.depths or len(config.heads) != len(config.depths):
        raise ValueError(
            f"heads: se esperaba un número por etapa, como en depths = {config.depths}; llegó "
            f"{config.heads}."
        )
    for name in ("dropout", "attention_dropout"):
        require_probability(getattr(config, name), name=name)
    require_positive(config.init_std, name="init_std")
    require_divisible(
        config.image_size, config.patch_size, name="image_size", divisor_name="patch_size"
    )
    _require_stages(config)


def _require_stages(config: Any) -> None:
    """Lanza si la rejilla de una etapa no se junta de dos en dos o no se parte en ventanas."""
    side = config.image_size // config.patch_size
    for stage, heads in enumerate(config.heads):
        if stage and side % 2:
            raise ValueError(
                f"depths: se esperaba una rejilla de lado par antes de la etapa {stage}; mide "
                f"{side}."
            )
        side = side // 2 if stage else side
        window = min(config.window_size, side)
        if side % window:
            raise ValueError(
                f"window_size: se esperaba que dividiera el lado de la rejilla de la etapa {stage},"
                f" que es {side}; llegó {config.window_size}."
            )
        width = config.d_model * 2**stage
        require_divisible(width, heads, name="d_model", divisor_name=f"heads[{stage}]")


def require_stage(stage: int, count: int) -> None:
    """Lanza si no hay esa etapa, contadas desde 0."""
    require_size(stage, name="stage", least=0)
    if stage >= count:
        raise ValueError(f"stage: se esperaba una etapa de 0 a {count - 1}; llegó {stage}.")


def model(self: Any, config: Any) -> None:
    """Lanza ``TypeError`` si no llega una ``SwinConfig``."""
    if not hasattr(config, "window_size"):
        raise TypeError(f"config: se esperaba una SwinConfig; llegó {type(config).__name__}.")


def stage(self: Any, config: Any, stage: int) -> None:
    """Lanza si no llega una ``SwinConfig``; la etapa la mira ella."""
    model(self, config)


def block(self: Any, config: Any, stage: int, shift: int = 0) -> None:
    """Lanza si no llega una ``SwinConfig``, no hay esa etapa o las ventanas no se corren tanto."""
    model(self, config)
    _require_shift(shift, config.window(stage))


def _require_shift(shift: int, window: int) -> None:
    require_size(shift, name="shift", least=0)
    if shift >= window:
        raise ValueError(f"shift: se esperaba menos que la ventana, {window}; llegó {shift}.")


def _require_grid(grid: Tensor) -> None:
    require_floating(grid, name="grid")
    if grid.ndim != 4 or 0 in grid.shape:
        raise ValueError(
            f"grid: se esperaba la forma (batch, row, column, d_model), sin ejes vacíos; llegó "
            f"{tuple(grid.shape)}."
        )


def _require_split(grid: Tensor, size: int, *, name: str) -> None:
    for axis, side in zip(("row", "column"), grid.shape[1:3], strict=True):
        if side % size:
            raise ValueError(
                f"grid: se esperaba que {name} = {size} dividiera {axis}; mide {side}."
            )


def partition(grid: Tensor, window: int) -> None:
    """Lanza si ``grid`` no es (batch, row, column, d_model) o la ventana no la divide."""
    _require_grid(grid)
    require_size(window, name="window")
    _require_split(grid, window, name="window")


def unpartition(windows: Tensor, columns: int) -> None:
    """Lanza si ``windows``, (batch, window, n, d_model), no llena filas de ``columns`` celdas."""
    require_floating(windows, name="windows")
    require_size(columns, name="columns")
    if windows.ndim != 4 or round(windows.shape[2] ** 0.5) ** 2 != windows.shape[2]:
        raise ValueError(
            f"windows: se esperaba la forma (batch, window, n, d_model), con n un cuadrado; llegó "
            f"{tuple(windows.shape)}."
        )
    side = round(windows.shape[2] ** 0.5)
    if columns % side or windows.shape[1] % (columns // side):
        raise ValueError(
            f"columns: se esperaba que {windows.shape[1]} ventanas de lado {side} llenaran filas; "
            f"llegó {columns}."
        )


def who_looks(side: int, window: int, shift: int = 0) -> None:
    """Lanza si la ventana no divide la rejilla o no se corre tanto."""
    require_size(side, name="side")
    require_size(window, name="window")
    require_divisible(side, window, name="side", divisor_name="window")
    _require_shift(shift, window)


def relative_bias(self: Any, n_heads: int, window: int) -> None:
    """Lanza si ``n_heads`` o ``window`` no son enteros positivos."""
    require_size(n_heads, name="n_heads")
    require_size(window, name="window")


def cells(self: Any, query: Tensor, key: Tensor) -> None:
    """Lanza si ``query`` y ``key`` no son celdas de la ventana, (query,) y (key,)."""
    for name, value in (("query", query), ("key", key)):
        require_tensor(value, name=name)
        last = self.window**2 - 1
        if value.ndim != 1 or not value.is_meta and ((value < 0) | (value > last)).any():
            raise ValueError(
                f"{name}: se esperaban celdas de 0 a {last}, en un solo eje; llegó la forma "
                f"{tuple(value.shape)}, o alguna que no lo es."
            )


def grid(self: Any, grid: Tensor) -> None:
    """Lanza si ``grid`` no es la rejilla del bloque; que se parta en ventanas, ``partition``."""
    _require_grid(grid)
    width = self.attention.d_model
    require_axis(grid, -1, width, name="grid", label="d_model", like="el bloque")
    if self.mask is not None and grid.shape[1] * grid.shape[2] != self.mask[..., 0].numel():
        raise ValueError(
            f"grid: se esperaban las {self.mask[..., 0].numel()} celdas con que se hizo el bloque; "
            f"llegó {tuple(grid.shape)}."
        )


def merging(self: Any, d_model: int) -> None:
    """Lanza si ``d_model`` no es un entero positivo."""
    require_size(d_model, name="d_model")


def merge(self: Any, grid: Tensor) -> None:
    """Lanza si ``grid`` no es de la anchura dicha o un lado es impar."""
    _require_grid(grid)
    width = self.norm.d_model // 4
    require_axis(grid, -1, width, name="grid", label="d_model", like="el módulo")
    _require_split(grid, 2, name="el lado de lo que se junta")
