"""La verdad de los ejercicios del capítulo 11, por otro camino que el de sus soluciones."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from atento.attention import MultiHeadAttention
from atento.blocks import Decoder, DecoderBlock, Encoder, EncoderBlock
from atento.layers import FeedForward
from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig
from atento.models.weights import from_pytorch
from verdades.tabla import GEN, cerca, verdad


@verdad("11.1")
def _(caso, valor, funcion):
    """Se mide en un modelo de la biblioteca."""
    modelo = Seq2Seq(
        Seq2SeqConfig(11, d_model=8, n_heads=2, d_ff=16, n_encoder_layers=1, n_decoder_layers=1)
    )
    origen, destino = torch.randint(3, 11, (1, 5)), torch.randint(3, 11, (1, 3))
    bloque, escribe = modelo.encoder.blocks[0], modelo.decoder.blocks[0]
    memoria = modelo.encode(origen)
    medido = {
        "memory": memoria.states.numel(),
        "encoder": bloque.attention(memoria.states, need_weights=True)[1].numel(),
        "cross": escribe.cross_attention(torch.zeros(1, 3, 8), memoria.states, need_weights=True)[
            1
        ].numel(),
        "logits": modelo(origen, destino).numel(),
    }
    return valor == medido


@verdad("11.2")
def _(caso, valor, funcion):
    """Las pilas de la biblioteca, con esos pesos."""
    modulo = funcion(**caso.init).double()
    d, cabezas = caso.init["d_model"], caso.init["n_heads"]

    def piezas():
        return MultiHeadAttention(d, cabezas), FeedForward(d, caso.init["d_ff"], activation="relu")

    def bloque(otra=None):
        atencion, densa = piezas()
        return (
            EncoderBlock(atencion, densa) if otra is None else DecoderBlock(atencion, otra, densa)
        )

    def pila(clase, capas, bloques):
        if not capas:
            return None
        hecha = clase(bloques).double()
        hecha.load_state_dict(
            from_pytorch({f"layers.{k}": v for k, v in capas.state_dict().items()})
        )
        return hecha

    lectora = pila(Encoder, modulo.encoder, [bloque() for _ in modulo.encoder])
    autora = pila(Decoder, modulo.decoder, [bloque(piezas()[0]) for _ in modulo.decoder])

    def entra(ids):
        return modulo.tokens.weight[ids] * d**0.5 + modulo.places.weight[: ids.shape[1]]

    def norma(x, capa):
        return F.layer_norm(x, (d,), capa.weight, capa.bias)

    origen, destino = caso.args
    vale = (origen != 0)[:, None, None, :]
    z = entra(origen) if lectora is None else lectora(entra(origen), vale)
    z, y = norma(z, modulo.encoder_norm), entra(destino)
    if autora is not None:
        n = destino.shape[1]
        causal = torch.ones(n, n, dtype=torch.bool).tril()
        y = autora(y, [z] * len(modulo.decoder), causal, vale)
    return cerca(modulo(*caso.args), F.linear(norma(y, modulo.decoder_norm), modulo.tokens.weight))


@verdad("11.3")
def _(caso, valor, funcion):
    """Se cambia la palabra en un modelo al azar de PyTorch y se mira qué se mueve."""
    m, n, lado, sitio, *resto = caso.args
    largo = resto[0] if resto else m
    torch.manual_seed(7)
    modelo = nn.Transformer(8, 2, 2, 2, 16, dropout=0.0, batch_first=True).double()
    palabras = {"source": torch.randn(1, m, 8).double(), "target": torch.randn(1, n, 8).double()}
    relleno = (torch.arange(m) >= largo)[None]
    futuro = torch.ones(n, n, dtype=torch.bool).triu(1)

    def corre():
        memoria = modelo.encoder(palabras["source"], src_key_padding_mask=relleno)
        sale = modelo.decoder(
            palabras["target"], memoria, tgt_mask=futuro, memory_key_padding_mask=relleno
        )
        return memoria[0], sale[0]

    antes = corre()
    palabras[lado][0, sitio] = torch.randn(8).double()
    cambian = [
        ((uno - otro).abs().amax(-1) > 1e-9).nonzero().flatten().tolist()
        for uno, otro in zip(antes, corre(), strict=True)
    ]
    return [list(filas) for filas in valor] == cambian


@verdad("11.4")
def _(caso, valor, funcion):
    """Se construye el modelo de la biblioteca y se cuentan sus parámetros."""
    origen, destino, d, ancho, lecturas, escrituras = caso.args
    opciones = dict(caso.kwargs)
    aprendidas = opciones.pop("learned", 0)
    if aprendidas:
        opciones |= {"positions": "learned", "max_len": aprendidas}
    config = Seq2SeqConfig(
        origen, destino, d_model=d, n_heads=2, d_ff=ancho, n_encoder_layers=lecturas,
        n_decoder_layers=escrituras, tying=opciones.pop("tying", "none"), **opciones,
    )  # fmt: skip
    return valor == sum(p.numel() for p in Seq2Seq(config).parameters())


@verdad("11.5")
def _(caso, valor, funcion):
    """La diferenciación automática, con dos copias de la matriz."""
    matriz, mezcla, ids, metas = caso.args
    entrada, salida = (matriz.clone().requires_grad_() for _ in range(2))
    x = F.embedding(ids, entrada) * math.sqrt(matriz.shape[1])
    perdida = F.cross_entropy(F.linear(mezcla @ x, salida), metas)
    ciertos = torch.autograd.grad(perdida, (entrada, salida))
    return all(cerca(uno, otro) for uno, otro in zip(valor, ciertos, strict=True))


@verdad("11.6")
def _(caso, valor, funcion):
    """Frase a frase, sin relleno: las palabras que no son de verdad se quitan."""
    modulo = funcion(**caso.init).double()
    d = caso.init["d_model"]

    def entra(ids):
        return modulo.embedding.weight[ids] * d**0.5 + modulo.places.weight[: len(ids)]

    def norma(x, nombre):
        capa = modulo.norms[nombre]
        return F.layer_norm(x, (d,), capa.weight, capa.bias)

    def atiende(x, z, nombre, **opciones):
        q, k, v = (
            F.linear(filas, getattr(modulo, papel)[nombre].weight)[None]
            for papel, filas in (("query", x), ("key", z), ("value", z))
        )
        return F.scaled_dot_product_attention(q, k, v, **opciones)[0]

    for origen, destino, vale, sale in zip(*caso.args, modulo(*caso.args), strict=True):
        x = entra(origen[vale])
        y = norma(x, "encoder")
        memoria = norma(x + atiende(y, y, "encoder"), "memory")
        x = entra(destino)
        y = norma(x, "decoder")
        x = x + atiende(y, y, "decoder", is_causal=True)
        x = x + atiende(norma(x, "cross"), memoria, "cross")
        if not cerca(sale, norma(x, "output") @ modulo.embedding.weight.T):
            return False
    return True


@verdad("11.7")
def _(caso, valor, funcion):
    """La atención de PyTorch, con esas matrices, contra la del artículo cabeza a cabeza."""
    consulta, clave, valores, salida = caso.args
    cabezas, d, ancho = consulta.shape
    capa = nn.MultiheadAttention(d, cabezas, bias=False, batch_first=True).double()
    capa.load_state_dict(dict(zip(("in_proj_weight", "out_proj.weight"), valor, strict=True)))
    x, z = (torch.randn(n, d, generator=GEN).double() for n in (3, 5))
    unidas = torch.cat(
        [
            torch.softmax((x @ q) @ (z @ k).T / math.sqrt(ancho), dim=-1) @ (z @ v)
            for q, k, v in zip(consulta, clave, valores, strict=True)
        ],
        dim=1,
    )
    return cerca(capa(x[None], z[None], z[None])[0][0], unidas @ salida)


@verdad("11.8")
def _(caso, valor, funcion):
    """La jacobiana de dos pilas al azar: una palabra influye si su derivada no es cero."""
    lee, escribe, cruza, lecturas, escrituras = caso.args
    (n, m), d = cruza.shape, 4
    torch.manual_seed(3)

    def atencion():
        return MultiHeadAttention(d, 2)

    piezas = nn.ModuleList(
        EncoderBlock(atencion(), FeedForward(d, 8, activation="gelu")) for _ in range(lecturas)
    ).double()
    otras = nn.ModuleList(
        DecoderBlock(atencion(), atencion(), FeedForward(d, 8, activation="gelu"))
        for _ in range(escrituras)
    ).double()

    def corre(todas):
        z, y = todas[:m], todas[m:]
        for bloque in piezas:
            z = bloque(z, lee)
        for bloque in otras:
            y = bloque(y, z, escribe, cruza)
        return y

    derivadas = torch.autograd.functional.jacobian(corre, torch.randn(m + n, d).double())
    return torch.equal(valor, derivadas.abs().amax(dim=(1, 3)) > 1e-12)
