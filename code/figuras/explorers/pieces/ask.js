/* El aviso de que lo escrito en un campo no puede ser: complain(frase) lo pone, y vacía, lo quita. */
window.atentoExplorers.add(({h}) => ({
  warning(root, field) {
    const node = h("p", {class: "problem", role: "alert", id: `${root.id}-aviso`, hidden: true});
    field.setAttribute("aria-describedby", node.id);
    const complain = (text) => {
      node.textContent = text;
      node.hidden = !text;
      field.ariaInvalid = Boolean(text);
    };
    return {node, complain};
  },
}));
