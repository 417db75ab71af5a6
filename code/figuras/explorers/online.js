/* La softmax por trozos, mientras ocurre. La cuenta (film) tiene su gemelo en online.py. */
window.atentoExplorers.register("online", (stage, data, root) => {
  const {h, softmax, dot, number, button, disable, picker, slider, toggle, walk, cycle, table} = window.atentoExplorers;
  const {values, sizes, levels, orders} = data,
    n = values.length,
    ids = values.map((_, j) => j),
    PAUSE = 1500;
  const fresh = () => ({size: data.size, order: 0, scores: [...data.scores], chosen: data.scores.indexOf(Math.max(...data.scores)), rescale: true, step: 0});
  const state = fresh(),
    plain = (x) => String(Number(x.toFixed(2))).replace("-", "−"),
    four = (x) => number(x, 4),
    all = (list) => (list.length > 1 ? `${list.slice(0, -1).join(", ")} y ${list.at(-1)}` : list[0]);

  // ---- Las cuentas ----------------------------------------------------------------------------
  function blocksOf({size, order, scores}) {
    const blocks = ids.filter((j) => j % sizes[size] === 0).map((j) => ids.slice(j, j + sizes[size])),
      most = (block) => Math.max(...block.map((j) => scores[j])),
      sign = {rising: 1, falling: -1}[orders[order]] ?? 0;
    return orders[order] === "reversed" ? blocks.reverse() : blocks.sort((a, b) => sign * (most(a) - most(b)));
  }
  /* Cada bloque da tres fotogramas: entra, se reescala lo de antes y se suma. El último divide. shares es lo que pone
     cada clave en ℓ. */
  function film() {
    const {scores, rescale} = state,
      blocks = blocksOf(state),
      frames = [],
      trace = [];
    let [top, total, mixed, shares, rescaled] = [-Infinity, 0, 0, Array(n).fill(0), 0];
    blocks.forEach((block, b) => {
      const [was, e] = [{top, total, mixed}, block.map((j) => scores[j])],
        show = (say, ...sums) => frames.push({b, top, total, mixed, shares, say, sums}),
        each = (sign, left, right) => ["ℓ", "õ"].map((name, k) => `${name} = ${four(left[k])} ${sign} ${four(right[k])} = ${four([total, mixed][k])}`);
      top = Math.max(was.top, ...e);
      const factor = Math.exp(was.top - top),
        shrink = rescale ? factor : 1,
        terms = e.map((x) => Math.exp(x - top)),
        grown = b > 0 && factor < 1,
        told = grown ? `sube de ${plain(was.top)} a ${plain(top)}` : `${b ? "sigue siendo" : "es"} ${plain(top)}`;
      show(`Entra el bloque ${b + 1}: ${all(e.map(plain))}. El mayor ${told}.`, `e* = máx(${[...(b ? [was.top] : []), ...e].map(plain).join("; ")}) = ${plain(top)}`);
      [total, mixed, shares] = [shrink * total, shrink * mixed, shares.map((x) => shrink * x)];
      const gap = `exp(${plain(was.top)} − ${top < 0 ? `(${plain(top)})` : plain(top)})`;
      if (!b) show("Antes no había nada. No hay qué reescalar.");
      else if (!grown) show("El mayor no ha subido: el factor es exp(0) = 1, y lo de antes queda como estaba.");
      else if (!rescale) show(`Habría que multiplicar por ${gap} = ${four(factor)}, y no se hace. Lo de antes sigue medido con ${plain(was.top)}.`);
      else show(`Lo de antes se multiplica por ${gap} = ${four(factor)}.`, ...each("·", [factor, factor], [was.total, was.mixed]));
      const [left, added] = [[total, mixed], [terms.reduce((x, y) => x + y), dot(terms, block.map((j) => values[j]))]];
      [total, mixed, shares] = [total + added[0], mixed + added[1], shares.map((x, j) => (block.includes(j) ? terms[block.indexOf(j)] : x))];
      show("Se suma el bloque. Sus puntuaciones ya no hacen falta.", ...each("+", left, added));
      rescaled += grown;
      trace.push([top, factor, total, mixed]);
    });
    const [output, whole] = [mixed / total, dot(softmax(scores), values)],
      isSame = Math.abs(output - whole) < 1e-9,
      times = rescale ? rescaled ? `reescalando ${rescaled === 1 ? "una vez" : `${rescaled} veces`}` : "sin tener que reescalar" : "sin reescalar";
    frames.push({b: blocks.length, top, total, mixed, shares, say: `${isSame ? "✓ " : ""}A trozos, ${times}, sale ${four(output)}. De una vez, ${four(whole)}: ${isSame ? "lo mismo" : "no es lo mismo"}.`, sums: [`õ / ℓ = ${four(mixed)} / ${four(total)} = ${four(output)}`]});
    return {frames, blocks, trace, rescaled, output, whole};
  }

  // ---- Lo que se ve ---------------------------------------------------------------------------
  const groups = ids.map(() => h("div")),
    strip = h("div", {class: "onl-strip", "aria-hidden": "true"}, h("div", {class: "onl-key"}, h("span", null, "en ℓ"), h("span", null, "e"), h("span", null, "v")), groups),
    fast = h("div", {class: "onl-fast"}),
    grid = h("div", {class: "onl-grid", style: `--n:${n}`, "aria-hidden": "true"}),
    [count, sums, rows] = ["p", "p", "div"].map((tag) => h(tag));
  const columns = ids.map((j) => {
    const [fill, score] = [h("i"), h("b")];
    return {fill, score, node: h("div", {class: "onl-key", onclick: () => choose(j)}, fill, score, h("span", null, plain(values[j])))};
  });
  const chips = (role, list) => h("span", {class: `vector ${role}`, style: `--n:${list.length};--cell:2.3em;--tint:18%`}, list.map((one) => h("span", {class: "entry"}, one))),
    held = (name, value) => h("span", {class: "onl-held"}, `${name} = `, h("b", null, value));
  function draw({b: at, top, total, mixed, shares, sums: told}, {blocks, trace}, step) {
    const here = blocks[at] ?? [],
      past = blocks.slice(0, at).flat(),
      kind = (j) => (here.includes(j) ? "here" : past.includes(j) ? "past" : "");
    groups.forEach((group, b) => {
      const block = blocks[b] ?? [];
      group.hidden = !block.length;
      group.className = `onl-block ${kind(block[0])}`;
      group.style.flexGrow = block.length;
      if (block.some((j, k) => group.children[k] !== columns[j].node)) group.append(...block.map((j) => columns[j].node));
    });
    columns.forEach(({node, fill, score}, j) => {
      fill.style.height = `${100 * Math.min(1, shares[j])}%`;
      score.textContent = plain(state.scores[j]);
      node.classList.toggle("chosen", j === state.chosen);
    });
    const of = (name) => here.map((j) => name + String.fromCodePoint(0x2081 + j)),
      block = here.length ? [chips("key", of("k")), chips("value", of("v")), chips("plain", here.map((j) => plain(state.scores[j])))] : [];
    fast.replaceChildren(chips("query", ["q"]), ...block, held("e*", plain(top)), held("ℓ", four(total)), held("õ", four(mixed)));
    sums.replaceChildren(...told.map((text) => h("span", {class: "onl-sum"}, text)));
    grid.replaceChildren(...ids.flatMap((i) => ids.map((j) => h("i", {class: i ? "" : kind(j)}))));
    count.textContent = `Ahora hay ${here.length} de ${n * n}. Cada fila hace lo mismo.`;
    const lines = blocks.map((block, b) => {
      const [e, factor, ...rest] = trace[b];
      const cells = [plain(e), b ? four(factor) : "—", ...rest.map(four)].map((text, k) => (step >= 3 * b + Math.min(k, 2) ? text : ""));
      return {cells: [h(b === at ? "b" : "span", null, block.map((j) => plain(state.scores[j])).join(", ")), ...cells]};
    });
    rows.replaceChildren(table(["entran", ...data.traced], lines, {caption: "Lo que queda tras cada bloque", kind: "onl-rows"}));
  }

  // ---- Mandos ---------------------------------------------------------------------------------
  /* Con otros bloques se empieza de nuevo, salvo que ya se estuviera al final. */
  const lastOf = (state) => 3 * blocksOf(state).length,
    regroup = (change) => update({...change, step: state.step === lastOf(state) ? lastOf({...state, ...change}) : 0});
  const size = picker({label: "Bloques de", value: state.size, options: sizes, onchange: (size) => regroup({size})}),
    order = picker({label: "Orden", value: 0, options: ["en orden", "al revés", "mayor detrás", "mayor delante"], onchange: (order) => regroup({order})}),
    which = picker({label: "Clave", className: "key", value: state.chosen, options: ids.map((j) => j + 1), onchange: (chosen) => update({chosen})});
  const put = (k) => update({scores: state.scores.map((e, j) => (j === state.chosen ? levels[k] : e))}),
    choose = (chosen) => which.pick(chosen) ?? update({chosen});
  const level = slider({label: "Su puntuación", min: 0, max: levels.length - 1, step: 1, value: 0, text: (k) => plain(levels[k]), oninput: put}),
    rescaled = toggle({label: "reescalar lo anterior", checked: true, oninput: (rescale) => update({rescale})});
  let timer;
  const stop = () => (timer = clearTimeout(timer)),
    steps = walk({back: "Anterior", next: "Siguiente", end: "Final"}, (step) => stop() ?? update({step}));
  const player = button("Reproducir", () => {
    const isOn = timer;
    stop();
    if (!isOn) timer = setTimeout(forward, PAUSE);
    update({step: !isOn && state.step === lastOf(state) ? 0 : state.step});
  });
  function forward() {
    timer = state.step + 1 < lastOf(state) ? setTimeout(forward, PAUSE) : undefined;
    update({step: Math.min(state.step + 1, lastOf(state))});
  }
  const again = button("Volver a empezar", () => {
    Object.assign(state, fresh());
    size.pick(state.size);
    order.pick(0);
    rescaled.input.checked = true;
    stop() ?? choose(state.chosen);
  });
  const {node, update} = cycle(root, state, () => {
    const {frames, ...found} = film(),
      {step} = state;
    level.set(levels.indexOf(state.scores[state.chosen]));
    draw(frames[step], found, step);
    disable([[again, JSON.stringify(state) === JSON.stringify(fresh())], [steps.nodes[1], false]]);
    steps.set(step, frames.length - 1);
    player.textContent = timer ? "Pausa" : "Reproducir";
    return {say: frames[step].say, seen: {size: sizes[state.size], order: orders[state.order]}, values: {...found, shares: frames[step].shares}};
  });
  stage.append(
    h("div", {class: "controls"}, size.row, order.row),
    h("div", {class: "onl-pair"}, strip, h("div", null, h("b", null, "La tabla, que no se guarda"), h("div", {class: "onl-table"}, grid, count))),
    h("div", {class: "controls"}, h("div", {class: "choice"}, steps.nodes, player, again)),
    h("div", null, node, sums, h("b", null, "En la memoria rápida"), fast, rows),
    h("div", {class: "controls"}, which.row, level.node, rescaled.node),
  );
  update({});
});
