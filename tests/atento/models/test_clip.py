"""CLIP: igual al de transformers, con su pérdida, su temperatura y las medidas publicadas."""

import math
from dataclasses import replace
from functools import partial

import pytest
import torch
import torch.nn.functional as F

from atento import rng
from atento.models.clip import Clip, ClipConfig, ImageTower, TextTower, clip_loss
from atento.models.weights import from_clip

VOCAB, EOS = 11, 2
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5}
TEXT = torch.tensor([[3, 4, 5, EOS, 0], [7, EOS, 0, 9, 0], [9, 8, 7, 6, EOS]])


def close(ours, theirs, tolerance=1e-9):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def config(**changes):
    sizes = {"channels": 2, "d_image": 16, "image_layers": 2, "d_text": 8, "text_heads": 2}
    sizes |= {"text_layers": 1, "d_embed": 6, "init_std": 0.3}
    sizes |= {"vocab": VOCAB, "max_len": 5, "eos_id": EOS}
    return ClipConfig(8, 4, **{**sizes, **changes})


def images(count=3, dtype=torch.float64, seed=0):
    return torch.randn(count, 2, 8, 8, generator=rng.generator(seed), dtype=dtype)


def theirs(dtype, eos_id=EOS):
    """Un CLIP de transformers con las medidas de estas pruebas y pesos al azar."""
    import transformers

    vision = {"hidden_size": 16, "intermediate_size": 64, "num_hidden_layers": 2}
    vision |= {"num_attention_heads": 4, "image_size": 8, "patch_size": 4, "num_channels": 2}
    text = {"hidden_size": 8, "intermediate_size": 32, "num_hidden_layers": 1}
    text |= {"num_attention_heads": 2, "vocab_size": VOCAB, "max_position_embeddings": 5}
    text |= {"eos_token_id": eos_id, "bos_token_id": 1, "pad_token_id": 0}
    made = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=6)
    model = transformers.CLIPModel(made)
    for parameter in model.parameters():
        if parameter.ndim:  # la temperatura, la suya
            torch.nn.init.normal_(parameter, std=0.3)
    return model.to(dtype)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_equals_transformers_with_gradients(dtype, shape_checks):
    """Parecidos, pérdida y gradientes, con el fin en medio y relleno detrás."""
    rng.seed_all(5)
    oracle = theirs(dtype, eos_id=10)
    text = torch.where(TEXT == EOS, 10, TEXT)
    ours = Clip(config(eos_id=10)).to(dtype)
    ours.load_state_dict(from_clip(oracle.state_dict()))
    x = images(dtype=dtype)
    logits = ours(x, text)
    other = oracle(input_ids=text, pixel_values=x, return_loss=True)
    close(logits, other.logits_per_image, TOLERANCE[dtype])
    close(ours.image(x), other.image_embeds, TOLERANCE[dtype])
    close(ours.text(text), other.text_embeds, TOLERANCE[dtype])
    loss = clip_loss(logits)
    close(loss, other.loss, TOLERANCE[dtype])
    loss.backward()
    other.loss.backward()
    renamed = from_clip({n: p.grad for n, p in oracle.named_parameters()})
    own = dict(ours.named_parameters())
    assert own.keys() == renamed.keys()
    for name, parameter in own.items():
        expected = renamed[name]
        close(parameter.grad, expected, TOLERANCE[dtype] * max(1.0, expected.abs().max().item()))
    assert ours.log_scale.grad.abs() > 1e-6


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (ClipConfig.base32(), 151_277_313),
        (ClipConfig.base16(), 149_620_737),
        (ClipConfig.large14(), 427_616_513),
    ],
)
def test_counts_the_parameters_of_the_published_ones(sizes, expected):
    import transformers

    c = sizes

    def tower(d, layers):
        return layers * (12 * d * d + 13 * d) + 2 * d + d * c.d_embed

    image = c.d_image * (3 * c.patch_size**2 + 1 + 1 + c.n_patches + 2)
    closed = image + c.d_text * (c.vocab + c.max_len) + 1
    closed += tower(c.d_image, c.image_layers) + tower(c.d_text, c.text_layers)
    vision = {"hidden_size": c.d_image, "intermediate_size": 4 * c.d_image}
    vision |= {"num_hidden_layers": c.image_layers, "num_attention_heads": c.image_heads}
    vision |= {"image_size": c.image_size, "patch_size": c.patch_size}
    text = {"hidden_size": c.d_text, "intermediate_size": 4 * c.d_text}
    text |= {"num_hidden_layers": c.text_layers, "num_attention_heads": c.text_heads}
    made = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=c.d_embed)
    with torch.device("meta"):
        counted = sum(p.numel() for p in Clip(sizes).parameters())
        model = transformers.CLIPModel(made)
    assert counted == closed == sum(p.numel() for p in model.parameters()) == expected


def test_the_loss_is_two_cross_entropies_by_hand():
    logits = torch.randn(4, 4, generator=rng.generator(1), dtype=torch.float64)
    by_hand = 0.0
    for i in range(4):
        by_hand -= math.log(logits[i, i].exp() / logits[i].exp().sum())  # su texto, entre todos
        by_hand -= math.log(logits[i, i].exp() / logits[:, i].exp().sum())  # su imagen
    close(clip_loss(logits).item(), by_hand / 8)
    close(clip_loss(logits), clip_loss(logits.T))
    order = torch.tensor([2, 0, 3, 1])
    close(clip_loss(logits[order][:, order]), clip_loss(logits))
    assert not torch.allclose(F.cross_entropy(logits, torch.arange(4)), clip_loss(logits))
    close(clip_loss(torch.zeros(8, 8)).item(), math.log(8), 1e-6)


