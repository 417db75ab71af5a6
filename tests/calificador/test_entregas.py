"""Leer lo que manda la gente: nada se ejecuta, nada se extrae, y lo raro se dice en una línea."""

from __future__ import annotations

import hashlib
import os
import stat
import time
import zipfile

import pytest
from ayudas import cuaderno, zip_de

from calificador.uso import entregas as modulo
from calificador.uso import piezas
from calificador.uso.entregas import decodifica, lee_carpeta, lee_ruta

BUENO = "def output_shape(a, b, c):\n    return (a, c)\n"


def por_id(carpeta, curso):
    return {e.id: e for e in lee_carpeta(carpeta, curso)}


def test_todas_las_disposiciones(tmp_path, curso):
    (tmp_path / "ana.py").write_text(BUENO)
    (tmp_path / "beto_cap91.py").write_text("x = 1")
    (tmp_path / "beto-cap92.py").write_text("x = 1")
    (tmp_path / "carla").mkdir()
    (tmp_path / "carla" / "sub").mkdir()
    (tmp_path / "carla" / "sub" / "cap91.py").write_text(BUENO)
    (tmp_path / "dora.zip").write_bytes(
        zip_de({"mis-ejercicios/cap91.py": BUENO, "__MACOSX/cap91.py": "mal"})
    )
    moodle = tmp_path / "Eva Luna_1234_assignsubmission_file_"
    moodle.mkdir()
    (moodle / "cap92.py").write_text("ORDER = []")
    (tmp_path / "Fe Sol_99_assignsubmission_file_cap91.py").write_text(BUENO)
    entregas = por_id(tmp_path, curso)
    assert {k: sorted(e.fuentes) for k, e in entregas.items()} == {
        "ana": [91], "beto": [91, 92], "carla": [91], "dora": [91], "1234": [92], "99": [91],
    }  # fmt: skip
    assert entregas["1234"].nombre == "Eva Luna" and not any(
        e.incidencias for e in entregas.values()
    )


def test_el_zip_que_descarga_moodle(tmp_path, curso):
    ruta = tmp_path / "tarea.zip"
    ruta.write_bytes(
        zip_de(
            {
                "Ana Paz_11_assignsubmission_file_/cap91.py": BUENO,
                "Leo_12_assignsubmission_file_cap91.py": BUENO,
            }
        )
    )
    assert sorted(e.id for e in lee_carpeta(ruta, curso)) == ["11", "12"]


@pytest.mark.parametrize(
    ("nombre", "datos", "trozo"),
    [
        ("a.py", b"", "está vacío"),
        ("a.py", "x = 'ñ'\n".encode("latin-1") + BUENO.encode(), "no está en UTF-8"),
        ("a.py", b"\x00\x01\x02", "no es un fichero de texto"),
        ("a.py", b"x = 1  # sin nada conocido\n", "no se sabe de qué capítulo es"),
        ("a.ipynb", b'{"cells": [', "el JSON está roto"),
        ("a.ipynb", b"[" * 100_000, "el JSON está roto"),
        ("a.ipynb", b'{"cells": 3}', "el JSON está roto"),
        ("a.zip", b"PK\x03\x04nada", "el zip está roto"),
        ("a.zip", zip_de({"../../fuera/cap91.py": BUENO}), "quiere salir de su carpeta"),
        ("a.zip", zip_de({"/etc/cap91.py": BUENO}), "quiere salir de su carpeta"),
        ("a.zip", zip_de({"C:\\cap91.py": BUENO}), "quiere salir de su carpeta"),
        ("a.zip", zip_de({"cap91.py": b"0" * (6 << 20)}), "demasiado al descomprimirse"),
        ("a.zip", zip_de({f"f{i}.py": "" for i in range(301)}), "más de 300 ficheros"),
        ("a.zip", zip_de({"foto.png": b"x"}), "no trae ningún .py ni .ipynb"),
        ("a.txt", b"hola", "no trae ningún .py ni .ipynb"),
        ("a.py", b"#" * (9 << 20), "ocupa más de"),
    ],
    ids=range(16),
)
def test_lo_raro_se_dice_y_se_sigue(tmp_path, curso, nombre, datos, trozo):
    (tmp_path / nombre).write_bytes(datos)
    (tmp_path / "z_cap91.py").write_text(BUENO)
    entregas = lee_carpeta(tmp_path, curso)
    raras = [i for e in entregas for i in e.incidencias]
    assert len(raras) == 1 and trozo in raras[0] and "\n" not in raras[0]
    assert {e.id: e for e in entregas}["z"].fuentes[91].texto == BUENO


