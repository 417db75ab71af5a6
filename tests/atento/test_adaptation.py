"""Ajustar y alinear: cada fórmula, con una cuenta que no es la suya."""

import copy
import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from atento import adaptation as ad
from atento import rng
from atento.models.bert import Bert, BertConfig
from atento.models.gpt import Gpt, GptConfig
from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig
from atento.models.t5 import T5, T5Config
from atento.training import fit

IDS = torch.tensor([[3, 4, 5, 6], [7, 8, 4, 3]])
EVERY = ("project_query", "project_key", "project_value", "project_output", "expand", "contract")
MODELS = {
    "gpt": (lambda: Gpt(GptConfig(11, d_model=16, n_heads=2, d_ff=24)), (IDS,)),
    "bert": (lambda: Bert(BertConfig(11, d_model=16, n_heads=2, d_ff=24)), (IDS,)),
    "t5": (
        lambda: T5(T5Config(11, d_model=16, n_heads=2, d_head=4, d_ff=24, bos_id=2)),
        (IDS, IDS.flip(0)),
    ),
    "seq2seq": (lambda: Seq2Seq(Seq2SeqConfig.tiny(11, d_model=16, d_ff=24)), (IDS, IDS.flip(0))),
}
EACH = pytest.mark.parametrize("name", MODELS)


def close(ours, theirs, tolerance=1e-9):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)


def model_of(name):
    make, args = MODELS[name]
    return make().double().eval(), args


def shaken(model):
    """El mismo, con la matriz de arriba de cada LoRA ya movida de cero."""
    for part in model.modules():
        if isinstance(part, ad.LoraLinear):
            nn.init.normal_(part.up, std=0.5)
    return model


# --- LoRA -----------------------------------------------------------------------------------------


@EACH
@pytest.mark.parametrize("targets", [("project_query", "project_value"), EVERY], ids=["qv", "all"])
def test_lora_starts_as_the_model_and_merges_exactly(name, targets, shape_checks):
    model, args = model_of(name)
    before = model(*args).detach()
    names = {n for n, _ in model.named_parameters()}
    ad.add_lora(model, 3, alpha=5.0, targets=targets)
    close(model(*args), before, 1e-12)
    adapted = shaken(model)(*args).detach()
    assert (adapted - before).abs().max() > 1e-2
    ad.merge(model)
    close(model(*args), adapted)
    assert {n for n, _ in model.named_parameters()} == names


@EACH
def test_only_what_is_added_trains(name):
    model, args = model_of(name)
    old = {n: p.detach().clone() for n, p in model.named_parameters()}
    linears = [
        m for n, m in model.named_modules() if n.endswith(("project_query", "project_value"))
    ]
    expected = sum(ad.lora_size(m.in_features, m.out_features, 2) for m in linears)
    ad.add_lora(model, 2)
    assert ad.count_parameters(model).trained == expected
    assert ad.count_parameters(model).total == expected + sum(p.numel() for p in old.values())
    fit(model, [args], lambda m, x: m(*x).square().mean(), steps=3, progress=False)
    for n, p in model.named_parameters():
        if n in old:
            assert torch.equal(p, old[n]), n
        else:
            assert p.abs().sum() > 0, n


@given(st.integers(1, 5), st.integers(1, 6), st.integers(1, 6), st.booleans(), st.floats(0.1, 30.0))
def test_lora_is_the_sum_of_two_matrices(rank, d_in, d_out, bias, alpha):
    rank = min(rank, d_in, d_out)
    linear = nn.Linear(d_in, d_out, bias=bias).double()
    lora = ad.LoraLinear(linear, rank, alpha=alpha)
    nn.init.normal_(lora.up)
    x = torch.randn(3, 2, d_in, dtype=torch.float64)
    matrix = linear.weight.detach().clone()
    for k in range(rank):  # un producto exterior por unidad de rango
        matrix += alpha / rank * lora.up.detach()[:, k : k + 1] * lora.down.detach()[k]
    expected = torch.einsum("abi,oi->abo", x, matrix) + (linear.bias if bias else 0)
    close(lora(x), expected)
    close(lora.merged()(x), expected)
    change = lora.merged().weight - linear.weight
    assert torch.linalg.matrix_rank(change, tol=1e-9) <= rank
    assert lora.weight is linear.weight and not linear.weight.requires_grad


