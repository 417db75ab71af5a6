"""Lo que mantiene el libro verdadero: referencias, tiempos, sacudidas, mutantes y sellos."""
