/* Un dígito que se dibuja, se borra y se corre, y lo que un ViT contesta. Se dibuja en 32 × 32 puntos, y de cada cuadro
   de 4 × 4 se cuentan los que tienen tinta: eso es un píxel. La red es la de vit.js, y sus números se piden al tocar.
   Su gemelo está en sketch.py. */
window.atentoExplorers.register("sketch", (stage, data, root) => {
  const {h, button, disable, choice, picker, toggle, softmax, cycle, lot, heat, number, probe, opener} = window.atentoExplorers;
  const SIDE = 8, // píxeles de lado
    FINE = 4, // puntos de lado en un píxel
    WIDE = SIDE * FINE,
    INK = FINE ** 2,
    PATCH = 2,
    ACROSS = SIDE / PATCH, // parches de lado
    RADIUS = {pen: 2.6, rubber: 3.4}, // en puntos
    FILLED = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5]; // en qué orden se llena un píxel
  const range = (n) => [...Array(n).keys()],
    turned = (value, n) => ((value % n) + n) % n,
    whole = (share) => `${Math.round(100 * share)}\u00a0%`,
    best = (row) => row.indexOf(Math.max(...row));

  // ---- La hoja: sus puntos, sus píxeles y sus parches ---------------------------------------------------------------
  const spotOf = (i) => [i % WIDE, Math.floor(i / WIDE)],
    pixelOf = (i) => spotOf(i).map((at) => Math.floor(at / FINE)).reverse(); // su fila y su columna
  const fresh = (digit) => ({digit, right: 0, down: 0, isDrawn: false});
  const state = {...fresh(data.start), layer: 0, tool: "pen", follow: false};
  let points; // 1, con tinta
  function spread(levels) {
    points = range(WIDE ** 2).map((i) => {
      const [x, y] = spotOf(i),
        [r, c] = pixelOf(i),
        level = parseInt(levels[r * SIDE + c], INK + 1);
      return Number(FILLED[(y % FINE) * FINE + (x % FINE)] < level);
    });
  }
  function levelsOf() {
    const levels = range(SIDE).map(() => Array(SIDE).fill(0));
    points.forEach((point, i) => {
      const [r, c] = pixelOf(i);
      levels[r][c] += point;
    });
    return levels;
  }
  const shade = (level) => data.blank + ((data.full - data.blank) * level) / INK;
  /* Lo que recibe el modelo: los parches en fila y la posición de cada uno, corrida con ellos si se pide. */
  function read() {
    const levels = levelsOf(),
      corners = range(ACROSS ** 2).map((k) => [PATCH * Math.floor(k / ACROSS), PATCH * (k % ACROSS)]);
    const cut = corners.map(([r, c]) => range(PATCH ** 2).map((i) => levels[r + Math.floor(i / PATCH)][c + (i % PATCH)]));
    const back = (at, moved) => turned(at - (state.follow ? Math.floor(moved / PATCH) : 0), ACROSS);
    const places = corners.map(([r, c]) => ACROSS * back(r / PATCH, state.down) + back(c / PATCH, state.right));
    return {levels, cut, patches: cut.map((row) => row.map(shade)), places};
  }
  function stamp(x, y) {
    const reach = RADIUS[state.tool];
    points = points.map((point, i) => {
      const [px, py] = spotOf(i);
      return Math.hypot(px + 0.5 - x, py + 0.5 - y) < reach ? Number(state.tool === "pen") : point;
    });
  }
  /* El dibujo con otro sitio para cada punto: from dice de dónde se toma, en cada eje; de fuera no viene nada. */
  const redrawn = (from) =>
    points.map((_, i) => {
      const [x, y] = spotOf(i).map(from);
      return x >= 0 && y >= 0 && x < WIDE && y < WIDE ? points[y * WIDE + x] : 0;
    });
  const roll = (...by) => redrawn((at, k) => turned(at - FINE * by[k], WIDE));
  /* El mismo dibujo, en el centro y tan grande como quepa. */
  function fitted() {
    const spots = points.flatMap((point, i) => (point ? [spotOf(i)] : []));
    if (!spots.length) return points;
    const ends = [0, 1].map((k) => [Math.min(...spots.map((spot) => spot[k])), Math.max(...spots.map((spot) => spot[k])) + 1]),
      scale = Math.max(...ends.map(([from, to]) => to - from)) / WIDE;
    return redrawn((at, k) => Math.floor((ends[k][0] + ends[k][1]) / 2 + (at + 0.5 - WIDE / 2) * scale));
  }

  // ---- Preguntar al modelo ---------------------------------------------------------------------------------------------
  let model,
    past, // lo que había antes del último gesto
    was; // y las probabilidades que daba
  const open = opener(() => window.atentoVit(data.file), "tocar la hoja", (line) => say(line), (loaded) => {
    model = loaded;
    update({});
  });
  const guess = ({patches, places}) => {
    const {scores, maps} = model(patches, places);
    return {probs: softmax(scores), looks: maps.map((heads) => heads.map((rows) => rows[0]))};
  };
  /* Un gesto que cambia la hoja: antes se apunta lo que había. */
  function begin() {
    [past, was] = [read(), null];
    state.touched = true;
  }
  function act(change, made = points) {
    begin();
    points = made;
    update(change);
  }
  function take(digit) {
    spread(data.digits[digit]?.[1] ?? "0".repeat(SIDE ** 2));
    past = null;
    update({...fresh(digit), touched: true});
  }

  // ---- La hoja que se ve: se dibuja con el dedo, el ratón o las teclas ------------------------------------------------
  let here = [0, 0],
    last = null; // dónde iba el trazo
  const cells = range(SIDE).map((r) => range(SIDE).map((c) => h("td", {role: "gridcell", tabindex: r + c ? -1 : 0, onfocus: () => (here = [r, c])})));
  const board = h(
    "table",
    {class: "sketch-board bare", role: "grid", "aria-label": "La hoja, de 8 por 8 píxeles"},
    h("tbody", null, cells.map((row) => h("tr", null, row))),
  );
  const under = ({clientX, clientY}) => {
    const box = board.getBoundingClientRect();
    return [(WIDE * (clientX - box.left)) / box.width, (WIDE * (clientY - box.top)) / box.height];
  };
  function draw(event) {
    const [x, y] = under(event),
      [fromX, fromY] = last,
      steps = Math.ceil(Math.hypot(x - fromX, y - fromY)) || 1;
    for (let k = 1; k <= steps; k++) stamp(fromX + ((x - fromX) * k) / steps, fromY + ((y - fromY) * k) / steps);
    last = [x, y];
  }
  board.addEventListener("pointerdown", (event) => {
    if (event.button || !event.isPrimary) return;
    event.preventDefault();
    board.setPointerCapture(event.pointerId);
    const [c, r] = (last = under(event)).map((at) => Math.min(SIDE - 1, Math.max(0, Math.floor(at / FINE))));
    cells[r][c].focus({preventScroll: true});
    begin();
    draw(event);
    update({isDrawn: true});
  });
  board.addEventListener("pointermove", (event) => {
    if (!last || !event.isPrimary) return;
    draw(event);
    update({});
  });
  for (const type of ["pointerup", "pointercancel"]) board.addEventListener(type, () => (last = null));
  board.addEventListener("keydown", (event) => {
    const [r, c] = here,
      end = SIDE - 1;
    const to = {ArrowUp: [r - 1, c], ArrowDown: [r + 1, c], ArrowLeft: [r, c - 1], ArrowRight: [r, c + 1], Home: [r, 0], End: [r, end]}[event.key];
    if (event.key === " " || event.key === "Enter") {
      const ink = Number(!levelsOf()[r][c]);
      act({isDrawn: true}, points.map((point, i) => (`${pixelOf(i)}` === `${here}` ? ink : point)));
    } else if (to) {
      cells[Math.min(end, Math.max(0, to[0]))][Math.min(end, Math.max(0, to[1]))].focus();
      event.stopPropagation(); // que la barra no vuelva a decir la celda de la que se sale
    } else return;
    event.preventDefault();
  });

  // ---- Los mandos -------------------------------------------------------------------------------------------------------
  const names = [...data.digits.map(([label]) => label), "en blanco"];
  const push = (text, name, right, down) =>
    button(text, () => act({right: turned(state.right + right, SIDE), down: turned(state.down + down, SIDE)}, roll(right, down)), {"aria-label": name});
  const arrows = [push("←", "Correr a la izquierda", -1, 0), push("↑", "Correr hacia arriba", 0, -1), push("↓", "Correr hacia abajo", 0, 1), push("→", "Correr a la derecha", 1, 0)];
  const origin = picker({label: "Empieza por", options: names, value: state.digit, onchange: take}),
    tools = choice({label: "Con qué", options: ["Lápiz", "Goma"], value: 0, onchange: (i) => update({tool: ["pen", "rubber"][i]})}),
    follow = toggle({label: "Correr también las posiciones", checked: false, oninput: (on) => act({follow: on})}),
    fit = button("Encajar", () => act({right: 0, down: 0, isDrawn: true}, fitted())),
    start = button("Volver a empezar", () => take(state.digit));

  // ---- Lo que contesta, los parches y a qué mira cada cabeza ------------------------------------------------------------
  const bars = h("div", {class: "lots sketch-bars"}),
    strip = h("div", {class: "sketch-strip", role: "img"}),
    maps = h("div", {class: "sketch-maps"}),
    key = h("p", {class: "hush"}, "Barra: ahora. Raya: antes del último cambio."),
    layers = picker({label: "Capa", options: range(data.layers).map((k) => k + 1), value: 0, onchange: (layer) => update({layer})}),
    title = (text) => h("p", {class: "sketch-title"}, text),
    answers = h("div", null, bars, key),
    sheet = h("div", null, title("A qué parches mira la fila CLS"), h("div", {class: "controls"}, layers.row), maps, h("p", {class: "hush"}, "En cada parche, el tanto por ciento del peso que le toca."));
  const inked = (level) => `background:color-mix(in srgb,var(--ink) ${((100 * level) / INK).toFixed(1)}%,var(--paper))`;
  function drawPatches({cut, patches, places}) {
    const say = (k) => `Parche ${k + 1}: ${patches[k].map((value) => number(value)).join(", ")}. Lleva la posición ${places[k] + 1}`;
    strip.replaceChildren(...cut.map((row, k) => h("span", {"data-tip": say(k)}, h("span", null, row.map((level) => h("i", {style: inked(level)}))), h("b", null, places[k] + 1))));
    strip.ariaLabel = `Los ${cut.length} parches, en fila. Posiciones: ${places.map((place) => place + 1).join(", ")}`;
  }
  function drawMaps(looks) {
    const one = ([own, ...row], k) => {
      const tell = (at) => `Cabeza ${k + 1}: la fila CLS mira al parche ${at + 1}, el ${whole(row[at])}`,
        squares = row.map((share, at) => h("span", {style: heat(share), "data-tip": tell(at)}, Math.round(100 * share)));
      return h(
        "div",
        {role: "img", "aria-label": `${tell(best(row))}, lo que más; a sí misma, el ${whole(own)}`},
        h("p", null, `cabeza ${k + 1}`),
        h("div", {class: "sketch-map"}, squares),
        h("p", {class: "hush"}, `a sí misma, ${whole(own)}`),
      );
    };
    maps.replaceChildren(...looks[state.layer].map(one));
  }
  function tell(probs) {
    const found = best(probs),
      said = `Dice ${found}, con el ${whole(probs[found])}.`;
    if (!past) return said;
    const then = best(was);
    return `${said} ${then === found ? "Antes, con" : `Antes decía ${then}, con`} el ${whole(was[then])}.`;
  }

  const {node, update, say} = cycle(root, state, () => {
    const input = read();
    cells.forEach((row, r) =>
      row.forEach((cell, c) => {
        const level = input.levels[r][c],
          tip = `Fila ${r + 1}, columna ${c + 1}: tinta ${level} de ${INK}`;
        cell.style.cssText = inked(level);
        cell.tabIndex = r === here[0] && c === here[1] ? 0 : -1;
        cell.setAttribute("aria-selected", level > 0);
        cell.setAttribute("aria-label", tip);
        cell.dataset.tip = `${tip}; llega ${number(shade(level))}`;
      }),
    );
    origin.pick(state.digit);
    const neat = fitted();
    disable([
      [start, !state.right && !state.down && !state.isDrawn],
      [fit, neat.every((point, i) => point === points[i])],
      ...arrows.map((one) => [one, false]),
    ]);
    drawPatches(input);
    if (state.touched && !model) open();
    root.toggleAttribute("data-idle", !model);
    sheet.hidden = answers.hidden = !model;
    const seen = {levels: input.levels};
    if (!model) return {seen, say: state.touched ? "Pidiendo el modelo…" : "Dibuja, corre el dígito o elige otro. Entonces se pide el modelo, y puede tardar."};
    const {probs, looks} = guess(input);
    if (past) was ??= guess(past).probs;
    const old = past ? was : probs;
    bars.replaceChildren(...probs.map((share, k) => lot({name: k, share, was: old[k], left: 1, text: whole(share)})));
    drawMaps(looks);
    return {seen, say: tell(probs), values: {probs, looks, patches: input.patches}};
  });
  const left = h(
    "div",
    null,
    h("div", {class: "sketch-sheet"}, board),
    h("div", {class: "controls"}, tools.node, fit),
    h("div", {class: "controls"}, h("div", {class: "named sketch-keys"}, "Correr", arrows), follow.node),
    h("div", {class: "controls"}, start),
  );
  stage.append(
    h("div", {class: "controls"}, origin.row),
    h("div", {class: "sketch-split"}, left, h("div", null, node, answers)),
    title("Los parches, como llegan, y su posición"),
    strip,
    sheet,
    probe(stage, "Toca un píxel, un parche o una casilla para leer sus números."),
  );
  spread(data.digits[state.digit][1]);
  update({});
});
