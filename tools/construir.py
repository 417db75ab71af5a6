"""Construye el libro: ejecuta lo que ha cambiado, hace las páginas y los cuadernos para descargar.

    python tools/construir.py [--ejecutados CARPETA]
    python tools/construir.py --capitulo 6            solo esa página, también si es un borrador

Con ``--ejecutados`` se aprovechan los cuadernos que nbval acaba de ejecutar. Cualquier aviso de
Sphinx es un error, y entonces el libro que había se queda como estaba: el nuevo solo ocupa su lugar
cuando está entero. Una celda que falla, en cambio, no deja sin libro: su página lo dice en un
recuadro, las demás se hacen y la orden acaba mal, con la lista. Lo que un entrenamiento no cumple
en esta máquina lo dice la página, y la orden, al final, sin acabar mal.
"""

from __future__ import annotations

from procesos import corre, principal

# isort: split
# Lo demás tarda en importarse, y Ctrl+C se atiende ya.
import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from rich.console import Console

from paginas.apendices import escribe as escribe_apendices
from paginas.capitulos import (
    CONSTRUIDO,
    LIBRO,
    OBRA,
    RAIZ,
    Capitulo,
    capitulos,
    elegidos,
    tira_caches_viejas,
)
from paginas.cuadernos import exporta
from paginas.descargas import CARPETA, apunta
from paginas.ejecutar import CapituloRoto, ejecuta_pendientes, vuelca
from paginas.fallos import Fallo, cuenta_fallos, cuenta_incumplidas, incumplidas_de
from paginas.hojas_de_estilo import aligera
from paginas.memoria import Memoria, contenido, entorno, ficheros, resumen
from paginas.publicado import Libro, commit_publicado
from paginas.vistas_previas import pon_avances

HTML = CONSTRUIDO / "html"  # el último libro que se construyó entero
ESTADO = CONSTRUIDO / ".estado"  # «en curso» o «avisos» mientras lo de OBRA no es de fiar
SELLO = CONSTRUIDO / ".sello"  # con qué se hizo lo que hay en HTML
PAGINAS_SUELTAS = CONSTRUIDO / ".paginas"
# Jupyter Book no se puede llamar con -m. Sphinx hace muchos nodos que no mueren: mirar cada poco
# cuáles sobran se lleva la cuarta parte del tiempo.
SPHINX = (
    "import gc, sys; gc.set_threshold(200_000, 20, 20); sys.modules['rfc3987_syntax'] = None;"
    " from jupyter_book.cli.main import main; main()"
)
PLAZO_PAGINAS = 1800
QUE_PASO = {
    "en curso": (
        "La última construcción se interrumpió: se rehacen las páginas (lo ejecutado se conserva)."
    ),
    "avisos": (
        "La última construcción terminó con avisos: se rehacen las páginas (lo ejecutado se"
        " conserva)."
    ),
}


def limpia_lo_anterior(consola: Console) -> None:
    """Tira las páginas a medio hacer, recupera el libro si se cortó al cambiarlo y quita cachés
    viejas.
    """
    estado = ESTADO.read_text(encoding="utf-8").strip() if ESTADO.exists() else ""
    if estado:
        consola.print(QUE_PASO.get(estado, QUE_PASO["en curso"]))
        shutil.rmtree(OBRA, ignore_errors=True)
    anterior = HTML.with_suffix(".anterior")
    if anterior.exists() and not HTML.exists():
        anterior.rename(HTML)
    for resto in (anterior, HTML.with_suffix(".nuevo")):
        shutil.rmtree(resto, ignore_errors=True)
    tira_caches_viejas()


def comprueba_espacio() -> None:
    """Avisa antes de empezar si en el disco no cabe el libro."""
    libres = shutil.disk_usage(RAIZ).free / 2**20
    if libres < 300:
        raise SystemExit(
            f"Quedan {libres:.0f} MiB libres y hacen falta 300: libera espacio y vuelve a empezar."
        )


SIN_DESTINO = re.compile(
    r"(?:target not found:|Unknown source document|undefined label:) '([^']+)'"
)
REFUTACION = re.compile(r"\{refutacion\}`(R-\d+)`")
ETIQUETA = re.compile(r"^\(([^()\s]+)\)=\s*$|^\s*:(?:label|name):[ \t]*(\S+)\s*$", re.MULTILINE)


def avisos_de(registro: str) -> list[str]:
    """Las líneas de un registro de Sphinx que hay que leer; si no hay ninguna, las últimas."""
    lineas = re.sub(r"\x1b\[[\d;]*m", "", registro).splitlines()
    return [x for x in lineas if re.search(r"WARNING|ERROR|rror:|exception:", x)]


