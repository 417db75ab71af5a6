"""SepFormer: igual al escrito con piezas de PyTorch, y trocear y volver no cambia nada."""

from functools import partial
from itertools import permutations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from atento import rng
from atento.audio import separation, si_snr
from atento.blocks import Encoder
from atento.models.sepformer import (
    DualPath,
    GlobalNorm,
    MaskNet,
    PlacedEncoder,
    SepFormer,
    SepFormerConfig,
    join,
    segment,
    sepformer_loss,
)
from atento.models.weights import from_pytorch
from atento.positions import sinusoidal

TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5}


def close(ours, theirs, tolerance=1e-9):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def config(**changes):
    sizes = {"n_filters": 10, "d_model": 8, "n_heads": 2, "d_ff": 12, "n_layers": 2, "chunk": 6}
    return SepFormerConfig(**{**sizes, "kernel_size": 6, "stride": 3, **changes})


def noise(*shape, dtype=torch.float64, seed=1):
    return torch.randn(*shape, generator=rng.generator(seed), dtype=dtype)


# --- Trocear --------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 4, 6, 10, 40])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 6, 12, 13])
def test_cutting_and_joining_is_the_identity(n, size, shape_checks):
    x = noise(2, n, 3)
    pieces = segment(x, size)
    assert pieces.shape == (2, -(-n // (size // 2)) + 1, size, 3)
    assert torch.equal(join(pieces, n), x)


def test_each_row_is_in_two_chunks_half_a_chunk_apart():
    rows = torch.arange(1.0, 8.0).view(1, 7, 1)
    expected = [[0, 0, 1, 2], [1, 2, 3, 4], [3, 4, 5, 6], [5, 6, 7, 0], [7, 0, 0, 0]]
    assert segment(rows, 4)[0, ..., 0].tolist() == expected
    pieces = noise(1, 5, 4, 1)  # la media de las dos, escrita a mano
    twice = [[] for _ in range(11)]
    for chunk in range(5):
        for place in range(4):
            twice[2 * chunk + place - 2].append(pieces[0, chunk, place, 0])
    for i, row in enumerate(join(pieces, 7)[0, :, 0]):
        close(row, sum(twice[i]) / 2, 1e-15)
        assert len(twice[i]) == 2


# --- El doble camino ------------------------------------------------------------------------------


def test_the_global_norm_is_a_group_norm_with_one_group():
    ours, theirs = GlobalNorm(8).double(), nn.GroupNorm(1, 8, eps=1e-8).double()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter)
    ours.load_state_dict(theirs.state_dict())
    for x in (noise(3, 5, 8), noise(3, 4, 5, 8)):
        close(ours(x), theirs(x.movedim(-1, 1)).movedim(1, -1))


def test_a_double_path_is_full_attention_with_blocks_hidden(shape_checks):
    """Con todas las filas en una sola secuencia y lo demás tapado, sale lo mismo."""
    c = config(n_layers=1)
    path = DualPath(PlacedEncoder(c), PlacedEncoder(c), 8).double()
    x = noise(2, 4, 6, 8)  # cuatro trozos de seis
    chunk, place = torch.arange(24) // 6, torch.arange(24) % 6

    def flat(stack, rows, at, mask):
        seen = (rows + sinusoidal(at, 8, dtype=rows.dtype)).flatten(1, 2)  # (batch, 24, d_model)
        return stack.encoder(seen, mask).view(rows.shape)

    y = x + path.norm_within(
        flat(path.within, x, torch.arange(6).expand(4, 6), chunk[:, None] == chunk)
    )
    at = torch.arange(4)[:, None].expand(4, 6)
    y = y + path.norm_across(flat(path.across, y, at, place[:, None] == place))
    close(path(x), y)


def test_two_paths_reach_everything_and_one_does_not():
    c = config(n_layers=1)

    def reached(path):
        x = noise(1, 4, 6, 8).requires_grad_()
        (slope,) = torch.autograd.grad(path(x)[0, 1, 2, 0], x)
        return slope[0].abs().sum(-1) > 1e-12

    within, across = PlacedEncoder(c).double(), PlacedEncoder(c).double()
    assert reached(within)[1].all() and reached(within).sum() == 6
    crossed = reached(lambda x: across(x.transpose(1, 2)).transpose(1, 2))
    assert crossed[:, 2].all() and crossed.sum() == 4
    assert reached(lambda x: across(within(x).transpose(1, 2)).transpose(1, 2)).all()


# --- El modelo ------------------------------------------------------------------------------------


class Theirs(nn.Module):
    """El mismo, con los canales delante y las piezas de PyTorch, como en el código publicado.

    Suma lo que se pisa y no divide entre dos; aquí se divide, para compararlos.
    """

    def __init__(self, c):
        super().__init__()
        d, filters, wave = (
            c.d_model,
            c.n_filters,
            {"kernel_size": c.kernel_size, "stride": c.stride, "bias": False},
        )
        self.c, self.filters = c, nn.Conv1d(1, filters, **wave)
        self.norm = nn.GroupNorm(1, filters, eps=1e-8)
        self.project = nn.Conv1d(filters, d, 1, bias=False)
        options = {"dropout": 0.0, "batch_first": True, "norm_first": True}
        layer = nn.TransformerEncoderLayer(d, c.n_heads, c.d_ff, **options)
        self.stacks = nn.ModuleList(
            nn.TransformerEncoder(layer, c.n_layers, nn.LayerNorm(d), enable_nested_tensor=False)
            for _ in range(2 * c.n_repeats)
        )
        self.norms = nn.ModuleList(nn.GroupNorm(1, d, eps=1e-8) for _ in range(2 * c.n_repeats))
        self.slope, self.split = nn.PReLU(), nn.Conv2d(d, d * c.n_voices, 1)
        self.value, self.gate = nn.Conv1d(d, d, 1), nn.Conv1d(d, d, 1)
        self.to_mask = nn.Conv1d(d, filters, 1, bias=False)
        self.decoder = nn.ConvTranspose1d(filters, 1, **wave)

    def forward(self, mixture):
        half = self.c.chunk // 2
        rows = F.relu(self.filters(mixture[:, None]))  # (batch, d, n)
        x, n = self.project(self.norm(rows)), rows.shape[-1]
        x = (
            F.pad(x, (half, half + -n % half)).unfold(2, 2 * half, half).mT
        )  # (batch, d, size, chunk)
        for i, (stack, norm) in enumerate(zip(self.stacks, self.norms, strict=True)):
            turned = x.permute(0, 3, 2, 1) if i % 2 == 0 else x.permute(0, 2, 3, 1)
            seen = turned.flatten(0, 1)
            seen = stack(seen + sinusoidal(torch.arange(seen.shape[1]), 8, dtype=seen.dtype))
            back = seen.view(turned.shape)
            x = x + norm(back.permute(0, 3, 2, 1) if i % 2 == 0 else back.permute(0, 3, 1, 2))
        x = self.split(self.slope(x))
        x = x.reshape(len(x) * self.c.n_voices, self.c.d_model, *x.shape[2:])
        x = F.fold(x.flatten(1, 2), (1, half * (x.shape[-1] + 1)), (1, 2 * half), stride=(1, half))
        x = x[:, :, 0, half : half + n] / 2
        masks = F.relu(self.to_mask(self.value(x).tanh() * self.gate(x).sigmoid()))
        voices = rows.repeat_interleave(self.c.n_voices, dim=0) * masks
        return self.decoder(voices).view(len(mixture), self.c.n_voices, -1)


def renamed(state):
    """Los nombres del libro: las convoluciones de una posición son aquí matrices."""
    ours = {}
    for name, tensor in state.items():
        part, _, rest = name.partition(".")
        number, _, rest_of_part = rest.partition(".")
        if part in ("stacks", "norms"):
            way = ("within", "across")[int(number) % 2]
            path = f"masks.paths.{int(number) // 2}."
            if part == "norms":
                ours[f"{path}norm_{way}.{rest_of_part}"] = tensor
            else:
                inner = from_pytorch({rest_of_part: tensor})
                ours |= {f"{path}{way}.encoder.{n}": t for n, t in inner.items()}
        elif part in ("filters", "decoder"):
            ours[name] = tensor
        else:
            ours[f"masks.{name}"] = tensor.flatten(1) if tensor.ndim > 1 else tensor
    return ours


@pytest.mark.parametrize("voices", [2, 3])
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_equals_pytorch_with_gradients(dtype, voices, shape_checks):
    c = config(n_voices=voices)
    oracle = Theirs(c)
    for name, parameter in oracle.named_parameters():
        nn.init.normal_(parameter, float("norm" in name and "weight" in name), std=0.3)
    oracle, ours = oracle.to(dtype), SepFormer(c).to(dtype)
    ours.load_state_dict(renamed(oracle.state_dict()))
    x = noise(2, 6 + 3 * 12, dtype=dtype)  # trece filas justas
    mine, other = ours(x), oracle(x)
    close(mine, other, TOLERANCE[dtype])
    mine.square().mean().backward()
    other.square().mean().backward()
    expected = renamed({n: p.grad for n, p in oracle.named_parameters()})
    own = dict(ours.named_parameters())
    assert own.keys() == expected.keys()
    for name, parameter in own.items():
        size = max(1.0, expected[name].abs().max().item())
        close(parameter.grad, expected[name], TOLERANCE[dtype] * size)


@pytest.mark.parametrize("samples", [1, 5, 6, 7, 8, 9, 40, 101])
def test_any_length_comes_back_whole(samples, shape_checks):
    net = SepFormer(config(n_voices=3)).double()
    x = noise(2, samples)
    assert net(x).shape == (2, 3, samples)
    rows = net.encode(x)
    assert (rows >= 0).all() and (net.masks(rows) >= 0).all()
    longer = F.pad(x, (0, 6 + 3 * (rows.shape[1] - 1) - samples))
    close(net.encode(longer), rows)  # lo que falta es silencio


def test_companions_change_nothing():
    net, x = SepFormer(config()).double(), noise(3, 50)
    whole = net(x)
    for i in range(3):
        close(whole[i], net(x[i : i + 1])[0], 1e-12)


def by_formula(c):
    """Los parámetros, contados a mano."""
    d, f = c.d_model, c.d_ff
    block = 4 * (d * d + d) + (d * f + f) + (f * d + d) + 2 * 2 * d
    path = 2 * (c.n_layers * block + 2 * d + 2 * d)  # la norma de la pila y la global
    voices = d * c.n_voices * d + c.n_voices * d
    ends = 2 * c.n_filters + c.n_filters * d + 1 + voices + 2 * (d * d + d) + d * c.n_filters
    return 2 * c.n_filters * c.kernel_size + c.n_repeats * path + ends


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (config(), None),
        (config(n_voices=3, n_repeats=1), None),
        (SepFormerConfig(), 161_921),
        (SepFormerConfig.published(), 25_679_361),  # 26 millones en el artículo
        (SepFormerConfig.published(n_voices=3), None),
    ],
)
def test_counts_the_parameters_by_formula(sizes, expected):
    with torch.device("meta"):
        counted = sum(p.numel() for p in SepFormer(sizes).parameters())
    assert counted == by_formula(sizes) and expected in (None, counted)


