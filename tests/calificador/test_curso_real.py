"""El curso del libro, instalado de las dos maneras, en las dos jaulas: nadie lee una solución ni se
pone un punto.

Lo que se intenta con cada ejercicio no se cruza con cada instalación y cada jaula: rota
(``rotacion.reparto``). Cada solución se corrige en una de las combinaciones, y cada robo se prueba
en cada una con unos cuantos ejercicios; con otra confirmación, otros. ``ATENTO_ENTERO=1`` los
cruza.
"""

from __future__ import annotations

import base64
import errno
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest
from rotacion import combinaciones, reparto, vuelta

from calificador.jaula import canal, lectura

AQUI = Path(__file__).resolve().parent
RAIZ = AQUI.parents[1]
pytestmark = [pytest.mark.timeout(600), pytest.mark.lento]


def _fuente(cuerpo: str, id_: str, nombre: str, rutas: list[str]) -> str:
    datos = {
        "NOMBRE": nombre,
        "CAPITULO": f"cap{int(id_.split('.')[0]):02d}.py",
        "RUTAS": rutas,
        "PADRE": 1,
        "CEBO": "/tmp/calificador-cebo",
        "VEDADOS": [],
        "PUERTO": 9,
    }
    return "".join(f"{k} = {v!r}\n" for k, v in datos.items()) + cuerpo


UNOS_CUANTOS = 8  # ejercicios con que se intenta un robo en cada combinación

# Lo que se intenta con cada ejercicio y lo que, además, se intenta una vez con todos: recorrer el
# disco y mirar la memoria que todos los hijos heredan del mismo cigoto.
DE_CADA_UNO = ("por_rutas", "por_importacion", "por_memoria", "por_proc")
DE_TODOS = (*DE_CADA_UNO, "por_memoria_heredada", "paseando")


def _ladron(mesa, ids: list[str], maneras: tuple[str, ...]) -> str:
    """Las maneras de leer unas soluciones; ``RUTAS`` le dice dónde están, por si no las
    encuentra."""
    paquete = mesa.paquete.parent
    datos = {
        "NOMBRES": sorted({mesa.ejercicios[id_] for id_ in ids}),
        "CAPITULOS": sorted({f"cap{int(id_.split('.')[0]):02d}.py" for id_ in ids}),
        "RUTAS": list(
            map(str, (RAIZ / "solutions", paquete / "datos" / "solutions", paquete, RAIZ))
        ),
        "MANERAS": maneras,
    }
    cuerpo = (AQUI / "ataques" / "ladron.py.txt").read_text("utf-8")
    return "".join(f"{k} = {v!r}\n" for k, v in datos.items()) + cuerpo


def _robo(mesa, ids: list[str], maneras: tuple[str, ...] = DE_CADA_UNO) -> dict:
    """Lo que consigue el ladrón de unos ejercicios, que se entrega en el primero."""
    fuente = _ladron(mesa, ids, maneras)
    limites = "ataque" if len(ids) == 1 else "a fondo"
    return mesa.corrige(ids[0], fuente, limites=limites, con_pista=False)


def _tocan(
    cosas: Iterable[str], instalacion: str, nivel: str, desde: int = 0, tope: int | None = None
) -> list[str]:
    """Lo que toca a una instalación y una jaula, de las que hay en esta máquina."""
    hay = [n for n in JAULAS if canal.prueba_nivel(n) is None]
    todas = combinaciones(INSTALACIONES, hay)
    return reparto(list(cosas), (instalacion, nivel), todas, vuelta() + desde, tope)


def _botin(mesa, ids: list[str]) -> dict[str, dict]:
    """Lo robado, de cada uno de esos ejercicios y de todo el curso a la vez; también si el ladrón
    no llegó al final.
    """
    robos = {id_: _robo(mesa, [id_]) for id_ in ids}
    robos["todos"] = _robo(mesa, list(mesa.ejercicios), DE_TODOS)
    return {
        cual: hecho
        for cual, hecho in robos.items()
        if hecho["puntos"] or "robadas 0 de" not in hecho["dicho"]
    }


# Los que tratan de pasar una respuesta por buena van, entre todos, contra todos los ejercicios.
INSTALACIONES, JAULAS = ("clon", "wheel"), ("media", "fuerte")
FORJAS = ("parchea allclose e isclose", "parchea la codificación", "objeto igual a todo")


def _textos() -> dict[str, str]:
    secciones = [
        s
        for f in sorted((AQUI / "ataques").glob("*.txt"))
        for s in f.read_text("utf-8").split("# %% ")[1:]
    ]
    return {s.partition("\n")[0]: s.partition("\n")[2] for s in secciones}


