/* Las agujas de dos posiciones y su producto escalar. La cuenta tiene su gemelo en clock.py. */
window.atentoExplorers.register("clock", (stage, data, root) => {
  const {h, svg, dot, number, places: couple, chart, cycle} = window.atentoExplorers;
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
  const top = speeds.length;
  const plotted = chart({x: [0, last], y: [-top, top], levels: [top, 0, -top].map((value) => number(value, 0)), feet: ["0", String(last)]});

  // ---- Mandos -------------------------------------------------------------------------------------
  const dials = [["position", "Posición"], ["other", "Otra posición"]];
  const spots = couple({dials, last, state, update: (change) => update(change)});
  const rows = h("div", {class: "codes"});

  const {node, update} = cycle(root, state, () => {
    const {position, other} = state;
    const products = table.map((row) => dot(row, table[position]));
    faces.forEach(turn);
    plotted.draw([
      {kind: "zero", y: 0},
      {kind: "now", points: products.map((value, j) => [j, value])},
      {kind: "here", x: position},
      {kind: "there", x: other},
    ]);
    spots.set(position, other);
    rows.replaceChildren(spots.line(`● ${position}`, table[position], "position"), spots.line(`■ ${other}`, table[other], "plain"));
    const far = Math.abs(position - other);
    return {
      say: `Posiciones ${position} y ${other}, a distancia ${far}: su producto escalar es ${number(products[other])}. Cada fila consigo misma da ${top}.`,
      values: {row: table[position], other_row: table[other], products, product: products[other]},
    };
  });
  stage.append(
    ...spots.nodes,
    h("div", {class: "faces"}, faces.map((face) => face.node)),
    rows,
    h("p", {class: "hush"}, "Producto escalar de la fila ● con la de cada posición"),
    plotted.node,
    node,
  );
  update({});
});
