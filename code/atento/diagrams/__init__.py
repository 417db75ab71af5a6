"""Los dibujos del libro."""
from atento.diagrams.links import arcs, shuffle, triangle
from atento.diagrams.mixtures import mixture
from atento.diagrams.tensors import Matrix, product, tensor
from atento.diagrams.vectors import vectors
__all__ = ["Matrix", "arcs", "mixture", "product", "shuffle", "tensor", "triangle", "vectors"]
