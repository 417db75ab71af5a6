"""La orden que repite las ejecuciones largas: qué capítulos hace, qué escribe y qué dice que
falta.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
from types import SimpleNamespace

import pytest
import torch

from capitulos import RAIZ

CARPETA = RAIZ / "tools" / "semillas"
GUARDADAS = RAIZ / "code" / "atento" / "datos"


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
    monkeypatch.setattr(modulo, "CHAPTERS", ["03", "04"])
    monkeypatch.setattr(modulo.torch, "set_num_threads", lambda n: hilos.append(n))
    hilos = []
    for clave in ("03", "04"):
        capitulo = SimpleNamespace(chapter=lambda clave=clave: {"runs": [f"ñ{clave}"]})
        monkeypatch.setitem(sys.modules, f"cap{clave}", capitulo)

    def hace(*argumentos):
        monkeypatch.setattr(sys, "argv", ["semillas", *argumentos])
        modulo.main()
        assert hilos == [1]
        hilos.clear()
        return {p.name: p.read_text("utf-8") for p in sorted(modulo.DATOS.iterdir())}

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


def test_el_procesador_se_dice_como_lo_llama_el_sistema(tmp_path, modulo, monkeypatch):
    info = tmp_path / "cpuinfo"
    monkeypatch.setattr(modulo, "Path", lambda ruta: info)
    llamado = iter(["arm", ""])
    monkeypatch.setattr(modulo.platform, "processor", lambda: next(llamado))
    monkeypatch.setattr(modulo.platform, "machine", lambda: "aarch64")
    assert [modulo._processor(), modulo._processor()] == ["arm", "aarch64"]
    info.write_text("processor\t: 0\nmodel name\t: Uno: a 2 GHz\nmodel name\t: Dos\n", "utf-8")
    assert modulo._processor() == "Uno: a 2 GHz"


def test_un_capitulo_sin_ejecuciones_se_dice_antes_de_empezar(orden, capsys):
    with pytest.raises(SystemExit) as fin:
        orden("3", "5")
    assert fin.value.code == 2
    assert "sin ejecuciones guardadas: 05; los hay de 03, 04" in capsys.readouterr().err


def test_cada_capitulo_con_ejecuciones_tiene_las_suyas_guardadas():
    de_ahora = {p.stem.removeprefix("cap") for p in CARPETA.glob("cap*.py")}
    assert de_ahora == {p.stem.removeprefix("semillas-") for p in GUARDADAS.glob("semillas-*.json")}
