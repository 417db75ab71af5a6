"""Respuestas equivocadas que no salen del registro. Cada celda «# %% ejercicio | qué hace mal» es una entrega entera."""

# %% 11.1 | cuenta las palabras, no los números
sizes_by_hand = {"memory": 5, "encoder": 25, "cross": 15, "logits": 33}

# %% 11.1 | multiplica los pesos por d
sizes_by_hand = {"memory": 40, "encoder": 400, "cross": 240, "logits": 33}

# %% 11.1 | las filas de las dos frases juntas
sizes_by_hand = {"memory": 64, "encoder": 128, "cross": 128, "logits": 88}

# %% 11.1 | media matriz por la causal
sizes_by_hand = {"memory": 40, "encoder": 50, "cross": 12, "logits": 33}

# %% 11.1 | ancho de una cabeza
sizes_by_hand = {"memory": 20, "encoder": 50, "cross": 30, "logits": 33}

# %% 11.2 | divide entre la raíz de d
class Transformer(nn.Module):
    def __init__(self, vocab, d_model, n_heads, d_ff, layers):
        super().__init__()
        options = dict(dim_feedforward=d_ff, dropout=0.0, batch_first=True, norm_first=True)
        self.tokens, self.places = nn.Embedding(vocab, d_model), nn.Embedding(32, d_model)
        self.encoder = nn.ModuleList(nn.TransformerEncoderLayer(d_model, n_heads, **options) for _ in range(layers))
        self.decoder = nn.ModuleList(nn.TransformerDecoderLayer(d_model, n_heads, **options) for _ in range(layers))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def enter(self, ids):
        return self.tokens(ids) / self.tokens.embedding_dim**0.5 + self.places(torch.arange(ids.shape[1]))

    def forward(self, source, target):
        pad = source == 0
        z = self.enter(source)
        for layer in self.encoder:
            z = layer(z, src_key_padding_mask=pad)
        z = self.encoder_norm(z)
        n = target.shape[1]
        future = torch.ones(n, n, dtype=torch.bool).triu(1)
        x = self.enter(target)
        for layer in self.decoder:
            x = layer(x, z, tgt_mask=future, memory_key_padding_mask=pad)
        return self.decoder_norm(x) @ self.tokens.weight.T

# %% 11.2 | posiciones al revés
class Transformer(nn.Module):
    def __init__(self, vocab, d_model, n_heads, d_ff, layers):
        super().__init__()
        options = dict(dim_feedforward=d_ff, dropout=0.0, batch_first=True, norm_first=True)
        self.tokens, self.places = nn.Embedding(vocab, d_model), nn.Embedding(32, d_model)
        self.encoder = nn.ModuleList(nn.TransformerEncoderLayer(d_model, n_heads, **options) for _ in range(layers))
        self.decoder = nn.ModuleList(nn.TransformerDecoderLayer(d_model, n_heads, **options) for _ in range(layers))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def enter(self, ids):
        return self.tokens(ids) * self.tokens.embedding_dim**0.5 + self.places(torch.arange(ids.shape[1]).flip(0))

    def forward(self, source, target):
        pad = source == 0
        z = self.enter(source)
        for layer in self.encoder:
            z = layer(z, src_key_padding_mask=pad)
        z = self.encoder_norm(z)
        n = target.shape[1]
        future = torch.ones(n, n, dtype=torch.bool).triu(1)
        x = self.enter(target)
        for layer in self.decoder:
            x = layer(x, z, tgt_mask=future, memory_key_padding_mask=pad)
        return self.decoder_norm(x) @ self.tokens.weight.T

# %% 11.2 | las posiciones empiezan en uno
class Transformer(nn.Module):
    def __init__(self, vocab, d_model, n_heads, d_ff, layers):
        super().__init__()
        options = dict(dim_feedforward=d_ff, dropout=0.0, batch_first=True, norm_first=True)
        self.tokens, self.places = nn.Embedding(vocab, d_model), nn.Embedding(32, d_model)
        self.encoder = nn.ModuleList(nn.TransformerEncoderLayer(d_model, n_heads, **options) for _ in range(layers))
        self.decoder = nn.ModuleList(nn.TransformerDecoderLayer(d_model, n_heads, **options) for _ in range(layers))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def enter(self, ids):
        return self.tokens(ids) * self.tokens.embedding_dim**0.5 + self.places(1 + torch.arange(ids.shape[1]))

    def forward(self, source, target):
        pad = source == 0
        z = self.enter(source)
        for layer in self.encoder:
            z = layer(z, src_key_padding_mask=pad)
        z = self.encoder_norm(z)
        n = target.shape[1]
        future = torch.ones(n, n, dtype=torch.bool).triu(1)
        x = self.enter(target)
        for layer in self.decoder:
            x = layer(x, z, tgt_mask=future, memory_key_padding_mask=pad)
        return self.decoder_norm(x) @ self.tokens.weight.T

