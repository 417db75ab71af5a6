/* Tablas que cambian. */
window.atentoExplorers.add(({h}) => {
  /* Una tabla viva. Cada fila es {kind, tip, cells}; la primera celda es su rótulo. */
  function table(heads, rows, {caption, kind = ""} = {}) {
    const line = ({kind: own, tip, cells: [first, ...others]}) =>
      h("tr", {class: own, "data-tip": tip}, h("th", {scope: "row"}, first), others.map((one) => (one?.tagName === "TD" ? one : h("td", null, one))));
    return h(
      "table",
      {class: `sheet ${kind}`},
      caption && h("caption", null, caption),
      h("thead", null, h("tr", null, heads.map((head) => (head?.tagName === "TH" ? head : head ? h("th", {scope: "col"}, head) : h("td"))))),
      h("tbody", null, rows.map(line)),
    );
  }
  return {table};
});
