"""Lo común a todos los tokenizadores: vocabulario, números, especiales, guardar y cargar."""

import functools
import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Self

import msgspec

from atento.checks import tokenizers as checks
from atento.tokenizers.text import normalize, split_words, visible

UNK = "<unk>"
FORMAT = "atento.tokenizers/1"
_CACHED_WORDS = 1 << 17


class Settings(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Lo que se guarda de cualquier tokenizador; cada clase añade lo suyo."""

    format: str = FORMAT
    pieces: list[str]
    special: list[str]
    unk: str | None
    normalization: str | None


class Tokenizer(ABC):
    """Un vocabulario y una manera de cortar palabras en piezas de ese vocabulario.

    Los números van por este orden: ``special``, ``unk`` y ``pieces``. ``special`` son tokens como
    ``<pad>`` o ``<bos>``: tienen número, pero ``encode`` nunca los produce, tampoco si el texto
    dice «<pad>», y ``decode`` los calla. ``unk`` es el token de lo desconocido; con ``None``, lo
    desconocido es un error.

    Errores: ``TypeError`` o ``ValueError`` si hay piezas vacías o repetidas, si un token especial
    no va entre ángulos o corchetes, o si ``normalization`` no existe.
    """

    kind: ClassVar[str]
    _saved: ClassVar[type[Settings]]

    def __init__(
        self,
        pieces: Iterable[str],
        *,
        special: Sequence[str] = (),
        unk: str | None = UNK,
        normalization: str | None = "NFC",
    ) -> None:
        checks.require_special(special, unk)
        checks.require_form(normalization)
        checks.require_list(pieces, name="pieces")
        self.special, self.unk, self.normalization = tuple(special), unk, normalization
        first = (*special, *([] if unk is None else [unk]))
        self.vocabulary = (*first, *pieces)
        checks.require_pieces(self.vocabulary)
        self.n_first = len(first)
        self._ids = {piece: i for i, piece in enumerate(self.vocabulary)}
        self._unk_id = None if unk is None else self._ids[unk]
        self._known_words: dict[str, tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} piezas)"

    # --- Cortar y unir ----------------------------------------------------------------------------

    @abstractmethod
    def segment(self, word: str) -> list[str]:
        """Corta una palabra en piezas; lo desconocido queda como está, fuera del vocabulario."""

    def words(self, text: str) -> list[str]:
        """Normaliza el texto y lo separa en palabras, que es donde se corta por separado.

        Errores: ``TypeError`` si ``text`` no es ``str``; ``ValueError`` si no cabe en UTF-8.
        """
        return split_words(normalize(text, self.normalization))

    def encode(self, text: str) -> list[int]:
        """Números de las piezas de un texto; el texto vacío da ``[]``.

        Errores: ``TypeError`` si ``text`` no es ``str``; ``ValueError`` si tiene algo desconocido
        y el tokenizador no tiene ``unk``.
        """
        known = self._known_words
        ids: list[int] = []
        for word in self.words(text):
            if word not in known:
                self._remember(word)
            ids += known[word]
        return ids

    def pieces(self, text: str) -> list[str]:
        """Piezas de un texto: las del vocabulario que dicen los números de :meth:`encode`.

        Errores: los mismos.
        """
        return [self.vocabulary[i] for i in self.encode(text)]

    def decode(self, ids: Iterable[int], *, keep_special: bool = False) -> str:
        """Texto de unos números, lista o tensor (n,); sin los especiales, si no se pide otra cosa.

        ``decode(encode(text))`` es el texto normalizado cuando nada era desconocido, salvo en
        WordPiece, que pierde los espacios. Lo desconocido se escribe con el nombre de ``unk``.

        Errores: ``TypeError`` si no son enteros; ``ValueError`` si alguno no es del vocabulario.
        """
        row = checks.require_ids(ids, len(self))
        kept = [i for i in row if keep_special or i >= len(self.special)]
        return self._join([self.vocabulary[i] for i in kept])

    def show(self, text: str, mark: str = "|") -> str:
        """El texto cortado y a la vista: ``El|␣ni|ño``.

        Errores: los de :meth:`encode`.
        """
        return mark.join(self._visible(piece) for piece in self.pieces(text))

    def _join(self, pieces: Sequence[str]) -> str:
        return "".join(pieces)

    def _visible(self, piece: str) -> str:
        return visible(piece)

    def _remember(self, word: str) -> None:
        """Apunta los números de una palabra: las palabras se repiten mucho."""
        if len(self._known_words) >= _CACHED_WORDS:
            self._known_words.clear()
        self._known_words[word] = tuple(self._id_or_unk(piece) for piece in self.segment(word))

    def _id_or_unk(self, piece: str) -> int:
        found = self._ids.get(piece, self._unk_id)
        if found is None:
            raise ValueError(
                f"text: se esperaban piezas del vocabulario, porque este tokenizador no tiene unk; "
                f"llegó {piece!r}."
            )
        return found

    # --- Piezas y números -------------------------------------------------------------------------

    def id_of(self, piece: str) -> int:
        """Número de una pieza o de un token especial.

        Errores: ``TypeError`` si no es ``str``; ``ValueError`` si no está en el vocabulario.
        """
        checks.require_text(piece, name="piece")
        if piece not in self._ids:
            raise ValueError(f"piece: se esperaba una pieza del vocabulario; llegó {piece!r}.")
        return self._ids[piece]

    # --- Guardar y cargar -------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Guarda el tokenizador en un fichero JSON, que se puede leer y comparar.

        Errores: ``TypeError`` si ``path`` no es una ruta; ``OSError`` si no se puede escribir.
        """
        checks.require_path(path)
        written = msgspec.json.format(msgspec.json.encode(self._settings()), indent=1)
        Path(path).write_bytes(written + b"\n")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Carga un tokenizador de esta clase, o de cualquiera si se llama ``Tokenizer.load``.

        Errores: ``TypeError`` si ``path`` no es una ruta; ``OSError`` si no se puede leer;
        ``ValueError`` si no es un fichero de :meth:`save`, si está dañado o si es de otra clase.
        """
        checks.require_path(path)
        kinds = {kind._saved: kind for kind in _kinds(Tokenizer)}
        saved = _read(Path(path), tuple(kinds))
        kind = kinds[type(saved)]
        if not issubclass(kind, cls):
            raise ValueError(f"path: se esperaba un {cls.__name__}; {path} guarda un {kind.kind}.")
        fields = {name: getattr(saved, name) for name in saved.__struct_fields__}
        del fields["format"]
        try:
            return kind(**fields)
        except (TypeError, ValueError) as error:
            raise ValueError(f"path: {path} está dañado: {error}") from error

    def _settings(self) -> Settings:
        """Lo que guarda ``save``: los argumentos del constructor, por su nombre."""
        names = set(self._saved.__struct_fields__) - {"format", "pieces"}
        own = {name: getattr(self, name) for name in names}
        return self._saved(pieces=list(self.vocabulary[self.n_first :]), **own)


def _kinds(cls: type[Tokenizer]) -> list[type[Tokenizer]]:
    """Las clases que derivan de una y tienen su manera de guardarse."""
    found = [kind for sub in cls.__subclasses__() for kind in (sub, *_kinds(sub))]
    return [kind for kind in found if "_saved" in vars(kind)]


def _read(path: Path, kinds: tuple[type[Settings], ...]) -> Settings:
    """Lee el fichero y comprueba los tipos de todo lo que trae."""
    why = "dice ser de otro formato"
    try:
        saved = msgspec.json.decode(path.read_bytes(), type=functools.reduce(operator.or_, kinds))
        if saved.format == FORMAT:
            return saved
    except msgspec.ValidationError as error:
        where = re.search(r"`\$\.?([^`]*)`$", str(error))  # el lugar, como «merges[0]»
        why = f"falla «{where[1]}»" if where else "le falta algún campo, o le sobra"
    except (msgspec.DecodeError, UnicodeDecodeError):
        why = "no es JSON, o está cortado"
    raise ValueError(f"path: se esperaba un tokenizador guardado por atento; {path}: {why}.")
