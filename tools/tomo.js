// De MathJax a MathML, y cada artículo como XHTML bien formado: lo que lee un lector de EPUB.
() => {
  for (const formula of document.querySelectorAll("mjx-container")) {
    const math = formula.querySelector("mjx-assistive-mml math");
    for (const nodo of [math, ...math.querySelectorAll("*")]) {
      for (const { name } of [...nodo.attributes]) if (name.startsWith("data-") || name === "style") nodo.removeAttribute(name);
    }
    formula.replaceWith(math);
  }
  const escribe = new XMLSerializer();
  return Object.fromEntries([...document.querySelectorAll("main > article")].map((a) => [a.id, escribe.serializeToString(a)]));
}
