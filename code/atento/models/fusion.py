"""Piso 6: juntar dos sentidos; seis maneras de hacerlo, y una séptima por un cuello de botella.

Cada sentido llega como una secuencia de filas, y todas las fusiones gastan los mismos bloques.
Cambia por dónde pasan las filas, que es lo que dicen los siete métodos de :class:`Fusion`.
:class:`TwoSenses` pone delante una imagen y un texto y, detrás, una respuesta.

Fuente: las seis, Xu, Zhu y Clifton (2023), § 3.3.2; el cuello, Nagrani et al. (2021). En la
panorámica, la atención cruzada actualiza la secuencia que da las claves; aquí, la que pregunta, que
es la única con tantas filas como el resultado.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from atento.attention import MultiHeadAttention
from atento.blocks import EncoderBlock
from atento.checks import fusion as checks
from atento.layers import FeedForward, LayerNorm
from atento.models.bert import draw_normal
from atento.models.vit import PatchEmbedding, VitConfig
from atento.positions import Learned
from atento.shapes import typed

FUSIONS = checks.FUSIONS
"""Las siete: las seis de la panorámica, en su orden, y el cuello de botella."""


@dataclass(frozen=True)
class FusionConfig:
    """Todo lo que define una :class:`Fusion`.

    ``fusion`` es una de ``FUSIONS``. ``n_layers``, un múltiplo de 4, es el presupuesto: cuántos
    bloques hay en total, se repartan como se repartan. El cuello de botella tiene ``n_bottleneck``
    filas y empieza en la capa ``fuse_from``, contada desde 0; antes, cada sentido va por su cuenta.
    Los pesos se sortean con desviación ``init_std``. En :class:`TwoSenses`, ``position_std`` es la
    de los sitios de la imagen; ``word_std``, la de las palabras, y ``place_std``, la de sus sitios,
    que es menor para que no las tapen.

    Errores: ``TypeError`` o ``ValueError`` si un campo no es lo que su nombre dice: el mensaje lo
    nombra.
    """

    fusion: str
    d_model: int = 64
    n_heads: int = 4
    d_ff: int = 128
    n_layers: int = 4
    n_bottleneck: int = 4
    fuse_from: int = 0
    dropout: float = 0.0
    init_std: float = 0.1
    position_std: float = 1.0
    word_std: float = 1.0
    place_std: float = 0.3

    def __post_init__(self) -> None:
        checks.fields(self)


# --- Las secuencias -------------------------------------------------------------------------------


class Stream(NamedTuple):
    """Una secuencia y qué filas suyas no son relleno: (batch, n, d_model) y (batch, n)."""

    rows: Float[Tensor, "batch n d_model"]
    present: Bool[Tensor, "batch n"]

    @classmethod
    def of(
        cls, rows: Float[Tensor, "batch n d_model"], present: Bool[Tensor, "batch n"] | None = None
    ) -> "Stream":
        """La secuencia de esas filas; sin ``present``, no hay relleno.

        Errores: ``TypeError`` o ``ValueError`` si no casan.
        """
        checks.of(rows, present)
        whole = torch.ones(rows.shape[:2], dtype=torch.bool, device=rows.device)
        return cls(rows, whole if present is None else present)

    @property
    def mask(self) -> Bool[Tensor, "batch 1 1 n"]:
        """A qué filas se puede atender."""
        return self.present[:, None, None]

    def joined(self, other: "Stream") -> "Stream":
        """Una secuencia detrás de la otra: n_a + n_b filas.

        Errores: ``TypeError`` si ``other`` no es un :class:`Stream`.
        """
        checks.joined(self, other)
        pairs = zip(self, other, strict=True)
        return Stream(*(torch.cat(pair, dim=1) for pair in pairs))

    def summed(self, other: "Stream", weights: Float[Tensor, "2"]) -> "Stream":
        """Fila a fila, la suma de las dos, cada una por su peso; el relleno suma 0.

        Errores: ``TypeError`` o ``ValueError`` si no tienen las mismas filas.
        """
        checks.summed(self, other, weights)
        own, others = (s.rows * s.present[..., None] for s in (self, other))
        rows = weights[0] * own + weights[1] * others  # (batch, n, d_model)
        return Stream(rows, self.present | other.present)

    def padded(self, n: int) -> "Stream":
        """La misma, con relleno detrás hasta ``n`` filas; si ya las tiene, tal cual.

        Errores: ``TypeError`` o ``ValueError`` si ``n`` no es un entero ≥ 0.
        """
        checks.cut(self, n)
        more = max(0, n - self.rows.shape[1])
        return Stream(F.pad(self.rows, (0, 0, 0, more)), F.pad(self.present, (0, more)))

    def cut(self, n: int) -> tuple["Stream", "Stream"]:
        """Las ``n`` primeras filas y las demás.

        Errores: ``TypeError`` o ``ValueError`` si ``n`` no es un entero ≥ 0.
        """
        checks.cut(self, n)
        first = Stream(self.rows[:, :n], self.present[:, :n])
        return first, Stream(self.rows[:, n:], self.present[:, n:])

    def mean(self) -> Float[Tensor, "batch d_model"]:
        """La media de las filas que no son relleno; 0, si todas lo son."""
        count = self.present.sum(dim=1, keepdim=True).clamp(min=1)
        return (self.rows * self.present[..., None]).sum(dim=1) / count


class CrossBlock(EncoderBlock):
    """Un bloque que mira a la otra secuencia: las mismas piezas, con sus claves y sus valores.

    Cada fila ve todas las de la otra y, de la suya, a sí misma, por la conexión residual. La norma
    de la atención normaliza las dos.

    Errores: los de :class:`~atento.blocks.EncoderBlock`.
    Fuente: Lu et al. (2019), figura 2b.
    """

    @typed(validate=checks.cross_block)
    def forward(self, x: Stream, other: Stream) -> Stream:
        """``x``, actualizada con lo que ve en ``other``.

        Errores: ``TypeError`` si no son dos :class:`Stream`.
        """
        memory = self.add_attention.norm(other.rows)  # (batch, n_other, d_model)
        rows = self.add_attention(x.rows, lambda y: self.attention(y, memory, mask=other.mask)[0])
        return x._replace(rows=self.add_feed_forward(rows, self.feed_forward))


# --- Las siete fusiones ---------------------------------------------------------------------------

PLANS: dict[str, dict[str, int]] = {
    "early_sum": {"together": 4},
    "early_concat": {"together": 4},
    "many_to_one": {"apart": 1, "together": 2},
    "one_to_many": {"together": 2, "apart": 1},
    "cross": {"crossed": 2},
    "cross_concat": {"crossed": 1, "together": 2},
    "bottleneck": {"apart": 2},
}
"""Las capas de cada fusión, en cuartos del presupuesto: en común (``together``), cada sentido por
su lado (``apart``) o mirándose (``crossed``). Una capa de las dos últimas gasta dos bloques."""


class Fusion(nn.Module):
    """Junta dos secuencias: ``forward(a, b)`` da una, o dos, según cómo acabe la fusión.

    Los pesos de una capa común son de los dos sentidos; los de las demás, de cada uno.

    Errores: ``TypeError`` si ``config`` no es una :class:`FusionConfig`.
    Fuente: Xu, Zhu y Clifton (2023), § 3.3.2; Nagrani et al. (2021), § 3.2.
    """

    @typed(validate=checks.model)
    def __init__(self, config: FusionConfig) -> None:
        super().__init__()
        c = self.config = config
        layers = {kind: n * c.n_layers // 4 for kind, n in PLANS[c.fusion].items()}
        self.together = nn.ModuleList(self._block() for _ in range(layers.get("together", 0)))
        self.apart_a, self.apart_b = (
            nn.ModuleList(self._block() for _ in range(layers.get("apart", 0))) for _ in "ab"
        )
        self.crossed_a, self.crossed_b = (
            nn.ModuleList(self._block(CrossBlock) for _ in range(layers.get("crossed", 0)))
            for _ in "ab"
        )
        self.norm = LayerNorm(c.d_model)
        summed, narrow = c.fusion == "early_sum", c.fusion == "bottleneck"
        self.weights: Any = nn.Parameter(torch.ones(2)) if summed else None
        self.neck: Any = nn.Parameter(torch.zeros(c.n_bottleneck, c.d_model)) if narrow else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Vuelve a sortear los pesos, con ``init_std``, y anula los sesgos."""
        draw_normal(self, self.config.init_std)
        if self.neck is not None:
            nn.init.normal_(self.neck, std=self.config.init_std)

    @typed(validate=checks.fuse)
    def forward(
        self,
        a: Float[Tensor, "batch n_a d_model"],
        b: Float[Tensor, "batch n_b d_model"],
        a_present: Bool[Tensor, "batch n_a"] | None = None,
        b_present: Bool[Tensor, "batch n_b"] | None = None,
    ) -> tuple[Stream, ...]:
        """Las secuencias que quedan: una en las que acaban juntas, y si no, la de cada sentido.

        ``a_present`` y ``b_present`` son ``False`` en el relleno, que nunca cambia una fila que no
        lo es.

        Errores: ``TypeError`` o ``ValueError`` si no son (batch, n, d_model) del mismo lote, o se
        suman secuencias que no tienen las mismas filas.
        """
        fuse = getattr(self, f"_{self.config.fusion}")
        streams = fuse(Stream.of(a, a_present), Stream.of(b, b_present))
        return tuple(s._replace(rows=self.norm(s.rows)) for s in streams)

    def _early_sum(self, a: Stream, b: Stream) -> tuple[Stream, ...]:
        return (self._one(a.summed(b, self.weights)),)

    def _early_concat(self, a: Stream, b: Stream) -> tuple[Stream, ...]:
        return (self._one(a.joined(b)),)

    def _many_to_one(self, a: Stream, b: Stream) -> tuple[Stream, ...]:
        return (self._one(Stream.joined(*self._each(a, b))),)

    def _one_to_many(self, a: Stream, b: Stream) -> tuple[Stream, ...]:
        return self._each(*self._one(a.joined(b)).cut(a.rows.shape[1]))

    def _cross(self, a: Stream, b: Stream) -> tuple[Stream, ...]:
        return self._look(a, b)

    def _cross_concat(self, a: Stream, b: Stream) -> tuple[Stream, ...]:
        return (self._one(Stream.joined(*self._look(a, b))),)

    def _bottleneck(self, a: Stream, b: Stream) -> tuple[Stream, ...]:
        neck = Stream.of(self.neck.expand(len(a.rows), -1, -1))
        for i, (own_a, own_b) in enumerate(zip(self.apart_a, self.apart_b, strict=True)):
            if i < self.config.fuse_from:
                a, b = _through([own_a], a), _through([own_b], b)
            else:
                a, one = _through([own_a], a.joined(neck)).cut(a.rows.shape[1])
                b, other = _through([own_b], b.joined(neck)).cut(b.rows.shape[1])
                neck = neck._replace(rows=(one.rows + other.rows) / 2)
        return a, b

    def _one(self, both: Stream) -> Stream:
        """Las capas comunes."""
        return _through(self.together, both)

    def _each(self, a: Stream, b: Stream) -> tuple[Stream, Stream]:
        """Las capas de cada sentido, por su lado."""
        return _through(self.apart_a, a), _through(self.apart_b, b)

    def _look(self, a: Stream, b: Stream) -> tuple[Stream, Stream]:
        """Las capas en que cada sentido mira al otro, los dos a la vez."""
        for look_a, look_b in zip(self.crossed_a, self.crossed_b, strict=True):
            a, b = look_a(a, b), look_b(b, a)
        return a, b

    def _block(self, kind: type[EncoderBlock] = EncoderBlock) -> EncoderBlock:
        c = self.config
        attention = MultiHeadAttention(c.d_model, c.n_heads)
        dense = FeedForward(c.d_model, c.d_ff, activation="gelu")
        return kind(attention, dense, norm="pre", dropout=c.dropout)