def test_a_layer_with_a_shared_matrix_is_refused():
    with pytest.raises(ValueError, match="^targets: se esperaban capas con su propia matriz"):
        ad.add_lora(model_of("gpt")[0], 2, targets=["project"])


# --- Congelar, tasas y calendario -----------------------------------------------------------------


def tower():
    return nn.Sequential(*(nn.Linear(3, 3) for _ in range(4)))


def test_freezing_leaves_the_head():
    model = tower()
    ad.freeze(model, keep=[model[3]])
    assert ad.count_parameters(model) == (12, 48)
    before = copy.deepcopy(model.state_dict())
    fit(model, [torch.ones(2, 3)], lambda m, x: m(x).square().mean(), steps=2, progress=False)
    moved = {n for n, p in model.state_dict().items() if not torch.equal(p, before[n])}
    assert moved == {"3.weight", "3.bias"}
    assert ad.count_parameters(ad.freeze(model)).trained == 0


@given(st.integers(0, 4))
def test_thawing_goes_from_the_top(n):
    layers = tower()
    ad.thaw(layers, n)
    expected = [False] * (4 - n) + [True] * n
    assert [layer.weight.requires_grad for layer in layers] == expected


def test_each_layer_has_its_rate():
    layers = [*tower()]
    layers[3].weight = layers[1].weight  # compartida: va con la de abajo
    layers[0].requires_grad_(False)
    groups = ad.layer_groups(layers, 1e-2, decay=2.0)
    assert [g["lr"] for g in groups] == [2.5e-3, 5e-3, 1e-2]
    assert [len(g["params"]) for g in groups] == [2, 2, 1]
    torch.optim.AdamW(groups)
    assert ad.layer_groups(layers[1:2] + layers[2:3], 1.0)[0]["lr"] == 1 / 2.6


@given(st.integers(10, 500), st.floats(0.1, 0.9), st.floats(1.0, 64.0))
def test_the_triangle_is_that_of_the_paper(steps, cut, ratio):
    """La ecuación 3, escrita otra vez, paso a paso."""
    peak = math.floor(steps * cut)
    schedule = ad.slanted_triangular(steps, cut=cut, ratio=ratio)
    for t in range(steps):
        p = t / peak if t < peak else 1 - (t - peak) / (peak * (1 / cut - 1))
        p = max(p, 0.0)
        assert schedule(t) == pytest.approx((1 + p * (ratio - 1)) / ratio)
    values = [schedule(t) for t in range(steps)]
    assert max(values) == schedule(peak) == pytest.approx(1) and min(values) >= 1 / ratio - 1e-12


# --- Destilar -------------------------------------------------------------------------------------


@given(st.floats(0.5, 20.0), st.floats(0.0, 1.0), st.integers(0, 9))
def test_distillation_is_torch_kl_div(temperature, hard, seed):
    g = rng.generator(seed)
    student, teacher = torch.randn(2, 4, 5, generator=g, dtype=torch.float64)
    labels = torch.randint(5, (4,), generator=g)
    kl = F.kl_div(
        F.log_softmax(student / temperature, -1),
        F.softmax(teacher / temperature, -1),
        reduction="batchmean",
    )
    expected = (1 - hard) * temperature**2 * kl + hard * F.cross_entropy(student, labels)
    found = ad.distillation_loss(student, teacher, labels, temperature=temperature, hard=hard)
    close(found, expected)


