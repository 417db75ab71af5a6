"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

# %% 11.1 | escritas
sizes_by_hand = {"memory": 40, "encoder": 50, "cross": 30, "logits": 33}

# %% 11.1 | con decimales
sizes_by_hand = {"memory": 40.0, "encoder": 50.0, "cross": 30.0, "logits": 33.0}

# %% 11.1 | multiplicadas
sizes_by_hand = {"memory": 5 * 8, "encoder": 2 * 5**2, "cross": 2 * 3 * 5, "logits": 3 * 11}

# %% 11.2 | con máscaras aditivas y F.linear
class Transformer(nn.Module):
    def __init__(self, vocab, d_model, n_heads, d_ff, layers):
        super().__init__()
        common = dict(dim_feedforward=d_ff, dropout=0.0, batch_first=True, norm_first=True)
        self.tokens, self.places = nn.Embedding(vocab, d_model), nn.Embedding(32, d_model)
        self.encoder = nn.ModuleList([nn.TransformerEncoderLayer(d_model, n_heads, **common) for _ in range(layers)])
        self.decoder = nn.ModuleList([nn.TransformerDecoderLayer(d_model, n_heads, **common) for _ in range(layers)])
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, source, target):
        scale = self.tokens.weight.shape[1] ** 0.5
        enter = lambda ids: self.tokens.weight[ids] * scale + self.places.weight[: ids.shape[1]]
        hidden = torch.zeros(source.shape, dtype=self.tokens.weight.dtype).masked_fill(source == 0, float("-inf"))
        z = enter(source)
        for layer in self.encoder:
            z = layer(z, None, hidden)
        z = self.encoder_norm(z)
        n = target.shape[1]
        future = torch.full((n, n), float("-inf"), dtype=z.dtype).triu(1)
        x = enter(target)
        for layer in self.decoder:
            x = layer(x, z, future, None, None, hidden)
        return torch.nn.functional.linear(self.decoder_norm(x), self.tokens.weight)

# %% 11.2 | subcapa a subcapa
class Transformer(nn.Module):
    def __init__(self, vocab, d_model, n_heads, d_ff, layers):
        super().__init__()
        sizes = (d_model, n_heads, d_ff, 0.0)
        self.tokens = nn.Embedding(vocab, d_model)
        self.places = nn.Embedding(32, d_model)
        self.encoder = nn.ModuleList(nn.TransformerEncoderLayer(*sizes, batch_first=True, norm_first=True) for _ in range(layers))
        self.decoder = nn.ModuleList(nn.TransformerDecoderLayer(*sizes, batch_first=True, norm_first=True) for _ in range(layers))
        self.encoder_norm = nn.LayerNorm(d_model)
        self.decoder_norm = nn.LayerNorm(d_model)

    def enter(self, ids):
        x = self.tokens(ids) * self.tokens.embedding_dim**0.5
        return x + torch.stack([self.places.weight[i] for i in range(ids.shape[1])])

    @staticmethod
    def dense(layer, x):
        return layer.linear2(layer.linear1(x).relu())

    def forward(self, source, target):
        pad, n = source.eq(0), target.shape[1]
        z = self.enter(source)
        for layer in self.encoder:
            y = layer.norm1(z)
            z = z + layer.self_attn(y, y, y, key_padding_mask=pad)[0]
            z = z + self.dense(layer, layer.norm2(z))
        z = self.encoder_norm(z)
        future = ~torch.tril(torch.ones(n, n)).bool()
        x = self.enter(target)
        for layer in self.decoder:
            y = layer.norm1(x)
            x = x + layer.self_attn(y, y, y, attn_mask=future)[0]
            x = x + layer.multihead_attn(layer.norm2(x), z, z, key_padding_mask=pad)[0]
            x = x + self.dense(layer, layer.norm3(x))
        return torch.einsum("bnd,vd->bnv", self.decoder_norm(x), self.tokens.weight)

