# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Capítulo 11. El Transformer completo: soluciones

# %%
import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

# %% [markdown]
# ## 11.1 Cuántos números pasan por cada cable
#
# La memoria tiene una fila por palabra del origen: $5 \cdot 8 = 40$. Cada cabeza tiene sus pesos:
# en el codificador, $2 \cdot 5 \cdot 5 = 50$; en la atención cruzada preguntan las 3 filas del
# destino a las 5 del origen: $2 \cdot 3 \cdot 5 = 30$. Las puntuaciones son una fila de $V$ números
# por posición del destino: $3 \cdot 11 = 33$. La anchura $d$ no aparece en los pesos, ni el origen
# en las puntuaciones.


# %%
def sizes_by_hand() -> dict[str, int]:
    """Las respuestas, calculadas."""
    m, n, d, h, vocab = 5, 3, 8, 2, 11
    return {"memory": m * d, "encoder": h * m * m, "cross": h * n * m, "logits": n * vocab}


# %% [markdown]
# ## 11.2 El Transformer, entero
#
# La misma matriz hace tres oficios: embedding del origen, del destino y salida, traspuesta. El
# relleno del origen se tapa dos veces: al codificar y al mirar la memoria. La norma final va una
# vez por pila, después de la última capa. En estas capas, ``True`` tapa.


# %%
class Transformer(nn.Module):
    """Codificador, memoria, decodificador y generador, con una sola matriz de embeddings."""

    def __init__(self, vocab: int, d_model: int, n_heads: int, d_ff: int, layers: int) -> None:
        super().__init__()
        sizes = {"d_model": d_model, "nhead": n_heads, "dim_feedforward": d_ff}
        options = {"dropout": 0.0, "batch_first": True, "norm_first": True}
        self.tokens = nn.Embedding(vocab, d_model)
        self.places = nn.Embedding(32, d_model)
        nn.init.normal_(self.tokens.weight, std=d_model**-0.5)
        nn.init.zeros_(self.places.weight)
        self.encoder = nn.ModuleList(
            nn.TransformerEncoderLayer(**sizes, **options) for _ in range(layers)
        )
        self.decoder = nn.ModuleList(
            nn.TransformerDecoderLayer(**sizes, **options) for _ in range(layers)
        )
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def _enter(self, ids: Tensor) -> Tensor:
        places = self.places(torch.arange(ids.shape[1]))
        return math.sqrt(self.tokens.embedding_dim) * self.tokens(ids) + places

    def _encode(self, source: Tensor, padding: Tensor) -> Tensor:
        x = self._enter(source)
        for layer in self.encoder:
            x = layer(x, src_key_padding_mask=padding)
        return self.encoder_norm(x)

    def forward(
        self, source: Int[Tensor, "batch m"], target: Int[Tensor, "batch n"]
    ) -> Float[Tensor, "batch n vocab"]:
        """Puntuaciones de la palabra que sigue a cada posición del destino."""
        padding = source == 0
        memory = self._encode(source, padding)
        n = target.shape[1]
        future = torch.ones(n, n, dtype=torch.bool).triu(diagonal=1)
        y = self._enter(target)
        for layer in self.decoder:
            y = layer(y, memory, tgt_mask=future, memory_key_padding_mask=padding)
        return self.decoder_norm(y) @ self.tokens.weight.T


# %% [markdown]
# ## 11.3 Qué filas cambian
#
# Una palabra del destino no llega a la memoria y solo la notan su fila y las siguientes. Una del
# origen llega a toda la memoria, porque el codificador no lleva máscara causal, y de ahí a todas
# las puntuaciones. Una de relleno solo cambia su propia fila de la memoria, por su conexión
# residual, y esa fila no la mira nadie.


# %%
def changed_rows(
    m: int, n: int, side: str, position: int, length: int | None = None
) -> tuple[list[int], list[int]]:
    """Las filas de la memoria y las de las puntuaciones que cambian con una palabra."""
    if side == "target":
        return [], list(range(position, n))
    if length is not None and position >= length:
        return [position], []
    return list(range(m)), list(range(n))


# %% [markdown]
# ## 11.4 Contar un Transformer con todas sus opciones
#
# Un bloque del decodificador es uno del codificador con otra atención y otra norma. Las cabezas no
# salen porque reparten la anchura: $h$ matrices $d \times d/h$ son, juntas, una $d \times d$.


# %%
def transformer_parameters(
    source_vocab: int,
    target_vocab: int,
    d_model: int,
    d_ff: int,
    n_encoder: int,
    n_decoder: int,
    *,
    tying: str = "none",
    attention_bias: bool = True,
    final_norm: bool = True,
    learned: int = 0,
) -> int:
    """Cuántos parámetros tiene un Transformer, sin construirlo."""
    attention = 4 * d_model**2 + (4 * d_model if attention_bias else 0)
    norm = 2 * d_model
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    reader = attention + feed_forward + 2 * norm
    writer = 2 * attention + feed_forward + 3 * norm
    rows = {
        "none": source_vocab + 2 * target_vocab,
        "output": source_vocab + target_vocab,
        "all": target_vocab,
    }[tying]
    total = n_encoder * reader + n_decoder * writer + rows * d_model
    total += 2 * norm if final_norm else 0
    return total + 2 * learned * d_model


# %% [markdown]
# ## 11.5 Una matriz con dos oficios
#
# Como salida, $E$ recibe $G^{\mathsf T} H$, donde $G = (P - Y)/n$ es el gradiente de las
# puntuaciones: toca todas las filas. Como entrada, $G E$ vuelve por $B^{\mathsf T}$, se multiplica
# por $\sqrt d$ y se reparte: a cada fila, la suma de las posiciones donde salió su palabra. Las
# filas de las palabras que no salen no reciben nada por aquí.


