/* De puntuaciones a pesos: temperatura y escala. La cuenta tiene su gemelo en softmax.py. */
window.atentoExplorers.register("softmax", (stage, data, root) => {
  const {h, softmax, entropy, number, picker, slider, toggle, table, gauge, verdict, chart, cycle, probe} = window.atentoExplorers;
  const {scores, keys, queries, target, tolerance, range: [low, high]} = data;
  const rootOfD = Math.sqrt(data.dK);
  const state = {row: 0, temperature: 1, scaled: true};

  const weightsAt = (temperature) =>
    softmax(scores[state.row].map((score) => score / (temperature * (state.scaled ? rootOfD : 1))));
  /* Temperatura con dos decimales, o con tres cifras si es muy pequeña. */
  const degrees = (value) => number(value, value < 0.1 ? 3 : 2);

  // ---- Las barras y las curvas: cada peso, y cada peso según la temperatura --------------------------------------
  const bars = keys.map(() => ({score: h("td"), weight: h("td", {class: "strong"}), ...gauge("weight")}));
  const rows = keys.map((key, j) => ({cells: [key, bars[j].score, h("td", {class: "wide"}, bars[j].bar), bars[j].weight]}));
  const goal = h("th", {scope: "col", class: "wide goal"}, h("span", null, number(target)));
  const weighed = table(["clave", "puntuación", goal, "peso"], rows, {kind: "weights"});
  weighed.style.setProperty("--target", `${100 * target}%`);
  const lines = weighed.tBodies[0].rows;

  const POINTS = 90,
    powers = Array.from({length: POINTS + 1}, (_, i) => low + ((high - low) * i) / POINTS);
  const curves = chart({x: [low, high], y: [0, 1], onpick: (x) => heat.set(x) || update({temperature: 10 ** Number(heat.input.value)})});
  let traced;
  function trace(weights) {
    const samples = powers.map((power) => weightsAt(10 ** power)),
      top = weights.indexOf(Math.max(...weights));
    traced = keys.map((_, j) => ({kind: j === top ? "line" : "ghost", points: powers.map((power, i) => [power, samples[i][j]])}));
  }

  // ---- Mandos ------------------------------------------------------------------------------------------------------
  const heat = slider({label: "Temperatura", min: low, max: high, step: 0.005, value: 0, text: (x) => degrees(10 ** x), oninput: (x) => update({temperature: 10 ** x})});
  const scale = toggle({label: `dividir entre √${data.dK} = ${number(rootOfD)}`, checked: true, oninput: (scaled) => update({scaled})});
  const words = picker({label: "Consulta", className: "query", value: 0, options: queries, onchange: (row) => update({row})});
  const judged = verdict(),
    ends = [`${degrees(10 ** low)}: decide`, `${degrees(10 ** high)}: iguala`];

  function judge(top, reached) {
    if (reached) return `✓ Conseguido: con temperatura ${degrees(state.temperature)} el peso mayor es ${number(top)}.`;
    return `El peso mayor es ${number(top, 3)}. ${top > target ? "Se pasa: sube la temperatura." : "No llega: baja la temperatura."}`;
  }
  const {node, update} = cycle(root, state, (change) => {
    const weights = weightsAt(state.temperature),
      top = Math.max(...weights),
      winner = keys[weights.indexOf(top)],
      reached = Math.abs(top - target) <= tolerance;
    bars.forEach(({score, weight, set}, j) => {
      score.textContent = number(scores[state.row][j]);
      weight.textContent = number(weights[j], 3);
      set(weights[j]);
      lines[j].dataset.tip = `«${queries[state.row]}» → «${keys[j]}»: puntuación ${number(scores[state.row][j], 3)}, peso ${number(weights[j], 4)}`;
      lines[j].classList.toggle("winner", weights[j] === top);
    });
    if (!("temperature" in change)) trace(weights);
    curves.draw([{kind: "goal", y: target}, ...traced, {kind: "now", x: Math.log10(state.temperature)}]);
    judged.set(judge(top, reached), reached);
    const nats = entropy(weights);
    return {
      say: `Gana «${winner}». La entropía es ${number(nats, 3)} nats, como repartir por igual entre ${number(Math.exp(nats), 1)} claves.`,
      values: {weights, entropy: nats, reached},
    };
  });
  stage.append(
    h("div", {class: "controls"}, words.row),
    weighed,
    judged.node,
    h("div", {class: "dial"}, h("p", {class: "hush"}, "Cada peso según la temperatura"), curves.node, heat.node),
    h("p", {class: "hush ends"}, ends.map((text) => h("span", null, text))),
    h("div", {class: "controls"}, scale.node),
    node,
    probe(stage, "Toca una barra para ver su número."),
  );
  update({});
});
