"""La verdad de los ejercicios del capítulo 1, por otro camino que el de sus soluciones."""

import itertools

import torch
import torch.nn.functional as F

from verdades.tabla import cerca, nadaraya, verdad


@verdad("1.1")
def _(caso, valor, funcion):
    """Con PyTorch: una atención sin escala, con la pregunta (1, 1)."""
    palabras = torch.tensor([[0, 1], [2, 1], [0, -1], [1, -1]], dtype=torch.float64)
    pesos = F.softmax(palabras @ torch.tensor([1.0, 1.0], dtype=torch.float64), 0)
    sale = F.scaled_dot_product_attention(
        torch.tensor([[1.0, 1.0]], dtype=torch.float64), palabras, palabras, scale=1.0
    )
    cierto = {"llave": float(pesos[1]), "cajon": float(pesos[3]), "gender": float(sale[0, 1])}
    return cerca(valor, cierto)


@verdad("1.2")
def _(caso, valor, funcion):
    """Palabra a palabra, con exponenciales de precisión arbitraria."""
    preguntan, palabras = (x.reshape(-1, *x.shape[-2:]) for x in caso.args)
    filas = [
        nadaraya([[float(q @ x) for x in frase] for q in quienes], frase)
        for quienes, frase in zip(preguntan, palabras, strict=True)
    ]
    return cerca(
        valor.reshape(-1, *valor.shape[-2:]), torch.stack([torch.stack(list(f)) for f in filas])
    )


@verdad("1.3")
def _(caso, valor, funcion):
    """Se marca lo que sabe cada palabra, paso a paso, hasta que la última sabe de la primera."""
    distancia, filtro = caso.args

    def pasos(alcance):
        sabe, cuantos = {0}, 0
        while distancia not in sabe:
            sabe = {
                i + salto for i in sabe for salto in range(alcance + 1) if i + salto <= distancia
            }
            cuantos += 1
        return cuantos

    return valor == (pasos(1), pasos(filtro - 1), pasos(distancia))


@verdad("1.4")
def _(caso, valor, funcion):
    (luces, sitios), alcance = caso.args, caso.kwargs["reach"]
    lado, orden, contenido = ([[0] * luces.shape[1] for _ in luces] for _ in range(3))
    for i, j in itertools.product(range(luces.shape[0]), range(luces.shape[1])):
        fila = luces[i].tolist()
        lado[i][j] = sum(fila[max(0, j - alcance + 1) : j + 1]) % 2
        orden[i][j] = sum(fila[: j + 1]) % 2
        contenido[i][j] = fila[sitios[i, j]]
    return [v.tolist() for v in valor] == [lado, orden, contenido]


@verdad("1.5")
def _(caso, valor, funcion):
    """Se hacen por turnos todas las que ya pueden hacerse, y se cuentan los turnos."""
    hechas, turnos = set(), 0
    while len(hechas) < len(caso.args[0]):
        hechas |= {
            i for i, antes in enumerate(caso.args[0]) if i not in hechas and set(antes) <= hechas
        }
        turnos += 1
    return valor == turnos


@verdad("1.6")
def _(caso, valor, funcion):
    """Se construyen los módulos de PyTorch y se cuentan sus parámetros."""
    d, alcance, ancho = caso.args

    def cuenta(*modulos):
        return sum(p.numel() for m in modulos for p in m.parameters())

    def cual(construye):
        distancias = [abs(cuenta(*construye(h)) - meta) for h in range(1, 3 * ancho + 2)]
        return 1 + distancias.index(min(distancias))

    with torch.device("meta"):
        meta = cuenta(torch.nn.Conv1d(d, ancho, alcance))
        return valor == (
            cual(lambda h: [torch.nn.LSTM(d, h)]),
            cual(lambda h: [torch.nn.Linear(d, h)] * 3),
        )


@verdad("1.7")
def _(caso, valor, funcion):
    """La softmax de las puntuaciones, aplicada a una frase, es la convolución; al principio,
    renormalizada.
    """
    pesos, n = caso.args
    x = torch.randn(n, 2, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    hacia_atras = F.pad(
        torch.cat([x, torch.ones(n, 1, dtype=torch.float64)], 1), (0, 0, len(pesos) - 1, 0)
    )
    mezcla = F.conv1d(hacia_atras.T[:, None], pesos.flip(0)[None, None])[
        :, 0
    ].T  # (n, 3): la suma y cuánto pesa
    return cerca(valor.softmax(dim=-1) @ x, mezcla[:, :2] / mezcla[:, 2:])