def test_los_enlaces_no_se_siguen(tmp_path, curso):
    secreto = tmp_path / "secreto.py"
    secreto.write_text(BUENO)
    carpeta = tmp_path / "entregas"
    (carpeta / "ana").mkdir(parents=True)
    os.symlink(secreto, carpeta / "ana" / "cap91.py")
    os.symlink(tmp_path, carpeta / "ana" / "todo")
    os.symlink(secreto, carpeta / "beto.py")
    os.symlink("/", carpeta / "raiz")
    os.mkfifo(carpeta / "cola.py")
    info = zipfile.ZipInfo("cap91.py")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(carpeta / "carla.zip", "w") as archivo:
        archivo.writestr(info, str(secreto))
    entregas = por_id(carpeta, curso)
    assert not any(e.fuentes for e in entregas.values())
    dichas = [i for e in entregas.values() for i in e.incidencias]
    assert sum("enlace simbólico" in i for i in dichas) == 5 and any(
        "no es un fichero normal" in i for i in dichas
    )


def test_dos_con_el_mismo_identificador_quedan_los_dos(tmp_path, curso):
    (tmp_path / "ana.py").write_text(BUENO)
    (tmp_path / "ana.zip").write_bytes(zip_de({"cap91.py": BUENO}))
    entregas = por_id(tmp_path, curso)
    assert set(entregas) == {"ana", "ana (2)"} and all(e.duplicada for e in entregas.values())
    assert all(
        "dos entregas con el identificador ana" in e.incidencias[0] for e in entregas.values()
    )


def test_los_nombres_hostiles_llegan(tmp_path, curso):
    for nombre in ("=cmd()\n.py", "-x.py", "añó\x1b[2J.py", "@SUM.py"):
        (tmp_path / nombre).write_text(BUENO)
    (tmp_path / os.fsdecode(b"\xff\xfe.py")).write_text(BUENO)
    assert len([e for e in lee_carpeta(tmp_path, curso) if e.fuentes]) == 5


def test_de_un_cuaderno_se_toman_las_definiciones_sin_ejecutar_lo_demas(tmp_path, curso, corrector):
    (tmp_path / "05-cuaderno.ipynb").write_text(
        cuaderno(
            ("markdown", "def output_shape(): mal", ()),
            ("code", "%matplotlib inline\n!rm -rf /\nimport math\nFACTOR = 1", ()),
            ("code", "while True:\n    pass", ()),
            ("code", "esto no es python", ()),
            (
                "code",
                [
                    "def output_shape(a, b, c):\n",
                    "    return (a * FACTOR, suma(c))\n",
                    "raise SystemExit\n",
                ],
                (),
            ),
            ("code", "suma = sum_one(0)\ndef otra(): pass", ()),
            ("code", "tabla = [lambda c: c]\nfor f in tabla:\n    suma = f", ("ejercicio",)),
        )
    )
    entrega = lee_ruta(tmp_path, curso)
    assert list(entrega.fuentes) == [91], entrega
    resultado = corrector.califica(curso.ejercicios["91.3"], entrega.fuentes[91])
    assert resultado.estado == "superado", resultado


def test_un_error_en_un_cuaderno_dice_la_celda(tmp_path, curso, corrector):
    (tmp_path / "cap91.ipynb").write_text(
        cuaderno(("markdown", "x", ()), ("code", "import math\ndef output_shape(a:\n    pass", ()))
    )
    resultado = corrector.califica(curso.ejercicios["91.3"], lee_ruta(tmp_path, curso).fuentes[91])
    assert resultado.mensaje == "error de sintaxis en la celda 2, línea 2: «def output_shape(a:»"


@pytest.mark.parametrize(
    ("datos", "texto"),
    [
        ("ñ".encode(), "ñ"),
        ("\ufeffñ".encode(), "ñ"),
        ("# coding: latin-1\nñ".encode("latin-1"), "# coding: latin-1\nñ"),
        ("ñ".encode("utf-16"), "ñ"),
        ("ñ".encode("cp1252"), "ñ"),
    ],
    ids=range(5),
)
def test_codificaciones(datos, texto):
    assert decodifica(datos)[0].lstrip("\ufeff") == texto


