"""ViT: igual al de transformers, los parches como convolución y las medidas publicadas."""

from dataclasses import replace
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from atento import rng
from atento.models.swin import SwinConfig
from atento.models.vit import PatchEmbedding, Vit, VitConfig, patchify, unpatchify
from atento.models.weights import from_vit

SIZES = {"channels": 2, "classes": 5, "d_model": 16, "n_heads": 4, "d_ff": 24, "n_layers": 2}
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5}


def close(ours, theirs, tolerance=1e-9):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def config(**changes):
    return VitConfig(**{"image_size": 8, "patch_size": 4, **SIZES, **changes})


def images(count=3, dtype=torch.float64, seed=0, **changes):
    c = config(**changes)
    shape = (count, c.channels, c.image_size, c.image_size)
    return torch.randn(shape, generator=rng.generator(seed), dtype=dtype)


def theirs(kind, dtype):
    import transformers

    options = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4}
    options |= {"intermediate_size": 24, "image_size": 8, "patch_size": 4, "num_channels": 2}
    options |= {"num_labels": 5, "layer_norm_eps": 1e-6, "hidden_dropout_prob": 0.0}
    if kind == "vit":
        model = transformers.ViTForImageClassification(transformers.ViTConfig(**options))
    else:
        made = transformers.DeiTConfig(**options)
        model = transformers.DeiTForImageClassificationWithTeacher(made)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model.to(dtype)


@pytest.mark.parametrize("kind", ["vit", "deit"])
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_equals_transformers_with_gradients(kind, dtype, shape_checks):
    rng.seed_all(4)
    oracle = theirs(kind, dtype)
    ours = Vit(config(distilled=kind == "deit")).to(dtype)
    ours.load_state_dict(from_vit(oracle.state_dict()))
    x = images(dtype=dtype)
    mine, other = ours(x), oracle(x).logits
    close(mine, other, TOLERANCE[dtype])
    mine.square().mean().backward()
    other.square().mean().backward()
    renamed = from_vit({n: p.grad for n, p in oracle.named_parameters()})
    own = dict(ours.named_parameters())
    assert own.keys() == renamed.keys()
    for name, parameter in own.items():
        expected = renamed[name]
        close(parameter.grad, expected, TOLERANCE[dtype] * max(1.0, expected.abs().max().item()))


def test_the_two_heads_of_a_distilled_one_are_apart():
    net = Vit(config(distilled=True)).double()
    x = images()
    both = net.answers(x)
    close(net(x), (both.classes + both.teacher) / 2)
    with torch.no_grad():
        net.imitate.weight.zero_()
    again = net.answers(x)
    close(again.classes, both.classes)
    assert not torch.allclose(again.teacher, both.teacher)
    alone = Vit(config()).double()
    close(alone.answers(x).teacher, alone(x))


@given(side=st.integers(1, 4), p=st.integers(1, 4), channels=st.integers(1, 3), n=st.integers(1, 3))
def test_patches_are_the_loop_and_come_back(side, p, channels, n):
    x = torch.randn(n, channels, side * p, side * p)
    patches = patchify(x, p)
    assert patches.shape == (n, side**2, channels * p * p)
    for row in range(side):
        for column in range(side):
            cell = x[:, :, row * p : (row + 1) * p, column * p : (column + 1) * p]
            assert torch.equal(patches[:, row * side + column], cell.flatten(1))
    assert torch.equal(unpatchify(patches, p, channels), x)


def test_a_picture_that_is_not_square():
    x = torch.arange(24.0).reshape(1, 1, 4, 6)
    patches = patchify(x, 2)
    assert patches.shape == (1, 6, 4)
    assert patches[0, 1].tolist() == [2, 3, 8, 9] and patches[0, 3].tolist() == [12, 13, 18, 19]


