"""Construir: lo que falla no se lleva por delante el libro que había, y dice por qué."""

import sys
from pathlib import Path

import pytest
from rich.console import Console

import construir
from construir import avisos_de, indice_de_una, limpia_lo_anterior, orden_de_sphinx, publica
from paginas.capitulos import LIBRO, Capitulo
from paginas.ejecutar import CapituloRoto
from paginas.fallos import Fallo


@pytest.fixture
def taller(tmp_path, monkeypatch):
    """Carpetas de construcción de juguete con un libro ya hecho."""
    for nombre, ruta in {
        "CONSTRUIDO": "",
        "HTML": "html",
        "OBRA": ".obra",
        "ESTADO": ".estado",
        "SELLO": ".sello",
    }.items():
        monkeypatch.setattr(construir, nombre, tmp_path / ruta)
    monkeypatch.setattr(construir, "PAGINAS_SUELTAS", tmp_path / ".paginas")
    monkeypatch.setattr(construir, "tira_caches_viejas", lambda: None)
    monkeypatch.setattr(construir, "escribe_apendices", lambda: [])
    monkeypatch.setattr(construir, "ejecuta_pendientes", lambda lista, consola: [])
    monkeypatch.setattr(construir, "incumplidas_de", lambda lista: {})
    monkeypatch.setattr(construir, "sello", lambda: "de ahora")
    (tmp_path / "html").mkdir()
    (tmp_path / "html" / "index.html").write_text("viejo")
    return tmp_path


@pytest.fixture
def consola():
    """Una consola que guarda lo que dice."""
    return Console(record=True, width=300, file=open("/dev/null", "w"))  # noqa: SIM115


def finge_sphinx(monkeypatch, codigo, dicho="", hace=None):
    """Pone en lugar de Sphinx algo que escribe una página, o no."""
    llamadas = []

    def sphinx(orden, registro, consola, **entorno):
        llamadas.append((orden, entorno))
        if hace:
            salida = Path(orden[orden.index("--path-output") + 1]) / "_build" / "html"
            (salida / hace).parent.mkdir(parents=True, exist_ok=True)
            (salida / hace).write_text("nuevo")
        return codigo, dicho

    monkeypatch.setattr(construir, "sphinx", sphinx)
    monkeypatch.setattr(construir, "cuadernos", lambda salida: llamadas.append(salida))
    return llamadas


def test_el_libro_nuevo_sustituye_al_viejo(taller, consola, monkeypatch):
    llamadas = finge_sphinx(monkeypatch, 0, hace="index.html")
    portada, estado = [], taller / ".estado"
    monkeypatch.setattr(construir, "apunta", lambda *a: portada.append((*a, estado.read_text())))
    monkeypatch.setattr(construir, "escribe_apendices", lambda: [LIBRO / "apendices/api.md"])
    construir.libro_entero(None, consola)
    assert (taller / "html" / "index.html").read_text() == "nuevo"
    dicho = consola.export_text()
    assert not estado.exists() and f"El libro está en {taller / 'html' / 'index.html'}" in dicho
    assert "make ver" in dicho and "Al día: apendices/api.md" in dicho
    assert "nada que ejecutar" in dicho
    # Mientras no está entero, lo dice el estado: si se corta aquí, se rehace.
    direccion = construir.Libro().sitio
    assert portada == [(taller / "html", taller / "llevar", direccion, "en curso")]
    assert llamadas[1] == taller / ".obra" / "_build" / "html" / "cuadernos"
    assert sorted(p.name for p in taller.iterdir()) == [
        ".obra",
        ".paginas.pickle",
        ".sello",
        "html",
    ]


@pytest.mark.parametrize(("codigo", "hace"), [(1, "index.html"), (0, None)])
def test_con_avisos_queda_el_libro_de_antes(taller, consola, monkeypatch, codigo, hace):
    finge_sphinx(monkeypatch, codigo, "bien\nx.md:3: WARNING: falta «a» [myst.x]\n", hace)
    with pytest.raises(SystemExit, match="1 avisos.*El libro de antes sigue"):
        construir.libro_entero(None, consola)
    assert (taller / "html" / "index.html").read_text() == "viejo"
    # Lo que va entre corchetes es del aviso, no una orden para la consola.
    assert (
        "falta «a» [myst.x]" in consola.export_text()
        and (taller / ".estado").read_text() == "avisos"
    )


