// axe recorre el árbol entero, y una página tiene decenas de miles de nodos salidos de pocos moldes: fórmulas, código
// coloreado, figuras, tablas y fichas de la biblioteca. Se dejan los primeros ejemplares de cada uno.
() => {
  const vaciar = (selector, cuantos) => {
    for (const nodo of [...document.querySelectorAll(selector)].slice(cuantos)) nodo.textContent = nodo.textContent.slice(0, 20);
  };
  vaciar("math", 8);
  vaciar("div.highlight pre", 4);
  vaciar("figure svg, .cell_output svg:not(button svg)", 2);
  vaciar("dl.py > dd", 12);
  vaciar("dl.py > dt", 12);
  [...document.querySelectorAll("details[open]")].slice(4).forEach((caja) => { caja.open = false; });
  for (const fila of [...document.querySelectorAll("article tr")].slice(40)) fila.remove();
}
