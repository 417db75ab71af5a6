"""atento: la biblioteca que acompaña a «El Transformer, línea a línea».

Cada módulo importa solo de los pisos inferiores, y el orden es el del libro.

1. ``amounts``, ``device``, ``rng``, ``shapes``, ``checks``: qué números y formas se aceptan, dónde
   se calcula y con qué semilla.
2. ``masks``, ``similarity``, ``cache``: quién puede atender a quién, cuánto se parecen y qué se
   recuerda. ``positions``: en qué lugar está cada palabra. ``layers``: las piezas de un bloque que
   no son la atención.
3. ``attention``: la atención por producto escalar escalado y la multicabeza.
4. ``blocks``: los bloques del codificador y del decodificador, y las pilas. ``watching``: mirar los
   pesos de un modelo.
5. ``training``, ``decoding``: entrenar y generar con cualquier modelo. ``tokenizers``: del texto a
   los números, y vuelta. ``word_vectors``: un vector por palabra. ``kneser_ney``: contar n-gramas.
   ``audio``: del sonido al espectrograma. ``boxes``: cajas en una imagen. ``hopfield``: la memoria
   cuyo paso es la atención. ``quantize``: pesos en 8 bits. ``moe``: mezcla de expertos.
   ``efficient``: atenciones que no comparan todos con todos.
6. ``models``: una familia, un fichero.
7. ``tasks``: los datos; generar, hacer lotes y puntuar. ``adaptation``: ajustar y alinear un modelo
   que ya sabe algo. ``interpret``: mirar dentro de él. ``scaling``: lo que pide entrenarlo, y
   repartirlo entre procesos.
8. ``trained``: el modelo que ya viene entrenado.

Ni los modelos conocen las tareas ni las tareas los modelos. Lo que dibuja está en otro paquete,
que se llama figuras: importa de este, y este no lo conoce.
"""

__version__ = "0.1.0"
