/* Pinta la máscara: quién puede mirar a quién, con qué pesos y qué sabe cada posición tras varias capas.
   Las cuentas (weights, steps, dead) tienen su gemelo en mask.py. */
window.atentoExplorers.register("mask", (stage, data, root) => {
  const {h, softmax, number, choice, slider, cells, cycle, probe} = window.atentoExplorers;
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

  const grid = cells({
    label: "Máscara: filas que consultan y columnas miradas",
    corner: "mira ↓ a →",
    rows: words,
    columns: words,
    isOn: (i, j) => state.allowed[i][j],
    move: (row, column) => update({row, column}),
    paint(row, column, value) {
      state.allowed[row][column] = value;
      update({row, column, preset: null});
    },
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
  const warning = h("p", {class: "alarm", role: "note"});

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

  const {node, update} = cycle(root, state, () => {
    const weights = weigh(),
      steps = count(),
      reach = steps.map((line) => line.map((far) => far >= 0 && far <= state.layers)),
      dead = words.map((_, i) => i).filter((i) => !state.allowed[i].some(Boolean)),
      weighing = state.view === "pesos";
    words.forEach((_, i) =>
      words.forEach((_, j) => {
        const on = state.allowed[i][j],
          known = reach[i][j];
        grid.set(i, j, {
          text: weighing ? number(weights[i][j]) : known ? String(steps[i][j]) : "",
          tone: weighing && on ? weights[i][j] : !weighing && known ? 0.55 - 0.12 * Math.min(3, steps[i][j]) : undefined,
          kind: on ? "" : "hatched",
          tip: tip(i, j, weights, steps),
          here: i === state.row && j === state.column,
          on,
        });
      }),
    );
    if (state.preset) preset.pick(NAMES.indexOf(state.preset));
    else preset.buttons.forEach((button) => button.setAttribute("aria-checked", false));
    warning.hidden = !dead.length;
    warning.textContent = `⚠ Fila tapada entera: ${dead.map(quoted).join(", ")}. La fórmula daría 0/0 = NaN; aquí, pesos 0.`;
    const sees = state.allowed[state.row].filter(Boolean).length,
      knows = reach[state.row].filter(Boolean).length;
    return {
      say: `${quoted(state.row)} mira a ${sees} de ${n} y, con ${state.layers} ${state.layers === 1 ? "capa" : "capas"}, puede saber de ${knows}.`,
      values: {weights, steps, reach, dead},
      seen: {allowed: state.allowed.map((line) => [...line])},
    };
  });
  stage.append(
    h("div", {class: "controls"}, preset.node),
    grid.node,
    warning,
    h("div", {class: "controls"}, view.node, depth.node),
    node,
    probe(stage, "Pinta casillas: rayada, tapada. Con el teclado, flechas y barra espaciadora."),
  );
  update({});
});
