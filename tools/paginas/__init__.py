"""Lo que hace el sitio: qué capítulos hay, ejecutarlos, y lo que se arregla en las páginas y en los
cuadernos después de Sphinx.
"""
