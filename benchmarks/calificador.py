"""Las cifras del calificador: lo que tarda un ejercicio, un lote con entregas hostiles y lo que
resiste.

    python benchmarks/calificador.py [--rapido] [--otter]

``--otter`` instala otter-grader en un entorno propio y corrige con él la misma tarea. Las cifras
dependen de la máquina: se dan con el número de núcleos y la carga, y conviene medir sin otro
trabajo.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

RAIZ = Path(__file__).resolve().parents[1]
CURSO = RAIZ / "tests" / "calificador" / "curso"
ATAQUES = RAIZ / "tests" / "calificador" / "ataques"
HOSTILES = (
    "bucle al importar",
    "50 procesos con setsid",
    "200 MiB de salida",
    "os._exit en llamada",
    "2 GiB de golpe",
)
SIN_CURSO = {k: v for k, v in os.environ.items() if k != "ATENTO_CURSO"}
consola = Console()
sys.path[:] = [
    r for r in sys.path if Path(r).resolve() != RAIZ / "benchmarks"
]  # este fichero se llama como el paquete
from calificador.jaula import encierro  # noqa: E402


def ataques() -> dict[str, str]:
    """Los de la lista de las pruebas, por nombre."""
    secciones = [
        s for f in sorted(ATAQUES.glob("*.txt")) for s in f.read_text("utf-8").split("# %% ")[1:]
    ]
    datos = "CEBO = '/nada'\nVEDADOS = RUTAS = []\nPADRE = 1\nPUERTO = 9\n"
    return {s.partition("\n")[0]: datos + s.partition("\n")[2] for s in secciones}


def mediana(funcion, veces: int) -> float:
    """Segundos de ``funcion()``, mediana de ``veces``."""
    tiempos = []
    for _ in range(veces):
        comienzo = time.perf_counter()
        funcion()
        tiempos.append(time.perf_counter() - comienzo)
    return statistics.median(tiempos)


def cpu_de(orden: list[str], carpeta: str | Path) -> float:
    """Segundos de procesador de una orden y de todo lo que lanza; no dependen de lo que haga la
    máquina a la vez.
    """
    encierro.adopta_huerfanos()  # al cigoto de un trabajador lo deja huérfano quien mata a este
    antes = resource.getrusage(resource.RUSAGE_CHILDREN)
    hecho = subprocess.run(orden, cwd=carpeta, capture_output=True, timeout=900, env=SIN_CURSO)
    if hecho.returncode:
        sys.exit(f"la orden no salió bien: {hecho.stdout[-500:]}{hecho.stderr[-500:]}")
    limite = time.monotonic() + 20
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < limite:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.02)
    despues = resource.getrusage(resource.RUSAGE_CHILDREN)
    return despues.ru_utime + despues.ru_stime - antes.ru_utime - antes.ru_stime


def _cpu_de_los_dos(pid: int) -> float:
    """Procesador gastado por quien corrige, su cigoto y las entregas ya acabadas."""
    return time.process_time() + sum(psutil.Process(pid).cpu_times()[:4])


def un_ejercicio(tabla: Table, veces: int) -> None:
    """En caliente, en cada nivel, y sin protección."""
    from calificador import carga
    from calificador.correccion import examen, oraculo
    from calificador.jaula import canal

    curso = carga.curso_en(str(CURSO))
    ejercicio, fuente = curso.ejercicios["91.1"], curso.solucion(91)
    preparado = examen.prepara(curso, ejercicio, 1)
    suelo = mediana(lambda: oraculo.verifica(ejercicio, fuente, 1, examen=preparado), veces)
    tabla.add_row("un ejercicio, en el propio proceso, sin jaula", f"{1000 * suelo:.1f} ms", "")
    for nivel, meta in (("basica", ""), ("media", "≤ 60 ms (p90)"), ("fuerte", "")):
        motivo = canal.prueba_nivel(nivel)
        if motivo:
            tabla.add_row(f"un ejercicio, en caliente, {nivel}", "no disponible", motivo)
            continue
        with oraculo.Corrector(nivel, 1, del_curso=curso) as corrector:
            corrector.califica(ejercicio, fuente)
            antes = _cpu_de_los_dos(corrector.pid)
            tardanza = mediana(lambda c=corrector: c.califica(ejercicio, fuente), veces)
            cpu = (_cpu_de_los_dos(corrector.pid) - antes) / veces
        medido = f"{1000 * cpu:.0f} ms de CPU, {1000 * tardanza:.0f} ms"
        tabla.add_row(f"un ejercicio, en caliente, {nivel}", medido, meta)


def en_frio(tabla: Table, veces: int) -> None:
    """La orden entera con el curso del libro, de la línea de órdenes a la nota."""
    with tempfile.TemporaryDirectory() as carpeta:
        mios = Path(carpeta) / "mis-ejercicios"
        mios.mkdir()
        for solucion in (RAIZ / "solutions").glob("cap*.py"):
            (mios / solucion.name).write_text(solucion.read_text("utf-8"), "utf-8")
        for que, meta in (("4.1", "≤ 2.5 s"), ("4.2", "≤ 2.5 s"), ("4", "")):
            orden = [sys.executable, "-m", "calificador.uso.ordenes", "calificar", que]
            cpu = statistics.median(cpu_de(orden, carpeta) for _ in range(veces))
            tabla.add_row(f"atento calificar {que}, en frío", f"{cpu:.2f} s de CPU", meta)


def cien_por_ocho(tabla: Table, cuantas: int) -> None:
    """``cuantas`` entregas de ocho ejercicios con un trabajador."""
    with tempfile.TemporaryDirectory() as raiz:
        entregas = Path(raiz) / "E"
        entregas.mkdir()
        buena = (RAIZ / "solutions" / "cap04.py").read_text("utf-8")
        for i in range(cuantas):
            (entregas / f"p{i:03d}_cap04.py").write_text(f"{buena}\n# {i}\n", "utf-8")
        orden = [
            sys.executable,
            "-m",
            "calificador.uso.ordenes",
            "lote",
            str(entregas),
            "--salida",
            f"{raiz}/N",
        ]
        orden += [p for n in range(1, 9) for p in ("--ejercicio", f"4.{n}")]
        cpu = cpu_de([*orden, "--trabajos", "1", "--semilla", "s", "--nivel", "media"], raiz)
    tabla.add_row(
        f"{cuantas} entregas de 8 ejercicios, 1 trabajador", f"{cpu:.1f} s de CPU", "≤ 25 s (100)"
    )


def prepara_lote(carpeta: Path, cuantas: int) -> None:
    """``cuantas`` entregas de un ejercicio; una de cada veinte, hostil."""
    buena, malas = (CURSO / "solutions" / "cap91.py").read_text("utf-8"), ataques()
    carpeta.mkdir()
    for i in range(cuantas):
        texto = malas[HOSTILES[i // 20 % len(HOSTILES)]] if i % 20 == 7 else buena
        (carpeta / f"p{i:03d}_cap91.py").write_text(f"{texto}\n# {i}\n", "utf-8")


def orden_de_lote(entregas: Path, salida: Path) -> list[str]:
    """La orden que corrige un ejercicio con dos trabajadores."""
    orden = [
        sys.executable,
        "-m",
        "calificador.uso.ordenes",
        "lote",
        str(entregas),
        "--salida",
        str(salida),
    ]
    return orden + ["--ejercicio", "91.1", "--trabajos", "2", "--semilla", "s", "--nivel", "media"]


def puntos(salida: Path) -> dict[str, int]:
    """Entrega → puntos."""
    from calificador.uso.lote import lee_notas

    return {c.id: c.puntos for c in lee_notas(salida)}


def un_lote(tabla: Table, cuantas: int) -> None:
    """Seguido, y con tres ``kill -9``: las notas han de ser las mismas."""
    with tempfile.TemporaryDirectory() as raiz:
        entregas, seguido, cortado = (Path(raiz) / n for n in ("E", "seguido", "cortado"))
        prepara_lote(entregas, cuantas)
        comienzo = time.perf_counter()
        subprocess.run(orden_de_lote(entregas, seguido), capture_output=True, timeout=900)
        tardanza = time.perf_counter() - comienzo
        for _ in range(3):
            with subprocess.Popen(
                orden_de_lote(entregas, cortado),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            ) as proceso:
                time.sleep(tardanza / 4)
                proceso.kill()
        subprocess.run(orden_de_lote(entregas, cortado), capture_output=True, timeout=900)
        notas = puntos(seguido)
        tabla.add_row(
            f"{cuantas} entregas, 5 % hostiles, 2 trabajadores", f"{tardanza:.1f} s", "≤ 25 s (300)"
        )
        falsas = sum(p > 0 for i, p in enumerate(notas.values()) if i % 20 == 7)
        honradas = sum(p == 4 for i, p in enumerate(notas.values()) if i % 20 != 7)
        tabla.add_row("  hostiles con puntos", str(falsas), "0")
        tabla.add_row(
            "  honradas con todo", f"{honradas}/{cuantas - len(range(7, cuantas, 20))}", "todas"
        )
        tabla.add_row(
            "  tras tres kill -9, las mismas notas",
            "sí" if puntos(cortado) == notas else "NO",
            "sí",
        )


def los_ataques(tabla: Table) -> None:
    """Cuántos consiguen algún punto, en cada nivel."""
    from calificador import carga
    from calificador.correccion.oraculo import Corrector
    from calificador.jaula import canal
    from calificador.jaula.encierro import Limites

    curso = carga.curso_en(str(CURSO))
    limites = Limites(carga=2, caso=1.5, total=2.5, cpu=4)
    for nivel in ("media", "fuerte"):
        if canal.prueba_nivel(nivel):
            continue
        with Corrector(nivel, 1, del_curso=curso, limites=limites) as corrector:
            notas = [
                corrector.califica(curso.ejercicios["91.1"], a).puntos for a in ataques().values()
            ]
        tabla.add_row(
            f"ataques con algún punto, {nivel}", f"{sum(n > 0 for n in notas)} de {len(notas)}", "0"
        )


def los_correctores(tabla: Table) -> None:
    """Referencias, esqueletos y mutantes de todos los ejercicios, con cinco semillas."""
    from calificador import carga
    from calificador.correccion.examen import prepara
    from calificador.correccion.oraculo import verifica

    bien = {
        "referencias con todo": [0, 0],
        "esqueletos con nada": [0, 0],
        "mutantes con su pista": [0, 0],
    }
    libro = carga.curso_en("")
    for ejercicio in libro.ejercicios.values():
        for semilla in range(5):
            examen = prepara(libro, ejercicio, semilla)
            solucion, esqueleto = (
                libro.solucion(ejercicio.capitulo),
                libro.esqueleto(ejercicio.capitulo),
            )
            hechos = [
                (
                    "referencias con todo",
                    verifica(ejercicio, solucion, semilla, examen=examen).estado == "superado",
                )
            ]
            hechos += [
                (
                    "esqueletos con nada",
                    verifica(ejercicio, esqueleto, semilla, examen=examen).puntos == 0,
                )
            ]
            for mutante in ejercicio.mutantes:
                resultado = verifica(ejercicio, examen.codigo(mutante), semilla, examen=examen)
                acierto = resultado.pista == mutante.pista and resultado.puntos < ejercicio.puntos
                hechos.append(("mutantes con su pista", acierto))
            for nombre, acierto in hechos:
                bien[nombre][0] += acierto
                bien[nombre][1] += 1
    for nombre, (si, total) in bien.items():
        tabla.add_row(nombre, f"{si} de {total}", "todos")


# --- otter-grader, al lado ------------------------------------------------------------------------

PRUEBA_DE_OTTER = """OK_FORMAT = True
test = {"name": "q1", "points": 1, "suites": [{"type": "doctest", "scored": True, "cases": [
    {"code": ">>> output_shape(2, 3, 4) == (2, 4)\\nTrue", "hidden": False, "locked": False}]}]}
