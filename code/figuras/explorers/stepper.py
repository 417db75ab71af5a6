"""El paso a paso: puntuar → escalar → enmascarar → normalizar → promediar sobre una frase con
números de verdad.

Con proyecciones empieza un paso antes, en proyectar. Con un eje ``head`` delante aparece un mando
que muestra el mapa de cada cabeza y deja elegirla; con la matriz de salida, además, hay un último
paso, unir.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Unpack

import torch
from torch import Tensor

from atento import masks
from figuras.explorers.base import (
    Explorer,
    Texts,
    check_count,
    check_labels,
    check_option,
    check_table,
    number,
    static_table,
)

__all__ = ["STEPS", "StepperExplorer", "stepper"]

STEPS = ("proyectar", "puntuar", "escalar", "enmascarar", "normalizar", "promediar", "unir")
"""Los pasos, con los nombres de todo el libro. «proyectar» pide proyecciones, y «unir», la
matriz de salida."""

_CONTROLS = ("scale", "mask", "temperature")
_Mask = Literal["none", "causal", "given"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StepperExplorer(Explorer):
    """El explorador de la atención paso a paso. Se construye con :func:`stepper`.

    ``query``, ``key`` y ``value`` tienen la forma ``(head, posiciones, d)`` y ya están proyectados;
    ``inputs`` y ``projections`` guardan de dónde salen, si salen de algún sitio.
    """

    kind: ClassVar[str] = "stepper"
    words: tuple[str, ...]
    queries: tuple[str, ...]
    query: Tensor
    key: Tensor
    value: Tensor
    inputs: tuple[Tensor, ...]
    projections: tuple[Tensor, ...] | None
    mask: Tensor | None
    mask_label: str
    features: tuple[str, ...]
    output_matrix: Tensor | None
    output_features: tuple[str, ...]
    head_names: tuple[str, ...]
    initial: dict[str, Any]
    controls: tuple[str, ...]
    title: str = "La atención, paso a paso"
    name: str = "pasos"

    @property
    def steps(self) -> tuple[str, ...]:
        """Los nombres de los pasos que tiene este explorador."""
        return STEPS[self.projections is None : len(STEPS) - (self.output_matrix is None)]

    def allowed(self) -> dict[str, Tensor]:
        """Quién puede atender a quién con cada máscara, ``(query, key)`` booleanas: ``none``,
        ``causal`` (si es cuadrada) y ``given`` (si se dio).
        """
        shape = (len(self.queries), len(self.words))
        tables = {"none": torch.ones(shape, dtype=torch.bool)}
        if shape[0] == shape[1]:
            tables["causal"] = masks.causal_mask(shape[0])
        return tables if self.mask is None else tables | {"given": self.mask}

    def masks(self) -> tuple[str, ...]:
        """Los nombres de las máscaras que se pueden elegir."""
        return tuple(self.allowed())

    def compute(
        self, *, head: int = 0, scaled: bool = True, mask: _Mask = "none", temperature: float = 1.0
    ) -> dict[str, Tensor]:
        """Lo que muestra la página en cada paso: el gemelo en Python, en float64.

        ``scores``, ``scaled``, ``masked`` y ``weights`` son ``(query, key)``; ``output``, ``(query,
        d_value)``. ``scaled`` divide entre ``√d_k``; ``temperature`` divide además entre sí misma.
        Una fila con todo tapado da pesos y salida 0, como en :mod:`atento.attention`. Con la matriz
        de salida, ``joined`` ``(query, head · d_value)`` son las salidas de todas las cabezas, una
        tras otra, y ``united`` ``(query, d_model)``, su producto por ella.

        Errores: ``ValueError`` si este explorador no ofrece esa máscara.
        """
        allowed = self.allowed()[check_option(mask, "mask", self.masks())]
        scores = self.query @ self.key.mT
        divided = scores / ((math.sqrt(self.query.shape[-1]) if scaled else 1.0) * temperature)
        masked = divided.masked_fill(~allowed, -math.inf)
        weights = masked.softmax(dim=-1).nan_to_num(0.0)
        output = weights @ self.value
        values = {
            "scores": scores[head],
            "scaled": divided[head],
            "masked": masked[head],
            "weights": weights[head],
            "output": output[head],
        }
        if self.output_matrix is None:
            return values
        joined = output.transpose(0, 1).flatten(1)
        return values | {"joined": joined, "united": joined @ self.output_matrix}

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript."""
        matrices, output = self.projections, self.output_matrix
        return {
            "words": self.words,
            "queries": self.queries,
            "inputs": [table.tolist() for table in self.inputs],
            "projections": None if matrices is None else [one.tolist() for one in matrices],
            "mask": None if self.mask is None else self.mask.int().tolist(),
            "maskLabel": self.mask_label,
            "masks": self.masks(),
            "features": self.features,
            "output": None if output is None else output.tolist(),
            "outputFeatures": self.output_features,
            "headNames": self.head_names,
            "initial": self.initial,
            "controls": self.controls,
        }

    def static(self) -> str:
        """Los pasos de la fila inicial, los pesos de todas y, si hay varias cabezas, esa fila en
        cada una.
        """
        row, count = self.initial["row"], len(self.query)
        options = {name: self.initial[name] for name in ("scaled", "mask", "temperature")}
        heads = [self.compute(head=head, **options) for head in range(count)]
        names = self.head_names or [f"cabeza {head + 1}" for head in range(count)]
        asked = f"«{self.queries[row]}»"

        def line(label: str, values: dict[str, Tensor], i: int) -> list[str]:
            received = _labelled(values["output"][i], self.features)
            return [label, *map(number, values["weights"][i]), received]

        own = heads[self.initial["head"]]
        steps = [own[one][row].tolist() for one in ("scores", "scaled", "masked", "weights")]
        lines = [
            [word, *map(number, numbers)] for word, *numbers in zip(self.words, *steps, strict=True)
        ]
        title = f"Lo que calcula {asked}, paso a paso"
        tables = [static_table(title, ["clave", *STEPS[1:5]], lines)]
        columns = ["", *self.words, "promediar"]
        for name, values in zip(names, heads, strict=True):
            title = "Pesos de cada palabra y lo que recibe" + (f" ({name})" if count > 1 else "")
            lines = [line(word, values, i) for i, word in enumerate(self.queries)]
            tables.append(static_table(title, columns, lines))
        if count > 1:
            lines = [line(name, values, row) for name, values in zip(names, heads, strict=True)]
            if self.output_matrix is not None:
                united = _labelled(heads[0]["united"][row], self.output_features)
                lines.append(["unir", *[""] * len(self.words), united])
            tables.append(static_table(f"{asked} en cada cabeza", columns, lines))
        return "".join(tables)

    def summary(self) -> str:
        """Una línea para la terminal."""
        heads = "" if len(self.query) == 1 else f", {len(self.query)} cabezas"
        return (
            f"Atención paso a paso: {len(self.queries)} consultas y {len(self.words)} claves, "
            f"d_k = {self.query.shape[-1]}, d_v = {self.value.shape[-1]}{heads}"
        )


