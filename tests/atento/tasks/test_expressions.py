"""Expresiones: la hondura pedida, un prefijo que dice un solo árbol y lo reservado, aparte."""

import ast
import zlib
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from atento import rng
from atento.tasks import expressions
from atento.tasks.expressions import depth, from_infix, from_prefix, infix, prefix

TREE = ("*", ("+", "3", "x"), "2")
LEAF = st.sampled_from(expressions.LEAVES)
TREES = st.recursive(
    LEAF, lambda side: st.tuples(st.sampled_from(expressions.OPERATIONS), side, side), max_leaves=20
).filter(lambda tree: not isinstance(tree, str))
OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


def by_python(node):
    """El árbol según el analizador de Python."""
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)], by_python(node.left), by_python(node.right)
    return node.id if isinstance(node, ast.Name) else str(node.value)


def parser(source):
    """Lee la expresión y escribe su árbol: lo que haría un modelo perfecto."""
    rows = []
    for row in source.tolist():
        written = prefix(from_infix(expressions.decode(row)))
        rows.append([*expressions.encode(written), expressions.EOS_ID])
    width = max(map(len, rows))
    return torch.tensor([row + [0] * (width - len(row)) for row in rows])


# --- Árboles y textos -----------------------------------------------------------------------------


def test_by_hand():
    assert infix(TREE) == "(3+x)*2" and prefix(TREE) == "*+3x2" and depth(TREE) == 2
    assert depth("3") == 0 and infix("3") == prefix("3") == "3"
    assert infix(("-", ("-", "8", "3"), ("-", "2", "1"))) == "(8-3)-(2-1)"


@given(TREES)
def test_both_ways_of_writing_say_one_tree(tree):
    assert from_prefix(prefix(tree)) == tree == from_infix(infix(tree))
    assert by_python(ast.parse(infix(tree), mode="eval").body) == tree
    leaves = sum(x in expressions.LEAVES for x in prefix(tree))
    operations = len(prefix(tree)) - leaves
    assert leaves == operations + 1 and len(infix(tree)) == 4 * operations - 1


@given(TREES, TREES)
def test_different_trees_are_written_differently(tree, other):
    assert (prefix(tree) == prefix(other)) == (infix(tree) == infix(other)) == (tree == other)
    assert not prefix(other).startswith(prefix(tree)) or tree == other  # se sabe dónde acaba


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("text: a «.3» le falta un operando", lambda: from_prefix("+3")),
        ("text: a «» le falta un operando", lambda: from_prefix("")),
        ("text: se esperaba un solo árbol; en «.312» sobra «2»", lambda: from_prefix("+312")),
        ("text: se esperaban signos de «.*»; llegó «a»", lambda: from_prefix("+3a")),
        ("text: se esperaban signos", lambda: from_prefix("(3)")),
        ("text: se esperaba una expresión; en «3.x.2» sobra «.2»", lambda: from_infix("3+x*2")),
        ("text: en «.3» hay paréntesis", lambda: from_infix("(3")),
        ("text: en «.3..2» hay paréntesis", lambda: from_infix("(3)*2")),
        ("text: en «3.» falta un operando", lambda: from_infix("3+")),
        ("text: en «» falta un operando", lambda: from_infix("")),
        ("text: se esperaba una expresión; en «12» sobra «2»", lambda: from_infix("12")),
        ("text: se esperaban signos", lambda: expressions.encode("3 + x")),
    ],
)
def test_bad_texts_are_explained(message, call):
    with pytest.raises(ValueError, match="^" + message):
        call()


# --- Sorteos y reserva ----------------------------------------------------------------------------


@given(
    depths=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    split=st.sampled_from(["train", "test"]),
    seed=st.integers(0, 10**6),
)
def test_no_test_tree_is_ever_trained(depths, split, seed):
    trees = expressions.generate(25, seed, depths=depths, split=split)
    assert len(trees) == 25 and {depth(tree) for tree in trees} <= set(depths)
    assert all(expressions.is_held_out(tree) == (split == "test") for tree in trees)


def test_one_in_ten_is_held_out_at_every_depth():
    trees = [
        (operation, a, b)
        for operation in expressions.OPERATIONS
        for a in expressions.LEAVES
        for b in expressions.LEAVES
    ]
    assert sum(map(expressions.is_held_out, trees)) / len(trees) == pytest.approx(0.1, abs=0.03)
    source = expressions.python_rng(0)
    for size in (2, 3, 4):
        held = [expressions.is_held_out(expressions._grow(size, source)) for _ in range(4000)]
        assert sum(held) / 4000 == pytest.approx(0.1, abs=0.02)


def test_batches_hold_out_too_and_waste_little():
    for split in ("train", "test"):
        for lot in expressions.batches(5, 32, 1, split=split):
            trees = [from_infix(expressions.decode(row)) for row in lot.source]
            assert all(expressions.is_held_out(tree) == (split == "test") for tree in trees)
    lots = expressions.batches(32, 32, 1)
    filled = sum((lot.source != 0).sum().item() for lot in lots)
    assert filled / sum(lot.source.numel() for lot in lots) > 0.9
    means = [lot.source.shape[1] for lot in lots]
    assert means != sorted(means) and means[:16] != sorted(means[:16])  # barajados


@given(TREES)
def test_what_is_held_out_is_what_the_stored_models_never_saw(tree):
    assert expressions.is_held_out(tree) == (zlib.crc32(prefix(tree).encode()) % 10 == 0)