# %% 11.2 | con encode y decode, y la máscara de PyTorch
class Transformer(nn.Module):
    def __init__(self, vocab, d_model, n_heads, d_ff, layers):
        super().__init__()
        options = {"dim_feedforward": d_ff, "dropout": 0.0, "batch_first": True, "norm_first": True}
        self.tokens = nn.Embedding(vocab, d_model)
        self.places = nn.Embedding(32, d_model)
        self.encoder = nn.ModuleList()
        self.decoder = nn.ModuleList()
        for _ in range(layers):
            self.encoder.append(nn.TransformerEncoderLayer(d_model, n_heads, **options))
            self.decoder.append(nn.TransformerDecoderLayer(d_model, n_heads, **options))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def encode(self, source):
        x = math.sqrt(self.tokens.embedding_dim) * self.tokens(source)
        x = x + self.places(torch.arange(source.size(1)))
        for layer in self.encoder:
            x = layer(x, src_key_padding_mask=(source < 1))
        return self.encoder_norm(x), source < 1

    def forward(self, source, target):
        memory, padding = self.encode(source)
        x = self.places(torch.arange(target.size(1))) + math.sqrt(self.tokens.embedding_dim) * self.tokens(target)
        length = target.size(1)
        future = torch.arange(length)[None, :] > torch.arange(length)[:, None]
        for layer in self.decoder:
            x = layer(tgt=x, memory=memory, tgt_mask=future, memory_key_padding_mask=padding)
        return self.decoder_norm(x).matmul(self.tokens.weight.t())

# %% 11.3 | con listas por comprensión
def changed_rows(m, n, side, position, length=None):
    real = m if length is None else length
    if side == "source" and position < real:
        return [i for i in range(m)], [i for i in range(n)]
    if side == "source":
        return [i for i in range(m) if i == position], []
    return [], [i for i in range(n) if i >= position]

# %% 11.3 | con la pareja hecha en una línea
def changed_rows(m, n, side, position, length=None):
    seen = side == "source" and not (length and position >= length)
    memory = range(m) if seen else [position] * (side == "source")
    logits = range(n) if seen else range(position if side == "target" else n, n)
    return list(memory), list(logits)

# %% 11.3 | siguiendo los caminos de un grafo
def changed_rows(m, n, side, position, length=None):
    visible = set(range(m if length is None else length))
    memory = {i for i in range(m) if side == "source" and (i == position or position in visible)}
    start = {position} if side == "target" else set()
    logits = {i for i in range(n) if any(j <= i for j in start) or memory & visible}
    return sorted(memory), sorted(logits)

# %% 11.4 | capa a capa
def transformer_parameters(source_vocab, target_vocab, d_model, d_ff, n_encoder, n_decoder, *, tying="none", attention_bias=True, final_norm=True, learned=0):
    d = d_model
    linear = lambda a, b, bias: a * b + b * int(bias)
    attention = sum(linear(d, d, attention_bias) for _ in range(4))
    dense = linear(d, d_ff, True) + linear(d_ff, d, True)
    norms = 2 * n_encoder + 3 * n_decoder + (2 if final_norm else 0)
    total = attention * (n_encoder + 2 * n_decoder) + dense * (n_encoder + n_decoder) + norms * 2 * d
    matrices = {"none": [source_vocab, target_vocab, target_vocab], "output": [source_vocab, target_vocab], "all": [source_vocab]}
    return total + sum(matrices[tying]) * d + learned * d + learned * d

