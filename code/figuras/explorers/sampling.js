/* El sorteo de la palabra siguiente: temperatura y filtros. Las cuentas son las de atento.decoding, por sampling.py. */
window.atentoExplorers.register("sampling", (stage, data, root) => {
  const {h, softmax, entropy, number, picker, slider, button, cycle, probe, ...lots} = window.atentoExplorers;
  const {lot, forbid, ordered, warmed, keepTopK, keepTopP, draw} = lots;
  const {words, contexts, dice} = data,
    size = words.length;
  const truth = data.truth?.map((pairs) => {
    const row = new Array(size).fill(0);
    for (const [i, p] of pairs) row[i] = p;
    return row;
  });
  const REST = {temperature: 1, k: size, p: 1, m: 0};
  const state = {context: 0, ...REST},
    throws = [];

  // ---- Los filtros: de unas puntuaciones a otras ----------------------------------------------------------------------
  function minP(logits) {
    const least = Math.max(...logits) + Math.log(state.m);
    return forbid(logits, (i) => logits[i] >= least);
  }
  function compute() {
    const warm = warmed(data.logits[state.context], state.temperature),
      before = softmax(warm),
      logits = minP(keepTopP(keepTopK(warm, state.k), state.p)),
      probs = softmax(logits);
    const stays = logits.map((value) => value > -Infinity);
    const sum = (values, keep) => values.reduce((total, value, i) => total + (keep(i) ? value : 0), 0);
    const found = {probs, kept: stays.filter(Boolean).length, mass: sum(before, (i) => stays[i]), entropy: entropy(probs)};
    if (truth) {
      const real = truth[state.context];
      found.wrong = sum(probs, (i) => real[i] === 0);
      found.lost = sum(real, (i) => !stays[i]);
    }
    return {...found, before, stays};
  }

  // ---- Las barras ---------------------------------------------------------------------------------------------------
  const list = h("div", {class: "lots"});
  function bars(now) {
    const base = data.logits[state.context],
      order = ordered(base),
      shown = order.slice(0, data.bars),
      rest = order.slice(data.bars);
    const plain = softmax(base),
      counts = words.map((_, i) => throws.filter((word) => word === i).length);
    const add = (values, chosen) => chosen.reduce((total, i) => total + values[i], 0);
    const line = (name, chosen, isRest) => {
      const share = add(now.probs, chosen),
        was = add(plain, chosen),
        left = chosen.filter((i) => now.stays[i]).length,
        times = add(counts, chosen);
      const wrong = !isRest && truth && truth[state.context][chosen[0]] === 0;
      const tip = `${name}: el modelo le da ${number(was, 4)}; tras los mandos, ${number(share, 4)}${wrong ? "; la gramática no la admite" : ""}${isRest ? `; quedan ${left} de ${chosen.length}` : ""}`;
      return lot({
        name: [name, wrong && h("sup", {class: "odd"}, " ✗")],
        share,
        was,
        left,
        text: number(share, 3),
        tip,
        times: times ? `×${times}` : "",
      });
    };
    list.replaceChildren(
      ...shown.map((i) => line(words[i], [i])),
      ...(rest.length ? [line(rest.length === 1 ? "la otra" : `las otras ${rest.length}`, rest, true)] : []),
    );
  }

  // ---- Mandos -----------------------------------------------------------------------------------------------------
  const start = picker({label: "Comienzo", value: 0, options: contexts, onchange: (context) => update({context})});
  const off = (text, isOff) => (isOff ? "no filtra" : text);
  const most = Math.min(size, 50);
  const dials = {
    temperature: slider({label: "Temperatura", min: -1, max: 1, step: 0.01, value: 0, text: (x) => number(10 ** x, 2), oninput: (x) => update({temperature: 10 ** x})}),
    k: slider({label: "top-k", min: 1, max: most, step: 1, value: most, text: (x) => off(String(x), x === most), oninput: (x) => update({k: x === most ? size : x})}),
    p: slider({label: "top-p", min: 0.05, max: 1, step: 0.05, value: 1, text: (x) => off(number(x), x === 1), oninput: (p) => update({p})}),
    m: slider({label: "min-p", min: 0, max: 0.5, step: 0.01, value: 0, text: (x) => off(number(x), x === 0), oninput: (m) => update({m})}),
  };
  const REST_DIAL = {temperature: 0, k: most, p: 1, m: 0};
  const facts = h("dl", {class: "facts"});
  function clear() {
    for (const [name, dial] of Object.entries(dials)) dial.set(REST_DIAL[name]);
    update(REST);
  }
  function throwTen() {
    const {probs} = compute(),
      turn = (throws.length / 10) % dice.length;
    throws.push(...dice[turn].map((die) => draw(probs, die)));
    update({thrown: true});
  }

  // ---- Decirlo ----------------------------------------------------------------------------------------------------
  const percent = (value) => `${number(100 * value, 1)}\u00a0%`;
  const {node, update} = cycle(root, state, ({thrown}) => {
    delete state.thrown;
    if (!thrown) throws.length = 0;
    const now = compute(),
      spread = Math.exp(now.entropy),
      last = throws.slice(-10).map((i) => words[i]);
    bars(now);
    const told = [
      ["Quedan", `${now.kept} de ${size} palabras`],
      ["Masa guardada", percent(now.mass)],
      ["Entropía", `${number(now.entropy)} nats, como ${number(spread, 1)} palabras iguales`],
      truth && ["Imposibles", `${percent(now.wrong)} de lo que saldrá`],
      truth && ["Se pierde", `${percent(now.lost)} de lo posible`],
    ];
    facts.replaceChildren(...told.filter(Boolean).map(([name, text]) => h("div", null, h("dt", null, name), h("dd", null, text))));
    const tally = [...new Set(last)].map((word) => [word, last.filter((other) => other === word).length]);
    const counted = tally.sort((a, b) => b[1] - a[1]).map(([word, times]) => (times > 1 ? `${word} ×${times}` : word));
    return {
      say: thrown
        ? `Salen: ${counted.join(", ")}.`
        : `Quedan ${now.kept} palabras, que juntaban el ${percent(now.mass)}; entropía, ${number(now.entropy)} nats.`,
      values: {probs: now.probs, kept: now.kept, mass: now.mass, entropy: now.entropy, wrong: now.wrong, lost: now.lost, drawn: last},
    };
  });
  const key = `Barra: probabilidad tras los mandos. Raya: la que da el modelo.${truth ? " ✗: la gramática no la admite." : ""}`;
  stage.append(
    h("div", {class: "controls"}, start.row),
    h("div", {class: "dials"}, Object.values(dials).map((dial) => dial.node)),
    facts,
    h("p", {class: "hush"}, key),
    list,
    h("div", {class: "controls"}, button("Sortear diez palabras", throwTen), button("Quitar los filtros", clear)),
    node,
    probe(stage, "Toca una barra para ver sus números."),
  );
  update({});
});