# --- La pérdida -----------------------------------------------------------------------------------


def test_the_loss_is_the_best_of_every_order(shape_checks):
    net = SepFormer(config(n_voices=3)).double()
    x, voices = noise(4, 50), noise(4, 3, 50, seed=2)
    estimates = net(x)
    orders = torch.stack(
        [si_snr(estimates[:, [*o]], voices).mean(1) for o in permutations(range(3))]
    )
    close(sepformer_loss(net, (x, voices)), -orders.max(dim=0).values.mean())
    assert orders.max(dim=0).indices.unique().numel() > 1


def test_the_loss_does_not_care_who_speaks_first():
    net = SepFormer(config(n_voices=3)).double()
    x, voices = noise(4, 50), noise(4, 3, 50, seed=2)
    before = sepformer_loss(net, (x, voices))
    slopes = torch.autograd.grad(before, list(net.parameters()))
    for order in permutations(range(3)):
        after = sepformer_loss(net, (x, voices[:, [*order]]))
        close(after, before, 1e-12)
        others = torch.autograd.grad(after, list(net.parameters()))
        assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(slopes, others, strict=True))
        turned = separation(net(x)[:, [*order]], voices).si_snr.mean()
        close(-turned, before, 1e-12)


def test_it_learns_to_tell_a_low_tone_from_a_high_one():
    """Aprende a separar dos tonos en unos pasos: más de 5 dB de mejora en mezclas nuevas."""
    from atento.training import fit

    def tones(count, seed):
        draw = partial(torch.rand, count, 1, generator=rng.generator(seed))
        times = torch.arange(160) / 8000
        low, high = 150 + 100 * draw(), 700 + 400 * draw()
        waves = [torch.cos(2 * torch.pi * (f * times + draw())) for f in (low, high)]
        voices = torch.stack(waves, dim=1)
        return voices.sum(dim=1), voices

    rng.seed_all(0)
    net = SepFormer(
        config(n_filters=16, d_model=16, n_repeats=1, n_layers=1, kernel_size=16, stride=8, chunk=8)
    )
    make = partial(torch.optim.Adam, lr=5e-3)
    fit(net, lambda step: tones(8, step), sepformer_loss, steps=60, optimizer=make)
    mixture, voices = tones(32, 1000)
    before = separation(mixture[:, None].repeat(1, 2, 1), voices).si_snr.mean()
    with torch.no_grad():
        after = separation(net(mixture), voices).si_snr.mean()
    assert after - before > 5


