"""El coste de corregir no lo elige quien entrega: treinta personas, diez hostiles, y quien corrige
no pasa de un gigabyte.
"""

import json
import os
import signal
import subprocess
import sys

import pytest
import torch
from conftest import exige_nivel
from torch.utils._python_dispatch import TorchDispatchMode

from calificador.carga import curso_en
from calificador.correccion.compara import Contestacion, bytes_de
from calificador.correccion.examen import SesionLocal, prepara
from calificador.correccion.oraculo import MAXIMO_GUARDADO, Interrogatorio, interroga, puntua
from calificador.fuente import Fuente
from calificador.jaula.encierro import Limites
from calificador.uso import lote
from calificador.uso.clase import Clase

EJERCICIOS = ("5.6", "5.11", "6.8", "8.9")
FUNCIONES = {"5.6": "program_head", "5.11": "compress_head", "6.8": "prune_heads"}
FUNCIONES |= {"8.9": "offset_head"}
CUANTAS = {"program_head": 3, "compress_head": 2, "prune_heads": 4, "offset_head": 2}
N = 12_000  # su cuadrado son 1.15 GB

# Lo que devuelve cada hostil: poco por la tubería y mucho si alguien hace cuentas con ello.
HOSTILES = {
    "columna": "torch.ones({N}, 1, dtype=torch.float64)",
    "fila": "torch.ones(1, {N}, dtype=torch.float64)",
    "corta": "torch.ones({N}, 1, dtype=torch.float16)",
    "vacía": "torch.ones({N}, 0, dtype=torch.float64)",
    "nan": "torch.full(({N}, 1), float('nan'), dtype=torch.float64)",
    "llena": "torch.zeros(1 << 20, dtype=torch.float64)",
    "lotes": "torch.ones(1, 1, {N}, 1, dtype=torch.float64)",
    "texto": "'x' * 19_999",
    "lista": "[0] * 40_000",
    "anidada": "[[torch.ones({N}, 1)] * 100] * 100",
}


def hostil(valor: str, nombre: str) -> str:
    ultimo = "valor.mT if hasattr(valor, 'mT') and valor.dim() > 1 else valor"
    return (
        f"def {nombre}(*args, **kwargs):\n    valor = {valor.format(N=N)}\n"
        f"    return (valor,) * {CUANTAS[nombre] - 1} + ({ultimo},)\n"
    )


CLASE = """
import json, os, resource, sys, time
import torch
from calificador import carga
from calificador.uso import clase, lote
lote._de_una_en_una = lambda faltan, encargo: (lote.corrige(e, encargo) for e in faltan)
entregas, salida, nivel, *ejercicios = sys.argv[1:]
encargo = lote.Encargo(salida, clase.Clase("prueba", "coste"), tuple(ejercicios), nivel)
curso = carga.curso_en("")
leidas = lote.lee_entregas(__import__("pathlib").Path(entregas), curso)
# Con todo importado, y con el cigoto, que es otro proceso, ya en marcha: quien corrige no podrá
# ni pedir más de lo que le falte para el gigabyte.
lote.corrige(leidas[0], encargo)
paginas = [int(x) for x in open("/proc/self/statm").read().split()[:2]]
reservada, usada = (n * os.sysconf("SC_PAGE_SIZE") for n in paginas)
tope = reservada + (1 << 30) - usada
resource.setrlimit(resource.RLIMIT_AS, (tope, resource.getrlimit(resource.RLIMIT_AS)[1]))
try:
    torch.empty(1 << 30, dtype=torch.uint8)
    sys.exit("el tope de memoria no para nada")
except RuntimeError:
    pass
hechas = lote.corrige_lote(leidas, encargo, trabajos=1)
lote.cierra_todo()
# No ru_maxrss, que hereda la de quien lanzó este proceso.
pico = next(int(x.split()[1]) for x in open("/proc/self/status") if x.startswith("VmHWM"))
print(json.dumps({
    "notas": {c.id: [c.puntos, c.maximo, c.repetir] for c in hechas},
    "memoria": pico << 10, "tope": tope - reservada,
    "cpu": time.process_time(),
}))
"""


