"""Las órdenes de ``atento``: empezar, calificar, entrega, lote, exporta y clase.

Salida 0 si todo pasa, 1 si algo no pasa, 2 si la orden o el entorno están mal.
"""

from __future__ import annotations

import hashlib
import io
import os
import sys
import time
import zipfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from calificador import carga
from calificador.correccion.resultado import FALLADO, PARCIAL, PENDIENTE, SIN_ENTREGA, SUPERADO, Resultado, limpia
from calificador.jaula import encierro

if TYPE_CHECKING:
    from calificador.correccion.oraculo import Corrector
    from calificador.registro import Ejercicio
    from calificador.uso.clase import Clase
    from calificador.uso.progreso import Progreso

MIS_EJERCICIOS = Path("mis-ejercicios")
MARCAS = {SUPERADO: "[green]✓[/]", PARCIAL: "[yellow]◐[/]", FALLADO: "[red]✗[/]", PENDIENTE: "·", SIN_ENTREGA: "·"}

consola = Console()
errores = Console(stderr=True)
app = typer.Typer(
    help="Los ejercicios de «El Transformer, línea a línea»: empezar, calificar y entregar.",
    no_args_is_help=True, add_completion=False, rich_markup_mode="rich",
)  # fmt: skip
clase_app = typer.Typer(help="Clases: semilla secreta y variantes.", no_args_is_help=True)
app.add_typer(clase_app, name="clase")

Carpeta = Annotated[Path, typer.Option(help="Carpeta donde se resuelven los ejercicios.")]
Nivel = Annotated[str, typer.Option(help="Jaula: basica, media o fuerte; por defecto, la mejor de esta máquina.")]
FicheroDeClase = Annotated[Path | None, typer.Option("--clase", help="Fichero de la clase (clase.json).")]


class Cura(Exception):
    """Un fallo de uso o de entorno; el mensaje dice qué hacer."""


def _nivel(pedido: str) -> str:
    from calificador.jaula import canal

    if pedido and pedido not in encierro.NIVELES:
        raise Cura(f"--nivel {pedido}: se esperaba {', '.join(encierro.NIVELES)}")
    return pedido or canal.mejor_nivel()


def _elige(que: list[str] | None) -> list[Ejercicio]:
    try:
        return carga.curso().elige(que)
    except ValueError as error:
        raise Cura(str(error)) from None


def _clase(ruta: Path | None, semilla: str | None) -> Clase:
    from calificador.correccion.oraculo import SEMILLA_PUBLICA
    from calificador.uso import clase

    if ruta is None:
        return clase.Clase("", semilla or SEMILLA_PUBLICA)
    leida = clase.lee(ruta, SEMILLA_PUBLICA)
    return clase.Clase(leida.nombre, semilla or leida.semilla, leida.variantes)


# --- Para quien estudia ---------------------------------------------------------------------------------------------


@app.command()
def empezar(
    capitulos: Annotated[list[int], typer.Argument(help="Números de capítulo.", metavar="CAPÍTULO")],
    carpeta: Carpeta = MIS_EJERCICIOS,
) -> None:
    """Copia los esqueletos de un capítulo a la carpeta de trabajo. Nunca sobrescribe."""
    curso = carga.curso()
    for capitulo in capitulos:
        if capitulo not in curso.capitulos():
            raise Cura(f"el capítulo {capitulo} no tiene ejercicios; hay: {curso.en_breve()}")
        destino = carpeta / carga.nombre_de_fichero(capitulo)
        try:
            carpeta.mkdir(parents=True, exist_ok=True)
            with destino.open("x", encoding="utf-8") as fichero:
                fichero.write(curso.esqueleto(capitulo))
        except FileExistsError:
            consola.print(f"{destino} ya existe: no se toca.", soft_wrap=True, highlight=False)
            continue
        except OSError as error:
            raise Cura(f"no se puede escribir en {carpeta}: {error.strerror}") from None
        consola.print(
            f"{destino}: listo. Resuélvelo y ejecuta «atento calificar {capitulo}».", soft_wrap=True, highlight=False
        )


