/* El texto de un fichero que viaja con el explorador: en la propia página o, en el sitio, en un guion que se pide
   al hacer falta. */
window.atentoExplorers.add(({h}) => ({
  async file(name) {
    const node = document.querySelector(`[data-atento-file="${name}"]`),
      read = () => node.textContent || window.atentoFiles?.[name],
      ask = (onload, onerror) => document.head.append(h("script", {src: node.dataset.url, onload, onerror}));
    if (!read()) await new Promise(ask);
    return read();
  },
}));
