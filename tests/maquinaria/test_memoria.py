"""Lo que se recuerda de una construcción a otra, por su contenido."""

from __future__ import annotations

from paginas.memoria import Memoria, contenido, entorno, ficheros, resumen


def test_se_hace_una_vez_y_se_olvida_lo_que_no_se_pide(tmp_path):
    hechos = []

    def hace(que):
        return lambda: hechos.append(que) or que.upper()

    ruta = tmp_path / "m.pickle"
    for claves, nuevos in (("ab", "ab"), ("bb", ""), ("a", "a")):
        memoria = Memoria(ruta)
        hechos.clear()
        assert [memoria.da(c, hace(c)) for c in claves] == [c.upper() for c in claves]
        assert hechos == list(nuevos)
        memoria.guarda()
    assert [p.name for p in tmp_path.iterdir()] == ["m.pickle"]


def test_un_fichero_roto_o_ninguno_no_detienen_nada(tmp_path):
    ruta = tmp_path / "m.pickle"
    ruta.write_bytes(b"esto no es")
    for memoria in (Memoria(ruta), Memoria(None)):
        assert memoria.da("a", lambda: 1) == 1
        memoria.guarda()
    assert Memoria(ruta).viejo == {"a": 1}


def test_el_contenido_manda_y_la_fecha_no(tmp_path):
    import os

    for nombre in ("a.py", "b/c.txt", "_build/x", "b/__pycache__/c.pyc"):
        (tmp_path / nombre).parent.mkdir(exist_ok=True)
        (tmp_path / nombre).write_text(nombre)
    rutas = ficheros(tmp_path)
    assert [p.relative_to(tmp_path).as_posix() for p in rutas] == ["a.py", "b/c.txt"]
    assert ficheros(tmp_path / "a.py", tmp_path / "no-esta") == [tmp_path / "a.py"]
    antes = contenido(rutas, tmp_path)
    os.utime(tmp_path / "a.py", (0, 0))
    assert contenido(rutas, tmp_path) == antes
    (tmp_path / "a.py").write_text("otro")
    assert contenido(rutas, tmp_path) != antes
    assert resumen("ab", "c") != resumen("a", "bc") and "torch-" in entorno()
