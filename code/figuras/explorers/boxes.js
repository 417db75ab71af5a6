/* Lo de atento.boxes que hace falta en la página. Una caja son sus esquinas, [x0, y0, x1, y1], o su centro, su ancho y
   su alto. */
window.atentoBoxes ??= (() => {
  const toCorners = ([x, y, w, h]) => [x - w / 2, y - h / 2, x + w / 2, y + h / 2],
    toCenter = ([x0, y0, x1, y1]) => [(x0 + x1) / 2, (y0 + y1) / 2, x1 - x0, y1 - y0],
    area = ([x0, y0, x1, y1]) => (x1 - x0) * (y1 - y0);

  /* El GIoU de dos cajas, en esquinas. */
  function giou(a, b) {
    const ends = (pick, from) => [0, 1].map((k) => pick(a[from + k], b[from + k])),
      [low, high] = [ends(Math.max, 0), ends(Math.min, 2)],
      shared = Math.max(0, high[0] - low[0]) * Math.max(0, high[1] - low[1]),
      union = area(a) + area(b) - shared,
      hull = area([...ends(Math.min, 0), ...ends(Math.max, 2)]);
    return (union > 0 ? shared / union : 0) - (hull > 0 ? (hull - union) / hull : 0);
  }

  /* De cada columna de los costes, (fila, columna), la fila que se la queda en el reparto que menos cuesta. Hay pocas
     columnas: se prueban todos. */
  function match(costs) {
    const count = costs[0].length;
    let least = Infinity,
      owners;
    const go = (taken, total) => {
      if (taken.length === count) {
        if (total < least) [least, owners] = [total, taken];
        return;
      }
      costs.forEach((row, k) => {
        if (!taken.includes(k)) go([...taken, k], total + row[taken.length]);
      });
    };
    go([], 0);
    return owners;
  }
  return {toCorners, toCenter, giou, match};
})();
