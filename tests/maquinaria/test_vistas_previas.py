"""Los avances: lo que una página cita de otra viaja dentro de ella, limpio y una sola vez."""

from __future__ import annotations

import json
import re
from pathlib import Path

from paginas.vistas_previas import pon_avances

UNA = """<html><body><article><p>
<a class="reference internal" href="b/dos.html#equation-eq">(2.1)</a>
<a class="reference internal" href="b/dos.html#equation-eq">otra vez</a>
<a class="reference internal" href="b/dos.html#teo">Teorema</a>
<a class="reference internal" href="b/dos.html#seccion">sección</a>
<a class="reference internal" href="b/dos.html#nada">roto</a>
<a class="reference internal" href="no-esta.html#teo">sin página</a>
<a class="reference internal" href="#suya">propia</a>
<a class="reference external" href="https://e.org/b/dos.html#teo">de fuera</a>
</p><div class="math" id="suya">x</div></article></body></html>"""
DOS = """<html><body><article><section id="seccion"><p>Hola.</p>
<div class="math notranslate" id="equation-eq"><span class="eqno">(2.1)
<a class="headerlink" href="#equation-eq">#</a></span>\\[x &lt; y\\]</div>
<div class="proof theorem" id="teo"><p id="t">Con <a href="c.html">enlace</a> y ñ.</p></div>
</section></article></body></html>"""


def _sitio(carpeta: Path) -> Path:
    (carpeta / "b").mkdir()
    (carpeta / "una.html").write_text(UNA, "utf8")
    (carpeta / "b" / "dos.html").write_text(DOS, "utf8")
    return carpeta


def _datos(pagina: Path) -> dict[str, str]:
    bloque = re.search(r'id="avances">(.*?)</script>', pagina.read_text("utf8"), re.S)
    return json.loads(bloque[1])


def test_viajan_la_ecuacion_y_el_enunciado_de_otra_pagina_y_nada_mas(tmp_path):
    sitio = _sitio(tmp_path)
    assert pon_avances(sitio) == 2
    assert set(_datos(sitio / "una.html")) == {"b/dos.html#equation-eq", "b/dos.html#teo"}
    assert (sitio / "b" / "dos.html").read_text("utf8") == DOS


def test_de_fuera_del_sitio_no_viaja_nada(tmp_path):
    """Una página de la carpeta de al lado no es del libro, aunque el enlace llegue a ella."""
    sitio = tmp_path / "html"
    sitio.mkdir()
    (tmp_path / "otro.html").write_text(DOS, "utf8")
    enlace = '<a class="reference internal" href="../otro.html#teo">T</a>'
    una = f"<html><body><article>{enlace}</article></body></html>"
    (sitio / "una.html").write_text(una, "utf8")
    assert pon_avances(sitio) == 0 and (sitio / "una.html").read_text("utf8") == una


def test_van_sin_identificadores_ni_enlaces(tmp_path):
    sitio = _sitio(tmp_path)
    pon_avances(sitio)
    ecuacion, enunciado = (_datos(sitio / "una.html")[f"b/dos.html#{a}"]
                           for a in ("equation-eq", "teo"))  # fmt: skip
    assert "headerlink" not in ecuacion and r"\[x &lt; y\]" in ecuacion
    assert " id=" not in enunciado and "href" not in enunciado and "enlace</a> y ñ." in enunciado
    # Las letras van como son: escapadas, cada una ocuparía seis.
    assert "y ñ." in (sitio / "una.html").read_text("utf8")


def test_lo_demas_de_la_pagina_no_cambia(tmp_path):
    sitio = _sitio(tmp_path)
    pon_avances(sitio)
    despues = (sitio / "una.html").read_text("utf8")
    assert re.sub(r"<script type.*?</script>\n", "", despues, flags=re.S) == UNA