def test_hot_distillation_matches_centred_logits():
    """Con T grande, el gradiente es el de ajustar puntuaciones centradas (Hinton, ec. 4)."""
    student = torch.randn(6, dtype=torch.float64, requires_grad=True)
    teacher = torch.randn(6, dtype=torch.float64, requires_grad=True)
    ad.distillation_loss(student, teacher, temperature=1e4).backward()
    expected = ((student - student.mean()) - (teacher - teacher.mean())) / 6
    close(student.grad, expected.detach(), 1e-3)
    assert teacher.grad is None
    close(ad.distillation_loss(student, student), torch.zeros((), dtype=torch.float64))


# --- Divergencia ----------------------------------------------------------------------------------


def test_sequence_log_probs_by_hand():
    logits = torch.log(torch.tensor([[[0.5, 0.5], [0.2, 0.8], [0.1, 0.9]]], dtype=torch.float64))
    labels = torch.tensor([[0, 1, 0]])
    close(
        ad.sequence_log_probs(logits, labels), torch.tensor([0.5 * 0.8 * 0.1]).log().double(), 1e-6
    )
    mask = torch.tensor([[False, True, False]])
    assert ad.sequence_log_probs(logits, labels, mask).item() == pytest.approx(math.log(0.8))


def test_token_kl_is_that_of_torch_and_forgives_zeros():
    policy, reference = torch.randn(2, 3, 4, 5, dtype=torch.float64)
    both = [torch.distributions.Categorical(logits=x) for x in (policy, reference)]
    close(ad.token_kl(policy, reference), torch.distributions.kl_divergence(*both))
    policy[..., 0] = -math.inf
    assert ad.token_kl(policy, reference).isfinite().all()


def tables(seed, vocab=3):
    """Dos modelos de juguete cuya palabra siguiente depende de la última y de la longitud."""
    g = rng.generator(seed)
    both = torch.randn(2, 6, vocab, vocab, generator=g, dtype=torch.float64)

    def of(table):
        return lambda ids: table[torch.arange(ids.shape[1]), ids]

    return of(both[0]), of(both[1])


@given(st.integers(0, 20), st.integers(1, 4), st.sampled_from([None, 0, 2]))
def test_exact_kl_sums_over_every_sentence(seed, length, eos):
    policy, reference = tables(seed)
    start = torch.tensor([1])
    expected, mass = 0.0, 0.0
    sentences = set()
    for words in itertools.product(range(3), repeat=length):
        cut = words.index(eos) + 1 if eos in words else length
        sentences.add(words[:cut])
    for words in sentences:
        ids, labels = torch.tensor([[1, *words[:-1]]]), torch.tensor([words])
        log_p, log_q = (ad.sequence_log_probs(f(ids), labels).item() for f in (policy, reference))
        expected += math.exp(log_p) * (log_p - log_q)
        mass += math.exp(log_p)
    assert mass == pytest.approx(1.0)
    found = ad.exact_kl(policy, reference, start, length=length, eos_id=eos)
    assert found.item() == pytest.approx(expected, abs=1e-9)
    assert ad.exact_kl(policy, policy, start, length=length).item() == pytest.approx(0.0)


# --- Preferencias ---------------------------------------------------------------------------------


def log_probs(seed, n=4):
    return -torch.rand(4, n, generator=rng.generator(seed), dtype=torch.float64) * 5


