/* Un gráfico de líneas. x e y son los extremos de cada eje; levels, lo que se escribe a la izquierda, de arriba abajo;
   feet, lo que se escribe debajo. draw(partes) lo dibuja de nuevo, y cada parte es de una de estas formas:
   {kind, points: [[x, y], …]}, una línea; {kind, x} o {kind, y}, una raya de lado a lado; {kind, area: [[x, menor,
   mayor], …]}, una banda, y {kind, spot: [x, y]}, un punto. names([{text, y, here}]) pone nombre a la derecha a lo que
   acaba a esa altura; los que caerían juntos se apartan. onpick recibe la x donde se toca o se arrastra. */
window.atentoExplorers.add(({h, svg}) => {
  const chart = ({x: [x0, x1], y: [y0, y1], levels, feet, onpick, named}) => {
    const WIDTH = 600,
      HEIGHT = 150,
      GAP = 11, // lo que se apartan dos nombres, en partes de cien de la altura
      still = {"vector-effect": "non-scaling-stroke"};
    const share = (x) => (x - x0) / (x1 - x0),
      rise = (y) => (y - y0) / (y1 - y0);
    const across = (x) => (WIDTH * share(x)).toFixed(1),
      up = (y) => (HEIGHT * (1 - rise(y))).toFixed(1);
    const joined = (points) => points.map(([x, y]) => `${across(x)},${up(y)}`).join(" ");
    const art = svg("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none"}),
      plot = h("div", {class: `plot ${onpick ? "picked" : ""}`}, art),
      scale = levels && h("p", {class: "levels"}, levels.map((text) => h("span", null, text))),
      tags = named && h("div", {class: "names"});
    function shape({kind, points, area, x, y}) {
      if (points) return svg("polyline", {class: kind, points: joined(points), ...still});
      if (area) {
        const [highs, lows] = [2, 1].map((k) => area.map((row) => [row[0], row[k]]));
        return svg("polygon", {class: kind, points: joined([...highs, ...lows.reverse()])});
      }
      const d = y === undefined ? `M${across(x)} 0V${HEIGHT}` : `M0 ${up(y)}H${WIDTH}`;
      return svg("path", {class: kind, d, ...still});
    }
    function draw(parts) {
      const spots = parts.filter(({spot}) => spot);
      art.replaceChildren(...parts.filter(({spot}) => !spot).map(shape));
      plot.replaceChildren(art, ...spots.map(({kind, spot: [x, y]}) => h("span", {class: kind, style: `left:${100 * share(x)}%;bottom:${100 * rise(y)}%`})));
    }
    function names(list) {
      const placed = list.map((one) => ({...one, at: 100 * Math.min(1, rise(one.y))})).sort((a, b) => a.at - b.at);
      placed.forEach((one, k) => k && (one.at = Math.max(one.at, placed[k - 1].at + GAP)));
      const over = Math.max(0, placed.at(-1).at - 100);
      tags.replaceChildren(...placed.map(({text, at, here}) => h("span", {class: here ? "here" : "", style: `bottom:${at - over}%`}, text)));
    }
    function drag(event) {
      if (event.type === "pointermove" && !event.buttons) return;
      const box = plot.getBoundingClientRect();
      onpick(x0 + (x1 - x0) * Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)));
    }
    if (onpick) for (const type of ["pointerdown", "pointermove"]) plot.addEventListener(type, drag);
    const node = h(
      "div",
      {class: "chart", "aria-hidden": "true"},
      scale,
      h("div", {class: "drawn"}, plot, feet && h("p", {class: "ends"}, feet.map((text) => h("span", null, text)))),
      tags,
    );
    return {node, draw, names, level: (i, text) => (scale.children[i].textContent = text)};
  };
  return {chart};
});
