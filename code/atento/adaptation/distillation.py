"""Destilar: aprender de las probabilidades de otro modelo, y no solo de la respuesta correcta."""

from jaxtyping import Float, Int
from torch import Tensor

from atento.checks import adaptation as checks
from atento.shapes import typed
from atento.training import cross_entropy


@typed(validate=checks.distillation_loss)
def distillation_loss(
    student: Float[Tensor, "*batch vocab"],
    teacher: Float[Tensor, "*batch vocab"],
    labels: Int[Tensor, "*batch"] | None = None,
    *,
    temperature: float = 2.0,
    hard: float = 0.0,
) -> Float[Tensor, ""]:
    """La divergencia del maestro al alumno, los dos a temperatura T, por T²: nats por ejemplo.

    Al crecer T, el gradiente de la divergencia encoge como 1/T²; multiplicar por T² lo deja como
    estaba, y así se puede cambiar T sin cambiar el peso de lo demás. Con ``hard > 0`` se suma,
    en esa proporción, la entropía cruzada con las respuestas, a temperatura 1. Al maestro no le
    llega gradiente.

    Errores: ``TypeError`` o ``ValueError`` si las puntuaciones no son de la misma forma,
    ``temperature`` no es positiva, ``hard`` no está en [0, 1] o faltan las respuestas.
    Fuente: Hinton, Vinyals y Dean (2015), § 2.
    """
    log_q = (student / temperature).log_softmax(dim=-1)  # (…, vocab)
    log_p = (teacher.detach() / temperature).log_softmax(dim=-1)
    soft = temperature**2 * (log_p.exp() * (log_p - log_q)).sum(dim=-1).mean()
    if not hard or labels is None:
        return soft
    return (1 - hard) * soft + hard * cross_entropy(student, labels)
