"""atento: la biblioteca que acompaña a «El Transformer, línea a línea».

Cada módulo importa solo de los pisos inferiores; el orden es el del libro:

1. ``device``, ``rng``, ``shapes``: dónde se calcula, con qué semilla y con qué formas.
2. ``masks``, ``similarity``: quién puede atender a quién y cuánto se parecen.
3. ``attention``: la atención por producto escalar escalado y la multicabeza.
"""

__version__ = "0.1.0"
