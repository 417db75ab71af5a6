"""Los mutantes: qué se estropea, con qué pruebas se mira y cómo queda el fichero."""

import subprocess
import sys
from pathlib import Path

import pytest

from cuidar import mutantes
from cuidar.mutantes import mide, mira, muestra, mutantes_de, pasan_por, pruebas_de
from cuidar.pruebas_por_linea import TODAS

FUENTE = '''"""Docstring 1."""
from x import y


def f(a: int = 1) -> bool:
    """Docstring 2."""
    if a > 2 and not y:
        raise ValueError(f"mal {a + 1}")
    y.hace()
    return a == 3


if __name__ == "__main__":
    f(4)
'''


def test_las_faltas_que_se_plantan():
    faltas = mutantes_de(FUENTE, Path("a.py"))
    vistas = {(" ".join(m.antes.split()), m.despues) for m in faltas}
    assert vistas == {
        ("1", "2"),
        ("a > 2", "(a >= 2)"),
        ("2", "3"),
        ("not y", "(y)"),
        ("a > 2 and not y", "(a > 2 or not y)"),
        ("a > 2 and not y", "(not (a > 2 and (not y)))"),
        ('raise ValueError(f"mal {a + 1}")', "pass"),
        ("y.hace()", "pass"),
        ("return a == 3", "return None"),
        ("a == 3", "(a != 3)"),
        ("3", "4"),
    }
    assert {m.linea for m in faltas} == {5, 7, 8, 9, 10}
    for m in faltas:
        assert m.codigo != FUENTE and m.codigo.count("\n") == FUENTE.count("\n")


def test_las_faltas_respetan_las_tildes():
    (falta,) = [m for m in mutantes_de("x = 'ñandú' if a == b else 'é'\n", Path("a.py"))]
    assert falta.codigo == "x = 'ñandú' if (a != b) else 'é'\n" and "«a == b» → «(a != b)»" in str(
        falta
    )


@pytest.mark.parametrize(
    ("fichero", "primera", "tambien"),
    [
        ("code/atento/masks.py", "tests/atento/test_masks.py", "tests/atento/test_masks.py"),
        (
            "code/atento/tasks/translation/lexicon.py",
            "tests/atento/tasks/test_translation.py",
            "tests/atento/tasks/test_translation.py",
        ),
        ("book/_ext/libro/huella.py", "tests/libro/test_huella.py", "tests/libro/test_huella.py"),
        (
            "book/_ext/libro/sitio.py",
            "tests/libro/test_piezas.py",
            "tests/libro/test_extension.py",
        ),
        (
            "book/_ext/libro/temario.py",
            "tests/libro/test_apendices.py",
            "tests/libro/test_apendices.py",
        ),
        (
            "tools/paginas/cuadernos.py",
            "tests/libro/test_cuadernos.py",
            "tests/libro/test_cuadernos.py",
        ),
        (
            "tools/construir.py",
            "tests/maquinaria/test_construir.py",
            "tests/maquinaria/test_construir.py",
        ),
    ],
)
def test_cada_fichero_tiene_sus_pruebas(fichero, primera, tambien):
    suyas = pruebas_de(Path(fichero))
    assert suyas[0] == primera and tambien in suyas


def test_todo_lo_que_se_estropea_tiene_alguna_prueba():
    sin = [
        p
        for carpeta in ("book/_ext", "tools")
        for p in (mutantes.RAIZ / carpeta).rglob("*.py")
        if p.name not in mutantes.NO_SE_TOCAN
        and p.name != "__init__.py"
        and (p.parent.name != "semillas" or p.name == "__main__.py")
        and not pruebas_de(p.relative_to(mutantes.RAIZ))
    ]
    assert not sin, f"nada los prueba: {', '.join(p.name for p in sin)}"


@pytest.fixture
def proyecto(tmp_path, monkeypatch):
    """Un proyecto de juguete con una prueba que ve una falta y no ve otra."""
    for nombre, texto in {
        "tools/cosa.py": "def f(a):\n    return a > 2\n\n\ndef g():\n    return f(3) + 1\n",
        "tests/maquinaria/test_cosa.py": (
            "from cosa import f\ndef test_f():\n    assert f(3) and not f(2)\n"
        ),
        "code/x": "",
        "book/_ext/x": "",
    }.items():
        (tmp_path / nombre).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / nombre).write_text(texto)
    monkeypatch.setattr(mutantes, "GUARDADOS", tmp_path / "guardados")
    return tmp_path