def _labelled(numbers: Tensor, labels: Sequence[str]) -> str:
    """Los números separados por puntos, cada uno tras su rótulo si lo hay."""
    names = [f"{label} " for label in labels] or [""] * len(numbers)
    return " · ".join(name + number(one) for name, one in zip(names, numbers, strict=True))


# --- Construir ------------------------------------------------------------------------------------


def stepper(
    words: Sequence[str],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    queries: Sequence[str] | None = None,
    projections: tuple[Tensor, Tensor, Tensor] | None = None,
    mask: Tensor | Literal["causal"] | None = None,
    mask_label: str = "la dada",
    scale: bool = True,
    temperature: float = 1.0,
    features: Sequence[str] | None = None,
    output: Tensor | None = None,
    output_features: Sequence[str] | None = None,
    head_names: Sequence[str] | None = None,
    row: int = 0,
    step: str | None = None,
    head: int = 0,
    controls: Sequence[str] = _CONTROLS,
    **texts: Unpack[Texts],
) -> StepperExplorer:
    """Devuelve el explorador de la atención paso a paso.

    ``query`` ``(query, d_k)``, ``key`` ``(key, d_k)`` y ``value`` ``(key, d_v)``, o las tres con un
    eje ``head`` delante: entonces se puede elegir cabeza. Con ``projections = (W_Q, W_K, W_V)``,
    cada una ``(d_model, d)`` o ``(head, d_model, d)``, las tres tablas son las entradas
    ``(posiciones, d_model)`` y hay un primer paso, proyectar.

    ``words`` rotula las claves y ``queries`` las consultas (si no se dan, son las mismas). ``mask``
    es ``None``, ``"causal"`` o una tabla booleana ``(query, key)`` con ``True`` donde se puede
    atender; ``mask_label`` dice cómo se llama esa tabla en el mando. ``features`` rotula las
    componentes de los valores y ``head_names``, las cabezas. ``output``, ``(head · d_v,
    d_model)``, es la matriz de salida: con ella hay un último paso, unir, y ``output_features``
    rotula sus columnas. ``scale``, ``temperature``, ``row``, ``step`` y ``head`` son el estado
    inicial, y ``controls``, los mandos que se ofrecen.

    Errores: ``ValueError`` si las formas o los rótulos no casan, si hay números no finitos o si el
    estado inicial no existe.
    """
    parts = _sources((query, key, value), projections)
    parts |= _labels(words, queries, features, head_names, parts)
    given, start = _mask(mask, (len(parts["queries"]), len(parts["words"])))
    initial = {"row": row, "head": head, "step": step, "mask": start, "scaled": bool(scale)}
    explorer = StepperExplorer(
        **parts,
        **_output(output, output_features, parts["value"]),
        **texts,
        mask=given,
        mask_label=str(mask_label),
        initial=initial | {"temperature": _temperature(temperature)},
        controls=_controls(controls),
    )
    _settle(explorer)
    return explorer


