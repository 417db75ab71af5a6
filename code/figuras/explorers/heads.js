/* Las cabezas de un codificador sobre unas frases: todas en pequeño, y la elegida, con sus líneas. Las cuentas tienen su
   gemelo en heads.py. La primera frase viene en los datos; las demás, en un fichero que se pide al elegir otra. */
window.atentoExplorers.register("heads", (stage, data, root) => {
  const {h, svg, slider, toggle, group, gauge, cycle, number, file} = window.atentoExplorers;
  const {words, layers, heads} = data;
  const HABITS = ["las marcas", "la anterior", "la siguiente", "sí misma", "las demás"];
  const ALL = -1; // miran todas las palabras
  const state = {sentence: 0, layer: 0, head: 0, word: ALL, bare: false};
  const bytesOf = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)),
    starts = words.map((_, s) => words.slice(0, s).reduce((total, row) => total + row.length ** 2 * layers * heads, 0));
  let bytes = bytesOf(data.first); // los pesos, de 0 a 255, desde starts los de cada frase; las demás aún no están

  // ---- Las cuentas ------------------------------------------------------------------------------------------------
  function look({sentence, layer, head, bare}) {
    const n = words[sentence].length,
      start = starts[sentence] + (layer * heads + head) * n * n;
    const isMark = (i) => i === 0 || i === n - 1;
    return Array.from({length: n}, (_, i) => {
      const row = [...bytes.subarray(start + i * n, start + (i + 1) * n)].map((w) => w / 255);
      if (!bare) return row;
      const kept = row.map((w, j) => (isMark(i) || isMark(j) ? 0 : w)),
        whole = kept.reduce((a, b) => a + b);
      return kept.map((w) => (whole > 0 ? w / whole : 0));
    });
  }
  function habits(weights) {
    const n = weights.length,
      total = [0, 0, 0, 0, 0];
    for (let i = 1; i < n - 1; i++)
      weights[i].forEach((w, j) => {
        const kind = j === 0 || j === n - 1 ? 0 : j === i - 1 ? 1 : j === i + 1 ? 2 : j === i ? 3 : 4;
        total[kind] += w / (n - 2);
      });
    return total;
  }

  // ---- Todas las cabezas, en pequeño --------------------------------------------------------------------------------
  const LEVELS = [0.12, 0.3, 0.5, 0.75], // desde qué peso se pinta cada tono
    CELL = 26,
    SIDE = 23;
  const corners = Array.from({length: layers * heads}, (_, k) => [CELL * (k % heads) + 1.5, CELL * Math.floor(k / heads) + 1.5]);
  function square(...place) {
    const [x, y, side] = place.map((at) => at.toFixed(1));
    return `M${x} ${y}h${side}v${side}h-${side}z`;
  }
  const ground = svg("path", {class: "heads-ground", d: corners.map((corner) => square(...corner, SIDE)).join("")}),
    shades = LEVELS.map((_, i) => svg("path", {"fill-opacity": (i + 1) / LEVELS.length})),
    frame = svg("rect", {class: "heads-frame", fill: "none", "stroke-width": 1.6, width: SIDE + 2, height: SIDE + 2, rx: 2});
  const map = svg(
    "svg",
    {viewBox: `0 0 ${CELL * heads} ${CELL * layers}`, role: "img", class: "heads-map", onclick: touch},
    ground,
    shades,
    frame,
  );
  function touch({clientX, clientY}) {
    const {left, top, width} = map.getBoundingClientRect(),
      at = (x, most) => Math.min(most - 1, Math.max(0, Math.floor((x * heads) / width)));
    update({layer: at(clientY - top, layers), head: at(clientX - left, heads)});
  }
  let drawn; // qué frase, y si es sin marcas
  function paintMap() {
    if (drawn === `${state.sentence} ${state.bare}`) return;
    drawn = `${state.sentence} ${state.bare}`;
    const step = SIDE / words[state.sentence].length,
      paths = LEVELS.map(() => "");
    corners.forEach(([x, y], k) => // contadas seguidas, una capa detrás de otra
      look({...state, layer: 0, head: k}).forEach((row, i) =>
        row.forEach((w, j) => {
          const level = LEVELS.findLastIndex((least) => w >= least);
          if (level >= 0) paths[level] += square(x + j * step, y + i * step, step);
        }),
      ),
    );
    shades.forEach((shade, i) => shade.setAttribute("d", paths[i]));
  }

  // ---- La elegida, con sus líneas ------------------------------------------------------------------------------------
  const LINE = 25,
    [LEFT, RIGHT, WIDE] = [112, 208, 340];
  const drawing = svg("svg", {role: "img", class: "heads-lines"});
  function paintLinks(weights, row) {
    const middle = (i) => LINE * (i + 0.5),
      isOn = (i) => state.word === ALL || state.word === i - 1;
    const links = weights.flatMap((line, i) =>
      line.map((w, j) => {
        if (w < 0.04 || !isOn(i)) return null;
        return svg("line", {x1: LEFT + 6, y1: middle(i), x2: RIGHT - 6, y2: middle(j), "stroke-width": 1 + 4 * w, "stroke-opacity": w});
      }),
    );
    const says = row.map((word, i) => svg("text", {x: LEFT, y: middle(i) + 5, "text-anchor": "end", class: isOn(i) ? "" : "off"}, word));
    const heard = row.map((word, j) => {
      const share = state.word === ALL ? "" : `\u00a0\u00a0${Math.round(100 * weights[state.word + 1][j])} %`;
      return svg("text", {x: RIGHT, y: middle(j) + 5}, word + share);
    });
    drawing.setAttribute("viewBox", `0 0 ${WIDE} ${LINE * row.length}`);
    drawing.replaceChildren(...links.filter(Boolean), ...says, ...heard);
  }

  // ---- Mandos -----------------------------------------------------------------------------------------------------------
  const dial = (label, most, text, oninput) =>
    slider({label, min: 1, max: most, step: 1, value: 1, text, oninput: (k) => oninput(k - 1)});
  const inner = (row) => row.slice(1, -1), // sin las marcas
    phrase = (k) => `«${inner(words[k - 1]).join(" ")}»`;
  const sentence = dial("Frase:", words.length, phrase, read),
    layer = dial("Capa", layers, (k) => `${k} de ${layers}`, (at) => update({layer: at})),
    head = dial("Cabeza", heads, (k) => `${k} de ${heads}`, (at) => update({head: at})),
    bare = toggle({label: "sin contar las marcas", checked: false, oninput: (on) => update({bare: on})}),
    who = group("Quién mira", (i) => update({word: i ? i - 1 : ALL}));
  let asked = 0;
  /* Cambia de frase; si aún no ha llegado, la trae. De dos que se piden, vale la última. */
  async function read(at) {
    asked = at;
    try {
      if (starts[at] >= bytes.length) bytes = new Uint8Array([...bytesOf(data.first), ...bytesOf(await file(data.file))]);
    } catch {
      sentence.set(state.sentence + 1);
      return say("No se han podido leer las demás frases. Comprueba la red y vuelve a mover el mando.");
    }
    if (asked === at && at !== state.sentence) update({sentence: at, word: ALL});
  }
  const bars = HABITS.map((label) => ({label, ...gauge("weight")}));
  const table = h("div", {class: "heads-habits"}, bars.map(({label, bar, tail}) => [h("span", null, label), bar, tail]));

  // ---- Pintar -----------------------------------------------------------------------------------------------------------
  function spoken(weights, shares) {
    const row = words[state.sentence],
      where = `Capa ${state.layer + 1}, cabeza ${state.head + 1}.`;
    if (state.word === ALL) {
      const most = shares.indexOf(Math.max(...shares));
      return `${where} Las palabras miran, de media, a ${HABITS[most]} más que a nada: el ${Math.round(100 * shares[most])} %.`;
    }
    const own = weights[state.word + 1],
      best = own.indexOf(Math.max(...own));
    if (!own[best]) return `${where} A «${row[state.word + 1]}», sin las marcas, no le queda nada.`;
    return `${where} «${row[state.word + 1]}» mira sobre todo a «${row[best]}», el ${Math.round(100 * own[best])} %.`;
  }
  const {node, update, say} = cycle(root, state, () => {
    const row = words[state.sentence],
      weights = look(state),
      shares = habits(weights);
    layer.set(state.layer + 1);
    head.set(state.head + 1);
    who.set(["todas", ...inner(row)], state.word + 1);
    paintMap();
    frame.setAttribute("x", CELL * state.head + 0.5);
    frame.setAttribute("y", CELL * state.layer + 0.5);
    paintLinks(weights, row);
    bars.forEach(({set}, i) => set(shares[i], `${number(100 * shares[i], 0)} %`));
    const told = spoken(weights, shares);
    map.setAttribute("aria-label", `Las ${layers * heads} cabezas en pequeño, ${layers} capas por ${heads}. Señalada, la capa ${state.layer + 1}, cabeza ${state.head + 1}.`);
    drawing.setAttribute("aria-label", told);
    return {say: told, values: {weights, habits: shares}};
  });
  stage.append(
    h("div", {class: "controls"}, sentence.node),
    h("p", {class: "hush"}, "Cada cuadro es una cabeza, y cada fila de cuadros, una capa. Se tocan."),
    map,
    h("div", {class: "controls"}, layer.node, head.node, bare.node),
    h("div", {class: "controls"}, h("div", {class: "named"}, h("span", {class: "dial-name"}, "Quién mira"), who.node)),
    h("div", {class: "ends hush heads-ends"}, h("span", null, "quién mira"), h("span", null, "a quién")),
    drawing,
    table,
    node,
  );
  update({});
});
