"""De quién es una entrega: lo dice solo el nivel de fuera, el que hizo la descarga de quien enseña.

Moodle llama a cada carpeta ``Nombre_111_assignsubmission_file_``; sin carpetas, antepone lo mismo
al fichero. Lo que haya más adentro (el contenido de un zip, otra carpeta) lo escribió quien
entrega, y ahí un nombre no identifica a nadie.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from calificador.correccion.resultado import limpia

_MARCA = r"_(?P<id>[0-9]{1,18})_assignsubmission_[a-z]{1,30}"
_CARPETA = re.compile(rf"(?P<nombre>.+){_MARCA}_*", re.DOTALL)
_FICHERO = re.compile(rf"(?P<nombre>.+?){_MARCA}_(?P<resto>.*)", re.DOTALL)
_CAPITULO_FINAL = re.compile(r"[ _-]+cap(?:itulo)?[ _-]?\d{1,2}$", re.IGNORECASE)
EXTENSIONES = (".py", ".ipynb", ".zip")
_SOBRA = re.compile(
    r"(?<=.)\.(?:py|ipynb|zip)(?P<sobra>\.(?:txt|text|json|html?|docx?|download))$", re.I
)


@dataclass(frozen=True)
class Persona:
    """Quién entrega. ``de_moodle``: el identificador lo puso Moodle. ``suelta``: un capítulo de
    varios posibles.
    """

    id: str
    nombre: str = ""
    aviso: str = ""
    de_moodle: bool = False
    suelta: bool = False

    @property
    def clave(self) -> tuple[str, str]:
        """Dos personas con el mismo nombre tienen claves distintas."""
        return self.id, self.nombre


def visible(texto: str, maximo: int = 80) -> str:
    """Un texto ajeno sin controles, cortado antes de mirarlo: un nombre de 60 000 letras no cuesta
    más.
    """
    return limpia(texto[: 4 * maximo], maximo)


def sobra(nombre: str) -> str:
    """Lo que un programa añadió al nombre de un fichero de código: en ``cap06.py.txt``, «.txt»."""
    hallado = _SOBRA.search(nombre)
    return hallado["sobra"] if hallado else ""


def etiqueta(id_: str, nombre: str = "") -> str:
    """Cómo se nombra a alguien en el informe: «Eva Luna (1234)»."""
    return f"{visible(nombre, 60)} ({visible(id_, 40)})" if nombre else visible(id_, 60)


def legible(nombre: str) -> str:
    """Un nombre de fichero que en el disco puede no ser UTF-8."""
    return nombre.encode("utf-8", "backslashreplace").decode()[:300]


def de_carpeta(nombre: str) -> Persona | None:
    """La persona de una carpeta de Moodle. Vale la última marca: lo de antes es el nombre de su
    perfil.
    """
    hallado = _CARPETA.fullmatch(legible(nombre))
    return Persona(hallado["id"], hallado["nombre"], de_moodle=True) if hallado else None


def de_fichero(nombre: str) -> tuple[Persona, str] | None:
    """La persona de un fichero suelto de Moodle y cómo se llamaba el fichero.

    Con dos marcas no se sabe cuál puso Moodle (una está en el perfil o en el fichero): no es de
    nadie conocido.
    """
    nombre = legible(nombre)
    hallado = _FICHERO.fullmatch(nombre)
    if not hallado:
        return None
    if len(re.findall(_MARCA.replace("?P<id>", ""), nombre)) > 1:
        aviso = (
            "lleva dos veces la marca de Moodle: no se sabe de quién es; descarga los envíos en"
            " carpetas"
        )
        return Persona(nombre, "", aviso), hallado["resto"]
    return Persona(hallado["id"], hallado["nombre"], de_moodle=True), hallado["resto"]


def de_entrada(nombre: str, es_carpeta: bool) -> tuple[Persona, str]:
    """La persona de una entrada de la carpeta de entregas y el nombre de lo que trae."""
    moodle = de_carpeta(nombre) if es_carpeta else None
    if moodle is not None:
        return moodle, nombre
    if not es_carpeta and (suelto := de_fichero(nombre)) is not None:
        return suelto
    nombre = legible(nombre)
    tronco = nombre if es_carpeta else nombre.removesuffix(sobra(nombre))
    if not es_carpeta and tronco.lower().endswith(EXTENSIONES):
        tronco = tronco.rsplit(".", 1)[0]
    sin_capitulo = _CAPITULO_FINAL.sub("", tronco)
    suelta = not es_carpeta and bool(sin_capitulo) and sin_capitulo != tronco
    return Persona(sin_capitulo or tronco, suelta=suelta), nombre