# %%
def tied_gradient(
    embedding: Float[Tensor, "vocab d"],
    mix: Float[Tensor, "n n"],
    ids: Int[Tensor, " n"],
    targets: Int[Tensor, " n"],
) -> tuple[Float[Tensor, "vocab d"], Float[Tensor, "vocab d"]]:
    """El gradiente de la matriz compartida, como entrada y como salida."""
    scale, n = math.sqrt(embedding.shape[1]), len(ids)
    hidden = mix @ (scale * embedding[ids])  # (n, d)
    grad_logits = torch.softmax(hidden @ embedding.T, dim=-1)  # (n, vocab)
    grad_logits[torch.arange(n), targets] -= 1
    grad_logits = grad_logits / n
    as_output = grad_logits.T @ hidden
    grad_rows = scale * mix.T @ (grad_logits @ embedding)
    as_input = torch.zeros_like(embedding).index_add(0, ids, grad_rows)
    return as_input, as_output


# %% [markdown]
# ## 11.6 Un Transformer averiado
#
# La raíz de $d$ multiplicaba también las posiciones; la memoria salía por la norma de la entrada
# del bloque en lugar de por la suya; y la atención cruzada no llevaba la máscara del relleno. La
# causal estaba bien.


# %%
class BrokenTransformer(nn.Module):
    """Un bloque Pre-LN por pila, con una cabeza y sin red densa."""

    def __init__(self, vocab: int, d_model: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab, d_model)
        self.places = nn.Embedding(16, d_model)
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)
        nn.init.zeros_(self.places.weight)
        for role in ("query", "key", "value"):
            matrices = {
                name: nn.Linear(d_model, d_model, bias=False)
                for name in ("encoder", "decoder", "cross")
            }
            setattr(self, role, nn.ModuleDict(matrices))
        names = ("encoder", "memory", "decoder", "cross", "output")
        self.norms = nn.ModuleDict({name: nn.LayerNorm(d_model) for name in names})

    def enter(self, ids: Int[Tensor, "batch n"]) -> Float[Tensor, "batch n d"]:
        """Embeddings y posiciones."""
        places = torch.arange(ids.shape[1])
        width = self.places.embedding_dim
        return math.sqrt(width) * self.embedding(ids) + self.places(places)

    def attend(self, name: str, x: Tensor, z: Tensor, visible: Tensor) -> Tensor:
        """Las filas de ``x`` preguntan; las de ``z`` son claves y valores."""
        query, key, value = self.query[name](x), self.key[name](z), self.value[name](z)
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        return scores.masked_fill(~visible, -torch.inf).softmax(dim=-1) @ value

    def encode(self, source: Int[Tensor, "batch m"], seen: Tensor) -> Float[Tensor, "batch m d"]:
        """La memoria."""
        x = self.enter(source)
        y = self.norms["encoder"](x)
        x = x + self.attend("encoder", y, y, seen)
        return self.norms["memory"](x)

    def forward(
        self,
        source: Int[Tensor, "batch m"],
        target: Int[Tensor, "batch n"],
        real: Bool[Tensor, "batch m"],
    ) -> Float[Tensor, "batch n vocab"]:
        """Puntuaciones de la palabra que sigue a cada posición del destino."""
        seen = real[:, None, :]
        memory = self.encode(source, seen)
        past = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).tril()
        x = self.enter(target)
        y = self.norms["decoder"](x)
        x = x + self.attend("decoder", y, y, past)
        z = self.norms["cross"](x)
        x = x + self.attend("cross", z, memory, seen)
        return self.norms["output"](x) @ self.embedding.weight.T


# %% [markdown]
# ## 11.7 De las matrices del artículo a PyTorch
#
# ``nn.Linear`` guarda la traspuesta de la matriz que multiplica por la derecha. Por eso cada
# $W^Q_i$ se traspone y las cabezas se apilan una debajo de otra; $W^O$ solo se traspone.


# %%
def pack_attention(
    query: Float[Tensor, "h d d_head"],
    key: Float[Tensor, "h d d_head"],
    value: Float[Tensor, "h d d_head"],
    output: Float[Tensor, "d d"],
) -> tuple[Float[Tensor, "3*d d"], Float[Tensor, "d d"]]:
    """``in_proj_weight`` y ``out_proj.weight`` de ``nn.MultiheadAttention``."""
    stacked = [heads.mT.flatten(0, 1) for heads in (query, key, value)]  # (d, d) cada una
    return torch.cat(stacked), output.T


# %% [markdown]
# ## 11.8 Hasta dónde llega cada palabra
#
# Mirar es un paso de un grafo, y cada capa da uno más; la conexión residual deja quedarse donde se
# está. La atención cruzada lee siempre la memoria terminada, no la de su altura.


# %%
def influence(
    source_mask: Bool[Tensor, "m m"],
    target_mask: Bool[Tensor, "n n"],
    memory_mask: Bool[Tensor, "n m"],
    n_encoder: int,
    n_decoder: int,
) -> Bool[Tensor, "n m+n"]:
    """Qué palabras puede notar cada fila de puntuaciones."""
    n, m = memory_mask.shape
    memory = torch.eye(m, dtype=torch.bool)  # a qué palabras llega cada fila
    for _ in range(n_encoder):
        memory = memory | (source_mask.long() @ memory.long() > 0)
    state = torch.cat([torch.zeros(n, m, dtype=torch.bool), torch.eye(n, dtype=torch.bool)], dim=1)
    crossed = memory_mask.long() @ memory.long() > 0  # (n, m)
    for _ in range(n_decoder):
        state = state | (target_mask.long() @ state.long() > 0)
        state[:, :m] = state[:, :m] | crossed
    return state
