"""Todo lo público de la biblioteca dice en español qué tensor, tamaño o configuración no le sirve.

Se recorren todos los módulos. De los argumentos que faltan, sobran o se repiten habla Python.
"""

import inspect
import re

import pytest
from _public import modules, public

PUBLIC = dict(public())
# Lo que no se construye así: la forma del fichero la hace msgspec, la clase abstracta, sus hijas, y
# la excepción, la propia biblioteca.
NOT_BUILT = {
    "scaling.processes.ProcessError",
    "tokenizers.base.Settings",
    "tokenizers.base.Tokenizer",
}
# Las que reciben lo que otra pieza de la biblioteca ya ha mirado, o frases, árboles y textos: ni
# tensores de quien lee, ni tamaños, ni configuraciones. De lo que no les sirve habla Python.
INSIDE = {
    "decoding.steps.advance",
    "decoding.steps.ended",
    "positions.sinusoids.angles",
    "rng.restore",
    "tasks.expressions.depth",
    "tasks.expressions.infix",
    "tasks.expressions.prefix",
    "tasks.prose.digest",
    "tasks.translation.clauses.action",
    "tasks.translation.clauses.because",
    "tasks.translation.clauses.contrast",
    "tasks.translation.clauses.description",
    "tasks.translation.lexicon.is_held_out",
    "tasks.translation.lexicon.wordset",
    "tasks.translation.phrases.adjectives_of",
    "tasks.translation.phrases.agree",
    "tasks.translation.phrases.aligned",
    "tasks.translation.phrases.choose_adjective",
    "tasks.translation.phrases.noun_phrase",
    "tasks.translation.phrases.noun_subject",
    "tasks.translation.phrases.nouns_of",
    "tasks.translation.phrases.pronoun_subject",
    "tasks.translation.scoring.score",
    "tasks.translation.scoring.translate",
    "tasks.translation.sentences.detokenize",
    "tasks.translation.vocabulary.batch",
    "tasks.writing.draw",
    "tasks.writing.mark",
    "tasks.writing.means",
    "tasks.writing.means_by",
    "tasks.writing.pad",
    "tokenizers.bpe.learn_merges",
    "tokenizers.characters.character_counts",
    "tokenizers.lattice.backward",
    "tokenizers.lattice.forward",
    "tokenizers.lattice.logsumexp",
    "tokenizers.lattice.posteriors",
    "tokenizers.lattice.viterbi",
    "tokenizers.pairs.PairIndex",
    "tokenizers.pairs.merged",
    "tokenizers.unigram.Corpus",
    "tokenizers.unigram.learn_scores",
    "tokenizers.unigram.maximize",
    "tokenizers.unigram.prune",
    "tokenizers.unigram.seed_pieces",
    "tokenizers.wordpiece.ScoredPairs",
    "tokenizers.wordpiece.likelihood",
    "tokenizers.wordpiece.ratio",
    "trained.new_adder",
    "trained.rounded",
    "trained.to_bytes",
    "training.parameters.LastGood",
    "training.precision.Precision",
    "training.progress.progress_bar",
    "word_vectors.glove_loss",
    "word_vectors.skipgram_loss",
}


def parameters(path):
    return list(inspect.signature(PUBLIC[path]).parameters.values())


def required(path):
    """El primer argumento que hay que dar, si hay alguno."""
    named = [p for p in parameters(path) if not p.kind.name.startswith("VAR")]
    return next((p.name for p in named if p.default is p.empty), None)


WITH_REQUIRED = [path for path in sorted(set(PUBLIC) - NOT_BUILT) if required(path) is not None]


@pytest.mark.parametrize("path", WITH_REQUIRED)
def test_a_missing_argument(path):
    """Lo dice Python, con el nombre de lo llamado y no con el de su puerta."""
    name = re.escape(path.rpartition(".")[2].replace("__call__", ""))
    with pytest.raises(
        TypeError, match=rf"({name}|__init__|__new__)\(\) missing .*'{required(path)}'"
    ):
        PUBLIC[path]()


SPOKEN = re.compile(r"[\w.\[\]]+(\['.*'\])?(?: \(nuevo\))?: ")
WITHOUT_OBJECT = [p for p in WITH_REQUIRED if PUBLIC[p].__name__ != "call"]
DOORS = [path for path in WITHOUT_OBJECT if path not in INSIDE]


@pytest.mark.parametrize("path", DOORS)
@pytest.mark.parametrize(
    "value", [None, "texto", [], 3.5, object()], ids=lambda x: type(x).__name__
)
def test_what_is_of_no_use(path, value, tmp_path, monkeypatch):
    """Con algo que no sirve en todo lo que pide: o lo acepta, o lo dice en español."""
    monkeypatch.chdir(tmp_path)  # lo que acepte un texto puede escribir un fichero
    asked = [p for p in parameters(path) if not p.kind.name.startswith("VAR")]
    try:
        PUBLIC[path](**{p.name: value for p in asked if p.default is p.empty})
    except OSError:
        pass  # el fichero no está, y lo dice el sistema
    except Exception as error:
        assert SPOKEN.match(str(error)), error


def test_everything_is_walked():
    """Si el recorrido se quedara corto, lo de arriba no probaría nada."""
    assert len(modules()) > 60 and len(WITH_REQUIRED) > 300 and INSIDE <= set(WITHOUT_OBJECT)
    assert {"attention.attend", "attention.MultiHeadAttention.forward"} <= set(WITH_REQUIRED)
    assert {"cache.Memory", "tokenizers.base.Tokenizer.load"} <= set(WITH_REQUIRED)
