/* Parchear el sumador: lo que había en una casilla con la suma limpia se pone en la corrompida, y se ve qué vuelve. El
   modelo es el de transformer.js, y sus números se piden al primer toque. Su gemelo está en patches.py. */
window.atentoExplorers.register("patches", (stage, data, root) => {
  const {h, button, disable, number, softmax, heat, picker, toggle, verdict, cells, table, cycle, opener, sums} = window.atentoExplorers;
  const {signs, stacks} = data,
    {LONGEST, READS, WHERE, BEGIN, digitsOf, idsOf} = sums(signs),
    SHORT = stacks[1].columns.slice(0, 4),
    HEADS = 4,
    ALL = 0.97,
    NONE = 0.03,
    range = (n) => [...Array(n).keys()],
    best = (row) => row.indexOf(Math.max(...row));
  const names = Object.keys(data.pairs),
    pairOf = (name) => data.pairs[name].map((sum) => [...sum]);
  const fresh = () => ({digit: null, spot: null, full: false, seen: {all: false, none: false}});
  const state = {pair: pairOf(names[0]), byHead: false, touched: false, ...fresh()};
  let model,
    runs = null, // las dos sumas, sin parche
    found = {}; // lo que puntúa con cada parche, por su casilla

  // ---- Las cuentas ------------------------------------------------------------------------------------------------
  /* Una suma: lo que lee, y lo que ya ha escrito en cada paso, que es lo correcto. */
  function run(sum, change, memory) {
    const live = model.through(change),
      read = memory ?? live.encode(idsOf(sum), READS).memory,
      written = [BEGIN, ...digitsOf(sum[0] + sum[1], LONGEST + 1).reverse()];
    return {memory: read, logits: live.decode(written, read, READS).logits};
  }
  const keyOf = (spot) => spot.join();
  /* Lo que puntúa la corrompida con lo de la limpia en una casilla, (step, vocab). */
  function patch(spot) {
    const [s, i, j] = spot,
      [, name, head] = stacks[s].rows[i],
      isOwn = (r, c, width) => stacks[s].groups[j].includes(r) && (head === null || Math.floor((c * HEADS) / width) === head);
    const swap = (bad, good) => bad.map((row, r) => row.map((value, c) => (isOwn(r, c, row.length) ? good[r][c] : value))),
      change = (at, rows) => (at === name ? swap(rows, runs.passed[name]) : rows);
    return (found[keyOf(spot)] ??= run(state.pair[1], change, s ? runs.corrupted.memory : null).logits);
  }
  /* Las dos sumas, sin parche, y lo que pasa con la limpia por cada sitio. */
  function both() {
    const passed = {},
      clean = run(state.pair[0], (name, rows) => (passed[name] = rows));
    return {passed, clean, corrupted: run(state.pair[1])};
  }
  const scores = () => (runs ? [runs.clean.logits, runs.corrupted.logits] : data.first);
  const said = (logits) => range(LONGEST + 1).map((step) => best(logits[step]));
  /* Qué parte vuelve de la cifra que se mide. */
  function back(logits) {
    const [good, wrong] = scores().map((one) => best(one[state.digit])),
      [whole, worst, now] = [...scores(), logits].map((one) => one[state.digit][good] - one[state.digit][wrong]);
    return (now - worst) / (whole - worst);
  }
  const open = opener(() => window.atentoTransformer.load(data.file), "tocar", (line) => say(line), (loaded) => {
    model = loaded;
    update({});
  });

  // ---- Las dos sumas ----------------------------------------------------------------------------------------------
  const KINDS = ["limpia", "corrompida"];
  const fields = KINDS.map((kind, i) =>
    ["primer", "segundo"].map((which, k) => {
      const field = h("input", {
        class: "ask pat-number",
        inputmode: "numeric",
        autocomplete: "off",
        "aria-label": `Suma ${kind}, ${which} número`,
        oninput: () => {
          field.value = field.value.replace(/[^0-9]/g, "").slice(0, LONGEST);
          const pair = state.pair.map((sum) => [...sum]);
          pair[i][k] = Number(field.value);
          choose(pair);
        },
      });
      return field;
    }),
  );
  const asked = KINDS.map((kind, i) => h("div", {class: "named"}, h("span", {class: "pat-kind"}, kind), fields[i][0], "+", fields[i][1]));
  function choose(pair) {
    [runs, found] = [null, {}];
    update({...fresh(), pair, touched: true});
  }
  const offered = picker({label: "Pareja", options: names, value: 0, onchange: (k) => choose(pairOf(names[k]))});
  /* Una suma cualquiera y otra con las cifras de una columna cambiadas, que no den lo mismo. */
  function another() {
    const die = (n) => Math.floor(n * Math.random()),
      clean = [die(1000), die(1000)],
      unit = 10 ** die(LONGEST),
      redraw = (n) => n + unit * (die(10) - (Math.floor(n / unit) % 10));
    let other = clean;
    while (other[0] + other[1] === clean[0] + clean[1]) other = clean.map(redraw);
    choose([clean, other]);
  }

  // ---- Los mapas --------------------------------------------------------------------------------------------------
  const titleOf = ([s, i, j]) => {
    const title = `${stacks[s].rows[i][0].replace(/ (?=\d)/, ", cabeza ")}, en ${stacks[s].columns[j]}`;
    return title[0].toUpperCase() + title.slice(1);
  };
  const at = [0, 1].map(() => [0, 0]);
  /* Los dos mapas, de abajo arriba, con las cabezas o sin ellas. */
  const maps = [false, true].map((byHead) =>
    stacks.map(({title, rows, columns}, s) => {
      const shown = range(rows.length).filter((i) => byHead || rows[i][2] === null).reverse(),
        isOn = (r, j) => Boolean(state.spot) && keyOf(state.spot) === keyOf([s, shown[r], j]);
      const grid = cells({
        label: title,
        corner: "sitio",
        rows: shown.map((i) => rows[i][0]),
        columns,
        isOn,
        move(r, j) {
          at[s] = [r, j];
          draw();
        },
        paint(r, j, on) {
          at[s] = [r, j];
          update({spot: on ? [s, shown[r], j] : null, touched: true});
        },
      });
      const put = () =>
        shown.forEach((i, r) =>
          columns.forEach((_, j) => {
            const spot = [s, i, j],
              logits = found[keyOf(spot)],
              value = logits && state.digit !== null ? back(logits) : null;
            grid.set(r, j, {
              text: value === null ? "" : number(value),
              tone: value === null ? undefined : Math.min(1, Math.max(0, value)),
              kind: isOn(r, j) ? "pat-on" : "",
              tip: `${titleOf(spot)}: ${value === null ? "sin probar" : `vuelve ${number(value)}`}`,
              on: isOn(r, j),
              here: r === Math.min(at[s][0], shown.length - 1) && j === at[s][1],
            });
          }),
        );
      return {node: h("div", null, h("p", {class: "pat-title"}, title), grid.node), put, spots: shown.flatMap((i) => columns.map((_, j) => [s, i, j]))};
    }),
  );
  const boxes = maps.map(([read, write]) => h("div", {class: "pat-maps"}, write.node, read.node));
  const draw = () => maps[Number(state.byHead)].forEach(({put}) => put());

  // ---- La respuesta, cifra a cifra -----------------------------------------------------------------------------------
  const answer = h("div", {class: "pat-answer"}),
    measured = h("div", {class: "controls"}),
    goal = verdict();
  function drawAnswer(patched) {
    const [good, wrong] = scores().map(said),
      logits = patched ?? scores()[1],
      now = said(logits),
      order = range(LONGEST + 1).reverse(),
      isOther = (step) => good[step] !== wrong[step],
      line = (name, kind, cell) => ({kind, cells: [name, ...order.map(cell)]});
    const share = (sign) => (step) => {
      const chance = softmax(logits[step])[sign[step]];
      return h("td", isOther(step) ? {style: heat(chance)} : {}, number(chance));
    };
    const writes = (step) => h("td", {class: isOther(step) && now[step] === good[step] ? "pat-back" : ""}, signs[now[step]]);
    const rows = [
      line("limpia", "", (step) => signs[good[step]]),
      line("corrompida", "", (step) => signs[wrong[step]]),
      line(patched ? "con el parche" : "sin parche", "pat-now", writes),
      line("prob. de la limpia", "", share(good)),
      line("de la corrompida", "", share(wrong)),
    ];
    answer.replaceChildren(table(["", ...order.map((step) => SHORT[step])], rows, {caption: "Qué escribe"}));
  }
  /* Qué cifra se mide: una de las que cambian. */
  let which; // el mando, y de qué cifras
  function pickDigit() {
    const [good, wrong] = scores().map(said),
      changed = range(LONGEST + 1).filter((step) => good[step] !== wrong[step]);
    if (!changed.includes(state.digit)) state.digit = changed.at(-1) ?? null;
    if (which?.of !== changed.join()) {
      const options = changed.map((step) => SHORT[step]),
        onchange = (k) => update({digit: changed[k]});
      which = {of: changed.join(), ...picker({label: "Cifra que se mide", options, value: 0, describe: (k) => WHERE[changed[k]], onchange})};
      measured.replaceChildren(which.row || "");
    }
    which.pick(changed.indexOf(state.digit));
  }
  function tell(patched) {
    if (state.digit === null) return "Las dos sumas dan lo mismo: no hay nada que devolver. Cambia alguna cifra.";
    const where = WHERE[state.digit];
    if (!patched)
      return state.full
        ? `Mapa lleno, con la cifra de ${where}. Toca una casilla para ver qué escribe.`
        : `Se mide la cifra de ${where}. Toca una casilla: lo que había ahí con la limpia se pone en la corrompida.`;
    const [good, wrong] = scores().map((one) => best(one[state.digit])),
      now = best(patched[state.digit]);
    const what = now === good ? `escribe ${signs[now]}, como la limpia` : now === wrong ? `sigue el ${signs[now]}` : `escribe ${signs[now]}, que no es de ninguna`;
    return `${titleOf(state.spot)}: vuelve ${number(back(patched))}. En ${where} ${what}.`;
  }
  function seek(patched) {
    if (patched && state.digit !== null) {
      const value = back(patched);
      state.seen.all ||= value > ALL;
      state.seen.none ||= Math.abs(value) < NONE;
    }
    const {all, none} = state.seen;
    const text = all && none ? "Has encontrado una que lo hace todo y otra que no hace nada." : all ? "Esa lo hace todo. Falta una que no haga nada." : none ? "Esa no hace nada. Falta una que lo haga todo." : "";
    goal.set(text, all && none);
  }

  // ---- Mandos -----------------------------------------------------------------------------------------------------
  const fill = button("Llenar el mapa", () => update({full: true, touched: true}), {class: "go"}),
    clear = button("Quitar los parches", () => {
      found = {};
      update(fresh());
    }),
    heads = toggle({label: "Cabeza a cabeza", checked: false, oninput: (byHead) => update({byHead, spot: byHead ? state.spot : null})});
  const {node, update, say} = cycle(root, state, () => {
    const isOffered = names.findIndex((name) => JSON.stringify(data.pairs[name]) === JSON.stringify(state.pair));
    if (isOffered >= 0) offered.pick(isOffered);
    else for (const one of offered.buttons) one.setAttribute("aria-checked", false);
    fields.forEach((two, i) =>
      two.forEach((field, k) => {
        if (Number(field.value) !== state.pair[i][k] || (!field.value && field !== document.activeElement)) field.value = state.pair[i][k];
      }),
    );
    boxes.forEach((box, i) => (box.hidden = Boolean(i) !== state.byHead));
    const seen = {pair: state.pair.map((sum) => [...sum]), seen: {...state.seen}};
    if (state.touched && !model) {
      open();
      draw();
      return {seen, say: "Pidiendo el modelo…"};
    }
    if (model) runs ??= both();
    root.toggleAttribute("data-idle", !state.touched);
    pickDigit();
    const patched = state.spot && patch(state.spot);
    if (state.full) for (const {spots} of maps[Number(state.byHead)]) spots.forEach(patch);
    draw();
    drawAnswer(patched);
    seek(patched);
    disable([
      [fill, state.full],
      [clear, !Object.keys(found).length],
    ]);
    const [clean, corrupted] = scores();
    const returned = state.digit === null ? {} : Object.fromEntries(Object.entries(found).map(([key, logits]) => [key, back(logits)]));
    return {seen, say: tell(patched), values: {clean, corrupted, found: {...found}, returned, live: Boolean(model)}};
  });
  stage.append(
    h("div", {class: "named pat-sums"}, asked),
    h("div", {class: "controls named"}, offered.row ?? [], button("Otra pareja", another)),
    measured,
    h("div", {class: "controls"}, fill, clear, heads.node),
    h("div", {class: "pat-split"}, h("div", null, boxes), h("div", {class: "pat-told"}, node, answer, goal.node)),
  );
  update({});
});
