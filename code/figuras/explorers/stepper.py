"""El paso a paso: puntuar → escalar → enmascarar → normalizar → promediar sobre una frase con
números de verdad.

Con proyecciones empieza un paso antes, en proyectar. Con un eje ``head`` delante aparece un mando
que muestra el mapa de cada cabeza y deja elegirla; con la matriz de salida, además, hay un último
paso, unir.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Unpack

import torch
from torch import Tensor

from atento import masks
from figuras.explorers.base import (
    Explorer,
    Texts,
    check_labels,
    check_table,
    number,
    static_table,
)

__all__ = ["STEPS", "StepperExplorer", "stepper"]

STEPS = ("proyectar", "puntuar", "escalar", "enmascarar", "normalizar", "promediar", "unir")
"""Los pasos, con los nombres de todo el libro. «proyectar» pide proyecciones, y «unir», la
matriz de salida."""

_MASKS = ("none", "causal", "given")
_Mask = Literal["none", "causal", "given"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StepperExplorer(Explorer):
    """El explorador de la atención paso a paso. Se construye con :func:`stepper`.

    ``query``, ``key`` y ``value`` tienen la forma ``(head, posiciones, d)`` y ya están proyectados;
    ``inputs`` y
    ``projections`` guardan de dónde salen, si salen de algún sitio.
    """

    kind: ClassVar[str] = "stepper"
    words: tuple[str, ...]
    queries: tuple[str, ...]
    query: Tensor
    key: Tensor
    value: Tensor
    inputs: tuple[Tensor, Tensor, Tensor]
    projections: tuple[Tensor, Tensor, Tensor] | None
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
        steps = STEPS if self.projections is not None else STEPS[1:]
        return steps if self.output_matrix is not None else steps[:-1]

    def masks(self) -> tuple[str, ...]:
        """Las máscaras que se pueden elegir: ``none``, ``causal`` (si es cuadrada) y ``given`` (si
        se dio).
        """
        square = len(self.queries) == len(self.words)
        return (
            "none",
            *(("causal",) if square else ()),
            *(("given",) if self.mask is not None else ()),
        )

    def allowed(self, mask: _Mask = "none") -> Tensor:
        """Quién puede atender a quién con esa máscara: ``(query, key)`` booleana, ``True`` = puede.

        Errores: ``ValueError`` si este explorador no ofrece esa máscara.
        """
        if mask not in self.masks():
            raise ValueError(f"mask: llegó {mask!r}; se esperaba una de {', '.join(self.masks())}")
        if mask == "given":
            return self.mask
        shape = (len(self.queries), len(self.words))
        return (
            masks.causal_mask(shape[0]) if mask == "causal" else torch.ones(shape, dtype=torch.bool)
        )

    def compute(
        self, *, head: int = 0, scaled: bool = True, mask: _Mask = "none", temperature: float = 1.0
    ) -> dict[str, Tensor]:
        """Lo que muestra la página en cada paso: el gemelo en Python, en float64.

        ``scores``, ``scaled``, ``masked`` y ``weights`` son ``(query, key)``; ``output``, ``(query,
        d_value)``.
        ``scaled`` divide entre ``√d_k``; ``temperature`` divide además entre sí misma. Una fila con
        todo tapado da pesos y salida 0, como en :mod:`atento.attention`. Con la matriz de salida,
        ``joined`` ``(query, head · d_value)`` son las salidas de todas las cabezas, una tras otra,
        y ``united`` ``(query, d_model)``, su producto por ella.
        """
        values = self._attend(head, scaled, mask, temperature)
        if self.output_matrix is None:
            return values
        every = (self._attend(one, scaled, mask, temperature) for one in range(len(self.query)))
        joined = torch.cat([one["output"] for one in every], dim=-1)
        return values | {"joined": joined, "united": joined @ self.output_matrix}

    def _attend(
        self, head: int, scaled: bool, mask: _Mask, temperature: float
    ) -> dict[str, Tensor]:
        scores = self.query[head] @ self.key[head].T
        divided = scores / ((math.sqrt(self.query.shape[-1]) if scaled else 1.0) * temperature)
        masked = divided.masked_fill(~self.allowed(mask), -math.inf)
        weights = masked.softmax(dim=-1).nan_to_num(0.0)
        output = weights @ self.value[head]
        return {
            "scores": scores,
            "scaled": divided,
            "masked": masked,
            "weights": weights,
            "output": output,
        }

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript."""
        projections = (
            None if self.projections is None else [matrix.tolist() for matrix in self.projections]
        )
        return {
            "words": self.words,
            "queries": self.queries,
            "inputs": [table.tolist() for table in self.inputs],
            "projections": projections,
            "mask": None if self.mask is None else self.mask.int().tolist(),
            "maskLabel": self.mask_label,
            "masks": self.masks(),
            "features": self.features,
            "output": None if self.output_matrix is None else self.output_matrix.tolist(),
            "outputFeatures": self.output_features,
            "headNames": self.head_names,
            "initial": self.initial,
            "controls": self.controls,
        }

    def _initial_values(self) -> dict[str, Tensor]:
        names = ("head", "scaled", "mask", "temperature")
        return self.compute(**{name: self.initial[name] for name in names})

    def static(self) -> str:
        """Dos tablas: los pasos de la fila inicial y los pesos de todas."""
        row, values = self.initial["row"], self._initial_values()
        steps = ["scores", "scaled", "masked", "weights"]
        lines = [
            [word, *(number(values[step][row, column]) for step in steps)]
            for column, word in enumerate(self.words)
        ]
        head = ["clave", "puntuar", "escalar", "enmascarar", "normalizar"]
        first = static_table(f"Lo que calcula «{self.queries[row]}», paso a paso", head, lines)
        return first + self._static_weights() + self._static_heads(row)

    def _names(self) -> Sequence[str]:
        return self.head_names or [f"cabeza {head + 1}" for head in range(len(self.query))]

    def _static_weights(self) -> str:
        """Los pesos de todas las filas y lo que recibe cada una, cabeza a cabeza."""
        options = {name: self.initial[name] for name in ("scaled", "mask", "temperature")}
        tables = []
        for head, name in enumerate(self._names()):
            values = self.compute(head=head, **options)
            rows = [
                [word, *map(number, weights), _labelled(output, self.features)]
                for word, weights, output in zip(
                    self.queries, values["weights"].tolist(), values["output"].tolist(), strict=True
                )
            ]
            which = "" if len(self.query) == 1 else f" ({name})"
            title = f"Pesos de cada palabra y lo que recibe{which}"
            tables.append(static_table(title, ["", *self.words, "promediar"], rows))
        return "".join(tables)

    def _static_heads(self, row: int) -> str:
        """La fila inicial en todas las cabezas, si hay varias."""
        if len(self.query) == 1:
            return ""
        options = {name: self.initial[name] for name in ("scaled", "mask", "temperature")}
        rows = []
        for head, name in enumerate(self._names()):
            values = self.compute(head=head, **options)
            rows.append(
                [
                    name,
                    *map(number, values["weights"][row]),
                    _labelled(values["output"][row], self.features),
                ]
            )
        if self.output_matrix is not None:
            united = _labelled(values["united"][row], self.output_features)
            rows.append(["unir", *[""] * len(self.words), united])
        title = f"«{self.queries[row]}» en cada cabeza"
        return static_table(title, ["", *self.words, "promediar"], rows)

    def summary(self) -> str:
        """Una línea para la terminal."""
        heads = "" if len(self.query) == 1 else f", {len(self.query)} cabezas"
        return (
            f"Atención paso a paso: {len(self.queries)} consultas y {len(self.words)} claves, "
            f"d_k = {self.query.shape[-1]}, d_v = {self.value.shape[-1]}{heads}"
        )


