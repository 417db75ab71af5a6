"""Cada ejercicio está en los cuatro sitios: enunciado, esqueleto, solución y registro."""

from __future__ import annotations

import ast
import importlib
import re
from dataclasses import dataclass

import pytest
from myst import RAIZ, capitulos, informe, lee, numero_de

CARPETAS = {"esqueleto": "exercises", "solución": "solutions"}


@dataclass(frozen=True)
class Pedido:
    """Lo que el registro pide de un ejercicio."""

    id: str
    nombre: str
    tipo: str
    claves: tuple[str, ...] | None = (
        None  # de un valor escrito a mano; vacía si no es un diccionario
    )


def firmas(texto: str) -> dict[str, str]:
    """Nombre → firma de cada función o clase de primer nivel; en las clases, la de sus métodos
    públicos.
    """
    salida = {}
    for nodo in ast.parse(texto).body:
        if isinstance(nodo, ast.FunctionDef):
            salida[nodo.name] = _firma(nodo)
        elif isinstance(nodo, ast.ClassDef):
            metodos = [
                f"{m.name}{_firma(m)}"
                for m in nodo.body
                if isinstance(m, ast.FunctionDef)
                and (m.name == "__init__" or not m.name.startswith("_"))
            ]
            salida[nodo.name] = "; ".join([", ".join(map(ast.unparse, nodo.bases)), *metodos])
    return salida


def _firma(nodo: ast.FunctionDef) -> str:
    vuelta = ast.unparse(nodo.returns) if nodo.returns is not None else "sin anotar"
    return f"({ast.unparse(nodo.args)}) -> {vuelta}"


def valores_a_mano(texto: str) -> dict[str, object]:
    """Nombre → valor de cada constante de primer nivel: lo que se deja sin contestar en un
    esqueleto.
    """
    salida = {}
    for nodo in ast.parse(texto).body:
        if isinstance(nodo, ast.Assign) and isinstance(nodo.targets[0], ast.Name):
            salida[nodo.targets[0].id] = ast.literal_eval(nodo.value)
    return salida


def faltas_a_mano(p: Pedido, esqueleto: str, solucion: str) -> list[str]:
    """El esqueleto deja ``None`` en cada respuesta, y la solución las calcula con una función sin
    argumentos.
    """
    vacio = {clave: None for clave in p.claves} if p.claves else None
    puestos = valores_a_mano(esqueleto)
    faltas = []
    if p.nombre not in puestos or puestos[p.nombre] != vacio:
        faltas.append(f"{p.id}: el esqueleto debe decir {p.nombre} = {vacio}")
    if not firmas(solucion).get(p.nombre, "").startswith("() ->"):
        faltas.append(f"{p.id}: la solución debe definir la función {p.nombre}(), sin argumentos")
    return faltas


def faltas_de_correspondencia(
    registro: list[Pedido], enunciados: list[str] | None, esqueleto: str, solucion: str
) -> list[str]:
    """Los cuatro sitios nombran lo mismo. ``enunciados``: etiquetas ``ej-N-M`` del capítulo;
    ``None`` si no existe.
    """
    pedidos = {p.id: p for p in registro}
    faltas = []
    if len(pedidos) != len(registro) or len({p.nombre for p in registro}) != len(registro):
        faltas.append("el registro repite un identificador o un nombre")
    if enunciados is not None:
        del_libro = {e.removeprefix("ej-").replace("-", ".") for e in enunciados}
        faltas += [
            f"{x}: está en el capítulo y no en el registro"
            for x in sorted(del_libro - set(pedidos))
        ]
        faltas += [
            f"{x}: está en el registro y no en el capítulo"
            for x in sorted(set(pedidos) - del_libro)
        ]
    suyas, resueltas = firmas(esqueleto), firmas(solucion)
    for p in registro:
        if f"Ejercicio {p.id}" not in esqueleto:
            faltas.append(f"{p.id}: el esqueleto no dice «Ejercicio {p.id}»")
        if p.claves is not None:
            faltas += faltas_a_mano(p, esqueleto, solucion)
            continue
        for sitio, hay in (("esqueleto", suyas), ("solución", resueltas)):
            if p.nombre not in hay:
                faltas.append(f"{p.id}: falta {p.nombre} en el fichero: {sitio}")
        if p.nombre in suyas and p.nombre in resueltas and suyas[p.nombre] != resueltas[p.nombre]:
            faltas.append(
                f"{p.id}: {p.nombre} no tiene la misma firma: {suyas[p.nombre]} y"
                f" {resueltas[p.nombre]}"
            )
        if p.tipo == "escribir" and f'NotImplementedError("Ejercicio {p.id}")' not in esqueleto:
            faltas.append(
                f'{p.id}: el esqueleto debe lanzar NotImplementedError("Ejercicio {p.id}")'
            )
    sobran = {n for n in suyas if not n.startswith("_")} - {p.nombre for p in registro}
    return faltas + [f"el esqueleto define {n}, que no está en el registro" for n in sorted(sobran)]