def test_vectors_are_of_length_one_and_compared_all_with_all():
    net = Clip(config()).double()
    x, two = images(5), TEXT[:2]
    logits = net(x, two)
    assert logits.shape == (5, 2)
    for vectors in (net.image(x), net.text(two)):
        close(vectors.norm(dim=-1), torch.ones(len(vectors), dtype=torch.float64))
    close(net.scale, torch.tensor(1 / 0.07, dtype=torch.float64), 1e-5)
    for i in range(5):
        for j in range(2):
            alone = net(x[i : i + 1], two[j : j + 1])
            close(logits[i, j], alone[0, 0])  # nadie cambia el parecido de otros


def test_what_follows_the_end_does_not_matter():
    net = TextTower(config()).double()
    other = TEXT.clone()
    other[0, 4], other[1, 2:] = 6, EOS
    close(net(other), net(TEXT))
    other[0, 1] = 8
    changed = (net(other) - net(TEXT)).abs().amax(dim=1)
    assert changed[0] > 1e-6 and (changed[1:] < 1e-9).all()


def test_the_temperature_has_a_limit_and_can_come_back():
    net = Clip(config(max_scale=20.0))
    x = images(dtype=torch.float32)
    with torch.no_grad():
        net.log_scale.fill_(5.0)  # 148
    net.eval()(x, TEXT)
    assert net.scale > 100  # mirando, no se toca
    loss = clip_loss(net.train()(x, TEXT))
    assert net.scale.item() == pytest.approx(20, rel=1e-5)
    loss.backward()
    assert net.log_scale.grad.abs() > 1e-4
    torch.optim.SGD([net.log_scale], lr=0.01).step()
    down = net.log_scale.grad > 0
    net(x, TEXT)
    assert (net.scale < 19.9999) == down  # hacia abajo se mueve; hacia arriba, no
    assert net.scale <= 20.001


def test_it_learns_which_text_is_whose():
    """Cuatro luces y sus nombres: en unos pasos, cada una con el suyo."""
    from atento.training import fit

    rng.seed_all(0)
    place = torch.arange(4)
    x = 4 * F.one_hot(place, 4).float().reshape(-1, 1, 2, 2)
    x = x.repeat_interleave(4, 2).repeat_interleave(4, 3).expand(-1, 2, -1, -1)
    text = torch.stack([3 + place, torch.full_like(place, EOS)], dim=1)
    net = Clip(config(position_std=0.5))

    def loss(model, batch):
        return clip_loss(model(*batch))

    optimizer = partial(torch.optim.Adam, lr=1e-2)
    fit(net, lambda step: (x, text), loss, steps=40, optimizer=optimizer)
    alike = net.eval()(x, text)
    assert torch.equal(alike.argmax(0), place) and torch.equal(alike.argmax(1), place)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "config: se esperaba una ClipConfig", lambda: Clip(3)),
        (TypeError, "config: se esperaba una ClipConfig", lambda: ImageTower("x")),
        (TypeError, "config: se esperaba una ClipConfig", lambda: TextTower(None)),
        (ValueError, "d_text: se esperaba un múltiplo", lambda: config(text_heads=3)),
        (ValueError, "image_size: ", lambda: replace(config(), patch_size=3)),
        (ValueError, "eos_id: se esperaba menor que vocab", lambda: config(eos_id=VOCAB)),
        (ValueError, "temperature: ", lambda: config(temperature=0.0)),
        (ValueError, "images: ", lambda: Clip(config())(torch.ones(2, 2, 4, 4), TEXT)),
        (ValueError, "text: .*10; llegó 11", lambda: Clip(config()).text(TEXT + 2)),
        (ValueError, "text: se esperaba el fin", lambda: Clip(config()).text(TEXT[:, :3])),
        (ValueError, "text: .*5 palabras", lambda: Clip(config()).text(F.pad(TEXT, (0, 1)))),
        (ValueError, r"logits: .*\(n, n\)", lambda: clip_loss(torch.ones(2, 3))),
        (TypeError, "logits: ", lambda: clip_loss(torch.ones(2, 2).long())),
        (ValueError, "state: .* CLIP", lambda: from_clip({"text_model.x.weight": torch.ones(1)})),
        (TypeError, "state: se esperaba", lambda: from_clip([1])),
        (ValueError, "d_embed: ", lambda: config(d_embed=0)),
        (ValueError, "eos_id: .*mayor o igual", lambda: config(eos_id=-1)),
        (ValueError, "text: .*10; llegó 11", lambda: Clip(config())(images().float(), TEXT + 2)),
        (ValueError, r"logits: .*\(n, n\)", lambda: clip_loss(torch.ones(2))),
        (ValueError, r"logits: .*\(n, n\)", lambda: clip_loss(torch.ones(0, 0))),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_the_edges_are_allowed():
    config(eos_id=VOCAB - 1)
    assert len(Clip(config(eos_id=0)).text(torch.tensor([[10, 3, 4, 5, 0]]))) == 1
    assert clip_loss(torch.ones(1, 1)) == 0
