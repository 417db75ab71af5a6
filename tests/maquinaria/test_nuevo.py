"""El capítulo que empieza «make capitulo»: se construye, se corrige y cabe en nueve ficheros."""

import ast
import importlib.util
import shutil

import pytest
import yaml
from libro.lector import analiza

from cuidar import nuevo
from paginas.capitulos import LIBRO, RAIZ

INDICE = """\
format: jb-book
root: intro
parts:
  - caption: Uno   # un comentario
    chapters:
      - file: 1-uno/03-a
  - caption: Dos
    chapters:
      - file: 2-dos/04-b
      - file: 2-dos/07-c
"""


@pytest.fixture
def raiz(tmp_path):
    """Un repositorio de juguete con lo que hace falta."""
    modulos = ("atento/__init__", "calificador/registro", "calificador/vetos")
    for nombre in ("book/_toc.yml", *(f"code/{modulo}.py" for modulo in modulos)):
        (tmp_path / nombre).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / nombre).write_text(INDICE if nombre.endswith("yml") else '"""Algo."""\n')
    return tmp_path


def crea(raiz, numero=6):
    """Crea un capítulo y devuelve las rutas tocadas."""
    return [
        p.relative_to(raiz).as_posix()
        for p in nuevo.crea(numero, "varias-cabezas", "2-dos", "Varias cabezas", raiz)
    ]


def test_lo_que_se_crea_y_cuantos_ficheros_son(raiz):
    nuevo.escribe_apendices(raiz)
    tocados = crea(raiz)
    assert sorted(tocados) == [
        "book/2-dos/06-varias-cabezas.md",
        "book/_toc.yml",
        "book/apendices/soluciones/cap06.md",
        "code/calificador/ejercicios/cap06.py",
        "exercises/cap06.py",
        "solutions/cap06.py",
        "tests/calificador/respuestas/buenas/cap06.py",
        "tests/calificador/respuestas/malas/cap06.py",
        "tests/calificador/verdades/cap06.py",
    ]
    # Los que nadie toca a mano los escriben «make capitulo», «make referencias» y «make tiempos».
    a_mano = {*tocados, "book/temario.yml"} - {
        "book/_toc.yml",
        "book/apendices/soluciones/cap06.md",
    }
    assert len(a_mano) <= 9
    assert (raiz / "book/_toc.yml").read_text() == INDICE.replace(
        "      - file: 2-dos/07-c\n",
        "      - file: 2-dos/06-varias-cabezas\n      - file: 2-dos/07-c\n",
    )
    assert not any("$" in (raiz / x).read_text() for x in tocados)


def test_el_segundo_va_en_las_carpetas_del_primero(raiz):
    crea(raiz)
    tocados = crea(raiz, 8)
    assert "book/2-dos/08-varias-cabezas.md" in tocados and "solutions/cap08.py" in tocados
    assert all((raiz / x).is_file() for x in tocados)
    assert (raiz / "exercises/cap06.py").is_file()


@pytest.mark.parametrize(
    ("fichero", "despues"), [("02-x", "03-a"), ("05-x", "07-c"), ("08-x", None)]
)
def test_la_entrada_va_en_su_sitio(fichero, despues):
    parte = "1-uno" if fichero == "02-x" else "2-dos"
    lineas = [x.strip() for x in nuevo.con_entrada(INDICE, parte, fichero).splitlines()]
    lugar = lineas.index(f"- file: {parte}/{fichero}")
    assert lineas[lugar + 1 :][:1] == ([f"- file: {parte}/{despues}"] if despues else [])


@pytest.mark.parametrize(
    ("parte", "antes", "despues"),
    [
        ("3-tres", "file: 2-dos/07-c", "caption: Apéndices"),
        ("0-cero", "parts:", "caption: Uno   # un comentario"),
    ],
)
def test_una_parte_nueva_va_en_su_sitio_con_su_rotulo(parte, antes, despues):
    indice = INDICE + "  - caption: Apéndices\n    chapters:\n      - file: apendices/api\n"
    with pytest.raises(SystemExit, match=f"{parte}.*ROTULO="):
        nuevo.con_entrada(indice, parte, "09-x")
    nuevo_indice = nuevo.con_entrada(indice, parte, "09-x", "Tres: la familia")
    suya = {"caption": "Tres: la familia", "chapters": [{"file": f"{parte}/09-x"}]}
    viejas, partes = yaml.safe_load(indice)["parts"], yaml.safe_load(nuevo_indice)["parts"]
    assert suya in partes and [p for p in partes if p != suya] == viejas
    lineas = [x.strip(" -") for x in nuevo_indice.splitlines()]
    lugar = lineas.index('caption: "Tres: la familia"')
    assert (lineas[lugar - 1], lineas[lugar + 3]) == (antes, despues)
    # La segunda página de esa parte ya no necesita el rótulo.
    assert f"{parte}/10-y" in nuevo.con_entrada(nuevo_indice, parte, "10-y")


def test_no_se_pisa_nada(raiz):
    crea(raiz)
    for vieja in (raiz / "exercises").glob("*.py"):
        vieja.unlink()
    with pytest.raises(SystemExit, match="Ya existe"):
        crea(raiz)
    assert not list((raiz / "exercises").glob("*.py"))


