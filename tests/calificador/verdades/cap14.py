"""La verdad de los ejercicios del capítulo 14, por otro camino que el de sus soluciones."""

import ast
import itertools
import math
import re
from fractions import Fraction

import mpmath
import torch
import torch.nn.functional as F

from atento.tasks import addition, writing
from verdades.tabla import GEN, cerca, verdad


@verdad("14.1")
def _(caso, valor, funcion):
    """La pérdida, con la de PyTorch sin el relleno; lo sorteado, sorteándolo."""
    pedidas = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
    p = torch.tensor([[1 / 2, 1 / 4, 1 / 2, 1], [1 / 2, 1, 1 / 8, 1 / 8]])
    otras = torch.stack([1 - p, p], -1).double()  # columna 1: el símbolo pedido
    perdida = F.nll_loss(otras.log().transpose(1, 2), pedidas, ignore_index=0)
    escritas = [[1, 0, 1, 1], [1, 1]]  # en el sitio de 1/4 hay otro más probable
    marcas = [
        writing.mark(e, fila[fila > 0].tolist()) for e, fila in zip(escritas, pedidas, strict=True)
    ]
    medias = writing.means(marcas)
    sorteadas = (torch.rand(200_000, 4, generator=GEN) < p[0]).all(1).double().mean()
    return (
        set(valor) == {"loss", "token", "exact", "sampled"}
        and abs(valor["loss"] - perdida) < 1e-6
        and (valor["token"], valor["exact"]) == (medias["token"], medias["exact"])
        and abs(valor["sampled"] - sorteadas) < 0.003
    )


@verdad("14.2")
def _(caso, valor, funcion):
    """Fila a fila con listas, y lo que puntúan las tareas de la biblioteca."""
    fin = caso.kwargs.get("eos_id", 2)

    def hasta(fila):
        return fila[: fila.index(fin) + 1] if fin in fila else fila

    parejas = zip(*(t.tolist() for t in caso.args), strict=True)
    medias = writing.means([writing.mark(hasta(a), hasta(b)) for a, b in parejas])
    return cerca(valor, (medias["exact"], medias["token"]))


@verdad("14.3")
def _(caso, valor, funcion):
    """Un lugar engaña si la llevada de la biblioteca no está en la suma de sus dos vecinos."""
    malas = []
    for texto in ("458+367", "275+528", "199+099", "354+645"):
        suma = addition.encode(texto)
        cifras = [[int(c) for c in reversed(f"{x:03d}")] for x in suma[:2]]
        solas = tuple(a + b > 9 for a, b in zip(*cifras, strict=True))
        if solas != addition.carries(suma):
            malas.append(texto)
    return malas == [valor]


@verdad("14.4")
def _(caso, valor, funcion):
    """Con textos: la cadena es el final, sin huecos, de las llevadas de la biblioteca."""
    parejas, escritos, cifras = caso.args
    cuenta = torch.zeros(cifras + 1, 2, dtype=torch.long)
    for (a, b), escrito in zip(parejas.tolist(), escritos.tolist(), strict=True):
        llevadas = "".join("01"[x] for x in addition.carries(addition.Sum(a, b, cifras)))
        bien, dado = (f"{x:0{cifras + 1}d}"[::-1] for x in (a + b, escrito))
        for k in range(cifras + 1):
            cadena = len(re.search("1*$", llevadas[:k])[0])
            cuenta[cadena] += torch.tensor([1, int(bien[k] != dado[k])])
    return torch.equal(valor, cuenta)