@given(st.integers(0, 30), st.floats(0.01, 5.0))
def test_dpo_by_hand_and_its_gradient(seed, beta):
    """El valor, palabra por palabra; el gradiente, el de la fórmula y el de diferencias finitas."""
    rows = log_probs(seed)
    policy = rows[:2].clone().requires_grad_()
    loss = ad.dpo_loss(policy[0], policy[1], rows[2], rows[3], beta=beta)
    won, lost, rw, rl = rows.tolist()
    margins = [beta * ((a - c) - (b - d)) for a, b, c, d in zip(won, lost, rw, rl, strict=True)]
    expected = sum(math.log1p(math.exp(-m)) for m in margins) / len(margins)
    assert loss.item() == pytest.approx(expected, rel=1e-9)
    loss.backward()
    weight = [beta / (1 + math.exp(m)) / len(margins) for m in margins]
    close(policy.grad[0], -torch.tensor(weight, dtype=torch.float64))
    close(policy.grad[1], torch.tensor(weight, dtype=torch.float64))
    step = torch.zeros(4, dtype=torch.float64)
    step[1] = 1e-6
    up, down = (ad.dpo_loss(rows[0] + s, rows[1], *rows[2:], beta=beta) for s in (step, -step))
    assert ((up - down) / 2e-6).item() == pytest.approx(policy.grad[0, 1].item(), abs=1e-6)


def test_dpo_starts_at_log_two_and_only_the_policy_learns():
    rows = log_probs(1).requires_grad_()
    loss = ad.dpo_loss(rows[0], rows[1], rows[0].detach(), rows[1].detach())
    assert loss.item() == pytest.approx(math.log(2))
    ad.dpo_loss(*rows).backward()
    assert rows.grad[:2].abs().min() > 0 and rows.grad[2:].abs().max() == 0


def test_the_gradient_of_dpo_through_a_model_is_the_formula():
    """∇θ: la suma de los gradientes de log π de cada respuesta, con el peso de la fórmula."""
    model, reference = (model_of("gpt")[0] for _ in range(2))
    chosen, rejected, beta = IDS[:1], IDS[1:], 0.5

    def log_p(m, ids):
        return ad.sequence_log_probs(m(ids[:, :-1]), ids[:, 1:])

    theirs = [log_p(reference, ids).detach() for ids in (chosen, rejected)]
    loss = ad.dpo_loss(log_p(model, chosen), log_p(model, rejected), *theirs, beta=beta)
    parameters = list(model.parameters())
    found = torch.autograd.grad(loss, parameters, allow_unused=True)
    ours = [log_p(model, ids) for ids in (chosen, rejected)]
    margin = ad.dpo_margin(*ours, *theirs, beta=beta).item()
    grads = [torch.autograd.grad(x.sum(), parameters, allow_unused=True) for x in ours]
    weight = beta / (1 + math.exp(margin))
    for a, up, down in zip(found, *grads, strict=True):
        close(a, -weight * (up - down))


def objective(logits, reference, rewards, beta):
    p = logits.softmax(-1)
    kl = (p * (logits.log_softmax(-1) - reference)).sum()
    return (p * rewards).sum() - beta * kl


@given(st.integers(0, 20), st.floats(0.0, 2.0), st.floats(-3.0, 3.0))
def test_the_policy_gradient_is_that_of_the_objective(seed, beta, level):
    """Sumado sobre todas las respuestas con su probabilidad, es el de E[r] − β KL, exacto."""
    g = rng.generator(seed)
    logits, reference, rewards = torch.randn(3, 5, generator=g, dtype=torch.float64)
    reference = reference.log_softmax(-1)
    logits.requires_grad_()
    (expected,) = torch.autograd.grad(objective(logits, reference, rewards, beta), logits)
    total = torch.zeros(5, dtype=torch.float64)
    for i, p in enumerate(logits.softmax(-1).tolist()):
        log_p = logits.log_softmax(-1)[i : i + 1]
        paid = ad.penalized_rewards(rewards[i : i + 1], log_p, reference[i : i + 1], beta=beta)
        loss = ad.policy_gradient_loss(log_p, paid, torch.full((1,), level).double())
        total += p * torch.autograd.grad(loss, logits)[0]
    close(-total, expected, 1e-9)


def test_leave_one_out_by_hand():
    found = ad.leave_one_out(torch.tensor([[1.0, 2.0, 6.0], [0.0, 0.0, 3.0]]))
    close(found, torch.tensor([[4.0, 3.5, 1.5], [1.5, 1.5, 0.0]]))


