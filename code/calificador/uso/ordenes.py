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
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calificador import carga
from calificador.correccion.resultado import SUPERADO, Resultado
from calificador.jaula import encierro
from calificador.uso import idioma, pantalla, senales
from calificador.uso.identidad import etiqueta, visible
from calificador.uso.pantalla import aviso, linea

if TYPE_CHECKING:
    from calificador.correccion.oraculo import Corrector
    from calificador.fuente import Fuente
    from calificador.registro import Ejercicio
    from calificador.uso.clase import Clase
    from calificador.uso.conjunto import Conjunto
    from calificador.uso.lote import Corregida, Encargo
    from calificador.uso.progreso import Progreso

MIS_EJERCICIOS = Path("mis-ejercicios")
app = typer.Typer(
    help="Los ejercicios de «El Transformer, línea a línea»: empezar, calificar y entregar.",
    cls=idioma.Grupo, no_args_is_help=True, add_completion=False, rich_markup_mode="rich",
)  # fmt: skip
clase_app = typer.Typer(
    cls=idioma.Grupo, help="Clases: semilla secreta y variantes.", no_args_is_help=True
)  # fmt: skip
app.add_typer(clase_app, name="clase")

Carpeta = Annotated[
    Path, typer.Option(metavar="CARPETA", help="Carpeta donde se resuelven los ejercicios.")
]
Nivel = Annotated[
    str,
    typer.Option(
        metavar="NIVEL",
        help="Jaula: basica, media o fuerte; por defecto, la mejor de esta máquina.",
    ),
]
FicheroDeClase = Annotated[
    Path | None,
    typer.Option("--clase", metavar="FICHERO", help="Fichero de la clase (clase.json)."),
]


SIN_CLASE = (
    "sin --clase los casos salen de la semilla pública, que cualquiera conoce: para notas"
    " oficiales, crea una clase con «atento clase nueva NOMBRE» y corrige con --clase"
    " clase/clase.json"
)


CORTADA = "Interrumpido. Lo que ya estaba hecho está guardado."


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

    leida = (
        clase.Clase("", SEMILLA_PUBLICA, publica=True)
        if ruta is None
        else clase.lee(ruta, SEMILLA_PUBLICA)
    )
    return replace(leida, semilla=semilla, publica=False) if semilla else leida


# --- Para quien estudia -------------------------------------------------------------------------


@app.command(cls=idioma.Orden)
def empezar(
    capitulos: Annotated[
        list[int], typer.Argument(help="Números de capítulo.", metavar="CAPÍTULO")
    ],
    carpeta: Carpeta = MIS_EJERCICIOS,
) -> None:
    """Copia los esqueletos de un capítulo a la carpeta de trabajo. Nunca sobrescribe."""
    from calificador.uso import atomico

    curso = carga.curso()
    for capitulo in capitulos:
        if capitulo not in curso.capitulos():
            raise Cura(f"el capítulo {capitulo} no tiene ejercicios; hay: {curso.en_breve()}")
        destino = carpeta / carga.nombre_de_fichero(capitulo)
        try:
            atomico.escribe(destino, curso.esqueleto(capitulo).encode(), nuevo=True, comun=True)
        except FileExistsError:
            linea(f"{destino} ya existe: no se toca.")
            continue
        except OSError as error:
            raise Cura(f"no se puede escribir en {carpeta}: {atomico.motivo(error)}") from None
        linea(f"{destino}: listo. Resuélvelo y ejecuta «atento calificar {capitulo}».")


