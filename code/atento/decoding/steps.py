"""Lo que toda estrategia hace con un paso: darlo, elegir filas de su estado, envolverlo, parar."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from atento.checks import decoding as checks

Step = Callable[[Tensor, Any], tuple[Tensor, Any]]
"""De lo escrito, (rows, length), y un estado, las puntuaciones siguientes, (rows, vocab), y otro
estado."""

Stop = Callable[[Tensor], Tensor]
"""De lo generado, (rows, length), qué filas ya han acabado, (rows,)."""


def advance(
    step: Step, ids: Int[Tensor, "rows length"], state: Any
) -> tuple[Float[Tensor, "rows vocab"], Any]:
    """Da un paso y comprueba lo que devuelve.

    Errores: ``TypeError`` si no es una pareja (logits, state); ``ValueError`` si las puntuaciones
    no son (rows, vocab), hay NaN o infinitos, o una fila prohíbe todas las palabras.
    """
    result = step(ids, state)
    checks.require_step(result, ids.shape[0])
    return result


def select(state: Any, rows: Int[Tensor, " new_rows"]) -> Any:
    """El estado de esas filas, en ese orden y con repeticiones.

    Un estado es ``None``, un tensor (rows, …), algo con un método ``select(rows)``, como
    :class:`~atento.cache.KVCache`, o una tupla, una lista o un diccionario de todo ello.

    Errores: ``TypeError`` si no es nada de eso.
    """
    if state is None:
        return None
    if isinstance(state, Tensor):
        return state[rows]
    if hasattr(state, "select"):
        return state.select(rows)
    if isinstance(state, dict):
        return {name: select(part, rows) for name, part in state.items()}
    checks.require_sequence(state)
    parts = [select(part, rows) for part in state]
    return type(state)(*parts) if hasattr(state, "_fields") else type(state)(parts)


def ended(
    written: Int[Tensor, "rows length"], eos_id: int, stop: Stop | None
) -> Bool[Tensor, " rows"]:
    """Qué filas acaban con su última palabra: es el fin de frase, o lo dice ``stop``.

    Errores: ``TypeError`` o ``ValueError`` si ``stop`` no devuelve un booleano por fila.
    """
    ends = written[:, -1] == eos_id
    if stop is None:
        return ends
    told = stop(written)
    checks.require_told(told, written)
    return ends | told


def ends_with(words: Sequence[int]) -> Stop:
    """Una regla de parada: que lo generado acabe con esas palabras, seguidas.

    Errores: ``TypeError`` o ``ValueError`` si ``words`` no es una lista de enteros con alguno.
    """
    checks.require_words(words)
    n = len(words)

    def stop(written: Tensor) -> Tensor:
        tail = written[:, -n:]  # (rows, n), o menos al principio
        if tail.shape[1] < n:
            return torch.zeros(len(written), dtype=torch.bool, device=written.device)
        return (tail == torch.tensor(words, device=written.device)).all(dim=1)

    return stop


def kept(result: Any) -> Any:
    """Copia los tensores de un resultado, de cualquier forma (…), o de una tupla de ellos.

    Lo que se calcula con ``torch.inference_mode``, que es más rápido, no sirve después para
    entrenar; la copia, sí.
    """
    if isinstance(result, Tensor):
        return result.clone()
    if not isinstance(result, tuple):
        return result
    parts = [kept(part) for part in result]
    return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)


# --- Pasos hechos de otro paso --------------------------------------------------------------------


def recomputing(step: Step) -> Step:
    """El mismo paso, que olvida lo que calculó: el estado no crece y todo se vuelve a leer.

    Errores: ``TypeError`` si ``step`` no es una función.
    """
    checks.require_function(step, name="step")
    return lambda ids, state: (step(ids, state)[0], state)


def penalize_repetition(step: Step, penalty: float, *, pad_id: int | None = None) -> Step:
    """El mismo paso, con menos puntuación para las palabras ya escritas, salvo ``pad_id``.

    Las positivas se dividen entre ``penalty`` y las negativas se multiplican. El resultado depende,
    por tanto, de dónde esté el 0 de las puntuaciones, que para la softmax da igual.

    Errores: ``TypeError`` o ``ValueError`` si ``step`` no es una función o ``penalty`` no es un
    número finito mayor que 0.
    Fuente: Keskar et al. (2019), § 4.1.
    """
    checks.require_penalty(step, penalty, pad_id)

    def penalized(ids: Tensor, state: Any) -> tuple[Tensor, Any]:
        logits, state = advance(step, ids, state)
        seen = torch.zeros_like(logits, dtype=torch.bool).scatter(1, ids.long(), True)
        if pad_id is not None:
            seen[:, pad_id] = False
        lower = torch.where(logits > 0, logits / penalty, logits * penalty)
        return torch.where(seen, lower, logits), state

    return penalized


def block_repeated(step: Step, n: int, *, pad_id: int | None = None) -> Step:
    """El mismo paso, que prohíbe toda palabra que repetiría ``n`` palabras seguidas ya escritas.

    Los grupos con ``pad_id`` no cuentan.

    Errores: ``TypeError`` o ``ValueError`` si ``step`` no es una función o ``n`` no es un entero
    positivo.
    Fuente: Paulus et al. (2018), § 2.5.
    """
    checks.require_group(step, n, pad_id)

    def blocked(ids: Tensor, state: Any) -> tuple[Tensor, Any]:
        logits, state = advance(step, ids, state)
        if ids.shape[1] < n:
            return logits, state
        groups = ids.unfold(1, n, 1)  # (rows, group, n)
        same = (groups[..., :-1] == ids[:, None, ids.shape[1] - n + 1 :]).all(dim=-1)
        if pad_id is not None:
            same &= (groups != pad_id).all(dim=-1)
        row, group = same.nonzero(as_tuple=True)  # los que empiezan como acaba lo escrito
        logits = logits.index_put((row, groups[row, group, -1]), logits.new_tensor(-torch.inf))
        return logits, state

    return blocked
