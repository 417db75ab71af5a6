"""Lanzar unos procesos que se hablan, esperar lo que dice cada uno y no dejar ninguno vivo."""

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cloudpickle
import torch
from torch import distributed

from atento.checks import scaling as checks

_PROGRAM = "from atento.scaling.processes import _child; _child()"
_FORKS = sys.platform == "linux"  # un intérprete importa y se divide: se importa una vez


class ProcessError(RuntimeError):
    """Un proceso ha fallado; el mensaje dice cuál y por qué, y los demás se han parado."""


def run_processes(function: Callable, size: int, *args: Any, seconds: float = 300.0) -> list[Any]:
    """Llama a ``function(rank, *args)`` en ``size`` procesos y devuelve lo que dice cada uno.

    Son procesos nuevos de esta máquina, con un hilo cada uno, que se hablan por ``gloo`` sin salir
    de ella ni usar puertos fijos: dentro ya vale ``torch.distributed``. ``function`` puede ser de
    un cuaderno. Cuando se vuelve, no queda ninguno.

    Errores: ``TypeError`` o ``ValueError`` si los argumentos no son lo que se dice;
    :class:`ProcessError` si uno falla; ``TimeoutError`` si pasan ``seconds`` segundos.
    """
    checks.processes(function, size, seconds)
    with TemporaryDirectory(prefix="atento-") as name:
        folder = Path(name)
        (folder / "task").write_bytes(cloudpickle.dumps((function, size, args, seconds)))
        launched = [range(size)] if _FORKS else [range(k, k + 1) for k in range(size)]
        started = [_start(folder, ranks) for ranks in launched]
        try:
            _wait(started, folder, size, time.monotonic() + seconds)
        finally:
            for process in started:
                _stop(process)
        return [pickle.loads((folder / f"{rank}.out").read_bytes()) for rank in range(size)]


def _start(folder: Path, ranks: range) -> subprocess.Popen:
    """Lanza un intérprete que será esos procesos: si son varios, se divide tras importar."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    if os.name == "posix":
        environment["GLOO_SOCKET_IFNAME"] = "lo0" if sys.platform == "darwin" else "lo"
    with (folder / f"{ranks.start}.log").open("wb") as log:
        order = [sys.executable, "-c", _PROGRAM, str(folder), str(ranks.start), str(ranks.stop)]
        return subprocess.Popen(
            order, env=environment, stdout=log, stderr=log, start_new_session=True
        )


def _stop(process: subprocess.Popen) -> None:
    """Para un intérprete y los procesos en que se haya dividido."""
    if os.name == "posix":
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait(timeout=60)


def _wait(started: list[subprocess.Popen], folder: Path, size: int, limit: float) -> None:
    """Espera a todos; lanza en cuanto uno falla, o si se acaba el plazo."""
    while True:
        codes = [process.poll() for process in started]
        if any(codes):
            raise ProcessError(_what_happened(folder))
        if None not in codes:
            return
        if time.monotonic() > limit:
            late = [rank for rank in range(size) if not (folder / f"{rank}.out").exists()]
            names = ", ".join(map(str, late))
            raise TimeoutError(f"seconds: se acabó el plazo sin que terminen los procesos {names}.")
        time.sleep(0.02)


def _what_happened(folder: Path) -> str:
    """Lo que dijo el primero que falló: los demás fallan después, porque ya no les contesta."""
    if told := sorted(folder.glob("*.err"), key=lambda path: path.stat().st_mtime_ns):
        return f"el proceso {told[0].stem} ha fallado: {told[0].read_text(encoding='utf-8')}"
    logs = sorted(folder.glob("*.log"))
    lines = "\n".join(path.read_text("utf-8", "replace") for path in logs).strip().splitlines()
    return f"un proceso ha fallado: {lines[-1] if lines else 'no ha dicho nada'}"


# --- Dentro de cada proceso -----------------------------------------------------------------------


def _child() -> None:
    """Lee la tarea, con lo que ya está importado lo que usa, y se divide si hace falta."""
    folder, first, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(1)
    task = pickle.loads((folder / "task").read_bytes())
    if last - first == 1:
        sys.exit(_work(folder, first, task))
    pids = {}
    for rank in range(first, last):
        if (pid := os.fork()) == 0:
            os._exit(_work(folder, rank, task))
        pids[pid] = rank
    while pids:
        pid, status = os.waitpid(-1, 0)
        rank = pids.pop(pid)
        if status:
            _tell(folder / f"{rank}.err", "se ha parado sin decir nada", again=False)
            sys.exit(1)


def _work(folder: Path, rank: int, task: tuple) -> int:
    """Se habla con los demás, llama a la función y guarda lo que da; 0 si ha ido bien."""
    function, size, args, seconds = task
    try:
        store = distributed.FileStore(str(folder / "store"), size)
        distributed.init_process_group(
            "gloo", store=store, rank=rank, world_size=size, timeout=timedelta(seconds=seconds)
        )
        found = cloudpickle.dumps(function(rank, *args))
        distributed.barrier()  # nadie se va mientras otro le espera
        (folder / f"{rank}.out").write_bytes(found)
        distributed.destroy_process_group()
    except Exception as error:
        _tell(folder / f"{rank}.err", f"{type(error).__name__}: {error}")
        return 1
    return 0


def _tell(path: Path, text: str, *, again: bool = True) -> None:
    """Escribe un fichero de una vez, para que nadie lo lea a medias."""
    if again or not path.exists():
        path.with_suffix(".part").write_text(text, encoding="utf-8")
        path.with_suffix(".part").rename(path)
