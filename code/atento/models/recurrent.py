"""Piso 6: el codificador-decodificador recurrente, sin atención y con atención aditiva.

Usa los módulos fundidos de PyTorch, iguales a las celdas de :mod:`atento.models.cells` y más
rápidos.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from atento.amounts import require_kind, require_probability, require_size
from atento.attention import attend
from atento.checks import recurrent as checks
from atento.decoding import greedy, select
from atento.masks import padding_mask
from atento.models.cells import CELLS, GRUCell, LSTMCell, Recurrent, RNNCell, hidden, unroll
from atento.shapes import typed
from atento.similarity import additive
from atento.training import evaluating, unwrap

__all__ = [
    "CELLS",
    "AdditiveAttention",
    "Decoder",
    "DecoderState",
    "Encoder",
    "GRUCell",
    "LSTMCell",
    "Memory",
    "RNNCell",
    "Recurrent",
    "RecurrentConfig",
    "RecurrentSeq2Seq",
    "count_parameters",
    "translation_loss",
    "unroll",
    "without_attention",
]

_FUSED = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
_FUSED_CELLS = {"rnn": nn.RNNCell, "lstm": nn.LSTMCell, "gru": nn.GRUCell}


@dataclass(frozen=True)
class RecurrentConfig:
    """Dimensiones de :class:`RecurrentSeq2Seq`.

    ``d_model`` es la anchura de los embeddings; ``d_hidden``, la del decodificador (el codificador,
    bidireccional, usa la mitad en cada sentido); ``d_attention``, la de la capa oculta de la
    puntuación aditiva.

    Errores: ``TypeError`` o ``ValueError`` si una dimensión no es un entero positivo, ``d_hidden``
    es impar, ``cell`` no existe, ``dropout`` no está en [0, 1) o un número especial no cabe en los
    dos vocabularios.
    """

    source_vocab: int
    target_vocab: int
    d_model: int = 64
    d_hidden: int = 128
    d_attention: int = 64
    cell: str = "gru"
    attention: bool = True
    dropout: float = 0.0
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2

    def __post_init__(self) -> None:
        for name in ("source_vocab", "target_vocab", "d_model", "d_hidden", "d_attention"):
            require_size(getattr(self, name), name=name)
        if self.cell not in CELLS:
            raise ValueError(f"cell: se esperaba una de {', '.join(CELLS)}; llegó {self.cell!r}.")
        if self.d_hidden % 2:
            raise ValueError(
                "d_hidden: se esperaba un número par, por los dos sentidos del codificador; llegó "
                f"{self.d_hidden}."
            )
        require_probability(self.dropout, name="dropout")
        for name in ("pad_id", "bos_id", "eos_id"):
            checks.require_id(getattr(self, name), self.target_vocab, name=name)


def count_parameters(model: nn.Module) -> int:
    """Número de parámetros que se entrenan.

    Errores: ``TypeError`` si ``model`` no es un módulo.
    """
    require_kind(model, nn.Module, name="model", wanted="un nn.Module")
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def without_attention(config: RecurrentConfig) -> RecurrentConfig:
    """La configuración sin atención con los parámetros más parecidos en número a los de ``config``.

    Solo se ensancha el estado.
    """
    goal = count_parameters(RecurrentSeq2Seq(config))
    widths = range(config.d_hidden, 2 * config.d_hidden + 1, 2)
    options = [replace(config, attention=False, d_hidden=width) for width in widths]
    return min(options, key=lambda option: abs(count_parameters(RecurrentSeq2Seq(option)) - goal))


class Encoder(nn.Module):
    """Codificador bidireccional: de números (batch, source) a estados (batch, source, d_hidden)."""

    @typed(validate=checks.config)
    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        d_model, half = config.d_model, config.d_hidden // 2
        self.embedding = nn.Embedding(config.source_vocab, d_model, padding_idx=config.pad_id)
        self.dropout = nn.Dropout(config.dropout)
        recurrent = _FUSED[config.cell]
        self.recurrent = recurrent(d_model, half, batch_first=True, bidirectional=True)

    def forward(
        self, source: Int[Tensor, "batch source"], valid: Bool[Tensor, "batch source"]
    ) -> tuple[Float[Tensor, "batch source d_hidden"], Float[Tensor, "batch d_hidden"]]:
        """Estados de cada posición (0 en el relleno) y resumen: los finales de los dos sentidos."""
        lengths = valid.sum(-1).cpu()
        x = self.dropout(self.embedding(source))
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        states, last = self.recurrent(packed)
        states, _ = pad_packed_sequence(states, batch_first=True, total_length=source.shape[1])
        return states, hidden(last).transpose(0, 1).flatten(1)


@dataclass
class Memory:
    """Lo que el decodificador consulta: estados, sus claves ya proyectadas, máscara y resumen."""

    states: Tensor  # (batch, source, d_hidden)
    keys: Tensor | None  # (batch, source, d_attention)
    valid: Tensor  # (batch, source)
    summary: Tensor  # (batch, d_hidden)

    def select(self, rows: Int[Tensor, " new_batch"]) -> "Memory":
        """La memoria de esas filas del lote, en ese orden."""
        return Memory(*(select(part, rows) for part in vars(self).values()))


@dataclass
class DecoderState:
    """Entre dos pasos de generación: estado de la celda, memoria y últimos pesos (o ``None``)."""

    recurrent: Tensor | tuple[Tensor, Tensor]
    memory: Memory
    weights: Tensor | None = None

    def select(self, rows: Int[Tensor, " new_batch"]) -> "DecoderState":
        """El estado de esas filas del lote, en ese orden y con repeticiones, para el haz."""
        return DecoderState(*(select(part, rows) for part in vars(self).values()))


class AdditiveAttention(nn.Module):
    r"""Atención aditiva: los pesos y la media de los estados con ellos.

    Los pesos son :math:`\mathrm{softmax}_k(v^\top\tanh(W_q^\top q + W_k^\top k))`.

    Las claves se proyectan una vez por frase (:meth:`project`).

    Fuente: Bahdanau et al. (2015), § 3.1 y A.1.2.
    """

    def __init__(self, d_query: int, d_key: int, d_attention: int) -> None:
        super().__init__()
        for name, size in (("d_query", d_query), ("d_key", d_key), ("d_attention", d_attention)):
            require_size(size, name=name)
        self.w_q = nn.Parameter(torch.empty(d_query, d_attention))
        self.w_k = nn.Parameter(torch.empty(d_key, d_attention))
        self.v = nn.Parameter(torch.empty(d_attention))
        for parameter, width in ((self.w_q, d_query), (self.w_k, d_key), (self.v, d_attention)):
            nn.init.uniform_(parameter, -(width**-0.5), width**-0.5)

    def project(
        self, states: Float[Tensor, "batch key d_key"]
    ) -> Float[Tensor, "batch key d_attention"]:
        """Las claves: ``states @ w_k``."""
        return states @ self.w_k

    def scores(
        self, query: Float[Tensor, "batch d_query"], states: Float[Tensor, "batch key d_key"]
    ) -> Float[Tensor, "batch key"]:
        """Puntuaciones (batch, key) con :func:`atento.similarity.additive`, sin atajos."""
        return additive(query.unsqueeze(1), states, w_q=self.w_q, w_k=self.w_k, v=self.v).squeeze(1)

    def forward(
        self, query: Float[Tensor, "batch d_query"], memory: Memory
    ) -> tuple[Float[Tensor, "batch d_key"], Float[Tensor, "batch key"]]:
        """Contexto (batch, d_key) y pesos (batch, key), que suman 1 y son 0 en el relleno.

        En una frase que fuese toda relleno, contexto y pesos valen 0.
        """
        hidden_layer = (query @ self.w_q).unsqueeze(1) + memory.keys  # (batch, key, d_attention)
        scores = (hidden_layer.tanh() @ self.v).unsqueeze(1)  # (batch, query=1, key)
        context, weights = attend.unchecked(scores, memory.states, memory.valid[:, None])
        return context.squeeze(1), weights.squeeze(1)


class Decoder(nn.Module):
    """Decodificador: en cada paso, la palabra anterior y un contexto.

    Con atención, el contexto se recalcula en cada paso; sin ella es siempre el mismo vector, el
    resumen de la frase (Cho et al., 2014).
    """

    @typed(validate=checks.config)
    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.config = config
        d, d_model = config.d_hidden, config.d_model
        self.embedding = nn.Embedding(config.target_vocab, d_model, padding_idx=config.pad_id)
        self.dropout = nn.Dropout(config.dropout)
        self.start = nn.Linear(d, d)
        self.attention = AdditiveAttention(d, d, config.d_attention) if config.attention else None
        self.cell = _FUSED_CELLS[config.cell](d_model + d, d)
        self.readout = nn.Linear(2 * d + d_model, d_model)
        self.project = nn.Linear(d_model, config.target_vocab)

    def initial(self, memory: Memory) -> Recurrent:
        """Estado de partida (batch, d_hidden), sacado del resumen de la frase."""
        h = torch.tanh(self.start(memory.summary))
        return (h, torch.zeros_like(h)) if self.config.cell == "lstm" else h

    def step(
        self, x: Float[Tensor, "batch d_model"], state: Recurrent, memory: Memory
    ) -> tuple[Recurrent, Float[Tensor, "batch d_hidden"], Float[Tensor, "batch source"] | None]:
        """Un paso: estado nuevo, contexto y, con atención, pesos."""
        if self.attention is None:
            context, weights = memory.summary, None
        else:
            context, weights = self.attention(hidden(state), memory)
        return self.cell(torch.cat([x, context], dim=-1), state), context, weights

    def logits(self, h: Tensor, context: Tensor, x: Tensor) -> Float[Tensor, "*batch vocab"]:
        """Puntuaciones de las palabras, (…, vocab)."""
        joined = self.dropout(torch.cat([h, context, x], dim=-1))
        return self.project(torch.tanh(self.readout(joined)))

    def forward(
        self, target: Int[Tensor, "batch target"], memory: Memory
    ) -> tuple[Float[Tensor, "batch target vocab"], Float[Tensor, "batch target source"] | None]:
        """Puntuaciones y pesos con enseñanza forzada: entra la palabra correcta, no la generada."""
        x = self.dropout(self.embedding(target))
        state, hiddens, contexts, rows = self.initial(memory), [], [], []
        for t in range(target.shape[1]):
            state, context, weights = self.step(x[:, t], state, memory)
            hiddens.append(hidden(state))
            contexts.append(context)
            rows.append(weights)
        logits = self.logits(torch.stack(hiddens, 1), torch.stack(contexts, 1), x)
        return logits, None if self.attention is None else torch.stack(rows, 1)


class RecurrentSeq2Seq(nn.Module):
    """Codificador-decodificador recurrente, sin atención o con atención aditiva.

    ``forward(source, target)`` con ``target`` empezando en el comienzo de frase: puntuaciones
    (batch, target, vocab) y pesos (batch, target, source), o ``None`` sin atención. El relleno del
    final nunca cambia un resultado.

    Fuente: Bahdanau et al. (2015); sin atención, Cho et al. (2014).
    """

    @typed(validate=checks.config)
    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)

    @typed(validate=checks.encode)
    def encode(self, source: Int[Tensor, "batch source"]) -> DecoderState:
        """Lee la frase y devuelve el estado con que empieza el decodificador.

        Errores: ``TypeError`` si ``source`` no es de enteros; ``ValueError`` si no es
        (batch, source), si hay números fuera del vocabulario, frases vacías o relleno en medio.
        """
        valid = padding_mask(source, self.config.pad_id).reshape(source.shape)
        states, summary = self.encoder(source, valid)
        attention = self.decoder.attention
        memory = Memory(states, attention.project(states) if attention else None, valid, summary)
        return DecoderState(self.decoder.initial(memory), memory)

    @typed(validate=checks.forward)
    def forward(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> tuple[Float[Tensor, "batch target vocab"], Float[Tensor, "batch target source"] | None]:
        """Puntuaciones de cada palabra siguiente y pesos.

        Errores: los de :meth:`encode`, y los mismos en ``target``, que necesita al menos una
        posición.
        """
        return self.decoder(target, type(self).encode.unchecked(self, source).memory)

    @typed(validate=checks.step)
    def step(
        self, ids: Int[Tensor, "batch length"], state: DecoderState
    ) -> tuple[Float[Tensor, "batch vocab"], DecoderState]:
        """Un paso de generación: puntuaciones de la palabra que sigue a ``ids`` y estado nuevo.

        Errores: ``TypeError`` o ``ValueError`` si ``ids`` no son números del vocabulario,
        (batch, length), o ``state`` no es el de :meth:`encode`, de otras tantas frases.
        """
        x = self.decoder.embedding(ids[:, -1])
        recurrent, context, weights = self.decoder.step(x, state.recurrent, state.memory)
        logits = self.decoder.logits(hidden(recurrent), context, x)
        return logits, DecoderState(recurrent, state.memory, weights)

    def translate(
        self, source: Int[Tensor, "batch source"], *, max_length: int = 64
    ) -> Int[Tensor, "batch target"]:
        """Traducción voraz, sin el comienzo y con fin y relleno; deja cada módulo en su modo.

        Errores: los de :meth:`encode`, y ``ValueError`` si ``max_length`` < 1.
        """
        checks.encode(self, source)
        config = self.config
        start = source.new_full((source.shape[0], 1), config.bos_id)
        options = {"eos_id": config.eos_id, "pad_id": config.pad_id, "max_length": max_length}
        with evaluating(self):
            return greedy(self.step, start, state=lambda: self.encode(source), **options)


@typed(validate=checks.loss)
def translation_loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Float[Tensor, ""]:
    """Entropía cruzada media (nats por palabra) de un lote.

    El lote es ``source`` (batch, source) y ``target`` (batch, target). El decodificador recibe
    ``target`` sin la última columna y debe predecirlo sin la primera (enseñanza forzada). El
    relleno no cuenta: ni como acierto ni como error.

    Errores: los de :meth:`RecurrentSeq2Seq.forward`, y ``ValueError`` si ``target`` no tiene al
    menos dos columnas.
    """
    source, target = batch
    logits, _ = model(source, target[:, :-1])
    labels, pad_id = target[:, 1:], unwrap(model).config.pad_id
    return nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad_id)
