/* Las papeletas de un sorteo: los filtros de atento.decoding, el sorteo y una barra por papeleta. */
window.atentoExplorers.add(({h, softmax, gauge}) => {
  const forbid = (logits, stays) => logits.map((value, i) => (stays(i) ? value : -Infinity));
  const ordered = (logits) => logits.map((_, i) => i).sort((a, b) => logits[b] - logits[a] || a - b);
  function warmed(logits, temperature) {
    const top = Math.max(...logits);
    return logits.map((value) => (value - top) / temperature);
  }
  function keepTopK(logits, k) {
    const chosen = new Set(ordered(logits).slice(0, k));
    return forbid(logits, (i) => chosen.has(i));
  }
  function keepTopP(logits, p) {
    if (p === 1) return logits;
    const probs = softmax(logits),
      chosen = new Set();
    let reached = 0;
    for (const i of ordered(logits)) {
      if (reached >= p) break;
      chosen.add(i);
      reached += probs[i];
    }
    return forbid(logits, (i) => chosen.has(i));
  }
  /* Cuál sale con un dado de [0, 1). */
  function draw(probs, die) {
    const total = probs.reduce((a, b) => a + b);
    let reached = 0;
    return probs.findIndex((p) => (reached += p) > die * total);
  }

  /* Una papeleta: su nombre, su parte ahora y la raya de la que le daba el modelo; fuera del sorteo,
     tachada; con times, cuántas veces ha salido. */
  function lot({name, share, was, left, text, tip, times}) {
    const {bar, tail, set} = gauge(`weight ${left ? "" : "hatched"}`);
    bar.style.setProperty("--was", `${100 * was}%`);
    set(share, left ? text : "—");
    return h(
      "div",
      {class: `lot ${left ? "" : "gone"}`, "data-tip": tip},
      h("span", {class: "lot-name"}, name),
      bar,
      tail,
      times !== undefined && h("span", {class: "times"}, times),
    );
  }

  return {forbid, ordered, warmed, keepTopK, keepTopP, draw, lot};
});
