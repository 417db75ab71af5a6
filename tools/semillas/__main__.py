"""Repite las otras semillas y las ejecuciones largas de los capítulos y guarda sus resultados.

Uso: ``python tools/semillas [capítulo …]`` (sin argumentos, todos). Cada capítulo con ejecuciones
guardadas tiene aquí su ``capNN.py``, con una función ``chapter`` que devuelve lo que se guarda.
Escribe ``code/atento/datos/semillas-NN.json`` con la orden, la fecha, la máquina y las versiones.
Un hilo, para que los segundos de procesador se puedan comparar.
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
import platform
import time
from datetime import UTC, datetime
from typing import Any

import numpy
import sacrebleu
import torch

AQUI = Path(__file__).resolve().parent


DATOS = AQUI.parents[1] / "code" / "atento" / "datos"
CHAPTERS = sorted(path.stem.removeprefix("cap") for path in AQUI.glob("cap[0-9][0-9].py"))


def _processor() -> str:
    """El modelo del procesador, donde el sistema lo diga."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def provenance(chapter: str) -> dict[str, Any]:
    """Orden, fecha, máquina y versiones."""
    return {
        "command": f"python tools/semillas {chapter}",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": {
            "processor": _processor(),
            "architecture": platform.machine(),
            "cores": os.cpu_count(),
            "threads": torch.get_num_threads(),
            "system": platform.system(),
        },
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": numpy.__version__,
            "sacrebleu": sacrebleu.__version__,
        },
    }


def main() -> None:
    """Ejecuta los capítulos pedidos."""
    parser = argparse.ArgumentParser(
        description="Repite las otras semillas y las ejecuciones largas."
    )
    parser.add_argument(
        "chapters", nargs="*", metavar="capítulo", help=f"uno o varios de {', '.join(CHAPTERS)}"
    )
    chosen = [
        f"{int(c):02d}" if c.isdigit() else c for c in parser.parse_args().chapters
    ] or CHAPTERS
    unknown = [chapter for chapter in chosen if chapter not in CHAPTERS]
    if unknown:
        parser.error(
            f"sin ejecuciones guardadas: {', '.join(unknown)}; los hay de {', '.join(CHAPTERS)}"
        )
    torch.set_num_threads(1)
    DATOS.mkdir(parents=True, exist_ok=True)
    for chapter in chosen:
        print(f"Capítulo {chapter}", flush=True)
        clock = time.process_time()
        content = provenance(chapter) | importlib.import_module(f"cap{chapter}").chapter()
        path = DATOS / f"semillas-{chapter}.json"
        path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        print(
            f"  escrito {path.name} en {time.process_time() - clock:.0f} segundos de procesador",
            flush=True,
        )


if __name__ == "__main__":
    principal(main)
