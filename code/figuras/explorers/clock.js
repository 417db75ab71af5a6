/* Las agujas de dos posiciones y su producto escalar. La cuenta tiene su gemelo en clock.py. */
window.atentoExplorers.register("clock", (stage, data, root) => {
  const {h, svg, dot, number, slider, reading, vector} = window.atentoExplorers;
  const {speeds, places} = data;
  const state = {position: data.position, other: data.other};
  const last = places - 1;

  /* El seno y el coseno de cada aguja: la x y la y de su punta. */
  const rowOf = (place) => speeds.flatMap((speed) => [Math.sin(speed * place), Math.cos(speed * place)]);
  const table = Array.from({length: places}, (_, place) => rowOf(place));

  // ---- Los relojes ----------------------------------------------------------------------------
  const R = 44;
  const faces = speeds.map((speed) => {
    const hands = ["there", "here"].map((role) => svg("g", {class: `hand ${role}`}));
    const ticks = Array.from({length: 12}, (_, i) => {
      const [x, y] = [Math.sin((i * Math.PI) / 6), -Math.cos((i * Math.PI) / 6)];
      return svg("line", {class: "notch", x1: 38 * x, y1: 38 * y, x2: R * x, y2: R * y});
    });
    const node = h(
      "div",
      {class: "face"},
      svg("svg", {viewBox: "-50 -50 100 100", "aria-hidden": "true"}, svg("circle", {class: "rim", r: R}), ticks, hands),
      h("p", null, "una vuelta", h("br"), `cada ${number((2 * Math.PI) / speed, speed > 0.05 ? 1 : 0)}`),
    );
    return {speed, hands, node};
  });
  function turn({speed, hands}) {
    [state.other, state.position].forEach((place, i) => {
      const [x, y] = [32 * Math.sin(speed * place), -32 * Math.cos(speed * place)];
      const tip = i ? svg("circle", {cx: x, cy: y, r: 6}) : svg("rect", {x: x - 5, y: y - 5, width: 10, height: 10});
      hands[i].replaceChildren(svg("line", {x1: 0, y1: 0, x2: x, y2: y}), tip);
    });
  }

  // ---- A quién se parece ------------------------------------------------------------------------
  const WIDTH = 600,
    HEIGHT = 120,
    top = speeds.length;
  const across = (place) => (WIDTH * place) / last;
  const up = (value) => (HEIGHT * (top - value)) / (2 * top);
  const curve = svg("polyline", {"vector-effect": "non-scaling-stroke"});
  const line = (kind) => svg("line", {class: kind, y1: 0, y2: HEIGHT, "vector-effect": "non-scaling-stroke"});
  const marks = {position: line("here"), other: line("there")};
  const zero = svg("line", {class: "zero", x1: 0, x2: WIDTH, y1: up(0), y2: up(0), "vector-effect": "non-scaling-stroke"});
  const chart = svg(
    "svg",
    {class: "alike", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true"},
    zero,
    curve,
    Object.values(marks),
  );

  // ---- Mandos -------------------------------------------------------------------------------------
  const dials = Object.fromEntries(
    [
      ["position", "Posición"],
      ["other", "Otra posición"],
    ].map(([key, label]) => [
      key,
      slider({label, min: 0, max: last, step: 1, value: state[key], text: String, oninput: (x) => update({[key]: x})}),
    ]),
  );
  const both = (step) => () => update({position: state.position + step, other: state.other + step});
  const back = h("button", {type: "button", onclick: both(-1)}, "Atrasar las dos");
  const ahead = h("button", {type: "button", onclick: both(1)}, "Adelantar las dos");
  const rows = {position: h("div", {class: "code"}), other: h("div", {class: "code"})};
  const read = reading();
  stage.append(
    h("div", {class: "controls"}, dials.position.node, dials.other.node),
    h("div", {class: "controls"}, back, ahead),
    h("div", {class: "faces"}, faces.map((face) => face.node)),
    h("div", {class: "codes"}, rows.position, rows.other),
    h("p", {class: "footline"}, "Producto escalar de la fila ● con la de cada posición"),
    h("div", {class: "plotted"}, h("p", {class: "levels", "aria-hidden": "true"}, [top, 0, -top].map((v) => h("span", null, String(v).replace("-", "−")))), chart),
    h("p", {class: "scale"}, h("span", null, "0"), h("span", null, String(last))),
    read.node,
  );

  function update(change) {
    Object.assign(state, change);
    const {position, other} = state;
    const products = table.map((row) => dot(row, table[position]));
    faces.forEach(turn);
    curve.setAttribute("points", products.map((value, j) => `${across(j).toFixed(1)},${up(value).toFixed(1)}`).join(" "));
    for (const key of ["position", "other"]) {
      dials[key].set(state[key]);
      for (const side of ["x1", "x2"]) marks[key].setAttribute(side, across(state[key]));
      rows[key].replaceChildren(
        h("span", {class: "place"}, `${key === "other" ? "■" : "●"} ${state[key]}`),
        vector(table[state[key]], key === "other" ? "plain" : "position"),
      );
    }
    back.disabled = Math.min(position, other) === 0;
    ahead.disabled = Math.max(position, other) === last;
    const far = Math.abs(position - other);
    read.say(
      `Posiciones ${position} y ${other}, a distancia ${far}: su producto escalar es ${number(products[other])}. ` +
        `Cada fila consigo misma da ${top}.`,
    );
    root.atento = {
      state: {...state},
      values: {row: table[position], other_row: table[other], products, product: products[other]},
    };
  }
  update({});
});
