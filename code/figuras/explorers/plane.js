/* Vectores en un plano que se mueven con ratón, dedo o flechas. La cuenta tiene su gemelo en plane.py. */
window.atentoExplorers.register("plane", (stage, data, root) => {
  const {h, svg, dot, softmax, mix, number, button, slider, gauge, cycle, probe, field, beside} = window.atentoExplorers;
  const {words, query_word: queryWord, self_index: selfIndex, limits, move, controls} = data;
  const [xMin, xMax, yMin, yMax] = limits;
  /* Con selfIndex, la consulta y la clave de esa palabra son el mismo punto. */
  function initial() {
    const key = data.key.map((point) => [...point]);
    return {query: key[selfIndex] ?? [...data.query], key, present: words.map(() => true), temperature: 1};
  }
  const state = initial();

  // ---- Las cuentas ----------------------------------------------------------------------------------------------
  function compute() {
    const {query, key, present, temperature} = state;
    const scores = key.map((k) => dot(query, k)),
      weights = softmax(scores.map((score, j) => (present[j] ? score / (Math.SQRT2 * temperature) : -Infinity)));
    return {scores, weights, output: mix(weights, key)};
  }
  /* Envolvente convexa: se recorren los puntos de izquierda a derecha, y vuelta, sin girar nunca a la derecha. */
  function hull(points) {
    const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const turn = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
    return [sorted, [...sorted].reverse()].flatMap((list) => {
      const chain = [];
      for (const point of list) {
        while (chain.length > 1 && turn(chain.at(-2), chain.at(-1), point) <= 0) chain.pop();
        chain.push(point);
      }
      return chain.slice(0, -1);
    });
  }

  // ---- El dibujo ------------------------------------------------------------------------------------------------
  const board = field({label: "Plano con los vectores", limits});
  const {X, Y, drawing} = board,
    {width: SIZE} = drawing.viewBox.baseVal;
  const [grid, area, strings, arrows, labels] = ["grid", "area", "strings", "arrows", "labels"].map(board.layer);
  const line = ([x, y], [toX, toY], more) => svg("line", {x1: X(x), y1: Y(y), x2: X(toX), y2: Y(toY), ...more});

  /* La cuadrícula, que no cambia. */
  const step = xMax - xMin > 12 ? 2 : xMax - xMin > 5 ? 1 : 0.5;
  const first = (low) => step * Math.ceil(low / step);
  const rule = (at, from, to) => grid.append(line(from, to, {class: at ? "" : "axis"}));
  for (let x = first(xMin); x <= xMax; x += step) rule(x, [x, yMin], [x, yMax]);
  for (let y = first(yMin); y <= yMax; y += step) rule(y, [xMin, y], [xMax, y]);
  const [xName, yName] = data.axes;
  if (xName) grid.append(svg("text", {x: X(xMax) - 2, y: Y(0) + 16, "text-anchor": "end"}, `${xName} →`));
  if (yName) grid.append(svg("text", {x: X(0) + 7, y: Y(yMax) + 11}, `↑ ${yName}`));

  /* La punta de cada flecha: círculo (consulta), cuadrado con rombo (clave y valor) o rombo grande (salida). */
  const circle = (x, y) => svg("circle", {cx: x, cy: y, r: 8});
  const diamond = (x, y, r = 13, kind = null) =>
    svg("path", {class: kind, d: `M${x} ${y - r}l${r} ${r}l${-r} ${r}l${-r} ${-r}z`});
  const square = (x, y) => [svg("rect", {x: x - 7, y: y - 7, width: 14, height: 14}), diamond(x, y, 5, "inner")];

  /* El rótulo, en la esquina de la punta donde menos estorba a lo ya puesto y no se sale del dibujo. */
  function label(taken, kind, [x, y], text) {
    const width = 8.6 * text.length,
      [right, up] = [x >= 0, y >= 0];
    const corner = ([toRight, toUp]) => ({x: X(x) + (toRight ? 11 : -11 - width), y: Y(y) + (toUp ? -24 : 8), width});
    const outside = (from, long) => Math.max(0, -from) + Math.max(0, from + long - SIZE);
    const overlap = (a, b) =>
      Math.max(0, Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x)) *
      Math.max(0, 18 - Math.abs(a.y - b.y));
    const cost = (box) =>
      taken.reduce((total, other) => total + overlap(box, other), 1000 * (outside(box.x, width) + outside(box.y, 16)));
    const corners = [[right, up], [!right, up], [right, !up], [!right, !up]].map(corner);
    const [best] = corners.sort((a, b) => cost(a) - cost(b));
    taken.push(best);
    labels.append(svg("text", {x: best.x, y: best.y + 14, class: kind}, text));
  }

  function draw({weights, output}) {
    const {query, key, present} = state;
    for (const group of [area, strings, arrows, labels]) group.replaceChildren();
    const taken = [query, output, ...key].map(([x, y]) => ({x: X(x) - 9, y: Y(y) - 9, width: 18})); // cajas ocupadas
    function arrow(kind, tip, end, text) {
      arrows.append(svg("g", {class: kind}, line([0, 0], end), tip(X(end[0]), Y(end[1]))));
      label(taken, kind, end, text);
    }
    const here = key.filter((_, j) => present[j]);
    area.append(svg("polygon", {points: hull(here).map(([x, y]) => `${X(x)},${Y(y)}`).join(" ")}));
    words.forEach((word, j) => {
      if (present[j]) strings.append(line(output, key[j], {"stroke-width": 0.5 + 9 * weights[j]}));
      if (j !== selfIndex) arrow(present[j] ? "key" : "key faded", square, key[j], word);
    });
    arrow("query", circle, query, queryWord);
    if (here.length) arrow("value", diamond, output, "salida");
  }

  // ---- Mover ----------------------------------------------------------------------------------------------------
  const grip = (role, name, start, point) => board.grip({role, name, start, point, moved: () => update({})});
  if (move.includes("key"))
    words.forEach((word, j) => {
      if (j !== selfIndex) grip("key", `vector de «${word}»`, data.key[j], () => state.key[j]);
    });
  if (move.includes("query")) grip("query", `consulta de «${queryWord}»`, data.query, () => state.query);

  // ---- La tabla y los mandos ------------------------------------------------------------------------------------
  const canLeave = controls.includes("words"),
    span = (kind, text) => h("span", {class: kind}, text);
  const rows = words.map((word, j) => {
    const swap = () => update({present: state.present.map((on, i) => on !== (i === j))});
    const name = canLeave ? button(word, swap, {class: "word"}) : span("word", word),
      score = span("tail score"),
      meter = gauge("weight");
    return {name, score, meter, node: h("div", {class: "line"}, name, score, meter.nodes)};
  });
  const result = h("p", {class: "verdict"});
  const degrees = (x) => number(10 ** x),
    warm = (x) => update({temperature: 10 ** x});
  const heat = slider({label: "Temperatura", min: -1, max: 1, step: 0.01, value: 0, text: degrees, oninput: warm});
  const reset = button("Volver al principio", () => update(initial()));

  const {node, update} = cycle(root, state, () => {
    const v = compute(),
      {present} = state;
    draw(v);
    board.place();
    heat.set(Math.log10(state.temperature));
    rows.forEach(({name, score, meter, node}, j) => {
      score.textContent = number(v.scores[j]);
      meter.set(v.weights[j], present[j] ? number(v.weights[j]) : "—");
      node.dataset.tip = `«${queryWord}» · «${words[j]}»: puntuación ${number(v.scores[j], 3)}, peso ${number(v.weights[j], 3)}`;
      if (canLeave) name.ariaPressed = present[j];
    });
    const parts = words.flatMap((word, j) => (present[j] ? `${number(v.weights[j])}·${word}` : []));
    result.textContent = `salida = ${parts.join(" + ") || "nada"} = (${v.output.map((x) => number(x)).join(", ")})`;
    const most = Math.max(...v.weights);
    if (!most) return {say: "No queda ninguna palabra a la que atender.", values: v};
    const top = words.filter((_, j) => most - v.weights[j] < 1e-9).map((word) => `«${word}»`); // varias, si empatan
    const pull = `La salida tira ${top.length > 1 ? "por igual" : "sobre todo"} hacia ${new Intl.ListFormat("es").format(top)}`;
    return {say: `${pull} (${number(most)}).`, values: v};
  });
  const heads = [span("word"), span("tail score", "puntuación"), span("bar"), span("tail", "peso")];
  const numbers = [
    canLeave && h("p", {class: "hush"}, "Toca una palabra para quitarla o ponerla en la frase."),
    h("div", {class: "line head hush"}, heads),
    rows.map((row) => row.node),
    result,
    node,
    h("div", {class: "controls"}, controls.includes("temperature") && heat.node, reset),
  ];
  const mark = (kind, text) => h("span", null, span(kind), ` ${text}`);
  const roles = Object.entries({query: "consulta", key: "clave y valor", value: "salida"});
  const legend = [roles.map(([role, text]) => mark(`bullet ${role}`, text)), mark("swatch", "mezclas posibles")];
  stage.append(
    beside(drawing, numbers, h("p", {class: "marks"}, legend)),
    probe(stage, "Arrastra un punto con el dedo o el ratón, o elígelo con el tabulador y usa las flechas."),
  );
  update({});
});
