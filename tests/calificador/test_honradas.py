"""Lo que está bien se acepta, venga escrito como venga."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

CABECERA = "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"

HONRADAS = {
    (
        "91.1",
        "otra álgebra: logaritmo de la suma",
    ): (
        """
def masked_softmax(s, m):
    w = torch.where(m, s, torch.full_like(s, -1e30))
    w = (w - torch.logsumexp(w, -1, keepdim=True)).exp() * m
    return w
"""
    ),
    (
        "91.1",
        "bucles",
    ): (
        """
def masked_softmax(s, m):
    filas = []
    for fila, vale in zip(s, m):
        e = torch.exp(fila - fila.max()) * vale
        filas.append(e / e.sum() if vale.any() else e * 0)
    return torch.stack(filas)
"""
    ),
    (
        "91.1",
        "avisos, impresiones y trabajo al cargar",
    ): (
        """
import sys, warnings
print("hola" * 1000)
warnings.warn("cuidado")
sys.stderr.write("traza" * 1000)
EXPERIMENTO = torch.randn(200, 200) @ torch.randn(200, 200)
torch.set_default_dtype(torch.float32)
def masked_softmax(s, m):
    print(s.shape)
    return torch.softmax(s.masked_fill(~m, -1e300), -1) * m.any(-1, keepdim=True)
"""
    ),
    (
        "91.1",
        "escribe sobre su entrada",
    ): (
        """
def masked_softmax(s, m):
    s[~m] = -1e300
    s -= s.amax(-1, keepdim=True).detach()
    return torch.softmax(s, -1) * m.any(-1, keepdim=True)
"""
    ),
    (
        "91.1",
        "lenta pero dentro del tiempo",
    ): (
        """
import time
def masked_softmax(s, m):
    time.sleep(0.15)
    return torch.softmax(s.masked_fill(~m, -1e300), -1) * m.any(-1, keepdim=True)
"""
    ),
    (
        "91.1",
        "importa la biblioteca entera",
    ): (
        """
import importlib, pkgutil
import atento
for modulo in pkgutil.walk_packages(atento.__path__, "atento."):
    importlib.import_module(modulo.name)
def masked_softmax(s, m):
    return torch.softmax(s.masked_fill(~m, -1e300), -1) * m.any(-1, keepdim=True)
"""
    ),
    (
        "91.1",
        "importa tarde y usa ficheros, hilos y dataclasses",
    ): (
        """
import dataclasses, tempfile, threading, os
@dataclasses.dataclass
class Ajuste:
    bajo: float = -1e300
def masked_softmax(s, m):
    import fractions, csv, sqlite3
    with open(os.path.join(tempfile.gettempdir(), "apuntes.txt"), "w") as f:
        f.write("hola")
    salida = []
    hilo = threading.Thread(target=lambda: salida.append(m.any(-1, keepdim=True)))
    hilo.start()
    hilo.join()
    return torch.softmax(s.masked_fill(~m, Ajuste().bajo), -1) * salida[0]
"""
    ),
    (
        "91.1",
        "AdamW y numpy de paso",
    ): (
        """
import numpy as np
def masked_softmax(s, m):
    torch.set_num_threads(2)
    w = torch.nn.Parameter(torch.zeros(2))
    o = torch.optim.AdamW([w])
    w.sum().backward()
    o.step()
    assert np.ones(3).sum() == 3
    return torch.softmax(s.masked_fill(~m, -1e300), -1) * m.any(-1, keepdim=True)
"""
    ),
    (
        "91.2",
        "einsum y lista en vez de tupla",
    ): (
        """
def attend(query, key, value):
    w = torch.einsum("qd,kd->qk", query, key).div(math.sqrt(query.size(-1))).softmax(-1)
    return [torch.einsum("qk,kv->qv", w, value), w]
"""
    ),
    (
        "91.2",
        "la función prohibida, en otro ejercicio",
    ): (
        """
def otra(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)
def attend(query, key, value):
    '''Sin scaled_dot_product_attention, como pide el enunciado.'''
    w = torch.softmax(query @ key.mT / key.shape[1] ** 0.5, 1)  # no es scaled_dot_product_attention
    return w @ value, w
"""
    ),
    (
        "91.3",
        "torch.Size",
    ): "def output_shape(a, b, c):\n    return (torch.empty(a, b) @ torch.empty(b, c)).shape\n",
    ("91.3", "tensor de enteros"): "def output_shape(a, b, c):\n    return torch.tensor([a, c])\n",
    (
        "91.4",
        "potencia con numpy",
    ): "import numpy as np\ndef scale_scores(s):\n    return s * np.float64(s.shape[1]) ** -0.5\n",
    (
        "91.5",
        "otro vector",
    ): (
        """
def unit_vector(v):
    o = torch.ones_like(v)
    o = o - (o @ v) / (v @ v) * v
    return o / o.norm()
"""
    ),
    (
        "92.1",
        "LayerNorm sin pesos y búfer de más",
    ): (
        """
