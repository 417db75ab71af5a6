"""De las docstrings del paquete, que están en español corriente, a lo que entiende autodoc.

- ``Formas:``, ``Errores:`` o ``Fuente:`` al empezar una línea son campos, hasta la línea en blanco
  siguiente.
- ``Args:`` o ``Parámetros:`` solos en su línea empiezan una lista sangrada de parámetros.
- Un título subrayado («Atributos») empieza una lista de líneas ``nombre: descripción``.

Napoleon no sirve aquí: solo conoce los títulos en inglés y toma por un tipo lo que va antes de «:»
en un atributo.
"""

from __future__ import annotations

import re

CAMPO = re.compile(r"(Formas|Errores|Fuentes?|Coste|Devuelve|Unidades): (.*)")
BLOQUE = re.compile(
    r"(Args|Argumentos|Parámetros|Attributes|Atributos|Returns|Devuelve|Raises|Errores|Yields|Genera):"
)
PARAMETROS = {"Args", "Argumentos", "Parámetros"}
ROTULO = {"Returns": "Devuelve", "Raises": "Errores", "Yields": "Genera", "Attributes": "Atributos"}
ENTRADA = re.compile(r"\*{0,2}([\w`, .…]+?)(?: \([^)]*\))?: (.*)")


def convertir(lineas: list[str]) -> list[str]:
    """Las mismas líneas con campos y listas.

    >>> convertir(["Suma.", "Errores: ``TypeError`` si", "no es un tensor.", "Fuente: ec. 1."])
    ['Suma.', '', ':Errores: ``TypeError`` si', '    no es un tensor.', ':Fuente: ec. 1.']
    >>> convertir(["Args:", "    x: un tensor", "        de reales.", "    y: otro."])
    ['', ':param x: un tensor', '    de reales.', ':param y: otro.']
    """
    salida: list[str] = []
    modo, rotulo = "", ""  # modo: "campo", "lista", "bloque" o nada
    for numero, linea in enumerate(lineas):
        texto, sangria = linea.strip(), len(linea) - len(linea.lstrip())
        siguiente = lineas[numero + 1] if numero + 1 < len(lineas) else ""
        if modo == "lista" and re.fullmatch(r"-{3,}", texto):
            continue
        if texto and re.fullmatch(r"-{3,}", siguiente):
            salida += ["", f"**{texto}**", ""]
            modo = "lista"
            continue
        bloque, campo = BLOQUE.fullmatch(linea), CAMPO.fullmatch(linea)
        if bloque:
            modo, rotulo = "bloque", bloque[1]
            salida.append("")
        elif campo:
            if modo != "campo" and salida and salida[-1].strip():
                salida.append("")
            salida.append(f":{campo[1]}: {campo[2]}")
            modo = "campo"
        elif not texto:
            if modo != "bloque" or not siguiente.startswith(" "):
                modo = ""
            salida.append(linea)
        elif modo == "bloque" and sangria:
            salida.append(_de_bloque(rotulo, texto, sangria))
        elif modo == "lista" and not sangria and (entrada := ENTRADA.fullmatch(linea)):
            salida += [f"``{entrada[1]}``", f"    {entrada[2]}"]
        elif modo in ("campo", "lista"):
            salida.append("    " + texto)
        else:
            modo = ""
            salida.append(linea)
    return salida


def _de_bloque(rotulo: str, texto: str, sangria: int) -> str:
    """Una línea de un bloque sangrado: entrada nueva o continuación."""
    entrada = ENTRADA.fullmatch(texto)
    if sangria > 4 or not entrada and rotulo in PARAMETROS:
        return "    " + texto
    if rotulo in PARAMETROS:
        return f":param {entrada[1]}: {entrada[2]}"
    return f":{ROTULO.get(rotulo, rotulo)}: {texto}"


def _procesar(app, tipo, nombre, objeto, opciones, lineas: list[str]) -> None:
    lineas[:] = convertir(lineas)


def _arreglar_firma(app, tipo, nombre, objeto, opciones, firma: str | None, devuelto: str | None):
    """Sphinx 7.4 escribe ``Callable[..., X]`` como ``Callable[[...], X]``, que luego no sabe
    leer."""
    return tuple(texto and texto.replace("[[...], ", "[..., ") for texto in (firma, devuelto))


def setup(app) -> None:
    """Conecta la conversión."""
    app.connect("autodoc-process-signature", _arreglar_firma)
    app.connect("autodoc-process-docstring", _procesar)
