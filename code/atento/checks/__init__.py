"""Piso 1: las puertas; ``checks.X`` valida lo que reciben las funciones de ``X``.

Cada función de aquí tiene la misma firma que la que guarda y se ejecuta una vez por llamada. Vive
aparte para que el módulo guardado empiece por su primera ecuación.
"""
