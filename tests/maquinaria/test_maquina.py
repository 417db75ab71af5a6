"""De dónde sale lo que se guarda."""

from __future__ import annotations

import platform
from importlib import metadata

import maquina


def test_el_procesador_se_dice_como_lo_llama_el_sistema(tmp_path, monkeypatch):
    info = tmp_path / "cpuinfo"
    monkeypatch.setattr(maquina, "Path", lambda ruta: info)
    llamado = iter(["arm", ""])
    monkeypatch.setattr(maquina.platform, "processor", lambda: next(llamado))
    monkeypatch.setattr(maquina.platform, "machine", lambda: "aarch64")
    assert [maquina.procesador(), maquina.procesador()] == ["arm", "aarch64"]
    info.write_text("processor\t: 0\nmodel name\t: Uno: a 2 GHz\nmodel name\t: Dos\n", "utf-8")
    assert maquina.procesador() == "Uno: a 2 GHz"


def test_la_procedencia_dice_orden_maquina_y_versiones():
    hecha = maquina.procedencia("make x", "torch", threads=3)
    assert hecha["command"] == "make x" and hecha["machine"]["threads"] == 3
    assert hecha["versions"] == {
        "python": platform.python_version(),
        "torch": metadata.version("torch"),
    }
