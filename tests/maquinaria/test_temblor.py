"""«make temblor»: qué sacude y qué no, qué apunta de un ``assert``, y que ve lo frágil en un
capítulo de mentira.
"""

from __future__ import annotations

import ast
import builtins
import copy
import json
import math
import os
import random
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import safetensors.torch
import torch
from nbformat.v4 import new_output
from rich.console import Console
from torch import nn

from atento import attention
from atento.training import checkpoint, fit
from cuidar import sacudida, temblor
from paginas.capitulos import Capitulo

EPS = torch.finfo(torch.float32).eps


# --- El ruido -------------------------------------------------------------------------------------


@pytest.fixture
def sacudido(monkeypatch):
    """PyTorch con los optimizadores que sacuden, con la semilla 1; al acabar, como estaba."""
    for donde, nombre in (
        (torch.optim.Optimizer, "add_param_group"),
        (nn.Module, "state_dict"),
        (nn.Module, "load_state_dict"),
        (nn.Parameter, "__deepcopy__"),
        (torch, "load"),
        (safetensors.torch, "load"),
        (safetensors.torch, "load_file"),
    ):
        monkeypatch.setattr(donde, nombre, getattr(donde, nombre))
    sacudida.sacude_optimizadores(1)


def pesos(modelo):
    return torch.cat([p.detach().flatten() for p in modelo.parameters()])


def sgd(modelo, tasa=0.1):
    return torch.optim.SGD(modelo.parameters(), lr=tasa)


def entrena(modelo, pasos=5):
    """La pérdida de unos pasos sobre datos fijos."""
    datos = torch.linspace(-1, 1, 12).view(4, 3)
    optimizador, dichas = sgd(modelo), []
    for _ in range(pasos):
        optimizador.zero_grad()
        perdida = modelo(datos).square().mean()
        perdida.backward()
        optimizador.step()
        dichas.append(perdida.item())
    return dichas


def test_el_ruido_depende_del_valor_y_de_la_semilla_y_tiene_varianza_uno():
    valores = np.random.default_rng(0).normal(size=20_000)
    ruido = sacudida.ruido(valores, 3)
    assert np.array_equal(ruido[::-1], sacudida.ruido(valores[::-1].copy(), 3))
    assert (ruido != sacudida.ruido(valores, 4)).mean() > 0.99
    assert abs(ruido.mean()) < 0.03 and abs(ruido.var() - 1) < 0.03
    assert abs(ruido).max() <= math.sqrt(3) and abs(np.corrcoef(ruido, valores)[0, 1]) < 0.03
    ceros = sacudida.ruido(np.array([0.0, -0.0]), 3)
    assert ceros[0] == ceros[1]


def test_sacude_los_parametros_iniciales_ocho_epsilones_y_una_vez(sacudido):
    modelo = nn.Linear(30, 20)
    antes = pesos(modelo).clone()
    sgd(modelo)
    despues = pesos(modelo).clone()
    relativo = ((despues - antes) / antes).abs()
    assert 4 * EPS < relativo.mean() < 9 * EPS and relativo.max() < 8 * math.sqrt(3) * EPS + EPS
    sgd(modelo).add_param_group({"params": [torch.zeros(1, requires_grad=True)]})
    assert torch.equal(pesos(modelo), despues)


def test_no_gasta_azar_de_nadie(sacudido):
    modelo = nn.Linear(3, 3)
    antes = (torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate())
    sgd(modelo)
    assert torch.equal(torch.get_rng_state(), antes[0])
    assert np.array_equal(np.random.get_state()[1], antes[1]) and random.getstate() == antes[2]


def test_con_otra_precision_se_sacude_lo_que_le_toca(sacudido):
    doble = torch.randn(50, dtype=torch.float64)
    complejo = torch.randn(50, dtype=torch.complex64)
    hojas = [x.clone().requires_grad_() for x in (doble, complejo)]
    torch.optim.Adam(hojas)
    doble_eps = torch.finfo(torch.float64).eps
    assert 0 < ((hojas[0] - doble) / doble).abs().max() < 15 * doble_eps
    assert 0 < ((hojas[1] - complejo) / complejo).abs().max() < 15 * EPS


def por_estado(modelo):
    gemelo = nn.Linear(3, 2)
    gemelo.load_state_dict(modelo.state_dict())
    return gemelo


