/* Lo que comparten los que usan el Transformer que suma: sus símbolos, cómo se llaman sus sitios y cómo se escribe una
   suma. signs dice cómo se llama cada símbolo. */
window.atentoExplorers.add(() => ({
  sums(signs) {
    const LONGEST = 3, // cifras de cada número
      READS = [2, 1, 0, -1, 2, 1, 0, -1], // el lugar de cada símbolo que lee
      PLACES = ["unidades", "decenas", "centenas", "millares"],
      WHERE = ["las unidades", "las decenas", "las centenas", "los millares", "el sitio del fin"],
      [DIGIT, PLUS, BEGIN, END] = ["0", "+", "comienzo", "fin"].map((sign) => signs.indexOf(sign));
    const digitsOf = (n, count = LONGEST) => [...String(n).padStart(count, "0")].map((one) => DIGIT + Number(one)),
      idsOf = ([a, b]) => [...digitsOf(a), PLUS, ...digitsOf(b), END];
    return {LONGEST, READS, PLACES, WHERE, DIGIT, PLUS, BEGIN, END, digitsOf, idsOf};
  },
}));
