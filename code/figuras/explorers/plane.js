/* Vectores en un plano que se mueven con ratón, dedo o flechas. La cuenta tiene su gemelo en plane.py. */
window.atentoExplorers.register("plane", (stage, data, root) => {
  const {h, svg, dot, softmax, mix, number, button, slider, gauge, cycle, probe, field, beside} = window.atentoExplorers;
  const {words, query_word: queryWord, self_index: selfIndex, limits, move, controls} = data;
  const [xMin, xMax, yMin, yMax] = limits;
  const SIZE = 400,
    PAD = 14;
  const initial = () => ({
    query: [...data.query],
    key: data.key.map((point) => [...point]),
    present: words.map(() => true),
    temperature: 1,
  });
  const state = initial();
  let taken = []; // cajas ocupadas del dibujo

  // ---- Las cuentas ----------------------------------------------------------------------------------------------
  function compute() {
    const {query, key, present, temperature} = state;
    const scores = key.map((k) => dot(query, k)),
      divided = scores.map((score, j) => (present[j] ? score / (Math.SQRT2 * temperature) : -Infinity));
    const weights = softmax(divided);
    return {scores, weights, output: mix(weights, key)};
  }
  /* Envolvente convexa: se recorren los puntos de izquierda a derecha, y vuelta, sin girar nunca a la derecha. */
  function hull(points) {
    const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const turn = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
    const half = (list) =>
      list.reduce((chain, point) => {
        while (chain.length > 1 && turn(chain.at(-2), chain.at(-1), point) <= 0) chain.pop();
        return [...chain, point];
      }, []);
    return [...half(sorted).slice(0, -1), ...half(sorted.reverse()).slice(0, -1)];
  }

  // ---- El dibujo ------------------------------------------------------------------------------------------------
  const board = field({label: "Plano con los vectores", limits, size: SIZE, pad: PAD});
  const {drawing, X, Y} = board;
  const [grid, area, strings, arrows, labels] = ["grid", "area", "strings", "arrows", "labels"].map(board.layer);
  const line = ([x, y], [toX, toY], more) => svg("line", {x1: X(x), y1: Y(y), x2: X(toX), y2: Y(toY), ...more});

  function drawGrid() {
    const step = xMax - xMin > 12 ? 2 : xMax - xMin > 5 ? 1 : 0.5;
    function ticks(from, to) {
      const first = Math.ceil(from / step);
      return Array.from({length: Math.floor(to / step) - first + 1}, (_, i) => (first + i) * step);
    }
    const rule = (at, from, to) => line(from, to, {class: at ? "" : "axis"});
    grid.append(
      ...ticks(xMin, xMax).map((x) => rule(x, [x, yMin], [x, yMax])),
      ...ticks(yMin, yMax).map((y) => rule(y, [xMin, y], [xMax, y])),
    );
    const [xName, yName] = data.axes;
    if (xName) grid.append(svg("text", {x: SIZE - PAD - 2, y: Y(0) + 16, "text-anchor": "end"}, `${xName} →`));
    if (yName) grid.append(svg("text", {x: X(0) + 7, y: PAD + 11}, `↑ ${yName}`));
  }

  /* La punta de cada flecha: círculo (consulta), cuadrado con rombo (clave y valor) o rombo grande (salida). */
  const diamond = (x, y, r, kind) => svg("path", {class: kind, d: `M${x} ${y - r}l${r} ${r}l${-r} ${r}l${-r} ${-r}z`});
  const TIPS = {
    query: (x, y) => svg("circle", {cx: x, cy: y, r: 8}),
    key: (x, y) => [svg("rect", {x: x - 7, y: y - 7, width: 14, height: 14}), diamond(x, y, 5, "inner")],
    value: (x, y) => diamond(x, y, 13),
  };
  function arrow(role, [x, y], text, faded) {
    const kind = `${role} ${faded ? "faded" : ""}`;
    arrows.append(svg("g", {class: kind}, line([0, 0], [x, y]), TIPS[role](X(x), Y(y))));
    label(kind, [x, y], text);
  }
  /* El rótulo, en la esquina de la punta donde menos estorba a lo ya puesto y no se sale del dibujo. */
  function label(kind, [x, y], text) {
    const width = 8.6 * text.length;
    const corner = (right, up) => ({x: X(x) + (right ? 11 : -11 - width), y: Y(y) + (up ? -24 : 8), width});
    const outside = (from, long) => Math.max(0, -from) + Math.max(0, from + long - SIZE);
    const overlap = (a, b) =>
      Math.max(0, Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x)) *
      Math.max(0, 18 - Math.abs(a.y - b.y));
    const cost = (box) =>
      taken.reduce((total, other) => total + overlap(box, other), 1000 * (outside(box.x, width) + outside(box.y, 16)));
    const [right, up] = [x >= 0, y >= 0];
    const corners = [corner(right, up), corner(!right, up), corner(right, !up), corner(!right, !up)];
    const best = corners.reduce((a, b) => (cost(b) < cost(a) ? b : a));
    taken.push(best);
    labels.append(svg("text", {x: best.x, y: best.y + 14, class: kind}, text));
  }

  function draw({weights, output}) {
    const {query, key, present} = state;
    for (const group of [area, strings, arrows, labels]) group.replaceChildren();
    taken = [query, output, ...key].map(([x, y]) => ({x: X(x) - 9, y: Y(y) - 9, width: 18}));
    const here = key.filter((_, j) => present[j]);
    const corners = hull(here).map(([x, y]) => `${X(x)},${Y(y)}`);
    area.append(svg("polygon", {points: corners.join(" ")}));
    words.forEach((word, j) => {
      if (present[j]) strings.append(line(output, key[j], {"stroke-width": 0.5 + 9 * weights[j]}));
      if (j !== selfIndex) arrow("key", key[j], word, !present[j]);
    });
    arrow("query", query, queryWord);
    if (here.length) arrow("value", output, "salida");
  }

  // ---- Mover ----------------------------------------------------------------------------------------------------
  function moved() {
    if (selfIndex !== null) state.key[selfIndex] = [...state.query];
    update({});
  }
  if (move.includes("key"))
    words.forEach((word, j) => {
      const point = () => state.key[j];
      if (j !== selfIndex) board.grip({role: "key", name: `vector de «${word}»`, start: data.key[j], point, moved});
    });
  if (move.includes("query"))
    board.grip({role: "query", name: `consulta de «${queryWord}»`, start: data.query, point: () => state.query, moved});

  // ---- La tabla y los mandos ------------------------------------------------------------------------------------
  const canLeave = controls.includes("words");
  const rows = words.map((word, j) => {
    const swap = () => update({present: state.present.map((on, i) => on !== (i === j))});
    const name = canLeave ? button(word, swap, {class: "word"}) : h("span", {class: "word"}, word);
    const score = h("span", {class: "tail"}),
      meter = gauge("weight");
    return {name, score, meter, node: h("div", {class: "line"}, name, score, meter.nodes)};
  });
  const marks = [["query", "consulta"], ["key", "clave y valor"], ["value", "salida"]].map(([role, text]) =>
    h("span", null, h("span", {class: `bullet ${role}`}), ` ${text}`),
  );
  const result = h("p", {class: "verdict"});
  const heat = slider({
    label: "Temperatura",
    min: -1,
    max: 1,
    step: 0.01,
    value: 0,
    text: (x) => number(10 ** x),
    oninput: (x) => update({temperature: 10 ** x}),
  });
  const reset = button("Volver al principio", () => {
    heat.set(0);
    update(initial());
  });

  const {node, update} = cycle(root, state, () => {
    const v = compute(),
      {present} = state;
    draw(v);
    board.place();
    rows.forEach(({name, score, meter, node}, j) => {
      score.textContent = number(v.scores[j]);
      meter.set(v.weights[j], present[j] ? number(v.weights[j]) : "—");
      node.classList.toggle("away", !present[j]);
      node.dataset.tip = `«${queryWord}» · «${words[j]}»: puntuación ${number(v.scores[j], 3)}, peso ${number(v.weights[j], 3)}`;
      if (canLeave) name.setAttribute("aria-pressed", present[j]);
    });
    const parts = words.flatMap((word, j) => (present[j] ? `${number(v.weights[j])}·${word}` : []));
    result.textContent = `salida = ${parts.join(" + ") || "nada"} = (${v.output.map((x) => number(x)).join(", ")})`;
    const most = Math.max(...v.weights);
    const top = words.filter((_, j) => most - v.weights[j] < 1e-9).map((word) => `«${word}»`); // varias, si empatan
    const pull = `La salida tira ${top.length > 1 ? "por igual" : "sobre todo"} hacia ${new Intl.ListFormat("es").format(top)}`;
    return {
      say: most > 0 ? `${pull} (${number(most)}).` : "No queda ninguna palabra a la que atender.",
      values: v,
    };
  });
  const heads = ["puntuación", "peso"].map((text) => h("span", {class: "tail"}, text));
  drawGrid();
  stage.append(
    beside(
      drawing,
      [
        canLeave && h("p", {class: "hush"}, "Toca una palabra para quitarla o ponerla en la frase."),
        h("div", {class: "line head hush"}, h("span", {class: "word"}), heads[0], h("span", {class: "bar"}), heads[1]),
        rows.map((row) => row.node),
        result,
        node,
        h("div", {class: "controls"}, controls.includes("temperature") && heat.node, reset),
      ],
      h("p", {class: "marks"}, marks, h("span", null, h("span", {class: "swatch"}), " mezclas posibles")),
    ),
    probe(stage, "Arrastra un punto con el dedo o el ratón, o elígelo con el tabulador y usa las flechas."),
  );
  update({});
});
