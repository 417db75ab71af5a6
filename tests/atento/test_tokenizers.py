"""Lo común a todos los tokenizadores: ida y vuelta, números, guardar y cargar, y entradas malas."""

from __future__ import annotations

import json
import unicodedata
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import torch
from _prosa import prosa, textos
from hypothesis import given
from hypothesis import strategies as st

from atento.tokenizers import (
    BPE,
    Characters,
    Tokenizer,
    Unigram,
    WordPiece,
    normalize,
    split_bare_words,
    split_words,
    visible,
)

SPECIAL = ("<pad>", "<bos>", "<eos>")
TRAIN = {
    "characters": Characters.train,
    "bpe": BPE.train,
    "bytes": lambda corpus, size, **rest: BPE.train(corpus, size, byte_level=True, **rest),
    "wordpiece": WordPiece.train,
    "unigram": Unigram.train,
}
LOSSLESS = ["characters", "bpe", "bytes", "unigram"]


@cache
def trained(name: str, form: str | None = "NFC") -> Tokenizer:
    """Uno de cada clase, entrenado con la prosa del libro."""
    corpus = prosa() if form == "NFC" else prosa()[0]
    return TRAIN[name](corpus, 900, special=SPECIAL, normalization=form)


every = pytest.mark.parametrize("name", TRAIN)
lossless = pytest.mark.parametrize("name", LOSSLESS)


# --- Ida y vuelta ---------------------------------------------------------------------------------


@lossless
@given(text=textos)
def test_la_vuelta_es_el_texto_normalizado(name, text):
    tokenizer = trained(name)
    ids = tokenizer.encode(text)
    unknown = tokenizer.id_of("<unk>") in ids
    assert unknown or tokenizer.decode(ids) == normalize(text)
    assert not (name == "bytes" and unknown)


@every
@given(text=textos)
def test_los_numeros_estan_en_su_rango_y_ninguno_es_especial(name, text):
    tokenizer = trained(name)
    ids = tokenizer.encode(text)
    assert all(len(SPECIAL) <= i < len(tokenizer) for i in ids)
    assert tokenizer.pieces(text) == [tokenizer.vocabulary[i] for i in ids]


@every
def test_el_libro_entero_va_y_vuelve(name):
    tokenizer, text = trained(name), "\n".join(prosa())
    back = tokenizer.decode(tokenizer.encode(text))
    assert back == (" ".join(split_bare_words(text)) if name == "wordpiece" else text)


@every
@given(one=textos, other=textos)
def test_las_palabras_se_cortan_por_separado(name, one, other):
    tokenizer = trained(name, None)
    joined = f"{one} {other}"
    if [*split_words(one), *split_words(f" {other}")] == split_words(joined):
        assert tokenizer.encode(joined) == tokenizer.encode(one) + tokenizer.encode(f" {other}")


@given(text=textos)
def test_wordpiece_repite_sus_numeros_aunque_pierda_los_espacios(text):
    tokenizer = trained("wordpiece")
    ids = tokenizer.encode(text)
    if tokenizer.id_of("<unk>") not in ids:
        assert tokenizer.encode(tokenizer.decode(ids)) == ids
        assert tokenizer.decode(ids) == " ".join(split_bare_words(normalize(text)))


@every
def test_el_texto_vacio_no_da_nada(name):
    tokenizer = trained(name)
    assert tokenizer.encode("") == tokenizer.pieces("") == [] and tokenizer.decode([]) == ""


@every
def test_los_acentos_y_signos_del_espanol_son_conocidos(name):
    text = "¿Qué «niño» pingüino? ¡Álgebra, 2017!"
    tokenizer = TRAIN[name]([prosa()[0], text], 600)
    assert tokenizer.id_of("<unk>") not in tokenizer.encode(text)
    compact = tokenizer.decode(tokenizer.encode(text)).replace(" ", "")
    assert compact == text.replace(" ", "")


@every
@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD", None])
def test_cada_forma_de_unicode(name, form):
    tokenizer = trained(name, form)
    text = unicodedata.normalize("NFD" if form == "NFC" else "NFC", "El niño y la ﬁ de café")
    wanted = text if form is None else unicodedata.normalize(form, text)
    ids = tokenizer.encode(text)
    if tokenizer.id_of("<unk>") not in ids:
        assert tokenizer.decode(ids) == wanted
    assert ids == tokenizer.encode(wanted)


def test_nfd_corta_la_virgulilla_y_nfc_no():
    composed, split = (Characters.train("ñ", normalization=form) for form in ("NFC", "NFD"))
    assert composed.pieces("ñ") == ["ñ"] and split.pieces("ñ") == ["n", "\u0303"]


