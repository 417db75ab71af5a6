// Lo que se desplaza con el dedo también con el teclado: las fórmulas y bloques más anchos que la página.
(() => {
  // El MathML de asistencia apunta opciones de un menú que aquí no se carga; se quitan para no avisar en la consola.
  if (window.MathJax) {
    window.MathJax.startup = {
      ready() {
        delete window.MathJax.config.options.menuOptions;
        window.MathJax.startup.defaultReady();
      },
    };
  }
  const candidatos = "div.math > mjx-container, .highlight pre, .cell_output pre, .cell_output .text_html, " +
    ".pst-scrollable-table-container, .bd-article table";
  const repasar = () => {
    for (const caja of document.querySelectorAll(candidatos)) {
      if (caja.scrollWidth > caja.clientWidth + 1) caja.setAttribute("tabindex", "0");
      else if (caja.getAttribute("tabindex") === "0") caja.removeAttribute("tabindex");
    }
  };

  // Un enlace a algo plegado abre todo lo que lo encierra; al imprimir se abre todo y después se deja como estaba.
  const abrirHasta = (nodo) => {
    for (let caja = nodo?.closest("details"); caja; caja = caja.parentElement.closest("details")) caja.open = true;
  };
  const irAlAncla = () => {
    const destino = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!destino?.closest("details:not([open])")) return;
    abrirHasta(destino);
    destino.scrollIntoView();
  };
  window.addEventListener("hashchange", irAlAncla);
  document.addEventListener("click", (suceso) => {   // el mismo enlace, pulsado otra vez, no cambia la dirección
    const enlace = suceso.target.closest?.("a[href*='#']");
    if (enlace && enlace.hash && enlace.hash === location.hash) irAlAncla();
  });
  let plegados = [];
  window.addEventListener("beforeprint", () => {
    plegados = [...document.querySelectorAll("details:not([open])")];
    for (const caja of plegados) caja.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const caja of plegados) caja.open = false;
  });
  window.addEventListener("DOMContentLoaded", irAlAncla);

  const alTerminar = () => (window.MathJax?.startup?.promise ?? Promise.resolve()).then(repasar);
  window.addEventListener("load", alTerminar);
  window.addEventListener("resize", repasar);
})();
