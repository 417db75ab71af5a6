"""El mapa de la parte 3: el Transformer entero, con sus dos pilas, la memoria y el generador."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from figuras.diagrams.canvas import (
    COLORS,
    DASHES,
    INK,
    MUTED,
    PAGE,
    PAPER,
    POSITION,
    SHAPE,
    SIZE,
    SMALL,
    TINT,
    WEIGHT,
    Canvas,
    Point,
    line_height,
    measure,
    wrap,
)

Box = tuple[float, float, float, float]  # izquierda, arriba, ancho, alto

_ROAD, _PLUS = 13.0, 9.0  # ancho del camino y radio de una suma
_NORM, _LN = 17.0, 32.0  # alto de una norma y ancho de la que va sobre el camino
_FAN, _SUB, _GAP = 19.0, 52.0, 13.0  # abanico de consulta, clave y valor; subcapa; hueco
_STEP = _NORM + _FAN + _SUB + _GAP
_WIDE, _BAR = 118.0, 30.0  # ancho de una subcapa, alto de una caja de los extremos
_CABLE = 4.0  # grosor del cable de la memoria
_SPREAD = 36.0  # de la flecha de la consulta a la de la clave
_NAMES = {
    "attention": "autoatención",
    "cross_attention": "atención cruzada",
    "feed_forward": "red densa",
}
_STACKS = {
    "encoder": ("attention", "feed_forward"),
    "decoder": ("attention", "cross_attention", "feed_forward"),
}
_BEHIND, _SHEET = 2, 3.5  # hojas detrás de la que se ve y lo que asoma cada una
_ROWS = 9  # filas como mucho en los dibujos menudos
_BETWEEN = 251.0  # lo que no son bloques ni palabras


def architecture(
    *,
    source: str = "no limpian la casa blanca",
    target: str = "⟨inicio⟩ they do not clean the white house",
    output: str = "they do not clean the white house ⟨fin⟩",
    norm: str = "pre",
    tied: bool = False,
    lit: Collection[str] = (),
) -> Figure:
    """El Transformer entero, de abajo arriba: el codificador, a la izquierda, lee ``source``; el
    decodificador escribe, tras ``target``, ``output``.

    Cada pila es un camino que recibe sumas; ``norm`` dice si se normaliza lo que lee cada subcapa
    (``"pre"``, con una norma al final) o la suma (``"post"``). tied: la matriz de salida es la de
    los embeddings. lit: las partes que se explican: ``"memory"``, ``"encoder.attention"``… El
    codificador lleva m filas, una por palabra del origen; el decodificador, n.

    Errores: ``ValueError`` si ``norm`` o un nombre de ``lit`` no es de los que hay, o si una frase
    está vacía o no cabe en tres líneas.
    Ejemplo: ``diagrams.architecture(lit=["memory", "decoder.cross_attention"])``.
    """
    sentences = {"source": source, "target": target, "output": output}
    return _Map(sentences, norm, tied, lit).finish()


def places(
    sentences: dict[str, str] | None = None, *, norm: str = "pre", tied: bool = False
) -> tuple[Figure, dict[str, Box]]:
    """El mapa y, por cada parte, su rectángulo en puntos, la y hacia abajo."""
    drawing = _Map(sentences or dict.fromkeys(("source", "target", "output"), "…"), norm, tied, ())
    figure = drawing.finish()
    return figure, {name: drawing.boxes[name] for name in _in_order(drawing.boxes)}


def _in_order(boxes: Collection[str]) -> list[str]:
    """Del origen a la palabra siguiente; dentro de una pila, como se recorre."""
    groups = ("source", "encoder", "memory", "target", "decoder", "project", "softmax", "output")
    return sorted(boxes, key=lambda name: groups.index(name.split(".")[0]))


@dataclass(frozen=True)
class _Side:
    """Un lado del mapa: por dónde va el camino, dónde empiezan las subcapas y hacia dónde miran."""

    stack: str
    entry: str
    rows: str
    road: float
    left: float  # de las subcapas
    edge: float  # del marco
    way: int  # 1 si las subcapas quedan a la derecha del camino

    @property
    def center(self) -> float:
        """El eje de las subcapas."""
        return self.left + _WIDE / 2

    @property
    def near(self) -> float:
        """El costado de las subcapas que da al camino."""
        return self.left if self.way > 0 else self.left + _WIDE

    @property
    def middle(self) -> float:
        """El centro del marco."""
        return self.edge + _FRAME / 2


_FRAME = 164.0
_LEFT = _Side("encoder", "source", "m", 21.0, 43.0, 2.0, 1)
_RIGHT = _Side("decoder", "target", "n", PAGE - 21.0, PAGE - 43.0 - _WIDE, PAGE - 2.0 - _FRAME, -1)


class _Map:
    """El mapa: se dibuja hacia arriba, y ``boxes`` apunta dónde queda cada parte."""

    def __init__(
        self, sentences: dict[str, str], norm: str, tied: bool, lit: Collection[str]
    ) -> None:
        if norm not in ("pre", "post"):
            raise ValueError(f"norm: llegó {norm!r}; se esperaba 'pre' o 'post'")
        self.canvas, self.pre, self.tied = Canvas(), norm == "pre", tied
        self.boxes: dict[str, Box] = {}
        self.roads: list[tuple[_Side, float, float]] = []
        self.lit = frozenset([lit] if isinstance(lit, str) else lit)
        self.lines = {name: _lines(name, text) for name, text in sentences.items()}
        self.counts = {
            name: min(max(2, len(sentences[name].split())), _ROWS) for name in ("source", "target")
        }
        self.base = max(map(self._tall, ("source", "target")))  # de las palabras de abajo
        self.bottom = self.base + _BETWEEN + 3 * _STEP + self._tall("output")
        self.bottom += _NORM if self.pre else 0
        self._draw()
        for name in self.lit:
            if name not in self.boxes:
                raise ValueError(
                    f"lit: «{name}» no es una parte; están {', '.join(_in_order(self.boxes))}"
                )

    def finish(self) -> Figure:
        """La figura."""
        return self.canvas.finish(self.bottom + 4)

    def _tall(self, sentence: str) -> float:
        return line_height(SIZE) * (self.lines[sentence].count("\n") + 1)

    def _draw(self) -> None:
        tops = {side: self._stack(side, self._entry(side)) for side in (_LEFT, _RIGHT)}
        self._memory(tops[_LEFT])
        self._exit(tops[_RIGHT])
        for road in self.roads:
            self._road(*road)

    # Piezas sueltas

    def _plate(
        self, name: str, box: Box, *, color: str = INK, tint: float = 0.05, radius: float = 6.0
    ) -> None:
        """La caja de una parte, encendida si se explica."""
        lit = name in self.lit
        self.boxes[name] = box
        self.canvas.rect(*box, color=None, fill=PAPER, radius=radius, order=1.0)
        self.canvas.rect(
            *box, color=WEIGHT if lit else color, fill=WEIGHT if lit else color, order=1.1,
            alpha=TINT if lit else tint, radius=radius, width=2.2 if lit else 1.2,
        )  # fmt: skip

    def _norm(self, name: str, box: Box, label: str = "LN") -> None:
        self._plate(name, box, color=MUTED, tint=TINT, radius=5)
        self.canvas.text(box[0] + box[2] / 2, box[1] + box[3] / 2, label, size=SMALL)

    def _plus(self, name: str, x: float, y: float) -> None:
        self.boxes[name] = (x - _PLUS, y - _PLUS, 2 * _PLUS, 2 * _PLUS)
        color = WEIGHT if name in self.lit else INK
        self.canvas.ellipse(x, y, _PLUS, _PLUS, color=None, fill=PAPER, order=2.5)
        self.canvas.ellipse(x, y, _PLUS, _PLUS, color=color, width=1.4, order=3)
        self.canvas.text(x, y, "+", bold=True, color=color)

    def _bar(self, name: str, side: _Side, y: float, title: str, note: str, tall: float) -> None:
        """Una caja de los extremos, a todo lo ancho: su nombre y su cuenta."""
        self._plate(name, (side.edge, y, _FRAME, tall))
        wide = measure(title, SIZE, True) + 8 + measure(note, SMALL)
        x, middle = side.middle - wide / 2, y + tall / 2
        used = self.canvas.text(x, middle, title, ha="left", bold=True)
        self.canvas.text(x + used + 8, middle, note, ha="left", size=SMALL, color=MUTED)

    def _road(self, side: _Side, low: float, high: float) -> None:
        """El camino, de abajo arriba, cortado donde hay una suma o una norma."""
        self.canvas.rect(
            side.road - _ROAD / 2, high, _ROAD, low - high, color=None, fill=MUTED, alpha=TINT,
            order=0.3,
        )  # fmt: skip
        ends = [low]
        for x, y, w, h in sorted(self.boxes.values(), key=lambda box: -box[1]):
            if x < side.road < x + w and w < _FRAME and high < y < low:
                ends += [y + h, y]
        ends.append(high)
        for start, stop in zip(ends[::2], ends[1::2], strict=True):
            self.canvas.line([(side.road, start), (side.road, stop)], width=1.2, order=0.5)

    def _shape(self, side: _Side, y: float, text: str) -> None:
        """La forma de lo que va por el camino, a su lado."""
        ha = "left" if side.way > 0 else "right"
        self.canvas.text(side.road + 12 * side.way, y, text, ha=ha, size=SHAPE, color=MUTED)

    # La entrada

    def _entry(self, side: _Side) -> float:
        """Palabras, embedding y posiciones; devuelve dónde acaban."""
        y = self.bottom - self.base
        self._sentence(side, y, side.entry)
        bar = y - 14 - _BAR
        self.canvas.arrow([(side.middle, y - 1), (side.middle, bar + _BAR + 1)], head=6)
        self._bar(f"{side.entry}.embedding", side, bar, "embedding", "√d · E[ids]", _BAR)
        self._shape(side, bar - 11, f"{side.rows} × d")
        plus, box = bar - 34, (side.left, bar - 46, _WIDE, 24.0)
        self._positions(f"{side.entry}.positions", box)
        self._write(side, plus)
        self._plus(f"{side.entry}.sum", side.road, plus)
        return bar - 58

    def _sentence(self, side: _Side, y: float, name: str) -> None:
        tall = self._tall(name)
        self.boxes[name] = (side.edge, y, _FRAME, tall)
        if name in self.lit:
            self.canvas.rect(*self.boxes[name], color=WEIGHT, width=1.6, radius=5)
        self.canvas.text(side.middle, y + tall / 2, self.lines[name])

    def _positions(self, name: str, box: Box) -> None:
        """Las posiciones: su letra y una onda con marcas."""
        self._plate(name, box, color=POSITION, tint=TINT)
        x, middle = box[0] + 8, box[1] + box[3] / 2
        used = self.canvas.text(x, middle, "posición p", ha="left", size=SMALL, color=POSITION)
        start, wave = x + used + 8, 7.0
        points: list[Point] = [(start, middle)]
        for turn in range(4):
            tip = middle + (-6 if turn % 2 == 0 else 6)
            points += [(start + (turn + 0.5) * wave, tip), (start + (turn + 1) * wave, middle)]
        points = [point for point in points if point[0] <= box[0] + box[2] - 6]
        self.canvas.line(points, radius=4, color=POSITION, width=1.4, order=2)

    # Las pilas

    def _stack(self, side: _Side, y: float) -> float:
        """Los bloques de una pila, con su marco; devuelve dónde acaba el camino."""
        names, title = _STACKS[side.stack], f"{_TITLES[side.stack]} × L"
        top = y - 8 - len(names) * _STEP - 12
        frame = (side.edge, top, _FRAME, y - top)
        self._sheets(side, frame)
        self.canvas.text(side.center, top + 11, title, bold=True, size=SMALL)
        end = top - (15 + _NORM if self.pre else 6)
        self.roads.append((side, y + 58, end))
        for index, name in enumerate(names):
            self._sublayer(side, name, y - 8 - index * _STEP)
        if self.pre:
            self._norm(f"{side.stack}.norm", (side.road - _LN / 2, top - 9 - _NORM, _LN, _NORM))
            self.canvas.text(
                side.road + 22 * side.way, top - 9 - _NORM / 2, "norma final", size=SMALL,
                ha="left" if side.way > 0 else "right", color=MUTED,
            )  # fmt: skip
        return end

    def _sheets(self, side: _Side, frame: Box) -> None:
        """El marco del bloque que se ve, delante de las hojas de los demás."""
        x, y, w, h = frame
        for back in range(_BEHIND, -1, -1):
            place, order = (x + side.way * back * _SHEET, y - back * _SHEET, w, h), 0.2 - back / 50
            self.canvas.rect(*place, color=None, fill=PAPER, radius=10, order=order)
            self.canvas.rect(
                *place, color=MUTED, fill=MUTED, alpha=0.06 + 0.08 * (back > 0), radius=10,
                width=0.9, order=order,
            )  # fmt: skip

    def _sublayer(self, side: _Side, name: str, y: float) -> None:
        """Una subcapa cuyo sitio acaba abajo en ``y``: lee del camino y suma en él."""
        full, low = f"{side.stack}.{name}", y - _NORM
        box = (side.left, low - _FAN - _SUB, _WIDE, _SUB)
        plus = box[1] + _SUB / 2
        self.canvas.ellipse(side.road, y - _NORM / 2, 2.5, 2.5, color=INK, fill=INK, order=3)
        if self.pre:
            self._norm(f"{full}.norm", (side.left, low, _WIDE, _NORM))
            ends = [(side.road, y - _NORM / 2), (side.near - 2 * side.way, y - _NORM / 2)]
            self.canvas.arrow(ends, head=6)
        self._fan(side, name, low if self.pre else y - _NORM / 2, low - _FAN)
        self._plate(full, box)
        self._inside(side, name, box)
        self._write(side, plus)
        self._plus(f"{full}.sum", side.road, plus)
        if not self.pre:
            place = (side.road - _LN / 2, plus - _PLUS - 6 - _NORM, _LN, _NORM)
            self._norm(f"{full}.norm", place)

    def _write(self, side: _Side, y: float) -> None:
        """La flecha de una caja a la suma del camino."""
        self.canvas.arrow([(side.near, y), (side.road + (_PLUS + 2) * side.way, y)], head=6)

    def _fan(self, side: _Side, name: str, low: float, high: float) -> None:
        """Lo que entra en una subcapa por abajo: consulta, clave y valor, o una sola flecha."""
        if name == "feed_forward":
            roles = {"": 0.0}
        elif name == "attention":
            roles = {"query": -_SPREAD, "key": 0.0, "value": _SPREAD}
        else:  # la clave y el valor llegan por el cable de la memoria, del otro lado
            roles = {"query": -_SPREAD * side.way}
        if not self.pre:
            far = side.center + max(shift * side.way for shift in roles.values()) * side.way
            self.canvas.line([(side.road, low), (far, low)], width=1.2, order=0.6)
        for role, shift in roles.items():
            self._role(side.center + shift, low, high, role)

    def _role(self, x: float, low: float, high: float, role: str) -> None:
        """La flecha de una consulta, una clave o un valor, con su letra; sin papel, sin letra."""
        color = COLORS[role or "ink"]
        self.canvas.arrow(
            [(x, low), (x, high + 1)], color=color, dash=DASHES.get(role, "-"), head=6,
            width=1.6 if role else 1.2,
        )  # fmt: skip
        if role:
            at = high + (_FAN / 2 if self.pre else _FAN / 2 + 1)
            self.canvas.text(x + 10, at, _LETTERS[role], size=SMALL, color=color, bold=True)

    def _inside(self, side: _Side, name: str, box: Box) -> None:
        """El nombre de la subcapa y su dibujo menudo."""
        x, y, w, h = box
        self.canvas.text(x + w / 2, y + 11, _NAMES[name], size=SMALL, bold=True)
        middle = y + 20 + (h - 20) / 2 - 1
        if name == "feed_forward":
            self._dense(x + 8, middle)
            self.canvas.text(x + 46, middle, "d → d_ff → d", ha="left", size=SMALL, color=MUTED)
            return
        columns = "source" if name == "cross_attention" else side.entry
        masked = side.stack == "decoder" and name == "attention"
        sizes = (self.counts[side.entry], self.counts[columns])
        right = x + 14 + self._weights(x + 14, middle, sizes, masked)
        shape = f"{side.rows} × {'m' if columns == 'source' else 'n'}"
        note = f"causal\n{shape}" if masked else shape
        self.canvas.text(right + 12, middle, note, ha="left", size=SMALL, color=MUTED)

    def _weights(self, x: float, middle: float, sizes: tuple[int, int], masked: bool) -> float:
        """Quién puede mirar a quién: una fila por consulta. Devuelve su ancho."""
        (rows, cols), cell = sizes, 27.0 / max(self.counts.values())
        top = middle - rows * cell / 2
        for i in range(rows):
            seen = min(i + 1, cols) if masked else cols
            self.canvas.rect(
                x, top + i * cell, seen * cell, cell, color=None, fill=WEIGHT, alpha=0.5, order=2
            )
        self.canvas.grid(x, top, rows, cols, (cell, cell), role="weight")
        return cols * cell

    def _dense(self, x: float, middle: float) -> None:
        """La red densa: estrecha, ancha y estrecha."""
        for shift, wide in ((-11.0, 10.0), (-2.5, 32.0), (6.0, 10.0)):
            self.canvas.rect(
                x + (32 - wide) / 2, middle + shift, wide, 5, color=INK, fill=WEIGHT, alpha=TINT,
                width=0.9, order=2,
            )  # fmt: skip

    # La memoria y la salida

    def _memory(self, end: float) -> None:
        """La memoria, una fila por palabra del origen, y su cable a la atención cruzada."""
        rows, cols, w = self.counts["source"], 8, 9.5
        h = max(13.5, 58 / rows)
        x, y = 62.0, end - 22 - rows * h
        self._rows_of_memory((x, y, w, h), rows, cols)
        turn = y + rows * h + 11
        self.canvas.arrow(
            [(_LEFT.road, end), (_LEFT.road, turn), (x + 30, turn), (x + 30, y + rows * h + 1)]
        )
        self._cable(x + cols * w, y + rows * h / 2)

    def _cable(self, x: float, y: float) -> None:
        """El cable de la memoria: sale de su costado y se abre en clave y valor en el bloque."""
        _, top, _, tall = self.boxes["decoder.cross_attention"]
        high = top + tall
        low = high + _FAN - 3 + (0 if self.pre else _NORM / 2 - 3)
        lane, key = (_LEFT.edge + _FRAME + _RIGHT.edge) / 2, _RIGHT.center
        points = [(x, y), (lane, y), (lane, low), (key, low)]
        self.canvas.line(points, width=_CABLE, color=MUTED, radius=8, order=0.7)
        self._role(key - _SPREAD, low, high, "key")
        self._role(key, low, high, "value")
        self.canvas.text(x + 14, y - 10, "Z", size=SMALL, bold=True)

    def _rows_of_memory(self, place: Box, rows: int, cols: int) -> None:
        """La matriz, con la palabra de cada fila si caben."""
        x, y, w, h = place
        self.boxes["memory"] = (_LEFT.edge, y - 38, x + cols * w + 42 - _LEFT.edge, rows * h + 43)
        lit = "memory" in self.lit
        if lit:
            grid = (x, y, cols * w, rows * h)
            self.canvas.rect(*grid, color=WEIGHT, fill=WEIGHT, alpha=TINT, width=4, order=0.9)
        color = WEIGHT if lit else INK
        used = self.canvas.text(x, y - 12, "memoria Z", ha="left", bold=True, color=color)
        self.canvas.text(x + used + 8, y - 12, "m × d", ha="left", size=SHAPE, color=MUTED)
        self.canvas.text(x, y - 29, "la leen los L bloques", ha="left", size=SMALL, color=MUTED)
        self.canvas.grid(x, y, rows, cols, (w, h), role="ink")
        words = self.lines["source"].split()
        if len(words) != rows or max(measure(word, SMALL) for word in words) > x - 10:
            return
        for index, word in enumerate(words):
            self.canvas.text(x - 6, y + (index + 0.5) * h, word, ha="right", size=SMALL)

    def _exit(self, end: float) -> None:
        """El generador, el softmax y lo que se escribe."""
        side, bar = _RIGHT, end - 16 - _BAR
        self.canvas.arrow([(side.road, end), (side.road, bar + _BAR + 1)])
        self._shape(side, (end + bar + _BAR) / 2, "X: n × d")
        note = "W_U = E" if self.tied else "X W_U^T"
        self._bar("project", side, bar, "generador", note, _BAR)
        top = bar - 26 - 26
        self.canvas.arrow([(side.middle, bar - 1), (side.middle, top + 27)])
        self.canvas.text(side.middle + 8, bar - 13, "n × V", ha="left", size=SHAPE, color=MUTED)
        self._bar("softmax", side, top, "softmax", "por filas", 26)
        y = top - 14 - self._tall("output")
        self.canvas.arrow([(side.middle, top - 1), (side.middle, top - 13)], head=6)
        self._sentence(side, y, "output")


_LETTERS = {"query": "Q", "key": "K", "value": "V"}
_TITLES = {"encoder": "codificador", "decoder": "decodificador"}


def _lines(name: str, text: str) -> str:
    """Una frase, en las líneas que hagan falta."""
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{name}: llegó {text!r}; se esperaba una frase")
    lines = wrap(text, _FRAME, SIZE)
    if lines.count("\n") > 2 or measure(lines, SIZE) > _FRAME:
        raise ValueError(f"{name}: «{text}» no cabe en tres líneas; conviene una frase más corta")
    return lines


def fitting(words: Sequence[str]) -> str:
    """Las palabras que caben en una frase del mapa y, si son menos, puntos suspensivos."""
    for kept in range(len(words), 0, -1):
        text = " ".join([*words[:kept], *(["…"] if kept < len(words) else [])])
        if wrap(text, _FRAME, SIZE).count("\n") < 3:
            return text
    return "…"