def test_si_faltan_cuadernos_queda_el_libro_de_antes(taller, consola, monkeypatch):
    vistas = []

    def exporta(lista, libro, salida, memoria):
        vistas.append((salida, memoria.da("a", lambda: len(vistas))))
        return 1, ["04: no hay valor"] * (len(vistas) == 1)

    monkeypatch.setattr(construir, "exporta", exporta)
    with pytest.raises(SystemExit, match="faltan cuadernos.\n04: no hay valor"):
        construir.cuadernos(taller / "x")
    assert construir.cuadernos(taller / "x") is None
    assert vistas == [(taller / "x", 0)] * 2  # lo que salió, salió: no se hace otra vez


@pytest.mark.parametrize(
    ("estado", "dice"), [("en curso", "se interrumpió"), ("avisos", "terminó con avisos")]
)
def test_se_distingue_lo_interrumpido_de_lo_que_tuvo_avisos(taller, consola, estado, dice):
    (taller / ".estado").write_text(estado)
    (taller / ".obra").mkdir()
    limpia_lo_anterior(consola)
    assert dice in consola.export_text() and not (taller / ".obra").exists()
    assert (taller / "html" / "index.html").exists()


def test_sin_nada_pendiente_se_aprovecha_la_obra(taller, consola):
    (taller / ".obra").mkdir()
    limpia_lo_anterior(consola)
    assert consola.export_text() == "" and (taller / ".obra").exists()


def test_se_recupera_si_se_corto_al_cambiar_uno_por_otro(taller, consola):
    (taller / "html").rename(taller / "html.anterior")
    (taller / "html.nuevo").mkdir()
    limpia_lo_anterior(consola)
    assert (taller / "html" / "index.html").read_text() == "viejo" and len(
        list(taller.iterdir())
    ) == 1


def test_publicar_conserva_las_fechas_y_no_deja_restos(tmp_path):
    (tmp_path / "obra").mkdir()
    (tmp_path / "obra" / "a").write_text("a")
    for _ in range(2):
        publica(tmp_path / "obra", tmp_path / "html")
    assert (tmp_path / "html" / "a").stat().st_mtime == (tmp_path / "obra" / "a").stat().st_mtime
    assert sorted(p.name for p in tmp_path.iterdir()) == ["html", "obra"]


def test_lo_que_se_publica_va_aligerado_y_con_sus_avances(tmp_path):
    """Y lo construido queda como estaba: Sphinx lo compara la próxima vez."""
    obra, html = tmp_path / "obra", tmp_path / "html"
    (obra / "_static").mkdir(parents=True)
    hoja = ".a{x:1}.sobra{x:2}"
    enlace = '<a class="reference internal" href="dos.html#teo">T</a>'
    una = f'<html><body><article><p class="a">{enlace}</p></article></body></html>'
    dos = '<body><div class="proof theorem" id="teo"><p>Enunciado.</p></div></body>'
    for nombre, texto in {"_static/h.css": hoja, "una.html": una, "dos.html": dos}.items():
        (obra / nombre).write_text(texto, "utf-8")
    publica(obra, html)
    assert (html / "_static/h.css").read_text("utf-8") == ".a{x:1}"
    publicada = (html / "una.html").read_text("utf-8")
    assert 'id="avances">{"dos.html#teo"' in publicada and "Enunciado." in publicada
    assert (html / "dos.html").read_text("utf-8") == dos
    assert (obra / "_static/h.css").read_text("utf-8") == hoja
    assert (obra / "una.html").read_text("utf-8") == una


def test_se_publica_aligerado_y_con_avances_antes_de_quitar_el_de_antes(taller, monkeypatch):
    hechos = []

    def apunta(que):
        def hace(carpeta, memoria):
            hechos.append((que, carpeta, (taller / "html" / "index.html").read_text()))

        return hace

    for que in ("aligera", "pon_avances"):
        monkeypatch.setattr(construir, que, apunta(que))
    (taller / ".obra").mkdir()
    (taller / ".obra" / "index.html").write_text("nuevo")
    publica(taller / ".obra", taller / "html")
    nuevo = taller / "html.nuevo"
    assert hechos == [("aligera", nuevo, "viejo"), ("pon_avances", nuevo, "viejo")]
    assert (taller / "html" / "index.html").read_text() == "nuevo"


def test_sin_cambios_no_se_llama_a_sphinx(taller, consola, monkeypatch):
    llamadas = finge_sphinx(monkeypatch, 0, hace="index.html")
    construir.libro_entero(None, consola)
    hechas = len(llamadas)
    construir.libro_entero(None, consola)
    assert len(llamadas) == hechas > 0 and not (taller / ".estado").exists()
    assert "Nada ha cambiado en las páginas" in consola.export_text()
    monkeypatch.setattr(construir, "sello", lambda: "de después")
    construir.libro_entero(None, consola)
    assert len(llamadas) == 2 * hechas


