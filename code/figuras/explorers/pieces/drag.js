/* Coger con ratón o dedo las asas de un dibujo. Cada asa es {node, center, take}: center() dice dónde está, y
   take(x, y), al cogerla, da lo que hay que hacer con cada sitio al que se lleva. Los sitios van en partes del dibujo. */
window.atentoExplorers.add(() => ({
  drag(drawing, handles, grips) {
    let move = null;
    const under = ({clientX, clientY}) => {
      const {left, top, width, height} = drawing.getBoundingClientRect();
      return [(clientX - left) / width, (clientY - top) / height];
    };
    handles.addEventListener("pointerdown", (event) => {
      if (event.button || !event.isPrimary) return;
      event.preventDefault();
      const [x, y] = under(event);
      const far = ({center}) => Math.hypot(center()[0] - x, center()[1] - y);
      const [near] = grips.filter(({node}) => node.isConnected).sort((a, b) => far(a) - far(b)); // puede haber varias
      near.node.focus({preventScroll: true});
      drawing.setPointerCapture(event.pointerId);
      move = near.take(x, y);
    });
    /* Con un dedo, la página no se mueve; dentro de un SVG, a Chromium no le basta touch-action. */
    const stay = (event) => event.touches.length > 1 || event.preventDefault();
    handles.addEventListener("touchstart", stay, {passive: false});
    drawing.addEventListener("pointermove", (event) => move?.(...under(event)));
    drawing.addEventListener("lostpointercapture", () => (move = null)); // al soltar, o si el gesto se interrumpe
  },
}));
