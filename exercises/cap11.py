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
# # Capítulo 11. El Transformer completo
#
# Los enunciados están en el capítulo. Se corrige con `atento calificar 11` (o `atento calificar
# 11.2`).

# %%
import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

# %% [markdown]
# ## 11.1 Cuántos números pasan por cada cable (★)
#
# Ejercicio 11.1: cambia cada `None` por tu número, un entero.

# %%
sizes_by_hand = {
    "memory": None,  # la memoria
    "encoder": None,  # los pesos de una autoatención del codificador, con todas las cabezas
    "cross": None,  # los de una atención cruzada, con todas las cabezas
    "logits": None,  # las puntuaciones
}

# %% [markdown]
# ## 11.2 El Transformer, entero (★)
#
# Las piezas están construidas. Falta unirlas.


# %%
class Transformer(nn.Module):
    """Codificador, memoria, decodificador y generador, con una sola matriz de embeddings.

    Enunciado: ejercicio 11.2 del capítulo.
    """

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

    def forward(
        self, source: Int[Tensor, "batch m"], target: Int[Tensor, "batch n"]
    ) -> Float[Tensor, "batch n vocab"]:
        """Puntuaciones de la palabra que sigue a cada posición del destino."""
        raise NotImplementedError("Ejercicio 11.2")


# %% [markdown]
# ## 11.3 Qué filas cambian (★)


# %%
def changed_rows(
    m: int, n: int, side: str, position: int, length: int | None = None
) -> tuple[list[int], list[int]]:
    """Las filas de la memoria y las de las puntuaciones que cambian con una palabra.

    Enunciado: ejercicio 11.3 del capítulo.
    """
    raise NotImplementedError("Ejercicio 11.3")


# %% [markdown]
# ## 11.4 Contar un Transformer con todas sus opciones


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
    """Cuántos parámetros tiene un Transformer, sin construirlo.

    Enunciado: ejercicio 11.4 del capítulo.
    """
    raise NotImplementedError("Ejercicio 11.4")


# %% [markdown]
# ## 11.5 Una matriz con dos oficios


# %%
def tied_gradient(
    embedding: Float[Tensor, "vocab d"],
    mix: Float[Tensor, "n n"],
    ids: Int[Tensor, " n"],
    targets: Int[Tensor, " n"],
) -> tuple[Float[Tensor, "vocab d"], Float[Tensor, "vocab d"]]:
    """El gradiente de la matriz compartida, como entrada y como salida.

    Enunciado: ejercicio 11.5 del capítulo.
    """
    raise NotImplementedError("Ejercicio 11.5")


# %% [markdown]
# ## 11.6 Un Transformer averiado
#
# Al borrar el `raise`, el código de abajo se ejecuta sin avisos, y tiene tres faltas.


# %%
class BrokenTransformer(nn.Module):
    """Un bloque Pre-LN por pila, con una cabeza y sin red densa.

    Enunciado: ejercicio 11.6 del capítulo.
    """

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
        raise NotImplementedError(
            "Ejercicio 11.6: borra esta línea y arregla las tres faltas de la clase"
        )
        places = torch.arange(ids.shape[1])
        width = self.places.embedding_dim
        return math.sqrt(width) * (self.embedding(ids) + self.places(places))

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
        return self.norms["encoder"](x)

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
        x = x + self.attend("cross", z, memory, torch.ones_like(seen))
        return self.norms["output"](x) @ self.embedding.weight.T


# %% [markdown]
# ## 11.7 De las matrices del artículo a PyTorch


# %%
def pack_attention(
    query: Float[Tensor, "h d d_head"],
    key: Float[Tensor, "h d d_head"],
    value: Float[Tensor, "h d d_head"],
    output: Float[Tensor, "d d"],
) -> tuple[Float[Tensor, "3*d d"], Float[Tensor, "d d"]]:
    """``in_proj_weight`` y ``out_proj.weight`` de ``nn.MultiheadAttention``.

    Enunciado: ejercicio 11.7 del capítulo.
    """
    raise NotImplementedError("Ejercicio 11.7")


# %% [markdown]
# ## 11.8 Hasta dónde llega cada palabra


# %%
def influence(
    source_mask: Bool[Tensor, "m m"],
    target_mask: Bool[Tensor, "n n"],
    memory_mask: Bool[Tensor, "n m"],
    n_encoder: int,
    n_decoder: int,
) -> Bool[Tensor, "n m+n"]:
    """Qué palabras puede notar cada fila de puntuaciones.

    Enunciado: ejercicio 11.8 del capítulo.
    """
    raise NotImplementedError("Ejercicio 11.8")
