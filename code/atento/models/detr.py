"""Piso 6: DETR, que detecta objetos con un Transformer y sin más reglas que un emparejamiento.

Una convolución hace de la imagen una rejilla, y cada celda es una fila del codificador. El
decodificador parte de unas pocas consultas, y cada una contesta una clase, o «sin objeto», y una
caja. :func:`assign` decide, en cada imagen, qué consulta se queda con qué objeto, y
:func:`set_loss` mide lo que les falta.

Las cajas que da el modelo son centro y tamaño, ``(cx, cy, w, h)``, en fracciones de la imagen; los
objetos llegan como esquinas, igual que en :mod:`atento.boxes`.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from atento.attention import MultiHeadAttention
from atento.boxes import Match, giou, match, to_center, to_corners
from atento.checks import detr as checks
from atento.layers import FeedForward, LayerNorm, Residual
from atento.shapes import typed

# --- La configuración -----------------------------------------------------------------------------


@dataclass(frozen=True)
class GridConfig:
    """Cómo se lee una imagen por celdas: lo que define un :class:`GridEncoder`.

    La imagen es cuadrada, de ``image_size`` píxeles de lado. La convolución tiene una capa por cada
    número de ``widths``, que parte el lado por dos, y ``n_convs`` más que no. ``norm`` es «post»,
    como en 2020, o «pre».

    ``position_scale`` es el ángulo, en radianes, del seno más rápido de un lado al otro de la
    imagen; ``temperature``, cuántas veces más lento es el más lento, y ``position_gain``, por
    cuánto se multiplican todos: con más, importa más dónde está cada cosa que qué es.

    Con ``cell_weight`` mayor que 0 hay además una cabeza que solo se usa al entrenar: de cada celda
    de la imagen dice qué objeto la tapa. ``no_object_weight`` es lo que pesa acertar que no hay
    nada.

    Errores: ``TypeError`` o ``ValueError`` si un campo no es lo que su nombre dice: el mensaje lo
    nombra.
    Fuente: Carion et al. (2020), § 3.2 y apéndice A.4; la de las celdas, Zong et al. (2023).
    """

    image_size: int
    channels: int = 1
    classes: int = 10
    widths: tuple[int, ...] = (32, 64)
    n_convs: int = 1
    d_model: int = 64
    n_heads: int = 4
    d_ff: int = 128
    n_encoder_layers: int = 2
    norm: str = "post"
    dropout: float = 0.0
    position_scale: float = 2 * math.pi
    temperature: float = 10_000.0
    position_gain: float = 1.0
    no_object_weight: float = 0.1
    cell_weight: float = 0.0

    def __post_init__(self) -> None:
        checks.grid_fields(self)

    @property
    def side(self) -> int:
        """El lado de la rejilla que lee el codificador, en celdas."""
        return self.image_size // 2 ** len(self.widths)


@dataclass(frozen=True)
class DetrConfig(GridConfig):
    """Todo lo que define un :class:`Detr`: cómo lee la imagen y, además, cómo contesta.

    ``queries`` son las consultas, más que los objetos que pueda haber.

    Con ``reference_points`` cada consulta lleva, además de su contenido, una caja de partida que se
    aprende: su centro, escrito con los mismos senos que las celdas, es su posición, y lo que se
    contesta es cuánto corregirla. Con ``refine``, cada capa corrige la caja de la anterior y la
    consulta se muda a su centro. Sin ninguna de las dos es el modelo de 2020.

    ``l1_weight`` y ``giou_weight`` pesan lo mismo en el emparejamiento y en la pérdida. La clase
    pesa ``class_cost`` en el primero y ``class_weight`` en la segunda, y ``no_object_weight`` es lo
    que pesa en ella acertar que no hay nada.

    Errores: los de :class:`GridConfig`.
    Fuente: Carion et al. (2020), § 3 y apéndice A.4; las opciones, Meng et al. (2021) y Liu et al.
    (2022).
    """

    queries: int = 10
    n_decoder_layers: int = 3
    reference_points: bool = False
    refine: bool = False
    class_cost: float = 1.0
    class_weight: float = 1.0
    l1_weight: float = 5.0
    giou_weight: float = 2.0

    def __post_init__(self) -> None:
        checks.fields(self)


# --- Dónde está cada cosa -------------------------------------------------------------------------


@typed(validate=checks.sine_positions)
def sine_positions(
    points: Float[Tensor, "*batch 2"],
    d_model: int,
    *,
    scale: float = 2 * math.pi,
    temperature: float = 10_000.0,
) -> Float[Tensor, "*batch {d_model}"]:
    """Senos y cosenos de unos puntos ``(x, y)``, en fracciones de la imagen.

    La primera mitad de la fila cuenta la altura, y la segunda, la anchura. En cada una, el seno más
    rápido recorre ``scale`` radianes de un lado al otro, y los siguientes se van frenando hasta
    ``temperature`` veces.

    Errores: ``TypeError`` o ``ValueError`` si ``points`` no es (…, 2) de coma flotante, ``d_model``
    no es múltiplo de 4 o ``scale`` o ``temperature`` no son positivos.
    Fuente: Carion et al. (2020), apéndice A.4.
    """
    pairs = d_model // 4
    slow = torch.arange(pairs, dtype=points.dtype, device=points.device) / pairs
    angle = points[..., None] * scale / temperature**slow  # (…, 2, pairs)
    waves = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)  # (…, 2, d_model / 2)
    return torch.cat([waves[..., 1, :], waves[..., 0, :]], dim=-1)


# --- Las piezas -----------------------------------------------------------------------------------


class Backbone(nn.Module):
    """La convolución: de la imagen a una rejilla de filas de anchura ``d_model``.

    Cada capa es una convolución de 3 × 3, una normalización por grupos y una ReLU.

    Errores: ``TypeError`` si ``config`` no es una :class:`GridConfig`.
    """

    @typed(validate=checks.grid)
    def __init__(self, config: GridConfig) -> None:
        super().__init__()
        widths = (config.channels, *config.widths)
        layers = [
            conv_block(before, after, stride=2)
            for before, after in zip(widths, widths[1:], strict=False)
        ]
        layers += [conv_block(widths[-1], widths[-1], stride=1) for _ in range(config.n_convs)]
        self.layers, self.n_convs = nn.Sequential(*layers), config.n_convs
        self.project = nn.Conv2d(widths[-1], config.d_model, kernel_size=1)
        self.norm = LayerNorm(config.d_model)

    def forward(
        self, images: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch d_model row column"]:
        """La rejilla de unas imágenes, de lado ``side``, con cada celda normalizada.

        Sin la norma, lo que el codificador suma, que al empezar es casi lo mismo en todas, tapa lo
        que es de cada celda.
        """
        return self.cells(self.scales(images)[-1])

    def scales(
        self, images: Float[Tensor, "batch channel height width"]
    ) -> list[Float[Tensor, "batch width row column"]]:
        """La imagen y lo que sale de cada capa, de la más fina a la más gruesa.

        Las capas que no parten el lado cuentan con la que llevan delante.
        """
        maps, halving = [images], len(self.layers) - self.n_convs
        for layer in list(self.layers)[:halving]:
            maps.append(layer(maps[-1]))
        for layer in list(self.layers)[halving:]:
            maps[-1] = layer(maps[-1])
        return maps

    def cells(
        self, x: Float[Tensor, "batch width row column"]
    ) -> Float[Tensor, "batch d_model row column"]:
        """Las filas de la rejilla, a partir de lo último que da :meth:`scales`."""
        return self.norm(self.project(x).movedim(1, -1)).movedim(-1, 1)


def conv_block(before: int, after: int, *, stride: int, kernel_size: int = 3) -> nn.Sequential:
    """Una convolución, con su norma por grupos y su ReLU.

    De (batch, before, row, column) a (batch, after, ⌈row / stride⌉, ⌈column / stride⌉).

    Errores: ``TypeError`` o ``ValueError`` si no son enteros positivos o ``kernel_size`` es par.
    """
    checks.conv_block(before, after, stride, kernel_size)
    padding = kernel_size // 2
    conv = nn.Conv2d(before, after, kernel_size, stride=stride, padding=padding, bias=False)
    return nn.Sequential(conv, nn.GroupNorm(math.gcd(8, after), after), nn.ReLU())


class DetrEncoderBlock(nn.Module):
    """Un bloque del codificador, en que la posición se suma en cada capa y solo a quién mira a
    quién: a consultas y claves, y no a los valores.

    Errores: ``TypeError`` si ``config`` no es una :class:`GridConfig`.
    Fuente: Carion et al. (2020), apéndice A.3 y figura 10.
    """

    @typed(validate=checks.grid)
    def __init__(self, config: GridConfig) -> None:
        super().__init__()
        c, options = config, {"norm": config.norm, "dropout": config.dropout}
        self.attention = MultiHeadAttention(c.d_model, c.n_heads)
        self.feed_forward = FeedForward(c.d_model, c.d_ff)
        self.add_attention = Residual(c.d_model, **options)
        self.add_feed_forward = Residual(c.d_model, **options)

    def forward(
        self, x: Float[Tensor, "batch n d_model"], places: Float[Tensor, "#batch n d_model"]
    ) -> Float[Tensor, "batch n d_model"]:
        """Cada celda mira a todas; ``places`` es dónde está cada una.

        Errores: los de :meth:`~atento.attention.MultiHeadAttention.forward`.
        """
        x = self.add_attention(x, lambda y: self.attention(y + places, y + places, y)[0])
        return self.add_feed_forward(x, self.feed_forward)


class GridEncoder(nn.Module):
    """Quien lee la imagen: la convolución y el codificador, con una fila por celda.

    Errores: ``TypeError`` si ``config`` no es una :class:`GridConfig`.
    Fuente: Carion et al. (2020), § 3.2 y figura 2.
    """

    config: Any  # una GridConfig, o la de quien hereda

    @typed(validate=checks.grid)
    def __init__(self, config: GridConfig) -> None:
        super().__init__()
        c = self.config = config
        self.backbone = Backbone(c)
        self.encoder = nn.ModuleList(DetrEncoderBlock(c) for _ in range(c.n_encoder_layers))
        self.encoder_norm = LayerNorm(c.d_model) if c.norm == "pre" else nn.Identity()
        self.classify_cells = nn.Linear(c.d_model, c.classes + 1) if c.cell_weight else None

    @typed(validate=checks.images)
    def encode(
        self, images: Float[Tensor, "batch channel height width"]
    ) -> tuple[Float[Tensor, "batch n d_model"], Float[Tensor, "1 n d_model"]]:
        """Las celdas de la imagen al salir del codificador, y dónde está cada una.

        Errores: ``TypeError`` o ``ValueError`` si ``images`` no es de coma flotante, de tamaño
        (batch, channels, image_size, image_size).
        """
        return self._relate(self.backbone(images))

    def auxiliary_loss(
        self, memory: Float[Tensor, "batch n d_model"], targets: Sequence[Any]
    ) -> Float[Tensor, ""]:
        """La pérdida de las celdas, con su peso; 0, sin ``cell_weight``.

        Errores: los de :func:`cell_loss`.
        """
        if self.classify_cells is None:
            return memory.new_zeros(())
        return self.config.cell_weight * cell_loss(
            self.classify_cells(memory), targets, self.config
        )

    def place(self, points: Float[Tensor, "*batch 2"]) -> Float[Tensor, "*batch d_model"]:
        """Dónde están unos puntos ``(x, y)``, escrito como lo leen la imagen y las consultas.

        Errores: los de :func:`sine_positions`.
        """
        c = self.config
        options = {"scale": c.position_scale, "temperature": c.temperature}
        return c.position_gain * sine_positions(points, c.d_model, **options)

    def _relate(self, cells: Tensor) -> tuple[Tensor, Tensor]:
        """Cada celda de la convolución mira a todas."""
        x = cells.flatten(2).mT  # (batch, n, d_model)
        side = self.config.side
        middle = (torch.arange(side, dtype=x.dtype, device=x.device) + 0.5) / side
        down, right = torch.meshgrid(middle, middle, indexing="ij")
        places = self.place(torch.stack([right, down], dim=-1).reshape(1, -1, 2))
        for block in self.encoder:
            x = block(x, places)
        return self.encoder_norm(x), places


class DetrDecoderBlock(nn.Module):
    """Un bloque del decodificador: las consultas se miran entre ellas y después miran la imagen.

    Errores: ``TypeError`` si ``config`` no es una :class:`DetrConfig`.
    Fuente: Carion et al. (2020), apéndice A.3 y figura 10.
    """

    @typed(validate=checks.model)
    def __init__(self, config: DetrConfig) -> None:
        super().__init__()
        c, options = config, {"norm": config.norm, "dropout": config.dropout}
        self.attention = MultiHeadAttention(c.d_model, c.n_heads)
        self.cross_attention = MultiHeadAttention(c.d_model, c.n_heads)
        self.feed_forward = FeedForward(c.d_model, c.d_ff)
        self.add_attention = Residual(c.d_model, **options)
        self.add_cross_attention = Residual(c.d_model, **options)
        self.add_feed_forward = Residual(c.d_model, **options)

    def forward(
        self,
        x: Float[Tensor, "batch query d_model"],
        own: Float[Tensor, "#batch query d_model"],
        memory: Float[Tensor, "batch n d_model"],
        places: Float[Tensor, "#batch n d_model"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """``own`` es dónde está cada consulta, y ``places``, dónde cada celda de ``memory``.

        ``mask``, si se da, se difunde hasta (batch, head, query, n): a qué celdas puede mirar.

        Errores: los de :meth:`~atento.attention.MultiHeadAttention.forward`.
        """
        keys = memory + places
        x = self.add_attention(x, lambda y: self.attention(y + own, y + own, y)[0])
        x = self.add_cross_attention(
            x, lambda y: self.cross_attention(y + own, keys, memory, mask)[0]
        )
        return self.add_feed_forward(x, self.feed_forward)


# --- El modelo ------------------------------------------------------------------------------------


class Detections(NamedTuple):
    """Lo que contesta cada consulta: ``logits``, (batch, query, class), y ``boxes``, (batch, query,
    4).

    La última clase es «sin objeto». Las cajas son centro y tamaño, en fracciones de la imagen.
    """

    logits: Float[Tensor, "batch query class"]
    boxes: Float[Tensor, "batch query 4"]


class Detected(NamedTuple):
    """Lo que se da por encontrado en una imagen: clase, nota y caja, en esquinas, por consulta."""

    labels: Int[Tensor, " query"]
    scores: Float[Tensor, " query"]
    boxes: Float[Tensor, "query 4"]


class Detr(GridEncoder):
    """El detector: ``forward(images)`` da las :class:`Detections` de la última capa.

    Las dos cabezas, la de la clase y la de la caja, son las mismas para todas las capas del
    decodificador. :meth:`every_layer` da lo que contesta cada una, que es lo que se entrena.

    Errores: ``TypeError`` si ``config`` no es una :class:`DetrConfig`.
    Fuente: Carion et al. (2020), § 3.2 y figura 2.
    """

    @typed(validate=checks.model)
    def __init__(self, config: DetrConfig) -> None:
        super().__init__(config)
        c = config
        self.decoder = nn.ModuleList(DetrDecoderBlock(c) for _ in range(c.n_decoder_layers))
        self.decoder_norm = LayerNorm(c.d_model)
        self.queries = nn.Parameter(torch.zeros(c.queries, c.d_model))
        self.starts = nn.Parameter(torch.zeros(c.queries, 4)) if c.reference_points else None
        self.classify = nn.Linear(c.d_model, c.classes + 1)
        hidden = [nn.Linear(c.d_model, c.d_model), nn.ReLU(), nn.Linear(c.d_model, c.d_model)]
        self.locate = nn.Sequential(*hidden, nn.ReLU(), nn.Linear(c.d_model, 4))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Vuelve a sortear las consultas y, con ``reference_points``, los puntos, y dónde miran.

        Los puntos se reparten por igual por la imagen y las cajas de partida miden un tercio de
        ella; el contenido y la corrección de la caja empiezan en 0. La atención cruzada empieza
        comparando posiciones: consultas y claves llevan la misma matriz, que reparte a cada cabeza
        senos de los dos ejes y de todas las velocidades. Así cada consulta empieza mirando
        alrededor de su punto.
        """
        if self.starts is None:
            nn.init.normal_(self.queries)
            return
        nn.init.zeros_(self.queries)
        steps = torch.tensor([0.754878, 0.569840])  # los pasos que menos se acercan a repetirse
        spread = (0.5 + torch.arange(len(self.starts))[:, None] * steps) % 1  # (query, 2)
        self.starts[:, :2] = (0.1 + 0.8 * spread).logit()
        self.starts[:, 2:] = math.log(1 / 2)  # la inversa de la sigmoide, en 1/3
        last: Any = self.locate[-1]
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        c, blocks = self.config, list[Any](self.decoder)
        waves = torch.eye(c.d_model).reshape(2, -1, c.n_heads, 2, c.d_model)
        shared = waves.permute(2, 0, 1, 3, 4).reshape(c.d_model, c.d_model)
        for block in blocks:
            block.cross_attention.project_query.weight.copy_(shared)
            block.cross_attention.project_key.weight.copy_(shared)

    @typed(validate=checks.images)
    def forward(self, images: Float[Tensor, "batch channel height width"]) -> Detections:
        """Lo que contesta cada consulta.

        Errores: ``TypeError`` o ``ValueError`` si ``images`` no es de coma flotante, de tamaño
        (batch, channels, image_size, image_size).
        """
        return self.every_layer(images)[-1]

    @typed(validate=checks.images)
    def every_layer(self, images: Float[Tensor, "batch channel height width"]) -> list[Detections]:
        """Lo que contestan las consultas al salir de cada capa del decodificador.

        Errores: los de :meth:`forward`.
        """
        return self._decode(*self.encode(images))

    def loss(
        self, images: Float[Tensor, "batch channel height width"], targets: Sequence[Any]
    ) -> Float[Tensor, ""]:
        """La pérdida con que se entrena: :func:`set_loss` de todas las capas y, con
        ``cell_weight``, la de las celdas, con su peso.

        Errores: los de :meth:`forward`, :func:`set_loss` y :func:`cell_loss`.
        """
        memory, places = self.encode(images)
        whole = set_loss(self._decode(memory, places), targets, self.config)
        return whole + self.auxiliary_loss(memory, targets)

    def _decode(self, memory: Tensor, places: Tensor) -> list[Detections]:
        """Lo que contesta cada capa del decodificador a lo que dice el codificador."""
        return [answers for _, answers in self._layers(memory, places)]

    def _layers(
        self, memory: Tensor, places: Tensor, look: Callable[..., Tensor] | None = None
    ) -> Iterator[tuple[Tensor, Detections]]:
        """Cada capa del decodificador: el estado de las consultas y lo que contestan con él.

        ``look``, si se da, dice con las dos cosas a qué celdas puede mirar cada una en la
        siguiente.
        """
        x, own, box = self._start(len(memory))
        mask = None  # la primera lo ve todo
        for block in self.decoder:
            x = block(x, own, memory, places, mask)  # (batch, query, d_model)
            seen = self.decoder_norm(x)
            fixed = box + self.locate(seen)  # la caja, antes de la sigmoide
            answers = Detections(self.classify(seen), fixed.sigmoid())
            yield seen, answers
            mask = look(seen, answers) if look is not None else None
            if self.config.refine:
                box = fixed.detach()
                own = self.place(box.sigmoid()[..., :2]) if self.starts is not None else own

    @torch.no_grad()
    @typed(validate=checks.images)
    def find(self, images: Float[Tensor, "batch channel height width"]) -> list[Detected]:
        """Lo que se encuentra en cada imagen: de cada consulta, su mejor clase con objeto.

        La nota es la probabilidad de esa clase. No se descarta nada: con quedarse con las notas
        mayores que 1/2 se tienen las que antes dirían un objeto que «sin objeto».

        Errores: los de :meth:`forward`.
        """
        logits, boxes = self(images)
        scores, labels = logits.softmax(dim=-1)[..., :-1].max(dim=-1)  # (batch, query)
        corners = to_corners(boxes)
        return [Detected(*row) for row in zip(labels, scores, corners, strict=True)]

    def _start(self, batch: int) -> tuple[Tensor, Tensor, Tensor]:
        """El contenido, la posición y la caja con que empieza cada consulta."""
        queries = self.queries.expand(batch, -1, -1)  # (batch, query, d_model)
        if self.starts is None:
            return torch.zeros_like(queries), queries, queries.new_zeros(4)
        starts = self.starts.expand(batch, -1, -1)  # (batch, query, 4)
        return queries, self.place(starts[..., :2].sigmoid()), starts


