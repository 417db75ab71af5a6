"""Referencias y tiempos: solo cambia lo que ha cambiado, y solo en el capítulo pedido."""

import json
import os
import sys
from types import SimpleNamespace

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from rich.console import Console
from test_herramientas import capitulo

from cuidar import referencias, tiempos
from cuidar.referencias import _saneador, adelgaza, conserva, esta_al_dia, junta, referencia
from paginas import capitulos as modulo
from paginas.capitulos import GUARDADAS, LIBRO, elegidos, tira_caches_viejas

SANEA = _saneador(referencias.SANEAR)


def flujo(texto, nombre="stdout"):
    """Un trozo de lo que una celda escribe."""
    return new_output("stream", name=nombre, text=texto)


def test_los_trozos_seguidos_se_juntan():
    juntas = junta([flujo("a"), flujo("b"), flujo("c", "stderr"), flujo("d")])
    assert [(s.name, s.text) for s in juntas] == [
        ("stdout", "ab"),
        ("stderr", "c"),
        ("stdout", "d"),
    ]
    resultado = new_output("execute_result", data={"text/plain": "1"}, execution_count=7)
    assert [s.output_type for s in junta([flujo("a"), resultado, flujo("b")])] == [
        "stream",
        "execute_result",
        "stream",
    ]
    assert adelgaza(resultado).execution_count == 1


@pytest.mark.parametrize(
    ("antes", "ahora", "etiquetas", "se_queda"),
    [
        ("tarda 3 s", "tarda 0.2 s", [], "tarda 3 s"),
        ("tarda 3 µs", "tarda 5 µs", [], "tarda 3 µs"),
        ("vale 3", "vale 4", [], "vale 4"),
        ("vale 3", "vale 4", ["nbval-ignore-output"], "vale 3"),
        ("en cuda:0", "en cpu", [], "en cuda:0"),
    ],
)
def test_solo_cambia_lo_que_nbval_veria(antes, ahora, etiquetas, se_queda):
    vieja, nueva = (
        new_notebook(cells=[new_code_cell("x", outputs=[flujo(t)], metadata={"tags": etiquetas})])
        for t in (antes, ahora)
    )
    conserva(nueva, vieja, SANEA)
    assert nueva.cells[0].outputs[0].text == se_queda


def test_una_salida_nueva_o_perdida_cambia_aunque_se_ignore():
    con, sin = (
        new_notebook(
            cells=[new_code_cell("x", outputs=o, metadata={"tags": ["nbval-ignore-output"]})]
        )
        for o in ([flujo("a")], [])
    )
    conserva(sin, con, SANEA)
    assert sin.cells[0].outputs == []
    otra = new_notebook(cells=[new_code_cell("y", outputs=[flujo("tarda 1 s")])])
    conserva(otra, con, SANEA)
    assert otra.cells[0].outputs[0].text == "tarda 1 s"


def test_la_referencia_parte_de_la_guardada():
    nueva = new_notebook(cells=[new_code_cell("x", outputs=[flujo("tarda "), flujo("1 s")])])
    vieja = new_notebook(cells=[new_code_cell("x", outputs=[flujo("tarda 2 s")])])
    celda = nbformat.reads(referencia(nueva, vieja), as_version=4).cells[0]
    assert (
        celda.outputs[0].text == "tarda 2 s"
        and celda.execution_count == 1
        and celda.id == "celda-00"
    )


@pytest.fixture
def uno(tmp_path, monkeypatch):
    """Un capítulo con carpetas propias de referencias y de caché."""
    monkeypatch.setattr(modulo, "REFERENCIAS", tmp_path)
    monkeypatch.setattr(referencias, "REFERENCIAS", tmp_path)
    monkeypatch.setattr(
        modulo.Capitulo, "carpeta_de_cache", property(lambda c: tmp_path / "cache" / c.nombre / "h")
    )
    return capitulo(tmp_path, "print(1)")


def test_rehacer_escribe_una_vez_y_solo_la_suya(uno, tmp_path):
    ajena = tmp_path / "05-otra.ipynb"
    ajena.write_text("intacta")
    consola = Console(record=True, width=100, file=open(os.devnull, "w"))  # noqa: SIM115
    assert [referencias.rehace([uno], consola) for _ in range(2)] == [1, 0]
    assert (
        "referencia nueva" in consola.export_text()
        and ajena.read_text() == "intacta"
        and esta_al_dia(uno) is None
    )
    capitulo(tmp_path, "print(2)")
    assert "ha cambiado" in esta_al_dia(uno) and referencias.rehace([uno], consola) == 1
    dicho = consola.export_text()
    assert "rehecha" in dicho and "--- antes" in dicho