# --- La descarga de Moodle y de quién es cada cosa ------------------------------------------------

ENVIO = "_assignsubmission_file_"


def clase_de_moodle(tmp_path, entradas):
    ruta = tmp_path / "Redes-Tarea 1-4567.zip"
    ruta.write_bytes(zip_de(entradas))
    return ruta


def test_el_zip_de_la_clase_trae_el_zip_de_cada_persona(tmp_path, curso):
    """Como lo hace Moodle: una carpeta por persona y, dentro, lo que subió."""
    ruta = clase_de_moodle(tmp_path, {
        f"Ana Paz_111{ENVIO}/entrega.zip": zip_de({"cap91.py": BUENO, "cap92.py": "ORDER = []"}),
        f"Ana Paz_112{ENVIO}/entrega.zip": zip_de({"mis-ejercicios/cap91.py": BUENO + "# otra"}),
        f"Eva Luna_113{ENVIO}/cap91.ipynb": cuaderno(("code", BUENO, ())),
        "Eva Luna_113_assignsubmission_onlinetext_/onlinetext.html": "hola",
        f"Leo Gil_114{ENVIO}/memoria.pdf": b"%PDF",
        f"Rosa Mar_115{ENVIO}/entrega.zip": b"PK nada",
    })  # fmt: skip
    leidas = por_id(ruta, curso)
    assert {k: (e.nombre, sorted(e.fuentes)) for k, e in leidas.items()} == {
        "111": ("Ana Paz", [91, 92]),
        "112": ("Ana Paz", [91]),
        "113": ("Eva Luna", [91]),
        "114": ("Leo Gil", []),
        "115": ("Rosa Mar", []),
    }
    assert leidas["112"].fuentes[91].texto.endswith("# otra")
    assert [e.incidencias for e in leidas.values()] == [
        [], [], [], ["la entrega no trae ningún .py ni .ipynb"],
        ["entrega.zip: el zip está roto o cifrado"],
    ]  # fmt: skip
    assert not any(e.duplicada for e in leidas.values())


def test_una_clase_de_mas_de_trescientos_ficheros(tmp_path, curso):
    entradas = {
        f"P {i}_{1000 + i}{ENVIO}/{n}": BUENO for i in range(200) for n in ("cap91.py", "notas.txt")
    }
    leidas = lee_carpeta(clase_de_moodle(tmp_path, entradas), curso)
    assert len(leidas) == 200 and all(list(e.fuentes) == [91] and not e.incidencias for e in leidas)


def test_lo_que_escribe_quien_entrega_no_identifica_a_nadie(tmp_path, curso):
    """Una carpeta con nombre de Moodle dentro de su zip, en las tres formas de recoger."""
    ajeno = zip_de({f"Ana Paz_111{ENVIO}/cap91.py": "def output_shape(a, b, c):\n    return 0\n"})
    clase = clase_de_moodle(tmp_path, {
        f"Ana Paz_111{ENVIO}/cap91.py": BUENO,
        f"Mala_999{ENVIO}/entrega.zip": ajeno,
        f"Peor_998{ENVIO}/Ana Paz_111{ENVIO}/cap92.py": "ORDER = []",
    })  # fmt: skip
    carpeta = tmp_path / "E"
    with zipfile.ZipFile(clase) as archivo:
        archivo.extractall(carpeta)
    (carpeta / "suelta.zip").write_bytes(ajeno)
    for ruta in (clase, carpeta):
        leidas = por_id(ruta, curso)
        assert leidas["111"].fuentes[91].texto == BUENO and list(leidas["111"].fuentes) == [91]
        assert leidas["999"].fuentes[91].texto != BUENO and list(leidas["998"].fuentes) == [92]
        assert not any(e.duplicada for e in leidas.values())
    assert list(por_id(carpeta, curso)["suelta"].fuentes) == [91]


