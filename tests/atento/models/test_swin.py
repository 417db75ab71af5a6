"""Swin: igual al de transformers, las ventanas como máscara y las medidas publicadas."""

from dataclasses import replace
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from atento import rng
from atento.models.swin import (
    PatchMerging,
    RelativeBias2d,
    Stage,
    Swin,
    SwinBlock,
    SwinConfig,
    partition,
    unpartition,
    who_looks,
)
from atento.models.weights import from_swin

SIZES = {"channels": 2, "classes": 5, "d_model": 8, "depths": (2, 3), "heads": (2, 4)}
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5}


def close(ours, theirs, tolerance=1e-9):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def config(**changes):
    sizes = {"image_size": 24, "patch_size": 2, "window_size": 3, **SIZES}
    return SwinConfig(**{**sizes, **changes})


def images(count=2, dtype=torch.float64, seed=0, **changes):
    c = config(**changes)
    shape = (count, c.channels, c.image_size, c.image_size)
    return torch.randn(shape, generator=rng.generator(seed), dtype=dtype)


def theirs(dtype, **changes):
    import transformers

    c = config(**changes)
    options = {"image_size": c.image_size, "patch_size": c.patch_size, "num_channels": c.channels}
    options |= {"embed_dim": c.d_model, "depths": list(c.depths), "num_heads": list(c.heads)}
    options |= {"window_size": c.window_size, "num_labels": c.classes, "drop_path_rate": 0.0}
    model = transformers.SwinForImageClassification(transformers.SwinConfig(**options))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model.to(dtype)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"window_size": 6},
        {"window_size": 2, "depths": (2, 2, 1), "heads": (1, 2, 4), "image_size": 16},
    ],
    ids=["corridas", "la última entera", "tres etapas"],
)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_equals_transformers_with_gradients(dtype, changes, shape_checks):
    rng.seed_all(4)
    oracle, ours = theirs(dtype, **changes), Swin(config(**changes)).to(dtype)
    ours.load_state_dict(from_swin(oracle.state_dict()))
    x = images(dtype=dtype, **changes)
    mine, other = ours(x), oracle(x).logits
    close(mine, other, TOLERANCE[dtype] * max(1.0, other.abs().max().item()))
    mine.square().mean().backward()
    other.square().mean().backward()
    renamed = from_swin({n: p.grad for n, p in oracle.named_parameters()})
    own = dict(ours.named_parameters())
    assert own.keys() == renamed.keys()
    for name, parameter in own.items():
        expected = renamed[name]
        close(parameter.grad, expected, TOLERANCE[dtype] * max(1.0, expected.abs().max().item()))


def test_the_pyramid_is_that_of_transformers():
    rng.seed_all(1)
    oracle, ours = theirs(torch.float64), Swin(config()).double()
    ours.load_state_dict(from_swin(oracle.state_dict()))
    levels = ours.pyramid(images())
    assert [tuple(level.shape) for level in levels] == [(2, 12, 12, 8), (2, 6, 6, 16)]
    last = oracle.swin(images()).last_hidden_state
    close(ours.final_norm(levels[-1]).flatten(1, 2), last)


@given(across=st.integers(1, 3), down=st.integers(1, 3), w=st.integers(1, 3), n=st.integers(1, 2))
def test_windows_are_the_loop_and_come_back(across, down, w, n):
    grid = torch.randn(n, down * w, across * w, 2)
    windows = partition(grid, w)
    assert windows.shape == (n, across * down, w * w, 2)
    for row in range(down):
        for column in range(across):
            cell = grid[:, row * w : (row + 1) * w, column * w : (column + 1) * w]
            assert torch.equal(windows[:, row * across + column], cell.flatten(1, 2))
    assert torch.equal(unpartition(windows, across * w), grid)


