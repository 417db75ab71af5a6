/* Un cambio de pesos y su mejor aproximación de cada rango: las dos matrices finas que la dan, lo que cuestan y lo que
   recogen. Los valores singulares se calculan aquí, con el método de Jacobi. Su gemelo está en lowrank.py. */
window.atentoExplorers.register("lowrank", (stage, data, root) => {
  const {h, svg, dot, slider, cycle, chart} = window.atentoExplorers;
  const [TALL, WIDE] = data.shape,
    LEVELS = 8, // tintas de cada signo
    GAP = 1.5,
    range = (n) => [...Array(n).keys()],
    whole = (share) => `${Math.round(100 * share)}\u00a0%`;

  // ---- Las cuentas ----------------------------------------------------------------------------------------------------
  const bytes = Uint8Array.from(atob(data.change), (letter) => letter.charCodeAt(0)),
    entries = Array.from(new Int16Array(bytes.buffer), (value) => value * data.unit),
    change = range(TALL).map((i) => entries.slice(i * WIDE, (i + 1) * WIDE));

  /* Gira las columnas de dos en dos hasta que todas son perpendiculares: entonces miden lo que los valores singulares.
     Devuelve, de mayor a menor, {size, left, right}, donde left lleva dentro la medida. */
  function singular(rows) {
    const left = rows[0].map((_, j) => rows.map((row) => row[j])),
      right = left.map((_, j) => left.map((_, k) => Number(j === k)));
    const turn = (lists, p, q, cos, sin) => {
      const [one, other] = [lists[p], lists[q]];
      lists[p] = one.map((value, i) => cos * value - sin * other[i]);
      lists[q] = one.map((value, i) => sin * value + cos * other[i]);
    };
    for (let lap = 0, isDone = false; !isDone && lap < 40; lap++) {
      isDone = true;
      for (let p = 0; p < left.length; p++)
        for (let q = p + 1; q < left.length; q++) {
          const [a, b, both] = [dot(left[p], left[p]), dot(left[q], left[q]), dot(left[p], left[q])];
          if (Math.abs(both) <= 1e-13 * Math.sqrt(a * b)) continue;
          isDone = false;
          const half = (b - a) / (2 * both),
            tan = (half < 0 ? -1 : 1) / (Math.abs(half) + Math.hypot(1, half)),
            cos = 1 / Math.hypot(1, tan);
          turn(left, p, q, cos, cos * tan);
          turn(right, p, q, cos, cos * tan);
        }
    }
    return left.map((column, j) => ({size: Math.sqrt(dot(column, column)), left: column, right: right[j]})).sort((a, b) => b.size - a.size);
  }
  /* Qué parte de la suma de los cuadrados recoge cada rango, desde el 0. */
  function sharesOf(sizes) {
    const squares = sizes.map((size) => size ** 2),
      total = squares.reduce((a, b) => a + b);
    let kept = 0;
    return [0, ...squares.map((square) => (kept += square) / total)];
  }
  const parts = singular(change),
    shares = sharesOf(parts.map(({size}) => size)),
    others = data.others.map(([name, sizes]) => [name, sharesOf(sizes)]),
    most = data.most,
    cost = (rank) => rank * (TALL + WIDE);

  // ---- Los dibujos: violeta, lo positivo; gris, lo negativo; el color crece con la raíz -------------------------------
  const widest = Math.max(...entries.map(Math.abs));
  function tile(rows, x, y, limit) {
    const marks = {more: Array(LEVELS).fill(""), less: Array(LEVELS).fill("")};
    rows.forEach((row, i) =>
      row.forEach((value, j) => {
        const level = Math.min(LEVELS - 1, Math.floor(LEVELS * Math.sqrt(Math.abs(value) / limit)));
        marks[value < 0 ? "less" : "more"][level] += `M${x + j} ${y + i}h1v1h-1z`;
      }),
    );
    const inked = Object.entries(marks).flatMap(([kind, all]) => all.map((d, level) => [kind, d, level]));
    return [
      ...inked.filter(([, d, level]) => d && level).map(([kind, d, level]) => svg("path", {class: `lowrank-${kind}`, d, "fill-opacity": level / (LEVELS - 1)})),
      rows.length && rows[0].length && svg("rect", {class: "lowrank-edge", x, y, width: rows[0].length, height: rows.length}),
    ].filter(Boolean);
  }
  const figure = (title, width, height) => {
    const art = svg("svg", {viewBox: `-0.3 -0.3 ${width + 0.6} ${height + 0.6}`, role: "img"}),
      text = h("p", null, title);
    return {art, text, node: h("div", {style: `flex:${width} 1 0`}, art, text)};
  };
  const full = figure("El cambio, ΔW", WIDE, TALL),
    thin = figure("", most + GAP + WIDE, most + GAP + TALL);
  full.art.append(...tile(change, 0, 0, widest));
  full.art.ariaLabel = `La matriz del cambio, de ${TALL} por ${WIDE}`;

  const curve = (row) => row.slice(0, most + 1).map((y, x) => [x, y]);
  const plot = (goal) => chart({x: [0, most], y: [0, 1], levels: ["100 %", "50 %", "0 %"], feet: ["rango 0", `rango ${most}`], named: true, onpick: (x) => dial(Math.round(x)), ...goal}),
    kept = plot(),
    told = data.scores.length > 0 && plot();
  function draw(where, lines, rank) {
    const [[, own]] = lines;
    where.draw([
      {kind: "now", x: rank},
      ...lines.map(([, row], k) => ({kind: k ? (k === 1 ? "ghost" : "goal") : "line", points: curve(row)})),
      {kind: "spot", spot: [rank, own[rank]]},
    ]);
    where.names(lines.map(([text, row], k) => ({text, y: row[most], here: !k})));
  }

  // ---- El mando ---------------------------------------------------------------------------------------------------------
  const state = {rank: data.start};
  const {node, update} = cycle(root, state, () => {
    const {rank} = state,
      used = parts.slice(0, rank),
      up = range(TALL).map((i) => used.map(({size, left}) => left[i] / Math.sqrt(size || 1))),
      down = used.map(({size, right}) => right.map((value) => value * Math.sqrt(size))),
      approx = up.map((row) => range(WIDE).map((j) => row.reduce((total, value, k) => total + value * down[k][j], 0)));
    const limit = Math.max(1e-9, ...up.flat().map(Math.abs), ...down.flat().map(Math.abs));
    bar.set(rank);
    thin.art.replaceChildren(...tile(up, most - rank, most + GAP, limit), ...tile(down, most + GAP, most - rank, limit), ...tile(approx, most + GAP, most + GAP, widest));
    thin.text.textContent = `De rango ${rank}: B · A`;
    thin.art.ariaLabel = `A la izquierda B, de ${TALL} por ${rank}; encima A, de ${rank} por ${WIDE}; y su producto, de ${TALL} por ${WIDE}`;
    draw(kept, [["ΔW", shares], ...others], rank);
    if (told) draw(told, data.scores, rank);
    const number = `${cost(rank)} números de ${TALL * WIDE}, el ${whole(cost(rank) / (TALL * WIDE))}`,
      score = told ? ` ${data.said} el ${whole(data.scores[0][1][rank])}.` : "";
    return {say: `Rango ${rank}: ${number}. Recoge el ${whole(shares[rank])}.${score}`, values: {approx, shares: shares.slice(0, most + 1), cost: cost(rank)}};
  });
  const dial = (rank) => update({rank}),
    bar = slider({label: "Rango", min: 0, max: most, step: 1, value: data.start, text: String, oninput: dial});
  const named = (text, {node}) => h("div", null, h("p", {class: "lowrank-title"}, text), node);
  stage.append(
    h("div", {class: "controls"}, bar.node),
    node,
    h("div", {class: "lowrank-art"}, full.node, thin.node),
    h("p", {class: "hush"}, "Violeta, lo positivo; gris, lo negativo. El color crece con la raíz del valor."),
    h("div", {class: "lowrank-charts"}, named("Qué parte recoge (de la suma de los cuadrados)", kept), told && named(data.title, told)),
  );
  update({});
});
