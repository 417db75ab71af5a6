"""Piso 6: celdas recurrentes escritas del todo, y el codificador-decodificador sin atención y con atención aditiva.

Las celdas (:class:`RNNCell`, :class:`LSTMCell`, :class:`GRUCell`) llevan los nombres de parámetros de PyTorch: sus pesos
se copian con ``load_state_dict``. Los modelos que se entrenan usan los módulos fundidos de PyTorch, iguales y más rápidos.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from atento.decoding import greedy
from atento.masks import padding_mask
from atento.numbers import require_size
from atento.shapes import require_integer, require_tensor, typed
from atento.similarity import additive

# --- Las celdas -------------------------------------------------------------------------------------------------


def _check_cell(self=None, x=None, state=None) -> None:
    require_tensor(x, name="x")
    if x.ndim != 2 or x.shape[-1] != self.d_input:
        raise ValueError(f"x: se esperaba la forma (batch, d_input={self.d_input}); llegó {tuple(x.shape)}.")


class _Cell(nn.Module):
    """Parámetros comunes: ``gates`` bloques de pesos de entrada y de estado, apilados como en PyTorch."""

    gates = 1

    def __init__(self, d_input: int, d_hidden: int) -> None:
        super().__init__()
        require_size(d_input, name="d_input")
        require_size(d_hidden, name="d_hidden")
        self.d_input, self.d_hidden = d_input, d_hidden
        self.weight_ih = nn.Parameter(torch.empty(self.gates * d_hidden, d_input))
        self.weight_hh = nn.Parameter(torch.empty(self.gates * d_hidden, d_hidden))
        self.bias_ih = nn.Parameter(torch.empty(self.gates * d_hidden))
        self.bias_hh = nn.Parameter(torch.empty(self.gates * d_hidden))
        bound = d_hidden**-0.5
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def _affine(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        return x @ self.weight_ih.T + self.bias_ih, h @ self.weight_hh.T + self.bias_hh

    def initial(self, x: Float[Tensor, "batch d_input"]) -> Tensor | tuple[Tensor, Tensor]:
        """Estado de partida: ceros (batch, d_hidden)."""
        return x.new_zeros(x.shape[0], self.d_hidden)


class RNNCell(_Cell):
    r"""Celda simple: :math:`h' = \tanh(W_{ih}x + b_{ih} + W_{hh}h + b_{hh})`.

    ValueError si ``x`` no es (batch, d_input). Fuente: Elman (1990).
    """

    @typed(validate=_check_cell)
    def forward(
        self, x: Float[Tensor, "batch d_input"], state: Float[Tensor, "batch d_hidden"] | None = None
    ) -> Float[Tensor, "batch d_hidden"]:
        """Un paso: estado nuevo a partir de la entrada y del estado anterior (``None``: ceros)."""
        h = self.initial(x) if state is None else state
        from_input, from_state = self._affine(x, h)
        return torch.tanh(from_input + from_state)


class LSTMCell(_Cell):
    """Celda LSTM: puertas de entrada, olvido y salida, y una memoria ``c`` que se suma en lugar de multiplicarse.

    El estado es el par ``(h, c)``, los dos (batch, d_hidden). ValueError si ``x`` no es (batch, d_input).
    Fuente: Hochreiter y Schmidhuber (1997), con la puerta de olvido de Gers et al. (2000).
    """

    gates = 4

    def initial(self, x: Float[Tensor, "batch d_input"]) -> tuple[Tensor, Tensor]:
        """Estado de partida: dos tensores de ceros (batch, d_hidden)."""
        return super().initial(x), super().initial(x)

    @typed(validate=_check_cell)
    def forward(
        self, x: Float[Tensor, "batch d_input"], state: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Float[Tensor, "batch d_hidden"], Float[Tensor, "batch d_hidden"]]:
        """Un paso: ``(h, c)`` nuevos, de (batch, d_hidden), a partir de la entrada y de los anteriores."""
        h, c = self.initial(x) if state is None else state
        from_input, from_state = self._affine(x, h)
        enter, forget, candidate, output = (from_input + from_state).chunk(4, dim=-1)
        c = forget.sigmoid() * c + enter.sigmoid() * candidate.tanh()
        return output.sigmoid() * c.tanh(), c


class GRUCell(_Cell):
    """Celda GRU: una puerta de reinicio y otra de actualización, sin memoria aparte.

    La puerta de reinicio multiplica a :math:`W_{hn}h + b_{hn}`, como en PyTorch; Cho et al. (2014) multiplican a ``h``
    antes de la matriz. ValueError si ``x`` no es (batch, d_input).
    """

    gates = 3

    @typed(validate=_check_cell)
    def forward(
        self, x: Float[Tensor, "batch d_input"], state: Float[Tensor, "batch d_hidden"] | None = None
    ) -> Float[Tensor, "batch d_hidden"]:
        """Un paso: estado nuevo a partir de la entrada y del estado anterior (``None``: ceros)."""
        h = self.initial(x) if state is None else state
        from_input, from_state = self._affine(x, h)
        reset_x, update_x, new_x = from_input.chunk(3, dim=-1)
        reset_h, update_h, new_h = from_state.chunk(3, dim=-1)
        reset, update = (reset_x + reset_h).sigmoid(), (update_x + update_h).sigmoid()
        new = torch.tanh(new_x + reset * new_h)
        return (1 - update) * new + update * h


Recurrent = Tensor | tuple[Tensor, Tensor]
"""El estado de una celda: ``h`` o, en la LSTM, ``(h, c)``; cada uno (batch, d_hidden)."""

CELLS = {"rnn": RNNCell, "lstm": LSTMCell, "gru": GRUCell}
_FUSED = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
_FUSED_CELLS = {"rnn": nn.RNNCell, "lstm": nn.LSTMCell, "gru": nn.GRUCell}


def unroll(
    cell: RNNCell | LSTMCell | GRUCell,
    x: Float[Tensor, "batch time d_input"],
    valid: Bool[Tensor, "batch time"] | None = None,
) -> tuple[Tensor, Recurrent]:
    """Aplica ``cell`` posición a posición y devuelve (estados ``h`` (batch, time, d_hidden), último estado).

    Donde ``valid`` es falso (relleno) el estado se conserva y la salida es 0, como con las secuencias empaquetadas de
    PyTorch. ValueError si ``x`` no tiene tres ejes o ninguna posición.
    """
    require_tensor(x, name="x")
    if x.ndim != 3 or x.shape[1] == 0:
        raise ValueError(f"x: se esperaba la forma (batch, time, d_input) con time ≥ 1; llegó {tuple(x.shape)}.")
    state, outputs = cell.initial(x[:, 0]), []
    for t in range(x.shape[1]):
        new = cell(x[:, t], state)
        if valid is not None:
            new = _select(valid[:, t, None], new, state)
        state = new
        h = _hidden(state)
        outputs.append(h if valid is None else h * valid[:, t, None])
    return torch.stack(outputs, dim=1), state


def _hidden(state: Tensor | tuple[Tensor, Tensor]) -> Tensor:
    return state[0] if isinstance(state, tuple) else state


def _select(keep: Tensor, new, old):
    if isinstance(new, tuple):
        return tuple(torch.where(keep, a, b) for a, b in zip(new, old, strict=True))
    return torch.where(keep, new, old)


# --- El codificador-decodificador -------------------------------------------------------------------------------


@dataclass(frozen=True)
class RecurrentConfig:
    """Dimensiones de :class:`RecurrentSeq2Seq`.

    ``d_model`` es la anchura de los embeddings; ``d_hidden``, la del decodificador (el codificador, bidireccional,
    usa la mitad en cada sentido); ``d_attention``, la de la capa oculta de la puntuación aditiva.
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
            raise ValueError(f"d_hidden: debe ser par (dos sentidos del codificador); llegó {self.d_hidden}.")


