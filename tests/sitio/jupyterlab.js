// Abre un cuaderno en JupyterLab, espera a que todo esté dibujado y devuelve lo que se ve mal.
async ({ ruta, plazo }) => {
  const aplicacion = window.jupyterapp;
  const panel = await aplicacion.commands.execute("docmanager:open", { path: ruta });
  await panel.context.ready;
  await panel.revealed;
  const celdas = panel.content.widgets;
  await Promise.all(celdas.map((celda) => celda.ready));

  const trozo = (texto, donde) =>
    texto.slice(Math.max(0, donde - 40), donde + 60).replace(/\s+/g, " ").trim();
  const CRUDO = [
    ["fórmula sin componer", /\$|\\[([\])]/],
    ["LaTeX a la vista", /\\[A-Za-z]+/],
    ["MyST a la vista", /:::|`{3}|\{[a-z][\w:.+-]*\}`|\{(glue|ref|numref|eq|cite|doc|term|code-cell)\b/],
    ["letra perdida", /\uFFFD/],
  ];
  function mira() {
    const faltas = [];
    celdas.forEach((celda, orden) => {
      const falta = (que, texto) => faltas.push(`celda ${orden}: ${que}: ${texto}`);
      if (celda.model.type === "markdown") {
        const visto = celda.node.querySelector(".jp-RenderedMarkdown");
        if (!visto || (!visto.textContent.trim() && !visto.querySelector("img, hr"))) {
          falta("sin dibujar", trozo(celda.model.sharedModel.getSource(), 40));
          return;
        }
        const copia = visto.cloneNode(true);
        for (const nodo of copia.querySelectorAll("pre, code, mjx-container, script, style")) {
          nodo.replaceWith(" ");
        }
        for (const [que, patron] of CRUDO) {
          const hallado = patron.exec(copia.textContent);
          if (hallado) falta(que, trozo(copia.textContent, hallado.index));
        }
      } else if (celda.model.type === "code") {
        const plegada = celda.model.getMetadata("jupyter")?.source_hidden;
        if (!plegada && !celda.node.querySelector(".cm-content")?.textContent.trim()) {
          falta("sin dibujar", trozo(celda.model.sharedModel.getSource(), 40));
        }
        const salidas = celda.node.querySelectorAll(".jp-OutputArea-output").length;
        if (salidas < celda.model.outputs.length) {
          falta("salidas sin dibujar", `${salidas} de ${celda.model.outputs.length}`);
        }
        const perdida = celda.node.querySelector(".jp-OutputArea")?.textContent.indexOf("\uFFFD");
        if (perdida >= 0) falta("letra perdida", "en una salida");
      }
      for (const nodo of celda.node.querySelectorAll(
        "mjx-merror, [data-mjx-error], merror, mjx-container [style*='color: red'], [mathcolor=red]",
      )) {
        falta("fórmula con error", nodo.getAttribute("data-mjx-error") ?? nodo.textContent);
      }
      for (const imagen of celda.node.querySelectorAll("img")) {
        if (!imagen.complete || !imagen.naturalWidth) {
          falta("imagen rota", (imagen.getAttribute("src") ?? "").slice(0, 60));
        }
      }
    });
    return faltas;
  }
  const formulas = () => panel.node.querySelectorAll("mjx-container").length;
  const fin = performance.now() + plazo;
  let faltas = mira(), antes = -1;
  while ((faltas.length || formulas() !== antes) && performance.now() < fin) {
    antes = formulas();
    await new Promise((sigue) => setTimeout(sigue, 100));
    faltas = mira();
  }
  return { faltas, celdas: celdas.length, formulas: formulas() };
}