def _settle(explorer: StepperExplorer) -> None:
    """Comprueba el estado inicial y elige el primer paso y la clave que más puntúa."""
    initial, query, key = explorer.initial, explorer.query, explorer.key
    row = check_count(initial["row"], "row", 0, len(explorer.queries) - 1)
    head = check_count(initial["head"], "head", 0, len(query) - 1)
    first = explorer.steps[0] if initial["step"] is None else initial["step"]
    initial["step"] = check_option(first, "step", explorer.steps)
    initial["column"] = int((query[head, row] @ key[head].T).argmax())


def _sources(tables: tuple[Any, ...], projections: Any) -> dict[str, Any]:
    """Las tablas dadas, sus matrices, si las hay, y consultas, claves y valores, con su eje
    ``head``.
    """
    inputs, matrices = _projected(tables, projections)
    query, key, value = (
        inputs if matrices is None else [x @ w for x, w in zip(inputs, matrices, strict=True)]
    )
    _agree("key", "d_k", key.shape[2], query.shape[2])
    _agree("value", "posiciones", value.shape[1], key.shape[1])
    _check_heads("query", "con key y value, ", (query, key, value))
    found = {"query": query, "key": key, "value": value}
    return found | {"inputs": inputs, "projections": matrices}


def _labels(
    words: Any, queries: Any, features: Any, head_names: Any, parts: dict[str, Any]
) -> dict[str, Any]:
    """Los rótulos de claves, consultas, componentes de los valores y cabezas."""
    query, key, value = parts["query"], parts["key"], parts["value"]
    words = check_labels(words, "words", key.shape[1], "clave")
    queries = words if queries is None else queries
    return {
        "words": words,
        "queries": check_labels(queries, "queries", query.shape[1], "consulta"),
        "features": _optional(features, "features", value.shape[2], "componente de value"),
        "head_names": _optional(head_names, "head_names", len(query), "cabeza"),
    }


