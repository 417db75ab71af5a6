"""La verdad de los ejercicios del capítulo 15, por otro camino que el de sus soluciones."""

import itertools
import math

import mpmath
import torch
import torch.nn.functional as F
from torch import nn

from atento.models.bert import Bert, BertConfig, BertEmbedding, best_spans, mask_tokens
from verdades.tabla import cerca, verdad


@verdad("15.1")
def _(caso, valor, funcion):
    """Tapando con la biblioteca medio millón de palabras de un vocabulario de diez."""
    palabras = torch.randint(2, 12, (1000, 500), generator=torch.Generator().manual_seed(1))
    visto, pedido = mask_tokens(palabras, torch.Generator().manual_seed(2), vocab=12, mask_id=1)
    de_mil = {
        "altered": (visto != palabras).double().mean() * 1000,
        "intact": ((visto == palabras) & (pedido > 0)).double().mean() * 1000,
        "asked": (pedido > 0)[visto != 1].double().mean() * 100,
    }
    perdida = F.cross_entropy(torch.zeros(1, 10).double(), torch.tensor([3]))
    return (
        valor.keys() == {*de_mil, "loss"}
        and all(abs(valor[n] - x) < 4 * (valor[n] / 500) ** 0.5 for n, x in de_mil.items())
        and abs(valor["loss"] - perdida) < 1e-9
    )


