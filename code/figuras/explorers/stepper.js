/* El paso a paso de la atención. Las cuentas (compute) tienen su gemelo en stepper.py. */
window.atentoExplorers.register("stepper", (stage, data, root) => {
  const {
    h,
    disable,
    svg,
    dot,
    matmul,
    printed,
    softmax,
    mix,
    number,
    factor,
    digitsOf,
    choice,
    slider,
    toggle,
    reading,
    probe,
    heat,
    vector,
  } = window.atentoExplorers;
  const {words, queries, features} = data;
  const STEPS = ["proyectar", "puntuar", "escalar", "enmascarar", "normalizar", "promediar", "unir"].slice(
    data.projections ? 0 : 1,
    data.output ? 7 : 6,
  );
  const MASK_NAMES = {none: "sin máscara", causal: "causal", given: data.maskLabel};
  const NAMED = 3.6; // ancho de una celda con nombre encima
  const ROW = 48; // píxeles de alto de una fila: cabe un dedo
  const state = {...data.initial};

  // ---- Las cuentas ----------------------------------------------------------------------------------------------
  const ofHead = (tensor, k = state.head) => tensor[Math.min(k, tensor.length - 1)];
  const heads = Math.max(
    ...data.inputs.map((t) => t.length),
    ...(data.projections ?? []).map((t) => t.length),
  );
  const project = (i, k) =>
    data.projections
      ? matmul(ofHead(data.inputs[i], k), ofHead(data.projections[i], k))
      : ofHead(data.inputs[i], k);

  function allowed(i, j) {
    if (state.mask === "causal") return j <= i;
    return state.mask === "given" ? Boolean(data.mask[i][j]) : true;
  }
  function attend(k) {
    const [query, key, value] = [project(0, k), project(1, k), project(2, k)];
    const root = Math.sqrt(query[0].length);
    const divisor = (state.scaled ? root : 1) * state.temperature;
    const scores = query.map((q) => key.map((k) => dot(q, k)));
    const scaled = scores.map((line) => line.map((score) => score / divisor));
    const masked = scaled.map((line, i) => line.map((score, j) => (allowed(i, j) ? score : -Infinity)));
    const weights = masked.map(softmax);
    const output = weights.map((line) => mix(line, value));
    return {query, key, value, root, divisor, scores, scaled, masked, weights, output};
  }
  function compute() {
    const all = Array.from({length: heads}, (_, k) => attend(k));
    const v = all[Math.min(state.head, heads - 1)];
    const {query, key, value} = v;
    const draw = (table, name) => (values, options) =>
      vector(values, name, {
        digits: digitsOf(table),
        widest: Math.max(1e-9, ...table.flat().map(Math.abs)),
        cell: features.length && name === "value" ? NAMED : undefined,
        ...options,
      });
    const show = {
      query: draw(query, "query"),
      key: draw(key, "key"),
      value: draw(value, "value"),
      output: draw(v.output, "value"),
    };
    if (!data.output) return {...v, all, show};
    const joined = queries.map((_, i) => all.flatMap((one) => one.output[i]));
    const united = matmul(joined, data.output);
    show.united = draw(united, "plain");
    return {...v, all, show, joined, united};
  }

  // ---- Lo que se dice en cada paso ------------------------------------------------------------------------------
  const quoted = (word) => `«${word}»`;
  const asker = () => quoted(queries[state.row]);
  const best = (line) => line.indexOf(Math.max(...line));

  const EXPLAIN = {
    proyectar: () =>
      "Cada palabra da tres vectores: consulta (lo que busca), clave (lo que ofrece) y valor (lo que entrega).",
    puntuar: () =>
      `La consulta de ${asker()} se multiplica, componente a componente, por cada clave. La suma dice cuánto se parecen.`,
    escalar: (v) =>
      state.scaled || state.temperature !== 1
        ? `Cada puntuación se divide entre ${divisorText(v)}: las diferencias se ${v.divisor > 1 ? "encogen" : "agrandan"} y el orden no cambia.`
        : "Sin dividir y con temperatura 1, las puntuaciones pasan como están.",
    enmascarar: () =>
      state.mask === "none"
        ? "Sin máscara, todas las palabras pueden mirar a todas: nada cambia."
        : `Lo que ${asker()} no puede mirar pasa a −∞; lo demás no cambia.`,
    normalizar: () => "La softmax convierte cada fila en pesos: ninguno negativo y, entre todos, suman 1.",
    promediar: () => `Cada valor cuenta según su peso. La suma es lo que recibe ${asker()}.`,
    unir: () =>
      `Lo que ha recibido ${asker()} por cada cabeza se pone en fila y se multiplica por la matriz de salida.`,
  };
  const READ = {
    proyectar: (v) =>
      `${quoted(words[state.column])} ofrece la clave ${listed(v.key[state.column])} y entrega el valor ${listed(v.value[state.column])}.`,
    puntuar: (v) => `La clave que más se parece a lo que busca ${asker()} es ${top(v.scores)}.`,
    escalar: (v) => `La mayor puntuación de ${asker()} es ahora la de ${top(v.scaled)}.`,
    enmascarar: () => {
      const hidden = words.filter((_, j) => !allowed(state.row, j)).map(quoted);
      return hidden.length ? `${asker()} no ve ${hidden.join(", ")}.` : `${asker()} ve todas las palabras.`;
    },
    normalizar: (v) =>
      v.weights[state.row].some((w) => w > 0)
        ? `${asker()} atiende sobre todo a ${top(v.weights)}.`
        : `${asker()} no puede atender a nadie: todos sus pesos son 0.`,
    promediar: (v) => `${asker()} recibe ${told(v.output[state.row], features)}.`,
    unir: (v) => `De todas las cabezas, ${asker()} se lleva ${told(v.united[state.row], data.outputFeatures)}.`,
  };
  const told = (values, names) =>
    values.map((x, c) => `${names[c] ? `${names[c]} ` : ""}${number(x)}`).join(", ");
  const listed = (values) => `(${values.map((x) => number(x)).join(", ")})`;
  function top(table) {
    const line = table[state.row],
      j = best(line);
    return `${quoted(words[j])} (${number(line[j])})`;
  }
  function divisorText(v) {
    const parts = [
      state.scaled && `√${v.query[0].length}`,
      state.temperature !== 1 && number(state.temperature),
    ].filter(Boolean);
    return `${parts.join(" · ")} = ${number(v.divisor)}`;
  }

  // ---- La cuenta de una celda -----------------------------------------------------------------------------------
  const role = (name, text) => h("b", {class: `role ${name}`}, text);
  /* «= 0.50» si dos cifras bastan y «≈ 0.50» si se ha redondeado. */
  const equals = (value) =>
    `${Math.abs(value - Number(value.toFixed(2))) < 1e-9 || !Number.isFinite(value) ? "=" : "≈"} ${number(value)}`;
  const products = (a, roleA, b, roleB) =>
    a.flatMap((value, c) => [c ? " + " : "", role(roleA, factor(value)), "·", role(roleB, factor(b[c]))]);
  const line = (label, ...terms) => h("p", null, h("span", {class: "what"}, label), h("span", null, terms));

  const ARITHMETIC = {
    proyectar: (v) => {
      const x = ofHead(data.inputs[0])[state.row],
        w = ofHead(data.projections[0]);
      return w[0].map((_, c) =>
        line(
          `consulta ${c + 1}`,
          products(
            x,
            "plain",
            w.map((r) => r[c]),
            "plain",
          ),
          " ",
          equals(v.query[state.row][c]),
        ),
      );
    },
    puntuar: (v, i, j) => [
      line(pair(i, j), products(v.query[i], "query", v.key[j], "key"), " ", equals(v.scores[i][j])),
    ],
    escalar: (v, i, j) => [
      line(pair(i, j), `${number(v.scores[i][j])} / ${number(v.divisor)} `, equals(v.scaled[i][j])),
    ],
    enmascarar: (v, i, j) => [
      line(
        pair(i, j),
        allowed(i, j)
          ? `puede mirar: queda ${number(v.scaled[i][j])}`
          : `no puede mirar: ${number(v.scaled[i][j])} pasa a −∞`,
      ),
    ],
    normalizar: (v, i, j) => [
      line(pair(i, j), ...softmaxTerms(v.masked[i], j), " ", equals(v.weights[i][j])),
    ],
    promediar: (v, i) =>
      v.output[i].map((result, c) =>
        line(
          features[c] ?? `valor ${c + 1}`,
          products(
            v.weights[i],
            "weighed",
            v.value.map((r) => r[c]),
            "value",
          ),
          " ",
          equals(result),
        ),
      ),
    unir: (v, i) =>
      v.united[i].map((result, c) => {
        const used = v.joined[i].map((_, r) => r).filter((r) => data.output[r][c]);
        return line(
          data.outputFeatures[c] ?? `salida ${c + 1}`,
          products(
            used.map((r) => v.joined[i][r]),
            "value",
            used.map((r) => data.output[r][c]),
            "plain",
          ),
          " ",
          equals(result),
        );
      }),
  };
  const pair = (i, j) => `${queries[i]} → ${words[j]}`;

  /* e^s / (e^s + …); si los exponentes son grandes se resta el máximo, que no cambia los pesos. */
  function softmaxTerms(scores, j) {
    const top = Math.max(...scores);
    if (top === -Infinity) return ["todo tapado: ningún peso"];
    const shift = Math.abs(top) > 9 ? top : 0;
    const exps = scores.map((score) => Math.exp(score - shift));
    const power = (score) => ["e", h("sup", null, number(score - shift))];
    return [
      power(scores[j]),
      " / (",
      scores.map((score, c) => [c ? " + " : "", power(score)]),
      ") ≈ ",
      `${number(exps[j])} / ${number(exps.reduce((a, b) => a + b))}`,
      shift ? " (restado el máximo)" : "",
    ];
  }

  // ---- El tablero: quién pregunta, a quién mira y con qué números --------------------------------------------------
  const mark = (name) => h("span", {class: `bullet ${name}`, "aria-hidden": "true"});
  const asking = choice({
    label: "Palabra que consulta",
    className: "words query",
    value: state.row,
    options: queries.map((word) => h("span", null, word)),
    onchange: (i) => update({row: i}),
  });
  const answering = choice({
    label: "Clave de la que se ve la cuenta",
    className: "words key",
    value: state.column,
    options: words.map((word) => h("span", null, word)),
    onchange: (j) => update({column: j}),
  });
  const height = ROW * Math.max(words.length, queries.length);
  const links = words.map(() => svg("line", {x1: 0, x2: 100, "vector-effect": "non-scaling-stroke"}));
  const web = svg(
    "svg",
    {
      class: "web",
      viewBox: `0 0 100 ${height}`,
      preserveAspectRatio: "none",
      style: `height:${height}px`,
      "aria-hidden": "true",
    },
    links,
  );

  const rows = words.map((_, j) => {
    const parts = {
      lead: h("span", {class: "enters"}),
      fill: h("span", {class: "fill"}),
      tail: h("span", {class: "tail"}),
    };
    parts.bar = h("span", {class: "bar"}, parts.fill);
    parts.node = h(
      "div",
      {
        class: "key-row",
        onclick: () => {
          answering.pick(j);
          update({column: j});
        },
      },
      parts.lead,
      parts.bar,
      parts.tail,
    );
    return parts;
  });
  const headline = h("div", {class: "headline"});
  const footer = h("div", {class: "total"});
  const board = h(
    "div",
    {class: "board"},
    h("div", {class: "column-name query"}, mark("query"), " consulta"),
    h("div"),
    h("div", {class: "column-name key"}, mark("key"), " clave"),
    h(
      "div",
      {class: "rows"},
      headline,
      rows.map((row) => row.node),
    ),
    asking.node,
    web,
    answering.node,
    footer,
  );

  const CONTENT = {
    // de cada paso: lo que entra, la barra y lo que sale
    proyectar: {
      head: (v, i) => [v.show.query(v.query[i])],
      row: (v, i, j) => ({
        lead: [
          v.show.key(v.key[j]),
          v.show.value(v.value[j]),
        ],
      }),
    },
    puntuar: {
      head: (v, i) => [v.show.query(v.query[i]), h("span", {class: "tail"}, "q · k")],
      row: (v, i, j) => ({lead: v.show.key(v.key[j]), bar: v.scores[i][j], tail: number(v.scores[i][j])}),
    },
    escalar: {
      head: (v) => [
        h("span", {class: "before"}, "q · k"),
        h("span", {class: "tail"}, `/ ${number(v.divisor)}`),
      ],
      row: (v, i, j) => ({
        lead: h("span", {class: "before"}, number(v.scores[i][j])),
        bar: v.scaled[i][j],
        tail: number(v.scaled[i][j]),
      }),
    },
    enmascarar: {
      head: () => [MASK_NAMES[state.mask]],
      row: (v, i, j) => ({bar: v.masked[i][j], tail: number(v.masked[i][j])}),
    },
    normalizar: {
      head: () => [h("span", {class: "before"}, "antes"), h("span", {class: "tail"}, "peso")],
      row: (v, i, j) => ({
        lead: h("span", {class: "before"}, number(v.masked[i][j])),
        weight: v.weights[i][j],
        tail: number(v.weights[i][j]),
      }),
    },
    promediar: {
      head: (v) => [
        h(
          "span",
          {class: "names", style: `--cell:${NAMED}em`},
          features.map((name) => h("span", {class: "entry"}, name)),
        ),
        h("span", {class: "tail"}, "peso"),
      ],
      row: (v, i, j) => ({
        lead: v.show.value(v.value[j], {tint: 4 + 45 * v.weights[i][j]}),
        weight: v.weights[i][j],
        tail: number(v.weights[i][j]),
      }),
    },
  };
  CONTENT.unir = CONTENT.promediar;

  function drawBoard(v) {
    const {row: i, column} = state,
      step = STEPS.indexOf(state.step),
      content = CONTENT[state.step];
    const weighted = step >= STEPS.indexOf("normalizar"),
      hiding = step >= STEPS.indexOf("enmascarar");
    const widest = Math.max(...v.scores[i].map(Math.abs), ...v.scaled[i].map(Math.abs), 1e-9);
    headline.replaceChildren(...content.head(v, i));
    rows.forEach((parts, j) => {
      const {lead, bar, weight, tail} = content.row(v, i, j);
      parts.lead.replaceChildren(...[lead ?? []].flat());
      parts.tail.textContent = tail ?? "";
      parts.bar.hidden = bar === undefined && weight === undefined;
      parts.bar.className = `bar ${weight === undefined ? "signed" : "weight"} ${hiding && !allowed(i, j) ? "hatched" : ""}`;
      const size = weight ?? (Number.isFinite(bar) ? Math.abs(bar) / widest / 2 : 0);
      parts.fill.style.width = `${100 * size}%`;
      parts.fill.style.left = weight === undefined ? `${bar < 0 ? 50 - 100 * size : 50}%` : "0";
      parts.node.classList.toggle("chosen", j === column);
      parts.node.dataset.tip = tipOf(v, i, j);
      links[j].setAttribute("y1", (i + 0.5) * ROW);
      links[j].setAttribute("y2", (j + 0.5) * ROW);
      const seen = !hiding || allowed(i, j);
      links[j].style.strokeWidth = `${!seen ? 0 : weighted ? 0.6 + 11 * v.weights[i][j] : 1.5}px`;
      links[j].setAttribute("class", weighted ? "weight" : j === column ? "chosen" : "");
    });
    const united = state.step === "unir";
    footer.replaceChildren(
      h("span", {class: "sum"}, `recibe ${asker()}`),
      ...(united
        ? [v.all.map((one) => v.show.output(one.output[i])), "→", v.show.united(v.united[i])].flat()
        : [v.show.output(v.output[i])]),
    );
    footer.hidden = !united && state.step !== "promediar";
  }

  const tableOf = (v) => {
    const before = {proyectar: null, puntuar: v.scores, escalar: v.scaled, enmascarar: v.masked};
    return state.step in before ? before[state.step] : v.weights;
  };
  function tipOf(v, i, j) {
    const table = tableOf(v);
    const what =
      {puntuar: "puntuación", escalar: "puntuación escalada", enmascarar: "tras la máscara"}[state.step] ??
      "peso";
    return table
      ? `${quoted(queries[i])} mira a ${quoted(words[j])}: ${what} ${number(table[i][j], 3)}`
      : `Clave y valor de ${quoted(words[j])}`;
  }

  // ---- La matriz entera --------------------------------------------------------------------------------------------
  const cells = queries.map((_, i) =>
    words.map((_, j) =>
      h("td", {
        onclick: () => {
          asking.pick(i);
          answering.pick(j);
          update({row: i, column: j});
        },
      }),
    ),
  );
  const lines = queries.map((word, i) => h("tr", null, h("th", {scope: "row"}, word), cells[i]));
  const caption = h("caption");
  const matrix = h(
    "table",
    {class: "matrix"},
    caption,
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        h("td"),
        words.map((word) => h("th", {scope: "col"}, h("span", null, word))),
      ),
    ),
    h("tbody", null, lines),
  );

  function drawMatrix(v) {
    const step = state.step;
    const table = tableOf(v);
    const isWeight = table === v.weights;
    const widest = Math.max(1e-9, ...v.scores.flat().map(Math.abs));
    caption.textContent = !table
      ? "Todavía no hay puntuaciones"
      : isWeight
        ? "Quién mira a quién"
        : "Todas las puntuaciones";
    cells.forEach((line, i) =>
      line.forEach((cell, j) => {
        const hidden = (isWeight || step === "enmascarar") && !allowed(i, j);
        cell.textContent = !table ? "" : hidden && isWeight ? "0" : number(table[i][j], isWeight ? 2 : 1);
        cell.className = `${hidden ? "hatched" : ""} ${i === state.row && j === state.column ? "chosen" : ""}`;
        cell.style.cssText =
          !table || hidden ? "" : isWeight ? heat(table[i][j]) : signed(table[i][j] / widest);
        cell.dataset.tip = tipOf(v, i, j);
      }),
    );
    lines.forEach((line, i) => line.classList.toggle("chosen", i === state.row));
  }
  const signed = (share) =>
    `background:color-mix(in srgb,var(--${share < 0 ? "muted" : "attention"}) ${Math.min(50, 50 * Math.abs(share)).toFixed(1)}%,var(--paper));color:var(--on-low)`;

  // ---- Los mandos -----------------------------------------------------------------------------------------------------
  const steps = choice({
    label: "Paso",
    className: "steps",
    value: STEPS.indexOf(state.step),
    onchange: (i) => update({step: STEPS[i]}),
    describe: (i) => `${i + 1}, ${STEPS[i]}`,
    options: STEPS.map((step, i) => [
      h("span", {class: "number"}, String(i + 1)),
      h("span", {class: "name"}, step),
    ]),
  });
  const move = (by) => update({step: STEPS[STEPS.indexOf(state.step) + by]});
  const back = h("button", {type: "button", onclick: () => move(-1)}, "← Atrás");
  const next = h("button", {type: "button", class: "next", onclick: () => move(1)}, "Siguiente →");

  /* Los mapas de todas las cabezas, pequeños y en los propios botones: se comparan y se elige. */
  const minis = Array.from({length: heads}, () => queries.map(() => words.map(() => h("i"))));
  function drawMinis(v) {
    minis.forEach((table, k) =>
      table.forEach((line, i) =>
        line.forEach((cell, j) => {
          cell.style.cssText = heat(v.all[k].weights[i][j]);
          cell.className = i === state.row ? "mine" : "";
        }),
      ),
    );
  }

  const wants = (name) => data.controls.includes(name);
  /* Al tocar un mando se salta al paso en que se nota, si aún no se había llegado. */
  const reach = (step) => STEPS[Math.max(STEPS.indexOf(state.step), STEPS.indexOf(step))];
  const named = (label, control) => h("div", {class: "named"}, h("span", null, label), control.node);
  const choosing =
    heads > 1 &&
    h(
      "div",
      {class: "controls"},
      named(
        "Cabeza",
        choice({
          label: "Cabeza",
          value: state.head,
          onchange: (i) => update({head: i}),
          options: minis.map((cells, k) => [
            h("span", null, data.headNames[k] ?? String(k + 1)),
            h("span", {class: "mini", style: `--n:${words.length}`, "aria-hidden": "true"}, cells.flat()),
          ]),
          describe: (k) => `cabeza ${k + 1} ${data.headNames[k] ?? ""}`,
        }),
      ),
    );
  const controls = h(
    "div",
    {class: "controls"},
    wants("mask") &&
      data.masks.length > 1 &&
      named(
        "Máscara",
        choice({
          label: "Máscara",
          value: data.masks.indexOf(state.mask),
          options: data.masks.map((mask) => MASK_NAMES[mask]),
          onchange: (i) => update({mask: data.masks[i], step: reach("enmascarar")}),
        }),
      ),
    wants("scale") &&
      toggle({
        label: `dividir entre √${project(0)[0].length} = ${number(Math.sqrt(project(0)[0].length))}`,
        checked: state.scaled,
        oninput: (scaled) => update({scaled, step: reach("escalar")}),
      }).node,
    wants("temperature") &&
      slider({
        label: "Temperatura",
        min: -1,
        max: 1,
        step: 0.01,
        value: Math.log10(state.temperature),
        text: (x) => number(10 ** x),
        oninput: (x) => update({temperature: 10 ** x, step: reach("escalar")}),
      }).node,
  );

  // ---- Juntarlo todo ---------------------------------------------------------------------------------------------------
  const explain = h("p", {class: "explain"}),
    sum = h("div", {class: "sums"}),
    read = reading();
  stage.append(
    choosing || "",
    h("div", {class: "bar-of-steps"}, steps.node),
    h("div", {class: "move"}, back, explain, next),
    h("div", {class: "scene"}, board, matrix, sum),
    read.node,
    controls,
    probe(stage, "Toca una palabra o una celda para ver su número."),
  );

  function update(change) {
    Object.assign(state, change);
    const v = compute(),
      at = STEPS.indexOf(state.step);
    steps.pick(at);
    disable([[back, at === 0], [next, at === STEPS.length - 1]]);
    steps.buttons.forEach((button, i) => button.classList.toggle("done", i < at));
    explain.textContent = EXPLAIN[state.step](v);
    drawBoard(v);
    drawMatrix(v);
    drawMinis(v);
    sum.replaceChildren(...ARITHMETIC[state.step](v, state.row, state.column));
    read.say(READ[state.step](v));
    const {show, all, ...values} = v;
    root.atento = {state: {...state}, values};
  }
  printed(() => [STEPS.indexOf(state.step), STEPS.length - 1], (i) => update({step: STEPS[i]}));
  update({});
});
