"""Piso 8: el Transformer ya entrenado que viaja con el libro, y lo que se sabe de él.

El sumador suma números de hasta tres cifras y escribe el resultado de las unidades hacia arriba
(:mod:`atento.tasks.addition`). Sus pesos, en coma flotante de 16 bits, y su ficha (medidas,
semilla, fecha, aciertos) están en un solo fichero del paquete; lo rehace ``make sumador``.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import torch
from safetensors.torch import load, save

from atento import calls
from atento.models.positioning import Positions, attention_options
from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig
from atento.tasks import addition

_PATH = files("atento") / "datos" / "sumador.safetensors"
_CARD = "ficha"


def adder() -> Seq2Seq:
    """El sumador, evaluando y en ``float32``; cada llamada da uno nuevo y no gasta azar.

    Lee ``(batch, 2 · digits + 2)`` y puntúa ``(batch, target, 14)``, con los números de
    :func:`atento.tasks.addition.batch`. Se puntúa con :func:`atento.tasks.addition.score` y escribe
    con :func:`atento.tasks.addition.answers`.
    """
    with torch.random.fork_rng(devices=[]):  # los pesos que se sortean no sirven: no gastan azar
        model = new_adder(Seq2SeqConfig(**facts()["config"]))
    weights = {name: weight.float() for name, weight in load(stored_bytes()).items()}
    weights["project.weight"] = weights["embed_target.tokens.weight"]  # es la misma matriz
    model.load_state_dict(weights)
    return model.eval()


def facts() -> dict[str, Any]:
    """La ficha del sumador; cada llamada da una copia nueva.

    ``config`` son los campos de su :class:`~atento.models.seq2seq.Seq2SeqConfig`; ``training``, la
    receta, con cuántas sumas distintas vio (``distinct``) y entre cuántas semillas se eligió
    (``tried``); ``held_out``, cuántas sumas de tres cifras hay reservadas (``sums``), cuántas
    acierta (``right``) y cuántas no vio ni cambiando cifras entre los dos números
    (``without_twin``); ``every``, cuántas hay en total y cuáles falla (``wrong``). Además,
    ``seed``, ``digits``, ``parameters``, ``date``, ``command`` y ``versions``.
    """
    content = stored_bytes()
    length = int.from_bytes(content[:8], "little")
    return json.loads(json.loads(content[8 : 8 + length])["__metadata__"][_CARD])


def new_adder(config: Seq2SeqConfig) -> Seq2Seq:
    """Un modelo con esas medidas y sin entrenar, que gira cada cifra según su lugar.

    Las tres atenciones usan RoPE, y la posición de una cifra es su lugar, el de las unidades, las
    decenas… (:func:`atento.tasks.addition.places`).

    Errores: los de :class:`~atento.models.seq2seq.Seq2Seq`.
    """
    sizes = {"d_head": config.d_model // config.n_heads, "n_heads": config.n_heads}
    turn = attention_options("rotary", **sizes, max_len=config.max_len)
    places = Positions(encoder=turn, decoder=turn, cross=turn, places=addition.places)
    return Seq2Seq(config, positions=places)


def stored_bytes() -> bytes:
    """El fichero de los pesos, en formato ``safetensors``, tal como está en el paquete."""
    return _PATH.read_bytes()


def to_bytes(model: Seq2Seq, card: dict[str, Any]) -> bytes:
    """Los pesos de ``model`` en 16 bits y su ficha, como se guardan; los compartidos, una vez.

    Errores: ``ValueError`` si algún peso no cabe en 16 bits.
    """
    weights = {name: p.detach().to(torch.float16) for name, p in model.named_parameters()}
    wide = [name for name, weight in weights.items() if not bool(weight.isfinite().all())]
    if wide:
        raise ValueError(f"model: hay pesos que no caben en 16 bits, en {', '.join(wide)}.")
    return save(weights, metadata={_CARD: json.dumps(card, ensure_ascii=False)})


calls.explain(__name__)
