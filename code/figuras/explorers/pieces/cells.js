/* Una rejilla de celdas que se recorre con las flechas y se pinta: pasando el ratón o el dedo, con la barra o con
   Intro. move(i, j) se llama al llegar a una celda; paint(i, j, valor), al pintarla, e isOn(i, j) dice cómo está.
   set(i, j, {text, tone, kind, tip, on, here}) la escribe; tone, de 0 a 1, es cuánto se tiñe. */
window.atentoExplorers.add(({h, heat}) => {
  const cells = ({label, corner, rows, columns, move, paint, isOn}) => {
    let at = [0, 0],
      brush = null;
    const go = (i, j) => (i !== at[0] || j !== at[1]) && move(i, j);
    const cells = rows.map((_, i) =>
      columns.map((_, j) => h("td", {role: "gridcell", "data-cell": `${i},${j}`, onfocus: () => go(i, j)})),
    );
    const lines = rows.map((word, i) => h("tr", null, h("th", {scope: "row"}, word), cells[i]));
    const heads = columns.map((word) => h("th", {scope: "col"}, h("span", null, word)));
    const node = h(
      "table",
      {class: "paint bare", role: "grid", "aria-label": label},
      h("thead", null, h("tr", null, h("th", {class: "corner", scope: "col"}, corner), heads)),
      h("tbody", null, lines),
    );
    const under = ({clientX, clientY}) => {
      const cell = document.elementFromPoint(clientX, clientY)?.closest("[data-cell]");
      return node.contains(cell) ? cell.dataset.cell.split(",").map(Number) : null;
    };
    node.addEventListener("pointerdown", (event) => {
      const spot = under(event);
      if (!spot || event.button) return;
      event.preventDefault();
      event.target.releasePointerCapture?.(event.pointerId);
      brush = !isOn(...spot);
      paint(...spot, brush);
      cells[spot[0]][spot[1]].focus({preventScroll: true});
    });
    node.addEventListener("pointermove", (event) => {
      const spot = brush === null ? null : under(event);
      if (spot && isOn(...spot) !== brush) paint(...spot, brush);
    });
    for (const type of ["pointerup", "pointercancel"]) window.addEventListener(type, () => (brush = null));
    node.addEventListener("keydown", (event) => {
      const [i, j] = at,
        [bottom, right] = [rows.length - 1, columns.length - 1];
      const to = {
        ArrowUp: [Math.max(0, i - 1), j],
        ArrowDown: [Math.min(bottom, i + 1), j],
        ArrowLeft: [i, Math.max(0, j - 1)],
        ArrowRight: [i, Math.min(right, j + 1)],
        Home: [i, 0],
        End: [i, right],
      }[event.key];
      if (event.key === " " || event.key === "Enter") paint(i, j, !isOn(i, j));
      else if (to) cells[to[0]][to[1]].focus();
      else return;
      event.preventDefault();
    });
    function set(i, j, {text, tone, kind = "", tip, on, here}) {
      const cell = cells[i][j];
      if (here) at = [i, j];
      cell.textContent = text;
      cell.className = `${kind} ${here ? "chosen" : ""}`;
      cell.style.cssText = tone === undefined ? "" : heat(tone);
      cell.tabIndex = here ? 0 : -1;
      cell.setAttribute("aria-selected", on);
      cell.setAttribute("aria-label", tip);
      cell.dataset.tip = tip;
    }
    return {node, set};
  };
  return {cells};
});