@app.command(cls=idioma.Orden)
def calificar(
    que: Annotated[
        list[str] | None,
        typer.Argument(help="Capítulo (5) o ejercicio (5.2); nada: todo.", metavar="N|N.M"),
    ] = None,
    vigila: Annotated[
        bool, typer.Option("--vigila", help="Vuelve a calificar cada vez que se guarda.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Escribe el resultado en JSON.")] = False,
    carpeta: Carpeta = MIS_EJERCICIOS,
    nivel: Nivel = "",
    clase: FicheroDeClase = None,
    semilla: Annotated[
        str | None, typer.Option(metavar="TEXTO", help="Semilla de los casos.")
    ] = None,
    celdas: Annotated[
        bool, typer.Option("--celdas", hidden=True, help="Lee las celdas de un cuaderno.")
    ] = False,
) -> None:
    """Corrige lo resuelto: puntos, qué falla y una pista."""
    from calificador.correccion.oraculo import Corrector
    from calificador.jaula import canal

    jaula_ = _nivel(nivel)
    del_cuaderno = _del_cuaderno(carpeta) if celdas else None
    # El cigoto, antes de leer el registro. Si no hay nada que corregir, no hace falta.
    cigoto = canal.arranca_pronto(jaula_, completo=vigila) if carpeta.exists() else None
    ejercicios = _elige(que)
    if not carpeta.exists():
        primero = ejercicios[0].capitulo if ejercicios else 1
        raise Cura(f"no existe la carpeta {carpeta}: empieza con «atento empezar {primero}»")
    elegida = _clase(clase, semilla)
    with Corrector(
        jaula_,
        elegida.semilla,
        variantes=elegida.variantes,
        con_texto=True,
        completo=vigila,
        cigoto=cigoto,
    ) as corrector:
        if vigila:
            _vigila(lambda: _una_vuelta(corrector, ejercicios, carpeta, bool(que), json), carpeta)
            return
        resultados = _una_vuelta(
            corrector, ejercicios, carpeta, bool(que), json, del_cuaderno=del_cuaderno
        )
    raise typer.Exit(0 if all(r.estado == SUPERADO for r in resultados) and resultados else 1)


def _del_cuaderno(carpeta: Path) -> Fuente:
    """Lo que manda ``%atento`` por la entrada; crea la carpeta donde se apuntan los intentos."""
    from calificador.uso.entregas import lee_cuaderno

    carpeta.mkdir(parents=True, exist_ok=True)
    return lee_cuaderno(sys.stdin.read(), "cuaderno")


def _una_vuelta(
    corrector: Corrector, ejercicios: list[Ejercicio], carpeta: Path, detalle: bool, en_json: bool,
    *, del_cuaderno: Fuente | None = None,
) -> list[Resultado]:  # fmt: skip
    from calificador.correccion.oraculo import en_orden
    from calificador.uso import exporta
    from calificador.uso.entregas import Entrega, lee_ruta
    from calificador.uso.progreso import Progreso

    if del_cuaderno:
        entrega = Entrega(
            "yo", fuentes=dict.fromkeys({e.capitulo for e in ejercicios}, del_cuaderno)
        )
    else:
        entrega = lee_ruta(carpeta, carga.curso())
    progreso = Progreso.abre(carpeta if carpeta.is_dir() else carpeta.parent)
    if not detalle:
        ejercicios = [e for e in ejercicios if e.capitulo in entrega.fuentes]
    with nullcontext() if en_json else pantalla.espera("Corrigiendo…"):
        hechos = {
            e.id: _uno(corrector, e, entrega.fuentes.get(e.capitulo), progreso)
            for e in en_orden(ejercicios)
        }
        corrector.suelta()
    resultados = [hechos[e.id] for e in ejercicios]
    progreso.guarda()
    if en_json:
        print(exporta.como_json(resultados, corrector.nivel), flush=True)
        return resultados
    for incidencia in [*entrega.incidencias, *([progreso.aviso] if progreso.aviso else [])]:
        aviso(incidencia)
    (pantalla.detalle if detalle else pantalla.tabla)(resultados)
    if not del_cuaderno:
        pantalla.siguiente(resultados)
    if corrector.nivel == "basica":
        solo = " Aquí no la hay mejor; basta para corregirse." if del_cuaderno else ""
        linea((f"Jaula: basica.{solo}", "dim"))
    return resultados


