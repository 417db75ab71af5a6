"""Los procesos con plazo y las órdenes que los usan."""

import json
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import psutil
import pytest
from rich.console import Console

import procesos
import prueba
from cuidar import procesadores
from cuidar.sellos import duraciones
from paginas.ejecutar import LIMITE_CELDA
from procesos import INTERRUMPIDO, PLAZO_VENCIDO, corre, en_marcha, principal, termina

CON_HIJO = """
import subprocess, sys, time
hijo = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(hijo.pid, flush=True)
time.sleep(60)
"""


def test_devuelve_el_estado():
    assert [corre([sys.executable, "-c", f"raise SystemExit({n})"], 30) for n in (0, 3)] == [0, 3]


def test_al_vencer_el_plazo_no_queda_nadie(tmp_path, capfd):
    inicio = time.monotonic()
    with (tmp_path / "pid").open("w") as salida:
        assert corre([sys.executable, "-c", CON_HIJO], 2, stdout=salida) == PLAZO_VENCIDO
    assert time.monotonic() - inicio < 20 and "No ha terminado en 2 s" in capfd.readouterr().err
    _espera_que_muera(int((tmp_path / "pid").read_text()))


def test_sin_grupos_de_procesos_tampoco_queda_nadie(tmp_path, monkeypatch):
    """Como en Windows, donde no hay ``killpg`` ni SIGKILL."""
    monkeypatch.delattr(os, "killpg")
    sin_sigkill = {k: v for k, v in vars(signal).items() if k != "SIGKILL"}
    monkeypatch.setattr(procesos, "signal", SimpleNamespace(**sin_sigkill))
    with (tmp_path / "pid").open("w") as salida:
        assert corre([sys.executable, "-c", CON_HIJO], 2, stdout=salida) == PLAZO_VENCIDO
    _espera_que_muera(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("con_psutil", [True, False])
def test_sin_grupos_se_acaba_con_quien_ya_no_esta_o_sin_con_que_mirar(monkeypatch, con_psutil):
    monkeypatch.delattr(os, "killpg")
    if not con_psutil:
        monkeypatch.setitem(sys.modules, "psutil", None)
    for programa in ("import time; time.sleep(60)", ""):
        with subprocess.Popen([sys.executable, "-c", programa]) as proceso:
            if not programa:
                proceso.wait(20)
            termina(proceso)
        assert proceso.returncode == (-9 if programa else 0)


def _espera_que_muera(pid):
    fin = time.monotonic() + 5  # el aviso ya está dado; con la máquina ocupada tarda en morir
    while (vivo := _vive(pid)) and time.monotonic() < fin:
        time.sleep(0.05)
    assert not vivo


def _vive(pid):
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_se_acaba_tambien_con_quien_no_atiende(tmp_path):
    terco = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    inicio = time.monotonic()
    assert corre([sys.executable, "-c", terco], 1) == PLAZO_VENCIDO
    assert 5 < time.monotonic() - inicio < 10  # con SIGKILL no se espera otro plazo


RECOGE = """
import signal, subprocess, sys, time
def recoge(*_):
    print("recogido", flush=True)
    raise SystemExit(7)
TERCO = '''
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ya", flush=True)
time.sleep(60)
'''
hijo = subprocess.Popen([sys.executable, "-c", TERCO], stdout=subprocess.PIPE)
hijo.stdout.readline()
signal.signal(signal.SIGTERM, recoge)
print(hijo.pid, flush=True)
time.sleep(60)
"""


def test_antes_de_matar_se_avisa_y_quien_atiende_recoge_lo_suyo():
    """Y con el hijo que no atiende se acaba igual, sin esperarlo."""
    orden = [sys.executable, "-c", RECOGE]
    with subprocess.Popen(
        orden, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as proceso:
        hijo = int(proceso.stdout.readline())
        inicio = time.monotonic()
        termina(proceso)
        assert time.monotonic() - inicio < 4.5  # los cinco segundos son de quien no atiende
        assert proceso.returncode == 7 and proceso.stdout.readline() == "recogido\n"
    _espera_que_muera(hijo)


INTERRUMPIBLE = """
import sys, time
from procesos import corre, principal
DORMILON = "print('ya', flush=True); import time; time.sleep(60)"
principal(lambda: corre([sys.executable, "-c", DORMILON], 50))
"""


@pytest.mark.parametrize("sin_atender", [False, True])
def test_ctrl_c_acaba_con_una_linea(sin_atender):
    antes = (lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)) if sin_atender else None
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUMPIBLE],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=antes,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as proceso:
        assert proceso.stdout.readline() == "ya\n"
        proceso.send_signal(signal.SIGINT)
        _, error = proceso.communicate(timeout=30)
    assert proceso.returncode == INTERRUMPIDO
    assert error.strip().startswith("Interrumpido") and "Traceback" not in error


