"""La base de los exploradores: de los datos de un capítulo a un trozo de página que se vale solo.

Un explorador es una clase pequeña que hereda de :class:`Explorer` y dice cuatro cosas: sus datos
(lo que recibe el JavaScript), su versión quieta (lo que se lee sin JavaScript y en papel), su
resumen (lo que se lee en una terminal) y su gemelo en Python, el método que hace la misma cuenta.
Al lado tiene dos ficheros con su mismo nombre: ``.js``, que la dibuja, y, si hace falta, ``.css``,
que vale solo para él. Lo común (colores, mandos, teclado, dedo, lectura en voz alta, tablas,
barras) está en ``base.js`` y ``base.css``; lo que comparten varios y no todos (gráficos de líneas,
rejillas), en ``pieces/``, y un explorador dice en ``pieces`` cuáles usa.

Cada trozo lleva todo lo que necesita, porque en un cuaderno puede ejecutarse una celda sin las
demás. En una página con varios, :func:`deduplicate` deja una sola copia de lo repetido.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from importlib import resources
from typing import Any, ClassVar, TypedDict

import torch
from torch import Tensor

from figuras import plots

__all__ = [
    "Explorer",
    "Texts",
    "check_count",
    "check_kind",
    "check_labels",
    "check_name",
    "check_option",
    "check_some",
    "check_table",
    "deduplicate",
    "detach",
    "number",
    "point",
    "static_table",
]

_ATTENTION = {"attention": {"light": "#6e2a6b", "dark": "#d9a0d5"}}  # el violeta de los pesos
_ROLES = ("query", "key", "value", "position", "attention", "muted", "ink", "paper")
_PART = re.compile(r'<(style|script) data-atento-part="([\w/-]+)">.*?</\1>', re.DOTALL)
_FILE = re.compile(
    r'<script type="text/plain" data-atento-file="([\w-]+)">(.+?)</script>', re.DOTALL
)


class Texts(TypedDict, total=False):
    """Lo que se le puede decir a cualquier explorador: qué pone en su cabecera, qué se pregunta y
    qué se contesta, y el nombre que entra en su identificador (letras ASCII, cifras y guiones).
    """

    title: str
    question: str | None
    answer: str | None
    name: str


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Explorer:
    """Lo común de todos los exploradores. Quien hereda da ``kind``, ``static`` y ``summary``, un
    ``title`` y un ``name`` para cuando no se dicen, y ``data`` si la página no recibe sus campos.

    Errores: ``ValueError`` si ``name`` no es de letras ASCII, cifras y guiones.
    """

    kind: ClassVar[str]
    pieces: ClassVar[tuple[str, ...]] = ("kit",)  # las piezas de pieces/ que usa
    scripts: ClassVar[tuple[str, ...]] = ()  # guiones que necesita además del suyo
    title: str
    question: str | None = None
    answer: str | None = None
    name: str

    def __post_init__(self) -> None:
        check_name(self.name)

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript: números, textos y listas. Si no se dice otra cosa, los
        campos del explorador.
        """
        common = {field.name for field in fields(Explorer)}
        own = (field.name for field in fields(self) if field.name not in common)
        return {name: _sent(getattr(self, name)) for name in own}

    def static(self) -> str:
        """HTML que se lee sin JavaScript: el estado inicial."""
        raise NotImplementedError

    def summary(self) -> str:
        """Una línea para la terminal, igual en cualquier máquina."""
        raise NotImplementedError

    def files(self) -> dict[str, str]:
        """Los ficheros que la página lee cuando hacen falta: texto, por su nombre."""
        return {}

    @property
    def element_id(self) -> str:
        """Identificador del elemento: depende solo de los datos y del nombre."""
        digest = hashlib.sha256(json.dumps(self.data(), sort_keys=True).encode()).hexdigest()
        return f"exp-{self.name}-{digest[:8]}"

    def show(self) -> None:
        """Muestra el explorador en el cuaderno; hace falta si no es la última expresión de la
        celda."""
        from IPython.display import display

        display(self)

    def _repr_html_(self) -> str:
        sheets = ((f"pieces/{name}", "") for name in self.pieces)
        parts = [_part("style", "base", _base_css())]
        for name, scope in (*sheets, (self.kind, f':where([data-atento-explorer="{self.kind}"])')):
            if sheet := _sheet(name, scope):
                parts.append(_part("style", name, sheet))
        names = (*(f"pieces/{name}" for name in self.pieces), *self.scripts, self.kind)
        parts.append(_part("script", "base", _base_js()))
        parts += [_part("script", name, _read(f"{name}.js")) for name in names]
        files = (_file(name, text) for name, text in self.files().items())
        return (
            f'<div id="{self.element_id}" class="atento-exp" data-atento-explorer="{self.kind}"'
            f' role="group" aria-label="{html.escape(self.title)}" lang="es">\n'
            f'{self._heading()}<div class="quiet">{self.static()}</div>\n'
            f"{self._folded_answer()}"
            f'<script type="application/json">{_json(self.data())}</script>\n</div>\n'
            + "\n".join((*files, *parts))
            + "\n<script>window.atentoExplorers.mount()</script>"
        )

    def _heading(self) -> str:
        question = (
            f'<p class="question">{html.escape(self.question)}</p>\n' if self.question else ""
        )
        return f'<p class="heading">{html.escape(self.title)}</p>\n{question}'

    def _folded_answer(self) -> str:
        if not self.answer:
            return ""
        return f"<details><summary>Respuesta</summary><p>{html.escape(self.answer)}</p></details>\n"

    def __repr__(self) -> str:
        return f"{self.summary()} (interactivo en la página)"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


