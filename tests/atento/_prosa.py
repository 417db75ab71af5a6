"""La prosa del libro, sin código ni fórmulas, como corpus de las pruebas."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from hypothesis import strategies as st
from libro.lector import analiza, limpia

LIBRO = Path(__file__).resolve().parents[2] / "book"
FUERA = {"_build", "_ext", "_static", "_templates", "apendices", "locale", "extra", "datos"}
LIMITE = 200_000  # caracteres: el libro crece y las pruebas no deben tardar más por eso


@cache
def prosa() -> tuple[str, ...]:
    """Un texto por página, hasta el límite."""
    rutas = sorted(p for p in LIBRO.rglob("*.md") if not FUERA & set(p.relative_to(LIBRO).parts))
    textos, total = [], 0
    for ruta in rutas:
        lineas = analiza(ruta.read_text(encoding="utf-8")).prosa()
        texto = "\n".join(limpia(linea.texto) for linea in lineas)[: LIMITE - total]
        textos.append(texto)
        total += len(texto)
    return tuple(textos)


CERCANO = "aábeéghimnñoóuü¿?¡!«»,.·—_#'’-0123½² \n\t\u00a0\u0301\u0303"
textos = st.one_of(
    st.text(max_size=60),
    st.text(CERCANO, max_size=60),
    st.lists(
        st.sampled_from(
            ["niño", "niña", "atención", "¿Qué?", "2017", "##ni", "▁a", "<pad>", "日本"]
        ),
        max_size=8,
    ).map(" ".join),
)
palabras = st.text("abñ", min_size=1, max_size=9)
corpus_pequenos = st.lists(
    st.text("abcñ ", min_size=1, max_size=25), min_size=1, max_size=5
).filter(lambda corpus: any(texto.strip() for texto in corpus))
