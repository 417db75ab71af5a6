"""Lo común a todas las pruebas: las herramientas y la extensión, al alcance; las interrupciones,
atendidas.
"""

import signal
import sys
from pathlib import Path

RAIZ = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(RAIZ / "tools"), str(RAIZ / "book" / "_ext")]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Lanzadas con «&» heredan SIGINT sin atender: los núcleos no se podrían interrumpir y se
    # esperaría para siempre.
    signal.signal(signal.SIGINT, signal.default_int_handler)
