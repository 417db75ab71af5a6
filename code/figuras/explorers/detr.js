/* DETR con las piezas de transformer.js: del fichero de sus pesos a una función que recibe la tinta de una imagen, por
   filas, y da lo que contesta cada consulta: probs (consulta, clase), con «sin objeto» la última, y boxes (consulta, 4),
   centro y tamaño en fracciones de la imagen. La norma va delante de cada subcapa, y cada consulta corrige en cada capa
   la caja de la anterior y se muda a su centro. */
window.atentoDetr ??= async (name) => {
  const {card, weights, dot, linear, norm, attention, feedForward} = await window.atentoTransformer.load(name);
  const {softmax} = window.atentoExplorers;
  const {d_model, widths, n_convs, n_encoder_layers, n_decoder_layers} = card.config,
    {image_size, position_scale, temperature, position_gain} = card.config;
  const GROUPS = 8,
    EPS = 1e-5;
  const range = (n) => [...Array(n).keys()],
    gcd = (a, b) => (b ? gcd(b, a % b) : a),
    sigmoid = (value) => 1 / (1 + Math.exp(-value)),
    add = (x, y) => x.map((row, i) => row.map((value, c) => value + y[i][c]));

  // ---- La convolución: cada mapa es (celda, canal) -------------------------------------------------------------------
  /* Una convolución de 3 × 3 con un cero alrededor. Cada filtro es una fila: canal, alto y ancho. */
  function convolve(x, side, name, stride) {
    const channels = x[0].length,
      out = Math.ceil(side / stride),
      filters = weights[`${name}.weight`];
    return range(out ** 2).map((at) => {
      const top = stride * Math.floor(at / out) - 1,
        left = stride * (at % out) - 1,
        patch = Array(9 * channels).fill(0);
      for (let k = 0; k < 9; k++) {
        const r = top + Math.floor(k / 3),
          c = left + (k % 3);
        if (r < 0 || c < 0 || r >= side || c >= side) continue;
        const cell = x[r * side + c];
        for (let channel = 0; channel < channels; channel++) patch[9 * channel + k] = cell[channel];
      }
      return filters.map((filter) => dot(patch, filter));
    });
  }
  /* La norma por grupos de canales, y la ReLU. */
  function groupNorm(x, name) {
    const channels = x[0].length,
      size = channels / gcd(GROUPS, channels),
      [gain, bias] = [weights[`${name}.weight`], weights[`${name}.bias`]];
    const scales = range(channels / size).map((group) => {
      const all = x.flatMap((row) => row.slice(group * size, (group + 1) * size)),
        mean = all.reduce((a, b) => a + b) / all.length;
      return [mean, Math.sqrt(all.reduce((total, value) => total + (value - mean) ** 2, 0) / all.length + EPS)];
    });
    return x.map((row) =>
      row.map((value, c) => {
        const [mean, spread] = scales[Math.floor(c / size)];
        return Math.max(0, (gain[c] * (value - mean)) / spread + bias[c]);
      }),
    );
  }
  function backbone(image) {
    let side = image_size,
      x = image.flat().map((ink) => [ink]);
    for (let layer = 0; layer < widths.length + n_convs; layer++) {
      const stride = layer < widths.length ? 2 : 1;
      x = groupNorm(convolve(x, side, `backbone.layers.${layer}.0`, stride), `backbone.layers.${layer}.1`);
      side = Math.ceil(side / stride);
    }
    return norm(linear(x, "backbone.project"), "backbone.norm");
  }

  // ---- Dónde está cada cosa: senos de la altura y, detrás, de la anchura ---------------------------------------------
  const waves = (at) =>
    range(d_model / 4).flatMap((k) => {
      const angle = (at * position_scale) / temperature ** ((4 * k) / d_model);
      return [position_gain * Math.sin(angle), position_gain * Math.cos(angle)];
    });
  const place = ([x, y]) => [...waves(y), ...waves(x)];
  const side = image_size / 2 ** widths.length,
    middle = (i) => (i + 0.5) / side,
    places = range(side ** 2).map((i) => place([middle(i % side), middle(Math.floor(i / side))]));

  // ---- Las capas ---------------------------------------------------------------------------------------------------
  const looks = (name, x, own) => attention(name, add(x, own), null, undefined, null, null, x).added;
  function encode(image) {
    let x = backbone(image);
    for (const block of range(n_encoder_layers).map((layer) => `encoder.${layer}`)) {
      x = add(x, looks(`${block}.attention`, norm(x, `${block}.add_attention.norm`), places));
      x = add(x, feedForward(`${block}.feed_forward`, norm(x, `${block}.add_feed_forward.norm`)).added);
    }
    return norm(x, "encoder_norm");
  }
  const relu = (x) => x.map((row) => row.map((value) => Math.max(0, value)));
  const locate = (x) => linear(relu(linear(relu(linear(x, "locate.0")), "locate.2")), "locate.4");
  return (image) => {
    const memory = encode(image),
      keys = add(memory, places);
    let x = weights.queries,
      fixed = weights.starts,
      seen;
    for (const block of range(n_decoder_layers).map((layer) => `decoder.${layer}`)) {
      const own = fixed.map((box) => place(box.map(sigmoid)));
      x = add(x, looks(`${block}.attention`, norm(x, `${block}.add_attention.norm`), own));
      const asking = add(norm(x, `${block}.add_cross_attention.norm`), own);
      x = add(x, attention(`${block}.cross_attention`, asking, null, keys, null, null, memory).added);
      x = add(x, feedForward(`${block}.feed_forward`, norm(x, `${block}.add_feed_forward.norm`)).added);
      seen = norm(x, "decoder_norm");
      fixed = add(fixed, locate(seen));
    }
    return {probs: linear(seen, "classify").map(softmax), boxes: fixed.map((box) => box.map(sigmoid))};
  };
};
