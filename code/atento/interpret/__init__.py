"""Piso 7: mirar dentro de un modelo; leer lo que pasa por un sitio, quitarlo o cambiarlo.

Se usa junto a :func:`atento.watching.watching`, que da los pesos de atención, y como él: dentro de
un ``with``, y al salir no queda nada. Lo que se lee dice qué hay en un sitio; solo lo que se quita
o se cambia dice si se usa.

- ``sites``: un sitio es la salida de un módulo, con su nombre, o la de una cabeza; apuntar lo que
  pasa, y ponerlo en otra entrada.
- ``heads``: quitar cabezas, cambiarles el mapa, y cuánto miran adonde miraría una cabeza de
  inducción.
- ``lens``: la lente de puntuaciones (``logit lens``).
- ``probes``: sondas lineales, con su tarea de control.
"""

from atento.interpret.heads import (
    chance_on,
    head_means,
    induction_target,
    mass_on,
    mixing,
    previous_target,
    repeated_sequences,
    without_heads,
)
from atento.interpret.lens import depth_states, logit_lens
from atento.interpret.probes import (
    Probe,
    Probed,
    control_labels,
    fit_probe,
    probe_with_control,
)
from atento.interpret.sites import Patched, Site, patch_effects, patching, recording

__all__ = [
    "Patched",
    "Probe",
    "Probed",
    "Site",
    "chance_on",
    "control_labels",
    "depth_states",
    "fit_probe",
    "head_means",
    "induction_target",
    "logit_lens",
    "mass_on",
    "mixing",
    "patch_effects",
    "patching",
    "previous_target",
    "probe_with_control",
    "recording",
    "repeated_sequences",
    "without_heads",
]
