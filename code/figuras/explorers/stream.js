/* El flujo residual: qué encuentra, qué lee y qué añade cada subcapa. Las cuentas tienen su gemelo en stream.py. */
window.atentoExplorers.register("stream", (stage, data, root) => {
  const {h, number, choice, walk, gauge, verdict, cycle, probe} = window.atentoExplorers;
  const {words, features, x, stacks, ask} = data;
  const LABELS = Object.keys(stacks),
    d = x[0].length,
    depth = stacks[LABELS[0]].length;
  const state = {word: data.word, stack: 0, sublayer: 0};

  // ---- Las cuentas ------------------------------------------------------------------------------------------------
  const mean = (v) => v.reduce((a, b) => a + b) / v.length;
  const size = (v) => Math.sqrt(v.reduce((total, value) => total + value * value, 0));
  function normalize({norm, eps, weight, bias}, v) {
    if (norm === "none") return v;
    const middle = norm === "layer" ? mean(v) : 0;
    const centered = v.map((value) => value - middle);
    const scale = Math.sqrt(mean(centered.map((value) => value * value)) + eps);
    return centered.map((value, c) => (weight[c] * value) / scale + bias[c]);
  }
  function share({added, before}) {
    const [one, other] = [size(added), size(before)];
    return one === 0 ? 0 : one / other;
  }
  function flow(label, word) {
    let stream = x[word];
    return stacks[label].map((sublayer) => {
      const added = sublayer.added[word],
        before = stream,
        total = before.map((value, c) => value + added[c]);
      const read = sublayer.isPre ? normalize(sublayer, before) : before;
      stream = sublayer.isPre ? total : normalize(sublayer, total);
      return {before, read, added, total, after: stream};
    });
  }
  /* Las subcapas que contestan la pregunta: varias, si empatan. */
  function goal(rows) {
    if (!ask) return [];
    const shares = rows.map(share),
      best = Math[ask === "least" ? "min" : "max"](...shares);
    return shares.map((_, i) => i).filter((i) => shares[i] === best || Math.abs(shares[i] - best) < 1e-6);
  }

  // ---- La profundidad: un botón por subcapa, con la norma de lo que queda --------------------------------------------
  const nameOf = ({block, name}) => `bloque ${block}, ${name}`;
  const percent = (value) => `${Math.round(100 * value)}\u00a0%`;
  const compared = (value) => (Number.isFinite(value) ? `el ${percent(value)} de lo que había` : "donde no había nada");
  const entry = gauge(),
    gauges = Array.from({length: depth}, () => gauge());
  const levels = choice({
    label: "Subcapa",
    className: "levels",
    value: 0,
    options: stacks[LABELS[0]].map((one, i) =>
      h("span", {class: "level"}, h("span", {class: "level-name"}, `${one.block} · ${one.name}`), gauges[i].nodes),
    ),
    onchange: (sublayer) => update({sublayer}),
  });
  const column = h(
    "div",
    {class: "depths"},
    h("p", {class: "hush"}, "Norma de lo que queda en el flujo"),
    h("div", {class: "level source"}, h("span", {class: "level-name"}, "entrada"), entry.nodes),
    levels.node,
  );

  // ---- Los vectores de la subcapa elegida ----------------------------------------------------------------------------
  const named = (c) => features[c] ?? `componente ${c + 1}`;
  const panel = h("div", {class: "strips"});
  const place = (value) => `${50 - 50 * value}%`;
  /* De from a to, en fracciones del alto: una columna con el 0 en el medio. */
  const rod = (kind, from, to) =>
    h("i", {
      class: kind,
      style: `top:${place(Math.max(from, to))};height:${50 * Math.abs(from - to)}%`,
    });
  function strip({key, label, note, values, from, tip}, most) {
    const told = values.map((value, c) => `${named(c)} ${number(value)}`).join(", ");
    return h(
      "div",
      {class: `strip ${key}`},
      h("p", {class: "strip-name"}, h("b", null, label), h("span", {class: "hush"}, note), h("span", {class: "tail"}, number(size(values)))),
      h(
        "div",
        {class: "rods", role: "img", "aria-label": `${label}: ${told}`, style: `--n:${d}`},
        values.map((value, c) =>
          h(
            "span",
            {"data-tip": `${named(c)}: ${tip(c)}`},
            h("span", {class: "shaft"}, rod("stem", 0, value / most), from && rod("jump", from[c] / most, value / most)),
            number(value),
          ),
        ),
      ),
    );
  }
  const NORM = {layer: "LayerNorm", rms: "RMSNorm"};
  function strips(row, one) {
    const {before, read, added, total, after} = row;
    const plain = one.norm === "none",
      norm = NORM[one.norm];
    const sum = (c) => `${number(before[c])} + ${added[c] < 0 ? `(${number(added[c])})` : number(added[c])} = ${number(total[c])}`;
    const list = [
      {
        key: "carried",
        label: "había",
        note: one.isPre && !plain ? "en el flujo" : "y es lo que lee",
        values: before,
        tip: (c) => `había ${number(before[c])}`,
      },
      one.isPre &&
        !plain && {
          key: "reads",
          label: "lee",
          note: `lo mismo, tras ${norm}`,
          values: read,
          tip: (c) => `${number(before[c])} se lee como ${number(read[c])}`,
        },
      {
        key: "adds",
        label: "añade",
        note: `la ${one.name}, ${compared(share(row))}`,
        values: added,
        tip: (c) => `se añade ${number(added[c])}`,
      },
      {
        key: "carried",
        label: one.isPre || plain ? "queda" : "suma",
        note: "había + añade",
        values: total,
        from: before,
        tip: sum,
      },
      !one.isPre &&
        !plain && {
          key: "carried",
          label: "queda",
          note: `la suma, tras ${norm}`,
          values: after,
          tip: (c) => `${number(total[c])} queda en ${number(after[c])}`,
        },
    ];
    return list.filter(Boolean);
  }

  // ---- Mandos -----------------------------------------------------------------------------------------------------
  const word = choice({label: "Palabra", value: state.word, options: words, onchange: (i) => update({word: i})});
  const stack = choice({label: "Pila", value: 0, options: LABELS, onchange: (i) => update({stack: i})});
  const moves = walk({back: "Anterior", next: "Siguiente"}, (sublayer) => update({sublayer}));
  const where = h("b"),
    judged = verdict();

  // ---- Decirlo ----------------------------------------------------------------------------------------------------
  const quoted = () => `«${words[state.word]}»`;
  const how = ask === "least" ? "menos" : "más";
  function judge(one, row, done) {
    const found = `la ${one.name} del bloque ${one.block}`,
      much = compared(share(row));
    if (done) return `✓ Conseguido: en ${quoted()}, ${LABELS[state.stack]}, ninguna cambia ${how} que ${found}: añade ${much}.`;
    return `Aquí, ${found} añade a ${quoted()} ${much}. Hay otra que cambia ${how}.`;
  }
  const {node, update} = cycle(root, state, () => {
    const rows = LABELS.map((label) => flow(label, state.word)),
      now = rows[state.stack],
      sublayers = stacks[LABELS[state.stack]];
    const one = sublayers[state.sublayer],
      row = now[state.sublayer],
      start = size(x[state.word]);
    levels.pick(state.sublayer);
    const longest = Math.max(1e-9, start, ...rows.flat().map(({after}) => size(after)));
    entry.set(start / longest, number(start));
    now.forEach(({after}, i) => {
      gauges[i].set(size(after) / longest, number(size(after)));
      levels.buttons[i].setAttribute("aria-label", `${nameOf(sublayers[i])}: quedan ${number(size(after))}`);
    });
    const most = Math.max(1e-9, ...Object.values(row).flat().map(Math.abs)); // una escala para los cuatro
    panel.replaceChildren(...strips(row, one).map((each) => strip(each, most)));
    where.textContent = nameOf(one);
    moves.set(state.sublayer, depth - 1);
    const reached = goal(now).includes(state.sublayer);
    judged.set(ask ? judge(one, row, reached) : "", reached);
    return {
      say: `${quoted()}, ${nameOf(one)}: había norma ${number(size(row.before))}, añade ${number(size(row.added))}, queda ${number(size(row.after))}.${reached ? " Conseguido." : ""}`,
      values: {rows: now, shares: now.map(share), goal: goal(now), reached},
      seen: {label: LABELS[state.stack]},
    };
  });
  const heads = features.map((name) => h("span", null, name));
  const [back, next] = moves.nodes;
  stage.append(
    h("div", {class: "controls"}, word.node, LABELS.length > 1 && stack.node),
    h(
      "div",
      {class: "stream-scene"},
      column,
      h(
        "div",
        {class: "detail"},
        h("div", {class: "controls detail-move"}, back, where, next),
        heads.length > 0 && h("div", {class: "rods rods-head", "aria-hidden": "true", style: `--n:${d}`}, heads),
        panel,
      ),
    ),
    judged.node,
    node,
    probe(stage, "Toca una componente y aquí se lee su cuenta."),
  );
  update({});
});
