/* Dos sitios de una fila, cada uno con su mando, y dos botones que los mueven a la vez. dials son [[nombre, rótulo],
   [nombre, rótulo]]; update recibe los sitios nuevos. set(uno, otro) pone los mandos donde están, y line(rótulo,
   números, papel, opciones) da una fila con el vector de un sitio. */
window.atentoExplorers.add(({h, slider, walk, vector}) => {
  const places = ({dials, last, state, update}) => {
    const names = dials.map(([name]) => name);
    const made = dials.map(([name, label]) =>
      slider({label, min: 0, max: last, step: 1, value: state[name], text: String, oninput: (x) => update({[name]: x})}),
    );
    let from = 0;
    const both = walk({back: "Atrasar las dos", next: "Adelantar las dos"}, (to) =>
      update(Object.fromEntries(names.map((name) => [name, state[name] + to - from]))),
    );
    function set(...spots) {
      made.forEach((dial, i) => dial.set(spots[i]));
      from = Math.min(...spots);
      both.set(from, from + last - Math.max(...spots)); // el de detrás llega hasta donde el de delante puede
    }
    const line = (text, values, role, options) =>
      h("div", {class: "spot-line"}, h("span", {class: "spot-name"}, text), vector(values, role, options));
    return {line, set, nodes: [h("div", {class: "controls"}, made.map(({node}) => node)), h("div", {class: "controls"}, both.nodes)]};
  };
  return {places};
});
