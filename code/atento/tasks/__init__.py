"""Las tareas: generar ejemplos, hacer lotes y puntuar. Ninguna importa modelos."""
