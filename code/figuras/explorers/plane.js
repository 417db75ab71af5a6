/* Vectores en un plano que se mueven con ratón, dedo o flechas. La cuenta tiene su gemelo en plane.py. */
window.atentoExplorers.register("plane", (stage, data, root) => {
  const {h, svg, dot, softmax, mix, number, slider, reading, probe, field} = window.atentoExplorers;
  const {
    words,
    queryWord,
    selfIndex,
    limits: [xMin, xMax, yMin, yMax],
  } = data;
  const SIZE = 400,
    PAD = 14;
  const tied = data.value === null;
  const copy = (points) => points.map((point) => [...point]);
  const initial = () => ({
    query: [...data.query],
    key: copy(data.key),
    value: tied ? null : copy(data.value),
    present: [...data.present],
    temperature: data.temperature,
  });
  const state = initial();
  let taken = []; // cajas ocupadas del dibujo

  // ---- Las cuentas ----------------------------------------------------------------------------------------------
  function compute() {
    const value = tied ? state.key : state.value;
    const scores = state.key.map((k) => dot(state.query, k));
    const divisor = (data.scale ? Math.SQRT2 : 1) * state.temperature;
    const weights = softmax(scores.map((score, j) => (state.present[j] ? score / divisor : -Infinity)));
    return {value, scores, weights, output: mix(weights, value)};
  }
  /* Envolvente convexa: se recorren los puntos de izquierda a derecha, y vuelta, sin girar nunca a la derecha. */
  function hull(points) {
    const sorted = copy(points).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const turn = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
    const half = (list) =>
      list.reduce((chain, point) => {
        while (chain.length > 1 && turn(chain.at(-2), chain.at(-1), point) <= 0) chain.pop();
        return [...chain, point];
      }, []);
    return [...half(sorted).slice(0, -1), ...half(sorted.reverse()).slice(0, -1)];
  }

  // ---- El dibujo ------------------------------------------------------------------------------------------------
  const board = field({label: "Plano con los vectores", limits: data.limits, size: SIZE, pad: PAD});
  const {drawing, X, Y} = board;
  const [grid, area, strings, arrows, labels] = ["grid", "area", "strings", "arrows", "labels"].map(board.layer);

  function drawGrid() {
    const span = xMax - xMin,
      step = span > 12 ? 2 : span > 5 ? 1 : 0.5;
    for (let at = Math.ceil(xMin / step) * step; at <= xMax; at += step)
      grid.append(
        svg("line", {
          x1: X(at),
          x2: X(at),
          y1: PAD,
          y2: SIZE - PAD,
          class: Math.abs(at) < 1e-9 ? "axis" : "",
        }),
      );
    for (let at = Math.ceil(yMin / step) * step; at <= yMax; at += step)
      grid.append(
        svg("line", {
          y1: Y(at),
          y2: Y(at),
          x1: PAD,
          x2: SIZE - PAD,
          class: Math.abs(at) < 1e-9 ? "axis" : "",
        }),
      );
    const [xName, yName] = data.axes;
    if (xName)
      grid.append(svg("text", {x: SIZE - PAD - 2, y: Y(0) + 16, "text-anchor": "end"}, `${xName} →`));
    if (yName) grid.append(svg("text", {x: X(0) + 7, y: PAD + 11}, `↑ ${yName}`));
  }

  /* La punta de cada papel: círculo (consulta), cuadrado (clave), rombo (valor), cuadrado con rombo (los dos). */
  const SHAPES = {
    query: (x, y) => [svg("circle", {cx: x, cy: y, r: 8})],
    key: (x, y) => [svg("rect", {x: x - 7, y: y - 7, width: 14, height: 14})],
    value: (x, y, r = 9) => [svg("path", {d: `M${x} ${y - r}l${r} ${r}l${-r} ${r}l${-r} ${-r}z`})],
    both: (x, y) => [
      ...SHAPES.key(x, y),
      ...SHAPES.value(x, y, 5).map((shape) => {
        shape.classList.add("inner");
        return shape;
      }),
    ],
    outcome: (x, y) => SHAPES.value(x, y, 13),
  };
  function arrow(role, [x, y], text, faded) {
    arrows.append(
      svg(
        "g",
        {class: `${role} ${faded ? "faded" : ""}`},
        svg("line", {x1: X(0), y1: Y(0), x2: X(x), y2: Y(y)}),
        SHAPES[role](X(x), Y(y)),
      ),
    );
    if (text) label(role, [x, y], text, faded);
  }
  /* El rótulo, en la esquina de la punta donde menos estorba a lo ya puesto y no se sale del dibujo. */
  function label(role, [x, y], text, faded) {
    const width = 8.6 * text.length,
      corner = (dx, dy) => ({x: X(x) + (dx > 0 ? 11 : -11 - width), y: Y(y) + (dy > 0 ? -24 : 8), width});
    const outside = (box) =>
      Math.max(0, -box.x) +
      Math.max(0, box.x + width - SIZE) +
      Math.max(0, -box.y) +
      Math.max(0, box.y + 16 - SIZE);
    const overlap = (a, b) =>
      Math.max(0, Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x)) *
      Math.max(0, 18 - Math.abs(a.y - b.y));
    const cost = (box) =>
      1000 * outside(box) + taken.reduce((total, other) => total + overlap(box, other), 0);
    const [right, up] = [x >= 0 ? 1 : -1, y >= 0 ? 1 : -1];
    const best = [corner(right, up), corner(-right, up), corner(right, -up), corner(-right, -up)].reduce(
      (a, b) => (cost(b) < cost(a) ? b : a),
    );
    taken.push(best);
    labels.append(svg("text", {x: best.x, y: best.y + 14, class: `${role} ${faded ? "faded" : ""}`}, text));
  }

  function draw(v) {
    for (const group of [area, strings, arrows, labels]) group.replaceChildren();
    taken = [state.query, v.output, ...state.key, ...v.value].map(([x, y]) => ({
      x: X(x) - 9,
      y: Y(y) - 9,
      width: 18,
    }));
    const here = v.value.filter((_, j) => state.present[j]);
    if (data.hull && here.length)
      area.append(
        svg("polygon", {
          points: hull(here)
            .map(([x, y]) => `${X(x)},${Y(y)}`)
            .join(" "),
        }),
      );
    const some = v.weights.some((weight) => weight > 0);
    v.value.forEach(
      (value, j) =>
        state.present[j] &&
        strings.append(
          svg("line", {
            x1: X(v.output[0]),
            y1: Y(v.output[1]),
            x2: X(value[0]),
            y2: Y(value[1]),
            "stroke-width": 0.5 + 9 * v.weights[j],
          }),
        ),
    );
    words.forEach((word, j) => {
      const away = !state.present[j];
      if (!tied) arrow("value", state.value[j], word, away);
      if (j !== selfIndex) arrow(tied ? "both" : "key", state.key[j], word, away);
    });
    arrow("query", state.query, queryWord);
    if (some) arrow("outcome", v.output, "salida");
  }

  // ---- Mover ----------------------------------------------------------------------------------------------------
  const NAMES = {query: "consulta", key: tied ? "vector" : "clave", value: "valor"};
  const grip = (role, j) =>
    board.grip({
      role,
      name: `${NAMES[role]} de «${role === "query" ? queryWord : words[j]}»`,
      start: role === "query" ? data.query : data[role][j],
      point: () => (role === "query" ? state.query : state[role][j]),
      moved() {
        if (role === "query" && selfIndex != null) state.key[selfIndex] = [...state.query];
        update();
      },
    });
  if (data.move.includes("value")) words.forEach((_, j) => grip("value", j));
  if (data.move.includes("key")) words.forEach((_, j) => j !== selfIndex && grip("key", j));
  if (data.move.includes("query")) grip("query");

  // ---- La tabla y los mandos ------------------------------------------------------------------------------------
  const canLeave = data.controls.includes("words");
  const rows = words.map((word, j) => {
    const parts = {
      score: h("span", {class: "tail"}),
      weight: h("span", {class: "tail strong"}),
      fill: h("span", {class: "fill"}),
    };
    parts.name = canLeave
      ? h(
          "button",
          {
            type: "button",
            class: "word",
            onclick: () => {
              state.present[j] = !state.present[j];
              update();
            },
          },
          word,
        )
      : h("span", {class: "word"}, word);
    parts.node = h(
      "div",
      {class: "line"},
      parts.name,
      parts.score,
      h("span", {class: "bar weight"}, parts.fill),
      parts.weight,
    );
    return parts;
  });
  const legend = h(
    "p",
    {class: "marks"},
    [
      ["query", "consulta"],
      ["key", tied ? "clave y valor" : "clave"],
      !tied && ["value", "valor"],
      tied && ["value", "salida"],
    ]
      .filter(Boolean)
      .map(([role, text]) => h("span", null, h("span", {class: `bullet ${role}`}), ` ${text}`)),
    data.hull && h("span", null, h("span", {class: "swatch"}), " mezclas posibles"),
  );
  const result = h("p", {class: "result"}),
    read = reading();
  const heat = slider({
    label: "Temperatura",
    min: -1,
    max: 1,
    step: 0.01,
    value: Math.log10(data.temperature),
    text: (x) => number(10 ** x),
    oninput: (x) => {
      state.temperature = 10 ** x;
      update();
    },
  });
  const reset = h(
    "button",
    {
      type: "button",
      onclick: () => {
        Object.assign(state, initial());
        heat.set(Math.log10(data.temperature));
        update();
      },
    },
    "Volver al principio",
  );

  drawGrid();
  stage.append(
    h(
      "div",
      {class: "pair"},
      h("div", {class: "picture"}, drawing, legend),
      h(
        "div",
        {class: "numbers"},
        canLeave && h("p", {class: "advice"}, "Toca una palabra para quitarla o ponerla en la frase."),
        h(
          "div",
          {class: "line head"},
          h("span", {class: "word"}),
          h("span", {class: "tail"}, "puntuación"),
          h("span", {class: "bar"}),
          h("span", {class: "tail"}, "peso"),
        ),
        rows.map((row) => row.node),
        result,
        read.node,
        h("div", {class: "controls"}, data.controls.includes("temperature") && heat.node, reset),
      ),
    ),
    probe(stage, "Arrastra un punto con el dedo o el ratón, o elígelo con el tabulador y usa las flechas."),
  );

  function update() {
    const v = compute();
    draw(v);
    board.place();
    rows.forEach((row, j) => {
      row.score.textContent = number(v.scores[j]);
      row.weight.textContent = state.present[j] ? number(v.weights[j]) : "—";
      row.fill.style.width = `${100 * v.weights[j]}%`;
      row.node.classList.toggle("away", !state.present[j]);
      row.node.dataset.tip = `«${queryWord}» · «${words[j]}»: puntuación ${number(v.scores[j], 3)}, peso ${number(v.weights[j], 3)}`;
      if (canLeave) row.name.setAttribute("aria-pressed", state.present[j]);
    });
    const place = `(${v.output.map((x) => number(x)).join(", ")})`;
    result.replaceChildren(
      "salida = ",
      words.filter((_, j) => state.present[j]).length
        ? words
            .flatMap((word, j) => (state.present[j] ? [`${number(v.weights[j])}·${word}`] : []))
            .join(" + ")
        : "nada",
      ` = ${place}`,
    );
    const most = Math.max(...v.weights);
    const top = words.filter((_, j) => most - v.weights[j] < 1e-9); // con empate, todas las que empatan
    const named = top.map((word) => `«${word}»`);
    const list = named.length > 1 ? `${named.slice(0, -1).join(", ")} y ${named.at(-1)}` : named[0];
    const pull = named.length > 1 ? "por igual" : "sobre todo";
    read.say(
      most > 0
        ? `La salida tira ${pull} hacia ${list} (${number(most)}).`
        : "No queda ninguna palabra a la que atender.",
    );
    root.atento = {state: structuredClone(state), values: v};
  }
  update();
});
