"""Leer lo que manda la gente: nada se ejecuta, nada se extrae, y lo raro se dice en una línea."""

from __future__ import annotations

import io
import json
import os
import stat
import zipfile

import pytest

from calificador.uso.entregas import decodifica, lee_carpeta, lee_ruta

BUENO = "def output_shape(a, b, c):\n    return (a, c)\n"


def zip_de(**entradas):
    memoria = io.BytesIO()
    with zipfile.ZipFile(memoria, "w", zipfile.ZIP_DEFLATED) as archivo:
        for nombre, datos in entradas.items():
            archivo.writestr(nombre, datos)
    return memoria.getvalue()


def por_id(carpeta, curso):
    return {e.id: e for e in lee_carpeta(carpeta, curso)}


def test_todas_las_disposiciones(tmp_path, curso):
    (tmp_path / "ana.py").write_text(BUENO)
    (tmp_path / "beto_cap91.py").write_text("x = 1")
    (tmp_path / "beto-cap92.py").write_text("x = 1")
    (tmp_path / "carla").mkdir()
    (tmp_path / "carla" / "sub").mkdir()
    (tmp_path / "carla" / "sub" / "cap91.py").write_text(BUENO)
    (tmp_path / "dora.zip").write_bytes(zip_de(**{"mis-ejercicios/cap91.py": BUENO, "__MACOSX/cap91.py": "mal"}))
    moodle = tmp_path / "Eva Luna_1234_assignsubmission_file_"
    moodle.mkdir()
    (moodle / "cap92.py").write_text("ORDER = []")
    (tmp_path / "Fe Sol_99_assignsubmission_file_cap91.py").write_text(BUENO)
    entregas = por_id(tmp_path, curso)
    assert {k: sorted(e.fuentes) for k, e in entregas.items()} == {
        "ana": [91], "beto": [91, 92], "carla": [91], "dora": [91], "1234": [92], "99": [91],
    }  # fmt: skip
    assert entregas["1234"].nombre == "Eva Luna" and not any(e.incidencias for e in entregas.values())


def test_el_zip_que_descarga_moodle(tmp_path, curso):
    ruta = tmp_path / "tarea.zip"
    ruta.write_bytes(zip_de(**{
        "Ana Paz_11_assignsubmission_file_/cap91.py": BUENO, "Leo_12_assignsubmission_file_cap91.py": BUENO,
    }))  # fmt: skip
    assert sorted(e.id for e in lee_carpeta(ruta, curso)) == ["11", "12"]


@pytest.mark.parametrize(
    ("nombre", "datos", "trozo"),
    [
        ("a.py", b"", "está vacío"),
        ("a.py", "x = 'ñ'\n".encode("latin-1") + BUENO.encode(), "no está en UTF-8"),
        ("a.py", b"\x00\x01\x02", "no es un fichero de texto"),
        ("a.py", b"x = 1  # sin nada conocido\n", "no se sabe de qué capítulo es"),
        ("a.ipynb", b'{"cells": [', "el JSON está roto"),
        ("a.ipynb", b"[" * 100_000, "el JSON está roto"),
        ("a.ipynb", b'{"cells": 3}', "el JSON está roto"),
        ("a.zip", b"PK\x03\x04nada", "el zip está roto"),
        ("a.zip", zip_de(**{"../../fuera/cap91.py": BUENO}), "quiere salir de su carpeta"),
        ("a.zip", zip_de(**{"/etc/cap91.py": BUENO}), "quiere salir de su carpeta"),
        ("a.zip", zip_de(**{"C:\\cap91.py": BUENO}), "quiere salir de su carpeta"),
        ("a.zip", zip_de(**{"cap91.py": b"0" * (6 << 20)}), "demasiado al descomprimirse"),
        ("a.zip", zip_de(**{f"f{i}.py": "" for i in range(301)}), "más de 300 ficheros"),
        ("a.zip", zip_de(**{"foto.png": b"x"}), "no trae ningún .py ni .ipynb"),
        ("a.txt", b"hola", "no trae ningún .py ni .ipynb"),
        ("a.py", b"#" * (9 << 20), "ocupa más de"),
    ],
    ids=range(16),
)
def test_lo_raro_se_dice_y_se_sigue(tmp_path, curso, nombre, datos, trozo):
    (tmp_path / nombre).write_bytes(datos)
    (tmp_path / "z_cap91.py").write_text(BUENO)
    entregas = lee_carpeta(tmp_path, curso)
    raras = [i for e in entregas for i in e.incidencias]
    assert len(raras) == 1 and trozo in raras[0] and "\n" not in raras[0]
    assert {e.id: e for e in entregas}["z"].fuentes[91].texto == BUENO


