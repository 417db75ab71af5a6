"""Lo que le pasa a quien enseña: un disco lleno, un nombre con una extensión de más, dos entregas
de la misma persona, un corte sin aviso."""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import os
import shutil
import subprocess
import time
from pathlib import Path

import psutil
import pytest
from ayudas import atento, lanza, matando, zip_de

from calificador.correccion.resultado import SUPERADO, Propiedad, Resultado
from calificador.jaula import canal
from calificador.uso import atomico, entregas, exporta, lote

BUENA = "def output_shape(a, b, c):\n    return (a, c)\n"
LOCA = (
    "import os\ntry:\n    for _ in range(2):\n        if os.fork() == 0:\n            os.setsid()\n"
    "            break\nexcept OSError:\n    pass\nwhile True:\n    pass\n"
)


# --- Un disco lleno -------------------------------------------------------------------------------


def test_un_disco_lleno_dice_donde_y_que_hacer(tmp_path, monkeypatch):
    def lleno(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", lleno)
    with pytest.raises(OSError, match="No space") as fallo:
        atomico.escribe(tmp_path / "notas.json", b"{}")
    dicho = atomico.motivo(fallo.value)
    assert fallo.value.filename == str(tmp_path / "notas.json") and not list(tmp_path.iterdir())
    assert dicho.startswith("no queda sitio en el disco: libera espacio")


def test_sin_sitio_para_trabajar_no_es_cosa_de_una_entrega(monkeypatch, tmp_path):
    def lleno(**_):
        raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path))

    monkeypatch.setattr(canal.tempfile, "mkdtemp", lleno)
    with pytest.raises(canal.FalloDeEntorno, match="no queda sitio.*TMPDIR"):
        canal.carpeta_nueva()


@contextlib.contextmanager
def disco_de(carpeta: Path, octetos: int):
    """Un disco en memoria de ese tamaño, si se puede montar."""
    carpeta.mkdir()
    monta = ["mount", "-t", "tmpfs", "-o", f"size={octetos}", "tmpfs", str(carpeta)]
    if (
        shutil.which("mount") is None
        or subprocess.run(monta, capture_output=True, timeout=60).returncode
    ):
        pytest.skip("aquí no se puede montar un disco en memoria")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(carpeta)], check=True, timeout=60)


@pytest.mark.lento
def test_un_lote_en_un_disco_lleno_sigue_al_haber_sitio(tmp_path, media):
    (tmp_path / "E").mkdir()
    for i in range(6):
        (tmp_path / "E" / f"p{i}_cap91.py").write_text(f"{BUENA}# {i}\n")
    orden = ["lote", "E", "--salida", "D/N", "--ejercicio", "91.3", "--semilla", "s"]
    with disco_de(tmp_path / "D", 256 << 10):
        estorbo = tmp_path / "D" / "estorbo"
        estorbo.write_bytes(bytes((256 << 10) - (16 << 10)))
        lleno = atento(*orden, "--trabajos", 1, en=tmp_path)
        assert lleno.returncode == 2, lleno.stdout
        assert (
            lleno.stderr.startswith("Error: D/N/resultados/p") and "no queda sitio" in lleno.stderr
        )
        assert len(lleno.stderr.splitlines()) == 1 and not list((tmp_path / "D").rglob(".tmp-*"))
        hechas = len(list((tmp_path / "D" / "N" / "resultados").iterdir()))
        assert 0 < hechas < 6
        estorbo.unlink()
        bien = atento(*orden, "--trabajos", 1, en=tmp_path)
        assert bien.returncode == 0, bien.stderr


# --- Un nombre con algo de más --------------------------------------------------------------------


@pytest.mark.parametrize("nombre", ["cap91.py.txt", "cap91.PY.TXT", "cap91.ipynb.json"])
def test_un_fichero_mal_llamado_se_dice(tmp_path, curso, nombre):
    """Suelto, en una carpeta, en un zip y en la carpeta de quien estudia."""
    de_mas = "." + nombre.rsplit(".", 1)[1]
    (tmp_path / "E" / "luis").mkdir(parents=True)
    (tmp_path / "E" / f"ana_{nombre}").write_text(BUENA)
    (tmp_path / "E" / "luis" / nombre).write_text(BUENA)
    (tmp_path / "E" / "eva.zip").write_bytes(zip_de({nombre: BUENA}))
    leidas = {e.id: e for e in lote.lee_entregas(tmp_path / "E", curso)}
    assert set(leidas) == {"ana", "luis", "eva"}
    mia = entregas.lee_ruta(tmp_path / "E" / "luis", curso)
    for entrega in [*leidas.values(), mia]:
        [incidencia] = entrega.incidencias
        assert nombre in incidencia and f"quita «{de_mas}»" in incidencia and not entrega.fuentes


