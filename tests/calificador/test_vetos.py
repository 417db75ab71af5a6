"""Lo que el enunciado no permite falta donde se llama: no se pasa de largo con otro nombre, y una
respuesta correcta no se rechaza por los suyos.
"""

import ast
import os
import random
import subprocess
import sys
from datetime import date

import pytest

from calificador import vetos
from calificador.carga import curso_en
from calificador.correccion.oraculo import Corrector, verifica
from calificador.jaula import vedado
from calificador.jaula.vedado import Vetos

TODOS = {n: v for n, v in vars(vetos).items() if isinstance(v, vetos.Veto)}
CABECERA = "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
LLAMA = "def look_at_all(askers, words):\n    return mira(askers, words, words, scale=1.0)\n"

# Cada una daba todos los puntos del 1.2 con la función que su enunciado no permite.
PASABAN = {
    "sin más": "mira = F.scaled_dot_product_attention\n",
    "importada": "from torch.nn.functional import scaled_dot_product_attention as mira\n",
    "estrella": "from torch.nn.functional import *\nmira = scaled_dot_product_attention\n",
    "en un try": "try:\n    from torch.nn.functional import scaled_dot_product_attention as mira\n"
    "except ImportError:\n    mira = None\n",
    "en un if": "if True:\n    def mira(q, k, v, scale):\n"
    "        return F.scaled_dot_product_attention(q, k, v, scale=scale)\n",
    "desempaquetada": "mira, nada = F.scaled_dot_product_attention, 0\n",
    "con anotación": "mira: object = F.scaled_dot_product_attention\n",
    "__import__": "mira = __import__('torch').nn.functional.scaled_dot_product_attention\n",
    "getattr": "mira = getattr(F, 'scaled_dot_' + 'product_attention')\n",
    "importlib": "import importlib\nmira = importlib.import_module('torch.nn.functional')"
    ".scaled_dot_product_attention\n",
    "parcial": "import functools\nmira = functools.partial(F.scaled_dot_product_attention)\n",
    "vmap": "mira = torch.vmap(lambda *a, **k: F.scaled_dot_product_attention(*a, **k))\n",
    "de más abajo": "mira = torch._C._nn.scaled_dot_product_attention\n",
    "la operación": "mira = torch.ops.aten.scaled_dot_product_attention\n",
    "la variante de la operación": "from torch import ops\ndef mira(q, k, v, scale):\n"
    "    una = ops.aten.scaled_dot_product_attention.default\n"
    "    return una(q[None, None], k[None, None], v[None, None], scale=scale)[0, 0]\n",
    "lo que la calcula": "def mira(q, k, v, scale):\n"
    "    return torch._scaled_dot_product_attention_math(q, k, v, scale=scale)[0]\n",
    "una lista": "mira = [F.scaled_dot_product_attention][0]\n",
    "eval": "mira = eval('F.scaled_' + 'dot_product_attention')\n",
    "vars": "mira = vars(F)['scaled_dot_product_attention']\n",
    "de atento": "from atento.attention import scaled_dot_product_attention as una\n"
    "def mira(q, k, v, scale):\n    return una(q * k.shape[-1] ** 0.5, k, v)[0]\n",
    "de atento, estrella": "from atento.attention import *\n"
    "def mira(q, k, v, scale):\n    return attend(q, k, v)\n",
    "de atento, dentro": "def mira(q, k, v, scale):\n    import atento.attention as a\n"
    "    return a.attend(q, k, v)\n",
    "de atento, importlib": "import importlib\ndef mira(q, k, v, scale):\n"
    "    return importlib.import_module('atento.attention').attend(q, k, v)\n",
    "multicabeza": "def mira(q, k, v, scale):\n"
    "    return nn.MultiheadAttention(q.shape[-1], 1, batch_first=True)(q, k, v)[0]\n",
    "dentro de un bloque": "def mira(q, k, v, scale):\n"
    "    return nn.TransformerEncoderLayer(q.shape[-1], 1)(q)\n",
    "una clase que la hereda": "class Mia(nn.MultiheadAttention):\n    pass\n"
    "def mira(q, k, v, scale):\n    return Mia(q.shape[-1], 1)(q, k, v)[0]\n",
    "antes de llamar": "capa = nn.MultiheadAttention(4, 1)\ndef mira(q, k, v, scale):\n"
    "    return capa(q, k, v)[0]\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def real():
    return curso_en("")


@pytest.fixture(scope="module")
def en_la_jaula(real):
    with Corrector("basica", "vetos", del_curso=real) as abierto:
        yield abierto


@pytest.mark.parametrize("como", PASABAN)
def test_lo_que_no_se_permite_no_esta_se_llame_como_se_llame(real, como):
    fuente = CABECERA + PASABAN[como] + LLAMA
    resultado = verifica(real.ejercicios["1.2"], fuente, "vetos", del_curso=real)
    assert resultado.puntos == 0 and resultado.mensaje.startswith("el enunciado no lo permite")
    assert "(línea " in resultado.mensaje and "«No se puede usar" in resultado.mensaje, resultado


OTROS = {
    "2.5": "    t = torch.zeros(vocab, grad_output.shape[1], requires_grad=True)\n"
    "    t[ids].backward(grad_output)\n    return t.grad\n",
    "2.3": "    from atento import tokenizers\n    return tokenizers.BPE.train(words)\n",
    "4.10": "    f = lambda s: (beta * s).softmax(-1)\n"
    "    return torch.func.jvp(f, (scores,), (tangent,))[1]\n",
    "5.3": "    x = torch.zeros(n_query, d_model)\n    return tuple([tuple(x.shape)] * 8)\n",
    "7.7": "    return nn.CrossEntropyLoss(ignore_index=pad_id)(scores.mT, target)\n",
    "10.5": "    return sum(p.numel() for p in nn.Linear(d_model, d_ff).parameters()), 1, 1\n",
    "10.7": "    y = torch.layer_norm(x, x.shape[-1:])\n    return y, y, y\n",
    "12.6": "    p = nn.Parameter(weight.clone())\n    o = torch.optim.AdamW([p], lr=rate)\n"
    "    o.step()\n    return p, mean, square\n",
    "14.6": "    import ast\n    return ast.dump(ast.parse(text))\n",
    "14.7": "    return str(list(map(eval, text)))\n",
}  # fmt: skip


@pytest.mark.parametrize("id_", OTROS)
def test_cada_clase_de_veto_se_mantiene(real, en_la_jaula, id_):
    """También dentro de la jaula."""
    ejercicio = real.ejercicios[id_]
    fuente = CABECERA + f"def {ejercicio.nombre}({_argumentos(real, ejercicio)}):\n{OTROS[id_]}"
    de_verdad = en_la_jaula.califica(ejercicio, fuente)
    for resultado in (de_verdad, verifica(ejercicio, fuente, "vetos", del_curso=real)):
        assert resultado.puntos == 0
        assert resultado.mensaje.startswith("el enunciado no lo permite (línea "), resultado


POR_DEBAJO = [
    ("2.5", "torch.ops.aten.embedding_dense_backward(grad_output, ids, vocab, -1, False)"),
    ("4.10", "torch._softmax_backward_data(tangent, scores.softmax(-1), -1, scores.dtype)"),
    ("4.10", "torch._VF._make_dual(scores, tangent, level=0)"),
    ("7.7", "torch.ops.aten.cross_entropy_loss(scores.mT, target, None, 1, pad_id, 0.0)"),
    ("10.6", "torch.ops.aten.rms_norm(x, [k], weight, eps)"),
    ("10.7", "(torch.ops.aten.native_layer_norm(x, x.shape[-1:], None, None, 0.0)[0],) * 3"),
    ("12.5", "torch.ops.aten.cross_entropy_loss(logits.mT, labels)"),
    ("12.6", "torch._fused_adamw_([weight], [weight], [], [], [], [], lr=0.0)"),
]


@pytest.mark.parametrize(("id_", "cuenta"), POR_DEBAJO)
def test_tampoco_por_la_operacion_que_hay_debajo(real, id_, cuenta):
    ejercicio = real.ejercicios[id_]
    fuente = CABECERA + f"def {ejercicio.nombre}({_argumentos(real, ejercicio)}):\n"
    resultado = verifica(ejercicio, f"{fuente}    return {cuenta}\n", "vetos", del_curso=real)
    assert resultado.puntos == 0
    assert resultado.mensaje.startswith("el enunciado no lo permite (línea "), resultado


def _argumentos(real, ejercicio):
    """Los de la función pedida, sin sus anotaciones."""
    nodos = ast.parse(real.solucion(ejercicio.capitulo)).body
    firma = next(n for n in nodos if getattr(n, "name", "") == ejercicio.nombre).args
    for argumento in (*firma.args, *firma.kwonlyargs):
        argumento.annotation = None
    return ast.unparse(firma)


HONRADAS = {
    "en otro ejercicio": "from atento.attention import attend, MultiHeadAttention\n"
    "def otro(m: MultiHeadAttention | None, q):\n    return attend(q, q, q)\n"
    "class Mia(MultiHeadAttention):\n    pass\n",
    "para comparar, al cargar": "x = torch.rand(3, 4)\n"
    "y = (x @ x.T / 2).softmax(-1) @ x\n"
    "assert torch.allclose(F.scaled_dot_product_attention(x, x, x), y)\n",
    "si no la hay": "try:\n    from atento.attention import attend\n"
    "    attend(torch.ones(1, 1, 1))\n"
    "except ImportError:\n    attend = None\n",
    "un módulo entero": "import atento.attention, torch.optim, ast\n",
    "estrella": "from torch.nn.functional import *\nfrom torch.nn.functional import softmax\n",
    "una función propia": "def scaled_dot_product_attention(q, k, v):\n"
    "    return (q @ k.mT).softmax(-1) @ v\n",
}


@pytest.mark.parametrize("como", HONRADAS)
def test_lo_que_no_se_permite_aqui_se_puede_usar_en_otro_sitio(real, como):
    fuente = CABECERA + HONRADAS[como] + (
        "def look_at_all(askers, words):\n    return (askers @ words.mT).softmax(-1) @ words\n"
    )  # fmt: skip
    if como == "una función propia":
        fuente = fuente.replace(
            "return (askers",
            "return scaled_dot_product_attention(askers, words, words)\n    (askers",
        )
    assert verifica(real.ejercicios["1.2"], fuente, "vetos", del_curso=real).estado == "superado"


def test_los_vetos_nombran_algo_y_lo_dejan_como_estaba():
    rutas = {r for v in TODOS.values() for r in v.nombres if r not in ("torch.Tensor", "atento")}
    duenos = {ruta: vedado._dueno(ruta) for ruta in rutas}
    antes = {ruta: getattr(d, n) for ruta, (d, n) in duenos.items()}
    iniciales = {ruta: vars(v).get("__init__") for ruta, v in antes.items() if isinstance(v, type)}
    modulos, buscadores = dict(sys.modules), list(sys.meta_path)
    with Vetos([v.nombres for v in TODOS.values()]):
        assert all(getattr(d, n) is not antes[r] or r in iniciales for r, (d, n) in duenos.items())
    assert {ruta: getattr(d, n) for ruta, (d, n) in duenos.items()} == antes
    assert {ruta: vars(antes[ruta]).get("__init__") for ruta in iniciales} == iniciales
    assert sys.modules == modulos and sys.meta_path == buscadores


# --- Una variable se llama como se quiera ---------------------------------------------------------

ULTIMOS = sorted({r.split(".")[-1] for v in TODOS.values() for r in v.nombres})
PROHIBIDOS_ANTES = (
    "attend normalize grad backward parameters ast func autograd optim amp numel state_dict"
    " requires_grad MultiHeadAttention fused_attention word_vectors tokenizers"
).split()


def con_nombres_prohibidos(texto: str, publicos: set[str], rng: random.Random) -> str:
    """El mismo programa, con cada variable local y cada función de ayuda llamadas como algo que no
    se permite.
    """
    arbol = ast.parse(texto)
    ayudas = [n.name for n in arbol.body if isinstance(n, ast.FunctionDef)]
    usados = {n.id for n in ast.walk(arbol) if isinstance(n, ast.Name)}
    libres = sorted({*ULTIMOS, *PROHIBIDOS_ANTES} - usados - publicos)
    rng.shuffle(libres)
    globales = {a: libres.pop() for a in ayudas if a not in publicos}
    for nodo in ast.walk(arbol):
        if isinstance(nodo, ast.FunctionDef) and nodo.name in globales:
            nodo.name = globales[nodo.name]
    for nodo in arbol.body:
        metodos = nodo.body if isinstance(nodo, ast.ClassDef) else [nodo]
        for metodo in (m for m in metodos if isinstance(m, ast.FunctionDef)):
            locales = _locales(metodo)
            _Renombra(globales | _reparte(locales, libres, rng)).visit(metodo)
    return ast.unparse(ast.fix_missing_locations(arbol))


def _reparte(locales: list[str], libres: list[str], rng: random.Random) -> dict[str, str]:
    return dict(zip(locales, rng.sample(libres, len(libres)), strict=False))


def _locales(funcion: ast.FunctionDef) -> list[str]:
    """Las variables que se asignan dentro; ni argumentos (son parte de la firma) ni funciones."""
    nodos = list(ast.walk(funcion))
    argumentos = {n.arg for n in nodos if isinstance(n, ast.arg)}
    puestos = {n.id for n in nodos if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    ajenos = {v for n in nodos if isinstance(n, (ast.Global, ast.Nonlocal)) for v in n.names}
    return sorted(puestos - argumentos - ajenos)


class _Renombra(ast.NodeTransformer):
    def __init__(self, nuevos: dict[str, str]) -> None:
        self.nuevos = nuevos

    def visit_Name(self, nodo: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(self.nuevos.get(nodo.id, nodo.id), nodo.ctx), nodo)


MUESTRA = 20


def test_una_respuesta_correcta_vale_se_llamen_como_se_llamen_sus_variables(real):
    """Una muestra distinta cada día; ``RENOMBRADAS=200`` prueba más."""
    cuantas = int(os.environ.get("RENOMBRADAS", MUESTRA))
    semilla = os.environ.get("RENOMBRADAS_SEMILLA") or f"{date.today()}"
    rng = random.Random(semilla)
    vistos = set()
    for _ in range(cuantas):
        ejercicio = rng.choice([e for e in real.ejercicios.values() if not e.literal])
        publicos = {e.nombre for e in real.de_capitulo(ejercicio.capitulo)}
        fuente = con_nombres_prohibidos(real.solucion(ejercicio.capitulo), publicos, rng)
        resultado = verifica(ejercicio, fuente, semilla, del_curso=real)
        assert resultado.estado == "superado", (semilla, resultado, fuente)
        vistos |= {n for n in PROHIBIDOS_ANTES if n in fuente}
    assert len(vistos) > 5


CON_FUNC = """import torch


def slope(w):
    grad, value = torch.func.grad_and_value(lambda v: (v * v).sum())(w)
    return grad + {usa}
"""
SIN_NADA_IMPORTADO = """
import sys
import torch
from calificador.jaula import marcos
from calificador.jaula.alumno import Alumno
from calificador.vetos import OPTIMIZADORES
assert "torch._dynamo" not in sys.modules
alumno = Alumno("entrega_de_prueba")
pide = {{"orden": "analiza", "celdas": [[{fuente!r}, True]], "nombre": "slope"}}
alumno.atiende({{**pide, "prohibido": [list(OPTIMIZADORES.nombres)]}}, {{}})
print(alumno.atiende({{"orden": "carga"}}, {{}})[0])
tensores = {{}}
args = marcos.codifica((torch.ones(2, requires_grad=True),), tensores)
kwargs = marcos.codifica({{}}, tensores)
pide = {{"orden": "llama", "gradiente": False, "cotangentes": None, "init": None}}
print(alumno.atiende({{**pide, "args": args, "kwargs": kwargs}}, tensores)[0])
"""


@pytest.mark.parametrize(
    ("usa", "permitido"), [("0", True), ("torch.optim.SGD([w], lr=0.1).defaults['lr']", False)]
)
def test_lo_que_torch_importa_tarde_no_es_uso_de_la_entrega(usa, permitido):
    """En un proceso recién nacido, como el de quien corrige un solo ejercicio."""
    programa = SIN_NADA_IMPORTADO.format(fuente=CON_FUNC.format(usa=usa))
    hecho = subprocess.run(
        [sys.executable, "-c", programa], capture_output=True, text=True, timeout=120
    )
    assert "'definido': True" in hecho.stdout, hecho
    assert ("'error'" not in hecho.stdout.splitlines()[-1]) is permitido, hecho
    assert ("'veto': 0" in hecho.stdout) is not permitido, hecho