class TinyNorm(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.register_buffer("apunte", torch.zeros(3))
        self.project = nn.Linear(d_model, d_model)
        self.gain = nn.Parameter(torch.empty(d_model))
    def forward(self, hidden):
        hidden = self.project(hidden)
        return F.layer_norm(hidden, hidden.shape[-1:], weight=self.gain, eps=1e-6)
"""
    ),
    ("92.2", "tupla"): 'ORDER = ("puntuar", "escalar", "normalizar ", "promediar")\n',
}


@pytest.mark.parametrize(("ejercicio", "variante"), HONRADAS)
def test_una_entrega_honrada_pasa(ejercicio, variante, nivel, curso, honesto):
    resultado = honesto.califica(
        curso.ejercicios[ejercicio], CABECERA + HONRADAS[ejercicio, variante]
    )
    assert resultado.estado == "superado", resultado


@pytest.fixture(scope="session")
def honesto(nivel, curso):
    """Un corrector con los límites de verdad."""
    from calificador.correccion.oraculo import Corrector

    with Corrector(nivel, "honradas", del_curso=curso, con_texto=True) as abierto:
        yield abierto


def test_la_nota_es_parcial_si_solo_falla_una_propiedad(honesto, curso):
    fuente = (
        CABECERA
        + "def masked_softmax(s, m):\n    return torch.softmax(s.masked_fill(~m, -math.inf), -1)\n"
    )
    resultado = honesto.califica(curso.ejercicios["91.1"], fuente)
    assert (resultado.estado, resultado.puntos) == ("parcial", 3)
    assert [p.superada for p in resultado.propiedades] == [True, False]
    assert "enmascarada" in resultado.mensaje or "enmascarado" in resultado.mensaje


def test_si_muere_en_una_propiedad_las_demas_cuentan(honesto, curso):
    fuente = (
        CABECERA
        + "def masked_softmax(s, m):\n    if not m.any(-1).all():\n        import os\n       "
        " os._exit(1)\n    return torch.softmax(s.masked_fill(~m, -math.inf), -1)\n"
    )
    resultado = honesto.califica(curso.ejercicios["91.1"], fuente)
    assert resultado.puntos == 3 and "terminó el proceso" in resultado.mensaje


def test_el_arranque_en_frio_tambien_corrige(curso):
    """Lo que se usa donde no hay ``fork``: un intérprete nuevo por entrega, con su reloj."""
    from calificador.correccion.examen import prepara
    from calificador.correccion.oraculo import interroga, puntua
    from calificador.fuente import Fuente
    from calificador.jaula import canal
    from calificador.jaula.encierro import Limites

    frio, ejercicio = canal.ArranqueFrio(), curso.ejercicios["91.1"]
    examen = prepara(curso, ejercicio, 1)
    for texto, estado in (
        (curso.solucion(91), "superado"),
        ("import os\nos._exit(0)\n", "fallado"),
    ):
        fuente, limites = Fuente.de_texto(texto), Limites(carga=20, caso=20, total=60)
        abre = lambda: frio.abre(limites)  # noqa: B023, E731
        hecho = interroga(examen, fuente, abre, frio.acaba, limites, False)
        assert puntua(examen, hecho, fuente, "basica").estado == estado


def test_el_arranque_en_frio_importa_torch_antes_de_poner_el_limite(tmp_path):
    """El PyTorch de CUDA ocupa al importarse más memoria virtual de la que se deja a una
    entrega.
    """
    prueba = (
        "import sys\nfrom calificador.jaula import encierro, cigoto\nvisto = []\n"
        "encierro.limita = lambda limites, ocupa: visto.append((ocupa, 'torch' in sys.modules))\n"
        "cigoto.atiende = lambda *tuberias: open('visto', 'w').write(repr(visto))\n"
        "sys.argv = ['', 'frio']\ncigoto.main()\n"
    )
    orden = [sys.executable, "-P", "-c", prueba]
    subprocess.run(orden, cwd=tmp_path, stdin=subprocess.DEVNULL, check=True, timeout=120)
    [(ocupa, con_torch)] = ast.literal_eval((tmp_path / "visto").read_text())
    assert con_torch and ocupa > 500 << 20


def test_la_basica_corrige_y_no_deja_procesos(curso):
    import psutil

    from calificador.correccion.oraculo import Corrector
    from calificador.jaula.encierro import Limites

    huidos = (
        "import os, time\nfor _ in range(5):\n    if os.fork() == 0:\n        os.setsid()\n       "
        " if os.fork() == 0:\n            time.sleep(600)\n        os._exit(0)\n"
    )
    with Corrector(
        "basica", 1, del_curso=curso, limites=Limites(carga=3, caso=2, total=4)
    ) as corrector:
        assert (
            corrector.califica(curso.ejercicios["91.1"], huidos + curso.solucion(91)).estado
            == "superado"
        )
        assert psutil.Process(corrector.pid).children(recursive=True) == []


PARLANTE = (
    CABECERA + "print('al cargar\\x1b[2J\\u202e')\n"
    "def masked_softmax(s, m):\n    print('forma', tuple(s.shape), 'x' * 10_000)\n"
    "    return torch.softmax(s.masked_fill(~m, -1e300), -1) * m.any(-1, keepdim=True)\n"
)


def test_lo_que_imprime_se_le_ensena_sin_ordenes_para_el_terminal(honesto, curso):
    resultado = honesto.califica(curso.ejercicios["91.1"], PARLANTE)
    assert resultado.estado == "superado"
    assert resultado.dicho.startswith("al cargar") and "\nforma (" in resultado.dicho
    assert not {"\x1b", "\u202e"} & set(resultado.dicho) and len(resultado.dicho) < 20_000


def test_en_un_lote_no_se_sabe_lo_que_imprime(corrector, curso):
    resultado = corrector.califica(curso.ejercicios["91.1"], PARLANTE)
    assert resultado.estado == "superado" and resultado.dicho == ""
