/* La búsqueda en haz, paso a paso. Las notas tienen su gemelo en beam.py. */
window.atentoExplorers.register("beam", (stage, data, root) => {
  const {h, svg, number, picker, walk, table, verdict, cycle, probe} = window.atentoExplorers;
  const {words, widths, divisors} = data,
    LABELS = Object.keys(divisors);
  const FATES = ["sigue", "acaba", "fuera", "tarde", "retirada"];
  const state = {width: 0, label: 0, step: 0};

  // ---- Las cuentas ------------------------------------------------------------------------------------------------
  const trees = data.trees.map((rows) => {
    const nodes = [];
    for (const [parent, word, logProb, fate] of rows) {
      const {step, text: before} = nodes[parent] ?? {step: -1, text: ""},
        text = words[word] === "fin" ? before : `${before} ${words[word]}`.trim(),
        row = nodes.filter((one) => one.step === step + 1).length;
      nodes.push({parent, step: step + 1, row, word: words[word], before, text, logProb, fate: FATES[fate]});
    }
    return nodes;
  });
  const treeOf = (width, label) => trees[data.which[width][label]];
  const score = (one, label) => one.logProb / divisors[LABELS[label]][one.step];
  const finished = (nodes, label) =>
    nodes.filter((one) => one.fate === "acaba").sort((a, b) => score(b, label) - score(a, label));
  const winner = (width, label) => finished(treeOf(width, label), label)[0];
  const goalOf = (label) =>
    widths.findIndex((_, w) => winner(w, label).logProb > winner(0, label).logProb + 1e-6);
  const REASONS = {
    sigue: () => "sigue",
    acaba: () => "acaba, y se aparta",
    fuera: (width) => `cae: ${width === 1 ? "hay otra mejor" : `hay ${width} mejores que siguen`}`,
    tarde: (width) => `cae: acaba, pero no está entre ${width === 1 ? "la primera" : `las ${width} primeras`}`,
    retirada: () => "cae: por mucho que siguiera, ya no ganaría",
  };
  const kindOf = ({fate}) => (fate === "sigue" || fate === "acaba" ? fate : "lost");

  // ---- El árbol ---------------------------------------------------------------------------------------------------
  const ROW = 32,
    TOP = 24,
    column = Math.max(...words.map((word) => word.length)) * 8 + 54;
  const tree = h("div", {class: "beam-tree", tabindex: 0, role: "group", "aria-label": "Árbol de la búsqueda"});
  const trace = (nodes, index) => {
    const path = [];
    for (let i = index; i >= 0; i = nodes[i].parent) path.push(i);
    return path;
  };
  function draw(nodes, best) {
    const shown = nodes.filter((one) => one.step <= state.step);
    const now = nodes.map((_, i) => i).filter((i) => nodes[i].step === state.step && nodes[i].fate === "sigue");
    const alive = new Set(now.flatMap((i) => trace(nodes, i)));
    const gold = new Set(best ? trace(nodes, nodes.indexOf(best)) : []);
    const x = (one) => (one ? one.step * column + column : 8),
      y = (one) => TOP + ROW / 2 + (one ? one.row * ROW : 0);
    const high = TOP + ROW * (1 + Math.max(...shown.map((one) => one.row))),
      wide = (state.step + 1) * column + 8;
    const lines = shown.map((one) => {
      const from = nodes[one.parent],
        i = nodes.indexOf(one),
        x0 = x(from),
        x1 = one.step * column + 40;
      const on = gold.has(i) ? "gold" : alive.has(i) || one.fate === "acaba" ? "live" : "dead";
      return svg("path", {class: on, d: `M${x0} ${y(from)}C${x0 + 18} ${y(from)} ${x1 - 18} ${y(one)} ${x1} ${y(one)}`});
    });
    const chips = shown.map((one) =>
      h(
        "span",
        {
          class: `leaf ${kindOf(one)}`,
          style: `left:${one.step * column + 40}px;top:${y(one) - 12}px;width:${column - 40}px`,
          "data-tip": `«${one.text}»: log-probabilidad ${number(one.logProb, 3)}, probabilidad ${number(Math.exp(one.logProb), 4)}; ${REASONS[one.fate](widths[state.width])}`,
        },
        one.word,
      ),
    );
    const heads = Array.from({length: state.step + 1}, (_, s) =>
      h("span", {class: "head-step", style: `left:${s * column + 40}px;width:${column - 40}px`}, `paso ${s + 1}`),
    );
    const art = svg("svg", {width: wide, height: high, "aria-hidden": "true"}, lines, svg("circle", {cx: 8, cy: y(), r: 4}));
    tree.replaceChildren(h("div", {class: "beam-sheet", style: `width:${wide}px;height:${high}px`}, art, heads, chips));
    tree.scrollLeft = wide;
  }

  // ---- Las tablas -------------------------------------------------------------------------------------------------
  const here = h("div"),
    done = h("div");
  function tell(nodes, ended, best) {
    const width = widths[state.width];
    const now = nodes
      .filter((one) => one.step === state.step)
      .map((one) => ({kind: kindOf(one), cells: [h("span", null, `${one.before} `, h("b", null, one.word)), number(one.logProb), REASONS[one.fate](width)]}));
    here.replaceChildren(table(["candidato", "log p", "qué pasa"], now, {caption: `Paso ${state.step + 1}: los mejores candidatos`}));
    const rows = ended.map((one) => ({
      kind: one === best ? "top" : "",
      cells: [
        `${one === best ? "✓ " : ""}${one.text}`,
        one.step + 1,
        ...LABELS.map((_, i) => number(score(one, i), 3)),
      ],
    }));
    done.replaceChildren(
      ended.length
        ? table(["frase", "palabras", ...LABELS], rows, {caption: "Acabadas, con su nota"})
        : h("p", {class: "hush"}, "Aún no ha acabado ninguna."),
    );
  }

  // ---- Mandos -----------------------------------------------------------------------------------------------------
  const width = picker({label: "Anchura", value: 0, options: widths.map(String), onchange: (i) => update({width: i, step: 0})});
  const label = picker({label: "Nota", value: 0, options: LABELS, onchange: (i) => update({label: i})});
  const moves = walk({back: "Anterior", next: "Siguiente", end: "Hasta el final"}, (step) => update({step}));
  const where = h("b"),
    judged = verdict();

  // ---- Decirlo ----------------------------------------------------------------------------------------------------
  function judge(best, first) {
    if (!best) return "Sigue hasta el final para ver qué frase gana.";
    if (state.width === 0) return `Con anchura ${widths[0]} gana «${best.text}».`;
    const gap = best.logProb - first.logProb;
    if (Math.abs(gap) <= 1e-6) return `Con anchura ${widths[state.width]} gana «${best.text}», igual de probable que con anchura ${widths[0]}.`;
    const times = number(Math.exp(Math.abs(gap)));
    return `${state.width === goalOf(state.label) ? "✓ Conseguido: con" : "Con"} anchura ${widths[state.width]} gana «${best.text}», ${times} veces ${gap > 0 ? "más" : "menos"} probable que con anchura ${widths[0]}.`;
  }
  const {node, update} = cycle(root, state, () => {
    const nodes = treeOf(state.width, state.label),
      last = Math.max(...nodes.map((one) => one.step));
    state.step = Math.min(state.step, last);
    const isLast = state.step === last,
      goal = goalOf(state.label),
      all = finished(nodes, state.label),
      ended = all.filter((one) => one.step <= state.step),
      best = isLast ? ended[0] : undefined,
      reached = isLast && state.width > 0 && state.width === goal;
    draw(nodes, best);
    tell(nodes, ended, best);
    where.textContent = `paso ${state.step + 1} de ${last + 1}`;
    moves.set(state.step, last);
    judged.set(judge(best, winner(0, state.label)), reached);
    const fates = nodes.filter((one) => one.step === state.step).map((one) => one.fate),
      [alive, closed] = ["sigue", "acaba"].map((fate) => fates.filter((one) => one === fate).length);
    return {
      say: `Anchura ${widths[state.width]}, paso ${state.step + 1}. Siguen: ${alive}; acaban: ${closed}; caen: ${fates.length - alive - closed}.${reached ? " Conseguido." : ""}`,
      values: {
        nodes: nodes.map(({parent, step, word, text, logProb, fate}) => ({parent, step, word, text, logProb, fate})),
        finished: all.map((one) => ({text: one.text, scores: LABELS.map((_, i) => score(one, i))})),
        goal: widths[goal] ?? null,
        reached,
      },
      seen: {width: widths[state.width], label: LABELS[state.label]},
    };
  });
  stage.append(
    h("div", {class: "controls"}, width.row, label.row),
    h("div", {class: "controls"}, moves.nodes, where),
    tree,
    probe(stage, "Toca una palabra del árbol y aquí se lee su frase."),
    here,
    done,
    judged.node,
    node,
  );
  update({});
});