def _uno(corrector: Corrector, ejercicio: Ejercicio, fuente: Any, progreso: Progreso) -> Resultado:
    """Un ejercicio. Es una frontera: si el calificador falla con él, se dice y se sigue con los
    demás.
    """
    from calificador.correccion.resultado import sin_entrega
    from calificador.jaula.canal import FalloDeEntorno
    from calificador.uso.lote import sin_corregir

    if fuente is None:
        return sin_entrega(ejercicio)
    try:
        intentos = progreso.intentos(ejercicio.id)
        resultado = corrector.califica(ejercicio, fuente, intentos=intentos, sigue=True)
    except (FalloDeEntorno, carga.CursoRoto):
        raise
    except Exception as error:  # noqa: BLE001 - frontera
        return sin_corregir(ejercicio, error)
    progreso.apunta(
        resultado, hashlib.sha256(fuente.texto.encode("utf-8", "replace")).hexdigest()[:16]
    )
    return resultado


def _vigila(vuelta: Callable[[], Any], carpeta: Path) -> None:
    """Repite la corrección cada vez que cambia un fichero, hasta ``Ctrl-C``."""
    vista: Any = None
    while True:
        actual = _fechas(carpeta)
        if actual != vista:
            vista = actual
            vuelta()
            pantalla.errores.print("Vigilando; Ctrl-C para salir.", style="dim")
        time.sleep(0.3)


def _fechas(carpeta: Path) -> dict[str, tuple[float, int]]:
    ficheros = (
        [carpeta] if carpeta.is_file() else [*carpeta.rglob("*.py"), *carpeta.rglob("*.ipynb")]
    )
    fechas = {}
    for fichero in ficheros:
        try:
            estado = fichero.stat()
        except OSError:
            continue
        fechas[str(fichero)] = (estado.st_mtime_ns, estado.st_size)
    return fechas


@app.command(cls=idioma.Orden)
def entrega(
    salida: Annotated[Path, typer.Option(metavar="FICHERO", help="El zip que se crea.")] = Path(
        "entrega.zip"
    ),
    carpeta: Carpeta = MIS_EJERCICIOS,
) -> None:
    """Reúne en un zip lo resuelto, listo para entregar."""
    from calificador.uso import atomico
    from calificador.uso.piezas import mal_llamado

    ficheros = sorted([*carpeta.glob("*.py"), *carpeta.glob("*.ipynb")]) if carpeta.is_dir() else []
    for fichero in sorted(carpeta.iterdir()) if carpeta.is_dir() else []:
        if motivo := mal_llamado(fichero.name):
            aviso(f"{visible(fichero.name)}: {motivo}")
    if not ficheros:
        raise Cura(f"no hay ejercicios en {carpeta}: empieza con «atento empezar N»")
    memoria = io.BytesIO()
    with zipfile.ZipFile(memoria, "w", zipfile.ZIP_DEFLATED) as archivo:
        for fichero in ficheros:
            archivo.writestr(
                zipfile.ZipInfo(fichero.name), fichero.read_bytes(), zipfile.ZIP_DEFLATED
            )
    atomico.escribe(salida, memoria.getvalue(), comun=True)
    linea(f"{salida}: {', '.join(visible(f.name) for f in ficheros)}.")


# --- Para quien enseña --------------------------------------------------------------------------


