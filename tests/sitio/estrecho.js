// Lo que en una pantalla estrecha se corta: fórmulas, tablas, palabras partidas y rótulos de figura.
() => {
  const faltas = [];
  const visible = (nodo) => nodo.getClientRects().length > 0;
  const decir = (que, nodo) => faltas.push(`${que}: ${(nodo.closest("[id]")?.id ?? "")} ${nodo.textContent.trim().replace(/\s+/g, " ").slice(0, 40)}`);
  const articulo = document.querySelector("article") ?? document.body;

  for (const formula of articulo.querySelectorAll(".formula"))
    if (visible(formula) && formula.scrollWidth > formula.clientWidth + 1) decir("fórmula cortada", formula);
  for (const formula of articulo.querySelectorAll("span.math > math"))
    for (const caja of formula.getClientRects())
      if (visible(formula) && (caja.right > innerWidth || caja.left < 0)) { decir("fórmula en línea que se sale", formula); break; }
  for (const tabla of articulo.querySelectorAll("table")) {
    const caja = tabla.parentElement;
    if (visible(tabla) && tabla.getBoundingClientRect().right > caja.getBoundingClientRect().right + 1) decir("tabla cortada", tabla);
  }

  // Una palabra que ocupa dos renglones está partida, salvo que ella sola no quepa en su caja.
  const tramo = document.createRange();
  for (const nodo of articulo.querySelectorAll("td, th, code, figcaption, h1, h2, h3")) {
    if (!visible(nodo) || nodo.closest("pre, math, .visually-hidden")) continue;
    const andar = document.createTreeWalker(nodo, NodeFilter.SHOW_TEXT);
    while (andar.nextNode()) {
      const texto = andar.currentNode;
      if (texto.parentElement.closest("math, pre, script, style, svg")) continue;
      for (const palabra of texto.data.matchAll(/[\p{L}\d]{4,}/gu)) {
        tramo.setStart(texto, palabra.index);
        tramo.setEnd(texto, palabra.index + palabra[0].length);
        const renglones = new Set([...tramo.getClientRects()].map((r) => Math.round(r.top)));
        if (renglones.size > 1) decir(`palabra partida «${palabra[0]}»`, nodo);
      }
    }
  }
  for (const dibujo of articulo.querySelectorAll("figure svg")) {
    if (!visible(dibujo)) continue;
    const marco = dibujo.getBoundingClientRect();
    for (const rotulo of dibujo.querySelectorAll("text")) {
      const caja = rotulo.getBoundingClientRect();
      if (caja.left < marco.left - 2 || caja.right > marco.right + 2) decir("rótulo cortado", rotulo);
    }
  }
  for (const caja of articulo.querySelectorAll("pre, .pst-scrollable-table-container, .text_html"))
    if (visible(caja) && caja.scrollWidth > caja.clientWidth + 1 && !caja.classList.contains("sigue-derecha")) decir("se desplaza y no lo dice", caja);
  return [...new Set(faltas)].slice(0, 12);
}