# %% 11.4 | con una lista de formas
def transformer_parameters(source_vocab, target_vocab, d_model, d_ff, n_encoder, n_decoder, *, tying="none", attention_bias=True, final_norm=True, learned=0):
    shapes = []
    for layers, attentions in ((n_encoder, 1), (n_decoder, 2)):
        for _ in range(layers):
            shapes += [(d_model, d_model)] * 4 * attentions
            shapes += [(d_model,)] * (4 * attentions if attention_bias else 0)
            shapes += [(d_model, d_ff), (d_ff,), (d_ff, d_model), (d_model,)]
            shapes += [(2, d_model)] * (attentions + 1)
    shapes += [(2, d_model)] * 2 if final_norm else []
    shapes += [(target_vocab, d_model)] * {"none": 2, "output": 1, "all": 1}[tying]
    shapes += [] if tying == "all" else [(source_vocab, d_model)]
    shapes += [(learned, d_model), (learned, d_model)]
    return sum(math.prod(shape) for shape in shapes)

# %% 11.4 | agrupada por potencias de d
def transformer_parameters(source_vocab, target_vocab, d_model, d_ff, n_encoder, n_decoder, *, tying="none", attention_bias=True, final_norm=True, learned=0):
    attentions, denses = n_encoder + 2 * n_decoder, n_encoder + n_decoder
    norms = attentions + denses + 2 * bool(final_norm)
    rows = target_vocab + (tying != "all") * source_vocab + (tying == "none") * target_vocab + 2 * learned
    per_d = 4 * bool(attention_bias) * attentions + 2 * norms + denses * (2 * d_ff + 1) + rows
    return d_model * d_model * 4 * attentions + d_model * per_d + denses * d_ff

# %% 11.5 | con una matriz de unos y ceros
def tied_gradient(embedding, mix, ids, targets):
    vocab, d = embedding.shape
    one_hot = torch.nn.functional.one_hot
    chosen, right = (one_hot(x, vocab).to(embedding.dtype) for x in (ids, targets))
    hidden = mix @ chosen @ embedding * d**0.5
    error = ((hidden @ embedding.T).softmax(1) - right) / len(ids)
    return chosen.T @ mix.T @ error @ embedding * d**0.5, error.T @ hidden

# %% 11.5 | fila a fila
def tied_gradient(embedding, mix, ids, targets):
    n, scale = len(ids), embedding.shape[1] ** 0.5
    x = torch.stack([embedding[i] for i in ids]) * scale
    first, second = torch.zeros_like(embedding), torch.zeros_like(embedding)
    for i in range(n):
        h = sum(mix[i, j] * x[j] for j in range(n))
        error = torch.softmax(embedding @ h, 0)
        error[targets[i]] -= 1
        error = error / n
        second += torch.outer(error, h)
        back = error @ embedding
        for j in range(n):
            first[ids[j]] += scale * mix[i, j] * back
    return first, second

# %% 11.5 | en una lista y con einsum
def tied_gradient(embedding, mix, ids, targets):
    scale = math.sqrt(embedding.size(1))
    hidden = torch.einsum("ij,jd->id", mix, embedding[ids]) * scale
    scores = torch.einsum("id,vd->iv", hidden, embedding)
    error = torch.exp(scores - scores.logsumexp(1, keepdim=True))
    error = error - torch.eye(len(embedding), dtype=error.dtype)[targets]
    error = error / error.shape[0]
    back = torch.einsum("ij,iv,vd->jd", mix, error, embedding) * scale
    rows = torch.zeros_like(embedding)
    rows.index_put_((ids,), back, accumulate=True)
    return [rows, torch.einsum("iv,id->vd", error, hidden)]

# %% 11.5 | con una variable que se llama grad
def tied_gradient(embedding, mix, ids, targets):
    n, d = len(ids), embedding.shape[1]
    x = embedding[ids] * d**0.5
    grad = torch.softmax(mix @ x @ embedding.T, dim=-1)
    grad[range(n), targets] -= 1
    grad /= n
    entrada = torch.zeros_like(embedding)
    for i, row in zip(ids.tolist(), mix.T @ grad @ embedding * d**0.5):
        entrada[i] += row
    return entrada, grad.T @ (mix @ x)

