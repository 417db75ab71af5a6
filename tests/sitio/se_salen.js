// Los elementos que ensanchan la página, sin los que se desplazan dentro de su caja.
() => {
  const limite = innerWidth + 1;
  const encerrado = (nodo) => {
    for (let caja = nodo.parentElement; caja; caja = caja.parentElement) {
      const recorta = ["auto", "scroll", "hidden"].includes(getComputedStyle(caja).overflowX);
      if (recorta && caja.getBoundingClientRect().right <= limite) return true;
    }
    return false;
  };
  return [...document.querySelectorAll("body *")]
    .filter((nodo) => nodo.getBoundingClientRect().right > limite && !encerrado(nodo))
    .slice(0, 4)
    .map((nodo) => `${nodo.tagName.toLowerCase()}.${nodo.className?.baseVal ?? nodo.className}: ${nodo.textContent.slice(0, 40)}`);
}
