"""Lo que usan las personas: órdenes, lotes, entregas, exportación y clases."""
