"""Lanzar unos procesos que se hablan, esperar lo que dice cada uno y no dejar ninguno vivo."""

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cloudpickle

from atento.checks import scaling as checks

_PROGRAM = "from atento.scaling.processes import _child; _child()"


class ProcessError(RuntimeError):
    """Un proceso ha fallado; el mensaje dice cuál y por qué, y los demás se han parado."""


def run_processes(function: Callable, size: int, *args: Any, seconds: float = 300.0) -> list[Any]:
    """Llama a ``function(rank, *args)`` en ``size`` procesos y devuelve lo que dice cada uno.

    Son procesos nuevos de esta máquina, con un hilo cada uno, que se hablan por ``gloo`` sin salir
    de ella ni usar puertos fijos: dentro ya vale ``torch.distributed``. ``function`` puede ser de un
    cuaderno. Cuando se vuelve, no queda ninguno.

    Errores: ``TypeError`` o ``ValueError`` si los argumentos no son lo que se dice;
    :class:`ProcessError` si uno falla; ``TimeoutError`` si pasan ``seconds`` segundos.
    """
    checks.processes(function, size, seconds)
    with TemporaryDirectory(prefix="atento-") as name:
        folder = Path(name)
        (folder / "task").write_bytes(cloudpickle.dumps((function, size, args, seconds)))
        started = [_start(folder, rank) for rank in range(size)]
        try:
            _wait(started, folder, time.monotonic() + seconds)
        finally:
            for process in started:
                process.kill()
                process.wait()
        return [pickle.loads((folder / f"{rank}.out").read_bytes()) for rank in range(size)]


def _start(folder: Path, rank: int) -> subprocess.Popen:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    if sys.platform != "win32":
        environment["GLOO_SOCKET_IFNAME"] = "lo0" if sys.platform == "darwin" else "lo"
    with (folder / f"{rank}.log").open("wb") as log:
        order = [sys.executable, "-c", _PROGRAM, str(folder), str(rank)]
        return subprocess.Popen(order, env=environment, stdout=log, stderr=log)


def _wait(started: list[subprocess.Popen], folder: Path, limit: float) -> None:
    """Espera a todos; lanza en cuanto uno falla, o si se acaba el plazo."""
    while any(running := [process.poll() is None for process in started]):
        _raise_if_failed(started, folder)
        if time.monotonic() > limit:
            late = ", ".join(str(rank) for rank, alive in enumerate(running) if alive)
            raise TimeoutError(
                f"seconds: se acabó el plazo y no han terminado los procesos {late}."
            )
        time.sleep(0.02)
    _raise_if_failed(started, folder)


def _raise_if_failed(started: list[subprocess.Popen], folder: Path) -> None:
    failed = [rank for rank, process in enumerate(started) if process.poll()]
    if not failed:
        return
    said = [(folder / f"{rank}.err").exists() for rank in failed]
    rank = failed[said.index(True)] if any(said) else failed[0]
    path = folder / (f"{rank}.err" if any(said) else f"{rank}.log")
    lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise ProcessError(f"el proceso {rank} ha fallado: {lines[-1] if lines else 'sin mensaje'}")


def _child() -> None:
    """Lo que hace cada proceso: hablarse con los demás, llamar a la función y guardar lo que da."""
    from datetime import timedelta

    import torch
    from torch import distributed

    folder, rank = Path(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(1)
    try:
        function, size, args, seconds = pickle.loads((folder / "task").read_bytes())
        store = distributed.FileStore(str(folder / "store"), size)
        limit = timedelta(seconds=seconds)
        distributed.init_process_group(
            "gloo", store=store, rank=rank, world_size=size, timeout=limit
        )
        found = cloudpickle.dumps(function(rank, *args))
        distributed.barrier()  # nadie se va mientras otro le espera
        (folder / f"{rank}.out").write_bytes(found)
        distributed.destroy_process_group()
    except Exception as error:
        partial = folder / f"{rank}.part"
        partial.write_text(f"{type(error).__name__}: {error}", encoding="utf-8")
        partial.rename(folder / f"{rank}.err")
        raise
