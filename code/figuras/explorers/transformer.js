/* Un Transformer entero en JavaScript: del fichero de los pesos a las probabilidades del símbolo siguiente.

   Los nombres son los de la biblioteca y cada tensor se guarda con el suyo: "decoder.blocks.0.cross_attention.weights".
   Solo sabe lo que usan los modelos del libro: norma delante de cada subcapa, ReLU y RoPE en todas las atenciones. Puede
   tener dos pilas o una sola, que escribe; con sus piezas, bert.js, vit.js y detr.js hacen otros. Calcula con 64 bits. Las
   matrices son listas de filas; las filas, posiciones. */
window.atentoTransformer ??= (() => {
  const {file, mix, softmax} = window.atentoExplorers;
  const ROPE_BASE = 10000;

  // ---- Leer el fichero (formato safetensors) ------------------------------------------------------------------------
  /* Un número de 16 bits: signo, 5 bits de exponente y 10 de fracción. */
  function half(bits) {
    const exponent = (bits >> 10) & 31,
      fraction = (bits & 1023) / 1024;
    return (bits >> 15 ? -1 : 1) * (exponent ? 2 ** (exponent - 15) * (1 + fraction) : 2 ** -14 * fraction);
  }

  /* La ficha del modelo y sus pesos, por su nombre: listas o matrices. */
  function unpack(base64) {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)),
      view = new DataView(bytes.buffer),
      start = 8 + view.getUint32(0, true);
    const {__metadata__: notes, ...tensors} = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
    const weights = {};
    for (const [name, {shape, data_offsets: [from, to]}] of Object.entries(tensors)) {
      const all = Array.from({length: (to - from) / 2}, (_, i) =>
        half(view.getUint16(start + from + 2 * i, true)),
      );
      const width = shape.slice(1).reduce((total, size) => total * size, 1); // un filtro es una fila
      weights[name] = shape.length > 1
        ? Array.from({length: shape[0]}, (_, r) => all.slice(r * width, (r + 1) * width))
        : all;
    }
    return {card: JSON.parse(notes.ficha), weights};
  }

  // ---- Las piezas ---------------------------------------------------------------------------------------------------
  function dot(a, b) {
    let total = 0;
    for (let i = 0; i < a.length; i++) total += a[i] * b[i];
    return total;
  }
  const add = (x, y) => x.map((row, i) => row.map((value, c) => value + y[i][c]));
  const mean = (row) => row.reduce((a, b) => a + b) / row.length;

  /* RoPE: la pareja de componentes (2i, 2i + 1) gira place · 10000^(−2i/d). */
  function rotate(row, place) {
    return row.map((value, c) => {
      const angle = place / ROPE_BASE ** ((c - (c % 2)) / row.length);
      const other = c % 2 ? row[c - 1] : -row[c + 1];
      return value * Math.cos(angle) + other * Math.sin(angle);
    });
  }

  /* GELU, con la función de error por su serie: sus términos tienen el mismo signo y no se pierden cifras. */
  function gelu(value) {
    const x = value / Math.SQRT2;
    let total = x;
    for (let n = 1, term = x; Math.abs(x) < 6 && Math.abs(term) > 1e-17; n++)
      total += term *= (2 * x * x) / (2 * n + 1);
    const erf = Math.abs(x) < 6 ? (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * total : Math.sign(x);
    return (value * (1 + erf)) / 2;
  }

  // ---- El modelo ----------------------------------------------------------------------------------------------------
  /* Todo pasa por via(nombre, filas), que puede apuntarlo o cambiarlo: lo que da una proyección o lee una norma, con su
     nombre; lo que da un embedding y lo que juntan las cabezas de una atención, con el suyo. */
  function model({card, weights}, via = (_, x) => x) {
    const {d_model: width, n_heads: heads, n_layers, n_decoder_layers} = card.config;
    const {n_encoder_layers = n_layers, norm_eps = 1e-5} = card.config, // lo que se suma a la varianza
      size = width / heads;

    const linear = (x, name) => {
      const matrix = weights[`${name}.weight`],
        bias = weights[`${name}.bias`];
      return via(name, x.map((row) => matrix.map((column, c) => dot(row, column) + bias[c])));
    };
    const norm = (x, name) =>
      via(name, x).map((row) => {
        const middle = mean(row),
          centered = row.map((value) => value - middle);
        const scale = Math.sqrt(mean(centered.map((value) => value * value)) + norm_eps);
        return centered.map(
          (value, c) => (weights[`${name}.weight`][c] * value) / scale + weights[`${name}.bias`][c],
        );
      });
    const embed = (ids, name) =>
      via(name, ids.map((id) => weights[`${name}.tokens.weight`][id].map((v) => v * width ** 0.5)));
    const split = (x) =>
      Array.from({length: heads}, (_, k) => x.map((row) => row.slice(k * size, (k + 1) * size)));
    const turn = (parts, places) =>
      places ? parts.map((rows) => rows.map((row, i) => rotate(row, places[i]))) : parts;

    /* Proyectar, repartir en cabezas, girar (si hay lugares), puntuar, escalar, enmascarar (lo que hides(i, j) diga),
       normalizar, promediar y unir. Los valores salen de la memoria, o de values si llevan otra cosa. */
    function attention(name, read, places, memory = read, memoryPlaces, hides, values = memory) {
      const query = turn(split(linear(read, `${name}.project_query`)), places),
        key = turn(split(linear(memory, `${name}.project_key`)), memoryPlaces),
        value = split(linear(values, `${name}.project_value`));
      const scores = query.map((rows, k) =>
        rows.map((row) => key[k].map((other) => dot(row, other) / Math.sqrt(size))),
      );
      const shares = scores.map((rows) =>
        rows.map((row, i) => softmax(row.map((score, j) => (hides?.(i, j) ? -Infinity : score)))),
      );
      const output = shares.map((rows, k) => rows.map((row) => mix(row, value[k])));
      const joined = via(name, read.map((_, i) => output.flatMap((rows) => rows[i]))),
        added = linear(joined, `${name}.project_output`);
      return {query, key, value, scores, weights: shares, output, added};
    }

    function feedForward(name, read, activate = (value) => Math.max(0, value)) {
      const hidden = linear(read, `${name}.expand`).map((row) => row.map(activate));
      return {hidden, added: linear(hidden, `${name}.contract`)};
    }

    /* Una subcapa: lee el flujo normalizado y suma lo que calcula. Apunta todos sus tensores. */
    function sublayer(tensors, stack, layer, kind, x, compute) {
      const block = `${stack}.blocks.${layer}`,
        read = norm(x, `${block}.add_${kind}.norm`);
      const made = compute(`${block}.${kind}`, read),
        stream = add(x, made.added);
      for (const [name, tensor] of Object.entries({read, ...made, stream}))
        tensors[`${block}.${kind}.${name}`] = tensor;
      return stream;
    }

    /* El codificador: de los símbolos a la memoria, (n, width). Si es causal, cada uno ve solo lo anterior. */
    function encode(ids, places, {embedding = "embed_source", isCausal} = {}) {
      const tensors = {},
        hides = (i, j) => isCausal && j > i;
      let x = (tensors["encoder.embeddings"] = embed(ids, embedding));
      for (let layer = 0; layer < n_encoder_layers; layer++) {
        const put = (kind, compute) => sublayer(tensors, "encoder", layer, kind, x, compute);
        x = put("attention", (name, read) => attention(name, read, places, read, places, hides));
        x = put("feed_forward", feedForward);
      }
      tensors.memory = norm(x, "encoder.final_norm");
      return tensors;
    }

    /* El decodificador: puntúa lo que sigue a cada símbolo ya escrito, sin ver de la memoria lo que esté en hidden. */
    function decode(ids, memory, memoryPlaces, hidden = []) {
      const tensors = {},
        places = ids.map((_, i) => i);
      let x = (tensors["decoder.embeddings"] = embed(ids, "embed_target"));
      for (let layer = 0; layer < n_decoder_layers; layer++) {
        const put = (kind, compute) => sublayer(tensors, "decoder", layer, kind, x, compute);
        x = put("attention", (name, read) => attention(name, read, places, read, places, (i, j) => j > i));
        x = put("cross_attention", (name, read) =>
          attention(name, read, places, memory, memoryPlaces, (_, j) => hidden[j]),
        );
        x = put("feed_forward", feedForward);
      }
      tensors["decoder.final"] = norm(x, "decoder.final_norm");
      tensors.logits = tensors["decoder.final"].map((row) =>
        weights["embed_target.tokens.weight"].map((token) => dot(row, token)),
      );
      tensors.probabilities = tensors.logits.map(softmax);
      return tensors;
    }

    /* Escribe: cada vez, el símbolo más probable, hasta el fin o hasta most. Con él vuelven todos los tensores. */
    function write(source, places, {bos_id, eos_id} = card.config, most = 6) {
      const read = encode(source, places),
        inputs = [bos_id],
        written = [];
      for (;;) {
        const tensors = decode(inputs, read.memory, places),
          last = tensors.probabilities.at(-1),
          next = last.indexOf(Math.max(...last));
        written.push(next);
        if (next === eos_id || written.length === most)
          return {written, inputs, tensors: {...read, ...tensors}};
        inputs.push(next);
      }
    }
    /* Una sola pila: las puntuaciones de lo que sigue a unos tokens, (vocab,). */
    function next(ids) {
      const {memory} = encode(ids, [...ids.keys()], {embedding: "embed", isCausal: true}),
        table = weights["project.weight"] ?? weights["embed.tokens.weight"];
      return table.map((token) => dot(memory.at(-1), token));
    }
    return {card, weights, write, encode, decode, next, dot, linear, norm, attention, feedForward, gelu,
      through: (other) => model({card, weights}, other),
    };
  }

  return {load: async (name) => model(unpack(await file(name)))};
})();