@given(st.integers(0, 20), st.floats(0.05, 5.0))
def test_the_best_policy_is_not_beaten(seed, beta):
    g = rng.generator(seed)
    reference, rewards, other = torch.randn(3, 6, generator=g, dtype=torch.float64)
    reference = reference.log_softmax(-1)
    best = ad.best_policy(reference, rewards, beta=beta)
    top = objective(best, reference, rewards, beta)
    close(top, beta * torch.logsumexp(reference + rewards / beta, -1))  # β log Z
    for mix in (0.01, 0.1, 1.0):
        assert objective(best + mix * other, reference, rewards, beta) <= top + 1e-12
    implied = beta * (best - reference)  # su recompensa implícita es la verdadera, y una constante
    close((implied - rewards).std(), torch.zeros((), dtype=torch.float64), 1e-9)


# --- Las puertas ----------------------------------------------------------------------------------

ROW, LIN = torch.zeros(2), nn.Linear(4, 3)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "rank: se esperaba un entero mayor", lambda: ad.LoraLinear(LIN, 0)),
        (ValueError, "rank: se esperaba un entero de 1 a 3", lambda: ad.LoraLinear(LIN, 4)),
        (TypeError, "linear: se esperaba una nn.Linear", lambda: ad.LoraLinear(tower(), 1)),
        (ValueError, "alpha: ", lambda: ad.LoraLinear(LIN, 1, alpha=0)),
        (ValueError, "x: se esperaba la forma", lambda: ad.LoraLinear(LIN, 1)(torch.ones(2, 3))),
        (ValueError, "rank: ", lambda: ad.add_lora(model_of("gpt")[0], 0)),
        (ValueError, "targets: .* ninguna", lambda: ad.add_lora(tower(), 1)),
        (TypeError, "targets: ", lambda: ad.add_lora(tower(), 1, targets="0")),
        (
            ValueError,
            "model: .* ya la lleva",
            lambda: ad.add_lora(ad.add_lora(tower(), 1, targets=["0"]), 1, targets=["0"]),
        ),
        (ValueError, "model: se esperaba un modelo con capas", lambda: ad.merge(tower())),
        (ValueError, "n: se esperaba un entero de 0 a 4", lambda: ad.thaw(tower(), 5)),
        (TypeError, r"layers\[0\]: ", lambda: ad.thaw([3], 1)),
        (TypeError, r"keep\[0\]: ", lambda: ad.freeze(tower(), keep=["0"])),
        (ValueError, "rate: ", lambda: ad.layer_groups(tower(), 0.0)),
        (ValueError, "cut: ", lambda: ad.slanted_triangular(5, cut=0.1)),
        (ValueError, "ratio: ", lambda: ad.slanted_triangular(50, ratio=0.5)),
        (ValueError, "teacher: se esperaba la forma de student", lambda: ad.distillation_loss(
            torch.zeros(2, 3), torch.zeros(2, 4))),
        (ValueError, "labels: con hard", lambda: ad.distillation_loss(ROW, ROW, hard=0.5)),
        (ValueError, "temperature: ", lambda: ad.distillation_loss(ROW, ROW, temperature=0.0)),
        (ValueError, "beta: ", lambda: ad.dpo_loss(ROW, ROW, ROW, ROW, beta=0.0)),
        (ValueError, "reference_rejected: ", lambda: ad.dpo_loss(ROW, ROW, ROW, ROW[:1])),
        (ValueError, "policy_chosen: .* no pasan de 0", lambda: ad.dpo_loss(ROW + 2, *[ROW] * 3)),
        (ValueError, "beta: ", lambda: ad.penalized_rewards(ROW, ROW, ROW, beta=-1.0)),
        (ValueError, "baseline: ", lambda: ad.policy_gradient_loss(ROW, ROW, ROW[:1])),
        (ValueError, "rewards: ", lambda: ad.leave_one_out(torch.zeros(3, 1))),
        (ValueError, "mask: ", lambda: ad.sequence_log_probs(
            torch.zeros(1, 2, 3), IDS[:1, :2] * 0, torch.ones(1, 3).bool())),
        (TypeError, "policy: se esperaba una función", lambda: ad.exact_kl(3, 3, IDS[0], length=2)),
        (ValueError, "length: se esperaban", lambda: ad.exact_kl(
            *[lambda ids: torch.zeros(*ids.shape, 600)] * 2, IDS[0], length=3)),
        (TypeError, "layers: se esperaba una secuencia de módulos", lambda: ad.thaw(3, 1)),
        (ValueError, "n: ", lambda: ad.thaw(tower(), -1)),
        (TypeError, "x: ", lambda: ad.LoraLinear(LIN, 1)(torch.ones(2, 4).int())),
        (TypeError, "model: se esperaba un nn.Module", lambda: ad.add_lora(3, 1)),
        (TypeError, "rank: ", lambda: ad.add_lora(tower(), 1.5, targets=["0"])),
        (ValueError, "rank: .* «0»", lambda: ad.add_lora(tower(), 999, targets=["0"])),
        (TypeError, "layers: ", lambda: ad.layer_groups(3, 0.1)),
        (ValueError, "decay: ", lambda: ad.layer_groups(tower(), 0.1, decay=0.0)),
        (TypeError, "steps: ", lambda: ad.slanted_triangular(50.0)),
        (TypeError, "cut: ", lambda: ad.slanted_triangular(50, cut="0.1")),
        (TypeError, "ratio: ", lambda: ad.slanted_triangular(50, ratio="9")),
        (TypeError, "teacher: ", lambda: ad.distillation_loss(ROW, ROW.int())),
        (ValueError, r"student: .*\(…, vocab\)", lambda: ad.distillation_loss(ROW[:0], ROW[:0])),
        (TypeError, "hard: ", lambda: ad.distillation_loss(ROW, ROW, hard="0.5")),
        (ValueError, "hard: .* entre 0 y 1", lambda: ad.distillation_loss(ROW, ROW, hard=1.5)),
        (ValueError, "labels: ", lambda: ad.distillation_loss(
            torch.zeros(2, 3), torch.zeros(2, 3), IDS[0, :1] * 0, hard=0.5)),
        (TypeError, "logits: ", lambda: ad.sequence_log_probs(
            torch.zeros(1, 2, 3).int(), IDS[:1, :2] * 0)),
        (ValueError, r"logits: .*\(batch, n, vocab\)", lambda: ad.sequence_log_probs(
            torch.zeros(2, 3), IDS[0, :2] * 0)),
        (ValueError, "labels: ", lambda: ad.sequence_log_probs(
            torch.zeros(1, 2, 3), IDS[:1, :1] * 0)),
        (TypeError, "mask: ", lambda: ad.sequence_log_probs(
            torch.zeros(1, 2, 3), IDS[:1, :2] * 0, torch.ones(1, 2))),
        (ValueError, "reference: ", lambda: ad.token_kl(torch.zeros(2, 3), torch.zeros(2, 4))),
        (ValueError, "rewards: ", lambda: ad.best_policy(ROW, ROW[:1], beta=1.0)),
        (ValueError, "reference: ", lambda: ad.best_policy(ROW[:0], ROW[:0], beta=1.0)),
        (ValueError, "beta: ", lambda: ad.best_policy(ROW, ROW, beta=0.0)),
        (TypeError, "rewards: ", lambda: ad.leave_one_out(torch.zeros(3, 2).int())),
        (TypeError, "beta: ", lambda: ad.penalized_rewards(ROW, ROW, ROW, beta="1")),
        (ValueError, "policy: ", lambda: ad.penalized_rewards(ROW, ROW[:1], ROW, beta=1.0)),
    ],
)  # fmt: skip
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()