@given(side=st.integers(1, 3), p=st.integers(1, 4), channels=st.integers(1, 3))
def test_projecting_patches_is_a_strided_convolution(side, p, channels):
    sizes = {**SIZES, "image_size": side * p, "patch_size": p, "channels": channels}
    embed = PatchEmbedding(VitConfig(**sizes)).double()
    x = torch.randn(2, channels, side * p, side * p, dtype=torch.float64)
    kernel = embed.project.weight.unflatten(1, (channels, p, p))
    filtered = F.conv2d(x, kernel, embed.project.bias, stride=p)  # (batch, d_model, rows, columns)
    close(embed.project(patchify(x, p)), filtered.flatten(2).mT)


def test_what_summarises():
    """«cls» clasifica la fila añadida; «mean», la media, y entonces los parches pesan igual."""
    x = images()
    cls, mean = (Vit(config(pooling=pooling)).double() for pooling in ("cls", "mean"))
    assert cls.states(x).shape == (3, 5, 16) and mean.states(x).shape == (3, 4, 16)
    close(cls(x), cls.classify(cls.states(x)[:, 0]))
    close(mean(x), mean.classify(mean.states(x).mean(dim=1)))
    with torch.no_grad():
        mean.embed.positions.table.zero_()
    turned = unpatchify(patchify(x, 4).flip(1), 4, channels=2)
    close(mean(turned), mean(x))  # sin posiciones, da igual el orden de los parches
    assert not torch.allclose(cls(turned), cls(x))


def test_mask_says_who_looks_at_whom():
    net = Vit(config()).double()
    x = images(1)
    other = x.clone()
    other[:, :, 4:, 4:] += 1  # el último parche
    blind = torch.ones(5, 5, dtype=torch.bool)
    blind[:4, 4] = False
    close(net.states(other, blind)[:, :4], net.states(x, blind)[:, :4])
    changed = (net.states(other) - net.states(x)).abs().amax(dim=-1)
    assert (changed > 1e-6).all()


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (VitConfig.base16(), 86_567_656),
        (VitConfig.base32(), 88_224_232),
        (VitConfig.large16(), 304_326_632),
        (VitConfig.huge14(), 632_045_800),
        (VitConfig.base16(10, image_size=32, patch_size=4), None),
    ],
)
def test_counts_the_parameters_of_the_published_ones(sizes, expected):
    c = sizes
    block = 12 * c.d_model**2 + 13 * c.d_model  # d_ff = 4 · d_model
    pixels, n = c.channels * c.patch_size**2, c.n_patches + c.n_added
    closed = (pixels + 1 + c.n_added + n + 2 + c.classes) * c.d_model + c.classes
    closed += c.n_layers * block
    with torch.device("meta"):
        counted = sum(p.numel() for p in Vit(sizes).parameters())
    assert counted == closed and expected in (None, counted)


@pytest.mark.parametrize("sizes", [VitConfig.deit_tiny(), VitConfig.deit_base()])
def test_deit_counts_what_transformers_counts(sizes):
    import transformers

    made = transformers.DeiTConfig(
        hidden_size=sizes.d_model,
        num_attention_heads=sizes.n_heads,
        intermediate_size=sizes.d_ff,
        num_labels=1000,
    )
    with torch.device("meta"):
        counted = sum(p.numel() for p in Vit(sizes).parameters())
        model = transformers.DeiTForImageClassificationWithTeacher(made)
    assert counted == sum(p.numel() for p in model.parameters())


