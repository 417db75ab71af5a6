/* Pinta la máscara: quién puede mirar a quién, con qué pesos y qué sabe cada posición tras varias capas.
   Las cuentas (weights, steps, dead) tienen su gemelo en mask.py. */
window.atentoExplorers.register("mask", (stage, data, root) => {
  const {h, softmax, number, choice, slider, reading, probe, heat} = window.atentoExplorers;
  const {words, scores, presets} = data;
  const NAMES = Object.keys(presets),
    n = words.length;
  const copy = (table) => table.map((line) => line.map(Boolean));
  const state = {
    allowed: copy(presets[data.preset]),
    preset: data.preset,
    view: "pesos",
    layers: 1,
    row: n - 1,
    column: 0,
  };

  // ---- Las cuentas ------------------------------------------------------------------------------------------------
  const weigh = () =>
    scores.map((line, i) => softmax(line.map((score, j) => (state.allowed[i][j] ? score : -Infinity))));
  /* Cuántas capas tarda i en saber de j; de sí misma, 0. −1 si nunca. */
  function count() {
    const steps = words.map((_, i) => words.map((_, j) => (i === j ? 0 : -1)));
    for (let layer = 1; layer < n; layer++)
      for (let i = 0; i < n; i++)
        for (let j = 0; j < n; j++)
          if (
            steps[i][j] < 0 &&
            words.some((_, k) => steps[i][k] >= 0 && steps[i][k] < layer && state.allowed[k][j])
          )
            steps[i][j] = layer;
    return steps;
  }

  // ---- La rejilla -------------------------------------------------------------------------------------------------
  const cells = words.map((_, i) =>
    words.map((_, j) =>
      h("td", {
        role: "gridcell",
        "data-i": i,
        "data-j": j,
        onfocus: () => {
          if (state.row !== i || state.column !== j) update({row: i, column: j});
        },
      }),
    ),
  );
  const rows = words.map((word, i) => h("tr", null, h("th", {scope: "row"}, word), cells[i]));
  const grid = h(
    "table",
    {class: "paint", role: "grid", "aria-label": "Máscara: filas que consultan y columnas miradas"},
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        h("th", {class: "corner", scope: "col"}, "mira ↓ a →"),
        words.map((word) => h("th", {scope: "col"}, h("span", null, word))),
      ),
    ),
    h("tbody", null, rows),
  );

  let brush = null;
  function paint(i, j, value) {
    state.allowed[i][j] = value;
    update({row: i, column: j, preset: null});
  }
  const cellAt = (event) => {
    const cell = document.elementFromPoint(event.clientX, event.clientY)?.closest("td[data-i]");
    return cell && grid.contains(cell) ? [Number(cell.dataset.i), Number(cell.dataset.j)] : null;
  };
  grid.addEventListener("pointerdown", (event) => {
    const at = cellAt(event);
    if (!at || event.button) return;
    event.preventDefault();
    event.target.releasePointerCapture?.(event.pointerId);
    brush = !state.allowed[at[0]][at[1]];
    paint(...at, brush);
    cells[at[0]][at[1]].focus({preventScroll: true});
  });
  grid.addEventListener("pointermove", (event) => {
    if (brush === null) return;
    const at = cellAt(event);
    if (at && state.allowed[at[0]][at[1]] !== brush) paint(...at, brush);
  });
  for (const type of ["pointerup", "pointercancel"])
    window.addEventListener(type, () => {
      brush = null;
    });
  grid.addEventListener("keydown", (event) => {
    const {row, column} = state,
      last = n - 1;
    if (event.key === " " || event.key === "Enter") {
      event.preventDefault();
      paint(row, column, !state.allowed[row][column]);
      return;
    }
    const to = {
      ArrowUp: [Math.max(0, row - 1), column],
      ArrowDown: [Math.min(last, row + 1), column],
      ArrowLeft: [row, Math.max(0, column - 1)],
      ArrowRight: [row, Math.min(last, column + 1)],
      Home: [row, 0],
      End: [row, last],
    }[event.key];
    if (!to) return;
    event.preventDefault();
    update({row: to[0], column: to[1]});
    cells[to[0]][to[1]].focus();
  });

  // ---- Mandos -----------------------------------------------------------------------------------------------------
  const VIEWS = ["pesos", "qué sabe"];
  const preset = choice({
    label: "Máscara de partida",
    value: NAMES.indexOf(state.preset),
    options: NAMES,
    onchange: (i) => update({preset: NAMES[i], allowed: copy(presets[NAMES[i]])}),
  });
  const view = choice({
    label: "Qué se ve",
    value: 0,
    options: ["los pesos", "qué sabe tras L capas"],
    onchange: (i) => update({view: VIEWS[i]}),
  });
  const depth = slider({
    label: "Capas, L =",
    min: 1,
    max: data.layers,
    step: 1,
    value: 1,
    text: (x) => String(x),
    oninput: (layers) => {
      view.pick(1);
      update({layers, view: VIEWS[1]});
    },
  });
  const warning = h("p", {class: "alarm", role: "note"}),
    read = reading();
  stage.append(
    h("div", {class: "controls"}, preset.node),
    grid,
    warning,
    h("div", {class: "controls"}, view.node, depth.node),
    read.node,
    probe(stage, "Pinta casillas: rayada, tapada. Con el teclado, flechas y barra espaciadora."),
  );

  // ---- Decirlo ----------------------------------------------------------------------------------------------------
  const quoted = (i) => `«${words[i]}»`;
  function tip(i, j, weights, steps) {
    const may = state.allowed[i][j] ? "puede mirar" : "no puede mirar";
    const far = steps[i][j];
    const news =
      far < 0
        ? "nunca sabrá de ella"
        : far === 0
          ? "de sí misma sabe siempre"
          : `sabe de ella con ${far} ${far === 1 ? "capa" : "capas"}`;
    return `${quoted(i)} ${may} a ${quoted(j)}: peso ${number(weights[i][j])}; ${news}`;
  }

  function update(change) {
    Object.assign(state, change);
    const weights = weigh(),
      steps = count(),
      reach = steps.map((line) => line.map((far) => far >= 0 && far <= state.layers)),
      dead = words.map((_, i) => i).filter((i) => !state.allowed[i].some(Boolean));
    cells.forEach((line, i) =>
      line.forEach((cell, j) => {
        const may = state.allowed[i][j],
          known = reach[i][j],
          weighing = state.view === "pesos";
        cell.textContent = weighing ? number(weights[i][j]) : known ? String(steps[i][j]) : "";
        cell.className = `${may ? "" : "hatched"} ${i === state.row && j === state.column ? "chosen" : ""}`;
        const tone = weighing ? weights[i][j] : known ? 0.55 - 0.12 * Math.min(3, steps[i][j]) : 0;
        cell.style.cssText = (weighing && may) || (!weighing && known) ? heat(tone) : "";
        cell.tabIndex = i === state.row && j === state.column ? 0 : -1;
        cell.setAttribute("aria-selected", may);
        cell.setAttribute("aria-label", tip(i, j, weights, steps));
        cell.dataset.tip = tip(i, j, weights, steps);
      }),
    );
    if (state.preset) preset.pick(NAMES.indexOf(state.preset));
    else preset.buttons.forEach((button) => button.setAttribute("aria-checked", false));
    warning.hidden = !dead.length;
    warning.textContent = `⚠ Fila tapada entera: ${dead.map(quoted).join(", ")}. La fórmula daría 0/0 = NaN; aquí, pesos 0.`;
    const sees = state.allowed[state.row].filter(Boolean).length,
      knows = reach[state.row].filter(Boolean).length;
    read.say(
      `${quoted(state.row)} mira a ${sees} de ${n} y, con ${state.layers} ${state.layers === 1 ? "capa" : "capas"}, puede saber de ${knows}.`,
    );
    root.atento = {
      state: {...state, allowed: state.allowed.map((line) => [...line])},
      values: {weights, steps, reach, dead},
    };
  }
  update({});
});