# %% 11.6 | con la atención de PyTorch
class BrokenTransformer(nn.Module):
    def __init__(self, vocab, d_model):
        super().__init__()
        self.embedding, self.places = nn.Embedding(vocab, d_model), nn.Embedding(16, d_model)
        stacks = ("encoder", "decoder", "cross")
        self.query = nn.ModuleDict({k: nn.Linear(d_model, d_model, bias=False) for k in stacks})
        self.key = nn.ModuleDict({k: nn.Linear(d_model, d_model, bias=False) for k in stacks})
        self.value = nn.ModuleDict({k: nn.Linear(d_model, d_model, bias=False) for k in stacks})
        self.norms = nn.ModuleDict({k: nn.LayerNorm(d_model) for k in ("encoder", "memory", "decoder", "cross", "output")})

    def enter(self, ids):
        return self.embedding.weight[ids] * self.embedding.embedding_dim**0.5 + self.places.weight[: ids.shape[1]]

    def attend(self, name, x, z, mask):
        q, k, v = self.query[name](x), self.key[name](z), self.value[name](z)
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    def forward(self, source, target, real):
        seen, n = real.unsqueeze(1), target.shape[1]
        x = self.enter(source)
        y = self.norms["encoder"](x)
        z = self.norms["memory"](x + self.attend("encoder", y, y, seen.expand(-1, source.shape[1], -1)))
        x = self.enter(target)
        y = self.norms["decoder"](x)
        x = x + self.attend("decoder", y, y, torch.ones(n, n, dtype=torch.bool).tril())
        x = x + self.attend("cross", self.norms["cross"](x), z, seen.expand(-1, n, -1))
        return torch.nn.functional.linear(self.norms["output"](x), self.embedding.weight)

# %% 11.6 | la mínima: tres sitios cambiados
class BrokenTransformer(nn.Module):
    def __init__(self, vocab, d_model):
        super().__init__()
        self.embedding = nn.Embedding(vocab, d_model)
        self.places = nn.Embedding(16, d_model)
        for role in ("query", "key", "value"):
            matrices = {name: nn.Linear(d_model, d_model, bias=False) for name in ("encoder", "decoder", "cross")}
            setattr(self, role, nn.ModuleDict(matrices))
        names = ("encoder", "memory", "decoder", "cross", "output")
        self.norms = nn.ModuleDict({name: nn.LayerNorm(d_model) for name in names})

    def enter(self, ids):
        places = torch.arange(ids.shape[1])
        width = self.places.embedding_dim
        return math.sqrt(width) * self.embedding(ids) + self.places(places)

    def attend(self, name, x, z, visible):
        query, key, value = self.query[name](x), self.key[name](z), self.value[name](z)
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        return scores.masked_fill(~visible, -torch.inf).softmax(dim=-1) @ value

    def encode(self, source, seen):
        x = self.enter(source)
        y = self.norms["encoder"](x)
        x = x + self.attend("encoder", y, y, seen)
        return self.norms["memory"](x)

    def forward(self, source, target, real):
        seen = real[:, None, :]
        memory = self.encode(source, seen)
        past = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).tril()
        x = self.enter(target)
        y = self.norms["decoder"](x)
        x = x + self.attend("decoder", y, y, past)
        z = self.norms["cross"](x)
        x = x + self.attend("cross", z, memory, seen)
        return self.norms["output"](x) @ self.embedding.weight.T

