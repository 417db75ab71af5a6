/* Los tensores de un paso de un Transformer, pila por pila y etapa por etapa, con los nombres de la biblioteca. signs
   dice cómo se escribe cada símbolo; draw recibe {run, config, step, head}, lo que se enseña. */
window.atentoExplorers.add(({h, number, choice, group, heat}) => ({
  tensors(signs) {
    const READ = "read", // sus filas, o sus columnas, son los símbolos que lee
      WRITTEN = "written"; // o los que ha escrito
    let seen,
      stack = "decoder",
      piece = "decoder.blocks.0.cross_attention.weights",
      row = 0;

    // ---- El catálogo: cómo se llama cada tensor, qué dice y cómo se dibuja ------------------------------------------
    const TURNED = "ya giradas según su lugar (RoPE).";
    const PARTS = {
      read: {label: "lee", about: "El flujo residual normalizado: lo que ve la subcapa."},
      query: {label: "consultas", about: `Qué busca cada símbolo, en cada cabeza; ${TURNED}`, role: "query"},
      key: {label: "claves", about: `Con qué se compara cada consulta; ${TURNED}`, role: "key", isLooked: true},
      value: {label: "valores", about: "Lo que entrega cada símbolo a quien lo mira.", role: "value", isLooked: true},
      scores: {
        label: "puntuaciones",
        about: "Cada consulta por cada clave, entre la raíz del tamaño de la cabeza; aún sin enmascarar.",
        draw: maps,
      },
      weights: {label: "pesos", about: "La softmax de las puntuaciones: cada fila suma 1.", draw: maps, isShare: true},
      output: {label: "promedios", about: "Los valores, promediados con los pesos, en cada cabeza."},
      hidden: {
        label: "capa interna",
        about: "Las unidades de la red densa por posición, tras la ReLU: las apagadas valen 0.",
      },
      added: {label: "añade", about: "Lo que la subcapa suma al flujo residual."},
      stream: {label: "flujo residual", about: "Lo que había más lo que la subcapa añade."},
    };
    const KINDS = {
      attention: "autoatención",
      cross_attention: "atención cruzada",
      feed_forward: "red densa por posición",
    };
    const WHOLE = {
      "encoder.tokens": {
        label: "tokens",
        about:
          "Cada símbolo es un número del vocabulario. Su lugar dice cuánto giran sus consultas y sus claves: " +
          "0 en las unidades, 1 en las decenas… y −1 en lo que no es cifra.",
        draw: tokenTable,
        rows: READ,
      },
      "encoder.embeddings": {
        label: "embeddings",
        about: "Una fila por símbolo. La posición no se suma aquí: entra al girar consultas y claves.",
        rows: READ,
      },
      memory: {
        label: "memoria",
        about: "El flujo del codificador, normalizado: lo que el decodificador consulta en todos los pasos.",
        rows: READ,
      },
      "decoder.tokens": {
        label: "tokens",
        about: "El comienzo y lo ya escrito. Su lugar es el de la cifra que toca escribir.",
        draw: tokenTable,
        rows: WRITTEN,
      },
      "decoder.embeddings": {
        label: "embeddings",
        about: "Una fila por símbolo ya escrito, empezando por el comienzo.",
        rows: WRITTEN,
      },
      "decoder.final": {
        label: "salida",
        about: "El flujo del decodificador, normalizado. De su última fila salen los logits.",
        rows: WRITTEN,
      },
      logits: {
        label: "logits",
        about: "El producto de la última fila de la salida por el embedding de cada símbolo.",
        draw: signList,
      },
      probabilities: {
        label: "probabilidades",
        about: "La softmax de los logits. Se escribe el símbolo más probable.",
        draw: signList,
        isShare: true,
      },
    };
    /* Lo que se sabe de un tensor por su nombre, «pila.blocks.capa.subcapa.parte» o uno de los enteros. */
    function entryOf(name) {
      if (WHOLE[name]) return {draw: strips, ...WHOLE[name]};
      const [side, , , kind, part] = name.split("."),
        columns = side === "encoder" || kind === "cross_attention" ? READ : WRITTEN,
        entry = {draw: strips, columns, ...PARTS[part]};
      return {...entry, rows: entry.isLooked || side === "encoder" ? columns : WRITTEN};
    }

    /* Las etapas de una pila, en orden; una subcapa reúne sus tensores. */
    function stagesOf() {
      const depth = seen.config[`n_${stack}_layers`],
        alone = (name) => ({label: entryOf(name).label, names: [name]}),
        after = stack === "encoder" ? ["memory"] : ["decoder.final", "logits", "probabilities"];
      const inner = [...Array(depth).keys()].flatMap((layer) =>
        Object.entries(KINDS).flatMap(([kind, called]) => {
          const names = Object.keys(PARTS).map((part) => `${stack}.blocks.${layer}.${kind}.${part}`),
            stream = names.pop(),
            label = kind === "attention" && stack === "decoder" ? "autoatención causal" : called;
          if (!(stream in seen.run.tensors)) return [];
          const made = names.filter((name) => name in seen.run.tensors);
          return [{label: depth > 1 ? `${label} ${layer + 1}` : label, names: made}, alone(stream)];
        }),
      );
      return [...[`${stack}.tokens`, `${stack}.embeddings`].map(alone), ...inner, ...after.map(alone)];
    }

    // ---- Los mandos -------------------------------------------------------------------------------------------------
    /* De cada etapa se enseña primero lo que más dice. */
    const favourite = (names) => names.find((name) => /weights$|hidden$/.test(name)) ?? names[0];
    const stacks = choice({
      label: "Pila",
      value: 1,
      options: ["codificador: lee", "decodificador: escribe"],
      onchange(i) {
        stack = ["encoder", "decoder"][i];
        show(stagesOf().flatMap(({names}) => names).find((name) => name.endsWith("weights")));
      },
    });
    let all, at; // las etapas, y cuál se ve
    const stages = group("Etapa", (i) => show(favourite(all[i].names))),
      parts = group("Tensor", (i) => show(all[at].names[i])),
      partsBox = h("div", {class: "add-parts"}, parts.node),
      panel = h("div", {class: "add-panel"});
    function show(name) {
      piece = name;
      all = stagesOf();
      at = all.findIndex(({names}) => names.includes(piece));
      stages.set(all.map(({label}) => label), at);
      const {names} = all[at],
        offered = names.length > 1 ? names : [];
      parts.set(offered.map((each) => entryOf(each).label), names.indexOf(piece));
      partsBox.hidden = !offered.length;
      drawPanel();
    }

    // ---- Los dibujos ------------------------------------------------------------------------------------------------
    /* Del decodificador se enseña hasta este paso; lo demás aún no existía. */
    const idsOf = (side) => (side === READ ? seen.run.ids : seen.run.inputs.slice(0, seen.step + 1)),
      signsOf = (side) => idsOf(side).map((id) => signs[id]),
      isTable = (tensor) => Array.isArray(tensor[0]);
    function visible(name) {
      const {draw, rows: side, columns} = entryOf(name),
        tensor = seen.run.tensors[name],
        cut = (rows) => rows.slice(0, idsOf(side).length);
      if (draw === tokenTable) return idsOf(side);
      if (draw === signList) return tensor[seen.step];
      if (draw === maps) return tensor.map((rows) => cut(rows).map((one) => one.slice(0, idsOf(columns).length)));
      return isTable(tensor[0]) ? tensor.map(cut) : cut(tensor);
    }
    const shapeOf = (tensor) => (Array.isArray(tensor) ? [tensor.length, ...shapeOf(tensor[0])] : []);
    const note = (text) => h("p", {class: "add-note"}, text);

    function drawPanel() {
      const entry = entryOf(piece),
        tensor = visible(piece),
        size = h("span", {class: "add-size"}, `(${shapeOf(tensor).join(", ")})`),
        title = h("p", {class: "add-name named"}, h("b", null, entry.label), " ", size, h("code", null, piece));
      panel.replaceChildren(title, note(entry.about), entry.draw(tensor, entry));
    }
    /* Una tabla. Cada fila, su rótulo, sus celdas y si es la de ahora. */
    const cell = (text, more) => h("td", more, text),
      head = (scope, text) => h("th", {scope}, text),
      line = ([name, cells, isNow]) => h("tr", {class: isNow && "add-current"}, head("row", name), cells),
      grid = (kind, rows, ...above) => h("table", {class: `${kind} bare`}, above, h("tbody", null, rows.map(line)));

    function tokenTable(ids, {rows: side}) {
      const places = side === READ ? seen.run.places : ids.map((_, i) => i);
      const rows = {símbolo: signsOf(side), número: ids, lugar: places.map((one) => number(one, 0))};
      return grid("add-table", Object.entries(rows).map(([name, row]) => [name, row.map((text) => cell(text))]));
    }

    /* Un número por símbolo del vocabulario. */
    function signList(values, {isShare}) {
      const widest = Math.max(...values.map(Math.abs)),
        color = (value) => (isShare ? heat(value) : tint(value / widest)),
        text = (value) => number(value, isShare ? 3 : 2),
        one = (value, id) => h("li", {style: color(value)}, h("b", null, signs[id]), " ", text(value));
      return h("ul", {class: "add-signs"}, values.map(one));
    }

    /* Un mapa por cabeza, o solo el de la elegida: filas, quien pregunta; columnas, a quién mira. */
    function maps(heads, {isShare, rows: asking, columns: looked}) {
      const [asks, looks] = [signsOf(asking), signsOf(looked)],
        widest = Math.max(1e-9, ...heads.flat(2).map(Math.abs)),
        what = isShare ? "peso" : "puntuación";
      const one = (value, i, j, k) => {
        const isHidden = looked === WRITTEN && j > i && isShare,
          tip = `Cabeza ${k + 1}: «${asks[i]}» mira a «${looks[j]}», ${what} ${number(value, 3)}`,
          style = isHidden ? "" : isShare ? heat(value) : tint(value / widest);
        return cell(number(value, isShare ? 2 : 1), {"data-tip": tip, class: isHidden ? "hatched" : "", style});
      };
      const top = h("thead", null, h("tr", null, h("td"), looks.map((sign) => head("col", sign))));
      const map = (scores, k) => {
        const isNow = (i) => asking === WRITTEN && i === seen.step,
          rows = scores.map((values, i) => [asks[i], values.map((value, j) => one(value, i, j, k)), isNow(i)]);
        return grid("add-map", rows, h("caption", null, `cabeza ${k + 1}`), top.cloneNode(true));
      };
      return h("div", {class: "add-maps"}, heads.map(map).filter((_, k) => seen.head < 0 || k === seen.head));
    }
    const tint = (share, role = "attention") => `background:${shade(share, role, 50)};color:var(--on-low)`;
    /* El color crece con la raíz del valor: así se ven también los pequeños. */
    const shade = (share, role, most = 100) => {
      const part = (most * Math.sqrt(Math.abs(share))).toFixed(0);
      return `color-mix(in srgb,var(--${share < 0 ? "muted" : role}) ${part}%,var(--paper))`;
    };

    /* Una tira por fila: cada número, un color; violeta (o el de su papel) si es positivo, gris si es negativo. */
    function strips(tensor, {role = "attention", rows: asking}) {
      const byHead = isTable(tensor[0]),
        rows = byHead ? tensor[0].map((_, i) => tensor.map((head) => head[i])) : tensor.map((values) => [values]),
        flat = rows.flat(2),
        widest = Math.max(1e-9, ...flat.map(Math.abs)),
        names = signsOf(asking),
        numbers = h("div", {class: "add-numbers", tabindex: 0, role: "group"});
      const spread = (values) => {
        const end = (c) => `${((100 * c) / values.length).toFixed(2)}%`,
          stops = values.map((value, c) => `${shade(value / widest, role)} ${end(c)} ${end(c + 1)}`);
        return h("span", {class: "add-strip", style: `background:linear-gradient(to right,${stops.join()})`});
      };
      const told = (values, k) =>
        h("p", null, byHead && h("b", null, `cabeza ${k + 1}: `), values.map((value) => number(value)).join("  "));
      function write(i) {
        row = i;
        numbers.setAttribute("aria-label", `Los números de «${names[i]}»`);
        numbers.replaceChildren(...rows[i].map(told));
      }
      const first = asking === READ ? row : names.length - 1;
      const list = choice({
        label: "Fila",
        className: "add-rows",
        value: first,
        describe: (i) => `«${names[i]}», fila ${i + 1} de ${names.length}`,
        options: rows.map((values, i) => [
          h("span", {class: "add-label"}, names[i]),
          h("span", {class: "add-segments"}, values.map(spread)),
        ]),
        onchange: write,
      });
      write(first);
      const ends = [Math.min(...flat), Math.max(...flat)].map((value) => number(value)).join(" a "),
        more = byHead ? "; una parte por cabeza" : "";
      const key = note(`de ${ends}; en gris, los negativos; el color crece con la raíz del valor${more}`);
      return h("div", null, list.node, key, numbers);
    }

    const box = (kind, node) => h("div", {class: kind}, node);
    return {
      node: h("div", null, box("add-stacks", stacks.node), box("add-stages", stages.node), partsBox, panel),
      draw(change) {
        seen = change;
        show(piece);
      },
    };
  },
}));
