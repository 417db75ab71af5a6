"""Los sellos de las pruebas: de qué depende cada fichero y si pasó con lo que hay ahora.

De un fichero de pruebas se sabe lo que importa, por el grafo de importaciones (``libro.huella``), y
lo que lee, porque «make prueba» y ``make rapida`` lo miran mientras se ejecuta (``apunta.py``): sus
ficheros, las carpetas que recorre y si lanza órdenes. Lo que lee un módulo es de todos los que lo
importan, aunque otro lo hubiera leído antes en el mismo proceso. Con todo ello, lo instalado y las
variables que cambian algo se hace una huella; si todas sus pruebas pasan, la huella se guarda en
``.cache/sellos.json``, que no se confirma. Lo que solo comprueba que un fichero existe no se ve.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

RAIZ = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(RAIZ / "book" / "_ext"))

from libro.huella import (  # noqa: E402
    IMPORTA_AL_VUELO,
    MIRA_LAS_FUENTES,
    Fuentes,
    huella,
    normalizado,
)
from libro.lector import analiza  # noqa: E402

SELLOS = ".cache/sellos.json"
DURACIONES = "tests/duraciones.json"
BARRIDOS = "tests/calificador/barridos.json"
DE_VISTAS = ("", "_cuadernos", "_exploradores", "_comportamiento")
VISTAS = tuple(f"tests/sitio/vistas{de}.json" for de in DE_VISTAS)
ESCRITOS = (DURACIONES, BARRIDOS, *VISTAS)  # los escriben las propias pruebas al pasar
CONSTRUIDO = "book/_build/html/"
EXTENSION = "libro"  # el paquete de la extensión de Sphinx
LEEN_TODO = ("tests/reglas/",)  # recorren el repositorio
VARIABLES = ("ATENTO_DEVICE", "ATENTO_ESTRICTO", "ATEN_CPU_CAPABILITY", "MKL_CBWR", "SITIO")
# Lo que nbval mira además del capítulo y de lo que importa
DE_NBVAL = ("tests/referencias/conftest.py", "tests/referencias/sanear.cfg", "tests/conftest.py")
CAMBIA = 1.5  # veces que ha de variar una duración para que se guarde otra


@dataclass
class Lecturas:
    """Lo que se ha visto leer a un fichero de pruebas o a un módulo."""

    ficheros: set[str] = field(default_factory=set)
    carpetas: set[str] = field(default_factory=set)
    lanza: bool = False

    def suma(self, otras: Lecturas) -> None:
        """Añade otras."""
        self.ficheros |= otras.ficheros
        self.carpetas |= otras.carpetas
        self.lanza |= otras.lanza

    def como_json(self) -> dict[str, Any]:
        """Para guardarlas o pasarlas a otro proceso."""
        return {
            "ficheros": sorted(self.ficheros),
            "carpetas": sorted(self.carpetas),
            "lanza": self.lanza,
        }

    @classmethod
    def de_json(cls, datos: dict[str, Any]) -> Lecturas:
        """Las guardadas."""
        return cls(set(datos["ficheros"]), set(datos["carpetas"]), datos["lanza"])


@dataclass
class Sello:
    """Con qué pasó un fichero: lo que se sabe que alcanza, el repositorio entero y, si lee el libro
    construido, con qué fuentes estaba hecho.
    """

    huella: str
    entera: str
    fuentes: str = ""


@dataclass
class Cuaderno:
    """Los sellos guardados y lo que cada uno lee."""

    ruta: Path
    sellos: dict[str, Sello] = field(default_factory=dict)
    lecturas: dict[str, Lecturas] = field(default_factory=dict)

    @classmethod
    def abre(cls, raiz: Path = RAIZ) -> Cuaderno:
        """El de un repositorio; vacío si no lo hay o no se entiende."""
        ruta = raiz / SELLOS
        try:
            datos = json.loads(ruta.read_text(encoding="utf-8"))
            return cls(
                ruta,
                {k: Sello(**v) for k, v in datos["sellos"].items()},
                {k: Lecturas.de_json(v) for k, v in datos["lecturas"].items()},
            )
        except (OSError, ValueError, KeyError, TypeError):
            return cls(ruta)

    def guarda(self) -> None:
        """Lo escribe entero o no lo toca."""
        self.ruta.parent.mkdir(parents=True, exist_ok=True)
        datos = {
            "sellos": {k: asdict(v) for k, v in sorted(self.sellos.items())},
            "lecturas": {k: v.como_json() for k, v in sorted(self.lecturas.items())},
        }
        a_medias = self.ruta.with_suffix(f".{os.getpid()}")
        a_medias.write_text(json.dumps(datos, ensure_ascii=False), encoding="utf-8")
        a_medias.replace(self.ruta)


class Foto(Fuentes):
    """El repositorio en un momento: el contenido de cada fichero y el grafo de importaciones, con
    las herramientas, la extensión del libro y lo común de las pruebas.
    """

    def __init__(self, raiz: Path = RAIZ) -> None:
        super().__init__(raiz)
        self._alcances: dict[str, set[str]] = {}
        self._nombran: dict[Path, set[str]] = {}
        for ruta in self.todos:
            nombre = self._modulo(ruta)
            if nombre:
                self.modulos.setdefault(nombre, raiz / ruta)
        self.textos  # noqa: B018  (se leen ya: lo que cambie después no es de esta foto)
        self.sumas = {x: hashlib.sha256((raiz / x).read_bytes()).hexdigest() for x in self.todos}
        self.construido  # noqa: B018

    def _modulo(self, ruta: str) -> str:
        """Con qué nombre se importa un fichero de las herramientas, la extensión o las pruebas."""
        carpeta = next((x for x in ("tools", "book/_ext") if ruta.startswith(f"{x}/")), None)
        if not ruta.endswith(".py") or (carpeta is None and not ruta.startswith("tests/")):
            return ""
        if carpeta is None:
            padre = Path(ruta).parent
            while (padre / "__init__.py").as_posix() in self._nombres:
                padre = padre.parent
            suyas = (x.removeprefix(f"{padre.as_posix()}/") for x in self._nombres)
            con_pruebas = any("/" not in x and x.startswith(("test_", "conftest")) for x in suyas)
            if not con_pruebas or Path(ruta).name.startswith(("test_", "conftest")):
                return ""
            carpeta = padre.as_posix()
        partes = Path(ruta).relative_to(carpeta).with_suffix("").parts
        return ".".join(partes[:-1] if partes[-1] == "__init__" else partes)

    @cached_property
    def todos(self) -> list[str]:
        """Los ficheros del repositorio: los de git y los nuevos que no se ignoran."""
        orden = ["git", "-C", str(self.raiz), "ls-files", "-co", "--exclude-standard", "-z"]
        dicho = subprocess.run(orden, capture_output=True, timeout=60, check=True)
        nombres = sorted({os.fsdecode(x) for x in dicho.stdout.split(b"\0") if x})
        return [x for x in nombres if x not in ESCRITOS and (self.raiz / x).is_file()]

    @cached_property
    def _nombres(self) -> frozenset[str]:
        return frozenset(self.todos)

    @cached_property
    def construido(self) -> str:
        """La huella de las páginas construidas; vacía si no las hay, y de nadie si se están
        construyendo.
        """
        base = self.raiz / CONSTRUIDO
        if not (base / "intro.html").exists():
            return ""
        try:
            return _resume(
                f"{p.relative_to(base).as_posix()} {hashlib.sha256(p.read_bytes()).hexdigest()}"
                for p in sorted(base.rglob("*"))
                if p.is_file()
            )
        except OSError:
            return os.urandom(8).hex()

    @cached_property
    def entera(self) -> str:
        """La huella de todo el repositorio."""
        return _resume([self.entorno, *(f"{x} {suma}" for x, suma in self.sumas.items())])

    @cached_property
    def fuentes_del_libro(self) -> str:
        """La huella de lo que no son pruebas: si cambia, el libro construido es de antes."""
        suyas = (f"{x} {s}" for x, s in self.sumas.items() if not x.startswith("tests/"))
        return _resume([self.entorno, *suyas])

    @cached_property
    def entorno(self) -> str:
        """Lo instalado, con sus versiones, y las variables que cambian lo que se prueba."""
        instalado = sorted(
            p.name for x in sys.path for p in Path(x or ".").glob("*.dist-info") if p.is_dir()
        )
        variables = [f"{x}={os.environ.get(x, '')}" for x in VARIABLES]
        return _resume([sys.version, *dict.fromkeys(instalado), *variables])

    def importados(self, codigo: str, desde: str = "") -> tuple[set[str], set[str]]:
        """Lo que un código importa; de la extensión del libro, que lo importan casi todas las
        herramientas, solo lo que se importa con ella: lo demás, al hacer una página.
        """
        if desde.partition(".")[0] != EXTENSION:
            return super().importados(codigo, desde)
        suyos, fuera = super().importados(_sin_cuerpos(codigo), desde)
        if IMPORTA_AL_VUELO.search(codigo):
            suyos |= {m for m in self.modulos if m.partition(".")[0] == EXTENSION}
        return suyos, fuera

    def puede_alcanzar_mas(self, prueba: str, lecturas: dict[str, Lecturas]) -> bool:
        """Si no se sabe todo lo que alcanza: lanza órdenes, puede hacer páginas o lee todo."""
        modulos, leido = self.lo_que_lee(prueba, lecturas)
        return leido.lanza or EXTENSION in modulos or prueba.startswith(LEEN_TODO)

    # --- De cada fichero --------------------------------------------------------------------------

    def pruebas(self) -> list[str]:
        """Los ficheros de pruebas y las referencias de los capítulos."""
        return [
            x
            for x in self.todos
            if re.fullmatch(r"tests/(.+/)?test_\w+\.py|tests/referencias/[\w-]+\.ipynb", x)
        ]

    def codigo_de(self, prueba: str) -> list[str]:
        """El fichero de pruebas y los ``conftest.py`` que lo preparan."""
        padres = Path(prueba).parents
        comunes = (f"{p.as_posix()}/conftest.py" for p in padres)
        return [prueba, *(x for x in comunes if x in self.sumas)]

    def lo_que_lee(self, prueba: str, lecturas: dict[str, Lecturas]) -> tuple[set[str], Lecturas]:
        """Los módulos que alcanza y lo que leen él y ellos; el código que se lee se sigue."""
        suyos = self.codigo_de(prueba)
        leido, modulos = Lecturas(), set()
        vistos: set[str] = set()
        de_modulos: set[str] = set()  # lo que importan ya está contado
        pendientes = set(suyos)
        while pendientes:
            ruta = pendientes.pop()
            vistos.add(ruta)
            leido.suma(lecturas.get(ruta, Lecturas()))
            if ruta.endswith(".py") and ruta not in de_modulos:
                alcanza = self._alcance_de(ruta)
                modulos |= alcanza
                de_modulos |= {self._ruta(m) for m in alcanza}
                pendientes |= de_modulos
            # Un código que se lee se ejecuta, o eso hay que suponer.
            pendientes |= {x for x in leido.ficheros if x.endswith(".py") and x in self.sumas}
            pendientes -= vistos
        return modulos, leido

    def _alcance_de(self, ruta: str) -> set[str]:
        if ruta not in self._alcances:
            self._alcances[ruta] = self.alcance(self._texto(ruta))[0]
        return self._alcances[ruta]

    def _puede_leer(self, dato: Path, modulos: set[str], codigo: str, numero: str) -> bool:
        """Como en el libro, con quién nombra cada dato mirado una vez."""
        if dato not in self._nombran:
            nombran = {m for m, texto in self.textos.items() if dato.name in texto}
            self._nombran[dato] = nombran
        paquete = dato.relative_to(self.raiz / "code").parts[0]
        nombran = self._nombran[dato]
        return paquete in modulos and (not nombran or bool(nombran & modulos))

    def _ruta(self, modulo: str) -> str:
        return self.modulos[modulo].relative_to(self.raiz).as_posix()

    def _texto(self, ruta: str) -> str:
        return (self.raiz / ruta).read_text(encoding="utf-8")

    def huella(self, prueba: str, lecturas: dict[str, Lecturas]) -> str:
        """La huella de lo que se sabe que alcanza un fichero de pruebas."""
        if prueba.endswith(".ipynb"):
            return self._huella_de_capitulo(prueba)
        modulos, leido = self.lo_que_lee(prueba, lecturas)
        codigo = "\n".join(map(self._texto, self.codigo_de(prueba)))
        fuentes = [(m, self.textos[m]) for m in sorted(modulos)]
        literal = MIRA_LAS_FUENTES.search(codigo) or any(
            MIRA_LAS_FUENTES.search(texto) for _, texto in fuentes
        )
        datos = {x.relative_to(self.raiz).as_posix() for x in self.datos_de(modulos, codigo, "")}
        datos |= leido.ficheros | set(self._al_lado(prueba))
        return _resume(
            [
                self.entorno,
                *(f"{x} {self.sumas[x]}" for x in self.codigo_de(prueba)),
                *(f"{m} {texto if literal else normalizado(texto)}" for m, texto in fuentes),
                *(f"{x} {self.sumas.get(x, 'no está')}" for x in sorted(datos) if self._es(x)),
                *(f"{x} {self._hay_en(x)}" for x in sorted(leido.carpetas)),
                self.construido if self.mira_el_libro(prueba, lecturas) else "",
            ]
        )

    def mira_el_libro(self, prueba: str, lecturas: dict[str, Lecturas]) -> bool:
        """Si lee páginas construidas."""
        de_ella = self.lo_que_lee(prueba, lecturas)[1]
        return prueba.startswith("tests/sitio/") or any(
            x.startswith(CONSTRUIDO) for x in (*de_ella.ficheros, *de_ella.carpetas)
        )

    def _es(self, ruta: str) -> bool:
        """Si cuenta: lo que no es del repositorio (cachés, lo construido) va aparte o no va."""
        return ruta not in ESCRITOS and not ruta.startswith("book/_build/")

    def _al_lado(self, prueba: str) -> Iterator[str]:
        """Los datos que están junto a un fichero de pruebas, que puede leer su ``conftest.py``."""
        padre = Path(prueba).parent
        for ruta in self.todos:
            if Path(ruta).parent == padre and not ruta.endswith((".py", ".ipynb")):
                yield ruta

    def _hay_en(self, carpeta: str) -> list[str]:
        """Los nombres que hay en una carpeta."""
        base = f"{carpeta}/" if carpeta != "." else ""
        return sorted({x[len(base) :].partition("/")[0] for x in self.todos if x.startswith(base)})

    def _huella_de_capitulo(self, prueba: str) -> str:
        """La del capítulo (sus celdas y lo que importan), con lo que nbval le compara."""
        nombre = Path(prueba).stem
        paginas = [x for x in self.todos if x.startswith("book/") and x.endswith(f"/{nombre}.md")]
        textos = list(map(self._texto, paginas))
        propias = [huella(x, nombre, self.raiz) for x in textos]
        propias += [str((c.codigo, sorted(c.etiquetas))) for x in textos for c in analiza(x).celdas]
        junto = (prueba, f"tests/temblor/{nombre}.json", *DE_NBVAL)
        return _resume(
            [self.entorno, *paginas, *propias, *(self.sumas.get(x, "no está") for x in junto)]
        )

    def sello(self, prueba: str, lecturas: dict[str, Lecturas]) -> Sello:
        """El que se le pone si pasa ahora."""
        libro = self.mira_el_libro(prueba, lecturas)
        return Sello(
            self.huella(prueba, lecturas), self.entera, self.fuentes_del_libro if libro else ""
        )


def _sin_cuerpos(codigo: str) -> str:
    """El código sin lo que hay dentro de sus funciones."""
    arbol = ast.parse(codigo)
    for nodo in ast.walk(arbol):
        if isinstance(nodo, ast.FunctionDef | ast.AsyncFunctionDef):
            nodo.body = [ast.Pass()]
    return ast.unparse(arbol)


def _resume(trozos: Iterable[str]) -> str:
    suma = hashlib.sha256()
    for trozo in trozos:
        suma.update(trozo.encode() + b"\0")
    return suma.hexdigest()[:20]


# --- Las duraciones -------------------------------------------------------------------------------


def duraciones(raiz: Path = RAIZ) -> dict[str, float]:
    """Los segundos que tardó cada fichero de pruebas la última vez que se guardaron."""
    ruta = raiz / DURACIONES
    return json.loads(ruta.read_text(encoding="utf-8")) if ruta.exists() else {}


def pone_al_dia(guardadas: dict[str, float], vistas: dict[str, float]) -> dict[str, float]:
    """Las duraciones con las que han cambiado de verdad, redondeadas: lo que es ruido no ensucia
    el historial.

    >>> pone_al_dia({"a": 10, "b": 3}, {"a": 12.2, "b": 9.04, "c": 0.333})
    {'a': 10, 'b': 9.0, 'c': 0.3}
    """
    nuevas = dict(guardadas)
    for fichero, segundos in vistas.items():
        antes = guardadas.get(fichero)
        distinta = antes is None or abs(segundos - antes) > 1
        if distinta and not (antes and antes / CAMBIA < segundos < antes * CAMBIA):
            nuevas[fichero] = round(segundos, 1)
    return nuevas


def guarda_duraciones(vistas: dict[str, float], raiz: Path = RAIZ) -> None:
    """Pone al día el fichero comprometido; las de lo que ya no existe se quitan."""
    todas = pone_al_dia(duraciones(raiz), vistas)
    hay = {x: s for x, s in sorted(todas.items()) if (raiz / x).exists()}
    texto = json.dumps(hay, ensure_ascii=False, indent=0)
    (raiz / DURACIONES).write_text(f"{texto}\n", encoding="utf-8")
