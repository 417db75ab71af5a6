"""figuras: lo que el libro dibuja y lo que necesita un cuaderno, junto a la biblioteca ``atento``.

Importa de ``atento``; ``atento`` no importa nada de aquí. Cada módulo importa solo de los de
arriba:

1. ``stored``: los resultados guardados de las ejecuciones largas. ``plots``: curvas y mapas, con
   los colores del libro. ``errors``: una línea en español bajo los errores de llamada.
2. ``notebook``: empezar siempre igual y llevar números al texto. ``diagrams``: los dibujos.
3. ``explorers``: las figuras que se mueven.
"""
