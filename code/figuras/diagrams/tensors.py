"""Tensores con ejes que tienen nombre y tamaño, y productos de matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from figuras.diagrams.canvas import (
    COLORS,
    INK,
    MUTED,
    PAGE,
    SHAPE,
    Canvas,
    Point,
    as_index,
    as_role,
    as_words,
    measure,
    widest_number,
    wrap,
)
from figuras.plots.style import array, as_numbers

_SHEETS = 4  # hojas que se dibujan de un lote
_COUNTABLE = 16  # celdas que se cuentan a lo largo de un eje


@dataclass(frozen=True)
class Matrix:
    """Una matriz de un dibujo: nombre, tamaño (filas, columnas), nombres de los ejes y papel.

    ``Matrix("Q", (4, 3), ("n", "d_k"), "query")``. ``values``: (filas, columnas), opcional.
    """

    name: str
    shape: tuple[int, int]
    axes: tuple[str, str]
    role: str | None = None
    values: Any = None

    def __post_init__(self) -> None:
        if len(self.shape) != 2 or any(not 1 <= size <= _COUNTABLE for size in self.shape):
            raise ValueError(
                f"{self.name}: llegó shape={self.shape}; se esperaban dos tamaños de 1 a"
                f" {_COUNTABLE}"
            )
        if len(self.axes) != 2:
            raise ValueError(
                f"{self.name}: llegaron {len(self.axes)} ejes; se esperaban dos nombres"
            )
        as_role(self.role, f"{self.name}: role")
        if self.values is not None and np.shape(array(self.values)) != tuple(self.shape):
            raise ValueError(
                f"{self.name}: values tiene forma {np.shape(array(self.values))} y shape es"
                f" {tuple(self.shape)}"
            )


def tensor(
    data: Any,
    axes: Sequence[str],
    *,
    name: str = "",
    role: str | None = None,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    row: int | None = None,
    bar: str | None = None,
    spec: str | None = None,
    shade: bool = False,
) -> Figure:
    """Un tensor de 1 a 4 ejes con sus celdas: el lote, como hojas apiladas; el segundo eje de
    cuatro, en fila.

    data: los tamaños (tupla de enteros) o los valores, de forma igual a la de los ejes.
    axes: nombre de cada eje, en el orden del tensor: ``("batch", "n", "d_model")``.
    role: papel que da el tinte («query», «key», «value», «weight», …); rows, columns: rótulos de la
    hoja de delante. row: fila que se enmarca; bar: eje que se suma, con una barra encima; spec:
    escribe los valores («.2f»; con NaN, la celda va rayada). shade: el tono dice el valor, en gris
    los negativos.

    Errores: ``ValueError`` si los ejes y los tamaños no casan, si hay más de 4 ejes o si no caben
    16 celdas.
    Ejemplo: ``diagrams.tensor((3, 5, 8), ("batch", "n", "d_model"), name="X", row=2)``.
    """
    sizes, values = _sizes(data, axes)
    role, n_rows, n_cols = as_role(role), *([1, 1, *sizes][-2:])
    row = as_index(row, n_rows, "row")
    if bar is not None and bar not in list(axes)[-2:]:
        raise ValueError(
            f"bar: llegó {bar!r}; se esperaba uno de los ejes de la hoja:"
            f" {', '.join(list(axes)[-2:])}"
        )
    labels = (
        as_words(rows, "rows", n_rows) if rows else [],
        as_words(columns, "columns", n_cols) if columns else [],
    )
    if shade and values is None:
        raise ValueError("shade: hacen falta valores, y data solo da tamaños")
    if spec is not None and values is None:
        raise ValueError(
            "spec: para escribir los valores hacen falta valores, y data solo da tamaños"
        )
    drawing = _TensorDrawing(sizes, list(axes), name, role, labels, values, spec)
    drawing.shade = shade
    return drawing.draw(row, bar)


def _sizes(data: Any, axes: Sequence[str]) -> tuple[list[int], np.ndarray | None]:
    """Tamaños y valores de lo que se dibuja."""
    shape = isinstance(data, tuple) and all(isinstance(size, int | np.integer) for size in data)
    values = None if shape else as_numbers(data, "data")
    sizes = [int(size) for size in (data if values is None else values.shape)]
    names = as_words(axes, "axes")
    if len(names) != len(sizes) or not 1 <= len(sizes) <= 4:
        raise ValueError(
            f"axes: llegaron {len(names)} nombres y {len(sizes)} tamaños; se esperaban de 1 a 4, a"
            " la par"
        )
    if any(size < 1 for size in sizes) or any(size > _COUNTABLE for size in sizes[-2:]):
        raise ValueError(
            f"data: llegó la forma {tuple(sizes)}; se esperaban tamaños desde 1 y, en los dos"
            f" últimos ejes, hasta {_COUNTABLE}: más celdas no se cuentan"
        )
    return sizes, values


class _TensorDrawing:
    """Composición de un tensor: hojas apiladas y paneles en fila."""

    def __init__(
        self,
        sizes: list[int],
        axes: list[str],
        name: str,
        role: str,
        labels: tuple[list[str], list[str]],
        values: np.ndarray | None,
        spec: str | None,
    ) -> None:
        self.sizes, self.axes, self.name, self.role, self.values, self.spec = (
            sizes,
            axes,
            name,
            role,
            values,
            spec,
        )
        self.row_labels, self.col_labels = labels
        self.rows, self.cols = [1, 1, *sizes][-2:]
        self.panels = sizes[1] if len(sizes) == 4 else 1
        self.sheets = min(sizes[0], _SHEETS) if len(sizes) >= 3 else 1
        self.canvas, self.shade = Canvas(), False
        self.step = 9.0 if self.sheets > 1 else 0.0

    def draw(self, row: int | None, bar: str | None) -> Figure:
        self._place()
        if self.name:
            self._title()
        for panel in range(self.panels):
            self._stack(self.left + panel * self.pitch, panel)
        self._dimensions()
        self._texts()
        if row is not None:
            y = self.top + row * self.cell[1]
            self.canvas.rect(
                self.left, y, self.cols * self.cell[0], self.cell[1], width=2.4, order=4
            )
        if bar is not None:
            self._bar(bar)
        return self.canvas.finish(self.top + self.rows * self.cell[1] + 30)

    def _title(self) -> None:
        """El nombre, encima de la esquina de la matriz."""
        y = 12 if self.sheets > 1 or self.panels > 1 or self.col_labels else self.top - 16
        self.canvas.text(
            self.left, y, self.name, ha="left", size=15, bold=True, color=COLORS[self.role]
        )

    def _place(self) -> None:
        """Reparte el ancho entre rótulos, paneles y hojas."""
        self.size_row = f"{self.axes[-2]} = {self.rows}" if len(self.axes) > 1 else ""
        names = max(map(measure, self.row_labels), default=0.0)
        self.left = (
            14 + measure(self.size_row) + (22 if self.size_row else 0) + (names + 8 if names else 0)
        )
        depth = self.step * (self.sheets - 1)
        room = PAGE - self.left - 16 - self.panels * depth - (self.panels - 1) * 18
        wide = 44.0 if self.spec else 28.0
        side = min(wide, room / (self.panels * self.cols))
        widest = max(map(measure, self.col_labels), default=0.0)
        if widest > side - 3:
            side = min(wide, (room - 0.75 * widest) / (self.panels * self.cols))
        if side < 5 or (len(self.col_labels) > 1 and side < 15) or (self.row_labels and side < 6):
            raise ValueError(
                "tensor: los rótulos no caben; conviene acortarlos o dibujar menos celdas"
            )
        if self.spec and widest_number(self.values, self.spec) > side - 3:
            raise ValueError(
                f"spec: {self.cols} columnas con números no caben; conviene quitar spec o columnas"
            )
        tall = 24.0 if self.spec else max(min(side, 28.0), 15.5 if self.row_labels else 9.0)
        self.cell: Point = (side, tall)
        self.pitch = self.cols * side + depth + 18
        used = self.panels * self.pitch - 18
        self.left += max(0.0, (PAGE - self.left - 12 - used) / 3)
        self.turn = self._turned_columns()
        crowded = self.panels > 1 or self.sheets > 1 or self.col_labels
        bare = 24 if len(self.sizes) >= 3 else 8  # sin nombre, el rótulo del lote va encima
        self.top = (26 if self.name and crowded else 24 if self.name else bare) + depth + self.turn
        self.top += 26 if self.panels > 1 else 8 if self.sheets > 1 else 0

    def _turned_columns(self) -> float:
        """Alto de los rótulos de las columnas; giran si no caben."""
        if not self.col_labels:
            return 0.0
        widest = max(map(measure, self.col_labels))
        self.turned = widest > self.cell[0] - 3
        return 0.75 * widest + 15 if self.turned else 23.0

    def _stack(self, x: float, panel: int) -> None:
        for sheet in reversed(range(self.sheets)):
            shift = sheet * self.step
            values = self._values(sheet, panel)
            spec = self.spec if sheet == 0 else None
            self.canvas.grid(
                x + shift,
                self.top - shift,
                self.rows,
                self.cols,
                self.cell,
                role=self.role,
                values=values,
                spec=spec,
                shade=self.shade,
                paper=self.sheets > 1,
            )

    def _values(self, sheet: int, panel: int) -> np.ndarray | None:
        if self.values is None:
            return None
        index = [sheet, panel][: len(self.sizes) - 2]
        return self.values[tuple(index)].reshape(self.rows, self.cols)

    def _dimensions(self) -> None:
        """Cotas: nombre y tamaño de cada eje."""
        canvas, bottom = self.canvas, self.top + self.rows * self.cell[1]
        width = self.cols * self.cell[0]
        _dimension(canvas, (self.left, bottom + 7), (self.left + width, bottom + 7))
        text = f"{self.axes[-1]} = {self.cols}"
        middle = min(
            max(self.left + width / 2, measure(text) / 2 + 3), PAGE - measure(text) / 2 - 3
        )
        canvas.text(middle, bottom + 18, text)
        if self.size_row:
            x = self.left - 9 - (max(map(measure, self.row_labels), default=-6.0) + 6)
            _dimension(canvas, (x, self.top), (x, bottom))
            canvas.text(x - 6, (self.top + bottom) / 2, self.size_row, ha="right")
        if len(self.sizes) >= 3:
            self._depth()

    def _depth(self) -> None:
        canvas, depth = self.canvas, self.step * (self.sheets - 1)
        y = self.top - depth - 10 - self.turn
        last = self.left + (self.panels - 1) * self.pitch + self.cols * self.cell[0]
        text = f"{self.axes[0]} = {self.sizes[0]}"
        beside = self.left + (measure(self.name, 15, True) + 10 if self.name else 0)
        if self.panels > 1:
            middle, across = (self.left + last) / 2, f"{self.axes[1]} = {self.panels}"
            _dimension(canvas, (self.left, y - 6), (last, y - 6))
            canvas.text(middle, y - 17, across)
            if not self.name:  # los dos rótulos quedan a la misma altura
                beside = max(middle + measure(across) / 2, last + 3) + 10
        after_name = beside + measure(text)
        x = min(max(last + depth, after_name), PAGE - 3)
        canvas.text(x, 12, text, ha="right", color=MUTED)

    def _texts(self) -> None:
        for index, label in enumerate(self.row_labels):
            y = self.top + (index + 0.5) * self.cell[1]
            self.canvas.text(self.left - 7, y, label, ha="right")
        for index, label in enumerate(self.col_labels):
            x = self.left + (index + 0.5) * self.cell[0]
            angle = 45 if self.turned else 0
            y = self.top - 11 - self.step * (self.sheets - 1)
            self.canvas.text(
                x, y if angle else y - 4, label, ha="left" if angle else "center", rotation=angle
            )

    def _bar(self, bar: str) -> None:
        width, height = self.cols * self.cell[0], self.rows * self.cell[1]
        if bar == self.axes[-1]:
            self.canvas.line(
                [(self.left, self.top - 5), (self.left + width, self.top - 5)], width=4, order=5
            )
        else:
            x = self.left + width + 5
            self.canvas.line([(x, self.top), (x, self.top + height)], width=4, order=5)


def _dimension(canvas: Canvas, start: Point, end: Point) -> None:
    """Línea de cota con sus topes."""
    across = (0.0, 3.0) if start[1] == end[1] else (3.0, 0.0)
    canvas.line([start, end], color=MUTED, width=0.8)
    for x, y in (start, end):
        canvas.line(
            [(x - across[0], y - across[1]), (x + across[0], y + across[1])], color=MUTED, width=0.8
        )


def product(
    *factors: Matrix,
    result: Matrix,
    cell: tuple[int, int] | None = None,
    spec: str | None = None,
    note: str = "",
) -> Figure:
    """Un producto de matrices con sus formas. Con dos factores y ``cell``, fila × columna → celda.

    factors: matrices de formas encadenadas, (n × d)(d × m) → (n × m); result: la del resultado.
    cell: (fila, columna) que se explica: se enmarcan la fila del primero, la columna del segundo y
    la celda. spec: escribe los valores de las matrices que los tengan; note: una línea debajo.

    Errores: ``ValueError`` si las formas no encadenan o la celda no existe.
    Ejemplo: ``diagrams.product(Matrix("Q", (4, 3), ("n", "d_k"), "query"), Matrix("K^T", (3, 5),
    ("d_k", "m"), "key"), result=Matrix("S", (4, 5), ("n", "m")), cell=(1, 2))``.
    """
    if len(factors) < 2:
        raise ValueError(f"product: llegó {len(factors)} factor; se esperaban dos o más")
    for one, other in zip(factors, factors[1:], strict=False):
        if one.shape[1] != other.shape[0]:
            raise ValueError(
                f"factors: las formas no encadenan: {one.name} {one.shape} y {other.name}"
                f" {other.shape}"
            )
    outer = (factors[0].shape[0], factors[-1].shape[1])
    if tuple(result.shape) != outer:
        raise ValueError(f"{result.name}: tiene forma {result.shape} y el producto da {outer}")
    if cell is None:
        return _chain([*factors, result], spec, note)
    if len(factors) != 2:
        raise ValueError(
            "cell: la celda se explica con dos factores; con más, conviene un dibujo por producto"
        )
    row, col = (as_index(i, size, "cell") for i, size in zip(cell, outer, strict=True))
    return _corner(*factors, result, (row, col), spec, note)


def _chain(matrices: list[Matrix], spec: str | None, note: str) -> Figure:
    """Los factores en fila y, tras la flecha, el resultado."""
    canvas, gap = Canvas(), 22.0
    cols, rows = sum(m.shape[1] for m in matrices), max(m.shape[0] for m in matrices)
    wide = [max(measure(_shape(m), SHAPE), measure(m.name, 15, True)) for m in matrices]
    side = min(24.0 if spec is None else 34.0, (PAGE - 20 - gap * (len(matrices) - 1)) / cols)
    _fit_numbers(matrices, spec, side)
    widths = [max(m.shape[1] * side, w) for m, w in zip(matrices, wide, strict=True)]
    total = sum(widths) + gap * (len(matrices) - 1)
    if total > PAGE - 6:
        side *= (PAGE - 6 - gap * (len(matrices) - 1) - sum(wide)) / max(
            sum(widths) - sum(wide), 1e-9
        )
        widths = [max(m.shape[1] * max(side, 4), w) for m, w in zip(matrices, wide, strict=True)]
        total, gap = sum(widths) + 14 * (len(matrices) - 1), 14.0
    if total > PAGE - 2:
        raise ValueError(
            "product: los nombres y las formas no caben a lo ancho; conviene acortarlos"
        )
    x, height = (PAGE - total) / 2, min(max(side, 9.0), 24.0)
    middle = 36 + rows * height / 2
    for index, (matrix, width) in enumerate(zip(matrices, widths, strict=True)):
        _named(
            canvas, matrix, (x + width / 2, middle), (max(side, 4.0), height), spec, rows * height
        )
        if index < len(matrices) - 1:
            sign = "=" if index == len(matrices) - 2 else "×" if len(matrices) < 4 else "·"
            canvas.text(x + width + gap / 2, middle, sign, size=14)
        x += width + gap
    return _noted(canvas, middle + rows * height / 2 + 32, note)


def _fit_numbers(matrices: list[Matrix], spec: str | None, side: float) -> None:
    """Los números que se escriben caben en las celdas."""
    for matrix in matrices:
        values = _data(matrix)
        if spec is not None and values is not None and widest_number(values, spec) > side - 3:
            raise ValueError(
                f"spec: los números de {matrix.name} no caben en sus celdas; conviene otro spec o"
                " ninguno"
            )


def _shape(matrix: Matrix) -> str:
    return f"{matrix.axes[0]} × {matrix.axes[1]}"


def _named(
    canvas: Canvas, matrix: Matrix, center: Point, cell: Point, spec: str | None, tallest: float
) -> None:
    """Una matriz con su nombre encima y su forma debajo."""
    rows, cols = matrix.shape
    x, y = center[0] - cols * cell[0] / 2, center[1] - rows * cell[1] / 2
    role = matrix.role or "ink"
    canvas.grid(x, y, rows, cols, cell, role=role, values=_data(matrix), spec=spec)
    canvas.text(center[0], y - 14, matrix.name, size=15, bold=True, color=COLORS[role])
    canvas.text(center[0], center[1] + tallest / 2 + 15, _shape(matrix), size=SHAPE, color=MUTED)


def _data(matrix: Matrix) -> np.ndarray | None:
    return None if matrix.values is None else as_numbers(matrix.values, "values")


def _corner(
    left: Matrix, above: Matrix, result: Matrix, cell: tuple[int, int], spec: str | None, note: str
) -> Figure:
    """El segundo factor encima del resultado: la fila y la columna se cruzan en la celda."""
    canvas, gap = Canvas(), 26.0
    cols = left.shape[1] + above.shape[1]
    side = min(28.0 if spec is None else 38.0, (PAGE - gap - 50) / cols)
    _fit_numbers([left, above, result], spec, side)
    size: Point = (side, min(side, 26.0))
    x0 = (PAGE - cols * side - gap) / 2
    x1, y0 = x0 + left.shape[1] * side + gap, 8.0
    y1 = y0 + above.shape[0] * size[1] + 34
    places = [(left, x0, y1), (above, x1, y0), (result, x1, y1)]
    for matrix, x, y in places:
        canvas.grid(
            x, y, *matrix.shape, size, role=matrix.role or "ink", values=_data(matrix), spec=spec
        )
    _crossing(
        canvas, (x0, x1), (y0, y1), size, cell, left.shape[1], above.shape[0], spec is not None
    )
    _corner_names(canvas, places, size)
    return _noted(canvas, y1 + result.shape[0] * size[1] + 26, note)


def _crossing(
    canvas: Canvas,
    xs: Point,
    ys: Point,
    size: Point,
    cell: tuple[int, int],
    inner: int,
    depth: int,
    written: bool,
) -> None:
    """Marcos de la fila, la columna y la celda, con sus guías, que no pasan por encima de los
    números.
    """
    row, col = cell
    y, x = ys[1] + row * size[1], xs[1] + col * size[0]
    canvas.rect(xs[0], y, inner * size[0], size[1], width=2.4, order=4)
    canvas.rect(x, ys[0], size[0], depth * size[1], width=2.4, order=4)
    canvas.rect(x, y, *size, width=2.4, order=4)
    middle, center = y + size[1] / 2, x + size[0] / 2
    guide = {"color": MUTED, "width": 1.0, "dash": (0, (2, 2)), "radius": 0.0}
    end = (xs[1], ys[1]) if written else (x, y)
    canvas.arrow([(xs[0] + inner * size[0] + 2, middle), (end[0] - 2, middle)], **guide)
    canvas.arrow([(center, ys[0] + depth * size[1] + 2), (center, end[1] - 2)], **guide)


def _corner_names(canvas: Canvas, places: list[tuple[Matrix, float, float]], size: Point) -> None:
    """El nombre y la forma de cada matriz, fuera de las celdas."""
    (left, x0, y1), (above, x1, y0), (result, _, _) = places
    style = {"size": 15.0, "bold": True}
    canvas.text(
        x0 + left.shape[1] * size[0] / 2,
        y1 - 14,
        left.name,
        color=COLORS[left.role or "ink"],
        **style,
    )
    canvas.text(x1 - 10, y0 + above.shape[0] * size[1] / 2 - 9, above.name, ha="right",
                color=COLORS[above.role or "ink"], **style)  # fmt: skip
    canvas.text(
        x1 - 10,
        y0 + above.shape[0] * size[1] / 2 + 9,
        _shape(above),
        ha="right",
        size=SHAPE,
        color=MUTED,
    )
    bottom = y1 + result.shape[0] * size[1] + 14
    canvas.text(x0 + left.shape[1] * size[0] / 2, bottom, _shape(left), size=SHAPE, color=MUTED)
    middle = x1 + result.shape[1] * size[0] / 2
    color = COLORS[result.role or "ink"]
    width = measure(result.name, 15, True) + 10
    shift = (width - measure(_shape(result), SHAPE)) / 2
    canvas.text(middle + shift - 10, bottom, result.name, ha="right", color=color, **style)
    canvas.text(middle + shift, bottom, _shape(result), ha="left", size=SHAPE, color=MUTED)


def _noted(canvas: Canvas, height: float, note: str) -> Figure:
    """Termina el dibujo con una línea debajo, si la hay."""
    if note:
        text = wrap(note, PAGE - 20)
        lines = text.count("\n") + 1
        canvas.text(PAGE / 2, height + 7.5 * lines, text, color=INK)
        height += 15 * lines + 4
    return canvas.finish(height)
