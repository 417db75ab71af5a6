/* Una consulta y una clave que giran según su sitio (RoPE). La cuenta tiene su gemelo en rotation.py. */
window.atentoExplorers.register("rotation", (stage, data, root) => {
  const {h, svg, number, factor, picker, places: couple, vector, chart, cycle} = window.atentoExplorers;
  const {query, key, places, modes, speeds} = data;
  const state = {query_place: data.queryPlace, key_place: data.keyPlace, pair: data.pair, mode: 0};
  const last = places - 1,
    count = query.length / 2;

  // ---- Las cuentas ----------------------------------------------------------------------------
  const pairsOf = (x) => Array.from({length: count}, (_, r) => [x[2 * r], x[2 * r + 1]]);
  const rotated = (x, place) =>
    pairsOf(x).flatMap(([u, v], r) => {
      const angle = speeds[state.mode][r] * place;
      return [u * Math.cos(angle) - v * Math.sin(angle), u * Math.sin(angle) + v * Math.cos(angle)];
    });
  const partsOf = (a, b) => {
    const others = pairsOf(b);
    return pairsOf(a).map(([u, v], r) => u * others[r][0] + v * others[r][1]);
  };
  const sum = (values) => values.reduce((a, b) => a + b);
  /* Las partes a una distancia: la consulta, lo más a la izquierda que cabe. */
  const partsAt = (far) => {
    const here = Math.max(0, -far);
    return partsOf(rotated(query, here), rotated(key, here + far));
  };

  // ---- El disco: la pareja elegida --------------------------------------------------------------
  const SIZE = 300,
    REACH = 112;
  const lengths = [query, key].map((x) => pairsOf(x).map((pair) => Math.hypot(...pair)));
  const ROLES = ["query", "key"];
  const tips = {
    query: (x) => svg("circle", {cx: x, r: 9}),
    key: (x) => svg("rect", {x: x - 8, y: -8, width: 16, height: 16}),
  };
  const hands = ROLES.map((role) => ({
    orbit: svg("circle", {class: `orbit ${role}`}),
    ghost: svg("line", {class: `ghost ${role}`}),
    spoke: svg("g", {class: `spoke ${role}`}),
  }));
  const wedge = svg("path", {class: "between"});
  const disc = svg(
    "svg",
    {class: "disc", viewBox: `${-SIZE / 2} ${-SIZE / 2} ${SIZE} ${SIZE}`, "aria-hidden": "true"},
    svg("path", {class: "cross", d: `M${-SIZE / 2} 0H${SIZE / 2}M0 ${-SIZE / 2}V${SIZE / 2}`}),
    hands.map(({orbit, ghost}) => [orbit, ghost]),
    wedge,
    hands.map(({spoke}) => spoke),
  );
  const firstAngle = (x) => Math.atan2(x[2 * state.pair + 1], x[2 * state.pair]);
  /* La forma de cada flecha no cambia al girar: se dibuja tumbada y una transformación la gira. */
  function reshape() {
    [query, key].forEach((x, side) => {
      const {orbit, ghost, spoke} = hands[side],
        role = ROLES[side];
      const longest = Math.max(...lengths.map((each) => each[state.pair])) || 1;
      const far = (REACH * lengths[side][state.pair]) / longest,
        start = firstAngle(x);
      orbit.setAttribute("r", far);
      for (const [name, value] of Object.entries({x2: far * Math.cos(start), y2: -far * Math.sin(start)}))
        ghost.setAttribute(name, value);
      const letter = svg("text", {x: 0, y: 0, dy: "0.35em"}, role === "query" ? "q" : "k");
      const upright = svg("g", {class: "upright"}, letter);
      spoke.replaceChildren(
        svg("line", {x2: far}),
        tips[role](far),
        svg("g", {transform: `translate(${far + 24} 0)`}, upright),
      );
    });
  }
  function spin() {
    const angles = [query, key].map(
      (x, side) =>
        firstAngle(x) + speeds[state.mode][state.pair] * [state.query_place, state.key_place][side],
    );
    hands.forEach(({spoke}, side) => {
      spoke.style.transform = `rotate(${-angles[side]}rad)`;
      spoke.querySelector(".upright").style.transform = `rotate(${angles[side]}rad)`;
    });
    const open = Math.atan2(Math.sin(angles[1] - angles[0]), Math.cos(angles[1] - angles[0]));
    const [x, y] = [34 * Math.cos(angles[0]), -34 * Math.sin(angles[0])];
    const [toX, toY] = [34 * Math.cos(angles[0] + open), -34 * Math.sin(angles[0] + open)];
    wedge.setAttribute("d", `M0 0L${x} ${y}A34 34 0 0 ${open > 0 ? 0 : 1} ${toX} ${toY}Z`);
    return open;
  }

  // ---- La puntuación según la distancia -----------------------------------------------------------
  const top = sum(lengths[0].map((a, r) => a * lengths[1][r]));
  const plotted = chart({x: [-last, last], y: [-top, top], feet: [`−${last}`, "0", String(last)]});
  const STEPS = 8 * last,
    samples = Array.from({length: STEPS + 1}, (_, i) => -last + (2 * last * i) / STEPS);
  let curves;
  function trace() {
    const parts = samples.map((far) => [far, partsAt(far)]);
    curves = [
      {kind: "zero", y: 0},
      {kind: "zero", x: 0},
      {kind: "ghost dashes", points: parts.map(([far, part]) => [far, part[state.pair]])},
      {kind: "line", points: parts.map(([far, part]) => [far, sum(part)])},
    ];
  }

  // ---- Mandos -----------------------------------------------------------------------------------
  const dials = [["query_place", "Sitio de la consulta"], ["key_place", "Sitio de la clave"]];
  const spots = couple({dials, last, state, update: (change) => update(change)});
  const chooser = (label, options, name) => picker({label, options, value: state[name], onchange: (i) => update({[name]: i})}).row;
  const WAYS = {none: "nada", interpolation: `sitios ÷ ${data.factor}`, ntk: "base mayor"};
  const pairPicker = chooser("Pareja", Array.from({length: count}, (_, r) => String(r)), "pair");
  const modePicker = chooser("Alargar", modes.map((mode) => WAYS[mode]), "mode");
  const vectors = ROLES.map(() => h("div", {class: "turned"}));
  const sums = h("p"),
    pace = h("p", {class: "hush"});
  const legend = count > 1 && h("p", {class: "hush"}, h("span", {class: "allkey"}, "puntuación"), " ", h("span", {class: "onekey"}, "parte de esta pareja"));

  const {node, update} = cycle(root, state, (change) => {
    const {query_place: here, key_place: there, pair} = state;
    const turned = [rotated(query, here), rotated(key, there)];
    const parts = partsOf(...turned),
      score = sum(parts),
      far = there - here;
    if (!("query_place" in change || "key_place" in change)) {
      reshape();
      trace();
    }
    const open = spin();
    spots.set(here, there);
    plotted.draw([...curves, {kind: "spot", spot: [far, score]}]);
    const seen = turned.map((x) => pairsOf(x)[pair]);
    vectors.forEach((node, side) =>
      node.replaceChildren(
        h("span", {class: "seat"}, `${side ? "■ k" : "● q"} en ${[here, there][side]}`),
        vector(seen[side], ROLES[side], {cell: 3.8}),
      ),
    );
    const products = seen[0].map((value, c) => `${factor(value)}·${factor(seen[1][c])}`).join(" + ");
    sums.textContent = `${count > 1 ? `Pareja ${pair}: ` : ""}${products} = ${number(parts[pair])}`;
    const degrees = number((Math.abs(open) * 180) / Math.PI, 0);
    const period = number((2 * Math.PI) / speeds[state.mode][pair], 1);
    pace.textContent = `Entre las dos flechas, ${degrees}°. Una vuelta cada ${period} sitios.`;
    return {
      say: `Consulta en el sitio ${here} y clave en el ${there}, a distancia ${number(far, 0)}: la puntuación es ${number(score)}.`,
      values: {query: turned[0], key: turned[1], parts, score, curve: Array.from({length: 2 * last + 1}, (_, k) => partsAt(k - last))},
      seen: {mode: modes[state.mode]},
    };
  });
  stage.append(
    ...spots.nodes,
    h("div", {class: "controls"}, pairPicker, modePicker),
    h("div", {class: "turns"}, disc, h("div", {class: "facts"}, vectors, sums, node, pace)),
    h("p", {class: "hush"}, "Puntuación según la distancia, clave menos consulta"),
    plotted.node,
    legend || "",
  );
  update({});
});