def _ataques(mesa) -> dict[str, tuple[str, str]]:
    """Ataque → (ejercicio, fuente): a cada ejercicio le tocan unos cuantos."""
    por_nombre = {}
    for indice, (nombre, codigo) in enumerate(_textos().items()):
        id_ = list(mesa.ejercicios)[indice % len(mesa.ejercicios)]
        pedido = mesa.ejercicios[id_]
        por_nombre[nombre] = (id_, _fuente(_para(codigo, pedido), id_, pedido, []))
    return por_nombre


def _para(codigo: str, pedido: str) -> str:
    """El ataque, con el nombre de otro ejercicio; lo que devuelve no es respuesta de ninguno."""
    codigo = re.sub(
        r"def masked_softmax\([^)]*\)", f"def {pedido}(scores=None, mask=None, *r, **k)", codigo
    )
    return codigo.replace("masked_softmax", pedido).replace("return scores * 0", "return 'nada'")


def test_cada_instalacion_corrige_sus_soluciones(mesa, python_del_curso, instalacion, nivel):
    """Las referencias no usan nada que la jaula quite; los esqueletos quedan pendientes o sin
    puntos.
    """
    desde_el_clon = python_del_curso == Path(sys.executable)
    assert (RAIZ in mesa.paquete.parents) is desde_el_clon
    for id_ in _tocan(mesa.ejercicios, instalacion, nivel):
        hecho = mesa.corrige(id_)
        assert hecho["estado"] == "superado", f"{id_}: {hecho}"
        assert mesa.corrige(id_, "esqueleto")["puntos"] == 0, id_


def test_nadie_lee_la_solucion(mesa, instalacion, nivel):
    tocan = _tocan(mesa.ejercicios, instalacion, nivel, tope=UNOS_CUANTOS)
    assert _botin(mesa, tocan) == {}


@pytest.mark.parametrize("manera", ["por_rutas", "por_importacion", "paseando"])
def test_sin_jaula_el_ladron_las_lee_todas(mesa_basica, manera):
    """Si esto fallara, la prueba anterior no probaría nada."""
    de_uno = _robo(mesa_basica, ["4.1"], (manera,))
    assert de_uno["puntos"] == de_uno["maximo"] and "robadas 1 de 1" in de_uno["dicho"]
    cuantas = len(set(mesa_basica.ejercicios.values()))
    dicho = _robo(mesa_basica, list(mesa_basica.ejercicios), (manera,))["dicho"]
    assert f"robadas {cuantas} de {cuantas}" in dicho


@pytest.mark.parametrize("apartada", [False, True])
def test_en_la_memoria_si_la_encuentra(mesa, apartada):
    """Con la solución en la memoria, el ladrón la ve; si está apartada del recolector, hay que
    pedirla.
    """
    guardada = base64.b64encode(
        (RAIZ / "solutions" / "cap04.py").read_bytes()
    )  # así no se lee en el propio texto
    antes = f"import base64, gc\nOCULTA = [base64.b64decode({guardada!r}).decode()]\n"
    antes += "gc.freeze()\n" * apartada
    for manera, encontrada in (("por_memoria", not apartada), ("por_memoria_heredada", True)):
        fuente = antes + _ladron(mesa, ["4.1"], (manera,))
        hecho = mesa.corrige("4.1", fuente, limites="a fondo", con_pista=False)
        assert f"robadas {encontrada:d} de 1" in hecho["dicho"], hecho
        assert bool(hecho["puntos"]) == encontrada


def test_ningun_ataque_consigue_puntos(mesa, instalacion, nivel):
    """Cada ataque, en cada jaula, con una de las instalaciones; la búsqueda de su pista, que lo
    abre cuatro veces más, en una de las combinaciones.
    """
    ataques = _ataques(mesa)
    con_pista = set(_tocan(ataques, instalacion, nivel))
    suyos = con_pista | set(reparto(list(ataques), instalacion, INSTALACIONES, vuelta()))
    fallos = {}
    for nombre in sorted(suyos):
        id_, fuente = ataques[nombre]
        hecho = mesa.corrige(id_, fuente, con_pista=nombre in con_pista)
        if hecho["puntos"] or hecho["hijos"]:
            fallos[nombre] = hecho
    assert fallos == {}
    id_ = next(iter(mesa.ejercicios))
    assert mesa.corrige(id_)["estado"] == "superado"


