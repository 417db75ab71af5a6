/* Una voz y lo que de ella oye un modelo: vocales con sus formantes, ruido y espectrograma log-mel. Las fórmulas son las
   de atento.tasks.vowels y atento.audio; el ruido es el de hearing.py, el mismo con la misma semilla. Con los tamaños que
   recibe da vowel, hiss y logMel. */
window.atentoVoice ??= ({bandwidths, rate, size, hop, n_mels}) => {
  const TURN = 2 * Math.PI,
    EDGE = 0.02, // segundos en que una vocal empieza y acaba
    LOUD = 0.1, // su intensidad media
    KNEE = 1000, // la escala de Slaney: recta hasta aquí, que son 15, y después logarítmica
    STEP = Math.log(6.4) / 27;
  const range = (n) => [...Array(n).keys()];

  // ---- La voz ---------------------------------------------------------------------------------------------------------
  /* Cuánto deja pasar el tracto de una frecuencia: la cascada de Klatt, un número complejo. */
  function passes(hertz, formants) {
    const [x, y] = [Math.cos((-TURN * hertz) / rate), Math.sin((-TURN * hertz) / rate)];
    let out = [1 - x, -y]; // los labios
    for (const [center, width] of [[0, 100], ...formants.map((each, i) => [each, bandwidths[i]])]) {
      const c = -Math.exp((-TURN * width) / rate),
        b = 2 * Math.exp((-Math.PI * width) / rate) * Math.cos((TURN * center) / rate);
      const [re, im] = [1 - b * x - c * (x * x - y * y), -b * y - 2 * c * x * y],
        gain = (1 - b - c) / (re * re + im * im);
      out = [(out[0] * re + out[1] * im) * gain, (out[1] * re - out[0] * im) * gain];
    }
    return out;
  }
  /* Una vocal sostenida: los múltiplos del tono, cada uno con lo que el tracto le deja; cada muestra es un giro más. */
  function vowel(formants, pitch, seconds) {
    const wave = new Float64Array(Math.max(1, Math.round(seconds * rate)));
    for (let k = 1; k < Math.max(2, Math.ceil(rate / 2 / pitch)); k++) {
      const [x, y] = [Math.cos((TURN * pitch * k) / rate), Math.sin((TURN * pitch * k) / rate)];
      let [re, im] = passes(pitch * k, formants);
      for (let i = 0; i < wave.length; i++) {
        wave[i] += re;
        [re, im] = [re * x - im * y, re * y + im * x];
      }
    }
    const last = wave.length - 1;
    const shaped = wave.map((value, i) => (value * (1 - Math.cos((Math.PI * Math.min(i / rate, (last - i) / rate, EDGE)) / EDGE))) / 2);
    const power = shaped.reduce((total, value) => total + value * value, 0) / shaped.length;
    return shaped.map((value) => (LOUD * value) / Math.max(1e-6, Math.sqrt(power)));
  }
  /* Un número de [0, 1) por cada sitio y semilla: «mulberry32», que no guarda estado. */
  function chance(seed, k) {
    let t = (seed + Math.imul(k + 1, 0x6d2b79f5)) | 0;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }
  /* Ruido normal, por Box y Muller, tan fuerte como una vocal. */
  const hiss = (n, seed) =>
    Float64Array.from({length: n}, (_, k) => LOUD * Math.sqrt(-2 * Math.log(1 - chance(seed, 2 * k))) * Math.cos(TURN * chance(seed, 2 * k + 1)));

  // ---- Lo que se ve ---------------------------------------------------------------------------------------------------
  const turns = range(size).map((k) => (TURN * k) / size),
    [cosines, sines] = [Math.cos, Math.sin].map((wheel) => Float64Array.from(turns, wheel)),
    shape = cosines.map((value) => (1 - value) / 2); // la ventana de Hann
  /* La transformada rápida, en su sitio. */
  function transform(re, im) {
    for (let i = 1, j = 0; i < size; i++) {
      let bit = size >> 1;
      for (; j & bit; bit >>= 1) j ^= bit;
      j ^= bit;
      if (i < j) [re[i], re[j]] = [re[j], re[i]];
    }
    for (let wide = 2; wide <= size; wide *= 2)
      for (let from = 0; from < size; from += wide)
        for (let k = 0; k < wide / 2; k++) {
          const [a, b, at] = [from + k, from + k + wide / 2, (k * size) / wide];
          const x = re[b] * cosines[at] + im[b] * sines[at],
            y = im[b] * cosines[at] - re[b] * sines[at];
          [re[b], im[b]] = [re[a] - x, im[a] - y];
          re[a] += x;
          im[a] += y;
        }
  }
  const last = 15 + Math.log(rate / 2 / KNEE) / STEP, // en mels
    tops = range(n_mels + 2).map((i) => (last * i) / (n_mels + 1)),
    hertz = tops.map((mel) => (mel < 15 ? (mel * KNEE) / 15 : KNEE * Math.exp(STEP * (mel - 15))));
  const triangles = range(n_mels).map((i) => {
    const [left, top, right] = hertz.slice(i, i + 3);
    return Float64Array.from({length: size / 2 + 1}, (_, k) => {
      const at = (k * rate) / size;
      return (Math.max(0, Math.min((at - left) / (top - left), (right - at) / (right - top))) * 2) / (right - left);
    });
  });
  /* El log-mel de una onda: una fila de n_mels números cada hop muestras. En los extremos, la onda se refleja. */
  function logMel(wave) {
    const end = wave.length - 1,
      mirrored = (at) => wave[end - Math.abs(end - Math.abs(at))];
    const rows = range(Math.floor(wave.length / hop)).map((row) => {
      const re = shape.map((weight, i) => weight * mirrored(row * hop + i - size / 2)),
        im = new Float64Array(size);
      transform(re, im);
      return triangles.map((weights) => {
        const power = weights.reduce((total, weight, k) => (weight ? total + weight * (re[k] ** 2 + im[k] ** 2) : total), 0);
        return Math.log10(Math.max(1e-10, power));
      });
    });
    const most = Math.max(...rows.map((row) => Math.max(...row)));
    return rows.map((row) => row.map((value) => (Math.max(value, most - 8) + 4) / 4));
  }
  return {vowel, hiss, logMel};
};
