"""Mide cuánto bloquea cada capítulo un teléfono: tareas largas con el procesador cuatro veces más
lento.

Uso: ``python benchmarks/paginas.py [--sitio book/_build/html] [--visitas 3]``, con el libro
construido y la máquina sin más trabajo. Abre cada capítulo en Chromium, en una ventana de teléfono
y sin nada guardado, y suma lo que cada tarea larga pasa de 50 ms. Enseña la mediana de las visitas
y sale con estado 1 si algún capítulo pasa del límite.
"""

import argparse
import functools
import http.server
import shutil
import statistics
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright
from rich.console import Console
from rich.table import Table

LIMIT, SLOWDOWN, LONG, SETTLE = 1300, 4, 50, 3000  # ms, veces, ms, ms
SITE = Path(__file__).resolve().parents[1] / "book" / "_build" / "html"
OBSERVE = """
window.largas = [];
new PerformanceObserver((lista) => {
  for (const tarea of lista.getEntries()) window.largas.push(tarea.duration);
}).observe({type: "longtask", buffered: true});
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args) -> None:
        pass


@contextmanager
def served(site: Path) -> Iterator[str]:
    """La dirección local de la carpeta, mientras dura."""
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def blocking(browser: Browser, url: str) -> float:
    """Milisegundos de bloqueo de una visita."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    throttle = {"rate": SLOWDOWN}
    context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", throttle)
    page.add_init_script(OBSERVE)
    page.goto(url, wait_until="load", timeout=120_000)
    page.wait_for_timeout(SETTLE)
    tasks = page.evaluate("window.largas")
    context.close()
    return sum(max(0.0, task - LONG) for task in tasks)


def measured(site: Path, visits: int) -> dict[str, float]:
    """La mediana de cada capítulo, por su dirección."""
    pages = sorted(p.relative_to(site).as_posix() for p in site.glob("[0-9]-*/[0-9][0-9]-*.html"))
    if not pages:
        raise SystemExit(f"No hay ningún capítulo en {site}: constrúyelo con «make libro».")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    with served(site) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        medians = {
            page: statistics.median(blocking(browser, f"{address}/{page}") for _ in range(visits))
            for page in pages
        }
        browser.close()
    return medians


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sitio", type=Path, default=SITE)
    options.add_argument("--visitas", type=int, default=3)
    chosen = options.parse_args()
    medians = measured(chosen.sitio, chosen.visitas)
    table = Table("capítulo", "bloqueo (ms)", title=f"Procesador {SLOWDOWN} veces más lento")
    for page, value in medians.items():
        table.add_row(page, f"{value:.0f}" + (" ← pasa" if value > LIMIT else ""))
    Console().print(table)
    if max(medians.values()) > LIMIT:
        sys.exit(1)


if __name__ == "__main__":
    main()
