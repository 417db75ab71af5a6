/* Un BPE de bytes. merges da los dos números de cada unión, en el orden en que se aprendieron. encode va de un texto a
   los números de sus trozos; decode, al revés, y names dice cómo se enseña cada trozo. */
window.atentoExplorers.add(() => ({
  bpe(merges) {
    const WORDS =
      / ?[\p{L}\p{M}]+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{M}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;
    const BYTES = [...Array(256).keys()],
      isSeen = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
    const pieces = [...BYTES.filter(isSeen), ...BYTES.filter((byte) => !isSeen(byte))].map((byte) => [byte]);
    const ids = new Map(pieces.map((bytes, id) => [String(bytes), id])), // los números, por sus bytes
      unions = new Map(), // de cada pareja, cuándo se aprendió a unirla y qué da
      pairOf = (left, right) => left * 65536 + right;
    for (let i = 0; i < merges.length; i += 2) {
      const bytes = [...pieces[merges[i]], ...pieces[merges[i + 1]]];
      if (!ids.has(String(bytes))) ids.set(String(bytes), pieces.push(bytes) - 1);
      unions.set(pairOf(merges[i], merges[i + 1]), {rank: i, made: ids.get(String(bytes))});
    }

    /* Los números de una palabra: cada vez se une la pareja que se aprendió antes. */
    function cut(word) {
      const row = [...new TextEncoder().encode(word)].map((byte) => ids.get(String(byte)));
      for (;;) {
        let best, at;
        for (let i = 0; i + 1 < row.length; i++) {
          const union = unions.get(pairOf(row[i], row[i + 1]));
          if (union && !(union.rank >= best?.rank)) [best, at] = [union, i];
        }
        if (!best) return row;
        row.splice(at, 2, best.made);
      }
    }
    const encode = (text) => (text.normalize("NFC").match(WORDS) ?? []).flatMap(cut);
    const read = (bytes) => new TextDecoder("utf-8", {ignoreBOM: true}).decode(Uint8Array.from(bytes));
    const decode = (row) => read(row.flatMap((id) => pieces[id]));
    const visible = (text) => text.replaceAll(" ", "␣").replaceAll("\n", "⏎").replaceAll("\t", "⇥");
    /* Un trozo de letra no se puede leer: se dice qué bytes son. */
    const names = pieces.map((bytes) => {
      const text = read(bytes),
        byte = (one) => (one < 128 ? String.fromCharCode(one) : `\\x${one.toString(16)}`);
      return visible(text.includes("�") ? bytes.map(byte).join("") : text);
    });
    return {encode, decode, names};
  },
}));
