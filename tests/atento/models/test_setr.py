"""SETR: el codificador es un ViT, y lo que sube, lo que dice el artículo, paso a paso."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F

from atento import rng
from atento.models.setr import Doubled, Setr, SetrConfig
from atento.models.vit import Vit, VitConfig

F64 = torch.float64
SIZES = {"classes": 3, "d_model": 16, "n_heads": 4, "d_ff": 24, "n_layers": 2, "decoder_width": 8}


def close(ours, theirs, tolerance=1e-9):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def config(**changes):
    return SetrConfig(16, 4, **{**SIZES, **changes})


def images(count=2, seed=0, dtype=F64):
    return torch.randn((count, 1, 16, 16), generator=rng.generator(seed), dtype=dtype)


def cells_of(net, x, mask=None):
    """Los estados del codificador, en su sitio."""
    rows = net.vit.states(x, mask)
    grid = torch.zeros(len(x), 16, 4, 4, dtype=x.dtype)
    for i in range(16):
        grid[:, :, i // 4, i % 4] = rows[:, i]
    return grid


@pytest.mark.parametrize("decoder", ["naive", "pup"])
def test_step_by_step(decoder, shape_checks):
    rng.seed_all(1)
    net, x = Setr(config(decoder=decoder)).double(), images()
    y = cells_of(net, x)
    steps = 0
    for part in net.upsample:
        if isinstance(part, Doubled):
            size = [2 * side for side in y.shape[-2:]]
            y = F.interpolate(y, size=size, mode="bilinear")
            steps += 1
            continue
        conv, norm, relu = part
        side = conv.kernel_size[0]
        assert side == (3 if decoder == "pup" else 1)
        y = F.conv2d(y, conv.weight, padding=side // 2)
        groups = y.unflatten(1, (norm.num_groups, -1)).flatten(2)
        mean, spread = groups.mean(-1, keepdim=True), groups.var(-1, correction=0, keepdim=True)
        y = ((groups - mean) / (spread + norm.eps).sqrt()).reshape(y.shape).relu()
    assert steps == (2 if decoder == "pup" else 0)
    weight = net.classify.weight[..., 0, 0]
    y = torch.einsum("bwyx,cw->bcyx", y, weight) + net.classify.bias[:, None, None]
    if decoder == "naive":
        y = F.interpolate(y, size=(16, 16), mode="bilinear")
    close(net(x), y)
    assert torch.equal(net.segment(x), y.argmax(1))


def test_the_encoder_is_a_vit_without_its_head():
    net = Setr(config())
    plain = Vit(net.config)
    found = plain.load_state_dict(net.vit.state_dict(), strict=False)
    assert {*found.missing_keys} == {"classify.weight", "classify.bias"}
    assert not found.unexpected_keys
    close(plain.states(images(dtype=torch.float32)), net.vit.states(images(dtype=torch.float32)))
    assert all(p.grad is not None for p in trained(net).parameters())


def trained(net):
    classes = torch.randint(3, (2, 16, 16), generator=rng.generator(2))
    net.loss(images(dtype=torch.float32), classes).backward()
    return net


def test_with_the_identity_a_patch_knows_only_itself():
    """Con el decodificador ingenuo, cambiar un parche cambia las puntuaciones de los suyos nada
    más; si se miran todos, las de toda la imagen."""
    rng.seed_all(3)
    net = Setr(config(decoder="naive")).double()
    net.upsample = torch.nn.Identity()  # la norma por grupos es de toda la imagen
    net.classify = torch.nn.Conv2d(16, 3, kernel_size=1).double()
    x, other = images(1), images(1)
    other[..., :4, :4] += 1  # el primer parche
    alone = torch.eye(16, dtype=torch.bool)
    for mask, everywhere in ((alone, False), (None, True)):
        moved = (cells_of(net, x, mask) - cells_of(net, other, mask)).abs().amax(1)[0] > 1e-9
        assert moved[0, 0] and moved[1:, 1:].all().item() == everywhere
        assert everywhere or moved.sum() == 1
        changed = (net(x, mask) - net(other, mask)).abs().amax(1)[0] > 1e-9
        assert changed.all().item() == everywhere  # al agrandar solo llega a los de al lado


def test_the_loss_is_the_mean_over_pixels():
    net = Setr(config()).double()
    x = images()
    classes = torch.randint(3, (2, 16, 16), generator=rng.generator(2))
    alone = torch.eye(16, dtype=torch.bool)
    for mask in (None, alone):
        chance = net(x, mask).log_softmax(1)
        close(net.loss(x, classes, mask), -chance.gather(1, classes[:, None]).mean())


def test_it_learns_the_pixels_of_a_square():
    from atento.training import fit

    source = rng.generator(0)
    x, classes = torch.zeros(8, 1, 16, 16), torch.zeros(8, 16, 16, dtype=torch.long)
    for i, (left, top) in enumerate(torch.randint(13, (8, 2), generator=source).tolist()):
        x[i, 0, top : top + 4, left : left + 4] = 1
        classes[i, top : top + 4, left : left + 4] = 1
    rng.seed_all(0)
    net = Setr(config(d_model=32))
    optimizer = partial(torch.optim.Adam, lr=1e-2)
    fit(net, lambda step: x, lambda m, b: m.loss(b, classes), steps=60, optimizer=optimizer)
    assert (net.segment(x) == classes).float().mean() > 0.97  # todo fondo: 0.94


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "config: se esperaba una SetrConfig", lambda: Setr(3)),
        (ValueError, "patch_size: .*dos mayor que 1; llegó 3", lambda: SetrConfig(9, 3)),
        (ValueError, "patch_size: ", lambda: SetrConfig(9, 1)),
        (ValueError, "decoder: ", lambda: config(decoder="no")),
        (ValueError, "decoder_width: ", lambda: config(decoder_width=0)),
        (ValueError, "pooling: se esperaba «mean»", lambda: config(pooling="cls")),
        (ValueError, "pooling: .*distilled=True", lambda: config(distilled=True)),
        (ValueError, "image_size: ", lambda: SetrConfig(18, 4)),
        (ValueError, "images: ", lambda: Setr(config())(torch.ones(1, 1, 8, 8))),
        (TypeError, "mask: ", lambda: Setr(config()).double()(images(), torch.ones(16, 16))),
        (
            ValueError,
            r"classes: se esperaba una clase por píxel, \(2, 16, 16\)",
            lambda: Setr(config()).double().loss(images(), torch.zeros(2, 8, 8, dtype=torch.long)),
        ),
        (
            ValueError,
            "classes: se esperaban de 0 a 2; llegaron de 3 a 3",
            lambda: Setr(config()).double().loss(images(), torch.full((2, 16, 16), 3)),
        ),
        (
            TypeError,
            "classes: ",
            lambda: Setr(config()).double().loss(images(), torch.ones(2, 16, 16)),
        ),
        (TypeError, "config: se esperaba una SetrConfig", lambda: Setr(VitConfig(8, 4))),
        (TypeError, "images: .*un tensor", lambda: Setr(config()).loss([1.0], 3)),
        (
            ValueError,
            "classes: .*llegaron de -1",
            lambda: Setr(config()).double().loss(images(), torch.full((2, 16, 16), -1)),
        ),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_naive_takes_any_patch():
    net = Setr(SetrConfig(9, 3, decoder="naive", **SIZES))
    assert net(torch.ones(1, 1, 9, 9)).shape == (1, 3, 9, 9)


def test_the_edges_are_allowed():
    assert SetrConfig(8, 2).patch_size == 2
    assert Setr(config()).double().loss(images(1), torch.full((1, 16, 16), 2)).isfinite()
