"""El sumador vivo: el Transformer entrenado del libro, ejecutado en la página."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor, nn

from atento import trained
from atento.attention import MultiHeadAttention
from atento.layers import FeedForward
from atento.models.seq2seq import Seq2Seq
from atento.tasks import addition
from atento.tasks.addition import Sum
from atento.watching import watching
from figuras.explorers.base import Explorer, Texts, number, static_table
from figuras.explorers.live import weights_file

__all__ = ["SIGNS", "AdderExplorer", "adder", "complaint", "read_sum", "recorded", "stored_file"]

SIGNS = ("relleno", "comienzo", "fin", *"0123456789", "+")
"""Cómo se llama cada símbolo del vocabulario."""

STEPS = ("unidades", "decenas", "centenas", "millares", "fin")
"""Qué se escribe en cada paso."""

_SUM = re.compile(r"(\d+)\s*\+\s*(\d+)", re.ASCII)
_WRONG = {  # lo que se dice de lo que no es una suma: lo de la primera forma que tenga
    r"^$": "Escribe una suma, como 458 + 367.",
    r"[-−]\s*[0-9]": "Ni restas ni números negativos: solo sabe sumar números de 0 a 999.",
    r"[0-9][.,][0-9]": "Ni puntos ni decimales: solo sabe sumar números enteros, de 0 a 999.",
    r"": "Escribe dos números con un + en medio, como 458 + 367.",
}
_model = cache(trained.adder)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AdderExplorer(Explorer):
    """El sumador vivo. Se construye con :func:`adder`.

    ``start`` es la suma que está escrita al empezar; ``inside``, si «Por dentro» está abierto.
    """

    kind: ClassVar[str] = "adder"
    pieces: ClassVar[tuple[str, ...]] = ("group", "ask", "file", "tensors", "sums")
    scripts: ClassVar[tuple[str, ...]] = ("transformer",)
    start: Sum
    inside: bool
    title: str = "Un Transformer que suma"
    name: str = "sumador"

    def compute(self, a: int | None = None, b: int | None = None) -> dict[str, Tensor]:
        """Los tensores de una suma, los de :func:`recorded`; sin argumentos, la del principio.

        Por ejemplo, ``memory`` es (n, d_model) y ``logits``, (m, vocab).

        Errores: ``TypeError`` si llega un número sin el otro; ``ValueError`` si alguno no es de
        tres cifras como mucho.
        """
        if (a is None) != (b is None):
            raise TypeError(f"b: se esperaban los dos números o ninguno; llegó a={a!r} y b={b!r}.")
        example = self.start if a is None or b is None else Sum(a, b)
        return recorded(_model(), example)

    def files(self) -> dict[str, str]:
        """El fichero de los pesos, en base 64, por su nombre."""
        return stored_file()

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript."""
        return {
            "start": f"{self.start.a} + {self.start.b}",
            "file": next(iter(self.files())),
            "signs": SIGNS,
            "wrong": list(_WRONG.items()),
            "inside": self.inside,
        }

    def static(self) -> str:
        """Lo que escribe en cada paso y a qué mira, calculado aquí."""
        values = self.compute()
        source = [SIGNS[i] for i in values["source"]]
        weights = values["decoder.blocks.0.cross_attention.weights"].mean(0)  # (step, source)
        rows = []
        for step, sign in enumerate(values["written"]):
            name = STEPS[step] if step < len(STEPS) else f"paso {step + 1}"
            chance = number(values["probabilities"][step, sign])
            rows.append([name, SIGNS[sign], chance, *map(number, weights[step])])
        result = "".join(SIGNS[i] for i in values["written"].flip(0) if i > addition.EOS_ID)
        title = f"{self.start.a} + {self.start.b} = {int(result or 0)}, cifra a cifra"
        about = (
            "En cada paso, qué escribe, con qué probabilidad y cuánto mira a cada símbolo (atención"
            " cruzada, media de las cabezas)."
        )
        return f"<p>{about}</p>" + static_table(title, ["paso", "escribe", "prob.", *source], rows)

    def summary(self) -> str:
        """Una línea para la terminal."""
        parameters = f"{trained.facts()['parameters']:,}".replace(",", " ")
        return f"Sumador vivo: {parameters} parámetros; empieza con {self.start.a} + {self.start.b}"


def adder(
    start: str = "458 + 367",
    *,
    inside: bool = False,
    **texts: Unpack[Texts],
) -> AdderExplorer:
    """Devuelve el sumador vivo: se escribe una suma y el Transformer del libro la resuelve.

    El modelo es el de :func:`atento.trained.adder`, y lo ejecuta un guion propio en la
    página, sin servidor. De cada paso se ve la suma con lo que mira y, en «Por dentro» (abierto con
    ``inside``), la probabilidad de cada símbolo, a qué mira cada cabeza y los
    tensores; en «Tapar y mentir», lo que escribiría sin ver algún símbolo o si lo ya escrito fuese
    otra cosa. ``start`` es la suma que aparece escrita; ``question`` se lee arriba y ``answer``
    queda plegada.

    Errores: ``ValueError`` si ``start`` no es una suma de números de hasta tres cifras o ``name``
    no sirve de identificador; ``TypeError`` si ``inside`` no es un booleano.
    """
    if not isinstance(inside, bool):
        raise TypeError(f"inside: se esperaba True o False; llegó {inside!r}.")
    if problem := complaint(start):
        raise ValueError(f"start: llegó {start!r}. {problem}")
    return AdderExplorer(start=read_sum(start), inside=inside, **texts)