# %% 11.2 | la norma del decodificador también para la memoria
class Transformer(nn.Module):
    def __init__(self, vocab, d_model, n_heads, d_ff, layers):
        super().__init__()
        options = dict(dim_feedforward=d_ff, dropout=0.0, batch_first=True, norm_first=True)
        self.tokens, self.places = nn.Embedding(vocab, d_model), nn.Embedding(32, d_model)
        self.encoder = nn.ModuleList(nn.TransformerEncoderLayer(d_model, n_heads, **options) for _ in range(layers))
        self.decoder = nn.ModuleList(nn.TransformerDecoderLayer(d_model, n_heads, **options) for _ in range(layers))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def enter(self, ids):
        return self.tokens(ids) * self.tokens.embedding_dim**0.5 + self.places(torch.arange(ids.shape[1]))

    def forward(self, source, target):
        pad = source == 0
        z = self.enter(source)
        for layer in self.encoder:
            z = layer(z, src_key_padding_mask=pad)
        z = self.decoder_norm(z)
        n = target.shape[1]
        future = torch.ones(n, n, dtype=torch.bool).triu(1)
        x = self.enter(target)
        for layer in self.decoder:
            x = layer(x, z, tgt_mask=future, memory_key_padding_mask=pad)
        return self.decoder_norm(x) @ self.tokens.weight.T

# %% 11.2 | una sola máscara de relleno para todo el lote
class Transformer(nn.Module):
    def __init__(self, vocab, d_model, n_heads, d_ff, layers):
        super().__init__()
        options = dict(dim_feedforward=d_ff, dropout=0.0, batch_first=True, norm_first=True)
        self.tokens, self.places = nn.Embedding(vocab, d_model), nn.Embedding(32, d_model)
        self.encoder = nn.ModuleList(nn.TransformerEncoderLayer(d_model, n_heads, **options) for _ in range(layers))
        self.decoder = nn.ModuleList(nn.TransformerDecoderLayer(d_model, n_heads, **options) for _ in range(layers))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def enter(self, ids):
        return self.tokens(ids) * self.tokens.embedding_dim**0.5 + self.places(torch.arange(ids.shape[1]))

    def forward(self, source, target):
        pad = (source == 0).any(0).expand(source.shape)
        z = self.enter(source)
        for layer in self.encoder:
            z = layer(z, src_key_padding_mask=pad)
        z = self.encoder_norm(z)
        n = target.shape[1]
        future = torch.ones(n, n, dtype=torch.bool).triu(1)
        x = self.enter(target)
        for layer in self.decoder:
            x = layer(x, z, tgt_mask=future, memory_key_padding_mask=pad)
        return self.decoder_norm(x) @ self.tokens.weight.T

# %% 11.2 | desplaza el destino otra vez
class Transformer(nn.Module):
    def __init__(self, vocab, d_model, n_heads, d_ff, layers):
        super().__init__()
        options = dict(dim_feedforward=d_ff, dropout=0.0, batch_first=True, norm_first=True)
        self.tokens, self.places = nn.Embedding(vocab, d_model), nn.Embedding(32, d_model)
        self.encoder = nn.ModuleList(nn.TransformerEncoderLayer(d_model, n_heads, **options) for _ in range(layers))
        self.decoder = nn.ModuleList(nn.TransformerDecoderLayer(d_model, n_heads, **options) for _ in range(layers))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def enter(self, ids):
        return self.tokens(ids) * self.tokens.embedding_dim**0.5 + self.places(torch.arange(ids.shape[1]))

    def forward(self, source, target):
        pad = source == 0
        z = self.enter(source)
        for layer in self.encoder:
            z = layer(z, src_key_padding_mask=pad)
        z = self.encoder_norm(z)
        n = target.shape[1]
        future = torch.ones(n, n, dtype=torch.bool).triu(1)
        x = self.enter(target.roll(1, 1))
        for layer in self.decoder:
            x = layer(x, z, tgt_mask=future, memory_key_padding_mask=pad)
        return self.decoder_norm(x) @ self.tokens.weight.T