@pytest.mark.parametrize("en_zip", [True, False])
def test_un_nombre_de_perfil_con_la_marca_de_moodle(tmp_path, curso, en_zip):
    """En carpetas vale la última marca; en un fichero suelto no se sabe, y no es de nadie
    conocido."""
    ficheros = {
        f"Ana_111{ENVIO}/cap91.py": BUENO,
        f"Eva_111_assignsubmission_file_222{ENVIO}/cap91.py": "x = 1",
        f"Leo_111{ENVIO}_333{ENVIO}/cap91.py": "x = 2",
        f"Iris_111_assignsubmission_file_444{ENVIO}cap91.py": "x = 3",
    }
    ruta = clase_de_moodle(tmp_path, ficheros)
    if not en_zip:
        with zipfile.ZipFile(ruta) as archivo:
            archivo.extractall(tmp_path / "E")
        ruta = tmp_path / "E"
    leidas = por_id(ruta, curso)
    assert leidas["111"].fuentes[91].texto == BUENO and not leidas["111"].incidencias
    assert leidas["222"].fuentes[91].texto == "x = 1" and leidas["333"].fuentes[91].texto == "x = 2"
    (rara,) = set(leidas) - {"111", "222", "333"}
    assert (
        rara.startswith("Iris_111")
        and "dos veces la marca de Moodle" in leidas[rara].incidencias[0]
    )


def test_dos_personas_con_el_mismo_nombre_no_se_juntan(tmp_path, curso):
    (tmp_path / "Ana Paz").mkdir()
    (tmp_path / "Ana Paz" / "cap91.py").write_text(BUENO)
    (tmp_path / "Ana Paz.zip").write_bytes(zip_de({"cap92.py": "ORDER = []"}))
    leidas = por_id(tmp_path, curso)
    assert set(leidas) == {"Ana Paz", "Ana Paz (2)"} and all(e.duplicada for e in leidas.values())


def test_un_zip_dentro_de_otro_se_dice(tmp_path, curso):
    (tmp_path / "ana.zip").write_bytes(
        zip_de({"cap91.py": BUENO, "otro.zip": zip_de({"cap92.py": "x = 1"})})
    )
    ana = por_id(tmp_path, curso)["ana"]
    assert list(ana.fuentes) == [91] and ana.incidencias == [
        "ana.zip: otro.zip: es un zip dentro de otro: no se abre"
    ]


# --- Topes y relojes ------------------------------------------------------------------------------


def roto_lzma():
    datos = bytearray(zip_de({"cap91.py": BUENO * 50}, zipfile.ZIP_LZMA))
    inicio = datos.index(b"cap91.py") + len("cap91.py")
    datos[inicio + 9 : inicio + 40] = bytes(31)
    return bytes(datos)


def test_un_zip_con_lzma_roto_es_una_linea_y_lo_demas_se_lee(tmp_path, curso):
    (tmp_path / "ana.zip").write_bytes(roto_lzma())
    (tmp_path / "beto_cap91.py").write_text(BUENO)
    leidas = por_id(tmp_path, curso)
    assert leidas["ana"].incidencias == ["ana.zip: cap91.py: el zip está roto o cifrado"]
    assert leidas["beto"].fuentes


def segundos(tarea):
    comienzo = time.process_time()
    resultado = tarea()
    return resultado, time.process_time() - comienzo


def test_un_zip_de_600000_entradas_no_se_lista(tmp_path, curso, sin_lastre):
    """El índice se escribe a mano: hacerlo con ``zipfile`` tardaría un minuto."""
    entrada = b"PK\x01\x02" + bytes(24) + (1).to_bytes(2, "little") + bytes(16) + b"a"
    indice = entrada * 600_000
    final = (
        b"PK\x05\x06"
        + bytes(4)
        + b"\xff\xff" * 2
        + len(indice).to_bytes(4, "little")
        + bytes(4)
        + bytes(2)
    )
    (tmp_path / "ana.zip").write_bytes(indice + final)
    (leida,), tardo = segundos(lambda: lee_carpeta(tmp_path, curso))
    assert leida.incidencias == ["ana.zip: más de 300 ficheros; no se abre"] and tardo < 2