def test_lo_que_no_es_codigo_sigue_sin_decirse(tmp_path, curso):
    (tmp_path / "E" / "ana").mkdir(parents=True)
    (tmp_path / "E" / "ana" / "cap91.py").write_text(BUENA)
    for nombre in ("leeme.txt", "cap91.txt", ".py.txt", "cap91.py.orig"):
        (tmp_path / "E" / "ana" / nombre).write_text("nada")
    [entrega] = lote.lee_entregas(tmp_path / "E", curso)
    assert entrega.incidencias == [] and set(entrega.fuentes) == {91}


def test_quien_entrega_se_entera(tmp_path):
    mios = tmp_path / "mis-ejercicios"
    mios.mkdir()
    (mios / "cap91.py.txt").write_text(BUENA)
    hecho = atento("calificar", "91.3", en=tmp_path)
    assert "cap91.py.txt: no se lee: quita «.txt»" in hecho.stdout
    assert "cap91.py.txt: no se lee: quita «.txt»" in atento("entrega", en=tmp_path).stdout


# --- Dos entregas de una persona ------------------------------------------------------------------


def test_una_nota_dudosa_no_llega_a_quien_estudia(tmp_path):
    hecho = Resultado("91.3", "output_shape", SUPERADO, 1, 1, (Propiedad("forma", 1, 1),))
    notas = [
        lote.Corregida("7", "", [hecho], [], False, "media"),
        lote.Corregida("9", "", [hecho], ["hay dos entregas"], True, "media"),
        lote.Corregida("9 (2)", "", [hecho], ["hay dos entregas"], True, "media"),
    ]
    de_gradescope = exporta.gradescope(notas, tmp_path)
    assert [f.parent.name for f in de_gradescope.ficheros] == ["7"]
    assert len([a for a in de_gradescope.avisos if "duplicada" in a]) == 2
    lista = tmp_path / "lista.csv"
    lista.write_text("idnumber\n7\n8\n9\n")
    exporta.moodle(notas, tmp_path, lista)
    filas = list(csv.reader(io.StringIO((tmp_path / "moodle.csv").read_text())))
    # No es verdad que no entregara, y su nota está por decidir.
    assert filas[1:] == [["7", "1", "superado"], ["8", "", "sin entrega"], ["9", "", ""]]
    exporta.plano(notas, tmp_path)  # quien enseña ve las dos
    assert (tmp_path / "notas.csv").read_text().count("hay dos entregas") == 2


# --- Un corte sin aviso ---------------------------------------------------------------------------


@pytest.mark.lento
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("orden", "nivel", "hijos"),
    [("lote", "media", 3), ("lote", "media", 6), ("lote", "fuerte", 6), ("calificar", "basica", 2)],
    ids=["al nacer", "colgada en media", "colgada en fuerte", "con procesos propios"],
)
def test_tras_un_corte_no_sobrevive_nadie(tmp_path, request, orden, nivel, hijos):
    """A los 5 s de un ``kill -9`` no queda nada: ni recién nacido, ni con entregas colgadas."""
    if nivel != "basica" and (motivo := canal.prueba_nivel(nivel)):
        pytest.skip(motivo)
    for carpeta in ("E", "mis-ejercicios"):
        (tmp_path / carpeta).mkdir()
        for quien in ("ana_", "eva_") if carpeta == "E" else ("",):
            (tmp_path / carpeta / f"{quien}cap91.py").write_text(LOCA)
    mas = ["E", "--salida", "N", "--trabajos", 2, "--ejercicio"] if orden == "lote" else []
    proceso = lanza(orden, *mas, "91.3", "--nivel", nivel, en=tmp_path)
    with matando(proceso):
        vistos: dict[int, psutil.Process] = {}
        limite = time.monotonic() + 120
        while len(vistos) < hijos and time.monotonic() < limite and proceso.poll() is None:
            nuevos = psutil.Process(proceso.pid).children(recursive=True)
            vistos |= {p.pid: p for p in nuevos}
            time.sleep(0.02)
        assert len(vistos) >= hijos, proceso.poll()
        os.kill(proceso.pid, 9)
        # Con la máquina cargada, cinco segundos suyos son más.
        plazo = 5 * max(1.0, os.getloadavg()[0] / os.cpu_count())
        _, vivos = psutil.wait_procs(list(vistos.values()), timeout=plazo)
        for vivo in vivos:
            vivo.kill()
    assert vivos == []
