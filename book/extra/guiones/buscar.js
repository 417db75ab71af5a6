// Busca en el libro por secciones, sin acentos y por raíces; los términos del glosario van primero.
(() => {
  const VACIAS = new Set("a al como con de del el en es entre la las lo los mas me mi ni no o para pero por que se si sin son su sus un una unas uno unos y ya cual cuales".split(" "));
  const llano = (texto) => texto.normalize("NFD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
  // Raíz aproximada: quita plurales y las terminaciones corrientes, y deja al menos cuatro letras.
  const raiz = (palabra) => {
    let r = palabra;
    for (const fin of ["aciones", "acion", "amente", "mente", "idades", "idad", "iones", "ion", "ando", "iendo", "adas", "ados", "ada", "ado", "idas", "idos", "ida", "ido", "ecen", "ece", "ecer", "ces", "es", "os", "as", "ar", "er", "ir", "z", "a", "o", "e", "s", "n"]) {
      if (r.endsWith(fin) && r.length - fin.length >= 4) { r = r.slice(0, -fin.length); break; }
    }
    return r;
  };
  const palabras = (texto) => llano(texto).match(/[\p{L}\d_]+/gu) ?? [];
  const raices = (texto) => palabras(texto).map(raiz);
  const seguro = (texto) => texto.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]);

  const preparar = () => {
    const sinEtiquetas = (texto) => texto.replace(/<[^>]*>/g, "").replace(/&amp;/g, "&");
    const glosario = Object.entries(window.GLOSARIO ?? {}).map(([ancla, [termino, definicion]]) => ({
      tipo: "Glosario", url: `${window.GLOSARIO_EN}#${ancla}`, titulo: sinEtiquetas(termino), pagina: "", html: definicion,
      texto: sinEtiquetas(definicion).replace(/\\\(|\\\)/g, ""),
    }));
    const secciones = (window.INDICE ?? []).filter(([url]) => url !== window.GLOSARIO_EN)
      .map(([url, titulo, pagina, texto]) => ({ tipo: "", url, titulo, pagina, texto }));
    for (const ficha of [...glosario, ...secciones]) {
      ficha.enTitulo = raices(ficha.titulo);
      ficha.enTexto = new Map();
      for (const r of raices(ficha.texto)) ficha.enTexto.set(r, (ficha.enTexto.get(r) ?? 0) + 1);
    }
    return [...glosario, ...secciones];
  };

  const puntuar = (ficha, buscadas, frase) => {
    let puntos = 0, halladas = 0;
    for (const r of buscadas) {
      const titulo = ficha.enTitulo.includes(r) ? 1 : 0, veces = ficha.enTexto.get(r) ?? 0;
      if (titulo || veces) halladas += 1;
      puntos += 12 * titulo + 3 * Math.log1p(veces);
    }
    if (halladas < buscadas.length) return 0;
    const exacto = ficha.enTitulo.filter((r) => !VACIAS.has(r));
    if (exacto.length === buscadas.length && exacto.every((r) => buscadas.includes(r))) puntos += 60;
    else if (llano(ficha.titulo).includes(frase)) puntos += 20;
    const enTitulo = buscadas.filter((r) => ficha.enTitulo.includes(r)).length;
    if (ficha.tipo) puntos += enTitulo === buscadas.length ? 25 : -8;   // el glosario, primero cuando es su término
    return puntos;
  };

  const extracto = (texto, buscadas) => {
    const trozos = texto.split(/(?<=[\p{L}\d_])(?=[^\p{L}\d_])|(?<=[^\p{L}\d_])(?=[\p{L}\d_])/u);
    const donde = trozos.findIndex((t) => buscadas.includes(raiz(llano(t))));
    const desde = Math.max(0, donde - 24);
    return (desde ? "… " : "") + trozos.slice(desde, desde + 70)
      .map((t) => (buscadas.includes(raiz(llano(t))) ? `<mark>${seguro(t)}</mark>` : seguro(t))).join("") + " …";
  };

  window.buscarEnElLibro = (consulta, fichas = preparar()) => {
    const todas = palabras(consulta), utiles = todas.filter((p) => !VACIAS.has(p));
    const buscadas = [...new Set((utiles.length ? utiles : todas).map(raiz))];
    if (!buscadas.length) return [];
    return fichas.map((ficha) => ({ ...ficha, buscadas, puntos: puntuar(ficha, buscadas, llano(consulta).trim()) }))
      .filter((f) => f.puntos > 0).sort((a, b) => b.puntos - a.puntos).slice(0, 40);
  };

  window.addEventListener("DOMContentLoaded", () => {
    const campo = document.querySelector("#buscar-consulta"), lista = document.querySelector("#buscar-resultados"),
      resumen = document.querySelector("#buscar-resumen");
    if (!campo) return;
    const fichas = preparar();
    const buscar = () => {
      const hallados = window.buscarEnElLibro(campo.value, fichas);
      lista.innerHTML = hallados.map((f) => `<li${f.tipo ? ' class="del-glosario"' : ""}><a href="${f.url}">${seguro(f.titulo)}</a>` +
        `<span class="donde">${seguro(f.tipo || f.pagina)}</span><p>${f.tipo ? f.html : extracto(f.texto, f.buscadas)}</p></li>`).join("");
      const cuantos = hallados.length;
      resumen.textContent = !campo.value.trim() ? "" : cuantos === 0
        ? "Nada con esas palabras. Prueba con menos, o con el nombre inglés del término."
        : cuantos === 1 ? "1 resultado" : `${cuantos} resultados`;
      window.MathJax?.typesetPromise?.([lista]);
    };
    campo.value = new URLSearchParams(location.search).get("q") ?? "";
    campo.addEventListener("input", buscar);
    campo.form.addEventListener("submit", (suceso) => {
      suceso.preventDefault();
      history.replaceState(null, "", `?q=${encodeURIComponent(campo.value)}`);
      buscar();
    });
    buscar();
    campo.focus();
  });
})();
