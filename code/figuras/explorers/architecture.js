/* El mapa del Transformer: cada parte es un botón sobre el dibujo, y dice qué entra, qué sale y cuánto pesa. */
window.atentoExplorers.register("architecture", (stage, data, root) => {
  const {h, number, choice, walk, cycle, probe, heat} = window.atentoExplorers;
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
  const sideOf = (name) => (/^(source|encoder|memory)/.test(name) ? "source" : "target"),
    span = (name, text) => h("span", {class: name}, text),
    number1 = (value, style, tip) => h("span", {class: "number", style, "data-tip": tip}, number(value, 1));
  /* Una fila por palabra, con su rótulo; cell dibuja cada número. */
  const cells = (labels, rows, cell, ...above) =>
    h(
      "div",
      {class: "cells", style: `--n:${rows[0].length}`},
      above,
      rows.map((row, i) => [span("row-name", labels[i]), row.map((value, j) => cell(value, i, j))]),
    );

  /* El tinte dice el tamaño y el número, el signo. */
  function grid(name) {
    const rows = tableOf(name),
      labels = words[sideOf(name)],
      most = Math.max(1e-9, ...rows.flat().map(Math.abs)),
      tint = (value) => `--share:${((55 * Math.abs(value)) / most).toFixed(0)}%`,
      tip = (value, i, c) => `${labels[i]}, componente ${c + 1}: ${number(value, 3)}`;
    return cells(labels, rows, (value, i, c) => number1(value, tint(value), tip(value, i, c)));
  }
  /* Los pesos de una cabeza: filas que preguntan, columnas que se miran. */
  const matrix = h("div");
  function drawWeights(name) {
    const asks = words[sideOf(name)],
      looked = words[name.includes("cross") ? "source" : sideOf(name)],
      tip = (weight, i, j) => `«${asks[i]}» pone en «${looked[j]}» un peso de ${number(weight)}`,
      cell = (weight, i, j) => number1(weight, heat(weight), tip(weight, i, j));
    matrix.replaceChildren(cells(asks, tableOf(name)[state.head], cell, h("span"), looked.map((word) => span("column-name", word))));
  }
  function weights(name) {
    const options = tableOf(name).map((_, k) => `cabeza ${k + 1}`),
      heads = choice({label: "Cabeza", value: state.head, options, onchange: (head) => update({head})});
    drawWeights(name);
    return [options.length > 1 && h("div", {class: "controls"}, heads.node), matrix];
  }
  function likely() {
    const chances = (row) => row.map(([word, chance], k) => [k ? ", " : "", k ? word : h("b", null, word), ` ${number(chance)}`]);
    return h("ol", {class: "likely"}, best.map((row, i) => h("li", null, h("b", null, words.target[i]), " → ", chances(row))));
  }
  function drawn(name) {
    if (name === "scores") return null;
    const token = (word, i) => h("span", {class: "token"}, word, " ", span("hush", ids[name][i]));
    if (ids[name]) return h("p", {class: "sentence"}, words[name].map(token));
    if (name === "logits") return likely();
    return name.endsWith(".weights") ? weights(name) : grid(name);
  }
  const strip = (way, [label, name]) =>
    h(
      "div",
      {class: `strip ${/Q$/.test(label) ? "query" : "plain"}`},
      h("p", null, h("b", null, way), " ", label, " ", span("hush shape", sizeOf(name))),
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
  const moves = walk({back: "←", next: "→"}, (part) => update({part})),
    depths = h("div", {class: "named"}, h("span", null, "bloque"), block.node);
  moves.nodes.forEach((node, i) => (node.ariaLabel = ["Anterior", "Siguiente"][i]));
  const card = h("div", {class: "part-card", tabindex: "0", role: "group", "aria-label": "La parte elegida"}),
    tip = probe(stage, "Toca una celda y aquí se lee su número.");

  const inner = ([, name]) => name.endsWith(".weights");
  const total = (count, formula) => [count, formula && ` (${formula})`];
  const counted = ({small, base, formulas, stack}) =>
    small || base !== "0"
      ? [h("b", null, "Parámetros"), " ", total(small, formulas[0]), " aquí; ", total(base, formulas[1]), " en «base»", stack ? ", en cada bloque." : "."]
      : [h("b", null, "Parámetros"), " ninguno propio."];
  function drawCard(part) {
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
  }
  const {node, update} = cycle(root, state, ({head}) => {
    const part = parts[state.part],
      many = part.stack ? layers[part.stack] : 1;
    state.block = Math.min(state.block, many - 1);
    depths.hidden = many < 2;
    block.buttons.forEach((button, i) => (button.hidden = i >= many));
    block.pick(state.block);
    spots.pick(state.part);
    moves.set(state.part, parts.length - 1);
    if (head === undefined) drawCard(part);
    else drawWeights(part.gives.find(inner)[1]);
    const named = (way, pairs) =>
      pairs.length ? ` ${way}: ${pairs.map(([label, name]) => `${label}, ${sizeOf(name)}`).join("; ")}.` : "";
    const values = (pairs) => pairs.map(([, name]) => tableOf(name) ?? null);
    return {
      say: `${part.title}.${named("Entra", part.reads)}${named("Sale", part.gives)}`,
      seen: {key: part.key},
      values: {reads: values(part.reads), gives: values(part.gives)},
    };
  });
  node.firstChild.hidden = true; // lo que dice ya está en la ficha
  const side = h("div", {class: "side"}, h("div", {class: "controls moves"}, moves.nodes, depths), card, tip);
  stage.append(h("div", {class: "map-scene"}, machine, side), node);
  update({});
});
