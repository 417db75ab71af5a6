# ruff: noqa: E501
"""Registro del curso de prueba, capítulo 92: un módulo y un orden."""

from calificador.registro import Caso, Ejercicio, Mutante

_CODIGO = """import torch
from torch import nn

class TinyNorm(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.{project} = nn.Linear(d_model, d_model)

    def forward(self, hidden):
        hidden = self.{project}(hidden)
        centered = {centered}
        return {gain}centered / (centered.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt()
"""
_CENTRADO = "hidden - hidden.mean(-1, keepdim=True)"


def _mutante(nombre, pista, project="project", centered=_CENTRADO, gain="self.gain * "):
    return Mutante(nombre, _CODIGO.format(project=project, centered=centered, gain=gain), pista)


def _modulo(rng):
    import torch

    casos = []
    for _ in range(2):
        d_model, batch = (
            int(torch.randint(3, 7, (), generator=rng)),
            int(torch.randint(2, 5, (), generator=rng)),
        )
        entrada = torch.randn(batch, d_model, generator=rng, dtype=torch.float64)
        casos.append(Caso("salida y gradientes", (entrada,), init={"d_model": d_model}))
    return casos


def _orden(rng):
    return [Caso("orden")]


EJERCICIOS = [
    Ejercicio(
        id="92.1",
        nombre="TinyNorm",
        tipo="escribir",
        dificultad=3,
        minutos=20,
        aprende="normalizar",
        casos=_modulo,
        propiedades={"salida y gradientes": 3},
        pistas=("Cada posición por su cuenta.",),
        mutantes=(
            _mutante("sin centrar", "Falta restar la media.", centered="hidden"),
            _mutante(
                "lote",
                "La media va por posición, no por lote.",
                centered="hidden - hidden.mean(0, keepdim=True)",
            ),
            _mutante("sin ganancia", "La ganancia no se usa.", gain=""),
            _mutante("nombre", "El parámetro se llama project.", project="linear"),
            _mutante(
                "detach",
                "La media también depende de la entrada.",
                centered="hidden - hidden.mean(-1, keepdim=True).detach()",
            ),
        ),
    ),
    Ejercicio(
        id="92.2",
        nombre="ORDER",
        tipo="ordenar",
        dificultad=1,
        minutos=2,
        aprende="el orden",
        casos=_orden,
        propiedades={"orden": 1},
        pistas=("¿Qué va antes?",),
        mutantes=tuple(
            Mutante(f"orden {i}", f"ORDER = {orden!r}\n", pista)
            for i, (orden, pista) in enumerate(
                (
                    (
                        ["escalar", "puntuar", "normalizar", "promediar"],
                        "No se puede escalar lo que no se ha puntuado.",
                    ),
                    (
                        ["puntuar", "normalizar", "escalar", "promediar"],
                        "La escala va antes del softmax.",
                    ),
                    (
                        ["puntuar", "escalar", "promediar", "normalizar"],
                        "Se promedia con pesos ya normalizados.",
                    ),
                    (["promediar", "normalizar", "escalar", "puntuar"], "Está del revés."),
                )
            )
        ),
    ),
]
