# «El Transformer, línea a línea». Las dos órdenes importantes: make libro, make prueba.
PYTHON ?= python3
RAIZ := $(shell f='$(strip $(MAKEFILE_LIST))'; cd "$$(dirname "$$f")" && pwd)
AQUI = cd "$(RAIZ)" &&
VENV = .venv/bin/python
CODIGO = code tests tools book/_ext benchmarks exercises solutions
PUERTO ?= 8000
TORCH ?=
CAPITULO ?=
CARPETA ?=
CUANTOS ?= 20
SEMILLA ?= 0
MINIMO ?= 90
RAPIDAS ?=
VECES ?= 20
SOLO ?=
IGUAL ?=
CONTRA ?=
MIRA ?=

.DEFAULT_GOAL := ayuda
.PHONY: ayuda entorno sistema libro epub pdf paquete ver rapida prueba procesadores temblor referencias tiempos semillas prosa sumador formato estilo bancos mutantes capitulo limpia

ayuda:          ## muestra estas órdenes
	@$(AQUI) awk -F ':[^#]*## ' '/^##@ /{printf "\n%s\n", substr($$0, 5)} /^[a-z]+:[^#]*## /{printf "  make %-13s %s\n", $$1, $$2}' Makefile

##@ Leer

libro: entorno  ## construye el libro en book/_build/html (CAPITULO=6: solo esa página)
	@$(AQUI) $(VENV) tools/construir.py $(if $(CAPITULO),--capitulo "$(CAPITULO)")

ver:            ## sirve el libro en localhost:8000 (PUERTO=…)
	@$(AQUI) test -f book/_build/html/index.html || { echo "Aún no hay libro: ejecuta antes «make libro»."; exit 1; }
	@$(AQUI) echo "El libro, en http://localhost:$(PUERTO) (Ctrl+C para terminar)" && $(VENV) -m http.server $(PUERTO) --bind 127.0.0.1 --directory book/_build/html

epub: libro     ## el libro en EPUB, en book/_build/llevar
	@$(AQUI) $(VENV) tools llevar epub

pdf: libro      ## el libro en PDF, en book/_build/llevar
	@$(AQUI) $(VENV) tools llevar pdf

paquete: libro  ## la página para leer sin conexión (.zip), en book/_build/llevar
	@$(AQUI) $(VENV) tools llevar paquete

##@ Preparar la máquina

entorno:        ## prepara .venv con las versiones fijadas (TORCH=cuda: con GPU, en Linux)
	@$(AQUI) $(PYTHON) tools/entorno.py $(if $(TORCH),--torch "$(TORCH)")

sistema:        ## instala Chromium, hunspell y Java (para las pruebas, el PDF y el EPUB)
	@$(AQUI) tools/sistema.sh

limpia:         ## borra lo construido (no el entorno)
	@$(AQUI) rm -rf book/_build

##@ Comprobar

rapida: entorno ## ejecuta lo que el cambio puede haber roto y dice qué no ha ejecutado (MIRA=1: solo lo dice)
	@$(AQUI) $(VENV) tools rapida $(if $(MIRA),--mira)

prueba: entorno ## ejecuta todas las pruebas (ATENTO_ENTERO=1: también lo que está sellado)
	@$(AQUI) tools/sistema.sh --si-puede
	@$(AQUI) $(VENV) tools/prueba.py

temblor: entorno ## ejecuta un capítulo como en otros procesadores y dice qué se rompe (CAPITULO=… VECES=20 IGUAL=1 CONTRA=…)
	@$(AQUI) $(VENV) tools temblor $(CAPITULO) --veces $(VECES) $(if $(IGUAL),--igual) $(if $(CONTRA),--contra "$(CONTRA)")

procesadores: entorno ## repite capítulos y biblioteca como en otros procesadores (SOLO=avx2)
	@$(AQUI) $(VENV) tools procesadores $(if $(SOLO),--solo "$(SOLO)")

mutantes: entorno ## estropea el código y cuenta cuántas faltas ven las pruebas (CARPETA=… CUANTOS=… SEMILLA=… MINIMO=90 RAPIDAS=1)
	@$(AQUI) $(VENV) tools mutantes --cuantos $(CUANTOS) --semilla $(SEMILLA) --minimo $(MINIMO) $(if $(RAPIDAS),--rapidas) $(CARPETA)

bancos: entorno ## mide velocidades, memoria y lo que bloquean las páginas (con el libro construido)
	@$(AQUI) for f in benchmarks/*.py; do $(VENV) $$f || exit 1; done

##@ Escribir

capitulo: entorno ## empieza un capítulo (N=6 NOMBRE=varias-cabezas PARTE=2-mecanismo TITULO="Varias cabezas"; si la parte es nueva, ROTULO=…)
	@$(AQUI) $(VENV) tools nuevo "$(N)" "$(NOMBRE)" "$(PARTE)" "$(TITULO)" $(if $(ROTULO),--rotulo "$(ROTULO)")

referencias: entorno ## acepta las salidas nuevas de los capítulos y muestra la diferencia (CAPITULO=…)
	@$(AQUI) $(VENV) tools referencias $(CAPITULO)

tiempos:        ## apunta los tiempos medidos de cada capítulo (CAPITULO=…)
	@$(AQUI) $(VENV) tools tiempos $(CAPITULO)

formato: entorno ## da al código el formato de todos: 100 columnas, importaciones en orden
	@$(AQUI) $(VENV) -m ruff check --select I --fix $(CODIGO) && $(VENV) -m ruff format $(CODIGO)

estilo: formato ## da formato al código y lo revisa con ruff
	@$(AQUI) $(VENV) -m ruff check $(CODIGO)

##@ Volver a entrenar

semillas: entorno ## repite las otras semillas, las ejecuciones largas y los modelos guardados (minutos)
	@$(AQUI) $(VENV) tools/semillas $(CAPITULO)

prosa: entorno  ## guarda la prosa del libro de ahora y repite los capítulos que aprenden de ella
	@$(AQUI) $(VENV) tools prosa

sumador: entorno ## entrena otra vez el Transformer que suma en la página y guarda sus pesos
	@$(AQUI) $(VENV) tools sumador
