"""La orden que repite las ejecuciones largas: qué capítulos hace, qué escribe y qué dice que
falta.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import sys
from types import SimpleNamespace

import pytest
import torch

from atento import trained
from paginas.capitulos import RAIZ

CARPETA = RAIZ / "tools" / "semillas"
GUARDADAS = RAIZ / "code" / "figuras" / "datos"


@pytest.fixture
def modulo(monkeypatch):
    """El guion, sin ejecutar nada."""
    lugar = importlib.util.spec_from_file_location("orden_de_semillas", CARPETA / "__main__.py")
    modulo = importlib.util.module_from_spec(lugar)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("OMP_NUM_THREADS", "2")  # para que al final quede como estaba
    monkeypatch.delenv("OMP_NUM_THREADS")
    lugar.loader.exec_module(modulo)
    assert os.environ["OMP_NUM_THREADS"] == "1"
    return modulo


@pytest.fixture
def orden(tmp_path, monkeypatch, modulo):
    """La orden, con dos capítulos de mentira que tardan nada, y dónde escribe."""
    monkeypatch.setattr(modulo, "DATOS", tmp_path / "nueva" / "datos")
    monkeypatch.setattr(modulo, "MODELOS", modulo.DATOS)
    monkeypatch.setattr(modulo, "CHAPTERS", ["03", "04"])
    monkeypatch.setattr(modulo.torch, "set_num_threads", lambda n: hilos.append(n))
    hilos = []
    for clave in ("03", "04"):
        capitulo = SimpleNamespace(chapter=lambda clave=clave: {"runs": [f"ñ{clave}"]})
        monkeypatch.setitem(sys.modules, f"cap{clave}", capitulo)

    def hace(*argumentos, leer=True):
        monkeypatch.setattr(sys, "argv", ["semillas", *argumentos])
        modulo.main()
        assert hilos == [1]
        hilos.clear()
        escritos = sorted(modulo.DATOS.iterdir())
        return {p.name: p.read_text("utf-8") for p in escritos} if leer else escritos

    return hace


@pytest.mark.parametrize(
    ("argumentos", "claves"), [([], ["03", "04"]), (["4"], ["04"]), (["04", "3"], ["03", "04"])]
)
def test_se_escribe_cada_capitulo_pedido_con_su_procedencia(orden, capsys, argumentos, claves):
    for _ in range(2):  # la segunda, con la carpeta ya hecha
        escritos = orden(*argumentos)
    assert list(escritos) == [f"semillas-{clave}.json" for clave in claves]
    for clave, texto in zip(claves, escritos.values(), strict=True):
        guardado = json.loads(texto)
        assert guardado["runs"] == [f"ñ{clave}"] and f"ñ{clave}" in texto
        assert texto.startswith('{\n "command"') and texto.endswith("}\n")
        assert guardado["command"] == f"python tools/semillas {clave}"
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", guardado["date"])
        assert guardado["versions"]["torch"] == torch.__version__
        assert all(guardado["machine"].values()) and len(guardado["machine"]) == 5
    dicho = capsys.readouterr().out
    assert re.search(rf"Capítulo {claves[-1]}\n  escrito semillas-{claves[-1]}.json en 0 s", dicho)


@pytest.fixture
def modelos(monkeypatch, orden):
    """El capítulo 4, con dos modelos de mentira; devuelve los que se han entrenado."""
    hechos = []

    def entrena(nombre, redondea=trained.rounded, **ficha):
        def hace():
            hechos.append(nombre)
            torch.manual_seed(len(nombre))
            return redondea(torch.nn.Linear(3, 2)), ficha

        return hace

    ficha = {"recipe": {"pasos": 2}, "seed": 1, "marks": {"bien": 0.5}}
    capitulo = sys.modules["cap04"]
    capitulo.PESOS = {
        "copia": entrena("copia", **ficha),
        "suma": entrena("suma", **ficha),
        "a medias": entrena("a medias", recipe={}, seed=0),
        "sin redondear": entrena("sin redondear", lambda modelo: modelo, **ficha),
    }
    return hechos


BUENOS = ("copia", "suma")


@pytest.mark.parametrize(
    ("argumentos", "entrenados", "escritos"),
    [
        (["4"], BUENOS, ["pesos-copia-04", "pesos-suma-04", "semillas-04"]),
        (["--pesos"], BUENOS, ["pesos-copia-04", "pesos-suma-04"]),
        (["4", "--pesos", "suma"], ("suma",), ["pesos-suma-04"]),
        (["3", "--pesos"], (), []),
    ],
)
def test_los_modelos_se_guardan_con_su_ficha(
    modulo, orden, modelos, argumentos, entrenados, escritos, monkeypatch
):
    for malo in ("a medias", "sin redondear"):
        del sys.modules["cap04"].PESOS[malo]
    hechos = orden(*argumentos, leer=False)
    assert [p.stem for p in hechos] == escritos and modelos == list(entrenados)
    monkeypatch.setattr(trained, "_FOLDER", modulo.DATOS)
    for nombre in entrenados:
        ficha = trained.card(f"{nombre}-04")
        assert ficha["recipe"] == {"pasos": 2} and ficha["marks"] == {"bien": 0.5}
        assert ficha["command"] == f"python tools/semillas 04 --pesos {nombre}"
        assert ficha["machine"]["processor"] and ficha["versions"]["torch"] == torch.__version__
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", ficha["date"])
        torch.manual_seed(len(nombre))
        igual = trained.rounded(torch.nn.Linear(3, 2))
        puesto = trained.fill(torch.nn.Linear(3, 2), f"{nombre}-04")
        assert torch.equal(igual.weight, puesto.weight)


@pytest.mark.parametrize(
    ("argumentos", "dice"),
    [
        (["4", "--pesos", "otro"], "no tiene el modelo «otro»; los que hay: copia, suma"),
        (["3", "--pesos", "copia"], "cap03.py no tiene el modelo «copia»; los que hay: ninguno"),
        (["4", "--pesos", "a medias"], "a medias: a su ficha le falta marks"),
        (["4", "--pesos", "sin redondear"], "hay que redondear sus pesos con trained.rounded"),
    ],
)
def test_un_modelo_que_no_vale_no_se_guarda(modulo, orden, modelos, argumentos, dice):
    with pytest.raises(SystemExit, match=dice):
        orden(*argumentos)
    assert not list(modulo.DATOS.iterdir())


def test_el_nombre_de_un_modelo_pide_un_solo_capitulo(orden, modelos, capsys):
    with pytest.raises(SystemExit):
        orden("3", "4", "--pesos", "copia")
    assert "se dice un solo capítulo" in capsys.readouterr().err and not modelos


@pytest.fixture
def partes(monkeypatch, orden):
    """El capítulo 4, con algo guardado y dos trozos que se repiten solos."""
    capitulo = sys.modules["cap04"]
    monkeypatch.setattr(capitulo, "PARTES", {"tasas": lambda: {"runs": [2]}, "otra": dict}, False)
    orden("4")


def test_una_parte_se_repite_con_su_procedencia_y_no_toca_lo_demas(modulo, orden, partes):
    fichero = modulo.DATOS / "semillas-04.json"
    antes = json.loads(fichero.read_text("utf-8")) | {"date": "2020-02-02", "tasas": {"vieja": 1}}
    fichero.write_text(json.dumps(antes), "utf-8")
    escritos = orden("4", "--parte", "tasas")
    assert list(escritos) == ["semillas-04.json"] and escritos["semillas-04.json"].endswith("}\n")
    ahora = json.loads(escritos["semillas-04.json"])
    tasas = ahora.pop("tasas")
    assert ahora == {clave: antes[clave] for clave in antes if clave != "tasas"}
    assert tasas["command"] == "python tools/semillas 04 --parte tasas" and tasas["runs"] == [2]
    assert tasas["date"] > "2020-02-02" and "vieja" not in tasas
    assert tasas["versions"]["torch"] == torch.__version__ and tasas["machine"]["processor"]


@pytest.mark.parametrize(
    ("argumentos", "dice"),
    [
        (["4", "--parte", "nada"], "cap04.py no tiene la parte «nada»; las que hay: tasas, otra"),
        (["3", "--parte", "tasas"], "cap03.py no tiene la parte «tasas»; las que hay: ninguna"),
    ],
)
def test_una_parte_que_no_hay_se_dice(orden, partes, argumentos, dice):
    with pytest.raises(SystemExit, match=dice):
        orden(*argumentos)


@pytest.mark.parametrize(
    "argumentos", [["3", "4", "--parte", "tasas"], ["4", "--parte", "tasas", "--pesos"]]
)
def test_una_parte_pide_un_solo_capitulo_y_va_sin_modelos(orden, partes, argumentos, capsys):
    with pytest.raises(SystemExit) as fin:
        orden(*argumentos)
    assert fin.value.code == 2 and "se dice un solo capítulo" in capsys.readouterr().err


def test_lo_que_se_repite_solo_esta_guardado(monkeypatch):
    """Cada parte de cada capítulo es una clave de lo suyo, y si se repitió sola dice con qué."""
    monkeypatch.setattr(sys, "path", [str(CARPETA), *sys.path])
    vistas = []
    for fichero in sorted(CARPETA.glob("cap*.py")):
        clave = fichero.stem.removeprefix("cap")
        if "\nPARTES = " not in fichero.read_text("utf-8"):
            continue
        guardado = json.loads((GUARDADAS / f"semillas-{clave}.json").read_text("utf-8"))
        for nombre in importlib.import_module(fichero.stem).PARTES:
            orden_suya = f"python tools/semillas {clave} --parte {nombre}"
            assert guardado[nombre].get("command", orden_suya) == orden_suya
            vistas.append((clave, nombre))
    assert len(vistas) == len(set(vistas)) >= 2


def test_un_capitulo_sin_ejecuciones_se_dice_antes_de_empezar(orden, capsys):
    with pytest.raises(SystemExit) as fin:
        orden("3", "5")
    assert fin.value.code == 2
    assert "sin ejecuciones guardadas: 05; los hay de 03, 04" in capsys.readouterr().err


def test_cada_capitulo_con_ejecuciones_tiene_las_suyas_guardadas():
    de_ahora = {p.stem.removeprefix("cap") for p in CARPETA.glob("cap*.py")}
    assert de_ahora == {p.stem.removeprefix("semillas-") for p in GUARDADAS.glob("semillas-*.json")}


def test_lo_hecho_se_recuerda_mientras_no_cambie_la_receta(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [str(CARPETA), *sys.path])
    recuerdo = importlib.import_module("recuerdo")
    monkeypatch.setattr(recuerdo, "CACHE", tmp_path)
    memoria, veces = recuerdo.Memory(7), []

    def entrena():
        veces.append(1)
        return torch.nn.Linear(2, 1), {"seed": (1, 2), "acierto": 0.5}

    receta = {"steps": 3, "kinds": ("a", "b")}
    esperado = {"seed": [1, 2], "acierto": 0.5}
    assert memoria.once("uno", receta, entrena) == esperado
    assert memoria.once("uno", receta, entrena) == esperado and len(veces) == 1
    lleno = memoria.fill(torch.nn.Linear(2, 1), "uno")
    assert memoria.weights("uno").parent == tmp_path / "semillas-07" and lleno.weight.shape == (
        1,
        2,
    )
    assert memoria.once("uno", receta | {"steps": 4}, entrena) == esperado and len(veces) == 2
    with pytest.raises(RuntimeError):
        memoria.once("dos", receta, lambda: (_ for _ in ()).throw(RuntimeError("a medias")))
    assert memoria.once("dos", receta, lambda: 3) == 3
    assert memoria.once("dos", receta, lambda: 4) == 3