@pytest.mark.parametrize("forja", FORJAS)
def test_nadie_forja_una_respuesta_de_ningun_ejercicio(mesa, instalacion, nivel, forja):
    texto, puntos = _textos()[forja], {}
    for id_ in _tocan(mesa.ejercicios, instalacion, nivel, FORJAS.index(forja), tope=UNOS_CUANTOS):
        fuente = _fuente(_para(texto, mesa.ejercicios[id_]), id_, mesa.ejercicios[id_], [])
        puntos[id_] = mesa.corrige(id_, fuente, con_pista=False)
    assert puntos
    assert not {id_: hecho for id_, hecho in puntos.items() if hecho["puntos"]}


def test_la_instalacion_editable_no_copia_las_soluciones():
    """``force-include`` las copiaría en site-packages, junto a código que se puede leer."""
    proyecto = tomllib.loads((RAIZ / "pyproject.toml").read_text("utf-8"))
    construye = proyecto["tool"]["hatch"]["build"]
    assert construye["dev-mode-dirs"] == ["code"]
    assert "force-include" not in construye and "force-include" not in construye["targets"]["wheel"]


ENTORNO = """import os, gc, sys
gc.unfreeze()  # el cigoto aparta del recolector lo que tiene antes de bifurcarse
print(sorted(os.environ), [d for d in range(200) if os.path.exists(f"/dev/fd/{d}")])
VEDADAS = ("Ejercicio", "Mutante", "Examen", "Curso")
malas = [type(o).__name__ for o in gc.get_objects() if type(o).__name__ in VEDADAS]
print("objetos", malas)
"""


def test_el_cigoto_bifurcado_tampoco_lleva_nada(mesa_pronta, nivel):
    """El de ``atento calificar`` nace de quien corrige, antes de que lea el registro."""
    assert mesa_pronta.bifurcado
    hay = [n for n in JAULAS if canal.prueba_nivel(n) is None]
    suyos = reparto(list(mesa_pronta.ejercicios), nivel, hay, vuelta(), UNOS_CUANTOS)
    assert _botin(mesa_pronta, suyos) == {}
    dicho = mesa_pronta.corrige("4.1", ENTORNO)["dicho"]
    assert (
        "objetos []" in dicho and "ATENTO_CURSO" not in dicho and "PYTEST_CURRENT_TEST" not in dicho
    )
    assert mesa_pronta.corrige("4.1")["estado"] == "superado"


def test_la_lista_de_lectura_no_toca_lo_que_no_debe():
    """Ni el calificador ni las soluciones ni los paquetes sin nombrar, tampoco los del Python de
    base.
    """
    enteras = [r for r, entera in lectura.legibles().items() if entera]
    vedadas = [RAIZ / n for n in ("solutions", "exercises", "tests", "code/calificador", ".git")]
    vedadas += [
        p for r in {sys.prefix, sys.base_prefix} for p in Path(r).glob("lib/python*/site-packages")
    ]
    for vedada in vedadas:
        assert not [r for r in enteras if r == vedada or r in vedada.parents], vedada
    base = [p for p in vedadas if sys.base_prefix in str(p) and sys.prefix != sys.base_prefix]
    assert not [r for r in enteras for b in base if b in r.parents]
    assert any(r.name == "torch" for r in enteras) and any(r.name == "atento" for r in enteras)
    assert not [r for r in enteras if r.name in ("pytest", "calificador", "sphinx", "pip")]


POCOS = "from calificador.jaula import canal; print(canal.prueba_nivel({nivel!r}))"


def test_con_pocos_descriptores_la_jaula_arranca(nivel, python_del_curso, tmp_path):
    """Hay un descriptor por ruta permitida: el cigoto sube su tope y el hijo se queda con los
    suyos.
    """
    orden = (
        f"ulimit -Sn 64; exec {shlex.quote(str(python_del_curso))} -P -c"
        f" {shlex.quote(POCOS.format(nivel=nivel))}"
    )
    entorno = {k: v for k, v in os.environ.items() if k != "ATENTO_CURSO"}
    hecho = subprocess.run(
        ["bash", "-c", orden],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env=entorno,
    )
    assert hecho.stdout == "None\n", hecho.stdout + hecho.stderr


def test_la_falta_de_descriptores_no_se_cuenta_como_que_no_existe(tmp_path):
    orden = (
        "import resource\nfrom pathlib import Path\nfrom calificador.jaula import"
        " landlock\nresource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))\ntry:\n   "
        " print(landlock.abre(Path('/')))\nexcept OSError as error:\n    print(error.errno)\n"
    )
    hecho = subprocess.run(
        [sys.executable, "-c", orden], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert hecho.stdout == f"{errno.EMFILE}\n", hecho.stdout + hecho.stderr