def _through(blocks: nn.ModuleList | list[nn.Module], stream: Stream) -> Stream:
    """La secuencia, tras esos bloques."""
    rows = stream.rows
    for block in blocks:
        rows = block(rows, stream.mask)  # (batch, n, d_model)
    return stream._replace(rows=rows)


# --- De una imagen y un texto a una respuesta -----------------------------------------------------


class TwoSenses(nn.Module):
    """Mira, lee y contesta: ``forward(images, text)`` da puntuaciones, (batch, class).

    La imagen entra por parches, con las medidas de ``image``, una
    :class:`~atento.models.vit.VitConfig` de la misma anchura y con ``pooling="mean"``. El texto,
    palabra a palabra, hasta ``max_len``; el relleno es el 0. La suma, que pide tantas filas en un
    sentido como en el otro, rellena el más corto. Se clasifica la media de las filas que quedan,
    sentido a sentido.

    Errores: ``TypeError`` o ``ValueError`` si ``config`` o ``image`` no son las configuraciones
    dichas, o un tamaño no es positivo.
    """

    @typed(validate=checks.reader)
    def __init__(
        self, config: FusionConfig, image: VitConfig, vocab: int, max_len: int, classes: int
    ) -> None:
        super().__init__()
        self.config, self.vocab, self.max_len = config, vocab, max_len
        self.embed_image = PatchEmbedding(image)
        self.embed_words = nn.Embedding(vocab, config.d_model)
        self.positions = Learned(max_len, config.d_model)
        self.fusion = Fusion(config)
        self.classify = nn.Linear(config.d_model, classes)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Vuelve a sortear los pesos, con las desviaciones de ``config``, y anula los sesgos."""
        c = self.config
        draw_normal(self, c.init_std)
        self.fusion.reset_parameters()
        nn.init.normal_(self.embed_image.positions.table, std=c.position_std)
        nn.init.normal_(self.embed_words.weight, std=c.word_std)
        nn.init.normal_(self.positions.table, std=c.place_std)

    @typed(validate=checks.read)
    def forward(
        self, images: Float[Tensor, "batch channel height width"], text: Int[Tensor, "batch n"]
    ) -> Float[Tensor, "batch class"]:
        """Puntuaciones de cada respuesta.

        Errores: ``TypeError`` o ``ValueError`` si ``images`` no son las de ``image`` o ``text`` no
        son números del vocabulario, (batch, n), uno por imagen y sin pasar de ``max_len``.
        """
        seen = self.embed_image(images)  # (batch, n_patches, d_model)
        told = self.positions(self.embed_words(text))  # (batch, n, d_model)
        a, b = Stream.of(seen), Stream.of(told, text != 0)
        if self.config.fusion == "early_sum":
            n = max(seen.shape[1], told.shape[1])
            a, b = a.padded(n), b.padded(n)
        streams = self.fusion(a.rows, b.rows, a.present, b.present)
        means = torch.stack([stream.mean() for stream in streams])  # (stream, batch, d_model)
        return self.classify(means.mean(dim=0))