# --- Emparejar y perder ---------------------------------------------------------------------------


@typed(validate=checks.matching_cost)
def matching_cost(
    detections: Detections,
    labels: Int[Tensor, " object"],
    boxes: Float[Tensor, "object 4"],
    config: DetrConfig,
) -> Float[Tensor, "batch query object"]:
    """Lo que cuesta que cada consulta se quede con cada objeto; cuanto menos, mejor.

    Es la probabilidad que le da a su clase, con signo menos, más la distancia L1 entre las cajas y
    menos su GIoU, cada cosa con su peso. Se usa la probabilidad y no su logaritmo, que no tiene
    límite.

    Errores: ``TypeError`` o ``ValueError`` si ``detections`` no son :class:`Detections`, ``labels``
    no son clases, (object,), o ``boxes`` no son esquinas, (object, 4).
    Fuente: Carion et al. (2020), ec. 1 y apéndice A.2.
    """
    logits, found = detections
    chance = logits.softmax(dim=-1)[..., labels]  # (batch, query, object)
    apart = torch.cdist(found.flatten(0, 1), to_center(boxes), p=1)  # (batch · query, object)
    overlap = giou(to_corners(found).flatten(0, 1), boxes)
    c, shape = config, chance.shape
    boxed = c.l1_weight * apart - c.giou_weight * overlap
    return boxed.reshape(shape) - c.class_cost * chance


