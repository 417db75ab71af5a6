"""Las notas de un lote en los formatos que otros programas leen."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from calificador.correccion.resultado import SIN_ENTREGA, SUPERADO, Resultado, limpia
from calificador.uso import atomico
from calificador.uso.lote import Corregida

COLUMNAS_DE_ID = ("idnumber", "número de id", "numero de id", "id", "username", "nombre de usuario")
_GRADESCOPE = {SUPERADO: "passed"}


@dataclass
class Exportacion:
    """Los ficheros escritos y lo que hay que saber."""

    ficheros: list[Path] = field(default_factory=list)
    avisos: list[str] = field(default_factory=list)


FORMULAS = ("=", "+", "-", "@")


def neutraliza(celda: object) -> str:
    """Una hoja de cálculo ejecutaría lo que empieza por = + - @: se le antepone un apóstrofo.

    También por sus formas de ancho completo (＝＋－＠), que algunas hojas leen igual.
    """
    texto = limpia(str(celda)[:8000], 2000)
    return "'" + texto if es_formula(texto) else texto


def es_formula(texto: str) -> bool:
    """¿La ejecutaría una hoja de cálculo? NFKC lleva cada signo a su forma corriente."""
    return unicodedata.normalize("NFKC", texto.lstrip()[:1]).lstrip().startswith(FORMULAS)


def comentario(resultado: Resultado) -> str:
    """Lo que se dice de un ejercicio, en una línea."""
    if resultado.estado == SUPERADO:
        return "superado"
    partes = [
        resultado.estado,
        resultado.mensaje,
        f"Pista: {resultado.pista}" if resultado.pista else "",
    ]
    return limpia(". ".join(p for p in partes if p), 1000)


def _csv(
    filas: Iterable[Iterable[object]], *, fin: str = "\r\n", comillas: int = csv.QUOTE_MINIMAL
) -> bytes:
    salida = io.StringIO()
    csv.writer(salida, lineterminator=fin, quoting=comillas).writerows(
        [[neutraliza(c) for c in fila] for fila in filas]
    )
    return salida.getvalue().encode()


def _exportables(notas: list[Corregida], avisos: list[str]) -> dict[str, Corregida]:
    """Por identificador, sin las duplicadas."""
    for nota in notas:
        if nota.duplicada:
            avisos.append(
                f"{limpia(nota.id, 60)}: entrega duplicada; su nota no se exporta, decide cuál vale"
            )
    return {n.id: n for n in notas if not n.duplicada}


# --- Moodle -------------------------------------------------------------------------------------


def lee_lista(ruta: Path) -> tuple[list[str], list[dict[str, str]]]:
    """Un CSV con cabecera, con coma o punto y coma. ``ValueError`` si no se entiende."""
    try:
        texto = ruta.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ValueError(f"no se puede leer {ruta}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{ruta} no está en UTF-8: vuelve a descargarlo en ese formato") from None
    primera = texto.splitlines()[0] if texto.strip() else ""
    lector = csv.DictReader(
        io.StringIO(texto), delimiter=";" if primera.count(";") > primera.count(",") else ","
    )
    filas = [{k: v or "" for k, v in fila.items() if k is not None} for fila in lector]
    if not filas:
        raise ValueError(f"{ruta} no tiene ninguna persona: se esperaba un CSV con cabecera")
    return list(lector.fieldnames or []), filas


def _columna(columnas: list[str], nombres: Iterable[str]) -> str | None:
    minusculas = {c.strip().lower(): c for c in columnas}
    return next((minusculas[n] for n in nombres if n in minusculas), None)


def moodle(
    notas: list[Corregida],
    salida: Path,
    lista: Path | None = None,
    hoja: Path | None = None,
    **_: Any,
) -> Exportacion:
    """El libro de calificaciones (con ``lista``) o la hoja de calificación descargada (con
    ``hoja``).
    """
    if hoja is not None:
        return _hoja_de_moodle(notas, salida, hoja)
    if lista is None:
        raise ValueError(
            "Moodle necesita la lista de la clase: --lista CSV con una columna `idnumber` (o"
            " --hoja)"
        )
    hecho = Exportacion()
    columnas, filas = lee_lista(lista)
    columna = _columna(columnas, COLUMNAS_DE_ID)
    if columna is None:
        raise ValueError(f"{lista} no tiene columna `idnumber`; tiene: {', '.join(columnas)}")
    por_id = _exportables(notas, hecho.avisos)
    ejercicios = [r.id for r in notas[0].resultados] if notas else []
    cabecera = ["idnumber"] + [
        t for e in ejercicios for t in (f"Ejercicio {e}", f"Ejercicio {e} (retroalimentación)")
    ]
    tabla: list[list[object]] = [cabecera]
    matriculados = [fila[columna].strip() for fila in filas]
    dudosas = {n.id for n in notas if n.duplicada}  # entregaron, y no se sabe cuál vale
    for quien in dict.fromkeys(matriculados):
        sin = "" if quien in dudosas else "sin entrega"
        tabla.append([quien, *_celdas(por_id.get(quien), len(ejercicios), sin)])
        if quien not in por_id:
            hecho.avisos.append(
                f"{limpia(quien, 60)}: está en la lista y no tiene entrega con nota"
            )
    hecho.avisos += [
        f"{limpia(quien, 60)}: entregó y no está en la lista; no se exporta"
        for quien in por_id
        if quien not in matriculados
    ]
    atomico.escribe(salida / "moodle.csv", _csv(tabla))
    hecho.ficheros.append(salida / "moodle.csv")
    return hecho


def _celdas(nota: Corregida | None, cuantos: int, sin: str) -> list[object]:
    if nota is None:
        return ["", sin] * cuantos
    return [c for r in nota.resultados for c in (r.puntos, comentario(r))]


def _hoja_de_moodle(notas: list[Corregida], salida: Path, hoja: Path) -> Exportacion:
    """Rellena la nota y los comentarios de la hoja que descarga Moodle; no toca lo demás."""
    hecho = Exportacion()
    columnas, filas = lee_lista(hoja)
    identificador = _columna(columnas, ("identifier", "identificador"))
    nota_, maximo = (
        _columna(columnas, ("grade", "calificación")),
        _columna(columnas, ("maximum grade", "calificación máxima")),
    )
    texto = _columna(columnas, ("feedback comments", "comentarios de retroalimentación"))
    if identificador is None or nota_ is None:
        raise ValueError(
            f"{hoja} no es una hoja de calificación de Moodle: faltan Identificador o Calificación"
        )
    por_id = _exportables(notas, hecho.avisos)
    vistos = set()
    for fila in filas:
        numero = re.sub(r"\D", "", fila[identificador])
        nota = por_id.get(numero)
        if nota is None or not nota.maximo:
            hecho.avisos.append(f"{limpia(fila[identificador], 60)}: no tiene entrega con nota")
            continue
        vistos.add(numero)
        sobre = _numero(fila.get(maximo or "", "")) or nota.maximo
        fila[nota_] = f"{sobre * nota.puntos / nota.maximo:.2f}"
        if texto:
            fila[texto] = neutraliza("; ".join(f"{r.id}: {comentario(r)}" for r in nota.resultados))
    hecho.avisos += [
        f"{limpia(q, 60)}: entregó y no está en la hoja" for q in por_id if q not in vistos
    ]
    contenido = io.StringIO()
    escritor = csv.DictWriter(contenido, columnas, lineterminator="\r\n")
    escritor.writeheader()
    # Lo que escribió Moodle no se toca; un nombre de perfil que sea una fórmula, sí.
    escritor.writerows(
        {
            c: neutraliza(v) if len(v) > 1 and es_formula(limpia(v[:200], 40)) else v
            for c, v in fila.items()
        }
        for fila in filas
    )
    atomico.escribe(salida / "moodle-hoja.csv", contenido.getvalue().encode())
    hecho.ficheros.append(salida / "moodle-hoja.csv")
    return hecho


def _numero(texto: str) -> float:
    try:
        return float(texto.replace(",", "."))
    except ValueError:
        return 0.0


# --- Otros programas ----------------------------------------------------------------------------


def gradescope(notas: list[Corregida], salida: Path, **_: Any) -> Exportacion:
    """Un ``results.json`` por entrega; lo lee quien estudia."""
    hecho = Exportacion()
    for nota in _exportables(notas, hecho.avisos).values():
        ruta = salida / "gradescope" / _nombre_seguro(nota.id, hecho.ficheros) / "results.json"
        atomico.escribe_json(ruta, resultados_de_gradescope(nota.resultados))
        hecho.ficheros.append(ruta)
    return hecho


def resultados_de_gradescope(resultados: list[Resultado]) -> dict[str, Any]:
    """El objeto que ``Gradescope`` espera en ``/autograder/results/results.json``."""
    pruebas = [
        {
            "name": f"Ejercicio {r.id} · {r.nombre}",
            "score": r.puntos,
            "max_score": r.maximo,
            "status": _GRADESCOPE.get(r.estado, "failed"),
            "output": comentario(r),
            "visibility": "visible",
        }
        for r in resultados
    ]
    return {"tests": pruebas, "stdout_visibility": "hidden"}


def _nombre_seguro(identificador: str, usados: list[Path]) -> str:
    base = re.sub(r"[^A-Za-z0-9._-]+", "_", identificador).strip("._")[:60] or "entrega"
    nombre, numero = base, 2
    while any(r.parent.name == nombre for r in usados):
        nombre, numero = f"{base}-{numero}", numero + 1
    return nombre


def junit(notas: list[Corregida], salida: Path, **_: Any) -> Exportacion:
    """Un XML de ``JUnit``: una suite por entrega, un caso por ejercicio, los puntos en el
    mensaje."""
    from junitparser import JUnitXml

    xml = JUnitXml("atento")
    for nota in notas:
        xml.add_testsuite(suite_junit(limpia(nota.id, 100), nota.resultados))
    ruta = salida / "junit.xml"
    atomico.escribe(ruta, xml.tostring())
    return Exportacion([ruta])


def suite_junit(nombre: str, resultados: list[Resultado]) -> Any:
    """Los resultados de una entrega como suite de ``JUnit``."""
    from junitparser import Failure, Skipped, TestCase, TestSuite

    suite = TestSuite(nombre)
    for r in resultados:
        caso = TestCase(f"{r.id} {r.nombre}", f"capitulo{int(r.id.split('.')[0]):02d}", r.segundos)
        mensaje = f"{r.puntos}/{r.maximo} puntos. {comentario(r)}"
        if r.estado == SIN_ENTREGA:
            caso.result = [Skipped(mensaje)]
        elif r.estado != SUPERADO:
            caso.result = [Failure(mensaje)]
        suite.add_testcase(caso)
    return suite


def nbgrader(notas: list[Corregida], salida: Path, tarea: str = "", **_: Any) -> Exportacion:
    """El CSV que produce ``nbgrader export``: una fila por persona y tarea."""
    cabecera = "assignment duedate timestamp student_id last_name first_name email"
    cabecera += " raw_score late_submission_penalty score max_score"
    hecho = Exportacion()
    filas: list[list[object]] = [cabecera.split()]
    for nota in _exportables(notas, hecho.avisos).values():
        filas.append(
            [
                tarea or "atento",
                "",
                "",
                nota.id,
                "",
                nota.nombre,
                "",
                nota.puntos,
                0,
                nota.puntos,
                nota.maximo,
            ]
        )
    atomico.escribe(salida / "nbgrader.csv", _csv(filas, fin="\n", comillas=csv.QUOTE_ALL))
    hecho.ficheros.append(salida / "nbgrader.csv")
    return hecho


def plano(notas: list[Corregida], salida: Path, **_: Any) -> Exportacion:
    """Un CSV sencillo: una fila por entrega, con sus incidencias."""
    ejercicios = [r.id for r in notas[0].resultados] if notas else []
    filas: list[list[object]] = [["id", "nombre", *ejercicios, "puntos", "maximo", "incidencias"]]
    for nota in notas:
        puntos = [r.puntos for r in nota.resultados]
        filas.append(
            [nota.id, nota.nombre, *puntos, nota.puntos, nota.maximo, "; ".join(nota.incidencias)]
        )
    atomico.escribe(salida / "notas.csv", _csv(filas))
    return Exportacion([salida / "notas.csv"])


# --- La página de quien enseña ------------------------------------------------------------------

_PAGINA = """<!doctype html>
<html lang="es"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Notas</title><style>
body{{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;
  color:#1b1b1b;background:#fff}}
table{{border-collapse:collapse;margin:1rem 0}}
th,td{{border:1px solid #bbb;padding:.25rem .6rem;text-align:left}}
td.n{{text-align:right;font-variant-numeric:tabular-nums}}
.barra{{display:inline-block;height:.8rem;background:#2a6f97}}
.tabla{{overflow-x:auto}}
@media(prefers-color-scheme:dark){{body{{color:#eee;background:#161616}}
.barra{{background:#7fb7d6}}}}
</style></head><body><h1>Notas</h1><p>{resumen}</p>
<h2>Por ejercicio</h2>{ejercicios}
<h2>Por persona</h2><div class="tabla">{personas}</div>
<h2>Incidencias</h2>{incidencias}</body></html>
"""


def html(notas: list[Corregida], salida: Path, **_: Any) -> Exportacion:
    """Una página con la distribución de cada ejercicio, las pistas más comunes y las
    incidencias."""
    niveles = ", ".join(sorted({n.nivel for n in notas})) or "—"
    pagina = _PAGINA.format(
        resumen=f"{len(notas)} entregas; jaula: {escape(niveles)}.",
        ejercicios=(
            "".join(_bloque(i, notas) for i in range(len(notas[0].resultados))) if notas else ""
        ),
        personas=_tabla_de_personas(notas),
        incidencias=_lista([f"{limpia(n.id, 60)}: {i}" for n in notas for i in n.incidencias])
        or "<p>Ninguna.</p>",
    )
    atomico.escribe(salida / "notas.html", pagina.encode())
    return Exportacion([salida / "notas.html"])


def _bloque(indice: int, notas: list[Corregida]) -> str:
    resultados = [n.resultados[indice] for n in notas]
    cuenta = Counter(r.puntos for r in resultados)
    uno = resultados[0]
    barras = "".join(
        f'<tr><td class="n">{p}</td><td class="n">{cuenta[p]}</td><td>'
        f'<span class="barra" style="width:{20 * cuenta[p] / len(resultados):.2f}rem"></span>'
        "</td></tr>"
        for p in range(uno.maximo + 1)
        if cuenta[p]
    )
    pistas = Counter(r.pista for r in resultados if r.pista).most_common(3)
    return (
        f"<h3>{escape(uno.id)} · <code>{escape(uno.nombre)}</code></h3>"
        f"<table><thead><tr><th>puntos (de {uno.maximo})</th><th>entregas</th>"
        "<th>proporción</th></tr></thead>"
        f"<tbody>{barras}</tbody></table>" + _lista([f"{c} veces: {p}" for p, c in pistas])
    )


def _lista(lineas: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(x)}</li>" for x in lineas) + "</ul>" if lineas else ""


def _tabla_de_personas(notas: list[Corregida]) -> str:
    if not notas:
        return "<p>No hay entregas.</p>"
    cabecera = "".join(f"<th>{escape(r.id)}</th>" for r in notas[0].resultados)
    filas = "".join(
        f"<tr><td>{escape(limpia(n.id, 80))}</td><td>{escape(limpia(n.nombre, 80))}</td>"
        + "".join(
            f'<td class="n" title="{escape(comentario(r))}">{r.puntos}</td>' for r in n.resultados
        )
        + f'<td class="n">{n.puntos}/{n.maximo}</td></tr>'
        for n in notas
    )
    cabeza = f"<tr><th>id</th><th>nombre</th>{cabecera}<th>total</th></tr>"
    return f"<table><thead>{cabeza}</thead><tbody>{filas}</tbody></table>"


FORMATOS: dict[str, Callable[..., Exportacion]] = {
    "moodle": moodle,
    "gradescope": gradescope,
    "junit": junit,
    "nbgrader": nbgrader,
    "csv": plano,
    "html": html,
}


def como_json(resultados: list[Resultado], nivel: str) -> str:
    """La salida de ``atento calificar --json``."""
    datos = {
        "puntos": sum(r.puntos for r in resultados),
        "maximo": sum(r.maximo for r in resultados),
        "jaula": nivel,
        "ejercicios": [r.como_json() for r in resultados],
    }
    return json.dumps(datos, ensure_ascii=False, indent=1)
