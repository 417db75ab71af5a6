/* Un plano cuadrado con puntos que se mueven con ratón, dedo o flechas. */
window.atentoExplorers.add(({svg, number}) => {
  const REACH = 27; // unidades del dibujo; con 27, el blanco mide 44 píxeles en un teléfono

  /* limits es [x a la izquierda, x a la derecha, y abajo, y arriba]. Devuelve el dibujo; layer(nombre), que añade una capa debajo de los
     puntos; X e Y, de la cuenta al dibujo; grip, que añade un punto que se mueve, y place, que los pone en su sitio. */
  function field({label, limits: [xMin, xMax, yMin, yMax], size = 400, pad = 14}) {
    const X = (x) => pad + ((size - 2 * pad) * (x - xMin)) / (xMax - xMin);
    const Y = (y) => size - pad - ((size - 2 * pad) * (y - yMin)) / (yMax - yMin);
    const handles = svg("g", {class: "handles"});
    const drawing = svg("svg", {class: "plane", viewBox: `0 0 ${size} ${size}`, role: "group", "aria-label": label}, handles);
    function layer(name) {
      const group = svg("g", {class: name});
      handles.before(group);
      return group;
    }

    const STEPS = [(xMax - xMin) / 50, (yMax - yMin) / 50],
      within = (value, a, b) => Math.min(Math.max(a, b), Math.max(Math.min(a, b), value)),
      grips = [];
    /* point da el punto, que se cambia en su sitio; start, adónde vuelve con Inicio; moved se llama tras moverlo. */
    function grip({role, name, start, point, moved}) {
      const node = svg(
        "g",
        {class: `grip ${role}`, tabindex: 0, role: "button", "aria-roledescription": "punto que se mueve"},
        svg("circle", {class: "hit", r: REACH}),
        svg("circle", {class: "ring", r: 15}),
      );
      const item = {
        node,
        point,
        place() {
          const [x, y] = point();
          node.setAttribute("transform", `translate(${X(x)} ${Y(y)})`);
          node.dataset.tip = `${name}: (${number(x)}, ${number(y)}). Arrastra o usa las flechas.`;
          node.setAttribute("aria-label", `${name}, ${number(x)}, ${number(y)}`);
        },
        to(x, y) {
          const inside = [within(x, xMin, xMax), within(y, yMin, yMax)];
          point().splice(0, 2, ...inside.map((value) => Math.round(value * 100) / 100));
          moved();
        },
      };
      node.addEventListener("keydown", (event) => {
        const [byX, byY] = STEPS.map((step) => step * (event.shiftKey ? 5 : 1)),
          [x, y] = point();
        const target = {
          ArrowLeft: [x - byX, y],
          ArrowRight: [x + byX, y],
          ArrowUp: [x, y + byY],
          ArrowDown: [x, y - byY],
          Home: start,
          End: [0, 0],
        }[event.key];
        if (!target) return;
        event.preventDefault();
        item.to(...target);
      });
      grips.push(item);
      handles.append(node);
    }

    const toPlane = (event) => {
      const box = drawing.getBoundingClientRect(),
        unit = size / box.width;
      const [px, py] = [(event.clientX - box.left) * unit, (event.clientY - box.top) * unit];
      return [
        xMin + ((px - pad) * (xMax - xMin)) / (size - 2 * pad),
        yMin + ((size - pad - py) * (yMax - yMin)) / (size - 2 * pad),
      ];
    };
    let held = null;
    handles.addEventListener("pointerdown", (event) => {
      const [x, y] = toPlane(event); // si hay varios bajo el dedo, el más cercano
      const far = (item) => Math.hypot(item.point()[0] - x, item.point()[1] - y);
      held = grips.reduce((best, item) => (far(item) < far(best) ? item : best));
      held.node.focus({preventScroll: true});
      drawing.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    /* Con un dedo, la página no se mueve; dentro de un SVG, a Chromium no le basta touch-action. */
    handles.addEventListener("touchstart", (event) => event.touches.length > 1 || event.preventDefault(), {passive: false});
    drawing.addEventListener("pointermove", (event) => {
      if (held) held.to(...toPlane(event));
    });
    for (const type of ["pointerup", "pointercancel", "lostpointercapture"])
      drawing.addEventListener(type, () => {
        held = null;
      });

    return {drawing, layer, X, Y, grip, place: () => grips.forEach((item) => item.place())};
  }

  return {field};
});