# %% 11.2 | logaritmo de las probabilidades
class Transformer(nn.Module):
    def __init__(self, vocab, d_model, n_heads, d_ff, layers):
        super().__init__()
        options = dict(dim_feedforward=d_ff, dropout=0.0, batch_first=True, norm_first=True)
        self.tokens, self.places = nn.Embedding(vocab, d_model), nn.Embedding(32, d_model)
        self.encoder = nn.ModuleList(nn.TransformerEncoderLayer(d_model, n_heads, **options) for _ in range(layers))
        self.decoder = nn.ModuleList(nn.TransformerDecoderLayer(d_model, n_heads, **options) for _ in range(layers))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def enter(self, ids):
        return self.tokens(ids) * self.tokens.embedding_dim**0.5 + self.places(torch.arange(ids.shape[1]))

    def forward(self, source, target):
        pad = source == 0
        z = self.enter(source)
        for layer in self.encoder:
            z = layer(z, src_key_padding_mask=pad)
        z = self.encoder_norm(z)
        n = target.shape[1]
        future = torch.ones(n, n, dtype=torch.bool).triu(1)
        x = self.enter(target)
        for layer in self.decoder:
            x = layer(x, z, tgt_mask=future, memory_key_padding_mask=pad)
        return torch.log_softmax(self.decoder_norm(x) @ self.tokens.weight.T, -1)

# %% 11.3 | cambia el orden de la pareja
def changed_rows(m, n, side, position, length=None):
    if side == "target":
        return list(range(position, n)), []
    if length is not None and position >= length:
        return [], [position]
    return list(range(n)), list(range(m))

# %% 11.3 | solo la fila de la memoria y las puntuaciones desde ella
def changed_rows(m, n, side, position, length=None):
    if side == "target":
        return [], list(range(position, n))
    if length is not None and position >= length:
        return [position], []
    return [position], list(range(position, n))

# %% 11.3 | confunde m con n en el origen
def changed_rows(m, n, side, position, length=None):
    if side == "target":
        return [], list(range(position, n))
    if length is not None and position >= length:
        return [position], []
    return list(range(n)), list(range(n))

# %% 11.3 | el relleno cambia el relleno entero
def changed_rows(m, n, side, position, length=None):
    if side == "target":
        return [], list(range(position, n))
    if length is not None and position >= length:
        return list(range(length, m)), []
    return list(range(m)), list(range(n))

# %% 11.3 | el destino, hasta la posición
def changed_rows(m, n, side, position, length=None):
    if side == "target":
        return [], list(range(position + 1))
    if length is not None and position >= length:
        return [position], []
    return list(range(m)), list(range(n))

# %% 11.3 | el relleno empieza una antes
def changed_rows(m, n, side, position, length=None):
    if side == "target":
        return [], list(range(position, n))
    if length is not None and position >= length - 1:
        return [position], []
    return list(range(m)), list(range(n))

# %% 11.3 | la posición 0 del origen no cambia nada
def changed_rows(m, n, side, position, length=None):
    if side == "target":
        return [], list(range(position, n))
    if not position:
        return [], []
    if length is not None and position >= length:
        return [position], []
    return list(range(m)), list(range(n))

# %% 11.3 | la posición 0 del destino no cambia nada
def changed_rows(m, n, side, position, length=None):
    if side == "target":
        return [], list(range(position, n)) if position else []
    if length is not None and position >= length:
        return [position], []
    return list(range(m)), list(range(n))

# %% 11.4 | una sola tabla de posiciones cuando se comparte todo
def transformer_parameters(source_vocab, target_vocab, d_model, d_ff, n_encoder, n_decoder, *, tying="none", attention_bias=True, final_norm=True, learned=0):
    d = d_model
    attention = 4 * d * d + 4 * d * attention_bias
    dense = 2 * d * d_ff + d_ff + d
    blocks = n_encoder * (attention + dense + 4 * d) + n_decoder * (2 * attention + dense + 6 * d)
    rows = {"none": source_vocab + 2 * target_vocab, "output": source_vocab + target_vocab, "all": target_vocab}[tying]
    return blocks + (rows + (1 if tying == "all" else 2) * learned + 4 * final_norm) * d

# %% 11.4 | construye el modelo y lo cuenta
def transformer_parameters(source_vocab, target_vocab, d_model, d_ff, n_encoder, n_decoder, *, tying="none", attention_bias=True, final_norm=True, learned=0):
    attention, dense = 4 * d_model * (d_model + attention_bias), 2 * d_model * d_ff + d_ff + d_model
    blocks = n_encoder * (attention + dense + 4 * d_model) + n_decoder * (2 * attention + dense + 6 * d_model)
    tables = [nn.Embedding(target_vocab, d_model)]
    tables += [] if tying == "all" else [nn.Embedding(source_vocab, d_model)]
    tables += [nn.Embedding(target_vocab, d_model)] if tying == "none" else []
    return blocks + sum(t.weight.numel() for t in tables) + (2 * learned + 4 * final_norm) * d_model

