"""Lectura de entregas ajenas: ficheros, cuadernos, carpetas, zip y la descarga de Moodle. No ejecuta ni extrae nada.

Todo lo raro (un enlace, un zip bomba, un fichero que no es texto) se convierte en una incidencia de una línea;
la lectura sigue con lo demás.
"""

from __future__ import annotations

import errno
import io
import json
import os
import re
import stat
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from calificador.carga import Curso
from calificador.correccion.resultado import limpia
from calificador.fuente import Celda, Fuente

MAXIMO_FICHERO = 1 << 20
MAXIMO_CUADERNO = 8 << 20
MAXIMO_ZIP = 32 << 20
MAXIMO_ENTRADAS = 300
MAXIMO_COMPRESION = 200
ETIQUETAS = {"ejercicio", "calificar", "entrega"}
MOODLE = re.compile(r"^(?P<nombre>.+?)_(?P<id>\d+)_assignsubmission_[a-z]+_?(?P<resto>.*)$", re.DOTALL)
CAPITULO = re.compile(r"(?:^|[^a-z])cap(?:itulo)?[ _-]?0*(\d{1,2})(?!\d)", re.IGNORECASE)
NUMERADO = re.compile(r"^0*(\d{1,2})[-_]")
IGNORADOS = ("__MACOSX", "__pycache__", ".ipynb_checkpoints")


@dataclass
class Entrega:
    """Lo que una persona entregó, por capítulos, con lo que hubo que avisar."""

    id: str
    nombre: str = ""
    fuentes: dict[int, Fuente] = field(default_factory=dict)
    incidencias: list[str] = field(default_factory=list)
    duplicada: bool = False


@dataclass(frozen=True)
class Pieza:
    """Un fichero suelto: de quién es, cómo se llama y qué contiene (o por qué no se pudo leer)."""

    id: str
    nombre: str
    fichero: str
    datos: bytes = b""
    incidencia: str = ""


# --- De bytes a celdas ----------------------------------------------------------------------------------------------


def decodifica(datos: bytes) -> tuple[str, str]:
    """El texto y, si no estaba en UTF-8, un aviso. ``ValueError`` si no es texto."""
    if datos.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _estricto(datos, "utf-16"), "no está en UTF-8: se ha leído como UTF-16"
    if b"\0" in datos:
        raise ValueError("no es un fichero de texto")
    try:
        codigo, _ = tokenize.detect_encoding(io.BytesIO(datos).readline)
        return datos.decode(codigo), "" if codigo.startswith("utf-8") else f"declara la codificación {codigo}"
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return _estricto(datos, "cp1252"), "no está en UTF-8: se ha leído como Windows-1252; guárdalo en UTF-8"


def _estricto(datos: bytes, codigo: str) -> str:
    try:
        return datos.decode(codigo)
    except UnicodeDecodeError:
        raise ValueError("no es un fichero de texto") from None


def lee_cuaderno(texto: str, origen: str = "") -> Fuente:
    """Las celdas de código de un ``.ipynb``; ``ValueError`` si no es un cuaderno."""
    try:
        cuaderno = json.loads(texto)
        celdas = cuaderno["cells"]
        assert isinstance(celdas, list)
    except (ValueError, KeyError, TypeError, AssertionError, RecursionError):
        raise ValueError("no es un cuaderno: el JSON está roto") from None
    leidas = []
    for numero, celda in enumerate(celdas, start=1):
        if not isinstance(celda, dict) or celda.get("cell_type") != "code":
            continue
        codigo = celda.get("source", "")
        codigo = "".join(map(str, codigo)) if isinstance(codigo, list) else str(codigo)
        metadatos = celda.get("metadata")
        etiquetas = metadatos.get("tags") if isinstance(metadatos, dict) else None
        entera = isinstance(etiquetas, list) and any(str(e) in ETIQUETAS for e in etiquetas)
        leidas.append(Celda(codigo, entera, numero))
    return Fuente(tuple(leidas), origen)


