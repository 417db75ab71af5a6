/* El flujo residual: qué encuentra, qué lee y qué añade cada subcapa. Las cuentas tienen su gemelo en stream.py. */
window.atentoExplorers.register("stream", (stage, data, root) => {
  const {h, number, factor, choice, walk, gauge, sides, cycle, probe} = window.atentoExplorers;
  const {words, features, x, stacks} = data;
  const LABELS = Object.keys(stacks),
    d = x[0].length,
    depth = stacks[LABELS[0]].length;
  const state = {word: data.word, stack: 0, sublayer: 0};

  // ---- Las cuentas ------------------------------------------------------------------------------------------------
  const size = (v) => Math.hypot(...v);
  function flow(label, word) {
    let stream = x[word];
    return stacks[label].map((one) => {
      const [added, normed] = [one.added[word], one.normed[word]],
        before = stream,
        total = before.map((value, c) => value + added[c]);
      stream = one.is_pre ? total : normed;
      return {before, read: one.is_pre ? normed : before, added, total, after: stream};
    });
  }

  // ---- La profundidad: un botón por subcapa, con la norma de lo que queda --------------------------------------------
  const nameOf = ({block, name}) => `bloque ${block}, ${name}`;
  const entry = gauge(),
    gauges = Array.from({length: depth}, () => gauge());
  const level = (name, {nodes}, kind = "") =>
    h("span", {class: `level ${kind}`}, h("span", {class: "level-name"}, name), nodes);
  const levels = choice({
    label: "Subcapa",
    className: "levels",
    value: 0,
    options: stacks[LABELS[0]].map(({block, name}, i) => level(`${block} · ${name}`, gauges[i])),
    onchange: (sublayer) => update({sublayer}),
  });

  // ---- Los vectores de la subcapa elegida ----------------------------------------------------------------------------
  const named = (c) => features[c] ?? `componente ${c + 1}`;
  const panel = h("div", {class: "strips"});
  const place = (value) => `${50 - 50 * value}%`;
  /* De from a to, en fracciones del alto: una columna con el 0 en el medio. */
  const rod = (kind, from, to) =>
    h("i", {class: kind, style: `top:${place(Math.max(from, to))};height:${50 * Math.abs(from - to)}%`});
  const rods = (kind, parts, more) => h("div", {class: `rods ${kind}`, style: `--n:${d}`, ...more}, parts);
  function strips(row, {name, norm, is_pre: isPre}) {
    const {before, read, added, total, after} = row;
    const most = Math.max(1e-9, ...Object.values(row).flat().map(Math.abs)); // una escala para todos
    const early = norm && isPre,
      late = norm && !isPre;
    const share = size(added) && size(added) / size(before);
    const much = Number.isFinite(share) ? `el ${Math.round(100 * share)}\u00a0% de lo que había` : "donde no había nada";
    /* De unos valores, una columna por componente; tip dice de dónde sale cada una. */
    function strip(kind, label, note, values, tip, from) {
      const told = values.map((value, c) => `${named(c)} ${number(value)}`).join(", ");
      const columns = values.map((value, c) =>
        h(
          "span",
          {"data-tip": `${named(c)}: ${tip(number(before[c]), c)}`},
          h("span", {class: "shaft"}, rod("stem", 0, value / most), from && rod("jump", from[c] / most, value / most)),
          number(value),
        ),
      );
      return h(
        "div",
        {class: `strip ${kind}`},
        h("p", {class: "strip-name"}, h("b", null, label), h("span", {class: "hush"}, note), h("span", {class: "tail"}, number(size(values)))),
        rods("", columns, {role: "img", "aria-label": `${label}: ${told}`}),
      );
    }
    const sum = (had, c) => `${had} + ${factor(added[c])} = ${number(total[c])}`;
    const shown = [
      strip("", "había", early ? "en el flujo" : "y es lo que lee", before, (had) => `había ${had}`),
      early && strip("reads", "lee", `lo mismo, tras ${norm}`, read, (had, c) => `${had} se lee como ${number(read[c])}`),
      strip("adds", "añade", `la ${name}, ${much}`, added, (_, c) => `se añade ${number(added[c])}`),
      strip("", late ? "suma" : "queda", "había + añade", total, sum, before),
      late && strip("", "queda", `la suma, tras ${norm}`, after, (_, c) => `${number(total[c])} queda en ${number(after[c])}`),
    ];
    panel.replaceChildren(...shown.filter(Boolean));
  }

  // ---- Mandos -----------------------------------------------------------------------------------------------------
  const word = choice({label: "Palabra", value: state.word, options: words, onchange: (i) => update({word: i})});
  const stack = choice({label: "Pila", value: 0, options: LABELS, onchange: (i) => update({stack: i})});
  const moves = walk({back: "Anterior", next: "Siguiente"}, (sublayer) => update({sublayer}));
  const where = h("b");

  const {node, update} = cycle(root, state, () => {
    const rows = LABELS.map((label) => flow(label, state.word)),
      now = rows[state.stack],
      row = now[state.sublayer],
      start = x[state.word],
      sublayers = stacks[LABELS[state.stack]];
    const longest = Math.max(1e-9, size(start), ...rows.flat().map(({after}) => size(after)));
    const told = (v) => number(size(v));
    levels.pick(state.sublayer);
    entry.set(size(start) / longest, told(start));
    now.forEach(({after}, i) => {
      gauges[i].set(size(after) / longest, told(after));
      levels.buttons[i].setAttribute("aria-label", `${nameOf(sublayers[i])}: quedan ${told(after)}`);
    });
    strips(row, sublayers[state.sublayer]);
    where.textContent = nameOf(sublayers[state.sublayer]);
    moves.set(state.sublayer, depth - 1);
    return {
      say: `«${words[state.word]}», ${where.textContent}: había norma ${told(row.before)}, añade ${told(row.added)}, queda ${told(row.after)}.`,
      values: {rows: now},
      seen: {label: LABELS[state.stack]},
    };
  });
  const heads = features.map((name) => h("span", null, name));
  const [back, next] = moves.nodes;
  stage.append(
    h("div", {class: "controls"}, word.node, LABELS.length > 1 && stack.node),
    sides(
      h("div", {class: "depths"}, h("p", {class: "hush"}, "Norma de lo que queda en el flujo"), level("entrada", entry, "source"), levels.node),
      h(
        "div",
        {class: "detail"},
        h("div", {class: "controls detail-move"}, back, where, next),
        heads.length > 0 && rods("rods-head", heads, {"aria-hidden": "true"}),
        panel,
      ),
    ),
    node,
    probe(stage, "Toca una componente y aquí se lee su cuenta."),
  );
  update({});
});
