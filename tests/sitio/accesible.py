"""Lo que axe encuentra en una página, en claro y en oscuro."""

from __future__ import annotations

from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

ALIGERAR, PODAR = (
    (Path(__file__).parent / f"{guion}.js").read_text("utf8") for guion in ("aligerar", "podar")
)
DE_COLOR = ("color-contrast", "link-in-text-block")


def graves(pestana: Page, **opciones) -> list[str]:
    """Lo grave que axe encuentra en la página abierta."""
    opciones = {"resultTypes": ["violations"], "preload": False, **opciones}
    return [
        f"{v['id']}: {nodo['html'][:110]}"
        for v in Axe().run(pestana, options=opciones).response["violations"]
        if v["impact"] in ("serious", "critical")
        for nodo in v["nodes"][:3]
    ]


def pon_tema(pestana: Page, tema: str) -> None:
    """Claro u oscuro."""
    pestana.evaluate("(m) => { document.documentElement.dataset.theme = m; }", tema)


def accesibilidad(pestana: Page) -> dict[str, list[str]]:
    """Lo grave en cada tema. Se mira primero todo menos los colores, que no dependen de nada más
    que del estilo; después, los colores de lo que queda al podar.
    """
    pestana.evaluate(ALIGERAR)
    pon_tema(pestana, "light")
    en_los_dos = graves(pestana, rules={regla: {"enabled": False} for regla in DE_COLOR})
    pestana.evaluate(PODAR)
    hallado = {}
    for tema in ("light", "dark"):
        pon_tema(pestana, tema)
        hallado[tema] = en_los_dos + graves(pestana, runOnly=list(DE_COLOR))
    return hallado