def test_it_learns_where_the_light_is():
    """Dice en qué cuarto de la imagen hay un punto: lo aprende en unos pasos."""
    from atento.training import fit

    generator = rng.generator(0)
    places = torch.randint(64, (256,), generator=generator)
    x = 8 * F.one_hot(places, 64).float().reshape(-1, 1, 8, 8)
    quarter = places // 32 * 2 + places % 8 // 4
    rng.seed_all(0)
    spread = {"init_std": 0.1, "position_std": 0.5, "pooling": "mean"}
    net = Vit(VitConfig(8, 2, classes=4, d_model=16, n_heads=2, n_layers=1, **spread))

    def loss(model, batch):
        return F.cross_entropy(model(batch[0]), batch[1])

    optimizer = partial(torch.optim.Adam, lr=1e-2)
    fit(net, lambda step: (x, quarter), loss, steps=100, optimizer=optimizer)
    assert (net(x).argmax(-1) == quarter).float().mean() > 0.95


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "config: se esperaba una VitConfig", lambda: Vit(3)),
        (TypeError, "config: se esperaba una VitConfig", lambda: PatchEmbedding("x")),
        (
            ValueError,
            "image_size: se esperaba un múltiplo de patch_size",
            lambda: config(patch_size=3),
        ),
        (ValueError, "d_model: se esperaba un múltiplo", lambda: config(n_heads=3)),
        (ValueError, "classes: ", lambda: config(classes=0)),
        (ValueError, "pooling: se esperaba una de cls, mean", lambda: config(pooling="max")),
        (TypeError, "distilled: se esperaba True o False", lambda: config(distilled=1)),
        (ValueError, "position_std: ", lambda: replace(config(), position_std=0.0)),
        (ValueError, "images: se esperaba la forma", lambda: Vit(config())(torch.ones(2, 8, 8))),
        (ValueError, "images: .*2, 8, 8", lambda: Vit(config())(torch.ones(1, 2, 8, 4))),
        (TypeError, "images: ", lambda: Vit(config())(torch.ones(1, 2, 8, 8, dtype=torch.long))),
        (
            ValueError,
            "images: .* dividiera width; llegó 6",
            lambda: patchify(torch.ones(1, 1, 4, 6), 4),
        ),
        (ValueError, "patches: .*cuadrado", lambda: unpatchify(torch.ones(1, 6, 4), 2)),
        (ValueError, "patches: se esperaba la forma", lambda: unpatchify(torch.ones(1, 4, 5), 2)),
        (TypeError, "mask: ", lambda: Vit(config()).states(images(1).float(), torch.ones(5, 5))),
        (ValueError, "state: .* ViT", lambda: from_vit({"vit.layers.0.x.weight": torch.ones(1)})),
        (TypeError, "state: se esperaba", lambda: from_vit([1])),
        (TypeError, "config: se esperaba una VitConfig", lambda: Vit(SwinConfig.tiny())),
        (ValueError, "dropout: ", lambda: config(dropout=1.0)),
        (ValueError, "images: .*vacíos", lambda: Vit(config())(torch.ones(0, 2, 8, 8))),
        (ValueError, "images: .*height, width", lambda: patchify(torch.ones(4, 4), 2)),
        (TypeError, "images: ", lambda: patchify(torch.ones(1, 1, 4, 4).int(), 2)),
        (ValueError, "patch_size: ", lambda: patchify(torch.ones(1, 1, 4, 4), 0)),
        (TypeError, "patches: ", lambda: unpatchify(torch.ones(1, 4, 4).int(), 2)),
        (ValueError, r"patches: .*\(batch, n, 4\)", lambda: unpatchify(torch.ones(4, 4), 2)),
        (ValueError, "patch_size: ", lambda: unpatchify(torch.ones(1, 4, 4), 0)),
        (ValueError, "channels: ", lambda: unpatchify(torch.ones(1, 4, 4), 2, 0)),
        (ValueError, "images: .*2, 8, 8", lambda: Vit(config()).states(torch.ones(1, 2, 8, 4))),
        (TypeError, "images: .*un tensor", lambda: Vit(config()).states([1.0])),
        (TypeError, "mask: .*un tensor", lambda: Vit(config()).states(images(1).float(), [True])),
        (
            TypeError,
            "images: se esperaba float32, como los pesos",
            lambda: Vit(config())(images(1)),
        ),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_the_edges_are_allowed():
    assert patchify(torch.ones(1, 1, 1, 1), 1).shape == (1, 1, 1)
    assert unpatchify(torch.ones(1, 1, 1), 1).shape == (1, 1, 1, 1)
    assert Vit(config())(images(1).float()).shape == (1, 5)