def test_la_referencia_la_puede_leer_cualquiera_y_su_carpeta_se_hace(uno, tmp_path, monkeypatch):
    """El fichero temporal solo lo lee su dueño; el que queda, como los demás del repositorio."""
    carpeta = tmp_path / "tests" / "referencias"
    monkeypatch.setattr(modulo, "REFERENCIAS", carpeta)
    monkeypatch.setattr(referencias, "REFERENCIAS", carpeta)
    consola = Console(file=open(os.devnull, "w"))  # noqa: SIM115
    monkeypatch.setattr(referencias, "ejecuta_pendientes", lambda lista, consola: [])
    modulo.guarda_en_cache(modulo.abre_cache(uno), uno, uno.cuaderno(), 1.0)
    assert referencias.rehace([uno], consola) == 1
    assert [p.name for p in carpeta.iterdir()] == ["01-prueba.ipynb"]
    assert uno.referencia.stat().st_mode & 0o777 == 0o644


def test_la_diferencia_se_ensena_con_dos_lineas_alrededor(uno, monkeypatch):
    consola = Console(record=True, width=100, file=open(os.devnull, "w"))  # noqa: SIM115
    vieja = [f"línea {n}" for n in range(9)]
    uno.referencia.write_text("\n".join(vieja), encoding="utf-8")
    guardado = SimpleNamespace(merge_match_into_notebook=lambda cuaderno: (1, cuaderno))
    monkeypatch.setattr(referencias, "abre_cache", lambda capitulo: guardado)
    monkeypatch.setattr(nbformat, "reads", lambda *a, **k: None)
    nueva = "\n".join([*vieja[:4], "otra", *vieja[5:]])
    monkeypatch.setattr(referencias, "referencia", lambda *a: nueva)
    assert referencias._rehace_una(uno, consola)
    dicho = [x.strip() for x in consola.export_text().splitlines() if x.strip()]
    assert dicho == [
        "--- antes",
        "+++ ahora",
        "@@ -3,5 +3,5 @@",
        *("línea 2", "línea 3", "-línea 4", "+otra", "línea 5", "línea 6"),
        "01-prueba: referencia rehecha.",
    ]


def test_el_orden_de_las_claves_no_es_una_diferencia():
    """Quien guarda un cuaderno las escribe en otro orden; lo guardado se queda."""
    tipos = {"text/plain": "1", "text/latex": "$1$"}
    al_reves = dict(reversed(tipos.items()))
    nueva, vieja = (
        new_notebook(cells=[new_code_cell("x", outputs=[new_output("display_data", data=d)])])
        for d in (tipos, al_reves)
    )
    conserva(nueva, vieja, SANEA)
    assert nueva.cells[0].outputs is vieja.cells[0].outputs


def test_una_celda_de_la_referencia_sin_ejecutar_se_dice(uno):
    """nbval no la miraría."""
    uno.referencia.write_text(referencia(uno.cuaderno()), encoding="utf-8")
    assert esta_al_dia(uno) is None
    guardada = nbformat.read(uno.referencia, as_version=4)
    guardada.cells[0].execution_count = None
    nbformat.write(guardada, uno.referencia)
    assert "sin ejecutar" in esta_al_dia(uno)


def test_revisar_dice_lo_que_falta(uno, monkeypatch, capsys):
    monkeypatch.setattr(referencias, "elegidos", lambda cual: [uno])
    monkeypatch.setattr(sys, "argv", ["referencias.py", "--revisa"])
    with pytest.raises(SystemExit) as fin:
        referencias.main()
    assert fin.value.code == 1 and "no tiene referencia" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["referencias.py", "1"])
    referencias.main()
    assert "Han cambiado 1" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["referencias.py", "--revisa"])
    with pytest.raises(SystemExit) as fin:
        referencias.main()
    assert fin.value.code == 0 and "al día" in capsys.readouterr().out


def test_un_capitulo_roto_no_toca_su_referencia(uno, monkeypatch, tmp_path):
    uno.referencia.write_text("la de antes")
    capitulo(tmp_path, "1 / 0")
    monkeypatch.setattr(referencias, "elegidos", lambda cual: [uno])
    monkeypatch.setattr(sys, "argv", ["referencias.py", "1"])
    with pytest.raises(SystemExit, match="ZeroDivisionError"):
        referencias.main()
    assert uno.referencia.read_text() == "la de antes"


# --- Tiempos, cachés y elección -------------------------------------------------------------------


