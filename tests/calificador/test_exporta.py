"""Los formatos de salida, leídos con los programas o los esquemas de quien los recibe."""

from __future__ import annotations

import csv
import io
import json

import jsonschema
import pytest
from junitparser import JUnitXml

from calificador.correccion.resultado import FALLADO, SIN_ENTREGA, SUPERADO, Propiedad, Resultado
from calificador.uso import exporta, lote

GRADESCOPE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["tests", "stdout_visibility"],
    "properties": {
        "stdout_visibility": {"const": "hidden"},
        "tests": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["name", "score", "max_score", "status", "output", "visibility"],
                "properties": {
                    "name": {"type": "string"},
                    "score": {"type": "number", "minimum": 0},
                    "max_score": {"type": "number"},
                    "status": {"enum": ["passed", "failed"]},
                    "output": {"type": "string"},
                    "visibility": {
                        "enum": ["hidden", "after_due_date", "after_published", "visible"]
                    },
                },
            },
        },
    },
}


def corregida(id_, puntos=2, mensaje="", pista="", duplicada=False, incidencias=()):
    estado = SUPERADO if puntos == 2 else FALLADO
    uno = Resultado(
        "91.1", "f", estado, puntos, 2, (Propiedad("p", puntos, 2, mensaje),), mensaje, pista
    )
    dos = Resultado("91.2", "g", SIN_ENTREGA, 0, 1, (Propiedad("p", 0, 1),), "no llegó")
    return lote.Corregida(id_, "Nombre", [uno, dos], list(incidencias), duplicada, "media")


NOTAS = [
    corregida("7"),
    corregida("=HYPERLINK(1)", 0, "en la línea 3: «=1+1» \x1b[2J", "Falta la raíz <b>"),
    corregida("@x\ny", 0, incidencias=["<script>alert(1)</script>"]),
    corregida("9", duplicada=True),
    corregida("9 (2)", duplicada=True),
]


def filas(ruta):
    return list(csv.reader(io.StringIO(ruta.read_bytes().decode("utf-8"))))


def test_moodle_una_fila_por_persona_matriculada(tmp_path):
    lista = tmp_path / "lista.csv"
    lista.write_text("nombre;idnumber\nAna;7\nBeto;8\nCarla;9\n", encoding="utf-8-sig")
    hecho = exporta.moodle(NOTAS, tmp_path, lista=lista)
    datos = (tmp_path / "moodle.csv").read_bytes()
    assert datos.count(b"\r\n") == datos.count(b"\n") == 4
    tabla = filas(tmp_path / "moodle.csv")
    assert tabla[0] == [
        "idnumber",
        "Ejercicio 91.1",
        "Ejercicio 91.1 (retroalimentación)",
        "Ejercicio 91.2",
        "Ejercicio 91.2 (retroalimentación)",
    ]
    assert (
        tabla[1][:3] == ["7", "2", "superado"]
        and tabla[2][:3] == ["8", "", "sin entrega"]
        and tabla[3][1] == ""
    )
    avisos = "\n".join(hecho.avisos)
    assert "8: está en la lista y no tiene entrega" in avisos and "9: entrega duplicada" in avisos
    assert "HYPERLINK(1): entregó y no está en la lista" in avisos


@pytest.mark.parametrize(
    ("contenido", "trozo"), [("", "ninguna persona"), ("a,b\n1,2\n", "no tiene columna `idnumber`")]
)
def test_moodle_con_una_lista_que_no_vale(tmp_path, contenido, trozo):
    (tmp_path / "l.csv").write_text(contenido)
    with pytest.raises(ValueError, match=trozo):
        exporta.moodle(NOTAS, tmp_path, lista=tmp_path / "l.csv")
    with pytest.raises(ValueError, match="--lista"):
        exporta.moodle(NOTAS, tmp_path)
    with pytest.raises(ValueError, match="no se puede leer"):
        exporta.moodle(NOTAS, tmp_path, lista=tmp_path / "no.csv")