def lee_fuente(nombre: str, datos: bytes) -> tuple[Fuente, str]:
    """El código de un ``.py`` o un ``.ipynb`` y un aviso, quizá vacío. ``ValueError`` si no se puede leer."""
    es_cuaderno = nombre.lower().endswith(".ipynb")
    tope = MAXIMO_CUADERNO if es_cuaderno else MAXIMO_FICHERO
    if len(datos) > tope:
        raise ValueError(f"ocupa más de {tope >> 20} MiB")
    texto, aviso = decodifica(datos)
    if not texto.strip():
        raise ValueError("está vacío")
    return (lee_cuaderno(texto, nombre) if es_cuaderno else Fuente.de_texto(texto, nombre)), aviso


def capitulo_de(fichero: str, fuente: Fuente, curso: Curso) -> int | None:
    """De qué capítulo es: por el nombre del fichero o, si no lo dice, por lo que define."""
    nombre = PurePosixPath(fichero).name
    for patron in (CAPITULO, NUMERADO):
        hallado = patron.search(nombre)
        if hallado and int(hallado.group(1)) in curso.capitulos():
            return int(hallado.group(1))
    texto = fuente.texto
    cuenta = {
        capitulo: sum(
            bool(re.search(rf"^\s*(?:def|class)\s+{e.nombre}\b|^{e.nombre}\s*[:=]", texto, re.MULTILINE))
            for e in curso.de_capitulo(capitulo)
        )
        for capitulo in curso.capitulos()
    }
    mejor = max(cuenta, key=cuenta.get, default=None)
    return mejor if mejor is not None and cuenta[mejor] else None


# --- Del disco a piezas ---------------------------------------------------------------------------------------------


def _lee_fichero(ruta: Path, tope: int) -> bytes:
    """Lee un fichero normal sin seguir enlaces; ``ValueError`` con el motivo si no se puede."""
    try:
        descriptor = os.open(ruta, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        if error.errno == errno.ELOOP or ruta.is_symlink():
            raise ValueError("es un enlace simbólico: no se sigue") from None
        raise ValueError(f"no se puede leer ({error.strerror})") from None
    with os.fdopen(descriptor, "rb") as fichero:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("no es un fichero normal")
        datos = fichero.read(tope + 1)
    if len(datos) > tope:
        raise ValueError(f"ocupa más de {tope >> 20} MiB")
    return datos


def _pieza(ruta: Path, dueno: tuple[str, str], fichero: str) -> Iterator[Pieza]:
    sufijo = ruta.suffix.lower()
    if sufijo not in (".py", ".ipynb", ".zip"):
        return
    try:
        datos = _lee_fichero(ruta, MAXIMO_ZIP if sufijo == ".zip" else MAXIMO_CUADERNO)
    except ValueError as error:
        yield Pieza(*dueno, fichero, incidencia=f"{limpia(fichero, 80)}: {error}")
        return
    if sufijo == ".zip":
        yield from piezas_de_zip(datos, dueno, fichero)
    else:
        yield Pieza(*dueno, fichero, datos)


def piezas_de_zip(datos: bytes, dueno: tuple[str, str], fichero: str) -> Iterator[Pieza]:
    """Los ``.py`` y ``.ipynb`` de un zip, leídos en memoria: nunca se extrae nada a disco."""
    visible = limpia(fichero, 80)
    try:
        with zipfile.ZipFile(io.BytesIO(datos)) as archivo:
            entradas = archivo.infolist()
            if len(entradas) > MAXIMO_ENTRADAS:
                yield Pieza(*dueno, fichero, incidencia=f"{visible}: más de {MAXIMO_ENTRADAS} ficheros; no se abre")
                return
            queda = MAXIMO_ZIP
            for entrada in entradas:
                pieza = _pieza_de_zip(archivo, entrada, dueno, visible, queda)
                if pieza is not None:
                    queda -= len(pieza.datos)
                    yield pieza
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError):
        yield Pieza(*dueno, fichero, incidencia=f"{visible}: el zip está roto o cifrado")


