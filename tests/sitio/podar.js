// axe mide el contraste de cada texto, y una página tiene miles con pocos estilos. Se deja el primer bloque de cada
// estilo (el suyo y el de todos sus antepasados, en claro y en oscuro): los demás darían lo mismo. Un bloque se queda
// entero, con el texto que rodea a sus enlaces.
() => {
  const raiz = document.documentElement, temas = ["light", "dark"];
  const QUE = ["color", "backgroundColor", "backgroundImage", "fontSize", "fontWeight", "opacity", "textDecorationLine",
    "textShadow", "filter", "display"];
  const claves = new Map();
  const clave = (nodo) => {
    if (!nodo) return "";
    if (!claves.has(nodo)) {
      const estilo = getComputedStyle(nodo);
      claves.set(nodo, [clave(nodo.parentElement), nodo.tagName, nodo.className?.baseVal ?? nodo.className,
        nodo.getAttribute("style"), ...QUE.map((que) => estilo[que])].join("|"));
    }
    return claves.get(nodo);
  };
  const bloque = (nodo) => {
    while (nodo.parentElement && getComputedStyle(nodo).display.startsWith("inline")) nodo = nodo.parentElement;
    return nodo;
  };

  const textos = [], andar = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (andar.nextNode()) if (andar.currentNode.data.trim()) textos.push(andar.currentNode.parentElement);
  const estilos = new Map(textos.map((nodo) => [nodo, ""]));
  for (const tema of temas) {
    raiz.dataset.theme = tema;
    claves.clear();
    for (const nodo of estilos.keys()) estilos.set(nodo, estilos.get(nodo) + clave(nodo));
  }
  raiz.dataset.theme = "light";

  const bloques = new Map();
  for (const [nodo, estilo] of estilos) {
    const suyo = bloque(nodo);
    if (!bloques.has(suyo)) bloques.set(suyo, new Set());
    bloques.get(suyo).add(estilo);
  }
  const vistos = new Set(), quedan = new Set();
  for (const [nodo, suyos] of bloques) {
    if ([...suyos].every((estilo) => vistos.has(estilo))) continue;
    for (const estilo of suyos) vistos.add(estilo);
    for (const dentro of nodo.querySelectorAll("*")) quedan.add(dentro);
    for (let n = nodo; n; n = n.parentElement) quedan.add(n);
  }
  // Se esconden, en vez de quitarse: el lugar entre sus hermanos también decide el estilo.
  for (const nodo of document.body.querySelectorAll("*"))
    if (!quedan.has(nodo) && quedan.has(nodo.parentElement)) nodo.style.setProperty("display", "none", "important");
}
