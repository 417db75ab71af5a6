"""Los modelos, un fichero por familia. Ninguno importa tareas."""