def por_estado_aparte(modelo):
    gemelo = nn.Linear(3, 2)
    gemelo.load_state_dict(copy.deepcopy(modelo.state_dict()))
    return gemelo


def numero_a_numero(modelo):
    gemelo = nn.Linear(3, 2)
    with torch.no_grad():
        for suyo, otro in zip(gemelo.parameters(), modelo.parameters(), strict=True):
            suyo.copy_(otro)
    return gemelo


COPIAS = [copy.deepcopy, por_estado, por_estado_aparte, numero_a_numero]


@pytest.mark.parametrize("copia", COPIAS)
@pytest.mark.parametrize("primero", ["original", "copia"])
def test_dos_copias_sin_entrenar_aprenden_lo_mismo(sacudido, copia, primero):
    """«Acumular da el lote entero», «dos procesos dan lo que uno»: la trampa de sacudir."""
    original = nn.Linear(3, 2)
    antes = pesos(original).clone()
    gemelo = copia(original)
    orden = [original, gemelo] if primero == "original" else [gemelo, original]
    assert entrena(orden[0]) == entrena(orden[1])
    assert torch.equal(pesos(original), pesos(gemelo)) and not torch.equal(pesos(original), antes)


def test_una_copia_partida_y_traspuesta_recibe_el_mismo_ruido(sacudido):
    """``in_proj_weight`` de PyTorch son las tres proyecciones juntas."""
    junta = torch.randn(6, 4).requires_grad_()
    partes = [x.detach().mT.contiguous().requires_grad_() for x in junta.chunk(3)]
    torch.optim.SGD([junta], lr=1)
    torch.optim.SGD(partes, lr=1)
    assert torch.equal(torch.cat([x.mT for x in partes]), junta)


def test_volver_a_empezar_desde_lo_guardado_da_la_misma_curva(sacudido):
    modelo = nn.Linear(3, 2)
    inicial = copy.deepcopy(modelo.state_dict())
    primera = entrena(modelo)
    modelo.load_state_dict(inicial)
    assert entrena(modelo) == primera


@pytest.mark.parametrize("copia", [copy.deepcopy, por_estado, por_estado_aparte])
def test_lo_entrenado_no_se_sacude_otra_vez(sacudido, copia):
    modelo = nn.Linear(3, 2)
    entrena(modelo)
    gemelo, antes = copia(modelo), pesos(modelo).clone()
    sgd(gemelo), sgd(modelo)
    assert torch.equal(pesos(gemelo), antes) and torch.equal(pesos(modelo), antes)


def test_lo_leido_de_un_fichero_no_se_sacude(sacudido, tmp_path):
    """También si se guardó antes de empezar, en 16 bits o con el modelo entero."""
    modelo = nn.Linear(3, 2)
    with torch.no_grad():
        for p in modelo.parameters():
            p.copy_(p.half())
    guardado = {k: v.half() for k, v in modelo.state_dict().items()}
    bytes_ = safetensors.torch.save(guardado)
    safetensors.torch.save_file(guardado, tmp_path / "pesos.safetensors")
    torch.save({"modelo": [guardado]}, tmp_path / "pesos.pt")
    leidos = [
        safetensors.torch.load(bytes_),
        safetensors.torch.load_file(tmp_path / "pesos.safetensors"),
        torch.load(tmp_path / "pesos.pt")["modelo"][0],
    ]
    for leido in leidos:
        otro = nn.Linear(3, 2)
        otro.load_state_dict(leido)
        sgd(otro)
        assert torch.equal(pesos(otro), pesos(modelo))


def test_seguir_un_entrenamiento_cortado_da_la_curva_entera(sacudido, tmp_path):
    def corre(pasos, **opciones):
        torch.manual_seed(5)
        modelo = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        lotes = [torch.randn(4, 3) for _ in range(4)]
        perdida = lambda m, x: m(x).square().mean()  # noqa: E731
        return fit(modelo, lotes, perdida, steps=pasos, progress=False, **opciones).loss

    entera = corre(8)
    corre(4, callbacks=[checkpoint(tmp_path / "mitad.pt", every=4)])
    assert corre(8, resume=tmp_path / "mitad.pt") == entera


# --- La atención ----------------------------------------------------------------------------------


