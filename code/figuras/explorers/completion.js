/* Un modelo de lenguaje que continúa lo que se escribe, token a token. La red es la de transformer.js; los tokens, los
   filtros y el azar, los de pieces. Con la misma semilla sale lo mismo que en PyTorch: su gemelo está en completion.py. */
window.atentoExplorers.register("completion", (stage, data, root) => {
  const {h, button, disable, number, slider, softmax, cycle, probe, warning, opener, bpe, dice, ...lots} = window.atentoExplorers;
  const {lot, ordered, warmed, keepTopK, keepTopP, draw} = lots;
  const {context, longest, wrong} = data;
  const {encode, decode, names} = bpe(data.merges);
  const RUN = 40, // tokens de una tirada
    PAUSE = 60,
    BARS = 8,
    MOST = 50, // el top-k que ya no filtra
    LAST_SEED = 2 ** 32 - 1;

  // ---- Leer, puntuar y escribir --------------------------------------------------------------------------------------
  const state = {temperature: 1, k: MOST, p: 1, seed: data.seed};
  let model,
    die = dice(data.seed),
    logits, // lo que puntúa cada token; sin modelo o sin comienzo, nada
    prompt = [],
    written = [],
    left = 0, // tokens que faltan de la tirada
    timer;

  const score = () => (logits = model.next([...prompt, ...written].slice(-context)));
  function chances() {
    const warm = warmed(logits, state.temperature);
    return softmax(keepTopP(keepTopK(warm, state.k === MOST ? logits.length : state.k), state.p));
  }
  function write() {
    const id = draw(chances(), die(written.length));
    written.push(id);
    score();
  }

  const complaint = (text) => (!text ? wrong[0] : [...text].length > longest ? wrong[1] : "");
  const load = opener(() => window.atentoTransformer.load(data.file), "pulsar el botón", (line) => complain(line), (made) => made);
  /* Deja el comienzo leído y puntuado, si se puede; la primera vez pide los pesos. */
  async function open() {
    const told = complaint(field.value);
    complain(told);
    if (told || !(model ??= await load())) return false;
    if (!logits) begin();
    return true;
  }
  function begin() {
    prompt = encode(field.value);
    written = [];
    score();
  }
  function typed() {
    const told = complaint(field.value);
    left = 0;
    logits = undefined;
    [prompt, written] = [[], []];
    complain(field.value ? told : "");
    if (model && !told) begin();
    update({});
  }

  // ---- Los mandos ----------------------------------------------------------------------------------------------------
  const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
  const pause = () => {
    clearTimeout(timer);
    left = 0;
  };
  async function go() {
    const wasGoing = left > 0;
    pause();
    if (wasGoing) return update({});
    left = RUN;
    tellButtons();
    if (!(await open())) pause();
    if (left) tick();
    else update({});
  }
  function tick() {
    write();
    left -= 1;
    clearTimeout(timer);
    if (left) timer = setTimeout(tick, calm() ? 0 : PAUSE);
    if (!left || !calm()) update({}); // si se pide menos movimiento, el texto aparece entero
  }
  async function one() {
    pause();
    if (await open()) write();
    update({});
  }
  function cutTo(count) {
    pause();
    written.length = count;
    score();
    update({});
  }
  const player = button("Continuar", go, {class: "go com-go"}),
    next = button("Siguiente", one),
    back = button("Atrás", () => cutTo(written.length - 1)),
    reset = button("Volver al comienzo", () => cutTo(0));
  function tellButtons() {
    player.textContent = left ? "Parar" : "Continuar";
    disable([[back, !written.length], [reset, !written.length], [next, false]]);
  }
  const field = h(
    "textarea",
    {
      class: "ask com-field",
      rows: 2,
      "aria-label": "Comienzo",
      spellcheck: "false",
      oninput: typed,
    },
    data.start,
  );
  const {node: problem, complain} = warning(root, field);
  const off = (text, isOff) => (isOff ? "no filtra" : text);
  const dials = [
    slider({label: "Temperatura", min: 0.1, max: 2, step: 0.1, value: 1, text: (x) => number(x, 1), oninput: (temperature) => update({temperature})}),
    slider({label: "top-k", min: 1, max: MOST, step: 1, value: MOST, text: (x) => off(String(x), x === MOST), oninput: (k) => update({k})}),
    slider({label: "top-p", min: 0.05, max: 1, step: 0.05, value: 1, text: (x) => off(number(x), x === 1), oninput: (p) => update({p})}),
  ];
  const seed = h("input", {
    type: "number",
    class: "ask com-seed",
    min: 0,
    max: LAST_SEED,
    value: data.seed,
    oninput() {
      const given = seed.valueAsNumber,
        isGood = Number.isInteger(given) && given >= 0 && given <= LAST_SEED;
      seed.setAttribute("aria-invalid", !isGood);
      complain(isGood ? "" : `La semilla es un entero de 0 a ${LAST_SEED}.`);
      if (!isGood) return;
      die = dice(given);
      update({seed: given});
    },
  });

  // ---- Lo que se ve --------------------------------------------------------------------------------------------------
  const asked = h("span"),
    added = h("mark", {class: "com-new"}),
    page = h("div", {class: "com-text", tabindex: 0, role: "group", "aria-label": "Lo escrito"}, asked, added),
    note = h("p", {class: "hush"}),
    list = h("div", {class: "lots"}),
    key = "Lo que puede seguir. Barra: probabilidad tras los mandos. Raya: la que da el modelo.",
    sheet = h("div", {class: "com-sheet"}, page, note, h("p", {class: "hush"}, key), list);

  function bars(probs) {
    const plain = softmax(logits),
      order = ordered(logits);
    const line = (name, chosen) => {
      const sum = (values) => chosen.reduce((total, id) => total + values[id], 0),
        share = sum(probs),
        was = sum(plain),
        staying = chosen.filter((id) => probs[id] > 0).length;
      const tip = `${name}: el modelo le da ${number(was, 4)}; tras los mandos, ${number(share, 4)}${chosen.length > 1 ? `; quedan ${staying} de ${chosen.length}` : ""}`;
      return lot({name, share, was, left: staying, text: number(share, 3), tip});
    };
    const rest = order.slice(BARS);
    list.replaceChildren(
      ...order.slice(0, BARS).map((id) => line(names[id], [id])),
      ...(rest.length ? [line(`otros ${rest.length}`, rest)] : []),
    );
  }
  function tell(probs) {
    if (!logits) return "Pulsa «Continuar» o «Siguiente». La primera vez se pide el modelo, y puede tardar.";
    const last = written.at(-1),
      kept = probs.filter((p) => p > 0).length,
      likely = probs.indexOf(Math.max(...probs));
    if (left && last !== undefined) return `Escribe «${names[last]}».`;
    const begin = last === undefined ? "Tras el comienzo," : `Ha escrito «${names[last]}». Ahora`;
    return `${begin} lo más probable es «${names[likely]}», con ${number(probs[likely])}; quedan ${kept} en el sorteo.`;
  }
  const {node, update} = cycle(root, state, () => {
    const probs = logits && chances(),
      count = prompt.length + written.length;
    root.toggleAttribute("data-idle", !logits);
    sheet.hidden = !logits;
    tellButtons();
    if (logits) {
      asked.textContent = field.value;
      added.textContent = decode(written);
      page.scrollTop = page.scrollHeight;
      note.textContent = `${prompt.length} ${prompt.length === 1 ? "token" : "tokens"} de comienzo y ${written.length} más${count > context ? `: solo lee los ${context} últimos` : ""}.`;
      bars(probs);
    }
    return {say: tell(probs), values: logits && {prompt, written: [...written], probs, logits}};
  });
  stage.append(
    h("label", {class: "controls"}, "Comienzo", field),
    problem,
    h("div", {class: "controls named"}, player, next, back, reset),
    h("div", {class: "dials"}, dials.map((dial) => dial.node), h("label", {class: "switch"}, h("span", null, "Semilla"), seed)),
    node,
    sheet,
    probe(stage, "Toca una barra para ver sus números."),
  );
  update({});
});
