/* Las uniones de BPE en una frase, una a una, y el retículo de unigrama. La cuenta tiene su gemelo en merges.py. */
window.atentoExplorers.register("merges", (stage, data, root) => {
  const {h, number, choice, walk, reading, probe} = window.atentoExplorers;
  const WORDS = / ?[\p{L}\p{M}]+| ?\p{N}+| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+/gu;
  const raw = (piece) => piece.replaceAll("␣", " ").replaceAll("⏎", "\n");
  const seen = (piece) => piece.replaceAll(" ", "␣");

  const flat = data.merges.split(" ").map(raw);
  const ranks = new Map();
  for (let i = 0; i < flat.length; i += 2) ranks.set(`${flat[i]}\t${flat[i + 1]}`, i / 2);
  const known = new Set([...data.known].map(raw));
  const scores = new Map();
  const listed = data.pieces.split(" ");
  for (let i = 0; i < listed.length; i += 2) scores.set(raw(listed[i]), -Number(listed[i + 1]));
  const widest = Math.max(...[...scores.keys()].map((piece) => [...piece].length));

  // ---- BPE: la unión más antigua de toda la frase, y la de más a la izquierda --------------------------------------
  function next(words) {
    let best = null;
    words.forEach((word, w) => {
      for (let i = 0; i + 1 < word.length; i++) {
        const rank = ranks.get(`${word[i]}\t${word[i + 1]}`);
        if (rank !== undefined && (!best || rank < best.rank)) best = {rank, w, i};
      }
    });
    return best;
  }
  function history(text) {
    const states = [{words: words(text).map((word) => [...word])}];
    for (;;) {
      const now = states.at(-1).words,
        found = next(now);
      if (!found) return states;
      const {w, i} = found,
        word = now[w],
        pair = [word[i], word[i + 1]];
      const after = now.map((other, k) =>
        k === w ? [...word.slice(0, i), pair.join(""), ...word.slice(i + 2)] : other,
      );
      states.push({words: after, pair, ...found});
    }
  }
  const words = (text) => text.normalize("NFC").match(WORDS) ?? [];

  // ---- Unigrama: las aristas de una palabra y su mejor camino -------------------------------------------------------
  function edges(word) {
    const letters = [...word],
      found = [];
    for (let start = 0; start < letters.length; start++)
      for (let end = start + 1; end <= Math.min(letters.length, start + widest); end++) {
        const piece = letters.slice(start, end).join("");
        const score = scores.get(piece) ?? (end === start + 1 ? -data.unknown : undefined);
        if (score !== undefined) found.push({start, end, piece, score});
      }
    return found;
  }
  function viterbi(word) {
    const length = [...word].length,
      all = edges(word);
    const best = [{score: 0, path: []}];
    for (let end = 1; end <= length; end++) {
      best[end] = {score: -Infinity, path: []};
      for (const edge of all.filter((e) => e.end === end)) {
        const score = best[edge.start].score + edge.score;
        if (score > best[end].score) best[end] = {score, path: [...best[edge.start].path, edge]};
      }
    }
    return {edges: all, ...best[length]};
  }

  // ---- La página ----------------------------------------------------------------------------------------------------
  const state = {text: data.text, step: 0, word: 0};
  let states, cuts;
  const field = h("input", {
    type: "text",
    class: "ask typed",
    maxlength: data.longest,
    value: data.text,
    spellcheck: "false",
    "aria-label": "Frase",
    oninput: () => start(field.value),
  });
  const moves = walk({first: "Letras", back: "Atrás", next: "Unir", end: "Hasta el final"}, go);
  const chips = h("div", {class: "chips"}),
    lanes = h("div", {class: "lanes"}),
    which = h("div"),
    read = reading();
  stage.append(
    h("label", {class: "typing"}, h("span", null, "Frase"), field),
    h("p", {class: "hush"}, "BPE"),
    chips,
    h("div", {class: "controls"}, moves.nodes),
    read.node,
    h("p", {class: "hush"}, "Unigrama: todas las piezas que caben, con su log-probabilidad"),
    which,
    lanes,
    probe(stage, "Toca una pieza para ver su número."),
  );

  const tint = (piece) => (known.has(piece) || [...piece].length > 1 ? "" : "strange");
  function drawChips() {
    const {words: now, w, i} = states[state.step];
    chips.replaceChildren(
      ...now.map((word, k) =>
        h(
          "span",
          {class: "unit"},
          word.map((piece, j) =>
            h(
              "span",
              {
                class: `chip ${k === w && j === i ? "fresh" : ""} ${tint(piece)}`,
                "data-tip": known.has(piece) || [...piece].length > 1 ? `«${seen(piece)}»: pieza de BPE` : `«${seen(piece)}»: carácter desconocido`,
              },
              seen(piece),
            ),
          ),
        ),
      ),
    );
  }
  function drawLanes() {
    lanes.replaceChildren();
    const cut = cuts[state.word];
    if (!cut) return;
    const letters = [...cut.word],
      free = [];
    const sorted = [...cut.edges].sort((a, b) => a.end - a.start - (b.end - b.start) || a.start - b.start);
    lanes.style.setProperty("--letters", letters.length);
    lanes.append(...letters.map((letter, i) => h("b", {style: `grid-column:${i + 1};grid-row:1`}, seen(letter))));
    for (const edge of sorted) {
      let lane = free.findIndex((taken) => taken.every((o) => edge.end <= o.start || o.end <= edge.start));
      if (lane < 0) lane = free.push([]) - 1;
      free[lane].push(edge);
      const chosen = cut.path.includes(edge);
      lanes.append(
        h(
          "span",
          {
            class: `edge ${chosen ? "fresh" : ""}`,
            style: `grid-column:${edge.start + 1}/${edge.end + 1};grid-row:${lane + 2}`,
            "data-tip": `«${seen(edge.piece)}»: log p = ${number(edge.score)}${chosen ? ", en el mejor corte" : ""}`,
          },
          number(edge.score, 1),
        ),
      );
    }
  }
  function drawWhich() {
    which.replaceChildren();
    if (cuts.length < 2) return;
    which.append(
      choice({
        label: "Palabra",
        value: state.word,
        options: cuts.map((cut) => seen(cut.word)),
        onchange: (word) => {
          state.word = word;
          drawLanes();
          publish();
        },
      }).node,
    );
  }
  function say() {
    const {pair, rank, words: now} = states[state.step],
      count = now.flat().length;
    const left = states.length - 1 - state.step;
    const rest = left === 1 ? "queda 1 unión" : `quedan ${left} uniones`;
    if (!pair) return read.say(`${count} letras; ${left ? rest : "nada que unir"}.`);
    const cut = now.map((word) => word.map(seen).join("|")).join(" ");
    read.say(
      `Unión ${state.step}: «${seen(pair[0])}» + «${seen(pair[1])}», la n.º ${rank + 1} que se aprendió. ${count} piezas: ${cut}; ${left ? rest : "fin"}.`,
    );
  }
  function publish() {
    root.atento = {
      state: {...state},
      values: {
        steps: states.slice(1).map(({rank, pair, words: now}) => ({rank, pair, words: now})),
        cuts: cuts.map(({path, score}) => ({pieces: path.map((edge) => edge.piece), score})),
      },
    };
  }
  function go(step) {
    state.step = step;
    moves.set(step, states.length - 1);
    drawChips();
    say();
    publish();
  }
  function start(text) {
    state.text = text;
    state.word = 0;
    states = history(text);
    cuts = words(text).map((word) => ({word, ...viterbi(word)}));
    state.word = cuts.reduce((best, cut, i) => (cut.edges.length > cuts[best].edges.length ? i : best), 0);
    drawWhich();
    drawLanes();
    go(0);
  }
  start(data.text);
});
