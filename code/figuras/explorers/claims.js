/* Un lienzo con dígitos que se mueven, y DETR: qué contesta cada consulta, cuánto cuesta darle cada dígito y el reparto
   que menos cuesta. La red es la de detr.js, y sus números se piden al primer cambio. Su gemelo está en claims.py. */
window.atentoExplorers.register("claims", (stage, data, root) => {
  const {h, svg, button, disable, picker, cycle, number, opener, drag} = window.atentoExplorers,
    {toCorners, toCenter, giou, match} = window.atentoBoxes;
  const SIDE = 40, // píxeles de lado
    UNIT = 10, // unidades del dibujo en un píxel
    MOST = 4,
    TONES = 0xfff,
    SURE = 0.5,
    REACH = 51, // lo menos que mide lo que se toca, en unidades: 44 píxeles en un teléfono
    LETTERS = "ABCD",
    PARTS = ["la clase", "la distancia", "el solape"],
    SIGNS = [`−${data.weights[0] === 1 ? "" : `${data.weights[0]}\u00a0·\u00a0`}p`, `${data.weights[1]}\u00a0·\u00a0L1`, `−${data.weights[2]}\u00a0·\u00a0GIoU`];
  const range = (n) => [...Array(n).keys()],
    best = (row) => row.indexOf(Math.max(...row)),
    whole = (share) => `${Math.round(100 * share)}\u00a0%`,
    both = (names) => names.join(", ").replace(/, ([^,]*)$/, " y $1"),
    held = (at, most) => Math.min(most, Math.max(0, at));

  // ---- El lienzo: sus dígitos y su tinta --------------------------------------------------------------------------
  const inks = data.stamps.map(([, rows]) => rows.map((row) => row.match(/.{3}/g).map((tone) => parseInt(tone, 16) / TONES))),
    inkOf = ({stamp}) => inks[stamp],
    labelOf = ({stamp}) => data.stamps[stamp][0],
    sizeOf = (one) => [inkOf(one)[0].length, inkOf(one).length];
  const stampOf = (label) => data.stamps.findIndex(([own]) => own === label),
    labels = range(10).filter((label) => stampOf(label) >= 0);
  const fresh = () => ({objects: data.start.map(([stamp, x, y]) => ({stamp, x, y, owners: []})), chosen: 0, pair: null});
  const state = {...fresh(), touched: false};
  function cornersOf(one) {
    const [wide, high] = sizeOf(one);
    return [one.x, one.y, one.x + wide, one.y + high];
  }
  const meet = (a, b) => a[0] <= b[2] && b[0] <= a[2] && a[1] <= b[3] && b[1] <= a[3];
  const isAlone = (one) => state.objects.every((other) => other === one || !meet(cornersOf(one), cornersOf(other)));
  function read() {
    const image = range(SIDE).map(() => Array(SIDE).fill(0));
    for (const one of state.objects)
      inkOf(one).forEach((row, r) => {
        const under = image[one.y + r];
        row.forEach((ink, c) => (under[one.x + c] = Math.max(under[one.x + c], ink)));
      });
    return image;
  }

  // ---- Preguntar al modelo, y cuánto cuesta cada pareja ---------------------------------------------------------------
  function partsOf(probs, box, one) {
    const wanted = cornersOf(one).map((at) => at / SIDE),
      apart = toCenter(wanted).reduce((total, at, k) => total + Math.abs(at - box[k]), 0),
      [chance, l1, overlap] = data.weights;
    return [-chance * probs[labelOf(one)], l1 * apart, -overlap * giou(toCorners(box), wanted)];
  }
  const places = () => state.objects.map(({stamp, x, y}) => [stamp, x, y]);
  let model,
    last = {}; // lo último que se calculó, y de qué
  function compute() {
    const of = JSON.stringify([places(), Boolean(model)]);
    if (last.of !== of) last = {of, found: answer()};
    return last.found;
  }
  function answer() {
    const {probs, boxes} = model ? model(read()) : data.first;
    const parts = probs.map((row, q) => state.objects.map((one) => partsOf(row, boxes[q], one))),
      costs = parts.map((row) => row.map((each) => each.reduce((a, b) => a + b)));
    return {probs, boxes, parts, costs, owners: match(costs), live: Boolean(model)};
  }
  const answerOf = (probs) => {
    const label = best(probs.slice(0, -1));
    return probs[label] > SURE ? {label, chance: probs[label]} : null;
  };
  function relevant({probs, costs, owners}) {
    const cheap = state.objects.flatMap((_, i) => range(costs.length).sort((a, b) => costs[a][i] - costs[b][i]).slice(0, 2)),
      said = range(probs.length).filter((q) => answerOf(probs[q]));
    return [...new Set([...owners, ...said, ...cheap, ...(state.pair ? [state.pair[0]] : [])])].sort((a, b) => a - b);
  }
  const open = opener(() => window.atentoDetr(data.file), "mover un dígito", (line) => say(line), (loaded) => {
    model = loaded;
    update({});
  });

  // ---- El dibujo ----------------------------------------------------------------------------------------------------
  const layer = (name) => svg("g", {class: name}),
    starts = layer("cla-starts"),
    ink = layer("cla-ink"),
    answers = layer("cla-answers"),
    handles = layer("cla-handles");
  const drawing = svg(
    "svg",
    {class: "cla-plane plane", viewBox: `0 0 ${SIDE * UNIT} ${SIDE * UNIT}`, role: "group", "aria-label": "El lienzo, de 40 por 40 píxeles"},
    svg("rect", {class: "cla-paper", width: SIDE * UNIT, height: SIDE * UNIT}),
    [ink, starts, answers, handles],
  );
  const edge = ([x0, y0, x1, y1], kind) => svg("rect", {class: kind, x: UNIT * x0, y: UNIT * y0, width: UNIT * (x1 - x0), height: UNIT * (y1 - y0)}),
    inside = (box) => toCorners(box).map((at) => held(SIDE * at, SIDE)),
    nameOf = (i) => `${LETTERS[i]}, un ${labelOf(state.objects[i])}`;
  function drawInk(image) {
    const square = (tone, x, y) => (tone > 0.02 ? svg("rect", {x: UNIT * x, y: UNIT * y, width: UNIT, height: UNIT, "fill-opacity": tone.toFixed(2)}) : []);
    ink.replaceChildren(...image.flatMap((row, y) => row.flatMap((tone, x) => square(tone, x, y))));
  }
  function drawAnswers(found) {
    const owned = found?.owners ?? [];
    const threads = owned.map((q, i) => {
      const [x, y] = data.points[q].map((at) => SIDE * UNIT * at),
        [toX, toY] = toCenter(cornersOf(state.objects[i])).map((at) => UNIT * at);
      return svg("line", {x1: x, y1: y, x2: toX, y2: toY});
    });
    const points = data.points.map(([x, y], q) =>
      svg(
        "g",
        {class: owned.includes(q) ? "cla-owner" : "", transform: `translate(${SIDE * UNIT * x} ${SIDE * UNIT * y})`},
        svg("circle", {r: 11}),
        svg("text", {y: 5}, q + 1),
      ),
    );
    starts.replaceChildren(...threads, ...points);
    const taken = data.points.map((point) => point.map((at) => SIDE * UNIT * at));
    const label = (q) => {
      const said = answerOf(found.probs[q]),
        box = inside(found.boxes[q]),
        isOwner = owned.includes(q);
      if (!said && state.pair?.[0] !== q) return [];
      const isRight = box[0] > SIDE / 2,
        x = UNIT * box[isRight ? 2 : 0],
        [top, low] = [UNIT * box[1] - 5, UNIT * box[3] + 15];
      const clear = (y) => y > 10 && y < SIDE * UNIT && taken.every(([toX, toY]) => Math.abs(toY - y) > 15 || Math.abs(toX - x + (isRight ? 40 : -40)) > 50),
        y = (isOwner ? [top, low, top - 16] : [low, top, top - 16]).find(clear) ?? low - 20; // donde no tape a otro
      taken.push([x + (isRight ? -40 : 40), y]);
      const text = said ? `${q + 1}: ${said.label}, ${whole(said.chance)}` : `${q + 1}: nada`;
      return [
        edge(box, said ? (isOwner ? "" : "cla-spare") : "cla-quiet"),
        svg("text", {x, y, "text-anchor": isRight ? "end" : "start"}, text),
      ];
    };
    answers.replaceChildren(...(found ? range(found.probs.length).flatMap(label) : []));
  }
  /* Un asidero por dígito, siempre el mismo, para que no se pierda el foco. */
  const grips = range(MOST).map((i) => {
    const frame = svg("rect", {class: "cla-frame"}),
      hit = svg("rect", {class: "hit"}),
      letter = svg("text", {}, LETTERS[i]);
    const node = svg("g", {class: "grip", tabindex: 0, role: "button", "aria-roledescription": "dígito que se mueve"}, hit, frame, letter);
    node.addEventListener("keydown", (event) => {
      const by = event.shiftKey ? 5 : 1,
        step = {ArrowLeft: [-by, 0], ArrowRight: [by, 0], ArrowUp: [0, -by], ArrowDown: [0, by], Enter: [0, 0], " ": [0, 0]}[event.key];
      if (!step) return;
      event.preventDefault();
      move(i, state.objects[i].x + step[0], state.objects[i].y + step[1]);
    });
    function place() {
      const one = state.objects[i];
      if (!one) return node.remove();
      if (!node.parentNode) handles.append(node);
      const [x0, y0, x1, y1] = cornersOf(one).map((at) => UNIT * at),
        [wide, high] = [x1 - x0, y1 - y0].map((size) => Math.max(REACH, size)),
        left = x1 > (SIDE - 2) * UNIT;
      const put = (shape, values) => Object.entries(values).forEach(([key, value]) => shape.setAttribute(key, value));
      put(frame, {x: x0, y: y0, width: x1 - x0, height: y1 - y0});
      put(hit, {x: (x0 + x1 - wide) / 2, y: (y0 + y1 - high) / 2, width: wide, height: high});
      put(letter, {x: left ? x0 - 4 : x1 + 4, y: y1, "text-anchor": left ? "end" : "start"});
      node.classList.toggle("cla-chosen", i === state.chosen);
      node.setAttribute("aria-label", `${nameOf(i)}, en la columna ${one.x + 1} y la fila ${one.y + 1}`);
    }
    const center = () => toCenter(cornersOf(state.objects[i])).map((at) => at / SIDE);
    /* Se coge por donde se toca, y así se lleva. */
    function take(x, y) {
      const one = state.objects[i],
        [byX, byY] = [one.x - SIDE * x, one.y - SIDE * y];
      move(i, one.x, one.y);
      return (toX, toY) => move(i, SIDE * toX + byX, SIDE * toY + byY);
    }
    return {node, place, center, take};
  });
  function move(i, x, y) {
    const one = state.objects[i],
      [wide, high] = sizeOf(one),
      [toX, toY] = [held(Math.round(x), SIDE - wide), held(Math.round(y), SIDE - high)];
    const isStill = toX === one.x && toY === one.y;
    if (isStill && i === state.chosen) return;
    Object.assign(one, {x: toX, y: toY});
    update({chosen: i, pair: i === state.chosen ? state.pair : null, touched: state.touched || !isStill});
  }
  drag(drawing, handles, grips);

  // ---- La tabla de costes: se recorre con las flechas, y una casilla se elige -------------------------------------------
  const table = h("table", {class: "cla-costs bare", role: "grid", "aria-label": "Lo que cuesta dar cada dígito a cada consulta"}),
    sum = h("p", {class: "cla-sum"});
  let drawn = "", // qué consultas y dígitos tiene
    cells = [],
    at = [0, 0];
  const pick = (query, i) => update({pair: state.pair?.[0] === query && state.pair[1] === i ? null : [query, i], chosen: i});
  function lay(queries) {
    const heads = state.objects.map((one, i) => h("th", {scope: "col"}, `${LETTERS[i]}: ${labelOf(one)}`));
    at = [held(at[0], queries.length - 1), held(at[1], state.objects.length - 1)];
    cells = queries.map((query, r) => state.objects.map((_, c) => h("td", {role: "gridcell", onclick: () => pick(query, c), onfocus: () => stay(r, c)})));
    const rows = queries.map((query, r) => h("tr", null, h("th", {scope: "row"}, query + 1), cells[r]));
    table.replaceChildren(h("thead", null, h("tr", null, h("th", {scope: "col"}, "consulta"), heads)), h("tbody", null, rows));
  }
  function stay(r, c) {
    at = [r, c];
    cells.forEach((row, i) => row.forEach((cell, j) => (cell.tabIndex = i === r && j === c ? 0 : -1)));
  }
  table.addEventListener("keydown", (event) => {
    const [r, c] = at,
      [bottom, last] = [cells.length - 1, cells[0].length - 1];
    const to = {ArrowUp: [Math.max(0, r - 1), c], ArrowDown: [Math.min(bottom, r + 1), c], ArrowLeft: [r, Math.max(0, c - 1)], ArrowRight: [r, Math.min(last, c + 1)], Home: [r, 0], End: [r, last]}[event.key];
    if (event.key === " " || event.key === "Enter") cells[r][c].click();
    else if (to) cells[to[0]][to[1]].focus();
    else return;
    event.preventDefault();
  });
  function drawCosts(found) {
    const [shown, i] = state.pair ?? [found.owners[state.chosen], state.chosen],
      queries = relevant(found),
      key = JSON.stringify([queries, state.objects.map(labelOf)]);
    const isLost = key !== drawn && table.contains(document.activeElement); // la fila con el foco puede irse
    if (key !== drawn) lay(queries);
    drawn = key;
    queries.forEach((query, r) =>
      state.objects.forEach((_, c) => {
        const cell = cells[r][c],
          isOwner = found.owners[c] === query,
          cost = number(found.costs[query][c]),
          each = found.parts[query][c].map((value, k) => `${number(value)} por ${PARTS[k]}`);
        cell.textContent = cost;
        cell.className = `${isOwner ? "cla-mine" : ""} ${query === shown && c === i ? "cla-told" : ""}`;
        cell.setAttribute("aria-selected", Boolean(state.pair) && query === shown && c === i);
        cell.setAttribute("aria-label", `Consulta ${query + 1} y ${nameOf(c)}: ${cost}${isOwner ? ", en el reparto" : ""}; ${both(each)}`);
      }),
    );
    stay(...at);
    if (isLost) cells[at[0]][at[1]].focus();
    const terms = found.parts[shown][i].map((value, k) => h("span", null, h("b", null, number(value)), h("span", {class: "hush"}, `${PARTS[k]}, ${SIGNS[k]}`)));
    sum.replaceChildren(h("span", {class: "cla-what"}, `Consulta ${shown + 1} y ${LETTERS[i]}: ${number(found.costs[shown][i])}, la suma de`), ...terms);
  }

  // ---- Quién es de quién ------------------------------------------------------------------------------------------------
  const list = h("ul", {class: "cla-list"});
  function drawOwners({probs, owners}) {
    const line = (one, i) => {
      const said = answerOf(probs[owners[i]]);
      return h(
        "li",
        {class: i === state.chosen ? "cla-here" : ""},
        h("b", null, `${LETTERS[i]}: ${labelOf(one)}`),
        h("span", {class: "cla-path"}, one.owners.slice(-5).map((q) => q + 1).join(" → ")),
        h("span", {class: "hush"}, said ? `dice ${said.label}, ${whole(said.chance)}` : "no dice nada"),
      );
    };
    list.replaceChildren(...state.objects.map(line));
  }
  function tell({probs, owners}, changed) {
    const i = state.chosen,
      one = state.objects[i],
      said = answerOf(probs[owners[i]]),
      spare = range(probs.length).filter((q) => answerOf(probs[q]) && !owners.includes(q));
    const name = `El ${labelOf(one)} (${LETTERS[i]})`,
      who = `la consulta ${owners[i] + 1}, que ${said ? `dice ${said.label} con el ${whole(said.chance)}` : "no dice nada"}`;
    const first = changed.includes(i) ? `${name} cambia de dueño: era de la ${one.owners.at(-2) + 1} y es de ${who}.` : `${name} es de ${who}.`;
    const others = changed.filter((k) => k !== i).map((k) => LETTERS[k]);
    const more = [
      others.length && `${changed.includes(i) ? "También cambia" : "Cambia"}${others.length > 1 ? "n" : ""} de dueño ${both(others)}.`,
      spare.length && `${spare.length > 1 ? "Sobran" : "Sobra"} ${both(spare.map((q) => `la ${q + 1}`))}.`,
      !isAlone(one) && "Se tocan: al entrenar no los vio así.",
    ];
    return more.reduce((text, part) => (part && text.length + part.length < 155 ? `${text} ${part}` : text), first);
  }

  // ---- Mandos ----------------------------------------------------------------------------------------------------------
  const which = picker({label: "El elegido es un", options: labels, value: 0, onchange: (k) => replace(stampOf(labels[k]))});
  function fit(one) {
    const [wide, high] = sizeOf(one);
    return Object.assign(one, {x: held(one.x, SIDE - wide), y: held(one.y, SIDE - high)});
  }
  function replace(stamp) {
    fit(Object.assign(state.objects[state.chosen], {stamp}));
    update({touched: true});
  }
  /* Uno nuevo, donde no pise a ninguno si puede ser. */
  function more() {
    const one = {stamp: stampOf(labels.find((label) => !state.objects.some((other) => labelOf(other) === label)) ?? labels[0]), owners: []};
    range(SIDE ** 2).some((k) => isAlone(fit(Object.assign(one, {x: k % SIDE, y: Math.floor(k / SIDE)}))));
    update({objects: [...state.objects, one], chosen: state.objects.length, touched: true});
  }
  const less = () => update({objects: state.objects.filter((_, i) => i !== state.chosen), chosen: Math.max(0, state.chosen - 1), pair: null, touched: true});
  const add = button("Añadir uno", more),
    drop = button("Quitar el elegido", less),
    again = button("Volver a empezar", () => update({...fresh(), touched: true}));
  const isStart = () => JSON.stringify(places()) === JSON.stringify(data.start);
  const {node, update, say} = cycle(root, state, () => {
    if (state.touched && !model) open();
    drawInk(read());
    for (const grip of grips) grip.place();
    which.pick(labels.indexOf(labelOf(state.objects[state.chosen])));
    disable([
      [add, state.objects.length === MOST],
      [drop, state.objects.length === 1],
      [again, isStart()],
    ]);
    const found = state.touched && !model ? null : compute();
    owned.hidden = costs.hidden = !found;
    drawAnswers(found);
    const seen = {objects: places()};
    if (!found) return {seen, say: "Pidiendo el modelo…"};
    const changed = [];
    state.objects.forEach((one, i) => {
      if (one.owners.at(-1) === found.owners[i]) return;
      if (one.owners.length) changed.push(i);
      one.owners.push(found.owners[i]);
    });
    drawOwners(found);
    drawCosts(found);
    const rest = "Arrastra un dígito, o llega a él con el tabulador y usa las flechas. Entonces se pide el modelo, y puede tardar.";
    return {seen, say: state.touched ? tell(found, changed) : rest, values: found};
  });
  const title = (text) => h("p", {class: "cla-title"}, text),
    key = h("p", {class: "hush"}, "Los círculos son de donde parte cada consulta; llenos, los de las que se quedan con un dígito. Con trazos, la caja de una que sobra.");
  const owned = h("div", null, title("De quién es cada dígito"), list),
    costs = h("div", null, title("Lo que cuesta cada pareja"), table, sum);
  const left = h("div", null, h("div", null, drawing, key), h("div", null, h("div", {class: "controls"}, which.row), h("div", {class: "controls"}, add, drop, again))),
    right = h("div", null, h("div", {class: "cla-first"}, node, owned), costs);
  stage.append(h("div", {class: "cla-split"}, left, right));
  update({});
});
