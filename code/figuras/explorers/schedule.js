/* La tasa de cada paso y la pérdida que dejó. La cuenta de la tasa tiene su gemelo en schedule.py. */
window.atentoExplorers.register("schedule", (stage, data, root) => {
  const {h, svg, number, choice, reading} = window.atentoExplorers;
  const {axes, runs, steps, window: span, score, ask} = data;
  const state = {at: [...data.start]},
    tried = new Set(); // lo que ya se ha visto

  // ---- Las cuentas ----------------------------------------------------------------------------
  const place = (at) => axes.reduce((total, {values}, i) => total * values.length + at[i], 0);
  const chosen = (at) => Object.fromEntries(axes.map(({key, values}, i) => [key, values[at[i]]]));
  const ROUND = {
    none: () => 1,
    constant: (s, w) => (w ? Math.min(1, (s + 1) / w) : 1),
    noam: (s, w) => Math.min(Math.sqrt(Math.max(1, w) / (s + 1)), (s + 1) / Math.max(1, w)),
    cosine: (s, w) => (s < w ? (s + 1) / w : (1 + Math.cos((Math.PI * (s - w)) / Math.max(1, steps - w))) / 2),
    stable: (s, w) => (s < w ? (s + 1) / w : Math.min(1, (steps - 1 - s) / data.falling)),
  };
  function rates(at) {
    const {schedule, warmup, rate} = chosen(at);
    return Array.from({length: steps}, (_, s) => rate * ROUND[schedule](s, warmup));
  }
  const mean = (values) => values.reduce((a, b) => a + b) / values.length;
  const bandOf = (run) => run.band.map((row) => row.map((cents) => (cents === null ? NaN : cents / 100)));

  // ---- Los dibujos ----------------------------------------------------------------------------
  const WIDTH = 600,
    HEIGHT = 150,
    GAP = 11, // lo que se apartan dos nombres, en partes de cien de la altura
    STILL = {"vector-effect": "non-scaling-stroke"};
  const top = Math.ceil(Math.max(...runs.flatMap((run) => run.band[2]).filter((x) => x !== null)) / 100);
  const point = (x, y, most) => `${(WIDTH * x).toFixed(1)},${(HEIGHT * (1 - y / most)).toFixed(1)}`;
  const trace = (values, most, kind) =>
    svg("polyline", {
      class: kind,
      points: values
        .map((y, i) => (Number.isNaN(y) ? "" : point((i + 0.5) / values.length, y, most)))
        .filter(Boolean)
        .join(" "),
      ...STILL,
    });
  function panel(title, highest) {
    const chart = svg("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true"});
    const most = h("span", null, highest),
      names = h("div", {class: "names", "aria-hidden": "true"});
    const node = h(
      "div",
      {class: "panel"},
      h("p", {class: "panel-name"}, title),
      h("div", {class: "plot"}, h("p", {class: "heights", "aria-hidden": "true"}, most, h("span", null, "0")), chart, names),
      h("p", {class: "feet", "aria-hidden": "true"}, h("span", null, "paso 1"), h("span", null, String(steps))),
    );
    return {node, chart, most, names};
  }
  const above = panel("Tasa de cada paso", ""),
    below = panel("Pérdida: la media de las semillas y, en banda, la menor y la mayor", String(top));
  function area([low, , high]) {
    const seen = low.map((_, i) => i).filter((i) => !Number.isNaN(low[i]));
    const along = (row, i) => point((i + 0.5) / low.length, row[i], top);
    const points = [...seen.map((i) => along(high, i)), ...seen.reverse().map((i) => along(low, i))];
    return svg("polygon", {class: "band", points: points.join(" ")});
  }

  /* El nombre de cada curva, a la altura en que acaba; los que caerían juntos se apartan. */
  function nameEnds(panel, ends, most) {
    const placed = ends.map(([i, y]) => ({i, y: 100 * Math.min(1, y / most)})).sort((a, b) => a.y - b.y);
    placed.forEach((one, k) => k && (one.y = Math.max(one.y, placed[k - 1].y + GAP)));
    const over = Math.max(0, placed.at(-1).y - 100);
    panel.names.replaceChildren(
      ...placed.map(({i, y}) => h("span", {class: i === state.at[0] ? "here" : "", style: `bottom:${y - over}%`}, axes[0].names[i].split(", ").pop())),
    );
  }

  // ---- Mandos ---------------------------------------------------------------------------------
  const dials = axes.map(({label, values, names}, i) =>
    choice({
      label,
      value: state.at[i],
      options: names,
      onchange: (value) => update(state.at.map((old, j) => (j === i ? value : old))),
    }),
  );
  const mandos = axes.map(
    ({label, values}, i) => values.length > 1 && h("div", {class: "named"}, h("span", {class: "dial-name"}, label), dials[i].node),
  );
  const dots = h("span", {class: "track"}),
    amount = h("b"),
    verdict = h("p", {class: "verdict"}),
    board = h("table", {class: "board"}),
    read = reading();
  const WHAT = {exact: "Frases nuevas bien traducidas", held_out: "Pérdida en frases nuevas"}[score];
  stage.append(
    h("div", {class: "dials"}, mandos),
    h("div", {class: "panels"}, above.node, below.node),
    h("p", {class: "ghosts"}, "En gris, los demás calendarios, con lo demás igual. La pérdida, en nats por palabra."),
    h("div", {class: "final"}, h("span", null, `${WHAT}, una marca por semilla: `, amount), dots),
    board,
    verdict,
    read.node,
  );

  // ---- Decirlo --------------------------------------------------------------------------------
  const told = (value) => (score === "exact" ? `${Math.round(100 * value)}\u00a0%` : number(value));
  const widest = score === "exact" ? 1 : Math.max(...runs.flatMap((run) => run.scores));
  const small = (rate) => Number(rate.toPrecision(2)).toString();
  const ending = (rate, most) => (rate > 0 && rate < most / 1000 ? "casi 0" : small(rate));
  const named = (at) =>
    axes
      .map(({key, values, names}, i) =>
        values.length === 1 ? "" : key === "rate" ? `tasa ${names[at[i]]}` : key === "warmup" ? (values[at[i]] ? `${names[at[i]]} de subida` : "sin subida") : names[at[i]],
      )
      .filter(Boolean)
      .join(", ");
  function judge(run, reached) {
    const fallen = run.diverged ? ` De ${run.scores.length} semillas, ${run.diverged} no ${run.diverged > 1 ? "llegan" : "llega"} al final.` : "";
    if (reached) return `✓ Conseguido: ${told(mean(run.scores))}. Ninguna otra combinación le saca ventaja de verdad.${fallen}`;
    return `Aquí, ${told(mean(run.scores))}. Hay otra combinación que acaba mejor.${fallen}`;
  }
  const [down, across] = ["schedule", "rate"].map((key) => axes.findIndex((axis) => axis.key === key));
  /* Lo probado con lo demás igual: calendarios por filas, tasas por columnas. */
  function remember(at) {
    tried.add(place(at));
    const others = axes.map(({values, names}, i) => (i === down || i === across || values.length === 1 ? "" : `, ${names[at[i]]}`));
    const cell = (i, j) => {
      const there = at.map((old, k) => (k === down ? i : k === across ? j : old)),
        here = i === at[down] && j === at[across];
      const known = tried.has(place(there)) ? told(mean(runs[place(there)].scores)) : "·";
      return h("td", {class: here ? "here" : ""}, known);
    };
    const head = h("tr", null, h("td"), axes[across].names.map((name) => h("th", {scope: "col"}, name)));
    const rows = axes[down].names.map((name, i) => h("tr", null, h("th", {scope: "row"}, name), axes[across].names.map((_, j) => cell(i, j))));
    board.replaceChildren(h("caption", null, `Lo que has probado, por tasa máxima${others.join("")}`), h("thead", null, head), h("tbody", null, rows));
  }
  function update(at) {
    state.at = at;
    remember(at);
    const run = runs[place(at)],
      band = bandOf(run),
      rate = rates(at),
      pick = chosen(at);
    const twins = axes[0].values.map((_, i) => [i, ...at.slice(1)]).filter(([i]) => i !== at[0]);
    dials.forEach((dial, i) => dial.pick(at[i]));
    above.most.textContent = small(pick.rate);
    above.chart.replaceChildren(
      ...twins.map((one) => trace(rates(one), pick.rate * 1.02, "ghost")),
      trace(rate, pick.rate * 1.02, "line"),
    );
    below.chart.replaceChildren(
      ...twins.map((one) => trace(bandOf(runs[place(one)])[1], top, "ghost")),
      area(band),
      trace(band[1], top, "line"),
    );
    const finish = (values) => values.filter((x) => !Number.isNaN(x)).at(-1) ?? top;
    nameEnds(above, axes[0].values.map((_, i) => [i, rates([i, ...at.slice(1)]).at(-1)]), pick.rate * 1.02);
    nameEnds(below, axes[0].values.map((_, i) => [i, finish(bandOf(runs[place([i, ...at.slice(1)])])[1])]), top);
    amount.textContent = told(mean(run.scores));
    dots.replaceChildren(...run.scores.map((value) => h("i", {style: `left:${(100 * value) / widest}%`})));
    const reached = data.goal[place(at)];
    verdict.hidden = !ask;
    verdict.className = `verdict ${reached ? "reached" : ""}`;
    verdict.textContent = ask ? judge(run, reached) : "";
    const last = band[1].filter((x) => !Number.isNaN(x)).at(-1);
    const lost = last === undefined ? "la pérdida deja de ser finita enseguida" : `la pérdida pasa de ${number(band[1][0])} a ${number(last)}`;
    read.say(
      `${named(at)}: la tasa acaba en ${ending(rate.at(-1), pick.rate)}; ${lost}. ` +
        `En frases nuevas, ${told(mean(run.scores))}.${ask && reached ? " Conseguido." : ""}`,
    );
    root.atento = {state: {at, ...pick}, values: {rate, band, scores: run.scores, reached}};
  }
  update(state.at);
});
