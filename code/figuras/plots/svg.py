"""De la figura de matplotlib al SVG de la página: colores por variables y letras que se leen."""

from __future__ import annotations

import base64
import io
import re
import sys
import xml.etree.ElementTree as ET
from typing import Literal

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Bbox

from figuras.plots.fingerprint import fingerprint
from figuras.plots.style import FONT, INK, MIN_LETTER, PHONE_WIDTH, SENTINELS, STYLE, TOKENS, WIDTH


def show(fig: Figure, *, name: str, alt: str) -> None:
    """Muestra ``fig`` como SVG dentro de la página y la cierra.

    Lleva además un PNG, para los programas que no muestran el SVG, y un texto: ``alt`` y la huella
    de lo dibujado (``plots.fingerprint``).

    name: nombre de la figura, ``fig-…``, único en el libro.
    alt: texto alternativo; da el dato que la figura muestra (40 caracteres o más).

    Errores: ``ValueError`` si falta el texto alternativo, si alguna letra no se leería en un
    teléfono o si hay un color que no está en :data:`TOKENS`.
    """
    markup = render(fig, name=name, alt=alt)
    text = f"Figura: {alt} [huella {fingerprint(fig)}]"
    image = picture(fig)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close(fig)
    from IPython import get_ipython
    from IPython.display import display

    if get_ipython() is not None:
        display({"text/html": markup, "image/png": image, "text/plain": text}, raw=True)


def render(fig: Figure, *, name: str, alt: str) -> str:
    """El HTML que muestra :func:`show`. El mismo dibujo da siempre el mismo texto."""
    if not re.fullmatch(r"fig-[a-z0-9]+(-[a-z0-9]+)*", name or ""):
        raise ValueError(f"name: llegó {name!r}; se esperaba «fig-» y minúsculas, cifras y guiones")
    alt = _checked_alt(alt)
    for ax in fig.axes:
        getattr(ax, "_atento_settle", lambda: None)()
    _mark_lines(fig)
    buffer = io.BytesIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        fig.savefig(
            buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None}
        )
    root = ET.fromstring(buffer.getvalue())
    width, height = (float(number) for number in root.get("viewBox").split()[2:])
    top, height = _crop(fig, width, height)
    _check_letters(root, width)
    _align_lines(root)
    _tidy(root, name)
    root.attrib.clear()
    root.attrib.update(
        {
            "viewBox": f"0 {top:.1f} {width:g} {height:.1f}",
            "role": "img",
            "aria-label": alt,
            "style": (
                f"width:100%;max-width:{width * 4 / 3:.0f}px;height:auto;"
                f"overflow:visible;font-family:{FONT};"
                "stroke-linejoin:round;stroke-linecap:butt"
            ),
        }
    )
    ET.register_namespace("", SVG[1:-1])
    svg = ET.tostring(root, encoding="unicode")
    return (
        f'<div class="atento-figura" data-figura="{name}" style="text-align:center">'
        f"<style>{_notebook_css()}</style>{svg}</div>"
    )


def picture(fig: Figure) -> str:
    """La misma figura como PNG de fondo blanco, en base64. El mismo dibujo da siempre el mismo
    texto.
    """
    width, height = fig.get_size_inches()
    top, tall = _crop(fig, 72 * width, 72 * height)
    box = Bbox.from_bounds(0, height - (top + tall) / 72, width, tall / 72)
    buffer = io.BytesIO()
    fig.savefig(
        buffer,
        format="png",
        dpi=_PNG_DPI,
        facecolor="white",
        bbox_inches=box,
        metadata={"Software": None},
    )
    return base64.b64encode(buffer.getvalue()).decode()


