"""Los dibujos del libro."""
from atento.diagrams.boxes import PHASES, blocks, phases
from atento.diagrams.links import arcs, shuffle, triangle
from atento.diagrams.mixtures import mixture
from atento.diagrams.tensors import Matrix, product, tensor
from atento.diagrams.times import history, timeline
from atento.diagrams.vectors import vectors
__all__ = ["PHASES", "Matrix", "arcs", "blocks", "history", "mixture", "phases", "product", "shuffle", "tensor", "timeline", "triangle", "vectors"]
