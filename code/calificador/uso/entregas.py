"""Lectura de entregas ajenas: ficheros, cuadernos, carpetas, zip y la descarga de Moodle. No
ejecuta ni extrae nada.

Todo lo raro (un enlace, un zip bomba, un fichero que no es texto) se convierte en una incidencia de
una línea con el nombre de quien entrega; la lectura sigue con lo demás.
"""

from __future__ import annotations

import codecs
import json
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath

from calificador.carga import Curso
from calificador.fuente import Celda, Fuente
from calificador.registro import Ejercicio
from calificador.uso import atomico, piezas
from calificador.uso.identidad import Persona, de_entrada, visible
from calificador.uso.piezas import MAXIMO_CUADERNO, MAXIMO_FICHERO, Exceso, Pieza, Presupuesto

MAXIMO_CELDAS = 2000
ETIQUETAS = {"ejercicio", "calificar", "entrega"}
CAPITULO = re.compile(r"(?:^|[^a-z])cap(?:itulo)?[ _-]?0*(\d{1,2})(?!\d)", re.IGNORECASE)
NUMERADO = re.compile(r"^0*(\d{1,2})[-_]")
DEFINE = re.compile(
    r"^[ \t]{0,16}(?:async[ \t]{1,8})?(?:def|class)[ \t]{1,8}(\w{1,80})|^(\w{1,80})[ \t]{0,8}[:=]",
    re.MULTILINE,
)
DECLARA = re.compile(rb"^[ \t\f]*#.{0,100}?coding[:=][ \t]*([-\w.]{1,40})")
CODIFICACIONES = ("utf-8", "ascii", "iso8859-1", "iso8859-15", "cp1252", "mac-roman")


@dataclass
class Entrega:
    """Lo que una persona entregó, por capítulos, con lo que hubo que avisar."""

    id: str
    nombre: str = ""
    fuentes: dict[int, Fuente] = field(default_factory=dict)
    incidencias: list[str] = field(default_factory=list)
    duplicada: bool = False


# --- De bytes a celdas --------------------------------------------------------------------------


def decodifica(datos: bytes) -> tuple[str, str]:
    """El texto y, si no estaba en UTF-8, un aviso. ``ValueError`` si no es texto."""
    if datos.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _estricto(datos, "utf-16"), "no está en UTF-8: se ha leído como UTF-16"
    if b"\0" in datos:
        raise ValueError("no es un fichero de texto")
    declarada = _declarada(datos)
    try:
        codigo = "utf-8-sig" if declarada in ("", "utf-8", "ascii") else declarada
        return datos.decode(codigo), (
            "" if codigo == "utf-8-sig" else f"declara la codificación {codigo}"
        )
    except UnicodeDecodeError:
        return (
            _estricto(datos, "cp1252"),
            "no está en UTF-8: se ha leído como Windows-1252; guárdalo en UTF-8",
        )


def _declarada(datos: bytes) -> str:
    """La codificación que dice una de las dos primeras líneas, si es de las que se admiten."""
    for linea in datos[:2000].split(b"\n")[:2]:
        hallada = DECLARA.match(linea[:200])
        if hallada:
            try:
                nombre = codecs.lookup(hallada[1].decode("ascii")).name
            except (LookupError, ValueError):
                return ""
            return nombre if nombre in CODIFICACIONES else ""
    return ""


def _estricto(datos: bytes, codigo: str) -> str:
    try:
        return datos.decode(codigo)
    except UnicodeDecodeError:
        raise ValueError("no es un fichero de texto") from None


