/* Un sorteo a la vista: los mandos que quitan papeletas, y una barra por cada una de las que más puntúan, antes y
   después de ellos. */
window.atentoExplorers.add(({h, number, slider, softmax, lot, ordered}) => {
  const MOST = 50; // el mayor top-k

  /* Los mandos de top-k y top-p, que empiezan sin filtrar; de size papeletas, k las deja todas en su tope. */
  function filters(size, update) {
    const most = Math.min(size, MOST),
      leave = (k) => update({k: k === most ? size : k}),
      share = (p) => update({p});
    const unless = (off, text) => (x) => (x === off ? "no filtra" : text(x));
    return [
      slider({label: "top-k", min: 1, max: most, step: 1, value: most, text: unless(most, String), oninput: leave}),
      slider({label: "top-p", min: 0.05, max: 1, step: 0.05, value: 1, text: unless(1, number), oninput: share}),
    ];
  }

  /* Las bars papeletas que más puntúan y, en una, las demás, que others(cuántas) nombra. key dice qué es cada trazo.
     draw(puntuaciones, probabilidades, si queda una) las pinta: lo que da el modelo y lo que hay tras los mandos.
     more(sus números, si son las demás) añade a una papeleta {mark, tip, times}: una marca, lo que se lee al tocarla y
     cuánto ha salido. */
  function ballot({names, bars, others, more = () => ({})}) {
    const node = h("div", {class: "lots"}),
      key = h("p", {class: "hush"}, "Barra: probabilidad tras los mandos. Raya: la que da el modelo.");
    function draw(logits, probs, stays = (i) => probs[i] > 0) {
      const plain = softmax(logits),
        order = ordered(logits),
        rest = order.slice(bars);
      const line = (name, chosen, isRest) => {
        const [share, was] = [probs, plain].map((values) => chosen.reduce((total, i) => total + values[i], 0)),
          left = chosen.filter(stays).length,
          {mark, tip = "", times} = more(chosen, isRest),
          count = isRest ? `; quedan ${left} de ${chosen.length}` : "",
          told = `${name}: el modelo le da ${number(was, 4)}; tras los mandos, ${number(share, 4)}${tip}${count}`;
        return lot({name: [name, mark], share, was, left, text: number(share, 3), tip: told, times});
      };
      const last = rest.length ? [line(others(rest.length), rest, true)] : [];
      node.replaceChildren(...order.slice(0, bars).map((i) => line(names[i], [i])), ...last);
    }
    return {node, key, draw};
  }

  return {filters, ballot};
});