@verdad("14.5")
def _(caso, valor, funcion):
    """Cada una contra las de entrenar, con todas las maneras de cambiar cifras de sumando."""
    train, test = ([[int(x) for x in t.split("+")] for t in lista] for lista in caso.args)
    iguales = set()
    for a, b in train:
        for mueve in itertools.product((0, 1), repeat=3):
            gana = sum(m * (b // 10**k % 10 - a // 10**k % 10) * 10**k for k, m in enumerate(mueve))
            iguales.add((a + gana, b - gana))
    return valor == [i for i, p in enumerate(test) if tuple(p) in iguales]


def _de_python(nodo):
    """El prefijo de una expresión según la gramática de Python."""
    if isinstance(nodo, ast.BinOp):
        signo = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}[type(nodo.op)]
        return signo + _de_python(nodo.left) + _de_python(nodo.right)
    return nodo.id if isinstance(nodo, ast.Name) else str(nodo.value)


def _prefijo(texto):
    return _de_python(ast.parse(texto, mode="eval").body)


@verdad("14.6")
def _(caso, valor, funcion):
    """Python lee la misma gramática."""
    return valor == _prefijo(caso.args[0])


@verdad("14.7")
def _(caso, valor, funcion):
    """Python lee en ella el mismo árbol, y otro, o nada, si se quita cualquier pareja."""

    def sin(texto, i):
        hondo = 0
        for j in range(i, len(texto)):
            hondo += (texto[j] == "(") - (texto[j] == ")")
            if hondo == 0:
                return texto[:i] + texto[i + 1 : j] + texto[j + 1 :]
        raise ValueError(texto)

    abren = [i for i, signo in enumerate(valor) if signo == "("]
    sobran = [i for i in abren if _prefijo(sin(valor, i)) == caso.args[0]]
    return _prefijo(valor) == caso.args[0] and not sobran


@verdad("14.8")
def _(caso, valor, funcion):
    """Las parejas se tachan de dentro afuera; la media, cabeza a cabeza."""
    pesos, texto = caso.args
    parejas, resto = [], texto
    while hallada := re.search(r"\([^()]*\)", resto):
        i, j = hallada.start(), hallada.end() - 1
        parejas.append((i, j))
        resto = resto[:i] + "." + resto[i + 1 : j] + "." + resto[j + 1 :]
    cierran = [i for i, signo in enumerate(texto) if signo == ")"]
    medias = []
    for mapa in pesos.tolist():
        bien = [mapa[i][j] for i, j in parejas]
        mal = [sum(mapa[i][k] for k in cierran if k != j) / (len(cierran) - 1) for i, j in parejas]
        medias.append((sum(bien) - sum(mal)) / len(parejas))
    return cerca(valor, torch.tensor(medias, dtype=torch.float64))


@verdad("14.9")
def _(caso, valor, funcion):
    """Los dos extremos cumplen la igualdad, y lo de en medio y lo de fuera, lo que deben."""
    aciertos, n = caso.args
    z = mpmath.mpf(caso.kwargs.get("z", 1.96))
    medida = mpmath.mpf(aciertos) / n

    def sobra(p):  # cuánto se pasa de compatible
        return (medida - p) ** 2 - z**2 * p * (1 - p) / n

    bajo, alto = (mpmath.mpf(x) for x in valor)
    pasos = [bajo + (alto - bajo) * k / 100 for k in range(1, 100)]
    fuera = [x for x in (bajo - 1e-6, alto + 1e-6) if 0 <= x <= 1]
    return (
        max(abs(sobra(bajo)), abs(sobra(alto))) < 1e-12
        and 0 <= bajo + 1e-12 < alto <= 1 + 1e-12
        and all(sobra(p) < 0 for p in pasos)
        and all(sobra(p) > 0 for p in fuera)
    )


@verdad("14.10")
def _(caso, valor, funcion):
    """Tras r rondas se sabe si lleva quien lleva con y sin llevada a la entrada de su ventana."""
    sumas = caso.args[0].tolist()

    def lleva(ventana, entra):
        total = sum(s * 10**k for k, s in enumerate(ventana)) + entra
        return int(total >= 10 ** len(ventana))

    filas, ancho = [], 1
    while not filas or -1 in filas[-1]:
        fila = []
        for k in range(len(sumas)):
            inicio = k - ancho + 1
            ventana = sumas[max(0, inicio) : k + 1]
            posibles = {lleva(ventana, e) for e in ((0, 1) if inicio >= 0 else (0,))}
            fila.append(posibles.pop() if len(posibles) == 1 else -1)
        filas.append(fila)
        ancho *= 2
    return valor.tolist() == filas


@verdad("14.11")
def _(caso, valor, funcion):
    """Con fracciones, todas las clases de suma de hasta 8 cifras; si hay más, sorteando."""
    cifras, alcance = caso.args

    def acierta(clases):
        """Cada clase es una suma sin llevada representativa: 8, 9 o 10."""
        for k in range(1, cifras + 1):
            todo = sum(s * 10**i for i, s in enumerate(clases[:k])) >= 10**k
            visto = clases[max(0, k - alcance) : k]
            poco = sum(s * 10**i for i, s in enumerate(visto)) >= 10 ** len(visto)
            if todo != (poco if visto else False):
                return False
        return True

    if cifras <= 8:
        peso = {8: Fraction(45, 100), 9: Fraction(10, 100), 10: Fraction(45, 100)}
        total = Fraction(0)
        for clases in itertools.product(peso, repeat=cifras):
            if acierta(clases):
                parte = Fraction(1)
                for clase in clases:
                    parte *= peso[clase]
                total += parte
        return abs(valor - total) < 1e-12
    sumas = torch.randint(10, (2, 4000, cifras), generator=GEN).sum(0).tolist()
    hecho = sum(map(acierta, sumas)) / len(sumas)
    return abs(valor - hecho) < 5 * (valor * (1 - valor) / len(sumas)) ** 0.5 + 1e-9


@verdad("14.12")
def _(caso, valor, funcion):
    """Paso a paso, quitando de verdad los sitios que no se ven y escribiendo con los que quedan."""
    puntos, valores, pedidos, sitios = caso.args
    aciertos = [[], [], []]
    for i, t in itertools.product(*map(range, sitios.shape)):
        sitio = int(sitios[i, t])
        if sitio < 0:
            continue
        visibles = [j for j in range(puntos.shape[2]) if math.isfinite(puntos[i, t, j])]
        for lista, quedan in zip(
            aciertos, (visibles, [j for j in visibles if j != sitio], [sitio]), strict=True
        ):
            pesos = [math.exp(puntos[i, t, j]) for j in quedan]
            salida = sum(p * valores[i, j].double() for p, j in zip(pesos, quedan, strict=True))
            lista.append(int(salida.argmax()) == int(pedidos[i, t]))
    return cerca(valor.tolist(), [sum(lista) / len(lista) for lista in aciertos])
