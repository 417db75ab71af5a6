"""Tokenizadores: caracteres, BPE, WordPiece y unigrama.

Todos se entrenan con ``train(corpus, vocab_size)`` y se usan igual: ``encode`` da números;
``pieces``, las piezas; ``decode`` vuelve al texto; ``save`` y ``load`` guardan y cargan en JSON.

- ``tokenizer = BPE.train(corpus, 2000, special=["<pad>", "<bos>", "<eos>"])`` aprende del corpus;
- ``tokenizer.show("El niño pequeño")`` muestra los cortes, como ``El|␣niño|␣pequeño``;
- ``tokenizer.decode(tokenizer.encode("El niño pequeño"))`` es «El niño pequeño».

Y cada uno muestra cómo corta una palabra: ``BPE.merges_of``, ``WordPiece.matches_of``,
``Unigram.lattice`` y ``Unigram.segmentations``. ``Unigram.sample`` la corta al azar.

``Characters``, ``BPE`` y ``Unigram`` devuelven el texto normalizado tal como era, con sus espacios,
salvo los caracteres desconocidos (ninguno con ``BPE`` sobre bytes). ``WordPiece`` pierde los
espacios.
"""

from atento.tokenizers.base import Tokenizer
from atento.tokenizers.bpe import BPE, Merge
from atento.tokenizers.characters import Characters
from atento.tokenizers.text import normalize, split_bare_words, split_words, visible
from atento.tokenizers.unigram import Edge, Segmentation, Unigram
from atento.tokenizers.wordpiece import Match, WordPiece

__all__ = [
    "BPE",
    "Characters",
    "Edge",
    "Match",
    "Merge",
    "Segmentation",
    "Tokenizer",
    "Unigram",
    "WordPiece",
    "normalize",
    "split_bare_words",
    "split_words",
    "visible",
]
