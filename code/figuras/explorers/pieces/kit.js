/* Lo que llevan casi todos los exploradores: elegir, dar pasos, contestar, pintar tras cada cambio y medir con barras. */
window.atentoExplorers.add(({h, button, disable, choice, reading}) => {
  /* El mismo grupo con su nombre delante; sin nada entre qué elegir, no se ve. */
  function picker(options) {
    const made = choice(options);
    return {...made, row: options.options.length > 1 && h("div", {class: "named"}, h("span", {class: "dial-name"}, options.label), made.node)};
  }

  /* En papel se ve el final, y al volver, el paso de antes: ends da el de ahora y el último, y go va a uno. */
  function printed(ends, go) {
    let before;
    addEventListener("beforeprint", () => {
      const [at, last] = ends();
      before = at;
      go(last);
    });
    addEventListener("afterprint", () => go(before));
  }

  /* Botones de paso. names dice cuáles hay (first, back, next, end) y qué pone en cada uno; go recibe el paso.
     set(at, last) apaga los que no llevan a ninguna parte. El que tiene end se imprime en su final. */
  function walk(names, go) {
    let at, last;
    const where = {first: () => 0, back: () => at - 1, next: () => at + 1, end: () => last};
    const keys = Object.keys(names),
      nodes = keys.map((key) => button(names[key], () => go(where[key]())));
    if (names.end) printed(() => [at, last], go);
    function set(now, most) {
      [at, last] = [now, most];
      disable(keys.map((key, i) => [nodes[i], key === "first" || key === "back" ? at <= 0 : at >= last]));
    }
    return {nodes, set};
  }

  /* Lo que se contesta a la pregunta; sin texto, no se ve. */
  function verdict() {
    const node = h("p", {class: "verdict"});
    return {
      node,
      set(text, reached) {
        node.hidden = !text;
        node.className = `verdict ${reached ? "reached" : ""}`;
        node.textContent = text;
      },
    };
  }

  /* El ciclo de un explorador: update(cambio) lo apunta en state, pinta, dice say y deja values donde los leen las
     pruebas. paint recibe el cambio y devuelve {say, values}, y en seen, lo que haya que decir de otro modo de state. */
  function cycle(root, state, paint) {
    const {node, say} = reading();
    function update(change) {
      Object.assign(state, change);
      const made = paint(change);
      say(made.say);
      root.atento = {state: {...state, ...made.seen}, values: made.values};
    }
    return {node, update, say};
  }

  /* Una barra de 0 a 1 y su número: set(parte, texto, desde), y desde es dónde empieza. kind "weight" es la de un peso. */
  function gauge(kind = "") {
    const fill = h("span", {class: "fill"}),
      bar = h("span", {class: `bar ${kind}`}, fill),
      tail = h("span", {class: "tail"});
    function set(share, text, from = 0) {
      fill.style.cssText = `left:${100 * from}%;width:${100 * share}%`;
      tail.textContent = text;
    }
    return {bar, tail, nodes: [bar, tail], set};
  }

  return {picker, printed, walk, verdict, cycle, gauge};
});