@given(times=st.integers(1, 3), w=st.integers(1, 4), data=st.data())
def test_who_looks_is_the_loop(times, w, data):
    side, shift = times * w, data.draw(st.integers(0, w - 1))
    allowed = who_looks(side, w, shift)
    for i in range(side**2):
        for j in range(side**2):
            rows, columns = (i // side, j // side), (i % side, j % side)
            same = all((a - shift) // w == (b - shift) // w for a, b in (rows, columns))
            assert allowed[i, j].item() == same


class WholeBias(torch.nn.Module):
    """El mismo sesgo entre dos celdas de una rejilla entera; fuera del alcance, cualquier cosa."""

    def __init__(self, bias, side):
        super().__init__()
        self.bias, self.side = bias, side

    def forward(self, query, key):
        reach = self.bias.window - 1
        down = (query[:, None] // self.side - key // self.side).clamp(-reach, reach)
        right = (query[:, None] % self.side - key % self.side).clamp(-reach, reach)
        pair = (down + reach) * (2 * reach + 1) + right + reach
        return self.bias.table[pair.long()].permute(2, 0, 1)


@pytest.mark.parametrize("shift", [0, 1, 2])
def test_looking_by_windows_is_looking_at_all_with_a_mask(shift):
    rng.seed_all(2)
    block = SwinBlock(config(), 0, shift).double()
    torch.nn.init.normal_(block.attention.score_bias.table)
    grid = torch.randn(2, 12, 12, 8, dtype=torch.float64, requires_grad=True)
    by_windows = block(grid)
    (slope,) = torch.autograd.grad(by_windows.square().sum(), grid)
    whole, inner = grid.flatten(1, 2), block.attention.score_bias
    block.attention.score_bias = WholeBias(inner, 12)
    mask = who_looks(12, 3, shift) if shift else who_looks(12, 3)
    seen = block.add_attention(whole, lambda y: block.attention(y, mask=mask)[0])
    with_mask = block.add_feed_forward(seen, block.feed_forward).unflatten(1, (12, 12))
    close(by_windows, with_mask)
    (other,) = torch.autograd.grad(with_mask.square().sum(), grid)
    close(slope, other)


def test_how_far_a_cell_reaches():
    """Sin correr las ventanas no se sale de la propia; corriéndolas, sí, y sin dar la vuelta."""
    still = [SwinBlock(config(), 0, 0).double() for _ in range(2)]
    moved = [SwinBlock(config(), 0, shift).double() for shift in (0, 1)]
    for blocks in (still, moved):
        grid = torch.randn(1, 12, 12, 8, dtype=torch.float64)
        other, expected = grid.clone(), torch.eye(144, dtype=torch.bool)
        other[0, 0, 0] = torch.randn(8)  # sumar lo mismo a toda la fila lo borraría la norma
        for block in blocks:
            grid, other = block(grid), block(other)
            expected = (who_looks(12, 3, block.shift).float() @ expected.float()).bool()
        changed = (other - grid).abs().amax(-1).flatten() > 1e-12
        assert torch.equal(changed, expected[:, 0])
        assert changed.sum() == (9 if blocks is still else 16)


def test_the_bias_says_one_number_per_separation():
    bias = RelativeBias2d(2, 3)
    torch.nn.init.normal_(bias.table)
    whole = bias(torch.arange(9), torch.arange(9))
    assert whole.shape == (2, 9, 9) and len(whole[0].unique()) == 25
    for i in range(9):
        for j in range(9):
            down, right = i // 3 - j // 3, i % 3 - j % 3
            assert torch.equal(whole[:, i, j], bias.table[(down + 2) * 5 + right + 2])
    some = bias(torch.tensor([4, 0]), torch.tensor([8]))
    assert torch.equal(some, whole[:, [4, 0]][:, :, [8]])


def test_merging_takes_two_by_two():
    merge = PatchMerging(3).double()
    grid = torch.randn(2, 4, 6, 3, dtype=torch.float64)
    merged = merge(grid)
    assert merged.shape == (2, 2, 3, 6)
    cells = [grid[:, 2, 4], grid[:, 3, 4], grid[:, 2, 5], grid[:, 3, 5]]
    close(merged[:, 1, 2], merge.reduce(merge.norm(torch.cat(cells, dim=-1))))


def test_a_cell_that_moves_a_whole_window_is_seen_the_same():
    """La posición es relativa: sin bordes de por medio, una celda no sabe en qué ventana está."""
    net = Swin(config(depths=(1,), heads=(2,))).double()
    x = images()
    moved = x.roll((6, 6), dims=(2, 3))  # tres parches de 2 × 2: una ventana
    (here,), (there,) = net.pyramid(x), net.pyramid(moved)
    close(here.roll((3, 3), dims=(1, 2)), there)
    close(net(x), net(moved))


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (SwinConfig.tiny(), 28_288_354),
        (SwinConfig.small(), 49_606_258),
        (SwinConfig.base(), 87_768_224),
    ],
)
def test_counts_the_parameters_of_the_published_ones(sizes, expected):
    import transformers

    made = transformers.SwinConfig(
        embed_dim=sizes.d_model,
        depths=list(sizes.depths),
        num_heads=list(sizes.heads),
        num_labels=1000,
    )
    with torch.device("meta"):
        counted = sum(p.numel() for p in Swin(sizes).parameters())
        oracle = transformers.SwinForImageClassification(made)
    assert counted == expected == sum(p.numel() for p in oracle.parameters())


def test_sides_widths_and_windows():
    c = SwinConfig.tiny()
    assert [c.side(i) for i in range(4)] == [56, 28, 14, 7]
    assert [c.width(i) for i in range(4)] == [96, 192, 384, 768]
    shifts = [[block.shift for block in stage.blocks] for stage in Swin(config()).stages]
    assert shifts == [[0, 1], [0, 1, 0]]
    whole = Swin(config(window_size=8, image_size=32)).stages[1]
    assert [(block.window, block.shift) for block in whole.blocks] == [(8, 0)] * 3
    small = Swin(config(window_size=6)).stages[1].blocks[1]
    assert (small.window, small.shift) == (6, 0)


def test_it_learns_where_the_light_is():
    """Dice en qué columna de parches de su ventana hay un punto: lo aprende en unos pasos."""
    from atento.training import fit

    places = torch.arange(64)
    x = 8 * F.one_hot(places, 64).float().reshape(-1, 1, 8, 8)
    half = places % 8 // 2 % 2
    rng.seed_all(0)
    sizes = {"d_model": 8, "depths": (1,), "heads": (2,), "window_size": 2, "init_std": 0.3}
    net = Swin(SwinConfig(8, 2, classes=2, **sizes))

    def loss(model, batch):
        return F.cross_entropy(model(batch[0]), batch[1])

    optimizer = partial(torch.optim.Adam, lr=2e-2)
    fit(net, lambda step: (x, half), loss, steps=150, optimizer=optimizer)
    assert (net(x).argmax(-1) == half).float().mean() > 0.95


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "config: se esperaba una SwinConfig", lambda: Swin(3)),
        (ValueError, "image_size: se esperaba un múltiplo", lambda: config(patch_size=5)),
        (ValueError, "window_size: .*etapa 0, que es 12; llegó 5", lambda: config(window_size=5)),
        (ValueError, "window_size: .*etapa 1, que es 6; llegó 4", lambda: config(window_size=4)),
        (
            ValueError,
            "depths: .*par antes de la etapa 2; mide 3",
            lambda: config(depths=(1,) * 4, heads=(1,) * 4, image_size=12, window_size=3),
        ),
        (ValueError, "heads: se esperaba un número por etapa", lambda: config(heads=(2,))),
        (TypeError, "depths: se esperaba una tupla", lambda: config(depths=[2, 2])),
        (ValueError, r"depths\[1\]: ", lambda: config(depths=(2, 0))),
        (ValueError, r"d_model: .*heads\[1\]", lambda: config(heads=(2, 3))),
        (ValueError, "init_std: ", lambda: replace(config(), init_std=0.0)),
        (ValueError, "stage: .*de 0 a 1; llegó 2", lambda: config().side(2)),
        (ValueError, "shift: .*ventana, 3; llegó 3", lambda: SwinBlock(config(), 0, 3)),
        (ValueError, "images: ", lambda: Swin(config())(images(image_size=12))),
        (ValueError, "grid: .*window = 2", lambda: partition(torch.ones(1, 3, 4, 1), 2)),
        (ValueError, "grid: se esperaba la forma", lambda: partition(torch.ones(4, 4), 2)),
        (ValueError, "windows: .*cuadrado", lambda: unpartition(torch.ones(1, 4, 3, 1), 4)),
        (ValueError, "columns: ", lambda: unpartition(torch.ones(1, 4, 4, 1), 3)),
        (ValueError, "side: se esperaba un múltiplo", lambda: who_looks(5, 2)),
        (ValueError, "key: .*de 0 a 8", lambda: RelativeBias2d(1, 3)(*torch.tensor([[0], [9]]))),
        (ValueError, "grid: .*el lado", lambda: PatchMerging(1)(torch.ones(1, 3, 4, 1))),
        (ValueError, "grid: el eje", lambda: SwinBlock(config(), 0)(torch.ones(1, 3, 3, 5))),
        (ValueError, "grid: .*144", lambda: SwinBlock(config(), 0, 1)(torch.ones(1, 3, 3, 8))),
        (ValueError, "state: .* Swin", lambda: from_swin({"swin.layernorm2.w": torch.ones(1)})),
        (TypeError, "state: se esperaba", lambda: from_swin([1])),
        (ValueError, "classes: ", lambda: config(classes=0)),
        (ValueError, "dropout: ", lambda: config(dropout=1.0)),
        (ValueError, "heads: ", lambda: config(depths=(), heads=())),
        (ValueError, "stage: .*mayor o igual", lambda: config().side(-1)),
        (TypeError, "config: ", lambda: Stage(3, 0)),
        (ValueError, "stage: .*de 0 a 1; llegó 2", lambda: Stage(config(), 2)),
        (TypeError, "config: ", lambda: SwinBlock(3, 0)),
        (ValueError, "stage: .*de 0 a 1; llegó 2", lambda: SwinBlock(config(), 2)),
        (ValueError, "shift: .*mayor o igual", lambda: SwinBlock(config(), 0, -1)),
        (TypeError, "grid: ", lambda: partition(torch.ones(1, 4, 4, 1).int(), 2)),
        (ValueError, "grid: .*ejes vacíos", lambda: partition(torch.ones(0, 4, 4, 1), 2)),
        (ValueError, "window: ", lambda: partition(torch.ones(1, 4, 4, 1), 0)),
        (TypeError, "windows: ", lambda: unpartition(torch.ones(1, 4, 4, 1).int(), 4)),
        (ValueError, "windows: .*batch, window", lambda: unpartition(torch.ones(4, 4, 4), 4)),
        (ValueError, "columns: .*mayor", lambda: unpartition(torch.ones(1, 4, 4, 1), 0)),
        (ValueError, "columns: .*3 ventanas", lambda: unpartition(torch.ones(1, 3, 4, 1), 4)),
        (ValueError, "side: .*mayor", lambda: who_looks(0, 2)),
        (ValueError, "window: ", lambda: who_looks(4, 0)),
        (ValueError, "shift: ", lambda: who_looks(4, 2, 2)),
        (ValueError, "n_heads: ", lambda: RelativeBias2d(0, 3)),
        (ValueError, "window: ", lambda: RelativeBias2d(1, 0)),
        (TypeError, "query: ", lambda: RelativeBias2d(1, 3)([0], torch.tensor([0]))),
        (ValueError, "query: ", lambda: RelativeBias2d(1, 3)(*torch.tensor([[-1], [0]]))),
        (ValueError, "query: .*un solo eje", lambda: RelativeBias2d(1, 3)(*torch.zeros(2, 1, 1))),
        (ValueError, "grid: se esperaba la forma", lambda: SwinBlock(config(), 0)(torch.ones(3))),
        (ValueError, "grid: .*column", lambda: SwinBlock(config(), 0)(torch.ones(1, 3, 4, 8))),
        (ValueError, "d_model: .*llegó -1", lambda: PatchMerging(-1)),
        (ValueError, "grid: se esperaba la forma", lambda: PatchMerging(1)(torch.ones(4, 4, 1))),
        (ValueError, "grid: el eje", lambda: PatchMerging(1)(torch.ones(1, 4, 4, 2))),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_the_edges_are_allowed():
    assert SwinBlock(config(), 0, 2).shift == 2
    assert unpartition(torch.ones(1, 1, 4, 1), 2).shape == (1, 2, 2, 1)
    assert RelativeBias2d(1, 3)(*torch.tensor([[0, 8], [8, 0]])).shape == (1, 2, 2)
    assert who_looks(1, 1).shape[-1] == 1