@torch.no_grad()
@typed(validate=checks.assign)
def assign(detections: Detections, targets: Sequence[Any], config: DetrConfig) -> list[Match]:
    """Qué consulta se queda con qué objeto en cada imagen: el reparto que menos cuesta.

    ``targets`` tiene, de cada imagen, las clases, (object,), y las cajas, (object, 4), en esquinas.

    Errores: los de :func:`matching_cost`, y ``ValueError`` si no hay una imagen por fila o hay más
    objetos que consultas.
    Fuente: Carion et al. (2020), ec. 1.
    """
    labels = torch.cat([target[0] for target in targets])
    boxes = torch.cat([target[1] for target in targets])
    cost = matching_cost.unchecked(detections, labels, boxes, config)  # (batch, query, de todas)
    each = cost.cpu().split([len(target[0]) for target in targets], dim=-1)
    return [match.unchecked(rows[i]) for i, rows in enumerate(each)]


class Losses(NamedTuple):
    """Las partes de la pérdida: la de la clase, la de la distancia y la del GIoU."""

    classes: Float[Tensor, ""]
    l1: Float[Tensor, ""]
    giou: Float[Tensor, ""]


@typed(validate=checks.assign)
def losses(detections: Detections, targets: Sequence[Any], config: DetrConfig) -> Losses:
    """Las tres partes de la pérdida de una capa, sin pesar, con el reparto de :func:`assign`.

    La de la clase es la entropía cruzada de todas las consultas; las que se quedan sin objeto
    pesan ``no_object_weight``, y la media se hace con esos pesos. Las de las cajas se suman en las
    que tienen objeto y se dividen entre cuántos hay.

    Errores: los de :func:`assign`.
    Fuente: Carion et al. (2020), ec. 2 y apéndice A.2.
    """
    pairs = assign.unchecked(detections, targets, config)
    return matched_losses.unchecked(detections, targets, pairs, config)