# --- Lo desconocido y lo especial -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["characters", "bpe", "unigram"])
def test_un_unk_por_caracter_desconocido(name):
    assert trained(name).pieces("日本") == ["<unk>", "<unk>"]
    assert trained(name).decode(trained(name).encode("a日b")) == "a<unk>b"


def test_wordpiece_da_un_unk_por_palabra():
    assert trained("wordpiece").pieces("a日b c") == ["<unk>", "c"]


@pytest.mark.parametrize("name", ["characters", "bpe", "wordpiece", "unigram"])
def test_sin_unk_lo_desconocido_es_un_error(name):
    tokenizer = TRAIN[name]("la casa", 40, unk=None)
    with pytest.raises(ValueError, match="^text: se esperaban piezas del vocabulario.*'日'"):
        tokenizer.encode("日")
    assert tokenizer.encode("casa")


@every
def test_los_especiales_no_salen_del_texto_ni_en_el(name):
    tokenizer = trained(name)
    assert tokenizer.vocabulary[:4] == (*SPECIAL, "<unk>")
    assert not set(range(3)) & set(tokenizer.encode("<pad> <bos>"))
    ids = [tokenizer.id_of("<bos>"), *tokenizer.encode("la casa"), tokenizer.id_of("<eos>")]
    assert tokenizer.decode(ids) == "la casa"
    kept = tokenizer.decode(ids, keep_special=True)
    assert kept.startswith("<bos>") and kept.endswith("<eos>") and "la casa" in kept


# --- Entrenar -------------------------------------------------------------------------------------


@every
def test_entrenar_dos_veces_da_lo_mismo_y_un_generador_vale(name):
    one = TRAIN[name](prosa()[:1], 600)
    other = TRAIN[name]((text for text in prosa()[:1]), 600)
    assert one.vocabulary == other.vocabulary


@every
def test_el_tamano_es_el_pedido(name):
    assert len(trained(name)) == 900 or name == "characters"
    assert len(TRAIN[name](prosa()[0], 60 if name == "characters" else 577)) in (60, 577)


def test_characters_se_queda_con_los_mas_frecuentes():
    tokenizer = Characters.train("aaa bb c", 3)
    assert tokenizer.vocabulary == ("<unk>", " ", "a")  # el espacio y la «b» salen igual: por orden


# --- Guardar y cargar -----------------------------------------------------------------------------


@every
def test_guardar_y_cargar_no_cambia_nada(name, tmp_path):
    tokenizer, path = trained(name), tmp_path / "tokenizador.json"
    tokenizer.save(path)
    for loaded in (type(tokenizer).load(path), Tokenizer.load(str(path))):
        assert type(loaded) is type(tokenizer) and loaded.vocabulary == tokenizer.vocabulary
        text = "¿Qué dirá el niño? " + prosa()[0][:2000]
        assert loaded.encode(text) == tokenizer.encode(text)
        assert vars(loaded).keys() == vars(tokenizer).keys()
        loaded.save(tmp_path / "otro.json")
        assert (tmp_path / "otro.json").read_bytes() == path.read_bytes()


def test_lo_guardado_se_lee(tmp_path):
    BPE.train("niño niño", 8).save(tmp_path / "t.json")
    text = (tmp_path / "t.json").read_text(encoding="utf-8")
    assert "ñ" in text and json.loads(text)["type"] == "bpe"
    assert text == json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"


def damaged(tmp_path, **changes):
    """Un fichero guardado, con algo cambiado."""
    path = tmp_path / "t.json"
    BPE.train("la casa la casa", 12, special=SPECIAL[:1]).save(path)
    saved = {**json.loads(path.read_text("utf-8")), **changes}
    path.write_text(json.dumps({k: v for k, v in saved.items() if v is not ...}), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"pieces": "abc"}, "falla «pieces»"),
        ({"pieces": ["a", 3]}, "falla «pieces"),
        ({"merges": [["a"]]}, "falla «merges"),
        ({"type": "otro"}, "falla «type»"),
        ({"type": ...}, "le falta"),
        ({"merges": ...}, "le falta"),
        ({"extra": 1}, "le sobra"),
        ({"format": "otro/1"}, "otro formato"),
        ({"merges": [["z", "y"]]}, "dañado: merges.0.: .*'z' no está"),
        ({"pieces": ["a", "a"]}, "dañado: pieces: .*dos veces"),
        ({"special": ["pad"]}, "dañado: special: "),
        ({"normalization": "NFX"}, "dañado: normalization: "),
        ({"byte_level": True}, "dañado: pieces: con byte_level"),
    ],
)
def test_un_fichero_danado_dice_donde(tmp_path, changes, told):
    with pytest.raises(ValueError, match=f"^path: .*{told}"):
        Tokenizer.load(damaged(tmp_path, **changes))


