"""Empieza un capítulo: escribe los ficheros que hacen falta, con un ejercicio, y los apunta donde
toca.

``python tools nuevo 6 varias-cabezas 2-mecanismo "Varias cabezas"``

El primer capítulo de una parte añade también la parte al índice, con su ``--rotulo``. No toca nada
que ya exista. Lo escrito se construye con «make libro CAPITULO=6»; lo que falta para que el
capítulo pase las reglas de la casa lo dicen las pruebas de ``tests/reglas``.
"""

from __future__ import annotations

from procesos import principal

# isort: split
# Lo demás tarda en importarse, y Ctrl+C se atiende ya.
import argparse
import json
import re
from pathlib import Path
from string import Template

from paginas.apendices import escribe as escribe_apendices
from paginas.capitulos import RAIZ

CUADERNO = """\
# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
"""
PAGINA = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

(c$NN)=
# $titulo

PENDIENTE: una frase sin fórmulas, que sale en la descripción de la página.

```{objetivos}
:requisitos: PENDIENTE
- PENDIENTE
```

(c$NN-problema)=
## El problema

```{code-cell} python
from figuras import notebook

notebook.start(seed=0)
```

(c$NN-comprobacion)=
## Comprobación: a mano, con atento y con PyTorch

(c$NN-experimento)=
## Experimento: PENDIENTE

(c$NN-errores)=
## Errores frecuentes

(c$NN-recordar)=
## Lo que hay que recordar

(c$NN-ejercicios)=
## Ejercicios

```{exercise} El primero
:label: ej-$n-1
PENDIENTE: escribe `first(x)`, que recibe un tensor de forma `(n,)` y devuelve su doble.
```

(c$NN-saber-mas)=
## Para saber más
"""
ESQUELETO = (
    CUADERNO
    + """\
# # Capítulo $n. $titulo
#
# Los enunciados están en el capítulo.
# Se corrige con `atento calificar $n` (o `atento calificar $n.1`).

# %%
from torch import Tensor

# %% [markdown]
# ## $n.1 El primero


# %%
def first(x: Tensor) -> Tensor:
    \"\"\"El doble de ``x``, con su misma forma (n,).

    Enunciado: ejercicio $n.1 del capítulo.
    \"\"\"
    raise NotImplementedError("Ejercicio $n.1")
"""
)
SOLUCION = (
    CUADERNO
    + """\
# # Capítulo $n. $titulo: soluciones

# %%
from torch import Tensor

# %% [markdown]
# ## $n.1 El primero
#
# PENDIENTE: por qué es así.


# %%
def first(x: Tensor) -> Tensor:
    return 2 * x
"""
)
REGISTRO = """\
\"\"\"Capítulo $n: $titulo.\"\"\"

from __future__ import annotations

from typing import Any

from calificador.generadores import Borde, entero, normal
from calificador.registro import Caso, Ejercicio, Mutante


def _casos_primero(rng: Any) -> list[Caso]:
    return [Caso("valores", (normal(rng, entero(rng, 2, 9)),)) for _ in range(3)]


def _mutante(nombre: str, pista: str, cuerpo: str) -> Mutante:
    return Mutante(nombre, f"def first(x):\\n    return {cuerpo}\\n", pista)


PRIMERO = Ejercicio(
    id="$n.1",
    nombre="first",
    tipo="escribir",
    dificultad=1,
    minutos=5,
    aprende="PENDIENTE: qué se sabe hacer al terminar.",
    bordes=(Borde("valores", {0: 0}),),
    casos=_casos_primero,
    propiedades={"valores": 1},
    pistas=("PENDIENTE: la primera pista.", "PENDIENTE: la segunda."),
    mutantes=(
        _mutante("sin doblar", "Falta multiplicar por dos.", "x"),
        _mutante("triple", "Se multiplica por dos, no por tres.", "3 * x"),
        _mutante("cuadrado", "El doble no es el cuadrado.", "x * x"),
        _mutante("signo", "El signo se conserva.", "-2 * x"),
    ),
)

EJERCICIOS = [PRIMERO]
"""
VERDAD = """\
\"\"\"La verdad de los ejercicios del capítulo $n, por otro camino que el de sus soluciones.\"\"\"

from verdades.tabla import cerca, verdad


@verdad("$n.1")
def _(caso, valor, funcion):
    (x,) = caso.args
    return cerca(valor, x + x)
"""
BUENAS = """\
\"\"\"Respuestas buenas, escritas de otra manera. Cada celda es una entrega entera.\"\"\"

# %% $n.1 | la suma consigo
def first(x):
    return x + x

# %% $n.1 | una división
def first(x):
    return x / 0.5

# %% $n.1 | número por número
def first(x):
    return torch.stack([2 * value for value in x])
"""
MALAS = """\
\"\"\"Respuestas equivocadas que no salen del registro. Cada celda es una entrega entera.\"\"\"

# %% $n.1 | suma dos
def first(x):
    return x + 2

# %% $n.1 | la mitad
def first(x):
    return x / 2

# %% $n.1 | repite en lugar de doblar
def first(x):
    return torch.cat([x, x])

# %% $n.1 | solo el primero
def first(x):
    return torch.cat([2 * x[:1], x[1:]])

# %% $n.1 | sin signo
def first(x):
    return 2 * x.abs()