def css() -> str:
    """Hoja de estilo que el sitio incluye: variables en modo claro y oscuro, y figuras sin recuadro
    blanco.
    """
    return (
        f":root{{{_variables('light')}}}\n"
        f'html[data-theme="dark"]{{{_variables("dark")}}}\n'
        f'@media print{{html[data-theme="dark"]{{{_variables("light")}}}}}\n'
        'html[data-theme="dark"] .bd-content div.cell_output .text_html:has(.atento-figura)'
        "{background:none;color:inherit;padding:0;border-radius:0}\n"
        ".atento-figura{margin:1.6rem 0 .8rem}\n"
    )


def _variables(mode: Literal["light", "dark"]) -> str:
    return "".join(f"--atento-{name}:{token[mode]};" for name, token in TOKENS.items())


def _notebook_css() -> str:
    """Modo oscuro de JupyterLab, VS Code y Colab, que no conocen la hoja del sitio."""
    hosts = ('body[data-jp-theme-light="false"]', "body.vscode-dark", "html[theme=dark]")
    return f"{','.join(f'{host} .atento-figura' for host in hosts)}{{{_variables('dark')}}}"


# --- Del SVG de matplotlib al del libro -----------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"
_PNG_DPI = 150
_TURNLESS = re.compile(r"translate\((\S+) (\S+)\)(?: rotate\(-?0\))?")
_ANCHORS = {"right": ("end", 1.0), "center": ("middle", 0.5)}
_HREF = "{http://www.w3.org/1999/xlink}href"
_FILE_NAME = re.compile(r"[\w./-]+\.(svg|png|jpe?g|gif|webp|pdf)", re.IGNORECASE)


def _checked_alt(alt: str) -> str:
    alt = " ".join((alt or "").split())
    if not alt:
        raise ValueError(
            "alt: falta el texto alternativo, que da el dato de la figura a quien no la ve"
        )
    if _FILE_NAME.search(alt) or (" " not in alt):
        raise ValueError(
            f"alt: {alt!r} parece un nombre de fichero: debe dar el dato que muestra la figura"
        )
    if len(alt) < 40:
        raise ValueError(
            f"alt: tiene {len(alt)} caracteres y hacen falta al menos 40: ¿qué dato muestra la"
            " figura?"
        )
    return alt


def _crop(fig: Figure, width: float, height: float) -> tuple[float, float]:
    """Quita el blanco de arriba y de abajo y comprueba que nada se sale por los lados; devuelve
    (arriba, alto).
    """
    fig.draw_without_rendering()
    box = fig.get_tightbbox()
    if 72 * box.x0 < -6 or 72 * box.x1 > width + 6:
        raise ValueError(
            "fig: se sale por los lados: conviene acortar etiquetas o separar los ejes"
        )
    top, bottom = height - 72 * box.y1 - 3, height - 72 * box.y0 + 3
    return top, bottom - top


def _check_letters(root: ET.Element, width: float) -> None:
    """Ninguna letra por debajo de 11 px cuando la figura se ve a 358 px de ancho."""
    scale = min(PHONE_WIDTH / width, 4 / 3)
    for text in root.iter(f"{SVG}text"):
        for node in text.iter():
            size = re.search(
                r"font-size:\s*([\d.]+)px|font:[^;]*?([\d.]+)px", node.get("style", "")
            )
            pixels = scale * float(size[1] or size[2]) if size else MIN_LETTER
            if pixels < MIN_LETTER - 0.05:
                words = "".join(text.itertext()).strip()
                raise ValueError(
                    f"fig: «{words}» se vería a {pixels:.1f} px en un teléfono y el mínimo es"
                    f" {MIN_LETTER:g}: conviene una figura más estrecha (width={WIDTH:g}), letra"
                    " mayor o quitar subíndices"
                )


def _mark_lines(fig: Figure) -> None:
    """Apunta en los rótulos de varias líneas por dónde se alinean, para :func:`_align_lines`."""
    fig.draw_without_rendering()
    for text in fig.findobj(Text):
        if "\n" in text.get_text() and text.get_horizontalalignment() in _ANCHORS:
            text.set_gid(f"atento-lines-{text.get_horizontalalignment()}")