@pytest.mark.parametrize("content", [b"", b"{", b"[1, 2]", b"null", b"\xff\xfe", b"\x80\x04pickle"])
def test_un_fichero_ajeno_no_se_carga(tmp_path, content):
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(ValueError, match="^path: se esperaba un tokenizador guardado por atento"):
        Tokenizer.load(tmp_path / "t")


def test_cargar_con_otra_clase_dice_cual_es(tmp_path):
    with pytest.raises(ValueError, match="^path: se esperaba un Unigram; .* guarda un bpe"):
        Unigram.load(damaged(tmp_path))


def test_una_clase_derivada_no_cambia_lo_que_se_carga(tmp_path):
    class Mine(BPE):
        """Una variante."""

    assert type(Tokenizer.load(damaged(tmp_path))) is BPE and issubclass(Mine, BPE)


@pytest.mark.parametrize("path", [3, None, b"t.json"])
def test_una_ruta_que_no_lo_es(path):
    with pytest.raises(TypeError, match="^path: se esperaba una ruta"):
        Tokenizer.load(path)
    with pytest.raises(TypeError, match="^path: se esperaba una ruta"):
        trained("bpe").save(path)


# --- Entradas malas -------------------------------------------------------------------------------


@every
@pytest.mark.parametrize(
    ("corpus", "size", "kind", "told"),
    [
        ("", 50, ValueError, "^corpus: se esperaba algún texto"),
        (" \n", 50, ValueError, "^corpus: se esperaba algún texto"),
        ([], 50, ValueError, "^corpus: se esperaba algún texto"),
        (3, 50, TypeError, "^corpus: se esperaba un texto o una serie"),
        (b"abc", 50, TypeError, "^corpus: se esperaba un texto o una serie"),
        (["a", 3], 50, TypeError, r"^corpus\[1\]: se esperaba un texto"),
        ("a\ud800", 50, ValueError, "^corpus: .*UTF-8"),
        ("abcd", 1, ValueError, "^vocab_size: se esperaba al menos"),
        ("abcd", 0, ValueError, "^vocab_size: se esperaba un entero"),
        ("abcd", 9.0, TypeError, "^vocab_size: se esperaba un entero"),
        ("abcd", True, TypeError, "^vocab_size: se esperaba un entero"),
    ],
)
def test_un_entrenamiento_imposible_dice_por_que(name, corpus, size, kind, told):
    with pytest.raises(kind, match=told):
        TRAIN[name](corpus, size)


def test_el_vocabulario_pequeno_dice_cuanto_hace_falta():
    assert len(BPE.train("abcd", 6, special=["<pad>"])) == 6
    with pytest.raises(ValueError, match="al menos 6, que son 2 tokens especiales y 4 símbolos"):
        BPE.train("abcd", 5, special=["<pad>"])


@every
@pytest.mark.parametrize(
    ("options", "kind", "told"),
    [
        ({"special": "<pad>"}, TypeError, "^special: se esperaba una lista"),
        ({"special": 3}, TypeError, "^special: se esperaba una lista"),
        ({"special": ["pad"]}, ValueError, "^special: se esperaba un nombre"),
        ({"special": [3]}, TypeError, "^special: se esperaba un texto"),
        ({"special": ["<a>", "<a>"]}, ValueError, "^pieces: .*'<a>' dos veces"),
        ({"special": ["<>"]}, ValueError, "^special: se esperaba un nombre"),
        ({"special": ["<a]"]}, ValueError, "^special: se esperaba un nombre"),
        ({"unk": "unk"}, ValueError, "^unk: se esperaba un nombre"),
        ({"unk": 3}, TypeError, "^unk: se esperaba un texto"),
        ({"normalization": "nfc"}, ValueError, "^normalization: se esperaba una de NFC"),
    ],
)
def test_opciones_que_no_valen(name, options, kind, told):
    with pytest.raises(kind, match=told):
        TRAIN[name]("la casa de la casa", 300, **options)


@every
@pytest.mark.parametrize("text", [3, None, b"casa", ["casa"]])
def test_lo_que_no_es_texto_no_se_codifica(name, text):
    for method in ("encode", "pieces", "show", "words"):
        with pytest.raises(TypeError, match="^text: se esperaba un texto"):
            getattr(trained(name), method)(text)


