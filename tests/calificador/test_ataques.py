"""Nadie se pone la nota: cada ataque se corrige en media y en fuerte, y la entrega siguiente sale
bien.

Cada ataque define ``masked_softmax`` mal y trata de conseguir puntos, quedarse vivo, salir de su
carpeta o estropear al corrector. Después de cada uno se comprueba que no tiene ni un punto, que no
queda ningún proceso, que los ficheros de fuera están como estaban y que una entrega honrada obtiene
todo.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

import psutil
import pytest

from calificador.jaula import canal
from calificador.jaula.encierro import Limites


def _lee_ataques() -> dict[str, str]:
    """Los ataques, uno por sección ``# %% nombre``, en los tres ficheros de la carpeta
    ``ataques``."""
    ataques = {}
    for fichero in sorted((Path(__file__).parent / "ataques").glob("*.txt")):
        for seccion in fichero.read_text(encoding="utf-8").split("# %% ")[1:]:
            nombre, _, codigo = seccion.partition("\n")
            ataques[nombre] = codigo
    return ataques


ATAQUES = _lee_ataques()

# La entrega termina bien su carga: el ataque fue rechazado por el sistema y lo que queda es una
# respuesta equivocada.
INOCUOS = {
    "monta y cambia de raíz",
    "lee lo que no debe",
    "señal de padre muerto",
    "vfork y clone directos",
}

# Cómo acaba cada ataque que el sistema corta: si el texto del ataque dejara de atacar, la prueba lo
# diría.
EFECTOS = {
    "JSON profundo": "no se entiende",
    "longitudes enormes": "demasiado grande",
    "falso fallo de jaula": "demasiado grande",
    "sys.exit": "SystemExit",
    "os._exit": "terminó su proceso",
    "os._exit en llamada": "terminó el proceso",
    "abort": "terminó el proceso",
    "segmento": "terminó el proceso",
    "2 GiB de golpe": "RuntimeError",
    "2 GiB a trozos": "MemoryError",
    "memoria en hijos": "PermissionError",
    "50 procesos con setsid": "PermissionError",
    "subprocess": "PermissionError",
    "fichero enorme": "OSError",
    "enchufe de red": "PermissionError",
    "enchufe unix": "PermissionError",
    "bucle al importar": "no contestó a tiempo",
    "bucle en llamada": "no terminó a tiempo",
    "duerme sin atender a SIGTERM": "no contestó a tiempo",
    "memoriza salidas": "se obtuvo",
    "pila y marcos de llamada": "se obtuvo",
    "mata al padre": "se obtuvo",
    "mata por todas las vías": "se obtuvo",
    "pickle en lo devuelto": "llegó P",
    "tensor cuantizado": "llegó un tensor cuantizado (quint8)",
    "dtype sin igual": "llegó una lista",
    "un millón de tensores": "terminó el proceso",
    "claves que chocan": "terminó el proceso",
    "infinito en una forma": "terminó el proceso",
    "complejo en BF16": "terminó el proceso",
    "campos de más": "terminó el proceso",
    "importa la solución": "se obtuvo",
    "lee la solución": "se obtuvo",
    "borra y escribe fuera": "se obtuvo",
}


@pytest.fixture
def fuera(tmp_path, curso):
    """Ficheros que nadie debe tocar: el cebo, la solución, el registro y los resultados de otra
    persona.
    """
    cebo = tmp_path / "cebo"
    resultado = tmp_path / "NOTAS" / "resultados" / "otra.json"
    resultado.parent.mkdir(parents=True)
    resultado.write_text('{"puntos": 1}')
    vigilados = [
        resultado,
        curso.soluciones / "cap91.py",
        curso.registro / "cap91.py",
        Path(canal.__file__),
    ]
    return cebo, vigilados


def _huella(rutas):
    return [
        (hashlib.sha256(r.read_bytes()).hexdigest(), r.stat().st_mode, r.stat().st_mtime_ns)
        for r in rutas
    ]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("nombre", ATAQUES)
def test_un_ataque_no_consigue_nada(nombre, corrector, curso, fuera, sin_lastre):
    cebo, vigilados = fuera
    ejercicio = curso.ejercicios["91.1"]
    rutas = [str(curso.soluciones), str(curso.registro), str(Path(canal.__file__).parent)]
    with socket.create_server(("127.0.0.1", 0)) as servidor:
        servidor.settimeout(0.01)
        datos = {
            "CEBO": str(cebo),
            "VEDADOS": [str(v) for v in vigilados],
            "RUTAS": rutas,
            "PADRE": os.getpid(),
            "PUERTO": servidor.getsockname()[1],
        }
        fuente = "".join(f"{k} = {v!r}\n" for k, v in datos.items()) + ATAQUES[nombre]
        antes = _huella(vigilados)
        comienzo, propio = time.monotonic(), time.process_time()
        resultado = corrector.califica(ejercicio, fuente)
        tardanza, propio = time.monotonic() - comienzo, time.process_time() - propio
        with pytest.raises(TimeoutError):
            servidor.accept()
    assert resultado.puntos == 0, f"{nombre}: {resultado}"
    # Con la máquina cargada, veinte segundos suyos son más.
    plazo = 20 * max(1.0, os.getloadavg()[0] / os.cpu_count())
    assert tardanza < plazo, f"{nombre}: tardó {tardanza:.1f} s"
    assert propio < 2, f"{nombre}: gastó {propio:.1f} s de quien corrige"
    assert psutil.Process(corrector.pid).children(recursive=True) == [], f"{nombre}: dejó procesos"
    assert not cebo.exists() and _huella(vigilados) == antes, f"{nombre}: tocó algo de fuera"
    assert not [
        c for r in (tempfile.gettempdir(), "/dev/shm") for c in Path(r).glob("calificador-cebo")
    ]
    assert not list(Path(tempfile.gettempdir()).glob(f"calificador-{os.getpid()}-*")), (
        f"{nombre}: dejó su carpeta"
    )
    if nombre in INOCUOS:
        assert "se obtuvo" in resultado.mensaje, f"{nombre}: {resultado.mensaje}"
    assert EFECTOS.get(nombre, "") in resultado.mensaje, f"{nombre}: {resultado.mensaje}"
    texto = str(resultado.como_json())
    assert "\x1b" not in texto and "no se pudo" not in resultado.mensaje.replace(
        "no se pudo cargar", ""
    )
    siguiente = corrector.califica(ejercicio, curso.solucion(91))
    assert siguiente.puntos == ejercicio.puntos, f"tras {nombre}: {siguiente}"


def test_el_entorno_va_limpio_y_no_hay_descriptores_de_mas(corrector, curso):
    os.environ["SECRETO_DE_PRUEBA"] = "x"
    fuente = """
