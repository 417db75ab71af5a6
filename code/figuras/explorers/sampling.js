/* El sorteo de la palabra siguiente: temperatura y filtros. Las cuentas son las de atento.decoding, por sampling.py. */
window.atentoExplorers.register("sampling", (stage, data, root) => {
  const {h, softmax, entropy, number, picker, slider, button, cycle, probe, ...lots} = window.atentoExplorers;
  const {forbid, warmed, keepTopK, keepTopP, draw, filters, ballot} = lots;
  const {words, contexts, dice} = data,
    size = words.length,
    REST = {temperature: 0, k: size, p: 1, m: 0}; // los mandos sin filtrar; el de la temperatura da su exponente
  const state = {context: 0, throws: [], ...REST}; // throws: qué palabras salieron en cada sorteo
  const truth = data.truth?.map((pairs) => Object.assign(Array(size).fill(0), Object.fromEntries(pairs))),
    isOdd = (i) => truth?.[state.context][i] === 0;

  // ---- Los filtros: de unas puntuaciones a otras --------------------------------------------------------------------
  const sum = (values, chosen) => chosen.reduce((total, i) => total + values[i], 0);
  const those = (isChosen) => [...words.keys()].filter(isChosen);
  function minP(logits) {
    const least = Math.max(...logits) + Math.log(state.m);
    return forbid(logits, (i) => logits[i] >= least);
  }
  function compute() {
    const {context, temperature, k, p} = state,
      warm = warmed(data.logits[context], 10 ** temperature),
      logits = minP(keepTopP(keepTopK(warm, k), p)),
      probs = softmax(logits);
    const stays = (i) => logits[i] > -Infinity,
      kept = those(stays);
    const now = {probs, kept: kept.length, mass: sum(softmax(warm), kept), entropy: entropy(probs)};
    if (truth) {
      now.wrong = sum(probs, those(isOdd));
      now.lost = sum(truth[context], those((i) => !stays(i)));
    }
    return {now, stays};
  }

  // ---- Las barras ---------------------------------------------------------------------------------------------------
  /* Lo que se añade a una papeleta: si la gramática no la admite y cuántas veces ha salido. */
  function more(chosen, isRest) {
    const times = state.throws.flat().filter((i) => chosen.includes(i)).length,
      isWrong = !isRest && isOdd(chosen[0]);
    return {
      mark: isWrong && h("sup", {class: "odd"}, " ✗"),
      tip: isWrong ? "; la gramática no la admite" : "",
      times: times ? `×${times}` : "",
    };
  }
  const others = (count) => (count === 1 ? "la otra" : `las otras ${count}`),
    bars = ballot({names: words, bars: data.bars, others, more});
  if (truth) bars.key.append(" ✗: la gramática no la admite.");

  // ---- Mandos -----------------------------------------------------------------------------------------------------
  const start = picker({label: "Comienzo", value: 0, options: contexts, onchange: (context) => update({context})});
  const dial = (name, range) => slider({...range, value: REST[name], oninput: (x) => update({[name]: x})});
  const [k, p] = filters(size, (change) => update(change));
  const dials = {
    temperature: dial("temperature", {label: "Temperatura", min: -1, max: 1, step: 0.01, text: (x) => number(10 ** x)}),
    k,
    p,
    m: dial("m", {label: "min-p", min: 0, max: 0.5, step: 0.01, text: (x) => (x ? number(x) : "no filtra")}),
  };
  const facts = h("dl", {class: "facts"}),
    clear = button("Quitar los filtros", () => update(REST));
  function throwTen() {
    const {throws} = state,
      {probs} = compute().now;
    update({throws: [...throws, dice[throws.length % dice.length].map((die) => draw(probs, die))]});
  }

  // ---- Decirlo ----------------------------------------------------------------------------------------------------
  const percent = (value) => `${number(100 * value, 1)}\u00a0%`;
  const {node, update} = cycle(root, state, ({throws}) => {
    if (!throws) state.throws = []; // otro ajuste, otra cuenta
    for (const [name, {set}] of Object.entries(dials)) set(state[name]);
    const {now, stays} = compute(),
      drawn = (throws?.at(-1) ?? []).map((i) => words[i]);
    bars.draw(data.logits[state.context], now.probs, stays);
    const told = [
      ["Quedan", `${now.kept} de ${size} palabras`],
      ["Masa guardada", percent(now.mass)],
      ["Entropía", `${number(now.entropy)} nats, como ${number(Math.exp(now.entropy), 1)} palabras iguales`],
      truth && ["Imposibles", `${percent(now.wrong)} de lo que saldrá`],
      truth && ["Se pierde", `${percent(now.lost)} de lo posible`],
    ];
    const fact = ([name, text]) => h("div", null, h("dt", null, name), h("dd", null, text));
    facts.replaceChildren(...told.filter(Boolean).map(fact));
    const tally = [...new Set(drawn)].map((word) => [word, drawn.filter((other) => other === word).length]);
    const counted = tally.sort((a, b) => b[1] - a[1]).map(([word, times]) => (times > 1 ? `${word} ×${times}` : word));
    return {
      say: throws
        ? `Salen: ${counted.join(", ")}.`
        : `Quedan ${now.kept} palabras, que juntaban el ${percent(now.mass)}; entropía, ${number(now.entropy)} nats.`,
      values: {...now, drawn},
    };
  });
  stage.append(
    h("div", {class: "controls"}, start.row),
    h("div", {class: "dials"}, Object.values(dials).map(({node}) => node)),
    facts,
    bars.key,
    bars.node,
    h("div", {class: "controls"}, button("Sortear diez palabras", throwTen), clear),
    node,
    probe(stage, "Toca una barra para ver sus números."),
  );
  update({});
});