def test_si_algo_no_sale_la_siguiente_se_hace_entera(taller, consola, monkeypatch):
    """Con avisos, o con una celda que falla, no queda sello que diga que el libro está al día."""
    finge_sphinx(monkeypatch, 0, hace="index.html")
    construir.libro_entero(None, consola)
    assert (taller / ".sello").read_text() == "de ahora"
    monkeypatch.setattr(construir, "sello", lambda: "de después")
    finge_sphinx(monkeypatch, 1, "x.md: WARNING: uno", "index.html")
    with pytest.raises(SystemExit, match="1 avisos"):
        construir.libro_entero(None, consola)
    assert not (taller / ".sello").exists()


def test_el_sello_cambia_con_lo_escrito_lo_ejecutado_el_entorno_y_el_sitio(tmp_path, monkeypatch):
    for ruta in ("book/a.md", "book/_build/x", "code/b.py", "c/executed/1/base.ipynb"):
        (tmp_path / ruta).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / ruta).write_text("uno")
    sitio = tmp_path / "book" / "_build" / "html"
    for ruta in ("intro.html", "dos.html", "llevar/libro.pdf"):
        (sitio / ruta).parent.mkdir(parents=True, exist_ok=True)
        (sitio / ruta).write_text("uno")
    capitulo = type("C", (), {"carpeta_de_cache": tmp_path / "c"})
    for nombre, valor in {
        "RAIZ": tmp_path,
        "HTML": sitio,
        "capitulos": lambda: [capitulo],
        "commit_publicado": lambda carpeta: "",
    }.items():
        monkeypatch.setattr(construir, nombre, valor)
    vistos = [construir.sello()]
    for ruta in (
        "book/_build/x",
        "book/_build/html/intro.html",
        "book/_build/html/llevar/libro.pdf",
    ):
        (tmp_path / ruta).write_text("otra cosa")
        assert construir.sello() == vistos[0], ruta
    for ruta in (
        "book/a.md",
        "code/b.py",
        "code/nuevo.py",
        "c/executed/1/base.ipynb",
        "book/_build/html/dos.html",
    ):
        (tmp_path / ruta).write_text("otra cosa")
        vistos.append(construir.sello())
    (sitio / "dos.html").unlink()
    vistos.append(construir.sello())
    monkeypatch.setenv("LIBRO_DIRECCION", "https://p.org")
    vistos.append(construir.sello())
    assert len(set(vistos)) == len(vistos) == 8


def test_cada_construccion_quita_las_caches_viejas(taller, consola, monkeypatch):
    veces = []
    monkeypatch.setattr(construir, "tira_caches_viejas", lambda: veces.append(1))
    finge_sphinx(monkeypatch, 0, hace="index.html")
    construir.libro_entero(None, consola)
    assert veces == [1]


def test_los_avisos_son_errores_salvo_en_una_pagina_suelta():
    entero, suelta = orden_de_sphinx(Path("a")), orden_de_sphinx(Path("a"), indice=Path("b"))
    assert "-W" in entero and "-n" in entero and "--keep-going" in entero and "--toc" not in entero
    assert "-W" not in suelta and suelta[-2:] == ["--toc", "b"]


def test_se_ensena_lo_que_hay_que_leer():
    registro = (
        "leyendo\n\x1b[31mx.md:3: WARNING: a\x1b[0m\nValueError: b\nExtension error\nexception:"
        " c\nhecho"
    )
    assert avisos_de(registro) == ["x.md:3: WARNING: a", "ValueError: b", "exception: c"]


def test_sphinx_devuelve_su_estado_y_lo_que_dijo(tmp_path, consola):
    programa = "import os, sys; print(os.environ['PYTHONUTF8'], os.environ['X']); sys.exit(3)"
    codigo, dicho = construir.sphinx(
        [sys.executable, "-c", programa], tmp_path / "a" / "b.log", consola, X="y"
    )
    assert (codigo, dicho.strip()) == (3, "1 y")


FALLO = Fallo("03-x.md", 7, 12, 120, "assert x[red] == 1", "AssertionError")


def falla(lista, consola):
    raise CapituloRoto("03: plantada", [FALLO])


