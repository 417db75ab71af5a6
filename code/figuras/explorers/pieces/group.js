/* Opciones cuyo número cambia: set(opciones, elegida, rótulo) las pone, cada una un texto o una lista de nodos y textos;
   rótulo dice, si no es lo que se ve, cómo se lee en voz alta la de sitio i. */
window.atentoExplorers.add(({h, choice}) => ({
  group(label, onchange) {
    const node = h("div");
    let inner;
    function set(options, at, describe = () => null) {
      if (inner?.buttons.length !== options.length) node.replaceChildren((inner = choice({label, options, value: at, onchange})).node);
      inner.buttons.forEach((one, i) => {
        one.replaceChildren(...[options[i]].flat());
        one.ariaLabel = describe(i);
      });
      inner.pick(at);
    }
    return {node, set};
  },
}));
