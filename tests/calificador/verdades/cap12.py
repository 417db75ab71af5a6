"""La verdad de los ejercicios del capítulo 12, por otro camino que el de sus soluciones."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from atento.training import noam, warmup_cosine, warmup_stable_decay
from verdades.tabla import cerca, verdad


@verdad("12.1")
def _(caso, valor, funcion):
    """Se cuenta el relleno, y cada etiqueta es la entrada que sigue."""
    frases, bos, eos, pad = caso.args
    entra, dice = valor
    for frase, x, y in zip(frases, entra.tolist(), dice.tolist(), strict=True):
        m = len(frase)
        if x[0] != bos or y[m] != eos or x[1 : m + 1] != frase or y[:m] != frase:
            return False
        if x.count(pad) != y.count(pad) or set(x[m + 1 :] + y[m + 1 :]) - {pad}:
            return False
    return entra.shape == dice.shape == (len(frases), max(map(len, frases)) + 1)


@verdad("12.2")
def _(caso, valor, funcion):
    """Con la entropía cruzada de PyTorch, sobre un lote con relleno."""
    partes = [[1 / 2, 1 / 4], [1 / 4, 1 / 8, 1 / 8, 1 / 16, 1 / 4, 1 / 16]]
    lote = torch.full((2, 6, 2), math.log(0.5), dtype=torch.float64)
    etiquetas = torch.full((2, 6), -100)
    for i, frase in enumerate(partes):
        for j, p in enumerate(frase):
            lote[i, j] = torch.tensor([p, 1 - p], dtype=torch.float64).log()
            etiquetas[i, j] = 0
    por_frase = [F.cross_entropy(lote[i], etiquetas[i]) for i in range(2)]
    media = F.cross_entropy(lote.flatten(0, 1), etiquetas.flatten())
    cierto = {
        "words": media,
        "sentences": sum(por_frase) / 2,
        "slots": F.cross_entropy(lote.flatten(0, 1), etiquetas.flatten(), reduction="none").mean(),
        "perplexity": media.exp(),
    }
    return valor.keys() == cierto.keys() and all(abs(valor[k] - cierto[k]) < 1e-9 for k in cierto)


@verdad("12.3")
def _(caso, valor, funcion):
    """Con el calendario de la biblioteca, para varias anchuras."""
    cocientes = {
        round(noam(d, warmup=8000)(19_999) / noam(d, warmup=4000)(19_999), 9) for d in (64, 512)
    }
    return cocientes == {1.0} and valor == "lo mismo"


@verdad("12.4")
def _(caso, valor, funcion):
    """Un solo lote que los junta todos, con la pérdida, el recorte y el optimizador de PyTorch."""
    peso, lotes, tasa, recorte = caso.args
    pad = caso.kwargs.get("pad", 0)
    ancho = max(lote.shape[1] for lote in lotes)
    junto = torch.cat([F.pad(lote, (0, ancho - lote.shape[1]), value=pad) for lote in lotes])
    tabla = nn.Parameter(peso.clone())
    optimizador = torch.optim.SGD([tabla], lr=tasa)
    puntuaciones = F.embedding(junto[:, :-1], tabla)
    perdida = F.cross_entropy(puntuaciones.flatten(0, 1), junto[:, 1:].flatten(), ignore_index=pad)
    perdida.backward()
    nn.utils.clip_grad_norm_([tabla], recorte)
    optimizador.step()
    return cerca(valor[0], perdida.detach(), 1e-6) and cerca(valor[1], tabla.detach(), 1e-6)


@verdad("12.5")
def _(caso, valor, funcion):
    """La divergencia entre dos repartos, con las distribuciones de PyTorch, palabra a palabra."""
    puntuaciones, etiquetas, suavizado = caso.args
    pad, perdidas = caso.kwargs.get("pad", 0), []
    for filas, palabras in zip(puntuaciones, etiquetas, strict=True):
        for fila, palabra in zip(filas, palabras.tolist(), strict=True):
            otras = [i for i in range(len(fila)) if i not in (palabra, pad)]
            if palabra == pad:
                continue
            q = torch.zeros_like(fila)
            q[otras] = suavizado / len(otras)
            q[palabra] = 1 - q.sum()
            pedido = torch.distributions.Categorical(probs=q)
            dado = torch.distributions.Categorical(logits=fila)
            perdidas.append(torch.distributions.kl_divergence(pedido, dado))
    return cerca(valor, torch.stack(perdidas).mean())


@verdad("12.6")
def _(caso, valor, funcion):
    """El AdamW de PyTorch, con los momentos puestos en su estado."""
    peso, gradiente, media, cuadrado, paso = caso.args
    parametro = nn.Parameter(peso.clone())
    opciones = {"lr": caso.kwargs["rate"], "betas": caso.kwargs.get("betas", (0.9, 0.98))}
    opciones |= {
        "eps": caso.kwargs.get("eps", 1e-9),
        "weight_decay": caso.kwargs.get("decay", 0.01),
    }
    optimizador = torch.optim.AdamW([parametro], **opciones)
    optimizador.state[parametro] = {
        "step": torch.tensor(float(paso - 1)),
        "exp_avg": media.clone(),
        "exp_avg_sq": cuadrado.clone(),
    }
    parametro.grad = gradiente.clone()
    optimizador.step()
    estado = optimizador.state[parametro]
    cierto = (parametro.detach(), estado["exp_avg"], estado["exp_avg_sq"])
    return all(cerca(uno, otro) for uno, otro in zip(valor, cierto, strict=True))


@verdad("12.7")
def _(caso, valor, funcion):
    """Con esos tres números, los calendarios de la biblioteca dibujan la curva; los otros, no."""
    (curva,) = caso.args
    nombre, sube, maximo = valor
    pasos = len(curva)
    de_noam = noam(1, warmup=sube)
    todos = {
        "constant": lambda s: min(1.0, (s + 1) / sube),
        "noam": lambda s: de_noam(s) / de_noam(sube - 1),
        "cosine": warmup_cosine(pasos, warmup=sube),
        "stable": warmup_stable_decay(pasos, warmup=sube),
    }
    dibujan = {
        clave: torch.tensor([maximo * f(s) for s in range(pasos)], dtype=torch.float64)
        for clave, f in todos.items()
    }
    return [clave for clave, otra in dibujan.items() if cerca(otra, curva, 1e-9)] == [nombre]


@verdad("12.8")
def _(caso, valor, funcion):
    """Fila a fila, buscando de qué pareja es cada una."""
    parejas, bos, eos, pad = caso.args
    origen, entra, dice, cuenta = (tabla.tolist() for tabla in valor)
    quedan = list(range(len(parejas)))
    for fila, x, y, vale in zip(origen, entra, dice, cuenta, strict=True):
        corta = min(len(parejas[i][0]) for i in quedan)
        i = next(i for i in quedan if len(parejas[i][0]) == corta)
        quedan.remove(i)
        suyo, destino = parejas[i][0] + [eos], [bos] + parejas[i][1] + [eos]
        destino += [pad] * (len(x) + 1 - len(destino))
        if fila != suyo + [pad] * (len(fila) - len(suyo)) or [x[0], *y] != destino:
            return False
        if x[1:] != y[:-1] or sum(vale) != len(parejas[i][1]) + 1 or not all(vale[: sum(vale)]):
            return False
    largos = [max(len(lado[k]) for lado in parejas) + 1 for k in range(2)]
    return [len(origen[0]), len(entra[0])] == largos and not quedan


@verdad("12.9")
def _(caso, valor, funcion):
    """La media geométrica de uno entre las probabilidades, pieza a pieza."""
    perdidas, piezas, palabras = caso.args
    todas = torch.repeat_interleave(perdidas, piezas)
    por_pieza = math.prod(math.exp(x / len(todas)) for x in todas.tolist())
    por_palabra = math.prod(math.exp(x / int(palabras.sum())) for x in todas.tolist())
    return cerca(float(valor[0]), por_pieza) and cerca(float(valor[1]), por_palabra)


@verdad("12.10")
def _(caso, valor, funcion):
    """El GradScaler de PyTorch en la CPU, con un parámetro de verdad."""
    peso, gradientes, factor, tasa, cada = caso.args
    parametro = nn.Parameter(peso.clone())
    optimizador = torch.optim.SGD([parametro], lr=tasa)
    escala = torch.amp.GradScaler("cpu", init_scale=factor, growth_interval=cada)
    escala.scale(torch.zeros(()))  # crea el factor
    saltos = 0
    for gradiente in gradientes:
        antes = parametro.detach().clone()
        parametro.grad = (gradiente * escala.get_scale()).half().to(peso.dtype)
        roto = not bool(parametro.grad.isfinite().all())
        escala.step(optimizador)
        escala.update()
        saltos += roto
        if roto and not torch.equal(antes, parametro.detach()):
            return False
    return (
        cerca(valor[0], parametro.detach(), 1e-6)
        and valor[1] == escala.get_scale()
        and valor[2] == saltos
    )


@verdad("12.11")
def _(caso, valor, funcion):
    """Adam de PyTorch, con el estado repuesto, y los sorteos de todos los pasos de una vez."""
    peso, media, cuadrado, hechos, entradas, metas = caso.args
    ajustes = caso.kwargs
    parametro = nn.Parameter(peso.clone())
    adam = torch.optim.Adam([parametro], lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    estado = {"step": torch.tensor(float(hechos)), "exp_avg": media, "exp_avg_sq": cuadrado}
    adam.load_state_dict({"state": {0: {k: v.clone() for k, v in estado.items()}}, **_grupos(adam)})
    azar = torch.Generator().manual_seed(ajustes["seed"])
    sorteos = torch.stack(
        [torch.rand(len(peso), generator=azar, dtype=torch.float64) for _ in entradas]
    )
    perdidas = []
    for s in range(hechos, len(entradas)):
        adam.param_groups[0]["lr"] = ajustes["rate"] * min(1.0, (s + 1) / ajustes["warmup"])
        dentro = entradas[s].masked_fill(sorteos[s] < ajustes["drop"], 0.0)
        perdida = F.mse_loss(dentro @ parametro, metas[s])
        adam.zero_grad()
        perdida.backward()
        adam.step()
        perdidas.append(perdida.item())
    return cerca(valor[0], torch.tensor(perdidas, dtype=peso.dtype), 1e-6) and cerca(
        valor[1], parametro.detach(), 1e-6
    )


def _grupos(optimizador):
    """Los grupos de un optimizador, como los pide ``load_state_dict``."""
    return {"param_groups": optimizador.state_dict()["param_groups"]}