@pytest.mark.lento
@pytest.mark.timeout(300)
def test_diez_hostiles_en_una_clase_de_treinta(tmp_path):
    exige_nivel("media")
    real = curso_en("")
    cabecera = "import torch\n"
    for i in range(30):
        persona = tmp_path / "E" / f"p{i:02d}"
        persona.mkdir(parents=True)
        valor = list(HOSTILES.values())[i // 3] if i % 3 == 2 else None
        for capitulo in (5, 6, 8):
            malas = (
                [hostil(valor, f) for e, f in FUNCIONES.items() if e[0] == str(capitulo)]
                if valor
                else []
            )
            texto = cabecera + "\n".join(malas) if malas else real.solucion(capitulo)
            (persona / f"cap{capitulo:02d}.py").write_text(texto + f"# {i}\n")
    entorno = {k: v for k, v in os.environ.items() if k != "ATENTO_CURSO"} | {
        "OMP_NUM_THREADS": "1"
    }
    orden = [sys.executable, "-c", CLASE, tmp_path / "E", tmp_path / "N", "media", *EJERCICIOS]
    hecho = subprocess.run(
        orden, env=entorno, capture_output=True, text=True, cwd=tmp_path, timeout=280
    )
    assert hecho.returncode == 0, hecho.stderr[-2000:]
    medido = json.loads(hecho.stdout.splitlines()[-1])
    print({k: medido[k] >> 20 for k in ("memoria", "tope")}, "MiB;", round(medido["cpu"], 1), "s")
    for i in range(30):
        puntos, maximo, repetir = medido["notas"][f"p{i:02d}"]
        assert (puntos < maximo if i % 3 == 2 else puntos == maximo) and not repetir, (i, puntos)
    assert medido["memoria"] < 1 << 30 and medido["cpu"] < 60
    assert len(lote.lee_notas(tmp_path / "N")) == 30


CON_CUENTAS = [e.id for e in curso_en("").ejercicios.values() if e.comprueba or e.invariante]


@pytest.mark.parametrize("id_", CON_CUENTAS)
def test_de_un_valor_con_otras_formas_no_se_calcula_nada(id_):
    """Ni al comprobarlo ni al buscarle una pista, tampoco en los ejercicios que vengan."""
    real = curso_en("")
    examen = prepara(real, real.ejercicios[id_], "coste")
    conocidas = [examen.de_mutante(m) for m in examen.ejercicio.mutantes]
    assert all(isinstance(c, list) for c in conocidas)
    for valor in HOSTILES.values():
        dado = eval(valor.format(N=2000), {"torch": torch})
        for devuelto in (dado, *((dado,) * cuantos for cuantos in (1, 2, 3, 4))):
            hecho = Interrogatorio([Contestacion("valor", devuelto)] * len(examen.casos))
            with _ContandoNumeros() as cuenta:
                assert puntua(examen, hecho, Fuente.de_texto(""), "").puntos == 0
            assert cuenta.mayor < 100_000, (valor, devuelto)


class _ContandoNumeros(TorchDispatchMode):
    """El tensor más grande que se calcula."""

    mayor = 0

    def __torch_dispatch__(self, operacion, tipos, args=(), kwargs=None):
        sale = operacion(*args, **(kwargs or {}))
        salidas = sale if isinstance(sale, (list, tuple)) else [sale]
        tamanos = [s.numel() for s in salidas if isinstance(s, torch.Tensor)]
        self.mayor = max([self.mayor, *tamanos])
        return sale


def test_una_respuesta_enorme_en_cada_caso_no_se_guarda_entera():
    real = curso_en("")
    ejercicio = real.ejercicios["8.9"]
    fuente = "import torch\ndef offset_head(*a, **k):\n    return (torch.zeros(1 << 22),) * 2\n"
    examen = prepara(real, ejercicio, "coste")
    hecho = interroga(
        examen, Fuente.de_texto(fuente), SesionLocal, lambda s: s.acaba(), Limites(), False
    )
    assert bytes_de(*(d.valor for d in hecho.contestaciones)) <= MAXIMO_GUARDADO
    assert {d.clase for d in hecho.contestaciones} == {"valor", "grande"}
    assert puntua(examen, hecho, Fuente.de_texto(fuente), "").puntos == 0


def test_un_trabajador_que_muere_es_una_linea_y_el_resumen_se_escribe(tmp_path, monkeypatch):
    """El que mata a quien corrige no se lleva a los demás, ni con un solo proceso."""
    exige_nivel("media")
    carpeta = tmp_path / "E"
    carpeta.mkdir()
    for i in range(4):
        (carpeta / f"p{i}_cap91.py").write_text(
            f"def output_shape(a, b, c):\n    return (a, c)\n# {i}\n"
        )
    encargo = lote.Encargo(
        str(tmp_path / "N"), Clase("prueba", "s"), ("91.3",), "media", os.environ["ATENTO_CURSO"]
    )
    leidas = lote.lee_entregas(carpeta, curso_en(os.environ["ATENTO_CURSO"]))
    corrige = _Mortal(lote.corrige)
    monkeypatch.setattr(lote, "corrige", corrige)
    monkeypatch.setattr(lote, "VUELTAS", 1)
    for trabajos in (1, 2):
        hechas = lote.corrige_lote(leidas, encargo, trabajos=trabajos)
        assert [(c.puntos, c.repetir) for c in hechas] == [
            (1, False),
            (1, False),
            (0, True),
            (1, False),
        ]
        assert "murió" in hechas[2].incidencias[0]
    assert [c.id for c in lote.lee_notas(tmp_path / "N")] == ["p0", "p1", "p2", "p3"]


class _Mortal:
    """Corrige, y con una de las entregas se muere."""

    def __init__(self, corrige):
        self.corrige = corrige

    def __call__(self, entrega, *resto):
        if entrega.id == "p2":
            os.kill(os.getpid(), signal.SIGKILL)
        return self.corrige(entrega, *resto)
