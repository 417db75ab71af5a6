"""Cuarenta consultas como las escribe quien lee, con el primer resultado que tiene que salir.

Lo esperado se ha leído: es donde está la respuesta. Una sección se nombra por un trozo de su
dirección.
"""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.navegador

CONSULTAS = {
    # Términos del glosario, con otras palabras, en inglés, en plural y sin acentos.
    "gradiente que se desvanece": "#term-gradiente-evanescente",
    "vanishing gradient": "#term-gradiente-evanescente",
    "KL": "#term-divergencia-de-Kullback-Leibler",
    "divergencia kl": "#term-divergencia-de-Kullback-Leibler",
    "que es una mascara": "#term-mascara",
    "máscaras": "#term-mascara",
    "causal mask": "#term-mascara-causal",
    "padding": "#term-relleno",
    "cross entropy": "#term-entropia-cruzada",
    "self-attention": "#term-autoatencion",
    "multi-head attention": "#term-atencion-multicabeza",
    "mha": "#term-atencion-multicabeza",
    "beam search": "#term-busqueda-en-haz",
    "dropout": "#term-desactivacion-aleatoria",
    "word embeddings": "#term-embedding",
    "one hot": "#term-vector-one-hot",
    "llm": "#term-modelo-de-lenguaje",
    "bahdanau": "#term-atencion-aditiva",
    "luong": "#term-atencion-bilineal",
    "layer norm": "#term-normalizacion-de-capa",
    "residual": "#term-conexion-residual",
    "tokenizador": "#term-tokenizador",
    "bpe": "#term-codificacion-por-pares-de-bytes",
    "rope": "#term-codificacion-rotatoria",
    "kv cache": "#term-cache-de-claves-y-valores",
    "nadaraya watson": "#term-estimador-de-Nadaraya-Watson",
    "cuello de botella": "#term-cuello-de-botella",
    "lstm": "#term-LSTM",
    "complejidad cuadratica": "#term-complejidad-cuadratica",
    "encoder": "#term-codificador",
    # Secciones.
    "como instalar el libro": "como-usar.html#instalarlo",
    "abrir en colab": "como-usar.html#ejecutarlo",
    "cómo se corrigen los ejercicios": "como-usar.html#resolver-y-corregir",
    "descenso del gradiente": "refresco.html#un-bucle-de-entrenamiento",
    "svd": "refresco.html#traza-rango",
    "derivada de la softmax": "refresco.html#la-softmax-y-su-gradiente",
    "raiz de d_k": "04-la-atencion-derivada.html#",
    "consultas claves y valores": "05-consulta-clave-y-valor.html",
    "profesores": "guia-docente.html",
    "notas de los alumnos": "guia-docente.html#llevar-las-notas",
    # Ejercicios, por su número.
    "ejercicio 4.7": "04-la-atencion-derivada.html#ej-4-7",
    "solución del ejercicio 5.3": "soluciones/cap05.html#",
}


@pytest.fixture(scope="module")
def primeros(pestana, direccion) -> dict[str, list[str]]:
    """Las tres primeras direcciones de cada consulta."""
    pestana.goto(f"{direccion}/search.html", wait_until="load")
    return pestana.evaluate(
        "(todas) => Object.fromEntries(todas.map((c) => [c, window.buscarEnElLibro(c).slice(0,"
        " 3).map((f) => f.url)]))",
        list(CONSULTAS),
    )


def test_son_al_menos_cuarenta():
    assert len(CONSULTAS) >= 40


@pytest.mark.parametrize("consulta", CONSULTAS)
def test_lo_primero_es_lo_que_se_busca(primeros, consulta):
    hallados = primeros[consulta]
    esperado = CONSULTAS[consulta]
    acierta = hallados and (
        hallados[0].endswith(esperado) if esperado.startswith("#") else esperado in hallados[0]
    )
    assert acierta, hallados


@pytest.mark.parametrize("consulta", ["xilófono", "palabrainexistente otra"])
def test_lo_que_no_esta_no_sale(pestana, direccion, primeros, consulta):
    hallados = pestana.evaluate("(c) => window.buscarEnElLibro(c).map((f) => f.titulo)", consulta)
    assert len(hallados) == 0, hallados[:3]