def sin_los_del_resto(avisos: list[str]) -> list[str]:
    """Los avisos sin los de lo que está en otra página del libro, que una página suelta no ve."""
    pendientes = {x: m[1] for x in avisos if (m := SIN_DESTINO.search(x))}
    if not pendientes:
        return avisos
    paginas_md = [p for p in LIBRO.rglob("*.md") if "_build" not in p.relative_to(LIBRO).parts]
    textos = [p.read_text(encoding="utf-8") for p in paginas_md]
    hay = {p.relative_to(LIBRO).with_suffix("").as_posix() for p in paginas_md}
    hay |= {x for texto in textos for par in ETIQUETA.findall(texto) for x in par if x}
    hay |= {f"err-{x}".lower() for texto in textos for x in REFUTACION.findall(texto)}
    return [x for x in avisos if pendientes.get(x) not in hay]


def orden_de_sphinx(salida: Path, *, indice: Path | None = None) -> list[str]:
    """La orden que hace las páginas en ``salida``; con un índice propio, los avisos no la
    detienen."""
    orden = [
        sys.executable,
        "-c",
        SPHINX,
        "build",
        str(LIBRO),
        "--path-output",
        str(salida),
        "-n",
        "--keep-going",
    ]
    return [*orden, "--toc", str(indice)] if indice else [*orden, "-W"]


def sphinx(orden: list[str], registro: Path, consola: Console, **entorno: str) -> tuple[int, str]:
    """Llama a Jupyter Book; devuelve el estado y lo que dijo."""
    registro.parent.mkdir(parents=True, exist_ok=True)
    todo = {**os.environ, "PYTHONUTF8": "1", **entorno}
    with (
        consola.status("Construyendo las páginas…"),
        registro.open("w", encoding="utf-8") as fichero,
    ):
        codigo = corre(
            orden, PLAZO_PAGINAS, stdout=fichero, stderr=subprocess.STDOUT, env=todo, cwd=RAIZ
        )
    return codigo, registro.read_text(encoding="utf-8", errors="replace")


def paginas(consola: Console) -> Path:
    """Hace las páginas con los avisos como errores; devuelve su carpeta o enseña lo que salió
    mal."""
    registro = CONSTRUIDO / "construccion.log"
    codigo, dicho = sphinx(orden_de_sphinx(OBRA), registro, consola)
    hechas = OBRA / "_build" / "html"
    if codigo or not (hechas / "index.html").exists():
        ESTADO.write_text("avisos", encoding="utf-8")
        avisos = avisos_de(dicho)
        consola.print("\n".join(avisos or dicho.splitlines()[-30:]), markup=False, highlight=False)
        queda = " El libro de antes sigue donde estaba." if HTML.exists() else ""
        raise SystemExit(
            f"El libro no se ha construido: {len(avisos)} avisos. Todo el registro:"
            f" {registro}.{queda}"
        )
    return hechas


def cuadernos(salida: Path) -> None:
    """Genera los ``.ipynb`` para descargar, dentro del sitio; solo, los que han cambiado."""
    memoria = Memoria(CONSTRUIDO / ".cuadernos.pickle")
    _, fallos = exporta(capitulos(), Libro(), salida, memoria)
    memoria.guarda()
    if fallos:
        raise SystemExit("El libro no se ha construido: faltan cuadernos.\n" + "\n".join(fallos))


def publica(hechas: Path, destino: Path) -> None:
    """Pone el libro nuevo en el lugar del viejo de una vez; si se corta, :func:`limpia_lo_anterior`
    lo recupera.
    """
    nuevo, anterior = destino.with_suffix(".nuevo"), destino.with_suffix(".anterior")
    for resto in (nuevo, anterior):
        shutil.rmtree(resto, ignore_errors=True)
    shutil.copytree(hechas, nuevo)  # conserva las fechas
    memoria = Memoria(destino.with_name(".paginas.pickle"))
    aligera(nuevo, memoria)
    pon_avances(nuevo, memoria)
    if destino.exists():
        destino.rename(anterior)
    nuevo.rename(destino)
    shutil.rmtree(anterior, ignore_errors=True)
    memoria.guarda()


def ejecuta_y_sigue(lista: list[Capitulo], consola: Console) -> list[Fallo]:
    """Ejecuta lo pendiente; devuelve las celdas que fallan, que no dejan sin libro."""
    try:
        hechos = ejecuta_pendientes(lista, consola)
    except CapituloRoto as error:
        consola.print(f"Fallan {len(error.fallos)}: se dice al final.")
        return error.fallos
    consola.print(
        f"Ejecutados: {', '.join(hechos)}."
        if hechos
        else "Ningún capítulo ha cambiado: nada que ejecutar."
    )
    return []


def acaba(fallos: list[Fallo], lista: list[Capitulo], consola: Console) -> None:
    """Con el libro ya hecho, dice lo que no se cumple en esta máquina y lo que ha fallado; si ha
    fallado algo, la orden acaba mal. ``make prueba`` exige también lo primero.
    """
    incumplidas = incumplidas_de(lista)
    cuenta_incumplidas(incumplidas, consola)
    if fallos:
        cuenta_fallos(fallos, consola)
        raise SystemExit(f"Hay {len(fallos)} páginas con una celda que falla.")
    if incumplidas and os.environ.get("ATENTO_ESTRICTO") == "1":
        raise SystemExit("Hay páginas que no cumplen lo que dicen, y aquí se exige.")