@pytest.mark.parametrize(
    "texto",
    [
        "\n" * 200_000,
        " " * 500_000,
        "def " * 100_000,
        "a" * 900_000,
        ("def" + " " * 900_000),
        "\n \t" * 200_000,
    ],
    ids=range(6),
)
def test_reconocer_el_capitulo_no_se_cuelga(tmp_path, curso, texto, sin_lastre):
    (tmp_path / "ana.py").write_text("x = 1\n" + texto + "\ndef output_shape(a):\n    return a\n")
    (leida,), tardo = segundos(lambda: lee_carpeta(tmp_path, curso))
    assert list(leida.fuentes) == [91] and tardo < 3


@pytest.mark.parametrize(
    "datos",
    [
        b"# coding: punycode\n" + b"a-" * 400_000,
        b"# coding: idna\n" + b"a." * 400_000,
        b"#" * 1_000_000,
        b"# coding: " + b"x" * 900_000,
        b"# coding: unicode_escape\n" + BUENO.encode(),
        b"# coding: zlib\n" + BUENO.encode(),
    ],
    ids=range(6),
)
def test_una_codificacion_rara_no_se_cuelga(datos, sin_lastre):
    (texto, _), tardo = segundos(lambda: decodifica(datos))
    assert tardo < 1 and texto


@pytest.mark.parametrize(
    "datos",
    [
        '{"cells": [' + "[]," * 400_000 + "[]]}", '{"cells": 1' + "0" * 900_000 + "}",
        '{"cells": [{"cell_type": "code", "source": ' + "9" * 900_000 + "}]}", '{"a":' * 100_000,
        '{"cells": [' + '{"cell_type": "code"},' * 3000 + "{}]}",
    ],
    ids=range(5),
)  # fmt: skip
def test_un_cuaderno_enorme_por_dentro_no_se_cuelga(tmp_path, curso, datos, sin_lastre):
    (tmp_path / "ana.ipynb").write_text(datos)
    (leida,), tardo = segundos(lambda: lee_carpeta(tmp_path, curso))
    assert not leida.fuentes and len(leida.incidencias) == 1 and tardo < 3


def test_lo_que_ocupa_al_descomprimirse_tiene_un_tope_por_persona(tmp_path, curso, monkeypatch):
    monkeypatch.setattr(piezas, "MAXIMO_COMPRESION", 10**9)
    relleno = b"#" * ((1 << 20) - 10)
    (tmp_path / "ana.zip").write_bytes(zip_de({f"f{i}.py": relleno for i in range(90)}))
    (leida,) = lee_carpeta(tmp_path, curso)
    assert any("en total: se deja de leer" in i for i in leida.incidencias)