def faltas_de_esqueleto(texto: str) -> list[str]:
    """Un esqueleto es un cuaderno en formato de porcentajes, y dice en cada función qué se pide."""
    faltas = [] if re.search(r"^# %%", texto, re.M) else ["no tiene celdas «# %%»"]
    for nodo in ast.parse(texto).body:
        if isinstance(nodo, ast.FunctionDef | ast.ClassDef) and not nodo.name.startswith("_"):
            if not ast.get_docstring(nodo):
                faltas.append(f"{nodo.name} no tiene docstring")
            if isinstance(nodo, ast.FunctionDef) and (
                nodo.returns is None
                or any(a.annotation is None for a in [*nodo.args.args, *nodo.args.kwonlyargs])
            ):
                faltas.append(f"{nodo.name} no anota sus argumentos o lo que devuelve")
    return faltas


def numeros() -> list[int]:
    """Capítulos con ejercicios en algún sitio."""
    ficheros = [
        *(RAIZ / "exercises").glob("cap*.py"),
        *(RAIZ / "solutions").glob("cap*.py"),
        *(RAIZ / "code/calificador/ejercicios").glob("cap*.py"),
    ]
    return sorted({int(f.stem[3:]) for f in ficheros} | {numero_de(c) for c in capitulos()})


def _enunciados(numero: int) -> list[str] | None:
    rutas = [c for c in capitulos() if numero_de(c) == numero]
    if not rutas:
        return None
    return [
        e
        for d in lee(rutas[0]).llamadas("exercise")
        if (e := d.opciones.get("label", "")).startswith("ej-")
    ]


def _claves(ejercicio) -> tuple[str, ...] | None:
    if not ejercicio.literal:
        return None
    return tuple(ejercicio.propiedades) if ejercicio.tipo == "lapiz" else ()


@pytest.mark.parametrize("numero", numeros())
def test_correspondencia(numero: int) -> None:
    textos = {}
    for sitio, carpeta in CARPETAS.items():
        ruta = RAIZ / carpeta / f"cap{numero:02d}.py"
        assert ruta.is_file(), f"falta {carpeta}/cap{numero:02d}.py"
        textos[sitio] = ruta.read_text(encoding="utf-8")
    assert (RAIZ / f"code/calificador/ejercicios/cap{numero:02d}.py").is_file(), (
        f"falta el registro del cap. {numero}"
    )
    modulo = importlib.import_module(f"calificador.ejercicios.cap{numero:02d}")
    registro = [Pedido(e.id, e.nombre, e.tipo, _claves(e)) for e in modulo.EJERCICIOS]
    faltas = faltas_de_correspondencia(
        registro, _enunciados(numero), textos["esqueleto"], textos["solución"]
    )
    faltas += [
        f"{e.id}: no es del capítulo {numero}" for e in modulo.EJERCICIOS if e.capitulo != numero
    ]
    faltas += faltas_de_esqueleto(textos["esqueleto"])
    assert not faltas, informe([f"capítulo {numero}: {x}" for x in faltas])


def test_caza_correspondencia() -> None:
    registro = [Pedido("4.1", "suma", "escribir")]
    bien = (
        '# %%\ndef suma(x: int) -> int:\n    """Ejercicio 4.1."""\n    raise'
        ' NotImplementedError("Ejercicio 4.1")\n'
    )
    hecho = 'def suma(x: int) -> int:\n    """Suma."""\n    return x\n'
    assert not faltas_de_correspondencia(registro, ["ej-4-1"], bien, hecho)
    assert not faltas_de_correspondencia(registro, None, bien, hecho)
    assert faltas_de_correspondencia(registro, [], bien, hecho)
    assert faltas_de_correspondencia(registro, ["ej-4-1", "ej-4-2"], bien, hecho)
    assert faltas_de_correspondencia(registro, ["ej-4-1"], bien.replace("suma", "otra"), hecho)
    assert faltas_de_correspondencia(
        registro, ["ej-4-1"], bien, hecho.replace("x: int", "x: int, y: int = 0")
    )
    assert faltas_de_correspondencia(registro, ["ej-4-1"], bien.replace("4.1", "4.2"), hecho)
    assert faltas_de_correspondencia(
        registro, ["ej-4-1"], bien.replace("raise NotImpl", "pass  # Impl"), hecho
    )
    assert faltas_de_correspondencia(registro * 2, ["ej-4-1"], bien, hecho)
    assert faltas_de_correspondencia(
        registro, ["ej-4-1"], bien + "def sobra() -> None: ...\n", hecho
    )
    mano = Pedido("4.2", "pesos", "lapiz", ("uno", "otro"))
    hueco, hecha = (
        '# Ejercicio 4.2\npesos = {"uno": None, "otro": None}\n',
        "def pesos() -> dict[str, float]: ...\n",
    )
    assert not faltas_de_correspondencia([mano], ["ej-4-2"], hueco, hecha)
    assert faltas_de_correspondencia([mano], ["ej-4-2"], hueco.replace("None", "0.5", 1), hecha)
    assert faltas_de_correspondencia([mano], ["ej-4-2"], hueco.replace("otro", "tercero"), hecha)
    assert faltas_de_correspondencia([mano], ["ej-4-2"], hueco, hecha.replace("()", "(x: int)"))
    assert not faltas_de_esqueleto(bien)
    assert faltas_de_esqueleto(bien.replace("# %%", "")) and faltas_de_esqueleto(
        bien.replace("x: int", "x")
    )
    assert faltas_de_esqueleto(bien.replace('    """Ejercicio 4.1."""\n', ""))
