"""La corrección: del examen a los puntos y las pistas."""
