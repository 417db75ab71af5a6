"""Las siete fusiones: quién ve a quién, el relleno, lo que gastan, e iguales a las de PyTorch."""

from dataclasses import replace
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from atento import rng
from atento.models.fusion import FUSIONS, Fusion, FusionConfig, Stream, TwoSenses
from atento.models.vit import VitConfig
from atento.models.weights import from_pytorch

D, N_A, N_B = 8, 3, 5
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5}
EACH = pytest.mark.parametrize("fusion", FUSIONS)
TWO = ("one_to_many", "cross", "bottleneck")


def close(ours, theirs, tolerance=1e-9):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def config(fusion, **changes):
    sizes = {"d_model": D, "n_heads": 2, "d_ff": 12, "n_bottleneck": 2, "init_std": 0.5}
    return FusionConfig(fusion, **{**sizes, **changes})


def make(fusion, **changes):
    return Fusion(config(fusion, **changes)).double()


def senses(fusion, batch=2, seed=0):
    """Dos secuencias; las que se suman, igual de largas."""
    source = rng.generator(seed)
    n_b = N_A if fusion == "early_sum" else N_B
    shapes = ((batch, N_A, D), (batch, n_b, D))
    return tuple(torch.randn(s, generator=source, dtype=torch.float64) for s in shapes)


def sees(function, a, b):
    """Qué filas de cada salida cambian al cambiar cada fila de la entrada: (salida, entrada)."""
    before = [s.rows for s in function(a, b)]
    columns = []
    for sense in range(2):
        for row in range((a, b)[sense].shape[1]):
            changed = [a.clone(), b.clone()]
            changed[sense][:, row] += torch.arange(D) % 3  # una constante la quita la norma
            after = [s.rows for s in function(*changed)]
            pairs = zip(after, before, strict=True)
            columns.append(torch.cat([(x - y).abs().amax(dim=(0, 2)) for x, y in pairs]))
    return torch.stack(columns, dim=1) > 1e-9


@EACH
def test_what_comes_out(fusion, shape_checks):
    a, b = senses(fusion)
    streams = make(fusion)(a, b)
    n_a, n_b = a.shape[1], b.shape[1]
    wanted = [n_a, n_b] if fusion in TWO else [n_a if fusion == "early_sum" else n_a + n_b]
    assert [s.rows.shape for s in streams] == [(2, n, D) for n in wanted]
    assert all(s.present.shape == s.rows.shape[:2] and s.present.all() for s in streams)


@EACH
def test_with_layers_enough_everyone_sees_everyone(fusion):
    assert sees(make(fusion), *senses(fusion)).all()


def block(own, other):
    """Lo que ve quien solo ve una parte: (n_a + n_b, n_a + n_b) por trozos."""
    eye_a, eye_b = torch.eye(N_A, dtype=torch.bool), torch.eye(N_B, dtype=torch.bool)
    kinds = {"all": torch.ones_like, "none": torch.zeros_like, "self": lambda x: x}
    across = torch.ones(N_A, N_B, dtype=torch.bool)
    top = torch.cat([kinds[own](eye_a), kinds[other](across)], dim=1)
    return torch.cat([top, torch.cat([kinds[other](across.T), kinds[own](eye_b)], dim=1)])


def test_who_sees_whom_on_the_way():
    """Lo que distingue a las que, al final, lo ven todo."""
    many, one = make("many_to_one"), make("one_to_many")
    a, b = senses("cross")
    each = lambda net: lambda x, y: net._each(Stream.of(x), Stream.of(y))  # noqa: E731
    assert torch.equal(sees(each(many), a, b), block("all", "none"))
    assert torch.equal(sees(each(one), a, b), block("all", "none"))
    once = make("cross")
    once.crossed_a, once.crossed_b = once.crossed_a[:1], once.crossed_b[:1]
    assert torch.equal(sees(once, a, b), block("self", "all"))  # a las de su lado, todavía no
    looked = make("cross_concat")
    look = lambda x, y: looked._look(Stream.of(x), Stream.of(y))  # noqa: E731
    assert torch.equal(sees(look, a, b), block("self", "all"))