@app.command(cls=idioma.Orden)
def lote(
    entregas: Annotated[
        Path,
        typer.Argument(
            help="Carpeta de entregas, o el zip que descarga Moodle.", metavar="ENTREGAS"
        ),
    ],
    salida: Annotated[Path, typer.Option(metavar="CARPETA", help="Carpeta de las notas.")],
    ejercicios: Annotated[
        list[str] | None,
        typer.Option(
            "--ejercicio", metavar="N|N.M", help="Capítulo o ejercicio; se puede repetir."
        ),
    ] = None,
    clase: FicheroDeClase = None,
    semilla: Annotated[
        str | None, typer.Option(metavar="TEXTO", help="Semilla de los casos, si no hay clase.")
    ] = None,
    nivel: Nivel = "",
    trabajos: Annotated[
        int, typer.Option(metavar="NÚMERO", help="Entregas a la vez; por defecto, los núcleos.")
    ] = 0,
    acepta_basica: Annotated[
        bool,
        typer.Option("--acepta-basica", help="Corregir sin jaula media (código de confianza)."),
    ] = False,
    en: Annotated[
        str,
        typer.Option(
            metavar="DIRECCIÓN",
            help="Planificador de Dask (tcp://…:8786): corrigen sus trabajadores.",
        ),
    ] = "",
) -> None:
    """Corrige una carpeta de entregas ajenas. Si se interrumpe, la misma orden sigue donde
    estaba."""
    from calificador.uso import lote as lotes

    jaula_ = _nivel(nivel or ("media" if en else ""))
    if jaula_ == "basica" and not acepta_basica:
        raise Cura(
            "la jaula básica no protege de código ajeno: corrige en Linux, o añade"
            " `--acepta-basica` si te fías de él"
        )
    curso, elegidos, elegida = carga.curso(), _elige(ejercicios), _clase(clase, semilla)
    leidas = lotes.lee_entregas(entregas, curso, salida=salida)
    if elegida.publica:
        aviso(SIN_CLASE)
    encargo = lotes.Encargo(
        str(salida),
        elegida,
        tuple(e.id for e in elegidos),
        jaula_,
        os.environ.get("ATENTO_CURSO", ""),
    )
    if en and trabajos:
        aviso("--trabajos no cuenta con --en: van a la vez tantas como hilos tengan allí")
    with _conjunto(en, encargo) as conjunto:
        corregidas = _con_barra(
            lambda avisa: lotes.corrige_lote(
                leidas,
                encargo,
                trabajos=trabajos or os.cpu_count() or 1,
                avisa=avisa,
                conjunto=conjunto,
            ),
            len(leidas),
        )
    completas = _informe(corregidas)
    linea(
        f"{len(corregidas)} entregas en {salida}; {completas} con todos los puntos. Jaula:"
        f" {jaula_}."
    )
    raise typer.Exit(0 if completas == len(corregidas) else 1)


def _conjunto(en: str, encargo: Encargo) -> AbstractContextManager[Conjunto | None]:
    """Las otras máquinas, si se piden."""
    if not en:
        return nullcontext()
    try:
        from calificador.uso.conjunto import Conjunto
    except ImportError as error:
        raise Cura(f"--en necesita Dask: «pip install distributed» (falta {error.name})") from None
    return Conjunto(en, encargo, aviso)


def _informe(corregidas: list[Corregida]) -> int:
    """Una línea por incidencia, con quién. Devuelve cuántas entregas tienen todos los puntos."""
    for corregida in corregidas:
        for incidencia in corregida.incidencias:
            linea(
                (f"{etiqueta(corregida.id, corregida.nombre)}:", "yellow"),
                f" {visible(incidencia, 600)}",
            )
    repetir = sum(c.repetir for c in corregidas)
    if repetir:
        aviso(
            f"{repetir} entregas no se pudieron corregir enteras: la misma orden lo vuelve a"
            " intentar"
        )
    return sum(c.puntos == c.maximo for c in corregidas)


def _con_barra(tarea: Callable[[Callable[[Any], None]], Any], total: int) -> Any:
    from rich.progress import Progress

    callada = not sys.stderr.isatty()
    with Progress(console=pantalla.errores, transient=True, disable=callada) as barra:
        avance = barra.add_task("Corrigiendo", total=total)
        return tarea(lambda _: barra.advance(avance))


