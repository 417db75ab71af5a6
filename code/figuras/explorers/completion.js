/* Un modelo de lenguaje que continúa lo que se escribe, token a token. La red es la de transformer.js; los tokens, los
   filtros y el azar, los de pieces. Con la misma semilla sale lo mismo que en PyTorch: su gemelo está en completion.py. */
window.atentoExplorers.register("completion", (stage, data, root) => {
  const {h, button, disable, number, slider, softmax, cycle, probe, warning, ...pieces} = window.atentoExplorers;
  const {warmed, keepTopK, keepTopP, draw, filters, ballot, dice, bpe, opener} = pieces;
  const {context, longest, wrong} = data;
  const {encode, decode, names} = bpe(data.merges);
  const RUN = 40, // tokens de una tirada
    PAUSE = 60,
    LAST_SEED = 2 ** 32 - 1;

  // ---- Leer, puntuar y escribir --------------------------------------------------------------------------------------
  const state = {temperature: 1, k: names.length, p: 1, seed: data.seed};
  let model,
    logits, // lo que puntúa cada token; sin modelo o sin comienzo, nada
    prompt,
    written = [],
    left = 0, // tokens que faltan de la tirada
    timer;

  const score = () => (logits = model.next([...prompt, ...written].slice(-context))),
    chances = () => softmax(keepTopP(keepTopK(warmed(logits, state.temperature), state.k), state.p));
  function write() {
    written.push(draw(chances(), dice(state.seed)(written.length)));
    score();
  }

  const field = h(
    "textarea",
    {class: "ask com-field", rows: 2, "aria-label": "Comienzo", spellcheck: "false", oninput: typed},
    data.start,
  );
  const range = {min: 0, max: LAST_SEED, value: data.seed},
    seed = h("input", {type: "number", class: "ask com-seed", ...range, oninput: sow});
  const {node: problem, complain} = warning(root, field, seed);
  const load = opener(() => window.atentoTransformer.load(data.file), "pulsar el botón", complain);
  const complaint = (text) => (!text ? wrong[0] : [...text].length > longest ? wrong[1] : "");
  /* Lee el comienzo y puntúa lo que sigue, si sirve y ya está el modelo. */
  function read() {
    [logits, written] = [undefined, []];
    if (!model || complaint(field.value)) return;
    prompt = encode(field.value);
    score();
  }
  /* Deja puntuado lo que hay, si se puede; la primera vez pide los pesos. */
  async function open() {
    const told = complaint(field.value);
    complain(told);
    if (!told) model ??= await load();
    if (!logits) read();
    return logits;
  }
  function typed() {
    pause();
    read();
    complain(field.value && complaint(field.value));
    update({});
  }

  // ---- Los mandos ----------------------------------------------------------------------------------------------------
  const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
  function pause() {
    clearTimeout(timer);
    left = 0;
  }
  async function go() {
    if (left) pause();
    else left = RUN;
    tellButtons();
    if (left && !(await open())) pause();
    if (left) tick(); // mientras llega el modelo se puede parar
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
  const player = button("", go, {class: "go com-go"}),
    next = button("Siguiente", one),
    back = button("Atrás", () => cutTo(written.length - 1)),
    reset = button("Volver al comienzo", () => cutTo(0));
  function tellButtons() {
    player.textContent = left ? "Parar" : "Continuar";
    disable([[back, !written.length], [reset, !written.length], [next, false]]);
  }
  const degrees = (x) => number(x, 1),
    warm = (temperature) => update({temperature}),
    heat = slider({label: "Temperatura", min: 0.1, max: 2, step: 0.1, value: 1, text: degrees, oninput: warm}),
    dials = [heat, ...filters(names.length, (change) => update(change))].map((dial) => dial.node);
  function sow() {
    const isGood = Number.isInteger(seed.valueAsNumber) && seed.validity.valid;
    complain(isGood ? "" : `La semilla es un entero de 0 a ${LAST_SEED}.`, seed);
    if (isGood) update({seed: seed.valueAsNumber});
  }

  // ---- Lo que se ve --------------------------------------------------------------------------------------------------
  const asked = h("span"),
    added = h("mark", {class: "com-new"}),
    page = h("div", {class: "com-text", tabindex: 0, role: "group", "aria-label": "Lo escrito"}, asked, added),
    note = h("p", {class: "hush"}),
    bars = ballot({names, bars: 8, others: (count) => `otros ${count}`}),
    sheet = h("div", null, page, note, bars.key, bars.node);
  bars.key.prepend("Lo que puede seguir. ");

  function tell(probs) {
    if (!logits) return "Pulsa «Continuar» o «Siguiente». La primera vez se pide el modelo, y puede tardar.";
    const last = names[written.at(-1)],
      kept = probs.filter((p) => p > 0).length,
      likely = probs.indexOf(Math.max(...probs));
    if (left) return `Escribe «${last}».`;
    const begin = last === undefined ? "Tras el comienzo," : `Ha escrito «${last}». Ahora`;
    return `${begin} lo más probable es «${names[likely]}», con ${number(probs[likely])}; quedan ${kept} en el sorteo.`;
  }
  const {node, update} = cycle(root, state, () => {
    const probs = logits && chances();
    root.toggleAttribute("data-idle", !logits);
    sheet.hidden = !logits;
    tellButtons();
    if (logits) {
      const isCut = prompt.length + written.length > context,
        began = `${prompt.length} ${prompt.length === 1 ? "token" : "tokens"} de comienzo`;
      asked.textContent = field.value;
      added.textContent = decode(written);
      page.scrollTop = page.scrollHeight;
      note.textContent = `${began} y ${written.length} más${isCut ? `: solo lee los ${context} últimos` : ""}.`;
      bars.draw(logits, probs);
    }
    return {say: tell(probs), values: logits && {prompt, written: [...written], probs, logits}};
  });
  stage.append(
    h("label", {class: "controls"}, "Comienzo", field),
    problem,
    h("div", {class: "controls named"}, player, next, back, reset),
    h("div", {class: "dials"}, dials, h("label", {class: "switch"}, h("span", null, "Semilla"), seed)),
    node,
    sheet,
    probe(stage, "Toca una barra para ver sus números."),
  );
  update({});
});
