/* Un dibujo, con su leyenda debajo, y al lado sus números. */
window.atentoExplorers.add(({h}) => ({
  beside: (drawing, numbers, legend) =>
    h("div", {class: "pair"}, h("div", {class: "picture"}, drawing, legend), h("div", {class: "numbers"}, numbers)),
}));