@pytest.mark.parametrize(("fuse_from", "other"), [(0, "all"), (1, "none"), (2, "none")])
def test_the_neck_takes_two_layers(fuse_from, other):
    """Lo de un sentido entra en el cuello en una capa y sale hacia el otro en la siguiente."""
    net = make("bottleneck", fuse_from=fuse_from)
    assert torch.equal(sees(net, *senses("bottleneck")), block("all", other))
    deeper = make("bottleneck", fuse_from=fuse_from, n_layers=8)
    assert sees(deeper, *senses("bottleneck")).all()


def test_everything_crosses_by_the_neck():
    """Con el cuello de siempre, un sentido no sabe nada del otro."""
    net = make("bottleneck")
    a, b = senses("bottleneck")
    blocks = [*net.apart_a, *net.apart_b]
    for one in blocks:  # con las claves del cuello tapadas
        whole = one.attention.forward

        def deaf(x, whole=whole, **options):
            n = x.shape[1] - 2
            return whole(x, mask=(torch.arange(n + 2) < n)[None, None, None])

        one.attention.forward = deaf
    assert torch.equal(sees(net, a, b), block("all", "none"))


@EACH
def test_padding_never_matters(fusion):
    """Ni lo que haya en el relleno ni cuánto sea cambian una fila que no lo es."""
    net = make(fusion)
    a, b = senses(fusion)
    a_there = torch.ones(a.shape[:2], dtype=torch.bool)
    b_there = a_there.clone() if fusion == "early_sum" else torch.ones(b.shape[:2]).bool()
    a_there[0, 2], b_there[1, 1:] = False, False
    before = net(a, b, a_there, b_there)
    noisy_a, noisy_b = a.clone(), b.clone()
    noisy_a[~a_there], noisy_b[~b_there] = 9.0, -9.0
    after = net(noisy_a, noisy_b, a_there, b_there)
    for x, y in zip(before, after, strict=True):
        assert torch.equal(x.present, y.present)
        close(x.rows[x.present], y.rows[y.present])
        close(x.mean(), y.mean())
    longer = [F.pad(x, (0, 0, 0, 2), value=7.0) for x in (a, b)]
    there = [F.pad(x, (0, 2)) for x in (a_there, b_there)]
    for x, y in zip(before, net(*longer, *there), strict=True):
        close(x.rows[x.present], y.rows[y.present])
        close(x.mean(), y.mean())


def test_the_sum_forgets_who_said_what():
    """Cambiar los dos sentidos de sitio no cambia la suma, y sí lo demás."""
    for fusion in FUSIONS:
        a, b = senses("early_sum")
        net = make(fusion)
        one, other = (sum(s.mean() for s in net(*x)) for x in ((a, b), (b, a)))
        assert torch.allclose(one, other) == (fusion in ("early_sum", "early_concat"))
    with torch.no_grad():
        make_sum = make("early_sum")
        make_sum.weights[1] = 0
    assert torch.equal(
        sees(make_sum, a, b)[0], torch.tensor([True] * N_A + [False] * N_A)
    )  # con peso 0, no cuenta


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_joining_equals_pytorch_with_gradients(dtype):
    """Concatenar y un codificador de PyTorch, con los mismos pesos y el mismo relleno."""
    layer = nn.TransformerEncoderLayer(
        D, 2, 12, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
    )
    oracle = nn.TransformerEncoder(layer, 4, nn.LayerNorm(D), enable_nested_tensor=False).to(dtype)
    for parameter in oracle.parameters():
        nn.init.normal_(parameter, std=0.3)
    ours = Fusion(config("early_concat")).to(dtype)
    names = {"blocks.": "together.", "final_norm.": "norm."}

    def renamed(state):
        found = from_pytorch(state)
        for theirs, own in names.items():
            found = {k.replace(theirs, own): v for k, v in found.items()}
        return found

    ours.load_state_dict(renamed(oracle.state_dict()))
    a, b = (x.to(dtype) for x in senses("early_concat"))
    there = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    (mine,) = ours(a, b, None, there)
    absent = torch.cat([torch.zeros(2, N_A, dtype=torch.bool), ~there], dim=1)
    other = oracle(torch.cat([a, b], dim=1), src_key_padding_mask=absent)
    close(mine.rows[mine.present], other[~absent], TOLERANCE[dtype])
    mine.rows[mine.present].square().mean().backward()
    other[~absent].square().mean().backward()
    expected = renamed({n: p.grad for n, p in oracle.named_parameters()})
    for name, parameter in ours.named_parameters():
        scale = max(1.0, expected[name].abs().max().item())
        close(parameter.grad, expected[name], TOLERANCE[dtype] * scale)