def test_los_enlaces_no_se_siguen(tmp_path, curso):
    secreto = tmp_path / "secreto.py"
    secreto.write_text(BUENO)
    carpeta = tmp_path / "entregas"
    (carpeta / "ana").mkdir(parents=True)
    os.symlink(secreto, carpeta / "ana" / "cap91.py")
    os.symlink(tmp_path, carpeta / "ana" / "todo")
    os.symlink(secreto, carpeta / "beto.py")
    os.symlink("/", carpeta / "raiz")
    os.mkfifo(carpeta / "cola.py")
    info = zipfile.ZipInfo("cap91.py")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(carpeta / "carla.zip", "w") as archivo:
        archivo.writestr(info, str(secreto))
    entregas = por_id(carpeta, curso)
    assert not any(e.fuentes for e in entregas.values())
    dichas = [i for e in entregas.values() for i in e.incidencias]
    assert sum("enlace simbólico" in i for i in dichas) == 5 and any("no es un fichero normal" in i for i in dichas)


def test_dos_con_el_mismo_identificador_quedan_los_dos(tmp_path, curso):
    (tmp_path / "ana.py").write_text(BUENO)
    (tmp_path / "ana.zip").write_bytes(zip_de(**{"cap91.py": BUENO}))
    entregas = por_id(tmp_path, curso)
    assert set(entregas) == {"ana", "ana (2)"} and all(e.duplicada for e in entregas.values())
    assert all("dos entregas con el identificador ana" in e.incidencias[0] for e in entregas.values())


def test_los_nombres_hostiles_llegan(tmp_path, curso):
    for nombre in ("=cmd()\n.py", "-x.py", "añó\x1b[2J.py", "@SUM.py"):
        (tmp_path / nombre).write_text(BUENO)
    (tmp_path / os.fsdecode(b"\xff\xfe.py")).write_text(BUENO)
    assert len([e for e in lee_carpeta(tmp_path, curso) if e.fuentes]) == 5


def cuaderno(*celdas):
    return json.dumps({
        "nbformat": 4, "metadata": {},
        "cells": [{"cell_type": t, "source": s, "metadata": {"tags": list(e)}} for t, s, e in celdas],
    })  # fmt: skip


def test_de_un_cuaderno_se_toman_las_definiciones_sin_ejecutar_lo_demas(tmp_path, curso, corrector):
    (tmp_path / "05-cuaderno.ipynb").write_text(cuaderno(
        ("markdown", "def output_shape(): mal", ()),
        ("code", "%matplotlib inline\n!rm -rf /\nimport math\nFACTOR = 1", ()),
        ("code", "while True:\n    pass", ()),
        ("code", "esto no es python", ()),
        ("code", ["def output_shape(a, b, c):\n", "    return (a * FACTOR, suma(c))\n", "raise SystemExit\n"], ()),
        ("code", "suma = sum_one(0)\ndef otra(): pass", ()),
        ("code", "tabla = [lambda c: c]\nfor f in tabla:\n    suma = f", ("ejercicio",)),
    ))  # fmt: skip
    entrega = lee_ruta(tmp_path, curso)
    assert list(entrega.fuentes) == [91], entrega
    resultado = corrector.califica(curso.ejercicios["91.3"], entrega.fuentes[91])
    assert resultado.estado == "superado", resultado


def test_un_error_en_un_cuaderno_dice_la_celda(tmp_path, curso, corrector):
    (tmp_path / "cap91.ipynb").write_text(
        cuaderno(("markdown", "x", ()), ("code", "import math\ndef output_shape(a:\n    pass", ()))
    )
    resultado = corrector.califica(curso.ejercicios["91.3"], lee_ruta(tmp_path, curso).fuentes[91])
    assert resultado.mensaje == "error de sintaxis en la celda 2, línea 2: «def output_shape(a:»"


@pytest.mark.parametrize(
    ("datos", "texto"),
    [
        ("ñ".encode(), "ñ"), ("\ufeffñ".encode(), "ñ"), ("# coding: latin-1\nñ".encode("latin-1"), "# coding: latin-1\nñ"),
        ("ñ".encode("utf-16"), "ñ"), ("ñ".encode("cp1252"), "ñ"),
    ],
    ids=range(5),
)  # fmt: skip
def test_codificaciones(datos, texto):
    assert decodifica(datos)[0].lstrip("\ufeff") == texto
