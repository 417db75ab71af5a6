/* Adónde baja un estado por la energía de una memoria de Hopfield. La cuenta tiene su gemelo en landscape.py. */
window.atentoExplorers.register("landscape", (stage, data, root) => {
  const {h, svg, dot, softmax, mix, number, button, disable, slider, cycle, gauge, field, beside, probe} = window.atentoExplorers;
  const {words, patterns, limits} = data;
  const state = {state: [...data.start], beta: data.beta};

  // ---- Las cuentas ----------------------------------------------------------------------------
  const square = (x) => dot(x, x);
  const FLOOR = Math.max(...patterns.map(square)) / 2;
  const weightsAt = (z, beta) => softmax(patterns.map((x) => beta * dot(x, z)));
  function energyAt(z, beta) {
    const scores = patterns.map((x) => beta * dot(x, z)),
      top = Math.max(...scores);
    const sum = scores.reduce((total, score) => total + Math.exp(score - top), 0);
    return square(z) / 2 + FLOOR - (top + Math.log(sum / patterns.length)) / beta;
  }
  const stepFrom = (z, beta) => mix(weightsAt(z, beta), patterns);
  const moved = (a, b) => Math.max(...a.map((x, i) => Math.abs(x - b[i])));
  function walk(z, beta) {
    const path = [z];
    while (path.length <= data.steps) {
      path.push(stepFrom(path.at(-1), beta));
      if (moved(path.at(-1), path.at(-2)) < data.tolerance) return {path, settled: true};
    }
    return {path, settled: false};
  }

  // ---- El terreno -----------------------------------------------------------------------------
  const CELLS = 62, // casillas de seis unidades justas: no quedan rendijas
    BANDS = 9;
  const [xMin, xMax, yMin, yMax] = limits;
  const board = field({label: "Plano con los recuerdos y el estado", limits});
  const {X, Y} = board;
  const [ground, trail, spots] = ["ground", "trail", "spots"].map(board.layer);
  const bands = Array.from({length: BANDS}, (_, k) => svg("path", {"fill-opacity": (0.62 * (1 - k / BANDS)).toFixed(3)}));
  ground.append(...bands);
  const side = (X(xMax) - X(xMin)) / CELLS;
  const spread = Array.from({length: CELLS}, (_, i) => (i + 0.5) / CELLS);
  /* Bandas de la misma energía, más oscuras cuanto más bajo; la raíz separa más las del fondo. */
  function paintGround(beta) {
    const heights = spread.map((v) => spread.map((u) => energyAt([xMin + u * (xMax - xMin), yMax - v * (yMax - yMin)], beta)));
    const low = Math.min(...heights.flat()),
      high = Math.max(...heights.flat());
    const bandOf = (E) => Math.min(BANDS - 1, Math.floor(BANDS * Math.sqrt((E - low) / (high - low))));
    const shapes = Array.from({length: BANDS}, () => []);
    heights.forEach((row, r) => {
      for (let c = 0, from = 0; c < CELLS; c++) {
        const k = bandOf(row[c]);
        if (c + 1 < CELLS && bandOf(row[c + 1]) === k) continue;
        shapes[k].push(`M${X(xMin) + from * side} ${Y(yMax) + r * side}h${(c + 1 - from) * side}v${side}H${X(xMin) + from * side}z`);
        from = c + 1;
      }
    });
    shapes.forEach((shape, k) => bands[k].setAttribute("d", shape.join("")));
  }
  function paintPath(path) {
    const line = path.map(([x, y]) => `${X(x).toFixed(1)},${Y(y).toFixed(1)}`).join(" ");
    trail.replaceChildren(
      svg("polyline", {points: line}),
      ...path.slice(1, -1).map(([x, y]) => svg("circle", {cx: X(x), cy: Y(y), r: 3})),
      svg("path", {class: "end", d: `M${X(path.at(-1)[0])} ${Y(path.at(-1)[1]) - 11}l11 11l-11 11l-11 -11z`}),
      svg("circle", {class: "state", cx: X(path[0][0]), cy: Y(path[0][1]), r: 8}),
    );
  }
  patterns.forEach(([x, y], i) => {
    const below = y <= Math.min(...patterns.map((p) => p[1]));
    spots.append(
      svg("rect", {x: X(x) - 7, y: Y(y) - 7, width: 14, height: 14}),
      svg("text", {x: X(x), y: Y(y) + (below ? 27 : -15), "text-anchor": "middle"}, words[i]),
    );
  });
  board.grip({
    role: "query",
    name: "Estado",
    start: data.start,
    point: () => state.state,
    moved: () => update({}),
  });

  // ---- Mandos ---------------------------------------------------------------------------------
  const log = Math.log2;
  const heat = slider({
    label: "β",
    min: log(data.betas[0]),
    max: log(data.betas[1]),
    step: 0.01,
    value: log(data.beta),
    text: (x) => number(2 ** x),
    oninput: (x) => update({beta: Math.min(data.betas[1], Math.max(data.betas[0], 2 ** x))}),
  });
  const forward = button("Dar un paso", () => update({state: stepFrom(state.state, state.beta)}));
  const reset = button("Volver al principio", () => {
    heat.set(log(data.beta));
    update({state: [...data.start], beta: data.beta});
  });
  const rows = words.map((word) => {
    const meter = gauge("weight");
    return {meter, node: h("div", {class: "line"}, h("span", {class: "word"}, word), meter.nodes)};
  });
  const drop = h("p", {class: "hush"});

  let painted;
  const {node, update} = cycle(root, state, () => {
    const {state: z, beta} = state;
    if (painted !== beta) paintGround((painted = beta));
    const {path, settled} = walk([...z], beta);
    paintPath(path);
    board.place();
    const end = path.at(-1),
      weights = weightsAt(end, beta),
      most = Math.max(...weights);
    rows.forEach(({meter}, i) => meter.set(weights[i], number(weights[i])));
    const energies = path.map((each) => energyAt(each, beta));
    drop.textContent = `La energía baja de ${number(energies[0])} a ${number(energies.at(-1))}.`;
    disable([[reset, false], [forward, moved(stepFrom(z, beta), z) < data.tolerance]]);
    const place = `(${end.map((x) => number(x)).join(", ")})`;
    const steps = path.length - 1,
      taken = `${steps} ${steps === 1 ? "paso" : "pasos"}`;
    const found = most >= data.recalled ? `recuerda «${words[weights.indexOf(most)]}»` : "es una mezcla, no un recuerdo";
    return {
      say: `Con β = ${number(beta)}, ${settled ? `se para tras ${taken}` : `tras ${taken} aún se mueve`}, en ${place}: ${found}.`,
      values: {path, energies, weights, settled},
    };
  });
  stage.append(
    beside(board.drawing, [
      h("p", {class: "hush"}, "Donde se para, cada recuerdo pesa"),
      rows.map((row) => row.node),
      drop,
      node,
      h("div", {class: "controls"}, heat.node, forward, reset),
    ]),
    probe(stage, "Arrastra el círculo con el dedo o el ratón, o elígelo con el tabulador y usa las flechas."),
  );
  update({});
});
