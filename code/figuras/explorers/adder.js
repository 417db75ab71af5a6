/* El sumador vivo: se escribe una suma y el Transformer de transformer.js la resuelve, cifra a cifra y a la vista. Su
   gemelo, con los mismos nombres de tensores, está en adder.py; los tensores los enseña tensors.js. */
window.atentoExplorers.register("adder", (stage, data, root) => {
  const {h, button, disable, number, choice, reading, probe, heat, warning} = window.atentoExplorers;
  const {signs} = data;
  const PLACES = ["unidades", "decenas", "centenas", "millares"],
    STEPS = [...PLACES, "fin"],
    WHERE = ["las unidades", "las decenas", "las centenas", "los millares", "el sitio del fin"],
    DIGIT = signs.indexOf("0"),
    PLUS = signs.indexOf("+"),
    END = signs.indexOf("fin"),
    LONGEST = 3, // cifras de cada número
    READS = 2 * LONGEST + 2, // con el + y el fin
    WRITES = LONGEST + 3, // con el comienzo y el fin
    PAUSE = 1300;
  const state = {step: 0, head: -1};
  let model, run, timer;
  let hidden, told, seen, newest; // lo tapado, lo que se le dice que ha escrito, lo que calcula así y lo que escribe

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
      h("span", {style: heat(0.5)}, "a qué mira"),
      h("span", {class: "add-new"}, "lo que escribe"),
      h("span", {class: "add-query"}, "lo último escrito"),
    ),
    padded = h("p", {class: "add-note add-padded"}, "Siempre lee tres cifras por número y escribe cuatro.");

  /* Los pesos de este paso en la última atención cruzada: cuánto mira a cada símbolo que lee. */
  function looks() {
    const last = `decoder.blocks.${model.card.config.n_decoder_layers - 1}.cross_attention.weights`,
      heads = seen.tensors[last].map((rows) => rows[state.step]);
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
        hidden[i] ? undefined : crossed[i],
        `${nameOf(i)}: ${hidden[i] ? "tapado" : `se lleva ${number(crossed[i], 3)} de la mirada`}`,
      ),
    );
    const line = [...told.slice(0, state.step + 1), newest];
    shown.forEach((one, i) => {
      const isQuery = i === state.step,
        isNew = i === state.step + 1;
      const text = line[i] === undefined ? "" : signs[line[i]],
        isLie = i <= state.step && told[i] !== run.inputs[i];
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
      one.node.classList.toggle("add-lie", isLie);
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
    asked.forEach((one, i) => {
      paint(one, ids.length && i < END_AT ? signs[ids[i]] : "");
      one.node.classList.remove("hatched");
    });
    shown.forEach((one, i) => {
      paint(one, "");
      one.node.classList.remove("add-query", "add-lie");
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
    const chance = seen.tensors.probabilities[state.step];
    for (const {id, fill, amount, node} of bars) {
      fill.style.height = `${100 * chance[id]}%`;
      amount.textContent = chance[id] >= 0.005 ? number(chance[id]) : "";
      node.classList.toggle("add-chosen", id === newest);
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

  // ---- Por dentro -------------------------------------------------------------------------------------------------------
  const tensors = window.atentoTensors(signs);
  const inside = h(
    "details",
    {class: "add-inside", open: data.inside},
    h("summary", null, "Por dentro"),
    chances,
    heads,
    h("p", {class: "add-title"}, "Los tensores de este paso"),
    tensors.node,
  );
  inside.addEventListener("focusin", () => inside.open && stop()); // si se mira dentro, que no cambie solo

  // ---- Tapar y mentir -------------------------------------------------------------------------------------------------
  const hides = h("div", {class: "add-hides"}),
    lies = h("div", {class: "controls"}),
    lab = h(
      "details",
      {class: "add-inside"},
      h("summary", null, "Tapar y mentir"),
      h("p", {class: "add-note"}, "Tapa lo que lee o cambia lo ya escrito."),
      hides,
      lies,
      button("Deshacer", () => update(buildLab())),
    );
  lab.addEventListener("focusin", () => lab.open && stop());
  function buildLab() {
    hidden = run.ids.map(() => false);
    told = [...run.inputs];
    hides.replaceChildren(
      ...run.ids.map((id, i) => {
        const flip = () => {
          hidden[i] = !hidden[i];
          update();
        };
        return button(signs[id], flip, {"aria-label": `Tapar ${nameOf(i)}`});
      }),
    );
    lies.replaceChildren(
      ...run.inputs.slice(1).map((id, i) => {
        const tell = () => {
          told[i + 1] = DIGIT + menu.selectedIndex;
          update();
        };
        const menu = h(
          "select",
          {"aria-label": `Mentir en ${WHERE[i]}`, onchange: tell},
          signs.slice(DIGIT, PLUS).map((digit) => h("option", {selected: digit === signs[id]}, digit)),
        );
        return h("span", {class: "named"}, PLACES[i], menu);
      }),
    );
  }
  /* El paso, con lo tapado y lo mentido. */
  function lookAgain() {
    const {tensors, inputs, places} = run,
      isTouched = hidden.includes(true) || told.some((id, i) => i <= state.step && id !== inputs[i]);
    const again = () => model.decode(told, tensors.memory, places, hidden);
    seen = isTouched ? {...run, inputs: told, tensors: {...tensors, ...again()}} : run;
    const chance = seen.tensors.probabilities[state.step];
    newest = chance.indexOf(Math.max(...chance));
    [...hides.children].forEach((each, i) => {
      each.setAttribute("aria-pressed", hidden[i]);
      for (const node of [each, asked[i].node]) node.classList.toggle("hatched", hidden[i]);
    });
    [...lies.children].forEach((one, i) => (one.hidden = i >= state.step));
  }

  // ---- Escribir -------------------------------------------------------------------------------------------------------
  const field = h("input", {
    type: "text",
    class: "ask add-field",
    value: data.start,
    "aria-label": "Suma",
    autocomplete: "off",
    spellcheck: "false",
    enterkeyhint: "go",
  });
  const {node: problem, complain} = warning(root, field);
  const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

  async function solve() {
    const {numbers, problem: line} = readSum(field.value);
    stop();
    complain(line ?? "");
    if (line) return forget();
    try {
      model ??= await window.atentoTransformer.load(data.file);
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
    buildLab();
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
    h("button", {class: "go"}, "Sumar"),
    button("Al azar", random),
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
  const back = button("← Atrás", () => go(state.step - 1)),
    next = button("Siguiente →", () => go(state.step + 1), {class: "go"}),
    player = button("", () => (timer ? stop() : play()), {class: "add-play"});
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
  const move = h("div", {class: "add-move move"}, back, player, next),
    steer = h("div", {class: "add-steer", hidden: true}, stepsBox, move);
  const tip = probe(stage, "Toca una cifra y aquí se lee cuánto la mira."),
    after = [legend, steer, lab, inside, tip];
  stage.append(
    form,
    problem,
    h("div", {class: "add-scene"}, h("div", {class: "add-paper"}, board, said, padded, legend)),
    h("div", {class: "add-reading"}, read.node),
    steer,
    lab,
    inside,
    tip,
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
  const honest = () => (seen === run ? "" : `; sin tocar nada, ${signs[run.written[state.step]]}`);
  function tell() {
    const {step} = state,
      sign = signs[newest];
    const what = newest === END ? `escribe «${sign}» y para` : `escribe ${sign} en ${WHERE[step]}`,
      most = mostSeen();
    const who = state.head < 0 ? "Mira" : `La cabeza ${state.head + 1} mira`;
    return `Paso ${step + 1}: ${what}${honest()}. ${most && `${who} sobre todo a ${most}.`}`;
  }
  function drawAnswer() {
    const whole = seen === run && state.step === run.written.length - 1,
      result = resultOf(run),
      right = result === run.a + run.b;
    said.className = `add-answer ${!whole ? "add-open" : right ? "" : "add-wrong"}`;
    said.textContent = honest()
      ? `Escribe ${signs[newest]}${honest()}.`
      : !whole || right
        ? `${run.a} + ${run.b} = ${whole ? result : "?"}`
        : `Ha escrito ${result}, y ${run.a} + ${run.b} son ${run.a + run.b}: aquí falla.`;
  }

  function update(change) {
    Object.assign(state, change);
    lookAgain();
    stepChoice.pick(state.step);
    disable([[back, state.step === 0], [next, state.step === run.written.length - 1]]);
    drawBoard();
    drawChances();
    drawAnswer();
    tensors.draw({run: seen, config: model.card.config, ...state});
    tellPlayer();
    read.say(tell());
    root.atento = {state: {...state}, run, seen, add: (a, b) => add(a, b).written};
  }
  forget();
});
