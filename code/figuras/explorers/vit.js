/* ViT con las piezas de transformer.js: del fichero de sus pesos a una función que recibe los parches de una imagen,
   (n, píxeles), y qué posición le toca a cada uno, y da las puntuaciones de cada clase, scores, y los pesos de todas las
   cabezas, maps (capa, cabeza, fila, fila). Delante va la fila CLS; la norma va delante de cada subcapa, y la red densa
   usa GELU. */
window.atentoVit ??= async (name) => {
  const {card, weights, linear, norm, attention, feedForward, gelu} = await window.atentoTransformer.load(name);
  const add = (x, y) => x.map((row, i) => row.map((value, c) => value + y[i][c]));

  return (patches, places) => {
    const [own, ...table] = weights["embed.positions.table"],
      rows = [...weights["embed.added"], ...linear(patches, "embed.project")];
    let x = add(rows, [own, ...places.map((place) => table[place])]);
    const maps = [];
    for (let layer = 0; layer < card.config.n_layers; layer++) {
      const block = `encoder.blocks.${layer}`,
        read = (kind) => norm(x, `${block}.add_${kind}.norm`);
      const looked = attention(`${block}.attention`, read("attention"));
      x = add(x, looked.added);
      x = add(x, feedForward(`${block}.feed_forward`, read("feed_forward"), gelu).added);
      maps.push(looked.weights);
    }
    return {scores: linear(norm(x.slice(0, 1), "encoder.final_norm"), "classify")[0], maps};
  };
};