def test_looking_at_the_other_equals_pytorch():
    net = make("cross").crossed_a[0]
    oracle = nn.MultiheadAttention(D, 2, batch_first=True).double()
    own = net.attention
    parts = (own.project_query, own.project_key, own.project_value)
    with torch.no_grad():
        oracle.in_proj_weight.copy_(torch.cat([p.weight for p in parts]))
        oracle.in_proj_bias.copy_(torch.cat([p.bias for p in parts]))
    oracle.out_proj.load_state_dict(own.project_output.state_dict())
    a, b = senses("cross")
    there = torch.tensor([[True] * 5, [False] + [True] * 4])
    found = net(Stream.of(a), Stream.of(b, there)).rows
    norm, last = net.add_attention.norm, net.add_feed_forward
    normed = [F.layer_norm(x, (D,), norm.weight, norm.bias) for x in (a, b)]
    x = a + oracle(normed[0], normed[1], normed[1], key_padding_mask=~there)[0]
    y = F.layer_norm(x, (D,), last.norm.weight, last.norm.bias)
    dense = net.feed_forward
    hidden = F.gelu(F.linear(y, dense.expand.weight, dense.expand.bias))
    close(found, x + F.linear(hidden, dense.contract.weight, dense.contract.bias))


def test_the_neck_is_the_mean_of_what_both_leave_in_it():
    net = make("bottleneck")
    a, b = senses("bottleneck")
    neck, (x, y) = net.neck.expand(2, -1, -1), (a, b)
    for own_a, own_b in zip(net.apart_a, net.apart_b, strict=True):
        x, y = own_a(torch.cat([x, neck], dim=1)), own_b(torch.cat([y, neck], dim=1))
        neck = (x[:, N_A:] + y[:, N_B:]) / 2
        x, y = x[:, :N_A], y[:, :N_B]
    for found, rows in zip(net(a, b), (x, y), strict=True):
        close(found.rows, F.layer_norm(rows, (D,)))


@EACH
@pytest.mark.parametrize("n_layers", [4, 8])
def test_all_spend_the_same(fusion, n_layers):
    c = config(fusion, n_layers=n_layers)
    d, f = c.d_model, c.d_ff
    one = 4 * (d * d + d) + (d * f + f) + (f * d + d) + 4 * d
    extra = {"early_sum": 2, "bottleneck": c.n_bottleneck * d}.get(fusion, 0)
    count = sum(p.numel() for p in Fusion(c).parameters())
    assert count == n_layers * one + 2 * d + extra
    image = VitConfig(8, 2, d_model=d, n_heads=2, pooling="mean")
    whole = TwoSenses(c, image, vocab=11, max_len=6, classes=5)
    outside = (4 + 1 + 16 + 11 + 6 + 5) * d + 5
    assert sum(p.numel() for p in whole.parameters()) == count + outside
    assert extra < 0.01 * n_layers * one


def lights():
    """Dieciséis casos: una luz en un cuarto de la imagen y una palabra; ¿dicen lo mismo?"""
    place, word = torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")
    images = 4 * F.one_hot(place.flatten(), 4).float().reshape(-1, 1, 2, 2)
    images = images.repeat_interleave(2, 2).repeat_interleave(2, 3)  # (16, 1, 4, 4)
    text = F.pad(1 + word.flatten()[:, None], (0, 3))  # (16, 4), con relleno
    return images, text, (place == word).flatten().long()


