"""La mezcla: pesos que reparten una unidad y lo que sale al promediar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from figuras.diagrams.canvas import (
    COLORS,
    MUTED,
    PAGE,
    SMALL,
    TINT,
    WEIGHT,
    Canvas,
    as_matrix,
    as_role,
    as_words,
    measure,
    number,
    widest_number,
)
from figuras.plots.style import as_numbers

_BAR = 20.0  # alto de una barra
_ROW = 34.0


def mixture(
    labels: Sequence[str],
    weights: Any,
    values: Any,
    *,
    result: str,
    role: str = "value",
    headers: tuple[str, str] = ("peso", "valor"),
    unit: str = "",
    spec: str = ".2f",
    weight_spec: str = ".2f",
) -> Figure:
    """Valores que se mezclan en uno según sus pesos: números (precios) o filas (vectores).

    labels: (n) nombres; weights: (n) pesos que suman 1; values: (n) números positivos o (n, d)
    vectores. result: nombre de lo que sale, weights @ values, que se calcula aquí; unit: unidad de
    los números. role: papel de los valores; headers: rótulos de las dos columnas; spec,
    weight_spec: formato de los números.

    Errores: ``ValueError`` si los tamaños no casan, si los pesos no suman 1 o si un número que se
    apila es negativo.
    Ejemplo: ``diagrams.mixture(["manzana", "albaricoque", "naranja"], [0, .4, .6], [6, 4, 3],
    result="narancoque", headers=("peso", "precio"), unit="€", spec=".1f")``.
    """
    names, role = as_words(labels, "labels"), as_role(role)
    parts = as_numbers(weights, "weights")
    if parts.shape != (len(names),) or parts.min() < -1e-6 or abs(parts.sum() - 1) > 1e-3:
        raise ValueError(
            f"weights: llegó {parts.round(3).tolist()}; se esperaban {len(names)} pesos que sumen 1"
        )
    table = as_numbers(values, "values")
    drawing = _Mixture(names, parts.clip(0, 1), role, (spec, weight_spec), unit, result)
    if table.ndim == 1:
        if table.shape != parts.shape or not np.isfinite(table).all() or table.min() < 0:
            raise ValueError(
                f"values: llegó {table.tolist()}; se esperaban {len(names)} números no negativos"
            )
        return drawing.numbers(table, result, headers)
    return drawing.rows(as_matrix(values, "values", (len(names), None)), result, headers)


class _Mixture:
    """Composición común: nombre, barra del peso, y a la derecha lo que se promedia."""

    def __init__(
        self,
        names: list[str],
        weights: np.ndarray,
        role: str,
        specs: tuple[str, str],
        unit: str,
        result: str,
    ) -> None:
        self.names, self.weights, self.role, self.canvas = names, weights, role, Canvas()
        self.spec, self.weight_spec = specs
        self.unit = f"\u202f{unit}" if unit else ""
        self.left = 8 + max(map(measure, [*names, result])) + 10
        self.number_width = measure(number(0.88, self.weight_spec)) + 8
        self.top = 28.0

    def _weights(self, width: float, header: str) -> None:
        """La columna de barras violetas."""
        canvas = self.canvas
        canvas.text(self.left, 10, header, ha="left", size=SMALL, color=MUTED)
        for index, (name, weight) in enumerate(zip(self.names, self.weights, strict=True)):
            y = self.top + index * _ROW
            canvas.text(
                self.left - 10,
                y + _BAR / 2,
                name,
                ha="right",
                color=MUTED if weight < 5e-3 else COLORS["ink"],
            )
            canvas.rect(self.left, y, width, _BAR, color=WEIGHT, edge_alpha=0.3, width=0.7)
            canvas.rect(self.left, y, width * weight, _BAR, color=None, fill=WEIGHT, alpha=0.85)
            canvas.text(
                self.left + width + 6,
                y + _BAR / 2,
                number(weight, self.weight_spec),
                ha="left",
                color=WEIGHT,
            )

    def numbers(self, values: np.ndarray, result: str, headers: tuple[str, str]) -> Figure:
        """Números: barras de valor, y abajo los trozos peso × valor puestos uno tras otro."""
        texts = [number(value, self.spec) + self.unit for value in values]
        last = max(map(measure, texts)) + 8
        room = PAGE - self.left - self.number_width - last - 34
        if room < 60:
            raise ValueError("labels: los nombres y los números no caben; conviene acortarlos")
        width = 0.36 * room
        self._weights(width, headers[0])
        scale = 0.64 * room / max(values.max(), 1e-9)
        x = self.left + width + self.number_width + 26
        self.canvas.text(x, 10, headers[1], ha="left", size=SMALL, color=MUTED)
        color = COLORS[self.role]
        for index, (value, text) in enumerate(zip(values, texts, strict=True)):
            y = self.top + index * _ROW
            fade = 1.0 if self.weights[index] >= 5e-3 else 0.35
            self.canvas.text(x - 13, y + _BAR / 2, "×", color=MUTED)
            self.canvas.rect(
                x,
                y,
                value * scale,
                _BAR,
                color=color,
                fill=color,
                alpha=TINT * fade,
                edge_alpha=fade,
            )
            self.canvas.text(x + value * scale + 6, y + _BAR / 2, text, ha="left")
        return self._sum(values, result, texts)

    def _sum(self, values: np.ndarray, result: str, texts: list[str]) -> Figure:
        """La barra del resultado, hecha de un trozo por sumando."""
        canvas, color = self.canvas, COLORS[self.role]
        pieces = self.weights * values
        total = float(pieces.sum())
        answer = number(total, self.spec) + self.unit
        y = self.top + len(values) * _ROW + 34
        room = PAGE - self.left - measure(answer, 14, True) - 20
        scale = room / max(total, 1e-9)
        canvas.line([(self.left - 6, y - 38), (PAGE - 8, y - 38)], color=MUTED, width=0.7)
        x = self.left
        for index, (piece, weight) in enumerate(zip(pieces, self.weights, strict=True)):
            wide = piece * scale
            if wide <= 0.5:
                continue
            canvas.rect(
                x, y, wide, 28, color=color, fill=color, alpha=TINT + 0.1 * (index % 2), width=1.0
            )
            sum_text = f"{number(weight, self.weight_spec)} × {texts[index]}"
            for text, dy, ink in ((sum_text, -11, MUTED), (self.names[index], 14, COLORS["ink"])):
                if measure(text, SMALL) < wide - 6:
                    canvas.text(x + wide / 2, y + dy, text, size=SMALL, color=ink)
            x += wide
        canvas.text(
            self.left - 10, y + 14, result, ha="right", bold=measure(result) * 1.12 < self.left - 12
        )
        canvas.text(x + 8, y + 14, answer, ha="left", size=14, bold=True, color=color)
        return canvas.finish(y + 36)

    def rows(self, values: np.ndarray, result: str, headers: tuple[str, str]) -> Figure:
        """Vectores: cada fila pierde intensidad según su peso y la suma es la fila de abajo."""
        canvas, size = self.canvas, values.shape[1]
        room = PAGE - self.left - self.number_width - 34
        side = min(42.0, 0.7 * room / size)
        width = min(110.0, room - side * size)
        x = self.left + width + self.number_width + 26
        if side < 6 or x + measure(headers[1], SMALL) > PAGE:
            raise ValueError("labels: los nombres y las filas no caben; conviene acortarlos")
        fits = (
            widest_number(values, self.spec) <= side - 3
            and widest_number(self.weights @ values, self.spec) <= side - 3
        )
        spec = self.spec if fits else None
        self._weights(width, headers[0])
        canvas.text(x, 10, headers[1], ha="left", size=SMALL, color=MUTED)
        top = np.abs(values).max()
        for index, row in enumerate(values):
            y = self.top + index * _ROW
            canvas.text(x - 13, y + _BAR / 2, "×", color=MUTED)
            self._row(x, y, row, side, spec, top)
        y = self.top + len(values) * _ROW + 30
        middle = x + size * side / 2
        canvas.arrow([(middle, y - 34), (middle, y - 5)], color=WEIGHT, width=1.6)
        if middle + 10 + measure("se suman", SMALL) < PAGE:
            canvas.text(middle + 10, y - 21, "se suman", ha="left", size=SMALL, color=MUTED)
        else:
            canvas.text(middle - 10, y - 21, "se suman", ha="right", size=SMALL, color=MUTED)
        self._row(x, y, self.weights @ values, side, spec, top)
        canvas.text(x - 12, y + _BAR / 2, result, ha="right", bold=True)
        return canvas.finish(y + 30)

    def _row(
        self, x: float, y: float, row: np.ndarray, side: float, spec: str | None, top: float
    ) -> None:
        """Una fila de celdas, con la misma escala de intensidad en todas."""
        color = COLORS[self.role]
        for index, value in enumerate(row):
            fill = color if value >= 0 else MUTED
            alpha = round(0.06 + 0.5 * abs(float(value)) / max(top, 1e-9), 3)
            self.canvas.rect(x + index * side, y, side, _BAR, color=None, fill=fill, alpha=alpha)
            if spec:
                self.canvas.text(
                    x + (index + 0.5) * side, y + _BAR / 2, number(value, spec), size=SMALL
                )
        self.canvas.grid(
            x,
            y,
            1,
            len(row),
            (side, _BAR),
            role=self.role,
            values=np.zeros((1, len(row))),
            shade=True,
        )
