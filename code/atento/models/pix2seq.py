"""Piso 6: Pix2Seq, que detecta escribiendo: cada objeto son cinco palabras.

Una coordenada es una palabra: en qué cajón de la imagen cae. Un objeto se escribe ``y0 x0 y1 x1
clase``, y la lista acaba en el fin de frase. La imagen la lee el mismo codificador que en
:mod:`atento.models.detr`, y las palabras las escribe el decodificador de
:class:`~atento.models.seq2seq.Seq2Seq`. No hay emparejamiento ni pérdida de cajas: se entrena como
cualquier modelo de lenguaje.

:func:`write` y :func:`read` van de los objetos a las palabras y vuelven; :func:`pack` hace el lote.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from atento.attention import MultiHeadAttention
from atento.blocks import Decoder
from atento.checks import pix2seq as checks
from atento.checks.decoding import require_writing
from atento.decoding import greedy, kept, recomputing
from atento.layers import FeedForward, LayerNorm, TokenEmbedding
from atento.models.detr import Detected, GridConfig, GridEncoder, sine_positions
from atento.models.positioning import Positions, consecutive
from atento.models.seq2seq import Encoded, Seq2Seq
from atento.positions import Learned
from atento.shapes import typed
from atento.training import evaluating

WORDS = 5
"""Las palabras de un objeto: cuatro coordenadas y la clase."""

# --- La configuración -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Pix2SeqConfig(GridConfig):
    """Todo lo que define un :class:`Pix2Seq`: cómo lee la imagen y cómo escribe.

    ``bins`` son los cajones de cada eje, del borde al borde: con uno más que píxeles, cada borde de
    píxel tiene el suyo. ``max_objects``, los objetos que se escriben como mucho. Con ``noise``, al
    entrenar se rellena la lista hasta ``max_objects`` con objetos que no hay, y se pide decir que
    no los hay; al escribir no se acaba antes, y la nota de cada objeto dice si está. Con
    ``place_words``, las palabras de las coordenadas empiezan siendo los senos con que la imagen
    dice dónde está cada celda. ``position_std`` es la desviación con que empiezan las posiciones de
    las palabras.

    Errores: los de :class:`~atento.models.detr.GridConfig`, y si un campo no es lo que se dice.
    Fuente: Chen et al. (2022), §§ 2.1 a 2.3; ``place_words`` no está en el artículo.
    """

    bins: int = 41
    max_objects: int = 4
    n_decoder_layers: int = 2
    noise: bool = False
    place_words: bool = True
    position_std: float = 0.02

    pad_id: ClassVar[int] = 0
    bos_id: ClassVar[int] = 1
    eos_id: ClassVar[int] = 2
    first_bin: ClassVar[int] = 3

    def __post_init__(self) -> None:
        checks.fields(self)

    @property
    def first_class(self) -> int:
        """El número de la primera clase, que va detrás de los cajones."""
        return self.first_bin + self.bins

    @property
    def absent(self) -> int:
        """El número de la palabra con que se dice que un objeto no está."""
        return self.first_class + self.classes

    @property
    def target_vocab(self) -> int:
        """Cuántas palabras hay."""
        return self.absent + 1

    @property
    def max_len(self) -> int:
        """Las palabras de la lista más larga, con el comienzo y el fin."""
        return WORDS * self.max_objects + 2


# --- De objetos a palabras ------------------------------------------------------------------------


@typed(validate=checks.write)
def write(
    labels: Int[Tensor, " object"], boxes: Float[Tensor, "object 4"], config: Pix2SeqConfig
) -> Int[Tensor, " word"]:
    """Las palabras de unos objetos, en su orden, y el fin: ``y0 x0 y1 x1 clase … fin``.

    ``boxes`` son esquinas, en fracciones de la imagen; cada coordenada va al cajón más cercano.

    Errores: ``TypeError`` o ``ValueError`` si no son clases, (object,), y esquinas entre 0 y 1,
    (object, 4), o son más de ``max_objects``.
    Fuente: Chen et al. (2022), § 2.1.
    """
    upright = boxes[:, [1, 0, 3, 2]]  # y0, x0, y1, x1
    bins = (upright * (config.bins - 1)).round().long() + config.first_bin  # (object, 4)
    rows = torch.cat([bins, labels[:, None].long() + config.first_class], dim=1)  # (object, 5)
    return torch.cat([rows.flatten(), rows.new_tensor([config.eos_id])])


class Read(NamedTuple):
    """Lo que dicen unas palabras: las clases, (object,), sus cajas, (object, 4), y en qué lugar de
    la lista está cada clase, (object,).
    """

    labels: Int[Tensor, " object"]
    boxes: Float[Tensor, "object 4"]
    places: Int[Tensor, " object"]


@typed(validate=checks.read)
def read(words: Int[Tensor, " word"], config: Pix2SeqConfig) -> Read:
    """Los objetos que dicen unas palabras, hasta el fin: lo contrario de :func:`write`.

    Se leen de cinco en cinco. No cuentan las cinco que no son cuatro coordenadas y una clase, ni
    las de una caja del revés, ni las que queden sueltas al final.

    Errores: ``TypeError`` o ``ValueError`` si ``words`` no son números del vocabulario, (word,).
    """
    c = config
    ends = (words == c.eos_id).nonzero()
    whole = words[: int(ends[0])] if len(ends) else words
    rows = whole[: len(whole) // WORDS * WORDS].reshape(-1, WORDS)
    bins, labels = rows[:, :4] - c.first_bin, rows[:, 4] - c.first_class
    good = ((bins >= 0) & (bins < c.bins)).all(dim=1) & (labels >= 0) & (labels < c.classes)
    good &= (bins[:, :2] <= bins[:, 2:]).all(dim=1)
    boxes = bins[:, [1, 0, 3, 2]] / (c.bins - 1)
    places = torch.arange(len(rows), device=words.device) * WORDS + WORDS - 1
    return Read(labels[good], boxes[good], places[good])


class Packed(NamedTuple):
    """Un lote de listas: lo que recibe el decodificador, ``words``; lo que ha de contestar,
    ``labels``, y lo que pesa cada respuesta, ``weights``, (batch, word) los tres.
    """

    words: Int[Tensor, "batch word"]
    labels: Int[Tensor, "batch word"]
    weights: Float[Tensor, "batch word"]


@typed(validate=checks.pack)
def pack(
    targets: Sequence[Any], config: Pix2SeqConfig, generator: torch.Generator | None = None
) -> Packed:
    """Las listas con que se entrena, una por imagen.

    ``targets`` tiene, de cada imagen, las clases, (object,), y las cajas, (object, 4), en esquinas.
    Los objetos no tienen orden: con ``generator`` se barajan, y sin él van como llegan. El relleno
    pesa 0. De un objeto inventado por ``noise`` pesan 0 las coordenadas, que nadie ha de aprender,
    y 1 la respuesta de que no está.

    Errores: los de :func:`write`, y ``TypeError`` si no hay una pareja por imagen o falta
    ``generator`` con ``noise``.
    Fuente: Chen et al. (2022), §§ 2.1 y 2.3.
    """
    rows = [_row(target, config, generator) for target in targets]
    n = max(len(words) for words, _, _ in rows)
    size, device = (len(rows), n), targets[0][0].device
    words, labels = (torch.full(size, config.pad_id, device=device) for _ in range(2))
    weights = torch.zeros(size, device=device)
    for i, row in enumerate(rows):
        for whole, part in zip((words, labels, weights), row, strict=True):
            whole[i, : len(part)] = part
    return Packed(words, labels, weights)


def _row(target: Any, config: Pix2SeqConfig, generator: torch.Generator | None) -> Packed:
    """La lista de una imagen, (word,): lo que se recibe, lo que se contesta y lo que pesa."""
    c, (labels, boxes) = config, target[:2]
    if generator is not None:
        order = torch.randperm(len(labels), generator=generator).to(labels.device)
        labels, boxes = labels[order], boxes[order]
    real = len(labels)
    if c.noise:
        extra = c.max_objects - real
        corners = torch.rand(extra, 2, 2, generator=generator).sort(dim=1).values.flatten(1)
        made = torch.randint(c.classes, (extra,), generator=generator)
        labels = torch.cat([labels, made.to(labels)])
        boxes = torch.cat([boxes, corners.to(boxes)])
    written = write.unchecked(labels, boxes, c)
    wanted, weight = written.clone(), torch.ones(len(written), device=written.device)
    invented = slice(WORDS * real, WORDS * len(labels))
    wanted[invented].view(-1, WORDS)[:, 4] = c.absent
    weight[invented].view(-1, WORDS)[:, :4] = 0
    begin = written.new_tensor([c.bos_id])
    return Packed(torch.cat([begin, written[:-1]]), wanted, weight)


@typed(validate=checks.sequence_loss)
def sequence_loss(
    logits: Float[Tensor, "batch word vocab"],
    labels: Int[Tensor, "batch word"],
    weights: Float[Tensor, "batch word"],
) -> Float[Tensor, ""]:
    """La verosimilitud ponderada, con signo menos: la media, con esos pesos, de lo que cuesta cada
    palabra.

    Errores: ``TypeError`` o ``ValueError`` si no hay una respuesta y un peso por palabra.
    Fuente: Chen et al. (2022), ec. 1.
    """
    cost = -logits.log_softmax(dim=-1).gather(-1, labels[..., None])[..., 0]  # (batch, word)
    return (weights * cost).sum() / weights.sum().clamp(min=1e-9)


# --- El modelo ------------------------------------------------------------------------------------


class Pix2Seq(Seq2Seq):
    """De la imagen a la lista: ``forward(images, target)`` da puntuaciones, (batch, target, vocab).

    ``target`` empieza por el comienzo. ``image`` es quien lee; lo demás, el decodificador de
    siempre, con la norma delante. A lo que lee se le suma dónde está cada celda, para que se pueda
    copiar en las palabras.

    Errores: ``TypeError`` si ``config`` no es una :class:`Pix2SeqConfig`.
    Fuente: Chen et al. (2022), § 2.2.
    """

    config: Any  # una Pix2SeqConfig

    @typed(validate=checks.model)
    def __init__(self, config: Pix2SeqConfig) -> None:
        nn.Module.__init__(self)  # las piezas son otras: de Seq2Seq se heredan los métodos
        c = self.config = config
        self.places = consecutive
        self.image = GridEncoder(c)
        self.embed_target = TokenEmbedding(
            c.target_vocab, c.d_model, positions=Learned(c.max_len, c.d_model), dropout=c.dropout
        )
        blocks = [self._decoder_block(Positions()) for _ in range(c.n_decoder_layers)]
        self.decoder = Decoder(blocks, LayerNorm(c.d_model))
        self.project = nn.Linear(c.d_model, c.target_vocab, bias=False)
        self.project.weight = self.embed_target.tokens.weight
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Vuelve a sortear las palabras y sus posiciones; con ``place_words``, las coordenadas son
        sus senos.

        Como la tabla se multiplica por √d_model al entrar, se guarda dividida.
        """
        c, words = self.config, self.embed_target.tokens.weight
        self.embed_target.reset_parameters()
        nn.init.normal_(self.embed_target.get_parameter("positions.table"), std=c.position_std)
        if c.place_words:
            middle = torch.linspace(0, 1, c.bins)[:, None].expand(-1, 2)  # el mismo en los dos ejes
            options = {"scale": c.position_scale, "temperature": c.temperature}
            waves = sine_positions(middle, c.d_model, **options)  # (bins, d_model)
            words[c.first_bin : c.first_class] = waves.to(words) / c.d_model**0.5

    @typed(validate=checks.images)
    def encode(self, images: Float[Tensor, "batch channel height width"]) -> Encoded:
        """Lee las imágenes y deja su memoria, (batch, n, d_model), que no tapa nada.

        Errores: los de :meth:`atento.models.detr.GridEncoder.encode`.
        """
        return self._remember(*self.image.encode(images))

    @typed(validate=checks.forward)
    def forward(
        self,
        images: Float[Tensor, "batch channel height width"],
        target: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target vocab"]:
        """Puntuaciones de cada palabra siguiente, con enseñanza forzada.

        Errores: los de :meth:`encode` y :meth:`decode`.
        """
        return self.decode(target, self.encode(images))

    def loss(
        self,
        images: Float[Tensor, "batch channel height width"],
        targets: Sequence[Any],
        generator: torch.Generator | None = None,
    ) -> Float[Tensor, ""]:
        """La pérdida con que se entrena: :func:`sequence_loss` de :func:`pack` y, con
        ``cell_weight``, la de las celdas, con su peso.

        Errores: los de :meth:`encode` y :func:`pack`.
        """
        checks.images(self, images)
        words, labels, weights = pack(targets, self.config, generator)
        memory, places = self.image.encode(images)
        logits = self.decode(words, self._remember(memory, places))
        written = sequence_loss(logits, labels, weights.to(logits))
        return written + self.image.auxiliary_loss(memory, targets)

    def generate(  # type: ignore[override]  # lo que lee no son palabras
        self,
        images: Float[Tensor, "batch channel height width"],
        *,
        grammar: bool = True,
        strategy: Callable = greedy,
        cache: bool = True,
        **options: Any,
    ) -> Any:
        """Escribe la lista de cada imagen, palabra a palabra, y devuelve lo que dé la estrategia.

        Con ``grammar`` solo puede salir lo que toca, como dice :meth:`legal`. Lo demás, como en
        :meth:`atento.models.seq2seq.Seq2Seq.generate`.

        Errores: los de :meth:`encode` y los de la estrategia, y ``TypeError`` si ``strategy`` no se
        puede llamar o ``cache`` no es un sí o un no.
        """
        require_writing(strategy, cache)
        checks.images(self, images)
        c = self.config
        begin = torch.full((len(images), 1), c.bos_id, device=images.device)
        step = self._lawful if grammar else self.step
        rules: dict[str, Any] = {"eos_id": c.eos_id, "pad_id": c.pad_id}
        rules |= {"max_length": c.max_len - 1, "state": lambda: self.start(self.encode(images))}
        with evaluating(self), torch.inference_mode():
            written = strategy(step if cache else recomputing(step), begin, **{**rules, **options})
        return kept(written)

    @torch.no_grad()
    def find(self, images: Float[Tensor, "batch channel height width"]) -> list[Detected]:
        """Lo que se encuentra en cada imagen, con la nota de cada objeto: la probabilidad que tiene
        su clase.

        Errores: los de :meth:`encode`.
        """
        written = self.generate(images)  # (batch, word)
        begin = torch.full_like(written[:, :1], self.config.bos_id)
        with evaluating(self):
            logits = self(images, torch.cat([begin, written[:, :-1]], dim=1))
        found = []
        for words, chance in zip(written, logits.softmax(dim=-1), strict=True):
            labels, boxes, places = read(words, self.config)
            scores = chance[places, labels + self.config.first_class]
            found.append(Detected(labels, scores, boxes.to(scores)))
        return found

    def legal(self, place: int) -> Bool[Tensor, " vocab"]:
        """Qué palabras pueden salir en ese lugar: coordenadas y clases, por turno, y el fin.

        El fin puede salir donde empezaría un objeto. Con ``noise``, solo detrás del último.

        Errores: ``TypeError`` o ``ValueError`` si ``place`` no es un entero ≥ 0.
        """
        checks.place(place)
        c, last = self.config, WORDS * self.config.max_objects
        legal = torch.zeros(c.target_vocab, dtype=torch.bool)
        if place < last:
            is_class = place % WORDS == WORDS - 1
            first, count = (c.first_class, c.classes) if is_class else (c.first_bin, c.bins)
            legal[first : first + count] = True
        legal[c.eos_id] = place >= last or (place % WORDS == 0 and not c.noise)
        return legal

    def _lawful(self, ids: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Un paso de generación en que solo puede salir lo que toca."""
        logits, state = self.step(ids, state)
        legal = self.legal(ids.shape[1] - 1).to(logits.device)
        return logits.masked_fill(~legal, float("-inf")), state

    def _remember(self, memory: Tensor, places: Tensor) -> Encoded:
        batch, n, _ = memory.shape
        everyone = torch.ones(batch, 1, 1, n, dtype=torch.bool, device=memory.device)
        return Encoded(memory + places, everyone, torch.arange(n, device=memory.device))

    def _attention(self, options: Mapping[str, Any]) -> MultiHeadAttention:
        return MultiHeadAttention(self.config.d_model, self.config.n_heads)

    def _feed_forward(self) -> FeedForward:
        return FeedForward(self.config.d_model, self.config.d_ff)

    def _block_options(self) -> dict[str, Any]:
        return {"norm": "pre", "dropout": self.config.dropout}
