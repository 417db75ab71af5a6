/* El paso a paso de la atención. Las cuentas (compute) tienen su gemelo en stepper.py. */
window.atentoExplorers.register("stepper", (stage, data, root) => {
  const {h, svg, dot, matmul, softmax, mix, number, factor, digitsOf, heat, vector, choice} = window.atentoExplorers,
    {picker, slider, toggle, walk, printed, gauge, table, cycle, probe} = window.atentoExplorers;
  const {words, queries, inputs, projections, features, outputFeatures, headNames} = data,
    MASKS = {none: "sin máscara", causal: "causal", given: data.maskLabel},
    NAMED = 3.6, // ancho de una celda con nombre encima
    ROW = 48; // píxeles de alto de una fila: cabe un dedo
  const state = {...data.initial};
  let v; // lo calculado con ese estado

  // ---- Las cuentas ----------------------------------------------------------------------------------------------
  const heads = Math.max(...[...inputs, ...(projections ?? [])].map((tensor) => tensor.length)),
    ofHead = (tensor, k) => tensor[Math.min(k, tensor.length - 1)],
    sees = (i, j) => state.mask === "none" || (state.mask === "causal" ? j <= i : Boolean(data.mask[i][j]));
  function attend(k) {
    const given = inputs.map((input) => ofHead(input, k)),
      [query, key, value] = projections ? given.map((x, t) => matmul(x, ofHead(projections[t], k))) : given,
      divisor = (state.scaled ? Math.sqrt(query[0].length) : 1) * state.temperature;
    const scores = query.map((q) => key.map((k) => dot(q, k))),
      scaled = scores.map((line) => line.map((score) => score / divisor)),
      masked = scaled.map((line, i) => line.map((score, j) => (sees(i, j) ? score : -Infinity))),
      weights = masked.map(softmax),
      output = weights.map((line) => mix(line, value));
    return {query, key, value, divisor, scores, scaled, masked, weights, output};
  }
  function compute() {
    const all = Array.from({length: heads}, (_, k) => attend(k)),
      joined = queries.map((_, i) => all.flatMap((one) => one.output[i]));
    return {...all[state.head], all, ...(data.output && {joined, united: matmul(joined, data.output)})};
  }

  // ---- Decirlo --------------------------------------------------------------------------------------------------
  const quoted = (word) => `«${word}»`,
    asker = () => quoted(queries[state.row]),
    listed = (values) => `(${values.map((x) => number(x)).join(", ")})`,
    told = (values, names) => values.map((x, c) => `${names[c] ? `${names[c]} ` : ""}${number(x)}`).join(", ");
  /* La clave que más puntúa, o más pesa, en la fila elegida. */
  function top(lines) {
    const line = lines[state.row],
      most = Math.max(...line);
    return `${quoted(words[line.indexOf(most)])} (${number(most)})`;
  }
  function divisorText() {
    const parts = [state.scaled && `√${v.query[0].length}`, state.temperature !== 1 && number(state.temperature)];
    return `${parts.filter(Boolean).join(" · ")} = ${number(v.divisor)}`;
  }

  // ---- La cuenta de una celda -----------------------------------------------------------------------------------
  const line = (label, ...terms) => h("p", null, h("span", {class: "what"}, label), h("span", null, terms)),
    ofPair = (i, j, ...terms) => line(`${queries[i]} → ${words[j]}`, ...terms),
    role = (name, x) => h("b", {class: `role ${name}`}, factor(x)),
    products = (a, roleA, b, roleB) => a.map((x, c) => [c ? " + " : "", role(roleA, x), "·", role(roleB, b[c])]);
  /* «= 0.50» si dos cifras bastan y «≈ 0.50» si se ha redondeado. */
  const equals = (x) => [" ", `${Math.abs(x - Number(x.toFixed(2))) < 1e-9 ? "=" : "≈"} ${number(x)}`];
  /* Una cuenta por componente: la fila por esa columna de la tabla, en los sitios en que keep. */
  const perColumn = (results, label, row, rowRole, lines, role, keep = () => true) =>
    results.map((result, c) => {
      const used = lines.map((line, r) => [row[r], line[c]]).filter(([, x]) => keep(x)),
        [left, right] = [0, 1].map((side) => used.map((both) => both[side]));
      return line(label(c), products(left, rowRole, right, role), equals(result));
    });
  /* e^s / (e^s + …); si los exponentes son grandes se resta el máximo, que no cambia los pesos. */
  function softmaxTerms(scores, j) {
    const top = Math.max(...scores);
    if (top === -Infinity) return "todo tapado: ningún peso";
    const shift = Math.abs(top) > 9 ? top : 0,
      exps = scores.map((score) => Math.exp(score - shift)),
      powers = () => scores.map((score) => ["e", h("sup", null, number(score - shift))]);
    return [
      [powers()[j], " / (", powers().map((power, c) => [c ? " + " : "", power]), ") ≈ "],
      [`${number(exps[j])} / ${number(exps.reduce((a, b) => a + b))}`, shift ? " (restado el máximo)" : ""],
    ];
  }

  // ---- Los pasos ------------------------------------------------------------------------------------------------
  /* Un vector a la escala de los de v[name]. */
  function drawn(name, values, options) {
    const role = {output: "value", united: "plain"}[name] ?? name,
      widest = Math.max(1e-9, ...v[name].flat().map(Math.abs)),
      cell = features.length && role === "value" ? NAMED : undefined;
    return vector(values, role, {digits: digitsOf(v[name]), widest, cell, ...options});
  }
  const before = (text) => h("span", {class: "before"}, text),
    tail = (text) => h("span", {class: "tail"}, text),
    entries = features.map((name) => h("span", {class: "entry"}, name)),
    titles = h("span", {class: "titles", style: `--cell:${NAMED}em`}, entries);
  const averaging = {
    shown: "weights",
    head: () => [titles, tail("peso")],
    lead: (i, j) => drawn("value", v.value[j], {tint: 4 + 45 * v.weights[i][j]}),
  };
  /* De cada uno: qué tabla enseña (shown), qué va sobre las filas (head), qué entra en cada una (lead) y qué sale al pie
     (foot); lo que se explica, la cuenta de la celda elegida (sums) y lo que se lee (read). */
  const STEPS = [
    {
      name: "proyectar",
      explain: () =>
        "Cada palabra da tres vectores: consulta (lo que busca), clave (lo que ofrece) y valor (lo que entrega).",
      head: (i) => [drawn("query", v.query[i])],
      lead: (_, j) => [drawn("key", v.key[j]), drawn("value", v.value[j])],
      sums: (i) => {
        const [x, matrix] = [inputs[0], projections[0]].map((tensor) => ofHead(tensor, state.head));
        return perColumn(v.query[i], (c) => `consulta ${c + 1}`, x[i], "plain", matrix, "plain");
      },
      read: (_, j) => `${quoted(words[j])} ofrece la clave ${listed(v.key[j])} y entrega el valor ${listed(v.value[j])}.`,
    },
    {
      name: "puntuar",
      shown: "scores",
      explain: () =>
        `La consulta de ${asker()} se multiplica, componente a componente, por cada clave. La suma dice cuánto se parecen.`,
      head: (i) => [drawn("query", v.query[i]), tail("q · k")],
      lead: (_, j) => drawn("key", v.key[j]),
      sums: (i, j) => [ofPair(i, j, products(v.query[i], "query", v.key[j], "key"), equals(v.scores[i][j]))],
      read: () => `La clave que más se parece a lo que busca ${asker()} es ${top(v.scores)}.`,
    },
    {
      name: "escalar",
      shown: "scaled",
      explain() {
        if (!state.scaled && state.temperature === 1)
          return "Sin dividir y con temperatura 1, las puntuaciones pasan como están.";
        const change = v.divisor > 1 ? "encogen" : "agrandan";
        return `Cada puntuación se divide entre ${divisorText()}: las diferencias se ${change} y el orden no cambia.`;
      },
      head: () => [before("q · k"), tail(`/ ${number(v.divisor)}`)],
      lead: (i, j) => before(number(v.scores[i][j])),
      sums: (i, j) => [ofPair(i, j, `${number(v.scores[i][j])} / ${number(v.divisor)}`, equals(v.scaled[i][j]))],
      read: () => `La mayor puntuación de ${asker()} es ahora la de ${top(v.scaled)}.`,
    },
    {
      name: "enmascarar",
      shown: "masked",
      explain: () =>
        state.mask === "none"
          ? "Sin máscara, todas las palabras pueden mirar a todas: nada cambia."
          : `Lo que ${asker()} no puede mirar pasa a −∞; lo demás no cambia.`,
      head: () => [MASKS[state.mask]],
      sums(i, j) {
        const score = number(v.scaled[i][j]);
        return [ofPair(i, j, sees(i, j) ? `puede mirar: queda ${score}` : `no puede mirar: ${score} pasa a −∞`)];
      },
      read(i) {
        const hidden = words.filter((_, j) => !sees(i, j)).map(quoted);
        return `${asker()} ${hidden.length ? `no ve ${hidden.join(", ")}` : "ve todas las palabras"}.`;
      },
    },
    {
      name: "normalizar",
      shown: "weights",
      explain: () => "La softmax convierte cada fila en pesos: ninguno negativo y, entre todos, suman 1.",
      head: () => [before("antes"), tail("peso")],
      lead: (i, j) => before(number(v.masked[i][j])),
      sums: (i, j) => [ofPair(i, j, softmaxTerms(v.masked[i], j), equals(v.weights[i][j]))],
      read: (i) =>
        v.weights[i].some((w) => w > 0)
          ? `${asker()} atiende sobre todo a ${top(v.weights)}.`
          : `${asker()} no puede atender a nadie: todos sus pesos son 0.`,
    },
    {
      ...averaging,
      name: "promediar",
      explain: () => `Cada valor cuenta según su peso. La suma es lo que recibe ${asker()}.`,
      foot: (i) => [drawn("output", v.output[i])],
      sums: (i) =>
        perColumn(v.output[i], (c) => features[c] ?? `valor ${c + 1}`, v.weights[i], "weighed", v.value, "value"),
      read: (i) => `${asker()} recibe ${told(v.output[i], features)}.`,
    },
    {
      ...averaging,
      name: "unir",
      explain: () =>
        `Lo que ha recibido ${asker()} por cada cabeza se pone en fila y se multiplica por la matriz de salida.`,
      foot: (i) => [...v.all.map((one) => drawn("output", one.output[i])), "→", drawn("united", v.united[i])],
      sums(i) {
        const label = (c) => outputFeatures[c] ?? `salida ${c + 1}`;
        return perColumn(v.united[i], label, v.joined[i], "value", data.output, "plain", Boolean);
      },
      read: (i) => `De todas las cabezas, ${asker()} se lleva ${told(v.united[i], outputFeatures)}.`,
    },
  ].slice(projections ? 0 : 1, data.output ? 7 : 6);
  const place = (step) => STEPS.findIndex(({name}) => name === step),
    go = (at) => update({step: STEPS[at].name});

  // ---- El tablero: quién pregunta, a quién mira y con qué números -----------------------------------------------
  const asking = choice({
    label: "Palabra que consulta",
    className: "words query",
    value: state.row,
    options: queries,
    onchange: (row) => update({row}),
  });
  const answering = choice({
    label: "Clave de la que se ve la cuenta",
    className: "words key",
    value: state.column,
    options: words,
    onchange: (column) => update({column}),
  });
  const links = words.map(() => svg("line", {x1: 0, x2: 100, "vector-effect": "non-scaling-stroke"})),
    height = ROW * Math.max(words.length, queries.length),
    box = {viewBox: `0 0 100 ${height}`, preserveAspectRatio: "none", style: `height:${height}px`};
  const rows = words.map((_, j) => {
    const [lead, {bar, nodes, set}] = [h("span", {class: "enters"}), gauge()];
    return {lead, bar, set, node: h("div", {class: "key-row", onclick: () => update({column: j})}, lead, nodes)};
  });
  const headline = h("div", {class: "headline"}),
    footer = h("div", {class: "total"}),
    mark = (name) => h("span", {class: `bullet ${name}`, "aria-hidden": "true"});
  const board = h(
    "div",
    {class: "board"},
    h("div", {class: "column-name query"}, mark("query"), " consulta"),
    h("div"),
    h("div", {class: "column-name key"}, mark("key"), " clave"),
    h("div", {class: "rows"}, headline, rows.map(({node}) => node)),
    asking.node,
    svg("svg", {class: "web", ...box, "aria-hidden": "true"}, links),
    answering.node,
    footer,
  );
  function drawBoard({shown, head, lead, foot}) {
    const {row: i, column} = state,
      isWeight = shown === "weights",
      hides = (j) => (isWeight || shown === "masked") && !sees(i, j),
      widest = Math.max(...[...v.scores[i], ...v.scaled[i]].map(Math.abs), 1e-9);
    headline.replaceChildren(...head(i));
    rows.forEach(({node, bar, set, ...row}, j) => {
      const x = shown ? v[shown][i][j] : 0,
        share = isWeight ? x : Number.isFinite(x) ? Math.abs(x) / widest / 2 : 0;
      row.lead.replaceChildren(...[lead?.(i, j) ?? []].flat());
      bar.hidden = !shown;
      bar.className = `bar ${isWeight ? "weight" : "signed"} ${hides(j) ? "hatched" : ""}`;
      set(share, shown ? number(x) : "", isWeight ? 0 : x < 0 ? 0.5 - share : 0.5);
      node.classList.toggle("chosen", j === column);
      node.dataset.tip = tip(shown, i, j);
      links[j].setAttribute("y1", (i + 0.5) * ROW);
      links[j].setAttribute("y2", (j + 0.5) * ROW);
      links[j].setAttribute("class", isWeight ? "weight" : j === column ? "chosen" : "");
      links[j].style.strokeWidth = `${hides(j) ? 0 : isWeight ? 0.6 + 11 * x : 1.5}px`;
    });
    footer.hidden = !foot;
    footer.replaceChildren(h("span", null, `recibe ${asker()}`), ...(foot?.(i) ?? []));
  }

  // ---- La matriz entera -----------------------------------------------------------------------------------------
  const WHAT = {scores: "puntuación", scaled: "puntuación escalada", masked: "tras la máscara", weights: "peso"};
  const tip = (shown, i, j) =>
    shown
      ? `${quoted(queries[i])} mira a ${quoted(words[j])}: ${WHAT[shown]} ${number(v[shown][i][j], 3)}`
      : `Clave y valor de ${quoted(words[j])}`;
  const cells = queries.map((_, row) => words.map((_, column) => h("td", {onclick: () => update({row, column})}))),
    keys = words.map((word) => h("th", {scope: "col"}, h("span", null, word))),
    matrix = table(["", ...keys], queries.map((word, i) => ({cells: [word, ...cells[i]]})), {kind: "matrix"}),
    caption = matrix.createCaption(),
    lines = [...matrix.tBodies[0].rows];
  function drawMatrix(shown) {
    const isWeight = shown === "weights",
      widest = Math.max(1e-9, ...v.scores.flat().map(Math.abs));
    const tone = (share) =>
      `background:color-mix(in srgb,var(--${share < 0 ? "muted" : "attention"}) ` +
      `${Math.min(50, 50 * Math.abs(share)).toFixed(1)}%,var(--paper));color:var(--on-low)`;
    const title = shown ? "Todas las puntuaciones" : "Todavía no hay puntuaciones";
    caption.textContent = isWeight ? "Quién mira a quién" : title;
    cells.forEach((line, i) =>
      line.forEach((cell, j) => {
        const x = shown && v[shown][i][j],
          hidden = (isWeight || shown === "masked") && !sees(i, j);
        cell.textContent = !shown ? "" : hidden && isWeight ? "0" : number(x, isWeight ? 2 : 1);
        cell.className = `${hidden ? "hatched" : ""} ${i === state.row && j === state.column ? "chosen" : ""}`;
        cell.style.cssText = !shown || hidden ? "" : isWeight ? heat(x) : tone(x / widest);
        cell.dataset.tip = tip(shown, i, j);
      }),
    );
    lines.forEach((line, i) => line.classList.toggle("chosen", i === state.row));
  }

  // ---- Los mandos -----------------------------------------------------------------------------------------------
  const steps = choice({
    label: "Paso",
    className: "steps",
    value: place(state.step),
    options: STEPS.map(({name}, i) => [h("span", {class: "number"}, i + 1), h("span", {class: "name"}, name)]),
    describe: (i) => `${i + 1}, ${STEPS[i].name}`,
    onchange: go,
  });
  const move = walk({back: "← Atrás", next: "Siguiente →"}, go);
  /* Los mapas de todas las cabezas, pequeños y en los propios botones: se comparan y se elige. */
  const mini = {class: "mini", style: `--n:${words.length}`, "aria-hidden": "true"},
    minis = Array.from({length: heads}, () => h("span", mini));
  const head = picker({
    label: "Cabeza",
    value: state.head,
    options: minis.map((map, k) => [h("span", null, headNames[k] ?? k + 1), map]),
    describe: (k) => `cabeza ${k + 1} ${headNames[k] ?? ""}`,
    onchange: (head) => update({head}),
  });
  function drawMinis() {
    const cell = (w, i) => h("i", {style: heat(w), class: i === state.row ? "mine" : ""});
    minis.forEach((map, k) =>
      map.replaceChildren(...v.all[k].weights.flatMap((line, i) => line.map((w) => cell(w, i)))),
    );
  }
  /* Al tocar un mando se salta al paso en que se nota, si aún no se había llegado. */
  const reach = (step) => STEPS[Math.max(place(state.step), place(step))].name,
    width = attend(0).query[0].length;
  const dials = {
    mask: picker({
      label: "Máscara",
      value: data.masks.indexOf(state.mask),
      options: data.masks.map((mask) => MASKS[mask]),
      onchange: (i) => update({mask: data.masks[i], step: reach("enmascarar")}),
    }).row,
    scale: toggle({
      label: `dividir entre √${width} = ${number(Math.sqrt(width))}`,
      checked: state.scaled,
      oninput: (scaled) => update({scaled, step: reach("escalar")}),
    }).node,
    temperature: slider({
      label: "Temperatura",
      min: -1,
      max: 1,
      step: 0.01,
      value: Math.log10(state.temperature),
      text: (x) => number(10 ** x),
      oninput: (x) => update({temperature: 10 ** x, step: reach("escalar")}),
    }).node,
  };

  // ---- Juntarlo todo --------------------------------------------------------------------------------------------
  const explain = h("p", {class: "explain"}),
    sums = h("div", {class: "sums"});
  const {node, update} = cycle(root, state, () => {
    v = compute();
    const at = place(state.step),
      step = STEPS[at],
      {row, column} = state;
    steps.pick(at);
    move.set(at, STEPS.length - 1);
    asking.pick(row);
    answering.pick(column);
    explain.textContent = step.explain();
    drawBoard(step);
    drawMatrix(step.shown);
    drawMinis();
    sums.replaceChildren(...step.sums(row, column));
    const {all, ...values} = v;
    return {say: step.read(row, column), values};
  });
  stage.append(
    head.row ? h("div", {class: "controls"}, head.row) : "",
    steps.node,
    h("div", {class: "move"}, move.nodes[0], explain, move.nodes[1]),
    h("div", {class: "scene"}, board, matrix, sums),
    node,
    h("div", {class: "controls"}, Object.entries(dials).map(([name, dial]) => data.controls.includes(name) && dial)),
    probe(stage, "Toca una palabra o una celda para ver su número."),
  );
  printed(() => [place(state.step), STEPS.length - 1], go);
  update({});
});