def test_the_data_is_the_one_the_stored_runs_saw():
    trained, tested = (expressions.generate(4, 0, split=split) for split in ("train", "test"))
    assert [infix(tree) for tree in trained] == [
        "(9*3)*1", "((8/x)-(2+y))*((8+7)+6)", "1-y", "z+z",
    ]  # fmt: skip
    assert [infix(tree) for tree in tested] == [
        "(0/z)/z", "(z/5)+(8+8)", "(7*4)+(4-(2/3))", "(4*0)-((7*9)-z)",
    ]  # fmt: skip


def test_reproducible_and_advances():
    a, b = rng.generator(4), rng.generator(4)
    first = expressions.generate(50, a)
    assert first == expressions.generate(50, b)
    assert expressions.generate(50, 4) == expressions.generate(50, 4)
    assert first != expressions.generate(50, a)
    lots, again = expressions.batches(3, 5, 1), expressions.batches(3, 5, 1)
    assert all(torch.equal(x.source, y.source) for x, y in zip(lots, again, strict=True))


def test_the_draw_is_fair():
    """Honduras, operaciones y hojas, por igual, y el lado hondo, a medias: χ² al 0.1 %."""
    trees = expressions.generate(6000, 0)
    text = "".join(map(prefix, trees))
    for values, options, limit in (
        ([depth(tree) for tree in trees], (1, 2, 3), 13.8),
        ([x for x in text if x in expressions.OPERATIONS], expressions.OPERATIONS, 16.3),
        ([x for x in text if x in expressions.LEAVES], expressions.LEAVES, 32.9),
    ):
        counts, expected = Counter(values), len(values) / len(options)
        assert sum((counts[x] - expected) ** 2 / expected for x in options) < limit
    deeper = [depth(t[1]) > depth(t[2]) for t in trees if depth(t[1]) != depth(t[2])]
    assert sum(deeper) / len(deeper) == pytest.approx(0.5, abs=0.03)


# --- Números y puntos -----------------------------------------------------------------------------


def test_batch():
    lot = expressions.batch([TREE, ("-", "1", "y")])
    assert expressions.decode(lot.source[0]) == "(3+x)*2"
    assert lot.source[0].tolist() == [*expressions.encode("(3+x)*2"), 2]
    assert lot.target[0].tolist() == [1, *expressions.encode("*+3x2"), 2]
    assert lot.source[1].tolist() == [*expressions.encode("1-y"), 2, 0, 0, 0, 0]
    assert lot.labels[1].tolist() == [*expressions.encode("-1y"), 2, 0, 0]
    assert max(expressions.encode(expressions.SIGNS)) == expressions.VOCAB_SIZE - 1


def test_score_of_the_perfect_and_the_wrong():
    trees = expressions.generate(90, 2, split="test")
    best = expressions.score(parser, trees, batch_size=11)
    assert best["exact"] == best["token"] == best["valid"] == 1.0 and best["n"] == 90
    assert set(best["by_depth"]) == {1, 2, 3}
    assert sum(row["n"] for row in best["by_length"].values()) == 90
    assert all((length + 1) % 4 == 0 for length in best["by_length"])

    def swapped(source):  # las dos hojas del final, al revés: un árbol, pero otro
        rows = parser(source).tolist()
        for row in rows:
            end = row.index(expressions.EOS_ID)
            row[end - 2 : end] = row[end - 2 : end][::-1]
        return torch.tensor(rows)

    shallow = [("+", "3", "x"), ("*", "1", "2")]
    marks = expressions.score(swapped, shallow)
    assert (marks["exact"], marks["valid"], marks["token"]) == (0.0, 1.0, 0.5)


@pytest.mark.parametrize(
    "write",
    [
        lambda source: parser(source)[:, :-1],  # no acaba
        lambda source: source,  # repite lo que lee
        lambda source: parser(source)[:, 1:],  # le falta la raíz
        lambda source: torch.full_like(source, expressions.EOS_ID),  # no escribe nada
    ],
)
def test_what_is_not_a_tree_is_not_valid(write):
    marks = expressions.score(write, [TREE])
    assert marks["exact"] == marks["valid"] == 0.0


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "n: ", lambda: expressions.generate(-1, 0)),
        (
            ValueError,
            "depths: se esperaban enteros de 1 a 8; llegó 0",
            lambda: expressions.generate(1, 0, depths=0),
        ),
        (ValueError, "depths: .*llegó 9", lambda: expressions.batches(1, 1, 0, depths=9)),
        (ValueError, "split: ", lambda: expressions.generate(1, 0, split="dev")),
        (TypeError, "rng: ", lambda: expressions.generate(1, "0")),
        (ValueError, "size: ", lambda: expressions.batches(1, 0, 0)),
        (ValueError, "examples: se esperaba al menos un ejemplo", lambda: expressions.batch([])),
        (
            ValueError,
            r"trees: se esperaban árboles, .*; llegó \('\+', '3'\)",
            lambda: expressions.batch([("+", "3")]),
        ),
        (ValueError, "trees: ", lambda: expressions.is_held_out(("^", "1", "2"))),
        (ValueError, "trees: ", lambda: expressions.score(parser, ["34"])),
        (TypeError, "text: se esperaba un texto; llegó int", lambda: from_infix(3)),
        (
            ValueError,
            "ids: se esperaban números de 0 a 21; llegó 22",
            lambda: expressions.decode([22]),
        ),
        (TypeError, "model: ", lambda: expressions.score(3, [TREE])),
    ],
)
def test_bad_input_is_named(error, message, call):
    with pytest.raises(error, match="^" + message):
        call()