@app.command()
def calificar(
    que: Annotated[
        list[str] | None, typer.Argument(help="Capítulo (5) o ejercicio (5.2); nada: todo.", metavar="N|N.M")
    ] = None,
    vigila: Annotated[bool, typer.Option("--vigila", help="Vuelve a calificar cada vez que se guarda.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Escribe el resultado en JSON.")] = False,
    carpeta: Carpeta = MIS_EJERCICIOS,
    nivel: Nivel = "",
    clase: FicheroDeClase = None,
    semilla: Annotated[str | None, typer.Option(help="Semilla de los casos.")] = None,
) -> None:
    """Corrige lo resuelto: puntos, qué falla y una pista."""
    from calificador.correccion.oraculo import Corrector
    from calificador.jaula import canal

    jaula_ = _nivel(nivel)
    # El cigoto, antes de leer el registro. Si no hay nada que corregir, no hace falta.
    zigoto = canal.arranca_pronto(jaula_, completo=vigila) if carpeta.exists() else None
    ejercicios = _elige(que)
    if not carpeta.exists():
        primero = ejercicios[0].capitulo if ejercicios else 1
        raise Cura(f"no existe la carpeta {carpeta}: empieza con «atento empezar {primero}»")
    elegida = _clase(clase, semilla)
    with Corrector(
        jaula_, elegida.semilla, variantes=elegida.variantes, con_texto=True, completo=vigila, zigoto=zigoto
    ) as corrector:
        if vigila:
            _vigila(lambda: _una_vuelta(corrector, ejercicios, carpeta, bool(que), json), carpeta)
            return
        resultados = _una_vuelta(corrector, ejercicios, carpeta, bool(que), json)
    raise typer.Exit(0 if all(r.estado == SUPERADO for r in resultados) and resultados else 1)


def _una_vuelta(
    corrector: Corrector, ejercicios: list[Ejercicio], carpeta: Path, detalle: bool, en_json: bool
) -> list[Resultado]:
    from calificador.uso import exporta
    from calificador.uso.entregas import lee_ruta
    from calificador.uso.progreso import Progreso

    entrega = lee_ruta(carpeta, carga.curso())
    progreso = Progreso.abre(carpeta if carpeta.is_dir() else carpeta.parent)
    if not detalle:
        ejercicios = [e for e in ejercicios if e.capitulo in entrega.fuentes]
    resultados = []
    espera = nullcontext() if en_json else consola.status("Corrigiendo…")
    with espera:
        for ejercicio in ejercicios:
            fuente = entrega.fuentes.get(ejercicio.capitulo)
            resultados.append(_uno(corrector, ejercicio, fuente, progreso))
    progreso.guarda()
    if en_json:
        print(exporta.como_json(resultados, corrector.nivel), flush=True)
        return resultados
    for aviso in [*entrega.incidencias, *([progreso.aviso] if progreso.aviso else [])]:
        _linea(f"[yellow]Aviso:[/] {escape(limpia(aviso))}")
    if detalle:
        _detalle(resultados)
    else:
        _tabla(resultados)
    _siguiente(resultados)
    consola.print(f"Jaula: {corrector.nivel}.", style="dim")
    return resultados


def _uno(corrector: Corrector, ejercicio: Ejercicio, fuente: Any, progreso: Progreso) -> Resultado:
    from calificador.correccion.resultado import sin_entrega

    if fuente is None:
        return sin_entrega(ejercicio)
    resultado = corrector.califica(ejercicio, fuente, intentos=progreso.intentos(ejercicio.id))
    progreso.apunta(resultado, hashlib.sha256(fuente.texto.encode("utf-8", "replace")).hexdigest()[:16])
    return resultado


def _linea(texto: str) -> None:
    """Una línea que no se parte: así se puede leer también desde un fichero."""
    consola.print(texto, soft_wrap=True, highlight=False)


def _detalle(resultados: list[Resultado]) -> None:
    for r in resultados:
        _linea(f"{MARCAS[r.estado]} [bold]{r.id}[/] {escape(r.nombre)}: {r.puntos}/{r.maximo} puntos ({r.estado})")
        if r.estado in (PENDIENTE, SIN_ENTREGA) or (r.mensaje and all(p.mensaje == r.mensaje for p in r.propiedades)):
            _linea(f"    {escape(r.mensaje)}")
        else:
            for p in r.propiedades:
                marca = MARCAS[SUPERADO] if p.superada else MARCAS[FALLADO]
                _linea(
                    f"    {marca} {escape(p.nombre)} {p.puntos}/{p.maximo}"
                    + (f": {escape(p.mensaje)}" if p.mensaje else "")
                )
        if r.pista:
            _linea(f"    [cyan]Pista:[/] {escape(r.pista)}")


