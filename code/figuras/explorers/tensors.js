/* Los tensores de un paso del sumador, pila por pila y etapa por etapa, con los nombres de la biblioteca. */
window.atentoTensors ??= (signs) => {
  const {h, number, choice, heat} = window.atentoExplorers;
  const READ = "read", // sus filas, o sus columnas, son los símbolos que lee
    WRITTEN = "written"; // o los que ha escrito
  let seen, // {run, config, step, head}: lo que se enseña
    stack = "decoder",
    piece = "decoder.blocks.0.cross_attention.weights",
    row = 0;

  // ---- El catálogo: cómo se llama cada tensor, qué dice y cómo se dibuja ------------------------------------------------
  const PARTS = {
    read: {label: "lee", about: "El flujo residual normalizado: lo que ve la subcapa."},
    query: {
      label: "consultas",
      about: "Qué busca cada símbolo, en cada cabeza; ya giradas según su lugar (RoPE).",
      role: "query",
    },
    key: {
      label: "claves",
      about: "Con qué se compara cada consulta; ya giradas según su lugar (RoPE).",
      role: "key",
      isLooked: true,
    },
    value: {
      label: "valores",
      about: "Lo que entrega cada símbolo a quien lo mira.",
      role: "value",
      isLooked: true,
    },
    scores: {
      label: "puntuaciones",
      about: "Cada consulta por cada clave, entre la raíz del tamaño de la cabeza; aún sin enmascarar.",
      draw: maps,
    },
    weights: {
      label: "pesos",
      about: "La softmax de las puntuaciones: cada fila suma 1.",
      draw: maps,
      isShare: true,
    },
    output: {label: "promedios", about: "Los valores, promediados con los pesos, en cada cabeza."},
    hidden: {
      label: "capa interna",
      about: "Las unidades de la red densa por posición, tras la ReLU: las apagadas valen 0.",
    },
    added: {label: "añade", about: "Lo que la subcapa suma al flujo residual."},
    stream: {label: "flujo residual", about: "Lo que había más lo que la subcapa añade."},
  };
  const KINDS = {
    attention: "autoatención",
    cross_attention: "atención cruzada",
    feed_forward: "red densa por posición",
  };
  const WHOLE = {
    "encoder.tokens": {
      label: "tokens",
      about:
        "Cada símbolo es un número del vocabulario. Su lugar dice cuánto giran sus consultas y sus claves: 0 en las unidades, 1 en las decenas… y −1 en lo que no es cifra.",
      draw: tokenTable,
      rows: READ,
    },
    "encoder.embeddings": {
      label: "embeddings",
      about: "Una fila por símbolo. La posición no se suma aquí: entra al girar consultas y claves.",
      rows: READ,
    },
    memory: {
      label: "memoria",
      about: "El flujo del codificador, normalizado: lo que el decodificador consulta en todos los pasos.",
      rows: READ,
    },
    "decoder.tokens": {
      label: "tokens",
      about: "El comienzo y lo ya escrito. Su lugar es el de la cifra que toca escribir.",
      draw: tokenTable,
      rows: WRITTEN,
    },
    "decoder.embeddings": {
      label: "embeddings",
      about: "Una fila por símbolo ya escrito, empezando por el comienzo.",
      rows: WRITTEN,
    },
    "decoder.final": {
      label: "salida",
      about: "El flujo del decodificador, normalizado. De su última fila salen los logits.",
      rows: WRITTEN,
    },
    logits: {
      label: "logits",
      about: "El producto de la última fila de la salida por el embedding de cada símbolo.",
      draw: signList,
    },
    probabilities: {
      label: "probabilidades",
      about: "La softmax de los logits. Se escribe el símbolo más probable.",
      draw: signList,
      isShare: true,
    },
  };
  /* Lo que se sabe de un tensor por su nombre, «pila.blocks.capa.subcapa.parte» o uno de los enteros. */
  function entryOf(name) {
    if (WHOLE[name]) return {draw: strips, ...WHOLE[name]};
    const [side, , , kind, part] = name.split("."),
      looked = side === "encoder" || kind === "cross_attention" ? READ : WRITTEN;
    const entry = {draw: strips, columns: looked, ...PARTS[part]};
    return {...entry, rows: entry.isLooked || side === "encoder" ? looked : WRITTEN};
  }
  const partOf = (name) => name.split(".").at(-1);
  const tensorOf = ({ids, inputs, tensors}, name) =>
    ({"encoder.tokens": ids, "decoder.tokens": inputs})[name] ?? tensors[name];

  /* Las etapas de una pila, en orden; una subcapa reúne sus tensores. */
  function stagesOf() {
    const depth = seen.config[`n_${stack}_layers`];
    const inner = [...Array(depth).keys()].flatMap((layer) =>
      Object.keys(KINDS).flatMap((kind) => {
        const prefix = `${stack}.blocks.${layer}.${kind}.`,
          names = Object.keys(PARTS).map((part) => prefix + part),
          made = names.filter((name) => name in seen.run.tensors && partOf(name) !== "stream");
        if (!made.length) return [];
        const label = kind === "attention" && stack === "decoder" ? "autoatención causal" : KINDS[kind];
        return [
          {label: depth > 1 ? `${label} ${layer + 1}` : label, names: made},
          {label: PARTS.stream.label, names: [`${prefix}stream`]},
        ];
      }),
    );
    const alone = (name) => ({label: WHOLE[name].label, names: [name]});
    const after = stack === "encoder" ? ["memory"] : ["decoder.final", "logits", "probabilities"];
    return [...[`${stack}.tokens`, `${stack}.embeddings`].map(alone), ...inner, ...after.map(alone)];
  }

  // ---- Los mandos -------------------------------------------------------------------------------------------------------
  const stagesBox = h("div"),
    partsBox = h("div"),
    panel = h("div", {class: "add-panel"});
  const stacks = choice({
    label: "Pila",
    value: 1,
    options: ["codificador: lee", "decodificador: escribe"],
    onchange(i) {
      stack = i ? "decoder" : "encoder";
      piece = stagesOf()
        .flatMap(({names}) => names)
        .find((name) => partOf(name) === "weights");
      drawStages();
      drawPanel();
    },
  });
  /* De cada etapa se enseña primero lo que más dice. */
  const favourite = (names) =>
    names.find((name) => partOf(name) === "weights") ??
    names.find((name) => partOf(name) === "hidden") ??
    names[0];
  function pick(name) {
    piece = name;
    drawPanel();
  }
  function drawStages() {
    const stages = stagesOf(),
      at = stages.findIndex(({names}) => names.includes(piece));
    const list = choice({
      label: "Etapa",
      className: "add-stages",
      value: at,
      options: stages.map(({label}) => label),
      onchange(i) {
        pick(favourite(stages[i].names));
        drawParts(stages[i]);
      },
    });
    stagesBox.replaceChildren(list.node);
    drawParts(stages[at]);
  }
  function drawParts({names}) {
    const list = choice({
      label: "Tensor",
      className: "add-parts",
      value: names.indexOf(piece),
      options: names.map((name) => entryOf(name).label),
      onchange: (i) => pick(names[i]),
    });
    partsBox.replaceChildren(names.length > 1 ? list.node : "");
  }

  // ---- Los dibujos ------------------------------------------------------------------------------------------------------
  /* Del decodificador se enseña hasta este paso; lo demás aún no existía. */
  const idsOf = (side) => (side === READ ? seen.run.ids : seen.run.inputs.slice(0, seen.step + 1));
  function visible(name) {
    const tensor = tensorOf(seen.run, name),
      {draw, rows: side, columns} = entryOf(name);
    if (draw === signList) return tensor[seen.step];
    const n = idsOf(side).length,
      cut = (rows) => rows.slice(0, n);
    if (draw === maps)
      return tensor.map((rows) => cut(rows).map((one) => one.slice(0, idsOf(columns).length)));
    return Array.isArray(tensor[0]?.[0]) ? tensor.map(cut) : cut(tensor);
  }
  const shapeOf = (tensor) => (Array.isArray(tensor) ? [tensor.length, ...shapeOf(tensor[0])] : []);

  function drawPanel() {
    const {label, about, draw} = entryOf(piece),
      tensor = visible(piece),
      size = shapeOf(tensor);
    panel.replaceChildren(
      h(
        "p",
        {class: "add-name"},
        h("b", null, label),
        " ",
        h("span", {class: "add-size"}, `(${size.join(", ")})`),
        h("code", null, piece),
      ),
      h("p", {class: "add-note"}, about),
      draw(piece, tensor),
    );
  }
  function tokenTable(name, ids) {
    const places = entryOf(name).rows === READ ? seen.run.places : ids.map((_, i) => i);
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
    const isChance = entryOf(name).isShare,
      widest = Math.max(...values.map(Math.abs));
    const color = (value) => (isChance ? heat(value) : tint(value / widest));
    return h(
      "ul",
      {class: "add-signs"},
      values.map((value, id) =>
        h(
          "li",
          {style: color(value)},
          h("b", null, signs[id]),
          " ",
          number(value, isChance ? 3 : 2),
        ),
      ),
    );
  }

  /* Un mapa por cabeza, o solo el de la elegida: filas, quien pregunta; columnas, a quién mira. */
  function maps(name, heads) {
    const {isShare: isWeight, rows: asking, columns: looked} = entryOf(name),
      isCausal = looked === WRITTEN,
      chosen = seen.head < 0 ? heads.map((_, k) => k) : [seen.head];
    const rowSigns = idsOf(asking).map((id) => signs[id]),
      columnSigns = idsOf(looked).map((id) => signs[id]);
    const widest = Math.max(1e-9, ...heads.flat(2).map(Math.abs));
    const one = (value, i, j, k) => {
      const hidden = isCausal && j > i && isWeight;
      const tip = `Cabeza ${k + 1}: «${rowSigns[i]}» mira a «${columnSigns[j]}», ${isWeight ? "peso" : "puntuación"} ${number(value, 3)}`;
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
            columnSigns.map((sign) => h("th", {scope: "col"}, sign)),
          ),
        ),
        h(
          "tbody",
          null,
          rows.map((row, i) =>
            h(
              "tr",
              {class: asking === WRITTEN && i === seen.step ? "add-current" : ""},
              h("th", {scope: "row"}, rowSigns[i]),
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
      {role = "attention", rows: asking} = entryOf(name);
    const rows = byHead ? tensor[0].map((_, i) => tensor.map((head) => head[i])) : tensor.map((row) => [row]);
    const flat = rows.flat(2),
      widest = Math.max(1e-9, ...flat.map(Math.abs));
    const ids = idsOf(asking);
    const spread = (values) => {
      const stops = values.map(
        (value, c) =>
          `${shade(value / widest, role)} ${((100 * c) / values.length).toFixed(2)}% ${((100 * (c + 1)) / values.length).toFixed(2)}%`,
      );
      return h("span", {class: "add-strip", style: `background:linear-gradient(to right,${stops.join()})`});
    };
    const numbers = h("div", {class: "add-numbers", tabindex: 0, role: "group"});
    const write = (i) => {
      row = i;
      numbers.setAttribute("aria-label", `Los números de «${signs[ids[i]]}»`);
      numbers.replaceChildren(
        ...rows[i].map((values, k) =>
          h("p", null, byHead && h("b", null, `cabeza ${k + 1}: `), values.map((v) => number(v)).join("  ")),
        ),
      );
    };
    const first = asking === READ ? row : ids.length - 1;
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

  return {
    node: h("div", null, h("div", {class: "add-stacks"}, stacks.node), stagesBox, partsBox, panel),
    draw(change) {
      seen = change;
      drawStages();
      drawPanel();
    },
  };
};
