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
from typing import Any, ClassVar, Unpack

from torch import Tensor

from atento import masks
from figuras.explorers.base import (
    Explorer,
    Texts,
    check_count,
    check_labels,
    check_option,
    check_some,
    check_table,
    number,
    static_table,
)

__all__ = ["STEPS", "StepperExplorer", "stepper"]

STEPS = ("proyectar", "puntuar", "escalar", "enmascarar", "normalizar", "promediar", "unir")
"""Los pasos, con los nombres de todo el libro. «proyectar» pide proyecciones, y «unir», la
matriz de salida."""

_CONTROLS = ("scale", "mask", "temperature")


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

    def masks(self) -> tuple[str, ...]:
        """Las máscaras que se pueden elegir: ``none`` y, si hay tantas consultas como claves,
        ``causal``.
        """
        return ("none", "causal") if len(self.queries) == len(self.words) else ("none",)

    def compute(
        self, *, head: int = 0, scaled: bool = True, mask: str = "none", temperature: float = 1.0
    ) -> dict[str, Tensor]:
        """Lo que muestra la página en cada paso: el gemelo en Python, en float64.

        ``scores``, ``scaled``, ``masked`` y ``weights`` son ``(query, key)``; ``output``, ``(query,
        d_value)``. ``scaled`` divide entre ``√d_k``; ``temperature`` divide además entre sí misma.
        Con la matriz de salida, ``joined`` ``(query, head · d_value)`` son las salidas de todas las
        cabezas, una tras otra, y ``united`` ``(query, d_model)``, su producto por ella.

        Errores: ``ValueError`` si este explorador no ofrece esa máscara.
        """
        check_option(mask, "mask", self.masks())
        tables = {"scores": self.query @ self.key.mT}
        divisor = (math.sqrt(self.query.shape[-1]) if scaled else 1.0) * temperature
        masked = tables["scaled"] = tables["scores"] / divisor
        if mask == "causal":
            masked = masked.masked_fill(~masks.causal_mask(len(self.words)), -math.inf)
        weights = masked.softmax(dim=-1)
        tables |= {"masked": masked, "weights": weights, "output": weights @ self.value}
        values = {name: table[head] for name, table in tables.items()}
        if self.output_matrix is None:
            return values
        joined = tables["output"].transpose(0, 1).flatten(1)
        return values | {"joined": joined, "united": joined @ self.output_matrix}

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript."""
        matrices, output = self.projections, self.output_matrix
        return {
            "words": self.words,
            "queries": self.queries,
            "inputs": [table.tolist() for table in self.inputs],
            "projections": None if matrices is None else [one.tolist() for one in matrices],
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
        heads = [self.compute(head=k, scaled=self.initial["scaled"]) for k in range(count)]
        names = self.head_names or [f"cabeza {head + 1}" for head in range(count)]
        asked = f"«{self.queries[row]}»"

        def line(label: str, values: dict[str, Tensor], i: int) -> list[str]:
            received = _labelled(values["output"][i], self.features)
            return [label, *map(number, values["weights"][i]), received]

        steps = [heads[0][one][row].tolist() for one in ("scores", "scaled", "masked", "weights")]
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
    scale: bool = True,
    features: Sequence[str] | None = None,
    output: Tensor | None = None,
    output_features: Sequence[str] | None = None,
    head_names: Sequence[str] | None = None,
    row: int = 0,
    step: str | None = None,
    controls: Sequence[str] = _CONTROLS,
    **texts: Unpack[Texts],
) -> StepperExplorer:
    """Devuelve el explorador de la atención paso a paso.

    ``query`` ``(query, d_k)``, ``key`` ``(key, d_k)`` y ``value`` ``(key, d_v)``, o las tres con un
    eje ``head`` delante: entonces se puede elegir cabeza. Con ``projections = (W_Q, W_K, W_V)``,
    cada una ``(d_model, d)`` o ``(head, d_model, d)``, las tres tablas son las entradas
    ``(posiciones, d_model)`` y hay un primer paso, proyectar.

    ``words`` rotula las claves y ``queries`` las consultas (si no se dan, son las mismas);
    ``features``, las componentes de los valores, y ``head_names``, las cabezas. ``output``,
    ``(head · d_v, d_model)``, es la matriz de salida: con ella hay un último paso, unir, y
    ``output_features`` rotula sus columnas. ``scale``, ``row`` y ``step`` son el estado inicial, y
    ``controls``, los mandos que se ofrecen.

    Errores: ``ValueError`` si las formas o los rótulos no casan, si hay números no finitos o si el
    estado inicial no existe.
    """
    inputs, matrices = _sources((query, key, value), projections)
    query, key, value = _vectors(inputs, matrices)
    output = _united(output, value)
    words = check_labels(words, "words", key.shape[1], "clave")
    queries = words if queries is None else queries
    queries = check_labels(queries, "queries", query.shape[1], "consulta")
    columns = 0 if output is None else output.shape[1]
    check_count(row, "row", 0, len(queries) - 1)
    controls = check_some(controls, "controls", _CONTROLS)
    initial = {"row": row, "head": 0, "mask": "none", "scaled": bool(scale), "temperature": 1.0}
    initial["column"] = int((query[0, row] @ key[0].T).argmax())
    explorer = StepperExplorer(
        words=words, queries=queries, query=query, key=key, value=value,
        inputs=inputs, projections=matrices, output_matrix=output,
        features=_optional(features, "features", value.shape[2], "componente de value"),
        output_features=_optional(output_features, "output_features", columns, "columna de output"),
        head_names=_optional(head_names, "head_names", len(query), "cabeza"),
        controls=controls, initial=initial, **texts,
    )  # fmt: skip
    first = explorer.steps[0] if step is None else step
    initial["step"] = check_option(first, "step", explorer.steps)
    return explorer


def _sources(
    tables: tuple[Any, ...], projections: Any
) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...] | None]:
    """Las tablas dadas y, si las hay, sus matrices, todas con su eje ``head``."""
    names = ["query", "key", "value"]
    if projections is None:
        return _headed(tables, names, "(posiciones, d) o (head, posiciones, d)", (2, 3)), None
    inputs = _headed(tables, names, "(posiciones, d_model)", (2,))
    if not isinstance(projections, tuple | list) or len(projections) != 3:
        raise ValueError("projections: se esperaban tres matrices, (W_Q, W_K, W_V)")
    names = [f"projections[{i}] ({name})" for i, name in enumerate(("W_Q", "W_K", "W_V"))]
    matrices = _headed(projections, names, "(d_model, d) o (head, d_model, d)", (2, 3))
    for name, matrix, table in zip(names, matrices, inputs, strict=True):
        _agree(name, "d_model", matrix.shape[1], table.shape[2])
    return inputs, matrices


def _vectors(inputs: tuple[Tensor, ...], matrices: tuple[Tensor, ...] | None) -> tuple[Tensor, ...]:
    """Consultas, claves y valores: lo dado o lo que sale de proyectarlo."""
    vectors = inputs
    if matrices is not None:
        vectors = tuple(x @ w for x, w in zip(inputs, matrices, strict=True))
    query, key, value = vectors
    _agree("key", "d_k", key.shape[2], query.shape[2])
    _agree("value", "posiciones", value.shape[1], key.shape[1])
    return vectors


def _united(output: Any, value: Tensor) -> Tensor | None:
    """La matriz de salida, si la hay, con una fila por componente de las cabezas juntas."""
    if output is None:
        return None
    table = check_table(output, "output", "(head · d_v, d_model)", (2,))
    _agree("output", "head · d_v", len(table), len(value) * value.shape[2])
    return table


def _headed(
    tables: Sequence[Any], names: Sequence[str], axes: str, ndim: tuple[int, ...]
) -> tuple[Tensor, ...]:
    """Las tres, con su eje ``head``, que ha de medir lo mismo en todas."""
    checked = [check_table(t, name, axes, ndim) for t, name in zip(tables, names, strict=True)]
    found = tuple(table if table.ndim == 3 else table[None] for table in checked)
    if len(set(counts := list(map(len, found)))) > 1:
        raise ValueError(f"{names[0]}: con las otras dos, llegaron {counts} cabezas; no coinciden")
    return found


def _agree(name: str, what: str, got: int, wanted: int) -> None:
    if got != wanted:
        raise ValueError(f"{name}: llegó {what} = {got}; se esperaba {wanted}")


def _optional(labels: Sequence[str] | None, name: str, count: int, what: str) -> tuple[str, ...]:
    """Los rótulos, comprobados; o ninguno, si no se dieron."""
    return check_labels(labels, name, count, what) if labels else ()