# %% 11.4 | la memoria lleva otra norma en cada bloque
def transformer_parameters(source_vocab, target_vocab, d_model, d_ff, n_encoder, n_decoder, *, tying="none", attention_bias=True, final_norm=True, learned=0):
    d = d_model
    attention = 4 * d * d + 4 * d * attention_bias
    dense = 2 * d * d_ff + d_ff + d
    blocks = n_encoder * (attention + dense + 4 * d) + n_decoder * (2 * attention + dense + 8 * d)
    rows = {"none": source_vocab + 2 * target_vocab, "output": source_vocab + target_vocab, "all": target_vocab}[tying]
    return blocks + (rows + 2 * learned + 4 * final_norm) * d

# %% 11.4 | sesgo solo en la salida de la atención
def transformer_parameters(source_vocab, target_vocab, d_model, d_ff, n_encoder, n_decoder, *, tying="none", attention_bias=True, final_norm=True, learned=0):
    d = d_model
    attention = 4 * d * d + d * attention_bias
    dense = 2 * d * d_ff + d_ff + d
    blocks = n_encoder * (attention + dense + 4 * d) + n_decoder * (2 * attention + dense + 6 * d)
    rows = {"none": source_vocab + 2 * target_vocab, "output": source_vocab + target_vocab, "all": target_vocab}[tying]
    return blocks + (rows + 2 * learned + 4 * final_norm) * d

# %% 11.4 | una puerta que no hay
def transformer_parameters(source_vocab, target_vocab, d_model, d_ff, n_encoder, n_decoder, *, tying="none", attention_bias=True, final_norm=True, learned=0):
    d = d_model
    attention = 4 * d * d + 4 * d * attention_bias
    dense = 3 * d * d_ff + d_ff + d
    blocks = n_encoder * (attention + dense + 4 * d) + n_decoder * (2 * attention + dense + 6 * d)
    rows = {"none": source_vocab + 2 * target_vocab, "output": source_vocab + target_vocab, "all": target_vocab}[tying]
    return blocks + (rows + 2 * learned + 4 * final_norm) * d

# %% 11.4 | la cruzada solo proyecta claves y valores
def transformer_parameters(source_vocab, target_vocab, d_model, d_ff, n_encoder, n_decoder, *, tying="none", attention_bias=True, final_norm=True, learned=0):
    d = d_model
    attention = 4 * d * d + 4 * d * attention_bias
    dense = 2 * d * d_ff + d_ff + d
    blocks = n_encoder * (attention + dense + 4 * d) + n_decoder * (attention + 2 * d * d + dense + 6 * d)
    rows = {"none": source_vocab + 2 * target_vocab, "output": source_vocab + target_vocab, "all": target_vocab}[tying]
    return blocks + (rows + 2 * learned + 4 * final_norm) * d

# %% 11.4 | «all» comparte también la norma final
def transformer_parameters(source_vocab, target_vocab, d_model, d_ff, n_encoder, n_decoder, *, tying="none", attention_bias=True, final_norm=True, learned=0):
    d = d_model
    attention = 4 * d * d + 4 * d * attention_bias
    dense = 2 * d * d_ff + d_ff + d
    blocks = n_encoder * (attention + dense + 4 * d) + n_decoder * (2 * attention + dense + 6 * d)
    rows = {"none": source_vocab + 2 * target_vocab, "output": source_vocab + target_vocab, "all": target_vocab}[tying]
    return blocks + (rows + 2 * learned + (2 if tying == "all" else 4) * final_norm) * d

# %% 11.4 | un solo bloque por pila
def transformer_parameters(source_vocab, target_vocab, d_model, d_ff, n_encoder, n_decoder, *, tying="none", attention_bias=True, final_norm=True, learned=0):
    d = d_model
    attention = 4 * d * d + 4 * d * attention_bias
    dense = 2 * d * d_ff + d_ff + d
    blocks = min(1, n_encoder) * (attention + dense + 4 * d) + n_decoder * (2 * attention + dense + 6 * d)
    rows = {"none": source_vocab + 2 * target_vocab, "output": source_vocab + target_vocab, "all": target_vocab}[tying]
    return blocks + (rows + 2 * learned + 4 * final_norm) * d

# %% 11.5 | con jacrev
def tied_gradient(embedding, mix, ids, targets):
    def loss(first, second):
        hidden = mix @ first[ids] * first.shape[1] ** 0.5
        return torch.nn.functional.cross_entropy(hidden @ second.T, targets)

    return torch.func.jacrev(loss, argnums=(0, 1))(embedding, embedding)

