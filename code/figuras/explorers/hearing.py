"""Decir unas vocales, verlas y oírlas, y leer lo que un Whisper pequeño escribe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Unpack

import torch
from torch import Tensor

from atento.models.whisper import Whisper
from atento.tasks import vowels
from atento.tasks.translation.vocabulary import BOS_ID, EOS_ID
from atento.tasks.vowels import FORMANTS, LENGTHS, RATE, VOCABULARY, VOWELS
from atento.watching import watching
from figuras.explorers.base import Texts, check_count, check_kind, number, static_table
from figuras.explorers.live import LiveExplorer
from figuras.explorers.voice import hiss, vowel

__all__ = ["HearingExplorer", "Saying", "hearing"]

GAP = 0.06  # el silencio delante de cada vocal, en segundos
MOST = 9  # cuántos símbolos escribe, con el fin
LIMITS = (2.4, 0.8, 0.72, 0.23)  # del plano, en kHz: F2 a los lados, y F1 abajo y arriba
SCALES = ((80, 400), (0.1, 0.2), (-10, 30))  # tono, lo que dura una vocal y ruido
_PIECES = ("kit", "drag", "field", "lots", "file", "group", "listen", "spectrum")
_SHAPE = {"n_mels": vowels.N_MELS, "audio_len": 80, "vocab": len(VOCABULARY)}
_CHANGES: dict[str, dict[str, Any]] = {
    "al abrirlo": {},
    "a 400 Hz": {"pitch": 400.0},
    "sin ruido": {"noise": None},
    "ruido como la voz": {"noise": 0.0},
    "6 dB más de ruido": {"noise": -6.0},
}


class Saying(NamedTuple):
    """Lo que se dice: los dos primeros formantes de cada vocal y el tono, en hercios; lo que dura
    cada una, en segundos; los decibelios que saca al ruido, o ``None``, y su semilla.
    """

    spots: tuple[tuple[float, ...], ...]
    pitch: float = 120.0
    seconds: float = 0.2
    noise: float | None = 10.0
    seed: int = 1


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class HearingExplorer(LiveExplorer):
    """Las vocales que se mueven y lo que se oye de ellas. Se construye con :func:`hearing`."""

    kind: ClassVar[str] = "hearing"
    pieces: ClassVar[tuple[str, ...]] = _PIECES
    scripts: ClassVar[tuple[str, ...]] = ("transformer", "whisper", "voice")
    model: Whisper
    start: Saying
    word: str
    moves: int
    title: str = "Ponle voz y mira qué oye"
    name: str = "voz"

    def sound(self, said: Saying) -> Tensor:
        """Las muestras de lo que se dice, (samples,)."""
        gap = torch.zeros(round(GAP * RATE), dtype=torch.float64)
        parts = [x for spot in said.spots for x in (gap, vowel(spot, said.pitch, said.seconds))]
        wave = torch.zeros(round(vowels.SECONDS * RATE), dtype=torch.float64)
        wave[: sum(map(len, parts))] = torch.cat(parts)
        if said.noise is None:
            return wave
        return wave + 10 ** (-said.noise / 20) * hiss(len(wave), said.seed)

    def compute(self, said: Saying) -> dict[str, Any]:
        """Lo que oye el modelo, con los pesos de la página y 64 bits.

        ``features`` ``(frame, mel)`` es el log-mel; ``written``, los números de lo que escribe, con
        el fin, y ``word``, las letras; ``probs`` ``(target, vocab)``, la probabilidad de cada
        símbolo, y ``looks`` ``(layer, head, target, source)``, los pesos de la atención cruzada.
        """
        ids, model = [BOS_ID], self._exact
        features = vowels.features(self.sound(said))
        with torch.no_grad(), watching(model) as maps:
            heard = model.encode(features[None])
            while ids[-1] != EOS_ID and len(ids) <= MOST:
                probs = model.decode(torch.tensor([ids]), heard)[0].softmax(dim=-1)
                ids.append(int(probs[-1].argmax()))
        layers = range(model.config.n_layers)
        looks = torch.cat([maps[f"decoder.blocks.{k}.cross_attention"] for k in layers])
        word = "".join(VOCABULARY.decode(ids))
        return dict(features=features, written=ids[1:], probs=probs, looks=looks, word=word)

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript."""
        sizes = {"size": vowels.SIZE, "hop": vowels.HOP, "n_mels": vowels.N_MELS, "rate": RATE}
        return {
            "voice": {"bandwidths": vowels.BANDWIDTHS} | sizes,
            "times": [GAP, vowels.SECONDS],
            "vowels": FORMANTS,
            "letters": ["", "", "fin", *VOWELS],
            "lengths": [min(LENGTHS), max(LENGTHS)],
            "scales": SCALES,
            "limits": LIMITS,
            "most": MOST,
            "depth": [self.model.config.n_layers, self.model.config.n_heads],
            "start": self.start._asdict(),
            "moves": self.moves,
            "file": self._file,
        }

    def static(self) -> str:
        """Lo que escribe con otro tono y con otro ruido."""
        found = {name: self.compute(self.start._replace(**to)) for name, to in _CHANGES.items()}
        rows = [
            [name, one["word"], number(float(one["probs"].amax(dim=1).min()))]
            for name, one in found.items()
        ]
        caption = f"Lo que escribe al oír «{self.word}», y la menor de sus probabilidades"
        return static_table(caption, ["", "escribe", "la menor"], rows)

    def summary(self) -> str:
        """Una línea para la terminal."""
        return f"Vocales que se mueven, «{self.word}»; modelo vivo de {self._size} parámetros"


def hearing(
    model: Whisper, word: str, *, moves: int = 0, **texts: Unpack[Texts]
) -> HearingExplorer:
    """Devuelve el explorador en el que se mueven las vocales de ``word`` y ``model`` las escribe.

    Se mueve cada una, la de sitio ``moves`` al principio, por el plano de los dos primeros
    formantes, y se cambian cuántas hay, el tono, la duración y el ruido. Se ven el log-mel, lo
    escrito, con su probabilidad, y a qué trozos mira; se oye al pulsar. El modelo lo ejecuta un
    guion propio en la página, sin servidor, con los pesos en 16 bits, que se piden al primer
    cambio.

    Errores: ``TypeError`` si ``model`` no es un ``Whisper``; ``ValueError`` si la página no sabe
    ejecutarlo, ``word`` no son de dos a cinco vocales o ``moves`` no es el sitio de una.
    """
    check_kind(model, "model", Whisper)
    sizes = {key: getattr(model.config, key) for key in _SHAPE}
    if sizes != _SHAPE or model.config.max_len < MOST:
        raise ValueError(f"model: la página solo ejecuta los de {_SHAPE}; llegó {sizes}.")
    if not isinstance(word, str) or len(word) not in LENGTHS or not set(word) <= set(VOWELS):
        raise ValueError(f"word: llegó {word!r}; se esperaban de dos a cinco vocales.")
    check_count(moves, "moves", 0, len(word) - 1)
    start = Saying(tuple(FORMANTS[name][:2] for name in word))
    return HearingExplorer(model=model, start=start, word=word, moves=moves, **texts)
