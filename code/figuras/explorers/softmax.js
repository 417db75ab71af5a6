/* De puntuaciones a pesos: temperatura y escala. La cuenta tiene su gemelo en softmax.py. */
window.atentoExplorers.register("softmax", (stage, data, root) => {
  const {h, svg, softmax, entropy, number, choice, slider, toggle, reading, probe} = window.atentoExplorers;
  const {
    scores,
    keys,
    queries,
    target,
    tolerance,
    range: [low, high],
  } = data;
  const rootOfD = Math.sqrt(data.dK);
  const state = {row: 0, temperature: 1, scaled: true};

  const weightsAt = (temperature) =>
    softmax(scores[state.row].map((score) => score / (temperature * (state.scaled ? rootOfD : 1))));
  /* Temperatura con dos decimales, o con tres cifras si es muy pequeña. */
  const degrees = (value) => number(value, value < 0.1 ? 3 : 2);

  // ---- Las barras -----------------------------------------------------------------------------------------------
  const bars = keys.map((key) => {
    const parts = {score: h("td"), weight: h("td", {class: "strong"}), fill: h("span", {class: "fill"})};
    parts.bar = h("span", {class: "bar weight", style: `--target:${100 * target}%`}, parts.fill);
    parts.node = h(
      "tr",
      null,
      h("th", {scope: "row"}, key),
      parts.score,
      h("td", {class: "wide"}, parts.bar),
      parts.weight,
    );
    return parts;
  });
  const table = h(
    "table",
    {class: "weights"},
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        h("th", {scope: "col"}, "clave"),
        h("th", {scope: "col"}, "puntuación"),
        h(
          "th",
          {scope: "col", class: "wide goal", style: `--target:${100 * target}%`},
          h("span", null, number(target)),
        ),
        h("th", {scope: "col"}, "peso"),
      ),
    ),
    h(
      "tbody",
      null,
      bars.map((bar) => bar.node),
    ),
  );

  // ---- Las curvas: cada peso según la temperatura ------------------------------------------------------------------
  const WIDTH = 600,
    HEIGHT = 120,
    POINTS = 90;
  const across = (temperature) => (WIDTH * (Math.log10(temperature) - low)) / (high - low);
  const up = (weight) => HEIGHT * (1 - weight);
  const curves = keys.map(() => svg("polyline", {"vector-effect": "non-scaling-stroke"}));
  const now = svg("line", {class: "now", y1: 0, y2: HEIGHT, "vector-effect": "non-scaling-stroke"});
  const goal = svg("line", {
    class: "goal",
    x1: 0,
    x2: WIDTH,
    y1: up(target),
    y2: up(target),
    "vector-effect": "non-scaling-stroke",
  });
  const chart = svg(
    "svg",
    {class: "curves", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true"},
    goal,
    curves,
    now,
  );
  function drag(event) {
    if (event.type === "pointermove" && !event.buttons) return;
    const box = chart.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    heat.set(low + share * (high - low));
    update({temperature: 10 ** Number(heat.input.value)});
  }
  chart.addEventListener("pointerdown", drag);
  chart.addEventListener("pointermove", drag);

  function drawCurves() {
    const samples = Array.from({length: POINTS + 1}, (_, i) => 10 ** (low + ((high - low) * i) / POINTS));
    const table = samples.map(weightsAt),
      top = scores[state.row].indexOf(Math.max(...scores[state.row]));
    curves.forEach((curve, j) => {
      curve.setAttribute(
        "points",
        samples.map((t, i) => `${across(t).toFixed(1)},${up(table[i][j]).toFixed(1)}`).join(" "),
      );
      curve.setAttribute("class", j === top ? "top" : "");
    });
  }

  // ---- Mandos y lectura -----------------------------------------------------------------------------------------------
  const heat = slider({
    label: "Temperatura",
    min: low,
    max: high,
    step: 0.005,
    value: 0,
    text: (x) => degrees(10 ** x),
    oninput: (x) => update({temperature: 10 ** x}),
  });
  const scale = toggle({
    label: `dividir entre √${data.dK} = ${number(rootOfD)}`,
    checked: true,
    oninput: (scaled) => update({scaled}),
  });
  const words =
    queries.length > 1 &&
    choice({
      label: "Consulta",
      className: "asking query",
      value: 0,
      options: queries,
      onchange: (row) => update({row}),
    });
  const verdict = h("p", {class: "verdict"}),
    read = reading();
  stage.append(
    ...[words && h("div", {class: "controls named"}, h("span", null, "Consulta"), words.node)].filter(
      Boolean,
    ),
    table,
    verdict,
    h(
      "div",
      {class: "dial"},
      h("p", {class: "axis"}, "Cada peso según la temperatura"),
      chart,
      heat.node,
      h(
        "p",
        {class: "ends"},
        h("span", null, `${degrees(10 ** low)}: decide`),
        h("span", null, `${degrees(10 ** high)}: iguala`),
      ),
    ),
    h("div", {class: "controls"}, scale.node),
    read.node,
    probe(stage, "Toca una barra para ver su número."),
  );

  function judge(top) {
    const gap = top - target;
    if (Math.abs(gap) <= tolerance)
      return [
        "reached",
        `✓ Conseguido: con temperatura ${degrees(state.temperature)} el peso mayor es ${number(top)}.`,
      ];
    return [
      "",
      `El peso mayor es ${number(top, 3)}. ${gap > 0 ? "Se pasa: sube la temperatura." : "No llega: baja la temperatura."}`,
    ];
  }

  function update(change) {
    Object.assign(state, change);
    const weights = weightsAt(state.temperature),
      top = Math.max(...weights),
      winner = keys[weights.indexOf(top)];
    bars.forEach((bar, j) => {
      bar.score.textContent = number(scores[state.row][j]);
      bar.weight.textContent = number(weights[j], 3);
      bar.fill.style.width = `${100 * weights[j]}%`;
      bar.node.dataset.tip = `«${queries[state.row]}» → «${keys[j]}»: puntuación ${number(scores[state.row][j], 3)}, peso ${number(weights[j], 4)}`;
      bar.node.classList.toggle("winner", weights[j] === top);
    });
    if (!("temperature" in change)) drawCurves();
    now.setAttribute("x1", across(state.temperature));
    now.setAttribute("x2", across(state.temperature));
    const [mood, text] = judge(top);
    verdict.className = `verdict ${mood}`;
    verdict.textContent = text;
    const spread = Math.exp(entropy(weights));
    read.say(
      `Gana «${winner}». La entropía es ${number(entropy(weights), 3)} nats, como repartir por igual entre ${number(spread, 1)} claves.`,
    );
    root.atento = {
      state: {...state},
      values: {weights, entropy: entropy(weights), reached: mood === "reached"},
    };
  }
  update({});
});
