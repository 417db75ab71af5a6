"""Reglas de la biblioteca: pisos, tamaños, docstrings y mensajes."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median

from myst import RAIZ, informe, relativa

CODIGO = RAIZ / "code"
PISOS = {
    1: ["amounts", "device", "rng", "shapes", "checks"],
    2: ["masks", "positions", "layers", "similarity", "cache"],
    3: ["attention"],
    4: ["blocks", "watching"],
    5: [
        "decoding",
        "training",
        "tokenizers",
        "word_vectors",
        "kneser_ney",
        "efficient",
        "moe",
        "quantize",
        "hopfield",
        "audio",
        "boxes",
    ],
    6: ["models"],
    7: ["tasks", "adaptation", "interpret", "scaling"],
    8: ["trained"],
}
DIBUJO = {  # el otro paquete, que importa de atento y del que atento no importa nada
    1: ["stored", "plots", "errors", "sounds"],
    2: ["notebook", "diagrams"],
    3: ["explorers"],  # el mapa se dibuja con diagrams
}
CIMIENTOS = PISOS[1]  # en el primer piso, cada uno puede usar los que van antes que él
# Los módulos de un paquete pueden usarse entre sí, sin círculos.
PAQUETES = {
    "adaptation",
    "checks",
    "positions",
    "decoding",
    "efficient",
    "tokenizers",
    "training",
    "models",
    "tasks",
    "interpret",
    "scaling",
    "plots",
    "explorers",
    "diagrams",
}
INGLES = re.compile(
    r"\b(the|this|that|which|returns?|raises?|should|must|with|from|expected|got|given|of|is"
    r"|are|be|not"
    r" found|"
    r"invalid|missing|cannot|unknown)\b",
    re.I,
)
VALIDADORES = ("require_", "is_")  # admiten tensores de cualquier forma
SIN_DOCSTRING = {"extra_repr"}  # la firma y el sentido los pone PyTorch
FORMA = re.compile(r"\(\s*(?:…|\.\.\.|\w+)\s*(?:,\s*[\w… .+*/-]*)+\)")


def modulos(raiz: Path) -> dict[str, Path]:
    """Módulos de un paquete por su nombre con puntos, sin el del paquete."""
    salida = {}
    for ruta in sorted(raiz.rglob("*.py")):
        partes = list(ruta.relative_to(raiz).with_suffix("").parts)
        if partes[-1] == "__init__":
            partes.pop()
        salida[".".join(partes)] = ruta
    return salida


def importados(
    arbol: ast.AST, buscado: str, propio: str, es_paquete: bool = False
) -> Iterator[tuple[int, str]]:
    """Lo que un fichero importa del paquete ``buscado``: (línea, nombre sin el paquete).

    ``propio`` es el nombre completo del módulo que importa, para resolver las importaciones
    relativas.
    """
    for nodo in ast.walk(arbol):
        if isinstance(nodo, ast.Import):
            completos = [alias.name for alias in nodo.names]
        elif isinstance(nodo, ast.ImportFrom):
            base = nodo.module or ""
            if nodo.level:
                partes = propio.split(".")
                partes = partes[: len(partes) - nodo.level + (1 if es_paquete else 0)]
                base = ".".join([*partes, *([base] if base else [])])
            completos = [f"{base}.{alias.name}" for alias in nodo.names]
        else:
            continue
        yield from (
            (nodo.lineno, n[len(buscado) + 1 :]) for n in completos if n.split(".")[0] == buscado
        )


def faltas_de_pisos(
    fuentes: dict[str, str], paquete: str = "atento", pisos: dict[int, list[str]] = PISOS
) -> list[str]:
    """Importaciones de un paquete que no van hacia abajo. ``fuentes``: módulo → código."""
    faltas, piso = [], {nombre: n for n, nombres in pisos.items() for nombre in nombres}
    grafo: dict[str, set[str]] = {}
    for modulo, texto in fuentes.items():
        if modulo == "":
            continue
        cima = modulo.split(".")[0]
        if cima not in piso:
            faltas.append(f"{modulo}: no tiene piso; añádase al diseño y a PISOS")
            continue
        for linea, otro in importados(
            ast.parse(texto), paquete, f"{paquete}.{modulo}", modulo in PAQUETES
        ):
            cima_otro = otro.split(".")[0]
            if cima_otro == cima and cima in PAQUETES:
                grafo.setdefault(modulo, set()).add(_hermano(otro, fuentes))
            elif {cima, cima_otro} <= set(CIMIENTOS):
                if CIMIENTOS.index(cima_otro) > CIMIENTOS.index(cima):
                    faltas.append(f"{modulo}:{linea}: importa {paquete}.{otro}, que va después")
            elif piso.get(cima_otro, 9) >= piso[cima]:
                faltas.append(
                    f"{modulo}:{linea}: importa {paquete}.{otro}, que no está en un piso inferior"
                )
            elif cima == "tasks" and cima_otro == "models":
                faltas.append(f"{modulo}:{linea}: tasks no importa models")
    return faltas + _circulos(grafo)


def _hermano(nombre: str, fuentes: dict[str, str]) -> str:
    """El módulo al que pertenece un nombre importado: el más largo que existe."""
    partes = nombre.split(".")
    while len(partes) > 1 and ".".join(partes) not in fuentes:
        partes.pop()
    return ".".join(partes)


def _circulos(grafo: dict[str, set[str]]) -> list[str]:
    """Círculos entre módulos hermanos; el ``__init__`` del paquete no cuenta."""
    faltas = []
    for origen in grafo:
        vistos, por_ver = set(), [x for x in grafo[origen] if "." in x]
        while por_ver:
            actual = por_ver.pop()
            if actual == origen:
                faltas.append(f"{origen}: se importa a sí mismo a través de sus hermanos")
                break
            if actual not in vistos:
                vistos.add(actual)
                por_ver += [x for x in grafo.get(actual, ()) if "." in x]
    return faltas


def faltas_de_paquetes(codigo: Path) -> list[str]:
    """``code/`` no es un paquete; ``atento`` no usa el calificador y el calificador no sabe de
    capítulos.
    """
    faltas = (
        ["code/__init__.py: code/ no es un paquete"] if (codigo / "__init__.py").exists() else []
    )
    for ruta in sorted(codigo.rglob("*.py")):
        nombre = ruta.relative_to(codigo)
        arbol = ast.parse(ruta.read_text(encoding="utf-8"))
        propio = ".".join(nombre.with_suffix("").parts)
        if nombre.parts[0] == "atento":
            faltas += [
                f"{nombre}:{n}: atento no importa {otro}"
                for otro in ("calificador", "figuras")
                for n, _ in importados(arbol, otro, propio)
            ]
        if nombre.parts[0] in ("atento", "figuras"):
            continue
        if "ejercicios" not in nombre.parts:
            faltas += [
                f"{nombre}:{n}: el calificador no nombra capítulos ({otro})"
                for n, otro in importados(arbol, "calificador", propio)
                if re.search(r"cap\d\d", otro)
            ]
        for nodo in ast.walk(arbol):
            if (
                isinstance(nodo, ast.Constant)
                and isinstance(nodo.value, str)
                and " " not in nodo.value
            ):
                if re.match(r"(\.\./)*book(/|$)", nodo.value):
                    faltas.append(
                        f"{nombre}:{nodo.lineno}: el calificador no lee el libro ({nodo.value})"
                    )
    return faltas


def funciones(arbol: ast.Module) -> Iterator[tuple[ast.FunctionDef, str, bool]]:
    """Funciones y métodos de un módulo: nodo, nombre completo y si son públicos."""

    def recorre(
        cuerpo: list[ast.stmt], prefijo: str, publico: bool
    ) -> Iterator[tuple[ast.FunctionDef, str, bool]]:
        for nodo in cuerpo:
            if isinstance(nodo, ast.FunctionDef | ast.AsyncFunctionDef):
                yield nodo, prefijo + nodo.name, publico and not nodo.name.startswith("_")
                yield from recorre(nodo.body, f"{prefijo}{nodo.name}.", False)
            elif isinstance(nodo, ast.ClassDef):
                yield from recorre(
                    nodo.body, f"{prefijo}{nodo.name}.", publico and not nodo.name.startswith("_")
                )
            elif isinstance(nodo, ast.If | ast.Try):
                yield from recorre(nodo.body, prefijo, publico)

    yield from recorre(arbol.body, "", True)


def largo(nodo: ast.FunctionDef) -> int:
    """Líneas de una función sin su docstring ni sus decoradores."""
    total = nodo.end_lineno - nodo.lineno + 1
    primero = nodo.body[0]
    if ast.get_docstring(nodo, clean=False) is not None:
        total -= primero.end_lineno - primero.lineno + 1
    internas = [
        x
        for x in ast.walk(nodo)
        if isinstance(x, ast.FunctionDef | ast.AsyncFunctionDef) and x is not nodo
    ]
    for interna in internas:
        if ast.get_docstring(interna, clean=False) is not None:
            total -= interna.body[0].end_lineno - interna.body[0].lineno + 1
    return total


def faltas_de_tamano(fuentes: dict[str, str], maximo: int = 40, mediana: int = 12) -> list[str]:
    """Funciones demasiado largas, y mediana demasiado alta."""
    faltas, largos = [], []
    for modulo, texto in fuentes.items():
        for nodo, nombre, _ in funciones(ast.parse(texto)):
            largos.append(largo(nodo))
            if largos[-1] > maximo:
                faltas.append(
                    f"{modulo}:{nodo.lineno}: {nombre} tiene {largos[-1]} líneas; el máximo es"
                    f" {maximo}"
                )
    if largos and median(largos) > mediana:
        faltas.append(f"la mediana es de {median(largos)} líneas; el máximo es {mediana}")
    return faltas


def _anotaciones(nodo: ast.FunctionDef) -> list[tuple[str, ast.expr | None]]:
    """Argumentos con su anotación, sin ``self`` ni ``cls``."""
    a = nodo.args
    todos = [
        *a.posonlyargs,
        *a.args,
        *a.kwonlyargs,
        *([a.vararg] if a.vararg else []),
        *([a.kwarg] if a.kwarg else []),
    ]
    return [(x.arg, x.annotation) for x in todos if x.arg not in {"self", "cls"}]


def faltas_de_documentacion(fuentes: dict[str, str]) -> list[str]:
    """Lo público lleva docstring en español, anotaciones y, si trata tensores, sus formas."""
    faltas = []
    for modulo, texto in fuentes.items():
        arbol = ast.parse(texto)
        if not ast.get_docstring(arbol):
            faltas.append(f"{modulo}:1: el módulo no tiene docstring")
        for nodo in ast.walk(arbol):
            if (
                isinstance(nodo, ast.ClassDef)
                and not nodo.name.startswith("_")
                and not ast.get_docstring(nodo)
            ):
                faltas.append(f"{modulo}:{nodo.lineno}: {nodo.name} no tiene docstring")
        for nodo, nombre, publica in funciones(arbol):
            if publica and not any("overload" in ast.unparse(d) for d in nodo.decorator_list):
                puerta = modulo.startswith("atento.checks")
                faltas += [
                    f"{modulo}:{nodo.lineno}: {nombre} {que}"
                    for que in _faltas_de_una(nodo, puerta)
                ]
    return faltas


def _faltas_de_una(nodo: ast.FunctionDef, puerta: bool = False) -> list[str]:
    """Lo que le falta a una función pública; una ``puerta`` admite tensores de cualquier forma."""
    doc = ast.get_docstring(nodo) or ""
    faltas = [] if doc or nodo.name in SIN_DOCSTRING else ["no tiene docstring"]
    sin_codigo = re.sub(r"``[^`]*``|:\w+:`[^`]*`|«[^»]*»", " ", doc)
    if len(INGLES.findall(sin_codigo)) >= 2:
        faltas.append("tiene el docstring en inglés")
    anotadas = _anotaciones(nodo)
    faltas += [f"no anota {nombre}" for nombre, anotacion in anotadas if anotacion is None]
    if nodo.returns is None:
        faltas.append("no anota lo que devuelve")
    textos = [ast.unparse(x) for _, x in anotadas if x is not None]
    textos += [ast.unparse(nodo.returns)] if nodo.returns is not None else []
    textos = [
        re.sub(r"\w+\[(?:torch\.)?Tensor, ?['\"][^\]]*\]|Callable\[.*\]", "", t) for t in textos
    ]
    desnudo = any(re.search(r"\bTensor\b", t) for t in textos) and not nodo.name.startswith(
        VALIDADORES
    )
    desnudo = desnudo and not puerta
    if desnudo and not FORMA.search(doc):
        faltas.append("trata tensores y no dice sus formas ni en la firma ni en el docstring")
    return faltas


def faltas_de_mensajes(fuentes: dict[str, str]) -> list[str]:
    """Los errores que se lanzan tienen mensaje, y en español."""
    faltas = []
    for modulo, texto in fuentes.items():
        for nodo in ast.walk(ast.parse(texto)):
            if not (isinstance(nodo, ast.Raise) and isinstance(nodo.exc, ast.Call)):
                continue
            tipo = ast.unparse(nodo.exc.func)
            partes = [
                x.value
                for x in ast.walk(nodo.exc)
                if isinstance(x, ast.Constant) and isinstance(x.value, str)
            ]
            if tipo in {"ValueError", "TypeError"} and not nodo.exc.args:
                faltas.append(f"{modulo}:{nodo.lineno}: {tipo} sin mensaje")
            if len(INGLES.findall(" ".join(partes))) >= 2:
                faltas.append(f"{modulo}:{nodo.lineno}: mensaje en inglés: {' '.join(partes)[:60]}")
    return faltas


ERRORES = re.compile(r"(?:(?:Value|Type|Key|Runtime)Error(?:``)?|Lanza) (?:si|cuando)")


def faltas_de_forma(fuentes: dict[str, str]) -> list[str]:
    """Una sola mano: 100 columnas, importaciones absolutas, «Errores:» y mensajes «argumento:
    …»."""
    faltas = []
    for modulo, texto in fuentes.items():
        faltas += [
            f"{modulo}:{n}: tiene {len(x)} columnas; el máximo es 100"
            for n, x in enumerate(texto.splitlines(), 1)
            if len(x) > 100
        ]
        for nodo in ast.walk(ast.parse(texto)):
            if isinstance(nodo, ast.ImportFrom) and nodo.level:
                faltas.append(f"{modulo}:{nodo.lineno}: importación relativa")
            if isinstance(nodo, ast.Raise) and (mensaje := _mensaje(nodo)) is not None:
                if not re.match(r"(?:\{\}|[\w.\[\]{}]+)(?: \(nuevo\))?: ", mensaje):
                    faltas.append(
                        f"{modulo}:{nodo.lineno}: el mensaje no empieza por el argumento:"
                        f" {mensaje[:50]}"
                    )
        for nodo, nombre, publica in funciones(ast.parse(texto)):
            doc = ast.get_docstring(nodo) or ""
            guardian = nombre.startswith(VALIDADORES) or modulo.startswith("checks")
            if (
                publica
                and not guardian
                and not re.search(r"Errores[:,] ", doc)
                and ERRORES.search(doc)
            ):
                faltas.append(f"{modulo}:{nodo.lineno}: {nombre} cuenta sus errores sin «Errores:»")
    return faltas


def _mensaje(nodo: ast.Raise) -> str | None:
    """El texto de un ValueError o TypeError, con {} en lo que se calcula; ``None`` si no se
    sabe."""
    if not (
        isinstance(nodo.exc, ast.Call) and ast.unparse(nodo.exc.func) in {"ValueError", "TypeError"}
    ):
        return None
    primero = nodo.exc.args[0] if nodo.exc.args else None
    if isinstance(primero, ast.Constant):
        return str(primero.value)
    if not isinstance(primero, ast.JoinedStr):
        return None
    return "".join(x.value if isinstance(x, ast.Constant) else "{}" for x in primero.values)


def faltas_de_espejo(modulos_: dict[str, Path], pruebas: Path) -> list[str]:
    """Cada módulo, o el paquete que lo guarda, tiene su fichero de pruebas en el mismo sitio."""
    faltas = []
    for modulo, ruta in modulos_.items():
        if ruta.name == "__init__.py":
            continue
        partes = modulo.split(".")
        sitios = [
            pruebas.joinpath(*partes[: n - 1], f"test_{partes[n - 1]}.py")
            for n in range(1, len(partes) + 1)
        ]
        if partes[0] == "checks":  # una puerta se prueba con lo que guarda
            sitios += pruebas.rglob(f"test_{partes[-1]}.py")
        if not any(sitio.exists() for sitio in sitios):
            faltas.append(
                f"{modulo}: no tiene"
                f" {relativa(sitios[-1]) if sitios[-1].is_relative_to(RAIZ) else sitios[-1]}"
            )
    return faltas


def faltas_de_nombres(raices: Iterable[Path]) -> list[str]:
    """Ficheros y carpetas de Python que se llaman como un módulo de la biblioteca estándar.

    Dentro de un paquete confunden a quien lee ``from atento.tasks import copy``; fuera, Python
    importaría ese en lugar del suyo.
    """
    return [
        f"{relativa(ruta) if ruta.is_relative_to(RAIZ) else ruta.name}: así se llama un módulo de "
        "la biblioteca estándar"
        for raiz in raices
        for ruta in sorted(raiz.rglob("*"))
        if ruta.suffix == ".py" or (ruta.is_dir() and any(ruta.glob("*.py")))
        if ruta.stem in sys.stdlib_module_names
    ]


def _fuentes(paquete: str) -> dict[str, str]:
    return {m: r.read_text(encoding="utf-8") for m, r in modulos(CODIGO / paquete).items()}


def _las_dos() -> dict[str, str]:
    """Los módulos de la biblioteca y los del dibujo, con el nombre de su paquete."""
    return {f"{p}.{m}": t for p in ("atento", "figuras") for m, t in _fuentes(p).items()}


def test_pisos() -> None:
    faltas = faltas_de_pisos(_fuentes("atento"))
    faltas += faltas_de_pisos(_fuentes("figuras"), "figuras", DIBUJO)
    assert not faltas, informe(faltas)


def test_paquetes() -> None:
    faltas = faltas_de_paquetes(CODIGO)
    assert not faltas, informe(faltas)


def test_nadie_se_llama_como_un_modulo_de_python() -> None:
    carpetas = ("code", "tools", "tests", "book/_ext", "exercises", "solutions", "benchmarks")
    faltas = faltas_de_nombres(RAIZ / carpeta for carpeta in carpetas)
    assert not faltas, informe(faltas)


def test_tamano_de_las_funciones() -> None:
    faltas = faltas_de_tamano(_las_dos())
    assert not faltas, informe(faltas)


def test_documentacion() -> None:
    faltas = faltas_de_documentacion(_las_dos())
    assert not faltas, informe(faltas)


def test_mensajes_en_espanol() -> None:
    faltas = faltas_de_mensajes(
        {relativa(r): r.read_text(encoding="utf-8") for r in sorted(CODIGO.rglob("*.py"))}
    )
    assert not faltas, informe(faltas)


def test_una_sola_mano() -> None:
    faltas = [x for p in ("atento", "figuras") for x in faltas_de_forma(_fuentes(p))]
    assert not faltas, informe(faltas)


def test_las_pruebas_son_el_espejo() -> None:
    faltas = faltas_de_espejo(modulos(CODIGO / "atento"), RAIZ / "tests/atento")
    faltas += faltas_de_espejo(modulos(CODIGO / "figuras"), RAIZ / "tests/figuras")
    assert not faltas, informe(faltas)


def test_la_atencion_no_carga_los_dibujos() -> None:
    """Importar la atención no trae matplotlib, ni el cuaderno, ni el calificador."""
    orden = (
        "import sys, atento.attention, atento.training, atento.models.recurrent,"
        " atento.tasks.translation\n"
    )
    orden += (
        "print(*sorted({'matplotlib', 'IPython', 'calificador', 'sacrebleu'} & set(sys.modules)))"
    )
    hecho = subprocess.run(
        [sys.executable, "-c", orden], capture_output=True, text=True, timeout=120, check=True
    )
    assert hecho.stdout.strip() == ""


def test_la_biblioteca_cuenta_todos_sus_pisos() -> None:
    doc = ast.get_docstring(ast.parse(_fuentes("atento")[""]))
    dichos = set(re.findall(r"``(\w+)``", doc))
    todos = {nombre for nombres in PISOS.values() for nombre in nombres}
    assert dichos == todos, sorted(dichos ^ todos)
    construidos = {m.split(".")[0] for m in _fuentes("atento") if m}
    por_venir = set(re.findall(r"``(\w+)``", " ".join(re.findall(r"\(``[^)]*\)", doc))))
    assert not construidos & por_venir, "ya están construidos: " + ", ".join(
        construidos & por_venir
    )


def test_caza_la_forma(tmp_path: Path) -> None:
    bien = {
        "m": (
            'from atento import x\ndef f():\n    raise ValueError(f"n: se esperaba 1; llegó {n}")\n'
        )
    }
    assert not faltas_de_forma(bien)
    for malo in [
        "x = 1  # " + "a" * 100,
        "from .a import b",
        'raise ValueError("no vale")',
        'raise TypeError(f"el valor {x} no vale")',
        'def f():\n    """Suma. ValueError si no puede."""',
        'def f():\n    """Lanza si no puede."""',
    ]:
        assert faltas_de_forma({"m": malo}), malo
    assert not faltas_de_forma({"checks.m": 'def f():\n    """Lanza si no puede."""'})
    (tmp_path / "a").mkdir()
    (tmp_path / "a/test_b.py").touch()
    rutas = {"a.b": Path("b.py"), "a.b.c": Path("c.py"), "a": Path("__init__.py")}
    assert not faltas_de_espejo(rutas, tmp_path)
    assert len(faltas_de_espejo({"a.c": Path("c.py"), "d": Path("d.py")}, tmp_path)) == 2


def test_caza_pisos() -> None:
    assert not faltas_de_pisos(
        {"rng": "from atento.device import x\n", "checks.a": "from atento.shapes import x\n"}
    )
    assert faltas_de_pisos({"device": "from atento.rng import x\n"})
    assert faltas_de_pisos(
        {
            "tasks.t.a": "from atento.tasks.t.b import x\n",
            "tasks.t.b": "from atento.tasks.t.a import y\n",
        }
    )
    assert not faltas_de_pisos(
        {"attention": "from atento.masks import combine\nfrom atento import shapes\n"}
    )
    assert faltas_de_pisos({"masks": "from atento import attention\n"})
    assert faltas_de_pisos({"masks": "from .attention import x\n"})
    assert faltas_de_pisos({"masks": "from atento import similarity\n"})
    assert faltas_de_pisos({"models.gpt": "from atento.tasks import copying\n"})
    assert faltas_de_pisos({"tasks.copying": "import atento.models.gpt\n"})
    assert faltas_de_pisos({"inventado": ""})
    assert not faltas_de_pisos({"models.a": "from atento.models.b import x\n", "models.b": ""})
    assert faltas_de_pisos(
        {"models.a": "from atento.models.b import x\n", "models.b": "from .a import y\n"}
    )


def test_caza_nombres(tmp_path: Path) -> None:
    for nombre in ("a/copy.py", "numbers.py", "code/b.py", "a/copying.py", "json/datos.txt"):
        (tmp_path / nombre).parent.mkdir(exist_ok=True)
        (tmp_path / nombre).touch()
    cazados = {falta.split(":")[0] for falta in faltas_de_nombres([tmp_path])}
    assert cazados == {"copy.py", "numbers.py", "code"}


def test_caza_paquetes(tmp_path: Path) -> None:
    (tmp_path / "atento").mkdir()
    (tmp_path / "calificador").mkdir()
    assert not faltas_de_paquetes(tmp_path)
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "atento/x.py").write_text("import calificador\n")
    (tmp_path / "calificador/y.py").write_text(
        "from calificador.ejercicios import cap04\nruta = 'book/x.md'\n"
    )
    assert len(faltas_de_paquetes(tmp_path)) == 4


def test_caza_funciones() -> None:
    larga = "def f():\n" + "    x = 1\n" * 41
    assert faltas_de_tamano({"m": larga})
    assert faltas_de_tamano({"m": "def f():\n" + "    x = 1\n" * 20})
    assert not faltas_de_tamano({"m": 'def f():\n    """' + "a\n" * 60 + '"""\n    return 1\n'})
    bien = (
        '"""Módulo."""\ndef f(x: Float[Tensor, "n d"]) -> Float[Tensor, "n"]:\n    """Suma las'
        ' filas."""\n'
    )
    assert not faltas_de_documentacion({"m": bien})
    assert faltas_de_documentacion({"m": bien.replace('    """Suma las filas."""', "    pass")})
    assert faltas_de_documentacion(
        {"m": bien.replace("Suma las filas.", "Returns the sum of the rows.")}
    )
    assert faltas_de_documentacion({"m": bien.replace('x: Float[Tensor, "n d"]', "x")})
    assert faltas_de_documentacion({"m": bien.replace('Float[Tensor, "n d"]', "Tensor")})
    assert not faltas_de_documentacion(
        {"m": bien.replace('Float[Tensor, "n d"]', "Tensor").replace("filas.", "filas de (n, d).")}
    )
    assert faltas_de_mensajes({"m": 'raise ValueError("the shape is invalid")'})
    assert faltas_de_mensajes({"m": "raise ValueError()"})
    assert not faltas_de_mensajes(
        {"m": 'raise ValueError("n: llegó 0; se esperaba un entero positivo")'}
    )
