"""Piso 6: Swin, el codificador de imágenes que mira por ventanas y sube por una pirámide.

:func:`partition` corta la rejilla de parches en ventanas, y cada parche mira solo a los de la suya:
el coste crece con el número de parches y no con su cuadrado. Un bloque de cada dos corre las
ventanas media ventana (:class:`SwinBlock`), y :class:`PatchMerging` junta los parches de cuatro en
cuatro entre una etapa y la siguiente. Los pesos de otros entran por
:func:`atento.models.weights.from_swin`.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Real
from torch import Tensor, nn

from atento.attention import MultiHeadAttention
from atento.checks import swin as checks
from atento.layers import Dropout, FeedForward, LayerNorm, Residual
from atento.models.bert import draw_normal
from atento.models.vit import patchify
from atento.shapes import typed

# --- La configuración -----------------------------------------------------------------------------


@dataclass(frozen=True)
class SwinConfig:
    """Todo lo que define un :class:`Swin`; las medidas publicadas, en los constructores.

    ``depths`` y ``heads`` tienen un número por etapa: sus bloques y sus cabezas. La anchura es
    ``d_model`` en la primera etapa y se dobla en cada una de las siguientes, mientras el lado de la
    rejilla se parte por dos. ``window_size`` es el lado de la ventana, en parches; donde la rejilla
    no llega a tanto, la ventana es la rejilla entera. La red densa mide ``ff_ratio`` veces la
    anchura. La profundidad estocástica con que se entrenó el original no está.

    Errores: ``TypeError`` o ``ValueError`` si un campo no es lo que su nombre dice, la rejilla de
    una etapa no se parte en ventanas iguales o no se puede juntar de dos en dos: el mensaje lo
    nombra.
    """

    image_size: int
    patch_size: int = 4
    channels: int = 1
    classes: int = 10
    d_model: int = 32
    depths: tuple[int, ...] = (2, 2)
    heads: tuple[int, ...] = (2, 4)
    window_size: int = 4
    ff_ratio: int = 4
    dropout: float = 0.0
    attention_dropout: float = 0.0
    init_std: float = 0.02

    def __post_init__(self) -> None:
        checks.fields(self)

    def side(self, stage: int) -> int:
        """El lado de la rejilla de una etapa, contadas desde 0, en parches.

        Errores: ``TypeError`` o ``ValueError`` si no hay esa etapa.
        """
        checks.require_stage(stage, len(self.depths))
        return self.image_size // self.patch_size // 2**stage

    def width(self, stage: int) -> int:
        """La anchura de una etapa, contadas desde 0.

        Errores: los de :meth:`side`.
        """
        checks.require_stage(stage, len(self.depths))
        return self.d_model * 2**stage

    def window(self, stage: int) -> int:
        """El lado de la ventana de una etapa: ``window_size``, o toda la rejilla si no llega.

        Errores: los de :meth:`side`.
        """
        return min(self.window_size, self.side(stage))

    @classmethod
    def tiny(cls, classes: int = 1000, **changes: Any) -> "SwinConfig":
        """Swin-T: doce bloques, de anchura 96 a 768, sobre parches de 4 × 4.

        Errores: los de :class:`SwinConfig`.
        Fuente: Liu et al. (2021), § 3.3.
        """
        image = {"image_size": 224, "patch_size": 4, "channels": 3, "window_size": 7}
        sizes = {"d_model": 96, "depths": (2, 2, 6, 2), "heads": (3, 6, 12, 24)}
        return cls(**{**image, **sizes, "classes": classes, **changes})

    @classmethod
    def small(cls, classes: int = 1000, **changes: Any) -> "SwinConfig":
        """Swin-S: el anterior, con dieciocho bloques en la tercera etapa.

        Errores: los de :class:`SwinConfig`.
        Fuente: Liu et al. (2021), § 3.3.
        """
        return cls.tiny(classes, **{"depths": (2, 2, 18, 2), **changes})

    @classmethod
    def base(cls, classes: int = 1000, **changes: Any) -> "SwinConfig":
        """Swin-B: veinticuatro bloques, de anchura 128 a 1024.

        Errores: los de :class:`SwinConfig`.
        Fuente: Liu et al. (2021), § 3.3.
        """
        sizes = {"d_model": 128, "depths": (2, 2, 18, 2), "heads": (4, 8, 16, 32)}
        return cls.tiny(classes, **{**sizes, **changes})


# --- Las ventanas ---------------------------------------------------------------------------------


@typed(validate=checks.partition)
def partition(
    grid: Float[Tensor, "batch row column d_model"], window: int
) -> Float[Tensor, "batch window n d_model"]:
    """Corta la rejilla en ventanas de lado ``window`` y pone en fila las celdas de cada una.

    Las ventanas, y las celdas dentro de ellas, van de arriba abajo y de izquierda a derecha.

    Errores: ``TypeError`` o ``ValueError`` si ``grid`` no es (batch, row, column, d_model) de coma
    flotante o ``window`` no divide el alto y el ancho.
    Fuente: Liu et al. (2021), § 3.2.
    """
    batch, rows, columns, width = grid.shape
    cells = grid.reshape(batch, rows // window, window, columns // window, window, width)
    return cells.transpose(2, 3).reshape(batch, -1, window**2, width)


@typed(validate=checks.unpartition)
def unpartition(
    windows: Float[Tensor, "batch window n d_model"], columns: int
) -> Float[Tensor, "batch row {columns} d_model"]:
    """Vuelve a montar la rejilla, de ``columns`` celdas de ancho, con lo de :func:`partition`.

    Errores: ``TypeError`` o ``ValueError`` si ``windows`` no son ventanas cuadradas o no llenan
    filas de ``columns`` celdas.
    """
    batch, count, n, width = windows.shape
    side = round(n**0.5)
    across = columns // side
    cells = windows.reshape(batch, count // across, across, side, side, width)
    return cells.transpose(2, 3).reshape(batch, -1, columns, width)


@typed(validate=checks.who_looks)
def who_looks(side: int, window: int, shift: int = 0) -> Bool[Tensor, "n n"]:
    """Quién mira a quién en una rejilla de ``side`` × ``side``: ``True`` si comparten ventana.

    ``shift`` es cuántas celdas se corren las ventanas hacia abajo y hacia la derecha; las del borde
    quedan entonces a medias. Es la máscara con que la atención entera da lo mismo que la de las
    ventanas, y sus potencias dicen hasta dónde llega una celda tras varios bloques.

    Errores: ``TypeError`` o ``ValueError`` si ``window`` no divide ``side`` o ``shift`` no está
    entre 0 y ``window - 1``.
    Fuente: Liu et al. (2021), § 3.2 y figura 2.
    """
    place = (torch.arange(side) - shift).div(window, rounding_mode="floor")  # de cada fila
    name = place[:, None] * (side + 1) + place  # de cada celda: el de su ventana
    return name.flatten()[:, None] == name.flatten()


def _shifted_mask(side: int, window: int, shift: int) -> Bool[Tensor, "1 window 1 n n"]:
    """En cada ventana de la rejilla ya corrida, qué celdas eran vecinas antes de dar la vuelta."""
    part = torch.zeros(side, dtype=torch.long)
    part[-window:-shift], part[-shift:] = 1, 2  # lo de la última ventana viene de dos sitios
    name = (part[:, None] * 3 + part).float()[None, ..., None]  # (1, side, side, 1)
    cells = partition(name, window)[0, :, :, 0]  # (window, n)
    return (cells[:, :, None] == cells[:, None, :])[None, :, None]


class RelativeBias2d(nn.Module):
    """Lo que se suma a la puntuación de dos celdas según cuántas filas y columnas las separan.

    Se da a una :class:`~atento.attention.MultiHeadAttention` como ``score_bias``. ``table``,
    (pair, head), tiene un número por cada separación posible dentro de una ventana de lado
    ``window``, que son (2 · window − 1)², y por cada cabeza.

    Errores: ``TypeError`` o ``ValueError`` si ``n_heads`` o ``window`` no son enteros positivos.
    Fuente: Liu et al. (2021), ec. 4.
    """

    @typed(validate=checks.relative_bias)
    def __init__(self, n_heads: int, window: int) -> None:
        super().__init__()
        self.window = window
        self.table = nn.Parameter(torch.zeros((2 * window - 1) ** 2, n_heads))

    @typed(validate=checks.cells)
    def forward(
        self, query: Real[Tensor, " query"], key: Real[Tensor, " key"]
    ) -> Float[Tensor, "head query key"]:
        """El sesgo entre celdas de la ventana, que se numeran de arriba abajo y en fila.

        Errores: ``TypeError`` o ``ValueError`` si ``query`` y ``key`` no son celdas, (query,) y
        (key,), de 0 a window² − 1.
        """
        query, key = query.long(), key.long()
        down = query[:, None] // self.window - key // self.window  # filas de diferencia
        right = query[:, None] % self.window - key % self.window  # columnas
        reach = self.window - 1
        pair = (down + reach) * (2 * reach + 1) + right + reach  # (query, key)
        return self.table[pair].permute(2, 0, 1)

    def extra_repr(self) -> str:
        return f"n_heads={self.table.shape[1]}, window={self.window}"


# --- Las piezas -----------------------------------------------------------------------------------


class SwinBlock(nn.Module):
    """Un bloque: mirar dentro de cada ventana, y transformar cada celda.

    Con ``shift``, la rejilla se corre esas celdas hacia arriba y hacia la izquierda, dando la
    vuelta, y después se devuelve a su sitio. Así las ventanas quedan desplazadas sin que cambie
    cuántas son. A lo que ha dado la vuelta no se le deja mirar a lo que ya estaba.

    Errores: ``TypeError`` o ``ValueError`` si ``config`` no es una :class:`SwinConfig`, no hay esa
    etapa o ``shift`` no está entre 0 y lo que mide la ventana menos 1.
    Fuente: Liu et al. (2021), ec. 3 y § 3.2.
    """

    mask: Tensor | None

    @typed(validate=checks.block)
    def __init__(self, config: SwinConfig, stage: int, shift: int = 0) -> None:
        super().__init__()
        c, width, window = config, config.width(stage), config.window(stage)
        self.window, self.shift = window, shift
        bias = RelativeBias2d(c.heads[stage], window)
        options: dict[str, Any] = {"dropout": c.attention_dropout, "score_bias": bias}
        self.attention = MultiHeadAttention(width, c.heads[stage], **options)
        self.feed_forward = FeedForward(width, c.ff_ratio * width, activation="gelu")
        self.add_attention = Residual(width, dropout=c.dropout)
        self.add_feed_forward = Residual(width, dropout=c.dropout)
        mask = _shifted_mask(c.side(stage), window, shift) if shift else None
        self.register_buffer("mask", mask, persistent=False)

    @typed(validate=checks.grid)
    def forward(
        self, grid: Float[Tensor, "batch row column d_model"]
    ) -> Float[Tensor, "batch row column d_model"]:
        """Cada celda mira a las de su ventana y se transforma por su cuenta.

        Errores: ``TypeError`` o ``ValueError`` si ``grid`` no es de coma flotante, de esta etapa.
        """
        grid = self.add_attention(grid, self._look)
        return self.add_feed_forward(grid, self.feed_forward)

    def _look(self, grid: Tensor) -> Tensor:
        moved = grid.roll((-self.shift, -self.shift), dims=(1, 2))  # desplazar
        windows = partition(moved, self.window)  # (batch, window, n, d_model)
        looked, _ = self.attention(windows, mask=self.mask)
        back = unpartition(looked, grid.shape[2])
        return back.roll((self.shift, self.shift), dims=(1, 2))  # y devolver a su sitio

    def extra_repr(self) -> str:
        return f"window={self.window}, shift={self.shift}"


class PatchMerging(nn.Module):
    """Junta las celdas de 2 × 2 en 2 × 2: la mitad de lado y el doble de anchura.

    Las cuatro filas de números se ponen una detrás de otra, se normalizan y se proyectan de
    4 · d_model a 2 · d_model.

    Errores: ``TypeError`` o ``ValueError`` si ``d_model`` no es un entero positivo.
    Fuente: Liu et al. (2021), § 3.1.
    """

    @typed(validate=checks.merging)
    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.norm = LayerNorm(4 * d_model)
        self.reduce = nn.Linear(4 * d_model, 2 * d_model, bias=False)

    @typed(validate=checks.merge)
    def forward(
        self, grid: Float[Tensor, "batch row column d_model"]
    ) -> Float[Tensor, "batch half_row half_column d_wide"]:
        """De (batch, row, column, d_model) a (batch, row / 2, column / 2, 2 · d_model).

        Errores: ``TypeError`` o ``ValueError`` si ``grid`` no es de esa forma o un lado es impar.
        """
        corners = [grid[:, down::2, right::2] for right in (0, 1) for down in (0, 1)]
        return self.reduce(self.norm(torch.cat(corners, dim=-1)))


class Stage(nn.Module):
    """Una etapa: sus bloques, uno de cada dos con las ventanas corridas media ventana.

    ``merge`` junta las celdas al entrar, y la primera etapa no lo lleva. Si la ventana es toda la
    rejilla no hay nada que correr.

    Errores: ``TypeError`` o ``ValueError`` si ``config`` no es una :class:`SwinConfig` o no hay esa
    etapa.
    """

    @typed(validate=checks.stage)
    def __init__(self, config: SwinConfig, stage: int) -> None:
        super().__init__()
        window = config.window(stage)
        half = window // 2 if window < config.side(stage) else 0
        self.merge = PatchMerging(config.width(stage - 1)) if stage else None
        shifts = [half * (i % 2) for i in range(config.depths[stage])]
        self.blocks = nn.ModuleList(SwinBlock(config, stage, shift) for shift in shifts)

    def forward(
        self, grid: Float[Tensor, "batch row column d"]
    ) -> Float[Tensor, "batch new_row new_column d_model"]:
        """Junta, si toca, y pasa la rejilla por cada bloque.

        Errores: los de :class:`PatchMerging` y :class:`SwinBlock`.
        """
        if self.merge is not None:
            grid = self.merge(grid)
        for block in self.blocks:
            grid = block(grid)
        return grid


# --- El modelo ------------------------------------------------------------------------------------


class Swin(nn.Module):
    """Un codificador de imágenes por ventanas: ``forward(images)`` da puntuaciones (batch, class).

    No lleva posiciones sumadas ni fila de clase: la posición entra en cada ventana, relativa, y se
    clasifica la media de las celdas de la última etapa.

    Errores: ``TypeError`` si ``config`` no es una :class:`SwinConfig`.
    Fuente: Liu et al. (2021), § 3.1 y figura 3.
    """

    @typed(validate=checks.model)
    def __init__(self, config: SwinConfig) -> None:
        super().__init__()
        c, n_stages = config, len(config.depths)
        self.config = config
        self.project = nn.Linear(c.channels * c.patch_size**2, c.d_model)
        self.project_norm = LayerNorm(c.d_model)
        self.dropout = Dropout(c.dropout)
        self.stages = nn.ModuleList(Stage(c, stage) for stage in range(n_stages))
        self.final_norm = LayerNorm(c.width(n_stages - 1))
        self.classify = nn.Linear(c.width(n_stages - 1), c.classes)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Vuelve a sortear los pesos y los sesgos de posición, con ``init_std``."""
        draw_normal(self, self.config.init_std)
        for part in self.modules():
            if isinstance(part, RelativeBias2d):
                nn.init.normal_(part.table, std=self.config.init_std)

    @typed(validate=checks.images)
    def forward(
        self, images: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch class"]:
        """Puntuaciones de cada clase.

        Errores: ``TypeError`` o ``ValueError`` si ``images`` no es de coma flotante, de tamaño
        (batch, channels, image_size, image_size).
        """
        last = self.final_norm(self.pyramid(images)[-1])  # (batch, row, column, d)
        return self.classify(last.mean(dim=(1, 2)))

    @typed(validate=checks.images)
    def pyramid(
        self, images: Float[Tensor, "batch channel height width"]
    ) -> list[Float[Tensor, "batch _row _column _d"]]:
        """Las rejillas al salir de cada etapa, de más a menos fina, (batch, row, column, d).

        Errores: los de :meth:`forward`.
        """
        patches = patchify(images, self.config.patch_size)  # (batch, n, pixels)
        side = self.config.side(0)
        grid = self.project_norm(self.project(patches)).unflatten(1, (side, side))
        levels = [self.dropout(grid)]
        for stage in self.stages:
            levels.append(stage(levels[-1]))
        return levels[1:]
