"""La prosa del propio libro, por capítulos: el texto en español con el que el libro aprende a leer.

Es una instantánea con fecha que viaja dentro del paquete: sin código, fórmulas, tablas ni marcas,
solo frases enteras, un párrafo por línea. Escribir en el libro no la cambia; la rehace
``make prosa``. Así dos ejecuciones con la misma fecha aprenden del mismo texto, también en Colab.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_FILE = "prosa.json"
_SHORTENED = re.compile(
    r"(?:\b(?:p|ej|pág|págs|cap|caps|fig|figs|ec|ecs|sec|vol|núm|ed|eds|al|etc|aprox|vs|Dr|Sr)"
    r"|\b[A-ZÁÉÍÓÚÑ])\.$"
)
_BOUNDARY = re.compile(r"(?<=[.!?…])[»)”]*\s+(?=[«¿¡(“]*[A-ZÁÉÍÓÚÑÜ\d])")


@dataclass(frozen=True)
class Prose:
    """La prosa de unos capítulos, en el orden del libro.

    ``date`` es el día en que se sacó (``"2026-11-22"``); ``digest``, el resumen del texto;
    ``chapters``, el texto de cada capítulo por su clave («04», «glosario»), con un párrafo por
    línea; ``titles``, sus títulos.
    """

    date: str
    digest: str
    chapters: dict[str, str]
    titles: dict[str, str]

    def text(self, chapters: Iterable[str] | None = None) -> str:
        """Devuelve el texto seguido de esos capítulos, o de todos, en el orden del libro.

        Errores: ``TypeError`` si ``chapters`` es un texto y no una lista; ``ValueError`` si alguno
        no está.
        """
        return "\n".join(self.chapters[key] for key in self._chosen(chapters, "chapters"))

    def sentences(self, chapters: Iterable[str] | None = None) -> list[str]:
        """Devuelve las frases de esos capítulos, o de todos, en orden.

        Errores: los de :meth:`text`.
        """
        return split_sentences(self.text(chapters))

    def split(self, held_out: Iterable[str]) -> tuple[Prose, Prose]:
        """Reparte los capítulos, enteros, en ``(train, test)``: ``test`` son los ``held_out``.

        Se reservan capítulos y no frases sueltas porque dos frases vecinas se parecen demasiado.

        Errores: los de :meth:`text`, y ``ValueError`` si no queda ningún capítulo a un lado.
        """
        reserved = self._chosen(held_out, "held_out")
        if not reserved or len(reserved) == len(self.chapters):
            raise ValueError(
                f"held_out: se esperaba al menos un capítulo, y no los {len(self.chapters)} que "
                f"hay; llegó {list(reserved)}."
            )
        rest = [key for key in self.chapters if key not in reserved]
        return self._only(rest), self._only(reserved)

    def _only(self, keys: Iterable[str]) -> Prose:
        chapters = {key: self.chapters[key] for key in keys}
        titles = {key: self.titles[key] for key in keys}
        return Prose(self.date, digest(chapters), chapters, titles)

    def _chosen(self, keys: Iterable[str] | None, name: str) -> list[str]:
        """Las claves pedidas, en el orden del libro."""
        if keys is None:
            return list(self.chapters)
        if isinstance(keys, str) or not isinstance(keys, Iterable):
            raise TypeError(
                f'{name}: se esperaba una lista de capítulos, como ["04"]; llegó {keys!r}.'
            )
        wanted = list(keys)
        strange = [key for key in wanted if key not in self.chapters]
        if strange:
            raise ValueError(
                f"{name}: se esperaban capítulos de la prosa ({', '.join(self.chapters)}); llegó "
                f"{', '.join(map(repr, strange))}."
            )
        return [key for key in self.chapters if key in wanted]


@cache
def _stored() -> dict:
    path = files("atento") / "datos" / _FILE
    return json.loads(path.read_text(encoding="utf-8"))


def load() -> Prose:
    """Lee la prosa guardada, de todos los capítulos."""
    stored = _stored()
    chapters = {key: "\n".join(page["paragraphs"]) for key, page in stored["chapters"].items()}
    titles = {key: page["title"] for key, page in stored["chapters"].items()}
    return Prose(stored["date"], stored["digest"], chapters, titles)


def digest(chapters: Mapping[str, str]) -> str:
    """Resume un texto por capítulos en 16 cifras hexadecimales: cambia si cambia una letra."""
    joined = "\0".join(f"{key}\0{text}" for key, text in chapters.items())
    return hashlib.sha256(joined.encode("utf-8")).hexdigest()[:16]


def split_sentences(text: str) -> list[str]:
    """Parte un texto, con un párrafo por línea, en frases.

    Una frase acaba en punto, interrogación, exclamación o puntos suspensivos, si lo que sigue puede
    empezar otra. No corta tras una abreviatura («p. ej.», «et al.») ni dentro de comillas «» o
    paréntesis.

    Errores: ``TypeError`` si ``text`` no es un texto.
    """
    if not isinstance(text, str):
        raise TypeError(f"text: se esperaba un texto; llegó {type(text).__name__}.")
    return [sentence for line in text.splitlines() for sentence in _sentences_of(line)]


def _sentences_of(paragraph: str) -> list[str]:
    sentences, start = [], 0
    for found in [*_BOUNDARY.finditer(paragraph), None]:
        end = len(paragraph) if found is None else found.end()
        piece = paragraph[start:end].strip()
        if found is not None and (_SHORTENED.search(piece) or _is_open(piece)):
            continue
        if piece:
            sentences.append(piece)
        start = end
    return sentences


def _is_open(piece: str) -> bool:
    """Si quedan comillas o paréntesis por cerrar."""
    return piece.count("«") > piece.count("»") or piece.count("(") > piece.count(")")