@pytest.mark.parametrize("pedido", [[], ["01"]])
def test_la_orden_de_los_tiempos_apunta_los_pedidos(monkeypatch, capsys, pedido):
    apuntados = []
    monkeypatch.setattr(tiempos, "elegidos", lambda cual: [cual])
    monkeypatch.setattr(tiempos, "capitulos", lambda: [SimpleNamespace(clave="01")])
    monkeypatch.setattr(tiempos, "apunta", lambda *a: apuntados.append(a) or "{}\n")
    monkeypatch.setattr("sys.argv", ["tiempos.py", *pedido])
    tiempos.main()
    assert apuntados == [(pedido or [None], ["01"])] and capsys.readouterr().out == "{}\n"


def test_los_tiempos_de_los_demas_no_se_tocan(uno, tmp_path):
    fichero = tmp_path / "tiempos.json"
    fichero.write_text('{"05": 9.0, "07": 1.0, "notacion": 2.0}')
    with pytest.raises(SystemExit, match="no está ejecutado"):
        tiempos.apunta([uno], ["01"], fichero)
    assert "9.0" in fichero.read_text()
    cuaderno = uno.cuaderno()
    modulo.guarda_en_cache(modulo.abre_cache(uno), uno, cuaderno, 3.26)
    texto = tiempos.apunta([uno], ["notacion", "01", "05"], fichero)
    assert texto == '{\n  "notacion": 2.0,\n  "01": 3.3,\n  "05": 9.0\n}\n'
    assert (
        json.loads(texto) == {"notacion": 2.0, "01": 3.3, "05": 9.0}
        and fichero.read_text() == texto
    )
    assert list(json.loads(texto)) == ["notacion", "01", "05"]


def test_se_guardan_las_ultimas_caches_de_cada_capitulo(tmp_path):
    for capitulo_, cuantas in (("03-a", GUARDADAS + 2), ("04-b", 1)):
        for i in range(cuantas):
            (tmp_path / capitulo_ / f"h{i}").mkdir(parents=True)
            os.utime(tmp_path / capitulo_ / f"h{i}", (1000 + i, 1000 + i))
    assert sorted(p.name for p in tira_caches_viejas(tmp_path)) == ["h0", "h1"]
    assert sorted(p.name for p in (tmp_path / "03-a").iterdir()) == [
        f"h{i}" for i in range(2, GUARDADAS + 2)
    ]
    assert (tmp_path / "04-b" / "h0").exists() and GUARDADAS >= 3


def test_sin_decir_donde_se_tiran_las_del_libro(tmp_path, monkeypatch):
    monkeypatch.setattr(modulo, "CONSTRUIDO", tmp_path)
    for i in range(GUARDADAS + 1):
        (tmp_path / ".jupyter_cache" / "03-a" / f"h{i}").mkdir(parents=True)
    assert len(tira_caches_viejas()) == 1


def test_abrir_una_cache_la_hace_reciente(uno):
    modulo.abre_cache(uno)
    os.utime(uno.carpeta_de_cache, (1000, 1000))
    modulo.abre_cache(uno)
    assert uno.carpeta_de_cache.stat().st_mtime > 2000


@pytest.mark.parametrize(
    "cual", ["4", "04", "04-la-atencion-derivada", "04-la-atencion-derivada.md"]
)
def test_un_capitulo_se_elige_por_numero_o_por_nombre(cual):
    assert [c.nombre for c in elegidos(cual)] == ["04-la-atencion-derivada"]


def test_se_elige_un_borrador_y_se_dice_lo_que_hay(tmp_path):
    (tmp_path / "2-m").mkdir()
    for nombre in ("06-uno.md", "07-dos.md", "07-tres.md"):
        (tmp_path / "2-m" / nombre).write_text("# X\n")
    assert [c.nombre for c in elegidos("6", tmp_path)] == ["06-uno"]
    for cual in ("7", "8"):
        with pytest.raises(SystemExit, match=f"CAPITULO={cual}: hay [02] páginas.*06, 07"):
            elegidos(cual, tmp_path)
    assert [c.ruta for c in elegidos("")] == [
        c.ruta for c in modulo.capitulos()
    ] and LIBRO.name == "book"


def test_la_cache_de_un_capitulo_depende_de_su_huella(tmp_path, monkeypatch):
    monkeypatch.setattr(modulo, "huella", lambda texto, nombre: f"{nombre}-{len(texto)}")
    cap = capitulo(tmp_path, "print(1)")
    assert cap.carpeta_de_cache.parts[-3:] == (
        ".jupyter_cache",
        "01-prueba",
        f"01-prueba-{len(cap.texto())}",
    )
