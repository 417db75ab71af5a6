/* Un plano cuadrado con puntos que se mueven con ratón, dedo o flechas. */
window.atentoExplorers.add(({svg, number, drag}) => {
  const SIZE = 400, // unidades del dibujo
    PAD = 14,
    ROOM = SIZE - 2 * PAD,
    REACH = 27; // con 27, el blanco mide 44 píxeles en un teléfono

  /* limits es [x a la izquierda, x a la derecha, y abajo, y arriba]. Devuelve el dibujo; layer(nombre), que añade
     una capa debajo de los puntos; X e Y, de la cuenta al dibujo; grip, que añade un punto que se mueve, y place, que
     los pone en su sitio. */
  function field({label, limits: [xMin, xMax, yMin, yMax]}) {
    const [wide, high] = [xMax - xMin, yMax - yMin];
    const X = (x) => PAD + (ROOM * (x - xMin)) / wide;
    const Y = (y) => SIZE - PAD - (ROOM * (y - yMin)) / high;
    const handles = svg("g", {class: "handles"});
    const drawing = svg("svg", {class: "plane", viewBox: `0 0 ${SIZE} ${SIZE}`, role: "group", "aria-label": label}, handles);
    function layer(name) {
      const group = svg("g", {class: name});
      handles.before(group);
      return group;
    }

    const middle = (...three) => three.sort((a, b) => a - b)[1], // de un valor y dos extremos, el valor sin salirse
      grips = [];
    /* point da el punto, que se cambia en su sitio; start, adónde vuelve con Inicio; moved se llama tras moverlo. */
    function grip({role, name, start, point, moved}) {
      const node = svg(
        "g",
        {class: `grip ${role}`, tabindex: 0, role: "button", "aria-roledescription": "punto que se mueve"},
        svg("circle", {class: "hit", r: REACH}),
        svg("circle", {class: "ring", r: 15}),
      );
      function place() {
        const [x, y] = point(),
          at = `${number(x)}, ${number(y)}`;
        node.setAttribute("transform", `translate(${X(x)} ${Y(y)})`);
        node.dataset.tip = `${name}: (${at}). Arrastra o usa las flechas.`;
        node.ariaLabel = `${name}, ${at}`;
      }
      function to(x, y) {
        const inside = [middle(x, xMin, xMax), middle(y, yMin, yMax)];
        point().splice(0, 2, ...inside.map((value) => Math.round(value * 100) / 100));
        moved();
      }
      node.addEventListener("keydown", (event) => {
        const [byX, byY] = [wide, high].map((side) => (event.shiftKey ? side / 10 : side / 50)),
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
        to(...target);
      });
      const center = () => [X(point()[0]) / SIZE, Y(point()[1]) / SIZE];
      const follow = (x, y) =>
        to(xMin + ((SIZE * x - PAD) * wide) / ROOM, yMin + ((SIZE - PAD - SIZE * y) * high) / ROOM);
      grips.push({node, place, center, take: () => follow});
      handles.append(node);
    }
    drag(drawing, handles, grips);
    return {drawing, layer, X, Y, grip, place: () => grips.forEach(({place}) => place())};
  }

  return {field};
});
