"""Pares de frases español–inglés de una gramática pequeña, con respuesta única y partes reservadas.

La gramática cubre la concordancia de género y número, el adjetivo antes o después del nombre, el
sujeto omitido, la negación (con el auxiliar inglés *do*), la «a» personal, las contracciones,
*a/an* y de una a cuatro oraciones. Los nombres, adjetivos y verbos llevan sus compatibilidades,
para que toda frase sea natural en los dos idiomas. Cada frase española tiene una sola traducción:
por eso la coincidencia exacta es una medida justa. Tres convenios la aseguran: el plural sin sujeto
es *they*, «los niños» son *children* y «los abuelos», *grandparents*.

Se reserva una parte de las parejas nombre–adjetivo (:func:`is_held_out`): con ``pairs="seen"``
ninguna sale, ni junto al nombre ni tras «ser» o «estar»; con ``pairs="unseen"`` toda frase contiene
al menos una. El número de oraciones (verbos conjugados) se elige con ``clauses``: reservar una
longitud es no pedirla al entrenar.

De abajo arriba: ``lexicon`` (palabras), ``phrases`` (sintagmas), ``clauses`` (oraciones),
``sentences`` (frases), ``exact`` (las descripciones, con su probabilidad), ``vocabulary`` (números
y lotes) y ``scoring`` (puntuación).
"""

from atento.tasks.translation.exact import Descriptions, descriptions
from atento.tasks.translation.lexicon import (
    ADJECTIVES,
    NOUNS,
    VERBS,
    Adjective,
    Noun,
    Verb,
    held_out_pairs,
    is_held_out,
    pairs,
)
from atento.tasks.translation.phrases import Phrase
from atento.tasks.translation.scoring import inversion_hits, score, translate
from atento.tasks.translation.sentences import MAX_CLAUSES, Example, detokenize, generate
from atento.tasks.translation.vocabulary import (
    BOS,
    BOS_ID,
    EOS,
    EOS_ID,
    PAD,
    PAD_ID,
    Batch,
    Vocabulary,
    batch,
    batches,
    vocabularies,
)

__all__ = [
    "ADJECTIVES",
    "BOS",
    "BOS_ID",
    "EOS",
    "EOS_ID",
    "MAX_CLAUSES",
    "NOUNS",
    "PAD",
    "PAD_ID",
    "VERBS",
    "Adjective",
    "Batch",
    "Descriptions",
    "Example",
    "Noun",
    "Phrase",
    "Verb",
    "Vocabulary",
    "batch",
    "batches",
    "descriptions",
    "detokenize",
    "generate",
    "held_out_pairs",
    "inversion_hits",
    "is_held_out",
    "pairs",
    "score",
    "translate",
    "vocabularies",
]