class Matched(NamedTuple):
    """Las parejas de un lote, todas seguidas: de qué imagen, qué consulta y qué objeto suyo."""

    image: Int[Tensor, " pair"]
    query: Int[Tensor, " pair"]
    object: Int[Tensor, " pair"]


@typed(validate=checks.pairs)
def flatten_pairs(pairs: Sequence[Match]) -> Matched:
    """Las parejas de cada imagen, (pair,), una detrás de otra.

    Errores: ``TypeError`` si ``pairs`` no es una lista con un reparto por imagen.
    """
    image = torch.cat([torch.full_like(pair.rows, i) for i, pair in enumerate(pairs)])
    query, object_ = (torch.cat(x) for x in zip(*pairs, strict=True))
    return Matched(image, query, object_)


@typed(validate=checks.matched_losses)
def matched_losses(
    detections: Detections, targets: Sequence[Any], pairs: Sequence[Match], config: DetrConfig
) -> Losses:
    """Las tres partes de :func:`losses`, con el reparto ``pairs``, que lo da quien llama.

    Errores: los de :func:`assign` y :func:`flatten_pairs`.
    """
    logits, found = detections
    image, query, _ = flatten_pairs.unchecked(pairs)
    both = [(t, pair.columns) for t, pair in zip(targets, pairs, strict=True)]
    labels = torch.cat([target[0][columns] for target, columns in both])
    boxes = torch.cat([target[1][columns] for target, columns in both])
    wanted = torch.full(logits.shape[:2], config.classes, device=logits.device)
    wanted[image, query] = labels
    weight = logits.new_ones(config.classes + 1)
    weight[-1] = config.no_object_weight
    mine, count = found[image, query], max(len(labels), 1)
    return Losses(
        F.cross_entropy(logits.transpose(1, 2), wanted, weight),
        (mine - to_center(boxes)).abs().sum() / count,
        (1 - giou(to_corners(mine), boxes).diagonal()).sum() / count,
    )


