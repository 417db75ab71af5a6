"""Lo que cuesta el capítulo de una persona, y cuánto se gana con otro trabajador.

    python benchmarks/conjunto.py [--personas N] [--apunta]

Un planificador de Dask y uno o dos trabajadores de un hilo corrigen las soluciones de uno de cada
cinco capítulos, entregadas por N personas. El procesador no depende de lo que haga la máquina a la
vez; el reloj sí, y por eso se da la carga. Con ``--apunta``, la guía docente echa sus cuentas con
esto.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

sys.path[:] = [r for r in sys.path if Path(r).resolve() != Path(__file__).resolve().parent]
from calificador.jaula import encierro  # noqa: E402

RAIZ = Path(__file__).resolve().parents[1]
MEDIDO = RAIZ / "book" / "conjunto.json"
SALTO = 5  # de cada cinco capítulos, uno: el 0, el 5, el 10…
ENTORNO = {k: v for k, v in os.environ.items() if k != "ATENTO_CURSO"} | {"OMP_NUM_THREADS": "1"}


def entregas(carpeta: Path, personas: int) -> int:
    """Las soluciones de unos capítulos, de cada persona. Devuelve cuántos son."""
    soluciones = sorted((RAIZ / "solutions").glob("cap*.py"))[::SALTO]
    for i in range(personas):
        suya = carpeta / f"p{i:03d}"
        suya.mkdir(parents=True)
        for solucion in soluciones:
            texto = solucion.read_text("utf-8")
            (suya / solucion.name).write_text(f"{texto}\n# {i}\n", "utf-8")
    return len(soluciones)


def lote(carpeta: Path, salida: Path, *mas: str) -> tuple[float, float]:
    """Segundos de reloj y de procesador (de la orden y de lo que lanza) de un lote."""
    orden = [sys.executable, "-m", "calificador.uso.ordenes", "lote", str(carpeta), "--salida"]
    suyos = sorted((RAIZ / "solutions").glob("cap*.py"))[::SALTO]
    elegidos = [p for s in suyos for p in ("--ejercicio", str(int(s.stem[3:])))]
    orden += [str(salida), *elegidos, "--semilla", "s", "--nivel", "media", *mas]
    antes, comienzo = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    hecho = subprocess.run(orden, env=ENTORNO, capture_output=True, text=True, timeout=3600)
    pared = time.perf_counter() - comienzo
    _recoge_huerfanos()
    despues = resource.getrusage(resource.RUSAGE_CHILDREN)
    if hecho.returncode:
        sys.exit(f"el lote no salió entero: {hecho.stdout[-500:]}{hecho.stderr[-500:]}")
    gasto = despues.ru_utime + despues.ru_stime - antes.ru_utime - antes.ru_stime
    return pared, gasto


def _recoge_huerfanos() -> None:
    """Espera a los cigotos que quedan huérfanos al acabar la orden: si no, no se cuentan."""
    limite = time.monotonic() + 5
    with suppress(ChildProcessError):
        while time.monotonic() < limite:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.05)


@contextmanager
def conjunto(cuantos: int, carpeta: Path):
    """Un planificador y ``cuantos`` trabajadores; da la dirección y los procesos de estos."""
    with socket.create_server(("127.0.0.1", 0)) as libre:
        puerto = libre.getsockname()[1]
    direccion = f"tcp://127.0.0.1:{puerto}"
    ordenes = [["dask_scheduler", "--host", "127.0.0.1", "--port", str(puerto)]]
    ordenes += [["dask_worker", direccion, "--nthreads", "1", "--no-nanny"]] * cuantos
    procesos = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{programa}", *mas, "--no-dashboard"],
            cwd=carpeta, env=ENTORNO, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        for programa, *mas in ordenes
    ]  # fmt: skip
    try:
        yield direccion, [psutil.Process(p.pid) for p in procesos[1:]]
    finally:
        for proceso in procesos:
            proceso.kill()
            proceso.wait(timeout=20)


def gastado(trabajadores: list[psutil.Process]) -> float:
    """Segundos de procesador de unos trabajadores, de sus cigotos y de las entregas acabadas."""
    familia = [p for t in trabajadores for p in (t, *t.children(recursive=True))]
    return sum(sum(p.cpu_times()[:4]) for p in familia)


def con_trabajadores(cuantos: int, raiz: Path, personas: int) -> dict[str, float]:
    """El mismo lote con ``cuantos`` trabajadores que ya corrigieron algo."""
    with conjunto(cuantos, raiz) as (direccion, trabajadores):
        en = ("--en", direccion)
        entregas(raiz / f"previo{cuantos}", 3 * cuantos)  # que les toque a todos
        lote(raiz / f"previo{cuantos}", raiz / f"notas-previo{cuantos}", *en)
        antes = gastado(trabajadores)
        pared, _ = lote(raiz / "E", raiz / f"N{cuantos}", *en)
        cpu = gastado(trabajadores) - antes
    return {"pared": round(pared, 1), "cpu": round(cpu, 1), "personas": personas}


def mide(personas: int) -> dict[str, object]:
    """Todo lo que la guía necesita."""
    with tempfile.TemporaryDirectory() as carpeta:
        raiz = Path(carpeta)
        capitulos = entregas(raiz / "E", personas)
        entregas(raiz / "una", 1)
        _, arranque = lote(raiz / "una", raiz / "nota", "--trabajos", "1")
        con = {str(n): con_trabajadores(n, raiz, personas) for n in (1, 2)}
        # De un trabajador que ya ha arrancado.
        por_capitulo = con["1"]["cpu"] / personas / capitulos
        return {
            "capitulos_medidos": capitulos,
            "por_capitulo": round(por_capitulo, 3),
            "arranque": round(arranque - por_capitulo * capitulos, 1),
            "trabajadores": con,
            "carga": round(os.getloadavg()[0], 1),
            "nucleos": os.cpu_count(),
        }  # fmt: skip


def main() -> None:
    """Mide, lo enseña y, si se pide, lo apunta."""
    opciones = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    opciones.add_argument("--personas", type=int, default=6)
    opciones.add_argument("--apunta", action="store_true", help="lo guarda para la guía docente")
    elegido = opciones.parse_args()
    encierro.adopta_huerfanos()
    texto = json.dumps(mide(elegido.personas), indent=1) + "\n"
    print(texto, end="")
    if elegido.apunta:
        MEDIDO.write_text(texto, encoding="utf-8")


if __name__ == "__main__":
    main()
