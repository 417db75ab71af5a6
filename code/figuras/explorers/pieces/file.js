/* El texto de un fichero que viaja con el explorador: en la propia página o, en el sitio, en un guion que se pide
   al hacer falta. */
window.atentoExplorers.add(({h}) => ({
  async file(name) {
    const node = document.querySelector(`[data-atento-file="${name}"]`),
      read = () => node.textContent || window.atentoFiles?.[name],
      ask = (onload, onerror) => document.head.append(h("script", {src: node.dataset.url, onload, onerror}));
    if (!read()) await new Promise(ask);
    return read();
  },
  /* Los números de un modelo, que load() promete y se piden una sola vez. Da la función que los pide: promete el
     modelo o, con use, lo que use haga con él. Si no llegan, fail lo dice, y se vuelven a pedir con el gesto que dice again. */
  opener(load, again, fail, use) {
    let asked;
    const lost = () => {
      asked = undefined;
      fail(`No se han podido leer los números del modelo. Comprueba la red y vuelve a ${again}.`);
    };
    return () => (asked ??= load().then(use, lost));
  },
}));
