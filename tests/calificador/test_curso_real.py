"""El curso del libro, instalado de las dos maneras, en las dos jaulas: nadie lee una solución ni se
pone un punto.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from calificador.jaula import lectura

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


def _ladron(mesa, id_: str) -> str:
    """Todas las maneras de leer la solución; ``RUTAS`` le dice dónde está, por si no la
    encuentra."""
    paquete = mesa.paquete.parent
    rutas = [str(RAIZ), str(RAIZ / "solutions"), str(paquete), str(paquete / "datos" / "solutions")]
    return _fuente(
        (AQUI / "ataques" / "ladron.py.txt").read_text("utf-8"), id_, mesa.ejercicios[id_], rutas
    )


# Los que tratan de pasar una respuesta por buena van contra todos los ejercicios.
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


def test_cada_instalacion_corrige_sus_soluciones(mesa, python_del_curso):
    desde_el_clon = python_del_curso == Path(sys.executable)
    assert (RAIZ in mesa.paquete.parents) is desde_el_clon
    for id_ in mesa.ejercicios:
        hecho = mesa.corrige(id_)
        assert hecho["estado"] == "superado", f"{id_}: {hecho}"


def test_nadie_lee_la_solucion(mesa):
    robados = {}
    for id_ in mesa.ejercicios:
        hecho = mesa.corrige(id_, _ladron(mesa, id_))
        if hecho["puntos"] or "robada" in hecho["dicho"] or "no se pudo" in hecho["mensaje"]:
            robados[id_] = (hecho["puntos"], hecho["dicho"], hecho["mensaje"])
    assert robados == {}


def test_sin_jaula_el_ladron_si_la_lee(mesa_basica):
    """Si esto fallara, la prueba anterior no probaría nada."""
    id_ = "4.1"
    hecho = mesa_basica.corrige(id_, _ladron(mesa_basica, id_))
    assert hecho["puntos"] == hecho["maximo"] and "robada de" in hecho["dicho"]


def test_ningun_ataque_consigue_puntos(mesa):
    fallos = {}
    for nombre, (id_, fuente) in _ataques(mesa).items():
        hecho = mesa.corrige(id_, fuente)
        if hecho["puntos"] or hecho["hijos"]:
            fallos[nombre] = hecho
    assert fallos == {}
    id_ = next(iter(mesa.ejercicios))
    assert mesa.corrige(id_)["estado"] == "superado"


@pytest.mark.parametrize("forja", FORJAS)
def test_nadie_forja_una_respuesta_de_ningun_ejercicio(mesa, forja):
    puntos = {
        id_: mesa.corrige(id_, _fuente(_para(_textos()[forja], nombre), id_, nombre, []))["puntos"]
        for id_, nombre in mesa.ejercicios.items()
    }
    assert not any(puntos.values()), puntos


def test_la_instalacion_editable_no_copia_las_soluciones():
    """``force-include`` las copiaría en site-packages, junto a código que se puede leer."""
    proyecto = tomllib.loads((RAIZ / "pyproject.toml").read_text("utf-8"))
    construye = proyecto["tool"]["hatch"]["build"]
    assert construye["dev-mode-dirs"] == ["code"]
    assert "force-include" not in construye and "force-include" not in construye["targets"]["wheel"]


ENTORNO = """import os, gc, sys
print(sorted(os.environ), [d for d in range(200) if os.path.exists(f"/dev/fd/{d}")])
malas = [type(o).__name__ for o in gc.get_objects() if type(o).__name__ in ("Ejercicio", "Mutante", "Examen", "Curso")]
print("objetos", malas)
"""


def test_el_cigoto_bifurcado_tampoco_lleva_nada(mesa_pronta):
    """El de ``atento calificar`` nace de quien corrige, antes de que lea el registro."""
    assert mesa_pronta.bifurcado
    for id_ in mesa_pronta.ejercicios:
        hecho = mesa_pronta.corrige(id_, _ladron(mesa_pronta, id_))
        assert hecho["puntos"] == 0 and "robada" not in hecho["dicho"], f"{id_}: {hecho}"
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
