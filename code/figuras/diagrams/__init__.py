"""Los dibujos del libro: lo que pasa, dibujado a partir de los datos y los rótulos, sin coordenadas
a mano.

Cada función devuelve una figura de matplotlib de 360 puntos de ancho que se muestra con
:func:`figuras.plots.show`, como cualquier otra: en claro y en oscuro, con las letras como texto y
legible en un teléfono. Los rótulos admiten índices:
``d_k``, ``W^Q``, ``h_{t−1}``. La consulta, la clave y el valor llevan su tinte, su trazo y su forma
en todas; los pesos de atención, el violeta del libro.

``tensor``, ``product``: tensores y productos · ``vectors``, ``mixture``: flechas y mezclas ·
``arcs``, ``reach``, ``shuffle``, ``triangle``: quién atiende a quién · ``blocks``, ``phases``,
``encoder_decoder``, ``recurrent_cell``, ``architecture``: piezas y cables · ``stream``,
``additions``, ``position_wise``, ``normalization``, ``pools``: el bloque · ``timeline``,
``history``, ``clocks``: tiempo y agujas · ``distances``, ``rotations``, ``dials``: posiciones
relativas · ``roles``, ``room``, ``histograms``: escenas · ``pieces``, ``lattice``: texto cortado en
piezas · ``shifted``: lo que entra y lo que se debe decir · ``tree``, ``growth``, ``filters``,
``caching``: escribir palabra a palabra · ``syntax``, ``forms``, ``staircase``: expresiones ·
``heads``, ``interventions``, ``relays``: qué mira un modelo y si lo usa.
"""

from figuras.diagrams.boxes import PHASES, blocks, phases
from figuras.diagrams.clocks import clocks
from figuras.diagrams.heads import heads
from figuras.diagrams.interventions import Intervention, interventions
from figuras.diagrams.links import arcs, reach, shuffle, triangle
from figuras.diagrams.mixtures import mixture
from figuras.diagrams.norms import normalization, pools
from figuras.diagrams.pieces import lattice, pieces
from figuras.diagrams.recurrent import encoder_decoder, recurrent_cell
from figuras.diagrams.relative import dials, distances, rotations
from figuras.diagrams.relays import relays
from figuras.diagrams.scenes import Person, histograms, roles, room
from figuras.diagrams.shifts import shifted
from figuras.diagrams.streams import Sublayer, additions, position_wise, stream
from figuras.diagrams.syntax import forms, staircase, syntax
from figuras.diagrams.tensors import Matrix, product, tensor
from figuras.diagrams.times import history, timeline
from figuras.diagrams.transformer import architecture
from figuras.diagrams.trees import tree
from figuras.diagrams.vectors import vectors
from figuras.diagrams.writing import caching, filters, growth

__all__ = [
    "PHASES",
    "Intervention",
    "Matrix",
    "Person",
    "Sublayer",
    "additions",
    "arcs",
    "architecture",
    "blocks",
    "caching",
    "clocks",
    "dials",
    "distances",
    "encoder_decoder",
    "filters",
    "forms",
    "growth",
    "heads",
    "histograms",
    "history",
    "interventions",
    "lattice",
    "mixture",
    "normalization",
    "phases",
    "pieces",
    "pools",
    "position_wise",
    "product",
    "reach",
    "recurrent_cell",
    "relays",
    "roles",
    "room",
    "rotations",
    "shifted",
    "shuffle",
    "staircase",
    "stream",
    "syntax",
    "tensor",
    "timeline",
    "tree",
    "triangle",
    "vectors",
]