RECIEN_NACIDO = """
import os, signal, subprocess, sys
from procesos import corre, principal

class Nace(subprocess.Popen):
    def __init__(self, *args, **opciones):
        super().__init__(*args, **opciones)
        print(self.pid, flush=True)
        os.kill(os.getpid(), signal.{aviso})

subprocess.Popen = Nace
principal(lambda: corre([sys.executable, "-c", "import time; time.sleep(60)"], 50))
"""


@pytest.mark.parametrize("aviso, estado", [("SIGINT", INTERRUMPIDO), ("SIGTERM", 143)])
def test_un_aviso_al_nacer_no_deja_suelto_a_nadie(aviso, estado):
    """El aviso llega con el proceso lanzado y antes de que nadie lo tenga en la mano."""
    visto = subprocess.run(
        [sys.executable, "-c", RECIEN_NACIDO.format(aviso=aviso)],
        capture_output=True,
        text=True,
        timeout=40,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert visto.returncode == estado, visto.stderr
    assert "Traceback" not in visto.stderr
    _espera_que_muera(int(visto.stdout.split()[0]))


def test_despues_se_atiende_como_antes_y_desde_un_hilo_tambien_se_lanza():
    antes = [signal.getsignal(aviso) for aviso in (signal.SIGINT, signal.SIGTERM)]
    with ThreadPoolExecutor() as hilos:  # a un hilo no le llegan avisos, ni puede cambiarlos
        assert hilos.submit(corre, [sys.executable, "-c", "raise SystemExit(3)"], 30).result() == 3
    with pytest.raises(FileNotFoundError):
        corre([sys.executable + "-que-no-esta"], 30)
    assert [signal.getsignal(aviso) for aviso in (signal.SIGINT, signal.SIGTERM)] == antes


def test_al_salir_del_bloque_no_queda_lo_que_estaba_en_marcha(tmp_path):
    with pytest.raises(RuntimeError, match="plantado"), (tmp_path / "pid").open("w") as salida:
        with en_marcha([sys.executable, "-c", CON_HIJO], 60, stdout=salida):
            _espera_escrito(tmp_path / "pid")
            raise RuntimeError("plantado")
    _espera_que_muera(int((tmp_path / "pid").read_text()))
    with (tmp_path / "otro").open("w") as salida:
        with en_marcha([sys.executable, "-c", CON_HIJO], 60, stdout=salida):  # sin esperarlo
            _espera_escrito(tmp_path / "otro")
    _espera_que_muera(int((tmp_path / "otro").read_text()))


def _espera_escrito(ruta):
    fin = time.monotonic() + 30
    while not ruta.read_text().endswith("\n"):
        assert time.monotonic() < fin
        time.sleep(0.05)


CON_NIETO = f"""
import sys
from procesos import corre, principal
principal(lambda: corre([sys.executable, "-c", {CON_HIJO!r}], 50))
"""


def test_quien_recibe_sigterm_no_deja_a_nadie_detras():
    with subprocess.Popen(
        [sys.executable, "-c", CON_NIETO],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as proceso:
        pid = int(proceso.stdout.readline())
        proceso.terminate()
        assert proceso.wait(timeout=30) == 128 + signal.SIGTERM
    _espera_que_muera(pid)


def test_principal_deja_pasar_lo_demas():
    with pytest.raises(SystemExit, match="hola"):
        principal(lambda: sys.exit("hola"))


# --- make prueba ----------------------------------------------------------------------------------


def _paso(codigo):
    return [
        sys.executable,
        "-c",
        f"import os; assert os.environ['X'] == 'y'; raise SystemExit({codigo})",
    ]


def test_se_hacen_todos_los_pasos_y_se_cuentan_los_fallos():
    consola = Console(record=True, width=100, file=open(os.devnull, "w"))  # noqa: SIM115
    fallos = prueba.ejecuta(
        {"uno": _paso(0), "dos": _paso(5), "tres": _paso(0), "cuatro": _paso(1)}, consola, X="y"
    )
    assert fallos == ["dos", "cuatro"]
    resumen = consola.export_text()
    assert resumen.count("FALLA") == 2 and resumen.count("bien") == 2


def test_el_que_va_al_lado_se_hace_a_la_vez_y_se_ensena_entero_cuando_acaba(tmp_path):
    """Cada uno espera a la señal del otro: de uno en uno, ninguno acabaría."""
    esperan = """
import pathlib, sys, time
mio, suyo = map(pathlib.Path, sys.argv[1:3])
mio.touch()
fin = time.monotonic() + 60
while not suyo.exists():
    assert time.monotonic() < fin, "solo"
    time.sleep(0.05)
print("dice", mio.name)
"""
    uno, otro = str(tmp_path / "uno"), str(tmp_path / "otro")
    consola = Console(record=True, width=100, file=open(os.devnull, "w"))  # noqa: SIM115
    ordenes = {
        "primero": _paso(0),
        "fondo": [sys.executable, "-c", esperan, uno, otro],
        "delante": [sys.executable, "-c", esperan, otro, uno],
        "último": [sys.executable, "-c", f"import os; assert os.path.exists({uno!r})"],
    }
    assert prueba.ejecuta(ordenes, consola, al_lado=("fondo",), X="y") == []
    lineas = consola.export_text().splitlines()
    # Bajo su raya, no mezclado con lo del otro.
    [puesto] = [n for n, linea in enumerate(lineas) if linea == "dice uno"]
    assert "─ fondo ─" in lineas[puesto - 1] and lineas[puesto + 1].strip() == ""
    assert not [linea for linea in lineas if "dice otro" in linea]  # ese, según va, a la salida


@pytest.mark.parametrize(("fondo", "delante"), [(3, 0), (0, 3), (3, 3)])
def test_falla_quien_falle_de_los_dos_que_van_a_la_vez(fondo, delante):
    consola = Console(record=True, width=100, file=open(os.devnull, "w"))  # noqa: SIM115
    ordenes = {"fondo": _paso(fondo), "delante": _paso(delante), "después": _paso(0)}
    fallos = prueba.ejecuta(ordenes, consola, al_lado=("fondo",), X="y")
    assert sorted(fallos) == sorted(
        n for n, codigo in (("fondo", fondo), ("delante", delante)) if codigo
    )
    resumen = consola.export_text()
    assert resumen.count("FALLA") == len(fallos) and resumen.count("bien") == 3 - len(fallos)


def test_el_plazo_del_que_va_al_lado_cuenta_desde_que_empieza(monkeypatch, capfd):
    monkeypatch.setattr(prueba, "PLAZO", 3)
    consola = Console(record=True, width=100, file=open(os.devnull, "w"))  # noqa: SIM115
    colgado = [sys.executable, "-c", "import time; print('ya', flush=True); time.sleep(60)"]
    inicio = time.monotonic()
    fallos = prueba.ejecuta(
        {"fondo": colgado, "delante": _paso(0)}, consola, al_lado=("fondo",), X="y"
    )
    assert fallos == ["fondo"] and time.monotonic() - inicio < 30
    assert "No ha terminado en 3 s" in capfd.readouterr().err and "ya" in consola.export_text()


def test_tambien_se_hace_el_que_va_al_lado_de_nadie():
    assert list(prueba.tandas("abc", "bc")) == [["a"], ["b", "c"]]


A_LA_VEZ = f"""
import sys
from rich.console import Console
from procesos import principal
import prueba
AVISA = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(60)"
ESPERA = '''
import pathlib, sys, time
while not pathlib.Path(sys.argv[1]).exists():
    time.sleep(0.05)
'''
ordenes = {{
    "fondo": [sys.executable, "-c", AVISA, sys.argv[1]],
    "delante": [sys.executable, "-c", ESPERA + {CON_HIJO!r}, sys.argv[1]],
}}
principal(lambda: prueba.ejecuta(ordenes, Console(stderr=True), al_lado=("fondo",)))
"""


@pytest.mark.parametrize(
    ("aviso", "estado"), [(signal.SIGINT, INTERRUMPIDO), (signal.SIGTERM, 128 + signal.SIGTERM)]
)
def test_al_interrumpir_no_queda_ninguno_de_los_dos(tmp_path, aviso, estado):
    with subprocess.Popen(
        [sys.executable, "-c", A_LA_VEZ, str(tmp_path / "pid")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as proceso:
        nieto = int(proceso.stdout.readline())
        inicio = time.monotonic()
        proceso.send_signal(aviso)
        assert proceso.wait(timeout=30) == estado and time.monotonic() - inicio < 20
    for pid in (nieto, int((tmp_path / "pid").read_text())):
        _espera_que_muera(pid)


@pytest.mark.parametrize(("fallos", "estado"), [([], 0), (["libro"], 1)])
def test_make_prueba_acaba_mal_si_algo_falla(monkeypatch, fallos, estado):
    vistos = {}

    def ejecuta(ordenes, consola, **entorno):
        vistos.update(entorno, ordenes=ordenes)
        return fallos

    monkeypatch.setattr(prueba, "ejecuta", ejecuta)
    monkeypatch.setattr(sys, "argv", ["prueba.py", "-k", "nada"])
    with pytest.raises(SystemExit) as fin:
        prueba.main()
    assert fin.value.code == estado
    libro, ultimo = vistos["ordenes"]["libro"], vistos["ordenes"]["pruebas (pytest)"]
    assert libro[-2:] == ["--ejecutados", vistos["ATENTO_EJECUTADOS"]]
    # Con argumentos, pytest se llama una vez, para todo y con el libro ya hecho.
    assert list(vistos["ordenes"])[2:] == ["libro", "pruebas (pytest)"] and not vistos["al_lado"]
    assert ultimo[-2:] == ["-k", "nada"] and not set(prueba.SIN_LIBRO) & set(ultimo)
    assert not [x for x in ultimo if x.startswith("--ignore")]
    monkeypatch.setattr(sys, "argv", ["prueba.py"])
    with pytest.raises(SystemExit):
        prueba.main()
    assert vistos["al_lado"] == ("libro",)
    assert list(vistos["ordenes"]) == list(prueba.pasos("", []))


def test_los_pasos_son_los_que_dice_mantener():
    pasos = prueba.pasos("x", [])
    mantener = (prueba.RAIZ / "MANTENER.md").read_text(encoding="utf-8")
    tabla = mantener.partition("## Qué comprueba `make prueba`")[2].partition("\n## ")[0]
    assert list(pasos) == re.findall(r"^\| ([^|]+) \|", tabla, re.MULTILINE)[2:]
    assert prueba.AL_LADO == ("libro",) and list(pasos)[2] == "libro"
    nbval = pasos["capítulos (nbval)"]
    assert "--nbval" in nbval and "--nbval-lax" not in nbval and nbval[-1] == "tests/referencias"
    assert pasos["referencias al día"][-1] == "--revisa" and "loadfile" in nbval
    # Entre los dos últimos hacen todas las de «testpaths»: lo que uno nombra, el otro lo salta.
    antes, demas = list(pasos.values())[3:]
    comun = [*prueba.pytest(), "--no-loadscope-reorder", "--durations=15", "--apunta"]
    assert {"--no-loadscope-reorder", "--apunta"} < set(nbval)
    assert antes[: len(comun)] == demas[: len(comun)] == comun
    assert antes[len(comun) :] == list(prueba.SIN_LIBRO)
    suyos = [f"--ignore={carpeta}" for carpeta in prueba.SIN_LIBRO]
    assert demas[len(comun) :] == [*prueba.DE_MAS, *suyos]
    assert int(prueba.DE_MAS[1]) == int(prueba.PROCESOS) + 1
    assert all((prueba.RAIZ / carpeta).is_dir() for carpeta in prueba.SIN_LIBRO)
    pyproject = tomllib.loads((prueba.RAIZ / "pyproject.toml").read_text(encoding="utf-8"))
    assert pyproject["tool"]["pytest"]["ini_options"]["testpaths"] == ["tests"]
    # El mismo plazo que al construir, y menor que el de pytest: quien corta dice qué celda es.
    celda, prueba_entera = (
        int(next(x for x in nbval if x.startswith(f"{opcion}=")).partition("=")[2])
        for opcion in ("--nbval-cell-timeout", "--timeout")
    )
    assert celda == LIMITE_CELDA < prueba_entera - 60
    assert "4" not in prueba.HILOS.values() and prueba.HILOS["OMP_NUM_THREADS"] == "1"


@pytest.mark.parametrize(("puesto", "llega"), [(None, "1"), ("0", "0")])
def test_se_exige_lo_entrenado_salvo_que_se_diga(monkeypatch, puesto, llega):
    monkeypatch.delenv("ATENTO_ESTRICTO", raising=False)
    if puesto:
        monkeypatch.setenv("ATENTO_ESTRICTO", puesto)
    codigo = f"import os; assert os.environ['ATENTO_ESTRICTO'] == {llega!r}"
    orden = {"uno": [sys.executable, "-c", codigo]}
    assert prueba.ejecuta(orden, Console(quiet=True)) == []


def test_los_ficheros_largos_van_primero_y_antes_los_que_no_se_sabe():
    """Según las duraciones guardadas; lo que se parte existe."""
    comun = runpy.run_path(str(prueba.RAIZ / "tests" / "conftest.py"))
    assert all((prueba.RAIZ / fichero).is_file() for fichero in comun["PARTIDOS"])
    orden, tardan = comun["de_mas_a_menos"], {"corto": 0.4, "largo": 90, "medio": 8}
    todos = {f"tests/{x}.py" for x in ("corto", "medio", "largo", "nuevo", "otro")}
    primero = ["nuevo", "otro", "largo", "medio", "corto"]
    segundos = {f"tests/{x}.py": s for x, s in tardan.items()}
    assert orden(todos, segundos) == [f"tests/{x}.py" for x in primero]
    assert orden(todos, {}) == sorted(todos)


def test_las_duraciones_guardadas_son_de_ficheros_que_existen():
    tardan = duraciones()
    assert all((prueba.RAIZ / fichero).is_file() for fichero in tardan)
    assert all(segundos >= 0 for segundos in tardan.values())


def test_cada_fichero_va_en_un_proceso_y_el_curso_real_en_dos(tmp_path):
    """Con las opciones de «make prueba» y el ``conftest`` de verdad: lo que se prepara una vez por
    fichero se prepara una vez, lo largo se reparte primero y el que más espera va en dos.
    """
    apunta = (
        "import os, pathlib, pytest, time\n"
        "@pytest.fixture(scope='session', params=['clon', 'wheel'])\n"
        "def python_del_curso(request): return request.param\n"
        "def apunta(quien):\n"
        "    with pathlib.Path('visto').open('a') as f:\n"
        "        print(quien, os.environ['PYTEST_XDIST_WORKER'], file=f)\n"
        "    time.sleep(0.05)\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "tests" / "calificador").mkdir(parents=True)
    shutil.copy(prueba.RAIZ / "tests" / "conftest.py", tmp_path / "tests")
    tardan = {"test_otro": 1, "calificador/test_curso_real": 9, "test_una": 2}
    tardan = {f"tests/{x}.py": s for x, s in tardan.items()} | {"tests/calificador/test_lote.py": 5}
    (tmp_path / "tests" / "duraciones.json").write_text(json.dumps(tardan))
    for nombre in ("test_otro", "calificador/test_curso_real", "test_una", "calificador/test_lote"):
        real = nombre == "calificador/test_curso_real"
        argumento, quien = ("python_del_curso",) * 2 if real else ("", repr(nombre))
        casos = (f"def test_{n}({argumento}): apunta({quien})\n" for n in range(6))
        (tmp_path / "tests" / f"{nombre}.py").write_text(apunta + "".join(casos))
    orden = [*next(iter(prueba.pruebas(["tests"]).values())), "-n", "2", "-p", "no:cacheprovider"]
    limpio = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    hecho = subprocess.run(
        orden, cwd=tmp_path, capture_output=True, text=True, env=limpio, timeout=120
    )
    assert hecho.returncode == 0, hecho.stdout + hecho.stderr
    visto = [linea.split() for linea in (tmp_path / "visto").read_text().splitlines()]
    quienes = [quien for quien, _ in visto]
    assert {quien: quienes.count(quien) for quien in quienes} == dict.fromkeys(
        ("clon", "wheel", "calificador/test_lote", "test_otro", "test_una"), 6
    )
    procesos_de = {quien: {p for q, p in visto if q == quien} for quien in quienes}
    assert all(len(suyos) == 1 for suyos in procesos_de.values()), procesos_de
    assert procesos_de["clon"] != procesos_de["wheel"]
    # Uno hace «lote» y otro «una», a la vez; el más corto espera a que acabe alguno.
    assert quienes.index("test_otro") > max(
        map(quienes.index, ("calificador/test_lote", "test_una"))
    )


def test_otros_procesadores_repiten_capitulos_y_biblioteca():
    """Cada uno con su variable, que torch o MKL entienden; y las mismas pruebas que «make
    prueba»."""
    for nombre, entorno in procesadores.PROCESADORES.items():
        hechos = procesadores.pasos_de(nombre)
        assert [n.split(": ")[0] for n in hechos] == [nombre, nombre] and len(entorno) == 1
        assert prueba.nbval("tests/referencias") in hechos.values()
        assert not any("--apunta" in orden for orden in hechos.values())  # no es esta máquina
    assert all((prueba.RAIZ / ruta).exists() for ruta in procesadores.BIBLIOTECA)
    orden = [sys.executable, "-c", "import torch; print(torch.backends.cpu.get_cpu_capability())"]
    dicho = subprocess.run(
        orden,
        env={**os.environ, **procesadores.PROCESADORES["avx2"]},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert dicho.stdout.strip() != "AVX512"


@pytest.mark.parametrize(
    ("argumentos", "fallan", "estado"),
    [
        ([], (), 0),
        ([], ("compatible",), 1),
        ([], ("avx2",), 1),
        (["--solo", "avx2"], (), 0),
        (["--solo", "este"], ("este",), 1),
    ],
)
def test_make_procesadores_pasa_por_todos_y_acaba_mal_si_uno_falla(
    monkeypatch, argumentos, fallan, estado
):
    vistos = []

    def ejecuta(ordenes, consola, *, titulo, **entorno):
        (nombre,) = {clave.partition(":")[0] for clave in ordenes}
        vistos.append((nombre, ordenes, entorno))
        return [nombre] if nombre in fallan else []

    monkeypatch.setattr(procesadores, "ejecuta", ejecuta)
    monkeypatch.setattr(sys, "argv", ["procesadores.py", *argumentos])
    with pytest.raises(SystemExit) as fin:
        procesadores.main()
    pedidos = argumentos[1:] or ["avx2", "compatible"]
    assert fin.value.code == estado
    fingido = {"este": {}, **procesadores.PROCESADORES}
    assert vistos == [(n, procesadores.pasos_de(n), fingido[n]) for n in pedidos]


def test_make_con_ctrl_c_acaba_sin_traza(tmp_path):
    """Como en un terminal: la señal llega a make y a todo lo que lanzó."""
    (tmp_path / "Makefile").write_text(f"espera:\n\t@'{sys.executable}' -c \"$$CODIGO\"\n")
    heredado = {
        k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    }
    entorno = {**heredado, "CODIGO": INTERRUMPIBLE, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        ["make", "espera"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, env=entorno,
    ) as proceso:  # fmt: skip
        assert proceso.stdout.readline() == "ya\n"
        os.killpg(proceso.pid, signal.SIGINT)
        _, error = proceso.communicate(timeout=30)
    assert "Traceback" not in error and error.strip().startswith("Interrumpido")


def test_ctrl_c_mientras_se_importa_tambien():
    codigo = "import procesos, time\nprint('ya', flush=True)\ntime.sleep(60)"
    with subprocess.Popen(
        [sys.executable, "-c", codigo], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as proceso:  # fmt: skip
        assert proceso.stdout.readline() == "ya\n"
        proceso.send_signal(signal.SIGINT)
        _, error = proceso.communicate(timeout=30)
    assert error.strip().startswith("Interrumpido") and "Traceback" not in error


def test_las_herramientas_atienden_antes_de_importar_lo_demas():
    """Las que leen capítulos importan dos segundos de bibliotecas: ``procesos`` va delante de
    todo."""
    vistas = 0
    for ruta in (prueba.RAIZ / "tools").rglob("*.py"):
        texto = ruta.read_text()
        if "    principal(main)" in texto:
            importa = re.findall(r"^(?:from|import) (\w+)", texto, re.MULTILINE)
            propias = [
                x for x in importa if x not in ("sys", "pathlib")
            ]  # un paquete pone antes su carpeta en la ruta
            assert propias[:2] == ["__future__", "procesos"], ruta
            vistas += 1
    assert vistas > 5


def test_un_error_que_no_es_ctrl_c_conserva_su_traza(monkeypatch, capsys):
    vistos = []
    monkeypatch.setattr(sys, "__excepthook__", lambda *a: vistos.append(a))
    error = ValueError("x")
    procesos._sin_traza(ValueError, error, None)
    assert vistos == [(ValueError, error, None)] and capsys.readouterr().err == ""
    procesos._sin_traza(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert len(vistos) == 1 and procesos.LINEA in capsys.readouterr().err