# %% 11.5 | softmax por columnas
def tied_gradient(embedding, mix, ids, targets):
    vocab, d = embedding.shape
    one_hot = torch.nn.functional.one_hot
    chosen, right = (one_hot(x, vocab).to(embedding.dtype) for x in (ids, targets))
    hidden = mix @ chosen @ embedding * d**0.5
    error = ((hidden @ embedding.T).softmax(0) - right) / len(ids)
    return chosen.T @ mix.T @ error @ embedding * d**0.5, error.T @ hidden

# %% 11.5 | divide entre el vocabulario
def tied_gradient(embedding, mix, ids, targets):
    vocab, d = embedding.shape
    one_hot = torch.nn.functional.one_hot
    chosen, right = (one_hot(x, vocab).to(embedding.dtype) for x in (ids, targets))
    hidden = mix @ chosen @ embedding * d**0.5
    error = ((hidden @ embedding.T).softmax(1) - right) / vocab
    return chosen.T @ mix.T @ error @ embedding * d**0.5, error.T @ hidden

# %% 11.5 | la mezcla se salta de vuelta
def tied_gradient(embedding, mix, ids, targets):
    vocab, d = embedding.shape
    one_hot = torch.nn.functional.one_hot
    chosen, right = (one_hot(x, vocab).to(embedding.dtype) for x in (ids, targets))
    hidden = mix @ chosen @ embedding * d**0.5
    error = ((hidden @ embedding.T).softmax(1) - right) / len(ids)
    return chosen.T @ error @ embedding * d**0.5, error.T @ hidden

# %% 11.5 | reparte por las respuestas y no por las entradas
def tied_gradient(embedding, mix, ids, targets):
    vocab, d = embedding.shape
    one_hot = torch.nn.functional.one_hot
    chosen, right = (one_hot(x, vocab).to(embedding.dtype) for x in (ids, targets))
    hidden = mix @ chosen @ embedding * d**0.5
    error = ((hidden @ embedding.T).softmax(1) - right) / len(ids)
    return right.T @ mix.T @ error @ embedding * d**0.5, error.T @ hidden

# %% 11.5 | la salida sin raíz
def tied_gradient(embedding, mix, ids, targets):
    vocab, d = embedding.shape
    one_hot = torch.nn.functional.one_hot
    chosen, right = (one_hot(x, vocab).to(embedding.dtype) for x in (ids, targets))
    hidden = mix @ chosen @ embedding * d**0.5
    error = ((hidden @ embedding.T).softmax(1) - right) / len(ids)
    return chosen.T @ mix.T @ error @ embedding * d**0.5, error.T @ hidden / d**0.5

# %% 11.5 | resta la entrada en vez de la respuesta
def tied_gradient(embedding, mix, ids, targets):
    vocab, d = embedding.shape
    one_hot = torch.nn.functional.one_hot
    chosen, right = (one_hot(x, vocab).to(embedding.dtype) for x in (ids, targets))
    hidden = mix @ chosen @ embedding * d**0.5
    error = ((hidden @ embedding.T).softmax(1) - chosen) / len(ids)
    return chosen.T @ mix.T @ error @ embedding * d**0.5, error.T @ hidden

# %% 11.6 | pone a cero la memoria del relleno en vez de taparla
class BrokenTransformer(nn.Module):
    def __init__(self, vocab, d_model):
        super().__init__()
        self.embedding, self.places = nn.Embedding(vocab, d_model), nn.Embedding(16, d_model)
        linear = lambda: nn.ModuleDict({k: nn.Linear(d_model, d_model, bias=False) for k in ("encoder", "decoder", "cross")})
        self.query, self.key, self.value = linear(), linear(), linear()
        self.norms = nn.ModuleDict({k: nn.LayerNorm(d_model) for k in ("encoder", "memory", "decoder", "cross", "output")})

    def enter(self, ids):
        return self.embedding(ids) * self.embedding.embedding_dim**0.5 + self.places(torch.arange(ids.shape[1]))

    def attend(self, name, x, z, visible):
        scores = self.query[name](x) @ self.key[name](z).mT / math.sqrt(x.shape[-1])
        return scores.masked_fill(~visible, -math.inf).softmax(-1) @ self.value[name](z)

    def forward(self, source, target, real):
        seen, n = real[:, None, :], target.shape[1]
        x = self.enter(source)
        y = self.norms["encoder"](x)
        memory = self.norms["memory"](x + self.attend("encoder", y, y, seen))
        x = self.enter(target)
        y = self.norms["decoder"](x)
        x = x + self.attend("decoder", y, y, torch.ones(n, n, dtype=torch.bool).tril())
        x = x + self.attend("cross", self.norms["cross"](x), memory * real[:, :, None], torch.ones_like(seen))
        return self.norms["output"](x) @ self.embedding.weight.T

