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
  const alTerminar = () => (window.MathJax?.startup?.promise ?? Promise.resolve()).then(repasar);
  window.addEventListener("load", alTerminar);
  window.addEventListener("resize", repasar);
})();
