"""El sumador vivo: el Transformer entrenado del libro, ejecutado en la página."""

from __future__ import annotations

import base64
import copy
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Unpack

import torch
from torch import Tensor, nn

from atento import trained
from atento.attention import MultiHeadAttention
from atento.models.seq2seq import Seq2Seq
from atento.tasks import addition
from atento.tasks.addition import Sum
from atento.watching import watching
from figuras.explorers.base import Explorer, Texts, number, static_table

__all__ = ["SIGNS", "AdderExplorer", "adder", "complaint", "read_sum", "recorded"]

SIGNS = ("relleno", "comienzo", "fin", *"0123456789", "+")
"""Cómo se llama cada símbolo del vocabulario."""

STEPS = ("unidades", "decenas", "centenas", "millares", "fin")
"""Qué se escribe en cada paso."""

_Heard = dict[str, Tensor]
_SUM = re.compile(r"(\d+)\s*\+\s*(\d+)", re.ASCII)
_SUBLAYERS = ("attention", "cross_attention", "feed_forward")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AdderExplorer(Explorer):
    """El sumador vivo. Se construye con :func:`adder`.

    ``start`` es la suma que está escrita al empezar; ``inside``, si «Por dentro» está abierto.
    """

    kind: ClassVar[str] = "adder"
    pieces: ClassVar[tuple[str, ...]] = ("ask", "file")
    scripts: ClassVar[tuple[str, ...]] = ("transformer", "tensors")
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
        content = trained.stored_bytes()
        return {self._file(): base64.b64encode(content).decode()}

    def _file(self) -> str:
        return f"sumador-{hashlib.sha256(trained.stored_bytes()).hexdigest()[:8]}"

    def data(self) -> dict[str, Any]:
        """Lo que recibe el JavaScript."""
        return {
            "start": f"{self.start.a} + {self.start.b}",
            "file": self._file(),
            "signs": SIGNS,
            "inside": self.inside,
        }

    def static(self) -> str:
        """Lo que escribe en cada paso y a qué mira, calculado aquí."""
        values = self.compute()
        source = _named(values["source"].tolist())
        weights = values["decoder.blocks.0.cross_attention.weights"].mean(0)  # (step, source)
        rows = []
        for step, (name, sign) in enumerate(zip(_steps(values), values["written"], strict=True)):
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
    if not given:
        return "Escribe una suma, como 458 + 367."
    if re.search(r"[-−]\s*\d", given):
        return "Ni restas ni números negativos: solo sabe sumar números de 0 a 999."
    if re.search(r"\d[.,]\d", given):
        return "Ni puntos ni decimales: solo sabe sumar números enteros, de 0 a 999."
    return "Escribe dos números con un + en medio, como 458 + 367."


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
    whole = {"source": source[0], "places": addition.places(source)[0], "inputs": inputs}
    whole |= {"written": written, "memory": memory.states[0]}
    heard |= {f"{name}.weights": weights for name, weights in maps.items()}
    tensors = {name: tensor[0] for name, tensor in heard.items()}
    return whole | tensors | {"logits": logits, "probabilities": logits.softmax(-1)}


def _listen(model: Seq2Seq, heard: _Heard) -> None:
    """Apunta en ``heard`` cada tensor con nombre, con su eje de lote."""
    _keep_output(model.embed_source, heard, "encoder.embeddings")
    _keep_output(model.embed_target, heard, "decoder.embeddings")
    _keep_output(model.decoder.final_norm, heard, "decoder.final")
    for stack in ("encoder", "decoder"):
        for layer, block in enumerate(getattr(model, stack).blocks):
            for kind in _SUBLAYERS:
                if hasattr(block, kind):
                    _listen_sublayer(block, kind, heard, f"{stack}.blocks.{layer}.{kind}")


def _listen_sublayer(block: nn.Module, kind: str, heard: _Heard, name: str) -> None:
    residual, inner = getattr(block, f"add_{kind}"), getattr(block, kind)
    _keep_output(residual.norm, heard, f"{name}.read")
    _keep_output(residual.dropout, heard, f"{name}.added")
    _keep_output(residual, heard, f"{name}.stream")
    if not isinstance(inner, MultiHeadAttention):
        _keep_input(inner.contract, heard, f"{name}.hidden")
        return

    def split(x: Tensor) -> Tensor:
        return x.unflatten(-1, (inner.n_heads, inner.d_head)).transpose(-3, -2)

    _keep_output(inner.project_value, heard, f"{name}.value", split)
    _keep_input(inner.project_output, heard, f"{name}.output", split)
    inner.scores = _listened_scores(inner, heard, name)


def _listened_scores(attention: MultiHeadAttention, heard: _Heard, name: str) -> Callable:
    """El ``scores`` de esa atención, que además apunta lo que recibe y lo que da."""
    compute = attention.scores

    def scores(query: Tensor, key: Tensor) -> Tensor:
        found = compute(query, key)
        heard.update({f"{name}.query": query, f"{name}.key": key, f"{name}.scores": found})
        return found

    return scores


def _keep_output(
    module: nn.Module, heard: _Heard, name: str, change: Callable = Tensor.clone
) -> None:
    module.register_forward_hook(lambda _, args, out: heard.update({name: change(out)}))


def _keep_input(
    module: nn.Module, heard: _Heard, name: str, change: Callable = Tensor.clone
) -> None:
    module.register_forward_pre_hook(lambda _, args: heard.update({name: change(args[0])}))


@cache
def _model() -> Seq2Seq:
    return trained.adder()


def _named(ids: list[int]) -> list[str]:
    return [SIGNS[i] for i in ids]


def _steps(values: dict[str, Tensor]) -> list[str]:
    extra = [f"paso {i + 1}" for i in range(len(STEPS), len(values["written"]))]
    return [*STEPS, *extra][: len(values["written"])]