# %% 11.6 | tapa el relleno solo al escribir
class BrokenTransformer(nn.Module):
    def __init__(self, vocab, d_model):
        super().__init__()
        self.embedding, self.places = nn.Embedding(vocab, d_model), nn.Embedding(16, d_model)
        linear = lambda: nn.ModuleDict({k: nn.Linear(d_model, d_model, bias=False) for k in ("encoder", "decoder", "cross")})
        self.query, self.key, self.value = linear(), linear(), linear()
        self.norms = nn.ModuleDict({k: nn.LayerNorm(d_model) for k in ("encoder", "memory", "decoder", "cross", "output")})

    def enter(self, ids):
        return self.embedding(ids) * self.embedding.embedding_dim**0.5 + self.places(torch.arange(ids.shape[1]))

    def attend(self, name, x, z, visible):
        scores = self.query[name](x) @ self.key[name](z).mT / math.sqrt(x.shape[-1])
        return scores.masked_fill(~visible, -math.inf).softmax(-1) @ self.value[name](z)

    def forward(self, source, target, real):
        seen, n = real[:, None, :], target.shape[1]
        x = self.enter(source)
        y = self.norms["encoder"](x)
        memory = self.norms["memory"](x + self.attend("encoder", y, y, torch.ones_like(seen)))
        x = self.enter(target)
        y = self.norms["decoder"](x)
        x = x + self.attend("decoder", y, y, torch.ones(n, n, dtype=torch.bool).tril())
        x = x + self.attend("cross", self.norms["cross"](x), memory, seen)
        return self.norms["output"](x) @ self.embedding.weight.T

# %% 11.6 | la cruzada parte de la entrada y no del flujo
class BrokenTransformer(nn.Module):
    def __init__(self, vocab, d_model):
        super().__init__()
        self.embedding, self.places = nn.Embedding(vocab, d_model), nn.Embedding(16, d_model)
        linear = lambda: nn.ModuleDict({k: nn.Linear(d_model, d_model, bias=False) for k in ("encoder", "decoder", "cross")})
        self.query, self.key, self.value = linear(), linear(), linear()
        self.norms = nn.ModuleDict({k: nn.LayerNorm(d_model) for k in ("encoder", "memory", "decoder", "cross", "output")})

    def enter(self, ids):
        return self.embedding(ids) * self.embedding.embedding_dim**0.5 + self.places(torch.arange(ids.shape[1]))

    def attend(self, name, x, z, visible):
        scores = self.query[name](x) @ self.key[name](z).mT / math.sqrt(x.shape[-1])
        return scores.masked_fill(~visible, -math.inf).softmax(-1) @ self.value[name](z)

    def forward(self, source, target, real):
        seen, n = real[:, None, :], target.shape[1]
        x = self.enter(source)
        y = self.norms["encoder"](x)
        memory = self.norms["memory"](x + self.attend("encoder", y, y, seen))
        x = self.enter(target)
        y = self.norms["decoder"](x)
        x = x + self.attend("decoder", y, y, torch.ones(n, n, dtype=torch.bool).tril())
        x = self.enter(target) + self.attend("cross", self.norms["cross"](x), memory, seen)
        return self.norms["output"](x) @ self.embedding.weight.T

# %% 11.6 | no normaliza lo que pregunta a la memoria
class BrokenTransformer(nn.Module):
    def __init__(self, vocab, d_model):
        super().__init__()
        self.embedding, self.places = nn.Embedding(vocab, d_model), nn.Embedding(16, d_model)
        linear = lambda: nn.ModuleDict({k: nn.Linear(d_model, d_model, bias=False) for k in ("encoder", "decoder", "cross")})
        self.query, self.key, self.value = linear(), linear(), linear()
        self.norms = nn.ModuleDict({k: nn.LayerNorm(d_model) for k in ("encoder", "memory", "decoder", "cross", "output")})

    def enter(self, ids):
        return self.embedding(ids) * self.embedding.embedding_dim**0.5 + self.places(torch.arange(ids.shape[1]))

    def attend(self, name, x, z, visible):
        scores = self.query[name](x) @ self.key[name](z).mT / math.sqrt(x.shape[-1])
        return scores.masked_fill(~visible, -math.inf).softmax(-1) @ self.value[name](z)

    def forward(self, source, target, real):
        seen, n = real[:, None, :], target.shape[1]
        x = self.enter(source)
        y = self.norms["encoder"](x)
        memory = self.norms["memory"](x + self.attend("encoder", y, y, seen))
        x = self.enter(target)
        y = self.norms["decoder"](x)
        x = x + self.attend("decoder", y, y, torch.ones(n, n, dtype=torch.bool).tril())
        x = x + self.attend("cross", x, memory, seen)
        return self.norms["output"](x) @ self.embedding.weight.T