def reader(fusion, vocab=5, max_len=4, **changes):
    sizes = {"d_model": 16, "d_ff": 32, "init_std": 0.2}
    c = config(fusion, **{**sizes, **changes})
    image = VitConfig(4, 2, d_model=16, n_heads=2, pooling="mean")
    return TwoSenses(c, image, vocab, max_len, 2)


@pytest.mark.parametrize(("fusion", "steps"), [("early_concat", 40), ("cross", 40)])
def test_it_learns_what_needs_both(fusion, steps):
    from atento.training import fit

    rng.seed_all(0)
    net, (images, text, wanted) = reader(fusion, init_std=0.35), lights()
    weights = torch.tensor([1.0, 3.0])

    def loss(model, batch):
        return F.cross_entropy(model(*batch), wanted, weight=weights)

    optimizer = partial(torch.optim.Adam, lr=1e-2)
    fit(net, lambda step: (images, text), loss, steps=steps, optimizer=optimizer)
    assert (net(images, text).argmax(-1) == wanted).float().mean() > 0.8


@EACH
def test_every_weight_learns(fusion):
    """A todos los pesos les llega gradiente, salvo al sesgo de las claves, que no cambia nada."""
    net, (images, text, wanted) = reader(fusion), lights()
    text[:, 1] = 1 + torch.arange(len(text)) % 3  # con una sola palabra no hay entre qué repartir
    F.cross_entropy(net(images, text), wanted).backward()
    silent = [
        n for n, p in net.named_parameters() if p.numel() and (p.grad is None or not p.grad.any())
    ]
    assert not [name for name in silent if not name.endswith("project_key.bias")]


def test_the_sum_fills_the_shorter_sense():
    """Lo que falta es relleno: ni suma nada ni se promedia."""
    for length in (2, 4, 6):
        net = reader("early_sum", max_len=6).double()
        images, text, _ = lights()
        images, text = images.double(), F.pad(text, (0, 2))[:, :length]
        a = net.embed_image(images)
        b = net.positions(net.embed_words(text)) * (text != 0)[..., None]
        n = max(4, length)
        rows = [F.pad(x, (0, 0, 0, n - x.shape[1])) for x in (a, b)]
        there = [torch.arange(n) < 4, F.pad(text != 0, (0, n - length))]
        mixed = sum(w * x for w, x in zip(net.fusion.weights, rows, strict=True))
        present = there[0] | there[1]
        for block in net.fusion.together:
            mixed = block(mixed, present[:, None, None])
        kept = [x[own].mean(0) for x, own in zip(net.fusion.norm(mixed), present, strict=True)]
        close(net(images, text), net.classify(torch.stack(kept)))


def test_the_words_start_above_their_places():
    """Si los sitios se sortean mayores que las palabras, al empezar no se distingue qué se dice."""
    net = reader("cross", place_std=0.1, word_std=0.7, position_std=0.4, vocab=400, max_len=400)
    tables = (net.positions.table, net.embed_words.weight, net.embed_image.positions.table)
    for table, std in zip(tables, (0.1, 0.7, 0.4), strict=True):
        assert table.std().item() == pytest.approx(std, rel=0.3)
    default = FusionConfig("cross")
    assert default.place_std < default.word_std


def test_the_reader_hides_the_padding():
    net = reader("cross").double()
    images, text, _ = lights()
    images = images.double()
    close(net(images, text[:, :2]), net(images, text))


def summed(weights):
    stream = Stream.of(torch.ones(1, 2, 3))
    return stream.summed(stream, weights)