def sello() -> str:
    """La huella de lo que decide las páginas (lo escrito, el código, lo que dio al ejecutarse, lo
    instalado y el entorno) y de lo que hay en el sitio, salvo lo que :func:`apunta` pone en él.
    """
    lugares = ("book", "code", "exercises", "solutions", "tools", "constraints.txt")
    salidas = (p for c in capitulos() for p in c.carpeta_de_cache.glob("executed/*/*.ipynb"))
    variables = sorted((k, v) for k, v in os.environ.items() if k.startswith("LIBRO_"))
    sitio = [(p.relative_to(HTML), p.stat().st_size) for p in ficheros(HTML)]
    puesto = [x for x in sitio if x[0].parts[0] not in (CARPETA, "intro.html")]
    return resumen(
        contenido(ficheros(*(RAIZ / x for x in lugares)), RAIZ),
        contenido(salidas, RAIZ),
        repr((variables, entorno(), commit_publicado(LIBRO), puesto)),
    )


def libro_entero(ejecutados: Path | None, consola: Console) -> None:
    """El libro, de principio a fin."""
    limpia_lo_anterior(consola)
    for ruta in escribe_apendices():
        consola.print(f"Al día: {ruta.relative_to(LIBRO)}", highlight=False)
    if ejecutados:
        vuelca(ejecutados, consola)
    lista = capitulos()
    fallos = ejecuta_y_sigue(lista, consola)
    if not fallos and SELLO.exists() and SELLO.read_text(encoding="utf-8") == sello():
        consola.print("Nada ha cambiado en las páginas.")
    else:
        SELLO.unlink(missing_ok=True)
        ESTADO.write_text("en curso", encoding="utf-8")
        hechas = paginas(consola)
        cuadernos(hechas / "cuadernos")
        publica(hechas, HTML)
        if not fallos:
            SELLO.write_text(sello(), encoding="utf-8")
    apunta(HTML, CONSTRUIDO / "llevar", Libro().sitio)
    ESTADO.unlink(missing_ok=True)
    consola.print(f"\n[bold]El libro está en[/bold] {HTML / 'index.html'}", soft_wrap=True)
    consola.print("Para leerlo: [bold]make ver[/bold] (o abre ese fichero en un navegador).")
    acaba(fallos, lista, consola)


def indice_de_una(capitulo: Capitulo) -> dict:
    """El índice con esa página y las dos que casi todas citan."""
    documento = capitulo.ruta.relative_to(LIBRO).with_suffix("").as_posix()
    apoyos = [{"file": f"apendices/{x}"} for x in ("glosario", "referencias")]
    return {"format": "jb-book", "root": documento, "chapters": apoyos}


def pagina_suelta(capitulo: Capitulo, consola: Console) -> None:
    """Una sola página, con los avisos a la vista y sin que la detengan: sirve para un borrador."""
    lista = [capitulo] if capitulo.cuaderno().cells else []
    fallos = ejecuta_y_sigue(lista, consola)
    salida = PAGINAS_SUELTAS / capitulo.nombre
    salida.mkdir(parents=True, exist_ok=True)
    indice = salida / "_toc.yml"
    indice.write_text(yaml.safe_dump(indice_de_una(capitulo)), encoding="utf-8")
    orden = orden_de_sphinx(salida, indice=indice)
    codigo, dicho = sphinx(orden, salida / "construccion.log", consola, LIBRO_PAGINA_SUELTA="1")
    hecha = (salida / "_build" / "html" / capitulo.ruta.relative_to(LIBRO)).with_suffix(".html")
    avisos = sin_los_del_resto(avisos_de(dicho))
    consola.print(
        "\n".join(avisos if hecha.exists() else dicho.splitlines()[-30:]),
        markup=False,
        highlight=False,
    )
    if codigo or not hecha.exists():
        raise SystemExit(
            f"La página no se ha construido. Todo el registro: {salida / 'construccion.log'}"
        )
    consola.print(f"[bold]La página está en[/bold] {hecha} ({len(avisos)} avisos)", soft_wrap=True)
    acaba(fallos, lista, consola)


def main() -> None:
    """Punto de entrada."""
    opciones = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    opciones.add_argument(
        "--ejecutados", type=Path, help="carpeta con los cuadernos que nbval ha ejecutado"
    )
    opciones.add_argument("--capitulo", help="número o nombre de una página: se construye solo esa")
    elegido, consola = opciones.parse_args(), Console()
    comprueba_espacio()
    CONSTRUIDO.mkdir(exist_ok=True)
    if elegido.capitulo:
        pagina_suelta(*elegidos(elegido.capitulo), consola)
    else:
        libro_entero(elegido.ejecutados, consola)


if __name__ == "__main__":
    principal(main)
