"""Los nombres de PyTorch y los del libro; que valen lo mismo se prueba con los bloques."""

import pytest
import torch
from torch import nn

from atento.attention import MultiHeadAttention
from atento.blocks import DecoderBlock, EncoderBlock
from atento.layers import FeedForward
from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig
from atento.models.weights import from_pytorch


def names(module):
    return {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}


def test_every_name_and_shape_has_its_place():
    attention = [MultiHeadAttention(8, 2) for _ in range(3)]
    encoder = EncoderBlock(attention[0], FeedForward(8, 12))
    decoder = DecoderBlock(*attention[1:], FeedForward(8, 12))
    theirs = nn.TransformerEncoderLayer(8, 2, 12), nn.TransformerDecoderLayer(8, 2, 12)
    for ours, layer in zip((encoder, decoder), theirs, strict=True):
        renamed = from_pytorch(layer.state_dict())
        assert {name: tuple(tensor.shape) for name, tensor in renamed.items()} == names(ours)
    whole = from_pytorch(nn.Transformer(8, 2, 2, 1, 12).state_dict())
    config = Seq2SeqConfig(5, d_model=8, n_heads=2, d_ff=12, n_decoder_layers=1)
    core = {k: v for k, v in names(Seq2Seq(config)).items() if k.startswith(("encoder", "decoder"))}
    assert {name: tuple(tensor.shape) for name, tensor in whole.items()} == core


def test_queries_keys_and_values_come_apart_in_order():
    layer = nn.TransformerEncoderLayer(4, 2, 6)
    renamed = from_pytorch(layer.state_dict())
    for i, part in enumerate(("project_query", "project_key", "project_value")):
        rows = layer.self_attn.in_proj_weight[4 * i : 4 * i + 4]
        assert torch.equal(renamed[f"attention.{part}.weight"], rows)


def test_unknown_names_are_not_copied():
    with pytest.raises(ValueError, match="state: se esperaban los nombres de nn.Transformer"):
        from_pytorch(nn.MultiheadAttention(4, 2, kdim=3).state_dict() | {"a.b": torch.ones(1)})
    with pytest.raises(TypeError, match="state: se esperaba el state_dict"):
        from_pytorch(nn.Linear(2, 2))
