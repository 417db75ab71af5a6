/* Un espectrograma, (marco, altura), con más tinta donde más suena, y debajo, cuánto se mira cada trozo. draw(tabla) lo
   pinta; mark([{from, to, text, here}]) señala trozos, en partes de todo; look(pesos), los pesos, que suman 1.
   feet son los extremos del tiempo. */
window.atentoExplorers.add(({h, svg}) => {
  const TONES = 8,
    SPAN = 0.75; // qué parte de lo más fuerte se ve, en las unidades de la tabla
  const view = (kind, label, inner) => svg("svg", {class: kind, preserveAspectRatio: "none", role: "img", "aria-label": label}, inner);
  function spectrum(feet) {
    const inks = Array.from({length: TONES}, () => svg("path")),
      edges = svg("path", {class: "edges"}),
      names = h("p", {class: "spans"}),
      looks = view("sight", "Qué trozos mira"),
      picture = view("sound", "Espectrograma: el tiempo, hacia la derecha; lo agudo, arriba", [inks, edges]);
    let frames, high;
    function draw(table) {
      [frames, high] = [table.length, table[0].length];
      picture.setAttribute("viewBox", `-0.5 0 ${frames} ${high}`);
      const top = Math.max(...table.map((row) => Math.max(...row)));
      inks.forEach((path, k) => {
        const floor = top - SPAN * (1 - k / TONES),
          runs = [];
        for (let y = 0; y < high; y++)
          for (let x = 0, from = -1; x <= frames; x++) {
            const on = x < frames && table[x][y] > floor;
            if (on && from < 0) from = x;
            if (on || from < 0) continue;
            runs.push(`M${from - 0.5} ${high - 1 - y}h${x - from}v1h${from - x}z`);
            from = -1;
          }
        path.setAttribute("d", runs.join(""));
      });
    }
    function mark(parts) {
      edges.setAttribute("d", parts.flatMap(({from, to}) => [from, to]).map((at) => `M${at * frames} 0V${high}`).join(""));
      names.replaceChildren(...parts.map(({from, to, text, here}) => h("span", {class: here ? "here" : "", style: `left:${50 * (from + to)}%`}, text)));
    }
    function look(shares) {
      looks.setAttribute("viewBox", `0 0 ${shares.length} 1`);
      const bar = (share, j) => svg("rect", {x: j - 0.25, width: 1, height: 1, "fill-opacity": Math.min(1, 2 * share).toFixed(2)});
      looks.replaceChildren(...shares.map(bar));
    }
    return {node: h("div", {class: "spectrum"}, names, picture, looks, h("p", {class: "ends hush"}, feet.map((text) => h("span", null, text)))), looks, draw, mark, look};
  }
  return {spectrum};
});
