/* La tasa de cada paso y la pérdida que dejó. La cuenta de la tasa tiene su gemelo en schedule.py. */
window.atentoExplorers.register("schedule", (stage, data, root) => {
  const {h, number, picker, table, chart, sides, cycle} = window.atentoExplorers;
  const {axes, steps, warmup, falling} = data;
  const [schedules, norms, tops] = axes;
  const state = {at: data.start},
    tried = new Set(); // las ejecuciones que ya se han visto

  // ---- Las cuentas ----------------------------------------------------------------------------
  const climb = (s) => (s + 1) / Math.max(1, warmup); // llega a 1 con la rampa, y sigue
  const SHAPES = {
    none: () => 1,
    constant: (s) => Math.min(1, climb(s)),
    noam: (s) => Math.min(climb(s), 1 / Math.sqrt(climb(s))),
    cosine: (s) => (s < warmup ? climb(s) : (1 + Math.cos((Math.PI * (s - warmup)) / (steps - warmup))) / 2),
    stable: (s) => Math.min(1, climb(s), (steps - 1 - s) / falling),
  };
  const rates = ([i, , k]) => Array.from({length: steps}, (_, s) => tops.values[k] * SHAPES[schedules.values[i]](s));
  const loss = (cents) => (cents ?? NaN) / 100;
  const runs = data.runs.map(({band, scores}) => ({band: band.map((row) => row.map(loss)), scores}));
  const runAt = (at) => runs[axes.reduce((total, {values}, i) => total * values.length + at[i], 0)];
  const finite = (values) => values.filter((x) => !Number.isNaN(x));

  // ---- Los dibujos ----------------------------------------------------------------------------
  const top = Math.ceil(Math.max(...finite(runs.flatMap(({band}) => band[2]))));
  const lines = (most) => chart({x: [0, 1], y: [0, 1], levels: [most, 0], feet: ["paso 1", steps], named: true});
  const [above, below] = [lines(""), lines(top)];
  const LOSSES = "Pérdida: la media de las semillas y, en banda, la menor y la mayor";
  const panel = (title, {node}) => h("div", null, h("p", null, title), node);
  /* Lo que no es un número no se dibuja. */
  function spread(rows, most) {
    const points = rows[0].map((_, i) => [(i + 0.5) / rows[0].length, ...rows.map((row) => row[i] / most)]);
    return points.filter(([, y]) => !Number.isNaN(y));
  }
  /* Una curva por calendario, en partes de la altura most, y su nombre; la elegida, con su banda, encima. */
  function show({draw, names}, curves, most, band = []) {
    const [here] = state.at;
    const ghosts = curves.toSpliced(here, 1).map((values) => ({kind: "ghost", points: spread([values], most)}));
    draw([...ghosts, ...band, {kind: "line", points: spread([curves[here]], most)}]);
    const ends = curves.map((values) => (finite(values).at(-1) ?? most) / most);
    names(ends.map((y, i) => ({text: schedules.names[i].split(", ").pop(), y, here: i === here})));
  }

  // ---- Mandos ---------------------------------------------------------------------------------
  const dial = ({label, names}, i) =>
    picker({label, value: state.at[i], options: names, onchange: (place) => update({at: state.at.with(i, place)})}).row;
  const dots = h("div", {class: "track"}),
    amount = h("b"),
    board = h("div");

  // ---- Decirlo --------------------------------------------------------------------------------
  const told = ({scores}) => `${Math.round(100 * (scores.reduce((a, b) => a + b) / scores.length))}\u00a0%`;
  const ending = (rate, most) => (rate > 0 && rate < most / 1000 ? "casi 0" : String(Number(rate.toPrecision(2))));
  /* Lo probado con lo demás igual: calendarios por filas, tasas por columnas. */
  function remember([, norm], here) {
    tried.add(here);
    const cell = (run) => h("td", {class: run === here && "here"}, tried.has(run) ? told(run) : "·");
    const row = (name, i) => ({cells: [name, ...tops.names.map((_, k) => cell(runAt([i, norm, k])))]});
    const caption = `Lo que has probado, por tasa máxima, ${norms.names[norm]}`;
    board.replaceChildren(table(["", ...tops.names], schedules.names.map(row), {caption, kind: "board"}));
  }
  const {node, update} = cycle(root, state, () => {
    const {at} = state,
      run = runAt(at),
      [low, mean, high] = run.band,
      [calendar, norm, peak] = axes.map(({names}, i) => names[at[i]]);
    const most = tops.values[at[2]],
      kin = schedules.names.map((_, i) => at.with(0, i)), // con lo demás igual, cada calendario
      curves = kin.map(rates),
      rate = curves[at[0]];
    remember(at, run);
    above.level(0, peak);
    show(above, curves, most * 1.02);
    show(below, kin.map((one) => runAt(one).band[1]), top, [{kind: "band", area: spread([low, high], top)}]);
    amount.textContent = told(run);
    dots.replaceChildren(...run.scores.map((value) => h("i", {style: `left:${100 * value}%`})));
    const losses = finite(mean),
      lost = losses.length ? `pasa de ${number(losses[0])} a ${number(losses.at(-1))}` : "deja de ser finita enseguida",
      end = `la tasa acaba en ${ending(rate.at(-1), most)}; la pérdida ${lost}`;
    return {
      say: `${calendar}, ${norm}, tasa ${peak}: ${end}. En frases nuevas, ${told(run)}.`,
      values: {rate, ...run},
      seen: Object.fromEntries(axes.map(({key, values}, i) => [key, values[at[i]]])),
    };
  });
  stage.append(
    h("div", {class: "dials"}, axes.map(dial)),
    sides(panel("Tasa de cada paso", above), panel(LOSSES, below)),
    h("p", {class: "hush"}, "En gris, los demás calendarios, con lo demás igual. La pérdida, en nats por palabra."),
    h("div", {class: "final"}, "Frases nuevas bien traducidas, una marca por semilla: ", amount, dots),
    board,
    node,
  );
  update({});
});
