/* Unas vocales que se mueven por el plano de sus formantes, se ven, se oyen, y un Whisper las escribe. La voz es la de
   voice.js, y la red, la de whisper.js: sus números se piden al primer cambio. Su gemelo está en hearing.py. */
window.atentoExplorers.register("hearing", (stage, data, root) => {
  const {h, svg, button, disable, group, picker, slider, cycle, lot, field, spectrum, listen, number, probe, opener} = window.atentoExplorers;
  const voice = window.atentoVoice(data.voice),
    {vowels, letters, start} = data,
    {rate} = data.voice,
    [gap, total] = data.times,
    names = Object.keys(vowels),
    CELL = 18; // lo que se apartan dos letras del rastro, en unidades del plano
  const whole = (share) => `${Math.round(100 * share)}\u00a0%`,
    same = (a, b) => JSON.stringify(a) === JSON.stringify(b),
    spotOf = ([f1, f2]) => [f2 / 1000, f1 / 1000]; // en el plano: el segundo formante y el primero, en kHz
  const fresh = () => ({...start, spots: start.spots.map(spotOf), at: data.moves, symbol: data.moves});
  const state = {...fresh(), layer: 0, head: 0, touched: false};

  // ---- Lo que se dice, lo que suena y lo que se oye -------------------------------------------------------------------
  const nameOf = (spot) => names.find((name) => same(spotOf(vowels[name]), spot)),
    from = (i) => gap + i * (gap + state.seconds),
    said = () => [state.spots, state.pitch, state.seconds, state.noise, state.seed];
  function sound() {
    const wave = new Float64Array(Math.round(total * rate)),
      one = ([f2, f1]) => voice.vowel([1000 * f1, 1000 * f2, ...vowels.a.slice(2)], state.pitch, state.seconds);
    state.spots.map(one).reduce((at, samples) => {
      wave.set(samples, at + Math.round(gap * rate));
      return at + Math.round(gap * rate) + samples.length;
    }, 0);
    if (state.noise === null) return wave;
    const hiss = voice.hiss(wave.length, state.seed);
    return wave.map((value, i) => value + 10 ** (-state.noise / 20) * hiss[i]);
  }
  let model,
    past, // las probabilidades de antes del último cambio
    heard = {}; // lo último oído, y de qué
  function hear() {
    const of = JSON.stringify([said(), Boolean(model)]);
    if (heard.of === of) return false;
    const wave = sound(),
      features = voice.logMel(wave);
    past = heard.probs;
    heard = {of, features, ...model?.(features, data.most)};
    player.set(wave);
    return true;
  }
  const open = opener(() => window.atentoWhisper(data.file), "mover la vocal", (line) => say(line), (loaded) => {
    model = loaded;
    update({});
  });
  const act = (change) => update({...change, touched: true});

  // ---- Los mandos ------------------------------------------------------------------------------------------------------
  const slots = group("Qué vocal mueves", (at) => act({at, symbol: at})),
    symbols = group("Lo que escribe", (symbol) => act({symbol})),
    put = (at, spot) => act({spots: [...state.spots.slice(0, at), [...spot], ...state.spots.slice(at + 1)], at, symbol: at}),
    keys = names.map((name) => button(name, () => put(state.at, spotOf(vowels[name])), {"aria-label": `Poner una ${name}`})),
    more = button("Añadir", () => put(state.spots.length, spotOf(vowels["iu".includes(nameOf(state.spots.at(-1)) ?? "a") ? "a" : "u"]))),
    less = button("Quitar", () => act({spots: state.spots.slice(0, -1), at: Math.min(state.at, state.spots.length - 2)}));
  const [[low, high], [fast, slow], [least, most]] = data.scales,
    level = (noise) => (noise === null ? 0 : most + 1 - noise),
    noiseOf = (x) => (x ? most + 1 - x : null),
    amount = (noise) => (noise ? `${Math.abs(noise)} dB por ${noise > 0 ? "debajo" : "encima"} de la voz` : noise === 0 ? "tan fuerte como la voz" : "no hay"),
    dials = {
      pitch: slider({label: "Tono", min: low, max: high, step: 5, value: start.pitch, text: (x) => `${x} Hz`, oninput: (pitch) => act({pitch})}),
      seconds: slider({label: "Cada vocal dura", min: fast, max: slow, step: 0.01, value: start.seconds, text: (x) => `${number(x)} s`, oninput: (seconds) => act({seconds})}),
      noise: slider({label: "Ruido", min: 0, max: level(least), step: 1, value: level(start.noise), text: (x) => amount(noiseOf(x)), oninput: (x) => act({noise: noiseOf(x)})}),
    },
    player = listen(rate),
    other = button("Otro ruido", () => act({seed: state.seed + 1})),
    again = button("Volver a empezar", () => act(fresh()));
  const heads = picker({label: "Cabeza", options: ["media", ...Array(data.depth[1]).keys()].map((k) => (k === "media" ? k : k + 1)), value: 0, onchange: (head) => act({head})}),
    layers = picker({label: "Capa", options: [...Array(data.depth[0]).keys()].map((k) => k + 1), value: 0, onchange: (layer) => act({layer})});

  // ---- El plano, y las letras que se van oyendo en él --------------------------------------------------------------------
  const board = field({label: "Plano de los formantes", limits: data.limits}),
    [marks, trail, here] = ["hear-marks", "hear-trail", "hear-here"].map(board.layer),
    write = (x, y, text, more) => svg("text", {x, y: y + 5, "text-anchor": "middle", ...more}, text);
  marks.append(
    svg("rect", {x: 36, y: 14, width: 350, height: 360}),
    ...names.map((name) => spotOf(vowels[name])).map(([x, y], i) => write(board.X(x), board.Y(y) + 3, names[i], {class: "hear-name"})),
    ...[300, 400, 500, 600].map((f1) => write(0, board.Y(f1 / 1000), f1, {"text-anchor": "start"})),
    ...[2000, 1500].map((f2) => write(board.X(f2 / 1000), 390, f2)),
    write(8, board.Y(data.limits[3]), "F1", {"text-anchor": "start"}),
    write(board.X(data.limits[1]), 390, "F2", {"text-anchor": "end"}),
  );
  board.grip({role: "plain", name: "Vocal que se mueve; F2 y F1, en kHz", start: spotOf(start.spots[data.moves]), point: () => state.spots[state.at], moved: () => act({symbol: state.at})});
  let tested; // con qué se probaron los sitios que se ven
  function leave(letter) {
    const rest = [state.spots.filter((_, i) => i !== state.at), state.at, ...said().slice(1)];
    if (!same(rest, tested)) trail.replaceChildren();
    tested = rest;
    const [x, y] = [board.X(state.spots[state.at][0]), board.Y(state.spots[state.at][1])].map((at) => CELL * Math.round(at / CELL)),
      old = [...trail.children].find((one) => one.dataset.at === `${x},${y}`);
    if (old) old.textContent = letter;
    else trail.append(write(x, y, letter, {"data-at": `${x},${y}`}));
  }

  // ---- Pintar ----------------------------------------------------------------------------------------------------------
  const sheet = spectrum(["0 s", `${total} s`]),
    gaze = h("p", {class: "hush"}),
    bars = h("div", {class: "lots"}),
    answers = h("div", null, h("p", null, h("b", null, "Escribe, y con qué probabilidad")), symbols.node),
    looking = h("div", {class: "hear-split"}, h("div", null, gaze, h("div", {class: "controls"}, layers.row, heads.row)), h("div", null, bars, h("p", {class: "hush"}, "Barra: ahora. Raya: antes del último cambio.")));
  function drawLooks() {
    const rows = heard.looks[state.layer].map((each) => each[state.symbol]),
      shares = state.head ? rows[state.head - 1] : rows[0].map((_, j) => rows.reduce((sum, row) => sum + row[j], 0) / rows.length),
      near = (i) => shares.reduce((sum, share, j) => (Math.abs((total * j) / shares.length - from(i) - state.seconds / 2) <= state.seconds / 2 + 1e-9 ? sum + share : sum), 0);
    sheet.look(shares);
    gaze.textContent = `Al escribir «${letters[heard.written[state.symbol]]}» mira ${state.spots.map((_, i) => `a la ${i + 1}.ª, ${whole(near(i))}`).join("; ")}; lo demás, a los silencios.`;
  }
  function tell(text) {
    const count = state.spots.length,
      word = state.spots.every(nameOf) && state.spots.map(nameOf).join("");
    const begin = word ? `Dices «${word}» y escribe «${text}»${word === text ? "" : ": se equivoca"}.` : `Escribe «${text}».`;
    if (text.length !== count) return `${begin} Son ${count} vocales, y escribe ${text.length}.`;
    return `${begin} La ${state.at + 1}.ª la oye «${text[state.at]}», con el ${whole(Math.max(...heard.probs[state.at]))}.`;
  }
  const {node, update, say} = cycle(root, state, () => {
    if (state.touched && !model) open();
    const isNew = hear(),
      now = state.spots.map(nameOf),
      [x, y] = state.spots[state.at];
    board.place();
    [dials.pitch, dials.seconds, dials.noise].forEach((dial, i) => dial.set([state.pitch, state.seconds, level(state.noise)][i]));
    here.replaceChildren(svg("circle", {cx: board.X(x), cy: board.Y(y), r: 9}));
    slots.set(now.map((name) => [name ?? "·"]), state.at, (i) => `Vocal ${i + 1}, ${now[i] ?? "entre dos"}`);
    disable(keys.map((key, i) => [key, names[i] === now[state.at]]));
    disable([[more, now.length === data.lengths[1]], [less, now.length === data.lengths[0]]]);
    disable([[other, state.noise === null], [again, same(said(), [start.spots.map(spotOf), start.pitch, start.seconds, start.noise, start.seed])], [player.node, false]]);
    sheet.draw(heard.features);
    sheet.mark(now.map((name, i) => ({from: from(i) / total, to: (from(i) + state.seconds) / total, text: name ?? "·", here: i === state.at})));
    root.toggleAttribute("data-idle", !model);
    answers.hidden = looking.hidden = !model;
    sheet.looks.style.display = model ? "" : "none";
    if (!model) return {seen: {features: heard.features}, say: state.touched ? "Pidiendo el modelo…" : "Mueve la vocal o cambia algo. Entonces se pide el modelo, y puede tardar."};
    const {written, probs} = heard,
      texts = written.map((id) => letters[id]),
      chance = (i) => whole(probs[i][written[i]]),
      isWhole = texts.at(-1) === "fin";
    state.symbol = Math.min(state.symbol, written.length - 1);
    symbols.set(texts.map((text, i) => [h("b", null, text), ` ${chance(i)}`]), state.symbol, (i) => `${texts[i]}, con el ${chance(i)}`);
    const row = probs[state.symbol],
      old = past?.[state.symbol] ?? row;
    bars.replaceChildren(...letters.flatMap((name, id) => (name ? [lot({name, share: row[id], was: old[id], left: 1, text: whole(row[id])})] : [])));
    drawLooks();
    const text = texts.slice(0, isWhole ? -1 : undefined).join("");
    if (isNew) leave(text.length === now.length ? text[state.at] : "?");
    return {say: tell(text), values: heard};
  });
  const column = (...inner) => h("div", null, inner),
    controls = (...inner) => h("div", {class: "controls"}, inner);
  stage.append(
    controls(h("div", {class: "named"}, h("span", null, "Se mueve la"), slots.node), more, less),
    h("div", {class: "hear-split"}, column(board.drawing, controls(h("div", {class: "choice"}, keys))), column(controls(Object.values(dials).map((dial) => dial.node)), controls(player.node, other, again), node, answers)),
    sheet.node,
    looking,
    probe(stage, "Arrastra el círculo con el dedo o el ratón, o elígelo con el tabulador y usa las flechas."),
  );
  update({});
});