def stored_file() -> dict[str, str]:
    """El fichero de los pesos del sumador, en base 64, por su nombre."""
    return weights_file("sumador", trained.stored_bytes())


def read_sum(text: str) -> Sum:
    """La suma que dice un texto como «310 + 98», leída como la lee la página.

    Errores: ``ValueError``, con la frase de :func:`complaint`, si no es una suma de números de
    hasta tres cifras.
    """
    if problem := complaint(text):
        raise ValueError(f"text: llegó {text!r}. {problem}")
    a, b = _SUM.fullmatch(text.strip()).groups()
    return Sum(int(a), int(b))


def complaint(text: str) -> str:
    """La frase con que la página dice que un texto no es una suma que sepa hacer; vacía, si lo es.

    >>> complaint("1 + 2"), complaint("")
    ('', 'Escribe una suma, como 458 + 367.')
    """
    given = text.strip() if isinstance(text, str) else ""
    if found := _SUM.fullmatch(given):
        long = next((n for one in found.groups() if len(n := one.lstrip("0")) > 3), "")
        told = f"Solo ha aprendido números de hasta tres cifras, y {long} tiene {len(long)}."
        return told if long else ""
    return next(line for shape, line in _WRONG.items() if re.search(shape, given))


# --- El gemelo en Python: el modelo de la biblioteca, escuchado -----------------------------------


def recorded(model: Seq2Seq, example: Sum) -> dict[str, Tensor]:
    """Los tensores de ``model`` al escribir una suma, en ``float64``, con los nombres de la página.

    ``source`` (n,), ``places`` (n,), ``inputs`` (m,) y ``written`` (m,) son enteros; ``memory``,
    (n, d_model); ``logits`` y ``probabilities``, (m, vocab). De cada subcapa, con nombres como
    ``decoder.blocks.0.cross_attention.weights``: ``read``, ``added`` y ``stream``,
    (filas, d_model); ``hidden``, (filas, d_ff), en la red densa por posición; y ``query``, ``key``,
    ``value``, ``output``, (head, filas, d_head), ``scores`` y ``weights``, (head, query, key), en
    una atención. Las consultas y las claves están ya giradas; las puntuaciones, escaladas y sin
    máscara.

    Errores: los de :func:`atento.tasks.addition.answers`.
    """
    written = torch.tensor(addition.answers(model, [example])[0])
    begin = torch.tensor([model.config.bos_id])
    inputs = torch.cat([begin, written[:-1]])
    source = addition.batch([example]).source
    listened, heard = copy.deepcopy(model).double().eval(), {}
    _listen(listened, heard)
    with torch.no_grad(), watching(listened) as maps:
        memory = listened.encode(source)
        logits = listened.decode(inputs[None], memory)[0]
    heard |= {f"{name}.weights": weights for name, weights in maps.items()}
    heard |= {"source": source, "places": addition.places(source), "memory": memory.states}
    tensors = {name: tensor[0] for name, tensor in heard.items()}
    tensors |= {"inputs": inputs, "written": written, "logits": logits}
    return tensors | {"probabilities": logits.softmax(-1)}


def _listen(model: Seq2Seq, heard: dict[str, Tensor]) -> None:
    """Apunta en ``heard`` cada tensor con nombre, con su eje de lote."""

    def keep(
        module: nn.Module, name: str, change: Callable = Tensor.clone, given: bool = False
    ) -> None:
        """Lo que da un módulo o, si se pide, lo que recibe (``given``)."""
        module.register_forward_hook(
            lambda _, args, out: heard.update({name: change(args[0] if given else out)})
        )

    def keep_heads(attention: MultiHeadAttention, name: str) -> None:
        def split(x: Tensor) -> Tensor:
            return x.unflatten(-1, (attention.n_heads, attention.d_head)).transpose(-3, -2)

        def scores(query: Tensor, key: Tensor) -> Tensor:
            found = compute(query, key)
            heard.update({f"{name}.query": query, f"{name}.key": key, f"{name}.scores": found})
            return found

        compute, attention.scores = attention.scores, scores
        keep(attention.project_value, f"{name}.value", split)
        keep(attention.project_output, f"{name}.output", split, given=True)

    keep(model.embed_source, "encoder.embeddings")
    keep(model.embed_target, "decoder.embeddings")
    keep(model.decoder.final_norm, "decoder.final")
    for name, inner in list(model.named_modules()):
        if not isinstance(inner, (MultiHeadAttention, FeedForward)):
            continue
        block, kind = name.rsplit(".", 1)
        residual = model.get_submodule(f"{block}.add_{kind}")
        keep(residual.norm, f"{name}.read")
        keep(residual.dropout, f"{name}.added")
        keep(residual, f"{name}.stream")
        if isinstance(inner, MultiHeadAttention):
            keep_heads(inner, name)
        else:
            keep(inner.contract, f"{name}.hidden", given=True)
