"""Figuras interactivas del libro: HTML, SVG y unas líneas de JavaScript, sin servidor ni red.

Cada función recibe números que el capítulo ha calculado y devuelve un objeto que un cuaderno sabe mostrar. Sin
JavaScript queda una tabla con los mismos valores.
"""

from __future__ import annotations

import hashlib
import html
import json
import math
from dataclasses import dataclass
from importlib import resources

import torch
from torch import Tensor

__all__ = ["SoftmaxExplorer", "softmax_explorer"]

_STATIC_SETTINGS = (("sin escalar", 1.0, False), ("escalada", 1.0, True), ("escalada, temperatura 4", 4.0, True))


@dataclass(frozen=True)
class SoftmaxExplorer:
    """El explorador de la softmax: puntuaciones fijas, temperatura y escala a elegir.

    Se construye con :func:`softmax_explorer`. ``scores`` tiene una fila por consulta y una columna por clave, sin
    escalar; ``weights(row, temperature, scaled)`` da en Python los mismos pesos que la página.
    """

    scores: tuple[tuple[float, ...], ...]
    keys: tuple[str, ...]
    queries: tuple[str, ...]
    d_k: int
    name: str

    def weights(self, row: int = 0, temperature: float = 1.0, scaled: bool = True) -> Tensor:
        """Pesos de una fila, ``(key,)`` en float64: ``softmax(scores / (temperature · √d_k))``.

        Con ``scaled=False`` no se divide entre ``√d_k``.
        """
        divisor = temperature * (math.sqrt(self.d_k) if scaled else 1.0)
        return torch.softmax(torch.tensor(self.scores[row], dtype=torch.float64) / divisor, dim=-1)

    @property
    def element_id(self) -> str:
        """Identificador del elemento: depende solo de los datos y del nombre."""
        digest = hashlib.sha256(json.dumps([self.scores, self.keys, self.queries, self.d_k]).encode()).hexdigest()
        return f"exp-{self.name}-{digest[:8]}"

    def _repr_html_(self) -> str:
        template = resources.files("atento").joinpath("explorer_softmax.html").read_text(encoding="utf-8")
        weights = self.weights()
        fields = {
            "@SELECTOR@": self._selector(),
            "@FILAS@": "".join(
                f'<tr><th scope="row">{html.escape(key)}</th><td>{_signed(score)}</td><td>{weight:.3f}</td>'
                f'<td class="barra"><svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
                f'<rect class="pista" width="100" height="10"/><rect class="lleno" width="{100 * weight:.1f}" height="10"/>'
                "</svg></td></tr>"
                for key, score, weight in zip(self.keys, self.scores[0], weights.tolist(), strict=True)
            ),
            "@FIJAS_CABEZA@": "".join(f'<th scope="col">{label}</th>' for label, _, _ in _STATIC_SETTINGS),
            "@FIJAS@": self._static_rows(),
            "@LECTURA@": self._reading(weights),
            "@RAIZ@": f"{math.sqrt(self.d_k):.3g}",
            "@TITULO@": "Explorador de la softmax: temperatura y escala",
            "@PIE@": "Pesos de la consulta sobre cada clave"
            if len(self.queries) > 1
            else f"Pesos de «{html.escape(self.queries[0])}» sobre cada clave",
            "@DATOS@": json.dumps(
                {"s": self.scores, "k": self.keys, "d": self.d_k}, ensure_ascii=False, separators=(",", ":")
            ).replace("<", "\\u003c"),
            "@ID@": self.element_id,
        }
        for mark, text in fields.items():
            template = template.replace(mark, text)
        return template

    def _selector(self) -> str:
        if len(self.queries) == 1:
            return ""
        options = "".join(f"<option>{html.escape(query)}</option>" for query in self.queries)
        return f'<label for="@ID@-q">Consulta</label>\n<select id="@ID@-q">{options}</select>\n'

    def _static_rows(self) -> str:
        columns = [self.weights(0, temperature, scaled).tolist() for _, temperature, scaled in _STATIC_SETTINGS]
        rows = []
        for position, key in enumerate(self.keys):
            cells = "".join(f"<td>{column[position]:.3f}</td>" for column in columns)
            rows.append(f'<tr><th scope="row">{html.escape(key)}</th>{cells}</tr>')
        return "".join(rows)

    def _reading(self, weights: Tensor) -> str:
        entropy = float(torch.special.entr(weights).sum())
        top = int(weights.argmax())
        return (
            f"Peso máximo: {float(weights[top]):.3f}, en «{html.escape(self.keys[top])}». Entropía: {entropy:.3f} nats, "
            f"como repartir por igual entre {math.exp(entropy):.1f} claves."
        )

    def __repr__(self) -> str:
        return (
            f"Explorador de la softmax: {len(self.queries)} consultas y {len(self.keys)} claves, "
            f"d_k = {self.d_k} (interactivo en la página)"
        )

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def _signed(score: float) -> str:
    return f"{score:.2f}".replace("-", "−")


def softmax_explorer(
    scores: Tensor,
    keys: list[str],
    *,
    d_k: int,
    queries: list[str] | None = None,
    name: str = "softmax",
) -> SoftmaxExplorer:
    """Devuelve el explorador de la softmax sobre puntuaciones ya calculadas, **sin escalar**.

    ``scores`` tiene forma ``(key,)`` o ``(query, key)``; ``keys`` y ``queries`` son los rótulos de cada clave y de
    cada consulta (con más de una aparece una lista para elegir). La casilla de la página divide entre ``√d_k``.
    ``name`` entra en el identificador del elemento: letras, cifras y guiones.

    Errores: ``ValueError`` si los rótulos no casan con las formas, si hay puntuaciones no finitas, si ``d_k`` es
    menor que 1 o si ``name`` no sirve de identificador.
    """
    table = torch.as_tensor(scores).detach().to("cpu", torch.float64)
    if table.ndim not in (1, 2) or table.numel() == 0:
        raise ValueError(f"scores: llegó la forma {tuple(table.shape)}; se esperaba (key,) o (query, key)")
    table = table.reshape(-1, table.shape[-1])
    queries = ["consulta"] if queries is None and len(table) == 1 else queries
    if queries is None or len(queries) != len(table):
        raise ValueError(
            f"queries: llegaron {0 if queries is None else len(queries)} rótulos; se esperaban {len(table)}"
        )
    if len(keys) != table.shape[-1]:
        raise ValueError(f"keys: llegaron {len(keys)} rótulos; se esperaban {table.shape[-1]}, uno por columna de scores")
    if not bool(torch.isfinite(table).all()):
        raise ValueError("scores: hay puntuaciones infinitas o NaN; el explorador necesita números finitos")
    if d_k < 1:
        raise ValueError(f"d_k: llegó {d_k}; se esperaba un entero mayor o igual que 1")
    if not name.replace("-", "").isalnum() or not name.isascii():
        raise ValueError(f"name: llegó {name!r}; se esperaban letras ASCII, cifras y guiones")
    rows = tuple(tuple(round(value, 6) for value in row) for row in table.tolist())
    return SoftmaxExplorer(rows, tuple(keys), tuple(queries), int(d_k), name)
