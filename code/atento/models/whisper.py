"""Piso 6: Whisper, que oye un sonido y escribe lo que se dice.

Lo que oye es un espectrograma log-mel (:func:`atento.audio.log_mel`). Dos convoluciones lo acortan
a la mitad, y de ahí en adelante es el codificador-decodificador de siempre: hereda de
:class:`~atento.models.seq2seq.Seq2Seq` el decodificador, con sus ``decode``, ``start`` y ``step``.
Los pesos de otros entran por :func:`atento.models.weights.from_whisper`.

Las primeras palabras que se le dan dicen qué ha de hacer: :func:`prompt` las escribe.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Real
from torch import Tensor, nn

from atento.attention import MultiHeadAttention
from atento.blocks import Decoder, Encoder
from atento.checks import layers as pieces
from atento.checks import whisper as checks
from atento.checks.decoding import require_writing
from atento.decoding import greedy, kept, recomputing
from atento.layers import Dropout, FeedForward, LayerNorm, TokenEmbedding
from atento.models.bert import draw_normal
from atento.models.positioning import Positions, consecutive
from atento.models.seq2seq import Encoded, Seq2Seq
from atento.positions import Learned
from atento.shapes import typed
from atento.training import evaluating

# --- Las palabras que mandan ----------------------------------------------------------------------

LANGUAGES = tuple(
    """en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta no th
    ur hr bg lt la mi ml cy sk te fa lv bn sr az sl kn et mk br eu is hy ne mn bs kk sq sw gl mr pa
    si km sn yo so af oc ka be tg sd gu am yi lo uz fo ht ps tk nn mt sa lb my bo tl mg as tt haw ln
    ha ba jw su yue""".split()
)
"""Las lenguas, en el orden de sus números; la última, solo en la versión 3."""

TEXT_TOKENS = 50_257
"""Cuántos tokens son de texto; detrás van los que mandan."""

TASKS = ("transcribe", "translate")


class SpecialTokens(NamedTuple):
    """Los números de lo que no es texto, en el vocabulario publicado de muchas lenguas.

    ``end`` acaba, ``start`` empieza y ``language`` es la primera de las lenguas; después, qué
    tarea es, que sigue a lo anterior (``previous``), que nadie habla (``silence``), que no se
    escriban los tiempos, y el primero de los 1501 tiempos, de 0 a 30 s cada 20 ms.
    """

    end: int
    start: int
    language: int
    translate: int
    transcribe: int
    start_of_model: int
    previous: int
    silence: int
    no_times: int
    time: int


def special_tokens(languages: int = 99) -> SpecialTokens:
    """Los de un vocabulario con tantas lenguas: 99, y 100 en la versión 3.

    Errores: ``TypeError`` o ``ValueError`` si no es un entero de 1 a 100.
    Fuente: Radford et al. (2023), § 2.3 y figura 1, y el código publicado.
    """
    checks.require_languages(languages, LANGUAGES)
    end, start, first = TEXT_TOKENS, TEXT_TOKENS + 1, TEXT_TOKENS + 2
    return SpecialTokens(end, start, first, *range(first + languages, first + languages + 7))


def prompt(
    language: str = "es", task: str = "transcribe", *, times: bool = False, languages: int = 99
) -> tuple[int, ...]:
    """Por dónde empieza a escribir: el comienzo, la lengua, la tarea y, sin ``times``, que no
    escriba los tiempos.

    Errores: ``ValueError`` si la lengua o la tarea no son de las suyas, y los de
    :func:`special_tokens`.
    Fuente: Radford et al. (2023), § 2.3 y figura 1.
    """
    tokens = special_tokens(languages)
    checks.prompt(language, LANGUAGES[:languages], task, TASKS, times)
    spoken = tokens.language + LANGUAGES.index(language)
    asked = tokens.transcribe if task == "transcribe" else tokens.translate
    return (tokens.start, spoken, asked, *([] if times else [tokens.no_times]))


# --- La configuración -----------------------------------------------------------------------------


@dataclass(frozen=True)
class WhisperConfig:
    """Todo lo que define un :class:`Whisper`; las medidas publicadas, en los constructores.

    ``n_mels`` son los números de cada fila del espectrograma y ``audio_len``, las posiciones que
    quedan tras acortarlo; ``max_len``, las del texto. ``n_layers`` son las de cada pila.
    ``dropout`` actúa en los embeddings y a la salida de cada subcapa; ``attention_dropout``, en los
    pesos de atención. Los pesos se sortean con desviación ``init_std``.

    Errores: ``TypeError`` o ``ValueError`` si un campo no es lo que su nombre dice: el mensaje lo
    nombra.
    """

    vocab: int
    n_mels: int = 80
    d_model: int = 64
    n_heads: int = 4
    d_ff: int = 256
    n_layers: int = 2
    audio_len: int = 1500
    max_len: int = 448
    dropout: float = 0.0
    attention_dropout: float = 0.0
    init_std: float = 0.02
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2

    def __post_init__(self) -> None:
        checks.fields(self)

    @property
    def target_vocab(self) -> int:
        """El vocabulario de lo que escribe, que es el único."""
        return self.vocab

    @classmethod
    def tiny(cls, vocab: int = 51_865, **changes: Any) -> "WhisperConfig":
        """Whisper tiny: cuatro capas por pila, de anchura 384.

        Errores: los de :class:`WhisperConfig`.
        Fuente: Radford et al. (2023), tabla 1.
        """
        ids = {"pad_id": TEXT_TOKENS - 1, "bos_id": TEXT_TOKENS + 1, "eos_id": TEXT_TOKENS}
        sizes = {"d_model": 384, "n_heads": 6, "d_ff": 1536, "n_layers": 4}
        return cls(vocab, **{**ids, **sizes, **changes})

    @classmethod
    def base(cls, vocab: int = 51_865, **changes: Any) -> "WhisperConfig":
        """Whisper base: seis capas por pila, de anchura 512.

        Errores: los de :class:`WhisperConfig`.
        Fuente: Radford et al. (2023), tabla 1.
        """
        sizes = {"d_model": 512, "n_heads": 8, "d_ff": 2048, "n_layers": 6}
        return cls.tiny(vocab, **{**sizes, **changes})

    @classmethod
    def small(cls, vocab: int = 51_865, **changes: Any) -> "WhisperConfig":
        """Whisper small: doce capas por pila, de anchura 768.

        Errores: los de :class:`WhisperConfig`.
        Fuente: Radford et al. (2023), tabla 1.
        """
        sizes = {"d_model": 768, "n_heads": 12, "d_ff": 3072, "n_layers": 12}
        return cls.tiny(vocab, **{**sizes, **changes})

    @classmethod
    def medium(cls, vocab: int = 51_865, **changes: Any) -> "WhisperConfig":
        """Whisper medium: veinticuatro capas por pila, de anchura 1024.

        Errores: los de :class:`WhisperConfig`.
        Fuente: Radford et al. (2023), tabla 1.
        """
        sizes = {"d_model": 1024, "n_heads": 16, "d_ff": 4096, "n_layers": 24}
        return cls.tiny(vocab, **{**sizes, **changes})

    @classmethod
    def large(cls, vocab: int = 51_865, **changes: Any) -> "WhisperConfig":
        """Whisper large: treinta y dos capas por pila, de anchura 1280.

        Errores: los de :class:`WhisperConfig`.
        Fuente: Radford et al. (2023), tabla 1.
        """
        sizes = {"d_model": 1280, "n_heads": 20, "d_ff": 5120, "n_layers": 32}
        return cls.tiny(vocab, **{**sizes, **changes})

    @classmethod
    def large_v3(cls, vocab: int = 51_866, **changes: Any) -> "WhisperConfig":
        """Whisper large-v3: el anterior, con 128 mels y una lengua más.

        Errores: los de :class:`WhisperConfig`.
        Fuente: la configuración publicada.
        """
        return cls.large(vocab, **{"n_mels": 128, **changes})


# --- Las piezas -----------------------------------------------------------------------------------


@typed(validate=checks.halved_sinusoids)
def halved_sinusoids(n: int, d_model: int) -> Float[Tensor, "n d_model"]:
    """Las sinusoides de Whisper: delante los senos y detrás los cosenos, sin alternarlos.

    Las frecuencias van de 1 a 1/10 000 radianes por posición, las dos incluidas; las de
    :func:`atento.positions.sinusoidal` no llegan a la última.

    Errores: ``TypeError`` o ``ValueError`` si no son enteros positivos o ``d_model`` no es par y
    mayor que 2.
    Fuente: el código publicado.
    """
    half = d_model // 2
    speed = torch.exp(-math.log(10_000) / (half - 1) * torch.arange(half))  # (half,)
    angles = torch.arange(n)[:, None] * speed  # (n, half)
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class AudioEmbedding(nn.Module):
    """La entrada: dos convoluciones de tres filas con GELU, la segunda de dos en dos, y el sitio.

    De (batch, frame, n_mels) a (batch, ⌈frame / 2⌉, d_model). Las posiciones son fijas: ``places``
    no se aprende.

    Errores: ``TypeError`` si ``config`` no es una :class:`WhisperConfig`.
    Fuente: Radford et al. (2023), § 2.2 y figura 1.
    """

    places: Tensor

    @typed(validate=checks.model)
    def __init__(self, config: WhisperConfig) -> None:
        super().__init__()
        c = self.config = config
        self.first = nn.Conv1d(c.n_mels, c.d_model, kernel_size=3, padding=1)
        self.second = nn.Conv1d(c.d_model, c.d_model, kernel_size=3, stride=2, padding=1)
        self.register_buffer("places", halved_sinusoids(c.audio_len, c.d_model))
        self.dropout = Dropout(c.dropout)

    @typed(validate=checks.features)
    def forward(
        self, features: Float[Tensor, "batch frame mel"]
    ) -> Float[Tensor, "batch source d_model"]:
        """Filas de ``features``, (batch, frame, n_mels), dos a dos.

        Errores: los de :meth:`Whisper.encode`.
        """
        x = F.gelu(self.first(features.mT))  # (batch, d_model, frame)
        x = F.gelu(self.second(x)).mT  # (batch, source, d_model)
        return self.dropout(x + self.places[: x.shape[1]])


class WhisperEmbedding(TokenEmbedding):
    """La entrada del texto: la fila de cada token más la de su posición, sin multiplicar por √d.

    Errores: ``TypeError`` si ``config`` no es una :class:`WhisperConfig`.
    Fuente: Radford et al. (2023), § 2.2.
    """

    positions: Learned

    @typed(validate=checks.model)
    def __init__(self, config: WhisperConfig) -> None:
        places = Learned(config.max_len, config.d_model)
        super().__init__(config.vocab, config.d_model, positions=places, dropout=config.dropout)

    @typed(validate=pieces.embed)
    def forward(
        self, ids: Int[Tensor, "batch n"], positions: Real[Tensor, "..."] | None = None
    ) -> Float[Tensor, "batch n d_model"]:
        """Embeddings de ``ids``, que están en ``positions``, (n,) o (batch, n); sin ellas, 0…n − 1.

        Errores: ``TypeError`` o ``ValueError`` si ``ids`` no son números del vocabulario,
        (batch, n), o alguna posición no está en la tabla.
        """
        return self.dropout(self.positions(self.tokens(ids), positions))


class UnbiasedKeyAttention(MultiHeadAttention):
    """La multicabeza con sesgos menos en las claves, donde no cambiarían nada.

    Sumaría lo mismo a todas las puntuaciones de una consulta, y softmax no lo ve.

    Errores: los de :class:`~atento.attention.MultiHeadAttention`.
    Fuente: el código publicado.
    """

    @typed(validate=checks.attention)
    def __init__(self, d_model: int, n_heads: int, *, dropout: float = 0.0) -> None:
        super().__init__(d_model, n_heads, dropout=dropout)
        self.project_key = nn.Linear(d_model, d_model, bias=False)
        self.reset_parameters()


# --- El modelo ------------------------------------------------------------------------------------


class Whisper(Seq2Seq):
    """Del sonido al texto: ``forward(features, target)`` da puntuaciones, (batch, target, vocab).

    La norma va delante de cada subcapa, y otra al final de cada pila. Nada se tapa en lo que oye:
    el silencio que sobra también es sonido, así que todos los de un lote duran lo mismo.

    Errores: ``TypeError`` si ``config`` no es una :class:`WhisperConfig`.
    Fuente: Radford et al. (2023), § 2.2 y figura 1.
    """

    config: Any  # una WhisperConfig

    @typed(validate=checks.model)
    def __init__(self, config: WhisperConfig) -> None:
        nn.Module.__init__(self)  # las piezas son otras: de Seq2Seq se heredan los métodos
        c = self.config = config
        self.places = consecutive
        self.listen = AudioEmbedding(c)
        self.embed_target = WhisperEmbedding(c)
        nowhere = Positions()
        self.encoder = Encoder(
            [self._encoder_block(nowhere) for _ in range(c.n_layers)], LayerNorm(c.d_model)
        )
        self.decoder = Decoder(
            [self._decoder_block(nowhere) for _ in range(c.n_layers)], LayerNorm(c.d_model)
        )
        self.project = nn.Linear(c.d_model, c.vocab, bias=False)
        self.project.weight = self.embed_target.tokens.weight
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Vuelve a sortear los pesos, con desviación ``init_std``, y pone los sesgos a 0.

        Las convoluciones se sortean como en PyTorch.
        """
        draw_normal(self, self.config.init_std)
        self.listen.first.reset_parameters()
        self.listen.second.reset_parameters()

    @typed(validate=checks.features)
    def encode(self, features: Float[Tensor, "batch frame mel"]) -> Encoded:
        """Oye los sonidos y deja su memoria, (batch, source, d_model), que no tapa nada.

        Errores: ``TypeError`` o ``ValueError`` si ``features`` no es (batch, frame, n_mels) de coma
        flotante, con dos filas como mucho por cada posición de ``audio_len``.
        """
        x = self.listen(features)  # (batch, source, d_model)
        batch, n, _ = x.shape
        everyone = torch.ones(batch, 1, 1, n, dtype=torch.bool, device=x.device)
        return Encoded(self.encoder(x), everyone, torch.arange(n, device=x.device))

    @typed(validate=checks.forward)
    def forward(
        self, features: Float[Tensor, "batch frame mel"], target: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocab"]:
        """Puntuaciones de cada palabra siguiente, con enseñanza forzada.

        Errores: los de :meth:`encode` y :meth:`decode`.
        """
        return self.decode(target, self.encode(features))

    def generate(  # type: ignore[override]  # lo que oye no son palabras
        self,
        features: Float[Tensor, "batch frame mel"],
        *,
        start: tuple[int, ...] | None = None,
        max_length: int = 64,
        strategy: Callable = greedy,
        cache: bool = True,
        **options: Any,
    ) -> Any:
        """Escribe lo que oye, palabra a palabra, y devuelve lo que dé la estrategia.

        ``start`` son las palabras por las que empieza todo, como las de :func:`prompt`; sin ellas,
        el comienzo. Lo demás, como en :meth:`atento.models.seq2seq.Seq2Seq.generate`.

        Errores: los de :meth:`encode` y los de la estrategia, y ``TypeError`` o ``ValueError`` si
        ``start`` no son números del vocabulario, ``strategy`` no se puede llamar o ``cache`` no es
        un sí o un no.
        """
        require_writing(strategy, cache)
        checks.features(self, features)
        c = self.config
        given = checks.require_start((c.bos_id,) if start is None else start, c.vocab)
        begin = torch.tensor(given, device=features.device).expand(len(features), -1)
        step = self.step if cache else recomputing(self.step)
        rules = {"eos_id": c.eos_id, "pad_id": c.pad_id, "max_length": max_length, **options}
        state = {"state": lambda: self.start(self.encode(features))}
        with evaluating(self), torch.inference_mode():
            written = strategy(step, begin, **{**state, **rules})
        return kept(written)

    def _attention(self, options: Mapping[str, Any]) -> UnbiasedKeyAttention:
        c = self.config
        return UnbiasedKeyAttention(c.d_model, c.n_heads, dropout=c.attention_dropout)

    def _feed_forward(self) -> FeedForward:
        return FeedForward(self.config.d_model, self.config.d_ff, activation="gelu")

    def _block_options(self) -> dict[str, Any]:
        return {"norm": "pre", "dropout": self.config.dropout}
