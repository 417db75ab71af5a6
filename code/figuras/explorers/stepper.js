/* El paso a paso de la atención. Las cuentas (compute) tienen su gemelo en stepper.py. */
window.atentoExplorers.register("stepper", (stage, data, root) => {
  const {h, svg, dot, matmul, softmax, mix, number, factor, digitsOf, heat, vector, choice} = window.atentoExplorers,
    {picker, slider, toggle, walk, printed, gauge, cycle, probe} = window.atentoExplorers;
  const {words, queries, inputs, projections, features, outputFeatures, headNames, masks} = data,
    MASKS = {none: "sin máscara", causal: "causal"},
    NAMED = 3.6, // ancho de una celda con nombre encima
    ROW = 48; // píxeles de alto de una fila: cabe un dedo
  const state = {...data.initial};
  let v; // lo calculado con ese estado

  // ---- Las cuentas ----------------------------------------------------------------------------------------------
  const heads = Math.max(...[...inputs, ...(projections ?? [])].map((tensor) => tensor.length)),
    ofHead = (tensor, k) => tensor[Math.min(k, tensor.length - 1)],
    sees = (i, j) => state.mask === "none" || j <= i;
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
  /* La clave que más puntúa, o más pesa, en una fila. */
  function top(line) {
    const most = Math.max(...line);
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
  const equals = (x) => `${Math.abs(x - Number(x.toFixed(2))) < 1e-9 ? "=" : "≈"} ${number(x)}`;
  /* Una cuenta por componente: la fila por esa columna de la tabla, en los sitios en que keep. */
  const perColumn = (results, label, row, rowRole, lines, role, keep = () => true) =>
    results.map((result, c) => {
      const used = lines.map((_, r) => r).filter((r) => keep(lines[r][c])),
        [left, right] = [used.map((r) => row[r]), used.map((r) => lines[r][c])];
      return line(label(c), products(left, rowRole, right, role), " ", equals(result));
    });
  /* e^s / (e^s + …); si los exponentes son grandes se resta el máximo, que no cambia los pesos. */
  function softmaxTerms(scores, j) {
    const most = Math.max(...scores);
    const shift = Math.abs(most) > 9 ? most : 0,
      exps = scores.map((score) => Math.exp(score - shift)),
      power = (score) => ["e", h("sup", null, number(score - shift))];
    return [
      [power(scores[j]), " / (", scores.map((score, c) => [c ? " + " : "", power(score)]), ") ≈ "],
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
  const span = (name, ...inner) => h("span", {class: name}, inner),
    titles = h("span", {class: "titles", style: `--cell:${NAMED}em`}, features.map((name) => span("entry", name)));
  const averaging = {
    shown: "weights",
    head: () => [titles, span("tail", "peso")],
    lead: (i, j) => drawn("value", v.value[j], {tint: 4 + 45 * v.weights[i][j]}),
  };
  /* De cada uno: la tabla que enseña (shown); lo que va sobre las filas (head), delante de cada una (lead) y al pie
     (foot); lo que se explica, la cuenta de la celda elegida (sums) y lo que se lee (read). */
  const STEPS = [
    {
      name: "proyectar",
      explain: () =>
        "Cada palabra da tres vectores: consulta (lo que busca), clave (lo que ofrece) y valor (lo que entrega).",
      head: (i) => [drawn("query", v.query[i])],
      lead: (_, j) => [drawn("key", v.key[j]), drawn("value", v.value[j])],
      sums(i) {
        const [x, matrix] = [inputs[0], projections[0]].map((tensor) => ofHead(tensor, state.head));
        return perColumn(v.query[i], (c) => `consulta ${c + 1}`, x[i], "plain", matrix, "plain");
      },
      read: (_, j) =>
        `${quoted(words[j])} ofrece la clave ${listed(v.key[j])} y entrega el valor ${listed(v.value[j])}.`,
    },
    {
      name: "puntuar",
      shown: "scores",
      explain: () =>
        `La consulta de ${asker()} se multiplica, componente a componente, por cada clave. ` +
        "La suma dice cuánto se parecen.",
      head: (i) => [drawn("query", v.query[i]), span("tail", "q · k")],
      lead: (_, j) => drawn("key", v.key[j]),
      sums: (i, j) => [ofPair(i, j, products(v.query[i], "query", v.key[j], "key"), " ", equals(v.scores[i][j]))],
      read: (i) => `La clave que más se parece a lo que busca ${asker()} es ${top(v.scores[i])}.`,
    },
    {
      name: "escalar",
      shown: "scaled",
      explain() {
        const change = v.divisor > 1 ? "encogen" : "agrandan";
        return state.scaled || state.temperature !== 1
          ? `Cada puntuación se divide entre ${divisorText()}: las diferencias se ${change} y el orden no cambia.`
          : "Sin dividir y con temperatura 1, las puntuaciones pasan como están.";
      },
      head: () => [span("before", "q · k"), span("tail", `/ ${number(v.divisor)}`)],
      lead: (i, j) => span("before", number(v.scores[i][j])),
      sums: (i, j) => [ofPair(i, j, `${number(v.scores[i][j])} / ${number(v.divisor)} `, equals(v.scaled[i][j]))],
      read: (i) => `La mayor puntuación de ${asker()} es ahora la de ${top(v.scaled[i])}.`,
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
      head: () => [span("before", "antes"), span("tail", "peso")],
      lead: (i, j) => span("before", number(v.masked[i][j])),
      sums: (i, j) => [ofPair(i, j, softmaxTerms(v.masked[i], j), " ", equals(v.weights[i][j]))],
      read: (i) => `${asker()} atiende sobre todo a ${top(v.weights[i])}.`,
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
  const side = (label, role, options, at) =>
    choice({label, className: `words ${role}`, value: state[at], options, onchange: (i) => update({[at]: i})});
  const asking = side("Palabra que consulta", "query", queries, "row"),
    answering = side("Clave de la que se ve la cuenta", "key", words, "column");
  const links = words.map(() => svg("line", {x1: 0, x2: 100, "vector-effect": "non-scaling-stroke"})),
    height = ROW * Math.max(words.length, queries.length),
    box = {viewBox: `0 0 100 ${height}`, preserveAspectRatio: "none", style: `height:${height}px`};
  const rows = words.map((_, j) => {
    const [lead, {bar, nodes, set}] = [span("enters"), gauge()];
    return {lead, bar, set, node: h("div", {class: "key-row", onclick: () => update({column: j})}, lead, nodes)};
  });
  const headline = h("div", {class: "headline"}),
    footer = h("div", {class: "total"}),
    mark = (role) => h("span", {class: `bullet ${role}`, "aria-hidden": "true"});
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
  const WHAT = {scores: "puntuación", scaled: "puntuación escalada", masked: "tras la máscara", weights: "peso"},
    pair = (i, j) => `${quoted(queries[i])} mira a ${quoted(words[j])}`;
  function tip(shown, i, j) {
    if (!shown) return `Clave y valor de ${quoted(words[j])}`;
    return `${pair(i, j)}: ${WHAT[shown]} ${number(v[shown][i][j], 3)}`;
  }
  const hides = (shown, i, j) => (shown === "weights" || shown === "masked") && !sees(i, j);
  function drawBoard({shown, head, lead, foot}) {
    const {row: i, column} = state,
      isWeight = shown === "weights",
      widest = Math.max(...[...v.scores[i], ...v.scaled[i]].map(Math.abs), 1e-9);
    headline.replaceChildren(...head(i));
    rows.forEach(({node, bar, set, ...row}, j) => {
      const x = shown ? v[shown][i][j] : 0,
        share = isWeight ? x : Number.isFinite(x) ? Math.abs(x) / widest / 2 : 0,
        isHidden = hides(shown, i, j);
      row.lead.replaceChildren(...[lead?.(i, j) ?? []].flat());
      bar.hidden = !shown;
      bar.className = `bar ${isWeight ? "weight" : "signed"} ${isHidden ? "hatched" : ""}`;
      set(share, shown ? number(x) : "", isWeight ? 0 : x < 0 ? 0.5 - share : 0.5);
      node.classList.toggle("chosen", j === column);
      node.dataset.tip = tip(shown, i, j);
      links[j].setAttribute("y1", (i + 0.5) * ROW);
      links[j].setAttribute("y2", (j + 0.5) * ROW);
      links[j].setAttribute("class", isWeight ? "weight" : j === column ? "chosen" : "");
      links[j].style.strokeWidth = `${isHidden ? 0 : isWeight ? 0.6 + 11 * x : 1.5}px`;
    });
    footer.hidden = !foot;
    footer.replaceChildren(`recibe ${asker()}`, ...(foot?.(i) ?? []));
  }

  // ---- La matriz entera y los mapas de las cabezas, que se comparan y se eligen en sus propios botones -----------
  const cells = queries.map((_, row) => words.map((_, column) => h("td", {onclick: () => update({row, column})}))),
    lines = queries.map((word, i) => h("tr", null, h("th", {scope: "row"}, word), cells[i])),
    keys = words.map((word) => h("th", {scope: "col"}, h("span", null, word))),
    caption = h("caption"),
    above = h("thead", null, h("tr", null, h("td"), keys)),
    matrix = h("table", {class: "matrix bare"}, caption, above, h("tbody", null, lines));
  const tone = (share) =>
    `background:color-mix(in srgb,var(--${share < 0 ? "muted" : "attention"}) ` +
    `${Math.min(50, 50 * Math.abs(share)).toFixed(1)}%,var(--paper));color:var(--on-low)`;
  function drawMatrix(shown) {
    const isWeight = shown === "weights",
      widest = Math.max(1e-9, ...v.scores.flat().map(Math.abs)),
      title = shown ? "Todas las puntuaciones" : "Todavía no hay puntuaciones";
    caption.textContent = isWeight ? "Quién mira a quién" : title;
    cells.forEach((line, i) => {
      lines[i].classList.toggle("chosen", i === state.row);
      line.forEach((cell, j) => {
        const x = shown && v[shown][i][j],
          isHidden = hides(shown, i, j);
        cell.textContent = !shown ? "" : isHidden && isWeight ? "0" : number(x, isWeight ? 2 : 1);
        cell.className = `${isHidden ? "hatched" : ""} ${i === state.row && j === state.column ? "chosen" : ""}`;
        cell.style.cssText = !shown || isHidden ? "" : isWeight ? heat(x) : tone(x / widest);
        cell.dataset.tip = tip(shown, i, j);
      });
    });
  }
  const mini = {class: "mini", style: `--n:${words.length}`, "aria-hidden": "true"},
    minis = Array.from({length: heads}, () => h("span", mini));
  function drawMinis() {
    const cell = (w, i) => h("i", {style: heat(w), class: i === state.row ? "mine" : ""});
    minis.forEach((map, k) =>
      map.replaceChildren(...v.all[k].weights.flatMap((line, i) => line.map((w) => cell(w, i)))),
    );
  }

  // ---- Los mandos -----------------------------------------------------------------------------------------------
  const steps = choice({
    label: "Paso", className: "steps", value: place(state.step), onchange: go,
    options: STEPS.map(({name}, i) => [span("number", i + 1), span("name", name)]),
    describe: (i) => `${i + 1}, ${STEPS[i].name}`,
  });
  const move = walk({back: "← Atrás", next: "Siguiente →"}, go);
  const head = picker({
    label: "Cabeza", value: state.head, onchange: (head) => update({head}),
    options: minis.map((map, k) => [h("span", null, headNames[k] ?? k + 1), map]),
    describe: (k) => `cabeza ${k + 1} ${headNames[k] ?? ""}`,
  });
  /* Al tocar un mando se salta al paso en que se nota, si aún no se había llegado. */
  const reach = (step, change) => update({...change, step: STEPS[Math.max(place(state.step), place(step))].name}),
    width = attend(0).query[0].length;
  const dials = {
    mask: picker({
      label: "Máscara", value: masks.indexOf(state.mask), options: masks.map((mask) => MASKS[mask]),
      onchange: (i) => reach("enmascarar", {mask: masks[i]}),
    }).row,
    scale: toggle({
      label: `dividir entre √${width} = ${number(Math.sqrt(width))}`, checked: state.scaled,
      oninput: (scaled) => reach("escalar", {scaled}),
    }).node,
    temperature: slider({
      label: "Temperatura", min: -1, max: 1, step: 0.01, value: Math.log10(state.temperature),
      text: (x) => number(10 ** x), oninput: (x) => reach("escalar", {temperature: 10 ** x}),
    }).node,
  };

  // ---- Juntarlo todo --------------------------------------------------------------------------------------------
  const explain = h("p", {class: "explain"}),
    sums = h("div", {class: "sums"});
  const {node, update} = cycle(root, state, () => {
    v = compute();
    const {row, column} = state,
      at = place(state.step),
      step = STEPS[at];
    for (const [group, chosen] of [[steps, at], [asking, row], [answering, column]]) group.pick(chosen);
    move.set(at, STEPS.length - 1);
    explain.textContent = step.explain();
    drawBoard(step);
    drawMatrix(step.shown);
    drawMinis();
    sums.replaceChildren(...step.sums(row, column));
    const {all, ...values} = v;
    return {say: step.read(row, column), values};
  });
  printed(() => [place(state.step), STEPS.length - 1], go);
  stage.append(
    head.row ? h("div", {class: "controls"}, head.row) : "",
    steps.node,
    h("div", {class: "move"}, move.nodes[0], explain, move.nodes[1]),
    h("div", {class: "scene"}, board, matrix, sums),
    node,
    h("div", {class: "controls"}, Object.entries(dials).map(([name, dial]) => data.controls.includes(name) && dial)),
    probe(stage, "Toca una palabra o una celda para ver su número."),
  );
  update({});
});