def senses_of(d_model=D, classes=2):
    image = VitConfig(4, 2, d_model=d_model, n_heads=2, pooling="mean")
    return TwoSenses(config("cross"), image, 5, 4, classes)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "config: se esperaba una FusionConfig", lambda: Fusion(3)),
        (ValueError, "fusion: se esperaba una de early_sum", lambda: config("late")),
        (ValueError, "n_layers: ", lambda: config("cross", n_layers=6)),
        (ValueError, "d_model: se esperaba un múltiplo", lambda: config("cross", n_heads=3)),
        (ValueError, "fuse_from: .*2", lambda: config("bottleneck", fuse_from=3)),
        (ValueError, "n_bottleneck: ", lambda: replace(config("cross"), n_bottleneck=0)),
        (ValueError, "other: sumar pide", lambda: make("early_sum")(*senses("cross"))),
        (ValueError, "a: se esperaba la forma", lambda: make("cross")(torch.ones(2, 8), 1)),
        (TypeError, "b: ", lambda: make("cross")(torch.ones(2, 3, 8), 1)),
        (
            ValueError,
            "a: .*d_model",
            lambda: make("cross")(torch.ones(2, 3, 4), torch.ones(2, 3, 4)),
        ),
        (ValueError, "b: .*batch", lambda: make("cross")(torch.ones(2, 3, 8), torch.ones(1, 3, 8))),
        (
            ValueError,
            "a_present: ",
            lambda: make("cross")(*senses("cross"), torch.ones(2, 4).bool()),
        ),
        (TypeError, "b_present: ", lambda: make("cross")(*senses("cross"), None, torch.ones(2, 5))),
        (
            TypeError,
            "other: se esperaba un Stream",
            lambda: Stream.of(torch.ones(1, 2, 3)).joined(1),
        ),
        (TypeError, "x: se esperaba un Stream", lambda: make("cross").crossed_a[0](1, 2)),
        (
            ValueError,
            "image: .*pooling='mean'",
            lambda: TwoSenses(config("cross"), VitConfig(4, 2, d_model=D, n_heads=2), 5, 4, 2),
        ),
        (TypeError, "image: ", lambda: TwoSenses(config("cross"), 3, 5, 4, 2)),
        (ValueError, "text: .*entre 0 y 4", lambda: reader("cross")(lights()[0], lights()[1] + 4)),
        (
            ValueError,
            "text: .*4 palabras",
            lambda: reader("cross")(lights()[0], torch.ones(16, 5).long()),
        ),
        (ValueError, "text: .*batch", lambda: reader("cross")(lights()[0], lights()[1][:2])),
        (ValueError, "images: ", lambda: reader("cross")(torch.ones(1, 1, 2, 2), lights()[1])),
        (ValueError, "fuse_from: .*mayor o igual", lambda: config("bottleneck", fuse_from=-1)),
        (ValueError, "dropout: ", lambda: config("cross", dropout=1.0)),
        (ValueError, "init_std: ", lambda: config("cross", init_std=0.0)),
        (TypeError, "rows: ", lambda: Stream.of(torch.ones(1, 2, 3).int())),
        (ValueError, "rows: ", lambda: Stream.of(torch.ones(2, 3))),
        (TypeError, "present: ", lambda: Stream.of(torch.ones(1, 2, 3), torch.ones(1, 2))),
        (TypeError, "other: ", lambda: Stream.of(torch.ones(1, 2, 3)).summed(1, torch.ones(2))),
        (TypeError, "weights: ", lambda: summed([0.5, 0.5])),
        (ValueError, "n: ", lambda: Stream.of(torch.ones(1, 2, 3)).cut(-1)),
        (TypeError, "n: ", lambda: Stream.of(torch.ones(1, 2, 3)).padded(2.0)),
        (
            TypeError,
            "other: se esperaba un Stream",
            lambda: make("cross").crossed_a[0](Stream.of(torch.ones(1, 2, 3)), 2),
        ),
        (
            ValueError,
            "b: .*d_model",
            lambda: make("cross")(torch.ones(2, 3, 8), torch.ones(2, 3, 4)),
        ),
        (
            TypeError,
            "config: ",
            lambda: TwoSenses(3, VitConfig(4, 2, d_model=D, n_heads=2), 5, 4, 2),
        ),
        (ValueError, "image: .*anchura 8", lambda: senses_of(d_model=4)),
        (ValueError, "classes: ", lambda: senses_of(classes=0)),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()


def test_the_edges_are_allowed():
    config("bottleneck", fuse_from=0)
    config("bottleneck", fuse_from=2)
    first, rest = Stream.of(torch.ones(1, 2, 3)).cut(0)
    assert first.rows.shape == (1, 0, 3) and rest.rows.shape == (1, 2, 3)
    x, text, _ = lights()
    assert len(reader("cross")(x[:1], text[:1, :1].repeat(1, 4))) == 1
