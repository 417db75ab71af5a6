"""Piso 8: los modelos ya entrenados que viajan con el libro, y lo que se sabe de ellos.

Lo que se mira por dentro de un modelo (qué cabeza hace qué, qué ejemplo falla) cambia de un
procesador a otro si se entrena en cada uno. Por eso algunos van hechos: ``fill(model, "copia-14")``
pone en un modelo los pesos guardados y ``card("copia-14")`` cuenta con qué receta, semilla y
máquina salieron y qué aciertan. Los rehace ``make semillas CAPITULO=14``.

El sumador suma números de hasta tres cifras y escribe el resultado de las unidades hacia arriba
(:mod:`atento.tasks.addition`); lo rehace ``make sumador``. Todos los pesos están en coma flotante
de 16 bits, cada modelo con su ficha en un fichero del paquete.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from atento.models.positioning import Positions, attention_options
from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig
from atento.tasks import addition

_FOLDER = files("atento") / "datos"
_PATH = _FOLDER / "sumador.safetensors"
_PREFIX, _SUFFIX = "pesos-", ".safetensors"
_CARD = "ficha"


def names() -> list[str]:
    """Los modelos guardados, como ``["copia-14"]``: su nombre y el capítulo que los usa."""
    found = [entry.name for entry in _FOLDER.iterdir()]
    return sorted(
        name.removeprefix(_PREFIX).removesuffix(_SUFFIX)
        for name in found
        if name.startswith(_PREFIX) and name.endswith(_SUFFIX)
    )


def fill(model: nn.Module, name: str) -> nn.Module:
    """Pone en ``model`` los pesos guardados con ese nombre y lo devuelve, evaluando.

    ``model`` se hace antes, con las mismas medidas con que se entrenó, que están en la ficha
    (:func:`card`); conserva su tipo de número y su dispositivo. No gasta azar.

    Errores: ``ValueError`` si no hay ningún modelo con ese nombre o si sus pesos no son los de
    ``model``: falta alguno, sobra o tiene otra forma.
    """
    stored = load(_stored(name))
    own: dict[str, Tensor] = dict(model.named_parameters())
    wrong = _differences(stored, own)
    if wrong:
        raise ValueError(f"model: se esperaban los pesos de «{name}»; llegó otro: {wrong}.")
    with torch.no_grad():
        for key, weight in stored.items():
            own[key].copy_(weight)
    return model.eval()


def card(name: str) -> dict[str, Any]:
    """La ficha de un modelo guardado; cada llamada da una copia nueva.

    Lleva ``recipe``, ``seed``, ``marks`` (lo que acierta), ``date``, ``machine``, ``command``, que
    es la orden que lo entrena otra vez, y ``versions``.

    Errores: ``ValueError`` si no hay ningún modelo con ese nombre.
    """
    return _card_in(_stored(name))


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
    return _card_in(stored_bytes())


def new_adder(config: Seq2SeqConfig) -> Seq2Seq:
    """Un modelo con esas medidas y sin entrenar, que gira cada cifra según su lugar.

    Las tres atenciones usan RoPE, y la posición de una cifra es su lugar, el de las unidades, las
    decenas… (:func:`atento.tasks.addition.places`).

    Errores: los de :class:`~atento.models.seq2seq.Seq2Seq`.
    """
    sizes: dict[str, Any] = {"d_head": config.d_model // config.n_heads, "n_heads": config.n_heads}
    turn = attention_options("rotary", **sizes, max_len=config.max_len)
    places = Positions(encoder=turn, decoder=turn, cross=turn, places=addition.places)
    return Seq2Seq(config, positions=places)


def stored_bytes() -> bytes:
    """El fichero de los pesos, en formato ``safetensors``, tal como está en el paquete."""
    return _PATH.read_bytes()


def to_bytes(model: nn.Module, card: dict[str, Any]) -> bytes:
    """Los pesos de ``model`` en 16 bits y su ficha, como se guardan; los compartidos, una vez.

    Errores: ``ValueError`` si algún peso no cabe en 16 bits.
    """
    weights = {name: p.detach().to(torch.float16) for name, p in model.named_parameters()}
    wide = [name for name, weight in weights.items() if not bool(weight.isfinite().all())]
    if wide:
        raise ValueError(f"model: hay pesos que no caben en 16 bits, en {', '.join(wide)}.")
    return save(weights, metadata={_CARD: json.dumps(card, ensure_ascii=False)})


@torch.no_grad()
def rounded(model: nn.Module) -> nn.Module:
    """Redondea los pesos a 16 bits, como se guardan, para medir lo que se va a guardar."""
    for weight in model.parameters():
        weight.copy_(weight.half())
    return model


def _stored(name: str) -> bytes:
    """El fichero de uno de los modelos guardados."""
    if name not in names():
        options = ", ".join(names()) or "ninguno"
        raise ValueError(f"name: se esperaba un modelo guardado ({options}); llegó {name!r}.")
    return (_FOLDER / f"{_PREFIX}{name}{_SUFFIX}").read_bytes()


def _card_in(content: bytes) -> dict[str, Any]:
    """La ficha que va en la cabecera de un fichero de pesos."""
    length = int.from_bytes(content[:8], "little")
    return json.loads(json.loads(content[8 : 8 + length])["__metadata__"][_CARD])


def _differences(stored: dict[str, Tensor], own: dict[str, Tensor]) -> str:
    """En qué no coinciden los pesos guardados y los de un modelo; vacío si coinciden."""
    both = sorted(stored.keys() & own.keys())
    shapes = [(key, tuple(own[key].shape), tuple(stored[key].shape)) for key in both]
    said = {
        "le faltan": sorted(stored.keys() - own.keys()),
        "le sobran": sorted(own.keys() - stored.keys()),
        "tienen otra forma": [f"{k}, que es {a} y no {b}" for k, a, b in shapes if a != b],
    }
    return "; ".join(f"{what} {', '.join(which[:5])}" for what, which in said.items() if which)
