"""El progreso local y las clases: ficheros que no se rompen ni se pisan."""

from __future__ import annotations

import itertools
import json
import stat
import sys

import pytest

from calificador.correccion.resultado import FALLADO, PENDIENTE, SUPERADO, Resultado
from calificador.uso import atomico, clase
from calificador.uso.progreso import FICHERO, Progreso
from calificador.uso.senales import Interrumpido


def resultado(puntos, estado=None):
    return Resultado("91.1", "f", estado or (SUPERADO if puntos == 2 else FALLADO), puntos, 2)


def test_los_intentos_cuentan_codigo_distinto_y_se_borran_al_superar(tmp_path):
    progreso = Progreso.abre(tmp_path)
    for codigo, puntos, intentos in (
        ("a", 0, 1),
        ("a", 0, 1),
        ("b", 1, 2),
        ("c", 2, 0),
        ("d", 0, 1),
    ):
        progreso.apunta(resultado(puntos), codigo)
        assert progreso.intentos("91.1") == intentos
    progreso.apunta(resultado(0, PENDIENTE), "e")
    progreso.guarda()
    leido = Progreso.abre(tmp_path)
    assert leido.ejercicios == progreso.ejercicios and leido.ejercicios["91.1"]["mejor"] == 2


def test_un_progreso_roto_se_aparta(tmp_path):
    (tmp_path / FICHERO).write_text('{"formato": 1, "ejer')
    progreso = Progreso.abre(tmp_path)
    assert "apartado" in progreso.aviso and progreso.ejercicios == {}
    assert (tmp_path / ".progreso.roto.json").exists()


def test_un_progreso_de_otra_version_no_se_toca(tmp_path):
    ruta = tmp_path / FICHERO
    ruta.write_text(json.dumps({"formato": 99, "ejercicios": {}, "nuevo": 1}))
    progreso = Progreso.abre(tmp_path)
    progreso.apunta(resultado(2), "a")
    progreso.guarda()
    assert "versión posterior" in progreso.aviso and json.loads(ruta.read_text())["nuevo"] == 1


def test_escribir_a_medias_deja_lo_anterior(tmp_path, monkeypatch):
    ruta = tmp_path / "x.json"
    atomico.escribe_json(ruta, {"a": 1})

    def falla(*_):
        raise OSError("disco lleno")

    monkeypatch.setattr(atomico.os, "fsync", falla)
    with pytest.raises(OSError, match="disco lleno"):
        atomico.escribe_json(ruta, {"a": 2})
    assert atomico.lee_json(ruta) == {"a": 1} and [p.name for p in tmp_path.iterdir()] == ["x.json"]


def _interrumpiendo(hace, paso: int) -> bool:
    """Levanta una interrupción en la llamada o la vuelta número ``paso``; ``False`` si acaba
    antes.
    """
    quedan = itertools.count(paso, -1)

    def mira(*_):
        if next(quedan) == 0:
            sys.setprofile(None)
            raise Interrumpido(2)

    sys.setprofile(mira)
    try:
        hace()
        sys.setprofile(None)
    except Interrumpido:
        return True
    return False


@pytest.mark.parametrize("nuevo", [False, True])
def test_interrumpir_una_escritura_en_cualquier_punto_no_deja_nada(tmp_path, nuevo):
    """También al volver de la llamada que crea el temporal."""
    ruta = tmp_path / "x.json"
    vistos = set()
    for paso in itertools.count():
        ruta.unlink(missing_ok=True) if nuevo else atomico.escribe_json(ruta, {"a": 1})
        cortada = _interrumpiendo(lambda: atomico.escribe(ruta, b'{"a": 2}', nuevo=nuevo), paso)
        assert {p.name for p in tmp_path.iterdir()} <= {"x.json"}, paso
        vistos.add(atomico.lee_json(ruta)["a"] if ruta.exists() else None)
        if not cortada:
            break
    assert paso > 20 and vistos == {None if nuevo else 1, 2}


def test_una_clase_nueva(tmp_path, curso):
    una, otra = clase.nueva("A", curso), clase.nueva("A", curso)
    assert una.semilla != otra.semilla and len(una.semilla) == 32
    assert una.variantes.keys() == {"91.4"} and una.variantes["91.4"]["power"] != 0.5
    docente, estudiantes = clase.guarda(una, tmp_path)
    assert clase.lee(docente, "publica") == una and stat.S_IMODE(docente.stat().st_mode) == 0o600
    assert "semilla" not in json.loads(estudiantes.read_text())
    assert clase.lee(estudiantes, "publica") == clase.Clase(
        "A", "publica", una.variantes, publica=True
    )
    with pytest.raises(FileExistsError):
        clase.guarda(otra, tmp_path)
    estudiantes.write_text("{}")
    with pytest.raises(ValueError, match="no es el fichero de una clase"):
        clase.lee(estudiantes, "x")


@pytest.mark.parametrize("valor", [True, 3, 0.5, "qkv"])
def test_los_parametros_de_una_clase_son_otros(valor):
    alternativas = ("qkv", "kvq") if isinstance(valor, str) else ()
    assert clase._otro(valor, alternativas) != valor
    assert type(clase._otro(valor, alternativas)) is type(valor)
