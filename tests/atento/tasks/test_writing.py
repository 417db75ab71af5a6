"""Lo común a las tareas de respuesta exacta: quién escribe, hasta dónde y cómo se cuenta."""

import pytest
import torch

from atento.models.seq2seq import Seq2Seq, Seq2SeqConfig
from atento.tasks import copying, writing
from atento.tasks.writing import Batch

EXAMPLES = [(3, 4, 5), (6,), (7, 8), (9, 10)]


def test_a_seq2seq_writes_as_it_generates():
    """El Transformer escribe lo mismo por aquí que con su generate, y vuelve a su modo."""
    torch.manual_seed(0)
    model = Seq2Seq(Seq2SeqConfig.tiny(copying.VOCAB_SIZE, d_model=16, d_ff=16, dropout=0.4))
    model.train()
    model.encoder.eval()
    rows = writing.write(model, EXAMPLES, copying.batch, batch_size=1)
    assert model.training and not model.encoder.training
    for example, row in zip(EXAMPLES, rows, strict=True):
        limit = len(example) + 1 + writing.MARGIN
        alone = model.generate(copying.batch([example]).source, max_length=limit)[0].tolist()
        stop = alone.index(copying.EOS_ID) + 1 if copying.EOS_ID in alone else len(alone)
        assert row == alone[:stop]


@pytest.mark.parametrize("batch_size", [1, 2, 256])
def test_the_order_is_the_one_that_came(batch_size):
    rows = writing.write(lambda source: source, EXAMPLES, copying.batch, batch_size=batch_size)
    assert rows == [[*example, copying.EOS_ID] for example in EXAMPLES]


def test_batches_group_by_the_size_that_is_said():
    seen = []

    def batch(chosen):
        seen.append(list(chosen))
        return copying.batch(chosen)

    writing.write(lambda s: s, EXAMPLES, batch, size=lambda e: -e[0], batch_size=2)
    assert seen == [[(9, 10), (7, 8)], [(6,), (3, 4, 5)]]


def test_marks():
    assert writing.mark([3, 4, 2], [3, 4, 2]) == (True, 3, 3)
    assert writing.mark([3, 4], [3, 4, 2]) == (False, 2, 3)
    assert writing.mark([3, 4, 5, 2], [3, 4, 2]) == (False, 2, 3)
    assert writing.mark([], [2]) == (False, 0, 1)
    marks = [(True, 3, 3), (False, 1, 5)]
    assert writing.means(marks) == {"exact": 0.5, "token": 0.5, "n": 2}
    by = writing.means_by([4, 1], marks)
    assert list(by) == [1, 4] and by[4]["exact"] == 1.0 and by[1]["token"] == 0.2


def test_padding_and_draws():
    assert writing.pad([[1, 2, 3], [4]]).tolist() == [[1, 2, 3], [4, 0, 0]]
    numbers = writing.draw(4, 400, torch.Generator().manual_seed(0))
    assert set(numbers.tolist()) == {0, 1, 2, 3}


def test_doors():
    assert writing.require_options(3, name="x") == (3,)
    assert writing.require_options(range(1, 3), name="x", most=2) == (1, 2)
    with pytest.raises(ValueError, match="^x: se esperaban enteros de 1 a 2; llegó 3"):
        writing.require_options(3, name="x", most=2)
    with pytest.raises(ValueError, match="^split: se esperaba uno de train, test; llegó 'dev'"):
        writing.require_split("dev")
    with pytest.raises(TypeError, match="^rng: "):
        writing.require_rng(None)
    with pytest.raises(ValueError, match="^examples: "):
        writing.write(lambda s: s, [], copying.batch)
    with pytest.raises(ValueError, match="^batch_size: "):
        writing.write(lambda s: s, EXAMPLES, copying.batch, batch_size=0)
    with pytest.raises(TypeError, match="^model: se esperaba un modelo con encode y step"):
        writing.write(3, EXAMPLES, copying.batch)
    with pytest.raises(ValueError, match=r"^model: .*\(batch=4, …\); devolvió \(1, 4\)"):
        writing.write(lambda s: s[:1], EXAMPLES, copying.batch)
    assert isinstance(copying.batch(EXAMPLES), Batch)