def test_la_hoja_de_moodle_se_rellena_sin_tocar_lo_demas(tmp_path):
    hoja = tmp_path / "hoja.csv"
    hoja.write_text(
        "Identificador,Nombre completo,Estado,Calificación,Calificación máxima,Comentarios de"
        ' retroalimentación\r\nParticipante 7,"Ana, Paz",Enviado,,"10,00",\r\nParticipante'
        ' 8,Beto,Sin entrega,,"10,00",\r\n',
        encoding="utf-8",
    )
    hecho = exporta.moodle(NOTAS, tmp_path, hoja=hoja)
    tabla = filas(tmp_path / "moodle-hoja.csv")
    assert tabla[1][:4] == ["Participante 7", "Ana, Paz", "Enviado", "6.67"] and tabla[1][
        5
    ].startswith("91.1: superado")
    assert tabla[2] == ["Participante 8", "Beto", "Sin entrega", "", "10,00", ""]
    assert any("Participante 8" in a for a in hecho.avisos)


def test_gradescope_cumple_su_esquema(tmp_path):
    hecho = exporta.gradescope(NOTAS, tmp_path)
    seguras = [nota for nota in NOTAS if not nota.duplicada]
    assert len(hecho.ficheros) == len(set(hecho.ficheros)) == len(seguras) == 3
    assert len([aviso for aviso in hecho.avisos if "duplicada" in aviso]) == 2
    for ruta in hecho.ficheros:
        assert ruta.is_relative_to(tmp_path)
        jsonschema.validate(json.loads(ruta.read_text()), GRADESCOPE)


def test_junit_lo_lee_su_biblioteca(tmp_path):
    exporta.junit(NOTAS, tmp_path)
    suites = list(JUnitXml.fromfile(str(tmp_path / "junit.xml")))
    assert (
        [s.tests for s in suites] == [2] * 5 and suites[1].failures == 1 and suites[1].skipped == 1
    )
    assert next(iter(suites[1])).result[0].message.startswith("0/2 puntos. fallado. en la línea 3")


def test_nbgrader_va_entrecomillado(tmp_path):
    exporta.nbgrader(NOTAS, tmp_path, tarea="t1")
    texto = (tmp_path / "nbgrader.csv").read_text()
    assert texto.startswith('"assignment","duedate","timestamp","student_id"') and '"t1"' in texto
    assert [f[3] for f in filas(tmp_path / "nbgrader.csv")[1:]] == ["7", "'=HYPERLINK(1)", "'@x y"]


def test_csv_neutraliza_formulas_y_no_pierde_a_nadie(tmp_path):
    exporta.plano(NOTAS, tmp_path)
    tabla = filas(tmp_path / "notas.csv")
    assert len(tabla) == 6 and all(len(f) == 7 for f in tabla)
    assert not any(c.startswith(("=", "+", "-", "@")) for f in tabla for c in f)


def test_html_escapa_y_cuenta(tmp_path):
    exporta.html(NOTAS, tmp_path)
    pagina = (tmp_path / "notas.html").read_text()
    assert (
        "<script>" not in pagina
        and "&lt;script&gt;" in pagina
        and "1 veces: Falta la raíz &lt;b&gt;" in pagina
    )
    assert 'lang="es"' in pagina and "\x1b" not in pagina
    exporta.html([], tmp_path)


@pytest.mark.parametrize(
    "celda",
    ["=1+1", "+1", "-1", "@a", "＝1+1", "＋1", "－1", "＠a", " =1", "\t=1", "\u200b＝1", "﹢1"],
)
def test_las_formulas_se_neutralizan_tambien_en_ancho_completo(celda, tmp_path):
    assert exporta.neutraliza(celda).startswith("'")
    hoja = tmp_path / "hoja.csv"
    hoja.write_text(
        "Identificador,Nombre completo,Calificación,Última modificación\nParticipante"
        f' 7,"{celda}x",-,-\n',
        encoding="utf-8",
    )
    exporta.moodle(NOTAS, tmp_path, hoja=hoja)
    fila = filas(tmp_path / "moodle-hoja.csv")[1]
    assert fila[1].startswith("'") and fila[3] == "-"


def test_un_texto_corriente_no_cambia():
    assert [exporta.neutraliza(c) for c in ("Ana", "3", "a=b", "")] == ["Ana", "3", "a=b", ""]
