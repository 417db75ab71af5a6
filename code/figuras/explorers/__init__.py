"""Piso 9: las figuras interactivas del libro, sin servidor ni red.

Cada función recibe números que el capítulo ha calculado y devuelve un objeto que un cuaderno sabe
mostrar:

- :func:`stepper`: la atención paso a paso sobre una frase, con sus números.
- :func:`paths`: de una palabra a otra, por una recurrencia, una convolución y una atención.
- :func:`plane`: vectores en un plano que se mueven con la mano.
- :func:`merges`: las uniones de BPE en una frase que se escribe, y el corte de unigrama.
- :func:`softmax`: de puntuaciones a pesos, con temperatura y escala.
- :func:`budget`: la talla de un modelo, lo que pide entrenarlo y si cabe.
- :func:`clock`: las agujas de una posición, con las sinusoides.
- :func:`rotation`: una consulta y una clave que giran según su sitio, con RoPE.
- :func:`mask`: se pinta quién puede mirar a quién; pesos y alcance tras varias capas.
- :func:`heads`: todas las cabezas de un codificador sobre unas frases, y a qué mira cada una.
- :func:`stream`: qué encuentra, qué lee y qué añade cada subcapa de una pila.
- :func:`architecture`: el mapa del Transformer; qué entra y qué sale de cada parte.
- :func:`schedule`: la tasa de cada paso y la pérdida que dejó, en ejecuciones guardadas.
- :func:`beam`: una búsqueda en haz, paso a paso: qué sigue, qué acaba y por qué cae lo demás.
- :func:`landscape`: la energía de una memoria de Hopfield, y adónde baja un estado según β.
- :func:`online`: la softmax por trozos; qué se reescala al entrar cada bloque, y qué queda.
- :func:`lowrank`: un cambio de pesos y su mejor aproximación de cada rango, con lo que cuesta.
- :func:`sampling`: temperatura, top-k, top-p y min-p sobre unas puntuaciones, y lo que se sortea.

Los que ejecutan un Transformer entrenado se importan aparte porque traen consigo el modelo:
``adder.adder`` suma, ``claims.claims`` detecta los dígitos que se mueven, ``cloze.cloze`` adivina
palabras tapadas, ``completion.completion`` continúa lo que se escribe, ``hearing.hearing`` oye las
vocales que se mueven, ``patches.patches`` deja parchear el sumador y ``sketch.sketch`` lee el
dígito que se dibuja.

Cada objeto tiene en Python el gemelo de la cuenta que hace la página. Sin JavaScript queda una
tabla con el estado inicial.
"""

from figuras.explorers.architecture import ArchitectureExplorer, architecture
from figuras.explorers.base import Explorer, deduplicate, detach
from figuras.explorers.beam import BeamExplorer, beam
from figuras.explorers.budget import BudgetExplorer, budget
from figuras.explorers.clock import ClockExplorer, clock
from figuras.explorers.heads import HeadsExplorer, heads
from figuras.explorers.landscape import LandscapeExplorer, landscape
from figuras.explorers.lowrank import LowrankExplorer, lowrank
from figuras.explorers.mask import MaskExplorer, mask
from figuras.explorers.merges import MergesExplorer, merges
from figuras.explorers.online import OnlineExplorer, online
from figuras.explorers.paths import PathsExplorer, paths
from figuras.explorers.plane import PlaneExplorer, plane
from figuras.explorers.rotation import RotationExplorer, rotation
from figuras.explorers.sampling import SamplingExplorer, sampling
from figuras.explorers.schedule import ScheduleExplorer, schedule
from figuras.explorers.softmax import SoftmaxExplorer, softmax
from figuras.explorers.stepper import StepperExplorer, stepper
from figuras.explorers.stream import StreamExplorer, stream

__all__ = [
    "ArchitectureExplorer",
    "BeamExplorer",
    "BudgetExplorer",
    "ClockExplorer",
    "Explorer",
    "HeadsExplorer",
    "LandscapeExplorer",
    "LowrankExplorer",
    "MaskExplorer",
    "MergesExplorer",
    "OnlineExplorer",
    "PathsExplorer",
    "PlaneExplorer",
    "RotationExplorer",
    "SamplingExplorer",
    "ScheduleExplorer",
    "SoftmaxExplorer",
    "StepperExplorer",
    "StreamExplorer",
    "architecture",
    "beam",
    "budget",
    "clock",
    "deduplicate",
    "detach",
    "heads",
    "landscape",
    "lowrank",
    "mask",
    "merges",
    "online",
    "paths",
    "plane",
    "rotation",
    "sampling",
    "schedule",
    "softmax",
    "stepper",
    "stream",
]
