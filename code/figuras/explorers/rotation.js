/* Una consulta y una clave que giran según su sitio (RoPE). La cuenta tiene su gemelo en rotation.py. */
window.atentoExplorers.register("rotation", (stage, data, root) => {
  const {h, svg, number, factor, picker, places: couple, chart, sides, cycle} = window.atentoExplorers;
  const {places, rotary: speeds, query_place, key_place} = data;
  const state = {query_place, key_place, pair: 0};
  const last = places - 1,
    count = speeds.length;

  // ---- Las cuentas ----------------------------------------------------------------------------
  const pairsOf = (x) => speeds.map((_, r) => [x[2 * r], x[2 * r + 1]]);
  const [query, key] = [data.query, data.key].map(pairsOf);
  const turned = ([u, v], angle) => [u * Math.cos(angle) - v * Math.sin(angle), u * Math.sin(angle) + v * Math.cos(angle)];
  const rotated = (x, place) => x.map((pair, r) => turned(pair, speeds[r] * place));
  const partsOf = (a, b) => a.map(([u, v], r) => u * b[r][0] + v * b[r][1]);
  const sum = (values) => values.reduce((a, b) => a + b);
  /* Las partes a una distancia: la consulta, lo más a la izquierda que cabe. */
  const partsAt = (far) => {
    const here = Math.max(0, -far);
    return partsOf(rotated(query, here), rotated(key, here + far));
  };

  // ---- El disco: la pareja elegida --------------------------------------------------------------
  const SIZE = 300,
    REACH = 112;
  const hands = [
    {role: "query", letter: "q", x: query, tip: (far) => svg("circle", {cx: far, r: 9})},
    {role: "key", letter: "k", x: key, tip: (far) => svg("rect", {x: far - 8, y: -8, width: 16, height: 16})},
  ].map((hand) => ({
    ...hand,
    lengths: hand.x.map((pair) => Math.hypot(...pair)),
    orbit: svg("circle", {class: `orbit ${hand.role}`}),
    ghost: svg("line", {class: `ghost ${hand.role}`}),
    spoke: svg("g", {class: `spoke ${hand.role}`}),
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
  const firstAngle = ({x}) => Math.atan2(x[state.pair][1], x[state.pair][0]);
  /* La forma de cada flecha no cambia al girar: se dibuja tumbada y una transformación la gira. */
  function reshape() {
    const longest = Math.max(...hands.map(({lengths}) => lengths[state.pair])) || 1;
    for (const hand of hands) {
      const far = (REACH * hand.lengths[state.pair]) / longest,
        [x, y] = turned([far, 0], firstAngle(hand));
      hand.orbit.setAttribute("r", far);
      hand.ghost.setAttribute("x2", x);
      hand.ghost.setAttribute("y2", -y);
      const letter = svg("g", {class: "upright"}, svg("text", {dy: "0.35em"}, hand.letter));
      hand.spoke.replaceChildren(
        svg("line", {x2: far}),
        hand.tip(far),
        svg("g", {transform: `translate(${far + 24} 0)`}, letter),
      );
    }
  }
  function spin(spots) {
    const angles = hands.map((hand, side) => firstAngle(hand) + speeds[state.pair] * spots[side]);
    hands.forEach(({spoke}, side) => {
      spoke.style.transform = `rotate(${-angles[side]}rad)`;
      spoke.querySelector(".upright").style.transform = `rotate(${angles[side]}rad)`;
    });
    const open = Math.atan2(Math.sin(angles[1] - angles[0]), Math.cos(angles[1] - angles[0]));
    const [from, to] = [angles[0], angles[0] + open].map((angle) => `${34 * Math.cos(angle)} ${-34 * Math.sin(angle)}`);
    wedge.setAttribute("d", `M0 0L${from}A34 34 0 0 ${open > 0 ? 0 : 1} ${to}Z`);
    return open;
  }

  // ---- La puntuación según la distancia -----------------------------------------------------------
  const top = sum(hands[0].lengths.map((a, r) => a * hands[1].lengths[r]));
  const plotted = chart({x: [-last, last], y: [-top, top], feet: [`−${last}`, "0", String(last)]});
  const STEPS = 8 * last;
  const curve = Array.from({length: STEPS + 1}, (_, i) => -last + (2 * last * i) / STEPS).map((far) => [far, partsAt(far)]);
  const whole = curve.map(([far, parts]) => [far, sum(parts)]);

  // ---- Mandos -----------------------------------------------------------------------------------
  const dials = [["query_place", "Sitio de la consulta"], ["key_place", "Sitio de la clave"]];
  const spots = couple({dials, last, state, update: (change) => update(change)});
  const pairs = picker({label: "Pareja", options: speeds.map((_, r) => String(r)), value: 0, onchange: (pair) => update({pair})});
  const vectors = h("div"),
    sums = h("p"),
    pace = h("p", {class: "hush"});
  const legend = count > 1 && h("p", {class: "hush"}, h("span", {class: "allkey"}, "puntuación"), " ", h("span", {class: "onekey"}, "parte de esta pareja"));

  const {node, update} = cycle(root, state, (change) => {
    const {query_place: here, key_place: there, pair} = state;
    const both = [rotated(query, here), rotated(key, there)];
    const parts = partsOf(...both),
      score = sum(parts),
      far = there - here;
    if (!("query_place" in change || "key_place" in change)) reshape();
    const open = spin([here, there]);
    spots.set(here, there);
    plotted.draw([
      {kind: "zero", y: 0},
      {kind: "zero", x: 0},
      {kind: "ghost dashes", points: curve.map(([far, parts]) => [far, parts[pair]])},
      {kind: "line", points: whole},
      {kind: "spot", spot: [far, score]},
    ]);
    const [q, k] = both.map((x) => x[pair]);
    vectors.replaceChildren(spots.line(`● q en ${here}`, q, "query", {cell: 3.8}), spots.line(`■ k en ${there}`, k, "key", {cell: 3.8}));
    const products = q.map((value, c) => `${factor(value)}·${factor(k[c])}`).join(" + ");
    sums.textContent = `${count > 1 ? `Pareja ${pair}: ` : ""}${products} = ${number(parts[pair])}`;
    const degrees = number((Math.abs(open) * 180) / Math.PI, 0);
    const period = number((2 * Math.PI) / speeds[pair], 1);
    pace.textContent = `Entre las dos flechas, ${degrees}°. Una vuelta cada ${period} sitios.`;
    return {
      say: `Consulta en el sitio ${here} y clave en el ${there}, a distancia ${number(far, 0)}: la puntuación es ${number(score)}.`,
      values: {query: both[0].flat(), key: both[1].flat(), parts, score, curve: Array.from({length: 2 * last + 1}, (_, k) => partsAt(k - last))},
    };
  });
  stage.append(
    ...spots.nodes,
    h("div", {class: "controls"}, pairs.row),
    sides(disc, h("div", null, vectors, sums, node, pace)),
    h("p", {class: "hush"}, "Puntuación según la distancia, clave menos consulta"),
    plotted.node,
    legend || "",
  );
  update({});
});