def _labelled(numbers: Iterable[float], labels: Sequence[str]) -> str:
    """Los números separados por puntos, cada uno tras su rótulo si lo hay."""
    shown = [number(one) for one in numbers]
    if labels:
        shown = [f"{label} {one}" for label, one in zip(labels, shown, strict=True)]
    return " · ".join(shown)


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
    controls: Sequence[str] = ("scale", "mask", "temperature"),
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
    rotula sus columnas. ``scale``, ``temperature``, ``row``, ``step`` y
    ``head`` son el estado inicial, y ``controls``, los mandos que se ofrecen. ``question`` se lee
    arriba y ``answer`` queda plegada.

    Errores: ``ValueError`` si las formas o los rótulos no casan, si hay números no finitos o si el
    estado inicial no existe.
    """
    tables = _projected((query, key, value), projections)
    parts = tables | _labels(words, queries, features, head_names, tables)
    given, start = _mask(mask, (len(parts["queries"]), len(parts["words"])))
    initial = {"row": row, "head": head, "step": step, "mask": start, "scaled": bool(scale)}
    explorer = StepperExplorer(
        **parts,
        **_output(output, tables["value"], output_features),
        **texts,
        mask=given,
        mask_label=str(mask_label),
        initial=initial | {"temperature": _temperature(temperature)},
        controls=_controls(controls),
    )
    return _settled(explorer, row, head, step)


def _labels(
    words: Any, queries: Any, features: Any, head_names: Any, tables: dict[str, Any]
) -> dict[str, Any]:
    """Los rótulos de claves, consultas, componentes de los valores y cabezas."""
    words = check_labels(words, "words", tables["key"].shape[1], "clave")
    return {
        "words": words,
        "queries": _queries(queries, words, tables["query"].shape[1]),
        "features": _optional(
            features, "features", tables["value"].shape[2], "componente de value"
        ),
        "head_names": _optional(head_names, "head_names", len(tables["query"]), "cabeza"),
    }


def _projected(tables: tuple[Any, ...], projections: Any) -> dict[str, Any]:
    """Las entradas, las matrices (si las hay) y consultas, claves y valores con su eje ``head``."""
    inputs = _inputs(*tables, with_projections=projections is not None)
    if projections is None:
        projected, matrices = inputs, None
    else:
        matrices = _projections(projections, inputs)
        projected = tuple(table @ matrix for table, matrix in zip(inputs, matrices, strict=True))
    _check_projected(*projected)
    named = dict(zip(("query", "key", "value"), projected, strict=True))
    return named | {"inputs": inputs, "projections": matrices}


def _queries(queries: Sequence[str] | None, words: tuple[str, ...], count: int) -> tuple[str, ...]:
    if queries is not None:
        return check_labels(queries, "queries", count, "consulta")
    if count != len(words):
        raise ValueError(
            f"queries: hay {count} consultas y {len(words)} claves; hacen falta sus rótulos"
        )
    return words


def _inputs(
    query: Any, key: Any, value: Any, *, with_projections: bool
) -> tuple[Tensor, Tensor, Tensor]:
    ndim, axes = (
        ((2,), "(posiciones, d_model)")
        if with_projections
        else ((2, 3), "(posiciones, d) o (head, …, d)")
    )
    tables = [
        check_table(t, n, axes, ndim) for t, n in ((query, "query"), (key, "key"), (value, "value"))
    ]
    return tuple(table if table.ndim == 3 else table[None] for table in tables)


def _projections(projections: Any, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    if not isinstance(projections, tuple | list) or len(projections) != 3:
        raise ValueError("projections: se esperaban tres matrices, (W_Q, W_K, W_V)")
    names, matrices = ("projections[0] (W_Q)", "projections[1] (W_K)", "projections[2] (W_V)"), []
    for name, matrix, table in zip(names, projections, inputs, strict=True):
        matrix = check_table(matrix, name, "(d_model, d) o (head, d_model, d)", (2, 3))
        matrix = matrix if matrix.ndim == 3 else matrix[None]
        if matrix.shape[1] != table.shape[2]:
            raise ValueError(
                f"{name}: llegó d_model = {matrix.shape[1]}; se esperaba {table.shape[2]}"
            )
        matrices.append(matrix)
    if len({len(matrix) for matrix in matrices}) > 1:
        raise ValueError("projections: las tres matrices deben tener el mismo número de cabezas")
    return tuple(matrices)


def _check_projected(query: Tensor, key: Tensor, value: Tensor) -> None:
    if query.shape[2] != key.shape[2]:
        raise ValueError(
            f"key: llegó d_k = {key.shape[2]}; se esperaba {query.shape[2]}, la de query"
        )
    if value.shape[1] != key.shape[1]:
        raise ValueError(
            f"value: llegaron {value.shape[1]} valores; se esperaban {key.shape[1]}, uno por clave"
        )
    if not len(query) == len(key) == len(value):
        raise ValueError(
            f"query: con key y value, llegaron {len(query)}, {len(key)} y {len(value)} cabezas;"
            " deben coincidir"
        )


def _mask(mask: Any, shape: tuple[int, int]) -> tuple[Tensor | None, _Mask]:
    """La tabla dada (si se dio) y el nombre de la máscara con la que se empieza."""
    if mask is None:
        return None, "none"
    if isinstance(mask, str):
        if mask != "causal" or shape[0] != shape[1]:
            raise ValueError(
                f"mask: llegó {mask!r}; se esperaba una tabla booleana {shape} o, si es cuadrada,"
                " 'causal'"
            )
        return None, "causal"
    table = torch.as_tensor(mask)
    if table.dtype != torch.bool or tuple(table.shape) != shape:
        raise ValueError(
            f"mask: llegó {table.dtype} {tuple(table.shape)}; se esperaba una tabla booleana"
            f" {shape}"
        )
    return table.cpu(), "given"


def _optional(labels: Sequence[str] | None, name: str, count: int, what: str) -> tuple[str, ...]:
    """Los rótulos, comprobados; o ninguno, si no se dieron."""
    return check_labels(labels, name, count, what) if labels else ()


def _output(output: Any, value: Tensor, features: Any) -> dict[str, Any]:
    """La matriz de salida y los rótulos de sus columnas: tiene tantas filas como componentes reúnen
    las cabezas.
    """
    if output is None:
        none = _optional(features, "output_features", 0, "columna de output")
        return {"output_matrix": None, "output_features": none}
    matrix, rows = (
        check_table(output, "output", "(head · d_v, d_model)", (2,)),
        len(value) * value.shape[2],
    )
    if len(matrix) != rows:
        raise ValueError(f"output: llegaron {len(matrix)} filas; se esperaban head · d_v = {rows}")
    labels = _optional(features, "output_features", matrix.shape[1], "columna de output")
    return {"output_matrix": matrix, "output_features": labels}


def _temperature(temperature: float) -> float:
    if not 0.1 <= temperature <= 10:
        raise ValueError(f"temperature: llegó {temperature}; se esperaba un número de 0.1 a 10")
    return float(temperature)


def _controls(controls: Sequence[str]) -> tuple[str, ...]:
    known = ("scale", "mask", "temperature")
    if isinstance(controls, str) or not set(controls) <= set(known):
        raise ValueError(
            f"controls: llegó {controls!r}; se esperaban algunos de {', '.join(known)}"
        )
    return tuple(name for name in known if name in controls)


def _settled(explorer: StepperExplorer, row: int, head: int, step: str | None) -> StepperExplorer:
    """Comprueba el estado inicial y pone nombre al primer paso si no se dijo."""
    if not 0 <= row < len(explorer.queries):
        raise ValueError(
            f"row: llegó {row}; se esperaba una fila de 0 a {len(explorer.queries) - 1}"
        )
    if not 0 <= head < len(explorer.query):
        raise ValueError(
            f"head: llegó {head}; se esperaba una cabeza de 0 a {len(explorer.query) - 1}"
        )
    step = explorer.steps[0] if step is None else step
    if step not in explorer.steps:
        raise ValueError(f"step: llegó {step!r}; se esperaba uno de {', '.join(explorer.steps)}")
    explorer.initial["step"] = step
    explorer.initial["column"] = int((explorer.query[head, row] @ explorer.key[head].T).argmax())
    return explorer
