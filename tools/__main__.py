"""``python tools QUÉ …``: llama a una orden de :mod:`llamar`."""

from llamar import main

main()
