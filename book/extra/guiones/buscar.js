// Busca en el libro por secciones, sin acentos y por raíces; los términos del glosario van primero.
(() => {
  const VACIAS = new Set("a al como con de del el en es entre la las lo los mas me mi ni no o para pero por que se si sin son su sus un una unas uno unos y ya cual cuales".split(" "));
  const llano = (texto) => texto.replace(/√/g, " raiz ").normalize("NFD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
  // Raíz aproximada: quita plurales y las terminaciones corrientes, y deja al menos cuatro letras.
  const raiz = (palabra) => {
    let r = palabra.replace(/_/g, "");
    r = r.replace(/(?<=\p{L}{3}[aei]r)(?:lo|la|los|las|se|le|les)$/u, "");
    for (const fin of ["aciones", "acion", "amente", "mente", "idades", "idad", "iones", "ion", "ando", "iendo", "adas", "ados", "ada", "ado", "idas", "idos", "ida", "ido", "ecen", "ece", "ecer", "ces", "es", "os", "as", "ar", "er", "ir", "z", "a", "o", "e", "s", "n"]) {
      if (r.endsWith(fin) && r.length - fin.length >= 4) { r = r.slice(0, -fin.length); break; }
    }
    return r;
  };
  const palabras = (texto) => llano(texto).match(/\d+(?:\.\d+)+|[\p{L}\d_]+/gu) ?? [];
  const raices = (texto) => palabras(texto).map(raiz);
  const utiles = (texto) => {
    const todas = palabras(texto), con = todas.filter((p) => !VACIAS.has(p));
    return [...new Set((con.length ? con : todas).map(raiz))];
  };
  const seguro = (texto) => texto.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]);

  const preparar = () => {
    const sinEtiquetas = (texto) => texto.replace(/<[^>]*>/g, "").replace(/&amp;/g, "&");
    const glosario = Object.entries(window.GLOSARIO ?? {}).map(([ancla, [termino, definicion, otros = []]]) => ({
      tipo: "Glosario", url: `${window.GLOSARIO_EN}#${ancla}`, titulo: sinEtiquetas(termino), pagina: "", html: definicion,
      texto: sinEtiquetas(definicion).replace(/\\\(|\\\)/g, ""), otros,
    }));
    const secciones = (window.INDICE ?? []).filter(([url]) => url !== window.GLOSARIO_EN)
      .map(([url, titulo, pagina, texto, otros = []]) => ({ tipo: "", url, titulo, pagina, texto, otros }));
    const fichas = [...glosario, ...secciones];
    fichas.aparece = new Map();
    for (const ficha of fichas) {
      ficha.nombres = [ficha.titulo, ...ficha.otros].map(utiles);
      ficha.enTexto = new Map();
      for (const r of raices(ficha.texto)) ficha.enTexto.set(r, (ficha.enTexto.get(r) ?? 0) + 1);
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
  const puntuar = (ficha, buscadas, peso) => {
    let total = 0, hallado = 0, puntos = 0;
    const nombrado = new Set(ficha.nombres.flat());
    for (const r of buscadas) {
      const veces = ficha.enTexto.get(r) ?? 0;
      total += peso(r);
      if (veces || nombrado.has(r)) hallado += peso(r);
      puntos += 1.5 * peso(r) * Math.log1p(veces);
    }
    if (hallado < 0.6 * total) return 0;   // puede faltar alguna palabra, pero no la que dice de qué se habla
    const nombre = Math.max(...ficha.nombres.map((n, i) => porNombre(n, buscadas, peso) * (i ? 0.97 : 1)));
    puntos = Math.min(puntos, 30) + nombre;
    if (ficha.tipo) puntos += nombre >= 60 ? 25 : -4;   // el glosario, primero cuando es su término
    if (ficha.url.includes("/api/")) puntos *= 0.6;
    return puntos * (hallado / total) ** 2;
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
    return fichas.map((ficha) => ({ ...ficha, buscadas, puntos: puntuar(ficha, buscadas, peso) }))
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