# --- Las piezas de la página ----------------------------------------------------------------------


def deduplicate(page: str) -> str:
    """Quita de una página las copias repetidas de hojas de estilo y guiones de los exploradores.

    Se queda la primera de cada una. Sirve para quien construye el sitio; un cuaderno no lo
    necesita, porque el guion común no hace nada la segunda vez.
    """
    seen: set[tuple[str, str]] = set()

    def keep_first(found: re.Match[str]) -> str:
        part = (found[1], found[2])
        if part in seen:
            return ""
        seen.add(part)
        return found[0]

    return _PART.sub(keep_first, page)


def detach(page: str, folder: str) -> tuple[str, dict[str, str]]:
    """Saca de una página los ficheros de sus exploradores, para que se pidan solo si hacen falta.

    Devuelve la página, que los buscará en ``folder``, y los guiones que han de estar en ella, por
    su nombre con ``.js``. Un guion, y no un dato, porque así se lee también desde el disco.
    """
    found: dict[str, str] = {}

    def point(match: re.Match[str]) -> str:
        name, text = match.groups()
        if f"{name}.js" in found:
            return ""
        found[f"{name}.js"] = f'(window.atentoFiles??={{}})["{name}"]="{text}"\n'
        return _file(name, "", f' data-url="{folder}/{name}.js"')

    return _FILE.sub(point, page), found


def _file(name: str, text: str, more: str = "") -> str:
    return f'<script type="text/plain" data-atento-file="{name}"{more}>{text}</script>'


def _part(tag: str, name: str, text: str) -> str:
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f'<{tag} data-atento-part="{name}-{digest}">\n{text}</{tag}>'


def _read(name: str) -> str:
    """El fichero sin sangrías ni comentarios ni saltos que sobren: la fuente se lee y la página no
    carga con ellos.
    """
    text = resources.files("figuras.explorers").joinpath(name).read_text(encoding="utf-8")
    text = re.sub(r"^\s*(/\*(?!@)(.|\n)*?\*/\s*$|// .*$)", "", text, flags=re.MULTILINE)
    text = re.sub(r"(?<=[;,{]) // .*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\n\s*", "\n", text).lstrip()
    if name.endswith(".css"):
        return _squeezed(text)
    text = re.sub(r"^((?:(?!//).)*[({\[,;])\n", r"\1", text, flags=re.MULTILINE)
    text = re.sub(r"\n(?=[)}\]?:&|])", "", text)  # una línea no acaba antes de estos signos
    text = text.replace(") {", "){").replace("else {", "else{")
    return re.sub(r" (=>|[!=]==|&&|\|\||\?\?) |((?:(?:const|let) |\.)\w+) = ", _tight, text)


def _tight(found: re.Match[str]) -> str:
    return found[1] or f"{found[2]}="


_ROOT = ".atento-exp "


def _sheet(name: str, scope: str = "") -> str:
    """La hoja de un explorador o de una pieza, que puede no tenerla; ``scope`` dice dónde vale."""
    if not resources.files("figuras.explorers").joinpath(f"{name}.css").is_file():
        return ""
    css = _read(f"{name}.css")
    selectors = re.findall(r"(?:^|[{}])\s*([^{};@]+)(?={)", css)
    parts = [part for rule in selectors for part in re.split(r",(?![^(]*\))", rule)]
    if not all(part.strip().startswith(_ROOT) for part in parts):
        return css
    return f"{_ROOT.strip()}{scope}{{{css.replace(_ROOT, '')}}}"  # anidadas: la raíz, una vez


def _squeezed(css: str) -> str:
    """La hoja sin los espacios, los ceros y los puntos y coma que sobran."""
    css = re.sub(r"(?<=[;{,])\s+|\s+(?=[{}])|(?<=: )0(?=\.\d)|(?<= )0(?=\.\d)", "", css)
    return re.sub(r"(?<=[\w-]): ", ":", css).replace(";}", "}")


def _base_js() -> str:
    text = _read("base.js")
    return text.replace("@VERSION@", hashlib.sha256(text.encode()).hexdigest()[:8])


def _base_css() -> str:
    tokens = _ATTENTION | plots.TOKENS
    follow = "".join(f"--{role}:var(--atento-{role},{tokens[role]['light']});" for role in _ROLES)
    fixed = {
        mode: "".join(f"--{role}:{tokens[role][mode]};" for role in _ROLES)
        for mode in ("light", "dark")
    }
    outside, inside = _read("base.css").split("/*@INSIDE@*/\n")
    inside = re.sub(r"(?<![\w\]\)])\.atento-exp(?=\{|\.)", "&", inside).replace(_ROOT, "")
    text = f"{outside}{_ROOT.strip()}{{{inside}}}".replace("/*@TOKENS@*/", follow)
    return text.replace("/*@DARK@*/", fixed["dark"]).replace("/*@LIGHT@*/", fixed["light"])


