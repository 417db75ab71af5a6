/* El mapa del Transformer: cada parte es un botón sobre el dibujo, y dice qué entra, qué sale y cuánto pesa. */
window.atentoExplorers.register("architecture", (stage, data, root) => {
  const {h, disable, number, choice, reading, probe, heat} = window.atentoExplorers;
  const {words, ids, parts, tables, best, shapes, layers} = data;
  const state = {part: 0, block: 0, head: 0};

  // ---- Las tablas -----------------------------------------------------------------------------------------------
  const tableOf = (name) => {
    const found = tables[name.replace("{b}", state.block)];
    return typeof found === "string" ? tables[found] : found;
  };
  const sizeOf = (name) => {
    const [symbols, sizes] = shapes[name] ?? shapes[name.replace(/\.\d+\./, ".{b}.")];
    return `${symbols} = ${sizes.join(" × ")}`;
  };
  const sideOf = (name) => (/^(source|encoder|memory)/.test(name) ? "source" : "target");
  const cellsOf = (count, first, rows) => h("div", {class: "cells", style: `--n:${count}`}, first, rows);

  /* Una fila por palabra; el tinte dice el tamaño y el número, el signo. */
  function grid(name) {
    const rows = tableOf(name),
      labels = words[sideOf(name)],
      most = Math.max(1e-9, ...rows.flat().map(Math.abs));
    const made = rows.map((row, i) => [
      h("span", {class: "row-name"}, labels[i]),
      row.map((value, c) =>
        h(
          "span",
          {
            class: "number",
            style: `--share:${((55 * Math.abs(value)) / most).toFixed(0)}%`,
            "data-tip": `${labels[i]}, componente ${c + 1}: ${number(value, 3)}`,
          },
          number(value, 1),
        ),
      ),
    ]);
    return cellsOf(rows[0].length, null, made);
  }
  /* Los pesos de una cabeza: filas que preguntan, columnas que se miran. */
  function weights(name) {
    const asks = words[sideOf(name)],
      looked = words[name.includes("cross") ? "source" : sideOf(name)],
      heads = tableOf(name);
    const chosen = choice({
      label: "Cabeza",
      value: state.head,
      options: heads.map((_, k) => `cabeza ${k + 1}`),
      onchange: (head) => {
        state.head = head;
        place.replaceChildren(matrix());
        publish();
      },
    });
    const matrix = () =>
      cellsOf(
        looked.length,
        [h("span"), looked.map((word) => h("span", {class: "column-name"}, word))],
        heads[state.head].map((row, i) => [
          h("span", {class: "row-name"}, asks[i]),
          row.map((weight, j) =>
            h(
              "span",
              {
                class: "number",
                style: heat(weight),
                "data-tip": `«${asks[i]}» pone en «${looked[j]}» un peso de ${number(weight)}`,
              },
              number(weight, 1),
            ),
          ),
        ]),
      );
    const place = h("div", null, matrix());
    return [heads.length > 1 && h("div", {class: "controls"}, chosen.node), place];
  }
  function likely() {
    return h(
      "ol",
      {class: "likely"},
      best.map((row, i) =>
        h(
          "li",
          null,
          h("b", null, words.target[i]),
          " → ",
          row.map(([word, chance], k) => [k ? ", " : "", k ? word : h("b", null, word), ` ${number(chance)}`]),
        ),
      ),
    );
  }
  function drawn(name) {
    if (name === "scores") return null;
    if (ids[name])
      return h(
        "p",
        {class: "sentence"},
        words[name].map((word, i) => h("span", {class: "token"}, word, " ", h("span", {class: "hush"}, ids[name][i]))),
      );
    if (name === "logits") return likely();
    return name.endsWith(".weights") ? weights(name) : grid(name);
  }
  const strip = (way, [label, name]) =>
    h(
      "div",
      {class: `strip ${/Q$/.test(label) ? "query" : "plain"}`},
      h("p", null, h("b", null, way), " ", label, " ", h("span", {class: "hush shape"}, sizeOf(name))),
      drawn(name),
    );

  // ---- El dibujo, con un botón en cada parte --------------------------------------------------------------------
  const machine = root.querySelector(".machine");
  const spots = choice({
    label: "Parte del mapa",
    className: "spots",
    value: 0,
    options: parts.map(() => ""),
    describe: (i) => parts[i].title,
    onchange: (part) => update({part}),
  });
  spots.buttons.forEach((button, i) => {
    const [x, y, w, tall] = parts[i].spot;
    button.style.cssText = `left:${x}%;top:${y}%;width:${w}%;height:${tall}%`;
  });
  machine.append(spots.node);

  // ---- La ficha ---------------------------------------------------------------------------------------------------
  const depth = Math.max(...Object.values(layers));
  const block = choice({
    label: "Bloque",
    value: 0,
    options: Array.from({length: depth}, (_, i) => `${i + 1}`),
    describe: (i) => `bloque ${i + 1}`,
    onchange: (b) => update({block: b}),
  });
  const step = (by, label, sign) =>
    h("button", {type: "button", "aria-label": label, onclick: () => update({part: state.part + by})}, sign);
  const back = step(-1, "Anterior", "←"),
    next = step(1, "Siguiente", "→"),
    depths = h("div", {class: "named"}, h("span", null, "bloque"), block.node);
  const card = h("div", {class: "part-card", tabindex: "0", role: "group", "aria-label": "La parte elegida"}),
    tip = probe(stage, "Toca una celda y aquí se lee su número."),
    read = reading();
  read.node.firstChild.hidden = true; // lo que dice ya está en la ficha
  const side = h(
    "div",
    {class: "side"},
    h("div", {class: "controls moves"}, back, next, depths),
    card,
    tip,
  );
  stage.append(h("div", {class: "map-scene"}, machine, side), read.node);

  const inner = ([, name]) => name.endsWith(".weights");
  const total = (count, formula) => [count, formula && ` (${formula})`];
  const counted = ({small, base, formulas, stack}) =>
    small || base !== "0"
      ? [h("b", null, "Parámetros"), " ", total(small, formulas[0]), " aquí; ", total(base, formulas[1]), " en «base»", stack ? ", en cada bloque." : "."]
      : [h("b", null, "Parámetros"), " ninguno propio."];
  function update(change) {
    Object.assign(state, change);
    const part = parts[state.part],
      many = part.stack ? layers[part.stack] : 1;
    state.block = Math.min(state.block, many - 1);
    depths.hidden = many < 2;
    block.buttons.forEach((button, i) => (button.hidden = i >= many));
    block.pick(state.block);
    spots.pick(state.part);
    disable([[back, state.part === 0], [next, state.part === parts.length - 1]]);
    card.replaceChildren(
      h("p", {class: "part-name"}, part.title),
      h("p", null, part.says),
      h("p", {class: "count"}, counted(part)),
      ...part.gives.filter(inner).map((one) => strip("Por dentro:", one)),
      ...part.reads.map((one) => strip("Entra", one)),
      ...part.gives.filter((one) => !inner(one)).map((one) => strip("Sale", one)),
    );
    tip.hidden = !card.querySelector(".number");
    if (part.link) card.append(h("p", null, "Se enseña en ", h("a", {href: part.link[1]}, part.link[0]), "."));
    card.scrollTop = 0;
    const named = (way, pairs) =>
      pairs.length ? ` ${way}: ${pairs.map(([label, name]) => `${label}, ${sizeOf(name)}`).join("; ")}.` : "";
    read.say(`${part.title}.${named("Entra", part.reads)}${named("Sale", part.gives)}`);
    publish();
  }
  function publish() {
    const part = parts[state.part],
      values = (pairs) => pairs.map(([, name]) => tableOf(name) ?? null);
    root.atento = {
      state: {...state, key: part.key},
      values: {reads: values(part.reads), gives: values(part.gives)},
    };
  }
  update({});
});
