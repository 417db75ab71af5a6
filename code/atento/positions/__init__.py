"""Piso 2: las posiciones, o cómo sabe la atención en qué lugar está cada palabra.

Sin máscara, la atención trata la entrada como un conjunto: si se reordenan las palabras, las
salidas se reordenan igual. El orden entra por tres sitios:

- **sumado a la entrada**: :class:`RawIndex`, :class:`Sinusoidal`, :class:`Learned` y, en forma
  breve, :class:`Convolutional` y :class:`Recurrent`; :class:`ComplexEmbedding` hace a la vez de
  embedding. Todas se llaman ``position(x, positions)``, y :class:`NoPE` no hace nada;
- **girando consultas y claves**: ``MultiHeadAttention(..., rotary=Rotary(d_head))``;
- **sumado a las puntuaciones**: ``score_bias=`` con :class:`RelativeBias` (T5), :class:`Alibi`,
  :class:`ShawRelative` o :class:`DynamicBias`.

Las posiciones son ``(n,)``, comunes al lote, o ``(batch, n)``, de cada ejemplo. Si no se dan, son
0, 1, …, n − 1; al generar con caché, las que siguen a las guardadas.
"""

from atento.positions.absolute import Learned, NoPE, RawIndex
from atento.positions.others import ComplexEmbedding, Convolutional, DynamicBias, Recurrent
from atento.positions.relative import (
    Alibi,
    RelativeBias,
    ShawRelative,
    alibi_slopes,
    relative_bucket,
    relative_positions,
)
from atento.positions.rotary import Rotary, ntk_base, rotate
from atento.positions.sinusoids import (
    Sinusoidal,
    frequencies,
    shift_rotation,
    sinusoidal,
    wavelengths,
)

__all__ = [
    "Alibi",
    "ComplexEmbedding",
    "Convolutional",
    "DynamicBias",
    "Learned",
    "NoPE",
    "RawIndex",
    "Recurrent",
    "RelativeBias",
    "Rotary",
    "ShawRelative",
    "Sinusoidal",
    "alibi_slopes",
    "frequencies",
    "ntk_base",
    "relative_bucket",
    "relative_positions",
    "rotate",
    "shift_rotation",
    "sinusoidal",
    "wavelengths",
]
