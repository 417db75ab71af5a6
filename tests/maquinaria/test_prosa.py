"""De una página a su prosa: qué frases quedan, cómo se leen y cuándo cambia la fecha."""

import functools
import json
from types import SimpleNamespace

import pytest
from pybtex.database import Entry, Person, parse_string

from cuidar import prosa
from paginas.capitulos import capitulos

OBRAS = parse_string(
    "@misc{uno2015, author={Uno, Ana and Dos, Luz and Tres, Eva}, title={T}, year={2015}}\n"
    "@misc{par2016, author={Par, Ana and Dos, Luz}, title={T}, year={2016}}",
    "bibtex",
).entries


def parrafos(texto):
    return prosa.Lectora(OBRAS, {"c01-tasa": "0.50"}).parrafos(texto)


@pytest.mark.parametrize(
    "escrito, leido",
    [
        (
            "Una *frase* **entera** con [enlace](https://ejemplo.es).",
            "Una frase entera con enlace.",
        ),
        (
            "Un {term}`modelo` y otra {term}`palabra <término>`, la {en}`mask`.",
            "Un modelo y otra palabra, la mask.",
        ),
        ("Va en {ref}`la sección <c01-a>` de siempre.", "Va en la sección de siempre."),
        ("La mitad vale {glue:text}`c01-tasa` justo.", "La mitad vale 0.50 justo."),
        ("Lo midieron {cite:t}`par2016` de nuevo.", "Lo midieron Par y Dos (2016) de nuevo."),
        (
            "Ya se sabía {cite}`uno2015,par2016` de antes.",
            "Ya se sabía (Uno et al., 2015; Par y Dos, 2016) de antes.",
        ),
        ("Tres palabras justas.", "Tres palabras justas."),
        (
            "Con $n$ palabras hay $4$ letras y\notra línea.",
            "Con n palabras hay 4 letras y otra línea.",
        ),
        (
            "**1.** Se empieza por aquí ya.\n\n- b) Se sigue por allá.",
            "Se empieza por aquí ya.\nSe sigue por allá.",
        ),
        (
            "Esta se queda aquí. La de $x^2$ se va. Y esta vuelve otra vez.",
            "Esta se queda aquí. Y esta vuelve otra vez.",
        ),
    ],
)
def test_lo_que_se_lee(escrito, leido):
    assert "\n".join(parrafos(escrito)) == leido


@pytest.mark.parametrize(
    "escrito",
    [
        "Se llama a `torch.nn` y listo.",
        "La tasa de {glue:text}`c01-otra` sube.",
        "Como dice {eq}`c01-e` antes.",
        "Esto lo enseña {ref}`c01-a` luego.",
        "Lo que sigue es código:",
        "# Un título que acaba en punto.",
        "| Una celda de la tabla. | Otra |\n|---|---|\n| Esta frase no sale. | Tampoco |",
        "$$x = 1$$",
        "Dos palabras.",
        "```{code-cell} python\nprint('Esto no es una frase.')\n```",
        "```python\n# Un comentario de los largos.\n```",
        "```{math}\nx = 1.\n```",
        "% Un comentario de quien escribe.",
        "<!-- Una nota que no se ve. -->",
        "![Una figura de las grandes.](f.svg)",
        "(una-etiqueta-muy-larga)=",
        "Abre «unas comillas y no cierra.",
    ],
)
def test_lo_que_no_se_lee(escrito):
    assert parrafos(escrito) == []


def test_las_directivas_dejan_su_texto_y_el_glosario_sus_entradas():
    pagina = (
        "::::{repaso}\nPregunta la de fuera, ¿no?\n\n:::{respuesta}\nResponde la de dentro"
        " ahora.\n:::\n::::\n\n```{figura} fig-a\nEl pie se lee"
        " entero.\n```\n\n```{glossary}\nacarreo\n  {en}`carry`. En una suma, lo que pasa.\n\nRNN\n"
        "  {en}`RNN`. ReLU con vueltas.\n\nNPU\n  IA por dentro.\n```\n"
    )
    assert parrafos(pagina) == [
        "Pregunta la de fuera, ¿no?",
        "Responde la de dentro ahora.",
        "El pie se lee entero.",
        "Acarreo: en una suma, lo que pasa.",
        "RNN: ReLU con vueltas.",
        "NPU: IA por dentro.",
    ]


def test_un_termino_del_glosario_puede_ser_una_letra_o_empezar_por_ella():
    """Lo que hace de una línea un término es que no lleva sangría."""
    pagina = "```{glossary}\nuno\n  Lo primero de todo.\n\nQ\n  Una matriz más.\n\n"
    pagina += "a fondo\n  Con sus celdas delante.\n```\n"
    assert parrafos(pagina) == [
        "Uno: lo primero de todo.",
        "Q: una matriz más.",
        "A fondo: con sus celdas delante.",
    ]


def test_los_numeros_salen_de_las_referencias():
    (cuarto,) = [c for c in capitulos() if c.clave == "04"]
    numeros = prosa.numeros_de(cuarto)
    assert len(numeros) > 5 and all(clave.startswith("c04-") for clave in numeros)
    assert not any("'" in valor for valor in numeros.values())


