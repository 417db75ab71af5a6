/* La tasa de cada paso y la pérdida que dejó. La cuenta de la tasa tiene su gemelo en schedule.py. */
window.atentoExplorers.register("schedule", (stage, data, root) => {
  const {h, number, picker, table, chart, sides, cycle} = window.atentoExplorers;
  const {axes, runs, steps, warmup, falling} = data;
  const [schedules, norms, tops] = axes;
  const state = {at: [...data.start]},
    tried = new Set(); // lo que ya se ha visto

  // ---- Las cuentas ----------------------------------------------------------------------------
  const place = (at) => axes.reduce((total, {values}, i) => total * values.length + at[i], 0);
  const ROUND = {
    none: () => 1,
    constant: (s) => Math.min(1, (s + 1) / warmup),
    noam: (s) => Math.min(Math.sqrt(Math.max(1, warmup) / (s + 1)), (s + 1) / Math.max(1, warmup)),
    cosine: (s) =>
      s < warmup ? (s + 1) / warmup : (1 + Math.cos((Math.PI * (s - warmup)) / Math.max(1, steps - warmup))) / 2,
    stable: (s) => (s < warmup ? (s + 1) / warmup : Math.min(1, (steps - 1 - s) / falling)),
  };
  const rates = ([i, , k]) =>
    Array.from({length: steps}, (_, s) => tops.values[k] * ROUND[schedules.values[i]](s));
  const bands = runs.map(({band}) => band.map((row) => row.map((cents) => (cents === null ? NaN : cents / 100))));
  const finite = (values) => values.filter((x) => !Number.isNaN(x));

  // ---- Los dibujos ----------------------------------------------------------------------------
  const top = Math.ceil(Math.max(...finite(bands.flatMap((band) => band[2]))));
  const panel = (title, most) => {
    const drawn = chart({x: [0, 1], y: [0, 1], levels: [most, "0"], feet: ["paso 1", String(steps)], named: true});
    return {...drawn, node: h("div", null, h("p", null, title), drawn.node)};
  };
  const above = panel("Tasa de cada paso", ""),
    below = panel("Pérdida: la media de las semillas y, en banda, la menor y la mayor", String(top));
  /* Lo que no es un número no se dibuja. */
  const spread = (rows, most) =>
    rows[0].map((_, i) => [(i + 0.5) / rows[0].length, ...rows.map((row) => row[i] / most)]).filter((spot) => !Number.isNaN(spot[1]));
  /* Una curva por calendario, en partes de la altura most, y su nombre; la elegida, con su banda, encima. */
  function show({draw, names}, curves, most, band = []) {
    const [here] = state.at;
    const ghosts = curves.filter((_, i) => i !== here).map((values) => ({kind: "ghost", points: spread([values], most)}));
    draw([...ghosts, ...band, {kind: "line", points: spread([curves[here]], most)}]);
    const ends = curves.map((values) => (finite(values).at(-1) ?? most) / most);
    names(ends.map((y, i) => ({text: schedules.names[i].split(", ").pop(), y, here: i === here})));
  }

  // ---- Mandos ---------------------------------------------------------------------------------
  const dials = axes.map(({label, names}, i) =>
    picker({label, value: state.at[i], options: names, onchange: (value) => update({at: state.at.with(i, value)})}),
  );
  const dots = h("span", {class: "track"}),
    amount = h("b"),
    board = h("div");

  // ---- Decirlo --------------------------------------------------------------------------------
  const told = ({scores}) => `${Math.round(100 * (scores.reduce((a, b) => a + b) / scores.length))}\u00a0%`;
  const small = (rate) => Number(rate.toPrecision(2)).toString();
  const ending = (rate, most) => (rate > 0 && rate < most / 1000 ? "casi 0" : small(rate));
  const named = ([i, j, k]) => `${schedules.names[i]}, ${norms.names[j]}, tasa ${tops.names[k]}`;
  /* Lo probado con lo demás igual: calendarios por filas, tasas por columnas. */
  function remember(at) {
    tried.add(place(at));
    const cell = (i, k) => {
      const there = place([i, at[1], k]);
      return h("td", {class: there === place(at) ? "here" : ""}, tried.has(there) ? told(runs[there]) : "·");
    };
    const rows = schedules.names.map((name, i) => ({cells: [name, ...tops.names.map((_, k) => cell(i, k))]}));
    const caption = `Lo que has probado, por tasa máxima, ${norms.names[at[1]]}`;
    board.replaceChildren(table(["", ...tops.names], rows, {caption, kind: "board"}));
  }
  const {node, update} = cycle(root, state, () => {
    const {at} = state;
    remember(at);
    const run = runs[place(at)],
      band = bands[place(at)],
      rate = rates(at),
      most = tops.values[at[2]];
    dials.forEach((dial, i) => dial.pick(at[i]));
    const kin = schedules.names.map((_, i) => at.with(0, i));
    above.level(0, small(most));
    show(above, kin.map(rates), most * 1.02);
    show(below, kin.map((one) => bands[place(one)][1]), top, [{kind: "band", area: spread([band[0], band[2]], top)}]);
    amount.textContent = told(run);
    dots.replaceChildren(...run.scores.map((value) => h("i", {style: `left:${100 * value}%`})));
    const losses = finite(band[1]);
    const lost = losses.length ? `pasa de ${number(losses[0])} a ${number(losses.at(-1))}` : "deja de ser finita enseguida";
    return {
      say: `${named(at)}: la tasa acaba en ${ending(rate.at(-1), most)}; la pérdida ${lost}. En frases nuevas, ${told(run)}.`,
      values: {rate, band, scores: run.scores},
      seen: Object.fromEntries(axes.map(({key, values}, i) => [key, values[at[i]]])),
    };
  });
  stage.append(
    h("div", {class: "dials"}, dials.map(({row}) => row)),
    sides(above.node, below.node),
    h("p", {class: "hush"}, "En gris, los demás calendarios, con lo demás igual. La pérdida, en nats por palabra."),
    h("div", {class: "final"}, h("span", null, "Frases nuevas bien traducidas, una marca por semilla: ", amount), dots),
    board,
    node,
  );
  update({});
});
