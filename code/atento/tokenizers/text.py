"""Lo que va antes de cortar en piezas: igualar las escrituras y separar en palabras."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable

import regex

from atento.checks import tokenizers as checks

# Letras, cifras o signos, cada clase con el espacio que lleva delante; o el resto de los espacios.
WORDS = regex.compile(
    r" ?[\p{L}\p{M}]+| ?\p{N}+| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+", regex.VERSION0
)
# Letras y cifras juntas, o un signo suelto; los espacios se pierden.
BARE_WORDS = regex.compile(r"[\p{L}\p{M}\p{N}]+|[^\s\p{L}\p{M}\p{N}]", regex.VERSION0)


def normalize(text: str, form: str | None = "NFC") -> str:
    """Devuelve el texto en una forma de normalización de Unicode; ``None`` lo deja como está.

    «ñ» puede escribirse con un carácter (NFC) o con dos, la «n» y la virgulilla (NFD). NFKC y NFKD
    además cambian caracteres por otros equivalentes (``ﬁ`` → ``fi``, ``²`` → ``2``), y eso no se
    deshace.

    Errores: ``TypeError`` si ``text`` no es ``str``; ``ValueError`` si no se puede escribir en
    UTF-8 o ``form`` no existe.
    Fuente: anexo 15 del estándar Unicode.
    """
    checks.require_text(text)
    checks.require_form(form)
    return text if form is None else unicodedata.normalize(form, text)


def split_words(text: str) -> list[str]:
    """Separa en palabras sin perder nada: ``"".join(split_words(text)) == text``.

    Cada palabra se queda con el espacio que la precede: «El niño, 7» → «El», « niño», «,», « 7».
    Es la separación de GPT-2 sin sus reglas para las contracciones inglesas, y con las marcas
    combinantes (la virgulilla de NFD) dentro de la palabra.

    Errores: ``TypeError`` si ``text`` no es ``str``.
    Fuente: Radford et al. (2019), apartado 2.2 y código publicado.
    """
    checks.require_text(text)
    return WORDS.findall(text)


def split_bare_words(text: str) -> list[str]:
    """Separa en palabras y signos sueltos, y pierde los espacios: «¿Qué tal?» → ¿ · Qué · tal · ?.

    Errores: ``TypeError`` si ``text`` no es ``str``.
    Fuente: Devlin et al. (2019), código publicado, sin pasar a minúsculas ni quitar acentos.
    """
    checks.require_text(text)
    return BARE_WORDS.findall(text)


def count_words(
    corpus: str | Iterable[str],
    form: str | None = "NFC",
    split: Callable[[str], list[str]] = split_words,
) -> Counter[str]:
    """Cuántas veces sale cada palabra en un texto o en una serie de textos.

    Errores: ``TypeError`` si no son textos; ``ValueError`` si no dicen nada.
    """
    counts: Counter[str] = Counter()
    for text in checks.require_corpus(corpus):
        counts.update(split(normalize(text, form)))
    return counts


def visible(piece: str) -> str:
    """Devuelve la pieza con los espacios a la vista: « niño» → «␣niño»; el salto de línea, «⏎».

    Errores: ``TypeError`` si ``piece`` no es ``str``.
    """
    checks.require_text(piece, name="piece")
    return piece.replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥")