def test_se_ve_lo_que_la_prueba_ve_y_nada_queda_estropeado(proyecto, capsys):
    fuente = (proyecto / "tools/cosa.py").read_text()
    faltas = [m for m in mutantes_de(fuente, Path("tools/cosa.py")) if m.antes in ("a > 2", "1")]
    vivos = mide(faltas, proyecto)
    assert [m.linea for m in faltas] == [2, 6] and [m.linea for m in vivos] == [6]
    assert (proyecto / "tools/cosa.py").read_text() == fuente
    dicho = capsys.readouterr().out
    assert dicho.count("NADIE") == len(vivos) and dicho.count("vista") == len(faltas) - len(vivos)


PRUEBA_LENTA = """import subprocess, sys, time
from cosa import f, g

def test_lenta():
    time.sleep(0.5)
    assert f(3)

def test_rapida():
    assert f(3)

def test_otra():
    assert g()

def test_aparte():
    subprocess.run([sys.executable, "-c", ""], check=True, timeout=60)

def test_ninguna():
    assert True
"""


def test_solo_se_ejecutan_las_pruebas_que_pasan_por_la_linea(proyecto):
    (proyecto / "tests/maquinaria/test_cosa.py").write_text(PRUEBA_LENTA)
    fichero = Path("tools/cosa.py")
    fuente = (proyecto / fichero).read_text()
    (en_f, en_g, importada) = (
        next(m for m in mutantes_de(fuente + "\n\nX = [9]\n", fichero) if m.antes == antes)
        for antes in ("a > 2", "1", "9")
    )
    visto = mira(proyecto, [fichero], ["tests/maquinaria/test_cosa.py"])

    def nombres(falta):
        return [t.partition("::")[2] for t in pasan_por(falta, visto)]

    assert nombres(en_g) == ["test_otra", "test_aparte"]
    assert set(nombres(en_f)[:2]) == {"test_rapida", "test_otra"}
    assert nombres(en_f)[2:] == ["test_lenta", "test_aparte"]
    assert nombres(importada) == ["test_aparte"]  # nadie pasa por una línea que no estaba
    visto["lineas"][fichero.as_posix()][TODAS].append(importada.linea)
    assert len(nombres(importada)) == 5  # lo que se ejecuta al importar lo ven todas


def test_lo_mirado_se_guarda_hasta_que_cambia_algo(proyecto, monkeypatch):
    veces = []
    de_verdad = mutantes.pytest
    monkeypatch.setattr(mutantes, "pytest", lambda *a, **k: veces.append(1) or de_verdad(*a, **k))
    pedido = (proyecto, [Path("tools/cosa.py")], ["tests/maquinaria/test_cosa.py"])
    assert mira(*pedido) == mira(*pedido) and len(veces) == 1
    for nombre in ("tests/maquinaria/test_cosa.py", "tools/cosa.py"):
        (proyecto / nombre).write_text((proyecto / nombre).read_text() + "\n")
        mira(*pedido)
    assert len(veces) == 3


def test_lo_que_nadie_ejecuta_no_lo_ve_nadie(proyecto, capsys):
    (proyecto / "tests/maquinaria/test_cosa.py").write_text(
        "from cosa import f\ndef test_f():\n    assert f(3)\n"
    )
    fuente = (proyecto / "tools/cosa.py").read_text()
    faltas = [m for m in mutantes_de(fuente, Path("tools/cosa.py")) if m.linea == 6]
    assert mide(faltas, proyecto) == faltas and len(faltas) >= 3
    assert capsys.readouterr().out.count("NADIE") == len(faltas)


def test_se_ve_lo_que_otra_prueba_dejo_en_memoria(proyecto, capsys):
    """Solo pasa por la línea la primera que pide el valor, y quien lo mira es la otra."""
    (proyecto / "tools/cosa.py").write_text(
        "from functools import cache\n\n\n@cache\ndef h():\n    return 5\n"
    )
    (proyecto / "tests/maquinaria/test_cosa.py").write_text(
        "from cosa import h\ndef test_pide():\n    h()\ndef test_mira():\n    assert h() == 5\n"
    )
    fuente = (proyecto / "tools/cosa.py").read_text()
    faltas = [m for m in mutantes_de(fuente, Path("tools/cosa.py")) if m.antes == "5"]
    assert faltas and mide(faltas, proyecto) == []
    assert capsys.readouterr().out.count("vista") == len(faltas)