def _output(output: Any, features: Any, value: Tensor) -> dict[str, Any]:
    """La matriz de salida, si se da, y los rótulos de sus columnas."""
    if output is not None:
        output = check_table(output, "output", "(head · d_v, d_model)", (2,))
        _agree("output", "head · d_v", len(output), len(value) * value.shape[2])
    columns = 0 if output is None else output.shape[1]
    names = _optional(features, "output_features", columns, "columna de output")
    return {"output_matrix": output, "output_features": names}


def _temperature(temperature: float) -> float:
    if not 0.1 <= temperature <= 10:
        raise ValueError(f"temperature: llegó {temperature}; se esperaba un número de 0.1 a 10")
    return float(temperature)


def _controls(controls: Sequence[str]) -> tuple[str, ...]:
    if isinstance(controls, str) or not set(controls) <= set(_CONTROLS):
        raise ValueError(f"controls: llegó {controls!r}; se esperaban algunos de {_CONTROLS}")
    return tuple(name for name in _CONTROLS if name in controls)


def _projected(
    tables: tuple[Any, ...], projections: Any
) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...] | None]:
    """Las tablas dadas y, si las hay, sus matrices, todas con su eje ``head``."""
    names, ndim, axes = ("query", "key", "value"), (2, 3), "(posiciones, d) o (head, …, d)"
    if projections is None:
        return _headed(tables, names, axes, ndim), None
    inputs = _headed(tables, names, "(posiciones, d_model)", (2,))
    if not isinstance(projections, tuple | list) or len(projections) != 3:
        raise ValueError("projections: se esperaban tres matrices, (W_Q, W_K, W_V)")
    names = tuple(f"projections[{i}] ({name})" for i, name in enumerate(("W_Q", "W_K", "W_V")))
    matrices = _headed(projections, names, "(d_model, d) o (head, d_model, d)", ndim)
    for name, matrix, table in zip(names, matrices, inputs, strict=True):
        _agree(name, "d_model", matrix.shape[1], table.shape[2])
    _check_heads("projections", "", matrices)
    return inputs, matrices


def _headed(
    tables: Sequence[Any], names: Sequence[str], axes: str, ndim: tuple[int, ...]
) -> tuple[Tensor, ...]:
    checked = (check_table(t, name, axes, ndim) for t, name in zip(tables, names, strict=True))
    return tuple(table if table.ndim == 3 else table[None] for table in checked)


def _agree(name: str, what: str, got: int, wanted: int) -> None:
    if got != wanted:
        raise ValueError(f"{name}: llegó {what} = {got}; se esperaba {wanted}")


def _check_heads(name: str, beside: str, tables: Sequence[Tensor]) -> None:
    if len(set(counts := [len(table) for table in tables])) > 1:
        raise ValueError(f"{name}: {beside}llegaron {counts} cabezas; deben coincidir")


def _mask(mask: Any, shape: tuple[int, int]) -> tuple[Tensor | None, _Mask]:
    """La tabla dada (si se dio) y el nombre de la máscara con la que se empieza."""
    if mask is None:
        return None, "none"
    if isinstance(mask, str) and mask == "causal" and shape[0] == shape[1]:
        return None, "causal"
    if not isinstance(mask, str):
        table = torch.as_tensor(mask)
        if table.dtype == torch.bool and tuple(table.shape) == shape:
            return table.cpu(), "given"
        mask = f"{table.dtype} {tuple(table.shape)}"
    raise ValueError(
        f"mask: llegó {mask}; se esperaba una tabla booleana {shape} o, si es cuadrada, 'causal'"
    )


def _optional(labels: Sequence[str] | None, name: str, count: int, what: str) -> tuple[str, ...]:
    """Los rótulos, comprobados; o ninguno, si no se dieron."""
    return check_labels(labels, name, count, what) if labels else ()