@app.command(cls=idioma.Orden)
def exporta(
    notas: Annotated[
        Path, typer.Argument(help="Carpeta de notas de «atento lote».", metavar="NOTAS")
    ],
    formato: Annotated[
        str,
        typer.Option(metavar="FORMATO", help="moodle, gradescope, junit, nbgrader, csv o html."),
    ],
    salida: Annotated[
        Path | None,
        typer.Option(metavar="CARPETA", help="Carpeta de salida; por defecto, la de las notas."),
    ] = None,
    lista: Annotated[
        Path | None, typer.Option(metavar="FICHERO", help="CSV de la clase, con idnumber (moodle).")
    ] = None,
    hoja: Annotated[
        Path | None,
        typer.Option(metavar="FICHERO", help="Hoja de calificación descargada (moodle)."),
    ] = None,
    tarea: Annotated[
        str, typer.Option(metavar="TEXTO", help="Nombre de la tarea (nbgrader).")
    ] = "",
) -> None:
    """Escribe las notas en el formato de otro programa."""
    from calificador.uso import exporta as exportador
    from calificador.uso.lote import lee_notas

    if formato not in exportador.FORMATOS:
        raise Cura(f"--formato {formato}: se esperaba {', '.join(exportador.FORMATOS)}")
    hecho = exportador.FORMATOS[formato](
        lee_notas(notas), salida or notas, lista=lista, hoja=hoja, tarea=tarea
    )
    for dicho in hecho.avisos:
        aviso(dicho)
    linea(f"{len(hecho.ficheros)} fichero(s) en {salida or notas}.")


@clase_app.callback()
def _clase_grupo() -> None:
    """Clases: semilla secreta y variantes."""


@clase_app.command("nueva", cls=idioma.Orden)
def clase_nueva(
    nombre: Annotated[str, typer.Argument(help="Nombre de la clase.", metavar="NOMBRE")],
    carpeta: Annotated[Path, typer.Option(metavar="CARPETA", help="Dónde se guarda.")] = Path(
        "clase"
    ),
) -> None:
    """Crea una clase: semilla secreta y parámetros de los ejercicios con variante."""
    from calificador.uso import clase as clases

    nueva = clases.nueva(nombre, carga.curso())
    try:
        docente, estudiantes = clases.guarda(nueva, carpeta)
    except FileExistsError as error:
        raise Cura(str(error)) from None
    linea(f"{docente}: guárdalo; lleva la semilla secreta.")
    linea(
        f"{estudiantes}: para la clase. «atento calificar --clase {estudiantes.name}» usa sus"
        " parámetros."
    )
    for ejercicio, parametros in nueva.variantes.items():
        linea(f"  {ejercicio}: {', '.join(f'{n} = {v!r}' for n, v in parametros.items())}")


# --- Entrada ------------------------------------------------------------------------------------


def main() -> None:
    """Punto de entrada de ``atento``."""
    from calificador.jaula.canal import FalloDeEntorno

    senales.atiende()
    encierro.no_inspeccionable()
    idioma.prepara()
    try:
        codigo = app(standalone_mode=False, prog_name="atento")
    except senales.Interrumpido as fin:
        _termina(CORTADA, fin.codigo)
    except (Cura, carga.CursoRoto, FalloDeEntorno, ValueError) as error:
        _termina(str(error))
    except OSError as error:
        from calificador.uso.atomico import motivo

        _termina(f"{error.filename or 'el sistema'}: {motivo(error)}")
    except ImportError as error:
        _termina(f"falta {error.name}: instálalo con «pip install {error.name}»")
    except (KeyboardInterrupt, typer.Abort):
        _termina(CORTADA, 130)
    except Exception as error:
        if not hasattr(error, "exit_code"):
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            pantalla.consola.print(getattr(error, "message", str(error)))
            sys.exit(2)
        _termina(idioma.error_de_uso(error))
    _sal(codigo if isinstance(codigo, int) else 0)


def _sal(codigo: int) -> None:
    """Acaba sin desmontar torch con orden, que tarda medio segundo; un lote en paralelo sí acaba
    despacio.
    """
    if "torch" in sys.modules and "joblib" not in sys.modules:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(codigo)
    sys.exit(codigo)


def _termina(mensaje: str, codigo: int = 2) -> None:
    rotulo = "" if mensaje is CORTADA else "Error: "
    pantalla.errores.print(rotulo + visible(mensaje, 1000), soft_wrap=True)
    _sal(codigo)


if __name__ == "__main__":
    main()
