"""Lo que no debe quedar en ningún fichero: rutas de una máquina, hosts de registros de paquetes,
secretos.
"""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest
from myst import RAIZ, informe, relativa

# Los patrones se escriben partidos para que este fichero no se cace a sí mismo.
PROHIBIDO = {
    "ruta de una máquina": r"(?<![\w.])/(?:"
    + "|".join(["wo" + "rk", "ho" + "me/\\w+", "ro" + "ot", "Us" + "ers/\\w+"])
    + r")(?:/|\b)|[A-Z]:\\\\?Us"
    + r"ers",
    "carpeta del taller": r"\.\./sha" + r"red\b",
    "host de un registro": r"https?://[\w.:@-]*(?:"
    + "|".join(
        [
            "pythonhos" + "ted",
            "arti" + "factory",
            "nex" + "us",
            "regis" + "try\\.npm",
            "npm" + "js\\.org/-",
            "py" + "pi\\.org/simple",
            "/sim" + "ple/?$",
            "jf" + "rog",
            "dev" + "pi",
        ]
    )
    + ")",
    # El de PyTorch para procesador es público, y es el que PyTorch documenta.
    "índice de paquetes propio": r"(?:--(?:extra-)?ind"
    + r"ex-url(?! https://download\.pytorch\.org/whl/cpu\b)|PIP_IND"
    + r"EX_URL|trus"
    + r"ted-host)",
    "dirección privada": r"https?://(?:10|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.[\d.]+",
    "secreto": r"(?:ghp_|sk-ant-|AKIA)[A-Za-z0-9]{10,}",
}
MAXIMO = 400_000


EJECUTAN = {f"subprocess.{x}" for x in ("run", "call", "check_call", "check_output")}


def faltas_de_texto(texto: str) -> list[str]:
    """Lo prohibido que hay en un texto, con su línea."""
    faltas = []
    for que, patron in PROHIBIDO.items():
        for hallado in re.finditer(patron, texto, re.M):
            faltas.append(f"{texto.count(chr(10), 0, hallado.start()) + 1}: {que}: {hallado[0]}")
    return faltas


def sin_plazo(codigo: str) -> list[int]:
    """Las líneas que ejecutan un proceso o esperan a que acabe sin decir cuánto como mucho."""
    faltas = []
    for nodo in ast.walk(ast.parse(codigo)):
        if not isinstance(nodo, ast.Call) or not isinstance(nodo.func, ast.Attribute):
            continue
        opciones = {opcion.arg for opcion in nodo.keywords}
        ejecuta = ast.unparse(nodo.func) in EJECUTAN and not opciones & {"timeout", None}
        espera = nodo.func.attr in ("wait", "communicate") and not (nodo.args or opciones)
        if ejecuta or espera:
            faltas.append(nodo.lineno)
    return faltas


def ficheros() -> list[Path]:
    """Ficheros del repositorio: los de git y los nuevos que git no ignora."""
    orden = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    hecho = subprocess.run(orden, cwd=RAIZ, capture_output=True, check=False, timeout=60)
    if hecho.returncode:
        pytest.skip("no es un repositorio de git")
    return sorted(RAIZ / n for n in hecho.stdout.decode().split("\0") if n and (RAIZ / n).is_file())


def test_sin_restos() -> None:
    faltas = []
    for ruta in ficheros():
        if ruta.stat().st_size > MAXIMO:
            continue
        datos = ruta.read_bytes()
        if b"\0" not in datos[:4096]:
            faltas += [
                f"{relativa(ruta)}:{x}" for x in faltas_de_texto(datos.decode("utf-8", "replace"))
            ]
    assert not faltas, informe(faltas)


def test_todo_proceso_tiene_plazo() -> None:
    faltas = [
        f"{relativa(ruta)}:{linea}: sin plazo"
        for ruta in ficheros()
        if ruta.suffix == ".py"
        for linea in sin_plazo(ruta.read_text(encoding="utf-8"))
    ]
    assert not faltas, informe(faltas)


def test_caza_procesos_sin_plazo() -> None:
    malas = ("subprocess.run(orden, check=True)", "proceso.wait()", "p.communicate()",
             "subprocess.check_output(orden)")  # fmt: skip
    buenas = ("subprocess.run(orden, timeout=3)", "proceso.wait(5)", "p.communicate(timeout=9)",
              "subprocess.run(orden, **opciones)", "run()")  # fmt: skip
    assert [sin_plazo(f"x = 1\n{mala}\n") for mala in malas] == [[2]] * len(malas)
    assert not any(map(sin_plazo, buenas))


def test_caza_restos() -> None:
    for malo in [
        "/wo" + "rk/main/x",
        "/ho" + "me/ana/x",
        "C:\\\\Us" + "ers\\\\x",
        "../sha" + "red/x.md",
        "https://files.pythonhos" + "ted.org/x",
        "https://regis" + "try.npmjs.org/x",
        "pip install --ind" + "ex-url x",
        "pip install --ind" + "ex-url https://download.pytorch.org.otro/whl/cpu",
        "https://1" + "0.0.0.3/simple",
        "https://x/sim" + "ple/",
    ]:
        assert faltas_de_texto(f"una línea\ncon {malo}") and faltas_de_texto(f"a\n{malo}")[
            0
        ].startswith("2:"), malo
    assert not faltas_de_texto("--ind" + "ex-url https://download.pytorch.org/whl/cpu torch")
    assert not faltas_de_texto(
        "https://pypi.org/project/torch y el trabajo en /tmp/x, un network/work y make libro"
    )