@pytest.mark.parametrize(
    ("llega", "falta"),
    [
        (("x", "a", "2-dos", "T"), "N="),
        (("0", "a", "2-dos", "T"), "N="),
        (("6", "Á b", "2-dos", "T"), "NOMBRE="),
        (("6", "a", "dos", "T"), "PARTE="),
        (("6", "a", "2-dos", " "), "TITULO"),
    ],
)
def test_lo_que_llega_mal_se_dice(llega, falta):
    with pytest.raises(SystemExit, match=falta):
        nuevo.comprueba(*llega)
    assert nuevo.comprueba("16", "varias-cabezas", "2-mecanismo", "Varias") == 16


def test_la_pagina_y_el_codigo_se_leen(raiz):
    crea(raiz)
    doc = analiza((raiz / "book/2-dos/06-varias-cabezas.md").read_text())
    assert doc.secciones()[0][1] == "Varias cabezas" and len(doc.celdas) == 1
    assert [d.etiqueta for d in doc.llamadas("exercise")] == ["ej-6-1"]
    for nombre in ("exercises", "solutions"):
        ast.parse((raiz / nombre / "cap06.py").read_text())


@pytest.fixture
def nacido(raiz):
    """El ejercicio recién creado y el curso que lo contiene."""
    from calificador.carga import Curso

    crea(raiz)
    especificacion = importlib.util.spec_from_file_location(
        "cap06", raiz / "code/calificador/ejercicios/cap06.py"
    )
    modulo = importlib.util.module_from_spec(especificacion)
    especificacion.loader.exec_module(modulo)
    (ejercicio,) = modulo.EJERCICIOS
    carpetas = (raiz / x for x in ("code/calificador/ejercicios", "exercises", "solutions"))
    return ejercicio, Curso(*carpetas, {ejercicio.id: ejercicio})


def test_el_ejercicio_nace_con_la_nota_bien_puesta(raiz, nacido):
    """La referencia obtiene todos los puntos, el esqueleto ninguno y cada mutante cae con su
    pista."""
    from calificador.correccion.oraculo import verifica

    ejercicio, curso = nacido
    solucion, esqueleto = ((raiz / x / "cap06.py").read_text() for x in ("solutions", "exercises"))
    for semilla in (0, 1):
        assert verifica(ejercicio, solucion, semilla, del_curso=curso).puntos == ejercicio.puntos
        assert verifica(ejercicio, esqueleto, semilla, del_curso=curso).puntos == 0
        for mutante in ejercicio.mutantes:
            resultado = verifica(ejercicio, mutante.codigo, semilla, del_curso=curso)
            assert resultado.puntos < ejercicio.puntos and mutante.pista in str(resultado), (
                mutante.nombre
            )


def test_el_ejercicio_nace_con_su_verdad(raiz, nacido, monkeypatch):
    """La verdad acepta lo que da la referencia y rechaza lo que dan los mutantes."""
    from calificador.correccion.examen import prepara, sesion_cargada

    ejercicio, curso = nacido
    monkeypatch.syspath_prepend(str(RAIZ / "tests" / "calificador"))
    tabla = importlib.import_module("verdades.tabla")
    monkeypatch.setattr(tabla, "VERDADES", {})
    codigo = (raiz / "tests/calificador/verdades/cap06.py").read_text()
    exec(compile(codigo, "cap06.py", "exec"), {})
    cierta = tabla.VERDADES[ejercicio.id]
    sesion, _ = sesion_cargada(curso.solucion(6), ejercicio.nombre, ())
    funcion = sesion.alumno.modulo.__dict__[ejercicio.nombre]
    for semilla in range(3):
        examen = prepara(curso, ejercicio, semilla)
        for caso, esperada in zip(examen.casos, examen.esperadas, strict=True):
            assert cierta(caso, esperada.valor, funcion)
            assert not cierta(caso, 3 * esperada.valor, funcion)


def test_el_ejercicio_nace_con_respuestas_de_fuera(raiz, nacido, monkeypatch):
    """Cinco equivocadas, que pierden puntos, y tres buenas, que los obtienen todos."""
    from calificador.correccion.oraculo import verifica

    ejercicio, curso = nacido
    monkeypatch.syspath_prepend(str(RAIZ / "tests" / "calificador"))
    banco = importlib.import_module("banco")
    monkeypatch.setattr(banco, "CARPETA", raiz / "tests/calificador/respuestas")
    for cuales, minimo in (("buenas", 3), ("malas", 5)):
        suyas = banco.respuestas(cuales)
        assert len(suyas) >= minimo and {id_ for id_, _, _ in suyas} == {ejercicio.id}
        for _, que, codigo in suyas:
            puntos = verifica(ejercicio, codigo, 0, del_curso=curso).puntos
            assert (puntos == ejercicio.puntos) == (cuales == "buenas"), que


def test_la_orden_dice_lo_que_ha_escrito_y_lo_que_sigue(monkeypatch, capsys):
    monkeypatch.setattr(
        nuevo, "crea", lambda *llega, rotulo: [RAIZ / "book" / "_toc.yml"] if llega[0] == 6 else []
    )
    monkeypatch.setattr(
        "sys.argv", ["nuevo.py", "6", "varias-cabezas", "2-mecanismo", "Varias cabezas"]
    )
    nuevo.main()
    dicho = capsys.readouterr().out
    assert dicho.startswith("book/_toc.yml\n") and "make libro CAPITULO=6" in dicho


def test_las_partes_del_libro_valen():
    indice = (LIBRO / "_toc.yml").read_text()
    for carpeta in {p.parent.name for p in LIBRO.glob("[1-9]-*/*.md")}:
        assert f"{carpeta}/99-x" in nuevo.con_entrada(indice, carpeta, "99-x")
    assert shutil.which("make") and " tools nuevo " in (RAIZ / "Makefile").read_text()