# %% 11.6 | normaliza antes de sumar
class BrokenTransformer(nn.Module):
    def __init__(self, vocab, d_model):
        super().__init__()
        self.embedding, self.places = nn.Embedding(vocab, d_model), nn.Embedding(16, d_model)
        linear = lambda: nn.ModuleDict({k: nn.Linear(d_model, d_model, bias=False) for k in ("encoder", "decoder", "cross")})
        self.query, self.key, self.value = linear(), linear(), linear()
        self.norms = nn.ModuleDict({k: nn.LayerNorm(d_model) for k in ("encoder", "memory", "decoder", "cross", "output")})

    def enter(self, ids):
        return self.embedding(ids) * self.embedding.embedding_dim**0.5 + self.places(torch.arange(ids.shape[1]))

    def attend(self, name, x, z, visible):
        scores = self.query[name](x) @ self.key[name](z).mT / math.sqrt(x.shape[-1])
        return scores.masked_fill(~visible, -math.inf).softmax(-1) @ self.value[name](z)

    def forward(self, source, target, real):
        seen, n = real[:, None, :], target.shape[1]
        x = self.enter(source)
        y = self.norms["encoder"](x)
        memory = x + self.norms["memory"](self.attend("encoder", y, y, seen))
        x = self.enter(target)
        y = self.norms["decoder"](x)
        x = x + self.attend("decoder", y, y, torch.ones(n, n, dtype=torch.bool).tril())
        x = x + self.attend("cross", self.norms["cross"](x), memory, seen)
        return self.norms["output"](x) @ self.embedding.weight.T

# %% 11.6 | quita la raíz del todo
class BrokenTransformer(nn.Module):
    def __init__(self, vocab, d_model):
        super().__init__()
        self.embedding, self.places = nn.Embedding(vocab, d_model), nn.Embedding(16, d_model)
        linear = lambda: nn.ModuleDict({k: nn.Linear(d_model, d_model, bias=False) for k in ("encoder", "decoder", "cross")})
        self.query, self.key, self.value = linear(), linear(), linear()
        self.norms = nn.ModuleDict({k: nn.LayerNorm(d_model) for k in ("encoder", "memory", "decoder", "cross", "output")})

    def enter(self, ids):
        return self.embedding(ids) + self.places(torch.arange(ids.shape[1]))

    def attend(self, name, x, z, visible):
        scores = self.query[name](x) @ self.key[name](z).mT / math.sqrt(x.shape[-1])
        return scores.masked_fill(~visible, -math.inf).softmax(-1) @ self.value[name](z)

    def forward(self, source, target, real):
        seen, n = real[:, None, :], target.shape[1]
        x = self.enter(source)
        y = self.norms["encoder"](x)
        memory = self.norms["memory"](x + self.attend("encoder", y, y, seen))
        x = self.enter(target)
        y = self.norms["decoder"](x)
        x = x + self.attend("decoder", y, y, torch.ones(n, n, dtype=torch.bool).tril())
        x = x + self.attend("cross", self.norms["cross"](x), memory, seen)
        return self.norms["output"](x) @ self.embedding.weight.T

# %% 11.7 | cabezas en orden contrario
def pack_attention(query, key, value, output):
    h, d, width = query.shape
    stacked = [heads.flip(0).permute(0, 2, 1).reshape(d, d) for heads in (query, key, value)]
    return torch.cat(stacked), output.T

# %% 11.7 | valores y claves cambiados
def pack_attention(query, key, value, output):
    h, d, width = query.shape
    stacked = [heads.permute(0, 2, 1).reshape(d, d) for heads in (query, value, key)]
    return torch.cat(stacked), output.T

# %% 11.7 | entrevera consultas, claves y valores cabeza a cabeza
def pack_attention(query, key, value, output):
    h, d, width = query.shape
    stacked = [heads.permute(0, 2, 1).reshape(d, d) for heads in (query, key, value)]
    return torch.stack([s.reshape(h, width, d) for s in stacked], 1).reshape(3 * d, d), output.T

# %% 11.7 | traspone el conjunto en vez de cada cabeza
def pack_attention(query, key, value, output):
    h, d, width = query.shape
    stacked = [heads.reshape(d, d).T for heads in (query, key, value)]
    return torch.cat(stacked), output.T

# %% 11.7 | la salida con las cabezas al revés
def pack_attention(query, key, value, output):
    h, d, width = query.shape
    stacked = [heads.permute(0, 2, 1).reshape(d, d) for heads in (query, key, value)]
    return torch.cat(stacked), output.reshape(h, width, d).flip(0).reshape(d, d).T

