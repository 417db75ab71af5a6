"""De dónde sale un resultado que se guarda: la orden, la fecha, la máquina y las versiones."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any


def procesador() -> str:
    """El modelo del procesador, donde el sistema lo diga."""
    info = Path("/proc/cpuinfo")
    lineas = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    modelos = [x.split(":", 1)[1].strip() for x in lineas if x.startswith("model name")]
    return modelos[0] if modelos else platform.processor() or platform.machine()


def procedencia(orden: str, *bibliotecas: str, **mas: Any) -> dict[str, Any]:
    """Lo que acompaña a unos datos guardados; ``mas`` va con la máquina (``threads=1``)."""
    return {
        "command": orden,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": {
            "processor": procesador(),
            "architecture": platform.machine(),
            "cores": os.cpu_count(),
            **mas,
            "system": platform.system(),
        },
        "versions": {"python": platform.python_version()}
        | {nombre: metadata.version(nombre) for nombre in bibliotecas},
    }