@pytest.mark.parametrize(
    ("octetos", "distintos", "cabe"),
    [
        (200 << 10, 0, False),  # cabe en el tope de un .py: solo la proporción la delata
        (200 << 10, 3000, True),
        (60 << 10, 0, True),  # tan pequeña no hace daño
    ],
)
def test_una_bomba_que_cabe_en_el_tope_se_ve_por_lo_comprimida(
    tmp_path, curso, octetos, distintos, cabe
):
    variado = hashlib.shake_128(b"x").hexdigest(distintos // 2).encode()
    relleno = b"# " + variado + b"#" * (octetos - distintos) + b"\n"
    zip_ = zip_de({"cap91.py": BUENO, "otro_cap91.py": relleno + b"def a():\n    pass\n"})
    (tmp_path / "ana.zip").write_bytes(zip_)
    with zipfile.ZipFile(tmp_path / "ana.zip") as archivo:
        entrada = archivo.getinfo("otro_cap91.py")
    proporcion = entrada.file_size / entrada.compress_size
    assert entrada.file_size < piezas.MAXIMO_FICHERO
    assert (proporcion < 150) if distintos else (proporcion > 250)
    (leida,) = lee_carpeta(tmp_path, curso)
    assert any("demasiado al descomprimirse" in i for i in leida.incidencias) is not cabe


def test_leer_a_una_persona_tiene_reloj(tmp_path, curso, monkeypatch):
    monkeypatch.setattr(piezas, "SEGUNDOS", -1.0)
    (tmp_path / "ana").mkdir()
    (tmp_path / "ana" / "cap91.py").write_text(BUENO)
    (leida,) = lee_carpeta(tmp_path, curso)
    assert any("s en leerla: se deja de leer" in i for i in leida.incidencias)


def test_un_fallo_inesperado_al_leer_es_de_esa_persona(tmp_path, curso, monkeypatch):
    original = modulo.lee_fuente

    def falla(nombre, datos):
        if b"explota" in datos:
            raise MemoryError
        return original(nombre, datos)

    monkeypatch.setattr(modulo, "lee_fuente", falla)
    (tmp_path / "ana.py").write_text("# explota")
    (tmp_path / "beto.py").write_text(BUENO)
    leidas = por_id(tmp_path, curso)
    assert leidas["ana"].incidencias == [
        "no se ha podido leer la entrega (MemoryError): mírala a mano"
    ]
    assert leidas["beto"].fuentes


# --- El esqueleto y el cuaderno -------------------------------------------------------------------


def test_el_esqueleto_junto_al_cuaderno_resuelto_no_se_corrige(tmp_path, curso, corrector):
    (tmp_path / "cap91.py").write_text(curso.esqueleto(91))
    (tmp_path / "mio.ipynb").write_text(cuaderno(("code", curso.solucion(91), ())))
    entrega = lee_ruta(tmp_path, curso)
    assert entrega.fuentes[91].origen == "mio.ipynb"
    assert entrega.incidencias == ["cap91.py: es el esqueleto del capítulo 91; se usa mio.ipynb"]
    assert corrector.califica(curso.ejercicios["91.3"], entrega.fuentes[91]).estado == "superado"


@pytest.mark.parametrize("otro", ["bien.py", "zeta.py"])
def test_si_empatan_vale_el_que_se_llama_como_el_esqueleto(tmp_path, curso, otro):
    for nombre in ("cap91.py", otro):
        (tmp_path / nombre).write_text(curso.solucion(91) + f"# {nombre}\n")
    entrega = lee_ruta(tmp_path, curso)
    assert entrega.fuentes[91].origen == "cap91.py"
    assert entrega.incidencias == [f"{otro}: hay otro fichero del capítulo 91; se usa cap91.py"]


def test_de_dos_trabajados_vale_el_que_lleva_mas_ejercicios(tmp_path, curso):
    uno = curso.esqueleto(91).replace(
        '    raise NotImplementedError("Ejercicio 91.3")', "    return 1"
    )
    (tmp_path / "cap91.py").write_text(uno)
    (tmp_path / "cap91.ipynb").write_text(cuaderno(("code", curso.solucion(91), ())))
    entrega = lee_ruta(tmp_path, curso)
    assert entrega.fuentes[91].origen == "cap91.ipynb"
    assert entrega.incidencias == ["cap91.py: hay otro fichero del capítulo 91; se usa cap91.ipynb"]
    (tmp_path / "cap91.py").write_text(curso.solucion(91))
    assert lee_ruta(tmp_path, curso).fuentes[91].origen == "cap91.py"


def test_el_zip_de_la_entrega_guardado_en_la_carpeta_no_cuenta(tmp_path, curso):
    (tmp_path / "cap91.py").write_text(BUENO)
    (tmp_path / "entrega.zip").write_bytes(zip_de({"cap91.py": BUENO + "# vieja"}))
    entrega = lee_ruta(tmp_path, curso)
    assert entrega.fuentes[91].texto == BUENO and not entrega.incidencias


def test_las_constantes_calculadas_de_un_cuaderno_se_conservan(tmp_path, curso, corrector):
    (tmp_path / "cap91.ipynb").write_text(
        cuaderno(
            ("code", "import math\nimport torch\nmodel = train()\n", ()),
            (
                "code",
                'INF = float("inf")\nEPS = torch.finfo(torch.float64).eps\nUNO = int(math.cos(0))',
                (),
            ),
            (
                "code",
                "fallo = torch.ones(3) @ model\nINDICE = {n: i for i, n in enumerate('abc')}['a']",
                (),
            ),
            ("code", "print('no se ejecuta')\nx = input()\nwhile True:\n    pass", ()),
            (
                "code",
                (
                    "def output_shape(a, b, c):\n    assert INF > 1 and EPS < 1 and INDICE == 0\n"
                    "    return (a * UNO, c)\n"
                ),
                (),
            ),
        )
    )
    resultado = corrector.califica(curso.ejercicios["91.3"], lee_ruta(tmp_path, curso).fuentes[91])
    assert resultado.estado == "superado", resultado
