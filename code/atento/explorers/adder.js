/* El sumador vivo: se escribe una suma y el Transformer de transformer.js la resuelve, cifra a cifra y a la vista. Su
   gemelo, con los mismos nombres de tensores, está en adder.py. */
window.atentoExplorers.register("adder", (stage, data, root) => {
  const {h, number, choice, reading, probe, heat} = window.atentoExplorers;
  const {signs} = data;
  const PLACES = ["unidades", "decenas", "centenas", "millares"],
    STEPS = [...PLACES, "fin"],
    WHERE = ["las unidades", "las decenas", "las centenas", "los millares"],
    DIGIT = signs.indexOf("0"),
    PLUS = signs.indexOf("+"),
    END = signs.indexOf("fin"),
    LONGEST = 3, // cifras de cada número
    READS = 2 * LONGEST + 2, // con el + y el fin
    WRITES = LONGEST + 3, // con el comienzo y el fin
    PAUSE = 1300;
  const state = {
    step: 0,
    head: -1,
    stack: "decoder",
    piece: "decoder.blocks.0.cross_attention.weights",
    row: 0,
  };
  let model, run, timer;

  // ---- Lo que se escribe: el gemelo de read_sum -----------------------------------------------------------------------
  /* Los dos números, o la frase que dice por qué no puede ser. */
  function readSum(text) {
    const given = text.trim(),
      found = /^([0-9]+)\s*\+\s*([0-9]+)$/.exec(given);
    if (!found) return {problem: complaint(given)};
    const digits = found.slice(1).map((one) => one.replace(/^0+/, "")),
      long = digits.find((one) => one.length > LONGEST);
    if (long)
      return {problem: `Solo ha aprendido números de hasta tres cifras, y ${long} tiene ${long.length}.`};
    return {numbers: digits.map(Number)};
  }
  function complaint(given) {
    if (!given) return "Escribe una suma, como 458 + 367.";
    if (/[-−]\s*[0-9]/.test(given))
      return "Ni restas ni números negativos: solo sabe sumar números de 0 a 999.";
    if (/[0-9][.,][0-9]/.test(given))
      return "Ni puntos ni decimales: solo sabe sumar números enteros, de 0 a 999.";
    return "Escribe dos números con un + en medio, como 458 + 367.";
  }

  /* Los símbolos de una suma, con tres cifras cada número, y el lugar de cada uno. */
  function source(a, b) {
    const digits = (n) => [...String(n).padStart(LONGEST, "0")].map((one) => DIGIT + Number(one));
    return {ids: [...digits(a), PLUS, ...digits(b), END], places: [2, 1, 0, -1, 2, 1, 0, -1]};
  }
  function add(a, b) {
    const {ids, places} = source(a, b);
    return {a, b, ids, places, ...model.write(ids, places)};
  }
  const resultOf = ({written}) => {
    const digits = written.filter((id) => id >= DIGIT && id < PLUS).map((id) => signs[id]);
    return digits.length ? Number(digits.reverse().join("")) : NaN;
  };

  /* El texto de un fichero que viaja con el explorador: en la propia página o, en el sitio, en un guion que se pide
     ahora. */
  function file(name) {
    const node = document.querySelector(`script[data-atento-file="${name}"]`);
    if (node?.textContent) return Promise.resolve(node.textContent);
    return new Promise((done, fail) => {
      const give = () => done(window.atentoFiles[name]);
      if (window.atentoFiles?.[name]) return give();
      document.head.append(h("script", {src: node.dataset.url, onload: give, onerror: fail}));
    });
  }

  // ---- La suma, como en el cuaderno -----------------------------------------------------------------------------------
  const cell = (className, row, column) => {
    const sign = h("span", {class: "add-sign"}),
      weight = h("span", {class: "add-weight"}),
      node = h("span", {class: `add-cell ${className}`}, sign, weight);
    return {sign, weight, node, area: `${row}/${column}`};
  };
  /* Las columnas: el +, las cuatro de las cifras y la del fin y el comienzo. */
  const COLUMNS = PLACES.length + 2,
    END_AT = READS - 1;
  const columnOf = (i) => (i === END_AT ? COLUMNS : i === LONGEST ? 1 : 3 + (i % (LONGEST + 1)));
  const asked = Array.from({length: READS}, (_, i) => cell("add-asked", i < LONGEST ? 2 : 3, columnOf(i)));
  const shown = Array.from({length: WRITES}, (_, i) => cell("add-shown", 5, COLUMNS - i));
  const board = h(
    "div",
    {class: "add-board", role: "img"},
    PLACES.map((name, place) =>
      h("span", {class: "add-place", style: `grid-area:1/${COLUMNS - 1 - place}`}, name),
    ),
    [...asked, ...shown].map(({node}) => node),
    h("span", {class: "add-rule"}),
  );
  const said = h("p", {class: "add-answer"}),
    legend = h(
      "p",
      {class: "add-note add-legend"},
      h("span", {style: heat(0.5)}, "a qué cifras mira, y cuánto"),
      h("span", {class: "add-new"}, "lo que escribe"),
      h("span", {class: "add-query"}, "lo último escrito"),
    ),
    padded = h("p", {class: "add-note add-padded"}, "Siempre lee tres cifras por número y escribe cuatro.");

  /* Los pesos de este paso en la última atención cruzada: cuánto mira a cada símbolo que lee. */
  function looks() {
    const last = `decoder.blocks.${model.card.config.n_decoder_layers - 1}.cross_attention.weights`,
      heads = run.tensors[last].map((rows) => rows[state.step]);
    if (state.head >= 0) return heads[state.head];
    return heads[0].map((_, j) => heads.reduce((total, row) => total + row[j], 0) / heads.length);
  }
  const nameOf = (i) => {
    const which = i < 3 ? "primer número" : "segundo número";
    return run.places[i] < 0
      ? `«${signs[run.ids[i]]}»`
      : `${signs[run.ids[i]]}, ${PLACES[run.places[i]]} del ${which}`;
  };

  function paint({node, sign, weight, area}, text, share, tip) {
    sign.textContent = text;
    weight.textContent = share >= 0.005 ? number(share) : "";
    node.style.cssText = `grid-area:${area};${share === undefined ? "" : heat(share)}`;
    node.classList.toggle("add-word", text.length > 1);
    if (tip) node.dataset.tip = tip;
    else delete node.dataset.tip;
  }
  function drawBoard() {
    const crossed = looks();
    asked.forEach((one, i) =>
      paint(
        one,
        signs[run.ids[i]],
        crossed[i],
        `${nameOf(i)}: se lleva ${number(crossed[i], 3)} de la mirada`,
      ),
    );
    const line = [run.inputs[0], ...run.written];
    shown.forEach((one, i) => {
      const isQuery = i === state.step,
        isNew = i === state.step + 1;
      const text = i > state.step + 1 || line[i] === undefined ? "" : signs[line[i]];
      const tip =
        text &&
        (isNew
          ? `«${text}» es lo que escribe en este paso`
          : isQuery
            ? `«${text}», lo último escrito: desde aquí pregunta`
            : `«${text}», ya escrito`);
      paint(one, text, undefined, tip);
      one.node.classList.toggle("add-query", isQuery);
      one.node.classList.toggle("add-new", isNew);
    });
    board.setAttribute(
      "aria-label",
      `La suma ${run.a} + ${run.b}, en el paso ${state.step + 1} de ${run.written.length}.`,
    );
  }
  /* Antes de sumar: las cifras, si se entienden, y los huecos. */
  function drawBlank() {
    const {numbers} = readSum(field.value),
      ids = numbers ? source(...numbers).ids : [];
    asked.forEach((one, i) => paint(one, ids.length && i < END_AT ? signs[ids[i]] : ""));
    shown.forEach((one, i) => {
      paint(one, "");
      one.node.classList.remove("add-query");
      one.node.classList.toggle("add-new", i === 1);
    });
    said.className = "add-answer add-open";
    said.textContent = numbers ? `${numbers.join(" + ")} = ?` : "";
    board.setAttribute(
      "aria-label",
      numbers
        ? `La suma ${numbers.join(" + ")}, sin resolver: el resultado se escribirá de derecha a izquierda.`
        : "Los huecos de una suma.",
    );
  }

  // ---- Las probabilidades ---------------------------------------------------------------------------------------------
  const candidates = [...signs.keys()].filter((id) => id >= END && id !== PLUS);
  candidates.push(candidates.shift()); // el fin, detrás de las cifras
  const bars = candidates.map((id) => {
    const fill = h("i"),
      amount = h("span", {class: "add-amount"});
    const node = h(
      "span",
      {class: "add-bar"},
      amount,
      h("span", {class: "add-tube"}, fill),
      h("b", null, signs[id]),
    );
    return {id, fill, amount, node};
  });
  const chances = h(
    "div",
    {class: "add-chances"},
    h("p", {class: "add-title"}, "Probabilidad de cada símbolo"),
    h(
      "div",
      {class: "add-bars"},
      bars.map(({node}) => node),
    ),
  );
  function drawChances() {
    const chance = run.tensors.probabilities[state.step];
    for (const {id, fill, amount, node} of bars) {
      fill.style.height = `${100 * chance[id]}%`;
      amount.textContent = chance[id] >= 0.005 ? number(chance[id]) : "";
      node.classList.toggle("add-chosen", id === run.written[state.step]);
      node.dataset.tip = `«${signs[id]}»: probabilidad ${number(chance[id], 4)}`;
    }
  }

  // ---- Las cabezas ----------------------------------------------------------------------------------------------------
  const heads = h("div", {class: "add-heads"});
  function buildHeads() {
    const count = model.card.config.n_heads;
    const pick = choice({
      label: "Cabeza",
      value: state.head < 0 ? count : state.head,
      describe: (k) => (k < count ? `cabeza ${k + 1}` : "media de las cabezas"),
      options: [...Array.from({length: count}, (_, k) => `cabeza ${k + 1}`), "media"],
      onchange: (k) => update({head: k < count ? k : -1}),
    });
    heads.replaceChildren(
      h("p", {class: "add-title"}, "¿A qué mira cada cabeza?"),
      h(
        "p",
        {class: "add-note"},
        `Mira ${count} veces a la vez, y cada mirada es una cabeza. Elige una: la suma de arriba se tiñe con sus pesos.`,
      ),
      pick.node,
    );
  }

  // ---- Por dentro: los tensores, con sus nombres ------------------------------------------------------------------------
  const PARTS = {
    read: ["lee", "El flujo residual normalizado: lo que ve la subcapa."],
    query: [
      "consultas",
      "Qué busca cada símbolo, en cada cabeza; ya giradas según su lugar (RoPE).",
      "query",
    ],
    key: ["claves", "Con qué se compara cada consulta; ya giradas según su lugar (RoPE).", "key"],
    value: ["valores", "Lo que entrega cada símbolo a quien lo mira.", "value"],
    scores: [
      "puntuaciones",
      "Cada consulta por cada clave, entre la raíz del tamaño de la cabeza; aún sin enmascarar.",
    ],
    weights: ["pesos", "La softmax de las puntuaciones: cada fila suma 1."],
    output: ["promedios", "Los valores, promediados con los pesos, en cada cabeza."],
    hidden: ["capa interna", "Las unidades de la red densa por posición, tras la ReLU: las apagadas valen 0."],
    added: ["añade", "Lo que la subcapa suma al flujo residual."],
  };
  const KINDS = {attention: "autoatención", cross_attention: "atención cruzada", feed_forward: "red densa por posición"};
  const WHOLE = {
    "encoder.tokens": [
      "tokens",
      "Cada símbolo es un número del vocabulario. Su lugar dice cuánto giran sus consultas y sus claves: 0 en las unidades, 1 en las decenas… y −1 en lo que no es cifra.",
    ],
    "encoder.embeddings": [
      "embeddings",
      "Una fila por símbolo. La posición no se suma aquí: entra al girar consultas y claves.",
    ],
    memory: [
      "memoria",
      "El flujo del codificador, normalizado: lo que el decodificador consulta en todos los pasos.",
    ],
    "decoder.tokens": [
      "tokens",
      "El comienzo y lo ya escrito. Su lugar es el de la cifra que toca escribir.",
    ],
    "decoder.embeddings": ["embeddings", "Una fila por símbolo ya escrito, empezando por el comienzo."],
    "decoder.final": [
      "salida",
      "El flujo del decodificador, normalizado. De su última fila salen los logits.",
    ],
    logits: ["logits", "El producto de la última fila de la salida por el embedding de cada símbolo."],
    probabilities: ["probabilidades", "La softmax de los logits. Se escribe el símbolo más probable."],
  };
  const tensorOf = (name) =>
    ({"encoder.tokens": run.ids, "decoder.tokens": run.inputs})[name] ?? run.tensors[name];

  /* Las etapas de una pila, en orden; una subcapa reúne sus tensores. */
  function stagesOf(stack) {
    const depth = model.card.config[`n_${stack}_layers`];
    const inner = [...Array(depth).keys()].flatMap((layer) =>
      Object.keys(KINDS).flatMap((kind) => {
        const prefix = `${stack}.blocks.${layer}.${kind}.`,
          names = Object.keys(run.tensors).filter(
            (name) => name.startsWith(prefix) && !name.endsWith("stream"),
          );
        if (!names.length) return [];
        const label = kind === "attention" && stack === "decoder" ? "autoatención causal" : KINDS[kind];
        return [
          {label: depth > 1 ? `${label} ${layer + 1}` : label, names},
          {label: "flujo residual", names: [`${prefix}stream`]},
        ];
      }),
    );
    const alone = (name) => ({label: WHOLE[name][0], names: [name]});
    const before = [`${stack}.tokens`, `${stack}.embeddings`].map(alone);
    return [
      ...before,
      ...inner,
      ...(stack === "encoder" ? ["memory"] : ["decoder.final", "logits", "probabilities"]).map(alone),
    ];
  }

  const stagesBox = h("div"),
    partsBox = h("div"),
    panel = h("div", {class: "add-panel"});
  const inside = h(
    "details",
    {class: "add-inside", open: data.inside},
    h("summary", null, "Por dentro"),
  );
  const stacks = choice({
    label: "Pila",
    value: 1,
    options: ["codificador: lee", "decodificador: escribe"],
    onchange: (i) => show(i ? "decoder" : "encoder"),
  });
  inside.addEventListener("focusin", () => inside.open && stop()); // si se mira dentro, que no cambie solo
  inside.append(
    chances,
    heads,
    h("p", {class: "add-title"}, "Los tensores de este paso"),
    h("div", {class: "add-stacks"}, stacks.node),
    stagesBox,
    partsBox,
    panel,
  );

  function show(stack, piece) {
    state.stack = stack;
    const stages = stagesOf(stack);
    state.piece = piece ?? stages[2].names.find((name) => name.endsWith("weights"));
    drawStages(stages);
    drawPanel();
  }
  function drawStages(stages) {
    const at = stages.findIndex(({names}) => names.includes(state.piece)),
      favourite = (names) =>
        names.find((name) => name.endsWith("weights")) ??
        names.find((name) => name.endsWith("hidden")) ??
        names[0];
    stagesBox.replaceChildren(
      choice({
        label: "Etapa",
        className: "add-stages",
        value: at,
        options: stages.map(({label}) => label),
        onchange: (i) => {
          state.piece = favourite(stages[i].names);
          drawParts(stages[i]);
          drawPanel();
        },
      }).node,
    );
    drawParts(stages[at]);
  }
  const partOf = (name) => PARTS[name.split(".").at(-1)];
  function drawParts({names}) {
    const order = Object.keys(PARTS)
      .map((part) => names.find((name) => name.endsWith(`.${part}`)))
      .filter(Boolean);
    partsBox.replaceChildren(
      order.length > 1
        ? choice({
            label: "Tensor",
            className: "add-parts",
            value: order.indexOf(state.piece),
            options: order.map((name) => partOf(name)[0]),
            onchange: (i) => {
              state.piece = order[i];
              drawPanel();
            },
          }).node
        : "",
    );
  }

  const isLast = (name) => name === "logits" || name === "probabilities"; // solo la última fila
  const isReadSide = (name) => name.startsWith("encoder") || name === "memory";
  const rowsAre = (name) =>
    isReadSide(name) || /cross_attention\.(key|value)$/.test(name)
      ? run.ids
      : run.inputs.slice(0, state.step + 1);
  const columnsAre = (name) =>
    isReadSide(name) || name.includes("cross_attention") ? run.ids : run.inputs.slice(0, state.step + 1);
  /* Del decodificador se enseña hasta este paso; lo demás aún no existía. */
  function visible(name) {
    const tensor = tensorOf(name),
      n = rowsAre(name).length;
    if (isLast(name)) return tensor[state.step];
    if (/scores|weights/.test(name))
      return tensor.map((rows) => rows.slice(0, n).map((row) => row.slice(0, columnsAre(name).length)));
    return Array.isArray(tensor[0]?.[0]) ? tensor.map((rows) => rows.slice(0, n)) : tensor.slice(0, n);
  }
  const shapeOf = (tensor) => (Array.isArray(tensor) ? [tensor.length, ...shapeOf(tensor[0])] : []);

  function drawPanel() {
    const name = state.piece,
      tensor = visible(name);
    const [title, about] =
      WHOLE[name] ??
      (name.endsWith("stream")
        ? ["flujo residual", "Lo que había más lo que la subcapa añade."]
        : partOf(name));
    const size = shapeOf(tensor);
    panel.replaceChildren(
      h(
        "p",
        {class: "add-name"},
        h("b", null, title),
        " ",
        h("span", {class: "add-size"}, `(${size.join(", ")})`),
        h("code", null, name),
      ),
      h("p", {class: "add-note"}, about),
      name.endsWith("tokens")
        ? tokenTable(name)
        : isLast(name)
          ? signList(name, tensor)
          : /scores|weights/.test(name)
            ? maps(name, tensor)
            : strips(name, tensor),
    );
  }
  function tokenTable(name) {
    const ids = rowsAre(name),
      places = name.startsWith("encoder") ? run.places : ids.map((_, i) => i);
    const line = (title, cells) =>
      h(
        "tr",
        null,
        h("th", {scope: "row"}, title),
        cells.map((text) => h("td", null, text)),
      );
    return h(
      "table",
      {class: "add-table"},
      h(
        "tbody",
        null,
        line(
          "símbolo",
          ids.map((id) => signs[id]),
        ),
        line("número", ids),
        line(
          "lugar",
          places.map((one) => number(one, 0)),
        ),
      ),
    );
  }

  /* Un número por símbolo del vocabulario. */
  function signList(name, values) {
    const widest = Math.max(...values.map(Math.abs));
    const color = (value) => (name === "logits" ? tint(value / widest) : heat(value));
    return h(
      "ul",
      {class: "add-signs"},
      values.map((value, id) =>
        h(
          "li",
          {style: color(value)},
          h("b", null, signs[id]),
          " ",
          number(value, name === "logits" ? 2 : 3),
        ),
      ),
    );
  }

  /* Un mapa por cabeza, o solo el de la elegida: filas, quien pregunta; columnas, a quién mira. */
  function maps(name, heads) {
    const isWeight = name.endsWith("weights"),
      isCausal = name.startsWith("decoder") && !name.includes("cross"),
      chosen = state.head < 0 ? heads.map((_, k) => k) : [state.head];
    const widest = Math.max(1e-9, ...heads.flat(2).map(Math.abs));
    const one = (value, i, j, k) => {
      const hidden = isCausal && j > i && isWeight;
      const tip = `Cabeza ${k + 1}: «${signs[rowsAre(name)[i]]}» mira a «${signs[columnsAre(name)[j]]}», ${isWeight ? "peso" : "puntuación"} ${number(value, 3)}`;
      return h(
        "td",
        {
          "data-tip": tip,
          class: hidden ? "hatched" : "",
          style: hidden ? "" : isWeight ? heat(value) : tint(value / widest),
        },
        number(value, isWeight ? 2 : 1),
      );
    };
    const table = (rows, k) =>
      h(
        "table",
        {class: "add-map"},
        h("caption", null, `cabeza ${k + 1}`),
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            h("td"),
            columnsAre(name).map((id) => h("th", {scope: "col"}, signs[id])),
          ),
        ),
        h(
          "tbody",
          null,
          rows.map((row, i) =>
            h(
              "tr",
              {class: !isReadSide(name) && i === state.step ? "add-current" : ""},
              h("th", {scope: "row"}, signs[rowsAre(name)[i]]),
              row.map((value, j) => one(value, i, j, k)),
            ),
          ),
        ),
      );
    return h(
      "div",
      {class: "add-maps"},
      chosen.map((k) => table(heads[k], k)),
    );
  }
  const tint = (share, role = "attention") => `background:${shade(share, role, 50)};color:var(--on-low)`;
  /* El color crece con la raíz del valor: así se ven también los pequeños. */
  const shade = (share, role, most = 100) =>
    `color-mix(in srgb,var(--${share < 0 ? "muted" : role}) ${(most * Math.sqrt(Math.abs(share))).toFixed(0)}%,var(--paper))`;

  /* Una tira por fila: cada número, un color; violeta (o el de su papel) si es positivo, gris si es negativo. */
  function strips(name, tensor) {
    const byHead = Array.isArray(tensor[0][0]),
      role = (!WHOLE[name] && !name.endsWith("stream") && partOf(name)[2]) || "attention";
    const rows = byHead ? tensor[0].map((_, i) => tensor.map((head) => head[i])) : tensor.map((row) => [row]);
    const flat = rows.flat(2),
      widest = Math.max(1e-9, ...flat.map(Math.abs));
    const ids = rowsAre(name);
    const spread = (values) => {
      const stops = values.map(
        (value, c) =>
          `${shade(value / widest, role)} ${((100 * c) / values.length).toFixed(2)}% ${((100 * (c + 1)) / values.length).toFixed(2)}%`,
      );
      return h("span", {class: "add-strip", style: `background:linear-gradient(to right,${stops.join()})`});
    };
    const numbers = h("div", {class: "add-numbers", tabindex: 0, role: "group"});
    const write = (i) => {
      state.row = i;
      numbers.setAttribute("aria-label", `Los números de «${signs[ids[i]]}»`);
      numbers.replaceChildren(
        ...rows[i].map((values, k) =>
          h("p", null, byHead && h("b", null, `cabeza ${k + 1}: `), values.map((v) => number(v)).join("  ")),
        ),
      );
    };
    const first = ids === run.ids ? state.row : ids.length - 1;
    const list = choice({
      label: "Fila",
      className: "add-rows",
      value: first,
      describe: (i) => `«${signs[ids[i]]}», fila ${i + 1} de ${ids.length}`,
      options: rows.map((parts, i) => [
        h("span", {class: "add-label"}, signs[ids[i]]),
        h("span", {class: "add-segments"}, parts.map(spread)),
      ]),
      onchange: write,
    });
    write(first);
    const extremes = `de ${number(Math.min(...flat))} a ${number(Math.max(...flat))}; en gris, los negativos; el color crece con la raíz del valor${byHead ? "; una parte por cabeza" : ""}`;
    return h("div", null, list.node, h("p", {class: "add-note"}, extremes), numbers);
  }

  // ---- Escribir -------------------------------------------------------------------------------------------------------
  const field = h("input", {
    type: "text",
    class: "add-field",
    value: data.start,
    "aria-label": "Suma",
    "aria-describedby": `${root.id}-aviso`,
    autocomplete: "off",
    spellcheck: "false",
    enterkeyhint: "go",
  });
  const problem = h("p", {class: "add-problem", role: "alert", id: `${root.id}-aviso`, hidden: true});
  const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
  function complain(text) {
    problem.textContent = text;
    problem.hidden = !text;
    field.setAttribute("aria-invalid", Boolean(text));
  }

  async function solve() {
    const {numbers, problem: line} = readSum(field.value);
    stop();
    complain(line ?? "");
    if (line) return forget();
    try {
      model ??= window.atentoTransformer.load(await file(data.file));
    } catch {
      return complain(
        "No se han podido leer los números del modelo. Comprueba la red y vuelve a pulsar «Sumar».",
      );
    }
    run = add(...numbers);
    delete root.dataset.idle;
    after.forEach((node) => (node.hidden = false));
    buildSteps();
    buildHeads();
    update({step: 0});
    if (!calm()) play();
  }
  /* Lo escrito ya no es la suma resuelta: el tablero vuelve a empezar. */
  function forget() {
    stop();
    run = undefined;
    root.dataset.idle = "";
    after.forEach((node) => (node.hidden = true));
    drawBlank();
    read.say(INVITE);
    root.atento = {state: {...state}};
  }
  const random = () => {
    const one = () => Math.floor(Math.random() * 1000);
    field.value = `${one()} + ${one()}`;
    return solve();
  };
  const form = h(
    "form",
    {
      class: "add-form controls",
      onsubmit: (event) => {
        event.preventDefault();
        solve();
      },
    },
    field,
    h("button", {class: "add-go"}, "Sumar"),
    h("button", {type: "button", onclick: random}, "Al azar"),
  );
  field.addEventListener("input", () => {
    complain("");
    forget();
  });

  // ---- Los pasos ------------------------------------------------------------------------------------------------------
  const stepsBox = h("div", {class: "add-steps"});
  let stepChoice;
  function buildSteps() {
    stepChoice = choice({
      label: "Paso",
      value: state.step,
      options: run.written.map((_, i) => STEPS[i] ?? `paso ${i + 1}`),
      describe: (i) => `${i + 1}, ${STEPS[i] ?? "otro"}`,
      onchange: (i) => go(i),
    });
    stepsBox.replaceChildren(stepChoice.node);
  }
  const go = (step) => {
    stop();
    update({step});
  };
  const back = h("button", {type: "button", onclick: () => go(state.step - 1)}, "← Atrás"),
    next = h("button", {type: "button", class: "add-next", onclick: () => go(state.step + 1)}, "Siguiente →"),
    player = h("button", {type: "button", class: "add-play", onclick: () => (timer ? stop() : play())});
  function stop() {
    clearTimeout(timer);
    timer = undefined;
    tellPlayer();
  }
  function play() {
    if (state.step === run.written.length - 1) update({step: 0});
    timer = setTimeout(forward, PAUSE);
    tellPlayer();
  }
  function forward() {
    timer = undefined;
    update({step: state.step + 1});
    if (state.step < run.written.length - 1) timer = setTimeout(forward, PAUSE);
    tellPlayer();
  }
  const tellPlayer = () => {
    player.textContent = timer
      ? "Pausa"
      : state.step < (run?.written.length ?? 9) - 1
        ? "Reproducir"
        : "Ver otra vez";
  };

  // ---- Juntarlo todo --------------------------------------------------------------------------------------------------
  const read = reading(),
    INVITE = "Pulsa «Sumar» y mira cómo escribe el resultado, de las unidades a los millares.";
  const move = h("div", {class: "add-move move", hidden: true}, back, player, next);
  const told = probe(stage, "Toca una cifra y aquí se lee cuánto la mira."),
    after = [legend, stepsBox, move, inside, told];
  stage.append(
    form,
    problem,
    h("div", {class: "add-scene"}, h("div", {class: "add-paper"}, board, said, padded, legend)),
    h("div", {class: "add-reading"}, read.node),
    stepsBox,
    move,
    inside,
    told,
  );

  /* Las dos cifras más miradas, en palabras. */
  function mostSeen() {
    const crossed = looks();
    return [...crossed.keys()]
      .sort((i, j) => crossed[j] - crossed[i])
      .slice(0, 2)
      .filter((i) => crossed[i] >= 0.1)
      .map(
        (i) =>
          `«${signs[run.ids[i]]}» (${run.places[i] < 0 ? "" : `${PLACES[run.places[i]]}, `}${number(crossed[i])})`,
      )
      .join(" y ");
  }
  function tell() {
    const {step} = state,
      id = run.written[step],
      last = step === run.written.length - 1;
    const what = last ? `escribe «${signs[id]}» y para` : `escribe ${signs[id]} en ${WHERE[step]}`;
    const who = state.head < 0 ? "Mira" : `La cabeza ${state.head + 1} mira`;
    return `Paso ${step + 1}: ${what}. ${who} sobre todo a ${mostSeen()}.`;
  }
  function drawAnswer() {
    const whole = state.step === run.written.length - 1,
      result = resultOf(run),
      right = result === run.a + run.b;
    said.className = `add-answer ${!whole ? "add-open" : right ? "" : "add-wrong"}`;
    said.textContent =
      !whole || right
        ? `${run.a} + ${run.b} = ${whole ? result : "?"}`
        : `Ha escrito ${result}, y ${run.a} + ${run.b} son ${run.a + run.b}: aquí falla.`;
  }

  function update(change) {
    Object.assign(state, change);
    stepChoice.pick(state.step);
    back.disabled = state.step === 0;
    next.disabled = state.step === run.written.length - 1;
    drawBoard();
    drawChances();
    drawAnswer();
    show(state.stack, state.piece);
    tellPlayer();
    read.say(tell());
    root.atento = {state: {...state}, run, add: (a, b) => add(a, b).written};
  }
  forget();
});
