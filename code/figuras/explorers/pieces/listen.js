/* Un botón que hace sonar unas muestras y, mientras suenan, las para. Nada suena solo. set(muestras) dice cuáles. */
window.atentoExplorers.add(({button}) => {
  const PEAK = 0.7; // el pico, de lo que cabe
  function listen(rate) {
    let wave, context, playing;
    const node = button("▶ Oír", toggle);
    function toggle() {
      if (playing) return playing.stop();
      context ??= new AudioContext();
      context.resume();
      const buffer = context.createBuffer(1, wave.length, rate),
        top = wave.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-6);
      buffer.getChannelData(0).set(wave.map((value) => (PEAK * value) / top));
      playing = context.createBufferSource();
      playing.buffer = buffer;
      playing.onended = () => {
        playing = null;
        node.textContent = "▶ Oír";
      };
      playing.connect(context.destination);
      playing.start();
      node.textContent = "■ Parar";
    }
    return {node, set: (samples) => (wave = samples)};
  }
  return {listen};
});
