"""Un modelo de lenguaje que continúa, en la página, lo que escribe quien lee."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor

from atento import rng
from atento.decoding import keep_top_k, keep_top_p, sample, with_temperature
from atento.models.language import LanguageConfig, LanguageModel
from atento.tokenizers import BPE, visible
from atento.tokenizers.bpe import BYTES
from figuras.explorers.base import Texts, check_count, check_kind, number, static_table
from figuras.explorers.live import LiveExplorer

__all__ = ["LONGEST", "CompletionExplorer", "complaint", "completion"]

LONGEST = 2000
"""Caracteres que admite el comienzo."""

_WRONG = (
    "Escribe algo por lo que empezar, como «La atención».",
    f"Es demasiado largo: caben {LONGEST} caracteres, y el modelo solo lee el final.",
)

_KNOWN = {
    "causal": True,
    "activation": "relu",
    "normalization": "layer",
    "norm_first": True,
    "final_norm": True,
    "attention_bias": True,
    "positions": "rotary",
}
_ROWS, _STATIC_TOKENS = 8, 40
_TEMPERATURES = (0.2, 1.0, 1.5)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CompletionExplorer(LiveExplorer):
    """El modelo que continúa un texto. Se construye con :func:`completion`.

    ``start`` es el comienzo que está escrito; ``seed``, la semilla de los números al azar;
    ``context``, los tokens que el modelo lee como mucho.
    """

    kind: ClassVar[str] = "completion"
    pieces: ClassVar[tuple[str, ...]] = ("kit", "lots", "ballot", "ask", "file", "bpe", "dice")
    scripts: ClassVar[tuple[str, ...]] = ("transformer",)
    model: LanguageModel
    tokenizer: BPE
    start: str
    seed: int
    context: int
    title: str = "Escribe un comienzo y el modelo lo continúa"
    name: str = "continuacion"

    def compute(
        self,
        text: str | None = None,
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float = 1.0,
    ) -> dict[str, Tensor]:
        """Lo que puede seguir a un texto, o al comienzo, con los pesos de la página y en 64 bits.

        ``ids`` (n,) son los tokens del texto; ``logits`` (vocab,), lo que puntúa el modelo tras los
        ``context`` últimos; ``probs`` (vocab,), la probabilidad tras la temperatura y los filtros
        de :mod:`atento.decoding`, en ese orden.

        Errores: ``ValueError``, con la frase de :func:`complaint`, si el texto no sirve.
        """
        ids = self._read(text)
        logits = self._step(ids, None)[0][0]  # (vocab,)
        kept = with_temperature(logits, temperature)
        if top_k is not None:
            kept = keep_top_k(kept, top_k)
        return {"ids": ids[0], "logits": logits, "probs": keep_top_p(kept, top_p).softmax(dim=-1)}

    def written(
        self, count: int, text: str | None = None, *, seed: int | None = None, **options: Any
    ) -> list[int]:
        """Los ``count`` tokens con que sigue un texto, o el comienzo, según una semilla.

        ``options`` son los de :func:`atento.decoding.sample`: ``temperature``, ``top_k``,
        ``top_p``.

        Errores: los de :meth:`compute` y los de ``sample``.
        """
        generator = rng.generator(self.seed if seed is None else seed)
        options = {"eos_id": -1, "max_length": count, "generator": generator} | options
        return sample(self._step, self._read(text), **options)[0].tolist()

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript: con las uniones del BPE, por pares de números."""
        merges = [self.tokenizer.id_of(piece) for pair in self.tokenizer.merges for piece in pair]
        return {
            "start": self.start,
            "seed": self.seed,
            "context": self.context,
            "longest": LONGEST,
            "wrong": _WRONG,
            "file": self._file,
            "merges": merges,
        }

    def static(self) -> str:
        """Lo que puede seguir al comienzo y cómo sigue con tres temperaturas, calculado aquí."""
        by_heat = [self.compute(temperature=heat)["probs"] for heat in _TEMPERATURES]
        best = by_heat[1].argsort(descending=True, stable=True)[:_ROWS].tolist()
        rows = [
            [visible(self.tokenizer.decode([i])), *(number(probs[i], 3) for probs in by_heat)]
            for i in best
        ]
        head = ["token", *(f"τ = {heat}" for heat in _TEMPERATURES)]
        told = static_table(f"Lo que puede seguir a «{self.start}», según τ", head, rows)
        return told + "".join(map(self._sample, _TEMPERATURES))

    def summary(self) -> str:
        """Una línea para la terminal."""
        known = f"{self._size} parámetros, {len(self.tokenizer)} tokens"
        return f"Modelo vivo: {known}; lee {self.context}"

    def _sample(self, temperature: float) -> str:
        more = self.written(_STATIC_TOKENS, temperature=temperature)
        text = html.escape(self.start + self.tokenizer.decode(more)).replace("\n", " ¶ ")
        return f"<p><strong>τ = {temperature}:</strong> {text}…</p>"

    def _read(self, text: str | None) -> Tensor:
        """Los tokens de un texto, (1, n)."""
        given = self.start if text is None else text
        if problem := complaint(given):
            raise ValueError(f"text: llegaron {len(given)} caracteres. {problem}")
        return torch.tensor([self.tokenizer.encode(given)])

    @torch.no_grad()
    def _step(self, ids: Tensor, state: None) -> tuple[Tensor, None]:
        """Las puntuaciones de lo que sigue, (1, vocab), leyendo solo el final."""
        return self._exact(ids[:, -self.context :])[:, -1], state