def _tabla(resultados: list[Resultado]) -> None:
    if not resultados:
        consola.print("Todavía no hay nada que corregir: ejecuta «atento empezar N».")
        return
    tabla = Table(title="Progreso")
    for columna in ("Capítulo", "Superados", "Puntos", ""):
        tabla.add_column(columna, justify="left" if not columna else "right")
    for capitulo in dict.fromkeys(r.id.split(".")[0] for r in resultados):
        suyos = [r for r in resultados if r.id.split(".")[0] == capitulo]
        superados = sum(r.estado == SUPERADO for r in suyos)
        marcas = " ".join(MARCAS[r.estado] for r in suyos)
        puntos = f"{sum(r.puntos for r in suyos)}/{sum(r.maximo for r in suyos)}"
        tabla.add_row(capitulo, f"{superados}/{len(suyos)}", puntos, marcas)
    consola.print(tabla)


def _siguiente(resultados: list[Resultado]) -> None:
    """Qué viene ahora: primero lo empezado, luego lo pendiente."""
    for estados in ((PARCIAL, FALLADO), (PENDIENTE, SIN_ENTREGA)):
        for r in resultados:
            if r.estado in estados:
                orden = (
                    f"atento empezar {r.id.split('.')[0]}" if r.estado == SIN_ENTREGA else f"atento calificar {r.id}"
                )
                pista = f" Pista: {escape(r.pista)}" if r.pista and len(resultados) > 1 else ""
                _linea(f"Siguiente: {r.id} {escape(r.nombre)} («{orden}»).{pista}")
                return
    if resultados:
        consola.print("Todo superado.", style="green")


def _vigila(vuelta: Callable[[], Any], carpeta: Path) -> None:
    """Repite la corrección cada vez que cambia un fichero, hasta ``Ctrl-C``."""
    vista: Any = None
    try:
        while True:
            actual = _fechas(carpeta)
            if actual != vista:
                vista = actual
                vuelta()
                errores.print("Vigilando; Ctrl-C para salir.", style="dim")
            time.sleep(0.3)
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


def _fechas(carpeta: Path) -> dict[str, tuple[float, int]]:
    ficheros = [carpeta] if carpeta.is_file() else [*carpeta.rglob("*.py"), *carpeta.rglob("*.ipynb")]
    fechas = {}
    for fichero in ficheros:
        try:
            estado = fichero.stat()
        except OSError:
            continue
        fechas[str(fichero)] = (estado.st_mtime_ns, estado.st_size)
    return fechas


@app.command()
def entrega(
    salida: Annotated[Path, typer.Option(help="El zip que se crea.")] = Path("entrega.zip"),
    carpeta: Carpeta = MIS_EJERCICIOS,
) -> None:
    """Reúne en un zip lo resuelto, listo para entregar."""
    from calificador.uso import atomico

    ficheros = sorted([*carpeta.glob("*.py"), *carpeta.glob("*.ipynb")]) if carpeta.is_dir() else []
    if not ficheros:
        raise Cura(f"no hay ejercicios en {carpeta}: empieza con «atento empezar N»")
    memoria = io.BytesIO()
    with zipfile.ZipFile(memoria, "w", zipfile.ZIP_DEFLATED) as archivo:
        for fichero in ficheros:
            archivo.writestr(zipfile.ZipInfo(fichero.name), fichero.read_bytes(), zipfile.ZIP_DEFLATED)
    atomico.escribe(salida, memoria.getvalue())
    _linea(f"{salida}: {', '.join(f.name for f in ficheros)}.")


# --- Para quien enseña -----------------------------------------------------------------------------------------------