def count_parameters(model: nn.Module) -> int:
    """Número de parámetros que se entrenan."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def without_attention(config: RecurrentConfig) -> RecurrentConfig:
    """La configuración sin atención cuyo número de parámetros más se acerca al de ``config`` (ensanchando el estado)."""
    goal = count_parameters(RecurrentSeq2Seq(config))
    widths = range(config.d_hidden, 2 * config.d_hidden + 1, 2)
    options = [replace(config, attention=False, d_hidden=width) for width in widths]
    return min(options, key=lambda option: abs(count_parameters(RecurrentSeq2Seq(option)) - goal))


class Encoder(nn.Module):
    """Codificador bidireccional: de números (batch, source) a estados (batch, source, d_hidden) y resumen."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.source_vocab, config.d_model, padding_idx=config.pad_id)
        self.dropout = nn.Dropout(config.dropout)
        recurrent = _FUSED[config.cell]
        self.recurrent = recurrent(config.d_model, config.d_hidden // 2, batch_first=True, bidirectional=True)

    def forward(
        self, source: Int[Tensor, "batch source"], valid: Bool[Tensor, "batch source"]
    ) -> tuple[Float[Tensor, "batch source d_hidden"], Float[Tensor, "batch d_hidden"]]:
        """Estados de cada posición (0 en el relleno) y resumen: los estados finales de los dos sentidos, juntos."""
        lengths = valid.sum(-1).cpu()
        x = self.dropout(self.embedding(source))
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        states, last = self.recurrent(packed)
        states, _ = pad_packed_sequence(states, batch_first=True, total_length=source.shape[1])
        return states, _hidden(last).transpose(0, 1).flatten(1)


@dataclass
class Memory:
    """Lo que el decodificador consulta: estados, sus claves ya proyectadas, máscara y resumen de la frase."""

    states: Tensor  # (batch, source, d_hidden)
    keys: Tensor | None  # (batch, source, d_attention)
    valid: Tensor  # (batch, source)
    summary: Tensor  # (batch, d_hidden)


@dataclass
class DecoderState:
    """Estado entre dos pasos de generación: el de la celda, la memoria y los pesos del último paso (o ``None``)."""

    recurrent: Tensor | tuple[Tensor, Tensor]
    memory: Memory
    weights: Tensor | None = None


class AdditiveAttention(nn.Module):
    r"""Atención aditiva: los pesos y la media de los estados con ellos.

    Los pesos son :math:`\mathrm{softmax}_k(v^{\mathsf T}\tanh(W_q^{\mathsf T} q + W_k^{\mathsf T} k))`.

    Las claves se proyectan una vez por frase (:meth:`project`). Fuente: Bahdanau et al. (2015), § 3.1 y A.1.2.
    """

    def __init__(self, d_query: int, d_key: int, d_attention: int) -> None:
        super().__init__()
        self.w_q = nn.Parameter(torch.empty(d_query, d_attention))
        self.w_k = nn.Parameter(torch.empty(d_key, d_attention))
        self.v = nn.Parameter(torch.empty(d_attention))
        for parameter, width in ((self.w_q, d_query), (self.w_k, d_key), (self.v, d_attention)):
            nn.init.uniform_(parameter, -(width**-0.5), width**-0.5)

    def project(self, states: Float[Tensor, "batch key d_key"]) -> Float[Tensor, "batch key d_attention"]:
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
        """Contexto (batch, d_key) y pesos (batch, key), que suman 1 y son 0 en el relleno."""
        scores = torch.tanh((query @ self.w_q).unsqueeze(1) + memory.keys) @ self.v
        weights = scores.masked_fill(~memory.valid, -math.inf).softmax(-1)
        return (weights.unsqueeze(1) @ memory.states).squeeze(1), weights


class Decoder(nn.Module):
    """Decodificador: en cada paso, la palabra anterior y un contexto. Con atención, el contexto se recalcula en cada paso;
    sin ella es siempre el mismo vector, el resumen de la frase (Cho et al., 2014)."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.config = config
        d = config.d_hidden
        self.embedding = nn.Embedding(config.target_vocab, config.d_model, padding_idx=config.pad_id)
        self.dropout = nn.Dropout(config.dropout)
        self.start = nn.Linear(d, d)
        self.attention = AdditiveAttention(d, d, config.d_attention) if config.attention else None
        self.cell = _FUSED_CELLS[config.cell](config.d_model + d, d)
        self.readout = nn.Linear(2 * d + config.d_model, config.d_model)
        self.project = nn.Linear(config.d_model, config.target_vocab)

    def initial(self, memory: Memory) -> Recurrent:
        """Estado de partida (batch, d_hidden), sacado del resumen de la frase."""
        h = torch.tanh(self.start(memory.summary))
        return (h, torch.zeros_like(h)) if self.config.cell == "lstm" else h

    def step(self, x: Tensor, state: Recurrent, memory: Memory) -> tuple[Recurrent, Tensor, Tensor | None]:
        """Un paso: ``x`` (batch, d_model) → (estado nuevo, contexto (batch, d_hidden), pesos (batch, source) o None)."""
        if self.attention is None:
            context, weights = memory.summary, None
        else:
            context, weights = self.attention(_hidden(state), memory)
        return self.cell(torch.cat([x, context], dim=-1), state), context, weights

    def logits(self, h: Tensor, context: Tensor, x: Tensor) -> Tensor:
        """Puntuaciones de las palabras, (…, vocab)."""
        return self.project(torch.tanh(self.readout(self.dropout(torch.cat([h, context, x], dim=-1)))))

    def forward(
        self, target: Int[Tensor, "batch target"], memory: Memory
    ) -> tuple[Float[Tensor, "batch target vocab"], Float[Tensor, "batch target source"] | None]:
        """Puntuaciones y pesos con forzado del profesor: en cada paso entra la palabra correcta, no la generada."""
        x = self.dropout(self.embedding(target))
        state, hiddens, contexts, rows = self.initial(memory), [], [], []
        for t in range(target.shape[1]):
            state, context, weights = self.step(x[:, t], state, memory)
            hiddens.append(_hidden(state))
            contexts.append(context)
            rows.append(weights)
        logits = self.logits(torch.stack(hiddens, 1), torch.stack(contexts, 1), x)
        return logits, None if self.attention is None else torch.stack(rows, 1)


def _check_source(source: Tensor, pad_id: int) -> Tensor:
    require_integer(source, name="source")
    if source.ndim != 2:
        raise ValueError(f"source: se esperaba la forma (batch, source); llegó {tuple(source.shape)}.")
    valid = padding_mask(source, pad_id).reshape(source.shape)
    if not valid[:, :1].all():
        raise ValueError("source: hay frases vacías (solo relleno); toda frase necesita al menos una palabra.")
    if (valid[:, 1:] & ~valid[:, :-1]).any():
        raise ValueError("source: el relleno debe ir al final de cada frase, no en medio ni al principio.")
    return valid


class RecurrentSeq2Seq(nn.Module):
    """Codificador-decodificador recurrente, con atención aditiva (Bahdanau et al., 2015) o sin ella.

    ``forward(source, target)`` con ``target`` empezando en el comienzo de frase: puntuaciones (batch, target, vocab) y
    pesos (batch, target, source), o ``None`` sin atención. El relleno del final nunca cambia un resultado.
    """

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)

    def encode(self, source: Int[Tensor, "batch source"]) -> DecoderState:
        """Lee la frase y devuelve el estado con que empieza el decodificador.

        TypeError si ``source`` no es de enteros; ValueError si hay frases vacías o relleno en medio.
        """
        valid = _check_source(source, self.config.pad_id)
        states, summary = self.encoder(source, valid)
        attention = self.decoder.attention
        memory = Memory(states, attention.project(states) if attention else None, valid, summary)
        return DecoderState(self.decoder.initial(memory), memory)

    @typed
    def forward(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> tuple[Float[Tensor, "batch target vocab"], Float[Tensor, "batch target source"] | None]:
        """Puntuaciones de cada palabra siguiente y pesos. Errores: los de :meth:`encode`."""
        require_integer(target, name="target")
        return self.decoder(target, self.encode(source).memory)

    def step(self, ids: Int[Tensor, "batch length"], state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Un paso de generación: puntuaciones (batch, vocab) de la palabra que sigue a ``ids`` y estado nuevo."""
        x = self.decoder.embedding(ids[:, -1])
        recurrent, context, weights = self.decoder.step(x, state.recurrent, state.memory)
        return self.decoder.logits(_hidden(recurrent), context, x), DecoderState(recurrent, state.memory, weights)

    def translate(self, source: Int[Tensor, "batch source"], *, max_length: int = 64) -> Int[Tensor, "batch target"]:
        """Traducción voraz, sin el comienzo y con fin y relleno. Errores: los de :meth:`encode`."""
        start = source.new_full((source.shape[0], 1), self.config.bos_id)
        was_training = self.training
        self.eval()
        try:
            return greedy(self.step, start, state=lambda: self.encode(source), eos_id=self.config.eos_id,
                          pad_id=self.config.pad_id, max_length=max_length)
        finally:
            self.train(was_training)


def translation_loss(model: RecurrentSeq2Seq, batch: tuple[Tensor, Tensor]) -> Float[Tensor, ""]:
    """Entropía cruzada media (nats por palabra) de un lote: ``source`` (batch, source) y ``target`` (batch, target).

    El decodificador recibe ``target`` sin la última columna y debe predecirlo sin la primera (forzado del profesor). El
    relleno no cuenta: ni como acierto ni como error.
    """
    source, target = batch
    logits, _ = model(source, target[:, :-1])
    labels = target[:, 1:]
    return nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=model.config.pad_id)