def _sent(value: Any) -> Any:
    """El valor de un campo como cabe en JSON: las tablas, como listas."""
    if isinstance(value, Tensor):
        return value.tolist()
    if is_dataclass(value):
        return {field.name: _sent(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: _sent(one) for key, one in value.items()}
    return tuple(map(_sent, value)) if isinstance(value, tuple) else value


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def number(value: float, digits: int = 2) -> str:
    """Un número como lo escribe la página: punto decimal y signo menos de imprenta, sin «−0.00»."""
    return plots.format_number(float(value), f".{digits}f")


def point(vector: Tensor) -> str:
    """Los números de un vector ``(d,)``, entre paréntesis."""
    return f"({', '.join(map(number, vector.tolist()))})"


def static_table(caption: str, head: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """Tabla de la versión quieta; la primera celda de cada fila es su rótulo."""
    columns = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in head)
    lines = (
        f'<tr><th scope="row">{html.escape(label)}</th>'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
        for label, *cells in rows
    )
    return (
        f"<table><caption>{html.escape(caption)}</caption><thead><tr>{columns}</tr></thead>"
        f"<tbody>{'</tr>'.join(lines)}</tr></tbody></table>"
    )


# --- La puerta: qué se acepta ---------------------------------------------------------------------


def check_table(
    value: Any, name: str, axes: str, ndim: tuple[int, ...], last: int | None = None
) -> Tensor:
    """Devuelve ``value`` en float64, en la CPU y redondeado a seis decimales, como lo recibe la
    página.

    ``axes`` dice la forma que se esperaba, por ejemplo ``(key, d)``, ``ndim`` cuántos ejes se
    admiten y ``last`` cuánto mide el último, si ha de medir algo.

    Errores: ``ValueError`` si no es una tabla de números finitos con esos ejes.
    """
    try:
        table = torch.as_tensor(value).detach().to("cpu", torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"{name}: llegó {type(value).__name__}; se esperaban números con la forma {axes}"
        ) from error
    if table.ndim not in ndim or table.numel() == 0 or last not in (None, table.shape[-1]):
        raise ValueError(f"{name}: llegó la forma {tuple(table.shape)}; se esperaba {axes}")
    if not bool(torch.isfinite(table).all()):
        raise ValueError(
            f"{name}: hay valores infinitos o NaN; el explorador necesita números finitos"
        )
    return table.mul(1e6).round().div(1e6)


def check_labels(labels: Sequence[str], name: str, count: int, what: str) -> tuple[str, ...]:
    """Los rótulos, como tupla de textos.

    Errores: ``ValueError`` si no hay ``count`` o alguno está vacío; ``what`` dice de qué es cada
    rótulo.
    """
    if isinstance(labels, str) or not all(
        isinstance(label, str) and label.strip() for label in labels
    ):
        raise ValueError(f"{name}: llegó {labels!r}; se esperaba una lista de textos no vacíos")
    if len(labels) != count:
        raise ValueError(
            f"{name}: llegaron {len(labels)} rótulos; se esperaban {count}, uno por {what}"
        )
    return tuple(labels)


def check_kind(value: Any, name: str, kind: type) -> None:
    """Comprueba que lo que llega es de su clase.

    Errores: ``TypeError`` si no es un ``kind``.
    """
    if not isinstance(value, kind):
        raise TypeError(f"{name}: se esperaba un {kind.__name__}; llegó {type(value).__name__}.")


def check_count(value: Any, name: str, least: int, most: int) -> int:
    """El entero, si está de ``least`` a ``most``.

    Errores: ``ValueError`` si no lo está o no es un entero.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name}: llegó {value!r}; se esperaba un entero de {least} a {most}")
    return value


def check_option(value: Any, name: str, options: Iterable[Any]) -> Any:
    """El valor, si es uno de ``options``.

    Errores: ``ValueError`` si no lo es.
    """
    if value not in (known := list(options)):
        raise ValueError(f"{name}: llegó {value!r}; se esperaba uno de {known}")
    return value


def check_some(chosen: Sequence[str], name: str, known: Sequence[str]) -> tuple[str, ...]:
    """Los de ``known`` que se han elegido, en su orden.

    Errores: ``ValueError`` si alguno no está en ``known``.
    """
    if isinstance(chosen, str) or not set(chosen) <= set(known):
        raise ValueError(f"{name}: llegó {chosen!r}; se esperaban algunos de {', '.join(known)}")
    return tuple(item for item in known if item in chosen)


def check_name(name: str) -> str:
    """El nombre, si sirve de identificador.

    Errores: ``ValueError`` si no es de letras ASCII, cifras y guiones.
    """
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]*", name):
        raise ValueError(f"name: llegó {name!r}; se esperaban letras ASCII, cifras y guiones")
    return name
