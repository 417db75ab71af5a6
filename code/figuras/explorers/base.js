/* La base de los exploradores: dibujar, contar, manejar con teclado o dedo y leer en voz alta.

   Cada explorador se registra con su nombre, atentoExplorers.register("stepper", build), y build(stage, data, root)
   se llama una vez por cada elemento con data-atento-explorer="stepper". Este guion puede venir repetido: la segunda
   copia no hace nada. Lo que no usan todos (pasos, tablas, gráficos, rejillas) está en pieces/, y se añade a esto con add. */
(() => {
  const VERSION = "@VERSION@";
  if (window.atentoExplorers?.version === VERSION) return;

  // ---- Construir elementos --------------------------------------------------------------------------------------
  const SVG = "http://www.w3.org/2000/svg";

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value === true) node.setAttribute(name, "");
      else if (value !== false && value != null) node.setAttribute(name, value);
    }
    node.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
    return node;
  }
  const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) =>
    fill(document.createElementNS(SVG, tag), attributes, children);

  // ---- Las cuentas ----------------------------------------------------------------------------------------------
  const dot = (a, b) => a.reduce((total, value, i) => total + value * b[i], 0);
  const matmul = (rows, columns) =>
    rows.map((row) =>
      columns[0].map((_, j) => row.reduce((total, value, i) => total + value * columns[i][j], 0)),
    );

  /* Softmax de una fila; −Infinity es una clave tapada. Si lo están todas, los pesos son 0 y no NaN. */
  function softmax(scores) {
    const top = Math.max(...scores);
    if (top === -Infinity) return scores.map(() => 0);
    const exps = scores.map((score) => Math.exp(score - top));
    const total = exps.reduce((a, b) => a + b);
    return exps.map((value) => value / total);
  }
  function mix(weights, values) {
    return values[0].map((_, c) => {
      let total = 0;
      for (let j = 0; j < weights.length; j++) total += weights[j] * values[j][c];
      return total;
    });
  }
  const entropy = (weights) => -weights.reduce((total, w) => total + (w > 0 ? w * Math.log(w) : 0), 0);

  /* Un número como en el libro: signo menos de imprenta, y ∞ si hace falta. */
  function number(value, digits = 2) {
    if (!Number.isFinite(value)) return value < 0 ? "−∞" : "∞";
    const text = value.toFixed(digits);
    return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
  }
  const factor = (value, digits) => (value < 0 ? `(${number(value, digits)})` : number(value, digits));

  // ---- Mandos ---------------------------------------------------------------------------------------------------
  const button = (text, onclick, attributes) => h("button", {type: "button", onclick, ...attributes}, text);
  /* Apaga los botones que no llevan a ninguna parte, [[botón, si se apaga], …]; el foco pasa a otro de ellos. */
  function disable(pairs) {
    const had = pairs.some(([node, off]) => off && node === document.activeElement);
    for (const [node, off] of pairs) node.disabled = off;
    if (had) pairs.find(([, off]) => !off)?.[0].focus();
  }

  /* Grupo de opciones del que se elige una: flechas, Inicio y Fin, y un solo paso de tabulador. */
  function choice({label, options, value, onchange, className = "", describe}) {
    const group = h("div", {role: "radiogroup", "aria-label": label, class: `choice ${className}`});
    const buttons = options.map((option, i) =>
      h(
        "button",
        {type: "button", role: "radio", "aria-label": describe?.(i), onclick: () => pick(i, true)},
        option,
      ),
    );
    function pick(index, tell) {
      value = index;
      buttons.forEach((button, i) => {
        button.setAttribute("aria-checked", i === index);
        button.tabIndex = i === index ? 0 : -1;
      });
      if (tell) onchange(index);
    }
    group.addEventListener("keydown", (event) => {
      const last = buttons.length - 1;
      const target = {
        ArrowRight: Math.min(last, value + 1),
        ArrowDown: Math.min(last, value + 1),
        ArrowLeft: Math.max(0, value - 1),
        ArrowUp: Math.max(0, value - 1),
        Home: 0,
        End: last,
      }[event.key];
      if (target === undefined) return;
      event.preventDefault();
      pick(target, true);
      buttons[target].focus();
    });
    group.append(...buttons);
    pick(value, false);
    return {node: group, buttons, pick: (index) => pick(index, false)};
  }

  function slider({label, min, max, step, value, text, oninput}) {
    const output = h("output", {class: "amount"});
    const input = h("input", {
      type: "range",
      min,
      max,
      step,
      value,
      "aria-label": label,
      oninput: () => {
        refresh();
        oninput(Number(input.value));
      },
    });
    function refresh() {
      output.textContent = text(Number(input.value));
      input.setAttribute("aria-valuetext", output.textContent);
    }
    refresh();
    return {
      node: h("label", {class: "slider"}, h("span", null, label, " ", output), input),
      input,
      set: (next) => {
        input.value = next;
        refresh();
      },
    };
  }

  function toggle({label, checked, oninput}) {
    const input = h("input", {type: "checkbox", checked, oninput: () => oninput(input.checked)});
    return {node: h("label", {class: "switch"}, input, h("span", null, label)), input};
  }

  /* Una frase que cambia y que el lector de pantalla dice cuando el movimiento se para. */
  function reading() {
    const visible = h("p", {class: "reading", "aria-hidden": "true"});
    const spoken = h("p", {class: "spoken", role: "status", "aria-live": "polite"});
    let timer;
    return {
      node: h("div", null, visible, spoken),
      say(text) {
        visible.textContent = text;
        clearTimeout(timer);
        timer = setTimeout(() => {
          spoken.textContent = text;
        }, 400);
      },
    };
  }

  /* La barra que dice qué hay bajo el dedo, el ratón o el foco: el data-tip del elemento. */
  function probe(stage, rest) {
    const bar = h("p", {class: "probe"}, rest);
    const show = (element) => (bar.textContent = element?.closest("[data-tip]")?.dataset.tip ?? rest);
    const on = stage.addEventListener.bind(stage);
    for (const type of ["pointermove", "pointerdown"])
      on(type, ({clientX: x, clientY: y}) => show(document.elementFromPoint(x, y)));
    on("keydown", ({target}) => show(target));
    on("focusin", ({target}) => target.closest("[data-tip]") && show(target)); // no borra lo que dijo el clic
    on("pointerleave", () => show());
    return bar;
  }

  // ---- Piezas que se repiten ------------------------------------------------------------------------------------
  /* Una celda pintada con un peso de 0 a 1, con la tinta que se lee encima. */
  function heat(weight) {
    const on = weight < 0.62 ? "low" : weight < 0.72 ? "mid" : "high";
    return `background:color-mix(in srgb,var(--attention) ${(100 * weight).toFixed(1)}%,var(--paper));color:var(--on-${on})`;
  }

  /* Un vector: celdas que se cuentan, teñidas del color de su papel (query, key, value o plain). tint, de 0 a 100, dice
     cuánto se tiñen. Las que no caben con número (más de cuatro en un teléfono) llevan en su lugar más tinte
     cuanto mayores son, comparadas con widest. */
  function vector(values, role, {digits = 2, tint = 18, widest = 1, cell = digits === 1 ? 2.75 : 3.3} = {}) {
    const count = values.length,
      crowd = count * cell > 14.5 ? "crowd" : count > 4 ? "many" : "";
    return h(
      "span",
      {
        class: `vector ${role} ${crowd}`,
        style: `--n:${count};--cell:${cell}em;--tint:${tint.toFixed(1)}%`,
      },
      values.map((value) =>
        h(
          "span",
          {class: "entry", style: `--share:${((75 * Math.abs(value)) / widest).toFixed(1)}%`},
          number(value, digits),
        ),
      ),
    );
  }
  /* Decimales con que se escribe una tabla: uno si basta, dos si no. */
  const digitsOf = (table) =>
    table.flat(Infinity).every((x) => Math.abs(10 * x - Math.round(10 * x)) < 1e-9) ? 1 : 2;

  // ---- Registro -------------------------------------------------------------------------------------------------
  const builders = new Map();

  function start(root, build) {
    root.dataset.ready = "";
    if (document.getElementById(root.id) !== root)
      root.id += `-${document.querySelectorAll("[data-ready]").length}`;
    const data = JSON.parse(root.querySelector('script[type="application/json"]').textContent);
    const stage = h("div", {class: "stage"});
    root.querySelector(".quiet").after(stage);
    try {
      build(stage, data, root);
      root.querySelector(".quiet").hidden = true;
    } catch (error) {
      stage.remove();
      throw error;
    }
  }
  function mount() {
    for (const root of document.querySelectorAll("[data-atento-explorer]:not([data-ready])")) {
      const build = builders.get(root.dataset.atentoExplorer);
      if (build) start(root, build);
    }
  }
  const register = (kind, build) => {
    if (!builders.has(kind)) builders.set(kind, build);
  };

  const kit = {
    version: VERSION,
    add: (piece) => Object.assign(kit, piece(kit)),
    register,
    mount,
    h,
    svg,
    dot,
    matmul,
    softmax,
    mix,
    entropy,
    number,
    factor,
    digitsOf,
    button,
    disable,
    choice,
    slider,
    toggle,
    reading,
    probe,
    heat,
    vector,
  };
  window.atentoExplorers = kit;
})();
