/* El sumador vivo: se escribe una suma y el Transformer de transformer.js la resuelve, cifra a cifra y a la vista. Su
   gemelo, con los mismos nombres de tensores, está en adder.py; los tensores los enseña pieces/tensors.js. */
window.atentoExplorers.register("adder", (stage, data, root) => {
  const {h, mix, button, disable, number, group, reading, probe, heat, warning, opener, sums} = window.atentoExplorers;
  const {signs} = data,
    {LONGEST, READS, PLACES, WHERE, DIGIT, PLUS, END, idsOf} = sums(signs),
    STEPS = [...PLACES, "fin"],
    COLUMNS = [3, 4, 5, 1, 3, 4, 5, 6], // la de cada símbolo que lee: el +, las cuatro de las cifras y la del fin y el comienzo
    WRITES = LONGEST + 3, // lo que escribe, con el comienzo y el fin
    PAUSE = 1300;
  const state = {step: 0, head: -1};
  let model, run, timer;
  let hidden, told, seen, newest; // lo tapado, lo que se le dice que ha escrito, lo que calcula así y lo que escribe

  // ---- Lo que se escribe: el gemelo de read_sum ---------------------------------------------------------------------
  /* Los dos números, o la frase que dice por qué no puede ser. */
  function readSum() {
    const given = field.value.trim(),
      found = /^([0-9]+)\s*\+\s*([0-9]+)$/.exec(given);
    if (!found) return {line: data.wrong.find(([shape]) => RegExp(shape).test(given))[1]};
    const digits = found.slice(1).map((one) => one.replace(/^0+/, "")),
      long = digits.find((one) => one.length > LONGEST);
    if (long) return {line: `Solo ha aprendido números de hasta tres cifras, y ${long} tiene ${long.length}.`};
    return {numbers: digits.map(Number)};
  }
  function add(a, b) {
    const ids = idsOf([a, b]);
    return {a, b, ids, places: READS, ...model.write(ids, READS)};
  }
  const last = () => run.written.length - 1,
    resultOf = ({written}) => {
      const digits = written.filter((id) => id >= DIGIT && id < PLUS).map((id) => signs[id]);
      return digits.length ? Number(digits.reverse().join("")) : NaN;
    };

  // ---- La suma, como en el cuaderno: lo que lee y lo que escribe ----------------------------------------------------
  const cell = (kind, row, column) => {
    const [sign, weight] = ["add-sign", "add-weight"].map((name) => h("span", {class: name}));
    const node = h("span", {class: `add-cell ${kind}`}, sign, weight);
    return {node, sign, weight, area: `grid-area:${row}/${column};`};
  };
  const asked = COLUMNS.map((column, i) => cell("add-asked", i < LONGEST ? 2 : 3, column)),
    shown = Array.from({length: WRITES}, (_, i) => cell("add-shown", 5, WRITES - i)),
    tops = PLACES.map((name, i) => h("span", {class: "add-place", style: `grid-area:1/${WRITES - 1 - i}`}, name)),
    cells = [...asked, ...shown].map(({node}) => node),
    board = h("div", {class: "add-board", role: "img"}, tops, cells, h("span", {class: "add-rule"})),
    said = h("p"),
    note = (text, more = "") => h("p", {class: `add-note ${more}`}, text),
    inks = {"a qué mira": "", "lo que escribe": "add-new", "lo último escrito": "add-query"},
    key = Object.entries(inks).map(([text, kind]) => h("span", {class: kind, style: !kind && heat(0.5)}, text)),
    legend = note(key, "add-legend named");

  /* Los pesos de este paso en la última atención cruzada: cuánto mira a cada símbolo que lee. */
  function looks() {
    const layer = model.card.config.n_decoder_layers - 1,
      rows = seen.tensors[`decoder.blocks.${layer}.cross_attention.weights`].map((each) => each[state.step]);
    return state.head < 0 ? mix(rows.map(() => 1 / rows.length), rows) : rows[state.head];
  }
  const signOf = (i) => signs[run.ids[i]],
    which = (i) => `del ${i < LONGEST ? "primer" : "segundo"} número`,
    nameOf = (i) => (READS[i] < 0 ? `«${signOf(i)}»` : `${signOf(i)}, ${PLACES[READS[i]]} ${which(i)}`);

  function paint({node, sign, weight, area}, text, tip, share, marks) {
    sign.textContent = text;
    weight.textContent = share >= 0.005 ? number(share) : "";
    node.style.cssText = area + (share === undefined ? "" : heat(share));
    node.classList.toggle("add-word", text.length > 1);
    for (const [name, on] of Object.entries(marks)) node.classList.toggle(name, on);
    if (tip) node.dataset.tip = tip;
    else delete node.dataset.tip;
  }
  /* Antes de sumar se ven las cifras, si se entienden, y los huecos. */
  function drawBoard(numbers) {
    const {step} = state,
      ids = run?.ids ?? (numbers ? idsOf(numbers).slice(0, -1) : []),
      crossed = run && looks(),
      line = run ? [...told.slice(0, step + 1), newest] : [],
      at = run ? step : 0; // desde dónde pregunta
    asked.forEach((one, i) => {
      const gone = Boolean(run && hidden[i]),
        share = gone ? undefined : crossed?.[i],
        tip = run && `${nameOf(i)}: ${gone ? "tapado" : `se lleva ${number(share, 3)} de la mirada`}`;
      paint(one, signs[ids[i]] ?? "", tip, share, {hatched: gone});
    });
    shown.forEach((one, i) => {
      const text = signs[line[i]] ?? "",
        isQuery = Boolean(run) && i === at,
        isNew = i === at + 1,
        isLie = i < line.length - 1 && told[i] !== run.inputs[i],
        old = isQuery ? ", lo último escrito: desde aquí pregunta" : ", ya escrito",
        tip = text && `«${text}»${isNew ? " es lo que escribe en este paso" : old}`;
      paint(one, text, tip, undefined, {"add-query": isQuery, "add-new": isNew, "add-lie": isLie});
    });
    const unsolved = "sin resolver: el resultado se escribirá de derecha a izquierda.",
      where = run ? `en el paso ${step + 1} de ${last() + 1}.` : unsolved;
    board.ariaLabel = numbers ? `La suma ${numbers.join(" + ")}, ${where}` : "Los huecos de una suma.";
  }
  /* El resultado: aún no se sabe, es el que es o no lo es. */
  function drawAnswer(numbers) {
    const isWhole = run && seen === run && state.step === last(),
      result = isWhole ? resultOf(run) : "?",
      total = run && run.a + run.b,
      isWrong = isWhole && result !== total;
    said.className = `add-answer ${isWrong ? "add-wrong" : isWhole ? "" : "add-open"}`;
    said.textContent = numbers ? `${numbers.join(" + ")} = ${result}` : "";
    if (isWrong) said.textContent = `Ha escrito ${result}, y ${run.a} + ${run.b} son ${total}: aquí falla.`;
    if (honest()) said.textContent = `Escribe ${signs[newest]}${honest()}.`;
  }
  const honest = () => (seen === run ? "" : `; sin tocar nada, ${signs[run.written[state.step]]}`);

  // ---- Las probabilidades -------------------------------------------------------------------------------------------
  const bars = [...signs.keys()].slice(DIGIT, PLUS).concat(END).map((id) => {
    const [fill, amount] = ["fill", "add-amount"].map((name) => h("span", {class: name}));
    const node = h("span", {class: "add-bar"}, amount, h("span", {class: "add-tube bar weight"}, fill), h("b", null, signs[id]));
    return {id, fill, amount, node};
  });
  function drawChances() {
    const chance = seen.tensors.probabilities[state.step];
    for (const {id, fill, amount, node} of bars) {
      fill.style.height = `${100 * chance[id]}%`;
      amount.textContent = chance[id] >= 0.005 ? number(chance[id]) : "";
      node.classList.toggle("add-chosen", id === newest);
      node.dataset.tip = `«${signs[id]}»: probabilidad ${number(chance[id], 4)}`;
    }
  }

  // ---- Tapar y mentir -----------------------------------------------------------------------------------------------
  const hides = h("div", {class: "add-hides"}),
    lies = h("div", {class: "controls"});
  function buildLab() {
    hidden = run.ids.map(() => false);
    told = [...run.inputs];
    const change = (row, i, value) => {
      row[i] = value;
      update();
    };
    const hide = (id, i) => {
      const flip = () => change(hidden, i, !hidden[i]);
      return button(signs[id], flip, {"aria-label": `Tapar ${nameOf(i)}`});
    };
    const lie = (id, i) => {
      const onchange = () => change(told, i + 1, DIGIT + menu.selectedIndex),
        options = signs.slice(DIGIT, PLUS).map((digit) => h("option", {selected: digit === signs[id]}, digit)),
        menu = h("select", {class: "ask", "aria-label": `Mentir en ${WHERE[i]}`, onchange}, options);
      return h("span", {class: "named"}, PLACES[i], menu);
    };
    hides.replaceChildren(...run.ids.map(hide));
    lies.replaceChildren(...run.inputs.slice(1).map(lie));
  }
  /* El paso, con lo tapado y lo mentido. */
  function lookAgain() {
    const {tensors, inputs} = run,
      isTouched = hidden.includes(true) || told.some((id, i) => i <= state.step && id !== inputs[i]),
      again = () => model.decode(told, tensors.memory, READS, hidden);
    seen = isTouched ? {...run, inputs: told, tensors: {...tensors, ...again()}} : run;
    const chance = seen.tensors.probabilities[state.step];
    newest = chance.indexOf(Math.max(...chance));
    [...hides.children].forEach((each, i) => {
      each.setAttribute("aria-pressed", hidden[i]);
      each.classList.toggle("hatched", hidden[i]);
    });
    [...lies.children].forEach((one, i) => (one.hidden = i >= state.step));
  }

  // ---- Escribir -----------------------------------------------------------------------------------------------------
  const typing = {autocomplete: "off", spellcheck: "false", enterkeyhint: "go", oninput: () => forget("")},
    field = h("input", {type: "text", class: "ask add-field", value: data.start, "aria-label": "Suma", ...typing});
  const {node: problem, complain} = warning(root, field),
    open = opener(() => window.atentoTransformer.load(data.file), "pulsar «Sumar»", complain);

  async function solve() {
    const {numbers, line} = readSum();
    if (line) return forget(line);
    stop();
    complain("");
    if (!(model ??= await open())) return;
    run = add(...numbers);
    buildLab();
    update({step: 0});
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) play();
  }
  /* Lo escrito ya no es la suma resuelta: el tablero vuelve a empezar. */
  function forget(line) {
    complain(line);
    run = seen = undefined;
    stop();
    update();
  }
  function random() {
    field.value = [0, 0].map(() => Math.floor(Math.random() * 1000)).join(" + ");
    solve();
  }
  function send(event) {
    event.preventDefault();
    solve();
  }
  const go = h("button", {class: "go"}, "Sumar"),
    form = h("form", {class: "controls named", onsubmit: send}, field, go, button("Al azar", random));

  // ---- Los pasos ----------------------------------------------------------------------------------------------------
  const steps = group("Paso", moveTo),
    picked = group("Cabeza", (k) => update({head: k < model.card.config.n_heads ? k : -1})),
    glances = note(),
    back = button("← Atrás", () => moveTo(state.step - 1)),
    next = button("Siguiente →", () => moveTo(state.step + 1), {class: "go"}),
    player = button("", () => (timer ? stop() : play()));
  function moveTo(step) {
    stop();
    update({step});
  }
  function stop() {
    clearTimeout(timer);
    timer = undefined;
    tellPlayer();
  }
  function play() {
    if (state.step === last()) update({step: 0});
    wait();
  }
  /* Un paso más, al cabo de un rato, hasta el último. */
  function wait() {
    const more = () => {
      update({step: state.step + 1});
      wait();
    };
    timer = state.step < last() && setTimeout(more, PAUSE);
    tellPlayer();
  }
  function tellPlayer() {
    const isOver = run && state.step === last();
    player.textContent = timer ? "Pausa" : isOver ? "Ver otra vez" : "Reproducir";
  }
  function drawSteps() {
    const {step, head} = state,
      count = model.card.config.n_heads,
      names = Array.from({length: count}, (_, k) => `cabeza ${k + 1}`),
      once = "y cada mirada es una cabeza. Elige una: la suma de arriba se tiñe con sus pesos.";
    steps.set(run.written.map((_, i) => STEPS[i] ?? `paso ${i + 1}`), step, (i) => `${i + 1}, ${STEPS[i] ?? "otro"}`);
    picked.set([...names, "media"], head < 0 ? count : head, (k) => names[k] ?? "media de las cabezas");
    glances.textContent = `Mira ${count} veces a la vez, ${once}`;
    disable([[back, step === 0], [next, step === last()]]);
  }

  // ---- Juntarlo todo ------------------------------------------------------------------------------------------------
  const read = reading(),
    INVITE = "Pulsa «Sumar» y mira cómo escribe el resultado, de las unidades a los millares.",
    tensors = window.atentoExplorers.tensors(signs),
    box = (kind, ...inner) => h("div", {class: kind}, inner),
    title = (text) => h("p", {class: "add-title"}, text);
  /* Lo que se abre; si se mira dentro, que no cambie solo. */
  const look = ({currentTarget: {open}}) => open && stop(),
    fold = (name, open, ...inner) => h("details", {class: "add-inside", open, onfocusin: look}, h("summary", null, name), inner);
  const undo = button("Deshacer", () => update(buildLab())),
    lab = fold("Tapar y mentir", false, note("Tapa lo que lee o cambia lo ya escrito."), hides, lies, undo);
  const inside = fold(
    "Por dentro",
    data.inside,
    title("Probabilidad de cada símbolo"),
    box("add-bars", bars.map(({node}) => node)),
    box("add-heads", title("¿A qué mira cada cabeza?"), glances, picked.node),
    title("Los tensores de este paso"),
    tensors.node,
  );
  const steer = box("add-steer named", box("add-steps", steps.node), box("add-move move named", back, player, next)),
    tip = probe(stage, "Toca una cifra y aquí se lee cuánto la mira."),
    padded = note("Siempre lee tres cifras por número y escribe cuatro.", "add-padded"),
    paper = box("add-paper", board, said, padded, legend);
  stage.append(form, problem, paper, read.node, steer, lab, inside, tip);

  /* Las dos cifras más miradas, en palabras. */
  function mostSeen() {
    const crossed = looks(),
      most = [...crossed.keys()].sort((i, j) => crossed[j] - crossed[i]).slice(0, 2),
      where = (i) => (READS[i] < 0 ? "" : `${PLACES[READS[i]]}, `),
      say = (i) => `«${signOf(i)}» (${where(i)}${number(crossed[i])})`;
    return most.filter((i) => crossed[i] >= 0.1).map(say).join(" y ");
  }
  function tell() {
    const {step, head} = state,
      sign = signs[newest],
      what = newest === END ? `escribe «${sign}» y para` : `escribe ${sign} en ${WHERE[step]}`,
      who = head < 0 ? "Mira" : `La cabeza ${head + 1} mira`,
      most = mostSeen();
    return `Paso ${step + 1}: ${what}${honest()}. ${most && `${who} sobre todo a ${most}.`}`;
  }
  function update(change) {
    Object.assign(state, change);
    root.toggleAttribute("data-idle", !run);
    for (const node of [legend, steer, lab, inside, tip]) node.hidden = !run;
    const numbers = run ? [run.a, run.b] : readSum().numbers;
    if (run) {
      lookAgain();
      drawSteps();
      drawChances();
      tensors.draw({run: seen, config: model.card.config, ...state});
    }
    drawBoard(numbers);
    drawAnswer(numbers);
    tellPlayer();
    read.say(run ? tell() : INVITE);
    root.atento = {state: {...state}, ...(run && {run, seen, add: (a, b) => add(a, b).written})};
  }
  update();
});
