"""Reglas de los modelos que viajan entrenados: lo que pesan, quién los hace y quién los usa."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from myst import LIBRO, RAIZ, informe

DATOS = RAIZ / "code" / "atento" / "datos"
SEMILLAS = RAIZ / "tools" / "semillas"
CADA_UNO, TODOS = 400_000, 10_000_000
MAYORES = {
    "pesos-prosa-16": 700_000,  # el que la página del capítulo 16 ejecuta
    "pesos-cajas-20": 500_000,  # los que miden lo mismo que en la página del 20
    "pesos-trozos-20": 600_000,
}
FICHA = ("recipe", "seed", "marks", "date", "machine", "command", "versions")
NOMBRE = re.compile(r"pesos-([a-z0-9-]+)-(\d\d)")


def ficha_de(fichero: Path) -> dict:
    """La ficha de unos pesos, leída de su cabecera."""
    contenido = fichero.read_bytes()
    largo = int.from_bytes(contenido[:8], "little")
    return json.loads(json.loads(contenido[8 : 8 + largo])["__metadata__"]["ficha"])


def quien_los_hace(capitulo: str) -> Iterable[str]:
    """Los modelos que sabe entrenar ``make semillas`` de un capítulo."""
    if not (SEMILLAS / f"cap{capitulo}.py").exists():
        return ()
    if str(SEMILLAS) not in sys.path:
        sys.path.insert(0, str(SEMILLAS))
    return getattr(importlib.import_module(f"cap{capitulo}"), "PESOS", ())


def faltas_de_pesos(carpeta: Path, hace, textos: str) -> list[str]:
    """Cada fichero pesa poco, tiene ficha entera y quien lo haga, y alguna página lo usa."""
    ficheros = sorted(carpeta.glob("*.safetensors"))
    topes = {f: MAYORES.get(f.stem, CADA_UNO) for f in ficheros}
    faltas = [f"{f.name}: pesa más de {tope} bytes" for f, tope in topes.items() if _pesa(f) > tope]
    if sum(map(_pesa, ficheros)) > TODOS:
        faltas.append(f"los modelos pesan juntos más de {TODOS} bytes")
    for fichero in (f for f in ficheros if f.stem != "sumador"):
        encaje = NOMBRE.fullmatch(fichero.stem)
        if not encaje:
            faltas.append(f"{fichero.name}: se llama pesos-NOMBRE-NN")
            continue
        nombre, capitulo = encaje.groups()
        if nombre not in hace(capitulo):
            faltas.append(f"{fichero.name}: no lo hace PESOS de tools/semillas/cap{capitulo}.py")
        faltas += [
            f"{fichero.name}: a su ficha le falta «{campo}»"
            for campo in FICHA
            if campo not in ficha_de(fichero)
        ]
        if not re.search(rf"fill\([^#]{{0,200}}?['\"]{nombre}-{capitulo}['\"]", textos):
            faltas.append(f"{fichero.name}: ninguna página lo usa")
    return faltas


def _pesa(fichero: Path) -> int:
    return fichero.stat().st_size


def test_los_modelos_que_viajan() -> None:
    textos = "\n".join(p.read_text(encoding="utf-8") for p in sorted(LIBRO.glob("*/*.md")))
    faltas = faltas_de_pesos(DATOS, quien_los_hace, textos)
    assert not faltas, informe(faltas)


@pytest.mark.parametrize(
    ("cambia", "dice"),
    [
        ({}, ""),
        ({"relleno": CADA_UNO}, "pesa más de 400000"),
        ({"copias": 27, "relleno": CADA_UNO - 2000}, "pesan juntos más de 10000000"),
        ({"nombre": "pesos-copia"}, "se llama pesos-NOMBRE-NN"),
        ({"hechos": ("suma",)}, "no lo hace PESOS de tools/semillas/cap14.py"),
        ({"ficha": FICHA[1:]}, "a su ficha le falta «recipe»"),
        ({"texto": "trained.fill(m, 'suma-14')"}, "ninguna página lo usa"),
        ({"texto": "Los de copia-14, sin usarlos."}, "ninguna página lo usa"),
    ],
)  # fmt: skip
def test_caza_los_modelos(tmp_path: Path, cambia: dict, dice: str) -> None:
    """Uno bueno no tiene faltas, y con cada cosa cambiada, la suya."""
    campos = dict.fromkeys(cambia.get("ficha", FICHA), 1)
    cabecera = json.dumps({"__metadata__": {"ficha": json.dumps(campos)}}).encode()
    entero = len(cabecera).to_bytes(8, "little") + cabecera + b"0" * cambia.get("relleno", 10)
    for i in range(cambia.get("copias", 1)):
        nombre = cambia.get("nombre", "pesos-copia-14" if not i else f"pesos-otra-{i:02}")
        (tmp_path / f"{nombre}.safetensors").write_bytes(entero)
    hechos = cambia.get("hechos", ("copia", "otra"))
    texto = cambia.get("texto", 'model = trained.fill(Seq2Seq(config), "copia-14")')
    faltas = faltas_de_pesos(tmp_path, lambda capitulo: hechos, texto)
    if cambia.get("copias"):
        assert dice in faltas[0] and sum("pesa más" in x for x in faltas) == 0
    else:
        assert ([dice in x for x in faltas] == [True]) if dice else not faltas
