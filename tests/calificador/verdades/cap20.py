"""La verdad de los ejercicios del capítulo 20, por otro camino que el de sus soluciones."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from scipy.optimize import linear_sum_assignment

from atento.boxes import giou, iou, to_center, to_corners
from atento.models.maskformer import dice_loss, focal_costs
from atento.tasks.seeing import Found, average_precision
from verdades.tabla import cerca, verdad


@verdad("20.1")
def _(caso, valor, funcion):
    """Cuadro a cuadro, y lo que dice la biblioteca."""
    cajas = {"a": (1, 1, 5, 4), "b": (2, 3, 9, 6), "c": (7, 2, 11, 5), "d": (9, 2, 13, 5)}
    llenos = {
        n: {(x, y) for x in range(x0, x1) for y in range(y0, y1)}
        for n, (x0, y0, x1, y1) in cajas.items()
    }

    def cuenta(otra):
        comun, union = llenos["a"] & llenos[otra], llenos["a"] | llenos[otra]
        xs, ys = zip(*union, strict=True)
        caja = (max(xs) - min(xs) + 1) * (max(ys) - min(ys) + 1)
        parte = len(comun) / len(union)
        return len(comun), parte, parte - (caja - len(union)) / caja

    esquinas = {n: torch.tensor([c]).double() for n, c in cajas.items()}
    dice = {n: giou(esquinas["a"], esquinas[n]).item() for n in "bcd"}
    comun, parte, entera = cuenta("b")
    ciertos = {"shared": comun, "iou": parte, "giou": entera}
    ciertos |= {"far": cuenta("c")[2], "farther": cuenta("d")[2]}
    segun = {"giou": dice["b"], "far": dice["c"], "farther": dice["d"]}
    segun["iou"] = iou(esquinas["a"], esquinas["b"]).item()
    return cerca(valor, ciertos) and cerca({n: valor[n] for n in segun}, segun)


@verdad("20.2")
def _(caso, valor, funcion):
    """Pareja a pareja, eje a eje, y la de la biblioteca."""
    dadas, hay = caso.args
    cierto = torch.empty_like(valor)
    for i, (unas, otras) in enumerate(zip(to_corners(dadas).tolist(), hay.tolist(), strict=True)):
        for j, a in enumerate(unas):
            for k, b in enumerate(otras):
                comun = math.prod(max(0, min(a[e + 2], b[e + 2]) - max(a[e], b[e])) for e in (0, 1))
                caja = math.prod(max(a[e + 2], b[e + 2]) - min(a[e], b[e]) for e in (0, 1))
                union = sum((c[2] - c[0]) * (c[3] - c[1]) for c in (a, b)) - comun
                parte = comun / union if union else 0.0
                cierto[i, j, k] = parte - ((caja - union) / caja if caja else 0.0)
    de_lotes = [giou(to_corners(a), b) for a, b in zip(dadas, hay, strict=True)]
    return cerca(valor, cierto) and cerca(valor, torch.stack(de_lotes))


@verdad("20.3")
def _(caso, valor, funcion):
    """Sin entrenar: la pérdida media de los dos órdenes, en una rejilla de sitios y de clases."""
    sitios = np.linspace(0, 1, 101)
    lejos = ((sitios - 0.2) ** 2 + (sitios - 0.8) ** 2) / 2
    partes = [(p / 20, q / 20) for p in range(1, 20) for q in range(1, 20) if p + q <= 20]
    mejor = min(partes, key=lambda x: -(math.log(x[0]) + math.log(x[1])) / 2)
    en_medio = abs(sitios[lejos.argmin()] - 0.5) < 1e-9 and mejor == (0.5, 0.5)
    return en_medio and valor == "las dos, el punto medio"


@verdad("20.4")
def _(caso, valor, funcion):
    """Pareja a pareja, y el método húngaro de scipy."""
    notas, dadas, clases, hay = caso.args
    clase, caja, solape = caso.kwargs.get("weights", (1.0, 5.0, 2.0))
    coste, elegidas = valor
    cierto = torch.empty_like(coste)
    for q, (nota, dada) in enumerate(zip(notas, dadas, strict=True)):
        for o, (k, otra) in enumerate(zip(clases.tolist(), hay, strict=True)):
            chance = math.exp(nota[k]) / sum(math.exp(x) for x in nota)
            apart = sum(abs(a - b) for a, b in zip(dada.tolist(), to_center(otra), strict=True))
            comun = giou(to_corners(dada[None]), otra[None]).item()
            cierto[q, o] = caja * apart - clase * chance - solape * comun
    filas, columnas = linear_sum_assignment(cierto.numpy())
    suyas = dict(zip(columnas.tolist(), filas.tolist(), strict=True))
    return cerca(coste, cierto) and elegidas.tolist() == [suyas[o] for o in range(len(hay))]


@verdad("20.5")
def _(caso, valor, funcion):
    """La precisión media de la biblioteca, y los aciertos, con el área de la curva escalón a
    escalón."""
    notas, imagenes, cajas, de, hay = caso.args
    umbral, (aciertos, media) = caso.kwargs.get("threshold", 0.5), valor
    orden = sorted(range(len(notas)), key=lambda i: (-notas[i].item(), i))
    libres, ciertos = set(range(len(hay))), set()
    for i in orden:
        suyos = [j for j in libres if de[j] == imagenes[i]]
        if suyos:
            solapes = {j: iou(cajas[i : i + 1], hay[j : j + 1]).item() for j in suyos}
            mejor = max(solapes, key=solapes.get)
            if solapes[mejor] >= umbral:
                ciertos.add(i)
                libres.remove(mejor)
    puntos = [(sum(j in ciertos for j in orden[:k]), k) for k in range(1, len(orden) + 1)]
    escalones = [
        max((a / k for a, k in puntos if a >= t), default=0) for t in range(1, len(hay) + 1)
    ]
    dicho = []
    for imagen in sorted({*imagenes.tolist(), *de.tolist()}):
        mias, suyas = imagenes == imagen, de == imagen
        clase = torch.zeros_like(imagenes)
        dicho.append(
            (Found(clase[mias], notas[mias], cajas[mias]),
             Found(torch.zeros_like(de)[suyas], torch.ones(int(suyas.sum())), hay[suyas]))
        )  # fmt: skip
    sin_empates = len(set(notas.tolist())) == len(notas)  # entre imágenes, los pone de otra manera
    segun = average_precision(*zip(*dicho, strict=True), threshold=umbral)["ap"]
    return (
        {i for i, x in enumerate(aciertos.tolist()) if x} == ciertos
        and abs(media - sum(escalones) / len(hay)) < 1e-9
        and (abs(media - segun) < 1e-6 or not sin_empates)
    )


@verdad("20.6")
def _(caso, valor, funcion):
    """Objeto a objeto, buscando entre los bordes de los cajones."""
    clases, cajas = caso.args
    cajones, caben = caso.kwargs["bins"], caso.kwargs["most"]
    bordes, ciertas, vuelta = np.arange(1, cajones) / cajones, [], []
    orden = sorted(
        range(len(cajas)), key=lambda i: -np.prod((cajas[i, 2:] - cajas[i, :2]).tolist())
    )
    for i in orden[:caben]:
        x0, y0, x1, y1 = np.searchsorted(bordes, cajas[i].numpy(), side="right").tolist()
        ciertas += [3 + y0, 3 + x0, 3 + y1, 3 + x1, 3 + cajones + int(clases[i])]
        vuelta.append([(2 * k + 1) / (2 * cajones) for k in (x0, y0, x1, y1)])
    palabras, leidas = valor
    return palabras.tolist() == [*ciertas, 2] and cerca(
        leidas, torch.tensor(vuelta, dtype=torch.float64).reshape(-1, 4)
    )


@verdad("20.7")
def _(caso, valor, funcion):
    """Las de la biblioteca, y la focal, de la entropía cruzada de PyTorch."""
    notas, dentro = caso.args
    gamma, alpha = caso.kwargs.get("gamma", 2.0), caso.kwargs.get("alpha", 0.25)
    y = dentro.to(notas)
    si, no = focal_costs(notas, gamma=float(gamma), alpha=alpha)
    cruzada = F.binary_cross_entropy_with_logits(notas, y, reduction="none")
    falla = (notas.sigmoid() - y).abs()
    focal = ((alpha * y + (1 - alpha) * (1 - y)) * falla**gamma * cruzada).mean(-1)
    return (
        cerca(valor[0], dice_loss(notas, y))
        and cerca(valor[1], (si * y + no * (1 - y)).mean(-1))
        and cerca(valor[1], focal)
    )


@verdad("20.8")
def _(caso, valor, funcion):
    """Píxel a píxel, y después, consulta a consulta."""
    puntos, mapas = (x.tolist() for x in caso.args)
    cosas = caso.kwargs["things"]
    bastan, queda = caso.kwargs.get("least", 0.7), caso.kwargs.get("overlap", 0.8)
    vivas = {}
    for q, fila in enumerate(puntos):
        k = max(range(len(fila)), key=fila.__getitem__)
        nota = 1 / sum(math.exp(x - fila[k]) for x in fila)
        if k < len(fila) - 1 and nota > bastan:
            vivas[q] = (k, nota)
    mios, enteros = {q: [] for q in vivas}, dict.fromkeys(vivas, 0)
    for y in range(len(mapas[0])):
        for x in range(len(mapas[0][0])):
            p = {q: 1 / (1 + math.exp(-mapas[q][y][x])) for q in vivas}
            for q in vivas:
                enteros[q] += p[q] >= 0.5
            dueno = max(vivas, key=lambda q, p=p: vivas[q][1] * p[q], default=None)
            if dueno is not None and p[dueno] >= 0.5:
                mios[dueno].append((y, x))
    mapa, clases, de_clase = torch.zeros_like(valor[0]), [], {}
    for q, (k, _) in vivas.items():
        if mios[q] and len(mios[q]) >= queda * enteros[q]:
            nuevo = de_clase.get(k, len(clases) + 1)
            if nuevo > len(clases):
                clases.append(k)
            if k >= cosas:
                de_clase[k] = nuevo
            for y, x in mios[q]:
                mapa[y, x] = nuevo
    return cerca(valor[0], mapa) and valor[1].tolist() == clases