def _pieza_de_zip(
    archivo: zipfile.ZipFile, entrada: zipfile.ZipInfo, dueno: tuple[str, str], zip_: str, queda: int
) -> Pieza | None:
    ruta = PurePosixPath(entrada.filename.replace("\\", "/"))
    if entrada.is_dir() or any(p in IGNORADOS for p in ruta.parts) or ruta.name.startswith("._"):
        return None
    nombre = f"{zip_}: {limpia(entrada.filename, 80)}"
    motivo = ""
    if ruta.is_absolute() or ".." in ruta.parts or re.match(r"^[A-Za-z]:", entrada.filename):
        motivo = "quiere salir de su carpeta; se descarta"
    elif stat.S_ISLNK(entrada.external_attr >> 16):
        motivo = "es un enlace simbólico: no se sigue"
    elif ruta.suffix.lower() not in (".py", ".ipynb"):
        return None
    elif entrada.flag_bits & 1:
        motivo = "está cifrado"
    elif entrada.file_size > min(MAXIMO_CUADERNO, queda) or _es_bomba(entrada):
        motivo = "ocupa demasiado al descomprimirse; se descarta"
    if not motivo:
        with archivo.open(entrada) as fichero:
            datos = fichero.read(min(MAXIMO_CUADERNO, queda) + 1)
        if len(datos) <= min(MAXIMO_CUADERNO, queda):
            return Pieza(*_dueno_moodle(ruta.parts, dueno), str(ruta), datos)
        motivo = "ocupa demasiado al descomprimirse; se descarta"
    return Pieza(*_dueno_moodle(ruta.parts, dueno), str(ruta), incidencia=f"{nombre}: {motivo}")


def _es_bomba(entrada: zipfile.ZipInfo) -> bool:
    return entrada.file_size > 1 << 16 and entrada.file_size > MAXIMO_COMPRESION * max(1, entrada.compress_size)


def _dueno_moodle(partes: tuple[str, ...], dueno: tuple[str, str]) -> tuple[str, str]:
    """En el zip que descarga Moodle, cada persona es una carpeta o un prefijo."""
    hallado = MOODLE.match(partes[0]) if partes else None
    return (hallado["id"], hallado["nombre"]) if hallado else dueno


def _identidad(nombre: str) -> tuple[str, str]:
    """Identificador y nombre de una persona a partir de su carpeta o fichero."""
    nombre = nombre.encode("utf-8", "backslashreplace").decode()  # un nombre en disco puede no ser UTF-8
    hallado = MOODLE.match(nombre)
    if hallado:
        return hallado["id"], hallado["nombre"]
    tronco = nombre.rsplit(".", 1)[0] if nombre.lower().endswith((".py", ".ipynb", ".zip")) else nombre
    sin_capitulo = re.sub(r"[ _-]+cap(?:itulo)?[ _-]?\d{1,2}$", "", tronco, flags=re.IGNORECASE)
    return sin_capitulo or tronco, ""


def _piezas(entrada: Path) -> Iterator[Pieza]:
    dueno = _identidad(entrada.name)
    if entrada.is_symlink():
        yield Pieza(*dueno, entrada.name, incidencia=f"{limpia(entrada.name, 80)}: es un enlace simbólico: no se sigue")
    elif entrada.is_dir():
        vistos = 0
        for carpeta, carpetas, ficheros in os.walk(entrada, followlinks=False):
            enlazadas = [c for c in carpetas if (Path(carpeta) / c).is_symlink()]
            carpetas[:] = sorted(c for c in carpetas if c not in IGNORADOS and c not in enlazadas)
            for nombre in sorted(ficheros + enlazadas):
                vistos += 1
                if vistos > MAXIMO_ENTRADAS:
                    yield Pieza(*dueno, "", incidencia=f"más de {MAXIMO_ENTRADAS} ficheros: se dejan de leer")
                    return
                ruta = Path(carpeta) / nombre
                relativa = str(ruta.relative_to(entrada))
                if nombre in enlazadas:
                    yield Pieza(
                        *dueno, relativa, incidencia=f"{limpia(relativa, 80)}: es un enlace simbólico: no se sigue"
                    )
                else:
                    yield from _pieza(ruta, dueno, relativa)
    else:
        yield from _pieza(entrada, dueno, entrada.name)