def _align_lines(root: ET.Element) -> None:
    """Ancla las líneas de un rótulo en el borde o en el centro que comparten.

    matplotlib pone cada línea por su izquierda, con el ancho de su letra; con la de la página, más
    estrecha, las alineadas a la derecha o al centro quedarían escalonadas.
    """
    for group in root.iter(f"{SVG}g"):
        side = (group.get("id") or "").removeprefix("atento-lines-")
        for node in group if side in _ANCHORS else ():
            if found := _TURNLESS.fullmatch(node.get("transform", "")):
                anchor, share = _ANCHORS[side]
                edge = float(found[1]) + share * _layout_width(node)
                node.set("transform", f"translate({edge:.6f} {found[2]})")
                node.set("style", f"{node.get('style')}; text-anchor: {anchor}")


def _layout_width(node: ET.Element) -> float:
    """El ancho con que matplotlib ha compuesto un texto, en puntos."""
    style = _style(node)
    letter = FontProperties(
        family=STYLE["font.family"],
        size=float(style["font-size"].removesuffix("px")),
        weight=int(style.get("font-weight", 400)),
    )
    return text_to_path.get_text_width_height_descent(node.text or "", letter, False)[0]


def _tidy(root: ET.Element, name: str) -> None:
    """Colores por variables, números cortos, identificadores propios; sin metadatos ni estilos que
    se escapen.
    """
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == f"{SVG}style" or child.tag.endswith("}metadata"):
                parent.remove(child)
    used: dict[str, str] = {}
    for node in root.iter():
        for value in node.attrib.values():
            for found in re.findall(r"url\(#([^)]+)\)|^#(\S+)$", value):
                old = found[0] or found[1]
                if not re.fullmatch(r"[0-9a-f]{6}", old) or found[0]:
                    used.setdefault(old, f"{name}-{len(used)}")
    for node in root.iter():
        gid = node.get("id")
        if gid and gid.startswith("atento-crisp"):
            node.set("shape-rendering", "crispEdges")
        if gid in used:
            node.set("id", used[gid])
        elif gid:
            del node.attrib["id"]
        if _HREF in node.attrib:
            node.set("href", "#" + used[node.attrib.pop(_HREF)[1:]])
        for key in ("d", "transform", "points", "x", "y", "width", "height"):
            if key in node.attrib:
                node.set(key, _short(node.get(key)))
        if "clip-path" in node.attrib:
            node.set(
                "clip-path",
                re.sub(r"url\(#([^)]+)\)", lambda m: f"url(#{used[m[1]]})", node.get("clip-path")),
            )
        if node.tag == f"{SVG}text" and "fill" not in _style(node):
            node.set("style", f"{node.get('style', '')}; fill: {INK}")
        if "style" in node.attrib:
            style = {key: value for key, value in _style(node).items() if key != "font-family"}
            text = ";".join(f"{key}:{value}" for key, value in style.items())
            text = re.sub(r"url\(#([^)]+)\)", lambda m: f"url(#{used[m[1]]})", text)
            node.set("style", re.sub(r"#[0-9a-fA-F]{6}\b(?!\))", _variable, text))


def _style(node: ET.Element) -> dict[str, str]:
    pairs = (part.split(":", 1) for part in node.get("style", "").split(";") if ":" in part)
    return {key.strip(): value.strip() for key, value in pairs}


def _variable(match: re.Match[str]) -> str:
    color = match[0].lower()
    if color not in SENTINELS:
        raise ValueError(
            f"fig: el color {color} no es del libro: se usan plots.INK, MUTED, PAPER, QUERY, KEY,"
            " VALUE y POSITION"
        )
    name = SENTINELS[color]
    return f"var(--atento-{name}, {TOKENS[name]['light']})"


def _short(text: str) -> str:
    return re.sub(r"-?\d+\.\d+", lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), text)
