/* La tasa de cada paso y la pérdida que dejó. La cuenta de la tasa tiene su gemelo en schedule.py. */
window.atentoExplorers.register("schedule", (stage, data, root) => {
  const {h, number, picker, table, verdict, chart, cycle} = window.atentoExplorers;
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
  const top = Math.ceil(Math.max(...runs.flatMap((run) => run.band[2]).filter((x) => x !== null)) / 100);
  const panel = (title, most) => {
    const drawn = chart({x: [0, 1], y: [0, 1], levels: [most, "0"], feet: ["paso 1", String(steps)], named: true});
    return {...drawn, node: h("div", {class: "panel"}, h("p", {class: "panel-name"}, title), drawn.node)};
  };
  const above = panel("Tasa de cada paso", ""),
    below = panel("Pérdida: la media de las semillas y, en banda, la menor y la mayor", String(top));
  /* Una curva, en partes de la altura most; lo que no es un número no se dibuja. */
  const trace = (kind, values, most) => ({
    kind,
    points: values.map((y, i) => [(i + 0.5) / values.length, y / most]).filter(([, y]) => !Number.isNaN(y)),
  });
  const area = ([low, , high]) => ({
    kind: "band",
    area: low.map((y, i) => [(i + 0.5) / low.length, y / top, high[i] / top]).filter(([, y]) => !Number.isNaN(y)),
  });
  const nameEnds = (panel, ends) =>
    panel.names(ends.map((y, i) => ({text: axes[0].names[i].split(", ").pop(), y, here: i === state.at[0]})));

  // ---- Mandos ---------------------------------------------------------------------------------
  const dials = axes.map(({label, names}, i) =>
    picker({label, value: state.at[i], options: names, onchange: (value) => update({at: state.at.map((old, j) => (j === i ? value : old))})}),
  );
  const dots = h("span", {class: "track"}),
    amount = h("b"),
    judged = verdict(),
    board = h("div");
  const WHAT = {exact: "Frases nuevas bien traducidas", held_out: "Pérdida en frases nuevas"}[score];
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
    const rows = axes[down].names.map((name, i) => ({cells: [name, ...axes[across].names.map((_, j) => cell(i, j))]}));
    board.replaceChildren(table(["", ...axes[across].names], rows, {caption: `Lo que has probado, por tasa máxima${others.join("")}`, kind: "board"}));
  }
  const {node, update} = cycle(root, state, () => {
    const {at} = state;
    remember(at);
    const run = runs[place(at)],
      band = bandOf(run),
      rate = rates(at),
      pick = chosen(at);
    dials.forEach((dial, i) => dial.pick(at[i]));
    const most = pick.rate * 1.02,
      kin = axes[0].values.map((_, i) => [i, ...at.slice(1)]),
      finish = (values) => values.filter((x) => !Number.isNaN(x)).at(-1) ?? top;
    const means = kin.map((one) => bandOf(runs[place(one)])[1]);
    const others = (values) => values.filter((_, i) => i !== at[0]);
    above.level(0, small(pick.rate));
    above.draw([...others(kin.map(rates)).map((values) => trace("ghost", values, most)), trace("line", rate, most)]);
    below.draw([...others(means).map((values) => trace("ghost", values, top)), area(band), trace("line", band[1], top)]);
    nameEnds(above, kin.map((one) => rates(one).at(-1) / most));
    nameEnds(below, means.map((values) => finish(values) / top));
    amount.textContent = told(mean(run.scores));
    dots.replaceChildren(...run.scores.map((value) => h("i", {style: `left:${(100 * value) / widest}%`})));
    const reached = data.goal[place(at)];
    judged.set(ask ? judge(run, reached) : "", reached);
    const last = band[1].filter((x) => !Number.isNaN(x)).at(-1);
    const lost = last === undefined ? "la pérdida deja de ser finita enseguida" : `la pérdida pasa de ${number(band[1][0])} a ${number(last)}`;
    return {
      say:
        `${named(at)}: la tasa acaba en ${ending(rate.at(-1), pick.rate)}; ${lost}. ` +
        `En frases nuevas, ${told(mean(run.scores))}.${ask && reached ? " Conseguido." : ""}`,
      values: {rate, band, scores: run.scores, reached},
      seen: pick,
    };
  });
  stage.append(
    h("div", {class: "dials"}, dials.map(({row}) => row)),
    h("div", {class: "panels"}, above.node, below.node),
    h("p", {class: "hush"}, "En gris, los demás calendarios, con lo demás igual. La pérdida, en nats por palabra."),
    h("div", {class: "final"}, h("span", null, `${WHAT}, una marca por semilla: `, amount), dots),
    board,
    judged.node,
    node,
  );
  update({});
});
