/* Lo que pide entrenar un modelo de la talla que se elija. La cuenta tiene su gemelo en budget.py. */
window.atentoExplorers.register("budget", (stage, data, root) => {
  const {h, number, button, choice, slider, toggle, verdict, cycle} = window.atentoExplorers;
  const {scales, models, parts, start, vocab, room, speed} = data;
  const state = {...start};

  // ---- Las cuentas ----------------------------------------------------------------------------
  const shapeOf = ({width, layers, context}) => ({d: width, L: layers, n: context, heads: width / (width >= 4096 ? 128 : 64), f: 4 * width});
  const parametersOf = ({d, L, n, f}) => (vocab + n) * d + L * (4 * d * d + 4 * d + 2 * d * f + f + d + 4 * d) + 2 * d;
  function activationsOf({d, L, n, f, heads}, {texts, fused, again}) {
    const rows = texts * n,
      block = 8 * rows * d + 2 * rows * f + (fused ? 0 : texts * heads * n * n);
    return 4 * ((again ? L * rows * d + block : L * block) + 2 * rows * d + rows * vocab);
  }
  function compute(at) {
    const shape = shapeOf(at),
      {d, L, n, f} = shape,
      parameters = parametersOf(shape);
    const share = (from) => (at.stage >= from ? at.processes : 1);
    const memory = [(4 * parameters) / share(3), (4 * parameters) / share(2), (8 * parameters) / share(1), activationsOf(shape, at)];
    const blocks = L * (8 * n * d * d + 4 * n * n * d + 4 * n * d * f),
      forward = blocks + 2 * n * d * vocab;
    const flops = (at.tokens / n) * (3 * forward + (at.again ? blocks : 0));
    return {
      parameters,
      memory,
      flops,
      rule: 6 * parameters * at.tokens,
      seconds: flops / ((at.processes * speed * at.use) / 100),
      fits: memory.reduce((a, b) => a + b) <= room,
    };
  }

  // ---- Decirlo --------------------------------------------------------------------------------
  const few = (value) => (value >= 100 ? number(value, 0) : value >= 10 ? number(value, 1).replace(/\.0$/, "") : number(value, 2).replace(/\.?0+$/, ""));
  function amount(value) {
    const [unit, word] = [[1e12, "billones"], [1e9, "mil millones"], [1e6, "millones"]].find(([size]) => value >= size) ?? [1, ""];
    return `${few(value / unit)} ${value === 1e12 ? "billón" : word}`.trim();
  }
  const gigas = (bytes) => `${few(bytes / 1e9)} GB`;
  function time(seconds) {
    const [unit, one, many] = [[31_557_600, "año", "años"], [172_800, "día", "días"], [7200, "hora", "horas"], [120, "minuto", "minutos"]].find(([least]) => seconds >= least) ?? [1, "segundo", "segundos"];
    const size = {día: 86_400, hora: 3600, minuto: 60}[one] ?? unit,
      told = few(seconds / size);
    return `${told} ${told === "1" ? one : many}`;
  }

  // ---- Mandos ---------------------------------------------------------------------------------
  const dial = (key, label, text) => {
    const values = scales[key];
    const made = slider({
      label,
      min: 0,
      max: values.length - 1,
      step: 1,
      value: values.indexOf(state[key]),
      text: (i) => text(values[i]),
      oninput: (i) => update({[key]: values[i]}),
    });
    return {...made, follow: () => made.set(values.indexOf(state[key]))};
  };
  const plain = (value) => String(value);
  const shape = {
    width: dial("width", "Anchura", plain),
    layers: dial("layers", "Capas", plain),
    context: dial("context", "Tokens por texto", plain),
    texts: dial("texts", "Textos por GPU", plain),
  };
  const course = {
    processes: dial("processes", "GPU", plain),
    tokens: dial("tokens", "Tokens en total", amount),
    use: dial("use", "MFU", (value) => `${value} %`),
  };
  const named = Object.entries(models).map(([name, sizes]) => button(name, () => update({...sizes, texts: 1})));
  const split = choice({label: "Qué se parte entre las GPU", options: data.stages, value: state.stage, onchange: (stage) => update({stage})});
  const saves = [
    toggle({label: "Sin guardar las tablas de atención", checked: state.fused, oninput: (fused) => update({fused})}),
    toggle({label: "Recalcular cada bloque", checked: state.again, oninput: (again) => update({again})}),
  ];

  // ---- Lo que se ve ---------------------------------------------------------------------------
  const ROLES = ["key", "query", "position", "value"];
  const pieces = ROLES.map((role) => h("i", {class: role})),
    limit = h("b", {class: "limit"}),
    told = parts.map(() => h("span", {class: "tail"}));
  const stack = h("div", {class: "stack", "aria-hidden": "true"}, pieces, limit);
  const legend = h("ul", {class: "parts"}, parts.map((part, k) => h("li", null, h("span", {class: `chip ${ROLES[k]}`}), `${part} `, told[k])));
  const cost = h("p"),
    judged = verdict();

  const {node, update} = cycle(root, state, () => {
    const found = compute(state),
      total = found.memory.reduce((a, b) => a + b),
      widest = Math.max(total, room * 1.25);
    for (const each of Object.values({...shape, ...course})) each.follow();
    pieces.forEach((piece, k) => (piece.style.width = `${(100 * found.memory[k]) / widest}%`));
    limit.style.left = `${(100 * room) / widest}%`;
    found.memory.forEach((bytes, k) => (told[k].textContent = gigas(bytes)));
    const power = (text) => text.replace(/e\+?(\d+)/, (_, k) => ` · 10${[...k].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("")}`);
    cost.textContent = `Son ${power(found.flops.toExponential(1))} FLOP. La regla, 6ND, da ${few(found.rule / found.flops)} veces eso.`;
    const big = ["width", "layers", "context"].every((key) => state[key] === models["GPT-3"][key]);
    judged.set(big ? (found.fits ? `✓ GPT-3 cabe, con ${state.processes} GPU.` : "GPT-3 todavía no cabe.") : "", found.fits);
    return {
      say: `${amount(found.parameters)} de parámetros. En cada GPU, ${gigas(total)} de ${gigas(room)}: ${found.fits ? "cabe" : "no cabe"}. Leer ${amount(state.tokens)} de tokens llevaría ${time(found.seconds)}.`,
      values: found,
    };
  });
  stage.append(
    h("div", {class: "controls"}, h("span", {class: "dial-name"}, "Medidas de"), named),
    h("div", {class: "sizes"}, Object.values(shape).map((each) => each.node)),
    h("div", {class: "controls"}, saves.map((each) => each.node)),
    h("div", {class: "sizes"}, Object.values(course).map((each) => each.node)),
    h("p", {class: "hush"}, "Qué se parte entre las GPU"),
    split.node,
    h("p", {class: "hush"}, "Memoria de cada GPU; la raya es lo que hay"),
    stack,
    legend,
    judged.node,
    node,
    cost,
  );
  update({});
});
