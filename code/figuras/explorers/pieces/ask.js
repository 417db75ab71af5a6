/* El aviso de que lo escrito en un campo no puede ser: complain(frase, en cuál) lo pone, y vacía, lo quita. Si no se
   dice en cuál, es el primero. */
window.atentoExplorers.add(({h}) => ({
  warning(root, ...fields) {
    const node = h("p", {class: "problem", role: "alert", id: `${root.id}-aviso`, hidden: true});
    for (const one of fields) one.setAttribute("aria-describedby", node.id);
    const complain = (text, at = fields[0]) => {
      node.textContent = text;
      node.hidden = !text;
      at.ariaInvalid = Boolean(text);
    };
    return {node, complain};
  },
}));