@every
def test_media_pareja_de_utf16_es_un_error(name):
    with pytest.raises(ValueError, match="^text: .*UTF-8; en la posición 1"):
        trained(name).encode("a\udc00")


@every
@pytest.mark.parametrize(
    ("ids", "kind", "told"),
    [
        ([900_000], ValueError, "números de 0 a .*; llegó 900000"),
        ([-1], ValueError, "llegó -1"),
        ([1.0], TypeError, "llegó float"),
        ([True], TypeError, "llegó bool"),
        ("12", TypeError, "llegó str"),
        (3, TypeError, "llegó int"),
        (torch.zeros(2, 2, dtype=torch.long), ValueError, r"un solo eje, \(n,\); llegó \(2, 2\)"),
        (torch.zeros(2), TypeError, "llegó float"),
    ],
)
def test_numeros_que_no_valen(name, ids, kind, told):
    with pytest.raises(kind, match=f"^ids: .*{told}"):
        trained(name).decode(ids)


@every
def test_decodificar_un_tensor_o_numpy(name):
    ids = trained(name).encode("la casa")
    assert (
        trained(name).decode(torch.tensor(ids)) == trained(name).decode(np.array(ids)) == "la casa"
    )


@every
def test_el_numero_que_sigue_al_ultimo_no_es_de_ninguna_pieza(name):
    tokenizer = trained(name)
    assert tokenizer.decode([len(tokenizer) - 1])
    with pytest.raises(ValueError, match=f"^ids: .* de 0 a {len(tokenizer) - 1}; llegó"):
        tokenizer.decode([len(tokenizer)])


@every
def test_la_palabra_vacia_no_se_corta(name):
    asked = [trained(name).segment]
    asked += [trained(name).merges_of] if name in ("bpe", "bytes") else []
    for cut in asked:
        with pytest.raises(ValueError, match="^word: se esperaba al menos un carácter"):
            cut("")
        with pytest.raises(TypeError, match="^word: se esperaba un texto"):
            cut(3)


def test_una_pieza_que_no_esta():
    with pytest.raises(ValueError, match="^piece: .*'xyz'"):
        trained("bpe").id_of("xyz")
    with pytest.raises(TypeError, match="^piece: se esperaba un texto"):
        trained("bpe").id_of(3)
    with pytest.raises(ValueError, match="^pieces: se esperaba un carácter.*'ab'"):
        Characters(["a", "ab"])
    with pytest.raises(ValueError, match="^pieces: se esperaban piezas no vacías"):
        Characters([], unk=None)
    with pytest.raises(TypeError, match="^pieces: se esperaba una lista de textos"):
        Characters(["a", 3])
    for bad in ("abc", 3):
        with pytest.raises(TypeError, match="^pieces: se esperaba una lista; llegó"):
            Characters(bad)
    assert Characters(iter("abc"), special=["<a>"]).vocabulary == ("<a>", "<unk>", "a", "b", "c")


# --- Antes de cortar ------------------------------------------------------------------------------


@given(text=st.text())
def test_separar_en_palabras_no_pierde_nada(text):
    words = split_words(text)
    assert "".join(words) == text and all(words)


@given(text=textos)
def test_las_palabras_sueltas_son_el_texto_sin_espacios(text):
    assert "".join(split_bare_words(text)) == "".join(split_words(text)).translate(
        {ord(c): None for c in text if c.isspace() and not "\x1c" <= c <= "\x1f"}
    )


def test_como_se_separa():
    assert split_words("El niño, 7  años") == ["El", " niño", ",", " 7", " ", " años"]
    assert split_bare_words("¿Qué tal?") == ["¿", "Qué", "tal", "?"]
    assert split_words("nin\u0303o") == ["nin\u0303o"]
    for split in (split_words, split_bare_words):
        with pytest.raises(TypeError, match="^text: se esperaba un texto"):
            split(3)


def test_visible():
    assert visible(" a\n\t") == "␣a⏎⇥"
    with pytest.raises(TypeError, match="^piece: "):
        visible(3)
    assert Characters.train("a b").show("a b") == "a|␣|b"
    assert trained("bytes").show("¿日").endswith("\\xe6|\\x97|\\xa5")


def test_recordar_palabras_no_crece_sin_fin(monkeypatch):
    monkeypatch.setattr("atento.tokenizers.base._CACHED_WORDS", 3)
    tokenizer = Characters.train("abcdef")
    before = [tokenizer.encode(c) for c in "abcdef"]
    assert before == [tokenizer.encode(c) for c in "abcdef"]
    assert len(tokenizer._known_words) <= 3
    assert all(a != b for a, b in pairwise(before))
