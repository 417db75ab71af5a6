/* Frases en las que se tapan y se cambian palabras, y lo que un codificador dice en cada hueco. La red es la de
   bert.js, y sus números se piden al tapar la primera palabra. Su gemelo está en cloze.py. */
window.atentoExplorers.register("cloze", (stage, data, root) => {
  const {h, button, disable, choice, picker, softmax, cycle, lot, ordered, opener} = window.atentoExplorers;
  const [MASK, CLS, SEP] = data.marks.slice(1);
  const TOP = 6, // palabras que se enseñan de cada hueco
    TRAITS = ["masculino singular", "femenino singular", "masculino plural", "femenino plural", "sin género"];

  // ---- El vocabulario: las marcas, las formas de cada palabra y las que no cambian ----------------------------------
  const tables = data.tables.map((rows) => rows.map((row) => row.split(" "))),
    words = [...data.marks, ...tables.flat(2), ...data.fixed],
    homes = new Map(); // de cada palabra que cambia, con cuáles se cambia, cuáles son sus formas y cuál es ella
  for (const table of tables)
    for (const forms of table) forms.forEach((word, form) => homes.set(word, {table, forms, form}));
  const ids = new Map(words.map((word, id) => [word, id])),
    traits = words.map((word) => (homes.get(word)?.forms.length === 4 ? homes.get(word).form : 4));

  // ---- Preguntar al modelo ---------------------------------------------------------------------------------------------
  const fresh = (sentence) => {
    const row = data.sentences[sentence];
    return {sentence, word: row.length - 1, gap: -1, words: [...row], hidden: row.map(() => false)};
  };
  const state = fresh(0);
  let model,
    read = "", // lo último que ha leído
    now = {}, // de cada hueco, la probabilidad de cada palabra
    before = {}; // lo mismo, antes del último cambio

  const open = opener(() => window.atentoBert(data.file), "tapar la palabra", (line) => say(line), (loaded) => {
    model = loaded;
    update({});
  });
  function guess() {
    const row = [CLS, ...state.words.map((word, i) => (state.hidden[i] ? MASK : word)), SEP],
      text = `${state.sentence} ${row}`;
    if (text === read) return;
    before = read.split(" ")[0] === `${state.sentence}` ? now : {};
    read = text;
    const scores = model(row.map((word) => ids.get(word)));
    now = {};
    state.hidden.forEach((isHidden, i) => isHidden && (now[i] = softmax(scores[i + 1])));
  }
  const sharesOf = (probs) =>
    TRAITS.map((_, k) => probs.reduce((total, p, id) => total + (traits[id] === k ? p : 0), 0));

  // ---- La frase y lo que se pone en cada sitio ------------------------------------------------------------------------
  const line = h("div", {class: "cloze-line"}),
    shape = h("div"), // otra forma, o nada
    swap = h("div"), // otra palabra
    moves = h("div", {class: "controls"}, shape, swap);
  let spots, forms, rest;
  /* Rehace lo que hay en una caja solo si toca: así no pierde el foco quien lo está usando. */
  function renew(box, key, make) {
    if (box.dataset.key === key) return;
    box.dataset.key = key;
    box.replaceChildren(make() || "");
  }
  function offerWords() {
    spots = choice({label: "Frase", options: state.words, value: state.word, onchange: (word) => update({word, gap: state.hidden[word] ? word : state.gap})});
    return spots.node;
  }
  function offerForms() {
    const place = state.word,
      own = homes.get(state.words[place])?.forms ?? [state.words[place]];
    forms = picker({label: "Aquí pone", options: [...own, "▢ (tapada)"], value: 0, onchange: (i) => put(place, own[i])});
    return forms.row;
  }
  function offerOthers() {
    const place = state.word,
      {table, form} = homes.get(state.words[place]) ?? {};
    rest = h("select", {class: "ask", onchange: () => put(place, rest.value)}, table?.map((row) => h("option", null, row[form])));
    return table?.length > 1 && h("label", {class: "named"}, "Otra palabra", rest);
  }
  /* Pone una palabra en su sitio; sin palabra, la tapa. */
  function put(place, word) {
    if (word) state.words[place] = word;
    state.hidden[place] = !word;
    const others = [state.gap, ...state.hidden.keys()].filter((i) => state.hidden[i]);
    update({gap: word ? (others[0] ?? -1) : place});
  }
  function write(spot, i) {
    const isHidden = state.hidden[i],
      best = now[i] && words[ordered(now[i])[0]];
    spot.classList.toggle("cloze-hidden", isHidden);
    spot.classList.toggle("cloze-changed", !isHidden && state.words[i] !== data.sentences[state.sentence][i]);
    spot.replaceChildren(
      ...(isHidden ? ["▢ ", h("span", {class: "spoken"}, best ? "tapada; el modelo dice" : "tapada"), h("b", null, best ?? "")] : [state.words[i]]),
    );
  }

  // ---- Lo que dice el modelo -------------------------------------------------------------------------------------------
  const whole = (share) => `${Math.round(100 * share)}\u00a0%`,
    title = h("p", {class: "cloze-title"}),
    first = h("div", {class: "lots cloze-traits"}),
    second = h("div", {class: "lots"});
  const column = (text, list) => h("div", null, h("p", {class: "hush"}, text), list);
  const sheet = h(
    "div",
    null,
    title,
    h("div", {class: "dials"}, column("De qué género y número", first), column("Qué palabra", second)),
    h("p", {class: "hush"}, "Barra: ahora. Raya: antes del último cambio."),
  );
  const bars = (list, names, shares, was, chosen) =>
    list.replaceChildren(...chosen.map((i) => lot({name: names[i], share: shares[i], was: was[i], left: 1, text: whole(shares[i])})));

  function tell(probs, shares, was) {
    const most = (row) => row.indexOf(Math.max(...row)),
      [now, then] = [most(shares), most(was)];
    const said = `Dice «${words[ordered(probs)[0]]}». `;
    if (now !== then) return `${said}Ha cambiado: antes, ${TRAITS[then]}; ahora, ${TRAITS[now]}, el ${whole(shares[now])}.`;
    return `${said}El ${whole(shares[now])} es ${TRAITS[now]}${before[state.gap] ? `; antes, el ${whole(was[now])}` : ""}.`;
  }
  const start = button("Volver a empezar", () => update(fresh(state.sentence))),
    other = button("Otra frase", () => update(fresh((state.sentence + 1) % data.sentences.length)));

  const {node, update, say} = cycle(root, state, () => {
    const {gap, word} = state;
    renew(line, `${state.sentence}`, offerWords);
    renew(shape, `${state.sentence} ${word} ${homes.get(state.words[word])?.forms[0]}`, offerForms);
    renew(swap, `${state.sentence} ${word} ${homes.get(state.words[word])?.form}`, offerOthers);
    rest.value = state.words[word];
    swap.hidden = state.hidden[word];
    spots.pick(word);
    forms.pick(state.hidden[word] ? forms.buttons.length - 1 : (homes.get(state.words[word])?.form ?? 0));
    if (gap >= 0 && !model) open();
    if (model) guess();
    spots.buttons.forEach(write);
    const probs = now[gap];
    disable([[start, !state.hidden.includes(true) && String(state.words) === String(data.sentences[state.sentence])], [other, data.sentences.length < 2]]);
    root.toggleAttribute("data-idle", !probs);
    sheet.hidden = !probs;
    if (!probs) return {say: gap < 0 ? `Toca una palabra y elige ▢ para taparla.${model ? "" : " Entonces se pide el modelo, y puede tardar."}` : "Pidiendo el modelo…"};
    const past = before[gap] ?? probs,
      [shares, was] = [sharesOf(probs), sharesOf(past)];
    title.replaceChildren("Donde ponía «", h("b", null, state.words[gap]), "», el modelo dice:");
    bars(first, TRAITS, shares, was, [...TRAITS.keys()]);
    bars(second, words, probs, past, ordered(probs).slice(0, TOP));
    return {say: tell(probs, shares, was), values: {probs: now, traits: shares}};
  });
  stage.append(line, moves, h("div", {class: "controls"}, other, start), node, sheet);
  update({});
});