@app.command()
def lote(
    entregas: Annotated[
        Path, typer.Argument(help="Carpeta de entregas, o el zip que descarga Moodle.", metavar="ENTREGAS")
    ],
    salida: Annotated[Path, typer.Option(help="Carpeta de las notas.")],
    ejercicios: Annotated[
        list[str] | None, typer.Option("--ejercicio", help="Capítulo o ejercicio; se puede repetir.")
    ] = None,
    clase: FicheroDeClase = None,
    semilla: Annotated[str | None, typer.Option(help="Semilla de los casos, si no hay clase.")] = None,
    nivel: Nivel = "",
    trabajos: Annotated[int, typer.Option(help="Entregas a la vez; por defecto, los núcleos.")] = 0,
    acepta_basica: Annotated[
        bool, typer.Option("--acepta-basica", help="Corregir sin jaula media (código de confianza).")
    ] = False,
) -> None:
    """Corrige una carpeta de entregas ajenas. Si se interrumpe, la misma orden sigue donde estaba."""
    from calificador.uso import lote as lotes

    jaula_ = _nivel(nivel)
    if jaula_ == "basica" and not acepta_basica:
        raise Cura(
            "la jaula básica no protege de código ajeno: corrige en Linux, o añade `--acepta-basica` si te fías de él"
        )
    curso, elegidos = carga.curso(), _elige(ejercicios)
    elegida = _clase(clase, semilla)
    leidas = lotes.lee_entregas(entregas, curso)
    encargo = lotes.Encargo(
        str(salida), elegida, tuple(e.id for e in elegidos), jaula_, os.environ.get("ATENTO_CURSO", "")
    )
    corregidas = _con_barra(lambda avisa: lotes.corrige_lote(
        leidas, encargo, trabajos=trabajos or os.cpu_count() or 1, avisa=avisa), len(leidas))  # fmt: skip
    for corregida in corregidas:
        for incidencia in corregida.incidencias:
            _linea(f"[yellow]{escape(limpia(corregida.id, 60))}:[/] {escape(incidencia)}")
    completas = sum(c.puntos == c.maximo for c in corregidas)
    _linea(f"{len(corregidas)} entregas en {salida}; {completas} con todos los puntos. Jaula: {jaula_}.")
    raise typer.Exit(0 if completas == len(corregidas) else 1)


def _con_barra(tarea: Callable[[Callable[[Any], None]], Any], total: int) -> Any:
    from rich.progress import Progress

    with Progress(console=errores, transient=True) as barra:
        avance = barra.add_task("Corrigiendo", total=total)
        return tarea(lambda _: barra.advance(avance))


@app.command()
def exporta(
    notas: Annotated[Path, typer.Argument(help="Carpeta de notas de «atento lote».", metavar="NOTAS")],
    formato: Annotated[str, typer.Option(help="moodle, gradescope, junit, nbgrader, csv o html.")],
    salida: Annotated[Path | None, typer.Option(help="Carpeta de salida; por defecto, la de las notas.")] = None,
    lista: Annotated[Path | None, typer.Option(help="CSV de la clase, con idnumber (moodle).")] = None,
    hoja: Annotated[Path | None, typer.Option(help="Hoja de calificación descargada (moodle).")] = None,
    tarea: Annotated[str, typer.Option(help="Nombre de la tarea (nbgrader).")] = "",
) -> None:
    """Escribe las notas en el formato de otro programa."""
    from calificador.uso import exporta as exportador
    from calificador.uso.lote import lee_notas

    if formato not in exportador.FORMATOS:
        raise Cura(f"--formato {formato}: se esperaba {', '.join(exportador.FORMATOS)}")
    hecho = exportador.FORMATOS[formato](lee_notas(notas), salida or notas, lista=lista, hoja=hoja, tarea=tarea)
    for aviso in hecho.avisos:
        _linea(f"[yellow]Aviso:[/] {escape(aviso)}")
    _linea(f"{len(hecho.ficheros)} fichero(s) en {escape(str(salida or notas))}.")


@clase_app.callback()
def _clase_grupo() -> None:
    """Clases: semilla secreta y variantes."""


@clase_app.command("nueva")
def clase_nueva(
    nombre: Annotated[str, typer.Argument(help="Nombre de la clase.", metavar="NOMBRE")],
    carpeta: Annotated[Path, typer.Option(help="Dónde se guarda.")] = Path("clase"),
) -> None:
    """Crea una clase: semilla secreta y parámetros de los ejercicios con variante."""
    from calificador.uso import clase as clases

    nueva = clases.nueva(nombre, carga.curso())
    try:
        docente, estudiantes = clases.guarda(nueva, carpeta)
    except FileExistsError as error:
        raise Cura(str(error)) from None
    _linea(f"{docente}: guárdalo; lleva la semilla secreta.")
    _linea(f"{estudiantes}: para la clase. «atento calificar --clase {estudiantes.name}» usa sus parámetros.")
    for ejercicio, parametros in nueva.variantes.items():
        _linea(f"  {ejercicio}: {escape(', '.join(f'{n} = {v!r}' for n, v in parametros.items()))}")