def completion(
    model: LanguageModel,
    tokenizer: BPE,
    start: str = "La atención",
    *,
    seed: int = 1,
    context: int = 64,
    **texts: Unpack[Texts],
) -> CompletionExplorer:
    """Devuelve el explorador en el que se escribe un comienzo y ``model`` lo continúa.

    El modelo lo ejecuta un guion propio en la página, sin servidor, con los pesos en 16 bits. Se
    ven las probabilidades del token siguiente, con temperatura, top-k y top-p, y se sortea token a
    token. La misma semilla da lo mismo que :func:`atento.decoding.sample` con
    ``rng.generator(seed)``. Del texto se leen los ``context`` tokens últimos: conviene que sean los
    que leía al entrenarse. ``question`` se lee arriba y ``answer`` queda plegada.

    Errores: ``TypeError`` si ``model`` no es un ``LanguageModel`` o ``tokenizer`` no es un ``BPE``;
    ``ValueError`` si la página no sabe ejecutar ese modelo, si el tokenizador no es de bytes, sin
    tokens especiales y del mismo vocabulario, o si ``start``, ``seed`` o ``context`` no sirven.
    """
    _check_model(model)
    _check_tokenizer(tokenizer, model.config.vocab)
    if problem := complaint(start):
        raise ValueError(f"start: llegó {start[:20]!r}. {problem}")
    check_count(seed, "seed", 0, 2**32 - 1)
    check_count(context, "context", 1, 512)
    return CompletionExplorer(
        model=model, tokenizer=tokenizer, start=start, seed=seed, context=context, **texts
    )


def complaint(text: str) -> str:
    """La frase con que la página dice que un comienzo no sirve; vacía, si sirve.

    >>> complaint("La"), complaint("")
    ('', 'Escribe algo por lo que empezar, como «La atención».')
    """
    return "" if 0 < len(text) <= LONGEST else _WRONG[bool(text)]


# --- La puerta ------------------------------------------------------------------------------------


def _check_model(model: Any) -> None:
    check_kind(model, "model", LanguageModel)
    config = model.config
    if not isinstance(config, LanguageConfig):
        raise ValueError(
            "model: la página solo ejecuta los de LanguageConfig; llegó uno de"
            f" {type(config).__name__}."
        )
    for field, known in _KNOWN.items():
        if (found := getattr(config, field)) != known:
            raise ValueError(
                f"model: la página solo ejecuta los de {field}={known!r}; llegó {found!r}."
            )


def _check_tokenizer(tokenizer: Any, vocab: int) -> None:
    check_kind(tokenizer, "tokenizer", BPE)
    alphabet = tuple(sorted(BYTES.values()))
    plain = tokenizer.byte_level and tokenizer.vocabulary[: len(alphabet)] == alphabet
    if not plain or tokenizer.normalization != "NFC":
        raise ValueError(
            "tokenizer: se esperaba un BPE de bytes, NFC y sin tokens especiales; llegó"
            f" {tokenizer!r}."
        )
    if len(tokenizer) != vocab:
        raise ValueError(
            f"tokenizer: se esperaban las {vocab} piezas del modelo; llegaron {len(tokenizer)}."
        )