@pytest.mark.parametrize("opciones", [{}, {"is_causal": True}, {"scale": 0.3}, {"dropout_p": 0.4}])
@pytest.mark.parametrize("permitido", [None, "máscara", "sesgo"])
@pytest.mark.parametrize("grupos", [1, 2])
def test_la_explicita_da_lo_de_la_fusionada_con_el_mismo_azar(opciones, permitido, grupos):
    if permitido and "is_causal" in opciones:
        pytest.skip("el núcleo no admite las dos cosas")
    q = torch.randn(2, 4, 5, 8, dtype=torch.float64)
    k, v = (torch.randn(2, 4 // grupos, 5, 8, dtype=torch.float64) for _ in range(2))
    mascara = torch.rand(5, 5) < 0.6
    mascara[2] = False  # una fila tapada entera
    allowed = {None: None, "máscara": mascara, "sesgo": torch.randn(4, 5, 5).double()}[permitido]
    salidas = []
    for forma in (attention._fused, sacudida._explicita):
        torch.manual_seed(7)
        salidas.append((forma(q, k, v, allowed, enable_gqa=grupos > 1, **opciones),
                        torch.get_rng_state()))  # fmt: skip
    assert (salidas[0][0] - salidas[1][0]).abs().max() < 1e-12
    assert torch.equal(salidas[0][1], salidas[1][1])


def test_la_explicita_entra_donde_la_biblioteca_usa_la_fusionada(monkeypatch):
    monkeypatch.setattr(attention, "_fused", attention._fused)
    sacudida.pon_atencion_explicita()
    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", None)
    x = torch.randn(1, 3, 8)
    assert attention.fused_attention(x, x, x, causal=True).shape == (1, 3, 8)
    assert attention.MultiHeadAttention(8, 2)(x)[0].shape == (1, 3, 8)


# --- Los «assert» ---------------------------------------------------------------------------------


@pytest.fixture
def apunta(monkeypatch, tmp_path):
    """Ejecuta una celda reescrita y devuelve lo que ha apuntado, con sus nombres."""

    def celda(codigo, **nombres):
        apunte = sacudida.Apunte(str(tmp_path / "asertos.json"), set())
        monkeypatch.setattr(builtins, sacudida.NOMBRE, apunte, raising=False)
        apunte.otra_celda(codigo)
        arbol = sacudida.Reescribe(apunte).visit(ast.parse(codigo))
        espacio = {"torch": torch, "math": math, "np": np, **nombres}
        exec(compile(arbol, "celda", "exec"), espacio)
        apunte.guarda()
        apuntado = json.loads((tmp_path / "asertos.json").read_text("utf-8"))
        return apuntado["asertos"], espacio

    return celda


T = torch.tensor([1.0, 2.0, 4.0])


@pytest.mark.parametrize(
    ("texto", "falla", "margenes"),
    [
        ("0.25 < 1", 0, [0.75]),
        ("2 <= 1.5", 1, [-0.5]),
        ("3 > 1 >= 0.5", 0, [0.5]),
        ("0 < 1 < 0.5 < 9", 1, [-0.5]),
        ("1 < 2 and 5 > 1", 0, [1, 4]),
        ("2 < 1 and 5 > 1", 1, [-1, None]),
        ("T.min() > 0.5", 0, [0.5]),
        ("(T > 0.25).all()", 0, [0.75]),
        ("torch.all(T > 1.5)", 1, [-0.5]),
        ("((T > 0.5) & (T < 5)).all()", 0, [0.5, 1]),
        ("bool((T < 5).all())", 0, [1]),
        ("all(x < 5 for x in T)", 0, [1]),
        ("all([x < 3 for x in T])", 1, [-1]),
        ("(T > 3).any()", 0, [1]),
        ("any(x > 3.5 for x in T if x > 0)", 0, [0.5]),
        ("T.tolist() == [1, 2, 4]", 0, []),
        ("not 1 > 2", 0, []),
        ("1 < 2 or 3 < 2", 0, []),
        ("all(any(x < y for y in T) for x in [0, 1])", 0, []),
        ("{1} < {1, 2}", 0, [None]),
        ("'a' < 'b' < 'c'", 0, [None]),
        ("len([]) == 0 < 3", 0, [3]),
        ("np.float32(0.5) < T.numpy().min()", 0, [0.5]),
        ("torch.allclose(T, T + 0.25, atol=0.5, rtol=0)", 0, [0.25]),
        ("torch.allclose(T, T + 1, 0.0, 0.5)", 1, [-0.5]),
        ("np.allclose(T.numpy(), T.numpy(), rtol=0, atol=1)", 0, [1]),
        ("torch.isclose(T[0], T[0] + 0.5, rtol=0.5, atol=0)", 0, [0.25]),
        ("math.isclose(4, 3, rel_tol=0.5)", 0, [1]),
        ("math.isclose(4, 3, abs_tol=0.5)", 1, [-0.5]),
    ],
)
def test_lo_que_se_apunta_de_cada_forma(apunta, texto, falla, margenes):
    (aserto,), _ = apunta(f"assert {texto}, 'no'", T=T)
    assert aserto["texto"] == texto and (aserto["veces"], aserto["falla"]) == (1, falla)
    assert [h["margen"] for h in aserto["hojas"]] == pytest.approx(margenes)


def test_se_queda_con_los_dos_lados_del_elemento_que_decide(apunta):
    (aserto,), _ = apunta("assert (T < 2 * T).all()", T=T)
    assert (aserto["hojas"][0]["izquierda"], aserto["hojas"][0]["derecha"]) == (1, 2)


def test_de_las_vueltas_de_un_bucle_queda_la_peor(apunta):
    (uno, otro), _ = apunta("for x in (3, 1, 2):\n    assert x > 0\n    assert any(y > x for y in"
                            " (2, 4))")  # fmt: skip
    assert [(a["veces"], a["falla"], a["hojas"][0]["margen"]) for a in (uno, otro)] == [
        (3, 0, 1),
        (3, 0, 1),
    ]
    assert (uno["linea"], otro["linea"], otro["columna"]) == (2, 3, 4)


def test_nada_se_evalua_dos_veces_ni_de_mas_y_lo_nombrado_queda(apunta):
    codigo = (
        "dichos = []\ndef di(x):\n    dichos.append(x)\n    return x\n"
        "assert di(1) < di(0) < di(7) and di(9) > 0\nassert (y := di(5)) > 2\nz = y + 1"
    )
    asertos, espacio = apunta(codigo)
    assert espacio["dichos"] == [1, 0, 5] and espacio["z"] == 6
    assert [a["falla"] for a in asertos] == [1, 0]


def test_lo_que_no_se_ejecuta_queda_apuntado_y_los_demas_errores_pasan(apunta):
    (aserto,), _ = apunta("def f():\n    assert 1 < 0")
    assert aserto["veces"] == 0
    with pytest.raises(ZeroDivisionError):
        apunta("assert 1 / 0 > 1")
    with pytest.raises(RuntimeError, match="ambiguous"):
        apunta("assert T > 0", T=T)


# --- Un capítulo de mentira -----------------------------------------------------------------------

CAOS = """x = p.item()
for _ in range(60):
    x = 3.99 * x * (1 - x)
"""
MENTIRA = f"""---
kernelspec: {{name: python3, display_name: Python 3, language: python}}
---

# Un capítulo de mentira

```{{code-cell}} ipython3
:tags: [dibujo]
import torch

from figuras import notebook

notebook.start()
p = torch.nn.Parameter(torch.tensor(0.3).double())
optimizer = torch.optim.SGD([p], lr=0.0)
{CAOS}```

```{{code-cell}} ipython3
:tags: [comprobacion]
:comprueba: "Lo robusto y lo frágil"
assert -9 < x < 9
assert x > 0.5, "depende de la última cifra"
```

```{{code-cell}} ipython3
:tags: [entrenado]
print(f"da {{x:.3f}} con 2 pasos")
```

```{{code-cell}} ipython3
:tags: [entrenado]
print("bien" if x > 0.5 else "mal", torch.rand(1).item())
```

```{{code-cell}} ipython3
print("sin etiqueta", x > 0.5)
```

```{{code-cell}} ipython3
:tags: [raises-exception]
assert 1 > 2
```

```{{code-cell}} ipython3
1 / (x < 0.5)
```
"""


@pytest.fixture(scope="module")
def mentira(tmp_path_factory):
    """El capítulo y lo que resume «make temblor» de él."""
    ruta = tmp_path_factory.mktemp("libro") / "91-mentira.md"
    ruta.write_text(MENTIRA, encoding="utf-8")
    capitulo = Capitulo(ruta)
    veces = temblor.sacude(capitulo, 4, 2, Console(quiet=True), temblor.instrucciones())
    return SimpleNamespace(capitulo=capitulo, veces=veces, resumen=temblor.resume(capitulo, veces))


def test_el_assert_fragil_se_ve_y_el_robusto_no(mentira):
    robusto, fragil = mentira.resumen["asserts"]
    assert robusto["assert"] == "-9 < x < 9" and robusto["broken"] == 0
    assert fragil["assert"] == "x > 0.5" and 0 < fragil["broken"] < 4
    assert fragil["margin"] < 0 < fragil["spread"] and fragil["worst"][1] == 0.5
    lineas = mentira.capitulo.texto().splitlines()
    assert lineas[fragil["line"] - 1].startswith("assert x > 0.5")
    assert temblor.es_fragil(fragil)


def test_la_excepcion_se_cuenta_con_su_linea_y_no_la_que_debia_salir(mentira):
    (fallo,) = mentira.resumen["failures"]
    assert fallo["what"] == "ZeroDivisionError: division by zero"
    assert mentira.capitulo.texto().splitlines()[fallo["line"] - 1] == "1 / (x < 0.5)"
    assert fallo["broken"] == 4 - mentira.resumen["asserts"][1]["broken"]


def test_otras_palabras_y_otra_salida_sin_etiqueta_son_roturas(mentira):
    cambian = {(c["cell"], c["trained"]) for c in mentira.resumen["changing"]}
    assert cambian == {(3, True), (4, False)}
    assert mentira.resumen["broken"] == 4  # en unas falla el «assert» y en las demás, la división


def test_de_cada_numero_entrenado_queda_entre_que_valores_ha_estado(mentira):
    primera, segunda = mentira.resumen["cells"]
    (menor, mayor), pasos = primera["numbers"]
    assert 0 < menor < 0.5 < mayor < 1 and pasos == [2, 2]
    assert segunda["numbers"][0][0] == segunda["numbers"][0][1]  # el azar del capítulo no se mueve


def test_se_calcula_como_se_pide(mentira):
    pedidos = temblor.modos(4, temblor.instrucciones())
    assert [v.modo for v in mentira.veces] == pedidos
    assert {m.hilos for m in pedidos} == {1, 2} and {m.explicita for m in pedidos} == {False, True}


def test_si_el_nucleo_calcula_de_otra_manera_se_dice(mentira, tmp_path):
    otro = mentira.capitulo.texto().replace("p = torch", "torch.set_num_threads(1)\np = torch")
    ruta = tmp_path / "92-otro.md"
    ruta.write_text(otro, encoding="utf-8")
    modo = temblor.Modo(2, temblor.instrucciones()[-1], False, False)
    with pytest.raises(RuntimeError, match="Se pedía 2 hilos"):
        temblor.ejecuta_una(Capitulo(ruta), modo, 0)


def test_no_se_prepara_un_nucleo_con_pytorch_cargado():
    with pytest.raises(RuntimeError, match="llegaría tarde"):
        sacudida.empieza(entorno={}, semilla=0, explicita=False, intactas=[], destino="")


# --- El resumen y lo que se dice ------------------------------------------------------------------


def test_la_rotacion_pasa_por_todas_las_combinaciones():
    modos = temblor.modos(24, ["AVX512", "AVX2", "DEFAULT"])
    assert len(set(modos)) == 24 and modos[0] == temblor.Modo(1, "AVX512", False, False)
    assert temblor.modos(30, ["AVX2"])[8] == temblor.modos(30, ["AVX2"])[0]
    veinte = modos[:20]
    for campo in ("hilos", "instrucciones", "compatible", "explicita"):
        usados = [getattr(m, campo) for m in veinte]
        assert {usados.count(x) for x in usados} <= set(range(4, 13)), campo


def test_las_variables_de_un_modo():
    entorno = temblor.Modo(2, "AVX2", True, False).entorno()
    assert entorno["OMP_NUM_THREADS"] == "2" and entorno["ATEN_CPU_CAPABILITY"] == "avx2"
    assert entorno["MKL_CBWR"] == "COMPATIBLE"
    raro = temblor.Modo(1, "SVE256", False, False).entorno()
    assert not {"ATEN_CPU_CAPABILITY", "MKL_CBWR"} & raro.keys()


def vez(**asertos):
    """Una ejecución con un ``assert`` por nombre: sus márgenes y si falla."""
    apuntados = [
        {"celda": 0, "linea": i, "columna": 0, "texto": texto, "veces": 1, "falla": int(falla),
         "hojas": [{"texto": texto, "margen": m, "izquierda": m, "derecha": 0} for m in margenes]}
        for i, (texto, (margenes, falla)) in enumerate(asertos.items(), 1)
    ]  # fmt: skip
    return temblor.Vez(temblor.Modo(1, "AVX2", False, False), apuntados)


def test_es_fragil_lo_roto_y_lo_que_tiene_menos_margen_que_dispersion():
    veces = [
        vez(firme=([5.0], False), justo=([1.0, 9.0], False), exacto=([1e-9], False)),
        vez(firme=([4.0], False), justo=([0.2, 9.0], False), exacto=([1e-9], False)),
        vez(firme=([5.5], False), justo=([0.9, 8.0], False), exacto=([1e-9], False)),
    ]
    firme, justo, exacto = temblor._asertos(veces, [1], set())
    assert (firme["margin"], firme["spread"]) == (4.0, 1.5) and not temblor.es_fragil(firme)
    assert (justo["margin"], justo["spread"]) == (0.2, 0.8) and temblor.es_fragil(justo)
    assert exacto["spread"] == 0 and not temblor.es_fragil(exacto)
    rotas = set()
    (roto,) = temblor._asertos([vez(x=([None], False)), vez(x=([None], True))], [1], rotas)
    assert roto["broken"] == 1 and "margin" not in roto and temblor.es_fragil(roto) and rotas == {1}


CAPITULO = """---
kernelspec: {name: python3, display_name: Python 3, language: python}
---

# Otro

```{code-cell} ipython3
:tags: [dibujo]
from figuras import plots

from atento import stored
from atento.training import fit
```

```{code-cell} ipython3
:tags: [entrenado]
fit(7)  # entrena
```

```{code-cell} ipython3
:tags: [dibujo]
plots.show(1)
```
"""


@pytest.fixture
def pequeno(tmp_path):
    """Un repositorio con un capítulo que entrena, y la huella de lo que hay en él."""
    ficheros = {
        "code/atento/__init__.py": "",
        "code/figuras/__init__.py": "",
        "code/atento/training.py": "from atento import checks\nSTORED = 'pesos.safetensors'\n",
        "code/figuras/plots.py": "x = 1\n",
        "code/atento/checks/__init__.py": "x = 1\n",
        "code/atento/stored.py": "x = 1\n",
        "code/atento/other.py": "x = 1\n",
        "code/atento/datos/semillas-05.json": "{}",
        "code/atento/datos/pesos.safetensors": "1",
        "libro/05-otro.md": CAPITULO,
    }
    for nombre, texto in ficheros.items():
        (tmp_path / nombre).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / nombre).write_text(texto, encoding="utf-8")

    def huella(nombre=None, antes="", despues=""):
        if nombre:
            texto = ficheros[nombre].replace(antes, despues) if antes else despues
            assert texto != ficheros[nombre]
            (tmp_path / nombre).write_text(texto, encoding="utf-8")
        return temblor.huella_del_temblor(Capitulo(tmp_path / "libro/05-otro.md"), tmp_path)

    return huella


@pytest.mark.parametrize(
    ("nombre", "antes", "despues"),
    [
        ("libro/05-otro.md", "fit(7)", "fit(8)"),
        ("libro/05-otro.md", "from atento.training import fit", "from atento.other import fit"),
        ("code/atento/training.py", "from", "y = 2\nfrom"),
        ("code/atento/datos/pesos.safetensors", "", "2"),
    ],
)
def test_la_huella_cambia_con_lo_que_entrena(pequeno, nombre, antes, despues):
    assert pequeno() != pequeno(nombre, antes, despues)


@pytest.mark.parametrize(
    ("nombre", "antes", "despues"),
    [
        ("libro/05-otro.md", "# entrena", "# aprende"),
        ("libro/05-otro.md", "plots.show(1)", "plots.show(2)"),
        ("libro/05-otro.md", "# Otro", "# Otro título"),
        ("code/atento/training.py", "from", "# nota\nfrom"),
        ("code/figuras/plots.py", "", "x = 2\n"),
        ("code/atento/checks/__init__.py", "", "x = 2\n"),
        ("code/atento/other.py", "", "x = 2\n"),
        ("code/atento/datos/semillas-05.json", "", "[]"),
    ],
)
def test_la_huella_no_cambia_con_lo_demas(pequeno, nombre, antes, despues):
    assert pequeno() == pequeno(nombre, antes, despues)


def test_la_huella_cambia_con_pytorch(pequeno, monkeypatch):
    antes = pequeno()
    monkeypatch.setattr(temblor.metadata, "version", lambda _: "0.0")
    assert pequeno() != antes


def test_se_dice_lo_que_le_falta_a_un_capitulo_que_entrena(tmp_path, monkeypatch):
    monkeypatch.setattr(temblor, "RESUMENES", tmp_path)
    ruta = tmp_path / "05-otro.md"
    ruta.write_text(CAPITULO, encoding="utf-8")
    capitulo = Capitulo(ruta)
    bueno = {"fingerprint": temblor.huella_del_temblor(capitulo), "runs": 20, "broken": 0}
    orden = "make temblor CAPITULO=05"
    assert temblor.queja(capitulo) == f"05-otro: entrena y no se ha sacudido: {orden}"
    for cambio, dicho in (
        ({"fingerprint": "x"}, "ha cambiado desde que se sacudió"),
        ({"runs": 19}, "se ha sacudido 19 veces y no 20"),
        ({"broken": 1}, "se rompe en 1 de 20"),
    ):
        temblor.guarda(capitulo, bueno | cambio)
        assert temblor.queja(capitulo) == f"05-otro: {dicho}: {orden}"
    temblor.guarda(capitulo, bueno)
    assert temblor.queja(capitulo) is None
    ruta.write_text(CAPITULO.replace("entrenado", "x").replace("fit(7)", "7"), encoding="utf-8")
    assert temblor.queja(capitulo) is None  # ya no entrena, y no le hace falta


@pytest.fixture
def orden(mentira, tmp_path, monkeypatch, capsys):
    """La orden sobre el capítulo de mentira, ya ejecutado: código de salida y lo dicho."""
    monkeypatch.setattr(temblor, "RESUMENES", tmp_path)
    monkeypatch.setattr(temblor, "RAIZ", tmp_path)
    monkeypatch.setattr(temblor, "ficha", lambda c, veces: {"command": "x"})
    monkeypatch.setattr(temblor, "elegidos", lambda cual: [mentira.capitulo])
    monkeypatch.setattr(temblor, "Console", lambda: Console(width=200))

    def hace(*argumentos, veces=mentira.veces):
        monkeypatch.setattr(temblor, "sacude", lambda *_: veces)
        monkeypatch.setattr(sys, "argv", ["temblor", *argumentos])
        with pytest.raises(SystemExit) as fin:
            temblor.main()
        return fin.value.code, capsys.readouterr().out

    return hace


def test_la_orden_ensena_lo_fragil_y_acaba_mal(orden, mentira, tmp_path):
    codigo, dicho = orden("91", "--veces", "4")
    assert codigo == 1 and "x > 0.5" in dicho and "-9 < x < 9" not in dicho.split("ejecuciones")[0]
    assert "ZeroDivisionError" in dicho and "otras palabras" in dicho
    assert "4 ejecuciones, 4 rotas; 2 assert, 1 rotos" in dicho
    assert "no se guarda" in dicho and not list(tmp_path.glob("*.json"))


def test_con_veinte_se_guarda_y_con_todo_se_ve_todo(orden, mentira, tmp_path):
    codigo, dicho = orden("91", "--todo")
    assert "-9 < x < 9" in dicho
    guardado = json.loads((tmp_path / "91-mentira.json").read_text("utf-8"))
    hecho = {"command": "x", "trace": temblor.rastro(mentira.capitulo, mentira.veces[0])}
    assert guardado == hecho | json.loads(json.dumps(mentira.resumen))
    assert codigo == 1


def test_lo_que_da_lo_mismo_hasta_el_ultimo_bit_sigue_valiendo(orden, mentira, monkeypatch):
    orden("91")
    fichero = temblor.fichero_de(mentira.capitulo)
    monkeypatch.setattr(temblor, "huella_del_temblor", lambda _: "otra")
    codigo, dicho = orden("91", "--igual", veces=mentira.veces[:1])
    assert codigo == 0 and "da lo mismo" in dicho
    despues = json.loads(fichero.read_text("utf-8"))
    assert despues["fingerprint"] == "otra" and despues["asserts"]
    otra = next(v for v in mentira.veces if v.asertos != mentira.veces[0].asertos)
    monkeypatch.setattr(temblor, "huella_del_temblor", lambda _: "tercera")
    codigo, dicho = orden("91", "--igual", veces=[otra])
    assert codigo == 1 and "no da lo mismo que dio: make temblor CAPITULO=91" in dicho
    assert json.loads(fichero.read_text("utf-8")) == despues
    fichero.unlink()
    codigo, dicho = orden("91", "--igual", veces=[otra])
    assert codigo == 1 and "no hay con qué comparar" in dicho and not fichero.exists()


def test_contra_otra_copia_vale_en_cualquier_maquina(orden, mentira, tmp_path, monkeypatch):
    orden("91")
    fichero = temblor.fichero_de(mentira.capitulo)
    guardado = json.loads(fichero.read_text("utf-8")) | {"fingerprint": "sacudida", "trace": "de A"}
    temblor.guarda(mentira.capitulo, guardado)
    aqui = temblor.rastro(mentira.capitulo, mentira.veces[0])
    monkeypatch.setattr(temblor, "huella_del_temblor", lambda _: "otra")
    copia, pedido = tmp_path / "copia", []
    (copia / "tools" / "cuidar").mkdir(parents=True)

    def responde(huella, rastro, codigo=0):
        def ejecuta(argumentos, *, cwd, env, **_):
            pedido.append((argumentos[1:], cwd, env["PYTHONPATH"]))
            dicho = "91 ━━ celdas\n" + json.dumps({"fingerprint": huella, "trace": rastro})
            return subprocess.CompletedProcess(argumentos, codigo, dicho, "no hay núcleo")

        monkeypatch.setattr(temblor.subprocess, "run", ejecuta)
        return orden("91", "--igual", "--contra", str(copia), veces=mentira.veces[:1])

    fin, _ = responde("sacudida", aqui)
    assert fin == f"--contra: se esperaba la carpeta de otra copia del libro; llegó {copia}."
    (copia / "tools" / "cuidar" / "temblor.py").touch()
    fin, _ = responde("sacudida", aqui, codigo=1)
    assert "no ha dado el rastro de 91-mentira. no hay núcleo" in fin
    for huella, rastro, falta in (
        ("distinta", aqui, "no es lo que se sacudió"),
        ("sacudida", "otro", "no da lo mismo que dio"),
    ):
        fin, dicho = responde(huella, rastro)
        assert fin == 1 and falta in dicho
        assert json.loads(fichero.read_text("utf-8")) == guardado
    fin, dicho = responde("sacudida", aqui)  # lo del resumen, de otra máquina, no cuenta
    assert fin == 0 and "da lo mismo" in dicho
    assert json.loads(fichero.read_text("utf-8")) == guardado | {"fingerprint": "otra"}
    rutas = os.pathsep.join(str(copia / x) for x in ("code", "tools"))
    assert pedido[-1] == (["tools", "temblor", "91", "--rastro"], copia, rutas)
    fin, dicho = orden("91", "--rastro", veces=mentira.veces[:1])
    assert fin == 0 and json.loads(dicho) == {"fingerprint": "otra", "trace": aqui}
    fin, dicho = orden("91", "--contra", str(copia))
    assert fin == 2


def test_si_nada_se_rompe_acaba_bien(orden, mentira):
    sana = [v for v in mentira.veces if v.asertos[1]["falla"] == 0][0]
    sana = temblor.Vez(sana.modo, sana.asertos, sana.salidas)
    codigo, dicho = orden("91", "--veces", "3", veces=[sana] * 3)
    assert codigo == 0 and "3 ejecuciones, 0 rotas" in dicho


def test_la_referencia_que_queda_fuera_y_lo_que_cambia_mucho_se_senalan():
    assert temblor._nota(0.50, 0.52, "0.51") == "" == temblor._nota(0.5, 0.52, None)
    assert temblor._nota(0.50, 0.52, "0.90") == "la referencia queda fuera"
    assert temblor._nota(0.1, 0.9, "0.5") == "cambia mucho"


def test_las_huellas_de_las_figuras_no_son_numeros():
    salida = new_output("display_data", data={"text/plain": "Figura: 3 de 4 [huella 12ab]"})
    assert temblor._moldes([salida]) == "Figura: # de # [huella]"
    assert temblor._de_nbval().numeros([salida]) == ["3", "4"]
