"""Qué ha mirado ya el navegador tal como está: páginas, con axe e impresas, cuadernos y
exploradores, por su contrato y por lo propio de cada uno (``comportamiento.py``).

Mirarlo todo son minutos, y casi todo es lo de la última vez. De lo que pasa se guarda una huella
(``vistas*.json``, con ``--apunta``): lo que hay en ello, salvo las cifras y los trazos, que cambian
de una máquina a otra, y lo que comparte con lo demás: navegador, guiones y cómo se pregunta. Lo que
tiene la suya no se vuelve a mirar, salvo uno de cada tantos, que con cada confirmación son otros;
lo que ha cambiado, siempre. ``ATENTO_ENTERO=1`` lo mira todo.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from rotacion import entero, una_de_cada, vuelta

AQUI = Path(__file__).resolve().parent
CADA = 8  # de lo sellado, cuánto por cada cosa que se mira
COMO = ("accesible.py", "aligerar.js", "podar.js")
CUERPO = re.compile(r"<main\b.*</main>", re.DOTALL)
DIBUJO = re.compile(r' (?:d|points)="[^"]*"|\d+(?:\.\d+)?(?:e-?\d+)?')  # trazos y cifras
# Del buscador: lo que hay escrito en el libro no cambia cómo se ve cada página.
DATOS = {"indice.js", "language_data.js", "documentation_options.js", "translations.js"}


def de_todo(ficheros: Iterable[Path], *dichos: str) -> str:
    """La huella de lo que se comparte: cómo se mira y con qué versiones."""
    resumen = hashlib.sha256("".join(f"{dicho}\n" for dicho in dichos).encode())
    for ruta in ficheros:
        resumen.update(ruta.name.encode() + b"\0" + ruta.read_bytes())
    return resumen.hexdigest()


def comun(sitio: Path, navegador: str) -> str:
    """La de todas las páginas: estilos, guiones, navegador, axe y cómo se le pregunta."""
    propios = sorted(p for p in (sitio / "_static").rglob("*") if p.suffix in (".css", ".js"))
    rutas = (*(p for p in propios if p.name not in DATOS), *(AQUI / nombre for nombre in COMO))
    return de_todo(rutas, navegador, metadata.version("axe-playwright-python"))


def huella(texto: str, compartido: str) -> str:
    """La de una cosa, sin sus cifras, sus trazos ni, en una página, lo que la rodea (menús)."""
    cuerpo = CUERPO.search(texto)
    sin_cifras = DIBUJO.sub("0", cuerpo[0] if cuerpo else texto)
    return hashlib.sha256(f"{compartido}\n{sin_cifras}".encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Vistas:
    """Las huellas con que pasó cada cosa de una clase, en su fichero."""

    fichero: Path

    def selladas(self) -> dict[str, str]:
        """La huella de cada cosa con la que pasó."""
        return json.loads(self.fichero.read_text("utf-8") or "{}") if self.fichero.exists() else {}

    def por_mirar(self, huellas: Mapping[str, str]) -> set[str]:
        """Las que no están selladas y, de las demás, las que tocan."""
        if entero():
            return set(huellas)
        guardadas = self.selladas()
        conocidas = [x for x, suya in sorted(huellas.items()) if guardadas.get(x) == suya]
        tocan = una_de_cada(CADA, conocidas, lambda _: True, vuelta())
        return set(huellas) - set(conocidas) | set(tocan)

    def guarda(
        self,
        huellas: Mapping[str, str],
        pasan: Iterable[str],
        fallan: Iterable[str],
        hay: Iterable[str],
    ) -> None:
        """Sella las que pasan; pierden el sello las que fallan y las que ya no están. Si acaban
        varios procesos a la vez, escribe uno detrás de otro.
        """
        with self.fichero.open("a+", encoding="utf-8") as abierto:
            fcntl.flock(abierto, fcntl.LOCK_EX)
            abierto.seek(0)
            todas = json.loads(abierto.read() or "{}") | {cosa: huellas[cosa] for cosa in pasan}
            quedan = sorted((todas.keys() & set(hay)) - set(fallan))
            lineas = (f'"{x}": "{todas[x]}"' for x in quedan)
            abierto.truncate(0)
            abierto.write("{\n" + ",\n".join(lineas) + "\n}\n")


PAGINAS = Vistas(AQUI / "vistas.json")
CUADERNOS = Vistas(AQUI / "vistas_cuadernos.json")
EXPLORADORES = Vistas(AQUI / "vistas_exploradores.json")
COMPORTAMIENTO = Vistas(AQUI / "vistas_comportamiento.json")
IMPRESAS = Vistas(AQUI / "vistas_impresas.json")
