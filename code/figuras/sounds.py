"""Sonidos que se oyen en la página, con los mandos del navegador.

Van dentro de la página, en WAV de 8 bits: un segundo a 8 kHz son 8 kB, y once en base64.
"""

from __future__ import annotations

import base64
import html
import io
import wave
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["MOST", "encode", "show"]

MOST = 4.0
"""Los segundos que caben en una llamada a :func:`show`."""


def show(signals: Mapping[str, Any], rate: int, *, alt: str) -> None:
    """Un reproductor por sonido, con su título debajo, en el orden dado.

    signals: ``{título: muestras}``, cada una (samples,); se llevan todas al mismo volumen máximo.
    rate: muestras por segundo. alt: qué se oye, para quien no puede oírlo (40 caracteres o más).

    Errores: ``ValueError`` si no hay sonidos, alguno no se puede oír, duran en total más de
    :data:`MOST` segundos o falta el texto alternativo.
    """
    markup = render(signals, rate, alt=alt)
    seconds = [f"{title}, {len(wave) / rate:.2f} s" for title, wave in signals.items()]
    from IPython import get_ipython
    from IPython.display import display

    if get_ipython() is not None:
        text = f"Sonidos: {'; '.join(seconds)}. {' '.join(alt.split())}"
        display({"text/html": markup, "text/plain": text}, raw=True)


def render(signals: Mapping[str, Any], rate: int, *, alt: str) -> str:
    """El HTML que muestra :func:`show`."""
    if not isinstance(signals, Mapping) or not signals:
        raise ValueError(f"signals: llegó {signals!r}; se esperaba {{título: muestras}}")
    alt = " ".join((alt or "").split())
    if len(alt) < 40:
        raise ValueError(f"alt: llegó {alt!r}; se esperaba qué se oye, en 40 caracteres o más")
    players = [_player(title, encode(wave, rate)) for title, wave in signals.items()]
    seconds = sum(len(wave) for wave in signals.values()) / rate
    if seconds > MOST:
        raise ValueError(f"signals: llegaron {seconds:.1f} s; se esperaban {MOST:g} o menos")
    return (
        f'<div class="atento-sonidos" role="group" aria-label="{html.escape(alt)}" '
        'style="display:flex;flex-wrap:wrap;gap:.8rem 1.2rem;margin:1.2rem 0">'
        f"{''.join(players)}</div>"
    )


def _player(title: str, data: bytes) -> str:
    name, code = html.escape(title), base64.b64encode(data).decode()
    return (
        '<figure style="margin:0;flex:1 1 15rem;max-width:22rem">'
        f'<audio controls preload="metadata" aria-label="{name}" style="width:100%" '
        f'src="data:audio/wav;base64,{code}"></audio>'
        f'<figcaption style="font-size:.9em;margin:.2rem 0 0">{name}</figcaption></figure>'
    )


def encode(signal: Any, rate: int) -> bytes:
    """Las muestras de ``signal``, (samples,), como un WAV de un canal y 8 bits.

    El pico queda al 90 % de lo que cabe. El mismo sonido da siempre los mismos bytes.

    Errores: ``ValueError`` si no es una lista de números finitos que no son todos cero, o si
    ``rate`` no va de 8000 a 48 000, que es lo que reproduce cualquier navegador.
    """
    samples = np.asarray(signal, dtype=np.float64)
    peak = np.abs(samples).max() if samples.ndim == 1 and samples.size else 0.0
    if not np.isfinite(peak) or peak == 0:
        raise ValueError(f"signal: llegó {samples.shape}; se esperaban (samples,) que se oigan")
    if isinstance(rate, bool) or not isinstance(rate, int) or not 8000 <= rate <= 48_000:
        raise ValueError(f"rate: llegó {rate!r}; se esperaba un entero de 8000 a 48 000")
    levels = np.round(127.5 + 114 * samples / peak).astype(np.uint8)
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(1)
        file.setframerate(rate)
        file.writeframes(levels.tobytes())
    return buffer.getvalue()
