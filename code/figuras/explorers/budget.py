"""El presupuesto de un entrenamiento: se elige la talla y se ve qué cabe y qué tarda."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

from atento.scaling import Decoder, training_flops, training_memory
from figuras.explorers.base import Explorer, Texts, check_option, number, static_table

__all__ = ["BudgetExplorer", "budget"]

VOCAB = 50_257
SCALES: dict[str, tuple[int, ...]] = {
    "width": (64, 128, 256, 384, 512, 768, 1024, 1280, 1600, 2048, 4096, 5120, 8192, 12288, 16384),
    "layers": (1, 2, 4, 6, 12, 24, 32, 36, 48, 64, 80, 96, 128),
    "context": (64, 128, 256, 512, 1024, 2048, 4096, 8192),
    "texts": (1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
    "processes": tuple(2**k for k in range(13)),
    "tokens": tuple(10**k for k in range(7, 11)) + (10**11, 3 * 10**11, 10**12, 2 * 10**12, 10**13),
    "use": (10, 20, 30, 40, 50, 60),
}
STAGES = ("nada", "optimizador", "y gradientes", "y pesos")  # lo que parte cada etapa de ZeRO
MODELS = {
    "GPT-2": {"width": 768, "layers": 12, "context": 1024},
    "GPT-2 XL": {"width": 1600, "layers": 48, "context": 1024},
    "GPT-3": {"width": 12288, "layers": 96, "context": 2048},
}
PARTS = ("pesos", "gradientes", "optimizador", "activaciones")

Choice = dict[str, Any]


def sizes(choice: Choice) -> Decoder:
    """El modelo de esa talla, con cabezas de 64 o, desde 4096, de 128."""
    width = choice["width"]
    heads = width // (128 if width >= 4096 else 64)
    return Decoder(VOCAB, choice["context"], width, choice["layers"], heads)


def activation_bytes(model: Decoder, n: int, texts: int, *, fused: bool, again: bool) -> int:
    """Lo que queda guardado en 32 bits para derivar: ``fused``, sin las tablas de atención;
    ``again``, de cada bloque solo su entrada, y uno abierto.
    """
    rows, d, f = texts * n, model.d_model, model.d_ff or 0
    table = 0 if fused else texts * model.n_heads * n * n
    block = 8 * rows * d + 2 * rows * f + table
    blocks = model.n_layers * rows * d + block if again else model.n_layers * block
    return 4 * (blocks + 2 * rows * d + rows * model.vocab)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BudgetExplorer(Explorer):
    """El explorador del presupuesto. Se construye con :func:`budget`.

    ``start`` es lo elegido al principio; ``room``, los bytes de cada GPU, y ``speed``, los FLOP por
    segundo que puede hacer.
    """

    kind: ClassVar[str] = "budget"
    start: Choice
    room: float
    speed: float
    title: str = "¿Cabe, y cuánto tarda?"
    question: str | None = "¿Con cuántas GPU cabe GPT-3, y qué hay que hacer para que quepa?"
    name: str = "presupuesto"

    def compute(self, **choice: Any) -> dict[str, Any]:
        """La misma cuenta que la página; lo que no se dice es lo del principio.

        ``parameters``; ``memory``, los bytes de cada parte en cada GPU; ``flops``, los de todo el
        entrenamiento, y ``rule``, los de la regla; ``seconds``, lo que tarda, y ``fits``, si cabe.
        """
        at = self.start | choice
        model, n = sizes(at), at["context"]
        kept = activation_bytes(model, n, at["texts"], fused=at["fused"], again=at["again"])
        memory = training_memory(
            model.parameters, processes=at["processes"], stage=at["stage"], activations=kept
        )
        forward = model.forward_flops(n)
        once_more = at["again"] * (forward - 2 * n * model.d_model * model.vocab)
        flops = at["tokens"] / n * (3 * forward + once_more)
        return {
            "parameters": model.parameters,
            "memory": list(memory),
            "flops": flops,
            "rule": training_flops(model.parameters, at["tokens"]),
            "seconds": flops / (at["processes"] * self.speed * at["use"] / 100),
            "fits": memory.total <= self.room,
        }

    def least(self, **choice: Any) -> int | None:
        """El menor número de GPU con que cabe, de los que se pueden elegir; o ninguno."""
        found = (p for p in SCALES["processes"] if self.compute(**choice, processes=p)["fits"])
        return next(found, None)

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript."""
        return {
            "scales": SCALES,
            "stages": STAGES,
            "models": MODELS,
            "parts": PARTS,
            "start": self.start,
            "vocab": VOCAB,
            "room": self.room,
            "speed": self.speed,
        }

    def static(self) -> str:
        """Los modelos con nombre, con lo demás del principio."""
        rows = []
        for name, shape in MODELS.items():
            found = self.compute(**shape)
            gigas = [number(part / 1e9) for part in found["memory"]]
            rows.append([name, number(found["parameters"] / 1e6, 0), *gigas])
        head = ["modelo", "millones de parámetros", *(f"GB de {part}" for part in PARTS)]
        return static_table("Lo que pide entrenar en cada GPU", head, rows)

    def summary(self) -> str:
        """Una línea para la terminal."""
        millions = self.compute()["parameters"] / 1e6
        return f"Presupuesto de un entrenamiento: un modelo de {number(millions, 0)} millones"


def budget(
    *,
    room: float = 80e9,
    speed: float = 9.9e14,
    start: dict[str, Any] | None = None,
    **texts: Unpack[Texts],
) -> BudgetExplorer:
    """Devuelve el explorador de lo que pide entrenar un modelo como GPT-2 en 32 bits con AdamW.

    Se eligen la anchura (``width``), las capas (``layers``), los tokens de cada texto
    (``context``), los textos de cada GPU (``texts``), las GPU (``processes``), la etapa de ZeRO
    (``stage``), si se guardan las tablas de atención (``fused``, no) y se recalculan los bloques
    (``again``), los tokens que se leen en total y la MFU en tanto por ciento (``use``). ``start``
    dice con qué se empieza. Cada GPU tiene ``room`` bytes y hace ``speed`` FLOP por segundo.

    Errores: ``ValueError`` si algo de ``start`` no se puede elegir, o ``room`` o ``speed`` no son
    positivos.
    """
    chosen = {
        **MODELS["GPT-2"],
        **{"texts": 8, "processes": 8, "stage": 0, "fused": True, "again": False},
        **{"tokens": 10**10, "use": 40},
        **(start or {}),
    }
    options = {**SCALES, "stage": range(4), "fused": (False, True), "again": (False, True)}
    for key, value in chosen.items():
        check_option(key, "start", options)
        check_option(value, key, options[key])
    for key, value in (("room", room), ("speed", speed)):
        if not 0 < value < float("inf"):
            raise ValueError(f"{key}: llegó {value!r}; se esperaba un número positivo")
    return BudgetExplorer(start=chosen, room=float(room), speed=float(speed), **texts)