"""
TRAMPA = (
    "class T(tuple):\n    def __eq__(self, o): return True\ndef output_shape(a, b, c):\n    return"
    " T()\n"
)


def con_otter(tabla: Table) -> None:
    """La misma función, corregida por otter en su propio entorno: tiempo, y si una trampa de dos
    líneas le vale.
    """
    with tempfile.TemporaryDirectory() as raiz:
        base = Path(raiz)
        python = base / "venv" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", base / "venv"], check=True, timeout=300)
        instala = subprocess.run(
            [python, "-m", "pip", "install", "-q", "otter-grader", "ipykernel"],
            capture_output=True,
            timeout=900,
        )
        if instala.returncode:
            tabla.add_row("otter-grader", "no se pudo instalar", "")
            return
        (base / "tests").mkdir()
        (base / "tests" / "q1.py").write_text(PRUEBA_DE_OTTER)
        for nombre, codigo in (
            ("honrada", "def output_shape(a, b, c):\n    return (a, c)\n"),
            ("trampa", TRAMPA),
        ):
            guion = (
                f"import time, json, otter\n{codigo}\nc = time.perf_counter()\ng ="
                " otter.Notebook(tests_dir='tests')\nr = g.check('q1',"
                " global_env=globals())\nprint(json.dumps([time.perf_counter() - c, r.grade if"
                " hasattr(r, 'grade') else float(r.score)]))\n"
            )
            (base / "guion.py").write_text(guion)
            hecho = subprocess.run(
                [python, "guion.py"], cwd=base, capture_output=True, text=True, timeout=900
            )
            try:
                segundos, nota = json.loads(hecho.stdout.splitlines()[-1])
            except (IndexError, ValueError):
                tabla.add_row(
                    f"otter-grader, {nombre}",
                    "no se entiende su salida",
                    hecho.stderr.strip()[-80:],
                )
                continue
            tabla.add_row(f"otter-grader, {nombre}", f"{1000 * segundos:.0f} ms, nota {nota:g}", "")


def main() -> None:
    """Mide y enseña la tabla."""
    opciones = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    opciones.add_argument(
        "--rapido", action="store_true", help="menos repeticiones y un lote de 60"
    )
    opciones.add_argument(
        "--otter", action="store_true", help="compara con otter-grader (lo instala aparte)"
    )
    elegido = opciones.parse_args()
    os.environ["ATENTO_CURSO"] = str(CURSO)
    import torch

    torch.set_num_threads(1)
    carga_media = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    tabla = Table(title=f"Calificador: {os.cpu_count()} núcleos, carga {carga_media:.1f}")
    for columna in ("qué", "medido", "meta"):
        tabla.add_column(columna)
    un_ejercicio(tabla, 5 if elegido.rapido else 30)
    en_frio(tabla, 1 if elegido.rapido else 5)
    cien_por_ocho(tabla, 20 if elegido.rapido else 100)
    un_lote(tabla, 60 if elegido.rapido else 300)
    los_ataques(tabla)
    los_correctores(tabla)
    if elegido.otter:
        con_otter(tabla)
    consola.print(tabla)


if __name__ == "__main__":
    main()