# --- De piezas a entregas -------------------------------------------------------------------------------------------


def arma(piezas: list[Pieza], curso: Curso) -> list[Entrega]:
    """Reúne los ficheros de cada persona, capítulo a capítulo."""
    por_id: dict[str, Entrega] = {}
    for pieza in sorted(piezas, key=lambda p: (p.fichero.lower().endswith(".ipynb"), p.fichero)):
        entrega = por_id.setdefault(pieza.id, Entrega(pieza.id, pieza.nombre))
        if pieza.incidencia:
            entrega.incidencias.append(pieza.incidencia)
            continue
        visible = limpia(pieza.fichero, 80)
        try:
            fuente, aviso = lee_fuente(pieza.fichero, pieza.datos)
        except ValueError as error:
            entrega.incidencias.append(f"{visible}: {error}")
            continue
        if aviso:
            entrega.incidencias.append(f"{visible}: {aviso}")
        capitulo = capitulo_de(pieza.fichero, fuente, curso)
        if capitulo is None:
            entrega.incidencias.append(f"{visible}: no se sabe de qué capítulo es; llámalo capNN.py")
        elif capitulo in entrega.fuentes:
            usado = limpia(entrega.fuentes[capitulo].origen, 60)
            entrega.incidencias.append(f"{visible}: hay otro fichero del capítulo {capitulo}; se usa {usado}")
        else:
            entrega.fuentes[capitulo] = fuente
    return list(por_id.values())


def lee_carpeta(carpeta: Path, curso: Curso) -> list[Entrega]:
    """Todas las entregas de una carpeta (o del zip que descarga Moodle), ordenadas por identificador."""
    if carpeta.is_file():
        return sorted(arma(list(_piezas(carpeta)), curso), key=lambda e: e.id)
    entregas: dict[str, Entrega] = {}
    for entrada in sorted(carpeta.iterdir()):
        if entrada.name.startswith(".") or entrada.name in IGNORADOS:
            continue
        for nueva in arma(list(_piezas(entrada)) or [_sin_codigo(entrada)], curso):
            _anade(entregas, nueva)
    return sorted(entregas.values(), key=lambda e: e.id)


def _sin_codigo(entrada: Path) -> Pieza:
    return Pieza(
        *_identidad(entrada.name), entrada.name, incidencia=f"{limpia(entrada.name, 80)}: no trae ningún .py ni .ipynb"
    )


def _anade(entregas: dict[str, Entrega], nueva: Entrega) -> None:
    """Une los capítulos sueltos de una persona; si un capítulo llega dos veces, quedan las dos y se avisa."""
    previa = entregas.get(nueva.id)
    if previa is None:
        entregas[nueva.id] = nueva
    elif not set(previa.fuentes) & set(nueva.fuentes):
        previa.fuentes.update(nueva.fuentes)
        previa.incidencias += nueva.incidencias
    else:
        original, numero = nueva.id, 2
        while f"{original} ({numero})" in entregas:
            numero += 1
        quien = limpia(original, 60)
        aviso = f"hay dos entregas con el identificador {quien}: se corrigen las dos y no se exportan sus notas"
        for entrega in (previa, nueva):
            entrega.duplicada = True
            entrega.incidencias.append(aviso)
        nueva.id = f"{original} ({numero})"
        entregas[nueva.id] = nueva


def lee_ruta(ruta: Path, curso: Curso) -> Entrega:
    """Una sola entrega: la carpeta de trabajo de quien estudia, o un fichero."""
    piezas = [Pieza("yo", "", p.fichero, p.datos, p.incidencia) for p in _piezas(ruta)]
    return (arma(piezas, curso) or [Entrega("yo")])[0]