def lee_cuaderno(texto: str, origen: str = "") -> Fuente:
    """Las celdas de código de un ``.ipynb``; ``ValueError`` si no es un cuaderno."""
    try:
        cuaderno = json.loads(
            texto, parse_int=str, parse_float=str
        )  # números de un millón de cifras, sin calcularlos
        celdas = cuaderno["cells"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError("no es un cuaderno: el JSON está roto") from None
    if not isinstance(celdas, list):
        raise ValueError("no es un cuaderno: el JSON está roto")
    if len(celdas) > MAXIMO_CELDAS:
        raise ValueError(f"tiene más de {MAXIMO_CELDAS} celdas")
    leidas = [_celda(c, n) for n, c in enumerate(celdas, start=1) if isinstance(c, dict)]
    codigo = tuple(c for c in leidas if c is not None)
    if sum(len(c.texto) for c in codigo) > MAXIMO_FICHERO:
        raise ValueError(f"su código ocupa más de {MAXIMO_FICHERO >> 20} MiB")
    return Fuente(codigo, origen)


def _celda(celda: dict, numero: int) -> Celda | None:
    if celda.get("cell_type") != "code":
        return None
    codigo = celda.get("source", "")
    codigo = (
        "".join(c for c in codigo if isinstance(c, str)) if isinstance(codigo, list) else codigo
    )
    metadatos = celda.get("metadata")
    etiquetas = metadatos.get("tags") if isinstance(metadatos, dict) else None
    entera = isinstance(etiquetas, list) and any(
        e in ETIQUETAS for e in etiquetas if isinstance(e, str)
    )
    return Celda(codigo if isinstance(codigo, str) else "", entera, numero)


def lee_fuente(nombre: str, datos: bytes) -> tuple[Fuente, str]:
    """El código de un ``.py`` o un ``.ipynb`` y un aviso, quizá vacío. ``ValueError`` si no se
    puede leer.
    """
    es_cuaderno = nombre.lower().endswith(".ipynb")
    tope = MAXIMO_CUADERNO if es_cuaderno else MAXIMO_FICHERO
    if len(datos) > tope:
        raise ValueError(f"ocupa más de {tope >> 20} MiB")
    texto, aviso = decodifica(datos)
    if not texto.strip():
        raise ValueError("está vacío")
    return (lee_cuaderno(texto, nombre) if es_cuaderno else Fuente.de_texto(texto, nombre)), aviso


# --- De qué capítulo es, y cuál vale si hay dos -------------------------------------------------


def define(fuente: Fuente) -> set[str]:
    """Los nombres que parece definir, línea a línea: no se analiza como Python, que aquí no tendría
    reloj.
    """
    return {una or otra for celda in fuente.celdas for una, otra in DEFINE.findall(celda.texto)}


def capitulo_de(fichero: str, fuente: Fuente, curso: Curso) -> int | None:
    """De qué capítulo es: por el nombre del fichero o, si no lo dice, por lo que define."""
    nombre = PurePosixPath(fichero).name
    for patron in (CAPITULO, NUMERADO):
        hallado = patron.search(nombre)
        if hallado and int(hallado.group(1)) in curso.capitulos():
            return int(hallado.group(1))
    definidos = define(fuente)
    cuenta = {
        c: sum(e.nombre in definidos for e in curso.de_capitulo(c)) for c in curso.capitulos()
    }
    mejor = max(cuenta, key=cuenta.get, default=None)
    return mejor if mejor is not None and cuenta[mejor] else None


def trabajo(fuente: Fuente, ejercicios: list[Ejercicio], esqueleto: str) -> tuple[int, bool]:
    """Cuánto hay hecho: ejercicios empezados y si tiene alguna línea que no estuviera en el
    esqueleto.
    """
    texto, definidos = fuente.texto, define(fuente)
    empezados = sum(
        e.nombre in definidos and f'NotImplementedError("Ejercicio {e.id}")' not in texto
        for e in ejercicios
    )
    de_serie = {linea.strip() for linea in esqueleto.splitlines()}
    propio = any(linea.strip() not in de_serie for linea in texto.splitlines())
    return (empezados if propio else 0), propio


def _vale(candidatas: list[Fuente], capitulo: int, curso: Curso) -> tuple[Fuente, list[str]]:
    """La más trabajada (si empatan, la que se llama como el esqueleto o, si no, la primera) y qué
    se dice de las otras.
    """
    if len(candidatas) == 1:
        return candidatas[0], []
    esqueleto, ejercicios = curso.esqueleto(capitulo), curso.de_capitulo(capitulo)
    hecho = [trabajo(f, ejercicios, esqueleto) for f in candidatas]
    suyo = [PurePosixPath(f.origen).name == f"cap{capitulo:02d}.py" for f in candidatas]
    mejor = max(range(len(candidatas)), key=lambda i: (hecho[i], suyo[i], -i))
    usada = visible(candidatas[mejor].origen, 60)
    avisos = [
        f"{visible(f.origen)}: "
        + (
            f"hay otro fichero del capítulo {capitulo}"
            if propio
            else f"es el esqueleto del capítulo {capitulo}"
        )
        + f"; se usa {usada}"
        for i, (f, (_, propio)) in enumerate(zip(candidatas, hecho, strict=True))
        if i != mejor
    ]
    return candidatas[mejor], avisos


# --- De piezas a entregas -----------------------------------------------------------------------


def arma(persona: Persona, abre: Callable[[Presupuesto], Iterable[Pieza]], curso: Curso) -> Entrega:
    """La entrega de una persona. Es una frontera: lo inesperado queda en una incidencia suya."""
    entrega = Entrega(
        persona.id, persona.nombre, incidencias=[persona.aviso] if persona.aviso else []
    )
    candidatas: dict[int, list[Fuente]] = {}
    presupuesto = Presupuesto()
    try:
        leidas = []
        try:
            for pieza in abre(presupuesto):
                leidas.append(pieza)
        except Exceso as exceso:
            entrega.incidencias.append(str(exceso))
        for pieza in sorted(
            leidas, key=lambda p: (p.fichero.lower().endswith(".ipynb"), p.fichero)
        ):
            _clasifica(pieza, entrega, candidatas, curso)
        for capitulo, fuentes in candidatas.items():
            entrega.fuentes[capitulo], avisos = _vale(fuentes, capitulo, curso)
            entrega.incidencias += avisos
    except Exception as error:  # noqa: BLE001 - frontera: una persona no detiene a las demás
        entrega.incidencias.append(
            f"no se ha podido leer la entrega ({type(error).__name__}): mírala a mano"
        )
    return entrega


def _clasifica(
    pieza: Pieza, entrega: Entrega, candidatas: dict[int, list[Fuente]], curso: Curso
) -> None:
    if pieza.incidencia:
        entrega.incidencias.append(pieza.incidencia)
        return
    nombre = visible(pieza.fichero)
    try:
        fuente, aviso = lee_fuente(pieza.fichero, pieza.datos)
    except ValueError as error:
        entrega.incidencias.append(f"{nombre}: {error}")
        return
    if aviso:
        entrega.incidencias.append(f"{nombre}: {aviso}")
    capitulo = capitulo_de(pieza.fichero, fuente, curso)
    if capitulo is None:
        entrega.incidencias.append(f"{nombre}: no se sabe de qué capítulo es; llámalo capNN.py")
    else:
        candidatas.setdefault(capitulo, []).append(fuente)


def _o_nada(leidas: Iterator[Pieza]) -> Iterator[Pieza]:
    """Las piezas o, si no hay ninguna, una que lo dice."""
    vacia = True
    for pieza in leidas:
        vacia = False
        yield pieza
    if vacia:
        yield Pieza("", incidencia="la entrega no trae ningún .py ni .ipynb")


# --- Una carpeta de entregas --------------------------------------------------------------------


def lee_carpeta(ruta: Path, curso: Curso, *, salvo: Path | None = None) -> list[Entrega]:
    """Todas las entregas de una carpeta, o del zip que descarga Moodle, ordenadas por
    identificador.

    ``salvo`` es la carpeta de las notas: si está dentro, no es de nadie.
    """
    if ruta.is_file():
        return sorted(_de_un_fichero(ruta, curso), key=lambda e: e.id)
    grupos: dict[tuple, list[tuple[Persona, Path, str]]] = {}
    for entrada in sorted(ruta.iterdir()):
        if (
            entrada.name.startswith(".")
            or entrada.name in piezas.IGNORADOS
            or _son_notas(entrada, salvo)
        ):
            continue
        persona, nombre = de_entrada(entrada.name, entrada.is_dir() and not entrada.is_symlink())
        clave = persona.clave if persona.de_moodle else (*persona.clave, entrada.name)
        grupos.setdefault(clave, []).append((persona, entrada, nombre))
    entregas: dict[str, Entrega] = {}
    sueltas: set[str] = set()
    for grupo in grupos.values():
        persona = grupo[0][0]
        nueva = arma(persona, partial(_del_disco, grupo), curso)
        _anade(entregas, nueva, persona.suelta, sueltas)
    return sorted(entregas.values(), key=lambda e: e.id)


def _son_notas(entrada: Path, salvo: Path | None) -> bool:
    """¿Es la carpeta de notas de este lote o de otro anterior?"""
    if salvo is not None and entrada.resolve() == salvo.resolve():
        return True
    resumen = entrada / "resumen.json"
    if entrada.is_symlink() or not (entrada / "resultados").is_dir() or not resumen.is_file():
        return False
    datos = atomico.lee_json(resumen) if resumen.stat().st_size < 1 << 26 else None
    return isinstance(datos, dict) and {"formato", "version", "entregas", "nivel"} <= datos.keys()


def _del_disco(grupo: list[tuple[Persona, Path, str]], presupuesto: Presupuesto) -> Iterator[Pieza]:
    return _o_nada(p for _, ruta, nombre in grupo for p in _de_ruta(ruta, nombre, presupuesto))


def _de_ruta(ruta: Path, nombre: str, presupuesto: Presupuesto) -> Iterator[Pieza]:
    if ruta.is_symlink():
        yield Pieza(nombre, incidencia=f"{visible(nombre)}: es un enlace simbólico: no se sigue")
    elif ruta.is_dir():
        yield from piezas.de_carpeta(ruta, presupuesto)
    else:
        yield from piezas.de_fichero(ruta, nombre, presupuesto)


def _anade(entregas: dict[str, Entrega], nueva: Entrega, suelta: bool, sueltas: set[str]) -> None:
    """Une los capítulos sueltos de una persona; si no, dos con el mismo identificador quedan los
    dos y se avisa.
    """
    previa = entregas.get(nueva.id)
    if previa is None:
        entregas[nueva.id] = nueva
        if suelta:
            sueltas.add(nueva.id)
    elif suelta and nueva.id in sueltas and not set(previa.fuentes) & set(nueva.fuentes):
        previa.fuentes.update(nueva.fuentes)
        previa.incidencias += nueva.incidencias
    else:
        original, numero = nueva.id, 2
        while f"{original} ({numero})" in entregas:
            numero += 1
        aviso = (
            f"hay dos entregas con el identificador {visible(original, 60)}: se corrigen las dos y"
            " no se exportan"
        )
        for entrega in (previa, nueva):
            entrega.duplicada = True
            entrega.incidencias.append(f"{aviso} sus notas")
        nueva.id = f"{original} ({numero})"
        entregas[nueva.id] = nueva


# --- El zip de la clase -------------------------------------------------------------------------


def _de_un_fichero(ruta: Path, curso: Curso) -> list[Entrega]:
    """El zip de una clase o, si no es de Moodle, la entrega de una sola persona."""
    if ruta.suffix.lower() == ".zip":
        try:
            with (
                ruta.open("rb") as fichero,
                piezas.abre_zip(fichero, piezas.INDICE_DE_CLASE) as archivo,
            ):
                grupos = _personas_de_zip(archivo)
                if any(p.de_moodle for p, _ in grupos.values()):
                    return _de_la_clase(archivo, grupos, curso)
        except Exceso:
            raise ValueError(
                f"{ruta} tiene demasiados ficheros: da la carpeta ya descomprimida"
            ) from None
        except (zipfile.BadZipFile, EOFError, OSError):
            pass  # se dirá al leerlo como entrega
    persona, nombre = de_entrada(ruta.name, es_carpeta=False)
    return [arma(persona, partial(_del_disco, [(persona, ruta, nombre)]), curso)]


def _personas_de_zip(archivo: zipfile.ZipFile) -> dict[tuple, tuple[Persona, list]]:
    """Las entradas de cada persona: la dice la carpeta de fuera, o el prefijo si Moodle no hizo
    carpetas.
    """
    grupos: dict[tuple, tuple[Persona, list]] = {}
    for entrada in archivo.infolist():
        ruta = piezas.ruta_de(entrada)
        if (
            entrada.is_dir()
            or not ruta.parts
            or ruta.parts[0].startswith(".")
            or piezas.de_servicio(ruta)
        ):
            continue
        persona, resto = de_entrada(ruta.parts[0], es_carpeta=len(ruta.parts) > 1)
        dentro = (
            PurePosixPath(*ruta.parts[1:])
            if len(ruta.parts) > 1
            else PurePosixPath(resto or ruta.name)
        )
        clave = persona.clave if persona.de_moodle else (*persona.clave, ruta.parts[0])
        grupos.setdefault(clave, (persona, []))[1].append((entrada, dentro))
    return grupos


def _de_la_clase(
    archivo: zipfile.ZipFile, grupos: dict[tuple, tuple[Persona, list]], curso: Curso
) -> list[Entrega]:
    entregas: dict[str, Entrega] = {}
    for persona, entradas in grupos.values():
        _anade(
            entregas, arma(persona, partial(_de_persona, archivo, entradas), curso), False, set()
        )
    return list(entregas.values())


def _de_persona(
    archivo: zipfile.ZipFile, entradas: list, presupuesto: Presupuesto
) -> Iterator[Pieza]:
    leidas = (
        pieza
        for entrada, dentro in entradas
        for pieza in piezas.de_entrada(
            archivo, entrada, dentro, "envío", presupuesto, anidado=False
        )
    )
    return _o_nada(leidas)


# --- La carpeta de quien estudia ----------------------------------------------------------------


def lee_ruta(ruta: Path, curso: Curso) -> Entrega:
    """Una sola entrega: la carpeta de trabajo de quien estudia (sin los zip que guarde en ella), o
    un fichero.
    """

    def abre(presupuesto: Presupuesto) -> Iterator[Pieza]:
        presupuesto.zips = not ruta.is_dir()
        return _de_ruta(ruta, ruta.name, presupuesto)

    return arma(Persona("yo"), abre, curso)
