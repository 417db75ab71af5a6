/* Whisper con las piezas de transformer.js: del fichero de sus pesos a una función que recibe un log-mel, (marco, mel), y
   escribe lo que oye, cada vez el símbolo más probable. Devuelve written, los números escritos con el fin; probs
   (escrito, vocabulario), y looks (capa, cabeza, escrito, fila), los pesos de la atención cruzada. La norma va delante de
   cada subcapa, la red densa usa GELU y las claves no llevan sesgo. */
window.atentoWhisper ??= async (name) => {
  const {card, weights, dot, linear, norm, attention, feedForward, gelu} = await window.atentoTransformer.load(name);
  const {softmax} = window.atentoExplorers,
    {d_model, n_layers, bos_id, eos_id} = card.config;
  const range = (n) => [...Array(n).keys()],
    add = (x, y) => x.map((row, i) => row.map((value, c) => value + y[i][c]));
  for (const key of Object.keys(weights)) {
    if (key.endsWith("project_key.weight")) weights[key.replace(/weight$/, "bias")] = Array(d_model).fill(0);
  }

  /* Una convolución de tres filas, con ceros en los extremos, y GELU. Cada filtro es una fila: canal y sitio. */
  function convolve(x, name, stride) {
    const bias = weights[`${name}.bias`],
      none = Array(x[0].length).fill(0);
    return range(Math.ceil(x.length / stride)).map((at) => {
      const [before, here, after] = [-1, 0, 1].map((k) => x[stride * at + k] ?? none),
        patch = none.flatMap((_, c) => [before[c], here[c], after[c]]);
      return weights[`${name}.weight`].map((filter, c) => gelu(dot(patch, filter) + bias[c]));
    });
  }
  /* Las sinusoides de Whisper: delante, los senos; detrás, los cosenos. */
  const half = d_model / 2,
    angles = (at) => range(half).map((k) => at * 10000 ** (-k / (half - 1))),
    place = (at) => [...angles(at).map(Math.sin), ...angles(at).map(Math.cos)];

  const inside = (block, kind, x, compute) => {
    const made = compute(`${block}.${kind}`, norm(x, `${block}.add_${kind}.norm`));
    return [add(x, made.added), made.weights];
  };
  const dense = (name, read) => feedForward(name, read, gelu);
  function encode(features) {
    let x = convolve(convolve(features, "listen.first", 1), "listen.second", 2);
    x = add(x, x.map((_, at) => place(at)));
    for (const block of range(n_layers).map((layer) => `encoder.blocks.${layer}`)) {
      [x] = inside(block, "attention", x, (name, read) => attention(name, read));
      [x] = inside(block, "feed_forward", x, dense);
    }
    return norm(x, "encoder.final_norm");
  }
  function decode(ids, memory) {
    const looks = [];
    let seen,
      x = ids.map((id, i) => weights["embed_target.tokens.weight"][id].map((value, c) => value + weights["embed_target.positions.table"][i][c]));
    for (const block of range(n_layers).map((layer) => `decoder.blocks.${layer}`)) {
      [x] = inside(block, "attention", x, (name, read) => attention(name, read, null, read, null, (i, j) => j > i));
      [x, seen] = inside(block, "cross_attention", x, (name, read) => attention(name, read, null, memory));
      [x] = inside(block, "feed_forward", x, dense);
      looks.push(seen);
    }
    const scores = norm(x, "decoder.final_norm").map((row) => weights["embed_target.tokens.weight"].map((token) => dot(row, token)));
    return {probs: scores.map(softmax), looks};
  }
  let last = []; // lo que escribió la vez anterior: si lo repite, basta con una pasada
  return (features, most) => {
    const memory = encode(features);
    for (let ids = [bos_id, ...last.slice(0, -1)]; ; ids = [bos_id, ...last]) {
      const {probs, looks} = decode(ids, memory),
        next = probs.map((row) => row.indexOf(Math.max(...row))),
        count = 1 + next.findIndex((id, i) => id !== ids[i + 1]), // hasta aquí es lo que escribe
        first = (rows) => rows.slice(0, count);
      last = first(next);
      if (last.at(-1) === eos_id || count === most) return {written: last, probs: first(probs), looks: looks.map((heads) => heads.map(first))};
    }
  };
};