# --- Entrada --------------------------------------------------------------------------------------------------------------


def _en_espanol() -> None:
    """Los rótulos de la ayuda de ``typer``."""
    from typer import rich_utils

    rotulos = {
        "ARGUMENTS_PANEL_TITLE": "Argumentos", "OPTIONS_PANEL_TITLE": "Opciones", "COMMANDS_PANEL_TITLE": "Órdenes",
        "ERRORS_PANEL_TITLE": "Error", "DEFAULT_STRING": "[por defecto: {}]", "REQUIRED_LONG_STRING": "[obligatorio]",
        "ABORTED_TEXT": "Cancelado.", "DEPRECATED_STRING": "(en desuso) ",
    }  # fmt: skip
    for nombre, texto in rotulos.items():
        if hasattr(rich_utils, nombre):
            setattr(rich_utils, nombre, texto)


def _traduce(orden: Any) -> None:
    """Cambia los dos textos en inglés que ``typer`` no deja configurar: la opción --help y la línea de uso."""
    uso = orden.get_usage
    orden.get_usage = lambda contexto: (
        uso(contexto)
        .replace("Usage: ", "Uso: ")
        .replace("OPTIONS", "OPCIONES")
        .replace("COMMAND [ARGS]", "ORDEN [ARGUMENTOS]")
    )
    ayuda = orden.get_help_option

    def en_espanol(contexto: Any) -> Any:
        opcion = ayuda(contexto)
        if opcion is not None:
            opcion.help = "Enseña esta ayuda."
        return opcion

    orden.get_help_option = en_espanol
    for hija in getattr(orden, "commands", {}).values():
        _traduce(hija)


def _error_de_uso(error: Exception) -> str:
    """Una línea en español para los errores de uso que detecta ``typer``."""
    clase, contexto = type(error).__name__, getattr(error, "ctx", None)
    ayuda = f"; véase «{contexto.command_path} --help»" if contexto is not None else ""
    if clase == "NoSuchOption":
        return f"no existe la opción {error.option_name}{ayuda}"
    if clase == "MissingParameter" or str(error).startswith("Missing"):
        parametro = getattr(error, "param", None)
        nombre = (parametro.metavar or parametro.opts[0]) if parametro is not None else ""
        return f"falta {nombre}{ayuda}"
    if "No such command" in str(error):
        return f"no existe esa orden{ayuda}"
    if clase == "BadParameter":
        parametro = getattr(error, "param", None)
        return f"el valor de {parametro.opts[0] if parametro is not None else 'una opción'} no vale{ayuda}"
    return f"la orden no se entiende{ayuda}"


def main() -> None:
    """Punto de entrada de ``atento``."""
    from calificador.jaula.canal import FalloDeEntorno

    encierro.no_inspeccionable()
    _en_espanol()
    orden = typer.main.get_command(app)
    _traduce(orden)
    try:
        codigo = orden.main(standalone_mode=False, prog_name="atento")
    except (Cura, carga.CursoRoto, FalloDeEntorno, ValueError) as error:
        _termina(str(error))
    except OSError as error:
        _termina(f"{error.filename or 'el sistema'}: {error.strerror or error}")
    except ImportError as error:
        _termina(f"falta {error.name}: instálalo con «pip install {error.name}»")
    except (KeyboardInterrupt, typer.Abort):
        _termina("cancelado")
    except Exception as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            consola.print(getattr(error, "message", str(error)))
            sys.exit(2)
        if not hasattr(error, "exit_code"):
            raise
        _termina(_error_de_uso(error))
    _sal(codigo if isinstance(codigo, int) else 0)


def _sal(codigo: int) -> None:
    """Acaba sin desmontar torch con orden, que tarda medio segundo; un lote en paralelo sí acaba despacio."""
    if "torch" in sys.modules and "joblib" not in sys.modules:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(codigo)
    sys.exit(codigo)


def _termina(mensaje: str) -> None:
    errores.print(f"[red]Error:[/] {escape(mensaje)}", soft_wrap=True, highlight=False)
    sys.exit(2)


if __name__ == "__main__":
    main()
