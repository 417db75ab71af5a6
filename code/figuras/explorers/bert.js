/* El codificador de BERT con las piezas de transformer.js: del fichero de sus pesos a una función que recibe los números
   de una frase y da las puntuaciones de cada palabra en cada sitio, (n, vocab). Suma la palabra, su lugar y el primer
   segmento; la norma va detrás de cada suma, la red densa usa GELU, y nadie está tapado para nadie. */
window.atentoBert ??= async (name) => {
  const {card, weights, linear, norm, attention, feedForward, gelu} = await window.atentoTransformer.load(name);
  const add = (x, y) => x.map((row, i) => row.map((value, c) => value + y[i][c]));
  const rowOf = (table, i) => weights[`bert.embed.${table}`][i];
  weights["words.project.weight"] = weights["bert.embed.tokens.weight"]; // es la misma matriz

  return (ids) => {
    const segment = rowOf("segments.weight", 0),
      words = ids.map((id) => rowOf("tokens.weight", id).map((value, c) => value + segment[c]));
    let x = norm(add(words, weights["bert.embed.positions.table"]), "bert.embed.norm");
    for (let layer = 0; layer < card.config.n_layers; layer++) {
      const block = `bert.encoder.blocks.${layer}`;
      const put = (kind, made) => norm(add(x, made.added), `${block}.add_${kind}.norm`);
      x = put("attention", attention(`${block}.attention`, x));
      x = put("feed_forward", feedForward(`${block}.feed_forward`, x, gelu));
    }
    const states = linear(x, "words.dense").map((row) => row.map(gelu));
    return linear(norm(states, "words.norm"), "words.project");
  };
};
