#!/usr/bin/env bash
# Instala Chromium y hunspell, que usan las pruebas del sitio y de la ortografía, y Java, que usa la del EPUB.
# Chromium hace además el PDF y el EPUB.
# Con --si-puede calla y sigue cuando no tiene permiso: las pruebas dirán qué falta.
set -u
si_puede=${1:-}
falta=()
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || falta+=(chromium)
command -v hunspell >/dev/null || falta+=(hunspell)
if command -v hunspell >/dev/null; then
  hunspell -D </dev/null 2>&1 | grep -q 'es_ES' || falta+=(hunspell-es)
else
  falta+=(hunspell-es)
fi
java -version >/dev/null 2>&1 || falta+=(default-jre-headless)
[ ${#falta[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
  echo "Faltan: ${falta[*]}. Instálalos con el gestor de paquetes de tu sistema (macOS: brew install --cask chromium; brew install hunspell openjdk)."
  [ -n "$si_puede" ] && exit 0 || exit 1
fi
if [ "$(id -u)" -eq 0 ]; then como=()
elif sudo -n true 2>/dev/null; then como=(sudo -n)
elif [ -n "$si_puede" ]; then echo "Faltan ${falta[*]}: ejecuta «make sistema» (pedirá tu contraseña)."; exit 0
else como=(sudo)
fi
echo "Instalando ${falta[*]}…"
"${como[@]}" apt-get update -qq && DEBIAN_FRONTEND=noninteractive "${como[@]}" apt-get install -y -qq --no-install-recommends "${falta[@]}" >/dev/null
