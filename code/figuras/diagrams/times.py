"""El tiempo: pasos en serie y en paralelo, e historia."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from figuras.diagrams.canvas import (
    INK,
    MUTED,
    PAGE,
    SMALL,
    TINT,
    WEIGHT,
    Canvas,
    line_height,
    measure,
    wrap,
)
from figuras.plots.curves import spread
from figuras.plots.style import format_number

_BAR = 24.0
Step = tuple[str, float, float]


def timeline(
    lanes: Mapping[str, Sequence[Step]],
    *,
    xlabel: str = "pasos",
    lit: Sequence[str] = (),
    dependencies: bool = True,
) -> Figure:
    """Qué se calcula cuándo: una calle por forma de calcular, una barra por paso.

    lanes: ``{calle: [(rótulo, inicio, fin), …]}``; los pasos que coinciden en el tiempo se apilan.
    Todas las calles comparten la escala del tiempo. xlabel: unidad; lit: rótulos encendidos.
    dependencies: une con una flecha cada paso con el que empieza justo cuando él acaba, si la calle
    va en serie.

    Errores: ``ValueError`` si no hay calles o si un paso no acaba después de empezar.
    Ejemplo: ``diagrams.timeline({"en serie": [("la", 0, 1), ("gata", 1, 2)], "a la vez": [("la", 0,
    1), ("gata", 0, 1)]})``.
    """
    if not lanes or not all(lanes.values()):
        raise ValueError("lanes: hay una calle sin pasos, o ninguna calle")
    for lane, steps in lanes.items():
        for label, start, end in steps:
            if not 0 <= start < end:
                raise ValueError(
                    f"lanes: «{label}», de «{lane}», va de {start} a {end}; se esperaba 0 ≤ inicio"
                    " < fin"
                )
    canvas, last = Canvas(), max(end for steps in lanes.values() for _, _, end in steps)
    scale, y = (PAGE - 16) / last, 10.0
    for lane, steps in lanes.items():
        canvas.text(4, y, lane, ha="left", bold=True)
        y = _lane(canvas, steps, y + 15, scale, set(lit), dependencies) + 20
    _clock(canvas, y - 6, last, scale, xlabel)
    return canvas.finish(y + 32)


def _lane(
    canvas: Canvas, steps: Sequence[Step], top: float, scale: float, lit: set[str], linked: bool
) -> float:
    """Los pasos de una calle, en las filas que hagan falta; devuelve dónde acaba."""
    rows: list[float] = []
    ordered = sorted(steps, key=lambda step: step[1])
    for label, start, end in ordered:
        row = next((r for r, free in enumerate(rows) if free <= start + 1e-9), len(rows))
        rows[row : row + 1] = [end]
        x, width, y = 8 + start * scale, (end - start) * scale, top + row * (_BAR + 4)
        color = WEIGHT if label in lit or not lit else INK
        canvas.rect(x + 5, y, width - 10, _BAR, color=color, fill=color, alpha=TINT, radius=4)
        if measure(label, SMALL) < width - 12:
            canvas.text(x + width / 2, y + _BAR / 2, label, size=SMALL, color=INK)
    if linked and len(rows) == 1:
        for (_, _, end), (_, start, _) in zip(ordered, ordered[1:], strict=False):
            ends = [(8 + end * scale - 4, top + _BAR / 2), (8 + start * scale + 4, top + _BAR / 2)]
            canvas.arrow(ends, head=5, width=1.2)
    return top + len(rows) * (_BAR + 4)


def _clock(canvas: Canvas, y: float, last: float, scale: float, xlabel: str) -> None:
    canvas.arrow([(8, y), (PAGE - 4, y)], color=MUTED, width=0.9, head=6)
    step = next(
        s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 10**9) if last / s <= 8
    )
    for tick in range(0, int(last) + 1, step):
        x = 8 + tick * scale
        canvas.line([(x, y - 3), (x, y + 3)], color=MUTED, width=0.9)
        text = format_number(tick)
        canvas.text(
            min(max(x, measure(text, SMALL) / 2 + 2), PAGE - 12),
            y + 12,
            text,
            size=SMALL,
            color=MUTED,
        )
    canvas.text(PAGE / 2, y + 28, xlabel, color=MUTED, size=SMALL)


def history(
    events: Sequence[tuple[int, str]],
    *,
    lit: Sequence[int] = (),
    gap: float = 6.0,
    height: float | None = None,
) -> Figure:
    """Una historia de arriba abajo: el año, un punto en la línea y lo que pasó.

    events: ``(año, texto)``, en cualquier orden; la distancia crece con los años que pasan y los
    textos nunca se pisan. lit: años encendidos; gap: separación mínima; height: alto deseado, en
    puntos.

    Errores: ``ValueError`` si no hay sucesos o si un texto está vacío.
    Ejemplo: ``diagrams.history([(1997, "LSTM"), (2014, "seq2seq"), (2017, "Transformer")],
    lit=[2017])``.
    """
    if not events or not all(str(text).strip() for _, text in events):
        raise ValueError("events: se esperaban sucesos (año, texto) con texto")
    ordered = sorted(((int(year), str(text)) for year, text in events), key=lambda event: event[0])
    left, texts = 66.0, [wrap(text, PAGE - 66 - 26) for _, text in ordered]
    heights = [line_height() * (text.count("\n") + 1) + gap for text in texts]
    first, span = ordered[0][0], max(ordered[-1][0] - ordered[0][0], 1)
    wanted = height or max(1.15 * sum(heights), 34.0 * len(ordered))
    ideal = [12 + (wanted - 24) * ((year - first) / span) ** 0.8 for year, _ in ordered]
    spots = spread(ideal, heights)
    shift = 12 + heights[0] / 2 - 6 - spots[0]
    spots = [spot + shift for spot in spots]
    canvas = Canvas()
    canvas.line([(left, spots[0] - 8), (left, spots[-1] + 10)], color=MUTED, width=1.2)
    for (year, _), text, y in zip(ordered, texts, spots, strict=True):
        on = year in lit
        color = WEIGHT if on else INK
        canvas.ellipse(
            left, y, 5.0 if on else 3.6, 5.0 if on else 3.6, color=color, fill=color, order=3
        )
        canvas.text(left - 14, y, str(year), ha="right", color=color, bold=on)
        canvas.text(left + 16, y, text, ha="left", color=color if on else INK)
    return canvas.finish(spots[-1] + heights[-1] / 2 + 6)
