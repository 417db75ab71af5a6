"""Los dibujos del libro."""
from atento.diagrams.mixtures import mixture
from atento.diagrams.tensors import Matrix, product, tensor
from atento.diagrams.vectors import vectors
__all__ = ["Matrix", "mixture", "product", "tensor", "vectors"]