import os
assert not {"SECRETO_DE_PRUEBA", "ATENTO_CURSO", "SSH_AUTH_SOCK", "USER"} & set(os.environ)
abiertos = []
for d in range(200):
    try:
        os.fstat(d)
        abiertos.append(d)
    except OSError:
        pass
assert abiertos == [0, 1, 2, 3, 4], abiertos
"""
    try:
        resultado = corrector.califica(curso.ejercicios["91.1"], fuente + curso.solucion(91))
    finally:
        del os.environ["SECRETO_DE_PRUEBA"]
    assert resultado.estado == "superado", resultado


def test_el_cigoto_no_lleva_el_registro_ni_hilos_de_mas(corrector):
    proceso = psutil.Process(corrector.pid)
    assert proceso.num_threads() == 1
    fuente = (
        "import sys\ndef masked_softmax(s, m):\n    n = [x for x in sys.modules if"
        " x.startswith('calificador')]\n    raise RuntimeError(' '.join(sorted(n)))\n"
    )
    corrector.con_texto = True
    try:
        dicho = corrector.califica(corrector.curso.ejercicios["91.1"], fuente).mensaje
    finally:
        corrector.con_texto = False
    assert "calificador.jaula.alumno" in dicho
    assert not {
        "calificador.correccion.oraculo",
        "calificador.correccion.examen",
        "calificador.carga",
    } & set(dicho.split())


def test_un_padre_muerto_no_deja_nada(nivel, tmp_path):
    """``kill -9`` al corrector con una entrega colgada: mueren el cigoto y la entrega."""
    import signal
    import subprocess
    import sys

    guion = (
        "import sys\nfrom calificador import carga\nfrom calificador.correccion.oraculo import"
        f" Corrector\nc = Corrector({nivel!r}, 's')\nprint(c.pid,"
        " flush=True)\nc.califica(carga.curso().ejercicios['91.1'], 'while True: pass\\n')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", guion], stdout=subprocess.PIPE, text=True
    ) as proceso:
        cigoto = psutil.Process(int(proceso.stdout.readline()))
        limite = time.monotonic() + 100  # con la máquina cargada, importar torch tarda
        while not cigoto.children() and time.monotonic() < limite:
            time.sleep(0.05)
        todos = [cigoto, *cigoto.children(recursive=True)]
        assert len(todos) >= 2
        os.kill(proceso.pid, signal.SIGKILL)
        _, vivos = psutil.wait_procs(todos, timeout=5)
    assert vivos == []


def test_un_cigoto_muerto_no_deja_entregas(nivel):
    """``kill -9`` solo al cigoto: nadie cierra ya la entrega, y muere con él."""
    cigoto = canal.arranca(nivel)
    with contextlib.ExitStack() as al_final:
        al_final.callback(cigoto.cierra)
        abierta = cigoto.abre(Limites())
        al_final.callback(abierta.cierra)
        al_final.callback(shutil.rmtree, abierta.carpeta)  # nadie más la borra ya
        saludo = {"orden": "analiza", "celdas": [], "nombre": "x", "prohibido": []}
        abierta.pide(saludo, {}, 20)  # contesta ya desde dentro de la jaula
        cigoto = psutil.Process(cigoto.pid)
        hijos = cigoto.children(recursive=True)
        assert hijos
        cigoto.kill()
        _, vivos = psutil.wait_procs(hijos, timeout=5)
        for hijo in vivos:
            hijo.kill()
    assert vivos == []


def test_se_barren_las_carpetas_de_procesos_muertos():
    huerfana = Path(tempfile.mkdtemp(prefix="calificador-4194303-"))
    (huerfana / "resto").write_text("x")
    canal.barre()
    assert not huerfana.exists()


def test_se_recoge_a_quien_se_mata():
    """No queda de zombi; y si el sistema tarda en enterrarlo, no se cae la corrección."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as matado:
        matado.kill()
        canal.recoge(matado)
        assert matado.returncode == -9
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as lento:
        with pytest.MonkeyPatch.context() as parche:
            parche.setattr(lento, "wait", mock.Mock(side_effect=subprocess.TimeoutExpired("x", 5)))
            canal.recoge(lento)
        lento.kill()
