"""Los sonidos de la página: lo que se oye es lo que se dio, y lo que no se puede oír se dice."""

import base64
import io
import re
import wave

import numpy as np
import pytest

from figuras import sounds

TONE = np.cos(np.arange(800) * 0.7)
ALT = "Un tono grave, y después otro tono, el doble de agudo que el primero."


def test_a_wave_comes_back():
    with wave.open(io.BytesIO(sounds.encode(3 * TONE, 8000))) as file:
        assert file.getparams()[:4] == (1, 1, 8000, 800)
        back = np.frombuffer(file.readframes(800), dtype=np.uint8) - 127.5
    assert np.abs(back / 114 - TONE / np.abs(TONE).max()).max() <= 0.5 / 114 + 1e-9


def test_each_sound_has_its_player_with_its_title():
    page = sounds.render({"grave": TONE, "agudo <b>": TONE[::2]}, 8000, alt=ALT)
    assert page.count("<audio controls") == 2
    assert 'aria-label="grave"' in page and "agudo &lt;b&gt;" in page and "<b>" not in page
    assert f'aria-label="{ALT}"' in page
    first = re.search(r"base64,([^\"]+)", page)[1]
    assert base64.b64decode(first) == sounds.encode(TONE, 8000)


def test_outside_a_notebook_nothing_is_shown(capsys):
    sounds.show({"grave": TONE}, 8000, alt=ALT)
    assert capsys.readouterr() == ("", "")


def test_in_a_notebook_the_text_says_what_is_heard(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.get_ipython", lambda: object())
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append((data, raw)))
    sounds.show({"grave": TONE}, 8000, alt=f"  {ALT}\n")
    assert shown == [
        (
            {
                "text/html": sounds.render({"grave": TONE}, 8000, alt=ALT),
                "text/plain": f"Sonidos: grave, 0.10 s. {ALT}",
            },
            True,
        )
    ]


@pytest.mark.parametrize(
    "signals, rate, alt, what",
    [
        ({}, 8000, ALT, "signals"),
        ({"a": TONE}, 8000, "Corto", "alt"),
        ({"a": np.zeros(10)}, 8000, ALT, "signal"),
        ({"a": np.array([])}, 8000, ALT, "signal"),
        ({"a": np.array([1.0, np.nan])}, 8000, ALT, "signal"),
        ({"a": TONE[None]}, 8000, ALT, "signal"),
        ({"a": TONE}, 4000, ALT, "rate"),
        ({"a": TONE}, 8000.0, ALT, "rate"),
        ({"a": np.ones(40_000)}, 8000, ALT, "signals"),
    ],
)
def test_what_cannot_be_heard_is_named(signals, rate, alt, what):
    with pytest.raises(ValueError, match=f"^{what}:"):
        sounds.render(signals, rate, alt=alt)