# %% 11.7 | escala la consulta por la raíz
def pack_attention(query, key, value, output):
    h, d, width = query.shape
    stacked = [heads.permute(0, 2, 1).reshape(d, d) for heads in (query, key, value)]
    return torch.cat([stacked[0] * width**0.5, *stacked[1:]]), output.T

# %% 11.8 | cuenta un bloque de más al leer
def influence(source_mask, target_mask, memory_mask, n_encoder, n_decoder):
    n, m = memory_mask.shape
    memory = torch.linalg.matrix_power((source_mask | torch.eye(m).bool()).double(), n_encoder + 1)
    state = torch.cat([torch.zeros(n, m), torch.eye(n)], dim=1).double()
    cross = torch.cat([memory_mask.double() @ memory, torch.zeros(n, n)], dim=1)
    step = (target_mask | torch.eye(n).bool()).double()
    for _ in range(n_decoder):
        state = step @ state + cross
    return state > 0

# %% 11.8 | la autoatención no reparte lo del origen
def influence(source_mask, target_mask, memory_mask, n_encoder, n_decoder):
    n, m = memory_mask.shape
    memory = torch.linalg.matrix_power((source_mask | torch.eye(m).bool()).double(), n_encoder)
    state = torch.cat([torch.zeros(n, m), torch.eye(n)], dim=1).double()
    cross = torch.cat([memory_mask.double() @ memory, torch.zeros(n, n)], dim=1)
    step = (target_mask | torch.eye(n).bool()).double()
    for _ in range(n_decoder):
        state = torch.cat([state[:, :m], step @ state[:, m:]], dim=1) + cross
    return state > 0

# %% 11.8 | exige un solo camino
def influence(source_mask, target_mask, memory_mask, n_encoder, n_decoder):
    n, m = memory_mask.shape
    memory = torch.linalg.matrix_power((source_mask | torch.eye(m).bool()).double(), n_encoder)
    state = torch.cat([torch.zeros(n, m), torch.eye(n)], dim=1).double()
    cross = torch.cat([memory_mask.double() @ memory, torch.zeros(n, n)], dim=1)
    step = (target_mask | torch.eye(n).bool()).double()
    for _ in range(n_decoder):
        state = step @ state + cross
    return state == 1

# %% 11.8 | añade siempre la causal
def influence(source_mask, target_mask, memory_mask, n_encoder, n_decoder):
    n, m = memory_mask.shape
    memory = torch.linalg.matrix_power((source_mask | torch.eye(m).bool()).double(), n_encoder)
    state = torch.cat([torch.zeros(n, m), torch.eye(n)], dim=1).double()
    cross = torch.cat([memory_mask.double() @ memory, torch.zeros(n, n)], dim=1)
    step = ((target_mask | torch.eye(n).bool()).tril()).double()
    for _ in range(n_decoder):
        state = step @ state + cross
    return state > 0

# %% 11.8 | mira la memoria aunque no haya bloques
def influence(source_mask, target_mask, memory_mask, n_encoder, n_decoder):
    n, m = memory_mask.shape
    memory = torch.linalg.matrix_power((source_mask | torch.eye(m).bool()).double(), n_encoder)
    state = torch.cat([torch.zeros(n, m), torch.eye(n)], dim=1).double()
    cross = torch.cat([memory_mask.double() @ memory, torch.zeros(n, n)], dim=1)
    step = (target_mask | torch.eye(n).bool()).double()
    for _ in range(n_decoder):
        state = step @ state + cross
    return (state + cross) > 0

# %% 11.8 | nadie se tiene a sí mismo
def influence(source_mask, target_mask, memory_mask, n_encoder, n_decoder):
    n, m = memory_mask.shape
    memory = torch.linalg.matrix_power((source_mask | torch.eye(m).bool()).double(), n_encoder)
    state = torch.cat([torch.zeros(n, m), torch.eye(n)], dim=1).double()
    cross = torch.cat([memory_mask.double() @ memory, torch.zeros(n, n)], dim=1)
    step = target_mask.double()
    for _ in range(n_decoder):
        state = step @ state + cross
    return state > 0

# %% 11.8 | la máscara de la cruzada, traspuesta al cuadrado de la última capa
def influence(source_mask, target_mask, memory_mask, n_encoder, n_decoder):
    n, m = memory_mask.shape
    state = torch.cat([torch.zeros(n, m), torch.eye(n)], dim=1).double()
    cross = torch.cat([memory_mask.double() @ source_mask.double(), torch.zeros(n, n)], dim=1)
    step = (target_mask | torch.eye(n).bool()).double()
    for _ in range(n_decoder):
        state = step @ state + cross
    return state > 0
