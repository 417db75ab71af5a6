// Busca en el libro por secciones, sin acentos y por raíces; los términos del glosario van primero.
(() => {
  const VACIAS = new Set("a al como con de del el en es entre la las lo los mas me mi ni no o para pero por que se si sin son su sus un una unas uno unos y ya cual cuales cuanto cuantos cuanta cuantas donde cuando esta estan tiene tienen hay hago hace hacer".split(" "));
  const llano = (texto) => texto.replace(/√/g, " raiz ").normalize("NFD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
  // Raíz aproximada: el singular, sin las terminaciones corrientes y con al menos cuatro letras.
  const FINALES = "amientos amiento imientos imiento aciones acion amente mente idades idad iones ion ieron aron aban aba ando iendo adas ados ada ado idas idos ida ido ecen ece ecer an en ar er ir a o e s n".split(" ");
  const singular = (palabra) => palabra.replace(/ces$/, "z").replace(/(?<=\p{L}{2}[lnrdjxy])es$/u, "").replace(/(?<=\p{L}{3})s$/u, "");
  const raiz = (palabra) => {
    const r = singular(palabra.replace(/_/g, "").replace(/(?<=\p{L}{3}[aei]r)(?:lo|la|los|las|se|le|les)$/u, ""));
    const fin = FINALES.find((f) => r.endsWith(f) && r.length - f.length >= 4);
    return fin ? r.slice(0, -fin.length) : r;
  };
  const palabras = (texto) => llano(texto).match(/\d+(?:\.\d+)+|[\p{L}\d_]+/gu) ?? [];
  const raices = (texto) => palabras(texto).map(raiz);
  const enOrden = (texto) => palabras(texto).filter((p) => !VACIAS.has(p)).map(raiz);
  const utiles = (texto) => {
    const con = enOrden(texto);
    return [...new Set(con.length ? con : raices(texto))];
  };
  const seguro = (texto) => texto.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]);

  // Un capítulo se busca también por su número.
  const deCapitulo = (url) => {
    const numero = Number(url.match(/\/(\d\d)-[^/#]*$/)?.[1] ?? NaN);
    return Number.isNaN(numero) ? [] : [`${numero}`, ...["capítulo", "cap", "tema", "lección"].map((x) => `${x} ${numero}`)];
  };
  // Lo que acompaña al texto vale menos que el texto, si no se pide por su nombre.
  const ACOMPANA = [
    [/\/api\//, 0.4, "api biblioteca"],
    [/\/soluciones\//, 0.3, "solucion resuelto"],
    [/\/erratas/, 0.35, "errata"],
    [/#ejercicios/, 0.45, "problema"],
    [/#ej-/, 0.45, "ejercicio problema"],
  ].map(([donde, vale, palabras]) => [donde, vale, palabras.split(" ").map(raiz)]);
  const valeMenos = (url, buscadas) => {
    const caso = ACOMPANA.find(([donde]) => donde.test(url));
    return caso && !caso[2].some((r) => buscadas.includes(r)) ? caso[1] : 1;
  };

  const preparar = () => {
    const sinEtiquetas = (texto) => texto.replace(/<[^>]*>/g, "").replace(/&amp;/g, "&");
    const glosario = Object.entries(window.GLOSARIO ?? {}).map(([ancla, [termino, definicion, otros = []]]) => ({
      tipo: "Glosario", url: `${window.GLOSARIO_EN}#${ancla}`, titulo: sinEtiquetas(termino), pagina: "", html: definicion,
      texto: sinEtiquetas(definicion).replace(/\\\(|\\\)/g, ""), otros,
    }));
    const secciones = (window.INDICE ?? []).map(([url, titulo, pagina, texto, otros = []]) => ({
      tipo: "", url, titulo, pagina, texto: url === window.GLOSARIO_EN ? "" : texto, otros: [...otros, ...deCapitulo(url)],
    }));
    const fichas = [...glosario, ...secciones];
    fichas.aparece = new Map();
    for (const ficha of fichas) {
      ficha.nombres = [ficha.titulo, ...ficha.otros].map(utiles);
      ficha.enTexto = new Map();
      const seguidas = enOrden(ficha.texto);
      ficha.seguidas = ` ${seguidas.join(" ")} `;
      for (const r of seguidas) ficha.enTexto.set(r, (ficha.enTexto.get(r) ?? 0) + 1);
      for (const r of new Set([...ficha.enTexto.keys(), ...ficha.nombres.flat()]))
        fichas.aparece.set(r, (fichas.aparece.get(r) ?? 0) + 1);
    }
    return fichas;
  };

  // Un nombre vale por lo que de él se ha pedido y por lo que de lo pedido está en él; si es justo ese, gana.
  const porNombre = (nombre, buscadas, peso) => {
    const comunes = buscadas.filter((r) => nombre.includes(r));
    if (!comunes.length) return 0;
    const cubierto = comunes.reduce((s, r) => s + peso(r), 0) / buscadas.reduce((s, r) => s + peso(r), 0);
    const preciso = comunes.length / nombre.length;
    return 40 * cubierto ** 2 * (0.5 + 0.5 * preciso) + (cubierto === 1 && preciso === 1 ? 60 : 0);
  };
  const juntas = (ficha, buscadas) =>
    buscadas.slice(1).filter((r, i) => ficha.seguidas.includes(` ${buscadas[i]} ${r} `)).length;
  const puntuar = (ficha, buscadas, peso, parte) => {
    let total = 0, hallado = 0, puntos = 0;
    const nombrado = new Set(ficha.nombres.flat());
    for (const r of buscadas) {
      const veces = ficha.enTexto.get(r) ?? 0;
      total += peso(r);
      if (veces || nombrado.has(r)) hallado += peso(r);
      puntos += 1.5 * peso(r) * Math.log1p(veces);
    }
    if (hallado < parte * total) return 0;   // puede faltar alguna palabra, pero no la que dice de qué se habla
    const nombre = Math.max(...ficha.nombres.map((n, i) => porNombre(n, buscadas, peso) * (i ? 0.97 : 1)));
    puntos = Math.min(puntos + 4 * juntas(ficha, buscadas), 30) + nombre;
    if (ficha.tipo) puntos += nombre >= 60 ? 25 : -4;   // el glosario, primero cuando es su término
    return puntos * valeMenos(ficha.url, buscadas) * (hallado / total) ** 2;
  };

  const extracto = (texto, buscadas) => {
    const trozos = texto.split(/(?<=[\p{L}\d_])(?=[^\p{L}\d_])|(?<=[^\p{L}\d_])(?=[\p{L}\d_])/u);
    const donde = trozos.findIndex((t) => buscadas.includes(raiz(llano(t))));
    const desde = Math.max(0, donde - 24);
    return (desde ? "… " : "") + trozos.slice(desde, desde + 70)
      .map((t) => (buscadas.includes(raiz(llano(t))) ? `<mark>${seguro(t)}</mark>` : seguro(t))).join("") + " …";
  };

  window.buscarEnElLibro = (consulta, fichas = preparar()) => {
    const buscadas = utiles(consulta);
    if (!buscadas.length) return [];
    const peso = (r) => Math.log(1 + fichas.length / (fichas.aparece.get(r) ?? 0.5));
    // La sección que se llama justo así, si es una sola, va delante del glosario: define y además explica.
    const esSuNombre = (ficha) => ficha.nombres.some((n) => n.length === buscadas.length && buscadas.every((r) => n.includes(r)));
    const suyas = fichas.filter((f) => !f.tipo && f.url.includes("#") && valeMenos(f.url, buscadas) === 1 && esSuNombre(f));
    const delante = suyas.length === 1 ? suyas[0] : null;
    const con = (parte) => fichas.map((ficha) => ({
      ...ficha, buscadas, puntos: puntuar(ficha, buscadas, peso, parte) + (ficha === delante ? 60 : 0),
    }))
      .filter((f) => f.puntos > 0).sort((a, b) => b.puntos - a.puntos).slice(0, 40);
    const todas = con(0.6), conocidas = buscadas.filter((r) => fichas.aparece.has(r)).length;
    // Si juntas no dan nada, contesta lo que tiene más de ellas, cuando el libro conoce la mayoría.
    return todas.length || 2 * conocidas <= buscadas.length ? todas : con(0.3);
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
