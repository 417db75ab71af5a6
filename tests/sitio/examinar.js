// Lo que hay que saber de una página compuesta; recibe los rótulos ingleses que no deben quedar.
(rotulos) => {
  const ATRIBUTOS = ["aria-label", "title", "placeholder", "alt", "data-tooltip", "data-bs-title", "data-bs-original-title"];
  const FUERA = "code, pre, kbd, samp, script, style, noscript, template, math, svg, .citation, dl.py > dt, " +
    ".highlight, .cell_input, .cell_output";
  const esEspanol = (nodo) => (nodo.closest("[lang]")?.lang ?? "es") === "es";
  const palabra = new RegExp("^(?:" + rotulos.join("|") + ")(?!\\p{L})", "u");
  const sinTraducir = [], sinComponer = [];

  const andar = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (andar.nextNode()) {
    const texto = andar.currentNode.data.trim(), padre = andar.currentNode.parentElement;
    if (!texto || padre.closest(FUERA)) continue;
    if (esEspanol(padre) && palabra.test(texto)) sinTraducir.push("texto: " + texto.slice(0, 60));
    if (/\$|\\\(|\\\[|\\(?:frac|sqrt|mathbb|operatorname)/.test(texto)) sinComponer.push(texto.slice(0, 60));
  }
  for (const nodo of document.querySelectorAll(ATRIBUTOS.map((a) => `[${a}]`).join(","))) {
    if (!esEspanol(nodo)) continue;
    for (const nombre of ATRIBUTOS) {
      const valor = nodo.getAttribute(nombre)?.trim();
      if (valor && palabra.test(valor)) sinTraducir.push(nombre + ": " + valor.slice(0, 60));
    }
  }
  for (const formula of document.querySelectorAll(".math"))
    if (!formula.querySelector("math")) sinComponer.push(formula.textContent.slice(0, 60));

  const errores = [...document.querySelectorAll("merror, .math code, math:empty")];
  return {
    ingles: sinTraducir,
    tex_sin_componer: sinComponer,
    formulas: document.querySelectorAll("math").length,
    formulas_mal: errores.map((nodo) => nodo.textContent || "vacía"),
    botones_de_copia: document.querySelectorAll("button.copybtn").length,
    bloques_de_codigo: document.querySelectorAll("div.highlight pre").length,
  };
}
