"""Las huellas de los dibujos de las pruebas: lo trazado y lo escrito, con su sitio y su color.

``plots.fingerprint`` dice si los datos de una figura cambian; esta, si cambia algo de lo que se ve.
Un cambio querido se mira en la galería y se acepta con ``python tests/figuras/drawings.py``.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure

STORED = Path(__file__).with_suffix(".json")
FRAMES = STORED.with_name("frames.json")
LOOKS = ("edgecolor", "facecolor", "color", "linewidth", "linestyle", "zorder", "hatch", "alpha")
LOOKS += ("text", "position", "size", "weight", "rotation", "ha", "va", "xydata", "marker", "label")
SHIFT = 0.00314159  # los números redondos no caen justo entre dos valores


def seen(figure: Figure) -> str:
    """Doce letras que cambian si cambia lo que se ve de una figura."""
    figure.draw_without_rendering()
    pieces = [piece for artist in figure.findobj() for piece in _pieces(artist)]
    return hashlib.sha256("\n".join(pieces).encode()).hexdigest()[:12]


def _pieces(artist: Artist) -> Iterator[str]:
    if not artist.get_visible():
        return
    yield type(artist).__name__
    for look in LOOKS:
        if hasattr(artist, f"get_{look}"):
            yield f"{look} {_text(getattr(artist, f'get_{look}')())}"
    paths = artist.get_paths() if hasattr(artist, "get_paths") else []
    paths = [artist.get_path()] if hasattr(artist, "get_path") else paths
    for path in paths:
        codes = None if path.codes is None else path.codes.tolist()
        yield f"{_text(path.vertices)} {codes}"


def _text(value: Any) -> str:
    """Los números, a dos cifras decimales; lo demás, como es."""
    if value is None or isinstance(value, str):
        return str(value)
    try:
        table = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return str(value)
    return str((np.round(table + SHIFT, 2) + 0.0).tolist())


def frame(figure: Figure) -> list[str]:
    """Lo que la huella no ve: el tamaño de la figura, en pulgadas, y de dónde a dónde va cada eje.

    Los trazos se guardan en las unidades de los datos, y no cambian si cambia lo demás.
    """
    figure.draw_without_rendering()
    ends = [(ax.get_xlim(), ax.get_ylim()) for ax in figure.axes]
    tables = [figure.get_size_inches(), *(end for pair in ends for end in pair)]
    return [" ".join(f"{value:.4g}" for value in table) for table in tables]


def stored(file: Path = STORED) -> dict[str, Any]:
    """Las huellas aceptadas, por caso."""
    return json.loads(file.read_text(encoding="utf-8"))


def accept(
    cases: Mapping[str, Callable[[], Figure]],
    look: Callable[[Figure], Any] = seen,
    file: Path = STORED,
) -> None:
    """Guarda lo que se ve hoy y dice qué casos cambian."""
    before = stored(file) if file.exists() else {}
    today = {name: look(draw()) for name, draw in sorted(cases.items())}
    text = json.dumps(today, indent=0, ensure_ascii=False)
    file.write_text(text + "\n", encoding="utf-8")
    print("Cambian:", *sorted(n for n in before | today if before.get(n) != today.get(n)))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    from test_diagrams import CASES as DIAGRAMS
    from test_plots import CASES as PLOTS

    accept({**DIAGRAMS, **PLOTS})
    accept(PLOTS, frame, FRAMES)
