"""Respuestas equivocadas que no salen del registro. Cada celda «# %% ejercicio | qué hace mal» es una entrega entera."""

# %% 0.1 | suma los elementos de los dos en lugar de difundir
broadcast_shapes = {"axes": 3, "elements": 15 + 21, "compared": 35}

# %% 0.1 | pone los ejes de uno detrás de los del otro
broadcast_shapes = {"axes": 5, "elements": 15 * 21, "compared": 105}

# %% 0.1 | la suma lo junta todo en un número
broadcast_shapes = {"axes": 3, "elements": 105, "compared": 1}

# %% 0.1 | se queda con los ejes del segundo
broadcast_shapes = {"axes": 2, "elements": 21, "compared": 7}

# %% 0.1 | multiplica también el tres por sí mismo
broadcast_shapes = {"axes": 3, "elements": 5 * 7 * 9, "compared": 5 * 7 * 3}

# %% 0.2 | multiplica la primera fila por sí misma, elemento a elemento
one_row = {"first": 1, "second": 4, "dot_products": 512 * 512, "multiplications": 512 * 512 * 64}

# %% 0.2 | un producto escalar por cada número de la primera matriz
one_row = {"first": 5, "second": 2, "dot_products": 512 * 64, "multiplications": 512 * 64 * 512}

# %% 0.2 | el producto al revés
one_row = {"first": 5, "second": 2, "dot_products": 64 * 64, "multiplications": 64 * 64 * 512}

# %% 0.2 | cuenta también las sumas
one_row = {"first": 5, "second": 2, "dot_products": 512 * 512, "multiplications": 2 * 512 * 512 * 64}

# %% 0.2 | suma la fila entera de A y la de A traspuesta
one_row = {"first": 3, "second": 3, "dot_products": 512 * 512, "multiplications": 512 * 512 * 64}

# %% 0.3 | reparte 1 entre 9 y no entre 10
softmax_jacobian = {"small": 0.111, "large": 0.889, "diagonal": 0.099, "off_diagonal": -0.099}

# %% 0.3 | deriva como si fuera la exponencial
softmax_jacobian = {"small": 0.1, "large": 0.9, "diagonal": 0.1, "off_diagonal": 0.0}

# %% 0.3 | el cuadrado del peso
softmax_jacobian = {"small": 0.1, "large": 0.9, "diagonal": 0.01, "off_diagonal": -0.09}

# %% 0.3 | el peso grande, por lo que dice el pequeño
softmax_jacobian = {"small": 0.9, "large": 0.1, "diagonal": 0.09, "off_diagonal": -0.09}

# %% 0.3 | deriva respecto del logaritmo y divide entre nueve
softmax_jacobian = {"small": 0.1, "large": 0.9, "diagonal": 0.01, "off_diagonal": -0.01}

# %% 0.3 | quita los dos pesos a uno y no los multiplica
softmax_jacobian = {"small": 0.1, "large": 0.9, "diagonal": 0.9, "off_diagonal": -0.9}

# %% 0.4 | la divergencia en el otro sentido
entropy_by_hand = {"entropy": 1.040, "divergence": 0.057}

# %% 0.4 | se queda en la entropía cruzada
entropy_by_hand = {"entropy": 1.040, "divergence": 1.099}

# %% 0.4 | promedia los logaritmos sin las probabilidades
entropy_by_hand = {"entropy": 1.155, "divergence": 0.059}

# %% 0.4 | con logaritmos decimales
entropy_by_hand = {"entropy": 0.452, "divergence": 0.025}

# %% 0.4 | la divergencia, como el cociente de las entropías
entropy_by_hand = {"entropy": 1.040, "divergence": 0.946}

# %% 0.5 | suma las desviaciones típicas y eleva
variance_rules = {"sum": 25, "difference": 1, "double": 16, "product": 36}

# %% 0.5 | contesta con desviaciones típicas
variance_rules = {"sum": 3.606, "difference": 3.606, "double": 4, "product": 6}

# %% 0.5 | solo cuenta la mayor
variance_rules = {"sum": 9, "difference": 9, "double": 16, "product": 36}

# %% 0.5 | el doble, con la otra variable
variance_rules = {"sum": 13, "difference": 13, "double": 36, "product": 36}

# %% 0.5 | el producto, con las desviaciones típicas
variance_rules = {"sum": 13, "difference": 13, "double": 16, "product": 6}

# %% 0.5 | el factor, elevado al cubo al pasar por x al cuadrado
variance_rules = {"sum": 13, "difference": 13, "double": 32, "product": 36}

# %% 0.6 | suma los rangos
rank_and_trace = {"rank": 6, "trace": 25, "singular_value": 13}

# %% 0.6 | la traza, de una sola de las dos
rank_and_trace = {"rank": 5, "trace": 10, "singular_value": 13}

# %% 0.6 | la norma de una fila
rank_and_trace = {"rank": 5, "trace": 25, "singular_value": 6.403}

# %% 0.6 | la suma de todos los valores singulares
rank_and_trace = {"rank": 5, "trace": 25, "singular_value": 25}

# %% 0.6 | quita una dimensión por la parte de unos
rank_and_trace = {"rank": 4, "trace": 25, "singular_value": 13}

# %% 0.7 | divide entre el mayor
clipped_gradient = {"clipped_x": 0.75, "clipped_y": -1, "untouched_x": 3, "untouched_y": -4}

# %% 0.7 | divide entre el cuadrado de la norma
clipped_gradient = {"clipped_x": 0.12, "clipped_y": -0.16, "untouched_x": 3, "untouched_y": -4}

# %% 0.7 | pierde el signo al recortar
clipped_gradient = {"clipped_x": 0.6, "clipped_y": 0.8, "untouched_x": 3, "untouched_y": -4}

# %% 0.7 | deja el signo para los dos
clipped_gradient = {"clipped_x": -0.6, "clipped_y": -0.8, "untouched_x": 3, "untouched_y": -4}

# %% 0.7 | la norma, sin la raíz en el primero y recortado el segundo
clipped_gradient = {"clipped_x": 0.6, "clipped_y": -0.8, "untouched_x": 0.3, "untouched_y": -0.4}