def test_la_fecha_solo_cambia_con_el_texto(tmp_path):
    destino, hay = (
        tmp_path / "prosa.json",
        {"01": {"title": "Uno", "paragraphs": ["Una frase entera."]}},
    )
    assert prosa.escribe(prosa.instantanea(hay, "2026-01-01"), destino)
    antes = destino.read_bytes()
    assert (
        not prosa.escribe(prosa.instantanea(hay, "2026-02-02"), destino)
        and destino.read_bytes() == antes
    )
    hay["01"]["paragraphs"].append("Otra frase más.")
    assert prosa.escribe(prosa.instantanea(hay, "2026-02-02"), destino)
    guardado = json.loads(destino.read_text("utf8"))
    assert guardado["date"] == "2026-02-02" and guardado["digest"] != json.loads(antes)["digest"]


def test_lo_guardado_se_lee_y_se_compara_linea_a_linea(tmp_path):
    """Con tildes y una línea por párrafo: así se ve en la diferencia qué frase ha cambiado."""
    hay = {"01": {"title": "Años", "paragraphs": ["Una acción."]}}
    nueva = prosa.instantanea(hay, "2026-01-01")
    assert prosa.escribe(nueva, tmp_path / "prosa.json")
    texto = (tmp_path / "prosa.json").read_text("utf8")
    assert texto == json.dumps(nueva, ensure_ascii=False, indent=1) + "\n"
    assert '\n    "Una acción."\n' in texto


def test_quien_la_lee(tmp_path):
    from test_herramientas import capitulo

    (tmp_path / "b").mkdir()
    lee = capitulo(tmp_path, "from atento.tasks import prose")
    assert prosa.lectores([lee, capitulo(tmp_path / "b", "from atento import masks")]) == [lee]


def test_solo_dan_prosa_las_paginas_que_la_tienen_y_no_se_generan(tmp_path):
    larga = "# Título\n\n" + "\n\n".join(
        f"Esta es la frase de número {n} entera." for n in range(15)
    )
    textos = {"1-a/01-a": larga, "1-a/02-b": larga.rpartition("\n\n")[0]}
    textos["apendices/api/x"] = larga
    for nombre, texto in textos.items():
        (tmp_path / nombre).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{nombre}.md").write_text(texto, "utf8")
    lista = "".join(f"- file: {nombre}\n" for nombre in ("1-a/02-b", "falta", "apendices/api/x"))
    (tmp_path / "_toc.yml").write_text(f"root: 1-a/01-a\nchapters:\n{lista}", "utf8")
    (tmp_path / "references.bib").touch()
    (clave,) = hay = prosa.paginas(tmp_path)
    assert clave == "01" and hay["01"]["title"] == "Título"
    assert len(hay["01"]["paragraphs"]) == 15
    assert hay["01"]["paragraphs"][0] == "Esta es la frase de número 0 entera."
    sin_referencia = SimpleNamespace(referencia=tmp_path / "no.ipynb")
    assert prosa.numeros_de(sin_referencia) == {}


def test_una_obra_sin_autores_se_llama_por_su_titulo():
    def obra(*nombres, papel="author"):
        return Entry("misc", {"title": "{El} libro"}, {papel: [Person(n) for n in nombres]})

    assert prosa.autores(obra()) == "El libro"
    assert prosa.autores(obra("van Dyk, Ana")) == "van Dyk"
    assert prosa.autores(obra("Pérez, A", "{Gil}, B", papel="editor")) == "Pérez y Gil"
    assert prosa.autores(obra("Pérez, A", "Gil, B", "Ruiz, C")) == "Pérez et al."


@pytest.mark.parametrize("opciones", [[], ["--solo-texto"]])
def test_la_orden_guarda_la_prosa_y_repite_a_quien_la_lee(tmp_path, monkeypatch, capsys, opciones):
    from cuidar import referencias

    destino, rehechos = tmp_path / "prosa.json", []
    hay = {"01": {"title": "Uno", "paragraphs": ["Una frase entera.", "Y otra más."]}}
    lector = SimpleNamespace(clave="14")
    monkeypatch.setattr(prosa, "paginas", lambda: hay)
    monkeypatch.setattr(prosa, "escribe", functools.partial(prosa.escribe, destino=destino))
    monkeypatch.setattr(prosa, "capitulos", lambda: [lector])
    monkeypatch.setattr(prosa, "lectores", lambda lista: lista)
    monkeypatch.setattr(referencias, "rehace", lambda lista, consola: rehechos.extend(lista))
    monkeypatch.setattr("sys.argv", ["prosa.py", *opciones])
    prosa.main()
    dicho = " ".join(capsys.readouterr().out.split())
    assert "Guardadas 6 palabras de 1 páginas" in dicho and "La leen los capítulos 14" in dicho
    assert destino.exists() and rehechos == ([] if opciones else [lector])
    prosa.main()
    assert capsys.readouterr().out == "La prosa guardada es la del libro de ahora.\n"
    hay["01"]["paragraphs"].pop()
    monkeypatch.setattr(prosa, "lectores", lambda lista: [])
    prosa.main()
    assert "La leen" not in capsys.readouterr().out and len(rehechos) == (not opciones)
