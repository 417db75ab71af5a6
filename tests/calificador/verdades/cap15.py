"""La verdad de los ejercicios del capítulo 15, por otro camino que el de sus soluciones."""

from verdades.tabla import cerca, verdad


@verdad("15.1")
def _(caso, valor, funcion):
    (x,) = caso.args
    return cerca(valor, x + x)
