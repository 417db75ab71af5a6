"""Reglas de la prosa: frases prohibidas, números, comillas, español y enlaces al glosario."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from myst import (
    LIBRO,
    RAIZ,
    Documento,
    analiza,
    capitulos,
    informe,
    lee,
    limpia,
    numero_de,
    paginas,
    relativa,
)

FRASES = [
    r"juegan? un (?:papel|rol) \w+",
    r"es importante (?:destacar|señalar|mencionar)",
    r"cabe (?:mencionar|destacar|señalar)",
    r"vertiginoso mundo",
    r"(?:ha|han) revolucionado",
    r"revolucionari[oa]s?",
    r"no (?:es|son|se trata de) s[oó]lo\b[^.;:]*\bsino\b",
    r"no (?:solo|sólo|solamente) [^.;:]*,? sino también",
    r"sofisticad[oa]s?",
    r"de (?:manera|forma) elegante",
    r"elegantemente",
    r"en (?:resumen|conclusión|definitiva)",
    r"profundicemos|profundizaremos",
    r"sumérgete|sumerjámonos|sumergirnos",
    r"desbloque\w+ (?:el|su|todo el|todo su) potencial",
    r"un viaje (?:por|a través de|al corazón)",
    r"como (?:hemos visto|vimos|se ha visto) (?:anteriormente|antes|previamente)",
    r"exploraremos|adentrémonos|adentraremos",
    r"en el mundo actual",
    r"a la vanguardia",
    r"un antes y un después",
]
TERMINOS = {
    r"librer[ií]as?": "biblioteca",
    r"auto-?atenci[oó]n propia|auto-atenci[oó]n": "autoatención",
    r"productos? punto": "producto escalar",
    r"similaridad(?:es)?": "similitud",
    r"cabezal(?:es)?": "cabeza",
    r"multicabezal(?:es)?|multi-cabeza": "multicabeza",
    r"puntajes?": "puntuación",
    r"incrustaci(?:ón|ones)|embebid[oa]s?": "embedding",
    r"auto-?regresiv[oa]s?": "autorregresivo",
    r"particionador(?:es)?": "tokenizador",
    r"ratio de aprendizaje": "tasa de aprendizaje",
    r"modelos? de lengua\b": "modelo de lenguaje",
    r"máscaras? subsiguientes?": "máscara causal",
    r"transformador(?:es)?": "Transformer",
    r"normalización de capas": "normalización de capa",
    r"afinado fino|afinados?": "ajuste fino",
    r"búsqueda (?:por|de) haz": "búsqueda en haz",
    r"qué tan \w+": "en qué se diferencian, cuánto…",
    r"tarjetas? gráficas?": "GPU",
    r"con \$?\w+\$? el ancho": "donde … es el ancho",
}
PERSONAS = (
    r"\b(?:vosotr[oa]s|vuestr[oa]s?|os)\b|\b\w+(?:[áé]is)\b|\b(?:decís|venís|vivís|escribís"
    r"|sois|vais)\b|"
    r"\b(?:vos|tenés|podés|sos|querés|sabés|hacés|fijate|mirá|pensá|probá|ejecutá)\b"
)
NO_SON_VOSOTROS = {"béis"}
EXENTAS_DE_NUMEROS = {"temario.md", "glosario.md", "erratas.md"}
ANTES_DE_DECIMAL = (
    r"(?:Python|PyTorch|torch|wav2vec|Gemma|[Ee]jercicios?|secci(?:ón|ones)|GPT-|versión|CUDA|"
    r"BY-SA|CC BY)\s*$"
)


def sin_citas(texto: str) -> str:
    """Quita lo que va entre comillas angulares: es lo que otros dicen."""
    return re.sub(r"«[^»]*»", " ", texto)


def faltas_de_frases(texto: str) -> list[str]:
    """Frases de relleno, términos desechados y formas de «vosotros» o voseo en un texto ya
    limpio."""
    propio = sin_citas(texto)
    faltas = [
        f"frase prohibida: «{m[0]}»"
        for f in FRASES
        for m in re.finditer(rf"\b(?:{f})", propio, re.I)
    ]
    faltas += [
        f"«{m[0]}»: se escribe «{bien}»"
        for mal, bien in TERMINOS.items()
        for m in re.finditer(rf"\b(?:{mal})(?!\w)", propio, re.I)
    ]
    faltas += [
        f"forma de «vosotros» o voseo: «{m[0]}»"
        for m in re.finditer(PERSONAS, propio, re.I)
        if m[0].lower() not in NO_SON_VOSOTROS
    ]
    return faltas


def faltas_de_signos(texto: str) -> list[str]:
    """Comillas que no son «» (salvo “” dentro de ellas), coma decimal y millares sin separar, en un
    texto limpio.
    """
    faltas = [
        f"comillas {m[0]}: se usan «»" for m in re.finditer(r"[“”„]|‘[^’]*’", sin_citas(texto))
    ]
    faltas += ["comillas rectas: se usan «»"] * texto.count('"')
    faltas += [f"coma decimal: {m[0]}" for m in re.finditer(r"(?<![\d,])\d+,\d+(?![\d,])", texto)]
    faltas += [
        f"número de cinco cifras o más sin espacio fino: {m[0]}"
        for m in re.finditer(r"(?<![\w.:/-])\d{5,}(?![\w/-])", texto)
    ]
    return faltas


def faltas_de_numeros(texto: str) -> list[str]:
    """Decimales tecleados en la prosa: deben venir de ``glue``."""
    return [
        f"decimal tecleado: {m[0]} (con glue, o entre $…$ si es un dato de la cuenta)"
        for m in re.finditer(r"(?<![\w.])\d+\.\d+(?![\w]|\.\d)", texto)
        if not re.search(ANTES_DE_DECIMAL, texto[: m.start()])
    ]


# --- símbolos: la tabla de «Notación» manda -------------------------------------------------------

SIMBOLOS = {
    r"\\omega_": (
        r"\alpha_{ij} para un peso (\omega_k, solo para frecuencias: capítulos 8, 9, 19 y 21)"
    ),
    r"(?<![a-zA-Z\\])[aw]_\{?ij\}?": r"\alpha_{ij} para un peso",
    r"(?<![a-zA-Z\\])s_\{?ij\}?": "e_{ij} para una puntuación",
    r"2\s*h\s*\^\s*\{?2|/\s*h\s*\^\s*\{?2": (
        r"\sigma para la anchura de un núcleo (h es el número de cabezas)"
    ),
    r"(?<![a-zA-Z\\])[uw](?:_a)?(?:\s*\\cdot|\s*\^\s*\{?\\(?:T|top)\}?)\s*\\tanh": (
        "v para el vector de la atención aditiva"
    ),
}
FRECUENCIAS = {8, 9, 19, 21}


def formulas(doc: Documento) -> Iterator[tuple[int, str]]:
    """Líneas de fórmula destacada y fórmulas en línea, con su número."""
    for linea in doc.lineas:
        if linea.clase == "mates":
            yield linea.numero, linea.texto
        elif linea.clase in {"prosa", "titulo", "opcion"}:
            for m in re.finditer(r"(?<!\\)\$([^$]+)\$", linea.texto):
                yield linea.numero, m[1]


def faltas_de_simbolos(doc: Documento, capitulo: int = 0) -> list[str]:
    """Símbolos que en la tabla de «Notación» nombran otra cosa."""
    reglas = {k: v for k, v in SIMBOLOS.items() if not (capitulo in FRECUENCIAS and "omega" in k)}
    return [
        f"línea {n}: «{m[0].strip()}»: se escribe {bien}"
        for n, texto in formulas(doc)
        for mal, bien in reglas.items()
        for m in re.finditer(mal, texto)
    ]


def recorre(doc: Documento) -> Iterator[tuple[int, str]]:
    """Líneas de prosa ya limpias, con su número."""
    for linea in doc.prosa():
        yield linea.numero, limpia(linea.texto)


def textos_de_codigo(texto: str) -> Iterator[tuple[int, str]]:
    """Docstrings de un módulo, línea a línea y sin marcas de código."""
    for nodo in ast.walk(ast.parse(texto)):
        if isinstance(nodo, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(nodo) is not None:
                primero = nodo.body[0]
                sin_marcas = re.sub(
                    r"``[^`]*``|:[\w:]+:`[^`]*`|`[^`]*`|\$[^$]*\$", " ", primero.value.value
                )
                for i, linea in enumerate(sin_marcas.splitlines()):
                    yield primero.lineno + i, linea


def ficheros_de_codigo() -> list[Path]:
    """Módulos cuyo texto se lee: biblioteca, calificador, ejercicios, soluciones, extensión y
    guiones.
    """
    carpetas = ("code", "exercises", "solutions", "book/_ext", "tools")
    return sorted(r for c in carpetas for r in (RAIZ / c).rglob("*.py"))


# --- glosario -------------------------------------------------------------------------------------

# Palabras del glosario que también son del español corriente: «la forma de», «en cada paso», «el
# valor de x».
CORRIENTES = {
    "paso",
    "forma",
    "eje",
    "capa",
    "memoria",
    "contexto",
    "rango",
    "norma",
    "sesgo",
    "lote",
    "semilla",
    "época",
    "parámetro",
    "frecuencia",
    "periodo",
    "prefijo",
    "hipótesis",
    "generación",
    "bloque",
    "pila",
    "relleno",
    "teorema",
    "heurística",
    "identificador",
    "proyección",
    "muestreo",
    "decaimiento",
    "núcleo",
    "valor",
    "clave",
    "consulta",
    "atención",
    "máscara",
    "gradiente",
    "similitud",
    "permutación",
    "saturación",
    "varianza",
    "alineamiento",
    "decodificación",
    "llevada",
    "sonda",
    "parche",
    "cuello de botella",
    "línea de base",
    "corpus",
    "Transformer",
    "token",
    "tensor",
    "softmax",
    "vocabulario",
    "embedding",
    "subespacio",
    "multimodal",
    "capa lineal",
    "promedio ponderado",
    "entropía",
    "logits",
    "polisemia",
    "convolución",
    "autocodificador",
    "cuantización",
    "ablación",
    "optimizador",
    "desactivación aleatoria",
    "columna vertebral",
}
# De las anteriores, las que son materia del libro: si se usan, algún enlace debe haber en el
# capítulo.
CON_ALGUN_ENLACE = {
    "valor",
    "clave",
    "consulta",
    "máscara",
    "softmax",
    "similitud",
    "token",
    "embedding",
    "entropía",
    "logits",
    "subespacio",
    "promedio ponderado",
    "rango",
    "saturación",
    "núcleo",
}


def terminos_del_glosario(texto: str) -> list[str]:
    """Claves de la directiva ``glossary`` de un fichero."""
    doc = analiza(texto)
    return [
        x
        for d in doc.llamadas("glossary")
        for x in d.cuerpo
        if x and not x[0].isspace() and x[0] not in ":%"
    ]


def _formas(palabra: str) -> str:
    """Expresión que admite el singular y los plurales corrientes de una palabra."""
    sin_tilde = str.maketrans("áéíóú", "aeiou")
    formas = {palabra, palabra + "s", palabra + "es"}
    if re.search(r"[áéíóú][ns]$", palabra):
        formas.add(palabra.translate(sin_tilde) + "es")
    if palabra.endswith("z"):
        formas.add(palabra[:-1] + "ces")
    if palabra.endswith("en"):
        formas.add("á".join(palabra.rsplit("a", 1)) + "es" if "a" in palabra else palabra)
    return "(?:" + "|".join(sorted(map(re.escape, formas), key=len, reverse=True)) + ")"


def patron_del_glosario(terminos: list[str]) -> re.Pattern[str]:
    """Una expresión con todos los términos, los más largos primero; el grupo i es el término i."""
    ordenados = sorted(terminos, key=len, reverse=True)
    cuerpos = [r"(\b" + r"\s+".join(_formas(p) for p in t.split()) + r"(?!\w))" for t in ordenados]
    patron = re.compile("|".join(cuerpos), re.I)
    patron_terminos[patron.pattern] = ordenados
    return patron


patron_terminos: dict[str, list[str]] = {}


def _termino(hallado: re.Match[str]) -> str:
    return patron_terminos[hallado.re.pattern][hallado.lastindex - 1]


def faltas_de_glosario(doc: Documento, terminos: list[str]) -> list[str]:
    """Términos cuya primera aparición en la prosa no enlaza con el glosario."""
    patron = patron_del_glosario(terminos)
    canon = {t.lower(): t for t in terminos}
    enlazados: set[str] = set()
    usados: set[str] = set()
    faltas: dict[str, str] = {}
    entrada = next(
        (x for x in doc.prosa(titulos=False, opciones=False)), None
    )  # sale en la descripción de la página
    for linea in doc.prosa(titulos=False, opciones=False):
        if linea is entrada:
            continue
        if linea.directiva is not None and linea.directiva.dentro_de(
            "objetivos", "repaso", "glossary"
        ):
            continue
        trozos = re.split(r"(\{term\}`[^`]*`)", sin_citas(linea.texto))
        for trozo in trozos:
            rol = re.fullmatch(r"\{term\}`(?:([^`<]*)<)?([^`>]*)>?`", trozo)
            if rol:
                clave = rol[2].strip()
                if clave.lower() not in canon:
                    faltas[clave] = f"línea {linea.numero}: «{clave}» no está en el glosario"
                enlazados.add(canon.get(clave.lower(), clave))
                continue
            for hallado in patron.finditer(limpia(trozo)):
                termino = _termino(hallado)
                usados.add(termino)
                if termino not in enlazados and termino not in CORRIENTES:
                    faltas.setdefault(
                        termino, f"línea {linea.numero}: «{hallado[0]}» no enlaza con el glosario"
                    )
    sin_enlace = sorted((usados & CON_ALGUN_ENLACE) - enlazados)
    return list(faltas.values()) + [
        f"«{t}» se usa y no se enlaza nunca con el glosario" for t in sin_enlace
    ]


# --- pruebas --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ruta", [*paginas(), *sorted(RAIZ.glob("*.md"))], ids=relativa)
def test_prosa(ruta: Path) -> None:
    faltas = []
    for numero, texto in recorre(lee(ruta)):
        for regla in (faltas_de_frases, faltas_de_signos):
            faltas += [f"{relativa(ruta)}:{numero}: {x}" for x in regla(texto)]
    assert not faltas, informe(faltas)


@pytest.mark.parametrize(
    "ruta", [p for p in paginas() if p.name not in EXENTAS_DE_NUMEROS], ids=relativa
)
def test_numeros_del_texto(ruta: Path) -> None:
    faltas = [
        f"{relativa(ruta)}:{n}: {x}"
        for n, texto in recorre(lee(ruta))
        for x in faltas_de_numeros(texto)
    ]
    assert not faltas, informe(faltas)


@pytest.mark.parametrize("ruta", paginas(), ids=relativa)
def test_un_simbolo_por_objeto(ruta: Path) -> None:
    faltas = [f"{relativa(ruta)}: {x}" for x in faltas_de_simbolos(lee(ruta), numero_de(ruta))]
    assert not faltas, informe(faltas)


def test_los_simbolos_estan_en_notacion() -> None:
    texto = (LIBRO / "0-preliminares/notacion.md").read_text(encoding="utf-8")
    tabla = texto[texto.index("(notacion-simbolos)=") : texto.index("(notacion-colores)=")]
    for simbolo in (
        "e_{ij}",
        r"\alpha_{ij}",
        "$A$",
        "$n$",
        "$m$",
        "$h$",
        r"$\sigma$",
        "d_a",
        "W^Q",
        "W^O",
    ):
        assert simbolo in tabla, f"«Notación» no dice qué es {simbolo}"
    assert "punto decimal" in texto


def test_caza_simbolos() -> None:
    def caza(tex: str, capitulo: int = 4) -> list[str]:
        return faltas_de_simbolos(analiza(f"# T\n\nSea ${tex}$ así.\n\n$$\n{tex}\n$$\n"), capitulo)

    for mal in (
        r"\omega_i",
        "a_{ij}",
        "w_{ij} x",
        "s_{ij}",
        r"e^{-d/2h^2}",
        r"\q\cdot\k/h^2",
        r"u\cdot\tanh(x)",
        r"w^\T\tanh(x)",
    ):
        assert len(caza(mal)) == 2, mal
    for bien in (
        r"\alpha_{ij}",
        "e_{ij}",
        r"2\sigma^2",
        r"v^\T\tanh(x)",
        "h_{ij}",
        "A_{ij}",
        r"d/h",
    ):
        assert not caza(bien), bien
    assert not caza(r"\omega_i", 8)


def test_prosa_del_codigo() -> None:
    faltas = [
        f"{relativa(ruta)}:{n}: {x}"
        for ruta in ficheros_de_codigo()
        for n, texto in textos_de_codigo(ruta.read_text(encoding="utf-8"))
        for x in faltas_de_frases(texto)
    ]
    assert not faltas, informe(faltas)


@pytest.mark.parametrize("ruta", capitulos(), ids=lambda r: r.stem)
def test_enlaces_al_glosario(ruta: Path) -> None:
    terminos = terminos_del_glosario((LIBRO / "apendices/glosario.md").read_text(encoding="utf-8"))
    faltas = [f"{relativa(ruta)}: {x}" for x in faltas_de_glosario(lee(ruta), terminos)]
    assert not faltas, informe(faltas)


def test_listas_de_exentas() -> None:
    terminos = set(
        terminos_del_glosario((LIBRO / "apendices/glosario.md").read_text(encoding="utf-8"))
    )
    assert CON_ALGUN_ENLACE <= CORRIENTES
    assert not CORRIENTES - terminos, (
        f"exentas que no están en el glosario: {sorted(CORRIENTES - terminos)}"
    )


@pytest.mark.parametrize(
    "mal",
    [
        "La atención juega un papel crucial.",
        "Es importante destacar que vale.",
        "Esto ha revolucionado el campo.",
        "No es solo una suma, sino una idea.",
        "Un método sofisticado.",
        "En resumen, vale.",
        "Exploraremos el caso.",
        "Como hemos visto anteriormente, vale.",
        "Sumérgete en la red.",
        "Desbloquea el potencial de la red.",
        "Se hace de manera elegante.",
        "Emprendemos un viaje por la red.",
        "Cabe mencionar otro caso.",
        "Usa la librería.",
        "El producto punto crece.",
        "Un modelo autoregresivo.",
        "Ya veis que vale: mirad, sabéis.",
        "Vosotros lo hacéis.",
        "Vos sabés.",
        "El puntaje baja.",
        "¿Qué tan distintas son?",
        "Una tarjeta gráfica.",
    ],
)
def test_caza_frases(mal: str) -> None:
    assert faltas_de_frases(mal)
    assert not faltas_de_frases(f"Suele leerse «{mal}», y no es cierto.")


def test_caza_signos_y_numeros() -> None:
    assert faltas_de_signos("Una “cita” así") and faltas_de_signos('Una "cita" así')
    assert faltas_de_signos("vale 3,5") and faltas_de_signos("hay 30000 palabras")
    assert not faltas_de_signos("«dice “así” y se va»")
    assert not faltas_de_signos("vale 3.5, 4 y 1000; hay 30\u202f000; y 2, 3; «así»")
    assert faltas_de_numeros("baja a 0.45 al final.") and faltas_de_numeros("vale 2.1")
    assert not faltas_de_numeros("Python 3.11, torch 2.13.0, el ejercicio 4.2, dimensión 3.")
    assert not faltas_de_numeros(
        limpia("vale $0.5$ o `0.5` o {glue:text}`c04-x` según {cite}`a2017`.")
    )


def test_caza_glosario() -> None:
    terminos = [
        "atención cruzada",
        "matriz de puntuaciones",
        "codificador",
        "codificación sinusoidal",
        "valor",
    ]

    def caza(texto: str) -> list[str]:
        return faltas_de_glosario(
            analiza("# Título\n\nEntrada: el codificador.\n\n" + texto), terminos
        )

    assert caza("El codificador lee.\n") and caza("Los codificadores leen.\n")
    assert caza("Dos codificaciones sinusoidales.\n") and caza("Las matrices de puntuaciones.\n")
    assert not caza("El {term}`codificador` ({en}`encoder`) lee. Otro codificador.\n")
    assert not caza("Los {term}`codificadores <codificador>` leen.\n")
    assert caza("Otro codificador.\n\nEl {term}`codificador` lee.\n")
    assert not caza(
        "## El codificador\n\n```{code-cell} python\ncodificador = 1\n```\n\n`codificador`.\n"
    )
    assert caza("El valor entra.\n") and not caza("El valor entra. Un {term}`valor`.\n")
    assert caza("Un {term}`inventado`.\n")
