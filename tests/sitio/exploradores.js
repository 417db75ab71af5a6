// Lo que las pruebas del contrato preguntan a un explorador, y cómo lo mueven todo a la vez.
window.contrato = (raiz) => {
  const visto = (e) => e.checkVisibility({visibilityProperty: true}) && e.getClientRects().length > 0;
  const todos = (que) => [...raiz.querySelectorAll(que)].filter((e) => visto(e) && !e.closest("svg:not(.plane)") || e.matches(".grip"));
  const MANDOS = "button, input, textarea, select, summary, a[href], [tabindex]";
  const caja = raiz.getBoundingClientRect();
  const encerrado = (e) => {
    for (let n = e.parentElement; n !== raiz; n = n.parentElement)
      if (getComputedStyle(n).overflowX !== "visible") return true;
    return false;
  };
  const corto = (e) => e.outerHTML.slice(0, 140);
  return {
    // Los mandos a los que llega el tabulador, con su número puesto en data-orden.
    tabulador() {
      const lista = todos(MANDOS).filter((e) => e.tabIndex >= 0 && !e.disabled);
      lista.forEach((e, i) => (e.dataset.orden = i));
      return lista.map(corto);
    },
    cuantos: () => Object.fromEntries(
      Object.entries({grupos: "[role=radiogroup]", deslizadores: "[type=range]", casillas: "[type=checkbox]",
        rejillas: "[role=grid]", botones: "button:not([role])"}).map(([clave, que]) => [clave, todos(que).length])),
    // Lo que cambia cuando un mando hace algo: los números, lo escrito y lo marcado.
    huella: () => JSON.stringify([raiz.atento, raiz.querySelector(".stage").innerText,
      [...raiz.querySelectorAll("[aria-checked], [aria-pressed], details")].map((e) => e.ariaChecked ?? e.ariaPressed ?? e.open)]),
    // Pone cada mando en otro sitio: de cada grupo, la última opción; los deslizadores, a cuatro quintos; las casillas,
    // al revés; los puntos, un paso a la derecha; los botones, pulsados. «Sumar» y «Al azar» leen los pesos: esos, a mano.
    mueve() {
      for (const grupo of todos("[role=radiogroup]")) {
        const ultima = [...grupo.querySelectorAll("[role=radio]")].filter(visto).at(-1);
        ultima?.click();
      }
      for (const uno of todos("[type=range]")) {
        uno.value = Number(uno.min) + 0.8 * (uno.max - uno.min);
        uno.dispatchEvent(new Event("input", {bubbles: true}));
      }
      for (const uno of todos("[type=checkbox]")) uno.click();
      for (const uno of todos(".grip")) uno.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
      for (const uno of todos(".stage button:not([role])"))
        if (!uno.disabled && !/Quitar|Volver|Sumar|azar|Letras/.test(uno.textContent)) uno.click();
    },
    // Blancos de menos de 44 px.
    pequenos: () => todos("button, summary, label, [type=range], [role=gridcell], .hit")
      .map((e) => [corto(e), e.getBoundingClientRect()])
      .filter(([, r]) => r.width && (r.width < 43.5 || r.height < 43.5))
      .map(([html, r]) => `${html} ${r.width} x ${r.height}`),
    // Letra de menos de 11 px.
    letras: () => [raiz, ...raiz.querySelectorAll("*")]
      .filter((e) => visto(e) && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
      .map((e) => [corto(e), parseFloat(getComputedStyle(e).fontSize) * (e.ownerSVGElement?.getScreenCTM().a ?? 1)])
      .filter(([, size]) => size > 0 && size < 11),
    // Lo que asoma por los lados, y las cabezas de tabla más anchas que su columna.
    asoman() {
      const fuera = (e) => {
        const r = e.getBoundingClientRect();
        return r.width && (r.right > caja.right + 0.5 || r.left < caja.left - 0.5);
      };
      const nodos = [...raiz.querySelectorAll("*")].filter((e) => visto(e) && !encerrado(e) && fuera(e));
      const cabezas = [...raiz.querySelectorAll("th")].filter((e) => e.scrollWidth > e.clientWidth + 1);
      return [...nodos, ...cabezas].map(corto);
    },
    // Transiciones y animaciones que quedan.
    movimiento: () => [...raiz.querySelectorAll("*")]
      .filter((e) => { const s = getComputedStyle(e); return parseFloat(s.transitionDuration) || s.animationName !== "none"; })
      .map(corto),
    // Lo que no debería verse en el papel.
    mandosImpresos: () => todos(".controls, .probe, .move, [type=range]").map(corto),
  };
};
