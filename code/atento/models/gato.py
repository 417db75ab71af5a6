"""Piso 6: Gato, un solo modelo de lenguaje que además mira y actúa.

Todo se escribe en una misma secuencia: palabras, parches de imagen, medidas y acciones. Las medidas
y las acciones se vuelven enteros, detrás de los de las palabras (:func:`mu_law`, :func:`to_bins`),
y los parches entran como en ViT. :func:`pack` hace la secuencia y :func:`unpack` la deshace. El
modelo es una pila causal, y :func:`gato_loss` solo le pide que acierte palabras y acciones.

Del artículo se deja fuera el bloque convolucional con que mira cada parche, que aquí es una matriz,
y se añade RoPE, que dice en qué orden van los pasos.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from atento.attention import MultiHeadAttention
from atento.blocks import Encoder, EncoderBlock
from atento.checks import gato as checks
from atento.device import require_device
from atento.layers import FeedForward, LayerNorm
from atento.masks import causal_mask
from atento.models.bert import draw_normal
from atento.models.vit import patchify, unpatchify
from atento.positions import Rotary
from atento.shapes import typed
from atento.training import evaluating

TEXT, IMAGE, VALUE, SEPARATOR, ACTION, PADDING = range(6)
"""Las clases de lo que va en una secuencia."""


@dataclass(frozen=True)
class GatoConfig:
    """Todo lo que define un :class:`Gato`.

    Los números de las palabras van de 0 a ``vocab − 1``; detrás van los de los ``bins`` intervalos,
    y el último es el separador. ``max_place`` es cuántas cosas caben en lo que se observa en un
    paso. ``mu`` y ``limit`` son las constantes de :func:`mu_law`. Los pesos se sortean con
    desviación ``init_std``. Sin decir otra cosa, los intervalos y las constantes son los del
    artículo.

    Errores: ``TypeError`` o ``ValueError`` si un campo no es lo que su nombre dice: el mensaje lo
    nombra.
    Fuente: Reed et al. (2022), § 2.1 y apéndice B.
    """

    vocab: int
    bins: int = 1024
    image_size: int = 8
    patch_size: int = 4
    channels: int = 1
    max_place: int = 64
    d_model: int = 64
    n_heads: int = 4
    d_ff: int = 256
    n_layers: int = 3
    dropout: float = 0.0
    mu: float = 100.0
    limit: float = 256.0
    init_std: float = 0.1

    def __post_init__(self) -> None:
        checks.fields(self)

    @property
    def separator(self) -> int:
        """El número del separador, que va delante de las acciones."""
        return self.vocab + self.bins

    @property
    def grid(self) -> int:
        """Cuántos parches hay en una fila de la imagen."""
        return self.image_size // self.patch_size


# --- De números a enteros -------------------------------------------------------------------------


@typed(validate=checks.mu_law)
def mu_law(
    x: Float[Tensor, "*shape"], *, mu: float = 100.0, limit: float = 256.0
) -> Float[Tensor, "*shape"]:
    """Comprime los números grandes: ``sgn(x) · log(μ|x| + 1) / log(μM + 1)``, con M = ``limit``.

    Lo que está entre −M y M queda entre −1 y 1.

    Errores: ``TypeError`` o ``ValueError`` si ``x`` no es de coma flotante o ``mu`` o ``limit`` no
    son positivos.
    Fuente: Reed et al. (2022), apéndice B.
    """
    return x.sign() * (mu * x.abs() + 1).log() / math.log(mu * limit + 1)


@typed(validate=checks.mu_law)
def undo_mu_law(
    x: Float[Tensor, "*shape"], *, mu: float = 100.0, limit: float = 256.0
) -> Float[Tensor, "*shape"]:
    """Deshace :func:`mu_law`.

    Errores: los suyos.
    """
    return x.sign() * ((x.abs() * math.log(mu * limit + 1)).exp() - 1) / mu


@typed(validate=checks.to_bins)
def to_bins(x: Float[Tensor, "*shape"], bins: int) -> Int[Tensor, "*shape"]:
    """En cuál de ``bins`` intervalos iguales de [−1, 1] cae cada número; los de fuera, al extremo.

    Errores: ``TypeError`` o ``ValueError`` si ``x`` no es de coma flotante o ``bins`` no es
    positivo.
    Fuente: Reed et al. (2022), § 2.1.
    """
    return ((x + 1) / 2 * bins).floor().long().clamp(0, bins - 1)


@typed(validate=checks.from_bins)
def from_bins(ids: Int[Tensor, "*shape"], bins: int) -> Float[Tensor, "*shape"]:
    """El centro de cada intervalo.

    Errores: ``TypeError`` o ``ValueError`` si ``ids`` no son enteros de 0 a ``bins − 1``.
    """
    return (2 * ids + 1) / bins - 1


# --- La secuencia ---------------------------------------------------------------------------------


class Step(NamedTuple):
    """Un paso: lo que se observa, en este orden, y lo que se hace.

    ``text``, (n,), son números de palabras; ``image``, (channel, image_size, image_size), va de 0 a
    1; ``values``, (k,), son medidas, y ``action``, (m,), números de −1 a 1. Delante de la acción va
    el separador; con ``action`` vacía, (0,), solo él, y toca actuar.
    """

    text: Tensor | None = None
    image: Tensor | None = None
    values: Tensor | None = None
    action: Tensor | None = None


class Packed(NamedTuple):
    """Un lote de secuencias, con relleno detrás.

    ``ids``, (batch, n), lleva los números; ``patches``, (batch, n, pixels), los parches; ``kinds``,
    qué es cada cosa; ``places``, su lugar entre lo que se observa en su paso, o −1; ``cells``, el
    del parche en su imagen; ``steps``, de qué paso es, o −1 el relleno.
    """

    ids: Int[Tensor, "batch n"]
    patches: Float[Tensor, "batch n pixels"]
    kinds: Int[Tensor, "batch n"]
    places: Int[Tensor, "batch n"]
    cells: Int[Tensor, "batch n"]
    steps: Int[Tensor, "batch n"]

    def to(self, device: torch.device | str) -> "Packed":
        """El mismo lote, en otro dispositivo.

        Errores: ``ValueError`` si no existe ``device``.
        """
        where = require_device(device)
        return Packed(*(tensor.to(where) for tensor in self))

    @property
    def learned(self) -> Bool[Tensor, "batch n"]:
        """Lo que se aprende a continuar: las palabras y las acciones, y nada más.

        Fuente: Reed et al. (2022), ec. 2.
        """
        return (self.kinds == TEXT) | (self.kinds == ACTION)


_FILL = Packed(*(torch.tensor(x) for x in (0, 0.0, PADDING, -1, 0, -1)))


@typed(validate=checks.pack)
def pack(sequences: Sequence[Sequence[Step]], config: GatoConfig) -> Packed:
    """Pone cada secuencia de pasos en una fila, y rellena por detrás.

    Los píxeles se llevan a [−1, 1] y se dividen entre √``patch_size``. Las medidas pasan por
    :func:`mu_law`, y las acciones no, que ya van de −1 a 1.

    Errores: ``TypeError`` o ``ValueError`` si no hay secuencias, alguna no tiene pasos o alguno no
    cabe en un modelo de ``config``.
    Fuente: Reed et al. (2022), § 2.1 y apéndice B.
    """
    rows = []
    for sequence in sequences:
        laid = [_laid_out(step, i, config) for i, step in enumerate(sequence)]
        rows.append(Packed(*(torch.cat(column) for column in zip(*laid, strict=True))))
    columns = zip(*rows, strict=True)
    return Packed(*(_padded(c, fill) for c, fill in zip(columns, _FILL, strict=True)))


def _padded(rows: Sequence[Tensor], fill: Tensor) -> Tensor:
    return nn.utils.rnn.pad_sequence(list(rows), batch_first=True, padding_value=fill.item())


def _laid_out(step: Step, number: int, c: GatoConfig) -> Packed:
    """Un paso, en fila: lo que se observa, el separador y la acción."""
    ids: list[Tensor] = []
    kinds: list[int] = []
    patches = torch.zeros(0, c.channels * c.patch_size**2)
    if step.text is not None:
        ids, kinds = [step.text], [TEXT] * len(step.text)
    before = len(kinds)
    if step.image is not None:
        patches = patchify((2 * step.image[None] - 1) / c.patch_size**0.5, c.patch_size)[0]
        ids.append(torch.zeros(len(patches), dtype=torch.long))
        kinds += [IMAGE] * len(patches)
    if step.values is not None:
        ids.append(c.vocab + to_bins(mu_law(step.values, mu=c.mu, limit=c.limit), c.bins))
        kinds += [VALUE] * len(step.values)
    seen = len(kinds)
    if step.action is not None:
        ids += [torch.tensor([c.separator]), c.vocab + to_bins(step.action, c.bins)]
        kinds += [SEPARATOR] + [ACTION] * len(step.action)
    n, after = len(kinds), len(kinds) - before - len(patches)
    places = torch.cat([torch.arange(seen), torch.full((n - seen,), -1)])
    cells = F.pad(torch.arange(len(patches)), (before, after))
    shown = F.pad(patches, (0, 0, before, after))
    return Packed(
        torch.cat(ids), shown, torch.tensor(kinds), places, cells, torch.full((n,), number)
    )


@typed(validate=checks.pack_episodes)
def pack_episodes(
    values: Float[Tensor, "batch step k"],
    actions: Float[Tensor, "batch done m"],
    config: GatoConfig,
) -> Packed:
    """Lo mismo que :func:`pack` con pasos de medidas y acciones, todos a la vez.

    Si hay una acción menos que medidas, el último paso acaba en el separador: toca actuar.

    Errores: ``TypeError`` o ``ValueError`` si no son (batch, t, k) y (batch, t, m), o (batch,
    t − 1, m).
    """
    c, (batch, steps, k) = config, values.shape
    m, done = actions.shape[2], actions.shape[1]
    seen = c.vocab + to_bins(mu_law(values, mu=c.mu, limit=c.limit), c.bins)  # (batch, t, k)
    acted = F.pad(c.vocab + to_bins(actions, c.bins), (0, 0, 0, steps - done))  # (batch, t, m)
    between = torch.full_like(seen[..., :1], c.separator)
    ids = torch.cat([seen, between, acted], dim=-1).flatten(1)  # (batch, t · (k + 1 + m))
    n = ids.shape[1] - m * (steps - done)
    kinds = torch.tensor([VALUE] * k + [SEPARATOR] + [ACTION] * m).repeat(steps)
    places = torch.tensor([*range(k), *[-1] * (1 + m)]).repeat(steps)
    numbers = torch.arange(steps).repeat_interleave(k + 1 + m)
    pixels = ids.new_zeros(batch, n, c.channels * c.patch_size**2, dtype=torch.float32)
    kinds, places, numbers = (
        x[:n].to(ids.device).expand(batch, -1) for x in (kinds, places, numbers)
    )
    return Packed(ids[:, :n], pixels, kinds, places, torch.zeros_like(ids[:, :n]), numbers)


@typed(validate=checks.unpack)
def unpack(packed: Packed, config: GatoConfig) -> list[list[Step]]:
    """Deshace :func:`pack`: las palabras y las imágenes, iguales; las medidas y las acciones, el
    centro de su intervalo.

    Errores: ``TypeError`` si no llegan un :class:`Packed` y una :class:`GatoConfig`.
    """
    found = []
    for row in zip(*packed, strict=True):
        one = Packed(*row)
        numbers = range(int(one.steps.max()) + 1)
        found.append(
            [_taken_up(Packed(*(x[one.steps == i] for x in one)), config) for i in numbers]
        )
    return found


def _taken_up(laid: Packed, c: GatoConfig) -> Step:
    """El paso que :func:`_laid_out` puso en fila."""
    own = {kind: laid.kinds == kind for kind in (TEXT, IMAGE, VALUE, SEPARATOR, ACTION)}
    image: Tensor | None = None
    values: Tensor | None = None
    action: Tensor | None = None
    if own[IMAGE].any():
        scaled = unpatchify(laid.patches[own[IMAGE]][None], c.patch_size, c.channels)[0]
        image = (scaled * c.patch_size**0.5 + 1) / 2
    if own[VALUE].any():
        measured = from_bins(laid.ids[own[VALUE]] - c.vocab, c.bins)
        values = undo_mu_law(measured, mu=c.mu, limit=c.limit)
    if own[SEPARATOR].any():
        action = from_bins(laid.ids[own[ACTION]] - c.vocab, c.bins)
    text = laid.ids[own[TEXT]] if own[TEXT].any() else None
    return Step(text, image, values, action)


# --- El modelo ------------------------------------------------------------------------------------


class Gato(nn.Module):
    """Una pila causal: ``forward(packed)`` da puntuaciones de lo que sigue, (batch, n, id).

    Los números posibles son los de las palabras y los de los intervalos: ni parches ni separadores
    se predicen. :meth:`write` sigue un texto y :meth:`act` decide una acción, con los mismos pesos.

    Errores: ``TypeError`` si ``config`` no es una :class:`GatoConfig`.
    Fuente: Reed et al. (2022), §§ 2.2 y 2.3.
    """

    @typed(validate=checks.model)
    def __init__(self, config: GatoConfig) -> None:
        super().__init__()
        c = self.config = config
        self.tokens = nn.Embedding(c.vocab + c.bins + 1, c.d_model)
        self.patches = nn.Linear(c.channels * c.patch_size**2, c.d_model)
        self.rows, self.columns = (nn.Embedding(c.grid, c.d_model) for _ in range(2))
        self.places = nn.Embedding(c.max_place, c.d_model)
        turn = Rotary(c.d_model // c.n_heads)
        final = LayerNorm(c.d_model)
        self.encoder = Encoder([self._block(turn) for _ in range(c.n_layers)], final)
        self.project = nn.Linear(c.d_model, c.vocab + c.bins)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Vuelve a sortear los pesos, con desviación ``init_std``, y anula los sesgos."""
        draw_normal(self, self.config.init_std)

    @typed
    def forward(self, packed: Packed) -> Float[Tensor, "batch n id"]:
        """Puntuaciones de lo que va detrás de cada cosa.

        Errores: ``TypeError`` si no llega un :class:`Packed`.
        """
        x = self.embed(packed)  # (batch, n, d_model)
        return self.project(self.encoder(x, causal_mask(x.shape[1], device=x.device)))

    @typed(validate=checks.forward)
    def embed(self, packed: Packed) -> Float[Tensor, "batch n d_model"]:
        """Una fila por cosa: su tabla, o su parche, y su lugar en el paso.

        Errores: los de :meth:`forward`.
        """
        grid = self.config.grid
        where = self.rows(packed.cells // grid) + self.columns(packed.cells % grid)
        seen = self.patches(packed.patches.to(where.dtype)) + where
        x = torch.where((packed.kinds == IMAGE)[..., None], seen, self.tokens(packed.ids))
        observed = (packed.places >= 0)[..., None]
        return x + self.places(packed.places.clamp(min=0)) * observed  # (batch, n, d_model)

    @typed(validate=checks.write)
    @torch.no_grad()
    def write(
        self, sequences: Sequence[Sequence[Step]], length: int
    ) -> Int[Tensor, "batch length"]:
        """Las ``length`` palabras que siguen a cada secuencia, cada una la que más puntúa.

        Si el último paso es solo texto, lo siguen; si no, empiezan otro.

        Errores: ``TypeError`` o ``ValueError`` si no son secuencias de pasos que quepan, o
        ``length`` no es positivo.
        """
        device, rows = self.project.weight.device, [list(s) for s in sequences]
        for row in rows:
            if row[-1].text is None or any(part is not None for part in row[-1][1:]):
                row.append(Step(text=torch.zeros(0, dtype=torch.long)))
        written: list[Tensor] = []
        with evaluating(self):
            for _ in range(length):
                packed = pack(rows, self.config).to(device)
                logits = self._next(packed)[:, : self.config.vocab]
                written.append(logits.argmax(dim=-1).cpu())
                for row, word in zip(rows, written[-1], strict=True):
                    before: Any = row[-1].text
                    row[-1] = Step(text=torch.cat([before, word[None]]))
        return torch.stack(written, dim=1)

    @typed(validate=checks.act)
    @torch.no_grad()
    def act(
        self, values: Float[Tensor, "batch step k"], actions: Float[Tensor, "batch done m"]
    ) -> Float[Tensor, "batch m"]:
        """La acción que toca, tras lo observado y lo hecho, número a número: la que más puntúa.

        ``actions`` tiene un paso menos que ``values``.

        Errores: ``TypeError`` o ``ValueError`` si no son (batch, t, k) y (batch, t − 1, m).
        """
        c = self.config
        packed = pack_episodes(values, actions, c)
        chosen: list[Tensor] = []
        with evaluating(self):
            for _ in range(actions.shape[2]):
                chosen.append(self._next(packed)[:, c.vocab :].argmax(dim=-1))
                packed = _followed(packed, c.vocab + chosen[-1])
        return from_bins(torch.stack(chosen, dim=1), c.bins).to(values.dtype)

    def _next(self, packed: Packed) -> Tensor:
        """Las puntuaciones de lo que sigue a cada secuencia: las de su última cosa."""
        last = (packed.kinds != PADDING).sum(dim=1) - 1  # (batch,)
        return self(packed)[torch.arange(len(last), device=last.device), last]

    def _block(self, turn: Rotary) -> EncoderBlock:
        c = self.config
        attention = MultiHeadAttention(c.d_model, c.n_heads, rotary=turn)
        dense = FeedForward(c.d_model, c.d_ff, activation="gelu")
        return EncoderBlock(attention, dense, norm="pre", dropout=c.dropout)


def _followed(packed: Packed, ids: Tensor) -> Packed:
    """Las secuencias, sin relleno, con un número más de la acción."""
    longer = [F.pad(x, (0, 1) if x.ndim == 2 else (0, 0, 0, 1)) for x in packed]
    ids_, patches, kinds, places, cells, steps = longer
    ids_[:, -1], kinds[:, -1], places[:, -1], steps[:, -1] = ids, ACTION, -1, steps[:, -2]
    return Packed(ids_, patches, kinds, places, cells, steps)


@typed(validate=checks.gato_loss)
def gato_loss(model: Callable[[Packed], Tensor], packed: Packed) -> Float[Tensor, ""]:
    """Lo que cuesta adivinar cada palabra y cada acción por lo que tiene delante, de media.

    Ni los parches, ni las medidas, ni los separadores cuentan; tampoco lo primero de la secuencia.

    Errores: ``TypeError`` si no llegan un modelo y un :class:`Packed`.
    Fuente: Reed et al. (2022), ec. 2.
    """
    logits: Any = model(packed)[:, :-1]  # (batch, n - 1, id)
    counts = packed.learned[:, 1:]
    return F.cross_entropy(logits[counts], packed.ids[:, 1:][counts])
