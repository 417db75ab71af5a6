"""Ochenta consultas como las escribe quien lee, con el primer resultado que tiene que salir.

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
    "residual": "10-el-bloque.html#la-conexion-residual",
    "tokenizador": "#term-tokenizador",
    "bpe": "#term-codificacion-por-pares-de-bytes",
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
    # Lo que tiene una sección con su nombre lleva a ella antes que al glosario.
    "rope": "09-posiciones-relativas-y-longitud.html#rope-girar",
    "qué es RoPE": "09-posiciones-relativas-y-longitud.html#rope-girar",
    "nucleus sampling": "13-generar.html#quitar-la-cola",
    "muestreo por núcleo": "13-generar.html#quitar-la-cola",
    "min-p": "13-generar.html#quitar-la-cola",
    "loss nan": "12-entrenarlo.html#diagnostico",
    "la pérdida es nan": "12-entrenarlo.html#diagnostico",
    "el modelo se repite": "13-generar.html#cuando-el-modelo-se-repite",
    "precisión mixta": "12-entrenarlo.html#precision-mixta",
    "mixed precision": "12-entrenarlo.html#precision-mixta",
    "suavizado de etiquetas": "12-entrenarlo.html#suavizado-de-etiquetas",
    "label smoothing": "12-entrenarlo.html#suavizado-de-etiquetas",
    "caché KV": "13-generar.html#la-cache-kv",
    "kv cache": "13-generar.html#la-cache-kv",
    "sesgo de exposición": "13-generar.html#el-sesgo-de-exposicion",
    "exposure bias": "13-generar.html#el-sesgo-de-exposicion",
    # Ejercicios, por su número.
    "ejercicio 4.7": "04-la-atencion-derivada.html#ej-4-7",
    "solución del ejercicio 5.3": "soluciones/cap05.html#",
    # Capítulos, por su número.
    "capitulo 7": "07-mascaras.html",
    "capítulo 12": "12-entrenarlo.html",
    "cap 7": "07-mascaras.html",
    "7": "07-mascaras.html",
    "tema 3": "03-traducir-con-redes-recurrentes.html",
    "soluciones del capitulo 7": "soluciones/cap07.html",
    # Plurales, verbos conjugados y preguntas enteras.
    "gradientes que explotan": "#term-gradiente-explosivo",
    "gradientes que desaparecen": "#term-gradiente-evanescente",
    "tokenizadores": "#term-tokenizador",
    "conexiones residuales": "#term-conexion-residual",
    "acumular gradientes": "12-entrenarlo.html#acumulacion-de-gradiente",
    "mapas de atención": "#term-mapa-de-atencion",
    "codificaciones posicionales": "#term-codificacion-posicional",
    "que es un transformer": "#term-Transformer",
    "por que hay que enmascarar el futuro": "#term-mascara-causal",
    "como funciona la atencion?": "04-la-atencion-derivada.html",
    "que diferencia hay entre autoatención y atención cruzada": "#la-atencion-cruzada",
    "vision transformer": "#term-Vision-Transformer",  # y detrás, el capítulo
    "swin transformer": "19-vit.html#ventanas-y-piramide-swin",
    "detr": "20-detectar-y-segmentar.html#detr-linea-a-linea",
    "detección de objetos": "#term-deteccion-de-objetos",  # y detrás, el capítulo
    "whisper": "21-oir.html#whisper-linea-a-linea",
    "separar voces": "21-oir.html#sepformer-separar-dos-voces",
    "clip": "22-varios-sentidos.html#clip-dos-torres",
    "modelos multimodales": "22-varios-sentidos.html",
    "flash attention": "23-eficiencia.html#flashattention-la-softmax-por-trozos",
    "mixture of experts": "23-eficiencia.html#mezcla-de-expertos",
    "tensor parallel": "26-escalar.html#megatron-por-dentro-de-cada-capa",
    "rank collapse": "24-por-que-funciona.html#el-colapso-de-rango",
    "activation patching": "25-mirar-dentro.html#parches-por-donde-viaja-la-llevada",
    "gender bias": "27-sociedad.html#medir-una-asociacion-weat-y-seat",
    "cuantos parametros tiene el transformer": "#los-parametros-uno-a-uno",
    "como se entrena un transformer": "12-entrenarlo.html#",
    "coste de la atencion": "04-la-atencion-derivada.html#lo-que-cuesta",
    "calentamiento de la tasa de aprendizaje": "12-entrenarlo.html#la-tasa-de-aprendizaje",
    "norma previa": "10-el-bloque.html#pre-ln-y-post-ln-antes-o-despues",
    "regularización": "#term-desactivacion-aleatoria",
    "inferencia rapida": "#term-cache-de-claves-y-valores",
    # Lo que no es del todo del libro: el artículo, las descargas, las páginas.
    "attention is all you need": "01-lo-que-cambio-en-2017.html",
    "vaswani": "01-lo-que-cambio-en-2017.html",
    "alibi": "09-posiciones-relativas-y-longitud.html#",
    "muestreo top p": "13-generar.html#quitar-la-cola",
    "generar texto": "13-generar.html",
    "rey hombre mujer reina": "02-tokens-y-vectores.html#experimento-rey",
    "descargar pdf": "intro.html#para-llevar",
    "epub": "intro.html#para-llevar",
    "como hago los ejercicios": "como-usar.html#resolver-y-corregir",
    "donde estan las soluciones": "apendices/soluciones.html",
    "glosario": "apendices/glosario.html",
    "instalar en windows": "como-usar.html#instalarlo",
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


def test_son_al_menos_ochenta():
    assert len(CONSULTAS) >= 80


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


NO_SE_LEE = {
    "una clave de cita": r"\b[a-z]{3,}(?:19|20)\d\d[a-z]?\b",
    "una etiqueta": r"\b(?:eq|fig|teo|alg|af)-c\d\d-\w",
    "una firma": r"\b\w+: (?:Float|Int|Bool|Tensor)\b",
    "TeX": r"\\(?:mathrm|mathbf|times|cdot|in|frac|R|T)\b",
}


@pytest.mark.parametrize("que", NO_SE_LEE)
def test_los_extractos_solo_traen_lo_que_se_lee_en_la_pagina(pestana, direccion, primeros, que):
    hallados = pestana.evaluate(
        "(p) => window.INDICE.flatMap(([url, , , texto]) => [...texto.matchAll(new RegExp(p, 'g'))]"
        ".map((m) => `${url}: ${m[0]}`))",
        NO_SE_LEE[que],
    )
    assert hallados == []


def test_la_cita_de_un_extracto_dice_de_quien_es(pestana, direccion, primeros):
    cuantas = pestana.evaluate(
        "() => window.INDICE.filter((entrada) => entrada[3].includes('(Vaswani, 2017')).length"
    )
    assert cuantas > 5
