// Cada artículo como XHTML bien formado: lo que lee un lector de EPUB.
() => {
  for (const nodo of document.querySelectorAll("math, math *")) nodo.removeAttribute("style");
  const escribe = new XMLSerializer();
  return Object.fromEntries([...document.querySelectorAll("main > article")].map((a) => [a.id, escribe.serializeToString(a)]));
}
