"""Repite las otras semillas y las ejecuciones largas de los capítulos y guarda sus resultados.

Uso: ``python tools/semillas [capítulo …]`` (sin argumentos, todos). Cada capítulo con ejecuciones
guardadas tiene aquí su ``capNN.py``, con una función ``chapter`` que devuelve lo que se guarda.
Escribe ``code/figuras/datos/semillas-NN.json`` con la orden, la fecha, la máquina y las versiones.
Un hilo, para que los segundos de procesador se puedan comparar.

Un ``capNN.py`` puede tener además ``PESOS``, los modelos que viajan entrenados con el libro: de
cada nombre, la función que lo entrena y devuelve ``(modelo, ficha)``. La ficha lleva ``recipe``,
``seed`` y ``marks``, lo que acierta con los pesos ya redondeados por ``trained.rounded``; lo demás
se añade aquí, y queda en ``code/atento/datos/pesos-NOMBRE-NN.safetensors``. Para entrenar solo los
modelos de un capítulo, o uno de ellos:

    python tools/semillas 14 --pesos [nombre]

Y ``PARTES``, los trozos de lo guardado que se pueden repetir solos: de cada clave, la función que
da su contenido. Ese trozo lleva entonces su propia procedencia, y lo demás no se toca:

    python tools/semillas 12 --parte nombre
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from procesos import principal  # noqa: E402  (necesita la línea anterior)

# isort: split
# Lo demás tarda en importarse, y Ctrl+C se atiende ya.
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import importlib
import json
import time
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import torch
from torch import nn

from atento import trained
from maquina import procedencia

AQUI = Path(__file__).resolve().parent


DATOS = AQUI.parents[1] / "code" / "figuras" / "datos"
MODELOS = AQUI.parents[1] / "code" / "atento" / "datos"
CHAPTERS = sorted(path.stem.removeprefix("cap") for path in AQUI.glob("cap[0-9][0-9].py"))


def provenance(arguments: str) -> dict[str, Any]:
    """Orden, fecha, máquina y versiones."""
    libraries = ("torch", "numpy", "sacrebleu")
    threads = torch.get_num_threads()
    return procedencia(f"python tools/semillas {arguments}", *libraries, threads=threads)


def write_runs(chapter: str, module: ModuleType) -> Path:
    """Repite las ejecuciones de un capítulo y las guarda."""
    content = provenance(chapter) | module.chapter()
    path = DATOS / f"semillas-{chapter}.json"
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return path


def write_part(chapter: str, module: ModuleType, name: str) -> Path:
    """Repite un trozo de lo guardado de un capítulo; lo demás y su procedencia no se tocan."""
    path = DATOS / f"semillas-{chapter}.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content[name] = provenance(f"{chapter} --parte {name}") | module.PARTES[name]()
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return path


def write_weights(chapter: str, module: ModuleType, name: str) -> Path:
    """Entrena uno de los modelos de un capítulo y guarda sus pesos y su ficha."""
    model, card = module.PESOS[name]()
    missing = [field for field in ("recipe", "seed", "marks") if field not in card]
    if missing:
        raise SystemExit(f"{name}: a su ficha le falta {', '.join(missing)}.")
    if not _in_16_bits(model):
        raise SystemExit(
            f"{name}: hay que redondear sus pesos con trained.rounded y medir después."
        )
    path = MODELOS / f"pesos-{name}-{chapter}.safetensors"
    made = provenance(f"{chapter} --pesos {name}")
    path.write_bytes(trained.to_bytes(model, made | card))
    return path


def _in_16_bits(model: nn.Module) -> bool:
    """Si los pesos son ya los que se guardan, y por tanto los que se han medido."""
    return all(torch.equal(p, p.half().to(p.dtype)) for p in model.parameters())


def tasks(chapter: str, pesos: str | None, parte: str | None = None) -> list[Callable[[], Path]]:
    """Lo que hay que hacer de un capítulo: lo que escribe cada fichero.

    ``pesos`` es ``None`` para hacerlo todo, vacío para los modelos y un nombre para uno solo;
    ``parte``, el trozo de lo guardado que se repite solo.
    """
    module = importlib.import_module(f"cap{chapter}")
    models, parts = getattr(module, "PESOS", {}), getattr(module, "PARTES", {})
    if parte:
        if parte not in parts:
            options = ", ".join(parts) or "ninguna"
            raise SystemExit(
                f"cap{chapter}.py no tiene la parte «{parte}»; las que hay: {options}."
            )
        return [partial(write_part, chapter, module, parte)]
    if pesos and pesos not in models:
        options = ", ".join(models) or "ninguno"
        raise SystemExit(f"cap{chapter}.py no tiene el modelo «{pesos}»; los que hay: {options}.")
    chosen = [pesos] if pesos else list(models)
    training = [partial(write_weights, chapter, module, name) for name in chosen]
    return training if pesos is not None else [*training, partial(write_runs, chapter, module)]


def _arguments() -> tuple[list[str], str | None, str | None]:
    """Los capítulos pedidos, qué modelos y qué parte."""
    parser = argparse.ArgumentParser(
        description="Repite las otras semillas y las ejecuciones largas."
    )
    parser.add_argument(
        "chapters", nargs="*", metavar="capítulo", help=f"uno o varios de {', '.join(CHAPTERS)}"
    )
    parser.add_argument(
        "--pesos",
        nargs="?",
        const="",
        metavar="nombre",
        help="solo los modelos que viajan entrenados, o solo ese",
    )
    parser.add_argument(
        "--parte", metavar="nombre", help="solo ese trozo de lo guardado, con su procedencia"
    )
    given = parser.parse_args()
    chosen = [f"{int(c):02d}" if c.isdigit() else c for c in given.chapters] or CHAPTERS
    unknown = [chapter for chapter in chosen if chapter not in CHAPTERS]
    if unknown:
        parser.error(
            f"sin ejecuciones guardadas: {', '.join(unknown)}; los hay de {', '.join(CHAPTERS)}"
        )
    if given.pesos and len(chosen) != 1:
        parser.error("con el nombre de un modelo se dice un solo capítulo")
    if given.parte and (len(chosen) != 1 or given.pesos is not None):
        parser.error("con --parte se dice un solo capítulo, y no va con --pesos")
    return chosen, given.pesos, given.parte


def main() -> None:
    """Ejecuta los capítulos pedidos."""
    chosen, pesos, parte = _arguments()
    torch.set_num_threads(1)
    DATOS.mkdir(parents=True, exist_ok=True)
    for chapter in chosen:
        print(f"Capítulo {chapter}", flush=True)
        for write in tasks(chapter, pesos, parte):
            clock = time.process_time()
            path = write()
            seconds = time.process_time() - clock
            print(f"  escrito {path.name} en {seconds:.0f} segundos de procesador", flush=True)


if __name__ == "__main__":
    principal(main)