def test_una_celda_que_falla_no_deja_sin_libro(taller, consola, monkeypatch):
    """El libro se publica, y al final se dice dónde y la orden acaba mal."""
    monkeypatch.setattr(construir, "ejecuta_pendientes", falla)
    monkeypatch.setattr(construir, "apunta", lambda *a: None)
    finge_sphinx(monkeypatch, 0, hace="index.html")
    with pytest.raises(SystemExit, match="^Hay 1 páginas con una celda que falla"):
        construir.libro_entero(None, consola)
    assert (taller / "html" / "index.html").read_text() == "nuevo"
    assert not (taller / ".estado").exists()
    _, dicho = consola.export_text().split("Para leerlo")
    assert "03-x.md:120 (celda 7)\n    assert x[red] == 1\n    AssertionError\n" in dicho


def test_una_pagina_suelta_que_falla_se_hace_igual(taller, consola, monkeypatch):
    monkeypatch.setattr(construir, "ejecuta_pendientes", falla)
    documento = CUATRO.ruta.relative_to(LIBRO).with_suffix(".html").as_posix()
    finge_sphinx(monkeypatch, 0, hace=documento)
    with pytest.raises(SystemExit, match="celda que falla"):
        construir.pagina_suelta(CUATRO, consola)
    dicho = consola.export_text()
    assert dicho.index("La página está en") < dicho.index("03-x.md:120")


@pytest.mark.parametrize(("estricto", "acaba_mal"), [("1", True), ("0", False)])
def test_lo_que_no_se_cumple_aqui_se_cuenta_al_final(
    taller, consola, monkeypatch, estricto, acaba_mal
):
    frases = {"14-x": ["Acierta más del 99 % [red]", "y > 1"]}
    monkeypatch.setattr(construir, "incumplidas_de", lambda lista: frases)
    monkeypatch.setattr(construir, "apunta", lambda *a: None)
    monkeypatch.setenv("ATENTO_ESTRICTO", estricto)
    finge_sphinx(monkeypatch, 0, hace="index.html")
    if acaba_mal:
        with pytest.raises(SystemExit, match="aquí se exige"):
            construir.libro_entero(None, consola)
    else:
        construir.libro_entero(None, consola)
    _, dicho = consola.export_text().split("Para leerlo")
    assert "  14-x: Acierta más del 99 % [red]\n  14-x: y > 1\n" in dicho
    assert (taller / "html" / "index.html").read_text() == "nuevo"


def test_los_cuadernos_de_nbval_se_aprovechan(taller, consola, monkeypatch):
    finge_sphinx(monkeypatch, 0, hace="index.html")
    vistas = []
    monkeypatch.setattr(construir, "vuelca", lambda carpeta, consola: vistas.append(carpeta))
    construir.libro_entero(Path("hechos"), consola)
    assert vistas == [Path("hechos")]


def test_sin_sitio_en_el_disco_no_se_empieza(monkeypatch):
    for libres, falla in ((299, True), (300, False)):
        monkeypatch.setattr(
            "construir.shutil.disk_usage", lambda ruta, n=libres: type("U", (), {"free": n * 2**20})
        )
        if falla:
            with pytest.raises(SystemExit, match="Quedan 299 MiB"):
                construir.comprueba_espacio()
        else:
            construir.comprueba_espacio()


def test_de_una_pagina_suelta_solo_se_ensenan_sus_avisos():
    """Lo que está en otra página no es un aviso; lo que no está en ninguna, sí."""
    falso = "a.md:17: WARNING: 'myst' cross-reference target not found: '{}' [myst.xref_missing]"
    otra = "a.md:18: WARNING: Unknown source document '{}' [myst.xref_missing]"
    suyos = [falso.format("no-existe"), otra.format("2-mecanismo/99-no"), "a.md: WARNING: x"]
    suyos.append(falso.format("err-r-999"))
    ajenos = [falso.format("refresco-formas"), otra.format("0-preliminares/00-refresco")]
    ajenos.append(falso.format("err-r-048"))  # el ancla de un error frecuente de otro capítulo
    assert construir.sin_los_del_resto([*ajenos, *suyos]) == suyos
    assert construir.sin_los_del_resto(ajenos) == []


CUATRO = Capitulo(next(LIBRO.glob("*/04-*.md")))


