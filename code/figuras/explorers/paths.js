/* Tres maneras de llegar de una palabra a otra. La cuenta tiene su gemelo en paths.py. */
window.atentoExplorers.register("paths", (stage, data, root) => {
  const {h, svg, picker, slider, verdict, cycle} = window.atentoExplorers;
  const {words, goal} = data,
    last = words.length - 1;
  const state = {start: data.start, end: data.end, kernel: data.kernel};
  const LANES = ["recurrencia", "convolución", "atención"];

  function route({start, end, kernel}) {
    const every = (step) => {
      const path = [];
      for (let i = start; i < end; i += step) path.push(i);
      return [...path, end];
    };
    return {recurrencia: every(1), convolución: every(kernel - 1), atención: [start, end]};
  }
  const count = (lane, jumps) =>
    `${jumps} ${lane === "convolución" ? "capa" : "paso"}${jumps === 1 ? "" : "s"}`;

  // ---- Las tres calles --------------------------------------------------------------------------------------------
  const GAP = 40,
    HEIGHT = 78,
    BASE = 48,
    across = (i) => GAP * (i + 0.5);
  const lanes = LANES.map((lane) => {
    const label = h("p", {class: "lane"}),
      jumps = svg("g", {class: "jumps"});
    const dots = words.map((_, i) => svg("circle", {cx: across(i), cy: BASE, r: 7}));
    words.forEach((word, i) => dots[i].append(svg("title", null, word)));
    const ends = svg("g", {class: "ends"});
    const drawing = svg(
      "svg",
      {viewBox: `0 0 ${GAP * words.length} ${HEIGHT}`, role: "img", class: "track"},
      jumps,
      dots,
      ends,
    );
    return {lane, label, jumps, dots, ends, drawing, node: h("div", null, label, drawing)};
  });
  function arc(from, to) {
    const tall = 8 + 30 * ((to - from) / Math.max(1, state.end - state.start));
    const [a, b, y] = [across(from), across(to), BASE - 9];
    return [
      svg("path", {d: `M${a} ${y}C${a} ${y - tall} ${b} ${y - tall} ${b} ${y}`}),
      svg("path", {class: "head", d: `M${b - 4} ${y - 7}L${b + 4} ${y - 7}L${b} ${y}Z`}),
    ];
  }
  /* La primera palabra se escribe hacia la izquierda y la última hacia la derecha, si caben: así no se pisan. */
  function tags() {
    const room = (word) => 7 * word.length,
      whole = GAP * words.length,
      [a, b] = [across(state.start), across(state.end)];
    const left = room(words[state.start]) > a + 8,
      right = room(words[state.end]) > whole - b + 8;
    const tag = (i, x, anchor) => svg("text", {x, y: BASE + 22, "text-anchor": anchor}, words[i]);
    return [
      left ? tag(state.start, 2, "start") : tag(state.start, a + 8, "end"),
      right ? tag(state.end, whole - 2, "end") : tag(state.end, b - 8, "start"),
    ];
  }

  // ---- Mandos ---------------------------------------------------------------------------------------------------------
  /* Ni se sale de la última palabra ni se llega a la primera. */
  const pick = (label, end, first) =>
    picker({label, options: words.slice(first, first + last), value: state[end] - first, onchange: (i) => move(end, i + first)});
  const from = pick("Desde", "start", 0),
    to = pick("Hasta", "end", 1);
  const width = slider({
    label: "El filtro abarca",
    min: 2,
    max: words.length,
    step: 1,
    value: state.kernel,
    text: (k) => `${k} palabras`,
    oninput: (kernel) => update({kernel}),
  });
  /* Las dos palabras no se cruzan: quien se mueve empuja a la otra, y se dice. */
  function move(end, i) {
    const before = {...state};
    if (end === "start") update({start: i, end: Math.max(state.end, i + 1)});
    else update({end: i, start: Math.min(state.start, i - 1)});
    if (end === "start" && state.end !== before.end) told(`«Hasta» pasa a «${words[state.end]}», que va detrás. `);
    if (end === "end" && state.start !== before.start) told(`«Desde» pasa a «${words[state.start]}», que va delante. `);
  }
  const judged = verdict();

  const layers = (kernel) => route({...state, kernel}).convolución.length - 1;
  const asked = () => state.start === data.start && state.end === data.end;
  function reached() {
    return asked() && goal !== null && layers(state.kernel) <= goal && (state.kernel === 2 || layers(state.kernel - 1) > goal);
  }
  function judge(done) {
    const jumps = layers(state.kernel),
      need = `La convolución necesita ${count("convolución", jumps)}.`;
    if (done) {
      const enough = `✓ Conseguido: con un filtro de ${state.kernel} ${jumps === 1 ? "basta" : "bastan"} ${count("convolución", jumps)}`;
      return state.kernel === 2 ? `${enough}.` : `${enough}, y con uno menor no.`;
    }
    if (!asked()) return `${need} La pregunta es de «${words[data.start]}» a «${words[data.end]}».`;
    if (jumps <= goal) return `${need} Se llega, pero hay un filtro menor que también llega en ${goal}.`;
    return `${need} Se ${goal === 1 ? "pide" : "piden"} ${goal}, con el filtro más pequeño posible.`;
  }
  const spoken = () =>
    `De «${words[state.start]}» a «${words[state.end]}»: ${LANES.map((lane) => `${lane}, ${count(lane, route(state)[lane].length - 1)}`).join("; ")}.`;
  const {node, update, say} = cycle(root, state, () => {
    from.pick(state.start);
    to.pick(state.end - 1);
    const paths = route(state);
    for (const {lane, label, jumps, dots, ends, drawing} of lanes) {
      const path = paths[lane];
      label.textContent = `${lane}: ${count(lane, path.length - 1)}`;
      drawing.setAttribute("aria-label", path.map((i) => words[i]).join(", "));
      jumps.replaceChildren(...path.slice(1).flatMap((i, k) => arc(path[k], i)));
      ends.replaceChildren(...tags());
      dots.forEach((dot, i) => dot.classList.toggle("on", path.includes(i)));
    }
    const done = reached();
    judged.set(goal === null ? "" : judge(done), done);
    return {say: spoken(), values: {...paths, reached: done}};
  });
  const told = (notice) => say(notice + spoken());
  stage.append(
    h("div", {class: "controls"}, from.row),
    h("div", {class: "controls"}, to.row),
    ...lanes.map((lane) => lane.node),
    h("div", {class: "controls"}, width.node),
    judged.node,
    node,
  );
  update({});
});