@typed(validate=checks.set_loss)
def set_loss(
    layers: Sequence[Detections], targets: Sequence[Any], config: DetrConfig
) -> Float[Tensor, ""]:
    """La pérdida húngara: las tres partes, pesadas y sumadas, de cada capa del decodificador.

    Cada capa se empareja por su cuenta. Las de antes de la última son las pérdidas auxiliares: con
    ``layers[-1:]`` no las hay.

    Errores: los de :func:`assign`, y ``TypeError`` o ``ValueError`` si ``layers`` no es una lista
    con alguna.
    Fuente: Carion et al. (2020), ec. 2 y § 3.2, «Auxiliary decoding losses».
    """
    weights = (config.class_weight, config.l1_weight, config.giou_weight)
    parts = [losses.unchecked(detections, targets, config) for detections in layers]
    every = [w * part for row in parts for w, part in zip(weights, row, strict=True)]
    return torch.stack(every).sum()


@typed(validate=checks.cell_classes)
def cell_classes(
    targets: Sequence[Any], config: GridConfig
) -> Int[Tensor, "batch {config.side * config.side}"]:
    """La clase del objeto cuya caja tapa el centro de cada celda; ``classes``, si no hay ninguno.

    Si la tapan dos, la del último. ``targets``, como en :func:`assign`.

    Errores: ``TypeError`` o ``ValueError`` si ``targets`` no son los objetos de cada imagen.
    """
    side, rows = config.side, []
    for labels, boxes in targets:
        middle = (torch.arange(side, dtype=boxes.dtype, device=boxes.device) + 0.5) / side
        across = (boxes[:, :1] <= middle) & (middle < boxes[:, 2:3])  # (object, column)
        down = (boxes[:, 1:2] <= middle) & (middle < boxes[:, 3:])  # (object, row)
        cells = torch.full((side, side), config.classes, device=labels.device)
        for label, covered in zip(labels, down[:, :, None] & across[:, None], strict=True):
            cells[covered] = label
        rows.append(cells.flatten())
    return torch.stack(rows)


@typed(validate=checks.cell_loss)
def cell_loss(
    logits: Float[Tensor, "batch n class"], targets: Sequence[Any], config: GridConfig
) -> Float[Tensor, ""]:
    """La pérdida auxiliar de las celdas: entropía cruzada con las clases de :func:`cell_classes`.

    A cada objeto le toca una consulta, y muchas celdas: por eso enseña antes al codificador qué hay
    en cada sitio. Las celdas sin objeto pesan ``no_object_weight``, y la media se hace con los
    pesos.

    Errores: los de :func:`cell_classes`, y ``ValueError`` si ``logits`` no tiene una fila por celda
    y una columna por clase, con la de «sin objeto».
    Fuente: Zong et al. (2023), § 3.1: muchas asignaciones por objeto en cabezas que no se usan
    después. Aquí la cabeza es una capa lineal, y la asignación, la caja que tapa la celda.
    """
    weight = logits.new_ones(config.classes + 1)
    weight[-1] = config.no_object_weight
    return F.cross_entropy(logits.transpose(1, 2), cell_classes.unchecked(targets, config), weight)
