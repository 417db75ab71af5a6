// Lo que la página hace sola: fórmulas que caben, partes plegadas, definiciones al pasar e índice que acompaña.
(() => {
  const todos = (selector, raiz = document) => [...raiz.querySelectorAll(selector)];

  // Lo plegado no se mide hasta que se abre: habría que componerlo.
  const aLaVista = (selector, raiz = document) =>
    todos(selector, raiz).filter((elemento) => !elemento.closest("details:not([open]) > :not(summary)"));
  // En cada arreglo se mide todo antes de cambiar nada: medir tras cada cambio obliga a componer la página otra vez.
  const repartir = (elementos, mide, cambia) =>
    elementos.map((elemento) => [elemento, mide(elemento)]).forEach(([elemento, medida]) => cambia(elemento, medida));

  // Una fórmula en línea más ancha que su párrafo sí puede partirse.
  const soltarLargas = (raiz) => {
    for (const tramo of todos(".sin-corte.larga", raiz)) tramo.classList.remove("larga");
    repartir(aLaVista(".sin-corte", raiz), (tramo) => {
      const ancho = tramo.parentElement.clientWidth || tramo.closest("p, li, td, dd, figcaption")?.clientWidth;
      return ancho && tramo.getBoundingClientRect().width > ancho;
    }, (tramo, noCabe) => noCabe && tramo.classList.add("larga"));
  };

  // ---------- Lo que se desplaza con el dedo, también con el teclado, y se nota que sigue ----------
  const DESPLAZABLES = ".formula, .highlight pre, .cell_output pre, .cell_output .text_html, " +
    ".pst-scrollable-table-container, .bd-article table";
  const bordes = (caja) => [caja.scrollWidth - caja.clientWidth - caja.scrollLeft > 1, caja.scrollLeft > 1];
  const marcarBordes = (caja, [derecha, izquierda]) => {
    caja.classList.toggle("sigue-derecha", derecha);
    caja.classList.toggle("sigue-izquierda", izquierda);
  };
  // Una alineación que no cabe se reparte en renglones.
  const estrecharFormulas = (raiz) => {
    for (const formula of todos(".formula.estrecha", raiz)) formula.classList.remove("estrecha");
    repartir(aLaVista(".formula", raiz), (formula) => formula.scrollWidth > formula.clientWidth + 1,
      (formula, noCabe) => noCabe && formula.classList.add("estrecha"));
  };
  // En el teléfono, una salida que no cabe por poco encoge su letra; las demás se desplazan.
  const MENOR_LETRA = .72;  // rem
  const encogerSalidas = (raiz) => {
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const salidas = aLaVista(".cell_output pre", raiz);
    for (const salida of salidas) salida.style.removeProperty("--letra-que-cabe");
    repartir(salidas, (salida) => {
      if (salida.scrollWidth <= salida.clientWidth) return 0;
      const { fontSize, paddingLeft, paddingRight } = getComputedStyle(salida);
      const aire = parseFloat(paddingLeft) + parseFloat(paddingRight);
      return Math.floor(20 * parseFloat(fontSize) * (salida.clientWidth - aire) / (salida.scrollWidth - aire)) / 20;
    }, (salida, letra) => letra >= MENOR_LETRA * rem && salida.style.setProperty("--letra-que-cabe", `${letra}px`));
  };
  // Chromium reserva a cada raíz el ancho de su signo más alto: se quita lo que sobra a la derecha.
  const cenir = (raices) => repartir(raices, (una) => {
    if (!una.getClientRects().length) return;
    const fin = Math.max(...[...una.children].map((hijo) => hijo.getBoundingClientRect().right));
    const sobra = (una.getBoundingClientRect().right - fin) / parseFloat(getComputedStyle(una).fontSize);
    return sobra > .05 ? `${(.05 - sobra).toFixed(3)}em` : "";
  }, (una, margen) => { if (margen !== undefined) una.style.marginRight = margen; });
  const cenirRaices = (raiz) => {
    const raices = aLaVista("msqrt", raiz), anida = (una) => una.querySelector("msqrt");
    cenir(raices.filter((una) => !anida(una)));   // las de dentro, antes: mueven el fin de las de fuera
    cenir(raices.filter(anida));
  };
  const repasar = (raiz = document) => {
    cenirRaices(raiz);
    soltarLargas(raiz);
    estrecharFormulas(raiz);
    encogerSalidas(raiz);
    apilarTablas(raiz);
    repartir(aLaVista(DESPLAZABLES, raiz), (caja) => [caja.scrollWidth <= caja.clientWidth + 1, ...bordes(caja)], (caja, [cabe, ...sigue]) => {
      if (!cabe && caja.getAttribute("tabindex") !== "0") {
        caja.setAttribute("tabindex", "0");
        caja.addEventListener("scroll", () => marcarBordes(caja, bordes(caja)), { passive: true });
      } else if (cabe && caja.getAttribute("tabindex") === "0") caja.removeAttribute("tabindex");
      marcarBordes(caja, sigue);
    });
  };
  // ---------- Tablas anchas: en el teléfono, cada fila es una ficha con sus rótulos ----------
  const rotular = (tabla, rotulos) => {
    for (const fila of todos("tbody tr", tabla)) {
      [...fila.children].forEach((celda, i) => {
        const rotulo = document.createElement("span");
        rotulo.className = "rotulo-celda";
        rotulo.setAttribute("aria-hidden", "true");
        rotulo.append(...[...(rotulos[i]?.childNodes ?? [])].map((n) => n.cloneNode(true)));
        celda.prepend(rotulo);
      });
    }
  };
  const apilarTablas = (raiz) => {
    for (const tabla of todos(".bd-article table.apilada", raiz)) tabla.classList.remove("apilada");
    if (window.innerWidth > 600) return;
    repartir(aLaVista(".bd-article table", raiz), (tabla) => {
      const caja = tabla.closest(".pst-scrollable-table-container, .text_html") ?? tabla.parentElement;
      return tabla.offsetWidth > caja.clientWidth + 1;
    }, (tabla, noCabe) => {
      const rotulos = todos("thead th", tabla);
      if (!noCabe || !rotulos.length || tabla.querySelector("[rowspan], [colspan]:not([colspan='1'])")) return;
      if (!tabla.querySelector(".rotulo-celda")) rotular(tabla, rotulos);
      tabla.classList.add("apilada");
    });
  };
  let espera;
  window.addEventListener("resize", () => {
    clearTimeout(espera);
    espera = setTimeout(() => repasar(), 120);
  });
  document.addEventListener("toggle", (suceso) => suceso.target.open && repasar(suceso.target), true);
  window.addEventListener("load", () => document.fonts.ready.then(() => repasar()));

  // ---------- Plegados: un enlace abre lo que encierra su destino; al imprimir se abre todo y luego se deja igual ----
  const irAlAncla = () => {
    const destino = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    let caja = destino?.closest("details:not([open])");
    if (!caja) return;
    for (; caja; caja = caja.parentElement.closest("details:not([open])")) caja.open = true;
    repasar();
    destino.scrollIntoView();
  };
  window.addEventListener("hashchange", irAlAncla);
  window.addEventListener("DOMContentLoaded", irAlAncla);
  document.addEventListener("click", (suceso) => {   // el mismo enlace, pulsado otra vez, no cambia la dirección
    const enlace = suceso.target.closest?.("a[href*='#']");
    if (enlace?.hash && enlace.hash === location.hash) irAlAncla();
  });
  let plegados = [];
  window.addEventListener("beforeprint", () => {
    plegados = todos("details:not([open])");
    for (const caja of plegados) caja.open = true;
    repasar();
  });
  window.addEventListener("afterprint", () => {
    for (const caja of plegados) caja.open = false;
  });

  // ---------- «En esta página»: la entrada de lo que se lee, siempre a la vista ----------
  const seguirLectura = () => {
    const indice = document.querySelector("nav.page-toc");
    const entradas = new Map(todos("a[href^='#']", indice ?? document.createElement("nav"))
      .map((enlace) => [document.getElementById(decodeURIComponent(enlace.hash.slice(1))), enlace])
      .filter(([seccion]) => seccion));
    if (!entradas.size) return;
    const barra = indice.closest(".bd-sidebar-secondary");
    let actual = null, pendiente = false;
    const actualizar = () => {
      pendiente = false;
      let ultima = null;
      for (const [seccion, enlace] of entradas) {
        const titulo = seccion.matches("section") ? seccion.firstElementChild : seccion;
        if (titulo.getBoundingClientRect().top < innerHeight * 0.3) ultima = enlace;
      }
      if (ultima === actual) return;
      actual?.classList.remove("leyendo");
      actual?.removeAttribute("aria-current");
      actual = ultima;
      if (!actual) return;
      actual.classList.add("leyendo");
      actual.setAttribute("aria-current", "location");
      const caja = barra.getBoundingClientRect(), sitio = actual.getBoundingClientRect();
      if (sitio.top < caja.top + 40 || sitio.bottom > Math.min(caja.bottom, innerHeight) - 40)
        barra.scrollTop += sitio.top - caja.top - caja.height / 2;
    };
    window.addEventListener("scroll", () => {
      if (!pendiente) requestAnimationFrame(actualizar);
      pendiente = true;
    }, { passive: true });
    requestAnimationFrame(actualizar);
  };
  window.addEventListener("DOMContentLoaded", seguirLectura);

  // ---------- Avances: al pasar, al enfocar y al tocar un término, una ecuación, un enunciado o una cita ----------
  const copiaDe = (destino) => {
    const copia = destino.cloneNode(true);
    for (const nodo of copia.querySelectorAll(".headerlink")) nodo.remove();
    for (const nodo of [copia, ...copia.querySelectorAll("[id]")]) nodo.removeAttribute("id");
    for (const nodo of copia.querySelectorAll("a[href]")) nodo.removeAttribute("href");
    return copia.outerHTML;
  };
  const avances = () => JSON.parse(document.getElementById("avances")?.textContent ?? "{}");
  // Qué enseña un enlace: una función que lo escribe, o nada si lleva a otra clase de sitio.
  const loQueEnsena = (enlace, deOtras) => {
    const direccion = enlace.getAttribute("href") ?? "", id = decodeURIComponent(enlace.hash.slice(1));
    if (/#term-/.test(direccion) && window.GLOSARIO?.[id]) {
      const [termino, definicion] = window.GLOSARIO[id];
      return () => `<p><strong>${termino}</strong> ${definicion}</p>`;
    }
    if (deOtras[direccion]) return () => deOtras[direccion];
    if (enlace.title && /referencias\.html#/.test(enlace.href)) {
      const parrafo = document.createElement("p");
      parrafo.textContent = enlace.title;
      enlace.removeAttribute("title");   // el aviso del navegador diría lo mismo encima
      return () => parrafo.outerHTML;
    }
    const destino = direccion.startsWith("#") && id ? document.getElementById(id) : null;
    return destino?.matches("div.math, div.proof") ? () => copiaDe(destino) : null;
  };
  const prepararAvances = () => {
    const deOtras = avances(), escribe = new Map();
    for (const enlace of todos("article a.reference")) {
      const contenido = loQueEnsena(enlace, deOtras);
      if (contenido) escribe.set(enlace, contenido);
    }
    const enlaces = [...escribe.keys()];
    if (!enlaces.length) return;
    const nota = document.createElement("div");
    nota.className = "definicion";
    nota.id = "definicion-emergente";
    nota.setAttribute("role", "tooltip");
    nota.hidden = true;
    document.body.append(nota);
    let suyo = null, tocado = false, cierre;
    const cerrar = () => {
      nota.hidden = true;
      suyo?.removeAttribute("aria-describedby");
      suyo = null;
    };
    const cerrarPronto = () => { clearTimeout(cierre); cierre = setTimeout(cerrar, 180); };
    const abrir = (enlace) => {
      clearTimeout(cierre);
      if (suyo === enlace) return;
      cerrar();
      suyo = enlace;
      nota.innerHTML = escribe.get(enlace)();
      nota.hidden = false;
      enlace.setAttribute("aria-describedby", nota.id);
      const lugar = enlace.getClientRects()[0], margen = 12;
      // Una fórmula se parte según el ancho que encuentra: se le da uno.
      const conFormula = nota.querySelector("div.math"), ancho = Math.min(conFormula ? 560 : 380, innerWidth - 2 * margen);
      nota.style.width = conFormula ? `${ancho}px` : "";
      nota.style.maxWidth = `${ancho}px`;
      nota.style.left = `${Math.max(margen, Math.min(lugar.left, innerWidth - nota.offsetWidth - margen)) + scrollX}px`;
      const arriba = lugar.bottom + nota.offsetHeight + margen > innerHeight && lugar.top > nota.offsetHeight + margen;
      nota.style.top = `${(arriba ? lugar.top - nota.offsetHeight - 6 : lugar.bottom + 6) + scrollY}px`;
    };
    for (const enlace of enlaces) {
      enlace.addEventListener("pointerenter", (s) => s.pointerType === "mouse" && abrir(enlace));
      enlace.addEventListener("pointerleave", (s) => s.pointerType === "mouse" && cerrarPronto());
      enlace.addEventListener("focus", () => abrir(enlace));
      enlace.addEventListener("blur", cerrarPronto);
      // Con el dedo, el primer toque enseña el avance y el segundo lleva a su sitio.
      enlace.addEventListener("pointerdown", (s) => { tocado = s.pointerType !== "mouse" && suyo !== enlace; });
      enlace.addEventListener("click", (s) => {
        if (!tocado) return;
        s.preventDefault();
        tocado = false;
        abrir(enlace);
      });
    }
    nota.addEventListener("pointerenter", () => clearTimeout(cierre));
    nota.addEventListener("pointerleave", cerrarPronto);
    document.addEventListener("keydown", (s) => s.key === "Escape" && cerrar());
    document.addEventListener("pointerdown", (s) => {
      if (!nota.contains(s.target) && !s.target.closest?.("a.reference")) cerrar();
    });
  };
  window.addEventListener("DOMContentLoaded", prepararAvances);
})();