"""


def ficheros(numero: int, nombre: str, parte: str, titulo: str) -> dict[str, str]:
    """Los ficheros nuevos de un capítulo, por su ruta en el repositorio."""
    nn = f"{numero:02d}"
    plantillas = {
        f"book/{parte}/{nn}-{nombre}.md": PAGINA,
        f"exercises/cap{nn}.py": ESQUELETO,
        f"solutions/cap{nn}.py": SOLUCION,
        f"code/calificador/ejercicios/cap{nn}.py": REGISTRO,
        f"tests/calificador/verdades/cap{nn}.py": VERDAD,
        f"tests/calificador/respuestas/buenas/cap{nn}.py": BUENAS,
        f"tests/calificador/respuestas/malas/cap{nn}.py": MALAS,
    }
    return {
        ruta: Template(x).substitute(NN=nn, n=numero, titulo=titulo)
        for ruta, x in plantillas.items()
    }


def con_entrada(indice: str, parte: str, fichero: str, rotulo: str = "") -> str:
    """El ``_toc.yml`` con una línea más, en su parte y por orden; los comentarios se conservan.

    Si ninguna parte del índice tiene capítulos en esa carpeta, añade una, la de ``rotulo``.
    Errores: ``SystemExit`` si le falta el rótulo.
    """
    lineas = indice.splitlines(keepends=True)
    suyas = [i for i, x in enumerate(lineas) if re.match(rf"\s*- file: {re.escape(parte)}/", x)]
    if not suyas:
        return _con_parte(lineas, parte, fichero, rotulo)
    sangria = re.match(r"\s*", lineas[suyas[0]])[0]
    nueva = f"{sangria}- file: {parte}/{fichero}\n"
    lugar = next((i for i in suyas if lineas[i] > nueva), suyas[-1] + 1)
    return "".join([*lineas[:lugar], nueva, *lineas[lugar:]])


def _con_parte(lineas: list[str], parte: str, fichero: str, rotulo: str) -> str:
    """El índice con una parte nueva: delante de la primera que va después o que no lleva número."""
    if not rotulo.strip():
        raise SystemExit(
            f"book/_toc.yml no tiene ninguna página de {parte}/. Si es una parte nueva, repite la"
            ' orden con su nombre, como ROTULO="La familia"; si no, corrige PARTE.'
        )
    rotulos = [i for i, x in enumerate(lineas) if re.match(r"\s*- caption:", x)]
    paginas = {
        i: next((m[1] for x in lineas[i:] if (m := re.match(r"\s*- file: ([\w-]+)/", x))), "~")
        for i in rotulos
    }
    lugar = next((i for i in rotulos if paginas[i] > parte), len(lineas))
    sangria = re.match(r"\s*", lineas[rotulos[0]])[0] if rotulos else "  "
    nueva = (
        f"{sangria}- caption: {json.dumps(rotulo, ensure_ascii=False)}\n"
        f"{sangria}  chapters:\n{sangria}    - file: {parte}/{fichero}\n"
    )
    return "".join([*lineas[:lugar], nueva, *lineas[lugar:]])


def comprueba(numero: str, nombre: str, parte: str, titulo: str) -> int:
    """El número del capítulo, si lo que llega sirve; si no, lo dice y acaba."""
    if not re.fullmatch(r"[1-9]\d?", numero):
        raise SystemExit(f"N={numero!r}: se esperaba el número del capítulo, como N=6.")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", nombre):
        raise SystemExit(
            f"NOMBRE={nombre!r}: minúsculas sin tildes y guiones, como NOMBRE=varias-cabezas."
        )
    if not re.fullmatch(r"[1-9]-[a-z-]+", parte):
        raise SystemExit(f"PARTE={parte!r}: una carpeta de book/, como PARTE=2-mecanismo.")
    if not titulo.strip():
        raise SystemExit('TITULO está vacío: se esperaba el título, como TITULO="Varias cabezas".')
    return int(numero)


def crea(
    numero: int, nombre: str, parte: str, titulo: str, raiz: Path = RAIZ, rotulo: str = ""
) -> list[Path]:
    """Escribe lo nuevo y cambia el índice; devuelve los ficheros tocados."""
    nuevos = {raiz / ruta: texto for ruta, texto in ficheros(numero, nombre, parte, titulo).items()}
    hay = [*(p for p in nuevos if p.exists()), *raiz.glob(f"book/*/{numero:02d}-*.md")]
    if hay:
        raise SystemExit(f"Ya existe {hay[0].relative_to(raiz)}: no se toca nada.")
    indice = raiz / "book" / "_toc.yml"
    texto = con_entrada(indice.read_text(encoding="utf-8"), parte, f"{numero:02d}-{nombre}", rotulo)
    for ruta, contenido in nuevos.items():
        ruta.parent.mkdir(parents=True, exist_ok=True)
        ruta.write_text(contenido, encoding="utf-8")
    indice.write_text(texto, encoding="utf-8")
    return [*nuevos, indice, *escribe_apendices(raiz)]


def main() -> None:
    """Punto de entrada."""
    opciones = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for argumento in ("numero", "nombre", "parte", "titulo"):
        opciones.add_argument(argumento)
    opciones.add_argument("--rotulo", default="", help="el nombre de la parte, si es nueva")
    elegido = opciones.parse_args()
    numero = comprueba(elegido.numero, elegido.nombre, elegido.parte, elegido.titulo)
    nombre, parte, titulo, rotulo = elegido.nombre, elegido.parte, elegido.titulo, elegido.rotulo
    for ruta in crea(numero, nombre, parte, titulo, rotulo=rotulo):
        print(ruta.relative_to(RAIZ))
    print(
        f"\nAhora: make libro CAPITULO={numero}. Al acabarlo: make referencias CAPITULO={numero}, "
        f"make tiempos CAPITULO={numero} y las filas del capítulo en book/temario.yml."
    )


if __name__ == "__main__":
    principal(main)