def test_los_equivalentes_existen_se_explican_y_no_se_plantan(monkeypatch):
    sabidas = mutantes.equivalentes()
    por_fichero = {}
    for seña, porque in sabidas.items():
        assert len(porque.split()) >= 5, f"{seña}: falta la razón"
        por_fichero.setdefault(seña[0], set()).add(seña)
    for fichero, señas in por_fichero.items():
        sobran = señas - {m.seña for m in mutantes.todos(fichero)}
        assert not sobran, f"ya no existen: {sobran}"
    elegida = mutantes.todos("tools/procesos.py")[0]
    monkeypatch.setattr(mutantes, "equivalentes", lambda: {elegida.seña: "una razón"})
    plantadas = muestra(["tools/procesos.py"], 10_000, 0)
    assert elegida.seña not in {m.seña for m in plantadas} and len(plantadas) > 10


def test_la_instruccion_de_una_falta_es_la_mas_corta():
    fuente = "def f(a):\n    return (\n        a\n        + 1\n    )\n\n\nx = 2\n"
    uno = next(m for m in mutantes_de(fuente, Path("a.py")) if m.antes == "1")
    dos = next(m for m in mutantes_de(fuente, Path("a.py")) if m.antes == "2")
    assert uno.instruccion == range(2, 6) and dos.instruccion == range(8, 9)
    assert dos.seña == ("a.py", "x = 2", "2", "3")


def test_con_las_pruebas_rotas_no_se_mide(proyecto):
    (proyecto / "tests/maquinaria/test_cosa.py").write_text(
        "from cosa import f\ndef test_f():\n    assert 0\n"
    )
    with pytest.raises(SystemExit, match="Sin ninguna falta ya fallan"):
        mide(mutantes_de("def f(a):\n    return a > 2\n", Path("tools/cosa.py")), proyecto)


@pytest.mark.parametrize(
    ("minimo", "vistas", "plantadas", "mal"),
    [(90, 54, 60, False), (90, 53, 60, True), (90, 0, 49, False), (0, 0, 60, False)],
)
def test_se_exige_una_parte_si_la_muestra_dice_algo(minimo, vistas, plantadas, mal, capsys):
    if mal:
        with pytest.raises(SystemExit, match="Se ven 53 de 60, y se pide al menos el 90 %"):
            mutantes.exige(minimo, vistas, plantadas)
    else:
        mutantes.exige(minimo, vistas, plantadas)
    assert ("no se exige" in capsys.readouterr().out) is (0 < plantadas < 50)


@pytest.mark.parametrize(("pedido", "mal"), [([], False), (["--minimo", "90"], True)])
def test_la_orden_cuenta_lo_visto_y_lo_exige(monkeypatch, capsys, pedido, mal):
    faltas = mutantes.todos("tools/procesos.py")[:1] * 50
    monkeypatch.setattr(mutantes, "muestra", lambda *a: faltas)
    monkeypatch.setattr(mutantes, "copia", lambda destino: None)
    monkeypatch.setattr(mutantes, "mide", lambda faltas, copiado: faltas[:6])
    monkeypatch.setattr(sys, "argv", ["mutantes.py", "tools", *pedido])
    if mal:
        with pytest.raises(SystemExit, match="Se ven 44 de 50"):
            mutantes.main()
    else:
        mutantes.main()
    assert "tools: 44 de 50 vistas" in capsys.readouterr().out


def test_make_mutantes_pide_el_noventa_por_ciento():
    orden = ["make", "-n", "mutantes"]
    dicho = subprocess.run(orden, cwd=mutantes.RAIZ, capture_output=True, text=True, timeout=60)
    assert "--minimo 90 " in dicho.stdout + " "


def test_solo_se_libran_los_que_miden_y_las_ejecuciones_largas():
    hay = {
        p.relative_to(mutantes.RAIZ)
        for p in (mutantes.RAIZ / "tools").rglob("*.py")
        if p.name != "__init__.py"
    }
    libres = {f"tools/{x}.py" for x in ("__main__", "cuidar/mutantes", "cuidar/pruebas_por_linea")}
    largas = {p.as_posix() for p in hay if p.parent.name == "semillas" and "cap" in p.name}
    plantadas = {m.fichero for m in mutantes.todos("tools")}
    assert {p.as_posix() for p in hay - plantadas} == libres | largas


def test_la_muestra_es_la_misma_con_la_misma_semilla():
    una, otra, tercera = (
        muestra(["tools", "tools/procesos.py"], 5, semilla) for semilla in (1, 1, 2)
    )
    assert una == otra != tercera and len(una) == 10
    assert {m.fichero for m in una[5:]} == {Path("tools/procesos.py")}