def test_una_pagina_suelta_se_construye_con_sus_avisos(taller, consola, monkeypatch):
    documento = CUATRO.ruta.relative_to(LIBRO).with_suffix("").as_posix()
    llamadas = finge_sphinx(
        monkeypatch,
        0,
        "a\nx.md: WARNING: uno [myst.x]\nx.md: WARNING: target not found: 'refresco-formas'\n",
        f"{documento}.html",
    )
    construir.pagina_suelta(CUATRO, consola)
    (orden, entorno), dicho = llamadas[0], consola.export_text()
    assert entorno == {"LIBRO_PAGINA_SUELTA": "1"} and "-W" not in orden
    assert (
        "WARNING: uno [myst.x]" in dicho
        and "1 avisos" in dicho
        and (taller / "html" / "index.html").read_text() == "viejo"
    )
    assert (
        indice_de_una(CUATRO)["root"] == documento and len(indice_de_una(CUATRO)["chapters"]) == 2
    )
    for codigo, hace in ((1, f"{documento}.html"), (0, None)):
        finge_sphinx(monkeypatch, codigo, "nada", hace)
        for hecha in (taller / ".paginas").rglob("*.html"):
            hecha.unlink()
        with pytest.raises(SystemExit, match="La página no se ha construido"):
            construir.pagina_suelta(CUATRO, consola)


def test_sin_avisos_se_ensena_el_final_del_registro(taller, consola, monkeypatch):
    """Si Sphinx acaba mal y no dice por qué, lo último que dijo: treinta líneas."""
    finge_sphinx(monkeypatch, 1, "\n".join(f"línea {n}" for n in range(40)))
    with pytest.raises(SystemExit, match="0 avisos"):
        construir.paginas(consola)
    esperado = [f"línea {n}" for n in range(10, 40)]
    assert consola.export_text().splitlines() == esperado
    with pytest.raises(SystemExit, match="La página no se ha construido"):
        construir.pagina_suelta(CUATRO, consola)
    assert consola.export_text().splitlines()[-30:] == esperado


def test_se_dice_lo_que_se_ha_ejecutado(taller, consola, monkeypatch):
    monkeypatch.setattr(construir, "ejecuta_pendientes", lambda lista, consola: lista)
    assert construir.ejecuta_y_sigue(["01-uno", "02-dos"], consola) == []
    assert consola.export_text() == "Ejecutados: 01-uno, 02-dos.\n"


def test_la_orden_elige_entre_el_libro_y_una_pagina(taller, monkeypatch):
    hechas = []
    monkeypatch.setattr(
        construir, "pagina_suelta", lambda capitulo, consola: hechas.append(capitulo.clave)
    )
    monkeypatch.setattr(
        construir, "libro_entero", lambda ejecutados, consola: hechas.append(ejecutados)
    )
    for argumentos in (["--capitulo", "4"], [], ["--ejecutados", "x"]):
        monkeypatch.setattr(sys, "argv", ["construir.py", *argumentos])
        construir.main()
    assert hechas == ["04", None, Path("x")]


@pytest.mark.parametrize("argumentos", [[], ["--capitulo", "4"]])
def test_la_orden_mira_el_disco_antes_de_nada(taller, monkeypatch, argumentos):
    def no_cabe():
        raise SystemExit("no cabe")

    hechas = []
    for nombre in ("pagina_suelta", "libro_entero"):
        monkeypatch.setattr(construir, nombre, lambda *a: hechas.append(a))
    monkeypatch.setattr(construir, "comprueba_espacio", no_cabe)
    monkeypatch.setattr(sys, "argv", ["construir.py", *argumentos])
    with pytest.raises(SystemExit, match="no cabe"):
        construir.main()
    assert not hechas


def test_la_ayuda_empieza_por_lo_que_hace(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["construir.py", "--help"])
    with pytest.raises(SystemExit) as salida:
        construir.main()
    ayuda = " ".join(capsys.readouterr().out.split())
    assert salida.value.code == 0 and construir.__doc__.splitlines()[0] in ayuda


def test_lo_que_dice_sphinx_se_guarda_aunque_no_haya_carpeta(tmp_path, consola, monkeypatch):
    dichos = []

    def corre(orden, plazo, *, stdout, env, **_):
        stdout.write(f"{orden[0]} {len(dichos)}")
        dichos.append((env["PYTHONUTF8"], env["OTRA"]))
        return 3

    monkeypatch.setattr(construir, "corre", corre)
    registro = tmp_path / "nueva" / "honda" / "x.log"
    for vez in range(2):  # la segunda, con la carpeta ya hecha
        assert construir.sphinx(["orden"], registro, consola, OTRA="sí") == (3, f"orden {vez}")
    assert dichos == [("1", "sí")] * 2


def test_a_medias_y_sin_obra_se_empieza_igual(taller, consola):
    (taller / ".estado").write_text("en curso")
    limpia_lo_anterior(consola)
    assert construir.QUE_PASO["en curso"][:20] in consola.export_text()