# --- Lo que no vale -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "config: se esperaba una SepFormerConfig", lambda: SepFormer(3)),
        (TypeError, "config: se esperaba una SepFormerConfig", lambda: MaskNet(3)),
        (ValueError, "n_voices: ", lambda: config(n_voices=0)),
        (ValueError, "n_filters: ", lambda: config(n_filters=0)),
        (
            ValueError,
            r"x: .*\(batch, n, 10\)",
            lambda: MaskNet(config())(noise(1, 3, 8).float()),
        ),
        (ValueError, "d_model: se esperaba un múltiplo", lambda: config(n_heads=3)),
        (ValueError, "d_model: .*par", lambda: config(d_model=5, n_heads=1)),
        (ValueError, "chunk: .*par", lambda: config(chunk=5)),
        (ValueError, "stride: se esperaba kernel_size = 6", lambda: config(stride=7)),
        (ValueError, "dropout: ", lambda: config(dropout=1.0)),
        (ValueError, r"x: .*\(batch, n, d_model\)", lambda: segment(noise(3, 4), 2)),
        (ValueError, "size: .*par", lambda: segment(noise(1, 3, 4), 3)),
        (ValueError, "pieces: se esperaban 4 trozos", lambda: join(noise(1, 3, 4, 2), 6)),
        (ValueError, r"x: .*\(batch, …, 8\)", lambda: GlobalNorm(8)(noise(2, 3))),
        (ValueError, r"x: .*\(…, n, 8\)", lambda: PlacedEncoder(config())(noise(1, 2, 3))),
        (TypeError, "within: se esperaba un módulo", lambda: DualPath(3, nn.Identity(), 8)),
        (
            ValueError,
            r"x: .*\(batch, chunk, size, 8\)",
            lambda: DualPath(nn.Identity(), nn.Identity(), 8)(noise(1, 3, 8)),
        ),
        (
            ValueError,
            r"mixture: .*\(batch, samples\)",
            lambda: SepFormer(config())(noise(1, 1, 9).float()),
        ),
        (TypeError, "mixture: .*los pesos", lambda: SepFormer(config())(noise(1, 9))),
        (
            ValueError,
            "samples: 2 filas dan 9",
            lambda: SepFormer(config()).decode(noise(1, 2, 2, 10).float(), 10),
        ),
        (TypeError, "batch: se esperaba una pareja", lambda: sepformer_loss(None, 3)),
        (ValueError, "batch: .*llegaron 3", lambda: sepformer_loss(None, (1, 2, 3))),
        (
            ValueError,
            r"batch\[1\]: ",
            lambda: sepformer_loss(None, (noise(1, 9), noise(1, 9))),
        ),
        (ValueError, "chunk: .*mayor o igual que 2", lambda: config(chunk=0)),
        (TypeError, "x: ", lambda: segment(noise(1, 3, 4).int(), 2)),
        (ValueError, "x: .*ejes vacíos", lambda: segment(noise(1, 0, 4), 2)),
        (ValueError, r"pieces: .*\(batch, chunk", lambda: join(noise(4, 4, 2), 6)),
        (ValueError, "size: .*par", lambda: join(noise(1, 4, 5, 2), 6)),
        (ValueError, "n: ", lambda: join(noise(1, 1, 4, 2), 0)),
        (ValueError, "d_model: ", lambda: GlobalNorm(0)),
        (ValueError, "d_model: ", lambda: DualPath(nn.Identity(), nn.Identity(), 0)),
        (TypeError, "across: ", lambda: DualPath(nn.Identity(), 3, 8)),
        (TypeError, "x: ", lambda: GlobalNorm(8)(noise(2, 3, 8).int())),
        (ValueError, r"x: .*\(batch, …, 8\)", lambda: GlobalNorm(8)(noise(8))),
        (ValueError, r"x: .*vacíos", lambda: GlobalNorm(8)(noise(2, 0, 8))),
        (TypeError, "x: .*un tensor", lambda: PlacedEncoder(config())([1.0])),
        (ValueError, r"x: .*\(…, n, 8\)", lambda: PlacedEncoder(config())(noise(2, 8).float())),
        (ValueError, "x: .*vacíos", lambda: PlacedEncoder(config())(noise(1, 0, 8).float())),
        (TypeError, "mixture: .*flotante", lambda: SepFormer(config())(noise(1, 9).int())),
        (ValueError, "rows: ", lambda: SepFormer(config()).decode(noise(1, 2, 10).float(), 5)),
        (
            ValueError,
            "samples: ",
            lambda: SepFormer(config()).decode(noise(1, 2, 2, 10).float(), 0),
        ),
        (
            ValueError,
            r"batch\[0\]: ",
            lambda: sepformer_loss(None, (noise(9), noise(1, 2, 9))),
        ),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_the_stacks_are_those_of_the_book():
    stack = PlacedEncoder(config())
    assert isinstance(stack.encoder, Encoder) and len(stack.encoder.blocks) == 2


def test_the_edges_are_allowed():
    config(stride=6, chunk=2)
    assert SepFormer(config()).decode(noise(1, 2, 2, 10).float(), 9).shape == (1, 2, 9)
    assert GlobalNorm(8)(noise(2, 8).float()).shape == (2, 8)
    assert PlacedEncoder(config())(noise(1, 1, 8).float()).shape == (1, 1, 8)