@verdad("15.2")
def _(caso, valor, funcion):
    """Entrenado: veinte palabras al azar, que nadie puede adivinar si no las ve."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        tabla, salida = nn.Embedding(20, 16), nn.Linear(16, 20)
        bloque = nn.TransformerEncoderLayer(16, 2, 32, 0.0, batch_first=True)
        pesos = [p for m in (tabla, bloque, salida) for p in m.parameters()]
        optimiza = torch.optim.Adam(pesos, 3e-2)
        for _ in range(60):
            ids = torch.randint(20, (32, 6))
            perdida = F.cross_entropy(salida(bloque(tabla(ids))).mT, ids)
            optimiza.zero_grad()
            perdida.backward()
            optimiza.step()
    return (valor == "baja casi a cero") == (perdida.item() < 0.1 * math.log(20))


@verdad("15.3")
def _(caso, valor, funcion):
    """Palabra a palabra, con los nombres de las tres suertes."""
    ids, sorteo, suerte, otra = (t.tolist() for t in caso.args)
    parte = caso.kwargs.get("fraction", 0.15)
    visto, pedido = [], []
    for i, j in itertools.product(range(len(ids)), range(len(ids[0]))):
        palabra = ids[i][j]
        elegida = sorteo[i][j] < parte and palabra not in caso.kwargs["special"]
        cual = "tapa" if suerte[i][j] < 0.8 else "cambia" if suerte[i][j] < 0.9 else "deja"
        se_ve = {"tapa": caso.kwargs["mask_id"], "cambia": otra[i][j], "deja": palabra}
        visto.append(se_ve[cual] if elegida else palabra)
        pedido.append(palabra if elegida else 0)
    return [t.flatten().tolist() for t in valor] == [visto, pedido]


@verdad("15.4")
def _(caso, valor, funcion):
    """Puntuándolo todo, con PyTorch; lo enorme, con precisión de sobra."""
    estados, pedido, tabla, sesgo = caso.args
    relleno = caso.kwargs.get("pad_id", 0)
    if (pedido == relleno).all():
        return valor.item() == 0
    puntos = F.linear(estados, tabla, sesgo).flatten(0, 1)
    de_torch = F.cross_entropy(puntos, pedido.flatten(), ignore_index=relleno)
    costes = [
        mpmath.log(sum(mpmath.exp(x) for x in fila)) - fila[k]
        for fila, k in zip(puntos.tolist(), pedido.flatten().tolist(), strict=True)
        if k != relleno
    ]
    return cerca(valor, de_torch) and abs(valor - float(sum(costes) / len(costes))) < 1e-9


@verdad("15.5")
def _(caso, valor, funcion):
    """Frase a frase, sin relleno, con el coseno de PyTorch."""
    estados, cuenta = caso.args
    frases = [f[c] for f, c in zip(estados, cuenta, strict=True)]
    medias = [f.mean(0) if len(f) else torch.zeros(f.shape[1]).double() for f in frases]
    cosenos = [[F.cosine_similarity(a, b, dim=0) for b in medias] for a in medias]
    return cerca(valor, (torch.stack(medias), torch.tensor(cosenos, dtype=torch.float64)))


@verdad("15.6")
def _(caso, valor, funcion):
    """Construyendo las piezas de la biblioteca y contando; ALBERT, también con el de fuera."""

    def cuenta(modulo):
        return sum(p.numel() for p in modulo.parameters())

    vocab, ancho, denso, capas, largo, segmentos = caso.args + (2,) * (6 - len(caso.args))
    factor, compartida = caso.kwargs.get("factor"), caso.kwargs.get("shared", False)
    tallas = {"n_heads": 1, "d_ff": denso, "max_len": largo, "n_segments": segmentos}
    entrada = BertEmbedding(BertConfig(vocab, d_model=factor or ancho, **tallas))
    pila = Bert(BertConfig(vocab, d_model=ancho, n_layers=1 if compartida else capas, **tallas))
    capa = cuenta(nn.Linear(factor, ancho)) if factor else 0
    if factor and compartida and segmentos:
        from transformers import AlbertConfig, AlbertModel

        ajeno = AlbertConfig(
            vocab_size=vocab,
            embedding_size=factor,
            hidden_size=ancho,
            intermediate_size=denso,
            num_hidden_layers=capas,
            num_attention_heads=1,
            max_position_embeddings=largo,
            type_vocab_size=segmentos,
        )
        if cuenta(AlbertModel(ajeno, add_pooling_layer=False)) != sum(valor):
            return False
    return tuple(valor) == (cuenta(entrada) + capa, cuenta(pila.encoder))


@verdad("15.7")
def _(caso, valor, funcion):
    """Todas las parejas, una a una; y la biblioteca, donde hay respuesta."""
    comienzo, fin, vale, largo = caso.args
    margen, tapado = caso.kwargs.get("margin", 0.0), -torch.inf
    cierto = []
    for s, e, a in zip(comienzo.tolist(), fin.tolist(), vale.tolist(), strict=True):
        parejas = [
            (-(s[i] + e[j]), i, j)
            for i, j in itertools.product(range(len(s)), repeat=2)
            if a[i] and a[j] and i <= j < i + largo
        ]
        menor = min(parejas, default=(math.inf, 0, 0))
        cierto.append(list(menor[1:]) if -menor[0] > s[0] + e[0] + margen else [0, 0])
    libres = best_spans(
        comienzo.masked_fill(~vale, tapado), fin.masked_fill(~vale, tapado), max_length=largo
    )
    hay = valor.any(1)
    return valor.tolist() == cierto and torch.equal(libres[hay], valor[hay])


@verdad("15.8")
def _(caso, valor, funcion):
    """La mejor de todas las secuencias de etiquetas, si son pocas; si no, otra de una en una."""
    piezas, puntos, clases = caso.args
    nombres = ["O"] + [f"{x}-{c}" for c in clases for x in "BI"]
    palabras: list[list] = []
    for pieza, fila in zip(piezas, puntos.tolist(), strict=True):
        if pieza.startswith("##"):
            if palabras:
                palabras[-1][0] += pieza[2:]
        elif pieza not in ("[CLS]", "[SEP]", "[PAD]"):
            palabras.append([pieza, dict(zip(nombres, fila, strict=True))])

    def siguen(antes):
        abierta = antes[2:] if antes != "O" else ""
        return [n for n in nombres if n[0] != "I" or n[2:] == abierta]

    def desde(k, antes, recuerda):  # lo más que suman las palabras de k en adelante, y cómo
        if k == len(palabras):
            return 0.0, []
        if (k, antes) not in recuerda:
            recuerda[k, antes] = max(
                (
                    palabras[k][1][n] + desde(k + 1, n, recuerda)[0],
                    [n, *desde(k + 1, n, recuerda)[1]],
                )
                for n in siguen(antes)
            )
        return recuerda[k, antes]

    suma, mejor = desde(0, "O", {})
    if 0 < len(palabras) <= 4:
        todas = itertools.product(nombres, repeat=len(palabras))
        validas = [
            t for t in todas if all(b in siguen(a) for a, b in itertools.pairwise(("O", *t)))
        ]
        bruta = max(validas, key=lambda t: sum(p[1][n] for p, n in zip(palabras, t, strict=True)))
        if list(bruta) != mejor:
            return False
    texto = "".join(
        {"O": "|", "B": "|" + n[2:] + "=", "I": " "}[n[0]] + (p[0] if n != "O" else "")
        for p, n in zip(palabras, mejor, strict=True)
    )
    return valor == [tuple(t.split("=")) for t in texto.split("|") if t]
