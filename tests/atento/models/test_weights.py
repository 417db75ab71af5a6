"""Los nombres de PyTorch y los del libro, y MiniLM, con sus pesos y los vectores que da.

Que valen lo mismo se prueba con cada modelo. Lo que pide los pesos de MiniLM se salta sin ellos;
con ``ATENTO_PESOS=1``, falla.
"""

import hashlib
import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from atento.attention import MultiHeadAttention
from atento.blocks import DecoderBlock, EncoderBlock
from atento.layers import FeedForward
from atento.models import weights
from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig
from atento.models.weights import from_pytorch, minilm


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


# --- MiniLM ---------------------------------------------------------------------------------------

PUBLISHED = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
SENTENCES = [
    "El gato duerme en el sofá, al sol.",
    "A cat is sleeping on the couch in the sun.",
    "¿Cuánto cuesta enseñar a un Transformer a sumar números de tres cifras?",
    "The stock market fell sharply today.",
    "Sí.",
    "Ñandúes, pingüinos y acciones: " + "una lista larga de palabras " * 12,
]


@pytest.fixture(scope="module")
def lm():
    try:
        return minilm()
    except FileNotFoundError as missing:
        if os.environ.get("ATENTO_PESOS") == "1":
            raise
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def reference(lm):
    from transformers import AutoModel, AutoTokenizer

    options = {"local_files_only": True}
    tokenizer = AutoTokenizer.from_pretrained(lm.folder, **options)
    batch = tokenizer(SENTENCES, padding=True, truncation=True, max_length=256, return_tensors="pt")
    with torch.no_grad():
        output = AutoModel.from_pretrained(lm.folder, **options).eval()(
            **batch, output_hidden_states=True
        )
    return batch, output


def close(ours, theirs):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)


def test_minilm_has_the_published_weights(lm):
    content = (lm.folder / "model.safetensors").read_bytes()
    assert hashlib.sha256(content).hexdigest() == PUBLISHED
    assert sum(p.numel() for p in lm.model.parameters()) == 22_713_216 and not lm.model.training


def test_minilm_reads_like_transformers(lm, reference):
    batch, output = reference
    assert torch.equal(lm.batch(SENTENCES), batch["input_ids"])
    real = batch["attention_mask"].bool()
    assert torch.equal(lm.model.real(batch["input_ids"]), real) and not real.all()
    states, layer = {}, lm.model.encoder.blocks
    hooks = [
        block.register_forward_hook(lambda _, __, y, i=i: states.__setitem__(i + 1, y))
        for i, block in enumerate(layer)
    ]
    with torch.no_grad():
        last = lm.model(batch["input_ids"])
        states[0] = lm.model.embed(batch["input_ids"])
        close(lm.model.summary(last), output.pooler_output)
    for hook in hooks:
        hook.remove()
    assert len(states) == len(output.hidden_states) == 7
    for i, theirs in enumerate(output.hidden_states):
        close(states[i][real], theirs[real])


def test_minilm_vectors(lm, reference):
    batch, output = reference
    real = batch["attention_mask"].unsqueeze(-1)
    mean = (output.last_hidden_state * real).sum(1) / real.sum(1)
    vectors = lm.vectors(SENTENCES)
    close(vectors, nn.functional.normalize(mean, dim=-1))
    for sentence, vector in zip(SENTENCES, vectors, strict=True):
        close(lm.vectors([sentence])[0], vector)
    near, far = (vectors[1] @ lm.vectors([x])[0] for x in ("A kitten naps.", SENTENCES[3]))
    assert near > 0.4 > 0.2 > far


def test_minilm_pieces_and_limit(lm):
    assert lm.pieces("Ñandú")[0] == "[CLS]" and lm.pieces("Ñandú")[-1] == "[SEP]"
    assert lm.batch(["palabra " * 400]).shape == (1, 256)
    with pytest.raises(TypeError, match=r"^sentences: se esperaba una lista de textos; llegó str"):
        lm.batch("Hola")
    with pytest.raises(TypeError, match=r"^sentences\[1\]: "):
        lm.vectors(["Hola", 3])
    with pytest.raises(ValueError, match="^sentences: se esperaba al menos una"):
        lm.vectors([])


def test_minilm_costs_no_randomness(lm):
    before = torch.get_rng_state()
    minilm(lm.folder)
    assert torch.equal(torch.get_rng_state(), before)


def test_without_weights_it_says_how_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setattr(weights, "_PACKAGE", "no_hay_tal_paquete")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(
        FileNotFoundError, match=f"^minilm: no están los pesos. .*{weights.INSTALL}"
    ):
        minilm()
    with pytest.raises(FileNotFoundError, match=f"no están los pesos en {tmp_path}"):
        minilm(tmp_path)
    with pytest.raises(TypeError, match="^folder: se esperaba la ruta"):
        minilm(3)


def test_the_cache_of_hugging_face_is_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr(weights, "_PACKAGE", "no_hay_tal_paquete")
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    repository = "models--sentence-transformers--all-MiniLM-L6-v2"
    snapshot = tmp_path / "hub" / repository / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    with pytest.raises(FileNotFoundError):
        minilm()
    (snapshot / "tokenizer.json").touch()
    save_file(
        {"embeddings.word_embeddings.weight": torch.ones(2, 2)}, snapshot / "model.safetensors"
    )
    with pytest.raises(ValueError, match="^folder: se esperaban los pesos de all-MiniLM-L6-v2"):
        minilm()


def test_the_order_installs_what_the_project_asks_for():
    project = Path(__file__).parents[3] / "pyproject.toml"
    assert f'pesos = ["{weights.INSTALL.split()[-1]}"]' in project.read_text(encoding="utf-8")
