/* Las uniones de BPE en una frase, una a una, y el retículo de unigrama. La cuenta tiene su gemelo en merges.py. */
window.atentoExplorers.register("merges", (stage, data, root) => {
  const {h, number, group, walk, cycle, probe} = window.atentoExplorers;
  const WORDS = / ?[\p{L}\p{M}]+| ?\p{N}+| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+/gu;
  const raw = (piece) => piece.replaceAll("␣", " ").replaceAll("⏎", "\n"),
    seen = (piece) => piece.replaceAll(" ", "␣"),
    rows = (text) => (text.match(/[^ ]+ [^ ]+/g) ?? []).map((row) => row.split(" ").map(raw));
  const ranks = new Map(rows(data.merges).map((pair, i) => [pair.join("\t"), i])),
    scores = new Map(rows(data.pieces).map(([piece, cost]) => [piece, -Number(cost)])),
    known = new Set([...data.known].map(raw)),
    widest = Math.max(...[...scores.keys()].map((piece) => [...piece].length));
  const words = (text) => text.normalize("NFC").match(WORDS) ?? [];

  // ---- BPE: la unión más antigua de toda la frase, y la de más a la izquierda --------------------------------------
  function next(words) {
    const pairs = words.flatMap((word, w) => word.map((_, i) => ({w, i, pair: word.slice(i, i + 2)}))),
      ranked = pairs.map((one) => ({...one, rank: ranks.get(one.pair.join("\t"))}));
    return ranked.filter(({rank}) => rank !== undefined).sort((a, b) => a.rank - b.rank)[0];
  }
  function history(text) {
    const states = [{words: words(text).map((word) => [...word])}];
    for (;;) {
      const now = states.at(-1).words,
        found = next(now);
      if (!found) return states;
      const joined = ({i, pair}, word) => [...word.slice(0, i), pair.join(""), ...word.slice(i + 2)];
      states.push({...found, words: now.map((word, k) => (k === found.w ? joined(found, word) : word))});
    }
  }

  // ---- Unigrama: las aristas de una palabra y su mejor camino -------------------------------------------------------
  function edges(letters) {
    const found = [];
    for (let start = 0; start < letters.length; start++)
      for (let end = start + 1; end <= Math.min(letters.length, start + widest); end++) {
        const piece = letters.slice(start, end).join("");
        const score = scores.get(piece) ?? (end === start + 1 ? -data.unknown : undefined);
        if (score !== undefined) found.push({start, end, piece, score});
      }
    return found;
  }
  function viterbi(word) {
    const letters = [...word],
      all = edges(letters),
      best = [{score: 0, path: []}];
    for (let end = 1; end <= letters.length; end++) {
      best[end] = {score: -Infinity};
      for (const edge of all.filter((e) => e.end === end)) {
        const score = best[edge.start].score + edge.score;
        if (score > best[end].score) best[end] = {score, path: [...best[edge.start].path, edge]};
      }
    }
    return {word, letters, edges: all, ...best.at(-1)};
  }

  // ---- La página ----------------------------------------------------------------------------------------------------
  const state = {text: data.text, step: 0, word: 0};
  let states, cuts;
  const moves = walk({first: "Letras", back: "Atrás", next: "Unir", end: "Hasta el final"}, (step) => update({step})),
    which = group("Palabra", (word) => update({word})),
    chips = h("div", {class: "chips"}),
    lanes = h("div", {class: "lanes"});
  const field = h("input", {
    type: "text",
    class: "ask typed",
    maxlength: data.longest,
    value: data.text,
    spellcheck: "false",
    "aria-label": "Frase",
    oninput: () => start(field.value),
  });
  function chip(piece, isFresh) {
    const isKnown = known.has(piece) || [...piece].length > 1,
      tip = `«${seen(piece)}»: ${isKnown ? "pieza de BPE" : "carácter desconocido"}`;
    return h("span", {class: `chip ${isFresh ? "fresh" : ""} ${isKnown ? "" : "strange"}`, "data-tip": tip}, seen(piece));
  }
  function drawChips({words: now, w, i}) {
    const unit = (word, k) => h("span", {class: "unit"}, word.map((piece, j) => chip(piece, k === w && j === i)));
    chips.replaceChildren(...now.map(unit));
  }
  function drawLanes({letters, edges: all, path}) {
    const free = [];
    /* El primer renglón donde cabe, o uno nuevo. */
    function laneOf(edge) {
      let at = free.findIndex((taken) => taken.every((o) => edge.end <= o.start || o.end <= edge.start));
      if (at < 0) at = free.push([]) - 1;
      free[at].push(edge);
      return at;
    }
    const shorter = (a, b) => a.end - a.start - (b.end - b.start) || a.start - b.start;
    const bar = (edge) => {
      const isChosen = path.includes(edge),
        style = `grid-column:${edge.start + 1}/${edge.end + 1};grid-row:${laneOf(edge) + 2}`,
        tip = `«${seen(edge.piece)}»: log p = ${number(edge.score)}${isChosen ? ", en el mejor corte" : ""}`;
      return h("span", {class: `edge ${isChosen ? "fresh" : ""}`, style, "data-tip": tip}, number(edge.score, 1));
    };
    const heads = letters.map((letter, i) => h("b", {style: `grid-column:${i + 1};grid-row:1`}, seen(letter)));
    lanes.style.setProperty("--letters", letters.length);
    lanes.replaceChildren(...heads, ...[...all].sort(shorter).map(bar));
  }
  function tell({pair, rank, words: now}) {
    const count = now.flat().length,
      left = states.length - 1 - state.step,
      rest = left === 1 ? "queda 1 unión" : `quedan ${left} uniones`;
    if (!pair) return `${count} letras; ${left ? rest : "nada que unir"}.`;
    const cut = now.map((word) => word.map(seen).join("|")).join(" "),
      [one, other] = pair.map(seen);
    return `Unión ${state.step}: «${one}» + «${other}», la n.º ${rank + 1} que se aprendió. ${count} piezas: ${cut}; ${left ? rest : "fin"}.`;
  }
  const {node, update} = cycle(root, state, () => {
    const now = states[state.step];
    moves.set(state.step, states.length - 1);
    which.node.hidden = cuts.length < 2;
    which.set(cuts.map(({word}) => seen(word)), state.word);
    drawChips(now);
    drawLanes(cuts[state.word] ?? {letters: [], edges: []});
    const values = {
      steps: states.slice(1).map(({rank, pair, words: now}) => ({rank, pair, words: now})),
      cuts: cuts.map(({path, score}) => ({pieces: path.map((edge) => edge.piece), score})),
    };
    return {say: tell(now), values};
  });
  /* Otra frase: de unigrama se enseña la palabra con más piezas. */
  function start(text) {
    states = history(text);
    cuts = words(text).map(viterbi);
    const counts = cuts.map((cut) => cut.edges.length);
    update({text, step: 0, word: Math.max(0, counts.indexOf(Math.max(...counts)))});
  }
  const about = (text) => h("p", {class: "hush"}, text);
  stage.append(
    h("label", {class: "typing"}, h("span", null, "Frase"), field),
    about("BPE"),
    chips,
    h("div", {class: "controls"}, moves.nodes),
    node,
    about("Unigrama: todas las piezas que caben, con su log-probabilidad"),
    which.node,
    lanes,
    probe(stage, "Toca una pieza para ver su número."),
  );
  start(data.text);
});