# %% 11.6 | frase a frase, quitando el relleno
class BrokenTransformer(nn.Module):
    def __init__(self, vocab, d_model):
        super().__init__()
        self.embedding, self.places = nn.Embedding(vocab, d_model), nn.Embedding(16, d_model)
        linear = lambda: nn.ModuleDict({k: nn.Linear(d_model, d_model, bias=False) for k in ("encoder", "decoder", "cross")})
        self.query, self.key, self.value = linear(), linear(), linear()
        self.norms = nn.ModuleDict({k: nn.LayerNorm(d_model) for k in ("encoder", "memory", "decoder", "cross", "output")})

    def look(self, name, x, z, causal=False):
        scores = self.query[name](x) @ self.key[name](z).T / x.shape[-1] ** 0.5
        if causal:
            scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -math.inf)
        return scores.softmax(-1) @ self.value[name](z)

    def forward(self, source, target, real):
        scale, rows = self.embedding.embedding_dim**0.5, []
        for s, t, keep in zip(source, target, real):
            x = scale * self.embedding(s[keep]) + self.places.weight[: len(s)][keep]
            y = self.norms["encoder"](x)
            z = self.norms["memory"](x + self.look("encoder", y, y))
            x = scale * self.embedding(t) + self.places.weight[: len(t)]
            y = self.norms["decoder"](x)
            x = x + self.look("decoder", y, y, True)
            x = x + self.look("cross", self.norms["cross"](x), z)
            rows.append(self.norms["output"](x) @ self.embedding.weight.T)
        return torch.stack(rows)

# %% 11.7 | uniendo columnas y trasponiendo al final
def pack_attention(query, key, value, output):
    sides = [torch.cat(list(heads), dim=1).T for heads in (query, key, value)]
    return torch.cat(sides, dim=0), output.transpose(0, 1)

# %% 11.7 | con permute y reshape
def pack_attention(query, key, value, output):
    h, d, width = query.shape
    all_three = torch.stack([query, key, value]).permute(0, 1, 3, 2)
    return all_three.reshape(3 * h * width, d), output.mT.contiguous()

# %% 11.7 | fila a fila
def pack_attention(query, key, value, output):
    rows = [heads[i][:, c] for heads in (query, key, value) for i in range(len(heads)) for c in range(heads.shape[2])]
    return [torch.stack(rows), torch.stack([output[:, c] for c in range(output.shape[1])])]

# %% 11.8 | en un solo grafo
def influence(source_mask, target_mask, memory_mask, n_encoder, n_decoder):
    n, m = memory_mask.shape
    read = torch.linalg.matrix_power((source_mask | torch.eye(m).bool()).double(), n_encoder)
    zero = torch.zeros(n, m + n).double()
    zero[:, m:] = torch.eye(n)
    cross = torch.cat([memory_mask.double() @ read, torch.zeros(n, n)], dim=1)
    step = (target_mask | torch.eye(n).bool()).double()
    for _ in range(n_decoder):
        zero = step @ zero + cross
    return zero > 0

# %% 11.8 | con conjuntos
def influence(source_mask, target_mask, memory_mask, n_encoder, n_decoder):
    n, m = memory_mask.shape
    rows = [{j} for j in range(m)]
    for _ in range(n_encoder):
        rows = [rows[i].union(*(rows[j] for j in range(m) if source_mask[i, j])) for i in range(m)]
    state = [{m + i} for i in range(n)]
    for _ in range(n_decoder):
        state = [state[i].union(*(state[j] for j in range(n) if target_mask[i, j])) for i in range(n)]
        state = [state[i].union(*(rows[j] for j in range(m) if memory_mask[i, j])) for i in range(n)]
    return torch.tensor([[j in seen for j in range(m + n)] for seen in state])

# %% 11.8 | hacia atrás, preguntando
def influence(source_mask, target_mask, memory_mask, n_encoder, n_decoder):
    n, m = memory_mask.shape

    def reads(word, row, layers):
        if layers == 0:
            return word == row
        return reads(word, row, layers - 1) or any(source_mask[row, j] and reads(word, j, layers - 1) for j in range(m))

    memory = torch.tensor([[reads(word, row, n_encoder) for word in range(m)] for row in range(m)])
    state = torch.zeros(n, m + n, dtype=torch.bool)
    state[:, m:].fill_diagonal_(True)
    for _ in range(n_decoder):
        state = torch.stack([state[target_mask[i] | (torch.arange(n) == i)].any(0) for i in range(n)])
        for i in range(n):
            state[i, :m] |= memory[memory_mask[i]].any(0)
    return state
